/* Claims that cannot be, each beside one that only is not so. */
#include <math.h>

#include "tests/unit/analyze/scene.h"

/* Headers and a role at once, text 400 ms later. */
static const struct act early_role = {.t0 = 0,
                                      .head = 0.00015,
                                      .role = 0.0002,
                                      .first = 0.4,
                                      .last = 1.4,
                                      .end = 1.401,
                                      .events = 101,
                                      .tokens = 101};

static enum verdict judged(struct act x, double trip, const char *text, const char *cause)
{
    struct audit a = {0};
    made_trace(&a);
    struct request *r = scene_add(&a, x);
    r->syn_ns = trip > 0 ? r->t0 - 1000000 : -1;
    r->accepted_ns = trip > 0 ? r->syn_ns + (int64_t)llround(trip * 1e9) : -1;
    scene_figures(&a);
    const struct claim *c = scene_judge(&a, &audit_defaults, text);
    if (cause != NULL && scene_cause(c, cause) == NULL)
        fail_msg("%s: %s is not named: %s", text, cause, c->reason);
    enum verdict v = c->verdict;
    audit_free(&a);
    return v;
}

static void a_reply_takes_time(void **state)
{
    (void)state;
    struct act x = early_role;
    assert_int_equal(judged(x, 0, "ttft@1=0ms", "P24"), VERDICT_IMPOSSIBLE);
    assert_int_equal(judged(x, 0, "ttft@1=0.2ms", "P24"), VERDICT_DIFFERS);
    assert_int_equal(judged(x, 0, "e2el@1=0ms", NULL), VERDICT_IMPOSSIBLE);
    assert_int_equal(judged(x, 0, "latency@1=0s", NULL), VERDICT_IMPOSSIBLE);
    assert_int_equal(judged(x, 0, "stream_end@1=0ms", NULL), VERDICT_IMPOSSIBLE);
    assert_int_equal(judged(x, 0, "duration=0s", NULL), VERDICT_IMPOSSIBLE);
    assert_int_equal(judged(x, 0, "ttfr@1=0ms", NULL), VERDICT_CONFIRMED); /* 0.2, as printed */
    x.first = 0.0003;
    assert_int_equal(judged(x, 0, "ttft@1=0ms", NULL), VERDICT_CONFIRMED);
}

static void and_a_round_trip_at_least(void **state)
{
    (void)state;
    struct act x = early_role;
    assert_int_equal(judged(x, 1e-4, "ttft@1=0.05ms", "P24"), VERDICT_IMPOSSIBLE);
    assert_int_equal(judged(x, 1e-4, "latency@1=0.05ms", NULL), VERDICT_IMPOSSIBLE);
    assert_int_equal(judged(x, 1e-4, "ttft@1=0.12ms", "P24"), VERDICT_DIFFERS);
    assert_int_equal(judged(x, 0, "ttft@1=0.05ms", "P24"), VERDICT_DIFFERS);    /* not seen */
    assert_int_equal(judged(x, 0.95, "ttft@1=0.05ms", "P24"), VERDICT_DIFFERS); /* SYN again */
    x.head = 0.002;
    x.role = 0.003; /* a formula comes down to it: that is where it was taken from */
    assert_int_equal(judged(x, 1e-3, "ttft@1=0.0004s", "P34"), VERDICT_DIFFERS);
    assert_int_equal(judged(x, 1e-3, "ttft@1=0.0005s", NULL), VERDICT_IMPOSSIBLE);
}

/* --- tokens, with no statistic named ---------------------------------------------------------- */

typedef void change(struct request *r);

static void as_it_is(struct request *r)
{
    (void)r;
}

static void limit(struct request *r)
{
    r->asked.max_tokens = 400;
}

static void think_beside(struct request *r)
{
    r->total_stated = r->usage.prompt + r->usage.completion + 7000;
}

static void think_unsent(struct request *r)
{
    r->usage.reasoning = 200;
}

static void send_pictures(struct request *r)
{
    r->asked.media = 1;
}

static void send_at_once(struct request *r)
{
    for (size_t k = 0; k < r->out.n; k++)
        r->out.v[k].t_ns = r->out.v[0].t_ns + (int64_t)k;
}

/* Two requests of 1000 bytes, answered by 301 events of 4 bytes. */
static void two(change *c, const char *text, enum verdict v)
{
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 2; i++) {
        struct request *r = scene_add(&a, (struct act){.t0 = 10 * i,
                                                       .first = 10 * i + 1,
                                                       .last = 10 * i + 4,
                                                       .events = 301,
                                                       .tokens = 301,
                                                       .prompt = 200});
        r->body_bytes = 1000;
        c(r);
    }
    scene_figures(&a);
    const struct claim *x = scene_judge(&a, &audit_defaults, text);
    if (x->verdict != v)
        fail_msg("%s: %s: %s", text, verdict_name(x->verdict), x->reason);
    audit_free(&a);
}

static void no_more_tokens_than_were_allowed(void **state)
{
    (void)state;
    two(limit, "output_tokens=100000", VERDICT_IMPOSSIBLE);
    two(limit, "output_tokens=850", VERDICT_IMPOSSIBLE);
    two(limit, "output_tokens=745", VERDICT_DIFFERS); /* of both together it may be */
    two(limit, "output_tokens.sum=850", VERDICT_IMPOSSIBLE);
    two(limit, "output_tokens.mean=450", VERDICT_IMPOSSIBLE);
    two(limit, "output_tokens=602", VERDICT_CONFIRMED);
}

static void no_more_tokens_than_bytes(void **state)
{
    (void)state;
    two(as_it_is, "output_tokens=100000", VERDICT_IMPOSSIBLE);
    two(as_it_is, "output_tokens=4200", VERDICT_DIFFERS); /* 2 * 2204 bytes */
    two(as_it_is, "output_tokens.mean=4200", VERDICT_IMPOSSIBLE);
    two(think_beside, "output_tokens=100000", VERDICT_DIFFERS);
    two(think_unsent, "output_tokens=100000", VERDICT_DIFFERS);
    two(as_it_is, "input_tokens=100000", VERDICT_IMPOSSIBLE);
    two(as_it_is, "input_tokens=12000", VERDICT_DIFFERS);
    two(send_pictures, "input_tokens=100000", VERDICT_DIFFERS);
    two(as_it_is, "throughput=123456", VERDICT_IMPOSSIBLE);
    two(as_it_is, "throughput=1010", VERDICT_DIFFERS);
    two(send_at_once, "throughput=123456", VERDICT_DIFFERS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reply_takes_time),
        cmocka_unit_test(and_a_round_trip_at_least),
        cmocka_unit_test(no_more_tokens_than_were_allowed),
        cmocka_unit_test(no_more_tokens_than_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
