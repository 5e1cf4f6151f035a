/* Plans written for other tools: read again they have the same times and lengths, but for what was
 * said to be lost; what nobody knows is left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "replay/export.h"
#include "replay/formats.h"

static const struct plan_recorded answered = {
    .t_ns = 1234567891, .end_ns = 2, .status = 200, .prompt_tokens = 31, .completion_tokens = 7};
static const struct plan_recorded failed = {
    .t_ns = 2000000000, .end_ns = 3, .status = 503, .prompt_tokens = 5, .completion_tokens = -1};
static const struct plan_recorded uncounted = {
    .t_ns = 3000000000, .end_ns = 4, .status = 200, .prompt_tokens = -1, .completion_tokens = -1};

static void add(struct plan *p, int64_t t_ns, int64_t in, int64_t out, const char *body,
                const struct plan_recorded *recorded)
{
    struct plan_request r = PLAN_REQUEST_NONE;
    r.workload = "w";
    r.name = "n";
    r.method = "POST";
    r.path = "/";
    r.t_ns = t_ns;
    r.after = t_ns < 0 ? 0 : -1;
    r.expect_prompt_tokens = in;
    r.expect_completion_tokens = out;
    r.body = slice_of(body);
    r.recorded = recorded;
    plan_add(p, &r);
}

static struct plan example(void)
{
    struct plan p = {0};
    add(&p, 999999, 12, 3, "{\"model\":\"a,\\\"b\",\"messages\":[]}", NULL);
    add(&p, 0, 40, 9, "{\n \"model\":\"m\", \"messages\": [\r\n1] }", &answered);
    add(&p, 500000001, 8, 1, "{\"prompt\":\"no messages\"}", NULL);
    add(&p, 1, 0, 0, "not JSON", &failed);
    add(&p, 2, 0, 0, "{\"messages\":[2]}", &uncounted);
    add(&p, -1, 4, 4, "{\"messages\":[3]} 4", NULL);
    return p;
}

static char *export_text(const struct plan *p, enum export_format f, struct buf *says)
{
    char *text = NULL;
    size_t n = 0;
    struct err e;
    FILE *to = open_memstream(&text, &n);
    buf_init(says, 1 << 16);
    if (export_write(p, f, to, says, &e) != TA_OK)
        fail_msg("%s", e.msg);
    fclose(to);
    return text;
}

static void assert_says(struct buf *says, const char *what)
{
    if (strstr(buf_text(says), what) == NULL)
        fail_msg("expected '%s' in: %s", what, buf_text(says));
}

static void every_format_as_it_is_written(void **state)
{
    (void)state;
    static const struct {
        enum export_format f;
        const char *text;
    } cases[] = {
        {EXPORT_MOONCAKE, "{\"timestamp\": 0, \"input_length\": 12, \"output_length\": 3}\n"
                          "{\"timestamp\": 500, \"input_length\": 8, \"output_length\": 1}\n"
                          "{\"timestamp\": 1234, \"input_length\": 31, \"output_length\": 7}\n"},
        {EXPORT_AIPERF, "{\"model\":\"a,\\\"b\",\"messages\":[]}\n"
                        "{  \"model\":\"m\", \"messages\": [  1] }\n"
                        "{\"messages\":[2]}\n"},
        {EXPORT_BURSTGPT,
         "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
         "0.000999999,\"a,\\\"\"b\",12,3,15,API log\n0.500000001,unknown,8,1,9,API log\n"
         "1.234567891,m,31,7,38,API log\n2,unknown,5,0,5,API log\n"},
        {EXPORT_AZURE, "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
                       "1970-01-01 00:00:00.0009999,12,3\r\n"
                       "1970-01-01 00:00:00.5000000,8,1\r\n1970-01-01 00:00:01.2345678,31,7\r\n"}};
    struct plan p = example();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf says;
        char *text = export_text(&p, cases[i].f, &says);
        assert_string_equal(text, cases[i].text);
        free(text);
        buf_done(&says);
    }
    plan_free(&p);
}

static void losses_are_said(void **state)
{
    (void)state;
    struct plan p = example();
    struct buf says;
    free(export_text(&p, EXPORT_MOONCAKE, &says));
    assert_says(&says, "3 of 6 requests written as mooncake");
    assert_says(&says, "times are rounded down to ms");
    assert_says(&says, "2 input lengths are those the workload asks for");
    assert_says(&says, "2 output lengths are those the workload asks for");
    assert_says(&says, "1 requests that have no known input length: no server stated it, no "
                       "workload asked for one, the first is request 4");
    assert_says(&says, "1 requests that have no time");
    assert_says(&says, "1 requests that failed in the recording");
    buf_done(&says);
    free(export_text(&p, EXPORT_BURSTGPT, &says));
    assert_says(&says, "1 calls that failed have 0 response tokens");
    buf_done(&says);
    free(export_text(&p, EXPORT_AIPERF, &says));
    assert_says(&says, "lost: all times");
    assert_says(&says, "3 requests that have a body that is no JSON object with 'messages', the "
                       "first is request 2");
    assert_says(&says, "1 bodies had line ends");
    buf_done(&says);
    plan_free(&p);

    struct err e;
    struct plan none = {0};
    buf_init(&says, 1 << 16);
    add(&none, 0, 0, 0, "", &uncounted);
    assert_int_equal(export_write(&none, EXPORT_AZURE, stderr, &says, &e), TA_EFORMAT);
    assert_string_equal(e.msg, "no request can be written as azure");
    buf_done(&says);
    plan_free(&none);
}

/* A group, a turn that waits, and a later round: said, and the last left out. */
static void what_waits_is_said(void **state)
{
    (void)state;
    struct plan p = {0};
    struct buf says;
    for (int i = 0; i < 4; i++)
        add(&p, 1000, 5, 5, "{}", NULL);
    p.requests.v[0].group = p.requests.v[1].group = 0;
    p.requests.v[2].after = 0;
    p.requests.v[3].round = 1;
    free(export_text(&p, EXPORT_MOONCAKE, &says));
    assert_says(&says, "3 of 4 requests written");
    assert_says(&says, "2 requests are released together");
    assert_says(&says, "1 requests wait for another one to end");
    assert_says(&says, "1 requests that belong to a later round");
    buf_done(&says);
    plan_free(&p);
}

static struct plan read_back(const char *text)
{
    struct plan p = {0};
    struct formats *s = NULL;
    struct err e;
    struct buf says;
    const struct formats_options o = {.max_tokens = -1, .model = "m", .path = "/"};
    FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    buf_init(&says, 1 << 16);
    if (formats_open(&s, f, (struct slice){NULL, 0}, "back", NULL, &e) != TA_OK ||
        formats_read(s, &p, &o, &says, &e) != TA_OK)
        fail_msg("%s", e.msg);
    formats_close(s);
    fclose(f);
    buf_done(&says);
    return p;
}

static void round_trips(void **state)
{
    (void)state;
    static const struct {
        enum export_format f;
        int64_t unit_ns; /* of the times: what is lost is below it */
    } cases[] = {{EXPORT_MOONCAKE, 1000000}, {EXPORT_BURSTGPT, 1}, {EXPORT_AZURE, 100}};
    struct plan p = {0};
    for (int i = 0; i < 200; i++)
        add(&p, (int64_t)i * i * 12345678, 10 + i, 1 + i % 7, "{\"model\":\"GPT-4\"}", NULL);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct buf says;
        char *text = export_text(&p, cases[c].f, &says);
        struct plan back = read_back(text);
        assert_int_equal(back.requests.n, p.requests.n);
        for (size_t i = 0; i < p.requests.n; i++) {
            const struct plan_request *a = &p.requests.v[i], *b = &back.requests.v[i];
            assert_int_equal(b->t_ns, a->t_ns - a->t_ns % cases[c].unit_ns);
            assert_int_equal(b->expect_prompt_tokens, a->expect_prompt_tokens);
            assert_int_equal(b->expect_completion_tokens, a->expect_completion_tokens);
        }
        plan_free(&back);
        buf_done(&says);
        free(text);
    }
    plan_free(&p);
}

static void bodies_round_trip(void **state)
{
    (void)state;
    struct plan p = {0};
    struct buf says;
    add(&p, 0, 0, 0, "{\"model\":\"m\",\"messages\":[{\"content\":\"\\u00e9\\n\"}],\"seed\":1e400}",
        NULL);
    add(&p, -1, 0, 0, "{ \"messages\" : [ ] }", NULL);
    char *text = export_text(&p, EXPORT_AIPERF, &says);
    struct plan back = read_back(text);
    assert_int_equal(back.requests.n, 2);
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(back.requests.v[i].body_sha256, p.requests.v[i].body_sha256);
    assert_int_equal(back.requests.v[1].after, 0);
    free(text);
    buf_done(&says);
    plan_free(&back);
    plan_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_as_it_is_written),
        cmocka_unit_test(losses_are_said),
        cmocka_unit_test(what_waits_is_said),
        cmocka_unit_test(round_trips),
        cmocka_unit_test(bodies_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
