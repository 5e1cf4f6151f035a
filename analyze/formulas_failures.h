/* Figures of runs in which requests failed, as they come out when failures are taken for answers,
 * are left out, or are tried again unsaid. None gives anything where nothing of the sort is in the
 * scope, so each estimate has its sign; none is about a single request. */
#ifndef ANALYZE_FORMULAS_FAILURES_H
#define ANALYZE_FORMULAS_FAILURES_H

#include "analyze/formulas.h"

/* What a figure is of, which requests are taken for answered besides those that were, and which of
 * them are the sign. */
#define FAILURES_EACH(X, name, taken, sign)                                                        \
    X(requests, name, taken, sign)                                                                 \
    X(request_rate, name, taken, sign)                                                             \
    X(failed, name, taken, sign)                                                                   \
    X(latency, name, taken, sign)
#define FAILURES(X)                                                                                \
    FAILURES_EACH(X, error_events, is_error_event, is_error_event) /* an error inside a 200 */     \
    FAILURES_EACH(X, status_200, has_status_200, is_error_event)                                   \
    FAILURES_EACH(X, http_errors, is_http_error, is_http_error)                                    \
    FAILURES_EACH(X, all, is_any, is_refused)                                                      \
    FAILURES_EACH(X, broken, is_broken, is_broken) /* cut short behind some text */                \
    FAILURES_EACH(X, with_text, has_text, is_broken)                                               \
    X(requests, attempts, is_any, is_retried)                                                      \
    X(request_rate, attempts, is_any, is_retried)                                                  \
    X(latency, attempts, is_any, is_retried)                                                       \
    X(request_rate, empty, is_empty, is_empty) /* 200, and no text, no error, no finish */         \
    X(failed, lost, is_lost, is_lost)          /* no whole reply came */                           \
    X(failed, silent, is_any, is_lost)

#define FAILURES_DECLARE(figure, name, taken, sign) extern formula_fn formula_##figure##_##name;
FAILURES(FAILURES_DECLARE)
#undef FAILURES_DECLARE

extern formula_fn formula_requests_reported, /* A without those that were lost */
    formula_output_tokens_broken,            /* of those that were cut short, too */
    formula_output_tokens_with_text,         /* … and of all others that had text */
    formula_output_tps_arrived,              /* with the text of those that did not finish */
    formula_output_tps_answered,             /* sum(N) up to the end of the last answer */
    formula_request_rate_answered,           /* S up to the end of the last answer */
    formula_duration_answered,               /* from the first request to that */
    formula_concurrency_answered,            /* sum(end-t0) of answers over T */
    formula_ttft_of_chain,                   /* from the first attempt on */
    formula_latency_of_chain;

#endif
