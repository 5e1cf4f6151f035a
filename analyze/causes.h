/* The catalogue of known ways to a wrong figure, as formulas over a trace: which of them gives a
 * claim? */
#ifndef ANALYZE_CAUSES_H
#define ANALYZE_CAUSES_H

#include <stdio.h>

#include "analyze/question.h"

/* Appends every formula that gives the claim, best first: by sign, then those that give it to the
 * digit, then by the narrower interval. */
void causes_find(const struct question *q, struct claim *c);

/* Does the formula of c's tool give it, if answers that came in one go take part? Appends P43 then,
 * which its sign speaks for. causes_burst.c */
bool causes_find_burst(const struct question *q, struct claim *c);

/* Does one of them give the claim's number? P27 only says how it can be that small. */
bool causes_give(const struct claim *c);

/* Is a cause of that id another count of tokens than the right one? */
bool cause_of_counts(const char *id);

/* Of a confirmed claim: appends the formulas that give it too and whose sign is on the wire, with
 * how far they are from the figure that the bytes give. */
void causes_find_beside(const struct question *q, struct claim *c);

/* `tokaudit help causes`. */
void causes_print(FILE *to);

#endif
