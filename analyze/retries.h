/* Attempts: a request that was sent again because the one before it failed. */
#ifndef ANALYZE_RETRIES_H
#define ANALYZE_RETRIES_H

#include "analyze/model.h"

/* A later attempt begins within this time of the end of the one before. */
#define RETRY_WITHIN_NS (INT64_C(60) * NS_PER_S)

/* Fills retry_of and retried of all requests; needs runs. The same body again is a retry where all
 * of that run with that body come one after the other, all but the last fail in a way that is worth
 * another try (429, 408, 5xx, no whole response), and the ledger, if there is one, did not plan
 * them. Loads that repeat their prompts show none. */
void retries_find(struct audit *a);

/* The first attempt of what r is an attempt of; r itself if it is the first. */
const struct request *retries_first(const struct audit *a, const struct request *r);

#endif
