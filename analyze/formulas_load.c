/* What is made of many requests at once: users, plans, windows, labels. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/formulas_parts.h"
#include "analyze/metrics.h"
#include "analyze/metrics_flow.h"
#include "analyze/stat.h"
#include "traces/base/mem.h"

/* --- users ------------------------------------------------------------------------------------ */

static int64_t peak_of(const struct flight_curve *c)
{
    int64_t peak = 0;
    for (size_t i = 0; i < c->n; i++)
        peak = c->v[i].in_flight > peak ? c->v[i].in_flight : peak;
    return peak;
}

/* Most requests in flight at once: what is called the number of users. */
static double users(const struct scope *s)
{
    struct flight_curve c = {0};
    metrics_concurrency(s->a, s->requests.v, s->requests.n, &c);
    int64_t peak = peak_of(&c);
    VEC_FREE(&c);
    return (double)peak;
}

/* Requests between two of their marks, on the average from the first to the last. */
static double busy_between(const struct scope *s, enum when from, enum when to)
{
    int64_t sum = 0, first = -1, last = -1;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        int64_t begin = formula_when(r, from), end = formula_when(r, to);
        if (begin < 0 || end < begin)
            continue;
        sum += end - begin;
        first = first < 0 || begin < first ? begin : first;
        last = end > last ? end : last;
    }
    return last > first ? (double)sum / (double)(last - first) : NAN;
}

#define BUSY_SHARE 0.9 /* of the users, below which not all of them are served at a time */

static bool mean_of(const struct scope *s, const struct formula *f, struct estimate *out)
{
    struct estimates all = {0};
    formula_apply(f, s, NULL, &all);
    estimates_sort(&all);
    bool any = estimates_stat(&all, STAT_MEAN, out) && out->value > 0;
    estimates_free(&all);
    out->interval.lo = fmax(out->interval.lo, 0);
    return any;
}

/* c times the figure of one user; its sign is that fewer are served at a time: those between from
 * and to. */
static void add_users(const struct scope *s, double value, struct interval interval, enum when from,
                      enum when to, struct estimates *out)
{
    double c = users(s);
    if (c > 1 && busy_between(s, from, to) < BUSY_SHARE * c)
        estimates_add(out, (struct estimate){.value = c * value,
                                             .interval = interval_scale(interval, c),
                                             .sign = true});
}

void formula_users_over_tpot(const struct scope *s, struct estimates *out)
{
    static const struct formula tpot = {"", SHAPE_PER, COUNT_N_LESS_1, AT_O1, AT_OM, false, NULL};
    struct estimate e;
    if (mean_of(s, &tpot, &e))
        add_users(s, 1 / e.value, interval_div(interval_exact(1), e.interval), AT_O1, AT_OM, out);
}

void formula_users_times_prefill(const struct scope *s, struct estimates *out)
{
    static const struct formula prefill = {"", SHAPE_RATE, COUNT_P, AT_T0, AT_O1, false, NULL};
    struct estimate e;
    if (mean_of(s, &prefill, &e))
        add_users(s, e.value, e.interval, AT_T0, AT_O1, out);
}

void formula_users_over_ttft(const struct scope *s, struct estimates *out)
{
    static const struct formula prompt = {"", SHAPE_COUNT, COUNT_P, AT_NONE, AT_NONE, false, NULL};
    static const struct formula ttft = {"", SHAPE_TIME, COUNT_NONE, AT_T0, AT_O1, false, NULL};
    struct estimate n, wait;
    if (mean_of(s, &prompt, &n) && mean_of(s, &ttft, &wait))
        add_users(s, n.value / wait.value, interval_div(n.interval, wait.interval), AT_T0, AT_O1,
                  out);
}

enum {
    FOLLOWERS_MIN = 10,
    FOLLOWS_NS = 20 * NS_PER_MS /* a request that waited for a place is sent so soon after */
};
#define FOLLOWS_SHARE 0.1 /* … and within that share of the time between two */
#define FOLLOW_SHARE 0.95 /* of the requests, that were sent as another ended */
#define PLATEAU_SHARE 0.9 /* of the time that requests were sent in */

/* When each of them ended. */
static int64_t *ends_of(const struct scope *s)
{
    int64_t *ends = mem_array(s->requests.n + 1, sizeof *ends);
    for (size_t i = 0; i < s->requests.n; i++)
        ends[i] = scope_nth(s, i)->t_end;
    stat_sort_ns(ends, s->requests.n);
    return ends;
}

/* Was each request from full_ns on sent as another ended? By chance, few are. */
static bool all_follow(const struct scope *s, int64_t full_ns, int64_t last_t0)
{
    size_t sent = 0, follow = 0;
    for (size_t i = 0; i < s->requests.n; i++)
        sent += scope_nth(s, i)->t0 > full_ns;
    if (sent < FOLLOWERS_MIN)
        return false;
    double soon = fmin(FOLLOWS_NS, FOLLOWS_SHARE * (double)(last_t0 - full_ns) / (double)sent);
    int64_t *ends = ends_of(s);
    for (size_t i = 0, e = 0; i < s->requests.n; i++) {
        int64_t t0 = scope_nth(s, i)->t0;
        while (e < s->requests.n && ends[e] <= t0)
            e++;
        follow += t0 > full_ns && e > 0 && (double)(t0 - ends[e - 1]) <= soon;
    }
    free(ends);
    return (double)follow >= FOLLOW_SHARE * (double)sent;
}

/* What the wire shows of a cap: as many as it allows, nearly all of the time. *full_ns: since when.
 */
static bool is_plateau(const struct flight_curve *c, int64_t peak, int64_t last_t0,
                       int64_t *full_ns)
{
    int64_t first = -1, at_peak = 0;
    for (size_t i = 0; i + 1 < c->n; i++) {
        if (c->v[i].in_flight == peak && first < 0)
            first = c->v[i].t_ns;
        int64_t end = c->v[i + 1].t_ns < last_t0 ? c->v[i + 1].t_ns : last_t0;
        if (c->v[i].in_flight == peak && end > c->v[i].t_ns)
            at_peak += end - c->v[i].t_ns;
    }
    *full_ns = first;
    return first >= 0 && (double)at_peak >= PLATEAU_SHARE * (double)(last_t0 - first);
}

/* Whatever was asked for above the cap: the rest waited in the client. */
void formula_capped_users(const struct scope *s, struct estimates *out)
{
    struct flight_curve c = {0};
    int64_t full_ns, last_t0 = -1;
    for (size_t i = 0; i < s->requests.n; i++)
        last_t0 = scope_nth(s, i)->t0 > last_t0 ? scope_nth(s, i)->t0 : last_t0;
    metrics_concurrency(s->a, s->requests.v, s->requests.n, &c);
    int64_t peak = peak_of(&c);
    if (peak > 1 && is_plateau(&c, peak, last_t0, &full_ns) && all_follow(s, full_ns, last_t0))
        estimates_add(out,
                      (struct estimate){(double)peak + 1,
                                        (struct interval){(double)peak + 1, INFINITY}, NULL, true});
    VEC_FREE(&c);
}

/* --- the plan --------------------------------------------------------------------------------- */

#define LATE_SHARE 0.05 /* of the plan's time, by which it was not kept */

/* Requests per second as the ledger had them due. */
void formula_planned_rate(const struct scope *s, struct estimates *out)
{
    int64_t first = -1, last = -1, first_t0 = -1, last_t0 = -1;
    double n = 0;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        if (r->ledger == NULL || r->ledger->due_ns < 0)
            return;
        int64_t due = r->ledger->due_ns;
        first = first < 0 || due < first ? due : first;
        last = due > last ? due : last;
        first_t0 = first_t0 < 0 || r->t0 < first_t0 ? r->t0 : first_t0;
        last_t0 = r->t0 > last_t0 ? r->t0 : last_t0;
        n++;
    }
    double planned = span_seconds(first, last), sent = span_seconds(first_t0, last_t0);
    if (n > 2 && planned > 0 && sent > (1 + LATE_SHARE) * planned)
        estimates_add(out, (struct estimate){n / planned,
                                             (struct interval){(n - 1) / planned, n / planned},
                                             NULL, true});
}

/* --- windows ---------------------------------------------------------------------------------- */

#define FIRSTS_SPREAD 0.2 /* of the common window, between the first texts */

/* Requests that decode in one window. */
struct window {
    int64_t first, latest_first, last;
    size_t n;
};

static void window_add(struct window *w, const struct request *r)
{
    int64_t o1 = formula_when(r, AT_O1), om = formula_when(r, AT_OM);
    w->first = w->n == 0 || o1 < w->first ? o1 : w->first;
    w->latest_first = w->n == 0 || o1 > w->latest_first ? o1 : w->latest_first;
    w->last = w->n == 0 || om > w->last ? om : w->last;
    w->n++;
}

static int by_group(const void *a, const void *b)
{
    const struct request *x = *(const struct request *const *)a;
    const struct request *y = *(const struct request *const *)b;
    if (x->run != y->run)
        return x->run < y->run ? -1 : 1;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x->t0 > y->t0) - (x->t0 < y->t0);
}

/* Is r of the same window as the request before it in that order? Without groups, of those that
 * each ran beside another of them. */
static bool window_holds(const struct window *w, const struct request *before,
                         const struct request *r)
{
    return r->run == before->run && r->group == before->group && (r->group >= 0 || r->t0 < w->last);
}

#define WINDOW_MOST 2000 /* requests of a run, of which one is asked about */

/* Those whose windows may be mixed; of a claim about one request, all of its run. By group. */
static size_t window_requests(const struct scope *s, const struct request **v)
{
    const struct request *one = s->one ? scope_nth(s, 0) : NULL;
    size_t n = 0, all = one != NULL ? s->a->requests.n : s->requests.n;
    for (size_t i = 0; i < all && (one == NULL || all <= WINDOW_MOST); i++) {
        const struct request *r = one != NULL ? &s->a->requests.v[i] : scope_nth(s, i);
        bool of_run = one == NULL || (r->run == one->run && metrics_request_counts(r));
        if (of_run && scope_times(s, r) && !isnan(formula_count(r, COUNT_N)))
            v[n++] = r;
    }
    qsort(v, n, sizeof *v, by_group);
    return n;
}

/* Each user's tokens over the window of all of its group. */
void formula_common_window(const struct scope *s, struct estimates *out)
{
    size_t most = s->one ? s->a->requests.n : s->requests.n;
    const struct request **v = mem_array(most + 1, sizeof *v);
    size_t n = window_requests(s, v);
    for (size_t i = 0, end; i < n; i = end) {
        struct window w = {0};
        for (end = i; end < n && (end == i || window_holds(&w, v[end - 1], v[end])); end++)
            window_add(&w, v[end]);
        double window = span_seconds(w.first, w.last);
        if (w.n < 2 || window <= 0)
            continue;
        bool spread = span_seconds(w.first, w.latest_first) > FIRSTS_SPREAD * window;
        for (size_t k = i; k < end; k++) {
            double tokens = formula_count(v[k], COUNT_N);
            struct interval count = {tokens - 1, tokens};
            if (s->one && v[k] != scope_nth(s, 0))
                continue;
            estimates_add(out,
                          (struct estimate){tokens / window,
                                            interval_div(count, formula_span(s, w.first, w.last)),
                                            v[k], spread});
        }
    }
    free(v);
}

/* --- labels ----------------------------------------------------------------------------------- */

enum { LENGTHS_MIN = 20 };
#define LENGTHS_SPREAD 0.04 /* of the longest, between the shortest and the longest at least */
#define UNIFORM_D 1.36      /* Kolmogorov and Smirnov's, times the root of n, at 5 % */
#define ASKED_SHARE 0.9     /* of the answers, as long as was asked for */

/* Are they drawn evenly between the shortest and the longest? v ascending. */
static bool is_uniform(const double *v, size_t n)
{
    double lo = v[0], hi = v[n - 1], d = 0;
    for (size_t i = 0; i < n; i++) {
        double at = (v[i] - lo) / (hi - lo);
        d = fmax(d, fmax(fabs(at - (double)i / (double)n), fabs(at - (double)(i + 1) / (double)n)));
    }
    return d < UNIFORM_D / sqrt((double)n);
}

/* The length that lengths were drawn below, as their longest tells it. */
static void label(const struct scope *s, enum count count, bool asked, struct estimates *out)
{
    double *v = mem_array(s->requests.n + 1, sizeof *v);
    size_t n = 0, as_asked = 0;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        double length = formula_count(r, count);
        if (!formula_counts(s, r) || isnan(length))
            continue;
        v[n++] = length;
        as_asked += length == formula_count(r, COUNT_ASKED);
    }
    stat_sort(v, n);
    if (n >= LENGTHS_MIN && v[n - 1] - v[0] >= LENGTHS_SPREAD * v[n - 1] && is_uniform(v, n) &&
        (!asked || (double)as_asked >= ASKED_SHARE * (double)n)) {
        double longest = v[n - 1], beyond = (longest - v[0]) / (double)n;
        estimates_add(out, (struct estimate){longest + beyond,
                                             (struct interval){longest, longest + 3 * beyond}, NULL,
                                             true});
    }
    free(v);
}

void formula_label_of_prompts(const struct scope *s, struct estimates *out)
{
    label(s, COUNT_P, false, out);
}

void formula_label_of_answers(const struct scope *s, struct estimates *out)
{
    label(s, COUNT_N, true, out);
}
