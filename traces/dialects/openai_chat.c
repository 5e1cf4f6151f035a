/* OpenAI chat completions, replies read: the chunks of a stream and the whole document.
 * Source: the API reference of chat completions, and what the servers that imitate it really send.
 */
#include <math.h>
#include <string.h>

#include "traces/base/jscan.h"
#include "traces/dialects/openai_chat.h"

/* One event or document being read. */
struct reading {
    struct slice text; /* all of it */
    struct buf *scratch;
    struct delta_sink out;
    bool keepalive; /* the chunk names itself a keep-alive */
    size_t emitted, errors;
    int rc; /* what the sink said; sticky once it is not TA_OK */
};

static void emit(struct reading *r, struct delta d)
{
    r->emitted++;
    r->errors += d.kind == DELTA_ERROR;
    if (r->rc == TA_OK)
        r->rc = r->out.delta(r->out.ctx, &d);
}

static void emit_text(struct reading *r, enum delta_kind kind, uint32_t choice, struct slice text)
{
    emit(r, (struct delta){.kind = kind, .choice = choice, .text = text});
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static struct slice trimmed(struct slice s)
{
    if (s.n == 0)
        return slice_of("");
    while (s.n > 0 && is_blank(s.p[s.n - 1]))
        s.n--;
    while (s.n > 0 && is_blank(*s.p)) {
        s.p++;
        s.n--;
    }
    return s;
}

/* The value that starts next, unread. */
static struct slice take_value(struct jscan *s)
{
    const char *p = s->p;
    jscan_skip(s);
    return trimmed((struct slice){p, (size_t)(s->p - p)});
}

/* The scanner's string without escapes. Room for all of the text is made once, so that nothing
 * moves: an escape is never shorter than what it stands for. */
static struct slice string_of(struct reading *r, const struct jscan *s)
{
    struct buf *b = r->scratch;
    if (!s->escaped)
        return s->text;
    if (b->n == 0 && buf_reserve(b, r->text.n) == NULL)
        return s->text; /* a scratch smaller than the event: better its escapes than no text */
    size_t at = b->n;
    if (jscan_unescape(s, b) != TA_OK)
        return s->text;
    return (struct slice){(const char *)b->p + at, b->n - at};
}

static const struct {
    struct slice key;
    enum delta_kind kind;
} text_keys[] = {
    {{"content", 7}, DELTA_TEXT},        {{"reasoning_content", 17}, DELTA_REASONING},
    {{"reasoning", 9}, DELTA_REASONING}, {{"thinking", 8}, DELTA_REASONING},
    {{"refusal", 7}, DELTA_REFUSAL},
};

static bool kind_of(struct slice key, enum delta_kind *kind)
{
    for (size_t i = 0; i < sizeof text_keys / sizeof *text_keys; i++) {
        const struct slice *name = &text_keys[i].key;
        if (key.n == name->n && memcmp(key.p, name->p, key.n) == 0) {
            *kind = text_keys[i].kind;
            return true;
        }
    }
    return false;
}

/* The message or delta of one choice. */
struct message {
    struct reading *r;
    uint32_t choice;
    struct slice reasoning; /* the last one emitted */
};

static void read_text(struct message *m, struct jscan *s, enum delta_kind kind);

/* A part of a content array: {"type":"text","text":…}, {"type":"thinking","thinking":[…]}
 * (Mistral). */
static void read_part(struct message *m, struct jscan *s, enum delta_kind kind)
{
    struct slice key;
    enum delta_kind own;
    while (jscan_member(s, &key)) {
        if (slice_is(key, "text"))
            read_text(m, s, kind);
        else if (kind_of(key, &own))
            read_text(m, s, own);
        else
            jscan_skip(s);
    }
}

/* A text value: a string, or an array of parts. Null and "" are no text. */
static void read_text(struct message *m, struct jscan *s, enum delta_kind kind)
{
    switch (jscan_next(s)) {
    case JT_STRING:
        break;
    case JT_ARRAY:
        while (jscan_element(s)) {
            if (s->last == JT_OBJECT)
                read_part(m, s, kind);
            else
                jscan_finish(s);
        }
        return;
    default:
        jscan_finish(s);
        return;
    }
    if (s->text.n == 0)
        return;
    struct slice text = string_of(m->r, s);
    if (kind == DELTA_REASONING) {
        /* Rapid-MLX sent the same thought as "reasoning" and "reasoning_content" for some releases.
         */
        bool again = text.n == m->reasoning.n && memcmp(text.p, m->reasoning.p, text.n) == 0;
        if (again)
            return;
        m->reasoning = text;
    }
    emit_text(m->r, kind, m->choice, text);
}

/* {"name":…,"arguments":…}. Some servers give the arguments as an object instead of its text. */
static void read_function(struct message *m, struct jscan *s)
{
    struct slice key;
    while (jscan_member(s, &key)) {
        if (!slice_is(key, "name") && !slice_is(key, "arguments")) {
            jscan_skip(s);
            continue;
        }
        struct jscan at = *s;
        struct slice value = take_value(s);
        if (jscan_next(&at) == JT_STRING && at.text.n > 0)
            emit_text(m->r, DELTA_TOOL, m->choice, string_of(m->r, &at));
        else if (at.last == JT_OBJECT && jscan_next(&at) == JT_KEY)
            emit_text(m->r, DELTA_TOOL, m->choice, value);
    }
}

static void read_tool_calls(struct message *m, struct jscan *s)
{
    if (jscan_next(s) != JT_ARRAY) {
        jscan_finish(s);
        return;
    }
    while (jscan_element(s)) {
        struct slice key;
        if (s->last != JT_OBJECT) {
            jscan_finish(s);
            continue;
        }
        while (jscan_member(s, &key)) {
            if (slice_is(key, "function") && jscan_next(s) == JT_OBJECT)
                read_function(m, s);
            else if (s->last == JT_KEY)
                jscan_skip(s);
            else
                jscan_finish(s);
        }
    }
}

static void read_message(struct reading *r, struct slice object, uint32_t choice)
{
    struct message m = {.r = r, .choice = choice};
    struct jscan s = jscan_over_valid(object);
    struct slice key;
    bool role = false;
    size_t before = r->emitted;
    if (jscan_next(&s) != JT_OBJECT)
        return;
    while (jscan_member(&s, &key)) {
        enum delta_kind kind;
        if (kind_of(key, &kind)) {
            read_text(&m, &s, kind);
        } else if (slice_is(key, "tool_calls")) {
            read_tool_calls(&m, &s);
        } else if (slice_is(key, "function_call")) { /* before tools there were functions */
            if (jscan_next(&s) == JT_OBJECT)
                read_function(&m, &s);
            else
                jscan_finish(&s);
        } else if (slice_is(key, "role")) {
            role = jscan_next(&s) == JT_STRING && s.text.n > 0;
            jscan_finish(&s);
        } else {
            jscan_skip(&s);
        }
    }
    /* Many servers repeat the role in every delta: only one without text names the speaker. */
    if (role && r->emitted == before && !r->keepalive)
        emit(r, (struct delta){.kind = DELTA_ROLE, .choice = choice});
}

static void read_choice(struct reading *r, struct jscan *s)
{
    struct slice key, message = slice_of(""), finish = slice_of("");
    int64_t index = 0;
    while (jscan_member(s, &key)) {
        if (slice_is(key, "delta") || slice_is(key, "message"))
            message = take_value(s);
        else if (slice_is(key, "finish_reason"))
            finish = take_value(s);
        else if (slice_is(key, "index") && jscan_next(s) == JT_NUMBER)
            jscan_int(s, &index);
        else if (s->last == JT_KEY)
            jscan_skip(s);
        else
            jscan_finish(s);
    }
    uint32_t choice = index < 0 || index > UINT32_MAX ? 0 : (uint32_t)index;
    read_message(r, message, choice);
    struct jscan f = jscan_over_valid(finish);
    if (jscan_next(&f) == JT_STRING && f.text.n > 0)
        emit_text(r, DELTA_FINISH, choice, string_of(r, &f));
}

static void read_choices(struct reading *r, struct slice value)
{
    struct jscan s = jscan_over_valid(value);
    if (jscan_next(&s) != JT_ARRAY)
        return;
    while (jscan_element(&s)) {
        if (s.last == JT_OBJECT)
            read_choice(r, &s);
        else
            jscan_finish(&s);
    }
}

/* The number that starts next; NAN if it is none. */
static double take_number(struct jscan *s)
{
    double v = NAN;
    if (jscan_next(s) == JT_NUMBER)
        jscan_double(s, &v);
    jscan_finish(s);
    return v;
}

static int64_t take_count(struct jscan *s)
{
    double v = take_number(s);
    return v >= 0 && v <= 9007199254740992.0 ? (int64_t)v : -1;
}

/* {"cached_tokens":…} and {"reasoning_tokens":…}. */
static void read_details(struct jscan *s, const char *name, int64_t *out)
{
    struct slice key;
    if (jscan_next(s) != JT_OBJECT) {
        jscan_finish(s);
        return;
    }
    while (jscan_member(s, &key)) {
        if (slice_is(key, name))
            *out = take_count(s);
        else
            jscan_skip(s);
    }
}

static void read_usage(struct reading *r, struct slice value)
{
    struct usage u = {-1, -1, -1, -1};
    struct jscan s = jscan_over_valid(value);
    struct slice key;
    if (jscan_next(&s) != JT_OBJECT)
        return;
    while (jscan_member(&s, &key)) {
        if (slice_is(key, "prompt_tokens"))
            u.prompt = take_count(&s);
        else if (slice_is(key, "completion_tokens"))
            u.completion = take_count(&s);
        else if (slice_is(key, "cached_tokens")) /* omlx */
            u.cached = take_count(&s);
        else if (slice_is(key, "prompt_tokens_details"))
            read_details(&s, "cached_tokens", &u.cached);
        else if (slice_is(key, "completion_tokens_details"))
            read_details(&s, "reasoning_tokens", &u.reasoning);
        else
            jscan_skip(&s);
    }
    if (u.prompt >= 0 || u.completion >= 0 || u.cached >= 0 || u.reasoning >= 0)
        emit(r, (struct delta){.kind = DELTA_USAGE, .usage = u});
}

/* llama.cpp's own clock; milliseconds. */
static void read_timings(struct reading *r, struct slice value)
{
    struct server_timings t = {NAN, NAN, NAN, NAN, NAN};
    const struct {
        const char *key;
        double *out;
    } fields[] = {
        {"prompt_n", &t.prompt_n},
        {"prompt_ms", &t.prompt_ms},
        {"predicted_n", &t.predicted_n},
        {"predicted_ms", &t.predicted_ms},
        {"predicted_per_second", &t.predicted_per_second},
    };
    enum { FIELDS = sizeof fields / sizeof *fields };
    struct jscan s = jscan_over_valid(value);
    struct slice key;
    bool stated = false;
    if (jscan_next(&s) != JT_OBJECT)
        return;
    while (jscan_member(&s, &key)) {
        size_t i = 0;
        while (i < FIELDS && !slice_is(key, fields[i].key))
            i++;
        if (i == FIELDS) {
            jscan_skip(&s);
            continue;
        }
        *fields[i].out = take_number(&s);
        stated = true;
    }
    if (stated)
        emit(r, (struct delta){.kind = DELTA_TIMINGS, .timings = t});
}

/* An error is an object with a message, or (mlx-vlm, mlx-lm, Ollama) a string, or (FastAPI's
 * detail) a list. */
static void read_error(struct reading *r, struct slice value)
{
    struct jscan s = jscan_over_valid(value);
    struct slice key, message = value;
    switch (jscan_next(&s)) {
    case JT_STRING:
        if (s.text.n > 0)
            emit_text(r, DELTA_ERROR, 0, string_of(r, &s));
        return;
    case JT_OBJECT:
        while (jscan_member(&s, &key)) {
            if (slice_is(key, "message") && jscan_next(&s) == JT_STRING && s.text.n > 0)
                message = string_of(r, &s);
            else if (s.last == JT_KEY)
                jscan_skip(&s);
            else
                jscan_finish(&s);
        }
        break;
    case JT_ARRAY:
    case JT_NUMBER:
    case JT_TRUE:
        break;
    default: /* null and false: no error */
        return;
    }
    emit_text(r, DELTA_ERROR, 0, message);
}

/* What an event says at its top level. */
struct part {
    void (*read)(struct reading *r, struct slice value);
    struct slice value;
};

static const struct {
    struct slice key;
    void (*read)(struct reading *r, struct slice value);
} part_keys[] = {
    {{"choices", 7}, read_choices},
    {{"usage", 5}, read_usage},
    {{"timings", 7}, read_timings},
    {{"error", 5}, read_error},
};
enum { PARTS = sizeof part_keys / sizeof *part_keys };

struct envelope {
    struct part parts[PARTS]; /* in order of appearance */
    size_t n_parts;
    struct slice detail, message; /* where errors of FastAPI and of older vLLM have their text */
    bool is_error_object, epoch;  /* "object":"error"; "created":0 */
};

static bool take_part(struct envelope *env, struct jscan *s, struct slice key)
{
    for (size_t i = 0; i < PARTS; i++) {
        const struct slice *name = &part_keys[i].key;
        if (key.n == name->n && memcmp(key.p, name->p, key.n) == 0 && env->n_parts < PARTS) {
            struct slice value = take_value(s);
            env->parts[env->n_parts++] = (struct part){part_keys[i].read, value};
            return true;
        }
    }
    return false;
}

/* Reads the whole text once, so that nothing is emitted of a text that is no JSON. */
static bool open_envelope(struct reading *r, struct envelope *env)
{
    struct jscan s = jscan_over(r->text);
    struct slice key;
    if (jscan_next(&s) == JT_OBJECT) {
        while (jscan_member(&s, &key)) {
            if (take_part(env, &s, key))
                continue;
            struct slice value = take_value(&s);
            if (slice_is(key, "detail"))
                env->detail = value;
            else if (slice_is(key, "message"))
                env->message = value;
            else if (slice_is(key, "created"))
                env->epoch = slice_is(value, "0");
            else if (slice_is(key, "object"))
                env->is_error_object = slice_is(value, "\"error\"");
            else if (slice_is(key, "model"))
                r->keepalive |= slice_is(value, "\"keepalive\"");
            else if (slice_is(key, "id"))
                r->keepalive |= slice_is(value, "\"chatcmpl-keepalive\"");
        }
    } else {
        jscan_finish(&s);
    }
    return jscan_next(&s) == JT_END;
}

static int read_reply(struct reading *r, bool is_error)
{
    struct envelope env = {.detail = slice_of(""), .message = slice_of("")};
    buf_clear(r->scratch);
    if (!open_envelope(r, &env)) {
        emit_text(r, DELTA_ERROR, 0, is_error && r->text.n > 0 ? r->text : slice_of("not JSON"));
        return r->rc;
    }
    for (size_t i = 0; i < env.n_parts; i++)
        env.parts[i].read(r, env.parts[i].value);
    if (r->emitted == 0 && env.n_parts == 0)
        read_error(r, env.detail);
    if (r->errors == 0 && (is_error || env.is_error_object))
        read_error(r, env.message);
    if (r->errors == 0 && is_error)
        emit_text(r, DELTA_ERROR, 0, r->text);
    if (r->emitted == 0)
        emit(r, (struct delta){.kind = r->keepalive || env.epoch ? DELTA_PING : DELTA_EMPTY});
    return r->rc;
}

static int read_event(const struct event *ev, struct buf *scratch, struct delta_sink out)
{
    struct reading r = {.text = trimmed(ev->data), .scratch = scratch, .out = out};
    if (slice_is(r.text, "[DONE]")) {
        emit(&r, (struct delta){.kind = DELTA_DONE});
        return r.rc;
    }
    if (slice_is(ev->type, "ping")) {
        emit(&r, (struct delta){.kind = DELTA_PING});
        return r.rc;
    }
    return read_reply(&r, slice_is(ev->type, "error"));
}

static int read_document(struct slice body, struct buf *scratch, struct delta_sink out)
{
    struct reading r = {.text = trimmed(body), .scratch = scratch, .out = out};
    return read_reply(&r, false);
}

const struct dialect dialect_openai_chat = {
    .name = "openai-chat",
    .claims = openai_chat_claims,
    .request = openai_chat_request,
    .event = read_event,
    .document = read_document,
    .put_role = openai_chat_put_role,
    .put_text = openai_chat_put_text,
    .put_finish = openai_chat_put_finish,
    .put_usage = openai_chat_put_usage,
    .put_done = openai_chat_put_done,
    .put_document = openai_chat_put_document,
    .put_error = openai_chat_put_error,
};
