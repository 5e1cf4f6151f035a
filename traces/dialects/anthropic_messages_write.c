/* Anthropic messages, replies written. A block is opened with its first piece: before, its kind is
 * not known. Source: the API reference. */
#include "traces/dialects/anthropic_messages.h"
#include "traces/dialects/writing.h"

/* The cache's tokens stand beside input_tokens, not in them. */
static void put_usage(struct jsonw *j, const struct usage *u, int64_t output, bool prompt)
{
    int64_t cached = u->cached > 0 ? u->cached : 0;
    jsonw_object(j, "usage");
    if (u->prompt >= 0 && prompt) {
        jsonw_int(j, "input_tokens", u->prompt - cached);
        jsonw_int(j, "cache_creation_input_tokens", 0);
        if (u->cached >= 0)
            jsonw_int(j, "cache_read_input_tokens", cached);
    }
    jsonw_int(j, "output_tokens", output);
    jsonw_end(j);
}

void anthropic_messages_put_ping(struct buf *out)
{
    buf_puts(out, "event: ping\ndata: {\"type\":\"ping\"}\n\n");
}

static void open_event(struct jsonw *j, struct buf *out, const char *type)
{
    writing_open(j, out, type);
    jsonw_text(j, "type", type);
}

void anthropic_messages_put_begin(struct buf *out, const struct dialect_reply *r,
                                  struct dialect_writing *w)
{
    struct jsonw j;
    writing_start(w);
    open_event(&j, out, "message_start");
    jsonw_object(&j, "message");
    jsonw_text(&j, "id", r->id);
    jsonw_text(&j, "type", "message");
    jsonw_text(&j, "role", "assistant");
    jsonw_text(&j, "model", r->model);
    jsonw_array(&j, "content");
    jsonw_end(&j);
    jsonw_null(&j, "stop_reason");
    jsonw_null(&j, "stop_sequence");
    if (r->output_count_only)
        put_usage(&j, &(struct usage){0, 0, -1, -1}, 0, true);
    else
        put_usage(&j, &r->usage, 1, true);
    jsonw_end(&j);
    writing_close(&j, out);
    anthropic_messages_put_ping(out);
}

static void close_block(struct buf *out, struct dialect_writing *w)
{
    struct jsonw j;
    if (!w->open)
        return;
    open_event(&j, out, "content_block_stop");
    jsonw_int(&j, "index", w->index++);
    writing_close(&j, out);
    w->open = false;
}

static void put_block(struct jsonw *j, const char *key, const struct dialect_reply *r,
                      enum delta_kind kind, struct slice name, struct slice text)
{
    jsonw_object(j, key);
    if (kind == DELTA_TOOL) {
        jsonw_text(j, "type", "tool_use");
        jsonw_text(j, "id", r->id);
        jsonw_slice(j, "name", name);
    } else if (kind == DELTA_REASONING) {
        jsonw_text(j, "type", "thinking");
        jsonw_slice(j, "thinking", text);
        jsonw_text(j, "signature", "");
    } else {
        jsonw_text(j, "type", "text");
        jsonw_slice(j, "text", text);
    }
}

static void open_block(struct buf *out, const struct dialect_reply *r, struct dialect_writing *w,
                       struct dialect_part piece)
{
    struct jsonw j;
    open_event(&j, out, "content_block_start");
    jsonw_int(&j, "index", w->index);
    put_block(&j, "content_block", r, piece.kind, piece.text, slice_of(""));
    if (piece.kind == DELTA_TOOL) {
        jsonw_object(&j, "input");
        jsonw_end(&j);
    }
    jsonw_end(&j);
    writing_close(&j, out);
}

void anthropic_messages_put_piece(struct buf *out, const struct dialect_reply *r,
                                  struct dialect_writing *w, struct dialect_part piece)
{
    static const char *const types[] = {[DELTA_TEXT] = "text_delta",
                                        [DELTA_REASONING] = "thinking_delta",
                                        [DELTA_TOOL] = "input_json_delta",
                                        [DELTA_REFUSAL] = "text_delta"};
    static const char *const keys[] = {[DELTA_TEXT] = "text",
                                       [DELTA_REASONING] = "thinking",
                                       [DELTA_TOOL] = "partial_json",
                                       [DELTA_REFUSAL] = "text"};
    struct jsonw j;
    if (!w->open || w->kind != piece.kind) {
        close_block(out, w);
        open_block(out, r, w, piece);
        w->open = true;
        w->kind = piece.kind;
        if (piece.kind == DELTA_TOOL) /* the block names it */
            return;
    }
    open_event(&j, out, "content_block_delta");
    jsonw_int(&j, "index", w->index);
    jsonw_object(&j, "delta");
    jsonw_text(&j, "type", types[piece.kind]);
    jsonw_slice(&j, keys[piece.kind], piece.text);
    jsonw_end(&j);
    writing_close(&j, out);
}

static const char *stop_reason(const struct dialect_reply *r)
{
    return writing_finish(r->finish, "end_turn", "max_tokens", "tool_use");
}

void anthropic_messages_put_finish(struct buf *out, const struct dialect_reply *r,
                                   struct dialect_writing *w)
{
    struct jsonw j;
    close_block(out, w);
    open_event(&j, out, "message_delta");
    jsonw_object(&j, "delta");
    jsonw_text(&j, "stop_reason", stop_reason(r));
    jsonw_null(&j, "stop_sequence");
    jsonw_end(&j);
    if (r->usage.completion >= 0)
        put_usage(&j, &r->usage, r->usage.completion, !r->output_count_only);
    writing_close(&j, out);
}

void anthropic_messages_put_done(struct buf *out, const struct dialect_reply *r,
                                 struct dialect_writing *w)
{
    (void)r;
    (void)w;
    buf_puts(out, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
}

static void put_error_members(struct jsonw *j, const char *message, const char *type)
{
    jsonw_object(j, "error");
    jsonw_text(j, "type", type);
    jsonw_text(j, "message", message);
    jsonw_end(j);
}

void anthropic_messages_put_fault(struct buf *out, const struct dialect_reply *r,
                                  struct dialect_writing *w, const char *message, const char *type)
{
    struct jsonw j;
    (void)r;
    (void)w;
    open_event(&j, out, "error");
    put_error_members(&j, message, type);
    writing_close(&j, out);
}

void anthropic_messages_put_error(struct buf *out, int status, const char *message,
                                  const char *type)
{
    struct jsonw j;
    (void)status;
    jsonw_init(&j, out, 0);
    jsonw_object(&j, NULL);
    jsonw_text(&j, "type", "error");
    put_error_members(&j, message, type);
    jsonw_end(&j);
}

/* A tool's arguments are JSON; text that is none becomes a string. */
static void put_input(struct jsonw *j, struct slice text)
{
    struct err e;
    struct json *tree = json_parse(text.p, text.n, &e);
    if (tree != NULL)
        jsonw_value(j, "input", tree);
    else
        jsonw_slice(j, "input", text);
    json_free(tree);
}

void anthropic_messages_put_document(struct buf *out, const struct dialect_reply *r,
                                     const struct dialect_part *parts, size_t n)
{
    struct jsonw j;
    struct writing_block b;
    jsonw_init(&j, out, 0);
    jsonw_object(&j, NULL);
    jsonw_text(&j, "id", r->id);
    jsonw_text(&j, "type", "message");
    jsonw_text(&j, "role", "assistant");
    jsonw_text(&j, "model", r->model);
    jsonw_array(&j, "content");
    for (size_t at = 0; writing_next(parts, n, &at, &b);) {
        put_block(&j, NULL, r, b.kind, b.name, writing_text(&b.text));
        if (b.kind == DELTA_TOOL)
            put_input(&j, writing_text(&b.text));
        jsonw_end(&j);
    }
    jsonw_end(&j);
    jsonw_text(&j, "stop_reason", stop_reason(r));
    jsonw_null(&j, "stop_sequence");
    if (r->usage.completion >= 0)
        put_usage(&j, &r->usage, r->usage.completion, true);
    jsonw_end(&j);
}

void anthropic_messages_put_models(struct buf *out, const char *const *models, size_t n,
                                   int64_t created_s)
{
    struct jsonw j;
    (void)created_s;
    jsonw_init(&j, out, 0);
    jsonw_object(&j, NULL);
    jsonw_array(&j, "data");
    for (size_t i = 0; i < n; i++) {
        jsonw_object(&j, NULL);
        jsonw_text(&j, "type", "model");
        jsonw_text(&j, "id", models[i]);
        jsonw_text(&j, "display_name", models[i]);
        jsonw_end(&j);
    }
    jsonw_end(&j);
    jsonw_bool(&j, "has_more", false);
    jsonw_end(&j);
}
