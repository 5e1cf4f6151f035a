/* The tools that are known, and what their figures are called. */
#include "analyze/tool.h"

#include <stdio.h>
#include <string.h>

/* Files of rows before summaries; of two that look alike, the one with more signs of its own. */
const struct tool *const tools[] = {
    &tool_aiperf_rows,    &tool_genai_perf_rows,
    &tool_llmperf_rows,   &tool_inference_perf_rows,
    &tool_sglang,         &tool_vllm,
    &tool_aiperf_runs,    &tool_aiperf,
    &tool_genai_perf,     &tool_guidellm,
    &tool_llama_benchy,   &tool_llmperf,
    &tool_inference_perf,
};
const size_t tools_n = sizeof tools / sizeof *tools;

const struct tool *tool_named(struct slice name)
{
    for (size_t i = tools_n; i-- > 0;) {
        if (slice_is(name, tools[i]->name))
            return tools[i];
    }
    return NULL;
}

const char *tool_names(char out[256])
{
    size_t n = 0;
    for (size_t i = 0; i < tools_n && n < 256; i++)
        n += (size_t)snprintf(out + n, 256 - n, "%s%s", i > 0 ? ", " : "", tools[i]->name);
    return out;
}

static const struct {
    const char *claim, *words;
} figures[FIGURES] = {
    [F_TTFR] = {"ttfr", "time to the first event"},
    [F_TTFT] = {"ttft", "time to the first token"},
    [F_TTST] = {"ttst", "time to the second token"},
    [F_LATENCY] = {"latency", "latency"},
    [F_TPOT] = {"tpot", "time per output token"},
    [F_NTPOT] = {"ntpot", "latency per output token"},
    [F_GAP] = {"icl", "time between events"},
    [F_USER_TPS] = {"output_tps_user", "decode rate of a request"},
    [F_WHOLE_TPS] = {"e2e_output_tps", "output rate of a whole request"},
    [F_INPUT] = {"input_tokens", "input tokens"},
    [F_OUTPUT] = {"output_tokens", "output tokens"},
    [F_TOTAL] = {NULL, "input and output tokens"},
    [F_OUTPUT_TPS] = {"throughput", "output throughput"},
    [F_INPUT_TPS] = {"input_tps", "input throughput"},
    [F_TOTAL_TPS] = {"total_tps", "total throughput"},
    [F_REQUEST_TPS] = {"request_tps", "request throughput"},
    [F_GOODPUT] = {NULL, "goodput"},
    [F_PEAK_TPS] = {"peak_throughput", "peak throughput"},
    [F_CONCURRENCY] = {"concurrency_avg", "average concurrency"},
    [F_PEAK_CONCURRENCY] = {"concurrency_peak", "peak concurrency"},
    [F_CAP] = {NULL, "limit of the concurrency"},
    [F_DURATION] = {"duration", "duration"},
    [F_REQUESTED] = {NULL, "requests sent"},
    [F_COMPLETED] = {"completed", "completed requests"},
    [F_FAILED] = {"failed", "failed requests"},
    [F_CANCELLED] = {NULL, "cancelled requests"},
    [F_GOOD] = {NULL, "good requests"},
    [F_INPUT_SUM] = {"input_tokens", "input tokens of all requests"},
    [F_OUTPUT_SUM] = {"output_tokens", "output tokens of all requests"},
    [F_STARTED] = {NULL, "start"},
    [F_ENDED] = {NULL, "end"},
    [F_RUNS] = {NULL, "runs"},
};

const char *figure_claim(enum figure_id f)
{
    return f < FIGURES ? figures[f].claim : NULL;
}

const char *figure_words(enum figure_id f)
{
    return f < FIGURES && figures[f].words != NULL ? figures[f].words : "figure";
}

enum figure_id figure_of_claim(const char *name)
{
    static const struct {
        const char *name;
        enum figure_id figure;
    } aliases[] = {{"itl", F_GAP},
                   {"e2el", F_LATENCY},
                   {"rate", F_USER_TPS},
                   {"gen_tps", F_USER_TPS},
                   {"wall_tps", F_WHOLE_TPS},
                   {"output_tps", F_OUTPUT_TPS},
                   {"concurrency", F_CONCURRENCY},
                   {"requests", F_COMPLETED}};
    for (enum figure_id f = 1; f < FIGURES; f++) {
        if (figures[f].claim != NULL && strcmp(figures[f].claim, name) == 0)
            return f;
    }
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        if (strcmp(aliases[i].name, name) == 0)
            return aliases[i].figure;
    }
    return F_NONE;
}
