/* Tokens of what replies say, counted again from the text by the models' own tokenizers. Each run
 * of one kind of text (answer, thinking, tool call, refusal) of one choice is a text of its own, as
 * a model separates them by special tokens; those and the end mark, which a server's own count may
 * hold, are in no text. */
#ifndef ANALYZE_RECOUNT_H
#define ANALYZE_RECOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "traces/base/arena.h"
#include "traces/base/buf.h"
#include "traces/base/err.h"
#include "traces/base/vec.h"
#include "traces/dialects/dialect.h"

struct tokenizer;

/* What --tokenizer gave; of two for a model, the first. */
struct recounter_file {
    struct slice model;  /* {"", 0}: every model */
    struct tokenizer *t; /* NULL: refused, and why */
    const char *why;
};

struct recounter { /* all zero: nothing to count with */
    VEC(struct recounter_file) files;
    size_t held; /* bytes of texts that wait for their end */
    bool apart;  /* each piece is counted by itself too: ways to count that claims may rest on */
};

/* A reply's tokens as others count them. */
struct recount_apart {
    int64_t content;  /* of the answer alone */
    int64_t pieces;   /* each piece of text by itself, added up */
    int64_t prefixed; /* the same with "!" before each, which is taken off the sum again */
    int64_t times;    /* pieces */
    int64_t around;   /* special tokens that the tokenizer puts around a text, when asked to */
};

/* operand: FILE, or MODEL=FILE for requests that ask for that model. A tokenizer that is not
 * counted with (TA_STOP of tokenizer_open) is TA_OK: its requests are not measurable. Texts live in
 * texts. */
int recounter_add(struct recounter *r, const char *operand, const char *pattern,
                  struct arena *texts, struct err *e) TA_NODISCARD;
void recounter_done(struct recounter *r);

/* One reply. All zero: not counted. */
struct recount_run {
    enum delta_kind kind;
    struct buf text;
};

struct recount {
    struct recounter *all;
    struct tokenizer *t;
    VEC(struct recount_run) runs; /* by choice */
    int64_t tokens;
    struct recount_apart apart;
    struct buf prefixed; /* "!" and a piece */
    const char *why;     /* it cannot be counted; NULL: it can so far */
};

/* model: that was asked for. A second call for one reply changes the model. */
void recount_begin(struct recount *c, struct recounter *all, struct slice model);

/* Generated text, in order. */
void recount_text(struct recount *c, uint32_t choice, enum delta_kind kind, struct slice text);

/* Ends it and frees what it holds: its tokens, or -1 and *why (NULL: there is nothing to count it
 * with). c->apart is filled in where c->all->apart says so, and it was counted. */
int64_t recount_done(struct recount *c, const char **why);

#endif
