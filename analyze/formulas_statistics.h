/* One figure of many, as it comes out when totals are divided where means were meant, when requests
 * without a value are given zeros, when windows and counts do not match. */
#ifndef ANALYZE_FORMULAS_STATISTICS_H
#define ANALYZE_FORMULAS_STATISTICS_H

#include "analyze/formulas.h"

extern formula_fn
    /* weights */
    formula_mean_of_whole_rates,
    formula_median_of_rates, formula_median_of_whole_rates, formula_prompt_ratio,
    formula_prompt_ratio_uncached, formula_tpot_of_sums, formula_gap_of_requests,
    formula_gap_of_sums,
    /* zeros of requests that have no value */
    formula_tpot_zeros, formula_rate_zeros, formula_gap_zeros, formula_ttft_zeros,
    formula_ttft_zeros_200, formula_ttft_zeros_text, formula_ttft_zeros_text_200,
    /* counts of one window over another */
    formula_rate_so_far, formula_whole_rate_so_far, formula_total_by_last,
    formula_request_rate_of_ends, formula_output_tps_of_ends,
    /* the largest, where a claim is of a quantile that so few values do not carry */
    formula_most_ttft, formula_most_latency, formula_most_tpot, formula_most_rate,
    formula_most_whole_rate, formula_most_gap;

#endif
