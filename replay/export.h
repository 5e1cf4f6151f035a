/* A plan written as a workload file of another tool, and what that loses. */
#ifndef REPLAY_EXPORT_H
#define REPLAY_EXPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "replay/plan.h"

enum export_format {
    EXPORT_MOONCAKE, /* JSON lines: timestamp (ms), input_length, output_length */
    EXPORT_AIPERF,   /* raw_payload: the bodies, one a line; no times */
    EXPORT_BURSTGPT, /* CSV: seconds, model, lengths */
    EXPORT_AZURE     /* CSV of 2023: stamps to 100 ns, lengths */
};

bool export_named(const char *name, enum export_format *out);

/* Lengths are the server's counts in the recording that the plan was taken from, else those the
 * workload asks for, which says tells; a request whose length or time nobody knows is left out, and
 * says tells that too, with everything else that the format cannot hold. TA_EFORMAT if nothing is
 * left; TA_ESYS if `to` cannot be written. */
int export_write(const struct plan *p, enum export_format f, FILE *to, struct buf *says,
                 struct err *e) TA_NODISCARD;

#endif
