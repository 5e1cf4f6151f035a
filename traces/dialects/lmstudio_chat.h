/* dialect_lmstudio_chat: lmstudio_chat.c reads, lmstudio_chat_write.c writes. Contracts: struct
 * dialect. */
#ifndef TRACES_DIALECTS_LMSTUDIO_CHAT_H
#define TRACES_DIALECTS_LMSTUDIO_CHAT_H

#include "traces/dialects/dialect.h"

void lmstudio_chat_put_begin(struct buf *out, const struct dialect_reply *r,
                             struct dialect_writing *w);
void lmstudio_chat_put_piece(struct buf *out, const struct dialect_reply *r,
                             struct dialect_writing *w, struct dialect_part piece);
void lmstudio_chat_put_finish(struct buf *out, const struct dialect_reply *r,
                              struct dialect_writing *w);
void lmstudio_chat_put_fault(struct buf *out, const struct dialect_reply *r,
                             struct dialect_writing *w, const char *message, const char *type);
void lmstudio_chat_put_document(struct buf *out, const struct dialect_reply *r,
                                const struct dialect_part *parts, size_t n);
void lmstudio_chat_put_error(struct buf *out, int status, const char *message, const char *type);
void lmstudio_chat_put_models(struct buf *out, const char *const *models, size_t n,
                              int64_t created_s);

#endif
