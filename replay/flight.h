/* How the members of a unit are sent: together, each with its first bytes before any other's long
 * body. */
#ifndef REPLAY_FLIGHT_H
#define REPLAY_FLIGHT_H

#include "replay/lanes.h"
#include "replay/volley.h"

/* Threads for the groups of a plan, one for each processor: members go out at once instead of one
 * after the other. NULL: it has no group, there is one processor, or the target speaks TLS, whose
 * records are made by the loop. */
struct volley *flight_volley(const struct units *u, bool tls);

/* f is due at due_ns, within a moment: who of v is to send it wakes up. v may be NULL. */
void flight_is_near(const struct flight *f, struct volley *v, int64_t due_ns);

/* Sends what is ready, and records it. */
void flight_send(struct flight *f, struct volley *v);

#endif
