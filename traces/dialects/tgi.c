/* Hugging Face TGI's own API (/generate_stream, /generate), requests and replies read, written. An
 * event is a token, with its id; the last has generated_text, which repeats all of it. No end mark.
 * Source: router/src/{lib,server,infer}.rs of text-generation-inference. */
#include "traces/dialects/asking.h"
#include "traces/dialects/reply.h"
#include "traces/dialects/writing.h"

enum { HAS_INPUTS = 1, EOS_ID = 2 };

static int claims(struct slice method, struct slice target, struct slice body)
{
    static const char *const names[] = {"inputs"};
    struct slice path = asking_path(target);
    if (!slice_is(method, "POST") || asking_known(path))
        return 0;
    bool inputs = asking_members(body, names, 1) != 0;
    if (asking_ends(path, "/generate_stream"))
        return inputs ? CLAIM_BOTH : CLAIM_PATH;
    if (asking_ends(path, "/generate"))
        return inputs ? CLAIM_EITHER : 0;
    return inputs ? CLAIM_SHAPE : 0; /* at "/" and /invocations classifiers are asked so too */
}

static bool request(struct slice body, struct arena *a, struct dialect_request *out)
{
    static const struct asking_shape shape = {
        .prompts = {"inputs"},
        .limits = {"max_new_tokens"},
        .nested = {"parameters"},
    };
    return asking_read(&shape, body, a, out);
}

static int recognises(struct slice data)
{
    struct member m[] = {{.name = "token"}, {.name = "generated_text"}};
    struct slice object = reading_trimmed(data);
    if (!reply_members(object, m, 2))
        return 0;
    if (reply_is_array(object))
        reply_members_of(reply_first(object), m, 2);
    if (m[1].value.n == 0)
        return 0;
    return m[0].value.n > 0 || m[1].value.p[0] == '"' ? CLAIM_BOTH : 0;
}

/* One answer, in a stream or whole. */
struct answer {
    struct reading *r;
    uint32_t choice;
};

/* A special token (</s>) is no text, but it was generated. Of details' lists too. */
static bool read_token(const struct answer *a, struct slice value)
{
    struct member m[] = {{.name = "id"}, {.name = "text"}, {.name = "special"}};
    if (!reply_is_object(value))
        return false;
    reply_members_of(value, m, 3);
    reply_emit_tokens(a->r, a->choice, reply_count(m[0].value) >= 0);
    if (!slice_is(m[2].value, "true"))
        reply_emit(a->r, DELTA_TEXT, a->choice, m[1].value);
    return true;
}

/* Of the last event, or the document; without details nobody says why it ended. */
static void read_end(const struct answer *a, struct slice details)
{
    enum { REASON, GENERATED, INPUT, PREFILL, MEMBERS };
    struct member m[MEMBERS] = {
        [REASON] = {.name = "finish_reason"},
        [GENERATED] = {.name = "generated_tokens"},
        [INPUT] = {.name = "input_length"},
        [PREFILL] = {.name = "prefill"}, /* the prompt's tokens, if asked for */
    };
    reply_members_of(details, m, MEMBERS);
    struct slice reason = reply_text(a->r, m[REASON].value);
    reading_emit_text(a->r, DELTA_FINISH, a->choice,
                      reason.n > 0 ? reason : slice_of("generated_text"));
    struct usage u = {reply_count(m[INPUT].value), reply_count(m[GENERATED].value), -1, -1};
    if (u.prompt < 0 && reply_length(m[PREFILL].value) > 0)
        u.prompt = (int64_t)reply_length(m[PREFILL].value);
    reply_emit_usage(a->r, u, USAGE_STATED);
    reading_emit(a->r, (struct delta){.kind = DELTA_DONE});
}

static void read_answer(void *ctx, struct slice value)
{
    enum { TOKEN, TEXT, DETAILS, ERROR, MEMBERS };
    struct member m[MEMBERS] = {
        [TOKEN] = {.name = "token"},
        [TEXT] = {.name = "generated_text"},
        [DETAILS] = {.name = "details"},
        [ERROR] = {.name = "error"}, /* a text beside error_type, or an object */
    };
    struct answer *a = ctx;
    reply_members_of(value, m, MEMBERS);
    bool streamed = read_token(a, m[TOKEN].value);
    if (!streamed)
        reply_emit(a->r, DELTA_TEXT, a->choice, m[TEXT].value);
    if (m[TEXT].value.n > 0 && m[TEXT].value.p[0] == '"')
        read_end(a, m[DETAILS].value);
    reading_error(a->r, m[ERROR].value);
    a->choice++;
}

static bool says(struct reading *r, struct slice type)
{
    struct member none = {.name = "token"};
    struct answer a = {.r = r};
    (void)type;
    if (!reply_members(r->text, &none, 1))
        return false;
    if (reply_is_array(r->text)) /* the answer at "/" */
        reply_elements(r->text, read_answer, &a);
    else
        read_answer(&a, r->text);
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

/* An id for a piece of ours, as good as any: it is the same for the same text. */
static int64_t id_of(struct slice text)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < text.n; i++)
        h = (h ^ (unsigned char)text.p[i]) * 16777619u;
    return 3 + h % 32000;
}

static void put_token(struct jsonw *j, struct dialect_writing *w, int64_t id, struct slice text,
                      bool special)
{
    jsonw_int(j, "index", ++w->sequence);
    jsonw_object(j, "token");
    jsonw_int(j, "id", id);
    jsonw_slice(j, "text", text);
    jsonw_double(j, "logprob", 0);
    jsonw_bool(j, "special", special);
    jsonw_end(j);
}

static void put_piece(struct buf *out, const struct dialect_reply *r, struct dialect_writing *w,
                      struct dialect_part piece)
{
    struct jsonw j;
    (void)r;
    buf_put(&w->text, piece.text.p, piece.text.n);
    writing_open(&j, out, NULL);
    put_token(&j, w, id_of(piece.text), piece.text, false);
    jsonw_null(&j, "generated_text");
    jsonw_null(&j, "details");
    writing_close(&j, out);
}

static void put_details(struct jsonw *j, const struct dialect_reply *r, bool with_input)
{
    jsonw_object(j, "details");
    jsonw_text(j, "finish_reason", writing_finish(r->finish, "eos_token", "length", "eos_token"));
    if (r->usage.completion >= 0)
        jsonw_int(j, "generated_tokens", r->usage.completion);
    jsonw_null(j, "seed");
    if (with_input && r->usage.prompt >= 0)
        jsonw_int(j, "input_length", r->usage.prompt);
    jsonw_end(j);
}

static void put_finish(struct buf *out, const struct dialect_reply *r, struct dialect_writing *w)
{
    struct jsonw j;
    writing_open(&j, out, NULL);
    put_token(&j, w, EOS_ID, slice_of("</s>"), true);
    jsonw_slice(&j, "generated_text", writing_text(&w->text));
    put_details(&j, r, true);
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
    jsonw_slice(&j, "generated_text", writing_text(&text));
    put_details(&j, r, false);
    jsonw_end(&j);
    buf_done(&text);
}

static void put_error(struct buf *out, int status, const char *message, const char *type)
{
    struct jsonw j;
    (void)status;
    jsonw_init(&j, out, 0);
    jsonw_object(&j, NULL);
    jsonw_text(&j, "error", message);
    jsonw_text(&j, "error_type", type);
    jsonw_end(&j);
}

static void put_fault(struct buf *out, const struct dialect_reply *r, struct dialect_writing *w,
                      const char *message, const char *type)
{
    (void)r;
    (void)w;
    buf_puts(out, "data: ");
    put_error(out, 500, message, type);
    buf_puts(out, "\n\n");
}

/* axum's: an empty comment. */
static void put_ping(struct buf *out)
{
    buf_puts(out, ":\n\n");
}

const struct dialect dialect_tgi = {
    .name = "tgi",
    .path = "/generate_stream",
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
