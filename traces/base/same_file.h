/* Is it one file, by whatever path? Writing to what is yet to be read would destroy it. */
#ifndef TRACES_BASE_SAME_FILE_H
#define TRACES_BASE_SAME_FILE_H

#include <stdbool.h>

#include "traces/base/err.h"

/* Are both the same regular file, by whatever path or link? False if one of them is none yet. */
bool same_file(const char *a, const char *b);

/* TA_EUSAGE if output is the regular file input, or "-" as input is that file; the text says to
 * name another `option`. NULL and "-" as output are no file of ours. To be called before output is
 * opened. */
int same_file_refuse(const char *input, const char *output, const char *option, struct err *e)
    TA_NODISCARD;

#endif
