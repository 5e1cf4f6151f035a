/* Linked into the unit tests in front of the writer (by ld's --wrap): where TOKAUDIT_KEEP_TRACES is
 * set, each trace that a test has closed is copied, under names that begin with it, for
 * check_traces.py. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "traces/base/mem.h"
#include "traces/rotation.h"
#include "traces/writer.h"

int __real_writer_open(struct writer **out, const char *path, const struct writer_origin *origin,
                       struct err *e);
int __real_writer_close(struct writer *w, struct err *e);
int __wrap_writer_open(struct writer **out, const char *path, const struct writer_origin *origin,
                       struct err *e);
int __wrap_writer_close(struct writer *w, struct err *e);

enum { OPEN_AT_ONCE = 16 };

static struct open {
    const struct writer *w;
    char *path;
    bool rotates;
} table[OPEN_AT_ONCE];

static struct open *find(const struct writer *w)
{
    for (int i = 0; i < OPEN_AT_ONCE; i++)
        if (table[i].w == w)
            return &table[i];
    fputs("keep_traces.c: more writers at once than it has room for\n", stderr);
    abort();
}

/* False: there is no such file. */
static bool keep(const char *path)
{
    static char bytes[1 << 16];
    static unsigned kept;
    FILE *in = strcmp(path, "/dev/null") != 0 ? fopen(path, "rb") : NULL;
    if (in == NULL)
        return false;
    char *name = mem_printf("%s-%ld-%u.gz", getenv("TOKAUDIT_KEEP_TRACES"), (long)getpid(), kept++);
    FILE *out = fopen(name, "wb");
    bool done = out != NULL;
    for (size_t n; done && (n = fread(bytes, 1, sizeof bytes, in)) > 0;)
        done = fwrite(bytes, 1, n, out) == n;
    if (!done || fclose(out) != 0) {
        fprintf(stderr, "keep_traces.c: cannot copy %s to %s\n", path, name);
        abort();
    }
    fclose(in);
    free(name);
    return true;
}

int __wrap_writer_open(struct writer **out, const char *path, const struct writer_origin *origin,
                       struct err *e)
{
    int rc = __real_writer_open(out, path, origin, e);
    if (rc == TA_OK && getenv("TOKAUDIT_KEEP_TRACES") != NULL)
        *find(NULL) = (struct open){*out, mem_strdup(path), writer_rotates(origin)};
    return rc;
}

int __wrap_writer_close(struct writer *w, struct err *e)
{
    int rc = __real_writer_close(w, e);
    if (getenv("TOKAUDIT_KEEP_TRACES") == NULL)
        return rc;
    struct open *o = find(w);
    bool more = true;
    if (!o->rotates)
        keep(o->path);
    for (uint64_t seq = 1; o->rotates && more; seq++) {
        char *part = rotation_path(o->path, seq);
        more = keep(part);
        free(part);
    }
    free(o->path);
    *o = (struct open){NULL, NULL, false};
    return rc;
}
