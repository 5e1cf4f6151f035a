/* Requests that look like those to an LLM, and may be something else: any server may be asked with
 * "messages" or "inputs". */
#ifndef ANALYZE_LOAD_LOOKS_H
#define ANALYZE_LOAD_LOOKS_H

#include "analyze/model.h"

/* The exchange is over, and its outcome is known. A request that only loads a model is
 * OUTCOME_NOT_LLM, and one whose reply does not bear out what it looks like is marked by_looks;
 * asks: it has what only who wants a text generated gives. */
void load_looks_end(struct request *r, enum dialect_trust trust, bool asks);

/* Of the requests from first on, those that are marked by_looks stay only where others to the same
 * path and port are known to be what they look like: the rest are OUTCOME_NOT_LLM, and fail nobody.
 */
void load_looks_settle(struct audit *a, size_t first);

#endif
