/* JSON in which every text is overwritten (RFC 8259), in any split, in one pass and without memory
 * of what came: strings become x's, but under a few keys (what a thing is, which one it is, how it
 * ended) names stay; numbers stay, but in arrays, where they can be codes of text. Several values
 * one after the other are several documents. What is not JSON is overwritten. */
#ifndef TRACES_REDACT_JSON_H
#define TRACES_REDACT_JSON_H

#include <stdbool.h>

#include "traces/redact_fill.h"

enum { REDACT_JSON_DEPTH = 512 };

struct redact_json {
    uint8_t state, word, at; /* word: true, false, …; at: place in it */
    bool kept;               /* the string under way stands under a key of the list */
    bool filled;             /* some of it has been overwritten */
    bool high_surrogate;     /* the last character was the first half of one */
    uint8_t n;               /* of key; one more than fits: too long */
    uint16_t depth, length;  /* length: of a kept string */
    char key[24];
    char escape[5];
    uint8_t object[REDACT_JSON_DEPTH / 8];  /* a bit a level: {} or [] … */
    uint8_t keyless[REDACT_JSON_DEPTH / 8]; /* … and whether its keys are text themselves */
    uint64_t strings, characters;           /* overwritten, since the start */
};

void redact_json_init(struct redact_json *j);

/* Bytes [from, to) of the payload p. */
void redact_json_feed(struct redact_json *j, const uint8_t *p, size_t from, size_t to,
                      const struct redact_filler *f);

/* Something that is no JSON has come: all is overwritten until redact_json_init. */
bool redact_json_bad(const struct redact_json *j);

/* Is c part of a name: no blank, no quote, no letter beyond ASCII? */
bool redact_name_byte(uint8_t c);

#endif
