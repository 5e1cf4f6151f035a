/* The catalogue of known ways to a wrong figure, as formulas over a trace: which of them gives a
 * claim? */
#ifndef ANALYZE_CAUSES_H
#define ANALYZE_CAUSES_H

#include <stdio.h>

#include "analyze/question.h"

/* Appends every formula that gives the claim, best first: by sign, then by the narrower interval.
 */
void causes_find(const struct question *q, struct claim *c);

/* Does one of them give the claim's number? P27 only says how it can be that small. */
bool causes_give(const struct claim *c);

/* Of a confirmed claim: appends the formulas that give it too and whose sign is on the wire, with
 * how far they are from the figure that the bytes give. */
void causes_find_beside(const struct question *q, struct claim *c);

/* `tokaudit help causes`. */
void causes_print(FILE *to);

#endif
