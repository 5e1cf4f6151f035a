/* The closing words of a replay: five lines of its ledger, what was replaced, and how to see the
 * rest. */
#ifndef REPLAY_SUMMARY_H
#define REPLAY_SUMMARY_H

#include <stdio.h>

#include "replay/driver.h"
#include "replay/replaced.h"

struct summary {
    struct driver_report *report; /* its times get sorted */
    const struct replaced *replaced;
    const struct plan *plan;
    const struct target *target;
    bool insecure;     /* its certificate was not looked at */
    const char *trace; /* "-": stdout */
};

void summary_print(const struct summary *s, FILE *to);

#endif
