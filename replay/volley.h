/* A few jobs done at one instant, each by a thread of its own. The threads are called shortly
 * before and then turn without sleeping, each on a processor; whoever is free takes the next job,
 * the caller's thread too. So a thread that does not get its processor in time costs nothing: the
 * others do its job, one after the other. */
#ifndef REPLAY_VOLLEY_H
#define REPLAY_VOLLEY_H

#include <stddef.h>
#include <stdint.h>

struct volley;

enum { VOLLEY_MOST = 8 }; /* jobs */

/* For up to n jobs at once, n > 0: with the caller's, n threads; fewer where the system has no more
 * of them. job runs on any of them, once for each item. */
struct volley *volley_new(size_t n, void (*job)(void *item));

size_t volley_size(const struct volley *v); /* jobs at once */

/* The threads that n jobs need wake up, and turn until volley_fire or until_ns (monotonic). A wake
 * takes some 50 µs, more where the processors are busy. */
void volley_call(struct volley *v, size_t n, int64_t until_ns);

/* Does all n jobs, n <= VOLLEY_MOST, the first of them first; on return they are done, and what
 * they wrote is seen here. */
void volley_fire(struct volley *v, void *const *items, size_t n);

void volley_free(struct volley *v);

#endif
