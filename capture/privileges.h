/* Who called us through sudo, and becoming that user again once the device is open. */
#ifndef CAPTURE_PRIVILEGES_H
#define CAPTURE_PRIVILEGES_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "traces/base/err.h"

struct caller {
    bool present; /* root now, called by another user through sudo; else the rest is empty */
    uid_t uid;
    gid_t gid;
    char *name; /* NULL: not in the user database */
    char *home; /* likewise */
};

/* From SUDO_UID and SUDO_GID, which count only for root. */
int privileges_caller(struct caller *out, struct err *e) TA_NODISCARD;
void privileges_caller_done(struct caller *c);

/* Gives the regular file at path to the caller (no other kind: the output may be a pipe or
 * /dev/null). Nothing to do without a caller. */
int privileges_give(const struct caller *c, const char *path, struct err *e) TA_NODISCARD;

/* Becomes the caller for good, and makes sure of it. Nothing to do without one. */
int privileges_drop(const struct caller *c, struct err *e) TA_NODISCARD;

/* How to get the right to capture, or do without. */
void privileges_print_ways(FILE *to);

#endif
