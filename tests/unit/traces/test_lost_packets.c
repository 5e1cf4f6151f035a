/* Packets that the capture lost, and nobody else (pitfalls T6, T7, H18): a talk is made here, one
 * or two of its packets are left out, and what is said of it is held against what was sent.
 *
 * Where the hole is inside a body of known length, only that exchange is damaged, whatever the
 * server's silence, and whoever had to wait behind the hole. Where the hole may have hidden a
 * request, what follows stays damaged: nothing is made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "traces/base/mem.h"
#include "traces/exchange.h"
#include "traces/tcp.h"

enum { CLIENT, SERVER };
enum { EXCHANGES = 4, PACKETS = 300 };
#define MS INT64_C(1000000)

/* --- what is sent --------------------------------------------------------------------------- */

struct talk {
    bool chunked;
    bool pipelined;            /* all is asked before the first answer … */
    bool joined;               /* … and one answer begins in the packet in which another ends */
    bool acked;                /* by packets without data, too */
    bool halved;               /* each packet comes as two segments */
    int64_t think_ns, pace_ns; /* before an answer, and between the packets of it */
    size_t piece, pieces;      /* bytes, and packets, of an answer's body */
};

/* In its direction: where it begins, where its body's bytes do and end, and its end. */
struct message {
    size_t from, body, body_end, end;
};

struct packet {
    int side;
    size_t from, n; /* in its direction; n == 0: an acknowledgement */
    uint32_t ack;
    int64_t t;
    bool fin;
};

struct made {
    struct talk talk;
    struct buf sent[2];
    struct message messages[2][EXCHANGES];
    struct packet packets[PACKETS];
    size_t n, said[2]; /* packets; bytes of each side in them */
    int64_t t;
    bool lost[PACKETS];
};

static void make_message(struct made *m, int side, unsigned i)
{
    struct buf *out = &m->sent[side];
    size_t body = side == CLIENT ? 300 : m->talk.piece * m->talk.pieces;
    struct message *at = &m->messages[side][i];
    at->from = out->n;
    if (side == CLIENT)
        buf_printf(out, "POST /%u HTTP/1.1\r\n", i);
    else
        buf_printf(out, "HTTP/1.1 %u OK\r\nContent-Type: a/b\r\n", 200 + i);
    if (m->talk.chunked)
        buf_printf(out, "Transfer-Encoding: chunked\r\n\r\n%zx\r\n", body);
    else
        buf_printf(out, "Content-Length: %zu\r\n\r\n", body);
    at->body = out->n;
    for (size_t k = 0; k < body; k++)
        buf_put(out, &"abcdefg"[(k + i) % 7], 1);
    at->body_end = out->n;
    if (m->talk.chunked)
        buf_puts(out, "\r\n0\r\n\r\n");
    at->end = out->n;
}

static void put_packet(struct made *m, int side, size_t to, bool fin)
{
    assert_true(m->n < PACKETS);
    m->t += side == CLIENT ? 20000 : m->talk.pace_ns;
    m->packets[m->n++] = (struct packet){
        .side = side,
        .from = m->said[side],
        .n = to - m->said[side],
        .ack = (uint32_t)m->said[!side],
        .t = m->t,
        .fin = fin,
    };
    m->said[side] = to;
}

static void acknowledge(struct made *m, int side)
{
    if (m->talk.acked)
        put_packet(m, side, m->said[side], false);
}

/* The head is in one packet with the first of the body. */
static void put_message(struct made *m, int side, unsigned i)
{
    const struct message *at = &m->messages[side][i];
    size_t piece = side == CLIENT ? 100 : m->talk.piece;
    for (size_t to = at->body + piece; to < at->body_end; to += piece)
        put_packet(m, side, to, false);
    if (!m->talk.joined || side == CLIENT || i + 1 == EXCHANGES)
        put_packet(m, side, at->end, false);
}

static void answer(struct made *m, unsigned i)
{
    put_message(m, SERVER, i);
    acknowledge(m, CLIENT);
}

static void make_talk(struct made *m, struct talk talk)
{
    *m = (struct made){.talk = talk, .t = 1000000 * MS};
    for (int side = CLIENT; side <= SERVER; side++) {
        buf_init(&m->sent[side], 16 << 20);
        for (unsigned i = 0; i < EXCHANGES; i++)
            make_message(m, side, i);
    }
    for (unsigned i = 0; i < EXCHANGES; i++) {
        put_message(m, CLIENT, i);
        if (talk.pipelined && i + 1 < EXCHANGES)
            continue;
        acknowledge(m, SERVER);
        m->t += talk.think_ns;
        for (unsigned k = talk.pipelined ? 0 : i; k <= i; k++)
            answer(m, k);
    }
    put_packet(m, CLIENT, m->said[CLIENT], true);
    put_packet(m, SERVER, m->said[SERVER], true);
}

static void talk_done(struct made *m)
{
    buf_done(&m->sent[CLIENT]);
    buf_done(&m->sent[SERVER]);
}

/* --- what is said of it --------------------------------------------------------------------- */

struct told {
    unsigned n; /* times */
    bool whole, damaged;
    int status;
};

struct heard {
    struct exchange_shared shared;
    struct told told[EXCHANGES];
    struct buf log;
};

static int on_done(void *ctx, struct exchange *x)
{
    struct heard *h = ctx;
    unsigned i = (unsigned)(x->target.p[1] - '0');
    assert_true(x->target.n == 2 && i < EXCHANGES);
    h->told[i].n++;
    h->told[i].whole = x->request_complete && x->response_complete && !x->damaged &&
                       x->request_body_sha256[0] != '\0' && x->request_body_bytes == 300;
    h->told[i].damaged = x->damaged;
    h->told[i].status = x->status;
    buf_printf(&h->log, "%u %d %d%d%d %llu %llu %llu %llu end %d\n", i, x->status, x->damaged,
               x->request_complete, x->response_complete, (unsigned long long)x->request_first.pkt,
               (unsigned long long)x->request_last.off, (unsigned long long)x->response_first.pkt,
               (unsigned long long)x->response_body_bytes, (int)x->end);
    return TA_OK;
}

static int on_open(void *ctx, const struct tcp_conn *c, void **user, struct byte_sink *client,
                   struct byte_sink *server)
{
    struct heard *h = ctx;
    struct exchange_conn *conn =
        exchange_conn_new(c, (struct exchange_sink){.ctx = h, .done = on_done}, &h->shared);
    *user = conn;
    *client = exchange_from_client(conn);
    *server = exchange_from_server(conn);
    return TA_OK;
}

static void on_close(void *ctx, const struct tcp_conn *c, void *user)
{
    (void)ctx, (void)c;
    exchange_conn_free(user);
}

static void hand_on(struct tcp *t, const struct made *m, const struct packet *p, size_t from,
                    size_t n, uint64_t frame)
{
    static const struct endpoint ends[2] = {{4, {10, 0, 0, 1}, 40000}, {4, {10, 0, 0, 2}, 8000}};
    uint8_t *copy = n > 0 ? mem_dup(m->sent[p->side].p + from, n) : NULL;
    struct segment s = {
        .from = ends[p->side],
        .to = ends[!p->side],
        .seq = 1 + (uint32_t)from,
        .ack = 1 + p->ack,
        .flags = (uint8_t)(TCP_ACK | (p->fin ? TCP_FIN : 0)),
        .window = 500,
        .window_scale = -1,
        .data = copy,
        .n = n,
        .wire_n = n,
    };
    assert_int_equal(tcp_segment(t, &s, p->t, frame), TA_OK);
    free(copy);
}

static void shake_hands(struct tcp *t, const struct made *m)
{
    static const struct endpoint client = {4, {10, 0, 0, 1}, 40000},
                                 server = {4, {10, 0, 0, 2}, 8000};
    struct segment syn = {.from = client, .to = server, .flags = TCP_SYN, .window_scale = -1};
    struct segment both = {
        .from = server, .to = client, .flags = TCP_SYN | TCP_ACK, .ack = 1, .window_scale = -1};
    assert_int_equal(tcp_segment(t, &syn, m->packets[0].t - 2000, 1), TA_OK);
    assert_int_equal(tcp_segment(t, &both, m->packets[0].t - 1000, 2), TA_OK);
}

/* Plays the talk without the packets that are lost. */
static void play(const struct made *m, struct heard *h)
{
    *h = (struct heard){.shared = {.last_id = 0}};
    buf_init(&h->log, 1 << 16);
    struct tcp *t = tcp_new((struct tcp_sink){h, on_open, on_close}, (struct anomaly_sink){0});
    shake_hands(t, m);
    for (size_t i = 0; i < m->n; i++) {
        const struct packet *p = &m->packets[i];
        size_t half = m->talk.halved && !p->fin ? p->n / 2 : 0;
        if (m->lost[i])
            continue;
        if (half > 0)
            hand_on(t, m, p, p->from, half, 3 + i);
        hand_on(t, m, p, p->from + half, p->n - half, 3 + i);
    }
    assert_int_equal(tcp_finish(t), TA_OK);
    tcp_free(t);
    assert_int_equal(h->shared.early, 0);
    assert_int_equal(h->shared.held, 0);
}

/* --- the truth ------------------------------------------------------------------------------ */

/* Were bytes of exchange i lost? */
static bool is_hit(const struct made *m, unsigned i)
{
    for (size_t k = 0; k < m->n; k++) {
        const struct packet *p = &m->packets[k];
        const struct message *at = &m->messages[p->side][i];
        if (m->lost[k] && p->from < at->end && p->from + p->n > at->from)
            return true;
    }
    return false;
}

/* Is the packet inside a body of known length, so that all framing is there without it? */
static bool is_skippable(const struct made *m, const struct packet *p)
{
    for (unsigned i = 0; i < EXCHANGES; i++) {
        const struct message *at = &m->messages[p->side][i];
        if (p->from >= at->body && p->from + p->n <= at->body_end)
            return true;
    }
    return false;
}

static bool is_sure(const struct made *m)
{
    for (size_t k = 0; k < m->n; k++)
        if (m->lost[k] && !is_skippable(m, &m->packets[k]))
            return false;
    return true;
}

static void describe(const struct made *m, struct buf *out)
{
    const struct talk *t = &m->talk;
    buf_printf(out, "%s%s%s%sthink %lld ms, pace %lld ms, %zu pieces of %zu, without packets",
               t->chunked ? "chunked " : "", t->pipelined ? "pipelined " : "",
               t->joined ? "joined " : "", t->acked ? "acked " : "", (long long)(t->think_ns / MS),
               (long long)(t->pace_ns / MS), t->pieces, t->piece);
    for (size_t k = 0; k < m->n; k++)
        if (m->lost[k])
            buf_printf(out, " %zu", k);
}

static void judge(const struct made *m, struct heard *h)
{
    bool sure = is_sure(m);
    for (unsigned i = 0; i < EXCHANGES; i++) {
        const struct told *told = &h->told[i];
        bool hit = is_hit(m, i), its_own = told->status == 200 + (int)i;
        bool made_up = told->n > 1 || (told->whole && (hit || !its_own));
        bool missed = sure && (told->n != 1 || !its_own || (hit ? !told->damaged : !told->whole));
        if (made_up || missed) {
            struct buf talk;
            buf_init(&talk, 1 << 12);
            describe(m, &talk);
            fail_msg("exchange %u is %s, %s:\n%s", i, made_up ? "made up" : "missed",
                     buf_text(&talk), buf_text(&h->log));
        }
    }
}

/* The same in halves. */
static void judge_both(struct made *m)
{
    struct heard whole, halves;
    play(m, &whole);
    judge(m, &whole);
    m->talk.halved = true;
    play(m, &halves);
    m->talk.halved = false;
    assert_string_equal(buf_text(&whole.log), buf_text(&halves.log));
    buf_done(&whole.log);
    buf_done(&halves.log);
}

/* Each packet, and each pair of packets. */
static void lose_one_or_two(struct talk talk)
{
    struct made m;
    make_talk(&m, talk);
    judge_both(&m);
    for (size_t a = 0; a < m.n; a++) {
        m.lost[a] = m.packets[a].n > 0;
        for (size_t b = a; b < m.n; b++) {
            m.lost[b] = m.packets[b].n > 0;
            judge_both(&m);
            m.lost[b] = b == a && m.lost[b];
        }
        m.lost[a] = false;
    }
    talk_done(&m);
}

/* Faster than any limit, slower than that for a hole, and than that for what waits behind it. */
static const int64_t thinks_ns[] = {MS, 1500 * MS, 3000 * MS, 20000 * MS};
enum { N_THINKS = sizeof thinks_ns / sizeof thinks_ns[0] };

static void test_one_after_the_other(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_THINKS; i++)
        for (int how = 0; how < 4; how++)
            lose_one_or_two((struct talk){.chunked = how & 1,
                                          .acked = how & 2,
                                          .think_ns = thinks_ns[i],
                                          .pace_ns = MS,
                                          .piece = 100,
                                          .pieces = 3});
}

static void test_pipelined(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_THINKS; i++)
        for (int how = 0; how < 4; how++)
            lose_one_or_two((struct talk){.chunked = how & 1,
                                          .joined = how & 2,
                                          .pipelined = true,
                                          .think_ns = thinks_ns[i],
                                          .pace_ns = MS,
                                          .piece = 100,
                                          .pieces = 3});
}

static uint32_t draw(uint32_t *random, uint32_t below)
{
    *random = *random * 1664525 + 1013904223;
    return (*random >> 8) % below;
}

static void test_many_holes(void **state)
{
    static const int64_t paces_ns[] = {MS, 700 * MS, 2500 * MS};
    uint32_t random = 1;
    (void)state;
    for (int round = 0; round < 1500; round++) {
        struct made m;
        make_talk(&m, (struct talk){.chunked = draw(&random, 3) == 0,
                                    .pipelined = round & 1,
                                    .joined = round & 1 && draw(&random, 2),
                                    .acked = draw(&random, 2),
                                    .think_ns = thinks_ns[draw(&random, N_THINKS)],
                                    .pace_ns = paces_ns[draw(&random, 3)],
                                    .piece = 50 + draw(&random, 100),
                                    .pieces = 1 + draw(&random, 8)});
        bool only_skippable = draw(&random, 2);
        for (uint32_t n = 1 + draw(&random, 6); n > 0; n--) {
            size_t k = draw(&random, (uint32_t)m.n);
            m.lost[k] = m.packets[k].n > 0 && (!only_skippable || is_skippable(&m, &m.packets[k]));
        }
        judge_both(&m);
        talk_done(&m);
    }
}

/* Much is said while a request waits behind the hole. */
static void test_large_answers(void **state)
{
    (void)state;
    struct made m;
    make_talk(&m, (struct talk){.think_ns = MS, .pace_ns = MS, .piece = 60000, .pieces = 50});
    for (size_t a = 0; a < m.n; a++) {
        m.lost[a] = m.packets[a].side == CLIENT && m.packets[a].n > 0;
        if (m.lost[a])
            judge_both(&m);
        m.lost[a] = false;
    }
    talk_done(&m);
}

/* The near miss: with the head of a request it is gone, and it may have been two. What was asked
 * before the next answer stays damaged, although all of it is there; what is asked after is sure.
 */
static void test_hidden_request(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_THINKS; i++) {
        struct made m;
        struct heard h;
        size_t head = 0;
        make_talk(
            &m, (struct talk){.think_ns = thinks_ns[i], .pace_ns = MS, .piece = 100, .pieces = 3});
        while (m.packets[head].side != CLIENT || m.packets[head].from != m.messages[CLIENT][1].from)
            head++;
        m.lost[head] = true;
        play(&m, &h);
        judge(&m, &h);
        assert_true(h.told[0].whole);
        assert_int_equal(h.told[1].n, 0);
        assert_true(h.told[2].damaged);
        assert_true(h.told[3].whole);
        buf_done(&h.log);
        talk_done(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_after_the_other), cmocka_unit_test(test_pipelined),
        cmocka_unit_test(test_many_holes),          cmocka_unit_test(test_large_answers),
        cmocka_unit_test(test_hidden_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
