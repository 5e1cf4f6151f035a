/* Bodies of HTTP/1.x messages: counted, chunked (RFC 9112, 7.1), or until the connection closes. */
#include <string.h>

#include "traces/http_state.h"
#include "traces/limits.h"

size_t http_take_counted(struct http *h, struct span in)
{
    size_t n = h->left < in.n ? (size_t)h->left : in.n, seen = in.n;
    in.n = n;
    h->left -= n;
    http_body_data(h, in);
    if (h->left > 0 || h->rc != TA_OK)
        return n;
    if (h->state != CHUNK_DATA) {
        http_complete(h, span_mark(in, n - 1));
        return n;
    }
    bool ends = seen - n >= 2 && in.p[n] == '\r' && in.p[n + 1] == '\n'; /* mostly it is all here */
    h->state = ends ? CHUNK_SIZE : CHUNK_END;
    return ends ? n + 2 : n;
}

size_t http_take_rest(struct http *h, struct span in)
{
    http_body_data(h, in);
    return in.n;
}

static int hex_value(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The line of a chunk has ended at at. */
static void chunk_line(struct http *h, bool bare, struct mark at)
{
    if (bare && !h->bare_lf) {
        anomaly_note(h->bad, "http.bare-lf", at, 0);
        h->bare_lf = true;
    }
    h->line_n = h->head_n = 0;
    h->digits = 0;
    h->state = h->left > 0 ? CHUNK_DATA : TRAILER;
    if (h->left == 0)
        h->zero = at;
}

size_t http_take_size(struct http *h, struct span in)
{
    size_t i = 0;
    for (; i < in.n; i++) {
        int digit = hex_value(in.p[i]);
        if (digit < 0)
            break;
        if (h->digits == 16) {
            http_lose(h, "http.bad-chunk-size", span_mark(in, i));
            return i;
        }
        h->left = h->left << 4 | (uint64_t)digit;
        h->digits++;
    }
    if (i == in.n)
        return i;
    if (h->digits > 0 && in.n - i >= 2 && in.p[i] == '\r' && in.p[i + 1] == '\n') {
        chunk_line(h, false, span_mark(in, i + 1)); /* as nearly all are: no extensions */
        return i + 2;
    }
    if (h->digits == 0 || strchr(" \t;\r\n", in.p[i]) == NULL || in.p[i] == '\0') {
        http_lose(h, "http.bad-chunk-size", span_mark(in, i));
        return i;
    }
    h->state = CHUNK_EXT;
    h->line_n = 0;
    h->size_over = h->size_blank = false;
    return i;
}

/* Behind the size come extensions or the line's end. Blanks before that end, or other text, are
 * skipped as well: old servers pad the size. */
static void judge_size_end(struct http *h, struct span in)
{
    for (size_t i = 0; i < in.n && !h->size_over; i++) {
        bool blank = in.p[i] == ' ' || in.p[i] == '\t', ext = in.p[i] == ';';
        bool end = in.p[i] == '\r' || in.p[i] == '\n';
        h->size_over = !blank;
        if (!blank && !ext && (!end || h->size_blank) && !h->odd_chunk) {
            h->odd_chunk = true;
            anomaly_note(h->bad, "http.odd-chunk-line", span_mark(in, i), 0);
        }
        h->size_blank |= blank;
    }
}

/* Extensions are skipped (RFC 9112, 7.1.1); the last byte before the LF tells whether it is bare.
 */
size_t http_take_extension(struct http *h, struct span in)
{
    const uint8_t *lf = memchr(in.p, '\n', in.n);
    size_t n = lf != NULL ? (size_t)(lf - in.p) : in.n;
    judge_size_end(h, in);
    if (h->line_n + n > LIMIT_HTTP_LINE_BYTES) {
        size_t room = LIMIT_HTTP_LINE_BYTES - h->line_n;
        http_lose(h, "http.chunk-line-too-big", span_mark(in, room));
        return room;
    }
    if (n > 0)
        h->line_first = in.p[n - 1];
    else if (h->line_n == 0)
        h->line_first = 0;
    h->line_n += n;
    if (lf == NULL)
        return n;
    chunk_line(h, h->line_first != '\r', span_mark(in, n));
    return n + 1;
}

/* The line end behind a chunk's data. */
size_t http_take_chunk_end(struct http *h, struct span in)
{
    if (h->state == CHUNK_END && in.p[0] == '\r') {
        h->state = CHUNK_LF;
        return 1;
    }
    if (in.p[0] != '\n') {
        http_lose(h, "http.bad-chunk-end", in.at);
        return 0;
    }
    if (h->state == CHUNK_END && !h->bare_lf) {
        anomaly_note(h->bad, "http.bare-lf", in.at, 0);
        h->bare_lf = true;
    }
    h->left = 0;
    h->state = CHUNK_SIZE;
    return 1;
}
