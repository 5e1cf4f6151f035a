/* Anthropic messages, requests and replies read. An event is told by its "type", which its name
 * repeats. Source: the API reference (streaming), and what the servers that imitate it send. */
#include "traces/dialects/anthropic_messages.h"

#include "traces/dialects/asking.h"
#include "traces/dialects/reply.h"

enum { HAS_MESSAGES = 1, HAS_VERSION = 2 };

static int claims(struct slice method, struct slice target, struct slice body)
{
    static const char *const names[] = {"messages", "anthropic_version"};
    struct slice path = asking_path(target);
    if (!slice_is(method, "POST"))
        return 0;
    if (asking_ends(path, "/messages") && !asking_aside(path)) {
        if ((asking_members(body, names, 2) & HAS_MESSAGES) != 0)
            return asking_ends(path, "/v1/messages") ? CLAIM_BOTH : CLAIM_EITHER;
        /* One message is sent to such paths of chats among people. */
        return asking_is_object(body) ? CLAIM_SHAPE : CLAIM_PATH;
    }
    if (asking_known(path))
        return 0;
    return (asking_members(body, names, 2) & HAS_VERSION) != 0 ? CLAIM_EITHER : 0;
}

static bool request(struct slice body, struct arena *a, struct dialect_request *out)
{
    static const struct asking_shape shape = {
        .prompts = {"system", "messages"},
        .limits = {"max_tokens"},
    };
    return asking_read(&shape, body, a, out);
}

static int recognises(struct slice data)
{
    static const char *const types[] = {
        "message_start",      "content_block_start", "content_block_delta",
        "content_block_stop", "message_delta",       "message_stop",
    };
    struct member m[] = {{.name = "type"}, {.name = "content"}, {.name = "stop_reason"}};
    if (!reply_members(data, m, 3))
        return 0;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (reply_is(m[0].value, types[i]))
            return CLAIM_BOTH;
    }
    bool document = reply_is(m[0].value, "message") && reply_is_array(m[1].value);
    return document && m[2].value.n > 0 ? CLAIM_BOTH : 0;
}

/* input_tokens leaves out what was read from or written to a cache. */
static void read_usage(struct reading *r, struct slice value, enum usage_sort sort)
{
    enum { INPUT, READ, CREATED, OUTPUT, MEMBERS };
    struct member m[MEMBERS] = {
        [INPUT] = {.name = "input_tokens"},
        [READ] = {.name = "cache_read_input_tokens"},
        [CREATED] = {.name = "cache_creation_input_tokens"},
        [OUTPUT] = {.name = "output_tokens"},
    };
    struct usage u = {-1, -1, -1, -1};
    reply_members_of(value, m, MEMBERS);
    int64_t created = reply_count(m[CREATED].value);
    u.prompt = reply_count(m[INPUT].value);
    u.cached = reply_count(m[READ].value);
    u.completion = reply_count(m[OUTPUT].value);
    if (u.prompt >= 0)
        u.prompt += (u.cached > 0 ? u.cached : 0) + (created > 0 ? created : 0);
    if (u.prompt == 0) /* filled in by servers that do not know it yet (vllm-mlx): none is empty */
        u.prompt = -1;
    reply_emit_usage(r, u, sort);
}

/* A block of a document, or the start of one in a stream. */
static void read_block(void *ctx, struct slice value)
{
    enum { TEXT, THINKING, NAME, INPUT, TYPE, SIGNATURE, MEMBERS };
    struct member m[MEMBERS] = {
        [TEXT] = {.name = "text"},   [THINKING] = {.name = "thinking"},   [NAME] = {.name = "name"},
        [INPUT] = {.name = "input"}, [SIGNATURE] = {.name = "signature"}, [TYPE] = {.name = "type"},
    };
    struct reading *r = ctx;
    reply_members_of(value, m, MEMBERS);
    reply_emit(r, DELTA_REASONING, 0, m[THINKING].value);
    reply_emit(r, DELTA_TEXT, 0, m[TEXT].value);
    bool left_out =
        reply_text(r, m[SIGNATURE].value).n > 0 && reply_text(r, m[THINKING].value).n == 0;
    if (reply_is(m[TYPE].value, "redacted_thinking") || left_out)
        reading_emit(r, (struct delta){.kind = DELTA_HIDDEN});
    if (!reply_is(m[TYPE].value, "tool_use") && !reply_is(m[TYPE].value, "server_tool_use"))
        return;
    reply_emit_name(r, m[NAME].value);
    if (reply_is_object(m[INPUT].value)) /* a stream starts it as {} */
        reading_emit_text(r, DELTA_TOOL, 0, m[INPUT].value);
}

/* Told by the member that is there, not by the delta's type. A signature is no generated text, but
 * it ends thinking, the text of which may be left out. */
static void read_delta(struct reading *r, struct slice value)
{
    struct member m[] = {
        {.name = "text"}, {.name = "thinking"}, {.name = "partial_json"}, {.name = "signature"}};
    reply_members_of(value, m, 4);
    reply_emit(r, DELTA_TEXT, 0, m[0].value);
    reply_emit(r, DELTA_REASONING, 0, m[1].value);
    reply_emit(r, DELTA_TOOL, 0, m[2].value);
    if (reply_text(r, m[3].value).n > 0)
        reading_emit(r, (struct delta){.kind = DELTA_HIDDEN, .unless_sent = true});
}

static void read_start(struct reading *r, struct slice value)
{
    struct member m[] = {{.name = "role"}, {.name = "usage"}, {.name = "content"}};
    reply_members_of(value, m, 3);
    if (m[0].value.n > 0)
        reading_emit(r, (struct delta){.kind = DELTA_ROLE});
    reply_elements(m[2].value, read_block, r);
    read_usage(r, m[1].value, USAGE_START);
}

/* Its output_tokens count all so far, not what is new. */
static void read_end(struct reading *r, struct slice delta, struct slice usage)
{
    struct member stop = {.name = "stop_reason"};
    size_t before = r->emitted;
    reply_members_of(delta, &stop, 1);
    reply_emit(r, DELTA_FINISH, 0, stop.value);
    read_usage(r, usage, r->emitted > before ? USAGE_STATED : USAGE_RUNNING);
}

static void read_message(struct reading *r, struct slice content, struct slice stop,
                         struct slice usage)
{
    reply_elements(content, read_block, r);
    reply_emit(r, DELTA_FINISH, 0, stop);
    read_usage(r, usage, USAGE_STATED);
}

static bool says(struct reading *r, struct slice type)
{
    enum { TYPE, MESSAGE, BLOCK, DELTA, USAGE, ERROR, CONTENT, STOP, DETAIL, MEMBERS };
    struct member m[MEMBERS] = {
        [TYPE] = {.name = "type"},           [MESSAGE] = {.name = "message"},
        [BLOCK] = {.name = "content_block"}, [DELTA] = {.name = "delta"},
        [USAGE] = {.name = "usage"},         [ERROR] = {.name = "error"},
        [CONTENT] = {.name = "content"},     [STOP] = {.name = "stop_reason"},
        [DETAIL] = {.name = "detail"},
    };
    if (!reply_members(r->text, m, MEMBERS))
        return false;
    struct slice named = m[TYPE].value.n > 0 ? reply_text(r, m[TYPE].value) : type;
    if (slice_is(named, "message_start"))
        read_start(r, m[MESSAGE].value);
    else if (slice_is(named, "content_block_start"))
        read_block(r, m[BLOCK].value);
    else if (slice_is(named, "content_block_delta"))
        read_delta(r, m[DELTA].value);
    else if (slice_is(named, "message_delta"))
        read_end(r, m[DELTA].value, m[USAGE].value);
    else if (slice_is(named, "message_stop"))
        reading_emit(r, (struct delta){.kind = DELTA_DONE});
    else if (slice_is(named, "ping"))
        reading_emit(r, (struct delta){.kind = DELTA_PING});
    else if (slice_is(named, "message"))
        read_message(r, m[CONTENT].value, m[STOP].value, m[USAGE].value);
    if (m[ERROR].value.n > 0)
        reading_error(r, m[ERROR].value);
    else if (r->emitted == 0 && m[DETAIL].value.n > 0) /* FastAPI */
        reading_error(r, m[DETAIL].value);
    else if (slice_is(named, "error")) /* llama-server: the bare object of its own API */
        reading_error(r, r->text);
    return true;
}

static int event(const struct event *ev, struct buf *scratch, struct delta_sink out)
{
    return reply_event(ev, scratch, out, says);
}

static int document(struct slice body, struct buf *scratch, struct delta_sink out)
{
    return reply_document(body, scratch, out, says);
}

const struct dialect dialect_anthropic_messages = {
    .name = "anthropic-messages",
    .path = "/v1/messages",
    .models_path = "/v1/models",
    .stream_type = "text/event-stream; charset=utf-8",
    .claims = claims,
    .recognises = recognises,
    .request = request,
    .event = event,
    .document = document,
    .put_begin = anthropic_messages_put_begin,
    .put_piece = anthropic_messages_put_piece,
    .put_finish = anthropic_messages_put_finish,
    .put_done = anthropic_messages_put_done,
    .put_ping = anthropic_messages_put_ping,
    .put_fault = anthropic_messages_put_fault,
    .put_document = anthropic_messages_put_document,
    .put_error = anthropic_messages_put_error,
    .put_models = anthropic_messages_put_models,
};
