/* Jobs done at one instant by several threads. The threads are called shortly before and then turn
 * without sleeping, each on a processor; whoever is free takes the next job, the caller's thread
 * too. So a thread that does not get its processor in time costs nothing: the others do its jobs,
 * one after the other. */
#ifndef REPLAY_VOLLEY_H
#define REPLAY_VOLLEY_H

#include <stddef.h>
#include <stdint.h>

struct volley;

enum { VOLLEY_THREADS = 8 }; /* with the caller's */

/* n threads with the caller's, 0 < n <= VOLLEY_THREADS; fewer where the system has no more of them.
 * job runs on any of them, once for each index. */
struct volley *volley_new(size_t n, void (*job)(void *ctx, size_t i));

size_t volley_threads(const struct volley *v);

/* The threads that n jobs need wake up, and turn until volley_fire or until_ns (monotonic). A wake
 * takes some 50 µs, more where the processors are busy. */
void volley_call(struct volley *v, size_t n, int64_t until_ns);

/* Does the jobs 0 to n - 1, n < 2^32, taken in this order; on return they are done, and what they
 * wrote is seen here. */
void volley_fire(struct volley *v, void *ctx, size_t n);

void volley_free(struct volley *v);

#endif
