/* IP reassembly: a datagram's bytes and which ranges of them have come. */
#include "traces/fragments.h"

#include <stdlib.h>
#include <string.h>

#include "traces/base/mem.h"
#include "traces/base/vec.h"
#include "traces/limits.h"

#define uthash_malloc(size) mem_alloc(size)
#include <uthash.h>

enum { PAYLOAD_MAX = 65535, KEY_BYTES = 2 * 17 + 4 + 1 };

struct range {
    uint32_t from, to;
};

struct datagram {
    uint8_t key[KEY_BYTES];
    struct ip_fragment first; /* what it will be, its data apart; protocol: of the first piece */
    bool has_first;
    int64_t t_ns; /* of the piece that came first */
    uint64_t parts;
    uint32_t end; /* 0: the last piece has not come */
    uint32_t cut; /* captured bytes end here: some piece was snapped */
    uint8_t *bytes;
    size_t cap;
    VEC(struct range) come; /* disjoint, in order */
    UT_hash_handle hh;
};

struct fragments {
    struct datagram *table; /* in the order in which they began */
    struct datagram *given; /* what the last call handed out */
    size_t held_bytes;
    struct fragments_totals totals;
};

struct fragments *fragments_new(void)
{
    return mem_zalloc(sizeof(struct fragments));
}

static void datagram_free(struct datagram *d)
{
    if (d == NULL)
        return;
    VEC_FREE(&d->come);
    free(d->bytes);
    free(d);
}

static void take_out(struct fragments *f, struct datagram *d)
{
    HASH_DEL(f->table, d);
    f->held_bytes -= d->cap;
}

static void give_up(struct fragments *f, struct datagram *d)
{
    f->totals.lost += d->parts;
    take_out(f, d);
    datagram_free(d);
}

void fragments_free(struct fragments *f)
{
    if (f == NULL)
        return;
    while (f->table != NULL)
        give_up(f, f->table);
    datagram_free(f->given);
    free(f);
}

/* --- one datagram ----------------------------------------------------------------------------- */

/* Under IPv6 the protocol of later pieces means nothing (RFC 8200, 4.5). */
static void key_of(const struct ip_fragment *part, uint8_t key[KEY_BYTES])
{
    key[0] = part->from.family;
    memcpy(key + 1, part->from.addr, 16);
    memcpy(key + 17, part->to.addr, 16);
    memcpy(key + 33, &part->id, 4);
    key[37] = part->from.family == 4 ? part->protocol : 0;
    key[38] = 0;
}

static void make_room(struct fragments *f, struct datagram *d, uint32_t n)
{
    if (n <= d->cap)
        return;
    size_t cap = d->cap == 0 ? 4096 : d->cap;
    while (cap < n)
        cap *= 2;
    d->bytes = mem_resize(d->bytes, cap);
    f->held_bytes += cap - d->cap;
    d->cap = cap;
    while (f->held_bytes > LIMIT_FRAGMENT_HELD_BYTES && f->table != d)
        give_up(f, f->table);
}

/* Bytes [at, to) of the datagram, none of which had come. */
static void put(struct datagram *d, const struct ip_fragment *part, uint32_t at, uint32_t to)
{
    uint32_t captured = part->offset + (uint32_t)part->n;
    uint32_t end = to < captured ? to : captured;
    if (end > at)
        memcpy(d->bytes + at, part->data + (at - part->offset), end - at);
    if (end < to && (end > at ? end : at) < d->cut)
        d->cut = end > at ? end : at;
}

/* What of [from, to) had not come is filled, and the ranges that it touches become one. */
static void fill(struct datagram *d, const struct ip_fragment *part, uint32_t from, uint32_t to)
{
    size_t i = 0;
    uint32_t at = from;
    while (i < d->come.n && d->come.v[i].to < from)
        i++;
    struct range joined = {from, to};
    size_t k = i;
    for (; k < d->come.n && d->come.v[k].from <= to; k++) {
        struct range r = d->come.v[k];
        if (r.from > at)
            put(d, part, at, r.from);
        at = r.to > at ? r.to : at;
        joined.from = r.from < joined.from ? r.from : joined.from;
        joined.to = r.to > joined.to ? r.to : joined.to;
    }
    if (at < to)
        put(d, part, at, to);
    if (k == i) /* it touches none: room for one more */
        VEC_PUSH(&d->come, joined);
    size_t gone = k == i ? 0 : k - i, behind = d->come.n - (k == i ? 1 : 0) - k;
    memmove(d->come.v + i + 1, d->come.v + i + gone, behind * sizeof *d->come.v);
    d->come.v[i] = joined;
    d->come.n = i + 1 + behind;
}

/* Could it be a piece of an IP packet? All but the last are a multiple of 8 bytes long. */
static bool is_plausible(const struct ip_fragment *part)
{
    return part->wire_n > 0 && part->n <= part->wire_n && part->wire_n <= PAYLOAD_MAX &&
           part->offset + part->wire_n <= PAYLOAD_MAX && (!part->more || part->wire_n % 8 == 0);
}

static bool is_whole(const struct datagram *d)
{
    return d->end > 0 && d->has_first && d->come.v[0].from == 0 && d->come.v[0].to >= d->end;
}

/* --- all of them ------------------------------------------------------------------------------ */

static struct datagram *begin(struct fragments *f, const struct ip_fragment *part,
                              const uint8_t key[KEY_BYTES], int64_t t_ns)
{
    if (HASH_COUNT(f->table) >= LIMIT_FRAGMENT_DATAGRAMS)
        give_up(f, f->table);
    struct datagram *d = mem_zalloc(sizeof *d);
    memcpy(d->key, key, KEY_BYTES);
    d->first = (struct ip_fragment){.from = part->from, .to = part->to, .id = part->id};
    d->t_ns = t_ns;
    d->cut = UINT32_MAX;
    HASH_ADD(hh, f->table, key, KEY_BYTES, d);
    return d;
}

static void give_up_old(struct fragments *f, int64_t t_ns)
{
    while (f->table != NULL && t_ns > 0 && t_ns - LIMIT_FRAGMENT_NS > f->table->t_ns)
        give_up(f, f->table);
}

static struct ip_fragment hand_out(struct fragments *f, struct datagram *d)
{
    struct ip_fragment whole = d->first;
    whole.data = d->bytes;
    whole.wire_n = d->end;
    whole.n = d->cut < d->end ? d->cut : d->end;
    take_out(f, d);
    f->given = d;
    return whole;
}

bool fragments_add(struct fragments *f, const struct ip_fragment *part, int64_t t_ns,
                   struct ip_fragment *whole)
{
    uint8_t key[KEY_BYTES];
    struct datagram *d;
    datagram_free(f->given);
    f->given = NULL;
    f->totals.fragments++;
    give_up_old(f, t_ns);
    if (!is_plausible(part)) {
        f->totals.lost++;
        return false;
    }
    key_of(part, key);
    HASH_FIND(hh, f->table, key, KEY_BYTES, d);
    if (d == NULL)
        d = begin(f, part, key, t_ns);
    d->parts++;
    uint32_t to = part->offset + (uint32_t)part->wire_n;
    make_room(f, d, to);
    fill(d, part, part->offset, to);
    if (!part->more && d->end == 0)
        d->end = to;
    if (part->offset == 0 && !d->has_first) {
        d->has_first = true;
        d->first.protocol = part->protocol;
    }
    if (!is_whole(d))
        return false;
    *whole = hand_out(f, d);
    return true;
}

enum link_verdict fragments_decode(struct fragments *f, uint16_t link, const uint8_t *p, size_t n,
                                   size_t wire_n, int64_t t_ns, struct segment *out)
{
    struct ip_bytes ip;
    struct ip_fragment part, whole;
    enum link_verdict v = link_network(link, p, n, wire_n, &ip);
    if (v == LINK_IP)
        v = ip_decode(ip, out, &part);
    if (v == LINK_FRAGMENT && fragments_add(f, &part, t_ns, &whole))
        v = ip_decode_whole(&whole, out);
    return v;
}

struct fragments_totals fragments_totals(const struct fragments *f)
{
    struct fragments_totals t = f->totals;
    for (const struct datagram *d = f->table; d != NULL; d = d->hh.next)
        t.lost += d->parts;
    return t;
}
