/* A workload file as it is read: lines, or the elements of one JSON array, one at a time, however
 * large the file. gzip is undone. */
#ifndef REPLAY_FORMATS_INPUT_H
#define REPLAY_FORMATS_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "traces/base/buf.h"
#include "traces/base/err.h"
#include "traces/base/span.h"

struct inflate;

struct formats_input {
    FILE *f;
    const char *path;  /* for messages */
    struct slice head; /* read from f before, and not used yet */
    struct inflate *gunzip;
    const char *damage; /* of the gzip stream; NULL: none met */
    struct buf ahead;   /* bytes not taken yet start at `at` */
    size_t at;
    bool begun, eof;
    size_t chunk_bytes;    /* read at once; a test makes it small */
    size_t line, element;  /* of what was given last, from 1 */
    size_t lines;          /* line ends taken so far */
    bool in_array, is_all; /* the array is the whole document */
};

/* head: what has been read from f already, kept until it is used. Neither is owned. */
void formats_input_init(struct formats_input *in, FILE *f, struct slice head, const char *path);
void formats_input_done(struct formats_input *in);

/* Up to n bytes that come next, without taking them; until the next call. */
int formats_input_peek(struct formats_input *in, size_t n, struct slice *out, struct err *e)
    TA_NODISCARD;

/* The next line that is not blank, without its end (LF or CRLF) and a byte order mark, until the
 * next call: 1; 0 at the end. TA_ELIMIT if it is longer than LIMIT_WORKLOAD_ROW_BYTES. */
int formats_input_line(struct formats_input *in, struct slice *out, struct err *e) TA_NODISCARD;

/* Goes into the array that is the document, or, with member, into the array that this member of
 * the document is. */
int formats_input_array(struct formats_input *in, const char *member, struct err *e) TA_NODISCARD;

/* Its next element as text, likewise. That it is JSON, is for the caller to see. */
int formats_input_element(struct formats_input *in, struct slice *out, struct err *e) TA_NODISCARD;

/* A value as an error shows it: its first 40 bytes, the visible ones. Returns out. */
enum { FORMATS_SHOWN = 48 };
const char *formats_input_shown(struct slice value, char out[FORMATS_SHOWN]);

/* Sets *e to "PATH, line N: " (or ", element M: ") and the text; returns TA_EFORMAT. */
int formats_input_bad(const struct formats_input *in, struct err *e, const char *fmt, ...)
    TA_PRINTF(3, 4);

#endif
