/* What a trace shows without any claim: its own gaps, and the known ways to a wrong figure. */
#ifndef ANALYZE_FINDINGS_H
#define ANALYZE_FINDINGS_H

#include "analyze/model.h"

/* Appends findings, trace by trace; needs requests, runs and request metrics. Only what the bytes
 * support: a clean run has none at warn or fail. An effect's percent is NAN where it cannot be
 * computed. */
void findings_find(struct audit *a, const struct audit_options *o);

#endif
