/* All stages in a row, IP fragments put together in between, and what is counted on the way.
 * Connections that speak TLS (RFC 8446, 5.1) or HTTP/2 (RFC 9113, 3.4) are known by their first
 * bytes, counted, and not read. */
#include "traces/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "traces/base/json.h"
#include "traces/base/mem.h"
#include "traces/custom.h"
#include "traces/fragments.h"
#include "traces/sniff.h"
#include "traces/tcp.h"
#include "traces/twins.h"

struct flow;

struct side {
    struct flow *flow;
    enum pipeline_side which;
    struct sniff sniff;
    bool plain; /* what it speaks is known: HTTP/1, or nothing that we know better */
};

struct flow {
    struct pipeline *p;
    const struct tcp_conn *conn;
    struct exchange_conn *exchanges; /* NULL before the first data */
    bool opaque;
    struct side client, server;
};

struct pipeline {
    struct pipeline_sink sink;
    struct pipeline_totals *totals;
    struct fragments *fragments;
    struct twins *twins; /* NULL: one interface */
    struct tcp *tcp;
    uint64_t frames;               /* of the readers before … */
    struct pipeline_totals before; /* … their counts */
    const struct segment *now;     /* that is being looked at; NULL: the trace is over */
    struct exchange_shared shared;
};

/* --- a connection --------------------------------------------------------------------------- */

static const struct slice opaque_starts[] = {{"\x16\x03", 2}, {"PRI * HT", 8}, {NULL, 0}};

static void become_opaque(struct flow *f, unsigned which)
{
    if (which == 1)
        f->p->totals->tls_connections++;
    else
        f->p->totals->http2_connections++;
    f->opaque = true;
}

static struct byte_sink exchange_of(struct side *s)
{
    struct flow *f = s->flow;
    if (f->exchanges == NULL)
        f->exchanges = exchange_conn_new(f->conn, f->p->sink.exchange, &f->p->shared);
    return s->which == PIPELINE_CLIENT ? exchange_from_client(f->exchanges)
                                       : exchange_from_server(f->exchanges);
}

static int tapped_data(void *ctx, struct span in)
{
    struct side *s = ctx;
    const struct pipeline_sink *sink = &s->flow->p->sink;
    int rc = sink->tap->data(sink->exchange.ctx, s->flow->conn, s->which, in);
    struct byte_sink to = exchange_of(s);
    return rc == TA_OK ? to.data(to.ctx, in) : rc;
}

static int tapped_gap(void *ctx, uint64_t n, struct mark at)
{
    struct side *s = ctx;
    const struct pipeline_sink *sink = &s->flow->p->sink;
    int rc = sink->tap->gap(sink->exchange.ctx, s->flow->conn, s->which, n, at);
    struct byte_sink to = exchange_of(s);
    return rc == TA_OK ? to.gap(to.ctx, n, at) : rc;
}

/* A reset ends both sides at once, and is one's. */
static enum pipeline_side ended_by(const struct side *s, enum end_kind why)
{
    const struct segment *now = s->flow->p->now;
    const struct endpoint *server = &s->flow->conn->server;
    if (why != END_RST || now == NULL)
        return s->which;
    return now->from.port == server->port && now->from.family == server->family &&
                   memcmp(now->from.addr, server->addr, sizeof server->addr) == 0
               ? PIPELINE_SERVER
               : PIPELINE_CLIENT;
}

static int tapped_end(void *ctx, enum end_kind why, struct mark at)
{
    struct side *s = ctx;
    const struct pipeline_sink *sink = &s->flow->p->sink;
    int rc = sink->tap->end(sink->exchange.ctx, s->flow->conn, s->which, why, ended_by(s, why), at);
    struct byte_sink to = exchange_of(s);
    return rc == TA_OK ? to.end(to.ctx, why, at) : rc;
}

static struct byte_sink reader_of(struct side *s)
{
    if (s->flow->p->sink.tap != NULL)
        return (struct byte_sink){s, tapped_data, tapped_gap, tapped_end};
    return exchange_of(s);
}

static int settle(struct side *s)
{
    s->plain = true;
    return sniff_release(&s->sniff, reader_of(s));
}

static int side_data(void *ctx, struct span in)
{
    struct side *s = ctx;
    int rc = TA_OK;
    if (!s->plain && !s->flow->opaque) {
        unsigned which;
        if (!sniff_decide(&s->sniff, &in, opaque_starts, &which))
            return TA_OK;
        if (which > 0)
            become_opaque(s->flow, which);
        else
            rc = settle(s);
    }
    if (s->flow->opaque || rc != TA_OK || in.n == 0)
        return rc;
    struct byte_sink to = reader_of(s);
    return to.data(to.ctx, in);
}

static int side_gap(void *ctx, uint64_t n, struct mark at)
{
    struct side *s = ctx;
    int rc = s->plain || s->flow->opaque ? TA_OK : settle(s);
    if (s->flow->opaque || rc != TA_OK)
        return rc;
    struct byte_sink to = reader_of(s);
    return to.gap(to.ctx, n, at);
}

static int side_end(void *ctx, enum end_kind why, struct mark at)
{
    struct side *s = ctx;
    int rc = s->plain || s->flow->opaque ? TA_OK : settle(s);
    if (s->flow->opaque || rc != TA_OK)
        return rc;
    struct byte_sink to = reader_of(s);
    return to.end(to.ctx, why, at);
}

static int open_flow(void *ctx, const struct tcp_conn *conn, void **user,
                     struct byte_sink *from_client, struct byte_sink *from_server)
{
    struct flow *f = mem_zalloc(sizeof *f);
    f->p = ctx;
    f->conn = conn;
    f->client = (struct side){.flow = f, .which = PIPELINE_CLIENT};
    f->server = (struct side){.flow = f, .which = PIPELINE_SERVER};
    *user = f;
    *from_client = (struct byte_sink){&f->client, side_data, side_gap, side_end};
    *from_server = (struct byte_sink){&f->server, side_data, side_gap, side_end};
    return TA_OK;
}

static void close_flow(void *ctx, const struct tcp_conn *conn, void *user)
{
    struct flow *f = user;
    const struct pipeline_sink *sink = &f->p->sink;
    (void)ctx;
    exchange_conn_free(f->exchanges);
    if (sink->tap != NULL)
        sink->tap->closed(sink->exchange.ctx, conn);
    free(f);
}

/* --- records -------------------------------------------------------------------------------- */

static void count_packet(struct pipeline_totals *t, const struct rec *r)
{
    if (t->packets++ == 0) {
        t->first_frame = r->frame;
        t->link = r->link;
    }
    if (r->n < r->wire_n)
        t->snapped++;
    if (!r->has_time) {
        t->timeless++;
        return;
    }
    if (t->packets - t->timeless == 1)
        t->first_t_ns = t->last_t_ns = r->t_ns;
    if (r->t_ns > t->last_t_ns)
        t->last_t_ns = r->t_ns;
}

static void count_unknown_link(struct pipeline_totals *t, uint16_t link)
{
    size_t i = 0;
    t->unknown_link_packets++;
    while (i < t->unknown_links_n && t->unknown_links[i] != link)
        i++;
    if (i == t->unknown_links_n && i < sizeof t->unknown_links / sizeof t->unknown_links[0])
        t->unknown_links[t->unknown_links_n++] = link;
}

/* Has another interface shown it? Most captures are of one, and are not looked at. */
static bool is_twin(struct pipeline *p, const struct rec *r, const struct segment *s)
{
    if (p->twins == NULL && r->interfaces < 2 && r->link != LINK_SLL2)
        return false;
    if (p->twins == NULL)
        p->twins = twins_new();
    bool twin = twins_saw(p->twins, link_interface(r->link, r->p, r->n, r->interface), s, r->t_ns);
    p->totals->twins += twin;
    return twin;
}

static int take_segment(struct pipeline *p, const struct segment *s, const struct rec *r)
{
    if (is_twin(p, r, s))
        return TA_OK;
    p->now = s;
    int rc = tcp_segment(p->tcp, s, r->t_ns, r->frame);
    p->now = NULL;
    return rc;
}

static int take_packet(struct pipeline *p, const struct rec *r)
{
    struct pipeline_totals *t = p->totals;
    struct segment s;
    int rc = p->sink.packet != NULL ? p->sink.packet(p->sink.exchange.ctx, r) : TA_OK;
    count_packet(t, r);
    if (rc != TA_OK || !r->has_time)
        return rc;
    switch (fragments_decode(p->fragments, r->link, r->p, r->n, r->wire_n, r->t_ns, &s)) {
    case LINK_TCP:
        return take_segment(p, &s, r);
    case LINK_OTHER:
        t->not_tcp++;
        break;
    case LINK_BAD:
        t->bad_headers++;
        break;
    case LINK_UNKNOWN:
        count_unknown_link(t, r->link);
        break;
    case LINK_IP:
    case LINK_FRAGMENT: /* the others are still to come */
        break;
    }
    return TA_OK;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
    return a == UINT64_MAX ? b : b == UINT64_MAX ? a : a + b;
}

/* What the trace says of itself that must be known to read it. */
static void take_manifest(struct pipeline *p, struct slice json)
{
    if (!custom_is(json, "manifest"))
        return;
    struct json *v = json_parse(json.p, json.n, NULL);
    const char *redacted = json_string(v, "redacted");
    p->shared.blanked = redacted != NULL && strcmp(redacted, "bodies") == 0;
    json_free(v);
}

static int take_record(struct pipeline *p, const struct rec *r)
{
    switch (r->kind) {
    case REC_PACKET:
        return take_packet(p, r);
    case REC_CUSTOM:
        take_manifest(p, r->json);
        return p->sink.custom != NULL ? p->sink.custom(p->sink.exchange.ctx, r) : TA_OK;
    case REC_COUNTS:
        p->totals->counted_received = sum(p->before.counted_received, r->received);
        p->totals->counted_dropped = sum(p->before.counted_dropped, r->dropped);
        p->totals->counted_if_dropped = sum(p->before.counted_if_dropped, r->if_dropped);
        break;
    }
    return TA_OK;
}

static int read_all(struct pipeline *p, struct reader *r, struct err *e)
{
    struct rec rec;
    uint64_t frames = 0;
    int rc = TA_OK, more = 0;
    while (rc == TA_OK && (more = reader_next(r, &rec, e)) == 1) {
        frames = rec.frame > frames ? rec.frame : frames;
        rec.frame += p->frames;
        rc = take_record(p, &rec);
    }
    p->frames += frames;
    p->before = *p->totals;
    return more < 0 ? more : rc;
}

static void pass_anomaly(void *ctx, const struct anomaly *a)
{
    struct pipeline *p = ctx;
    if (p->sink.exchange.anomaly != NULL)
        p->sink.exchange.anomaly(p->sink.exchange.ctx, NULL, a);
}

int pipeline_run(struct reader *r, struct pipeline_sink sink, struct pipeline_totals *totals,
                 struct err *e)
{
    *totals = (struct pipeline_totals){.counted_received = UINT64_MAX,
                                       .counted_dropped = UINT64_MAX,
                                       .counted_if_dropped = UINT64_MAX};
    struct pipeline p = {.sink = sink, .totals = totals, .before = *totals};
    p.fragments = fragments_new();
    p.tcp = tcp_new((struct tcp_sink){&p, open_flow, close_flow},
                    (struct anomaly_sink){&p, pass_anomaly});
    int rc = read_all(&p, r, e);
    while (rc == TA_OK && sink.next != NULL && (r = sink.next(sink.exchange.ctx, p.frames)) != NULL)
        rc = read_all(&p, r, e);
    if (rc == TA_OK)
        rc = tcp_finish(p.tcp);
    totals->tcp = tcp_totals(p.tcp);
    totals->before = p.shared.before;
    totals->fragments = fragments_totals(p.fragments).fragments;
    totals->fragments_lost = fragments_totals(p.fragments).lost;
    fragments_free(p.fragments);
    twins_free(p.twins);
    tcp_free(p.tcp);
    return rc;
}
