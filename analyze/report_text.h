/* The analysis as text: a first screen that answers the question, some 100 columns wide. */
#ifndef ANALYZE_REPORT_TEXT_H
#define ANALYZE_REPORT_TEXT_H

#include "analyze/model.h"
#include "traces/base/buf.h"

struct report_text_options {
    bool colour;
    bool requests; /* list each request too */
};

void report_text_write(const struct audit *a, struct report_text_options o, struct buf *out);

#endif
