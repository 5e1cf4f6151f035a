/* One client of the server: its requests parsed (traces/http.h) and answered one at a time, in
 * their order, over libuv. What is written leaves in one write where the socket takes it; what a
 * client does not read is queued up to a limit. */
#ifndef REPLAY_SERVER_CONN_H
#define REPLAY_SERVER_CONN_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "traces/base/span.h"

struct server_conn;

struct server_request {
    struct slice method, target, body;
    bool body_too_large; /* beyond LIMIT_REQUEST_BODY_BYTES; body is empty */
    int64_t last_ns;     /* monotonic: its last byte was read */
};

struct server_conn_sink {
    void *ctx;
    /* Is to be answered, now or later, by server_conn_answer or server_conn_begin …
     * server_conn_end. r lives until this returns, what it points at until it is answered. */
    void (*request)(void *ctx, struct server_conn *c, const struct server_request *r);
    /* What was no HTTP request; is to be answered with server_conn_answer, the connection then
     * ends. */
    void (*malformed)(void *ctx, struct server_conn *c);
    /* The client has gone, or was sent away: c is gone on return. Never called from inside a call
     * into c. */
    void (*gone)(void *ctx, struct server_conn *c);
    /* After server_conn_raw was false: the client has taken all. NULL where that is not used.
     * Called from the loop. */
    void (*drained)(void *ctx, struct server_conn *c);
};

enum { SERVER_CONN_SCRATCH_BYTES = 64 << 10 };

/* What the connections of a server share. */
struct server_conn_env {
    uv_loop_t *loop;
    struct server_conn_sink sink;
    const char *server; /* value of the Server field */
    bool http_1_0;      /* all responses say so, and the end of the connection ends each */
    struct server_conn *open;
    char scratch[SERVER_CONN_SCRATCH_BYTES]; /* for reading */
};

/* Takes the next connection of a listener, with TCP_NODELAY. env outlives it. */
void server_conn_accept(struct server_conn_env *env, uv_stream_t *listener);

/* Ends all connections; gone is called for each from the loop. */
void server_conn_close_all(struct server_conn_env *env);

void *server_conn_user(const struct server_conn *c);
void server_conn_set_user(struct server_conn *c, void *user);
uint16_t server_conn_peer_port(const struct server_conn *c);

/* A whole response. fields: further header lines, each with its CRLF, or "". */
void server_conn_answer(struct server_conn *c, int status, const char *type, const char *fields,
                        struct slice body);

struct server_conn_head {
    const char *type;
    const char *fields; /* further header lines, each with its CRLF, or "" */
    bool close;         /* no chunks: the end of the connection ends the body */
};

/* A response in pieces: the head (status 200), then each piece as one chunk and one write (as plain
 * bytes with `close` and to an HTTP/1.0 client), then the end. */
void server_conn_begin(struct server_conn *c, const struct server_conn_head *head);
void server_conn_piece(struct server_conn *c, struct slice piece);
void server_conn_end(struct server_conn *c);

/* What is written from here to server_conn_end leaves there, in one write. */
void server_conn_hold(struct server_conn *c);

/* A response that is there as bytes, head and all: each call is one write of its own. False: not
 * all of it has been taken, and the next waits for drained (or gone). Then the end: the next
 * request is answered, or the connection closed if the client asked for that. */
bool server_conn_raw(struct server_conn *c, struct slice bytes);
void server_conn_raw_end(struct server_conn *c);

/* Ends the connection, whatever is being answered on it: in order once all is written, or with a
 * reset at once. */
void server_conn_hang_up(struct server_conn *c, bool reset);

#endif
