/* Trace to requests: the pipeline's exchanges, with their events read by the dialect that claims
 * the request. An event happens at last.t_ready; events whose last byte was released by one frame
 * arrived together. */
#include "analyze/load.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/blocks.h"
#include "analyze/steps.h"
#include "traces/base/mem.h"
#include "traces/limits.h"

struct loader {
    struct audit *a;
    struct trace_info info;
    struct blocks blocks;
    size_t first; /* index of the trace's first request in a->requests */
    struct buf scratch;
    size_t held; /* bytes of documents under construction */
    struct err *e;
};

/* A request under construction; the exchange's user. */
struct pending {
    struct loader *l;
    struct request r;
    struct buf document;   /* body of a reply that is no event stream */
    bool document_cut;     /* over its cap */
    struct mark body_last; /* of the document's last byte so far */
    bool answered;         /* the response callback has run: the dialect is known */
    bool finished, failed; /* a finish, an error was stated */
};

/* What one event, or one document, says. */
struct said {
    struct pending *p;
    int64_t t_ns; /* when */
    uint64_t text_bytes;
    bool alive; /* something other than a ping */
};

/* Names and messages are for people: more of them than this is somebody's mischief. */
enum { TEXT_KEPT_MAX = 4096 };

/* Of all JSON documents that are being received at one time. */
enum { HELD_MAX = 256 << 20 };

static const char *keep(struct loader *l, struct slice s)
{
    if (s.p == NULL)
        return NULL;
    return arena_text(&l->a->texts, (struct slice){s.p, s.n < TEXT_KEPT_MAX ? s.n : TEXT_KEPT_MAX});
}

static const struct usage usage_none = {-1, -1, -1, -1};
static const struct server_timings timings_none = {NAN, NAN, NAN, NAN, NAN};

static void pick_int(int64_t *to, int64_t v)
{
    if (v >= 0)
        *to = v;
}

static void pick_double(double *to, double v)
{
    if (!isnan(v))
        *to = v;
}

static void take_usage(struct usage *to, const struct usage *u)
{
    pick_int(&to->prompt, u->prompt);
    pick_int(&to->completion, u->completion);
    pick_int(&to->cached, u->cached);
    pick_int(&to->reasoning, u->reasoning);
}

static void take_timings(struct server_timings *to, const struct server_timings *t)
{
    pick_double(&to->prompt_n, t->prompt_n);
    pick_double(&to->prompt_ms, t->prompt_ms);
    pick_double(&to->predicted_n, t->predicted_n);
    pick_double(&to->predicted_ms, t->predicted_ms);
    pick_double(&to->predicted_per_second, t->predicted_per_second);
}

static void take_error(struct pending *p, struct slice text)
{
    p->failed = true;
    if (p->r.error == NULL)
        p->r.error = keep(p->l, text);
}

static int take_delta(void *ctx, const struct delta *d)
{
    struct said *s = ctx;
    struct pending *p = s->p;
    s->alive |= d->kind != DELTA_PING;
    switch (d->kind) {
    case DELTA_TEXT:
    case DELTA_REASONING:
    case DELTA_TOOL:
    case DELTA_REFUSAL:
        s->text_bytes += d->text.n;
        break;
    case DELTA_USAGE:
        take_usage(&p->r.usage, &d->usage);
        p->r.usage_events++;
        break;
    case DELTA_TIMINGS:
        take_timings(&p->r.timings, &d->timings);
        break;
    case DELTA_FINISH:
        p->finished = true;
        if (p->r.finish == NULL)
            p->r.finish = keep(p->l, d->text);
        break;
    case DELTA_ERROR:
        take_error(p, d->text);
        break;
    case DELTA_ROLE:
        if (p->r.role_ns < 0)
            p->r.role_ns = s->t_ns;
        break;
    case DELTA_DONE:
        if (p->r.done_ns < 0)
            p->r.done_ns = s->t_ns;
        break;
    case DELTA_PING:
        p->r.pings++;
        break;
    case DELTA_EMPTY:
        break;
    }
    return TA_OK;
}

/* Marks of an event's last byte into the request, once it is known what it said. */
static void take_event(struct said *s, struct mark last)
{
    struct request *r = &s->p->r;
    if (s->alive && r->c1 < 0) {
        r->c1 = last.t_ready;
        r->c1_packet = last.rel;
        r->c1_offset = last.off;
    }
    if (s->text_bytes > 0) {
        uint32_t bytes = s->text_bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)s->text_bytes;
        int32_t stated = r->usage.completion > INT32_MAX ? INT32_MAX : (int32_t)r->usage.completion;
        VEC_PUSH(&r->out, ((struct output_event){last.t_ready, last.rel, bytes, stated}));
        r->text_bytes += s->text_bytes;
        if (r->out.n == 1)
            r->o1_offset = last.off;
        r->om_offset = last.off;
    }
    /* n_1 is what was readable with o_1: the last count stated in the same read. */
    if (r->out.n > 0 && r->out.v[0].packet == last.rel && r->usage.completion >= 0)
        r->n1 = r->usage.completion;
}

static int on_request(void *ctx, struct exchange *x)
{
    struct loader *l = ctx;
    struct pending *p = mem_zalloc(sizeof *p);
    p->l = l;
    buf_init(&p->document, LIMIT_DOCUMENT_BYTES);
    p->r = (struct request){
        .trace = l->a->traces.n,
        .run = RUN_NONE,
        .conn = x->conn->id,
        .nth = x->nth,
        .client_port = x->conn->client.port,
        .t0 = x->request_first.t_seen,
        .t0_packet = x->request_first.pkt,
        .t0_offset = x->request_first.off,
        .t0_end = -1,
        .h = -1,
        .head_end = -1,
        .c1 = -1,
        .z = -1,
        .t_end = -1,
        .role_ns = -1,
        .done_ns = -1,
        .n1 = -1,
        .group = -1,
        .repeat = -1,
        .usage = usage_none,
        .timings = timings_none,
    };
    x->user = p;
    return TA_OK;
}

/* The request as far as it is known by now, and who speaks it. */
static void read_request(struct pending *p, struct exchange *x)
{
    struct loader *l = p->l;
    struct slice body = {(const char *)x->request_body.p, x->request_body.n};
    struct request *r = &p->r;
    p->answered = true;
    r->method = keep(l, x->method);
    r->path = keep(l, x->target);
    r->asked = (struct dialect_request){.stream = -1, .max_tokens = -1, .choices = 1};
    r->dialect = dialect_find(x->method, x->target, body);
    if (r->dialect == NULL)
        return;
    r->dialect->request(body, &l->a->texts, &r->asked);
    r->model = keep(l, r->asked.model);
    if (x->request_complete)
        r->body_sha256 = keep(l, slice_of(x->request_body_sha256));
}

/* tokaudit's own simulated servers say so: "tokaudit-serve/0.1.0 (simulated; profile=ideal)". */
static void read_profile(struct loader *l, const char *server)
{
    static const char mark[] = "(simulated; profile=";
    const char *name = strncmp(server, "tokaudit-serve/", 15) == 0 ? strstr(server, mark) : NULL;
    if (name == NULL)
        return;
    name += sizeof mark - 1;
    l->info.simulated = keep(l, (struct slice){name, strcspn(name, ")")});
}

/* The Server field names the software; a server that sends none is known by where it listens. */
static void read_server(struct pending *p, const struct exchange *x)
{
    struct slice field = exchange_response_field(x, "Server");
    char name[64];
    struct slice text = field.n > 0 ? field : slice_of(endpoint_text(&x->conn->server, name));
    if (p->l->info.server != NULL && slice_is(text, p->l->info.server))
        p->r.server = p->l->info.server;
    else
        p->r.server = keep(p->l, text);
    if (p->l->info.server == NULL && p->r.dialect != NULL)
        p->l->info.server = p->r.server;
    if (p->l->info.simulated == NULL)
        read_profile(p->l, p->r.server);
}

static void note(struct pending *p, const char *id)
{
    for (size_t i = 0; i < p->r.anomalies.n; i++) {
        if (strcmp(p->r.anomalies.v[i], id) == 0)
            return;
    }
    VEC_PUSH(&p->r.anomalies, id);
}

static int on_response(void *ctx, struct exchange *x)
{
    (void)ctx;
    struct pending *p = x->user;
    read_request(p, x);
    read_server(p, x);
    p->r.status = x->status;
    p->r.stream_reply = x->stream != STREAM_NONE;
    p->r.h = x->response_first.t_ready;
    p->r.h_packet = x->response_first.rel;
    p->r.head_end = x->response_head_last.t_ready;
    return TA_OK;
}

/* Where evidence of the byte at last is found: behind a content coding its offset counts decoded
 * bytes, and what stands for it is the latest byte of the packet that released it. */
static struct mark on_the_wire(const struct exchange *x, struct mark last)
{
    if (x->coded)
        last.off = x->body_last.off;
    return last;
}

static int on_event(void *ctx, struct exchange *x, const struct event *ev)
{
    struct loader *l = ctx;
    struct pending *p = x->user;
    p->r.stream_reply = true; /* if its type did not say so */
    if (p->r.dialect == NULL)
        return TA_OK;
    if (ev->kind == EVENT_COMMENT) {
        p->r.comments++;
        return TA_OK;
    }
    if (ev->kind == EVENT_TRUNCATED) {
        p->r.truncated_events++;
        return TA_OK;
    }
    p->r.events++;
    struct said said = {.p = p, .t_ns = ev->last.t_ready};
    int rc = p->r.dialect->event(ev, &l->scratch, (struct delta_sink){&said, take_delta});
    take_event(&said, on_the_wire(x, ev->last));
    return rc;
}

static void drop_document(struct pending *p)
{
    p->l->held -= p->document.n;
    buf_done(&p->document);
}

static int on_body(void *ctx, struct exchange *x, struct span in)
{
    struct loader *l = ctx;
    struct pending *p = x->user;
    if (p->r.dialect == NULL || in.n == 0)
        return TA_OK;
    p->body_last = on_the_wire(x, span_mark(in, in.n - 1));
    if (p->document_cut)
        return TA_OK;
    if (l->held + in.n > HELD_MAX || buf_add(&p->document, in.p, in.n) != TA_OK) {
        p->document_cut = true;
        drop_document(p);
        note(p, "http.document-too-long");
    } else {
        l->held += in.n;
    }
    return TA_OK;
}

/* A reply that is one JSON document is one output event, at the last byte of its body. */
static int read_document(struct pending *p, const struct exchange *x)
{
    if (p->r.dialect == NULL || p->document.n == 0 || p->document_cut || !x->response_complete)
        return TA_OK;
    if (x->damaged) /* bytes are missing: what is there need not be JSON, and says nothing of the
                       server */
        return TA_OK;
    struct slice body = {(const char *)p->document.p, p->document.n};
    struct said said = {.p = p, .t_ns = p->body_last.t_ready};
    int rc = p->r.dialect->document(body, &p->l->scratch, (struct delta_sink){&said, take_delta});
    take_event(&said, p->body_last);
    return rc;
}

static enum outcome outcome_of(const struct pending *p, const struct exchange *x)
{
    const struct request *r = &p->r;
    if (r->dialect == NULL)
        return OUTCOME_NOT_LLM;
    if (x->status == 0)
        return x->end == END_TRACE ? OUTCOME_OPEN : OUTCOME_NO_RESPONSE;
    if (x->status / 100 != 2)
        return OUTCOME_HTTP_ERROR;
    if (p->failed)
        return OUTCOME_ERROR_EVENT;
    if (!x->response_complete)
        return x->end == END_TRACE ? OUTCOME_OPEN : OUTCOME_CUT_SHORT;
    if (p->finished)
        return OUTCOME_SUCCESS;
    return r->truncated_events > 0 ? OUTCOME_CUT_SHORT : OUTCOME_NO_FINISH;
}

static void shrink(struct request *r)
{
    if (r->out.n > 0 && r->out.cap > r->out.n) {
        r->out.v = mem_resize(r->out.v, r->out.n * sizeof *r->out.v);
        r->out.cap = r->out.n;
    }
}

static int on_done(void *ctx, struct exchange *x)
{
    struct loader *l = ctx;
    struct pending *p = x->user;
    if (!p->answered)
        read_request(p, x);
    int rc = p->r.stream_reply ? TA_OK : read_document(p, x);
    struct request *r = &p->r;
    if (r->server == NULL)
        read_server(p, x);
    if (x->request_complete)
        r->t0_end = x->request_last.t_ready;
    if (x->response_complete) {
        r->z = x->response_last.t_ready;
        r->z_packet = x->response_last.rel;
    }
    r->t_end = x->t_end;
    r->damaged = x->damaged;
    r->outcome = outcome_of(p, x);
    shrink(r);
    if (l->a->requests.n >= LIMIT_REQUESTS) {
        VEC_FREE(&r->out);
        VEC_FREE(&r->anomalies);
        rc = err_set(l->e, TA_ELIMIT, "%s: more than %u requests; split the trace", l->info.path,
                     LIMIT_REQUESTS);
    } else {
        VEC_PUSH(&l->a->requests, *r);
    }
    drop_document(p);
    free(p);
    x->user = NULL;
    return rc;
}

static void on_anomaly(void *ctx, struct exchange *x, const struct anomaly *bad)
{
    (void)ctx;
    if (x != NULL && x->user != NULL)
        note(x->user, bad->id);
}

static int on_custom(void *ctx, const struct rec *r)
{
    struct loader *l = ctx;
    l->blocks.frame = r->frame;
    blocks_read(&l->blocks, r->json, &l->info, &l->a->texts);
    return TA_OK;
}

static int by_t0(const void *a, const void *b)
{
    const struct request *x = a, *y = b;
    if (x->t0 != y->t0)
        return x->t0 < y->t0 ? -1 : 1;
    if (x->conn != y->conn)
        return x->conn < y->conn ? -1 : 1;
    return (x->nth > y->nth) - (x->nth < y->nth);
}

static void number_requests(struct audit *a, size_t first)
{
    if (a->requests.n > first)
        qsort(a->requests.v + first, a->requests.n - first, sizeof *a->requests.v, by_t0);
    for (size_t i = first; i < a->requests.n; i++)
        a->requests.v[i].id = i + 1;
}

static void drop_trace(struct loader *l)
{
    while (l->a->requests.n > l->first) {
        struct request *r = &l->a->requests.v[--l->a->requests.n];
        VEC_FREE(&r->out);
        VEC_FREE(&r->anomalies);
    }
    body_notes_done(&l->blocks.bodies);
    VEC_FREE(&l->info.ledger);
    VEC_FREE(&l->info.sys);
    VEC_FREE(&l->info.steps);
}

int load_trace(struct audit *a, const char *path, struct err *e)
{
    struct reader *reader = NULL;
    int rc = reader_open(&reader, path, e);
    if (rc < 0)
        return rc;
    struct loader l = {.a = a, .first = a->requests.n, .e = e};
    l.info.path = arena_text(&a->texts, slice_of(path));
    buf_init(&l.scratch, LIMIT_SSE_EVENT_BYTES);
    struct pipeline_sink sink = {
        .exchange = {&l, on_request, on_response, on_event, on_body, on_done, on_anomaly},
        .custom = on_custom,
    };
    rc = pipeline_run(reader, sink, &l.info.totals, e);
    l.info.health = *reader_health(reader);
    l.info.unread_blocks = l.blocks.unread;
    l.info.epoch_ns = l.info.totals.first_t_ns;
    reader_close(reader);
    buf_done(&l.scratch);
    if (rc < 0) {
        drop_trace(&l);
        return rc;
    }
    body_notes_join(&l.blocks.bodies, a, l.first);
    body_notes_done(&l.blocks.bodies);
    number_requests(a, l.first);
    steps_mark(a, l.first, &l.info);
    VEC_PUSH(&a->traces, l.info);
    return TA_OK;
}
