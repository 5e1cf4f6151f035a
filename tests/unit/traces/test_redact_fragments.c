/* Secrets in IP packets that come in pieces: put together again, what comes out is what comes out
 * of the same packets whole, in any order of the pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/packet.h"
#include "traces/fragments.h"
#include "traces/limits.h"
#include "traces/redact.h"

enum { CLIENT = 40000, SERVER = 8000, FIRST = 1000, PACKETS_MAX = 64, MS = 1000000 };

static const char request[] = "POST /v1/x?api_key=S3CR3T&n=1 HTTP/1.1\r\nHost: some.where\r\n"
                              "Authorization: Bearer S3CR3T-and-more-of-it-and-even-more\r\n"
                              "Content-Length: 20\r\nCookie: a=S3CR3T; b=S3CR3T-again\r\n\r\n"
                              "{\"model\":\"m\",\"n\":100}";
static const char expected[] = "POST /v1/x?api_key=******&n=1 HTTP/1.1\r\nHost: some.where\r\n"
                               "Authorization: Bearer ***********************************\r\n"
                               "Content-Length: 20\r\nCookie: ************************\r\n\r\n"
                               "{\"model\":\"m\",\"n\":100}";

struct out {
    size_t n[PACKETS_MAX]; /* as they went in */
    int64_t t[PACKETS_MAX];
    size_t in, came;
    struct fragments *fragments;
    char stream[sizeof request];
    bool sum_is_right;
    struct packet_bytes last;
};

static uint32_t add_words(uint32_t sum, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum += i & 1 ? p[i] : (uint32_t)p[i] << 8;
    return sum;
}

static uint16_t sum_of(const uint8_t *tcp, size_t n, const struct segment *s)
{
    size_t addr = s->from.family == 6 ? 16 : 4;
    uint32_t sum = add_words(6 + (uint32_t)n, s->from.addr, addr);
    sum = add_words(add_words(sum, s->to.addr, addr), tcp, n);
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

static int on_packet(void *ctx, int64_t t_ns, const uint8_t *p, size_t n, size_t wire_n,
                     struct err *e)
{
    struct out *o = ctx;
    struct segment s;
    (void)e;
    assert_true(o->came < o->in);
    assert_int_equal(n, o->n[o->came]);
    assert_int_equal(t_ns, o->t[o->came]);
    o->came++;
    o->last.n = 0;
    packet_add(&o->last, p, n);
    if (fragments_decode(o->fragments, LINK_RAW, p, n, wire_n, t_ns, &s) != LINK_TCP || s.n == 0)
        return TA_OK;
    size_t at = s.seq - FIRST;
    assert_true(at + s.n < sizeof o->stream);
    memcpy(o->stream + at, s.data, s.n);
    o->sum_is_right &= sum_of(s.data - 20, s.n + 20, &s) == 0;
    return TA_OK;
}

static int on_custom(void *ctx, struct slice json, struct err *e)
{
    (void)ctx, (void)json, (void)e;
    return TA_OK;
}

struct fixture {
    struct redactor *r;
    struct out out;
    int64_t t;
    uint8_t family;
};

static void begin(struct fixture *f, uint8_t family)
{
    *f = (struct fixture){.family = family, .out.sum_is_right = true};
    f->out.fragments = fragments_new();
    memset(f->out.stream, '?', sizeof f->out.stream - 1);
    f->r = redactor_new(REDACT_SECRETS, (struct redact_sink){&f->out, on_packet, on_custom});
}

static struct redact_totals end(struct fixture *f)
{
    assert_int_equal(redactor_end(f->r, NULL), TA_OK);
    assert_int_equal(f->out.came, f->out.in);
    struct redact_totals t = redactor_totals(f->r);
    redactor_free(f->r);
    fragments_free(f->out.fragments);
    return t;
}

static void send_packet(struct fixture *f, const struct packet_bytes *b, size_t wire_n)
{
    uint8_t *exact = malloc(b->n);
    memcpy(exact, b->p, b->n);
    assert_true(f->out.in < PACKETS_MAX);
    f->out.n[f->out.in] = b->n;
    f->out.t[f->out.in++] = f->t;
    assert_int_equal(redactor_packet(f->r, LINK_RAW, f->t, exact, b->n, wire_n, NULL), TA_OK);
    free(exact);
    f->t += MS / 100;
}

/* A segment of the request, its IP header apart. */
struct datagram {
    struct segment s;
    struct packet_bytes tcp;
    uint16_t id;
};

static void make(const struct fixture *f, struct datagram *d, size_t from, size_t to, uint8_t flags)
{
    struct endpoint a = {f->family, {10, 0, 0, 1}, CLIENT}, b = {f->family, {10, 0, 0, 2}, SERVER};
    *d = (struct datagram){.s = {.from = a,
                                 .to = b,
                                 .seq = FIRST + (uint32_t)from - (flags & TCP_SYN ? 1u : 0u),
                                 .flags = flags,
                                 .data = (const uint8_t *)request + from,
                                 .n = to - from},
                           .id = (uint16_t)(from + 7)};
    packet_tcp(&d->tcp, &d->s, NULL, 0);
    uint16_t sum = sum_of(d->tcp.p, d->tcp.n, &d->s);
    d->tcp.p[16] = (uint8_t)(sum >> 8);
    d->tcp.p[17] = (uint8_t)sum;
}

/* Bytes [from, to) of the datagram, with the headers of a piece. */
static void piece_of(const struct fixture *f, const struct datagram *d, size_t from, size_t to,
                     struct packet_bytes *b)
{
    bool more = to < d->tcp.n;
    b->n = 0;
    if (f->family == 4) {
        packet_ipv4(b, &d->s, to - from);
        b->p[4] = (uint8_t)(d->id >> 8);
        b->p[5] = (uint8_t)d->id;
        b->p[6] = (uint8_t)((more ? 0x20 : 0) | from / 8 >> 8);
        b->p[7] = (uint8_t)(from / 8);
    } else {
        packet_add(b, (uint8_t[]){0x60, 0, 0, 0}, 4);
        packet_be16(b, (uint16_t)(8 + to - from));
        packet_add(b, (uint8_t[]){44, 64}, 2);
        packet_add(b, d->s.from.addr, 16);
        packet_add(b, d->s.to.addr, 16);
        packet_add(b, (uint8_t[]){6, 0}, 2);
        packet_be16(b, (uint16_t)(from | more));
        packet_be32(b, d->id);
    }
    packet_add(b, d->tcp.p + from, to - from);
}

static void send_part(struct fixture *f, const struct datagram *d, size_t from, size_t to)
{
    struct packet_bytes b;
    piece_of(f, d, from, to, &b);
    send_packet(f, &b, b.n);
}

/* In three pieces; the order is one of six. */
static void send_in_pieces(struct fixture *f, const struct datagram *d, unsigned order)
{
    static const uint8_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                         {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    size_t at[] = {0, 32, 80, d->tcp.n};
    for (int i = 0; i < 3; i++)
        send_part(f, d, at[orders[order][i]], at[orders[order][i] + 1]);
}

static void expect_redacted(const struct fixture *f)
{
    assert_string_equal(f->out.stream, expected);
    assert_true(f->out.sum_is_right);
}

/* The packet that came out last, but for its IP header. */
static void assert_overwritten(const struct fixture *f)
{
    for (size_t i = 20; i < f->out.last.n; i++) {
        uint8_t c = f->out.last.p[i];
        assert_true(c == '*' || c == '\r' || c == '\n');
    }
}

/* Every order of the pieces of every segment, segments in both orders, wherever they are cut. */
static void any_order(void **state)
{
    (void)state;
    for (uint8_t family = 4; family <= 6; family += 2) {
        for (size_t cut = 70; cut < sizeof request - 80; cut += 3) {
            for (unsigned order = 0; order < 72; order++) {
                struct fixture f;
                struct datagram d[2], syn;
                begin(&f, family);
                make(&f, &syn, 0, 0, TCP_SYN);
                make(&f, &d[0], 0, cut, TCP_ACK);
                make(&f, &d[1], cut, sizeof request - 1, TCP_ACK);
                send_part(&f, &syn, 0, syn.tcp.n);
                send_in_pieces(&f, &d[order & 1], order / 2 % 6);
                send_in_pieces(&f, &d[!(order & 1)], order / 12);
                assert_int_equal(f.out.came, 7); /* nothing waits longer than it must */
                struct redact_totals t = end(&f);
                expect_redacted(&f);
                assert_int_equal(t.unjudged_bytes, 0);
                assert_int_equal(t.secrets, 3);
            }
        }
    }
}

/* Among packets that are whole, in the middle of whose stream it stands. */
static void among_whole_packets(void **state)
{
    (void)state;
    for (unsigned order = 0; order < 6; order++) {
        struct fixture f;
        struct datagram d[3];
        begin(&f, 4);
        make(&f, &d[0], 0, 60, TCP_ACK);
        make(&f, &d[1], 60, 170, TCP_ACK);
        make(&f, &d[2], 170, sizeof request - 1, TCP_ACK);
        send_part(&f, &d[0], 0, d[0].tcp.n);
        if (order & 1)
            send_part(&f, &d[2], 0, d[2].tcp.n);
        send_in_pieces(&f, &d[1], order);
        if (!(order & 1))
            send_part(&f, &d[2], 0, d[2].tcp.n);
        assert_int_equal(f.out.came, 5);
        assert_int_equal(end(&f).unjudged_bytes, 0);
        expect_redacted(&f);
    }
}

/* One piece does not come: the others are overwritten whole, but for the TCP header, after as long
 * as for any hole; the stream goes on behind it. */
static void a_piece_that_does_not_come(void **state)
{
    (void)state;
    for (int missing = 0; missing < 3; missing++) {
        struct fixture f;
        struct datagram d[2];
        size_t at[] = {0, 32, 80, 20 + 110};
        begin(&f, 4);
        make(&f, &d[0], 0, 110, TCP_ACK);
        make(&f, &d[1], 110, sizeof request - 1, TCP_ACK);
        size_t blanked = 0;
        for (int i = 0; i < 3; i++) {
            if (i == missing)
                continue;
            send_part(&f, &d[0], at[i], at[i + 1]);
            blanked += at[i + 1] - at[i] - (i == 0 ? 20 : 0);
        }
        assert_int_equal(f.out.came, 0);
        assert_int_equal(redactor_tick(f.r, f.t + LIMIT_REDACT_HOLD_NS / 2, NULL), TA_OK);
        assert_int_equal(f.out.came, 0);
        assert_int_equal(redactor_tick(f.r, f.t + LIMIT_REDACT_HOLD_NS + MS, NULL), TA_OK);
        assert_int_equal(f.out.came, 2);
        assert_int_equal(redactor_totals(f.r).unjudged_bytes, blanked);
        assert_overwritten(&f);
        send_part(&f, &d[1], 0, d[1].tcp.n);
        end(&f);
        /* Joined in the middle of a field's value, which cannot be judged. */
        assert_string_equal(strstr(f.out.stream, "Content-Length"),
                            strstr(expected, "Content-Length"));
        assert_null(strstr(f.out.stream, "even-more"));
    }
}

/* … and comes too late: what it makes with those that went is not judged by halves. */
static void a_piece_that_comes_late(void **state)
{
    struct fixture f;
    struct datagram d;
    (void)state;
    begin(&f, 4);
    make(&f, &d, 0, 120, TCP_ACK);
    send_part(&f, &d, 0, 32);
    send_part(&f, &d, 80, d.tcp.n);
    assert_int_equal(redactor_tick(f.r, f.t + LIMIT_REDACT_HOLD_NS + MS, NULL), TA_OK);
    f.t += LIMIT_REDACT_HOLD_NS + MS;
    send_part(&f, &d, 32, 80);
    assert_int_equal(f.out.came, 3);
    end(&f);
    assert_overwritten(&f);
}

/* Sent twice, and another the second time: which one the receiver takes is not known. */
static void a_piece_that_comes_twice(void **state)
{
    struct fixture f;
    struct datagram d, other;
    (void)state;
    begin(&f, 4);
    make(&f, &d, 0, 120, TCP_ACK);
    other = d;
    memcpy(other.tcp.p + 40, "ANOTHER-SECRET", 14);
    send_part(&f, &d, 0, 32);
    send_part(&f, &d, 32, 80);
    send_part(&f, &other, 32, 80);
    assert_int_equal(f.out.came, 0);
    send_part(&f, &d, 80, d.tcp.n);
    assert_int_equal(f.out.came, 4);
    assert_overwritten(&f);
    assert_int_equal(end(&f).unjudged_bytes, 120 + 48);
}

/* Two datagrams with one id: a line of one could hide behind bytes of the other. */
static void pieces_of_two(void **state)
{
    struct fixture f;
    struct datagram d, other;
    (void)state;
    begin(&f, 4);
    make(&f, &other, 0, 120, TCP_ACK);
    make(&f, &d, 0, 120, TCP_ACK);
    memset(other.tcp.p + 32, 'x', 48);
    send_part(&f, &other, 32, 80);
    assert_int_equal(redactor_tick(f.r, f.t + LIMIT_REDACT_HOLD_NS + MS, NULL), TA_OK);
    f.t += LIMIT_REDACT_HOLD_NS + MS;
    send_part(&f, &d, 0, 32);
    send_part(&f, &d, 80, d.tcp.n);
    assert_int_equal(f.out.came, 3);
    end(&f);
    assert_overwritten(&f);
}

static void the_twin_is_overwritten(void **state)
{
    struct fixture f;
    struct datagram d, other;
    (void)state;
    begin(&f, 4);
    make(&f, &d, 0, 120, TCP_ACK);
    other = d;
    memcpy(other.tcp.p + 72, "ANOTHER!", 8);
    send_part(&f, &d, 32, 80);
    send_part(&f, &d, 80, d.tcp.n);
    send_part(&f, &d, 0, 32);
    send_part(&f, &other, 32, 80); /* of a datagram that is complete: it begins another */
    end(&f);
    assert_overwritten(&f);
}

/* What stands behind bytes that were not captured cannot be placed in the text. */
static void a_snapped_piece(void **state)
{
    struct fixture f;
    struct datagram d;
    struct packet_bytes b;
    (void)state;
    begin(&f, 4);
    make(&f, &d, 0, 120, TCP_ACK);
    piece_of(&f, &d, 0, 32, &b);
    b.n -= 4;
    send_packet(&f, &b, b.n + 4);
    send_part(&f, &d, 32, 80);
    send_part(&f, &d, 80, d.tcp.n);
    assert_int_equal(f.out.came, 3);
    end(&f);
    assert_overwritten(&f);
}

/* Pieces of what is no TCP stay, if that can be told. */
static void another_protocol(void **state)
{
    struct fixture f;
    struct datagram d;
    struct packet_bytes b;
    (void)state;
    begin(&f, 6);
    make(&f, &d, 0, 120, TCP_ACK);
    for (size_t from = 0; from < d.tcp.n; from += 80) {
        piece_of(&f, &d, from, from + 80 < d.tcp.n ? from + 80 : d.tcp.n, &b);
        b.p[40] = 17; /* UDP */
        send_packet(&f, &b, b.n);
        assert_int_equal(f.out.came, from == 0 ? 0 : 2);
    }
    assert_memory_equal(f.out.last.p, b.p, b.n);
    assert_int_equal(end(&f).unjudged_bytes, 0);
}

/* Freed with everything still waiting. */
static void freed_early(void **state)
{
    struct fixture f;
    struct datagram d[3];
    (void)state;
    begin(&f, 4);
    make(&f, &d[0], 0, 40, TCP_ACK);
    make(&f, &d[1], 60, 170, TCP_ACK);
    make(&f, &d[2], 170, 190, TCP_ACK);
    send_part(&f, &d[0], 0, d[0].tcp.n);
    send_in_pieces(&f, &d[1], 3);
    send_part(&f, &d[2], 0, 24);
    assert_int_equal(f.out.came, 1);
    redactor_free(f.r);
    fragments_free(f.out.fragments);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order),
        cmocka_unit_test(among_whole_packets),
        cmocka_unit_test(a_piece_that_does_not_come),
        cmocka_unit_test(a_piece_that_comes_late),
        cmocka_unit_test(a_piece_that_comes_twice),
        cmocka_unit_test(pieces_of_two),
        cmocka_unit_test(the_twin_is_overwritten),
        cmocka_unit_test(a_snapped_piece),
        cmocka_unit_test(another_protocol),
        cmocka_unit_test(freed_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
