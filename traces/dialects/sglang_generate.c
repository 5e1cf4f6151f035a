/* SGLang's own API (/generate), requests and replies read, written. The text of an event is all so
 * far, unless the server was started with --incremental-streaming-output; counts stand in
 * meta_info, as all so far too. Source: sglang's srt/entrypoints/http_server.py and
 * managers/tokenizer_manager.py. */
#include <string.h>

#include "traces/dialects/asking.h"
#include "traces/dialects/reply.h"
#include "traces/dialects/writing.h"

enum { HAS_PARAMS = 1, HAS_TEXT = 2, HAS_IDS = 4 };

static int claims(struct slice method, struct slice target, struct slice body)
{
    static const char *const names[] = {"sampling_params", "text", "input_ids"};
    struct slice path = asking_path(target);
    if (!slice_is(method, "POST") || !asking_ends(path, "/generate") || asking_known(path))
        return 0;
    unsigned has = asking_members(body, names, 3);
    if ((has & (HAS_TEXT | HAS_IDS)) == 0)
        return 0;
    return (has & HAS_PARAMS) != 0 ? CLAIM_BOTH : CLAIM_SHAPE; /* speech is asked for so too */
}

static bool request(struct slice body, struct arena *a, struct dialect_request *out)
{
    static const struct asking_shape shape = {
        .prompts = {"text", "input_ids"},
        .limits = {"max_new_tokens"},
        .nested = {"sampling_params"},
        .choices = {"n"},
    };
    return asking_read(&shape, body, a, out);
}

static int recognises(struct slice data)
{
    struct member m[] = {{.name = "meta_info"}, {.name = "text"}, {.name = "output_ids"}};
    struct slice object = reading_trimmed(data);
    if (!reply_members(object, m, 3))
        return 0;
    if (reply_is_array(object))
        reply_members_of(reply_first(object), m, 3);
    return reply_is_object(m[0].value) && m[1].value.n + m[2].value.n > 0 ? CLAIM_BOTH : 0;
}

struct answer {
    struct reading *r;
    bool so_far; /* of a stream */
    uint32_t n;  /* answers read so far */
};

/* {"type":"length","length":8}, or its type alone, or null. */
static bool read_finish(struct reading *r, uint32_t choice, struct slice value)
{
    struct member type = {.name = "type"};
    size_t before = r->emitted;
    reply_members_of(value, &type, 1);
    struct slice reason = reply_text(r, type.value.n > 0 ? type.value : value);
    if (slice_is(reason, "abort"))
        reading_error(r, value);
    else if (reason.n > 0)
        reading_emit_text(r, DELTA_FINISH, choice, reason);
    return r->emitted > before;
}

static void read_meta(struct reading *r, uint32_t choice, struct slice value)
{
    enum { PROMPT, COMPLETION, CACHED, FINISH, MEMBERS };
    struct member m[MEMBERS] = {
        [PROMPT] = {.name = "prompt_tokens"},
        [COMPLETION] = {.name = "completion_tokens"},
        [CACHED] = {.name = "cached_tokens"},
        [FINISH] = {.name = "finish_reason"},
    };
    reply_members_of(value, m, MEMBERS);
    bool ended = read_finish(r, choice, m[FINISH].value);
    struct usage u = {reply_count(m[PROMPT].value), reply_count(m[COMPLETION].value),
                      reply_count(m[CACHED].value), -1};
    if (u.prompt >= 0 || u.completion >= 0)
        reading_emit(r, (struct delta){.kind = DELTA_USAGE,
                                       .choice = choice,
                                       .of_choice = true,
                                       .sort = ended ? USAGE_STATED : USAGE_RUNNING,
                                       .usage = u});
}

static void read_ids(const struct answer *a, uint32_t choice, struct slice value)
{
    size_t n = reply_length(value);
    if (n > 0 && n <= UINT32_MAX)
        reading_emit(a->r, (struct delta){.kind = DELTA_TOKENS,
                                          .choice = choice,
                                          .so_far = a->so_far,
                                          .tokens = (uint32_t)n});
}

static void read_answer(void *ctx, struct slice value)
{
    enum { TEXT, META, INDEX, ERROR, IDS, MEMBERS };
    struct member m[MEMBERS] = {
        [TEXT] = {.name = "text"},
        [META] = {.name = "meta_info"},
        [INDEX] = {.name = "index"}, /* of the answer, in a stream of several; else its place */
        [ERROR] = {.name = "error"},
        [IDS] = {.name = "output_ids"}, /* without a tokenizer there is no text */
    };
    struct answer *a = ctx;
    reply_members_of(value, m, MEMBERS);
    int64_t index = reply_count(m[INDEX].value);
    uint32_t choice = index < 0 || index > UINT32_MAX ? a->n : (uint32_t)index;
    a->n++;
    struct slice text = reply_text(a->r, m[TEXT].value);
    if (text.n > 0)
        reading_emit(a->r,
                     (struct delta){
                         .kind = DELTA_TEXT, .choice = choice, .so_far = a->so_far, .text = text});
    else
        read_ids(a, choice, m[IDS].value);
    read_meta(a->r, choice, m[META].value);
    reading_error(a->r, m[ERROR].value);
}

static bool read_all(struct reading *r, bool so_far)
{
    struct member none = {.name = "text"};
    struct answer a = {r, so_far, 0};
    if (!reply_members(r->text, &none, 1))
        return false;
    if (reply_is_array(r->text))
        reply_elements(r->text, read_answer, &a);
    else
        read_answer(&a, r->text);
    return true;
}

static bool event_says(struct reading *r, struct slice type)
{
    (void)type;
    return read_all(r, true);
}

static bool document_says(struct reading *r, struct slice type)
{
    (void)type;
    return read_all(r, false);
}

static int event(const struct event *ev, struct buf *scratch, struct delta_sink out)
{
    return reply_event(ev, scratch, out, event_says);
}

static int document(struct slice body, struct buf *scratch, struct delta_sink out)
{
    return reply_document(body, scratch, out, document_says);
}

/* --- written ------------------------------------------------------------------------------ */

static void put_begin(struct buf *out, const struct dialect_reply *r, struct dialect_writing *w)
{
    (void)out;
    (void)r;
    writing_start(w);
}

static void put_answer(struct jsonw *j, const struct dialect_reply *r, struct slice text,
                       int64_t completion, const char *finish)
{
    jsonw_slice(j, "text", text);
    jsonw_object(j, "meta_info");
    jsonw_text(j, "id", r->id);
    if (finish != NULL) {
        jsonw_object(j, "finish_reason");
        jsonw_text(j, "type", finish);
        jsonw_end(j);
    } else {
        jsonw_null(j, "finish_reason");
    }
    if (r->usage.prompt >= 0)
        jsonw_int(j, "prompt_tokens", r->usage.prompt);
    if (completion >= 0)
        jsonw_int(j, "completion_tokens", completion);
    if (r->usage.cached >= 0)
        jsonw_int(j, "cached_tokens", r->usage.cached);
    jsonw_end(j);
}

static void put_piece(struct buf *out, const struct dialect_reply *r, struct dialect_writing *w,
                      struct dialect_part piece)
{
    struct jsonw j;
    buf_put(&w->text, piece.text.p, piece.text.n);
    writing_open(&j, out, NULL);
    put_answer(&j, r, writing_text(&w->text), ++w->sequence, NULL);
    writing_close(&j, out);
}

static const char *finish_of(const struct dialect_reply *r)
{
    return writing_finish(r->finish, "stop", "length", "stop");
}

static void put_finish(struct buf *out, const struct dialect_reply *r, struct dialect_writing *w)
{
    struct jsonw j;
    writing_open(&j, out, NULL);
    put_answer(&j, r, writing_text(&w->text), r->usage.completion, finish_of(r));
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
    put_answer(&j, r, writing_text(&text), r->usage.completion, finish_of(r));
    jsonw_end(&j);
    buf_done(&text);
}

const struct dialect dialect_sglang_generate = {
    .name = "sglang-generate",
    .path = "/generate",
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
    .put_done = writing_openai_done,
    .put_ping = writing_comment,
    .put_fault = writing_openai_fault,
    .put_document = put_document,
    .put_error = writing_openai_error,
    .put_models = writing_openai_models,
};
