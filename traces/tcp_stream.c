/* One direction of a TCP connection put in order (RFC 9293, 3.4; pitfalls T3 to T8, T12).
 *
 * The marks are running maxima over the bytes at or before a byte: t_ready of their times, rel of
 * their frames. So a hole that is given up late costs no byte behind it any time. */
#include "traces/tcp_stream.h"

#include <stdlib.h>
#include <string.h>

#include "traces/base/mem.h"
#include "traces/limits.h"

enum { NEAR = 1 << 30 }; /* no window is larger (RFC 7323, 2.3) */

struct tcp_piece {
    uint64_t off;
    uint64_t end;
    struct tcp_now seen;
    int64_t t_acked; /* when all before it was acknowledged, or it came if that was later */
    bool snapped;    /* was on the wire, is not in the capture: no bytes */
    uint8_t bytes[];
};

void tcp_stream_init(struct tcp_stream *s, const struct tcp_counts *counts)
{
    *s = (struct tcp_stream){.counts = counts, .t_ready = INT64_MIN};
}

static void drop_first(struct tcp_stream *s)
{
    struct tcp_piece *piece = s->held[s->first++];
    if (!piece->snapped)
        s->held_bytes -= (size_t)(piece->end - piece->off);
    free(piece);
    if (s->first == s->n)
        s->first = s->n = 0;
}

void tcp_stream_done(struct tcp_stream *s)
{
    while (s->first < s->n)
        drop_first(s);
    free(s->held);
    s->held = NULL;
    s->cap = 0;
}

void tcp_stream_sync(struct tcp_stream *s, uint32_t seq)
{
    if (s->synced)
        return;
    s->synced = true;
    s->base = seq;
}

int64_t tcp_stream_offset(const struct tcp_stream *s, uint32_t seq)
{
    return (int64_t)s->next + (int32_t)(seq - (s->base + (uint32_t)s->next));
}

/* The first held piece that satisfies off > x (by_end: end > x). */
static size_t find(const struct tcp_stream *s, uint64_t x, bool by_end)
{
    size_t lo = s->first, hi = s->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if ((by_end ? s->held[mid]->end : s->held[mid]->off) > x)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* The number behind the last byte may be a FIN's. */
static void note_behind(const struct tcp_stream *s)
{
    if (s->behind != NULL)
        *s->behind = s->acked > s->next + 1;
}

void tcp_stream_ack(struct tcp_stream *s, uint32_t ack, struct tcp_now now)
{
    s->peer_seen = true;
    if (!s->synced)
        return;
    int64_t off = tcp_stream_offset(s, ack);
    if (off < 0 || (uint64_t)off <= s->acked || off > (int64_t)s->next + NEAR)
        return;
    if (s->acked <= s->next)
        s->t_acked = now.t_ns;
    for (size_t i = find(s, s->acked, false); i < s->n && s->held[i]->off <= (uint64_t)off; i++)
        if (now.t_ns > s->held[i]->t_acked)
            s->held[i]->t_acked = now.t_ns;
    s->acked = (uint64_t)off;
    note_behind(s);
}

/* Moves next over n bytes of a packet. */
static struct mark advance(struct tcp_stream *s, uint64_t n, struct tcp_now seen)
{
    if (seen.t_ns > s->t_ready)
        s->t_ready = seen.t_ns;
    if (seen.pkt > s->rel)
        s->rel = seen.pkt;
    struct mark at = {s->next, seen.t_ns, s->t_ready, seen.pkt, s->rel};
    s->next += n;
    note_behind(s);
    return at;
}

static int deliver(struct tcp_stream *s, const uint8_t *p, size_t n, struct tcp_now seen)
{
    struct span span = {p, n, advance(s, n, seen)};
    return n > 0 && s->sink.data != NULL ? s->sink.data(s->sink.ctx, span) : TA_OK;
}

static int report_gap(struct tcp_stream *s, const char *id, uint64_t n, struct mark at,
                      struct tcp_now behind)
{
    struct tcp_gap *first = &s->counts->totals->first_gap;
    if (first->pkt == 0)
        *first = (struct tcp_gap){s->counts->conn->id, behind.pkt, at.off + n, behind.t_ns,
                                  s->of_server};
    s->counts->conn->gaps++;
    s->counts->conn->gap_bytes += n;
    s->counts->totals->gaps++;
    s->counts->totals->gap_bytes += n;
    s->counts->totals->client_gap_bytes += s->of_server ? 0 : n;
    anomaly_note(s->counts->bad, id, at, n);
    return s->sink.gap != NULL ? s->sink.gap(s->sink.ctx, n, at) : TA_OK;
}

/* n bytes at next were never seen: they carry the marks of what is before them, else behind them.
 */
static int give_up(struct tcp_stream *s, uint64_t n, struct tcp_now now)
{
    struct tcp_now near = {s->t_ready, s->rel};
    struct tcp_now behind = s->first < s->n ? s->held[s->first]->seen : now;
    if (s->t_ready == INT64_MIN)
        near = behind;
    return report_gap(s, "tcp.gap", n, advance(s, n, near), behind);
}

static int end(struct tcp_stream *s, enum end_kind why, struct tcp_now now)
{
    struct mark at = advance(s, 0, now);
    s->ended = true;
    if (s->first < s->n)
        anomaly_note(s->counts->bad, "tcp.unacknowledged", at, s->held_bytes);
    tcp_stream_done(s);
    return s->sink.end != NULL ? s->sink.end(s->sink.ctx, why, at) : TA_OK;
}

/* Hands on what is in order now. */
static int drain(struct tcp_stream *s)
{
    int rc = TA_OK;
    while (rc == TA_OK && s->first < s->n && s->held[s->first]->off == s->next) {
        struct tcp_piece *piece = s->held[s->first];
        uint64_t n = piece->end - piece->off;
        if (piece->snapped)
            rc = report_gap(s, "tcp.snapped", n, advance(s, n, piece->seen), piece->seen);
        else
            rc = deliver(s, piece->bytes, (size_t)n, piece->seen);
        drop_first(s);
    }
    if (rc == TA_OK && s->fin && s->next == s->fin_off && !s->ended)
        rc = end(s, END_FIN, s->fin_seen);
    return rc;
}

static void insert(struct tcp_stream *s, size_t i, struct tcp_piece *piece)
{
    if (s->n == s->cap && s->first > 0) {
        memmove(s->held, s->held + s->first, (s->n - s->first) * sizeof *s->held);
        s->n -= s->first;
        i -= s->first;
        s->first = 0;
    }
    if (s->n == s->cap) {
        s->cap = s->cap ? s->cap * 2 : 16;
        s->held = mem_resize(s->held, s->cap * sizeof *s->held);
    }
    memmove(s->held + i + 1, s->held + i, (s->n - i) * sizeof *s->held);
    s->held[i] = piece;
    s->n++;
    if (!piece->snapped)
        s->held_bytes += (size_t)(piece->end - piece->off);
}

/* What a segment brings: bytes [off, end), or p NULL where they were not captured. */
struct arrival {
    uint64_t off, end;
    const uint8_t *p;
    struct tcp_now seen;
};

static struct tcp_piece *piece_of(const struct tcp_stream *s, const struct arrival *a, uint64_t to)
{
    size_t n = a->p != NULL ? (size_t)(to - a->off) : 0;
    struct tcp_piece *piece = mem_alloc(sizeof *piece + n);
    *piece = (struct tcp_piece){.off = a->off,
                                .end = to,
                                .seen = a->seen,
                                .t_acked = a->off <= s->acked ? a->seen.t_ns : INT64_MIN,
                                .snapped = a->p == NULL};
    if (n > 0)
        memcpy(piece->bytes, a->p, n);
    return piece;
}

/* Keeps what no earlier copy has; true if one had some of it. */
static bool hold(struct tcp_stream *s, struct arrival a)
{
    bool again = false;
    while (a.off < a.end) {
        size_t i = find(s, a.off, true);
        uint64_t to = a.end;
        if (i < s->n && s->held[i]->off <= a.off) {
            const struct tcp_piece *had = s->held[i];
            if (had->end < to)
                to = had->end;
            again = true;
            if (a.p != NULL && !had->snapped &&
                memcmp(had->bytes + (a.off - had->off), a.p, (size_t)(to - a.off)) != 0)
                anomaly_note(s->counts->bad, "tcp.conflict",
                             (struct mark){a.off, a.seen.t_ns, a.seen.t_ns, a.seen.pkt, a.seen.pkt},
                             to - a.off);
        } else {
            if (i < s->n && s->held[i]->off < to)
                to = s->held[i]->off;
            insert(s, i, piece_of(s, &a, to));
        }
        if (a.p != NULL)
            a.p += to - a.off;
        a.off = to;
    }
    return again;
}

/* Acknowledged bytes at next that were not seen, up to the first that was. In a capture of one
 * direction nothing is seen to be acknowledged: there what was sent later proves them sent. */
static uint64_t lost(const struct tcp_stream *s)
{
    uint64_t to = s->peer_seen ? s->acked : UINT64_MAX;
    if (s->first < s->n && s->held[s->first]->off <= to)
        to = s->held[s->first]->off;
    else if (s->fin && s->fin_off < to)
        to = s->fin_off;
    else if (to == UINT64_MAX || (!s->fin && to == s->next + 1)) /* one number: a FIN, not a byte */
        return 0;
    return to > s->next ? to - s->next : 0;
}

/* Room for held bytes is finite: the hole before them is given up, acknowledged or not. */
static int relieve(struct tcp_stream *s, struct tcp_now now)
{
    int rc = TA_OK;
    while (rc == TA_OK && s->first < s->n &&
           (s->held_bytes > LIMIT_TCP_HELD_BYTES || s->n - s->first > LIMIT_TCP_HELD_PIECES)) {
        rc = give_up(s, s->held[s->first]->off - s->next, now);
        if (rc == TA_OK)
            rc = drain(s);
    }
    return rc;
}

static void count_needless(struct tcp_stream *s)
{
    s->counts->conn->needless++;
    s->counts->totals->needless++;
}

/* A segment before next, or over bytes that are held. A keep-alive probe repeats the last byte, or
 * makes one up (RFC 9293, 3.8.4): no retransmission. */
static void count_again(struct tcp_stream *s, uint64_t end_off, size_t wire_n, struct tcp_now now)
{
    uint64_t highest = s->first < s->n ? s->held[s->n - 1]->end : s->next;
    if (wire_n == 1 && end_off == highest)
        return;
    struct tcp_conn *conn = s->counts->conn;
    conn->retransmissions++;
    s->counts->totals->retransmissions++;
    if (conn->resent.pkt == 0)
        conn->resent = (struct tcp_place){now.pkt, now.t_ns};
    if (end_off <= s->acked) {
        s->known_needless++;
        count_needless(s);
    }
}

void tcp_stream_came_again(struct tcp_stream *s)
{
    if (s->known_needless > 0)
        s->known_needless--;
    else if (s->counts->conn->needless < s->counts->conn->retransmissions)
        count_needless(s);
}

int tcp_stream_data(struct tcp_stream *s, int64_t off, struct slice data, size_t wire_n,
                    struct tcp_now now)
{
    int64_t stop = off + (int64_t)wire_n;
    if (wire_n == 0)
        return TA_OK;
    if (stop <= (int64_t)s->next) { /* also behind FIN: its ACK was lost */
        count_again(s, stop < 0 ? 0 : (uint64_t)stop, wire_n, now);
        return TA_OK;
    }
    if (s->ended)
        return TA_OK;
    size_t cut = off < (int64_t)s->next ? (size_t)((int64_t)s->next - off) : 0;
    uint64_t from = (uint64_t)(off + (int64_t)cut), to = (uint64_t)stop;
    if (s->fin && to > s->fin_off)
        to = s->fin_off;
    const uint8_t *p = (const uint8_t *)data.p + (cut < data.n ? cut : data.n);
    uint64_t captured = cut < data.n ? from + (data.n - cut) : from;
    if (captured > to)
        captured = to;
    bool again = cut > 0;
    int rc = TA_OK;
    if (s->first == s->n && from == s->next && from < captured) {
        rc = deliver(s, p, (size_t)(captured - from), now);
    } else if (from < captured) {
        again |= hold(s, (struct arrival){from, captured, p, now});
    }
    if (captured < to)
        again |= hold(s, (struct arrival){captured, to, NULL, now});
    if (again)
        count_again(s, (uint64_t)stop, wire_n, now);
    if (rc == TA_OK)
        rc = drain(s);
    return rc == TA_OK ? relieve(s, now) : rc;
}

int tcp_stream_fin(struct tcp_stream *s, int64_t off, struct tcp_now now)
{
    if (s->ended || s->fin)
        return TA_OK;
    if (off < (int64_t)s->next) {
        anomaly_note(s->counts->bad, "tcp.early-fin",
                     (struct mark){s->next, now.t_ns, now.t_ns, now.pkt, now.pkt}, 0);
        return TA_OK;
    }
    s->fin = true;
    s->fin_off = (uint64_t)off;
    s->fin_seen = now;
    return drain(s);
}

static bool long_after(int64_t t, int64_t since)
{
    return t > since && (uint64_t)t - (uint64_t)since > LIMIT_TCP_HOLE_NS;
}

int tcp_stream_patience(struct tcp_stream *s, struct tcp_now now)
{
    int rc = TA_OK;
    while (rc == TA_OK && !s->ended) {
        uint64_t n = lost(s);
        if (n == 0)
            break;
        int64_t since = s->t_acked;
        if (s->first < s->n) {
            const struct tcp_piece *piece = s->held[s->first];
            if (piece->off > s->next + n)
                break; /* acknowledged in part: the rest may still come */
            since = piece->t_acked > piece->seen.t_ns ? piece->t_acked : piece->seen.t_ns;
        } else if (!s->peer_seen) {
            break;
        }
        if (!long_after(now.t_ns, since) && s->held_bytes <= LIMIT_TCP_HOLE_BYTES)
            break;
        rc = give_up(s, n, now);
        if (rc == TA_OK)
            rc = drain(s);
    }
    return rc;
}

int tcp_stream_close(struct tcp_stream *s, enum end_kind why, struct tcp_now now)
{
    int rc = TA_OK;
    uint64_t n;
    while (rc == TA_OK && !s->ended && (n = lost(s)) > 0) {
        rc = give_up(s, n, now);
        if (rc == TA_OK)
            rc = drain(s);
    }
    return rc == TA_OK && !s->ended ? end(s, why, now) : rc;
}
