/* Is a trace as it was written? Its members, the chain of hashes through them, and the counts in
 * its closing block (traces/FORMAT.md, "Integrity"). This proves that a file was not changed; it
 * does not prove who wrote it. */
#ifndef TRACES_VERIFY_H
#define TRACES_VERIFY_H

#include <stdint.h>

#include "traces/base/err.h"
#include "traces/rotation.h"

enum verify_state {
    VERIFY_WHOLE,
    VERIFY_UNCLOSED, /* ends early; what is there is intact */
    VERIFY_BROKEN,   /* a member, a hash or a count is wrong */
    VERIFY_FOREIGN   /* no trace of ours: nothing in it could be held against anything */
};

struct verify_result {
    enum verify_state state;
    uint64_t member; /* the first that is wrong, or where an unclosed trace ends; from 0 */
    uint64_t offset; /* of that in the file */
    char why[240];   /* in words; "" for a whole one */
    uint64_t file_bytes;
    uint64_t members; /* intact and in their place, before anything that is wrong */
    uint64_t blocks;  /* in them, as `closing` counts */
    uint64_t packets;
    uint64_t packet_bytes;
    char sha256[65];           /* of the file */
    struct rotation_part part; /* which part of a rotation it says it is */
    char next[ROTATION_NAME];  /* … and which file goes on behind it; "": none, or not known */
};

/* Does part b follow a? By the hash: names may have changed. */
bool verify_follows(const struct verify_result *b, const struct verify_result *a);

/* TA_OK and *out, whatever the file is. TA_EFORMAT if it cannot be opened or is a directory; "-" is
 * stdin. */
int verify_file(const char *path, struct verify_result *out, struct err *e) TA_NODISCARD;

const char *verify_state_name(enum verify_state s); /* "whole" … "foreign" */

#endif
