/* Text to token id: a vocabulary. Open addressing; texts are copied. */
#ifndef ANALYZE_TOKENIZER_TABLE_H
#define ANALYZE_TOKENIZER_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "traces/base/span.h"

struct token_slot {
    uint32_t hash, at, n, id; /* at: where its text begins; hash 0: empty */
};

struct token_table { /* all zero: empty */
    struct token_slot *slots;
    size_t n, cap; /* cap is a power of 2, or 0 */
    char *texts;
    size_t texts_n, texts_cap;
};

/* Never 0. */
uint32_t token_hash(const void *p, size_t n);

/* A text that is there already gets the new id. All texts together are under 4 GiB. */
void token_table_put(struct token_table *t, struct slice text, uint32_t id);
bool token_table_get(const struct token_table *t, struct slice text, uint32_t *id);
void token_table_done(struct token_table *t);

#endif
