/* Free-at-once memory in growing blocks. */
#include "traces/base/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "traces/base/mem.h"

enum { FIRST_BLOCK = 1024, BIGGEST_BLOCK = 64 * 1024 };

struct arena_block {
    struct arena_block *before;
    size_t used;
    size_t cap;
    alignas(max_align_t) unsigned char room[];
};

void *arena_alloc(struct arena *a, size_t n)
{
    size_t align = alignof(max_align_t);
    n = (n + align - 1) / align * align;
    struct arena_block *b = a->last;
    if (b == NULL || b->cap - b->used < n) {
        size_t cap = b == NULL ? FIRST_BLOCK : b->cap * 2;
        if (cap > BIGGEST_BLOCK)
            cap = BIGGEST_BLOCK;
        if (cap < n)
            cap = n;
        b = mem_alloc(sizeof *b + cap);
        *b = (struct arena_block){.before = a->last, .cap = cap};
        a->last = b;
    }
    void *p = b->room + b->used;
    b->used += n;
    a->bytes += n;
    memset(p, 0, n);
    return p;
}

char *arena_text(struct arena *a, struct slice s)
{
    char *text = arena_alloc(a, s.n + 1);
    if (s.n > 0)
        memcpy(text, s.p, s.n);
    return text;
}

struct slice arena_slice(struct arena *a, struct slice s)
{
    return (struct slice){arena_text(a, s), s.n};
}

void arena_free(struct arena *a)
{
    struct arena_block *b = a->last;
    while (b != NULL) {
        struct arena_block *before = b->before;
        free(b);
        b = before;
    }
    *a = (struct arena){0};
}
