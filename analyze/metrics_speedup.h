/* Groups released together, and what they gain over the same requests sent alone. */
#ifndef ANALYZE_METRICS_SPEEDUP_H
#define ANALYZE_METRICS_SPEEDUP_H

#include "analyze/model.h"

/* The requests that a figure is over: indices in audit.requests, run by run, by t0. trace and run:
 * index + 1. */
struct run_scope {
    size_t trace, run;
    const char *workload;
    const size_t *requests;
    size_t n;
};

/* Requests of one run that were released together. */
struct release_group {
    size_t run; /* index + 1 */
    int64_t group;
    size_t members;
    int64_t first_t0, last_t0;
    int64_t last_output;  /* -1: none */
    int64_t tokens;       /* sum of N */
    uint32_t clock_epoch; /* of the first member */
    bool clock_stepped;   /* the clock was set while they ran, or between them */
    bool counts;          /* all members succeeded, undamaged, with a stated N */
};

/* The groups of a scope; *out is the caller's to free. */
size_t release_groups(const struct audit *a, const struct run_scope *s, struct release_group **out);

struct speedup {
    double value; /* NAN: not measurable */
    struct interval interval;
    size_t groups, singles;
    bool alike; /* the requests of the groups were sent alone, too */
    const char *reason; /* against what, or why not */
};

/* False if no group is in the scope. */
bool speedup_measure(struct audit *a, const struct run_scope *s, struct speedup *out);

#endif
