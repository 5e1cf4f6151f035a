/* The shape of a tool's table: what peers_tools.c fills in and peers.c reads. */
#ifndef ANALYZE_PEERS_TABLE_H
#define ANALYZE_PEERS_TABLE_H

#include "analyze/peers.h"

/* Times of one request, by the names of the metric table. */
enum peer_time {
    PEER_T0,
    PEER_C1,
    PEER_O1,
    PEER_O2,
    PEER_ANSWER, /* the first output that is not reasoning */
    PEER_OM,
    PEER_Z,
    PEER_END /* of the attempt, whatever became of it */
};

enum peer_shape {
    PEER_SPAN,      /* to - from */
    PEER_SPAN_PER,  /* (to - from) / (N - less), if that is above 0 */
    PEER_PER_SPAN,  /* (N - less) / (to - from), if that is above 0 */
    PEER_INPUT_PER, /* P / (to - from) */
    PEER_OUTPUT,    /* N */
    PEER_INPUT,     /* P */
    PEER_GAPS,      /* between output events, pooled */
    PEER_LINES,     /* (to - from) / data lines of the stream */
    PEER_NEVER,     /* takes what no trace holds: note */
    PEER_BATCH_OUT, /* of requests released together: (sum of N - requests) / (max to - min from) */
    PEER_BATCH_IN,  /* … sum of P / (max to - min from) */
    PEER_BATCH_PEAK, /* … most tokens within a second */
    /* of the run */
    PEER_RUN_COUNT,   /* successes; all: attempts */
    PEER_RUN_FAILED,  /* attempts - successes */
    PEER_RUN_SPAN,    /* T = max to - min from */
    PEER_RUN_SUM_OUT, /* sum of N */
    PEER_RUN_SUM_IN,
    PEER_RUN_RATE,     /* successes / T; all: attempts / T */
    PEER_RUN_OUT_RATE, /* sum of N / T */
    PEER_RUN_IN_RATE,
    PEER_RUN_TOTAL_RATE, /* (sum of N + sum of P) / T */
    PEER_RUN_LITTLE,     /* sum of (z - t0) / T */
    PEER_RUN_FAILED_SHARE,
    PEER_RUN_BUCKET,       /* most output events in one second of T */
    PEER_RUN_IN_FLIGHT_1S, /* most requests in any second of T */
    /* with --slo: of the successes that are within all limits, as the tool takes them */
    PEER_RUN_GOOD,
    PEER_RUN_GOODPUT,     /* … / T */
    PEER_RUN_GOOD_TOKENS, /* their prompt and output tokens / T */
    PEER_RUN_GOOD_SHARE   /* … / successes that can be told; all: and failures */
};

struct peer_row {
    const char *name;
    enum peer_word word;
    const char *formula, *unit;
    double scale; /* from s or 1 to the unit */
    enum peer_shape shape;
    enum peer_time from, to;
    int less;         /* N - less */
    bool all;         /* attempts, not successes alone */
    bool weighted;    /* by N - 1 */
    bool streams;     /* a reply that is one document has none */
    const char *note; /* what is to be said of it in any case */
};

/* A statistic that the tool prints of each row of requests: its name is prefix, row, suffix. */
struct peer_stat {
    const char *stat; /* mean, median, std, min, max, p50 … */
    const char *prefix, *suffix;
};

/* What a request is without a figure that has a limit. */
enum peer_missing { PEER_FAILS, PEER_PASSES, PEER_UNTOLD };

/* A limit of the tool's own: what --slo calls it, and its row. */
struct peer_limit {
    enum request_metric metric;
    const char *row;
};

/* Where the tool takes N from. */
enum peer_count {
    PEER_USAGE,         /* usage; else it counts the text */
    PEER_USAGE_OR_WISH, /* usage; else the max_tokens that were asked for */
    PEER_USAGE_OR_EVENTS,
    PEER_IDS_FIRST,       /* token ids, else usage, else the text, else events */
    PEER_TEXT,            /* counts the text */
    PEER_TEXT_BY_DEFAULT, /* … and has an option to take usage */
};

struct peer {
    const char *name, *version;
    enum peer_count count;
    bool sample_std;   /* n - 1 */
    bool step;         /* percentiles are steps, weighted; else between order statistics */
    bool missing_zero; /* a request without the figure enters as 0 */
    bool zero_for_none; /* a figure without any value is 0 */
    const char *count_option;
    const struct peer_stat *stats;   /* ends with stat NULL */
    const struct peer_row *rows;     /* ends with name NULL */
    const struct peer_limit *limits; /* ends with row NULL; NULL: it has none */
    enum peer_missing missing;
};

/* The most of one second, counted from the first t0 on: events with text, or requests that touch it
 * (peers_seconds.c). */
double peers_fullest_second(const struct request *const *v, size_t n, bool in_flight);

extern const struct peer peer_vllm, peer_sglang, peer_aiperf, peer_guidellm, peer_llama_benchy,
    peer_inference_perf, peer_llmperf, peer_genai_perf;

#endif
