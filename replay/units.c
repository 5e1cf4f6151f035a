/* A plan divided into units. */
#include "replay/units.h"

#include <stdlib.h>

#include "traces/base/mem.h"

struct units units_of(const struct plan *p)
{
    struct units u = {.plan = p, .v = mem_array(p->requests.n, sizeof *u.v)};
    for (size_t i = 0; i < p->requests.n; i++) {
        int64_t group = p->requests.v[i].group;
        if (group < 0 || i == 0 || group != p->requests.v[i - 1].group)
            u.v[u.n++] = (struct unit){
                .first = (uint32_t)i, .first_dependent = UNITS_NONE, .next_dependent = UNITS_NONE};
        u.v[u.n - 1].n++;
    }
    return u;
}

const struct plan_request *units_head(const struct units *u, const struct unit *unit)
{
    return &u->plan->requests.v[unit->first];
}

static struct unit *unit_with(const struct units *u, uint32_t request)
{
    size_t low = 0, high = u->n;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        *(u->v[mid].first <= request ? &low : &high) = mid;
    }
    return &u->v[low];
}

size_t units_begin_round(struct units *u, size_t first)
{
    size_t end = first;
    int64_t round = units_head(u, &u->v[first])->round;
    while (end < u->n && units_head(u, &u->v[end])->round == round)
        end++;
    for (size_t i = end; i-- > first;) {
        int64_t after = units_head(u, &u->v[i])->after;
        if (after < 0)
            continue;
        struct unit *before = unit_with(u, (uint32_t)after);
        u->v[i].next_dependent = before->first_dependent;
        before->first_dependent = (uint32_t)i;
    }
    return end;
}

size_t units_at_once(const struct units *u)
{
    size_t most = (size_t)u->plan->concurrency, n = u->plan->requests.n;
    most = most < n ? most : n;
    for (size_t i = 0; i < u->n; i++)
        most = u->v[i].n > most ? u->v[i].n : most;
    return most;
}

void units_free(struct units *u)
{
    free(u->v);
}
