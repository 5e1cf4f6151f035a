#include "analyze/reads.h"

#include "traces/base/clock.h"

void reads_begin(struct reads *reads, const struct tcp_conn *c)
{
    reads->retransmissions = c->retransmissions;
    reads->needless = c->needless;
    reads->zero_windows = c->zero_windows[0];
    reads->unread = c->unread.n;
    reads->late_acks = c->late_ack.n;
}

/* What had begun to wait before the request came is not its. */
static void keep_longest(struct tcp_wait *longest, const struct tcp_wait *w, uint64_t *seen,
                         int64_t t0)
{
    if (w->n != *seen && w->from_ns >= t0 && w->ns > longest->ns)
        *longest = *w;
    *seen = w->n;
}

void reads_wait(struct reads *reads, struct request *r, const struct tcp_conn *c)
{
    keep_longest(&r->unread, &c->unread, &reads->unread, r->t0);
    keep_longest(&r->late_ack, &c->late_ack, &reads->late_acks, r->t0);
}

void reads_end(struct reads *reads, struct request *r, const struct tcp_conn *c)
{
    reads_wait(reads, r, c);
    r->retransmissions = (uint32_t)(c->retransmissions - reads->retransmissions);
    r->needless = (uint32_t)(c->needless - reads->needless);
    r->zero_windows = (uint32_t)(c->zero_windows[0] - reads->zero_windows);
    r->closed = r->zero_windows > 0 ? c->closed : (struct tcp_place){0};
    r->resent = r->retransmissions > 0 ? c->resent : (struct tcp_place){0};
    r->reset = c->reset;
}

/* A FIN right behind a request is a client's that has nothing more to ask, and still listens. */
#define HALF_CLOSE_NS (10 * (int64_t)NS_PER_MS)

bool reads_client_left(const struct exchange *x)
{
    int64_t left = x->conn->t_left;
    if (left < x->request_first.t_ready || left > x->t_end)
        return false;
    bool listens = x->response_body_bytes > 0 && /* it takes what comes, and sends no reset */
                   x->body_last.t_ready > left + HALF_CLOSE_NS;
    if (x->end == END_TRACE && (!x->request_complete || listens))
        return false;
    return !x->request_complete || (x->end == END_RST && left == x->t_end) ||
           left > x->request_last.t_ready + HALF_CLOSE_NS;
}

static void add_burst(struct bursts *b, double bytes)
{
    double off = bytes - b->mean;
    b->mean += off / ++b->n;
    b->squares += off * (bytes - b->mean);
}

void reads_follow(struct reads *reads, struct request *r, struct mark last)
{
    if (last.rel != reads->packet) {
        if (reads->before > 0)
            add_burst(&r->bursts, (double)(reads->end - reads->before));
        reads->before = reads->end;
        reads->packet = last.rel;
    }
    reads->end = last.off;
}

/* Bytes of the body, decoded and without chunk framing, up to and with the byte at last. The
 * framing up to the span at hand is what its place on the wire has more than the body. */
static uint64_t body_bytes(const struct exchange *x, struct mark last)
{
    if (x->coded)
        return last.off + 1;
    uint64_t place = last.off + 1 - x->body_first.off;
    uint64_t wire = x->body_last.off + 1 - x->body_first.off;
    uint64_t framing = wire > x->response_body_bytes ? wire - x->response_body_bytes : 0;
    return place > framing ? place - framing : 0;
}

void reads_place(struct request *r, const struct exchange *x, const struct event *ev)
{
    r->om_body = body_bytes(x, ev->last);
    if (r->out.n == 1)
        r->o1_body = r->om_body;
    r->straddling += ev->first.rel != ev->last.rel;
}
