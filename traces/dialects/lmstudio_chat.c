/* LM Studio's own API (/api/v1/chat), requests and replies read: named events, of which the last,
 * chat.end, repeats all of it and comes even after an error. Source: lmstudio.ai/docs/developer/
 * rest, streaming events and chat. */
#include <string.h>

#include "traces/dialects/asking.h"
#include "traces/dialects/lmstudio_chat.h"
#include "traces/dialects/reply.h"

static int claims(struct slice method, struct slice target, struct slice body)
{
    static const char *const names[] = {"model", "input"};
    if (!slice_is(method, "POST") || !asking_ends(asking_path(target), "/api/v1/chat"))
        return 0;
    if (asking_members(body, names, 2) == 3)
        return CLAIM_BOTH;
    return asking_is_object(body) ? CLAIM_SHAPE : CLAIM_PATH; /* many have such a path */
}

static bool request(struct slice body, struct arena *a, struct dialect_request *out)
{
    static const struct asking_shape shape = {
        .prompts = {"system_prompt", "input"},
        .limits = {"max_output_tokens"},
    };
    return asking_read(&shape, body, a, out);
}

static int recognises(struct slice data)
{
    struct member m[] = {{.name = "type"}, {.name = "model_instance_id"}, {.name = "stats"}};
    if (!reply_members(data, m, 3))
        return 0;
    if (reply_is(m[0].value, "chat.start") || reply_is(m[0].value, "chat.end"))
        return CLAIM_BOTH;
    return m[1].value.n > 0 && reply_is_object(m[2].value) ? CLAIM_BOTH : 0;
}

static void read_item(void *ctx, struct slice value)
{
    enum { TYPE, CONTENT, TOOL, ARGUMENTS, MEMBERS };
    struct member m[MEMBERS] = {
        [TYPE] = {.name = "type"},
        [CONTENT] = {.name = "content"},
        [TOOL] = {.name = "tool"},
        [ARGUMENTS] = {.name = "arguments"},
    };
    struct reading *r = ctx;
    reply_members_of(value, m, MEMBERS);
    if (reply_is(m[TYPE].value, "tool_call")) {
        reply_emit_name(r, m[TOOL].value);
        if (reply_is_object(m[ARGUMENTS].value))
            reading_emit_text(r, DELTA_TOOL, 0, m[ARGUMENTS].value);
    } else {
        bool thinks = reply_is(m[TYPE].value, "reasoning");
        reply_emit(r, thinks ? DELTA_REASONING : DELTA_TEXT, 0, m[CONTENT].value);
    }
}

/* Nobody says why it ended. tokens_per_second is of decoding. */
static void read_result(struct reading *r, struct slice stats)
{
    enum { INPUT, OUTPUT, REASONING, RATE, MEMBERS };
    struct member m[MEMBERS] = {
        [INPUT] = {.name = "input_tokens"},
        [OUTPUT] = {.name = "total_output_tokens"},
        [REASONING] = {.name = "reasoning_output_tokens"},
        [RATE] = {.name = "tokens_per_second"},
    };
    reply_members_of(stats, m, MEMBERS);
    reading_emit_text(r, DELTA_FINISH, 0, slice_of("chat.end"));
    struct usage u = {reply_count(m[INPUT].value), reply_count(m[OUTPUT].value), -1,
                      reply_count(m[REASONING].value)};
    reply_emit_usage(r, u, USAGE_STATED);
    reply_emit_rate(r, reply_number(m[RATE].value));
    reading_emit(r, (struct delta){.kind = DELTA_DONE});
}

static void read_end(struct reading *r, struct slice result)
{
    struct member stats = {.name = "stats"};
    reply_members_of(result, &stats, 1);
    read_result(r, stats.value);
}

static bool says(struct reading *r, struct slice type)
{
    enum { TYPE, CONTENT, TOOL, ARGUMENTS, RESULT, ERROR, OUTPUT, STATS, MEMBERS };
    struct member m[MEMBERS] = {
        [TYPE] = {.name = "type"},     [CONTENT] = {.name = "content"},
        [TOOL] = {.name = "tool"},     [ARGUMENTS] = {.name = "arguments"},
        [RESULT] = {.name = "result"}, [ERROR] = {.name = "error"},
        [OUTPUT] = {.name = "output"}, [STATS] = {.name = "stats"},
    };
    if (!reply_members(r->text, m, MEMBERS))
        return false;
    struct slice named = m[TYPE].value.n > 0 ? reply_text(r, m[TYPE].value) : type;
    if (slice_is(named, "message.delta"))
        reply_emit(r, DELTA_TEXT, 0, m[CONTENT].value);
    else if (slice_is(named, "reasoning.delta"))
        reply_emit(r, DELTA_REASONING, 0, m[CONTENT].value);
    else if (slice_is(named, "tool_call.start"))
        reply_emit_name(r, m[TOOL].value);
    else if (slice_is(named, "tool_call.arguments") && reply_is_object(m[ARGUMENTS].value))
        reading_emit_text(r, DELTA_TOOL, 0, m[ARGUMENTS].value);
    else if (slice_is(named, "message.start"))
        reading_emit(r, (struct delta){.kind = DELTA_ROLE});
    else if (slice_is(named, "chat.end"))
        read_end(r, m[RESULT].value);
    reading_error(r, m[ERROR].value);
    if (m[TYPE].value.n == 0 && reply_is_array(m[OUTPUT].value)) { /* the document */
        reply_elements(m[OUTPUT].value, read_item, r);
        read_result(r, m[STATS].value);
    }
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

const struct dialect dialect_lmstudio_chat = {
    .name = "lmstudio-chat",
    .path = "/api/v1/chat",
    .models_path = "/api/v1/models",
    .stream_type = "text/event-stream",
    .claims = claims,
    .recognises = recognises,
    .request = request,
    .event = event,
    .document = document,
    .put_begin = lmstudio_chat_put_begin,
    .put_piece = lmstudio_chat_put_piece,
    .put_finish = lmstudio_chat_put_finish,
    .put_fault = lmstudio_chat_put_fault,
    .put_document = lmstudio_chat_put_document,
    .put_error = lmstudio_chat_put_error,
    .put_models = lmstudio_chat_put_models,
};
