#include "traces/tcp_receiver.h"

#include "traces/base/clock.h"
#include "traces/limits.h"

/* --- unread bytes ----------------------------------------------------------------------------- */

enum { UNREAD_MIN = 4096 }; /* a window that wavers by a packet or two says nothing */

void tcp_receiver_syn(struct tcp_receiver *r, const struct segment *s, bool from_client)
{
    r->scaled[!from_client] = true;
    if (from_client)
        r->scale = s->window_scale;
    else if (s->window_scale < 0) /* both sides, or neither (RFC 7323, 1.3) */
        r->scale = -1;
}

static uint32_t window_of(const struct tcp_receiver *r, const struct segment *s)
{
    int shift = r->scale > 14 ? 14 : r->scale > 0 ? r->scale : 0;
    return (uint32_t)s->window << shift;
}

/* The last place is always the newest. Where there is no room, every other one goes, and from then
 * on of two, four, eight … one stays: they are evenly apart. */
static void add_sample(struct tcp_receiver *r, struct tcp_window at)
{
    if (r->n == 0) {
        r->stride = 1;
        r->behind = 0;
    }
    if (r->n > 1 && r->behind < r->stride) { /* behind the last one that stays */
        r->behind++;
        r->samples[r->n - 1] = at;
        return;
    }
    if (r->n == TCP_RECEIVER_SAMPLES) {
        for (size_t i = 0; i < r->n; i += 2)
            r->samples[i / 2] = r->samples[i];
        r->n /= 2;
        r->stride *= 2;
    }
    r->behind = 1;
    r->samples[r->n++] = at;
}

/* The window has grown to `window`: so much, at least, has been read by now. The last byte that was
 * acknowledged at sample i lay unread at sample j if more was unread then than had come behind it.
 * Windows are rounded up by the scale, which is taken off. */
static void take_unread(const struct tcp_receiver *r, struct tcp_conn *c, uint32_t window,
                        struct tcp_now now)
{
    uint32_t step = r->scale > 0 ? UINT32_C(1) << r->scale : 1;
    uint32_t open = r->open < window ? r->open : window;
    struct tcp_wait longest = {.ns = 0};
    for (size_t j = 1; j < r->n; j++) {
        const struct tcp_window *at = &r->samples[j];
        uint64_t unread = open > (uint64_t)at->window + step ? open - at->window - step : 0;
        size_t i = 0;
        while (i < j && at->acked - r->samples[i].acked >= unread)
            i++;
        int64_t ns = at->t_ns - r->samples[i].t_ns;
        if (unread >= UNREAD_MIN && ns > longest.ns)
            longest = (struct tcp_wait){c->unread.n + 1, r->samples[i].t_ns, ns, unread, now.pkt};
    }
    if (longest.ns >= LIMIT_TCP_UNREAD_NS)
        c->unread = longest;
}

static void follow_window(struct tcp_receiver *r, struct tcp_conn *c, const struct segment *s,
                          uint64_t acked, bool at_end, struct tcp_now now)
{
    uint32_t window = window_of(r, s);
    struct tcp_window last = r->n > 0 ? r->samples[r->n - 1] : (struct tcp_window){0, 0, window};
    if (acked < last.acked) /* an older segment, late */
        return;
    if (window > last.window && window - last.window >= UNREAD_MIN) {
        /* Nothing else made it speak: it has just read. */
        if (acked == last.acked && s->wire_n == 0 && at_end && !r->server_spoke)
            add_sample(r, (struct tcp_window){now.t_ns, acked, last.window});
        take_unread(r, c, window, now);
        r->n = 0;
    }
    if (window >= r->open) {
        r->open = window;
        r->n = 0;
    }
    add_sample(r, (struct tcp_window){now.t_ns, acked, window});
}

/* --- late acknowledgements -------------------------------------------------------------------- */

void tcp_receiver_data(struct tcp_receiver *r, uint64_t off, size_t n, struct tcp_now now)
{
    if (off !=
        r->sent) { /* which of two copies, or what hole, an acknowledgement is of is unknown */
        r->pending = false;
        r->unsure = true;
    }
    if (off + n > r->sent)
        r->sent = off + n;
    if (r->pending || r->unsure)
        return;
    r->pending = true;
    r->end = off + n;
    r->t_ns = now.t_ns;
}

/* The way to the client and back is what its handshake took; not known: nothing is said. */
static void follow_ack(struct tcp_receiver *r, struct tcp_conn *c, const struct segment *s,
                       uint64_t acked, struct tcp_now now)
{
    bool bare = s->wire_n == 0 && !(s->flags & TCP_FIN);
    if (acked >= r->sent)
        r->unsure = false;
    if (!r->pending || acked < r->end)
        return;
    r->pending = false;
    if (!bare || c->t_synack < 0 || c->t_established < 0)
        return;
    int64_t late = now.t_ns - r->t_ns - (c->t_established - c->t_synack);
    if (late < LIMIT_TCP_ACK_NS)
        r->in_time++;
    else if (r->in_time > 0) /* else bare ones may be left out of the trace */
        c->late_ack = (struct tcp_wait){c->late_ack.n + 1, r->t_ns, late, acked - r->end, now.pkt};
}

void tcp_receiver_ack(struct tcp_receiver *r, struct tcp_conn *c, const struct segment *s,
                      uint64_t acked, bool at_end, struct tcp_now now)
{
    if (r->scaled[0] && r->scaled[1])
        follow_window(r, c, s, acked, at_end, now);
    follow_ack(r, c, s, acked, now);
    r->server_spoke = false;
}
