/* How the text of a stream came: which output events together, and how long apart. */
#ifndef ANALYZE_DELIVERY_H
#define ANALYZE_DELIVERY_H

#include "analyze/model.h"

#define DELIVERY_SAME 0.9 /* of the reads that have as many events as most: that is on purpose */

/* By the reads that released the events, or what came as close as one. The first read and the last
 * have what was there, not what fitted: they are not counted. All zero: each event came for itself.
 */
struct delivery {
    size_t reads;
    double per_read;   /* events, mean */
    double same_share; /* of the reads that have as many as most have */
    double gap_ns;     /* from read to read, median */
    double several;    /* share of the reads with more than one */
    double step_share; /* of these gaps that are steps of 40 ms */
};

/* r has two output events at least. */
struct delivery delivery_of(const struct request *r);

/* Are there as many events in each read as in most? Who sends them together on purpose does not cut
 * one in two with a long gap between, as a buffer does; one packet a read is left of that. */
bool delivery_same_number(const struct request *r, const struct delivery *d);

/* Adds another sample of bursts to one, as if all had been measured together. */
void delivery_pool(struct bursts *to, const struct bursts *b);

#endif
