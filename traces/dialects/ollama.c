/* Ollama's own API, requests and replies read: a line of JSON a step, the last with done, counts
 * and nanoseconds, of which those that are 0 are left out. Source: api/types.go and docs/api.md of
 * ollama; mlx-serve speaks it too. */
#include "traces/dialects/ollama.h"

#include <math.h>

#include "traces/dialects/asking.h"
#include "traces/dialects/reply.h"

static int claims_path(struct slice method, struct slice target, struct slice body,
                       const char *path)
{
    static const char *const names[] = {"model"};
    if (!slice_is(method, "POST") || !asking_ends(asking_path(target), path))
        return 0;
    /* Web applications like such paths too, and some know their model without being told. */
    if (asking_members(body, names, 1) != 0)
        return CLAIM_EITHER;
    return asking_is_object(body) ? CLAIM_SHAPE : CLAIM_PATH;
}

static int chat_claims(struct slice method, struct slice target, struct slice body)
{
    return claims_path(method, target, body, "/api/chat");
}

static int generate_claims(struct slice method, struct slice target, struct slice body)
{
    return claims_path(method, target, body, "/api/generate");
}

static bool request(struct slice body, struct arena *a, struct dialect_request *out)
{
    static const struct asking_shape shape = {
        .prompts = {"system", "prompt", "messages"},
        .limits = {"num_predict"},
        .nested = {"options"},
    };
    return asking_read(&shape, body, a, out);
}

/* Both forms have model, created_at and done in every line. */
static int recognises(struct slice data, const char *text)
{
    struct member m[] = {
        {.name = "model"}, {.name = "created_at"}, {.name = "done"}, {.name = text}};
    if (!reply_members(data, m, 4) || m[2].value.n == 0 || m[3].value.n == 0)
        return 0;
    return m[0].value.n > 0 && m[1].value.n > 0 ? CLAIM_BOTH : CLAIM_SHAPE;
}

static int chat_recognises(struct slice data)
{
    return recognises(data, "message");
}

static int generate_recognises(struct slice data)
{
    return recognises(data, "response");
}

static void read_call(void *ctx, struct slice value)
{
    struct reading *r = ctx;
    struct member function = {.name = "function"};
    struct member m[] = {{.name = "name"}, {.name = "arguments"}};
    reply_members_of(value, &function, 1);
    reply_members_of(function.value, m, 2);
    reply_emit_name(r, m[0].value);
    if (reply_is_object(m[1].value))
        reading_emit_text(r, DELTA_TOOL, 0, m[1].value);
    else
        reply_emit(r, DELTA_TOOL, 0, m[1].value);
}

/* A message, or a line of generate, which has its members. */
static void read_texts(struct reading *r, struct slice value, const char *text)
{
    struct member m[] = {{.name = "thinking"}, {.name = text}, {.name = "tool_calls"}};
    reply_members_of(value, m, 3);
    reply_emit(r, DELTA_REASONING, 0, m[0].value);
    reply_emit(r, DELTA_TEXT, 0, m[1].value);
    reply_elements(m[2].value, read_call, r);
}

/* What is left out is 0, but a prompt that came whole from the cache had tokens all the same, and
 * how many is not said. */
static void read_counts(struct reading *r, const struct member *counts, const struct member *times)
{
    int64_t prompt = reply_count(counts[0].value), eval = reply_count(counts[1].value);
    double prompt_ns = reply_number(times[0].value), eval_ns = reply_number(times[1].value);
    double load_ns = reply_number(times[2].value), total_ns = reply_number(times[3].value);
    struct usage u = {prompt, eval < 0 ? 0 : eval, -1, -1};
    struct server_timings t = {prompt < 0 ? 0 : (double)prompt,
                               prompt_ns / 1e6,
                               (double)u.completion,
                               eval_ns / 1e6,
                               NAN,
                               load_ns / 1e6,
                               total_ns / 1e6};
    reply_emit_usage(r, u, USAGE_STATED);
    if (isnan(prompt_ns) && isnan(eval_ns))
        return;
    if (eval > 0 && eval_ns > 0)
        t.predicted_per_second = (double)eval / (eval_ns / 1e9);
    reading_emit(r, (struct delta){.kind = DELTA_TIMINGS, .timings = t});
}

/* A request without a prompt loads the model, or unloads it. Older ones have no word for it, but
 * they count and time nothing then. */
static bool only_loads(struct reading *r, struct slice reason, const struct member *counts,
                       size_t n)
{
    bool stated = reason.n > 0;
    for (size_t i = 0; i < n; i++)
        stated |= counts[i].value.n > 0;
    return r->emitted == 0 && (!stated || slice_is(reason, "load") || slice_is(reason, "unload"));
}

static bool says(struct reading *r, struct slice type)
{
    enum { MESSAGE, DONE, REASON, ERROR, COUNTS, TIMES = COUNTS + 2, MEMBERS = TIMES + 4 };
    struct member m[MEMBERS] = {
        [MESSAGE] = {.name = "message"},
        [DONE] = {.name = "done"},
        [REASON] = {.name = "done_reason"},
        [ERROR] = {.name = "error"},
        [COUNTS] = {.name = "prompt_eval_count"},
        [COUNTS + 1] = {.name = "eval_count"},
        [TIMES] = {.name = "prompt_eval_duration"},
        [TIMES + 1] = {.name = "eval_duration"},
        [TIMES + 2] = {.name = "load_duration"},
        [TIMES + 3] = {.name = "total_duration"},
    };
    (void)type;
    if (!reply_members(r->text, m, MEMBERS))
        return false;
    read_texts(r, m[MESSAGE].value, "content");
    read_texts(r, r->text, "response");
    reading_error(r, m[ERROR].value);
    if (!slice_is(m[DONE].value, "true"))
        return true;
    struct slice reason = reply_text(r, m[REASON].value); /* none in older ones */
    if (only_loads(r, reason, &m[COUNTS], MEMBERS - COUNTS))
        reading_emit_text(r, DELTA_LOADED, 0, reason);
    reading_emit_text(r, DELTA_FINISH, 0, reason.n > 0 ? reason : slice_of("done"));
    read_counts(r, &m[COUNTS], &m[TIMES]);
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

const struct dialect dialect_ollama_chat = {
    .name = "ollama-chat",
    .path = "/api/chat",
    .models_path = "/api/tags",
    .stream_type = "application/x-ndjson",
    .streams = true,
    .claims = chat_claims,
    .recognises = chat_recognises,
    .request = request,
    .event = event,
    .document = document,
    .put_begin = ollama_put_begin,
    .put_piece = ollama_chat_put_piece,
    .put_finish = ollama_chat_put_finish,
    .put_fault = ollama_put_fault,
    .put_document = ollama_chat_put_document,
    .put_error = ollama_put_error,
    .put_models = ollama_put_models,
};

const struct dialect dialect_ollama_generate = {
    .name = "ollama-generate",
    .path = "/api/generate",
    .models_path = "/api/tags",
    .stream_type = "application/x-ndjson",
    .streams = true,
    .claims = generate_claims,
    .recognises = generate_recognises,
    .request = request,
    .event = event,
    .document = document,
    .put_begin = ollama_put_begin,
    .put_piece = ollama_generate_put_piece,
    .put_finish = ollama_generate_put_finish,
    .put_fault = ollama_put_fault,
    .put_document = ollama_generate_put_document,
    .put_error = ollama_put_error,
    .put_models = ollama_put_models,
};
