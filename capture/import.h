/* Captures that others made, or traces of ours, copied into one trace: `capture --read`.
 *
 * A trace has one link type. Where the sources hold several, every packet becomes a raw IP packet,
 * and what is no IP is left out. Notes at the end say what was read, what was left out, and what
 * was damaged. */
#ifndef CAPTURE_IMPORT_H
#define CAPTURE_IMPORT_H

#include <stddef.h>
#include <stdint.h>

#include "traces/base/err.h"
#include "traces/redact.h"

struct import_plan {
    const char *const *files; /* "-": standard input */
    size_t n_files;
    const uint16_t *ports; /* only TCP from or to these; none: everything */
    size_t n_ports;
    const char *output;
    const char *label; /* NULL: as the source has it */
    enum redact_mode redact;
    uint64_t rotate_bytes; /* as in struct writer_origin */
    int64_t rotate_ns;
};

struct import_result {
    size_t files;            /* of which something could be read */
    uint64_t packets, bytes; /* of the trace */
    uint64_t parts;          /* files of it */
    uint64_t left_out;       /* packets that are not in it: see the notes */
    uint64_t damaged;        /* files that were cut short or damaged */
    uint64_t dropped;        /* when they were recorded; UINT64_MAX: not stated */
    struct redact_totals redacted;
};

/* TA_EFORMAT if no file could be used; each that could not is named on stderr. */
int import_run(const struct import_plan *plan, struct import_result *out, struct err *e)
    TA_NODISCARD;

#endif
