/* Link layer and IP: a packet's TCP segment. LINKTYPE_… numbers: tcpdump.org/linktypes.html. */
#ifndef TRACES_LINK_H
#define TRACES_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LINK_NULL = 0,
    LINK_ETHERNET = 1,
    LINK_RAW = 101,
    LINK_LOOP = 108,
    LINK_SLL = 113,
    LINK_PKTAP_USER2 = 149, /* a number of the user's, under which Apple's libpcap writes PKTAP */
    LINK_IPV4 = 228,
    LINK_IPV6 = 229,
    LINK_NFLOG = 239,
    LINK_PKTAP = 258,
    LINK_SLL2 = 276
};

struct endpoint {
    uint8_t family;   /* 4 or 6 */
    uint8_t addr[16]; /* IPv4: the first 4, the rest zero */
    uint16_t port;
};

enum { TCP_FIN = 1, TCP_SYN = 2, TCP_RST = 4, TCP_PSH = 8, TCP_ACK = 16, TCP_URG = 32 };

struct segment {
    struct endpoint from, to;
    uint32_t seq, ack;
    uint8_t flags;
    uint16_t window;     /* unscaled */
    int8_t window_scale; /* of a SYN; -1: none */
    const uint8_t *data; /* into the packet */
    size_t n;            /* captured payload bytes */
    size_t wire_n;       /* payload bytes on the wire; > n if the packet was snapped */
    bool dsack;          /* it says that bytes came which were there already (RFC 2883) */
};

enum link_verdict {
    LINK_IP,       /* link_network: an IP packet, *out is set */
    LINK_TCP,      /* *out is set */
    LINK_OTHER,    /* another protocol */
    LINK_FRAGMENT, /* of an IP packet (traces/fragments.h puts them together) */
    LINK_BAD,      /* headers cut short or contradicting */
    LINK_UNKNOWN   /* a link type that is not read here */
};

/* n bytes were captured of wire_n. */
struct ip_bytes {
    const uint8_t *p;
    size_t n;
    size_t wire_n;
};

/* The IP packet in a frame, with what Ethernet may have padded it with. */
enum link_verdict link_network(uint16_t link, const uint8_t *p, size_t n, size_t wire_n,
                               struct ip_bytes *out);

/* Which interface a frame was at, of a machine that records several at once: the frame's own word,
 * where it has one, else what the file says. */
uint32_t link_interface(uint16_t link, const uint8_t *p, size_t n, uint32_t of_file);

/* The TCP segment in a frame. */
enum link_verdict link_decode(uint16_t link, const uint8_t *p, size_t n, size_t wire_n,
                              struct segment *out);

/* "Ethernet"; NULL: a number without a name here. Names are known of types that are not read. */
const char *link_name(uint16_t link);

/* "127.0.0.1:8000", "[::1]:8000"; out has room for 64. Returns out. */
const char *endpoint_text(const struct endpoint *e, char out[64]);

#endif
