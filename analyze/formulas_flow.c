/* Figures of the load as a whole, as metrics_flow.c measures them: what a client may have of them.
 */
#include <math.h>

#include "analyze/formulas_parts.h"
#include "analyze/metrics_flow.h"

/* Tokens spread over the events that do not state them, and each edge of the time may be late. */
void formula_output_tps_steady(const struct scope *s, struct estimates *out)
{
    struct steady x;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        if (r->outcome == OUTCOME_SUCCESS && isnan(formula_count(r, COUNT_N)))
            return;
    }
    if (!metrics_steady(s->a, s->requests.v, s->requests.n, &x) || !(x.tokens > 0))
        return;
    double later = (double)s->o->vantage_ns / NS_PER_S * (double)x.edges;
    struct interval seconds = interval_around(x.seconds, later);
    seconds.lo = fmax(seconds.lo, 0);
    estimates_add(out,
                  (struct estimate){.value = x.tokens / x.seconds,
                                    .interval = interval_div(interval_exact(x.tokens), seconds)});
}

/* False: no limit was given, or no request can be held against it. */
static bool good_of(const struct scope *s, struct good_requests *n)
{
    return metrics_good(s->a, s->requests.v, s->requests.n, s->o, n) &&
           n->undecided < s->requests.n;
}

void formula_good_fraction(const struct scope *s, struct estimates *out)
{
    struct good_requests n;
    double all = (double)s->requests.n;
    if (good_of(s, &n))
        estimates_add(out,
                      (struct estimate){.value = (double)n.good / all,
                                        .interval = {(double)n.least / all, (double)n.most / all}});
}

void formula_goodput(const struct scope *s, struct estimates *out)
{
    struct good_requests n;
    int64_t from, to;
    scope_ends(s, &from, &to);
    if (!good_of(s, &n) || to <= from)
        return;
    struct interval good = {(double)n.least, (double)n.most};
    estimates_add(out, (struct estimate){.value = (double)n.good / span_seconds(from, to),
                                         .interval = interval_div(good, span_length(s, from, to))});
}
