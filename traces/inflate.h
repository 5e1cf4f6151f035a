/* Content codings gzip, x-gzip and deflate (RFC 9110, 8.4.1; RFC 1950 to 1952) as a byte stage;
 * pitfalls H10, H11.
 *
 * Decoded bytes come out as soon as the input has released them, with the time and the packet of
 * the input byte that did. Their offset counts decoded bytes: 0 is the first. What the bytes are
 * wins over what was said: a wrong label is an anomaly, plain text passes through. Memory is
 * constant, whatever the ratio. Behind unseen or broken input nothing can be read: end follows, as
 * it would have anyway. */
#ifndef TRACES_INFLATE_H
#define TRACES_INFLATE_H

#include <stdbool.h>

#include "traces/anomaly.h"
#include "traces/base/span.h"

enum inflate_format {
    INFLATE_GZIP,   /* any number of members */
    INFLATE_DEFLATE /* in zlib's wrapper, as the standard wants it, or raw, as some send it */
};

/* The format that a coding's name stands for; false: none of these. */
bool inflate_named(struct slice coding, enum inflate_format *format);

struct inflate;
struct inflate *inflate_new(enum inflate_format format, struct byte_sink out,
                            struct anomaly_sink bad);
struct byte_sink inflate_input(struct inflate *z);
void inflate_free(struct inflate *z);

#endif
