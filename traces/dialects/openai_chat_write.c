/* OpenAI chat completions, replies written. Source: the API reference of chat completions. */
#include "traces/base/jsonw.h"
#include "traces/dialects/openai_chat.h"

static void open_chunk(struct jsonw *w, struct buf *out, const struct dialect_reply *r)
{
    buf_puts(out, "data: ");
    jsonw_init(w, out, 0);
    jsonw_object(w, NULL);
    jsonw_text(w, "id", r->id);
    jsonw_text(w, "object", "chat.completion.chunk");
    jsonw_int(w, "created", r->created_s);
    jsonw_text(w, "model", r->model);
    if (r->fingerprint != NULL)
        jsonw_text(w, "system_fingerprint", r->fingerprint);
    jsonw_array(w, "choices");
}

static void close_chunk(struct jsonw *w, struct buf *out)
{
    jsonw_end(w);
    buf_puts(out, "\n\n");
}

static void open_delta(struct jsonw *w)
{
    jsonw_object(w, NULL);
    jsonw_int(w, "index", 0);
    jsonw_object(w, "delta");
}

static void close_delta(struct jsonw *w, const char *finish)
{
    jsonw_end(w);
    jsonw_text(w, "finish_reason", finish);
    jsonw_end(w);
    jsonw_end(w); /* choices */
}

static void put_usage_member(struct jsonw *w, const struct usage *u)
{
    jsonw_object(w, "usage");
    jsonw_int(w, "prompt_tokens", u->prompt);
    jsonw_int(w, "completion_tokens", u->completion);
    jsonw_int(w, "total_tokens", u->prompt + u->completion);
    if (u->cached >= 0) {
        jsonw_object(w, "prompt_tokens_details");
        jsonw_int(w, "cached_tokens", u->cached);
        jsonw_end(w);
    }
    if (u->reasoning >= 0) {
        jsonw_object(w, "completion_tokens_details");
        jsonw_int(w, "reasoning_tokens", u->reasoning);
        jsonw_end(w);
    }
    jsonw_end(w);
}

void openai_chat_put_role(struct buf *out, const struct dialect_reply *r)
{
    struct jsonw w;
    open_chunk(&w, out, r);
    open_delta(&w);
    jsonw_text(&w, "role", "assistant");
    jsonw_text(&w, "content", "");
    close_delta(&w, NULL);
    close_chunk(&w, out);
}

void openai_chat_put_text(struct buf *out, const struct dialect_reply *r, struct slice text)
{
    struct jsonw w;
    open_chunk(&w, out, r);
    open_delta(&w);
    jsonw_slice(&w, "content", text);
    close_delta(&w, NULL);
    close_chunk(&w, out);
}

void openai_chat_put_finish(struct buf *out, const struct dialect_reply *r)
{
    struct jsonw w;
    open_chunk(&w, out, r);
    open_delta(&w);
    close_delta(&w, r->finish);
    close_chunk(&w, out);
}

void openai_chat_put_usage(struct buf *out, const struct dialect_reply *r)
{
    struct jsonw w;
    open_chunk(&w, out, r);
    jsonw_end(&w); /* choices: none */
    put_usage_member(&w, &r->usage);
    close_chunk(&w, out);
}

void openai_chat_put_done(struct buf *out)
{
    buf_puts(out, "data: [DONE]\n\n");
}

void openai_chat_put_document(struct buf *out, const struct dialect_reply *r, struct slice text)
{
    struct jsonw w;
    jsonw_init(&w, out, 0);
    jsonw_object(&w, NULL);
    jsonw_text(&w, "id", r->id);
    jsonw_text(&w, "object", "chat.completion");
    jsonw_int(&w, "created", r->created_s);
    jsonw_text(&w, "model", r->model);
    if (r->fingerprint != NULL)
        jsonw_text(&w, "system_fingerprint", r->fingerprint);
    jsonw_array(&w, "choices");
    jsonw_object(&w, NULL);
    jsonw_int(&w, "index", 0);
    jsonw_object(&w, "message");
    jsonw_text(&w, "role", "assistant");
    jsonw_slice(&w, "content", text);
    jsonw_end(&w);
    jsonw_text(&w, "finish_reason", r->finish);
    jsonw_end(&w);
    jsonw_end(&w);
    put_usage_member(&w, &r->usage);
    jsonw_end(&w);
}

void openai_chat_put_error(struct buf *out, int status, const char *message, const char *type)
{
    struct jsonw w;
    jsonw_init(&w, out, 0);
    jsonw_object(&w, NULL);
    jsonw_object(&w, "error");
    jsonw_text(&w, "message", message);
    jsonw_text(&w, "type", type);
    jsonw_null(&w, "param");
    jsonw_int(&w, "code", status);
    jsonw_end(&w);
    jsonw_end(&w);
}
