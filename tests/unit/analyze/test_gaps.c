/* Gaps in four bytes: the same figures as of doubles, to the last bit. */
#include "analyze/gaps.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/stat.h"
#include "traces/base/clock.h"
#include "traces/base/mem.h"

static void same(double found, double expected)
{
    if (memcmp(&found, &expected, sizeof found) != 0)
        fail_msg("%a, not %a", found, expected);
}

/* Against stat.h over the gaps as doubles. */
static void compare(const int64_t *ns, size_t n)
{
    struct gaps g;
    double *v = mem_array(n, sizeof *v);
    gaps_begin(&g, n);
    for (size_t i = 0; i < n; i++) {
        gaps_add(&g, ns[i]);
        v[i] = (double)ns[i] / NS_PER_S;
    }
    assert_int_equal(gaps_count(&g), n);
    gaps_sort(&g);
    stat_sort(v, n);
    for (size_t i = 0; i < n; i++)
        same(gaps_at(&g, i), v[i]);
    for (enum percentile_method m = PERCENTILE_LINEAR; m <= PERCENTILE_WEIGHTED; m++) {
        for (int p = 0; p <= 100; p++)
            same(gaps_percentile(&g, m, p / 100.0), stat_percentile(m, v, n, p / 100.0));
    }
    same(gaps_mean(&g), stat_mean(v, n));
    if (n > 1)
        same(gaps_std(&g), stat_std(v, n));
    else
        assert_true(isnan(gaps_std(&g)));
    gaps_free(&g);
    free(v);
}

/* Beside gaps that fit: the bounds of that, a clock that ran back, and a stream that was idle. */
static void any_gap(void **state)
{
    (void)state;
    static const int64_t all[] = {INT64_C(3600) * NS_PER_S, 20000001, 0,   UINT32_MAX, 1,
                                  (int64_t)UINT32_MAX + 1,  -1,       255, INT32_MAX,  256,
                                  -5 * (int64_t)NS_PER_S,   65536,    0};
    for (size_t n = 1; n <= sizeof all / sizeof *all; n++)
        compare(all, n);
    compare(all + 5, 2); /* none fits */
    compare(all + 3, 1);
}

/* Of streams: by millions about one time, many alike, few far off. */
static void many_gaps(void **state)
{
    (void)state;
    enum { N = 20000 };
    int64_t *ns = mem_array(N, sizeof *ns);
    uint64_t x = 1;
    for (size_t i = 0; i < N; i++) {
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        ns[i] = 15000000 + (int64_t)(x >> 44) % 300000;
        if (i % 7 == 0)
            ns[i] = 15000000;
        if (i % 100 == 3)
            ns[i] = (int64_t)(x >> 30) - (INT64_C(1) << 30);
    }
    compare(ns, N);
    for (size_t i = 0; i < N; i++)
        ns[i] = 480000;
    compare(ns, N);
    free(ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_gap),
        cmocka_unit_test(many_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
