/* Fuzzes traces/ndjson: any bytes, any pieces, the same events. */
#include "tests/fuzz/split.h"
#include "traces/ndjson.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
