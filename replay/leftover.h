/* A process that a server leaves behind: it holds memory, outlives the server however that ends,
 * and ends by itself some time later. */
#ifndef REPLAY_LEFTOVER_H
#define REPLAY_LEFTOVER_H

#include <stdint.h>
#include <sys/types.h>

#include "traces/base/err.h"

/* To be called before there are threads. On return the child holds its memory. It is in a session
 * of its own (a Ctrl-C at the terminal does not reach it), keeps no file of ours open, and ends
 * for_ns after the caller has, or on SIGTERM. TA_ESYS if there is no such process or memory. */
int leftover_start(int64_t mb, int64_t for_ns, pid_t *pid, struct err *e) TA_NODISCARD;

#endif
