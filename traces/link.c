/* Link layer, IPv4 (RFC 791), IPv6 (RFC 8200) and the TCP header (RFC 9293): from a packet to its
 * segment. Link layers: tcpdump.org/linktypes.html. Lengths come from IP, so that Ethernet padding
 * is no payload; an IP length of zero (BIG TCP, offloaded segments) means the rest of the frame. */
#include "traces/link.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

enum { ETHER_IPV4 = 0x0800, ETHER_VLAN = 0x8100, ETHER_IPV6 = 0x86dd };
enum { ETHER_QINQ = 0x88a8, ETHER_OLD_QINQ = 0x9100, ETHER_PPPOE = 0x8864 };
enum { PPP_IPV4 = 0x0021, PPP_IPV6 = 0x0057 };
enum { IP_HOP_BY_HOP = 0, IP_TCP = 6, IP_ROUTING = 43, IP_FRAGMENT = 44, IP_AH = 51 };
enum { IP_DESTINATION = 60, IP_MOBILITY = 135 };

/* What is left of a packet: n bytes were captured of wire_n. */
struct cursor {
    const uint8_t *p;
    size_t n;
    size_t wire_n;
};

static uint16_t be16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t be32(const uint8_t *p)
{
    return (uint32_t)be16(p) << 16 | be16(p + 2);
}

/* Steps over a header of n captured bytes; false if it was cut. */
static bool skip(struct cursor *c, size_t n)
{
    if (c->n < n || c->wire_n < n)
        return false;
    c->p += n;
    c->n -= n;
    c->wire_n -= n;
    return true;
}

/* The IP length is the truth, whether the frame is longer (padding) or shorter (snapped). */
static void limit_to(struct cursor *c, size_t wire_n)
{
    c->wire_n = wire_n;
    if (c->n > wire_n)
        c->n = wire_n;
}

static int8_t window_scale(const uint8_t *p, size_t n)
{
    size_t i = 0;
    while (i < n && p[i] != 0) {
        if (p[i] == 1) {
            i++;
            continue;
        }
        if (i + 1 >= n || p[i + 1] < 2 || p[i + 1] > n - i)
            return -1;
        if (p[i] == 3 && p[i + 1] == 3)
            return (int8_t)(p[i + 2] > 14 ? 14 : p[i + 2]); /* RFC 7323, 2.3 */
        i += p[i + 1];
    }
    return -1;
}

static enum link_verdict decode_tcp(struct cursor c, struct segment *out)
{
    if (c.n < 20)
        return LINK_BAD;
    const uint8_t *p = c.p;
    size_t header = (size_t)(p[12] >> 4) * 4;
    if (header < 20 || header > c.wire_n)
        return LINK_BAD;
    out->from.port = be16(p);
    out->to.port = be16(p + 2);
    out->seq = be32(p + 4);
    out->ack = be32(p + 8);
    out->flags = p[13] & (TCP_FIN | TCP_SYN | TCP_RST | TCP_PSH | TCP_ACK | TCP_URG);
    out->window = be16(p + 14);
    size_t seen = header < c.n ? header : c.n;
    out->window_scale = out->flags & TCP_SYN ? window_scale(p + 20, seen - 20) : -1;
    out->data = p + seen;
    out->n = c.n - seen;
    out->wire_n = c.wire_n - header;
    return LINK_TCP;
}

static enum link_verdict decode_ipv4(struct cursor c, struct segment *out)
{
    if (c.n < 20 || c.p[0] >> 4 != 4)
        return LINK_BAD;
    const uint8_t *p = c.p;
    size_t header = (size_t)(p[0] & 15) * 4, total = be16(p + 2);
    if (header < 20 || (total != 0 && total < header))
        return LINK_BAD;
    if (p[9] != IP_TCP)
        return LINK_OTHER;
    if (be16(p + 6) & 0x3fff) /* more fragments, or an offset */
        return LINK_FRAGMENT;
    if (total != 0)
        limit_to(&c, total);
    if (!skip(&c, header))
        return LINK_BAD;
    out->from.family = out->to.family = 4;
    memcpy(out->from.addr, p + 12, 4);
    memcpy(out->to.addr, p + 16, 4);
    return decode_tcp(c, out);
}

/* Steps over the extension header of kind next; false if it is cut. */
static bool skip_extension(struct cursor *c, uint8_t *next)
{
    if (c->n < 8)
        return false;
    uint8_t kind = *next;
    size_t n = 8;
    if (kind == IP_AH)
        n = ((size_t)c->p[1] + 2) * 4;
    else if (kind != IP_FRAGMENT)
        n = ((size_t)c->p[1] + 1) * 8;
    *next = c->p[0];
    return skip(c, n);
}

static enum link_verdict decode_ipv6(struct cursor c, struct segment *out)
{
    if (c.n < 40 || c.p[0] >> 4 != 6)
        return LINK_BAD;
    const uint8_t *p = c.p;
    size_t payload = be16(p + 4);
    uint8_t next = p[6];
    if (!skip(&c, 40))
        return LINK_BAD;
    if (payload != 0)
        limit_to(&c, payload);
    while (next != IP_TCP) {
        if (next != IP_HOP_BY_HOP && next != IP_ROUTING && next != IP_FRAGMENT && next != IP_AH &&
            next != IP_DESTINATION && next != IP_MOBILITY)
            return LINK_OTHER;
        /* An atomic fragment (RFC 6946) is a whole packet. */
        if (next == IP_FRAGMENT && c.n >= 8 && (be16(c.p + 2) & 0xfff9) != 0)
            return LINK_FRAGMENT;
        if (!skip_extension(&c, &next))
            return LINK_BAD;
    }
    out->from.family = out->to.family = 6;
    memcpy(out->from.addr, p + 8, 16);
    memcpy(out->to.addr, p + 24, 16);
    return decode_tcp(c, out);
}

static enum link_verdict decode_ip(struct cursor c, struct segment *out)
{
    if (c.n == 0)
        return LINK_BAD;
    switch (c.p[0] >> 4) {
    case 4:
        return decode_ipv4(c, out);
    case 6:
        return decode_ipv6(c, out);
    default:
        return LINK_OTHER;
    }
}

/* A PPPoE session packet (RFC 2516), as DSL lines carry them. */
static enum link_verdict decode_pppoe(struct cursor c, struct segment *out)
{
    const uint8_t *p = c.p;
    if (!skip(&c, 8))
        return LINK_BAD;
    switch (be16(p + 6)) {
    case PPP_IPV4:
        return decode_ipv4(c, out);
    case PPP_IPV6:
        return decode_ipv6(c, out);
    default:
        return LINK_OTHER;
    }
}

/* What follows an EtherType field, tags included: c is behind it. */
static enum link_verdict decode_ethertype(uint16_t type, struct cursor c, struct segment *out)
{
    while (type == ETHER_VLAN || type == ETHER_QINQ || type == ETHER_OLD_QINQ) {
        if (c.n < 4)
            return LINK_BAD;
        type = be16(c.p + 2);
        if (!skip(&c, 4))
            return LINK_BAD;
    }
    if (type == ETHER_IPV4)
        return decode_ipv4(c, out);
    if (type == ETHER_IPV6)
        return decode_ipv6(c, out);
    if (type == ETHER_PPPOE)
        return decode_pppoe(c, out);
    return LINK_OTHER;
}

static enum link_verdict decode_ethernet(struct cursor c, struct segment *out)
{
    const uint8_t *p = c.p;
    return skip(&c, 14) ? decode_ethertype(be16(p + 12), c, out) : LINK_BAD;
}

static enum link_verdict decode_sll(struct cursor c, struct segment *out)
{
    const uint8_t *p = c.p;
    return skip(&c, 16) ? decode_ethertype(be16(p + 14), c, out) : LINK_BAD;
}

static enum link_verdict decode_sll2(struct cursor c, struct segment *out)
{
    const uint8_t *p = c.p;
    return skip(&c, 20) ? decode_ethertype(be16(p), c, out) : LINK_BAD;
}

/* The address family is in the byte order of the machine that captured, and IPv6 has the number of
 * its system: Linux 10, NetBSD and OpenBSD 24, FreeBSD 28, macOS 30. */
static enum link_verdict decode_null(struct cursor c, struct segment *out)
{
    const uint8_t *p = c.p;
    if (!skip(&c, 4))
        return LINK_BAD;
    uint32_t big = be32(p);
    uint32_t little = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    switch (big < little ? big : little) {
    case 2:
        return decode_ipv4(c, out);
    case 10:
    case 24:
    case 28:
    case 30:
        return decode_ipv6(c, out);
    default:
        return LINK_OTHER;
    }
}

static const struct {
    uint16_t link;
    enum link_verdict (*decode)(struct cursor c, struct segment *out);
} links[] = {
    {LINK_ETHERNET, decode_ethernet},
    {LINK_NULL, decode_null},
    {LINK_LOOP, decode_null},
    {LINK_RAW, decode_ip},
    {12, decode_ip}, /* LINK_RAW as BSD and … */
    {14, decode_ip}, /* … OpenBSD number it */
    {LINK_IPV4, decode_ipv4},
    {LINK_IPV6, decode_ipv6},
    {LINK_SLL, decode_sll},
    {LINK_SLL2, decode_sll2},
};

enum link_verdict link_decode(uint16_t link, const uint8_t *p, size_t n, size_t wire_n,
                              struct segment *out)
{
    struct cursor c = {p, n, wire_n < n ? n : wire_n};
    *out = (struct segment){.window_scale = -1};
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++)
        if (links[i].link == link)
            return links[i].decode(c, out);
    return LINK_UNKNOWN;
}

const char *endpoint_text(const struct endpoint *e, char out[64])
{
    char addr[INET6_ADDRSTRLEN];
    if (inet_ntop(e->family == 6 ? AF_INET6 : AF_INET, e->addr, addr, sizeof addr) == NULL)
        addr[0] = '\0';
    snprintf(out, 64, e->family == 6 ? "[%s]:%u" : "%s:%u", addr, (unsigned)e->port);
    return out;
}
