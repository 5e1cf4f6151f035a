/* Trace to requests: the pipeline's exchanges, with their events read by the dialect that claims
 * the request. An event happens at last.t_ready; events whose last byte was released by one frame
 * arrived together. */
#include "analyze/load.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/blocks.h"
#include "analyze/load_files.h"
#include "analyze/load_looks.h"
#include "analyze/outcome.h"
#include "analyze/reads.h"
#include "analyze/saying.h"
#include "analyze/steps.h"
#include "traces/base/mem.h"
#include "traces/limits.h"

/* Beside it, a gap and a share of its request, that is what 32 bytes an event have room for. */
_Static_assert(sizeof(struct output_event) == 16, "millions of events: no more for each");

/* Where the output events of a request under construction were gathered: for the next one. */
struct room {
    struct output_event *v;
    int32_t *stated;
    size_t cap, stated_cap;
};

struct loader {
    struct audit *a;
    struct trace_info info;
    struct blocks blocks;
    size_t first; /* index of the trace's first request in a->requests */
    struct buf scratch;
    size_t held; /* bytes of documents under construction */
    VEC(struct room) rooms;
    struct load_files files;
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
    struct saying saying;
    bool unknown;             /* no dialect claims it, but its reply may tell */
    enum dialect_trust trust; /* that it is what claims it: its reply may know better */
    bool borne_out;           /* by the reply */
    bool asks;                /* with what only who wants a text generated gives */
    unsigned guesses;         /* events by which none was recognised */
    struct reads reads;
};

/* Where the request does not tell the dialect, so many events may. */
enum { GUESSES_MAX = 8 };

/* Of all JSON documents that are being received at one time. */
enum { HELD_MAX = 256 << 20 };

static const char *keep(struct loader *l, struct slice s)
{
    return saying_keep(&l->a->texts, s);
}

enum { ROOM_MAX = 1024 };
_Static_assert(LIMIT_PACKETS <= UINT32_MAX, "an event's packet is a uint32_t");

static void take_room(struct loader *l, struct request *r)
{
    if (l->rooms.n == 0)
        return;
    struct room room = l->rooms.v[--l->rooms.n];
    r->out.v = room.v;
    r->out.cap = room.cap;
    r->out_stated.v = room.stated;
    r->out_stated.cap = room.stated_cap;
}

/* The events move to a place of just their size. Cut to size where they grew, each request would
 * leave a hole behind it in the heap, in all a fifth of what the events themselves take. */
static void settle(struct loader *l, struct request *r)
{
    struct room room = {r->out.v, r->out_stated.v, r->out.cap, r->out_stated.cap};
    size_t bytes = r->out.n * sizeof *r->out.v;
    size_t stated = r->out_stated.n * sizeof *r->out_stated.v;
    if (room.cap > ROOM_MAX) {
        r->out.v = mem_resize(r->out.v, bytes);
        r->out_stated.v = mem_resize(r->out_stated.v, stated);
    } else if (room.cap > 0) {
        r->out.v = r->out.n > 0 ? mem_dup(room.v, bytes) : NULL;
        r->out_stated.v = stated > 0 ? mem_dup(room.stated, stated) : NULL;
        VEC_PUSH(&l->rooms, room);
    }
    r->out.cap = r->out.n;
    r->out_stated.cap = r->out_stated.n;
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
        .server_port = x->conn->server.port,
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
        .answer_ns = -1,
        .content_ns = -1,
        .keepalive_ns = -1,
        .stated_last = -1,
        .choice_ns = -1,
        .done_ns = -1,
        .n1 = -1,
        .recounted = -1,
        .group = -1,
        .repeat = -1,
        .syn_ns = x->nth == 0 ? x->conn->t_syn : -1,
        .syn_packet = x->nth == 0 && x->conn->t_syn >= 0 ? x->conn->first_pkt : 0,
        .accepted_ns = x->nth == 0 ? x->conn->t_synack : -1,
        .usage = usage_none,
        .timings = timings_none,
    };
    memcpy(p->r.client_host, x->conn->client.addr, sizeof p->r.client_host);
    memcpy(p->r.server_host, x->conn->server.addr, sizeof p->r.server_host);
    reads_begin(&p->reads, x->conn);
    take_room(l, &p->r);
    p->saying = (struct saying){.r = &p->r, .texts = &l->a->texts};
    x->user = p;
    return TA_OK;
}

/* What it asks for, once it is known who speaks. */
static void read_asked(struct pending *p, const struct exchange *x)
{
    struct loader *l = p->l;
    struct slice body = {(const char *)x->request_body.p, x->request_body.n};
    struct request *r = &p->r;
    r->dialect->request(body, &l->a->texts, &r->asked);
    p->asks = r->asked.max_tokens >= 0 || r->asked.stream >= 0;
    if (dialect_streams(r->dialect, x->target, &r->asked))
        r->asked.stream = 1;
    r->model = keep(l, r->asked.model);
    recount_begin(&p->saying.recount, l->a->recounter, r->asked.model);
    if (x->request_complete)
        r->body_sha256 = keep(l, slice_of(x->request_body_sha256));
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
    r->sent_id = saying_sent_id(x);
    r->asked = (struct dialect_request){.stream = -1, .max_tokens = -1, .choices = 1};
    r->dialect = dialect_find(x->method, x->target, body);
    p->trust = DIALECT_SURE;
    if (l->a->forced != NULL && slice_is(x->method, "POST"))
        r->dialect = l->a->forced;
    else if (r->dialect != NULL)
        p->trust = dialect_trust(r->dialect, x->method, x->target, body);
    if (r->dialect != NULL)
        read_asked(p, x);
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
    if (p->l->info.server == NULL && p->r.dialect != NULL && p->trust == DIALECT_SURE)
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
    if (x->simple) /* bytes without a head: no response to a request of HTTP/1 */
        return TA_OK;
    p->r.status = x->status;
    p->r.stream_reply = x->stream != STREAM_NONE;
    p->r.h = x->response_first.t_ready;
    p->r.h_packet = x->response_first.rel;
    p->r.head_end = x->response_head_last.t_ready;
    p->unknown = p->r.dialect == NULL && slice_is(x->method, "POST") && x->status / 100 == 2 &&
                 dialect_generates(x->target);
    if (p->r.dialect != NULL)
        saying_fields(&p->saying, x);
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

/* A path nobody knows, or a body that cannot be read: what the reply looks like decides. */
static void guess_dialect(struct pending *p, const struct exchange *x, struct slice data)
{
    if (!p->unknown || p->guesses >= GUESSES_MAX)
        return;
    p->guesses++;
    p->r.dialect = dialect_guess(data);
    if (p->r.dialect == NULL)
        return;
    p->r.guessed = true;
    note(p, "dialect.guessed");
    read_asked(p, x);
}

/* Chat bodies of several APIs look alike. */
static void believe_reply(struct pending *p, const struct exchange *x, struct slice data)
{
    if (p->trust == DIALECT_SURE || p->borne_out || p->r.out.n > 0)
        return;
    const struct dialect *other = dialect_guess(data);
    if (other == NULL)
        return;
    p->borne_out = true;
    if (p->r.dialect->recognises(data) >= other->recognises(data))
        return;
    p->r.dialect = other;
    p->r.guessed = true;
    note(p, "dialect.guessed");
    read_asked(p, x);
}

static int number_packet(struct loader *l, struct mark last)
{
    if (last.rel <= LIMIT_PACKETS)
        return TA_OK;
    return err_set(l->e, TA_ELIMIT,
                   "%s: output in packet %" PRIu64 ", more than %u; split the trace", l->info.path,
                   last.rel, LIMIT_PACKETS);
}

static int on_event(void *ctx, struct exchange *x, const struct event *ev)
{
    struct loader *l = ctx;
    struct pending *p = x->user;
    p->r.stream_reply = true; /* if its type did not say so */
    if (p->r.dialect == NULL && ev->kind == EVENT_DATA)
        guess_dialect(p, x, ev->data);
    else if (ev->kind == EVENT_DATA)
        believe_reply(p, x, ev->data);
    if (p->r.dialect == NULL)
        return TA_OK;
    if (ev->kind == EVENT_COMMENT) {
        p->r.comments++;
        if (p->r.keepalive_ns < 0)
            p->r.keepalive_ns = ev->last.t_ready;
        return TA_OK;
    }
    if (ev->kind == EVENT_TRUNCATED) {
        p->r.truncated_events += !slice_is(ev->data, "[DONE]"); /* all was said before it */
        return TA_OK;
    }
    if (p->r.events++ == 0)
        p->r.reply_id = saying_reply_id(ev->data);
    if (ev->data.n > p->r.longest_event)
        p->r.longest_event = ev->data.n < UINT32_MAX ? (uint32_t)ev->data.n : UINT32_MAX;
    struct mark last = on_the_wire(x, ev->last);
    reads_wait(&p->reads, &p->r, x->conn);
    reads_follow(&p->reads, &p->r, last);
    size_t had = p->r.out.n;
    int rc = number_packet(l, last);
    if (rc == TA_OK)
        rc = saying_event(&p->saying, ev, last, &l->scratch);
    if (p->r.out.n > had)
        reads_place(&p->r, x, ev);
    return rc;
}

static void drop_document(struct pending *p)
{
    p->l->held -= p->document.n;
    buf_done(&p->document);
}

/* A reply that tells by itself who speaks is an object, or a list of them. */
static bool may_start_json(struct span in)
{
    size_t i = 0;
    while (i < in.n && strchr(" \t\r\n", in.p[i]) != NULL && in.p[i] != '\0')
        i++;
    return i == in.n || in.p[i] == '{' || in.p[i] == '[';
}

static int on_body(void *ctx, struct exchange *x, struct span in)
{
    struct loader *l = ctx;
    struct pending *p = x->user;
    p->r.stream_reply = false; /* if its type said so */
    if ((p->r.dialect == NULL && !p->unknown) || in.n == 0)
        return TA_OK;
    if (p->unknown && p->document.n == 0 && !may_start_json(in)) /* a download of whatever */
        p->unknown = false;
    p->body_last = on_the_wire(x, span_mark(in, in.n - 1));
    if (p->document_cut)
        return TA_OK;
    if (l->held + in.n > HELD_MAX || buf_add(&p->document, in.p, in.n) != TA_OK) {
        p->document_cut = true;
        drop_document(p);
        if (p->r.dialect != NULL)
            note(p, "http.document-too-long");
    } else {
        l->held += in.n;
    }
    return TA_OK;
}

/* A reply that is one JSON document is one output event, at the last byte of its body. */
static int read_document(struct pending *p, const struct exchange *x)
{
    if (p->document.n == 0 || p->document_cut || !x->response_complete)
        return TA_OK;
    if (x->simple)
        return TA_OK;
    if (x->damaged) /* bytes are missing: what is there need not be JSON, and says nothing of the
                       server */
        return TA_OK;
    struct slice body = {(const char *)p->document.p, p->document.n};
    if (p->r.dialect == NULL)
        guess_dialect(p, x, body);
    else
        believe_reply(p, x, body);
    if (p->r.dialect == NULL)
        return TA_OK;
    p->r.reply_id = saying_reply_id(body);
    int rc = number_packet(p->l, p->body_last);
    return rc == TA_OK ? saying_document(&p->saying, body, p->body_last, &p->l->scratch) : rc;
}

/* Why the text that was counted is not the whole text; NULL: it is. */
static const char *text_lacks(const struct pending *p, const struct exchange *x)
{
    const char *redacted = p->l->info.redacted;
    if (redacted != NULL && strcmp(redacted, "bodies") == 0)
        return "redacted: its text was overwritten before it was written";
    if (x->opaque)
        return "its reply is in a coding that is not read, or was overwritten";
    if (x->damaged)
        return "bytes of it were not captured";
    if (p->document_cut || p->r.truncated_events > 0)
        return "its reply was not read to the end";
    return p->r.asked.echo ? "its reply repeats the prompt" : NULL;
}

static void end_recount(struct pending *p, const struct exchange *x)
{
    struct request *r = &p->r;
    r->recounted = recount_done(&p->saying.recount, &r->recount_why);
    if (r->recounted < 0)
        return;
    r->recount_why = text_lacks(p, x);
    if (r->recount_why != NULL) {
        r->recounted = -1;
    } else if (p->l->a->recounter->apart) {
        struct recount_apart *apart = arena_alloc(&p->l->a->texts, sizeof *apart);
        *apart = p->saying.recount.apart;
        r->apart = apart;
    }
}

/* What the connection did to it. */
static void end_wire(struct pending *p, const struct exchange *x)
{
    struct request *r = &p->r;
    r->body_bytes = x->request_body_bytes;
    r->body_end = x->decoded_body_bytes;
    r->end = x->end;
    r->whole = x->response_complete || outcome_left_at_end(r, x, p->saying.finished);
    r->left = !r->whole && !x->damaged && reads_client_left(x);
    if (r->left) { /* what the server sent on, nobody waited for */
        r->t_end = x->conn->t_left;
        r->left_packet = x->conn->left_pkt;
    }
    reads_end(&p->reads, r, x->conn);
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
    if (x->response_complete && !x->simple) {
        r->z = x->response_last.t_ready;
        r->z_packet = x->response_last.rel;
    }
    r->t_end = x->t_end;
    r->damaged = x->damaged;
    end_wire(p, x);
    r->outcome = outcome_of(r, x, p->saying.finished, p->saying.failed);
    load_looks_end(r, p->borne_out ? DIALECT_SURE : p->trust, p->asks);
    end_recount(p, x);
    saying_settle(&p->saying);
    settle(l, r);
    if (l->a->requests.n >= LIMIT_REQUESTS) {
        request_free(r);
        rc = err_set(l->e, TA_ELIMIT, "%s: more than %u requests; split the trace", l->info.path,
                     LIMIT_REQUESTS);
    } else {
        VEC_PUSH(&l->a->requests, *r);
    }
    drop_document(p);
    saying_done(&p->saying);
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

static struct reader *next_file(void *ctx, uint64_t frames)
{
    struct loader *l = ctx;
    return load_files_next(&l->files, &l->blocks.part, frames, l->e);
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

/* Of whose requests none was sure at once. */
static void name_server(struct loader *l)
{
    for (size_t i = l->first; i < l->a->requests.n && l->info.server == NULL; i++) {
        if (l->a->requests.v[i].dialect != NULL)
            l->info.server = l->a->requests.v[i].server;
    }
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
    while (l->a->requests.n > l->first)
        request_free(&l->a->requests.v[--l->a->requests.n]);
    body_notes_done(&l->blocks.bodies);
    VEC_FREE(&l->info.ledger);
    VEC_FREE(&l->info.replaced);
    VEC_FREE(&l->info.sys);
    VEC_FREE(&l->info.steps);
    VEC_FREE(&l->info.files);
}

int load_trace(struct audit *a, char *const *paths, size_t n, size_t *used, struct err *e)
{
    struct loader l = {.a = a, .first = a->requests.n, .e = e};
    l.files =
        (struct load_files){.paths = paths, .n_paths = n, .info = &l.info, .texts = &a->texts};
    *used = 1;
    int rc = load_files_open(&l.files, e);
    if (rc < 0)
        return rc;
    l.info.path = arena_text(&a->texts, slice_of(paths[0]));
    buf_init(&l.scratch, LIMIT_SSE_EVENT_BYTES);
    struct pipeline_sink sink = {
        .exchange = {&l, on_request, on_response, on_event, on_body, on_done, on_anomaly},
        .custom = on_custom,
        .next = next_file,
    };
    rc = pipeline_run(l.files.reader, sink, &l.info.totals, e);
    load_files_end(&l.files, &l.blocks.part);
    *used = l.files.used;
    l.info.unread_blocks = l.blocks.unread;
    l.info.epoch_ns = l.info.totals.first_t_ns;
    buf_done(&l.scratch);
    for (size_t i = 0; i < l.rooms.n; i++) {
        free(l.rooms.v[i].v);
        free(l.rooms.v[i].stated);
    }
    VEC_FREE(&l.rooms);
    if (rc < 0) {
        drop_trace(&l);
        return rc;
    }
    body_notes_join(&l.blocks.bodies, a, l.first);
    body_notes_done(&l.blocks.bodies);
    number_requests(a, l.first);
    load_looks_settle(a, l.first);
    name_server(&l);
    steps_mark(a, l.first, &l.info);
    VEC_PUSH(&a->traces, l.info);
    return TA_OK;
}
