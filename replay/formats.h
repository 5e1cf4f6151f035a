/* Workload files of other tools read into a plan (replay/WORKLOAD.md, "Files of other tools"). */
#ifndef REPLAY_FORMATS_H
#define REPLAY_FORMATS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "replay/plan.h"
#include "traces/base/json.h"

enum formats_kind {
    FORMATS_CAPTURE, /* a trace or capture; not read here, as the next two */
    FORMATS_PLAN,
    FORMATS_SPEC,    /* or any other JSON object: its own reader says what is wrong with it */
    FORMATS_FOREIGN, /* one of the formats below */
};

struct formats_options {
    const char *time_unit; /* "s", "ms", "us", "ns"; NULL: as the format says, or guessed */
    bool barrier_ties;     /* requests due at one instant become a group */
    int64_t seed;          /* of made text */
    int64_t max_tokens;    /* of every request; -1: as the file says, else 256 */
    uint64_t requests;     /* at most so many, the first in time; 0: all */
    const char *model, *path;
    const struct json *extra; /* object whose members are added to every body that is made here;
                                 NULL: none */
    void (*said)(struct buf *says); /* NULL, or: shows what has been said and clears it, before the
                                       texts are made, which can take a while */
    bool lengths_only; /* bodies that would be made stay empty: to write another format */
};

struct formats;

/* What f holds, told by its content (peers-and-formats 4.3), or by format, its name.
 * head has been read from f already, and stays until formats_close. TA_EFORMAT if it is nothing
 * known; *out is to be closed in any case. */
int formats_open(struct formats **out, FILE *f, struct slice head, const char *path,
                 const char *format, struct err *e) TA_NODISCARD;

enum formats_kind formats_kind(const struct formats *s);

/* "mooncake" of FORMATS_FOREIGN, else NULL. */
const char *formats_name(const struct formats *s);

/* After formats_open failed: did the file begin, or what its gzip held so far, with something else
 * than a capture does? */
bool formats_is_text(const struct formats *s);

/* Does it hold requests that are made here, and so need a model? */
bool formats_makes_bodies(const struct formats *s);

/* All of the text, decompressed, of a plan or spec. */
int formats_text(struct formats *s, size_t most, struct buf *out, struct err *e) TA_NODISCARD;

/* Appends the requests of a foreign file to *out. says gets lines for people: what was taken for
 * what, and why; what was left out; what looks wrong. */
int formats_read(struct formats *s, struct plan *out, const struct formats_options *o,
                 struct buf *says, struct err *e) TA_NODISCARD;

void formats_close(struct formats *s);

#endif
