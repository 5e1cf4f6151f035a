/* One figure of many requests, wrongly put together: P71 to P84. The wrong figures are worked out
 * here, from the times that the scenes were made with. */
#include <math.h>

#include "analyze/retries.h"
#include "tests/unit/analyze/scene.h"

/* The claim is judged, and the cause is named or not. */
static const struct cause *expect(struct audit *a, const char *claim, const char *id, bool present,
                                  bool by_sign)
{
    const struct claim *c = scene_judge(a, &audit_defaults, claim);
    const struct cause *found = scene_cause(c, id);
    if ((found != NULL) != present)
        fail_msg("%s: %s is %s; %s: %s", claim, id, found != NULL ? "named" : "not named",
                 verdict_name(c->verdict), c->reason);
    if (found != NULL) {
        if (found->by_sign != by_sign)
            fail_msg("%s: %s %s", claim, id, found->by_sign ? "by sign" : "by number");
        assert_true(interval_meets(found->interval, c->claimed_interval));
    }
    return found;
}

static const char *claim_text(const char *name, double value, const char *unit)
{
    static char text[96];
    snprintf(text, sizeof text, "%s=%.6g%s", name, value, unit);
    return text;
}

static struct audit begin(void)
{
    struct audit a = {0};
    made_trace(&a);
    return a;
}

/* n tokens, one an event, from first to last. */
static struct request *answer(struct audit *a, double t0, double first, double last, int64_t n)
{
    return scene_add(a, (struct act){.t0 = t0,
                                     .head = first,
                                     .first = first,
                                     .last = last,
                                     .end = last,
                                     .events = (size_t)n,
                                     .tokens = n,
                                     .prompt = 100});
}

/* A reply of that status and outcome, without text. */
static struct request *fails(struct audit *a, double t0, double end, int status,
                             enum outcome outcome)
{
    struct request *r = scene_add(a, (struct act){.t0 = t0, .head = end, .first = end, .end = end});
    r->status = status;
    r->outcome = outcome;
    r->finish = NULL;
    r->c1 = r->done_ns = -1;
    return r;
}

/* --- weights ---------------------------------------------------------------------------------- */

/* 10 tok/s for 10 s and 100 tok/s for 1 s, one after the other. */
static struct audit slow_and_fast(void)
{
    struct audit a = begin();
    answer(&a, 0.1, 1, 11, 101)->usage.prompt = 9000;
    answer(&a, 20, 21, 22, 101)->usage.prompt = 100;
    scene_figures(&a);
    return a;
}

static void p71_mean_of_rates(void **state)
{
    (void)state;
    struct audit a = slow_and_fast();
    double whole = (101 / 10.9 + 101 / 2.0) / 2;
    expect(&a, claim_text("throughput", (10 + 100) / 2.0, ""), "P71", true, false);
    expect(&a, claim_text("throughput", whole, ""), "P71", true, false);
    expect(&a, claim_text("throughput", whole * 1.05, ""), "P71", false, false);
    expect(&a, claim_text("rate.mean", 200 / 11.0, ""), "P71", true, false);
    expect(&a, claim_text("rate.mean", 200 / 11.0 * 1.05, ""), "P71", false, false);
    audit_free(&a);
}

/* The mirror case of prompts: 9,000 in 0.9 s and 100 in 1 s. */
static void p71_prompts(void **state)
{
    (void)state;
    struct audit a = slow_and_fast();
    expect(&a, claim_text("prompt_rate.mean", 9100 / 1.9, ""), "P71", true, false);
    expect(&a, claim_text("prompt_rate.mean", 9100 / 1.9 * 0.96, ""), "P71", false, false);
    const struct claim *c = scene_judge(
        &a, &audit_defaults, claim_text("prompt_rate.mean", (9000 / 0.9 + 100 / 1.0) / 2, ""));
    assert_int_equal(c->verdict, VERDICT_CONFIRMED); /* what its own definition gives */
    audit_free(&a);
}

/* 10 ms a token for 1,000, 100 ms for 20. */
static struct audit long_and_short(void)
{
    struct audit a = begin();
    answer(&a, 0.1, 1, 11, 1001);
    answer(&a, 20, 21, 23, 21);
    scene_figures(&a);
    return a;
}

static void p72_weighting(void **state)
{
    (void)state;
    struct audit a = long_and_short();
    expect(&a, claim_text("tpot.mean", 12e3 / 1020, "ms"), "P72", true, false);
    expect(&a, claim_text("tpot.mean", 12e3 / 1022, "ms"), "P72", true, false);
    expect(&a, claim_text("tpot.mean", 12e3 / 1020 * 1.04, "ms"), "P72", false, false);
    expect(&a, claim_text("icl.mean", 55, "ms"), "P72", true, false);
    expect(&a, claim_text("icl.mean", 58, "ms"), "P72", false, false);
    audit_free(&a);
}

static void p72_of_equal_lengths_is_none(void **state)
{
    (void)state;
    struct audit a = begin();
    answer(&a, 0.1, 1, 11, 101);
    answer(&a, 20, 21, 22, 101);
    scene_figures(&a);
    expect(&a, claim_text("icl.p90", 55, "ms"), "P72", false, false);
    audit_free(&a);
}

/* --- zeros ------------------------------------------------------------------------------------ */

/* Three answers of 10 ms a token, and one of a single token. */
static struct audit with_single_token(bool there)
{
    struct audit a = begin();
    for (int i = 0; i < 3; i++)
        answer(&a, 20 * i, 20 * i + 1, 20 * i + 5, 401);
    if (there)
        answer(&a, 80, 81, 81, 1);
    scene_figures(&a);
    return a;
}

static void p73_phantom_zeros(void **state)
{
    (void)state;
    struct audit a = with_single_token(true);
    expect(&a, "tpot.mean=7.5ms", "P73", true, true);
    expect(&a, "rate.mean=75", "P73", true, true);
    expect(&a, claim_text("icl.mean", 10e3 * 1200 / 1201 / 1000, "ms"), "P73", true, true);
    expect(&a, "tpot.mean=6.9ms", "P73", false, false);
    expect(&a, "tpot.p50=7.5ms", "P73", false, false); /* the median of 0, 10, 10, 10 */
    audit_free(&a);
    a = with_single_token(false);
    expect(&a, "tpot.mean=7.5ms", "P73", false, false);
    audit_free(&a);
}

/* Two answers after 1 s, two streams that end without any text. */
static struct audit with_empty_streams(enum outcome outcome, int status)
{
    struct audit a = begin();
    answer(&a, 0, 1, 5, 401);
    fails(&a, 10, 10.1, status, outcome);
    answer(&a, 20, 21, 25, 401);
    fails(&a, 30, 30.1, status, outcome);
    scene_figures(&a);
    return a;
}

static void p74_zeros_of_empty_streams(void **state)
{
    (void)state;
    struct audit a = with_empty_streams(OUTCOME_NO_FINISH, 200);
    expect(&a, "ttft.mean=500ms", "P74", true, true);
    expect(&a, "ttft.min=0ms", "P74", true, true);
    expect(&a, "ttft.mean=540ms", "P74", false, false);
    expect(&a, claim_text("request_tps", 4 / 30.1, ""), "P74", true, true);
    expect(&a, claim_text("request_tps", 4 / 30.1 * 1.1, ""), "P74", false, false);
    audit_free(&a);
    a = with_empty_streams(OUTCOME_HTTP_ERROR, 503); /* failed ones may be given zeros, too */
    expect(&a, "ttft.mean=500ms", "P74", true, true);
    expect(&a, claim_text("request_tps", 4 / 30.1, ""), "P74", false, false);
    audit_free(&a);
    a = with_empty_streams(OUTCOME_OPEN, 200); /* nobody knows what those will say */
    expect(&a, "ttft.mean=500ms", "P74", false, false);
    audit_free(&a);
}

/* --- windows ---------------------------------------------------------------------------------- */

/* One after the other, 400 tokens in 5 s each. */
static struct audit in_sequence(int n)
{
    struct audit a = begin();
    for (int i = 0; i < n; i++)
        answer(&a, 5.01 * i, 5.01 * i + 1, 5.01 * i + 5, 400);
    scene_figures(&a);
    return a;
}

static void p76_total_over_the_last_step(void **state)
{
    (void)state;
    struct audit a = in_sequence(6);
    expect(&a, "rate@4=320", "P76", true, false); /* 1,600 tokens in 5 s */
    expect(&a, "rate@4=400", "P76", true, false); /* … in 4 s */
    expect(&a, "e2e_output_tps@4=320", "P76", true, false);
    expect(&a, "throughput=480", "P76", true, false);
    expect(&a, "rate@4=350", "P76", false, false);
    expect(&a, "e2e_output_tps@1=80", "P76", false, false); /* there is nothing before it */
    expect(&a, "rate.max=600", "P76", true, false);
    audit_free(&a);
    a = in_sequence(6); /* two at once are no steps */
    a.requests.v[4].alone = a.requests.v[5].alone = false;
    expect(&a, "rate.max=600", "P76", false, false);
    audit_free(&a);
}

static void p77_ends_at_the_last_start(void **state)
{
    (void)state;
    struct audit a = in_sequence(4);
    expect(&a, claim_text("throughput", 1600 / 15.03, ""), "P77", true, false);
    expect(&a, claim_text("request_tps", 4 / 15.03, ""), "P77", true, false);
    expect(&a, "duration=15.0s", "P77", true, false);
    expect(&a, claim_text("throughput", 1600 / 15.03 * 1.04, ""), "P77", false, false);
    audit_free(&a);
}

static void p81_counted_from_outside(void **state)
{
    (void)state;
    struct audit a = begin(); /* four after each other, of 5, 6, 5 and 5 s */
    answer(&a, 0, 1, 5, 400);
    answer(&a, 5.5, 6, 11.5, 400);
    answer(&a, 12, 13, 17, 400);
    answer(&a, 17.5, 18, 22.5, 400);
    scene_figures(&a);
    expect(&a, claim_text("request_tps", 4 / 17.5, ""), "P81", true, false);
    expect(&a, claim_text("throughput", 1600 / 17.5, ""), "P81", true, false);
    expect(&a, claim_text("request_tps", 4 / 17.5 * 1.05, ""), "P81", false, false);
    audit_free(&a);
    a = begin(); /* in a crowd the first one is one of many: it is confirmed, and nothing is said */
    for (int i = 0; i < 300; i++)
        answer(&a, i, i + 1, i + 2, 40);
    scene_figures(&a);
    const struct claim *c =
        scene_judge(&a, &audit_defaults, claim_text("request_tps", 300 / 301.0, ""));
    assert_int_equal(c->verdict, VERDICT_CONFIRMED);
    assert_null(scene_cause(c, "P81"));
    audit_free(&a);
}

/* Little's law: one at a time, of 5 s each, are no seven in ten seconds. */
static void p81_more_than_fit(void **state)
{
    (void)state;
    struct audit a = in_sequence(6);
    const struct claim *c = scene_judge(&a, &audit_defaults, "request_tps=0.7");
    assert_int_equal(c->verdict, VERDICT_IMPOSSIBLE);
    assert_non_null(strstr(c->reason, "Little's law"));
    c = scene_judge(&a, &audit_defaults, "request_tps=0.15"); /* too few, and why is not known */
    assert_int_equal(c->verdict, VERDICT_DIFFERS);
    audit_free(&a);
}

/* --- few values ------------------------------------------------------------------------------- */

static struct audit of_many(int n)
{
    struct audit a = begin();
    for (int i = 0; i < n; i++) /* one of them waits for 9 s */
        answer(&a, 20 * i, 20 * i + (i == 3 ? 9 : 1), 20 * i + 12, 400);
    scene_figures(&a);
    return a;
}

static void p82_quantile_of_few(void **state)
{
    (void)state;
    struct audit a = of_many(10);
    const struct claim *c = scene_judge(&a, &audit_defaults, "ttft.p99=9.00s");
    assert_int_equal(c->verdict, VERDICT_DIFFERS); /* it is 8.28 s between the last two of ten */
    expect(&a, "ttft.p99=9.00s", "P82", true, true);
    expect(&a, "ttft.p99=8.60s", "P82", false, false);
    expect(&a, "ttft.max=9.00s", "P82", false, false); /* what it is */
    expect(&a, "ttft.p50=9.00s", "P82", false, false); /* no few values make that */
    audit_free(&a);
    a = of_many(120); /* more than a hundred carry a p99 */
    expect(&a, "ttft.p99=9.00s", "P82", false, false);
    audit_free(&a);
}

/* --- attempts --------------------------------------------------------------------------------- */

static const char body_a[] = "aaaa", body_b[] = "bbbb", body_c[] = "cccc";

/* Three requests; the second is refused twice before it is answered. */
static struct audit with_retries(bool again)
{
    struct audit a = begin();
    answer(&a, 0, 1, 5, 401)->body_sha256 = body_a;
    fails(&a, 10, 10.1, 429, OUTCOME_HTTP_ERROR)->body_sha256 = body_b;
    fails(&a, 12, 12.1, 503, OUTCOME_HTTP_ERROR)->body_sha256 = body_b;
    answer(&a, 16, 17, 21, 401)->body_sha256 = again ? body_b : body_c;
    answer(&a, 30, 31, 35, 401)->body_sha256 = again ? body_c : body_b;
    scene_figures(&a);
    return a;
}

static void p84_attempts(void **state)
{
    (void)state;
    struct audit a = with_retries(true);
    expect(&a, claim_text("request_tps", 5 / 35.0, ""), "P84", true, true);
    expect(&a, claim_text("latency.mean", (15 + 0.2) / 5, "s"), "P84", true, true);
    expect(&a, claim_text("request_tps", 5 / 35.0 * 1.05, ""), "P84", false, false);
    const struct claim *c = scene_judge(&a, &audit_defaults, "requests=3");
    assert_int_equal(c->verdict, VERDICT_CONFIRMED);
    assert_null(scene_cause(c, "P84"));
    assert_non_null(strstr(c->reason, "requests from the bytes is 3; but attempts is 5"));
    c = scene_judge(&a, &audit_defaults, "requests=5"); /* no lie, and not what one thinks */
    assert_int_equal(c->verdict, VERDICT_CONFIRMED);
    assert_non_null(scene_cause(c, "P84"));
    assert_non_null(strstr(c->reason, "attempts from the bytes is 5; but requests is 3"));
    c = scene_judge(&a, &audit_defaults, "requests=4"); /* neither of the two */
    assert_int_equal(c->verdict, VERDICT_DIFFERS);
    c = scene_judge(&a, &audit_defaults, "failed=0"); /* each was answered in the end */
    assert_int_equal(c->verdict, VERDICT_CONFIRMED);
    c = scene_judge(&a, &audit_defaults, "failed=1");
    assert_int_equal(c->verdict, VERDICT_DIFFERS);
    c = scene_judge(&a, &audit_defaults, "failed=2");
    assert_int_equal(c->verdict, VERDICT_CONFIRMED);
    assert_non_null(strstr(c->reason, "failed attempts"));
    c = scene_judge(&a, &audit_defaults, "completed=4"); /* nobody's count */
    assert_int_not_equal(c->verdict, VERDICT_CONFIRMED);
    assert_null(scene_cause(c, "P86"));
    c = scene_judge(&a, &audit_defaults, "completed=5");
    assert_non_null(scene_cause(c, "P86"));
    audit_free(&a);
}

/* The body comes again much later only, behind another one's answer. */
static void p84_repeats_are_no_attempts(void **state)
{
    (void)state;
    struct audit a = begin();
    for (int i = 0; i < 4; i++) { /* one prompt, again and again; the first is refused */
        if (i == 0)
            fails(&a, 0, 0.1, 503, OUTCOME_HTTP_ERROR)->body_sha256 = body_a;
        else
            answer(&a, 5 * i, 5 * i + 1, 5 * i + 4, 401)->body_sha256 = body_a;
    }
    scene_figures(&a);
    expect(&a, claim_text("request_tps", 4 / 19.0, ""), "P84", false, false);
    for (size_t i = 0; i < a.requests.n; i++)
        assert_false(a.requests.v[i].retried || a.requests.v[i].retry_of != 0);
    audit_free(&a);
    a = begin(); /* refused for what it is, not for now */
    fails(&a, 0, 0.1, 400, OUTCOME_HTTP_ERROR)->body_sha256 = body_a;
    answer(&a, 5, 6, 9, 401)->body_sha256 = body_a;
    scene_figures(&a);
    assert_false(a.requests.v[0].retried);
    audit_free(&a);
    a = begin(); /* a minute later is another try of somebody */
    fails(&a, 0, 0.1, 503, OUTCOME_HTTP_ERROR)->body_sha256 = body_a;
    answer(&a, 61, 62, 65, 401)->body_sha256 = body_a;
    scene_figures(&a);
    assert_false(a.requests.v[0].retried);
    audit_free(&a);
    a = begin(); /* equal requests to a server that is down */
    for (int i = 0; i < 5; i++)
        fails(&a, i, i + 0.1, 503, OUTCOME_HTTP_ERROR)->body_sha256 = body_a;
    scene_figures(&a);
    assert_false(a.requests.v[0].retried);
    audit_free(&a);
}

static void p84_a_chain_of_attempts(void **state)
{
    (void)state;
    struct audit a = with_retries(true);
    const struct request *v = a.requests.v;
    assert_true(v[1].retried && v[2].retried && !v[3].retried);
    assert_int_equal(v[2].retry_of, 2);
    assert_int_equal(v[3].retry_of, 3);
    assert_ptr_equal(retries_first(&a, &v[3]), &v[1]);
    assert_ptr_equal(retries_first(&a, &v[0]), &v[0]);
    audit_free(&a);
}

/* --- not a crowd ------------------------------------------------------------------------------ */

/* A number out of the blue draws few accusations, and none by sign but that it came before any
 * byte. */
static void a_wrong_value_draws_no_crowd(void **state)
{
    (void)state;
    static const char *const names[] = {"ttft.mean",   "latency.mean", "rate.mean", "throughput",
                                        "request_tps", "tpot.mean",    "icl.mean"};
    static const char *const units[] = {"s", "s", "", "", "", "s", "s"};
    static const double truth[] = {1.175, 5.075, 108.8, 82, 0.19, 0.00919, 0.00919};
    struct audit a = begin();
    for (int i = 0; i < 6; i++)
        answer(&a, 5.2 * i, 5.2 * i + 1 + 0.07 * i, 5.2 * i + 5 + 0.03 * i, 401 + 10 * i);
    scene_figures(&a);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        static const double factors[] = {0.37, 0.73, 1.37, 2.63, 7.3};
        for (size_t k = 0; k < 5; k++) {
            const struct claim *c = scene_judge(
                &a, &audit_defaults, claim_text(names[i], truth[i] * factors[k], units[i]));
            bool early = c->causes.n == 1 && strcmp(c->causes.v[0].id, "P27") == 0;
            if (c->causes.n > 2 || (c->causes.n > 0 && c->causes.v[0].by_sign && !early))
                fail_msg("%s: %zu causes, the first %s", c->text, c->causes.n, c->causes.v[0].id);
        }
    }
    audit_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p71_mean_of_rates),
        cmocka_unit_test(p71_prompts),
        cmocka_unit_test(p72_weighting),
        cmocka_unit_test(p72_of_equal_lengths_is_none),
        cmocka_unit_test(p73_phantom_zeros),
        cmocka_unit_test(p74_zeros_of_empty_streams),
        cmocka_unit_test(p76_total_over_the_last_step),
        cmocka_unit_test(p77_ends_at_the_last_start),
        cmocka_unit_test(p81_counted_from_outside),
        cmocka_unit_test(p81_more_than_fit),
        cmocka_unit_test(p82_quantile_of_few),
        cmocka_unit_test(p84_attempts),
        cmocka_unit_test(p84_repeats_are_no_attempts),
        cmocka_unit_test(p84_a_chain_of_attempts),
        cmocka_unit_test(a_wrong_value_draws_no_crowd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
