/* A typed array that grows. VEC(int) names an anonymous struct type, zero-initialised when empty:
 *
 *     VEC(struct item) items = {0};
 *     VEC_PUSH(&items, ((struct item){…}));
 *     VEC_FREE(&items);
 */
#ifndef TRACES_BASE_VEC_H
#define TRACES_BASE_VEC_H

#include <stdlib.h>

#include "traces/base/mem.h"

#define VEC(type)                                                                                  \
    struct {                                                                                       \
        type *v;                                                                                   \
        size_t n;                                                                                  \
        size_t cap;                                                                                \
    }

#define VEC_PUSH(vec, ...)                                                                         \
    do {                                                                                           \
        if ((vec)->n == (vec)->cap) {                                                              \
            (vec)->cap = (vec)->cap ? (vec)->cap * 2 : 8;                                          \
            (vec)->v = mem_resize((vec)->v, (vec)->cap * sizeof *(vec)->v);                        \
        }                                                                                          \
        (vec)->v[(vec)->n++] = (__VA_ARGS__);                                                      \
    } while (0)

#define VEC_FREE(vec)                                                                              \
    do {                                                                                           \
        free((vec)->v);                                                                            \
        (vec)->v = NULL;                                                                           \
        (vec)->n = 0;                                                                              \
        (vec)->cap = 0;                                                                            \
    } while (0)

#endif
