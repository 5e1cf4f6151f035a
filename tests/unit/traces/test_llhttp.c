/* The test vectors of llhttp, the parser of Node.js, against ours: TOKAUDIT_CORPORA names the
 * folder; llhttp/{request,response}/X.md hold inputs, and the log of events and offsets that llhttp
 * makes of each.
 *
 * Where llhttp is content, we must tell the same messages: method, target, status, fields, body,
 * and where head and message end. Where it stops with an error, we go on, as an auditor must: what
 * it told before must be the same, and the fault must be an anomaly. What differs is listed, with
 * the reason; the list may hold nothing that does not differ. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/feed.h"
#include "traces/base/mem.h"
#include "traces/base/text.h"
#include "traces/http.h"

/* --- where we differ ------------------------------------------------------------------------ */

static const struct difference {
    const char *name, *why;
} differences[] = {
    {"request/content-length.md: Content-Length reset when no body is received",
     "told to skip a request's body, for a client that never sends it: a capture shows what was "
     "sent"},
    {"response/content-length.md: Content-Length reset when no body is received",
     "told to skip every body; we are told of one answer at a time, and the second has its 456 "
     "bytes"},
    {"request/content-length.md: Missing CRLF-CRLF before body (lenient)",
     "a head that ends without an empty line is not whole, and we say so (http.truncated-head)"},
    {"request/invalid.md: HTTP protocol and ANNOUNCE method", "methods are open-ended (H17)"},
    {"request/invalid.md: Invalid method", "methods are open-ended (H17)"},
    {"request/invalid.md: Headers separated by dummy characters (lenient)",
     "a CR that no LF follows ends no line (H5): the head never ends"},
    {"request/invalid.md: Only LFs present (lenient)",
     "an empty line ends the message where it stands; llhttp's takes the trailer that follows for "
     "one"},
    {"request/lenient-headers.md: Empty headers separated by CR (lenient)",
     "a bare CR ends no line (H5): http.control-byte"},
    {"request/lenient-version.md: Invalid HTTP version (lenient)",
     "HTTP/5.6 is not the protocol that is read here"},
    {"response/lenient-version.md: Invalid HTTP version (lenient)",
     "HTTP/5.6 is not the protocol that is read here"},
    {"request/method.md: ANNOUNCE request with RTSP", "RTSP is not HTTP"},
    {"request/method.md: OPTIONS request with RTSP", "RTSP is not HTTP"},
    {"request/method.md: SOURCE request with ICE", "ICE is not HTTP"},
    {"response/sample.md: RTSP response", "RTSP is not HTTP"},
    {"response/sample.md: ICE response", "ICE is not HTTP"},
    {"response/sample.md: HTTP version 0.9",
     "HTTP/0.9 has no status line: who writes one speaks something else (H16)"},
    {"request/method.md: CONNECT with body",
     "whether it becomes a tunnel says the answer (H15): the request has the body that it states"},
    {"request/sample.md: No HTTP version",
     "a line of HTTP/0.9 is the whole request (H16): no empty line belongs to it"},
    {"request/transfer-encoding.md: Chunk extensions quoting",
     "the zero chunk makes the body complete (RFC 9112, 8), also where the capture ends behind it"},
    {"request/transfer-encoding.md: Chunk extensions",
     "the zero chunk makes the body complete (RFC 9112, 8), also where the capture ends behind it"},
    {"response/transfer-encoding.md: Chunk extensions quoting",
     "the zero chunk makes the body complete (RFC 9112, 8), also where the capture ends behind it"},
    {"response/connection.md: HTTP 304 with Transfer-Encoding",
     "the zero chunk makes the body complete (RFC 9112, 8), also where the capture ends behind it"},
    {"request/transfer-encoding.md: Chunk header not terminated by CRLF (lenient)",
     "a CR within a chunk line ends nothing (H5): the data begins behind its LF"},
    {"request/transfer-encoding.md: No extension after semicolon",
     "an extension without a name hides nothing"},
    {"response/transfer-encoding.md: No extension after semicolon",
     "an extension without a name hides nothing"},
    {"request/transfer-encoding.md: POST with `Transfer-Encoding` and `Content-Length` (lenient)",
     "a request whose coding is not chunked has no end that can be known (H1): the next one is "
     "looked for"},
    {"request/transfer-encoding.md: POST with `chunked` and duplicate transfer-encoding (lenient)",
     "as above"},
    {"request/transfer-encoding.md: POST with `chunked` before other transfer-coding (lenient)",
     "as above"},
    {"request/uri.md: Disallow UTF-8 in URI path in strict mode",
     "bytes above 0x7f pass through (H6, H17)"},
    {"response/connection.md: HTTP 101 response with Upgrade and Content-Length header",
     "HTTP ends with a 101 (H15): what follows is another protocol's, whatever length was said"},
    {"response/connection.md: HTTP 101 response with Upgrade and Transfer-Encoding header",
     "HTTP ends with a 101 (H15): what follows is another protocol's, whatever length was said"},
    {"response/invalid.md: Bare CR after response line (lenient)",
     "a bare CR ends no line (H5): http.control-byte"},
};

static const char *why_different(const char *name)
{
    for (size_t i = 0; i < sizeof differences / sizeof differences[0]; i++)
        if (strcmp(differences[i].name, name) == 0)
            return differences[i].why;
    return NULL;
}

/* --- what was told, by either --------------------------------------------------------------- */

struct told {
    struct buf text; /* of whole heads and ended bodies */
    struct buf body;
    bool in_body;
    unsigned anomalies;
};

static void told_init(struct told *t)
{
    *t = (struct told){0};
    buf_init(&t->text, 1 << 20);
    buf_init(&t->body, 1 << 20);
}

static void told_done(struct told *t)
{
    buf_done(&t->text);
    buf_done(&t->body);
}

/* Blanks and line ends, in any number, are one blank: what a fold looks like is no matter. */
static void tell_squeezed(struct buf *out, const char *p, size_t n)
{
    bool blank = true;
    for (size_t i = 0; i < n; i++) {
        bool is = p[i] != '\0' && strchr(" \t\r\n", p[i]) != NULL;
        if (is && !blank)
            buf_puts(out, " ");
        if (!is)
            buf_put(out, p + i, 1);
        blank = is;
    }
    if (out->n > 0 && out->p[out->n - 1] == ' ')
        out->n--;
}

static void tell_field(struct told *t, struct slice name, struct slice value)
{
    buf_puts(&t->text, "  ");
    tell_squeezed(&t->text, name.p, name.n);
    buf_puts(&t->text, ":");
    tell_squeezed(&t->text, value.p, value.n);
    buf_puts(&t->text, "\n");
}

static void tell_end(struct told *t, bool complete, uint64_t off)
{
    buf_printf(&t->text, "body %.*s\n", (int)t->body.n, t->body.n > 0 ? (char *)t->body.p : "");
    if (complete)
        buf_printf(&t->text, "complete @%llu\n", (unsigned long long)off);
    else
        buf_puts(&t->text, "open\n");
    buf_clear(&t->body);
    t->in_body = false;
}

/* --- ours ----------------------------------------------------------------------------------- */

static int on_body(void *ctx, struct span in)
{
    struct told *t = ctx;
    buf_put(&t->body, in.p, in.n);
    return TA_OK;
}

static int on_head(void *ctx, const struct http_head *h, struct byte_sink *body)
{
    struct told *t = ctx;
    buf_printf(&t->text, "head @%llu ", (unsigned long long)h->first.off);
    if (h->status == 0)
        buf_printf(&t->text, "%.*s %.*s\n", (int)h->method.n, h->method.p, (int)h->target.n,
                   h->target.p);
    else
        buf_printf(&t->text, "%d\n", h->status);
    for (size_t i = 0; i < h->n_fields; i++)
        tell_field(t, h->fields[i].name, h->fields[i].value);
    buf_printf(&t->text, "@%llu\n", (unsigned long long)h->last.off + 1);
    t->in_body = true;
    *body = (struct byte_sink){t, on_body, NULL, NULL};
    return TA_OK;
}

static int on_done(void *ctx, enum end_kind why, bool complete, struct mark last)
{
    (void)why;
    tell_end(ctx, complete, last.off + 1);
    return TA_OK;
}

static void on_anomaly(void *ctx, const struct anomaly *a)
{
    struct told *t = ctx;
    (void)a;
    t->anomalies++;
}

static void read_input(const struct feed *f, enum http_side side, bool skip_body, struct told *t)
{
    struct http *h = http_new(side, (struct http_sink){t, on_head, on_done},
                              (struct anomaly_sink){t, on_anomaly});
    if (skip_body)
        http_expect(h, HTTP_EXPECT_HEAD);
    assert_int_equal(feed_go(f, http_input(h)), TA_OK);
    http_free(h);
}

/* --- theirs --------------------------------------------------------------------------------- */

struct vector {
    const char *file;
    char name[300]; /* "request/invalid.md: Headers separated by CR" */
    enum http_side side;
    bool usable; /* it speaks of HTTP messages */
    bool skip_body;
    struct buf input;
    struct buf log;
};

/* What llhttp says of the message that is being read. */
struct message {
    uint64_t begin;
    bool headed;
    struct slice method, url;
    struct buf names, values; /* of the open field */
    struct buf fields;        /* whole ones, as told */
};

enum outcome { FINE, FAILED, UPGRADED };

static void add_field(struct message *m)
{
    struct told t = {0};
    buf_init(&t.text, 1 << 16);
    tell_field(&t, (struct slice){(char *)m->names.p, m->names.n},
               (struct slice){(char *)m->values.p, m->values.n});
    buf_put(&m->fields, t.text.p, t.text.n);
    buf_done(&t.text);
    buf_clear(&m->names);
    buf_clear(&m->values);
}

static void join(struct slice *s, const char *p, size_t n)
{
    if (s->n == 0)
        s->p = p;
    s->n += n;
}

static void take_span(const struct vector *v, struct message *m, struct told *t, const char *what,
                      uint64_t off, size_t n)
{
    const char *p = (const char *)v->input.p + off;
    assert_true(off + n <= v->input.n);
    if (strncmp(what, "body]", 5) == 0)
        buf_put(&t->body, p, n);
    else if (strncmp(what, "method]", 7) == 0)
        join(&m->method, p, n);
    else if (strncmp(what, "url]", 4) == 0)
        join(&m->url, p, n);
    else if (strncmp(what, "header_field]", 13) == 0)
        buf_put(&m->names, p, n);
    else if (strncmp(what, "header_value]", 13) == 0)
        buf_put(&m->values, p, n);
}

static void take_head(struct message *m, struct told *t, const char *line, uint64_t off)
{
    const char *status = strstr(line, "status=");
    buf_printf(&t->text, "head @%llu ", (unsigned long long)m->begin);
    if (status != NULL)
        buf_printf(&t->text, "%.3s\n", status + 7);
    else
        buf_printf(&t->text, "%.*s %.*s\n", (int)m->method.n, m->method.p, (int)m->url.n,
                   m->url.p != NULL ? m->url.p : "");
    buf_put(&t->text, m->fields.p, m->fields.n);
    buf_printf(&t->text, "@%llu\n", (unsigned long long)off);
    m->headed = t->in_body = true;
}

static void begin(struct message *m, uint64_t off)
{
    buf_clear(&m->names);
    buf_clear(&m->values);
    buf_clear(&m->fields);
    m->begin = off;
    m->headed = false;
    m->method = m->url = (struct slice){NULL, 0};
}

static enum outcome take_line(const struct vector *v, struct message *m, struct told *t,
                              const char *line)
{
    unsigned long long off = 0;
    char *p = NULL;
    if (strncmp(line, "off=", 4) != 0)
        return FINE;
    off = strtoull(line + 4, &p, 10);
    size_t n = strncmp(p, " len=", 5) == 0 ? strtoull(p + 5, &p, 10) : 0;
    if (strncmp(p, " span[", 6) == 0)
        take_span(v, m, t, p + 6, off, n);
    else if (strcmp(p, " message begin") == 0)
        begin(m, off);
    else if (strcmp(p, " header_value complete") == 0 && !m->headed)
        add_field(m);
    else if (strncmp(p, " headers complete", 17) == 0)
        take_head(m, t, p, off);
    else if (strcmp(p, " message complete") == 0)
        tell_end(t, true, off);
    else if (strncmp(p, " error code=22 ", 15) == 0)
        return UPGRADED;
    else if (strncmp(p, " error code=", 12) == 0)
        return FAILED;
    return FINE;
}

static enum outcome read_log(const struct vector *v, struct told *t)
{
    struct message m = {0};
    enum outcome found = FINE;
    buf_init(&m.names, 1 << 16);
    buf_init(&m.values, 1 << 16);
    buf_init(&m.fields, 1 << 16);
    char *log = mem_strndup((char *)v->log.p, v->log.n);
    for (char *line = log; found == FINE && *line != '\0';) {
        size_t n = strcspn(line, "\n");
        bool last = line[n] == '\0';
        line[n] = '\0';
        found = take_line(v, &m, t, line);
        line += last ? n : n + 1;
    }
    if (t->in_body)
        tell_end(t, false, 0);
    free(log);
    buf_done(&m.names);
    buf_done(&m.values);
    buf_done(&m.fields);
    return found;
}

/* --- the comparison ------------------------------------------------------------------------- */

static bool starts_with(struct buf *all, struct buf *start)
{
    return all->n >= start->n && (start->n == 0 || memcmp(all->p, start->p, start->n) == 0);
}

/* An unfinished message at an error may have come further with us, or be refused at once. */
static void drop_open(struct buf *text)
{
    size_t n = text->n;
    if (n < 5 || memcmp(text->p + n - 5, "open\n", 5) != 0)
        return;
    for (size_t i = n; i-- > 0;) {
        if (i + 5 <= n && memcmp(text->p + i, "head ", 5) == 0 &&
            (i == 0 || text->p[i - 1] == '\n')) {
            text->n = i;
            return;
        }
    }
}

static bool same(struct vector *v, const struct feed *f)
{
    struct told ours, theirs;
    told_init(&ours);
    told_init(&theirs);
    read_input(f, v->side, v->skip_body, &ours);
    enum outcome found = read_log(v, &theirs);
    bool good;
    if (found == FAILED) {
        drop_open(&theirs.text);
        good = starts_with(&ours.text, &theirs.text) &&
               (ours.anomalies > 0 || ours.text.n == theirs.text.n);
    } else if (found == UPGRADED) {
        good = starts_with(&ours.text, &theirs.text);
    } else {
        good = ours.text.n == theirs.text.n && starts_with(&ours.text, &theirs.text);
    }
    if (good == (why_different(v->name) != NULL))
        print_error("%s: %s (%u anomalies)\n--- llhttp\n%s--- we\n%s\n", v->name,
                    good ? "no longer differs" : "differs", ours.anomalies, buf_text(&theirs.text),
                    buf_text(&ours.text));
    good = good != (why_different(v->name) != NULL);
    told_done(&ours);
    told_done(&theirs);
    return good;
}

static unsigned vectors, bad;

static void check_vector(struct vector *v)
{
    if (!v->usable)
        return;
    struct feed f = feed_of((char *)v->input.p, v->input.n);
    f.why = END_TRACE; /* llhttp was given no end */
    vectors++;
    bool good = same(v, &f);
    f.single = true;
    bad += !good || !same(v, &f);
}

/* --- the files ------------------------------------------------------------------------------ */

/* As llhttp's own runner reads them: the last line end goes, the others become CRLF; \r \n \t \f
 * and \xHH are bytes, and a backslash at the end of a line joins it with the next. */
static void unescape(struct buf *out, const char *p, size_t n)
{
    n -= n > 0 && p[n - 1] == '\n';
    for (size_t i = 0; i < n; i++) {
        static const char names[] = "rntf", bytes[] = "\r\n\t\f";
        const char *escape = p[i] == '\\' && i + 1 < n ? strchr(names, p[i + 1]) : NULL;
        if (p[i] == '\n') {
            buf_puts(out, "\r\n");
        } else if (p[i] == '\\' && i + 1 < n && p[i + 1] == '\n') {
            i++;
        } else if (escape != NULL && *escape != '\0') {
            buf_put(out, &bytes[escape - names], 1);
            i++;
        } else if (p[i] == '\\' && i + 3 < n && p[i + 1] == 'x') {
            char hex[3] = {p[i + 2], p[i + 3], '\0'};
            char utf8[4]; /* the runner's strings are JavaScript's */
            buf_put(out, utf8, utf8_put(utf8, (uint32_t)strtoul(hex, NULL, 16)));
            i += 3;
        } else {
            buf_put(out, p + i, 1);
        }
    }
}

static void take_meta(struct vector *v, const char *line)
{
    const char *type = strstr(line, "\"type\"");
    v->usable = type != NULL;
    v->side = type != NULL && strstr(type, "\"response") != NULL ? HTTP_RESPONSES : HTTP_REQUESTS;
    v->skip_body = strstr(line, "skipBody") != NULL;
}

static void read_vectors(const char *path, const char *file)
{
    static char line[1 << 16];
    struct vector v = {.file = file};
    struct buf raw, *to = NULL;
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    buf_init(&raw, 1 << 20);
    buf_init(&v.input, 1 << 20);
    buf_init(&v.log, 1 << 20);
    while (fgets(line, sizeof line, in) != NULL) {
        if (to == NULL && line[0] == '#') {
            const char *title = line + strspn(line, "# ");
            snprintf(v.name, sizeof v.name, "%s: %.*s", file, (int)strcspn(title, "\n"), title);
        } else if (to == NULL && strncmp(line, "<!-- meta=", 10) == 0) {
            take_meta(&v, line);
        } else if (to == NULL && strncmp(line, "```http", 7) == 0) {
            to = &raw;
        } else if (to == NULL && strncmp(line, "```log", 6) == 0) {
            to = &v.log;
        } else if (to != NULL && strncmp(line, "```", 3) == 0) {
            if (to == &raw)
                unescape(&v.input, (char *)raw.p, raw.n);
            else
                check_vector(&v);
            if (to == &v.log) {
                buf_clear(&v.input);
                buf_clear(&v.log);
            }
            buf_clear(&raw);
            to = NULL;
        } else if (to != NULL) {
            buf_puts(to, line);
        }
    }
    fclose(in);
    buf_done(&raw);
    buf_done(&v.input);
    buf_done(&v.log);
}

static void test_vectors(void **state)
{
    (void)state;
    static const char *const files[] = {
        "request/connection.md",
        "request/content-length.md",
        "request/finish.md",
        "request/invalid.md",
        "request/lenient-headers.md",
        "request/lenient-header-value-relaxed.md",
        "request/lenient-version.md",
        "request/method.md",
        "request/pausing.md",
        "request/pipelining.md",
        "request/sample.md",
        "request/transfer-encoding.md",
        "request/uri.md",
        "response/connection.md",
        "response/content-length.md",
        "response/finish.md",
        "response/invalid.md",
        "response/lenient-version.md",
        "response/pausing.md",
        "response/pipelining.md",
        "response/sample.md",
        "response/transfer-encoding.md",
    };
    const char *corpora = getenv("TOKAUDIT_CORPORA");
    if (corpora == NULL) {
        print_message("SKIPPED: TOKAUDIT_CORPORA is not set, llhttp's vectors were not run\n");
        skip();
    }
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[600];
        snprintf(path, sizeof path, "%s/llhttp/%s", corpora, files[i]);
        read_vectors(path, files[i]);
    }
    print_message("%u vectors\n", vectors);
    assert_true(vectors >= 240);
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_vectors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
