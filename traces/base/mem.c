/* Allocation that cannot fail. */
#include "traces/base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void (*exhausted_hook)(void *ctx);
static void *exhausted_ctx;

void mem_on_exhausted(void (*hook)(void *ctx), void *ctx)
{
    exhausted_hook = hook;
    exhausted_ctx = ctx;
}

static void *must(void *p, size_t n)
{
    if (p != NULL)
        return p;
    void (*hook)(void *ctx) = exhausted_hook;
    exhausted_hook = NULL;
    if (hook != NULL)
        hook(exhausted_ctx);
    fprintf(stderr, "tokaudit: out of memory (asked for %zu bytes)\n", n);
    exit(4);
}

void *mem_alloc(size_t n)
{
    return must(malloc(n ? n : 1), n);
}

void *mem_zalloc(size_t n)
{
    return must(calloc(1, n ? n : 1), n);
}

void *mem_array(size_t n, size_t size)
{
    if (size != 0 && n > SIZE_MAX / size)
        return must(NULL, SIZE_MAX);
    return mem_zalloc(n * size);
}

void *mem_resize(void *p, size_t n)
{
    return must(realloc(p, n ? n : 1), n);
}

void *mem_ready(size_t n)
{
    enum { PAGE = 4096 }; /* where it is larger, the call fails, and the faults come as ever */
    void *p = NULL;
    int rc = posix_memalign(&p, PAGE, n);
    must(rc == 0 ? p : NULL, n);
#ifdef MADV_POPULATE_WRITE /* Linux 5.14 */
    (void)madvise(p, n, MADV_POPULATE_WRITE);
#endif
    return p;
}

void *mem_dup(const void *p, size_t n)
{
    void *copy = mem_alloc(n);
    if (n > 0)
        memcpy(copy, p, n);
    return copy;
}

char *mem_strndup(const char *p, size_t n)
{
    char *copy = mem_alloc(n + 1);
    if (n > 0)
        memcpy(copy, p, n);
    copy[n] = '\0';
    return copy;
}

char *mem_strdup(const char *text)
{
    return text == NULL ? NULL : mem_strndup(text, strlen(text));
}

char *mem_printf(const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *text = mem_alloc(n < 0 ? 1 : (size_t)n + 1);
    text[0] = '\0';
    if (n >= 0)
        vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    return text;
}
