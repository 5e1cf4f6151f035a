/* IP fragments put together again (RFC 815, RFC 8200 4.5; pitfall C15). Of bytes that came twice
 * the first count. A datagram that stays incomplete is given up after LIMIT_FRAGMENT_NS of capture
 * time, or, the oldest first, when there are too many. */
#ifndef TRACES_FRAGMENTS_H
#define TRACES_FRAGMENTS_H

#include "traces/ip.h"

struct fragments;

struct fragments_totals {
    uint64_t fragments; /* seen */
    uint64_t lost;      /* that never became part of a whole datagram */
};

struct fragments *fragments_new(void);
void fragments_free(struct fragments *f);

/* One fragment, stamped t_ns. True if it completes its datagram: then *whole has all of it,
 * borrowed until the next call. Where a fragment was snapped, whole->n ends. */
bool fragments_add(struct fragments *f, const struct ip_fragment *part, int64_t t_ns,
                   struct ip_fragment *whole);

/* link_decode that puts fragments together: a datagram in pieces is LINK_FRAGMENT until the last of
 * them, which decides what it is. The segment's bytes are borrowed until the next call. */
enum link_verdict fragments_decode(struct fragments *f, uint16_t link, const uint8_t *p, size_t n,
                                   size_t wire_n, int64_t t_ns, struct segment *out);

/* What still waits counts as lost. */
struct fragments_totals fragments_totals(const struct fragments *f);

#endif
