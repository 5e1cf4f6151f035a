/* Secrets in lines: header fields whose name says so, and credentials in URLs. It cannot lose its
 * place, because every line of a stream is looked at, in heads and in bodies, in any split; the
 * inside of a line that is none of these costs one memchr. */
#ifndef TRACES_REDACT_LINES_H
#define TRACES_REDACT_LINES_H

#include <stdbool.h>

#include "traces/redact_fill.h"

struct redact_lines {
    uint8_t state;
    uint8_t n;          /* of name; or place in a scheme's word */
    uint8_t words;      /* schemes that still fit, a bit each */
    uint8_t slashes;    /* of "://", what has come */
    bool secret_before; /* the line before held a secret: one that begins with a blank goes on */
    bool credentials;   /* the value begins with a scheme */
    bool overlong;      /* the name did not fit, or is written in an odd way */
    bool all_values;    /* of a query are overwritten, whatever their name */
    bool wary;          /* a start line may stand anywhere: set where messages begin is not known */
    bool counted;       /* the authority under way, as a secret */
    char name[48];      /* lower case, its end */
};

/* known: the stream begins here, with a line. Otherwise the first one is overwritten to its end. */
void redact_lines_init(struct redact_lines *l, bool known, bool all_values);

/* Bytes of the stream were not seen. */
void redact_lines_gap(struct redact_lines *l);

/* A message begins here, even if no line ended before. */
void redact_lines_message(struct redact_lines *l);

/* Bytes [from, to) of a payload. */
void redact_lines_feed(struct redact_lines *l, const uint8_t *p, size_t from, size_t to,
                       const struct redact_filler *f);

/* HTTP/2 in the clear: its heads cannot be read, all is overwritten from here on. */
bool redact_lines_opaque(const struct redact_lines *l);
void redact_lines_close(struct redact_lines *l); /* makes it so */

/* Does a header field, a query parameter of that name hold a secret? */
bool redact_secret_field(struct slice name);
bool redact_secret_parameter(struct slice name);

/* Does p begin with a whole HTTP/1 start line? */
bool redact_start_line(const uint8_t *p, size_t n);

#endif
