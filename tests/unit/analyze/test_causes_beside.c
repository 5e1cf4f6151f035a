/* A mistake may be there and do no harm: the claim is confirmed, and what the mistake would have
 * changed is said in percent. */
#include <math.h>

#include "analyze/claims_file.h"
#include "tests/unit/analyze/scene.h"

static const struct act early_role = {.t0 = 0,
                                      .head = 1.0,
                                      .role = 1.993,
                                      .first = 2.0,
                                      .last = 5.0,
                                      .end = 5.0,
                                      .events = 100,
                                      .tokens = 100};

static const struct claim *judged(struct audit *a, struct act x, const char *text)
{
    made_trace(a);
    scene_add(a, x);
    scene_figures(a);
    return scene_judge(a, &audit_defaults, text);
}

static void a_cause_that_gives_it_too_is_named_with_its_effect(void **state)
{
    (void)state;
    struct audit a = {0};
    const struct claim *c = judged(&a, early_role, "ttft@1=1.995s");
    assert_int_equal(c->verdict, VERDICT_CONFIRMED);
    const struct cause *role = scene_cause(c, "P24");
    assert_non_null(role);
    assert_true(role->by_sign);
    assert_true(fabs(role->effect_percent - 100 * (1.993 / 2.0 - 1)) < 1e-6);
    audit_free(&a);
}

static void what_gives_another_figure_is_not_named_beside_a_confirmed_claim(void **state)
{
    (void)state;
    struct audit a = {0};
    struct act x = early_role;
    x.role = 1.5;
    const struct claim *c = judged(&a, x, "ttft@1=2.00s");
    assert_int_equal(c->verdict, VERDICT_CONFIRMED);
    assert_null(scene_cause(c, "P24"));
    audit_free(&a);
}

static void a_number_alone_is_not_named_beside_a_confirmed_claim(void **state)
{
    (void)state;
    struct audit a = {0};
    const struct claim *c = judged(&a, early_role, "rate@1=33.2"); /* 99/3 and 100/3 */
    assert_int_equal(c->verdict, VERDICT_CONFIRMED);
    assert_null(scene_cause(c, "P18"));
    audit_free(&a);
}

static void a_cause_of_a_difference_has_no_effect_beside_it(void **state)
{
    (void)state;
    struct audit a = {0};
    struct act x = early_role;
    x.role = 1.5;
    const struct claim *c = judged(&a, x, "ttft@1=1.5s");
    assert_int_equal(c->verdict, VERDICT_DIFFERS);
    const struct cause *role = scene_cause(c, "P24");
    assert_non_null(role);
    assert_true(isnan(role->effect_percent));
    audit_free(&a);
}

/* 60 events in 5 unlike reads 200 ms apart, or each for itself: what AIPerf prints of them. */
static void what_a_tool_prints_is_held_against_the_figure(void **state)
{
    (void)state;
    static const size_t sizes[] = {15, 7, 18, 8, 12};
    for (int clumped = 0; clumped < 2; clumped++) {
        struct audit a = {0};
        struct claim_files fs = {.rows = 0};
        struct err e = {0};
        char text[128];
        made_trace(&a);
        struct request *r = scene_add(
            &a, (struct act){.first = 1, .last = 1.8, .end = 1.9, .events = 60, .tokens = 60});
        for (size_t n = 0, k = 0; clumped && n < 5; n++) {
            for (size_t i = 0; i < sizes[n]; i++, k++) {
                r->out.v[k].t_ns = scene_ns(1 + 0.2 * (double)n);
                r->out.v[k].packet = 100 + (uint32_t)n;
            }
        }
        scene_figures(&a);
        snprintf(text, sizeof text,
                 "{\"metric\":\"output_tps_user\",\"value\":\"%.4f\",\"tool\":\"aiperf\"}",
                 59 / 0.8);
        if (claims_file_take(&fs, &a, "f", slice_of(text), NULL, &e) != TA_OK)
            fail_msg("%s", e.msg);
        claim_files_bind(&fs, &a, &audit_defaults);
        claims_judge(&a, &audit_defaults);
        const struct claim *c = &a.claims.v[0];
        assert_int_equal(c->verdict, VERDICT_CONFIRMED);
        const struct cause *x = scene_cause(c, "P44");
        assert_int_equal(x != NULL, clumped);
        if (clumped)
            assert_true(fabs(x->effect_percent - 100 * (59 / 45.0 - 1)) < 1e-6);
        claim_files_free(&fs);
        audit_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cause_that_gives_it_too_is_named_with_its_effect),
        cmocka_unit_test(what_gives_another_figure_is_not_named_beside_a_confirmed_claim),
        cmocka_unit_test(a_number_alone_is_not_named_beside_a_confirmed_claim),
        cmocka_unit_test(a_cause_of_a_difference_has_no_effect_beside_it),
        cmocka_unit_test(what_a_tool_prints_is_held_against_the_figure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
