/* One event of a stream, whatever its framing (SSE now, NDJSON later). */
#ifndef TRACES_EVENT_H
#define TRACES_EVENT_H

#include <stdbool.h>

#include "traces/base/span.h"

enum event_kind {
    EVENT_DATA,
    EVENT_COMMENT,  /* a line that starts with a colon: a keep-alive */
    EVENT_TRUNCATED /* the stream ended inside it: not an event, but counted */
};

struct event {
    enum event_kind kind;
    struct slice type; /* SSE event name, "message" by default */
    struct slice data; /* or the comment's text; dies when the callback returns */
    uint32_t index;    /* 0.. over all kinds of the stream */
    struct mark first,
        last; /* its first byte; the byte that completed it. It happened at last.t_ready */
};

struct event_sink {
    void *ctx;
    int (*event)(void *ctx, const struct event *ev);
    int (*end)(void *ctx, enum end_kind why, struct mark at);
};

#endif
