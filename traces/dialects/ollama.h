/* dialect_ollama_chat and dialect_ollama_generate: ollama.c reads, ollama_write.c writes.
 * Contracts: struct dialect. */
#ifndef TRACES_DIALECTS_OLLAMA_H
#define TRACES_DIALECTS_OLLAMA_H

#include "traces/dialects/dialect.h"

void ollama_put_begin(struct buf *out, const struct dialect_reply *r, struct dialect_writing *w);
void ollama_put_fault(struct buf *out, const struct dialect_reply *r, struct dialect_writing *w,
                      const char *message, const char *type);
void ollama_put_error(struct buf *out, int status, const char *message, const char *type);
void ollama_put_models(struct buf *out, const char *const *models, size_t n, int64_t created_s);

/* /api/chat */
void ollama_chat_put_piece(struct buf *out, const struct dialect_reply *r,
                           struct dialect_writing *w, struct dialect_part piece);
void ollama_chat_put_finish(struct buf *out, const struct dialect_reply *r,
                            struct dialect_writing *w);
void ollama_chat_put_document(struct buf *out, const struct dialect_reply *r,
                              const struct dialect_part *parts, size_t n);

/* /api/generate */
void ollama_generate_put_piece(struct buf *out, const struct dialect_reply *r,
                               struct dialect_writing *w, struct dialect_part piece);
void ollama_generate_put_finish(struct buf *out, const struct dialect_reply *r,
                                struct dialect_writing *w);
void ollama_generate_put_document(struct buf *out, const struct dialect_reply *r,
                                  const struct dialect_part *parts, size_t n);

#endif
