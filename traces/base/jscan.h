/* A pull scanner over one JSON text in memory: no tree, no allocation, any size. It accepts exactly
 * RFC 8259, nesting to JSCAN_DEPTH: what lies deeper in a value that is passed over is looked at by
 * its brackets and strings alone, and what lies deeper in one that is read is JT_BAD. It does not
 * check that strings are valid UTF-8, which is traffic's business.
 *
 *     struct jscan s = jscan_over(text);
 *     if (jscan_next(&s) == JT_OBJECT)
 *         while (jscan_member(&s, &key)) {          // key: without its escapes
 *             if (slice_is(key, "id")) { jscan_next(&s); … s.text … }
 *             else jscan_skip(&s);
 *         }
 *     if (jscan_bad(&s)) …
 */
#ifndef TRACES_BASE_JSCAN_H
#define TRACES_BASE_JSCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "traces/base/buf.h"
#include "traces/base/span.h"

enum {
    JSCAN_DEPTH = 512,
    JSCAN_KEY_BYTES = 64 /* of a key that is written with escapes; a longer one keeps them */
};

enum jscan_token {
    JT_BAD, /* not JSON; sticky */
    JT_END, /* the text ended after one whole value */
    JT_OBJECT,
    JT_OBJECT_END,
    JT_ARRAY,
    JT_ARRAY_END,
    JT_KEY,
    JT_STRING,
    JT_NUMBER,
    JT_TRUE,
    JT_FALSE,
    JT_NULL
};

struct jscan {
    const char *start, *p, *end;
    struct slice
        text; /* of the last JT_KEY or JT_STRING (between the quotes, still escaped) or JT_NUMBER */
    const char *value; /* where the last token began that is a value or begins one */
    bool escaped;      /* that string holds a backslash */
    enum jscan_token last;
    unsigned depth;
    uint8_t state;
    bool valid;     /* the text is known to be JSON: what is skipped is not read */
    bool in_object; /* and not in an array, or outside of all */
    uint8_t is_object[JSCAN_DEPTH / 8];
    char key[JSCAN_KEY_BYTES]; /* the last key, if it was written with escapes */
};

struct jscan jscan_over(struct slice text);

/* Over a value that a scanner has been through already (never jscan_bad): skipping a container only
 * looks for its end. */
struct jscan jscan_over_valid(struct slice text);
enum jscan_token jscan_next(struct jscan *s);

/* Inside an object, after JT_OBJECT or a member's whole value: true and the next key, or false at
 * the object's end (consumed) or when the text is bad. The key has no escapes, so that
 * "con\u0074ent" is "content"; s->text is the key as it stands. It dies with s or with the next
 * key. */
bool jscan_member(struct jscan *s, struct slice *key);

/* The same, and the first token of the member's value, in s->last. jscan_finish goes over what is
 * left of the value. */
bool jscan_pair(struct jscan *s, struct slice *key);

/* Inside an array likewise: true with the next element's token in s->last, false at its end. */
bool jscan_element(struct jscan *s);

/* Skips one value: the one that starts next. */
void jscan_skip(struct jscan *s);

/* Skips the rest of the value whose first token is s->last (nothing to do for a scalar). */
void jscan_finish(struct jscan *s);

/* The same, right behind that token, and returns the value as it stands in the text. */
struct slice jscan_whole(struct jscan *s);

/* jscan_skip, and returns the value as it stands in the text. */
struct slice jscan_raw(struct jscan *s);

bool jscan_bad(const struct jscan *s);
size_t jscan_offset(const struct jscan *s);

/* The last JT_STRING without its escapes, added to out (lone surrogates become U+FFFD). TA_ELIMIT
 * if out is full. */
int jscan_unescape(const struct jscan *s, struct buf *out) TA_NODISCARD;

/* Is a string that is still escaped, without its quotes, this text? */
bool jscan_raw_is(struct slice raw, const char *text);

/* A string that is still escaped, of a text that has been scanned: without its escapes in out.
 * False: it is longer than that. */
bool jscan_plain(struct slice raw, char *out, size_t size, struct slice *plain);

/* The last JT_NUMBER as an integer; false if it has a fraction, an exponent or does not fit. */
bool jscan_int(const struct jscan *s, int64_t *out);
bool jscan_double(const struct jscan *s, double *out);

#endif
