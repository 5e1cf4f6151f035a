/* The regular expressions of tokenizers, over PCRE2. Their own engines are Oniguruma (in
 * tokenizer.json; Ruby's syntax) and Rust's fancy-regex (tiktoken): what those say differently is
 * said in PCRE2's words, and what cannot be said so is refused. A text is UTF-8 and valid. */
#ifndef ANALYZE_TOKENIZER_PATTERN_H
#define ANALYZE_TOKENIZER_PATTERN_H

#include <stdbool.h>

#include "traces/base/buf.h"
#include "traces/base/err.h"
#include "traces/base/span.h"

enum pattern_syntax { PATTERN_RUBY, PATTERN_RUST };

struct pattern;

/* TA_EFORMAT: not read here, and e says what. */
int pattern_new(struct pattern **out, struct slice text, enum pattern_syntax syntax, struct err *e);

/* Of a text that stands for itself; not empty. */
struct pattern *pattern_literal(struct slice text);
void pattern_free(struct pattern *p);

/* A walk over the matches of one text, from left to right; no empty match right behind another. */
struct pattern_walk {
    struct slice text;
    size_t from;  /* searched next */
    bool matched; /* there was one, and it ended at `ended` */
    size_t ended;
    bool begun, young; /* young: it has characters of tokenizer_young.h */
};

/* 1 and a match; 0: no more; -1: given up (the pattern takes too many steps on this text). */
int pattern_next(struct pattern *p, struct pattern_walk *w, size_t *start, size_t *end);

/* text in PCRE2's words; young: with the characters of tokenizer_young.h. */
int pattern_translate(struct slice text, enum pattern_syntax syntax, bool young, struct buf *out,
                      struct err *e) TA_NODISCARD;

#endif
