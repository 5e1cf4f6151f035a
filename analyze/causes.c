/* The catalogue: one row a formula, with the marks of the metric table. Ids are those of the
 * README's list of causes. Rows of one id stand together; a claim gets at most one of them. */
#include "analyze/causes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/base/clock.h"

#define SIGN_PACKED 1.1      /* tokens an event, from which events are no tokens */
#define SIGN_LATE_SHARE 0.25 /* of a request, before its first text */
#define WIDEST 2.0           /* hi/lo of an interval that still says something by its number */
#define POWER_SPREAD 1.1     /* the same for powers of ten, which fit easily */

/* The marks differ by more than stamps of the same instant can. */
static bool apart(const struct scope *s, int64_t earlier, int64_t later)
{
    return earlier >= 0 && later >= 0 && later - earlier > 2 * s->o->vantage_ns;
}

static bool sign_packed(const struct scope *s, const struct request *r)
{
    (void)s;
    int64_t n = request_tokens(r);
    return r->out.n > 1 && (double)n >= SIGN_PACKED * (double)r->out.n;
}

static bool sign_role(const struct scope *s, const struct request *r)
{
    return apart(s, r->role_ns, formula_when(r, AT_O1));
}

static bool sign_early_head(const struct scope *s, const struct request *r)
{
    return apart(s, r->h, formula_when(r, AT_O1));
}

static bool sign_early_event(const struct scope *s, const struct request *r)
{
    return r->c1 != r->role_ns && apart(s, r->c1, formula_when(r, AT_O1));
}

static bool sign_late_text(const struct scope *s, const struct request *r)
{
    (void)s;
    int64_t o1 = formula_when(r, AT_O1), om = formula_when(r, AT_OM);
    return o1 >= 0 && (double)(o1 - r->t0) >= SIGN_LATE_SHARE * (double)(om - r->t0);
}

static bool sign_tail(const struct scope *s, const struct request *r)
{
    return (r->usage_events > 0 || r->done_ns >= 0) && apart(s, formula_when(r, AT_OM), r->z);
}

static bool sign_first_packed(const struct scope *s, const struct request *r)
{
    (void)s;
    return r->n1 > 1;
}

static bool sign_stated_often(const struct scope *s, const struct request *r)
{
    (void)s;
    return r->usage_events > 1 && formula_count(r, COUNT_STATED_SUM) > formula_count(r, COUNT_N);
}

static bool sign_cached(const struct scope *s, const struct request *r)
{
    (void)s;
    return r->usage.cached > 0;
}

static bool asked_for_more(const struct scope *s, const struct request *r)
{
    (void)s;
    return r->asked.max_tokens > request_tokens(r) && request_tokens(r) >= 0;
}

static bool text_of_words(const struct scope *s, const struct request *r)
{
    (void)s;
    double per_token = formula_count(r, COUNT_BYTES) / formula_count(r, COUNT_N);
    return per_token >= 2 && per_token <= 6;
}

struct row {
    const char *id, *title;
    unsigned subjects;
    struct formula formula;
    sign_fn *applies; /* tried on such requests only; NULL: on all */
    sign_fn *sign;    /* NULL: it has none, only the number can fit */
    const char *note;
};

#define RATE(text, count, from, to)                                                                \
    {                                                                                              \
        text, SHAPE_RATE, count, from, to, false, NULL                                             \
    }
#define RUN_RATE(text, count, from, to)                                                            \
    {                                                                                              \
        text, SHAPE_RATE, count, from, to, true, NULL                                              \
    }
#define TIME(text, from, to)                                                                       \
    {                                                                                              \
        text, SHAPE_TIME, COUNT_NONE, from, to, false, NULL                                        \
    }
#define COUNT(text, count)                                                                         \
    {                                                                                              \
        text, SHAPE_COUNT, count, AT_NONE, AT_NONE, false, NULL                                    \
    }
#define SPECIAL(text, fn)                                                                          \
    {                                                                                              \
        text, SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true, fn                                  \
    }
#define DECODING (SUBJECT_DECODE | SUBJECT_PER_TOKEN)

static const char p43[] = "Server generates first, streams afterwards";
static const char p43_note[] =
    "the request was silent, then all of its text came at once: the time that this "
    "divides by is how fast the answer was sent, not how fast it was generated";
static const char p01[] = "Stream events counted as tokens";
static const char p01_note[] = "an event held more than one token";
static const char p06[] = "Characters counted as tokens";
static const char p11[] = "Requested length used as generated length";
static const char p11_note[] = "the server generated fewer tokens than were asked for";
static const char p13[] = "Prompt tokens inside the output rate";
static const char p25[] = "TTFT taken at headers, first byte, metadata or a keep-alive";
static const char p25_note[] = "the first bytes came before the first text";
static const char p29[] = "Decode rate over the whole request";
static const char p29_note[] = "the wait for the first text is charged to decoding";
static const char p30[] = "Denominator starts at the response headers";
static const char p31[] = "End of request taken at usage event or [DONE]";
static const char p31_note[] = "something without text came after the last text";
static const char p37[] = "TTFT equals full duration";
static const char p40[] = "Prefill and decode tokens both divided by total time";
static const char p57[] = "Per-user rate times nominal concurrency";
static const char p71[] = "Mean of per-request rates";

static const struct row rows[] = {
    {"P43", p43, DECODING | SUBJECT_WHOLE | SUBJECT_THROUGHPUT,
     RATE("N/(o_M-o_1)", COUNT_N, AT_O1, AT_OM), formula_collected, formula_collected, p43_note},
    {"P43", p43, DECODING | SUBJECT_WHOLE | SUBJECT_THROUGHPUT,
     RATE("(N-1)/(o_M-o_1)", COUNT_N_LESS_1, AT_O1, AT_OM), formula_collected, formula_collected,
     p43_note},
    {"P43", p43, DECODING | SUBJECT_WHOLE | SUBJECT_THROUGHPUT,
     RATE("M/(o_M-o_1)", COUNT_EVENTS, AT_O1, AT_OM), formula_collected, formula_collected,
     p43_note},
    {"P43", p43, DECODING | SUBJECT_WHOLE | SUBJECT_THROUGHPUT,
     RATE("N/(z-o_1)", COUNT_N, AT_O1, AT_Z), formula_collected, formula_collected, p43_note},
    {"P43", p43, DECODING | SUBJECT_WHOLE | SUBJECT_THROUGHPUT,
     RATE("M/(z-o_1)", COUNT_EVENTS, AT_O1, AT_Z), formula_collected, formula_collected, p43_note},
    {"P01", p01, DECODING, RATE("M/(o_M-o_1)", COUNT_EVENTS, AT_O1, AT_OM), sign_packed,
     sign_packed, p01_note},
    {"P01", p01, DECODING, RATE("(M-1)/(o_M-o_1)", COUNT_EVENTS_LESS_1, AT_O1, AT_OM), sign_packed,
     sign_packed, p01_note},
    {"P01", p01, SUBJECT_WHOLE, RATE("M/(o_M-t0)", COUNT_EVENTS, AT_T0, AT_OM), sign_packed,
     sign_packed, p01_note},
    {"P01", p01, SUBJECT_OUTPUT_TOKENS, COUNT("M", COUNT_EVENTS), sign_packed, sign_packed,
     p01_note},
    {"P01", p01, SUBJECT_THROUGHPUT, RUN_RATE("sum(M)/T", COUNT_EVENTS, AT_T0, AT_END), sign_packed,
     sign_packed, p01_note},
    {"P06", p06, DECODING, RATE("bytes/(o_M-o_1)", COUNT_BYTES, AT_O1, AT_OM), text_of_words, NULL,
     NULL},
    {"P06", p06, SUBJECT_OUTPUT_TOKENS, COUNT("bytes", COUNT_BYTES), text_of_words, NULL, NULL},
    {"P11", p11, DECODING, RATE("max_tokens/(o_M-o_1)", COUNT_ASKED, AT_O1, AT_OM), asked_for_more,
     NULL, p11_note},
    {"P11", p11, SUBJECT_WHOLE, RATE("max_tokens/(o_M-t0)", COUNT_ASKED, AT_T0, AT_OM),
     asked_for_more, NULL, p11_note},
    {"P11", p11, SUBJECT_OUTPUT_TOKENS, COUNT("max_tokens", COUNT_ASKED), asked_for_more, NULL,
     p11_note},
    {"P11", p11, SUBJECT_THROUGHPUT, RUN_RATE("sum(max_tokens)/T", COUNT_ASKED, AT_T0, AT_END),
     asked_for_more, NULL, p11_note},
    {"P13", p13, DECODING | SUBJECT_WHOLE, RATE("(P+N)/(o_M-t0)", COUNT_P_AND_N, AT_T0, AT_OM),
     NULL, NULL, NULL},
    {"P13", p13, DECODING | SUBJECT_WHOLE, RATE("(P+N)/(z-t0)", COUNT_P_AND_N, AT_T0, AT_Z), NULL,
     NULL, NULL},
    {"P13", p13, DECODING, RATE("(P+N)/(o_M-o_1)", COUNT_P_AND_N, AT_O1, AT_OM), NULL, NULL, NULL},
    {"P13", p13, SUBJECT_OUTPUT_TOKENS, COUNT("P+N", COUNT_P_AND_N), NULL, NULL, NULL},
    {"P13", p13, SUBJECT_THROUGHPUT, RUN_RATE("sum(P+N)/T", COUNT_P_AND_N, AT_T0, AT_END), NULL,
     NULL, NULL},
    {"P14", "Cumulative usage summed over events", SUBJECT_OUTPUT_TOKENS,
     COUNT("sum(stated)", COUNT_STATED_SUM), sign_stated_often, sign_stated_often,
     "the count was stated with every event, each time for all so far"},
    {"P17", "First event carries several tokens but OSL-1 is used", DECODING,
     RATE("(N-1)/(o_M-o_1)", COUNT_N_LESS_1, AT_O1, AT_OM), sign_first_packed, sign_first_packed,
     "more than one token was there at the first event"},
    {"P18", "Fence-post: n instead of n-1 over first-to-last", DECODING,
     RATE("N/(o_M-o_1)", COUNT_N, AT_O1, AT_OM), NULL, NULL, NULL},
    {"P22", "Prompt count shrinks or vanishes when cached", SUBJECT_INPUT_TOKENS,
     COUNT("P-K", COUNT_P_UNCACHED), sign_cached, sign_cached,
     "part of the prompt came from a cache"},
    {"P24", "TTFT taken at the role-only event", SUBJECT_TTFT, TIME("role-t0", AT_T0, AT_ROLE),
     sign_role, sign_role, "an event with a role and no text came first"},
    {"P25", p25, SUBJECT_TTFT, TIME("c_1-t0", AT_T0, AT_C1), sign_early_event, sign_early_event,
     p25_note},
    {"P25", p25, SUBJECT_TTFT, TIME("h-t0", AT_T0, AT_H), sign_early_head, sign_early_head,
     p25_note},
    {"P25", p25, SUBJECT_TTFT, TIME("h-t0_end", AT_T0_END, AT_H), sign_early_head, sign_early_head,
     p25_note},
    {"P25", p25, SUBJECT_TTFT, TIME("head-t0", AT_T0, AT_HEAD), sign_early_head, sign_early_head,
     p25_note},
    {"P29", p29, DECODING, RATE("N/(o_M-t0)", COUNT_N, AT_T0, AT_OM), NULL, sign_late_text,
     p29_note},
    {"P29", p29, DECODING, RATE("N/(z-t0)", COUNT_N, AT_T0, AT_Z), NULL, sign_late_text, p29_note},
    {"P30", p30, DECODING, RATE("N/(z-h)", COUNT_N, AT_H, AT_Z), sign_early_head, NULL, NULL},
    {"P30", p30, DECODING, RATE("N/(o_M-h)", COUNT_N, AT_H, AT_OM), sign_early_head, NULL, NULL},
    {"P31", p31, DECODING, RATE("(N-1)/(z-o_1)", COUNT_N_LESS_1, AT_O1, AT_Z), sign_tail, sign_tail,
     p31_note},
    {"P31", p31, DECODING, RATE("N/(z-o_1)", COUNT_N, AT_O1, AT_Z), sign_tail, sign_tail, p31_note},
    {"P31", p31, SUBJECT_WHOLE, RATE("N/(z-t0)", COUNT_N, AT_T0, AT_Z), sign_tail, sign_tail,
     p31_note},
    {"P31", p31, SUBJECT_LATENCY, TIME("z-t0", AT_T0, AT_Z), sign_tail, sign_tail, p31_note},
    {"P31", p31, SUBJECT_LATENCY, TIME("done-t0", AT_T0, AT_DONE), sign_tail, sign_tail, p31_note},
    {"P37", p37, SUBJECT_TTFT, TIME("z-t0", AT_T0, AT_Z), NULL, NULL, NULL},
    {"P37", p37, SUBJECT_TTFT, TIME("o_M-t0", AT_T0, AT_OM), NULL, NULL, NULL},
    {"P40", p40, SUBJECT_PROMPT_RATE, RATE("P/(o_M-t0)", COUNT_P, AT_T0, AT_OM), NULL, NULL, NULL},
    {"P40", p40, SUBJECT_PROMPT_RATE, RATE("P/(z-t0)", COUNT_P, AT_T0, AT_Z), NULL, NULL, NULL},
    {"P57", p57, SUBJECT_THROUGHPUT, SPECIAL("c*mean((N-1)/(o_M-o_1))", formula_users_times_rate),
     NULL, NULL, "fewer requests were decoding at a time than were in flight"},
    {"P57", p57, SUBJECT_THROUGHPUT, SPECIAL("sum((N-1)/(o_M-o_1))", formula_sum_of_rates), NULL,
     NULL, NULL},
    {"P71", p71, SUBJECT_THROUGHPUT, SPECIAL("mean((N-1)/(o_M-o_1))", formula_mean_of_rates), NULL,
     NULL, NULL},
    {"P71", p71, SUBJECT_DECODE, SPECIAL("sum(N-n_1)/sum(o_M-o_1)", formula_ratio_of_sums), NULL,
     NULL, "the mirror case: totals divided, where each request has a rate"},
    {"P72", "TPOT weighting differs: per token or per request", SUBJECT_PER_TOKEN,
     SPECIAL("sum(o_M-o_1)/sum(N-n_1)", formula_ratio_of_sums), NULL, NULL, NULL},
    {"P77", "Numerator has the last request, denominator stops at its start", SUBJECT_THROUGHPUT,
     RUN_RATE("sum(N)/(max t0-min t0)", COUNT_N, AT_T0, AT_T0), NULL, NULL, NULL},
};

/* Text that stays behind a collected answer's burst has another cause than the row's own. */
static bool explains(const struct row *row, const struct scope *s, const struct request *r)
{
    if (row->applies != NULL && !row->applies(s, r))
        return false;
    return (row->subjects & DECODING) == 0 || row->applies == formula_collected ||
           !formula_collected(s, r);
}

static void apply(const struct row *row, const struct question *q, const struct scope_set *set,
                  struct estimates *out)
{
    for (size_t i = 0; i < set->scopes.n; i++) {
        const struct scope *s = &set->scopes.v[i];
        size_t kept = out->all.n;
        formula_apply(&row->formula, s, row->sign != NULL ? row->sign : row->applies, out);
        for (size_t k = kept; k < out->all.n; k++) {
            struct estimate e = out->all.v[k];
            bool stands =
                e.request != NULL ? explains(row, s, e.request) : row->applies == NULL || e.sign;
            if (row->sign == NULL && row->formula.fn == NULL)
                e.sign = false;
            if (stands)
                out->all.v[kept++] = e;
        }
        out->all.n = kept;
    }
    if (q->name->inverse)
        estimates_invert(out);
}

/* The reading of a row that meets the claim; the widest set wins. */
static bool row_meets(const struct row *row, const struct question *q, struct reading *r)
{
    bool met = false;
    for (size_t set = 0; set < q->sets.n && !met; set++) {
        struct estimates all = {0};
        apply(row, q, &q->sets.v[set], &all);
        estimates_sort(&all);
        met = question_fits(q, set, &all, r) &&
              (r->estimate.sign || interval_spread(r->estimate.interval) <= WIDEST);
        estimates_free(&all);
    }
    return met;
}

static int by_rank(const void *a, const void *b)
{
    const struct cause *x = a, *y = b;
    if (x->by_sign != y->by_sign)
        return x->by_sign ? -1 : 1;
    double p = interval_spread(x->interval), q = interval_spread(y->interval);
    if (p != q)
        return p < q ? -1 : 1;
    return strcmp(x->id, y->id);
}

/* Of a cause's several formulas the one that comes nearest to the claim is the one that was used;
 * the width of an interval says nothing of that. */
static bool is_nearer(const struct cause *x, const struct cause *than, double claimed)
{
    if (x->by_sign != than->by_sign)
        return x->by_sign;
    return fabs(log(x->value / claimed)) < fabs(log(than->value / claimed));
}

static void take(struct claim *c, const struct cause *found)
{
    for (size_t i = 0; i < c->causes.n; i++) {
        struct cause *had = &c->causes.v[i];
        if (strcmp(had->id, found->id) == 0) {
            if (is_nearer(found, had, c->claimed))
                *had = *found;
            return;
        }
    }
    VEC_PUSH(&c->causes, *found);
}

static void try_row(const struct row *row, const struct question *q, struct claim *c)
{
    struct reading r;
    if ((row->subjects & (unsigned)q->name->subject) == 0 || !row_meets(row, q, &r))
        return;
    const char *text = row->formula.text;
    bool invert = q->name->inverse && row->formula.fn != formula_ratio_of_sums;
    struct cause found = {
        .id = row->id,
        .title = row->title,
        .formula = audit_printf(q->a, invert ? "1/(%s)%s" : "%s%s", text, reading_text(q->a, &r)),
        .value = r.estimate.value,
        .interval = r.estimate.interval,
        .by_sign = r.estimate.sign,
        .note = row->sign == NULL || r.estimate.sign ? row->note : NULL,
    };
    take(c, &found);
}

/* Powers of ten fit too easily: only if nothing else does, and only a thousand at a time. */
static void try_powers(const struct question *q, struct claim *c)
{
    static const double powers[] = {1e3, 1e-3, 1e6, 1e-6, 1e9, 1e-9};
    const struct definition *d = q->definitions[0];
    struct estimates all = {0};
    struct estimate e;
    enum dimension dim = q->name->dimension;
    for (size_t i = 0; q->sets.n > 0 && i < q->sets.v[0].scopes.n; i++)
        definition_apply(d, &q->sets.v[0].scopes.v[i], &all);
    estimates_sort(&all);
    enum stat stat = all.all.n == 1 ? STAT_VALUE : q->stat == STAT_VALUE ? STAT_P50 : q->stat;
    bool any = (dim == DIM_TIME || dim == DIM_TOKEN_RATE) && estimates_stat(&all, stat, &e) &&
               interval_spread(e.interval) <= POWER_SPREAD;
    for (size_t i = 0; any && i < sizeof powers / sizeof *powers; i++) {
        struct cause found = {.id = "P34",
                              .title = "Time unit error",
                              .formula = audit_printf(q->a, "%s * %g", d->name, powers[i]),
                              .value = e.value * powers[i],
                              .interval = interval_scale(e.interval, powers[i])};
        if (interval_meets(found.interval, q->claimed))
            VEC_PUSH(&c->causes, found);
    }
    estimates_free(&all);
}

void causes_find(const struct question *q, struct claim *c)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        try_row(&rows[i], q, c);
    if (c->causes.n > 1)
        qsort(c->causes.v, c->causes.n, sizeof *c->causes.v, by_rank);
    if (c->causes.n == 0)
        try_powers(q, c);
}
