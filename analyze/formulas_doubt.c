/* A client's clock is not the wire's, nor are its tokens always the server's. */
#include "analyze/formulas_doubt.h"

#include <math.h>

#include "analyze/formulas_parts.h"

/* --- stamps ----------------------------------------------------------------------------------- */

static bool is_tail(enum stat stat)
{
    return stat == STAT_P90 || stat == STAT_P95 || stat == STAT_P99 || stat == STAT_MAX;
}

static double at_most(double late)
{
    return fmin(late, DOUBT_LATE_MOST_S);
}

/* A mean allows each request so much; a tail is of the one that had it all. */
static double late_of_scope(const struct scope *s)
{
    size_t n = is_tail(s->stat) ? s->requests.n : 1;
    return at_most(DOUBT_LATE_S * (double)n);
}

/* Connections that were opened together with r's, its own among them; 0: r opened none. */
static size_t opened_with(const struct audit *a, const struct request *r)
{
    size_t own = (size_t)(r - a->requests.v), n = r->syn_ns >= 0;
    size_t most = (size_t)(DOUBT_LATE_MOST_S / DOUBT_LATE_S);
    for (size_t i = own; n > 0 && n < most && i-- > 0;) {
        const struct request *x = &a->requests.v[i];
        if (x->trace != r->trace || r->t0 - x->t0 > DOUBT_TOGETHER_NS)
            break;
        n += x->syn_ns >= 0;
    }
    for (size_t i = own + 1; n > 0 && n < most && i < a->requests.n; i++) {
        const struct request *x = &a->requests.v[i];
        if (x->trace != r->trace || x->t0 - r->t0 > DOUBT_TOGETHER_NS)
            break;
        n += x->syn_ns >= 0;
    }
    return n;
}

double doubt_late(const struct scope *s, const struct request *r)
{
    return at_most(fmax(late_of_scope(s), DOUBT_LATE_S * (double)opened_with(s->a, r)));
}

/* By how much a span may be longer and shorter at the client. */
struct slip {
    double longer, shorter;
};

static bool of_sending(enum when w)
{
    return w == AT_T0 || w == AT_T0_END || w == AT_SYN;
}

static struct slip slip_of(const struct formula *f, const struct scope *s, const struct request *r,
                           double span)
{
    if (of_sending(f->from))
        return (struct slip){r != NULL ? doubt_late(s, r) : DOUBT_LATE_S, 0};
    if (f->from == AT_DUE)
        return (struct slip){DOUBT_LATE_S, 0};
    double late = fmax(DOUBT_LATE_S, fmin(late_of_scope(s), DOUBT_LATE_SHARE * span));
    return (struct slip){late, late};
}

/* The bounds of e as those of its span move. */
static void slip_by(const struct formula *f, struct interval span, struct slip x,
                    struct estimate *e)
{
    struct interval moved = {fmax(span.lo - x.shorter, 0), span.hi + x.longer};
    span.lo = fmax(span.lo, 0);
    if (f->shape == SHAPE_TIME) {
        e->interval.lo -= x.shorter;
        e->interval.hi += x.longer;
    } else if (f->shape == SHAPE_PER) {
        e->interval.lo *= span.lo > 0 ? moved.lo / span.lo : 0;
        e->interval.hi = span.hi > 0 ? e->interval.hi * moved.hi / span.hi : INFINITY;
    } else if (f->shape == SHAPE_RATE) {
        e->interval.lo *= span.hi / moved.hi;
        e->interval.hi = moved.lo > 0 ? e->interval.hi * span.lo / moved.lo : INFINITY;
    }
}

static void slip_request(const struct formula *f, const struct scope *s, struct estimate *e)
{
    const struct request *r = e->request;
    int64_t from = formula_when(r, f->from), to = formula_when(r, f->to);
    if (f->shape != SHAPE_COUNT && from >= 0 && to >= 0)
        slip_by(f, formula_span(s, from, to), slip_of(f, s, r, span_seconds(from, to)), e);
}

/* From the first request on, to when the client knew of the last one's end. */
static void slip_run(const struct formula *f, const struct scope *s, struct estimate *e)
{
    const struct request *first = NULL;
    int64_t to = -1;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        int64_t end = formula_when(r, f->to);
        if (first == NULL || r->t0 < first->t0)
            first = r;
        to = end > to ? end : to;
    }
    if (f->shape != SHAPE_COUNT && f->from == AT_T0 && first != NULL && to >= 0)
        slip_by(f, formula_span(s, first->t0, to), slip_of(f, s, first, 0), e);
}

/* What comes late makes a long gap, and a shorter one behind it: the tail alone is moved by that,
 * and the whole by no more than its two ends. */
static void slip_gap(const struct scope *s, struct estimate *e)
{
    bool mean = s->stat == STAT_MEAN || s->stat == STAT_SUM;
    if (!mean && !is_tail(s->stat))
        return;
    e->interval.hi += DOUBT_LATE_S;
    e->interval.lo -= mean ? DOUBT_LATE_S : fmin(DOUBT_LATE_S, DOUBT_CUT_SHARE * e->value);
}

static void slip(const struct formula *f, const struct scope *s, struct estimate *e, bool gaps)
{
    if (gaps)
        slip_gap(s, e);
    else if (f->fn == NULL && f->of_run)
        slip_run(f, s, e);
    else if (f->fn == NULL && e->request != NULL)
        slip_request(f, s, e);
}

/* --- counts ----------------------------------------------------------------------------------- */

#define ANY_FACTOR 1e9 /* of two tokens, one of which may be none */

/* Counted otherwise by a factor, and by one token that is not text, the end mark. */
static void miscount(const struct formula *f, const struct scope *s, struct estimate *e)
{
    double n = e->request != NULL ? formula_count(e->request, COUNT_N_LESS_1) : NAN;
    double by = s->miscount;
    if (f->fn == NULL && f->shape == SHAPE_COUNT) {
        e->interval.lo = fmin(e->interval.lo / by, e->interval.lo - 1);
        e->interval.hi = fmax(e->interval.hi * by, e->interval.hi + 1);
        return;
    }
    if (!isnan(n))
        by = n > 1 ? fmax(by, n / (n - 1)) : ANY_FACTOR;
    e->interval.lo /= by;
    e->interval.hi *= by;
}

void doubt_widen(const struct formula *f, const struct scope *s, size_t before,
                 struct estimates *out)
{
    bool gaps = out->streams > 0;
    if (s->miscount > 1)
        out->streams = 0; /* a count is in each gap, and does not cancel out */
    for (size_t i = before; i < out->all.n; i++) {
        if (s->late)
            slip(f, s, &out->all.v[i], gaps);
        if (s->miscount > 1)
            miscount(f, s, &out->all.v[i]);
    }
}
