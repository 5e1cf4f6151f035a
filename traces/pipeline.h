/* A whole trace through all stages: reader → link → tcp → http → sse → exchange → the caller's
 * sink. */
#ifndef TRACES_PIPELINE_H
#define TRACES_PIPELINE_H

#include "traces/base/err.h"
#include "traces/exchange.h"
#include "traces/reader.h"

enum pipeline_side { PIPELINE_CLIENT, PIPELINE_SERVER };

/* The bytes that a side of a connection sent, in their order, before they are read as HTTP (a
 * callback of the exchange over a span comes after the tap's); how it ended, and by whose FIN or
 * RST; and that nothing comes of the connection any more. TLS and HTTP/2 do not come here. */
struct pipeline_tap {
    int (*data)(void *ctx, const struct tcp_conn *c, enum pipeline_side from, struct span in);
    int (*gap)(void *ctx, const struct tcp_conn *c, enum pipeline_side from, uint64_t n,
               struct mark at);
    int (*end)(void *ctx, const struct tcp_conn *c, enum pipeline_side from, enum end_kind why,
               enum pipeline_side by, struct mark at);
    void (*closed)(void *ctx, const struct tcp_conn *c);
};

struct pipeline_sink {
    struct exchange_sink exchange;                 /* its ctx is passed to all */
    int (*custom)(void *ctx, const struct rec *r); /* may be NULL */
    int (*packet)(void *ctx,
                  const struct rec *r); /* every packet, before it is parsed; may be NULL */
    const struct pipeline_tap *tap;     /* all its members set; NULL: not wanted */
    /* At the end of a reader: another to go on in, as if it were the same file; its frames count on
     * from the `frames` of those before. NULL: there is none. Readers stay the caller's. May be
     * NULL. */
    struct reader *(*next)(void *ctx, uint64_t frames);
};

struct pipeline_totals {
    uint64_t packets, first_frame;
    int64_t first_t_ns,
        last_t_ns; /* of packets with a time; first is that of the first packet in the file */
    uint64_t counted_received, counted_dropped,
        counted_if_dropped; /* latest statistics; UINT64_MAX = unknown */
    uint64_t snapped;       /* packets whose end was not captured */
    uint64_t timeless;      /* packets without a time stamp: left out */
    uint64_t not_tcp, bad_headers;
    uint64_t fragments, fragments_lost; /* of IP: all, and those whose datagram stayed incomplete */
    uint64_t twins;                     /* segments seen at another interface already: left out */
    uint64_t unknown_link_packets;      /* of link types that are not read here: … */
    uint16_t unknown_links[8];          /* … the first few of them */
    size_t unknown_links_n;
    uint16_t link;                               /* of the first packet */
    uint64_t tls_connections, http2_connections; /* seen, and not readable here */
    struct tcp_totals tcp;
    struct exchange_before before;
};

/* Runs r to its end. TA_OK, TA_STOP if a callback stopped it, or a fault of the tool. */
int pipeline_run(struct reader *r, struct pipeline_sink sink, struct pipeline_totals *totals,
                 struct err *e);

#endif
