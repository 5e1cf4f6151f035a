/* From a text to words: the pre-tokenizers of a tokenizer, taken apart into stages of three kinds.
 * Source: Hugging Face's tokenizers 0.23, src/pre_tokenizers and tokenizer/normalizer.rs (split).
 */
#ifndef ANALYZE_TOKENIZER_SPLIT_H
#define ANALYZE_TOKENIZER_SPLIT_H

#include <stdbool.h>

#include "analyze/tokenizer_text.h"

enum stage_kind {
    STAGE_PREFIX, /* put before a piece that does not begin with it */
    STAGE_RULE,
    STAGE_SPLIT
};

/* What becomes of the matches of a pattern. */
enum split_behaviour {
    SPLIT_REMOVED,
    SPLIT_ISOLATED,
    SPLIT_CONTIGUOUS,
    SPLIT_WITH_PREVIOUS,
    SPLIT_WITH_NEXT
};

struct stage {
    enum stage_kind kind;
    struct slice prefix;
    bool only_first;       /* PREFIX: only where the text begins */
    struct text_rule rule; /* RULE */
    struct pattern *pattern;
    enum split_behaviour behaviour;
    bool inverted;   /* SPLIT: the matches are what is between them */
    struct buf work; /* of PREFIX and RULE */
};

struct word_sink {
    void *ctx;
    int (*word)(void *ctx, struct slice word); /* not empty; dies with the call */
};

/* at_start: does the whole text begin with this one? Returns TA_OK, what the sink returned, or
 * TA_EFORMAT and *why. */
int stages_run(struct stage *s, size_t n, struct slice text, bool at_start, struct word_sink out,
               const char **why) TA_NODISCARD;

#endif
