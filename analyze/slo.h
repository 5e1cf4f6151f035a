/* Limits that make a request good: "ttft=500ms,tpot=50ms". */
#ifndef ANALYZE_SLO_H
#define ANALYZE_SLO_H

#include "analyze/model.h"
#include "traces/base/err.h"

/* Sets o->slo of each figure named; TA_EUSAGE with what was found and expected. */
int slo_parse(const char *text, struct audit_options *o, struct err *e);

#endif
