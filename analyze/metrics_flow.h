/* Figures of the load as a whole: throughput, requests in flight, goodput. */
#ifndef ANALYZE_METRICS_FLOW_H
#define ANALYZE_METRICS_FLOW_H

#include "analyze/metrics_speedup.h"
#include "analyze/model.h"

/* From t_ns on, so many requests were in flight. */
struct flight_point {
    int64_t t_ns, in_flight;
};

struct flight_curve {
    struct flight_point *v;
    size_t n, cap;
};

/* The requests in flight of n requests, failures included, from the first t0 to the last end (where
 * they are 0), a point at each change. out is empty before, and the caller's to free. */
void metrics_concurrency(const struct audit *a, const size_t *requests, size_t n,
                         struct flight_curve *out);

/* Does each output event state how many tokens it brought, adding up to N? */
bool metrics_per_event(const struct request *r);

/* Where at least `level` requests, 0.9 of the time-weighted median, are in flight. */
struct steady {
    double level, seconds, tokens;
    size_t edges; /* times at which it is reached or left */
    bool assumed; /* events of some request do not state their tokens */
};

/* Of n requests, those of a run together; false: none was in flight for half of the time. */
bool metrics_steady(const struct audit *a, const size_t *requests, size_t n, struct steady *out);

/* Requests within all limits of --slo, as measured; as a client may have it whose stamps are late,
 * so many at least and at most. */
struct good_requests {
    size_t good, undecided, least, most;
};

/* False: there are no limits. */
bool metrics_good(const struct audit *a, const size_t *requests, size_t n,
                  const struct audit_options *o, struct good_requests *out);

/* Appends the rows of one scope, which is not empty. */
void metrics_flow(struct audit *a, const struct run_scope *s, const struct audit_options *o);

#endif
