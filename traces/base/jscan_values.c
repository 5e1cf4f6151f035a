/* What the scalars of a JSON text say (RFC 8259, 6 and 7), the scanner having found them. */
#include <stdlib.h>
#include <string.h>

#include "traces/base/jscan.h"
#include "traces/base/text.h"

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

/* p is at a backslash; returns where the escape ends, and what it stands for. */
static const char *unescape(const char *p, const char *end, char put[4], size_t *n)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    p++;
    if (*p == 'u') {
        uint32_t cp;
        p = unicode_escape(p, end, &cp);
        *n = utf8_put(put, cp);
        return p;
    }
    *n = 1;
    put[0] = to[strchr(from, *p) - from];
    return p + 1;
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
        char put[4];
        size_t n;
        p = unescape(p, end, put, &n);
        if (buf_add(out, put, n) != TA_OK)
            return TA_ELIMIT;
    }
    return TA_OK;
}

bool jscan_plain(struct slice raw, char *out, size_t size, struct slice *plain)
{
    const char *p = raw.p, *end = raw.p + raw.n;
    size_t had = 0;
    while (p < end) {
        char put[4];
        size_t n = 1;
        if (*p == '\\')
            p = unescape(p, end, put, &n);
        else
            put[0] = *p++;
        if (n > size - had)
            return false;
        memcpy(out + had, put, n);
        had += n;
    }
    *plain = (struct slice){out, had};
    return true;
}

bool jscan_raw_is(struct slice raw, const char *text)
{
    size_t n = strlen(text);
    if (raw.n <= n || memchr(raw.p, '\\', raw.n) == NULL) /* an escape is longer than its sense */
        return slice_is(raw, text);
    char room[JSCAN_KEY_BYTES];
    struct slice plain;
    return jscan_plain(raw, room, sizeof room, &plain) && slice_is(plain, text);
}

bool jscan_int(const struct jscan *s, int64_t *value)
{
    const char *p = s->text.p, *end = p + s->text.n;
    if (s->last != JT_NUMBER)
        return false;
    bool minus = *p == '-';
    uint64_t v = 0, most = (uint64_t)INT64_MAX + minus;
    for (p += minus; p < end; p++) {
        uint64_t digit = (uint64_t)(unsigned char)*p - '0'; /* wraps for what is none */
        if (digit > 9 || v > (most - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    *value = minus ? (int64_t)(~v + 1) : (int64_t)v;
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
