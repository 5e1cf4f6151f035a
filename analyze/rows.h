/* Rows of audit.metrics: a figure of a scope, or the quantiles and moments of many values. */
#ifndef ANALYZE_ROWS_H
#define ANALYZE_ROWS_H

#include "analyze/gaps.h"
#include "analyze/metrics_speedup.h"
#include "analyze/model.h"
#include "analyze/stat.h"

/* What the rows of one distribution share. */
struct distribution {
    const char *name, *unit, *formula, *reason;
    enum grade grade;
    bool interval; /* of the median; there is one for linear percentiles */
    enum percentile_method method;
};

/* One row; NAN is not measurable, for d->reason. The row is a's, until the next one. */
struct metric *rows_put(struct audit *a, const struct run_scope *s, const struct distribution *d,
                        const char *stat, double value, size_t n);

/* p50, and p90, p95, p99 where n carries them, mean, std, min, max. Sorts v; of no values the p50
 * alone, not measurable. */
void rows_distribution(struct audit *a, const struct run_scope *s, const struct distribution *d,
                       double *v, size_t n);

/* The same of gaps, without an interval. Sorts them. */
void rows_gaps(struct audit *a, const struct run_scope *s, const struct distribution *d,
               struct gaps *g);

/* The same of values that count several times: each v[i].weight times. Sorts v; std as if each
 * were there so often. n of the rows is the sum of the weights, where they are `repeats`; else
 * how many values there are. */
void rows_weighted(struct audit *a, const struct run_scope *s, const struct distribution *d,
                   struct stat_point *v, size_t n, bool repeats);

#endif
