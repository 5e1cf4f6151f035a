/* What an honest client may have instead of what is on the wire: stamps that came late, a clock
 * that ran before its request did, tokens counted by itself. A doubtful scope (struct scope) gives
 * each figure the interval of all that. Nothing that such an interval meets is refuted, and nothing
 * that it alone meets is confirmed. */
#ifndef ANALYZE_FORMULAS_DOUBT_H
#define ANALYZE_FORMULAS_DOUBT_H

#include "analyze/formulas.h"

/* A busy client is late by that much, and as much for each connection that it opens at a time: they
 * are opened one after the other, and its clock runs. Of few requests one may have it all. */
#define DOUBT_LATE_S 0.02
#define DOUBT_LATE_MOST_S 0.1 /* and no more than that … */
#define DOUBT_LATE_SHARE 0.05 /* … nor, beyond DOUBT_LATE_S, than that of a time between reads */
#define DOUBT_CUT_SHARE 0.25  /* of a gap, that its first stamp may have been late */
#define DOUBT_TOGETHER_NS 100000000 /* connections opened within so much are opened together */

/* By how much a time of r that begins with its request may be longer at its client, s. */
double doubt_late(const struct scope *s, const struct request *r);

/* Widens what f gave from out->all.v[before] on by what s->late and s->miscount say. */
void doubt_widen(const struct formula *f, const struct scope *s, size_t before,
                 struct estimates *out);

#endif
