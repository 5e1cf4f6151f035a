/* A streaming JSON writer: output never needs a tree. Same calls, same bytes.
 *
 *     struct jsonw w;
 *     jsonw_init(&w, &text, 2);          // indent 2; 0 = one line
 *     jsonw_object(&w, NULL);            // NULL: no key (top level or array element)
 *     jsonw_int(&w, "n", 3);
 *     jsonw_end(&w);
 *
 * Strings are taken as UTF-8; what is not valid becomes U+FFFD. Numbers that are not finite become
 * null. */
#ifndef TRACES_BASE_JSONW_H
#define TRACES_BASE_JSONW_H

#include <stdbool.h>
#include <stdint.h>

#include "traces/base/buf.h"
#include "traces/base/json.h"
#include "traces/base/span.h"

enum { JSONW_DEPTH = 1024 }; /* jsonw_value copies trees, and cJSON's may be 1000 deep */

struct jsonw {
    struct buf *out;
    unsigned indent;
    unsigned depth;
    bool first; /* no member of the open container has been written */
    uint8_t is_object[JSONW_DEPTH / 8];
};

void jsonw_init(struct jsonw *w, struct buf *out, unsigned indent);
void jsonw_object(struct jsonw *w, const char *key);
void jsonw_array(struct jsonw *w, const char *key);
void jsonw_end(struct jsonw *w); /* closes the innermost */

void jsonw_null(struct jsonw *w, const char *key);
void jsonw_bool(struct jsonw *w, const char *key, bool v);
void jsonw_int(struct jsonw *w, const char *key, int64_t v);
void jsonw_u64(struct jsonw *w, const char *key, uint64_t v);
void jsonw_double(struct jsonw *w, const char *key,
                  double v); /* shortest text that reads back the same */
void jsonw_text(struct jsonw *w, const char *key, const char *v); /* NULL becomes null */
void jsonw_slice(struct jsonw *w, const char *key, struct slice v);
void jsonw_ns(struct jsonw *w, const char *key, int64_t v); /* as a string of digits: epoch times */
void jsonw_value(struct jsonw *w, const char *key, const struct json *v); /* a copy of a tree */
void jsonw_raw(struct jsonw *w, const char *key, struct slice v); /* text that is JSON already */

#endif
