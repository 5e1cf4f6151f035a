/* Server side of an HTTP/1.1 connection (RFC 9112) over libuv. */
#include "replay/server_conn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "traces/base/buf.h"
#include "traces/base/clock.h"
#include "traces/base/log.h"
#include "traces/base/mem.h"
#include "traces/base/text.h"
#include "traces/http.h"
#include "traces/limits.h"

enum {
    UNREAD_BYTES = 64 << 20, /* written and not yet taken by the client */
    BEHIND_BYTES = 1 << 20,  /* … with that much no further request of its is taken up */
    WAITING = 64             /* requests parsed while one is answered; beyond, reading stops */
};

/* A request being received or waiting. */
struct incoming {
    char *method, *target;
    struct buf body;
    int minor;
    int64_t last_ns;
    bool keep_alive, body_too_large;
    struct incoming *next;
};

struct server_conn {
    uv_tcp_t tcp;
    struct server_conn_env *env;
    struct server_conn *prev, *next;
    void *user;
    uint16_t peer_port;

    struct http *http;
    struct byte_sink in;
    uint64_t off;      /* bytes received */
    int64_t t_read_ns; /* the latest of them; monotonic */
    struct incoming *building, *waiting;
    size_t n_waiting;
    bool malformed, reading;

    struct incoming *answering;
    bool chunked, pumping;
    bool ending;  /* the last response has been written */
    bool closing; /* the handle is */
    struct buf frame;
    struct buf held; /* by server_conn_hold */
    bool holding;
};

static void incoming_free(struct incoming *q)
{
    if (q == NULL)
        return;
    free(q->method);
    free(q->target);
    buf_done(&q->body);
    free(q);
}

/* --- the end of a connection -------------------------------------------------------------- */

static void on_closed(uv_handle_t *handle)
{
    struct server_conn *c = handle->data;
    c->env->sink.gone(c->env->sink.ctx, c);
    if (c->prev != NULL)
        c->prev->next = c->next;
    else
        c->env->open = c->next;
    if (c->next != NULL)
        c->next->prev = c->prev;
    http_free(c->http);
    incoming_free(c->building);
    incoming_free(c->answering);
    while (c->waiting != NULL) {
        struct incoming *q = c->waiting;
        c->waiting = q->next;
        incoming_free(q);
    }
    buf_done(&c->frame);
    buf_done(&c->held);
    free(c);
}

static void conn_close(struct server_conn *c)
{
    if (c->closing)
        return;
    c->closing = true;
    uv_close((uv_handle_t *)&c->tcp, on_closed);
}

void server_conn_close_all(struct server_conn_env *env)
{
    for (struct server_conn *c = env->open; c != NULL; c = c->next)
        conn_close(c);
}

/* To close a socket over bytes that nobody read would reset the connection, and what the client has
 * not read yet could be lost to it (RFC 9112, 9.6). */
static void discard_input(struct server_conn *c)
{
    uv_os_fd_t fd;
    if (uv_fileno((const uv_handle_t *)&c->tcp, &fd) != 0)
        return;
    while (recv(fd, c->env->scratch, sizeof c->env->scratch, MSG_DONTWAIT) > 0) {
    }
}

static void on_shutdown(uv_shutdown_t *req, int status)
{
    struct server_conn *c = req->data;
    free(req);
    if (status != UV_ECANCELED) /* it was closed before */
        discard_input(c);
    conn_close(c);
}

/* Closes once all is written. */
static void finish_and_close(struct server_conn *c)
{
    uv_shutdown_t *req = mem_zalloc(sizeof *req);
    req->data = c;
    c->ending = true; /* no further request is taken */
    if (c->reading)
        uv_read_stop((uv_stream_t *)&c->tcp);
    c->reading = false;
    if (uv_shutdown(req, (uv_stream_t *)&c->tcp, on_shutdown) != 0) {
        free(req);
        conn_close(c);
    }
}

/* --- writing ------------------------------------------------------------------------------ */

struct queued_write {
    uv_write_t req;
    struct server_conn *conn;
    char bytes[];
};

static void pump(struct server_conn *c);

static size_t unsent(const struct server_conn *c)
{
    return uv_stream_get_write_queue_size((const uv_stream_t *)&c->tcp);
}

static void on_written(uv_write_t *req, int status)
{
    struct queued_write *w = req->data;
    struct server_conn *c = w->conn;
    free(w);
    if (status < 0) {
        conn_close(c);
        return;
    }
    if (!c->closing && c->env->sink.drained != NULL && unsent(c) == 0)
        c->env->sink.drained(c->env->sink.ctx, c);
    if (unsent(c) < BEHIND_BYTES)
        pump(c);
}

static void queue_write(struct server_conn *c, const char *p, size_t n)
{
    uv_stream_t *stream = (uv_stream_t *)&c->tcp;
    if (unsent(c) + n > UNREAD_BYTES) {
        log_warn("a client on port %u reads nothing; its connection is closed", c->peer_port);
        conn_close(c);
        return;
    }
    struct queued_write *w = mem_alloc(sizeof *w + n);
    w->conn = c;
    w->req.data = w;
    memcpy(w->bytes, p, n);
    uv_buf_t out = uv_buf_init(w->bytes, (unsigned)n);
    if (uv_write(&w->req, stream, &out, 1, on_written) != 0) {
        free(w);
        conn_close(c);
    }
}

static void write_bytes(struct server_conn *c, const void *bytes, size_t n)
{
    if (c->closing)
        return;
    if (c->holding) {
        if (buf_add(&c->held, bytes, n) != TA_OK)
            conn_close(c);
        return;
    }
    uv_buf_t out = uv_buf_init((char *)bytes, (unsigned)n);
    int written = uv_try_write((uv_stream_t *)&c->tcp, &out, 1);
    if (written == UV_EAGAIN)
        written = 0;
    if (written < 0)
        conn_close(c);
    else if ((size_t)written < n)
        queue_write(c, (const char *)bytes + written, n - (size_t)written);
}

static const char *reason_of(int status)
{
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {
        {200, "OK"},
        {400, "Bad Request"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {413, "Content Too Large"},
        {502, "Bad Gateway"},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (reasons[i].status == status)
            return reasons[i].reason;
    }
    return "";
}

/* Status line and the fields of every response, into the frame. */
static void put_head(struct server_conn *c, int status, const char *type)
{
    char date[64];
    struct tm tm;
    time_t now = (time_t)(clock_real_ns() / NS_PER_S);
    gmtime_r(&now, &tm);
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    buf_clear(&c->frame);
    if (c->env->http_1_0)
        c->answering->keep_alive = false;
    buf_printf(&c->frame, "HTTP/1.%c %d %s\r\nServer: %s\r\nDate: %s\r\nContent-Type: %s\r\n",
               c->env->http_1_0 ? '0' : '1', status, reason_of(status), c->env->server, date, type);
    if (!c->answering->keep_alive)
        buf_puts(&c->frame, "Connection: close\r\n");
    else if (c->answering->minor == 0)
        buf_puts(&c->frame, "Connection: keep-alive\r\n");
}

static void answered(struct server_conn *c)
{
    bool keep_alive = c->answering->keep_alive;
    incoming_free(c->answering);
    c->answering = NULL;
    if (c->closing)
        return;
    if (keep_alive)
        pump(c);
    else
        finish_and_close(c);
}

void server_conn_answer(struct server_conn *c, int status, const char *type, const char *fields,
                        struct slice body)
{
    put_head(c, status, type);
    buf_printf(&c->frame, "%sContent-Length: %zu\r\n\r\n", fields, body.n);
    if (buf_add(&c->frame, body.p, body.n) == TA_OK) {
        write_bytes(c, c->frame.p, c->frame.n);
    } else {
        write_bytes(c, c->frame.p, c->frame.n);
        write_bytes(c, body.p, body.n);
    }
    answered(c);
}

void server_conn_begin(struct server_conn *c, const struct server_conn_head *head)
{
    c->chunked = c->answering->minor >= 1 && !head->close && !c->env->http_1_0;
    if (!c->chunked)
        c->answering->keep_alive = false; /* the end of the connection ends the body */
    put_head(c, 200, head->type);
    buf_printf(&c->frame, "%s%s\r\n", head->fields,
               c->chunked ? "Transfer-Encoding: chunked\r\n" : "");
    write_bytes(c, c->frame.p, c->frame.n);
}

void server_conn_piece(struct server_conn *c, struct slice piece)
{
    if (!c->chunked) {
        write_bytes(c, piece.p, piece.n);
        return;
    }
    buf_clear(&c->frame);
    buf_printf(&c->frame, "%zx\r\n", piece.n);
    if (buf_add(&c->frame, piece.p, piece.n) != TA_OK || buf_add(&c->frame, "\r\n", 2) != TA_OK)
        conn_close(c); /* a piece of UNREAD_BYTES is none that a client would read */
    else
        write_bytes(c, c->frame.p, c->frame.n);
}

void server_conn_end(struct server_conn *c)
{
    if (c->chunked)
        write_bytes(c, "0\r\n\r\n", 5);
    if (c->holding) {
        c->holding = false;
        write_bytes(c, c->held.p, c->held.n);
        buf_done(&c->held);
    }
    answered(c);
}

void server_conn_hold(struct server_conn *c)
{
    buf_init(&c->held, UNREAD_BYTES);
    c->holding = true;
}

bool server_conn_raw(struct server_conn *c, struct slice bytes)
{
    write_bytes(c, bytes.p, bytes.n);
    return !c->closing && unsent(c) == 0;
}

void server_conn_raw_end(struct server_conn *c)
{
    answered(c);
}

void server_conn_hang_up(struct server_conn *c, bool reset)
{
    if (c->closing || (c->ending && !reset))
        return;
    if (!reset) {
        finish_and_close(c);
    } else {
        c->closing = true;
        if (c->ending || uv_tcp_close_reset(&c->tcp, on_closed) != 0)
            uv_close((uv_handle_t *)&c->tcp, on_closed);
    }
}

/* --- requests ----------------------------------------------------------------------------- */

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf);
static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf);

/* Hands out the waiting requests, until one is not answered at once. */
static void pump(struct server_conn *c)
{
    struct server_conn_sink sink = c->env->sink;
    if (c->pumping)
        return;
    c->pumping = true;
    while (c->answering == NULL && c->waiting != NULL && !c->closing && !c->ending &&
           unsent(c) < BEHIND_BYTES) {
        struct incoming *q = c->waiting;
        c->waiting = q->next;
        c->n_waiting--;
        c->answering = q;
        if (q->method == NULL) {
            sink.malformed(sink.ctx, c);
            break;
        }
        struct server_request r = {slice_of(q->method),
                                   slice_of(q->target),
                                   {(const char *)q->body.p, q->body.n},
                                   q->body_too_large,
                                   q->last_ns};
        sink.request(sink.ctx, c, &r);
    }
    c->pumping = false;
    if (!c->reading && !c->malformed && !c->closing && !c->ending && c->n_waiting < WAITING)
        c->reading = uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read) == 0;
}

static void push_waiting(struct server_conn *c, struct incoming *q)
{
    struct incoming **at = &c->waiting;
    while (*at != NULL)
        at = &(*at)->next;
    *at = q;
    c->n_waiting++;
}

static int on_body(void *ctx, struct span in)
{
    struct server_conn *c = ctx;
    struct incoming *q = c->building;
    if (q != NULL && !q->body_too_large && buf_add(&q->body, in.p, in.n) != TA_OK) {
        q->body_too_large = true;
        buf_done(&q->body);
    }
    return TA_OK;
}

static int on_gap(void *ctx, uint64_t n, struct mark at)
{
    (void)ctx;
    (void)n;
    (void)at;
    return TA_OK; /* a socket has none */
}

static int on_body_end(void *ctx, enum end_kind why, struct mark at)
{
    (void)ctx;
    (void)why;
    (void)at;
    return TA_OK;
}

static int on_head(void *ctx, const struct http_head *h, struct byte_sink *body)
{
    struct server_conn *c = ctx;
    struct incoming *q = mem_zalloc(sizeof *q);
    q->method = mem_strndup(h->method.p, h->method.n);
    q->target = mem_strndup(h->target.p, h->target.n);
    q->minor = h->minor;
    q->keep_alive = h->keep_alive;
    buf_init(&q->body, LIMIT_REQUEST_BODY_BYTES);
    incoming_free(c->building);
    c->building = q;
    *body = (struct byte_sink){c, on_body, on_gap, on_body_end};
    struct slice expect = http_field(h, "expect");
    if (expect.p != NULL && text_same(expect, "100-continue") && h->minor >= 1 &&
        c->answering == NULL)
        write_bytes(c, "HTTP/1.1 100 Continue\r\n\r\n", 25);
    return TA_OK;
}

/* The next request can't be told any more: one answer, and the connection ends. */
static void give_up(struct server_conn *c)
{
    if (c->malformed)
        return;
    struct incoming *q = mem_zalloc(sizeof *q);
    q->minor = 1;
    c->malformed = true;
    push_waiting(c, q);
    pump(c);
}

/* Faults before a head; those in a message end it. Other anomalies are leniencies. */
static void on_anomaly(void *ctx, const struct anomaly *a)
{
    if (strcmp(a->id, "http.bad-start-line") == 0 || strcmp(a->id, "http.head-too-big") == 0)
        give_up(ctx);
}

static int on_message(void *ctx, enum end_kind why, bool complete, struct mark last)
{
    struct server_conn *c = ctx;
    struct incoming *q = c->building;
    (void)last;
    c->building = NULL;
    if (q != NULL && complete) {
        q->last_ns = c->t_read_ns;
        push_waiting(c, q);
        pump(c);
    } else {
        incoming_free(q);
        if (why == END_GAP)
            give_up(c);
    }
    return c->closing || c->ending ? TA_STOP : TA_OK;
}

/* --- reading ------------------------------------------------------------------------------ */

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct server_conn *c = handle->data;
    (void)suggested;
    *buf = uv_buf_init(c->env->scratch, sizeof c->env->scratch);
}

/* A client that closes its side is taken as gone, as uvicorn does: a reply that takes minutes has
 * no other sign. */
static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct server_conn *c = stream->data;
    if (n == 0)
        return;
    if (n < 0) {
        conn_close(c);
        return;
    }
    c->t_read_ns = clock_mono_ns();
    struct mark at = {.off = c->off, .t_seen = c->t_read_ns, .t_ready = c->t_read_ns};
    c->off += (uint64_t)n;
    int rc = c->in.data(c->in.ctx, (struct span){(const uint8_t *)buf->base, (size_t)n, at});
    if (rc < 0)
        conn_close(c);
    if (!c->closing && c->reading && c->n_waiting >= WAITING) {
        uv_read_stop(stream);
        c->reading = false;
    }
}

static uint16_t port_of(const uv_tcp_t *tcp)
{
    struct sockaddr_storage addr;
    int n = sizeof addr;
    if (uv_tcp_getpeername(tcp, (struct sockaddr *)&addr, &n) != 0)
        return 0;
    if (addr.ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)(const void *)&addr)->sin6_port);
    return ntohs(((const struct sockaddr_in *)(const void *)&addr)->sin_port);
}

void server_conn_accept(struct server_conn_env *env, uv_stream_t *listener)
{
    struct server_conn *c = mem_zalloc(sizeof *c);
    c->env = env;
    uv_tcp_init(env->loop, &c->tcp);
    c->tcp.data = c;
    buf_init(&c->frame, UNREAD_BYTES);
    c->next = env->open;
    if (env->open != NULL)
        env->open->prev = c;
    env->open = c;
    c->http = http_new(HTTP_REQUESTS, (struct http_sink){c, on_head, on_message},
                       (struct anomaly_sink){c, on_anomaly});
    c->in = http_input(c->http);
    if (uv_accept(listener, (uv_stream_t *)&c->tcp) != 0 ||
        uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read) != 0) {
        conn_close(c);
        return;
    }
    c->reading = true;
    uv_tcp_nodelay(&c->tcp, 1);
    c->peer_port = port_of(&c->tcp);
}

void *server_conn_user(const struct server_conn *c)
{
    return c->user;
}

void server_conn_set_user(struct server_conn *c, void *user)
{
    c->user = user;
}

uint16_t server_conn_peer_port(const struct server_conn *c)
{
    return c->peer_port;
}
