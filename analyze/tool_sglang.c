/* SGLang's serving benchmark: JSON lines, one a run. */
#include "analyze/tool.h"

static const char *const signs[] = {"mean_e2e_latency_ms", "total_output_tokens_retokenized",
                                    "total_output_retokenized", "sharegpt_output_len", NULL};

static const struct tool_path paths[] = {
    {"*_ttft_ms", F_TTFT, 1e-3, NULL},
    {"*_tpot_ms", F_TPOT, 1e-3, NULL},
    {"*_itl_ms", F_GAP, 1e-3, NULL},
    {"*_e2e_latency_ms", F_LATENCY, 1e-3, NULL},
    {"duration", F_DURATION, 1, "value"},
    {"completed", F_COMPLETED, 1, "value"},
    {"max_concurrency", F_CAP, 1, "value"},
    {"concurrency", F_CONCURRENCY, 1, "value"},
    {"max_concurrent_requests", F_PEAK_CONCURRENCY, 1, "value"},
    {"total_input_tokens", F_INPUT_SUM, 1, "sum"},
    {"total_input", F_INPUT_SUM, 1, "sum"},
    {"total_output_tokens", F_OUTPUT_SUM, 1, "sum"},
    {"total_output", F_OUTPUT_SUM, 1, "sum"},
    {"request_throughput", F_REQUEST_TPS, 1, "value"},
    {"input_throughput", F_INPUT_TPS, 1, "value"},
    {"output_throughput", F_OUTPUT_TPS, 1, "value"},
    {"total_throughput", F_TOTAL_TPS, 1, "value"},
    {"max_output_tokens_per_s", F_PEAK_TPS, 1, "value"},
    {.path = NULL},
};

static const struct tool_row rows[] = {
    {"ttfts[]", ROW_TTFT, 1},       {"itls[][]", ROW_GAP, 1},   {"output_lens[]", ROW_OUTPUT, 1},
    {"input_lens[]", ROW_INPUT, 1}, {"errors[]", ROW_ERROR, 1}, {.path = NULL},
};

/* What its rows add up to: the end, which its latencies have, is not in them. */
static const struct tool_formula gaps_end = {
    .d = {"sglang ttfts+itls: o_M-t0",
          {"o_M-t0", SHAPE_TIME, COUNT_NONE, AT_T0, AT_OM, false, NULL},
          -1,
          "no text was seen"},
    .slack = 1};

#define PROMPTS "SGLang may count a prompt with its own tokenizer, before the chat template"

/* Its latency ends with the last line read, usage and [DONE] included. Where no event carries usage
 * its N is max_tokens: the trace has no N then either. */
static const struct tool_formula formulas[FIGURES] = {
    [F_TTFT] = {.d = {"sglang ttft: o_1-t0",
                      {"o_1-t0", SHAPE_TIME, COUNT_NONE, AT_T0, AT_O1, false, NULL},
                      -1,
                      "no text was seen"},
                .slack = 1},
    [F_LATENCY] = {.d = {"sglang e2e_latency: z-t0",
                         {"z-t0", SHAPE_TIME, COUNT_NONE, AT_T0, AT_Z, false, NULL},
                         -1,
                         "the end was not seen"},
                   .slack = 1},
    [F_TPOT] = {.d = {"sglang tpot: (z-o_1)/(N-1)",
                      {"(z-o_1)/(N-1)", SHAPE_PER, COUNT_N_LESS_1, AT_O1, AT_Z, false, NULL},
                      -1,
                      "the server stated no token count"},
                .slack = 1},
    [F_GAP] = {.slack = 10,
               .weak = "SGLang re-tokenises and splits gaps in some of its modes",
               .also = {&definitions[D_ICL_ALL]}},
    [F_OUTPUT_TPS] = {.d = {"sglang output_throughput: sum(N)/T",
                            {"sum(N)/T", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true,
                             tool_output_tps},
                            -1,
                            "the server stated no token count"},
                      .slack = 1},
    [F_INPUT_TPS] = {.slack = 10, .weak = PROMPTS},
    [F_TOTAL_TPS] = {.slack = 10, .weak = PROMPTS},
    [F_DURATION] = {.d = TOOL_DURATION("sglang duration: T"), .slack = 1},
    [F_REQUEST_TPS] = {.d = {"sglang request_throughput: S/T",
                             {"S/T", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true,
                              tool_request_tps},
                             -1,
                             "no request succeeded"},
                       .slack = 1},
    [F_CONCURRENCY] = {.d = {"sglang concurrency: sum(z-t0)/T",
                             {"sum(z-t0)/T", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true,
                              tool_concurrency},
                             -1,
                             "there is no request"},
                       .slack = 1},
    [F_INPUT] = {.slack = 10, .weak = PROMPTS},
    [F_INPUT_SUM] = {.slack = 10, .weak = PROMPTS},
    [F_PEAK_TPS] = {.d = TOOL_PEAK_EVENTS("sglang max_output_tokens_per_s: events in a second"),
                    .slack = 1e9,
                    .weak = "SGLang's peak counts events in fixed seconds, and an "
                            "event need not be one token"},
    [F_PEAK_CONCURRENCY] = {.d = TOOL_PEAK_REQUESTS(
                                "sglang max_concurrent_requests: that touch one second"),
                            .slack = 1},
};

const struct tool tool_sglang = {
    .name = "sglang",
    .title = "SGLang's serving benchmark",
    .signs = signs,
    .paths = paths,
    .object = "",
    .rows = rows,
    .formulas = formulas,
    .zero_for_none = true,
    .gaps_end = &gaps_end,
};
