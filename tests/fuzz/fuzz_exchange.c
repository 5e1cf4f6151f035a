/* Fuzzes traces/exchange with http, body, inflate, sse and ndjson below it: pieces of both
 * directions, each with a byte that says whose it is (1), whether unseen bytes come before it (2),
 * that it was seen 3 packets ago (4), and one for its length. Every exchange that begins must end,
 * once, and be told of in order. */
#include <stdlib.h>

#include "traces/exchange.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct state {
    uint64_t began, ended;
};

/* What has been told of an exchange, in x->user: 1 its request, 2 its response, 3 that it is done.
 */
static void step(struct exchange *x, uintptr_t from, uintptr_t to)
{
    if (x->user != (void *)from)
        abort();
    x->user = (void *)to;
}

static int on_request(void *ctx, struct exchange *x)
{
    struct state *s = ctx;
    step(x, 0, 1);
    if (x->id != ++s->began || x->method.n == 0)
        abort();
    return TA_OK;
}

static int on_response(void *ctx, struct exchange *x)
{
    (void)ctx;
    step(x, 1, 2);
    if (x->status < 101 || x->response_first.pkt < x->request_first.pkt)
        abort();
    return TA_OK;
}

static int on_event(void *ctx, struct exchange *x, const struct event *ev)
{
    (void)ctx;
    step(x, 2, 2);
    if (x->stream == STREAM_NONE || x->opaque || ev->last.off < ev->first.off)
        abort();
    return TA_OK;
}

static int on_body(void *ctx, struct exchange *x, struct span in)
{
    (void)ctx;
    step(x, 2, 2);
    if (in.n == 0)
        abort();
    return TA_OK;
}

static int on_done(void *ctx, struct exchange *x)
{
    struct state *s = ctx;
    if (!x->coded && x->framing != HTTP_TUNNEL && x->decoded_body_bytes != x->response_body_bytes)
        abort();
    if (x->user != (void *)1 && x->user != (void *)2)
        abort();
    if (x->response_complete && x->status == 0)
        abort();
    s->ended++;
    return TA_OK;
}

static void on_anomaly(void *ctx, struct exchange *x, const struct anomaly *a)
{
    (void)ctx, (void)x;
    if (a->id[0] == '\0')
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct state s = {0};
    struct exchange_shared shared = {0};
    uint64_t off[2] = {0};
    struct exchange_conn *c = exchange_conn_new(
        NULL,
        (struct exchange_sink){&s, on_request, on_response, on_event, on_body, on_done, on_anomaly},
        &shared);
    struct byte_sink to[2] = {exchange_from_client(c), exchange_from_server(c)};
    for (uint64_t pkt = 4; size > 2; pkt++) {
        unsigned side = data[0] & 1;
        size_t n = data[1] < size - 2 ? data[1] : size - 2;
        uint64_t seen = data[0] & 4 ? pkt - 3 : pkt;
        struct mark at = {off[side], (int64_t)seen, (int64_t)pkt, seen, pkt};
        if (data[0] & 2) {
            to[side].gap(to[side].ctx, 7, at);
            at.off = off[side] += 7;
        }
        if (n > 0)
            to[side].data(to[side].ctx, (struct span){data + 2, n, at});
        off[side] += n;
        data += 2 + n;
        size -= 2 + n;
    }
    for (unsigned side = 0; side < 2 && size > 0; side++) /* a last byte: ended, not only freed */
        to[side].end(to[side].ctx, (enum end_kind)(data[0] % 3), (struct mark){.off = off[side]});
    exchange_conn_free(c);
    if (shared.held != 0)
        abort();
    if (s.began != s.ended)
        abort();
    return 0;
}
