/* A recording that goes on in file after file: how they are called, and what each says of the one
 * before it (traces/FORMAT.md, "Rotation"). */
#ifndef TRACES_ROTATION_H
#define TRACES_ROTATION_H

#include <stdbool.h>
#include <stdint.h>

#include "traces/base/json.h"

enum { ROTATION_NAME = 256 }; /* of a file without its folders, and a NUL */

/* `part` of a manifest. Files of one rotation are told by their hashes: names may change. */
struct rotation_part {
    uint64_t seq;              /* from 1; 0: the trace is no part of a rotation */
    char after[ROTATION_NAME]; /* name of the part before, as it was written; "" for the first */
    char sha256[65];           /* of all of that file; "" for the first */
};

/* The file of a part: run.pcapng.gz is run-00001.pcapng.gz, run-00002.pcapng.gz and so on, in the
 * same folder. The caller frees it. */
char *rotation_path(const char *path, uint64_t seq);

/* All of them, for a shell: run-*.pcapng.gz. The caller frees it. */
char *rotation_pattern(const char *path);

/* Which part of a rotation with that path a file is by its name, whatever folder it is in; 0: none.
 */
uint64_t rotation_seq(const char *path, const char *file);

/* path without its folders. */
const char *rotation_base(const char *path);

/* What a manifest says; *out is all zero where it says nothing that could be meant. */
void rotation_read(const struct json *manifest, struct rotation_part *out);

#endif
