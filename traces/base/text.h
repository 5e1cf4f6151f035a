/* Bytes from a trace made safe for where they are shown. Invalid UTF-8 becomes U+FFFD everywhere.
 */
#ifndef TRACES_BASE_TEXT_H
#define TRACES_BASE_TEXT_H

#include <stdint.h>

#include "traces/base/buf.h"
#include "traces/base/span.h"

/* Decodes one code point at p (n > 0 bytes left): returns the bytes used, and *cp (U+FFFD for a
 * byte that starts no valid sequence; one byte used). Unicode 15, table 3-7: no overlongs, no
 * surrogates. */
size_t utf8_next(const uint8_t *p, size_t n, uint32_t *cp);

size_t utf8_put(char out[4], uint32_t cp); /* encodes; returns the bytes written */

void text_terminal(struct buf *out, struct slice s); /* control characters become U+FFFD */
void text_html(struct buf *out, struct slice s); /* & < > " ' escaped, control characters dropped */

/* ASCII case is ignored. */
int text_same(struct slice a, const char *b);

#endif
