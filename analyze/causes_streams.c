/* Streams that are none, or not what they seem: the catalogue's P43 to P56. */
#include <math.h>
#include <stdlib.h>

#include "analyze/causes_row.h"
#include "analyze/delivery.h"
#include "analyze/metrics.h"
#include "analyze/metrics_flow.h"
#include "analyze/stat.h"
#include "traces/base/mem.h"

/* --- what is seen of text that was held together
 * --------------------------------------------------
 */

#define CLUMP_EVENTS 3.0        /* output events a read, from which text came in clumps … */
#define CLUMP_GAP_NS 5000000    /* … with at least that between two reads, in the median */
#define BUFFER_EVENTS 5.0       /* output events that a buffer held, at least … */
#define BUFFER_SPREAD 0.1       /* … and the spread of its bytes … */
#define BUFFER_BURSTS 3         /* … of so many in one stream … */
#define POOLED_BURSTS 8         /* … or in several */
#define ALIKE_READS 3           /* with one number of events, from which that is on purpose */
#define JOINED_EVENTS 1.1       /* output events a read, from which reads are no events */
#define SPLIT_SHARE 0.05        /* of the output events, that came in several reads */
#define PACK_EVENTS 20          /* output events, from which tokens an event can be told constant */
#define FLUSH_TOKENS 20         /* tokens of an event that a parser had held back … */
#define FLUSH_FACTOR 5          /* … so many times those of the median event */
#define HELD_TOKENS_PER_EVENT 2 /* of the whole answer, where a parser holds back */

static double events_per_read(const struct request *r)
{
    size_t reads = metrics_request_reads(r);
    return reads > 0 ? (double)r->out.n / (double)reads : 0;
}

static bool sign_joined(const struct scope *s, const struct request *r)
{
    (void)s;
    return r->asked.choices <= 1 && events_per_read(r) >= JOINED_EVENTS;
}

static bool sign_split(const struct scope *s, const struct request *r)
{
    (void)s;
    return (double)r->straddling >= SPLIT_SHARE * (double)r->out.n && r->straddling > 0;
}

/* As many events come with every read, whole ones, and pauses between: who sends them counts them.
 * That their bytes are as many then follows from it, and is no sign of a buffer. */
static bool sign_alike(const struct scope *s, const struct request *r)
{
    (void)s;
    if (r->asked.choices > 1 || events_per_read(r) <= CLUMP_EVENTS)
        return false;
    struct delivery d = delivery_of(r);
    return d.reads >= ALIKE_READS && d.gap_ns >= CLUMP_GAP_NS && delivery_same_number(r, &d);
}

static bool of_one_size(const struct bursts *b)
{
    return sqrt(b->squares / b->n) < BUFFER_SPREAD * b->mean;
}

/* A stream that is too short to tell a buffer by, among others of which none is longer. */
static struct bursts pooled(const struct scope *s)
{
    struct bursts all = {0};
    for (size_t i = 0; i < s->requests.n && all.n < POOLED_BURSTS; i++) {
        const struct request *x = &s->a->requests.v[s->requests.v[i]];
        if (formula_counts(s, x) && x->bursts.n > 0 && x->bursts.n < BUFFER_BURSTS)
            delivery_pool(&all, &x->bursts);
    }
    return all;
}

/* Each read brought about the same number of bytes: something of that size was filled. Where a
 * stream has few, those of several do. */
static bool sign_buffer(const struct scope *s, const struct request *r)
{
    struct bursts b = r->bursts;
    if (b.n == 0 || r->asked.choices > 1 || events_per_read(r) < BUFFER_EVENTS || sign_alike(s, r))
        return false;
    if (b.n >= BUFFER_BURSTS)
        return of_one_size(&b);
    struct bursts all = pooled(s);
    return all.n >= POOLED_BURSTS && of_one_size(&all) &&
           fabs(b.mean - all.mean) < BUFFER_SPREAD * all.mean;
}

static double median_between_reads(const struct request *r)
{
    double *v = mem_array(r->out.n + 1, sizeof *v);
    size_t n = 0;
    for (size_t k = 1; k < r->out.n; k++) {
        if (r->out.v[k].packet != r->out.v[k - 1].packet)
            v[n++] = (double)(r->out.v[k].t_ns - r->out.v[k - 1].t_ns);
    }
    stat_sort(v, n);
    double median = n > 1 ? stat_median(v, n) : 0;
    free(v);
    return median;
}

static bool sign_clumps(const struct scope *s, const struct request *r)
{
    return r->asked.choices <= 1 && events_per_read(r) > CLUMP_EVENTS && !sign_buffer(s, r) &&
           median_between_reads(r) >= CLUMP_GAP_NS && !sign_alike(s, r);
}

/* Tokens that event k brought, where each event states them. */
static int64_t tokens_of(const struct request *r, size_t k)
{
    return request_stated(r, k) - (k > 0 ? request_stated(r, k - 1) : 0);
}

/* Do all events but the first and the last bring as many tokens? */
static bool states_pack(const struct request *r)
{
    int64_t first = tokens_of(r, 1);
    for (size_t k = 2; k + 1 < r->out.n; k++) {
        if (tokens_of(r, k) != first)
            return false;
    }
    return first > 1;
}

/* Is n what so many events of k > 1 tokens bring, the last one perhaps fewer? */
static bool is_multiple(int64_t n, int64_t events)
{
    int64_t k = events > 0 ? (n + events - 1) / events : 0;
    return k > 1 && (n + k - 1) / k == events;
}

/* A server that sends every k tokens; some send the first one at once. */
static bool sign_pack(const struct scope *s, const struct request *r)
{
    (void)s;
    int64_t n = request_tokens(r), m = (int64_t)r->out.n;
    if (m < PACK_EVENTS || n < m || r->asked.choices > 1)
        return false;
    if (metrics_per_event(r))
        return states_pack(r);
    return is_multiple(n, m) || is_multiple(n - 1, m - 1);
}

static bool sign_rhythm(const struct scope *s, const struct request *r)
{
    return sign_pack(s, r) || formula_bunched(s, r) || sign_alike(s, r);
}

static int by_int64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* An event stated many tokens more than the others, or the first has text out of proportion: they
 * had been there before, and waited. */
static bool sign_flush(const struct scope *s, const struct request *r)
{
    size_t m = r->out.n;
    if (r->asked.choices <= 1 && metrics_first_held(r))
        return true;
    if (m < 3 || r->asked.choices > 1 || !metrics_per_event(r) || sign_pack(s, r) ||
        request_tokens(r) < HELD_TOKENS_PER_EVENT * (int64_t)m)
        return false;
    int64_t *v = mem_array(m, sizeof *v);
    for (size_t k = 0; k < m; k++)
        v[k] = tokens_of(r, k);
    qsort(v, m, sizeof *v, by_int64);
    bool flushed = v[m - 1] >= FLUSH_TOKENS && v[m - 1] >= FLUSH_FACTOR * v[m / 2];
    free(v);
    return flushed;
}

/* --- rows ------------------------------------------------------------------------------------- */

static const char p43_note[] =
    "the request was silent, then all of its text came at once: the time that this "
    "divides by is how fast the answer was sent, not how fast it was generated";
static const char p43_parse_note[] =
    "the request was silent, then all of its text came at once: what was timed is how fast the "
    "client read what it had";
static const char p44_note[] = "the text came in clumps, many events at a time";
static const char p45_note[] = "the text came in pieces of one size, many events at a time";
static const char p46_note[] = "nothing came together on the wire; the client read in blocks";
static const char p47_note[] =
    "an event brought many tokens more than the others: they had waited for it";
static const char p48_note[] = "each event brought as many tokens, or as many events came at a "
                               "time, with the same pause between";
static const char p49_note[] = "events and reads have different borders";
static const char p50_note[] = "events were longer than some clients read a line";
static const char p51_note[] = "pieces of the text have quotes in them";
static const char p53_note[] = "some of the requests were answered in one piece, not streamed";
static const char p54_note[] = "the same request is slower as a stream";
static const char p55_note[] = "an event held more than one token";

#define COLLECTED_RATE(text, count, to)                                                            \
    {                                                                                              \
        "P43", SUBJECTS_DECODING | SUBJECT_WHOLE | SUBJECT_THROUGHPUT,                             \
            CAUSE_RATE(text, count, AT_O1, to), formula_collected, formula_collected, p43_note,    \
            false                                                                                  \
    }

#define REPLAYED_RATE(text, fn)                                                                    \
    {                                                                                              \
        "P43", SUBJECTS_DECODING | SUBJECT_WHOLE, CAUSE_SPECIAL(text, fn), formula_collected,      \
            formula_collected, p43_parse_note, false                                               \
    }

#define DECODE_RATE(id, text, count, sign, note)                                                   \
    {                                                                                              \
        id, SUBJECTS_DECODING, CAUSE_RATE(text, count, AT_O1, AT_OM), sign, sign, note, false      \
    }

#define GAPS(id, sign, note)                                                                       \
    {                                                                                              \
        id, SUBJECT_PER_TOKEN, CAUSE_SPECIAL("median(o_k-o_(k-1))", formula_gaps), sign, sign,     \
            note, true                                                                             \
    }

#define BLOCK_ROW(subjects, text, fn, per_token)                                                   \
    {                                                                                              \
        "P46", subjects, CAUSE_SPECIAL(text, fn), NULL, NULL, p46_note, per_token                  \
    }

#define BLOCK_ROWS(size)                                                                           \
    BLOCK_ROW(SUBJECT_TTFT, "o_1-t0, read in blocks of " #size " bytes",                           \
              formula_block_ttft_##size, false),                                                   \
        BLOCK_ROW(SUBJECTS_DECODING, "N/(o_M-o_1), read in blocks of " #size " bytes",             \
                  formula_block_rate_##size, false),                                               \
        BLOCK_ROW(SUBJECT_GAP | SUBJECT_PER_TOKEN,                                                 \
                  "o_k-o_(k-1), read in blocks of " #size " bytes", formula_block_gaps_##size,     \
                  true)

#define LINE_ROWS(size)                                                                            \
    {"P50",                                                                                        \
     SUBJECT_FAILED,                                                                               \
     CAUSE_SPECIAL("failed, and those with a line over " #size " bytes",                           \
                   formula_failed_lines_##size),                                                   \
     NULL,                                                                                         \
     NULL,                                                                                         \
     p50_note,                                                                                     \
     false},                                                                                       \
    {                                                                                              \
        "P50", SUBJECT_REQUESTS | SUBJECT_COMPLETED,                                               \
            CAUSE_SPECIAL("successes without a line over " #size " bytes",                         \
                          formula_successes_lines_##size),                                         \
            NULL, NULL, p50_note, false                                                            \
    }

static const struct cause_row rows[] = {
    COLLECTED_RATE("N/(o_M-o_1)", COUNT_N, AT_OM),
    COLLECTED_RATE("(N-1)/(o_M-o_1)", COUNT_N_LESS_1, AT_OM),
    COLLECTED_RATE("M/(o_M-o_1)", COUNT_EVENTS, AT_OM),
    COLLECTED_RATE("N/(z-o_1)", COUNT_N, AT_Z),
    COLLECTED_RATE("M/(z-o_1)", COUNT_EVENTS, AT_Z),
    REPLAYED_RATE("N/(o_M-o_1, and reading it)", formula_replayed_tokens),
    REPLAYED_RATE("M/(o_M-o_1, and reading it)", formula_replayed_events),

    DECODE_RATE("P44", "N/(o_M-o_1)", COUNT_N, sign_clumps, p44_note),
    DECODE_RATE("P44", "(N-1)/(o_M-o_1)", COUNT_N_LESS_1, sign_clumps, p44_note),
    GAPS("P44", sign_clumps, p44_note),

    DECODE_RATE("P45", "N/(o_M-o_1)", COUNT_N, sign_buffer, p45_note),
    DECODE_RATE("P45", "(N-1)/(o_M-o_1)", COUNT_N_LESS_1, sign_buffer, p45_note),
    GAPS("P45", sign_buffer, p45_note),

    BLOCK_ROWS(512),
    BLOCK_ROWS(1024),
    BLOCK_ROWS(8192),
    BLOCK_ROWS(65536),
    BLOCK_ROWS(131072),
    BLOCK_ROW(SUBJECT_GAP | SUBJECT_PER_TOKEN, "median(o_k-o_(k-1)), read in blocks",
              formula_block_median, true),

    DECODE_RATE("P47", "N/(o_M-o_1)", COUNT_N, sign_flush, p47_note),
    DECODE_RATE("P47", "(N-1)/(o_M-o_1)", COUNT_N_LESS_1, sign_flush, p47_note),

    GAPS("P48", sign_rhythm, p48_note),
    DECODE_RATE("P48", "N/(o_M-o_1)", COUNT_N, sign_alike, p48_note),
    DECODE_RATE("P48", "(N-1)/(o_M-o_1)", COUNT_N_LESS_1, sign_alike, p48_note),

    {"P49", SUBJECT_OUTPUT_TOKENS, CAUSE_COUNT("reads", COUNT_READS), sign_joined, sign_joined,
     p49_note, false},
    {"P49", SUBJECT_OUTPUT_TOKENS, CAUSE_COUNT("M-split", COUNT_EVENTS_UNSPLIT), sign_split,
     sign_split, p49_note, false},
    DECODE_RATE("P49", "reads/(o_M-o_1)", COUNT_READS, sign_joined, p49_note),
    DECODE_RATE("P49", "(M-split)/(o_M-o_1)", COUNT_EVENTS_UNSPLIT, sign_split, p49_note),
    {"P49", SUBJECT_WHOLE, CAUSE_RATE("reads/(o_M-t0)", COUNT_READS, AT_T0, AT_OM), sign_joined,
     sign_joined, p49_note, false},
    {"P49", SUBJECT_WHOLE, CAUSE_RATE("(M-split)/(o_M-t0)", COUNT_EVENTS_UNSPLIT, AT_T0, AT_OM),
     sign_split, sign_split, p49_note, false},
    {"P49", SUBJECT_THROUGHPUT, CAUSE_RUN_RATE("sum(reads)/T", COUNT_READS, AT_T0, AT_END),
     sign_joined, sign_joined, p49_note, false},

    LINE_ROWS(65536),
    LINE_ROWS(131072),
    LINE_ROWS(524288),

    {"P51", SUBJECT_OUTPUT_TOKENS,
     CAUSE_SPECIAL("characters up to a quote", formula_cut_characters), NULL, NULL, p51_note,
     false},
    {"P51", SUBJECT_OUTPUT_TOKENS,
     CAUSE_SPECIAL("characters up to a quote/4", formula_cut_quarters), NULL, NULL, p51_note,
     false},
    {"P51", SUBJECTS_DECODING,
     CAUSE_SPECIAL("characters up to a quote/4/(o_M-o_1)", formula_cut_quarter_rate), NULL, NULL,
     p51_note, false},

    {"P53", SUBJECT_PER_TOKEN,
     CAUSE_SPECIAL("(o_M-o_1)/(N-1), 0 if not streamed", formula_tpot_mixed), NULL, NULL, p53_note,
     true},
    {"P53", SUBJECT_TTFT, CAUSE_SPECIAL("o_1-t0, h-t0 if not streamed", formula_ttft_mixed), NULL,
     NULL, p53_note, false},
    {"P53", SUBJECT_TTFT, CAUSE_SPECIAL("o_1-t0, not streamed ones too", formula_ttft_documents),
     NULL, NULL, p53_note, false},

    {"P54", SUBJECT_DECODE | SUBJECT_WHOLE,
     CAUSE_SPECIAL("N/(o_M-t0), not streamed", formula_unstreamed_rate), NULL, NULL, p54_note,
     false},

    GAPS("P55", cause_packed, p55_note),
    {"P55", SUBJECT_DECODE, CAUSE_SPECIAL("1/median(o_k-o_(k-1))", formula_gap_rates), cause_packed,
     cause_packed, p55_note, false},

    {"P56", SUBJECT_PEAK, CAUSE_SPECIAL("most events in a second", formula_peak_events), NULL, NULL,
     p55_note, false},
};

CAUSE_ROWS(causes_streams, rows);
