/* A message's body in which every text is overwritten: JSON documents and lines of them, event
 * streams (their data JSON), and anything else whole. What it is, is said by its head or told by
 * its first byte; its structure stays. */
#ifndef TRACES_REDACT_BODY_H
#define TRACES_REDACT_BODY_H

#include "traces/redact_json.h"

enum redact_body_kind {
    REDACT_BODY_SNIFF,  /* JSON or an event stream, as it begins; else whole */
    REDACT_BODY_STREAM, /* the same, but what is not JSON is an event stream */
    REDACT_BODY_JSON,
    REDACT_BODY_EVENTS,
    REDACT_BODY_WHOLE
};

struct redact_body {
    uint8_t kind;
    uint8_t line; /* of an event stream: where in a line */
    uint8_t n;    /* of field */
    uint8_t bom;  /* bytes of a byte order mark that have come */
    bool after_cr;
    bool counted; /* as overwritten whole */
    char field[6];
    struct redact_json json;
    uint64_t strings, characters; /* overwritten */
};

void redact_body_init(struct redact_body *b, enum redact_body_kind kind);

/* Bytes [from, to) of the payload p. */
void redact_body_feed(struct redact_body *b, const uint8_t *p, size_t from, size_t to,
                      const struct redact_filler *f);

/* Bytes of it were not seen. */
void redact_body_gap(struct redact_body *b);

#endif
