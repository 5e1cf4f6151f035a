/* A table of the latest segments, each in the one place that its numbers choose: what is pushed out
 * is old, and a twin that is missed counts as a retransmission. */
#include "traces/twins.h"

#include <stdlib.h>
#include <string.h>

#include "traces/base/mem.h"
#include "traces/limits.h"

enum { PLACES = 1 << 12 };

struct place {
    bool taken;
    uint32_t interface;
    int64_t t_ns;
    struct segment s; /* its bytes are not kept */
};

struct twins {
    struct place places[PLACES];
};

struct twins *twins_new(void)
{
    return mem_zalloc(sizeof(struct twins));
}

void twins_free(struct twins *t)
{
    free(t);
}

static size_t place_of(const struct segment *s)
{
    uint64_t h = (uint64_t)s->seq << 32 | s->ack;
    h ^= (uint64_t)s->from.port << 48 ^ (uint64_t)s->to.port << 16 ^ s->wire_n << 8 ^ s->flags;
    h *= UINT64_C(0x9e3779b97f4a7c15);
    return h >> 52;
}

static bool same_endpoint(const struct endpoint *a, const struct endpoint *b)
{
    return a->family == b->family && a->port == b->port && memcmp(a->addr, b->addr, 16) == 0;
}

static bool same_segment(const struct segment *a, const struct segment *b)
{
    return a->seq == b->seq && a->ack == b->ack && a->flags == b->flags && a->window == b->window &&
           a->wire_n == b->wire_n && same_endpoint(&a->from, &b->from) &&
           same_endpoint(&a->to, &b->to);
}

/* The stamps of two interfaces may be in either order (C7). */
static bool near_in_time(int64_t a, int64_t b)
{
    uint64_t apart = a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
    return apart < LIMIT_TWIN_NS;
}

bool twins_saw(struct twins *t, uint32_t interface, const struct segment *s, int64_t t_ns)
{
    struct place *p = &t->places[place_of(s)];
    if (p->taken && p->interface != interface && near_in_time(p->t_ns, t_ns) &&
        same_segment(&p->s, s))
        return true;
    *p = (struct place){.taken = true, .interface = interface, .t_ns = t_ns, .s = *s};
    p->s.data = NULL;
    return false;
}
