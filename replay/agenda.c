/* A binary heap of times. */
#include "replay/agenda.h"

#include <assert.h>
#include <stdbool.h>

static bool earlier(const struct agenda_item *a, const struct agenda_item *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->what < b->what;
}

static void swap(struct agenda_item *a, struct agenda_item *b)
{
    struct agenda_item t = *a;
    *a = *b;
    *b = t;
}

void agenda_add(struct agenda *a, int64_t at_ns, size_t what)
{
    VEC_PUSH(&a->heap, ((struct agenda_item){at_ns, what}));
    struct agenda_item *v = a->heap.v;
    for (size_t i = a->heap.n - 1; i > 0 && earlier(&v[i], &v[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&v[i], &v[(i - 1) / 2]);
}

int64_t agenda_next(const struct agenda *a)
{
    return a->heap.n > 0 ? a->heap.v[0].at_ns : INT64_MAX;
}

size_t agenda_pop(struct agenda *a)
{
    assert(a->heap.n > 0);
    struct agenda_item *v = a->heap.v;
    size_t what = v[0].what, n = --a->heap.n;
    v[0] = v[n];
    for (size_t i = 0;;) {
        size_t least = i, left = 2 * i + 1, right = left + 1;
        if (left < n && earlier(&v[left], &v[least]))
            least = left;
        if (right < n && earlier(&v[right], &v[least]))
            least = right;
        if (least == i)
            return what;
        swap(&v[i], &v[least]);
        i = least;
    }
}

void agenda_free(struct agenda *a)
{
    VEC_FREE(&a->heap);
}
