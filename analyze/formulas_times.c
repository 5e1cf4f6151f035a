/* From when to when, where two marks of one request do not say it: other requests, the server's
 * clock, the wall's. */
#include <math.h>
#include <stdlib.h>

#include "analyze/formulas_parts.h"
#include "analyze/metrics.h"
#include "analyze/stat.h"
#include "traces/base/mem.h"

/* Of stamps as they are: clocks that were set count too. */
static void push_span(const struct scope *s, const struct request *r, int64_t from, int64_t to,
                      bool sign, struct estimates *out)
{
    if (from >= 0 && to >= 0)
        estimates_add(
            out, (struct estimate){span_seconds(from, to), formula_span(s, from, to), r, sign});
}

/* --- the wait among the gaps -------------------------------------------------------------- */

static bool of_the_tail(enum stat stat)
{
    return stat == STAT_P90 || stat == STAT_P95 || stat == STAT_P99 || stat == STAT_MAX;
}

static bool has_gaps(const struct scope *s, const struct request *r)
{
    return formula_counts(s, r) && !r->clock_stepped && (int64_t)r->out.n >= s->o->gate_events;
}

/* Are the waits so large a part of the list that this quantile is one of them? Below that it is a
 * gap like any other. */
static bool reaches_waits(const struct scope *s)
{
    static const double quantile[STATS] = {
        [STAT_P90] = 0.9, [STAT_P95] = 0.95, [STAT_P99] = 0.99, [STAT_MAX] = 1};
    size_t all = 0, waits = 0;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        waits += has_gaps(s, r);
        all += has_gaps(s, r) ? r->out.n : 0;
    }
    return waits > 0 && ceil(quantile[s->stat] * (double)(all - 1)) >= (double)(all - waits);
}

/* The list of all gaps with each request's wait for its first text in it. Its median is that of the
 * gaps alone, and its mean has a closer formula. */
void formula_gaps_and_wait(const struct scope *s, struct estimates *out)
{
    bool tried = of_the_tail(s->stat) && reaches_waits(s);
    for (size_t i = 0; i < s->requests.n && tried; i++) {
        const struct request *r = scope_nth(s, i);
        if (!has_gaps(s, r))
            continue;
        push_span(s, r, r->t0, formula_when(r, AT_O1), false, out);
        for (size_t k = 1; k < r->out.n; k++)
            push_span(s, r, r->out.v[k - 1].t_ns, r->out.v[k].t_ns, false, out);
    }
}

/* The wait behind a role event taken for the first token, which is the longest gap then. */
void formula_gap_after_role(const struct scope *s, struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n && of_the_tail(s->stat); i++) {
        const struct request *r = scope_nth(s, i);
        if (scope_times(s, r))
            push_span(s, r, r->role_ns, formula_when(r, AT_O1), false, out);
    }
}

/* --- another clock ------------------------------------------------------------------------ */

/* Of the server's work on the prompt alone. */
void formula_stated_wait(const struct scope *s, struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        double stated = r->timings.prompt_ms / 1000;
        if (formula_counts(s, r) && stated > 0)
            estimates_add(out, (struct estimate){stated, interval_exact(stated), r, false});
    }
}

/* Decoding and the loading of the model, both by the server's clock. */
void formula_stated_total_rate(const struct scope *s, struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        double rate = formula_count(r, COUNT_N) / (r->timings.total_ms / 1000);
        if (formula_counts(s, r) && isfinite(rate) && rate > 0)
            estimates_add(out, (struct estimate){rate, interval_exact(rate), r, false});
    }
}

/* May a step of the clock be in a difference of stamps? One that it was set forward by is no longer
 * than that. */
static bool may_hold_step(const struct audit *a, const struct request *r, int64_t wall_ns)
{
    const struct trace_info *t = &a->traces.v[r->trace];
    for (size_t i = 0; i < t->steps.n; i++) {
        if (t->steps.v[i].step_ns < 0 || t->steps.v[i].step_ns <= wall_ns)
            return true;
    }
    return false;
}

/* Stamps are of the wall's clock, and so are these differences, though it was set in between. Where
 * exactly is not known; below zero it was between the two. */
static void wall(const struct scope *s, enum when to, struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        int64_t end = formula_when(r, to);
        if (r->clock_stepped && r->dialect != NULL && end >= 0 &&
            may_hold_step(s->a, r, end - r->t0))
            push_span(s, r, r->t0, end, end < r->t0, out);
    }
}

void formula_wall_first(const struct scope *s, struct estimates *out)
{
    wall(s, AT_O1, out);
}

void formula_wall_last(const struct scope *s, struct estimates *out)
{
    wall(s, AT_OM, out);
}

/* A client that did not read stamps later than the bytes came: at the latest when all of them were
 * there. */
static void late(const struct scope *s, enum when mark, struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        int64_t at = formula_when(r, mark), end = formula_when(r, AT_END);
        if (!formula_counts(s, r) || r->zero_windows == 0 || at < 0 || end < at)
            continue;
        struct interval soonest = formula_span(s, r->t0, at), latest = formula_span(s, r->t0, end);
        estimates_add(out,
                      (struct estimate){span_seconds(r->t0, at), {soonest.lo, latest.hi}, r, true});
    }
}

void formula_late_first(const struct scope *s, struct estimates *out)
{
    late(s, AT_O1, out);
}

void formula_late_last(const struct scope *s, struct estimates *out)
{
    late(s, AT_OM, out);
}

/* Where bytes that had come were read late, a gap may be anything up to all the time that was left
 * for text. */
void formula_late_gap(const struct scope *s, struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n && of_the_tail(s->stat); i++) {
        const struct request *r = scope_nth(s, i);
        int64_t longest = 0, end = formula_when(r, AT_END);
        for (size_t k = 1; k < r->out.n; k++) {
            int64_t gap = r->out.v[k].t_ns - r->out.v[k - 1].t_ns;
            longest = gap > longest ? gap : longest;
        }
        if (scope_times(s, r) && r->zero_windows > 0 && longest > 0)
            estimates_add(out, (struct estimate){
                                   span_seconds(0, longest),
                                   {span_seconds(0, longest), span_seconds(r->out.v[0].t_ns, end)},
                                   r,
                                   true});
    }
}

/* --- another request ---------------------------------------------------------------------- */

/* When the gateway had the first text, not who asked it. */
void formula_upstream_first(const struct scope *s, struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i), *u = r->inner;
        if (formula_counts(s, r) && r->out.n > 0 && u != NULL && u->out.n > 0)
            push_span(s, r, r->t0, u->out.v[0].t_ns,
                      r->out.v[0].t_ns - u->out.v[0].t_ns > 2 * s->o->vantage_ns, out);
    }
}

/* The last request of one token before r, of the same prompt; it need not be in the scope. */
static const struct request *prefill_of(const struct audit *a, const struct request *r)
{
    enum { APART_MAX = 64 };
    size_t own = (size_t)(r - a->requests.v);
    for (size_t i = own; i-- > 0 && own - i <= APART_MAX;) {
        const struct request *q = &a->requests.v[i];
        if (metrics_request_counts(q) && request_tokens(q) == 1 && r->usage.prompt > 0 &&
            q->usage.prompt == r->usage.prompt && q->trace == r->trace &&
            model_same_text(q->model, r->model))
            return q;
    }
    return NULL;
}

/* The time of a request of one token taken from that of a whole one: right if nothing else ran. */
void formula_subtracted(const struct scope *s, struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        const struct request *q = formula_counts(s, r) ? prefill_of(s->a, r) : NULL;
        int64_t end = formula_when(r, AT_OM);
        if (q == NULL || end < 0 || formula_when(q, AT_OM) < 0)
            continue;
        struct interval n = interval_exact(formula_count(r, COUNT_N_LESS_1));
        struct interval whole = formula_span(s, r->t0, end);
        struct interval rest = interval_sub(whole, formula_span(s, q->t0, formula_when(q, AT_OM)));
        struct interval rate = interval_div(n, rest);
        if (interval_known(rate) && rest.lo + rest.hi > 0)
            estimates_add(out,
                          (struct estimate){2 * n.lo / (rest.lo + rest.hi), rate, r, !r->alone});
    }
}

/* --- the warm-up -------------------------------------------------------------------------- */

/* Runs of the scope's requests; freed by the caller. */
static bool *runs_of(const struct scope *s)
{
    bool *in = mem_array(s->a->runs.n + 1, sizeof *in);
    for (size_t i = 0; i < s->requests.n; i++) {
        if (scope_nth(s, i)->run < s->a->runs.n)
            in[scope_nth(s, i)->run] = true;
    }
    return in;
}

static double median_of(const struct estimate *e, size_t n)
{
    double *v = mem_array(n + 1, sizeof *v);
    for (size_t i = 0; i < n; i++)
        v[i] = e[i].value;
    stat_sort(v, n);
    double median = n > 0 ? stat_quantile(v, n, 0.5) : NAN;
    free(v);
    return median;
}

/* Times of all requests, the warm-up among them; their sign: it took longer than the others. */
static void with_warmup(const struct scope *s, enum when to, struct estimates *out)
{
    static const double cold = 1.25;
    struct formula f = {"", SHAPE_TIME, COUNT_NONE, AT_T0, to, false, NULL};
    size_t before = out->all.n;
    formula_apply(&f, s, NULL, out);
    if (out->all.n == before) /* and perhaps no array yet */
        return;
    double usual = median_of(out->all.v + before, out->all.n - before);
    bool *in = runs_of(s), any = false;
    for (size_t i = 0; i < s->a->requests.n; i++) {
        const struct request *r = &s->a->requests.v[i];
        int64_t end = formula_when(r, to);
        if (!r->warmup || r->outcome != OUTCOME_SUCCESS || r->clock_stepped || end < 0 ||
            r->run >= s->a->runs.n || !in[r->run])
            continue;
        push_span(s, r, r->t0, end, false, out);
        any |= span_seconds(r->t0, end) > cold * usual;
    }
    free(in);
    if (!any)
        out->all.n = before;
    for (size_t i = before; i < out->all.n; i++)
        out->all.v[i].sign = true;
}

void formula_warmup_first(const struct scope *s, struct estimates *out)
{
    with_warmup(s, AT_O1, out);
}

void formula_warmup_last(const struct scope *s, struct estimates *out)
{
    with_warmup(s, AT_OM, out);
}
