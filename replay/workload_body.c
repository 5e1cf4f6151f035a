/* Bodies of chat completions, and of plain ones, written in one pass. */
#include "replay/workload_body.h"

#include "traces/base/jscan.h"
#include "traces/base/jsonw.h"

bool workload_body_is_prompt(const char *path)
{
    static const char plain[] = "/completions", chat[] = "/chat/completions";
    size_t n = strcspn(path, "?");
    return n >= sizeof plain - 1 &&
           memcmp(path + n - (sizeof plain - 1), plain, sizeof plain - 1) == 0 &&
           !(n >= sizeof chat - 1 &&
             memcmp(path + n - (sizeof chat - 1), chat, sizeof chat - 1) == 0);
}

static void put_text(struct jsonw *w, const char *key, const struct workload_body *b)
{
    if (b->text.p != NULL)
        jsonw_slice(w, key, b->text);
    else
        jsonw_raw(w, key, b->text_json);
}

static void put_prompt(struct jsonw *w, const struct workload_body *b)
{
    if (b->messages_json.n > 0) {
        jsonw_raw(w, "messages", b->messages_json);
        return;
    }
    if (workload_body_is_prompt(b->path)) {
        put_text(w, "prompt", b);
        return;
    }
    jsonw_array(w, "messages");
    jsonw_object(w, NULL);
    jsonw_text(w, "role", "user");
    put_text(w, "content", b);
    jsonw_end(w);
    jsonw_end(w);
}

static bool row_says(const struct workload_body *b, const char *name)
{
    struct jscan s = jscan_over(b->extra_json);
    struct slice key;
    if (b->extra_json.n == 0 || jscan_next(&s) != JT_OBJECT)
        return false;
    while (jscan_member(&s, &key)) {
        if (slice_is(key, name))
            return true;
        jscan_skip(&s);
    }
    return false;
}

static void put_settings(struct jsonw *w, const struct workload_body *b)
{
    if (!row_says(b, "max_tokens"))
        jsonw_int(w, "max_tokens", b->max_tokens);
    if (!row_says(b, "temperature"))
        jsonw_double(w, "temperature", b->temperature);
    if (!row_says(b, "stream"))
        jsonw_bool(w, "stream", b->stream);
    if (b->stream && b->include_usage && !row_says(b, "stream") && !row_says(b, "stream_options")) {
        jsonw_object(w, "stream_options");
        jsonw_bool(w, "include_usage", true);
        jsonw_end(w);
    }
}

/* The key as it stands in the text, escapes and all. */
static void put_member(struct jsonw *w, struct slice key, struct slice value)
{
    buf_puts(w->out, ",\"");
    buf_put(w->out, key.p, key.n);
    buf_puts(w->out, "\":");
    buf_put(w->out, value.p, value.n);
}

static bool is_prompt_member(struct slice key)
{
    return slice_is(key, "messages") || slice_is(key, "prompt") || slice_is(key, "model");
}

static void put_extra(struct jsonw *w, const struct workload_body *b)
{
    for (const struct json *m = json_first(b->extra); m != NULL; m = json_next(m)) {
        if (!row_says(b, json_name(m)))
            jsonw_value(w, json_name(m), m);
    }
    struct jscan s = jscan_over(b->extra_json);
    struct slice key;
    if (b->extra_json.n == 0 || jscan_next(&s) != JT_OBJECT)
        return;
    while (jscan_member(&s, &key)) {
        struct slice written = s.text, value = jscan_raw(&s);
        if (!is_prompt_member(key))
            put_member(w, written, value);
    }
}

void workload_body_write(const struct workload_body *b, struct buf *out)
{
    struct jsonw w;
    jsonw_init(&w, out, 0);
    jsonw_object(&w, NULL);
    jsonw_text(&w, "model", b->model);
    put_prompt(&w, b);
    if (b->tools_json.n > 0)
        jsonw_raw(&w, "tools", b->tools_json);
    put_settings(&w, b);
    put_extra(&w, b);
    jsonw_end(&w);
}

void workload_body_fields(struct plan *p, struct plan_request *r, bool stream, const char *id)
{
    struct plan_field *fields = arena_alloc(&p->texts, 4 * sizeof *fields);
    fields[0] = (struct plan_field){"Content-Type", "application/json"};
    fields[1] = (struct plan_field){"Accept", stream ? "text/event-stream" : "application/json"};
    fields[2] = (struct plan_field){"User-Agent", "tokaudit/" TOKAUDIT_VERSION};
    fields[3] = (struct plan_field){"X-Request-ID", arena_text(&p->texts, slice_of(id))};
    r->fields = fields;
    r->n_fields = 4;
}
