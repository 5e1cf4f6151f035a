/* A workload file cut into lines or array elements. The cutter of elements knows strings and
 * nesting only; what is inside an element is the scanner's affair (traces/base/jscan.h). */
#include "replay/formats_input.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "traces/inflate.h"
#include "traces/limits.h"

enum { CHUNK_BYTES = 64 << 10, GZIP_CHUNK_BYTES = 4 << 10 }; /* one byte may stand for 1032 */

/* --- bytes ------------------------------------------------------------------------------------ */

static int on_text(void *ctx, struct span text)
{
    struct formats_input *in = ctx;
    return buf_add(&in->ahead, text.p, text.n);
}

static void on_damage(void *ctx, const struct anomaly *a)
{
    struct formats_input *in = ctx;
    if (in->damage == NULL)
        in->damage = a->id;
}

void formats_input_init(struct formats_input *in, FILE *f, struct slice head, const char *path)
{
    *in = (struct formats_input){.f = f, .path = path, .head = head, .chunk_bytes = CHUNK_BYTES};
    buf_init(&in->ahead, (size_t)LIMIT_WORKLOAD_ROW_BYTES + (8 << 20));
    buf_reserve(&in->ahead, CHUNK_BYTES); /* so that its bytes have an address */
}

void formats_input_done(struct formats_input *in)
{
    inflate_free(in->gunzip);
    buf_done(&in->ahead);
    in->gunzip = NULL;
}

/* The next bytes of the file, as they are; 0 at its end. */
static size_t take_raw(struct formats_input *in, uint8_t *p, size_t n)
{
    if (in->head.n > 0) {
        n = n < in->head.n ? n : in->head.n;
        memcpy(p, in->head.p, n);
        in->head = (struct slice){in->head.p + n, in->head.n - n};
        return n;
    }
    return in->f != NULL ? fread(p, 1, n, in->f) : 0;
}

static int gunzip(struct formats_input *in, const uint8_t *p, size_t n, struct err *e)
{
    struct byte_sink to = inflate_input(in->gunzip);
    int r = n > 0 ? to.data(to.ctx, (struct span){.p = p, .n = n})
                  : to.end(to.ctx, END_FIN, (struct mark){.off = 0});
    if (r == TA_ELIMIT)
        return formats_input_bad(in, e, "too much behind it comes out of the gzip stream at once");
    /* gzip itself ignores what is behind the last member: tapes pad with it. */
    if (in->damage != NULL && strcmp(in->damage, "coding.cut-short") == 0)
        return err_set(e, TA_EFORMAT,
                       "%s: the gzip stream ends early (%zu lines were read): the file is not all "
                       "there",
                       in->path, in->line);
    if (in->damage != NULL && strcmp(in->damage, "coding.bytes-behind") != 0)
        return formats_input_bad(in, e, "behind it the gzip stream is damaged or cut short (%s)",
                                 in->damage);
    return r;
}

static void start_gunzip(struct formats_input *in)
{
    in->gunzip = inflate_new(INFLATE_GZIP, (struct byte_sink){in, on_text, NULL, NULL},
                             (struct anomaly_sink){in, on_damage});
    if (in->chunk_bytes > GZIP_CHUNK_BYTES)
        in->chunk_bytes = GZIP_CHUNK_BYTES;
}

/* More bytes ahead, or eof. */
static int more(struct formats_input *in, struct err *e)
{
    if (in->at > in->ahead.n / 2) {
        buf_drop(&in->ahead, in->at);
        in->at = 0;
    }
    uint8_t raw[CHUNK_BYTES];
    size_t n = take_raw(in, raw, in->chunk_bytes);
    if (!in->begun && n == 1) /* two bytes say whether it is gzip */
        n += take_raw(in, raw + n, 1);
    if (!in->begun && n >= 2 && raw[0] == 0x1F && raw[1] == 0x8B)
        start_gunzip(in);
    in->begun = true;
    if (n == 0 && in->f != NULL && ferror(in->f))
        return err_sys(e, TA_EFORMAT, "reading %s", in->path);
    in->eof = n == 0;
    if (in->gunzip != NULL)
        return gunzip(in, raw, n, e);
    if (buf_add(&in->ahead, raw, n) != TA_OK)
        return err_set(e, TA_ELIMIT, "%s: too much to hold", in->path);
    return TA_OK;
}

int formats_input_peek(struct formats_input *in, size_t n, struct slice *out, struct err *e)
{
    while (!in->eof && in->ahead.n - in->at < n) {
        int r = more(in, e);
        if (r != TA_OK)
            return r;
    }
    size_t have = in->ahead.n - in->at;
    *out = (struct slice){(const char *)in->ahead.p + in->at, have < n ? have : n};
    return TA_OK;
}

const char *formats_input_shown(struct slice value, char out[FORMATS_SHOWN])
{
    enum { MOST = 40 };
    size_t n = value.n < MOST ? value.n : MOST;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)value.p[i];
        out[i] = (char)(c >= ' ' && c < 0x7F ? c : '?');
    }
    snprintf(out + n, FORMATS_SHOWN - n, "%s", value.n > MOST ? "..." : "");
    return out;
}

int formats_input_bad(const struct formats_input *in, struct err *e, const char *fmt, ...)
{
    char what[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    if (in->in_array)
        return err_set(e, TA_EFORMAT, "%s, element %zu (line %zu): %s", in->path, in->element,
                       in->line, what);
    return err_set(e, TA_EFORMAT, "%s, line %zu: %s", in->path, in->line, what);
}

static int too_long(const struct formats_input *in, struct err *e)
{
    int r = formats_input_bad(in, e, "is longer than %u MiB", LIMIT_WORKLOAD_ROW_BYTES >> 20);
    return r == TA_EFORMAT && e != NULL ? (e->code = TA_ELIMIT) : r;
}

/* --- lines ------------------------------------------------------------------------------------ */

static int raw_line(struct formats_input *in, struct slice *out, struct err *e)
{
    in->line = in->lines + 1;
    for (size_t seen = 0;;) {
        const char *p = (const char *)in->ahead.p + in->at;
        size_t n = in->ahead.n - in->at;
        const char *end = n > seen ? memchr(p + seen, '\n', n - seen) : NULL;
        if (end != NULL || (in->eof && n > 0)) {
            *out = (struct slice){p, end != NULL ? (size_t)(end - p) : n};
            in->at += out->n + (end != NULL);
            in->lines++;
            return 1;
        }
        if (in->eof)
            return 0;
        if (n > LIMIT_WORKLOAD_ROW_BYTES)
            return too_long(in, e);
        seen = n;
        int r = more(in, e);
        if (r != TA_OK)
            return r;
    }
}

static bool is_blank(struct slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (!isspace((unsigned char)s.p[i]))
            return false;
    }
    return true;
}

int formats_input_line(struct formats_input *in, struct slice *out, struct err *e)
{
    static const char mark[] = "\xEF\xBB\xBF";
    int r;
    while ((r = raw_line(in, out, e)) == 1) {
        if (in->line == 1 && out->n >= 3 && memcmp(out->p, mark, 3) == 0)
            *out = (struct slice){out->p + 3, out->n - 3};
        if (out->n > 0 && out->p[out->n - 1] == '\r')
            out->n--;
        if (!is_blank(*out))
            return 1;
    }
    return r;
}

/* --- elements --------------------------------------------------------------------------------- */

/* The next byte that is no blank, not taken: 0..255; -1 at the end; below -1 an error's code. */
static int next_byte(struct formats_input *in, struct err *e)
{
    enum { END = -1, FAULT = -100 };
    for (;;) {
        for (; in->at < in->ahead.n; in->at++) {
            uint8_t c = in->ahead.p[in->at];
            if (c == '\n')
                in->lines++;
            else if (c != ' ' && c != '\t' && c != '\r')
                return c;
        }
        if (in->eof)
            return END;
        if (more(in, e) != TA_OK)
            return FAULT;
    }
}

/* Where a value ends, as far as strings and nesting say. */
struct cutter {
    size_t n; /* bytes seen */
    unsigned depth;
    bool in_string, escaped, done;
};

static void cut(struct cutter *c, const char *p, size_t n)
{
    for (; c->n < n && !c->done; c->n++) {
        char ch = p[c->n];
        if (c->in_string) {
            if (!c->escaped && ch == '"') {
                c->in_string = false;
                c->done = c->depth == 0;
            }
            c->escaped = !c->escaped && ch == '\\';
        } else if (ch == '"') {
            c->in_string = true;
        } else if (ch == '{' || ch == '[') {
            c->depth++;
        } else if (c->depth > 0 && (ch == '}' || ch == ']')) {
            c->done = --c->depth == 0;
        } else if (c->depth == 0 && strchr(",]}: \t\r\n", ch) != NULL) {
            c->done = true; /* a scalar, and this is behind it */
            return;
        }
    }
}

/* The value that starts at in->at, taken. */
static int take_value(struct formats_input *in, struct slice *out, struct err *e)
{
    struct cutter c = {0};
    in->line = in->lines + 1;
    for (;;) {
        cut(&c, (const char *)in->ahead.p + in->at, in->ahead.n - in->at);
        if (c.done)
            break;
        if (in->eof)
            return formats_input_bad(in, e, "the file ends inside it");
        if (c.n > LIMIT_WORKLOAD_ROW_BYTES)
            return too_long(in, e);
        int r = more(in, e);
        if (r != TA_OK)
            return r;
    }
    *out = (struct slice){(const char *)in->ahead.p + in->at, c.n};
    for (size_t i = 0; i < c.n; i++)
        in->lines += out->p[i] == '\n';
    in->at += c.n;
    return TA_OK;
}

static int expect_byte(struct formats_input *in, int want, const char *what, struct err *e)
{
    int c = next_byte(in, e);
    in->line = in->lines + 1;
    if (c < -1)
        return e->code;
    if (c != want)
        return formats_input_bad(in, e, "expected %s", what);
    in->at++;
    return TA_OK;
}

/* Over the members of the document up to the one of that name. */
static int find_member(struct formats_input *in, const char *member, struct err *e)
{
    int r = expect_byte(in, '{', "a JSON object", e);
    while (r == TA_OK) {
        struct slice text;
        size_t n = strlen(member);
        if (next_byte(in, e) == '"')
            r = take_value(in, &text, e);
        else
            r = expect_byte(in, '"', "a member's name in quotes", e);
        bool found = r == TA_OK && text.n == n + 2 && memcmp(text.p + 1, member, n) == 0;
        if (r == TA_OK)
            r = expect_byte(in, ':', "':' behind a member's name", e);
        if (r != TA_OK || found)
            return r;
        if (next_byte(in, e) == -1)
            return formats_input_bad(in, e, "the file ends inside the document");
        r = take_value(in, &text, e);
        if (r == TA_OK && next_byte(in, e) == '}')
            return formats_input_bad(in, e, "the document has no member '%s'", member);
        if (r == TA_OK)
            r = expect_byte(in, ',', "',' or '}' behind a member", e);
    }
    return r;
}

int formats_input_array(struct formats_input *in, const char *member, struct err *e)
{
    struct slice mark;
    int r = formats_input_peek(in, 3, &mark, e);
    if (r == TA_OK && mark.n == 3 && memcmp(mark.p, "\xEF\xBB\xBF", 3) == 0)
        in->at += 3;
    if (r == TA_OK && member != NULL)
        r = find_member(in, member, e);
    if (r == TA_OK)
        r = expect_byte(in, '[', "an array", e);
    in->in_array = true;
    in->is_all = member == NULL;
    return r;
}

/* Behind the last element: the rest of the document holds nothing more, if the array was all. */
static int end_array(struct formats_input *in, struct err *e)
{
    in->at++;
    if (!in->is_all)
        return 0;
    int c = next_byte(in, e);
    if (c < -1)
        return e->code;
    return c == -1 ? 0 : formats_input_bad(in, e, "text behind the array");
}

int formats_input_element(struct formats_input *in, struct slice *out, struct err *e)
{
    int c = next_byte(in, e);
    in->line = in->lines + 1;
    if (c == ']')
        return end_array(in, e);
    if (in->element > 0) {
        int r = expect_byte(in, ',', "',' or ']' behind it", e);
        if (r != TA_OK)
            return r;
        c = next_byte(in, e);
    }
    in->element++;
    in->line = in->lines + 1;
    if (c < -1)
        return e->code;
    if (c == -1)
        return formats_input_bad(in, e, "the file ends inside the array");
    int r = take_value(in, out, e);
    if (r == TA_OK && out->n == 0)
        return formats_input_bad(in, e, "expected a value");
    return r == TA_OK ? 1 : r;
}
