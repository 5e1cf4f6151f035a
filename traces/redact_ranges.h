/* What has been overwritten in a stream, so that the same bytes are overwritten again when they are
 * sent again. The oldest are forgotten: what lies before `floor` is no longer known. */
#ifndef TRACES_REDACT_RANGES_H
#define TRACES_REDACT_RANGES_H

#include "traces/redact_fill.h"

struct redact_range {
    uint64_t from, to; /* offsets in the stream */
    enum redact_fill how;
};

struct redact_ranges {
    struct redact_range *v;
    size_t n, cap;
    uint64_t floor;
};

void redact_ranges_add(struct redact_ranges *r, struct redact_range add);

/* Overwrites what was overwritten of [from, to); f counts from `from`. */
void redact_ranges_apply(const struct redact_ranges *r, uint64_t from, uint64_t to,
                         const struct redact_filler *f);
void redact_ranges_done(struct redact_ranges *r);

#endif
