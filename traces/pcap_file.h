/* The classic pcap file (draft-ietf-opsawg-pcap), read one header at a time, in memory. */
#ifndef TRACES_PCAP_FILE_H
#define TRACES_PCAP_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PCAP_FILE_HEAD_BYTES = 24, PCAP_RECORD_HEAD_BYTES = 24 /* the most of any variant */ };

struct pcap_file {
    bool big;
    bool nano;
    uint16_t link;
    size_t record_head_bytes;
};

struct pcap_record {
    int64_t t_ns;
    uint32_t n, wire_n;
};

/* The file's first PCAP_FILE_HEAD_BYTES; false if they are none of the known variants. */
bool pcap_file_head(struct pcap_file *f, const uint8_t *p);

/* A record's first record_head_bytes; its n data bytes follow. False if it cannot be one. */
bool pcap_file_record(const struct pcap_file *f, const uint8_t *p, struct pcap_record *out);

#endif
