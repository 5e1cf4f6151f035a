/* The kinds of findings: one table that findings, `tokaudit help findings` and causes read. */
#ifndef ANALYZE_FINDING_KINDS_H
#define ANALYZE_FINDING_KINDS_H

#include <stdio.h>

#include "analyze/model.h"

enum finding_id {
    /* the recording */
    FINDING_TRACE_TRUNCATED,
    FINDING_TRACE_UNCLOSED,
    FINDING_TRACE_SOURCE_DAMAGED,
    FINDING_TRACE_DAMAGED,
    FINDING_TRACE_PART,
    FINDING_TRACE_CLOCK_STEP,
    FINDING_TRACE_UNREAD_LINK,
    FINDING_TRACE_TIMELESS,
    FINDING_TRACE_TWINS,
    FINDING_TRACE_FRAGMENTS,
    FINDING_TRACE_TLS,
    FINDING_TRACE_HTTP2,
    FINDING_CAPTURE_DROPS,
    FINDING_CAPTURE_GAPS,
    FINDING_CAPTURE_SNAPPED,
    /* requests */
    FINDING_REQUESTS_API_GUESSED,
    FINDING_REQUESTS_OPEN,
    FINDING_REQUESTS_UNREADABLE,
    FINDING_REQUESTS_FAILED,
    FINDING_REQUESTS_ERROR_IN_SUCCESS,
    FINDING_REQUESTS_EMPTY,
    FINDING_REQUESTS_CUT_SHORT,
    FINDING_REQUESTS_RETRIED,
    FINDING_REQUESTS_TIMEOUTS,
    FINDING_REQUESTS_BUDGET_ONE,
    FINDING_REQUESTS_EARLY_STOP,
    FINDING_TEXT_DEGENERATE,
    /* streams */
    FINDING_STREAM_COLLECTED,
    FINDING_STREAM_HEADER_SILENCE,
    FINDING_STREAM_NOT_STREAMED,
    FINDING_STREAM_CLUMPED,
    FINDING_STREAM_FIXED_BURSTS,
    FINDING_STREAM_COALESCED,
    FINDING_STREAM_STEPS,
    FINDING_STREAM_BATCHED_PIECE,
    FINDING_STREAM_TOKENS_PER_EVENT,
    FINDING_STREAM_LONG_LINE,
    /* what the server states */
    FINDING_USAGE_BELOW_EVENTS,
    FINDING_USAGE_TEXT_TOO_LONG,
    FINDING_USAGE_TEXT_TOO_SHORT,
    FINDING_USAGE_RECOUNT,
    FINDING_USAGE_ABOVE_LIMIT,
    FINDING_USAGE_DECREASING,
    FINDING_USAGE_MEDIA,
    FINDING_USAGE_MISSING,
    FINDING_USAGE_PROMPT_VARIES,
    FINDING_TIMINGS_TOO_LONG,
    FINDING_TIMINGS_HIDE_WAIT,
    FINDING_TIMINGS_GAP,
    FINDING_TIMINGS_RATE_DIFFERS,
    FINDING_TIMINGS_CONTRADICTION,
    FINDING_TIMINGS_NOTHING_EVALUATED,
    FINDING_SERVER_ABOVE_BANDWIDTH,
    /* the server */
    FINDING_SERVER_SERIAL_QUEUE,
    FINDING_SERVER_CYCLIC_STALLS,
    FINDING_SERVER_SUPERLINEAR_PREFILL,
    FINDING_SERVER_PREFILL_STALLS,
    FINDING_SERVER_JOINT_STALLS,
    FINDING_SERVER_CACHE_REUSE,
    FINDING_SERVER_DEGRADES,
    FINDING_SERVER_BATCHING,
    FINDING_SERVER_COLD_START,
    FINDING_SERVER_CONTEXT_LIMIT,
    FINDING_SERVER_RATE_BY_TEXT,
    /* the load */
    FINDING_LOAD_LATE,
    FINDING_LOAD_CONCURRENCY,
    FINDING_LOAD_BUSY_BEFORE,
    FINDING_LOAD_CAP,
    FINDING_LOAD_RAMP,
    FINDING_LOAD_START_BURST,
    FINDING_LOAD_REPEATED_PROMPTS,
    FINDING_LOAD_DILUTED_WAIT,
    /* the client, and the way between */
    FINDING_CLIENT_ZERO_WINDOW,
    FINDING_CLIENT_SLOW_READER,
    FINDING_CLIENT_LATE_ACK,
    FINDING_CLIENT_CONNECTIONS,
    FINDING_NETWORK_SLOW_CONNECT,
    FINDING_NETWORK_RETRANSMISSIONS,
    FINDING_NETWORK_RESETS,
    /* result files */
    FINDING_CLAIMS_ROWS,
    FINDING_CLAIMS_UNJOINED,
    FINDING_CLAIMS_CONTRADICTION,
    FINDING_CLAIMS_IMPOSSIBLE,
    FINDING_CLAIMS_FEW_VALUES,
    FINDING_CLAIMS_TWO_FORMULAS,
    FINDING_KINDS
};

struct finding_kind {
    const char *id; /* "server.cache-reuse": of every report, and never changed */
    enum severity severity;
    const char *title;
    const char *meaning; /* what it is and which figures it touches, in whole sentences */
    const char *options; /* that set its thresholds, without dashes, blanks between; NULL: none */
    const char *causes;  /* ids of the catalogue that it is the sign of: "P43 P44"; NULL: none */
};

extern const struct finding_kind finding_kinds[FINDING_KINDS];

/* NULL: there is none of that id. */
const struct finding_kind *finding_kind_named(const char *id);

/* The first kind behind `after` (NULL: of all) that is the sign of the cause "P43", or NULL. */
const struct finding_kind *finding_kind_of_cause(const char *cause,
                                                 const struct finding_kind *after);

/* `tokaudit help findings`. */
void finding_kinds_print(FILE *to);

#endif
