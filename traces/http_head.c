/* One HTTP/1.x head: start line and fields (RFC 9112, 2 to 5), and from them the framing of the
 * body (6.3). */
#include "traces/http_head.h"

#include <string.h>

#include "traces/base/text.h"

/* --- lexis ---------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* A character of a method (RFC 9110, 5.6.2). */
static bool is_method_char(char c)
{
    return is_letter(c) || is_digit(c) || (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool is_name(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_method_char(s.p[i]))
            return false;
    return s.n > 0;
}

/* A bare CR, a NUL and their like: no line has them (RFC 9110, 5.5; RFC 9112, 2.2). */
static bool has_control(struct slice line)
{
    for (size_t i = 0; i < line.n; i++)
        if (((unsigned char)line.p[i] < ' ' && line.p[i] != '\t') || line.p[i] == 0x7f)
            return true;
    return false;
}

static struct slice trim(struct slice s)
{
    while (s.n > 0 && is_blank(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && is_blank(s.p[s.n - 1]))
        s.n--;
    return s;
}

/* The next element of a comma-separated list, trimmed; false at its end. */
static bool next_element(struct slice *list, struct slice *out)
{
    while (list->n > 0) {
        const char *comma = memchr(list->p, ',', list->n);
        size_t n = comma != NULL ? (size_t)(comma - list->p) : list->n;
        size_t used = comma != NULL ? n + 1 : n;
        *out = trim((struct slice){list->p, n});
        list->p += used;
        list->n -= used;
        if (out->n > 0)
            return true;
    }
    return false;
}

static void note(struct http_parse *p, const char *id)
{
    anomaly_note(p->bad, id, p->head.first, 0);
}

/* --- start line ----------------------------------------------------------------------------- */

static bool is_version(const char *p)
{
    return memcmp(p, "HTTP/1.", 7) == 0 && is_digit(p[7]);
}

static bool parse_request_line(struct slice line, struct http_head *h)
{
    if (line.n < 12 || !is_version(line.p + line.n - 8) || line.p[line.n - 9] != ' ')
        return false;
    const char *space = memchr(line.p, ' ', line.n);
    h->method = (struct slice){line.p, (size_t)(space - line.p)};
    if (!is_name(h->method))
        return false;
    size_t after = h->method.n + 1, version = line.n - 9;
    if (after >= version)
        return false;
    h->target = (struct slice){line.p + after, version - after};
    h->minor = line.p[line.n - 1] - '0';
    return memchr(h->target.p, ' ', h->target.n) == NULL;
}

static bool parse_status_line(struct slice line, struct http_head *h)
{
    if (line.n < 12 || !is_version(line.p) || line.p[8] != ' ')
        return false;
    const char *digit = line.p + 9;
    if (!is_digit(digit[0]) || !is_digit(digit[1]) || !is_digit(digit[2]) || digit[0] == '0')
        return false;
    if (line.n > 12 && line.p[12] != ' ')
        return false;
    h->status = (digit[0] - '0') * 100 + (digit[1] - '0') * 10 + (digit[2] - '0');
    h->minor = line.p[7] - '0';
    h->reason = line.n > 13 ? (struct slice){line.p + 13, line.n - 13} : (struct slice){NULL, 0};
    return true;
}

/* HTTP/0.9: "GET /path" and nothing more (RFC 1945, 5.1). */
static bool parse_simple_request(struct slice line, struct http_head *h)
{
    if (line.n < 5 || memcmp(line.p, "GET ", 4) != 0)
        return false;
    h->method = (struct slice){line.p, 3};
    h->target = trim((struct slice){line.p + 4, line.n - 4});
    h->minor = 9;
    h->simple = true;
    return h->target.n > 0 && h->target.p[0] == '/' &&
           memchr(h->target.p, ' ', h->target.n) == NULL;
}

bool http_parse_start(enum http_side side, struct slice line, struct http_head *h)
{
    if (side == HTTP_RESPONSES)
        return parse_status_line(line, h);
    return parse_request_line(line, h) || parse_simple_request(line, h);
}

/* The body before it need not end with a line: `…"}POST /v1 HTTP/1.1`. */
static size_t find_request(struct slice line)
{
    static const char *const methods[] = {"GET",     "POST",  "PUT",     "HEAD", "DELETE",
                                          "OPTIONS", "PATCH", "CONNECT", "TRACE"};
    if (line.n < 14 || !is_version(line.p + line.n - 8) || line.p[line.n - 9] != ' ')
        return SIZE_MAX;
    size_t i = line.n - 9;
    while (i > 0 && line.p[i - 1] > ' ' && line.p[i - 1] != '"' && line.p[i - 1] != '\\')
        i--;
    if (i == line.n - 9 || i == 0 || line.p[i - 1] != ' ')
        return SIZE_MAX;
    i--; /* the space behind the method */
    for (size_t k = 0; k < sizeof methods / sizeof methods[0]; k++) {
        size_t n = strlen(methods[k]);
        if (i >= n && memcmp(line.p + i - n, methods[k], n) == 0)
            return i - n;
    }
    return SIZE_MAX;
}

/* A status line quoted in a JSON string goes on with escapes and quotes: no reason phrase has them.
 */
static size_t find_response(struct slice line)
{
    struct http_head h = {0};
    for (size_t i = line.n >= 12 ? line.n - 12 + 1 : 0; i-- > 0;) {
        struct slice rest = {line.p + i, line.n - i};
        if (rest.p[0] != 'H' || !parse_status_line(rest, &h))
            continue;
        size_t k = 0;
        while (k < h.reason.n && (is_letter(h.reason.p[k]) || is_digit(h.reason.p[k]) ||
                                  strchr(" -'", h.reason.p[k]) != NULL))
            k++;
        return k == h.reason.n ? i : SIZE_MAX;
    }
    return SIZE_MAX;
}

size_t http_find_start(enum http_side side, struct slice line)
{
    return side == HTTP_REQUESTS ? find_request(line) : find_response(line);
}

/* --- fields --------------------------------------------------------------------------------- */

struct slice http_field(const struct http_head *h, const char *name)
{
    for (size_t i = 0; i < h->n_fields; i++)
        if (text_same(h->fields[i].name, name))
            return h->fields[i].value;
    return (struct slice){NULL, 0};
}

/* What the fields say of the body. */
struct facts {
    bool has_length, bad_length, has_coding, chunked, close, keep_alive;
    uint64_t length;
};

/* Digits only. No message is longer than 2^63: who says so means to hide what follows (H7). */
static bool parse_length(struct slice s, uint64_t *out)
{
    uint64_t v = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (!is_digit(s.p[i]))
            return false;
        uint64_t digit = (uint64_t)(s.p[i] - '0');
        if (v > (UINT64_MAX - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    *out = v;
    return s.n > 0 && v <= INT64_MAX;
}

/* Repetitions of one value are that value (RFC 9112, 6.3). */
static void take_length(struct http_parse *p, struct facts *f, struct slice value)
{
    struct slice element;
    uint64_t v;
    if (value.n == 0)
        f->bad_length = true;
    while (next_element(&value, &element)) {
        if (!parse_length(element, &v) || (f->has_length && v != f->length))
            f->bad_length = true;
        else if (f->has_length)
            note(p, "http.duplicate-content-length");
        else
            f->length = v;
        f->has_length = true;
    }
}

static void take_field(struct http_parse *p, struct facts *f, const struct http_field *field)
{
    struct slice list = field->value, element;
    if (p->head.n_fields < LIMIT_HTTP_FIELDS)
        p->fields[p->head.n_fields++] = *field;
    else
        note(p, "http.too-many-fields");
    if (text_same(field->name, "content-length")) {
        take_length(p, f, field->value);
    } else if (text_same(field->name, "transfer-encoding")) {
        f->has_coding = true;
        while (next_element(&list, &element))
            f->chunked = text_same(element, "chunked");
    } else if (text_same(field->name, "connection")) {
        while (next_element(&list, &element)) {
            f->close |= text_same(element, "close");
            f->keep_alive |= text_same(element, "keep-alive");
        }
    }
}

/* A line that begins with a blank goes on with the value of the one before (RFC 9112, 5.2). */
static void join(struct http_parse *p, struct http_field *field, struct slice more, size_t text_n)
{
    struct buf *folds = &p->folds;
    if (more.n == 0 || field->value.n == 0) {
        field->value = more.n > 0 ? more : field->value;
        return;
    }
    if (folds->cap == 0) {
        buf_init(folds, text_n); /* enough for all of them: it never moves */
        buf_reserve(folds, text_n);
    }
    bool last = folds->n >= field->value.n &&
                field->value.p == (const char *)folds->p + folds->n - field->value.n;
    size_t n = field->value.n;
    if (!last) {
        const char *start = (const char *)folds->p + folds->n;
        if (buf_add(folds, field->value.p, n) != TA_OK)
            return;
        field->value.p = start;
    }
    if (buf_add(folds, " ", 1) == TA_OK && buf_add(folds, more.p, more.n) == TA_OK)
        field->value.n = n + 1 + more.n;
}

static bool split_field(struct http_parse *p, struct slice line, struct http_field *out)
{
    const char *colon = memchr(line.p, ':', line.n);
    size_t n = colon != NULL ? (size_t)(colon - line.p) : 0;
    struct slice name = trim((struct slice){line.p, n});
    if (name.n == 0) {
        note(p, "http.bad-field");
        return false;
    }
    if (name.n != n)
        note(p, "http.space-before-colon");
    if (!is_name(name))
        note(p, "http.bad-field-name");
    *out = (struct http_field){name, trim((struct slice){colon + 1, line.n - n - 1})};
    return true;
}

/* --- framing -------------------------------------------------------------------------------- */

static enum http_framing frame_coding(struct http_parse *p, const struct facts *f)
{
    struct http_head *h = &p->head;
    if (f->has_length)
        note(p, "http.te-and-cl");
    if (h->minor == 0) {
        note(p, "http.te-in-1.0");
        h->keep_alive = false;
        p->close_said = true;
    }
    if (f->chunked)
        return HTTP_CHUNKED;
    note(p, "http.te-not-chunked");
    p->unframed = p->side == HTTP_REQUESTS;
    return p->unframed ? HTTP_NO_BODY : HTTP_UNTIL_CLOSE;
}

/* RFC 9112, 6.3, in its order. */
static enum http_framing frame(struct http_parse *p, const struct facts *f)
{
    struct http_head *h = &p->head;
    bool request = p->side == HTTP_REQUESTS;
    if (h->status == 101)
        return HTTP_TUNNEL;
    bool interim = h->status >= 100 && h->status < 200;
    if (!request && (interim || h->status == 204 || h->status == 304))
        return HTTP_NO_BODY;
    if (!request && p->expect == HTTP_EXPECT_HEAD)
        return HTTP_NO_BODY;
    if (!request && p->expect == HTTP_EXPECT_CONNECT && h->status < 300)
        return HTTP_TUNNEL;
    if (f->has_coding)
        return frame_coding(p, f);
    if (f->bad_length) {
        note(p, "http.bad-content-length");
        p->unframed = request;
        return request ? HTTP_NO_BODY : HTTP_UNTIL_CLOSE;
    }
    if (f->has_length) {
        h->length = f->length;
        return HTTP_LENGTH;
    }
    return request ? HTTP_NO_BODY : HTTP_UNTIL_CLOSE;
}

/* The next line without its line end. */
static struct slice next_line(struct slice *rest, bool *bare)
{
    const char *lf = memchr(rest->p, '\n', rest->n);
    size_t n = lf != NULL ? (size_t)(lf - rest->p) : rest->n;
    size_t used = lf != NULL ? n + 1 : n;
    struct slice line = {rest->p, n};
    if (n > 0 && line.p[n - 1] == '\r')
        line.n--;
    else
        *bare = true;
    rest->p += used;
    rest->n -= used;
    return line;
}

bool http_parse_head(struct http_parse *p, struct slice text)
{
    struct http_head *h = &p->head;
    struct slice rest = text;
    struct facts facts = {0};
    struct http_field field = {0};
    bool bare = false, open = false;
    struct slice line = next_line(&rest, &bare);
    if (!http_parse_start(p->side, line, h))
        return false;
    bool control = has_control(line);
    while (rest.n > 0) {
        line = next_line(&rest, &bare);
        control |= has_control(line);
        if (line.n > 0 && is_blank(line.p[0])) {
            if (!open)
                note(p, "http.bad-field");
            else
                join(p, &field, trim(line), text.n);
            note(p, "http.obs-fold");
            continue;
        }
        if (open)
            take_field(p, &facts, &field);
        open = line.n > 0 && split_field(p, line, &field);
    }
    if (open)
        take_field(p, &facts, &field);
    if (bare)
        note(p, "http.bare-lf");
    if (control)
        note(p, "http.control-byte");
    h->fields = p->fields;
    if (h->simple)
        note(p, "http.version-0.9");
    h->keep_alive = h->minor == 0 || h->simple ? facts.keep_alive && !facts.close : !facts.close;
    p->close_said = facts.close;
    h->framing = frame(p, &facts);
    if (h->framing == HTTP_UNTIL_CLOSE)
        h->keep_alive = false;
    return true;
}
