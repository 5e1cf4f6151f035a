/* Result files of every tool, shaped as peers-and-formats.md 3 gives them, versions old and new:
 * which tool is told, and that each figure is what it is. */
#include <math.h>

#include "analyze/claims_file.h"
#include "tests/unit/analyze/scene.h"

struct expected {
    enum figure_id id;
    enum file_stat stat;
    double q, v;
};

struct sample {
    const char *text, *tool;
    size_t summaries, rows;
    struct expected figures[5]; /* of the first summary */
};

static const struct sample samples[] = {
    {"{\"date\":\"20260102-030405\",\"endpoint_type\":\"vllm\",\"tokenizer_id\":\"t\",\"num_"
     "prompts\":3,"
     "\"request_rate\":\"inf\",\"max_concurrency\":null,\"duration\":2.5,\"completed\":3,"
     "\"total_input_tokens\":30,\"total_output_tokens\":60,\"request_throughput\":1.2,"
     "\"request_goodput:\":null,\"output_throughput\":24.0,\"total_token_throughput\":36.0,"
     "\"mean_ttft_ms\":20.5,\"median_ttft_ms\":19.5,\"std_ttft_ms\":1.5,\"p99_ttft_ms\":25.25,"
     "\"p99.9_itl_ms\":NaN,\"mean_tpot_ms\":10.0}",
     "vllm",
     1,
     0,
     {{F_TTFT, FILE_MEAN, 0, 0.0205},
      {F_TTFT, FILE_QUANTILE, 0.99, 0.02525},
      {F_OUTPUT_SUM, FILE_SUM, 0, 60},
      {F_DURATION, FILE_VALUE, 0, 2.5},
      {F_TTFT, FILE_QUANTILE, 0.5, 0.0195}}},
    /* Appended, with rows; the second one is newer. */
    {"{\"mean_ttft_ms\":20.5,\"completed\":1}\n{\"mean_ttft_ms\":30.5,\"completed\":2,\"failed\":1,"
     "\"max_output_tokens_per_s\":99,\"max_concurrent_requests\":2,\"input_lens\":[4,5,6],"
     "\"output_lens\":[3,2,0],\"ttfts\":[0.1,0.2,0.0],\"itls\":[[0.01,0.02],[0.03],[]],"
     "\"start_times\":[5.0,5.5,6.0],\"generated_texts\":[\"a \\\" b\",\"c\",\"\"],"
     "\"errors\":[\"\",\"\",\"boom\"]}\n",
     "vllm",
     2,
     0,
     {{F_TTFT, FILE_MEAN, 0, 0.0205}}},
    {"{\"tag\":null,\"backend\":\"sglang\",\"request_rate\":Infinity,\"max_concurrency\":null,"
     "\"sharegpt_output_len\":null,\"server_info\":{\"duration\":9},\"duration\":4.0,\"completed\":"
     "8,"
     "\"total_input_tokens\":80,\"total_output_tokens\":160,\"total_output_tokens_retokenized\":"
     "159,"
     "\"concurrency\":2.5,\"mean_e2e_latency_ms\":1250.0,\"p95_tpot_ms\":11.5,\"std_itl_ms\":NaN}\n"
     "{\"backend\":\"sglang\",\"mean_e2e_latency_ms\":1.0,\"total_output\":5}\n",
     "sglang",
     2,
     0,
     {{F_LATENCY, FILE_MEAN, 0, 1.25},
      {F_CONCURRENCY, FILE_VALUE, 0, 2.5},
      {F_DURATION, FILE_VALUE, 0, 4},
      {F_TPOT, FILE_QUANTILE, 0.95, 0.0115}}},
    {"{\"schema_version\":\"1.5\",\"aiperf_version\":\"0.5\",\"time_to_first_token\":{\"unit\":"
     "\"ms\","
     "\"avg\":45.5,\"p1\":40,\"p99\":60.5,\"std\":2.5,\"count\":10,\"sum\":455},\"request_"
     "latency\":"
     "{\"avg\":1.5,\"unit\":\"sec\"},\"output_token_throughput\":{\"unit\":\"tokens/"
     "sec\",\"avg\":512.5},"
     "\"benchmark_duration\":{\"unit\":\"sec\",\"avg\":12.0},\"error_summary\":[]}",
     "aiperf",
     1,
     0,
     {{F_TTFT, FILE_MEAN, 0, 0.0455},
      {F_TTFT, FILE_SUM, 0, 0.455},
      {F_LATENCY, FILE_MEAN, 0, 1.5},
      {F_OUTPUT_TPS, FILE_VALUE, 0, 512.5},
      {F_DURATION, FILE_VALUE, 0, 12}}},
    /* The same keys and units, spelled otherwise. */
    {"{\"schema_versio\\u006e\":\"1.5\",\"time\\u005fto_first\\u005Ftoken\":{\"un\\u0069t\":"
     "\"\\u0075s\",\"\\u0061vg\":45.5}}",
     "aiperf",
     1,
     0,
     {{F_TTFT, FILE_MEAN, 0, 45.5e-6}}},
    /* Over several runs: the mean of what each had for the figure. */
    {"{\"schema_version\":\"1.0\",\"aiperf_version\":\"0.13.0\",\"metadata\":{\"aggregation_type\":"
     "\"confidence\",\"num_profile_runs\":4,\"num_successful_runs\":3,\"failed_runs\":[]},"
     "\"metrics\":{\"time_to_first_token_p99\":{\"mean\":151.5,\"std\":1.5,\"min\":150.0,\"max\":"
     "153.0,\"cv\":0.01,\"se\":0.87,\"ci_low\":147.7,\"ci_high\":155.2,\"t_critical\":4.3,\"unit\":"
     "\"ms\"},\"request_latency_avg\":{\"mean\":2.5,\"min\":2.0,\"unit\":\"sec\"},"
     "\"output_token_throughput_per_user_avg\":{\"mean\":50.0,\"unit\":\"tokens/sec/user\"},"
     "\"output_token_throughput_avg\":{\"mean\":9.5,\"unit\":\"tokens/sec\"}}}",
     "aiperf-runs",
     1,
     0,
     {{F_TTFT, FILE_QUANTILE, 0.99, 0.1515},
      {F_LATENCY, FILE_MEAN, 0, 2.5},
      {F_USER_TPS, FILE_MEAN, 0, 50},
      {F_OUTPUT_TPS, FILE_VALUE, 0, 9.5},
      {F_RUNS, FILE_VALUE, 0, 3}}},
    /* Of one run it is that run's. */
    {"{\"metadata\":{\"num_successful_runs\":1,\"single_run\":true},\"metrics\":{"
     "\"time_to_first_token_avg\":{\"mean\":45.5,\"std\":0.0,\"ci_low\":45.5,\"t_critical\":null,"
     "\"unit\":\"ms\"}}}",
     "aiperf",
     1,
     0,
     {{F_TTFT, FILE_MEAN, 0, 0.0455}}},
    /* October 2025: no schema_version. */
    {"{\"was_cancelled\":false,\"inter_token_latency\":{\"unit\":\"us\",\"avg\":9500.0,\"max\":"
     "9900.0}}",
     "aiperf",
     1,
     0,
     {{F_TPOT, FILE_MEAN, 0, 0.0095}, {F_TPOT, FILE_MAX, 0, 0.0099}}},
    {"{\"metadata\":{\"x_request_id\":\"a\",\"request_start_ns\":1700000000000000000,"
     "\"request_end_ns\":1700000001000000000,\"benchmark_phase\":\"warmup\"},\"metrics\":{},"
     "\"error\":null}\n"
     "{\"metadata\":{\"x_request_id\":\"b\",\"request_start_ns\":1700000001000000000,"
     "\"benchmark_phase\":\"profiling\"},\"metrics\":{\"time_to_first_token\":{\"value\":50.0,"
     "\"unit\":\"ms\"},\"request_latency\":{\"value\":900.0,\"unit\":\"ms\"},\"inter_chunk_"
     "latency\":"
     "{\"value\":[1.0,2.0],\"unit\":\"ms\"},\"output_sequence_length\":{\"value\":90,\"unit\":"
     "\"tokens\"}},\"error\":null}\n"
     "{\"metadata\":{\"x_request_id\":\"c\",\"request_start_ns\":1700000002000000000,"
     "\"benchmark_phase\":\"profiling\"},\"metrics\":{},\"error\":{\"code\":500}}\n",
     "aiperf-requests",
     1,
     2,
     {{F_NONE, FILE_VALUE, 0, 0}}},
    {"{\"request_throughput\":{\"unit\":\"requests/"
     "sec\",\"avg\":1.5},\"request_latency\":{\"unit\":"
     "\"ms\",\"avg\":900.5,\"p25\":800.5},\"telemetry_stats\":{},\"input_config\":{\"a\":1}}",
     "genai-perf",
     1,
     0,
     {{F_REQUEST_TPS, FILE_VALUE, 0, 1.5}, {F_LATENCY, FILE_QUANTILE, 0.25, 0.8005}}},
    {"{\"version\":\"0.1\",\"service_kind\":\"openai\",\"experiments\":[{\"experiment\":{\"mode\":"
     "\"concurrency\",\"value\":1},\"requests\":[{\"timestamp\":1700000000000000000,"
     "\"request_inputs\":{\"payload\":\"{}\"},\"response_timestamps\":[1700000000250000000,"
     "1700000001000000000],\"response_outputs\":[{\"response\":\"data: {}\"}]}]}]}",
     "genai-perf-requests",
     1,
     1,
     {{F_NONE, FILE_VALUE, 0, 0}}},
    {"{\"metadata\":{\"version\":2,\"guidellm_version\":\"0.5\"},\"config\":{},\"benchmarks\":[{"
     "\"type_\":"
     "\"generative_benchmark\",\"scheduler_metrics\":{\"requests_made\":{\"successful\":2,"
     "\"total\":2}},\"metrics\":{\"time_to_first_token_ms\":{\"successful\":{\"mean\":30.5,"
     "\"percentiles\":{\"p001\":10.5,\"p01\":11.5,\"p05\":12.5,\"p999\":44.5}},\"errored\":{"
     "\"mean\":"
     "0.0}}},\"requests\":{\"successful\":[{\"response_id\":\"c-1\",\"request_start_time\":"
     "1700000000.25,\"time_to_first_token_ms\":20.5,\"output_tokens\":7,\"info\":{\"timings\":"
     "{\"request_start\":1}}},{\"response_id\":\"c-2\"}]}},{\"metrics\":{\"request_latency\":"
     "{\"successful\":{\"mean\":1.5}}}}]}",
     "guidellm",
     2,
     2,
     {{F_TTFT, FILE_MEAN, 0, 0.0305},
      {F_TTFT, FILE_QUANTILE, 0.001, 0.0105},
      {F_TTFT, FILE_QUANTILE, 0.01, 0.0115},
      {F_TTFT, FILE_QUANTILE, 0.05, 0.0125},
      {F_TTFT, FILE_QUANTILE, 0.999, 0.0445}}},
    {"{\"version\":\"0.3\",\"latency_mode\":\"none\",\"latency_ms\":0,\"benchmarks\":[{"
     "\"concurrency\":4,"
     "\"prompt_size\":2048,\"response_size\":32,\"tg_throughput\":{\"mean\":50.5,\"std\":1,"
     "\"values\":"
     "[50,51]},\"peak_throughput\":{\"mean\":60.5},\"ttfr\":{\"mean\":100.5},\"e2e_ttft\":"
     "{\"mean\":110.5}}]}",
     "llama-benchy",
     1,
     0,
     {{F_OUTPUT_TPS, FILE_VALUE, 0, 50.5},
      {F_TTFR, FILE_MEAN, 0, 0.1005},
      {F_TTFT, FILE_MEAN, 0, 0.1105},
      {F_CAP, FILE_VALUE, 0, 4},
      {F_PEAK_TPS, FILE_VALUE, 0, 60.5}}},
    {"{\"version\":\"2023-08-31\",\"name\":\"n\",\"num_concurrent_requests\":2,\"results_ttft_s_"
     "quantiles_p25\":0.25,\"results_ttft_s_mean\":0.35,\"results_ttft_s_stddev\":0.05,"
     "\"results_number_errors\":1,\"results_num_requests_started\":9,"
     "\"results_num_completed_requests\":8,\"results_num_completed_requests_per_min\":60.0}",
     "llmperf",
     1,
     0,
     {{F_TTFT, FILE_QUANTILE, 0.25, 0.25},
      {F_TTFT, FILE_MEAN, 0, 0.35},
      {F_TTFT, FILE_STD, 0, 0.05},
      {F_COMPLETED, FILE_VALUE, 0, 8},
      {F_REQUEST_TPS, FILE_VALUE, 0, 1}}},
    {"model,test_name,t_s_mean,t_s_std,t_s_req_mean,t_s_req_std,peak_ts_mean,ttfr_mean\n"
     "m,tg32 @ d4096 (c4),50,1,12,1,60,\n",
     "llama-benchy",
     1,
     0,
     {{F_OUTPUT_TPS, FILE_VALUE, 0, 50},
      {F_USER_TPS, FILE_MEAN, 0, 12},
      {F_PEAK_TPS, FILE_VALUE, 0, 60},
      {F_CAP, FILE_VALUE, 0, 4},
      {F_OUTPUT, FILE_VALUE, 0, 32}}},
    {"model,test_name,t_s_mean,ttfr_mean,ttfr_std,e2e_ttft_mean\n"
     "m,pp2048,100,20,1,25\nm,tg32,50,,,\n",
     "llama-benchy",
     2,
     0,
     {{F_TTFR, FILE_MEAN, 0, 0.02},
      {F_TTFR, FILE_STD, 0, 0.001},
      {F_TTFT, FILE_MEAN, 0, 0.025},
      {F_INPUT, FILE_VALUE, 0, 2048}}},
    {"[{\"error_code\":null,\"error_msg\":\"\",\"inter_token_latency_s\":0.01,\"ttft_s\":0.2,"
     "\"end_to_end_latency_s\":1.5,\"number_total_tokens\":15,\"number_output_tokens\":10,"
     "\"number_input_tokens\":5},{\"error_code\":429,\"inter_token_latency_s\":0}]",
     "llmperf-requests",
     1,
     2,
     {{F_NONE, FILE_VALUE, 0, 0}}},
    {"{\"benchmark_time_seconds\":60.0,\"load_summary\":{\"count\":10,\"requested_rate\":1},"
     "\"successes\":{\"count\":10,\"latency\":{\"request_latency\":{\"mean\":1.5,\"p0.1\":1.25,"
     "\"median\":1.45},\"time_per_output_token\":null},\"throughput\":{\"requests_per_sec\":0.5},"
     "\"prompt_len\":{\"mean\":20.5}},\"failures\":{\"count\":0,\"request_latency\":null}}",
     "inference-perf",
     1,
     0,
     {{F_LATENCY, FILE_QUANTILE, 0.001, 1.25},
      {F_LATENCY, FILE_QUANTILE, 0.5, 1.45},
      {F_REQUEST_TPS, FILE_VALUE, 0, 0.5},
      {F_INPUT, FILE_MEAN, 0, 20.5},
      {F_COMPLETED, FILE_VALUE, 0, 10}}},
    {"[{\"start_time\":5.5,\"end_time\":7.5,\"request\":\"{}\",\"response\":\"\",\"info\":"
     "{\"response_metrics\":{\"output_tokens\":12,\"chunk_times\":[6.0,6.5,7.0]}},\"error\":null}]",
     "inference-perf-requests",
     1,
     1,
     {{F_NONE, FILE_VALUE, 0, 0}}},
};

static int take(struct claim_files *fs, struct audit *a, const char *text, const char *format,
                struct err *e)
{
    return claims_file_take(fs, a, "f", slice_of(text), format, e);
}

static double figure(const struct file_summary *s, struct expected x)
{
    for (size_t i = 0; i < s->figures.n; i++) {
        const struct file_figure *f = &s->figures.v[i];
        if (f->id == x.id && f->stat == x.stat &&
            (x.stat != FILE_QUANTILE || fabs(f->q - x.q) < 1e-12)) {
            assert_true(f->i.lo <= f->v && f->v <= f->i.hi);
            return f->v;
        }
    }
    return NAN;
}

static void each_tool(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        struct audit a = {0};
        struct claim_files fs = {.rows = 0};
        struct err e = {0};
        const struct sample *x = &samples[i];
        if (take(&fs, &a, x->text, NULL, &e) != TA_OK)
            fail_msg("sample %zu: %s", i, e.msg);
        assert_string_equal(fs.summaries.v[0].tool->name, x->tool);
        assert_int_equal(fs.summaries.n, x->summaries);
        assert_int_equal(fs.summaries.v[0].rows.n, x->rows);
        for (size_t k = 0; k < 5 && x->figures[k].id != F_NONE; k++) {
            double v = figure(&fs.summaries.v[0], x->figures[k]);
            if (!(fabs(v - x->figures[k].v) <= 1e-9 * x->figures[k].v))
                fail_msg("sample %zu, figure %zu: %g, not %g", i, k, v, x->figures[k].v);
        }
        claim_files_free(&fs);
        audit_free(&a);
    }
}

/* Each row's numbers, and who is left out. */
static void rows_are_read(void **state)
{
    (void)state;
    struct audit a = {0};
    struct claim_files fs = {.rows = 0};
    struct err e;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        assert_int_equal(take(&fs, &a, samples[i].text, NULL, &e), TA_OK);
    bool seen[4] = {false};
    for (size_t i = 0; i < fs.summaries.n; i++) {
        const struct file_summary *s = &fs.summaries.v[i];
        const struct file_row *r = s->rows.v;
        if (s->tool == &tool_vllm && s->rows.n == 3) {
            seen[0] = true;
            assert_true(fabs(r[0].latency - 0.13) < 1e-12 && fabs(r[1].latency - 0.23) < 1e-12);
            assert_true(r[0].output == 3 && r[2].failed && !r[0].failed && r[1].input == 5);
            assert_int_equal(s->rows_failed, 1);
        } else if (s->tool == &tool_aiperf_rows) {
            seen[1] = true; /* the warm-up is not there */
            assert_true(fabs(r[0].ttft - 0.05) < 1e-12 && fabs(r[0].latency - 0.9) < 1e-12);
            assert_true(r[0].id == model_hash(slice_of("b")) && r[0].output == 90 && r[1].failed);
        } else if (s->tool == &tool_genai_perf_rows) {
            seen[2] = true;
            assert_true(fabs(r[0].ttft - 0.25) < 1e-6 && fabs(r[0].latency - 1) < 1e-6);
        } else if (s->tool == &tool_inference_perf_rows) {
            seen[3] = true;
            assert_true(r[0].ttft == 0.5 && r[0].latency == 2 && r[0].output == 12);
        }
    }
    assert_true(seen[0] && seen[1] && seen[2] && seen[3]);
    claim_files_free(&fs);
    audit_free(&a);
}

static void own_form_in_three_shapes(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "[{\"metric\":\"ttft\",\"stat\":\"p50\",\"value\":90,\"unit\":\"ms\",\"tool\":\"vllm\"},"
        "{\"metric\":\"rate\",\"value\":\"14,000\",\"unit\":\"tok/"
        "s\",\"request\":3,\"note\":{\"a\":[1]}}]",
        "{\"metric\":\"ttft\",\"stat\":\"median\",\"value\":90,\"unit\":\"ms\",\"tool\":\"vllm\"}"
        "\n\n"
        "{\"metric\":\"rate\",\"value\":14000,\"unit\":\"tok/"
        "s\",\"request\":3,\"scope\":\"request\"}",
        ("\xEF\xBB\xBFtool,metric,stat,value,unit,request,extra\r\nvllm,ttft,p50,90,ms,,x\r\n"
         ",rate,value,\"14,000\",tok/s,3,\r\n")};
    for (size_t i = 0; i < 3; i++) {
        struct audit a = {0};
        struct claim_files fs = {.rows = 0};
        struct err e = {0};
        if (take(&fs, &a, texts[i], NULL, &e) != TA_OK)
            fail_msg("%zu: %s", i, e.msg);
        assert_int_equal(a.claims.n, 2);
        assert_string_equal(a.claims.v[0].stat, "p50");
        assert_true(a.claims.v[0].claimed == 0.09 && a.claims.v[1].claimed == 14000);
        assert_string_equal(a.claims.v[0].tool, "vllm");
        assert_non_null(a.claims.v[0].basis);
        assert_int_equal(a.claims.v[1].request, 3);
        assert_true(a.claims.v[1].basis == NULL && a.claims.v[1].tool == NULL);
        claim_files_free(&fs);
        audit_free(&a);
    }
}

/* What tests/support/naive_harness.c prints; and an entry stays one, whatever else it holds. */
static void members_that_are_claims(void **state)
{
    (void)state;
    struct audit a = {0};
    struct claim_files fs = {.rows = 0};
    struct err e = {0};
    static const char harness[] =
        "{\"requests\":9,\"gen_tps_p50\":13754,\"ttft_p50_ms\":1053.1,\"x\":1}";
    static const char entry[] =
        "{\"requests\":9,\"gen_tps_p50\":1,\"metric\":\"failed\",\"value\":0}";
    assert_int_equal(take(&fs, &a, harness, NULL, &e), TA_OK);
    assert_int_equal(take(&fs, &a, entry, NULL, &e), TA_OK);
    assert_int_equal(a.claims.n, 4);
    assert_string_equal(a.claims.v[1].text, "gen_tps_p50=13754");
    assert_string_equal(a.claims.v[1].stat, "p50");
    assert_true(fabs(a.claims.v[2].claimed - 1.0531) < 1e-12);
    assert_string_equal(a.claims.v[3].metric, "failed");
    audit_free(&a);
}

struct refused {
    const char *text, *format, *says;
};

static const struct refused bad[] = {
    {"", NULL, "is empty"},
    {"{\"a\":1}", NULL, "no result file that is known"},
    {"hello,world\n1,2\n", NULL, "no result file that is known"},
    {"{\"mean_ttft_ms\":1.5,", NULL, "ends inside"},
    {"{\"mean_ttft_ms\":1.5]", NULL, "line 1"},
    {"{\"mean_ttft_ms\":1.5}\n{\"mean_ttft_ms\":bogus}", NULL, "line 2"},
    {"{\"metadata\":{\"version\":1},\"benchmarks\":[{\"metrics\":{\"x\":1}}]}", "guidellm",
     "version 1"},
    {"{\"mean_ttft_ms\":1.5}", "llmperf", "no figure"},
    {"a,b\n", "vllm", "no JSON"},
    {"[{\"metric\":\"ttft\"}]", NULL, "needs 'metric' and 'value'"},
    {"[{\"metric\":\"ttft\",\"value\":90}]", NULL, "needs its unit"},
    {"[{\"metric\":\"nosuch\",\"value\":90}]", NULL, "no figure is called"},
    {"[{\"metric\":\"ttft\",\"value\":9,\"unit\":\"ms\",\"scope\":\"request\"}]", NULL,
     "none is named"},
    {"metric,value\nttft,90ms\nrate\n", NULL, "line 3"},
};

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct audit a = {0};
        struct claim_files fs = {.rows = 0};
        struct err e = {0};
        if (take(&fs, &a, bad[i].text, bad[i].format, &e) == TA_OK)
            fail_msg("taken: %s", bad[i].text);
        if (strstr(e.msg, bad[i].says) == NULL)
            fail_msg("'%s' does not say '%s'", e.msg, bad[i].says);
        claim_files_free(&fs);
        audit_free(&a);
    }
}

/* A file that ends inside a result is used for the whole ones before it, and says so; where there
 * is none before it, it cannot be read. */
static void what_is_whole_is_used(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t summaries, claims;
        const char *says; /* NULL: nothing is cut */
    } cases[] = {
        {"{\"mean_ttft_ms\":1.5}\n{\"mean_ttft_ms\":2.5}\n", 2, 0, NULL},
        {"{\"mean_ttft_ms\":1.5}\n{\"mean_ttft_ms\":2.", 1, 0, "line 2: the file ends inside"},
        {"{\"mean_ttft_ms\":1.5}\n{\"mean_ttft_ms\":2.5,\"ttfts\":[0.1", 1, 0, "1 whole result"},
        {"{\"metadata\":{\"x_request_id\":\"a\"},\"metrics\":{\"request_latency\":{\"value\":2}}}\n"
         "{\"metadata\":{\"x_request_id\":\"b\"},\"metr",
         1, 0, "1 whole row before it was used"},
        {"{\"metric\":\"failed\",\"value\":0}\n{\"metric\":\"failed\",\"val", 0, 1,
         "1 whole claim"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct audit a = {0};
        struct claim_files fs = {.rows = 0};
        struct err e = {0};
        if (take(&fs, &a, cases[i].text, NULL, &e) != TA_OK)
            fail_msg("%s: %s", cases[i].text, e.msg);
        assert_int_equal(fs.summaries.n, cases[i].summaries);
        assert_int_equal(a.claims.n, cases[i].claims);
        assert_int_equal(a.findings.n, cases[i].says != NULL);
        if (cases[i].says != NULL) {
            assert_string_equal(a.findings.v[0].id, "claims.cut");
            if (strstr(a.findings.v[0].detail, cases[i].says) == NULL)
                fail_msg("'%s' does not say '%s'", a.findings.v[0].detail, cases[i].says);
        }
        if (i == 3)
            assert_int_equal(fs.summaries.v[0].rows.n, 1);
        claim_files_free(&fs);
        audit_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_tool),
        cmocka_unit_test(rows_are_read),
        cmocka_unit_test(own_form_in_three_shapes),
        cmocka_unit_test(members_that_are_claims),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(what_is_whole_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
