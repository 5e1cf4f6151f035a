/* Replacements, counted and said. */
#include "replay/replaced.h"

#include <inttypes.h>
#include <string.h>

#include "traces/base/clock.h"
#include "traces/base/jscan.h"
#include "traces/base/jsonw.h"
#include "traces/base/text.h"
#include "traces/limits.h"

enum { FRAMES_SHOWN = 8, REASONS = 16, SHOWN_BYTES = 200 };

void replaced_skip(struct replaced *r, uint64_t frame, const char *why)
{
    VEC_PUSH(&r->skips, ((struct replaced_skip){frame, why}));
}

void replaced_left_out(struct replaced *r, const char *name)
{
    for (size_t i = 0; i < r->names.n; i++) {
        if (text_same(slice_of(name), r->names.v[i]))
            return;
    }
    VEC_PUSH(&r->names, arena_text(&r->texts, slice_of(name)));
}

void replaced_done(struct replaced *r)
{
    VEC_FREE(&r->names);
    VEC_FREE(&r->skips);
    arena_free(&r->texts);
}

/* --- the model -------------------------------------------------------------------------------- */

static bool has_coding(const struct plan_request *q)
{
    for (size_t i = 0; i < q->n_fields; i++) {
        if (text_same(slice_of(q->fields[i].name), "Content-Encoding"))
            return true;
    }
    return false;
}

static void put_json_string(struct buf *out, const char *text)
{
    struct jsonw w;
    jsonw_init(&w, out, 0);
    jsonw_text(&w, NULL, text);
}

/* The body with another model into out; false: it names none, or is no JSON object. *was: the first
 * name in it, still escaped. */
static bool exchange_model(struct slice body, const char *model, struct buf *out, struct slice *was)
{
    struct jscan s = jscan_over(body);
    struct slice key;
    const char *from = body.p;
    *was = (struct slice){NULL, 0};
    if (jscan_next(&s) != JT_OBJECT)
        return false;
    while (jscan_member(&s, &key)) {
        bool named = slice_is(key, "model");
        if (!named || jscan_next(&s) != JT_STRING) {
            named ? jscan_finish(&s) : jscan_skip(&s);
            continue;
        }
        if (was->p == NULL)
            *was = s.text;
        buf_put(out, from, (size_t)(s.text.p - 1 - from));
        put_json_string(out, model);
        from = s.text.p + s.text.n + 1;
    }
    buf_put(out, from, (size_t)(body.p + body.n - from));
    return was->p != NULL && jscan_next(&s) == JT_END;
}

/* Its Content-Length is that of its body now. */
static void adapt_length(struct plan *p, struct plan_request *q)
{
    char value[24];
    snprintf(value, sizeof value, "%zu", q->body.n);
    struct plan_field *fields = arena_alloc(&p->texts, (q->n_fields + 1) * sizeof *fields);
    for (size_t i = 0; i < q->n_fields; i++) {
        fields[i] = q->fields[i];
        if (text_same(slice_of(fields[i].name), "Content-Length"))
            fields[i].value = arena_text(&p->texts, slice_of(value));
    }
    q->fields = fields;
}

static void count_model(struct replaced *r, struct slice was)
{
    if (r->model == NULL)
        r->model =
            arena_text(&r->texts, (struct slice){was.p, was.n < SHOWN_BYTES ? was.n : SHOWN_BYTES});
    r->models++;
    r->other_models += !slice_is(was, r->model);
}

int replaced_model(struct replaced *r, struct plan *p, const char *new_model, struct err *e)
{
    struct buf body;
    int rc = TA_OK;
    buf_init(&body, (size_t)LIMIT_REQUEST_BODY_BYTES * 8);
    r->new_model = arena_text(&r->texts, slice_of(new_model));
    for (size_t i = 0; rc == TA_OK && i < p->requests.n; i++) {
        struct plan_request *q = &p->requests.v[i];
        struct slice was;
        size_t before = q->body.n;
        buf_clear(&body);
        if (q->body.n == 0)
            continue;
        if (has_coding(q) || !exchange_model(q->body, new_model, &body, &was)) {
            r->without_model++;
            continue;
        }
        count_model(r, was);
        rc = plan_keep_body(p, (struct slice){(const char *)body.p, body.n}, &q->body, e);
        if (rc == TA_OK)
            plan_hash(q);
        if (rc == TA_OK && q->body.n != before)
            adapt_length(p, q);
    }
    buf_done(&body);
    return rc;
}

/* --- words ------------------------------------------------------------------------------------ */

/* "(1 request)" */
static void put_count(struct buf *out, uint64_t n)
{
    buf_printf(out, " (%" PRIu64 " request%s)", n, n == 1 ? "" : "s");
}

static void say_replaced(const struct replaced *r, const char *authority, struct buf *out)
{
    bool same_host = r->other_hosts == 0 && r->host != NULL && strcmp(r->host, authority) == 0;
    if (r->hosts > 0 && !same_host) {
        buf_printf(out, "Host %.200s%s by %s", r->host, r->other_hosts > 0 ? " and others" : "",
                   authority);
        put_count(out, r->hosts);
        buf_puts(out, "\n");
    }
    if (r->models > 0) {
        buf_printf(out, "model %s%s by %.200s, Content-Length with it", r->model,
                   r->other_models > 0 ? " and others" : "", r->new_model);
        put_count(out, r->models);
        buf_puts(out, "\n");
    }
    const struct {
        uint64_t n;
        const char *what;
    } others[] = {{r->without_model, "no model, where a body names none or has a coding"},
                  {r->absolute, "the whole URL, as for a proxy, by its path"},
                  {r->chunked, "the chunks of a body by one"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (others[i].n == 0)
            continue;
        buf_puts(out, others[i].what);
        put_count(out, others[i].n);
        buf_puts(out, "\n");
    }
}

static void say_left_out(const struct replaced *r, struct buf *out)
{
    if (r->credentials > 0) {
        buf_puts(out, "left out: ");
        for (size_t i = 0; i < r->names.n && i < FRAMES_SHOWN; i++)
            buf_printf(out, "%s%s", i ? ", " : "", r->names.v[i]);
        buf_puts(out, r->names.n > FRAMES_SHOWN ? ", …" : "");
        put_count(out, r->credentials);
        buf_puts(out, ": no credential is taken from a recording\n");
    }
    if (r->parameters > 0) {
        buf_puts(out, "left out: credentials in the query");
        put_count(out, r->parameters);
        buf_puts(out, "\n");
    }
}

static void say_skips_for(const struct replaced *r, const char *why, struct buf *out)
{
    size_t n = 0;
    buf_puts(out, "not sent: frame");
    for (size_t i = 0; i < r->skips.n; i++) {
        if (r->skips.v[i].why == why && n++ < FRAMES_SHOWN)
            buf_printf(out, "%s %" PRIu64, n > 1 ? "," : "", r->skips.v[i].frame);
    }
    buf_printf(out, "%s (%zu of %" PRIu64 " recorded requests): %s\n",
               n > FRAMES_SHOWN ? ", …" : "", n, r->recorded, why);
}

/* One line for each reason, of which there are few. */
static void say_skipped(const struct replaced *r, struct buf *out)
{
    const char *said[REASONS];
    size_t n = 0;
    for (size_t i = 0; i < r->skips.n && n < REASONS; i++) {
        size_t k = 0;
        while (k < n && said[k] != r->skips.v[i].why)
            k++;
        if (k == n) {
            said[n++] = r->skips.v[i].why;
            say_skips_for(r, said[k], out);
        }
    }
}

static void say(const struct replaced *r, const char *authority, struct buf *out)
{
    buf_init(out, 1u << 20);
    say_replaced(r, authority, out);
    say_left_out(r, out);
    say_skipped(r, out);
}

void replaced_print(const struct replaced *r, const char *authority, FILE *to)
{
    struct buf text, line;
    say(r, authority, &text);
    buf_init(&line, 4u << 20);
    const char *p = buf_text(&text);
    for (const char *nl; (nl = strchr(p, '\n')) != NULL; p = nl + 1) {
        buf_clear(&line);
        text_terminal(&line, (struct slice){p, (size_t)(nl - p)});
        fprintf(to, "replaced    %s\n", buf_text(&line));
    }
    buf_done(&line);
    buf_done(&text);
}

void replaced_note(const struct replaced *r, const char *authority, const char *source,
                   struct buf *json)
{
    struct buf text;
    struct jsonw w;
    say(r, authority, &text);
    struct buf words;
    buf_init(&words, 2u << 20);
    buf_printf(&words, "replay of %s\n", source);
    buf_put(&words, text.p, text.n);
    jsonw_init(&w, json, 0);
    jsonw_object(&w, NULL);
    jsonw_text(&w, "kind", "note");
    jsonw_ns(&w, "t_ns", clock_real_ns());
    jsonw_slice(&w, "text", (struct slice){(const char *)words.p, words.n});
    jsonw_array(&w, "replaced");
    const char *p = buf_text(&text);
    for (const char *nl; (nl = strchr(p, '\n')) != NULL; p = nl + 1)
        jsonw_slice(&w, NULL, (struct slice){p, (size_t)(nl - p)});
    jsonw_end(&w);
    jsonw_end(&w);
    buf_done(&words);
    buf_done(&text);
}
