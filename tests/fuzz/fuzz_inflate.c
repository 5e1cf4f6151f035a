/* Fuzzes traces/inflate: any bytes, any pieces, the same decoded bytes and anomalies. */
#include "tests/fuzz/split.h"
#include "traces/inflate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct decoded {
    struct said said;
    uint64_t next;
};

static int said_data(void *ctx, struct span in)
{
    struct decoded *d = ctx;
    if (in.n == 0 || in.at.off != d->next)
        abort();
    d->next += in.n;
    said_bytes(&d->said, in.p, in.n);
    return TA_OK;
}

static int said_gap(void *ctx, uint64_t n, struct mark at)
{
    struct decoded *d = ctx;
    if (at.off != d->next)
        abort();
    d->next += n;
    said_u64(&d->said, n);
    return TA_OK;
}

static int decoded_end(void *ctx, enum end_kind why, struct mark at)
{
    struct decoded *d = ctx;
    if (at.off != d->next)
        abort();
    said_u64(&d->said, why);
    return TA_OK;
}

static uint64_t run(int variant, const uint8_t *p, size_t n, size_t step, size_t gap_at)
{
    struct decoded d = {{14695981039346656037u}, 0};
    struct inflate *z = inflate_new(variant & 1 ? INFLATE_DEFLATE : INFLATE_GZIP,
                                    (struct byte_sink){&d, said_data, said_gap, decoded_end},
                                    (struct anomaly_sink){&d.said, said_anomaly});
    split_feed(inflate_input(z), p, n, step, gap_at);
    inflate_free(z);
    return d.said.hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return split_check(run, data, size);
}
