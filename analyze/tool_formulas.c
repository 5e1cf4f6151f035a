/* Formulas of other tools that are no quotient of two marks of a request. */
#include <math.h>

#include "analyze/metrics.h"
#include "analyze/tool.h"
#include "traces/base/clock.h"

static const struct request *nth(const struct scope *s, size_t i)
{
    return &s->a->requests.v[s->requests.v[i]];
}

static bool timed(const struct scope *s, const struct request *r)
{
    return formula_counts(s, r) && !r->clock_stepped && r->t0 >= 0;
}

static void push(struct estimates *out, double v, struct interval i, const struct request *r)
{
    if (interval_known(i))
        VEC_PUSH(&out->all, ((struct estimate){.value = v, .interval = i, .request = r}));
}

static double seconds(int64_t ns)
{
    return (double)ns / NS_PER_S;
}

/* The last event with choices; where it was not kept, it is no earlier than the last text and no
 * later than the end. */
static struct interval last_choice(const struct request *r)
{
    int64_t om = formula_when(r, AT_OM), end = formula_when(r, AT_Z);
    if (om < 0)
        return interval_unknown();
    if (r->choice_ns >= om)
        return interval_exact(seconds(r->choice_ns - r->t0));
    return (struct interval){seconds(om - r->t0), seconds(end > om ? end - r->t0 : om - r->t0)};
}

static struct interval widened(const struct scope *s, struct interval i)
{
    double v = seconds(s->o->vantage_ns);
    return (struct interval){i.lo - v, i.hi + v};
}

/* Up to the last choice event. */
void tool_late_latency(const struct scope *s, struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = nth(s, i);
        struct interval end = last_choice(r);
        if (timed(s, r))
            push(out, end.lo, widened(s, end), r);
    }
}

/* The first response may be an event without text, or the first with. */
void tool_first_response(const struct scope *s, struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = nth(s, i);
        int64_t c1 = formula_when(r, AT_C1), o1 = formula_when(r, AT_O1);
        if (!timed(s, r) || c1 < 0)
            continue;
        double lo = seconds(c1 - r->t0), hi = seconds(o1 > c1 ? o1 - r->t0 : c1 - r->t0);
        push(out, lo, widened(s, (struct interval){lo, hi}), r);
    }
}

/* (end - first) / (N - 1), both within bounds. */
static void per_token(const struct scope *s, const struct request *r, int64_t first_lo,
                      int64_t first_hi, struct estimates *out)
{
    struct interval end = last_choice(r);
    double n = formula_count(r, COUNT_N_LESS_1);
    if (!timed(s, r) || isnan(n) || first_lo < 0 || !interval_known(end))
        return;
    struct interval first = {seconds(first_lo - r->t0), seconds(first_hi - r->t0)};
    struct interval span = widened(s, interval_sub(end, first));
    span.lo = fmax(span.lo, 0);
    push(out, fmax(end.lo - first.lo, 0) / n, interval_scale(span, 1 / n), r);
}

void tool_vllm_tpot(const struct scope *s, struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        int64_t c1 = formula_when(nth(s, i), AT_C1);
        per_token(s, nth(s, i), c1, c1, out);
    }
}

void tool_genai_tpot(const struct scope *s, struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        int64_t c1 = formula_when(nth(s, i), AT_C1), o1 = formula_when(nth(s, i), AT_O1);
        per_token(s, nth(s, i), c1, o1 > c1 ? o1 : c1, out);
    }
}

/* The mean of all gaps between choice events: their sum over their number. */
void tool_vllm_gaps(const struct scope *s, struct estimates *out)
{
    double lo = 0, hi = 0, n = 0, most = 0;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = nth(s, i);
        struct interval end = last_choice(r);
        int64_t c1 = formula_when(r, AT_C1);
        if (!timed(s, r) || c1 < 0 || !interval_known(end))
            continue;
        struct interval window = widened(s, interval_sub(end, interval_exact(seconds(c1 - r->t0))));
        lo += fmax(window.lo, 0);
        hi += window.hi;
        double events = (double)r->out.n; /* with a first one before it and a last one behind it */
        n += r->choice_events > 1 ? r->choice_events - 1 : events - 1;
        most += r->choice_events > 1 ? r->choice_events - 1 : events + 1;
    }
    if (n > 0)
        push(out, (lo + hi) / 2 / n, (struct interval){lo / most, hi / n}, NULL);
}

/* Choice events without text before the first and behind the last with, at the most one of each;
 * and how many of those came with them, in the same packet: no time lies between. */
struct ends {
    size_t before, behind, with;
};

/* Are those all that r has? Then each gap is known. */
static bool choices_known(const struct request *r, struct ends *e)
{
    size_t m = r->out.n;
    if (m == 0)
        return false;
    *e = (struct ends){.before =
                           r->c1 >= 0 &&
                           r->c1<r->out.v[0].t_ns, .behind = r->choice_ns> r->out.v[m - 1].t_ns};
    size_t may = 0;
    may += e->before == 0 && r->role_ns == r->out.v[0].t_ns;
    may += e->behind == 0 && r->choice_ns == r->out.v[m - 1].t_ns;
    size_t known = m + e->before + e->behind;
    e->with = r->choice_events - known; /* of no use unless it is one of them */
    return r->choice_events >= known && e->with <= may;
}

static void push_gap(const struct scope *s, int64_t from, int64_t to, const struct request *r,
                     struct estimates *out)
{
    push(out, seconds(to - from), formula_span(s, from, to), r);
}

/* Gaps between choice events, one by one; none where those of some request are not known. */
void tool_vllm_each_gap(const struct scope *s, struct estimates *out)
{
    struct ends e;
    for (size_t i = 0; i < s->requests.n; i++) {
        if (timed(s, nth(s, i)) && !choices_known(nth(s, i), &e))
            return;
    }
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = nth(s, i);
        size_t m = r->out.n;
        if (!timed(s, r) || !choices_known(r, &e))
            continue;
        out->streams++;
        if (e.before > 0)
            push_gap(s, r->c1, r->out.v[0].t_ns, r, out);
        for (size_t k = 1; k < m; k++)
            push_gap(s, r->out.v[k - 1].t_ns, r->out.v[k].t_ns, r, out);
        for (size_t k = 0; k < e.with; k++)
            push_gap(s, r->choice_ns, r->choice_ns, r, out);
        if (e.behind > 0)
            push_gap(s, r->out.v[m - 1].t_ns, r->choice_ns, r, out);
    }
}

/* (last event - t0) over the data lines: at least one an output event, at most all events and the
 * end mark. */
void tool_llmperf_itl(const struct scope *s, struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = nth(s, i);
        if (!timed(s, r) || r->out.n == 0 || !r->stream_reply)
            continue; /* a document has no such lines */
        double d = seconds(formula_when(r, AT_OM) - r->t0), least = (double)r->out.n;
        double most = fmax(least, (double)r->events) + 1;
        struct interval span = widened(s, interval_exact(d));
        push(out, d / least, (struct interval){fmax(span.lo, 0) / most, span.hi / least}, r);
    }
}

/* (N-1)/(o_M-o_1), of requests with more than one event, and with_bursts or without those whose
 * events lie within a client's lateness: it may have a moment between them, or none, which it
 * leaves out. */
static void user_tps(const struct scope *s, enum count count, bool with_bursts,
                     struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = nth(s, i);
        int64_t o1 = formula_when(r, AT_O1), om = formula_when(r, AT_OM);
        double n = formula_count(r, count);
        if (!timed(s, r) || r->out.n < 2 || !(n > 0))
            continue;
        struct interval span = formula_span(s, o1, om);
        if (span.lo <= 0 && !with_bursts)
            continue;
        span.lo = fmax(span.lo, 0);
        push(out, om > o1 ? n / seconds(om - o1) : INFINITY, interval_div(interval_exact(n), span),
             r);
    }
}

void tool_user_tps(const struct scope *s, struct estimates *out)
{
    user_tps(s, COUNT_N_LESS_1, false, out);
}

void tool_user_tps_bursts(const struct scope *s, struct estimates *out)
{
    user_tps(s, COUNT_N_LESS_1, true, out);
}

static void text_user_tps(const struct scope *s, struct estimates *out)
{
    user_tps(s, COUNT_TEXT | COUNT_LESS_ONE, false, out);
}

#define COUNTED ", N counted in the text"
#define BY_TEXT(name, shape, count, from, to)                                                      \
    {                                                                                              \
        name COUNTED, {name COUNTED, shape, count, from, to, false, NULL}, -1,                     \
            "the text was not counted (--tokenizer)"                                               \
    }

const struct definition tool_text[TOOL_TEXTS] = {
    [TEXT_TOKENS] = BY_TEXT("N", SHAPE_COUNT, COUNT_TEXT, AT_NONE, AT_NONE),
    [TEXT_TPOT] = BY_TEXT("(o_M-o_1)/(N-1)", SHAPE_PER, COUNT_TEXT | COUNT_LESS_ONE, AT_O1, AT_OM),
    [TEXT_USER_TPS] = {"(N-1)/(o_M-o_1)" COUNTED,
                       {"(N-1)/(o_M-o_1)" COUNTED, SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, false,
                        text_user_tps},
                       -1,
                       "the text was not counted (--tokenizer)"},
    [TEXT_NTPOT] = BY_TEXT("(z-t0)/N", SHAPE_PER, COUNT_TEXT, AT_T0, AT_Z),
    [TEXT_WHOLE_TPS] = BY_TEXT("N/(o_M-t0)", SHAPE_RATE, COUNT_TEXT, AT_T0, AT_OM),
    [TEXT_END_TPS] = BY_TEXT("N/(z-t0)", SHAPE_RATE, COUNT_TEXT, AT_T0, AT_Z),
    [TEXT_OUTPUT_TPS] = {"sum(N)/T" COUNTED,
                         {"sum(N)/T" COUNTED, SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true,
                          tool_text_tps},
                         -1,
                         "the text was not counted (--tokenizer)"},
    [TEXT_ANSWERS_TPS] = {"sum(N)/T" COUNTED,
                          {"sum(N)/T" COUNTED, SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true,
                           tool_answers_text_tps},
                          -1,
                          "the text was not counted (--tokenizer)"},
};
