/* JSON texts, one a line (application/x-ndjson, JSON Lines), to events, in any split.
 *
 * An event is complete at its LF; empty lines are none. A last line without its LF is an event at
 * its last byte if it is JSON, else it is counted as truncated. Lines are not checked otherwise:
 * what one says is for others to read. A line over LIMIT_SSE_LINE_BYTES is dropped and noted. */
#ifndef TRACES_NDJSON_H
#define TRACES_NDJSON_H

#include "traces/anomaly.h"
#include "traces/base/span.h"
#include "traces/event.h"

struct ndjson;
struct ndjson *ndjson_new(struct event_sink out, struct anomaly_sink bad);
struct byte_sink ndjson_input(struct ndjson *j);
void ndjson_free(struct ndjson *j);

#endif
