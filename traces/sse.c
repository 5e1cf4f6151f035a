/* text/event-stream to events (WHATWG HTML, 9.2.6 "Interpreting an event stream"), pushed in any
 * split.
 *
 * A line that lies in one span is read where it is, and an event of one data line is handed on as a
 * pointer into it. Only an unfinished line, and what an unfinished event has so far, is copied. */
#include "traces/sse.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "traces/base/buf.h"
#include "traces/base/jscan.h"
#include "traces/base/mem.h"
#include "traces/limits.h"

static const uint8_t bom[3] = {0xef, 0xbb, 0xbf};

/* Text of the event that is being gathered: borrowed from the span or the line, or owned. */
struct part {
    struct slice text;
    bool set;
    struct buf own;
};

struct sse {
    struct event_sink out;
    struct anomaly_sink bad;
    int rc;
    uint32_t index;

    unsigned bom_n; /* its bytes seen at the start; 3: past that */
    bool after_cr;  /* an LF here belongs to the line before */
    bool in_block;  /* the event has a line */
    bool skipping;  /* up to the next blank line: bytes are missing or too many */
    bool line_odd;  /* the line's beginning was not seen or not kept */
    struct part data, type;
    struct mark first;      /* of the event */
    struct buf line;        /* the unfinished one */
    struct mark line_first; /* its first byte */
    struct mark last;       /* latest byte */
};

struct sse *sse_new(struct event_sink out, struct anomaly_sink bad)
{
    struct sse *s = mem_zalloc(sizeof *s);
    s->out = out;
    s->bad = bad;
    buf_init(&s->line, LIMIT_SSE_LINE_BYTES);
    buf_init(&s->data.own, LIMIT_SSE_EVENT_BYTES);
    buf_init(&s->type.own, LIMIT_SSE_LINE_BYTES);
    return s;
}

void sse_free(struct sse *s)
{
    if (s == NULL)
        return;
    buf_done(&s->line);
    buf_done(&s->data.own);
    buf_done(&s->type.own);
    free(s);
}

/* --- events --------------------------------------------------------------------------------- */

static void part_clear(struct part *part)
{
    part->set = false;
    part->text = (struct slice){NULL, 0};
    buf_clear(&part->own);
}

/* Makes the text its own before what it points into goes. */
static bool part_keep(struct part *part)
{
    if (part->text.n == 0 || part->text.p == (const char *)part->own.p)
        return true;
    buf_clear(&part->own);
    if (buf_add(&part->own, part->text.p, part->text.n) != TA_OK)
        return false;
    part->text.p = (const char *)part->own.p;
    return true;
}

static void emit(struct sse *s, enum event_kind kind, struct slice data, struct mark first,
                 struct mark last)
{
    struct slice type =
        kind != EVENT_COMMENT && s->type.text.n > 0 ? s->type.text : slice_of("message");
    struct event ev = {kind, type, data, s->index++, first, last};
    if (s->rc == TA_OK && s->out.event != NULL)
        s->rc = s->out.event(s->out.ctx, &ev);
}

static void clear_block(struct sse *s)
{
    s->in_block = false;
    part_clear(&s->data);
    part_clear(&s->type);
}

/* The event that is being gathered is given up, and what follows up to a blank line. */
static void damage(struct sse *s, const char *id, struct mark at, uint64_t n)
{
    anomaly_note(s->bad, id, at, n);
    clear_block(s);
    s->skipping = true;
}

static void add_data(struct sse *s, struct slice value, struct mark end)
{
    struct part *data = &s->data;
    if (!data->set) {
        data->text = value;
        data->set = true;
        return;
    }
    if (!part_keep(data) || buf_add(&data->own, "\n", 1) != TA_OK ||
        buf_add(&data->own, value.p, value.n) != TA_OK) {
        damage(s, "sse.event-too-big", end, 0);
        return;
    }
    data->text = (struct slice){(const char *)data->own.p, data->own.n};
}

static void take_field(struct sse *s, struct slice name, struct slice value, struct mark end)
{
    if (slice_is(name, "data")) {
        add_data(s, value, end);
    } else if (slice_is(name, "event")) {
        s->type.text = value;
    } else if (slice_is(name, "error")) { /* llama.cpp before 2024 */
        s->type.text = slice_of("error");
        add_data(s, value, end);
    }
}

/* A line without its end, which is at end. */
static void take_line(struct sse *s, struct slice line, struct mark first, struct mark end)
{
    bool odd = s->line_odd;
    s->line_odd = false;
    if (line.n == 0 && !odd) {
        if (s->data.set)
            emit(s, EVENT_DATA, s->data.text, s->first, end);
        s->skipping = false;
        clear_block(s);
        return;
    }
    if (s->skipping)
        return;
    const char *colon = memchr(line.p, ':', line.n);
    size_t n = colon != NULL ? (size_t)(colon - line.p) : line.n;
    size_t used = colon != NULL ? n + 1 : n;
    if (used < line.n && line.p[used] == ' ')
        used++;
    struct slice value = {line.p + used, line.n - used};
    if (colon == line.p) {
        emit(s, EVENT_COMMENT, value, first, end);
        return;
    }
    if (!s->in_block) {
        s->in_block = true;
        s->first = first;
    }
    take_field(s, (struct slice){line.p, n}, value, end);
}

/* --- lines ---------------------------------------------------------------------------------- */

/* Keeps the beginning of a line that goes on in the next span. */
static void keep(struct sse *s, struct span in)
{
    if (s->line_odd && s->skipping)
        return;
    if (s->line.n == 0)
        s->line_first = in.at;
    if (buf_add(&s->line, in.p, in.n) == TA_OK)
        return;
    damage(s, "sse.line-too-big", in.at, 0);
    buf_clear(&s->line);
    s->line_odd = true;
}

/* The line ends at in.p[0] + n; what of it came before is in s->line. */
static void finish_line(struct sse *s, struct span in, size_t n)
{
    struct mark end = span_mark(in, n);
    if (s->line.n == 0) {
        take_line(s, (struct slice){(const char *)in.p, n}, in.at, end);
        return;
    }
    keep(s, (struct span){in.p, n, in.at});
    struct slice line = {(const char *)s->line.p, s->line.n};
    take_line(s, line, s->line_first, end);
}

/* Where the next line end of either kind is: each byte is looked at once for each kind. */
struct ends {
    const uint8_t *cr, *lf, *end;
};

static const uint8_t *find(const uint8_t *p, const uint8_t *end, int c)
{
    const uint8_t *at = memchr(p, c, (size_t)(end - p));
    return at != NULL ? at : end;
}

static const uint8_t *next_end(struct ends *e, const uint8_t *p)
{
    if (e->lf < p)
        e->lf = find(p, e->end, '\n');
    if (e->cr < p)
        e->cr = find(p, e->end, '\r');
    return e->cr < e->lf ? e->cr : e->lf;
}

/* What points into the span, or into s->line, is made safe before either goes. */
static void keep_parts(struct sse *s)
{
    if (!part_keep(&s->data) || !part_keep(&s->type))
        damage(s, "sse.event-too-big", s->last, 0);
}

static void take_bytes(struct sse *s, struct span in)
{
    const uint8_t *p = in.p, *end = in.p + in.n;
    struct ends ends = {find(p, end, '\r'), find(p, end, '\n'), end};
    while (p < end && s->rc == TA_OK) {
        if (s->after_cr) {
            s->after_cr = false;
            if (*p == '\n') {
                p++;
                continue;
            }
        }
        struct span rest = {p, (size_t)(end - p), span_mark(in, (size_t)(p - in.p))};
        const uint8_t *at = next_end(&ends, p);
        if (at == end) {
            keep_parts(s);
            keep(s, rest);
            return;
        }
        bool held = s->line.n > 0;
        finish_line(s, rest, (size_t)(at - p));
        if (held) {
            keep_parts(s);
            buf_clear(&s->line);
        }
        s->after_cr = *at == '\r';
        p = at + 1;
    }
    keep_parts(s);
}

/* The one byte order mark at the very start is no content. Returns the bytes used. */
static size_t take_bom(struct sse *s, struct span in)
{
    size_t i = 0;
    while (i < in.n && s->bom_n < 3 && in.p[i] == bom[s->bom_n]) {
        if (s->bom_n == 0)
            s->line_first = span_mark(in, i);
        s->bom_n++;
        i++;
    }
    if (i == in.n || s->bom_n == 3)
        return i;
    unsigned had = s->bom_n;
    s->bom_n = 3;
    if (had > i) { /* of earlier spans: not one after all */
        struct mark first = s->line_first;
        keep(s, (struct span){bom, had - i, first});
    }
    return 0;
}

static int on_data(void *ctx, struct span in)
{
    struct sse *s = ctx;
    if (in.n == 0 || s->rc != TA_OK)
        return s->rc;
    size_t used = s->bom_n < 3 ? take_bom(s, in) : 0;
    s->last = span_mark(in, in.n - 1);
    if (used < in.n)
        take_bytes(s, (struct span){in.p + used, in.n - used, span_mark(in, used)});
    return s->rc;
}

/* Whether the next byte begins a line is not known: lines count again behind the next blank one. */
static int on_gap(void *ctx, uint64_t n, struct mark at)
{
    struct sse *s = ctx;
    damage(s, "sse.gap", at, n);
    buf_clear(&s->line);
    s->bom_n = 3;
    s->after_cr = false;
    s->line_odd = true;
    return s->rc;
}

static bool is_json(struct slice text)
{
    struct jscan s = jscan_over(text);
    jscan_skip(&s);
    return jscan_next(&s) == JT_END;
}

/* An event without its blank line is none, but it is counted, and so is one in its first line. That
 * its data is whole is said: a server that died between the two had written all of it (S6). */
static int on_end(void *ctx, enum end_kind why, struct mark at)
{
    struct sse *s = ctx;
    if (s->rc != TA_OK)
        return s->rc;
    bool cut = s->line.n > 0 && s->line.p[0] != ':' && !s->skipping;
    if (cut)
        take_line(s, (struct slice){(const char *)s->line.p, s->line.n}, s->line_first, s->last);
    if (s->data.set || (cut && s->in_block)) {
        anomaly_note(s->bad, "sse.truncated-event", s->first, s->data.text.n);
        if (s->data.set && is_json(s->data.text))
            anomaly_note(s->bad, "sse.truncated-behind-json", s->first, s->data.text.n);
        emit(s, EVENT_TRUNCATED, s->data.text, s->first, s->last);
    }
    if (s->rc == TA_OK && s->out.end != NULL)
        s->rc = s->out.end(s->out.ctx, why, at);
    return s->rc;
}

struct byte_sink sse_input(struct sse *s)
{
    return (struct byte_sink){s, on_data, on_gap, on_end};
}
