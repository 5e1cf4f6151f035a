/* Calls back at an instant of monotonic time, never early. Exactly: a timer wakes the loop early,
 * the loop then turns without sleeping (reads are still taken), and the last microseconds are a
 * spin. Gently: the loop sleeps to the end, and leaves the processor to others; later by some 50
 * µs. */
#ifndef REPLAY_RELEASE_H
#define REPLAY_RELEASE_H

#include <stdint.h>
#include <uv.h>

#include "traces/base/err.h"

struct release;

enum release_manner { RELEASE_EXACTLY, RELEASE_GENTLY };

/* due is called on the loop, once for each release_at. NULL and *e (TA_ESYS) if the system has no
 * timer left. */
struct release *release_new(uv_loop_t *loop, enum release_manner manner, void (*due)(void *ctx),
                            void *ctx, struct err *e);

/* near is called on the loop once before each exact deadline, some 200 µs if it was set early
 * enough; it sets none itself. */
void release_announce(struct release *r, void (*near)(void *ctx));

/* Sets the one deadline, in place of any before; may be called from due. A time that has passed is
 * due at once, from the loop, not from inside this call. */
void release_at(struct release *r, int64_t mono_ns);
void release_stop(struct release *r);

/* The loop must turn once more before it is closed. */
void release_free(struct release *r);

#endif
