/* The catalogue of known ways to a wrong figure, as formulas over a trace: which of them gives a
 * claim? */
#ifndef ANALYZE_CAUSES_H
#define ANALYZE_CAUSES_H

#include "analyze/question.h"

/* Appends every formula that gives the claim, best first: by sign, then by the narrower interval.
 */
void causes_find(const struct question *q, struct claim *c);

#endif
