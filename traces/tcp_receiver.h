/* Inside tcp: what the client of a connection shows of its own reading. Its machine acknowledges
 * what comes, whoever reads it or not; the window it offers says how much lies there unread. */
#ifndef TRACES_TCP_RECEIVER_H
#define TRACES_TCP_RECEIVER_H

#include <stdbool.h>

#include "traces/tcp_stream.h"

enum { TCP_RECEIVER_SAMPLES = 16 };

struct tcp_receiver {
    bool scaled[2];    /* that side's SYN was seen … */
    int8_t scale;      /* … and the client's window is shifted by so much */
    bool server_spoke; /* since the client's last segment */

    uint32_t open; /* its largest window so far */
    struct tcp_window {
        int64_t t_ns;
        uint64_t acked;
        uint32_t window;
    } samples[TCP_RECEIVER_SAMPLES]; /* since it was last as large, or grew by much */
    size_t n;
    uint32_t stride, behind; /* one in `stride` stays; so many since the last that does */

    /* The oldest segment that waits to be acknowledged. */
    bool pending, unsure; /* unsure: bytes are missing before what was sent last, or came again */
    uint64_t sent, end;   /* of all, of that segment: offsets */
    int64_t t_ns;         /* … and when it was seen */
    uint64_t in_time;     /* acknowledgements that were not late */
};

/* A SYN of either side. */
void tcp_receiver_syn(struct tcp_receiver *r, const struct segment *s, bool from_client);

/* The server's segment; off is of its first byte. */
void tcp_receiver_data(struct tcp_receiver *r, uint64_t off, size_t n, struct tcp_now now);

/* The client's segment with ACK, no SYN and no RST, which acknowledges all before `acked`; at_end:
 * its number is that of the next byte, as of none that only asks for a sign of life. Fills in
 * c->unread and c->late_ack. */
void tcp_receiver_ack(struct tcp_receiver *r, struct tcp_conn *c, const struct segment *s,
                      uint64_t acked, bool at_end, struct tcp_now now);

#endif
