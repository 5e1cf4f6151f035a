/* Claims held against each other: figures of too few values, and figures of one name that were made
 * by different formulas. */
#ifndef ANALYZE_CLAIMS_COMPARE_H
#define ANALYZE_CLAIMS_COMPARE_H

#include "analyze/claims_file.h"

/* After claims_judge; appends findings. */
void claims_compare(const struct claim_files *fs, struct audit *a);

#endif
