/* JSON of other tools as it streams by: any size, any number of documents one after the other, and
 * the tokens NaN, Infinity and -Infinity, which Python writes. Nothing of a document is kept but
 * the way to where it is: the reader is told every scalar with its path, and where containers end.
 */
#ifndef ANALYZE_CLAIMS_JSON_H
#define ANALYZE_CLAIMS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "traces/base/err.h"
#include "traces/base/span.h"

enum {
    CLAIMS_JSON_DEPTH = 64,
    CLAIMS_JSON_PATH_BYTES = 1024,
    CLAIMS_JSON_TEXT_BYTES = 4096 /* of a scalar; what is longer is cut, and said to be */
};

enum claims_json_kind {
    CLAIMS_JSON_STRING,
    CLAIMS_JSON_NUMBER, /* NaN and the infinities too */
    CLAIMS_JSON_WORD,   /* true, false, null */
    CLAIMS_JSON_BEGIN,  /* of an object or array */
    CLAIMS_JSON_END
};

/* Where the walk is, and what is there; lives for the call. */
struct claims_json_value {
    enum claims_json_kind kind;
    const char *path;  /* "benchmarks[].metrics.x.mean"; "" the document */
    struct slice text; /* NUL-terminated; of a string without its escapes */
    bool cut;          /* it is longer, or its escapes are none of JSON's and stand in it */
    bool object;       /* of BEGIN and END: not an array */
    size_t depth;      /* containers around it */
    uint64_t outer;    /* place in the array around the innermost one, from 0 */
    uint64_t inner;    /* place in the innermost array around it */
};

/* A value other than TA_OK ends the walk and is returned. */
typedef int claims_json_fn(void *ctx, const struct claims_json_value *v, struct err *e);

struct claims_json;

struct claims_json *claims_json_new(const char *path, claims_json_fn *fn, void *ctx);
void claims_json_free(struct claims_json *j);

/* TA_EFORMAT names path, line and byte. */
int claims_json_feed(struct claims_json *j, const char *p, size_t n, struct err *e) TA_NODISCARD;

/* The file ends here. */
int claims_json_finish(struct claims_json *j, struct err *e) TA_NODISCARD;

size_t claims_json_line(const struct claims_json *j);

#endif
