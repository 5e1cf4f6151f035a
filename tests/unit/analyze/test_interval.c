/* Interval arithmetic holds every result of the points in it, and nothing much beyond. */
#include <math.h>

#include "analyze/interval.h"
#include "tests/unit/analyze/scene.h"

static struct interval some(uint64_t *seed, double least)
{
    double lo = least + 10 * scene_random(seed), width = 5 * scene_random(seed);
    return (struct interval){lo, lo + width};
}

static double point(struct interval a, uint64_t *seed)
{
    return a.lo + (a.hi - a.lo) * scene_random(seed);
}

static void holds(struct interval a, double x)
{
    double slack = 1e-12 * (1 + fabs(x));
    if (!(x >= a.lo - slack && x <= a.hi + slack))
        fail_msg("%.17g is not in [%.17g, %.17g]", x, a.lo, a.hi);
}

static void every_point_is_held(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (int i = 0; i < 20000; i++) {
        struct interval a = some(&seed, 0), b = some(&seed, 0.001);
        double x = point(a, &seed), y = point(b, &seed), k = 100 * scene_random(&seed);
        holds(interval_add(a, b), x + y);
        holds(interval_sub(a, b), x - y);
        holds(interval_scale(a, k), x * k);
        holds(interval_div(a, b), x / y);
    }
}

static void bounds_are_met(void **state)
{
    (void)state;
    struct interval q = interval_div((struct interval){2, 3}, (struct interval){4, 5});
    assert_true(q.lo == 2.0 / 5 && q.hi == 3.0 / 4);
    struct interval d = interval_sub((struct interval){1, 2}, (struct interval){10, 20});
    assert_true(d.lo == -19 && d.hi == -8);
}

static void a_length_that_may_be_zero_gives_no_upper_bound(void **state)
{
    (void)state;
    struct interval q = interval_div(interval_exact(300), (struct interval){-0.001, 0.003});
    assert_true(q.lo == 100000);
    assert_true(isinf(q.hi) && q.hi > 0);
    assert_true(interval_known(q));
    assert_false(interval_known(interval_div(interval_exact(1), (struct interval){-2, 0})));
    assert_false(interval_known(interval_div(interval_exact(1), interval_unknown())));
}

static void meeting(void **state)
{
    (void)state;
    struct interval a = {1, 2};
    assert_true(interval_meets(a, (struct interval){2, 3}));
    assert_false(interval_meets(a, (struct interval){2.001, 3}));
    assert_false(interval_meets(a, interval_unknown()));
    assert_false(interval_meets(interval_unknown(), interval_unknown()));
    assert_true(interval_below(a, (struct interval){2.001, 3}));
    assert_false(interval_below(a, (struct interval){2, 3}));
    assert_true(interval_meets((struct interval){5, INFINITY}, interval_exact(1e9)));
}

static void spread_orders_fits(void **state)
{
    (void)state;
    assert_true(interval_spread(interval_exact(0)) == 1);
    assert_true(interval_spread((struct interval){2, 3}) == 1.5);
    assert_true(isinf(interval_spread((struct interval){0, 3})));
    assert_true(isinf(interval_spread((struct interval){1, INFINITY})));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_point_is_held),
        cmocka_unit_test(bounds_are_met),
        cmocka_unit_test(a_length_that_may_be_zero_gives_no_upper_bound),
        cmocka_unit_test(meeting),
        cmocka_unit_test(spread_orders_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
