/* Quantiles of type 7 (Hyndman and Fan 1996), moments, percentile bootstrap (Efron 1979).
 * The generator is SplitMix64 with a fixed seed: same values, same interval, on every machine. */
#include "analyze/stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/base/mem.h"

enum {
    RESAMPLES = 2000,
    /* Above this, resamples are not drawn value by value: their median's place and their mean are
     * normal to well within the interval's own noise. */
    DRAW_MAX = 256
};

/* The order of doubles as that of whole numbers (IEEE 754, 3.4): a negative one has all its bits
 * flipped, another its sign alone. */
static uint64_t key_of(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static void sort_few(double *v, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        double moved = v[i];
        size_t k = i;
        for (; k > 0 && v[k - 1] > moved; k--)
            v[k] = v[k - 1];
        v[k] = moved;
    }
}

enum { FEW = 32, DIGITS = 256 };

static unsigned digit_of(double v, unsigned shift)
{
    return (unsigned)(key_of(v) >> shift) % DIGITS;
}

/* Where the first byte is in which some differ; 64: all are the same. */
static unsigned first_difference(const double *v, size_t n)
{
    uint64_t first = key_of(v[0]), differ = 0;
    for (size_t i = 1; i < n; i++)
        differ |= key_of(v[i]) ^ first;
    unsigned shift = 56;
    while (differ != 0 && differ >> shift == 0)
        shift -= 8;
    return differ != 0 ? shift : 64;
}

/* Each value to its place by the byte at shift, in the array itself (McIlroy, Bostic and McIlroy
 * 1993). stop[d]: where those with the byte d end. */
static void deal(double *v, size_t n, unsigned shift, size_t stop[DIGITS])
{
    size_t next[DIGITS] = {0};
    for (size_t i = 0; i < n; i++)
        next[digit_of(v[i], shift)]++;
    for (size_t d = 0, at = 0; d < DIGITS; d++) {
        stop[d] = at + next[d];
        next[d] = at;
        at = stop[d];
    }
    for (unsigned d = 0; d < DIGITS; d++) {
        while (next[d] < stop[d]) {
            double moved = v[next[d]];
            for (unsigned to; (to = digit_of(moved, shift)) != d;) {
                double other = v[next[to]];
                v[next[to]++] = moved;
                moved = other;
            }
            v[next[d]++] = moved;
        }
    }
}

/* Without a second array: the gaps between all events are sorted, millions of them, and a copy
 * would be a third of what an analysis needs of memory. No deeper than a double has bytes. */
void stat_sort(double *v, size_t n)
{
    if (n <= FEW) {
        sort_few(v, n);
        return;
    }
    unsigned shift = first_difference(v, n);
    size_t stop[DIGITS];
    if (shift == 64)
        return;
    deal(v, n, shift, stop);
    for (size_t d = 0, at = 0; d < DIGITS; at = stop[d++]) {
        if (stop[d] - at > 1)
            stat_sort(v + at, stop[d] - at);
    }
}

static int by_ns(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void stat_sort_ns(int64_t *v, size_t n)
{
    if (n > 0)
        qsort(v, n, sizeof *v, by_ns);
}

/* Where the nearest rank of p is among n, from 0; n need not be whole. */
static double nearest_rank(double n, double p)
{
    double rank = ceil(n * p - 1e-9); /* 0.95 * 20 is 19, and a little more */
    return rank < 1 ? 0 : rank > n ? n - 1 : rank - 1;
}

struct stat_place stat_place(enum percentile_method m, size_t n, double p)
{
    double h = m == PERCENTILE_LINEAR    ? (double)(n - 1) * p
               : m == PERCENTILE_LOADGEN ? (double)n * p + 1e-9
                                         : nearest_rank((double)n, p);
    size_t at = (size_t)h;
    if (at + 1 >= n)
        return (struct stat_place){n - 1, 0};
    return (struct stat_place){at, m == PERCENTILE_LINEAR ? h - (double)at : 0};
}

double stat_quantile(const double *sorted, size_t n, double p)
{
    struct stat_place x = stat_place(PERCENTILE_LINEAR, n, p);
    if (x.at + 1 >= n)
        return sorted[n - 1];
    return sorted[x.at] + x.part * (sorted[x.at + 1] - sorted[x.at]);
}

double stat_percentile(enum percentile_method m, const double *sorted, size_t n, double p)
{
    return m == PERCENTILE_LINEAR ? stat_quantile(sorted, n, p) : sorted[stat_place(m, n, p).at];
}

static int by_point(const void *a, const void *b)
{
    const struct stat_point *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return (x->weight > y->weight) - (x->weight < y->weight);
}

void stat_sort_points(struct stat_point *v, size_t n)
{
    if (n > 0)
        qsort(v, n, sizeof *v, by_point);
}

/* The value that stands at that place, from 0, when each is there weight times. */
static double point_at(const struct stat_point *sorted, size_t n, double place)
{
    double seen = 0;
    for (size_t i = 0; i < n; i++) {
        seen += sorted[i].weight;
        if (seen > place)
            return sorted[i].value;
    }
    return sorted[n - 1].value;
}

double stat_percentile_points(enum percentile_method m, const struct stat_point *sorted, size_t n,
                              double p)
{
    double weight = 0;
    for (size_t i = 0; i < n; i++)
        weight += sorted[i].weight;
    if (m == PERCENTILE_LINEAR) {
        double h = (weight - 1) * p, lo = floor(h);
        double below = point_at(sorted, n, lo);
        return below + (h - lo) * (point_at(sorted, n, lo + 1) - below);
    }
    if (m == PERCENTILE_LOADGEN)
        return point_at(sorted, n, floor(weight * p + 1e-9));
    if (m == PERCENTILE_NEAREST)
        return point_at(sorted, n, nearest_rank(weight, p));
    double seen = 0; /* weights need not be whole: a place is where their sum reaches p of it */
    for (size_t i = 0; i < n; i++) {
        seen += sorted[i].weight;
        if (seen >= p * weight * (1 - 1e-12))
            return sorted[i].value;
    }
    return sorted[n - 1].value;
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

static struct interval percentiles(double *drawn)
{
    stat_sort(drawn, RESAMPLES);
    return (struct interval){stat_quantile(drawn, RESAMPLES, 0.025),
                             stat_quantile(drawn, RESAMPLES, 0.975)};
}

struct interval stat_bootstrap_median(const double *sorted, size_t n)
{
    if (n < STAT_BOOTSTRAP_MIN)
        return (struct interval){NAN, NAN};
    uint64_t state = n;
    double drawn[RESAMPLES];
    for (int i = 0; i < RESAMPLES; i++)
        drawn[i] = draw_median(sorted, n, &state);
    return percentiles(drawn);
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

/* Slope of the points that index names, or of all; NAN if they stand on one x. */
static double slope_of(const double *x, const double *y, const size_t *index, size_t n)
{
    double mx = 0, my = 0, xx = 0, xy = 0;
    bool differ = false;
    for (size_t i = 0; i < n; i++) {
        size_t k = index != NULL ? index[i] : i;
        mx += x[k];
        my += y[k];
        differ |= x[k] != x[index != NULL ? index[0] : 0];
    }
    mx /= (double)n;
    my /= (double)n;
    for (size_t i = 0; i < n; i++) {
        size_t k = index != NULL ? index[i] : i;
        xx += (x[k] - mx) * (x[k] - mx);
        xy += (x[k] - mx) * (y[k] - my);
    }
    return differ && xx > 0 ? xy / xx : NAN;
}

static struct interval slope_normal(const double *x, const double *y, size_t n,
                                    const struct stat_line *line)
{
    double mx = stat_mean(x, n), xx = 0, rest = 0;
    for (size_t i = 0; i < n; i++) {
        double off = y[i] - line->intercept - line->slope * x[i];
        xx += (x[i] - mx) * (x[i] - mx);
        rest += off * off;
    }
    double half = 1.959964 * sqrt(rest / (double)(n - 2) / xx);
    return (struct interval){line->slope - half, line->slope + half};
}

double stat_slope(const double *x, const double *y, size_t n)
{
    return n >= 3 ? slope_of(x, y, NULL, n) : NAN;
}

struct stat_line stat_fit(const double *x, const double *y, size_t n)
{
    struct stat_line line = {stat_slope(x, y, n), NAN, {NAN, NAN}};
    if (isnan(line.slope))
        return line;
    line.intercept = stat_mean(y, n) - line.slope * stat_mean(x, n);
    if (n > DRAW_MAX) {
        line.interval = slope_normal(x, y, n, &line);
        return line;
    }
    uint64_t state = n;
    double drawn[RESAMPLES];
    size_t index[DRAW_MAX];
    for (int i = 0; i < RESAMPLES; i++) {
        do { /* a resample of one point has no slope */
            for (size_t k = 0; k < n; k++)
                index[k] = random_index(&state, n);
            drawn[i] = slope_of(x, y, index, n);
        } while (isnan(drawn[i]));
    }
    line.interval = percentiles(drawn);
    return line;
}
