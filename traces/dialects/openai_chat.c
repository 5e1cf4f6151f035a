/* OpenAI chat completions, replies read: the chunks of a stream and the whole document.
 * Source: the API reference of chat completions, and what the servers that imitate it really send.
 */
#include <stdlib.h>
#include <string.h>

#include "traces/base/jscan.h"
#include "traces/base/mem.h"
#include "traces/dialects/openai_chat.h"
#include "traces/dialects/reading.h"
#include "traces/dialects/writing.h"

static bool kind_of(struct slice key, enum delta_kind *kind)
{
    if (slice_is(key, "content"))
        *kind = DELTA_TEXT;
    else if (slice_is(key, "reasoning_content") || slice_is(key, "reasoning") ||
             slice_is(key, "thinking"))
        *kind = DELTA_REASONING;
    else if (slice_is(key, "refusal"))
        *kind = DELTA_REFUSAL;
    else
        return false;
    return true;
}

/* What an event says, in order of appearance, held until all of it has proved to be JSON: a delta
 * of a choice, or a part of the event that is read when its turn comes. */
struct said {
    enum delta_kind kind;
    uint32_t choice;
    uint32_t tokens;   /* of DELTA_TOKENS */
    bool of_message;   /* of a stream's choice, not in its delta */
    bool opens;        /* DELTA_TOOL: the name */
    struct slice text; /* of the delta, or the part's value */
    void (*read)(struct reading *r, struct slice value); /* of a part; NULL: a delta */
};

enum { PARTS_MAX = 4, SAID_FIRST = 4 }; /* nearly every event says one thing */

struct reply {
    struct reading *r;
    struct said *said;
    size_t n, cap;
    size_t n_parts;
    struct slice detail, message; /* where errors of FastAPI and of older vLLM have their text */
    bool is_error_object, epoch;  /* "object":"error"; "created":0 */
    bool stream;                  /* an event, and no document */
    struct slice broken;          /* a finish that is none */
    bool has_usage;               /* where it belongs … */
    struct slice usage;           /* … and elsewhere, by so many */
    unsigned usages;
    struct said first[SAID_FIRST];
};

static void hold(struct reply *reply, struct said said)
{
    if (reply->n == reply->cap) {
        bool moved = reply->said != reply->first;
        struct said *more = mem_resize(moved ? reply->said : NULL, 2 * reply->cap * sizeof *more);
        if (!moved)
            memcpy(more, reply->first, sizeof reply->first);
        reply->said = more;
        reply->cap *= 2;
    }
    reply->said[reply->n++] = said;
}

static void hold_text(struct reply *reply, enum delta_kind kind, struct slice text)
{
    hold(reply, (struct said){.kind = kind, .text = text});
}

/* The message or delta of one choice. */
struct message {
    struct reply *reply;
    struct slice reasoning; /* the last one held */
};

/* Each read_… begins behind the first token of its value. */
static void read_text(struct message *m, struct jscan *s, enum delta_kind kind);

/* A part of a content array: {"type":"text","text":…}, {"type":"thinking","thinking":[…]}
 * (Mistral). */
static void read_part(struct message *m, struct jscan *s, enum delta_kind kind)
{
    struct slice key;
    enum delta_kind own;
    while (jscan_pair(s, &key)) {
        if (slice_is(key, "text"))
            read_text(m, s, kind);
        else if (kind_of(key, &own))
            read_text(m, s, own);
        else
            jscan_finish(s);
    }
}

/* A text value: a string, or an array of parts. Null and "" are no text. */
static void read_text(struct message *m, struct jscan *s, enum delta_kind kind)
{
    if (s->last == JT_ARRAY) {
        while (jscan_element(s)) {
            if (s->last == JT_OBJECT)
                read_part(m, s, kind);
            else
                jscan_finish(s);
        }
        return;
    }
    if (s->last != JT_STRING || s->text.n == 0) {
        jscan_finish(s);
        return;
    }
    struct slice text = reading_string(m->reply->r, s);
    if (kind == DELTA_REASONING) {
        /* Rapid-MLX sent the same thought as "reasoning" and "reasoning_content" for some releases.
         */
        bool again = text.n == m->reasoning.n && memcmp(text.p, m->reasoning.p, text.n) == 0;
        if (again)
            return;
        m->reasoning = text;
    }
    hold_text(m->reply, kind, text);
}

/* {"name":…,"arguments":…}. Some servers give the arguments as an object instead of its text. */
static void read_function(struct message *m, struct jscan *s)
{
    struct slice key;
    while (jscan_pair(s, &key)) {
        bool known = slice_is(key, "name") || slice_is(key, "arguments");
        if (known && s->last == JT_STRING && s->text.n > 0)
            hold(m->reply, (struct said){.kind = DELTA_TOOL,
                                         .text = reading_string(m->reply->r, s),
                                         .opens = slice_is(key, "name")});
        if (!known || s->last != JT_OBJECT) {
            jscan_finish(s);
            continue;
        }
        struct jscan inside = *s;
        struct slice value = jscan_whole(s);
        if (jscan_next(&inside) == JT_KEY)
            hold_text(m->reply, DELTA_TOOL, value);
    }
}

static void read_tool_calls(struct message *m, struct jscan *s)
{
    struct slice key;
    if (s->last != JT_ARRAY) {
        jscan_finish(s);
        return;
    }
    while (jscan_element(s)) {
        if (s->last != JT_OBJECT) {
            jscan_finish(s);
            continue;
        }
        while (jscan_pair(s, &key)) {
            if (slice_is(key, "function") && s->last == JT_OBJECT)
                read_function(m, s);
            else
                jscan_finish(s);
        }
    }
}

/* What the delta or the message of a choice said. */
struct held {
    size_t from, to; /* in reply->said */
    bool object;     /* it was there, and not null */
    bool text;       /* there is text in it */
};

static struct held read_message(struct reply *reply, struct jscan *s)
{
    struct message m = {.reply = reply};
    struct held held = {.from = reply->n, .to = reply->n, .object = s->last == JT_OBJECT};
    struct slice key, other = slice_of("");
    bool role = false;
    if (!held.object) {
        jscan_finish(s);
        return held;
    }
    while (jscan_pair(s, &key)) {
        enum delta_kind kind;
        if (kind_of(key, &kind)) {
            read_text(&m, s, kind);
        } else if (slice_is(key, "tool_calls")) {
            read_tool_calls(&m, s);
        } else if (slice_is(key, "function_call") && s->last == JT_OBJECT) {
            read_function(&m, s); /* before tools there were functions */
        } else {
            if (slice_is(key, "role"))
                role = s->last == JT_STRING && s->text.n > 0;
            else if ((slice_is(key, "text") || slice_is(key, "response")) && s->last == JT_STRING)
                other = reading_string(reply->r, s);
            jscan_finish(s);
        }
    }
    if (reply->n == held.from && other.n > 0) /* where there is no content */
        hold_text(reply, DELTA_TEXT, other);
    held.text = reply->n > held.from;
    /* Many servers repeat the role in every delta: only one without text names the speaker. */
    if (role && !held.text)
        hold_text(reply, DELTA_ROLE, (struct slice){NULL, 0});
    held.to = reply->n;
    return held;
}

/* How many elements an array has. */
static uint32_t read_length(struct jscan *s)
{
    uint32_t n = 0;
    if (s->last != JT_ARRAY) {
        jscan_finish(s);
        return 0;
    }
    for (; jscan_element(s); n++)
        jscan_finish(s);
    return n;
}

/* Takes back what was held, from before or behind the other's. */
static void drop(struct reply *reply, struct held *gone, struct held *other)
{
    size_t n = gone->to - gone->from;
    if (n == 0)
        return;
    memmove(reply->said + gone->from, reply->said + gone->to,
            (reply->n - gone->to) * sizeof *reply->said);
    reply->n -= n;
    if (other->from >= gone->to) {
        other->from -= n;
        other->to -= n;
    }
    *gone = (struct held){0};
}

struct choice {
    struct held delta, message;
    struct slice finish;
    int64_t index;
    uint32_t tokens;
};

/* A stream has deltas and a document a message, but servers send the other one beside it: null,
 * empty, or (at the end of a stream) with all of the text once more. */
static void choose(struct reply *reply, struct choice *c)
{
    bool by_message = c->message.text && !(reply->stream && c->delta.text);
    if (reply->stream && c->delta.object && c->finish.n == 0)
        by_message = false;
    if (by_message || !c->delta.object)
        drop(reply, &c->delta, &c->message);
    else
        drop(reply, &c->message, &c->delta);
    for (size_t i = c->message.from; reply->stream && i < c->message.to; i++)
        reply->said[i].of_message = true;
}

static void hold_part(struct reply *reply, struct jscan *s,
                      void (*read)(struct reading *r, struct slice value))
{
    hold(reply, (struct said){.text = jscan_whole(s), .read = read});
}

/* Usage where others do not have it: Moonshot's in its choice, Groq's in a member of its own. */
static void hold_usage(struct reply *reply, struct jscan *s)
{
    if (s->last == JT_OBJECT)
        reply->usages++;
    reply->usage = jscan_whole(s);
}

static void read_choice_member(struct reply *reply, struct jscan *s, struct slice key,
                               struct choice *c)
{
    if (slice_is(key, "delta")) {
        drop(reply, &c->delta, &c->message); /* of several the last counts */
        c->delta = read_message(reply, s);
    } else if (slice_is(key, "message")) {
        drop(reply, &c->message, &c->delta);
        c->message = read_message(reply, s);
    } else if (slice_is(key, "token_ids")) { /* vLLM, when asked */
        c->tokens = read_length(s);
    } else if (slice_is(key, "error")) { /* OpenRouter */
        hold_part(reply, s, reading_error);
    } else if (slice_is(key, "usage")) {
        hold_usage(reply, s);
    } else {
        if (slice_is(key, "finish_reason"))
            c->finish =
                s->last == JT_STRING && s->text.n > 0 ? reading_string(reply->r, s) : slice_of("");
        else if (slice_is(key, "index"))
            jscan_int(s, &c->index);
        jscan_finish(s);
    }
}

static void read_choice(struct reply *reply, struct jscan *s)
{
    struct choice c = {.finish = slice_of("")};
    struct slice key;
    size_t before = reply->n;
    while (jscan_pair(s, &key))
        read_choice_member(reply, s, key, &c);
    choose(reply, &c);
    if (c.tokens > 0)
        hold(reply, (struct said){.kind = DELTA_TOKENS, .tokens = c.tokens});
    if (reading_is_failure(c.finish))
        reply->broken = c.finish;
    else if (c.finish.n > 0)
        hold_text(reply, DELTA_FINISH, c.finish);
    if (c.index > 0 && c.index <= UINT32_MAX) {
        for (size_t i = before; i < reply->n; i++)
            reply->said[i].choice = (uint32_t)c.index;
    }
}

static void read_choices(struct reply *reply, struct jscan *s)
{
    if (s->last != JT_ARRAY) {
        jscan_finish(s);
        return;
    }
    while (jscan_element(s)) {
        if (s->last == JT_OBJECT)
            read_choice(reply, s);
        else
            jscan_finish(s);
    }
}

/* What is read of an event at its top level. False: the member is none of it. */
static bool read_member(struct reply *reply, struct jscan *s, struct slice key)
{
    if (reply->n_parts == PARTS_MAX)
        return false;
    if (slice_is(key, "choices")) {
        read_choices(reply, s);
    } else if (slice_is(key, "usage")) {
        reply->has_usage |= s->last == JT_OBJECT;
        hold_part(reply, s, reading_usage);
    } else if (slice_is(key, "timings")) {
        hold_part(reply, s, reading_timings);
    } else if (slice_is(key, "error")) {
        hold_part(reply, s, reading_error);
    } else {
        return false;
    }
    reply->n_parts++;
    return true;
}

static bool is_string(const struct jscan *s, const char *text)
{
    return s->last == JT_STRING && jscan_raw_is(s->text, text);
}

static void read_groq(struct reply *reply, struct jscan *s)
{
    struct slice key;
    while (jscan_pair(s, &key)) {
        if (slice_is(key, "usage"))
            hold_usage(reply, s);
        else
            jscan_finish(s);
    }
}

/* What else is looked at there. */
static void read_name(struct reply *reply, struct jscan *s, struct slice key)
{
    if (slice_is(key, "detail"))
        reply->detail = jscan_whole(s);
    else if (slice_is(key, "message"))
        reply->message = jscan_whole(s);
    else if (slice_is(key, "created"))
        reply->epoch = s->last == JT_NUMBER && slice_is(s->text, "0");
    else if (slice_is(key, "object"))
        reply->is_error_object = is_string(s, "error");
    else if (slice_is(key, "model"))
        reply->r->keepalive |= is_string(s, "keepalive");
    else if (slice_is(key, "id"))
        reply->r->keepalive |= is_string(s, "chatcmpl-keepalive");
    if (slice_is(key, "x_groq") && s->last == JT_OBJECT)
        read_groq(reply, s);
    else
        jscan_finish(s);
}

/* Reads the whole text once. False: it is no JSON, and what is held says nothing. */
static bool take_reply(struct reply *reply)
{
    struct jscan s = jscan_over(reply->r->text);
    struct slice key;
    if (jscan_next(&s) == JT_OBJECT) {
        while (jscan_pair(&s, &key)) {
            if (!read_member(reply, &s, key))
                read_name(reply, &s, key);
        }
    } else {
        jscan_finish(&s);
    }
    return jscan_next(&s) == JT_END;
}

/* A keep-alive names no speaker. */
static void release(struct reply *reply)
{
    struct reading *r = reply->r;
    for (size_t i = 0; i < reply->n; i++) {
        const struct said *said = &reply->said[i];
        if (said->read != NULL)
            said->read(r, said->text);
        else if (said->kind != DELTA_ROLE || !r->keepalive)
            reading_emit(r, (struct delta){.kind = said->kind,
                                           .choice = said->choice,
                                           .tokens = said->tokens,
                                           .of_message = said->of_message,
                                           .opens = said->opens,
                                           .text = said->text});
    }
}

static void conclude(struct reply *reply, bool is_error)
{
    struct reading *r = reply->r;
    release(reply);
    if (!reply->has_usage && reply->usages == 1) /* of several, each is of its choice */
        reading_usage(r, reply->usage);
    if (r->errors == 0 && reply->broken.n > 0)
        reading_emit_text(r, DELTA_ERROR, 0, reply->broken);
    if (r->emitted == 0 && reply->n_parts == 0)
        reading_error(r, reply->detail);
    if (r->errors == 0 && (is_error || reply->is_error_object))
        reading_error(r, reply->message);
    if (r->errors == 0 && is_error)
        reading_emit_text(r, DELTA_ERROR, 0, r->text);
    bool ping = r->keepalive || reply->epoch;
    if (r->emitted == 0)
        reading_emit(r, (struct delta){.kind = ping ? DELTA_PING : DELTA_EMPTY});
}

static int read_reply(struct reading *r, bool stream, bool is_error)
{
    struct reply reply = {.r = r, .cap = SAID_FIRST, .stream = stream};
    reply.said = reply.first;
    reply.detail = reply.message = reply.broken = slice_of("");
    buf_clear(r->scratch);
    if (take_reply(&reply))
        conclude(&reply, is_error);
    else
        reading_emit_text(r, DELTA_ERROR, 0,
                          is_error && r->text.n > 0 ? r->text : slice_of("not JSON"));
    if (reply.said != reply.first)
        free(reply.said);
    return r->rc;
}

static int read_event(const struct event *ev, struct buf *scratch, struct delta_sink out)
{
    struct reading r = {.text = reading_trimmed(ev->data), .scratch = scratch, .out = out};
    if (slice_is(r.text, "[DONE]")) {
        reading_emit(&r, (struct delta){.kind = DELTA_DONE});
        return r.rc;
    }
    bool is_error = slice_is(ev->type, "error");
    if (slice_is(ev->type, "ping") || (!is_error && reading_is_sign_of_life(r.text))) {
        reading_emit(&r, (struct delta){.kind = DELTA_PING});
        return r.rc;
    }
    return read_reply(&r, true, is_error);
}

static int read_document(struct slice body, struct buf *scratch, struct delta_sink out)
{
    struct reading r = {.text = reading_trimmed(body), .scratch = scratch, .out = out};
    return read_reply(&r, false, false);
}

const struct dialect dialect_openai_chat = {
    .name = "openai-chat",
    .path = "/v1/chat/completions",
    .models_path = "/v1/models",
    .stream_type = "text/event-stream; charset=utf-8",
    .claims = openai_chat_claims,
    .recognises = openai_chat_recognises,
    .request = openai_chat_request,
    .event = read_event,
    .document = read_document,
    .put_begin = openai_chat_put_begin,
    .put_piece = openai_chat_put_piece,
    .put_finish = openai_chat_put_finish,
    .put_usage = openai_chat_put_usage,
    .put_done = writing_openai_done,
    .put_ping = writing_comment,
    .put_fault = writing_openai_fault,
    .put_document = openai_chat_put_document,
    .put_error = writing_openai_error,
    .put_models = writing_openai_models,
};
