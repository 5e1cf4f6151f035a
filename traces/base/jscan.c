/* Pull scanner for RFC 8259. The state says what may come next; the bit stack says what we are
 * inside. */
#include "traces/base/jscan.h"

#include <string.h>

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
    s->start = s->p = s->value = text.p;
    s->end = text.p + text.n;
    s->text = (struct slice){text.p, 0};
    s->escaped = false;
    s->last = JT_NULL;
    s->depth = 0;
    s->in_object = false;
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

TA_RARE static const char *many_blanks_end(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p;
}

static inline const char *blanks_end(const char *p, const char *end)
{
    return p < end && (unsigned char)*p > ' ' ? p : many_blanks_end(p, end);
}

static void skip_blanks(struct jscan *s)
{
    s->p = blanks_end(s->p, s->end);
}

static void after_value(struct jscan *s)
{
    s->state = s->depth == 0 ? WANT_NOTHING : WANT_COMMA_OR_END;
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Is it a byte at which a string is not just more text: its end, an escape, what may not stand in
 * it? */
static bool stops(char c)
{
    return c == '"' || c == '\\' || (unsigned char)c < 0x20;
}

static const uint64_t ones = UINT64_C(0x0101010101010101);

static uint64_t load8(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
           (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 |
           (uint64_t)p[7] << 56;
}

/* Which of eight bytes stops, by their top bits: exact for the first one that does, since a byte
 * smaller than what is taken from it borrows from those behind it alone. No byte above 0x7F stops.
 */
static uint64_t stops_among(uint64_t v)
{
    uint64_t quote = (v ^ ones * '"') - ones, slash = (v ^ ones * '\\') - ones;
    return (quote | slash | (v - ones * 0x20)) & ~v & ones << 7;
}

/* The place of the first byte whose top bit is set: the ones below that bit are counted, one a
 * byte. */
static unsigned first_of(uint64_t tops)
{
    uint64_t below = (tops & (~tops + 1)) - 1;
    return (unsigned)((below & ones) * ones >> 56) - 1;
}

/* The first byte from p on that stops; end if none does. */
static inline const char *plain_end(const char *p, const char *end)
{
    for (; end - p >= 8; p += 8) {
        uint64_t tops = stops_among(load8(p));
        if (tops != 0)
            return p + first_of(tops);
    }
    while (p < end && !stops(*p))
        p++;
    return p;
}

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

/* From the first byte that stops in a string to what follows its closing quote, or NULL. */
TA_RARE static const char *rest_end(const char *p, const char *end, bool *escaped)
{
    while (p < end && *p == '\\') {
        *escaped = true;
        p = scan_escape(p, end);
        if (p == NULL)
            return NULL;
        p = plain_end(p, end);
    }
    return p < end && *p == '"' ? p + 1 : NULL;
}

/* From the opening quote to what follows the closing one, or NULL. Sets *escaped alone. */
static inline const char *string_end(const char *p, const char *end, bool *escaped)
{
    p = plain_end(p + 1, end);
    return p < end && *p == '"' ? p + 1 : rest_end(p, end, escaped);
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
    s->in_object = object;
    return true;
}

static void go_out(struct jscan *s)
{
    unsigned at = --s->depth - 1;
    s->in_object = s->depth > 0 && (s->is_object[at / 8] >> (at % 8) & 1) != 0;
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
    bool object = s->in_object;
    s->p++;
    go_out(s);
    after_value(s);
    return s->last = object ? JT_OBJECT_END : JT_ARRAY_END;
}

static enum jscan_token scan_value(struct jscan *s)
{
    s->value = s->p;
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
    char closer = s->in_object ? '}' : ']';
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

/* JSON knows one key by many spellings: what readers compare is what all of them say. */
TA_RARE static struct slice plain_key(struct jscan *s, struct slice raw)
{
    struct slice plain;
    return jscan_plain(raw, s->key, sizeof s->key, &plain) ? plain : raw;
}

bool jscan_member(struct jscan *s, struct slice *key)
{
    if (jscan_next(s) != JT_KEY)
        return false;
    *key = s->escaped ? plain_key(s, s->text) : s->text;
    return true;
}

static bool pair_by_token(struct jscan *s, struct slice *key)
{
    return jscan_member(s, key) && jscan_next(s) != JT_BAD;
}

/* Most of what a stream's events are made of, in one go: ,"key":"text". Where the text goes another
 * way, the scanner has not moved and goes token by token. */
bool jscan_pair(struct jscan *s, struct slice *key)
{
    const char *p = blanks_end(s->p, s->end), *end = s->end;
    bool escaped = false;
    if (s->state == WANT_COMMA_OR_END && p < end && *p == ',')
        p = blanks_end(p + 1, end);
    else if (s->state != WANT_KEY_OR_END)
        return pair_by_token(s, key);
    const char *after = p < end && *p == '"' ? string_end(p, end, &escaped) : NULL;
    if (after == NULL || !s->in_object || s->last == JT_BAD)
        return pair_by_token(s, key);
    const char *colon = blanks_end(after, end);
    if (colon == end || *colon != ':')
        return pair_by_token(s, key);
    *key = (struct slice){p + 1, (size_t)(after - p) - 2};
    if (escaped)
        *key = plain_key(s, *key);
    s->p = p = blanks_end(colon + 1, end);
    if (p == end)
        return bad(s) != JT_BAD;
    escaped = false;
    after = *p == '"' ? string_end(p, end, &escaped) : NULL;
    if (after == NULL)
        return scan_value(s) != JT_BAD;
    s->value = p;
    s->text = (struct slice){p + 1, (size_t)(after - p) - 2};
    s->escaped = escaped;
    s->p = after;
    s->state = WANT_COMMA_OR_END;
    s->last = JT_STRING;
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

/* From an opener that lies deeper than there is account of to what follows its closer, or NULL: by
 * brackets and strings alone. */
static const char *deep_end(const char *p, const char *end)
{
    bool escaped;
    for (size_t open = 0; p < end;) {
        char c = *p;
        if (c == '"') {
            if ((p = string_end(p, end, &escaped)) == NULL)
                return NULL;
            continue;
        }
        p++;
        if (c == '{' || c == '[')
            open++;
        else if ((c == '}' || c == ']') && --open == 0)
            return p;
    }
    return NULL;
}

/* After the opener of a container: over the rest of it, as strictly as token by token but without
 * their state, since most of what a stream's events hold is only passed over. */
static bool walk(struct jscan *s)
{
    const char *p = s->p, *end = s->end;
    unsigned outside = s->depth - 1;
    bool first = true; /* nothing stands yet in the innermost container */
    while (s->depth > outside) {
        bool object = s->in_object;
        p = blanks_end(p, end);
        if (p < end && *p == (object ? '}' : ']')) {
            p++;
            go_out(s);
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
        else {
            p = deep_end(p, end);
            first = false;
        }
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
    go_out(s);
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

struct slice jscan_whole(struct jscan *s)
{
    const char *p = s->value;
    jscan_finish(s);
    return (struct slice){p, (size_t)(s->p - p)};
}

struct slice jscan_raw(struct jscan *s)
{
    jscan_next(s);
    return jscan_whole(s);
}

bool jscan_bad(const struct jscan *s)
{
    return s->last == JT_BAD;
}

size_t jscan_offset(const struct jscan *s)
{
    return (size_t)(s->p - s->start);
}
