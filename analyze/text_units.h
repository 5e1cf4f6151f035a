/* Generated text in units that are taken for tokens. */
#ifndef ANALYZE_TEXT_UNITS_H
#define ANALYZE_TEXT_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#include "traces/base/span.h"

struct text_units {
    uint64_t chars; /* code points: len() of Python */
    uint64_t utf16; /* length of JavaScript and Java */
    uint64_t words; /* runs of non-blanks: len(text.split()) */
    bool in_word;
};

/* Pieces of one text, in order. */
void text_units_add(struct text_units *u, struct slice piece);

#endif
