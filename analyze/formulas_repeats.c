/* Speedups that a repeated prompt, or the order of two runs, seems to give. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/formulas_parts.h"
#include "analyze/metrics.h"
#include "analyze/stat.h"
#include "traces/base/mem.h"

/* --- prompts that come again ------------------------------------------------------------------ */

static int by_body(const void *a, const void *b)
{
    const struct request *x = *(const struct request *const *)a;
    const struct request *y = *(const struct request *const *)b;
    int order = strcmp(x->body_sha256, y->body_sha256);
    return order != 0 ? order : (x->t0 > y->t0) - (x->t0 < y->t0);
}

/* Those that were alone and whose body is known, the same bodies together. */
static const struct request **bodies_alone(const struct scope *s, size_t *n)
{
    const struct request **v = mem_array(s->requests.n + 1, sizeof *v);
    *n = 0;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        if (scope_times(s, r) && r->alone && r->body_sha256 != NULL)
            v[(*n)++] = r;
    }
    qsort(v, *n, sizeof *v, by_body);
    return v;
}

static bool same_body(const struct request *x, const struct request *y)
{
    return strcmp(x->body_sha256, y->body_sha256) == 0;
}

static struct interval ttft(const struct scope *s, const struct request *r)
{
    struct interval i = formula_span(s, r->t0, formula_when(r, AT_O1));
    return (struct interval){fmax(i.lo, 0), i.hi};
}

enum { NEW_MOST = 256 };
#define NEW_AS_FAST 1.25 /* a new prompt, sent later, takes so many times a repeat's at most … */
#define SAME_PROMPT 0.2  /* … if its length is within that share of it */

/* The first of each body; of very many, some tell. */
struct fresh {
    const struct request *v[NEW_MOST];
    size_t n;
};

static void find_fresh(const struct request *const *v, size_t n, struct fresh *out)
{
    out->n = 0;
    for (size_t i = 0; i < n && out->n < NEW_MOST; i++) {
        if (i == 0 || !same_body(v[i - 1], v[i]))
            out->v[out->n++] = v[i];
    }
}

/* Was another prompt, about as long and sent after the first of the repeat r, just as fast? */
static bool new_is_as_fast(const struct fresh *fresh, const struct request *first,
                           const struct request *r)
{
    double repeat = (double)(formula_when(r, AT_O1) - r->t0);
    for (size_t i = 0; i < fresh->n; i++) {
        const struct request *x = fresh->v[i];
        double off = fabs((double)(x->usage.prompt - r->usage.prompt));
        if (x->t0 > first->t0 && x->usage.prompt > 0 && x->usage.cached <= 0 &&
            off <= SAME_PROMPT * (double)r->usage.prompt &&
            (double)(formula_when(x, AT_O1) - x->t0) <= NEW_AS_FAST * repeat)
            return true;
    }
    return false;
}

/* ttft of the first of a body over that of its repeats; cached: those that a cache served. */
static void repeats(const struct scope *s, bool cached, struct estimates *out)
{
    size_t n;
    const struct request **v = bodies_alone(s, &n);
    struct fresh fresh;
    find_fresh(v, n, &fresh);
    for (size_t i = 1, first = 0; i < n; i++) {
        if (!same_body(v[i], v[first])) {
            first = i;
            continue;
        }
        const struct request *r = v[i];
        if (cached ? r->usage.cached <= 0 : r->usage.cached != 0)
            continue;
        struct interval before = ttft(s, v[first]), after = ttft(s, r);
        double gain = (before.lo + before.hi) / (after.lo + after.hi);
        bool sign = cached || new_is_as_fast(&fresh, v[first], r);
        estimates_add(out, (struct estimate){gain, interval_div(before, after), NULL, sign});
    }
    free(v);
}

void formula_gain_of_cache(const struct scope *s, struct estimates *out)
{
    repeats(s, true, out);
}

void formula_gain_of_repeat(const struct scope *s, struct estimates *out)
{
    repeats(s, false, out);
}

/* --- order ------------------------------------------------------------------------------------ */

enum { ORDERED_MIN = 8 }; /* requests of a trace, that show a trend */
#define GAIN_LEFT 0.5     /* of a gain, at most, that the trend does not explain */
#define GAIN_MIN 1.05

/* A trace's figures in the order in which it got them. */
struct series {
    double *log_v, *order;
    size_t n;
    struct stat_line trend;
    double mean;
    struct interval median; /* of the figures themselves */
    double value;
};

static void series_free(struct series *x)
{
    free(x->log_v);
    free(x->order);
}

static struct series series_of(const struct scope *s, size_t trace, const struct formula *f)
{
    struct scope part = {.a = s->a, .o = s->o, .rate_bounds = s->rate_bounds};
    for (size_t i = 0; i < s->requests.n; i++) {
        if (scope_nth(s, i)->trace == trace && !formula_collected(s, scope_nth(s, i)))
            VEC_PUSH(&part.requests, s->requests.v[i]);
    }
    struct estimates all = {0};
    struct estimate e;
    struct series x = {.log_v = mem_array(part.requests.n + 1, sizeof(double)),
                       .order = mem_array(part.requests.n + 1, sizeof(double))};
    formula_apply(f, &part, NULL, &all);
    for (size_t i = 0; i < all.all.n; i++) {
        if (!(all.all.v[i].value > 0) || isinf(all.all.v[i].value))
            continue;
        x.order[x.n] = (double)x.n;
        x.log_v[x.n++] = log(all.all.v[i].value);
    }
    x.trend = stat_fit(x.order, x.log_v, x.n);
    x.mean = x.n > 0 ? stat_mean(x.log_v, x.n) : NAN;
    estimates_sort(&all);
    if (estimates_stat(&all, all.all.n > 1 ? STAT_P50 : STAT_VALUE, &e)) {
        x.median = e.interval;
        x.value = e.value;
    }
    estimates_free(&all);
    VEC_FREE(&part.requests);
    return x;
}

/* Do both go the same way as the gain, in themselves, and is little of it left without that? */
static bool drifts(const struct series *a, const struct series *b)
{
    double gain = b->mean - a->mean, apart = (double)(a->n + b->n) / 2;
    if (a->n < ORDERED_MIN || b->n < ORDERED_MIN || fabs(gain) < log(GAIN_MIN))
        return false;
    double sign = gain > 0 ? 1 : -1;
    bool both = sign * a->trend.slope > 0 && sign * b->trend.slope > 0 &&
                a->trend.interval.lo * a->trend.interval.hi > 0 &&
                b->trend.interval.lo * b->trend.interval.hi > 0;
    double trend = (a->trend.slope + b->trend.slope) / 2 * apart;
    return both && sign * (gain - trend) <= GAIN_LEFT * fabs(gain);
}

/* The gain of the second of two traces over the first, where their figures drift anyway. */
static void gain_of_order(const struct scope *s, const struct formula *f, struct estimates *out)
{
    if (s->a->traces.n != 2 || s->requests.n < 2 * ORDERED_MIN)
        return;
    size_t first = s->a->traces.v[0].epoch_ns <= s->a->traces.v[1].epoch_ns ? 0 : 1;
    struct series a = series_of(s, first, f), b = series_of(s, 1 - first, f);
    if (a.value > 0 && b.value > 0 && drifts(&a, &b)) {
        bool time = f->shape == SHAPE_TIME;
        estimates_add(out, (struct estimate){time ? a.value / b.value : b.value / a.value,
                                             time ? interval_div(a.median, b.median)
                                                  : interval_div(b.median, a.median),
                                             NULL, true});
    }
    series_free(&a);
    series_free(&b);
}

void formula_order_whole_rate(const struct scope *s, struct estimates *out)
{
    static const struct formula f = {"", SHAPE_RATE, COUNT_N, AT_T0, AT_OM, false, NULL};
    gain_of_order(s, &f, out);
}

void formula_order_decode_rate(const struct scope *s, struct estimates *out)
{
    static const struct formula f = {"", SHAPE_RATE, COUNT_N_LESS_N1, AT_O1, AT_OM, false, NULL};
    gain_of_order(s, &f, out);
}

void formula_order_ttft(const struct scope *s, struct estimates *out)
{
    static const struct formula f = {"", SHAPE_TIME, COUNT_NONE, AT_T0, AT_O1, false, NULL};
    gain_of_order(s, &f, out);
}
