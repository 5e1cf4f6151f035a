/* The two halves of dialect_openai_chat: openai_chat.c reads, openai_chat_write.c writes. */
#ifndef TRACES_DIALECTS_OPENAI_CHAT_H
#define TRACES_DIALECTS_OPENAI_CHAT_H

#include "traces/dialects/dialect.h"

/* Requests: openai_chat_request.c. Contracts: struct dialect. */
int openai_chat_claims(struct slice method, struct slice target, struct slice body);
bool openai_chat_request(struct slice body, struct arena *a, struct dialect_request *out);

/* Replies written: openai_chat_write.c. Contracts: struct dialect. */
void openai_chat_put_role(struct buf *out, const struct dialect_reply *r);
void openai_chat_put_text(struct buf *out, const struct dialect_reply *r, struct slice text);
void openai_chat_put_finish(struct buf *out, const struct dialect_reply *r);
void openai_chat_put_usage(struct buf *out, const struct dialect_reply *r);
void openai_chat_put_done(struct buf *out);
void openai_chat_put_document(struct buf *out, const struct dialect_reply *r, struct slice text);
void openai_chat_put_error(struct buf *out, int status, const char *message, const char *type);

#endif
