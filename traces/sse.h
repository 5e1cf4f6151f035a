/* text/event-stream to events (WHATWG HTML, "Interpreting an event stream"; pitfalls S1 to S18), in
 * any split.
 *
 * An event is complete at the first line-end byte of its blank line: a CR there dispatches at once,
 * an LF that follows in a later packet delays nothing. A field "error" (older llama.cpp) is handed
 * on as an event of type "error". Over LIMIT_SSE_… the event is dropped and noted. */
#ifndef TRACES_SSE_H
#define TRACES_SSE_H

#include "traces/anomaly.h"
#include "traces/base/span.h"
#include "traces/event.h"

struct sse;
struct sse *sse_new(struct event_sink out, struct anomaly_sink bad);
struct byte_sink sse_input(struct sse *s);
void sse_free(struct sse *s);

#endif
