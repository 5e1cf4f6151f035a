/* Requests and responses of one connection, paired first to first (RFC 9112, 9.3; pitfalls H1 to
 * H4, H18).
 *
 * A list of exchanges in the order of their requests: the first without a whole response is the one
 * that is being answered. Where bytes are missing the list may be out of step, and time decides: a
 * response answers the latest request that was sent before it. */
#include "traces/exchange.h"

#include <stdlib.h>
#include <string.h>

#include "traces/base/mem.h"
#include "traces/base/text.h"
#include "traces/base/vec.h"
#include "traces/limits.h"
#include "traces/sha256.h"

#include <utlist.h>

struct open {
    struct exchange x;
    struct sha256 *sha;
    bool request_gap; /* of its body: kept and hashed only before it */
    bool not_kept;    /* all of the body: said */
    bool request_over, response_over;
    struct open *prev, *next;
};

struct exchange_conn {
    const struct tcp_conn *conn;
    struct exchange_sink out;
    struct exchange_shared *shared;
    struct http *requests, *responses;
    struct byte_sink to_requests, to_responses;
    struct open *list;
    size_t n_open;
    struct open *asking;    /* its request is being read */
    struct open *answering; /* its final response is being read */
    struct body *body;      /* of that; NULL: a tunnel, or none */
    struct byte_sink to_body;
    VEC(struct mark) orphans; /* responses whose request has not come (yet): their first bytes */
    size_t first_orphan;
    uint32_t nth;
    bool unsure; /* responses may have been missed */
    bool tunnel; /* no HTTP any more */
    bool given_up;
    bool server_spoke; /* or may have, before the trace began */
    bool server_over;
    enum end_kind server_end;
    struct mark server_end_at;
    int64_t t_latest;
};

/* --- exchanges ------------------------------------------------------------------------------ */

static struct slice field_value(const struct http_field *fields, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (text_same(fields[i].name, name))
            return fields[i].value;
    return (struct slice){NULL, 0};
}

struct slice exchange_response_field(const struct exchange *x, const char *name)
{
    return field_value(x->response_fields, x->n_response_fields, name);
}

static struct http_field *copy_fields(struct arena *a, const struct http_head *h)
{
    struct http_field *copy = arena_alloc(a, (h->n_fields + 1) * sizeof *copy);
    for (size_t i = 0; i < h->n_fields; i++) {
        copy[i].name = arena_slice(a, h->fields[i].name);
        copy[i].value = arena_slice(a, h->fields[i].value);
    }
    return copy;
}

static struct open *unanswered(const struct exchange_conn *c)
{
    struct open *o = c->list;
    while (o != NULL && o->response_over)
        o = o->next;
    return o;
}

/* The next response is read as the answer to the first request without one. */
static void expect_next(struct exchange_conn *c)
{
    enum http_expect expect = HTTP_EXPECT_BODY;
    const struct open *o = unanswered(c);
    if (o != NULL && slice_is(o->x.method, "HEAD"))
        expect = HTTP_EXPECT_HEAD;
    if (o != NULL && slice_is(o->x.method, "CONNECT"))
        expect = HTTP_EXPECT_CONNECT;
    if (expect == HTTP_EXPECT_BODY && o != NULL && o->x.nth == 0 && !c->server_spoke)
        expect = HTTP_EXPECT_FIRST;
    http_expect(c->responses, expect);
}

static int finish(struct exchange_conn *c, struct open *o)
{
    DL_DELETE(c->list, o);
    c->n_open--;
    if (c->asking == o)
        c->asking = NULL;
    if (c->answering == o)
        c->answering = NULL;
    int rc = c->out.done != NULL ? c->out.done(c->out.ctx, &o->x) : TA_OK;
    sha256_free(o->sha);
    c->shared->held -= o->x.request_body.n;
    buf_done(&o->x.request_body);
    arena_free(&o->x.arena);
    free(o);
    return rc;
}

/* Its response is over, as far as there will be one. */
static int answered(struct exchange_conn *c, struct open *o, enum end_kind why, int64_t t_end)
{
    o->response_over = true;
    o->x.end = why;
    o->x.t_end = t_end;
    int rc = o->request_over ? finish(c, o) : TA_OK;
    expect_next(c);
    return rc;
}

static void pass_anomaly(struct exchange_conn *c, struct open *o, const struct anomaly *a)
{
    if (c->out.anomaly != NULL)
        c->out.anomaly(c->out.ctx, o != NULL ? &o->x : NULL, a);
}

static void note(struct exchange_conn *c, struct open *o, const char *id, struct mark at)
{
    pass_anomaly(c, o, &(struct anomaly){id, at, 0});
}

static void request_anomaly(void *ctx, const struct anomaly *a)
{
    struct exchange_conn *c = ctx;
    pass_anomaly(c, c->asking, a);
}

static void response_anomaly(void *ctx, const struct anomaly *a)
{
    struct exchange_conn *c = ctx;
    pass_anomaly(c, c->answering != NULL ? c->answering : unanswered(c), a);
}

/* --- requests ------------------------------------------------------------------------------- */

/* Keeps what may be kept: a request of 100,000 words is nothing odd, many of them at once are too
 * much (H20). */
static void keep_request(struct exchange_conn *c, struct open *o, struct span in)
{
    size_t *held = &c->shared->held, room = LIMIT_REQUEST_BODY_BYTES - o->x.request_body.n;
    if (room > LIMIT_REQUEST_BODIES_BYTES - *held)
        room = LIMIT_REQUEST_BODIES_BYTES - *held;
    size_t n = o->not_kept ? 0 : in.n < room ? in.n : room;
    if (n > 0 && buf_add(&o->x.request_body, in.p, n) == TA_OK)
        *held += n;
    if (n < in.n && !o->not_kept) {
        o->not_kept = true;
        note(c, o, "http.request-body-not-kept", span_mark(in, n));
    }
}

static int request_body(void *ctx, struct span in)
{
    struct exchange_conn *c = ctx;
    struct open *o = c->asking;
    o->x.request_body_bytes += in.n;
    if (o->request_gap)
        return TA_OK;
    sha256_add(o->sha, in.p, in.n);
    keep_request(c, o, in);
    return TA_OK;
}

static int request_gap(void *ctx, uint64_t n, struct mark at)
{
    struct exchange_conn *c = ctx;
    (void)n, (void)at;
    c->asking->request_gap = true;
    c->asking->x.damaged = true;
    return TA_OK;
}

/* A response that came when its request had not, because that one waited behind a hole: it has been
 * read as nobody's, and is lost to this request. */
static bool take_orphan(struct exchange_conn *c, struct mark request_first, struct mark *orphan)
{
    while (c->first_orphan < c->orphans.n) {
        *orphan = c->orphans.v[c->first_orphan++];
        if (orphan->pkt > request_first.pkt)
            return true;
    }
    c->first_orphan = c->orphans.n = 0;
    return false;
}

/* A coded request body is nothing that is read here. */
static void note_coding(struct exchange_conn *c, struct open *o, const struct http_head *h)
{
    struct slice coding = http_field(h, "content-encoding");
    if (coding.n > 0 && !text_same(coding, "identity"))
        note(c, o, "http.request-encoding", h->first);
}

static struct open *add(struct exchange_conn *c, const struct http_head *h)
{
    struct open *o = mem_zalloc(sizeof *o);
    struct exchange *x = &o->x;
    x->id = ++c->shared->last_id;
    x->conn = c->conn;
    x->nth = c->nth++;
    x->method = arena_slice(&x->arena, h->method);
    x->target = arena_slice(&x->arena, h->target);
    x->request_fields = copy_fields(&x->arena, h);
    x->n_request_fields = h->n_fields;
    x->request_first = h->first;
    x->request_last = h->last;
    buf_init(&x->request_body, LIMIT_REQUEST_BODY_BYTES);
    o->sha = sha256_new();
    DL_APPEND(c->list, o);
    c->n_open++;
    c->asking = o;
    return o;
}

static int request_head(void *ctx, const struct http_head *h, struct byte_sink *body)
{
    struct exchange_conn *c = ctx;
    if (c->given_up)
        return TA_OK;
    if (c->n_open >= LIMIT_HTTP_PENDING) {
        c->given_up = true;
        note(c, NULL, "http.too-many-pending", h->first);
        return TA_OK;
    }
    struct open *o = add(c, h);
    *body = (struct byte_sink){c, request_body, request_gap, NULL};
    int rc = c->out.request != NULL ? c->out.request(c->out.ctx, &o->x) : TA_OK;
    note_coding(c, o, h);
    struct mark orphan;
    if (rc == TA_OK && take_orphan(c, h->first, &orphan)) {
        o->x.damaged = true;
        rc = answered(c, o, END_GAP, orphan.t_ready);
    } else if (rc == TA_OK && c->server_over) {
        rc = answered(c, o, c->server_end, c->server_end_at.t_ready);
    }
    expect_next(c);
    return rc;
}

static int request_done(void *ctx, enum end_kind why, bool complete, struct mark last)
{
    struct exchange_conn *c = ctx;
    struct open *o = c->asking;
    (void)why;
    if (o == NULL)
        return TA_OK;
    c->asking = NULL;
    o->request_over = true;
    o->x.request_complete = complete;
    o->x.request_last = last;
    if (complete && !o->request_gap)
        sha256_text(o->sha, o->x.request_body_sha256);
    return o->response_over ? finish(c, o) : TA_OK;
}

/* --- bodies of responses -------------------------------------------------------------------- */

/* What is known of the body by now. */
static void know_body(struct exchange_conn *c)
{
    struct exchange *x = &c->answering->x;
    x->stream = body_stream(c->body);
    x->is_event_stream = x->stream == STREAM_SSE;
    x->sniffed = body_sniffed(c->body);
    x->coded = body_coded(c->body);
    x->opaque = body_opaque(c->body);
    x->decoded_body_bytes = body_decoded_bytes(c->body);
}

static int stream_event(void *ctx, const struct event *ev)
{
    struct exchange_conn *c = ctx;
    know_body(c);
    return c->out.event != NULL ? c->out.event(c->out.ctx, &c->answering->x, ev) : TA_OK;
}

static int document_data(void *ctx, struct span in)
{
    struct exchange_conn *c = ctx;
    know_body(c);
    return c->out.body != NULL ? c->out.body(c->out.ctx, &c->answering->x, in) : TA_OK;
}

static int response_body(void *ctx, struct span in)
{
    struct exchange_conn *c = ctx;
    struct exchange *x = &c->answering->x;
    if (x->response_body_bytes == 0)
        x->body_first = in.at;
    x->body_last = span_mark(in, in.n - 1);
    x->response_body_bytes += in.n;
    int rc = c->to_body.data != NULL ? c->to_body.data(c->to_body.ctx, in) : TA_OK;
    if (c->body != NULL)
        know_body(c);
    return rc;
}

static int response_body_gap(void *ctx, uint64_t n, struct mark at)
{
    struct exchange_conn *c = ctx;
    c->answering->x.damaged = true;
    return c->to_body.gap != NULL ? c->to_body.gap(c->to_body.ctx, n, at) : TA_OK;
}

static void drop_body(struct exchange_conn *c)
{
    body_free(c->body);
    c->body = NULL;
    c->to_body = (struct byte_sink){0};
}

static int response_body_end(void *ctx, enum end_kind why, struct mark at)
{
    struct exchange_conn *c = ctx;
    int rc = c->to_body.end != NULL ? c->to_body.end(c->to_body.ctx, why, at) : TA_OK;
    if (c->body != NULL)
        know_body(c);
    drop_body(c);
    return rc;
}

/* --- responses ------------------------------------------------------------------------------ */

static void open_body(struct exchange_conn *c, const struct http_head *h)
{
    drop_body(c);
    if (h->framing == HTTP_TUNNEL)
        return;
    c->body = body_new(h, (struct body_sink){c, stream_event, document_data},
                       (struct anomaly_sink){c, response_anomaly});
    c->to_body = body_input(c->body);
    know_body(c);
}

/* Responses were missed: this one answers the latest request before it, and the earlier requests
 * have no answer here. */
static int realign(struct exchange_conn *c, struct mark first)
{
    int rc = TA_OK;
    struct open *o = unanswered(c);
    c->unsure = false;
    while (rc == TA_OK && o != NULL && o->next != NULL &&
           o->next->x.request_first.pkt < first.pkt) {
        struct open *next = o->next;
        o->x.damaged = true;
        next->x.damaged = true; /* it may as well be the earlier one's answer */
        rc = answered(c, o, END_GAP, first.t_ready);
        o = next;
    }
    return rc;
}

static void take_response_head(struct exchange_conn *c, struct open *o, const struct http_head *h)
{
    struct exchange *x = &o->x;
    x->status = h->status;
    x->simple = h->simple;
    x->response_fields = copy_fields(&x->arena, h);
    x->n_response_fields = h->n_fields;
    x->content_coding = exchange_response_field(x, "content-encoding");
    x->framing = h->framing;
    x->response_first = h->first;
    x->response_head_last = h->last;
    c->answering = o;
}

static int response_head(void *ctx, const struct http_head *h, struct byte_sink *body)
{
    struct exchange_conn *c = ctx;
    bool interim = h->status < 200 && h->status != 101;
    if (c->given_up)
        return TA_OK;
    int rc = c->unsure ? realign(c, h->first) : TA_OK;
    struct open *o = unanswered(c);
    if (interim) {
        if (o != NULL)
            o->x.interim++;
        return rc;
    }
    if (h->framing == HTTP_TUNNEL)
        c->tunnel = true;
    if (rc != TA_OK)
        return rc;
    if (o == NULL || o->x.request_first.pkt > h->first.pkt) {
        note(c, NULL, "http.orphan-response", h->first);
        if (c->orphans.n < LIMIT_HTTP_PENDING)
            VEC_PUSH(&c->orphans, h->first);
        return TA_OK;
    }
    take_response_head(c, o, h);
    if (h->framing != HTTP_NO_BODY) {
        open_body(c, h);
        *body = (struct byte_sink){c, response_body, response_body_gap, response_body_end};
    }
    return c->out.response != NULL ? c->out.response(c->out.ctx, &o->x) : TA_OK;
}

static int response_done(void *ctx, enum end_kind why, bool complete, struct mark last)
{
    struct exchange_conn *c = ctx;
    struct open *o = c->answering;
    c->answering = NULL;
    if (why == END_GAP)
        c->unsure = true;
    if (o == NULL)
        return TA_OK;
    o->x.response_complete = complete;
    o->x.response_last = last;
    return answered(c, o, why,
                    complete || !c->server_over ? last.t_ready : c->server_end_at.t_ready);
}

/* --- input ---------------------------------------------------------------------------------- */

static int client_data(void *ctx, struct span in)
{
    struct exchange_conn *c = ctx;
    c->t_latest = in.at.t_ready;
    return c->tunnel ? TA_OK : c->to_requests.data(c->to_requests.ctx, in);
}

static int client_gap(void *ctx, uint64_t n, struct mark at)
{
    struct exchange_conn *c = ctx;
    if (c->asking != NULL)
        c->asking->x.damaged = true;
    return c->tunnel ? TA_OK : c->to_requests.gap(c->to_requests.ctx, n, at);
}

static int client_end(void *ctx, enum end_kind why, struct mark at)
{
    struct exchange_conn *c = ctx;
    c->t_latest = at.t_ready;
    return c->to_requests.end(c->to_requests.ctx, why, at);
}

static int server_data(void *ctx, struct span in)
{
    struct exchange_conn *c = ctx;
    c->t_latest = in.at.t_ready;
    c->server_spoke = true;
    return c->to_responses.data(c->to_responses.ctx, in);
}

static int server_gap(void *ctx, uint64_t n, struct mark at)
{
    struct exchange_conn *c = ctx;
    struct open *o = c->answering != NULL ? c->answering : unanswered(c);
    c->server_spoke = true;
    if (o != NULL)
        o->x.damaged = true;
    int rc = c->to_responses.gap(c->to_responses.ctx, n, at);
    if (c->answering == NULL)
        c->unsure = true;
    return rc;
}

static int server_end(void *ctx, enum end_kind why, struct mark at)
{
    struct exchange_conn *c = ctx;
    c->t_latest = at.t_ready;
    c->server_over = true;
    c->server_end = why;
    c->server_end_at = at;
    int rc = c->to_responses.end(c->to_responses.ctx, why, at);
    struct open *o;
    while (rc == TA_OK && (o = unanswered(c)) != NULL)
        rc = answered(c, o, why, at.t_ready);
    return rc;
}

struct byte_sink exchange_from_client(struct exchange_conn *c)
{
    return (struct byte_sink){c, client_data, client_gap, client_end};
}

struct byte_sink exchange_from_server(struct exchange_conn *c)
{
    return (struct byte_sink){c, server_data, server_gap, server_end};
}

struct exchange_conn *exchange_conn_new(const struct tcp_conn *conn, struct exchange_sink out,
                                        struct exchange_shared *shared)
{
    struct exchange_conn *c = mem_zalloc(sizeof *c);
    c->conn = conn;
    c->server_spoke = conn != NULL && conn->midstream;
    c->out = out;
    c->shared = shared;
    c->requests = http_new(HTTP_REQUESTS, (struct http_sink){c, request_head, request_done},
                           (struct anomaly_sink){c, request_anomaly});
    c->responses = http_new(HTTP_RESPONSES, (struct http_sink){c, response_head, response_done},
                            (struct anomaly_sink){c, response_anomaly});
    c->to_requests = http_input(c->requests);
    c->to_responses = http_input(c->responses);
    return c;
}

void exchange_conn_free(struct exchange_conn *c)
{
    if (c == NULL)
        return;
    while (c->list != NULL) {
        struct open *o = c->list;
        if (!o->response_over) {
            o->x.end = END_TRACE;
            o->x.t_end = c->t_latest;
        }
        finish(c, o);
    }
    drop_body(c);
    http_free(c->requests);
    http_free(c->responses);
    VEC_FREE(&c->orphans);
    free(c);
}
