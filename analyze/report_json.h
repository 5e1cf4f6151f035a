/* The analysis as JSON: the contract of analyze/schema/analysis.schema.json. Same traces, same
 * bytes. */
#ifndef ANALYZE_REPORT_JSON_H
#define ANALYZE_REPORT_JSON_H

#include "analyze/model.h"
#include "traces/base/buf.h"

#define REPORT_JSON_SCHEMA "tokaudit-analysis/1"

void report_json_write(const struct audit *a, struct buf *out);

#endif
