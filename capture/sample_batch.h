/* Samples on their way into the trace: one block a second, taken at absolute deadlines. */
#ifndef CAPTURE_SAMPLE_BATCH_H
#define CAPTURE_SAMPLE_BATCH_H

#include "capture/sampler.h"
#include "traces/base/buf.h"
#include "traces/base/err.h"
#include "traces/writer.h"

struct sample_batch {
    struct sampler *sampler; /* borrowed; NULL: none on this system, or not wanted */
    struct writer *writer;   /* borrowed */
    int64_t period_ns;
    int64_t due_ns;     /* monotonic, of the next sample */
    int64_t flushed_ns; /* monotonic */
    uint64_t missed;    /* deadlines that passed unserved */
    struct buf json;
    struct jsonw w;
};

void sample_batch_init(struct sample_batch *b, struct sampler *sampler, struct writer *w, int hz);
void sample_batch_done(struct sample_batch *b);

/* Takes a sample if one is due, writes the block if it is a second old. Returns in *wait_ms when to
 * call again. */
int sample_batch_step(struct sample_batch *b, uint64_t *wait_ms, struct err *e) TA_NODISCARD;

/* Writes what there is, before another file begins, whose first sample says again what the machine
 * is. */
int sample_batch_divide(struct sample_batch *b, struct err *e) TA_NODISCARD;

/* Writes the last block, with what the recorder itself has used ("self"). */
int sample_batch_end(struct sample_batch *b, struct err *e) TA_NODISCARD;

#endif
