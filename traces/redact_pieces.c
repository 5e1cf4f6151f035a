/* Pieces of a datagram find each other by the addresses and the id (RFC 791, RFC 8200 4.5). */
#include "traces/redact_pieces.h"

#include <string.h>
#include <utlist.h>

void redact_pieces_add(struct redact_pieces *q, struct redact_held *h)
{
    h->piece = true;
    DL_APPEND2(q->first, h, prev_piece, next_piece);
}

void redact_pieces_drop(struct redact_pieces *q, struct redact_held *h)
{
    h->piece = false;
    DL_DELETE2(q->first, h, prev_piece, next_piece);
}

static bool same_end(const struct endpoint *a, const struct endpoint *b)
{
    return a->family == b->family && memcmp(a->addr, b->addr, sizeof a->addr) == 0;
}

/* Under IPv4 the protocol tells datagrams apart, too; `whole` has that of its first piece. */
static bool is_of(const struct ip_fragment *part, const struct ip_fragment *whole)
{
    return part->id == whole->id && same_end(&part->from, &whole->from) &&
           same_end(&part->to, &whole->to) &&
           (part->from.family != 4 || part->protocol == whole->protocol);
}

struct redact_held *redact_pieces_take(struct redact_pieces *q, const struct ip_fragment *whole)
{
    struct redact_held *h, *next, *taken = NULL;
    DL_FOREACH_SAFE2(q->first, h, next, next_piece)
    {
        if (!is_of(&h->part, whole))
            continue;
        redact_pieces_drop(q, h);
        DL_APPEND2(taken, h, prev_piece, next_piece);
    }
    return taken;
}

/* Bytes of `whole` up to which the pieces reach without a hole, looking from `at`. */
static size_t reach(const struct redact_held *pieces, size_t at)
{
    const struct redact_held *h;
    for (bool on = true; on;) {
        on = false;
        DL_FOREACH2(pieces, h, next_piece)
        {
            size_t end = h->part.offset + h->part.n;
            if (h->part.offset <= at && end > at) {
                at = end;
                on = true;
            }
        }
    }
    return at;
}

bool redact_pieces_agree(const struct redact_held *pieces, const struct ip_fragment *whole)
{
    const struct redact_held *h;
    if (reach(pieces, 0) < whole->n)
        return false;
    DL_FOREACH2(pieces, h, next_piece)
    {
        size_t from = h->part.offset, n = h->part.n;
        if (from + n > whole->n)
            n = from < whole->n ? whole->n - from : 0;
        if (n > 0 && memcmp(h->part.data, whole->data + from, n) != 0)
            return false;
    }
    return true;
}

void redact_pieces_wait(struct redact_held *pieces, struct redact_held *assembly)
{
    struct redact_held *h;
    assembly->assembled = true;
    assembly->pieces = pieces;
    DL_FOREACH2(pieces, h, next_piece)
    {
        h->assembly = assembly;
    }
}

struct redact_held *redact_pieces_leave(struct redact_held *h)
{
    struct redact_held *assembly = h->assembly;
    if (assembly == NULL)
        return NULL;
    DL_DELETE2(assembly->pieces, h, prev_piece, next_piece);
    return assembly->pieces == NULL ? assembly : NULL;
}

/* Returns whether a byte was changed. */
static bool write_piece(struct redact_held *h, const struct ip_fragment *whole,
                        const struct redact_edit *e)
{
    bool changed = false;
    uint8_t *p = h->p + (h->part.data - h->p); /* which is const there */
    for (size_t i = 0; i < h->part.n; i++) {
        size_t at = h->part.offset + i;
        uint8_t to = redact_edit_filled(p[i], FILL_UNJUDGED);
        if (at < whole->n)
            to = e->out != NULL ? e->out[at] : p[i];
        else
            e->totals->unjudged_bytes++;
        changed |= p[i] != to;
        p[i] = to;
    }
    return changed;
}

uint64_t redact_pieces_write(struct redact_held *pieces, const struct ip_fragment *whole,
                             const struct redact_edit *e)
{
    struct redact_held *h;
    uint64_t changed = 0;
    DL_FOREACH2(pieces, h, next_piece)
    {
        h->assembly = NULL;
        changed += write_piece(h, whole, e);
    }
    return changed;
}
