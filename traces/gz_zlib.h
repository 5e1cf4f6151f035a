/* What both sides of traces/gz.h tell zlib. */
#ifndef TRACES_GZ_ZLIB_H
#define TRACES_GZ_ZLIB_H

#include <stdlib.h>

#include "traces/base/mem.h"

enum { GZIP_WINDOW = 15 + 16 }; /* zlib's way to say: with a gzip header and trailer */

static inline void *zlib_alloc(void *ctx, unsigned n, unsigned size)
{
    (void)ctx;
    return mem_array(n, size);
}

static inline void zlib_free(void *ctx, void *p)
{
    (void)ctx;
    free(p);
}

#endif
