/* What other tools' result files say, tool by tool: tables of where a figure stands, what it is, in
 * which unit, and by which formula that tool takes it (one file a tool: tool_*.c).
 *
 * A path is as of claims_json.h, from the object that a summary is; a '*' in it stands for the
 * statistic ("mean_ttft_ms": "*_ttft_ms"). Keys that no table has are counted and ignored. */
#ifndef ANALYZE_TOOL_H
#define ANALYZE_TOOL_H

#include "analyze/formulas.h"
#include "traces/base/span.h"

enum figure_id {
    F_NONE,
    /* of requests */
    F_TTFR,
    F_TTFT,
    F_TTST,
    F_LATENCY,
    F_TPOT,
    F_NTPOT,
    F_GAP, /* between events or tokens, of all requests */
    F_USER_TPS,
    F_WHOLE_TPS,
    F_INPUT,
    F_OUTPUT,
    F_TOTAL,
    /* of a run */
    F_OUTPUT_TPS,
    F_INPUT_TPS,
    F_TOTAL_TPS,
    F_REQUEST_TPS,
    F_GOODPUT,
    F_PEAK_TPS,
    F_CONCURRENCY,
    F_PEAK_CONCURRENCY,
    F_CAP,
    F_DURATION,
    F_REQUESTED, /* to be sent, or sent */
    F_COMPLETED,
    F_FAILED,
    F_CANCELLED, /* by the tool, when its time was over; some of them before they were sent */
    F_GOOD,
    F_INPUT_SUM,
    F_OUTPUT_SUM,
    F_STARTED, /* s since the epoch */
    F_ENDED,
    F_RUNS, /* of which each figure is the mean */
    FIGURES
};

/* A column of per-request rows. */
enum row_field {
    ROW_NONE,
    ROW_BODY,    /* text: the body of the request; its hash is an id */
    ROW_ID,      /* text: X-Request-ID, or the id of the reply */
    ROW_START,   /* s, on whatever clock */
    ROW_END,     /* s, the same clock */
    ROW_TTFT,    /* s */
    ROW_LATENCY, /* s */
    ROW_TPOT,    /* s */
    ROW_OUTPUT,  /* tokens */
    ROW_INPUT,   /* tokens */
    ROW_TOTAL,   /* tokens */
    ROW_GAP,     /* s, of a list: added up */
    ROW_ERROR,   /* text that is not empty, or an object: it failed */
    ROW_PHASE,   /* text: "warmup" is left out */
    ROW_TIMES,   /* ns, of a list: the first and the last are kept */
    ROW_FIELDS
};

struct tool_path {
    const char *path;
    enum figure_id figure;
    double scale;     /* to the base unit: s, tok/s, 1 */
    const char *stat; /* where the path has no '*'; "values": those that it is the mean of */
};

struct tool_row {
    const char *path; /* from the row; of parallel arrays ("ttfts[]") from the document */
    enum row_field field;
    double scale;
};

/* How a tool takes a figure. */
struct tool_formula {
    struct definition d; /* d.name NULL: as the name of the claim says */
    double slack; /* above 1: what it counts with is not on the wire (its own tokenizer …), so that
                     a figure off by no more than this factor is not measurable */
    const char *weak; /* … in words */
    bool weighted; /* by tokens: the formula takes each statistic by itself */
    const struct definition *also[3]; /* what it is besides: in other versions of the tool, or with
                                         the tokens that --tokenizer counts in the text */
};

struct tool {
    const char *name, *title;
    const char *const *signs; /* what its files have: paths, or beginnings that end in '*' */
    const char *const *models; /* paths of the names of models that requests are for; NULL: none */
    const struct tool_path *paths;
    const char *object; /* path of what a summary is: "", "[]", "benchmarks[]"; "" stands for "[]"
                           too */
    const struct tool_row *rows;         /* NULL: none */
    const char *row_object;              /* path of a row; NULL: parallel arrays */
    const struct tool_formula *formulas; /* FIGURES of them */
    const struct tool_formula *gaps_end; /* of the wait for the first text and all gaps behind it,
                                            which are no latency that it states; NULL: they are */
    bool step_quantiles;                 /* no interpolation between order statistics */
    bool zero_for_none; /* a figure without any value is 0 in its files */
    bool streams_only;  /* a reply that is one document has no first token and no gaps for it */
    bool clock_is_epoch;                 /* of its rows */
    bool over_runs; /* each figure is the mean of what F_RUNS runs had for it: of no one of them */
    const struct tool *one_run; /* and this is what a file of one run is read as */
};

/* Definitions that several tools have: with the tokens that --tokenizer counts in the text
 * (tool_formulas.c) … */
enum tool_text {
    TEXT_TOKENS,
    TEXT_TPOT,      /* (o_M-o_1)/(N-1) */
    TEXT_USER_TPS,  /* (N-1)/(o_M-o_1) */
    TEXT_NTPOT,     /* (z-t0)/N */
    TEXT_WHOLE_TPS, /* N/(o_M-t0) */
    TEXT_END_TPS,   /* N/(z-t0) */
    TEXT_OUTPUT_TPS,
    TEXT_ANSWERS_TPS, /* … over the T of successes */
    TOOL_TEXTS
};
extern const struct definition tool_text[TOOL_TEXTS];

/* … and what is counted in seconds. */
#define TOOL_DURATION(name)                                                                        \
    {                                                                                              \
        name, {"T", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true, tool_duration}, -1,           \
            "there is no request"                                                                  \
    }
#define TOOL_PEAK_EVENTS(name)                                                                     \
    {                                                                                              \
        name, {"events in a second", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true,              \
               tool_peak_events},                                                                  \
            -1, "no text was seen"                                                                 \
    }
#define TOOL_PEAK_REQUESTS(name)                                                                   \
    {                                                                                              \
        name,                                                                                      \
            {"requests that touch one second",                                                     \
             SHAPE_COUNT,                                                                          \
             COUNT_NONE,                                                                           \
             AT_NONE,                                                                              \
             AT_NONE,                                                                              \
             true,                                                                                 \
             tool_peak_requests},                                                                  \
            -1, "no request succeeded"                                                             \
    }

extern const struct tool tool_vllm, tool_sglang, tool_aiperf, tool_aiperf_rows, tool_aiperf_runs, tool_genai_perf,
    tool_genai_perf_rows, tool_guidellm, tool_llama_benchy, tool_llmperf, tool_llmperf_rows,
    tool_inference_perf, tool_inference_perf_rows;

/* In the order in which files are told apart. */
extern const struct tool *const tools[];
extern const size_t tools_n;

/* By name ("vllm", "aiperf" …), the summary's; NULL: none. */
const struct tool *tool_named(struct slice name);

/* "vllm, sglang, …" */
const char *tool_names(char out[256]);

/* What a figure is called as a claim (claim_name_find), or NULL: it is only held against others of
 * its file. */
const char *figure_claim(enum figure_id f);
const char *figure_words(enum figure_id f);

/* The figure that a claim of that name is, for a claim that names its tool; F_NONE. */
enum figure_id figure_of_claim(const char *name);

/* Formulas that no quotient of two marks gives: tool_formulas.c, tool_runs.c, tool_seconds.c and
 * tool_batches.c. "Late" ones lie somewhere between the last text and the end of the reply; "text"
 * ones count tokens in the text; "answers" ones take T from the successes alone. */
formula_fn tool_first_response, tool_late_latency, tool_vllm_tpot, tool_genai_tpot, tool_vllm_gaps, tool_vllm_each_gap,
    tool_llmperf_itl, tool_output_tps, tool_text_tps, tool_request_tps, tool_total_tps,
    tool_input_tps, tool_duration, tool_weighted_itl, tool_weighted_tpot,
    tool_weighted_itl_events, tool_weighted_tpot_events, tool_stream_ttft_or_0, tool_guidellm_output_tps,
    tool_guidellm_window_tps, tool_benchy_batch_tps, tool_benchy_batch_peak, tool_concurrency,
    tool_peak_events, tool_peak_requests, tool_user_tps, tool_user_tps_bursts, tool_answers_duration,
    tool_answers_output_tps, tool_answers_text_tps, tool_answers_total_tps, tool_answers_request_tps,
    tool_attempts, tool_attempts_tps;

#endif
