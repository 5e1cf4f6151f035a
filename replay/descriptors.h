/* File descriptors for many connections at once. */
#ifndef REPLAY_DESCRIPTORS_H
#define REPLAY_DESCRIPTORS_H

#include <stddef.h>

#include "traces/base/err.h"

/* Raises this process's limit as far as it may; TA_ESYS, with what to do, if that many connections
 * still do not fit. */
int descriptors_raise(size_t at_once, struct err *e);

#endif
