/* A 0 that stands for no value at all. */
#ifndef ANALYZE_CLAIMS_PLACEHOLDER_H
#define ANALYZE_CLAIMS_PLACEHOLDER_H

#include "analyze/question.h"

/* Why c, a time or a count of tokens of 0 of a tool that has 0 where it has no value, is none: no
 * request of the question has what it would be taken of. NULL: it is no such thing. The text lives
 * as long as the audit. */
const char *claims_placeholder(const struct question *q, const struct claim *c);

#endif
