/* The server's own figures, timings and settings: the catalogue's P95 to P101. */
#include "analyze/causes_row.h"
#include "analyze/formulas_stated.h"

static const char p95_note[] =
    "load, prompt and output times leave out much of the server's own total: its prompt time is "
    "not all of it";
static const char p96_note[] =
    "the prompt was in the cache, and the server never states less than one token evaluated";
static const char p97_note[] = "several tokens came at a time: the steps are counted, not they";
static const char p99_note[] = "the prompt is stated more than once, and all of it is added up";
static const char p100_note[] =
    "a load time is stated of a model that had answered before: it is not only loading";
static const char p101_note[] = "the answer is longer than the request allowed";

/* The formula gives nothing where it is not there. */
static bool is_there(const struct scope *s, const struct request *r)
{
    (void)s;
    (void)r;
    return true;
}

static const struct cause_row rows[] = {
    {"P95", SUBJECT_PROMPT_RATE, CAUSE_SPECIAL("P/prompt time", formula_prompt_rate_stated),
     stated_time_lost, stated_time_lost, p95_note, false},

    {"P96", SUBJECT_PROMPT_RATE,
     CAUSE_SPECIAL("evaluated/prompt time", formula_prompt_rate_evaluated), stated_floor,
     stated_floor, p96_note, false},
    {"P96", SUBJECT_INPUT_TOKENS, CAUSE_SPECIAL("evaluated", formula_tokens_evaluated),
     stated_floor, stated_floor, p96_note, false},

    {"P97", SUBJECT_THROUGHPUT, CAUSE_SPECIAL("sum(reads)/T", formula_steps_rate), NULL, is_there,
     p97_note, false},

    {"P99", SUBJECT_INPUT_TOKENS, CAUSE_SPECIAL("P+evaluated+K", formula_input_merged),
     stated_twice, stated_twice, p99_note, false},
    {"P99", SUBJECT_INPUT_TOKENS, CAUSE_SPECIAL("P, of all turns", formula_input_of_turns), NULL,
     NULL, "each turn's prompt holds those before it, and all are added up", false},

    {"P100", SUBJECT_PROMPT_RATE, CAUSE_SPECIAL("P/(total-output)", formula_prompt_rate_rest),
     stated_loading_again, NULL, p100_note, false},
    {"P100", SUBJECT_PROMPT_RATE,
     CAUSE_SPECIAL("P/(total-output-load)", formula_prompt_rate_rest_loaded), stated_loading_again,
     NULL, p100_note, false},
    {"P100", SUBJECT_TTFT, CAUSE_SPECIAL("o_1-t0-load", formula_ttft_unloaded),
     stated_loading_again, stated_loading_again, p100_note, false},
    {"P100", SUBJECT_LATENCY, CAUSE_SPECIAL("o_M-t0-load", formula_latency_unloaded),
     stated_loading_again, stated_loading_again, p100_note, false},

    {"P101", SUBJECT_OUTPUT_TOKENS, CAUSE_COUNT("max_tokens", COUNT_ASKED), over_the_limit,
     over_the_limit, p101_note, false},
};

CAUSE_ROWS(causes_stated, rows);
