/* Bytes of a file of claims, gzip'd or not, or of a text; streamed. */
#ifndef ANALYZE_CLAIMS_SOURCE_H
#define ANALYZE_CLAIMS_SOURCE_H

#include <stdio.h>

#include "traces/base/buf.h"
#include "traces/base/err.h"
#include "traces/inflate.h"

struct claims_source {
    FILE *f;           /* NULL: a text */
    struct slice rest; /* of the text */
    struct inflate *gunzip;
    struct buf ahead; /* that came out of it */
    bool begun, ended;
    int failed;         /* errno of reading; 0 */
    const char *damage; /* of the gzip stream: an anomaly's id; NULL */
};

/* "-" is stdin. TA_EFORMAT if it cannot be read. */
int claims_source_open(struct claims_source *s, const char *path, struct err *e) TA_NODISCARD;
void claims_source_text(struct claims_source *s, struct slice text);
void claims_source_close(struct claims_source *s);

/* Up to n bytes; fewer only at the end or at a fault. */
size_t claims_source_take(struct claims_source *s, char *p, size_t n);

/* What is wrong with what was read so far; NULL: nothing. */
const char *claims_source_fault(const struct claims_source *s);

#endif
