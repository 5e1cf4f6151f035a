/* Statistics of small and large samples: exact, deterministic. */
#ifndef ANALYZE_STAT_H
#define ANALYZE_STAT_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/model.h"

void stat_sort(double *v, size_t n);
void stat_sort_ns(int64_t *v, size_t n);

/* Of n > 0 ascending values, 0 <= p <= 1: linear interpolation between order statistics (type 7 of
 * Hyndman and Fan, the default of numpy and pandas). */
double stat_quantile(const double *sorted, size_t n, double p);

/* The same read off another way. */
double stat_percentile(enum percentile_method m, const double *sorted, size_t n, double p);

/* Where that is among n values: the one at `at`, and `part` of the way to the next; 0: no more. */
struct stat_place {
    size_t at;
    double part;
};
struct stat_place stat_place(enum percentile_method m, size_t n, double p);

/* A value that counts several times, or that weighs so much. */
struct stat_point {
    double value, weight;
};

void stat_sort_points(struct stat_point *v, size_t n);

/* Of n > 0 points in ascending order, as if each were there weight times. */
double stat_percentile_points(enum percentile_method m, const struct stat_point *sorted, size_t n,
                              double p);

double stat_median(const double *sorted, size_t n);
double stat_mean(const double *v, size_t n);
double stat_std(const double *v, size_t n); /* of a sample (n - 1); NAN for n < 2 */

/* 95 % percentile intervals by bootstrap, the same for the same input; {NAN, NAN} for fewer than
 * STAT_BOOTSTRAP_MIN values (on either side). Values ascending. */
enum { STAT_BOOTSTRAP_MIN = 3 };
struct interval stat_bootstrap_median(const double *sorted, size_t n);

/* Of median(a) / median(b), both resampled; medians of b must be above 0. */
struct interval stat_bootstrap_ratio(const double *a, size_t na, const double *b, size_t nb);

/* A straight line through points by least squares, with the 95 % interval of its slope (points
 * resampled; of more than 256, the normal approximation). NAN for n < 3, or one x alone. */
struct stat_line {
    double slope, intercept;
    struct interval interval;
};
struct stat_line stat_fit(const double *x, const double *y, size_t n);
double stat_slope(const double *x, const double *y, size_t n); /* … the slope alone */

#endif
