/* OpenAI completions (/v1/completions), requests and replies read. Source: the API reference, and
 * what the servers that imitate it send. The id is no help: vllm-mlx and omlx make a new one for
 * each chunk. */
#include "traces/dialects/openai_completions.h"

#include "traces/dialects/asking.h"
#include "traces/dialects/reply.h"
#include "traces/dialects/writing.h"

enum { HAS_PROMPT = 1, HAS_MODEL = 2, HAS_N_PREDICT = 4 };

static int claims(struct slice method, struct slice target, struct slice body)
{
    static const char *const names[] = {"prompt", "model", "n_predict"};
    struct slice path = asking_path(target);
    if (!slice_is(method, "POST") || !asking_ends(path, "/completions") ||
        asking_ends(path, "/chat/completions"))
        return 0;
    unsigned has = asking_members(body, names, 3);
    /* llama-server's own API is at /completions, the one of this dialect at /v1/completions. */
    if (slice_is(path, "/completions"))
        return (has & HAS_N_PREDICT) != 0 || (has & HAS_MODEL) == 0 ? CLAIM_SHAPE : CLAIM_PATH;
    return (has & HAS_PROMPT) != 0 ? CLAIM_BOTH : CLAIM_PATH;
}

static bool request(struct slice body, struct arena *a, struct dialect_request *out)
{
    static const struct asking_shape shape = {
        .prompts = {"prompt", "suffix"},
        .limits = {"max_tokens"},
        .nested = {"stream_options"},
        .choices = {"n"},
        .candidates = "best_of",
    };
    return asking_read(&shape, body, a, out);
}

static int recognises(struct slice data)
{
    struct member m[] = {{.name = "choices"}, {.name = "object"}};
    if (!reply_members(data, m, 2) || !reply_is_array(m[0].value))
        return 0;
    if (reply_is(m[1].value, "text_completion") || reply_is(m[1].value, "text_completion.chunk"))
        return CLAIM_BOTH;
    struct member text = {.name = "text"};
    reply_members_of(reply_first(m[0].value), &text, 1);
    return text.value.n > 0 ? CLAIM_PATH : 0;
}

/* Of one choice. */
static void read_choice(void *ctx, struct slice value)
{
    enum { TEXT, FINISH, INDEX, IDS, REASONING, MEMBERS };
    struct member m[MEMBERS] = {
        [TEXT] = {.name = "text"},           [FINISH] = {.name = "finish_reason"},
        [INDEX] = {.name = "index"},         [IDS] = {.name = "token_ids"}, /* vLLM, when asked */
        [REASONING] = {.name = "reasoning"},
    };
    struct reading *r = ctx;
    reply_members_of(value, m, MEMBERS);
    int64_t index = reply_count(m[INDEX].value);
    uint32_t choice = index < 0 || index > UINT32_MAX ? 0 : (uint32_t)index;
    reply_emit_tokens(r, choice, reply_length(m[IDS].value));
    reply_emit(r, DELTA_REASONING, choice, m[REASONING].value);
    reply_emit(r, DELTA_TEXT, choice, m[TEXT].value);
    bool failed = reading_is_failure(reply_text(r, m[FINISH].value));
    reply_emit(r, failed ? DELTA_ERROR : DELTA_FINISH, choice,
               m[FINISH].value); /* TGI: "" while it goes on */
}

static bool says(struct reading *r, struct slice type)
{
    enum { CHOICES, USAGE, TIMINGS, ERROR, DETAIL, MESSAGE, OBJECT, MEMBERS };
    struct member m[MEMBERS] = {
        [CHOICES] = {.name = "choices"}, [USAGE] = {.name = "usage"},
        [TIMINGS] = {.name = "timings"}, [ERROR] = {.name = "error"},
        [DETAIL] = {.name = "detail"},   [MESSAGE] = {.name = "message"},
        [OBJECT] = {.name = "object"},
    };
    (void)type;
    if (!reply_members(r->text, m, MEMBERS))
        return false;
    reply_elements(m[CHOICES].value, read_choice, r);
    if (m[USAGE].value.n > 0)
        reading_usage(r, m[USAGE].value);
    if (m[TIMINGS].value.n > 0)
        reading_timings(r, m[TIMINGS].value);
    if (m[ERROR].value.n > 0)
        reading_error(r, m[ERROR].value);
    else if (reply_is(m[OBJECT].value, "error")) /* older vLLM */
        reading_error(r, m[MESSAGE].value);
    else if (m[CHOICES].value.n == 0 && m[DETAIL].value.n > 0) /* FastAPI */
        reading_error(r, m[DETAIL].value);
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

const struct dialect dialect_openai_completions = {
    .name = "openai-completions",
    .path = "/v1/completions",
    .models_path = "/v1/models",
    .stream_type = "text/event-stream; charset=utf-8",
    .claims = claims,
    .recognises = recognises,
    .request = request,
    .event = event,
    .document = document,
    .put_begin = openai_completions_put_begin,
    .put_piece = openai_completions_put_piece,
    .put_finish = openai_completions_put_finish,
    .put_usage = openai_completions_put_usage,
    .put_done = writing_openai_done,
    .put_ping = writing_comment,
    .put_fault = writing_openai_fault,
    .put_document = openai_completions_put_document,
    .put_error = writing_openai_error,
    .put_models = writing_openai_models,
};
