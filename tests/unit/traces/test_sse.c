/* text/event-stream: inputs and the log of their events, the same for every split; and the vectors
 * of others, from the folder TOKAUDIT_CORPORA names (sse/NAME.sse with sse/NAME.expected.json).
 *
 * Pitfalls, and what covers them:
 *   S1, S8   "NUL and invalid UTF-8 pass through", vector wpt-utf8; every split of every case
 *   S2   "byte order mark", "no byte order mark after all", vectors wpt-bom
 *   S3   "CRLF is complete at its CR", "CR", "mixed line ends", vectors esp-cr, esp-crlf
 *   S4   "no space, two spaces", "comments", "fields that mean nothing here"
 *   S5   "several data lines", "empty data is an event, no data is none"
 *   S6   "truncated …", vector wpt-final-no-blank
 *   S7   "types", vectors wpt-id-null, wpt-retry-bogus, wpt-event-empty
 *   S9   several events in one piece, one in several: every split; test_no_copy
 *   S10 to S13, S15   what events say: dialects and analyze (test_openai_chat, test_load)
 *   S14  test_exchange: test_sniffed
 *   S16  test_too_big
 *   S17  base: test_jscan
 *   S18  test_byte_by_byte */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/feed.h"
#include "traces/base/json.h"
#include "traces/limits.h"
#include "traces/sse.h"

/* --- the log -------------------------------------------------------------------------------- */

struct log {
    const struct feed *f;
    struct buf *out;
    bool marks; /* with offsets, comments and anomalies; else what the standard sees */
    uint32_t index;
};

static int log_event(void *ctx, const struct event *ev)
{
    static const char *const kinds[] = {"event", "comment", "truncated"};
    struct log *l = ctx;
    assert_int_equal(ev->index, l->index++);
    feed_check(l->f, ev->first);
    feed_check(l->f, ev->last);
    if (!l->marks && ev->kind != EVENT_DATA)
        return TA_OK;
    buf_puts(l->out, kinds[ev->kind]);
    if (l->marks)
        buf_printf(l->out, " @%llu-%llu", (unsigned long long)ev->first.off,
                   (unsigned long long)ev->last.off);
    if (ev->kind != EVENT_COMMENT)
        buf_printf(l->out, " %.*s", (int)ev->type.n, ev->type.p);
    buf_puts(l->out, " \"");
    assert_int_equal(buf_add(l->out, ev->data.p, ev->data.n), TA_OK);
    buf_puts(l->out, "\"\n");
    return TA_OK;
}

static int log_end(void *ctx, enum end_kind why, struct mark at)
{
    struct log *l = ctx;
    feed_check(l->f, at);
    if (l->marks)
        buf_printf(l->out, "end %d @%llu\n", (int)why, (unsigned long long)at.off);
    return TA_OK;
}

static void log_anomaly(void *ctx, const struct anomaly *a)
{
    struct log *l = ctx;
    if (l->marks)
        buf_printf(l->out, "! %s @%llu %llu\n", a->id, (unsigned long long)a->at.off,
                   (unsigned long long)a->n);
}

/* ctx: whether to log marks. */
static void run(void *ctx, const struct feed *f, struct buf *out)
{
    struct log l = {.f = f, .out = out, .marks = *(bool *)ctx};
    struct sse *s = sse_new((struct event_sink){&l, log_event, log_end},
                            (struct anomaly_sink){&l, log_anomaly});
    assert_int_equal(feed_go(f, sse_input(s)), TA_OK);
    sse_free(s);
}

/* --- the cases ------------------------------------------------------------------------------ */

struct sse_case {
    const char *name;
    const char *input;
    const char *log;
    size_t gap_at;
    uint64_t gap_n;
    enum end_kind why;
};

static const struct sse_case cases[] = {
    {.name = "one event", "data: a\n\n", "event @0-8 message \"a\"\nend 0 @9\n"},
    {.name = "nothing", "", "end 0 @0\n"},
    {.name = "no space, two spaces",
     "data:a\n\ndata:  b\n\n",
     "event @0-7 message \"a\"\nevent @8-17 message \" b\"\nend 0 @18\n"},
    {.name = "CRLF is complete at its CR",
     "data: a\r\n\r\ndata: b\r\n\r\n",
     "event @0-9 message \"a\"\nevent @11-20 message \"b\"\nend 0 @22\n"},
    {.name = "CR",
     "data: a\r\rdata: b\r\r",
     "event @0-8 message \"a\"\nevent @9-17 message \"b\"\nend 0 @18\n"},
    {.name = "mixed line ends",
     "data: a\r\n\ndata: b\n\r\ndata: c\r\n\rdata: d\n\r",
     "event @0-9 message \"a\"\nevent @10-18 message \"b\"\nevent @20-29 message \"c\"\n"
     "event @30-38 message \"d\"\nend 0 @39\n"},
    {.name = "several data lines",
     "data: a\ndata\ndata:\ndata: b\n\n",
     "event @0-27 message \"a\n\n\nb\"\nend 0 @28\n"},
    {.name = "empty data is an event, no data is none",
     "data:\n\nevent: x\n\nid: 1\n\ndata\n\n",
     "event @0-6 message \"\"\nevent @24-29 message \"\"\nend 0 @30\n"},
    {.name = "types",
     "event: x\ndata: a\n\ndata: b\n\nevent:\ndata: c\n\ndata: d\nevent: y\n\n",
     "event @0-17 x \"a\"\nevent @18-26 message \"b\"\nevent @27-42 message \"c\"\n"
     "event @43-60 y \"d\"\nend 0 @61\n"},
    {.name = "the last type counts",
     "event: x\nevent: yz\ndata: a\n\n",
     "event @0-27 yz \"a\"\nend 0 @28\n"},
    {.name = "comments",
     ": ping\n\n:\ndata: a\n:in it\n\n",
     "comment @0-6 \"ping\"\ncomment @8-9 \"\"\ncomment @18-24 \"in it\"\n"
     "event @10-25 message \"a\"\nend 0 @26\n"},
    {.name = "fields that mean nothing here",
     "id: 7\nretry: 1\nfoo: x\n data: y\ndata: z\n\n",
     "event @0-39 message \"z\"\nend 0 @40\n"},
    {.name = "error field of older llama.cpp",
     "error: {\"code\":500}\n\n",
     "event @0-20 error \"{\"code\":500}\"\nend 0 @21\n"},
    {.name = "byte order mark",
     "\xef\xbb\xbf"
     "data: a\n\n\xef\xbb\xbf"
     "data: b\n\n",
     "event @3-11 message \"a\"\nend 0 @24\n"},
    {.name = "no byte order mark after all",
     "\xef\xbb"
     "data: a\n\ndata: b\n\n",
     "event @11-19 message \"b\"\nend 0 @20\n"},
    {.name = "truncated in data",
     "data: a\n\ndata: {\"b\"",
     "event @0-8 message \"a\"\n! sse.truncated-event @9 4\ntruncated @9-18 message \"{\"b\"\"\n"
     "end 1 @19\n",
     .why = END_RST},
    {.name = "truncated behind data that is whole",
     "data: {\"b\":1}",
     "! sse.truncated-event @0 7\n! sse.truncated-behind-json @0 7\n"
     "truncated @0-12 message \"{\"b\":1}\"\nend 0 @13\n"},
    {.name = "truncated before its blank line",
     "event: x\ndata: [DONE]\n",
     "! sse.truncated-event @0 6\ntruncated @0-21 x \"[DONE]\"\nend 0 @22\n"},
    {.name = "truncated in a field name",
     "dat",
     "! sse.truncated-event @0 0\ntruncated @0-2 message \"\"\nend 0 @3\n"},
    {.name = "a comment cut short is nothing",
     "data: a\n\n: pi",
     "event @0-8 message \"a\"\nend 0 @13\n"},
    {.name = "a block without data cut short is nothing", "event: x\nid: 1\n", "end 0 @15\n"},
    {.name = "gap inside an event",
     "data: a\n\ndata: bb\n\ndata: c\n\n",
     "event @0-8 message \"a\"\n! sse.gap @16 5\nevent @24-32 message \"c\"\nend 0 @33\n",
     .gap_at = 16,
     .gap_n = 5},
    {.name = "gap before a line end: no blank line",
     "data: a\n\ndata: b\n\ndata: c\n\n",
     "! sse.gap @8 1\nevent @19-27 message \"c\"\nend 0 @28\n",
     .gap_at = 8,
     .gap_n = 1},
    {.name = "gap between CR and LF",
     "data: a\r\n\r\ndata: b\r\n\r\ndata: c\r\n\r\n",
     "! sse.gap @8 1\nevent @12-21 message \"b\"\nevent @23-32 message \"c\"\nend 0 @34\n",
     .gap_at = 8,
     .gap_n = 1},
    {.name = "NUL and invalid UTF-8 pass through",
     "data: \xff\xc3\n\n",
     "event @0-9 message \"\xff\xc3\"\nend 0 @10\n"},
};

static void test_cases(void **state)
{
    (void)state;
    bool marks = true;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct sse_case *c = &cases[i];
        struct feed f = feed_of(c->input, strlen(c->input));
        f.gap_at = c->gap_at;
        f.gap_n = c->gap_n;
        f.why = c->why;
        print_message("%s\n", c->name);
        feed_every_split(f, run, &marks, c->log);
    }
}

/* --- the vectors of others ------------------------------------------------------------------ */

static char *read_file(const char *path, size_t *n)
{
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    char *p = malloc(1 << 20);
    assert_non_null(p);
    *n = fread(p, 1, 1 << 20, in);
    fclose(in);
    return p;
}

static void check_vector(const char *folder, const char *name)
{
    char path[600];
    size_t n;
    snprintf(path, sizeof path, "%s/%s.expected.json", folder, name);
    struct json *expected = json_read_file(path, 1 << 20, NULL);
    assert_non_null(expected);
    struct buf want;
    buf_init(&want, 1 << 20);
    for (const struct json *ev = json_first(json_get(expected, "events")); ev != NULL;
         ev = json_next(ev))
        buf_printf(&want, "event %s \"%s\"\n", json_string(ev, "event"), json_string(ev, "data"));
    snprintf(path, sizeof path, "%s/%s.sse", folder, name);
    char *input = read_file(path, &n);
    bool marks = false;
    print_message("%s\n", name);
    feed_every_split(feed_of(input, n), run, &marks, buf_text(&want));
    free(input);
    buf_done(&want);
    json_free(expected);
}

static void test_vectors(void **state)
{
    (void)state;
    const char *corpora = getenv("TOKAUDIT_CORPORA");
    if (corpora == NULL) {
        print_message("SKIPPED: TOKAUDIT_CORPORA is not set, the vectors of others were not run\n");
        skip();
    }
    char folder[500];
    snprintf(folder, sizeof folder, "%s/sse", corpora);
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    unsigned found = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char name[64];
        const char *dot = strstr(entry->d_name, ".sse");
        if (dot == NULL || (size_t)(dot - entry->d_name) >= sizeof name)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(dot - entry->d_name), entry->d_name);
        if (strcmp(name, "wpt-null-char") == 0) /* its data holds a NUL: see test_nul */
            continue;
        check_vector(folder, name);
        found++;
    }
    closedir(dir);
    assert_true(found >= 19);
}

/* --- more ----------------------------------------------------------------------------------- */

static int count_nul(void *ctx, const struct event *ev)
{
    assert_int_equal(ev->data.n, 3);
    assert_memory_equal(ev->data.p, "a\0b", 3);
    ++*(int *)ctx;
    return TA_OK;
}

static void test_nul(void **state)
{
    (void)state;
    static const char input[] = "data: a\0b\n\n";
    for (size_t cut = 1; cut < sizeof input; cut++) {
        int events = 0;
        struct feed f = feed_of(input, sizeof input - 1);
        f.cut[0] = cut;
        struct sse *s =
            sse_new((struct event_sink){&events, count_nul, NULL}, (struct anomaly_sink){0});
        struct byte_sink in = sse_input(s);
        f.no_end = true;
        assert_int_equal(feed_go(&f, in), TA_OK);
        assert_int_equal(events, 1);
        sse_free(s);
    }
}

/* An event wholly inside one span is a pointer into it. */
static int is_inside(void *ctx, const struct event *ev)
{
    const struct span *span = ctx;
    const uint8_t *p = (const uint8_t *)ev->data.p;
    assert_true(p >= span->p && p + ev->data.n <= span->p + span->n);
    return TA_OK;
}

static void test_no_copy(void **state)
{
    (void)state;
    static const char input[] = "data: a\n\nevent: x\ndata: b\n\n: c\n\ndata: d\r\n\r\n";
    struct span span = {(const uint8_t *)input, sizeof input - 1, {0}};
    struct sse *s = sse_new((struct event_sink){&span, is_inside, NULL}, (struct anomaly_sink){0});
    struct byte_sink in = sse_input(s);
    assert_int_equal(in.data(in.ctx, span), TA_OK);
    sse_free(s);
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
    struct sse *s = sse_new((struct event_sink){&events, stop, NULL}, (struct anomaly_sink){0});
    struct byte_sink in = sse_input(s);
    struct span span = {(const uint8_t *)"data: a\n\ndata: b\n\n", 18, {0}};
    assert_int_equal(in.data(in.ctx, span), TA_STOP);
    assert_int_equal(in.data(in.ctx, span), TA_STOP);
    assert_int_equal(in.end(in.ctx, END_FIN, span.at), TA_STOP);
    assert_int_equal(events, 1);
    sse_free(s);
}

/* One line over the limit costs its event, not the stream. */
struct big {
    unsigned events, too_big;
};

static int big_event(void *ctx, const struct event *ev)
{
    struct big *b = ctx;
    assert_int_equal(ev->data.n, 1);
    b->events++;
    return TA_OK;
}

static void big_anomaly(void *ctx, const struct anomaly *a)
{
    struct big *b = ctx;
    assert_true(strcmp(a->id, "sse.line-too-big") == 0 || strcmp(a->id, "sse.event-too-big") == 0);
    b->too_big++;
}

static void feed_text(struct byte_sink in, const char *p, size_t n)
{
    assert_int_equal(in.data(in.ctx, (struct span){(const uint8_t *)p, n, {0}}), TA_OK);
}

static int long_event(void *ctx, const struct event *ev)
{
    ((struct big *)ctx)->events += (unsigned)ev->data.n;
    return TA_OK;
}

static void test_too_big(void **state)
{
    (void)state;
    struct big b = {0};
    struct sse *s =
        sse_new((struct event_sink){&b, big_event, NULL}, (struct anomaly_sink){&b, big_anomaly});
    struct byte_sink in = sse_input(s);
    size_t n = 1 << 18;
    char *fill = malloc(n);
    assert_non_null(fill);
    memset(fill, 'x', n);
    feed_text(in, "data: a\n\ndata: ", 15);
    for (size_t i = 0; i <= LIMIT_SSE_LINE_BYTES / n; i++)
        feed_text(in, fill, n);
    feed_text(in, "\ndata: b\n\ndata: c\n\n", 19);
    assert_int_equal(b.too_big, 1);
    assert_int_equal(b.events, 2);
    memcpy(fill, "data:", 5);
    fill[n - 1] = '\n';
    for (size_t i = 0; i <= LIMIT_SSE_EVENT_BYTES / n; i++)
        feed_text(in, fill, n);
    feed_text(in, "\ndata: d\n\n", 10);
    assert_int_equal(b.too_big, 2);
    assert_int_equal(b.events, 3);
    free(fill);
    sse_free(s);
}

/* A parser that looked at the line again with each byte would be at it for days (S18). */
static void test_byte_by_byte(void **state)
{
    (void)state;
    enum { N = 4 << 20 };
    struct big b = {0};
    struct sse *s =
        sse_new((struct event_sink){&b, long_event, NULL}, (struct anomaly_sink){&b, big_anomaly});
    struct byte_sink in = sse_input(s);
    feed_text(in, "data:", 5);
    for (size_t i = 0; i < N; i++)
        feed_text(in, "x", 1);
    feed_text(in, "\n\n", 2);
    assert_int_equal(b.events, N);
    sse_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_nul),
        cmocka_unit_test(test_no_copy),
        cmocka_unit_test(test_too_big),
        cmocka_unit_test(test_byte_by_byte),
        cmocka_unit_test(test_stop_is_sticky),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
