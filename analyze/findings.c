/* Findings: of the recording itself, of failed requests, of streams that are none, of queues. */
#include "analyze/findings.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/claims.h"
#include "analyze/finder.h"
#include "analyze/findings_server.h"
#include "analyze/formulas.h"
#include "analyze/metrics.h"
#include "analyze/stat.h"
#include "traces/base/buf.h"
#include "traces/base/clock.h"
#include "traces/base/units.h"
#include "traces/link.h"

#define PIECE_TOKENS 8          /* tokens an event, from which … */
#define PIECE_SHARE 0.5         /* … an event with more than this of the text is no stream */
#define QUEUED_SLACK_NS 5000000 /* that early a queued answer may begin */

/* --- the recording ---------------------------------------------------------------------------- */

static void find_damage(struct finder *f, const struct trace_info *t)
{
    const struct reader_health *h = &t->health;
    if (h->truncated)
        finder_add(f, "trace.truncated", SEVERITY_WARN, "The trace ends in the middle",
                   h->note[0] != '\0'
                       ? audit_printf(f->a, "%s. What comes before is used.", h->note)
                       : "The file ends inside a record. What comes before is used.");
    else if (!t->closed && t->vantage != NULL)
        finder_add(
            f, "trace.unclosed", SEVERITY_WARN, "The recording was not ended in order",
            "The closing block is missing: the recorder was killed, or the file was cut between "
            "two records. Up to "
            "half a second may be missing at the end.");
    if (t->source_damage != NULL)
        finder_add(f, "trace.source-damaged", SEVERITY_WARN,
                   "It was made of a capture that is not whole",
                   audit_printf(f->a, "%s.", t->source_damage));
    if (h->damaged_members > 0 || h->bad_blocks > 0)
        finder_add(f, "trace.damaged", SEVERITY_WARN, "Parts of the trace are damaged",
                   audit_printf(f->a,
                                "%" PRIu64
                                " compressed parts failed their check and were left out, %" PRIu64
                                " blocks could not be read. %s",
                                h->damaged_members, h->bad_blocks, h->note));
}

/* "it begins where A ends and goes on in B" */
static void find_part(struct finder *f, const struct trace_info *t)
{
    bool late = t->part.seq > 1, more = t->next != NULL;
    const char *which = t->files.n > 0 ? audit_printf(f->a, "parts %" PRIu64 " to %" PRIu64,
                                                      t->part.seq, t->part.seq + t->files.n - 1)
                                       : audit_printf(f->a, "part %" PRIu64, t->part.seq);
    const char *before = t->part.after[0] != '\0' ? t->part.after : "the part before it";
    if (!late && !more)
        return;
    finder_add(
        f, "trace.part", SEVERITY_INFO, "The trace is a part of a rotation",
        audit_printf(f->a,
                     "It is %s: it %s%.255s%s%s%.255s. Requests that cross %s are "
                     "incomplete in it. Name the parts together, in their order, and they are read "
                     "as one trace.",
                     which, late ? "begins where " : "", late ? before : "", late ? " ends" : "",
                     late && more ? ", and goes on in "
                     : more       ? "goes on in "
                                  : "",
                     more ? t->next : "", late && more ? "its edges" : "that edge"));
}

static bool counted(uint64_t n)
{
    return n != UINT64_MAX && n > 0;
}

static void find_losses(struct finder *f, const struct trace_info *t)
{
    const struct pipeline_totals *n = &t->totals;
    uint64_t dropped = (counted(n->counted_dropped) ? n->counted_dropped : 0) +
                       (counted(n->counted_if_dropped) ? n->counted_if_dropped : 0);
    size_t damaged = 0, requests = 0;
    for (size_t i = 0; i < f->a->requests.n; i++) {
        const struct request *r = &f->a->requests.v[i];
        requests += r->trace == f->trace && r->dialect != NULL;
        damaged += r->trace == f->trace && r->dialect != NULL && r->damaged;
    }
    if (dropped == 0 && n->tcp.gaps == 0 && n->snapped == 0)
        return;
    const char *id = dropped > 0       ? "capture.drops"
                     : n->tcp.gaps > 0 ? "capture.gaps"
                                       : "capture.snapped";
    struct finding *x = finder_add(
        f, id, SEVERITY_WARN, "Bytes of the run were not recorded",
        audit_printf(f->a,
                     "%" PRIu64 " packets were dropped while recording, %" PRIu64
                     " were cut short, and %" PRIu64 " gaps with %" PRIu64
                     " bytes are in the connections; %zu of %zu requests are damaged "
                     "and take part in no quantile.",
                     dropped, n->snapped, n->tcp.gaps, n->tcp.gap_bytes, damaged, requests));
    finder_affects(x, "output_tps", NAN);
    finder_affects(x, "output_tokens", NAN);
}

static int64_t median_e2el(const struct finder *f)
{
    VEC(double) all = {0};
    for (size_t i = 0; i < f->a->requests.n; i++) {
        const struct request *r = &f->a->requests.v[i];
        if (r->trace == f->trace && metrics_request_counts(r) && r->out.n > 0)
            VEC_PUSH(&all, (double)(formula_when(r, AT_OM) - r->t0));
    }
    if (all.n > 0)
        stat_sort(all.v, all.n);
    int64_t median = all.n > 0 ? (int64_t)stat_median(all.v, all.n) : -1;
    VEC_FREE(&all);
    return median;
}

static void find_clock(struct finder *f, const struct trace_info *t)
{
    if (t->clock_step_ns == 0)
        return;
    char step[32];
    int64_t e2el = median_e2el(f);
    size_t in_flight = 0;
    for (size_t i = 0; i < f->a->requests.n; i++) {
        const struct request *r = &f->a->requests.v[i];
        in_flight += r->trace == f->trace && r->dialect != NULL && r->clock_stepped;
    }
    double percent = e2el > 0 ? 100 * fabs((double)t->clock_step_ns) / (double)e2el : NAN;
    struct finding *x = finder_add(
        f, "trace.clock-step", SEVERITY_WARN, "The clock was set while recording",
        audit_printf(f->a,
                     "Time stamps jump by %s. %zu requests were in flight at such a moment, or "
                     "may have been: their times are not given, nor is any figure of a run "
                     "that goes across it.",
                     units_duration(t->clock_step_ns, step), in_flight));
    finder_affects(x, "e2el", percent);
}

/* "IEEE 802.11 (105), 147" */
static void link_list(struct buf *out, const struct pipeline_totals *t)
{
    for (size_t i = 0; i < t->unknown_links_n; i++) {
        const char *name = link_name(t->unknown_links[i]);
        buf_puts(out, i > 0 ? ", " : "");
        if (name != NULL)
            buf_printf(out, "%s (%u)", name, t->unknown_links[i]);
        else
            buf_printf(out, "%u", t->unknown_links[i]);
    }
}

/* Packets that never came as far as a connection. */
static void find_unread_packets(struct finder *f, const struct trace_info *t)
{
    if (t->totals.unknown_link_packets > 0) {
        struct buf links;
        buf_init(&links, 1024);
        link_list(&links, &t->totals);
        finder_add(
            f, "trace.unread-link", SEVERITY_WARN, "Packets of this link type are not read",
            audit_printf(f->a,
                         "%" PRIu64 " of %" PRIu64 " packets are of link type %s, which is not "
                         "read here: what they carry takes part in no figure.",
                         t->totals.unknown_link_packets, t->totals.packets, buf_text(&links)));
        buf_done(&links);
    }
    if (t->totals.timeless > 0)
        finder_add(f, "trace.timeless", SEVERITY_WARN, "Packets have no time",
                   audit_printf(f->a,
                                "%" PRIu64 " of %" PRIu64
                                " packets carry no time stamp and are left out.",
                                t->totals.timeless, t->totals.packets));
    if (t->totals.twins > 0)
        finder_add(f, "trace.twins", SEVERITY_INFO, "Packets were seen at several interfaces",
                   audit_printf(f->a,
                                "%" PRIu64 " of %" PRIu64
                                " packets had been seen at another interface "
                                "less than a millisecond before. The first copy counts.",
                                t->totals.twins, t->totals.packets));
    if (t->totals.fragments_lost > 0)
        finder_add(
            f, "trace.fragments", SEVERITY_WARN, "IP packets could not be put together",
            audit_printf(f->a,
                         "Of %" PRIu64 " fragments of IP packets %" PRIu64
                         " stayed without the others, or were none: what they carry is missing.",
                         t->totals.fragments, t->totals.fragments_lost));
}

static void find_unreadable(struct finder *f, const struct trace_info *t)
{
    if (t->totals.tls_connections > 0)
        finder_add(f, "trace.tls", SEVERITY_INFO, "Encrypted connections cannot be read",
                   audit_printf(f->a,
                                "%" PRIu64
                                " connections speak TLS. Nothing in them takes part in any figure.",
                                t->totals.tls_connections));
    if (t->totals.http2_connections > 0)
        finder_add(
            f, "trace.http2", SEVERITY_INFO, "HTTP/2 connections cannot be read",
            audit_printf(f->a,
                         "%" PRIu64
                         " connections speak HTTP/2. Nothing in them takes part in any figure.",
                         t->totals.http2_connections));
    if (t->totals.tcp.zero_windows > 0)
        finder_add(f, "client.zero-window", SEVERITY_WARN, "A receiver stopped reading",
                   audit_printf(f->a,
                                "A receive window was closed %" PRIu64
                                " times: the sender had to wait for the "
                                "receiver, and gaps between events may be the client's.",
                                t->totals.tcp.zero_windows));
}

/* Neither path nor body says which API it is; the replies look like one. */
static void find_guesses(struct finder *f)
{
    const struct request *first = NULL;
    size_t n = 0, others = 0;
    for (size_t i = 0; i < f->a->requests.n; i++) {
        const struct request *r = &f->a->requests.v[i];
        if (r->trace != f->trace || !r->guessed)
            continue;
        first = first == NULL ? r : first;
        others += r->dialect != first->dialect;
        n++;
    }
    if (n == 0)
        return;
    struct finding *x = finder_add(
        f, "requests.api-guessed", SEVERITY_INFO, "The API was recognised by the replies alone",
        audit_printf(f->a,
                     "%zu requests went to paths of no API that is known here; their replies "
                     "look like %s%s, and were read so. What they asked for is not known for "
                     "sure. Say --dialect if it is another.",
                     n, first->dialect->name, others > 0 ? " and others" : ""));
    finder_cite_start(x, first);
}

/* --- failed requests -------------------------------------------------------------------------- */

static const char *const failures[] = {
    [OUTCOME_HTTP_ERROR] = "with an HTTP error",
    [OUTCOME_ERROR_EVENT] = "with an error inside a 200 reply",
    [OUTCOME_CUT_SHORT] = "cut short",
    [OUTCOME_NO_FINISH] = "without a finish",
    [OUTCOME_NO_RESPONSE] = "without a response",
};

static bool is_failure(const struct request *r)
{
    return r->dialect != NULL && (size_t)r->outcome < sizeof failures / sizeof *failures &&
           failures[r->outcome] != NULL;
}

static void cite_failures(struct finder *f, struct finding *x)
{
    size_t cited = 0;
    for (size_t i = 0; i < f->a->requests.n && cited < CITED_MOST; i++) {
        const struct request *r = &f->a->requests.v[i];
        if (r->trace != f->trace || !is_failure(r))
            continue;
        finder_cite_start(x, r);
        cited++;
    }
}

static void find_failures(struct finder *f)
{
    size_t n[OUTCOME_NOT_LLM + 1] = {0}, all = 0, failed = 0;
    int status = 0;
    for (size_t i = 0; i < f->a->requests.n; i++) {
        const struct request *r = &f->a->requests.v[i];
        if (r->trace != f->trace || r->dialect == NULL)
            continue;
        all++;
        n[r->outcome]++;
        failed += is_failure(r);
        if (r->outcome == OUTCOME_HTTP_ERROR && status == 0)
            status = r->status;
    }
    if (n[OUTCOME_OPEN] > 0)
        finder_add(f, "requests.open", SEVERITY_INFO,
                   "Requests were still running when the trace ended",
                   audit_printf(f->a, "%zu of %zu requests have no end in this trace.",
                                n[OUTCOME_OPEN], all));
    if (n[OUTCOME_UNREADABLE] > 0)
        finder_add(f, "requests.unreadable", SEVERITY_INFO, "Replies cannot be read",
                   audit_printf(
                       f->a,
                       "%zu of %zu replies are compressed, and were overwritten or cannot be read "
                       "here: what they say is in no figure.",
                       n[OUTCOME_UNREADABLE], all));
    if (failed == 0)
        return;
    struct buf text;
    buf_init(&text, 1024);
    buf_printf(&text, "%zu of %zu requests failed:", failed, all);
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        if (failures[i] != NULL && n[i] > 0)
            buf_printf(&text, " %zu %s,", n[i], failures[i]);
    }
    text.n--;
    if (status != 0)
        buf_printf(&text, " (the first is HTTP %d)", status);
    buf_puts(&text, ". They take part in no latency and no rate.");
    struct finding *x = finder_add(f, "requests.failed", SEVERITY_WARN, "Requests failed",
                                   audit_printf(f->a, "%s", buf_text(&text)));
    buf_done(&text);
    finder_affects(x, "failed", 100 * (double)failed / (double)all);
    cite_failures(f, x);
}

/* --- streams that are none -------------------------------------------------------------------- */

enum stream_fault {
    STREAM_FINE,
    STREAM_COLLECTED,
    STREAM_HEADER_SILENCE,
    STREAM_ONE_PIECE,
    STREAM_FAULTS
};

/* A stream was asked for, and one piece came: no reading of it gives a decode rate. */
static bool one_piece(const struct request *r)
{
    int64_t n = request_tokens(r);
    uint32_t largest = 0;
    if (r->asked.stream != 1 || r->out.n == 0)
        return false;
    if (!r->stream_reply)
        return true;
    n -= r->usage.reasoning > 0 ? r->usage.reasoning
                                : 0; /* may be hidden: no text is missing then */
    for (size_t i = 0; i < r->out.n; i++)
        largest = r->out.v[i].bytes > largest ? r->out.v[i].bytes : largest;
    return n > PIECE_TOKENS * (int64_t)r->out.n &&
           (double)largest > PIECE_SHARE * (double)r->text_bytes;
}

static enum stream_fault stream_fault(const struct scope *s, const struct request *r)
{
    if (!metrics_request_counts(r))
        return STREAM_FINE;
    if (one_piece(r))
        return STREAM_ONE_PIECE;
    if (!formula_collected(s, r))
        return STREAM_FINE;
    double whole = (double)(formula_when(r, AT_OM) - r->t0);
    return r->h >= 0 && (double)(r->h - r->t0) > COLLECT_SILENCE * whole ? STREAM_HEADER_SILENCE
                                                                         : STREAM_COLLECTED;
}

static const struct {
    const char *id, *title, *text;
} stream_faults[STREAM_FAULTS] = {
    [STREAM_COLLECTED] = {"stream.collect-then-replay",
                          "The answer was kept back and then sent in one go",
                          "the reply began, then there was silence for most of the request, then "
                          "all of the text came "
                          "at once. Whether the server or something in front of it kept it back, "
                          "times inside the text "
                          "say how fast it was sent, not how fast it was generated"},
    [STREAM_HEADER_SILENCE] =
        {"stream.header-silence", "Not even the headers came before the whole answer was there",
         "no byte came for most of the request, then headers and all of the text came at once. "
         "Times inside the text say how fast it was sent, not how fast it was generated"},
    [STREAM_ONE_PIECE] = {"stream.not-streamed", "A stream was asked for and not given",
                          "most of the text came in one piece. Time to first text is the time of "
                          "the whole answer, and "
                          "there is no decode rate"},
};

static void find_stream_fault(struct finder *f, const struct scope *s, enum stream_fault kind)
{
    size_t n = 0, cited[CITED_MOST];
    double burst = 0, whole = 0;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = &f->a->requests.v[s->requests.v[i]];
        if (stream_fault(s, r) != kind)
            continue;
        if (n < CITED_MOST)
            cited[n] = s->requests.v[i];
        int64_t from = formula_when(r, AT_O1), to = formula_when(r, AT_OM);
        double tokens = (double)(request_tokens(r) >= 0 ? request_tokens(r) : (int64_t)r->out.n);
        double rate = tokens / formula_span(s, from, to).hi;
        if (rate > burst) {
            burst = rate;
            whole = tokens / formula_span(s, r->t0, to).hi;
        }
        n++;
    }
    if (n == 0)
        return;
    const char *detail = audit_printf(f->a, "In %zu of %zu requests %s.", n, s->requests.n,
                                      stream_faults[kind].text);
    if (kind != STREAM_ONE_PIECE) {
        char sent[64], made[64];
        detail =
            audit_printf(f->a, "%s That would be at least %s; over the whole request it is %s.",
                         detail, claim_value_text(DIM_TOKEN_RATE, burst, sent),
                         claim_value_text(DIM_TOKEN_RATE, whole, made));
    }
    struct finding *x =
        finder_add(f, stream_faults[kind].id, SEVERITY_WARN, stream_faults[kind].title, detail);
    finder_affects(x, "output_tps_user",
                   kind == STREAM_ONE_PIECE ? NAN : 100 * (burst / whole - 1));
    finder_affects(x, "tpot", kind == STREAM_ONE_PIECE ? NAN : 100 * (whole / burst - 1));
    for (size_t i = 0; i < n && i < CITED_MOST; i++) {
        finder_cite_start(x, &f->a->requests.v[cited[i]]);
        finder_cite_text(x, &f->a->requests.v[cited[i]]);
    }
}

static void find_streams(struct finder *f)
{
    struct scope s = {.a = f->a, .o = f->o, .rate_bounds = f->rate_bounds};
    for (size_t i = 0; i < f->a->requests.n; i++) {
        if (f->a->requests.v[i].trace == f->trace && f->a->requests.v[i].dialect != NULL)
            VEC_PUSH(&s.requests, i);
    }
    for (int kind = STREAM_COLLECTED; kind < STREAM_FAULTS; kind++)
        find_stream_fault(f, &s, (enum stream_fault)kind);
    VEC_FREE(&s.requests);
}

/* --- queues ----------------------------------------------------------------------------------- */

static int by_group(const void *a, const void *b)
{
    const struct request *x = *(const struct request *const *)a,
                         *y = *(const struct request *const *)b;
    int64_t p = formula_when(x, AT_O1), q = formula_when(y, AT_O1);
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (p > q) - (p < q);
}

/* Does each member's text begin only when the text of the one before has ended, though it was sent
 * earlier? Without a measurable decode rate this says nothing: what comes in one piece always does.
 */
static bool queued(const struct request *const *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!metrics_request_counts(v[i]) ||
            v[i]->metrics[M_OUTPUT_TPS_USER].grade == GRADE_NOT_MEASURABLE)
            return false;
        int64_t before = i > 0 ? formula_when(v[i - 1], AT_OM) : 0;
        if (i > 0 && (formula_when(v[i], AT_O1) < before - QUEUED_SLACK_NS || v[i]->t0 >= before))
            return false;
    }
    return n > 1;
}

static double wait_ns(const struct request *r)
{
    return (double)(formula_when(r, AT_O1) - r->t0);
}

static void find_queue(struct finder *f, size_t run)
{
    VEC(const struct request *) all = {0};
    for (size_t i = 0; i < f->a->runs.v[run].requests.n; i++) {
        const struct request *r = &f->a->requests.v[f->a->runs.v[run].requests.v[i]];
        if (r->group >= 0)
            VEC_PUSH(&all, r);
    }
    if (all.n > 0)
        qsort(all.v, all.n, sizeof *all.v, by_group);
    size_t groups = 0, serial = 0, cited = 0;
    double later = 0;
    for (size_t i = 0, end; i < all.n; i = end) {
        for (end = i + 1; end < all.n && all.v[end]->group == all.v[i]->group;)
            end++;
        groups += end - i > 1;
        if (!queued(all.v + i, end - i))
            continue;
        cited = serial++ == 0 ? i : cited;
        later += wait_ns(all.v[end - 1]) / fmax(1, wait_ns(all.v[i])) - 1;
    }
    if (serial * 2 > groups) {
        struct finding *x = finder_add(
            f, "server.serial-queue", SEVERITY_INFO,
            "Requests sent together were served one after the other",
            audit_printf(f->a,
                         "In %zu of %zu groups released together, each answer began only when "
                         "the one before it had ended: concurrency buys nothing here, and "
                         "the wait is in the time to first text.",
                         serial, groups));
        x->run = run + 1;
        finder_affects(x, "ttft", 100 * later / (double)serial);
        finder_cite_text(x, all.v[cited]);
        finder_cite_text(x, all.v[cited + 1]);
    }
    VEC_FREE(&all);
}

/* ---------------------------------------------------------------------------------------------- */

void findings_find(struct audit *a, const struct audit_options *o)
{
    double *bounds = formula_rate_bounds(a, o);
    for (size_t i = 0; i < a->traces.n; i++) {
        struct finder f = {a, o, i, bounds};
        find_damage(&f, &a->traces.v[i]);
        find_part(&f, &a->traces.v[i]);
        find_losses(&f, &a->traces.v[i]);
        find_clock(&f, &a->traces.v[i]);
        find_unread_packets(&f, &a->traces.v[i]);
        find_unreadable(&f, &a->traces.v[i]);
        find_guesses(&f);
        find_failures(&f);
        find_streams(&f);
        findings_server(&f);
        for (size_t run = 0; run < a->runs.n; run++) {
            if (a->runs.v[run].trace == i)
                find_queue(&f, run);
        }
    }
    free(bounds);
}
