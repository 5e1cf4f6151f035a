/* The tools' tables: name, what it is called everywhere, formula, unit. What differs from tool to
 * tool is here and nowhere else. */
#include "analyze/peers_table.h"

#define MS .unit = "ms", .scale = 1e3
#define SECONDS .unit = "s", .scale = 1
#define TOKENS_S .unit = "tok/s", .scale = 1
#define REQUESTS_S .unit = "req/s", .scale = 1
#define ONE .unit = "1", .scale = 1
#define FROM_TO(a, b) .from = a, .to = b

/* --- vLLM bench serve --------------------------------------------------------------------------
 */

static const struct peer_stat vllm_stats[] = {
    {"mean", "mean_", "_ms"},
    {"median", "median_", "_ms"},
    {"std", "std_", "_ms"},
    {"p99", "p99_", "_ms"},
    {0},
};

static const struct peer_row vllm_rows[] = {
    {"duration", WORD_NONE, "last end - first t0", SECONDS, PEER_RUN_SPAN,
     FROM_TO(PEER_T0, PEER_END), .all = true},
    {"completed", WORD_NONE, "S", ONE, PEER_RUN_COUNT},
    {"failed", WORD_NONE, "A - S", ONE, PEER_RUN_FAILED, .all = true},
    {"total_input_tokens", WORD_NONE, "sum of P", ONE, PEER_RUN_SUM_IN},
    {"total_output_tokens", WORD_NONE, "sum of N", ONE, PEER_RUN_SUM_OUT},
    {"request_throughput", WORD_REQUEST_TPS, "S / T", REQUESTS_S, PEER_RUN_RATE,
     FROM_TO(PEER_T0, PEER_END), .all = true},
    {"output_throughput", WORD_OUTPUT_TPS, "sum of N / T", TOKENS_S, PEER_RUN_OUT_RATE,
     FROM_TO(PEER_T0, PEER_END), .all = true},
    {"total_token_throughput", WORD_NONE, "(sum of P + sum of N) / T", TOKENS_S,
     PEER_RUN_TOTAL_RATE, FROM_TO(PEER_T0, PEER_END), .all = true},
    {"request_goodput", WORD_NONE, "good / T", REQUESTS_S, PEER_RUN_GOODPUT,
     FROM_TO(PEER_T0, PEER_END), .all = true},
    {"max_output_tokens_per_s", WORD_PEAK_TPS, "most events with text in a second of T", TOKENS_S,
     PEER_RUN_BUCKET, FROM_TO(PEER_T0, PEER_OM),
     .note = "it counts events, which need not be tokens"},
    {"max_concurrent_requests", WORD_NONE, "most that touch one second of T", ONE,
     PEER_RUN_IN_FLIGHT_1S},
    {"ttft", WORD_TTFT, "o_1 - t0; up to some version before 0.33 the first event, empty or not",
     MS, PEER_SPAN, FROM_TO(PEER_T0, PEER_O1)},
    {"tpot", WORD_TPOT, "(o_M - o_1) / (N - 1), N > 1", MS, PEER_SPAN_PER,
     FROM_TO(PEER_O1, PEER_OM), .less = 1},
    {"itl", WORD_ITL, "gaps between events with text, pooled", MS, PEER_GAPS},
    {"e2el", WORD_E2E, "o_M - t0", MS, PEER_SPAN, FROM_TO(PEER_T0, PEER_OM)},
    {0},
};

static const struct peer_limit vllm_limits[] = {
    {M_TTFT, "ttft"}, {M_TPOT, "tpot"}, {M_E2EL, "e2el"}, {.row = NULL}};

const struct peer peer_vllm = {
    .name = "vllm",
    .version = "vLLM 0.33.0",
    .count = PEER_USAGE,
    .zero_for_none = true,
    .stats = vllm_stats,
    .rows = vllm_rows,
    .limits = vllm_limits,
    .missing = PEER_PASSES,
};

/* --- SGLang serving benchmark ------------------------------------------------------------------
 */

static const struct peer_stat sglang_stats[] = {
    {"mean", "mean_", "_ms"},
    {"median", "median_", "_ms"},
    {"std", "std_", "_ms"},
    {"p90", "p90_", "_ms"},
    {"p95", "p95_", "_ms"},
    {"p99", "p99_", "_ms"},
    {0},
};

static const struct peer_row sglang_rows[] = {
    {"duration", WORD_NONE, "last end - first t0; it adds a call to the server", SECONDS,
     PEER_RUN_SPAN, FROM_TO(PEER_T0, PEER_END), .all = true,
     .note = "without the time of its own call to /server_info at the end"},
    {"completed", WORD_NONE, "S", ONE, PEER_RUN_COUNT},
    {"total_input_tokens", WORD_NONE, "sum of P", ONE, PEER_RUN_SUM_IN},
    {"total_output_tokens", WORD_NONE, "sum of N", ONE, PEER_RUN_SUM_OUT},
    {"request_throughput", WORD_REQUEST_TPS, "S / T", REQUESTS_S, PEER_RUN_RATE,
     FROM_TO(PEER_T0, PEER_END), .all = true},
    {"input_throughput", WORD_NONE, "sum of P / T", TOKENS_S, PEER_RUN_IN_RATE,
     FROM_TO(PEER_T0, PEER_END), .all = true},
    {"output_throughput", WORD_OUTPUT_TPS, "sum of N / T", TOKENS_S, PEER_RUN_OUT_RATE,
     FROM_TO(PEER_T0, PEER_END), .all = true},
    {"total_throughput", WORD_NONE, "(sum of P + sum of N) / T", TOKENS_S, PEER_RUN_TOTAL_RATE,
     FROM_TO(PEER_T0, PEER_END), .all = true},
    {"request_goodput", WORD_NONE, "good / T", REQUESTS_S, PEER_RUN_GOODPUT,
     FROM_TO(PEER_T0, PEER_END), .all = true},
    {"slo_attainment", WORD_NONE, "good / A", ONE, PEER_RUN_GOOD_SHARE, .all = true},
    {"concurrency", WORD_NONE, "sum of E2E / T", ONE, PEER_RUN_LITTLE, FROM_TO(PEER_T0, PEER_END),
     .all = true},
    {"max_output_tokens_per_s", WORD_PEAK_TPS, "most events with text in a second of T", TOKENS_S,
     PEER_RUN_BUCKET, FROM_TO(PEER_T0, PEER_OM),
     .note = "it counts events, which need not be tokens"},
    {"max_concurrent_requests", WORD_NONE, "most that touch one second of T", ONE,
     PEER_RUN_IN_FLIGHT_1S},
    {"e2e_latency", WORD_E2E, "z - t0", MS, PEER_SPAN, FROM_TO(PEER_T0, PEER_Z)},
    {"ttft", WORD_TTFT, "o_1 - t0, reasoning included", MS, PEER_SPAN, FROM_TO(PEER_T0, PEER_O1)},
    {"tpot", WORD_TPOT, "(z - o_1) / (N - 1), N > 1", MS, PEER_SPAN_PER, FROM_TO(PEER_O1, PEER_Z),
     .less = 1},
    {"itl", WORD_ITL, "gaps between events with text, pooled", MS, PEER_GAPS},
    {0},
};

static const struct peer_limit sglang_limits[] = {
    {M_TTFT, "ttft"}, {M_TPOT, "tpot"}, {M_E2EL, "e2e_latency"}, {.row = NULL}};

const struct peer peer_sglang = {
    .name = "sglang",
    .version = "SGLang 0.5.23, OpenAI backends",
    .count = PEER_USAGE_OR_WISH,
    .stats = sglang_stats,
    .rows = sglang_rows,
    .limits = sglang_limits,
    .missing = PEER_PASSES,
};

/* --- AIPerf ------------------------------------------------------------------------------------
 */

static const struct peer_stat aiperf_stats[] = {
    {"mean", "", ".avg"},   {"min", "", ".min"}, {"max", "", ".max"},
    {"median", "", ".p50"}, {"p90", "", ".p90"}, {"p95", "", ".p95"},
    {"p99", "", ".p99"},    {"std", "", ".std"}, {0},
};

static const struct peer_row aiperf_rows[] = {
    {"benchmark_duration", WORD_NONE, "last o_M - first t0", SECONDS, PEER_RUN_SPAN,
     FROM_TO(PEER_T0, PEER_OM)},
    {"request_count", WORD_NONE, "S", ONE, PEER_RUN_COUNT},
    {"error_request_count", WORD_NONE, "A - S", ONE, PEER_RUN_FAILED, .all = true},
    {"good_request_count", WORD_NONE, "within all limits", ONE, PEER_RUN_GOOD},
    {"good_request_fraction", WORD_NONE, "good / A", ONE, PEER_RUN_GOOD_SHARE, .all = true},
    {"goodput", WORD_NONE, "good / T", REQUESTS_S, PEER_RUN_GOODPUT, FROM_TO(PEER_T0, PEER_OM)},
    {"request_throughput", WORD_REQUEST_TPS, "S / T", REQUESTS_S, PEER_RUN_RATE,
     FROM_TO(PEER_T0, PEER_OM)},
    {"output_token_throughput", WORD_OUTPUT_TPS, "sum of N / T", TOKENS_S, PEER_RUN_OUT_RATE,
     FROM_TO(PEER_T0, PEER_OM)},
    {"total_token_throughput", WORD_NONE, "(sum of P + sum of N) / T", TOKENS_S,
     PEER_RUN_TOTAL_RATE, FROM_TO(PEER_T0, PEER_OM)},
    {"time_to_first_token", WORD_TTFT, "o_1 - t0, reasoning included", MS, PEER_SPAN,
     FROM_TO(PEER_T0, PEER_O1)},
    {"time_to_second_token", WORD_NONE, "o_2 - o_1", MS, PEER_SPAN, FROM_TO(PEER_O1, PEER_O2)},
    {"time_to_first_output_token", WORD_NONE, "first output that is not reasoning - t0", MS,
     PEER_SPAN, FROM_TO(PEER_T0, PEER_ANSWER)},
    {"request_latency", WORD_E2E, "o_M - t0", MS, PEER_SPAN, FROM_TO(PEER_T0, PEER_OM)},
    {"inter_token_latency", WORD_ITL, "(o_M - o_1) / (N - 1), a mean of each request", MS,
     PEER_SPAN_PER, FROM_TO(PEER_O1, PEER_OM), .less = 1},
    {"inter_chunk_latency", WORD_NONE, "o_k - o_(k-1), pooled", MS, PEER_GAPS},
    {"output_token_throughput_per_user", WORD_USER_TPS, "(N - 1) / (o_M - o_1)", TOKENS_S,
     PEER_PER_SPAN, FROM_TO(PEER_O1, PEER_OM), .less = 1},
    {"e2e_output_token_throughput", WORD_NONE, "N / (o_M - t0)", TOKENS_S, PEER_PER_SPAN,
     FROM_TO(PEER_T0, PEER_OM)},
    {"prefill_throughput_per_user", WORD_NONE, "P / (o_1 - t0)", TOKENS_S, PEER_INPUT_PER,
     FROM_TO(PEER_T0, PEER_O1)},
    {"output_sequence_length", WORD_NONE, "N", ONE, PEER_OUTPUT},
    {"input_sequence_length", WORD_NONE, "P", ONE, PEER_INPUT},
    {0},
};

static const struct peer_limit aiperf_limits[] = {{M_TTFT, "time_to_first_token"},
                                                  {M_TTFO, "time_to_first_output_token"},
                                                  {M_TPOT, "inter_token_latency"},
                                                  {M_E2EL, "request_latency"},
                                                  {.row = NULL}};

const struct peer peer_aiperf = {
    .name = "aiperf",
    .version = "AIPerf 0.13.0",
    .count = PEER_TEXT_BY_DEFAULT,
    .count_option = "N as stated, which is an option of it; by default it counts the text, and no "
                    "--tokenizer is given",
    .stats = aiperf_stats,
    .rows = aiperf_rows,
    .limits = aiperf_limits,
};

/* --- GuideLLM ----------------------------------------------------------------------------------
 */

static const struct peer_stat guidellm_stats[] = {
    {"mean", "", ".mean"},
    {"median", "", ".median"},
    {"std", "", ".std_dev"},
    {"min", "", ".min"},
    {"max", "", ".max"},
    {"p90", "", ".percentiles.p90"},
    {"p95", "", ".percentiles.p95"},
    {"p99", "", ".percentiles.p99"},
    {0},
};

static const struct peer_row guidellm_rows[] = {
    {"duration", WORD_NONE, "last z - first t0", SECONDS, PEER_RUN_SPAN, FROM_TO(PEER_T0, PEER_END),
     .all = true},
    {"requests_per_second.mean", WORD_REQUEST_TPS, "S / T", REQUESTS_S, PEER_RUN_RATE,
     FROM_TO(PEER_T0, PEER_END), .all = true},
    {"request_concurrency.mean", WORD_NONE, "sum of (z - t0) / T", ONE, PEER_RUN_LITTLE,
     FROM_TO(PEER_T0, PEER_END), .all = true},
    {"output_tokens_per_second.mean", WORD_OUTPUT_TPS,
     "sum of N / T; before 0.8 over last o_M - first o_1", TOKENS_S, PEER_RUN_OUT_RATE,
     FROM_TO(PEER_T0, PEER_END), .all = true},
    {"slo_attainment", WORD_NONE, "good / (those that can be told + failures)", ONE,
     PEER_RUN_GOOD_SHARE, .all = true},
    {"request_goodput.mean", WORD_NONE, "good / T", REQUESTS_S, PEER_RUN_GOODPUT,
     FROM_TO(PEER_T0, PEER_END), .all = true},
    {"request_latency", WORD_E2E, "z - t0", SECONDS, PEER_SPAN, FROM_TO(PEER_T0, PEER_Z)},
    {"time_to_first_token_ms", WORD_TTFT, "o_1 - t0 of streams, reasoning included", MS, PEER_SPAN,
     FROM_TO(PEER_T0, PEER_O1), .streams = true},
    {"time_to_first_output_token_ms", WORD_NONE,
     "first output of streams that is not reasoning - t0", MS, PEER_SPAN,
     FROM_TO(PEER_T0, PEER_ANSWER), .streams = true},
    {"time_per_output_token_ms", WORD_TPOT,
     "(o_M - t0) / N: the first token's time is in it; weighted by N", MS, PEER_SPAN_PER,
     FROM_TO(PEER_T0, PEER_OM), .weighted = true},
    {"inter_token_latency_ms", WORD_ITL, "(o_M - o_1) / (N - 1), weighted by N - 1", MS,
     PEER_SPAN_PER, FROM_TO(PEER_O1, PEER_OM), .less = 1, .weighted = true},
    {"prompt_token_count", WORD_NONE, "P", ONE, PEER_INPUT},
    {"output_token_count", WORD_NONE, "N", ONE, PEER_OUTPUT},
    {0},
};

static const struct peer_limit guidellm_limits[] = {{M_TTFT, "time_to_first_token_ms"},
                                                    {M_TPOT, "inter_token_latency_ms"},
                                                    {M_E2EL, "request_latency"},
                                                    {.row = NULL}};

const struct peer peer_guidellm = {
    .name = "guidellm",
    .version = "GuideLLM 0.8.1, successful requests",
    .count = PEER_USAGE_OR_EVENTS,
    .step = true,
    .missing_zero = true,
    .zero_for_none = true,
    .stats = guidellm_stats,
    .rows = guidellm_rows,
    .limits = guidellm_limits,
    .missing = PEER_UNTOLD,
};

/* --- llama-benchy ------------------------------------------------------------------------------
 */

static const struct peer_stat benchy_stats[] = {{"mean", "", ".mean"}, {"std", "", ".std"}, {0}};

#define NO_PROBE                                                                                   \
    .note = "with latency_mode none: the latency of its probe, which it takes off, is not in a "   \
            "trace"

static const struct peer_row benchy_rows[] = {
    {"pp_throughput", WORD_NONE, "of a batch: sum of P / (last o_1 - first t0)", TOKENS_S,
     PEER_BATCH_IN},
    {"pp_req_throughput", WORD_NONE, "P / (c_1 - t0)", TOKENS_S, PEER_INPUT_PER,
     FROM_TO(PEER_T0, PEER_C1), NO_PROBE},
    {"tg_throughput", WORD_OUTPUT_TPS, "of a batch: (sum of N - requests) / (last o_M - first o_1)",
     TOKENS_S, PEER_BATCH_OUT},
    {"tg_req_throughput", WORD_USER_TPS, "(N - 1) / (o_M - o_1)", TOKENS_S, PEER_PER_SPAN,
     FROM_TO(PEER_O1, PEER_OM), .less = 1},
    {"peak_throughput", WORD_PEAK_TPS, "of a batch: most tokens within a second", TOKENS_S,
     PEER_BATCH_PEAK, .note = "tokens spread evenly over the events of their request"},
    {"ttfr", WORD_NONE, "c_1 - t0", MS, PEER_SPAN, FROM_TO(PEER_T0, PEER_C1)},
    {"est_ppt", WORD_NONE, "c_1 - t0 - L", MS, PEER_SPAN, FROM_TO(PEER_T0, PEER_C1), NO_PROBE},
    {"e2e_ttft", WORD_TTFT, "o_1 - t0", MS, PEER_SPAN, FROM_TO(PEER_T0, PEER_O1)},
    {0},
};

const struct peer peer_llama_benchy = {
    .name = "llama-benchy",
    .version = "llama-benchy 0.4.0",
    .count = PEER_IDS_FIRST,
    .stats = benchy_stats,
    .rows = benchy_rows,
};

/* --- inference-perf ----------------------------------------------------------------------------
 */

static const struct peer_stat inference_stats[] = {
    {"mean", "latency.", ".mean"}, {"min", "latency.", ".min"},
    {"max", "latency.", ".max"},   {"median", "latency.", ".median"},
    {"p90", "latency.", ".p90"},   {"p95", "latency.", ".p95"},
    {"p99", "latency.", ".p99"},   {0},
};

static const struct peer_row inference_rows[] = {
    {"benchmark_time_seconds", WORD_NONE, "last end - first t0, failures included", SECONDS,
     PEER_RUN_SPAN, FROM_TO(PEER_T0, PEER_END), .all = true},
    {"successes.count", WORD_NONE, "S", ONE, PEER_RUN_COUNT},
    {"failures.count", WORD_NONE, "A - S", ONE, PEER_RUN_FAILED, .all = true},
    {"throughput.requests_per_sec", WORD_REQUEST_TPS, "S / T", REQUESTS_S, PEER_RUN_RATE,
     FROM_TO(PEER_T0, PEER_END), .all = true},
    {"throughput.input_tokens_per_sec", WORD_NONE, "sum of P / T", TOKENS_S, PEER_RUN_IN_RATE,
     FROM_TO(PEER_T0, PEER_END), .all = true},
    {"throughput.output_tokens_per_sec", WORD_OUTPUT_TPS, "sum of N / T", TOKENS_S,
     PEER_RUN_OUT_RATE, FROM_TO(PEER_T0, PEER_END), .all = true},
    {"throughput.total_tokens_per_sec", WORD_NONE, "(sum of P + sum of N) / T", TOKENS_S,
     PEER_RUN_TOTAL_RATE, FROM_TO(PEER_T0, PEER_END), .all = true},
    {"goodput_metrics.request_goodput", WORD_NONE, "good / T of the successes", REQUESTS_S,
     PEER_RUN_GOODPUT, FROM_TO(PEER_T0, PEER_END)},
    {"goodput_metrics.token_goodput", WORD_NONE, "sum of P + N of good ones / T of the successes",
     TOKENS_S, PEER_RUN_GOOD_TOKENS, FROM_TO(PEER_T0, PEER_END)},
    {"goodput_metrics.goodput_percentage", WORD_NONE, "good / S, in percent", .unit = "1",
     .scale = 100, PEER_RUN_GOOD_SHARE},
    {"request_latency", WORD_E2E, "z - t0", SECONDS, PEER_SPAN, FROM_TO(PEER_T0, PEER_Z)},
    {"normalized_time_per_output_token", WORD_NONE, "(z - t0) / N", SECONDS, PEER_SPAN_PER,
     FROM_TO(PEER_T0, PEER_Z)},
    {"time_per_output_token", WORD_TPOT, "(o_M - first output that is not reasoning) / (N - 1)",
     SECONDS, PEER_SPAN_PER, FROM_TO(PEER_ANSWER, PEER_OM), .less = 1},
    {"time_to_first_token", WORD_TTFT, "first output that is not reasoning - t0", SECONDS,
     PEER_SPAN, FROM_TO(PEER_T0, PEER_ANSWER)},
    {"inter_token_latency", WORD_ITL, "gaps between tokens, 0 inside of an event", SECONDS,
     PEER_NEVER, .note = "it counts the text of each event with a tokenizer"},
    {0},
};

static const struct peer_limit inference_limits[] = {{M_TTFT, "time_to_first_token"},
                                                     {M_TPOT, "time_per_output_token"},
                                                     {M_NTPOT, "normalized_time_per_output_token"},
                                                     {M_E2EL, "request_latency"},
                                                     {.row = NULL}};

const struct peer peer_inference_perf = {
    .name = "inference-perf",
    .version = "inference-perf 0.7.0",
    .count = PEER_TEXT_BY_DEFAULT,
    .count_option = "N as stated, which is an option of it; by default it counts the text, and no "
                    "--tokenizer is given",
    .stats = inference_stats,
    .rows = inference_rows,
    .limits = inference_limits,
};

/* --- llmperf -----------------------------------------------------------------------------------
 */

static const struct peer_stat llmperf_stats[] = {
    {"mean", "results_", "_mean"},
    {"median", "results_", "_quantiles_p50"},
    {"p90", "results_", "_quantiles_p90"},
    {"p95", "results_", "_quantiles_p95"},
    {"p99", "results_", "_quantiles_p99"},
    {"min", "results_", "_min"},
    {"max", "results_", "_max"},
    {"std", "results_", "_stddev"},
    {0},
};

static const struct peer_row llmperf_rows[] = {
    {"results_num_requests_started", WORD_NONE, "A", ONE, PEER_RUN_COUNT, .all = true},
    {"results_num_completed_requests", WORD_NONE, "S", ONE, PEER_RUN_COUNT},
    {"results_number_errors", WORD_NONE, "A - S", ONE, PEER_RUN_FAILED, .all = true},
    {"results_error_rate", WORD_NONE, "(A - S) / A", ONE, PEER_RUN_FAILED_SHARE, .all = true},
    {"results_num_completed_requests_per_min", WORD_REQUEST_TPS, "S / T, a minute", .unit = "1",
     .scale = 60, PEER_RUN_RATE, FROM_TO(PEER_T0, PEER_END), .all = true},
    {"results_mean_output_throughput_token_per_s", WORD_OUTPUT_TPS, "sum of N / T", TOKENS_S,
     PEER_RUN_OUT_RATE, FROM_TO(PEER_T0, PEER_END), .all = true},
    {"ttft_s", WORD_TTFT, "first output that is not reasoning - t0", SECONDS, PEER_SPAN,
     FROM_TO(PEER_T0, PEER_ANSWER)},
    {"end_to_end_latency_s", WORD_E2E, "z - t0", SECONDS, PEER_SPAN, FROM_TO(PEER_T0, PEER_Z)},
    {"inter_token_latency_s", WORD_ITL, "(o_M - t0) / data lines: the first token's time is in it",
     SECONDS, PEER_LINES, FROM_TO(PEER_T0, PEER_OM)},
    {"request_output_throughput_token_per_s", WORD_USER_TPS, "N / (z - t0)", TOKENS_S,
     PEER_PER_SPAN, FROM_TO(PEER_T0, PEER_Z)},
    {"number_output_tokens", WORD_NONE, "N", ONE, PEER_OUTPUT},
    {0},
};

const struct peer peer_llmperf = {
    .name = "llmperf",
    .version = "llmperf at f1d6bed4",
    .count = PEER_TEXT,
    .sample_std = true,
    .stats = llmperf_stats,
    .rows = llmperf_rows,
};

/* --- GenAI-Perf --------------------------------------------------------------------------------
 */

static const struct peer_row genai_rows[] = {
    {"request_count", WORD_NONE, "A, those without a response too", ONE, PEER_RUN_COUNT,
     .all = true},
    {"request_throughput.avg", WORD_REQUEST_TPS, "A / (last response - first t0)", REQUESTS_S,
     PEER_RUN_RATE, FROM_TO(PEER_T0, PEER_OM), .less = 1},
    {"output_token_throughput.avg", WORD_OUTPUT_TPS, "sum of N / (last response - first t0)",
     TOKENS_S, PEER_RUN_OUT_RATE, FROM_TO(PEER_T0, PEER_OM)},
    {"request_goodput.avg", WORD_NONE, "good / (last response - first t0)", REQUESTS_S,
     PEER_RUN_GOODPUT, FROM_TO(PEER_T0, PEER_OM)},
    {"time_to_first_token", WORD_TTFT, "o_1 - t0", MS, PEER_SPAN, FROM_TO(PEER_T0, PEER_O1)},
    {"time_to_second_token", WORD_NONE, "o_2 - o_1", MS, PEER_SPAN, FROM_TO(PEER_O1, PEER_O2)},
    {"request_latency", WORD_E2E, "o_M - t0", MS, PEER_SPAN, FROM_TO(PEER_T0, PEER_OM)},
    {"inter_token_latency", WORD_ITL, "(o_M - o_1) / (N - 1), a mean of each request", MS,
     PEER_SPAN_PER, FROM_TO(PEER_O1, PEER_OM), .less = 1},
    {"output_token_throughput_per_user", WORD_USER_TPS, "(N - 1) / (o_M - o_1)", TOKENS_S,
     PEER_PER_SPAN, FROM_TO(PEER_O1, PEER_OM), .less = 1},
    {"output_sequence_length", WORD_NONE, "N", ONE, PEER_OUTPUT},
    {"input_sequence_length", WORD_NONE, "P", ONE, PEER_INPUT},
    {0},
};

static const struct peer_limit genai_limits[] = {{M_TTFT, "time_to_first_token"},
                                                 {M_TPOT, "inter_token_latency"},
                                                 {M_E2EL, "request_latency"},
                                                 {.row = NULL}};

const struct peer peer_genai_perf = {
    .name = "genai-perf",
    .version = "GenAI-Perf at 263c5f6e, responses with text",
    .count = PEER_TEXT,
    .stats = aiperf_stats,
    .rows = genai_rows,
    .limits = genai_limits,
};
