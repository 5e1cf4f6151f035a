/* The recount of a trace in the text report: tokens by every way of counting, side by side. */
#ifndef ANALYZE_REPORT_RECOUNT_H
#define ANALYZE_REPORT_RECOUNT_H

#include "analyze/model.h"
#include "traces/base/buf.h"

/* Nothing where there was no --tokenizer. */
void report_recount_text(const struct audit *a, size_t trace, struct buf *out);

#endif
