/* dialect_openai_responses: openai_responses.c reads, openai_responses_write.c writes. Contracts:
 * struct dialect. */
#ifndef TRACES_DIALECTS_OPENAI_RESPONSES_H
#define TRACES_DIALECTS_OPENAI_RESPONSES_H

#include "traces/dialects/dialect.h"

void openai_responses_put_begin(struct buf *out, const struct dialect_reply *r,
                                struct dialect_writing *w);
void openai_responses_put_piece(struct buf *out, const struct dialect_reply *r,
                                struct dialect_writing *w, struct dialect_part piece);
void openai_responses_put_finish(struct buf *out, const struct dialect_reply *r,
                                 struct dialect_writing *w);
void openai_responses_put_done(struct buf *out, const struct dialect_reply *r,
                               struct dialect_writing *w);
void openai_responses_put_fault(struct buf *out, const struct dialect_reply *r,
                                struct dialect_writing *w, const char *message, const char *type);
void openai_responses_put_document(struct buf *out, const struct dialect_reply *r,
                                   const struct dialect_part *parts, size_t n);

/* response.in_progress once more: a keep-alive of a stream that has begun. */
void openai_responses_put_progress(struct buf *out, const struct dialect_reply *r,
                                   struct dialect_writing *w);

#endif
