/* Findings of how text is delivered: in clumps, in bursts of one size, in steps of 40 ms, several
 * tokens or half of the answer to an event. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/delivery.h"
#include "analyze/finder.h"
#include "analyze/formulas.h"
#include "analyze/metrics.h"
#include "analyze/metrics_marks.h"
#include "analyze/metrics_speedup.h"
#include "analyze/stat.h"
#include "traces/base/clock.h"
#include "traces/base/mem.h"
#include "traces/base/units.h"

enum {
    EVENTS_MIN = 8,
    READS_MIN = 4,
    STEPS_MIN = 16,
    BURSTS_MIN = 3,
    SHORT_READS_MIN = 2, /* of streams that are too short to say it alone, but agree … */
    SHORT_MIN = 3,       /* … so many … */
    SHORT_BURSTS = 8,    /* … with so many bursts in all */
    BURST_EVENTS =
        5, /* a buffer of a fixed size cuts events: the fewer, the wider the bursts vary */
    PIECE_MEDIANS = 16
};

#define BURST_SPREAD 0.1 /* standard deviation over mean of the bytes of a burst */
#define STEP_SHARE 0.8
#define STEP_SEVERAL 0.7 /* of the steps, that have several events: the model's pace is finer */

/* Lost packets hold back what comes after them: such a clump is nobody's buffer. */
static bool is_stream(const struct request *r)
{
    return metrics_request_counts(r) && r->stream_reply && r->out.n >= EVENTS_MIN &&
           r->retransmissions == 0;
}

enum manner { STEADY, STEPS, BY_EVENTS, BY_BYTES, IN_CLUMPS, MANNERS };

static double burst_spread(const struct bursts *b)
{
    return b->n >= BURSTS_MIN && b->mean > 0 ? sqrt(b->squares / (b->n - 1)) / b->mean : NAN;
}

/* Several choices whose tokens of a step come together: no more of them than there are choices. */
static bool of_choices(const struct request *r, const struct delivery *d)
{
    return request_interleaves(r) && d->per_read <= r->choices_seen;
}

static enum manner manner_of(const struct finder *f, const struct request *r,
                             const struct delivery *d)
{
    if (of_choices(r, d))
        return STEADY;
    bool same = delivery_same_number(r, d);
    if (d->reads >= STEPS_MIN && d->step_share >= STEP_SHARE && d->several >= STEP_SEVERAL && !same)
        return STEPS;
    if (d->reads < READS_MIN || d->gap_ns < (double)f->o->clump_gap_ns)
        return STEADY;
    if (same && d->several >= DELIVERY_SAME)
        return BY_EVENTS;
    if (d->per_read <= f->o->clump_events)
        return STEADY;
    return d->per_read > BURST_EVENTS && burst_spread(&r->bursts) < BURST_SPREAD ? BY_BYTES
                                                                                 : IN_CLUMPS;
}

/* "In N of M streams text (typically X amount)." */
struct delivered {
    enum finding_id id;
    finder_test *test; /* NULL: by its manner */
    const char *text, *amount;
    const char *metrics[2];
};

static void say(struct finder *f, const struct delivered *d, const struct found *found)
{
    struct finding *x =
        finder_add(f, d->id,
                   audit_printf(f->a, "In %zu of %zu streams %s (typically %.4g %s).", found->n,
                                found->of, d->text, found->typical, d->amount));
    for (size_t i = 0; i < 2 && d->metrics[i] != NULL; i++)
        finder_affects(x, d->metrics[i], NAN);
    finder_cite_found(f, x, found, true);
}

static const struct delivered manners[MANNERS] = {
    [IN_CLUMPS] = {FINDING_STREAM_CLUMPED,
                   NULL,
                   "several events come at a time, with long gaps between: something collects them "
                   "on the way",
                   "events a read",
                   {"icl", "output_tps_user"}},
    [BY_BYTES] = {FINDING_STREAM_FIXED_BURSTS,
                  NULL,
                  "text comes in bursts of one size in bytes, whatever is in them: a buffer that "
                  "is sent when it "
                  "is full",
                  "bytes",
                  {"ttft", "output_tps_user"}},
    [BY_EVENTS] = {FINDING_STREAM_COALESCED,
                   NULL,
                   "the same number of events comes with every read: the server sends them "
                   "together on purpose",
                   "events a read",
                   {"icl", NULL}},
    [STEPS] = {FINDING_STREAM_STEPS,
               NULL,
               "text comes in steps of 40 ms, with as many events as were ready: as Nagle's "
               "algorithm makes "
               "when acknowledgements are delayed",
               "events a step",
               {"icl", "ttft"}},
};

/* Streams with too few bursts to tell a buffer by, and those of all together. */
struct shorts {
    struct found found;
    size_t same; /* of them, whose reads have one number of events: that may be on purpose */
    struct bursts bursts;
};

static bool is_short(const struct finder *f, const struct delivery *d)
{
    return d->reads >= SHORT_READS_MIN && d->reads < READS_MIN && d->per_read > BURST_EVENTS &&
           d->gap_ns >= (double)f->o->clump_gap_ns;
}

/* Bursts of one size over several streams are no chance, even where none has many. */
static bool say_same(const struct shorts *s)
{
    return s->found.n >= SHORT_MIN && 2 * s->same <= s->found.n && s->bursts.n >= SHORT_BURSTS &&
           burst_spread(&s->bursts) < BURST_SPREAD;
}

/* Every stream is looked at once. */
static void find_manners(struct finder *f)
{
    struct found found[MANNERS] = {0};
    struct shorts shorts = {0};
    VEC(double) amounts[MANNERS] = {0};
    size_t streams = 0;
    for (size_t i = 0; i < f->scope->n; i++) {
        const struct request *r = finder_nth(f, i);
        if (!is_stream(r))
            continue;
        struct delivery d = delivery_of(r);
        enum manner m = manner_of(f, r, &d);
        streams++;
        found_add(&found[m], f->scope->requests[i]);
        VEC_PUSH(&amounts[m], m == BY_BYTES ? r->bursts.mean : d.per_read);
        if (m == STEADY && is_short(f, &d) && !of_choices(r, &d)) {
            found_add(&shorts.found, f->scope->requests[i]);
            delivery_pool(&shorts.bursts, &r->bursts);
            shorts.same += delivery_same_number(r, &d);
        }
    }
    if (found[BY_BYTES].n == 0 && say_same(&shorts)) {
        found[BY_BYTES] = shorts.found;
        VEC_PUSH(&amounts[BY_BYTES], shorts.bursts.mean);
    }
    for (int m = STEADY; m < MANNERS; m++) {
        if (m != STEADY && found[m].n > 0) {
            stat_sort(amounts[m].v, amounts[m].n);
            found[m].of = streams;
            found[m].typical = stat_median(amounts[m].v, amounts[m].n);
            say(f, &manners[m], &found[m]);
        }
        VEC_FREE(&amounts[m]);
    }
}

/* --- what is in an event ---------------------------------------------------------------------- */

/* Tokens that may have text; -1: not known. */
static int64_t text_tokens(const struct request *r)
{
    int64_t n = metrics_texted(r);
    return n < 0 ? -1 : n - (r->usage.reasoning > 0 ? r->usage.reasoning : 0);
}

struct piece {
    uint32_t bytes; /* of the largest event */
    double median;  /* of all */
};

static struct piece largest_piece(const struct request *r)
{
    struct piece p = {0};
    double *v = mem_array(r->out.n + 1, sizeof *v);
    for (size_t i = 0; i < r->out.n; i++) {
        v[i] = r->out.v[i].bytes;
        p.bytes = r->out.v[i].bytes > p.bytes ? r->out.v[i].bytes : p.bytes;
    }
    stat_sort(v, r->out.n);
    p.median = stat_median(v, r->out.n);
    free(v);
    return p;
}

/* A parser that waits until it knows where text belongs, and then sends what it has: P47. Half of
 * the text in one event is no stream at all, which is said elsewhere. */
static enum shows has_batch(const struct finder *f, const struct request *r, double *percent)
{
    int64_t n = text_tokens(r);
    if (!is_stream(r) || n < 0)
        return SHOWS_SILENT;
    if ((double)n <= f->o->tokens_per_event * (double)r->out.n)
        return SHOWS_NO;
    struct piece p = largest_piece(r);
    *percent = 100 * (double)p.bytes / (double)r->text_bytes;
    return *percent > 100 * f->o->piece_share && p.bytes > PIECE_MEDIANS * p.median ? SHOWS_YES
                                                                                    : SHOWS_NO;
}

static enum shows has_several(const struct finder *f, const struct request *r, double *per_event)
{
    int64_t n = text_tokens(r);
    double percent;
    if (!is_stream(r) || n < 0)
        return SHOWS_SILENT;
    *per_event = (double)n / (double)r->out.n;
    return *per_event > f->o->tokens_per_event && has_batch(f, r, &percent) == SHOWS_NO ? SHOWS_YES
                                                                                        : SHOWS_NO;
}

static enum shows cut_after_line(const struct finder *f, const struct request *r, double *bytes)
{
    if (!r->stream_reply || r->status / 100 != 2)
        return SHOWS_SILENT;
    *bytes = r->longest_event;
    return r->longest_event > f->o->long_line && r->outcome == OUTCOME_CUT_SHORT && !r->damaged
               ? SHOWS_YES
               : SHOWS_NO;
}

/* --- what is said ----------------------------------------------------------------------------- */

static const struct delivered rows[] = {
    {FINDING_STREAM_BATCHED_PIECE,
     has_batch,
     "one event has a large part of the text, and the others about a token each: it was held back "
     "until it was known where it belongs, as parsers of thinking and tools do",
     "% of the text",
     {"output_tps_user", "ttft"}},
    {FINDING_STREAM_TOKENS_PER_EVENT,
     has_several,
     "an event carries several tokens",
     "tokens an event",
     {"icl", NULL}},
    {FINDING_STREAM_LONG_LINE,
     cut_after_line,
     "the reply was cut short and has an event that readers with a limit of the line give up at",
     "bytes",
     {"failed", NULL}},
};

void findings_delivery(struct finder *f)
{
    find_manners(f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct found found = finder_gather(f, rows[i].test);
        if (found.n > 0)
            say(f, &rows[i], &found);
    }
}
