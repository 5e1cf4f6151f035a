/* The rules, one function each. What a figure is by its printed digits is an interval; a rule
 * speaks where no values within them fit together. Definitions: peers-and-formats.md 2.1 and 2.2.
 */
#include "analyze/contradictions.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/claims.h"
#include "analyze/finding_kinds.h"

#define CLOCKS 1e-3 /* between two times of one tool's own clock, a share */
#define DIGITS "; each printed figure counts as exact to half a unit of its last digit"

enum { POINTS_MOST = 64 };

struct check {
    struct audit *a;
    const struct file_summary *s;
};

typedef const struct file_figure *figure;

static figure get(const struct check *k, enum figure_id id, enum file_stat stat)
{
    return file_find(k->s, id, stat);
}

static bool is_tool(const struct check *k, const struct tool *t)
{
    return k->s->tool == t;
}

static const char *value(const struct check *k, enum figure_id id, double v)
{
    static const enum dimension dimensions[FIGURES] = {[F_TTFR] = DIM_TIME,
                                                       [F_TTFT] = DIM_TIME,
                                                       [F_TTST] = DIM_TIME,
                                                       [F_LATENCY] = DIM_TIME,
                                                       [F_TPOT] = DIM_TIME,
                                                       [F_NTPOT] = DIM_TIME,
                                                       [F_GAP] = DIM_TIME,
                                                       [F_USER_TPS] = DIM_TOKEN_RATE,
                                                       [F_WHOLE_TPS] = DIM_TOKEN_RATE,
                                                       [F_INPUT] = DIM_TOKENS,
                                                       [F_OUTPUT] = DIM_TOKENS,
                                                       [F_TOTAL] = DIM_TOKENS,
                                                       [F_OUTPUT_TPS] = DIM_TOKEN_RATE,
                                                       [F_INPUT_TPS] = DIM_TOKEN_RATE,
                                                       [F_TOTAL_TPS] = DIM_TOKEN_RATE,
                                                       [F_REQUEST_TPS] = DIM_REQUEST_RATE,
                                                       [F_GOODPUT] = DIM_REQUEST_RATE,
                                                       [F_PEAK_TPS] = DIM_TOKEN_RATE,
                                                       [F_CONCURRENCY] = DIM_COUNT,
                                                       [F_PEAK_CONCURRENCY] = DIM_COUNT,
                                                       [F_CAP] = DIM_COUNT,
                                                       [F_DURATION] = DIM_TIME,
                                                       [F_REQUESTED] = DIM_COUNT,
                                                       [F_COMPLETED] = DIM_COUNT,
                                                       [F_FAILED] = DIM_COUNT,
                                                       [F_GOOD] = DIM_COUNT,
                                                       [F_INPUT_SUM] = DIM_TOKENS,
                                                       [F_OUTPUT_SUM] = DIM_TOKENS};
    char text[64];
    return audit_printf(k->a, "%s", claim_value_text(dimensions[id], v, text));
}

/* "time to the first token, p90 (1.2 s)" */
static const char *named(const struct check *k, figure f)
{
    char stat[16];
    const char *v = value(k, f->id, f->v);
    if (f->stat == FILE_VALUE || f->stat == FILE_SUM)
        return audit_printf(k->a, "%s (%s)", figure_words(f->id), v);
    return audit_printf(k->a, "%s, %s (%s)", figure_words(f->id), file_stat_text(f, stat), v);
}

static struct claim *claim_of(const struct check *k, figure f)
{
    return f != NULL && f->claim > 0 ? &k->a->claims.v[f->claim - 1] : NULL;
}

static void say(const struct check *k, figure f, enum verdict v, const char *text)
{
    struct claim *c = k->a->traces.n == 0 ? claim_of(k, f) : NULL;
    if (c != NULL) {
        bool before = c->verdict == VERDICT_DIFFERS || c->verdict == VERDICT_IMPOSSIBLE;
        c->reason = before ? audit_printf(k->a, "%s; and %s", c->reason, text) : text;
        if (c->verdict != VERDICT_IMPOSSIBLE)
            c->verdict = v;
        c->unopposed = false;
        return;
    }
    const char *tool = k->s->tool != NULL ? k->s->tool->title : "claims";
    const char *where = k->s->nth > 1 ? audit_printf(k->a, ", object %zu", k->s->nth) : "";
    const struct finding_kind *kind =
        &finding_kinds[v == VERDICT_IMPOSSIBLE ? FINDING_CLAIMS_IMPOSSIBLE
                                               : FINDING_CLAIMS_CONTRADICTION];
    struct finding x = {.id = kind->id, .title = kind->title, .severity = kind->severity};
    x.detail = audit_printf(k->a, "%s%s (%s): %s", k->s->file, where, tool, text);
    VEC_PUSH(&k->a->findings, x);
}

/* --- order ------------------------------------------------------------------------------------ */

static double place(figure f)
{
    return f->stat == FILE_MIN ? 0 : f->stat == FILE_MAX ? 1 : f->q;
}

static int by_place(const void *a, const void *b)
{
    double x = place(*(const figure *)a), y = place(*(const figure *)b);
    return (x > y) - (x < y);
}

/* Min, quantiles and max of a figure, in order; returns how many. */
static size_t points(const struct check *k, enum figure_id id, figure out[POINTS_MOST])
{
    size_t n = 0;
    for (size_t i = 0; i < k->s->figures.n && n < POINTS_MOST; i++) {
        figure f = &k->s->figures.v[i];
        if (f->id == id && (f->stat == FILE_MIN || f->stat == FILE_MAX || f->stat == FILE_QUANTILE))
            out[n++] = f;
    }
    if (n > 0)
        qsort(out, n, sizeof *out, by_place);
    return n;
}

static void check_order(const struct check *k, enum figure_id id)
{
    figure p[POINTS_MOST];
    size_t n = points(k, id, p);
    for (size_t i = 1; i < n; i++) {
        if (place(p[i - 1]) < place(p[i]) && interval_below(p[i]->i, p[i - 1]->i))
            say(k, p[i], VERDICT_IMPOSSIBLE,
                audit_printf(k->a, "%s is below %s: quantiles of one set cannot fall" DIGITS,
                             named(k, p[i]), named(k, p[i - 1])));
    }
    figure mean = get(k, id, FILE_MEAN), least = get(k, id, FILE_MIN), most = get(k, id, FILE_MAX);
    if (mean != NULL && least != NULL && interval_below(mean->i, least->i))
        say(k, mean, VERDICT_IMPOSSIBLE,
            audit_printf(k->a, "%s is below %s" DIGITS, named(k, mean), named(k, least)));
    if (mean != NULL && most != NULL && interval_below(most->i, mean->i))
        say(k, mean, VERDICT_IMPOSSIBLE,
            audit_printf(k->a, "%s is above %s" DIGITS, named(k, mean), named(k, most)));
}

/* What is part of another time in each request cannot be above it in any statistic. */
static void check_part(const struct check *k, enum figure_id part, enum figure_id whole)
{
    for (size_t i = 0; i < k->s->figures.n; i++) {
        figure f = &k->s->figures.v[i];
        if (f->id != part || f->stat == FILE_STD || f->stat == FILE_VALUE)
            continue;
        for (size_t j = 0; j < k->s->figures.n; j++) {
            figure g = &k->s->figures.v[j];
            if (g->id == whole && g->stat == f->stat &&
                (f->stat != FILE_QUANTILE || f->q == g->q) && interval_below(g->i, f->i))
                say(k, f, VERDICT_IMPOSSIBLE,
                    audit_printf(k->a,
                                 "%s is above %s, of which it is a part in every request" DIGITS,
                                 named(k, f), named(k, g)));
        }
    }
}

/* --- counts ----------------------------------------------------------------------------------- */

static void check_above(const struct check *k, figure f, figure limit, const char *why)
{
    if (f != NULL && limit != NULL && interval_below(limit->i, f->i))
        say(k, f, VERDICT_IMPOSSIBLE,
            audit_printf(k->a, "%s is above %s: %s", named(k, f), named(k, limit), why));
}

static void check_counts(const struct check *k)
{
    figure sent = get(k, F_REQUESTED, FILE_VALUE), done = get(k, F_COMPLETED, FILE_VALUE);
    figure failed = get(k, F_FAILED, FILE_VALUE);
    check_above(k, done, sent, "more were completed than were sent");
    check_above(k, get(k, F_GOOD, FILE_VALUE), done, "more were good than were completed");
    check_above(k, get(k, F_GOODPUT, FILE_VALUE), get(k, F_REQUEST_TPS, FILE_VALUE),
                "good requests are some of all requests");
    check_above(k, get(k, F_CONCURRENCY, FILE_VALUE), get(k, F_CAP, FILE_VALUE),
                "no more than that were allowed at a time");
    if (sent != NULL && done != NULL && failed != NULL && done->v <= sent->v &&
        done->v + failed->v > sent->v)
        say(k, failed, VERDICT_IMPOSSIBLE,
            audit_printf(k->a, "%s and %s make %g, and %g were sent", named(k, done),
                         named(k, failed), done->v + failed->v, sent->v));
}

/* --- rates ------------------------------------------------------------------------------------ */

static struct interval times(struct interval a, struct interval b)
{
    return (struct interval){a.lo * b.lo * (1 - 1e-9), a.hi * b.hi * (1 + 1e-9)};
}

/* AIPerf 0.13 takes rates over a window that goes on for a moment behind the duration that it
 * states. */
#define WINDOW_LATE_S 1.0

/* rate * duration against what there was in all; over: only more than that is wrong. */
static void check_product(const struct check *k, figure rate, struct interval total,
                          const char *what, bool over)
{
    figure t = get(k, F_DURATION, FILE_VALUE);
    if (rate == NULL || t == NULL || !interval_known(total) || t->i.lo < 0 || rate->i.lo < 0)
        return;
    struct interval made = times(rate->i, t->i), longer = t->i;
    longer.hi += is_tool(k, &tool_aiperf) ? WINDOW_LATE_S : 0;
    if (interval_meets(times(rate->i, longer), total) || (over && made.hi < total.lo))
        return;
    say(k, rate, made.lo > total.hi ? VERDICT_IMPOSSIBLE : VERDICT_DIFFERS,
        audit_printf(k->a, "%s times %s makes %.6g, and the file has %s, %.6g" DIGITS,
                     named(k, rate), named(k, t), rate->v * t->v, what, (total.lo + total.hi) / 2));
}

static struct interval of(figure f)
{
    return f != NULL ? f->i : interval_unknown();
}

/* All tokens: stated, or mean by number. */
static struct interval all_tokens(const struct check *k, enum figure_id sum, enum figure_id each)
{
    figure f = get(k, sum, FILE_SUM), mean = get(k, each, FILE_MEAN);
    figure n = get(k, F_COMPLETED, FILE_VALUE);
    if (f != NULL)
        return f->i;
    return mean != NULL && n != NULL ? times(mean->i, n->i) : interval_unknown();
}

static void check_rates(const struct check *k)
{
    bool aiperf = is_tool(k, &tool_aiperf);
    if (!aiperf && !is_tool(k, &tool_vllm) && !is_tool(k, &tool_sglang))
        return;
    struct interval in = all_tokens(k, F_INPUT_SUM, F_INPUT);
    struct interval out = all_tokens(k, F_OUTPUT_SUM, F_OUTPUT);
    check_product(k, get(k, F_REQUEST_TPS, FILE_VALUE), of(get(k, F_COMPLETED, FILE_VALUE)),
                  "completed requests", false);
    check_product(k, get(k, F_OUTPUT_TPS, FILE_VALUE), out, "output tokens", aiperf);
    check_product(k, get(k, F_INPUT_TPS, FILE_VALUE), in, "input tokens", false);
    check_product(k, get(k, F_TOTAL_TPS, FILE_VALUE), interval_add(in, out),
                  "input and output tokens", aiperf);
}

/* Tokens per second over requests per second are tokens per request. */
static void check_ratio(const struct check *k)
{
    figure rate = get(k, F_OUTPUT_TPS, FILE_VALUE), requests = get(k, F_REQUEST_TPS, FILE_VALUE);
    figure mean = get(k, F_OUTPUT, FILE_MEAN);
    bool over = is_tool(k, &tool_genai_perf) || is_tool(k, &tool_aiperf);
    if (rate == NULL || requests == NULL || mean == NULL ||
        (!over && !is_tool(k, &tool_inference_perf)))
        return;
    struct interval made = times(requests->i, mean->i);
    if (interval_meets(made, rate->i) || (over && rate->i.hi < made.lo))
        return;
    say(k, rate, rate->i.lo > made.hi ? VERDICT_IMPOSSIBLE : VERDICT_DIFFERS,
        audit_printf(k->a, "%s times %s makes %.6g tok/s, and %s is stated" DIGITS,
                     named(k, requests), named(k, mean), requests->v * mean->v, named(k, rate)));
}

static void check_total(const struct check *k)
{
    figure in = get(k, F_INPUT_TPS, FILE_VALUE), out = get(k, F_OUTPUT_TPS, FILE_VALUE);
    figure total = get(k, F_TOTAL_TPS, FILE_VALUE);
    if (in == NULL || out == NULL || total == NULL)
        return;
    struct interval sum = interval_add(in->i, out->i);
    if (!interval_meets(times(sum, interval_exact(1)), total->i))
        say(k, total, VERDICT_DIFFERS,
            audit_printf(k->a, "%s and %s make %.6g tok/s, and %s is stated" DIGITS, named(k, in),
                         named(k, out), in->v + out->v, named(k, total)));
}

/* Seconds that cover a run hold all of its tokens between them, so the best of them has its share.
 */
static void check_peak(const struct check *k)
{
    figure peak = get(k, F_PEAK_TPS, FILE_VALUE), mean = get(k, F_OUTPUT_TPS, FILE_VALUE);
    figure t = get(k, F_DURATION, FILE_VALUE);
    if (peak == NULL || mean == NULL)
        return;
    if (t == NULL) {
        if (is_tool(k, &tool_llama_benchy) && peak->i.hi < mean->i.lo / 2)
            say(k, peak, VERDICT_IMPOSSIBLE,
                audit_printf(k->a,
                             "%s is below half of %s: the best second of a burst has at least half "
                             "of its mean rate" DIGITS,
                             named(k, peak), named(k, mean)));
        return;
    }
    double seconds = ceil(t->i.hi) + 1, tokens = mean->i.lo * t->i.lo;
    if (tokens > 0 && peak->i.hi * seconds < tokens)
        say(k, peak, VERDICT_IMPOSSIBLE,
            audit_printf(
                k->a,
                "%s is below the mean: %g seconds of no more than that hold %.6g tokens, and "
                "%s over %s are %.6g%s" DIGITS,
                named(k, peak), seconds, peak->v * seconds, named(k, mean), named(k, t),
                mean->v * t->v,
                is_tool(k, &tool_vllm) || is_tool(k, &tool_sglang)
                    ? "; the tool counts events here, and an event may hold several tokens"
                    : ""));
}

/* --- Little's law ----------------------------------------------------------------------------- */

static void check_little(const struct check *k)
{
    figure rate = get(k, F_REQUEST_TPS, FILE_VALUE), latency = get(k, F_LATENCY, FILE_MEAN);
    figure cap = get(k, F_CAP, FILE_VALUE), stated = get(k, F_CONCURRENCY, FILE_VALUE);
    if (rate == NULL || latency == NULL || rate->i.lo < 0 || latency->i.lo < 0)
        return;
    struct interval busy = times(rate->i, latency->i);
    const char *sum = audit_printf(k->a, "%s times %s makes %.4g requests under way on average",
                                   named(k, rate), named(k, latency), rate->v * latency->v);
    if (is_tool(k, &tool_sglang) && stated != NULL &&
        !interval_meets(stated->i, interval_scale(busy, 1)) &&
        fabs(stated->v - rate->v * latency->v) > CLOCKS * stated->v)
        say(k, stated, VERDICT_DIFFERS,
            audit_printf(k->a, "%s (Little's law), and %s is stated" DIGITS, sum,
                         named(k, stated)));
    bool capped = is_tool(k, &tool_vllm) || is_tool(k, &tool_sglang) || is_tool(k, &tool_llmperf);
    if (capped && cap != NULL && cap->v > 0 && busy.lo > cap->i.hi * (1 + CLOCKS))
        say(k, latency, VERDICT_IMPOSSIBLE,
            audit_printf(k->a,
                         "%s (Little's law), and no more than %g were allowed at a time; 0.1 %% is "
                         "allowed for" DIGITS,
                         sum, cap->v));
}

/* --- time per token --------------------------------------------------------------------------- */

/* An upper bound of the standard deviation about the mean m: as stated, else from min, max and the
 * quantiles between them; infinite where they are not all there. */
static double most_std(const struct check *k, enum figure_id id, double m)
{
    figure std = get(k, id, FILE_STD), p[POINTS_MOST], count = get(k, F_COMPLETED, FILE_VALUE);
    if (std != NULL)
        return std->i.hi;
    size_t n = points(k, id, p);
    if (n < 2 || place(p[0]) > 0 || place(p[n - 1]) < 1)
        return INFINITY;
    double least = p[0]->i.lo, most = p[n - 1]->i.hi;
    double var = fmax(most - m, 0) * fmax(m - least, 0); /* Bhatia and Davis */
    double bins = 0;
    if (count == NULL || count->v < 1)
        return sqrt(var);
    for (size_t i = 1; i < n; i++) {
        double d = fmax(fabs(p[i - 1]->i.lo - m), fabs(p[i]->i.hi - m));
        bins += (place(p[i]) - place(p[i - 1]) + 2 / count->v) * d * d;
    }
    return sqrt(fmin(var, bins));
}

struct per_token {
    struct interval implied;
    double allowed; /* how far a mean of ratios may be from the ratio of means */
    bool assumed;   /* that bound is not from the file alone */
    const char *sum;
};

static bool imply(const struct check *k, figure tpot, struct per_token *x)
{
    figure latency = get(k, F_LATENCY, FILE_MEAN), ttft = get(k, F_TTFT, FILE_MEAN);
    figure n = get(k, F_OUTPUT, FILE_MEAN), all = get(k, F_OUTPUT_SUM, FILE_SUM);
    figure done = get(k, F_COMPLETED, FILE_VALUE);
    struct interval tokens = of(n);
    if (n == NULL && all != NULL && done != NULL && done->v > 0)
        tokens = interval_div(all->i, done->i);
    if (latency == NULL || ttft == NULL || !interval_known(tokens) || tokens.lo <= 1)
        return false;
    struct interval window = interval_sub(latency->i, ttft->i);
    struct interval later = interval_sub(tokens, interval_exact(1));
    if (window.lo <= 0 || tpot->v <= 0)
        return false;
    x->implied = interval_div(window, later);
    double mean = (later.lo + later.hi) / 2;
    double std_t = most_std(k, tpot->id, tpot->v), std_n = most_std(k, F_OUTPUT, mean + 1);
    x->assumed = isinf(std_t) || isinf(std_n);
    x->allowed = (isinf(std_t) ? tpot->v : std_t) * (isinf(std_n) ? 1 : std_n / mean);
    char v[64];
    claim_value_text(DIM_TIME, (x->implied.lo + x->implied.hi) / 2, v);
    x->sum = audit_printf(k->a, "(%s - %s) / (%.6g tokens - 1) is %s", named(k, latency),
                          named(k, ttft), mean + 1, v);
    return true;
}

static const char *allowance(const struct check *k, const struct per_token *x, const char *more)
{
    char v[64];
    return audit_printf(
        k->a, "different lengths and speeds explain a difference of at most %s%s%s",
        claim_value_text(DIM_TIME, x->allowed, v),
        x->assumed ? ", even if each varied so much that its standard deviation were its mean" : "",
        more);
}

static void check_tpot(const struct check *k)
{
    figure tpot = get(k, F_TPOT, FILE_MEAN);
    struct per_token x;
    bool low_only = is_tool(k, &tool_aiperf), high_only = is_tool(k, &tool_guidellm);
    bool tail = is_tool(k, &tool_inference_perf);
    bool both = is_tool(k, &tool_vllm) || is_tool(k, &tool_sglang) || is_tool(k, &tool_genai_perf);
    if (tpot == NULL || !(low_only || high_only || tail || both) || !imply(k, tpot, &x))
        return;
    if (high_only) /* it weights by tokens itself: nothing is left to explain */
        x.allowed = 0, x.assumed = false;
    double lo = x.implied.lo * (tail ? 0.9 : 1) - x.allowed, hi = x.implied.hi + x.allowed;
    bool low = !high_only && tpot->i.hi < lo, high = !low_only && tpot->i.lo > hi;
    if (!low && !high)
        return;
    say(k, tpot, x.assumed ? VERDICT_DIFFERS : VERDICT_IMPOSSIBLE,
        audit_printf(
            k->a, "%s, and %s: %s" DIGITS, named(k, tpot), x.sum,
            allowance(k, &x,
                      tail ? ", and a tenth of each request may lie behind its last token" : "")));
}

/* GuideLLM's time per output token is the latency over all tokens. */
static void check_ntpot(const struct check *k)
{
    figure ntpot = get(k, F_NTPOT, FILE_MEAN), latency = get(k, F_LATENCY, FILE_MEAN);
    figure n = get(k, F_OUTPUT, FILE_MEAN);
    if (ntpot == NULL || latency == NULL || n == NULL || n->i.lo <= 0 ||
        !(is_tool(k, &tool_guidellm) || is_tool(k, &tool_inference_perf)))
        return;
    struct interval implied = interval_div(latency->i, n->i);
    double std_t = most_std(k, F_NTPOT, ntpot->v), std_n = most_std(k, F_OUTPUT, n->v);
    if (isinf(std_t) || isinf(std_n) || ntpot->i.lo <= implied.hi + std_t * std_n / n->v)
        return;
    say(k, ntpot, VERDICT_IMPOSSIBLE,
        audit_printf(
            k->a,
            "%s times %s makes more than %s; different lengths and speeds explain at most %s "
            "a token" DIGITS,
            named(k, ntpot), named(k, n), named(k, latency),
            value(k, F_NTPOT, std_t * std_n / n->v)));
}

/* --- rows ------------------------------------------------------------------------------------- */

static void say_fault(const struct check *k, const struct row_fault *f, const char *what,
                      enum figure_id id)
{
    if (f->n > 0)
        say(k, NULL, VERDICT_IMPOSSIBLE,
            audit_printf(k->a,
                         "in %" PRIu64 " of %" PRIu64 " rows %s; in row %" PRIu64
                         ", the first, %s against %s",
                         f->n, k->s->rows_seen, what, f->first, value(k, id, f->a),
                         value(k, id, f->b)));
}

/* A detailed file's own arrays against its totals. */
static void check_rows(const struct check *k)
{
    const struct file_summary *s = k->s;
    say_fault(k, &s->ttft_above, "the time to the first token is above the latency", F_TTFT);
    say_fault(k, &s->total_off, "the total is not input and output tokens", F_TOTAL);
    say_fault(
        k, &s->tpot_off,
        "the time per output token is below (latency - time to the first token) / (tokens - 1)",
        F_TPOT);
    if (s->tool == NULL || s->tool->row_object != NULL || s->rows.n == 0 || s->rows_left > 0)
        return;
    double output = 0, ttft = 0;
    size_t n = 0, with_output = 0;
    for (size_t i = 0; i < s->rows.n; i++) {
        const struct file_row *r = &s->rows.v[i];
        if (r->failed)
            continue;
        n++;
        with_output += r->output >= 0;
        output += r->output >= 0 ? (double)r->output : 0;
        ttft += r->ttft;
    }
    figure total = get(k, F_OUTPUT_SUM, FILE_SUM), done = get(k, F_COMPLETED, FILE_VALUE);
    figure mean = get(k, F_TTFT, FILE_MEAN);
    if (done != NULL && done->v != (double)n)
        return; /* errors may not have been kept: nothing can be added up */
    if (total != NULL && with_output == n && n > 0 &&
        !interval_meets(total->i, interval_exact(output)))
        say(k, total, VERDICT_DIFFERS,
            audit_printf(k->a, "%s, and the file's own rows add up to %.0f", named(k, total),
                         output));
    if (mean != NULL && n > 0 && !isnan(ttft) &&
        fabs(ttft / (double)n - mean->v) > 1e-4 * mean->v + (mean->i.hi - mean->i.lo))
        say(k, mean, VERDICT_DIFFERS,
            audit_printf(k->a,
                         "%s, and the mean of the file's own rows is %s; 0.01 %% is allowed for",
                         named(k, mean), value(k, F_TTFT, ttft / (double)n)));
}

/* --- all -------------------------------------------------------------------------------------- */

static void check_all(const struct check *k)
{
    for (enum figure_id id = F_TTFR; id <= F_TOTAL; id++)
        check_order(k, id);
    check_part(k, F_TTFT, F_LATENCY);
    if (is_tool(k, &tool_llama_benchy))
        check_part(k, F_TTFR, F_TTFT);
    check_counts(k);
    check_rates(k);
    check_ratio(k);
    check_total(k);
    check_peak(k);
    check_little(k);
    check_tpot(k);
    check_ntpot(k);
    check_rows(k);
}

static bool as_figure(const struct claim *c, struct file_figure *f)
{
    static const struct {
        const char *name;
        enum file_stat stat;
        double q;
    } stats[] = {
        {"mean", FILE_MEAN, NAN},     {"min", FILE_MIN, NAN},       {"max", FILE_MAX, NAN},
        {"sum", FILE_SUM, NAN},       {"p50", FILE_QUANTILE, 0.5},  {"p90", FILE_QUANTILE, 0.9},
        {"p95", FILE_QUANTILE, 0.95}, {"p99", FILE_QUANTILE, 0.99}, {"value", FILE_VALUE, NAN}};
    enum figure_id id = figure_of_claim(c->metric);
    *f = (struct file_figure){.id = id,
                              .v = c->claimed,
                              .i = c->claimed_interval,
                              .path = c->metric,
                              .text = c->claimed_text};
    for (size_t i = 0; i < sizeof stats / sizeof *stats; i++) {
        if (strcmp(stats[i].name, c->stat) == 0) {
            f->stat = stats[i].stat;
            f->q = stats[i].q;
        }
    }
    return id != F_NONE && c->request == 0 && strcmp(c->metric, "rate") != 0;
}

static bool is_twice(const struct file_summary *s, const struct file_figure *f)
{
    for (size_t i = 0; i < s->figures.n; i++) {
        const struct file_figure *g = &s->figures.v[i];
        if (g->id == f->id && g->stat == f->stat && (f->stat != FILE_QUANTILE || g->q == f->q))
            return true;
    }
    return false;
}

/* Claims of our own form, of one file, scope and tool: what holds whatever the definitions. Where a
 * figure is there twice they are of several runs. */
static void check_own(struct audit *a)
{
    for (size_t i = 0, end; i < a->claims.n; i = end) {
        const struct claim *first = &a->claims.v[i];
        struct file_summary s = {.file = first->file};
        struct file_figure f;
        bool one_run = s.file != NULL;
        for (end = i; end < a->claims.n && model_same_text(a->claims.v[end].file, s.file) &&
                      model_same_text(a->claims.v[end].tool, first->tool);
             end++) {
            if (!as_figure(&a->claims.v[end], &f) || s.figures.n >= POINTS_MOST)
                continue;
            f.claim = end + 1;
            one_run &= !is_twice(&s, &f);
            VEC_PUSH(&s.figures, f);
        }
        struct check k = {a, &s};
        for (enum figure_id id = F_TTFR; id <= F_TOTAL && one_run; id++)
            check_order(&k, id);
        if (one_run)
            check_part(&k, F_TTFT, F_LATENCY);
        VEC_FREE(&s.figures);
    }
}

void contradictions_find(const struct claim_files *fs, struct audit *a)
{
    bool own = true;
    for (size_t i = 0; i < fs->summaries.n; i++) {
        struct check k = {a, &fs->summaries.v[i]};
        check_all(&k);
        own = false;
    }
    if (own)
        check_own(a);
}
