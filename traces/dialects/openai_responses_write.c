/* OpenAI responses, replies written: items of one part each, and at the end all of them again.
 * Source: the API reference. */
#include <inttypes.h>
#include <string.h>

#include "traces/dialects/openai_responses.h"
#include "traces/dialects/writing.h"
#include "traces/limits.h"

static void open_event(struct jsonw *j, struct buf *out, struct dialect_writing *w,
                       const char *type)
{
    writing_open(j, out, type);
    jsonw_text(j, "type", type);
    jsonw_int(j, "sequence_number", w->sequence++);
}

static void put_usage(struct jsonw *j, const struct usage *u)
{
    if (u->prompt < 0) {
        jsonw_null(j, "usage");
        return;
    }
    jsonw_object(j, "usage");
    jsonw_int(j, "input_tokens", u->prompt);
    jsonw_object(j, "input_tokens_details");
    if (u->cached >= 0)
        jsonw_int(j, "cached_tokens", u->cached);
    jsonw_end(j);
    jsonw_int(j, "output_tokens", u->completion);
    jsonw_object(j, "output_tokens_details");
    if (u->reasoning >= 0)
        jsonw_int(j, "reasoning_tokens", u->reasoning);
    jsonw_end(j);
    jsonw_int(j, "total_tokens", u->prompt + u->completion);
    jsonw_end(j);
}

/* Members of the response object up to "output", whose array stays open. */
static void open_response(struct jsonw *j, const struct dialect_reply *r, const char *status)
{
    jsonw_text(j, "id", r->id);
    jsonw_text(j, "object", "response");
    jsonw_int(j, "created_at", r->created_s);
    jsonw_text(j, "status", status);
    jsonw_text(j, "model", r->model);
    jsonw_null(j, "error");
    if (strcmp(status, "incomplete") == 0) {
        jsonw_object(j, "incomplete_details");
        jsonw_text(j, "reason", "max_output_tokens");
        jsonw_end(j);
    } else {
        jsonw_null(j, "incomplete_details");
    }
    jsonw_array(j, "output");
}

static void put_early(struct buf *out, const struct dialect_reply *r, struct dialect_writing *w,
                      const char *type)
{
    struct jsonw j;
    open_event(&j, out, w, type);
    jsonw_object(&j, "response");
    open_response(&j, r, "in_progress");
    jsonw_end(&j);
    jsonw_null(&j, "usage");
    jsonw_end(&j);
    writing_close(&j, out);
}

void openai_responses_put_progress(struct buf *out, const struct dialect_reply *r,
                                   struct dialect_writing *w)
{
    put_early(out, r, w, "response.in_progress");
}

void openai_responses_put_begin(struct buf *out, const struct dialect_reply *r,
                                struct dialect_writing *w)
{
    writing_start(w);
    put_early(out, r, w, "response.created");
    openai_responses_put_progress(out, r, w);
}

/* --- items -------------------------------------------------------------------------------- */

struct item {
    enum delta_kind kind;
    int64_t index;
    struct slice name, text; /* so far */
    bool whole;
};

static void put_id(struct jsonw *j, const char *key, const struct dialect_reply *r,
                   const struct item *it)
{
    static const char *const prefixes[] = {[DELTA_TEXT] = "msg",
                                           [DELTA_REASONING] = "rs",
                                           [DELTA_TOOL] = "fc",
                                           [DELTA_REFUSAL] = "msg"};
    struct buf id;
    buf_init(&id, 512);
    buf_printf(&id, "%s_%.400s_%" PRId64, prefixes[it->kind], r->id, it->index);
    jsonw_text(j, key, buf_text(&id));
    buf_done(&id);
}

static void put_part(struct jsonw *j, const char *key, enum delta_kind kind, struct slice text)
{
    jsonw_object(j, key);
    if (kind == DELTA_REFUSAL) {
        jsonw_text(j, "type", "refusal");
        jsonw_slice(j, "refusal", text);
    } else if (kind == DELTA_REASONING) {
        jsonw_text(j, "type", "reasoning_text");
        jsonw_slice(j, "text", text);
    } else {
        jsonw_text(j, "type", "output_text");
        jsonw_slice(j, "text", text);
        jsonw_array(j, "annotations");
        jsonw_end(j);
    }
    jsonw_end(j);
}

static void put_item(struct jsonw *j, const char *key, const struct dialect_reply *r,
                     const struct item *it)
{
    jsonw_object(j, key);
    put_id(j, "id", r, it);
    if (it->kind == DELTA_TOOL) {
        jsonw_text(j, "type", "function_call");
        jsonw_text(j, "call_id", r->id);
        jsonw_slice(j, "name", it->name);
        jsonw_slice(j, "arguments", it->text);
    } else if (it->kind == DELTA_REASONING) {
        jsonw_text(j, "type", "reasoning");
        jsonw_array(j, "summary");
        jsonw_end(j);
    } else {
        jsonw_text(j, "type", "message");
        jsonw_text(j, "role", "assistant");
    }
    jsonw_text(j, "status", it->whole ? "completed" : "in_progress");
    if (it->kind != DELTA_TOOL) {
        jsonw_array(j, "content");
        if (it->whole)
            put_part(j, NULL, it->kind, it->text);
        jsonw_end(j);
    }
    jsonw_end(j);
}

static void put_item_event(struct buf *out, const struct dialect_reply *r,
                           struct dialect_writing *w, const struct item *it)
{
    struct jsonw j;
    open_event(&j, out, w, it->whole ? "response.output_item.done" : "response.output_item.added");
    jsonw_int(&j, "output_index", it->index);
    put_item(&j, "item", r, it);
    writing_close(&j, out);
}

static void open_at(struct jsonw *j, struct buf *out, const struct dialect_reply *r,
                    struct dialect_writing *w, const struct item *it, const char *type)
{
    open_event(j, out, w, type);
    put_id(j, "item_id", r, it);
    jsonw_int(j, "output_index", it->index);
    if (it->kind != DELTA_TOOL)
        jsonw_int(j, "content_index", 0);
}

static void put_part_event(struct buf *out, const struct dialect_reply *r,
                           struct dialect_writing *w, const struct item *it)
{
    struct jsonw j;
    if (it->kind == DELTA_TOOL)
        return;
    open_at(&j, out, r, w, it,
            it->whole ? "response.content_part.done" : "response.content_part.added");
    put_part(&j, "part", it->kind, it->text);
    writing_close(&j, out);
}

static struct item item_of(const struct dialect_writing *w, bool whole)
{
    return (struct item){.kind = w->kind,
                         .index = w->index,
                         .name = writing_text(&w->name),
                         .text = whole ? writing_text(&w->text) : slice_of(""),
                         .whole = whole};
}

static void put_text_done(struct buf *out, const struct dialect_reply *r, struct dialect_writing *w,
                          const struct item *it)
{
    static const char *const types[] = {
        [DELTA_TEXT] = "response.output_text.done",
        [DELTA_REASONING] = "response.reasoning_text.done",
        [DELTA_TOOL] = "response.function_call_arguments.done",
        [DELTA_REFUSAL] = "response.refusal.done",
    };
    static const char *const keys[] = {[DELTA_TEXT] = "text",
                                       [DELTA_REASONING] = "text",
                                       [DELTA_TOOL] = "arguments",
                                       [DELTA_REFUSAL] = "refusal"};
    struct jsonw j;
    open_at(&j, out, r, w, it, types[it->kind]);
    jsonw_slice(&j, keys[it->kind], it->text);
    writing_close(&j, out);
}

static void close_item(struct buf *out, const struct dialect_reply *r, struct dialect_writing *w)
{
    struct jsonw j;
    if (!w->open)
        return;
    struct item it = item_of(w, true);
    put_text_done(out, r, w, &it);
    put_part_event(out, r, w, &it);
    put_item_event(out, r, w, &it);
    if (w->items.n > 0)
        buf_puts(&w->items, ",");
    jsonw_init(&j, &w->items, 0);
    put_item(&j, NULL, r, &it);
    w->index++;
    w->open = false;
}

void openai_responses_put_piece(struct buf *out, const struct dialect_reply *r,
                                struct dialect_writing *w, struct dialect_part piece)
{
    static const char *const types[] = {
        [DELTA_TEXT] = "response.output_text.delta",
        [DELTA_REASONING] = "response.reasoning_text.delta",
        [DELTA_TOOL] = "response.function_call_arguments.delta",
        [DELTA_REFUSAL] = "response.refusal.delta",
    };
    struct jsonw j;
    if (w->kind != piece.kind)
        close_item(out, r, w);
    bool opens = writing_opens(w, piece);
    struct item it = item_of(w, false);
    if (opens) {
        put_item_event(out, r, w, &it);
        put_part_event(out, r, w, &it);
        if (piece.kind == DELTA_TOOL) /* the item names it */
            return;
    }
    open_at(&j, out, r, w, &it, types[piece.kind]);
    jsonw_slice(&j, "delta", piece.text);
    writing_close(&j, out);
}

static bool is_incomplete(const struct dialect_reply *r)
{
    return strcmp(r->finish, "length") == 0;
}

void openai_responses_put_finish(struct buf *out, const struct dialect_reply *r,
                                 struct dialect_writing *w)
{
    struct jsonw j;
    close_item(out, r, w);
    const char *status = is_incomplete(r) ? "incomplete" : "completed";
    open_event(&j, out, w, is_incomplete(r) ? "response.incomplete" : "response.completed");
    jsonw_object(&j, "response");
    open_response(&j, r, status);
    buf_put(out, w->items.p, w->items.n); /* in the open array */
    jsonw_end(&j);
    put_usage(&j, &r->usage);
    jsonw_end(&j);
    writing_close(&j, out);
}

void openai_responses_put_done(struct buf *out, const struct dialect_reply *r,
                               struct dialect_writing *w)
{
    if (r->end_mark)
        writing_openai_done(out, r, w);
}

void openai_responses_put_fault(struct buf *out, const struct dialect_reply *r,
                                struct dialect_writing *w, const char *message, const char *type)
{
    struct jsonw j;
    open_event(&j, out, w, "response.failed");
    jsonw_object(&j, "response");
    jsonw_text(&j, "id", r->id);
    jsonw_text(&j, "object", "response");
    jsonw_text(&j, "status", "failed");
    jsonw_object(&j, "error");
    jsonw_text(&j, "code", type);
    jsonw_text(&j, "message", message);
    jsonw_end(&j);
    jsonw_end(&j);
    writing_close(&j, out);
}

void openai_responses_put_document(struct buf *out, const struct dialect_reply *r,
                                   const struct dialect_part *parts, size_t n)
{
    struct jsonw j;
    struct writing_block b;
    jsonw_init(&j, out, 0);
    jsonw_object(&j, NULL);
    open_response(&j, r, is_incomplete(r) ? "incomplete" : "completed");
    int64_t index = 0;
    for (size_t at = 0; writing_next(parts, n, &at, &b); index++) {
        struct item it = {b.kind, index, b.name, writing_text(&b.text), true};
        put_item(&j, NULL, r, &it);
    }
    jsonw_end(&j);
    put_usage(&j, &r->usage);
    jsonw_end(&j);
}
