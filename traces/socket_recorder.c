/* Makes up TCP/IP around what a socket sent and received: RFC 791, 8200 (IP), 9293 (TCP), 1071
 * (checksum); link type RAW. Made up are the handshake, sequence numbers and FINs; bytes and times
 * are the socket's. */
#include "traces/socket_recorder.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "traces/base/mem.h"
#include "traces/link.h"

enum {
    IPV4_BYTES = 20,
    IPV6_BYTES = 40,
    TCP_BYTES = 20,
    SYN_OPTION_BYTES = 8,  /* maximum segment size, window scale */
    SEGMENT_BYTES = 65495, /* what an IPv4 packet holds behind its headers */
    WINDOW = 65535,
    WINDOW_SCALE = 14
};

/* One end of a connection: index 0 is the local one. */
struct side {
    uint8_t addr[16];
    uint8_t port[2];
    uint32_t seq; /* of its next byte */
    bool closed;
};

struct socket_recorder {
    struct writer *writer;
    uint32_t flows;
    uint8_t packet[IPV6_BYTES + TCP_BYTES + SEGMENT_BYTES];
};

struct socket_flow {
    struct socket_recorder *recorder;
    bool v4;
    bool reset;
    uint16_t packets; /* IPv4's identification */
    struct side sides[2];
};

/* --- bytes --------------------------------------------------------------------------------------
 */

static void be16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static void be32(uint8_t *p, uint32_t v)
{
    be16(p, v >> 16);
    be16(p + 2, v);
}

/* The sum of RFC 1071 in whatever order this machine has: that comes out right when it is stored. p
 * has n bytes, and n is even but for the last piece. */
static uint64_t sum_add(uint64_t sum, const uint8_t *p, size_t n)
{
    for (; n >= 4; p += 4, n -= 4) {
        uint32_t word;
        memcpy(&word, p, 4);
        sum += word;
    }
    if (n > 0) {
        uint32_t word = 0;
        memcpy(&word, p, n);
        sum += word;
    }
    return sum;
}

static void sum_store(uint64_t sum, uint8_t *p)
{
    while (sum >> 16 != 0)
        sum = (sum & 0xffff) + (sum >> 16);
    uint16_t folded = (uint16_t)~sum;
    memcpy(p, &folded, 2);
}

/* --- packets ------------------------------------------------------------------------------------
 */

/* The IP header for tcp_n bytes from sides[from]; returns its length, and the sum of the pseudo
 * header. */
static size_t put_ip(struct socket_flow *f, int from, size_t tcp_n, uint8_t *p, uint64_t *sum)
{
    const struct side *src = &f->sides[from], *dst = &f->sides[!from];
    size_t addr_n = f->v4 ? 4 : 16;
    uint8_t pseudo[8] = {0, 0, 0, 0, 0, 0, 0, IPPROTO_TCP};
    be32(pseudo, (uint32_t)tcp_n);
    *sum = sum_add(sum_add(sum_add(0, pseudo, 8), src->addr, addr_n), dst->addr, addr_n);
    if (!f->v4) {
        memset(p, 0, IPV6_BYTES);
        p[0] = 0x60;
        be16(p + 4, (uint32_t)tcp_n);
        p[6] = IPPROTO_TCP;
        p[7] = 64;
        memcpy(p + 8, src->addr, 16);
        memcpy(p + 24, dst->addr, 16);
        return IPV6_BYTES;
    }
    memset(p, 0, IPV4_BYTES);
    p[0] = 0x45;
    be16(p + 2, (uint32_t)(IPV4_BYTES + tcp_n));
    be16(p + 4, f->packets++);
    p[6] = 0x40; /* do not fragment */
    p[8] = 64;
    p[9] = IPPROTO_TCP;
    memcpy(p + 12, src->addr, 4);
    memcpy(p + 16, dst->addr, 4);
    sum_store(sum_add(0, p, IPV4_BYTES), p + 10);
    return IPV4_BYTES;
}

/* One segment of n bytes from sides[from]. */
static int put_segment(struct socket_flow *f, int from, int flags, const uint8_t *data, size_t n,
                       int64_t t_ns, struct err *e)
{
    struct side *src = &f->sides[from], *dst = &f->sides[!from];
    uint8_t *p = f->recorder->packet;
    size_t head_n = TCP_BYTES + (flags & TCP_SYN ? SYN_OPTION_BYTES : 0);
    uint64_t sum;
    uint8_t *tcp = p + put_ip(f, from, head_n + n, p, &sum);
    memset(tcp, 0, head_n);
    memcpy(tcp, src->port, 2);
    memcpy(tcp + 2, dst->port, 2);
    be32(tcp + 4, src->seq);
    be32(tcp + 8, flags & TCP_ACK ? dst->seq : 0);
    tcp[12] = (uint8_t)(head_n / 4 << 4);
    tcp[13] = (uint8_t)flags;
    be16(tcp + 14, WINDOW);
    if (flags & TCP_SYN) {
        const uint8_t options[SYN_OPTION_BYTES] = {
            2, 4, SEGMENT_BYTES >> 8, SEGMENT_BYTES & 0xff, 1, 3, 3, WINDOW_SCALE};
        memcpy(tcp + TCP_BYTES, options, sizeof options);
    }
    if (n > 0)
        memcpy(tcp + head_n, data, n);
    sum_store(sum_add(sum, tcp, head_n + n), tcp + 16);
    src->seq += (uint32_t)n + (flags & (TCP_SYN | TCP_FIN) ? 1 : 0);
    size_t whole = (size_t)(tcp - p) + head_n + n;
    return writer_packet(f->recorder->writer, t_ns, p, whole, whole, e);
}

static int put_data(struct socket_flow *f, int from, const uint8_t *p, size_t n, int64_t t_ns,
                    struct err *e)
{
    int rc = TA_OK;
    while (n > 0 && rc == TA_OK) {
        size_t part = n < SEGMENT_BYTES ? n : SEGMENT_BYTES;
        int flags = part == n ? TCP_ACK | TCP_PSH : TCP_ACK;
        rc = put_segment(f, from, flags, p, part, t_ns, e);
        p += part;
        n -= part;
    }
    return rc;
}

/* --- connections --------------------------------------------------------------------------------
 */

struct socket_recorder *socket_recorder_new(struct writer *w)
{
    struct socket_recorder *r = mem_zalloc(sizeof *r);
    r->writer = w;
    return r;
}

void socket_recorder_free(struct socket_recorder *r)
{
    free(r);
}

static bool read_address(struct side *s, const struct sockaddr *from, sa_family_t *family)
{
    if (from->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, from, sizeof in);
        memcpy(s->addr, &in.sin_addr, 4);
        memcpy(s->port, &in.sin_port, 2);
    } else if (from->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, from, sizeof in6);
        memcpy(s->addr, &in6.sin6_addr, 16);
        memcpy(s->port, &in6.sin6_port, 2);
    } else {
        return false;
    }
    *family = from->sa_family;
    return true;
}

static bool is_mapped(const struct side *s)
{
    static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};
    return memcmp(s->addr, prefix, sizeof prefix) == 0;
}

/* A dual-stack socket names its IPv4 peers ::ffff:a.b.c.d; on the wire they are plain IPv4. */
static void unmap(struct socket_flow *f)
{
    if (f->v4 || !is_mapped(&f->sides[0]) || !is_mapped(&f->sides[1]))
        return;
    for (int i = 0; i < 2; i++)
        memmove(f->sides[i].addr, f->sides[i].addr + 12, 4);
    f->v4 = true;
}

struct socket_flow *socket_flow_open(struct socket_recorder *r, const struct sockaddr *local,
                                     const struct sockaddr *remote, bool we_called, int64_t t_ns,
                                     struct err *e)
{
    struct socket_flow *f = mem_zalloc(sizeof *f);
    sa_family_t ours = AF_UNSPEC, theirs = AF_UNSPEC;
    f->recorder = r;
    if (!read_address(&f->sides[0], local, &ours) || !read_address(&f->sides[1], remote, &theirs) ||
        ours != theirs) {
        err_set(
            e, TA_ESYS,
            "cannot record a connection between addresses of families %d and %d: both must be IPv4 "
            "(%d) or both IPv6 (%d)",
            local->sa_family, remote->sa_family, AF_INET, AF_INET6);
        free(f);
        return NULL;
    }
    f->v4 = ours == AF_INET;
    unmap(f);
    /* A port that is used again must not look like a retransmission of its first use. */
    f->sides[0].seq = ++r->flows * 2654435761u;
    f->sides[1].seq = f->sides[0].seq ^ 0x80000000u;
    int caller = we_called ? 0 : 1;
    if (put_segment(f, caller, TCP_SYN, NULL, 0, t_ns, e) != TA_OK ||
        put_segment(f, !caller, TCP_SYN | TCP_ACK, NULL, 0, t_ns, e) != TA_OK ||
        put_segment(f, caller, TCP_ACK, NULL, 0, t_ns, e) != TA_OK) {
        free(f);
        return NULL;
    }
    return f;
}

int socket_flow_sent(struct socket_flow *f, const void *p, size_t n, int64_t t_ns, struct err *e)
{
    return put_data(f, 0, p, n, t_ns, e);
}

int socket_flow_received(struct socket_flow *f, const void *p, size_t n, int64_t t_ns,
                         struct err *e)
{
    return put_data(f, 1, p, n, t_ns, e);
}

int socket_flow_closed(struct socket_flow *f, bool by_remote, bool reset, int64_t t_ns,
                       struct err *e)
{
    int from = by_remote ? 1 : 0;
    if (f->reset || (f->sides[from].closed && !reset))
        return TA_OK;
    f->sides[from].closed = true;
    f->reset = reset;
    if (reset)
        return put_segment(f, from, TCP_RST | TCP_ACK, NULL, 0, t_ns, e);
    int rc = put_segment(f, from, TCP_FIN | TCP_ACK, NULL, 0, t_ns, e);
    if (rc == TA_OK && f->sides[!from].closed)
        rc = put_segment(f, !from, TCP_ACK, NULL, 0, t_ns, e);
    return rc;
}

void socket_flow_free(struct socket_flow *f)
{
    free(f);
}
