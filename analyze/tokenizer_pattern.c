/* Regular expressions of tokenizers, said in PCRE2's words. Sources: Oniguruma 6.9.8 doc/RE and
 * doc/SYNTAX.md (Ruby's syntax is what its default is), the regex and fancy-regex crates' syntax,
 * pcre2pattern(3). */
#include "analyze/tokenizer_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <ctype.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/tokenizer_young.h"
#include "traces/base/mem.h"
#include "traces/limits.h"

struct pattern {
    struct pattern *young; /* the same for texts with young characters; NULL: this one knows them */
    pcre2_code *code;      /* NULL: literal */
    pcre2_match_data *match;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    bool jit;
    char *literal;
    size_t literal_n;
};

/* White_Space. PCRE2's own \s has U+180E too, which has not been white space since Unicode 6.3. */
#define SPACE                                                                                      \
    "\\t-\\r\\x20\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}"   \
    "\\x{3000}"

/* What is alphabetic without being a letter, a mark or a number: circled and squared letters. */
#define CIRCLED "\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}\\x{1f150}-\\x{1f169}\\x{1f170}-\\x{1f189}"
#define JOINERS "\\x{200c}\\x{200d}" /* Rust counts them as parts of words */

/* --- translation -------------------------------------------------------------------------- */

enum { GROUPS_MAX = 64 };

struct translation {
    struct slice in;
    size_t i;
    enum pattern_syntax syntax;
    bool young; /* categories are given the characters that PCRE2 may not know */
    struct buf *out;
    size_t atom; /* where in out the last thing began that can be repeated */
    size_t groups[GROUPS_MAX];
    size_t depth;
    struct err *e;
};

static int refuse(struct translation *t, size_t at, size_t n)
{
    n = n < t->in.n - at ? n : t->in.n - at;
    return err_set(t->e, TA_EFORMAT, "'%.*s' at byte %zu of a pattern is not read here", (int)n,
                   t->in.p + at, at);
}

/* in.p[i + k], or NUL. */
static char peek(const struct translation *t, size_t k)
{
    return t->i + k < t->in.n ? t->in.p[t->i + k] : '\0';
}

static void put(struct translation *t, const char *text)
{
    buf_puts(t->out, text);
}

static void copy(struct translation *t, size_t n)
{
    buf_put(t->out, t->in.p + t->i, n);
    t->i += n;
}

/* A general category or a script, for the inside of a class. */
static void put_category(struct translation *t, const char *name)
{
    buf_printf(t->out, "\\p{%s%s}", strlen(name) > 2 ? "sc:" : "", name);
    if (t->young)
        young_put(t->out, name);
}

/* What \w is made of: Alphabetic, marks, decimal digits, connectors. */
static void put_word(struct translation *t)
{
    static const char *const categories[] = {"L", "M", "Nd", "Nl", "Pc"};
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
        put_category(t, categories[i]);
    put(t, CIRCLED);
    if (t->syntax == PATTERN_RUST)
        put(t, JOINERS);
}

/* What a class lacks cannot be said inside of another: there, the young are left out. */
static void put_property(struct translation *t, const char *name, bool inverted, bool in_class)
{
    if (!t->young || (in_class && inverted)) {
        buf_printf(t->out, "\\%c{%s%s}", inverted ? 'P' : 'p', strlen(name) > 2 ? "sc:" : "", name);
        return;
    }
    if (!in_class)
        put(t, inverted ? "[^" : "[");
    put_category(t, name);
    if (!in_class)
        put(t, "]");
}

/* \p{L}, \P{Lu}, \p{^N}, \pL, \p{Han}: a script is the script, without its extensions. */
static int property(struct translation *t, bool in_class)
{
    bool inverted = peek(t, 1) == 'P';
    const char *name = t->in.p + t->i + 2;
    size_t n = 1, whole = 3;
    if (peek(t, 2) == '{') {
        const char *close = memchr(++name, '}', t->in.n - t->i - 3);
        n = close != NULL ? (size_t)(close - name) : 0;
        whole = n + 4;
        if (n > 0 && *name == '^') {
            inverted = !inverted;
            name++;
            n--;
        }
    }
    for (size_t k = 0; k < n; k++) {
        if (whole > t->in.n - t->i || (!isalpha((unsigned char)name[k]) && name[k] != '_'))
            return refuse(t, t->i, whole);
    }
    char copy[64];
    if (n == 0 || n >= sizeof copy)
        return refuse(t, t->i, 3);
    memcpy(copy, name, n);
    copy[n] = '\0';
    put_property(t, copy, inverted, in_class);
    t->i += whole;
    return TA_OK;
}

/* \x{1F600}, \x41, \u00e9. */
static int number(struct translation *t)
{
    const char *p = t->in.p + t->i + 2;
    size_t left = t->in.n - t->i - 2, digits = 0, skip = 0, closing = 0;
    if (peek(t, 1) == 'x' && peek(t, 2) == '{') {
        skip = closing = 1;
        while (skip + digits < left && isxdigit((unsigned char)p[skip + digits]))
            digits++;
    } else {
        size_t want = peek(t, 1) == 'x' ? 2 : 4;
        while (digits < left && digits < want && isxdigit((unsigned char)p[digits]))
            digits++;
        if (digits < want || (want == 2 && t->syntax == PATTERN_RUBY && p[0] >= '8'))
            return refuse(t, t->i, 4); /* above 7f it is a byte, not a character */
    }
    if (digits == 0 || digits > 6 ||
        (closing > 0 && (skip + digits >= left || p[skip + digits] != '}')))
        return refuse(t, t->i, 4);
    buf_printf(t->out, "\\x{%.*s}", (int)digits, p + skip);
    t->i += 2 + skip + digits + closing;
    return TA_OK;
}

/* What both inside and outside of a class an escape means. */
static int escape_common(struct translation *t, bool in_class)
{
    char c = peek(t, 1);
    if (c == 'p' || c == 'P')
        return property(t, in_class);
    if (c == 'x' || c == 'u')
        return number(t);
    if (c == 'v') { /* PCRE2: any vertical space */
        put(t, "\\x0b");
        t->i += 2;
        return TA_OK;
    }
    if (c == '\0' || (c & 0x80) != 0 ||
        (isalnum((unsigned char)c) && strchr("rntfaedD", c) == NULL))
        return refuse(t, t->i, 2);
    copy(t, 2);
    return TA_OK;
}

static int escape(struct translation *t)
{
    char c = peek(t, 1);
    if (c == 's' || c == 'S')
        buf_printf(t->out, "[%s%s]", c == 'S' ? "^" : "", SPACE);
    else if (c == 'w' || c == 'W') {
        put(t, c == 'W' ? "[^" : "[");
        put_word(t);
        put(t, "]");
    } else if (c == 'A' || c == 'z')
        buf_printf(t->out, "\\%c", c);
    else
        return escape_common(t, false);
    t->i += 2;
    return TA_OK;
}

static int escape_in_class(struct translation *t)
{
    char c = peek(t, 1);
    if (c == 's')
        put(t, SPACE);
    else if (c == 'S')
        put(t, "\\S\\x{180e}");
    else if (c == 'w')
        put_word(t);
    else
        return escape_common(t, true);
    t->i += 2;
    return TA_OK;
}

/* [...]: no class in a class, no set operations, no names. */
static int class(struct translation *t)
{
    t->atom = t->out->n;
    copy(t, peek(t, 1) == '^' ? 2 : 1);
    for (bool first = true;; first = false) {
        char c = peek(t, 0), next = peek(t, 1);
        if (c == '\0' && t->i >= t->in.n)
            return err_set(t->e, TA_EFORMAT, "a class without its end in a pattern");
        if (c == ']' && !first) {
            copy(t, 1);
            return TA_OK;
        }
        bool sets =
            c == next && (c == '&' || (t->syntax == PATTERN_RUST && (c == '-' || c == '~')));
        if (c == '[' || c == ']' || sets)
            return refuse(t, t->i, 2);
        int rc = TA_OK;
        if (c == '\\')
            rc = escape_in_class(t);
        else
            copy(t, 1);
        if (rc != TA_OK)
            return rc;
    }
}

static int group(struct translation *t)
{
    static const char *const known[] = {
        "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:", "(?-i:"};
    if (t->depth == GROUPS_MAX)
        return refuse(t, t->i, 1);
    size_t n = peek(t, 1) == '*' ? 0 : 1;
    if (peek(t, 1) == '?') {
        n = t->i == 0 && t->in.n >= 4 && memcmp(t->in.p, "(?i)", 4) == 0 ? 4 : 0;
        for (size_t k = 0; k < sizeof known / sizeof *known && n == 0; k++) {
            size_t len = strlen(known[k]);
            n = t->in.n - t->i >= len && memcmp(t->in.p + t->i, known[k], len) == 0 ? len : 0;
        }
    }
    if (n == 0)
        return refuse(t, t->i, 4);
    if (n == 4 && t->in.p[t->i + 3] == ')') { /* (?i) at the start: all of it */
        copy(t, 4);
        return TA_OK;
    }
    t->groups[t->depth++] = t->out->n;
    copy(t, n);
    return TA_OK;
}

/* In Ruby's syntax x{1,3}+ is (?:x{1,3})+; in the others the + takes the way back away. */
static int repeat(struct translation *t)
{
    const char *close = memchr(t->in.p + t->i, '}', t->in.n - t->i);
    size_t n = close != NULL ? (size_t)(close - (t->in.p + t->i)) + 1 : 0;
    bool comma = false;
    for (size_t k = 1; k + 1 < n; k++) {
        char c = t->in.p[t->i + k];
        comma |= c == ',';
        if (!isdigit((unsigned char)c) && (c != ',' || k == 1))
            return refuse(t, t->i, n);
    }
    if (n < 3)
        return refuse(t, t->i, 2);
    copy(t, n);
    char next = peek(t, 0);
    if (t->syntax == PATTERN_RUST || (next != '+' && next != '?'))
        return TA_OK;
    if (next == '?')
        return comma ? TA_OK : refuse(t, t->i, 1);
    struct slice atom = {mem_dup(t->out->p + t->atom, t->out->n - t->atom), t->out->n - t->atom};
    t->out->n = t->atom;
    put(t, "(?:");
    buf_put(t->out, atom.p, atom.n);
    put(t, ")");
    free((char *)atom.p);
    return TA_OK;
}

static int piece(struct translation *t)
{
    char c = peek(t, 0);
    if (c == '[')
        return class(t);
    if (c == '(')
        return group(t);
    if (c == '{')
        return repeat(t);
    if (c == ')' && t->depth > 0)
        t->atom = t->groups[--t->depth];
    else if (strchr("*+?", c) == NULL || c == '\0')
        t->atom = t->out->n;
    if (c == '\\')
        return escape(t);
    if (c == '\0' || c == '}')
        return refuse(t, t->i, 1);
    size_t n = 1;
    while ((peek(t, n) & 0xc0) == 0x80 && (c & 0x80) != 0) /* all of one character */
        n++;
    copy(t, n);
    return TA_OK;
}

int pattern_translate(struct slice text, enum pattern_syntax syntax, bool young, struct buf *out,
                      struct err *e)
{
    struct translation t = {.in = text, .syntax = syntax, .young = young, .out = out, .e = e};
    if (text.n > LIMIT_PATTERN_BYTES)
        return err_set(e, TA_EFORMAT, "a pattern of %zu bytes; %u is the limit", text.n,
                       LIMIT_PATTERN_BYTES);
    while (t.i < text.n) {
        int rc = piece(&t);
        if (rc != TA_OK)
            return rc;
    }
    return TA_OK;
}

/* --- matching ----------------------------------------------------------------------------- */

static int compile(struct pattern *p, const struct buf *text, enum pattern_syntax syntax,
                   struct err *e)
{
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_NO_AUTO_CAPTURE;
    /* Ruby's ^ and $ are about lines; Rust's $ is the very end. */
    options |= syntax == PATTERN_RUBY ? PCRE2_MULTILINE : PCRE2_DOLLAR_ENDONLY;
    int code;
    PCRE2_SIZE at;
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    p->code = pcre2_compile(text->p, text->n, options, &code, &at, context);
    pcre2_compile_context_free(context);
    if (p->code == NULL) {
        char why[128];
        pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof why);
        return err_set(e, TA_EFORMAT, "PCRE2 does not take the pattern: %s", why);
    }
    p->match = pcre2_match_data_create(1, NULL);
    p->context = pcre2_match_context_create(NULL);
    pcre2_set_match_limit(p->context, LIMIT_PATTERN_STEPS);
    pcre2_set_heap_limit(p->context, LIMIT_PATTERN_STACK_BYTES / 1024);
    p->jit = pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE) == 0;
    if (p->jit) {
        p->stack = pcre2_jit_stack_create(32 << 10, LIMIT_PATTERN_STACK_BYTES, NULL);
        pcre2_jit_stack_assign(p->context, NULL, p->stack);
    }
    return TA_OK;
}

/* Unicode 16, of the reference, is what tokenizer_young.c brings PCRE2 up to. */
static bool knows_young(void)
{
    char version[32] = "";
    pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, version);
    return strtol(version, NULL, 10) >= 16;
}

static int make(struct pattern **out, struct slice text, enum pattern_syntax syntax, bool young,
                struct err *e)
{
    struct buf words;
    buf_init(&words, LIMIT_PATTERN_WORDS_BYTES);
    struct pattern *p = mem_zalloc(sizeof *p);
    int rc = pattern_translate(text, syntax, young, &words, e);
    if (rc == TA_OK)
        rc = compile(p, &words, syntax, e);
    buf_done(&words);
    if (rc != TA_OK) {
        pattern_free(p);
        p = NULL;
    }
    *out = p;
    return rc;
}

/* Classes with the young written out are slow: they are for the texts that need them. */
int pattern_new(struct pattern **out, struct slice text, enum pattern_syntax syntax, struct err *e)
{
    int rc = make(out, text, syntax, false, e);
    if (rc != TA_OK || knows_young())
        return rc;
    rc = make(&(*out)->young, text, syntax, true, e);
    if (rc != TA_OK) {
        pattern_free(*out);
        *out = NULL;
    }
    return rc;
}

struct pattern *pattern_literal(struct slice text)
{
    struct pattern *p = mem_zalloc(sizeof *p);
    p->literal = mem_dup(text.p, text.n);
    p->literal_n = text.n;
    return p;
}

void pattern_free(struct pattern *p)
{
    if (p == NULL)
        return;
    pattern_free(p->young);
    pcre2_match_data_free(p->match);
    pcre2_match_context_free(p->context);
    pcre2_jit_stack_free(p->stack);
    pcre2_code_free(p->code);
    free(p->literal);
    free(p);
}

static int find_literal(const struct pattern *p, const struct pattern_walk *w, size_t *start,
                        size_t *end)
{
    for (size_t i = w->from; i + p->literal_n <= w->text.n; i++) {
        const char *at = memchr(w->text.p + i, p->literal[0], w->text.n - p->literal_n - i + 1);
        if (at == NULL)
            return 0;
        i = (size_t)(at - w->text.p);
        if (memcmp(at, p->literal, p->literal_n) == 0) {
            *start = i;
            *end = i + p->literal_n;
            return 1;
        }
    }
    return 0;
}

static int find(struct pattern *p, const struct pattern_walk *w, size_t *start, size_t *end)
{
    if (p->literal != NULL)
        return find_literal(p, w, start, end);
    PCRE2_SPTR text = (PCRE2_SPTR)w->text.p;
    int rc = p->jit ? pcre2_jit_match(p->code, text, w->text.n, w->from, 0, p->match, p->context)
                    : pcre2_match(p->code, text, w->text.n, w->from, PCRE2_NO_UTF_CHECK, p->match,
                                  p->context);
    if (rc == PCRE2_ERROR_NOMATCH)
        return 0;
    if (rc < 0)
        return -1;
    const PCRE2_SIZE *at = pcre2_get_ovector_pointer(p->match);
    *start = at[0];
    *end = at[1];
    return 1;
}

static size_t character(struct slice text, size_t i)
{
    size_t n = 1;
    while (i + n < text.n && ((uint8_t)text.p[i + n] & 0xc0) == 0x80)
        n++;
    return n;
}

int pattern_next(struct pattern *p, struct pattern_walk *w, size_t *start, size_t *end)
{
    if (!w->begun)
        w->young = p->young != NULL && young_in(w->text);
    w->begun = true;
    while (w->from <= w->text.n) {
        int rc = find(w->young ? p->young : p, w, start, end);
        if (rc <= 0)
            return rc;
        if (*start == *end && w->matched && *end == w->ended) {
            w->from += character(w->text, w->from);
            continue;
        }
        w->from = w->ended = *end;
        w->matched = true;
        return 1;
    }
    return 0;
}
