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

/* The requests that a figure is about. */
struct scope {
    const struct audit *a;
    const struct audit_options *o;
    const double *rate_bounds; /* one a trace: formula_rate_bounds */
    bool whole;                /* all there is: figures of the traces hold for it */
    bool one;                  /* a single request, whatever became of it */
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
    double *value, *lo, *hi; /* each ascending, once sorted */
};

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

extern const char *const stat_names[STATS];

enum shape {
    SHAPE_COUNT, /* count */
    SHAPE_TIME,  /* to - from */
    SHAPE_RATE,  /* count / (to - from) */
    SHAPE_PER    /* (to - from) / count */
};

enum count {
    COUNT_NONE,
    COUNT_N,         /* output tokens as stated */
    COUNT_N_LESS_1,  /* N - 1 */
    COUNT_N_LESS_N1, /* N - n_1; where n_1 is not stated, between 1 and the events of the first read
                      */
    COUNT_EVENTS,    /* M: events with text */
    COUNT_EVENTS_LESS_1, /* M - 1 */
    COUNT_P,             /* prompt tokens as stated */
    COUNT_P_UNCACHED,    /* P - K */
    COUNT_P_AND_N,       /* P + N */
    COUNT_BYTES,         /* UTF-8 bytes of generated text */
    COUNT_ASKED,         /* max_tokens of the request */
    COUNT_STATED_SUM     /* of the counts that events stated, all added up */
};

enum when {
    AT_NONE,
    AT_T0,
    AT_T0_END,
    AT_H,
    AT_HEAD,
    AT_ROLE,
    AT_C1,
    AT_O1,
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

bool formula_counts(const struct scope *s,
                    const struct request *r);                /* takes r part in s's figures? */
double formula_count(const struct request *r, enum count c); /* NAN: not known */
int64_t formula_when(const struct request *r, enum when w);  /* -1: not seen */
struct interval formula_span(const struct scope *s, int64_t from_ns, int64_t to_ns);

/* Definitions: what a figure of that name is. */
enum definition_id {
    D_TTFB,
    D_TTFR,
    D_TTFT,
    D_TTST,
    D_E2EL,
    D_STREAM_END,
    D_DECODE_WINDOW,
    D_TPOT,
    D_NTPOT,
    D_ICL,
    D_OUTPUT_TPS_USER,
    D_E2E_OUTPUT_TPS,
    D_PROMPT_TPS,
    D_PROMPT_TPS_ALL,
    D_INPUT_TOKENS,
    D_OUTPUT_TOKENS,
    D_OUTPUT_TPS,
    D_REQUEST_TPS,
    D_PEAK_THROUGHPUT,
    D_CONCURRENCY_AVG,
    D_CONCURRENCY_PEAK,
    D_RELEASE_SKEW,
    D_SPEEDUP,
    D_REQUESTS,
    D_SUCCESSES,
    D_FAILED,
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
formula_fn formula_icl, formula_peak_throughput, formula_concurrency_avg, formula_concurrency_peak,
    formula_release_skew, formula_speedup, formula_requests, formula_successes, formula_failed,
    formula_memory, formula_users_times_rate, formula_mean_of_rates, formula_sum_of_rates,
    formula_ratio_of_sums;

#endif
