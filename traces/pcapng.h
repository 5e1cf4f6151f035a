/* The blocks of a pcapng file (draft-ietf-opsawg-pcapng), written and read one at a time, in
 * memory. */
#ifndef TRACES_PCAPNG_H
#define TRACES_PCAPNG_H

#include <stdbool.h>
#include <stdint.h>

#include "traces/base/buf.h"
#include "traces/base/span.h"

enum {
    PCAPNG_SECTION = 0x0A0D0D0A,
    PCAPNG_INTERFACE = 1,
    PCAPNG_OLD_PACKET = 2,
    PCAPNG_SIMPLE_PACKET = 3,
    PCAPNG_NAMES = 4,
    PCAPNG_STATISTICS = 5,
    PCAPNG_PACKET = 6,
    PCAPNG_JOURNAL = 9, /* systemd journal export: a frame to Wireshark, as the sysdig events are */
    PCAPNG_SYSDIG_EVENT = 0x204,
    PCAPNG_SYSDIG_EVENT_V2 = 0x216,
    PCAPNG_SYSDIG_EVENT_V2_LARGE = 0x221,
    PCAPNG_CUSTOM = 0x0BAD,
    PCAPNG_CUSTOM_NO_COPY = 0x40000BAD
};

enum { PCAPNG_HEAD_BYTES = 12 }; /* enough of any block to frame it */

/* Unaligned reads in the section's order, and little-endian writes. */
uint16_t pcapng_rd16(const uint8_t *p, bool big);
uint32_t pcapng_rd32(const uint8_t *p, bool big);
uint64_t pcapng_rd64(const uint8_t *p, bool big);
void pcapng_wr32(uint8_t *p, uint32_t v);

/* --- writing: one block, little-endian, appended to out; TA_ELIMIT if out is full and nothing
 * added ---- */

/* Texts may be NULL; those over an option's 65535 bytes are left out. */
int pcapng_add_section(struct buf *out, const char *application, struct slice comment) TA_NODISCARD;

/* Times of its packets are in nanoseconds. */
int pcapng_add_interface(struct buf *out, uint16_t link, uint32_t snaplen, const char *name,
                         const char *filter) TA_NODISCARD;

int pcapng_add_packet(struct buf *out, int64_t t_ns, const uint8_t *p, size_t n, size_t wire_n)
    TA_NODISCARD;

/* UINT64_MAX: not known, left out. accepted: by the filter; if_dropped: by the interface;
 * os_dropped: by the system, for want of room. */
int pcapng_add_statistics(struct buf *out, int64_t t_ns, uint64_t accepted, uint64_t if_dropped,
                          uint64_t os_dropped) TA_NODISCARD;

/* A copyable custom block of ours (traces/custom.h) around one JSON object. */
int pcapng_add_custom(struct buf *out, struct slice json) TA_NODISCARD;

/* --- reading
 * ------------------------------------------------------------------------------------------- */

/* What interface statistics count, in the order of their options from 4. */
enum { COUNT_RECEIVED, COUNT_IF_DROPPED, COUNT_ACCEPTED, COUNT_OS_DROPPED, PCAPNG_COUNTS };

struct pcapng_counts {
    bool stated[PCAPNG_COUNTS];
    uint64_t n[PCAPNG_COUNTS];
};

struct pcapng_interface {
    uint16_t link;
    uint32_t snaplen; /* 0: no limit */
    uint8_t tsresol;  /* as in the option; default 6 */
    int64_t tsoffset_s;
    struct pcapng_counts counts; /* as stated last */
};

/* The section that is being read. All zero: none has begun. */
struct pcapng {
    bool open;    /* a section header was seen, so the order is known */
    bool big;     /* its byte order */
    bool foreign; /* a version that nobody knows: walked over, not read */
    struct pcapng_interface *interfaces;
    size_t n, cap;
    struct pcapng_counts before; /* of the sections before */
};

void pcapng_done(struct pcapng *s);

enum pcapng_frame {
    PCAPNG_FRAME_OK,
    PCAPNG_FRAME_BAD,      /* no block stands here */
    PCAPNG_FRAME_TOO_LARGE /* over LIMIT_BLOCK_BYTES */
};

/* The byte order that a section header's magic states; its first PCAPNG_HEAD_BYTES are at p. */
bool pcapng_is_big(const uint8_t *p);

/* The whole length of the block whose first PCAPNG_HEAD_BYTES are at p. A section header's own
 * byte-order magic counts. */
enum pcapng_frame pcapng_frame(const struct pcapng *s, const uint8_t *p, uint32_t *block_bytes);

/* Could a block begin at p[0..n)? For finding one's way back behind damage. */
bool pcapng_begins(const struct pcapng *s, const uint8_t *p, size_t n);

enum pcapng_what {
    PCAPNG_IS_NOTHING, /* read, nothing to hand on (headers, names, secrets) */
    PCAPNG_IS_PACKET,
    PCAPNG_IS_CUSTOM, /* one of ours: json is set */
    PCAPNG_IS_COUNTS,
    PCAPNG_IS_FRAME,   /* not ours to read, but Wireshark shows it as a frame */
    PCAPNG_IS_UNKNOWN, /* a type that is not known, or in a foreign section */
    PCAPNG_IS_BAD      /* its fields contradict its length, or its interface does not exist */
};

struct pcapng_block {
    int64_t t_ns;
    bool has_time;
    uint16_t link;
    uint32_t interface; /* of a packet: its number in the section */
    const uint8_t *p;   /* packet data, inside the block */
    size_t n, wire_n;
    struct slice json;
    uint64_t accepted, received, if_dropped, os_dropped; /* of all interfaces so far, as each stated
                                                            it last; UINT64_MAX: none did */
};

/* One whole, framed block: updates the section and tells what it is. */
enum pcapng_what pcapng_read(struct pcapng *s, const uint8_t *block, size_t n,
                             struct pcapng_block *out);

/* ticks of an interface's clock as ns since the epoch; false if its resolution is absurd (10^-20 or
 * finer) or the time does not fit. */
bool pcapng_time(const struct pcapng_interface *i, uint64_t ticks, int64_t *t_ns);

#endif
