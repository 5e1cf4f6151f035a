/* Fuzzes traces/ndjson: any bytes, any pieces, the same events. */
#include "tests/fuzz/split.h"
#include "traces/ndjson.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int said_event(void *ctx, const struct event *ev)
{
    struct said *s = ctx;
    said_u64(s, ev->kind);
    said_text(s, ev->type);
    said_text(s, ev->data);
    said_u64(s, ev->index);
    said_u64(s, ev->first.off);
    said_u64(s, ev->last.off);
    if (ev->last.off < ev->first.off)
        abort();
    return TA_OK;
}

static int said_end(void *ctx, enum end_kind why, struct mark at)
{
    said_u64(ctx, why);
    said_u64(ctx, at.off);
    return TA_OK;
}

static void said_anomaly(void *ctx, const struct anomaly *a)
{
    said_text(ctx, slice_of(a->id));
    said_u64(ctx, a->at.off);
    said_u64(ctx, a->n);
}

static uint64_t run(int variant, const uint8_t *p, size_t n, size_t step, size_t gap_at)
{
    struct said s = {14695981039346656037u};
    (void)variant;
    struct ndjson *j = ndjson_new((struct event_sink){&s, said_event, said_end},
                                  (struct anomaly_sink){&s, said_anomaly});
    split_feed(ndjson_input(j), p, n, step, gap_at);
    ndjson_free(j);
    return s.hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return split_check(run, data, size);
}
