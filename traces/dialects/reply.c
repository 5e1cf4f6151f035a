/* What most readers share; reply.h has the contracts. */
#include "traces/dialects/reply.h"

#include <math.h>
#include <string.h>

#include "traces/base/jscan.h"

static void take_members(struct jscan *s, struct member *m, size_t n)
{
    struct slice key;
    for (size_t i = 0; i < n; i++)
        m[i].value = slice_of("");
    if (jscan_next(s) != JT_OBJECT) {
        jscan_finish(s);
        return;
    }
    while (jscan_member(s, &key)) {
        size_t i = 0;
        while (i < n && !slice_is(key, m[i].name))
            i++;
        if (i < n)
            m[i].value = reading_value(s);
        else
            jscan_skip(s);
    }
}

bool reply_members(struct slice text, struct member *m, size_t n)
{
    struct jscan s = jscan_over(text);
    take_members(&s, m, n);
    return jscan_next(&s) == JT_END;
}

void reply_members_of(struct slice value, struct member *m, size_t n)
{
    struct jscan s = jscan_over_valid(value);
    take_members(&s, m, n);
}

struct slice reply_text(struct reading *r, struct slice value)
{
    struct jscan s = jscan_over_valid(value);
    if (value.n < 2 || value.p[0] != '"' || jscan_next(&s) != JT_STRING)
        return slice_of("");
    return reading_string(r, &s);
}

double reply_number(struct slice value)
{
    struct jscan s = jscan_over_valid(value);
    return value.n > 0 ? reading_number(&s) : NAN;
}

int64_t reply_count(struct slice value)
{
    struct jscan s = jscan_over_valid(value);
    return value.n > 0 ? reading_count(&s) : -1;
}

bool reply_is(struct slice value, const char *text)
{
    return value.n >= 2 && value.p[0] == '"' &&
           jscan_raw_is((struct slice){value.p + 1, value.n - 2}, text);
}

bool reply_starts(struct slice value, const char *text)
{
    char room[JSCAN_KEY_BYTES];
    size_t n = strlen(text);
    if (value.n < 2 || value.p[0] != '"')
        return false;
    struct slice s = {value.p + 1, value.n - 2};
    if (memchr(s.p, '\\', s.n) != NULL && !jscan_plain(s, room, sizeof room, &s))
        return false;
    return s.n >= n && memcmp(s.p, text, n) == 0;
}

bool reply_is_object(struct slice value)
{
    struct jscan s = jscan_over_valid(value);
    struct slice key;
    return value.n > 0 && jscan_next(&s) == JT_OBJECT && jscan_member(&s, &key);
}

bool reply_is_array(struct slice value)
{
    return value.n > 0 && value.p[0] == '[';
}

void reply_elements(struct slice value, void (*each)(void *ctx, struct slice element), void *ctx)
{
    struct jscan s = jscan_over_valid(value);
    if (!reply_is_array(value) || jscan_next(&s) != JT_ARRAY)
        return;
    for (;;) {
        const char *p = s.p; /* behind the bracket, or at the comma */
        if (!jscan_element(&s))
            return;
        jscan_finish(&s);
        while (p < s.p && (*p == ',' || *p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
            p++;
        each(ctx, (struct slice){p, (size_t)(s.p - p)});
    }
}

static void take_first(void *ctx, struct slice element)
{
    struct slice *first = ctx;
    if (first->n == 0)
        *first = element;
}

struct slice reply_first(struct slice value)
{
    struct slice first = slice_of("");
    reply_elements(value, take_first, &first);
    return first;
}

static void count_one(void *ctx, struct slice element)
{
    (void)element;
    ++*(size_t *)ctx;
}

size_t reply_length(struct slice value)
{
    size_t n = 0;
    reply_elements(value, count_one, &n);
    return n;
}

void reply_emit(struct reading *r, enum delta_kind kind, uint32_t choice, struct slice value)
{
    struct slice text = reply_text(r, value);
    if (text.n > 0)
        reading_emit_text(r, kind, choice, text);
}

void reply_emit_name(struct reading *r, struct slice value)
{
    struct slice text = reply_text(r, value);
    if (text.n > 0)
        reading_emit(r, (struct delta){.kind = DELTA_TOOL, .text = text, .opens = true});
}

void reply_emit_tokens(struct reading *r, uint32_t choice, size_t n)
{
    if (n > 0)
        reading_emit(r, (struct delta){.kind = DELTA_TOKENS,
                                       .choice = choice,
                                       .tokens = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX});
}

void reply_emit_usage(struct reading *r, struct usage u, enum usage_sort sort)
{
    if (u.prompt >= 0 || u.completion >= 0 || u.cached >= 0 || u.reasoning >= 0)
        reading_emit(r, (struct delta){.kind = DELTA_USAGE, .usage = u, .sort = sort});
}

void reply_emit_rate(struct reading *r, double tokens_per_second)
{
    struct server_timings t = {NAN, NAN, NAN, NAN, tokens_per_second, NAN, NAN};
    if (!isnan(tokens_per_second))
        reading_emit(r, (struct delta){.kind = DELTA_TIMINGS, .timings = t});
}

static void read_all(struct reading *r, struct slice type, reply_reader *says)
{
    bool is_error = slice_is(type, "error");
    buf_clear(r->scratch);
    if (!says(r, type)) {
        reading_emit_text(r, DELTA_ERROR, 0,
                          is_error && r->text.n > 0 ? r->text : slice_of("not JSON"));
        return;
    }
    if (is_error && r->errors == 0)
        reading_error(r, r->text);
    if (is_error && r->errors == 0) /* an empty one */
        reading_emit_text(r, DELTA_ERROR, 0, r->text);
    if (r->emitted == 0)
        reading_emit(r, (struct delta){.kind = DELTA_EMPTY});
}

int reply_event(const struct event *ev, struct buf *scratch, struct delta_sink out,
                reply_reader *says)
{
    struct reading r = {.text = reading_trimmed(ev->data), .scratch = scratch, .out = out};
    if (slice_is(r.text, "[DONE]"))
        reading_emit(&r, (struct delta){.kind = DELTA_DONE});
    else if (slice_is(ev->type, "ping") ||
             (!slice_is(ev->type, "error") && reading_is_sign_of_life(r.text)))
        reading_emit(&r, (struct delta){.kind = DELTA_PING});
    else
        read_all(&r, ev->type, says);
    return r.rc;
}

int reply_document(struct slice body, struct buf *scratch, struct delta_sink out,
                   reply_reader *says)
{
    struct reading r = {.text = reading_trimmed(body), .scratch = scratch, .out = out};
    read_all(&r, slice_of(""), says);
    return r.rc;
}
