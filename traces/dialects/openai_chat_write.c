/* OpenAI chat completions, replies written. Source: the API reference of chat completions. */
#include "traces/dialects/openai_chat.h"
#include "traces/dialects/writing.h"

static const char chunk[] = "chat.completion.chunk";

static void open_chunk(struct jsonw *w, struct buf *out, const struct dialect_reply *r,
                       const char *object)
{
    writing_open(w, out, NULL);
    jsonw_text(w, "id", r->id);
    jsonw_text(w, "object", object);
    jsonw_int(w, "created", r->created_s);
    jsonw_text(w, "model", r->model);
    if (r->fingerprint != NULL)
        jsonw_text(w, "system_fingerprint", r->fingerprint);
    jsonw_array(w, "choices");
}

static void open_delta(struct jsonw *w, bool with_role)
{
    jsonw_object(w, NULL);
    jsonw_int(w, "index", 0);
    jsonw_object(w, "delta");
    if (with_role)
        jsonw_text(w, "role", "assistant");
}

static void close_delta(struct jsonw *w, const struct dialect_reply *r, const char *finish)
{
    jsonw_end(w);
    if (finish != NULL || !r->finish_absent)
        jsonw_text(w, "finish_reason", finish);
    jsonw_end(w);
    jsonw_end(w); /* choices */
}

static void no_usage(struct jsonw *w, const struct dialect_reply *r)
{
    if (r->usage_null)
        jsonw_null(w, "usage");
}

void openai_chat_put_begin(struct buf *out, const struct dialect_reply *r,
                           struct dialect_writing *w)
{
    struct jsonw j;
    writing_start(w);
    if (r->role_in_every)
        return;
    open_chunk(&j, out, r, chunk);
    open_delta(&j, true);
    if (!r->role_alone)
        jsonw_text(&j, "content", "");
    close_delta(&j, r, NULL);
    no_usage(&j, r);
    writing_close(&j, out);
}

static const char *key_of(enum delta_kind kind, const struct dialect_reply *r)
{
    if (kind == DELTA_REASONING)
        return r->reasoning != NULL ? r->reasoning : "reasoning_content";
    return kind == DELTA_REFUSAL ? "refusal" : "content";
}

/* Of the members of a delta those that it does not have; DELTA_FINISH: any. */
static void put_nulls(struct jsonw *j, const struct dialect_reply *r, enum delta_kind kind)
{
    if (!r->delta_nulls)
        return;
    if (kind != DELTA_TEXT)
        jsonw_null(j, "content");
    if (kind != DELTA_REASONING)
        jsonw_null(j, key_of(DELTA_REASONING, r));
    if (kind != DELTA_TOOL)
        jsonw_null(j, "tool_calls");
}

/* The name with the first piece of a call, arguments with the others. */
static void put_tool(struct jsonw *j, struct dialect_writing *w, const struct dialect_reply *r,
                     struct slice text, bool opens)
{
    if (opens)
        w->index++;
    jsonw_array(j, "tool_calls");
    jsonw_object(j, NULL);
    jsonw_int(j, "index", w->index - 1);
    if (opens) {
        jsonw_text(j, "id", r->id);
        jsonw_text(j, "type", "function");
    }
    jsonw_object(j, "function");
    if (opens)
        jsonw_slice(j, "name", text);
    jsonw_slice(j, "arguments", opens ? slice_of("") : text);
    jsonw_end(j);
    jsonw_end(j);
    jsonw_end(j);
}

void openai_chat_put_piece(struct buf *out, const struct dialect_reply *r,
                           struct dialect_writing *w, struct dialect_part piece)
{
    struct jsonw j;
    bool opens = !w->open || w->kind != piece.kind;
    w->open = true;
    w->kind = piece.kind;
    open_chunk(&j, out, r, chunk);
    open_delta(&j, r->role_in_every);
    if (piece.kind == DELTA_TOOL)
        put_tool(&j, w, r, piece.text, opens);
    else
        jsonw_slice(&j, key_of(piece.kind, r), piece.text);
    put_nulls(&j, r, piece.kind);
    close_delta(&j, r, NULL);
    if (r->usage_in_every)
        writing_openai_usage(&j, r);
    else
        no_usage(&j, r);
    if (r->pace > 0) {
        jsonw_object(&j, "timings");
        jsonw_double(&j, "predicted_per_second", r->pace);
        jsonw_end(&j);
    }
    writing_close(&j, out);
}

static void put_last_delta(struct jsonw *j, const struct dialect_reply *r)
{
    open_delta(j, r->role_in_finish);
    put_nulls(j, r, DELTA_FINISH);
    close_delta(j, r, r->finish);
}

void openai_chat_put_finish(struct buf *out, const struct dialect_reply *r,
                            struct dialect_writing *w)
{
    struct jsonw j;
    (void)w;
    open_chunk(&j, out, r, chunk);
    put_last_delta(&j, r);
    if (r->usage_with_finish) {
        writing_openai_usage(&j, r);
        writing_llama_timings(&j, r);
    } else {
        no_usage(&j, r);
    }
    writing_close(&j, out);
}

void openai_chat_put_usage(struct buf *out, const struct dialect_reply *r,
                           struct dialect_writing *w)
{
    struct jsonw j;
    (void)w;
    open_chunk(&j, out, r, r->usage_object != NULL ? r->usage_object : chunk);
    if (r->usage_repeats)
        put_last_delta(&j, r);
    else
        jsonw_end(&j); /* choices: none */
    writing_openai_usage(&j, r);
    writing_llama_timings(&j, r);
    writing_close(&j, out);
}

static void put_call(struct jsonw *j, const struct dialect_reply *r, const struct writing_block *b)
{
    jsonw_array(j, "tool_calls");
    jsonw_object(j, NULL);
    jsonw_text(j, "id", r->id);
    jsonw_text(j, "type", "function");
    jsonw_object(j, "function");
    jsonw_slice(j, "name", b->name);
    jsonw_slice(j, "arguments", writing_text(&b->text));
    jsonw_end(j);
    jsonw_end(j);
    jsonw_end(j);
}

void openai_chat_put_document(struct buf *out, const struct dialect_reply *r,
                              const struct dialect_part *parts, size_t n)
{
    struct jsonw j;
    struct writing_block b;
    jsonw_init(&j, out, 0);
    jsonw_object(&j, NULL);
    jsonw_text(&j, "id", r->id);
    jsonw_text(&j, "object", "chat.completion");
    jsonw_int(&j, "created", r->created_s);
    jsonw_text(&j, "model", r->model);
    if (r->fingerprint != NULL)
        jsonw_text(&j, "system_fingerprint", r->fingerprint);
    jsonw_array(&j, "choices");
    jsonw_object(&j, NULL);
    jsonw_int(&j, "index", 0);
    jsonw_object(&j, "message");
    jsonw_text(&j, "role", "assistant");
    for (size_t at = 0; writing_next(parts, n, &at, &b);) {
        if (b.kind == DELTA_TOOL)
            put_call(&j, r, &b);
        else
            jsonw_slice(&j, key_of(b.kind, r), writing_text(&b.text));
    }
    if (n == 0)
        jsonw_text(&j, "content", "");
    jsonw_end(&j);
    jsonw_text(&j, "finish_reason", r->finish);
    jsonw_end(&j);
    jsonw_end(&j);
    writing_openai_usage(&j, r);
    writing_llama_timings(&j, r);
    jsonw_end(&j);
}
