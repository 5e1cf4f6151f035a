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

/* Why what ends with the last text of an open request is not measurable. */
extern const char metrics_open[];

/* May r take part in quantiles? A success, undamaged, no warm-up, and the clock was not set in it.
 */
bool metrics_request_counts(const struct request *r);

/* Distinct frames that released output events. */
size_t metrics_request_reads(const struct request *r);

/* n_1: as stated with the first output event, else the output events that were readable together
 * with it. */
int64_t metrics_n1(const struct request *r);

/* Of the tokens that the server counts those of thinking that it sent no text of: they were
 * generated before the first text, or between. 0 too where the count leaves them out already, or
 * their text is among the answer's. */
int64_t metrics_unsent(const struct request *r);

/* Tokens that the stated total has beside those of prompt and answer: of thinking that the count of
 * the answer leaves out. 0: none, or what they are is open. */
int64_t metrics_beside(const struct request *r);

/* Of thinking that was sent, the tokens that the count of the answer leaves out; 0: none, as far as
 * anything shows it. -1: it leaves them out, and how many they are is not known. */
int64_t metrics_uncounted(const struct request *r);

/* Were tokens counted that cannot have been sent, and when they were generated is not known: more
 * than the text has bytes, or than what was sent of the thinking has? */
bool metrics_textless(const struct request *r);

/* Did the first read bring a piece of text that had been held back, out of proportion with the
 * others, and nothing states how many tokens it is? */
bool metrics_first_held(const struct request *r);

/* Tokens that came between o_1 and o_M: N - n_1, without those that were not sent, and with those
 * that were but N leaves out. -1: none, or their number is not known. */
int64_t metrics_decoded(const struct request *r);

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
