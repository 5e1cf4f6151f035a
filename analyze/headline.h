/* What a report says first: its verdict in one line, and claims in the order of their weight. */
#ifndef ANALYZE_HEADLINE_H
#define ANALYZE_HEADLINE_H

#include "analyze/model.h"

struct tally {
    size_t fail, unmeasured, pass;   /* claims */
    size_t fails_found, warns_found; /* findings */
};

struct tally headline_tally(const struct audit *a);

/* "14,000 tok/s never happened: 1 of 2 claims fails the audit". Without claims, the worst finding;
 * NULL if there is none either. Lives as long as texts. */
const char *headline(const struct audit *a, struct arena *texts);

/* 0: it fails; 1: not measurable; 2: confirmed. */
int headline_rank(enum verdict v);

/* All claims, a->claims.n of them: what fails by how far it is off, then what can't be measured,
 * then the rest. free()d by the caller. */
const struct claim **headline_order(const struct audit *a);

#endif
