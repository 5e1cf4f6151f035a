/* A stage must say the same of an input in whatever pieces it comes. What it says goes into a hash;
 * the harness aborts if the hash of the whole input is not that of its pieces. */
#ifndef TESTS_FUZZ_SPLIT_H
#define TESTS_FUZZ_SPLIT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/anomaly.h"
#include "traces/base/err.h"
#include "traces/base/span.h"
#include "traces/event.h"

struct said {
    uint64_t hash;
};

static inline void said_bytes(struct said *s, const void *p, size_t n)
{
    const uint8_t *b = p;
    for (size_t i = 0; i < n; i++)
        s->hash = (s->hash ^ b[i]) * 1099511628211u;
}

static inline void said_u64(struct said *s, uint64_t v)
{
    said_bytes(s, &v, sizeof v);
}

static inline void said_text(struct said *s, struct slice t)
{
    said_u64(s, t.n);
    if (t.n > 0)
        said_bytes(s, t.p, t.n);
}

/* Feeds the input in pieces of step bytes, with a gap of 5 before byte gap_at (SIZE_MAX: none). */
static inline void split_feed(struct byte_sink to, const uint8_t *p, size_t n, size_t step,
                              size_t gap_at)
{
    uint64_t missing = 0;
    for (size_t i = 0; i < n;) {
        size_t end = n - i < step ? n : i + step;
        if (i == gap_at) {
            to.gap(to.ctx, 5, (struct mark){.off = i});
            missing = 5;
        } else if (gap_at > i && gap_at < end) {
            end = gap_at;
        }
        uint8_t *piece = malloc(end - i);
        if (piece == NULL)
            abort();
        memcpy(piece, p + i, end - i);
        to.data(to.ctx, (struct span){piece, end - i, {.off = i + missing}});
        free(piece);
        i = end;
    }
    to.end(to.ctx, END_FIN, (struct mark){.off = n + missing});
}

/* run(ctx, p, n, step, gap_at) returns the hash of what the stage said. */
typedef uint64_t split_run(int variant, const uint8_t *p, size_t n, size_t step, size_t gap_at);

/* The first byte of an input chooses the variant (low 3 bits) and whether there is a gap; the
 * second, where. */
static inline int split_check(split_run *run, const uint8_t *p, size_t n)
{
    if (n < 2)
        return 0;
    int variant = p[0] & 7;
    size_t gap_at = p[0] & 8 && n > 2 ? (size_t)p[1] % (n - 2) : SIZE_MAX;
    static const size_t steps[] = {1, 2, 7, 64};
    uint64_t whole = run(variant, p + 2, n - 2, SIZE_MAX, gap_at);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (run(variant, p + 2, n - 2, steps[i], gap_at) != whole) {
            fprintf(stderr, "pieces of %zu bytes: not what it says of the whole\n", steps[i]);
            abort();
        }
    }
    return 0;
}

/* What a stage of events says. */
static inline int said_event(void *ctx, const struct event *ev)
{
    struct said *s = ctx;
    said_u64(s, ev->kind);
    said_text(s, ev->type);
    said_text(s, ev->data);
    said_u64(s, ev->index);
    said_u64(s, ev->first.off);
    said_u64(s, ev->last.off);
    if (ev->last.off < ev->first.off)
        abort();
    return TA_OK;
}

static inline int said_end(void *ctx, enum end_kind why, struct mark at)
{
    said_u64(ctx, why);
    said_u64(ctx, at.off);
    return TA_OK;
}

static inline void said_anomaly(void *ctx, const struct anomaly *a)
{
    said_text(ctx, slice_of(a->id));
    said_u64(ctx, a->at.off);
    said_u64(ctx, a->n);
}

#endif
