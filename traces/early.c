/* Bytes that wait, with their marks. */
#include "traces/early.h"

#include "traces/limits.h"

bool early_has(const struct early *e)
{
    return e->first < e->pieces.n;
}

size_t early_size(const struct early *e)
{
    return e->bytes.n - e->used + (e->pieces.n - e->first) * sizeof *e->pieces.v;
}

static bool has_room(struct early *e, size_t n, struct mark at)
{
    if (!early_has(e) && e->pieces.n > 0)
        early_clear(e);
    if (e->bytes.max == 0)
        buf_init(&e->bytes, LIMIT_EARLY_BYTES);
    if (e->pieces.n > 0 && at.t_ready - e->pieces.v[e->first].at.t_ready > LIMIT_EARLY_NS)
        return false;
    return n <= LIMIT_EARLY_BYTES && early_size(e) + sizeof *e->pieces.v <= LIMIT_EARLY_BYTES - n;
}

bool early_add(struct early *e, struct span in)
{
    if (!has_room(e, in.n, in.at) || buf_add(&e->bytes, in.p, in.n) != TA_OK)
        return false;
    VEC_PUSH(&e->pieces, ((struct early_piece){in.n, in.at, false}));
    return true;
}

bool early_add_gap(struct early *e, uint64_t n, struct mark at)
{
    if (!has_room(e, 0, at))
        return false;
    VEC_PUSH(&e->pieces, ((struct early_piece){n, at, true}));
    return true;
}

struct early_piece early_first(const struct early *e, const uint8_t **p)
{
    struct early_piece piece = e->pieces.v[e->first];
    *p = piece.unseen ? NULL : e->bytes.p + e->used;
    return piece;
}

void early_drop(struct early *e, uint64_t n)
{
    struct early_piece *piece = &e->pieces.v[e->first];
    if (!piece->unseen)
        e->used += (size_t)n;
    piece->n -= n;
    piece->at.off += n;
    if (piece->n == 0)
        e->first++;
}

void early_clear(struct early *e)
{
    buf_done(&e->bytes);
    VEC_FREE(&e->pieces);
    *e = (struct early){.first = 0};
}
