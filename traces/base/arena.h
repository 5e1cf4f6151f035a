/* Memory that is freed as a whole: one arena per unit of work (a request, a file being read). */
#ifndef TRACES_BASE_ARENA_H
#define TRACES_BASE_ARENA_H

#include <stddef.h>

#include "traces/base/span.h"

struct arena_block;

struct arena {
    struct arena_block *last; /* zero-initialised arena is ready to use */
    size_t bytes;             /* handed out so far */
};

void *arena_alloc(struct arena *a, size_t n);      /* zeroed, aligned for any type */
char *arena_text(struct arena *a, struct slice s); /* NUL-terminated copy */
struct slice arena_slice(struct arena *a, struct slice s);
void arena_free(struct arena *a); /* everything; the arena is ready again */

#endif
