/* Figures made of what the server itself states: its clock, its counts, the limits it was given. */
#ifndef ANALYZE_FORMULAS_STATED_H
#define ANALYZE_FORMULAS_STATED_H

#include "analyze/formulas.h"

extern formula_fn formula_prompt_rate_stated, /* P over the server's prompt time */
    formula_prompt_rate_evaluated,            /* what it evaluated of the prompt, over that time */
    formula_tokens_evaluated, formula_steps_rate, formula_input_merged, formula_input_of_turns,
    formula_prompt_rate_rest, formula_prompt_rate_rest_loaded, formula_ttft_unloaded,
    formula_latency_unloaded;

extern sign_fn stated_time_lost, /* its parts leave out much of its own total */
    stated_floor,                /* one token evaluated, of a long prompt that it had already */
    stated_loading_again,        /* time to load a model that had answered before */
    stated_twice,                /* the prompt is counted in the usage and in the timings */
    over_the_limit;              /* more tokens than the request allowed */

#endif
