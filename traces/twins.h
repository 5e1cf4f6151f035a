/* Packets that one machine showed at several of its interfaces (pitfall C13): through a bridge, a
 * bond, or the device "any". They are no retransmissions; the first copy counts. */
#ifndef TRACES_TWINS_H
#define TRACES_TWINS_H

#include "traces/link.h"

struct twins;

struct twins *twins_new(void);
void twins_free(struct twins *t);

/* Was the same segment at another interface less than LIMIT_TWIN_NS before or after? If not, it is
 * remembered, for a while. */
bool twins_saw(struct twins *t, uint32_t interface, const struct segment *s, int64_t t_ns);

#endif
