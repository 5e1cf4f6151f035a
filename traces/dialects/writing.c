/* What several dialects write alike; writing.h has the contracts. */
#include "traces/dialects/writing.h"

#include <math.h>
#include <string.h>

#include "traces/limits.h"

void writing_open(struct jsonw *w, struct buf *out, const char *type)
{
    if (type != NULL)
        buf_printf(out, "event: %s\n", type);
    buf_puts(out, "data: ");
    jsonw_init(w, out, 0);
    jsonw_object(w, NULL);
}

void writing_close(struct jsonw *w, struct buf *out)
{
    jsonw_end(w);
    buf_puts(out, "\n\n");
}

void writing_start(struct dialect_writing *w)
{
    *w = (struct dialect_writing){.open = false};
    buf_init(&w->text, LIMIT_DOCUMENT_BYTES);
    buf_init(&w->items, LIMIT_DOCUMENT_BYTES);
    buf_init(&w->name, LIMIT_DOCUMENT_BYTES);
}

void dialect_writing_done(struct dialect_writing *w)
{
    buf_done(&w->text);
    buf_done(&w->items);
    buf_done(&w->name);
}

bool writing_opens(struct dialect_writing *w, struct dialect_part piece)
{
    bool opens = !w->open || w->kind != piece.kind;
    w->open = true;
    w->kind = piece.kind;
    if (opens) {
        buf_clear(&w->text);
        buf_clear(&w->name);
    }
    buf_put(opens && piece.kind == DELTA_TOOL ? &w->name : &w->text, piece.text.p, piece.text.n);
    return opens;
}

struct slice writing_text(const struct buf *b)
{
    return b->n == 0 ? slice_of("") : (struct slice){(const char *)b->p, b->n};
}

const char *writing_finish(const char *finish, const char *stop, const char *length,
                           const char *tool_calls)
{
    if (strcmp(finish, "stop") == 0)
        return stop;
    if (strcmp(finish, "length") == 0)
        return length;
    return strcmp(finish, "tool_calls") == 0 ? tool_calls : finish;
}

static void put_rounded(struct jsonw *w, const char *key, double v)
{
    if (isfinite(v))
        jsonw_double(w, key, round(100 * v) / 100);
}

/* omlx: seconds with two decimals. A model that is there from the start took none to load. */
static void put_seconds(struct jsonw *w, const struct server_timings *t)
{
    put_rounded(w, "model_load_duration", 0);
    put_rounded(w, "time_to_first_token", t->prompt_ms / 1000);
    put_rounded(w, "total_time", (t->prompt_ms + t->predicted_ms) / 1000);
    put_rounded(w, "prompt_eval_duration", t->prompt_ms / 1000);
    put_rounded(w, "generation_duration", t->predicted_ms / 1000);
    put_rounded(w, "prompt_tokens_per_second", 1000 * t->prompt_n / t->prompt_ms);
    put_rounded(w, "generation_tokens_per_second", t->predicted_per_second);
}

void writing_openai_usage(struct jsonw *w, const struct dialect_reply *r)
{
    const struct usage *u = &r->usage;
    if (u->prompt < 0)
        return;
    jsonw_object(w, "usage");
    jsonw_int(w, "prompt_tokens", u->prompt);
    jsonw_int(w, "completion_tokens", u->completion);
    jsonw_int(w, "total_tokens", u->prompt + u->completion);
    if (u->cached >= 0 && r->usage_seconds) {
        jsonw_int(w, "cached_tokens", u->cached);
    } else if (u->cached >= 0) {
        jsonw_object(w, "prompt_tokens_details");
        jsonw_int(w, "cached_tokens", u->cached);
        jsonw_end(w);
    }
    if (u->reasoning >= 0) {
        jsonw_object(w, "completion_tokens_details");
        jsonw_int(w, "reasoning_tokens", u->reasoning);
        jsonw_end(w);
    }
    if (r->usage_seconds && writing_has_timings(&r->timings))
        put_seconds(w, &r->timings);
    jsonw_end(w);
}

bool writing_has_timings(const struct server_timings *t)
{
    return t->predicted_ms > 0;
}

void writing_llama_timings(struct jsonw *w, const struct dialect_reply *r)
{
    const struct server_timings *t = &r->timings;
    bool per_token = !r->timings_cached_n;
    if (!writing_has_timings(t) || r->usage_seconds)
        return;
    jsonw_object(w, "timings");
    jsonw_int(w, per_token ? "cache_n" : "cached_n", r->usage.cached >= 0 ? r->usage.cached : 0);
    jsonw_double(w, "prompt_n", t->prompt_n);
    jsonw_double(w, "prompt_ms", t->prompt_ms);
    if (per_token)
        jsonw_double(w, "prompt_per_token_ms", t->prompt_ms / t->prompt_n);
    jsonw_double(w, "prompt_per_second", 1000 * t->prompt_n / t->prompt_ms);
    jsonw_double(w, "predicted_n", t->predicted_n);
    jsonw_double(w, "predicted_ms", t->predicted_ms);
    if (per_token)
        jsonw_double(w, "predicted_per_token_ms", t->predicted_ms / t->predicted_n);
    jsonw_double(w, "predicted_per_second", t->predicted_per_second);
    if (!per_token)
        jsonw_double(w, "tokenize_ms", 0); /* words are counted in no time */
    jsonw_end(w);
}

void writing_openai_error(struct buf *out, int status, const char *message, const char *type)
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

void writing_openai_fault(struct buf *out, const struct dialect_reply *r, struct dialect_writing *w,
                          const char *message, const char *type)
{
    struct jsonw j;
    (void)r;
    (void)w;
    writing_open(&j, out, NULL);
    jsonw_object(&j, "error");
    jsonw_text(&j, "message", message);
    jsonw_text(&j, "type", type);
    jsonw_end(&j);
    writing_close(&j, out);
}

void writing_openai_models(struct buf *out, const char *const *models, size_t n, int64_t created_s)
{
    struct jsonw w;
    jsonw_init(&w, out, 0);
    jsonw_object(&w, NULL);
    jsonw_text(&w, "object", "list");
    jsonw_array(&w, "data");
    for (size_t i = 0; i < n; i++) {
        jsonw_object(&w, NULL);
        jsonw_text(&w, "id", models[i]);
        jsonw_text(&w, "object", "model");
        jsonw_int(&w, "created", created_s);
        jsonw_text(&w, "owned_by", "tokaudit-serve (simulated)");
        jsonw_end(&w);
    }
    jsonw_end(&w);
    jsonw_end(&w);
}

void writing_openai_done(struct buf *out, const struct dialect_reply *r, struct dialect_writing *w)
{
    (void)r;
    (void)w;
    buf_puts(out, "data: [DONE]\n\n");
}

void writing_comment(struct buf *out)
{
    buf_puts(out, ": keep-alive\n\n");
}

void writing_all_text(struct buf *to, const struct dialect_part *parts, size_t n)
{
    buf_init(to, LIMIT_DOCUMENT_BYTES);
    for (size_t i = 0; i < n; i++)
        buf_put(to, parts[i].text.p, parts[i].text.n);
}

void writing_split_text(struct buf *thinking, struct buf *text, const struct dialect_part *parts,
                        size_t n)
{
    buf_init(thinking, LIMIT_DOCUMENT_BYTES);
    buf_init(text, LIMIT_DOCUMENT_BYTES);
    for (size_t i = 0; i < n; i++)
        buf_put(parts[i].kind == DELTA_REASONING ? thinking : text, parts[i].text.p,
                parts[i].text.n);
}

bool writing_next(const struct dialect_part *parts, size_t n, size_t *at, struct writing_block *b)
{
    if (*at == 0)
        buf_init(&b->text, LIMIT_DOCUMENT_BYTES);
    if (*at >= n) {
        buf_done(&b->text);
        return false;
    }
    buf_clear(&b->text);
    b->kind = parts[*at].kind;
    b->name = slice_of("");
    for (bool first = true; *at < n && parts[*at].kind == b->kind; ++*at, first = false) {
        if (first && b->kind == DELTA_TOOL)
            b->name = parts[*at].text;
        else
            buf_put(&b->text, parts[*at].text.p, parts[*at].text.n);
    }
    return true;
}
