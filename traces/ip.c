/* IPv4 (RFC 791), IPv6 (RFC 8200), jumbo payloads (RFC 2675), AH (RFC 4302) and the TCP header
 * (RFC 9293). Lengths come from IP, so that Ethernet padding is no payload; an IP length of zero
 * (BIG TCP, offloaded segments) means the rest of the frame (C5, C15, C16). */
#include "traces/ip.h"

#include <string.h>

enum { IP_HOP_BY_HOP = 0, IP_TCP = 6, IP_ROUTING = 43, IP_FRAGMENT = 44, IP_AH = 51 };
enum { IP_DESTINATION = 60, IP_MOBILITY = 135, IP_HIP = 139, IP_SHIM6 = 140 };
enum { OPTION_PAD1 = 0, OPTION_JUMBO = 0xc2 };

/* The IP length is the truth, whether the frame is longer (padding) or shorter (snapped). */
static void limit_to(struct ip_bytes *c, size_t wire_n)
{
    c->wire_n = wire_n;
    if (c->n > wire_n)
        c->n = wire_n;
}

enum { TCP_WINDOW_SCALE = 3, TCP_SACK = 5 };

/* The option of that kind, whose second byte is its length; NULL: none. */
static const uint8_t *find_option(const uint8_t *p, size_t n, uint8_t kind)
{
    size_t i = 0;
    while (i < n && p[i] != 0) {
        if (p[i] == 1) {
            i++;
            continue;
        }
        if (i + 1 >= n || p[i + 1] < 2 || p[i + 1] > n - i)
            return NULL;
        if (p[i] == kind)
            return p + i;
        i += p[i + 1];
    }
    return NULL;
}

static int8_t window_scale(const uint8_t *p, size_t n)
{
    const uint8_t *o = find_option(p, n, TCP_WINDOW_SCALE);
    if (o == NULL || o[1] != 3)
        return -1;
    return (int8_t)(o[2] > 14 ? 14 : o[2]); /* RFC 7323, 2.3 */
}

static bool not_behind(uint32_t seq, uint32_t than)
{
    return (int32_t)(seq - than) <= 0;
}

/* The first block is of what came again where it lies before what is acknowledged, or inside the
 * second (RFC 2883, 4). */
static bool says_again(const uint8_t *p, size_t n, uint32_t ack)
{
    const uint8_t *o = find_option(p, n, TCP_SACK);
    if (o == NULL || o[1] < 10)
        return false;
    uint32_t left = be32(o + 2), right = be32(o + 6);
    if (not_behind(right, ack))
        return true;
    return o[1] >= 18 && not_behind(be32(o + 10), left) && not_behind(right, be32(o + 14));
}

static enum link_verdict decode_tcp(struct ip_bytes c, struct segment *out)
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
    out->dsack = out->flags & TCP_ACK && says_again(p + 20, seen - 20, out->ack);
    out->data = p + seen;
    out->n = c.n - seen;
    out->wire_n = c.wire_n - header;
    return LINK_TCP;
}

static void endpoints_of(const struct segment *s, struct ip_fragment *out)
{
    out->from = s->from;
    out->to = s->to;
}

static void data_of(struct ip_bytes c, struct ip_fragment *out)
{
    out->data = c.p;
    out->n = c.n;
    out->wire_n = c.wire_n;
}

/* Steps over the extension header of kind *next; false if it is cut. */
static bool skip_extension(struct ip_bytes *c, uint8_t *next)
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
    return ip_skip(c, n);
}

static bool is_extension(uint8_t next)
{
    return next == IP_HOP_BY_HOP || next == IP_ROUTING || next == IP_FRAGMENT || next == IP_AH ||
           next == IP_DESTINATION || next == IP_MOBILITY || next == IP_HIP || next == IP_SHIM6;
}

/* The fragment whose header c is at; LINK_IP if it is atomic (RFC 6946): a whole packet. */
static enum link_verdict fragment_of(struct ip_bytes c, struct ip_fragment *part)
{
    if (c.n < 8)
        return LINK_BAD;
    uint16_t place = be16(c.p + 2);
    if ((place & 0xfff9) == 0)
        return LINK_IP;
    part->protocol = c.p[0];
    part->id = be32(c.p + 4);
    part->offset = place & 0xfff8;
    part->more = place & 1;
    if (!ip_skip(&c, 8))
        return LINK_BAD;
    data_of(c, part);
    return LINK_FRAGMENT;
}

/* What follows the addresses: c is at the header of kind next. */
static enum link_verdict decode_payload(struct ip_bytes c, uint8_t next, struct segment *out,
                                        struct ip_fragment *part)
{
    while (next != IP_TCP) {
        if (!is_extension(next))
            return LINK_OTHER;
        if (next == IP_FRAGMENT) {
            enum link_verdict v = fragment_of(c, part);
            if (v != LINK_IP)
                return v;
        }
        if (!skip_extension(&c, &next))
            return LINK_BAD;
    }
    return decode_tcp(c, out);
}

static enum link_verdict decode_ipv4(struct ip_bytes c, struct segment *out,
                                     struct ip_fragment *part)
{
    if (c.n < 20)
        return LINK_BAD;
    const uint8_t *p = c.p;
    size_t header = (size_t)(p[0] & 15) * 4, total = be16(p + 2);
    uint16_t place = be16(p + 6);
    if (header < 20 || (total != 0 && total < header))
        return LINK_BAD;
    if (p[9] != IP_TCP && p[9] != IP_AH)
        return LINK_OTHER;
    if (total != 0)
        limit_to(&c, total);
    if (!ip_skip(&c, header))
        return LINK_BAD;
    out->from.family = out->to.family = 4;
    memcpy(out->from.addr, p + 12, 4);
    memcpy(out->to.addr, p + 16, 4);
    endpoints_of(out, part);
    if ((place & 0x3fff) == 0)
        return decode_payload(c, p[9], out, part);
    part->protocol = p[9];
    part->id = be16(p + 4);
    part->offset = (uint32_t)(place & 0x1fff) * 8;
    part->more = place & 0x2000;
    data_of(c, part);
    return LINK_FRAGMENT;
}

/* The length that a jumbo payload option of the hop-by-hop header at c states; 0: none. */
static uint32_t jumbo_length(struct ip_bytes c)
{
    if (c.n < 8)
        return 0;
    size_t n = ((size_t)c.p[1] + 1) * 8;
    n = n < c.n ? n : c.n;
    for (size_t i = 2; i < n;) {
        if (c.p[i] == OPTION_PAD1) {
            i++;
            continue;
        }
        if (n - i < 2)
            return 0;
        if (c.p[i] == OPTION_JUMBO && c.p[i + 1] == 4)
            return n - i < 6 ? 0 : be32(c.p + i + 2);
        i += (size_t)c.p[i + 1] + 2;
    }
    return 0;
}

static enum link_verdict decode_ipv6(struct ip_bytes c, struct segment *out,
                                     struct ip_fragment *part)
{
    if (c.n < 40)
        return LINK_BAD;
    const uint8_t *p = c.p;
    size_t payload = be16(p + 4);
    uint8_t next = p[6];
    if (!ip_skip(&c, 40))
        return LINK_BAD;
    if (payload == 0 && next == IP_HOP_BY_HOP)
        payload = jumbo_length(c);
    if (payload != 0)
        limit_to(&c, payload);
    out->from.family = out->to.family = 6;
    memcpy(out->from.addr, p + 8, 16);
    memcpy(out->to.addr, p + 24, 16);
    endpoints_of(out, part);
    return decode_payload(c, next, out, part);
}

enum link_verdict ip_decode(struct ip_bytes packet, struct segment *out, struct ip_fragment *part)
{
    *out = (struct segment){.window_scale = -1};
    *part = (struct ip_fragment){.offset = 0};
    if (packet.n == 0)
        return LINK_BAD;
    switch (packet.p[0] >> 4) {
    case 4:
        return decode_ipv4(packet, out, part);
    case 6:
        return decode_ipv6(packet, out, part);
    default:
        return LINK_OTHER;
    }
}

enum link_verdict ip_decode_whole(const struct ip_fragment *whole, struct segment *out)
{
    struct ip_fragment part = *whole;
    *out = (struct segment){.from = whole->from, .to = whole->to, .window_scale = -1};
    return decode_payload((struct ip_bytes){whole->data, whole->n, whole->wire_n}, whole->protocol,
                          out, &part);
}
