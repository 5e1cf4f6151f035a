/* Formulas over what the bytes say: definitions that a figure has, and those that are known to be
 * wrong, in one shape. A formula is a row of data; few need a function of their own.
 *
 * Every time in a formula may lie later by 0 to audit_options.vantage_ns than on the wire (a client
 * stamps after it has read and parsed); an estimate's interval is what the formula can then give.
 * Times are in s. */
#ifndef ANALYZE_FORMULAS_H
#define ANALYZE_FORMULAS_H

#include "analyze/interval.h"
#include "analyze/model.h"
#include "traces/base/vec.h"

enum stat {
    STAT_VALUE,
    STAT_P50,
    STAT_MEAN,
    STAT_P90,
    STAT_P95,
    STAT_P99,
    STAT_MIN,
    STAT_MAX,
    STAT_SUM,
    STATS
};

/* The requests that a figure is about. */
struct scope {
    const struct audit *a;
    const struct audit_options *o;
    const double *rate_bounds; /* one a trace: formula_rate_bounds */
    bool whole;                /* all there is: figures of the traces hold for it */
    bool one;                  /* a single request, whatever became of it */
    bool lossy;                /* with all that the recording may have lost (formulas_lossy.h) */
    bool late;                 /* with stamps as a busy client has them (formulas_doubt.h) */
    double miscount;           /* above 1: tokens are the client's own, by that factor off at most */
    bool blurred; /* with what tokens without text may do to a rate (metrics_marks.h) */
    bool as_tool; /* of a tool, which looks for no finish: a whole reply without one is a success */
    bool overrun; /* with all the time that a tool may go on for behind its last reply */
    enum stat stat;            /* that the claim is of; STAT_VALUE: it does not say */
    VEC(size_t) requests;      /* indices, in order of t0 */
};

struct estimate {
    double value; /* as stamped on the wire; infinite where it divides by a time of zero */
    struct interval interval;
    const struct request *request; /* that it is about, or that it is nearest to; NULL: a run */
    bool sign;                     /* of its cause, seen in that request */
};

/* Zero-initialised when empty; estimates_free. */
struct estimates {
    VEC(struct estimate) all;
    size_t unknown; /* more of them, which may have any value from 0 on */
    struct {
        size_t n;       /* replies that state no such count: there is no sum … */
        size_t unknown; /* … unless that is 0: */
        double sum;     /* the others' was stated with another reply to the same body */
    } unstated;
    size_t streams; /* they are the gaps of so many: what a stamp adds to one it takes from the next,
                       and their mean moves with the ends of the streams alone; 0: they are no gaps */
    double *value, *lo, *hi; /* each ascending, once sorted */
};

extern const char *const stat_names[STATS];

enum shape {
    SHAPE_COUNT, /* count */
    SHAPE_TIME,  /* to - from */
    SHAPE_RATE,  /* count / (to - from) */
    SHAPE_PER    /* (to - from) / count */
};

enum count {
    COUNT_NONE,
    COUNT_N,              /* output tokens as stated */
    COUNT_N_LESS_1,       /* N - 1 */
    COUNT_N_LESS_N1,      /* N - n_1, of tokens that were sent (metrics_decoded); where n_1 is not
                             stated, the events of the first read had one token each or as many as the
                             others */
    COUNT_EVENTS,         /* M: events with text */
    COUNT_EVENTS_LESS_1,  /* M - 1 */
    COUNT_P,              /* prompt tokens as stated */
    COUNT_P_UNCACHED,     /* P - K */
    COUNT_P_AND_N,        /* P + N */
    COUNT_BYTES,          /* UTF-8 bytes of generated text */
    COUNT_ASKED,          /* max_tokens of the request */
    COUNT_STATED_SUM,     /* of the counts that events stated, all added up */
    COUNT_READS,          /* that brought output events */
    COUNT_EVENTS_UNSPLIT, /* output events that came in one read each */

    /* formulas_counts.c: what else is taken for tokens. */
    COUNT_CHARS,
    COUNT_UTF16,
    COUNT_QUARTER,        /* characters / 4 … */
    COUNT_QUARTER_UP,     /* … rounded up */
    COUNT_WORDS,          /* runs of non-blanks */
    COUNT_EVENTS_AND_ONE, /* M and one of those that have a role, a finish or nothing … */
    COUNT_EVENTS_CHOICES, /* … or all of them … */
    COUNT_EVENTS_DATA,    /* … and those with usage alone … */
    COUNT_EVENTS_ALL,     /* … and the end mark */
    COUNT_CONTENT_EVENTS, /* events with content; 0 if there was other text alone */
    COUNT_CONTENT_TEXT,   /* tokens of the content, recounted */
    COUNT_N_LESS_R,       /* N without the reasoning tokens; N where none were stated */
    COUNT_N_AND_R,
    COUNT_N_AND_BESIDE,    /* N with the thinking that it leaves out, as far as it is known */
    COUNT_TEXT,            /* tokens of the text, recounted */
    COUNT_TEXT_MARKED,     /* … with the special tokens around it */
    COUNT_PIECES,          /* tokens of each piece by itself */
    COUNT_PIECES_MARKED,   /* … with the special tokens around each */
    COUNT_PIECES_PREFIXED, /* … with "!" before each, less one */
    COUNT_N_AND_EVENTS,    /* N + M */
    COUNT_STATED_LAST,     /* the last of counts that were of one event each */
    COUNT_PROMPT_SUM,      /* prompt tokens of all events that stated any */
    COUNT_N_TIMES,         /* N n, where n answers were asked for */
    COUNT_N_SHARE,         /* N/n */
    COUNT_P_TIMES,         /* P n */
    COUNT_FIRST_CHOICE,    /* events with text of the first of n answers */
    COUNT_P_EVALUATED,     /* prompt tokens that the server says it evaluated */
    COUNT_P_LABEL,         /* what the workload's name says of the prompt */
    COUNT_P_POWER,         /* the power of two that P fits into */
    COUNT_P_WORDS,         /* words of the prompt */

    COUNT_LESS_ONE = 0x100 /* or'ed with one of them: less one */
};

enum when {
    AT_NONE,
    AT_SYN,       /* of a connection's first request */
    AT_KEEPALIVE, /* the first comment or ping */
    AT_DUE,       /* when the ledger had it due */
    AT_ANSWER,    /* the first output event that is not reasoning alone */
    AT_CONTENT,   /* the first with content: no reasoning, no tool call */
    AT_T0,
    AT_T0_END,
    AT_H,
    AT_HEAD,
    AT_ROLE,
    AT_C1,
    AT_O1,
    AT_STREAM_O1, /* the same of a stream: a document has none */
    AT_O2,
    AT_OM,
    AT_DONE,
    AT_Z,
    AT_END
};

typedef void formula_fn(const struct scope *s, struct estimates *out);

struct formula {
    const char *text; /* in the symbols of the metric table */
    enum shape shape;
    enum count count;
    enum when from, to;
    bool of_run;    /* counts are added up; from the first to the last */
    formula_fn *fn; /* instead of all that */
};

/* Is the sign of a cause in r? */
typedef bool sign_fn(const struct scope *s, const struct request *r);

/* Appends what f gives: one estimate a request, or one for the scope. sign may be NULL. */
void formula_apply(const struct formula *f, const struct scope *s, sign_fn *sign,
                   struct estimates *out);

/* 1/x of every estimate: a rate formula for a claim of time per token. */
void estimates_invert(struct estimates *e);
void estimates_free(struct estimates *e);

/* Once all are there: by value, and ready for estimates_stat. */
void estimates_sort(struct estimates *e);

/* One figure of all, sorted; false if there are none. STAT_VALUE asks for the one there is: false
 * if there are more. */
bool estimates_stat(const struct estimates *e, enum stat stat, struct estimate *out);

/* How many values that figure is of. */
size_t estimates_number(const struct estimates *e, enum stat stat);

bool formula_counts(const struct scope *s,
                    const struct request *r);                     /* takes r part in s's figures? */
double formula_count(const struct request *r, enum count c);      /* NAN: not known */
double formula_count_else(const struct request *r, enum count c); /* … those of formulas_counts.c */
int64_t formula_when(const struct request *r, enum when w);       /* -1: not seen */
struct interval formula_span(const struct scope *s, int64_t from_ns, int64_t to_ns);

/* Adds to out->unstated the replies whose count of prompt or output tokens was not stated. */
void formula_unstated(const struct scope *s, enum count count, struct estimates *out);

/* Definitions: what a figure of that name is. */
enum definition_id {
    D_TTFB,
    D_TTFR,
    D_TTFT,
    D_TTFO,
    D_TTFT_STREAMS,   /* where some replies are documents */
    D_EFFECTIVE_TTFT, /* from when the request was due */
    D_TTST,
    D_E2EL,
    D_EFFECTIVE_LATENCY, /* from when the request was due */
    D_STREAM_END,
    D_DECODE_WINDOW,
    D_TPOT,
    D_NTPOT,
    D_ICL,
    D_ICL_ALL, /* of short replies too, and of what came within one read */
    D_OUTPUT_TPS_USER,
    D_E2E_OUTPUT_TPS,
    D_PROMPT_TPS,
    D_PROMPT_TPS_ALL,
    D_INPUT_TOKENS,
    D_OUTPUT_TOKENS,
    D_OUTPUT_TOKENS_ALL, /* with the thinking that the count leaves out */
    D_OUTPUT_TPS,
    D_OUTPUT_TPS_ARRIVED, /* with the tokens of answers that did not finish */
    D_OUTPUT_TPS_STEADY,
    D_INPUT_TPS,
    D_TOTAL_TPS,
    D_DURATION,
    D_REQUEST_TPS,
    D_REQUEST_TPS_WITH_TEXT,
    D_GOODPUT,
    D_GOOD_FRACTION,
    D_PEAK_THROUGHPUT,
    D_CONCURRENCY_AVG,
    D_CONCURRENCY_PEAK,
    D_RELEASE_SKEW,
    D_SPEEDUP,
    D_REQUESTS,
    D_ATTEMPTS, /* those that another one followed, too */
    D_REQUESTS_MEANT, /* by the ledger, those too that were never sent */
    D_SUCCESSES,
    D_SUCCESSES_WITH_TEXT, /* where some have none */
    D_FAILED,
    D_FAILED_OR_EMPTY,
    D_FAILED_ATTEMPTS,
    D_FAILED_MEANT,
    D_MEMORY,
    DEFINITIONS
};

struct definition {
    const char *name;
    struct formula formula;
    int gate;            /* enum request_metric whose gates it is under; -1: none */
    const char *missing; /* why there is no such figure, where no gate says it */
};

extern const struct definition definitions[DEFINITIONS];

void definition_apply(const struct definition *d, const struct scope *s, struct estimates *out);

/* The first reason why a request of s has no such figure. */
const char *definition_missing(const struct definition *d, const struct scope *s);

/* The fastest decode rate that is credible in each trace, tok/s: --max-rate, else a wide margin
 * over the fastest that the whole trace supports. One a trace; freed by the caller. */
double *formula_rate_bounds(const struct audit *a, const struct audit_options *o);

/* Collect, then replay: the answer was kept back and sent in one go. The one rule, all three parts
 * of it: silence for more than COLLECT_SILENCE of the request, more than COLLECT_TAIL of the text
 * in its last moment, and a rate in there that exceeds the trace's bound. How many reads it took is
 * no matter. */
#define COLLECT_SILENCE 0.8
#define COLLECT_TAIL 0.95
#define COLLECT_TAIL_NS 50000000  /* that moment; of a long request … */
#define COLLECT_TAIL_SHARE 0.02   /* … this share, if that is longer */
#define COLLECT_EVENTS 8          /* in more events than this */
#define COLLECT_RATE_MARGIN 10.0  /* over what the trace supports */
#define COLLECT_RATE_FLOOR 3000.0 /* tok/s; there are servers that fast, with no silence before */
bool formula_collected(const struct scope *s, const struct request *r);

/* Functions of their own: formulas_run.c. */
formula_fn formula_attempts, formula_failed_attempts, formula_icl, formula_icl_all, formula_peak_throughput, formula_concurrency_avg, formula_concurrency_peak,
    formula_release_skew, formula_speedup, formula_requests, formula_requests_meant,
    formula_successes, formula_successes_with_text, formula_failed, formula_failed_or_empty,
    formula_failed_meant, formula_request_tps_with_text, formula_memory,
    formula_users_times_rate, formula_mean_of_rates, formula_sum_of_rates, formula_ratio_of_sums;

/* formulas_streams.c: did events come one by one, evenly; or in bunches, with the same pause
 * between them? The median gap between a request's output events and its inverse, under no gate,
 * where events, reads or bunches hold several tokens; rates by a stopwatch that also runs while the
 * client works through what has come; figures of clients that read no long lines, or text up to its
 * first quote; documents among streams; and peaks. */
sign_fn formula_smooth, formula_bunched;
formula_fn formula_gaps, formula_gap_rates, formula_replayed_tokens, formula_replayed_events,
    formula_failed_lines_65536, formula_failed_lines_131072, formula_failed_lines_524288,
    formula_successes_lines_65536, formula_successes_lines_131072, formula_successes_lines_524288,
    formula_cut_characters, formula_cut_quarters, formula_cut_quarter_rate, formula_tpot_mixed,
    formula_ttft_mixed, formula_ttft_documents, formula_unstreamed_rate, formula_peak_events;

/* formulas_blocks.c: times as a client has them that reads blocks of so many bytes, of streams that
 * nobody held together on their way; the median of its gaps where most events come together. */
formula_fn formula_block_ttft_512, formula_block_ttft_1024, formula_block_ttft_8192,
    formula_block_ttft_65536, formula_block_ttft_131072, formula_block_rate_512,
    formula_block_rate_1024, formula_block_rate_8192, formula_block_rate_65536,
    formula_block_rate_131072, formula_block_gaps_512, formula_block_gaps_1024,
    formula_block_gaps_8192, formula_block_gaps_65536, formula_block_gaps_131072,
    formula_block_median;

/* formulas_load.c: figures of one user times all, users that the client kept back, the rate of a
 * plan that was not kept, windows of several users, and lengths that others were drawn below. */
formula_fn formula_users_over_tpot, formula_users_times_prefill, formula_users_over_ttft,
    formula_capped_users, formula_planned_rate, formula_common_window, formula_label_of_prompts,
    formula_label_of_answers;

/* formulas_repeats.c: a body's first time against its later ones, and one trace against the one
 * before it. */
formula_fn formula_gain_of_cache, formula_gain_of_repeat, formula_order_whole_rate,
    formula_order_decode_rate, formula_order_ttft;

/* formulas_counts.c */
formula_fn formula_nothing_counted, formula_no_content, formula_choices, formula_choice_rate,
    formula_last_calls, formula_last_calls_rate, formula_stated_prompt_rate, formula_content_ttft,
    formula_content_ttft_zeros, formula_content_ttft_ends, formula_content_rate,
    formula_input_zeros, formula_output_zeros, formula_output_tps_zeros;

/* formulas_flow.c: where as many are in flight as mostly are, and requests within the limits of
 * --slo. */
formula_fn formula_output_tps_steady, formula_goodput, formula_good_fraction;

/* formulas_times.c */
formula_fn formula_gap_after_role, formula_gaps_and_wait, formula_stated_wait,
    formula_stated_total_rate, formula_wall_first, formula_wall_last, formula_late_first,
    formula_late_last, formula_late_gap, formula_upstream_first, formula_subtracted,
    formula_warmup_first, formula_warmup_last;

#endif
