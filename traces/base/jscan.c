/* Pull scanner for RFC 8259. The state says what may come next; the bit stack says what we are
 * inside. */
#include "traces/base/jscan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "traces/base/text.h"

enum state {
    WANT_VALUE,
    WANT_VALUE_OR_END,
    WANT_KEY,
    WANT_KEY_OR_END,
    WANT_COMMA_OR_END,
    WANT_NOTHING
};

/* is_object is left as it is: a bit is written before it is read, and clearing 64 bytes for each of
 * an event's few small values costs as much as scanning them. */
static void start_over(struct jscan *s, struct slice text, bool valid)
{
    if (text.p == NULL) /* no text is an empty one */
        text = slice_of("");
    s->start = s->p = text.p;
    s->end = text.p + text.n;
    s->text = (struct slice){text.p, 0};
    s->escaped = false;
    s->last = JT_NULL;
    s->depth = 0;
    s->state = WANT_VALUE;
    s->valid = valid;
}

struct jscan jscan_over(struct slice text)
{
    struct jscan s;
    start_over(&s, text, false);
    return s;
}

struct jscan jscan_over_valid(struct slice text)
{
    struct jscan s;
    start_over(&s, text, true);
    return s;
}

static enum jscan_token bad(struct jscan *s)
{
    s->last = JT_BAD;
    return JT_BAD;
}

static const char *blanks_end(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p;
}

static void skip_blanks(struct jscan *s)
{
    s->p = blanks_end(s->p, s->end);
}

static bool inside_object(const struct jscan *s)
{
    unsigned at = s->depth - 1;
    return s->depth > 0 && (s->is_object[at / 8] >> (at % 8) & 1) != 0;
}

static void after_value(struct jscan *s)
{
    s->state = s->depth == 0 ? WANT_NOTHING : WANT_COMMA_OR_END;
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Bytes at which a string is not just more text: its end, an escape, what may not stand in it. */
static const bool stops[256] = {
    [0x00] = true, [0x01] = true, [0x02] = true, [0x03] = true, [0x04] = true, [0x05] = true,
    [0x06] = true, [0x07] = true, [0x08] = true, [0x09] = true, [0x0A] = true, [0x0B] = true,
    [0x0C] = true, [0x0D] = true, [0x0E] = true, [0x0F] = true, [0x10] = true, [0x11] = true,
    [0x12] = true, [0x13] = true, [0x14] = true, [0x15] = true, [0x16] = true, [0x17] = true,
    [0x18] = true, [0x19] = true, [0x1A] = true, [0x1B] = true, [0x1C] = true, [0x1D] = true,
    [0x1E] = true, [0x1F] = true, ['"'] = true,  ['\\'] = true,
};

/* At the backslash; returns what follows the escape, or NULL. */
static const char *scan_escape(const char *p, const char *end)
{
    if (++p == end)
        return NULL;
    if (*p == 'u') {
        if (end - p < 5)
            return NULL;
        return is_hex(p[1]) && is_hex(p[2]) && is_hex(p[3]) && is_hex(p[4]) ? p + 5 : NULL;
    }
    return *p != '\0' && strchr("\"\\/bfnrt", *p) != NULL ? p + 1 : NULL;
}

/* From the opening quote to what follows the closing one, or NULL. */
static const char *string_end(const char *p, const char *end, bool *escaped)
{
    for (p++;;) {
        while (p < end && !stops[(unsigned char)*p])
            p++;
        if (p == end || (unsigned char)*p < 0x20)
            return NULL;
        if (*p == '"')
            return p + 1;
        *escaped = true;
        p = scan_escape(p, end);
        if (p == NULL)
            return NULL;
    }
}

static bool scan_string(struct jscan *s)
{
    s->escaped = false;
    const char *after = string_end(s->p, s->end, &s->escaped);
    if (after == NULL)
        return false;
    s->text = (struct slice){s->p + 1, (size_t)(after - s->p) - 2};
    s->p = after;
    return true;
}

static const char *digits(const char *p, const char *end)
{
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p;
}

/* What follows the number at p, or NULL. */
static const char *number_end(const char *p, const char *end)
{
    if (p < end && *p == '-')
        p++;
    const char *whole = p;
    p = digits(p, end);
    if (p == whole || (*whole == '0' && p - whole > 1))
        return NULL;
    if (p < end && *p == '.') {
        const char *fraction = ++p;
        p = digits(p, end);
        if (p == fraction)
            return NULL;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < end && (*p == '+' || *p == '-'))
            p++;
        const char *exponent = p;
        p = digits(p, end);
        if (p == exponent)
            return NULL;
    }
    return p;
}

static bool scan_number(struct jscan *s)
{
    const char *after = number_end(s->p, s->end);
    if (after == NULL)
        return false;
    s->text = (struct slice){s->p, (size_t)(after - s->p)};
    s->p = after;
    return true;
}

static const char *word_end(const char *p, const char *end, const char *text)
{
    size_t n = strlen(text);
    return (size_t)(end - p) >= n && memcmp(p, text, n) == 0 ? p + n : NULL;
}

static enum jscan_token word(struct jscan *s, const char *text, enum jscan_token t)
{
    const char *after = word_end(s->p, s->end, text);
    if (after == NULL)
        return bad(s);
    s->p = after;
    after_value(s);
    return s->last = t;
}

static bool go_in(struct jscan *s, bool object)
{
    if (s->depth == JSCAN_DEPTH)
        return false;
    uint8_t bit = (uint8_t)(1u << (s->depth % 8));
    uint8_t *at = &s->is_object[s->depth / 8];
    uint8_t outer = (uint8_t)(s->depth % 8 == 0 ? 0 : *at & (bit - 1u));
    *at = (uint8_t)(object ? outer | bit : outer);
    s->depth++;
    return true;
}

static enum jscan_token open_nest(struct jscan *s, bool object)
{
    if (!go_in(s, object))
        return bad(s);
    s->p++;
    s->state = object ? WANT_KEY_OR_END : WANT_VALUE_OR_END;
    return s->last = object ? JT_OBJECT : JT_ARRAY;
}

static enum jscan_token close_nest(struct jscan *s)
{
    bool object = inside_object(s);
    s->p++;
    s->depth--;
    after_value(s);
    return s->last = object ? JT_OBJECT_END : JT_ARRAY_END;
}

static enum jscan_token scan_value(struct jscan *s)
{
    switch (*s->p) {
    case '{':
        return open_nest(s, true);
    case '[':
        return open_nest(s, false);
    case 't':
        return word(s, "true", JT_TRUE);
    case 'f':
        return word(s, "false", JT_FALSE);
    case 'n':
        return word(s, "null", JT_NULL);
    case '"':
        if (!scan_string(s))
            return bad(s);
        after_value(s);
        return s->last = JT_STRING;
    default:
        if (!scan_number(s))
            return bad(s);
        after_value(s);
        return s->last = JT_NUMBER;
    }
}

static enum jscan_token scan_key(struct jscan *s)
{
    if (*s->p != '"' || !scan_string(s))
        return bad(s);
    skip_blanks(s);
    if (s->p == s->end || *s->p != ':')
        return bad(s);
    s->p++;
    s->state = WANT_VALUE;
    return s->last = JT_KEY;
}

enum jscan_token jscan_next(struct jscan *s)
{
    if (s->last == JT_BAD)
        return JT_BAD;
    skip_blanks(s);
    if (s->p == s->end)
        return s->state == WANT_NOTHING ? (s->last = JT_END) : bad(s);
    char closer = inside_object(s) ? '}' : ']';
    switch ((enum state)s->state) {
    case WANT_VALUE:
        return scan_value(s);
    case WANT_VALUE_OR_END:
        return *s->p == ']' ? close_nest(s) : scan_value(s);
    case WANT_KEY:
        return scan_key(s);
    case WANT_KEY_OR_END:
        return *s->p == '}' ? close_nest(s) : scan_key(s);
    case WANT_COMMA_OR_END:
        if (*s->p == closer)
            return close_nest(s);
        if (*s->p != ',')
            return bad(s);
        s->p++;
        skip_blanks(s);
        if (s->p == s->end)
            return bad(s);
        return closer == '}' ? scan_key(s) : scan_value(s);
    case WANT_NOTHING:
        break;
    }
    return bad(s);
}

bool jscan_member(struct jscan *s, struct slice *key)
{
    if (jscan_next(s) != JT_KEY)
        return false;
    *key = s->text;
    return true;
}

bool jscan_element(struct jscan *s)
{
    enum jscan_token t = jscan_next(s);
    return t != JT_ARRAY_END && t != JT_BAD && t != JT_END;
}

/* From a member's key to its value, or NULL. */
static const char *key_end(const char *p, const char *end)
{
    bool escaped;
    if (*p != '"' || (p = string_end(p, end, &escaped)) == NULL)
        return NULL;
    p = blanks_end(p, end);
    return p < end && *p == ':' ? blanks_end(p + 1, end) : NULL;
}

static const char *scalar_end(const char *p, const char *end)
{
    bool escaped;
    switch (*p) {
    case '"':
        return string_end(p, end, &escaped);
    case 't':
        return word_end(p, end, "true");
    case 'f':
        return word_end(p, end, "false");
    case 'n':
        return word_end(p, end, "null");
    default:
        return number_end(p, end);
    }
}

/* After the opener of a container: over the rest of it, as strictly as token by token but without
 * their state, since most of what a stream's events hold is only passed over. */
static bool walk(struct jscan *s)
{
    const char *p = s->p, *end = s->end;
    unsigned outside = s->depth - 1;
    bool first = true; /* nothing stands yet in the innermost container */
    while (s->depth > outside) {
        bool object = inside_object(s);
        p = blanks_end(p, end);
        if (p < end && *p == (object ? '}' : ']')) {
            p++;
            s->depth--;
            first = false;
            continue;
        }
        if (!first && (p == end || *p++ != ','))
            return false;
        p = blanks_end(p, end);
        if (p == end || (object && (p = key_end(p, end)) == NULL) || p == end)
            return false;
        first = *p == '{' || *p == '[';
        if (!first)
            p = scalar_end(p, end);
        else if (go_in(s, *p == '{'))
            p++;
        else
            p = NULL;
        if (p == NULL)
            return false;
    }
    s->p = p;
    return true;
}

void jscan_finish(struct jscan *s)
{
    if (s->last != JT_OBJECT && s->last != JT_ARRAY)
        return;
    if (s->state != WANT_KEY_OR_END && s->state != WANT_VALUE_OR_END) {
        unsigned outside = s->depth - 1; /* part of it has been read */
        while (s->depth > outside && jscan_next(s) != JT_BAD)
            ;
    } else if (walk(s)) {
        after_value(s);
        s->last = JT_NULL; /* the value is over */
    } else {
        bad(s);
    }
}

/* After the opener of a container in valid text: to its end, by brackets alone. */
static void leap(struct jscan *s)
{
    unsigned open = 1;
    const char *p = s->p;
    while (open > 0 && p < s->end) {
        char c = *p++;
        if (c == '"') {
            while (p < s->end && *p != '"')
                p += *p == '\\' ? 2 : 1;
            p++;
        } else if (c == '{' || c == '[') {
            open++;
        } else if (c == '}' || c == ']') {
            open--;
        }
    }
    s->p = p < s->end ? p : s->end;
    s->depth--;
    after_value(s);
    s->last = JT_NULL; /* the value is over */
}

void jscan_skip(struct jscan *s)
{
    jscan_next(s);
    if (s->valid && (s->last == JT_OBJECT || s->last == JT_ARRAY))
        leap(s);
    else
        jscan_finish(s);
}

bool jscan_bad(const struct jscan *s)
{
    return s->last == JT_BAD;
}

size_t jscan_offset(const struct jscan *s)
{
    return (size_t)(s->p - s->start);
}

static uint32_t hex4(const char *p)
{
    uint32_t v = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        v = v << 4 | (uint32_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return v;
}

/* p is at the 'u'; returns where the escape ends (after a low surrogate's escape, if it made a
 * pair). */
static const char *unicode_escape(const char *p, const char *end, uint32_t *cp)
{
    *cp = hex4(p + 1);
    p += 5;
    if (*cp >= 0xDC00 && *cp <= 0xDFFF)
        *cp = 0xFFFD;
    if (*cp < 0xD800 || *cp > 0xDBFF)
        return p;
    uint32_t low = end - p >= 6 && p[0] == '\\' && p[1] == 'u' ? hex4(p + 2) : 0;
    if (low < 0xDC00 || low > 0xDFFF) {
        *cp = 0xFFFD;
        return p;
    }
    *cp = 0x10000 + ((*cp - 0xD800) << 10) + (low - 0xDC00);
    return p + 6;
}

int jscan_unescape(const struct jscan *s, struct buf *out)
{
    const char *p = s->text.p, *end = p + s->text.n;
    if (!s->escaped)
        return buf_add(out, p, s->text.n);
    while (p < end) {
        const char *run = memchr(p, '\\', (size_t)(end - p));
        if (run == NULL)
            run = end;
        if (buf_add(out, p, (size_t)(run - p)) != TA_OK)
            return TA_ELIMIT;
        p = run;
        if (p == end)
            break;
        p++;
        char put[4];
        size_t n = 1;
        if (*p == 'u') {
            uint32_t cp;
            p = unicode_escape(p, end, &cp);
            n = utf8_put(put, cp);
        } else {
            static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
            put[0] = to[strchr(from, *p) - from];
            p++;
        }
        if (buf_add(out, put, n) != TA_OK)
            return TA_ELIMIT;
    }
    return TA_OK;
}

bool jscan_int(const struct jscan *s, int64_t *value)
{
    char text[24];
    if (s->last != JT_NUMBER || s->text.n >= sizeof text)
        return false;
    memcpy(text, s->text.p, s->text.n);
    text[s->text.n] = '\0';
    char *end = NULL;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (errno != 0 || *end != '\0')
        return false;
    *value = v;
    return true;
}

bool jscan_double(const struct jscan *s, double *value)
{
    char text[64];
    if (s->last != JT_NUMBER || s->text.n >= sizeof text)
        return false;
    memcpy(text, s->text.p, s->text.n);
    text[s->text.n] = '\0';
    *value = strtod(text, NULL);
    return true;
}
