/* A growing byte buffer that cannot be made without a maximum. */
#ifndef TRACES_BASE_BUF_H
#define TRACES_BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "traces/base/err.h"

struct buf {
    uint8_t *p;
    size_t n;
    size_t cap;
    size_t max;
};

void buf_init(struct buf *b, size_t max);
void buf_done(struct buf *b);  /* frees; b may be all zero */
void buf_clear(struct buf *b); /* keeps the memory */

/* TA_OK, or TA_ELIMIT and nothing added. */
int buf_add(struct buf *b, const void *p, size_t n) TA_NODISCARD;

/* Makes room for n more bytes and returns it without counting it; NULL over the maximum. */
uint8_t *buf_reserve(struct buf *b, size_t n);

/* For text of our own making: over the maximum is a bug and aborts. No NUL is added. */
void buf_put(struct buf *b, const void *p, size_t n);
void buf_puts(struct buf *b, const char *text);
void buf_printf(struct buf *b, const char *fmt, ...) TA_PRINTF(2, 3);
void buf_vprintf(struct buf *b, const char *fmt, va_list ap) TA_PRINTF(2, 0);

/* The bytes with a NUL after them (not counted in n); valid until the next change. */
const char *buf_text(struct buf *b);

/* Drops the first n bytes. */
void buf_drop(struct buf *b, size_t n);

#endif
