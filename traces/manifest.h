/* The manifest of a trace that is being written. */
#ifndef TRACES_MANIFEST_H
#define TRACES_MANIFEST_H

#include "traces/base/arena.h"
#include "traces/base/buf.h"
#include "traces/rotation.h"
#include "traces/writer.h"

enum { MANIFEST_TEXT_BYTES = 4096 }; /* of one text in it; a longer one is cut, and shows it */

/* Appends the JSON. part: NULL for a trace in one file. */
void manifest_write(struct buf *out, const struct writer_origin *o,
                    const struct rotation_part *part);

/* A copy whose texts live in a. */
struct writer_origin manifest_keep(struct arena *a, const struct writer_origin *o);

#endif
