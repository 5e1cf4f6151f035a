/* The body of a response: Transfer- and Content-Encoding off (RFC 9110, 8.4; RFC 9112, 7), then by
 * its Content-Type a stream of events or a document. */
#include "traces/body.h"

#include <stdlib.h>
#include <string.h>

#include "traces/base/err.h"
#include "traces/base/mem.h"
#include "traces/base/text.h"
#include "traces/inflate.h"
#include "traces/limits.h"
#include "traces/ndjson.h"
#include "traces/shape.h"
#include "traces/sse.h"

enum kind {
    OPAQUE,
    UNTOLD, /* held until its first bytes tell */
    DOCUMENT,
    EVENTS,
    LINES
};

struct body {
    enum kind kind;
    enum shape_kind said; /* by Content-Type */
    struct body_sink out;
    struct anomaly_sink bad;
    struct inflate *codings[LIMIT_HTTP_CODINGS]; /* in the order in which they were applied */
    unsigned n_codings;
    struct byte_sink in;
    bool coded;
    struct shape shape;
    bool sniffed;
    struct sse *sse;
    struct ndjson *ndjson;
    uint64_t decoded;
};

/* --- decoded bytes -------------------------------------------------------------------------- */

static int stream_event(void *ctx, const struct event *ev)
{
    struct body *b = ctx;
    return b->out.event != NULL ? b->out.event(b->out.ctx, ev) : TA_OK;
}

static int document_data(void *ctx, struct span in)
{
    struct body *b = ctx;
    return b->out.data != NULL ? b->out.data(b->out.ctx, in) : TA_OK;
}

/* Where the bytes go, now that it is known what they are. */
static struct byte_sink reader(struct body *b)
{
    switch (b->kind) {
    case EVENTS:
        return sse_input(b->sse);
    case LINES:
        return ndjson_input(b->ndjson);
    case DOCUMENT:
        return (struct byte_sink){b, document_data, NULL, NULL};
    case OPAQUE:
    case UNTOLD:
        break;
    }
    return (struct byte_sink){0};
}

static void become(struct body *b, enum kind kind)
{
    struct event_sink events = {b, stream_event, NULL};
    b->kind = kind;
    if (kind == EVENTS)
        b->sse = sse_new(events, b->bad);
    if (kind == LINES)
        b->ndjson = ndjson_new(events, b->bad);
}

static int settle(struct body *b, enum shape_kind kind)
{
    static const enum kind kinds[] = {
        [SHAPE_DOCUMENT] = DOCUMENT, [SHAPE_EVENTS] = EVENTS, [SHAPE_LINES] = LINES};
    b->sniffed = kind != b->said;
    become(b, kinds[kind]);
    return shape_release(&b->shape, reader(b));
}

static int text_data(void *ctx, struct span in)
{
    struct body *b = ctx;
    b->decoded += in.n;
    if (b->kind == UNTOLD) {
        enum shape_kind kind = shape_take(&b->shape, &in);
        int rc = kind != SHAPE_UNTOLD ? settle(b, kind) : TA_OK;
        if (rc != TA_OK || in.n == 0)
            return rc;
    }
    struct byte_sink to = reader(b);
    return to.data(to.ctx, in);
}

static int text_gap(void *ctx, uint64_t n, struct mark at)
{
    struct body *b = ctx;
    int rc = b->kind == UNTOLD ? settle(b, shape_gap(&b->shape)) : TA_OK;
    struct byte_sink to = reader(b);
    return rc == TA_OK && to.gap != NULL ? to.gap(to.ctx, n, at) : rc;
}

static int text_end(void *ctx, enum end_kind why, struct mark at)
{
    struct body *b = ctx;
    int rc = b->kind == UNTOLD ? settle(b, shape_end(&b->shape)) : TA_OK;
    struct byte_sink to = reader(b);
    return rc == TA_OK && to.end != NULL ? to.end(to.ctx, why, at) : rc;
}

/* --- what the head says --------------------------------------------------------------------- */

static struct slice trim(struct slice s)
{
    while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t')) {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

/* The text before the first c, and *rest behind it. */
static struct slice before(struct slice s, char c, struct slice *rest)
{
    const char *at = s.n > 0 ? memchr(s.p, c, s.n) : NULL;
    size_t n = at != NULL ? (size_t)(at - s.p) : s.n;
    size_t used = at != NULL ? n + 1 : n;
    *rest = (struct slice){s.n > 0 ? s.p + used : s.p, s.n - used};
    return trim((struct slice){s.p, n});
}

/* Codings that exist (IANA's registry) and are not read here. */
static bool is_unread(struct slice name)
{
    static const char *const names[] = {"br",  "zstd", "compress",     "x-compress", "dcb",
                                        "dcz", "exi",  "pack200-gzip", "aes128gcm"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (text_same(name, names[i]))
            return true;
    return false;
}

/* Adds a coding that the sender applied after those before it. False: it cannot be undone. What is
 * no coding ("none", "utf-8": servers do say so, to keep proxies from compressing) changes nothing.
 */
static bool add_coding(struct body *b, const struct http_head *h, struct slice name)
{
    enum inflate_format format;
    if (name.n == 0 || text_same(name, "identity") || text_same(name, "chunked"))
        return true;
    bool known = inflate_named(name, &format);
    if (!known && !is_unread(name)) {
        anomaly_note(b->bad, "coding.unknown", h->first, 0);
        return true;
    }
    b->coded = true;
    if (!known || b->n_codings == LIMIT_HTTP_CODINGS)
        return false;
    struct inflate *z = inflate_new(format, b->in, b->bad);
    b->codings[b->n_codings++] = z;
    b->in = inflate_input(z);
    return true;
}

static bool add_codings(struct body *b, const struct http_head *h, const char *field)
{
    bool known = true;
    for (size_t i = 0; i < h->n_fields; i++) {
        struct slice list = h->fields[i].value;
        while (text_same(h->fields[i].name, field) && list.n > 0)
            known &= add_coding(b, h, before(list, ',', &list));
    }
    return known;
}

static bool contains(struct slice s, const char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i + n <= s.n; i++)
        if (text_same((struct slice){s.p + i, n}, text))
            return true;
    return false;
}

/* What the type says; *told: the body need not be looked at. Text of any kind may be a stream: some
 * servers have one type for all they send. */
static enum shape_kind said_by(struct slice content_type, bool *told)
{
    static const char *const lines[] = {"application/x-ndjson", "application/ndjson",
                                        "application/jsonl", "application/jsonlines",
                                        "application/x-jsonlines"};
    struct slice parameters, type = before(content_type, ';', &parameters);
    *told = false;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (text_same(type, lines[i]))
            return SHAPE_LINES;
    if (text_same(type, "text/event-stream"))
        return SHAPE_EVENTS;
    *told = type.n > 0 && !contains(type, "text/") && !contains(type, "json") &&
            !text_same(type, "application/octet-stream");
    return SHAPE_DOCUMENT;
}

struct body *body_new(const struct http_head *h, bool blanked, struct body_sink out,
                      struct anomaly_sink bad)
{
    struct body *b = mem_zalloc(sizeof *b);
    b->out = out;
    b->bad = bad;
    b->in = (struct byte_sink){b, text_data, text_gap, text_end};
    bool told;
    b->said = said_by(http_field(h, "content-type"), &told);
    shape_init(&b->shape, b->said);
    become(b, told ? DOCUMENT : UNTOLD);
    bool known = add_codings(b, h, "content-encoding");
    known &= add_codings(b, h, "transfer-encoding");
    if (!known && !blanked)
        anomaly_note(bad, "http.content-encoding", h->first, 0);
    if (!known || (blanked && b->coded)) {
        b->kind = OPAQUE;
        b->in = (struct byte_sink){0};
    }
    return b;
}

struct byte_sink body_input(struct body *b)
{
    return b->in;
}

enum stream_kind body_stream(const struct body *b)
{
    bool untold = b->kind == UNTOLD || b->kind == OPAQUE;
    if (b->sse != NULL || (untold && b->said == SHAPE_EVENTS))
        return STREAM_SSE;
    if (b->ndjson != NULL || (untold && b->said == SHAPE_LINES))
        return STREAM_NDJSON;
    return STREAM_NONE;
}

bool body_sniffed(const struct body *b)
{
    return b->sniffed;
}

bool body_coded(const struct body *b)
{
    return b->coded;
}

bool body_opaque(const struct body *b)
{
    return b->kind == OPAQUE;
}

uint64_t body_decoded_bytes(const struct body *b)
{
    return b->decoded;
}

void body_free(struct body *b)
{
    if (b == NULL)
        return;
    shape_done(&b->shape);
    for (unsigned i = 0; i < b->n_codings; i++)
        inflate_free(b->codings[i]);
    sse_free(b->sse);
    ndjson_free(b->ndjson);
    free(b);
}
