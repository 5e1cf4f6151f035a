/* Who of a plan starts when, over which connections, until all have ended. */
#ifndef REPLAY_SCHEDULE_H
#define REPLAY_SCHEDULE_H

#include "replay/driver.h"
#include "traces/socket_recorder.h"

#include <uv.h>

struct schedule;

/* over is called once, from the loop, when all requests have ended or a fault stopped the run; the
 * handles are being closed then. Everything given outlives the schedule. NULL and *e (TA_ESYS) if
 * the system lacks a timer. */
struct schedule *schedule_new(uv_loop_t *loop, const struct plan *p, const struct driver_options *o,
                              struct socket_recorder *recorder, struct sendlog *log,
                              void (*over)(void *ctx), void *ctx, struct err *e);

void schedule_start(struct schedule *s);

/* Call every 100 ms or so: ends what takes too long, and the run after a fault. */
void schedule_check(struct schedule *s);

/* Ends the run now: what was sent is in the ledger as interrupted, the rest as if it had never been
 * tried. */
void schedule_stop(struct schedule *s);

/* The first fault of the trace; code 0: none. May be set from outside to end the run. */
struct err *schedule_fault(struct schedule *s);

struct schedule_progress {
    size_t in_flight;
    uint64_t text_events; /* counted if driver_options.shows_progress */
    int64_t elapsed_ns,
        left_ns; /* left is a guess from the bytes of the bodies and the due times; -1: none yet */
};
struct schedule_progress schedule_progress(const struct schedule *s);

struct schedule_counts {
    uint64_t opened;   /* connections */
    uint64_t planned;  /* that the plan names */
    uint64_t moved;    /* requests sent over another than theirs, which was still busy */
    uint64_t reopened; /* of a planned connection: it was closed between two of its requests */
    uint64_t renewed;  /* of one that was torn here, with a request that was given up */
    bool out_of_time;  /* the plan's duration ended the run */
};
struct schedule_counts schedule_counts(const struct schedule *s);

/* After the loop has ended. */
void schedule_free(struct schedule *s);

#endif
