/* Stalls that come in cycles: excess time between output events, held against itself. */
#ifndef ANALYZE_STALLS_H
#define ANALYZE_STALLS_H

#include "analyze/metrics_speedup.h"
#include "analyze/model.h"

/* A gap of more than stall_factor medians of its stream. */
struct stall {
    size_t request;    /* index in audit.requests */
    size_t event;      /* that ended it */
    int64_t t_ns;      /* when it began */
    int64_t excess_ns; /* over the stream's median */
};

struct stalls {
    VEC(struct stall) all; /* in order of t_ns */
    double lost_share;     /* excess of the stalls / time between first and last output events */
    double period_s;       /* NAN: no cycle */
    double correlation;    /* of the excess time with itself a period later */
    double score;          /* m R^2 (Rayleigh) of the stalls on that period, by what they cost */
    int64_t cycles;        /* periods that fit into the time looked at */
    bool by_client;        /* requests are sent on that period: it may be the client's own */
};

/* Of a scope within one trace: a cycle of the server goes on over its runs. Nothing is found where
 * the clock was set among them. stalls_free. */
void stalls_find(const struct audit *a, const struct run_scope *s, const struct audit_options *o,
                 struct stalls *out);
void stalls_free(struct stalls *x);

#endif
