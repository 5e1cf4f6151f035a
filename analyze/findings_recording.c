/* Findings of the recording itself: what it lacks, and what cannot be read. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/finder.h"
#include "analyze/formulas.h"
#include "analyze/metrics.h"
#include "analyze/stat.h"
#include "traces/base/buf.h"
#include "traces/base/units.h"
#include "traces/link.h"

static void find_damage(struct finder *f, const struct trace_info *t)
{
    const struct reader_health *h = &t->health;
    if (h->truncated)
        finder_add(f, FINDING_TRACE_TRUNCATED,
                   h->note[0] != '\0'
                       ? audit_printf(f->a, "%s. What comes before is used.", h->note)
                       : "The file ends inside a record. What comes before is used.");
    else if (!t->closed && t->vantage != NULL)
        finder_add(
            f, FINDING_TRACE_UNCLOSED,
            "The closing block is missing: the recorder was killed, or the file was cut between "
            "two records. Up to "
            "half a second may be missing at the end.");
    if (t->source_damage != NULL)
        finder_add(f, FINDING_TRACE_SOURCE_DAMAGED, audit_printf(f->a, "%s.", t->source_damage));
    if (h->damaged_members > 0 || h->bad_blocks > 0)
        finder_add(f, FINDING_TRACE_DAMAGED,
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
        f, FINDING_TRACE_PART,
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

/* What comes behind the first gap, and the requests that lack bytes. */
static void cite_losses(const struct finder *f, struct finding *x, const struct tcp_gap *gap)
{
    if (gap->pkt > 0)
        VEC_PUSH(&x->evidence, ((struct evidence){f->trace, gap->pkt, gap->conn, gap->from_server,
                                                  gap->off, gap->t_ns, "behind the first gap"}));
    for (size_t i = 0; i < f->a->requests.n && x->evidence.n < CITED_MOST; i++) {
        const struct request *r = &f->a->requests.v[i];
        if (r->trace == f->trace && r->dialect != NULL && r->damaged)
            finder_cite_start(x, r);
    }
}

static void find_losses(struct finder *f, const struct trace_info *t)
{
    const struct pipeline_totals *n = &t->totals;
    uint64_t dropped = (counted(n->counted_dropped) ? n->counted_dropped : 0) +
                       (counted(n->counted_if_dropped) ? n->counted_if_dropped : 0);
    size_t damaged = 0, requests = 0, unseen = 0;
    for (size_t i = 0; i < f->a->requests.n; i++) {
        const struct request *r = &f->a->requests.v[i];
        requests += r->trace == f->trace && r->dialect != NULL;
        damaged += r->trace == f->trace && r->dialect != NULL && r->damaged;
        unseen += r->trace == f->trace && r->outcome == OUTCOME_UNSEEN;
    }
    const char *ends =
        unseen > 0 ? audit_printf(f->a, ", and how %zu of them ended is not known", unseen) : "";
    if (dropped == 0 && n->tcp.gaps == 0 && n->snapped == 0)
        return;
    enum finding_id id = dropped > 0       ? FINDING_CAPTURE_DROPS
                         : n->tcp.gaps > 0 ? FINDING_CAPTURE_GAPS
                                           : FINDING_CAPTURE_SNAPPED;
    struct finding *x = finder_add(
        f, id,
        audit_printf(f->a,
                     "%" PRIu64 " packets were dropped while recording, %" PRIu64
                     " were cut short, and %" PRIu64 " gaps with %" PRIu64
                     " bytes are in the connections; %zu of %zu requests are damaged "
                     "and take part in no quantile%s.",
                     dropped, n->snapped, n->tcp.gaps, n->tcp.gap_bytes, damaged, requests, ends));
    finder_affects(x, "output_tps", NAN);
    finder_affects(x, "output_tokens", NAN);
    cite_losses(f, x, &n->tcp.first_gap);
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
        f, FINDING_TRACE_CLOCK_STEP,
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
            f, FINDING_TRACE_UNREAD_LINK,
            audit_printf(f->a,
                         "%" PRIu64 " of %" PRIu64 " packets are of link type %s, which is not "
                         "read here: what they carry takes part in no figure.",
                         t->totals.unknown_link_packets, t->totals.packets, buf_text(&links)));
        buf_done(&links);
    }
    if (t->totals.timeless > 0)
        finder_add(f, FINDING_TRACE_TIMELESS,
                   audit_printf(f->a,
                                "%" PRIu64 " of %" PRIu64
                                " packets carry no time stamp and are left out.",
                                t->totals.timeless, t->totals.packets));
    if (t->totals.twins > 0)
        finder_add(f, FINDING_TRACE_TWINS,
                   audit_printf(f->a,
                                "%" PRIu64 " of %" PRIu64
                                " packets had been seen at another interface "
                                "less than a millisecond before. The first copy counts.",
                                t->totals.twins, t->totals.packets));
    if (t->totals.fragments_lost > 0)
        finder_add(
            f, FINDING_TRACE_FRAGMENTS,
            audit_printf(f->a,
                         "Of %" PRIu64 " fragments of IP packets %" PRIu64
                         " stayed without the others, or were none: what they carry is missing.",
                         t->totals.fragments, t->totals.fragments_lost));
}

static void find_unreadable(struct finder *f, const struct trace_info *t)
{
    if (t->totals.tls_connections > 0)
        finder_add(f, FINDING_TRACE_TLS,
                   audit_printf(f->a,
                                "%" PRIu64
                                " connections speak TLS. Nothing in them takes part in any figure.",
                                t->totals.tls_connections));
    if (t->totals.http2_connections > 0)
        finder_add(
            f, FINDING_TRACE_HTTP2,
            audit_printf(f->a,
                         "%" PRIu64
                         " connections speak HTTP/2. Nothing in them takes part in any figure.",
                         t->totals.http2_connections));
}

void findings_recording(struct finder *f)
{
    const struct trace_info *t = &f->a->traces.v[f->trace];
    find_damage(f, t);
    find_part(f, t);
    find_losses(f, t);
    find_clock(f, t);
    find_unread_packets(f, t);
    find_unreadable(f, t);
}
