/* Link layers (tcpdump.org/linktypes.html): from a frame to the IP packet in it. */
#include "traces/link.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "traces/ip.h"

enum { ETHER_IPV4 = 0x0800, ETHER_VLAN = 0x8100, ETHER_IPV6 = 0x86dd };
enum { ETHER_QINQ = 0x88a8, ETHER_OLD_QINQ = 0x9100, ETHER_PPPOE = 0x8864 };
enum { PPP_IPV4 = 0x0021, PPP_IPV6 = 0x0057 };
enum { NFLOG_PAYLOAD = 9 };
enum { PKTAP_FIXED_BYTES = 48, PKTAP_PACKET = 1 };

static uint16_t le16(const uint8_t *p)
{
    return (uint16_t)(p[1] << 8 | p[0]);
}

static uint32_t le32(const uint8_t *p)
{
    return (uint32_t)le16(p + 2) << 16 | le16(p);
}

/* --- what holds an IP packet: each steps c up to it ------------------------------------------- */

static enum link_verdict strip_ipv4(struct ip_bytes *c)
{
    return c->n > 0 && c->p[0] >> 4 == 4 ? LINK_IP : LINK_BAD;
}

static enum link_verdict strip_ipv6(struct ip_bytes *c)
{
    return c->n > 0 && c->p[0] >> 4 == 6 ? LINK_IP : LINK_BAD;
}

static enum link_verdict strip_ip(struct ip_bytes *c)
{
    if (c->n == 0)
        return LINK_BAD;
    return c->p[0] >> 4 == 4 || c->p[0] >> 4 == 6 ? LINK_IP : LINK_OTHER;
}

/* A PPPoE session packet (RFC 2516), as DSL lines carry them. */
static enum link_verdict strip_pppoe(struct ip_bytes *c)
{
    const uint8_t *p = c->p;
    if (!ip_skip(c, 8))
        return LINK_BAD;
    switch (be16(p + 6)) {
    case PPP_IPV4:
        return strip_ipv4(c);
    case PPP_IPV6:
        return strip_ipv6(c);
    default:
        return LINK_OTHER;
    }
}

/* What follows an EtherType field, tags included (C14): c is behind it. */
static enum link_verdict strip_ethertype(uint16_t type, struct ip_bytes *c)
{
    while (type == ETHER_VLAN || type == ETHER_QINQ || type == ETHER_OLD_QINQ) {
        const uint8_t *p = c->p;
        if (!ip_skip(c, 4))
            return LINK_BAD;
        type = be16(p + 2);
    }
    if (type == ETHER_IPV4)
        return strip_ipv4(c);
    if (type == ETHER_IPV6)
        return strip_ipv6(c);
    if (type == ETHER_PPPOE)
        return strip_pppoe(c);
    return LINK_OTHER;
}

static enum link_verdict strip_ethernet(struct ip_bytes *c)
{
    const uint8_t *p = c->p;
    return ip_skip(c, 14) ? strip_ethertype(be16(p + 12), c) : LINK_BAD;
}

static enum link_verdict strip_sll(struct ip_bytes *c)
{
    const uint8_t *p = c->p;
    return ip_skip(c, 16) ? strip_ethertype(be16(p + 14), c) : LINK_BAD;
}

static enum link_verdict strip_sll2(struct ip_bytes *c)
{
    const uint8_t *p = c->p;
    return ip_skip(c, 20) ? strip_ethertype(be16(p), c) : LINK_BAD;
}

/* The address family is in the byte order of the machine that captured, and IPv6 has the number of
 * its system: Linux 10, NetBSD and OpenBSD 24, FreeBSD 28, macOS 30. */
static enum link_verdict strip_null(struct ip_bytes *c)
{
    const uint8_t *p = c->p;
    if (!ip_skip(c, 4))
        return LINK_BAD;
    uint32_t big = be32(p), little = le32(p);
    switch (big < little ? big : little) {
    case 2:
        return strip_ipv4(c);
    case 10:
    case 24:
    case 28:
    case 30:
        return strip_ipv6(c);
    default:
        return LINK_OTHER;
    }
}

/* The payload among the TLVs, whose lengths and types are in the byte order of the machine that
 * captured. False: none is found when they are read in this order. */
static bool find_payload(struct ip_bytes *c, bool big)
{
    struct ip_bytes at = *c;
    while (at.n >= 4) {
        size_t length = big ? be16(at.p) : le16(at.p);
        unsigned type = big ? be16(at.p + 2) : le16(at.p + 2);
        if (length < 4)
            return false;
        if ((type & 0x7fff) == NFLOG_PAYLOAD) { /* the top bits are flags of netlink's */
            ip_skip(&at, 4);
            at.wire_n = at.wire_n < length - 4 ? at.wire_n : length - 4;
            at.n = at.n < at.wire_n ? at.n : at.wire_n;
            *c = at;
            return true;
        }
        if (!ip_skip(&at, (length + 3) & ~(size_t)3))
            return false;
    }
    return false;
}

static enum link_verdict strip_nflog(struct ip_bytes *c)
{
    if (!ip_skip(c, 4))
        return LINK_BAD;
    return find_payload(c, false) || find_payload(c, true) ? strip_ip(c) : LINK_BAD;
}

/* Apple's header before another link layer, little-endian on every machine that writes it: its own
 * length, what follows, the other's link type. */
static enum link_verdict strip_pktap(struct ip_bytes *c)
{
    const uint8_t *p = c->p;
    if (c->n < PKTAP_FIXED_BYTES)
        return LINK_BAD;
    uint32_t header = le32(p), kind = le32(p + 4), inner = le32(p + 8);
    if (header < PKTAP_FIXED_BYTES)
        return LINK_BAD;
    if (kind != PKTAP_PACKET)
        return LINK_OTHER;
    if (inner > UINT16_MAX || inner == LINK_PKTAP || inner == LINK_PKTAP_USER2)
        return LINK_UNKNOWN;
    if (!ip_skip(c, header))
        return LINK_BAD;
    return link_network((uint16_t)inner, c->p, c->n, c->wire_n, c);
}

/* Under a number of the user's anything may stand. */
static enum link_verdict strip_user2(struct ip_bytes *c)
{
    enum link_verdict v = strip_pktap(c);
    return v == LINK_IP || v == LINK_OTHER ? v : LINK_UNKNOWN;
}

/* strip NULL: not read, but known by name. */
static const struct {
    uint16_t link;
    enum link_verdict (*strip)(struct ip_bytes *c);
    const char *name;
} links[] = {
    {LINK_ETHERNET, strip_ethernet, "Ethernet"},
    {LINK_NULL, strip_null, "BSD loopback"},
    {LINK_LOOP, strip_null, "OpenBSD loopback"},
    {LINK_RAW, strip_ip, "raw IP"},
    {12, strip_ip, "raw IP"}, /* as BSD and … */
    {14, strip_ip, "raw IP"}, /* … OpenBSD number it */
    {LINK_IPV4, strip_ipv4, "raw IPv4"},
    {LINK_IPV6, strip_ipv6, "raw IPv6"},
    {LINK_SLL, strip_sll, "Linux cooked"},
    {LINK_SLL2, strip_sll2, "Linux cooked 2"},
    {LINK_NFLOG, strip_nflog, "NFLOG"},
    {LINK_PKTAP, strip_pktap, "PKTAP"},
    {LINK_PKTAP_USER2, strip_user2, "PKTAP"},
    {6, NULL, "IEEE 802.5"},
    {9, NULL, "PPP"},
    {50, NULL, "PPP in HDLC"},
    {105, NULL, "IEEE 802.11"},
    {119, NULL, "Prism"},
    {127, NULL, "802.11 with radiotap"},
    {143, NULL, "DOCSIS"},
    {187, NULL, "Bluetooth"},
    {189, NULL, "USB"},
    {192, NULL, "802.11 with PPI"},
    {201, NULL, "Bluetooth"},
    {220, NULL, "USB"},
    {227, NULL, "SocketCAN"},
    {249, NULL, "USBPcap"},
    {253, NULL, "netlink"},
    {274, NULL, "Ethernet mPacket"},
};

static size_t index_of(uint16_t link)
{
    size_t i = 0;
    while (i < sizeof links / sizeof links[0] && links[i].link != link)
        i++;
    return i;
}

enum link_verdict link_network(uint16_t link, const uint8_t *p, size_t n, size_t wire_n,
                               struct ip_bytes *out)
{
    size_t i = index_of(link);
    *out = (struct ip_bytes){p, n, wire_n < n ? n : wire_n};
    if (i == sizeof links / sizeof links[0] || links[i].strip == NULL)
        return LINK_UNKNOWN;
    return links[i].strip(out);
}

uint32_t link_interface(uint16_t link, const uint8_t *p, size_t n, uint32_t of_file)
{
    return link == LINK_SLL2 && n >= 8 ? be32(p + 4) : of_file;
}

const char *link_name(uint16_t link)
{
    size_t i = index_of(link);
    return i < sizeof links / sizeof links[0] ? links[i].name : NULL;
}

enum link_verdict link_decode(uint16_t link, const uint8_t *p, size_t n, size_t wire_n,
                              struct segment *out)
{
    struct ip_bytes ip;
    struct ip_fragment part;
    enum link_verdict v = link_network(link, p, n, wire_n, &ip);
    return v == LINK_IP ? ip_decode(ip, out, &part) : v;
}

const char *endpoint_text(const struct endpoint *e, char out[64])
{
    char addr[INET6_ADDRSTRLEN];
    if (inet_ntop(e->family == 6 ? AF_INET6 : AF_INET, e->addr, addr, sizeof addr) == NULL)
        addr[0] = '\0';
    snprintf(out, 64, e->family == 6 ? "[%s]:%u" : "%s:%u", addr, (unsigned)e->port);
    return out;
}
