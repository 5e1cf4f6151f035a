/* TCP segments to two ordered byte streams a connection, with marks and gaps (RFC 9293; pitfalls T1
 * to T20).
 *
 * A hole is a loss only under T6: acknowledged, and then waited for LIMIT_TCP_HOLE_NS or
 * LIMIT_TCP_HOLE_BYTES, or the connection or the trace ended. What was never acknowledged and never
 * came is no gap. */
#ifndef TRACES_TCP_H
#define TRACES_TCP_H

#include <stdbool.h>

#include "traces/anomaly.h"
#include "traces/base/err.h"
#include "traces/base/span.h"
#include "traces/link.h"

/* That the client let the server's bytes wait: the latest time it is known of. */
struct tcp_wait {
    uint64_t n;          /* so many times so far; 0: never, and the rest says nothing */
    int64_t from_ns, ns; /* since when, and how long */
    uint64_t bytes, pkt; /* that waited, and the frame that shows it */
};

/* A packet at which something was seen first since the client began its latest request; pkt 0: it
 * was not. */
struct tcp_place {
    uint64_t pkt;
    int64_t t_ns;
};

struct tcp_conn {
    uint64_t id; /* 1.. in the order of their first packet */
    struct endpoint client, server;
    uint64_t first_pkt;
    int64_t t_syn, t_synack, t_established; /* -1: not seen */
    int64_t t_left;    /* the client's FIN or RST, if it came before any of the server's; -1 */
    uint64_t left_pkt; /* … the frame of that */
    bool midstream;    /* no SYN seen */
    bool behind; /* the server acknowledged more of the client than has been handed on by now */
    uint64_t retransmissions, gaps, gap_bytes; /* both directions */
    uint64_t needless;        /* of the retransmissions: it was there already, by the receiver */
    uint64_t zero_windows[2]; /* times that the window closed: the client's, the server's */
    struct tcp_place closed;  /* the client's window closes */
    struct tcp_place resent;  /* a segment of either side is sent again */
    struct tcp_place reset;   /* the reset that ended it */
    struct tcp_wait unread;   /* lay in the client's receive buffer, by its windows */
    struct tcp_wait late_ack; /* not acknowledged in time, the handshake's round trip taken off */
};

struct tcp_sink {
    void *ctx;
    /* A connection's first data (or SYN): fill in where its bytes go and *user. */
    int (*open)(void *ctx, const struct tcp_conn *c, void **user, struct byte_sink *from_client,
                struct byte_sink *from_server);
    /* Both directions have ended: *user may go. Once for each open, at the latest in tcp_free. */
    void (*close)(void *ctx, const struct tcp_conn *c, void *user);
};

/* Bytes that were on the wire and are not in the trace: what is there behind them. */
struct tcp_gap {
    uint64_t conn, pkt, off; /* pkt 0: there is none */
    int64_t t_ns;
    bool from_server;
};

struct tcp_totals {
    uint64_t connections, segments, retransmissions, gaps, gap_bytes, zero_windows, resets;
    uint64_t needless; /* as of tcp_conn */
    uint64_t client_gap_bytes; /* of gap_bytes: what clients sent */
    struct tcp_gap first_gap;
};

struct tcp;
struct tcp *tcp_new(struct tcp_sink out, struct anomaly_sink bad);

/* One segment stamped t_ns from frame pkt. Returns what a sink returned if that was not TA_OK. */
int tcp_segment(struct tcp *t, const struct segment *s, int64_t t_ns, uint64_t pkt);

/* The trace has ended: holes are given up, every open direction ends with END_TRACE. */
int tcp_finish(struct tcp *t);
struct tcp_totals tcp_totals(const struct tcp *t);
void tcp_free(struct tcp *t);

#endif
