/* A growing byte buffer with a maximum. */
#include "traces/base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/base/mem.h"

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){.max = max};
}

void buf_done(struct buf *b)
{
    free(b->p);
    *b = (struct buf){.max = b->max};
}

void buf_clear(struct buf *b)
{
    b->n = 0;
}

uint8_t *buf_reserve(struct buf *b, size_t n)
{
    if (n > b->max || b->n > b->max - n)
        return NULL;
    if (b->n + n > b->cap) {
        size_t cap = b->cap ? b->cap : 256;
        while (cap < b->n + n)
            cap = cap > b->max / 2 ? b->max : cap * 2;
        b->p = mem_resize(b->p, cap);
        b->cap = cap;
    }
    return b->p + b->n;
}

int buf_add(struct buf *b, const void *p, size_t n)
{
    if (n == 0)
        return TA_OK;
    uint8_t *room = buf_reserve(b, n);
    if (room == NULL)
        return TA_ELIMIT;
    memcpy(room, p, n);
    b->n += n;
    return TA_OK;
}

/* Text of our own making has its maximum chosen to hold it. */
static char *must_have_room(struct buf *b, size_t n)
{
    char *room = (char *)buf_reserve(b, n);
    if (room == NULL) {
        fprintf(stderr, "tokaudit: text over its maximum of %zu bytes\n", b->max);
        abort();
    }
    return room;
}

void buf_put(struct buf *b, const void *p, size_t n)
{
    if (n == 0)
        return;
    memcpy(must_have_room(b, n), p, n);
    b->n += n;
}

void buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    size_t len = n < 0 ? 0 : (size_t)n;
    char *room = must_have_room(b, len + 1);
    vsnprintf(room, len + 1, fmt, again);
    va_end(again);
    b->n += len;
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(b, fmt, ap);
    va_end(ap);
}

void buf_puts(struct buf *b, const char *text)
{
    buf_put(b, text, strlen(text));
}

const char *buf_text(struct buf *b)
{
    *must_have_room(b, 1) = '\0';
    return (const char *)b->p;
}

void buf_drop(struct buf *b, size_t n)
{
    if (n >= b->n) {
        b->n = 0;
        return;
    }
    memmove(b->p, b->p + n, b->n - n);
    b->n -= n;
}
