/* Rules that rewrite a text before it is split. */
#include "analyze/tokenizer_text.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "traces/base/mem.h"
#include "traces/base/text.h"

/* Marks on one character; canonical ordering takes the square of it. Stream-safe text (UAX 15)
 * has 30. */
enum { MARKS_MAX = 4096 };

static const char too_long[] = "its text grows too long when it is normalized";

bool text_is_space(uint32_t cp)
{
    return (cp >= 9 && cp <= 13) || cp == 0x20 || cp == 0x85 || cp == 0xa0 || cp == 0x1680 ||
           (cp >= 0x2000 && cp <= 0x200a) || cp == 0x2028 || cp == 0x2029 || cp == 0x202f ||
           cp == 0x205f || cp == 0x3000;
}

static bool is_mark(uint32_t cp)
{
    utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)cp);
    return c == UTF8PROC_CATEGORY_MN || c == UTF8PROC_CATEGORY_MC || c == UTF8PROC_CATEGORY_ME;
}

bool text_is_word(uint32_t cp)
{
    utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)cp);
    if (c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_NL) /* letters, marks, Nd, Nl */
        return true;
    return c == UTF8PROC_CATEGORY_PC || cp == 0x200c || cp == 0x200d ||
           (cp >= 0x24b6 && cp <= 0x24e9) || (cp >= 0x1f130 && cp <= 0x1f149) ||
           (cp >= 0x1f150 && cp <= 0x1f169) || (cp >= 0x1f170 && cp <= 0x1f189);
}

/* --- validity ----------------------------------------------------------------------------- */

static size_t ascii_run(const uint8_t *p, size_t n)
{
    size_t i = 0;
    for (uint64_t word; i + 8 <= n; i += 8) {
        memcpy(&word, p + i, 8);
        if ((word & 0x8080808080808080u) != 0)
            break;
    }
    while (i < n && p[i] < 0x80)
        i++;
    return i;
}

/* Bytes at p that no character has but that could have begun one. */
static size_t broken_part(const uint8_t *p, size_t n)
{
    static const struct {
        uint8_t first, last, lo, hi, more; /* of the second byte; bytes behind the first */
    } leads[] = {
        {0xc2, 0xdf, 0x80, 0xbf, 1}, {0xe0, 0xe0, 0xa0, 0xbf, 2}, {0xe1, 0xec, 0x80, 0xbf, 2},
        {0xed, 0xed, 0x80, 0x9f, 2}, {0xee, 0xef, 0x80, 0xbf, 2}, {0xf0, 0xf0, 0x90, 0xbf, 3},
        {0xf1, 0xf3, 0x80, 0xbf, 3}, {0xf4, 0xf4, 0x80, 0x8f, 3},
    };
    for (size_t k = 0; k < sizeof leads / sizeof *leads; k++) {
        if (p[0] < leads[k].first || p[0] > leads[k].last)
            continue;
        if (n < 2 || p[1] < leads[k].lo || p[1] > leads[k].hi)
            return 1;
        size_t i = 2;
        while (i < n && i <= leads[k].more && (p[i] & 0xc0) == 0x80)
            i++;
        return i;
    }
    return 1;
}

/* Bytes of valid text at the start of p. */
static size_t valid_run(const uint8_t *p, size_t n)
{
    size_t i = 0;
    while (i < n) {
        uint32_t cp;
        i += ascii_run(p + i, n - i);
        if (i == n)
            break;
        size_t used = utf8_next(p + i, n - i, &cp);
        if (used == 1)
            break;
        i += used;
    }
    return i;
}

int text_valid(struct slice in, struct buf *work, struct slice *out, const char **why)
{
    const uint8_t *p = (const uint8_t *)in.p;
    size_t i = valid_run(p, in.n);
    *out = in;
    if (i == in.n)
        return TA_OK;
    buf_clear(work);
    for (size_t from = 0; from < in.n;) {
        size_t run = valid_run(p + from, in.n - from);
        int rc = buf_add(work, p + from, run);
        from += run;
        if (rc == TA_OK && from < in.n) {
            rc = buf_add(work, "\xef\xbf\xbd", 3);
            from += broken_part(p + from, in.n - from);
        }
        if (rc != TA_OK) {
            *why = too_long;
            return TA_EFORMAT;
        }
    }
    *out = (struct slice){(const char *)work->p, work->n};
    return TA_OK;
}

/* --- Unicode's normal forms --------------------------------------------------------------- */

/* No character below U+0300 changes in NFC, none below U+0080 in any form. */
static bool is_normal(enum text_rule_kind kind, struct slice in)
{
    uint8_t limit = kind == TEXT_NFC ? 0xcc : 0x80; /* U+0300 begins with it */
    for (size_t i = 0; i < in.n; i++) {
        if ((uint8_t)in.p[i] >= limit)
            return false;
    }
    return true;
}

static bool too_many_marks(struct slice in)
{
    size_t run = 0;
    uint32_t cp;
    for (size_t i = 0; i < in.n;) {
        i += utf8_next((const uint8_t *)in.p + i, in.n - i, &cp);
        if (cp < 0x300 || utf8proc_get_property((utf8proc_int32_t)cp)->combining_class == 0)
            run = 0;
        else if (++run > MARKS_MAX)
            return true;
    }
    return false;
}

static int normalize(enum text_rule_kind kind, struct slice in, struct buf *work, const char **why)
{
    utf8proc_option_t options = UTF8PROC_STABLE;
    options |= kind == TEXT_NFC || kind == TEXT_NFKC ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
    if (kind == TEXT_NFKC || kind == TEXT_NFKD)
        options |= UTF8PROC_COMPAT;
    utf8proc_uint8_t *text = NULL;
    if (too_many_marks(in)) {
        *why = "its text has thousands of combining marks in a row";
        return TA_EFORMAT;
    }
    utf8proc_ssize_t n =
        utf8proc_map((const utf8proc_uint8_t *)in.p, (utf8proc_ssize_t)in.n, &text, options);
    int rc = n < 0 ? TA_EFORMAT : buf_add(work, text, (size_t)n);
    free(text);
    return rc;
}

/* --- one rule ----------------------------------------------------------------------------- */

static struct slice strip(const struct text_rule *r, struct slice s)
{
    uint32_t cp;
    while (r->left && s.n > 0) {
        size_t n = utf8_next((const uint8_t *)s.p, s.n, &cp);
        if (!text_is_space(cp))
            break;
        s = (struct slice){s.p + n, s.n - n};
    }
    while (r->right && s.n > 0) {
        size_t i = s.n - 1;
        while (i > 0 && ((uint8_t)s.p[i] & 0xc0) == 0x80)
            i--;
        utf8_next((const uint8_t *)s.p + i, s.n - i, &cp);
        if (!text_is_space(cp))
            break;
        s.n = i;
    }
    return s;
}

/* Of sentencepiece's NMT rules, what the reference has: UINT32_MAX takes the character out. */
static uint32_t nmt(uint32_t cp)
{
    if ((cp >= 1 && cp <= 8) || cp == 0x0b || (cp >= 0x0e && cp <= 0x1f) || cp == 0x7f ||
        cp == 0x8f || cp == 0x9f)
        return UINT32_MAX;
    bool blank = cp == 9 || cp == 10 || cp == 12 || cp == 13 || cp == 0x1680 ||
                 (cp >= 0x200b && cp <= 0x200f) || cp == 0x2028 || cp == 0x2029 || cp == 0x2581 ||
                 cp == 0xfeff || cp == 0xfffd;
    return blank ? ' ' : cp;
}

static int put_char(struct buf *work, uint32_t cp)
{
    char text[4];
    return buf_add(work, text, utf8_put(text, cp));
}

static int each_char(enum text_rule_kind kind, struct slice in, struct buf *work)
{
    int rc = TA_OK;
    for (size_t i = 0; i < in.n && rc == TA_OK;) {
        uint32_t cp;
        i += utf8_next((const uint8_t *)in.p + i, in.n - i, &cp);
        if (kind == TEXT_LOWERCASE && cp == 0x130) /* the one that becomes two */
            rc = buf_add(work, "i\xcc\x87", 3);
        else if (kind == TEXT_LOWERCASE)
            rc = put_char(work, (uint32_t)utf8proc_tolower((utf8proc_int32_t)cp));
        else if (kind == TEXT_STRIP_ACCENTS)
            rc = is_mark(cp) ? TA_OK : put_char(work, cp);
        else
            rc = nmt(cp) == UINT32_MAX ? TA_OK : put_char(work, nmt(cp));
    }
    return rc;
}

static int replace(const struct text_rule *r, struct slice in, struct buf *work, const char **why)
{
    struct pattern_walk w = {.text = in};
    size_t done = 0, start, end;
    int more, rc = TA_OK;
    while (rc == TA_OK && (more = pattern_next(r->pattern, &w, &start, &end)) != 0) {
        if (more < 0) {
            *why = "a pattern of the tokenizer takes too many steps on its text";
            return TA_EFORMAT;
        }
        rc = buf_add(work, in.p + done, start - done);
        if (rc == TA_OK)
            rc = buf_add(work, r->text.p, r->text.n);
        done = end;
    }
    return rc == TA_OK ? buf_add(work, in.p + done, in.n - done) : rc;
}

/* Printable Latin-1 stands for itself, the other bytes follow from U+0100 on. */
static int bytes(struct slice in, struct buf *work)
{
    uint8_t *to = buf_reserve(work, 2 * in.n), *p = to;
    if (to == NULL)
        return TA_ELIMIT;
    for (size_t i = 0; i < in.n; i++) {
        uint32_t b = (uint8_t)in.p[i];
        if (b > 0x20 && b < 0x7f) {
            *p++ = (uint8_t)b;
            continue;
        }
        uint32_t cp = b <= 0x20   ? 0x100 + b
                      : b < 0xa1  ? 0x100 + 0x21 + (b - 0x7f)
                      : b == 0xad ? 0x143
                                  : b;
        *p++ = (uint8_t)(0xc0 | cp >> 6);
        *p++ = (uint8_t)(0x80 | (cp & 0x3f));
    }
    work->n += (size_t)(p - to);
    return TA_OK;
}

int text_rule_apply(const struct text_rule *r, struct slice in, struct buf *work, struct slice *out,
                    const char **why)
{
    const char *trouble = too_long;
    int rc;
    *out = in;
    if (in.n == 0 || (r->kind <= TEXT_NFKD && is_normal(r->kind, in)))
        return TA_OK;
    if (r->kind == TEXT_STRIP) {
        *out = strip(r, in);
        return TA_OK;
    }
    buf_clear(work);
    if (r->kind <= TEXT_NFKD) {
        rc = normalize(r->kind, in, work, &trouble);
    } else if (r->kind == TEXT_PREPEND) {
        rc = buf_add(work, r->text.p, r->text.n);
        if (rc == TA_OK)
            rc = buf_add(work, in.p, in.n);
    } else if (r->kind == TEXT_REPLACE) {
        rc = replace(r, in, work, &trouble);
    } else if (r->kind == TEXT_BYTES) {
        rc = bytes(in, work);
    } else {
        rc = each_char(r->kind, in, work);
    }
    *out = (struct slice){(const char *)work->p, work->n};
    if (rc == TA_OK)
        return TA_OK;
    *why = trouble;
    return TA_EFORMAT;
}

int text_rules_apply(const struct text_rule *r, size_t n, struct slice in, struct buf *works,
                     struct slice *out, const char **why)
{
    *out = in;
    for (size_t i = 0; i < n; i++) {
        struct slice from = *out;
        const char *first = (const char *)works[0].p;
        bool in_first = works[0].cap > 0 && from.p >= first && from.p < first + works[0].cap;
        int rc = text_rule_apply(&r[i], from, &works[in_first ? 1 : 0], out, why);
        if (rc != TA_OK)
            return rc;
    }
    return TA_OK;
}
