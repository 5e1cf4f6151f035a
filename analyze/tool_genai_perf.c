/* GenAI-Perf: profile_export_genai_perf.json, and Perf Analyzer's profile_export.json, of which
 * each request's times are kept. */
#include "analyze/tool.h"

static const char *const signs[] = {"request_latency.*", "telemetry_stats.*",
                                    "output_sequence_length.*", "request_throughput.avg", NULL};

static const struct tool_path paths[] = {
    {"time_to_first_token.*", F_TTFT, 1e-3, NULL},
    {"time_to_second_token.*", F_TTST, 1e-3, NULL},
    {"request_latency.*", F_LATENCY, 1e-3, NULL},
    {"inter_token_latency.*", F_TPOT, 1e-3, NULL},
    {"output_token_throughput_per_user.*", F_USER_TPS, 1, NULL},
    {"output_sequence_length.*", F_OUTPUT, 1, NULL},
    {"input_sequence_length.*", F_INPUT, 1, NULL},
    {"output_token_throughput.avg", F_OUTPUT_TPS, 1, "value"},
    {"request_throughput.avg", F_REQUEST_TPS, 1, "value"},
    {"request_goodput.avg", F_GOODPUT, 1, "value"},
    {"request_count.avg", F_COMPLETED, 1, "value"},
    {.path = NULL},
};

#define OWN_TOKENS "GenAI-Perf counts tokens with its own tokenizer"

static const struct definition burst_rates = {
    "genai-perf output_token_throughput_per_user: (N-1)/(o_M-o_1), bursts too",
    {"(N-1)/(o_M-o_1), bursts too", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, false,
     tool_user_tps_bursts},
    -1,
    "the server stated no token count"};

/* Where events without text are responses to it. */
static const struct definition first_response = {
    "genai-perf ttft: first response-t0",
    {"first response-t0", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, false, tool_first_response},
    -1,
    "no event was seen"};
static const struct definition last_response = {
    "genai-perf request_latency: last response-t0",
    {"last response-t0", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, false, tool_late_latency},
    -1,
    "no text was seen"};
static const struct definition between_responses = {
    "genai-perf inter_token_latency: (last-first response)/(N-1)",
    {"(last-first response)/(N-1)", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, false,
     tool_genai_tpot},
    -1,
    "the server stated no token count"};
/* Where it left out requests without a response. */
static const struct definition of_answers = {
    "genai-perf request_throughput: S/T",
    {"S/T", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true, tool_answers_request_tps},
    -1,
    "no request succeeded"};

/* It counts requests without a response too; T is from the first start of one with a response to
 * the last response. */
static const struct tool_formula formulas[FIGURES] = {
    [F_TTFT] = {.d = {"genai-perf ttft: o_1-t0",
                      {"o_1-t0", SHAPE_TIME, COUNT_NONE, AT_T0, AT_O1, false, NULL},
                      -1,
                      "no text was seen"},
                .slack = 1,
                .also = {&first_response}},
    [F_TTST] = {.d = {"genai-perf ttst: o_2-o_1",
                      {"o_2-o_1", SHAPE_TIME, COUNT_NONE, AT_O1, AT_O2, false, NULL},
                      -1,
                      "no two events with text were seen"},
                .slack = 10,
                .weak = "GenAI-Perf may take an event without text for the first token"},
    [F_LATENCY] = {.d = {"genai-perf request_latency: o_M-t0",
                         {"o_M-t0", SHAPE_TIME, COUNT_NONE, AT_T0, AT_OM, false, NULL},
                         -1,
                         "no text was seen"},
                   .slack = 1,
                   .also = {&last_response}},
    [F_TPOT] = {.d = {"genai-perf inter_token_latency: (o_M-o_1)/(N-1)",
                      {"(o_M-o_1)/(N-1)", SHAPE_PER, COUNT_N_LESS_1, AT_O1, AT_OM, false, NULL},
                      -1,
                      "the server stated no token count"},
                .slack = 2,
                .weak = OWN_TOKENS,
                .also = {&tool_text[TEXT_TPOT], &between_responses}},
    [F_USER_TPS] = {.d = {"genai-perf output_token_throughput_per_user: (N-1)/(o_M-o_1)",
                          {"(N-1)/(o_M-o_1)", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, false,
                           tool_user_tps},
                          -1,
                          "the server stated no token count"},
                    .slack = 2,
                    .weak = OWN_TOKENS,
                    .also = {&tool_text[TEXT_USER_TPS], &burst_rates}},
    [F_OUTPUT] = {.slack = 2, .weak = OWN_TOKENS, .also = {&tool_text[TEXT_TOKENS]}},
    [F_INPUT] = {.slack = 10, .weak = OWN_TOKENS ", and without the chat template"},
    [F_OUTPUT_TPS] = {.d = {"genai-perf output_token_throughput: sum(N)/T",
                            {"sum(N)/T", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true,
                             tool_answers_output_tps},
                            -1,
                            "the server stated no token count"},
                      .slack = 2,
                      .weak = OWN_TOKENS,
                      .also = {&tool_text[TEXT_ANSWERS_TPS]}},
    [F_REQUEST_TPS] = {.d = {"genai-perf request_throughput: A/T",
                             {"A/T", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true,
                              tool_attempts_tps},
                             -1,
                             "no request succeeded"},
                       .slack = 1,
                       .also = {&of_answers}},
    [F_COMPLETED] = {.d = {"genai-perf request_count: A",
                           {"A", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true, tool_attempts},
                           -1,
                           "there is no request"},
                     .slack = 1,
                     .also = {&definitions[D_SUCCESSES]}},
};

static const char *const models[] = {"input_config.model_names[]", "input_config.model[]", NULL};

const struct tool tool_genai_perf = {
    .name = "genai-perf",
    .title = "GenAI-Perf",
    .signs = signs,
    .models = models,
    .paths = paths,
    .object = "",
    .formulas = formulas,
};

static const char *const row_signs[] = {"experiments[].requests[].*", "service_kind", NULL};

static const struct tool_path no_paths[] = {{.path = NULL}};

static const struct tool_row rows[] = {
    {"timestamp", ROW_START, 1e-9},
    {"response_timestamps[]", ROW_TIMES, 1e-9},
    {.path = NULL},
};

const struct tool tool_genai_perf_rows = {
    .name = "genai-perf-requests",
    .title = "GenAI-Perf, request by request",
    .signs = row_signs,
    .paths = no_paths,
    .object = "",
    .rows = rows,
    .row_object = "experiments[].requests[]",
    .formulas = formulas,
    .clock_is_epoch = true,
};
