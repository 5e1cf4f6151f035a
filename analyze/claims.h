/* Claims: figures that somebody published, held against what the bytes give.
 *
 *     NAME[.STAT][@REQUEST]=VALUE[UNIT]        ttft.p50=90ms    rate@3=14,000 tok/s throughput=1.2k
 *
 * NAME is a metric or, for a figure published without a definition, a generic name (rate,
 * throughput, latency …). REQUEST is the request's number in the report. Without STAT every
 * statistic is tried. */
#ifndef ANALYZE_CLAIMS_H
#define ANALYZE_CLAIMS_H

#include "analyze/formulas.h"
#include "analyze/model.h"
#include "traces/base/err.h"
#include "traces/base/span.h"

enum dimension {
    DIM_TOKEN_RATE,
    DIM_REQUEST_RATE,
    DIM_TIME,
    DIM_TOKENS,
    DIM_COUNT,
    DIM_RATIO,
    DIM_SHARE, /* 0 to 1 */
    DIM_BYTES
};

/* What a claim is about; the catalogue's rows say which of these they can falsify. */
enum subject {
    SUBJECT_OTHER = 0,
    SUBJECT_DECODE = 1,    /* decoding speed of a request */
    SUBJECT_PER_TOKEN = 2, /* … as time per token */
    SUBJECT_WHOLE = 4,     /* speed of a whole request, either way */
    SUBJECT_TTFT = 8,
    SUBJECT_LATENCY = 16,
    SUBJECT_OUTPUT_TOKENS = 32,
    SUBJECT_INPUT_TOKENS = 64,
    SUBJECT_THROUGHPUT = 128,
    SUBJECT_PROMPT_RATE = 256,
    SUBJECT_GAP = 512, /* between two output events */
    SUBJECT_PEAK = 1024,
    SUBJECT_REQUESTS = 2048, /* how many, or how many succeeded */
    SUBJECT_FAILED = 4096,
    SUBJECT_REQUEST_RATE = 8192,
    SUBJECT_CONCURRENCY = 16384,
    SUBJECT_SPEEDUP = 32768,
    SUBJECT_COMPLETED = 65536, /* how many succeeded */
    SUBJECT_DURATION = 131072  /* of a run */
};

#define NO_DEFINITION (-1)

enum { CLAIM_DEFINITIONS = 4 };

struct claim_name {
    const char *name;
    enum dimension dimension;
    enum subject subject;
    bool inverse;       /* time per token: rate formulas hold as 1/x */
    bool of_run;        /* no figure of one request */
    int definitions[CLAIM_DEFINITIONS]; /* enum definition_id; the first is shown. NO_DEFINITION: no more */
    int bound; /* what bounds it from one side where its gates withhold it, or NO_DEFINITION */
    unsigned also; /* enum subject, or'ed: of further formulas that are published under the name */
};

struct tool;
struct tool_formula;

/* What a claim of a tool rests on; lives as long as the audit. */
struct claim_basis {
    const struct tool_formula *formula; /* by which the tool takes it; NULL: as the name says */
    const size_t *requests;             /* that it is about, by t0; NULL: not told */
    size_t n;
    const char *which;    /* how they were found, in words; NULL: they are all there are */
    const char *unscoped; /* why it is not known which requests it is about; NULL: it is */
    bool step_quantiles;  /* quantiles are order statistics, not interpolated */
};

/* The basis of a tool's figure of that name; NULL where the tool has no formula of its own. */
const struct claim_basis *claim_basis_of(struct audit *a, const struct tool *tool,
                                         const char *metric);

/* A figure of a file. Texts live as long as a. */
struct claim_figure {
    const char *text, *tool, *file;
    const char *metric, *stat; /* of claim_name_find; of stat_names */
    const char *claimed_text;
    double claimed;           /* in the base unit */
    struct interval interval; /* of the printed digits */
    size_t request;           /* 0: of the run */
    const struct claim_basis *basis;
};

/* Appends it; the claim is in a->claims until the next is added. */
struct claim *claims_add_figure(struct audit *a, const struct claim_figure *f);

/* The verdict that it would get; nothing is kept of it. bounds as of formula_rate_bounds. */
enum verdict claims_verdict_of(struct audit *a, const struct audit_options *o,
                               const struct claim_figure *f, const double *bounds);

/* A number as it is printed, and half a unit of its last digit that counts; false for NaN, the
 * infinities and what is none. */
bool claim_number(struct slice text, double *v, double *half);

/* Keys of small harnesses: a name and a statistic, and for times their unit: "gen_tps_p50",
 * "ttft_p50_ms". The unit is split off, and stays in *unit (empty: none); true if the rest is both.
 */
bool claim_key(struct slice *key, struct slice *unit);

const struct claim_name *claim_name_find(const char *name); /* NULL: none */

/* Appends a claim; its interval is that of the printed digits. TA_EUSAGE names the part that is
 * wrong and what is accepted, and appends nothing. */
int claims_add(struct audit *a, const char *text, struct err *e) TA_NODISCARD;

/* Fills recomputed … evidence of every claim; needs requests, runs and all metrics. */
void claims_judge(struct audit *a, const struct audit_options *o);

/* "59.6 tok/s", "1.70 s", "14,000 tok/s"; out has room for 64. Returns out. */
const char *claim_value_text(enum dimension dim, double v, char out[64]);
const char *claim_unit(enum dimension dim); /* the base unit: "tok/s", "s" … */

#endif
