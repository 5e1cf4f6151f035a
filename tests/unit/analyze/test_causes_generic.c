/* What a name without a definition may stand for: rates of whole requests, events of every kind,
 * and counts that not every reply states. Each once where a formula gives the claim, and once
 * nearly so; and the order of what gives it. */
#include <math.h>

#include "tests/unit/analyze/scene.h"

/* Four of them, one after the other: a second of waiting, two of text, and a tail behind it. */
static struct act nth(int i, int64_t events, int64_t tokens)
{
    double t = 10 * i;
    return (struct act){.t0 = t,
                        .head = t + 1,
                        .role = t + 0.5,
                        .first = t + 1,
                        .last = t + 3,
                        .end = t + 3.5,
                        .events = (size_t)events,
                        .tokens = tokens,
                        .prompt = 200,
                        .max_tokens = 900};
}

/* With a role, a finish, a count and an end mark around the text. */
static struct audit stream(int64_t events, int64_t tokens)
{
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 4; i++) {
        struct request *r = scene_add(&a, nth(i, events, tokens));
        r->choice_events = (uint32_t)events + 2;
        r->events = (uint32_t)events + 4;
    }
    scene_figures(&a);
    return a;
}

static void rate_of_a_whole_request(void **state)
{
    (void)state;
    struct audit a = stream(40, 120);
    scene_expect(&a, "rate.mean", 40 / 3.0, "", "P01", true, true);
    scene_expect(&a, "rate.mean", 40 / 3.5, "", "P01", true, true);
    scene_expect(&a, "gen_tps.mean", 40 / 3.5, "", "P01", true, true);
    scene_expect(&a, "rate.mean", 900 / 3.0, "", "P11", true, false);
    scene_expect(&a, "rate.mean", 900 / 3.0 * 1.04, "", "P11", false, false);
    scene_expect(&a, "rate.mean", 160 / 3.0, "", "P06", false, false); /* too few for 120 tokens */
    const struct claim *c = scene_expect(&a, "rate.mean", 40 / 3.0 * 1.25, "", "P01", false, false);
    assert_int_equal(c->verdict, VERDICT_DIFFERS);
    /* A name with a definition is no other rate. */
    scene_expect(&a, "output_tps_user.mean", 40 / 3.5, "", "P01", false, false);
    audit_free(&a);
    a = stream(120, 120);
    scene_expect(&a, "rate.mean", 480 / 3.0, "", "P06", true, false);
    scene_expect(&a, "rate.mean", 480 / 3.0 * 0.95, "", "P06", false, false);
    audit_free(&a);
}

/* More formulas fit more claims by chance: what shows on the wire goes first all the same. */
static void signs_go_first(void **state)
{
    (void)state;
    struct audit a = stream(40, 120);
    for (size_t i = 0; i < a.requests.n; i++)
        a.requests.v[i].text = (struct text_units){.chars = 480, .utf16 = 480, .words = 40};
    const struct claim *c = scene_expect(&a, "rate.mean", 40 / 3.0, "", "P01", true, true);
    assert_non_null(scene_cause(c, "P07")); /* by the number: there are as many words */
    assert_string_equal(c->causes.v[0].id, "P01");
    for (size_t i = 1; i < c->causes.n; i++)
        assert_true(c->causes.v[i - 1].by_sign >= c->causes.v[i].by_sign);
    audit_free(&a);
}

static void powers_of_ten_of_each_definition(void **state)
{
    (void)state;
    struct audit a = stream(120, 120);
    scene_expect(&a, "rate.mean", 0.04, "", "P34", true, false); /* 120 / 3 s, in kilo */
    scene_expect(&a, "rate.mean", 0.043, "", "P34", false, false);
    audit_free(&a);
}

static void p01_events_without_text(void **state)
{
    (void)state;
    struct audit a = stream(20, 20);
    scene_expect(&a, "output_tokens.mean", 21, "", "P01", true,
                 false); /* so near, it may be a mark */
    scene_expect(&a, "output_tokens.mean", 22, "", "P01", true, false);
    scene_expect(&a, "output_tokens.mean", 23, "", "P01", true, true);
    scene_expect(&a, "output_tokens.mean", 24, "", "P01", true, true);
    scene_expect(&a, "output_tokens.mean", 25, "", "P01", false, false);
    /* There are such events in every stream: of a rate they are no sign. */
    scene_expect(&a, "rate.mean", 23 / 2.0, "", "P01", true, false);
    scene_expect(&a, "rate.mean", 23 / 3.5, "", "P01", true, false);
    scene_expect(&a, "throughput", 4 * 23 / 33.5, "", "P01", true, false);
    scene_expect(&a, "throughput", 4 * 26 / 33.5, "", "P01", false, false);
    for (size_t i = 0; i < a.requests.n; i++)
        a.requests.v[i].events = a.requests.v[i].choice_events = 20; /* each has text */
    scene_expect(&a, "output_tokens.mean", 23, "", "P01", false, false);
    audit_free(&a);
    a = stream(10, 10);
    scene_expect(&a, "e2e_output_tps.mean", 13 / 3.5, "", "P01", true, false);
    scene_expect(&a, "e2e_output_tps.mean", 13 / 3.5 * 1.03, "", "P01", false, false);
    audit_free(&a);
    a = stream(20, 0); /* nothing else was there to go by */
    scene_expect(&a, "rate.mean", 23 / 3.5, "", "P01", true, true);
    scene_expect(&a, "throughput", 4 * 23 / 33.5, "", "P01", true, true);
    audit_free(&a);
}

/* --- counts that not every reply states ------------------------------------------------------- */

static const char *const bodies[] = {"aa", "bb", "aa", "bb"};

/* Two prompts and each again, of which the count is not stated then. */
static struct audit repeats(bool same)
{
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 4; i++) {
        struct act x = nth(i, 120, 120);
        x.prompt = i < 2 ? 200 : 0;
        scene_add(&a, x)->body_sha256 = same || i < 2 ? bodies[i] : NULL;
    }
    scene_figures(&a);
    return a;
}

static void p22_left_out_of_a_sum(void **state)
{
    (void)state;
    struct audit a = repeats(true);
    const struct claim *c = scene_expect(&a, "input_tokens.sum", 400, "", "P22", true, true);
    assert_int_equal(c->verdict, VERDICT_DIFFERS);
    assert_true(c->recomputed == 800);
    assert_non_null(strstr(c->reason, "2 of them as stated for the same body"));
    c = scene_expect(&a, "input_tokens.mean", 100, "", "P22", true, true);
    assert_int_equal(c->verdict, VERDICT_DIFFERS);
    c = scene_expect(&a, "input_tokens", 400, "", "P22", true, true);
    assert_int_equal(c->verdict, VERDICT_DIFFERS);
    c = scene_expect(&a, "input_tokens.sum", 800, "", "P22", false, false);
    assert_int_equal(c->verdict, VERDICT_CONFIRMED);
    c = scene_expect(&a, "input_tokens.mean", 200, "", "P22", false, false);
    assert_int_equal(c->verdict, VERDICT_CONFIRMED);
    scene_expect(&a, "input_tokens.sum", 500, "", "P22", false, false);
    audit_free(&a);
}

static void p22_of_other_prompts(void **state)
{
    (void)state;
    struct audit a = repeats(false);
    const struct claim *c = scene_expect(&a, "input_tokens.sum", 800, "", "P22", false, false);
    assert_int_equal(c->verdict, VERDICT_NOT_MEASURABLE); /* what they had is not known */
    assert_non_null(strstr(c->reason, "some replies state no such count"));
    c = scene_expect(&a, "input_tokens.sum", 400, "", "P22", true, true);
    assert_int_equal(c->verdict, VERDICT_NOT_MEASURABLE);
    audit_free(&a);
}

static void p23_of_some_replies(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 4; i++)
        scene_add(&a, nth(i, 120, i == 1 ? 0 : 120));
    scene_figures(&a);
    const struct claim *c = scene_expect(&a, "output_tokens.sum", 360, "", "P23", true, true);
    assert_int_equal(c->verdict, VERDICT_NOT_MEASURABLE);
    scene_expect(&a, "output_tokens.mean", 90, "", "P23", true, true);
    scene_expect(&a, "throughput", 360 / 33.5, "", "P23", true, true);
    scene_expect(&a, "output_tokens.mean", 100, "", "P23", false, false);
    c = scene_expect(&a, "output_tokens.mean", 120, "", "P23", false, false);
    assert_int_equal(c->verdict, VERDICT_CONFIRMED);
    audit_free(&a);
}

/* --- a lower bound ---------------------------------------------------------------------------- */

static void causes_above_a_lower_bound(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 4; i++) {
        struct act x = nth(i, 120, 120);
        x.prompt = 3700;
        scene_add(&a, x);
    }
    scene_figures(&a);
    const struct claim *c = scene_expect(&a, "prompt_rate.mean", 4096, "", "P20", true, false);
    assert_int_equal(c->verdict, VERDICT_NOT_MEASURABLE);
    assert_true(isnan(c->recomputed));
    assert_non_null(strstr(c->reason, "a lower bound"));
    assert_non_null(strstr(c->reason, "P20"));
    c = scene_expect(&a, "prompt_rate.mean", 4500, "", "P20", false, false);
    assert_int_equal(c->verdict, VERDICT_NOT_MEASURABLE);
    assert_int_equal(c->causes.n, 0);
    audit_free(&a);
}

/* --- calls of tools --------------------------------------------------------------------------- */

/* Two answers with content, and two that are a call of a tool alone. */
static struct audit tools(bool call)
{
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 4; i++) {
        struct request *r = scene_add(&a, nth(i, i % 2 == 0 ? 60 : 30, 120));
        if (i % 2 == 0 || !call)
            continue;
        r->tool_bytes = r->text_bytes;
        r->content_events = 0;
        r->content_ns = -1;
        for (size_t k = 0; k < r->out.n; k++)
            r->out.v[k].t_ns += 300 * MS; /* slower to begin */
    }
    scene_figures(&a);
    return a;
}

static void p10_no_content(void **state)
{
    (void)state;
    struct audit a = tools(true);
    scene_expect(&a, "ttft.mean", 1.0, "s", "P10", true, true);
    scene_expect(&a, "ttft.mean", 0.5, "s", "P10", true, true);
    scene_expect(&a, "ttft.mean", (1.0 + 3.5) / 2, "s", "P10", true, true);
    scene_expect(&a, "ttft.mean", 0.9, "s", "P10", false, false);
    scene_expect(&a, "rate.mean", 60 / 3.5 / 2, "", "P10", true, true);
    scene_expect(&a, "rate.mean", 60 / 3.5 / 2 * 1.07, "", "P10", false, false);
    audit_free(&a);
    a = tools(false);
    scene_expect(&a, "ttft.mean", 0.5, "s", "P10", false, false);
    scene_expect(&a, "rate.mean", 60 / 3.5 / 2, "", "P10", false, false);
    audit_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rate_of_a_whole_request),
        cmocka_unit_test(signs_go_first),
        cmocka_unit_test(powers_of_ten_of_each_definition),
        cmocka_unit_test(p01_events_without_text),
        cmocka_unit_test(p22_left_out_of_a_sum),
        cmocka_unit_test(p22_of_other_prompts),
        cmocka_unit_test(p23_of_some_replies),
        cmocka_unit_test(causes_above_a_lower_bound),
        cmocka_unit_test(p10_no_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
