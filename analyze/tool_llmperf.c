/* llmperf: the flat summary, and the list of individual responses. Its "inter-token latency" is the
 * whole latency over the number of data lines. */
#include "analyze/tool.h"

static const char *const signs[] = {"results_num_requests_started", "results_ttft_s_mean",
                                    "results_*", NULL};

#define EACH(name, figure)                                                                         \
    {"results_" name "_quantiles_*", figure, 1, NULL},                                             \
    {                                                                                              \
        "results_" name "_*", figure, 1, NULL                                                      \
    }

static const struct tool_path paths[] = {
    EACH("ttft_s", F_TTFT),
    EACH("end_to_end_latency_s", F_LATENCY),
    EACH("inter_token_latency_s", F_NTPOT),
    EACH("request_output_throughput_token_per_s", F_WHOLE_TPS),
    EACH("number_input_tokens", F_INPUT),
    EACH("number_output_tokens", F_OUTPUT),
    {"results_mean_output_throughput_token_per_s", F_OUTPUT_TPS, 1, "value"},
    {"results_num_requests_started", F_REQUESTED, 1, "value"},
    {"results_num_completed_requests", F_COMPLETED, 1, "value"},
    {"results_number_errors", F_FAILED, 1, "value"},
    {"results_num_completed_requests_per_min", F_REQUEST_TPS, 1.0 / 60, "value"},
    {"num_concurrent_requests", F_CAP, 1, "value"},
    {.path = NULL},
};

#define OWN_TOKENS "llmperf counts with one Llama tokenizer, whatever the model"

static const struct tool_formula formulas[FIGURES] = {
    [F_TTFT] = {.d = {"llmperf ttft: answer-t0", /* it reads content alone, no reasoning */
                      {"answer-t0", SHAPE_TIME, COUNT_NONE, AT_T0, AT_ANSWER, false, NULL},
                      -1,
                      "no text was seen but reasoning"},
                .slack = 1},
    [F_LATENCY] = {.d = {"llmperf end_to_end_latency: z-t0",
                         {"z-t0", SHAPE_TIME, COUNT_NONE, AT_T0, AT_Z, false, NULL},
                         -1,
                         "the end was not seen"},
                   .slack = 1},
    [F_NTPOT] = {.d = {"llmperf inter_token_latency: (o_M-t0)/lines",
                       {"(o_M-t0)/lines", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, false,
                        tool_llmperf_itl},
                       -1,
                       "no text was seen"},
                 .slack = 1},
    [F_WHOLE_TPS] = {.d = {"llmperf request_output_throughput: N/(z-t0)",
                           {"N/(z-t0)", SHAPE_RATE, COUNT_N, AT_T0, AT_Z, false, NULL},
                           -1,
                           "the server stated no token count"},
                     .slack = 2,
                     .weak = OWN_TOKENS,
                     .also = {&tool_text[TEXT_END_TPS]}},
    [F_INPUT] = {.slack = 10, .weak = OWN_TOKENS},
    [F_OUTPUT] = {.slack = 2, .weak = OWN_TOKENS, .also = {&tool_text[TEXT_TOKENS]}},
    [F_OUTPUT_TPS] = {.d = {"llmperf mean_output_throughput: sum(N)/T",
                            {"sum(N)/T", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true,
                             tool_output_tps},
                            -1,
                            "the server stated no token count"},
                      .slack = 2,
                      .weak = OWN_TOKENS,
                      .also = {&tool_text[TEXT_OUTPUT_TPS]}},
    [F_REQUEST_TPS] = {.d = {"llmperf num_completed_requests_per_min: S/T",
                             {"S/T", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true,
                              tool_request_tps},
                             -1,
                             "no request succeeded"},
                       .slack = 1.5,
                       .weak = "llmperf's duration goes on until its threads have ended"},
};

static const char *const models[] = {"model", NULL};

const struct tool tool_llmperf = {
    .name = "llmperf",
    .title = "llmperf",
    .signs = signs,
    .models = models,
    .paths = paths,
    .object = "",
    .formulas = formulas,
};

static const char *const row_signs[] = {"[].inter_token_latency_s", "[].end_to_end_latency_s",
                                        NULL};

static const struct tool_path no_paths[] = {{.path = NULL}};

static const struct tool_row rows[] = {
    {"ttft_s", ROW_TTFT, 1},
    {"end_to_end_latency_s", ROW_LATENCY, 1},
    {"number_output_tokens", ROW_OUTPUT, 1},
    {"number_input_tokens", ROW_INPUT, 1},
    {"number_total_tokens", ROW_TOTAL, 1},
    {"error_code", ROW_ERROR, 1},
    {.path = NULL},
};

const struct tool tool_llmperf_rows = {
    .name = "llmperf-requests",
    .title = "llmperf, request by request",
    .signs = row_signs,
    .paths = no_paths,
    .object = "",
    .rows = rows,
    .row_object = "[]",
    .formulas = formulas,
};
