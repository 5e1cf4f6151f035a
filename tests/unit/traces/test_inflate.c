/* Content codings as a stream: what comes out, the same for every split, and which packet released
 * each byte of it (H10, H11). The truth is zlib itself, given one byte at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <zlib.h>

#include <cmocka.h>

#include "tests/support/feed.h"
#include "traces/inflate.h"

/* --- coded input ---------------------------------------------------------------------------- */

enum { RAW = -15, ZLIB = 15, GZIP = 31 };

/* Adds text to out, compressed; '|' in it is a sync flush. ends: the stream is finished. */
static void deflate_text(struct buf *out, int window, const char *text, bool ends)
{
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
    while (*text != '\0' || ends) {
        size_t n = strcspn(text, "|");
        bool last = text[n] == '\0';
        uint8_t room[4096];
        z.next_in = (uint8_t *)(uintptr_t)text;
        z.avail_in = (unsigned)n;
        z.next_out = room;
        z.avail_out = sizeof room;
        int found = deflate(&z, last && ends ? Z_FINISH : Z_SYNC_FLUSH);
        assert_true(found == Z_OK || found == Z_STREAM_END);
        buf_put(out, room, sizeof room - z.avail_out);
        text += last ? n : n + 1;
        if (last)
            break;
    }
    deflateEnd(&z);
}

/* --- the log -------------------------------------------------------------------------------- */

struct log {
    const struct feed *f;
    struct buf *out;
    bool open;        /* a line of data */
    uint64_t decoded; /* where the next byte should be */
    const size_t *released;
};

static void close_line(struct log *l)
{
    if (l->open)
        buf_puts(l->out, "\"\n");
    l->open = false;
}

static int log_data(void *ctx, struct span in)
{
    struct log *l = ctx;
    assert_true(in.n > 0);
    assert_int_equal(in.at.off, l->decoded);
    if (!l->open)
        buf_puts(l->out, "\"");
    l->open = true;
    buf_put(l->out, in.p, in.n);
    for (size_t i = 0; i < in.n && l->released != NULL; i++) {
        struct mark want = feed_mark(l->f, l->released[l->decoded + i]);
        assert_int_equal(in.at.pkt, want.pkt);
        assert_int_equal(in.at.rel, want.rel);
        assert_int_equal(in.at.t_seen, want.t_seen);
        assert_int_equal(in.at.t_ready, want.t_ready);
    }
    l->decoded += in.n;
    return TA_OK;
}

static int log_gap(void *ctx, uint64_t n, struct mark at)
{
    struct log *l = ctx;
    close_line(l);
    assert_int_equal(at.off, l->decoded);
    buf_printf(l->out, "gap %llu\n", (unsigned long long)n);
    l->decoded += n;
    return TA_OK;
}

static int log_end(void *ctx, enum end_kind why, struct mark at)
{
    struct log *l = ctx;
    close_line(l);
    (void)at;
    buf_printf(l->out, "end %d\n", (int)why);
    return TA_OK;
}

static void log_anomaly(void *ctx, const struct anomaly *a)
{
    struct log *l = ctx;
    close_line(l);
    buf_printf(l->out, "! %s\n", a->id);
}

struct wanted {
    enum inflate_format format;
    const size_t *released; /* byte of input that released each byte of output; NULL: not asked */
};

static void run(void *ctx, const struct feed *f, struct buf *out)
{
    const struct wanted *w = ctx;
    struct log l = {.f = f, .out = out, .released = w->released};
    struct inflate *z = inflate_new(w->format, (struct byte_sink){&l, log_data, log_gap, log_end},
                                    (struct anomaly_sink){&l, log_anomaly});
    assert_int_equal(feed_go(f, inflate_input(z)), TA_OK);
    inflate_free(z);
}

/* --- cases ---------------------------------------------------------------------------------- */

/* Text in two pieces, each compressed on its own, raw bytes before, between and after; bytes cut
 * off; and what should be said. */
struct coded_case {
    const char *name;
    enum inflate_format format;
    int window;
    const char *text, *more; /* more: a second member */
    const char *plain_before, *plain_after;
    size_t cut, spoil; /* bytes cut off the end; 1 + the byte that is turned over from the end */
    size_t gap_at;
    uint64_t gap_n;
    const char *log;
};

static const struct coded_case cases[] = {
    {.name = "gzip", .format = INFLATE_GZIP, GZIP, "hello", .log = "\"hello\"\nend 0\n"},
    {.name = "zlib", .format = INFLATE_DEFLATE, ZLIB, "hello", .log = "\"hello\"\nend 0\n"},
    {.name = "raw deflate",
     .format = INFLATE_DEFLATE,
     RAW,
     "hello",
     .log = "! coding.raw-deflate\n\"hello\"\nend 0\n"},
    {.name = "gzip of nothing", .format = INFLATE_GZIP, GZIP, "", .log = "end 0\n"},
    {.name = "no bytes at all",
     .format = INFLATE_GZIP,
     GZIP,
     NULL,
     .plain_before = "",
     .log = "end 0\n"},
    {.name = "two members",
     .format = INFLATE_GZIP,
     GZIP,
     "hello, ",
     .more = "world",
     .log = "\"hello, world\"\nend 0\n"},
    {.name = "bytes behind the last member",
     .format = INFLATE_GZIP,
     GZIP,
     "hello",
     .plain_after = "xyz",
     .log = "\"hello\"\n! coding.bytes-behind\nend 0\n"},
    {.name = "bytes behind a zlib stream",
     .format = INFLATE_DEFLATE,
     ZLIB,
     "hello",
     .plain_after = "\x1f\x8b",
     .log = "\"hello\"\n! coding.bytes-behind\nend 0\n"},
    {.name = "said gzip and is plain (http-encoding-gzip-uncompressed)",
     .format = INFLATE_GZIP,
     GZIP,
     NULL,
     .plain_before = "data: a\n\n",
     .log = "! coding.mislabelled\n\"data: a\n\n\"\nend 0\n"},
    {.name = "one plain byte",
     .format = INFLATE_GZIP,
     GZIP,
     NULL,
     .plain_before = "1",
     .log = "! coding.mislabelled\n\"1\"\nend 0\n"},
    {.name = "said gzip and is plain with a gap",
     .format = INFLATE_GZIP,
     GZIP,
     NULL,
     .plain_before = "abcdef",
     .gap_at = 3,
     .gap_n = 4,
     .log = "! coding.mislabelled\n\"abc\"\ngap 4\n\"def\"\nend 0\n"},
    {.name = "said gzip and is zlib",
     .format = INFLATE_GZIP,
     ZLIB,
     "hello",
     .log = "! coding.mislabelled\n\"hello\"\nend 0\n"},
    {.name = "said deflate and is gzip",
     .format = INFLATE_DEFLATE,
     GZIP,
     "hello",
     .log = "! coding.mislabelled\n\"hello\"\nend 0\n"},
    {.name = "cut short: what is there comes out",
     .format = INFLATE_GZIP,
     GZIP,
     "hello",
     .cut = 8,
     .log = "\"hello\"\n! coding.cut-short\nend 0\n"},
    {.name = "wrong check sum",
     .format = INFLATE_GZIP,
     GZIP,
     "hello",
     .spoil = 6,
     .log = "\"hello\"\n! coding.broken\nend 0\n"},
    {.name = "wrong check sum of a first member",
     .format = INFLATE_GZIP,
     GZIP,
     "a",
     .more = "b",
     .spoil = 27,
     .log = "\"a\"\n! coding.broken\nend 0\n"},
    {.name = "not even deflate",
     .format = INFLATE_DEFLATE,
     ZLIB,
     NULL,
     .plain_before = "\x07nonsense",
     .log = "! coding.raw-deflate\n! coding.broken\nend 0\n"},
    {.name = "gap: nothing more can be read",
     .format = INFLATE_GZIP,
     GZIP,
     "hello|world",
     .gap_at = 20,
     .gap_n = 9,
     .log = "\"hello\"\n! coding.gap\ngap 9\nend 0\n"},
    {.name = "gap before the first byte",
     .format = INFLATE_GZIP,
     GZIP,
     "hello",
     .gap_at = 0,
     .gap_n = 2,
     .log = "! coding.gap\ngap 2\nend 0\n"},
};

static void build(const struct coded_case *c, struct buf *in)
{
    buf_init(in, 1 << 16);
    buf_puts(in, c->plain_before != NULL ? c->plain_before : "");
    if (c->text != NULL)
        deflate_text(in, c->window, c->text, true);
    if (c->more != NULL)
        deflate_text(in, c->window, c->more, true);
    buf_puts(in, c->plain_after != NULL ? c->plain_after : "");
    in->n -= c->cut;
    if (c->spoil > 0)
        in->p[in->n - c->spoil] ^= 0x55;
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct coded_case *c = &cases[i];
        struct buf in;
        build(c, &in);
        struct feed f = feed_of((const char *)in.p, in.n);
        f.gap_at = c->gap_at;
        f.gap_n = c->gap_n;
        print_message("%s\n", c->name);
        feed_every_split(f, run, &(struct wanted){c->format, NULL}, c->log);
        buf_done(&in);
    }
}

/* --- who released what ---------------------------------------------------------------------- */

/* zlib's own answer: after which byte of the input each byte of the output was there. */
static size_t *releases(const struct buf *in, int window, size_t *n)
{
    size_t *released = calloc(1 << 16, sizeof *released);
    uint8_t out[1024];
    z_stream z = {0};
    assert_non_null(released);
    assert_int_equal(inflateInit2(&z, window), Z_OK);
    *n = 0;
    for (size_t i = 0; i < in->n; i++) {
        z.next_in = in->p + i;
        z.avail_in = 1;
        z.next_out = out;
        z.avail_out = sizeof out;
        int found = inflate(&z, Z_SYNC_FLUSH);
        assert_true(found == Z_OK || found == Z_STREAM_END || found == Z_BUF_ERROR);
        for (size_t k = sizeof out - z.avail_out; k > 0; k--)
            released[(*n)++] = i;
    }
    inflateEnd(&z);
    return released;
}

/* Events behind sync flushes: each is out with the last byte of its flush at the latest, and every
 * byte has the time of the packet that made it readable. */
static void test_flushed_stream(void **state)
{
    (void)state;
    static const char text[] =
        "data: {\"a\":1}\n\n|data: {\"a\":2}\n\n|: ping\n\n|data: {\"a\":3}\n\n";
    static const struct {
        int window;
        enum inflate_format format;
        const char *before;
    } kinds[] = {{GZIP, INFLATE_GZIP, ""},
                 {ZLIB, INFLATE_DEFLATE, ""},
                 {RAW, INFLATE_DEFLATE, "! coding.raw-deflate\n"}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct buf in;
        size_t n;
        buf_init(&in, 1 << 16);
        deflate_text(&in, kinds[i].window, text, true);
        size_t *released = releases(&in, kinds[i].window, &n);
        assert_int_equal(n, sizeof text - 1 - 3);
        char want[200];
        snprintf(
            want, sizeof want,
            "%s\"data: {\"a\":1}\n\ndata: {\"a\":2}\n\n: ping\n\ndata: {\"a\":3}\n\n\"\nend 0\n",
            kinds[i].before);
        feed_every_split(feed_of((const char *)in.p, in.n), run,
                         &(struct wanted){kinds[i].format, released}, want);
        free(released);
        buf_done(&in);
    }
}

/* --- bounds and contract -------------------------------------------------------------------- */

static int count_bytes(void *ctx, struct span in)
{
    *(uint64_t *)ctx += in.n;
    assert_true(in.n <= 1 << 20); /* a piece at a time, whatever the ratio */
    return TA_OK;
}

/* 64 MiB of zeros in 64 KiB: all of it is counted, none of it is kept. */
static void test_bomb(void **state)
{
    (void)state;
    enum { N = 64 << 20 };
    uint8_t *coded = malloc(1 << 20), *zeros = calloc(1, 1 << 16);
    assert_true(coded != NULL && zeros != NULL);
    z_stream z = {.next_out = coded, .avail_out = 1 << 20};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, GZIP, 8, Z_DEFAULT_STRATEGY), Z_OK);
    for (int i = 0; i < N >> 16; i++) {
        z.next_in = zeros;
        z.avail_in = 1 << 16;
        assert_int_equal(deflate(&z, i + 1 == N >> 16 ? Z_FINISH : Z_NO_FLUSH),
                         i + 1 == N >> 16 ? Z_STREAM_END : Z_OK);
    }
    deflateEnd(&z);
    uint64_t bytes = 0;
    struct inflate *s =
        inflate_new(INFLATE_GZIP, (struct byte_sink){&bytes, count_bytes, NULL, NULL},
                    (struct anomaly_sink){0});
    struct byte_sink in = inflate_input(s);
    assert_true(z.total_out < N / 500);
    assert_int_equal(in.data(in.ctx, (struct span){coded, z.total_out, {0}}), TA_OK);
    assert_int_equal(bytes, N);
    inflate_free(s);
    free(coded);
    free(zeros);
}

static int stop(void *ctx, struct span in)
{
    (void)in;
    ++*(int *)ctx;
    return TA_STOP;
}

static void test_stop_is_sticky(void **state)
{
    (void)state;
    struct buf coded;
    buf_init(&coded, 1 << 16);
    deflate_text(&coded, GZIP, "a|b", true);
    int calls = 0;
    struct inflate *z = inflate_new(INFLATE_GZIP, (struct byte_sink){&calls, stop, NULL, NULL},
                                    (struct anomaly_sink){0});
    struct byte_sink in = inflate_input(z);
    struct span span = {coded.p, coded.n, {0}};
    assert_int_equal(in.data(in.ctx, span), TA_STOP);
    assert_int_equal(in.data(in.ctx, span), TA_STOP);
    assert_int_equal(in.gap(in.ctx, 1, span.at), TA_STOP);
    assert_int_equal(in.end(in.ctx, END_FIN, span.at), TA_STOP);
    assert_int_equal(calls, 1);
    inflate_free(z);
    buf_done(&coded);
}

static void test_names(void **state)
{
    (void)state;
    enum inflate_format f;
    assert_true(inflate_named(slice_of("GZip"), &f) && f == INFLATE_GZIP);
    assert_true(inflate_named(slice_of("x-gzip"), &f) && f == INFLATE_GZIP);
    assert_true(inflate_named(slice_of("deflate"), &f) && f == INFLATE_DEFLATE);
    assert_false(inflate_named(slice_of("br"), &f));
    assert_false(inflate_named(slice_of("gzip, gzip"), &f));
    assert_false(inflate_named((struct slice){NULL, 0}, &f));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases), cmocka_unit_test(test_flushed_stream),
        cmocka_unit_test(test_bomb),  cmocka_unit_test(test_stop_is_sticky),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
