/* Ollama's own API, replies written: one JSON object a line. A tool call goes out whole, in the
 * line behind it. Source: api/types.go and server/routes.go of ollama. */
#include "traces/dialects/ollama.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "traces/base/clock.h"
#include "traces/dialects/writing.h"

static void put_time(struct jsonw *j, const char *key, int64_t t_ns)
{
    struct tm tm;
    time_t t = (time_t)(t_ns / NS_PER_S);
    char text[48] = "1970-01-01T00:00:00Z";
    if (gmtime_r(&t, &tm) != NULL) {
        size_t n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
        snprintf(text + n, sizeof text - n, ".%09" PRId64 "Z", t_ns % NS_PER_S);
    }
    jsonw_text(j, key, text);
}

static void open_line(struct jsonw *j, struct buf *out, const struct dialect_reply *r)
{
    jsonw_init(j, out, 0);
    jsonw_object(j, NULL);
    jsonw_text(j, "model", r->model);
    put_time(j, "created_at", r->at_ns != 0 ? r->at_ns : r->created_s * NS_PER_S);
}

static void close_line(struct jsonw *j, struct buf *out)
{
    jsonw_end(j);
    buf_puts(out, "\n");
}

void ollama_put_begin(struct buf *out, const struct dialect_reply *r, struct dialect_writing *w)
{
    (void)out;
    (void)r;
    writing_start(w);
}

/* Arguments are an object in this dialect; a text that is none is left out. */
static void put_call(struct jsonw *j, struct slice name, struct slice arguments)
{
    struct err e;
    struct json *tree = json_parse(arguments.p, arguments.n, &e);
    jsonw_array(j, "tool_calls");
    jsonw_object(j, NULL);
    jsonw_object(j, "function");
    jsonw_slice(j, "name", name);
    if (tree != NULL)
        jsonw_value(j, "arguments", tree);
    jsonw_end(j);
    jsonw_end(j);
    jsonw_end(j);
    json_free(tree);
}

/* A call that is complete by now: in a line of its own. */
static void put_open_call(struct buf *out, const struct dialect_reply *r, struct dialect_writing *w)
{
    struct jsonw j;
    if (!w->open || w->kind != DELTA_TOOL)
        return;
    open_line(&j, out, r);
    jsonw_object(&j, "message");
    jsonw_text(&j, "role", "assistant");
    jsonw_text(&j, "content", "");
    put_call(&j, writing_text(&w->name), writing_text(&w->text));
    jsonw_end(&j);
    jsonw_bool(&j, "done", false);
    close_line(&j, out);
    w->open = false;
}

static void put_message(struct jsonw *j, enum delta_kind kind, struct slice text)
{
    bool thinks = kind == DELTA_REASONING;
    jsonw_object(j, "message");
    jsonw_text(j, "role", "assistant");
    jsonw_slice(j, "content", thinks ? slice_of("") : text);
    if (thinks)
        jsonw_slice(j, "thinking", text);
    jsonw_end(j);
}

void ollama_chat_put_piece(struct buf *out, const struct dialect_reply *r,
                           struct dialect_writing *w, struct dialect_part piece)
{
    struct jsonw j;
    if (w->kind != piece.kind)
        put_open_call(out, r, w);
    writing_opens(w, piece);
    if (piece.kind == DELTA_TOOL)
        return;
    open_line(&j, out, r);
    put_message(&j, piece.kind, piece.text);
    jsonw_bool(&j, "done", false);
    close_line(&j, out);
}

static void put_count(struct jsonw *j, const char *key, double v)
{
    if (v > 0) /* what is 0 is left out */
        jsonw_int(j, key, llround(v));
}

static void put_last(struct jsonw *j, const struct dialect_reply *r)
{
    const struct server_timings *t = &r->timings;
    jsonw_bool(j, "done", true);
    jsonw_text(j, "done_reason", writing_finish(r->finish, "stop", "length", "stop"));
    if (writing_has_timings(t)) {
        put_count(j, "total_duration", (t->prompt_ms + t->predicted_ms) * 1e6);
        put_count(j, "prompt_eval_duration", t->prompt_ms * 1e6);
        put_count(j, "eval_duration", t->predicted_ms * 1e6);
    }
    put_count(j, "prompt_eval_count", (double)r->usage.prompt);
    put_count(j, "eval_count", (double)r->usage.completion);
}

void ollama_chat_put_finish(struct buf *out, const struct dialect_reply *r,
                            struct dialect_writing *w)
{
    struct jsonw j;
    put_open_call(out, r, w);
    open_line(&j, out, r);
    put_message(&j, DELTA_TEXT, slice_of(""));
    put_last(&j, r);
    close_line(&j, out);
}

void ollama_chat_put_document(struct buf *out, const struct dialect_reply *r,
                              const struct dialect_part *parts, size_t n)
{
    struct jsonw j;
    struct writing_block b;
    bool spoken = false;
    open_line(&j, out, r);
    jsonw_object(&j, "message");
    jsonw_text(&j, "role", "assistant");
    for (size_t at = 0; writing_next(parts, n, &at, &b);) {
        if (b.kind == DELTA_TOOL) {
            put_call(&j, b.name, writing_text(&b.text));
        } else {
            jsonw_slice(&j, b.kind == DELTA_REASONING ? "thinking" : "content",
                        writing_text(&b.text));
            spoken |= b.kind != DELTA_REASONING;
        }
    }
    if (!spoken)
        jsonw_text(&j, "content", "");
    jsonw_end(&j);
    put_last(&j, r);
    jsonw_end(&j);
}

static const char *generate_key(enum delta_kind kind)
{
    return kind == DELTA_REASONING ? "thinking" : "response";
}

/* A tool call is text here. */
void ollama_generate_put_piece(struct buf *out, const struct dialect_reply *r,
                               struct dialect_writing *w, struct dialect_part piece)
{
    struct jsonw j;
    (void)w;
    open_line(&j, out, r);
    if (piece.kind == DELTA_REASONING)
        jsonw_text(&j, "response", "");
    jsonw_slice(&j, generate_key(piece.kind), piece.text);
    jsonw_bool(&j, "done", false);
    close_line(&j, out);
}

void ollama_generate_put_finish(struct buf *out, const struct dialect_reply *r,
                                struct dialect_writing *w)
{
    struct jsonw j;
    (void)w;
    open_line(&j, out, r);
    jsonw_text(&j, "response", "");
    put_last(&j, r);
    close_line(&j, out);
}

void ollama_generate_put_document(struct buf *out, const struct dialect_reply *r,
                                  const struct dialect_part *parts, size_t n)
{
    struct jsonw j;
    struct buf thinking, text;
    writing_split_text(&thinking, &text, parts, n);
    open_line(&j, out, r);
    if (thinking.n > 0)
        jsonw_slice(&j, "thinking", writing_text(&thinking));
    jsonw_slice(&j, "response", writing_text(&text));
    put_last(&j, r);
    jsonw_end(&j);
    buf_done(&thinking);
    buf_done(&text);
}

void ollama_put_error(struct buf *out, int status, const char *message, const char *type)
{
    struct jsonw j;
    (void)status;
    (void)type;
    jsonw_init(&j, out, 0);
    jsonw_object(&j, NULL);
    jsonw_text(&j, "error", message);
    jsonw_end(&j);
}

void ollama_put_fault(struct buf *out, const struct dialect_reply *r, struct dialect_writing *w,
                      const char *message, const char *type)
{
    (void)r;
    (void)w;
    ollama_put_error(out, 500, message, type);
    buf_puts(out, "\n");
}

void ollama_put_models(struct buf *out, const char *const *models, size_t n, int64_t created_s)
{
    struct jsonw j;
    jsonw_init(&j, out, 0);
    jsonw_object(&j, NULL);
    jsonw_array(&j, "models");
    for (size_t i = 0; i < n; i++) {
        jsonw_object(&j, NULL);
        jsonw_text(&j, "name", models[i]);
        jsonw_text(&j, "model", models[i]);
        put_time(&j, "modified_at", created_s * NS_PER_S);
        jsonw_int(&j, "size", 0);
        jsonw_end(&j);
    }
    jsonw_end(&j);
    jsonw_end(&j);
}
