/* Claims in the text report: a table of all, then why each that does not hold does not. */
#ifndef ANALYZE_REPORT_TEXT_CLAIMS_H
#define ANALYZE_REPORT_TEXT_CLAIMS_H

#include "analyze/report_text_line.h"

void report_text_claims(struct report *r);

#endif
