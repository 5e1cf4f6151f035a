/* Figures from marks: of one request (metrics_request.c), of runs, workloads and traces
 * (metrics_run.c). Definitions and gates: the metric table of the README. */
#ifndef ANALYZE_METRICS_H
#define ANALYZE_METRICS_H

#include "analyze/model.h"

struct request_metric_info {
    const char *name;
    const char *unit;    /* "s" or "tok/s" */
    const char *formula; /* in the symbols of the README */
};

extern const struct request_metric_info request_metrics[REQUEST_METRICS];

/* Fills request.metrics of all requests. */
void metrics_request_all(struct audit *a, const struct audit_options *o);

/* May r take part in quantiles? A success, undamaged, no warm-up, and the clock was not set in it.
 */
bool metrics_request_counts(const struct request *r);

/* Distinct frames that released output events. */
size_t metrics_request_reads(const struct request *r);

/* n_1: as stated with the first output event, else the output events that were readable together
 * with it. */
int64_t metrics_n1(const struct request *r);

/* Appends to a->metrics the figures of each trace, of each workload where a trace has several (up
 * to 100), of each run (up to 1,000). */
void metrics_run_all(struct audit *a, const struct audit_options *o);

/* Which figures; workload NULL and run 0: of the whole trace. trace and run are indices + 1. */
struct metric_scope {
    size_t trace, run;
    const char *workload;
};

/* The figure of that name, stat and scope, or NULL. wall_tps is another name of e2e_output_tps. */
const struct metric *metrics_find(const struct audit *a, const char *name, const char *stat,
                                  struct metric_scope scope);

#endif
