/* OpenAI responses, requests and replies read. Only deltas are new text: the .done events and the
 * last one repeat all of it. Source: the API reference, and what the servers that imitate it send.
 */
#include "traces/dialects/openai_responses.h"

#include <string.h>

#include "traces/dialects/asking.h"
#include "traces/dialects/reply.h"
#include "traces/dialects/writing.h"

static int claims(struct slice method, struct slice target, struct slice body)
{
    static const char *const names[] = {"input"};
    struct slice path = asking_path(target);
    if (!slice_is(method, "POST") || !asking_ends(path, "/responses"))
        return 0;
    if (asking_members(body, names, 1) != 0)
        return CLAIM_BOTH;
    /* A survey's are sent to such a path too; without an input there may be a kept prompt. */
    bool own = slice_is(path, "/responses") || asking_ends(path, "/v1/responses");
    return own || !asking_is_object(body) ? CLAIM_PATH : CLAIM_SHAPE;
}

static bool request(struct slice body, struct arena *a, struct dialect_request *out)
{
    static const struct asking_shape shape = {
        .prompts = {"instructions", "input"},
        .limits = {"max_output_tokens"},
    };
    return asking_read(&shape, body, a, out);
}

static int recognises(struct slice data)
{
    struct member m[] = {{.name = "type"}, {.name = "object"}};
    if (!reply_members(data, m, 2))
        return 0;
    if (reply_starts(m[0].value, "response."))
        return CLAIM_BOTH;
    return reply_is(m[1].value, "response") ? CLAIM_BOTH : 0;
}

static void read_usage(struct reading *r, struct slice value)
{
    enum { INPUT, OUTPUT, TOTAL, INPUT_DETAILS, OUTPUT_DETAILS, MEMBERS };
    struct member m[MEMBERS] = {
        [INPUT] = {.name = "input_tokens"},
        [OUTPUT] = {.name = "output_tokens"},
        [TOTAL] = {.name = "total_tokens"},
        [INPUT_DETAILS] = {.name = "input_tokens_details"},
        [OUTPUT_DETAILS] = {.name = "output_tokens_details"},
    };
    struct member cached = {.name = "cached_tokens"}, reasoning = {.name = "reasoning_tokens"};
    reply_members_of(value, m, MEMBERS);
    reply_members_of(m[INPUT_DETAILS].value, &cached, 1);
    reply_members_of(m[OUTPUT_DETAILS].value, &reasoning, 1);
    struct usage u = {reply_count(m[INPUT].value), reply_count(m[OUTPUT].value),
                      reply_count(cached.value), reply_count(reasoning.value)};
    int64_t total = reply_count(m[TOTAL].value);
    if (u.prompt >= 0 || u.completion >= 0)
        reading_emit(
            r, (struct delta){.kind = DELTA_USAGE, .usage = u, .total = total > 0 ? total : 0});
}

/* --- documents: what the last event repeats ----------------------------------------------- */

struct texts {
    struct reading *r;
    bool reasoning;
};

static void read_part(void *ctx, struct slice value)
{
    struct texts *t = ctx;
    struct member m[] = {{.name = "text"}, {.name = "refusal"}};
    reply_members_of(value, m, 2);
    reply_emit(t->r, t->reasoning ? DELTA_REASONING : DELTA_TEXT, 0, m[0].value);
    reply_emit(t->r, DELTA_REFUSAL, 0, m[1].value);
}

static bool is_call(struct slice type)
{
    return reply_is(type, "function_call") || reply_is(type, "custom_tool_call") ||
           reply_is(type, "mcp_call");
}

static void read_item(void *ctx, struct slice value)
{
    enum { TYPE, CONTENT, SUMMARY, NAME, ARGUMENTS, INPUT, MEMBERS };
    struct member m[MEMBERS] = {
        [TYPE] = {.name = "type"},           [CONTENT] = {.name = "content"},
        [SUMMARY] = {.name = "summary"},     [NAME] = {.name = "name"},
        [ARGUMENTS] = {.name = "arguments"}, [INPUT] = {.name = "input"},
    };
    reply_members_of(value, m, MEMBERS);
    struct texts t = {ctx, reply_is(m[TYPE].value, "reasoning")};
    if (is_call(m[TYPE].value)) {
        reply_emit_name(t.r, m[NAME].value);
        reply_emit(t.r, DELTA_TOOL, 0, m[ARGUMENTS].value);
        reply_emit(t.r, DELTA_TOOL, 0, m[INPUT].value);
        return;
    }
    reply_elements(m[SUMMARY].value, read_part, &t);
    reply_elements(m[CONTENT].value, read_part, &t);
}

/* A response object: the whole document, or that of an event that ends a stream (its output has
 * been sent before, piece by piece). completed: the event's name says so. */
static void read_response(struct reading *r, struct slice value, bool whole, bool completed)
{
    enum { STATUS, OUTPUT, USAGE, ERROR, INCOMPLETE, MEMBERS };
    struct member m[MEMBERS] = {
        [STATUS] = {.name = "status"},
        [OUTPUT] = {.name = "output"},
        [USAGE] = {.name = "usage"},
        [ERROR] = {.name = "error"},
        [INCOMPLETE] = {.name = "incomplete_details"},
    };
    reply_members_of(value, m, MEMBERS);
    if (whole)
        reply_elements(m[OUTPUT].value, read_item, r);
    if (reply_is(m[STATUS].value, "incomplete")) {
        struct member reason = {.name = "reason"};
        reply_members_of(m[INCOMPLETE].value, &reason, 1);
        struct slice text = reply_text(r, reason.value);
        reading_emit_text(r, DELTA_FINISH, 0, text.n > 0 ? text : slice_of("incomplete"));
    } else if (reply_is(m[STATUS].value, "completed") || (completed && m[STATUS].value.n == 0)) {
        reading_emit_text(r, DELTA_FINISH, 0, slice_of("completed"));
    }
    read_usage(r, m[USAGE].value);
    reading_error(r, m[ERROR].value);
    if (r->errors == 0 &&
        (reply_is(m[STATUS].value, "failed") || reply_is(m[STATUS].value, "cancelled")))
        reply_emit(r, DELTA_ERROR, 0, m[STATUS].value);
}

/* --- events ------------------------------------------------------------------------------- */

static const struct {
    const char *type;
    enum delta_kind kind;
} deltas[] = {
    {"response.output_text.delta", DELTA_TEXT},
    {"response.refusal.delta", DELTA_REFUSAL},
    {"response.reasoning_text.delta", DELTA_REASONING},
    {"response.reasoning_summary_text.delta", DELTA_REASONING},
    {"response.reasoning.delta", DELTA_REASONING},
    {"response.reasoning_summary.delta", DELTA_REASONING},
    {"response.function_call_arguments.delta", DELTA_TOOL},
    {"response.mcp_call_arguments.delta", DELTA_TOOL},
    {"response.custom_tool_call_input.delta", DELTA_TOOL},
    {"response.code_interpreter_call_code.delta", DELTA_TOOL},
};

/* A text, or (some reasoning events) an object with one. */
static bool read_delta(struct reading *r, struct slice type, struct slice value)
{
    struct member text = {.name = "text"};
    size_t i = 0;
    while (i < sizeof deltas / sizeof *deltas && !slice_is(type, deltas[i].type))
        i++;
    if (i == sizeof deltas / sizeof *deltas)
        return false;
    reply_members_of(value, &text, 1);
    reply_emit(r, deltas[i].kind, 0, text.value.n > 0 ? text.value : value);
    return true;
}

static void read_added(struct reading *r, struct slice item)
{
    struct member m[] = {{.name = "type"}, {.name = "name"}, {.name = "role"}};
    reply_members_of(item, m, 3);
    if (is_call(m[0].value))
        reply_emit_name(r, m[1].value);
    else if (m[2].value.n > 0)
        reading_emit(r, (struct delta){.kind = DELTA_ROLE});
}

/* The first one follows response.created; those that come again are Rapid-MLX's heartbeat. */
static void read_progress(struct reading *r, struct slice sequence)
{
    int64_t n = reply_count(sequence);
    if (n < 0 || n > 2)
        reading_emit(r, (struct delta){.kind = DELTA_PING});
}

static bool ends(struct slice type)
{
    return slice_is(type, "response.completed") || slice_is(type, "response.incomplete") ||
           slice_is(type, "response.failed") || slice_is(type, "response.done");
}

static bool says(struct reading *r, struct slice type)
{
    enum {
        TYPE,
        DELTA,
        ITEM,
        RESPONSE,
        ERROR,
        MESSAGE,
        OBJECT,
        SEQUENCE,
        DETAIL,
        TIMINGS,
        MEMBERS
    };
    struct member m[MEMBERS] = {
        [TYPE] = {.name = "type"},     [DELTA] = {.name = "delta"},
        [ITEM] = {.name = "item"},     [RESPONSE] = {.name = "response"},
        [ERROR] = {.name = "error"},   [MESSAGE] = {.name = "message"},
        [OBJECT] = {.name = "object"}, [SEQUENCE] = {.name = "sequence_number"},
        [DETAIL] = {.name = "detail"}, [TIMINGS] = {.name = "timings"}, /* llama-server */
    };
    if (!reply_members(r->text, m, MEMBERS))
        return false;
    struct slice named = m[TYPE].value.n > 0 ? reply_text(r, m[TYPE].value) : type;
    if (reply_is(m[OBJECT].value, "response")) {
        read_response(r, r->text, true, false);
        reading_timings(r, m[TIMINGS].value);
        return true;
    }
    if (slice_is(named, "response.output_item.added"))
        read_added(r, m[ITEM].value);
    else if (slice_is(named, "response.in_progress") || slice_is(named, "response.queued"))
        read_progress(r, m[SEQUENCE].value);
    else if (slice_is(named, "error") && m[ERROR].value.n == 0)
        reading_error(r, r->text);
    else if (ends(named))
        read_response(r, m[RESPONSE].value, false, slice_is(named, "response.completed"));
    else
        read_delta(r, named, m[DELTA].value);
    reading_timings(r, m[TIMINGS].value);
    reading_error(r, m[ERROR].value);
    if (slice_is(named, "response.failed") && r->errors == 0)
        reading_emit_text(r, DELTA_ERROR, 0, slice_of("failed"));
    if (r->emitted == 0 && m[TYPE].value.n == 0)
        reading_error(r, m[DETAIL].value);
    if (ends(named))
        reading_emit(r, (struct delta){.kind = DELTA_DONE});
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

const struct dialect dialect_openai_responses = {
    .name = "openai-responses",
    .path = "/v1/responses",
    .models_path = "/v1/models",
    .stream_type = "text/event-stream; charset=utf-8",
    .claims = claims,
    .recognises = recognises,
    .request = request,
    .event = event,
    .document = document,
    .put_begin = openai_responses_put_begin,
    .put_piece = openai_responses_put_piece,
    .put_finish = openai_responses_put_finish,
    .put_done = openai_responses_put_done,
    .put_ping = writing_comment,
    .put_fault = openai_responses_put_fault,
    .put_document = openai_responses_put_document,
    .put_error = writing_openai_error,
    .put_models = writing_openai_models,
};
