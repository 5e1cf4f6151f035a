/* What a server has said before the request is known that it answers: its bytes, until they can be
 * read. The request may wait behind a hole, or its head may not be whole yet. */
#ifndef TRACES_EARLY_H
#define TRACES_EARLY_H

#include <stdbool.h>

#include "traces/base/buf.h"
#include "traces/base/span.h"
#include "traces/base/vec.h"

struct early_piece {
    uint64_t n;
    struct mark at;
    bool unseen; /* a gap */
};

/* All zero: nothing. */
struct early {
    struct buf bytes;
    VEC(struct early_piece) pieces;
    size_t first, used; /* of pieces, of bytes */
    bool ended;         /* and then the server ended: */
    enum end_kind why;
    struct mark end;
};

bool early_has(const struct early *e);
size_t early_size(const struct early *e); /* in memory: the bytes, and what is kept of each piece */

/* Behind what is there. False if it is too much, or the first of it has waited too long:
 * LIMIT_EARLY_…. */
bool early_add(struct early *e, struct span in);
bool early_add_gap(struct early *e, uint64_t n, struct mark at);

/* The first piece, and its bytes (NULL: unseen): borrowed until the next early_add or
 * early_clear. */
struct early_piece early_first(const struct early *e, const uint8_t **p);
void early_drop(struct early *e, uint64_t n); /* so much of it has been read */

void early_clear(struct early *e); /* and frees */

#endif
