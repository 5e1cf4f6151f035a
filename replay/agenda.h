/* What is to be done when: the earliest first, equal times in the order of their items. */
#ifndef REPLAY_AGENDA_H
#define REPLAY_AGENDA_H

#include <stddef.h>
#include <stdint.h>

#include "traces/base/vec.h"

struct agenda_item {
    int64_t at_ns;
    size_t what;
};

struct agenda {
    VEC(struct agenda_item) heap; /* a binary heap; zero-initialised when empty */
};

void agenda_add(struct agenda *a, int64_t at_ns, size_t what);

/* When the next item is; INT64_MAX: there is none. */
int64_t agenda_next(const struct agenda *a);

/* Takes the next item out; there must be one. */
size_t agenda_pop(struct agenda *a);

void agenda_free(struct agenda *a);

#endif
