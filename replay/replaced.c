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
    VEC_FREE(&r->added);
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

/* One model has many spellings in JSON. What cannot stand in a line of text keeps its escapes. */
static struct slice plain_model(struct slice was, char room[SHOWN_BYTES])
{
    struct slice plain;
    if (!jscan_plain(was, room, SHOWN_BYTES, &plain))
        return was;
    for (size_t i = 0; i < plain.n; i++) {
        if ((unsigned char)plain.p[i] < ' ')
            return was;
    }
    return plain;
}

static unsigned see_model(struct replaced *r, struct slice was)
{
    char room[SHOWN_BYTES];
    was = plain_model(was, room);
    if (r->model == NULL)
        r->model =
            arena_text(&r->texts, (struct slice){was.p, was.n < SHOWN_BYTES ? was.n : SHOWN_BYTES});
    return slice_is(was, r->model) ? PLAN_MODEL : PLAN_MODEL | PLAN_OTHER_MODEL;
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
            q->changes |= PLAN_WITHOUT_MODEL;
            continue;
        }
        q->changes |= see_model(r, was);
        rc = plan_keep_body(p, (struct slice){(const char *)body.p, body.n}, &q->body, e);
        if (rc == TA_OK)
            plan_hash(q);
        if (rc == TA_OK && q->body.n != before)
            adapt_length(p, q);
    }
    buf_done(&body);
    return rc;
}

/* --- counting ----------------------------------------------------------------------------------
 */

void replaced_add(struct replaced *r, const struct message_field *fields, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < r->added.n && !text_same(slice_of(fields[i].name), r->added.v[k].name))
            k++;
        struct replaced_field f = {
            arena_text(&r->texts, slice_of(fields[i].name)),
            fields[i].secret ? NULL : arena_text(&r->texts, slice_of(fields[i].value)), 0, 0};
        if (k == r->added.n)
            VEC_PUSH(&r->added, f);
        else if (fields[i].secret)
            r->added.v[k].value = NULL;
    }
}

static bool has_field(const struct plan_request *q, const char *name)
{
    for (size_t i = 0; i < q->n_fields; i++) {
        if (text_same(slice_of(q->fields[i].name), name))
            return true;
    }
    return false;
}

void replaced_count(struct replaced *r, const struct plan_request *q)
{
    for (size_t i = 0; i < PLAN_CHANGES; i++)
        r->counts[i] += (q->changes >> i & 1) != 0;
    for (size_t i = 0; i < r->added.n; i++) {
        struct replaced_field *f = &r->added.v[i];
        bool in_place = has_field(q, f->name);
        f->in_place += in_place;
        f->added += !in_place;
    }
}

void replaced_count_plan(struct replaced *r, const struct plan *p)
{
    for (size_t i = 0; i < p->requests.n; i++)
        replaced_count(r, &p->requests.v[i]);
}

void replaced_count_none(struct replaced *r)
{
    memset(r->counts, 0, sizeof r->counts);
    for (size_t i = 0; i < r->added.n; i++)
        r->added.v[i].in_place = r->added.v[i].added = 0;
}

/* --- words ------------------------------------------------------------------------------------ */

/* Lines on their way out. */
struct words {
    const struct replaced *r;
    const char *authority;
    bool counted; /* with numbers */
    struct buf *out;
};

static uint64_t count_of(const struct replaced *r, enum plan_change what)
{
    size_t i = 0;
    while (what >> i != 1)
        i++;
    return r->counts[i];
}

/* "(1 request)", or nothing where none are counted yet; and what comes then. */
static void put_count(const struct words *w, uint64_t n, const char *then)
{
    if (w->counted)
        buf_printf(w->out, " (%" PRIu64 " request%s)", n, n == 1 ? "" : "s");
    buf_puts(w->out, then);
}

/* What Host becomes: the target's, unless another is asked for. */
static const char *new_host(const struct words *w)
{
    for (size_t i = 0; i < w->r->added.n; i++) {
        if (text_same(slice_of("Host"), w->r->added.v[i].name))
            return w->r->added.v[i].value;
    }
    return w->authority;
}

static void say_replaced(const struct words *w)
{
    const struct replaced *r = w->r;
    bool others = count_of(r, PLAN_OTHER_HOST) > 0;
    if (count_of(r, PLAN_HOST) > 0 && (others || strcmp(r->host, new_host(w)) != 0)) {
        buf_printf(w->out, "Host %.200s%s by %.200s", r->host, others ? " and others" : "",
                   new_host(w));
        put_count(w, count_of(r, PLAN_HOST), "\n");
    }
    if (count_of(r, PLAN_MODEL) > 0) {
        buf_printf(w->out, "model %s%s by %.200s, Content-Length with it", r->model,
                   count_of(r, PLAN_OTHER_MODEL) > 0 ? " and others" : "", r->new_model);
        put_count(w, count_of(r, PLAN_MODEL), "\n");
    }
    const struct {
        enum plan_change which;
        const char *what;
    } others_of[] = {{PLAN_WITHOUT_MODEL, "no model, where a body names none or has a coding"},
                     {PLAN_ABSOLUTE, "the whole URL, as for a proxy, by its path"},
                     {PLAN_CHUNKED, "the chunks of a body by one"}};
    for (size_t i = 0; i < sizeof others_of / sizeof *others_of; i++) {
        uint64_t n = count_of(r, others_of[i].which);
        if (n == 0)
            continue;
        buf_puts(w->out, others_of[i].what);
        put_count(w, n, "\n");
    }
}

/* Without the values: what somebody takes for no credential may be one. */
static void say_added(const struct words *w)
{
    for (size_t i = 0; i < w->r->added.n; i++) {
        const struct replaced_field *f = &w->r->added.v[i];
        const char *origin = f->value != NULL ? "the one of --header"
                                              : "the credential from the environment, blanked in "
                                                "the trace";
        if (f->in_place > 0 && !text_same(slice_of("Host"), f->name)) {
            buf_printf(w->out, "header field %.200s by %s", f->name, origin);
            put_count(w, f->in_place, "\n");
        }
        if (f->added > 0) {
            buf_printf(w->out, "added: header field %.200s, %s", f->name, origin);
            put_count(w, f->added, "\n");
        }
    }
}

static void say_left_out(const struct words *w)
{
    const struct replaced *r = w->r;
    if (count_of(r, PLAN_CREDENTIALS) > 0) {
        buf_puts(w->out, "left out: ");
        for (size_t i = 0; i < r->names.n && i < FRAMES_SHOWN; i++)
            buf_printf(w->out, "%s%s", i ? ", " : "", r->names.v[i]);
        buf_puts(w->out, r->names.n > FRAMES_SHOWN ? ", …" : "");
        put_count(w, count_of(r, PLAN_CREDENTIALS), ": no credential is taken from a recording\n");
    }
    if (count_of(r, PLAN_PARAMETERS) > 0) {
        buf_puts(w->out, "left out: credentials in the query");
        put_count(w, count_of(r, PLAN_PARAMETERS), "\n");
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

static void say(const struct words *w)
{
    buf_init(w->out, 1u << 20);
    say_replaced(w);
    say_added(w);
    say_left_out(w);
    say_skipped(w->r, w->out);
}

void replaced_print(const struct replaced *r, const char *authority, FILE *to)
{
    struct buf text, line;
    struct words w = {r, authority, true, &text};
    say(&w);
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

static void put_seeds(const struct plan *p, struct buf *out)
{
    if (p->text_is_made)
        buf_printf(out, "prompts made here, with seed %" PRId64 "\n", p->text_seed);
    if (p->arrivals_are_made)
        buf_printf(out, "arrivals made here, with seed %" PRId64 "\n", p->arrivals_seed);
}

static void write_note(struct slice words, struct slice lines, struct buf *json)
{
    struct jsonw w;
    jsonw_init(&w, json, 0);
    jsonw_object(&w, NULL);
    jsonw_text(&w, "kind", "note");
    jsonw_ns(&w, "t_ns", clock_real_ns());
    jsonw_slice(&w, "text", words);
    jsonw_array(&w, "replaced");
    for (const char *nl, *p = lines.p; (nl = strchr(p, '\n')) != NULL; p = nl + 1)
        jsonw_slice(&w, NULL, (struct slice){p, (size_t)(nl - p)});
    jsonw_end(&w);
    jsonw_end(&w);
}

void replaced_note(const struct replaced *r, const struct plan *p, const char *authority,
                   const char *source, bool counted, struct buf *json)
{
    struct buf text, words;
    struct words lines = {r, authority, counted, &text};
    say(&lines);
    buf_init(&words, 2u << 20);
    buf_printf(&words, "replay of %s\n", source);
    put_seeds(p, &words);
    buf_put(&words, text.p, text.n);
    if (r->recorded > 0 || text.n > 0 || p->text_is_made || p->arrivals_are_made)
        write_note((struct slice){(const char *)words.p, words.n},
                   (struct slice){buf_text(&text), text.n}, json);
    buf_done(&words);
    buf_done(&text);
}
