/* One direction of a connection, as the redactor follows it by sequence numbers. */
#ifndef TRACES_REDACT_STREAM_H
#define TRACES_REDACT_STREAM_H

#include "traces/link.h"
#include "traces/redact_http.h"
#include "traces/redact_lines.h"
#include "traces/redact_ranges.h"

struct redact_held;

struct redact_stream {
    bool started, bodies;
    bool stray;          /* the segment before stood far from where the stream is … */
    uint32_t stray_next; /* … and one that goes on there is believed */
    uint32_t first, next;
    uint64_t off; /* of next in the stream */
    struct redact_ranges ranges;
    struct redact_lines lines;
    struct redact_http http;                    /* if bodies */
    struct redact_held *waiting, *waiting_last; /* ahead of a hole */
};

/* What a segment is judged with. */
struct redact_judge {
    struct redact_exchange *exchange;
    const struct redact_http_env *env;
    int64_t t_ns;
    /* Overwrites [from, to) of the segment's data; *base is added to what the parts say. */
    struct redact_filler filler;
    size_t *base;
};

void redact_stream_done(struct redact_stream *s);

/* A SYN: another stream begins at this number, if it is no repetition. */
void redact_stream_syn(struct redact_stream *s, uint32_t seq);

/* Its data cannot be judged yet: bytes before it have not come. */
bool redact_stream_ahead(const struct redact_stream *s, uint32_t seq, size_t n);

/* Overwrites what must be, of a segment's data; bytes before it that have not come are given up. */
void redact_stream_judge(struct redact_stream *s, uint32_t seq, const uint8_t *p, size_t n,
                         size_t wire_n, const struct redact_judge *j);

#endif
