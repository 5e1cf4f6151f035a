/* What the body of a message is, by what it begins with, where its head says nothing of that or may
 * be wrong (pitfalls S14): servers send lines of JSON as application/json, event streams as
 * text/plain, and a reply that is one JSON text as text/event-stream.
 *
 * An event stream shows in its first field's name, and one that is said to be one in its first
 * byte. JSON is held until a second value follows on another line (lines of JSON), or until the
 * body ends or LIMIT_SHAPE_BYTES have come (one document); then it goes on, each byte with its own
 * mark. */
#ifndef TRACES_SHAPE_H
#define TRACES_SHAPE_H

#include <stdbool.h>

#include "traces/base/buf.h"
#include "traces/base/span.h"
#include "traces/base/vec.h"

enum shape_kind { SHAPE_UNTOLD, SHAPE_DOCUMENT, SHAPE_EVENTS, SHAPE_LINES };

struct shape_piece {
    size_t n;
    struct mark at;
};

struct shape {
    enum shape_kind said; /* by the head; what does not tell is taken for that */
    uint8_t state, bom, prefix_n;
    char prefix[8];                   /* of an event stream's first line */
    bool line_start, string, escaped; /* the next byte begins a line; it stands in a string … */
    bool many_lines, line_over;       /* the first value has several; its line has ended */
    unsigned depth;                   /* containers that are open in the first value */
    size_t value_from, value_to;      /* of it in held */
    struct buf held;                  /* what has come … */
    VEC(struct shape_piece) pieces;   /* … and in which pieces */
};

void shape_init(struct shape *s, enum shape_kind said);
void shape_done(struct shape *s);

/* The next bytes. SHAPE_UNTOLD: they are held. Else what the body is: what was held is to be
 * released, and then what is left of in, which is nothing or all of it. */
enum shape_kind shape_take(struct shape *s, struct span *in);

/* The same where bytes are missing, or the body ends: it is told now. */
enum shape_kind shape_gap(struct shape *s);
enum shape_kind shape_end(struct shape *s);

/* Hands on what was held; JSON without a byte order mark before it. Returns what the sink did. */
int shape_release(struct shape *s, struct byte_sink to);

#endif
