/* The first bytes of a stream held back until they say what it is; then they go on, each with its
 * own mark. */
#ifndef TRACES_SNIFF_H
#define TRACES_SNIFF_H

#include <stdbool.h>

#include "traces/base/span.h"

enum { SNIFF_BYTES = 8 }; /* of the longest prefix */

struct sniff {
    unsigned n;
    uint8_t bytes[SNIFF_BYTES];
    struct mark at[SNIFF_BYTES];
};

/* What bytes begin with: 1.., a prefix's place in the list + 1; 0: none of them; -1: more of them
 * are needed. */
int sniff_match(const void *bytes, size_t n, const struct slice *prefixes);

/* Takes bytes from in until they begin with one of the prefixes (1.., its place in the list + 1) or
 * with none (0): true and *which. False: all of in was taken, and more is needed. The prefixes end
 * with an empty slice. */
bool sniff_decide(struct sniff *s, struct span *in, const struct slice *prefixes, unsigned *which);

/* Hands the bytes that were held back to a sink; returns what it returned. */
int sniff_release(struct sniff *s, struct byte_sink to);

#endif
