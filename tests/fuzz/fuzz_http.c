/* Fuzzes traces/http: any bytes, any pieces, the same messages. */
#include "tests/fuzz/split.h"
#include "traces/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int said_body(void *ctx, struct span in)
{
    struct said *s = ctx;
    for (size_t i = 0; i < in.n; i++) {
        said_u64(s, in.at.off + i);
        said_bytes(s, in.p + i, 1);
    }
    return TA_OK;
}

static int said_gap(void *ctx, uint64_t n, struct mark at)
{
    said_u64(ctx, n);
    said_u64(ctx, at.off);
    return TA_OK;
}

static int said_head(void *ctx, const struct http_head *h, struct byte_sink *body)
{
    struct said *s = ctx;
    said_u64(s, (uint64_t)h->status);
    said_text(s, h->method);
    said_text(s, h->target);
    said_text(s, h->reason);
    for (size_t i = 0; i < h->n_fields; i++) {
        said_text(s, h->fields[i].name);
        said_text(s, h->fields[i].value);
    }
    said_u64(s, h->framing);
    said_u64(s, h->length);
    said_u64(s, h->keep_alive);
    said_u64(s, h->first.off);
    said_u64(s, h->last.off);
    *body = (struct byte_sink){s, said_body, said_gap, said_end};
    return TA_OK;
}

static int said_done(void *ctx, enum end_kind why, bool complete, struct mark last)
{
    said_u64(ctx, (uint64_t)why * 2 + complete);
    said_u64(ctx, last.off);
    return TA_OK;
}

static uint64_t run(int variant, const uint8_t *p, size_t n, size_t step, size_t gap_at)
{
    struct said s = {14695981039346656037u};
    struct http *h = http_new(variant & 1 ? HTTP_RESPONSES : HTTP_REQUESTS,
                              (struct http_sink){&s, said_head, said_done},
                              (struct anomaly_sink){&s, said_anomaly});
    http_expect(h, (enum http_expect)(variant / 2 % 4));
    split_feed(http_input(h), p, n, step, gap_at);
    http_free(h);
    return s.hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return split_check(run, data, size);
}
