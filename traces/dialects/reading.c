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

/* A string of digits alone: proxies pass counts on as texts. */
static double digits(struct slice text)
{
    double v = text.n > 0 && text.n <= 16 ? 0 : NAN;
    for (size_t i = 0; i < text.n; i++)
        v = text.p[i] >= '0' && text.p[i] <= '9' ? 10 * v + (text.p[i] - '0') : NAN;
    return v;
}

int64_t reading_count(struct jscan *s)
{
    double v = NAN;
    if (jscan_next(s) == JT_NUMBER)
        jscan_double(s, &v);
    else if (s->last == JT_STRING)
        v = digits(s->text);
    jscan_finish(s);
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

/* Gateways fill in the names of another API too, and zeros with them: only where there is no other
 * count these count. */
static void fill_in(struct usage *u, const struct usage *other)
{
    bool named = u->prompt >= 0 || u->completion >= 0;
    if (named)
        return;
    u->prompt = other->prompt;
    u->completion = other->completion;
    if (u->cached < 0)
        u->cached = other->cached;
    if (u->reasoning < 0)
        u->reasoning = other->reasoning;
}

void reading_usage(struct reading *r, struct slice value)
{
    struct usage u = {-1, -1, -1, -1};
    struct usage other =
        u; /* by the names of OpenAI's responses: the old mlx-vlm has these alone */
    int64_t total = -1;
    struct jscan s = jscan_over_valid(value);
    struct slice key;
    if (jscan_next(&s) != JT_OBJECT)
        return;
    while (jscan_member(&s, &key)) {
        if (slice_is(key, "prompt_tokens"))
            u.prompt = reading_count(&s);
        else if (slice_is(key, "input_tokens"))
            other.prompt = reading_count(&s);
        else if (slice_is(key, "completion_tokens"))
            u.completion = reading_count(&s);
        else if (slice_is(key, "output_tokens"))
            other.completion = reading_count(&s);
        else if (slice_is(key, "total_tokens"))
            total = reading_count(&s);
        else if (slice_is(key, "cached_tokens")) /* omlx */
            u.cached = reading_count(&s);
        else if (slice_is(key, "prompt_tokens_details"))
            read_details(&s, "cached_tokens", &u.cached);
        else if (slice_is(key, "input_tokens_details"))
            read_details(&s, "cached_tokens", &other.cached);
        else if (slice_is(key, "completion_tokens_details"))
            read_details(&s, "reasoning_tokens", &u.reasoning);
        else if (slice_is(key, "output_tokens_details"))
            read_details(&s, "reasoning_tokens", &other.reasoning);
        else
            jscan_skip(&s);
    }
    fill_in(&u, &other);
    if (u.prompt >= 0 || u.completion >= 0 || u.cached >= 0 || u.reasoning >= 0)
        reading_emit(
            r, (struct delta){.kind = DELTA_USAGE, .usage = u, .total = total > 0 ? total : 0});
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

/* Behind the first token of a value: is it more than a name without anything in it? */
static bool says_something(const struct jscan *s)
{
    struct jscan inside = *s;
    double v = NAN;
    switch (s->last) {
    case JT_STRING:
        return s->text.n > 0;
    case JT_NUMBER:
        return !jscan_double(s, &v) || v != 0;
    case JT_TRUE:
        return true;
    case JT_OBJECT:
        return jscan_next(&inside) == JT_KEY;
    case JT_ARRAY:
        return jscan_element(&inside);
    default:
        return false;
    }
}

bool reading_is_failure(struct slice finish)
{
    return slice_is(finish, "error") || slice_is(finish, "abort");
}

/* An error is an object with a message, or (mlx-vlm, mlx-lm, Ollama) a string, or (FastAPI's
 * detail) a list. */
void reading_error(struct reading *r, struct slice value)
{
    struct jscan s = jscan_over_valid(value);
    struct slice key, message = value;
    bool says = false;
    switch (jscan_next(&s)) {
    case JT_STRING:
        if (s.text.n > 0)
            reading_emit_text(r, DELTA_ERROR, 0, reading_string(r, &s));
        return;
    case JT_OBJECT:
        while (jscan_pair(&s, &key)) {
            says |= says_something(&s);
            if (slice_is(key, "message") && s.last == JT_STRING && s.text.n > 0)
                message = reading_string(r, &s);
            jscan_finish(&s);
        }
        if (!says)
            return;
        break;
    case JT_ARRAY:
    case JT_NUMBER:
    case JT_TRUE:
        if (!says_something(&s))
            return;
        break;
    default: /* null and false: no error */
        return;
    }
    reading_emit_text(r, DELTA_ERROR, 0, message);
}
