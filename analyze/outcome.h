/* How a request ended, by its bytes and by what its dialect makes of them. */
#ifndef ANALYZE_OUTCOME_H
#define ANALYZE_OUTCOME_H

#include "analyze/model.h"
#include "traces/exchange.h"

/* Clients stop reading at the end mark and hang up, OpenAI's among them: the zero chunk behind it
 * is missed by nobody. finished: an end was stated. */
bool outcome_left_at_end(const struct request *r, const struct exchange *x, bool finished);

/* Of r, whose `left` is known; failed: an error was stated. */
enum outcome outcome_of(const struct request *r, const struct exchange *x, bool finished,
                        bool failed);

#endif
