/* Allocation that ends the process when it fails: a batch tool has nothing better to do. Sizes that
 * come from outside are checked against traces/limits.h before they get here. */
#ifndef TRACES_BASE_MEM_H
#define TRACES_BASE_MEM_H

#include <stddef.h>

void *mem_alloc(size_t n);              /* not zeroed */
void *mem_zalloc(size_t n);             /* zeroed */
void *mem_array(size_t n, size_t size); /* zeroed, overflow-checked */
void *mem_resize(void *p, size_t n);    /* as realloc */
void *mem_dup(const void *p, size_t n); /* copy of n bytes */

/* For n bytes, many pages, that will soon be filled in haste: the system is asked for the pages
 * now, all at once, which takes less time than a fault for each. */
void *mem_ready(size_t n);

char *mem_strdup(const char *text); /* NULL stays NULL */
char *mem_strndup(const char *p, size_t n);
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Called once before the process ends for want of memory: capture closes its trace here. */
void mem_on_exhausted(void (*hook)(void *ctx), void *ctx);

#endif
