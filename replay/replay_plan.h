/* What one run of `tokaudit replay` knows, and how its operand becomes a plan. */
#ifndef REPLAY_REPLAY_PLAN_H
#define REPLAY_REPLAY_PLAN_H

#include "replay/added_fields.h"
#include "replay/foreign.h"
#include "replay/modes.h"
#include "replay/plan_trace.h"
#include "replay/target.h"

struct replay {
    const char *target_url, *output, *model, *path, *label, *mode_name, *arrivals;
    double scale, rate, speed; /* NaN: not given */
    int64_t max_tokens, repeat, warmup, requests, concurrency, seed, timeout_ns, duration_ns;
    struct cli_strings headers;
    const char *key_env;
    struct tls_options tls;
    struct foreign foreign;
    bool plan_only;
    int verbose;

    const char *input;
    int mode;                   /* enum modes_kind */
    struct recording recording; /* of a trace; the plan's bodies lie in it */
    struct replaced replaced;
    struct added_fields added;
    struct plan plan;
    struct target target;
    char *asked_model, *simulated;

    /* Why nothing can be sent at all, which is told in the trace; outcome NULL: nothing stands
     * against it. Bodies that hold the name of a model are not known without it. */
    const char *outcome;
    struct err obstacle;
    bool model_unknown;
};

/* Is anything to be sent? */
bool replay_sends(const struct replay *r);

/* Reads the operand, whatever it is, and applies the modes. */
int replay_plan(struct replay *r, struct err *e) TA_NODISCARD;

/* Finds the target, unless that was done before. What stands against it is the run's obstacle. */
int replay_reach(struct replay *r, struct err *e) TA_NODISCARD;

#endif
