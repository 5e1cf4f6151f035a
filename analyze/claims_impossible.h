/* Claims that cannot be: no definition gives them from these bytes, or from any. */
#ifndef ANALYZE_CLAIMS_IMPOSSIBLE_H
#define ANALYZE_CLAIMS_IMPOSSIBLE_H

#include "analyze/question.h"

/* The claim as tokens per second, whichever way it was given. */
struct interval claims_as_rate(const struct question *q);

/* Why no reading of the claim can be true, or NULL. For a claim that no known formula gives: what
 * one gives was taken from these bytes, whatever it is. The text lives as long as the audit. */
const char *claims_impossible(const struct question *q);

/* Why it is no time at all in which a reply came, or NULL. A formula of c->causes that meets it
 * only by how late a client may stamp does not make it one. */
const char *claims_before_reply(const struct question *q, const struct claim *c);

#endif
