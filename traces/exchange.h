/* A request and its response, paired on a connection (pitfalls H1 to H4, H14, H18). */
#ifndef TRACES_EXCHANGE_H
#define TRACES_EXCHANGE_H

#include <stdbool.h>

#include "traces/anomaly.h"
#include "traces/base/arena.h"
#include "traces/base/buf.h"
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
    struct buf request_body; /* the first LIMIT_REQUEST_BODY_BYTES */
    uint64_t request_body_bytes;
    char request_body_sha256[65]; /* once request_complete; "" if bytes of it were not seen */
    struct mark request_first, request_last;
    bool request_complete;

    int status; /* of the final response; 0: none came */
    struct http_field *response_fields;
    size_t n_response_fields;
    enum http_framing framing;
    bool is_event_stream;                           /* turns true after response() if it is … */
    bool sniffed;                                   /* … by its body, not by its Content-Type */
    unsigned interim;                               /* 1xx before it */
    struct mark response_first, response_head_last; /* of the final response */
    struct mark body_first;                         /* valid if response_body_bytes > 0 */
    uint64_t response_body_bytes;
    struct mark response_last; /* the byte that completed the message; valid if response_complete */
    bool response_complete;
    enum end_kind end; /* how it ended */
    bool damaged;      /* unseen bytes inside request or response */
    int64_t t_end;     /* response_last, or when the connection or the trace ended */

    struct arena arena;
    void *user; /* the consumer's */
};

/* The value of a request or response field; {NULL, 0} if absent. */
struct slice exchange_request_field(const struct exchange *x, const char *name);
struct slice exchange_response_field(const struct exchange *x, const char *name);

struct exchange_sink {
    void *ctx;
    /* Its head is known: method, target, fields, request_first. */
    int (*request)(void *ctx, struct exchange *x);
    /* The final response's head is known; by now the request is whole, or request_complete is
     * false. */
    int (*response)(void *ctx, struct exchange *x);
    /* Of an event stream. */
    int (*event)(void *ctx, struct exchange *x, const struct event *ev);
    /* Decoded body bytes of any other response, except behind a Content-Encoding or in a tunnel:
     * those are only counted. */
    int (*body)(void *ctx, struct exchange *x, struct span in);
    /* Ended in whatever way, once for each that began, even after a callback has stopped it all; x
     * goes when this returns. */
    int (*done)(void *ctx, struct exchange *x);
    void (*anomaly)(void *ctx, struct exchange *x, const struct anomaly *a); /* x may be NULL */
};

/* The two parsers and the pairing of one connection. The caller feeds the byte sinks and frees it
 * at the end. */
struct exchange_conn;
struct exchange_conn *exchange_conn_new(const struct tcp_conn *conn, struct exchange_sink out,
                                        uint64_t *last_id);
struct byte_sink exchange_from_client(struct exchange_conn *c);
struct byte_sink exchange_from_server(struct exchange_conn *c);
void exchange_conn_free(struct exchange_conn *c); /* exchanges that are still open end here */

#endif
