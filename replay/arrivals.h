/* Arrivals of an open loop: so many a second, at equal distances or by a Poisson process. */
#ifndef REPLAY_ARRIVALS_H
#define REPLAY_ARRIVALS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "replay/chance.h"

struct arrivals {
    double rate; /* a second */
    bool poisson;
    uint64_t chance, n;
    double at_s; /* of poisson */
};

static inline struct arrivals arrivals_begin(double rate, bool poisson, int64_t seed)
{
    return (struct arrivals){
        .rate = rate, .poisson = poisson, .chance = chance_from("arrivals") ^ (uint64_t)seed};
}

/* When the next one comes, in ns from the first. */
static inline int64_t arrivals_next(struct arrivals *a)
{
    double at = a->poisson ? a->at_s : (double)a->n / a->rate;
    a->n++;
    if (a->poisson)
        a->at_s -= log(chance_unit(&a->chance)) / a->rate;
    return at < 0x1p53 / 1e9 ? (int64_t)llround(at * 1e9) : INT64_C(1) << 53;
}

#endif
