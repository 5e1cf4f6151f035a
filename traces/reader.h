/* The one pull interface: the records of a trace or capture in file order, times unified to ns
 * since the epoch.
 *
 * Reads pcapng, gzip'd (any number of members) or plain. Damage is lived with: a gzip member that
 * fails its check is dropped whole, the first one of a trace of ours included; one cut short gives
 * what it holds; both are counted in reader_health. */
#ifndef TRACES_READER_H
#define TRACES_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "traces/base/err.h"
#include "traces/base/span.h"

enum rec_kind {
    REC_PACKET,
    REC_CUSTOM, /* one of ours; json is set */
    REC_COUNTS  /* interface statistics */
};

struct rec {
    enum rec_kind kind;
    uint64_t frame; /* as Wireshark counts this file: packets and custom blocks; 0 for REC_COUNTS */
    int64_t t_ns;   /* 0 for REC_CUSTOM and where has_time is false */
    bool has_time;
    uint16_t link;                  /* of REC_PACKET */
    uint32_t interface, interfaces; /* which of how many so far; a pcap file has one */
    const uint8_t *p;               /* packet bytes; everything borrowed until the next call */
    size_t n;
    size_t wire_n;                          /* original length */
    struct slice json;                      /* of REC_CUSTOM */
    uint64_t received, dropped, if_dropped; /* of REC_COUNTS; UINT64_MAX = not stated */
};

struct reader_health {
    bool truncated;           /* the file ends inside a block or a gzip member */
    uint64_t damaged_members; /* dropped whole */
    uint64_t skipped_blocks;  /* of unknown type, walked over */
    uint64_t bad_blocks; /* lengths that contradict each other, packets of unknown interfaces */
    uint64_t file_bytes;
    char sha256[65]; /* of the file as read so far: complete after the last record */
    char note[200];  /* the first damage in words, with its offset; "" if none */
};

struct reader;

/* TA_EFORMAT for everything that cannot be used: missing, a directory, not a capture, damaged from
 * the start; the text is one line with the path. "-" reads stdin. */
int reader_open(struct reader **out, const char *path, struct err *e) TA_NODISCARD;

/* The same. A thread inflates beside the reading once `after` bytes have been read (SIZE_MAX:
 * never; reader_open: READER_AHEAD_AFTER); what is read does not depend on it. */
enum { READER_AHEAD_AFTER = 1 << 20 };
int reader_open_ahead(struct reader **out, const char *path, size_t after, struct err *e)
    TA_NODISCARD;

/* 1 and *out; 0 at the end; negative only for faults of the tool (a failing disk). */
int reader_next(struct reader *r, struct rec *out, struct err *e) TA_NODISCARD;

const struct reader_health *reader_health(const struct reader *r);
void reader_close(struct reader *r);

#endif
