/* Fuzzes traces/dialects: the first byte chooses event, document or request, the event's type and
 * where the sink says stop; the rest is the body. A body gives at least one delta, texts are not
 * empty and lie in memory that lives, and what put_text writes is read back. */
#include <stdlib.h>
#include <string.h>

#include "traces/base/text.h"
#include "traces/dialects/dialect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    size_t n, stop_at; /* stop at that delta, from 1; 0: never */
    size_t texts;
    enum delta_kind last;
    struct buf text; /* of all DELTA_TEXT */
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
    for (size_t i = 0; i < d->text.n; i++)
        s->sum += (unsigned char)d->text.p[i];
    if (d->kind == DELTA_TEXT) {
        s->texts++;
        buf_put(&s->text, d->text.p, d->text.n);
    }
    if (d->kind == DELTA_USAGE && d->usage.prompt < 0 && d->usage.completion < 0 &&
        d->usage.cached < 0 && d->usage.reasoning < 0)
        abort();
    return s->n == s->stop_at ? TA_STOP : TA_OK;
}

static void fuzz_reply(const struct dialect *d, unsigned how, struct slice body)
{
    static const char *const types[] = {"", "message", "ping", "error"};
    struct seen s = {.stop_at = how >> 4 & 3};
    struct buf scratch;
    buf_init(&scratch, how & 64 ? 16 : 1u << 24);
    buf_init(&s.text, 1u << 24);
    struct delta_sink sink = {&s, on_delta};
    struct event ev = {.kind = EVENT_DATA, .type = slice_of(types[how >> 2 & 3]), .data = body};
    int rc = how & 1 ? d->document(body, &scratch, sink) : d->event(&ev, &scratch, sink);
    if (s.n == 0 || rc != (s.stop_at > 0 && s.n == s.stop_at ? TA_STOP : TA_OK))
        abort();
    buf_done(&scratch);
    buf_done(&s.text);
}

static void fuzz_request(unsigned how, struct slice body)
{
    static const char *const targets[] = {"/v1/chat/completions", "/", "/v1/messages",
                                          "/x/chat/completions/?a=b"};
    struct slice target = how & 4 ? (struct slice){body.p, body.n < 32 ? body.n : 32}
                                  : slice_of(targets[how >> 3 & 3]);
    struct slice method = slice_of("POST");
    struct arena a = {0};
    struct dialect_request out;
    const struct dialect *d = dialect_find(method, target, body);
    int claim = dialect_openai_chat.claims(method, target, body);
    if (claim < 0 || claim > 100 || (claim > 0 && d == NULL))
        abort();
    dialect_openai_chat.request(body, &a, &out);
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

/* A text that serve writes is the text that analyze reads. */
static void fuzz_written(const struct dialect *d, struct slice text)
{
    struct dialect_reply reply = {.id = "i", .model = "m", .fingerprint = "f", .finish = "stop"};
    struct seen s = {0};
    struct buf out, scratch;
    buf_init(&out, 1u << 24);
    buf_init(&scratch, 1u << 24);
    buf_init(&s.text, 1u << 24);
    d->put_document(&out, &reply, text);
    if (d->document((struct slice){(const char *)out.p, out.n}, &scratch,
                    (struct delta_sink){&s, on_delta}) != TA_OK ||
        s.texts != (text.n > 0))
        abort();
    if (is_utf8(text) && (s.text.n != text.n || memcmp(s.text.p, text.p, text.n) != 0))
        abort();
    buf_done(&out);
    buf_done(&scratch);
    buf_done(&s.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    unsigned how = data[0];
    struct slice body = {(const char *)data + 1, size - 1};
    if ((how & 3) < 2)
        fuzz_reply(&dialect_openai_chat, how, body);
    else if ((how & 3) == 2)
        fuzz_request(how, body);
    else
        fuzz_written(&dialect_openai_chat, body);
    return 0;
}
