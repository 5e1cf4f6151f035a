/* Means, deviations and percentiles as the tools take them. */
#include "analyze/peers_stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double weighted_mean(const struct stat_point *v, size_t n, double power, double about)
{
    double sum = 0, weight = 0;
    for (size_t i = 0; i < n; i++) {
        sum += v[i].weight * pow(v[i].value - about, power);
        weight += v[i].weight;
    }
    return sum / weight;
}

double peer_statistic_points(const char *stat, const struct stat_point *v, size_t n)
{
    double mean = weighted_mean(v, n, 1, 0);
    if (strcmp(stat, "mean") == 0)
        return mean;
    if (strcmp(stat, "std") == 0)
        return sqrt(weighted_mean(v, n, 2, mean));
    double p = strcmp(stat, "min") == 0      ? 0
               : strcmp(stat, "max") == 0    ? 1
               : strcmp(stat, "median") == 0 ? 0.5
                                             : strtod(stat + 1, NULL) / 100;
    return stat_percentile_points(PERCENTILE_WEIGHTED, v, n, p);
}

double peer_statistic(const struct peer *p, const char *stat, const double *v, size_t n)
{
    if (strcmp(stat, "mean") == 0)
        return stat_mean(v, n);
    if (strcmp(stat, "std") == 0)
        return n == 1 ? (p->sample_std ? NAN : 0)
                      : stat_std(v, n) * (p->sample_std ? 1 : sqrt((double)(n - 1) / (double)n));
    if (strcmp(stat, "min") == 0 || strcmp(stat, "max") == 0)
        return stat[1] == 'i' ? v[0] : v[n - 1];
    return stat_quantile(v, n, strcmp(stat, "median") == 0 ? 0.5 : strtod(stat + 1, NULL) / 100);
}
