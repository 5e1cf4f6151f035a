/* Claims of tools against a trace: each under that tool's own definition, of the requests that the
 * file is about, row by row where rows can be joined. */
#include <math.h>

#include "analyze/claims_file.h"
#include "analyze/contradictions.h"
#include "tests/unit/analyze/scene.h"
#include "traces/base/buf.h"

/* Everything 0.3 s apart that a definition may take for another: role, first text, last text, end.
 */
static const struct act spread = {.t0 = 0,
                                  .head = 0.1,
                                  .role = 0.4,
                                  .first = 1.0,
                                  .last = 4.0,
                                  .end = 4.5,
                                  .events = 301,
                                  .tokens = 301,
                                  .prompt = 50};

static void verdict_is(const struct claim *c, enum verdict v)
{
    if (c->verdict != v)
        fail_msg("%s: %s, not %s: %s", c->text, verdict_name(c->verdict), verdict_name(v),
                 c->reason);
}

struct defined {
    const char *tool, *metric, *value;
    enum verdict verdict;
    const char *as; /* recomputed_as begins so */
};

static const struct defined defined[] = {
    {"vllm", "ttft", "1s", VERDICT_CONFIRMED, "vllm ttft: o_1-t0"},    /* 0.33 … */
    {"vllm", "ttft", "400ms", VERDICT_CONFIRMED, "vllm ttft: c_1-t0"}, /* … and before */
    {"vllm", "ttft", "700ms", VERDICT_DIFFERS, "vllm ttft: o_1-t0"},   /* between is neither */
    {"vllm", "ttft", "415ms", VERDICT_NOT_MEASURABLE, NULL}, /* late against either of them */
    {"vllm", "ttft", "430ms", VERDICT_DIFFERS, "vllm ttft: c_1-t0"}, /* the nearer one is said */
    {"vllm", "latency", "4s", VERDICT_CONFIRMED, "vllm e2el: o_M-t0"},
    {"vllm", "tpot", "10ms", VERDICT_CONFIRMED, "vllm tpot: (o_M-o_1)/(N-1)"},
    {"vllm", "duration", "4.6s", VERDICT_CONFIRMED, "vllm duration"},
    {"vllm", "duration", "3.5s", VERDICT_DIFFERS, "vllm duration"},
    {"vllm", "total_tps", "78tok/s", VERDICT_CONFIRMED, "vllm total_token_throughput"},
    {"sglang", "ttft", "1s", VERDICT_CONFIRMED, "sglang ttft: o_1-t0"},
    {"aiperf", "ttft", "1s", VERDICT_CONFIRMED, "aiperf ttft"},
    {"aiperf", "ttft", "400ms", VERDICT_DIFFERS, "aiperf ttft"}, /* and P24 says why */
    {"genai-perf", "ttft", "400ms", VERDICT_CONFIRMED, "genai-perf ttft"},
    {"guidellm", "tpot", "13.289ms", VERDICT_CONFIRMED, "guidellm tpot: sum(o_M-t0)/sum(N)"},
    {"guidellm", "tpot", "10ms", VERDICT_DIFFERS, "guidellm tpot"},
    {"guidellm", "itl", "10ms", VERDICT_CONFIRMED, "guidellm itl"},
    {"aiperf", "itl", "10ms", VERDICT_CONFIRMED, "aiperf inter_token_latency"},
    {"llmperf", "itl", "13.289ms", VERDICT_CONFIRMED, "llmperf inter_token_latency"},
    {"llmperf", "itl", "10ms", VERDICT_DIFFERS, "llmperf inter_token_latency"},
    {"sglang", "latency", "4.5s", VERDICT_CONFIRMED, "sglang e2e_latency: z-t0"},
    {"sglang", "latency", "4.0s", VERDICT_DIFFERS, "sglang e2e_latency"},
    {"sglang", "tpot", "11.667ms", VERDICT_CONFIRMED, "sglang tpot: (z-o_1)/(N-1)"},
    {"aiperf", "latency", "4s", VERDICT_CONFIRMED, "aiperf request_latency: o_M-t0"},
    {"inference-perf", "ntpot", "14.95ms", VERDICT_CONFIRMED, "inference-perf normalized"},
    {"inference-perf", "tpot", "10ms", VERDICT_CONFIRMED, "inference-perf time_per_output_token"},
    {"llama-benchy", "ttfr", "400ms", VERDICT_CONFIRMED, "llama-benchy ttfr"},
    {"llama-benchy", "output_tps_user", "85.7tok/s", VERDICT_CONFIRMED,
     "llama-benchy tg_req: (N-1)/(z-o_1)"},
    {"llama-benchy", "output_tps_user", "100tok/s", VERDICT_CONFIRMED,
     "llama-benchy tg_req: (N-1)/(o_M-o_1)"},
    {"vllm", "throughput", "66.9tok/s", VERDICT_CONFIRMED, "vllm output_throughput"},
    {"vllm", "throughput", "65.5tok/s", VERDICT_CONFIRMED,
     "vllm output_throughput"},                                    /* T ends later … */
    {"vllm", "throughput", "60tok/s", VERDICT_NOT_MEASURABLE, NULL}, /* … by half a second */
    {"vllm", "throughput", "50tok/s", VERDICT_DIFFERS, "vllm output_throughput"},
    {"vllm", "throughput", "90tok/s", VERDICT_DIFFERS, "vllm output_throughput"},
    {"aiperf", "throughput", "75.2tok/s", VERDICT_CONFIRMED, "aiperf output_token_throughput"},
    {"aiperf", "total_tps", "87.7tok/s", VERDICT_CONFIRMED, "aiperf total_token_throughput"},
    /* Its own tokenizer: a little off is not decided, far off is. */
    {"aiperf", "output_tokens", "301", VERDICT_CONFIRMED, "output_tokens"},
    {"aiperf", "output_tokens", "290", VERDICT_NOT_MEASURABLE, NULL},
    {"aiperf", "output_tokens", "100", VERDICT_DIFFERS, "output_tokens"},
    {"vllm", "input_tokens", "31", VERDICT_NOT_MEASURABLE, NULL}, /* without the template */
    {"guidellm", "input_tokens", "31", VERDICT_DIFFERS, "input_tokens"},
    {"vllm", "output_tokens", "290", VERDICT_DIFFERS, "output_tokens"},
    /* A tool's clock is not a packet's: some ms late accuse nobody, a second does. */
    {"aiperf", "ttft", "1.015s", VERDICT_NOT_MEASURABLE, NULL},
    {"aiperf", "ttft", "1.1s", VERDICT_DIFFERS, "aiperf ttft"},
    {"aiperf", "ttft", "985ms", VERDICT_DIFFERS, "aiperf ttft"},
    {"nobody", "ttft", "1s", VERDICT_CONFIRMED, "ttft"},
};

static void each_tools_own_definition(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof defined / sizeof *defined; i++) {
        const struct defined *x = &defined[i];
        struct audit a = {0};
        struct claim_files fs = {.rows = 0};
        struct err e = {0};
        char text[256];
        made_trace(&a);
        scene_add(&a, spread);
        scene_figures(&a);
        snprintf(text, sizeof text, "{\"metric\":\"%s\",\"value\":\"%s\",\"tool\":\"%s\"}",
                 x->metric, x->value, x->tool);
        if (claims_file_take(&fs, &a, "f", slice_of(text), NULL, &e) != TA_OK)
            fail_msg("%s", e.msg);
        claim_files_bind(&fs, &a, &audit_defaults);
        claims_judge(&a, &audit_defaults);
        const struct claim *c = &a.claims.v[0];
        verdict_is(c, x->verdict);
        if (x->as != NULL && strncmp(c->recomputed_as, x->as, strlen(x->as)) != 0)
            fail_msg("%s: as %s", text, c->recomputed_as);
        claim_files_free(&fs);
        audit_free(&a);
    }
}

/* Older versions take every event with choices for a token: the wait behind a role that comes at
 * once is one of their gaps, and the largest. Newer ones do not. */
static void gaps_of_either_version(void **state)
{
    (void)state;
    static const struct {
        const char *stat, *value;
        enum verdict verdict;
    } cases[] = {
        {"p99", "10ms", VERDICT_CONFIRMED},  /* 300 gaps of 10 ms … */
        {"max", "600ms", VERDICT_CONFIRMED}, /* … and one of 600 */
        {"max", "10ms", VERDICT_CONFIRMED},     {"p50", "10ms", VERDICT_CONFIRMED},
        {"mean", "11.96ms", VERDICT_CONFIRMED}, {"max", "6.5s", VERDICT_DIFFERS}, /* slack of 10 */
        {"p99", "600ms", VERDICT_DIFFERS}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct audit a = {0};
        struct claim_files fs = {.rows = 0};
        struct err e = {0};
        char text[256], value[32];
        made_trace(&a);
        scene_add(&a, spread);
        scene_figures(&a);
        struct slice s = slice_of(cases[i].value);
        bool ms = s.n > 2 && s.p[s.n - 2] == 'm';
        snprintf(value, sizeof value, "%.*s%s", (int)(s.n - (ms ? 2 : 1)), s.p, ms ? "" : "e3");
        snprintf(text, sizeof text,
                 "{\"backend\":\"vllm\",\"tokenizer_id\":\"m\",\"completed\":1,\"%s_itl_ms\":%s}",
                 cases[i].stat, value);
        if (claims_file_take(&fs, &a, "f", slice_of(text), NULL, &e) != TA_OK)
            fail_msg("%s", e.msg);
        claim_files_bind(&fs, &a, &audit_defaults);
        claims_judge(&a, &audit_defaults);
        verdict_is(&a.claims.v[a.claims.n - 1], cases[i].verdict);
        claim_files_free(&fs);
        audit_free(&a);
    }
}

/* Of SGLang's rows the wait and the gaps end with the last text, and its latency ends with the
 * stream: each is judged as what it is. */
static void gaps_of_rows_are_no_latency(void **state)
{
    (void)state;
    static const char format[] =
        "{\"sharegpt_output_len\":null,\"completed\":1,\"mean_e2e_latency_ms\":4500.0,"
        "\"ttfts\":[1.0],\"itls\":[[%s]],\"output_lens\":[301],\"input_lens\":[50],"
        "\"errors\":[\"\"]}";
    for (int wrong = 0; wrong < 2; wrong++) {
        struct audit a = {0};
        struct claim_files fs = {.rows = 0};
        struct err e = {0};
        char text[512];
        bool row = false;
        made_trace(&a);
        scene_add(&a, spread);
        scene_figures(&a);
        snprintf(text, sizeof text, format, wrong ? "1.0,2.5" : "1.0,2.0");
        assert_int_equal(claims_file_take(&fs, &a, "f", slice_of(text), NULL, &e), TA_OK);
        claim_files_bind(&fs, &a, &audit_defaults);
        claims_judge(&a, &audit_defaults);
        for (size_t i = 0; i < a.claims.n; i++) {
            const struct claim *c = &a.claims.v[i];
            bool latency = c->request != 0 && strcmp(c->metric, "latency") == 0;
            row |= latency;
            verdict_is(c, latency && wrong ? VERDICT_DIFFERS : VERDICT_CONFIRMED);
            if (latency)
                assert_non_null(strstr(c->recomputed_as, "o_M-t0"));
        }
        assert_true(row);
        claim_files_free(&fs);
        audit_free(&a);
    }
}

/* A row says no more than its digits do. */
static void rows_of_few_digits(void **state)
{
    (void)state;
    static const struct {
        const char *ttft;
        enum verdict verdict;
    } cases[] = {
        {"1.0", VERDICT_CONFIRMED}, {"1.03", VERDICT_CONFIRMED}, {"1.01", VERDICT_DIFFERS}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct audit a = {0};
        struct claim_files fs = {.rows = 0};
        struct err e = {0};
        struct act x = spread;
        char text[256];
        size_t rows = 0;
        x.role = 0;
        x.first = 1.031;
        made_trace(&a);
        scene_add(&a, x);
        scene_figures(&a);
        snprintf(text, sizeof text,
                 "{\"backend\":\"vllm\",\"tokenizer_id\":\"m\",\"completed\":1,\"ttfts\":[%s],"
                 "\"output_lens\":[301],\"input_lens\":[50],\"errors\":[\"\"]}",
                 cases[i].ttft);
        assert_int_equal(claims_file_take(&fs, &a, "f", slice_of(text), NULL, &e), TA_OK);
        claim_files_bind(&fs, &a, &audit_defaults);
        claims_judge(&a, &audit_defaults);
        for (size_t k = 0; k < a.claims.n; k++) {
            if (a.claims.v[k].request != 0 && strcmp(a.claims.v[k].metric, "ttft") == 0) {
                verdict_is(&a.claims.v[k], cases[i].verdict);
                rows++;
            }
        }
        assert_int_equal(rows, 1);
        claim_files_free(&fs);
        audit_free(&a);
    }
}

/* A phantom stays one, whoever's formula divides by the burst. */
static void a_burst_is_no_rate_for_any_tool(void **state)
{
    (void)state;
    struct audit a = {0};
    struct claim_files fs = {.rows = 0};
    struct err e = {0};
    made_trace(&a);
    scene_add(&a, (struct act){.head = 0.002,
                               .role = 0.003,
                               .first = 5.0,
                               .last = 5.0214,
                               .end = 5.022,
                               .events = 300,
                               .tokens = 300,
                               .prompt = 50});
    scene_figures(&a);
    static const char text[] =
        "{\"metric\":\"tpot\",\"value\":\"71.6us\",\"tool\":\"aiperf\"}\n"
        "{\"metric\":\"output_tps_user\",\"value\":13972,\"tool\":\"aiperf\"}";
    assert_int_equal(claims_file_take(&fs, &a, "f", slice_of(text), NULL, &e), TA_OK);
    claims_judge(&a, &audit_defaults);
    for (size_t i = 0; i < 2; i++) {
        verdict_is(&a.claims.v[i], VERDICT_DIFFERS);
        assert_non_null(scene_cause(&a.claims.v[i], "P43"));
    }
    claim_files_free(&fs);
    audit_free(&a);
}

enum { REQUESTS = 12 };

/* One after the other, each of another length. */
static void add_requests(struct audit *a, size_t n)
{
    made_trace(a);
    for (size_t i = 0; i < n; i++) {
        double t = 10.0 * (double)i;
        scene_add(a, (struct act){.t0 = t,
                                  .first = t + 1 + 0.1 * (double)i,
                                  .last = t + 4 + 0.1 * (double)i,
                                  .end = t + 4.1 + 0.1 * (double)i,
                                  .events = 101 + i,
                                  .tokens = 101 + (int64_t)i,
                                  .prompt = 50});
    }
    scene_figures(a);
}

static void judge(struct audit *a, struct claim_files *fs, const char *text)
{
    struct err e = {0};
    if (claims_file_take(fs, a, "f", slice_of(text), NULL, &e) != TA_OK)
        fail_msg("%s", e.msg);
    claim_files_bind(fs, a, &audit_defaults);
    claims_judge(a, &audit_defaults);
}

struct scoped {
    size_t completed, output; /* of the file; the trace has REQUESTS and sum 101 … 112 */
    enum verdict verdict;
    const char *says;
};

static void which_requests_a_file_is_about(void **state)
{
    (void)state;
    static const struct scoped cases[] = {
        {12, 1278, VERDICT_CONFIRMED, "from the bytes"},
        {11, 1177, VERDICT_CONFIRMED, "the last 11 of 12 requests"}, /* a first one to test with */
        {11, 1178, VERDICT_NOT_MEASURABLE, "which are meant is not known"},
        {40, 4000, VERDICT_NOT_MEASURABLE, "which are meant is not known"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct audit a = {0};
        struct claim_files fs = {.rows = 0};
        char text[256];
        add_requests(&a, REQUESTS);
        double mean = 1 + 0.1 * (cases[i].completed == 11 ? 6 : 5.5);
        snprintf(
            text, sizeof text,
            "{\"mean_ttft_ms\":%.3f,\"completed\":%zu,\"failed\":0,\"total_output_tokens\":%zu}",
            mean * 1e3, cases[i].completed, cases[i].output);
        judge(&a, &fs, text);
        const struct claim *c = &a.claims.v[0];
        verdict_is(c, cases[i].verdict);
        if (strstr(c->reason, cases[i].says) == NULL)
            fail_msg("%s", c->reason);
        claim_files_free(&fs);
        audit_free(&a);
    }
}

/* AIPerf's file of several runs: what it says is of no run, be it what the trace has or not, and
 * the quotients of means contradict nothing. Of one run it is that run's. */
static void a_mean_over_runs_is_of_no_run(void **state)
{
    (void)state;
    static const char form[] =
        "{\"metadata\":{\"aggregation_type\":\"confidence\",\"num_successful_runs\":%d},"
        "\"metrics\":{"
        "\"time_to_first_token_avg\":{\"mean\":%g,\"ci_low\":1.0,\"t_critical\":4.3,\"unit\":"
        "\"ms\"},"
        "\"time_to_first_token_p99\":{\"mean\":10.0,\"unit\":\"ms\"},"
        "\"request_count_avg\":{\"mean\":12.0,\"unit\":\"requests\"},"
        "\"request_throughput_avg\":{\"mean\":99.0,\"unit\":\"requests/sec\"},"
        "\"benchmark_duration_avg\":{\"mean\":1.0,\"unit\":\"sec\"}}}";
    for (int traced = 0; traced < 2; traced++) {
        for (int k = 0; k < 2; k++) {
            struct audit a = {0};
            struct claim_files fs = {.rows = 0};
            char text[1024];
            if (traced)
                add_requests(&a, REQUESTS);
            snprintf(text, sizeof text, form, 3, k == 0 ? 1550.0 : 7.0);
            judge(&a, &fs, text);
            contradictions_find(&fs, &a);
            assert_int_equal(a.claims.n, 5);
            assert_int_equal(a.findings.n, 0);
            for (size_t i = 0; i < a.claims.n; i++) {
                verdict_is(&a.claims.v[i], VERDICT_NOT_MEASURABLE);
                assert_false(a.claims.v[i].unopposed);
                assert_non_null(strstr(a.claims.v[i].reason, "the mean over 3 runs"));
            }
            claim_files_free(&fs);
            audit_free(&a);
        }
    }
    for (int k = 0; k < 2; k++) {
        struct audit a = {0};
        struct claim_files fs = {.rows = 0};
        char text[1024];
        add_requests(&a, REQUESTS);
        snprintf(text, sizeof text, form, 1, k == 0 ? 1550.0 : 1700.0);
        judge(&a, &fs, text);
        verdict_is(&a.claims.v[0], k == 0 ? VERDICT_CONFIRMED : VERDICT_DIFFERS);
        claim_files_free(&fs);
        audit_free(&a);
    }
}

/* A vLLM file with rows: start times of a clock of its own, `late` after the wire's. */
static void put_rows(struct buf *out, size_t n, double late, double wrong, bool times, bool same)
{
    static const char *const keys[] = {"start_times", "ttfts", "output_lens"};
    buf_puts(out, "{\"mean_tpot_ms\":null,\"completed\":null,\"tokenizer_id\":\"t\"");
    for (size_t k = times ? 0 : 1; k < 3; k++) {
        buf_printf(out, ",\"%s\":[", keys[k]);
        for (size_t i = 0; i < n; i++) {
            double x = k == 0   ? 777 + 10.0 * (double)i + (i % 2 ? late : 0)
                       : k == 1 ? 1 + 0.1 * (double)i + (i == 3 ? wrong : 0)
                                : 101 + (same ? 0 : (double)i);
            buf_printf(out, "%s%.9g", i > 0 ? "," : "", x);
        }
        buf_puts(out, "]");
    }
    buf_puts(out, "}");
}

struct joined {
    double late, wrong;
    bool times, same;
    size_t joined, differs;
    const char *says;
};

static void rows_are_joined_or_not(void **state)
{
    (void)state;
    static const struct joined cases[] = {
        {0.002, 0, true, false, REQUESTS, 0, "by start time"},
        {0.002, 0.5, true, false, REQUESTS, 1, "by start time"},
        {3.0, 0, true, false, 0, 0, "start times do not fit"},
        {0, 0, false, false, REQUESTS, 0, "by their order"},
        {0, 0.5, false, false, REQUESTS, 1, "by their order"},
        {0, 0, false, true, 0, 0, "neither ids nor times"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct joined *x = &cases[i];
        struct audit a = {0};
        struct claim_files fs = {.rows = 0};
        struct buf text;
        buf_init(&text, 1 << 16);
        add_requests(&a, REQUESTS);
        put_rows(&text, REQUESTS, x->late, x->wrong, x->times, x->same);
        judge(&a, &fs, buf_text(&text));
        claim_files_fold(&fs, &a);
        assert_int_equal(fs.summaries.v[0].joined, x->joined);
        const struct finding *f = &a.findings.v[0];
        assert_string_equal(f->id, x->joined > 0 ? "claims.rows" : "claims.unjoined");
        if (strstr(f->detail, x->says) == NULL)
            fail_msg("%zu: %s", i, f->detail);
        size_t differs = 0;
        for (size_t k = 0; k < a.claims.n; k++) {
            differs += a.claims.v[k].verdict == VERDICT_DIFFERS;
            assert_true(a.claims.v[k].verdict != VERDICT_CONFIRMED); /* those are summed up */
            if (a.claims.v[k].verdict == VERDICT_DIFFERS)
                assert_int_equal(a.claims.v[k].request, 4);
        }
        assert_int_equal(differs, x->differs);
        buf_done(&text);
        claim_files_free(&fs);
        audit_free(&a);
    }
}

/* By id, in any order; a row whose id nobody sent is left out. */
static void rows_are_joined_by_id(void **state)
{
    (void)state;
    struct audit a = {0};
    struct claim_files fs = {.rows = 0};
    struct buf text;
    buf_init(&text, 1 << 16);
    add_requests(&a, REQUESTS);
    for (size_t i = 0; i < REQUESTS; i++) {
        char id[16];
        snprintf(id, sizeof id, "r-%zu", i);
        a.requests.v[i].sent_id = model_hash(slice_of(id));
    }
    for (size_t i = REQUESTS + 1; i-- > 0;)
        buf_printf(&text,
                   "{\"metadata\":{\"x_request_id\":\"r-%zu\",\"benchmark_phase\":\"profiling\"},"
                   "\"metrics\":{\"time_to_first_token\":{\"value\":%g,\"unit\":\"ms\"}}}\n",
                   i, 1000 + 100 * (double)i);
    judge(&a, &fs, buf_text(&text));
    assert_int_equal(fs.summaries.v[0].joined, REQUESTS);
    assert_int_equal(a.claims.n, REQUESTS);
    for (size_t i = 0; i < a.claims.n; i++)
        verdict_is(&a.claims.v[i], VERDICT_CONFIRMED);
    buf_done(&text);
    claim_files_free(&fs);
    audit_free(&a);
}

/* GuideLLM names the reply, inference-perf keeps the body; one that was sent twice names nothing.
 */
static void rows_are_joined_by_reply_or_body(void **state)
{
    (void)state;
    struct audit a = {0};
    struct claim_files fs = {.rows = 0};
    add_requests(&a, 3);
    a.requests.v[0].reply_id = model_hash(slice_of("c-1"));
    /* sha256 of "a" and, twice, of "b\n" */
    a.requests.v[0].body_sha256 =
        "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb";
    a.requests.v[1].body_sha256 = a.requests.v[2].body_sha256 =
        "0263829989b6fd954f72baaf2fc64bc2e2f01d692d4de72986ea808f6e99813f";
    judge(&a, &fs,
          "{\"metadata\":{\"version\":2},\"benchmarks\":[{\"metrics\":{\"x\":1},\"requests\":"
          "{\"successful\":[{\"response_id\":\"c-1\",\"time_to_first_token_ms\":1000.0}]}}]}");
    judge(&a, &fs,
          "[{\"start_time\":1,\"request\":\"\\u0061\",\"info\":{\"response_metrics\":"
          "{\"output_tokens\":101}}},{\"request\":\"b\\n\",\"info\":{}}]");
    assert_int_equal(fs.summaries.v[0].joined, 1);
    assert_non_null(strstr(fs.summaries.v[0].join, "the id in the reply (exact)"));
    assert_int_equal(fs.summaries.v[1].joined, 1);
    assert_non_null(strstr(fs.summaries.v[1].join, "1 of 2 rows by the request's body (exact)"));
    for (size_t i = 0; i < a.claims.n; i++)
        assert_int_equal(a.claims.v[i].request, 1);
    claim_files_free(&fs);
    audit_free(&a);
}

/* Three one after the other, and a fourth beside the last: two at once, four that touch one second.
 */
static void requests_that_touch_a_second(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        enum verdict verdict;
    } claims[] = {{"1", VERDICT_DIFFERS},
                  {"2", VERDICT_CONFIRMED},
                  {"4", VERDICT_CONFIRMED},
                  {"5", VERDICT_IMPOSSIBLE}}; /* there were four */
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        struct audit a = {0};
        struct claim_files fs = {.rows = 0};
        struct err e = {0};
        char text[128];
        made_trace(&a);
        for (int k = 0; k < 4; k++) {
            double t0 = k < 3 ? 0.4 * k : 0.85;
            scene_add(&a, (struct act){.t0 = t0,
                                       .first = t0 + 0.1,
                                       .last = t0 + 0.3,
                                       .end = t0 + 0.3,
                                       .events = 21,
                                       .tokens = 21});
        }
        scene_figures(&a);
        snprintf(text, sizeof text,
                 "{\"metric\":\"concurrency_peak\",\"value\":%s,\"tool\":\"vllm\"}",
                 claims[i].value);
        assert_int_equal(claims_file_take(&fs, &a, "f", slice_of(text), NULL, &e), TA_OK);
        claims_judge(&a, &audit_defaults);
        verdict_is(&a.claims.v[0], claims[i].verdict);
        claim_files_free(&fs);
        audit_free(&a);
    }
}

/* max_tokens is in the server's tokens; who counts with a tokenizer of its own may find some more.
 */
static void a_limit_in_other_tokens(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        enum verdict verdict;
    } claims[] = {{"38.56", VERDICT_NOT_MEASURABLE}, {"90", VERDICT_IMPOSSIBLE}};
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        struct audit a = {0};
        struct claim_files fs = {.rows = 0};
        struct err e = {0};
        char text[128];
        made_trace(&a);
        struct request *r = scene_add(
            &a, (struct act){.t0 = 0, .first = 0.5, .last = 1.4, .end = 1.4, .events = 38});
        r->usage.completion = -1;
        r->asked.max_tokens = 38;
        scene_figures(&a);
        snprintf(
            text, sizeof text,
            "{\"metric\":\"output_tokens\",\"stat\":\"max\",\"value\":%s,\"tool\":\"llmperf\"}",
            claims[i].value);
        assert_int_equal(claims_file_take(&fs, &a, "f", slice_of(text), NULL, &e), TA_OK);
        claims_judge(&a, &audit_defaults);
        verdict_is(&a.claims.v[0], claims[i].verdict);
        claim_files_free(&fs);
        audit_free(&a);
    }
}

/* A warm-up, and then what the file is about: told by how long it took. */
static void a_warm_up_is_left_out(void **state)
{
    (void)state;
    static const struct {
        const char *duration;
        bool scoped;
    } files[] = {{"3.45", true}, {"7.45", false}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct audit a = {0};
        struct claim_files fs = {.rows = 0};
        struct err e = {0};
        char text[256];
        made_trace(&a);
        for (int k = 0; k < 4; k++) {
            double t0 = k == 0 ? 0 : 5 + k;
            scene_add(&a, (struct act){.t0 = t0,
                                       .first = t0 + (k == 0 ? 0.9 : 0.5),
                                       .last = t0 + 1.4,
                                       .end = t0 + 1.4,
                                       .events = 21});
        }
        scene_figures(&a);
        snprintf(text, sizeof text,
                 "{\"tokenizer_id\":\"t\",\"completed\":3,\"duration\":%s,\"mean_ttft_ms\":500.2}",
                 files[i].duration);
        assert_int_equal(claims_file_take(&fs, &a, "f", slice_of(text), NULL, &e), TA_OK);
        claim_files_bind(&fs, &a, &audit_defaults);
        claims_judge(&a, &audit_defaults);
        for (size_t k = 0; k < a.claims.n; k++)
            verdict_is(&a.claims.v[k],
                       files[i].scoped ? VERDICT_CONFIRMED : VERDICT_NOT_MEASURABLE);
        assert_int_equal(a.claims.n, 3);
        claim_files_free(&fs);
        audit_free(&a);
    }
}

/* Two results of llama-benchy, one at a time and two at a time, behind a warm-up each. */
static void batches_are_found(void **state)
{
    (void)state;
    struct audit a = {0};
    struct claim_files fs = {.rows = 0};
    struct err e = {0};
    static const double starts[] = {0, 2, 4, 6, 6, 8, 8, 10, 10};
    made_trace(&a);
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        double t0 = starts[i] + 0.001 * (double)i;
        scene_add(&a, (struct act){.t0 = t0,
                                   .first = t0 + 0.1 + 0.3 * (double)(i % 2),
                                   .last = t0 + 1.4,
                                   .end = t0 + 1.5,
                                   .events = 21,
                                   .tokens = 21});
    }
    scene_figures(&a);
    static const char text[] =
        "{\"version\":\"0.4.0\",\"latency_mode\":\"none\",\"benchmarks\":["
        "{\"concurrency\":1,\"e2e_ttft\":{\"mean\":250.5,\"values\":[400.5,100.5]},"
        "\"tg_throughput\":{\"mean\":17.69}},"
        "{\"concurrency\":2,\"e2e_ttft\":{\"mean\":250.5,\"values\":[400.5,100.5,100.5,400.5]},"
        "\"tg_throughput\":{\"mean\":30.75}}]}";
    assert_int_equal(claims_file_take(&fs, &a, "f", slice_of(text), NULL, &e), TA_OK);
    claim_files_bind(&fs, &a, &audit_defaults);
    claims_judge(&a, &audit_defaults);
    assert_non_null(fs.summaries.v[0].batches);
    assert_non_null(fs.summaries.v[1].batches);
    assert_int_equal(fs.summaries.v[0].batches[0], 1);
    assert_int_equal(fs.summaries.v[1].batches[0], 5);
    for (size_t k = 0; k < a.claims.n; k++)
        if (a.claims.v[k].request == 0)
            verdict_is(&a.claims.v[k], VERDICT_CONFIRMED);
    claim_files_free(&fs);
    audit_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_that_touch_a_second),
        cmocka_unit_test(a_limit_in_other_tokens),
        cmocka_unit_test(a_warm_up_is_left_out),
        cmocka_unit_test(batches_are_found),
        cmocka_unit_test(each_tools_own_definition),
        cmocka_unit_test(gaps_of_either_version),
        cmocka_unit_test(gaps_of_rows_are_no_latency),
        cmocka_unit_test(rows_of_few_digits),
        cmocka_unit_test(a_burst_is_no_rate_for_any_tool),
        cmocka_unit_test(which_requests_a_file_is_about),
        cmocka_unit_test(a_mean_over_runs_is_of_no_run),
        cmocka_unit_test(rows_are_joined_or_not),
        cmocka_unit_test(rows_are_joined_by_id),
        cmocka_unit_test(rows_are_joined_by_reply_or_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
