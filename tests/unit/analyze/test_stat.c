/* Statistics against python3's, and against distributions that are known exactly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/stat.h"

static const double sample[] = {3.1, 0.5, 2.25, 9.75, 4.0, 4.0, 1.125, 7.5, 6.875, 0.0625, 5.5};
enum { SAMPLE = sizeof sample / sizeof *sample };

static void near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-12 * (1 + fabs(expected))))
        fail_msg("found %.17g, expected %.17g", found, expected);
}

/* python3 -c 'import statistics as s; v=[3.1,0.5,2.25,9.75,4.0,4.0,1.125,7.5,6.875,0.0625,5.5]
 * for w in (v, v[:10]):
 *     q=s.quantiles(w, n=100, method="inclusive"); print([q[p-1] for p in
 * (1,10,25,50,75,90,95,99)]) print(s.fmean(v), s.stdev(v))' */
static void quantiles_are_those_of_python(void **state)
{
    (void)state;
    static const double p[] = {0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99};
    static const double of_11[] = {0.10625, 0.5, 1.6875, 4.0, 6.1875, 7.5, 8.625, 9.525};
    static const double of_10[] = {0.101875, 0.45625, 1.40625, 3.55,
                                   6.15625,  7.725,   8.7375,  9.5475};
    double v[SAMPLE];
    memcpy(v, sample, sizeof v);
    stat_sort(v, SAMPLE);
    for (size_t i = 0; i < sizeof p / sizeof *p; i++)
        near(stat_quantile(v, SAMPLE, p[i]), of_11[i]);
    memcpy(v, sample, sizeof v);
    stat_sort(v, 10);
    for (size_t i = 0; i < sizeof p / sizeof *p; i++)
        near(stat_quantile(v, 10, p[i]), of_10[i]);
    near(stat_median(v, 10), 3.55);
}

static void ends_are_the_extremes(void **state)
{
    (void)state;
    static const double v[] = {1, 2, 4};
    near(stat_quantile(v, 3, 0), 1);
    near(stat_quantile(v, 3, 1), 4);
    near(stat_quantile(v, 1, 0.99), 1);
}

static void moments_are_those_of_python(void **state)
{
    (void)state;
    near(stat_mean(sample, SAMPLE), 4.060227272727273);
    near(stat_std(sample, SAMPLE), 3.0932225216078164);
    assert_true(isnan(stat_std(sample, 1)));
}

/* The median of a resample of 1..n is at most k as often as a binomial of n trials with k/n has
 * more than n/2 successes: the 2.5 % and 97.5 % points are known. python3 -c 'from math import comb
 * f=lambda n,k: sum(comb(n,i)*(k/n)**i*(1-k/n)**(n-i) for i in range(n//2+1,n+1))
 * print([(n,k,f(n,k)) for n in (9,25) for k in range(1,n+1)])' */
static void median_interval_is_the_exact_one(void **state)
{
    (void)state;
    static const struct {
        size_t n;
        double lo, hi;
    } cases[] = {{9, 2, 8}, {25, 8, 18}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double v[25];
        for (size_t k = 0; k < cases[i].n; k++)
            v[k] = (double)k + 1;
        struct interval ci = stat_bootstrap_median(v, cases[i].n);
        near(ci.lo, cases[i].lo);
        near(ci.hi, cases[i].hi);
    }
}

static void interval_of_many_values(void **state)
{
    (void)state;
    enum { N = 10000 };
    static double v[N];
    for (size_t i = 0; i < N; i++)
        v[i] = (double)i / (N - 1);
    struct interval ci = stat_bootstrap_median(v, N);
    double half = 1.96 / (2 * sqrt((double)N));
    assert_true(fabs(ci.lo - (0.5 - half)) < 0.1 * half && fabs(ci.hi - (0.5 + half)) < 0.1 * half);
}

static void ratio_interval(void **state)
{
    (void)state;
    static const double same[] = {10, 10, 10, 10, 10}, twice[] = {20, 20, 20};
    struct interval ci = stat_bootstrap_ratio(twice, 3, same, 5);
    near(ci.lo, 2);
    near(ci.hi, 2);
    static const double wide[] = {9, 10, 11, 12, 13};
    ci = stat_bootstrap_ratio(wide, 5, wide, 5);
    assert_true(ci.lo < 1 && ci.hi > 1 && ci.lo >= 9.0 / 13 && ci.hi <= 13.0 / 9);
}

static void too_few_give_no_interval(void **state)
{
    (void)state;
    static const double v[] = {1, 2};
    assert_true(isnan(stat_bootstrap_median(v, 2).lo));
    assert_true(isnan(stat_bootstrap_ratio(sample, SAMPLE, v, 2).lo));
}

static void same_values_same_interval(void **state)
{
    (void)state;
    struct interval x = stat_bootstrap_median(sample, SAMPLE),
                    y = stat_bootstrap_median(sample, SAMPLE);
    assert_memory_equal(&x, &y, sizeof x);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of the length n: gaps as they come (nearly all the same, some zero), times of any size and sign,
 * and a few values over and over. */
static double made(int kind, uint64_t random)
{
    static const double few[] = {0,     1e-9, 4.8e-4,    4.800001e-4, 0.25,
                                 1e300, -1,   -INFINITY, INFINITY};
    switch (kind) {
    case 0:
        return random % 16 == 0 ? (double)(random >> 40) / 1e9 : 480e3 / 1e9;
    case 1:
        return ((double)random - 0x1p63) / (double)(1 + (random >> (random % 64)));
    default:
        return few[random % (sizeof few / sizeof *few)];
    }
}

static void sorts_as_qsort_does(void **state)
{
    (void)state;
    enum { MOST = 70000 };
    static const size_t sizes[] = {0, 1, 2, 31, 32, 33, 34, 257, 5000, MOST};
    static double mine[MOST], theirs[MOST];
    uint64_t random = 1;
    for (int kind = 0; kind < 3; kind++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            size_t n = sizes[i];
            for (size_t k = 0; k < n; k++) {
                random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
                mine[k] = theirs[k] = made(kind, random ^ random >> 29);
            }
            stat_sort(mine, n);
            qsort(theirs, n, sizeof *theirs, by_value);
            assert_memory_equal(mine, theirs, n * sizeof *mine);
        }
    }
}

/* Against Python's statistics.linear_regression. */
static void lines_through_points(void **state)
{
    (void)state;
    static const double x[] = {1, 2, 3, 4, 5, 6}, exact[] = {3, 5, 7, 9, 11, 13};
    static const double y[] = {2.1, 3.9, 6.2, 7.8, 10.1, 11.9}, same[] = {2, 2, 2, 2, 2, 2};
    struct stat_line line = stat_fit(x, exact, 6);
    near(line.slope, 2);
    near(line.intercept, 1);
    near(line.interval.lo, 2);
    near(line.interval.hi, 2);
    line = stat_fit(x, y, 6);
    assert_true(fabs(line.slope - 1.9771428571428573) < 1e-12);
    assert_true(fabs(line.intercept - 0.08) < 1e-12);
    assert_true(line.interval.lo < line.slope && line.interval.lo > 1.8);
    assert_true(line.interval.hi > line.slope && line.interval.hi < 2.1);
    struct stat_line again = stat_fit(x, y, 6);
    assert_true(again.interval.lo == line.interval.lo && again.interval.hi == line.interval.hi);
    assert_true(isnan(stat_fit(same, y, 6).slope));
    assert_true(isnan(stat_fit(x, y, 2).slope));
}

/* Of many points the interval is the normal one: 1.96 standard errors. */
static void lines_through_many_points(void **state)
{
    (void)state;
    enum { N = 1000 };
    double x[N], y[N];
    for (int i = 0; i < N; i++) {
        x[i] = i;
        y[i] = 3 * i + (i % 2 == 0 ? 1 : -1);
    }
    struct stat_line line = stat_fit(x, y, N);
    double error = 1 / sqrt(N * ((double)N * N - 1) / 12);
    assert_true(fabs(line.slope - 3) < 1e-4);
    assert_true(fabs((line.interval.hi - line.interval.lo) / (2 * 1.96 * error) - 1) < 0.01);
}

static void sorts_times(void **state)
{
    (void)state;
    int64_t v[] = {INT64_MAX, 3, INT64_MIN, 0, -1, 3};
    static const int64_t sorted[] = {INT64_MIN, -1, 0, 3, 3, INT64_MAX};
    stat_sort_ns(v, 0);
    assert_int_equal(v[0], INT64_MAX);
    stat_sort_ns(v, 6);
    assert_memory_equal(v, sorted, sizeof v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_those_of_python),
        cmocka_unit_test(lines_through_points),
        cmocka_unit_test(lines_through_many_points),
        cmocka_unit_test(ends_are_the_extremes),
        cmocka_unit_test(moments_are_those_of_python),
        cmocka_unit_test(median_interval_is_the_exact_one),
        cmocka_unit_test(interval_of_many_values),
        cmocka_unit_test(ratio_interval),
        cmocka_unit_test(too_few_give_no_interval),
        cmocka_unit_test(same_values_same_interval),
        cmocka_unit_test(sorts_as_qsort_does),
        cmocka_unit_test(sorts_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
