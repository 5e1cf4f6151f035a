/* Exchanges of a trace, kept whole: traces/pipeline.h finds them, its tap gives the bytes. */
#include "replay/recording.h"

#include <stdlib.h>
#include <string.h>

#include "replay/recording_stream.h"
#include "replay/spool.h"
#include "traces/base/buf.h"
#include "traces/base/json.h"
#include "traces/base/mem.h"
#include "traces/base/text.h"
#include "traces/custom.h"
#include "traces/dialects/dialect.h"
#include "traces/limits.h"
#include "traces/pipeline.h"
#include "traces/rotation.h"

#define uthash_malloc(size) mem_alloc(size)
#include <uthash.h>

enum { SCRATCH_BYTES = LIMIT_SSE_EVENT_BYTES };

/* A connection that is being read. */
struct line {
    uint64_t id;
    size_t conn; /* into conns; SIZE_MAX: no request yet */
    struct recording_stream sent;
    uint64_t unasked; /* bytes while nothing was asked, since the latest request */
    size_t open;      /* requests without a whole response */
    VEC(size_t)
    last; /* exchanges whose after is not known: the latest with a response, and
             those that never got one */
    enum recording_after after; /* what ended it */
    int64_t after_ns;
    UT_hash_handle hh;
};

/* What is gathered for an exchange until it is done. */
struct gathered {
    struct loading *l;
    struct line *line;
    const struct dialect *dialect;
    bool asked; /* the request has been read */
    struct slice model;
    struct usage usage;
    struct buf document;
    bool too_long;
};

struct loading {
    struct recording *out;
    struct line *lines, *latest;
    struct buf scratch;
    size_t held;              /* bytes of documents */
    const char *const *paths; /* that at hand is the first; left of them */
    size_t left;
    struct reader *reader;     /* of that at hand */
    char sha256[65];           /* of the one before; "": there is none */
    struct rotation_part part; /* latest that a manifest has named */
    struct err *e;
};

const char *recording_flaw_text(enum recording_flaw flaw)
{
    switch (flaw) {
    case RECORDING_GAP:
        return "bytes of it were not captured";
    case RECORDING_NONE:
        return "none was seen";
    case RECORDING_TUNNEL:
        return "it turned the connection into a tunnel";
    case RECORDING_CUT:
        return "its end was not seen";
    case RECORDING_TOO_LONG:
        return "it is longer than what is kept of a body";
    case RECORDING_REDACTED:
        return "its text was overwritten by --redact bodies";
    case RECORDING_WHOLE:
        break;
    }
    return "whole";
}

/* --- connections ---------------------------------------------------------------------------- */

static struct line *line_of(struct loading *l, const struct tcp_conn *c)
{
    struct line *line = l->latest;
    if (line != NULL && line->id == c->id)
        return line;
    HASH_FIND(hh, l->lines, &c->id, sizeof c->id, line);
    if (line == NULL) {
        line = mem_zalloc(sizeof *line);
        line->id = c->id;
        line->conn = SIZE_MAX;
        HASH_ADD(hh, l->lines, id, sizeof line->id, line);
    }
    l->latest = line;
    return line;
}

/* May be kept: bytes whose request is known, and a few that came before (traces/early.h). */
static bool wanted(struct line *line, uint64_t n)
{
    line->unasked += line->open > 0 ? 0 : n;
    if (line->unasked <= LIMIT_EARLY_BYTES)
        return true;
    recording_stream_clear(&line->sent);
    return false;
}

static int on_data(void *ctx, const struct tcp_conn *c, enum pipeline_side from, struct span in)
{
    struct loading *l = ctx;
    if (from == PIPELINE_CLIENT)
        return TA_OK;
    struct line *line = line_of(l, c);
    return wanted(line, in.n) ? recording_stream_data(&line->sent, in, l->out->spool, l->e) : TA_OK;
}

static int on_gap(void *ctx, const struct tcp_conn *c, enum pipeline_side from, uint64_t n,
                  struct mark at)
{
    struct line *line = line_of(ctx, c);
    if (from == PIPELINE_SERVER && wanted(line, 1))
        recording_stream_gap(&line->sent, n, at);
    return TA_OK;
}

/* What came first is what ended it. */
static int on_end(void *ctx, const struct tcp_conn *c, enum pipeline_side from, enum end_kind why,
                  enum pipeline_side by, struct mark at)
{
    struct line *line = line_of(ctx, c);
    (void)from;
    if (line->after != RECORDING_KEPT || (why != END_FIN && why != END_RST))
        return TA_OK;
    line->after_ns = at.t_seen;
    if (by == PIPELINE_SERVER)
        line->after = why == END_FIN ? RECORDING_CLOSED : RECORDING_RESET;
    else
        line->after = why == END_FIN ? RECORDING_CLIENT_CLOSED : RECORDING_CLIENT_RESET;
    return TA_OK;
}

static void on_closed(void *ctx, const struct tcp_conn *c)
{
    struct loading *l = ctx;
    struct line *line = line_of(l, c);
    for (size_t i = 0; i < line->last.n && line->after != RECORDING_KEPT; i++) {
        struct recording_exchange *x = &l->out->exchanges.v[line->last.v[i]];
        x->after = line->after;
        x->after_ns = line->after_ns;
    }
    HASH_DEL(l->lines, line);
    l->latest = NULL;
    recording_stream_free(&line->sent);
    VEC_FREE(&line->last);
    free(line);
}

/* --- what a reply states -------------------------------------------------------------------- */

static int take_delta(void *ctx, const struct delta *d)
{
    struct gathered *g = ctx;
    if (d->kind != DELTA_USAGE)
        return TA_OK;
    if (d->usage.prompt >= 0)
        g->usage.prompt = d->usage.prompt;
    if (d->usage.completion >= 0 && d->sort != USAGE_START)
        g->usage.completion = d->usage.completion;
    return TA_OK;
}

/* The same text again, as it mostly is, takes no room. */
static struct slice keep(struct loading *l, struct slice text, struct slice before)
{
    if (text.p == NULL || (before.n == text.n && memcmp(before.p, text.p, text.n) == 0))
        return text.p == NULL ? text : before;
    return arena_slice(&l->out->texts, text);
}

static const struct recording_exchange *before(const struct loading *l)
{
    static const struct recording_exchange none = {.model = {"", 0}};
    return l->out->exchanges.n > 0 ? &l->out->exchanges.v[l->out->exchanges.n - 1] : &none;
}

static void read_request(struct gathered *g, const struct exchange *x)
{
    struct slice body = {(const char *)x->request_body.p, x->request_body.n};
    struct dialect_request asked = {.stream = -1, .max_tokens = -1, .choices = 1};
    struct arena a = {0};
    if (g->asked)
        return;
    g->asked = true;
    g->dialect = dialect_find(x->method, x->target, body);
    if (g->dialect != NULL && g->dialect->request(body, &a, &asked) && asked.model.p != NULL)
        g->model = keep(g->l, asked.model, before(g->l)->model);
    arena_free(&a);
}

static int on_request(void *ctx, struct exchange *x)
{
    struct loading *l = ctx;
    struct gathered *g = mem_zalloc(sizeof *g);
    g->l = l;
    g->line = line_of(l, x->conn);
    g->usage = (struct usage){-1, -1, -1, -1};
    buf_init(&g->document, LIMIT_DOCUMENT_BYTES);
    g->line->open++;
    g->line->unasked = 0;
    if (g->line->conn == SIZE_MAX) {
        g->line->conn = l->out->conns.n;
        int64_t t = x->conn->t_syn >= 0 ? x->conn->t_syn : x->request_first.t_seen;
        VEC_PUSH(&l->out->conns, ((struct recording_conn){x->conn->client, x->conn->server, t}));
    }
    x->user = g;
    return TA_OK;
}

/* tokaudit's own simulated servers say so: "tokaudit-serve/0.1.0 (simulated; profile=ideal)". */
static void read_server(struct recording *r, const struct exchange *x)
{
    static const char start[] = "tokaudit-serve/", mark[] = " (simulated; profile=";
    struct slice v = exchange_response_field(x, "server");
    if (v.n < sizeof start - 1 || memcmp(v.p, start, sizeof start - 1) != 0)
        return;
    for (size_t i = sizeof start - 1; i + sizeof mark - 1 < v.n; i++) {
        if (memcmp(v.p + i, mark, sizeof mark - 1) == 0) {
            struct slice name = {v.p + i + sizeof mark - 1, v.n - i - sizeof mark};
            r->simulated = arena_text(&r->texts, name);
            return;
        }
    }
}

static int on_response(void *ctx, struct exchange *x)
{
    struct loading *l = ctx;
    read_request(x->user, x);
    if (l->out->simulated == NULL)
        read_server(l->out, x);
    return TA_OK;
}

static int on_event(void *ctx, struct exchange *x, const struct event *ev)
{
    struct loading *l = ctx;
    struct gathered *g = x->user;
    if (g->dialect == NULL || ev->kind != EVENT_DATA)
        return TA_OK;
    return g->dialect->event(ev, &l->scratch, (struct delta_sink){g, take_delta});
}

static void drop_document(struct gathered *g)
{
    g->l->held -= g->document.n;
    buf_done(&g->document);
}

static int on_body(void *ctx, struct exchange *x, struct span in)
{
    struct loading *l = ctx;
    struct gathered *g = x->user;
    if (g->dialect == NULL || g->too_long)
        return TA_OK;
    if (l->held + in.n <= LIMIT_REQUEST_BODIES_BYTES &&
        buf_add(&g->document, in.p, in.n) == TA_OK) {
        l->held += in.n;
        return TA_OK;
    }
    g->too_long = true;
    drop_document(g);
    return TA_OK;
}

static int read_document(struct gathered *g, const struct exchange *x)
{
    if (g->document.n == 0 || !x->response_complete || x->damaged)
        return TA_OK;
    return g->dialect->document((struct slice){(const char *)g->document.p, g->document.n},
                                &g->l->scratch, (struct delta_sink){g, take_delta});
}

/* --- exchanges ------------------------------------------------------------------------------ */

static enum recording_flaw request_flaw(const struct exchange *x)
{
    if (!x->request_complete)
        return x->damaged ? RECORDING_GAP : RECORDING_CUT;
    if (x->request_body_sha256[0] == '\0')
        return RECORDING_GAP;
    return x->request_body.n < x->request_body_bytes ? RECORDING_TOO_LONG : RECORDING_WHOLE;
}

static void keep_fields(struct loading *l, const struct exchange *x, struct recording_exchange *out)
{
    const struct recording_exchange *had = before(l);
    struct http_field *fields = arena_alloc(&l->out->texts, x->n_request_fields * sizeof *fields);
    for (size_t i = 0; i < x->n_request_fields; i++) {
        static const struct http_field none = {{"", 0}, {"", 0}};
        const struct http_field *old = i < had->n_fields ? &had->fields[i] : &none;
        fields[i].name = keep(l, x->request_fields[i].name, old->name);
        fields[i].value = keep(l, x->request_fields[i].value, old->value);
    }
    out->fields = fields;
    out->n_fields = x->n_request_fields;
}

static int keep_request(struct loading *l, const struct exchange *x, struct recording_exchange *out)
{
    const struct recording_exchange *had = before(l);
    out->method = keep(l, x->method, had->method);
    out->target = keep(l, x->target, had->target);
    keep_fields(l, x, out);
    memcpy(out->body_sha256, x->request_body_sha256, sizeof out->body_sha256);
    out->request_flaw = request_flaw(x);
    out->request_first_ns = x->request_first.t_seen;
    out->request_last_ns = x->request_last.t_ready;
    return spool_add(l->out->spool,
                     (struct slice){(const char *)x->request_body.p, x->request_body.n}, &out->body,
                     l->e);
}

/* Does the response say, or its version mean, that it is the connection's last (RFC 9112, 9.3)? */
static bool says_close(const struct exchange *x)
{
    struct slice v = exchange_response_field(x, "connection");
    return x->simple || x->framing == HTTP_UNTIL_CLOSE || (v.p != NULL && text_same(v, "close"));
}

static int keep_response(struct loading *l, struct line *line, const struct exchange *x,
                         struct recording_exchange *out)
{
    struct recording_cut cut = {x->response_first.off, UINT64_MAX, out->request_last_ns};
    bool gap = false;
    out->status = x->simple ? 0 : x->status;
    if (x->status == 0) {
        out->response_flaw =
            x->damaged && out->request_flaw != RECORDING_GAP ? RECORDING_GAP : RECORDING_NONE;
        return TA_OK;
    }
    out->framing = x->framing;
    out->close_said = says_close(x);
    if (x->framing == HTTP_TUNNEL)
        cut.to = x->response_head_last.off + 1;
    else if (x->response_complete || x->end == END_GAP)
        cut.to = x->response_last.off + 1;
    int rc = recording_stream_take(&line->sent, &cut, l->out->spool, out, &gap, l->e);
    if (gap || (x->damaged && out->request_flaw != RECORDING_GAP))
        out->response_flaw = RECORDING_GAP;
    else if (x->framing == HTTP_TUNNEL)
        out->response_flaw = RECORDING_TUNNEL;
    else if (!x->response_complete)
        out->response_flaw = RECORDING_CUT;
    return rc;
}

static int keep_exchange(struct loading *l, struct gathered *g, const struct exchange *x)
{
    struct recording_exchange out = {.id = x->id,
                                     .conn = g->line->conn,
                                     .nth = x->nth,
                                     .frame = x->request_first.pkt,
                                     .end_ns = x->t_end,
                                     .after_ns = x->t_end,
                                     .model = g->model,
                                     .prompt_tokens = g->usage.prompt,
                                     .completion_tokens = g->usage.completion};
    if (l->out->exchanges.n >= LIMIT_REQUESTS)
        return err_set(l->e, TA_ELIMIT, "the trace holds more than %u requests", LIMIT_REQUESTS);
    int rc = keep_request(l, x, &out);
    if (rc == TA_OK)
        rc = keep_response(l, g->line, x, &out);
    if (rc != TA_OK)
        return rc;
    if (x->status > 0)
        g->line->last.n = 0;
    VEC_PUSH(&g->line->last, l->out->exchanges.n);
    VEC_PUSH(&l->out->exchanges, out);
    return TA_OK;
}

static int on_done(void *ctx, struct exchange *x)
{
    struct loading *l = ctx;
    struct gathered *g = x->user;
    read_request(g, x);
    int rc = read_document(g, x);
    g->line->open--;
    if (rc == TA_OK && l->e->code == TA_OK)
        rc = keep_exchange(l, g, x);
    drop_document(g);
    free(g);
    return rc;
}

/* --- the trace ------------------------------------------------------------------------------ */

static const char *text_of(struct recording *r, const struct json *manifest, const char *name)
{
    const char *text = json_string(manifest, name);
    return text == NULL || *text == '\0' ? NULL : arena_text(&r->texts, slice_of(text));
}

/* Files behind the first must go on where the one before ended. */
static int take_part(struct loading *l, const struct json *v)
{
    struct rotation_part part;
    rotation_read(v, &part);
    bool follows = part.seq == l->part.seq + 1 && strcmp(part.sha256, l->sha256) == 0;
    l->part = part;
    if (l->sha256[0] == '\0' || follows)
        return TA_OK;
    return err_set(l->e, TA_EFORMAT,
                   "%s is not the part of a rotation that follows %s; expected one trace, or the "
                   "parts of one in their order",
                   l->paths[0], l->paths[-1]);
}

static void take_manifest(struct recording *r, const struct json *v)
{
    r->host = text_of(r, v, "host");
    r->label = text_of(r, v, "label");
    r->simulated = text_of(r, v, "simulated");
    r->vantage = text_of(r, v, "vantage");
    r->redacted = text_of(r, v, "redacted");
}

static void take_ledger(struct recording *r, const struct json *v)
{
    for (const struct json *l = json_first(json_get(v, "entries")); l != NULL; l = json_next(l)) {
        struct ledger_entry entry;
        if (ledger_read(l, &r->texts, &entry))
            VEC_PUSH(&r->ledger, entry);
    }
}

static int on_custom(void *ctx, const struct rec *rec)
{
    struct loading *l = ctx;
    bool manifest = custom_is(rec->json, "manifest");
    if (!manifest && !custom_is(rec->json, "ledger"))
        return TA_OK;
    struct json *v = json_parse(rec->json.p, rec->json.n, NULL);
    int rc = TA_OK;
    if (!manifest)
        take_ledger(l->out, v);
    else if ((rc = take_part(l, v)) == TA_OK)
        take_manifest(l->out, v);
    json_free(v);
    return rc;
}

/* The file at hand has been read. */
static void end_file(struct loading *l)
{
    const struct reader_health *h = reader_health(l->reader);
    if (h->note[0] != '\0' && !l->out->truncated) {
        l->out->truncated = true;
        memcpy(l->out->note, h->note, sizeof l->out->note);
    }
    memcpy(l->sha256, h->sha256, sizeof l->sha256);
    reader_close(l->reader);
    l->reader = NULL;
}

static struct reader *next_file(void *ctx, uint64_t frames)
{
    struct loading *l = ctx;
    (void)frames;
    end_file(l);
    if (l->left == 0)
        return NULL;
    l->left--;
    l->paths++;
    return reader_open(&l->reader, l->paths[0], l->e) == TA_OK ? l->reader : NULL;
}

static int by_id(const void *a, const void *b)
{
    const struct recording_exchange *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static void flaw_if_whole(enum recording_flaw *flaw, enum recording_flaw to)
{
    if (*flaw == RECORDING_WHOLE)
        *flaw = to;
}

static void conclude(struct recording *r, const struct pipeline_totals *t)
{
    if (r->exchanges.n > 0)
        qsort(r->exchanges.v, r->exchanges.n, sizeof *r->exchanges.v, by_id);
    r->first_ns = t->first_t_ns;
    r->last_ns = t->last_t_ns;
    r->packets = t->packets;
    r->opaque_conns = t->tls_connections + t->http2_connections;
    if (r->redacted == NULL || strcmp(r->redacted, "bodies") != 0)
        return;
    for (size_t i = 0; i < r->exchanges.n; i++) {
        struct recording_exchange *x = &r->exchanges.v[i];
        if (x->body.n > 0)
            flaw_if_whole(&x->request_flaw, RECORDING_REDACTED);
        flaw_if_whole(&x->response_flaw, RECORDING_REDACTED);
    }
}

int recording_read_parts(struct recording *out, const char *const *paths, size_t n, struct err *e)
{
    static const struct pipeline_tap tap = {on_data, on_gap, on_end, on_closed};
    struct pipeline_totals totals;
    struct loading l = {.out = out, .paths = paths, .left = n - 1, .e = e};
    *out = (struct recording){.spool = spool_new()};
    e->code = TA_OK;
    int rc = reader_open(&l.reader, paths[0], e);
    if (rc != TA_OK)
        return rc;
    buf_init(&l.scratch, SCRATCH_BYTES);
    struct pipeline_sink sink = {
        .exchange = {&l, on_request, on_response, on_event, on_body, on_done, NULL},
        .custom = on_custom,
        .tap = &tap,
        .next = next_file,
    };
    rc = pipeline_run(l.reader, sink, &totals, e);
    if (rc == TA_OK)
        rc = e->code; /* a part that could not be opened */
    conclude(out, &totals);
    if (l.reader != NULL)
        end_file(&l);
    buf_done(&l.scratch);
    return rc;
}

int recording_read(struct recording *out, const char *path, struct err *e)
{
    return recording_read_parts(out, &path, 1, e);
}

void recording_free(struct recording *r)
{
    VEC_FREE(&r->exchanges);
    VEC_FREE(&r->conns);
    VEC_FREE(&r->ledger);
    arena_free(&r->texts);
    spool_free(r->spool);
    r->spool = NULL;
}
