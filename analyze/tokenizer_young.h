/* Characters that are younger than the Unicode of PCRE2 10.42 (14.0, 2021), but known to the
 * reference (16.0): a pink heart is a symbol there, and nothing here. */
#ifndef ANALYZE_TOKENIZER_YOUNG_H
#define ANALYZE_TOKENIZER_YOUNG_H

#include <stdbool.h>

#include "traces/base/buf.h"
#include "traces/base/span.h"

/* Adds those of a general category ("L", "Lu"), or of the script Han, as ranges of a class. The few
 * of other scripts are left out. */
void young_put(struct buf *out, const char *category);

/* Is there one in a text (valid UTF-8)? */
bool young_in(struct slice text);

#endif
