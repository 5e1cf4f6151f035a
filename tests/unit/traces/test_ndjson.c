/* JSON texts, one a line: inputs and the log of their events, the same for every split. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/feed.h"
#include "traces/limits.h"
#include "traces/ndjson.h"

struct log {
    const struct feed *f;
    struct buf *out;
    uint32_t index;
};

static int log_event(void *ctx, const struct event *ev)
{
    struct log *l = ctx;
    assert_int_equal(ev->index, l->index++);
    assert_true(slice_is(ev->type, "message"));
    feed_check(l->f, ev->first);
    feed_check(l->f, ev->last);
    buf_printf(l->out, "%s @%llu-%llu %.*s\n", ev->kind == EVENT_DATA ? "event" : "truncated",
               (unsigned long long)ev->first.off, (unsigned long long)ev->last.off, (int)ev->data.n,
               ev->data.p);
    return TA_OK;
}

static int log_end(void *ctx, enum end_kind why, struct mark at)
{
    struct log *l = ctx;
    feed_check(l->f, at);
    buf_printf(l->out, "end %d @%llu\n", (int)why, (unsigned long long)at.off);
    return TA_OK;
}

static void log_anomaly(void *ctx, const struct anomaly *a)
{
    struct log *l = ctx;
    buf_printf(l->out, "! %s @%llu %llu\n", a->id, (unsigned long long)a->at.off,
               (unsigned long long)a->n);
}

static void run(void *ctx, const struct feed *f, struct buf *out)
{
    struct log l = {.f = f, .out = out};
    (void)ctx;
    struct ndjson *j = ndjson_new((struct event_sink){&l, log_event, log_end},
                                  (struct anomaly_sink){&l, log_anomaly});
    assert_int_equal(feed_go(f, ndjson_input(j)), TA_OK);
    ndjson_free(j);
}

struct ndjson_case {
    const char *name;
    const char *input;
    const char *log;
    size_t gap_at;
    uint64_t gap_n;
    enum end_kind why;
};

static const struct ndjson_case cases[] = {
    {.name = "nothing", "", "end 0 @0\n"},
    {.name = "two lines",
     "{\"a\":1}\n{\"done\":true}\n",
     "event @0-7 {\"a\":1}\nevent @8-21 {\"done\":true}\nend 0 @22\n"},
    {.name = "CRLF: complete at the LF",
     "[1]\r\n[2]\r\n",
     "event @0-4 [1]\nevent @5-9 [2]\nend 0 @10\n"},
    {.name = "empty lines are none",
     "\n{}\n\r\n  \n{}\n\n",
     "event @1-3 {}\nevent @9-11 {}\nend 0 @13\n"},
    {.name = "a bare CR ends no line", "[1,\r2]\n", "event @0-6 [1,\r2]\nend 0 @7\n"},
    {.name = "a last line without its LF that parses",
     "{\"a\":1}\n{\"b\":[2]}",
     "event @0-7 {\"a\":1}\nevent @8-16 {\"b\":[2]}\nend 0 @17\n"},
    {.name = "one that parses although the connection broke",
     "{\"b\":2}",
     "event @0-6 {\"b\":2}\nend 1 @7\n",
     .why = END_RST},
    {.name = "one that does not parse",
     "{\"a\":1}\n{\"b\":[2",
     "event @0-7 {\"a\":1}\n! ndjson.truncated-line @8 7\ntruncated @8-14 {\"b\":[2\nend 0 @15\n"},
    {.name = "a number may have gone on",
     "12",
     "! ndjson.truncated-line @0 2\ntruncated @0-1 12\nend 2 @2\n",
     .why = END_TRACE},
    {.name = "a number at a proper end", "12", "event @0-1 12\nend 0 @2\n"},
    {.name = "two texts in a last line are none",
     "{} {}",
     "! ndjson.truncated-line @0 5\ntruncated @0-4 {} {}\nend 0 @5\n"},
    {.name = "what is no JSON is still a line",
     "oops\n{}\n",
     "event @0-4 oops\nevent @5-7 {}\nend 0 @8\n"},
    {.name = "gap inside a line",
     "{}\n{\"a\n{}\n",
     "event @0-2 {}\n! ndjson.gap @5 9\nevent @16-18 {}\nend 0 @19\n",
     .gap_at = 5,
     .gap_n = 9},
    {.name = "gap between lines: whether the next byte begins one is not known",
     "{}\n{}\n{}\n",
     "event @0-2 {}\n! ndjson.gap @3 4\nevent @10-12 {}\nend 0 @13\n",
     .gap_at = 3,
     .gap_n = 4},
    {.name = "gap in the last line",
     "{}\n{\"a",
     "event @0-2 {}\n! ndjson.gap @5 9\nend 0 @15\n",
     .gap_at = 5,
     .gap_n = 9},
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ndjson_case *c = &cases[i];
        struct feed f = feed_of(c->input, strlen(c->input));
        f.gap_at = c->gap_at;
        f.gap_n = c->gap_n;
        f.why = c->why;
        print_message("%s\n", c->name);
        feed_every_split(f, run, NULL, c->log);
    }
}

static int is_inside(void *ctx, const struct event *ev)
{
    const struct span *span = ctx;
    const uint8_t *p = (const uint8_t *)ev->data.p;
    assert_true(p >= span->p && p + ev->data.n <= span->p + span->n);
    return TA_OK;
}

/* A line wholly inside one span is a pointer into it. */
static void test_no_copy(void **state)
{
    (void)state;
    struct span span = {(const uint8_t *)"{}\n[1]\r\n", 8, {0}};
    struct ndjson *j =
        ndjson_new((struct event_sink){&span, is_inside, NULL}, (struct anomaly_sink){0});
    struct byte_sink in = ndjson_input(j);
    assert_int_equal(in.data(in.ctx, span), TA_OK);
    ndjson_free(j);
}

struct big {
    unsigned events, too_big;
};

static int big_event(void *ctx, const struct event *ev)
{
    struct big *b = ctx;
    assert_int_equal(ev->data.n, 2);
    b->events++;
    return TA_OK;
}

static void big_anomaly(void *ctx, const struct anomaly *a)
{
    struct big *b = ctx;
    assert_string_equal(a->id, "ndjson.line-too-big");
    b->too_big++;
}

/* One line over the limit costs that line, not the stream. */
static void test_too_big(void **state)
{
    (void)state;
    struct big b = {0};
    struct ndjson *j = ndjson_new((struct event_sink){&b, big_event, NULL},
                                  (struct anomaly_sink){&b, big_anomaly});
    struct byte_sink in = ndjson_input(j);
    size_t n = 1 << 18;
    uint8_t *fill = malloc(n);
    assert_non_null(fill);
    memset(fill, '[', n);
    for (size_t i = 0; i <= LIMIT_SSE_LINE_BYTES / n + 2; i++)
        assert_int_equal(in.data(in.ctx, (struct span){fill, n, {0}}), TA_OK);
    assert_int_equal(in.data(in.ctx, (struct span){(const uint8_t *)"\n{}\n{}\n", 7, {0}}), TA_OK);
    assert_int_equal(b.too_big, 1);
    assert_int_equal(b.events, 2);
    free(fill);
    ndjson_free(j);
}

static int stop(void *ctx, const struct event *ev)
{
    (void)ev;
    ++*(int *)ctx;
    return TA_STOP;
}

static void test_stop_is_sticky(void **state)
{
    (void)state;
    int events = 0;
    struct ndjson *j =
        ndjson_new((struct event_sink){&events, stop, NULL}, (struct anomaly_sink){0});
    struct byte_sink in = ndjson_input(j);
    struct span span = {(const uint8_t *)"{}\n{}\n", 6, {0}};
    assert_int_equal(in.data(in.ctx, span), TA_STOP);
    assert_int_equal(in.data(in.ctx, span), TA_STOP);
    assert_int_equal(in.gap(in.ctx, 1, span.at), TA_STOP);
    assert_int_equal(in.end(in.ctx, END_FIN, span.at), TA_STOP);
    assert_int_equal(events, 1);
    ndjson_free(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_no_copy),
        cmocka_unit_test(test_too_big),
        cmocka_unit_test(test_stop_is_sticky),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
