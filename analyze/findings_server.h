/* Findings of how a server behaves under its load: stalls that come in cycles, a prefill that grows
 * faster than the prompt, a queue, answers that stop early, prompts that were known already. */
#ifndef ANALYZE_FINDINGS_SERVER_H
#define ANALYZE_FINDINGS_SERVER_H

#include "analyze/finder.h"

/* Of f's trace, over all its runs: repeats of one workload are one finding. */
void findings_server(struct finder *f);

#endif
