/* Counts the events of streamed replies that carry generated text, for the line on the terminal.
 * They are as many as the tokens where a server sends one at a time; others send several in one, so
 * that tokens are not what they are called. */
#ifndef REPLAY_TEXT_EVENTS_H
#define REPLAY_TEXT_EVENTS_H

#include "replay/plan.h"
#include "traces/base/span.h"
#include "traces/http.h"

struct text_events;

/* Of a reply with this head, to r; r and total outlive it. */
struct text_events *text_events_new(const struct http_head *h, const struct plan_request *r,
                                    uint64_t *total);

/* Its body behind the framing. */
struct byte_sink text_events_input(struct text_events *t);
void text_events_free(struct text_events *t);

#endif
