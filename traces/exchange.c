/* Requests and responses of one connection, paired first to first (RFC 9112, 9.3; pitfalls H1 to
 * H4, H18).
 *
 * A list of exchanges in the order of their requests: the first without a whole response is the one
 * that is being answered. Where bytes are missing the list may be out of step, and time decides: a
 * response answers the latest request that was sent before it.
 *
 * A response whose request has not come waits for it: that may be held up by a hole, or by the
 * order in which packets were recorded. If it does not come, but its head had begun, the response
 * is the answer to that: a server may refuse what it has not read to the end (408, 413, 431). */
#include "traces/exchange_state.h"

#include <stdlib.h>

#include "traces/base/mem.h"
#include "traces/base/text.h"
#include "traces/limits.h"

#include <utlist.h>

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

struct http_field *exchange_copy_fields(struct arena *a, const struct http_head *h)
{
    struct http_field *copy = arena_alloc(a, (h->n_fields + 1) * sizeof *copy);
    for (size_t i = 0; i < h->n_fields; i++) {
        copy[i].name = arena_slice(a, h->fields[i].name);
        copy[i].value = arena_slice(a, h->fields[i].value);
    }
    return copy;
}

struct open *exchange_unanswered(const struct exchange_conn *c)
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
    const struct open *o = exchange_unanswered(c);
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
    if (c->half == o)
        c->half = NULL;
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
int exchange_answered(struct exchange_conn *c, struct open *o, enum end_kind why, int64_t t_end)
{
    o->response_over = true;
    o->x.end = why;
    o->x.t_end = t_end;
    int rc = o->request_over ? finish(c, o) : TA_OK;
    expect_next(c);
    return rc;
}

void exchange_pass_anomaly(struct exchange_conn *c, struct open *o, const struct anomaly *a)
{
    if (c->out.anomaly != NULL)
        c->out.anomaly(c->out.ctx, o != NULL ? &o->x : NULL, a);
}

void exchange_note(struct exchange_conn *c, struct open *o, const char *id, struct mark at)
{
    exchange_pass_anomaly(c, o, &(struct anomaly){id, at, 0});
}

static void request_anomaly(void *ctx, const struct anomaly *a)
{
    struct exchange_conn *c = ctx;
    exchange_pass_anomaly(c, c->asking, a);
}

/* --- responses that wait -------------------------------------------------------------------- */

static int end_responses(struct exchange_conn *c, enum end_kind why, struct mark at);

/* Would a response that begins now answer nobody, as far as the requests have come? */
static bool must_wait(const struct exchange_conn *c)
{
    return c->answering == NULL && !c->client_over && !c->tunnel && !c->given_up &&
           exchange_unanswered(c) == NULL && http_idle(c->responses);
}

/* Bytes of the server were not seen. */
static int miss(struct exchange_conn *c, uint64_t n, struct mark at)
{
    struct open *o = c->answering != NULL ? c->answering : exchange_unanswered(c);
    if (o != NULL)
        o->x.damaged = true;
    int rc = c->to_responses.gap(c->to_responses.ctx, n, at);
    if (c->answering == NULL && !http_idle(c->responses))
        c->unsure = true;
    return rc;
}

/* Reads in the first piece of what waits, at most to the end of a message. */
static int read_early(struct exchange_conn *c)
{
    const uint8_t *p;
    struct early_piece first = early_first(&c->early, &p);
    struct span in = {p, (size_t)first.n, first.at};
    c->shared->early -= early_size(&c->early);
    int rc = first.unseen ? miss(c, first.n, first.at) : http_take(c->responses, &in);
    early_drop(&c->early, first.unseen ? first.n : first.n - in.n);
    c->shared->early += early_size(&c->early);
    return rc;
}

/* Reads on in what waits, while somebody is to be answered, or it came before that packet: what was
 * said before a request is none's answer. */
static int release(struct exchange_conn *c, uint64_t before_pkt)
{
    int rc = TA_OK;
    if (!early_has(&c->early))
        return TA_OK;
    const uint8_t *p;
    while (rc == TA_OK && early_has(&c->early) &&
           (early_first(&c->early, &p).at.pkt < before_pkt || !must_wait(c)))
        rc = read_early(c);
    if (rc != TA_OK || early_has(&c->early))
        return rc;
    struct early over = c->early;
    early_clear(&c->early);
    return over.ended ? end_responses(c, over.why, over.end) : TA_OK;
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
        exchange_note(c, o, "http.request-body-not-kept", span_mark(in, n));
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
        if (orphan->pkt > request_first.pkt) {
            c->hidden = false;
            return true;
        }
    }
    c->first_orphan = c->orphans.n = 0;
    return false;
}

/* A coded request body is nothing that is read here. */
static void note_coding(struct exchange_conn *c, struct open *o, const struct http_head *h)
{
    struct slice coding = http_field(h, "content-encoding");
    if (coding.n > 0 && !text_same(coding, "identity"))
        exchange_note(c, o, "http.request-encoding", h->first);
}

bool exchange_lost_again(const struct http *h, unsigned *known)
{
    bool again = http_losses(h) != *known;
    *known = http_losses(h);
    return again;
}

struct open *exchange_add(struct exchange_conn *c, const struct http_head *h)
{
    struct open *o = mem_zalloc(sizeof *o);
    struct exchange *x = &o->x;
    x->id = ++c->shared->last_id;
    x->conn = c->conn;
    x->nth = c->nth++;
    x->method = arena_slice(&x->arena, h->method);
    x->target = arena_slice(&x->arena, h->target);
    x->request_fields = exchange_copy_fields(&x->arena, h);
    x->n_request_fields = h->n_fields;
    x->request_first = h->first;
    x->request_last = h->last;
    buf_init(&x->request_body, LIMIT_REQUEST_BODY_BYTES);
    o->sha = sha256_new();
    c->hidden |= exchange_lost_again(c->requests, &c->losses_of_requests);
    o->doubtful = c->hidden || h->first.pkt < c->doubtful_before;
    DL_APPEND(c->list, o);
    c->n_open++;
    c->asking = o;
    return o;
}

/* The rest of its head does not come. */
static int leave_half(struct exchange_conn *c)
{
    struct open *o = c->half;
    if (o == NULL)
        return TA_OK;
    c->half = NULL;
    c->asking = c->asking == o ? NULL : c->asking;
    o->request_over = true;
    return o->response_over ? finish(c, o) : TA_OK;
}

/* The head is whole now; that of another request ends it. */
static bool is_half(struct exchange_conn *c, const struct http_head *h)
{
    struct open *o = c->half;
    if (o == NULL || o->x.request_first.off != h->first.off)
        return false;
    c->half = NULL;
    c->asking = o;
    o->x.request_fields = exchange_copy_fields(&o->x.arena, h);
    o->x.n_request_fields = h->n_fields;
    o->x.request_last = h->last;
    note_coding(c, o, h);
    return true;
}

static int request_head(void *ctx, const struct http_head *h, struct byte_sink *body)
{
    struct exchange_conn *c = ctx;
    if (c->given_up)
        return TA_OK;
    if (is_half(c, h)) {
        *body = (struct byte_sink){c, request_body, request_gap, NULL};
        return TA_OK;
    }
    int left = leave_half(c);
    if (left == TA_OK)
        left = release(c, h->first.pkt);
    if (left != TA_OK)
        return left;
    if (c->n_open >= LIMIT_HTTP_PENDING) {
        c->given_up = true;
        exchange_note(c, NULL, "http.too-many-pending", h->first);
        return TA_OK;
    }
    struct open *o = exchange_add(c, h);
    *body = (struct byte_sink){c, request_body, request_gap, NULL};
    int rc = c->out.request != NULL ? c->out.request(c->out.ctx, &o->x) : TA_OK;
    note_coding(c, o, h);
    struct mark orphan;
    if (rc == TA_OK && take_orphan(c, h->first, &orphan)) {
        o->x.damaged = true;
        rc = exchange_answered(c, o, END_GAP, orphan.t_ready);
    } else if (rc == TA_OK && c->server_over) {
        rc = exchange_answered(c, o, c->server_end, c->server_end_at.t_ready);
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
    int rc = o->response_over ? finish(c, o) : TA_OK;
    return rc == TA_OK ? release(c, 0) : rc;
}

/* --- input ---------------------------------------------------------------------------------- */

static int client_data(void *ctx, struct span in)
{
    struct exchange_conn *c = ctx;
    c->t_latest = in.at.t_ready;
    c->asked = true;
    return c->tunnel ? TA_OK : c->to_requests.data(c->to_requests.ctx, in);
}

static int client_gap(void *ctx, uint64_t n, struct mark at)
{
    struct exchange_conn *c = ctx;
    c->asked = true;
    if (c->asking != NULL)
        c->asking->x.damaged = true;
    return c->tunnel ? TA_OK : c->to_requests.gap(c->to_requests.ctx, n, at);
}

static int client_end(void *ctx, enum end_kind why, struct mark at)
{
    struct exchange_conn *c = ctx;
    c->t_latest = at.t_ready;
    c->client_over = true;
    int rc = release(c, UINT64_MAX); /* while a head is still under way */
    if (rc == TA_OK)
        rc = c->to_requests.end(c->to_requests.ctx, why, at);
    return rc == TA_OK ? leave_half(c) : rc;
}

/* Keeps what the server says for the request that it answers; p NULL: n unseen bytes. */
static bool wait_for_request(struct exchange_conn *c, const uint8_t *p, uint64_t n, struct mark at)
{
    size_t had = early_size(&c->early);
    if (!must_wait(c) || c->shared->early + (p != NULL ? n : 0) > LIMIT_EARLY_ALL_BYTES)
        return false;
    bool waits = p != NULL ? early_add(&c->early, (struct span){p, (size_t)n, at})
                           : early_add_gap(&c->early, n, at);
    c->shared->early += early_size(&c->early) - had;
    return waits;
}

static bool starts_event(const uint8_t *p, size_t n)
{
    static const char field[] = "data:";
    for (size_t i = 0; i + sizeof field - 1 <= n; i++) {
        if ((i == 0 || p[i - 1] == '\n') && memcmp(p + i, field, sizeof field - 1) == 0)
            return true;
    }
    return false;
}

/* The connection is older than the trace, and nothing has been asked on it since. */
static void watch_before(struct exchange_conn *c, const struct span *in)
{
    struct exchange_before *b = &c->shared->before;
    bool first = !c->before && starts_event(in->p, in->n);
    if (first && b->streams++ == 0) {
        b->conn = c->conn->id;
        b->pkt = in->at.pkt;
        b->off = in->at.off;
        b->t_ns = in->at.t_ready;
    }
    c->before |= first;
    if (c->before) {
        b->bytes += in->n;
        b->last_t_ns = in->at.t_ready > b->last_t_ns ? in->at.t_ready : b->last_t_ns;
    }
}

static int server_data(void *ctx, struct span in)
{
    struct exchange_conn *c = ctx;
    c->t_latest = in.at.t_ready;
    if (!c->asked && c->conn != NULL && c->conn->midstream)
        watch_before(c, &in);
    c->server_spoke = true;
    int rc = release(c, 0);
    while (rc == TA_OK && in.n > 0 && !wait_for_request(c, in.p, in.n, in.at)) {
        rc = release(c, UINT64_MAX);
        if (rc == TA_OK)
            rc = http_take(c->responses, &in);
    }
    return rc;
}

static int server_gap(void *ctx, uint64_t n, struct mark at)
{
    struct exchange_conn *c = ctx;
    c->server_spoke = true;
    int rc = release(c, 0);
    if (rc == TA_OK && early_has(&c->early) && wait_for_request(c, NULL, n, at))
        return TA_OK;
    if (rc == TA_OK)
        rc = release(c, UINT64_MAX);
    return rc == TA_OK ? miss(c, n, at) : rc;
}

static int server_end(void *ctx, enum end_kind why, struct mark at)
{
    struct exchange_conn *c = ctx;
    c->t_latest = at.t_ready;
    if (early_has(&c->early)) { /* behind what waits */
        c->early.ended = true;
        c->early.why = why;
        c->early.end = at;
        return TA_OK;
    }
    return end_responses(c, why, at);
}

static int end_responses(struct exchange_conn *c, enum end_kind why, struct mark at)
{
    c->server_over = true;
    c->server_end = why;
    c->server_end_at = at;
    int rc = c->to_responses.end(c->to_responses.ctx, why, at);
    struct open *o;
    while (rc == TA_OK && (o = exchange_unanswered(c)) != NULL) {
        o->x.damaged |= c->unsure;
        rc = exchange_answered(c, o, why, at.t_ready);
    }
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
    c->responses = http_new(HTTP_RESPONSES,
                            (struct http_sink){c, exchange_response_head, exchange_response_done},
                            (struct anomaly_sink){c, exchange_response_anomaly});
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
    exchange_drop_body(c);
    c->shared->early -= early_size(&c->early);
    early_clear(&c->early);
    http_free(c->requests);
    http_free(c->responses);
    VEC_FREE(&c->orphans);
    free(c);
}
