/* Times from event to event: millions of them, in four bytes each, read in order. */
#ifndef ANALYZE_GAPS_H
#define ANALYZE_GAPS_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/model.h"

struct gaps {
    uint32_t *v; /* ns; room for as many as gaps_begin was told */
    size_t n;
    VEC(int64_t) far; /* ns, of those that do not fit there: back in time, or longer than 4.29 s */
};

void gaps_begin(struct gaps *g, size_t most);
void gaps_free(struct gaps *g);

void gaps_add(struct gaps *g, int64_t ns);
size_t gaps_count(const struct gaps *g);

/* In the array itself. What follows needs it done, and a gap at least. */
void gaps_sort(struct gaps *g);

/* In seconds, to the last bit as stat.h has them of the same gaps as doubles. Number i from 0. */
double gaps_at(const struct gaps *g, size_t i);
double gaps_percentile(const struct gaps *g, enum percentile_method m, double p);
double gaps_mean(const struct gaps *g);
double gaps_std(const struct gaps *g); /* of a sample (n - 1); NAN for n < 2 */

#endif
