/* Fuzzes traces/dialects: the first byte chooses event, document, request or writing, the event's
 * type and where the sink says stop, the second the dialect; the rest is the body. A body gives at
 * least one delta, texts are not empty and lie in memory that lives, and what is written is read
 * back. */
#include <stdlib.h>
#include <string.h>

#include "traces/base/text.h"
#include "traces/dialects/dialect.h"
#include "traces/ndjson.h"
#include "traces/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    const struct dialect *d;
    size_t n, stop_at; /* stop at that delta, from 1; 0: never */
    size_t texts, errors, finishes;
    enum delta_kind last;
    struct buf text; /* of all DELTA_TEXT */
    struct buf scratch;
    unsigned sum;
};

static int on_delta(void *ctx, const struct delta *d)
{
    struct seen *s = ctx;
    s->n++;
    s->last = d->kind;
    if (s->stop_at > 0 && s->n > s->stop_at)
        abort(); /* it goes on behind a stop */
    if (d->kind >= DELTA_TEXT && d->kind <= DELTA_REFUSAL && d->text.n == 0)
        abort();
    if ((d->kind == DELTA_TOKENS) != (d->tokens > 0))
        abort();
    for (size_t i = 0; i < d->text.n; i++)
        s->sum += (unsigned char)d->text.p[i];
    if (d->kind == DELTA_TEXT) {
        s->texts++;
        if (d->so_far)
            buf_clear(&s->text);
        buf_put(&s->text, d->text.p, d->text.n);
    }
    s->errors += d->kind == DELTA_ERROR;
    s->finishes += d->kind == DELTA_FINISH;
    if (d->kind == DELTA_USAGE && d->usage.prompt < 0 && d->usage.completion < 0 &&
        d->usage.cached < 0 && d->usage.reasoning < 0)
        abort();
    return s->n == s->stop_at ? TA_STOP : TA_OK;
}

static void fuzz_reply(const struct dialect *d, unsigned how, struct slice body)
{
    static const char *const types[] = {"",
                                        "message",
                                        "ping",
                                        "error",
                                        "message_start",
                                        "content_block_delta",
                                        "response.output_text.delta",
                                        "response.completed"};
    struct seen s = {.stop_at = how >> 4 & 3};
    buf_init(&s.scratch, how & 64 ? 16 : 1u << 24);
    buf_init(&s.text, 1u << 24);
    struct delta_sink sink = {&s, on_delta};
    struct event ev = {.kind = EVENT_DATA,
                       .type = slice_of(types[(how >> 2 & 3) | (how >> 7) << 2]),
                       .data = body};
    int rc = how & 1 ? d->document(body, &s.scratch, sink) : d->event(&ev, &s.scratch, sink);
    if (s.n == 0 || rc != (s.stop_at > 0 && s.n == s.stop_at ? TA_STOP : TA_OK))
        abort();
    int sure = d->recognises(body);
    if (sure < 0 || sure > 100 || (sure > 0 && dialect_guess(body) == NULL))
        abort();
    buf_done(&s.scratch);
    buf_done(&s.text);
}

static void fuzz_request(const struct dialect *d, unsigned how, struct slice body)
{
    static const char *const targets[] = {"/", "/v1/messages", "/x/chat/completions/?a=b"};
    struct slice target = how & 4 ? (struct slice){body.p, body.n < 32 ? body.n : 32}
                                  : slice_of((how >> 3 & 3) < 3 ? targets[how >> 3 & 3] : d->path);
    struct slice method = slice_of("POST");
    struct arena a = {0};
    struct dialect_request out;
    const struct dialect *found = dialect_find(method, target, body);
    int claim = d->claims(method, target, body);
    if (claim < 0 || claim > 100 || (claim > 0 && found == NULL))
        abort();
    d->request(body, &a, &out);
    if (out.stream < -1 || out.stream > 1 || out.prompt_words < 0 || out.last_message.n > body.n)
        abort();
    arena_free(&a);
}

static bool is_utf8(struct slice s)
{
    for (size_t i = 0; i < s.n;) {
        uint32_t cp;
        size_t used = utf8_next((const uint8_t *)s.p + i, s.n - i, &cp);
        if (cp == 0xFFFD && used == 1)
            return false;
        i += used;
    }
    return true;
}

static void check_text(const struct seen *s, struct slice text)
{
    if (is_utf8(text) &&
        (s->text.n != text.n || (text.n > 0 && memcmp(s->text.p, text.p, text.n) != 0)))
        abort();
}

static int on_event(void *ctx, const struct event *ev)
{
    struct seen *s = ctx;
    if (ev->kind == EVENT_TRUNCATED)
        abort();
    return ev->kind == EVENT_COMMENT
               ? TA_OK
               : s->d->event(ev, &s->scratch, (struct delta_sink){s, on_delta});
}

static void on_anomaly(void *ctx, const struct anomaly *a)
{
    (void)ctx;
    (void)a;
    abort();
}

static void read_stream(struct seen *s, const struct buf *out)
{
    struct span span = {out->p, out->n, {0}};
    struct event_sink events = {s, on_event, NULL};
    struct anomaly_sink bad = {s, on_anomaly};
    struct sse *sse = NULL;
    struct ndjson *lines = NULL;
    struct byte_sink in;
    if (strcmp(s->d->stream_type, "application/x-ndjson") == 0)
        in = ndjson_input(lines = ndjson_new(events, bad));
    else
        in = sse_input(sse = sse_new(events, bad));
    if (in.data(in.ctx, span) != TA_OK || in.end(in.ctx, END_FIN, span.at) != TA_OK)
        abort();
    if (sse != NULL)
        sse_free(sse);
    if (lines != NULL)
        ndjson_free(lines);
}

/* A stream of the text in pieces of up to 7 bytes, and the document. */
static void fuzz_written(const struct dialect *d, struct slice text)
{
    struct dialect_reply reply = {
        .id = "i", .model = "m", .fingerprint = "f", .usage = {3, 5, -1, -1}, .finish = "stop"};
    struct dialect_part whole = {DELTA_TEXT, text};
    struct dialect_writing w;
    struct seen s = {.d = d};
    struct buf out;
    buf_init(&out, 1u << 26);
    buf_init(&s.scratch, 1u << 24);
    buf_init(&s.text, 1u << 24);
    d->put_document(&out, &reply, &whole, text.n > 0);
    if (d->document((struct slice){(const char *)out.p, out.n}, &s.scratch,
                    (struct delta_sink){&s, on_delta}) != TA_OK ||
        s.texts != (text.n > 0) || s.errors > 0 || s.finishes != 1)
        abort();
    check_text(&s, text);
    buf_clear(&out);
    buf_clear(&s.text);
    s.finishes = 0;
    d->put_begin(&out, &reply, &w);
    for (size_t at = 0, n; is_utf8(text) && at < text.n && text.n < 4096; at += n) {
        uint32_t cp;
        n = utf8_next((const uint8_t *)text.p + at, text.n - at, &cp);
        d->put_piece(&out, &reply, &w, (struct dialect_part){DELTA_TEXT, {text.p + at, n}});
    }
    d->put_finish(&out, &reply, &w);
    if (d->put_done != NULL)
        d->put_done(&out, &reply, &w);
    dialect_writing_done(&w);
    read_stream(&s, &out);
    if (s.finishes != 1 || s.errors > 0)
        abort();
    if (text.n < 4096)
        check_text(&s, text);
    buf_done(&out);
    buf_done(&s.scratch);
    buf_done(&s.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t dialects = 0;
    while (dialect_all[dialects] != NULL)
        dialects++;
    if (size < 3)
        return 0;
    unsigned how = data[0];
    const struct dialect *d = dialect_all[data[1] % dialects];
    struct slice body = {(const char *)data + 2, size - 2};
    if ((how & 3) < 2)
        fuzz_reply(d, how, body);
    else if ((how & 3) == 2)
        fuzz_request(d, how, body);
    else
        fuzz_written(d, body);
    return 0;
}
