/* The units of a plan: a group, or a request alone. */
#ifndef REPLAY_UNITS_H
#define REPLAY_UNITS_H

#include "replay/plan.h"

#define UNITS_NONE UINT32_MAX

struct flight;

/* All that is kept of one while it is not under way: plans may be long. */
struct unit {
    uint32_t first, n;                        /* requests of the plan */
    uint32_t first_dependent, next_dependent; /* units that come after it; UNITS_NONE: no more */
    int64_t due_ns;                           /* monotonic; once its predecessor has ended */
    struct flight *flight;                    /* NULL: not under way */
    bool timed; /* due at a time of its own, due_ns; else as soon as its predecessor has ended */
};

struct units {
    const struct plan *plan;
    struct unit *v;
    size_t n;
};

struct units units_of(const struct plan *p);

const struct plan_request *units_head(const struct units *u, const struct unit *unit);

/* The end of the round that begins with unit first; hangs its units on those they come after. */
size_t units_begin_round(struct units *u, size_t first);

/* Connections that the plan is sure to need at one time. */
size_t units_at_once(const struct units *u);

void units_free(struct units *u);

#endif
