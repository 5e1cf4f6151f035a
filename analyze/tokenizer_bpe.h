/* Byte pair encoding of one word: its characters, or bytes, are joined pair by pair, the pair of
 * the lowest rank first and of several the leftmost, as the model's merges say. Source: the model
 * BPE of Hugging Face's tokenizers 0.23 (models/bpe) and tiktoken 0.14 (src/lib.rs). */
#ifndef ANALYZE_TOKENIZER_BPE_H
#define ANALYZE_TOKENIZER_BPE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/tokenizer_table.h"
#include "traces/base/span.h"

struct bpe_pair; /* a merge */
struct bpe_symbol;
struct bpe_due;
struct bpe_known;

enum { BPE_AFFIX_MAX = 64, BPE_LOW = 512 };

/* Filled in by who reads the file, then bpe_ready(). */
struct bpe {
    struct token_table vocab;
    bool by_rank; /* no list of merges: two tokens join if both together are one, its id the rank */
    bool byte_fallback, fuse_unk;
    bool whole_first; /* a word that is a token is not taken apart */
    bool has_unk;
    struct slice unk;            /* texts live in the bpe */
    struct slice prefix, suffix; /* of what stands behind another token; of what ends a word */

    struct bpe_pair *pairs;
    size_t pairs_n, pairs_cap;
    uint64_t *neighbours; /* characters that some merge joins; others are never in one token */
    size_t neighbours_n, neighbours_cap;
    int64_t byte_id[256];       /* of "<0x00>" …, or by rank of the byte itself; -1 */
    int64_t low_id[BPE_LOW];    /* of the first characters; -1 */
    int64_t unk_id;             /* -1: not in the vocabulary */
    struct bpe_symbol *symbols; /* the word at hand */
    size_t symbols_cap;
    struct bpe_due *due;
    size_t due_n, due_cap;
    struct bpe_known *known; /* words and their counts */
};

/* Token ids; all zero is empty. */
struct token_ids {
    uint32_t *v;
    size_t n, cap;
};

/* A pair that is there already gets the new rank. */
void bpe_merge(struct bpe *b, uint32_t left, uint32_t right, uint32_t rank, uint32_t id);

/* Of each merge: the last character of the left part, the first of the right one. */
void bpe_meet(struct bpe *b, uint32_t last, uint32_t first);

void bpe_ready(struct bpe *b);
void bpe_done(struct bpe *b);

/* Tokens of a word (valid UTF-8 unless by_rank), added to ids unless that is NULL; -1: the word has
 * an unknown character, and the unknown token itself is not in the vocabulary. */
int64_t bpe_word(struct bpe *b, struct slice word, struct token_ids *ids);

#endif
