/* What a body is, by what it begins with: through traces/body, the same for every split. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/feed.h"
#include "traces/body.h"
#include "traces/limits.h"

/* A document is logged at its end: its pieces depend on the split. */
struct log {
    const struct feed *f;
    struct buf *out;
    struct buf document;
    uint64_t documented; /* the place of its last byte */
};

static int log_event(void *ctx, const struct event *ev)
{
    struct log *l = ctx;
    feed_check(l->f, ev->first);
    feed_check(l->f, ev->last);
    buf_printf(l->out, "%s @%llu-%llu %.*s\n",
               ev->kind == EVENT_DATA      ? "event"
               : ev->kind == EVENT_COMMENT ? "comment"
                                           : "truncated",
               (unsigned long long)ev->first.off, (unsigned long long)ev->last.off, (int)ev->data.n,
               ev->data.p);
    return TA_OK;
}

static int log_data(void *ctx, struct span in)
{
    struct log *l = ctx;
    feed_check(l->f, in.at);
    assert_true(l->document.n == 0 || in.at.off > l->documented);
    l->documented = in.at.off + in.n - 1;
    buf_put(&l->document, in.p, in.n);
    return TA_OK;
}

static void log_anomaly(void *ctx, const struct anomaly *a)
{
    struct log *l = ctx;
    buf_printf(l->out, "! %s @%llu\n", a->id, (unsigned long long)a->at.off);
}

static struct http_head head_with(struct http_field *type)
{
    return (struct http_head){.fields = type, .n_fields = type->value.p != NULL};
}

static void run(void *ctx, const struct feed *f, struct buf *out)
{
    struct log l = {.f = f, .out = out};
    struct http_field type = {slice_of("content-type"), {ctx, ctx != NULL ? strlen(ctx) : 0}};
    struct http_head head = head_with(&type);
    buf_init(&l.document, 1 << 20);
    struct body *b = body_new(&head, false, (struct body_sink){&l, log_event, log_data},
                              (struct anomaly_sink){&l, log_anomaly});
    assert_int_equal(feed_go(f, body_input(b)), TA_OK);
    if (l.document.n > 0)
        buf_printf(out, "document -%llu %s\n", (unsigned long long)l.documented,
                   buf_text(&l.document));
    static const char *const kinds[] = {"document", "events", "lines"};
    buf_printf(out, "%s%s\n", kinds[body_stream(b)], body_sniffed(b) ? ", sniffed" : "");
    assert_int_equal(body_decoded_bytes(b), f->n);
    body_free(b);
    buf_done(&l.document);
}

struct shape_case {
    const char *name, *type, *input, *log;
    size_t gap_at;
    uint64_t gap_n;
    enum end_kind why;
};

#define JSON "application/json; charset=utf-8"
#define SSE "text/event-stream; charset=utf-8"
#define LINES "application/x-ndjson"
#define BOM "\xEF\xBB\xBF"

static const struct shape_case cases[] = {
    /* One JSON text. */
    {.name = "a reply", JSON, "{\"a\":1}", "document -6 {\"a\":1}\ndocument\n"},
    {.name = "a reply with its line end",
     JSON,
     "{\"a\":1}\r\n\n",
     "document -9 {\"a\":1}\r\n\n\ndocument\n"},
    {.name = "on several lines",
     JSON,
     "{\n\"a\":[\n1]\n}\n",
     "document -12 {\n\"a\":[\n1]\n}\n\ndocument\n"},
    {.name = "brackets and line ends in strings are text",
     JSON,
     "{\"a\":\"}\\\"\\n{\"}\n",
     "document -14 {\"a\":\"}\\\"\\n{\"}\n\ndocument\n"},
    {.name = "that was cut",
     JSON,
     "{\"a\":[{}",
     "document -7 {\"a\":[{}\ndocument\n",
     .why = END_RST},
    {.name = "blanks that keep alive before it",
     JSON,
     "\n\n \n{}",
     "document -5 \n\n \n{}\ndocument\n"},
    {.name = "its byte order mark is not handed on", JSON, BOM "{}", "document -4 {}\ndocument\n"},
    {.name = "no JSON", JSON, "{oops}\nhello", "document -11 {oops}\nhello\ndocument\n"},
    {.name = "no JSON either", JSON, "oops", "document -3 oops\ndocument\n"},
    {.name = "a line end in a string is no JSON",
     JSON,
     "{\"a\n\":1}\n{}\n",
     "document -11 {\"a\n\":1}\n{}\n\ndocument\n"},
    {.name = "two values on one line are no lines",
     JSON,
     "{}{}\n",
     "document -4 {}{}\n\ndocument\n"},
    {.name = "values of several lines are none either",
     JSON,
     "{\n}\n{\n}\n",
     "document -7 {\n}\n{\n}\n\ndocument\n"},
    {.name = "what follows is no value", JSON, "{}\noops\n", "document -7 {}\noops\n\ndocument\n"},
    {.name = "nothing", JSON, "", "document\n"},
    /* Lines of JSON that are not said to be any. */
    {.name = "lines said to be JSON",
     JSON,
     "{\"a\":1}\n{\"b\":2}\n",
     "event @0-7 {\"a\":1}\nevent @8-15 {\"b\":2}\nlines, sniffed\n"},
    {.name = "the last without its end",
     JSON,
     "{\"a\":1}\r\n\n{\"b\":2}",
     "event @0-8 {\"a\":1}\nevent @10-16 {\"b\":2}\nlines, sniffed\n"},
    {.name = "the last cut",
     JSON,
     "{\"a\":1}\n{\"b\":",
     "event @0-7 {\"a\":1}\n! ndjson.truncated-line @8\ntruncated @8-12 {\"b\":\nlines, sniffed\n",
     .why = END_RST},
    {.name = "lists", JSON, "[1]\n[2]\n", "event @0-3 [1]\nevent @4-7 [2]\nlines, sniffed\n"},
    {.name = "behind a byte order mark",
     JSON,
     BOM "{}\n{}\n",
     "event @3-5 {}\nevent @6-8 {}\nlines, sniffed\n"},
    {.name = "of no type", NULL, "{}\n{}\n", "event @0-2 {}\nevent @3-5 {}\nlines, sniffed\n"},
    {.name = "said to be text",
     "text/plain",
     "{}\n{}\n",
     "event @0-2 {}\nevent @3-5 {}\nlines, sniffed\n"},
    {.name = "said to be bytes",
     "application/octet-stream",
     "{}\n{}\n",
     "event @0-2 {}\nevent @3-5 {}\nlines, sniffed\n"},
    {.name = "said to be events",
     SSE,
     "{}\n\n{}\n\n",
     "event @0-2 {}\nevent @4-6 {}\nlines, sniffed\n"},
    {.name = "bytes are missing behind the first",
     JSON,
     "{}\n\"}\n{}\n",
     "event @0-2 {}\n! ndjson.gap @3\nevent @12-14 {}\nlines, sniffed\n",
     .gap_at = 3,
     .gap_n = 6},
    {.name = "and inside of it",
     JSON,
     "{\"a\n{}\n",
     "document -12 {\"a\n{}\n\ndocument\n",
     .gap_at = 3,
     .gap_n = 6},
    {.name = "said to be lines, and is", LINES, "{}\n{}", "event @0-2 {}\nevent @3-4 {}\nlines\n"},
    {.name = "one line", LINES, "{}\n", "event @0-2 {}\nlines\n"},
    {.name = "a line that is no JSON",
     LINES,
     "{oops\n{}\n",
     "event @0-5 {oops\nevent @6-8 {}\nlines\n"},
    {.name = "said to be lines, and is one text",
     LINES,
     "{\n\"a\":1\n}\n",
     "document -9 {\n\"a\":1\n}\n\ndocument, sniffed\n"},
    {.name = "nothing, said to be lines", LINES, "", "lines\n"},
    /* One JSON text that is said to be an event stream. */
    {.name = "a reply said to be events",
     SSE,
     "{\"a\":1}",
     "document -6 {\"a\":1}\ndocument, sniffed\n"},
    {.name = "with a line end", SSE, "{\"a\":1}\n", "document -7 {\"a\":1}\n\ndocument, sniffed\n"},
    {.name = "with a blank line",
     SSE,
     " {\"a\":1}\n\n",
     "document -9  {\"a\":1}\n\n\ndocument, sniffed\n"},
    {.name = "on several lines, said to be events",
     SSE,
     "[\n{}\n]",
     "document -5 [\n{}\n]\ndocument, sniffed\n"},
    {.name = "of which bytes are missing",
     SSE,
     "{\"a\n",
     "document -9 {\"a\n\ndocument, sniffed\n",
     .gap_at = 3,
     .gap_n = 6},
    {.name = "events are events", SSE, "data: {}\n\n", "event @0-9 {}\nevents\n"},
    {.name = "behind a byte order mark, events",
     SSE,
     BOM ": a\n\ndata: b\n\n",
     "comment @3-6 a\nevent @8-16 b\nevents\n"},
    {.name = "behind blank lines", SSE, "\n\r\n\ndata: a\n\n", "event @4-12 a\nevents\n"},
    {.name = "events behind a line of JSON", SSE, "{}\n\ndata: a\n\n", "event @4-12 a\nevents\n"},
    {.name = "what is no JSON stays what it is said to be",
     SSE,
     "[DONE]\n\ndata: a\n\n",
     "event @8-16 a\nevents\n"},
    {.name = "nothing, said to be events", SSE, "", "events\n"},
    /* An event stream that is not said to be one. */
    {.name = "events said to be JSON", JSON, "data: {}\n\n", "event @0-9 {}\nevents, sniffed\n"},
    {.name = "events said to be text",
     "text/html",
     "event: x\ndata: {}\n\n",
     "event @0-18 {}\nevents, sniffed\n"},
    {.name = "events said to be lines", LINES, "data: {}\n\n", "event @0-9 {}\nevents, sniffed\n"},
    {.name = "a comment first, of no type",
     NULL,
     "\n: a\n\ndata: b\n\n",
     "comment @1-4 a\nevent @6-14 b\nevents, sniffed\n"},
    {.name = "a blank before it is part of the name",
     JSON,
     " data: a\n\n",
     "document -9  data: a\n\n\ndocument\n"},
    {.name = "a longer name", JSON, "database: a\n\n", "document -12 database: a\n\n\ndocument\n"},
    {.name = "half a byte order mark", JSON, "\xEF\xBB{}", "document -3 \xEF\xBB{}\ndocument\n"},
    /* Not looked at. */
    {.name = "a picture", "image/png", "data: a\n\n", "document -8 data: a\n\n\ndocument\n"},
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct shape_case *c = &cases[i];
        struct feed f = feed_of(c->input, strlen(c->input));
        f.gap_at = c->gap_at;
        f.gap_n = c->gap_n;
        f.why = c->why;
        print_message("%s\n", c->name);
        feed_every_split(f, run, (void *)(uintptr_t)c->type, c->log);
    }
}

struct big {
    uint64_t bytes, events, first_at; /* first_at: bytes that had been given when the first came */
    uint64_t given;
};

static int big_event(void *ctx, const struct event *ev)
{
    struct big *b = ctx;
    (void)ev;
    if (b->events++ == 0)
        b->first_at = b->given;
    return TA_OK;
}

static int big_data(void *ctx, struct span in)
{
    struct big *b = ctx;
    b->bytes += in.n;
    return TA_OK;
}

static void give(struct body *b, struct big *big, const char *text, size_t n)
{
    struct byte_sink in = body_input(b);
    big->given += n;
    assert_int_equal(in.data(in.ctx, (struct span){(const uint8_t *)text, n, {0}}), TA_OK);
}

/* Of what is said to be JSON or an event stream no more than the limit is held: then it is a
 * document, and all of it comes. */
static void test_the_limit(void **state)
{
    (void)state;
    static const char *const types[] = {JSON, SSE};
    enum { PIECE = 1 << 16 };
    char *text = malloc(PIECE);
    assert_non_null(text);
    memset(text, ' ', PIECE);
    text[0] = '[';
    for (size_t i = 0; i < 2; i++) {
        struct big big = {0};
        struct http_field type = {slice_of("content-type"), slice_of(types[i])};
        struct http_head head = head_with(&type);
        struct body *b = body_new(&head, false, (struct body_sink){&big, big_event, big_data},
                                  (struct anomaly_sink){0});
        while (big.given + PIECE <= LIMIT_SHAPE_BYTES)
            give(b, &big, text, PIECE);
        assert_int_equal(big.bytes, 0);
        give(b, &big, text, PIECE);
        assert_int_equal(big.bytes, big.given);
        give(b, &big, text, PIECE);
        assert_int_equal(big.bytes, big.given);
        assert_int_equal(body_stream(b), STREAM_NONE);
        assert_int_equal(big.events, 0);
        body_free(b);
    }
    free(text);
}

/* A stream is told by its first byte, lines by the first of the second one, those that are said to
 * be lines by the end of the first. */
static void test_when_it_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *type, *text;
        uint64_t at;
    } cases_of_time[] = {{SSE, "data: a\n\ndata: b\n\n", 9},
                         {JSON, "data: a\n\ndata: b\n\n", 9},
                         {LINES, "{\"a\":1}\n{\"b\":2}\n", 8},
                         {JSON, "{\"a\":1}\n{\"b\":2}\n", 9}};
    for (size_t i = 0; i < sizeof cases_of_time / sizeof *cases_of_time; i++) {
        struct big big = {0};
        struct http_field type = {slice_of("content-type"), slice_of(cases_of_time[i].type)};
        struct http_head head = head_with(&type);
        struct body *b = body_new(&head, false, (struct body_sink){&big, big_event, big_data},
                                  (struct anomaly_sink){0});
        for (const char *p = cases_of_time[i].text; *p != '\0'; p++)
            give(b, &big, p, 1);
        assert_int_equal(big.first_at, cases_of_time[i].at);
        assert_int_equal(big.events, 2);
        body_free(b);
    }
}

static int stop(void *ctx, const struct event *ev)
{
    (void)ev;
    ++*(int *)ctx;
    return TA_STOP;
}

/* What the consumer says of what was held is passed on, and freed in the middle nothing is lost. */
static void test_stops(void **state)
{
    (void)state;
    int events = 0;
    struct http_field type = {slice_of("content-type"), slice_of(JSON)};
    struct http_head head = head_with(&type);
    struct body *b =
        body_new(&head, false, (struct body_sink){&events, stop, NULL}, (struct anomaly_sink){0});
    struct byte_sink in = body_input(b);
    struct mark at = {0};
    assert_int_equal(in.data(in.ctx, (struct span){(const uint8_t *)"{}\n", 3, at}), TA_OK);
    assert_int_equal(in.data(in.ctx, (struct span){(const uint8_t *)"{}\n{}\n", 6, at}), TA_STOP);
    assert_int_equal(events, 1);
    body_free(b);
    b = body_new(&head, false, (struct body_sink){&events, stop, NULL}, (struct anomaly_sink){0});
    in = body_input(b);
    assert_int_equal(in.data(in.ctx, (struct span){(const uint8_t *)"{}\n", 3, at}), TA_OK);
    body_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_the_limit),
        cmocka_unit_test(test_when_it_is_told),
        cmocka_unit_test(test_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
