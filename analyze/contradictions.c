/* The rules, one function each. What a figure is by its printed digits is an interval; a rule
 * speaks where no values within them fit together. Definitions: peers-and-formats.md 2.1 and 2.2.
 */
#include "analyze/contradictions.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/claims.h"
#include "analyze/contradictions_check.h"
#include "analyze/finding_kinds.h"

figure check_get(const struct check *k, enum figure_id id, enum file_stat stat)
{
    return file_find(k->s, id, stat);
}

bool check_is_tool(const struct check *k, const struct tool *t)
{
    return k->s->tool == t;
}

const char *check_value(const struct check *k, enum figure_id id, double v)
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
                                                       [F_CANCELLED] = DIM_COUNT,
                                                       [F_GOOD] = DIM_COUNT,
                                                       [F_INPUT_SUM] = DIM_TOKENS,
                                                       [F_OUTPUT_SUM] = DIM_TOKENS};
    char text[64];
    return audit_printf(k->a, "%s", claim_value_text(dimensions[id], v, text));
}

/* "time to the first token, p90 (1.2 s)" */
const char *check_named(const struct check *k, figure f)
{
    char stat[16];
    const char *v = check_value(k, f->id, f->v);
    if (f->stat == FILE_VALUE || f->stat == FILE_SUM)
        return audit_printf(k->a, "%s (%s)", figure_words(f->id), v);
    return audit_printf(k->a, "%s, %s (%s)", figure_words(f->id), file_stat_text(f, stat), v);
}

static struct claim *claim_of(const struct check *k, figure f)
{
    return f != NULL && f->claim > 0 ? &k->a->claims.v[f->claim - 1] : NULL;
}

void check_say(const struct check *k, figure f, enum verdict v, const char *text)
{
    struct claim *c = claim_of(k, f);
    bool traced = k->a->traces.n > 0;
    if (traced && c != NULL && c->verdict == VERDICT_CONFIRMED && v == VERDICT_DIFFERS)
        return; /* the bytes know better than what had to be assumed */
    if (!traced && c != NULL) {
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

double check_place(figure f)
{
    return f->stat == FILE_MIN ? 0 : f->stat == FILE_MAX ? 1 : f->q;
}

static int by_place(const void *a, const void *b)
{
    double x = check_place(*(const figure *)a), y = check_place(*(const figure *)b);
    return (x > y) - (x < y);
}

/* Min, quantiles and max of a figure, in order; returns how many. */
size_t check_points(const struct check *k, enum figure_id id, figure out[CHECK_POINTS_MOST])
{
    size_t n = 0;
    for (size_t i = 0; i < k->s->figures.n && n < CHECK_POINTS_MOST; i++) {
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
    figure p[CHECK_POINTS_MOST];
    size_t n = check_points(k, id, p);
    for (size_t i = 1; i < n; i++) {
        if (check_place(p[i - 1]) < check_place(p[i]) && interval_below(p[i]->i, p[i - 1]->i))
            check_say(k, p[i], VERDICT_IMPOSSIBLE,
                      audit_printf(k->a,
                                   "%s is below %s: quantiles of one set cannot fall" CHECK_DIGITS,
                                   check_named(k, p[i]), check_named(k, p[i - 1])));
    }
    figure mean = check_get(k, id, FILE_MEAN), least = check_get(k, id, FILE_MIN),
           most = check_get(k, id, FILE_MAX);
    if (mean != NULL && least != NULL && interval_below(mean->i, least->i))
        check_say(k, mean, VERDICT_IMPOSSIBLE,
                  audit_printf(k->a, "%s is below %s" CHECK_DIGITS, check_named(k, mean),
                               check_named(k, least)));
    if (mean != NULL && most != NULL && interval_below(most->i, mean->i))
        check_say(k, mean, VERDICT_IMPOSSIBLE,
                  audit_printf(k->a, "%s is above %s" CHECK_DIGITS, check_named(k, mean),
                               check_named(k, most)));
}

double check_values(const struct check *k, enum figure_id id)
{
    figure done = check_get(k, F_COMPLETED, FILE_VALUE);
    bool some =
        id == F_TPOT || id == F_GAP || id == F_USER_TPS || id == F_TTST; /* not of one token */
    if (k->s->values[id] > 0)
        return (double)k->s->values[id];
    return !some && done != NULL && done->v >= 1 ? done->v : 0;
}

bool check_same_set(const struct check *k, enum figure_id a, enum figure_id b)
{
    uint64_t n = k->s->values[a], m = k->s->values[b];
    return n == 0 || m == 0 || n == m;
}

/* What is part of another time in each request cannot be above it in any statistic. */
static void check_part(const struct check *k, enum figure_id part, enum figure_id whole)
{
    uint64_t some = k->s->values[part], all = k->s->values[whole];
    bool same = check_same_set(k, part, whole);
    if (!same && some > all)
        return;
    for (size_t i = 0; i < k->s->figures.n; i++) {
        figure f = &k->s->figures.v[i];
        bool of_some = f->stat == FILE_MAX || f->stat == FILE_SUM; /* of some of them too */
        if (f->id != part || f->stat == FILE_STD || f->stat == FILE_VALUE || (!same && !of_some))
            continue;
        for (size_t j = 0; j < k->s->figures.n; j++) {
            figure g = &k->s->figures.v[j];
            if (g->id == whole && g->stat == f->stat &&
                (f->stat != FILE_QUANTILE || f->q == g->q) && interval_below(g->i, f->i))
                check_say(k, f, VERDICT_IMPOSSIBLE,
                          audit_printf(
                              k->a,
                              "%s is above %s, of which it is a part in every request" CHECK_DIGITS,
                              check_named(k, f), check_named(k, g)));
        }
    }
}

/* --- counts ----------------------------------------------------------------------------------- */

static void check_above(const struct check *k, figure f, figure limit, const char *why)
{
    if (f != NULL && limit != NULL && interval_below(limit->i, f->i))
        check_say(k, f, VERDICT_IMPOSSIBLE,
                  audit_printf(k->a, "%s is above %s: %s", check_named(k, f), check_named(k, limit),
                               why));
}

/* Requests under way at one time are some of those that were sent: as stated, as completed and
 * failed, whichever is more. No cap bounds them: older versions count those that touch one second.
 */
static void check_peak_requests(const struct check *k, figure sent, figure done, figure failed)
{
    figure peak = check_get(k, F_PEAK_CONCURRENCY, FILE_VALUE);
    double n = done != NULL ? done->v + (failed != NULL ? failed->v : 0) : 0;
    bool known = (sent != NULL && sent->v > 0) || (done != NULL && failed != NULL);
    n = sent != NULL ? fmax(n, sent->v) : n;
    if (peak != NULL && known && peak->i.lo > n)
        check_say(k, peak, VERDICT_IMPOSSIBLE,
                  audit_printf(k->a, "%s is above %g, and no more requests were sent in all",
                               check_named(k, peak), n));
}

static void check_counts(const struct check *k)
{
    figure sent = check_get(k, F_REQUESTED, FILE_VALUE),
           done = check_get(k, F_COMPLETED, FILE_VALUE);
    figure failed = check_get(k, F_FAILED, FILE_VALUE);
    check_above(k, done, sent, "more were completed than were sent");
    check_above(k, check_get(k, F_GOOD, FILE_VALUE), done, "more were good than were completed");
    check_above(k, check_get(k, F_GOODPUT, FILE_VALUE), check_get(k, F_REQUEST_TPS, FILE_VALUE),
                "good requests are some of all requests");
    check_above(k, check_get(k, F_CONCURRENCY, FILE_VALUE), check_get(k, F_CAP, FILE_VALUE),
                "no more than that were allowed at a time");
    check_peak_requests(k, sent, done, failed);
    if (sent != NULL && done != NULL && failed != NULL && done->v <= sent->v &&
        done->v + failed->v > sent->v)
        check_say(k, failed, VERDICT_IMPOSSIBLE,
                  audit_printf(k->a, "%s and %s make %g, and %g were sent", check_named(k, done),
                               check_named(k, failed), done->v + failed->v, sent->v));
}

/* --- rates ------------------------------------------------------------------------------------ */

struct interval check_times(struct interval a, struct interval b)
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
    figure t = check_get(k, F_DURATION, FILE_VALUE);
    if (rate == NULL || t == NULL || !interval_known(total) || t->i.lo < 0 || rate->i.lo < 0)
        return;
    struct interval made = check_times(rate->i, t->i), longer = t->i;
    longer.hi += check_is_tool(k, &tool_aiperf) ? WINDOW_LATE_S : 0;
    if (interval_meets(check_times(rate->i, longer), total) || (over && made.hi < total.lo))
        return;
    check_say(k, rate, made.lo > total.hi ? VERDICT_IMPOSSIBLE : VERDICT_DIFFERS,
              audit_printf(k->a, "%s times %s makes %.6g, and the file has %s, %.6g" CHECK_DIGITS,
                           check_named(k, rate), check_named(k, t), rate->v * t->v, what,
                           (total.lo + total.hi) / 2));
}

struct interval check_of(figure f)
{
    return f != NULL ? f->i : interval_unknown();
}

/* All tokens: stated, or mean by number. */
static struct interval all_tokens(const struct check *k, enum figure_id sum, enum figure_id each)
{
    figure f = check_get(k, sum, FILE_SUM), mean = check_get(k, each, FILE_MEAN);
    double n = check_values(k, each);
    if (f != NULL)
        return f->i;
    return mean != NULL && n > 0 ? check_times(mean->i, interval_exact(n)) : interval_unknown();
}

static void check_rates(const struct check *k)
{
    bool aiperf = check_is_tool(k, &tool_aiperf);
    if (!aiperf && !check_is_tool(k, &tool_vllm) && !check_is_tool(k, &tool_sglang))
        return;
    struct interval in = all_tokens(k, F_INPUT_SUM, F_INPUT);
    struct interval out = all_tokens(k, F_OUTPUT_SUM, F_OUTPUT);
    check_product(k, check_get(k, F_REQUEST_TPS, FILE_VALUE),
                  check_of(check_get(k, F_COMPLETED, FILE_VALUE)), "completed requests", false);
    check_product(k, check_get(k, F_OUTPUT_TPS, FILE_VALUE), out, "output tokens", aiperf);
    check_product(k, check_get(k, F_INPUT_TPS, FILE_VALUE), in, "input tokens", false);
    check_product(k, check_get(k, F_TOTAL_TPS, FILE_VALUE), interval_add(in, out),
                  "input and output tokens", aiperf);
}

/* Tokens per second over requests per second are tokens per request. */
static void check_ratio(const struct check *k)
{
    figure rate = check_get(k, F_OUTPUT_TPS, FILE_VALUE),
           requests = check_get(k, F_REQUEST_TPS, FILE_VALUE);
    figure mean = check_get(k, F_OUTPUT, FILE_MEAN);
    bool over = check_is_tool(k, &tool_genai_perf) || check_is_tool(k, &tool_aiperf);
    figure done = check_get(k, F_COMPLETED, FILE_VALUE);
    if (rate == NULL || requests == NULL || mean == NULL ||
        (done != NULL && done->v != check_values(k, F_OUTPUT)) ||
        (!over && !check_is_tool(k, &tool_inference_perf) && !check_is_tool(k, &tool_llmperf)))
        return;
    struct interval made = check_times(requests->i, mean->i);
    if (interval_meets(made, rate->i) || (over && rate->i.hi < made.lo))
        return;
    check_say(k, rate, rate->i.lo > made.hi ? VERDICT_IMPOSSIBLE : VERDICT_DIFFERS,
              audit_printf(k->a, "%s times %s makes %.6g tok/s, and %s is stated" CHECK_DIGITS,
                           check_named(k, requests), check_named(k, mean), requests->v * mean->v,
                           check_named(k, rate)));
}

static void check_total(const struct check *k)
{
    figure in = check_get(k, F_INPUT_TPS, FILE_VALUE), out = check_get(k, F_OUTPUT_TPS, FILE_VALUE);
    figure total = check_get(k, F_TOTAL_TPS, FILE_VALUE);
    if (in == NULL || out == NULL || total == NULL)
        return;
    struct interval sum = interval_add(in->i, out->i);
    if (!interval_meets(check_times(sum, interval_exact(1)), total->i))
        check_say(k, total, VERDICT_DIFFERS,
                  audit_printf(k->a, "%s and %s make %.6g tok/s, and %s is stated" CHECK_DIGITS,
                               check_named(k, in), check_named(k, out), in->v + out->v,
                               check_named(k, total)));
}

/* As many tokens as an event may hold on average, where a peak is of events: a gap between events
 * over a time per token, with half as much again, since one mean is over gaps and the other over
 * requests. Infinite where the file does not say. */
static double tokens_an_event(const struct check *k)
{
    figure gap = check_get(k, F_GAP, FILE_MEAN), tpot = check_get(k, F_TPOT, FILE_MEAN);
    if (gap == NULL || tpot == NULL || !(tpot->i.lo > 0))
        return INFINITY;
    return 1.5 * fmax(1, gap->i.hi / tpot->i.lo);
}

/* Seconds that cover a run hold all of its tokens between them, so the best of them has its share.
 */
static void check_peak(const struct check *k)
{
    figure peak = check_get(k, F_PEAK_TPS, FILE_VALUE),
           mean = check_get(k, F_OUTPUT_TPS, FILE_VALUE);
    figure t = check_get(k, F_DURATION, FILE_VALUE);
    if (peak == NULL || mean == NULL)
        return;
    if (t == NULL) {
        if (check_is_tool(k, &tool_llama_benchy) && peak->i.hi < mean->i.lo / 2)
            check_say(
                k, peak, VERDICT_IMPOSSIBLE,
                audit_printf(k->a,
                             "%s is below half of %s: the best second of a burst has at least half "
                             "of its mean rate" CHECK_DIGITS,
                             check_named(k, peak), check_named(k, mean)));
        return;
    }
    double seconds = ceil(t->i.hi) + 1, tokens = mean->i.lo * t->i.lo;
    bool of_events = check_is_tool(k, &tool_vllm) || check_is_tool(k, &tool_sglang);
    double each = of_events ? tokens_an_event(k) : 1;
    if (tokens > 0 && peak->i.hi * seconds * each < tokens)
        check_say(
            k, peak, of_events ? VERDICT_DIFFERS : VERDICT_IMPOSSIBLE,
            audit_printf(
                k->a,
                "%s is below the mean: %g seconds of no more than that hold %.6g tokens, and "
                "%s over %s are %.6g%s" CHECK_DIGITS,
                check_named(k, peak), seconds, peak->v * seconds, check_named(k, mean),
                check_named(k, t), mean->v * t->v,
                of_events ? "; by the file's gaps its events do not hold that many each" : ""));
}

/* --- Little's law ----------------------------------------------------------------------------- */

static void check_little(const struct check *k)
{
    figure rate = check_get(k, F_REQUEST_TPS, FILE_VALUE),
           latency = check_get(k, F_LATENCY, FILE_MEAN);
    figure cap = check_get(k, F_CAP, FILE_VALUE), stated = check_get(k, F_CONCURRENCY, FILE_VALUE);
    if (rate == NULL || latency == NULL || rate->i.lo < 0 || latency->i.lo < 0)
        return;
    struct interval busy = check_times(rate->i, latency->i);
    const char *sum =
        audit_printf(k->a, "%s times %s makes %.4g requests under way on average",
                     check_named(k, rate), check_named(k, latency), rate->v * latency->v);
    if (check_is_tool(k, &tool_sglang) && stated != NULL &&
        !interval_meets(stated->i, interval_scale(busy, 1)) &&
        fabs(stated->v - rate->v * latency->v) > CHECK_CLOCKS * stated->v)
        check_say(k, stated, VERDICT_DIFFERS,
                  audit_printf(k->a, "%s (Little's law), and %s is stated" CHECK_DIGITS, sum,
                               check_named(k, stated)));
    bool capped = check_is_tool(k, &tool_vllm) || check_is_tool(k, &tool_sglang) ||
                  check_is_tool(k, &tool_llmperf);
    if (capped && cap != NULL && cap->v > 0 && busy.lo > cap->i.hi * (1 + CHECK_CLOCKS))
        check_say(
            k, latency, VERDICT_IMPOSSIBLE,
            audit_printf(k->a,
                         "%s (Little's law), and no more than %g were allowed at a time; 0.1 %% is "
                         "allowed for" CHECK_DIGITS,
                         sum, cap->v));
}

/* --- rows ------------------------------------------------------------------------------------- */

static void say_fault(const struct check *k, const struct row_fault *f, const char *what,
                      enum figure_id id)
{
    if (f->n > 0)
        check_say(k, NULL, VERDICT_IMPOSSIBLE,
                  audit_printf(k->a,
                               "in %" PRIu64 " of %" PRIu64 " rows %s; in row %" PRIu64
                               ", the first, %s against %s",
                               f->n, k->s->rows_seen, what, f->first, check_value(k, id, f->a),
                               check_value(k, id, f->b)));
}

/* A detailed file's own arrays against its totals. */
static void check_rows(const struct check *k)
{
    const struct file_summary *s = k->s;
    if (s->odd.n > 0) {
        const char *row = s->odd.row > 0 ? audit_printf(k->a, "row %" PRIu64 ", ", s->odd.row) : "";
        check_say(k, NULL, VERDICT_IMPOSSIBLE,
                  audit_printf(k->a,
                               "%s%s is %s, which no measurement gives; of such numbers it holds "
                               "%" PRIu64 ", and none is used",
                               row, s->odd.path, s->odd.text, s->odd.n));
    }
    say_fault(k, &s->ttft_above, "the time to the first token is above the latency", F_TTFT);
    say_fault(k, &s->total_off, "the total is not input and output tokens", F_TOTAL);
    say_fault(
        k, &s->tpot_off,
        "the time per output token is below (latency - time to the first token) / (tokens - 1)",
        F_TPOT);
    if (s->tool == NULL || s->tool->row_object != NULL || s->rows.n == 0 || s->rows_left > 0)
        return;
    double output = 0, ttft = 0, printed = 0;
    size_t n = 0, with_output = 0;
    for (size_t i = 0; i < s->rows.n; i++) {
        const struct file_row *r = &s->rows.v[i];
        if (r->failed)
            continue;
        n++;
        with_output += r->output >= 0;
        output += r->output >= 0 ? (double)r->output : 0;
        ttft += r->ttft;
        printed += (double)r->ttft_half;
    }
    figure total = check_get(k, F_OUTPUT_SUM, FILE_SUM),
           done = check_get(k, F_COMPLETED, FILE_VALUE);
    figure mean = check_get(k, F_TTFT, FILE_MEAN);
    if (done != NULL && done->v != (double)n)
        return; /* errors may not have been kept: nothing can be added up */
    if (total != NULL && with_output == n && n > 0 &&
        !interval_meets(total->i, interval_exact(output)))
        check_say(k, total, VERDICT_DIFFERS,
                  audit_printf(k->a, "%s, and the file's own rows add up to %.0f",
                               check_named(k, total), output));
    if (mean != NULL && n > 0 && !isnan(ttft) &&
        fabs(ttft / (double)n - mean->v) >
            1e-4 * mean->v + (mean->i.hi - mean->i.lo) + printed / (double)n)
        check_say(
            k, mean, VERDICT_DIFFERS,
            audit_printf(k->a,
                         "%s, and the mean of the file's own rows is %s; 0.01 %% is allowed for, "
                         "and half a unit of each row's last digit",
                         check_named(k, mean), check_value(k, F_TTFT, ttft / (double)n)));
}

/* --- all -------------------------------------------------------------------------------------- */

static void check_all(const struct check *k)
{
    for (enum figure_id id = F_TTFR; id <= F_TOTAL; id++)
        check_order(k, id);
    check_part(k, F_TTFT, F_LATENCY);
    if (check_is_tool(k, &tool_llama_benchy))
        check_part(k, F_TTFR, F_TTFT);
    check_counts(k);
    check_rates(k);
    check_ratio(k);
    check_total(k);
    check_peak(k);
    check_little(k);
    contradictions_tokens(k);
    contradictions_values(k);
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
            if (!as_figure(&a->claims.v[end], &f) || s.figures.n >= CHECK_POINTS_MOST)
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
        own = false;
        if (!k.s->tool->over_runs) /* a quotient of means is no mean of quotients */
            check_all(&k);
    }
    if (own)
        check_own(a);
}
