/* Byte pair encoding of one word. */
#include "analyze/tokenizer_bpe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/base/mem.h"
#include "traces/base/text.h"
#include "traces/base/vec.h"

struct bpe_pair {
    uint64_t pair; /* left << 32 | right */
    uint32_t rank, id;
    bool used;
};

struct bpe_symbol {
    uint32_t id, at, n; /* n 0: joined to one before it */
    int32_t prev, next; /* -1: none */
};

/* A join that may be possible: key is rank << 32 | position of its left part. */
struct bpe_due {
    uint64_t key;
    uint32_t id;
};

/* Words are short and come again and again. */
enum { KNOWN_TEXT = 38, KNOWN_MAX = 1 << 15 };

struct bpe_known {
    uint32_t hash; /* 0: free */
    uint32_t count;
    uint16_t n;
    char text[KNOWN_TEXT];
};

/* Joined by looking at each pair again and again: for few, that is the fastest. */
enum { FEW = 40 };

/* --- pairs -------------------------------------------------------------------------------- */

static struct bpe_pair *find_pair(const struct bpe *b, uint64_t pair)
{
    uint64_t h = (pair ^ (pair >> 31)) * 0x9e3779b97f4a7c15u;
    for (size_t i = (h >> 20) & (b->pairs_cap - 1);; i = (i + 1) & (b->pairs_cap - 1)) {
        struct bpe_pair *p = &b->pairs[i];
        if (!p->used || p->pair == pair)
            return p;
    }
}

static void grow_pairs(struct bpe *b)
{
    struct bpe_pair *old = b->pairs;
    size_t n = b->pairs_cap;
    b->pairs_cap = n > 0 ? n * 2 : 256;
    b->pairs = mem_array(b->pairs_cap, sizeof *b->pairs);
    for (size_t i = 0; i < n; i++) {
        if (old[i].used)
            *find_pair(b, old[i].pair) = old[i];
    }
    free(old);
}

void bpe_merge(struct bpe *b, uint32_t left, uint32_t right, uint32_t rank, uint32_t id)
{
    if (b->pairs_n * 2 >= b->pairs_cap)
        grow_pairs(b);
    uint64_t pair = (uint64_t)left << 32 | right;
    struct bpe_pair *p = find_pair(b, pair);
    b->pairs_n += !p->used;
    *p = (struct bpe_pair){pair, rank, id, true};
}

/* Where it is, or 0 where it would be. */
static uint64_t *find_neighbours(const struct bpe *b, uint64_t both)
{
    uint64_t h = both * 0x9e3779b97f4a7c15u;
    for (size_t i = (h >> 32) & (b->neighbours_cap - 1);; i = (i + 1) & (b->neighbours_cap - 1)) {
        if (b->neighbours[i] == both || b->neighbours[i] == 0)
            return &b->neighbours[i];
    }
}

/* Never 0. */
static uint64_t both_of(uint32_t last, uint32_t first)
{
    return (uint64_t)(last + 1) << 32 | first;
}

static void grow_neighbours(struct bpe *b)
{
    uint64_t *old = b->neighbours;
    size_t n = b->neighbours_cap;
    b->neighbours_cap = n > 0 ? n * 2 : 256;
    b->neighbours = mem_array(b->neighbours_cap, sizeof *b->neighbours);
    for (size_t i = 0; i < n; i++) {
        if (old[i] != 0)
            *find_neighbours(b, old[i]) = old[i];
    }
    free(old);
}

void bpe_meet(struct bpe *b, uint32_t last, uint32_t first)
{
    if (b->neighbours_n * 4 >= b->neighbours_cap)
        grow_neighbours(b);
    uint64_t *at = find_neighbours(b, both_of(last, first));
    b->neighbours_n += *at == 0;
    *at = both_of(last, first);
}

/* Can these two be joined, and at which rank? */
static bool joined(const struct bpe *b, const char *word, const struct bpe_symbol *left,
                   const struct bpe_symbol *right, uint32_t *rank, uint32_t *id)
{
    if (b->by_rank) {
        if (!token_table_get(&b->vocab, (struct slice){word + left->at, left->n + right->n}, id))
            return false;
        *rank = *id;
        return true;
    }
    if (b->pairs_n == 0)
        return false;
    const struct bpe_pair *p = find_pair(b, (uint64_t)left->id << 32 | right->id);
    if (!p->used)
        return false;
    *rank = p->rank;
    *id = p->id;
    return true;
}

/* --- joining ------------------------------------------------------------------------------ */

/* n symbols in a row; returns how many are left, in a row again. */
static size_t join_few(const struct bpe *b, const char *word, struct bpe_symbol *s, size_t n)
{
    uint64_t rank[FEW];
    uint32_t id[FEW], r;
    for (size_t i = 0; i + 1 < n; i++)
        rank[i] = joined(b, word, &s[i], &s[i + 1], &r, &id[i]) ? r : UINT64_MAX;
    while (n > 1) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < n; i++)
            best = rank[i] < rank[best] ? i : best;
        if (rank[best] == UINT64_MAX)
            break;
        s[best].id = id[best];
        s[best].n += s[best + 1].n;
        n--;
        memmove(s + best + 1, s + best + 2, (n - best - 1) * sizeof *s);
        memmove(rank + best, rank + best + 1, (n - best) * sizeof *rank);
        memmove(id + best, id + best + 1, (n - best) * sizeof *id);
        if (best + 1 < n)
            rank[best] = joined(b, word, &s[best], &s[best + 1], &r, &id[best]) ? r : UINT64_MAX;
        if (best > 0)
            rank[best - 1] =
                joined(b, word, &s[best - 1], &s[best], &r, &id[best - 1]) ? r : UINT64_MAX;
    }
    return n;
}

static void push_due(struct bpe *b, struct bpe_due d)
{
    if (b->due_n == b->due_cap) {
        b->due_cap = b->due_cap > 0 ? b->due_cap * 2 : 256;
        b->due = mem_resize(b->due, b->due_cap * sizeof *b->due);
    }
    size_t i = b->due_n++;
    for (; i > 0 && b->due[(i - 1) / 2].key > d.key; i = (i - 1) / 2)
        b->due[i] = b->due[(i - 1) / 2];
    b->due[i] = d;
}

static struct bpe_due pop_due(struct bpe *b)
{
    struct bpe_due top = b->due[0], last = b->due[--b->due_n];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < b->due_n; i = child) {
        if (child + 1 < b->due_n && b->due[child + 1].key < b->due[child].key)
            child++;
        if (b->due[child].key >= last.key)
            break;
        b->due[i] = b->due[child];
    }
    b->due[i] = last;
    return top;
}

static void offer(struct bpe *b, const char *word, int32_t left)
{
    const struct bpe_symbol *s = &b->symbols[left];
    uint32_t rank, id;
    if (s->next >= 0 && joined(b, word, s, &b->symbols[s->next], &rank, &id))
        push_due(b, (struct bpe_due){(uint64_t)rank << 32 | (uint32_t)left, id});
}

/* The same for any number of them. */
static size_t join_many(struct bpe *b, const char *word, size_t n)
{
    struct bpe_symbol *s = b->symbols;
    b->due_n = 0;
    for (size_t i = 0; i < n; i++) {
        s[i].prev = (int32_t)i - 1;
        s[i].next = i + 1 < n ? (int32_t)i + 1 : -1;
    }
    for (size_t i = 0; i + 1 < n; i++)
        offer(b, word, (int32_t)i);
    while (b->due_n > 0) {
        struct bpe_due d = pop_due(b);
        int32_t i = (int32_t)(d.key & UINT32_MAX), k = s[i].next;
        uint32_t rank, id;
        if (s[i].n == 0 || k < 0 || !joined(b, word, &s[i], &s[k], &rank, &id) || id != d.id)
            continue; /* one of the two has been joined to another since */
        s[i].id = id;
        s[i].n += s[k].n;
        s[i].next = s[k].next;
        s[k].n = 0;
        if (s[i].next >= 0)
            s[s[i].next].prev = i;
        if (s[i].prev >= 0)
            offer(b, word, s[i].prev);
        offer(b, word, i);
    }
    size_t left = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i].n > 0)
            s[left++] = s[i];
    }
    return left;
}

/* --- symbols ------------------------------------------------------------------------------ */

/* What a word is taken apart into, so far. */
struct apart {
    struct bpe *b;
    size_t n;
    uint32_t unk_n; /* bytes of the unknown token that is still to be added; 0: none */
    uint32_t at;    /* bytes that have symbols */
};

static void add(struct apart *a, int64_t id, uint32_t n)
{
    struct bpe *b = a->b;
    if (a->n == b->symbols_cap) {
        b->symbols_cap = b->symbols_cap > 0 ? b->symbols_cap * 2 : 256;
        b->symbols = mem_resize(b->symbols, b->symbols_cap * sizeof *b->symbols);
    }
    b->symbols[a->n++] = (struct bpe_symbol){(uint32_t)id, a->at, n, -1, -1};
    a->at += n;
}

static void add_unk(struct apart *a)
{
    if (a->unk_n > 0)
        add(a, a->b->unk_id, a->unk_n);
    a->unk_n = 0;
}

/* A character that is no token: as bytes, as the unknown token, or (there is none) not at all. An
 * unknown token waits for its like, and bytes overtake it, as they do in the reference. */
static bool add_unknown(struct apart *a, struct slice c, uint32_t bytes)
{
    const struct bpe *b = a->b;
    bool have_all = b->byte_fallback;
    for (size_t i = 0; i < c.n && have_all; i++)
        have_all = b->byte_id[(uint8_t)c.p[i]] >= 0;
    if (have_all) {
        for (size_t i = 0; i < c.n; i++)
            add(a, b->byte_id[(uint8_t)c.p[i]], 1);
        return true;
    }
    if (!b->has_unk)
        return true;
    if (b->unk_id < 0)
        return false;
    if (!b->fuse_unk)
        add_unk(a);
    a->unk_n += bytes;
    return true;
}

static int64_t id_of(const struct bpe *b, struct slice text, uint32_t cp)
{
    uint32_t id;
    if (cp < BPE_LOW)
        return b->low_id[cp];
    return token_table_get(&b->vocab, text, &id) ? (int64_t)id : -1;
}

/* -1: has_unk, and no id for it. */
static int64_t take_apart(struct bpe *b, struct slice word)
{
    struct apart a = {.b = b};
    char affixed[2 * BPE_AFFIX_MAX + 4];
    for (size_t i = 0, n; i < word.n; i += n) {
        uint32_t cp;
        n = utf8_next((const uint8_t *)word.p + i, word.n - i, &cp);
        struct slice c = {word.p + i, n};
        struct slice before = i > 0 ? b->prefix : (struct slice){NULL, 0};
        struct slice behind = i + n == word.n ? b->suffix : (struct slice){NULL, 0};
        if (before.n + behind.n > 0) {
            if (before.n > 0)
                memcpy(affixed, before.p, before.n);
            memcpy(affixed + before.n, c.p, n);
            if (behind.n > 0)
                memcpy(affixed + before.n + n, behind.p, behind.n);
            c = (struct slice){affixed, before.n + n + behind.n};
            cp = UINT32_MAX;
        }
        int64_t id = id_of(b, c, cp);
        if (id >= 0) {
            add_unk(&a);
            add(&a, id, (uint32_t)n);
        } else if (!add_unknown(&a, c, (uint32_t)n)) {
            return -1;
        }
    }
    add_unk(&a);
    return (int64_t)a.n;
}

static int64_t take_bytes(struct bpe *b, struct slice word)
{
    struct apart a = {.b = b};
    for (size_t i = 0; i < word.n; i++) {
        int64_t id = b->byte_id[(uint8_t)word.p[i]];
        if (id < 0)
            return -1;
        add(&a, id, 1);
    }
    return (int64_t)a.n;
}

/* --- a word ------------------------------------------------------------------------------- */

static void put_ids(struct token_ids *ids, const struct bpe_symbol *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        VEC_PUSH(ids, s[i].id);
}

static int64_t encode(struct bpe *b, struct slice word, struct token_ids *ids)
{
    struct bpe_symbol whole = {.n = 1};
    if (b->whole_first && token_table_get(&b->vocab, word, &whole.id)) {
        if (ids != NULL)
            put_ids(ids, &whole, 1);
        return 1;
    }
    int64_t n = b->by_rank ? take_bytes(b, word) : take_apart(b, word);
    if (n < 0)
        return -1;
    size_t left =
        n <= FEW ? join_few(b, word.p, b->symbols, (size_t)n) : join_many(b, word.p, (size_t)n);
    if (ids != NULL)
        put_ids(ids, b->symbols, left);
    return (int64_t)left;
}

/* A word, or a part of one that nothing joins to the rest. */
static int64_t count_part(struct bpe *b, struct slice word, struct token_ids *ids)
{
    if (word.n > KNOWN_TEXT || ids != NULL)
        return encode(b, word, ids);
    uint32_t hash = token_hash(word.p, word.n);
    struct bpe_known *k = &b->known[hash % KNOWN_MAX];
    if (k->hash == hash && k->n == word.n && memcmp(k->text, word.p, word.n) == 0)
        return k->count;
    int64_t count = encode(b, word, NULL);
    if (count >= 0) {
        *k = (struct bpe_known){.hash = hash, .count = (uint32_t)count, .n = (uint16_t)word.n};
        memcpy(k->text, word.p, word.n);
    }
    return count;
}

/* Bytes up to the first place where no merge can reach across: between two characters that are
 * tokens and meet in no merge. */
static size_t part_of(const struct bpe *b, struct slice word)
{
    uint32_t last, cp;
    size_t before = 0, i = utf8_next((const uint8_t *)word.p, word.n, &last), n;
    for (; i < word.n; before = i, i += n, last = cp) {
        n = utf8_next((const uint8_t *)word.p + i, word.n - i, &cp);
        if (*find_neighbours(b, both_of(last, cp)) == 0 &&
            id_of(b, (struct slice){word.p + before, i - before}, last) >= 0 &&
            id_of(b, (struct slice){word.p + i, n}, cp) >= 0)
            return i;
    }
    return word.n;
}

int64_t bpe_word(struct bpe *b, struct slice word, struct token_ids *ids)
{
    if (word.n <= KNOWN_TEXT || b->by_rank || b->whole_first || b->prefix.n + b->suffix.n > 0 ||
        b->neighbours_n == 0)
        return count_part(b, word, ids);
    int64_t sum = 0;
    for (size_t n; word.n > 0; word = (struct slice){word.p + n, word.n - n}) {
        n = part_of(b, word);
        int64_t count = count_part(b, (struct slice){word.p, n}, ids);
        if (count < 0)
            return -1;
        sum += count;
    }
    return sum;
}

/* --- beginning and end -------------------------------------------------------------------- */

static int64_t lookup(const struct bpe *b, struct slice text)
{
    uint32_t id;
    return token_table_get(&b->vocab, text, &id) ? (int64_t)id : -1;
}

void bpe_ready(struct bpe *b)
{
    for (unsigned i = 0; i < 256; i++) {
        char text[8], byte = (char)i;
        snprintf(text, sizeof text, "<0x%02X>", i);
        b->byte_id[i] = lookup(b, b->by_rank ? (struct slice){&byte, 1} : slice_of(text));
    }
    for (uint32_t cp = 0; cp < BPE_LOW; cp++) {
        char text[4];
        b->low_id[cp] = lookup(b, (struct slice){text, utf8_put(text, cp)});
    }
    b->unk_id = b->has_unk ? lookup(b, b->unk) : -1;
    b->known = mem_array(KNOWN_MAX, sizeof *b->known);
}

void bpe_done(struct bpe *b)
{
    token_table_done(&b->vocab);
    free(b->pairs);
    free(b->neighbours);
    free(b->symbols);
    free(b->due);
    free(b->known);
}
