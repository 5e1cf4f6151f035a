/* One figure of many: the catalogue's P71 to P84. */
#include "analyze/causes_row.h"
#include "analyze/formulas_failures.h"
#include "analyze/formulas_statistics.h"

static const char mirror_note[] = "the mirror case: totals divided, where each request has a rate";
static const char p73_note[] =
    "answers of one token or none are there: they have no time per token, and are counted as 0";
static const char p74_note[] = "replies without text are there, and are counted as 0";
static const char p81_note[] =
    "counted where they end, from the first end to the last: the first one's own time is left out";
static const char p82_note[] = "of so few values that quantile is the largest of them, and says no "
                               "more than that";
static const char p84_note[] = "requests were sent again after a failure";

/* The formulas give nothing where it is not there. */
static bool is_there(const struct scope *s, const struct request *r)
{
    (void)s;
    (void)r;
    return true;
}

static const struct cause_row rows[] = {
    {"P71", SUBJECT_THROUGHPUT, CAUSE_SPECIAL("mean((N-1)/(o_M-o_1))", formula_mean_of_rates), NULL,
     NULL, NULL, false},
    {"P71", SUBJECT_THROUGHPUT, CAUSE_SPECIAL("mean(N/(o_M-t0))", formula_mean_of_whole_rates),
     NULL, NULL, NULL, false},
    {"P71", SUBJECT_THROUGHPUT, CAUSE_SPECIAL("median((N-1)/(o_M-o_1))", formula_median_of_rates),
     NULL, NULL, NULL, false},
    {"P71", SUBJECT_THROUGHPUT, CAUSE_SPECIAL("median(N/(o_M-t0))", formula_median_of_whole_rates),
     NULL, NULL, NULL, false},
    {"P71", SUBJECT_DECODE, CAUSE_SPECIAL("sum(N-n_1)/sum(o_M-o_1)", formula_ratio_of_sums), NULL,
     NULL, mirror_note, false},
    {"P71", SUBJECT_PROMPT_RATE, CAUSE_SPECIAL("sum(P)/sum(o_1-t0)", formula_prompt_ratio), NULL,
     NULL, mirror_note, false},
    {"P71", SUBJECT_PROMPT_RATE,
     CAUSE_SPECIAL("sum(P-K)/sum(o_1-t0)", formula_prompt_ratio_uncached), NULL, NULL, mirror_note,
     false},

    {"P72", SUBJECT_PER_TOKEN, CAUSE_SPECIAL("sum(N-n_1)/sum(o_M-o_1)", formula_ratio_of_sums),
     NULL, NULL, NULL, false},
    {"P72", SUBJECT_PER_TOKEN, CAUSE_SPECIAL("sum(o_M-o_1)/sum(N)", formula_tpot_of_sums), NULL,
     NULL, "the first token of each request is divided by, too", true},
    {"P72", SUBJECT_GAP, CAUSE_SPECIAL("(o_M-o_1)/(N-1)", formula_gap_of_requests), NULL, NULL,
     "a time per token of each request, where one of each gap has the name", false},
    {"P72", SUBJECT_GAP, CAUSE_SPECIAL("sum(o_M-o_1)/sum(N-1)", formula_gap_of_sums), NULL, NULL,
     NULL, false},

    {"P73", SUBJECT_PER_TOKEN, CAUSE_SPECIAL("(o_M-o_1)/(N-1), and 0s", formula_tpot_zeros), NULL,
     is_there, p73_note, true},
    {"P73", SUBJECT_DECODE, CAUSE_SPECIAL("(N-1)/(o_M-o_1), and 0s", formula_rate_zeros), NULL,
     is_there, p73_note, false},
    {"P73", SUBJECT_GAP, CAUSE_SPECIAL("o_k-o_(k-1), and 0s", formula_gap_zeros), NULL, is_there,
     p73_note, false},

    {"P74", SUBJECT_TTFT, CAUSE_SPECIAL("o_1-t0, and 0s of 200s", formula_ttft_zeros_200), NULL,
     is_there, p74_note, false},
    {"P74", SUBJECT_TTFT, CAUSE_SPECIAL("o_1-t0, and 0s", formula_ttft_zeros), NULL, is_there,
     p74_note, false},
    {"P74", SUBJECT_TTFT,
     CAUSE_SPECIAL("o_1-t0 of all with text, and 0s of 200s", formula_ttft_zeros_text_200), NULL,
     is_there, p74_note, false},
    {"P74", SUBJECT_TTFT, CAUSE_SPECIAL("o_1-t0 of all with text, and 0s", formula_ttft_zeros_text),
     NULL, is_there, p74_note, false},
    {"P74", SUBJECT_REQUEST_RATE, CAUSE_SPECIAL("(S+empty)/T", formula_request_rate_empty), NULL,
     is_there, "replies that say nothing are there, and count as answers", false},

    {"P76", SUBJECT_DECODE, CAUSE_SPECIAL("sum(N so far)/(o_M-o_1)", formula_rate_so_far), NULL,
     NULL, NULL, false},
    {"P76", SUBJECTS_DECODING | SUBJECT_WHOLE,
     CAUSE_SPECIAL("sum(N so far)/(o_M-t0)", formula_whole_rate_so_far), NULL, NULL, NULL, false},
    {"P76", SUBJECT_THROUGHPUT, CAUSE_SPECIAL("sum(N)/(last end-last t0)", formula_total_by_last),
     NULL, NULL, NULL, false},

    {"P77", SUBJECT_THROUGHPUT, CAUSE_RUN_RATE("sum(N)/(max t0-min t0)", COUNT_N, AT_T0, AT_T0),
     NULL, NULL, NULL, false},
    {"P77", SUBJECT_REQUEST_RATE, CAUSE_RUN_RATE("S/(max t0-min t0)", COUNT_NONE, AT_T0, AT_T0),
     NULL, NULL, NULL, false},
    {"P77",
     SUBJECT_DURATION,
     {"max t0-min t0", SHAPE_TIME, COUNT_NONE, AT_T0, AT_T0, true, NULL},
     NULL,
     NULL,
     NULL,
     false},

    {"P81", SUBJECT_REQUEST_RATE,
     CAUSE_SPECIAL("S/(max end-min end)", formula_request_rate_of_ends), NULL, NULL, p81_note,
     false},
    {"P81", SUBJECT_THROUGHPUT,
     CAUSE_SPECIAL("sum(N)/(max end-min end)", formula_output_tps_of_ends), NULL, NULL, p81_note,
     false},

    {"P82", SUBJECT_TTFT, CAUSE_SPECIAL("max(o_1-t0)", formula_most_ttft), NULL, is_there, p82_note,
     false},
    {"P82", SUBJECT_LATENCY, CAUSE_SPECIAL("max(o_M-t0)", formula_most_latency), NULL, is_there,
     p82_note, false},
    {"P82", SUBJECT_PER_TOKEN, CAUSE_SPECIAL("max((o_M-o_1)/(N-n_1))", formula_most_tpot), NULL,
     is_there, p82_note, true},
    {"P82", SUBJECT_DECODE, CAUSE_SPECIAL("max((N-n_1)/(o_M-o_1))", formula_most_rate), NULL,
     is_there, p82_note, false},
    {"P82", SUBJECT_WHOLE, CAUSE_SPECIAL("max(N/(o_M-t0))", formula_most_whole_rate), NULL,
     is_there, p82_note, false},
    {"P82", SUBJECT_GAP, CAUSE_SPECIAL("max(o_k-o_(k-1))", formula_most_gap), NULL, is_there,
     p82_note, false},

    {"P84", SUBJECT_REQUESTS, CAUSE_SPECIAL("attempts", formula_requests_attempts), NULL, is_there,
     p84_note, false},
    {"P84", SUBJECT_REQUEST_RATE, CAUSE_SPECIAL("attempts/T", formula_request_rate_attempts), NULL,
     is_there, p84_note, false},
    {"P84", SUBJECT_LATENCY, CAUSE_SPECIAL("end-t0 of attempts", formula_latency_attempts), NULL,
     is_there, p84_note, false},
};

CAUSE_ROWS(causes_statistics, rows);
