/* The two ends of a connection as the key of a hash table: one for both directions. */
#ifndef TRACES_TCP_KEY_H
#define TRACES_TCP_KEY_H

#include <stdint.h>
#include <string.h>

#include "traces/link.h"

enum { TCP_KEY_END_BYTES = 20 };

struct tcp_key {
    uint8_t bytes[2 * TCP_KEY_END_BYTES]; /* the smaller end first */
};

static inline void tcp_key_put(uint8_t out[TCP_KEY_END_BYTES], const struct endpoint *e)
{
    out[0] = e->family;
    memcpy(out + 1, e->addr, 16);
    out[17] = (uint8_t)(e->port >> 8);
    out[18] = (uint8_t)e->port;
    out[19] = 0;
}

/* Returns which of the key's two ends, 0 or 1, the sender is. */
static inline unsigned tcp_key_of(const struct segment *s, struct tcp_key *key)
{
    uint8_t *a = key->bytes, *b = key->bytes + TCP_KEY_END_BYTES;
    tcp_key_put(a, &s->from);
    tcp_key_put(b, &s->to);
    if (memcmp(a, b, TCP_KEY_END_BYTES) <= 0)
        return 0;
    tcp_key_put(a, &s->to);
    tcp_key_put(b, &s->from);
    return 1;
}

/* For uthash, whose own goes byte by byte: a third of what a segment costs. A product carries what
 * differs upwards alone, so the upper half is folded down and multiplied once more: ends that
 * differ in a port alone must differ in the low bits, by which the table is divided. */
static inline unsigned tcp_key_hash(const struct tcp_key *key)
{
    const uint64_t odd = UINT64_C(0x9E3779B97F4A7C15);
    uint64_t hash = 0, part;
    _Static_assert(sizeof *key % sizeof part == 0, "whole parts");
    for (size_t i = 0; i < sizeof *key; i += sizeof part) {
        memcpy(&part, key->bytes + i, sizeof part);
        hash = (hash ^ part) * odd;
        hash ^= hash >> 32;
    }
    return (unsigned)(hash * odd >> 32);
}

#endif
