/* TCP packets made byte by byte, for tests that need whole frames. */
#ifndef TESTS_SUPPORT_PACKET_H
#define TESTS_SUPPORT_PACKET_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "traces/link.h"

struct packet_bytes {
    uint8_t p[2048];
    size_t n;
};

static inline void packet_add(struct packet_bytes *b, const void *p, size_t n)
{
    if (n > 0)
        memcpy(b->p + b->n, p, n);
    b->n += n;
}

static inline void packet_be16(struct packet_bytes *b, uint16_t v)
{
    packet_add(b, (uint8_t[]){(uint8_t)(v >> 8), (uint8_t)v}, 2);
}

static inline void packet_be32(struct packet_bytes *b, uint32_t v)
{
    packet_be16(b, (uint16_t)(v >> 16));
    packet_be16(b, (uint16_t)v);
}

/* The TCP header, with n bytes of options (a multiple of 4), and the payload. */
static inline void packet_tcp(struct packet_bytes *b, const struct segment *s, const void *options,
                              size_t n)
{
    packet_be16(b, s->from.port);
    packet_be16(b, s->to.port);
    packet_be32(b, s->seq);
    packet_be32(b, s->ack);
    packet_add(b, (uint8_t[]){(uint8_t)((20 + n) << 2), s->flags}, 2);
    packet_be16(b, s->window);
    packet_be32(b, 0); /* checksum, urgent pointer */
    packet_add(b, options, n);
    packet_add(b, s->data, s->n);
}

/* The IPv4 header of a packet whose IP payload has n bytes. */
static inline void packet_ipv4(struct packet_bytes *b, const struct segment *s, size_t n)
{
    packet_add(b, (uint8_t[]){0x45, 0}, 2);
    packet_be16(b, (uint16_t)(20 + n));
    packet_add(b, (uint8_t[]){0, 0, 0x40, 0, 64, 6, 0, 0}, 8);
    packet_add(b, s->from.addr, 4);
    packet_add(b, s->to.addr, 4);
}

/* A whole IPv4 packet of link type RAW. */
static inline void packet_raw(struct packet_bytes *b, const struct segment *s)
{
    b->n = 0;
    packet_ipv4(b, s, 20 + s->n);
    packet_tcp(b, s, NULL, 0);
}

#endif
