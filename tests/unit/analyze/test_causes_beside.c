/* A mistake may be there and do no harm: the claim is confirmed, and what the mistake would have
 * changed is said in percent. */
#include <math.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cause_that_gives_it_too_is_named_with_its_effect),
        cmocka_unit_test(what_gives_another_figure_is_not_named_beside_a_confirmed_claim),
        cmocka_unit_test(a_number_alone_is_not_named_beside_a_confirmed_claim),
        cmocka_unit_test(a_cause_of_a_difference_has_no_effect_beside_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
