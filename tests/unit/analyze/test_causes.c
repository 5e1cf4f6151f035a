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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endless_intervals_explain_nothing),
        cmocka_unit_test(p71_leaves_out_what_was_kept_back),
        cmocka_unit_test(p13_p71_p77_of_a_run),
        cmocka_unit_test(p71_p72_weighting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
