/* Packets of a live interface, by libpcap. */
#ifndef CAPTURE_SOURCE_PCAP_H
#define CAPTURE_SOURCE_PCAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "traces/base/err.h"
#include "traces/writer.h"

enum { SOURCE_BLOCK_MS = 50 }; /* a packet may wait this long in the kernel before it can be read */

struct source_want {
    const char *interface; /* NULL: the loopback interface */
    const char *filter;    /* BPF text */
    uint32_t snaplen;
    uint64_t buffer_bytes; /* ring in the kernel */
};

struct source;

/* Opens, filters and starts: every packet from its return on is caught. Errors: TA_EUSAGE for a
 * filter that does not compile, else TA_ESYS; *denied tells that it was for want of rights. */
int source_open(struct source **out, const struct source_want *want, bool *denied, struct err *e)
    TA_NODISCARD;
void source_close(struct source *s);

const char *source_interface(const struct source *s);
uint16_t source_link(const struct source *s); /* LINKTYPE_… */
uint32_t source_snaplen(const struct source *s);
uint64_t source_ring_bytes(const struct source *s); /* granted; 0 = can't be told */

/* Readable when there are packets. Also call source_drain every SOURCE_BLOCK_MS: some systems' does
 * not wake. */
int source_fd(const struct source *s);

/* Real time; p lives for the call. A negative return stops the drain, is returned by it and is
 * sticky. */
typedef int source_packet_fn(void *ctx, int64_t t_ns, const uint8_t *p, size_t n, size_t wire_n);

/* Hands on what is ready, in bounded time. */
int source_drain(struct source *s, source_packet_fn *fn, void *ctx, struct err *e) TA_NODISCARD;

/* Totals since source_open. */
struct writer_counts source_counts(struct source *s);

/* "libpcap version 1.10.3 (with TPACKET_V3)" */
const char *source_version(void);

#endif
