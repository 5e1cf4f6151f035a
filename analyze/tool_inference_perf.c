/* inference-perf: summary and stage files, and the per-request list. All in seconds. */
#include "analyze/tool.h"

static const char *const signs[] = {"load_summary.*", "successes.*", NULL};

static const struct tool_path paths[] = {
    {"successes.latency.time_to_first_token.*", F_TTFT, 1, NULL},
    {"successes.latency.request_latency.*", F_LATENCY, 1, NULL},
    {"successes.latency.time_per_output_token.*", F_TPOT, 1, NULL},
    {"successes.latency.normalized_time_per_output_token.*", F_NTPOT, 1, NULL},
    {"successes.latency.inter_token_latency.*", F_GAP, 1, NULL},
    {"successes.prompt_tokens.*", F_INPUT, 1, NULL},
    {"successes.prompt_len.*", F_INPUT, 1, NULL},
    {"successes.output_len.*", F_OUTPUT, 1, NULL},
    {"successes.throughput.output_tokens_per_sec", F_OUTPUT_TPS, 1, "value"},
    {"successes.throughput.input_tokens_per_sec", F_INPUT_TPS, 1, "value"},
    {"successes.throughput.total_tokens_per_sec", F_TOTAL_TPS, 1, "value"},
    {"successes.throughput.requests_per_sec", F_REQUEST_TPS, 1, "value"},
    {"successes.count", F_COMPLETED, 1, "value"},
    {"failures.count", F_FAILED, 1, "value"},
    {"load_summary.count", F_REQUESTED, 1, "value"},
    {"benchmark_time_seconds", F_DURATION, 1, "value"},
    {.path = NULL},
};

#define OWN_TOKENS "inference-perf counts with its own tokenizer by default"

/* Its first token is the first text that is no reasoning, and it counts tokens in that text; later
 * versions take reasoning for text (its issue 559). */
static const struct definition thinking_ttft = {
    "inference-perf ttft: o_1-t0",
    {"o_1-t0", SHAPE_TIME, COUNT_NONE, AT_T0, AT_O1, false, NULL},
    -1,
    "no text was seen"};
static const struct definition thinking_tpot = {
    "inference-perf time_per_output_token: (o_M-o_1)/(N-1)",
    {"(o_M-o_1)/(N-1)", SHAPE_PER, COUNT_N_LESS_1, AT_O1, AT_OM, false, NULL},
    -1,
    "the server stated no token count"};
static const struct definition answer_tpot = {
    "inference-perf time_per_output_token: (o_M-answer)/(N-R-1)",
    {"(o_M-answer)/(N-R-1)", SHAPE_PER, COUNT_N_LESS_R | COUNT_LESS_ONE, AT_ANSWER, AT_OM, false,
     NULL},
    -1,
    "the server stated no token count"};
static const struct definition text_tpot = {
    "inference-perf time_per_output_token: (o_M-answer)/(N-1), N counted in the text",
    {"(o_M-answer)/(N-1), N counted in the text", SHAPE_PER, COUNT_CONTENT_TEXT | COUNT_LESS_ONE,
     AT_ANSWER, AT_OM, false, NULL},
    -1,
    "the text was not counted (--tokenizer)"};

static const struct tool_formula formulas[FIGURES] = {
    [F_TTFT] = {.d = {"inference-perf ttft: answer-t0",
                      {"answer-t0", SHAPE_TIME, COUNT_NONE, AT_T0, AT_ANSWER, false, NULL},
                      -1,
                      "no text was seen but reasoning"},
                .slack = 1,
                .also = {&thinking_ttft}},
    [F_LATENCY] = {.d = {"inference-perf request_latency: z-t0",
                         {"z-t0", SHAPE_TIME, COUNT_NONE, AT_T0, AT_Z, false, NULL},
                         -1,
                         "the end was not seen"},
                   .slack = 1},
    [F_TPOT] = {.d = {"inference-perf time_per_output_token: (o_M-answer)/(N-1)",
                      {"(o_M-answer)/(N-1)", SHAPE_PER, COUNT_N_LESS_1, AT_ANSWER, AT_OM, false,
                       NULL},
                      -1,
                      "the server stated no token count"},
                .slack = 1.5,
                .weak = OWN_TOKENS,
                .also = {&text_tpot, &thinking_tpot, &answer_tpot}},
    [F_NTPOT] = {.d = {"inference-perf normalized_time_per_output_token: (z-t0)/N",
                       {"(z-t0)/N", SHAPE_PER, COUNT_N, AT_T0, AT_Z, false, NULL},
                       -1,
                       "the server stated no token count"},
                 .slack = 1.5,
                 .weak = OWN_TOKENS,
                 .also = {&tool_text[TEXT_NTPOT]}},
    [F_GAP] = {.slack = 1e9,
               .weak = "inference-perf gives all tokens of an event its time, so that "
                       "gaps within it are 0"},
    [F_INPUT] = {.slack = 10, .weak = OWN_TOKENS ", and without the chat template"},
    [F_OUTPUT] = {.slack = 1.5, .weak = OWN_TOKENS, .also = {&tool_text[TEXT_TOKENS]}},
    [F_OUTPUT_TPS] = {.d = {"inference-perf output_tokens_per_sec: sum(N)/T",
                            {"sum(N)/T", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true,
                             tool_output_tps},
                            -1,
                            "the server stated no token count"},
                      .slack = 1.5,
                      .weak = OWN_TOKENS,
                      .also = {&tool_text[TEXT_OUTPUT_TPS]}},
    [F_INPUT_TPS] = {.slack = 10, .weak = OWN_TOKENS ", and prompts without the chat template"},
    [F_TOTAL_TPS] = {.slack = 10, .weak = OWN_TOKENS ", and prompts without the chat template"},
    [F_DURATION] = {.d = TOOL_DURATION("inference-perf benchmark_time_seconds: T"), .slack = 1},
    [F_REQUEST_TPS] = {.d = {"inference-perf requests_per_sec: S/T",
                             {"S/T", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true,
                              tool_request_tps},
                             -1,
                             "no request succeeded"},
                       .slack = 1},
};

const struct tool tool_inference_perf = {
    .name = "inference-perf",
    .title = "inference-perf",
    .signs = signs,
    .paths = paths,
    .object = "",
    .formulas = formulas,
};

static const char *const row_signs[] = {"[].info.*", NULL};

static const struct tool_path no_paths[] = {{.path = NULL}};

static const struct tool_row rows[] = {
    {"request", ROW_BODY, 1},
    {"start_time", ROW_START, 1},
    {"end_time", ROW_END, 1},
    {"info.response_metrics.output_tokens", ROW_OUTPUT, 1},
    {"info.response_metrics.chunk_times[]", ROW_TIMES, 1},
    {"error", ROW_ERROR, 1},
    {.path = NULL},
};

const struct tool tool_inference_perf_rows = {
    .name = "inference-perf-requests",
    .title = "inference-perf, request by request",
    .signs = row_signs,
    .paths = no_paths,
    .object = "",
    .rows = rows,
    .row_object = "[]",
    .formulas = formulas,
};
