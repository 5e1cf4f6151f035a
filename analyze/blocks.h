/* The custom blocks of a trace (traces/FORMAT.md) read into its trace_info. */
#ifndef ANALYZE_BLOCKS_H
#define ANALYZE_BLOCKS_H

#include "analyze/body_notes.h"
#include "analyze/model.h"
#include "traces/base/clock.h"
#include "traces/rotation.h"

/* What has to be remembered between blocks; zero-initialised. The caller ends bodies. */
struct blocks {
    int64_t mem_total;      /* from the samples' system description; 0: not seen */
    struct clock_pair pair; /* the last */
    struct body_notes bodies;
    struct rotation_part part; /* of the file at hand */
    size_t first_replaced; /* in trace_info.replaced, of the source at hand */
    uint64_t frame;  /* of the block at hand; set by the caller */
    uint64_t unread; /* blocks whose JSON could not be read */
};

/* One block's JSON into t; texts go into a. What cannot be read is counted and passed over. */
void blocks_read(struct blocks *b, struct slice json, struct trace_info *t, struct arena *a);

#endif
