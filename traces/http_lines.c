/* The lines of HTTP/1.x heads and trailers (RFC 9112, 2.2), and of noise in which a start line is
 * looked for.
 *
 * A head that lies in one span is read where it is; what straddles is copied. Where framing is
 * lost, to a gap or a fault, lines are looked at until one is a start line beyond doubt. */
#include <string.h>

#include "traces/http_head.h"
#include "traces/http_state.h"
#include "traces/limits.h"

void http_seek(struct http *h)
{
    h->state = SYNC;
    buf_clear(&h->text);
    h->at.n = 0;
    h->line_n = h->head_n = 0;
}

/* --- finding the next message --------------------------------------------------------------- */

/* The mark of the byte at stream offset off, of those in text. */
static struct mark kept_mark(const struct http *h, uint64_t off)
{
    size_t i = h->at.n - 1;
    while (i > 0 && h->at.v[i].off > off)
        i--;
    struct mark at = h->at.v[i];
    at.off = off;
    return at;
}

/* Keeps the last HTTP_SYNC_KEEP bytes of a line that goes on. */
static void keep_line(struct http *h, struct span in)
{
    if (in.n > HTTP_SYNC_KEEP) {
        in = (struct span){in.p + in.n - HTTP_SYNC_KEEP, HTTP_SYNC_KEEP,
                           span_mark(in, in.n - HTTP_SYNC_KEEP)};
        buf_clear(&h->text);
        h->at.n = 0;
    }
    if (h->text.n + in.n > 2 * HTTP_SYNC_KEEP) {
        uint64_t from = h->last.off + 1 - HTTP_SYNC_KEEP; /* h->last is still the byte before in */
        struct mark at = kept_mark(h, from);
        size_t i = 0, n = 0;
        while (i < h->at.n && h->at.v[i].off <= from)
            i++;
        h->at.v[n++] = at;
        while (i < h->at.n)
            h->at.v[n++] = h->at.v[i++];
        h->at.n = n;
        buf_drop(&h->text, h->text.n - HTTP_SYNC_KEEP);
    }
    VEC_PUSH(&h->at, in.at);
    if (buf_add(&h->text, in.p, in.n) != TA_OK)
        http_seek(h);
}

/* Where a start line is in a line that is over, of which the last HTTP_SYNC_KEEP bytes are looked
 * at. */
static size_t find_start(const struct http *h, const uint8_t *p, size_t n)
{
    size_t skip = n > HTTP_SYNC_KEEP ? n - HTTP_SYNC_KEEP : 0;
    size_t end = n > skip && p[n - 1] == '\r' ? n - 1 : n;
    if (n == 0)
        return SIZE_MAX;
    size_t found = http_find_start(h->side, (struct slice){(const char *)p + skip, end - skip});
    return found == SIZE_MAX ? found : found + skip;
}

/* The line in text ends before stream offset end: its head goes on, if there is a start line in it.
 */
static bool find_in_text(struct http *h, uint64_t end)
{
    size_t found = find_start(h, h->text.p, h->text.n);
    if (found == SIZE_MAX) {
        http_seek(h);
        return false;
    }
    h->first = kept_mark(h, end - (h->text.n - found));
    h->at.n = 0;
    buf_drop(&h->text, found);
    h->head_n = h->line_n = h->text.n;
    h->line_first = h->text.p[0];
    h->start_seen = true;
    buf_clear(&h->big);
    h->simple = false; /* only lines with a version are found */
    h->state = HEAD;
    return true;
}

size_t http_take_noise(struct http *h, struct span in)
{
    const uint8_t *lf = memchr(in.p, '\n', in.n);
    size_t n = lf != NULL ? (size_t)(lf - in.p) : in.n;
    if (lf == NULL || h->text.n > 0)
        keep_line(h, (struct span){in.p, n, in.at});
    if (lf == NULL)
        return n;
    if (h->text.n > 0)
        return find_in_text(h, in.at.off + n) ? n : n + 1;
    size_t found = find_start(h, in.p, n);
    if (found == SIZE_MAX)
        return n + 1;
    h->state = START;
    return found;
}

/* The first line of a message, which ends with in.p[i - 1], is no start line; it may hold one: what
 * a sender said beyond its Content-Length stands before the next message. Returns the bytes used.
 */
static size_t take_bad_start(struct http *h, struct span in, size_t i)
{
    anomaly_note(h->bad, "http.bad-start-line", h->first, 0);
    h->losses++;
    if (h->text.n == 0) {
        http_seek(h);
        return 0;
    }
    h->text.n--; /* its LF */
    VEC_PUSH(&h->at, in.at);
    return find_in_text(h, in.at.off + i - 1) ? i - 1 : i;
}

/* --- heads ---------------------------------------------------------------------------------- */

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* A line of a head or trailer, as far as the span has it. */
struct line {
    size_t n;     /* bytes of it in the span, with the LF */
    bool whole;   /* the LF is there */
    bool empty;   /* nothing but the line end */
    bool too_big; /* n bytes meet a limit before that */
};

static struct line take_line(struct http *h, struct span in, size_t i)
{
    const uint8_t *p = in.p + i, *lf = memchr(p, '\n', in.n - i);
    struct line line = {.n = lf != NULL ? (size_t)(lf - p) + 1 : in.n - i, .whole = lf != NULL};
    size_t room = min_size(LIMIT_HTTP_LINE_BYTES - h->line_n, LIMIT_HTTP_HEAD_BYTES - h->head_n);
    if (line.n > room)
        return (struct line){.n = room, .too_big = true};
    if (h->line_n == 0)
        h->line_first = p[0];
    h->line_n += line.n;
    h->head_n += line.n;
    if (line.whole) {
        line.empty = h->line_n == 1 || (h->line_n == 2 && h->line_first == '\r');
        h->line_n = 0;
    }
    return line;
}

/* The first bytes of a connection's first response: "HTTP/" or, where there is none, a body without
 * a head. */
static size_t take_first(struct http *h, struct span in)
{
    static const struct slice starts[] = {{"HTTP/", 5}, {NULL, 0}};
    struct span rest = in;
    unsigned which;
    if (!sniff_decide(&h->sniff, &rest, starts, &which))
        return in.n;
    if (which == 0)
        http_begin_simple(h, h->sniff.n > 0 ? h->sniff.at[0] : in.at);
    http_settle_first(h);
    return in.n - rest.n;
}

size_t http_take_start(struct http *h, struct span in)
{
    size_t i = 0;
    if (h->expect == HTTP_EXPECT_FIRST)
        return take_first(h, in);
    while (i < in.n && (in.p[i] == '\r' || in.p[i] == '\n'))
        i++;
    if (i < in.n) {
        h->state = HEAD;
        h->start_seen = h->simple = false;
        h->first = span_mark(in, i);
        h->at.n = 0;
        buf_clear(&h->text);
        buf_clear(&h->big);
        h->line_n = h->head_n = 0;
    }
    return i;
}

/* The head up to in.p[i): in place if all of it is in the span, else gathered; *kept bytes of the
 * span have been. */
static struct slice head_text(struct http *h, struct span in, size_t *kept, size_t i)
{
    if (h->text.n == 0)
        return (struct slice){(const char *)in.p, i};
    if (buf_add(&h->text, in.p + *kept, i - *kept) ==
        TA_OK) /* take_line keeps it below the limit */
        *kept = i;
    return (struct slice){(const char *)h->text.p, h->text.n};
}

/* Of a head that is given up: somebody may answer it. */
static void keep_first_line(struct http *h, struct slice text)
{
    const char *lf = memchr(text.p, '\n', text.n);
    buf_clear(&h->big);
    h->big_first = h->first;
    if (lf != NULL)
        buf_put(&h->big, text.p, (size_t)(lf - text.p) + 1);
}

static bool is_start(struct http *h, struct slice text)
{
    struct http_head head = {0};
    if (text.n > 0 && text.p[text.n - 1] == '\n')
        text.n--;
    if (text.n > 0 && text.p[text.n - 1] == '\r')
        text.n--;
    bool is = http_parse_start(h->side, text, &head);
    h->simple = is && head.simple;
    return is;
}

size_t http_take_head(struct http *h, struct span in)
{
    size_t i = 0, kept = 0;
    while (i < in.n) {
        struct line line = take_line(h, in, i);
        i += line.n;
        if (line.too_big) {
            if (h->start_seen)
                keep_first_line(h, head_text(h, in, &kept, i));
            http_lose(h, "http.head-too-big", h->first);
            return i;
        }
        if (!line.whole)
            break;
        if (!h->start_seen) {
            h->start_seen = is_start(h, head_text(h, in, &kept, i));
            if (!h->start_seen)
                return take_bad_start(h, in, i);
        }
        if (line.empty || h->simple) {
            http_begin(h, head_text(h, in, &kept, i), span_mark(in, i - 1));
            return i;
        }
    }
    if (!h->start_seen)
        VEC_PUSH(&h->at, in.at);
    if (buf_add(&h->text, in.p + kept, i - kept) != TA_OK)
        http_lose(h, "http.head-too-big", h->first);
    return i;
}

size_t http_take_trailer(struct http *h, struct span in)
{
    size_t i = 0;
    while (i < in.n) {
        struct line line = take_line(h, in, i);
        i += line.n;
        if (line.too_big) {
            http_lose(h, "http.trailer-too-big", in.at);
            break;
        }
        if (line.empty) {
            http_complete(h, span_mark(in, i - 1));
            break;
        }
    }
    return i;
}
