/* Who belongs together: runs, release groups, and the ledger's entries found again on the wire. */
#ifndef ANALYZE_RUNS_H
#define ANALYZE_RUNS_H

#include "analyze/model.h"

/* Over all loaded traces: sets inner legs aside (relays.h), then fills a->runs and what requests know
 * of run, ledger, group and company. With a ledger there is one run per trace, workload and repeat, and of repeats that overlap in time
 * one for them all; without, a trace is one run, or one per silence longer than run_gap_ns. Fills
 * trace_info.unseen as well. */
void runs_find(struct audit *a, const struct audit_options *o);

#endif
