/* Quantiles of type 7 (Hyndman and Fan 1996), moments, percentile bootstrap (Efron 1979).
 * The generator is SplitMix64 with a fixed seed: same values, same interval, on every machine. */
#include "analyze/stat.h"

#include <math.h>
#include <stdlib.h>

#include "traces/base/mem.h"

enum {
    RESAMPLES = 2000,
    /* Above this, resamples are not drawn value by value: their median's place and their mean are
     * normal to well within the interval's own noise. */
    DRAW_MAX = 256
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void stat_sort(double *v, size_t n)
{
    if (n > 1)
        qsort(v, n, sizeof *v, by_value);
}

double stat_quantile(const double *sorted, size_t n, double p)
{
    double h = (double)(n - 1) * p;
    size_t lo = (size_t)h;
    if (lo + 1 >= n)
        return sorted[n - 1];
    return sorted[lo] + (h - (double)lo) * (sorted[lo + 1] - sorted[lo]);
}

double stat_median(const double *sorted, size_t n)
{
    return stat_quantile(sorted, n, 0.5);
}

double stat_mean(const double *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    return sum / (double)n;
}

double stat_std(const double *v, size_t n)
{
    if (n < 2)
        return NAN;
    double mean = stat_mean(v, n), sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (v[i] - mean) * (v[i] - mean);
    return sqrt(sum / (double)(n - 1));
}

static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static double random_unit(uint64_t *state)
{
    return (double)(random_next(state) >> 11) * 0x1p-53;
}

static size_t random_index(uint64_t *state, size_t n)
{
    return (size_t)(random_unit(state) * (double)n);
}

/* Irwin-Hall: near enough to normal, and the same on every libm. */
static double random_normal(uint64_t *state)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += random_unit(state);
    return sum;
}

/* The median of one resample of a large sample: the median of n uniform draws is normal with
 * variance 1/4n. */
static double draw_median_large(const double *sorted, size_t n, uint64_t *state)
{
    double p = 0.5 + random_normal(state) / (2 * sqrt((double)n));
    return stat_quantile(sorted, n, p < 0 ? 0 : p > 1 ? 1 : p);
}

/* The median of one resample, found by counting how often each value was drawn. */
static double draw_median(const double *sorted, size_t n, uint64_t *state)
{
    if (n > DRAW_MAX)
        return draw_median_large(sorted, n, state);
    uint16_t times[DRAW_MAX] = {0};
    for (size_t i = 0; i < n; i++)
        times[random_index(state, n)]++;
    double lower = 0;
    size_t seen = 0;
    for (size_t i = 0; i < n; i++) {
        size_t before = seen;
        seen += times[i];
        if (before <= (n - 1) / 2 && seen > (n - 1) / 2)
            lower = sorted[i];
        if (before <= n / 2 && seen > n / 2)
            return (lower + sorted[i]) / 2;
    }
    return lower;
}

static double draw_mean(const double *v, size_t n, uint64_t *state)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[random_index(state, n)];
    return sum / (double)n;
}

static struct interval percentiles(double *drawn)
{
    stat_sort(drawn, RESAMPLES);
    return (struct interval){stat_quantile(drawn, RESAMPLES, 0.025),
                             stat_quantile(drawn, RESAMPLES, 0.975)};
}

static struct interval bootstrap(const double *v, size_t n,
                                 double (*draw)(const double *, size_t, uint64_t *))
{
    if (n < STAT_BOOTSTRAP_MIN)
        return (struct interval){NAN, NAN};
    uint64_t state = n;
    double drawn[RESAMPLES];
    for (int i = 0; i < RESAMPLES; i++)
        drawn[i] = draw(v, n, &state);
    return percentiles(drawn);
}

struct interval stat_bootstrap_median(const double *sorted, size_t n)
{
    return bootstrap(sorted, n, draw_median);
}

struct interval stat_bootstrap_mean(const double *v, size_t n)
{
    if (n <= DRAW_MAX)
        return bootstrap(v, n, draw_mean);
    double mean = stat_mean(v, n), half = 1.959964 * stat_std(v, n) / sqrt((double)n);
    return (struct interval){mean - half, mean + half};
}

struct interval stat_bootstrap_ratio(const double *a, size_t na, const double *b, size_t nb)
{
    if (na < STAT_BOOTSTRAP_MIN || nb < STAT_BOOTSTRAP_MIN)
        return (struct interval){NAN, NAN};
    uint64_t state = na * 31 + nb;
    double drawn[RESAMPLES];
    for (int i = 0; i < RESAMPLES; i++) {
        double above = draw_median(a, na, &state);
        drawn[i] = above / draw_median(b, nb, &state);
    }
    return percentiles(drawn);
}
