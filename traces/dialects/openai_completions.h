/* dialect_openai_completions: openai_completions.c reads, openai_completions_write.c writes.
 * Contracts: struct dialect. */
#ifndef TRACES_DIALECTS_OPENAI_COMPLETIONS_H
#define TRACES_DIALECTS_OPENAI_COMPLETIONS_H

#include "traces/dialects/dialect.h"

void openai_completions_put_begin(struct buf *out, const struct dialect_reply *r,
                                  struct dialect_writing *w);
void openai_completions_put_piece(struct buf *out, const struct dialect_reply *r,
                                  struct dialect_writing *w, struct dialect_part piece);
void openai_completions_put_finish(struct buf *out, const struct dialect_reply *r,
                                   struct dialect_writing *w);
void openai_completions_put_usage(struct buf *out, const struct dialect_reply *r,
                                  struct dialect_writing *w);
void openai_completions_put_document(struct buf *out, const struct dialect_reply *r,
                                     const struct dialect_part *parts, size_t n);

#endif
