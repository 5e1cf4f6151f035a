/* The aligned tables of the text report. */
#ifndef ANALYZE_REPORT_TABLE_H
#define ANALYZE_REPORT_TABLE_H

#include "analyze/model.h"
#include "traces/base/buf.h"

/* One row a trace, or a workload where a trace has several. */
void report_table_figures(const struct audit *a, struct buf *out);

/* One row a request, and one each for what a proxy asked to answer it. */
void report_table_requests(const struct audit *a, struct buf *out);

/* Three significant digits, thousands apart: "61.2", "14,000". Returns out. */
const char *table_number(double v, char out[32]);

/* Does the trace (a number, from 1) have several workloads? Their rows then stand in for that of
 * the whole trace. */
bool report_table_by_workload(const struct audit *a, size_t trace);

#endif
