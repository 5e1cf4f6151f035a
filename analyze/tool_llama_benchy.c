/* llama-benchy, --format json: one object a test, of which a file holds several. */
#include "analyze/tool.h"

static const char *const signs[] = {"benchmarks[].prompt_size",
                                    "benchmarks[].is_context_prefill_phase", "latency_mode",
                                    "prefix_caching_enabled", NULL};

static const struct tool_path paths[] = {
    {"ttfr.*", F_TTFR, 1e-3, NULL},
    {"e2e_ttft.*", F_TTFT, 1e-3, NULL},
    {"tg_req_throughput.*", F_USER_TPS, 1, NULL},
    {"tg_throughput.mean", F_OUTPUT_TPS, 1, "value"},
    {"tg_throughput.values[]", F_OUTPUT_TPS, 1, "values"},
    {"peak_throughput.mean", F_PEAK_TPS, 1, "value"},
    {"peak_throughput.values[]", F_PEAK_TPS, 1, "values"},
    {"concurrency", F_CAP, 1, "value"},
    {"prompt_size", F_INPUT, 1, "value"},
    {"response_size", F_OUTPUT, 1, "value"},
    {.path = NULL},
};

static const struct tool_row rows[] = {
    {"e2e_ttft.values[]", ROW_TTFT, 1e-3},
    {.path = NULL},
};

#define OLD_COUNT "llama-benchy counted events for tokens before April 2026"

#define PROBES                                                                                     \
    "llama-benchy also sends requests to warm up and to measure latency, which its file leaves "   \
    "out"

/* Before some version up to 0.4. */
static const struct definition old_tg_req = {
    "llama-benchy tg_req: (N-1)/(z-o_1)",
    {"(N-1)/(z-o_1)", SHAPE_RATE, COUNT_N_LESS_1, AT_O1, AT_Z, false, NULL},
    -1,
    "the server stated no token count"};

static const struct tool_formula formulas[FIGURES] = {
    [F_TTFR] = {.d = {"llama-benchy ttfr: c_1-t0",
                      {"c_1-t0", SHAPE_TIME, COUNT_NONE, AT_T0, AT_C1, false, NULL},
                      -1,
                      "no event was seen"},
                .slack = 10,
                .weak = PROBES},
    [F_TTFT] = {.d = {"llama-benchy e2e_ttft: o_1-t0",
                      {"o_1-t0", SHAPE_TIME, COUNT_NONE, AT_T0, AT_O1, false, NULL},
                      -1,
                      "no text was seen"},
                .slack = 10,
                .weak = PROBES},
    [F_USER_TPS] = {.d = {"llama-benchy tg_req: (N-1)/(o_M-o_1)",
                          {"(N-1)/(o_M-o_1)", SHAPE_RATE, COUNT_N_LESS_1, AT_O1, AT_OM, false,
                           NULL},
                          -1,
                          "the server stated no token count"},
                    .slack = 10,
                    .weak = PROBES,
                    .also = {&old_tg_req}},
    [F_OUTPUT_TPS] =
        {.d = {"llama-benchy tg: (sum(N)-n)/(max o_M-min o_1) of a batch",
               {"(sum(N)-n)/(max o_M-min o_1) of a batch", SHAPE_COUNT, COUNT_NONE, AT_NONE,
                AT_NONE, true, tool_benchy_batch_tps},
               -1,
               "the server stated no token count"},
         .slack = 1e9,
         .weak = "llama-benchy takes it batch by batch, and of single requests as the mean of "
                 "their rates; " OLD_COUNT},
    [F_INPUT] = {.slack = 1e9, .weak = "it is what was asked for, not what was counted"},
    [F_OUTPUT] = {.slack = 1e9, .weak = "it is what was asked for, not what was counted"},
    [F_PEAK_TPS] = {.d = {"llama-benchy peak: most events of a batch within a second",
                          {"most events of a batch within a second", SHAPE_COUNT, COUNT_NONE,
                           AT_NONE, AT_NONE, true, tool_benchy_batch_peak},
                          -1,
                          "no text was seen"},
                    .slack = 1e9,
                    .weak = "llama-benchy takes it batch by batch; " OLD_COUNT},
};

const struct tool tool_llama_benchy = {
    .name = "llama-benchy",
    .title = "llama-benchy",
    .signs = signs,
    .paths = paths,
    .object = "benchmarks[]",
    .rows = rows,
    .formulas = formulas,
};
