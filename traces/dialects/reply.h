/* Replies whose events are JSON objects, read by their members: the frame that the readers of most
 * dialects share. For traces/dialects/ alone. */
#ifndef TRACES_DIALECTS_REPLY_H
#define TRACES_DIALECTS_REPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "traces/dialects/reading.h"

/* A member looked for. The value is raw JSON that has been read through (jscan_over_valid); empty:
 * absent. Of several of one name the last counts. */
struct member {
    const char *name;
    struct slice value;
};

/* The members of a whole text, or of a value that has been read through. False: no JSON. JSON that
 * is no object has none of them. */
bool reply_members(struct slice text, struct member *m, size_t n);
void reply_members_of(struct slice value, struct member *m, size_t n);

/* A value's text without its quotes and escapes: empty if it is no string. */
struct slice reply_text(struct reading *r, struct slice value);
int64_t reply_count(struct slice value);                 /* -1: no count */
double reply_number(struct slice value);                 /* NAN: no number */
bool reply_is(struct slice value, const char *text);     /* is it the string text? */
bool reply_starts(struct slice value, const char *text); /* is it a string that starts so? */
bool reply_is_object(struct slice value);                /* with at least one member */
bool reply_is_array(struct slice value);

/* Calls each(ctx, element) for the elements of an array. */
void reply_elements(struct slice value, void (*each)(void *ctx, struct slice element), void *ctx);
struct slice reply_first(struct slice value); /* element of an array; empty: there is none */
size_t reply_length(struct slice value);      /* of an array; 0: it is none, or empty */

/* A delta with text, unless the value is no string or an empty one. */
void reply_emit(struct reading *r, enum delta_kind kind, uint32_t choice, struct slice value);
void reply_emit_name(struct reading *r, struct slice value); /* of a tool that is called */
void reply_emit_tokens(struct reading *r, uint32_t choice, size_t n); /* unless n is 0 */
void reply_emit_usage(struct reading *r, struct usage u, enum usage_sort sort);
void reply_emit_rate(struct reading *r, double tokens_per_second); /* unless it is NAN */

/* One event or document: says emits what r->text says; type is the event's, "" of a document.
 * False: no JSON. */
typedef bool reply_reader(struct reading *r, struct slice type);
int reply_event(const struct event *ev, struct buf *scratch, struct delta_sink out,
                reply_reader *says);
int reply_document(struct slice body, struct buf *scratch, struct delta_sink out,
                   reply_reader *says);

#endif
