/* How a plan is driven: its times and dependences, exchanged for others. Pure functions of the plan
 * and the options; the bytes of the requests stay. */
#ifndef REPLAY_MODES_H
#define REPLAY_MODES_H

#include "replay/plan.h"

enum modes_kind {
    MODES_RECORDED,   /* as the plan says: a trace's plan has the recorded times and connections */
    MODES_CLOSED,     /* each waits for its predecessor, as it did in the recording */
    MODES_BARRIER,    /* what was sent together there is released together, and waits likewise */
    MODES_RATE,       /* an open loop of so many a second, in the order of the plan */
    MODES_CONCURRENCY /* so many in flight, in the order of the plan */
};

struct modes_options {
    enum modes_kind kind;
    double rate; /* of MODES_RATE; a group arrives as one */
    bool poisson;
    int64_t seed;
    int64_t concurrency; /* of MODES_CONCURRENCY */
    double speed;        /* all times and pauses are divided by it */
    int64_t repeat;      /* the whole plan so often, > 0 */
    int64_t warmup;   /* so many requests, from the first on, are warm-up; -1: as the plan says */
    int64_t requests; /* at most so many; 0: all */
    int64_t duration_ns; /* nothing is started later; 0: as the plan says */
};

/* With MODES_RECORDED, speed 1, repeat 1, warmup -1 and zeros it changes nothing. place names the
 * plan. TA_EUSAGE if the plan does not hold what the mode needs, TA_ELIMIT if it gets too long. */
int modes_apply(struct plan *p, const struct modes_options *o, const char *place, struct err *e)
    TA_NODISCARD;

#endif
