/* The figures of one request, and the gates that withhold a rate the bytes cannot support.
 * Definitions: the metric table of the README. Every reason names the figures that were found. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/metrics.h"
#include "analyze/metrics_flow.h"
#include "analyze/metrics_marks.h"
#include "analyze/stat.h"
#include "traces/base/clock.h"
#include "traces/base/mem.h"
#include "traces/base/units.h"

const struct request_metric_info request_metrics[REQUEST_METRICS] = {
    [M_TTFB] = {"ttfb", "s", "h - t0_end"},
    [M_TTFR] = {"ttfr", "s", "c_1 - t0"},
    [M_TTFT] = {"ttft", "s", "o_1 - t0"},
    [M_TTFO] = {"ttfo", "s", "first output that is not reasoning - t0"},
    [M_TTST] = {"ttst", "s", "o_2 - o_1"},
    [M_E2EL] = {"e2el", "s", "o_M - t0"},
    [M_EFFECTIVE_LATENCY] = {"effective_latency", "s", "o_M - s"},
    [M_STREAM_END] = {"stream_end", "s", "z - t0"},
    [M_DECODE_WINDOW] = {"decode_window", "s", "o_M - o_1"},
    [M_TPOT] = {"tpot", "s", "(o_M - o_1) / (N - n_1)"},
    [M_NTPOT] = {"ntpot", "s", "(o_M - t0) / N"},
    [M_OUTPUT_TPS_USER] = {"output_tps_user", "tok/s", "(N - n_1) / (o_M - o_1)"},
    [M_E2E_OUTPUT_TPS] = {"e2e_output_tps", "tok/s", "N / (o_M - t0)"},
    [M_STATED_TPS] = {"stated_tps", "tok/s", "as the server stated"},
};

const char metrics_open[] = "the trace ended before the reply did";

bool metrics_request_counts(const struct request *r)
{
    return r->outcome == OUTCOME_SUCCESS && !r->damaged && !r->warmup && !r->clock_stepped;
}

size_t metrics_request_reads(const struct request *r)
{
    size_t reads = 0;
    for (size_t i = 0; i < r->out.n; i++)
        reads += i == 0 || r->out.v[i].packet != r->out.v[i - 1].packet;
    return reads;
}

static struct value withheld(const char *reason)
{
    return (struct value){0, GRADE_NOT_MEASURABLE, reason};
}

/* From a to b; -1 is a time that was not seen. */
static struct value latency(int64_t from_ns, int64_t to_ns, const char *why_not)
{
    if (from_ns < 0 || to_ns < 0)
        return withheld(why_not);
    return (struct value){(double)(to_ns - from_ns) / NS_PER_S, GRADE_WIRE, NULL};
}

/* Why a request has no answer, in words; NULL if it was a success. */
static const char *failure(struct audit *a, const struct request *r)
{
    switch (r->outcome) {
    case OUTCOME_SUCCESS:
        return NULL;
    case OUTCOME_HTTP_ERROR:
        return audit_printf(a, "the request failed: HTTP %d", r->status);
    case OUTCOME_ERROR_EVENT:
        return "the request failed: an error inside the reply";
    case OUTCOME_CUT_SHORT:
        return "the reply was cut short";
    case OUTCOME_NO_FINISH:
        return "the reply ended without a finish reason";
    case OUTCOME_UNREADABLE:
        return "the reply is compressed, and was overwritten or cannot be read here";
    case OUTCOME_OPEN:
        return metrics_open;
    case OUTCOME_NO_RESPONSE:
        return "no response came";
    case OUTCOME_UNSEEN:
        return "bytes of the reply were not captured, and how it ended is not known";
    case OUTCOME_NOT_LLM:
        return "no LLM request";
    }
    return NULL;
}

static const char *window_too_short(struct audit *a, const struct request *r, int64_t window_ns,
                                    const struct audit_options *o)
{
    char found[32], needed[32], whole[32];
    units_duration(window_ns, found);
    if (window_ns < o->gate_window_ns)
        return audit_printf(a, "all %zu output events arrived within %s; %s are needed", r->out.n,
                            found, units_duration(o->gate_window_ns, needed));
    int64_t e2el = r->out.v[r->out.n - 1].t_ns - r->t0;
    double share = (double)window_ns / (double)e2el;
    if (e2el > 0 && share >= o->gate_share)
        return NULL;
    return audit_printf(a,
                        "the output arrived in %s, %.3g %% of the request's %s; %g %% are needed",
                        found, 100 * share, units_duration(e2el, whole), 100 * o->gate_share);
}

int64_t metrics_n1(const struct request *r)
{
    if (r->n1 >= 0)
        return r->n1;
    int64_t n = 0;
    while ((size_t)n < r->out.n && r->out.v[n].packet == r->out.v[0].packet)
        n++;
    return n > 0 ? n : 1;
}

/* --- tokens that nobody saw arrive (P26) ------------------------------------------------------ */

#define END_TOKENS 1      /* that have no event */
#define SPLIT_EVENTS 50   /* one of so many may be a part of a token */
#define TOKEN_BYTES 10    /* of text, on average over a reply: no language has more … */
#define THOUGHT_BYTES 2   /* a token, of thinking that was sent whole */
#define TELLING_TOKENS 32 /* … of so many tokens */
#define MARK_TOKENS 2     /* that begin and end a text … */
#define NEAR_SHARE 0.02   /* … and what counts of the same differ by */
#define UNSENT_SHARE 0.05 /* of the tokens: the few that mark and end a reply have no text */

/* Some totals hold cached tokens once more. */
int64_t metrics_beside(const struct request *r)
{
    int64_t n = request_tokens(r), prompt = r->usage.prompt, thinking = r->usage.reasoning;
    int64_t more = r->total_stated - prompt - n;
    if (r->total_stated <= 0 || n < 0 || prompt < 0 || more <= 0 || more == r->usage.cached)
        return 0;
    return thinking > 0 && imaxabs(more - thinking) > END_TOKENS ? 0 : more;
}

static bool is_near(int64_t x, int64_t y)
{
    return (double)imaxabs(x - y) <= MARK_TOKENS + NEAR_SHARE * (double)y;
}

/* Does it count the events of the answer, or what it cannot be more than, and not all? */
static bool counts_answer_alone(const struct request *r, int64_t n)
{
    int64_t events = (int64_t)r->out.n, answer = r->content_events;
    bool by_events = r->tool_bytes == 0 && answer > 0 && is_near(n, answer) &&
                     n + END_TOKENS + events / SPLIT_EVENTS < events && !is_near(n, events);
    double most = TOKEN_BYTES * (double)(n + END_TOKENS);
    bool by_bytes = n >= TELLING_TOKENS && (double)r->text_bytes > most &&
                    (double)(r->text_bytes - r->reasoning_bytes) <= most;
    return by_events || by_bytes;
}

/* By the total, else by the tokenizer, else by the events and the bytes. */
int64_t metrics_uncounted(const struct request *r)
{
    int64_t n = request_tokens(r), beside = metrics_beside(r);
    if (n < 0 || r->reasoning_bytes == 0 || r->asked.choices > 1)
        return 0;
    if (beside > 0) /* of what was thought, a summary may be sent */
        return r->reasoning_bytes >= THOUGHT_BYTES * (uint64_t)beside ? beside : -1;
    if (r->recounted >= 0 && r->apart != NULL) {
        bool alone = is_near(n, r->apart->content) && !is_near(n, r->recounted);
        return alone && r->tool_bytes == 0 ? r->recounted - r->apart->content : 0;
    }
    if (r->recounted >= 0 && is_near(n, r->recounted))
        return 0;
    return counts_answer_alone(r, n) ? -1 : 0;
}

/* If it is in the text, there are events for it, or more bytes a token than text has. */
int64_t metrics_unsent(const struct request *r)
{
    int64_t n = request_tokens(r), thinking = r->usage.reasoning, events = (int64_t)r->out.n;
    if (n < 0 || thinking <= 0 || thinking > n || events == 0 || r->reasoning_bytes > 0 ||
        metrics_beside(r) > 0)
        return 0;
    int64_t sent = n - thinking + END_TOKENS;
    bool in_text = 2 * events > 2 * n - thinking || sent + events / SPLIT_EVENTS < events ||
                   (double)r->text_bytes > TOKEN_BYTES * (double)sent;
    return in_text ? 0 : thinking;
}

static bool exceeds(int64_t tokens, uint64_t bytes)
{
    return (double)tokens * (1 - UNSENT_SHARE) > (double)bytes;
}

/* A token of text has a byte at least. Where each event states its tokens, the time of all is
 * known.
 */
bool metrics_textless(const struct request *r)
{
    int64_t n = request_tokens(r);
    if (n < 0 || r->out.n == 0 || metrics_per_event(r))
        return false;
    return exceeds(n - metrics_unsent(r), r->text_bytes) ||
           (r->reasoning_bytes > 0 && exceeds(r->usage.reasoning, r->reasoning_bytes));
}

int64_t metrics_decoded(const struct request *r)
{
    int64_t n = request_tokens(r), unsent = metrics_unsent(r), uncounted = metrics_uncounted(r);
    if (n < 0 || uncounted < 0)
        return -1;
    n += uncounted;
    if (r->n1 < unsent) /* else counts on the way have them too, and n_1 has */
        n -= unsent;
    n -= metrics_n1(r);
    return n > 0 ? n : -1;
}

/* --- a first piece that was held back (P47) --------------------------------------------------- */

#define PIECE_MEDIANS 16 /* an event with so many times the text of the others is a piece … */
#define PIECE_SHARE 0.05 /* … that matters where a rate would count so much of the tokens twice */

static double median_bytes(const struct request *r)
{
    double *v = mem_array(r->out.n + 1, sizeof *v);
    for (size_t i = 0; i < r->out.n; i++)
        v[i] = r->out.v[i].bytes;
    stat_sort(v, r->out.n);
    double median = stat_median(v, r->out.n);
    free(v);
    return median;
}

/* One long token is no piece: there must be tokens without an event of their own. */
bool metrics_first_held(const struct request *r)
{
    size_t first = 0;
    double bytes = 0, n = (double)(request_tokens(r) - metrics_unsent(r));
    if (r->n1 >= 0 || r->out.n < 3 || n < 0)
        return false;
    for (; first < r->out.n && r->out.v[first].packet == r->out.v[0].packet; first++)
        bytes += r->out.v[first].bytes;
    double held = n * bytes / (double)r->text_bytes - (double)first;
    return held > PIECE_SHARE * n && n - (double)r->out.n >= held / 2 &&
           bytes > PIECE_MEDIANS * (double)first * median_bytes(r);
}

/* --- the decode rate -------------------------------------------------------------------------- */

static const char *too_few_tokens(struct audit *a, const struct request *r,
                                  const struct audit_options *o)
{
    int64_t unsent = metrics_unsent(r), tokens = request_tokens(r) - unsent;
    if (tokens >= o->gate_tokens)
        return NULL;
    return unsent > 0
               ? audit_printf(a,
                              "%" PRId64 " tokens beside those of thinking that was not sent; "
                              "%" PRId64 " are needed",
                              tokens, o->gate_tokens)
               : audit_printf(a, "%" PRId64 " tokens; %" PRId64 " are needed", tokens,
                              o->gate_tokens);
}

/* Why tokens without text, of an unknown number or at an unknown time, leave no rate. */
static const char *blurred_by(struct audit *a, const struct request *r)
{
    int64_t n = request_tokens(r);
    if (r->hidden)
        return audit_printf(a,
                            "there was thinking that no text was sent of: how many of the %" PRId64
                            " tokens it is, is not stated",
                            n);
    if (r->first_kind == DELTA_TOOL)
        return audit_printf(a,
                            "the text begins with a call of a tool: how many of the %" PRId64
                            " tokens were generated by then, in marks before the name or with it, "
                            "is not stated",
                            n);
    return audit_printf(a,
                        "the text ends with a call of a tool: how many of the %" PRId64
                        " tokens were generated behind it, in marks, is not stated",
                        n);
}

/* Why it is not known how many tokens came between the first text and the last, or NULL. */
static const char *unknown_tokens(struct audit *a, const struct request *r)
{
    if (metrics_blurred(r))
        return blurred_by(a, r);
    if (metrics_textless(r))
        return audit_printf(
            a,
            "%" PRId64 " tokens were stated, %" PRId64 " of them thinking, for %" PRIu64
            " bytes of text: when those were generated that have none is not known",
            request_tokens(r), r->usage.reasoning > 0 ? r->usage.reasoning : 0, r->text_bytes);
    if (metrics_uncounted(r) < 0)
        return audit_printf(a,
                            "the %" PRId64
                            " tokens stated leave out the thinking, of which %" PRIu64
                            " bytes were sent: how many tokens those are is not stated",
                            request_tokens(r), r->reasoning_bytes);
    if (metrics_first_held(r))
        return audit_printf(a,
                            "the first of %zu output events has %.2g %% of the text, as if it was "
                            "held back: how many tokens were generated by then is not stated",
                            r->out.n, 100.0 * r->out.v[0].bytes / (double)r->text_bytes);
    if (metrics_decoded(r) < 0)
        return audit_printf(a, "all %" PRId64 " tokens were readable with the first output event",
                            request_tokens(r));
    return NULL;
}

/* Why there is no N. */
static const char *no_count(const struct request *r)
{
    return request_counts_open(r)
               ? "whether the token counts stated are of all choices is not known"
               : "no token count was stated";
}

/* The gates of a decode rate: why it is withheld, or NULL. */
static const char *closed_gate(struct audit *a, const struct request *r,
                               const struct audit_options *o)
{
    size_t reads = metrics_request_reads(r);
    if (r->out.n == 0)
        return "no output event";
    if (request_tokens(r) < 0)
        return no_count(r);
    if (!r->stream_reply)
        return "the reply is one document: all its text arrived at once";
    if (reads < (size_t)o->gate_reads)
        return audit_printf(a, "%zu output event%s arrived in %zu read%s; %" PRId64 " are needed",
                            r->out.n, r->out.n == 1 ? "" : "s", reads, reads == 1 ? "" : "s",
                            o->gate_reads);
    if (r->out.n < (size_t)o->gate_events)
        return audit_printf(a, "%zu output events; %" PRId64 " are needed", r->out.n,
                            o->gate_events);
    const char *reason = too_few_tokens(a, r, o);
    if (reason == NULL)
        reason = window_too_short(a, r, r->out.v[r->out.n - 1].t_ns - r->out.v[0].t_ns, o);
    return reason != NULL ? reason : unknown_tokens(a, r);
}

/* What a decode rate rests on beside the stated count; NULL: nothing. */
static const char *rests_on(struct audit *a, const struct request *r)
{
    int64_t n1 = metrics_n1(r), unsent = metrics_unsent(r), uncounted = metrics_uncounted(r);
    const char *assumed =
        r->n1 >= 0 ? NULL
        : n1 == 1
            ? "n_1 assumed to be 1"
            : audit_printf(a, "n_1 assumed to be %" PRId64 ", the events of the first read", n1);
    if (uncounted > 0)
        return audit_printf(a, "with %" PRId64 " tokens of thinking that the count leaves out%s%s",
                            uncounted, assumed != NULL ? "; " : "", assumed != NULL ? assumed : "");
    if (unsent == 0)
        return assumed;
    return audit_printf(a, "without %" PRId64 " tokens of thinking that was not sent%s%s", unsent,
                        assumed != NULL ? "; " : "", assumed != NULL ? assumed : "");
}

static void decode_rate(struct audit *a, struct request *r, const char *failed,
                        const struct audit_options *o)
{
    const char *reason = failed != NULL ? failed : closed_gate(a, r, o);
    if (reason != NULL) {
        r->metrics[M_TPOT] = r->metrics[M_OUTPUT_TPS_USER] = withheld(reason);
        return;
    }
    const char *basis = rests_on(a, r);
    double window = r->metrics[M_DECODE_WINDOW].v;
    double tokens = (double)metrics_decoded(r);
    r->metrics[M_TPOT] = (struct value){window / tokens, GRADE_WIRE_STATED, basis};
    r->metrics[M_OUTPUT_TPS_USER] = (struct value){tokens / window, GRADE_WIRE_STATED, basis};
}

/* Tokens over the whole request. */
static void whole_rate(struct request *r, const char *failed)
{
    int64_t tokens = request_tokens(r);
    double e2el = r->metrics[M_E2EL].v;
    const char *reason = failed != NULL  ? failed
                         : r->out.n == 0 ? "no output event"
                         : tokens < 0    ? no_count(r)
                         : e2el <= 0     ? "the output was there before the request"
                                         : NULL;
    if (reason != NULL) {
        r->metrics[M_E2E_OUTPUT_TPS] = r->metrics[M_NTPOT] = withheld(reason);
        return;
    }
    const char *basis =
        metrics_uncounted(r) != 0 ? "N leaves out the thinking, which was sent" : NULL;
    r->metrics[M_E2E_OUTPUT_TPS] = (struct value){(double)tokens / e2el, GRADE_WIRE_STATED, basis};
    r->metrics[M_NTPOT] = tokens > 0
                              ? (struct value){e2el / (double)tokens, GRADE_WIRE_STATED, basis}
                              : withheld("no token was generated");
}

/* The clock was set while it ran: no two of its times can be held against each other. */
static void withhold_times(struct request *r)
{
    for (enum request_metric m = 0; m < REQUEST_METRICS; m++) {
        if (m != M_STATED_TPS)
            r->metrics[m] = withheld("the clock was set while the request ran");
    }
}

/* From when it should have been sent: what a client that waits before it sends leaves out. */
static struct value effective_latency(const struct request *r, int64_t last, const char *why_not)
{
    if (r->ledger == NULL)
        return withheld("no ledger says when it was due");
    if (r->ledger->due_ns < 0)
        return withheld("it was due whenever the one before it ended");
    return latency(r->ledger->due_ns, last, why_not);
}

static void measure(struct audit *a, struct request *r, const struct audit_options *o)
{
    const char *failed = failure(a, r);
    const char *no_output = failed != NULL ? failed : "no output event";
    int64_t first = r->out.n > 0 ? r->out.v[0].t_ns : -1;
    bool ended = r->outcome != OUTCOME_OPEN; /* else the last text so far need not be the last */
    int64_t last = ended && r->out.n > 0 ? r->out.v[r->out.n - 1].t_ns : -1;
    struct value *m = r->metrics;
    m[M_TTFB] = latency(r->t0_end, r->h,
                        r->h < 0 ? "no response came" : "the end of the request was not seen");
    m[M_TTFR] = latency(r->t0, r->c1, failed != NULL ? failed : "no event");
    m[M_TTFT] = latency(r->t0, first, no_output);
    m[M_TTFO] = latency(r->t0, r->answer_ns,
                        failed == NULL && first >= 0 ? "all output is reasoning" : no_output);
    m[M_TTST] = latency(first, r->out.n > 1 ? r->out.v[1].t_ns : -1,
                        failed != NULL ? failed : "there is no second output event");
    m[M_E2EL] = latency(r->t0, last, no_output);
    m[M_EFFECTIVE_LATENCY] = effective_latency(r, last, no_output);
    m[M_STREAM_END] =
        latency(r->t0, r->z, failed != NULL ? failed : "the end of the reply was not seen");
    m[M_DECODE_WINDOW] = latency(first, last, no_output);
    if (failed == NULL && r->damaged)
        failed = "bytes of this request were not captured";
    decode_rate(a, r, failed, o);
    whole_rate(r, failed);
    double stated = r->timings.predicted_per_second;
    m[M_STATED_TPS] = isfinite(stated) && stated > 0 ? (struct value){stated, GRADE_STATED, NULL}
                                                     : withheld("the server stated no rate");
    if (r->clock_stepped)
        withhold_times(r);
}

void metrics_request_all(struct audit *a, const struct audit_options *o)
{
    for (size_t i = 0; i < a->requests.n; i++)
        measure(a, &a->requests.v[i], o);
    for (size_t i = 0; i < a->inner.n; i++)
        measure(a, &a->inner.v[i], o);
}
