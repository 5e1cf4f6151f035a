/* Parts of the dialects' readers: one event or document goes through one struct reading, deltas
 * come out in order of appearance. For traces/dialects/ alone. */
#ifndef TRACES_DIALECTS_READING_H
#define TRACES_DIALECTS_READING_H

#include <stdbool.h>
#include <stdint.h>

#include "traces/base/jscan.h"
#include "traces/dialects/dialect.h"

struct reading {
    struct slice text; /* all of the event or document, without blanks around it */
    struct buf *scratch;
    struct delta_sink out;
    bool keepalive; /* the event names itself a keep-alive */
    size_t emitted, errors;
    int rc; /* what the sink said; sticky once it is not TA_OK */
};

void reading_emit(struct reading *r, struct delta d);
void reading_emit_text(struct reading *r, enum delta_kind kind, uint32_t choice, struct slice text);

/* Without JSON's blanks around it; never {NULL, 0}. */
struct slice reading_trimmed(struct slice s);

/* Nothing at all, or a word ("ping", "keep-alive") where gateways send some that is no JSON: a sign
 * of life. What begins as JSON does and is none is an error. */
bool reading_is_sign_of_life(struct slice trimmed);

/* The value that starts next, as it stands in the text, trimmed. */
struct slice reading_value(struct jscan *s);

/* The scanner's last string without its escapes; lives in the text or in scratch. */
struct slice reading_string(struct reading *r, const struct jscan *s);

/* The number that starts next: NAN, and -1, if it is none, or for a count if it is no number of
 * things. A count may stand in a string. */
double reading_number(struct jscan *s);
int64_t reading_count(struct jscan *s);

/* Whole values that the scanner has been through already (jscan_over_valid). */

/* OpenAI's usage object, or one with the names of its responses: DELTA_USAGE if it states anything.
 */
void reading_usage(struct reading *r, struct slice value);

/* llama.cpp's timings object: DELTA_TIMINGS if it states anything. */
void reading_timings(struct reading *r, struct slice value);

/* An error as an object with a message, a string, or a list: DELTA_ERROR. What says nothing is none:
 * null, false, 0, an empty text, list or object, and an object of these alone. */
void reading_error(struct reading *r, struct slice value);

/* Is that word, given as the reason of a finish, the name of a failure? */
bool reading_is_failure(struct slice finish);

#endif
