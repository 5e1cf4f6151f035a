/* What the events of one reply say, gathered into its request: the dialect's deltas go in; output
 * events, counts, marks and outcome come out. */
#ifndef ANALYZE_SAYING_H
#define ANALYZE_SAYING_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/model.h"
#include "analyze/recount.h"
#include "traces/base/vec.h"

struct saying {
    struct request *r; /* dialect set; filled in */
    struct arena *texts;
    bool finished, failed; /* a finish, an error was stated */
    VEC(uint64_t) so_far;  /* by choice: bytes of text sent, where each event repeats them */
    struct recount recount;
};

extern const struct usage usage_none;
extern const struct server_timings timings_none;

/* Text for people out of a trace, cut where it is somebody's mischief. NULL of {NULL, 0}. */
const char *saying_keep(struct arena *texts, struct slice s);

/* An event of the stream (EVENT_DATA); last is its completing byte on the wire. scratch is any
 * buffer. */
int saying_event(struct saying *s, const struct event *ev, struct mark last, struct buf *scratch);

/* A reply that is one document: one event, at its last byte. */
int saying_document(struct saying *s, struct slice body, struct mark last, struct buf *scratch);

/* Counts and times that stand in the head of a reply (TGI's x-… fields). */
void saying_fields(struct saying *s, const struct exchange *x);

void saying_done(struct saying *s);

#endif
