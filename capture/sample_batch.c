/* Samples by deadline, in batches. A late sample says so: on a machine that stalls, that is data.
 */
#include "capture/sample_batch.h"

#include <sys/resource.h>

#include "traces/base/clock.h"
#include "traces/limits.h"

enum { BLOCK_NS = NS_PER_S, BLOCK_BYTES = LIMIT_CUSTOM_JSON_BYTES / 2 };

void sample_batch_init(struct sample_batch *b, struct sampler *sampler, struct writer *w, int hz)
{
    *b = (struct sample_batch){.sampler = hz > 0 ? sampler : NULL, .writer = w};
    b->period_ns = hz > 0 ? NS_PER_S / hz : NS_PER_S;
    b->due_ns = b->flushed_ns = clock_mono_ns();
    buf_init(&b->json, LIMIT_CUSTOM_JSON_BYTES);
}

void sample_batch_done(struct sample_batch *b)
{
    buf_done(&b->json);
}

static void begin_block(struct sample_batch *b)
{
    if (b->json.n > 0)
        return;
    jsonw_init(&b->w, &b->json, 0);
    jsonw_object(&b->w, NULL);
    jsonw_text(&b->w, "kind", "samples");
    jsonw_array(&b->w, "samples");
}

static int write_block(struct sample_batch *b, struct err *e)
{
    jsonw_end(&b->w);
    jsonw_end(&b->w);
    int r = writer_custom(b->writer, (struct slice){(const char *)b->json.p, b->json.n}, e);
    buf_clear(&b->json);
    b->flushed_ns = clock_mono_ns();
    return r;
}

/* Deadlines that passed are skipped and counted, never made up for in a bunch. */
static void set_next(struct sample_batch *b, int64_t now_ns)
{
    int64_t passed = (now_ns - b->due_ns) / b->period_ns;
    b->missed += (uint64_t)passed;
    b->due_ns += (passed + 1) * b->period_ns;
}

int sample_batch_step(struct sample_batch *b, uint64_t *wait_ms, struct err *e)
{
    int r = TA_OK;
    int64_t now_ns = clock_mono_ns();
    if (now_ns >= b->due_ns) {
        begin_block(b);
        sampler_take(b->sampler, now_ns - b->due_ns, &b->w);
        set_next(b, now_ns);
    }
    if (b->json.n > 0 && (now_ns - b->flushed_ns >= BLOCK_NS || b->json.n > BLOCK_BYTES))
        r = write_block(b, e);
    int64_t left_ns = b->due_ns - clock_mono_ns();
    *wait_ms = left_ns > 0 ? (uint64_t)((left_ns + NS_PER_MS - 1) / NS_PER_MS) : 0;
    return r;
}

int sample_batch_divide(struct sample_batch *b, struct err *e)
{
    if (b->sampler != NULL)
        sampler_repeat(b->sampler);
    return b->json.n > 0 ? write_block(b, e) : TA_OK;
}

static int64_t ns_of(struct timeval t)
{
    return (int64_t)t.tv_sec * NS_PER_S + (int64_t)t.tv_usec * NS_PER_US;
}

static void put_self(struct sample_batch *b)
{
    struct rusage used;
    jsonw_object(&b->w, NULL);
    jsonw_text(&b->w, "k", "s");
    jsonw_ns(&b->w, "t", clock_real_ns());
    jsonw_ns(&b->w, "mono", clock_mono_ns());
    jsonw_object(&b->w, "self");
    if (getrusage(RUSAGE_SELF, &used) == 0) {
        jsonw_int(&b->w, "cpu_ns", ns_of(used.ru_utime) + ns_of(used.ru_stime));
        jsonw_int(&b->w, "cpu_user_ns", ns_of(used.ru_utime));
    }
    jsonw_u64(&b->w, "missed", b->missed);
    jsonw_end(&b->w);
    jsonw_end(&b->w);
}

int sample_batch_end(struct sample_batch *b, struct err *e)
{
    begin_block(b);
    put_self(b);
    return write_block(b, e);
}
