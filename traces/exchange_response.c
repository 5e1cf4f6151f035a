/* Responses, and whom they answer. */
#include "traces/exchange_state.h"

#include <stdlib.h>

#include "traces/limits.h"

void exchange_response_anomaly(void *ctx, const struct anomaly *a)
{
    struct exchange_conn *c = ctx;
    exchange_pass_anomaly(c, c->answering != NULL ? c->answering : exchange_unanswered(c), a);
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

void exchange_drop_body(struct exchange_conn *c)
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
    exchange_drop_body(c);
    return rc;
}

/* --- responses ------------------------------------------------------------------------------ */

static void open_body(struct exchange_conn *c, const struct http_head *h)
{
    exchange_drop_body(c);
    if (h->framing == HTTP_TUNNEL)
        return;
    c->body = body_new(h, c->shared->blanked, (struct body_sink){c, stream_event, document_data},
                       (struct anomaly_sink){c, exchange_response_anomaly});
    c->to_body = body_input(c->body);
    know_body(c);
}

/* Are requests missing that the server has read? Those behind a hole may still come. */
static bool may_lack_requests(const struct exchange_conn *c)
{
    return c->hidden || http_losses(c->requests) != c->losses_of_requests ||
           (c->conn != NULL && c->conn->behind);
}

/* Responses were missed: this one answers the latest request before it, and the earlier requests
 * have no answer here. If requests are missing, too, it may answer one of those. */
static int realign(struct exchange_conn *c, struct mark first)
{
    int rc = TA_OK;
    struct open *o = exchange_unanswered(c);
    c->unsure = may_lack_requests(c);
    if (o != NULL && c->unsure)
        o->x.damaged = true;
    while (rc == TA_OK && o != NULL && o->next != NULL &&
           o->next->x.request_first.pkt < first.pkt) {
        struct open *next = o->next;
        o->x.damaged = true;
        next->x.damaged = true; /* it may as well be the earlier one's answer */
        rc = exchange_answered(c, o, END_GAP, first.t_ready);
        o = next;
    }
    return rc;
}

static void take_response_head(struct exchange_conn *c, struct open *o, const struct http_head *h)
{
    struct exchange *x = &o->x;
    x->damaged |= o->doubtful;
    x->status = h->status;
    x->simple = h->simple;
    x->response_fields = exchange_copy_fields(&x->arena, h);
    x->n_response_fields = h->n_fields;
    x->content_coding = exchange_response_field(x, "content-encoding");
    x->framing = h->framing;
    x->response_first = h->first;
    x->response_head_last = h->last;
    c->answering = o;
}

/* Nobody is to be answered, but a head is under way: *out is its exchange, if one could be made. */
static int answer_half(struct exchange_conn *c, const struct http_head *h, struct open **out)
{
    struct http_head head;
    if (c->half != NULL || c->n_open >= LIMIT_HTTP_PENDING ||
        !http_unfinished(c->requests, &head) || head.first.pkt > h->first.pkt ||
        slice_is(head.method, "HEAD") || slice_is(head.method, "CONNECT")) /* framed otherwise */
        return TA_OK;
    *out = c->half = exchange_add(c, &head);
    int rc = c->out.request != NULL ? c->out.request(c->out.ctx, &c->half->x) : TA_OK;
    exchange_note(c, *out, "http.early-response", h->first);
    return rc;
}

int exchange_response_head(void *ctx, const struct http_head *h, struct byte_sink *body)
{
    struct exchange_conn *c = ctx;
    bool interim = h->status < 200 && h->status != 101;
    if (c->given_up)
        return TA_OK;
    c->unsure |= exchange_lost_again(c->responses, &c->losses_of_responses);
    int rc = c->unsure ? realign(c, h->first) : TA_OK;
    struct open *o = exchange_unanswered(c);
    if (interim) {
        if (o != NULL)
            o->x.interim++;
        return rc;
    }
    if (h->framing == HTTP_TUNNEL)
        c->tunnel = true;
    if (rc != TA_OK)
        return rc;
    if (o == NULL)
        rc = answer_half(c, h, &o);
    if (rc != TA_OK)
        return rc;
    if (c->hidden) /* requests that were sent before it may only be read after it */
        c->doubtful_before = h->first.pkt;
    c->hidden = false;
    if (o == NULL || o->x.request_first.pkt > h->first.pkt) {
        exchange_note(c, NULL, "http.orphan-response", h->first);
        if (c->orphans.n < LIMIT_HTTP_PENDING)
            VEC_PUSH(&c->orphans, h->first);
        c->unsure |=
            h->framing != HTTP_NO_BODY; /* of HEAD: then the next one is read as its body */
        return TA_OK;
    }
    take_response_head(c, o, h);
    if (h->framing != HTTP_NO_BODY) {
        open_body(c, h);
        *body = (struct byte_sink){c, response_body, response_body_gap, response_body_end};
    }
    return c->out.response != NULL ? c->out.response(c->out.ctx, &o->x) : TA_OK;
}

int exchange_response_done(void *ctx, enum end_kind why, bool complete, struct mark last)
{
    struct exchange_conn *c = ctx;
    struct open *o = c->answering;
    c->answering = NULL;
    if (why == END_GAP && !http_idle(c->responses)) /* else the next one is where it should be */
        c->unsure = true;
    if (o == NULL)
        return TA_OK;
    o->x.response_complete = complete;
    o->x.response_last = last;
    return exchange_answered(c, o, why,
                             complete || !c->server_over ? last.t_ready : c->server_end_at.t_ready);
}
