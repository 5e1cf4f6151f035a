/* The two clocks, and the pairs that tie them together (packet stamps are CLOCK_REALTIME,
 * deadlines are CLOCK_MONOTONIC). */
#ifndef TRACES_BASE_CLOCK_H
#define TRACES_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

enum { NS_PER_US = 1000, NS_PER_MS = 1000000, NS_PER_S = 1000000000 };

int64_t clock_real_ns(void); /* CLOCK_REALTIME: ns since the Unix epoch */
int64_t clock_mono_ns(void); /* CLOCK_MONOTONIC: ns since some fixed instant */

/* Both clocks read at one instant: real was read before and after mono, real_ns is the middle and
 * width_ns the distance, the uncertainty of the pair. */
struct clock_pair {
    int64_t real_ns;
    int64_t mono_ns;
    int64_t width_ns;
};

struct clock_pair clock_pair_take(void); /* the narrowest of a few tries */

/* "2026-11-30T11:13:00Z"; out has room for 32. */
void clock_utc(int64_t real_ns, char out[32]);

#endif
