/* Each known cause once present, where its formula gives the claim, and once nearly so, where it
 * must not be named. The wrong figures are worked out here, from the times that the scene was made
 * with. */
#include <math.h>

#include "tests/unit/analyze/scene.h"

static const struct act plain = {.t0 = 0,
                                 .head = 1.0,
                                 .first = 1.0,
                                 .last = 4.0,
                                 .end = 4.0,
                                 .events = 301,
                                 .tokens = 301,
                                 .prompt = 50,
                                 .event_bytes = 4};

static void expect(struct act x, const char *name, double claimed, const char *unit, const char *id,
                   bool present, bool by_sign)
{
    struct audit a = {0};
    char text[100];
    made_trace(&a);
    scene_add(&a, x);
    scene_figures(&a);
    snprintf(text, sizeof text, "%s@1=%.6g%s", name, claimed, unit);
    const struct claim *c = scene_judge(&a, &audit_defaults, text);
    const struct cause *found = scene_cause(c, id);
    if ((found != NULL) != present)
        fail_msg("%s: %s is %s; %s: %s", text, id, found != NULL ? "named" : "not named",
                 verdict_name(c->verdict), c->reason);
    if (found != NULL) {
        assert_int_equal(found->by_sign, by_sign);
        assert_true(interval_meets(found->interval, c->claimed_interval));
        assert_int_equal(c->verdict, VERDICT_DIFFERS);
    }
    audit_free(&a);
}

static void p01_events_as_tokens(void **state)
{
    (void)state;
    struct act x = plain;
    x.events = 100;
    x.tokens = 300;
    expect(x, "rate", 100 / 3.0, "", "P01", true, true);
    expect(x, "rate", 99 / 3.0, "", "P01", true, true);
    expect(x, "tpot", 3000 / 100.0, "ms", "P01", true, true);
    expect(x, "e2e_output_tps", 100 / 4.0, "", "P01", true, true);
    expect(x, "output_tokens", 100, "", "P01", true, true);
    x.tokens = 100; /* one token an event */
    expect(x, "rate", 100 / 3.0, "", "P01", false, false);
}

static void p06_characters(void **state)
{
    (void)state;
    struct act x = plain;
    x.event_bytes = 4;
    expect(x, "rate", 301 * 4 / 3.0, "", "P06", true, false);
    expect(x, "output_tokens", 301 * 4, "", "P06", true, false);
    x.event_bytes = 9; /* no text has that few tokens */
    expect(x, "rate", 301 * 9 / 3.0, "", "P06", false, false);
}

static void p11_a_wish(void **state)
{
    (void)state;
    struct act x = plain;
    x.max_tokens = 512;
    expect(x, "output_tokens", 512, "", "P11", true, false);
    expect(x, "rate", 512 / 3.0, "", "P11", true, false);
    expect(x, "output_tokens", 520, "", "P11", false, false);
}

static void p13_prompt_tokens(void **state)
{
    (void)state;
    struct act x = plain;
    x.prompt = 2000;
    expect(x, "rate", 2301 / 4.0, "", "P13", true, false);
    expect(x, "output_tokens", 2301, "", "P13", true, false);
    expect(x, "rate", 2301 / 4.0 * 1.03, "", "P13", false, false);
    x.prompt = 0; /* not stated */
    expect(x, "rate", 2301 / 4.0, "", "P13", false, false);
}

static void p14_cumulative_usage(void **state)
{
    (void)state;
    for (int present = 0; present < 2; present++) {
        struct audit a = {0};
        made_trace(&a);
        struct request *r = scene_add(&a, plain);
        r->usage_events = present ? 301 : 1;
        for (size_t i = 0; i < r->out.n; i++)
            r->out.v[i].stated = present ? (int32_t)i + 1 : -1;
        scene_figures(&a);
        const struct claim *c = scene_judge(&a, &audit_defaults, "output_tokens@1=45451");
        assert_int_equal(scene_cause(c, "P14") != NULL, present);
        audit_free(&a);
    }
}

static void p17_first_event_packed(void **state)
{
    (void)state;
    struct act x = plain;
    x.events = 20;
    x.tokens = 40;
    x.n1 = 10;
    expect(x, "output_tps_user", 39 / 3.0, "", "P17", true, true);
    expect(x, "output_tps_user", 36 / 3.0, "", "P17", false, false);
}

static void p18_fence_post(void **state)
{
    (void)state;
    struct act x = plain;
    x.events = 10;
    x.tokens = 10; /* 10 against 9: 11 % */
    expect(x, "output_tps_user", 10 / 3.0, "", "P18", true, false);
    expect(x, "output_tps_user", 11 / 3.0, "", "P18", false, false);
}

static void p24_role_event(void **state)
{
    (void)state;
    struct act x = plain;
    x.head = 0.02;
    x.role = 0.03;
    expect(x, "ttft", 30, "ms", "P24", true, true);
    x.role = 0; /* no event came then */
    expect(x, "ttft", 30, "ms", "P24", false, false);
    x.role = 0.999; /* one did, but with the text: no sign that it was taken for it */
    x.head = 0.999;
    expect(x, "ttft", 950, "ms", "P24", false, false);
}

static void p25_first_byte(void **state)
{
    (void)state;
    struct act x = plain;
    x.head = 0.02;
    expect(x, "ttft", 20, "ms", "P25", true, true);
    expect(x, "ttft", 25, "ms", "P25", false, false);
    x.head = 1.0;
    expect(x, "ttft", 20, "ms", "P25", false, false);
}

static void p29_whole_request(void **state)
{
    (void)state;
    struct act x = plain;
    expect(x, "output_tps_user", 301 / 4.0, "", "P29", true, true);
    x.end = 5.0;
    expect(x, "rate", 301 / 5.0, "", "P29", true, true);
    expect(x, "tpot", 4000 / 301.0, "ms", "P29", true, true);
    x.first = 0.3; /* the wait is no large part of it */
    x.head = 0.3;
    expect(x, "output_tps_user", 301 / 4.0, "", "P29", true, false);
    expect(x, "output_tps_user", 301 / 4.5, "", "P29", false, false);
}

static void p31_end_of_stream(void **state)
{
    (void)state;
    struct act x = plain;
    x.end = 4.6;
    expect(x, "e2el", 4.6, "s", "P31", true, true);
    expect(x, "output_tps_user", 300 / 3.6, "", "P31", true, true);
    expect(x, "e2e_output_tps", 301 / 4.6, "", "P31", true, true);
    x.end = 4.0;
    expect(x, "e2el", 4.6, "s", "P31", false, false);
}

static void p30_p37_p22_p40(void **state)
{
    (void)state;
    struct act x = plain;
    x.head = 0.2;
    expect(x, "output_tps_user", 301 / 3.8, "", "P30", true, false);
    expect(x, "ttft", 4, "s", "P37", true, false);
    x.prompt = 1000;
    expect(x, "prompt_rate", 250, "", "P40", true, false);
    x.cached = 400;
    expect(x, "input_tokens", 600, "", "P22", true, true);
    x.cached = 0;
    expect(x, "input_tokens", 600, "", "P22", false, false);
}

static void p34_only_last(void **state)
{
    (void)state;
    struct act x = plain;
    expect(x, "rate", 100e3, "", "P34", true, false);
    expect(x, "ttft", 1, "ms", "P34", true, false);
    expect(x, "rate", 130e3, "", "P34", false, false);
    expect(x, "rate", 1000, "", "P34", false, false); /* a factor of ten is no unit */
    x.tokens = 3000; /* 1000 tokens/s: thousand times an event rate would be nothing */
    x.events = 3;
    expect(x, "rate", 1.0, "", "P34", false, false); /* M/(o_M-o_1) gives it */
    expect(x, "rate", 1.0, "", "P01", true, true);
}

/* 5 s of silence, then 300 events in 20 ms. */
static const struct act kept_back = {.t0 = 0,
                                     .head = 0.002,
                                     .role = 0.003,
                                     .first = 5.0,
                                     .last = 5.0214,
                                     .end = 5.022,
                                     .events = 300,
                                     .tokens = 300,
                                     .prompt = 50};

static void p43_collect_then_replay(void **state)
{
    (void)state;
    struct act x = kept_back;
    expect(x, "rate", 14000, "tok/s", "P43", true, true);
    expect(x, "gen_tps", 300 / 0.0214, "", "P43", true, true);
    expect(x, "output_tps_user", 299 / 0.0214, "", "P43", true, true);
    expect(x, "wall_tps", 14000, "", "P43", true, true);
    expect(x, "tpot", 71.4, "us", "P43", true, true);
    x.reads = 3; /* reads are no condition */
    expect(x, "rate", 14000, "", "P43", true, true);
    x.head = 5.0; /* nor is where the silence lies */
    x.role = 0;
    expect(x, "rate", 14000, "", "P43", true, true);
    expect(x, "rate", 9000, "", "P43", false, false); /* no formula of it */
}

static void p43_nearly(void **state)
{
    (void)state;
    struct act x = kept_back;
    x.first = 1.0; /* silence for a fifth of it only */
    x.last = 5.0;
    expect(x, "rate", 300 / 4.0 * 3, "", "P43", false, false);
    x = kept_back;
    x.events = 8;
    x.tokens = 8; /* too few events */
    x.last = x.first + 0.001;
    expect(x, "rate", 8000, "", "P43", false, false);
    x.events = 9;
    x.tokens = 9;
    expect(x, "rate", 9000, "", "P43", true, true);
    x = kept_back; /* a long prefill and a short answer of a fast model: 10 tokens at 500/s */
    x.events = 10;
    x.tokens = 10;
    expect(x, "rate", 10 / 0.0214, "", "P43", false, false);
    x = kept_back; /* text for a second before the burst */
    x.first = 4.0;
    expect(x, "rate", 300 / 1.0214 * 4, "", "P43", false, false);
}

static void p43_by_what_is_possible(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    scene_add(&a, kept_back);
    struct act fast = plain; /* the same trace shows 2,000 tok/s that nobody doubts */
    fast.t0 = 10;
    fast.head = fast.first = 10.1;
    fast.last = 11.1;
    fast.end = 11.1;
    fast.events = 2001;
    fast.tokens = 2001;
    scene_add(&a, fast);
    scene_figures(&a);
    const struct claim *c = scene_judge(&a, &audit_defaults, "rate@1=14000");
    assert_null(scene_cause(c, "P43")); /* within ten times of it */
    assert_int_equal(c->verdict, VERDICT_NOT_MEASURABLE);
    struct audit_options o = audit_defaults;
    o.max_rate = 5000;
    c = scene_judge(&a, &o, "rate@1=14000");
    assert_non_null(scene_cause(c, "P43"));
    assert_int_equal(c->verdict, VERDICT_DIFFERS);
    audit_free(&a);
}

/* Each of the rule's three parts is needed. */
static void p43_without_one_part(void **state)
{
    (void)state;
    struct audit_options o = audit_defaults;
    o.max_rate = 5000;
    struct act x = kept_back;
    for (int silent = 0; silent < 2; silent++) {
        struct audit a = {0};
        x.first = silent ? 0.1 : 0.05; /* 15,000 tok/s in 20 ms, after 5/6 or 5/7 of the request */
        x.last = x.first + 0.02;
        x.end = x.last;
        made_trace(&a);
        scene_add(&a, x);
        scene_figures(&a);
        const struct claim *c = scene_judge(&a, &o, "rate@1=15000");
        assert_int_equal(scene_cause(c, "P43") != NULL, silent);
        audit_free(&a);
    }
    x = kept_back; /* 4,000 tokens in the last 0.3 s of 10 s: fast, and not at once */
    x.first = 9.7;
    x.events = 4000;
    x.tokens = 4000;
    x.last = x.end = 10;
    expect(x, "rate", 4000 / 0.3, "", "P43", false, false);
    x.first = 9.85; /* in 0.15 s they are */
    expect(x, "rate", 4000 / 0.15, "", "P43", true, true);
}

static void p43_comes_before_what_only_fits(void **state)
{
    (void)state;
    struct audit a = {0};
    struct act x = kept_back;
    made_trace(&a);
    x.event_bytes = 4;
    scene_add(&a, x);
    scene_figures(&a);
    const struct claim *c = scene_judge(&a, &audit_defaults, "rate@1=14000tok/s");
    assert_true(c->causes.n >= 1);
    assert_string_equal(c->causes.v[0].id, "P43");
    assert_null(scene_cause(c, "P18")); /* true of the formula, and not why */
    for (size_t i = 1; i < c->causes.n; i++)
        assert_true(c->causes.v[i - 1].by_sign || !c->causes.v[i].by_sign);
    audit_free(&a);
}

/* Two users at a time, one served after the other. */
static void queue_of_two(struct audit *a, size_t groups, bool serial)
{
    made_trace(a);
    for (size_t i = 0; i < groups; i++) {
        double t = 20 * (double)i;
        scene_add(a, (struct act){.t0 = t + 0.001,
                                  .first = t + 1,
                                  .last = t + 5,
                                  .events = 401,
                                  .tokens = 401,
                                  .prompt = 500});
        double later = serial ? 4.0 : 0.1;
        scene_add(a, (struct act){.t0 = t + 0.002,
                                  .first = t + 1 + later,
                                  .last = t + 5 + later,
                                  .events = 401,
                                  .tokens = 401,
                                  .prompt = 500});
    }
    scene_figures(a);
}

/* What divides by next to nothing gives any number: without a sign that explains none. */
static void endless_intervals_explain_nothing(void **state)
{
    (void)state;
    struct act x = plain;
    x.events = 40;
    x.tokens = 40;
    x.last = x.first + 0.0005;
    x.end = x.last;
    x.t0 = 0.999; /* no silence before */
    x.head = x.first;
    expect(x, "output_tps_user", 1e6, "", "P18", false, false);
    x.last = x.first + 0.04;
    x.end = x.last;
    x.t0 = 0.95;
    expect(x, "output_tps_user", 40 / 0.04, "", "P18", false,
           false); /* nor may it accuse: nothing is decided */
}

/* Answers sent in one go are no rates to make a mean of. */
static void p71_leaves_out_what_was_kept_back(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 3; i++) {
        struct act x = kept_back;
        x.t0 = 10 * i;
        x.head = x.t0 + 0.002;
        x.role = x.t0 + 0.003;
        x.first = x.t0 + 5;
        x.last = x.end = x.first + 0.02 + 0.01 * i;
        scene_add(&a, x);
    }
    scene_figures(&a);
    const struct claim *c = scene_judge(&a, &audit_defaults, "rate=10000");
    assert_non_null(scene_cause(c, "P43"));
    assert_null(scene_cause(c, "P71"));
    audit_free(&a);
}

static void p57_users_times_rate(void **state)
{
    (void)state;
    struct audit a = {0};
    queue_of_two(&a, 1, true);
    const struct claim *c = scene_judge(&a, &audit_defaults, "throughput=200");
    const struct cause *x = scene_cause(c, "P57");
    assert_non_null(x);
    assert_true(x->by_sign);
    assert_int_equal(c->verdict, VERDICT_DIFFERS);
    audit_free(&a);
    a = (struct audit){0};
    queue_of_two(&a, 1, false); /* both decode all the time: the product is nearly true */
    c = scene_judge(&a, &audit_defaults, "throughput=200");
    x = scene_cause(c, "P57");
    assert_true(x == NULL || !x->by_sign);
    audit_free(&a);
}

static void p13_p71_p77_of_a_run(void **state)
{
    (void)state;
    struct audit a = {0};
    queue_of_two(&a, 2, false);
    double t = 25.1 - 0.001, rate = 100;
    char text[64];
    snprintf(text, sizeof text, "throughput=%.6g", 4 * 901 / t);
    assert_non_null(scene_cause(scene_judge(&a, &audit_defaults, text), "P13"));
    snprintf(text, sizeof text, "throughput=%.6g", rate);
    assert_non_null(scene_cause(scene_judge(&a, &audit_defaults, text), "P71"));
    snprintf(text, sizeof text, "throughput=%.6g", 4 * 401 / 20.001);
    assert_non_null(scene_cause(scene_judge(&a, &audit_defaults, text), "P77"));
    snprintf(text, sizeof text, "throughput=%.6g", 4 * 401 / 20.001 * 1.05);
    assert_null(scene_cause(scene_judge(&a, &audit_defaults, text), "P77"));
    audit_free(&a);
}

static void p71_p72_weighting(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    scene_add(
        &a, (struct act){
                .t0 = 0.1, .first = 1, .last = 11, .events = 101, .tokens = 101}); /* 10 a second */
    scene_add(
        &a,
        (struct act){
            .t0 = 20, .first = 21, .last = 22, .events = 101, .tokens = 101}); /* 100 a second */
    scene_add(
        &a, (struct act){
                .t0 = 40, .first = 41, .last = 43, .events = 101, .tokens = 101}); /* 50 a second */
    scene_figures(&a);
    char text[64];
    snprintf(text, sizeof text, "rate.mean=%.6g", 300 / 13.0);
    const struct claim *c = scene_judge(&a, &audit_defaults, text);
    assert_non_null(scene_cause(c, "P71"));
    snprintf(text, sizeof text, "tpot.mean=%.6gms", 13000 / 300.0 * 1.03);
    c = scene_judge(&a, &audit_defaults, text); /* here both weightings give the same mean */
    assert_null(scene_cause(c, "P72"));
    audit_free(&a);
    a = (struct audit){0};
    made_trace(&a);
    scene_add(&a,
              (struct act){
                  .t0 = 0.1, .first = 1, .last = 11, .events = 1001, .tokens = 1001}); /* 10 ms */
    scene_add(&a, (struct act){
                      .t0 = 20, .first = 21, .last = 23, .events = 21, .tokens = 21}); /* 100 ms */
    scene_figures(&a);
    snprintf(text, sizeof text, "tpot.mean=%.6gms", 12000 / 1020.0);
    c = scene_judge(&a, &audit_defaults, text);
    assert_non_null(scene_cause(c, "P72"));
    audit_free(&a);
}

/* The allowance: a client stamps up to 1 ms after the wire, at either end. */
static void late_stamps_are_allowed_for(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (int i = 0; i < 300; i++) {
        struct act x = kept_back;
        double window = 0.005 + 0.04 * scene_random(&seed);
        x.events = (size_t)(50 + 400 * scene_random(&seed));
        x.tokens = (int64_t)x.events;
        x.last = x.first + window;
        x.end = x.last + 0.001;
        double first = x.first + 0.001 * scene_random(&seed),
               last = x.last + 0.001 * scene_random(&seed);
        double burst = (double)x.tokens / (x.last - x.first + 0.001);
        expect(x, "rate", (double)x.tokens / (last - first), "", "P43", burst > 3000, true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p01_events_as_tokens),
        cmocka_unit_test(p06_characters),
        cmocka_unit_test(p11_a_wish),
        cmocka_unit_test(p13_prompt_tokens),
        cmocka_unit_test(p14_cumulative_usage),
        cmocka_unit_test(p17_first_event_packed),
        cmocka_unit_test(p18_fence_post),
        cmocka_unit_test(p24_role_event),
        cmocka_unit_test(p25_first_byte),
        cmocka_unit_test(p29_whole_request),
        cmocka_unit_test(p31_end_of_stream),
        cmocka_unit_test(p30_p37_p22_p40),
        cmocka_unit_test(p34_only_last),
        cmocka_unit_test(p43_collect_then_replay),
        cmocka_unit_test(p43_nearly),
        cmocka_unit_test(p43_by_what_is_possible),
        cmocka_unit_test(p43_without_one_part),
        cmocka_unit_test(p43_comes_before_what_only_fits),
        cmocka_unit_test(endless_intervals_explain_nothing),
        cmocka_unit_test(p71_leaves_out_what_was_kept_back),
        cmocka_unit_test(p57_users_times_rate),
        cmocka_unit_test(p13_p71_p77_of_a_run),
        cmocka_unit_test(p71_p72_weighting),
        cmocka_unit_test(late_stamps_are_allowed_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
