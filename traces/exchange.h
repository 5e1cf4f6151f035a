/* A request and its response, paired on a connection (pitfalls H1 to H4, H14, H18). */
#ifndef TRACES_EXCHANGE_H
#define TRACES_EXCHANGE_H

#include <stdbool.h>

#include "traces/anomaly.h"
#include "traces/base/arena.h"
#include "traces/base/buf.h"
#include "traces/body.h"
#include "traces/event.h"
#include "traces/http.h"
#include "traces/tcp.h"

struct exchange {
    uint64_t id; /* 1.. in the order in which their request heads were whole */
    const struct tcp_conn *conn;
    uint32_t nth; /* 0.. on its connection */

    struct slice method, target; /* copies, as everything here: they live until done returned */
    struct http_field *request_fields;
    size_t n_request_fields;
    struct buf request_body; /* as it was sent, coded or not: the first LIMIT_REQUEST_BODY_BYTES,
                                or less while LIMIT_REQUEST_BODIES_BYTES are held */
    uint64_t request_body_bytes;  /* of which there were so many */
    char request_body_sha256[65]; /* once request_complete; "" if bytes of it were not seen */
    struct mark request_first, request_last;
    bool request_complete;

    int status;  /* of the final response; 0: none came */
    bool simple; /* HTTP/0.9: it had no head, and the status is a mere 200 */
    struct http_field *response_fields;
    size_t n_response_fields;
    enum http_framing framing;
    enum stream_kind stream;     /* what comes as events; may turn after response() if it is … */
    bool sniffed;                /* … by its body, not by its Content-Type */
    bool is_event_stream;        /* stream == STREAM_SSE */
    struct slice content_coding; /* Content-Encoding as it was said; {NULL, 0}: none */
    bool coded;                  /* the body had a coding, there or in Transfer-Encoding … */
    bool opaque; /* … that is not read here, or it was overwritten: the body is only counted */
    unsigned interim;                               /* 1xx before it */
    struct mark response_first, response_head_last; /* of the final response */
    struct mark body_first, body_last; /* on the wire, so far; valid if response_body_bytes > 0 */
    uint64_t response_body_bytes;      /* on the wire, without chunk framing */
    uint64_t decoded_body_bytes;       /* the same if not coded; 0 if opaque */
    struct mark response_last; /* the byte that completed the message; valid if response_complete */
    bool response_complete;
    enum end_kind end; /* how it ended */
    bool damaged;      /* unseen bytes inside request or response */
    int64_t t_end;     /* response_last, or when the connection or the trace ended */

    struct arena arena;
    void *user; /* the consumer's */
};

/* The value of a response field; {NULL, 0} if absent. */
struct slice exchange_response_field(const struct exchange *x, const char *name);

struct exchange_sink {
    void *ctx;
    /* Its head is known: method, target, fields, request_first. Of one that was answered before its
     * head was whole (http.early-response), no fields are. */
    int (*request)(void *ctx, struct exchange *x);
    /* The final response's head is known; by now the request is whole, or request_complete is
     * false. */
    int (*response)(void *ctx, struct exchange *x);
    /* Of a stream. Behind a coding the offsets in its marks count decoded bytes; x->body_last is
     * the wire's latest byte, in the packet that released it. */
    int (*event)(void *ctx, struct exchange *x, const struct event *ev);
    /* Decoded body bytes of any other response, marked likewise. Those of an opaque one or of a
     * tunnel are only counted. */
    int (*body)(void *ctx, struct exchange *x, struct span in);
    /* Ended in whatever way, once for each that began, even after a callback has stopped it all; x
     * goes when this returns. */
    int (*done)(void *ctx, struct exchange *x);
    void (*anomaly)(void *ctx, struct exchange *x, const struct anomaly *a); /* x may be NULL */
};

/* Event streams that were under way when the trace began: their requests were not seen. */
struct exchange_before {
    uint64_t streams, bytes; /* … and so many bytes of them */
    uint64_t conn, pkt, off; /* the first piece of the first one … */
    int64_t t_ns, last_t_ns; /* … and the last of any */
};

/* What the connections of a trace share; all zero to begin with. */
struct exchange_shared {
    struct exchange_before before;
    uint64_t last_id;
    size_t held;  /* bytes of request bodies */
    bool blanked; /* bodies were overwritten before they were written: those with a coding, whole */
    size_t early; /* bytes of responses that wait for their requests */
};

/* The two parsers and the pairing of one connection. The caller feeds the byte sinks and frees it
 * at the end. */
struct exchange_conn;
struct exchange_conn *exchange_conn_new(const struct tcp_conn *conn, struct exchange_sink out,
                                        struct exchange_shared *shared);
struct byte_sink exchange_from_client(struct exchange_conn *c);
struct byte_sink exchange_from_server(struct exchange_conn *c);
void exchange_conn_free(struct exchange_conn *c); /* exchanges that are still open end here */

#endif
