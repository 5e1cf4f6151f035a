/* Requests of all dialects; asking.h has the contracts. */
#include "traces/dialects/asking.h"

#include <string.h>

#include "traces/base/jscan.h"

enum {
    SHOWN_BYTES = 200, /* of the last message */
    SHOWN_RAW = 1300   /* bytes of JSON string that hold at least as many: six for one in \u0041 */
};

/* --- paths -------------------------------------------------------------------------------- */

struct slice asking_path(struct slice target)
{
    for (size_t i = 0; i < target.n; i++) {
        if (target.p[i] == '?' || target.p[i] == '#')
            target.n = i;
    }
    if (target.n > 1 && target.p[target.n - 1] == '/')
        target.n--;
    return target;
}

bool asking_ends(struct slice path, const char *tail)
{
    size_t n = strlen(tail);
    return path.n >= n && memcmp(path.p + path.n - n, tail, n) == 0;
}

static bool ends_any(struct slice path, const char *const *tails, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (asking_ends(path, tails[i]))
            return true;
    }
    return false;
}

static bool has_step(struct slice path, const char *step)
{
    size_t n = strlen(step);
    for (size_t i = 0; i + n <= path.n; i++) {
        if (memcmp(path.p + i, step, n) == 0)
            return true;
    }
    return false;
}

/* vLLM's render and pooling, LiteLLM's token_counter, Open WebUI's completed, TEI's embed; OpenAI's
 * threads, whose messages are kept and not answered, and what it does with a kept reply. */
bool asking_aside(struct slice path)
{
    static const char *const tails[] = {
        "/count_tokens", "/batches",       "/embeddings",     "/embed",        "/tokenize",
        "/detokenize",   "/token_counter", "/apply-template", "/render",       "/pooling",
        "/rerank",       "/cancel",        "/compact",        "/input_tokens", "/chat/completed",
    };
    static const char *const steps[] = {"/threads/", "/chat/completions/chatcmpl"};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (has_step(path, steps[i]))
            return true;
    }
    return ends_any(path, tails, sizeof tails / sizeof *tails);
}

/* Cohere's is known by its path, and not read. */
bool asking_known(struct slice path)
{
    static const char *const tails[] = {
        "/completions", "/completion", "/responses",    "/messages",
        "/api/chat",    "/v2/chat",    "/api/generate",
    };
    return ends_any(path, tails, sizeof tails / sizeof *tails) || asking_aside(path);
}

bool asking_is_object(struct slice body)
{
    struct jscan s = jscan_over(body);
    return body.n > 0 && jscan_next(&s) == JT_OBJECT;
}

unsigned asking_members(struct slice body, const char *const *names, unsigned n)
{
    struct jscan s = jscan_over(body);
    struct slice key;
    unsigned found = 0;
    if (body.n == 0 || jscan_next(&s) != JT_OBJECT)
        return 0;
    while (jscan_member(&s, &key)) {
        for (unsigned i = 0; i < n; i++) {
            if (slice_is(key, names[i]))
                found |= 1u << i;
        }
        jscan_skip(&s);
    }
    return found;
}

/* --- prompts ------------------------------------------------------------------------------ */

/* The blank that stands at p, escaped or not: its length, or 0. */
static size_t blank_at(const char *p, const char *end)
{
    if (*p == ' ')
        return 1;
    if (*p != '\\' || end - p < 2)
        return 0;
    if (p[1] == 'n' || p[1] == 'r' || p[1] == 't')
        return 2;
    static const char *const codes[] = {"20", "09", "0a", "0A", "0d", "0D"};
    if (end - p < 6 || memcmp(p, "\\u00", 4) != 0)
        return 0;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (memcmp(p + 4, codes[i], 2) == 0)
            return 6;
    }
    return 0;
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

struct prompt {
    int64_t words;     /* of all of it */
    int64_t media;     /* pictures and the like, beside the texts */
    struct buf *shown; /* text of the last message */
};

/* Does a member of a message or of a part hold a picture, a sound, a file? */
static bool is_media(struct slice key)
{
    static const char *const names[] = {"image_url",   "images",    "source",
                                        "input_audio", "audio_url", "video_url"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (slice_is(key, names[i]))
            return true;
    }
    return false;
}

/* How many there are, of one or of a list; clients send null and empty lists too. */
static int64_t count_values(struct jscan *s)
{
    int64_t n = s->last != JT_NULL;
    if (s->last != JT_ARRAY)
        return n;
    for (n = 0; jscan_element(s); n++)
        jscan_finish(s);
    return n;
}

/* The value whose first token has been read. Texts stand in strings, in "content" of messages and
 * in "text" of parts; other members (images, tool calls) are none. Recursion ends at the scanner's
 * depth. */
static void take_prompt(struct prompt *m, struct jscan *s, bool of_messages)
{
    struct slice key;
    switch (s->last) {
    case JT_STRING:
        m->words += words_of(s->text);
        show(m->shown, *s);
        break;
    case JT_NUMBER: /* a token id */
        m->words++;
        break;
    case JT_ARRAY:
        while (jscan_element(s)) {
            if (of_messages && s->last == JT_OBJECT)
                buf_clear(m->shown);
            take_prompt(m, s, false);
        }
        break;
    case JT_OBJECT:
        while (jscan_member(s, &key)) {
            if (slice_is(key, "content") || slice_is(key, "text")) {
                jscan_next(s);
                take_prompt(m, s, false);
            } else {
                jscan_next(s);
                m->media += is_media(key) ? count_values(s) : 0;
                jscan_finish(s);
            }
        }
        break;
    default:
        break;
    }
}

/* --- the rest ----------------------------------------------------------------------------- */

struct asked {
    const struct asking_shape *shape;
    struct dialect_request *out;
    struct arena *arena;
    struct prompt prompt;
    int limit; /* index in shape->limits of the one taken; -1: none */
};

/* Index of key in a list that ends with NULL or has max names; -1: not there. */
static int index_of(struct slice key, const char *const *list, int max)
{
    for (int i = 0; i < max && list[i] != NULL; i++) {
        if (slice_is(key, list[i]))
            return i;
    }
    return -1;
}

static void take_text(struct asked *q, struct jscan *s, struct slice *to)
{
    struct buf text;
    buf_init(&text, s->text.n + 1);
    if (jscan_unescape(s, &text) == TA_OK)
        *to = arena_slice(q->arena, (struct slice){(const char *)text.p, text.n});
    buf_done(&text);
}

static void take_scalar(struct asked *q, struct jscan *s, struct slice key)
{
    const struct asking_shape *shape = q->shape;
    struct dialect_request *out = q->out;
    int limit = index_of(key, shape->limits, 3);
    int64_t n;
    jscan_next(s);
    if (slice_is(key, "model") && s->last == JT_STRING) {
        take_text(q, s, &out->model);
    } else if (slice_is(key, "stream") && (s->last == JT_TRUE || s->last == JT_FALSE)) {
        out->stream = s->last == JT_TRUE;
    } else if (slice_is(key, "include_usage")) {
        out->usage_asked = s->last == JT_TRUE;
    } else if (slice_is(key, "echo")) {
        out->echo = s->last == JT_TRUE;
    } else if (slice_is(key, "ignore_eos")) {
        out->ignore_eos = s->last == JT_TRUE;
    } else if (limit >= q->limit && limit >= 0 && jscan_int(s, &n) && n >= 0) {
        out->max_tokens = n; /* -1 of llama.cpp and Ollama: no limit */
        q->limit = limit;
    } else if (index_of(key, shape->choices, 2) >= 0) {
        jscan_int(s, &out->choices);
    } else if (shape->candidates != NULL && slice_is(key, shape->candidates)) {
        jscan_int(s, &out->candidates);
    }
    jscan_finish(s);
}

static void take_nested(struct asked *q, struct jscan *s)
{
    struct slice key;
    if (jscan_next(s) != JT_OBJECT) {
        jscan_finish(s);
        return;
    }
    while (jscan_member(s, &key)) {
        if (slice_is(key, "include_usage") || slice_is(key, "ignore_eos") ||
            index_of(key, q->shape->limits, 3) >= 0 || index_of(key, q->shape->choices, 2) >= 0)
            take_scalar(q, s, key);
        else
            jscan_skip(s);
    }
}

bool asking_read(const struct asking_shape *shape, struct slice body, struct arena *a,
                 struct dialect_request *out)
{
    struct buf shown;
    struct asked q = {
        .shape = shape, .out = out, .arena = a, .prompt = {.shown = &shown}, .limit = -1};
    struct jscan s = jscan_over(body);
    struct slice key;
    *out = (struct dialect_request){.stream = -1, .max_tokens = -1, .choices = 1};
    if (body.n == 0 || jscan_next(&s) != JT_OBJECT)
        return false;
    buf_init(&shown, SHOWN_BYTES + 1 + SHOWN_RAW + 8);
    while (jscan_member(&s, &key)) {
        if (index_of(key, shape->prompts, 3) >= 0) {
            jscan_next(&s);
            take_prompt(&q.prompt, &s, true);
        } else if (index_of(key, shape->nested, 2) >= 0) {
            take_nested(&q, &s);
        } else if (slice_is(key, "images")) { /* Ollama's generate */
            jscan_next(&s);
            q.prompt.media += count_values(&s);
            jscan_finish(&s);
        } else {
            take_scalar(&q, &s, key);
        }
    }
    bool whole = jscan_next(&s) == JT_END;
    cut_shown(&shown);
    out->prompt_words = q.prompt.words;
    out->media = q.prompt.media;
    out->last_message = arena_slice(a, (struct slice){(const char *)shown.p, shown.n});
    buf_done(&shown);
    return whole;
}
