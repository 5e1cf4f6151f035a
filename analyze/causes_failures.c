/* Failures and what became of them: the catalogue's P80 and P85 to P94. */
#include "analyze/causes_row.h"
#include "analyze/formulas_failures.h"

#define SUBJECTS_ANSWERED (SUBJECT_REQUESTS | SUBJECT_COMPLETED)

static const char p80_note[] = "requests were in flight that did not finish, and their time is in "
                               "no such sum";
static const char p85_note[] = "errors came inside replies with status 200";
static const char p86_note[] = "requests were refused, or never answered";
static const char p87_note[] = "requests got no reply, or not all of it";
static const char p88_note[] =
    "requests that never came back ran on behind the last answer: the run was longer than that";
static const char p89_note[] = "it was sent again after a failure, and the first attempt and the "
                               "wait are in the time";
static const char p90_note[] = "replies broke off behind some text";

/* The formulas give nothing where it is not there. */
static bool is_there(const struct scope *s, const struct request *r)
{
    (void)s;
    (void)r;
    return true;
}

static const struct cause_row rows[] = {
    {"P80", SUBJECT_CONCURRENCY,
     CAUSE_SPECIAL("sum(end-t0) of answers/T", formula_concurrency_answered), NULL, is_there,
     p80_note, false},

    {"P85", SUBJECTS_ANSWERED, CAUSE_SPECIAL("S+errors in 200s", formula_requests_error_events),
     NULL, is_there, p85_note, false},
    {"P85", SUBJECT_COMPLETED, CAUSE_SPECIAL("replies with 200", formula_requests_status_200), NULL,
     is_there, p85_note, false},
    {"P85", SUBJECT_REQUEST_RATE,
     CAUSE_SPECIAL("(S+errors in 200s)/T", formula_request_rate_error_events), NULL, is_there,
     p85_note, false},
    {"P85", SUBJECT_REQUEST_RATE,
     CAUSE_SPECIAL("(replies with 200)/T", formula_request_rate_status_200), NULL, is_there,
     p85_note, false},
    {"P85", SUBJECT_FAILED, CAUSE_SPECIAL("A-S-errors in 200s", formula_failed_error_events), NULL,
     is_there, p85_note, false},
    {"P85", SUBJECT_FAILED, CAUSE_SPECIAL("A-replies with 200", formula_failed_status_200), NULL,
     is_there, p85_note, false},
    {"P85", SUBJECT_LATENCY,
     CAUSE_SPECIAL("o_M-t0, and end-t0 of errors in 200s", formula_latency_error_events), NULL,
     is_there, p85_note, false},

    {"P85", SUBJECT_LATENCY,
     CAUSE_SPECIAL("o_M-t0, and end-t0 of all 200s", formula_latency_status_200), NULL, is_there,
     p85_note, false},

    {"P86", SUBJECTS_ANSWERED, CAUSE_SPECIAL("S+HTTP errors", formula_requests_http_errors), NULL,
     is_there, p86_note, false},
    {"P86", SUBJECT_COMPLETED, CAUSE_SPECIAL("A", formula_requests_all), NULL, is_there, p86_note,
     false},
    {"P86", SUBJECT_REQUEST_RATE,
     CAUSE_SPECIAL("(S+HTTP errors)/T", formula_request_rate_http_errors), NULL, is_there, p86_note,
     false},
    {"P86", SUBJECT_REQUEST_RATE, CAUSE_SPECIAL("A/T", formula_request_rate_all), NULL, is_there,
     p86_note, false},
    {"P86", SUBJECT_FAILED, CAUSE_SPECIAL("A-S-HTTP errors", formula_failed_http_errors), NULL,
     is_there, p86_note, false},
    {"P86", SUBJECT_FAILED, CAUSE_SPECIAL("0", formula_failed_all), NULL, is_there, p86_note,
     false},
    {"P86", SUBJECT_LATENCY,
     CAUSE_SPECIAL("o_M-t0, and end-t0 of HTTP errors", formula_latency_http_errors), NULL,
     is_there, p86_note, false},
    {"P86", SUBJECT_LATENCY, CAUSE_SPECIAL("o_M-t0, and end-t0 of failures", formula_latency_all),
     NULL, is_there, p86_note, false},

    {"P87", SUBJECT_FAILED, CAUSE_SPECIAL("A-S-lost", formula_failed_lost), NULL, is_there,
     p87_note, false},
    {"P87", SUBJECT_FAILED, CAUSE_SPECIAL("0", formula_failed_silent), NULL, is_there, p87_note,
     false},
    {"P87", SUBJECT_REQUESTS, CAUSE_SPECIAL("A-lost", formula_requests_reported), NULL, is_there,
     p87_note, false},

    {"P88", SUBJECT_THROUGHPUT,
     CAUSE_SPECIAL("sum(N)/(last answer's end-min t0)", formula_output_tps_answered), NULL,
     is_there, p88_note, false},
    {"P88", SUBJECT_DURATION, CAUSE_SPECIAL("last answer's end-min t0", formula_duration_answered),
     NULL, is_there, p88_note, false},
    {"P88", SUBJECT_REQUEST_RATE,
     CAUSE_SPECIAL("S/(last answer's end-min t0)", formula_request_rate_answered), NULL, is_there,
     p88_note, false},

    {"P89", SUBJECT_TTFT, CAUSE_SPECIAL("o_1-t0 of the first attempt", formula_ttft_of_chain), NULL,
     is_there, p89_note, false},
    {"P89", SUBJECT_LATENCY, CAUSE_SPECIAL("o_M-t0 of the first attempt", formula_latency_of_chain),
     NULL, is_there, p89_note, false},

    {"P90", SUBJECTS_ANSWERED, CAUSE_SPECIAL("S+broken off", formula_requests_broken), NULL,
     is_there, p90_note, false},
    {"P90", SUBJECT_COMPLETED, CAUSE_SPECIAL("replies with text", formula_requests_with_text), NULL,
     is_there, p90_note, false},
    {"P90", SUBJECT_REQUEST_RATE, CAUSE_SPECIAL("(S+broken off)/T", formula_request_rate_broken),
     NULL, is_there, p90_note, false},
    {"P90", SUBJECT_REQUEST_RATE,
     CAUSE_SPECIAL("(replies with text)/T", formula_request_rate_with_text), NULL, is_there,
     p90_note, false},
    {"P90", SUBJECT_FAILED, CAUSE_SPECIAL("A-S-broken off", formula_failed_broken), NULL, is_there,
     p90_note, false},
    {"P90", SUBJECT_FAILED, CAUSE_SPECIAL("A-replies with text", formula_failed_with_text), NULL,
     is_there, p90_note, false},
    {"P90", SUBJECT_LATENCY,
     CAUSE_SPECIAL("o_M-t0, of those broken off too", formula_latency_broken), NULL, is_there,
     p90_note, false},
    {"P90", SUBJECT_LATENCY, CAUSE_SPECIAL("o_M-t0, of all with text", formula_latency_with_text),
     NULL, is_there, p90_note, false},
    {"P90", SUBJECT_OUTPUT_TOKENS,
     CAUSE_SPECIAL("N, and M of those broken off", formula_output_tokens_broken), NULL, is_there,
     p90_note, false},
    {"P90", SUBJECT_OUTPUT_TOKENS,
     CAUSE_SPECIAL("N, or M, of all with text", formula_output_tokens_with_text), NULL, is_there,
     p90_note, false},
};

CAUSE_ROWS(causes_failures, rows);
