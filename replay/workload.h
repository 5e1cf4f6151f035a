/* The short form of a workload, a JSON spec (replay/WORKLOAD.md), expanded to its plan. */
#ifndef REPLAY_WORKLOAD_H
#define REPLAY_WORKLOAD_H

#include "replay/plan.h"
#include "traces/base/json.h"

/* What the command line says on top of the spec. */
struct workload_options {
    double scale;       /* of prompt lengths; 1: as written */
    int64_t max_tokens; /* -1: the spec's */
    int64_t repeats;    /* -1: the spec's */
    const char *model;
    const char
        *path; /* one that ends in /completions, but not /chat/completions, gets "prompt" bodies */
};

/* Appends the requests of spec to *out, whose arena gets the texts. place names the spec in
 * messages. TA_EFORMAT for anything in it that is unknown or out of range. */
int workload_expand(struct plan *out, const struct json *spec, const struct workload_options *o,
                    const char *place, struct err *e) TA_NODISCARD;

#endif
