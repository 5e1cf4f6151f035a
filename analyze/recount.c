/* Tokens of what replies say, counted again. */
#include "analyze/recount.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/tokenizer.h"
#include "traces/limits.h"

enum { CHOICES_MAX = 4096 };

static const char too_long[] = "its text is too long to be counted again";

/* --- what there is to count with ---------------------------------------------------------- */

int recounter_add(struct recounter *r, const char *operand, const char *pattern,
                  struct arena *texts, struct err *e)
{
    const char *equals = strchr(operand, '=');
    struct recounter_file f = {.model = {"", 0}};
    if (equals != NULL)
        f.model = arena_slice(texts, (struct slice){operand, (size_t)(equals - operand)});
    int rc = tokenizer_open(&f.t, equals != NULL ? equals + 1 : operand, pattern, e);
    if (rc != TA_OK && rc != TA_STOP)
        return rc;
    if (rc == TA_STOP)
        f.why = arena_text(texts, slice_of(e->msg));
    VEC_PUSH(&r->files, f);
    return TA_OK;
}

void recounter_done(struct recounter *r)
{
    for (size_t i = 0; i < r->files.n; i++)
        tokenizer_close(r->files.v[i].t);
    VEC_FREE(&r->files);
}

/* --- a reply ------------------------------------------------------------------------------ */

/* That of its name before one for all. */
static const struct recounter_file *file_for(const struct recounter *all, struct slice model)
{
    const struct recounter_file *any = NULL;
    for (size_t i = all->files.n; i-- > 0;) {
        const struct recounter_file *f = &all->files.v[i];
        if (f->model.n == 0)
            any = f;
    }
    for (size_t i = 0; i < all->files.n; i++) {
        const struct recounter_file *f = &all->files.v[i];
        if (f->model.n > 0 && f->model.n == model.n && memcmp(f->model.p, model.p, model.n) == 0)
            return f;
    }
    return any;
}

void recount_begin(struct recount *c, struct recounter *all, struct slice model)
{
    if (all == NULL || all->files.n == 0)
        return;
    c->all = all;
    c->t = NULL;
    c->prefixed.max = LIMIT_RECOUNT_BYTES;
    c->why = "no tokenizer was given for its model";
    const struct recounter_file *f = file_for(all, model);
    if (f == NULL)
        return;
    c->t = f->t;
    c->why = f->why;
}

static void drop(struct recount *c, struct recount_run *run)
{
    enum { KEPT = 64 << 10 };
    c->all->held -= run->text.n;
    buf_clear(&run->text);
    if (run->text.cap > KEPT) {
        buf_done(&run->text);
        buf_init(&run->text, LIMIT_RECOUNT_BYTES);
    }
}

/* Its text has ended: the next one is of another kind. */
static void end_run(struct recount *c, struct recount_run *run)
{
    struct slice text = {(const char *)run->text.p, run->text.n};
    if (c->why == NULL) {
        const char *why;
        int64_t n = tokenizer_count(c->t, text, &why);
        if (n < 0)
            c->why = why;
        else
            c->tokens += n;
        if (n > 0 && run->kind == DELTA_TEXT)
            c->apart.content += n;
    }
    drop(c, run);
}

/* A piece by itself, as a client counts that does not wait for the whole. */
static void count_piece(struct recount *c, struct slice piece)
{
    const char *why;
    buf_clear(&c->prefixed);
    if (buf_add(&c->prefixed, "!", 1) != TA_OK ||
        buf_add(&c->prefixed, piece.p, piece.n) != TA_OK) {
        c->why = too_long;
        return;
    }
    int64_t n = tokenizer_count(c->t, piece, &why);
    int64_t m =
        tokenizer_count(c->t, (struct slice){(const char *)c->prefixed.p, c->prefixed.n}, &why);
    c->apart.pieces += n > 0 ? n : 0;
    c->apart.prefixed += m > 1 ? m - 1 : 0;
    c->apart.times++;
}

void recount_text(struct recount *c, uint32_t choice, enum delta_kind kind, struct slice text)
{
    if (c->t == NULL || c->why != NULL || text.n == 0)
        return;
    if (c->all->apart)
        count_piece(c, text);
    if (choice >= CHOICES_MAX) {
        c->why = "it has too many choices";
        return;
    }
    while (c->runs.n <= choice) {
        VEC_PUSH(&c->runs, ((struct recount_run){.kind = kind}));
        buf_init(&c->runs.v[c->runs.n - 1].text, LIMIT_RECOUNT_BYTES);
    }
    struct recount_run *run = &c->runs.v[choice];
    if (run->kind != kind)
        end_run(c, run);
    run->kind = kind;
    if (c->all->held + text.n > LIMIT_RECOUNT_HELD_BYTES ||
        buf_add(&run->text, text.p, text.n) != TA_OK)
        c->why = too_long;
    else
        c->all->held += text.n;
}

int64_t recount_done(struct recount *c, const char **why)
{
    for (size_t i = 0; i < c->runs.n; i++) {
        end_run(c, &c->runs.v[i]);
        buf_done(&c->runs.v[i].text);
    }
    VEC_FREE(&c->runs);
    buf_done(&c->prefixed);
    *why = c->why;
    bool counted = c->all != NULL && c->why == NULL;
    if (counted && c->all->apart)
        c->apart.around = tokenizer_around(c->t);
    return counted ? c->tokens : -1;
}
