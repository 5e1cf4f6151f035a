/* Figures of one result file that are all off alike: whoever counted other tokens than the server
 * states, by another tokenizer perhaps, has every figure wrong by the same factor. Each alone would
 * look for a cause of its own, and might find one by chance. */
#ifndef ANALYZE_CLAIMS_FACTOR_H
#define ANALYZE_CLAIMS_FACTOR_H

#include "analyze/model.h"

/* Sets token_factor of the claims, judged before, that one factor explains better than their causes
 * do; true if there are any, which are to be judged again. */
bool claims_factor_find(struct audit *a);

#endif
