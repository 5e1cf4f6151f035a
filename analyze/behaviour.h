/* How a server behaves under its load, measured on the requests of a scope. */
#ifndef ANALYZE_BEHAVIOUR_H
#define ANALYZE_BEHAVIOUR_H

#include "analyze/metrics_speedup.h"
#include "analyze/model.h"

/* ttft = c P^exponent, over requests that were alone in flight; P: prompt tokens not cached. A
 * quadratic part shows with long prompts first: the longer half of them is fitted for itself, and
 * once more less what each request costs, as the shorter half tells. */
enum prefill_look { PREFILL_ALL, PREFILL_LONGER, PREFILL_LESS_START };
struct prefill {
    double exponent; /* NAN: not measurable */
    struct interval interval;
    double least; /* that is sure: of the interval, and of the rest when any length is left out */
    double start; /* s that ttft was taken less of; 0 but for PREFILL_LESS_START */
    size_t n;
    double shortest, longest;       /* prompts, tokens */
    size_t of_shortest, of_longest; /* indices in audit.requests */
    double worse;                   /* ttft / P of the longest, over the least of any shorter one */
    const char *reason;
};
void behaviour_prefill(struct audit *a, const struct run_scope *s, enum prefill_look look,
                       struct prefill *out);

/* Prompts that the server may have known. */
struct reuse {
    size_t requests, repeated; /* with a known body; … that was sent before in the scope */
    int64_t prompt, cached;    /* tokens, where both are stated */
    size_t stated;             /* requests that state both */
    double ttft_ratio;         /* median of ttft / that of the body's first request; NAN */
    struct interval interval;
    size_t ratios;
    size_t denied; /* … of which the repeat states that nothing was cached */
    size_t first_cached; /* index of the first request with cached tokens; SIZE_MAX */
};
void behaviour_reuse(const struct audit *a, const struct run_scope *s, struct reuse *out);

/* Answers of unequal length to the same limit. */
struct early_stops {
    size_t asked; /* successes with N and max_tokens, where half or more of that limit reached it,
                     or with ignore_eos */
    size_t early; /* of them, N below the share */
    size_t first; /* index of the first early one */
    double e2el_ratio; /* median e2el of all asked / of those that reached it */
};
void behaviour_early(const struct audit *a, const struct run_scope *s, double share,
                     struct early_stops *out);

/* Rows of all that. */
void behaviour_rows(struct audit *a, const struct run_scope *s, const struct audit_options *o);

#endif
