/* OpenAI completions, replies written: text alone, whatever it is a piece of. Source: the API
 * reference. */
#include "traces/dialects/openai_completions.h"
#include "traces/dialects/writing.h"

static void open_members(struct jsonw *j, const struct dialect_reply *r, const char *object)
{
    jsonw_text(j, "id", r->id);
    jsonw_text(j, "object", object != NULL ? object : "text_completion");
    jsonw_int(j, "created", r->created_s);
    jsonw_text(j, "model", r->model);
    if (r->fingerprint != NULL)
        jsonw_text(j, "system_fingerprint", r->fingerprint);
    jsonw_array(j, "choices");
}

static void put_choice(struct jsonw *j, struct slice text, const char *finish)
{
    jsonw_object(j, NULL);
    jsonw_int(j, "index", 0);
    jsonw_slice(j, "text", text);
    jsonw_null(j, "logprobs");
    jsonw_text(j, "finish_reason", finish);
    jsonw_end(j);
    jsonw_end(j); /* choices */
}

void openai_completions_put_begin(struct buf *out, const struct dialect_reply *r,
                                  struct dialect_writing *w)
{
    (void)out;
    (void)r;
    writing_start(w);
}

void openai_completions_put_piece(struct buf *out, const struct dialect_reply *r,
                                  struct dialect_writing *w, struct dialect_part piece)
{
    struct jsonw j;
    (void)w;
    writing_open(&j, out, NULL);
    open_members(&j, r, r->object);
    put_choice(&j, piece.text, NULL);
    if (r->usage_in_every)
        writing_openai_usage(&j, r);
    writing_close(&j, out);
}

void openai_completions_put_finish(struct buf *out, const struct dialect_reply *r,
                                   struct dialect_writing *w)
{
    struct jsonw j;
    (void)w;
    writing_open(&j, out, NULL);
    open_members(&j, r, r->object);
    put_choice(&j, slice_of(""), writing_finish(r->finish, "stop", "length", "stop"));
    if (r->usage_with_finish) {
        writing_openai_usage(&j, r);
        writing_llama_timings(&j, r);
    }
    writing_close(&j, out);
}

void openai_completions_put_usage(struct buf *out, const struct dialect_reply *r,
                                  struct dialect_writing *w)
{
    struct jsonw j;
    (void)w;
    writing_open(&j, out, NULL);
    open_members(&j, r, r->object);
    jsonw_end(&j); /* choices: none */
    writing_openai_usage(&j, r);
    writing_llama_timings(&j, r);
    writing_close(&j, out);
}

void openai_completions_put_document(struct buf *out, const struct dialect_reply *r,
                                     const struct dialect_part *parts, size_t n)
{
    struct jsonw j;
    struct buf text;
    writing_all_text(&text, parts, n);
    jsonw_init(&j, out, 0);
    jsonw_object(&j, NULL);
    open_members(&j, r, NULL);
    put_choice(&j, writing_text(&text), writing_finish(r->finish, "stop", "length", "stop"));
    writing_openai_usage(&j, r);
    writing_llama_timings(&j, r);
    jsonw_end(&j);
    buf_done(&text);
}
