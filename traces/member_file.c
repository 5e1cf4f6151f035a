/* One file after another: each member is compressed, hashed and written; what a file ends with is
 * named in the next. */
#include "traces/member_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "traces/base/clock.h"
#include "traces/base/mem.h"
#include "traces/gz.h"
#include "traces/manifest.h"
#include "traces/pcapng.h"
#include "traces/rotation.h"
#include "traces/sha256.h"
#include "traces/sync.h"

enum { COMPRESSED_BYTES = 2 * MEMBER_BLOCKS_BYTES, READER_MS = 1000, OPEN_MS = 100 };

struct member_file {
    const struct writer_origin *origin;
    char *output; /* as it was named */
    int fd;
    bool is_read; /* by somebody who may stop reading: it is no file on a disk */
    char *path;   /* of the file at hand */
    struct rotation_part rotation;
    struct gz_maker *gz;
    struct sha256 *hash;
    struct buf compressed, head, json;
    uint64_t members, stored, bytes_written; /* of the file at hand */
    int64_t synced_ns;                       /* monotonic */
    atomic_bool hurry;                       /* set by other threads, too */
};

/* The writer's thread has all signals blocked: one that asks to end, and that nobody could act on,
 * is found here. */
static bool is_told_to_end(const struct member_file *f)
{
    sigset_t told;
    return atomic_load(&f->hurry) || (sigpending(&told) == 0 && (sigismember(&told, SIGINT) == 1 ||
                                                                 sigismember(&told, SIGTERM) == 1 ||
                                                                 sigismember(&told, SIGHUP) == 1));
}

/* Until the other end of a pipe takes something: so long as nobody wants to end, for ever. */
static int await_reader(const struct member_file *f, struct err *e)
{
    struct pollfd reader = {.fd = f->fd, .events = POLLOUT};
    while (poll(&reader, 1, READER_MS) == 0) {
        if (is_told_to_end(f))
            return err_set(e, TA_ESYS,
                           "cannot write the trace to %s: after %" PRIu64
                           " bytes its reader took no more, and tokaudit was told to end; what it "
                           "took can be read",
                           f->path, f->bytes_written);
    }
    return TA_OK;
}

static int write_all(struct member_file *f, const uint8_t *p, size_t n, struct err *e)
{
    while (n > 0) {
        /* What a pipe that is ready takes at once. */
        size_t part = f->is_read && n > PIPE_BUF ? PIPE_BUF : n;
        if (f->is_read && await_reader(f, e) != TA_OK)
            return TA_ESYS;
        ssize_t k = write(f->fd, p, part);
        if (k < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK))
            continue; /* somebody else's stdout may be of either kind */
        if (k <= 0) {
            if (k == 0)
                errno = ENOSPC;
            return err_sys(e, TA_ESYS,
                           "cannot write the trace to %s after %" PRIu64
                           " bytes; what is there so far can be read",
                           f->path, f->bytes_written);
        }
        p += k;
        n -= (size_t)k;
        f->bytes_written += (uint64_t)k;
    }
    return TA_OK;
}

static struct slice text_of(const struct buf *b)
{
    return (struct slice){(const char *)b->p, b->n};
}

struct jsonw member_json(struct buf *b, const char *kind)
{
    struct jsonw j;
    buf_clear(b);
    jsonw_init(&j, b, 0);
    jsonw_object(&j, NULL);
    jsonw_text(&j, "kind", kind);
    return j;
}

static void json_known(struct jsonw *j, const char *key, uint64_t v)
{
    if (v != UINT64_MAX)
        jsonw_u64(j, key, v);
}

static int add_member_block(struct member_file *f, const char *sha256)
{
    struct jsonw j = member_json(&f->json, "member");
    jsonw_u64(&j, "seq", f->members);
    jsonw_int(&j, "link", f->origin->link);
    jsonw_int(&j, "snaplen", f->origin->snaplen);
    jsonw_text(&j, "sha256", sha256);
    jsonw_end(&j);
    return pcapng_add_custom(&f->head, text_of(&f->json));
}

/* Totals of all that stands before this block. */
static int add_closing_block(struct member_file *f, struct member *m, const char *sha256)
{
    const struct member_totals *t = &m->totals;
    struct jsonw j = member_json(&f->json, "closing");
    jsonw_u64(&j, "packets", t->packets);
    jsonw_u64(&j, "blocks", t->blocks + f->members);
    jsonw_u64(&j, "bytes", t->bytes);
    json_known(&j, "received", t->counts.received);
    json_known(&j, "dropped", t->counts.dropped);
    json_known(&j, "if_dropped", t->counts.if_dropped);
    jsonw_u64(&j, "members", f->members + 1);
    jsonw_u64(&j, "stored", f->stored);
    jsonw_u64(&j, "waits", t->waits);
    if ((m->place & MEMBER_FINAL) == 0) {
        char *next = rotation_path(f->output, f->rotation.seq + 1);
        jsonw_text(&j, "next", rotation_base(next));
        free(next);
    }
    jsonw_text(&j, "sha256", sha256);
    jsonw_end(&j);
    return pcapng_add_custom(&m->blocks, text_of(&f->json));
}

/* --- files -----------------------------------------------------------------------------------
 */

/* A FIFO is opened once somebody reads it; until then one may want to end. */
static int open_path(const struct member_file *f)
{
    enum { FLAGS = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY };
    struct stat st;
    if (stat(f->path, &st) != 0 || !S_ISFIFO(st.st_mode))
        return open(f->path, FLAGS, 0600);
    for (;;) {
        int fd = open(f->path, FLAGS | O_NONBLOCK, 0600);
        if (fd >= 0 || errno != ENXIO)
            return fd;
        if (is_told_to_end(f)) {
            errno = EINTR;
            return -1;
        }
        (void)poll(NULL, 0, OPEN_MS);
    }
}

static int open_file(struct member_file *f, struct err *e)
{
    bool to_stdout = strcmp(f->output, "-") == 0, rotates = writer_rotates(f->origin);
    free(f->path);
    f->path = to_stdout ? mem_strdup("the standard output")
              : rotates ? rotation_path(f->output, f->rotation.seq)
                        : mem_strdup(f->output);
    f->fd = to_stdout ? STDOUT_FILENO : open_path(f);
    struct stat st;
    f->is_read = f->fd >= 0 && fstat(f->fd, &st) == 0 && !S_ISREG(st.st_mode);
    return f->fd >= 0 ? TA_OK : err_sys(e, TA_ESYS, "cannot create the trace %s", f->path);
}

static int close_file(struct member_file *f, struct err *e)
{
    int fd = f->fd;
    f->fd = -1;
    if (fd >= 0 && fd != STDOUT_FILENO && close(fd) != 0)
        return err_sys(e, TA_ESYS, "cannot finish writing the trace %s", f->path);
    return TA_OK;
}

/* The section and interface headers, and the manifest. */
static int add_headers(struct member_file *f)
{
    const struct writer_origin *o = f->origin;
    buf_clear(&f->json);
    manifest_write(&f->json, o, writer_rotates(o) ? &f->rotation : NULL);
    int rc = pcapng_add_section(&f->head, "tokaudit " TOKAUDIT_VERSION, text_of(&f->json));
    if (rc == TA_OK)
        rc = pcapng_add_interface(&f->head, o->link, o->snaplen, o->interface, o->filter);
    return rc == TA_OK ? pcapng_add_custom(&f->head, text_of(&f->json)) : rc;
}

/* The file that was just ended is what the next one names. */
static int next_file(struct member_file *f, bool sync, struct err *e)
{
    int rc = close_file(f, e);
    if (rc != TA_OK)
        return rc;
    snprintf(f->rotation.after, sizeof f->rotation.after, "%s", rotation_base(f->path));
    sha256_text(f->hash, f->rotation.sha256);
    f->rotation.seq++;
    sha256_free(f->hash);
    f->hash = sha256_new();
    f->members = f->stored = f->bytes_written = 0;
    rc = open_file(f, e);
    if (rc == TA_OK && sync && sync_folder_of(f->output) != 0)
        rc = err_sys(e, TA_ESYS, "cannot sync the folder of %s to its disk", f->path);
    return rc;
}

/* --- members ---------------------------------------------------------------------------------
 */

static int sync_written(struct member_file *f, struct err *e)
{
    int rc = sync_file(f->fd);
    f->synced_ns = clock_mono_ns();
    if (rc == 0)
        return TA_OK;
    return err_sys(e, TA_ESYS,
                   "cannot sync the trace %s to its disk after %" PRIu64
                   " bytes; what is there so far can be read",
                   f->path, f->bytes_written);
}

int member_file_write(struct member_file *f, struct member *m, struct member_pace pace,
                      struct err *e)
{
    char sha256[SHA256_TEXT];
    sha256_text(f->hash, sha256);
    buf_clear(&f->head);
    buf_clear(&f->compressed);
    int rc = m->place & MEMBER_FIRST ? add_headers(f) : add_member_block(f, sha256);
    f->stored += pace.store;
    if (rc == TA_OK && m->place & MEMBER_LAST)
        rc = add_closing_block(f, m, sha256);
    struct slice parts[] = {text_of(&f->head), text_of(&m->blocks)};
    if (rc == TA_OK)
        rc = pace.store ? gz_member_stored(f->gz, &f->compressed, parts, 2)
                        : gz_member(f->gz, &f->compressed, parts, 2);
    if (rc != TA_OK)
        return err_set(e, rc, "a member of the trace %s does not fit its %d bytes", f->path,
                       COMPRESSED_BYTES);
    sha256_add(f->hash, f->compressed.p, f->compressed.n);
    f->members++;
    rc = write_all(f, f->compressed.p, f->compressed.n, e);
    /* A sync takes as long as many members. */
    if (rc == TA_OK && pace.sync &&
        (m->place & MEMBER_LAST || !pace.hurry ||
         clock_mono_ns() - f->synced_ns >= LIMIT_MEMBER_NS))
        rc = sync_written(f, e);
    return rc == TA_OK && m->place == MEMBER_LAST ? next_file(f, pace.sync, e) : rc;
}

/* --- opening and closing -----------------------------------------------------------------------
 */

int member_file_open(struct member_file **out, const char *output,
                     const struct writer_origin *origin, struct err *e)
{
    struct member_file *f = mem_zalloc(sizeof *f);
    f->fd = -1;
    f->output = mem_strdup(output);
    f->origin = origin;
    f->rotation.seq = 1;
    f->gz = gz_maker_new();
    f->hash = sha256_new();
    buf_init(&f->compressed, COMPRESSED_BYTES);
    buf_init(&f->head, 2 * LIMIT_CUSTOM_JSON_BYTES);
    buf_init(&f->json, LIMIT_CUSTOM_JSON_BYTES);
    int rc = open_file(f, e);
    if (rc == TA_OK)
        *out = f;
    else
        member_file_close(f, NULL);
    return rc;
}

void member_file_hurry(struct member_file *f)
{
    atomic_store(&f->hurry, true);
}

uint64_t member_file_part(const struct member_file *f)
{
    return f->rotation.seq;
}

uint64_t member_file_bytes(const struct member_file *f)
{
    return f->bytes_written;
}

int member_file_close(struct member_file *f, struct err *e)
{
    if (f == NULL)
        return TA_OK;
    int rc = close_file(f, e);
    gz_maker_free(f->gz);
    sha256_free(f->hash);
    buf_done(&f->compressed);
    buf_done(&f->head);
    buf_done(&f->json);
    free(f->output);
    free(f->path);
    free(f);
    return rc;
}
