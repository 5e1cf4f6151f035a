/* Findings of the client and of the way between: what a figure blames on the server and is not its
 * doing. */
#include <inttypes.h>
#include <math.h>

#include "analyze/finder.h"
#include "analyze/ledger_counts.h"
#include "analyze/metrics.h"
#include "analyze/metrics_speedup.h"
#include "traces/base/clock.h"
#include "traces/base/units.h"

/* Where it was seen first during a request, of those that show it. */
static void cite_place(struct finding *x, const struct request *r, struct tcp_place at,
                       bool response, const char *what)
{
    if (at.t_ns >= r->t0)
        finder_cite(x, r, at.pkt, response, EVIDENCE_NO_OFFSET, at.t_ns, what);
}

static enum shows waited_for_window(const struct finder *f, const struct request *r, double *times)
{
    (void)f;
    *times = r->zero_windows;
    return r->zero_windows > 0 ? SHOWS_YES : SHOWS_NO;
}

static void find_zero_windows(struct finder *f)
{
    struct found found = finder_gather(f, waited_for_window);
    uint64_t n = 0;
    if (found.n == 0)
        return;
    for (size_t i = 0; i < f->scope->n; i++)
        n += finder_nth(f, i)->zero_windows;
    struct finding *x = finder_add(
        f, FINDING_CLIENT_ZERO_WINDOW,
        audit_printf(
            f->a,
            "The client's receive window was closed %" PRIu64
            " times, during %zu of %zu requests: the sender had to wait for the receiver, and gaps "
            "between events may be the client's.",
            n, found.n, found.of));
    finder_affects(x, "e2el", NAN);
    finder_affects(x, "output_tps_user", NAN);
    for (size_t i = 0; i < found.n && i < CITED_MOST; i++) {
        const struct request *r = &f->a->requests.v[found.first[i]];
        cite_place(x, r, r->closed, false,
                   audit_printf(f->a, "a closed window, the first of %" PRIu32, r->zero_windows));
    }
}

/* What its machine held ready, or did not even acknowledge. A clock that was set makes times of
 * nothing, a packet that was not captured makes an acknowledgement late. */
static enum shows waited(const struct finder *f, const struct request *r, const struct tcp_wait *w,
                         int64_t least_ns, double *wait_s)
{
    if (r->clock_stepped || r->t_end <= r->t0 || trace_drops(&f->a->traces.v[f->trace]) > 0)
        return SHOWS_SILENT;
    *wait_s = (double)w->ns / NS_PER_S;
    return w->n > 0 && w->ns >= least_ns ? SHOWS_YES : SHOWS_NO;
}

static enum shows read_slowly(const struct finder *f, const struct request *r, double *wait_s)
{
    int64_t share = llround(f->o->unread_share * (double)(r->t_end - r->t0));
    return waited(f, r, &r->unread, share > f->o->unread_ns ? share : f->o->unread_ns, wait_s);
}

/* An acknowledgement that is not in the trace is none that was late. */
static enum shows acknowledged_late(const struct finder *f, const struct request *r, double *wait_s)
{
    const struct trace_info *t = &f->a->traces.v[f->trace];
    if (trace_drops(t) != 0 || t->totals.tcp.gaps > 0 || r->damaged)
        return SHOWS_SILENT;
    return waited(f, r, &r->late_ack, f->o->late_ack_ns, wait_s);
}

static void cite_waits(const struct finder *f, struct finding *x, const struct found *found,
                       bool unread)
{
    for (size_t i = 0; i < found->n && i < CITED_MOST; i++) {
        const struct request *r = &f->a->requests.v[found->first[i]];
        const struct tcp_wait *w = unread ? &r->unread : &r->late_ack;
        finder_cite(x, r, w->pkt, false, EVIDENCE_NO_OFFSET, w->from_ns + w->ns,
                    unread ? "the window opens again" : "the late acknowledgement");
    }
}

static void find_slow_reader(struct finder *f)
{
    struct found found = finder_gather(f, read_slowly);
    char wait[32];
    if (found.n == 0)
        return;
    const struct tcp_wait *first = &f->a->requests.v[found.first[0]].unread;
    struct finding *x = finder_add(
        f, FINDING_CLIENT_SLOW_READER,
        audit_printf(
            f->a,
            "During %zu of %zu requests received bytes lay unread at the client, typically "
            "for at least %s (in the first, %" PRIu64
            " bytes at least): by the windows that it offered, its program did not read.",
            found.n, found.of, units_duration(llround(found.typical * NS_PER_S), wait),
            first->bytes));
    finder_affects(x, "icl", NAN);
    finder_affects(x, "output_tps_user", NAN);
    cite_waits(f, x, &found, true);
}

static void find_late_acks(struct finder *f)
{
    struct found found = finder_gather(f, acknowledged_late);
    char wait[32];
    if (found.n == 0)
        return;
    struct finding *x = finder_add(
        f, FINDING_CLIENT_LATE_ACK,
        audit_printf(f->a,
                     "During %zu of %zu requests what the server sent was acknowledged late, "
                     "typically after %s beyond the way to the client and back: its machine stood "
                     "still, or the way to it was choked.",
                     found.n, found.of, units_duration(llround(found.typical * NS_PER_S), wait)));
    finder_affects(x, "icl", NAN);
    finder_affects(x, "ttft", NAN);
    cite_waits(f, x, &found, false);
}

/* --- connections (P36) ------------------------------------------------------------------------ */

static void cite_connections(const struct finder *f, struct finding *x, const struct found *found)
{
    for (size_t i = 0; i < found->n && i < CITED_MOST; i++) {
        const struct request *r = &f->a->requests.v[found->first[i]];
        finder_cite(x, r, r->syn_packet, false, EVIDENCE_NO_OFFSET, r->syn_ns, "its SYN");
        finder_cite_start(x, r);
    }
}

static enum shows opens(const struct finder *f, const struct request *r, double *setup_s)
{
    (void)f;
    if (!metrics_request_counts(r))
        return SHOWS_SILENT;
    if (r->syn_ns < 0 || r->accepted_ns < 0)
        return SHOWS_NO;
    *setup_s = (double)(r->accepted_ns - r->syn_ns) / NS_PER_S;
    return SHOWS_YES;
}

static enum shows waits(const struct finder *f, const struct request *r, double *ttft_s)
{
    (void)f;
    *ttft_s = r->metrics[M_TTFT].v;
    return metrics_request_counts(r) && r->metrics[M_TTFT].grade != GRADE_NOT_MEASURABLE
               ? SHOWS_YES
               : SHOWS_SILENT;
}

static void find_connections(struct finder *f)
{
    struct found found = finder_gather(f, opens), all = finder_gather(f, waits);
    char setup[32], ttft[32];
    if (found.n == 0 || isnan(all.typical) || found.typical < f->o->connect_share * all.typical)
        return;
    struct finding *x = finder_add(
        f, FINDING_CLIENT_CONNECTIONS,
        audit_printf(f->a,
                     "%zu of %zu requests opened a connection of their own, which typically took "
                     "%s until it was accepted, where the first text takes %s: who starts the "
                     "clock before connecting has that in the time to first token.",
                     found.n, found.of, units_duration(llround(found.typical * NS_PER_S), setup),
                     units_duration(llround(all.typical * NS_PER_S), ttft)));
    finder_affects(x, "ttft", 100 * found.typical / all.typical);
    cite_connections(f, x, &found);
}

static enum shows opens_slowly(const struct finder *f, const struct request *r, double *setup_s)
{
    if (r->syn_ns < 0 || r->accepted_ns < 0)
        return SHOWS_SILENT;
    *setup_s = (double)(r->accepted_ns - r->syn_ns) / NS_PER_S;
    return r->accepted_ns - r->syn_ns >= f->o->slow_connect_ns ? SHOWS_YES : SHOWS_NO;
}

static void find_slow_connections(struct finder *f)
{
    struct found found = finder_gather(f, opens_slowly);
    char setup[32];
    if (found.n == 0)
        return;
    struct finding *x = finder_add(
        f, FINDING_NETWORK_SLOW_CONNECT,
        audit_printf(
            f->a,
            "%zu of %zu connections took long, typically %s, until they were accepted: the first "
            "packet was lost, or nobody took connections.",
            found.n, found.of, units_duration(llround(found.typical * NS_PER_S), setup)));
    finder_affects(x, "ttft", NAN);
    cite_connections(f, x, &found);
}

/* --- the network ------------------------------------------------------------------------------ */

/* What the receiver had already was not lost; nor what it had no room for. */
static uint32_t lost_on_the_way(const struct request *r)
{
    return r->zero_windows > 0 || r->needless > r->retransmissions
               ? 0
               : r->retransmissions - r->needless;
}

static enum shows was_resent(const struct finder *f, const struct request *r, double *times)
{
    (void)f;
    *times = lost_on_the_way(r);
    return lost_on_the_way(r) > 0 ? SHOWS_YES : SHOWS_NO;
}

enum { RESENT_MIN = 3 }; /* fewer are nobody's trouble */

static void find_retransmissions(struct finder *f)
{
    const struct tcp_totals *t = &f->a->traces.v[f->trace].totals.tcp;
    struct found found = finder_gather(f, was_resent);
    uint64_t n = 0;
    for (size_t i = 0; i < f->scope->n; i++)
        n += lost_on_the_way(finder_nth(f, i));
    if (n < RESENT_MIN || (double)n <= f->o->resent_share * (double)t->segments)
        return;
    struct finding *x = finder_add(
        f, FINDING_NETWORK_RETRANSMISSIONS,
        audit_printf(
            f->a,
            "%" PRIu64 " of %" PRIu64
            " segments were sent again, during %zu of %zu requests, and no receiver says that it "
            "had them already: packets were lost or late on the way, and the gaps behind them are "
            "the network's.",
            n, t->segments, found.n, found.of));
    finder_affects(x, "icl", NAN);
    finder_affects(x, "ttft", NAN);
    for (size_t i = 0; i < found.n && i < CITED_MOST; i++) {
        const struct request *r = &f->a->requests.v[found.first[i]];
        cite_place(x, r, r->resent, true,
                   audit_printf(f->a, "sent again, the first of %" PRIu32, r->retransmissions));
    }
}

static enum shows was_reset(const struct finder *f, const struct request *r, double *age_s)
{
    (void)f;
    *age_s = (double)(r->t_end - r->t0) / NS_PER_S;
    return r->end == END_RST && !r->whole && !r->left ? SHOWS_YES : SHOWS_NO;
}

static void find_resets(struct finder *f)
{
    struct found found = finder_gather(f, was_reset);
    char age[32];
    if (found.n == 0)
        return;
    struct finding *x = finder_add(
        f, FINDING_NETWORK_RESETS,
        audit_printf(
            f->a,
            "The connections of %zu of %zu requests were reset by the server's side before "
            "the reply was whole, typically %s after the request was sent.",
            found.n, found.of, units_duration(llround(found.typical * NS_PER_S), age)));
    finder_affects(x, "failed", 100 * (double)found.n / (double)found.of);
    for (size_t i = 0; i < found.n && i < CITED_MOST; i++) {
        const struct request *r = &f->a->requests.v[found.first[i]];
        cite_place(x, r, r->reset, true, "the reset");
    }
}

static enum shows has_left(const struct finder *f, const struct request *r, double *age_s)
{
    (void)f;
    *age_s = (double)(r->t_end - r->t0) / NS_PER_S;
    return r->left ? SHOWS_YES : SHOWS_NO;
}

/* Why, as far as the client's own ledger says it. */
static const char *why_left(const struct finder *f)
{
    const struct ledger_entry **v = mem_array(f->scope->n + 1, sizeof *v);
    struct ledger_counts counts = {0};
    struct buf text;
    size_t n = 0;
    for (size_t i = 0; i < f->scope->n; i++) {
        const struct request *r = finder_nth(f, i);
        if (r->left && r->ledger != NULL)
            v[n++] = r->ledger;
    }
    ledger_counts_of(v, n, &counts);
    buf_init(&text, 1024);
    ledger_counts_text(&counts, true, &text);
    const char *why = text.n > 0 ? audit_printf(f->a, "; its ledger says %s", buf_text(&text)) : "";
    buf_done(&text);
    VEC_FREE(&counts);
    free(v);
    return why;
}

static void find_left(struct finder *f)
{
    struct found found = finder_gather(f, has_left);
    char age[32];
    size_t begun = 0;
    if (found.n == 0)
        return;
    for (size_t i = 0; i < f->scope->n; i++) {
        const struct request *r = finder_nth(f, i);
        begun += r->left && r->h >= 0 && r->h <= r->t_end;
    }
    struct finding *x = finder_add(
        f, FINDING_CLIENT_LEFT,
        audit_printf(f->a,
                     "The client ended %zu of %zu requests itself, typically %s after it had sent "
                     "them; the replies of %zu had begun%s.",
                     found.n, found.of, units_duration(llround(found.typical * NS_PER_S), age),
                     begun, why_left(f)));
    finder_affects(x, "failed", 100 * (double)found.n / (double)found.of);
    for (size_t i = 0; i < found.n && i < CITED_MOST; i++)
        finder_cite_left(x, &f->a->requests.v[found.first[i]]);
}

void findings_client(struct finder *f)
{
    find_zero_windows(f);
    find_slow_reader(f);
    find_late_acks(f);
    find_connections(f);
    find_slow_connections(f);
    find_retransmissions(f);
    find_resets(f);
    find_left(f);
}
