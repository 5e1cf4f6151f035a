/* Steps of the recording machine's clock: which requests they fall into, so that no figure spans
 * one unsaid. Packets are stamped with the real time, and a step makes what is on both sides of it
 * incomparable. */
#ifndef ANALYZE_STEPS_H
#define ANALYZE_STEPS_H

#include "analyze/model.h"

/* The trace's requests (from the index first on): which have a step in them, and how many steps are
 * before each of the others. */
void steps_mark(struct audit *a, size_t first, const struct trace_info *t);

/* Is there a step in one of these requests, or between two of them of the same trace? */
bool steps_between(const struct audit *a, const size_t *requests, size_t n);

/* What to say of a figure over requests for which steps_between is true. */
extern const char steps_reason[];

#endif
