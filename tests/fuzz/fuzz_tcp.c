/* Fuzzes traces/tcp: a segment every 16 bytes (from and flags, ports, seq and ack, lengths, time),
 * its payload made of its sequence numbers. What comes out must be in order, once, with times that
 * do not run backwards. */
#include <stdlib.h>

#include "traces/tcp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct side {
    uint64_t next, rel;
    int64_t t_ready;
    bool ended;
};

struct flow {
    struct side side[2];
};

static void check(struct side *s, struct mark at)
{
    if (s->ended || at.off != s->next || at.t_ready < at.t_seen || at.rel < at.pkt)
        abort();
    if (s->rel > 0 && (at.t_ready < s->t_ready || at.rel < s->rel))
        abort();
    s->t_ready = at.t_ready;
    s->rel = at.rel;
}

static int side_data(void *ctx, struct span in)
{
    struct side *s = ctx;
    check(s, in.at);
    if (in.n == 0)
        abort();
    s->next += in.n;
    return TA_OK;
}

static int side_gap(void *ctx, uint64_t n, struct mark at)
{
    struct side *s = ctx;
    check(s, at);
    if (n == 0)
        abort();
    s->next += n;
    return TA_OK;
}

static int side_end(void *ctx, enum end_kind why, struct mark at)
{
    struct side *s = ctx;
    (void)why;
    check(s, at);
    s->ended = true;
    return TA_OK;
}

static int open_flow(void *ctx, const struct tcp_conn *c, void **user, struct byte_sink *client,
                     struct byte_sink *server)
{
    struct flow *f = calloc(1, sizeof *f);
    (void)ctx, (void)c;
    if (f == NULL)
        abort();
    *client = (struct byte_sink){&f->side[0], side_data, side_gap, side_end};
    *server = (struct byte_sink){&f->side[1], side_data, side_gap, side_end};
    *user = f;
    return TA_OK;
}

static void close_flow(void *ctx, const struct tcp_conn *c, void *user)
{
    struct flow *f = user;
    (void)ctx, (void)c;
    if (!f->side[0].ended || !f->side[1].ended)
        abort();
    free(f);
}

static uint32_t number(const uint8_t *p, uint8_t far)
{
    uint32_t v = (uint32_t)p[0] << 8 | p[1];
    return far ? v << 16 | v : v - 0x4000; /* near 0, on both sides of the wrap; or anywhere */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct endpoint ends[2] = {{4, {1}, 1000}, {4, {2}, 80}};
    static uint8_t payload[65536];
    struct tcp *tcp =
        tcp_new((struct tcp_sink){NULL, open_flow, close_flow}, (struct anomaly_sink){0});
    int64_t t = 0;
    for (uint64_t pkt = 1; size >= 16; pkt++, data += 16, size -= 16) {
        unsigned from = data[0] & 1;
        struct segment s = {.from = ends[from],
                            .to = ends[!from],
                            .seq = number(data + 2, data[0] & 2),
                            .ack = number(data + 4, data[0] & 4),
                            .flags = data[1] & 63,
                            .window = data[6],
                            .window_scale = -1,
                            .data = payload};
        s.from.port = (uint16_t)(s.from.port + (from == 0 ? data[7] & 3 : 0));
        s.to.port = (uint16_t)(s.to.port + (from == 1 ? data[7] & 3 : 0));
        s.wire_n = data[0] & 8 ? (size_t)(data[8] << 8 | data[9]) : data[9];
        s.n = data[0] & 16 ? s.wire_n * data[10] / 256 : s.wire_n;
        t += (int64_t)((int8_t)data[11]) * (data[0] & 32 ? 100000000 : 1000);
        if (tcp_segment(tcp, &s, t, pkt) != TA_OK)
            abort();
    }
    if (tcp_finish(tcp) != TA_OK)
        abort();
    tcp_free(tcp);
    return 0;
}
