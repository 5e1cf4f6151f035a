/* A plan from a recording: the same requests, at the same times, over the same connections. */
#ifndef REPLAY_PLAN_TRACE_H
#define REPLAY_PLAN_TRACE_H

#include "replay/plan.h"
#include "replay/recording.h"
#include "replay/replaced.h"

/* Appends the requests of rec to *out, in the order in which they were sent (a group that a ledger
 * in the recording names stays together, at its first): method, target, fields and body as they
 * were; Host is left empty, which is the target's; credentials are left out. Bodies stay where they
 * are, so rec outlives *out. What is not sent or not as it was goes into *replaced. TA_EFORMAT if
 * not one request can be sent; path is for messages. */
int plan_trace(struct plan *out, const struct recording *rec, const char *path,
               struct replaced *replaced, struct err *e) TA_NODISCARD;

#endif
