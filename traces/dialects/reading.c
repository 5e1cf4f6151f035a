/* What the readers of all dialects share: values out of JSON, and what several dialects spell
 * alike.
 */
#include "traces/dialects/reading.h"

#include <math.h>
#include <string.h>

void reading_emit(struct reading *r, struct delta d)
{
    r->emitted++;
    r->errors += d.kind == DELTA_ERROR;
    if (r->rc == TA_OK)
        r->rc = r->out.delta(r->out.ctx, &d);
}

void reading_emit_text(struct reading *r, enum delta_kind kind, uint32_t choice, struct slice text)
{
    reading_emit(r, (struct delta){.kind = kind, .choice = choice, .text = text});
}

static bool is_blank(char c)
{
    return (unsigned char)c <= ' ' && (c == ' ' || c == '\n' || c == '\r' || c == '\t');
}

struct slice reading_trimmed(struct slice s)
{
    if (s.n == 0)
        return slice_of("");
    while (s.n > 0 && is_blank(s.p[s.n - 1]))
        s.n--;
    while (s.n > 0 && is_blank(*s.p)) {
        s.p++;
        s.n--;
    }
    return s;
}

bool reading_is_sign_of_life(struct slice trimmed)
{
    return trimmed.n == 0 || strchr("{[\"-0123456789tfn", *trimmed.p) == NULL;
}

/* The value that starts next, unread. */
struct slice reading_value(struct jscan *s)
{
    const char *p = s->p;
    jscan_skip(s);
    return reading_trimmed((struct slice){p, (size_t)(s->p - p)});
}

/* The scanner's string without escapes. Room for all of the text is made once, so that nothing
 * moves: an escape is never shorter than what it stands for. */
struct slice reading_string(struct reading *r, const struct jscan *s)
{
    struct buf *b = r->scratch;
    if (!s->escaped)
        return s->text;
    if (b->n == 0 && buf_reserve(b, r->text.n) == NULL)
        return s->text; /* a scratch smaller than the event: better its escapes than no text */
    size_t at = b->n;
    if (jscan_unescape(s, b) != TA_OK)
        return s->text;
    return (struct slice){(const char *)b->p + at, b->n - at};
}

/* The number that starts next; NAN if it is none. */
double reading_number(struct jscan *s)
{
    double v = NAN;
    if (jscan_next(s) == JT_NUMBER)
        jscan_double(s, &v);
    jscan_finish(s);
    return v;
}

int64_t reading_count(struct jscan *s)
{
    double v = reading_number(s);
    return v >= 0 && v <= 9007199254740992.0 ? (int64_t)v : -1;
}

/* {"cached_tokens":…} and {"reasoning_tokens":…}. */
static void read_details(struct jscan *s, const char *name, int64_t *out)
{
    struct slice key;
    if (jscan_next(s) != JT_OBJECT) {
        jscan_finish(s);
        return;
    }
    while (jscan_member(s, &key)) {
        if (slice_is(key, name))
            *out = reading_count(s);
        else
            jscan_skip(s);
    }
}

void reading_usage(struct reading *r, struct slice value)
{
    struct usage u = {-1, -1, -1, -1};
    struct jscan s = jscan_over_valid(value);
    struct slice key;
    if (jscan_next(&s) != JT_OBJECT)
        return;
    while (jscan_member(&s, &key)) {
        if (slice_is(key, "prompt_tokens"))
            u.prompt = reading_count(&s);
        else if (slice_is(key, "completion_tokens"))
            u.completion = reading_count(&s);
        else if (slice_is(key, "cached_tokens")) /* omlx */
            u.cached = reading_count(&s);
        else if (slice_is(key, "prompt_tokens_details"))
            read_details(&s, "cached_tokens", &u.cached);
        else if (slice_is(key, "completion_tokens_details"))
            read_details(&s, "reasoning_tokens", &u.reasoning);
        else
            jscan_skip(&s);
    }
    if (u.prompt >= 0 || u.completion >= 0 || u.cached >= 0 || u.reasoning >= 0)
        reading_emit(r, (struct delta){.kind = DELTA_USAGE, .usage = u});
}

/* llama.cpp's own clock; milliseconds. */
void reading_timings(struct reading *r, struct slice value)
{
    struct server_timings t = {NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    const struct {
        const char *key;
        double *out;
    } fields[] = {
        {"prompt_n", &t.prompt_n},
        {"prompt_ms", &t.prompt_ms},
        {"predicted_n", &t.predicted_n},
        {"predicted_ms", &t.predicted_ms},
        {"predicted_per_second", &t.predicted_per_second},
    };
    enum { FIELDS = sizeof fields / sizeof *fields };
    struct jscan s = jscan_over_valid(value);
    struct slice key;
    bool stated = false;
    if (jscan_next(&s) != JT_OBJECT)
        return;
    while (jscan_member(&s, &key)) {
        size_t i = 0;
        while (i < FIELDS && !slice_is(key, fields[i].key))
            i++;
        if (i == FIELDS) {
            jscan_skip(&s);
            continue;
        }
        *fields[i].out = reading_number(&s);
        stated = true;
    }
    if (stated)
        reading_emit(r, (struct delta){.kind = DELTA_TIMINGS, .timings = t});
}

/* An error is an object with a message, or (mlx-vlm, mlx-lm, Ollama) a string, or (FastAPI's
 * detail) a list. */
void reading_error(struct reading *r, struct slice value)
{
    struct jscan s = jscan_over_valid(value);
    struct slice key, message = value;
    switch (jscan_next(&s)) {
    case JT_STRING:
        if (s.text.n > 0)
            reading_emit_text(r, DELTA_ERROR, 0, reading_string(r, &s));
        return;
    case JT_OBJECT:
        while (jscan_member(&s, &key)) {
            if (slice_is(key, "message") && jscan_next(&s) == JT_STRING && s.text.n > 0)
                message = reading_string(r, &s);
            else if (s.last == JT_KEY)
                jscan_skip(&s);
            else
                jscan_finish(&s);
        }
        break;
    case JT_ARRAY:
    case JT_NUMBER:
    case JT_TRUE:
        break;
    default: /* null and false: no error */
        return;
    }
    reading_emit_text(r, DELTA_ERROR, 0, message);
}
