/* dialect_anthropic_messages: anthropic_messages.c reads, anthropic_messages_write.c writes.
 * Contracts: struct dialect. */
#ifndef TRACES_DIALECTS_ANTHROPIC_MESSAGES_H
#define TRACES_DIALECTS_ANTHROPIC_MESSAGES_H

#include "traces/dialects/dialect.h"

void anthropic_messages_put_begin(struct buf *out, const struct dialect_reply *r,
                                  struct dialect_writing *w);
void anthropic_messages_put_piece(struct buf *out, const struct dialect_reply *r,
                                  struct dialect_writing *w, struct dialect_part piece);
void anthropic_messages_put_finish(struct buf *out, const struct dialect_reply *r,
                                   struct dialect_writing *w);
void anthropic_messages_put_done(struct buf *out, const struct dialect_reply *r,
                                 struct dialect_writing *w);
void anthropic_messages_put_ping(struct buf *out);
void anthropic_messages_put_fault(struct buf *out, const struct dialect_reply *r,
                                  struct dialect_writing *w, const char *message, const char *type);
void anthropic_messages_put_document(struct buf *out, const struct dialect_reply *r,
                                     const struct dialect_part *parts, size_t n);
void anthropic_messages_put_error(struct buf *out, int status, const char *message,
                                  const char *type);
void anthropic_messages_put_models(struct buf *out, const char *const *models, size_t n,
                                   int64_t created_s);

#endif
