/* How many tokens there were: the catalogue's P01 to P23. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/causes_row.h"
#include "analyze/metrics.h"
#include "analyze/stat.h"
#include "traces/base/mem.h"

#define FAR 0.02       /* of a count, from which two ways to count differ for sure … */
#define FAR_TOKENS 2   /* … beyond marks of beginning and end, that a server may count too */
#define UNITS_MIN 2    /* characters, units or bytes a token, of any text … */
#define UNITS_MAX 6    /* … and tokenizer */
#define SMALL_MEDIA 64 /* prompt tokens that no picture has */
#define HELD_EVENTS 16 /* so many make a pace */
#define HELD_MIN 4     /* tokens without an event */
#define HELD_MOST 2.0  /* tokens an event; more were sent together on purpose */
#define HELD_NEAR 0.25 /* of the pace, off a multiple of it */
#define HELD_SHARE 0.8 /* of the gaps are multiples of it */

/* --- what of a mistake is seen ------------------------------------------------------------ */

static bool differ(double a, double b)
{
    return fabs(a - b) > FAR * b + FAR_TOKENS;
}

static bool unstated(const struct scope *s, const struct request *r)
{
    (void)s;
    return request_tokens(r) < 0 && r->stated_times == 0;
}

static bool prompt_unstated(const struct scope *s, const struct request *r)
{
    (void)s;
    return r->usage.prompt < 0;
}

static bool packed_or_unstated(const struct scope *s, const struct request *r)
{
    return cause_packed(s, r) || unstated(s, r);
}

/* As good as all its tokens are there too, and a few events more may be marks of it. */
static bool events_differ(const struct request *r, enum count events)
{
    double n = formula_count(r, COUNT_N);
    return isnan(n) || differ(formula_count(r, events), n);
}

static bool sign_and_one(const struct scope *s, const struct request *r)
{
    (void)s;
    return events_differ(r, COUNT_EVENTS_AND_ONE);
}

static bool sign_choices(const struct scope *s, const struct request *r)
{
    (void)s;
    return events_differ(r, COUNT_EVENTS_CHOICES);
}

static bool sign_data(const struct scope *s, const struct request *r)
{
    (void)s;
    return events_differ(r, COUNT_EVENTS_DATA);
}

static bool sign_all_events(const struct scope *s, const struct request *r)
{
    (void)s;
    return events_differ(r, COUNT_EVENTS_ALL);
}

static bool sign_pieces(const struct scope *s, const struct request *r)
{
    (void)s;
    return r->apart != NULL && r->recounted > 0 &&
           differ((double)r->apart->pieces, (double)r->recounted);
}

static bool sign_marks(const struct scope *s, const struct request *r)
{
    (void)s;
    return r->apart != NULL && r->recounted > 0 && r->apart->around > 0;
}

/* More than the request allowed: no server counts that. */
static bool beyond_limit(const struct scope *s, const struct request *r)
{
    (void)s;
    int64_t n = request_tokens(r), most = r->asked.max_tokens;
    return n > 0 && most >= n && n + (int64_t)r->out.n > most;
}

static bool recounted(const struct scope *s, const struct request *r)
{
    (void)s;
    return r->recounted > 0;
}

static bool sign_other_text(const struct scope *s, const struct request *r)
{
    (void)s;
    double n = formula_count(r, COUNT_N);
    return r->recounted > 0 && differ((double)r->recounted, n);
}

static bool sign_prefixed(const struct scope *s, const struct request *r)
{
    (void)s;
    return r->apart != NULL && differ((double)r->apart->prefixed, (double)r->apart->pieces);
}

/* Of all text there is, no tokenizer makes fewer or more tokens. */
static bool text_of_units(const struct request *r, enum count units)
{
    double n = formula_count(r, COUNT_N), per_token = formula_count(r, units) / n;
    return isnan(n) || (per_token >= UNITS_MIN && per_token <= UNITS_MAX);
}

static bool text_of_chars(const struct scope *s, const struct request *r)
{
    (void)s;
    return text_of_units(r, COUNT_CHARS);
}

static bool text_of_utf16(const struct scope *s, const struct request *r)
{
    (void)s;
    return text_of_units(r, COUNT_UTF16);
}

static bool text_of_bytes(const struct scope *s, const struct request *r)
{
    (void)s;
    return text_of_units(r, COUNT_BYTES);
}

static bool has_reasoning(const struct scope *s, const struct request *r)
{
    (void)s;
    return r->reasoning_bytes > 0;
}

static bool states_reasoning(const struct scope *s, const struct request *r)
{
    (void)s;
    return r->usage.reasoning > 0;
}

/* N holds the reasoning: as few as it are there, and no fewer than events had text. */
static bool reasoning_inside(const struct scope *s, const struct request *r)
{
    double n = formula_count(r, COUNT_N), both = formula_count(r, COUNT_N_AND_R);
    if (!states_reasoning(s, r) || (double)r->usage.reasoning > n || metrics_beside(r) > 0)
        return false;
    if (r->recounted >= 0)
        return fabs((double)r->recounted - n) < fabs((double)r->recounted - both);
    return (double)r->out.n <= n + FAR_TOKENS;
}

/* The server's own count is that of the answer alone. */
static bool reasoning_outside(const struct scope *s, const struct request *r)
{
    (void)s;
    return metrics_uncounted(r) != 0;
}

static bool sign_reasoning_inside(const struct scope *s, const struct request *r)
{
    return reasoning_inside(s, r) && has_reasoning(s, r);
}

static bool has_tools(const struct scope *s, const struct request *r)
{
    (void)s;
    return r->tool_bytes > 0;
}

/* What came before the content was a call of a tool. */
static bool sign_tools_first(const struct scope *s, const struct request *r)
{
    return r->tool_bytes > 0 && r->reasoning_bytes == 0 &&
           cause_apart(s, formula_when(r, AT_O1), r->content_ns);
}

static bool asked_for_more(const struct scope *s, const struct request *r)
{
    int64_t n = request_tokens(r);
    bool full = r->finish != NULL && strcmp(r->finish, "length") == 0;
    return unstated(s, r) ? !full : r->asked.max_tokens > n;
}

static bool sign_stated_often(const struct scope *s, const struct request *r)
{
    (void)s;
    return r->stated_times > 1 && r->stated_sum > request_tokens(r);
}

static bool sign_prompt_stated_often(const struct scope *s, const struct request *r)
{
    (void)s;
    return r->usage.prompt > 0 && r->prompt_sum > r->usage.prompt;
}

static bool sign_stated_apart(const struct scope *s, const struct request *r)
{
    (void)s;
    return r->stated_last >= 0;
}

static bool sign_several(const struct scope *s, const struct request *r)
{
    (void)s;
    return r->asked.choices > 1 || r->choices_seen > 1;
}

static bool sign_first_packed(const struct scope *s, const struct request *r)
{
    (void)s;
    return r->n1 > 1;
}

/* One token more or less shows. */
static bool few_tokens(const struct scope *s, const struct request *r)
{
    double n = formula_count(r, COUNT_N);
    return n >= 2 && 1 / n > s->o->tolerance;
}

/* Tokens that the gaps between events have room for, at the pace of most of them: those that are
 * longer by a whole number of steps. -1: there is no such pace. */
static double tokens_held(const struct request *r)
{
    size_t n = r->out.n - 1, regular = 0;
    double held = 0, *gaps = mem_array(n, sizeof *gaps);
    for (size_t i = 0; i < n; i++)
        gaps[i] = (double)(r->out.v[i + 1].t_ns - r->out.v[i].t_ns);
    stat_sort(gaps, n);
    double pace = stat_quantile(gaps, n, 0.5);
    for (size_t i = 0; i < n && pace > 0; i++) {
        double steps = round(gaps[i] / pace);
        if (steps < 1 || fabs(gaps[i] / pace - steps) > HELD_NEAR)
            continue;
        held += steps - 1;
        regular++;
    }
    free(gaps);
    return (double)regular >= HELD_SHARE * (double)n ? held : -1;
}

/* The tokens without an event are where the gaps are long. */
static bool sign_held_back(const struct scope *s, const struct request *r)
{
    (void)s;
    double m = (double)r->out.n, missing = formula_count(r, COUNT_N) - m;
    if (r->out.n < HELD_EVENTS || !(missing >= HELD_MIN && missing > FAR * m) ||
        missing > (HELD_MOST - 1) * m)
        return false;
    double held = tokens_held(r);
    return held > 0 && fabs(held - missing) <= HELD_NEAR * missing;
}

static bool labelled(const struct scope *s, const struct request *r)
{
    (void)s;
    double p = formula_count(r, COUNT_P);
    return fabs(p - formula_count(r, COUNT_P_LABEL)) > FAR * p;
}

static bool has_media(const struct scope *s, const struct request *r)
{
    (void)s;
    return r->asked.media > 0 && r->timings.prompt_n < SMALL_MEDIA;
}

static bool sign_cached(const struct scope *s, const struct request *r)
{
    (void)s;
    return r->usage.cached > 0;
}

static bool evaluated_less(const struct scope *s, const struct request *r)
{
    (void)s;
    return r->asked.media == 0 && r->timings.prompt_n < (double)r->usage.prompt;
}

/* --- the rows ----------------------------------------------------------------------------- */

/* A count in every place that a count of output tokens can have. */
#define COUNTED_AS(id, text, tokens, applies, sign, note)                                          \
    COUNTED_ROW(id, SUBJECTS_DECODING, CAUSE_RATE(text "/(o_M-o_1)", tokens, AT_O1, AT_OM),        \
                applies, sign, note),                                                              \
        COUNTED_ROW(id, SUBJECTS_DECODING,                                                         \
                    CAUSE_RATE("(" text "-1)/(o_M-o_1)", LESS_ONE(tokens), AT_O1, AT_OM), applies, \
                    sign, note),                                                                   \
        COUNTED_ROW(id, SUBJECTS_DECODING,                                                         \
                    CAUSE_RATE("(" text "-1)/(z-o_1)", LESS_ONE(tokens), AT_O1, AT_Z), applies,    \
                    sign, note),                                                                   \
        COUNTED_ROW(id, SUBJECT_WHOLE, CAUSE_RATE(text "/(o_M-t0)", tokens, AT_T0, AT_OM),         \
                    applies, sign, note),                                                          \
        COUNTED_ROW(id, SUBJECT_OUTPUT_TOKENS, CAUSE_COUNT(text, tokens), applies, sign, note),    \
        COUNTED_ROW(id, SUBJECT_THROUGHPUT,                                                        \
                    CAUSE_RUN_RATE("sum(" text ")/T", tokens, AT_T0, AT_END), applies, sign, note)
#define COUNTED_ROW(id, subjects, formula, applies, sign, note)                                    \
    {                                                                                              \
        id, subjects, formula, applies, sign, note, false                                          \
    }
#define LESS_ONE(tokens) ((enum count)((tokens) | COUNT_LESS_ONE))

/* Events that have no text, counted with those that have. Who divides counts all that he parses, up
 * to the end of it; such events are in every stream, and make a rate suspect by its number alone,
 * where there was another count to go by. */
#define EVENTS_AS(text, events, sign)                                                              \
    COUNTED_ROW("P01", SUBJECT_OUTPUT_TOKENS, CAUSE_COUNT(text, events), NULL, sign, p01_all_note)
#define EVENT_RATES_AS(text, events, sign)                                                         \
    COUNTED_ROW("P01", SUBJECTS_DECODING, CAUSE_RATE(text "/(o_M-o_1)", events, AT_O1, AT_OM),     \
                NULL, sign, p01_all_note),                                                         \
        COUNTED_ROW("P01", SUBJECT_WHOLE, CAUSE_RATE(text "/(z-t0)", events, AT_T0, AT_Z), NULL,   \
                    sign, p01_all_note),                                                           \
        COUNTED_ROW("P01", SUBJECT_THROUGHPUT,                                                     \
                    CAUSE_RUN_RATE("sum(" text ")/T", events, AT_T0, AT_END), NULL, sign,          \
                    p01_all_note)

/* Where a count was stated, a count or the rate of all the request shows that it was not taken:
 * rates of decoding are too near to others. */
#define GUESSED_AS(text, tokens)                                                                   \
    COUNTED_ROW("P07", SUBJECTS_DECODING, CAUSE_RATE(text "/(o_M-o_1)", tokens, AT_O1, AT_OM),     \
                unstated, unstated, p07_note),                                                     \
        COUNTED_ROW("P07", SUBJECTS_DECODING,                                                      \
                    CAUSE_RATE("(" text "-1)/(o_M-o_1)", LESS_ONE(tokens), AT_O1, AT_OM),          \
                    unstated, unstated, p07_note),                                                 \
        COUNTED_ROW("P07", SUBJECT_WHOLE, CAUSE_RATE(text "/(o_M-t0)", tokens, AT_T0, AT_OM),      \
                    NULL, unstated, p07_note),                                                     \
        COUNTED_ROW("P07", SUBJECT_OUTPUT_TOKENS, CAUSE_COUNT(text, tokens), NULL, unstated,       \
                    p07_note),                                                                     \
        COUNTED_ROW("P07", SUBJECT_THROUGHPUT,                                                     \
                    CAUSE_RUN_RATE("sum(" text ")/T", tokens, AT_T0, AT_END), unstated, unstated,  \
                    p07_note)

#define SUBJECTS_OUTPUT                                                                            \
    (SUBJECT_DECODE | SUBJECT_WHOLE | SUBJECT_OUTPUT_TOKENS | SUBJECT_THROUGHPUT)

static const char p01_note[] = "an event held more than one token";
static const char p01_all_note[] =
    "events without text were there, as of a role, a finish or a count of tokens";
static const char p02_note[] = "the events cut words: piece by piece the text has other tokens";
static const char p03_note[] = "the tokenizer puts special tokens around a text";
static const char p04_note[] = "the text has other tokens than those that were generated";
static const char p07_note[] = "the server stated no token count";
static const char p08_note[] = "part of the text was reasoning";
static const char p08_outside_note[] =
    "part of the text was reasoning, which the server's count leaves out";
static const char p09_note[] = "the server's count holds the reasoning tokens";
static const char p10_note[] = "part of the text was a call of a tool";
static const char p10_alone_note[] = "answers are a call of a tool and have no content";
static const char p11_note[] = "the server generated fewer tokens than were asked for";
static const char p14_note[] = "the count was stated several times, each time for all so far";
static const char p15_note[] = "each event stated the tokens of that event alone";
static const char p16_note[] = "the request asked for several answers";
static const char p17_note[] = "more than one token was there at the first event";
static const char p19_note[] = "the gaps before some events have room for the tokens without one";
static const char p22_note[] = "part of the prompt came from a cache";
static const char p22_unstated_note[] = "the server left the prompt's count out";
static const char p23_note[] = "some replies state no token count";

static const struct cause_row rows[] = {
    COUNTED_AS("P01", "M", COUNT_EVENTS, packed_or_unstated, cause_packed, p01_note),
    {"P01", SUBJECT_WHOLE, CAUSE_RATE("M/(z-t0)", COUNT_EVENTS, AT_T0, AT_Z), packed_or_unstated,
     cause_packed, p01_note, false},
    EVENTS_AS("M+1", COUNT_EVENTS_AND_ONE, sign_and_one),
    EVENTS_AS("events with a role, text or a finish", COUNT_EVENTS_CHOICES, sign_choices),
    EVENTS_AS("all events", COUNT_EVENTS_DATA, sign_data),
    EVENTS_AS("all events and the end mark", COUNT_EVENTS_ALL, sign_all_events),
    EVENT_RATES_AS("(all events)", COUNT_EVENTS_DATA, unstated),
    COUNTED_AS("P02", "sum(T(piece))", COUNT_PIECES, sign_pieces, sign_pieces, p02_note),
    COUNTED_AS("P03", "sum(T(piece)+1)", COUNT_PIECES_MARKED, sign_marks, sign_marks, p03_note),
    {"P03", SUBJECT_OUTPUT_TOKENS, CAUSE_COUNT("T(text)+1", COUNT_TEXT_MARKED), sign_marks,
     sign_marks, p03_note, false},
    {"P03", SUBJECT_OUTPUT_TOKENS, CAUSE_COUNT("N+M", COUNT_N_AND_EVENTS), beyond_limit, NULL, NULL,
     false},
    COUNTED_AS("P04", "T(text)", COUNT_TEXT, recounted, sign_other_text, p04_note),
    COUNTED_AS("P05", "sum(T(\"!\"+piece)-1)", COUNT_PIECES_PREFIXED, sign_prefixed, sign_prefixed,
               NULL),
    COUNTED_AS("P06", "characters", COUNT_CHARS, text_of_chars, NULL, NULL),
    COUNTED_AS("P06", "UTF-16 units", COUNT_UTF16, text_of_utf16, NULL, NULL),
    COUNTED_AS("P06", "bytes", COUNT_BYTES, text_of_bytes, NULL, NULL),
    GUESSED_AS("floor(characters/4)", COUNT_QUARTER),
    GUESSED_AS("ceil(characters/4)", COUNT_QUARTER_UP),
    GUESSED_AS("words", COUNT_WORDS),
    COUNTED_AS("P08", "content events", COUNT_CONTENT_EVENTS, has_reasoning, has_reasoning,
               p08_note),
    COUNTED_AS("P08", "T(content)", COUNT_CONTENT_TEXT, has_reasoning, has_reasoning, p08_note),
    COUNTED_AS("P08", "(N-reasoning)", COUNT_N_LESS_R, states_reasoning, states_reasoning,
               p08_note),
    {"P08", SUBJECTS_DECODING,
     CAUSE_RATE("(N-reasoning)/(o_M-content)", COUNT_N_LESS_R, AT_CONTENT, AT_OM), states_reasoning,
     states_reasoning, p08_note, false},
    {"P08", SUBJECTS_DECODING, CAUSE_RATE("N/(o_M-o_1)", COUNT_N, AT_O1, AT_OM), reasoning_outside,
     reasoning_outside, p08_outside_note, false},
    {"P08", SUBJECTS_DECODING, CAUSE_RATE("(N-1)/(o_M-o_1)", COUNT_N_LESS_1, AT_O1, AT_OM),
     reasoning_outside, reasoning_outside, p08_outside_note, false},
    {"P08", SUBJECTS_OUTPUT, CAUSE_SPECIAL("no content, 0 tokens", formula_no_content),
     has_reasoning, has_reasoning, p08_note, false},
    COUNTED_AS("P09", "(N+reasoning)", COUNT_N_AND_R, reasoning_inside, sign_reasoning_inside,
               p09_note),
    COUNTED_AS("P10", "content events", COUNT_CONTENT_EVENTS, has_tools, has_tools, p10_note),
    COUNTED_AS("P10", "T(content)", COUNT_CONTENT_TEXT, has_tools, has_tools, p10_note),
    {"P10", SUBJECTS_OUTPUT, CAUSE_SPECIAL("no content, 0 tokens", formula_no_content), has_tools,
     has_tools, p10_note, false},
    {"P10", SUBJECT_TTFT, CAUSE_TIME("content-t0", AT_T0, AT_CONTENT), sign_tools_first,
     sign_tools_first, "a call of a tool came before the first content", false},
    {"P10", SUBJECT_TTFT, CAUSE_SPECIAL("content-t0, of those that have any", formula_content_ttft),
     NULL, NULL, p10_alone_note, false},
    {"P10", SUBJECT_TTFT, CAUSE_SPECIAL("content-t0, and 0s", formula_content_ttft_zeros), NULL,
     NULL, p10_alone_note, false},
    {"P10", SUBJECT_TTFT,
     CAUSE_SPECIAL("content-t0, and z-t0 of those without", formula_content_ttft_ends), NULL, NULL,
     p10_alone_note, false},
    {"P10", SUBJECT_WHOLE, CAUSE_SPECIAL("content events/(z-t0), and 0s", formula_content_rate),
     NULL, NULL, p10_alone_note, false},
    COUNTED_AS("P11", "max_tokens", COUNT_ASKED, asked_for_more, NULL, p11_note),
    {"P13", SUBJECTS_DECODING | SUBJECT_WHOLE,
     CAUSE_RATE("(P+N)/(o_M-t0)", COUNT_P_AND_N, AT_T0, AT_OM), NULL, NULL, NULL, false},
    {"P13", SUBJECTS_DECODING | SUBJECT_WHOLE,
     CAUSE_RATE("(P+N)/(z-t0)", COUNT_P_AND_N, AT_T0, AT_Z), NULL, NULL, NULL, false},
    {"P13", SUBJECTS_DECODING, CAUSE_RATE("(P+N)/(o_M-o_1)", COUNT_P_AND_N, AT_O1, AT_OM), NULL,
     NULL, NULL, false},
    {"P13", SUBJECT_OUTPUT_TOKENS, CAUSE_COUNT("P+N", COUNT_P_AND_N), NULL, NULL, NULL, false},
    {"P13", SUBJECT_THROUGHPUT | SUBJECT_PER_TOKEN,
     CAUSE_RUN_RATE("sum(P+N)/T", COUNT_P_AND_N, AT_T0, AT_END), NULL, NULL, NULL, false},
    COUNTED_AS("P14", "sum(stated)", COUNT_STATED_SUM, sign_stated_often, sign_stated_often,
               p14_note),
    {"P14", SUBJECT_INPUT_TOKENS, CAUSE_COUNT("sum(stated)", COUNT_PROMPT_SUM),
     sign_prompt_stated_often, sign_prompt_stated_often, p14_note, false},
    COUNTED_AS("P15", "the last stated", COUNT_STATED_LAST, sign_stated_apart, sign_stated_apart,
               p15_note),
    {"P15", SUBJECT_OUTPUT_TOKENS, CAUSE_SPECIAL("N of the last calls", formula_last_calls), NULL,
     NULL, "answers took several calls, with tools between", false},
    {"P15", SUBJECT_THROUGHPUT, CAUSE_SPECIAL("N of the last calls/T", formula_last_calls_rate),
     NULL, NULL, "answers took several calls, with tools between", false},
    COUNTED_AS("P16", "N*n", COUNT_N_TIMES, sign_several, sign_several, p16_note),
    COUNTED_AS("P16", "N/n", COUNT_N_SHARE, sign_several, sign_several, p16_note),
    COUNTED_AS("P16", "events of the first answer", COUNT_FIRST_CHOICE, sign_several, sign_several,
               p16_note),
    {"P16", SUBJECT_INPUT_TOKENS, CAUSE_COUNT("P*n", COUNT_P_TIMES), sign_several, sign_several,
     p16_note, false},
    {"P16", SUBJECT_REQUESTS | SUBJECT_COMPLETED, CAUSE_SPECIAL("sum(n)", formula_choices), NULL,
     NULL, p16_note, false},
    {"P16", SUBJECT_REQUEST_RATE, CAUSE_SPECIAL("sum(n)/T", formula_choice_rate), NULL, NULL,
     p16_note, false},
    {"P17", SUBJECTS_DECODING, CAUSE_RATE("(N-1)/(o_M-o_1)", COUNT_N_LESS_1, AT_O1, AT_OM),
     sign_first_packed, sign_first_packed, p17_note, false},
    {"P17", SUBJECTS_DECODING, CAUSE_RATE("(N-1)/(z-o_1)", COUNT_N_LESS_1, AT_O1, AT_Z),
     sign_first_packed, sign_first_packed, p17_note, false},
    {"P18", SUBJECTS_DECODING, CAUSE_RATE("N/(o_M-o_1)", COUNT_N, AT_O1, AT_OM), few_tokens, NULL,
     NULL, false},
    {"P18", SUBJECT_WHOLE, CAUSE_RATE("(N-1)/(o_M-t0)", COUNT_N_LESS_1, AT_T0, AT_OM), few_tokens,
     NULL, NULL, false},
    COUNTED_AS("P19", "M", COUNT_EVENTS, sign_held_back, sign_held_back, p19_note),
    {"P20", SUBJECT_INPUT_TOKENS, CAUSE_COUNT("the workload's name", COUNT_P_LABEL), labelled,
     labelled, NULL, false},
    {"P20", SUBJECT_PROMPT_RATE,
     CAUSE_RATE("the workload's name/(o_1-t0)", COUNT_P_LABEL, AT_T0, AT_O1), labelled, labelled,
     NULL, false},
    {"P20", SUBJECT_INPUT_TOKENS, CAUSE_COUNT("P up to a power of two", COUNT_P_POWER), NULL, NULL,
     NULL, false},
    {"P20", SUBJECT_PROMPT_RATE,
     CAUSE_RATE("P up to a power of two/(o_1-t0)", COUNT_P_POWER, AT_T0, AT_O1), NULL, NULL, NULL,
     false},
    {"P20", SUBJECT_INPUT_TOKENS, CAUSE_COUNT("words of the prompt", COUNT_P_WORDS), NULL, NULL,
     NULL, false},
    {"P21", SUBJECT_INPUT_TOKENS, CAUSE_COUNT("prompt_n", COUNT_P_EVALUATED), has_media, has_media,
     "a picture or a sound was in the prompt, and is not in the server's count", false},
    {"P21", SUBJECT_PROMPT_RATE, CAUSE_SPECIAL("prompt_n/prompt_ms", formula_stated_prompt_rate),
     has_media, has_media,
     "a picture or a sound was in the prompt, and is not in the server's count", false},
    {"P22", SUBJECT_INPUT_TOKENS, CAUSE_COUNT("P-K", COUNT_P_UNCACHED), sign_cached, sign_cached,
     p22_note, false},
    {"P22", SUBJECT_INPUT_TOKENS, CAUSE_COUNT("prompt_n", COUNT_P_EVALUATED), evaluated_less,
     sign_cached, p22_note, false},
    {"P22", SUBJECT_INPUT_TOKENS, CAUSE_SPECIAL("no count, 0 tokens", formula_nothing_counted),
     prompt_unstated, prompt_unstated, p22_unstated_note, false},
    {"P22", SUBJECT_INPUT_TOKENS,
     CAUSE_SPECIAL("P, and 0 where none is stated", formula_input_zeros), NULL, NULL,
     p22_unstated_note, false},
    {"P23", SUBJECT_OUTPUT_TOKENS,
     CAUSE_SPECIAL("N, and 0 where none is stated", formula_output_zeros), NULL, NULL, p23_note,
     false},
    {"P23", SUBJECT_THROUGHPUT,
     CAUSE_SPECIAL("sum(N)/T, 0 where none is stated", formula_output_tps_zeros), NULL, NULL,
     p23_note, false},
    {"P23", SUBJECTS_OUTPUT, CAUSE_SPECIAL("no count, 0 tokens", formula_nothing_counted), unstated,
     unstated, p07_note, false},
};

CAUSE_ROWS(causes_counts, rows);
