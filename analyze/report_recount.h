/* The recount of a trace in the text report: tokens by every way of counting, side by side. */
#ifndef ANALYZE_REPORT_RECOUNT_H
#define ANALYZE_REPORT_RECOUNT_H

#include "analyze/model.h"
#include "traces/base/buf.h"

/* Nothing where there was no --tokenizer. */
void report_recount_text(const struct audit *a, size_t trace, struct buf *out);

/* Of those requests of a trace (index) that were counted again; sums over those of them whose
 * servers stated a count, too. */
struct recount_sums {
    size_t counted, n;
    size_t stating; /* whose output events stated counts, to the last */
    uint64_t stated, per_event, events, recounted;
};
struct recount_sums report_recount_sums(const struct audit *a, size_t trace);

#endif
