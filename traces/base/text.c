/* UTF-8, and escaping for terminals and HTML. */
#include "traces/base/text.h"

#include <ctype.h>

static const char REPLACEMENT[] = "\xEF\xBF\xBD";

size_t utf8_next(const uint8_t *p, size_t n, uint32_t *cp)
{
    uint8_t c = p[0];
    size_t len = c < 0x80                 ? 1
                 : c >= 0xC2 && c <= 0xDF ? 2
                 : (c & 0xF0) == 0xE0     ? 3
                 : c >= 0xF0 && c <= 0xF4 ? 4
                                          : 0;
    *cp = 0xFFFD;
    if (len == 0 || len > n)
        return 1;
    if (len == 1) {
        *cp = c;
        return 1;
    }
    uint32_t v = c & (0x7Fu >> len);
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return 1;
        v = v << 6 | (p[i] & 0x3Fu);
    }
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (v < smallest[len] || v > 0x10FFFF || (v >= 0xD800 && v <= 0xDFFF))
        return 1;
    *cp = v;
    return len;
}

size_t utf8_put(char out[4], uint32_t cp)
{
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    size_t len = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    static const uint32_t lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = len - 1; i > 0; i--, cp >>= 6)
        out[i] = (char)(0x80 | (cp & 0x3F));
    out[0] = (char)(lead[len] | cp);
    return len;
}

static int is_control(uint32_t cp)
{
    return cp < 0x20 || (cp >= 0x7F && cp < 0xA0) || (cp >= 0x202A && cp <= 0x202E) ||
           (cp >= 0x2066 && cp <= 0x2069);
}

void text_terminal(struct buf *out, struct slice s)
{
    for (size_t i = 0; i < s.n;) {
        uint32_t cp;
        size_t used = utf8_next((const uint8_t *)s.p + i, s.n - i, &cp);
        if (cp == 0xFFFD || is_control(cp))
            buf_puts(out, REPLACEMENT);
        else
            buf_put(out, s.p + i, used);
        i += used;
    }
}

void text_html(struct buf *out, struct slice s)
{
    for (size_t i = 0; i < s.n;) {
        uint32_t cp;
        size_t used = utf8_next((const uint8_t *)s.p + i, s.n - i, &cp);
        switch (cp) {
        case '&':
            buf_puts(out, "&amp;");
            break;
        case '<':
            buf_puts(out, "&lt;");
            break;
        case '>':
            buf_puts(out, "&gt;");
            break;
        case '"':
            buf_puts(out, "&quot;");
            break;
        case '\'':
            buf_puts(out, "&#39;");
            break;
        case 0xFFFD:
            buf_puts(out, REPLACEMENT);
            break;
        default:
            if (cp == '\n' || cp == '\t' || !is_control(cp))
                buf_put(out, s.p + i, used);
        }
        i += used;
    }
}

int text_same(struct slice a, const char *b)
{
    size_t i = 0;
    for (; i < a.n && b[i] != '\0'; i++) {
        if (tolower((unsigned char)a.p[i]) != tolower((unsigned char)b[i]))
            return 0;
    }
    return i == a.n && b[i] == '\0';
}
