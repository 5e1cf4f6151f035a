/* HTTP/1.x messages of one direction (RFC 9112), pushed in any split: where one begins and ends.
 * Its lines: http_lines.c, a whole head: http_head.c, bodies: http_body.c. */
#include "traces/http.h"

#include <stdlib.h>
#include <string.h>

#include "traces/base/mem.h"
#include "traces/http_head.h"
#include "traces/http_state.h"
#include "traces/limits.h"

struct http *http_new(enum http_side side, struct http_sink out, struct anomaly_sink bad)
{
    struct http *h = mem_zalloc(sizeof *h);
    h->side = side;
    h->out = out;
    h->bad = bad;
    buf_init(&h->text, LIMIT_HTTP_HEAD_BYTES + 2 * HTTP_SYNC_KEEP);
    buf_init(&h->big, LIMIT_HTTP_LINE_BYTES);
    return h;
}

void http_free(struct http *h)
{
    if (h == NULL)
        return;
    buf_done(&h->text);
    buf_done(&h->big);
    VEC_FREE(&h->at);
    free(h);
}

void http_expect(struct http *h, enum http_expect what)
{
    if (h->sniff.n == 0) /* else its first bytes are here, and being judged */
        h->expect = what;
}

/* --- messages ------------------------------------------------------------------------------- */

void http_body_data(struct http *h, struct span in)
{
    if (in.n > 0 && h->body.data != NULL)
        h->rc = h->body.data(h->body.ctx, in);
}

static void body_gap(struct http *h, uint64_t n, struct mark at)
{
    if (n > 0 && h->body.gap != NULL)
        h->rc = h->body.gap(h->body.ctx, n, at);
}

static void done(struct http *h, enum http_state next, enum end_kind why, bool complete,
                 struct mark last)
{
    h->state = next;
    h->head_n = h->line_n = 0;
    struct byte_sink body = h->body;
    h->body = (struct byte_sink){0};
    if (h->rc == TA_OK && body.end != NULL)
        h->rc = body.end(body.ctx, why, last);
    if (h->rc == TA_OK && h->out.done != NULL)
        h->rc = h->out.done(h->out.ctx, why, complete, last);
}

static enum http_state after_message(struct http *h)
{
    h->over = !h->keep_alive;
    return h->close_said ? CLOSED : START;
}

void http_complete(struct http *h, struct mark last)
{
    done(h, after_message(h), END_FIN, true, last);
}

/* A fault in a message's framing: the rest of it cannot be read. */
void http_lose(struct http *h, const char *id, struct mark at)
{
    bool in_message = h->state != START && h->state != HEAD && h->state != SYNC;
    h->losses++;
    anomaly_note(h->bad, id, at, 0);
    if (in_message)
        done(h, SYNC, END_GAP, false, at);
    http_seek(h);
}

static enum http_state state_of(const struct http_head *head)
{
    switch (head->framing) {
    case HTTP_LENGTH:
        return LENGTH;
    case HTTP_CHUNKED:
        return CHUNK_SIZE;
    case HTTP_UNTIL_CLOSE:
    case HTTP_TUNNEL:
        return UNTIL_CLOSE;
    case HTTP_NO_BODY:
        break;
    }
    return START;
}

/* A whole head. */
void http_begin(struct http *h, struct slice text, struct mark last)
{
    struct http_parse p = {.side = h->side, .expect = h->expect, .bad = h->bad};
    p.head.first = h->first;
    p.head.last = last;
    if (!http_parse_head(&p, text)) {
        http_lose(h, "http.bad-start-line", h->first);
        buf_done(&p.folds);
        return;
    }
    const struct http_head *head = &p.head;
    bool interim = head->status >= 100 && head->status < 200 && head->status != 101;
    if (!interim)
        h->expect = HTTP_EXPECT_BODY;
    h->state = state_of(head);
    if (h->over) /* HTTP/1.0, reused without a word on either side */
        anomaly_note(h->bad, "http.kept-alive-unasked", h->first, 0);
    h->over = false;
    h->keep_alive = head->keep_alive || interim;
    h->close_said = p.close_said && !interim;
    h->left = head->framing == HTTP_LENGTH ? head->length : 0;
    h->digits = 0;
    h->bare_lf = h->odd_chunk = false;
    h->line_n = h->head_n = 0;
    if (h->out.head != NULL)
        h->rc = h->out.head(h->out.ctx, head, &h->body);
    if (p.unframed)
        done(h, SYNC, END_GAP, false, last);
    else if (h->state == START || (h->state == LENGTH && h->left == 0))
        http_complete(h, last);
    buf_done(&p.folds);
    buf_clear(&h->text);
}

void http_begin_simple(struct http *h, struct mark first)
{
    struct http_head head = {.status = 200,
                             .minor = 9,
                             .simple = true,
                             .framing = HTTP_UNTIL_CLOSE,
                             .first = first,
                             .last = first};
    anomaly_note(h->bad, "http.version-0.9", first, 0);
    h->state = UNTIL_CLOSE;
    h->keep_alive = h->close_said = false;
    if (h->out.head != NULL)
        h->rc = h->out.head(h->out.ctx, &head, &h->body);
}

/* --- input ---------------------------------------------------------------------------------- */

/* What follows the last message of a connection is none (RFC 9112, 9.6). */
static size_t take_cruft(struct http *h, struct span in)
{
    for (size_t i = 0; i < in.n && !h->cruft; i++) {
        if (in.p[i] != '\r' && in.p[i] != '\n') {
            h->cruft = true;
            anomaly_note(h->bad, "http.bytes-after-close", span_mark(in, i), 0);
        }
    }
    return in.n;
}

static size_t (*const takers[N_STATES])(struct http *h, struct span in) = {
    [START] = http_take_start,         [HEAD] = http_take_head,
    [LENGTH] = http_take_counted,      [UNTIL_CLOSE] = http_take_rest,
    [CHUNK_SIZE] = http_take_size,     [CHUNK_EXT] = http_take_extension,
    [CHUNK_LF] = http_take_chunk_end,  [CHUNK_DATA] = http_take_counted,
    [CHUNK_END] = http_take_chunk_end, [TRAILER] = http_take_trailer,
    [SYNC] = http_take_noise,          [CLOSED] = take_cruft,
};

int http_take(struct http *h, struct span *in)
{
    while (in->n > 0 && h->rc == TA_OK) {
        size_t n = takers[h->state](h, *in);
        if (n == 0)
            continue;
        h->last = span_mark(*in, n - 1);
        *in = (struct span){in->p + n, in->n - n, span_mark(*in, n)};
        if (h->state == START)
            break;
    }
    return h->rc;
}

static int on_data(void *ctx, struct span in)
{
    struct http *h = ctx;
    while (in.n > 0 && http_take(h, &in) == TA_OK)
        ;
    return h->rc;
}

void http_settle_first(struct http *h)
{
    h->expect = HTTP_EXPECT_BODY;
    sniff_release(&h->sniff, (struct byte_sink){h, on_data, NULL, NULL}); /* h->rc tells */
}

/* Unseen bytes in a body of known length. If they are all that was left of it, the next message
 * begins behind them; if more, they may hide some. */
static void counted_gap(struct http *h, uint64_t n, struct mark at)
{
    uint64_t left = h->left;
    body_gap(h, n < left ? n : left, at);
    if (h->rc != TA_OK)
        return;
    if (n > left) {
        http_lose(h, "http.gap", at);
        return;
    }
    h->left -= n;
    if (h->left == 0 && h->state == CHUNK_DATA)
        h->state = CHUNK_END;
    else if (h->left == 0)
        done(h, after_message(h), END_GAP, false, at);
}

/* Unseen bytes: framing survives them where the length of what they are in is known. */
static int on_gap(void *ctx, uint64_t n, struct mark at)
{
    struct http *h = ctx;
    if (h->rc == TA_OK && h->state == START && h->expect == HTTP_EXPECT_FIRST)
        http_settle_first(h);
    if (h->rc != TA_OK)
        return h->rc;
    switch (h->state) {
    case UNTIL_CLOSE:
        body_gap(h, n, at);
        break;
    case LENGTH:
    case CHUNK_DATA:
        counted_gap(h, n, at);
        break;
    case CLOSED:
        break;
    default:
        http_lose(h, "http.gap", at);
    }
    return h->rc;
}

static int on_end(void *ctx, enum end_kind why, struct mark at)
{
    struct http *h = ctx;
    if (h->rc == TA_OK && h->state == START && h->expect == HTTP_EXPECT_FIRST)
        http_settle_first(h);
    if (h->rc != TA_OK)
        return h->rc;
    switch (h->state) {
    case START:
    case CLOSED:
    case SYNC:
        break;
    case HEAD:
        anomaly_note(h->bad, "http.truncated-head", h->first, h->head_n);
        break;
    case UNTIL_CLOSE:
        done(h, CLOSED, why, why == END_FIN, why == END_FIN ? at : h->last);
        break;
    case TRAILER: /* the zero chunk makes a body complete (RFC 9112, 8) */
        anomaly_note(h->bad, "http.no-final-line", h->zero, 0);
        done(h, CLOSED, END_FIN, true, h->zero);
        break;
    default:
        done(h, CLOSED, why, false, h->last);
    }
    h->state = CLOSED;
    return h->rc;
}

bool http_idle(const struct http *h)
{
    return h->state == START && h->sniff.n == 0;
}

bool http_unfinished(const struct http *h, struct http_head *out)
{
    const struct buf *text = h->state == HEAD && h->start_seen ? &h->text : &h->big;
    const uint8_t *lf = text->n > 0 ? memchr(text->p, '\n', text->n) : NULL;
    if (lf == NULL || (h->state != HEAD && h->state != SYNC))
        return false;
    struct slice line = {(const char *)text->p, (size_t)(lf - text->p)};
    if (line.n > 0 && line.p[line.n - 1] == '\r')
        line.n--;
    *out = (struct http_head){.first = text == &h->big ? h->big_first : h->first, .last = h->last};
    return http_parse_start(h->side, line, out);
}

unsigned http_losses(const struct http *h)
{
    return h->losses;
}

struct byte_sink http_input(struct http *h)
{
    return (struct byte_sink){h, on_data, on_gap, on_end};
}
