/* The halves of dialect_openai_chat: openai_chat.c reads, openai_chat_request.c reads requests,
 * openai_chat_write.c writes. Contracts: struct dialect. */
#ifndef TRACES_DIALECTS_OPENAI_CHAT_H
#define TRACES_DIALECTS_OPENAI_CHAT_H

#include "traces/dialects/dialect.h"

int openai_chat_claims(struct slice method, struct slice target, struct slice body);
int openai_chat_recognises(struct slice data);
bool openai_chat_request(struct slice body, struct arena *a, struct dialect_request *out);

void openai_chat_put_begin(struct buf *out, const struct dialect_reply *r,
                           struct dialect_writing *w);
void openai_chat_put_piece(struct buf *out, const struct dialect_reply *r,
                           struct dialect_writing *w, struct dialect_part piece);
void openai_chat_put_finish(struct buf *out, const struct dialect_reply *r,
                            struct dialect_writing *w);
void openai_chat_put_usage(struct buf *out, const struct dialect_reply *r,
                           struct dialect_writing *w);
void openai_chat_put_document(struct buf *out, const struct dialect_reply *r,
                              const struct dialect_part *parts, size_t n);

#endif
