/* Statistics of small and large samples: exact, deterministic. */
#ifndef ANALYZE_STAT_H
#define ANALYZE_STAT_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/model.h"

void stat_sort(double *v, size_t n);

/* Of n > 0 ascending values, 0 <= p <= 1: linear interpolation between order statistics (type 7 of
 * Hyndman and Fan, the default of numpy and pandas). */
double stat_quantile(const double *sorted, size_t n, double p);

double stat_median(const double *sorted, size_t n);
double stat_mean(const double *v, size_t n);
double stat_std(const double *v, size_t n); /* of a sample (n - 1); NAN for n < 2 */

/* 95 % percentile intervals by bootstrap, the same for the same input; {NAN, NAN} for fewer than
 * STAT_BOOTSTRAP_MIN values (on either side). Values ascending. */
enum { STAT_BOOTSTRAP_MIN = 3 };
struct interval stat_bootstrap_median(const double *sorted, size_t n);
struct interval stat_bootstrap_mean(const double *v, size_t n);

/* Of median(a) / median(b), both resampled; medians of b must be above 0. */
struct interval stat_bootstrap_ratio(const double *a, size_t na, const double *b, size_t nb);

#endif
