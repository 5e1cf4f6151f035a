/* Faults of the traffic, never of the tool: data with a place, noted while parsing goes on.
 *
 * An id is a fixed text "layer.what", e.g. "tcp.gap", "http.bad-chunk-size", "sse.truncated-event".
 */
#ifndef TRACES_ANOMALY_H
#define TRACES_ANOMALY_H

#include "traces/base/span.h"

struct anomaly {
    const char *id; /* static storage */
    struct mark at;
    uint64_t n; /* bytes or pieces concerned, 0 if it has no size */
};

struct anomaly_sink {
    void *ctx;
    void (*note)(void *ctx, const struct anomaly *a); /* may be NULL: not wanted */
};

static inline void anomaly_note(struct anomaly_sink to, const char *id, struct mark at, uint64_t n)
{
    if (to.note != NULL)
        to.note(to.ctx, &(struct anomaly){id, at, n});
}

#endif
