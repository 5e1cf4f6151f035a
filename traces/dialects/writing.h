/* Parts of the dialects' writers. For traces/dialects/ alone. */
#ifndef TRACES_DIALECTS_WRITING_H
#define TRACES_DIALECTS_WRITING_H

#include <stdbool.h>

#include "traces/base/jsonw.h"
#include "traces/dialects/dialect.h"

/* An SSE event with one JSON object in its data: opened here, closed by writing_close. type NULL:
 * no event field. */
void writing_open(struct jsonw *w, struct buf *out, const char *type);
void writing_close(struct jsonw *w, struct buf *out);

void writing_start(struct dialect_writing *w);

/* Adds a piece to the open block's text. True if it opened the block: the first, or of another kind
 * than the one before (whose text has been dropped). */
bool writing_opens(struct dialect_writing *w, struct dialect_part piece);

struct slice writing_text(const struct buf *b);

/* A finish in a dialect's own words; others than these three stay as they are. */
const char *writing_finish(const char *finish, const char *stop, const char *length,
                           const char *tool_calls);

/* Members that several dialects spell alike. */
void writing_openai_usage(struct jsonw *w, const struct dialect_reply *r);
bool writing_has_timings(const struct server_timings *t);
void writing_llama_timings(struct jsonw *w, const struct dialect_reply *r);

/* Whole bodies and events that do. */
void writing_openai_error(struct buf *out, int status, const char *message, const char *type);
void writing_openai_fault(struct buf *out, const struct dialect_reply *r, struct dialect_writing *w,
                          const char *message, const char *type);
void writing_openai_models(struct buf *out, const char *const *models, size_t n, int64_t created_s);
void writing_openai_done(struct buf *out, const struct dialect_reply *r, struct dialect_writing *w);
void writing_comment(struct buf *out); /* ": keep-alive" */

/* The texts of all parts, one after the other; the caller frees to. */
void writing_all_text(struct buf *to, const struct dialect_part *parts, size_t n);

/* Likewise, the thinking's apart; the caller frees both. */
void writing_split_text(struct buf *thinking, struct buf *text, const struct dialect_part *parts,
                        size_t n);

/* The parts' blocks one by one: *at is where to begin (0) and moves behind the block. False: there
 * is none any more. Of a tool, name and text are told apart. */
struct writing_block {
    enum delta_kind kind;
    struct slice name; /* of a tool */
    struct buf text;   /* freed by the call that returns false */
};
bool writing_next(const struct dialect_part *parts, size_t n, size_t *at, struct writing_block *b);

#endif
