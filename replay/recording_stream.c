/* One side of a connection, cut into responses. */
#include "replay/recording_stream.h"

void recording_stream_clear(struct recording_stream *s)
{
    s->pieces.n = s->first = 0;
}

void recording_stream_free(struct recording_stream *s)
{
    VEC_FREE(&s->pieces);
}

static struct recording_piece *last_piece(struct recording_stream *s)
{
    return s->pieces.n > s->first ? &s->pieces.v[s->pieces.n - 1] : NULL;
}

/* A packet may come in several spans; it stays one segment, as it was one write. */
int recording_stream_data(struct recording_stream *s, struct span in, struct spool *spool,
                          struct err *e)
{
    struct slice kept;
    int rc = spool_add(spool, (struct slice){(const char *)in.p, in.n}, &kept, e);
    if (rc != TA_OK)
        return rc;
    struct recording_piece *last = last_piece(s);
    if (last != NULL && last->bytes != NULL && last->pkt == in.at.pkt && last->end == in.at.off &&
        last->bytes + (last->end - last->off) == kept.p)
        last->end += in.n;
    else
        VEC_PUSH(&s->pieces, ((struct recording_piece){in.at.off, in.at.off + in.n, in.at.pkt,
                                                       in.at.t_ready, kept.p}));
    return TA_OK;
}

void recording_stream_gap(struct recording_stream *s, uint64_t n, struct mark at)
{
    VEC_PUSH(&s->pieces, ((struct recording_piece){at.off, at.off + n, at.pkt, at.t_ready, NULL}));
}

/* The array is read where it is mapped: it must lie where such structs may. */
static int keep_segments(const struct recording_segment *v, size_t n, struct spool *spool,
                         struct recording_exchange *x, struct err *e)
{
    static const char zeros[_Alignof(struct recording_segment)];
    size_t over = (size_t)(spool_bytes(spool) % sizeof zeros);
    struct slice kept;
    int rc = TA_OK;
    if (over > 0)
        rc = spool_add(spool, (struct slice){zeros, sizeof zeros - over}, &kept, e);
    if (rc == TA_OK)
        rc = spool_add(spool, (struct slice){(const char *)v, n * sizeof *v}, &kept, e);
    x->segments = (const struct recording_segment *)(const void *)kept.p;
    x->n_segments = rc == TA_OK ? n : 0;
    return rc;
}

int recording_stream_take(struct recording_stream *s, const struct recording_cut *cut,
                          struct spool *spool, struct recording_exchange *x, bool *gap,
                          struct err *e)
{
    VEC(struct recording_segment) out = {0};
    *gap = s->first == s->pieces.n || s->pieces.v[s->first].off > cut->from;
    while (s->first < s->pieces.n && s->pieces.v[s->first].off < cut->to) {
        struct recording_piece *p = &s->pieces.v[s->first];
        uint64_t from = p->t_ns < cut->not_before_ns && p->off < cut->from ? cut->from : p->off;
        uint64_t to = p->end < cut->to ? p->end : cut->to;
        if (from < to && p->bytes == NULL) {
            *gap = true;
        } else if (from < to) {
            struct slice bytes = {p->bytes + (from - p->off), (size_t)(to - from)};
            VEC_PUSH(&out, ((struct recording_segment){p->t_ns, bytes}));
            x->response_bytes += bytes.n;
        }
        if (p->end > cut->to) { /* the next response begins in it */
            p->bytes = p->bytes != NULL ? p->bytes + (to - p->off) : NULL;
            p->off = to;
            break;
        }
        s->first++;
    }
    if (s->first == s->pieces.n)
        recording_stream_clear(s);
    int rc = keep_segments(out.v, out.n, spool, x, e);
    VEC_FREE(&out);
    return rc;
}
