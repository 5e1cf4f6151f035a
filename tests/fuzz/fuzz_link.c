/* Fuzzes traces/link: two bytes of link type, two of bytes that were not captured, then the packet.
 */
#include <stdlib.h>

#include "traces/link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct segment s;
    char text[64];
    if (size < 4)
        return 0;
    const uint8_t *p = data + 4;
    size_t n = size - 4;
    size_t wire_n = n + (size_t)(data[2] << 8 | data[3]);
    if (link_decode((uint16_t)(data[0] << 8 | data[1]), p, n, wire_n, &s) != LINK_TCP)
        return 0;
    if (s.data < p || s.n > n || s.data + s.n > p + n || s.wire_n < s.n)
        abort();
    endpoint_text(&s.from, text);
    endpoint_text(&s.to, text);
    return 0;
}
