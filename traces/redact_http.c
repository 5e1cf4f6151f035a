/* HTTP/1.1 framing for the redactor (RFC 9112, 6.3; pitfalls H1 to H18). It reads less than
 * traces/http and trusts less: a length that is not certain makes the rest of the direction unread,
 * and so overwritten. */
#include "traces/redact_http.h"

#include <stdlib.h>
#include <string.h>

#include "traces/base/text.h"
#include "traces/redact_lines.h"
#include "traces/sha256.h"

enum state {
    START, /* a start line, or empty lines before it */
    HEAD,
    BODY, /* left bytes of it */
    CHUNK_SIZE,
    CHUNK_NOTE, /* behind the size: an extension */
    CHUNK,
    CHUNK_END,
    TRAILER,
    UNTIL_CLOSE,
    LOST
};

enum { LINE_MOST = 8 << 10 };

void redact_http_init(struct redact_http *h, bool known, bool bodies)
{
    *h = (struct redact_http){.state = known ? START : LOST, .bodies = bodies};
    buf_init(&h->line, LINE_MOST);
}

void redact_http_done(struct redact_http *h)
{
    buf_done(&h->line);
    sha256_free(h->hash);
    h->hash = NULL;
}

static void lose(struct redact_http *h)
{
    h->state = LOST;
    h->at_line = false;
    buf_clear(&h->line);
    sha256_free(h->hash);
    h->hash = NULL;
}

bool redact_http_lost(const struct redact_http *h)
{
    return h->state == LOST;
}

/* Unseen bytes inside a text leave the text's end unknown: of a body nothing is JSON any more. */
void redact_http_gap(struct redact_http *h, uint64_t n)
{
    sha256_free(h->hash);
    h->hash = NULL;
    if (h->state == UNTIL_CLOSE || ((h->state == BODY || h->state == CHUNK) && n < h->left)) {
        redact_body_gap(&h->body);
        h->left -= h->state == UNTIL_CLOSE ? 0 : n;
    } else {
        lose(h);
    }
}

/* --- heads ------------------------------------------------------------------------------------ */

static struct slice trim(struct slice s)
{
    while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t')) {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && strchr(" \t\r\n", s.p[s.n - 1]) != NULL)
        s.n--;
    return s;
}

static bool contains(struct slice s, const char *word)
{
    size_t k = strlen(word);
    for (size_t i = 0; i + k <= s.n; i++)
        if (text_same((struct slice){s.p + i, k}, word))
            return true;
    return false;
}

static void take_length(struct redact_http *h, struct slice v)
{
    uint64_t n = 0;
    for (size_t i = 0; i < v.n; i++) {
        if (v.p[i] < '0' || v.p[i] > '9' || n > UINT64_MAX / 20)
            h->bad_length = true;
        n = n * 10 + (uint64_t)(v.p[i] - '0');
    }
    if (v.n == 0 || (h->has_length && h->length != n))
        h->bad_length = true;
    h->has_length = true;
    h->length = n;
}

static void take_type(struct redact_http *h, struct slice v)
{
    if (h->kind == REDACT_BODY_WHOLE)
        return;
    if (contains(v, "event-stream"))
        h->kind = REDACT_BODY_STREAM;
    else if (contains(v, "form") || contains(v, "multipart"))
        h->kind = REDACT_BODY_WHOLE;
}

static void take_field(struct redact_http *h, struct slice line)
{
    const char *colon = line.n > 0 ? memchr(line.p, ':', line.n) : NULL;
    if (colon == NULL)
        return;
    struct slice name = trim((struct slice){line.p, (size_t)(colon - line.p)});
    struct slice v = trim((struct slice){colon + 1, line.n - (size_t)(colon - line.p) - 1});
    if (text_same(name, "content-length")) {
        take_length(h, v);
    } else if (text_same(name, "transfer-encoding")) {
        h->has_coding = true;
        h->chunked = v.n >= 7 && text_same((struct slice){v.p + v.n - 7, 7}, "chunked");
    } else if (text_same(name, "content-type")) {
        take_type(h, v);
    } else if (text_same(name, "content-encoding") && !text_same(v, "identity")) {
        h->kind = REDACT_BODY_WHOLE;
    }
}

static void take_start(struct redact_http *h, struct redact_exchange *x, const char *line)
{
    h->status = 0;
    h->is_request = memcmp(line, "HTTP/", 5) != 0;
    h->kind = REDACT_BODY_SNIFF;
    h->has_length = h->bad_length = h->has_coding = h->chunked = false;
    if (!h->is_request) {
        for (size_t i = 9; i < 12; i++)
            h->status = h->status * 10 + (line[i] - '0');
        return;
    }
    if (x->waiting < 64) {
        uint64_t is_head = memcmp(line, "HEAD ", 5) == 0;
        x->heads |= is_head << x->waiting++;
    }
    x->requests++;
}

static bool answers_head(struct redact_exchange *x)
{
    bool head = x->waiting > 0 && (x->heads & 1);
    x->heads >>= 1;
    if (x->waiting > 0)
        x->waiting--;
    return head;
}

static void end_message(struct redact_http *h, struct redact_exchange *x,
                        const struct redact_http_env *env)
{
    if (h->hash != NULL && h->changed) {
        char text[SHA256_TEXT];
        sha256_text(h->hash, text);
        struct redact_request r = {x->requests - 1, h->t_ns,         text,
                                   h->body_bytes,   h->body.strings, h->body.characters};
        env->request(env->ctx, &r);
    }
    sha256_free(h->hash);
    h->hash = NULL;
    h->state = START;
    h->ended = true;
    buf_clear(&h->line);
}

static void begin_body(struct redact_http *h, enum state state, const struct redact_http_env *env)
{
    h->state = (uint8_t)state;
    h->left = h->length;
    h->body_bytes = 0;
    h->changed = false;
    redact_body_init(&h->body, (enum redact_body_kind)h->kind);
    if (h->is_request && h->bodies) {
        h->hash = sha256_new();
        sha256_add(h->hash, env->salt, env->salt_n);
    }
}

/* The empty line behind a head (RFC 9112, 6.3, in its order). */
static void end_head(struct redact_http *h, struct redact_exchange *x,
                     const struct redact_http_env *env)
{
    bool interim = h->status >= 100 && h->status < 200;
    bool head = !h->is_request && !interim && answers_head(x);
    if (h->status == 101) {
        x->tunnel = true;
        lose(h);
    } else if (interim || head || h->status == 204 || h->status == 304) {
        end_message(h, x, env);
    } else if (h->bad_length || (h->has_coding && (h->has_length || !h->chunked))) {
        lose(h);
    } else if (h->chunked) {
        begin_body(h, CHUNK_SIZE, env);
        h->left = 0;
    } else if (h->has_length && h->length > 0) {
        begin_body(h, BODY, env);
    } else if (h->has_length || h->is_request) {
        end_message(h, x, env);
    } else {
        begin_body(h, UNTIL_CLOSE, env);
    }
    buf_clear(&h->line);
}

/* As far as it has come, can it be a start line? */
static bool may_start(const struct buf *line)
{
    static const char version[] = "HTTP/1.";
    const uint8_t *p = line->p;
    size_t i = 0, k = line->n < sizeof version - 1 ? line->n : sizeof version - 1;
    if (memcmp(p, version, k) == 0)
        return true;
    while (i < line->n && p[i] >= 'A' && p[i] <= 'Z')
        i++;
    if (i > 16 || i == line->n)
        return i <= 16;
    if (i < 3 || p[i] != ' ')
        return false;
    bool connect = i == 7 && memcmp(p, "CONNECT", 7) == 0;
    return i + 1 == line->n || connect || (p[i + 1] != '\0' && strchr("/*hH", p[i + 1]) != NULL);
}

static void end_line(struct redact_http *h, struct redact_exchange *x,
                     const struct redact_http_env *env)
{
    struct slice line = trim((struct slice){(const char *)h->line.p, h->line.n});
    if (h->state == START && line.n > 0) {
        if (redact_start_line(h->line.p, h->line.n)) {
            take_start(h, x, line.p);
            h->state = HEAD;
        } else {
            lose(h);
        }
    } else if (h->state == HEAD && line.n == 0) {
        end_head(h, x, env);
        return;
    } else if (h->state == HEAD) {
        take_field(h, line);
    } else if (h->state == TRAILER && line.n == 0) {
        end_message(h, x, env);
        return;
    }
    buf_clear(&h->line);
}

/* A line of a head; a start line that is too long loses the direction. */
static size_t head_line(struct redact_http *h, struct redact_exchange *x,
                        const struct redact_http_env *env, const uint8_t *p, size_t i, size_t n)
{
    const uint8_t *lf = memchr(p + i, '\n', n - i);
    size_t end = lf != NULL ? (size_t)(lf - p) + 1 : n;
    bool blank = h->state == START && h->line.n == 0 && (p[i] == '\r' || p[i] == '\n');
    if (blank) /* empty lines before a start line (RFC 9112, 2.2) */
        return i + 1;
    /* Of a long field the beginning is enough. */
    size_t k = end - i, room = LINE_MOST - h->line.n;
    bool cut = k > room;
    if (k > 0)
        buf_put(&h->line, p + i, cut ? room : k);
    if (h->state == START && (cut || !may_start(&h->line))) {
        lose(h);
        return i;
    }
    if (lf != NULL)
        end_line(h, x, env);
    return end;
}

/* --- bodies ----------------------------------------------------------------------------------- */

static void feed_body(struct redact_http *h, const uint8_t *p, size_t from, size_t to,
                      const struct redact_filler *f)
{
    if (!h->bodies)
        return;
    if (h->hash != NULL)
        sha256_add(h->hash, p + from, to - from);
    h->body_bytes += to - from;
    uint64_t changed = *f->changed;
    redact_body_feed(&h->body, p, from, to, f);
    h->changed |= *f->changed != changed;
}

/* Of a body or chunk with left bytes to come. */
static size_t counted(struct redact_http *h, struct redact_exchange *x,
                      const struct redact_http_env *env, const uint8_t *p, size_t i, size_t n,
                      const struct redact_filler *f)
{
    size_t k = n - i < h->left ? n - i : (size_t)h->left;
    feed_body(h, p, i, i + k, f);
    h->left -= k;
    if (h->left == 0 && h->state == BODY)
        end_message(h, x, env);
    else if (h->left == 0)
        h->state = CHUNK_END;
    return i + k;
}

static int digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The line with a chunk's size; line.n counts its digits. */
static size_t chunk_size(struct redact_http *h, uint8_t c, size_t i)
{
    int d = digit(c);
    if (d >= 0 && h->line.n < 15) {
        h->left = h->left * 16 + (uint64_t)d;
        h->line.n++;
    } else if (h->line.n > 0 && c == '\n') {
        h->state = h->left > 0 ? CHUNK : TRAILER;
        h->line.n = 0;
    } else if (h->line.n > 0 && (c == ';' || c == ' ' || c == '\t')) {
        h->state = CHUNK_NOTE;
    } else if (h->line.n == 0 || c != '\r') {
        lose(h);
        return i;
    }
    return i + 1;
}

static size_t chunk_note(struct redact_http *h, const uint8_t *p, size_t i, size_t n,
                         const struct redact_filler *f)
{
    const uint8_t *lf = memchr(p + i, '\n', n - i);
    size_t end = lf != NULL ? (size_t)(lf - p) : n;
    if (end > i && h->bodies)
        f->fill(f->ctx, i, end, FILL_BODY);
    if (lf != NULL)
        h->state = CHUNK_SIZE;
    return end;
}

static size_t chunk_end(struct redact_http *h, uint8_t c, size_t i)
{
    if (c == '\n') {
        h->state = CHUNK_SIZE;
        h->left = 0;
        h->line.n = 0;
    } else if (c != '\r') {
        lose(h);
        return i;
    }
    return i + 1;
}

/* Line by line, until a whole start line stands in one piece. Inside JSON no line can look so: its
 * strings hold no line feed. */
static size_t lost(struct redact_http *h, struct redact_exchange *x, const uint8_t *p, size_t i,
                   size_t n, const struct redact_filler *f)
{
    const uint8_t *lf = memchr(p + i, '\n', n - i);
    size_t end = lf != NULL ? (size_t)(lf - p) + 1 : n;
    if ((i == 0 || h->at_line) && !x->tunnel && redact_start_line(p + i, n - i)) {
        take_start(h, x, (const char *)p + i);
        h->state = HEAD;
        return end;
    }
    if (h->bodies)
        f->fill(f->ctx, i, end, FILL_BODY);
    h->at_line = lf != NULL;
    return end;
}

static size_t step(struct redact_http *h, struct redact_exchange *x,
                   const struct redact_http_env *env, const uint8_t *p, size_t i, size_t n,
                   const struct redact_filler *f)
{
    switch ((enum state)h->state) {
    case START:
    case HEAD:
    case TRAILER:
        return head_line(h, x, env, p, i, n);
    case BODY:
    case CHUNK:
        return counted(h, x, env, p, i, n, f);
    case CHUNK_SIZE:
        return chunk_size(h, p[i], i);
    case CHUNK_NOTE:
        return chunk_note(h, p, i, n, f);
    case CHUNK_END:
        return chunk_end(h, p[i], i);
    case UNTIL_CLOSE:
        feed_body(h, p, i, n, f);
        return n;
    case LOST:
        break;
    }
    return lost(h, x, p, i, n, f);
}

size_t redact_http_feed(struct redact_http *h, struct redact_exchange *x,
                        const struct redact_http_env *env, int64_t t_ns, const uint8_t *p,
                        size_t from, size_t to, const struct redact_filler *f)
{
    size_t i = from;
    if (x->tunnel && h->state == START)
        lose(h);
    h->ended = false;
    while (i < to && !h->ended) {
        if (h->state == START && h->line.n == 0)
            h->t_ns = t_ns;
        i = step(h, x, env, p, i, to, f);
    }
    return i;
}
