/* Fuzzes traces/link, ip, fragments and twins with a series of packets. Before each: its captured
 * length, its link type (an index), how much more was on the wire, and seconds since the last. */
#include <stdlib.h>
#include <string.h>

#include "traces/fragments.h"
#include "traces/twins.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD_BYTES = 4 };

static const uint16_t links[] = {LINK_RAW,  LINK_ETHERNET, LINK_NULL,  LINK_LOOP,
                                 LINK_SLL,  LINK_SLL2,     LINK_NFLOG, LINK_PKTAP,
                                 LINK_IPV4, LINK_IPV6,     105,        LINK_PKTAP_USER2};

static void one_packet(struct fragments *f, struct twins *t, uint16_t link, const uint8_t *p,
                       size_t n, size_t wire_n, int64_t t_ns)
{
    struct segment s;
    uint8_t *payload;
    if (fragments_decode(f, link, p, n, wire_n, t_ns, &s) != LINK_TCP)
        return;
    if (s.wire_n < s.n)
        abort();
    payload = malloc(s.n + 1); /* every byte of it can be read */
    if (payload == NULL)
        abort();
    memcpy(payload, s.data, s.n);
    free(payload);
    twins_saw(t, link_interface(link, p, n, 0), &s, t_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fragments *f = fragments_new();
    struct twins *t = twins_new();
    int64_t t_ns = 0;
    while (size >= HEAD_BYTES) {
        const uint8_t *head = data;
        data += HEAD_BYTES;
        size -= HEAD_BYTES;
        size_t n = head[0] < size ? head[0] : size;
        t_ns += (int64_t)head[3] * 1000000000;
        uint8_t *p = malloc(n + 1); /* of its size: a byte too many is caught */
        if (p == NULL)
            abort();
        memcpy(p + 1, data, n);
        one_packet(f, t, links[head[1] % (sizeof links / sizeof links[0])], p + 1, n, n + head[2],
                   t_ns);
        free(p);
        data += n;
        size -= n;
    }
    struct fragments_totals totals = fragments_totals(f);
    if (totals.lost > totals.fragments)
        abort();
    fragments_free(f);
    twins_free(t);
    return 0;
}
