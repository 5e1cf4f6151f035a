/* Text to token id. */
#include "analyze/tokenizer_table.h"

#include <stdlib.h>
#include <string.h>

#include "traces/base/mem.h"

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 32);
}

uint32_t token_hash(const void *text, size_t n)
{
    const uint8_t *p = text;
    uint64_t h = n * 0xd6e8feb86659fd93u, word;
    for (; n >= 8; p += 8, n -= 8) {
        memcpy(&word, p, 8);
        h = mix(h, word);
    }
    word = 0;
    memcpy(&word, p, n);
    h = mix(mix(h, word), h >> 29);
    return (uint32_t)h != 0 ? (uint32_t)h : 1;
}

/* Where text is, or would be. */
static struct token_slot *find(const struct token_table *t, struct slice text, uint32_t hash)
{
    size_t i = hash & (t->cap - 1);
    for (;; i = (i + 1) & (t->cap - 1)) {
        struct token_slot *s = &t->slots[i];
        if (s->hash == 0 ||
            (s->hash == hash && s->n == text.n && memcmp(t->texts + s->at, text.p, text.n) == 0))
            return s;
    }
}

static void grow(struct token_table *t)
{
    struct token_table old = *t;
    t->cap = old.cap > 0 ? old.cap * 2 : 256;
    t->slots = mem_array(t->cap, sizeof *t->slots);
    for (size_t i = 0; i < old.cap; i++) {
        const struct token_slot *s = &old.slots[i];
        if (s->hash != 0)
            *find(t, (struct slice){t->texts + s->at, s->n}, s->hash) = *s;
    }
    free(old.slots);
}

static uint32_t keep(struct token_table *t, struct slice text)
{
    if (t->texts_cap - t->texts_n < text.n || t->texts == NULL) {
        t->texts_cap = (t->texts_cap + text.n) * 2 + 1024;
        t->texts = mem_resize(t->texts, t->texts_cap);
    }
    size_t at = t->texts_n;
    if (text.n > 0)
        memcpy(t->texts + at, text.p, text.n);
    t->texts_n += text.n;
    return (uint32_t)at;
}

void token_table_put(struct token_table *t, struct slice text, uint32_t id)
{
    if (t->n * 2 >= t->cap)
        grow(t);
    uint32_t hash = token_hash(text.p, text.n);
    struct token_slot *s = find(t, text, hash);
    if (s->hash == 0) {
        *s = (struct token_slot){hash, keep(t, text), (uint32_t)text.n, id};
        t->n++;
    }
    s->id = id;
}

bool token_table_get(const struct token_table *t, struct slice text, uint32_t *id)
{
    if (t->n == 0)
        return false;
    const struct token_slot *s = find(t, text, token_hash(text.p, text.n));
    if (s->hash == 0)
        return false;
    *id = s->id;
    return true;
}

void token_table_done(struct token_table *t)
{
    free(t->slots);
    free(t->texts);
    *t = (struct token_table){.n = 0};
}
