/* IP and TCP headers: from an IP packet to its segment, or to the fragment that it is. */
#ifndef TRACES_IP_H
#define TRACES_IP_H

#include "traces/link.h"

/* A piece of a larger packet. Its datagram is known by the addresses and id, under IPv4 by the
 * protocol too. */
struct ip_fragment {
    struct endpoint from, to; /* without ports */
    uint32_t id;
    uint8_t protocol; /* of what the datagram begins with; under IPv6 only its first piece counts */
    uint32_t offset;  /* in the datagram's payload */
    bool more;        /* others follow it */
    const uint8_t *data; /* into the packet */
    size_t n;            /* captured bytes */
    size_t wire_n;
};

/* Numbers in network byte order. */
static inline uint16_t be16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t be32(const uint8_t *p)
{
    return (uint32_t)be16(p) << 16 | be16(p + 2);
}

/* Steps over n captured bytes; false if they were cut. */
static inline bool ip_skip(struct ip_bytes *c, size_t n)
{
    if (c->n < n || c->wire_n < n)
        return false;
    c->p += n;
    c->n -= n;
    c->wire_n -= n;
    return true;
}

/* LINK_TCP: *out is set. LINK_FRAGMENT: *part is. */
enum link_verdict ip_decode(struct ip_bytes packet, struct segment *out, struct ip_fragment *part);

/* The same of a datagram put together (traces/fragments.h): what stands behind the IP header. */
enum link_verdict ip_decode_whole(const struct ip_fragment *whole, struct segment *out);

#endif
