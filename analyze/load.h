/* A trace file into the model: its trace_info and its requests, in order of t0. */
#ifndef ANALYZE_LOAD_H
#define ANALYZE_LOAD_H

#include "analyze/model.h"

/* Appends one trace and its requests to a: paths[0], and those behind it, as far as each is the next
 * part of the same rotation (traces/FORMAT.md), so that a connection that goes on in the next file
 * is read as one. *used: how many of the n paths that are. TA_EFORMAT for a file that cannot be used (the text
 * names it; nothing was appended), other negative codes for faults of the machine. A truncated
 * trace is used. */
int load_trace(struct audit *a, char *const *paths, size_t n, size_t *used, struct err *e)
    TA_NODISCARD;

#endif
