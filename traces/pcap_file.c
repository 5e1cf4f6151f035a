/* Classic pcap: draft-ietf-opsawg-pcap sections 4 and 5, and the record header of Alexey
 * Kuznetsov's patch. */
#include "traces/pcap_file.h"

#include "traces/limits.h"
#include "traces/pcapng.h"

static const struct {
    uint32_t magic;
    bool nano;
    size_t record_head_bytes;
} variants[] = {
    {0xa1b2c3d4, false, 16},
    {0xa1b23c4d, true, 16},
    {0xa1b2cd34, false, 24}, /* "modified": interface, protocol and type follow */
};

bool pcap_file_head(struct pcap_file *f, const uint8_t *p)
{
    for (int big = 0; big < 2; big++) {
        for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
            if (pcapng_rd32(p, big) != variants[i].magic)
                continue;
            f->big = big;
            f->nano = variants[i].nano;
            f->record_head_bytes = variants[i].record_head_bytes;
            f->link = (uint16_t)pcapng_rd32(p + 20, big); /* the upper half: frame check sequence */
            return pcapng_rd16(p + 4, big) == 2;
        }
    }
    return false;
}

bool pcap_file_record(const struct pcap_file *f, const uint8_t *p, struct pcap_record *out)
{
    int64_t fraction = pcapng_rd32(p + 4, f->big);
    out->t_ns = pcapng_rd32(p, f->big) * INT64_C(1000000000) + fraction * (f->nano ? 1 : 1000);
    out->n = pcapng_rd32(p + 8, f->big);
    out->wire_n = pcapng_rd32(p + 12, f->big);
    if (out->wire_n < out->n)
        out->wire_n = out->n;
    return out->n <= LIMIT_BLOCK_BYTES;
}
