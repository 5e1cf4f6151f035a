/* What a server has said before the request is known that it answers: its bytes, until they can be
 * read. The request may wait behind a hole, or its head may not be whole yet. */
#ifndef TRACES_EARLY_H
#define TRACES_EARLY_H

#include <stdbool.h>

#include "traces/base/buf.h"
#include "traces/base/span.h"
#include "traces/base/vec.h"

struct early_span {
    struct mark at;
    size_t n;
};

/* All zero: nothing. */
struct early {
    struct buf bytes;
    VEC(struct early_span) spans;
    size_t first, used; /* of spans, of bytes */
    bool ended;         /* and then the server ended: */
    enum end_kind why;
    struct mark end;
};

bool early_has(const struct early *e);          /* bytes */
size_t early_bytes(const struct early *e);      /* so many */
struct mark early_first(const struct early *e); /* of the first of them */

/* False if they are too many, or the first of them has waited too long: LIMIT_EARLY_…. */
bool early_add(struct early *e, struct span in);

/* The next of them, as it came; borrowed until the next early_add or early_clear. */
struct span early_take(struct early *e);

void early_clear(struct early *e); /* and frees */

#endif
