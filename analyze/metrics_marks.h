/* Marks: tokens that servers count and send no text of, around thinking and around what is sent of
 * a tool's call ("<think>", "<tool_call>\n{"name": "…", "arguments": "). Parsers hold them back
 * until they know what they are. When they were generated is not on the wire: that blurs rates. */
#ifndef ANALYZE_METRICS_MARKS_H
#define ANALYZE_METRICS_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/model.h"

/* Tokens that marks may be, at most, as the formats of today's models have them: of a call of a
 * tool in all, before its name is known, and behind the last piece of its arguments; of a run of
 * thinking in all, and before it. */
enum {
    MARKS_CALL = 48,
    MARKS_CALL_START = 24,
    MARKS_CALL_END = 10,
    MARKS_THOUGHT = 12,
    MARKS_THOUGHT_START = 3
};

/* Of r's tokens, at most. Thinking that was hidden is not in it. */
int64_t metrics_marks(const struct request *r);

/* The least of the tokens stated that have text; -1: none were stated, or there was thinking that
 * was hidden, and nobody says how much. */
int64_t metrics_texted(const struct request *r);

/* By how many tokens N is more than were counted again in the text, beyond what marks explain;
 * below 0: less, beyond what a call explains whose arguments are written anew. 0: they agree, or
 * nothing is known. */
double metrics_recount_off(const struct request *r);

/* Are those too many for a rate from o_1 to o_M, or was an unknown number of tokens hidden? */
bool metrics_blurred(const struct request *r);

/* What part of N - n_1 is sure to have come between: 1 is all of it. */
double metrics_marks_sure(const struct request *r);

/* Where it is blurred, or the first piece was held back: what N - n_1 may be. The least is a token
 * for each event, where it is not known how many were generated before the first. */
struct interval metrics_blur(const struct request *r);

#endif
