/* gzip members (RFC 1952) read. Reading lives with damage: a member that fails its check
 * is dropped, and the next one that inflates and starts with something plausible is looked for
 * (traces/FORMAT.md, "Damage"). */
#define ZLIB_CONST
#include "traces/gz.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "traces/base/mem.h"
#include "traces/gz_zlib.h"
#include "traces/sha256.h"

enum {
    MAGIC_BYTES = 3,
    READ_BYTES = 256 << 10,
    PIECE_BYTES = 256 << 10, /* of what is not held back */
    FIRST_BYTES = 64,
    LOOK_BYTES = 64, /* of a member, before it is asked whether it starts plausibly */
    HEAD_BYTES = 10,
    HEAD_ALIKE = 8, /* of them, that a damaged header must still have */
    IN_BYTES = 5 * GZ_HELD_BYTES
};

static const uint8_t magic[MAGIC_BYTES] = {0x1f, 0x8b, 8};

/* The header of every member of ours, as zlib writes it: level 1, Unix. */
static const uint8_t own_head[HEAD_BYTES] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 3};

/* --- reading: the file --------------------------------------------------------------------------
 */

struct gz_source {
    int fd;
    char *path;
    bool eof;
    bool gzip;
    bool done;
    struct gz_resume resume;
    struct reader_health *health;
    struct sha256 *hash;
    struct buf
        in; /* bytes of the file from offset base on; those before keep are of no use any more */
    uint64_t base;
    size_t keep, at;
    uint64_t hashed; /* so many bytes of the file are in hash: never beyond keep before the end */
    uint64_t member; /* offset in the file of the one at hand */
    uint64_t whole_end;
    uint64_t damage; /* … of the first damage, or UINT64_MAX */

    z_stream z;
    struct buf out;  /* what the member gave */
    size_t floor;    /* where a search behind the streaming member may begin */
    bool streaming;  /* in a member too long to be held back */
    bool lost;       /* something was dropped since the last piece */
    uint64_t spent;  /* bytes read and made by the member at hand */
    uint64_t wasted; /* the same of all that was given up: what a file made to be slow is held to */
};

static void hash_to(struct gz_source *g, uint64_t offset)
{
    if (offset <= g->hashed)
        return;
    sha256_add(g->hash, g->in.p + (g->hashed - g->base), (size_t)(offset - g->hashed));
    g->hashed = offset;
}

static int source_fill(struct gz_source *g, struct err *e)
{
    if (g->keep > g->in.n / 2) {
        hash_to(g, g->base + g->keep);
        buf_drop(&g->in, g->keep);
        g->base += g->keep;
        g->at -= g->keep;
        g->floor -= g->floor < g->keep ? g->floor : g->keep;
        g->keep = 0;
    }
    uint8_t *room = buf_reserve(&g->in, READ_BYTES);
    if (room == NULL)
        return err_set(e, TA_ELIMIT, "%s: cannot hold the file's bytes from offset %" PRIu64 " on",
                       g->path, g->base);
    ssize_t n;
    do
        n = read(g->fd, room, READ_BYTES);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EISDIR)
        return err_set(e, TA_EFORMAT, "%s is a directory; expected a trace or capture file",
                       g->path);
    if (n < 0)
        return err_sys(e, TA_ESYS, "cannot read %s at offset %" PRIu64, g->path, g->base + g->in.n);
    if (n == 0) {
        g->eof = true;
        return TA_OK;
    }
    g->in.n += (size_t)n;
    g->health->file_bytes += (uint64_t)n;
    return TA_OK;
}

static void source_note(struct gz_source *g, const char *what, uint64_t offset)
{
    if (g->health->note[0] == '\0')
        snprintf(g->health->note, sizeof g->health->note, "%s at offset %" PRIu64 " of the file",
                 what, offset);
}

static void note_damage(struct gz_source *g, const char *what, uint64_t offset)
{
    source_note(g, what, offset);
    g->health->damaged_members++;
    g->lost = true;
    if (g->damage == UINT64_MAX)
        g->damage = offset;
}

/* --- reading: one member ------------------------------------------------------------------------
 */

enum verdict {
    MEMBER_WHOLE, /* its check was right; all of it is in out */
    MEMBER_LONG,  /* too long to be held back; its first bytes are in out */
    MEMBER_CUT,   /* the file ends inside it; what there is of it is in out */
    MEMBER_BAD
};

/* Some of the rest of the member at g->at; out has room for at least one byte more. */
static int inflate_some(struct gz_source *g, size_t most, enum verdict *v, bool *over,
                        struct err *e)
{
    *over = true;
    if (g->at == g->in.n) {
        if (!g->eof) {
            int rc = source_fill(g, e);
            if (rc != TA_OK)
                return rc;
        }
        if (g->at == g->in.n) {
            *v = MEMBER_CUT;
            return TA_OK;
        }
    }
    size_t room = most - g->out.n < PIECE_BYTES ? most - g->out.n : PIECE_BYTES;
    g->z.next_out = buf_reserve(&g->out, room);
    g->z.avail_out = (unsigned)room;
    g->z.next_in = g->in.p + g->at;
    g->z.avail_in = (unsigned)(g->in.n - g->at);
    int rc = inflate(&g->z, Z_NO_FLUSH);
    g->at = g->in.n - g->z.avail_in;
    g->out.n += room - g->z.avail_out;
    *over = rc != Z_OK && rc != Z_BUF_ERROR;
    *v = rc == Z_STREAM_END ? MEMBER_WHOLE : MEMBER_BAD;
    return TA_OK;
}

/* Inflates the member at `start` of in, as far as it is held back. picky: it must start plausibly.
 */
static int try_member(struct gz_source *g, size_t start, bool picky, enum verdict *v, struct err *e)
{
    inflateReset(&g->z);
    buf_clear(&g->out);
    g->keep = g->at = start;
    g->member = g->base + start;
    for (bool looked = !picky;;) {
        bool over;
        int rc = inflate_some(g, GZ_HELD_BYTES, v, &over, e);
        if (rc != TA_OK)
            return rc;
        start = (size_t)(g->member - g->base);
        /* Empty deflate blocks take bytes and give none: the file's bytes have a bound of their
         * own. */
        if (!over && (g->out.n == GZ_HELD_BYTES || g->at - start > 2 * GZ_HELD_BYTES)) {
            *v = MEMBER_LONG;
            g->floor = start + 1;
            over = true;
        }
        if (!looked && (g->out.n >= LOOK_BYTES || over)) {
            looked = true;
            if (!g->resume.begins(g->resume.ctx, g->out.p, g->out.n)) {
                *v = MEMBER_BAD;
                over = true;
            }
        }
        if (over)
            break;
    }
    if (*v == MEMBER_WHOLE)
        g->whole_end = g->base + g->at;
    g->spent = g->out.n + (g->at - start);
    if (*v == MEMBER_BAD)
        g->wasted += g->spent;
    return TA_OK;
}

/* --- reading: behind damage ---------------------------------------------------------------------
 */

/* The next place from g->keep on where a member may start; false at the end of the file. */
static int next_magic(struct gz_source *g, bool *found, struct err *e)
{
    for (;;) {
        const uint8_t *p = g->in.p + g->keep;
        size_t n = g->in.n - g->keep;
        while (n >= MAGIC_BYTES) {
            const uint8_t *hit = memchr(p, magic[0], n - (MAGIC_BYTES - 1));
            if (hit == NULL)
                break;
            n -= (size_t)(hit - p);
            p = hit;
            if (memcmp(p, magic, MAGIC_BYTES) == 0) {
                g->keep = (size_t)(p - g->in.p);
                *found = true;
                return TA_OK;
            }
            p++;
            n--;
        }
        g->keep = g->in.n < MAGIC_BYTES ? g->keep : g->in.n - (MAGIC_BYTES - 1);
        *found = false;
        if (g->eof)
            return TA_OK;
        g->at = g->keep;
        int rc = source_fill(g, e);
        if (rc != TA_OK)
            return rc;
    }
}

/* Looks from offset `from` of in on for a member to go on with: the first whole (or long) one, else
 * the first that the end of the file cuts short. *found: it has been tried, and *v says how it
 * went. cut_too is false where a member that is cut short is known already. */
static int search(struct gz_source *g, size_t from, bool cut_too, bool *found, enum verdict *v,
                  struct err *e)
{
    uint64_t cut_at = UINT64_MAX;
    g->keep = from;
    for (;;) {
        bool hit;
        int rc = next_magic(g, &hit, e);
        if (rc != TA_OK)
            return rc;
        if (!hit || g->wasted > (UINT64_C(256) << 20) + 4 * g->health->file_bytes)
            break;
        uint64_t start = g->base + g->keep;
        rc = try_member(g, g->keep, true, v, e);
        if (rc != TA_OK)
            return rc;
        *found = *v == MEMBER_WHOLE || *v == MEMBER_LONG;
        if (*found)
            return TA_OK;
        if (*v == MEMBER_CUT) {
            g->wasted += g->spent;
            if (cut_at == UINT64_MAX)
                cut_at =
                    start; /* the file has been read to its end: nothing moves in g->in any more */
        }
        g->keep = (size_t)(start - g->base) + 1;
    }
    *found = cut_too && cut_at != UINT64_MAX;
    return *found ? try_member(g, (size_t)(cut_at - g->base), true, v, e) : TA_OK;
}

/* Finds what follows a damaged member; the end of the file if nothing does. */
static int recover(struct gz_source *g, size_t from, const char *what, uint64_t offset,
                   enum verdict *v, struct err *e)
{
    bool found;
    note_damage(g, what, offset);
    int rc = search(g, from, true, &found, v, e);
    if (rc == TA_OK && !found)
        g->done = true;
    return rc;
}

/* Is nothing but zeros left? gzip ignores such a tail, and so is it done here. */
static int only_zeros(struct gz_source *g, bool *yes, struct err *e)
{
    for (;; g->at++) {
        if (g->at == g->in.n && !g->eof) {
            g->keep = g->at;
            int rc = source_fill(g, e);
            if (rc != TA_OK)
                return rc;
        }
        *yes = g->at == g->in.n;
        if (*yes || g->in.p[g->at] != 0)
            return TA_OK;
    }
}

/* The bytes where a member should start are none. */
static int no_member(struct gz_source *g, enum verdict *v, struct err *e)
{
    bool zeros;
    uint64_t offset = g->base + g->at;
    int rc = only_zeros(g, &zeros, e);
    if (rc != TA_OK)
        return rc;
    if (zeros) {
        source_note(g, "zeros after the last gzip member", offset);
        g->done = true;
        return TA_OK;
    }
    return recover(g, g->at, "bytes that are no gzip member", offset, v, e);
}

/* The next member that can be used, tried; g->done if there is none. */
static int next_member(struct gz_source *g, enum verdict *v, struct err *e)
{
    g->keep = g->at;
    while (g->in.n - g->at < MAGIC_BYTES && !g->eof) {
        int rc = source_fill(g, e);
        if (rc != TA_OK)
            return rc;
    }
    size_t n = g->in.n - g->at;
    if (n == 0) {
        g->done = true;
        return TA_OK;
    }
    if (memcmp(g->in.p + g->at, magic, n < MAGIC_BYTES ? n : MAGIC_BYTES) != 0)
        return no_member(g, v, e);
    uint64_t start = g->base + g->at;
    int rc = try_member(g, g->at, false, v, e);
    if (rc != TA_OK || *v == MEMBER_WHOLE || *v == MEMBER_LONG)
        return rc;
    if (*v == MEMBER_BAD)
        return recover(g, (size_t)(start - g->base) + 1, "a gzip member that fails its check",
                       start, v, e);
    /* Cut short by the end of the file, or so damaged that it swallows the members behind it. */
    bool found;
    rc = search(g, (size_t)(start - g->base) + 1, false, &found, v, e);
    if (rc != TA_OK)
        return rc;
    if (found) {
        note_damage(g, "a gzip member that fails its check", start);
        return TA_OK;
    }
    return try_member(g, (size_t)(start - g->base), false, v, e);
}

/* --- reading: pieces ----------------------------------------------------------------------------
 */

static void give(struct gz_source *g, bool starts, struct gz_piece *out)
{
    *out = (struct gz_piece){g->out.p, g->out.n, starts, starts && g->lost, starts && !g->streaming,
                             g->member};
    if (starts)
        g->lost = false;
}

static int next_held(struct gz_source *g, struct gz_piece *out, struct err *e)
{
    enum verdict v = MEMBER_BAD;
    int rc = next_member(g, &v, e);
    if (rc != TA_OK || g->done)
        return rc;
    g->streaming = v == MEMBER_LONG;
    if (v == MEMBER_CUT) {
        g->health->truncated = true;
        source_note(g, "the end comes inside a gzip member,", g->base + g->in.n);
        g->done = true;
    }
    give(g, true, out);
    return TA_OK;
}

/* More of a member too long to be held back. */
static int next_streamed(struct gz_source *g, struct gz_piece *out, struct err *e)
{
    enum verdict v = MEMBER_BAD;
    bool over = false;
    buf_clear(&g->out);
    while (!over && g->out.n == 0) {
        g->keep = g->at;
        int rc = inflate_some(g, PIECE_BYTES, &v, &over, e);
        if (rc != TA_OK)
            return rc;
        g->spent += g->out.n + (g->at - g->keep);
    }
    if (over && v == MEMBER_BAD) {
        g->wasted += g->spent;
        size_t from = g->floor < g->at ? g->floor : g->at;
        int rc = recover(g, from, "damage inside a long gzip member whose start was used,",
                         g->base + g->at, &v, e);
        if (rc != TA_OK || g->done)
            return rc;
        g->streaming = v == MEMBER_LONG;
        g->done = v == MEMBER_CUT;
        g->health->truncated = g->health->truncated || v == MEMBER_CUT;
        give(g, true, out);
        return TA_OK;
    }
    if (over) {
        g->streaming = false;
        if (v == MEMBER_WHOLE)
            g->whole_end = g->base + g->at;
        if (v == MEMBER_CUT) {
            g->health->truncated = true;
            source_note(g, "the end comes inside a gzip member,", g->base + g->in.n);
            g->done = true;
        }
    }
    give(g, false, out);
    return TA_OK;
}

static int next_plain(struct gz_source *g, struct gz_piece *out, struct err *e)
{
    g->keep = g->at;
    while (g->at == g->in.n && !g->eof) {
        int rc = source_fill(g, e);
        if (rc != TA_OK)
            return rc;
    }
    uint64_t offset = g->base + g->at;
    *out = (struct gz_piece){g->in.p + g->at, g->in.n - g->at, offset == 0, false, false, offset};
    g->done = out->n == 0;
    g->at = g->in.n;
    return TA_OK;
}

int gz_next(struct gz_source *g, struct gz_piece *out, struct err *e)
{
    while (!g->done) {
        *out = (struct gz_piece){0};
        int rc = !g->gzip ? next_plain(g, out, e)
                          : (g->streaming ? next_streamed(g, out, e) : next_held(g, out, e));
        if (rc != TA_OK)
            return rc;
        if (out->n > 0)
            return 1;
    }
    return 0;
}

void gz_take(struct gz_source *g, struct buf *own)
{
    struct buf b = g->out;
    g->out = *own;
    *own = b;
}

void gz_hash_before(struct gz_source *g, char out[SHA256_TEXT])
{
    hash_to(g, g->member);
    sha256_text(g->hash, out);
}

uint64_t gz_whole_end(const struct gz_source *g)
{
    return g->whole_end;
}

uint64_t gz_damage_offset(const struct gz_source *g)
{
    return g->damage;
}

int gz_drain(struct gz_source *g, struct err *e)
{
    while (!g->eof) {
        g->keep = g->at = g->in.n;
        int rc = source_fill(g, e);
        if (rc != TA_OK)
            return rc;
    }
    hash_to(g, g->base + g->in.n);
    sha256_text(g->hash, g->health->sha256);
    return TA_OK;
}

/* Does the file start as a member does, or as one of ours with a byte or two damaged? */
static bool starts_as_gzip(const struct gz_source *g)
{
    size_t alike = 0;
    for (size_t i = 0; i < HEAD_BYTES && i < g->in.n; i++)
        alike += g->in.p[i] == own_head[i];
    return alike >= HEAD_ALIKE || (g->in.n >= 2 && memcmp(g->in.p, magic, 2) == 0);
}

/* --- opening and closing ------------------------------------------------------------------------
 */

int gz_open(struct gz_source **out, const char *path, struct gz_resume resume,
            struct reader_health *health, struct err *e)
{
    bool from_stdin = strcmp(path, "-") == 0;
    int fd = from_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return err_sys(e, TA_EFORMAT, "cannot open %s", path);
    struct gz_source *g = mem_zalloc(sizeof *g);
    g->fd = fd;
    g->path = mem_strdup(from_stdin ? "the standard input" : path);
    g->resume = resume;
    g->health = health;
    g->hash = sha256_new();
    g->damage = UINT64_MAX;
    buf_init(&g->in, IN_BYTES);
    buf_init(&g->out, GZ_HELD_BYTES);
    g->z.zalloc = zlib_alloc;
    g->z.zfree = zlib_free;
    int rc = TA_OK;
    if (inflateInit2(&g->z, GZIP_WINDOW) != Z_OK)
        rc = err_set(e, TA_ESYS, "zlib %s cannot start to inflate", zlibVersion());
    while (rc == TA_OK && g->in.n < FIRST_BYTES && !g->eof)
        rc = source_fill(g, e);
    if (rc != TA_OK) {
        gz_close(g);
        return rc;
    }
    g->gzip = starts_as_gzip(g);
    *out = g;
    return TA_OK;
}

bool gz_is_gzip(const struct gz_source *g)
{
    return g->gzip;
}

bool gz_is_file(const struct gz_source *g)
{
    struct stat st;
    return fstat(g->fd, &st) == 0 && S_ISREG(st.st_mode);
}

void gz_close(struct gz_source *g)
{
    if (g == NULL)
        return;
    inflateEnd(&g->z);
    if (g->fd != STDIN_FILENO)
        close(g->fd);
    sha256_free(g->hash);
    buf_done(&g->in);
    buf_done(&g->out);
    free(g->path);
    free(g);
}
