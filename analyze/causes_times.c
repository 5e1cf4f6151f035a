/* From when to when: the catalogue's P24 to P42. */
#include "analyze/causes_row.h"
#include "analyze/metrics.h"
#include "traces/base/clock.h"

#define LATE_SHARE 0.25  /* of a request, before its first text */
#define WAIT_GAPS 5.0    /* mean gaps, from which a wait is none */
#define PHASE_SHARE 0.2  /* of a request, for a phase to be seen in it */
#define HIDDEN_S 0.1     /* of the wait, beside the server's own time for the prompt … */
#define HIDDEN_SHARE 0.2 /* … and of that time */
#define LOAD_SHARE 0.05  /* of the server's time, spent in loading the model */

/* --- what of a mistake is seen ------------------------------------------------------------ */

static bool sign_role(const struct scope *s, const struct request *r)
{
    return cause_apart(s, r->role_ns, formula_when(r, AT_O1));
}

/* The wait behind it is no gap between two tokens. Where the role came at once, who begins with the
 * request has the same, and that is P29 and P32. */
static bool sign_role_and_wait(const struct scope *s, const struct request *r)
{
    size_t m = r->out.n;
    int64_t o1 = formula_when(r, AT_O1), om = formula_when(r, AT_OM);
    return sign_role(s, r) && cause_apart(s, r->t0, r->role_ns) && m > 1 &&
           (double)(o1 - r->role_ns) > WAIT_GAPS * (double)(om - o1) / (double)(m - 1);
}

static bool sign_early_event(const struct scope *s, const struct request *r)
{
    return r->c1 != r->role_ns && cause_apart(s, r->c1, formula_when(r, AT_O1));
}

static bool sign_keepalive(const struct scope *s, const struct request *r)
{
    return cause_apart(s, r->keepalive_ns, formula_when(r, AT_O1));
}

static bool sign_reasoning_first(const struct scope *s, const struct request *r)
{
    return r->reasoning_bytes > 0 && cause_apart(s, formula_when(r, AT_O1), r->answer_ns);
}

/* A count of the answer alone, over the time of the answer alone, is no mistake. */
static bool sign_reasoning_skipped(const struct scope *s, const struct request *r)
{
    return sign_reasoning_first(s, r) && metrics_uncounted(r) >= 0;
}

static bool sign_late_text(const struct scope *s, const struct request *r)
{
    (void)s;
    int64_t o1 = formula_when(r, AT_O1), om = formula_when(r, AT_OM);
    return o1 >= 0 && (double)(o1 - r->t0) >= LATE_SHARE * (double)(om - r->t0);
}

/* Thinking that is counted and was not sent: all that is seen is what came after it; and where it
 * is not stated as such, more tokens than were sent, and a wait that they may be from. */
static bool sign_thinking_unsent(const struct scope *s, const struct request *r)
{
    return metrics_unsent(r) > 0 || r->hidden || (metrics_textless(r) && sign_late_text(s, r));
}

/* The head stands apart from the request too: who begins there has another time than who begins
 * with the request. */
static bool sign_head_between(const struct scope *s, const struct request *r)
{
    return cause_early_head(s, r) && cause_apart(s, r->t0, r->h);
}

static bool sign_tail(const struct scope *s, const struct request *r)
{
    return (r->usage_events > 0 || r->done_ns >= 0) && cause_apart(s, formula_when(r, AT_OM), r->z);
}

/* How much of the request the text was spread over. */
static double spread_of(const struct request *r)
{
    int64_t o1 = formula_when(r, AT_O1), om = formula_when(r, AT_OM);
    return o1 >= 0 && om > r->t0 ? (double)(om - o1) / (double)(om - r->t0) : 0;
}

static bool sign_spread(const struct scope *s, const struct request *r)
{
    (void)s;
    return r->stream_reply && spread_of(r) >= PHASE_SHARE;
}

static bool sign_two_phases(const struct scope *s, const struct request *r)
{
    return sign_spread(s, r) && spread_of(r) <= 1 - PHASE_SHARE;
}

/* Of one request its own time is P29. */
static bool sign_run_of_phases(const struct scope *s, const struct request *r)
{
    return !s->one && sign_two_phases(s, r);
}

static bool sign_wait_hidden(const struct scope *s, const struct request *r)
{
    (void)s;
    double stated = r->timings.prompt_ms / 1000;
    double wait = (double)(formula_when(r, AT_O1) - r->t0) / NS_PER_S;
    return r->out.n > 0 && wait - stated > HIDDEN_S && wait - stated > HIDDEN_SHARE * stated;
}

static bool sign_connecting(const struct scope *s, const struct request *r)
{
    return cause_apart(s, r->syn_ns, r->t0);
}

static bool sign_document(const struct scope *s, const struct request *r)
{
    (void)s;
    return !r->stream_reply && request_tokens(r) > 1;
}

static bool sign_loading(const struct scope *s, const struct request *r)
{
    (void)s;
    return r->timings.load_ms > LOAD_SHARE * r->timings.total_ms;
}

/* --- the rows ----------------------------------------------------------------------------- */

static const char p24_note[] = "an event with a role and no text came first";
static const char p25_note[] = "the first bytes came before the first text";
static const char p26_note[] = "reasoning came before the answer";
static const char p26_unsent_note[] =
    "tokens are counted that no text was sent of, as of thinking before it";
static const char p28_note[] = "the client did not read as fast as the bytes came (zero window)";
static const char p29_note[] = "the wait for the first text is charged to decoding";
static const char p30_note[] = "the head came well before the text";
static const char p31_note[] = "something without text came after the last text";
static const char p32_note[] = "the wait for the first text is much longer than the gaps";
static const char p35_note[] = "the clock was set while the request ran";
static const char p36_note[] = "the connection was made for this request";
static const char p37_note[] = "the text was spread over the request";
static const char p40_note[] = "prefill and decoding both take a good part of the request";
static const char p42_note[] = "the warm-up took longer than the requests behind it";

static const struct cause_row rows[] = {
    {"P24", SUBJECT_TTFT, CAUSE_TIME("role-t0", AT_T0, AT_ROLE), sign_role, sign_role, p24_note,
     false},
    {"P24", SUBJECT_PER_TOKEN | SUBJECT_GAP, CAUSE_SPECIAL("o_1-role", formula_gap_after_role),
     sign_role_and_wait, sign_role_and_wait, p24_note, true},
    {"P24", SUBJECTS_DECODING, CAUSE_RATE("N/(o_M-role)", COUNT_N, AT_ROLE, AT_OM),
     sign_role_and_wait, sign_role_and_wait, p24_note, false},
    {"P24", SUBJECTS_DECODING, CAUSE_RATE("(N-1)/(o_M-role)", COUNT_N_LESS_1, AT_ROLE, AT_OM),
     sign_role_and_wait, sign_role_and_wait, p24_note, false},
    {"P24", SUBJECTS_DECODING, CAUSE_RATE("N/(z-role)", COUNT_N, AT_ROLE, AT_Z), sign_role_and_wait,
     sign_role_and_wait, p24_note, false},
    {"P25", SUBJECT_TTFT, CAUSE_TIME("c_1-t0", AT_T0, AT_C1), sign_early_event, sign_early_event,
     p25_note, false},
    {"P25", SUBJECT_TTFT, CAUSE_TIME("h-t0", AT_T0, AT_H), cause_early_head, cause_early_head,
     p25_note, false},
    {"P25", SUBJECT_TTFT, CAUSE_TIME("h-t0_end", AT_T0_END, AT_H), cause_early_head,
     cause_early_head, p25_note, false},
    {"P25", SUBJECT_TTFT, CAUSE_TIME("head-t0", AT_T0, AT_HEAD), cause_early_head, cause_early_head,
     p25_note, false},
    {"P25", SUBJECT_TTFT, CAUSE_TIME("keep-alive-t0", AT_T0, AT_KEEPALIVE), sign_keepalive,
     sign_keepalive, "a comment or a ping came before the first text", false},
    {"P25", SUBJECTS_DECODING, CAUSE_RATE("(N-1)/(o_M-c_1)", COUNT_N_LESS_1, AT_C1, AT_OM),
     sign_early_event, sign_early_event, p25_note, false},
    {"P26", SUBJECT_TTFT, CAUSE_TIME("answer-t0", AT_T0, AT_ANSWER), sign_reasoning_first,
     sign_reasoning_first, p26_note, false},
    {"P26", SUBJECT_TTFT, CAUSE_TIME("content-t0", AT_T0, AT_CONTENT), sign_reasoning_first,
     sign_reasoning_first, p26_note, false},
    {"P26", SUBJECTS_DECODING, CAUSE_RATE("N/(o_M-answer)", COUNT_N, AT_ANSWER, AT_OM),
     sign_reasoning_skipped, sign_reasoning_skipped, p26_note, false},
    {"P26", SUBJECTS_DECODING, CAUSE_RATE("(N-1)/(o_M-answer)", COUNT_N_LESS_1, AT_ANSWER, AT_OM),
     sign_reasoning_skipped, sign_reasoning_skipped, p26_note, false},
    {"P26", SUBJECTS_DECODING, CAUSE_RATE("N/(z-answer)", COUNT_N, AT_ANSWER, AT_Z),
     sign_reasoning_skipped, sign_reasoning_skipped, p26_note, false},
    {"P26", SUBJECTS_DECODING, CAUSE_RATE("N/(o_M-o_1)", COUNT_N, AT_O1, AT_OM),
     sign_thinking_unsent, sign_thinking_unsent, p26_unsent_note, false},
    {"P26", SUBJECTS_DECODING, CAUSE_RATE("(N-1)/(o_M-o_1)", COUNT_N_LESS_1, AT_O1, AT_OM),
     sign_thinking_unsent, sign_thinking_unsent, p26_unsent_note, false},
    {"P26", SUBJECTS_DECODING, CAUSE_RATE("N/(z-o_1)", COUNT_N, AT_O1, AT_Z), sign_thinking_unsent,
     sign_thinking_unsent, p26_unsent_note, false},
    {"P28", SUBJECT_TTFT, CAUSE_SPECIAL("o_1-t0, read late", formula_late_first), NULL, NULL,
     p28_note, false},
    {"P28", SUBJECT_LATENCY, CAUSE_SPECIAL("o_M-t0, read late", formula_late_last), NULL, NULL,
     p28_note, false},
    {"P28", SUBJECT_PER_TOKEN | SUBJECT_GAP,
     CAUSE_SPECIAL("the longest gap, read late", formula_late_gap), NULL, NULL, p28_note, true},
    {"P29", SUBJECTS_DECODING, CAUSE_RATE("N/(o_M-t0)", COUNT_N, AT_T0, AT_OM), NULL,
     sign_late_text, p29_note, false},
    {"P29", SUBJECTS_DECODING, CAUSE_RATE("N/(z-t0)", COUNT_N, AT_T0, AT_Z), NULL, sign_late_text,
     p29_note, false},
    {"P30", SUBJECTS_DECODING, CAUSE_RATE("N/(z-h)", COUNT_N, AT_H, AT_Z), cause_early_head,
     sign_head_between, p30_note, false},
    {"P30", SUBJECTS_DECODING, CAUSE_RATE("N/(o_M-h)", COUNT_N, AT_H, AT_OM), cause_early_head,
     sign_head_between, p30_note, false},
    {"P31", SUBJECTS_DECODING, CAUSE_RATE("(N-1)/(z-o_1)", COUNT_N_LESS_1, AT_O1, AT_Z), sign_tail,
     sign_tail, p31_note, false},
    {"P31", SUBJECTS_DECODING, CAUSE_RATE("N/(z-o_1)", COUNT_N, AT_O1, AT_Z), sign_tail, sign_tail,
     p31_note, false},
    {"P31", SUBJECTS_DECODING, CAUSE_RATE("(N-1)/(done-o_1)", COUNT_N_LESS_1, AT_O1, AT_DONE),
     sign_tail, sign_tail, p31_note, false},
    {"P31", SUBJECT_WHOLE, CAUSE_RATE("N/(z-t0)", COUNT_N, AT_T0, AT_Z), sign_tail, sign_tail,
     p31_note, false},
    {"P31", SUBJECT_LATENCY, CAUSE_TIME("z-t0", AT_T0, AT_Z), sign_tail, sign_tail, p31_note,
     false},
    {"P31", SUBJECT_LATENCY, CAUSE_TIME("done-t0", AT_T0, AT_DONE), sign_tail, sign_tail, p31_note,
     false},
    {"P32", SUBJECT_PER_TOKEN | SUBJECT_GAP, CAUSE_PER("(o_M-t0)/M", COUNT_EVENTS, AT_T0, AT_OM),
     NULL, sign_late_text, p32_note, true},
    {"P32", SUBJECT_PER_TOKEN | SUBJECT_GAP, CAUSE_PER("(o_M-t0)/N", COUNT_N, AT_T0, AT_OM), NULL,
     sign_late_text, p32_note, true},
    {"P32", SUBJECT_PER_TOKEN | SUBJECT_GAP,
     CAUSE_SPECIAL("o_1-t0 among the gaps", formula_gaps_and_wait), NULL, sign_late_text, p32_note,
     true},
    {"P33", SUBJECT_TTFT, CAUSE_SPECIAL("prompt_ms", formula_stated_wait), sign_wait_hidden,
     sign_wait_hidden, "the server's own time for the prompt is much shorter than the wait", false},
    {"P35", SUBJECT_TTFT, CAUSE_SPECIAL("o_1-t0 by the wall's clock", formula_wall_first), NULL,
     NULL, p35_note, false},
    {"P35", SUBJECT_LATENCY, CAUSE_SPECIAL("o_M-t0 by the wall's clock", formula_wall_last), NULL,
     NULL, p35_note, false},
    {"P36", SUBJECT_TTFT, CAUSE_TIME("o_1-SYN", AT_SYN, AT_O1), sign_connecting, sign_connecting,
     p36_note, false},
    {"P36", SUBJECT_LATENCY, CAUSE_TIME("o_M-SYN", AT_SYN, AT_OM), sign_connecting, sign_connecting,
     p36_note, false},
    {"P36", SUBJECT_LATENCY, CAUSE_TIME("z-SYN", AT_SYN, AT_Z), sign_connecting, sign_connecting,
     p36_note, false},
    {"P37", SUBJECT_TTFT, CAUSE_TIME("z-t0", AT_T0, AT_Z), NULL, sign_spread, p37_note, false},
    {"P37", SUBJECT_TTFT, CAUSE_TIME("o_M-t0", AT_T0, AT_OM), NULL, sign_spread, p37_note, false},
    {"P38", SUBJECT_TTFT, CAUSE_SPECIAL("o_1 of the request behind it-t0", formula_upstream_first),
     NULL, NULL, "a gateway had the text before it passed it on", false},
    {"P39", SUBJECT_PROMPT_RATE, CAUSE_RATE("P/(z-t0)", COUNT_P, AT_T0, AT_Z), sign_document,
     sign_document, "the reply was one document: its generation is in that time", false},
    {"P40", SUBJECT_PROMPT_RATE, CAUSE_RATE("P/(o_M-t0)", COUNT_P, AT_T0, AT_OM), sign_spread,
     sign_two_phases, p40_note, false},
    {"P40", SUBJECT_PROMPT_RATE, CAUSE_RATE("P/(z-t0)", COUNT_P, AT_T0, AT_Z), sign_spread,
     sign_two_phases, p40_note, false},
    {"P40", SUBJECT_PROMPT_RATE, CAUSE_RUN_RATE("sum(P)/T", COUNT_P, AT_T0, AT_END), sign_spread,
     sign_two_phases, p40_note, false},
    {"P40", SUBJECTS_DECODING, CAUSE_RUN_RATE("sum(N)/T", COUNT_N, AT_T0, AT_END),
     sign_run_of_phases, sign_run_of_phases, p40_note, false},
    {"P41", SUBJECTS_DECODING,
     CAUSE_SPECIAL("(N-1)/(time less that of one token)", formula_subtracted), NULL, NULL,
     "the prompt was sent for one token first, and something else ran beside the whole", false},
    {"P42", SUBJECT_TTFT, CAUSE_SPECIAL("o_1-t0, warm-up included", formula_warmup_first), NULL,
     NULL, p42_note, false},
    {"P42", SUBJECT_LATENCY, CAUSE_SPECIAL("o_M-t0, warm-up included", formula_warmup_last), NULL,
     NULL, p42_note, false},
    {"P42", SUBJECTS_DECODING, CAUSE_SPECIAL("N/total_duration", formula_stated_total_rate),
     sign_loading, sign_loading, "the server loaded its model first", false},
};

CAUSE_ROWS(causes_times, rows);
