/* The analysis as one HTML file: no script, no request to anywhere, the figures inline. */
#ifndef ANALYZE_REPORT_HTML_H
#define ANALYZE_REPORT_HTML_H

#include "analyze/model.h"
#include "traces/base/err.h"

/* Makes dir if it is missing and writes report.html, and by plot_draw data/ and plots/. Same
 * analysis, options and gnuplot: same bytes. A machine without gnuplot gets the report without
 * pictures. TA_ESYS for a disk that can't be written. */
int report_html_write(const struct audit *a, const char *dir, const struct audit_options *o,
                      struct err *e) TA_NODISCARD;

#endif
