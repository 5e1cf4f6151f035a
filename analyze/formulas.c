/* Formulas applied: marks and counts of requests to estimates.
 * Definitions and gates: the metric table of the README. */
#include "analyze/formulas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/formulas_doubt.h"
#include "analyze/formulas_failures.h"
#include "analyze/formulas_lossy.h"
#include "analyze/metrics.h"
#include "analyze/metrics_marks.h"
#include "analyze/steps.h"
#include "traces/base/clock.h"
#include "traces/base/mem.h"

#define PER_REQUEST(text, shape, count, from, to)                                                  \
    {                                                                                              \
        text, shape, count, from, to, false, NULL                                                  \
    }
#define OF_RUN(text, shape, count, from, to)                                                       \
    {                                                                                              \
        text, shape, count, from, to, true, NULL                                                   \
    }
#define FUNCTION(text, fn)                                                                         \
    {                                                                                              \
        text, SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true, fn                                  \
    }

static const char no_marks[] = "a time that it needs was not seen";
static const char no_tokens[] = "the server stated no token count";
static const char no_limits[] = "what is good is not said: --slo ttft=500ms,tpot=50ms says it";

const struct definition definitions[DEFINITIONS] = {
    [D_TTFB] = {"ttfb", PER_REQUEST("h-t0_end", SHAPE_TIME, COUNT_NONE, AT_T0_END, AT_H), M_TTFB,
                no_marks},
    [D_TTFR] = {"ttfr", PER_REQUEST("c_1-t0", SHAPE_TIME, COUNT_NONE, AT_T0, AT_C1), M_TTFR,
                no_marks},
    [D_TTFT] = {"ttft", PER_REQUEST("o_1-t0", SHAPE_TIME, COUNT_NONE, AT_T0, AT_O1), M_TTFT,
                no_marks},
    [D_TTFO] = {"ttfo", PER_REQUEST("answer-t0", SHAPE_TIME, COUNT_NONE, AT_T0, AT_ANSWER), M_TTFO,
                no_marks},
    [D_TTST] = {"ttst", PER_REQUEST("o_2-o_1", SHAPE_TIME, COUNT_NONE, AT_O1, AT_O2), -1, no_marks},
    [D_TTFT_STREAMS] = {"ttft of streams",
                        PER_REQUEST("o_1-t0", SHAPE_TIME, COUNT_NONE, AT_T0, AT_O1), M_TTFT,
                        no_marks},
    [D_EFFECTIVE_TTFT] = {"ttft from when it was due",
                          PER_REQUEST("o_1-s", SHAPE_TIME, COUNT_NONE, AT_DUE, AT_O1), M_TTFT,
                          no_marks},
    [D_E2EL] = {"e2el", PER_REQUEST("o_M-t0", SHAPE_TIME, COUNT_NONE, AT_T0, AT_OM), M_E2EL,
                no_marks},
    [D_EFFECTIVE_LATENCY] = {"effective_latency",
                             PER_REQUEST("o_M-s", SHAPE_TIME, COUNT_NONE, AT_DUE, AT_OM),
                             M_EFFECTIVE_LATENCY, no_marks},
    [D_STREAM_END] = {"stream_end", PER_REQUEST("z-t0", SHAPE_TIME, COUNT_NONE, AT_T0, AT_Z),
                      M_STREAM_END, no_marks},
    [D_DECODE_WINDOW] = {"decode_window",
                         PER_REQUEST("o_M-o_1", SHAPE_TIME, COUNT_NONE, AT_O1, AT_OM),
                         M_DECODE_WINDOW, no_marks},
    [D_TPOT] = {"tpot", PER_REQUEST("(o_M-o_1)/(N-n_1)", SHAPE_PER, COUNT_N_LESS_N1, AT_O1, AT_OM),
                M_TPOT, no_tokens},
    [D_NTPOT] = {"ntpot", PER_REQUEST("(o_M-t0)/N", SHAPE_PER, COUNT_N, AT_T0, AT_OM),
                 M_E2E_OUTPUT_TPS, no_tokens},
    [D_ICL] = {"icl", FUNCTION("o_k-o_(k-1)", formula_icl), -1,
               "no request has enough output events in enough separate reads"},
    [D_ICL_ALL] = {"icl of all replies", FUNCTION("o_k-o_(k-1)", formula_icl_all), -1, no_marks},
    [D_OUTPUT_TPS_USER] = {"output_tps_user",
                           PER_REQUEST("(N-n_1)/(o_M-o_1)", SHAPE_RATE, COUNT_N_LESS_N1, AT_O1,
                                       AT_OM),
                           M_OUTPUT_TPS_USER, no_tokens},
    [D_E2E_OUTPUT_TPS] = {"e2e_output_tps",
                          PER_REQUEST("N/(o_M-t0)", SHAPE_RATE, COUNT_N, AT_T0, AT_OM),
                          M_E2E_OUTPUT_TPS, no_tokens},
    [D_PROMPT_TPS] = {"(P-K)/ttft",
                      PER_REQUEST("(P-K)/(o_1-t0)", SHAPE_RATE, COUNT_P_UNCACHED, AT_T0, AT_O1), -1,
                      "the server stated no prompt tokens"},
    [D_PROMPT_TPS_ALL] = {"P/ttft of what was not cached",
                          PER_REQUEST("P/(o_1-t0)", SHAPE_RATE, COUNT_P, AT_T0, AT_O1), -1,
                          "the server stated no prompt tokens"},
    [D_INPUT_TOKENS] = {"input_tokens", PER_REQUEST("P", SHAPE_COUNT, COUNT_P, AT_NONE, AT_NONE),
                        -1, "the server stated no prompt tokens"},
    [D_OUTPUT_TOKENS] = {"output_tokens", PER_REQUEST("N", SHAPE_COUNT, COUNT_N, AT_NONE, AT_NONE),
                         -1, no_tokens},
    [D_OUTPUT_TOKENS_ALL] = {"output_tokens with the thinking beside",
                             PER_REQUEST("N+thinking", SHAPE_COUNT, COUNT_N_AND_BESIDE, AT_NONE,
                                         AT_NONE),
                             -1, no_tokens},
    [D_OUTPUT_TPS] = {"output_tps",
                      OF_RUN("sum(N)/(max z-min t0)", SHAPE_RATE, COUNT_N, AT_T0, AT_END), -1,
                      no_tokens},
    [D_INPUT_TPS] = {"input_tps",
                     OF_RUN("sum(P)/(max z-min t0)", SHAPE_RATE, COUNT_P, AT_T0, AT_END), -1,
                     "the server stated no prompt tokens"},
    [D_TOTAL_TPS] = {"total_tps",
                     OF_RUN("sum(P+N)/(max z-min t0)", SHAPE_RATE, COUNT_P_AND_N, AT_T0, AT_END),
                     -1, no_tokens},
    [D_DURATION] = {"duration", OF_RUN("max z-min t0", SHAPE_TIME, COUNT_NONE, AT_T0, AT_END), -1,
                    "there is no request"},
    [D_REQUEST_TPS] = {"request_tps",
                       OF_RUN("S/(max z-min t0)", SHAPE_RATE, COUNT_NONE, AT_T0, AT_END), -1,
                       "no request succeeded"},
    [D_OUTPUT_TPS_ARRIVED] = {"output_tps of all that arrived",
                              FUNCTION("sum(N)/T, unfinished answers too",
                                       formula_output_tps_arrived),
                              -1, no_tokens},
    [D_OUTPUT_TPS_STEADY] = {"output_tps_steady",
                             FUNCTION("tokens/time while as many are in flight as mostly are",
                                      formula_output_tps_steady),
                             -1, no_tokens},
    [D_GOODPUT] = {"goodput", FUNCTION("good/T", formula_goodput), -1, no_limits},
    [D_GOOD_FRACTION] = {"good_fraction", FUNCTION("good/A", formula_good_fraction), -1, no_limits},
    [D_PEAK_THROUGHPUT] =
        {"peak_throughput",
         FUNCTION("most tokens that came within any second", formula_peak_throughput), -1,
         "no second of the run has output tokens, as far as the server stated any"},
    [D_CONCURRENCY_AVG] = {"concurrency_avg", FUNCTION("sum(end-t0)/T", formula_concurrency_avg),
                           -1, "there is no request"},
    [D_CONCURRENCY_PEAK] = {"concurrency_peak",
                            FUNCTION("max requests in flight", formula_concurrency_peak), -1,
                            "there is no request"},
    [D_RELEASE_SKEW] = {"release_skew", FUNCTION("max t0-min t0 of a group", formula_release_skew),
                        -1, "no requests were released together"},
    [D_SPEEDUP] = {"speedup", FUNCTION("rate of a group / rate alone", formula_speedup), -1,
                   "it needs requests released together and the same prompts sent alone"},
    [D_REQUESTS] = {"requests", FUNCTION("A", formula_requests), -1, "there is no request"},
    [D_REQUESTS_MEANT] = {"requests of the ledger",
                          FUNCTION("A+those never sent", formula_requests_meant), -1,
                          "each request of the ledger was sent, or there is none"},
    [D_ATTEMPTS] = {"attempts", FUNCTION("A with those tried again", formula_attempts), -1,
                    "no request was tried again"},
    [D_SUCCESSES] = {"successful requests", FUNCTION("S", formula_successes), -1,
                     "there is no request"},
    [D_SUCCESSES_WITH_TEXT] = {"successful requests with text",
                               FUNCTION("S without the empty", formula_successes_with_text), -1,
                               "each answer has text"},
    [D_FAILED_OR_EMPTY] = {"failed or empty",
                           FUNCTION("A-S and the empty", formula_failed_or_empty), -1,
                           "each answer has text"},
    [D_REQUEST_TPS_WITH_TEXT] = {"request_tps of answers with text",
                                 FUNCTION("(S without the empty)/T", formula_request_tps_with_text),
                                 -1, "each answer has text"},
    [D_FAILED] = {"failed", FUNCTION("A-S", formula_failed), -1, "there is no request"},
    [D_FAILED_ATTEMPTS] = {"failed attempts",
                           FUNCTION("A-S with those tried again", formula_failed_attempts), -1,
                           "no request was tried again"},
    [D_FAILED_MEANT] = {"failed of the ledger",
                        FUNCTION("A+those never sent-S", formula_failed_meant), -1,
                        "each request of the ledger was sent, or there is none"},
    [D_MEMORY] = {"memory", FUNCTION("peak of the server's resident memory", formula_memory), -1,
                  "the trace has no memory samples"},
};

bool formula_counts(const struct scope *s, const struct request *r)
{
    if (s->one)
        return r->dialect != NULL;
    bool unfinished = s->as_tool && r->outcome == OUTCOME_NO_FINISH && r->out.n > 0;
    return metrics_request_counts(r) ||
           (unfinished && !r->damaged && !r->warmup && !r->clock_stepped);
}

static double known(int64_t n)
{
    return n < 0 ? NAN : (double)n;
}

static double less(int64_t n, int64_t m)
{
    return n < 0 || n <= m ? NAN : (double)(n - m);
}

double formula_count(const struct request *r, enum count c)
{
    int64_t n = request_tokens(r), p = r->usage.prompt;
    int64_t events = (int64_t)r->out.n;
    switch (c) {
    case COUNT_NONE:
        return 1;
    case COUNT_N:
        return known(n);
    case COUNT_N_LESS_1:
        return less(n, 1);
    case COUNT_N_LESS_N1:
        return known(metrics_decoded(r));
    case COUNT_EVENTS:
        return events > 0 ? (double)events : NAN;
    case COUNT_EVENTS_LESS_1:
        return less(events, 1);
    case COUNT_P:
        return known(p);
    case COUNT_P_UNCACHED:
        return p < 0 ? NAN : less(p, r->usage.cached > 0 ? r->usage.cached : 0);
    case COUNT_P_AND_N:
        return p < 0 || n < 0 ? NAN : (double)(p + n);
    case COUNT_BYTES:
        return r->text_bytes > 0 ? (double)r->text_bytes : NAN;
    case COUNT_ASKED:
        return r->asked.max_tokens > 0 ? (double)r->asked.max_tokens : NAN;
    case COUNT_STATED_SUM:
        return r->stated_times > 1 ? (double)r->stated_sum : NAN;
    case COUNT_READS:
        return events > 0 ? (double)metrics_request_reads(r) : NAN;
    case COUNT_EVENTS_UNSPLIT:
        return less(events, (int64_t)r->straddling);
    default:
        return formula_count_else(r, c);
    }
}

int64_t formula_when(const struct request *r, enum when w)
{
    size_t m = r->out.n;
    switch (w) {
    case AT_NONE:
        return -1;
    case AT_SYN:
        return r->syn_ns;
    case AT_KEEPALIVE:
        return r->keepalive_ns;
    case AT_ANSWER:
        return r->answer_ns;
    case AT_DUE:
        return r->ledger != NULL ? r->ledger->due_ns : -1;
    case AT_CONTENT:
        return r->content_ns;
    case AT_T0:
        return r->t0;
    case AT_T0_END:
        return r->t0_end;
    case AT_H:
        return r->h;
    case AT_HEAD:
        return r->head_end;
    case AT_ROLE:
        return r->role_ns;
    case AT_C1:
        return r->c1;
    case AT_O1:
        return m > 0 ? r->out.v[0].t_ns : -1;
    case AT_STREAM_O1:
        return m > 0 && r->stream_reply ? r->out.v[0].t_ns : -1;
    case AT_O2:
        return m > 1 ? r->out.v[1].t_ns : -1;
    case AT_OM:
        return m > 0 ? r->out.v[m - 1].t_ns : -1;
    case AT_DONE:
        return r->done_ns;
    case AT_Z:
        return r->z;
    case AT_END:
        return r->z >= 0 ? r->z : r->t_end;
    }
    return -1;
}

struct interval formula_span(const struct scope *s, int64_t from_ns, int64_t to_ns)
{
    double d = (double)(to_ns - from_ns) / NS_PER_S;
    return interval_around(d, (double)s->o->vantage_ns / NS_PER_S);
}

#define FEW_EVENTS 3  /* events that meet in a read without being held together … */
#define FEW_SHARE 0.1 /* … and the part of a stream that they are */

/* Is the first read no clump: do few events come with it, and with the others? */
static bool first_is_few(const struct request *r, double events, double n)
{
    return events <= FEW_EVENTS && events - 1 <= FEW_SHARE * n &&
           (double)r->out.n <= FEW_EVENTS * (double)metrics_request_reads(r);
}

/* A count as it may be meant. How many tokens the events of the first read held is known where it
 * is stated; else it is one each, or as many as the others held. A client does not see reads: where
 * a few met in the first, it takes the first of them for itself. What was held together is P44.
 * Marks that have no text may be outside of it. */
static struct interval count_range(const struct scope *s, const struct request *r, enum count c,
                                   double n)
{
    struct interval range = interval_exact(n);
    if (c != COUNT_N_LESS_N1 || !(n > 0))
        return range;
    if (s->blurred && (metrics_blurred(r) || metrics_first_held(r)))
        return metrics_blur(r);
    range.lo = fmax(fmin(1, n), n * metrics_marks_sure(r));
    if (r->choices_seen > 1) /* each of them has a first token */
        range.lo = fmin(range.lo, fmax(1, n - (double)(r->choices_seen - 1)));
    if (r->n1 >= 0)
        return range;
    double events = (double)metrics_n1(r), all = (double)r->out.n;
    double share = (n + events) * events / all;
    range.lo -= fmax(0, share - events);
    range.hi += fmax(0, events - share);
    if (first_is_few(r, events, n))
        range.hi = fmax(range.hi, n + events - 1);
    return range;
}

/* One estimate of count n, or what it may be, over a span; false if there is no such figure. */
static bool estimate(const struct scope *s, const struct formula *f, double n,
                     struct interval range, int64_t from, int64_t to, struct estimate *e)
{
    if (!interval_known(range))
        return false;
    if (f->shape == SHAPE_COUNT) {
        e->value = n;
        e->interval = range;
        return true;
    }
    if (from < 0 || to < 0)
        return false;
    double d = (double)(to - from) / NS_PER_S;
    struct interval span = formula_span(s, from, to);
    if (f->shape == SHAPE_TIME) {
        e->value = d;
        e->interval = span;
        return true;
    }
    if (range.lo <= 0 || d < 0)
        return false;
    span.lo = fmax(span.lo, 0);
    e->value = d > 0 ? n / d : INFINITY;
    e->interval = interval_div(range, span);
    if (f->shape == SHAPE_PER) {
        e->value = d / n;
        e->interval = (struct interval){span.lo / range.hi, span.hi / range.lo};
    }
    return interval_known(e->interval);
}

/* Of a reply that was still coming when the trace ended: is f about its last text, or all of it? */
static bool needs_end(const struct formula *f)
{
    if (f->fn != NULL || f->to == AT_OM || f->to == AT_END)
        return true;
    switch (f->count) {
    case COUNT_NONE:
    case COUNT_P:
    case COUNT_P_UNCACHED:
    case COUNT_ASKED:
        return false;
    default:
        return true;
    }
}

static bool goes_on(const struct formula *f, const struct request *r)
{
    return r->outcome == OUTCOME_OPEN && needs_end(f);
}

static void apply_to_requests(const struct formula *f, const struct scope *s, sign_fn *sign,
                              struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = &s->a->requests.v[s->requests.v[i]];
        struct estimate e = {.request = r};
        if (!formula_counts(s, r) || (r->clock_stepped && f->shape != SHAPE_COUNT) || goes_on(f, r))
            continue;
        double n = formula_count(r, f->count);
        if (!estimate(s, f, n, count_range(s, r, f->count, n), formula_when(r, f->from),
                      formula_when(r, f->to), &e))
            continue;
        e.sign = sign != NULL && sign(s, r);
        VEC_PUSH(&out->all, e);
    }
}

/* Counts of the requests that succeeded; times of all that were tried. */
static void apply_to_run(const struct formula *f, const struct scope *s, sign_fn *sign,
                         struct estimates *out)
{
    double n = 0;
    int64_t from = -1, to = -1;
    size_t counted = 0, signs = 0;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = &s->a->requests.v[s->requests.v[i]];
        int64_t begin = formula_when(r, f->from), end = formula_when(r, f->to);
        if (begin >= 0 && (from < 0 || begin < from))
            from = begin;
        if (end > to)
            to = end;
        if (!formula_counts(s, r))
            continue;
        n += formula_count(r, f->count);
        counted++;
        signs += sign != NULL && sign(s, r);
    }
    struct estimate e = {.sign = signs * 2 > counted};
    if (counted > 0 && estimate(s, f, n, interval_exact(n), from, to, &e))
        VEC_PUSH(&out->all, e);
}

/* Does it hold times of several requests against each other? */
static bool joins_times(const struct formula *f)
{
    static formula_fn *const others[] = {formula_icl,
                                         formula_icl_all,
                                         formula_requests,
                                         formula_successes,
                                         formula_failed,
                                         formula_memory,
                                         formula_choices,
                                         formula_wall_first,
                                         formula_wall_last,
                                         formula_last_calls,
                                         formula_no_content,
                                         formula_nothing_counted,
                                         formula_requests_meant,
                                         formula_failed_meant,
                                         formula_attempts,
                                         formula_failed_attempts,
                                         formula_input_zeros,
                                         formula_output_zeros,
                                         formula_successes_with_text,
                                         formula_failed_or_empty};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (f->fn == others[i])
            return false;
    }
    return f->fn != NULL || (f->of_run && f->shape != SHAPE_COUNT);
}

/* No figure spans a step of the clock. */
static bool spans_step(const struct formula *f, const struct scope *s)
{
    return joins_times(f) && steps_between(s->a, s->requests.v, s->requests.n);
}

void formula_apply(const struct formula *f, const struct scope *s, sign_fn *sign,
                   struct estimates *out)
{
    if (spans_step(f, s))
        return;
    if (f->fn != NULL)
        f->fn(s, out);
    else if (f->of_run)
        apply_to_run(f, s, sign, out);
    else
        apply_to_requests(f, s, sign, out);
}

/* What else was done in the wait for the text, so that the time of the prompt cannot be told from
 * it; NULL: nothing, or d is no prompt rate. */
static const char *hides_prompt(const struct definition *d, const struct request *r)
{
    if (d != &definitions[D_PROMPT_TPS] && d != &definitions[D_PROMPT_TPS_ALL])
        return NULL;
    if (!r->stream_reply && request_tokens(r) != 1)
        return "the reply is one document: the time of the prompt cannot be told from that of "
               "the answer";
    if (metrics_unsent(r) > 0)
        return "there was thinking that was not sent: the time of the prompt cannot be told from "
               "that of the thinking";
    if (r->hidden || (r->first_kind == DELTA_TOOL && r->stream_reply))
        return "there were tokens before the first text that have none: the time of the prompt "
               "cannot be told from theirs";
    return NULL;
}

/* Definitions of some of the requests alone. */
static bool leaves_out(const struct definition *d, const struct request *r)
{
    return (d == &definitions[D_PROMPT_TPS_ALL] && r->usage.cached > 0) ||
           (d == &definitions[D_TTFT_STREAMS] && !r->stream_reply);
}

/* Where marks blur a rate, may what they leave of it be looked at? */
static bool may_blur(const struct definition *d, const struct scope *s, const struct request *r)
{
    return s->blurred && d->formula.count == COUNT_N_LESS_N1 && metrics_request_counts(r) &&
           (metrics_blurred(r) || metrics_first_held(r)) && !formula_collected(s, r) &&
           r->out.n > 1 && r->out.v[r->out.n - 1].t_ns - r->out.v[0].t_ns >= s->o->gate_window_ns;
}

static bool gated(const struct definition *d, const struct scope *s, const struct request *r)
{
    return d->gate >= 0 && r->metrics[d->gate].grade == GRADE_NOT_MEASURABLE && !may_blur(d, s, r);
}

/* A figure of all of them at once is one of those that no gate withholds. */
static void apply_to_open(const struct definition *d, const struct scope *s, struct estimates *out)
{
    struct scope open = *s;
    memset(&open.requests, 0, sizeof open.requests);
    for (size_t i = 0; i < s->requests.n; i++) {
        if (!gated(d, s, &s->a->requests.v[s->requests.v[i]]))
            VEC_PUSH(&open.requests, s->requests.v[i]);
    }
    formula_apply(&d->formula, &open, NULL, out);
    VEC_FREE(&open.requests);
}

void definition_apply(const struct definition *d, const struct scope *s, struct estimates *out)
{
    size_t before = out->all.n;
    if (d->gate >= 0 && d->formula.of_run)
        apply_to_open(d, s, out);
    else
        formula_apply(&d->formula, s, NULL, out);
    size_t kept = before;
    for (size_t i = before; i < out->all.n; i++) {
        const struct request *r = out->all.v[i].request;
        bool open = s->one && r != NULL && goes_on(&d->formula, r);
        if (r == NULL ||
            (!gated(d, s, r) && hides_prompt(d, r) == NULL && !leaves_out(d, r) && !open))
            out->all.v[kept++] = out->all.v[i];
    }
    out->all.n = kept;
    if (d->formula.shape == SHAPE_COUNT && d->formula.fn == NULL && !d->formula.of_run)
        formula_unstated(s, d->formula.count, out);
    if (s->lossy)
        lossy_widen(&d->formula, s, before, out);
    if (s->late || s->miscount > 1)
        doubt_widen(&d->formula, s, before, out);
}

/* Was a count stated of every request? Then it is no count that is missing. */
static bool tokens_stated(const struct scope *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = &s->a->requests.v[s->requests.v[i]];
        if (!formula_counts(s, r))
            continue;
        if (request_tokens(r) < 0)
            return false;
        n++;
    }
    return n > 0;
}

const char *definition_missing(const struct definition *d, const struct scope *s)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = &s->a->requests.v[s->requests.v[i]];
        if (gated(d, s, r) && r->metrics[d->gate].reason != NULL)
            return r->metrics[d->gate].reason;
        if (hides_prompt(d, r) != NULL)
            return hides_prompt(d, r);
        if (s->one && goes_on(&d->formula, r))
            return metrics_open;
    }
    bool counts = d->formula.shape == SHAPE_COUNT && d->formula.fn == NULL;
    struct estimates none = {0};
    if (counts && s->stat == STAT_SUM)
        formula_unstated(s, d->formula.count, &none);
    if (none.unstated.unknown > 0 && none.unstated.unknown < s->requests.n)
        return "some replies state no such count: the sum of all is not known";
    if (!counts && steps_between(s->a, s->requests.v, s->requests.n))
        return steps_reason;
    if (strcmp(d->missing, no_tokens) == 0 && tokens_stated(s))
        return "no reply has enough tokens for it, as the server states them";
    return d->missing;
}

double *formula_rate_bounds(const struct audit *a, const struct audit_options *o)
{
    double *bounds = mem_array(a->traces.n + 1, sizeof *bounds);
    for (size_t i = 0; i < a->requests.n && o->max_rate <= 0; i++) {
        const struct request *r = &a->requests.v[i];
        static const enum request_metric rates[] = {M_OUTPUT_TPS_USER, M_E2E_OUTPUT_TPS};
        for (size_t k = 0; k < 2; k++) {
            const struct value *v = &r->metrics[rates[k]];
            if (v->grade != GRADE_NOT_MEASURABLE && isfinite(v->v) && v->v > bounds[r->trace])
                bounds[r->trace] = v->v;
        }
    }
    for (size_t i = 0; i < a->traces.n; i++)
        bounds[i] = o->max_rate > 0 ? o->max_rate
                                    : fmax(COLLECT_RATE_MARGIN * bounds[i], COLLECT_RATE_FLOOR);
    return bounds;
}

/* May the network or the clock, and not the server, have held the text together? After a filled
 * hole one packet releases all that waited behind it. */
static bool network_held(const struct scope *s, const struct request *r)
{
    bool filled = s->a->traces.v[r->trace].totals.tcp.retransmissions > 0;
    return r->damaged || r->clock_stepped || (filled && metrics_request_reads(r) == 1);
}

bool formula_collected(const struct scope *s, const struct request *r)
{
    size_t m = r->out.n;
    if (m <= COLLECT_EVENTS || network_held(s, r))
        return false;
    double n = request_tokens(r) >= 0 ? (double)request_tokens(r) : (double)m;
    int64_t t0 = r->t0, o1 = r->out.v[0].t_ns, om = r->out.v[m - 1].t_ns;
    double whole = (double)(om - t0);
    if (whole <= 0 || (double)(o1 - t0) <= COLLECT_SILENCE * whole)
        return false;
    double tail_ns = fmax(COLLECT_TAIL_NS, COLLECT_TAIL_SHARE * whole);
    uint64_t tail_bytes = 0;
    for (size_t i = m; i-- > 0 && (double)(om - r->out.v[i].t_ns) <= tail_ns;)
        tail_bytes += r->out.v[i].bytes;
    if ((double)tail_bytes <= COLLECT_TAIL * (double)r->text_bytes)
        return false;
    return n / formula_span(s, o1, om).hi > s->rate_bounds[r->trace];
}
