/* What functions of formulas are made of. */
#ifndef ANALYZE_FORMULAS_PARTS_H
#define ANALYZE_FORMULAS_PARTS_H

#include "analyze/formulas.h"
#include "traces/base/clock.h"

/* The i-th request of a scope. */
static inline const struct request *scope_nth(const struct scope *s, size_t i)
{
    return &s->a->requests.v[s->requests.v[i]];
}

/* Does r take part in s's figures of time? */
static inline bool scope_times(const struct scope *s, const struct request *r)
{
    return formula_counts(s, r) && !r->clock_stepped && r->out.n > 0;
}

/* When the first request of a scope was sent and the last one ended; -1: there is none. */
static inline void scope_ends(const struct scope *s, int64_t *from_ns, int64_t *to_ns)
{
    *from_ns = *to_ns = -1;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        int64_t end = formula_when(r, AT_END);
        *from_ns = *from_ns < 0 || r->t0 < *from_ns ? r->t0 : *from_ns;
        *to_ns = end > *to_ns ? end : *to_ns;
    }
}

static inline double span_seconds(int64_t from_ns, int64_t to_ns)
{
    return (double)(to_ns - from_ns) / NS_PER_S;
}

/* As formula_span, of a length: never below 0. */
static inline struct interval span_length(const struct scope *s, int64_t from_ns, int64_t to_ns)
{
    struct interval i = formula_span(s, from_ns, to_ns);
    i.lo = i.lo > 0 ? i.lo : 0;
    return i;
}

/* What is unknown is left out. */
static inline void estimates_add(struct estimates *out, struct estimate e)
{
    if (interval_known(e.interval))
        VEC_PUSH(&out->all, e);
}

/* n / (to - from), of a run. */
static inline void estimates_add_rate(struct estimates *out, const struct scope *s, double n,
                                      int64_t from_ns, int64_t to_ns, bool sign)
{
    if (n > 0 && from_ns >= 0 && to_ns > from_ns)
        estimates_add(out, (struct estimate){.value = n / span_seconds(from_ns, to_ns),
                                             .interval = interval_div(
                                                 interval_exact(n), span_length(s, from_ns, to_ns)),
                                             .sign = sign});
}

/* to - from of a request; nothing if one was not seen, or the clock was set in it. */
static inline void estimates_add_time(struct estimates *out, const struct scope *s,
                                      const struct request *r, int64_t from_ns, int64_t to_ns,
                                      bool sign)
{
    if (!r->clock_stepped && from_ns >= 0 && to_ns >= from_ns)
        estimates_add(out, (struct estimate){.value = span_seconds(from_ns, to_ns),
                                             .interval = formula_span(s, from_ns, to_ns),
                                             .request = r,
                                             .sign = sign});
}

/* What a request that has none is given: 0. */
static inline void estimates_add_zero(struct estimates *out, const struct request *r)
{
    estimates_add(out,
                  (struct estimate){.interval = interval_exact(0), .request = r, .sign = true});
}

#endif
