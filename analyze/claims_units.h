/* Units as result files state them, and numbers that are no figures. Private to claims_table.c. */
#ifndef ANALYZE_CLAIMS_UNITS_H
#define ANALYZE_CLAIMS_UNITS_H

#include "analyze/tool.h"
#include "traces/base/span.h"

/* How many s a unit of time is; false: it is none that is known. */
bool claims_unit_seconds(struct slice unit, double *scale);

/* Is unit one in which a figure of that kind may stand? */
bool claims_unit_known(enum figure_id id, struct slice unit);

/* Is text, a number of a file, infinite or beyond all that claim_number reads? Of NaN, which is no
 * value, it is false. */
bool claims_number_beyond(struct slice text);

#endif
