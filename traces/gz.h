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

/* The same at level 0: as fast as the memory, for when there is no time to compress. */
int gz_member_stored(struct gz_maker *m, struct buf *out, const struct slice *parts, size_t n)
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
    bool held;   /* p is the whole member (or, where health says truncated, what there is of it) */
    uint64_t offset; /* of the member in the file; of a plain file: of p */
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
bool gz_is_file(const struct gz_source *g); /* a regular one: reading it never waits for anybody */

/* 1 and *out; 0 at the end; negative if the disk fails. */
int gz_next(struct gz_source *g, struct gz_piece *out, struct err *e) TA_NODISCARD;

/* The last piece of a gzip file lies in *own from now on, and the source goes on in what *own was
 * (of the maximum GZ_HELD_BYTES). */
void gz_take(struct gz_source *g, struct buf *own);

/* The SHA-256 of all bytes of the file before the member that the last piece started. */
void gz_hash_before(struct gz_source *g, char out[65]);

/* Where the last whole member ends. */
uint64_t gz_whole_end(const struct gz_source *g);

/* Where the first damage is in the file; UINT64_MAX: none was met. Zeros behind the last member and
 * a cut are none. */
uint64_t gz_damage_offset(const struct gz_source *g);

/* Reads the rest of the file for its hash alone. */
int gz_drain(struct gz_source *g, struct err *e) TA_NODISCARD;

void gz_close(struct gz_source *g);

#endif
