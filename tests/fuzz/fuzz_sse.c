/* Fuzzes traces/sse: any bytes, any pieces, the same events. */
#include "tests/fuzz/split.h"
#include "traces/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t run(int variant, const uint8_t *p, size_t n, size_t step, size_t gap_at)
{
    struct said s = {14695981039346656037u};
    (void)variant;
    struct sse *sse = sse_new((struct event_sink){&s, said_event, said_end},
                              (struct anomaly_sink){&s, said_anomaly});
    split_feed(sse_input(sse), p, n, step, gap_at);
    sse_free(sse);
    return s.hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return split_check(run, data, size);
}
