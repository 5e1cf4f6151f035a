/* What the parts of the redactor have in common: bytes [from, to) of a payload are to be
 * overwritten. Carriage returns and line feeds always stay, so that lines stay lines. */
#ifndef TRACES_REDACT_FILL_H
#define TRACES_REDACT_FILL_H

#include <stddef.h>
#include <stdint.h>

#include "traces/redact.h"

enum redact_fill {
    FILL_SECRET,   /* '*' */
    FILL_UNJUDGED, /* '*' */
    FILL_TEXT,     /* 'x': the inside of a JSON string */
    FILL_DIGITS,   /* each digit becomes 1, the rest stays: numbers in arrays */
    FILL_BODY      /* 'x' */
};

struct redact_filler {
    void *ctx;
    void (*fill)(void *ctx, size_t from, size_t to, enum redact_fill how);
    struct redact_totals *totals; /* the parts count values, who fills counts bytes */
    const uint64_t *changed;      /* bytes that became others, so far */
};

#endif
