/* Inside tcp: one direction of a connection, put in order. */
#ifndef TRACES_TCP_STREAM_H
#define TRACES_TCP_STREAM_H

#include <stdbool.h>

#include "traces/anomaly.h"
#include "traces/base/span.h"
#include "traces/tcp.h"

/* The packet that is being looked at. */
struct tcp_now {
    int64_t t_ns;
    uint64_t pkt;
};

/* Where both directions of a connection count. */
struct tcp_counts {
    struct tcp_conn *conn;
    struct tcp_totals *totals;
    struct anomaly_sink bad;
};

struct tcp_piece;

struct tcp_stream {
    struct byte_sink sink;
    const struct tcp_counts *counts;
    bool of_server;          /* the server sends it */
    bool synced;             /* base is known */
    bool ended;              /* sink.end has been called */
    bool fin;                /* fin_off is known */
    bool peer_seen;          /* acknowledgements are to be seen */
    uint32_t base;           /* sequence number of offset 0 */
    uint64_t next;           /* offset of the first byte not handed on */
    uint64_t acked;          /* all before it was acknowledged */
    uint64_t known_needless; /* sent again though acknowledged: the receiver may yet say so */
    bool *behind;            /* that more was acknowledged than handed on; NULL: not wanted */
    uint64_t fin_off;
    struct tcp_now fin_seen;
    int64_t t_acked; /* when acked last rose above next */
    int64_t t_ready; /* latest time, and … */
    uint64_t rel;    /* … latest frame of all bytes before next */
    /* Out of order: disjoint, sorted by offset, held[first..n). */
    struct tcp_piece **held;
    size_t first, n, cap;
    size_t held_bytes;
};

void tcp_stream_init(struct tcp_stream *s, const struct tcp_counts *counts);
void tcp_stream_done(struct tcp_stream *s);

/* Offset 0 has this sequence number, if that was not known. */
void tcp_stream_sync(struct tcp_stream *s, uint32_t seq);

/* The offset of seq: the one nearest to next, so that numbers may wrap. Negative: before the start.
 */
int64_t tcp_stream_offset(const struct tcp_stream *s, uint32_t seq);

/* The other side acknowledged everything before this sequence number. */
void tcp_stream_ack(struct tcp_stream *s, uint32_t ack, struct tcp_now now);

/* The other side says that bytes came which it had already. */
void tcp_stream_came_again(struct tcp_stream *s);

/* n captured bytes of wire_n at off. Returns what the sink returned. */
int tcp_stream_data(struct tcp_stream *s, int64_t off, struct slice data, size_t wire_n,
                    struct tcp_now now);

/* The stream ends at off: sink.end is called when all before it has come. */
int tcp_stream_fin(struct tcp_stream *s, int64_t off, struct tcp_now now);

/* Gives up a hole that has been acknowledged and waited for (T6). */
int tcp_stream_patience(struct tcp_stream *s, struct tcp_now now);

/* Gives up every acknowledged hole and ends. */
int tcp_stream_close(struct tcp_stream *s, enum end_kind why, struct tcp_now now);

#endif
