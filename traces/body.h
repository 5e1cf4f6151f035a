/* The body of a response behind its framing: its codings undone, its kind found, and handed on as
 * events or as bytes (pitfalls H9, H10, H11, S14).
 *
 * Codings that are not read here (br, zstd) make it opaque: nothing is handed on. Behind a coding
 * the offsets in marks count decoded bytes, as traces/inflate.h says; times and packets stay those
 * of the wire. */
#ifndef TRACES_BODY_H
#define TRACES_BODY_H

#include <stdbool.h>

#include "traces/anomaly.h"
#include "traces/base/span.h"
#include "traces/event.h"
#include "traces/http.h"

enum stream_kind { STREAM_NONE, STREAM_SSE, STREAM_NDJSON };

struct body_sink {
    void *ctx;
    int (*event)(void *ctx, const struct event *ev); /* of a stream */
    int (*data)(void *ctx, struct span in);          /* of anything else */
};

struct body;
/* blanked: a body with a coding was overwritten (FORMAT.md, Redaction), and is only counted. */
struct body *body_new(const struct http_head *h, bool blanked, struct body_sink out,
                      struct anomaly_sink bad);
struct byte_sink body_input(struct body *b);

/* What is known by now: what Content-Type says, until the body shows what it is (traces/shape.h).
 */
enum stream_kind body_stream(const struct body *b);
bool body_sniffed(const struct body *b);
bool body_coded(const struct body *b); /* there is a coding, read or not */
bool body_opaque(const struct body *b);
uint64_t body_decoded_bytes(const struct body *b); /* 0 if opaque */

void body_free(struct body *b);

#endif
