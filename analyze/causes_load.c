/* What the load was: the catalogue's P57 to P70. */
#include "analyze/causes_row.h"

static bool sign_cached(const struct scope *s, const struct request *r)
{
    (void)s;
    return r->usage.cached > 0;
}

static const char p57_note[] = "fewer requests were served at a time than were in flight";
static const char p62_note[] = "part of the prompts came from a cache";

static const struct cause_row rows[] = {
    {"P57", SUBJECT_THROUGHPUT, CAUSE_SPECIAL("c*mean((N-1)/(o_M-o_1))", formula_users_times_rate),
     NULL, NULL, p57_note, false},
    {"P57", SUBJECT_THROUGHPUT, CAUSE_SPECIAL("sum((N-1)/(o_M-o_1))", formula_sum_of_rates), NULL,
     NULL, NULL, false},
    {"P57", SUBJECT_THROUGHPUT, CAUSE_SPECIAL("c/mean((o_M-o_1)/(N-1))", formula_users_over_tpot),
     NULL, NULL, p57_note, false},
    {"P57", SUBJECT_PROMPT_RATE, CAUSE_SPECIAL("c*mean(P/(o_1-t0))", formula_users_times_prefill),
     NULL, NULL, p57_note, false},
    {"P57", SUBJECT_PROMPT_RATE, CAUSE_SPECIAL("c*mean(P)/mean(o_1-t0)", formula_users_over_ttft),
     NULL, NULL, p57_note, false},

    {"P58", SUBJECT_CONCURRENCY, CAUSE_SPECIAL("more than c", formula_capped_users), NULL, NULL,
     "never more than c were in flight, nearly always c, and each further one was sent as another "
     "ended: the others waited in the client",
     false},

    {"P60", SUBJECT_REQUEST_RATE, CAUSE_SPECIAL("A/(max s-min s)", formula_planned_rate), NULL,
     NULL, "requests were sent later than they were due: the rate was planned and not reached",
     false},

    {"P62", SUBJECT_PROMPT_RATE, CAUSE_RATE("P/(o_1-t0)", COUNT_P, AT_T0, AT_O1), sign_cached,
     sign_cached, p62_note, false},
    {"P62", SUBJECT_SPEEDUP,
     CAUSE_SPECIAL("ttft of a prompt's first request/ttft of a repeat", formula_gain_of_cache),
     NULL, NULL, p62_note, false},
    {"P63", SUBJECT_SPEEDUP,
     CAUSE_SPECIAL("ttft of a prompt's first request/ttft of a repeat", formula_gain_of_repeat),
     NULL, NULL, "nothing of the repeat came from a cache, and a prompt that was new was as fast",
     false},

    {"P64", SUBJECT_SPEEDUP,
     CAUSE_SPECIAL("N/(o_M-t0) of the later trace/the earlier", formula_order_whole_rate), NULL,
     NULL, "the figures went that way within each of the traces already", false},
    {"P64", SUBJECT_SPEEDUP,
     CAUSE_SPECIAL("(N-n_1)/(o_M-o_1) of the later trace/the earlier", formula_order_decode_rate),
     NULL, NULL, "the figures went that way within each of the traces already", false},
    {"P64", SUBJECT_SPEEDUP,
     CAUSE_SPECIAL("ttft of the earlier trace/the later", formula_order_ttft), NULL, NULL,
     "the figures went that way within each of the traces already", false},

    {"P67", SUBJECT_DECODE, CAUSE_SPECIAL("N/(max o_M-min o_1)", formula_common_window), NULL, NULL,
     "the window is that of several users, whose first texts came far apart", false},

    {"P68", SUBJECT_INPUT_TOKENS, CAUSE_SPECIAL("label of P", formula_label_of_prompts), NULL, NULL,
     "the prompts are spread evenly below that length", false},
    {"P68", SUBJECT_OUTPUT_TOKENS, CAUSE_SPECIAL("label of N", formula_label_of_answers), NULL,
     NULL, "the lengths that were asked for are spread evenly below that", false},
};

CAUSE_ROWS(causes_load, rows);
