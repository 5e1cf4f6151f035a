/* The server's own figures taken for what the client saw: P95 to P101. The wrong figures are worked
 * out here, from what the scenes' servers state. */
#include <math.h>

#include "tests/unit/analyze/scene.h"

static const struct claim *expect(struct audit *a, const char *claim, const char *id, bool present)
{
    const struct claim *c = scene_judge(a, &audit_defaults, claim);
    const struct cause *found = scene_cause(c, id);
    if ((found != NULL) != present)
        fail_msg("%s: %s is %s; %s: %s", claim, id, found != NULL ? "named" : "not named",
                 verdict_name(c->verdict), c->reason);
    if (found != NULL) {
        assert_true(found->by_sign);
        assert_true(interval_meets(found->interval, c->claimed_interval));
        assert_int_equal(c->verdict, VERDICT_DIFFERS);
    }
    return c;
}

static const char *claim_text(const char *name, double value, const char *unit)
{
    static char text[96];
    snprintf(text, sizeof text, "%s=%.6g%s", name, value, unit);
    return text;
}

/* Text from 10 s after t0 on, for 4 s. */
static struct request *answer(struct audit *a, double t0, int64_t prompt)
{
    return scene_add(a, (struct act){.t0 = t0,
                                     .head = t0 + 10,
                                     .first = t0 + 10,
                                     .last = t0 + 14,
                                     .end = t0 + 14,
                                     .events = 401,
                                     .tokens = 401,
                                     .prompt = prompt});
}

static struct audit begin(void)
{
    struct audit a = {0};
    made_trace(&a);
    return a;
}

/* 8,000 tokens of prompt in ten batches of 1 s, of which the server's clock keeps the last. */
static struct audit with_batches(double prompt_ms, bool company)
{
    struct audit a = begin();
    struct request *r = answer(&a, 0, 8000);
    r->timings = (struct server_timings){8000, prompt_ms, 401, 4000, 100, 2, 14000};
    if (company)
        answer(&a, 0.5, 8000);
    scene_figures(&a);
    return a;
}

static void p95_the_last_batch_alone(void **state)
{
    (void)state;
    struct audit a = with_batches(1000, false);
    expect(&a, "prompt_rate@1=8000", "P95", true);
    expect(&a, "prompt_rate@1=7000", "P95", false);
    audit_free(&a);
    a = with_batches(9900, false); /* all of it */
    const struct claim *c = expect(&a, "prompt_rate@1=808", "P95", false);
    assert_int_not_equal(c->verdict, VERDICT_DIFFERS);
    expect(&a, "prompt_rate@1=8000", "P95", false);
    audit_free(&a);
    a = with_batches(1000, true); /* what is missing may be the wait for the other one */
    c = expect(&a, "prompt_rate@1=8000", "P95", false);
    assert_int_equal(c->verdict, VERDICT_NOT_MEASURABLE);
    audit_free(&a);
}

static struct audit with_cached_prompt(int64_t prompt, int64_t cached, double evaluated, double ms)
{
    struct audit a = begin();
    struct request *r = answer(&a, 0, prompt);
    r->usage.cached = cached;
    r->timings = (struct server_timings){evaluated, ms, 401, 4000, 100, NAN, NAN};
    scene_figures(&a);
    return a;
}

static void p96_one_token_evaluated(void **state)
{
    (void)state;
    struct audit a = with_cached_prompt(5000, 4999, 1, 20);
    expect(&a, "prompt_rate@1=50", "P96", true); /* one token in 20 ms */
    expect(&a, "input_tokens@1=1", "P96", true);
    audit_free(&a);
    a = with_cached_prompt(5000, 5000, 1, 20); /* nothing was left to evaluate: there is no rate */
    const struct claim *c = scene_judge(&a, &audit_defaults, "prompt_rate@1=50");
    assert_int_equal(c->verdict, VERDICT_NOT_MEASURABLE);
    expect(&a, "prompt_rate@1=55", "P96", false);
    audit_free(&a);
    a = with_cached_prompt(5000, 2500, 2500, 20); /* a count of what it did */
    expect(&a, "input_tokens@1=2500", "P96", false);
    audit_free(&a);
    a = with_cached_prompt(1, -1, 1, 20); /* a prompt of one token */
    expect(&a, "prompt_rate@1=50", "P96", false);
    audit_free(&a);
}

/* Three answers of 400 tokens, ten a read, one after the other. */
static struct audit in_steps(size_t reads, int64_t tokens)
{
    struct audit a = begin();
    for (int i = 0; i < 3; i++)
        scene_add(&a, (struct act){.t0 = 6 * i,
                                   .head = 6 * i + 1,
                                   .first = 6 * i + 1,
                                   .last = 6 * i + 5,
                                   .end = 6 * i + 5,
                                   .events = 400,
                                   .reads = reads,
                                   .tokens = tokens});
    scene_figures(&a);
    return a;
}

static void p97_steps_counted(void **state)
{
    (void)state;
    struct audit a = in_steps(40, 400);
    expect(&a, claim_text("throughput", 120 / 17.0, ""), "P97", true);
    expect(&a, claim_text("throughput", 120 / 17.0 * 1.05, ""), "P97", false);
    audit_free(&a);
    a = in_steps(400, 400); /* one at a time: a tenth is a tenth, of whatever */
    expect(&a, claim_text("throughput", 120 / 17.0, ""), "P97", false);
    audit_free(&a);
    a = in_steps(160, 400); /* two and a half a read are no step */
    expect(&a, claim_text("throughput", 480 / 17.0, ""), "P97", false);
    audit_free(&a);
}

static void p99_timings_in_the_usage(void **state)
{
    (void)state;
    struct audit a = with_cached_prompt(1000, 900, 100, 50);
    expect(&a, "input_tokens@1=2000", "P99", true); /* 1,000 + 100 + 900 */
    expect(&a, "input_tokens@1=1900", "P99", false);
    audit_free(&a);
    a = with_cached_prompt(1000, 900, NAN, NAN); /* no timings: only twice as many */
    expect(&a, "input_tokens@1=2000", "P99", false);
    audit_free(&a);
}

static struct audit conversation(int64_t third, int64_t cached)
{
    struct audit a = begin();
    int64_t prompts[] = {1000, 2000, third};
    for (int i = 0; i < 3; i++)
        answer(&a, 20 * i, prompts[i])->usage.cached = i > 0 ? cached : -1;
    scene_figures(&a);
    return a;
}

static void p99_all_turns(void **state)
{
    (void)state;
    struct audit a = conversation(3000, 900);
    expect(&a, "input_tokens@3=6000", "P99", true);
    expect(&a, "input_tokens@2=3000", "P99", true);
    expect(&a, "input_tokens@3=5000", "P99", false);
    expect(&a, "input_tokens@1=3000", "P99", false);
    audit_free(&a);
    a = conversation(1500, 900); /* the third goes on with nothing: no turns */
    expect(&a, "input_tokens@3=4500", "P99", false);
    audit_free(&a);
    a = conversation(3000, -1); /* nothing says that they belong together */
    const struct claim *c = scene_judge(&a, &audit_defaults, "input_tokens@3=6000");
    assert_non_null(scene_cause(c, "P99"));
    assert_false(scene_cause(c, "P99")->by_sign);
    audit_free(&a);
}

/* 4 of the 10 s to the first text are stated as loading. */
static struct audit with_load(bool warm)
{
    struct audit a = begin();
    if (warm)
        answer(&a, 0, 500);
    struct request *r = answer(&a, 20, 3000);
    r->timings = (struct server_timings){3000, 5500, 401, 4000, 100, 4000, 16000};
    scene_figures(&a);
    return a;
}

static void p100_loading_taken_off(void **state)
{
    (void)state;
    struct audit a = with_load(true);
    expect(&a, "ttft@2=6s", "P100", true);
    expect(&a, "latency@2=10s", "P100", true);
    const struct claim *c = scene_judge(&a, &audit_defaults, "prompt_rate@2=250");
    assert_int_equal(c->verdict, VERDICT_DIFFERS); /* 3,000 tokens in 16 - 4 s; on the wire in 10 */
    assert_non_null(scene_cause(c, "P100"));
    assert_false(scene_cause(c, "P100")->by_sign);
    c = scene_judge(&a, &audit_defaults, "prompt_rate@2=375"); /* … in 16 - 4 - 4 s: it may be */
    assert_int_equal(c->verdict, VERDICT_NOT_MEASURABLE);
    expect(&a, "ttft@2=7s", "P100", false);
    audit_free(&a);
    a = with_load(false); /* nothing had answered before: it may have loaded indeed */
    expect(&a, "ttft@1=6s", "P100", false);
    audit_free(&a);
}

static void p101_beyond_the_limit(void **state)
{
    (void)state;
    struct audit a = begin();
    answer(&a, 0, 100)->asked.max_tokens = 256;
    answer(&a, 20, 100)->asked.max_tokens = 512;
    scene_figures(&a);
    expect(&a, "output_tokens@1=256", "P101", true);
    expect(&a, "output_tokens@2=512", "P101", false); /* that one stayed below: P11 */
    expect(&a, "output_tokens@1=300", "P101", false);
    assert_non_null(scene_cause(scene_judge(&a, &audit_defaults, "output_tokens@2=512"), "P11"));
    audit_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p95_the_last_batch_alone),
        cmocka_unit_test(p96_one_token_evaluated),
        cmocka_unit_test(p97_steps_counted),
        cmocka_unit_test(p99_timings_in_the_usage),
        cmocka_unit_test(p99_all_turns),
        cmocka_unit_test(p100_loading_taken_off),
        cmocka_unit_test(p101_beyond_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
