/* A trace being written: gzip'd pcapng as traces/FORMAT.md says, in independent gzip members.
 *
 * Blocks are gathered by the calling thread; a thread of the writer's own compresses, hashes and
 * writes them. After a crash all but the last LIMIT_MEMBER_NS are on the disk. One thread calls;
 * errors of the other (a full disk) come out of the next call and are sticky. */
#ifndef TRACES_WRITER_H
#define TRACES_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "traces/base/err.h"
#include "traces/base/span.h"

struct writer;

/* What a trace says of itself: becomes the section header's and interface's options and the
 * manifest block. Texts are borrowed for the call; NULL where unknown. */
struct writer_origin {
    const char *vantage; /* "libpcap" or "socket" */
    uint16_t link;       /* LINKTYPE_… of all packets */
    uint32_t snaplen;
    const char *interface; /* "lo" */
    const char *filter;    /* BPF text */
    const char *host;
    const char *command;   /* the load, for people */
    const char *label;     /* what the run is called in reports */
    const char *simulated; /* name of the simulated server profile, if the server is one */
    bool copied; /* of another capture: its clock pairs are the source's, none of this machine's */
    const char *redacted; /* "secrets" or "bodies": what was overwritten before it came here */
    /* 0 for all in one file; else it is time for the next (rotation.h has their names) when one is
     * so large, or was written for so long; of a copy, when its packets span so long. */
    uint64_t rotate_bytes;
    int64_t rotate_ns;
};

bool writer_rotates(const struct writer_origin *o);

/* Creates path ("-": stdout; mode 0600) and writes the first member at once. */
int writer_open(struct writer **out, const char *path, const struct writer_origin *origin,
                struct err *e) TA_NODISCARD;

/* One packet: n captured of wire_n bytes, stamped t_ns (real time). */
int writer_packet(struct writer *w, int64_t t_ns, const uint8_t *p, size_t n, size_t wire_n,
                  struct err *e);

/* One custom block: a whole JSON object whose first member is "kind". */
int writer_custom(struct writer *w, struct slice json, struct err *e);

/* Totals so far, as the source counts them; UINT64_MAX = unknown. Becomes an Interface Statistics
 * Block. */
struct writer_counts {
    uint64_t received;   /* passed the filter */
    uint64_t dropped;    /* by the kernel, for want of room */
    uint64_t if_dropped; /* by the interface */
};
int writer_counts(struct writer *w, int64_t t_ns, struct writer_counts c, struct err *e);

/* From now on what is written is also synced, by the writer's thread: after a power cut, too, no
 * more than about a second is missing. */
int writer_sync(struct writer *w, struct err *e) TA_NODISCARD;

/* Call at least every 100 ms: takes clock pairs, every ten seconds and where the clock was set
 * since the last call, and hands on a member that is due. */
int writer_tick(struct writer *w, struct err *e);

/* Is it time for the next file, before a packet of t_ns? -1: no packet is at hand, and only the
 * time counts: a file is not begun for nothing because the one before is large. */
bool writer_is_full(const struct writer *w, int64_t t_ns);

/* Ends the file, and goes on in the next. Both are done by the writer's thread: the caller does not
 * wait for the disk. t_ns and c as for writer_counts: each file counts from its own start. */
int writer_rotate(struct writer *w, int64_t t_ns, struct writer_counts c, struct err *e)
    TA_NODISCARD;

uint64_t writer_parts(const struct writer *w); /* files begun */

/* Told to end, one has no time for a reader of the output, the other end of a pipe, that has
 * stopped reading: if it takes nothing for a second, that is an error from now on. (Likewise while
 * SIGINT, SIGTERM or SIGHUP is pending, blocked in all threads: the caller's thread blocks them
 * itself while it waits for room.) */
void writer_hurry(struct writer *w);

/* Packets and bytes accepted so far, in all files. */
uint64_t writer_packets(const struct writer *w);
uint64_t writer_bytes(const struct writer *w); /* of packet data, uncompressed */

/* Writes the last clock pair and the closing block, waits for the disk, frees. *e as usual; w is
 * gone. */
int writer_close(struct writer *w, struct err *e);

#endif
