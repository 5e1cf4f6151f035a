/* A claim against the catalogue. Rows of one id stand together; a claim gets at most one of them.
 */
#include "analyze/causes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/catalogue.h"
#include "analyze/causes_row.h"

#define PACKED 1.1        /* tokens an event, from which events are no tokens */
#define WIDEST 2.0        /* hi/lo of an interval that still says something by its number */
#define EXACT_SPREAD 1.02 /* … and of one by which it can tell that it gives the claim exactly */
#define PARSE_SHARE 0.1   /* of the wait for the head, below which it was parsing alone */
#define POWER_SPREAD 1.1  /* the same for powers of ten, which fit easily */

const struct cause_rows *const cause_tables[] = {
    &causes_counts,     &causes_times,    &causes_streams, &causes_load,
    &causes_statistics, &causes_failures, &causes_stated};
const size_t cause_tables_n = sizeof cause_tables / sizeof *cause_tables;

bool cause_apart(const struct scope *s, int64_t earlier, int64_t later)
{
    return earlier >= 0 && later >= 0 && later - earlier > 2 * s->o->vantage_ns;
}

bool cause_packed(const struct scope *s, const struct request *r)
{
    (void)s;
    int64_t n = request_tokens(r);
    return r->out.n > 1 && (double)n >= PACKED * (double)r->out.n;
}

bool cause_early_head(const struct scope *s, const struct request *r)
{
    return cause_apart(s, r->h, formula_when(r, AT_O1));
}

/* Does it take a burst for decoding, unless it is about bursts? */
static bool of_decoding(const struct cause_row *row)
{
    return (row->subjects & SUBJECTS_DECODING) != 0 && row->applies != formula_collected;
}

/* Text that stays behind a collected answer's burst has another cause than the row's own. */
static bool explains(const struct cause_row *row, const struct scope *s, const struct request *r)
{
    if (row->applies != NULL && !row->applies(s, r))
        return false;
    return !of_decoding(row) || !formula_collected(s, r);
}

/* Figures of one request stand together: it is looked at once. */
struct looked {
    const struct request *r;
    bool stands, sign;
};

static bool look(const struct cause_row *row, const struct scope *s, const struct request *r,
                 struct looked *at)
{
    if (at->r != r)
        *at = (struct looked){r, explains(row, s, r), row->sign != NULL && row->sign(s, r)};
    return at->stands;
}

/* Counts are added up over all requests: where one shows the mistake, it was made with all. */
static bool made_with_all(const struct cause_row *row, const struct scope *s,
                          const struct estimate *v, size_t n)
{
    bool counts = row->formula.shape == SHAPE_COUNT && row->formula.fn == NULL;
    struct looked at = {0};
    for (size_t i = 0; counts && row->applies != NULL && i < n; i++) {
        if (v[i].request != NULL && look(row, s, v[i].request, &at))
            return true;
    }
    return false;
}

/* Requests that have text to take a figure from. */
static size_t requests_with_text(const struct scope *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = &s->a->requests.v[s->requests.v[i]];
        n += formula_counts(s, r) && r->out.n > 0;
    }
    return n;
}

/* A figure of many requests is of all of them: a formula that holds for few of them can have given
 * the least or the most, and no more. v: estimates that stand, those of a request together. */
static bool holds_for_few(const struct question *q, const struct scope *s, const struct estimate *v,
                          size_t n)
{
    size_t requests = 0;
    if (n == 0 || v[0].request == NULL || (q->stat >= STAT_P90 && q->stat <= STAT_MAX))
        return false;
    for (size_t i = 0; i < n; i++)
        requests += i == 0 || v[i].request != v[i - 1].request;
    return 2 * requests < requests_with_text(s);
}

/* Of which requests a row's formula is taken: those that it stands for, or of all, as who makes the
 * mistake does. */
enum whose { WHERE_IT_STANDS, OF_ALL };

static void apply_to_scope(const struct cause_row *row, const struct question *q,
                           const struct scope *s, enum whose whose, struct estimates *out)
{
    size_t before = out->all.n, kept = before;
    formula_apply(&row->formula, s, row->sign != NULL ? row->sign : row->applies, out);
    if (out->all.n == before) /* and perhaps no array yet */
        return;
    bool all = made_with_all(row, s, out->all.v + before, out->all.n - before);
    struct looked at = {0};
    size_t stand = 0;
    for (size_t k = before; k < out->all.n; k++) {
        struct estimate e = out->all.v[k];
        bool stands = row->applies == NULL || e.sign;
        if (e.request != NULL)
            stands = look(row, s, e.request, &at) || all;
        if (row->sign == NULL && row->formula.fn == NULL)
            e.sign = false;
        if (row->sign != NULL && row->formula.fn != NULL && e.request != NULL)
            e.sign = at.sign;
        stand += stands;
        if (stands || whose == OF_ALL)
            out->all.v[kept++] = e;
    }
    bool chosen = row->applies != NULL || row->formula.fn == NULL;
    bool few = chosen && holds_for_few(q, s, out->all.v + before, kept - before);
    out->all.n = few || stand == 0 ? before : kept;
}

static void apply(const struct cause_row *row, const struct question *q,
                  const struct scope_set *set, enum whose whose, struct estimates *out)
{
    for (size_t i = 0; i < set->scopes.n; i++)
        apply_to_scope(row, q, &set->scopes.v[i], whose, out);
    if (q->name->inverse && !row->per_token)
        estimates_invert(out);
}

static double distance(double x, struct interval i)
{
    return x < i.lo ? i.lo - x : x > i.hi ? x - i.hi : 0;
}

/* What is together at a client that reads blocks is only known to be less than how late it stamps:
 * that meets every small claim, and is looked at where nothing else fits. */
static bool is_last_resort(const struct cause_row *row)
{
    return row->formula.fn == formula_block_median;
}

/* Is the interval so wide that it would meet nearly anything? A sign on the wire makes up for that,
 * but not where a rate divides by next to no time: bursts are their own rows. */
static bool says_nothing(const struct cause_row *row, const struct estimate *e)
{
    if (is_last_resort(row))
        return false;
    bool sure = e->sign && !(row->formula.shape == SHAPE_RATE && of_decoding(row));
    return !sure && interval_spread(e->interval) > WIDEST;
}

/* Is a formula's result so little known that it may be the right figure as well? Then its number
 * doesn't tell what made the claim a wrong one. */
static bool may_be_right(double right, const struct estimate *e)
{
    return !e->sign && interval_meets(e->interval, interval_exact(right));
}

/* Is the claim a mean, to which every request adds its part? */
static bool takes_mean(const struct question *q)
{
    return q->stat == STAT_MEAN;
}

/* Are there requests with text that no estimate is of? Not yet sorted: those of a request stand
 * together. */
static bool leaves_some_out(const struct scope_set *set, const struct estimates *e)
{
    size_t of = 0, all = 0;
    for (size_t i = 0; i < e->all.n; i++)
        of += e->all.v[i].request != NULL &&
              (i == 0 || e->all.v[i].request != e->all.v[i - 1].request);
    for (size_t i = 0; i < set->scopes.n; i++)
        all += requests_with_text(&set->scopes.v[i]);
    return of > 0 && of < all;
}

/* The reading of a row that meets the claim; the widest set wins. */
static bool row_meets(const struct cause_row *row, const struct question *q, struct reading *r,
                      bool *of_some)
{
    bool met = false;
    for (size_t i = 0; i < 2 * q->sets.n && !met; i++) {
        struct estimates all = {0};
        enum whose whose = i % 2 == 0 ? WHERE_IT_STANDS : OF_ALL;
        if (whose == OF_ALL && !takes_mean(q))
            continue;
        apply(row, q, &q->sets.v[i / 2], whose, &all);
        *of_some = leaves_some_out(&q->sets.v[i / 2], &all);
        estimates_sort(&all);
        met = question_fits(q, i / 2, &all, r) && !says_nothing(row, &r->estimate);
        estimates_free(&all);
    }
    return met;
}

/* A sign that some requests have is worth less than a formula that gives the claim of all of them
 * to the digit. */
static int rank_of(const struct cause *x)
{
    if (x->all_but_right)
        return 4;
    if (x->by_sign)
        return x->of_some && !x->exact ? 2 : 0;
    return x->exact && !x->of_some ? 1 : 3;
}

static int by_rank(const void *a, const void *b)
{
    const struct cause *x = a, *y = b;
    if (rank_of(x) != rank_of(y))
        return rank_of(x) < rank_of(y) ? -1 : 1;
    if (x->of_part != y->of_part)
        return x->of_part ? 1 : -1;
    if (x->inverted != y->inverted)
        return x->inverted ? 1 : -1;
    if (x->exact != y->exact)
        return x->exact ? -1 : 1;
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

/* What the claim is off by from its own figure, as far as causes must explain it: a formula that
 * hardly differs from the right one meets a claim that hardly does, and says nothing. Infinite:
 * there is no figure, or so few digits were printed that their rounding is all there is. */
static double off_by(const struct question *q, const struct claim *c)
{
    double least = INFINITY, half = (q->claimed.hi - q->claimed.lo) / 2;
    struct reading r;
    if (half > 1.01 * q->o->tolerance * fabs(c->claimed))
        return INFINITY;
    for (size_t i = 0; i < sizeof q->definitions / sizeof *q->definitions; i++) {
        if (question_figure(q, q->definitions[i], &r))
            least = fmin(least, distance(c->claimed, r.estimate.interval));
    }
    return least;
}

/* Are most of the answers that a claim may be about sent in one go? What was left of them in some
 * part says nothing of the whole then. */
static bool mostly_collected(const struct question *q)
{
    size_t n = 0, collected = 0;
    for (size_t i = 0; i < q->sets.v[0].scopes.n; i++) {
        const struct scope *s = &q->sets.v[0].scopes.v[i];
        n += requests_with_text(s);
        for (size_t k = 0; k < s->requests.n; k++) {
            const struct request *r = &s->a->requests.v[s->requests.v[k]];
            collected += formula_counts(s, r) && formula_collected(s, r);
        }
    }
    return 2 * collected > n;
}

/* How the rows are tried. */
struct trial {
    const struct question *q;
    struct claim *c;
    bool beside;    /* a confirmed claim */
    double off;     /* off_by */
    double right;   /* the figure as defined; NAN: unknown */
    double ours;    /* beside a claim under its tool's definition: the figure by ours; NAN */
    bool collected; /* mostly_collected */
};

/* What a figure beside a confirmed claim is held against: the claim's own reading, but where it is
 * that reading itself, another count than its first one, the first. */
static double held_against(const struct trial *t, double value)
{
    bool same = value == t->c->recomputed && t->right > 0;
    if (!isnan(t->ours))
        return t->ours;
    return same && t->q->name->dimension == DIM_COUNT ? t->right : t->c->recomputed;
}

/* The wait for a document is the time of all of it. Where some answers are documents, the figure of
 * the streams alone is what one of all was moved from (P53); NAN: row takes none of both. */
static double of_streams(const struct cause_row *row, const struct question *q,
                         const struct reading *met)
{
    bool both = row->formula.fn == formula_ttft_mixed || row->formula.fn == formula_ttft_documents;
    struct question alike = *q;
    struct reading r;
    alike.stat = met->stat;
    for (size_t i = 0; both && i < q->sets.n; i++) {
        if (q->sets.v[i].label == met->label &&
            question_typical(&alike, i, &definitions[D_TTFT_STREAMS], &r))
            return r.estimate.value;
    }
    return NAN;
}

static double effect_of(const struct trial *t, double value, double streams)
{
    if (!t->beside)
        return NAN;
    return 100 * (value / (isnan(streams) ? held_against(t, value) : streams) - 1);
}

static const char *note_of(const struct cause_row *row, const struct question *q,
                           const struct reading *met, double streams)
{
    char text[64];
    if (row->sign != NULL && !met->estimate.sign)
        return NULL;
    if (isnan(streams))
        return row->note;
    return audit_printf(q->a, "%s; of the streams alone it is %s", row->note,
                        claim_value_text(q->name->dimension, streams, text));
}

/* Does it give the claim as printed, the tolerance aside, and little else? */
static bool is_exact(const struct claim *c, struct interval i)
{
    return interval_spread(i) <= EXACT_SPREAD &&
           interval_meets(i, interval_around(c->claimed, c->printed));
}

/* Where the figure is withheld, the claim may be what it would have been: then a formula from other
 * marks that comes to the same proves nothing. */
static bool is_all_but_right(const struct cause_row *row, const struct question *q)
{
    const struct formula *f = &row->formula;
    bool of_times = row >= causes_times.rows && row < causes_times.rows + causes_times.n;
    struct reading r;
    bool met = false;
    if (!of_times || (f->fn == NULL && f->from == AT_O1 && f->to == AT_OM))
        return false;
    for (size_t i = 0; i < CLAIM_DEFINITIONS && q->definitions[i] != NULL && !met; i++) {
        struct definition d = *q->definitions[i];
        d.gate = -1;
        met = question_figure(q, &d, &r) && interval_meets(r.estimate.interval, q->claimed);
    }
    return met;
}

/* A claim that is confirmed is that what its name says first: what else it may stand for was no
 * mistake. */
static unsigned subjects_tried(const struct trial *t)
{
    return (unsigned)t->q->name->subject | (t->beside ? 0 : t->q->name->also);
}

static void try_row(const struct cause_row *row, const struct trial *t)
{
    const struct question *q = t->q;
    struct reading r;
    bool of_some;
    if ((row->subjects & subjects_tried(t)) == 0 || !row_meets(row, q, &r, &of_some) ||
        distance(t->c->claimed, r.estimate.interval) > t->off / 2 ||
        (!t->beside && may_be_right(t->right, &r.estimate)) ||
        (t->collected && r.label != NULL && of_decoding(row)))
        return;
    const char *text = row->formula.text;
    bool invert = q->name->inverse && !row->per_token;
    double streams = of_streams(row, q, &r);
    struct cause found = {
        .id = row->id,
        .title = catalogue_find(row->id)->title,
        .formula = audit_printf(q->a, invert ? "1/(%s)%s" : "%s%s", text, reading_text(q->a, &r)),
        .value = r.estimate.value,
        .interval = r.estimate.interval,
        .by_sign = r.estimate.sign,
        .of_part = r.label != NULL,
        .inverted = invert,
        .note = note_of(row, q, &r, streams),
        .effect_percent = effect_of(t, r.estimate.value, streams),
        .exact = is_exact(t->c, r.estimate.interval),
        .of_some = of_some,
        .all_but_right = isnan(t->right) && is_all_but_right(row, q),
    };
    bool moves = isfinite(found.effect_percent) && found.effect_percent != 0;
    bool known = interval_spread(found.interval) <= WIDEST;
    if (!t->beside || (found.by_sign && moves && known))
        take(t->c, &found);
}

/* A claim that is confirmed as what its tool prints may be far from the figure all the same. */
static double ours(const struct question *q)
{
    struct reading r;
    bool own = q->basis != NULL && q->basis->formula != NULL && q->definitions[0] == &q->own[0];
    return own && question_recomputed(q, q->name->definitions[0], &r) ? r.estimate.value : NAN;
}

static void try_all(const struct question *q, struct claim *c, bool beside, bool last_resort)
{
    struct reading own;
    struct trial t = {.q = q,
                      .c = c,
                      .beside = beside,
                      .off = beside ? INFINITY : off_by(q, c),
                      .right =
                          question_figure(q, q->definitions[0], &own) ? own.estimate.value : NAN,
                      .ours = ours(q),
                      .collected = mostly_collected(q)};
    for (size_t i = 0; i < cause_tables_n; i++) {
        for (size_t k = 0; k < cause_tables[i]->n; k++) {
            if (is_last_resort(&cause_tables[i]->rows[k]) == last_resort)
                try_row(&cause_tables[i]->rows[k], &t);
        }
    }
    if (c->causes.n > 1)
        qsort(c->causes.v, c->causes.n, sizeof *c->causes.v, by_rank);
}

/* A definition times powers of ten. */
static void try_powers_of(const struct question *q, const struct definition *d, struct claim *c)
{
    static const double powers[] = {1e3, 1e-3, 1e6, 1e-6, 1e9, 1e-9};
    struct estimates all = {0};
    struct estimate e;
    for (size_t i = 0; q->sets.n > 0 && i < q->sets.v[0].scopes.n; i++)
        definition_apply(d, &q->sets.v[0].scopes.v[i], &all);
    estimates_sort(&all);
    enum stat stat = all.all.n == 1 ? STAT_VALUE : q->stat == STAT_VALUE ? STAT_P50 : q->stat;
    bool any = estimates_stat(&all, stat, &e) && interval_spread(e.interval) <= POWER_SPREAD;
    for (size_t i = 0; any && i < sizeof powers / sizeof *powers; i++) {
        struct cause found = {.id = "P34",
                              .title = catalogue_find("P34")->title,
                              .formula = audit_printf(q->a, "%s * %g", d->name, powers[i]),
                              .value = e.value * powers[i],
                              .interval = interval_scale(e.interval, powers[i]),
                              .effect_percent = NAN};
        if (interval_meets(found.interval, q->claimed))
            VEC_PUSH(&c->causes, found);
    }
    estimates_free(&all);
}

/* Powers of ten fit too easily: only if nothing else does, and only a thousand at a time. */
static void try_powers(const struct question *q, struct claim *c)
{
    enum dimension dim = q->name->dimension;
    bool any = (dim == DIM_TIME || dim == DIM_TOKEN_RATE) && q->claimed.lo > 0;
    for (size_t i = 0; any && i < CLAIM_DEFINITIONS && q->definitions[i] != NULL; i++) {
        if (c->causes.n == 0)
            try_powers_of(q, q->definitions[i], c);
    }
}

/* Long before any byte of a reply: whose clock started when the reply had come, and was only
 * parsed.
 */
static void try_buffered(const struct question *q, struct claim *c)
{
    static const struct formula head = {"", SHAPE_TIME, COUNT_NONE, AT_T0, AT_H, false, NULL};
    struct estimates all = {0};
    struct estimate e;
    bool waits = q->name->subject == SUBJECT_TTFT || q->name->subject == SUBJECT_LATENCY;
    for (size_t i = 0; waits && i < q->sets.v[0].scopes.n; i++)
        formula_apply(&head, &q->sets.v[0].scopes.v[i], NULL, &all);
    estimates_sort(&all);
    if (estimates_stat(&all, all.all.n == 1 ? STAT_VALUE : STAT_MIN, &e) &&
        q->claimed.lo + q->claimed.hi >= 0 && q->claimed.hi < PARSE_SHARE * e.interval.lo)
        VEC_PUSH(&c->causes, ((struct cause){
                                 .id = "P27",
                                 .title = catalogue_find("P27")->title,
                                 .formula = "parsing time of the first event",
                                 .value = 0,
                                 .interval = {0, e.interval.lo},
                                 .by_sign = true,
                                 .note = "no byte of any reply had come by then",
                                 .effect_percent = NAN,
                             }));
    estimates_free(&all);
}

bool cause_of_counts(const char *id)
{
    for (size_t i = 0; i < causes_counts.n; i++) {
        if (strcmp(causes_counts.rows[i].id, id) == 0)
            return true;
    }
    return false;
}

bool causes_give(const struct claim *c)
{
    return c->causes.n > 0 && strcmp(c->causes.v[0].id, "P27") != 0;
}

void causes_find(const struct question *q, struct claim *c)
{
    try_all(q, c, false, false);
    if (c->causes.n == 0)
        try_powers(q, c);
    if (c->causes.n == 0)
        try_buffered(q, c);
    if (c->causes.n == 0)
        try_all(q, c, false, true);
}

void causes_find_beside(const struct question *q, struct claim *c)
{
    try_all(q, c, true, false);
}
