/* Fuzzes traces/redact. The input makes the packets of one connection: a plan of 8 bytes, then the
 * bytes of both directions; pieces are cut, left out, repeated and reordered as a generator seeded
 * by the plan says; some come as IP fragments, of which some are left out, repeated and reordered.
 * A known exchange with a secret follows on a connection of its own, cut likewise. Every packet
 * must come out once, in order, at its length; the secret must never. */
#include <stdlib.h>
#include <string.h>

#include "tests/support/packet.h"
#include "traces/fragments.h"
#include "traces/redact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char secret[] = "S3CR3T-9f8e7d";
static const char exchange[] = "POST /v1/x?api_key=S3CR3T-9f8e7d&n=1 HTTP/1.1\r\nHost: a\r\n"
                               "Authorization: Bearer S3CR3T-9f8e7d\r\nContent-Length: 27\r\n"
                               "Cookie:S3CR3T-9f8e7d\r\n\r\n{\"model\":\"m\",\"n\":[1,2,\"t\"]}"
                               "GET http://u:S3CR3T-9f8e7d@h/ HTTP/1.1\r\nX-Api-Key: S3CR3T-9f8e7d"
                               "\r\n\r\n";

struct sent {
    size_t n[2048];
    size_t packets, came;
    struct fragments *fragments; /* as a reader puts them together */
    uint32_t cut;                /* state of the generator that makes pieces; 0: none are made */
    uint32_t first;              /* number of the exchange's first byte */
    uint8_t stream[sizeof exchange]; /* as it comes out */
};

static void check(const uint8_t *p, size_t n)
{
    size_t k = sizeof secret - 1;
    for (size_t i = 0; i + k <= n; i++)
        if (memcmp(p + i, secret, k) == 0)
            abort();
}

static int on_packet(void *ctx, int64_t t_ns, const uint8_t *p, size_t n, size_t wire_n,
                     struct err *e)
{
    struct sent *s = ctx;
    (void)wire_n, (void)e;
    if (s->came == s->packets || s->n[s->came] != n)
        abort();
    s->came++;
    struct segment g;
    check(p, n);
    enum link_verdict v = fragments_decode(s->fragments, LINK_RAW, p, n, n, t_ns, &g);
    if (v == LINK_FRAGMENT || (v == LINK_BAD && n > 20 && (p[6] & 0x3f || p[7])))
        return TA_OK; /* bad: put together of pieces that contradict each other */
    if (v != LINK_TCP)
        abort();
    size_t at = g.seq - s->first; /* of a mixture of pieces: anywhere */
    if (g.from.port == 2000 && at < sizeof s->stream && g.n <= sizeof s->stream - at) {
        memcpy(s->stream + at, g.data, g.n);
        check(s->stream, sizeof s->stream);
    }
    return TA_OK;
}

static int on_custom(void *ctx, struct slice json, struct err *e)
{
    (void)ctx, (void)json, (void)e;
    return TA_OK;
}

static uint32_t next(uint32_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 17;
    return *x ^= *x << 5;
}

static void send_packet(struct redactor *r, struct sent *sent, const uint8_t *p, size_t n,
                        int64_t t)
{
    if (sent->packets == sizeof sent->n / sizeof sent->n[0])
        return;
    sent->n[sent->packets++] = n;
    if (redactor_packet(r, LINK_RAW, t, p, n, n, NULL) != TA_OK)
        abort();
}

static void send_fragment(struct redactor *r, struct sent *sent, const struct packet_bytes *b,
                          size_t from, size_t to, int64_t t)
{
    struct packet_bytes piece = {.n = 0};
    packet_add(&piece, b->p, 20);
    packet_add(&piece, b->p + 20 + from, to - from);
    piece.p[2] = (uint8_t)(piece.n >> 8);
    piece.p[3] = (uint8_t)piece.n;
    piece.p[6] = (uint8_t)((20 + to < b->n ? 0x20 : 0) | from / 8 >> 8);
    piece.p[7] = (uint8_t)(from / 8);
    send_packet(r, sent, piece.p, piece.n, t);
}

/* Two or three pieces in any order; one may come twice, or not at all. */
static void send_fragments(struct redactor *r, struct sent *sent, struct packet_bytes *b, int64_t t)
{
    uint32_t *x = &sent->cut, what = next(x);
    size_t n = b->n - 20, at[4] = {0, next(x) % (n / 8) * 8, next(x) % (n / 8) * 8, n};
    b->p[4] = (uint8_t)(next(x) >> 8);
    b->p[5] = (uint8_t)sent->packets;
    if (at[1] > at[2]) {
        size_t low = at[2];
        at[2] = at[1];
        at[1] = low;
    }
    for (unsigned i = 0; i < 3; i++) {
        unsigned k = what & 1 ? (i + what / 2) % 3 : 2 - (i + what / 2) % 3;
        if (at[k] == at[k + 1] || (what & 0xf00) == 0)
            continue;
        send_fragment(r, sent, b, at[k], at[k + 1], t);
        if (what & 0x1000)
            send_fragment(r, sent, b, at[k], at[k + 1], t);
    }
}

static void send_piece(struct redactor *r, struct sent *sent, uint16_t port, uint32_t seq,
                       const uint8_t *p, size_t n, int64_t t)
{
    struct packet_bytes b;
    struct segment s = {.from = {4, {127, 0, 0, 1}, port},
                        .to = {4, {127, 0, 0, 1}, (uint16_t)(port ^ 1)},
                        .seq = seq,
                        .flags = TCP_ACK,
                        .data = p,
                        .n = n};
    packet_raw(&b, &s);
    if (sent->cut != 0 && next(&sent->cut) & 1)
        send_fragments(r, sent, &b, t);
    else
        send_packet(r, sent, b.p, b.n, t);
}

/* The stream p in pieces; flags: 1 leave some out, 2 repeat some, 4 swap some, 8 no SYN. */
static void send_stream(struct redactor *r, struct sent *sent, uint16_t port, const uint8_t *p,
                        size_t n, uint32_t seed, unsigned flags, unsigned most)
{
    uint32_t x = seed | 1, first = next(&x);
    sent->first = first; /* of the last stream, in the end */
    int64_t t = 0;
    struct {
        size_t from, n;
    } late = {0, 0};
    if (!(flags & 8)) {
        struct packet_bytes b;
        struct segment s = {.from = {4, {127, 0, 0, 1}, port},
                            .to = {4, {127, 0, 0, 1}, (uint16_t)(port ^ 1)},
                            .seq = first - 1,
                            .flags = TCP_SYN};
        packet_raw(&b, &s);
        send_packet(r, sent, b.p, b.n, t);
    }
    for (size_t i = 0, k; i < n; i += k) {
        k = 1 + next(&x) % most;
        k = k < n - i ? k : n - i;
        uint32_t what = next(&x);
        t += what & 0x100 ? 60000000 : 1000;
        if (late.n > 0 && what & 0x200) {
            send_piece(r, sent, port, first + (uint32_t)late.from, p + late.from, late.n, t);
            late.n = 0;
        }
        if (flags & 4 && late.n == 0 && (what & 0xc00) == 0) {
            late.from = i;
            late.n = k;
            continue;
        }
        if (!(flags & 1 && (what & 0xf000) == 0))
            send_piece(r, sent, port, first + (uint32_t)i, p + i, k, t);
        if (flags & 2 && what & 0x10000) {
            size_t back = next(&x) % (i + 1), again = next(&x) % 1000;
            again = again < n - back ? again : n - back;
            send_piece(r, sent, port, first + (uint32_t)back, p + back, again, t);
        }
    }
    if (late.n > 0)
        send_piece(r, sent, port, first + (uint32_t)late.from, p + late.from, late.n, t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 8)
        return 0;
    struct sent sent = {.packets = 0, .fragments = fragments_new()};
    enum redact_mode mode = data[0] & 1 ? REDACT_BODIES : REDACT_SECRETS;
    unsigned flags = data[1] & 15, most = data[2] & 1 ? 1u + data[3] % 8 : 1u + data[3] * 4u;
    uint32_t seed = (uint32_t)data[4] << 8 | data[5];
    sent.cut = data[1] & 16 ? seed * 2 + 1 : 0;
    size_t n = size - 8, half = n * data[6] / 256;
    struct redactor *r = redactor_new(mode, (struct redact_sink){&sent, on_packet, on_custom});
    for (size_t i = 0; i + sizeof secret - 1 <= size; i++)
        if (memcmp(data + i, secret, sizeof secret - 1) == 0)
            goto out; /* as a text it may stand anywhere */
    send_stream(r, &sent, 1000, data + 8, half, seed, flags, most);
    send_stream(r, &sent, 1001, data + 8 + half, n - half, seed + 7, flags, most);
    if (redactor_end(r, NULL) != TA_OK)
        abort();
    send_stream(r, &sent, 2000, (const uint8_t *)exchange, sizeof exchange - 1, seed, flags & 7u,
                most);
    if (redactor_end(r, NULL) != TA_OK || sent.came != sent.packets)
        abort();
out:
    redactor_free(r);
    fragments_free(sent.fragments);
    return 0;
}
