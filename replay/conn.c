/* HTTP/1.1 client over a non-blocking socket (RFC 9112), polled by libuv. The socket calls are made
 * here and not by uv_tcp, because the time of each write and read is what is measured. */
#include "replay/conn.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <unistd.h>

#include "replay/message.h"
#include "replay/text_events.h"
#include "traces/base/clock.h"
#include "traces/base/log.h"
#include "traces/base/mem.h"
#include "traces/http.h"

enum conn_state { CONNECTING, HANDSHAKING, IDLE, LOADED, BUSY, CLOSING };

enum { READS = 64 };

/* Bytes of one read, or of one write. */
struct piece {
    size_t off, n;
    int64_t t_ns;
};

struct conn {
    struct conn_env *env;
    void *user;
    uint64_t serial;
    uv_poll_t poll;
    int fd;
    struct tls *tls; /* NULL: plain */
    enum conn_state state;
    bool remote_ended, remote_reset;
    uint16_t local_port;
    uint32_t requests;
    struct socket_flow *flow;

    struct message out; /* secrets in it are blanked once they are sent */
    size_t written;
    struct piece unrecorded; /* n = 0: none */
    bool write_failed;
    bool torn; /* by the server, as a write was told; a read then is told of an end alone */

    struct http *http;
    struct byte_sink in;
    struct text_events *text; /* of the reply; NULL: nobody looks */
    const struct plan_request *request;
    uint64_t in_off, reads;
    uint8_t first_byte; /* of the response */
    bool head_only;     /* the request was HEAD */

    struct conn_reply reply;
    int64_t replied_ns; /* end of the last reply that left it open; -1: none */
    int64_t ended_ns;   /* by the server */
    bool answered, whole,
        keep; /* the final response ended; … by its framing; the connection may go on */
};

void *conn_user(const struct conn *c)
{
    return c->user;
}

void conn_set_user(struct conn *c, void *user)
{
    c->user = user;
}

uint64_t conn_serial(const struct conn *c)
{
    return c->serial;
}

bool conn_is_idle(const struct conn *c)
{
    return c->state == IDLE;
}

uint16_t conn_local_port(const struct conn *c)
{
    return c->local_port;
}

uint32_t conn_requests(const struct conn *c)
{
    return c->requests;
}

bool conn_ended_within(const struct conn *c, int64_t ns)
{
    return c->remote_ended && c->replied_ns >= 0 && c->ended_ns - c->replied_ns < ns;
}

bool conn_ended_by_server(const struct conn *c)
{
    return c->remote_ended || (c->whole && !c->keep);
}

/* The recorder's first fault ends the run, from the driver. */
static void recorded(struct conn *c, int r, const struct err *e)
{
    if (r != TA_OK && c->env->trace.code == TA_OK)
        c->env->trace = *e;
}

static ssize_t transmit(struct conn *c, const void *p, size_t n)
{
    return c->tls != NULL ? tls_send(c->tls, p, n) : send(c->fd, p, n, 0);
}

static ssize_t receive(struct conn *c, void *p, size_t n)
{
    return c->tls != NULL ? tls_recv(c->tls, p, n) : recv(c->fd, p, n, 0);
}

/* --- end of life ------------------------------------------------------------------------------ */

static void on_closed(uv_handle_t *handle)
{
    struct conn *c = handle->data;
    socket_flow_free(c->flow);
    text_events_free(c->text);
    http_free(c->http);
    message_done(&c->out);
    free(c);
}

static void flow_ended(struct conn *c, bool by_remote, bool reset, int64_t t_ns)
{
    struct err e = {0};
    if (c->flow != NULL)
        recorded(c, socket_flow_closed(c->flow, by_remote, reset, t_ns, &e), &e);
    c->remote_ended = c->remote_ended || by_remote;
    c->remote_reset = c->remote_reset || (by_remote && reset);
}

static void close_as(struct conn *c, bool reset)
{
    struct linger none = {.l_onoff = 1, .l_linger = 0};
    if (c->state == CLOSING)
        return;
    c->state = CLOSING;
    uv_close((uv_handle_t *)&c->poll, on_closed); /* stops polling at once, so fd may go */
    if (reset)
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    int64_t now = clock_real_ns();
    tls_free(c->tls);
    close(c->fd);
    if (!c->remote_reset)
        flow_ended(c, false, reset, now);
}

void conn_close(struct conn *c)
{
    close_as(c, false);
}

/* --- the response ----------------------------------------------------------------------------- */

static int on_head(void *ctx, const struct http_head *h, struct byte_sink *body)
{
    struct conn *c = ctx;
    if (c->answered) {
        c->keep = false; /* a second response to one request */
        return TA_OK;
    }
    if (h->status < 200 && h->status != 101)
        return TA_OK;
    c->reply.status = h->status;
    c->keep = h->keep_alive && (h->framing == HTTP_LENGTH || h->framing == HTTP_CHUNKED ||
                                h->framing == HTTP_NO_BODY);
    if (c->env->counts_text) {
        text_events_free(c->text);
        c->text = text_events_new(h, c->request, &c->env->text_events);
        *body = text_events_input(c->text);
    }
    return TA_OK;
}

static int on_done(void *ctx, enum end_kind why, bool complete, struct mark last)
{
    struct conn *c = ctx;
    if (c->reply.status == 0 || c->answered)
        return TA_OK;
    c->answered = true;
    c->whole = complete;
    c->reply.end_ns = last.t_ready;
    c->reply.outcome = complete         ? "complete"
                       : why == END_FIN ? "closed-early"
                       : why == END_RST ? "reset"
                                        : "bad-response";
    return TA_OK;
}

/* The parser, made for damaged captures, would go on searching for a response; a client need not
 * wait for that. */
static void on_anomaly(void *ctx, const struct anomaly *a)
{
    struct conn *c = ctx;
    if (strcmp(a->id, "http.bad-start-line") != 0 && strcmp(a->id, "http.head-too-big") != 0)
        return;
    if (!c->answered && c->reply.outcome == NULL) {
        c->reply.outcome = "bad-response";
        c->reply.end_ns = a->at.t_ready;
    }
}

static void end_request(struct conn *c, const char *outcome, int64_t end_ns)
{
    struct conn_reply reply = c->reply;
    if (outcome != NULL) {
        reply.outcome = outcome;
        reply.end_ns = end_ns;
    }
    bool whole = c->whole && outcome == NULL;
    if (whole && c->keep && !c->remote_ended && c->written == c->out.bytes.n) {
        c->state = IDLE;
        c->replied_ns = reply.end_ns;
    } else {
        /* An answer that is not waited for any longer is torn off: the server learns that nobody
         * reads it, and who reads the trace that no more of it could come. */
        close_as(c, !whole && !c->remote_ended);
    }
    c->env->sink.done(c->env->sink.ctx, c, &reply);
}

/* Parses what one read brought. False: the response is over or beyond understanding. */
static bool parse(struct conn *c, const uint8_t *p, struct piece read)
{
    struct mark at = {.off = c->in_off,
                      .t_seen = read.t_ns,
                      .t_ready = read.t_ns,
                      .pkt = c->reads,
                      .rel = c->reads};
    c->in_off += read.n;
    c->reads++;
    if (c->answered || c->reply.outcome != NULL) {
        c->keep = false; /* bytes that nobody asked for */
        return false;
    }
    if (c->reply.first_ns < 0) {
        c->reply.first_ns = read.t_ns;
        c->first_byte = p[0];
    }
    c->in.data(c->in.ctx, (struct span){p, read.n, at});
    return !c->answered && c->reply.outcome == NULL;
}

static const char *early_end(const struct conn *c, bool reset)
{
    if (reset)
        return "reset";
    return c->reply.first_ns >= 0 && c->first_byte != 'H' ? "bad-response" : "closed-early";
}

/* The server ended its side at t_ns. */
static void remote_end(struct conn *c, bool reset, int64_t t_ns)
{
    enum conn_state state = c->state;
    c->ended_ns = t_ns;
    flow_ended(c, true, reset, t_ns);
    if (state != BUSY) {
        struct conn_env *env = c->env;
        conn_close(c);
        env->sink.lost(env->sink.ctx, c);
        return;
    }
    if (!c->answered && c->reply.outcome == NULL) {
        struct mark at = {
            .off = c->in_off, .t_seen = t_ns, .t_ready = t_ns, .pkt = c->reads, .rel = c->reads};
        c->in.end(c->in.ctx, reset ? END_RST : END_FIN, at);
    }
    if (!c->answered && c->reply.outcome == NULL) {
        c->reply.outcome = early_end(c, reset);
        c->reply.end_ns = t_ns;
    }
    end_request(c, NULL, 0);
}

static void unasked(struct conn *c)
{
    struct conn_env *env = c->env;
    conn_close(c);
    env->sink.lost(env->sink.ctx, c);
}

struct intake {
    struct piece reads[READS];
    size_t n, used;
    bool ended, reset;
    int64_t end_ns;
};

/* Reads until nothing is left, and keeps only the times: everything else comes after. A socket that
 * had less than there was room for is empty: what comes behind it, an end too, wakes the loop again
 * (a TLS connection may hold whole records that no longer do). */
static void read_all(struct conn *c, struct intake *in)
{
    bool more = true;
    while (more && in->n < READS && in->used + TLS_RECORD_BYTES <= CONN_SCRATCH_BYTES) {
        size_t room = CONN_SCRATCH_BYTES - in->used;
        ssize_t n = receive(c, c->env->scratch + in->used, room);
        int64_t now = clock_real_ns();
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (n <= 0) {
            in->ended = true;
            in->reset = n < 0 || c->torn;
            in->end_ns = now;
            return;
        }
        in->reads[in->n++] = (struct piece){in->used, (size_t)n, now};
        more = c->tls != NULL || (size_t)n == room;
        in->used += (size_t)n;
    }
}

static void take(struct conn *c)
{
    struct intake in = {.n = 0};
    struct err e = {0};
    read_all(c, &in);
    for (size_t i = 0; i < in.n; i++) {
        const struct piece *r = &in.reads[i];
        if (c->flow == NULL)
            break;
        recorded(c, socket_flow_received(c->flow, c->env->scratch + r->off, r->n, r->t_ns, &e), &e);
    }
    bool over = false;
    if (c->state == BUSY) {
        for (size_t i = 0; i < in.n; i++)
            over = !parse(c, c->env->scratch + in.reads[i].off, in.reads[i]) || over;
    }
    if (in.ended)
        remote_end(c, in.reset, in.end_ns);
    else if (over)
        end_request(c, NULL, 0);
    else if (c->state != BUSY && in.n > 0)
        unasked(c);
}

/* --- the request ------------------------------------------------------------------------------ */

void conn_load(struct conn *c, const struct plan_request *r)
{
    c->request = r;
    message_compose(&c->out, r, c->env->authority, c->env->fields, c->env->n_fields);
    c->written = 0;
    c->write_failed = false;
    c->head_only = strcmp(r->method, "HEAD") == 0;
    c->answered = c->whole = c->keep = false;
    c->reply = (struct conn_reply){.sent_ns = -1, .first_ns = -1, .end_ns = -1};
    c->state = LOADED;
}

static void on_poll(uv_poll_t *poll, int status, int events);

static void poll_for(struct conn *c)
{
    bool more = c->state == BUSY && c->written < c->out.bytes.n && !c->write_failed;
    uv_poll_start(&c->poll, UV_READABLE | (more ? UV_WRITABLE : 0), on_poll);
}

bool conn_send(struct conn *c, size_t max)
{
    size_t left = c->out.bytes.n - c->written;
    if (left == 0 || c->write_failed)
        return false;
    int64_t now = clock_real_ns();
    ssize_t n = transmit(c, c->out.bytes.p + c->written, left < max ? left : max);
    if (c->state == LOADED)
        c->state = BUSY;
    if (n <= 0) {
        /* What the server said before it closed, if anything, is still to be read, and names the
         * outcome. */
        c->write_failed = n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR;
        c->torn = c->write_failed && errno == ECONNRESET;
        return false;
    }
    if (c->written == 0) {
        c->requests++;
        c->reply.sent_ns = now;
    }
    c->unrecorded = (struct piece){c->written, (size_t)n, now};
    c->written += (size_t)n;
    return c->written < c->out.bytes.n && (size_t)n == (left < max ? left : max);
}

void conn_record_sent(struct conn *c)
{
    struct piece sent = c->unrecorded;
    struct err e = {0};
    c->unrecorded.n = 0;
    if (sent.n > 0) {
        message_blank(&c->out, sent.off, sent.n);
        if (c->flow != NULL)
            recorded(c, socket_flow_sent(c->flow, c->out.bytes.p + sent.off, sent.n, sent.t_ns, &e),
                     &e);
    }
    if (c->head_only && sent.n > 0 && sent.off == 0)
        http_expect(c->http, HTTP_EXPECT_HEAD);
    poll_for(c);
}

void conn_abort(struct conn *c, const char *outcome)
{
    end_request(c, outcome, clock_real_ns());
}

bool conn_is_alive(const struct conn *c)
{
    if (c->tls != NULL)
        return tls_is_quiet(c->tls);
    uint8_t byte;
    ssize_t n = recv(c->fd, &byte, 1, MSG_PEEK);
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

/* --- connecting ------------------------------------------------------------------------------- */

const char *conn_fault(int fault)
{
    switch (fault) {
    case ECONNREFUSED:
        return "refused";
    case ECONNRESET:
        return "reset";
    case ETIMEDOUT:
        return "timeout";
    case EHOSTUNREACH:
    case ENETUNREACH:
        return "unreachable";
    case EMFILE:
    case ENFILE:
        return "no-descriptor";
    case EADDRNOTAVAIL:
        return "no-local-port";
    default:
        return "connect-failed";
    }
}

static uint16_t port_of(const struct sockaddr_storage *s)
{
    if (s->ss_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)s)->sin_port);
    return s->ss_family == AF_INET6 ? ntohs(((const struct sockaddr_in6 *)s)->sin6_port) : 0;
}

static void connected(struct conn *c, int64_t now)
{
    struct sockaddr_storage local = {0}, remote = {0};
    socklen_t local_n = sizeof local, remote_n = sizeof remote;
    struct err e = {0};
    getsockname(c->fd, (struct sockaddr *)&local, &local_n);
    getpeername(c->fd, (struct sockaddr *)&remote, &remote_n);
    c->local_port = port_of(&local);
    c->flow = socket_flow_open(c->env->recorder, (struct sockaddr *)&local,
                               (struct sockaddr *)&remote, true, now, &e);
    recorded(c, c->flow == NULL ? e.code : TA_OK, &e);
    c->http = http_new(HTTP_RESPONSES, (struct http_sink){c, on_head, on_done},
                       (struct anomaly_sink){c, on_anomaly});
    c->in = http_input(c->http);
    c->state = IDLE;
    poll_for(c);
    c->env->sink.ready(c->env->sink.ctx, c);
}

static void not_connected(struct conn *c, const char *fault)
{
    struct conn_env *env = c->env;
    conn_close(c);
    env->sink.failed(env->sink.ctx, c, fault);
}

/* Why, once a run: the ledger has no more than that it failed. */
static void tell_tls_fault(struct conn *c)
{
    if (!c->env->tls_fault_told && c->tls != NULL)
        log_warn("TLS failed in the midst of the run: %s", tls_fault(c->tls));
    c->env->tls_fault_told = true;
}

static void on_handshake(struct conn *c)
{
    switch (c->tls != NULL ? tls_handshake(c->tls) : TLS_FAILED) {
    case TLS_READY:
        connected(c, clock_real_ns());
        return;
    case TLS_WANT_READ:
        uv_poll_start(&c->poll, UV_READABLE, on_poll);
        return;
    case TLS_WANT_WRITE:
        uv_poll_start(&c->poll, UV_WRITABLE, on_poll);
        return;
    case TLS_FAILED:
        tell_tls_fault(c);
        not_connected(c, "tls-failed");
    }
}

static void on_connect(struct conn *c, int64_t now)
{
    int fault = 0;
    socklen_t n = sizeof fault;
    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &fault, &n) != 0)
        fault = errno;
    if (fault != 0) {
        not_connected(c, conn_fault(fault));
        return;
    }
    if (c->env->tls == NULL) {
        connected(c, now);
        return;
    }
    c->tls = tls_new(c->env->tls, c->fd);
    c->state = HANDSHAKING;
    on_handshake(c);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct conn *c = poll->data;
    if (c->state == CONNECTING) {
        on_connect(c, clock_real_ns());
        return;
    }
    if (c->state == HANDSHAKING) {
        on_handshake(c);
        return;
    }
    if (status == 0 && (events & UV_WRITABLE) != 0 && c->state == BUSY) {
        conn_send(c, SIZE_MAX);
        conn_record_sent(c);
    }
    if (status != 0 || (events & UV_READABLE) != 0)
        take(c); /* an error too is found by reading */
    if (status != 0 && c->state != CLOSING)
        poll_for(c); /* libuv has stopped, and what came before the error is not all read yet */
}

struct conn *conn_open(struct conn_env *env, void *user, const char **fault)
{
    int fd = socket(env->remote->sa_family, SOCK_STREAM, 0), one = 1;
    if (fd < 0) {
        *fault = conn_fault(errno);
        return NULL;
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(fd, env->remote, env->remote_bytes) != 0 && errno != EINPROGRESS &&
        errno != EINTR) {
        *fault = conn_fault(errno);
        close(fd);
        return NULL;
    }
    struct conn *c = mem_zalloc(sizeof *c);
    c->env = env;
    c->user = user;
    c->fd = fd;
    c->serial = ++env->opened;
    c->replied_ns = -1;
    message_init(&c->out);
    uv_poll_init(env->loop, &c->poll, fd);
    c->poll.data = c;
    uv_poll_start(&c->poll, UV_WRITABLE, on_poll);
    return c;
}
