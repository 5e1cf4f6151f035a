/* Streams as a client has them that reads blocks of a fixed size (P46). */
#include <math.h>

#include "analyze/formulas_parts.h"
#include "analyze/stat.h"

/* Where each output event ends in the body is known of the first and the last; between them, what
 * an event has beside its text is taken to be the same for all. A client that reads blocks has an
 * event once the block that it ends in is full, or the body over. */
struct blocks {
    const struct request *r;
    double block, framing;
    double at, ahead[3]; /* end of the event at hand; of the events that fill its block … */
    size_t k, filled[3]; /* … at the earliest, as reckoned, at the latest */
};

enum { EARLIEST, RECKONED, LATEST };

#define BLOCK_EVENTS 2 /* a block with fewer events leaves no trace in the times */
#define APART 4        /* times how late a client stamps, that events are apart */
#define NARROW 1.1     /* hi/lo of a figure whose agreement with a claim is no chance */

/* The blocks are of five sizes: what is not known closely agrees with too much. */
static void add_narrow(struct estimates *out, double value, struct interval interval,
                       const struct request *r)
{
    if (interval_spread(interval) <= NARROW)
        estimates_add(out, (struct estimate){.value = value, .interval = interval, .request = r});
}

static double event_bytes(const struct request *r)
{
    return (double)(r->om_body - r->o1_body) / (double)(r->out.n - 1);
}

static bool blocks_begin(struct blocks *b, const struct scope *s, const struct request *r,
                         size_t block)
{
    if (!formula_smooth(s, r) || r->o1_body == 0 || r->om_body <= r->o1_body ||
        r->body_end <= block || (double)block < BLOCK_EVENTS * event_bytes(r))
        return false;
    double rest = (double)(r->text_bytes - r->out.v[0].bytes) / (double)(r->out.n - 1);
    double first = (double)r->o1_body;
    *b = (struct blocks){.r = r,
                         .block = (double)block,
                         .framing = event_bytes(r) - rest,
                         .at = first,
                         .ahead = {first, first, first}};
    return b->framing >= 0;
}

/* When the byte that ends a block has come: with the first event that reaches it, else with what
 * follows the text. */
static int64_t block_filled(struct blocks *b, int which, double end)
{
    const struct request *r = b->r;
    size_t *j = &b->filled[which];
    while (*j < r->out.n && b->ahead[which] < end) {
        ++*j;
        if (*j < r->out.n)
            b->ahead[which] += b->framing + r->out.v[*j].bytes;
    }
    if (*j < r->out.n)
        return r->out.v[*j].t_ns;
    return which == EARLIEST ? r->out.v[r->out.n - 1].t_ns : r->z;
}

/* An event as that client has it. */
struct block_event {
    int64_t t[3];
    double block; /* where the one ends that it ends in */
};

static bool blocks_next(struct blocks *b, struct block_event *e)
{
    const struct request *r = b->r;
    if (b->k == r->out.n)
        return false;
    double end = ceil(b->at / b->block) * b->block;
    double slack = event_bytes(r) / 2;
    *e =
        (struct block_event){{block_filled(b, EARLIEST, end - slack),
                              block_filled(b, RECKONED, end), block_filled(b, LATEST, end + slack)},
                             end};
    if (++b->k < r->out.n)
        b->at += b->framing + r->out.v[b->k].bytes;
    return true;
}

static void block_ttft(const struct scope *s, size_t block, struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        struct blocks b;
        struct block_event e;
        if (!blocks_begin(&b, s, r, block) || !blocks_next(&b, &e))
            continue;
        struct interval ttft = {formula_span(s, r->t0, e.t[EARLIEST]).lo,
                                formula_span(s, r->t0, e.t[LATEST]).hi};
        add_narrow(out, span_seconds(r->t0, e.t[RECKONED]), ttft, r);
    }
}

/* Tokens from the first to the last event that such a client has: the last ones it gets with the
 * end of the body. */
static void block_rate(const struct scope *s, size_t block, struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        struct blocks b;
        struct block_event first, last;
        double n = formula_count(r, COUNT_N_LESS_1);
        if (isnan(n) || !blocks_begin(&b, s, r, block) || !blocks_next(&b, &first))
            continue;
        while (blocks_next(&b, &last))
            ;
        struct interval span = {formula_span(s, first.t[LATEST], last.t[EARLIEST]).lo,
                                formula_span(s, first.t[EARLIEST], last.t[LATEST]).hi};
        double window = span_seconds(first.t[RECKONED], last.t[RECKONED]);
        if (window > 0 && span.lo > 0)
            add_narrow(out, n / window, interval_div((struct interval){n, n + 1}, span), r);
    }
}

/* A gap between two events as such a client has them, at the least, as reckoned, at the most. */
struct gap {
    double of[3];
};

/* The next gap; 0 within a block. *before is the event that it follows. */
static bool next_gap(const struct scope *s, struct blocks *b, struct block_event *before,
                     struct gap *out)
{
    struct block_event now;
    if (!blocks_next(b, &now))
        return false;
    double later = (double)s->o->vantage_ns / NS_PER_S;
    *out = (struct gap){{0, 0, later}};
    if (now.block != before->block) {
        out->of[EARLIEST] = fmax(span_seconds(before->t[LATEST], now.t[EARLIEST]) - later, 0);
        out->of[RECKONED] = span_seconds(before->t[RECKONED], now.t[RECKONED]);
        out->of[LATEST] = span_seconds(before->t[EARLIEST], now.t[LATEST]) + later;
    }
    *before = now;
    return true;
}

/* The longest gaps are the times that blocks take to fill: tried for high quantiles alone. */
static void block_gaps(const struct scope *s, size_t block, struct estimates *out)
{
    static const double quantiles[STATS] = {
        [STAT_P90] = 0.9, [STAT_P95] = 0.95, [STAT_P99] = 0.99, [STAT_MAX] = 1};
    VEC(double) all[3] = {{0}};
    for (size_t i = 0; quantiles[s->stat] > 0 && i < s->requests.n; i++) {
        struct blocks b;
        struct block_event before;
        struct gap gap;
        if (!blocks_begin(&b, s, scope_nth(s, i), block) || !blocks_next(&b, &before))
            continue;
        while (next_gap(s, &b, &before, &gap)) {
            for (int k = 0; k < 3; k++)
                VEC_PUSH(&all[k], gap.of[k]);
        }
    }
    double at[3] = {0};
    for (int k = 0; k < 3 && all[k].n > 0; k++) {
        stat_sort(all[k].v, all[k].n);
        at[k] = stat_quantile(all[k].v, all[k].n, quantiles[s->stat]);
    }
    if (at[RECKONED] > 0)
        add_narrow(out, at[RECKONED], (struct interval){at[EARLIEST], at[LATEST]}, NULL);
    for (int k = 0; k < 3; k++)
        VEC_FREE(&all[k]);
}

/* Do more than half of the gaps lie within a block? */
static bool most_are_together(const struct scope *s, const struct request *r, size_t block)
{
    struct blocks b;
    struct block_event before;
    struct gap gap;
    size_t together = 0;
    if (!blocks_begin(&b, s, r, block) || !blocks_next(&b, &before))
        return false;
    while (next_gap(s, &b, &before, &gap))
        together += gap.of[RECKONED] == 0;
    return 2 * together > r->out.n;
}

/* Most events of such a client come together, where on the wire none do. What is together at a
 * client is not known to less than how late it stamps: events that are hardly further apart say
 * nothing. */
void formula_block_median(const struct scope *s, struct estimates *out)
{
    static const size_t sizes[] = {512, 1024, 8192, 65536, 131072};
    double later = (double)s->o->vantage_ns / NS_PER_S;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        size_t k = 0, n = sizeof sizes / sizeof *sizes;
        if (r->out.n < 2 || span_seconds(r->out.v[0].t_ns, r->out.v[r->out.n - 1].t_ns) <
                                APART * later * (double)(r->out.n - 1))
            continue;
        while (k < n && !most_are_together(s, r, sizes[k]))
            k++;
        if (k < n)
            estimates_add(out, (struct estimate){0, {0, later}, r, false});
    }
}

#define IN_BLOCKS(size)                                                                            \
    void formula_block_ttft_##size(const struct scope *s, struct estimates *out)                   \
    {                                                                                              \
        block_ttft(s, size, out);                                                                  \
    }                                                                                              \
    void formula_block_rate_##size(const struct scope *s, struct estimates *out)                   \
    {                                                                                              \
        block_rate(s, size, out);                                                                  \
    }                                                                                              \
    void formula_block_gaps_##size(const struct scope *s, struct estimates *out)                   \
    {                                                                                              \
        block_gaps(s, size, out);                                                                  \
    }

IN_BLOCKS(512)
IN_BLOCKS(1024)
IN_BLOCKS(8192)
IN_BLOCKS(65536)
IN_BLOCKS(131072)
