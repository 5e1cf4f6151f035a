/* Texts of which each says again what was said before (SGLang's own API): what is new in them. The
 * same server can be told to send what is new alone (--incremental-streaming-output), and cuts a
 * stop string off again that it had begun to send (trim_matched_stop). */
#ifndef ANALYZE_TEXT_SO_FAR_H
#define ANALYZE_TEXT_SO_FAR_H

#include <stdbool.h>
#include <stdint.h>

#include "traces/base/buf.h"
#include "traces/base/span.h"
#include "traces/base/vec.h"

/* The last text of one choice. */
struct said_so_far {
    struct buf text;
    uint64_t bytes; /* more than text has: it was too much to hold */
};

/* All zero: nothing was said. */
struct text_so_far {
    VEC(struct said_so_far) choices;
    size_t held;
    uint32_t agreed, other; /* texts that went on from the one before, and that did not */
};

/* So many bytes at the end of text are new; none of a text that only got shorter. */
uint64_t text_so_far_new(struct text_so_far *t, uint32_t choice, struct slice text);

void text_so_far_done(struct text_so_far *t);

#endif
