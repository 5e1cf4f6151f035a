/* Fuzzes all of analyze: a trace, as a file or as a script (tests/fuzz/script.h), with claims. The
 * first byte chooses the options, whether it is loaded twice, and whether it is a script. The
 * reports must be what they say they are. */
#include "tests/fuzz/audit.h"
#include "tests/fuzz/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TWICE = 1, FILE_ITSELF = 2, NO_GATES = 4, RUN_GAP = 8, FIRST_ONLY = 16, MAX_RATE = 32 };

static const char *const claims[] = {
    "rate=14000tok/s",   "rate.p50=50",       "rate@1=60",          "rate@2=14,000 tok/s",
    "throughput=120",    "ttft.p50=90ms",     "ttft@1=90ms",        "latency.p99=1s",
    "itl.mean=20ms",     "tpot@1=20ms",       "prompt_rate=1000",   "output_tokens.sum=20",
    "input_tokens@1=3",  "requests=1",        "failed=0",           "concurrency=2",
    "speedup=2.17x",     "memory=20GB",       "peak_throughput=90", "icl.p99=30ms",
    "release_skew=10us", "wall_tps_p50=41.4", "rate.max=1e99",     "e2el@9=0ms",
};

static struct audit_options options_of(unsigned how)
{
    struct audit_options o = audit_defaults;
    if (how & NO_GATES)
        o.gate_events = o.gate_reads = o.gate_tokens = o.gate_window_ns = 0;
    if (how & RUN_GAP)
        o.run_gap_ns = 100000000;
    if (how & MAX_RATE)
        o.max_rate = 200;
    if ((how & FIRST_ONLY) && (how & TWICE))
        o.claim_trace = 1;
    return o;
}

static void fuzz_file(unsigned how, const void *p, size_t n)
{
    struct audit a = {0};
    struct audit_options o = options_of(how);
    struct err e;
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        if (claims_add(&a, claims[i], &e) != TA_OK)
            abort();
    }
    if (audit_load(&a, p, n) && (!(how & TWICE) || audit_load(&a, p, n))) {
        audit_judge(&a, &o);
        audit_check_text(&a);
        audit_check_json(&a);
        audit_check_figures(&a);
        audit_check_page(&a, &o);
    }
    audit_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] & FILE_ITSELF) {
        fuzz_file(data[0], data + 1, size - 1);
        return 0;
    }
    struct script s;
    script_begin(&s);
    script_run(&s, data + 1, size - 1);
    fuzz_file(data[0], s.file.p, s.file.n);
    buf_done(&s.file);
    return 0;
}
