/* OpenAI chat completions, requests read in one pass over the body, whatever its size.
 * Source: the API reference of chat completions. */
#include <string.h>

#include "traces/base/jscan.h"
#include "traces/dialects/openai_chat.h"

enum {
    CLAIM_SHAPE = 30, /* a body with messages, at a path of no known API */
    CLAIM_PATH = 90,
    CLAIM_BOTH = 100,
    SHOWN_BYTES = 200, /* of the last message */
    SHOWN_RAW = 1300   /* bytes of JSON string that hold at least as many: six for one in \u0041 */
};

static bool ends_in(struct slice s, const char *tail)
{
    size_t n = strlen(tail);
    return s.n >= n && memcmp(s.p + s.n - n, tail, n) == 0;
}

static struct slice path_of(struct slice target)
{
    for (size_t i = 0; i < target.n; i++) {
        if (target.p[i] == '?' || target.p[i] == '#')
            target.n = i;
    }
    if (target.n > 1 && target.p[target.n - 1] == '/')
        target.n--;
    return target;
}

static bool has_messages(struct slice body)
{
    struct jscan s = jscan_over(body);
    struct slice key;
    if (body.n == 0 || jscan_next(&s) != JT_OBJECT)
        return false;
    while (jscan_member(&s, &key)) {
        if (slice_is(key, "messages"))
            return jscan_next(&s) == JT_ARRAY;
        jscan_skip(&s);
    }
    return false;
}

int openai_chat_claims(struct slice method, struct slice target, struct slice body)
{
    /* Anthropic's and Ollama's bodies have messages too. */
    static const char *const others[] = {"/messages", "/count_tokens", "/api/chat", "/responses"};
    if (!slice_is(method, "POST"))
        return 0;
    struct slice path = path_of(target);
    if (ends_in(path, "/chat/completions"))
        return has_messages(body) ? CLAIM_BOTH : CLAIM_PATH;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (ends_in(path, others[i]))
            return 0;
    }
    return has_messages(body) ? CLAIM_SHAPE : 0;
}

/* The blank that stands at p, escaped or not: its length, or 0. */
static size_t blank_at(const char *p, const char *end)
{
    if (*p == ' ')
        return 1;
    if (*p != '\\' || end - p < 2)
        return 0;
    if (p[1] == 'n' || p[1] == 'r' || p[1] == 't')
        return 2;
    return end - p >= 6 && memcmp(p, "\\u0020", 6) == 0 ? 6 : 0;
}

static int64_t words_of(struct slice raw)
{
    const char *p = raw.p, *end = raw.p + raw.n;
    int64_t words = 0;
    bool inside = false;
    while (p < end) {
        size_t blank = blank_at(p, end);
        words += blank == 0 && !inside;
        inside = blank == 0;
        p += blank > 0 ? blank : *p == '\\' ? 2 : 1;
    }
    return words;
}

/* Adds the start of the scanner's string to what is shown of the message. */
static void show(struct buf *shown, struct jscan s)
{
    const char *p = s.text.p, *end = s.text.p + s.text.n;
    while (p < end && p - s.text.p < SHOWN_RAW)
        p += *p != '\\' ? 1 : p[1] == 'u' ? 6 : 2;
    s.text.n = (size_t)(p - s.text.p);
    if (shown->n > 0 && shown->n < SHOWN_BYTES)
        buf_puts(shown, " ");
    if (shown->n < SHOWN_BYTES && jscan_unescape(&s, shown) != TA_OK)
        buf_clear(shown);
}

static void cut_shown(struct buf *shown)
{
    if (shown->n <= SHOWN_BYTES)
        return;
    size_t n = SHOWN_BYTES;
    while (n > SHOWN_BYTES - 4 && (shown->p[n] & 0xC0) == 0x80)
        n--;
    shown->n = n;
}

struct messages {
    int64_t words;     /* of all of them */
    struct buf *shown; /* text of the last one */
};

static void take_string(struct messages *m, const struct jscan *s)
{
    m->words += words_of(s->text);
    show(m->shown, *s);
}

/* A string, or an array of parts of which those with a text count. */
static void take_content(struct messages *m, struct jscan *s)
{
    struct slice key;
    if (jscan_next(s) == JT_STRING)
        take_string(m, s);
    if (s->last != JT_ARRAY) {
        jscan_finish(s);
        return;
    }
    while (jscan_element(s)) {
        if (s->last == JT_STRING)
            take_string(m, s);
        if (s->last != JT_OBJECT) {
            jscan_finish(s);
            continue;
        }
        while (jscan_member(s, &key)) {
            jscan_next(s);
            if (slice_is(key, "text") && s->last == JT_STRING)
                take_string(m, s);
            jscan_finish(s);
        }
    }
}

static void take_messages(struct messages *m, struct jscan *s)
{
    struct slice key;
    if (jscan_next(s) != JT_ARRAY) {
        jscan_finish(s);
        return;
    }
    while (jscan_element(s)) {
        if (s->last != JT_OBJECT) {
            jscan_finish(s);
            continue;
        }
        buf_clear(m->shown);
        while (jscan_member(s, &key)) {
            if (slice_is(key, "content"))
                take_content(m, s);
            else
                jscan_skip(s);
        }
    }
}

static void take_stream_options(struct jscan *s, struct dialect_request *out)
{
    struct slice key;
    if (jscan_next(s) != JT_OBJECT) {
        jscan_finish(s);
        return;
    }
    while (jscan_member(s, &key)) {
        jscan_next(s);
        if (slice_is(key, "include_usage"))
            out->usage_asked = s->last == JT_TRUE;
        jscan_finish(s);
    }
}

static void take_scalar(struct jscan *s, struct slice key, struct arena *a, int64_t *newer_limit,
                        struct dialect_request *out)
{
    jscan_next(s);
    if (slice_is(key, "model") && s->last == JT_STRING) {
        struct buf text;
        buf_init(&text, s->text.n + 1);
        if (jscan_unescape(s, &text) == TA_OK)
            out->model = arena_slice(a, (struct slice){(const char *)text.p, text.n});
        buf_done(&text);
    } else if (slice_is(key, "stream") && (s->last == JT_TRUE || s->last == JT_FALSE)) {
        out->stream = s->last == JT_TRUE;
    } else if (slice_is(key, "max_tokens")) {
        jscan_int(s, &out->max_tokens);
    } else if (slice_is(key, "max_completion_tokens")) {
        jscan_int(s, newer_limit);
    } else if (slice_is(key, "n")) {
        jscan_int(s, &out->choices);
    }
    jscan_finish(s);
}

bool openai_chat_request(struct slice body, struct arena *a, struct dialect_request *out)
{
    struct buf shown;
    struct messages m = {.shown = &shown};
    struct jscan s = jscan_over(body);
    struct slice key;
    int64_t newer_limit = -1;
    *out = (struct dialect_request){.stream = -1, .max_tokens = -1, .choices = 1};
    if (body.n == 0 || jscan_next(&s) != JT_OBJECT)
        return false;
    buf_init(&shown, SHOWN_BYTES + 1 + SHOWN_RAW + 8);
    while (jscan_member(&s, &key)) {
        if (slice_is(key, "messages"))
            take_messages(&m, &s);
        else if (slice_is(key, "stream_options"))
            take_stream_options(&s, out);
        else
            take_scalar(&s, key, a, &newer_limit, out);
    }
    bool whole = jscan_next(&s) == JT_END;
    if (newer_limit >= 0)
        out->max_tokens = newer_limit;
    cut_shown(&shown);
    out->prompt_words = m.words;
    out->last_message = arena_slice(a, (struct slice){(const char *)shown.p, shown.n});
    buf_done(&shown);
    return whole;
}
