/* Overwritten ranges of a stream, newest last. */
#include "traces/redact_ranges.h"

#include <stdlib.h>
#include <string.h>

#include "traces/base/mem.h"
#include "traces/limits.h"

static void forget_half(struct redact_ranges *r)
{
    size_t half = r->n / 2;
    for (size_t i = 0; i < half; i++)
        if (r->v[i].to > r->floor)
            r->floor = r->v[i].to;
    r->n -= half;
    memmove(r->v, r->v + half, r->n * sizeof *r->v);
}

void redact_ranges_add(struct redact_ranges *r, struct redact_range add)
{
    struct redact_range *last = r->n > 0 ? &r->v[r->n - 1] : NULL;
    /* Of numbers in an array, what stands between them holds no digit. */
    if (last != NULL && last->how == add.how && add.from >= last->to &&
        add.from - last->to <= (add.how == FILL_DIGITS ? 2u : 0u)) {
        last->to = add.to;
        return;
    }
    if (r->n == LIMIT_REDACT_RANGES)
        forget_half(r);
    if (r->n == r->cap) {
        r->cap = r->cap > 0 ? r->cap * 2 : 8;
        r->v = mem_resize(r->v, r->cap * sizeof *r->v);
    }
    r->v[r->n++] = add;
}

void redact_ranges_apply(const struct redact_ranges *r, uint64_t from, uint64_t to,
                         const struct redact_filler *f)
{
    for (size_t i = 0; i < r->n; i++) {
        uint64_t a = r->v[i].from > from ? r->v[i].from : from;
        uint64_t b = r->v[i].to < to ? r->v[i].to : to;
        if (a < b)
            f->fill(f->ctx, (size_t)(a - from), (size_t)(b - from), r->v[i].how);
    }
}

void redact_ranges_done(struct redact_ranges *r)
{
    free(r->v);
    *r = (struct redact_ranges){0};
}
