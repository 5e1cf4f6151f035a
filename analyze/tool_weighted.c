/* GuideLLM's figures: times per token weighted by tokens, rates over its windows of tokens, and
 * what it takes of streams alone. */
#include <math.h>

#include "analyze/formulas_doubt.h"
#include "analyze/formulas_parts.h"
#include "analyze/stat.h"
#include "analyze/tool.h"

/* --- weighted by tokens ----------------------------------------------------------------------- */

enum per { PER_GAP, PER_TOKEN }; /* (o_M-o_1) by N-1; (o_M-t0) by N */

struct weighed {
    VEC(struct stat_point) value, lo, hi; /* s a token of each request, by its tokens */
    double time, tokens;                  /* of all */
    struct interval span;
    bool unknown; /* how many tokens one of them has */
};

static void weighed_free(struct weighed *w)
{
    VEC_FREE(&w->value);
    VEC_FREE(&w->lo);
    VEC_FREE(&w->hi);
}

static void weigh_request(const struct scope *s, const struct request *r, enum per per, bool events,
                          struct weighed *w)
{
    int64_t from = per == PER_GAP ? formula_when(r, AT_O1) : r->t0, to = formula_when(r, AT_OM);
    double n = formula_count(r, COUNT_N);
    if (isnan(n) && events) /* it takes each event for a token where no usage is stated */
        n = (double)r->out.n;
    w->unknown |= isnan(n);
    n -= per == PER_GAP;
    if (!(n > 0))
        return;
    struct interval span = span_length(s, from, to);
    if (s->late) {
        span.hi += per == PER_TOKEN ? doubt_late(s, r) : DOUBT_LATE_S;
        span.lo = per == PER_TOKEN ? span.lo : fmax(span.lo - DOUBT_LATE_S, 0);
    }
    VEC_PUSH(&w->value, ((struct stat_point){span_seconds(from, to) / n, n}));
    VEC_PUSH(&w->lo, ((struct stat_point){span.lo / n, n}));
    VEC_PUSH(&w->hi, ((struct stat_point){span.hi / n, n}));
    w->time += span_seconds(from, to);
    w->span = interval_add(w->span, span);
    w->tokens += n;
}

#define STEP_SLACK 1e-9 /* tokens before a step may add up to the quantile itself */

static double step_at(struct stat_point *v, size_t n, double place)
{
    stat_sort_points(v, n);
    return stat_percentile_points(PERCENTILE_WEIGHTED, v, n, fmin(fmax(place, 0), 1));
}

static struct estimate quantile_of(const struct weighed *w, double place)
{
    size_t n = w->value.n;
    return (struct estimate){.value = step_at(w->value.v, n, place),
                             .interval = {step_at(w->lo.v, n, place - STEP_SLACK),
                                          step_at(w->hi.v, n, place + STEP_SLACK)}};
}

/* The statistic that s asks for. Its sum is the mean times all weights: that of the times. */
static void push_weighed(const struct scope *s, enum per per, bool events, struct estimates *out)
{
    static const double places[STATS] = {[STAT_P50] = 0.5,  [STAT_P90] = 0.9, [STAT_P95] = 0.95,
                                         [STAT_P99] = 0.99, [STAT_MIN] = 0,   [STAT_MAX] = 1};
    bool sum = s->stat == STAT_SUM, mean = s->stat == STAT_MEAN || s->stat == STAT_VALUE;
    struct weighed w = {.unknown = false};
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        if (scope_times(s, r))
            weigh_request(s, r, per, events || sum, &w);
    }
    double weight = sum ? 1 : w.tokens;
    if (w.value.n > 0 && !w.unknown)
        estimates_add(out, sum || mean
                               ? (struct estimate){.value = w.time / weight,
                                                   .interval = interval_scale(w.span, 1 / weight)}
                               : quantile_of(&w, places[s->stat]));
    weighed_free(&w);
}

void tool_weighted_itl(const struct scope *s, struct estimates *out)
{
    push_weighed(s, PER_GAP, false, out);
}

void tool_weighted_tpot(const struct scope *s, struct estimates *out)
{
    push_weighed(s, PER_TOKEN, false, out);
}

void tool_weighted_itl_events(const struct scope *s, struct estimates *out)
{
    push_weighed(s, PER_GAP, true, out);
}

void tool_weighted_tpot_events(const struct scope *s, struct estimates *out)
{
    push_weighed(s, PER_TOKEN, true, out);
}

/* --- of streams ------------------------------------------------------------------------------- */

/* Before some version up to 0.8 a document, which has no first token, was a 0 among the others. */
void tool_stream_ttft_or_0(const struct scope *s, struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        if (scope_times(s, r) && r->stream_reply)
            estimates_add_time(out, s, r, r->t0, formula_when(r, AT_STREAM_O1), false);
        else if (scope_times(s, r))
            estimates_add_zero(out, r);
    }
}

/* --- over windows ----------------------------------------------------------------------------- */

struct window {
    double tokens;
    int64_t first, last; /* text */
    int64_t begin, end;  /* of all requests, those that failed or were cancelled too */
};

static struct window window_of(const struct scope *s)
{
    struct window x = {.first = -1, .last = -1, .begin = -1, .end = -1};
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        double n = formula_count(r, COUNT_N);
        int64_t o1 = formula_when(r, AT_O1), om = formula_when(r, AT_OM);
        int64_t end = formula_when(r, AT_END);
        if (r->dialect != NULL && !r->clock_stepped) {
            x.begin = x.begin < 0 || r->t0 < x.begin ? r->t0 : x.begin;
            x.end = end > x.end ? end : x.end;
        }
        if (!scope_times(s, r) || isnan(n))
            continue;
        x.tokens += n;
        x.first = x.first < 0 || o1 < x.first ? o1 : x.first;
        x.last = om > x.last ? om : x.last;
    }
    return x;
}

/* From the first token of all to the last one. */
void tool_guidellm_output_tps(const struct scope *s, struct estimates *out)
{
    struct window x = window_of(s);
    estimates_add_rate(out, s, x.tokens, x.first, x.last, false);
}

/* Since 0.8 from the first start to the last end. */
void tool_guidellm_window_tps(const struct scope *s, struct estimates *out)
{
    struct window x = window_of(s);
    estimates_add_rate(out, s, x.tokens, x.begin, x.end, false);
}
