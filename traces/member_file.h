/* The files of a trace that is being written, member by member: headers, hashes, closing blocks
 * (traces/FORMAT.md). For traces/writer.c, on whose own thread all of this runs. */
#ifndef TRACES_MEMBER_FILE_H
#define TRACES_MEMBER_FILE_H

#include "traces/base/buf.h"
#include "traces/base/err.h"
#include "traces/base/jsonw.h"
#include "traces/limits.h"
#include "traces/writer.h"

enum {
    MEMBER_BLOCKS_BYTES = LIMIT_MEMBER_BYTES + LIMIT_BLOCK_BYTES
}; /* one block may go over it */

enum member_place {
    MEMBER_FIRST = 1, /* of a file: headers and manifest come before its blocks */
    MEMBER_LAST = 2, /* of a file: the closing block follows them; then the next file is begun … */
    MEMBER_FINAL = 4 /* … unless this was the last one */
};

/* Of a file, as its closing block has them. */
struct member_totals {
    uint64_t packets, bytes, blocks, waits;
    struct writer_counts counts;
};

/* The blocks of one member, to be written. */
struct member {
    struct member *next;
    struct buf blocks;
    unsigned place;
    struct member_totals totals; /* of MEMBER_LAST */
};

/* How the file at hand gets to the disk. */
struct member_pace {
    bool store;       /* without compressing: there is no time for it */
    bool sync, hurry; /* sync it; not after each member, because more of them wait */
};

struct member_file;

/* Creates the first file. origin is borrowed for f's lifetime, output for the call. */
int member_file_open(struct member_file **out, const char *output,
                     const struct writer_origin *origin, struct err *e) TA_NODISCARD;

int member_file_write(struct member_file *f, struct member *m, struct member_pace pace,
                      struct err *e) TA_NODISCARD;

void member_file_hurry(struct member_file *f); /* from any thread; see writer_hurry */

uint64_t member_file_part(const struct member_file *f);  /* of the rotation, from 1 */
uint64_t member_file_bytes(const struct member_file *f); /* of it on the disk */

/* Frees f. */
int member_file_close(struct member_file *f, struct err *e);

/* Starts the JSON of a custom block in b, which is cleared. */
struct jsonw member_json(struct buf *b, const char *kind);

#endif
