/* Memory and CPU of the machine and of the servers under load, found through the ports they listen
 * on.
 *
 * What it writes are the elements of a samples block (traces/FORMAT.md). Absent is not zero: a
 * member that is missing was not sampled this time, one that is null could not be had, and "na"
 * says why. */
#ifndef CAPTURE_SAMPLER_H
#define CAPTURE_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

#include "traces/base/jsonw.h"

struct sampler;

/* Servers that listen on one of the n ports, and what they started, are sampled too. NULL: not
 * known how on this system. */
struct sampler *sampler_new(const uint16_t *ports, size_t n);
void sampler_free(struct sampler *s);

/* Looks for the servers again, as often as its cost allows: call it once a second, and once before
 * rights are dropped, because another user's process is found only with them. */
void sampler_find(struct sampler *s);

/* The next sample tells again what is told once: a new file begins. */
void sampler_repeat(struct sampler *s);

/* Appends one sample to the open array of w, and an object for each process that came or went. */
void sampler_take(struct sampler *s, int64_t late_ns, struct jsonw *w);

#endif
