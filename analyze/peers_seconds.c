/* Tools that count by the second: of the first t0, not any. */
#include <stdlib.h>

#include "analyze/peers_table.h"
#include "traces/base/clock.h"
#include "traces/base/mem.h"

enum { SECONDS_MAX = 1000000 };

/* Counts of each second of a run. */
struct seconds_of {
    uint32_t *in;
    int64_t n, first_ns;
};

static void count_second(struct seconds_of *c, int64_t t_ns)
{
    int64_t k = (t_ns - c->first_ns) / NS_PER_S;
    if (k >= 0 && k < c->n)
        c->in[k]++;
}

static void count_in_flight(struct seconds_of *c, const struct request *r)
{
    int64_t end = (r->z - c->first_ns) / NS_PER_S;
    for (int64_t k = (r->t0 - c->first_ns) / NS_PER_S; k <= end && k < c->n; k++)
        c->in[k]++;
}

double peers_fullest_second(const struct request *const *v, size_t n, bool in_flight)
{
    struct seconds_of c = {NULL, 1, INT64_MAX};
    int64_t last = 0;
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++) {
        c.first_ns = v[i]->t0 < c.first_ns ? v[i]->t0 : c.first_ns;
        last = v[i]->z > last ? v[i]->z : last;
    }
    if (last > c.first_ns)
        c.n = (last - c.first_ns) / NS_PER_S + 1;
    c.n = c.n < SECONDS_MAX ? c.n : SECONDS_MAX;
    c.in = mem_array((size_t)c.n, sizeof *c.in);
    for (size_t i = 0; i < n; i++) {
        if (in_flight)
            count_in_flight(&c, v[i]);
        for (size_t k = 0; !in_flight && k < v[i]->out.n; k++)
            count_second(&c, v[i]->out.v[k].t_ns);
    }
    for (int64_t k = 0; k < c.n; k++)
        most = c.in[k] > most ? c.in[k] : most;
    free(c.in);
    return most;
}
