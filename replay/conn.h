/* One connection of the load: an HTTP/1.1 client that keeps the time of every write and read, and
 * puts all bytes into the trace. One request at a time; kept open for the next where the server
 * allows. */
#ifndef REPLAY_CONN_H
#define REPLAY_CONN_H

#include <stdbool.h>
#include <sys/socket.h>
#include <uv.h>

#include "replay/message.h"
#include "replay/plan.h"
#include "replay/tls.h"
#include "traces/base/err.h"
#include "traces/socket_recorder.h"

struct conn;

/* How a request ended. Times are real, -1: did not happen. outcome is static: "complete", or what
 * went wrong. */
struct conn_reply {
    int64_t sent_ns, first_ns, end_ns;
    int status;
    const char *outcome;
};

/* Called from the loop, not from inside a call into the connection (but for conn_abort). */
struct conn_sink {
    void *ctx;
    void (*ready)(void *ctx, struct conn *c); /* connected, idle */
    void (*failed)(void *ctx, struct conn *c,
                   const char *fault); /* not connected; c is gone on return */
    void (*done)(void *ctx, struct conn *c,
                 const struct conn_reply *r); /* !conn_is_idle(c): c is gone on return */
    void (*lost)(void *ctx, struct conn *c);  /* ended while idle; c is gone on return */
};

/* What all connections of a run share. */
struct conn_env {
    uv_loop_t *loop;
    const struct sockaddr *remote;
    socklen_t remote_bytes;
    struct tls_context *tls;            /* NULL: plain */
    const char *authority;              /* Host, where the request has none */
    const struct message_field *fields; /* added to every request */
    size_t n_fields;
    struct socket_recorder *recorder; /* credentials reach it blanked, with equal length */
    struct conn_sink sink;
    uint8_t *scratch;     /* CONN_SCRATCH_BYTES, for reading */
    bool counts_text;     /* somebody looks at: */
    uint64_t text_events; /* as text_events.h has them */
    uint64_t opened;      /* connections so far */
    bool tls_fault_told;
    struct err trace; /* the first fault of the recorder, code 0: none; the run can't go on */
};

enum { CONN_SCRATCH_BYTES = 1 << 18 };

/* Starts to connect; env outlives it. NULL and *fault if that failed at once. */
struct conn *conn_open(struct conn_env *env, void *user, const char **fault);

void *conn_user(const struct conn *c);
void conn_set_user(struct conn *c, void *user);
uint64_t conn_serial(const struct conn *c); /* 1.. in the order of conn_open */
bool conn_is_idle(const struct conn *c);
uint16_t conn_local_port(const struct conn *c);
uint32_t conn_requests(const struct conn *c); /* sent on it so far */

/* Did the server end it so soon after a reply that had left it open? */
bool conn_ended_within(const struct conn *c, int64_t ns);

/* Did the server end it, or say that it would? False: this side tore it. */
bool conn_ended_by_server(const struct conn *c);

/* The outcome that an errno of connecting is. Static. */
const char *conn_fault(int fault);

/* Is an idle connection still open, as far as this side can know? */
bool conn_is_alive(const struct conn *c);

/* Composes the bytes of r on an idle connection; nothing is sent. r outlives the request. */
void conn_load(struct conn *c, const struct plan_request *r);

/* Writes at most max bytes more of what is loaded with one call. False when all is written or the
 * socket takes no more now; what is left then goes by itself. After each, conn_record_sent, in
 * which time is no longer critical. */
bool conn_send(struct conn *c, size_t max);
void conn_record_sent(struct conn *c);

/* Ends the request in flight with that outcome, and the connection with a reset (done is called
 * before this returns). */
void conn_abort(struct conn *c, const char *outcome);

/* Closes one that has no request in flight. c is gone. */
void conn_close(struct conn *c);

#endif
