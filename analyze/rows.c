/* Rows of audit.metrics. A percentile is given only where n carries it. */
#include "analyze/rows.h"

#include <math.h>

struct metric *rows_put(struct audit *a, const struct run_scope *s, const struct distribution *d,
                        const char *stat, double value, size_t n)
{
    VEC_PUSH(&a->metrics, ((struct metric){.name = d->name,
                                           .stat = stat,
                                           .unit = d->unit,
                                           .value = value,
                                           .n = n,
                                           .ci_low = NAN,
                                           .ci_high = NAN,
                                           .grade = isnan(value) ? GRADE_NOT_MEASURABLE : d->grade,
                                           .formula = d->formula,
                                           .reason = d->reason,
                                           .trace = s->trace,
                                           .run = s->run,
                                           .workload = s->workload}));
    return &a->metrics.v[a->metrics.n - 1];
}

static const struct {
    const char *stat;
    double p;
    size_t min_n; /* 1 / (1 - p); a median of one value is that value */
} percentiles[] = {{"p50", 0.5, 1}, {"p90", 0.9, 10}, {"p95", 0.95, 20}, {"p99", 0.99, 100}};

enum { PERCENTILES = sizeof percentiles / sizeof *percentiles };

void rows_distribution(struct audit *a, const struct run_scope *s, const struct distribution *d,
                       double *v, size_t n)
{
    if (n == 0) {
        rows_put(a, s, d, "p50", NAN, 0);
        return;
    }
    stat_sort(v, n);
    for (size_t i = 0; i < PERCENTILES && n >= percentiles[i].min_n; i++) {
        double q = stat_percentile(d->method, v, n, percentiles[i].p);
        struct metric *m = rows_put(a, s, d, percentiles[i].stat, q, n);
        if (i == 0 && d->interval && d->method == PERCENTILE_LINEAR) {
            struct interval ci = stat_bootstrap_median(v, n);
            m->ci_low = ci.lo;
            m->ci_high = ci.hi;
        }
    }
    rows_put(a, s, d, "mean", stat_mean(v, n), n);
    if (n > 1)
        rows_put(a, s, d, "std", stat_std(v, n), n);
    rows_put(a, s, d, "min", v[0], n);
    rows_put(a, s, d, "max", v[n - 1], n);
}

void rows_gaps(struct audit *a, const struct run_scope *s, const struct distribution *d,
               struct gaps *g)
{
    size_t n = gaps_count(g);
    if (n == 0) {
        rows_put(a, s, d, "p50", NAN, 0);
        return;
    }
    gaps_sort(g);
    for (size_t i = 0; i < PERCENTILES && n >= percentiles[i].min_n; i++)
        rows_put(a, s, d, percentiles[i].stat, gaps_percentile(g, d->method, percentiles[i].p), n);
    rows_put(a, s, d, "mean", gaps_mean(g), n);
    if (n > 1)
        rows_put(a, s, d, "std", gaps_std(g), n);
    rows_put(a, s, d, "min", gaps_at(g, 0), n);
    rows_put(a, s, d, "max", gaps_at(g, n - 1), n);
}

void rows_weighted(struct audit *a, const struct run_scope *s, const struct distribution *d,
                   struct stat_point *v, size_t n, bool repeats)
{
    if (n == 0) {
        rows_put(a, s, d, "p50", NAN, 0);
        return;
    }
    stat_sort_points(v, n);
    double weight = 0, sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        weight += v[i].weight;
        sum += v[i].weight * v[i].value;
    }
    double mean = sum / weight;
    for (size_t i = 0; i < n; i++)
        squares += v[i].weight * (v[i].value - mean) * (v[i].value - mean);
    size_t shown = repeats ? (size_t)weight : n;
    for (size_t i = 0; i < PERCENTILES && shown >= percentiles[i].min_n; i++)
        rows_put(a, s, d, percentiles[i].stat,
                 stat_percentile_points(d->method, v, n, percentiles[i].p), shown);
    rows_put(a, s, d, "mean", mean, shown);
    if (shown > 1)
        rows_put(a, s, d, "std", sqrt(squares / (weight - weight / (double)shown)), shown);
    rows_put(a, s, d, "min", v[0].value, shown);
    rows_put(a, s, d, "max", v[n - 1].value, shown);
}
