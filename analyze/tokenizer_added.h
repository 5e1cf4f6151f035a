/* Tokens that are looked for in the text before anything else is done with it. Source: Hugging
 * Face's tokenizers 0.23, src/tokenizer/added_vocabulary.rs. */
#ifndef ANALYZE_TOKENIZER_ADDED_H
#define ANALYZE_TOKENIZER_ADDED_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/tokenizer_table.h"
#include "traces/base/vec.h"

struct added_token {
    uint32_t id;
    bool single_word;    /* only where no word goes on */
    bool lstrip, rstrip; /* takes the white space beside it along */
};

struct added_lengths {
    uint32_t *v; /* longest first */
    size_t n, cap;
};

struct added {                /* all zero: none */
    struct token_table texts; /* the number of its token */
    VEC(struct added_token) tokens;
    struct added_lengths lengths[256]; /* of those that begin with this byte */
};

void added_put(struct added *a, struct slice text, struct added_token token);
void added_done(struct added *a);

/* The next of them in text at or behind from: where the piece before it ends, where it ends itself.
 * Of several that begin at one place, the longest. NULL: none. taken: the end of the one before. */
const struct added_token *added_next(const struct added *a, struct slice text, size_t taken,
                                     size_t *from, size_t *start, size_t *end);

#endif
