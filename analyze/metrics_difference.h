/* Traces held against each other: the same workload, sent to another server or at another time. */
#ifndef ANALYZE_METRICS_DIFFERENCE_H
#define ANALYZE_METRICS_DIFFERENCE_H

#include "analyze/model.h"

/* Appends ttft_ratio, output_tps_user_ratio and e2e_output_tps_ratio: the median of a trace over
 * that of the first trace given that has the same workload (or, neither naming one, over the
 * first), with a bootstrap interval; reason says in words against what, and whether there is a
 * difference. */
void metrics_differences(struct audit *a);

#endif
