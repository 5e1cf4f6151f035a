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

/* The choice events of r are its events with text, and at most one without before and behind them:
 * then each gap is known. */
static bool choices_known(const struct request *r)
{
    size_t m = r->out.n;
    size_t before = m > 0 && r->c1 >= 0 && r->c1 < r->out.v[0].t_ns;
    size_t behind = m > 0 && r->choice_ns > r->out.v[m - 1].t_ns;
    return m > 0 && r->choice_events == m + before + behind;
}

static void push_gap(const struct scope *s, int64_t from, int64_t to, const struct request *r,
                     struct estimates *out)
{
    push(out, seconds(to - from), formula_span(s, from, to), r);
}

/* Gaps between choice events, one by one; none where those of some request are not known. */
void tool_vllm_each_gap(const struct scope *s, struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        if (timed(s, nth(s, i)) && !choices_known(nth(s, i)))
            return;
    }
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = nth(s, i);
        size_t m = r->out.n;
        if (!timed(s, r))
            continue;
        if (r->c1 >= 0 && r->c1 < r->out.v[0].t_ns)
            push_gap(s, r->c1, r->out.v[0].t_ns, r, out);
        for (size_t k = 1; k < m; k++)
            push_gap(s, r->out.v[k - 1].t_ns, r->out.v[k].t_ns, r, out);
        if (r->choice_ns > r->out.v[m - 1].t_ns)
            push_gap(s, r->out.v[m - 1].t_ns, r->choice_ns, r, out);
    }
}

/* (last event - t0) over the data lines: at least one an output event, at most all events and the
 * end mark. */
void tool_llmperf_itl(const struct scope *s, struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = nth(s, i);
        if (!timed(s, r) || r->out.n == 0)
            continue;
        double d = seconds(formula_when(r, AT_OM) - r->t0), least = (double)r->out.n;
        double most = fmax(least, (double)r->events) + 1;
        struct interval span = widened(s, interval_exact(d));
        push(out, d / least, (struct interval){fmax(span.lo, 0) / most, span.hi / least}, r);
    }
}

/* A tool's duration begins before the first request and ends between the last text and a while
 * behind the last reply. */
#define LATE_S 1.0

struct duration {
    double s; /* from the first byte to the last; 0: there is none */
    struct interval i;
};

static struct duration duration_of(const struct scope *s)
{
    int64_t from = -1, text = -1, to = -1;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = nth(s, i);
        int64_t om = formula_when(r, AT_OM), end = formula_when(r, AT_END);
        if (r->dialect == NULL)
            continue;
        from = from < 0 || r->t0 < from ? r->t0 : from;
        text = om > text ? om : text;
        to = end > to ? end : to;
    }
    double least = seconds((text > from ? text : to) - from) - seconds(s->o->vantage_ns);
    struct duration d = {from >= 0 && to > from ? seconds(to - from) : 0,
                         {fmax(least, 0), seconds(to - from) + LATE_S}};
    return d;
}

static void run_rate(const struct scope *s, enum count count, struct estimates *out)
{
    double n = 0;
    struct duration d = duration_of(s);
    for (size_t i = 0; i < s->requests.n; i++) {
        if (formula_counts(s, nth(s, i)))
            n += formula_count(nth(s, i), count);
    }
    if (d.s > 0 && !isnan(n))
        push(out, n / d.s, interval_div(interval_exact(n), d.i), NULL);
}

void tool_output_tps(const struct scope *s, struct estimates *out)
{
    run_rate(s, COUNT_N, out);
}

void tool_text_tps(const struct scope *s, struct estimates *out)
{
    run_rate(s, COUNT_TEXT, out);
}

void tool_input_tps(const struct scope *s, struct estimates *out)
{
    run_rate(s, COUNT_P, out);
}

void tool_total_tps(const struct scope *s, struct estimates *out)
{
    run_rate(s, COUNT_P_AND_N, out);
}

void tool_request_tps(const struct scope *s, struct estimates *out)
{
    run_rate(s, COUNT_NONE, out);
}

void tool_duration(const struct scope *s, struct estimates *out)
{
    struct duration d = duration_of(s);
    if (d.s > 0)
        push(out, d.s, d.i, NULL);
}

/* Sum of the requests' times over the duration. */
void tool_concurrency(const struct scope *s, struct estimates *out)
{
    struct interval sum = {0, 0};
    double value = 0;
    struct duration d = duration_of(s);
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = nth(s, i);
        if (!formula_counts(s, r))
            continue;
        value += seconds(formula_when(r, AT_END) - r->t0);
        sum = interval_add(sum, formula_span(s, r->t0, formula_when(r, AT_END)));
    }
    sum.lo = fmax(sum.lo, 0);
    if (d.s > 0)
        push(out, value / d.s, interval_div(sum, d.i), NULL);
}

/* Windows, times from t0 to the last text, and tokens of all requests added up. */
struct sums {
    double tokens, window, whole, later;
    int64_t first, last, begin, end;
    size_t n;
};

static struct sums sums_of(const struct scope *s)
{
    struct sums x = {.first = -1, .last = -1, .begin = -1, .end = -1};
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = nth(s, i);
        int64_t o1 = formula_when(r, AT_O1), om = formula_when(r, AT_OM);
        double n = formula_count(r, COUNT_N);
        if (!timed(s, r) || o1 < 0 || isnan(n))
            continue;
        x.tokens += n;
        x.window += seconds(om - o1);
        x.whole += seconds(om - r->t0);
        x.later += seconds(s->o->vantage_ns);
        x.first = x.first < 0 || o1 < x.first ? o1 : x.first;
        x.last = om > x.last ? om : x.last;
        x.begin = x.begin < 0 || r->t0 < x.begin ? r->t0 : x.begin;
        x.end = formula_when(r, AT_END) > x.end ? formula_when(r, AT_END) : x.end;
        x.n++;
    }
    return x;
}

static void push_sum(struct estimates *out, double time, double later, double n)
{
    struct interval i = interval_around(time, later);
    i.lo = fmax(i.lo, 0);
    if (n > 0)
        push(out, time / n, interval_scale(i, 1 / n), NULL);
}

/* Each request's time per token, weighted by its tokens less one. The sum that GuideLLM states is
 * that mean times all the weights. */
void tool_weighted_itl(const struct scope *s, struct estimates *out)
{
    struct sums x = sums_of(s);
    push_sum(out, x.window, x.later, s->stat == STAT_SUM ? 1 : x.tokens - (double)x.n);
}

/* The same from t0, by all tokens. */
void tool_weighted_tpot(const struct scope *s, struct estimates *out)
{
    struct sums x = sums_of(s);
    push_sum(out, x.whole, x.later, s->stat == STAT_SUM ? 1 : x.tokens);
}

static void over_window(const struct scope *s, struct sums x, double n, struct estimates *out)
{
    double d = seconds(x.last - x.first), v = seconds(s->o->vantage_ns);
    if (n > 0 && d > 0)
        push(out, n / d, interval_div(interval_exact(n), (struct interval){fmax(d - v, 0), d + v}),
             NULL);
}

/* From the first token of all to the last one. */
void tool_guidellm_output_tps(const struct scope *s, struct estimates *out)
{
    struct sums x = sums_of(s);
    over_window(s, x, x.tokens, out);
}

/* Since 0.8 from the first start to the last end. */
void tool_guidellm_window_tps(const struct scope *s, struct estimates *out)
{
    struct sums x = sums_of(s);
    x.first = x.begin;
    x.last = x.end;
    over_window(s, x, x.tokens, out);
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
    [TEXT_USER_TPS] =
        BY_TEXT("(N-1)/(o_M-o_1)", SHAPE_RATE, COUNT_TEXT | COUNT_LESS_ONE, AT_O1, AT_OM),
    [TEXT_NTPOT] = BY_TEXT("(z-t0)/N", SHAPE_PER, COUNT_TEXT, AT_T0, AT_Z),
    [TEXT_WHOLE_TPS] = BY_TEXT("N/(o_M-t0)", SHAPE_RATE, COUNT_TEXT, AT_T0, AT_OM),
    [TEXT_END_TPS] = BY_TEXT("N/(z-t0)", SHAPE_RATE, COUNT_TEXT, AT_T0, AT_Z),
    [TEXT_OUTPUT_TPS] = {"sum(N)/T" COUNTED,
                         {"sum(N)/T" COUNTED, SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true,
                          tool_text_tps},
                         -1,
                         "the text was not counted (--tokenizer)"},
};
