/* JSON walked byte by byte; the grammar is RFC 8259's, and documents may follow one another with or
 * without blanks between. */
#include "analyze/claims_json.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/base/jscan.h"
#include "traces/base/mem.h"

enum state {
    WANT_VALUE,      /* a document, a member's value, an element behind a comma */
    WANT_FIRST,      /* an element or the array's end */
    WANT_KEY_OR_END, /* behind '{' */
    WANT_KEY,        /* behind ',' in an object */
    WANT_COLON,
    WANT_COMMA_OR_END,
    IN_STRING,
    IN_KEY,
    IN_WORD /* a number or a name: up to a byte that belongs to none */
};

struct level {
    bool object;
    size_t path_n; /* of the container's own path */
    uint64_t index;
};

struct claims_json {
    const char *file;
    claims_json_fn *fn;
    void *ctx;
    enum state state;
    bool escaped, cut;
    bool escapes; /* the string at hand has some */
    size_t depth, path_n, text_n, line;
    uint64_t offset;
    char path[CLAIMS_JSON_PATH_BYTES + 4];
    char text[CLAIMS_JSON_TEXT_BYTES + 1];
    struct level levels[CLAIMS_JSON_DEPTH];
};

struct claims_json *claims_json_new(const char *path, claims_json_fn *fn, void *ctx)
{
    struct claims_json *j = mem_zalloc(sizeof *j);
    *j = (struct claims_json){.file = path, .fn = fn, .ctx = ctx, .line = 1};
    return j;
}

void claims_json_free(struct claims_json *j)
{
    free(j);
}

size_t claims_json_line(const struct claims_json *j)
{
    return j->line;
}

static int bad(const struct claims_json *j, struct err *e, const char *what)
{
    return err_set(e, TA_EFORMAT, "%s, line %zu (byte %" PRIu64 "): no JSON: %s", j->file, j->line,
                   j->offset, what);
}

static int tell(struct claims_json *j, enum claims_json_kind kind, bool object, struct err *e)
{
    struct claims_json_value v = {.kind = kind, .object = object, .cut = j->cut};
    bool found = false;
    for (size_t i = j->depth; i-- > 0;) {
        if (j->levels[i].object)
            continue;
        if (found) {
            v.outer = j->levels[i].index;
            break;
        }
        v.inner = j->levels[i].index;
        found = true;
    }
    j->path[j->path_n] = '\0';
    j->text[j->text_n] = '\0';
    v.path = j->path;
    v.text = (struct slice){j->text, j->text_n};
    v.depth = j->depth;
    return j->fn(j->ctx, &v, e);
}

/* Behind a value: back to the container's path. */
static void after_value(struct claims_json *j)
{
    j->text_n = 0;
    j->cut = false;
    if (j->depth == 0) {
        j->path_n = 0;
        j->state = WANT_VALUE;
        return;
    }
    j->path_n = j->levels[j->depth - 1].path_n;
    j->state = WANT_COMMA_OR_END;
}

static void add_path(struct claims_json *j, const char *p, size_t n)
{
    if (j->path_n + n > CLAIMS_JSON_PATH_BYTES) /* no path of a table is as long */
        n = CLAIMS_JSON_PATH_BYTES - j->path_n;
    memcpy(j->path + j->path_n, p, n);
    j->path_n += n;
}

static int begin(struct claims_json *j, bool object, struct err *e)
{
    j->text_n = 0;
    if (j->depth == CLAIMS_JSON_DEPTH)
        return bad(j, e, "nested deeper than 64 levels");
    int rc = tell(j, CLAIMS_JSON_BEGIN, object, e);
    j->levels[j->depth++] = (struct level){object, j->path_n, 0};
    if (!object)
        add_path(j, "[]", 2);
    j->state = object ? WANT_KEY_OR_END : WANT_FIRST;
    return rc;
}

static int end(struct claims_json *j, char c, struct err *e)
{
    struct level *l = &j->levels[j->depth - 1];
    if (l->object != (c == '}'))
        return bad(j, e, l->object ? "']' inside an object" : "'}' inside an array");
    j->depth--;
    j->path_n = l->path_n;
    j->text_n = 0;
    int rc = tell(j, CLAIMS_JSON_END, l->object, e);
    after_value(j);
    return rc;
}

static bool is_number(const char *text)
{
    static const char *const names[] = {"NaN", "Infinity", "-Infinity", "inf", "-inf", "nan"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(text, names[i]) == 0)
            return true;
    }
    char *stop;
    if (text[0] != '-' && !isdigit((unsigned char)text[0]))
        return false;
    if (strpbrk(text, "xXpPnN") != NULL) /* strtod knows more than JSON */
        return false;
    strtod(text, &stop);
    return *stop == '\0';
}

static int word(struct claims_json *j, struct err *e)
{
    j->text[j->text_n] = '\0';
    enum claims_json_kind kind = CLAIMS_JSON_NUMBER;
    if (strcmp(j->text, "true") == 0 || strcmp(j->text, "false") == 0 ||
        strcmp(j->text, "null") == 0)
        kind = CLAIMS_JSON_WORD;
    else if (j->cut || !is_number(j->text))
        return bad(j, e, "a word that is no value");
    int rc = tell(j, kind, false, e);
    after_value(j);
    return rc;
}

static void keep(struct claims_json *j, char c)
{
    if (j->text_n < CLAIMS_JSON_TEXT_BYTES)
        j->text[j->text_n++] = c;
    else
        j->cut = true;
}

/* The string in text without its escapes, if they are JSON's. */
static void unescape(struct claims_json *j)
{
    char quoted[CLAIMS_JSON_TEXT_BYTES + 2];
    j->escapes = false;
    if (j->cut)
        return;
    quoted[0] = quoted[j->text_n + 1] = '"';
    memcpy(quoted + 1, j->text, j->text_n);
    struct jscan s = jscan_over((struct slice){quoted, j->text_n + 2});
    struct slice plain;
    j->cut = jscan_next(&s) != JT_STRING || !jscan_plain(s.text, j->text, sizeof j->text, &plain);
    if (j->cut)
        return;
    j->text_n = plain.n;
    for (size_t i = 0; i < plain.n; i++) {
        if (j->text[i] == '\0') { /* would end a path early: no table has one with that */
            j->text[i] = '?';
            j->cut = true;
        }
    }
}

static int close_string(struct claims_json *j, struct err *e)
{
    if (j->escapes)
        unescape(j);
    if (j->state == IN_KEY) {
        j->path_n = j->levels[j->depth - 1].path_n;
        if (j->path_n > 0)
            add_path(j, ".", 1);
        add_path(j, j->text, j->text_n);
        j->text_n = 0;
        j->cut = false;
        j->state = WANT_COLON;
        return TA_OK;
    }
    int rc = tell(j, CLAIMS_JSON_STRING, false, e);
    after_value(j);
    return rc;
}

/* A run of a string's bytes, up to its end, an escape or the end of what there is. */
static size_t take_string(struct claims_json *j, const char *p, size_t n, int *rc, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        char c = p[i];
        if (c == '\n')
            j->line++;
        if (!j->escaped && c == '"') {
            *rc = close_string(j, e);
            return i + 1;
        }
        j->escaped = !j->escaped && c == '\\';
        j->escapes |= j->escaped;
        keep(j, c);
    }
    return n;
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '+' || c == '.';
}

static int start_value(struct claims_json *j, char c, struct err *e)
{
    if (c == '{' || c == '[')
        return begin(j, c == '{', e);
    if (c == '"') {
        j->state = IN_STRING;
        return TA_OK;
    }
    if (!in_word(c))
        return bad(j, e, "expected a value");
    keep(j, c);
    j->state = IN_WORD;
    return TA_OK;
}

static int comma(struct claims_json *j)
{
    struct level *l = &j->levels[j->depth - 1];
    if (!l->object) {
        l->index++;
        add_path(j, "[]", 2);
    }
    j->state = l->object ? WANT_KEY : WANT_VALUE;
    return TA_OK;
}

/* A byte outside of strings and words; blanks have been left out. */
static int structural(struct claims_json *j, char c, struct err *e)
{
    switch (j->state) {
    case WANT_FIRST:
        return c == ']' ? end(j, c, e) : start_value(j, c, e);
    case WANT_KEY_OR_END:
    case WANT_KEY:
        if (c == '}' && j->state == WANT_KEY_OR_END)
            return end(j, c, e);
        if (c != '"')
            return bad(j, e, "expected a name in quotes");
        j->state = IN_KEY;
        return TA_OK;
    case WANT_COLON:
        if (c != ':')
            return bad(j, e, "expected ':' behind a name");
        j->state = WANT_VALUE;
        return TA_OK;
    case WANT_COMMA_OR_END:
        if (c == ',')
            return comma(j);
        if (c == '}' || c == ']')
            return end(j, c, e);
        return bad(j, e, "expected ',' or the end");
    default:
        return start_value(j, c, e);
    }
}

int claims_json_feed(struct claims_json *j, const char *p, size_t n, struct err *e)
{
    int rc = TA_OK;
    uint64_t base = j->offset;
    for (size_t i = 0; i < n && rc == TA_OK;) {
        if (j->state == IN_STRING || j->state == IN_KEY) {
            i += take_string(j, p + i, n - i, &rc, e);
            continue;
        }
        char c = p[i];
        if (j->state == IN_WORD) {
            if (in_word(c)) {
                keep(j, c);
                i++;
            } else {
                rc = word(j, e);
            }
            continue;
        }
        i++;
        j->offset = base + i;
        j->line += c == '\n';
        if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
            rc = structural(j, c, e);
    }
    if (rc == TA_OK)
        j->offset = base + n;
    return rc;
}

int claims_json_finish(struct claims_json *j, struct err *e)
{
    if (j->state == IN_WORD && j->depth == 0) {
        int rc = word(j, e);
        if (rc != TA_OK)
            return rc;
    }
    if (j->depth > 0 || j->state != WANT_VALUE)
        return err_set(e, TA_EFORMAT, "%s, line %zu: the file ends inside a JSON value", j->file,
                       j->line);
    return TA_OK;
}
