/* A trace file into the model: its trace_info and its requests, in order of t0. */
#ifndef ANALYZE_LOAD_H
#define ANALYZE_LOAD_H

#include "analyze/model.h"

/* Appends one trace and its requests to a. TA_EFORMAT for a file that cannot be used (the text
 * names it; nothing was appended), other negative codes for faults of the machine. A truncated
 * trace is used. */
int load_trace(struct audit *a, const char *path, struct err *e) TA_NODISCARD;

#endif
