/* A growing file under one mapping that never moves: a large reservation without memory behind it,
 * of which the front is replaced by the file, step by step. Bytes are written with pwrite, not
 * through the mapping: a full disk is then an error and not a SIGBUS. */
#include "replay/spool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "traces/base/mem.h"

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

/* Of addresses. Less where less is to be had (ulimit -v, 32 bits). */
static const uint64_t most_reserved = UINT64_C(1) << 40, least_reserved = UINT64_C(1) << 28;
static const uint64_t step_bytes = UINT64_C(1)
                                   << 26; /* the file grows by; a multiple of any page */

struct spool {
    int fd; /* -1: nothing added yet */
    char *folder;
    uint8_t *base;
    uint64_t reserved, mapped, n;
};

struct spool *spool_new(void)
{
    struct spool *s = mem_zalloc(sizeof *s);
    s->fd = -1;
    return s;
}

uint64_t spool_bytes(const struct spool *s)
{
    return s->n;
}

/* Who asked for a folder gets that one or an error: the others may be small. */
static int open_file(struct spool *s, struct err *e)
{
    const char *asked = getenv("TMPDIR");
    const char *const folders[] = {asked != NULL && *asked != '\0' ? asked : "/var/tmp", "/tmp"};
    size_t n = folders[0] == asked ? 1 : 2;
    for (size_t i = 0; i < n && s->fd < 0; i++) {
        char *path = mem_printf("%s/tokaudit-XXXXXX", folders[i]);
        s->fd = mkstemp(path);
        int fault = errno;
        if (s->fd >= 0) {
            unlink(path);
            s->folder = mem_strdup(folders[i]);
        }
        free(path);
        errno = fault;
    }
    return s->fd >= 0 ? TA_OK
                      : err_sys(e, TA_ESYS,
                                "creating a temporary file in %s; name another folder with TMPDIR",
                                folders[0]);
}

static int reserve(struct spool *s, struct err *e)
{
    for (uint64_t want = most_reserved; want >= least_reserved; want /= 2) {
        if (want > SIZE_MAX)
            continue;
        void *p =
            mmap(NULL, (size_t)want, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p != MAP_FAILED) {
            s->base = p;
            s->reserved = want;
            return TA_OK;
        }
    }
    return err_sys(e, TA_ESYS, "reserving %" PRIu64 " MiB of addresses", least_reserved >> 20);
}

/* The file, as zeros that take no disk yet, up to n bytes; and all of it mapped. */
static int extend(struct spool *s, uint64_t n, struct err *e)
{
    uint64_t to = (n + step_bytes - 1) / step_bytes * step_bytes;
    if (to > s->reserved)
        return err_set(e, TA_ELIMIT,
                       "%" PRIu64 " MiB of addresses are too few for %" PRIu64
                       " bytes in a temporary file",
                       s->reserved >> 20, n);
    if (ftruncate(s->fd, (off_t)to) != 0)
        return err_sys(e, TA_ESYS, "extending the temporary file in %s to %" PRIu64 " MiB",
                       s->folder, to >> 20);
    void *p = mmap(s->base + s->mapped, (size_t)(to - s->mapped), PROT_READ, MAP_SHARED | MAP_FIXED,
                   s->fd, (off_t)s->mapped);
    if (p == MAP_FAILED)
        return err_sys(e, TA_ESYS, "mapping the temporary file in %s", s->folder);
    s->mapped = to;
    return TA_OK;
}

static int write_at_end(struct spool *s, struct slice bytes, struct err *e)
{
    size_t done = 0;
    while (done < bytes.n) {
        ssize_t r = pwrite(s->fd, bytes.p + done, bytes.n - done, (off_t)(s->n + done));
        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            return err_sys(e, TA_ESYS,
                           "writing byte %" PRIu64
                           " of the temporary file in %s; name a folder with more room with TMPDIR",
                           s->n + done, s->folder);
        done += (size_t)r;
    }
    return TA_OK;
}

int spool_add(struct spool *s, struct slice bytes, struct slice *out, struct err *e)
{
    *out = (struct slice){"", 0};
    if (bytes.n == 0)
        return TA_OK;
    int r = s->fd < 0 ? open_file(s, e) : TA_OK;
    if (r == TA_OK && s->base == NULL)
        r = reserve(s, e);
    if (r == TA_OK && bytes.n > s->mapped - s->n)
        r = bytes.n <= s->reserved - s->n
                ? extend(s, s->n + bytes.n, e)
                : err_set(e, TA_ELIMIT,
                          "%zu more bytes are too many for a temporary file of %" PRIu64 " MiB",
                          bytes.n, s->reserved >> 20);
    if (r == TA_OK)
        r = write_at_end(s, bytes, e);
    if (r != TA_OK)
        return r;
    *out = (struct slice){(const char *)s->base + s->n, bytes.n};
    s->n += bytes.n;
    return TA_OK;
}

void spool_free(struct spool *s)
{
    if (s == NULL)
        return;
    if (s->base != NULL)
        munmap(s->base, (size_t)s->reserved);
    if (s->fd >= 0)
        close(s->fd);
    free(s->folder);
    free(s);
}
