/* LM Studio's own API, replies written. Source: lmstudio.ai/docs/developer/rest. */
#include "traces/dialects/lmstudio_chat.h"
#include "traces/dialects/writing.h"

static void open_event(struct jsonw *j, struct buf *out, const char *type)
{
    writing_open(j, out, type);
    jsonw_text(j, "type", type);
}

static void put_bare(struct buf *out, const char *type)
{
    struct jsonw j;
    open_event(&j, out, type);
    writing_close(&j, out);
}

void lmstudio_chat_put_begin(struct buf *out, const struct dialect_reply *r,
                             struct dialect_writing *w)
{
    struct jsonw j;
    writing_start(w);
    open_event(&j, out, "chat.start");
    jsonw_text(&j, "model_instance_id", r->model);
    writing_close(&j, out);
    put_bare(out, "prompt_processing.start");
}

/* Arguments are an object; a text that is none is left out. */
static void put_arguments(struct jsonw *j, struct slice text)
{
    struct err e;
    struct json *tree = json_parse(text.p, text.n, &e);
    if (tree != NULL)
        jsonw_value(j, "arguments", tree);
    json_free(tree);
}

static void put_item(struct jsonw *j, enum delta_kind kind, struct slice name, struct slice text)
{
    jsonw_object(j, NULL);
    if (kind == DELTA_TOOL) {
        jsonw_text(j, "type", "tool_call");
        jsonw_slice(j, "tool", name);
        put_arguments(j, text);
    } else {
        jsonw_text(j, "type", kind == DELTA_REASONING ? "reasoning" : "message");
        jsonw_slice(j, "content", text);
    }
    jsonw_end(j);
}

static void close_block(struct buf *out, struct dialect_writing *w)
{
    struct jsonw j;
    if (!w->open)
        return;
    struct slice name = writing_text(&w->name), text = writing_text(&w->text);
    if (w->kind == DELTA_TOOL) {
        open_event(&j, out, "tool_call.arguments");
        jsonw_slice(&j, "tool", name);
        put_arguments(&j, text);
        writing_close(&j, out);
    } else {
        put_bare(out, w->kind == DELTA_REASONING ? "reasoning.end" : "message.end");
    }
    if (w->items.n > 0)
        buf_puts(&w->items, ",");
    jsonw_init(&j, &w->items, 0);
    put_item(&j, w->kind, name, text);
    w->open = false;
}

void lmstudio_chat_put_piece(struct buf *out, const struct dialect_reply *r,
                             struct dialect_writing *w, struct dialect_part piece)
{
    struct jsonw j;
    bool thinks = piece.kind == DELTA_REASONING;
    (void)r;
    if (w->sequence++ == 0)
        put_bare(out, "prompt_processing.end");
    if (piece.kind == DELTA_REFUSAL) /* text like any other here */
        piece.kind = DELTA_TEXT;
    if (w->kind != piece.kind)
        close_block(out, w);
    bool opens = writing_opens(w, piece);
    if (piece.kind == DELTA_TOOL) {
        if (!opens)
            return; /* its arguments go out as a whole */
        open_event(&j, out, "tool_call.start");
        jsonw_slice(&j, "tool", piece.text);
    } else {
        if (opens)
            put_bare(out, thinks ? "reasoning.start" : "message.start");
        open_event(&j, out, thinks ? "reasoning.delta" : "message.delta");
        jsonw_slice(&j, "content", piece.text);
    }
    writing_close(&j, out);
}

static void put_stats(struct jsonw *j, const struct dialect_reply *r)
{
    const struct usage *u = &r->usage;
    jsonw_object(j, "stats");
    if (u->prompt >= 0)
        jsonw_int(j, "input_tokens", u->prompt);
    if (u->completion >= 0)
        jsonw_int(j, "total_output_tokens", u->completion);
    if (u->reasoning >= 0)
        jsonw_int(j, "reasoning_output_tokens", u->reasoning);
    if (writing_has_timings(&r->timings)) {
        jsonw_double(j, "tokens_per_second", r->timings.predicted_per_second);
        jsonw_double(j, "time_to_first_token_seconds", r->timings.prompt_ms / 1000);
    }
    jsonw_end(j);
    jsonw_text(j, "response_id", r->id);
}

void lmstudio_chat_put_finish(struct buf *out, const struct dialect_reply *r,
                              struct dialect_writing *w)
{
    struct jsonw j;
    close_block(out, w);
    open_event(&j, out, "chat.end");
    jsonw_object(&j, "result");
    jsonw_text(&j, "model_instance_id", r->model);
    jsonw_array(&j, "output");
    if (w->items.n > 0)
        buf_put(out, w->items.p, w->items.n); /* in the open array */
    jsonw_end(&j);
    put_stats(&j, r);
    jsonw_end(&j);
    writing_close(&j, out);
}

static void put_error_members(struct jsonw *j, const char *message, const char *type)
{
    jsonw_object(j, "error");
    jsonw_text(j, "type", type);
    jsonw_text(j, "message", message);
    jsonw_end(j);
}

void lmstudio_chat_put_fault(struct buf *out, const struct dialect_reply *r,
                             struct dialect_writing *w, const char *message, const char *type)
{
    struct jsonw j;
    (void)r;
    (void)w;
    open_event(&j, out, "error");
    put_error_members(&j, message, type);
    writing_close(&j, out);
}

void lmstudio_chat_put_error(struct buf *out, int status, const char *message, const char *type)
{
    struct jsonw j;
    (void)status;
    jsonw_init(&j, out, 0);
    jsonw_object(&j, NULL);
    put_error_members(&j, message, type);
    jsonw_end(&j);
}

void lmstudio_chat_put_document(struct buf *out, const struct dialect_reply *r,
                                const struct dialect_part *parts, size_t n)
{
    struct jsonw j;
    struct writing_block b;
    jsonw_init(&j, out, 0);
    jsonw_object(&j, NULL);
    jsonw_text(&j, "model_instance_id", r->model);
    jsonw_array(&j, "output");
    for (size_t at = 0; writing_next(parts, n, &at, &b);)
        put_item(&j, b.kind, b.name, writing_text(&b.text));
    jsonw_end(&j);
    put_stats(&j, r);
    jsonw_end(&j);
}

void lmstudio_chat_put_models(struct buf *out, const char *const *models, size_t n,
                              int64_t created_s)
{
    struct jsonw j;
    (void)created_s;
    jsonw_init(&j, out, 0);
    jsonw_object(&j, NULL);
    jsonw_array(&j, "models");
    for (size_t i = 0; i < n; i++) {
        jsonw_object(&j, NULL);
        jsonw_text(&j, "type", "llm");
        jsonw_text(&j, "key", models[i]);
        jsonw_text(&j, "display_name", models[i]);
        jsonw_end(&j);
    }
    jsonw_end(&j);
    jsonw_end(&j);
}
