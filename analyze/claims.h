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

enum dimension {
    DIM_TOKEN_RATE,
    DIM_REQUEST_RATE,
    DIM_TIME,
    DIM_TOKENS,
    DIM_COUNT,
    DIM_RATIO,
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
    SUBJECT_PROMPT_RATE = 256
};

#define NO_DEFINITION (-1)

struct claim_name {
    const char *name;
    enum dimension dimension;
    enum subject subject;
    bool inverse;       /* time per token: rate formulas hold as 1/x */
    bool of_run;        /* no figure of one request */
    int definitions[3]; /* enum definition_id; the first is shown. NO_DEFINITION: no more */
    int bound; /* what bounds it from one side where its gates withhold it, or NO_DEFINITION */
};

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
