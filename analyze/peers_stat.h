/* Statistics by the tools' conventions: numpy's or pandas' percentiles and deviation, or weighted
 * steps. */
#ifndef ANALYZE_PEERS_STAT_H
#define ANALYZE_PEERS_STAT_H

#include "analyze/peers_table.h"
#include "analyze/stat.h"

/* mean, std, min, max, median or p90 … of n > 0 ascending values; NAN: there is none of so few. */
double peer_statistic(const struct peer *p, const char *stat, const double *sorted, size_t n);

/* Of n > 0 weighted values, ascending: percentiles are steps, the deviation is the population's. */
double peer_statistic_points(const char *stat, const struct stat_point *sorted, size_t n);

#endif
