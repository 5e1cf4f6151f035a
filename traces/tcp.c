/* Connections of a trace (RFC 9293; pitfalls T1, T2, T8 to T11, T15, T17): who is the client, where
 * one ends and the next on the same ports begins. What is in a direction: tcp_stream.c. */
#include "traces/tcp.h"

#include <stdlib.h>
#include <string.h>

#include "traces/base/mem.h"
#include "traces/limits.h"
#include "traces/tcp_key.h"
#include "traces/tcp_receiver.h"
#include "traces/tcp_stream.h"

#define HASH_FUNCTION(key, n, hash) ((hash) = tcp_key_hash(key))
#define uthash_malloc(size) mem_alloc(size)
#include <uthash.h>
#include <utlist.h>

/* Short chains: with thousands of connections each link is a miss of the cache. */
#undef HASH_BKT_CAPACITY_THRESH
#define HASH_BKT_CAPACITY_THRESH 4U

enum { NEAR = 1 << 30, REMEMBERED = 1024 };

enum { CLIENT, SERVER };

struct connection {
    UT_hash_handle
        hh; /* first, with what a search and the lists look at: other connections', too */
    struct tcp_key key;
    struct connection *prev, *next; /* among the open or the closed, longest idle first */
    struct tcp_conn conn;
    struct tcp_counts counts;
    struct tcp_stream side[2];    /* sent by CLIENT, SERVER */
    bool zero_window[2];          /* what it last said of its own window */
    struct tcp_receiver receiver; /* the client */
    bool left;                    /* a side has ended */
    bool answered;                /* the server has spoken since the client did */
    bool closed; /* both directions have ended: kept for a while, to know stragglers by */
    void *user;
};

struct tcp {
    struct tcp_sink out;
    struct anomaly_sink bad;
    struct tcp_totals totals;
    struct connection *table, *open, *closed;
    struct connection *latest; /* of the segment before: most are followed by one of the same */
    size_t n_open, n_closed;
    struct tcp_now now;
    int rc;
};

struct tcp *tcp_new(struct tcp_sink out, struct anomaly_sink bad)
{
    struct tcp *t = mem_zalloc(sizeof *t);
    t->out = out;
    t->bad = bad;
    t->now.t_ns = INT64_MIN;
    return t;
}

static struct mark mark_now(const struct tcp *t)
{
    return (struct mark){0, t->now.t_ns, t->now.t_ns, t->now.pkt, t->now.pkt};
}

/* --- the table ------------------------------------------------------------------------------ */

static bool same_endpoint(const struct endpoint *a, const struct endpoint *b)
{
    return a->family == b->family && a->port == b->port && memcmp(a->addr, b->addr, 16) == 0;
}

static struct connection *find(struct tcp *t, const struct tcp_key *key)
{
    struct connection *c = t->latest;
    if (c == NULL || memcmp(&c->key, key, sizeof *key) != 0)
        HASH_FIND(hh, t->table, key, sizeof *key, c);
    return c;
}

/* Both directions are over: the user's part goes, the rest stays to recognise stragglers. */
static void retire(struct tcp *t, struct connection *c)
{
    c->closed = true;
    DL_DELETE(t->open, c);
    t->n_open--;
    DL_APPEND(t->closed, c);
    t->n_closed++;
    for (int i = CLIENT; i <= SERVER; i++)
        tcp_stream_done(&c->side[i]);
    if (t->out.close != NULL)
        t->out.close(t->out.ctx, &c->conn, c->user);
    c->user = NULL;
}

/* A closed connection goes for good. */
static void forget(struct tcp *t, struct connection *c)
{
    DL_DELETE(t->closed, c);
    t->n_closed--;
    HASH_DEL(t->table, c);
    if (t->latest == c)
        t->latest = NULL;
    free(c);
}

/* Ends what has not ended. */
static void finish(struct tcp *t, struct connection *c, enum end_kind why)
{
    for (int i = CLIENT; i <= SERVER && t->rc == TA_OK; i++)
        t->rc = tcp_stream_close(&c->side[i], why, t->now);
    if (t->rc == TA_OK)
        retire(t, c);
}

static void make_room(struct tcp *t)
{
    while (t->n_closed > REMEMBERED)
        forget(t, t->closed);
    while (t->n_open >= LIMIT_TCP_CONNECTIONS && t->rc == TA_OK) {
        struct connection *idle = t->open;
        anomaly_note(t->bad, "tcp.too-many-connections", mark_now(t), 0);
        finish(t, idle, END_TRACE);
        if (t->rc == TA_OK)
            forget(t, idle);
    }
}

/* --- who is who ----------------------------------------------------------------------------- */

static bool starts_with(const struct segment *s, const char *text)
{
    size_t n = strlen(text);
    return s->n >= n && memcmp(s->data, text, n) == 0;
}

/* Is the sender the client? By SYN, else by what it says first, else the server has the lower port.
 */
static bool from_client(const struct segment *s)
{
    static const char *const methods[] = {"GET ",     "POST ",  "PUT ",     "HEAD ", "DELETE ",
                                          "OPTIONS ", "PATCH ", "CONNECT ", "PRI * "};
    if (s->flags & TCP_SYN)
        return !(s->flags & TCP_ACK);
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (starts_with(s, methods[i]))
            return true;
    if (starts_with(s, "HTTP/"))
        return false;
    return s->from.port >= s->to.port;
}

static struct connection *open_connection(struct tcp *t, const struct segment *s,
                                          const struct tcp_key *key)
{
    make_room(t);
    if (t->rc != TA_OK)
        return NULL;
    struct connection *c = mem_zalloc(sizeof *c);
    bool client = from_client(s);
    c->conn = (struct tcp_conn){
        .id = ++t->totals.connections,
        .client = client ? s->from : s->to,
        .server = client ? s->to : s->from,
        .first_pkt = t->now.pkt,
        .t_syn = -1,
        .t_synack = -1,
        .t_established = -1,
        .t_left = -1,
        .midstream = !(s->flags & TCP_SYN),
    };
    c->key = *key;
    c->counts = (struct tcp_counts){&c->conn, &t->totals, t->bad};
    for (int i = CLIENT; i <= SERVER; i++)
        tcp_stream_init(&c->side[i], &c->counts);
    c->side[SERVER].of_server = true;
    c->side[CLIENT].behind = &c->conn.behind;
    HASH_ADD(hh, t->table, key, sizeof c->key, c);
    DL_APPEND(t->open, c);
    t->n_open++;
    if (t->out.open != NULL)
        t->rc = t->out.open(t->out.ctx, &c->conn, &c->user, &c->side[CLIENT].sink,
                            &c->side[SERVER].sink);
    return c;
}

/* Does the segment belong to another connection than c, which has the same ports? */
static bool is_another(const struct connection *c, const struct segment *s, int from)
{
    const struct tcp_stream *stream = &c->side[from];
    if (s->flags & TCP_SYN) /* a retransmitted SYN has the same number */
        return stream->synced ? stream->base != s->seq + 1 : c->closed;
    if (s->wire_n == 0 || s->flags & TCP_RST || !stream->synced)
        return false;
    int64_t ahead = tcp_stream_offset(stream, s->seq) - (int64_t)stream->next;
    if (!c->closed || !stream->fin)
        return ahead > NEAR || ahead < -(int64_t)NEAR;
    return ahead > 0 || ahead + (int64_t)stream->next < -1;
}

static int side_of(const struct connection *c, const struct segment *s)
{
    return same_endpoint(&c->conn.client, &s->from) ? CLIENT : SERVER;
}

/* The segment's connection; NULL if it is none's and begins none. */
static struct connection *connection_of(struct tcp *t, const struct segment *s)
{
    struct tcp_key key;
    (void)tcp_key_of(s, &key);
    struct connection *c = find(t, &key);
    if (c != NULL && is_another(c, s, side_of(c, s))) {
        if (!c->closed)
            finish(t, c, END_TRACE);
        if (t->rc != TA_OK)
            return NULL;
        forget(t, c);
        c = NULL;
    }
    if (c == NULL && (s->flags & TCP_SYN || (s->wire_n > 0 && !(s->flags & TCP_RST))))
        c = open_connection(t, s, &key);
    t->latest = c;
    return c;
}

/* --- a segment ------------------------------------------------------------------------------ */

static void handshake(struct connection *c, const struct segment *s, int from, int64_t t_ns)
{
    struct tcp_conn *conn = &c->conn;
    if (s->flags & TCP_SYN) {
        tcp_receiver_syn(&c->receiver, s, from == CLIENT);
        tcp_stream_sync(&c->side[from], s->seq + 1);
        if (s->flags & TCP_ACK)
            tcp_stream_sync(&c->side[!from], s->ack);
        int64_t *t = s->flags & TCP_ACK ? &conn->t_synack : &conn->t_syn;
        if (*t < 0)
            *t = t_ns;
        conn->midstream = false;
    } else if (from == CLIENT && s->flags & TCP_ACK && conn->t_synack >= 0 &&
               conn->t_established < 0) {
        conn->t_established = t_ns;
    }
}

/* Which side ended first? Of a reset only if it is the connection's. */
static void watch_end(struct connection *c, int from, struct tcp_now now)
{
    if (!c->left && from == CLIENT) {
        c->conn.t_left = now.t_ns;
        c->conn.left_pkt = now.pkt;
    }
    c->left = true;
}

/* What the client says behind an answer begins its next request. */
static void watch_turn(struct connection *c, const struct segment *s, int from)
{
    const struct tcp_stream *own = &c->side[CLIENT];
    if (s->wire_n == 0)
        return;
    if (from == SERVER) {
        c->answered = true;
    } else if (c->answered &&
               tcp_stream_offset(own, s->seq) + (int64_t)s->wire_n > (int64_t)own->next) {
        c->answered = false;
        c->conn.closed = c->conn.resent = (struct tcp_place){0};
    }
}

static void watch_window(struct tcp *t, struct connection *c, const struct segment *s, int from)
{
    if (s->flags & (TCP_RST | TCP_SYN))
        return;
    if (s->window == 0 && !c->zero_window[from]) {
        c->conn.zero_windows[from]++;
        t->totals.zero_windows++;
        if (from == CLIENT && c->conn.closed.pkt == 0)
            c->conn.closed = (struct tcp_place){t->now.pkt, t->now.t_ns};
    }
    c->zero_window[from] = s->window == 0;
}

/* Before what it acknowledges is known to the streams. */
static void watch_receiver(struct connection *c, const struct segment *s, int from,
                           struct tcp_now now)
{
    const struct tcp_stream *sent = &c->side[SERVER], *own = &c->side[CLIENT];
    if (s->flags & (TCP_SYN | TCP_RST) || !sent->synced)
        return;
    if (from == SERVER) {
        c->receiver.server_spoke = true;
        int64_t off = tcp_stream_offset(sent, s->seq);
        if (s->wire_n > 0 && off >= 0)
            tcp_receiver_data(&c->receiver, (uint64_t)off, s->wire_n, now);
    } else if (s->flags & TCP_ACK) {
        int64_t acked = tcp_stream_offset(sent, s->ack);
        bool at_end = own->synced && tcp_stream_offset(own, s->seq) == (int64_t)own->next;
        if (acked >= 0)
            tcp_receiver_ack(&c->receiver, &c->conn, s, (uint64_t)acked, at_end, now);
    }
}

static int take_data(struct connection *c, const struct segment *s, int from, struct tcp_now now)
{
    struct tcp_stream *stream = &c->side[from];
    uint32_t seq = s->seq + (s->flags & TCP_SYN ? 1 : 0);
    if (s->wire_n == 0 && !(s->flags & TCP_FIN))
        return TA_OK;
    tcp_stream_sync(stream, seq);
    int64_t off = tcp_stream_offset(stream, seq);
    struct slice data = {(const char *)s->data, s->n};
    int rc = tcp_stream_data(stream, off, data, s->wire_n, now);
    if (s->flags & TCP_FIN)
        watch_end(c, from, now);
    if (rc == TA_OK && s->flags & TCP_FIN)
        rc = tcp_stream_fin(stream, off + (int64_t)s->wire_n, now);
    return rc;
}

/* A reset ends both directions, if it can be one of this connection's. Its payload says why it was
 * sent (RFC 9293, 3.10.7.1): not data. */
static void take_reset(struct tcp *t, struct connection *c, const struct segment *s, int from)
{
    const struct tcp_stream *stream = &c->side[from];
    int64_t ahead = tcp_stream_offset(stream, s->seq) - (int64_t)stream->next;
    if (stream->synced && !(s->flags & TCP_ACK && s->seq == 0) &&
        (ahead > NEAR || ahead < -(int64_t)NEAR)) {
        anomaly_note(t->bad, "tcp.stray-reset", mark_now(t), 0);
        return;
    }
    watch_end(c, from, t->now);
    c->conn.reset = (struct tcp_place){t->now.pkt, t->now.t_ns};
    finish(t, c, END_RST);
}

int tcp_segment(struct tcp *t, const struct segment *s, int64_t t_ns, uint64_t pkt)
{
    if (t->rc != TA_OK)
        return t->rc;
    t->now = (struct tcp_now){t_ns, pkt};
    t->totals.segments++;
    if (s->flags & TCP_RST)
        t->totals.resets++;
    struct connection *c = connection_of(t, s);
    if (c == NULL || c->closed || t->rc != TA_OK)
        return t->rc;
    if (c->next != NULL) {
        DL_DELETE(t->open, c);
        DL_APPEND(t->open, c);
    }
    int from = side_of(c, s);
    handshake(c, s, from, t_ns);
    watch_turn(c, s, from);
    watch_window(t, c, s, from);
    watch_receiver(c, s, from, t->now);
    if (s->flags & TCP_ACK)
        tcp_stream_ack(&c->side[!from], s->ack, t->now);
    if (s->dsack)
        tcp_stream_came_again(&c->side[!from]);
    if (s->flags & TCP_RST) {
        take_reset(t, c, s, from);
        return t->rc;
    }
    if (from == SERVER) /* its answer may be to a request behind a hole that is a loss by now */
        t->rc = tcp_stream_patience(&c->side[CLIENT], t->now);
    if (t->rc == TA_OK)
        t->rc = take_data(c, s, from, t->now);
    for (int i = CLIENT; i <= SERVER && t->rc == TA_OK; i++)
        t->rc = tcp_stream_patience(&c->side[i], t->now);
    if (t->rc == TA_OK && c->side[CLIENT].ended && c->side[SERVER].ended)
        retire(t, c);
    return t->rc;
}

int tcp_finish(struct tcp *t)
{
    struct connection *c, *after;
    HASH_ITER(hh, t->table, c, after) {
        if (!c->closed && t->rc == TA_OK)
            finish(t, c, END_TRACE);
    }
    return t->rc;
}

struct tcp_totals tcp_totals(const struct tcp *t)
{
    return t->totals;
}

void tcp_free(struct tcp *t)
{
    if (t == NULL)
        return;
    while (t->open != NULL)
        retire(t, t->open);
    while (t->closed != NULL)
        forget(t, t->closed);
    free(t);
}
