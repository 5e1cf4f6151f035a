/* Feeds a byte_sink with an input in any split. Each piece is a heap block of its own, freed as
 * soon as the sink returns, so that a stage that keeps a pointer is caught by the sanitizer.
 * Include after cmocka.h. */
#ifndef TESTS_SUPPORT_FEED_H
#define TESTS_SUPPORT_FEED_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "traces/base/buf.h"
#include "traces/base/span.h"

struct feed {
    const char *p;
    size_t n;
    size_t gap_at;  /* before this byte … */
    uint64_t gap_n; /* … so many were never seen; 0: no gap */
    enum end_kind why;
    size_t cut[2]; /* pieces end here; equal to n: no cut */
    bool single;   /* one byte a piece */
    bool no_end;   /* the stage is freed in mid-stream */
};

static inline struct feed feed_of(const char *p, size_t n)
{
    return (struct feed){.p = p, .n = n, .why = END_FIN, .cut = {n, n}};
}

/* Where the piece that holds byte i of the input begins. */
static inline size_t feed_piece_start(const struct feed *f, size_t i)
{
    size_t start = 0;
    if (f->single)
        return i;
    for (int k = 0; k < 2; k++)
        if (f->cut[k] <= i && f->cut[k] > start)
            start = f->cut[k];
    if (f->gap_n > 0 && f->gap_at <= i && f->gap_at > start)
        start = f->gap_at;
    return start;
}

static inline size_t feed_piece_end(const struct feed *f, size_t start)
{
    size_t end = f->single ? start + 1 : f->n;
    for (int k = 0; k < 2; k++)
        if (f->cut[k] > start && f->cut[k] < end)
            end = f->cut[k];
    if (f->gap_n > 0 && f->gap_at > start && f->gap_at < end)
        end = f->gap_at;
    return end;
}

/* The truth about byte i: its piece is its packet, and packets are 1 ms apart. */
static inline struct mark feed_mark(const struct feed *f, size_t i)
{
    size_t start = i < f->n ? feed_piece_start(f, i) : f->n;
    uint64_t missing = f->gap_n > 0 && i >= f->gap_at ? f->gap_n : 0;
    int64_t t = 1000000 * ((int64_t)start + 1);
    return (struct mark){i + missing, t, t, start + 1, start + 1};
}

/* Fails if m is not the mark of the byte at its offset (the end counts as one). */
static inline void feed_check(const struct feed *f, struct mark m)
{
    uint64_t i = m.off;
    if (f->gap_n > 0 && i >= f->gap_at + f->gap_n)
        i -= f->gap_n;
    else if (f->gap_n > 0 && i >= f->gap_at)
        return; /* inside the gap */
    assert_true(i <= f->n);
    struct mark want = feed_mark(f, (size_t)i);
    assert_int_equal(m.off, want.off);
    assert_int_equal(m.t_seen, want.t_seen);
    assert_int_equal(m.t_ready, want.t_ready);
    assert_int_equal(m.pkt, want.pkt);
    assert_int_equal(m.rel, want.rel);
}

static inline int feed_go(const struct feed *f, struct byte_sink to)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < f->n;) {
        if (f->gap_n > 0 && i == f->gap_at) {
            struct mark at = feed_mark(f, i);
            at.off = i;
            rc = to.gap(to.ctx, f->gap_n, at);
        }
        size_t end = feed_piece_end(f, i);
        uint8_t *piece = malloc(end - i);
        assert_non_null(piece);
        memcpy(piece, f->p + i, end - i);
        if (rc == 0)
            rc = to.data(to.ctx, (struct span){piece, end - i, feed_mark(f, i)});
        free(piece);
        i = end;
    }
    if (rc == 0 && !f->no_end)
        rc = to.end(to.ctx, f->why, feed_mark(f, f->n));
    return rc;
}

/* Runs a stage over the input and writes a log of what it said. */
typedef void feed_run(void *ctx, const struct feed *f, struct buf *log);

static inline void feed_try(const struct feed *f, feed_run *run, void *ctx, const char *want)
{
    struct buf log;
    buf_init(&log, 1 << 24);
    run(ctx, f, &log);
    bool same = strcmp(buf_text(&log), want) == 0;
    if (!same)
        print_error(
            "input of %zu bytes, cut at %zu and %zu%s, gap at %zu:\n--- found\n%s--- expected\n"
            "%s",
            f->n, f->cut[0], f->cut[1], f->single ? ", byte by byte" : "", f->gap_at,
            buf_text(&log), want);
    buf_done(&log);
    assert_true(same);
}

/* Every split into one, two and three pieces (three up to 256 bytes of input), and byte by byte. */
static inline void feed_every_split(struct feed f, feed_run *run, void *ctx, const char *want)
{
    size_t inner = f.n <= 256 ? f.n : 0;
    for (size_t i = 0; i < f.n || i == 0; i++) {
        f.cut[0] = i == 0 ? f.n : i;
        for (size_t j = i + 1; j <= inner; j++) {
            f.cut[1] = j;
            feed_try(&f, run, ctx, want);
        }
        f.cut[1] = f.n;
        feed_try(&f, run, ctx, want);
    }
    f.single = true;
    feed_try(&f, run, ctx, want);
}

#endif
