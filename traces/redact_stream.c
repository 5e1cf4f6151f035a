/* A direction's place in its sequence numbers (RFC 9293; pitfalls T1 to T8), for the redactor. */
#include "traces/redact_stream.h"

/* Farther from its place a segment is none of the stream, unless another goes on there. */
static const int32_t far_bytes = 1 << 26;

static void begin(struct redact_stream *s, uint32_t seq, bool known)
{
    redact_ranges_done(&s->ranges);
    redact_http_done(&s->http);
    redact_http_init(&s->http, known, s->bodies);
    redact_lines_init(&s->lines, known, s->bodies);
    s->started = true;
    s->stray = false;
    s->first = s->next = seq;
    s->off = 0;
}

void redact_stream_done(struct redact_stream *s)
{
    redact_ranges_done(&s->ranges);
    redact_http_done(&s->http);
    s->started = false;
}

void redact_stream_syn(struct redact_stream *s, uint32_t seq)
{
    if (!s->started || s->first != seq)
        begin(s, seq, true);
}

static int32_t distance(const struct redact_stream *s, uint32_t seq)
{
    return (int32_t)(seq - s->next);
}

static bool is_far(int32_t d)
{
    return d > far_bytes || d < -far_bytes;
}

bool redact_stream_ahead(const struct redact_stream *s, uint32_t seq, size_t n)
{
    int32_t d = distance(s, seq);
    return s->started && n > 0 && d > 0 && !is_far(d);
}

static void gap(struct redact_stream *s, uint32_t n)
{
    redact_ranges_add(&s->ranges, (struct redact_range){s->off, s->off + n, FILL_UNJUDGED});
    s->next += n;
    s->off += n;
    redact_lines_gap(&s->lines);
    redact_http_gap(&s->http, n);
}

/* The filler that the parts get: what they overwrite is remembered. */
struct recorder {
    struct redact_stream *stream;
    const struct redact_filler *to;
};

static void fill_and_remember(void *ctx, size_t from, size_t to, enum redact_fill how)
{
    struct recorder *r = ctx;
    uint64_t off = r->stream->off;
    redact_ranges_add(&r->stream->ranges, (struct redact_range){off + from, off + to, how});
    r->to->fill(r->to->ctx, from, to, how);
}

/* Bytes that come for the first time, in order. */
static void feed(struct redact_stream *s, const uint8_t *p, size_t n, const struct redact_judge *j)
{
    struct recorder recorder = {s, &j->filler};
    const struct redact_filler f = {&recorder, fill_and_remember, j->filler.totals,
                                    j->filler.changed};
    for (size_t i = 0, end; i < n; i = end) {
        bool was_lost = redact_http_lost(&s->http); /* a start line found ends among these bytes */
        end = redact_http_feed(&s->http, j->exchange, j->env, j->t_ns, p, i, n, &f);
        s->lines.wary = was_lost || redact_http_lost(&s->http);
        redact_lines_feed(&s->lines, p, i, end, &f);
        if (s->http.ended)
            redact_lines_message(&s->lines);
    }
    s->next += (uint32_t)n;
    s->off += n;
}

/* Bytes that have come before, or before which the stream was joined. */
static void again(struct redact_stream *s, uint64_t back, size_t n, const struct redact_judge *j)
{
    if (back > s->off || s->off - back < s->ranges.floor)
        j->filler.fill(j->filler.ctx, 0, n, FILL_UNJUDGED);
    else
        redact_ranges_apply(&s->ranges, s->off - back, s->off - back + n, &j->filler);
}

/* False: it was none of the stream. */
static bool place(struct redact_stream *s, uint32_t seq, size_t wire_n)
{
    if (!s->started || (s->stray && seq == s->stray_next))
        begin(s, seq, false);
    s->stray = is_far(distance(s, seq));
    s->stray_next = seq + (uint32_t)wire_n;
    return !s->stray;
}

void redact_stream_judge(struct redact_stream *s, uint32_t seq, const uint8_t *p, size_t n,
                         size_t wire_n, const struct redact_judge *j)
{
    if (wire_n == 0)
        return;
    *j->base = 0;
    if (!place(s, seq, wire_n)) {
        j->filler.fill(j->filler.ctx, 0, n, FILL_UNJUDGED);
        return;
    }
    int32_t d = distance(s, seq);
    if (d > 0)
        gap(s, (uint32_t)d);
    size_t back = d < 0 ? (size_t) - (int64_t)d : 0, old = back < n ? back : n;
    if (old > 0)
        again(s, back, old, j);
    *j->base = old;
    if (n > old)
        feed(s, p + old, n - old, j);
    int32_t unseen = distance(s, seq + (uint32_t)wire_n);
    if (unseen > 0) /* the packet was snapped */
        gap(s, (uint32_t)unseen);
}
