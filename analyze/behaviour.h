/* How a server behaves under its load, measured on the requests of a scope. */
#ifndef ANALYZE_BEHAVIOUR_H
#define ANALYZE_BEHAVIOUR_H

#include "analyze/metrics_speedup.h"
#include "analyze/model.h"

/* ttft = c P^exponent, over requests that were alone in flight; P: prompt tokens not cached. A
 * quadratic part shows with long prompts first: the longer half of them is fitted for itself. */
struct prefill {
    double exponent; /* NAN: not measurable */
    struct interval interval;
    size_t n;
    double shortest, longest;       /* prompts, tokens */
    size_t of_shortest, of_longest; /* indices in audit.requests */
    double worse;                   /* ttft / P of the longest, over the least of any shorter one */
    const char *reason;
};
void behaviour_prefill(struct audit *a, const struct run_scope *s, bool longer_half,
                       struct prefill *out);

/* Requests sent while an earlier one was in flight; … of them, those whose first output came only
 * when all of the earlier ones had their last. Streams alone: what comes in one piece always does.
 */
struct queueing {
    size_t waiting, serial;
    size_t loose;                /* of the waiting, in no group released together */
    double step_s;               /* median of what ttft grows by from one to the next; NAN */
    size_t first, first_earlier; /* the first serial one and the one it waited for: indices */
};
void behaviour_queueing(const struct audit *a, const struct run_scope *s, struct queueing *out);

/* Prompts that the server may have known. */
struct reuse {
    size_t requests, repeated; /* with a known body; … that was sent before in the scope */
    int64_t prompt, cached;    /* tokens, where both are stated */
    size_t stated;             /* requests that state both */
    double ttft_ratio;         /* median of ttft / that of the body's first request; NAN */
    struct interval interval;
    size_t ratios;
    size_t first_cached; /* index of the first request with cached tokens; SIZE_MAX */
};
void behaviour_reuse(const struct audit *a, const struct run_scope *s, struct reuse *out);

/* Answers of unequal length to the same limit. */
struct early_stops {
    size_t asked; /* successes with N and max_tokens, where half or more of that limit reached it */
    size_t early; /* of them, N below the share */
    size_t first; /* index of the first early one */
    double e2el_ratio; /* median e2el of all asked / of those that reached it */
};
void behaviour_early(const struct audit *a, const struct run_scope *s, double share,
                     struct early_stops *out);

/* Rows of all that. */
void behaviour_rows(struct audit *a, const struct run_scope *s, const struct audit_options *o);

#endif
