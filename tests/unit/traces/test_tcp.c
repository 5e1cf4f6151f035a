/* TCP put in order: random traffic of which every byte and time is known, and the rules one by one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "traces/base/buf.h"
#include "traces/base/mem.h"
#include "traces/limits.h"
#include "traces/tcp.h"

#define MS 1000000

/* --- what came out -------------------------------------------------------------------------- */

enum { MOST = 1 << 15 };

/* One direction of one connection, byte for byte. */
struct side {
    uint8_t bytes[MOST];
    struct mark marks[MOST];
    bool missing[MOST];
    uint64_t next;
    bool ended;
    enum end_kind why;
    struct mark end;
};

struct flow {
    struct tcp_conn seen; /* at the close */
    struct side side[2];
    bool open, closed;
};

/* All connections of a test, in the order they were opened. */
struct got {
    struct flow *flows[64];
    size_t n;
    struct buf anomalies;
};

static int side_data(void *ctx, struct span in)
{
    struct side *s = ctx;
    assert_false(s->ended);
    assert_int_equal(in.at.off, s->next);
    for (size_t i = 0; i < in.n; i++, s->next++) {
        assert_true(s->next < MOST);
        s->bytes[s->next] = in.p[i];
        s->marks[s->next] = span_mark(in, i);
    }
    return TA_OK;
}

static int side_gap(void *ctx, uint64_t n, struct mark at)
{
    struct side *s = ctx;
    assert_false(s->ended);
    assert_int_equal(at.off, s->next);
    for (uint64_t i = 0; i < n; i++, s->next++) {
        assert_true(s->next < MOST);
        s->missing[s->next] = true;
        s->marks[s->next] = at;
    }
    return TA_OK;
}

static int side_end(void *ctx, enum end_kind why, struct mark at)
{
    struct side *s = ctx;
    assert_false(s->ended);
    assert_int_equal(at.off, s->next);
    s->ended = true;
    s->why = why;
    s->end = at;
    return TA_OK;
}

static int open_flow(void *ctx, const struct tcp_conn *c, void **user, struct byte_sink *client,
                     struct byte_sink *server)
{
    struct got *g = ctx;
    struct flow *f = mem_zalloc(sizeof *f);
    assert_true(g->n < 64);
    g->flows[g->n++] = f;
    assert_int_equal(c->id, g->n);
    f->open = true;
    *user = f;
    *client = (struct byte_sink){&f->side[0], side_data, side_gap, side_end};
    *server = (struct byte_sink){&f->side[1], side_data, side_gap, side_end};
    return TA_OK;
}

static void close_flow(void *ctx, const struct tcp_conn *c, void *user)
{
    struct flow *f = user;
    (void)ctx;
    assert_true(f->open);
    assert_false(f->closed);
    f->closed = true;
    f->seen = *c;
}

static void note(void *ctx, const struct anomaly *a)
{
    struct got *g = ctx;
    buf_printf(&g->anomalies, "%s@%llu:%llu ", a->id, (unsigned long long)a->at.off,
               (unsigned long long)a->n);
}

static void got_init(struct got *g)
{
    *g = (struct got){0};
    buf_init(&g->anomalies, 1 << 20);
}

static void got_done(struct got *g)
{
    for (size_t i = 0; i < g->n; i++)
        free(g->flows[i]);
    buf_done(&g->anomalies);
}

static struct tcp *tcp_into(struct got *g)
{
    return tcp_new((struct tcp_sink){g, open_flow, close_flow}, (struct anomaly_sink){g, note});
}

/* --- random traffic ------------------------------------------------------------------------- */

static uint64_t seed;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % n);
}

enum { SENT = 3000, PACKETS = 1200 };

/* A packet on its way to the capture: those with the lower key come first. */
struct packet {
    uint32_t key;
    unsigned from;
    uint32_t off, n, snapped; /* of its bytes, the last snapped are not in the capture */
    uint8_t flags;
    bool bare_ack;
};

struct traffic {
    struct packet packets[PACKETS];
    size_t n;
    uint32_t length[2], isn[2];
    uint8_t bytes[2][SENT];
    /* The truth, per byte: the first packet that carries it. 0: none does. */
    uint64_t pkt[2][SENT];
    int64_t t[2][SENT];
    bool snapped[2][SENT];
};

static void put(struct traffic *w, struct packet p)
{
    assert_true(w->n < PACKETS);
    w->packets[w->n++] = p;
}

static int by_key(const void *a, const void *b)
{
    const struct packet *p = a, *q = b;
    return p->key < q->key ? -1 : p->key > q->key;
}

/* One side's segments: overlapping, doubled, out of order, lost, snapped. */
static void send_side(struct traffic *w, unsigned from, uint32_t loss)
{
    uint32_t key = 100;
    w->length[from] = 1 + random_below(SENT);
    for (uint32_t i = 0; i < w->length[from]; i++)
        w->bytes[from][i] = (uint8_t)random_below(256);
    for (uint32_t off = 0; off < w->length[from]; key += 10) {
        uint32_t n = 1 + random_below(random_below(4) == 0 ? 3 : 100);
        if (n > w->length[from] - off)
            n = w->length[from] - off;
        struct packet p = {key + random_below(60), from, off, n, 0, TCP_ACK, false};
        uint32_t back = random_below(4) == 0 ? random_below(off + 1 < 50 ? off + 1 : 50) : 0;
        p.off -= back;
        p.n += back;
        if (random_below(100) >= loss)
            put(w, p);
        if (random_below(5) == 0) {
            p.key += random_below(300);
            put(w, p);
        }
        off += n;
    }
    put(w, (struct packet){key + random_below(100), from, w->length[from], 0, 0, TCP_FIN | TCP_ACK,
                           false});
    put(w, (struct packet){key + 1000, from, w->length[from] + 1, 0, 0, TCP_ACK, true});
}

/* Snaps some packets whose last bytes no other packet carries. */
static void snap(struct traffic *w)
{
    for (size_t i = 0; i < w->n; i++) {
        struct packet *p = &w->packets[i];
        if (p->n < 2 || random_below(20) != 0)
            continue;
        uint32_t last = p->off + p->n - 1;
        bool alone = true;
        for (size_t k = 0; k < w->n; k++) {
            const struct packet *q = &w->packets[k];
            if (k != i && q->from == p->from && q->off <= last && q->off + q->n >= last)
                alone = false;
        }
        p->snapped = alone ? 1 : 0;
    }
}

static struct segment segment_of(const struct traffic *w, const struct packet *p)
{
    struct endpoint ends[2] = {{4, {10, 0, 0, 1}, 40000}, {4, {10, 0, 0, 2}, 8000}};
    return (struct segment){
        .from = ends[p->from],
        .to = ends[!p->from],
        .seq = w->isn[p->from] + 1 + p->off,
        .ack = w->isn[!p->from] + 1 + (p->bare_ack ? w->length[!p->from] + 1 : 0),
        .flags = p->flags,
        .window = 1000,
        .window_scale = -1,
        .data = w->bytes[p->from] + p->off,
        .n = p->n - p->snapped,
        .wire_n = p->n,
    };
}

static void tell(struct traffic *w, const struct packet *p, int64_t t, uint64_t pkt)
{
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t at = p->off + i;
        if (w->pkt[p->from][at] != 0)
            continue;
        w->pkt[p->from][at] = pkt;
        w->t[p->from][at] = t;
        w->snapped[p->from][at] = i >= p->n - p->snapped;
    }
}

static void play(struct traffic *w, struct tcp *tcp, bool with_syn)
{
    uint64_t pkt = 0;
    int64_t t = 1700000000000000000;
    if (with_syn) {
        struct packet syn = {0, 0, (uint32_t)-1, 0, 0, TCP_SYN, false};
        struct segment s = segment_of(w, &syn);
        assert_int_equal(tcp_segment(tcp, &s, t++, ++pkt), TA_OK);
        syn.from = 1;
        syn.flags = TCP_SYN | TCP_ACK;
        s = segment_of(w, &syn);
        assert_int_equal(tcp_segment(tcp, &s, t++, ++pkt), TA_OK);
    }
    for (size_t i = 0; i < w->n; i++) {
        struct segment s = segment_of(w, &w->packets[i]);
        t += 1000;
        int64_t stamp = t - random_below(4000); /* stamps step back */
        tell(w, &w->packets[i], stamp, ++pkt);
        /* Each packet in a block of its own that is gone right after. */
        uint8_t *copy = mem_dup(s.n > 0 ? s.data : (const uint8_t *)"", s.n);
        s.data = copy;
        assert_int_equal(tcp_segment(tcp, &s, stamp, pkt), TA_OK);
        free(copy);
    }
}

static void compare(const struct traffic *w, const struct side *s, unsigned from)
{
    int64_t ready = INT64_MIN;
    uint64_t rel = 0;
    assert_int_equal(s->next, w->length[from]);
    assert_true(s->ended);
    assert_int_equal(s->why, END_FIN);
    for (uint32_t i = 0; i < w->length[from]; i++) {
        bool missing = w->pkt[from][i] == 0;
        assert_int_equal(s->missing[i], missing || w->snapped[from][i]);
        if (missing)
            continue;
        if (w->t[from][i] > ready)
            ready = w->t[from][i];
        if (w->pkt[from][i] > rel)
            rel = w->pkt[from][i];
        if (!s->missing[i])
            assert_int_equal(s->bytes[i], w->bytes[from][i]);
        assert_int_equal(s->marks[i].t_seen, w->t[from][i]);
        assert_int_equal(s->marks[i].pkt, w->pkt[from][i]);
        assert_int_equal(s->marks[i].t_ready, ready);
        assert_int_equal(s->marks[i].rel, rel);
    }
}

static void test_random(void **state)
{
    (void)state;
    struct traffic *w = mem_alloc(sizeof *w);
    for (unsigned round = 0; round < 400; round++) {
        memset(w, 0, sizeof *w);
        seed = round;
        uint32_t loss = round % 4 == 0 ? 0 : round % 4 * 5;
        for (unsigned from = 0; from < 2; from++) {
            w->isn[from] =
                round % 3 == 0 ? UINT32_MAX - random_below(SENT) : random_below(UINT32_MAX);
            send_side(w, from, loss);
        }
        if (round % 2 == 0)
            snap(w);
        qsort(w->packets, w->n, sizeof w->packets[0], by_key);
        struct got g;
        got_init(&g);
        struct tcp *tcp = tcp_into(&g);
        play(w, tcp, true);
        assert_int_equal(tcp_finish(tcp), TA_OK);
        assert_int_equal(g.n, 1);
        compare(w, &g.flows[0]->side[0], 0);
        compare(w, &g.flows[0]->side[1], 1);
        assert_true(g.flows[0]->closed);
        tcp_free(tcp);
        got_done(&g);
    }
    free(w);
}

/* --- the rules one by one ------------------------------------------------------------------- */

/* A conversation is written down as one line a segment. */
struct talk {
    struct tcp *tcp;
    struct got got;
    uint64_t pkt;
    uint16_t port;
};

static void talk_init(struct talk *k)
{
    got_init(&k->got);
    k->tcp = tcp_into(&k->got);
    k->pkt = 0;
    k->port = 40000;
}

static void talk_done(struct talk *k)
{
    tcp_free(k->tcp);
    got_done(&k->got);
}

enum who { C, S };

/* At t ms: from who, flags, seq, ack, payload text; wire_n 0: as long as the text. */
static void say_more(struct talk *k, int64_t t_ms, enum who who, uint8_t flags, uint32_t seq,
                     uint32_t ack, const char *text, size_t wire_n, uint16_t window)
{
    struct endpoint client = {4, {10, 0, 0, 1}, k->port}, server = {4, {10, 0, 0, 2}, 8000};
    size_t n = strlen(text);
    uint8_t *copy = mem_dup(text, n);
    struct segment s = {.from = who == C ? client : server,
                        .to = who == C ? server : client,
                        .seq = seq,
                        .ack = ack,
                        .flags = flags,
                        .window = window,
                        .window_scale = -1,
                        .data = copy,
                        .n = n,
                        .wire_n = wire_n > 0 ? wire_n : n};
    assert_int_equal(tcp_segment(k->tcp, &s, t_ms * MS, ++k->pkt), TA_OK);
    free(copy);
}

static void say(struct talk *k, int64_t t_ms, enum who who, uint8_t flags, uint32_t seq,
                uint32_t ack, const char *text)
{
    say_more(k, t_ms, who, flags, seq, ack, text, 0, 1000);
}

static void shake(struct talk *k, int64_t t_ms)
{
    say(k, t_ms, C, TCP_SYN, 999, 0, "");
    say(k, t_ms + 1, S, TCP_SYN | TCP_ACK, 4999, 1000, "");
    say(k, t_ms + 2, C, TCP_ACK, 1000, 5000, "");
}

/* What a side has: text, with . for a missing byte. */
static void expect(const struct talk *k, size_t flow, enum who who, const char *text)
{
    assert_true(flow < k->got.n);
    const struct side *s = &k->got.flows[flow]->side[who];
    char found[MOST];
    for (size_t i = 0; i < s->next; i++)
        found[i] = s->missing[i] ? '.' : (char)s->bytes[i];
    found[s->next] = '\0';
    assert_string_equal(found, text);
}

static void expect_end(const struct talk *k, size_t flow, enum who who, enum end_kind why,
                       uint64_t pkt)
{
    const struct side *s = &k->got.flows[flow]->side[who];
    assert_true(s->ended);
    assert_int_equal(s->why, why);
    assert_int_equal(s->end.pkt, pkt);
}

static void test_handshake(void **state)
{
    (void)state;
    struct talk k;
    talk_init(&k);
    shake(&k, 10);
    say(&k, 20, C, TCP_ACK, 1000, 5000, "hi");
    say(&k, 30, S, TCP_ACK, 5000, 1002, "there");
    assert_int_equal(tcp_finish(k.tcp), TA_OK);
    const struct tcp_conn *c = &k.got.flows[0]->seen;
    assert_int_equal(c->t_syn, 10 * MS);
    assert_int_equal(c->t_synack, 11 * MS);
    assert_int_equal(c->t_established, 12 * MS);
    assert_int_equal(c->first_pkt, 1);
    assert_int_equal(c->client.port, 40000);
    assert_int_equal(c->server.port, 8000);
    assert_false(c->midstream);
    expect(&k, 0, C, "hi");
    expect(&k, 0, S, "there");
    expect_end(&k, 0, S, END_TRACE, 5);
    struct tcp_totals t = tcp_totals(k.tcp);
    assert_int_equal(t.connections, 1);
    assert_int_equal(t.segments, 5);
    assert_int_equal(t.retransmissions + t.gaps + t.gap_bytes + t.zero_windows + t.resets, 0);
    talk_done(&k);
}

static void test_synack_first(void **state)
{
    (void)state;
    struct talk k;
    talk_init(&k);
    say(&k, 1, S, TCP_SYN | TCP_ACK, 4999, 1000, "");
    say(&k, 2, C, TCP_SYN, 999, 0, "");
    say(&k, 3, C, TCP_ACK, 1000, 5000, "hi");
    say(&k, 3, C, TCP_SYN, 999, 0, ""); /* the same SYN again is the same connection */
    tcp_finish(k.tcp);
    assert_int_equal(k.got.n, 1);
    assert_int_equal(k.got.flows[0]->seen.client.port, 40000);
    expect(&k, 0, C, "hi");
    talk_done(&k);
}

static void test_data_on_syn(void **state)
{
    (void)state;
    struct talk k;
    talk_init(&k);
    say(&k, 1, C, TCP_SYN, 999, 0, "early");
    say(&k, 2, S, TCP_SYN | TCP_ACK, 4999, 1005, "");
    say(&k, 3, C, TCP_ACK, 1005, 5000, "late");
    expect(&k, 0, C, "earlylate");
    talk_done(&k);
}

/* Who is the client, where no SYN tells. */
static void test_midstream(void **state)
{
    (void)state;
    static const struct {
        enum who who;
        const char *text;
        uint16_t client_port, found;
    } cases[] = {
        {C, "GET / HTTP/1.1", 40000, 40000},
        {C, "GET / HTTP/1.1", 80, 80},
        {S, "HTTP/1.1 200 OK", 80, 80},
        {C, "{}", 40000, 40000},
        {S, "{}", 40000, 40000},
        {S, "{}", 80, 8000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct talk k;
        talk_init(&k);
        k.port = cases[i].client_port;
        say(&k, 1, cases[i].who, TCP_ACK, UINT32_MAX - 3, 1, cases[i].text);
        tcp_finish(k.tcp);
        assert_int_equal(k.got.flows[0]->seen.client.port, cases[i].found);
        assert_true(k.got.flows[0]->seen.midstream);
        assert_int_equal(k.got.flows[0]->seen.t_syn, -1);
        expect(&k, 0, cases[i].found == cases[i].client_port ? cases[i].who : !cases[i].who,
               cases[i].text);
        talk_done(&k);
    }
}

static void test_acks_alone_open_nothing(void **state)
{
    (void)state;
    struct talk k;
    talk_init(&k);
    say(&k, 1, C, TCP_ACK, 1000, 5000, "");
    say(&k, 2, S, TCP_ACK | TCP_FIN, 5000, 1000, "");
    say(&k, 2, S, TCP_RST, 5000, 1000, "bye");
    tcp_finish(k.tcp);
    assert_int_equal(k.got.n, 0);
    assert_int_equal(tcp_totals(k.tcp).resets, 1);
    talk_done(&k);
}

static void test_port_reuse(void **state)
{
    (void)state;
    struct talk k;
    talk_init(&k);
    shake(&k, 1);
    say(&k, 5, C, TCP_ACK, 1000, 5000, "one");
    say(&k, 6, C, TCP_SYN, 77777, 0, "");
    say(&k, 7, S, TCP_SYN | TCP_ACK, 88888, 77778, "");
    say(&k, 8, C, TCP_ACK, 77778, 88889, "two");
    tcp_finish(k.tcp);
    assert_int_equal(k.got.n, 2);
    expect(&k, 0, C, "one");
    expect_end(&k, 0, C, END_TRACE, 5);
    expect(&k, 1, C, "two");
    talk_done(&k);
}

static void test_reuse_after_close_and_stragglers(void **state)
{
    (void)state;
    struct talk k;
    talk_init(&k);
    shake(&k, 1);
    say(&k, 5, C, TCP_ACK | TCP_FIN, 1000, 5000, "one");
    say(&k, 6, S, TCP_ACK | TCP_FIN, 5000, 1004, "two");
    say(&k, 7, C, TCP_ACK, 1004, 5004, "");
    assert_true(k.got.flows[0]->closed);
    say(&k, 8, S, TCP_ACK | TCP_FIN, 5000, 1004, "two"); /* retransmitted: no new connection */
    say(&k, 8, C, TCP_SYN, 999, 0, "");
    assert_int_equal(k.got.n, 1);
    say(&k, 9, C, TCP_ACK, 400000, 1, "GET / HTTP/1.1"); /* another one, its SYN not captured */
    assert_int_equal(k.got.n, 2);
    say(&k, 10, C, TCP_SYN, 999999, 0, "");
    assert_int_equal(k.got.n, 3);
    tcp_finish(k.tcp);
    expect(&k, 0, S, "two");
    talk_done(&k);
}

static void test_half_close(void **state)
{
    (void)state;
    struct talk k;
    talk_init(&k);
    shake(&k, 1);
    say(&k, 5, C, TCP_ACK | TCP_FIN, 1000, 5000, "ask");
    say(&k, 6, S, TCP_ACK, 5000, 1004, "an");
    expect_end(&k, 0, C, END_FIN, 4);
    assert_false(k.got.flows[0]->side[S].ended);
    say(&k, 7, S, TCP_ACK, 5002, 1004, "swer");
    say(&k, 8, S, TCP_ACK | TCP_FIN, 5006, 1004, "");
    expect(&k, 0, S, "answer");
    expect_end(&k, 0, S, END_FIN, 7);
    assert_true(k.got.flows[0]->closed);
    assert_int_equal(k.got.flows[0]->seen.t_left, 5 * MS);
    talk_done(&k);
}

static void test_fin_before_data(void **state)
{
    (void)state;
    struct talk k;
    talk_init(&k);
    shake(&k, 1);
    say(&k, 5, S, TCP_ACK | TCP_FIN, 5006, 1000, "");
    say(&k, 6, S, TCP_ACK, 5003, 1000, "def");
    assert_false(k.got.flows[0]->side[S].ended);
    say(&k, 7, S, TCP_ACK, 5000, 1000, "abc");
    expect(&k, 0, S, "abcdef");
    expect_end(&k, 0, S, END_FIN, 4);
    const struct side *s = &k.got.flows[0]->side[S];
    assert_int_equal(s->end.t_seen, 5 * MS);
    assert_int_equal(s->end.t_ready, 7 * MS);
    assert_int_equal(s->end.rel, 6);
    assert_int_equal(s->marks[3].pkt, 5);
    assert_int_equal(s->marks[3].rel, 6);
    assert_int_equal(s->marks[3].t_ready, 7 * MS);
    say(&k, 8, C, TCP_ACK | TCP_FIN, 1000, 5007, "");
    assert_int_equal(k.got.flows[0]->seen.t_left, -1);
    talk_done(&k);
}

static void test_reset(void **state)
{
    (void)state;
    struct talk k;
    talk_init(&k);
    shake(&k, 1);
    say(&k, 5, S, TCP_ACK, 5000, 1000, "part");
    say(&k, 6, C, TCP_RST, 1000, 0, "why");
    expect(&k, 0, S, "part");
    expect(&k, 0, C, "");
    expect_end(&k, 0, S, END_RST, 5);
    expect_end(&k, 0, C, END_RST, 5);
    assert_int_equal(k.got.flows[0]->seen.t_left, 6 * MS);
    say(&k, 7, S, TCP_ACK, 5004, 1000, "in flight");
    assert_int_equal(k.got.n, 1);
    talk_done(&k);
}

static void test_blind_reset(void **state)
{
    (void)state;
    struct talk k;
    talk_init(&k);
    shake(&k, 1);
    say(&k, 5, C, TCP_RST, 1000 + 0x60000000, 0, "");
    say(&k, 6, C, TCP_ACK, 1000, 5000, "go on");
    expect(&k, 0, C, "go on");
    assert_string_equal(buf_text(&k.got.anomalies), "tcp.stray-reset@0:0 ");
    assert_int_equal(tcp_finish(k.tcp), TA_OK);
    assert_int_equal(k.got.flows[0]->seen.t_left, -1);
    talk_done(&k);
}

/* Sent again because its acknowledgement was lost, also when all of it, FIN included, had come. */
static void test_again_behind_fin(void **state)
{
    (void)state;
    struct talk k;
    talk_init(&k);
    shake(&k, 1);
    say(&k, 5, S, TCP_ACK, 5000, 1000, "abc");
    say(&k, 6, S, TCP_ACK | TCP_FIN, 5003, 1000, "");
    say(&k, 7, S, TCP_ACK, 5000, 1000, "abc");
    assert_int_equal(tcp_totals(k.tcp).retransmissions, 1);
    expect(&k, 0, S, "abc");
    talk_done(&k);
}

static void test_keep_alive_is_no_retransmission(void **state)
{
    (void)state;
    struct talk k;
    talk_init(&k);
    shake(&k, 1);
    say(&k, 5, C, TCP_ACK, 1000, 5000, "abc");
    say(&k, 6, C, TCP_ACK, 1002, 5000, "");
    say(&k, 7, C, TCP_ACK, 1002, 5000, "x");
    assert_int_equal(tcp_totals(k.tcp).retransmissions, 0);
    say(&k, 8, C, TCP_ACK, 1001, 5000, "bc");
    assert_int_equal(tcp_totals(k.tcp).retransmissions, 1);
    say(&k, 9, C, TCP_ACK, 1003, 5000, "d");
    expect(&k, 0, C, "abcd");
    talk_done(&k);
}

static void test_conflict(void **state)
{
    (void)state;
    struct talk k;
    talk_init(&k);
    shake(&k, 1);
    say(&k, 5, C, TCP_ACK, 1003, 5000, "def");
    say(&k, 6, C, TCP_ACK, 1002, 5000, "cDEFg");
    say(&k, 7, C, TCP_ACK, 1000, 5000, "ab");
    expect(&k, 0, C, "abcdefg");
    assert_string_equal(buf_text(&k.got.anomalies), "tcp.conflict@3:3 ");
    assert_int_equal(k.got.flows[0]->side[C].marks[3].pkt, 4);
    assert_int_equal(k.got.flows[0]->side[C].marks[2].pkt, 5);
    talk_done(&k);
}

static void test_zero_window(void **state)
{
    (void)state;
    struct talk k;
    talk_init(&k);
    shake(&k, 1);
    for (int i = 0; i < 3; i++)
        say_more(&k, 5 + i, C, TCP_ACK, 1000, 5000, "", 0, 0);
    say(&k, 9, C, TCP_ACK, 1000, 5000, "");
    say_more(&k, 10, C, TCP_ACK, 1000, 5000, "", 0, 0);
    say_more(&k, 11, S, TCP_ACK, 5000, 1000, "", 0, 0);
    say_more(&k, 12, C, TCP_RST, 1000, 5000, "", 0, 0);
    assert_int_equal(tcp_totals(k.tcp).zero_windows, 3);
    assert_int_equal(k.got.flows[0]->seen.zero_windows[C], 2);
    assert_int_equal(k.got.flows[0]->seen.zero_windows[S], 1);
    talk_done(&k);
}

/* T6: acknowledged, and two seconds since. */
static void test_hole_needs_both(void **state)
{
    (void)state;
    struct talk k;
    talk_init(&k);
    shake(&k, 1);
    say(&k, 10, S, TCP_ACK, 5003, 1000, "def");
    say(&k, 5000, S, TCP_ACK, 5006, 1000, "g"); /* time alone is no loss */
    expect(&k, 0, S, "");
    say(&k, 5001, C, TCP_ACK, 1000, 5007, ""); /* nor is the acknowledgement: it may overtake */
    expect(&k, 0, S, "");
    say(&k, 7002, C, TCP_ACK, 1000, 5007, "");
    expect(&k, 0, S, "...defg");
    const struct side *s = &k.got.flows[0]->side[S];
    assert_int_equal(s->marks[3].t_ready, 10 * MS); /* the wait costs no byte any time */
    assert_int_equal(s->marks[3].rel, 4);
    assert_int_equal(s->marks[0].off, 0);
    assert_int_equal(s->marks[0].t_ready, 10 * MS);
    assert_int_equal(tcp_totals(k.tcp).gaps, 1);
    assert_int_equal(tcp_totals(k.tcp).gap_bytes, 3);
    talk_done(&k);
}

static void test_hole_filled_in_time(void **state)
{
    (void)state;
    struct talk k;
    talk_init(&k);
    shake(&k, 1);
    say(&k, 10, S, TCP_ACK, 5003, 1000, "def");
    say(&k, 3000, C, TCP_ACK, 1000, 5006, "");
    say(&k, 3001, S, TCP_ACK, 5000, 1000, "abc");
    expect(&k, 0, S, "abcdef");
    assert_int_equal(tcp_totals(k.tcp).gaps, 0);
    talk_done(&k);
}

static void test_hole_of_one_byte(void **state)
{
    (void)state;
    struct talk k;
    talk_init(&k);
    shake(&k, 1);
    say(&k, 10, S, TCP_ACK, 5001, 1000, "bc");
    say(&k, 11, C, TCP_ACK, 1000, 5001, "");
    say(&k, 12, C, TCP_ACK, 1000, 5003, "");
    tcp_finish(k.tcp);
    expect(&k, 0, S, ".bc");
    talk_done(&k);
}

static void test_unacknowledged_is_no_gap(void **state)
{
    (void)state;
    struct talk k;
    talk_init(&k);
    shake(&k, 1);
    say(&k, 10, S, TCP_ACK, 5000, 1000, "abc");
    say(&k, 10, S, TCP_ACK, 5006, 1000, "ghi");
    say(&k, 5000, C, TCP_ACK, 1000, 5003, "");
    tcp_finish(k.tcp);
    expect(&k, 0, S, "abc");
    expect_end(&k, 0, S, END_TRACE, 6);
    assert_string_equal(buf_text(&k.got.anomalies), "tcp.unacknowledged@3:3 ");
    talk_done(&k);
}

static void test_lost_tail(void **state)
{
    (void)state;
    struct talk k;
    talk_init(&k);
    shake(&k, 1);
    say(&k, 10, S, TCP_ACK, 5000, 1000, "abc");
    say(&k, 11, C, TCP_ACK, 1000, 5006, "");
    say(&k, 12, S, TCP_ACK | TCP_FIN, 5006, 1000, "");
    tcp_finish(k.tcp);
    expect(&k, 0, S, "abc...");
    expect_end(&k, 0, S, END_FIN, 6);
    talk_done(&k);
}

/* An acknowledged number beyond the last byte, and nothing else: a FIN that was not captured. */
static void test_lost_fin(void **state)
{
    (void)state;
    struct talk k;
    talk_init(&k);
    shake(&k, 1);
    say(&k, 10, S, TCP_ACK, 5000, 1000, "abc");
    say(&k, 11, C, TCP_ACK, 1000, 5004, "");
    say(&k, 9000, C, TCP_ACK, 1000, 5004, "");
    tcp_finish(k.tcp);
    expect(&k, 0, S, "abc");
    expect_end(&k, 0, S, END_TRACE, 6);
    talk_done(&k);
}

static void test_one_direction_only(void **state)
{
    (void)state;
    struct talk k;
    talk_init(&k);
    say(&k, 1, S, TCP_ACK, 5000, 1000, "HTTP/");
    say(&k, 2, S, TCP_ACK, 5008, 1000, "xyz");
    say(&k, 3, S, TCP_ACK | TCP_FIN, 5013, 1000, "");
    expect(&k, 0, S, "HTTP/");
    tcp_finish(k.tcp);
    expect(&k, 0, S, "HTTP/...xyz..");
    expect_end(&k, 0, S, END_FIN, 3);
    talk_done(&k);
}

static void test_snapped(void **state)
{
    (void)state;
    struct talk k;
    talk_init(&k);
    shake(&k, 1);
    say_more(&k, 10, S, TCP_ACK, 5000, 1000, "abc", 6, 1000);
    say(&k, 11, S, TCP_ACK, 5006, 1000, "ghi");
    expect(&k, 0, S, "abc...ghi"); /* at once: they were on the wire */
    const struct side *s = &k.got.flows[0]->side[S];
    assert_int_equal(s->marks[3].t_seen, 10 * MS);
    assert_int_equal(s->marks[3].pkt, 4);
    assert_string_equal(buf_text(&k.got.anomalies), "tcp.snapped@3:3 ");
    assert_int_equal(k.got.flows[0]->side[S].next, 9);
    talk_done(&k);
}

/* An acknowledgement of what no window could hold is not of this connection. */
static void test_wild_ack(void **state)
{
    (void)state;
    struct talk k;
    talk_init(&k);
    shake(&k, 1);
    say(&k, 10, S, TCP_ACK, 5000, 1000, "abc");
    say(&k, 11, C, TCP_ACK, 1000, 5000 + 0x50000000, "");
    tcp_finish(k.tcp);
    expect(&k, 0, S, "abc");
    talk_done(&k);
}

static void test_nothing_after_fin(void **state)
{
    (void)state;
    struct talk k;
    talk_init(&k);
    shake(&k, 1);
    say(&k, 10, S, TCP_ACK | TCP_FIN, 5003, 1000, "");
    say(&k, 11, S, TCP_ACK, 5000, 1000, "abcdef");
    say(&k, 12, S, TCP_ACK, 5003, 1000, "def");
    expect(&k, 0, S, "abc");
    expect_end(&k, 0, S, END_FIN, 4);
    talk_done(&k);
}

/* --- bounds --------------------------------------------------------------------------------- */

static void test_held_pieces_are_bounded(void **state)
{
    (void)state;
    struct talk k;
    talk_init(&k);
    shake(&k, 1);
    for (uint32_t i = 0; i < LIMIT_TCP_HELD_PIECES + 1; i++)
        say(&k, 10, S, TCP_ACK, 5002 + 3 * i, 1000, "x");
    const struct side *s = &k.got.flows[0]->side[S];
    assert_int_equal(s->next, 3); /* two unseen bytes given up, one handed on */
    assert_true(s->missing[0] && s->missing[1] && !s->missing[2]);
    talk_done(&k);
}

/* A sink that only counts, for what is too large to keep. */
struct tally {
    uint64_t bytes, gaps, ends, opened, closed;
};

static int tally_data(void *ctx, struct span in)
{
    ((struct tally *)ctx)->bytes += in.n;
    return TA_OK;
}

static int tally_gap(void *ctx, uint64_t n, struct mark at)
{
    (void)at;
    ((struct tally *)ctx)->gaps += n;
    return TA_OK;
}

static int tally_end(void *ctx, enum end_kind why, struct mark at)
{
    (void)why, (void)at;
    ((struct tally *)ctx)->ends++;
    return TA_OK;
}

static int tally_open(void *ctx, const struct tcp_conn *c, void **user, struct byte_sink *client,
                      struct byte_sink *server)
{
    (void)c, (void)user;
    ((struct tally *)ctx)->opened++;
    *client = *server = (struct byte_sink){ctx, tally_data, tally_gap, tally_end};
    return TA_OK;
}

static void tally_close(void *ctx, const struct tcp_conn *c, void *user)
{
    (void)c, (void)user;
    ((struct tally *)ctx)->closed++;
}

static void test_hole_of_a_megabyte_behind(void **state)
{
    (void)state;
    struct tally n = {0};
    struct tcp *tcp =
        tcp_new((struct tcp_sink){&n, tally_open, tally_close}, (struct anomaly_sink){0});
    struct endpoint client = {4, {1}, 4000}, server = {4, {2}, 80};
    static uint8_t block[1 << 16];
    struct segment s = {server, client, 1000, 0, TCP_ACK, 100, -1, block, 1, 1, false};
    struct segment ack = {client, server, 1, 0, TCP_ACK, 100, -1, block, 0, 0, false};
    assert_int_equal(tcp_segment(tcp, &s, 0, 1), TA_OK);
    s.n = s.wire_n = sizeof block;
    s.seq = 1011; /* ten bytes missing */
    for (uint64_t i = 0; i < 17; i++, s.seq += (uint32_t)sizeof block) {
        assert_int_equal(tcp_segment(tcp, &s, 0, 2 + 2 * i), TA_OK);
        ack.ack = s.seq + (uint32_t)sizeof block;
        assert_int_equal(tcp_segment(tcp, &ack, 0, 3 + 2 * i), TA_OK);
        assert_int_equal(n.gaps, i < 16 ? 0 : 10);
    }
    assert_int_equal(n.bytes, 1 + 17 * sizeof block);
    tcp_free(tcp);
    assert_int_equal(n.closed, 1);
}

static void test_stream_over_4_GiB(void **state)
{
    (void)state;
    struct tally n = {0};
    struct tcp *tcp =
        tcp_new((struct tcp_sink){&n, tally_open, tally_close}, (struct anomaly_sink){0});
    struct endpoint client = {4, {1}, 4000}, server = {4, {2}, 80};
    size_t size = 1 << 20;
    uint8_t *block = mem_zalloc(size);
    struct segment s = {server, client, 77, 0, TCP_ACK, 100, -1, block, size, size, false};
    for (uint64_t i = 0; i < 4500; i++, s.seq += (uint32_t)size)
        assert_int_equal(tcp_segment(tcp, &s, 0, i + 1), TA_OK);
    assert_int_equal(n.bytes, 4500 * size);
    assert_int_equal(n.opened, 1);
    tcp_free(tcp);
    free(block);
}

static void test_connections_are_bounded(void **state)
{
    (void)state;
    struct tally n = {0};
    struct tcp *tcp =
        tcp_new((struct tcp_sink){&n, tally_open, tally_close}, (struct anomaly_sink){0});
    struct endpoint client = {4, {0}, 4000}, server = {4, {2}, 80};
    struct segment s = {client, server, 1, 0, TCP_SYN, 100, -1, NULL, 0, 0, false};
    for (uint32_t i = 0; i < LIMIT_TCP_CONNECTIONS + 10; i++) {
        s.from.addr[1] = (uint8_t)(i >> 16);
        s.from.addr[2] = (uint8_t)(i >> 8);
        s.from.addr[3] = (uint8_t)i;
        assert_int_equal(tcp_segment(tcp, &s, i, i + 1), TA_OK);
    }
    assert_int_equal(n.opened, LIMIT_TCP_CONNECTIONS + 10);
    assert_int_equal(n.closed, 10);
    assert_int_equal(n.ends, 20);
    tcp_finish(tcp);
    assert_int_equal(n.closed, n.opened);
    tcp_free(tcp);
}

/* --- contract ------------------------------------------------------------------------------- */

static int stop_data(void *ctx, struct span in)
{
    (void)ctx, (void)in;
    return TA_STOP;
}

static int stop_open(void *ctx, const struct tcp_conn *c, void **user, struct byte_sink *client,
                     struct byte_sink *server)
{
    tally_open(ctx, c, user, client, server);
    client->data = stop_data;
    return TA_OK;
}

static void test_stop(void **state)
{
    (void)state;
    struct tally n = {0};
    struct tcp *tcp =
        tcp_new((struct tcp_sink){&n, stop_open, tally_close}, (struct anomaly_sink){0});
    struct segment s = {{4, {1}, 9}, {4, {2}, 8},          1, 0, 0,    1,
                        -1,          (const uint8_t *)"a", 1, 1, false};
    assert_int_equal(tcp_segment(tcp, &s, 0, 1), TA_STOP);
    assert_int_equal(tcp_segment(tcp, &s, 0, 2), TA_STOP);
    assert_int_equal(tcp_finish(tcp), TA_STOP);
    assert_int_equal(n.ends, 0);
    tcp_free(tcp);
    assert_int_equal(n.closed, 1); /* what open gave is given back all the same */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_handshake),
        cmocka_unit_test(test_synack_first),
        cmocka_unit_test(test_data_on_syn),
        cmocka_unit_test(test_midstream),
        cmocka_unit_test(test_acks_alone_open_nothing),
        cmocka_unit_test(test_port_reuse),
        cmocka_unit_test(test_reuse_after_close_and_stragglers),
        cmocka_unit_test(test_half_close),
        cmocka_unit_test(test_fin_before_data),
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_blind_reset),
        cmocka_unit_test(test_again_behind_fin),
        cmocka_unit_test(test_keep_alive_is_no_retransmission),
        cmocka_unit_test(test_conflict),
        cmocka_unit_test(test_zero_window),
        cmocka_unit_test(test_hole_needs_both),
        cmocka_unit_test(test_hole_filled_in_time),
        cmocka_unit_test(test_hole_of_one_byte),
        cmocka_unit_test(test_unacknowledged_is_no_gap),
        cmocka_unit_test(test_lost_tail),
        cmocka_unit_test(test_lost_fin),
        cmocka_unit_test(test_one_direction_only),
        cmocka_unit_test(test_snapped),
        cmocka_unit_test(test_wild_ack),
        cmocka_unit_test(test_nothing_after_fin),
        cmocka_unit_test(test_held_pieces_are_bounded),
        cmocka_unit_test(test_hole_of_a_megabyte_behind),
        cmocka_unit_test(test_stream_over_4_GiB),
        cmocka_unit_test(test_connections_are_bounded),
        cmocka_unit_test(test_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
