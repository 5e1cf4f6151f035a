/* What a tokenizer consists of; filled in by tokenizer_json.c or tokenizer_ranks.c. */
#ifndef ANALYZE_TOKENIZER_PARTS_H
#define ANALYZE_TOKENIZER_PARTS_H

#include "analyze/tokenizer_added.h"
#include "analyze/tokenizer_bpe.h"
#include "analyze/tokenizer_split.h"
#include "analyze/tokenizer_text.h"
#include "traces/base/arena.h"
#include "traces/base/vec.h"

struct tokenizer {
    struct added plain;      /* looked for in the text as it is … */
    struct added normalized; /* … and as the rules leave it */
    VEC(struct text_rule) rules;
    VEC(struct stage) stages;
    struct bpe bpe;
    int64_t around; /* special tokens before and behind a text */
    struct buf valid, works[2];
    struct arena texts;
};

/* Each fills in all but what tokenizer_read does itself: name is for messages; errors as there. */
int tokenizer_from_json(struct tokenizer *t, struct slice file, const char *name, struct err *e);
int tokenizer_from_ranks(struct tokenizer *t, struct slice file, const char *name,
                         const char *pattern, struct err *e);

/* A stage with its buffer. */
struct stage *tokenizer_stage(struct tokenizer *t, enum stage_kind kind);

#endif
