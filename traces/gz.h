/* The gzip container (RFC 1952) of a trace: members made one at a time, and a file read that may be
 * gzip'd, plain, damaged or cut short. */
#ifndef TRACES_GZ_H
#define TRACES_GZ_H

#include <stdbool.h>
#include <stdint.h>

#include "traces/base/buf.h"
#include "traces/base/err.h"
#include "traces/base/span.h"
#include "traces/reader.h"

/* --- making
 * ---------------------------------------------------------------------------------------------- */

struct gz_maker;

struct gz_maker *gz_maker_new(void);
void gz_maker_free(struct gz_maker *m);

/* One whole member (level 1, no name, no time) that holds the parts in order; appended to out.
 * TA_ELIMIT if out has not the room. */
int gz_member(struct gz_maker *m, struct buf *out, const struct slice *parts, size_t n)
    TA_NODISCARD;

/* --- reading
 * --------------------------------------------------------------------------------------------- */

struct gz_source;

/* Bytes of the stream. A member of up to GZ_HELD_BYTES is one piece, and its check was right; a
 * longer one, and a plain file, come as they are read. */
struct gz_piece {
    const uint8_t *p; /* until the next call */
    size_t n;
    bool starts; /* p is where a member starts */
    bool lost;   /* something that stood before it is missing: p is where a block starts */
};

enum { GZ_HELD_BYTES = 4 << 20 };

/* Could the stream be taken up again at p[0..n)? Asked for members behind a damaged one. */
struct gz_resume {
    void *ctx;
    bool (*begins)(void *ctx, const uint8_t *p, size_t n);
};

/* "-" is stdin. Damage goes to *health, as do the size and the SHA-256 of the file. TA_EFORMAT if
 * path cannot be read, with one line that says why. Both pointers are kept. */
int gz_open(struct gz_source **out, const char *path, struct gz_resume resume,
            struct reader_health *health, struct err *e) TA_NODISCARD;

bool gz_is_gzip(const struct gz_source *g);

/* The first bytes of the file itself, up to 64, without using them up. */
struct slice gz_first_bytes(const struct gz_source *g);

/* 1 and *out; 0 at the end; negative if the disk fails. */
int gz_next(struct gz_source *g, struct gz_piece *out, struct err *e) TA_NODISCARD;

/* Reads the rest of the file for its hash alone. */
int gz_drain(struct gz_source *g, struct err *e) TA_NODISCARD;

void gz_close(struct gz_source *g);

#endif
