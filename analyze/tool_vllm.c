/* vLLM's `bench serve`, and what InferenceX's client writes: one object, or several appended. */
#include "analyze/tool.h"

static const char *const signs[] = {
    "mean_ttft_ms", "mean_tpot_ms",    "mean_e2el_ms",    "total_token_throughput",
    "tokenizer_id", "[].tokenizer_id", "[].mean_ttft_ms", NULL};

static const struct tool_path paths[] = {
    {"*_ttft_ms", F_TTFT, 1e-3, NULL},
    {"*_tpot_ms", F_TPOT, 1e-3, NULL},
    {"*_itl_ms", F_GAP, 1e-3, NULL},
    {"*_e2el_ms", F_LATENCY, 1e-3, NULL},
    {"duration", F_DURATION, 1, "value"},
    {"num_prompts", F_REQUESTED, 1, "value"},
    {"completed", F_COMPLETED, 1, "value"},
    {"failed", F_FAILED, 1, "value"},
    {"max_concurrency", F_CAP, 1, "value"},
    {"max_concurrent_requests", F_PEAK_CONCURRENCY, 1, "value"},
    {"total_input_tokens", F_INPUT_SUM, 1, "sum"},
    {"total_output_tokens", F_OUTPUT_SUM, 1, "sum"},
    {"request_throughput", F_REQUEST_TPS, 1, "value"},
    {"request_goodput", F_GOODPUT, 1, "value"},
    {"request_goodput:", F_GOODPUT, 1, "value"},
    {"output_throughput", F_OUTPUT_TPS, 1, "value"},
    {"total_token_throughput", F_TOTAL_TPS, 1, "value"},
    {"max_output_tokens_per_s", F_PEAK_TPS, 1, "value"},
    {.path = NULL},
};

static const struct tool_row rows[] = {
    {"ttfts[]", ROW_TTFT, 1},
    {"itls[][]", ROW_GAP, 1},
    {"output_lens[]", ROW_OUTPUT, 1},
    {"input_lens[]", ROW_INPUT, 1},
    {"start_times[]", ROW_START, 1},
    {"errors[]", ROW_ERROR, 1},
    {.path = NULL},
};

#define PROMPTS "vLLM may count a prompt with its own tokenizer, before the chat template"

/* Up to some version before 0.33 its first token is the first event with choices, empty or not, and
 * its end the last such event. */
static const struct definition old_ttft = {
    "vllm ttft: c_1-t0",
    {"c_1-t0", SHAPE_TIME, COUNT_NONE, AT_T0, AT_C1, false, NULL},
    -1,
    "the first event was not seen"};
static const struct definition old_e2el = {
    "vllm e2el: last choice-t0",
    {"last choice-t0", SHAPE_TIME, COUNT_NONE, AT_NONE, AT_NONE, false, tool_late_latency},
    -1,
    "the last event was not seen"};
static const struct definition old_tpot = {
    "vllm tpot: (last choice-c_1)/(N-1)",
    {"(last choice-c_1)/(N-1)", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, false, tool_vllm_tpot},
    -1,
    "the server stated no token count"};

static const struct definition old_gaps = {"vllm itl: each gap between choice events",
                                           {"each gap between choice events", SHAPE_COUNT,
                                            COUNT_NONE, AT_NONE, AT_NONE, false,
                                            tool_vllm_each_gap},
                                           -1,
                                           "not every event was seen"};

/* 0.33.0: events without text are passed over. */
static const struct tool_formula formulas[FIGURES] = {
    [F_TTFT] = {.d = {"vllm ttft: o_1-t0",
                      {"o_1-t0", SHAPE_TIME, COUNT_NONE, AT_T0, AT_O1, false, NULL},
                      -1,
                      "no text was seen"},
                .slack = 1,
                .also = {&old_ttft}},
    [F_LATENCY] = {.d = {"vllm e2el: o_M-t0",
                         {"o_M-t0", SHAPE_TIME, COUNT_NONE, AT_T0, AT_OM, false, NULL},
                         -1,
                         "no text was seen"},
                   .slack = 1,
                   .also = {&old_e2el}},
    [F_TPOT] = {.d = {"vllm tpot: (o_M-o_1)/(N-1)",
                      {"(o_M-o_1)/(N-1)", SHAPE_PER, COUNT_N_LESS_1, AT_O1, AT_OM, false, NULL},
                      -1,
                      "the server stated no token count"},
                .slack = 1,
                .also = {&old_tpot}},
    [F_GAP] = {.d = {"vllm itl: gaps between choice events",
                     {"gaps between choice events", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true,
                      tool_vllm_gaps},
                     -1,
                     "the events were not seen"},
               .slack = 10,
               .weak =
                   "vLLM's gaps are those between the events that its client read, some of them "
                   "at once, in older versions those without text too",
               .also = {&definitions[D_ICL], &old_gaps}},
    [F_OUTPUT_TPS] = {.d = {"vllm output_throughput: sum(N)/T",
                            {"sum(N)/T", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true,
                             tool_output_tps},
                            -1,
                            "the server stated no token count"},
                      .slack = 1},
    [F_REQUEST_TPS] = {.d = {"vllm request_throughput: S/T",
                             {"S/T", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true,
                              tool_request_tps},
                             -1,
                             "no request succeeded"},
                       .slack = 1},
    [F_INPUT] = {.slack = 10, .weak = PROMPTS},
    [F_INPUT_SUM] = {.slack = 10, .weak = PROMPTS},
    [F_TOTAL_TPS] = {.d = {"vllm total_token_throughput: sum(P+N)/T",
                           {"sum(P+N)/T", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true,
                            tool_total_tps},
                           -1,
                           "the server stated no token count"},
                     .slack = 10,
                     .weak = PROMPTS},
    [F_DURATION] = {.d = TOOL_DURATION("vllm duration: T"), .slack = 1},
    [F_PEAK_TPS] = {.d = TOOL_PEAK_EVENTS("vllm max_output_tokens_per_s: events in a second"),
                    .slack = 1e9,
                    .weak =
                        "vLLM's peak counts the events that its client read in fixed seconds, and "
                        "an event need not be one token"},
    [F_PEAK_CONCURRENCY] = {.d = TOOL_PEAK_REQUESTS("vllm max_concurrent_requests: that touch one "
                                                    "second"),
                            .slack = 1},
};

static const char *const models[] = {"model_id", NULL};

const struct tool tool_vllm = {
    .name = "vllm",
    .title = "vLLM bench serve",
    .signs = signs,
    .models = models,
    .paths = paths,
    .object = "",
    .rows = rows,
    .formulas = formulas,
    .zero_for_none = true,
};
