/* GuideLLM: benchmarks.json of version 2. Its TPOT includes the wait for the first token. */
#include "analyze/tool.h"

static const char *const signs[] = {"benchmarks[].metrics.*", "metadata.guidellm_version",
                                    "benchmarks[].scheduler_metrics.*", NULL};

#define EACH(name, figure, scale)                                                                  \
    {"metrics." name ".successful.*", figure, scale, NULL},                                        \
    {                                                                                              \
        "metrics." name ".successful.percentiles.*", figure, scale, NULL                           \
    }

static const struct tool_path paths[] = {
    EACH("time_to_first_token_ms", F_TTFT, 1e-3),
    EACH("request_latency", F_LATENCY, 1),
    EACH("time_per_output_token_ms", F_NTPOT, 1e-3),
    EACH("inter_token_latency_ms", F_TPOT, 1e-3),
    EACH("prompt_token_count", F_INPUT, 1),
    EACH("output_token_count", F_OUTPUT, 1),
    {"metrics.output_tokens_per_second.successful.mean", F_OUTPUT_TPS, 1, "value"},
    {"metrics.requests_per_second.successful.mean", F_REQUEST_TPS, 1, "value"},
    {"metrics.request_concurrency.successful.mean", F_CONCURRENCY, 1, "value"},
    {"scheduler_metrics.requests_made.successful", F_COMPLETED, 1, "value"},
    {"scheduler_metrics.requests_made.errored", F_FAILED, 1, "value"},
    {"scheduler_metrics.requests_made.incomplete", F_CANCELLED, 1, "value"},
    {"scheduler_metrics.requests_made.total", F_REQUESTED, 1, "value"},
    {"duration", F_DURATION, 1, "value"},
    {"start_time", F_STARTED, 1, "value"},
    {"end_time", F_ENDED, 1, "value"},
    {.path = NULL},
};

static const struct tool_row rows[] = {
    {"response_id", ROW_ID, 1},
    {"request_start_time", ROW_START, 1},
    {"request_end_time", ROW_END, 1},
    {"request_latency", ROW_LATENCY, 1},
    {"time_to_first_token_ms", ROW_TTFT, 1e-3},
    {"output_tokens", ROW_OUTPUT, 1},
    {"prompt_tokens", ROW_INPUT, 1},
    {.path = NULL},
};

/* Of one request; and before some version up to 0.8 of all of them. */
static const struct definition plain_tpot = {
    "guidellm tpot: (o_M-t0)/N",
    {"(o_M-t0)/N", SHAPE_PER, COUNT_N, AT_T0, AT_OM, false, NULL},
    -1,
    "the server stated no token count"};
/* It need not wait for what comes behind the end mark. */
static const struct definition to_end_mark = {
    "guidellm request_latency: done-t0",
    {"done-t0", SHAPE_TIME, COUNT_NONE, AT_T0, AT_DONE, false, NULL},
    -1,
    "the end mark was not seen"};
static const struct definition old_output_tps = {
    "guidellm output_tokens_per_second: sum(N)/(max o_M-min o_1)",
    {"sum(N)/(max o_M-min o_1)", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true,
     tool_guidellm_output_tps},
    -1,
    "the server stated no token count"};

/* An event is taken for a token where no usage is stated. */
static const struct definition events_tpot = {
    "guidellm tpot: sum(o_M-t0)/sum(N), events where no N is stated",
    {"sum(o_M-t0)/sum(N or M)", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true,
     tool_weighted_tpot_events},
    -1,
    "no text was seen"};
static const struct definition events_itl = {
    "guidellm itl: sum(o_M-o_1)/sum(N-1), events where no N is stated",
    {"sum(o_M-o_1)/sum(N-1 or M-1)", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true,
     tool_weighted_itl_events},
    -1,
    "no text was seen"};
/* Before some version up to 0.8. */
static const struct definition ttft_or_0 = {"guidellm ttft: o_1-t0, 0 of documents",
                                            {"o_1-t0, 0 of documents", SHAPE_TIME, COUNT_NONE,
                                             AT_NONE, AT_NONE, false, tool_stream_ttft_or_0},
                                            -1,
                                            "no text was seen"};

/* Once it took no reasoning for a token (its issue 737). */
static const struct definition answer_ttft = {
    "guidellm ttft: answer-t0",
    {"answer-t0", SHAPE_TIME, COUNT_NONE, AT_T0, AT_ANSWER, false, NULL},
    -1,
    "all text was reasoning"};

static const struct tool_formula formulas[FIGURES] = {
    [F_TTFT] = {.d = {"guidellm ttft: o_1-t0",
                      {"o_1-t0", SHAPE_TIME, COUNT_NONE, AT_T0, AT_STREAM_O1, false, NULL},
                      -1,
                      "no reply is a stream with text"},
                .slack = 1,
                .also = {&ttft_or_0, &answer_ttft}},
    [F_LATENCY] = {.d = {"guidellm request_latency: z-t0",
                         {"z-t0", SHAPE_TIME, COUNT_NONE, AT_T0, AT_Z, false, NULL},
                         -1,
                         "the end was not seen"},
                   .slack = 1,
                   .also = {&to_end_mark}},
    [F_NTPOT] = {.d = {"guidellm tpot: sum(o_M-t0)/sum(N)",
                       {"sum(o_M-t0)/sum(N)", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true,
                        tool_weighted_tpot},
                       -1,
                       "the server stated no token count"},
                 .slack = 1,
                 .weighted = true,
                 .also = {&plain_tpot, &events_tpot}},
    [F_TPOT] = {.d = {"guidellm itl: sum(o_M-o_1)/sum(N-1)",
                      {"sum(o_M-o_1)/sum(N-1)", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true,
                       tool_weighted_itl},
                      -1,
                      "the server stated no token count"},
                .slack = 1,
                .weighted = true,
                .also = {&events_itl}},
    [F_OUTPUT_TPS] = {.d = {"guidellm output_tokens_per_second: sum(N)/T",
                            {"sum(N)/T", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true,
                             tool_guidellm_window_tps},
                            -1,
                            "the server stated no token count"},
                      .slack = 2,
                      .weak = "GuideLLM takes the mean of a distribution of rates",
                      .also = {&old_output_tps}},
    [F_DURATION] = {.d = TOOL_DURATION("guidellm duration: T"), .slack = 1},
    [F_REQUEST_TPS] = {.slack = 2, .weak = "GuideLLM counts within its measuring window"},
    [F_CONCURRENCY] = {.d = {"guidellm request_concurrency: sum(z-t0)/T of successes",
                             {"sum(z-t0)/T of successes", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE,
                              true, tool_concurrency},
                             -1,
                             "there is no request"},
                       .slack = 2,
                       .weak = "GuideLLM counts within its measuring window"},
};

static const char *const models[] = {"config.backend.model", NULL};

const struct tool tool_guidellm = {
    .name = "guidellm",
    .title = "GuideLLM",
    .signs = signs,
    .models = models,
    .paths = paths,
    .object = "benchmarks[]",
    .rows = rows,
    .row_object = "requests.successful[]",
    .formulas = formulas,
    .step_quantiles = true,
    .zero_for_none = true,
    .streams_only = true,
    .clock_is_epoch = true,
};
