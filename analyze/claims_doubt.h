/* What speaks for a claim that its definitions do not give: private to claims.c. */
#ifndef ANALYZE_CLAIMS_DOUBT_H
#define ANALYZE_CLAIMS_DOUBT_H

#include "analyze/question.h"

/* What a tool counts with may not be on the wire, and its stamps are late: then a claim is only
 * refuted where it is off by more than that can explain, or where the wire shows another cause. Why
 * c is not refuted, or NULL; r is what its first definition gives. */
const char *claims_doubt(struct question *q, const struct claim *c, const struct reading *r);

#endif
