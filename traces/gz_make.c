/* gzip members (RFC 1952) made, one at a time. */
#define ZLIB_CONST
#include "traces/gz.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "traces/gz_zlib.h"

enum { PIECE_BYTES = 256 << 10 };

struct gz_maker {
    z_stream z;
    int level;
};

struct gz_maker *gz_maker_new(void)
{
    struct gz_maker *m = mem_zalloc(sizeof *m);
    m->level = 1;
    m->z.zalloc = zlib_alloc;
    m->z.zfree = zlib_free;
    if (deflateInit2(&m->z, 1, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        fprintf(stderr, "tokaudit: zlib %s cannot start a gzip stream\n", zlibVersion());
        abort();
    }
    return m;
}

void gz_maker_free(struct gz_maker *m)
{
    if (m == NULL)
        return;
    deflateEnd(&m->z);
    free(m);
}

static int deflate_part(z_stream *z, struct buf *out, struct slice part, int flush)
{
    z->next_in = (const Bytef *)part.p;
    z->avail_in = (unsigned)part.n;
    for (int rc = Z_OK; z->avail_in > 0 || (flush == Z_FINISH && rc != Z_STREAM_END);) {
        z->next_out = buf_reserve(out, PIECE_BYTES);
        z->avail_out = PIECE_BYTES;
        if (z->next_out == NULL)
            return TA_ELIMIT;
        rc = deflate(z, flush);
        out->n += PIECE_BYTES - z->avail_out;
    }
    return TA_OK;
}

static int make_member(struct gz_maker *m, int level, struct buf *out, const struct slice *parts,
                       size_t n)
{
    size_t before = out->n;
    int rc = deflateReset(&m->z) == Z_OK ? TA_OK : TA_ELIMIT;
    if (rc == TA_OK && level != m->level) {
        rc = deflateParams(&m->z, level, Z_DEFAULT_STRATEGY) == Z_OK ? TA_OK : TA_ELIMIT;
        m->level = level;
    }
    for (size_t i = 0; i < n && rc == TA_OK; i++)
        rc = parts[i].n > UINT32_MAX ? TA_ELIMIT : deflate_part(&m->z, out, parts[i], Z_NO_FLUSH);
    if (rc == TA_OK)
        rc = deflate_part(&m->z, out, (struct slice){"", 0}, Z_FINISH);
    if (rc != TA_OK)
        out->n = before;
    return rc;
}

int gz_member(struct gz_maker *m, struct buf *out, const struct slice *parts, size_t n)
{
    return make_member(m, 1, out, parts, n);
}

int gz_member_stored(struct gz_maker *m, struct buf *out, const struct slice *parts, size_t n)
{
    return make_member(m, 0, out, parts, n);
}
