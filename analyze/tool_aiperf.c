/* AIPerf: profile_export_aiperf.json, the rows of profile_export.jsonl, and, of several runs,
 * profile_export_aiperf_aggregate.json. Units are read from the file; the scales below are what it
 * says when it says none. */
#include "analyze/tool.h"

static const char *const signs[] = {"aiperf_version",        "was_cancelled",
                                    "error_summary[]",       "benchmark_duration.*",
                                    "inter_chunk_latency.*", "time_to_first_output_token.*",
                                    "schema_version",        NULL};

static const struct tool_path paths[] = {
    {"time_to_first_token.*", F_TTFT, 1e-3, NULL},
    {"time_to_second_token.*", F_TTST, 1e-3, NULL},
    {"request_latency.*", F_LATENCY, 1e-3, NULL},
    {"inter_token_latency.*", F_TPOT, 1e-3, NULL},
    {"inter_chunk_latency.*", F_GAP, 1e-3, NULL},
    {"output_token_throughput_per_user.*", F_USER_TPS, 1, NULL},
    {"e2e_output_token_throughput.*", F_WHOLE_TPS, 1, NULL},
    {"output_sequence_length.*", F_OUTPUT, 1, NULL},
    {"input_sequence_length.*", F_INPUT, 1, NULL},
    {"output_token_throughput.avg", F_OUTPUT_TPS, 1, "value"},
    {"total_token_throughput.avg", F_TOTAL_TPS, 1, "value"},
    {"request_throughput.avg", F_REQUEST_TPS, 1, "value"},
    {"goodput.avg", F_GOODPUT, 1, "value"},
    {"good_request_count.avg", F_GOOD, 1, "value"},
    {"request_count.avg", F_COMPLETED, 1, "value"},
    {"error_request_count.avg", F_FAILED, 1, "value"},
    {"benchmark_duration.avg", F_DURATION, 1, "value"},
    {.path = NULL},
};

#define OWN_TOKENS "AIPerf counts tokens with its own tokenizer by default"

static const struct definition burst_rates = {
    "aiperf output_token_throughput_per_user: (N-1)/(o_M-o_1), bursts too",
    {"(N-1)/(o_M-o_1), bursts too", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, false,
     tool_user_tps_bursts},
    -1,
    "the server stated no token count"};

/* T is from the first start of a success to the last text. */
static const struct tool_formula formulas[FIGURES] = {
    [F_TTFT] = {.d = {"aiperf ttft: o_1-t0",
                      {"o_1-t0", SHAPE_TIME, COUNT_NONE, AT_T0, AT_O1, false, NULL},
                      -1,
                      "no text was seen"},
                .slack = 1},
    [F_TTST] =
        {.d = {"aiperf ttst: o_2-o_1",
               {"o_2-o_1", SHAPE_TIME, COUNT_NONE, AT_O1, AT_O2, false, NULL},
               -1,
               "no two events with text were seen"},
         .slack = 10,
         .weak = "it is between two moments at which AIPerf came to read, either of which may be "
                 "late"},
    [F_LATENCY] = {.d = {"aiperf request_latency: o_M-t0",
                         {"o_M-t0", SHAPE_TIME, COUNT_NONE, AT_T0, AT_OM, false, NULL},
                         -1,
                         "no text was seen"},
                   .slack = 1},
    [F_TPOT] = {.d = {"aiperf inter_token_latency: (o_M-o_1)/(N-1)",
                      {"(o_M-o_1)/(N-1)", SHAPE_PER, COUNT_N_LESS_1, AT_O1, AT_OM, false, NULL},
                      -1,
                      "the server stated no token count"},
                .slack = 2,
                .weak = OWN_TOKENS,
                .also = {&tool_text[TEXT_TPOT]}},
    [F_USER_TPS] = {.d = {"aiperf output_token_throughput_per_user: (N-1)/(o_M-o_1)",
                          {"(N-1)/(o_M-o_1)", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, false,
                           tool_user_tps},
                          -1,
                          "the server stated no token count"},
                    .slack = 2,
                    .weak = OWN_TOKENS,
                    .also = {&tool_text[TEXT_USER_TPS], &burst_rates}},
    [F_WHOLE_TPS] = {.d = {"aiperf e2e_output_token_throughput: N/(o_M-t0)",
                           {"N/(o_M-t0)", SHAPE_RATE, COUNT_N, AT_T0, AT_OM, false, NULL},
                           -1,
                           "the server stated no token count"},
                     .slack = 2,
                     .weak = OWN_TOKENS,
                     .also = {&tool_text[TEXT_WHOLE_TPS]}},
    [F_OUTPUT] = {.slack = 2, .weak = OWN_TOKENS, .also = {&tool_text[TEXT_TOKENS]}},
    [F_INPUT] = {.slack = 10, .weak = OWN_TOKENS ", and without the chat template"},
    [F_GAP] = {.slack = 10,
               .weak = "AIPerf's gaps are between the moments at which it came to read, and its "
                       "percentiles of them may be from a digest",
               .also = {&definitions[D_ICL_ALL]}},
    [F_OUTPUT_TPS] = {.d = {"aiperf output_token_throughput: sum(N)/T",
                            {"sum(N)/T", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true,
                             tool_answers_output_tps},
                            -1,
                            "the server stated no token count"},
                      .slack = 2,
                      .weak = OWN_TOKENS,
                      .also = {&tool_text[TEXT_ANSWERS_TPS]}},
    [F_INPUT_TPS] = {.slack = 10, .weak = OWN_TOKENS ", and prompts without the chat template"},
    [F_TOTAL_TPS] = {.d = {"aiperf total_token_throughput: sum(P+N)/T",
                           {"sum(P+N)/T", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true,
                            tool_answers_total_tps},
                           -1,
                           "the server stated no token count"},
                     .slack = 10,
                     .weak = OWN_TOKENS ", and prompts without the chat template"},
    [F_DURATION] = {.d = {"aiperf benchmark_duration: T",
                          {"T", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true,
                           tool_answers_duration},
                          -1,
                          "no request succeeded"},
                    .slack = 1},
    [F_REQUEST_TPS] = {.d = {"aiperf request_throughput: S/T",
                             {"S/T", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true,
                              tool_answers_request_tps},
                             -1,
                             "no request succeeded"},
                       .slack = 1},
};

static const char *const models[] = {"input_config.endpoint.model_names[]",
                                     "input_config.models.items[].name", NULL};

const struct tool tool_aiperf = {
    .name = "aiperf",
    .title = "AIPerf",
    .signs = signs,
    .models = models,
    .paths = paths,
    .object = "",
    .formulas = formulas,
};

static const char *const row_signs[] = {"metadata.x_request_id", "metadata.request_start_ns",
                                        "metadata.benchmark_phase", NULL};

static const struct tool_path no_paths[] = {{.path = NULL}};

static const struct tool_row rows[] = {
    {"metadata.x_request_id", ROW_ID, 1},
    {"metadata.request_start_ns", ROW_START, 1e-9},
    {"metadata.request_end_ns", ROW_END, 1e-9},
    {"metadata.benchmark_phase", ROW_PHASE, 1},
    {"metrics.time_to_first_token.value", ROW_TTFT, 1e-3},
    {"metrics.request_latency.value", ROW_LATENCY, 1e-3},
    {"metrics.inter_token_latency.value", ROW_TPOT, 1e-3},
    {"metrics.output_sequence_length.value", ROW_OUTPUT, 1},
    {"metrics.input_sequence_length.value", ROW_INPUT, 1},
    {"error", ROW_ERROR, 1},
    {.path = NULL},
};

const struct tool tool_aiperf_rows = {
    .name = "aiperf-requests",
    .title = "AIPerf, request by request",
    .signs = row_signs,
    .paths = no_paths,
    .object = "",
    .rows = rows,
    .row_object = "",
    .formulas = formulas,
    .clock_is_epoch = true,
};

/* Its "mean" is over the runs, of what each of them had: "metrics.time_to_first_token_p99.mean" is
 * no p99. Source: aiperf 0.13, orchestrator/aggregation/confidence.py. */
static const char *const runs_signs[] = {"metrics.*.t_critical", "metrics.*.ci_low", NULL};

static const struct tool_path runs_paths[] = {
    {"metrics.time_to_first_token_*.mean", F_TTFT, 1e-3, NULL},
    {"metrics.time_to_second_token_*.mean", F_TTST, 1e-3, NULL},
    {"metrics.request_latency_*.mean", F_LATENCY, 1e-3, NULL},
    {"metrics.inter_token_latency_*.mean", F_TPOT, 1e-3, NULL},
    {"metrics.inter_chunk_latency_*.mean", F_GAP, 1e-3, NULL},
    {"metrics.output_token_throughput_per_user_*.mean", F_USER_TPS, 1, NULL},
    {"metrics.e2e_output_token_throughput_*.mean", F_WHOLE_TPS, 1, NULL},
    {"metrics.output_sequence_length_*.mean", F_OUTPUT, 1, NULL},
    {"metrics.input_sequence_length_*.mean", F_INPUT, 1, NULL},
    {"metrics.output_token_throughput_avg.mean", F_OUTPUT_TPS, 1, "value"},
    {"metrics.total_token_throughput_avg.mean", F_TOTAL_TPS, 1, "value"},
    {"metrics.request_throughput_avg.mean", F_REQUEST_TPS, 1, "value"},
    {"metrics.goodput_avg.mean", F_GOODPUT, 1, "value"},
    {"metrics.good_request_count_avg.mean", F_GOOD, 1, "value"},
    {"metrics.request_count_avg.mean", F_COMPLETED, 1, "value"},
    {"metrics.error_request_count_avg.mean", F_FAILED, 1, "value"},
    {"metrics.benchmark_duration_avg.mean", F_DURATION, 1, "value"},
    {"metadata.num_successful_runs", F_RUNS, 1, "value"},
    {.path = NULL},
};

const struct tool tool_aiperf_runs = {
    .name = "aiperf-runs",
    .title = "AIPerf, means over runs",
    .signs = runs_signs,
    .paths = runs_paths,
    .object = "",
    .formulas = formulas,
    .over_runs = true,
    .one_run = &tool_aiperf,
};
