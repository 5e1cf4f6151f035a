/* What a summary says against itself, with no trace at all: figures that cannot all be true, by
 * arithmetic alone. Each rule holds for the tools whose definitions it follows from, and only
 * speaks where the printed digits leave no other way. */
#ifndef ANALYZE_CONTRADICTIONS_H
#define ANALYZE_CONTRADICTIONS_H

#include "analyze/claims_file.h"

/* After claims_judge. Without a trace the claim that is contradicted gets the verdict; with one, a
 * finding says it, since the claim has a verdict of its own. */
void contradictions_find(const struct claim_files *fs, struct audit *a);

#endif
