/* Estimates to one figure. */
#include <math.h>
#include <stdlib.h>

#include "analyze/formulas.h"
#include "analyze/formulas_lossy.h"
#include "analyze/stat.h"
#include "traces/base/mem.h"

const char *const stat_names[STATS] = {"value", "p50", "mean", "p90", "p95",
                                       "p99",   "min", "max",  "sum"};

void estimates_free(struct estimates *e)
{
    VEC_FREE(&e->all);
    free(e->value);
    free(e->lo);
    free(e->hi);
    e->value = e->lo = e->hi = NULL;
}

void estimates_invert(struct estimates *e)
{
    for (size_t i = 0; i < e->all.n; i++) {
        struct estimate *x = &e->all.v[i];
        x->value = 1 / x->value;
        x->interval = (struct interval){1 / x->interval.hi, 1 / x->interval.lo};
    }
}

static int by_value(const void *a, const void *b)
{
    const struct estimate *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

/* One statistic of sorted values; NAN for STAT_VALUE of several. */
static double stat_of(const double *sorted, size_t n, enum stat stat)
{
    static const double quantile[STATS] = {[STAT_P50] = 0.5,  [STAT_P90] = 0.9, [STAT_P95] = 0.95,
                                           [STAT_P99] = 0.99, [STAT_MIN] = 0,   [STAT_MAX] = 1};
    if (n == 1)
        return sorted[0];
    switch (stat) {
    case STAT_VALUE:
    case STATS:
        return NAN;
    case STAT_MEAN:
        return stat_mean(sorted, n);
    case STAT_SUM:
        return stat_mean(sorted, n) * (double)n;
    case STAT_MIN:
        return sorted[0];
    case STAT_MAX:
        return sorted[n - 1];
    default:
        return stat_quantile(sorted, n, quantile[stat]);
    }
}

/* Stands for an infinite bound where statistics interpolate: what it touches is infinite again. */
#define ENDLESS 1e300

/* … of those values and `unknown` more, all at `each`. */
static double stat_endless(const double *sorted, size_t n, size_t unknown, double each,
                           enum stat stat)
{
    double x = unknown > 0 ? lossy_stat(sorted, n, unknown, each, stat_of, stat)
                           : stat_of(sorted, n, stat);
    return x > ENDLESS / 1e10 ? INFINITY : x;
}

/* The one that a figure of all rests on: nearest in value; of mean and sum, whether most have the
 * sign. */
static void attribute(const struct estimate *v, size_t n, enum stat stat, struct estimate *out)
{
    size_t best = 0, signs = 0;
    for (size_t i = 0; i < n; i++) {
        if (fabs(v[i].value - out->value) < fabs(v[best].value - out->value))
            best = i;
        signs += v[i].sign;
    }
    if (stat == STAT_MAX || isinf(out->value))
        best = n - 1;
    out->request = v[best].request;
    out->sign = stat == STAT_MEAN || stat == STAT_SUM ? signs * 2 > n : v[best].sign;
}

void estimates_sort(struct estimates *e)
{
    size_t n = e->all.n;
    if (n == 0)
        return;
    qsort(e->all.v, n, sizeof *e->all.v, by_value);
    e->value = mem_array(n, sizeof *e->value);
    e->lo = mem_array(n, sizeof *e->lo);
    e->hi = mem_array(n, sizeof *e->hi);
    for (size_t i = 0; i < n; i++) {
        e->value[i] = fmin(e->all.v[i].value, ENDLESS);
        e->lo[i] = fmin(e->all.v[i].interval.lo, ENDLESS);
        e->hi[i] = fmin(e->all.v[i].interval.hi, ENDLESS);
    }
    stat_sort(e->lo, n);
    stat_sort(e->hi, n);
}

/* Each stamp but a stream's first and last is in two gaps, and cancels out of their sum. */
static void telescope(const struct estimates *e, struct estimate *out)
{
    double share = (double)e->streams / (double)e->all.n;
    out->interval.lo = out->value - share * (out->value - out->interval.lo);
    out->interval.hi = out->value + share * (out->interval.hi - out->value);
}

bool estimates_stat(const struct estimates *e, enum stat stat, struct estimate *out)
{
    size_t n = e->all.n;
    bool whole = stat != STAT_SUM || e->unstated.unknown == 0;
    if (n == 0 || !whole || (stat == STAT_VALUE && n > 1))
        return false;
    out->value = stat_endless(e->value, n, 0, 0, stat);
    out->interval.lo = stat_endless(e->lo, n, e->unknown, 0, stat);
    out->interval.hi = stat_endless(e->hi, n, e->unknown, ENDLESS, stat);
    if (e->streams > 0 && e->unknown == 0 && (stat == STAT_MEAN || stat == STAT_SUM))
        telescope(e, out);
    attribute(e->all.v, n, stat, out);
    if (stat == STAT_SUM && e->unstated.n > 0) {
        out->value += e->unstated.sum;
        out->interval = interval_add(out->interval, interval_exact(e->unstated.sum));
    }
    return true;
}

size_t estimates_number(const struct estimates *e, enum stat stat)
{
    return e->all.n + (stat == STAT_SUM ? e->unstated.n : 0);
}
