/* File descriptors for many connections at once. */
#ifndef REPLAY_DESCRIPTORS_H
#define REPLAY_DESCRIPTORS_H

#include <stddef.h>

#include "traces/base/err.h"

/* Raises this process's limit as far as it may; TA_ESYS, with what to do, if a group of that many
 * connections still does not fit. */
int descriptors_raise(size_t widest_group, struct err *e);

#endif
