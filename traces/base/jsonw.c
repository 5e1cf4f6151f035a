/* Streaming JSON writer. */
#include "traces/base/jsonw.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "traces/base/text.h"

void jsonw_init(struct jsonw *w, struct buf *out, unsigned indent)
{
    *w = (struct jsonw){.out = out, .indent = indent, .first = true};
}

static void new_line(struct jsonw *w)
{
    if (w->indent > 0)
        buf_printf(w->out, "\n%*s", (int)(w->depth * w->indent), "");
}

/* How far from at the text can be copied as it is. */
static size_t plain_run(struct slice s, size_t at)
{
    size_t i = at;
    while (i < s.n) {
        unsigned char c = (unsigned char)s.p[i];
        uint32_t cp;
        if (c == '"' || c == '\\' || c < 0x20 || c == 0x7F)
            break;
        size_t used = c < 0x80 ? 1 : utf8_next((const uint8_t *)s.p + i, s.n - i, &cp);
        if (c >= 0x80 && used == 1)
            break;
        i += used;
    }
    return i - at;
}

static void put_string(struct buf *out, struct slice s)
{
    buf_puts(out, "\"");
    for (size_t i = 0; i < s.n;) {
        size_t run = plain_run(s, i);
        buf_put(out, s.p + i, run);
        i += run;
        if (i == s.n)
            break;
        unsigned char c = (unsigned char)s.p[i++];
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c == '\n')
            buf_puts(out, "\\n");
        else if (c == '\t')
            buf_puts(out, "\\t");
        else if (c == '\r')
            buf_puts(out, "\\r");
        else if (c < 0x80)
            buf_printf(out, "\\u%04x", c);
        else
            buf_puts(out, "\xEF\xBF\xBD");
    }
    buf_puts(out, "\"");
}

static void begin(struct jsonw *w, const char *key)
{
    if (w->depth > 0) {
        if (!w->first)
            buf_puts(w->out, ",");
        new_line(w);
    }
    w->first = false;
    if (key != NULL) {
        put_string(w->out, slice_of(key));
        buf_puts(w->out, w->indent > 0 ? ": " : ":");
    }
}

static void open_container(struct jsonw *w, const char *key, bool object)
{
    begin(w, key);
    buf_puts(w->out, object ? "{" : "[");
    assert(w->depth < JSONW_DEPTH);
    uint8_t bit = (uint8_t)(1u << (w->depth % 8));
    uint8_t *at = &w->is_object[w->depth / 8];
    *at = (uint8_t)(object ? *at | bit : *at & ~bit);
    w->depth++;
    w->first = true;
}

void jsonw_object(struct jsonw *w, const char *key)
{
    open_container(w, key, true);
}

void jsonw_array(struct jsonw *w, const char *key)
{
    open_container(w, key, false);
}

void jsonw_end(struct jsonw *w)
{
    bool empty = w->first;
    w->depth--;
    if (!empty)
        new_line(w);
    buf_puts(w->out, w->is_object[w->depth / 8] >> (w->depth % 8) & 1 ? "}" : "]");
    w->first = false;
    if (w->depth == 0 && w->indent > 0)
        buf_puts(w->out, "\n");
}

void jsonw_null(struct jsonw *w, const char *key)
{
    begin(w, key);
    buf_puts(w->out, "null");
}

void jsonw_bool(struct jsonw *w, const char *key, bool v)
{
    begin(w, key);
    buf_puts(w->out, v ? "true" : "false");
}

void jsonw_int(struct jsonw *w, const char *key, int64_t v)
{
    begin(w, key);
    buf_printf(w->out, "%" PRId64, v);
}

void jsonw_u64(struct jsonw *w, const char *key, uint64_t v)
{
    begin(w, key);
    buf_printf(w->out, "%" PRIu64, v);
}

void jsonw_double(struct jsonw *w, const char *key, double v)
{
    if (!isfinite(v)) {
        jsonw_null(w, key);
        return;
    }
    begin(w, key);
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    buf_puts(w->out, text);
}

void jsonw_slice(struct jsonw *w, const char *key, struct slice v)
{
    begin(w, key);
    put_string(w->out, v);
}

void jsonw_text(struct jsonw *w, const char *key, const char *v)
{
    if (v == NULL)
        jsonw_null(w, key);
    else
        jsonw_slice(w, key, slice_of(v));
}

void jsonw_ns(struct jsonw *w, const char *key, int64_t v)
{
    begin(w, key);
    buf_printf(w->out, "\"%" PRId64 "\"", v);
}

void jsonw_raw(struct jsonw *w, const char *key, struct slice v)
{
    begin(w, key);
    buf_put(w->out, v.p, v.n);
}

void jsonw_value(struct jsonw *w, const char *key, const struct json *v)
{
    double number = 0;
    int64_t whole;
    switch (json_kind(v)) {
    case JSON_NULL:
        jsonw_null(w, key);
        return;
    case JSON_BOOL:
        jsonw_bool(w, key, json_value_bool(v));
        return;
    case JSON_STRING:
        jsonw_text(w, key, json_value_string(v));
        return;
    case JSON_NUMBER:
        json_value_number(v, &number);
        if (json_value_int(v, &whole))
            jsonw_int(w, key, whole);
        else
            jsonw_double(w, key, number);
        return;
    case JSON_ARRAY:
        jsonw_array(w, key);
        break;
    case JSON_OBJECT:
        jsonw_object(w, key);
        break;
    }
    for (const struct json *c = json_first(v); c != NULL; c = json_next(c))
        jsonw_value(w, json_name(c), c);
    jsonw_end(w);
}
