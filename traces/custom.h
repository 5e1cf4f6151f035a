/* The custom blocks of a trace: one JSON object each, in a pcapng Custom Block (copyable,
 * 0x00000BAD). Layout and meaning of each kind: traces/FORMAT.md. */
#ifndef TRACES_CUSTOM_H
#define TRACES_CUSTOM_H

#include <stdbool.h>

#include "traces/base/buf.h"
#include "traces/base/span.h"

#define CUSTOM_PEN 32473u /* RFC 5612 example number, until one of our own is registered */
#define CUSTOM_MAGIC "TOKAUDIT"
#define CUSTOM_VERSION 1u

/* Kinds are the JSON's "kind": manifest, clock, samples, phase, ledger, note, bodies, member,
 * closing. */

/* Appends magic, version, length and the JSON: what follows the PEN in the block. TA_ELIMIT over
 * LIMIT_CUSTOM_JSON_BYTES. */
int custom_encode(struct buf *out, struct slice json) TA_NODISCARD;

/* The JSON in a custom block's data (what follows the PEN); false if it is not ours or not
 * version 1. */
bool custom_decode(const uint8_t *p, size_t n, struct slice *json);

/* Is that the kind of a block of ours, whose first member it is? The JSON's end may be missing. */
bool custom_is(struct slice json, const char *kind);

#endif
