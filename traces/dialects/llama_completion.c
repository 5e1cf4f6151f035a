/* llama-server's own completion API (/completion, /completions), requests and replies read,
 * written. A line has "content" and "stop"; only the one that stops has the clock. No end mark.
 * Source: tools/server/README.md and server-task.cpp of llama.cpp; ik_llama.cpp may send [DONE]. */
#include <math.h>
#include <string.h>

#include "traces/dialects/asking.h"
#include "traces/dialects/reply.h"
#include "traces/dialects/writing.h"

enum { HAS_PROMPT = 1, HAS_MODEL = 2, HAS_N_PREDICT = 4 };

static int claims(struct slice method, struct slice target, struct slice body)
{
    static const char *const names[] = {"prompt", "model", "n_predict"};
    struct slice path = asking_path(target);
    if (!slice_is(method, "POST"))
        return 0;
    if (!asking_ends(path, "/completion") && !slice_is(path, "/completions"))
        return 0;
    unsigned has = asking_members(body, names, 3);
    if (asking_ends(path, "/completion") || (has & HAS_N_PREDICT) != 0)
        return (has & HAS_PROMPT) != 0 ? CLAIM_BOTH : CLAIM_PATH;
    return (has & HAS_MODEL) == 0 ? CLAIM_EITHER : CLAIM_SHAPE; /* or OpenAI's, behind a proxy */
}

static bool request(struct slice body, struct arena *a, struct dialect_request *out)
{
    static const struct asking_shape shape = {
        .prompts = {"prompt"},
        .limits = {"max_tokens", "n_predict"},
        .choices = {"n", "n_cmpl"},
    };
    return asking_read(&shape, body, a, out);
}

static int recognises(struct slice data)
{
    struct member m[] = {
        {.name = "content"}, {.name = "stop"}, {.name = "tokens_predicted"}, {.name = "id_slot"}};
    if (!reply_members(data, m, 4) || m[0].value.n == 0 || m[1].value.n == 0)
        return 0;
    return m[2].value.n + m[3].value.n > 0 ? CLAIM_BOTH : CLAIM_EITHER;
}

enum part {
    CONTENT,
    TOKENS,
    STOP,
    STOP_TYPE,
    INDEX,
    PREDICTED,
    EVALUATED,
    TIMINGS,
    ERROR,
    STOPPED_EOS, /* of builds before stop_type */
    STOPPED_LIMIT,
    STOPPED_WORD,
    PARTS
};

static struct slice finish_of(struct reading *r, const struct member *m)
{
    static const char *const words[] = {"eos", "limit", "word"};
    struct slice type = reply_text(r, m[STOP_TYPE].value);
    if (type.n > 0)
        return type;
    for (size_t i = 0; i < 3; i++) {
        if (slice_is(m[STOPPED_EOS + i].value, "true"))
            return slice_of(words[i]);
    }
    return slice_of("stop");
}

/* tokens_evaluated is the whole prompt, timings.prompt_n what was not in the cache; tokens_cached
 * is what the cache holds at the end, and no part of the prompt. All are of one prompt's answer. */
static void read_counts(struct reading *r, uint32_t choice, const struct member *m, bool stop)
{
    struct member cached = {.name = "cache_n"};
    reply_members_of(m[TIMINGS].value, &cached, 1);
    struct usage u = {reply_count(m[EVALUATED].value), reply_count(m[PREDICTED].value),
                      reply_count(cached.value), -1};
    if (u.completion == 0 && !stop) /* not counted yet */
        u.completion = -1;
    if (u.prompt >= 0 || u.completion >= 0 || u.cached >= 0)
        reading_emit(r, (struct delta){.kind = DELTA_USAGE,
                                       .choice = choice,
                                       .of_choice = true,
                                       .sort = stop ? USAGE_STATED : USAGE_RUNNING,
                                       .usage = u});
}

struct results {
    struct reading *r;
    uint32_t n; /* read so far */
};

static void read_result(void *ctx, struct slice value)
{
    struct member m[PARTS] = {
        [CONTENT] = {.name = "content"},
        [TOKENS] = {.name = "tokens"}, /* filled if asked for */
        [STOP] = {.name = "stop"},
        [STOP_TYPE] = {.name = "stop_type"},
        [INDEX] = {.name = "index"},
        [PREDICTED] = {.name = "tokens_predicted"},
        [EVALUATED] = {.name = "tokens_evaluated"},
        [TIMINGS] = {.name = "timings"},
        [ERROR] = {.name = "error"},
        [STOPPED_EOS] = {.name = "stopped_eos"},
        [STOPPED_LIMIT] = {.name = "stopped_limit"},
        [STOPPED_WORD] = {.name = "stopped_word"},
    };
    struct results *all = ctx;
    struct reading *r = all->r;
    reply_members_of(value, m, PARTS);
    bool stop = slice_is(m[STOP].value, "true");
    int64_t index = reply_count(m[INDEX].value);
    uint32_t choice = index < 0 || index > UINT32_MAX ? all->n : (uint32_t)index;
    all->n++;
    reply_emit_tokens(r, choice, reply_length(m[TOKENS].value));
    reply_emit(r, DELTA_TEXT, choice, m[CONTENT].value);
    if (stop)
        reading_emit_text(r, DELTA_FINISH, choice, finish_of(r, m));
    read_counts(r, choice, m, stop);
    if (m[TIMINGS].value.n > 0)
        reading_timings(r, m[TIMINGS].value);
    reading_error(r, m[ERROR].value);
    if (stop)
        reading_emit(r, (struct delta){.kind = DELTA_DONE});
}

/* Several prompts of one request are answered in a list. */
static bool says(struct reading *r, struct slice type)
{
    struct member none = {.name = "content"};
    struct results all = {r, 0};
    (void)type;
    if (!reply_members(r->text, &none, 1))
        return false;
    if (reply_is_array(r->text))
        reply_elements(r->text, read_result, &all);
    else
        read_result(&all, r->text);
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

/* --- written ------------------------------------------------------------------------------ */

static void put_begin(struct buf *out, const struct dialect_reply *r, struct dialect_writing *w)
{
    (void)out;
    (void)r;
    writing_start(w);
}

static void put_piece(struct buf *out, const struct dialect_reply *r, struct dialect_writing *w,
                      struct dialect_part piece)
{
    struct jsonw j;
    w->sequence++;
    writing_open(&j, out, NULL);
    jsonw_int(&j, "index", 0);
    jsonw_slice(&j, "content", piece.text);
    jsonw_array(&j, "tokens");
    jsonw_end(&j);
    jsonw_bool(&j, "stop", false);
    jsonw_int(&j, "id_slot", 0);
    jsonw_int(&j, "tokens_predicted", w->sequence);
    if (r->usage.prompt >= 0)
        jsonw_int(&j, "tokens_evaluated", r->usage.prompt);
    writing_close(&j, out);
}

static void put_result(struct jsonw *j, const struct dialect_reply *r, struct slice text)
{
    jsonw_int(j, "index", 0);
    jsonw_slice(j, "content", text);
    jsonw_array(j, "tokens");
    jsonw_end(j);
    jsonw_int(j, "id_slot", 0);
    jsonw_bool(j, "stop", true);
    jsonw_text(j, "model", r->model);
    if (r->usage.completion >= 0)
        jsonw_int(j, "tokens_predicted", r->usage.completion);
    if (r->usage.prompt >= 0)
        jsonw_int(j, "tokens_evaluated", r->usage.prompt);
    jsonw_bool(j, "truncated", false);
    jsonw_text(j, "stop_type", writing_finish(r->finish, "eos", "limit", "eos"));
    jsonw_text(j, "stopping_word", "");
    writing_llama_timings(j, r);
}

static void put_finish(struct buf *out, const struct dialect_reply *r, struct dialect_writing *w)
{
    struct jsonw j;
    (void)w;
    writing_open(&j, out, NULL);
    put_result(&j, r, slice_of(""));
    writing_close(&j, out);
}

static void put_document(struct buf *out, const struct dialect_reply *r,
                         const struct dialect_part *parts, size_t n)
{
    struct jsonw j;
    struct buf text;
    writing_all_text(&text, parts, n);
    jsonw_init(&j, out, 0);
    jsonw_object(&j, NULL);
    put_result(&j, r, writing_text(&text));
    jsonw_end(&j);
    buf_done(&text);
}

static void put_error_object(struct jsonw *j, int status, const char *message, const char *type)
{
    jsonw_object(j, "error");
    jsonw_int(j, "code", status);
    jsonw_text(j, "message", message);
    jsonw_text(j, "type", type);
    jsonw_end(j);
}

static void put_error(struct buf *out, int status, const char *message, const char *type)
{
    struct jsonw j;
    jsonw_init(&j, out, 0);
    jsonw_object(&j, NULL);
    put_error_object(&j, status, message, type);
    jsonw_end(&j);
}

static void put_fault(struct buf *out, const struct dialect_reply *r, struct dialect_writing *w,
                      const char *message, const char *type)
{
    struct jsonw j;
    (void)r;
    (void)w;
    writing_open(&j, out, NULL);
    put_error_object(&j, 500, message, type);
    writing_close(&j, out);
}

/* A bare colon (tools/server/server-http.cpp). */
static void put_ping(struct buf *out)
{
    buf_puts(out, ":\n\n");
}

const struct dialect dialect_llama_completion = {
    .name = "llama-completion",
    .path = "/completion",
    .models_path = "/v1/models",
    .stream_type = "text/event-stream",
    .claims = claims,
    .recognises = recognises,
    .request = request,
    .event = event,
    .document = document,
    .put_begin = put_begin,
    .put_piece = put_piece,
    .put_finish = put_finish,
    .put_ping = put_ping,
    .put_fault = put_fault,
    .put_document = put_document,
    .put_error = put_error,
    .put_models = writing_openai_models,
};
