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
};

struct server_conn_sink {
    void *ctx;
    /* Is to be answered, now or later, by server_conn_answer or server_conn_begin …
     * server_conn_end. r lives until this returns. */
    void (*request)(void *ctx, struct server_conn *c, const struct server_request *r);
    /* What was no HTTP request; is to be answered with server_conn_answer, the connection then
     * ends. */
    void (*malformed)(void *ctx, struct server_conn *c);
    /* The client has gone, or was sent away: c is gone on return. Never called from inside a call
     * into c. */
    void (*gone)(void *ctx, struct server_conn *c);
};

enum { SERVER_CONN_SCRATCH_BYTES = 64 << 10 };

/* What the connections of a server share. */
struct server_conn_env {
    uv_loop_t *loop;
    struct server_conn_sink sink;
    const char *server; /* value of the Server field */
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

/* A response in pieces: the head (status 200), then each piece as one chunk and one write (as plain
 * bytes to an HTTP/1.0 client), then the end. */
void server_conn_begin(struct server_conn *c, const char *type);
void server_conn_piece(struct server_conn *c, struct slice piece);
void server_conn_end(struct server_conn *c);

#endif
