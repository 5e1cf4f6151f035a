#include "analyze/formulas_lossy.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/formulas_failures.h"
#include "analyze/formulas_parts.h"
#include "traces/base/mem.h"

/* Where bytes were lost, the end of a reply may be among them, with nothing behind it to show. */
bool lossy_request(const struct scope *s, const struct request *r)
{
    if (r->outcome == OUTCOME_OPEN)
        return r->damaged || s->a->traces.v[r->trace].totals.tcp.gaps > 0;
    return r->dialect != NULL && r->damaged &&
           (r->outcome == OUTCOME_SUCCESS || r->outcome == OUTCOME_UNSEEN);
}

#define LATE_NS (100 * (int64_t)NS_PER_MS)

/* Replies without a request, from which nothing is seen when the trace begins: where those of
 * before it go on, the requests of these may have been lost. */
static size_t late_streams(const struct trace_info *t)
{
    const struct exchange_before *b = &t->totals.before;
    return b->streams > 0 && b->t_ns - t->totals.first_t_ns > LATE_NS ? (size_t)b->streams : 0;
}

/* Of what a client sent, so much is missing, and no request of the trace is smaller than its body:
 * that many requests may have been in it. */
static size_t hidden_in(const struct audit *a, size_t trace)
{
    uint64_t missing = a->traces.v[trace].totals.tcp.client_gap_bytes, smallest = UINT64_MAX;
    for (size_t i = 0; i < a->requests.n && missing > 0; i++) {
        const struct request *r = &a->requests.v[i];
        if (r->trace == trace && r->dialect != NULL && r->body_bytes > 0 && !r->damaged &&
            r->body_bytes < smallest)
            smallest = r->body_bytes;
    }
    size_t n = missing == 0 ? 0 : missing <= smallest ? 1 : (size_t)(missing / smallest);
    return n + late_streams(&a->traces.v[trace]);
}

size_t lossy_hidden(const struct scope *s)
{
    size_t n = 0, looked = SIZE_MAX;
    for (size_t i = 0; i < s->requests.n && !s->one; i++) {
        const struct request *r = scope_nth(s, i);
        if (r->trace != looked)
            n += hidden_in(s->a, r->trace);
        looked = r->trace;
    }
    return n;
}

size_t lossy_requests(const struct scope *s)
{
    size_t n = lossy_hidden(s);
    for (size_t i = 0; i < s->requests.n; i++)
        n += lossy_request(s, scope_nth(s, i));
    return n;
}

static double allowed(const struct request *r)
{
    int64_t limit = request_token_limit(r);
    return limit > 0 ? (double)limit : INFINITY;
}

/* No more of r than this. A token of a prompt is a byte of its request at least. */
static double most(const struct request *r, enum count c)
{
    double n = formula_count(r, c), prompt = fmax(formula_count(r, COUNT_P), 0);
    if (!isnan(n))
        return n;
    switch (c) {
    case COUNT_N:
        return allowed(r);
    case COUNT_P:
        return (double)r->body_bytes;
    case COUNT_P_AND_N:
        return allowed(r) + (prompt > 0 ? prompt : (double)r->body_bytes);
    default:
        return INFINITY;
    }
}

/* Of a run: the counts of its requests added up, and the time from the first to the last. */
struct sums {
    struct interval n;
    int64_t first_ns, from_ns;      /* the first mark lies between those two, … */
    int64_t earliest_ns, latest_ns; /* … the last between these */
};

/* A mark of the end of a damaged request lies between what is seen of it last and its end, or that
 * of the trace. */
static void add_span(struct sums *sums, const struct formula *f, const struct scope *s,
                     const struct request *r)
{
    int64_t from = formula_when(r, f->from), to = formula_when(r, f->to), latest = to;
    bool of_end = f->to == AT_END || f->to == AT_Z || f->to == AT_OM || f->to == AT_DONE;
    if (of_end && lossy_request(s, r)) {
        to = r->out.n > 0 ? r->out.v[r->out.n - 1].t_ns : r->t0;
        int64_t end = r->z >= 0 ? r->z : s->a->traces.v[r->trace].totals.last_t_ns;
        latest = end > latest ? end : latest;
    }
    if (from >= 0 && (sums->from_ns < 0 || from < sums->from_ns))
        sums->first_ns = sums->from_ns = from;
    sums->earliest_ns = to > sums->earliest_ns ? to : sums->earliest_ns;
    sums->latest_ns = latest > sums->latest_ns ? latest : sums->latest_ns;
}

/* A request that is missing whole may have been the first or the last. */
static void add_whole_trace(struct sums *sums, const struct scope *s)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct pipeline_totals *t = &s->a->traces.v[scope_nth(s, i)->trace].totals;
        sums->first_ns = t->first_t_ns < sums->first_ns ? t->first_t_ns : sums->first_ns;
        sums->latest_ns = t->last_t_ns > sums->latest_ns ? t->last_t_ns : sums->latest_ns;
    }
}

static struct sums sums_of(const struct formula *f, const struct scope *s)
{
    struct sums sums = {{0, 0}, -1, -1, -1, -1};
    double largest = 0;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        if (r->dialect == NULL)
            continue;
        add_span(&sums, f, s, r);
        double hi = most(r, f->count);
        largest = fmax(largest, hi);
        if (formula_counts(s, r))
            sums.n = interval_add(sums.n, interval_exact(formula_count(r, f->count)));
        else if (lossy_request(s, r))
            sums.n.hi += hi;
    }
    size_t hidden = lossy_hidden(s);
    if (hidden > 0) {
        sums.n.hi += (double)hidden * largest;
        add_whole_trace(&sums, s);
    }
    return sums;
}

static void widen_run(const struct formula *f, const struct scope *s, struct estimate *e)
{
    struct sums x = sums_of(f, s);
    struct interval span = {formula_span(s, x.from_ns, x.earliest_ns).lo,
                            formula_span(s, x.first_ns, x.latest_ns).hi};
    span.lo = fmax(span.lo, 0);
    if (f->shape == SHAPE_COUNT)
        e->interval = x.n;
    else if (f->shape == SHAPE_TIME)
        e->interval = span;
    else
        e->interval = (struct interval){0, INFINITY};
    if (f->shape == SHAPE_RATE && span.lo > 0)
        e->interval = (struct interval){x.n.lo / span.hi, x.n.hi / span.lo};
}

/* What was lost of answers comes to what arrived of those that did not finish. */
static void widen_arrived(const struct scope *s, struct estimate *e)
{
    const struct formula *all = &definitions[D_OUTPUT_TPS].formula;
    struct sums x = sums_of(all, s);
    struct estimate most = {.interval = {0, 0}};
    widen_run(all, s, &most);
    double known = x.n.lo / formula_span(s, x.first_ns, x.latest_ns).hi;
    e->interval.lo = fmin(e->interval.lo, most.interval.lo);
    e->interval.hi += most.interval.hi - known;
}

/* Figures that count requests: a damaged one is in them, as what it may have been. */
static bool counts_requests(const struct formula *f)
{
    static formula_fn *const all[] = {
        formula_requests, formula_requests_meant, formula_attempts,        formula_successes,
        formula_failed,   formula_failed_meant,   formula_failed_attempts, formula_memory};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (f->fn == all[i])
            return true;
    }
    return false;
}

/* Those that are missing whole come to it; and each that is missing or damaged may have been the
 * next attempt of one that failed, which is no request of its own then, and no failure. */
static void widen_count(const struct formula *f, const struct scope *s, size_t n,
                        struct interval *count)
{
    size_t lone = 0;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        lone +=
            !r->retried && (r->outcome == OUTCOME_HTTP_ERROR || r->outcome == OUTCOME_CUT_SHORT ||
                            r->outcome == OUTCOME_NO_RESPONSE);
    }
    count->hi += (double)lossy_hidden(s);
    if (f->fn != formula_successes && f->fn != formula_attempts && f->fn != formula_failed_attempts)
        count->lo = fmax(count->lo - (double)(lone < n ? lone : n), 0);
}

/* There is at least one. */
static struct estimate *one_of(struct estimates *out, size_t before)
{
    if (out->all.n == before)
        VEC_PUSH(&out->all, ((struct estimate){.interval = {0, 0}}));
    return &out->all.v[out->all.n - 1];
}

/* Does a figure that nothing gives have no place here, as those that are whole show? */
static bool is_of_others(const struct scope *s)
{
    for (size_t i = 0; i < s->requests.n && !s->one; i++) {
        if (formula_counts(s, scope_nth(s, i)))
            return true;
    }
    return false;
}

void lossy_widen(const struct formula *f, const struct scope *s, size_t before,
                 struct estimates *out)
{
    size_t n = lossy_requests(s);
    if (n == 0 || (out->all.n == before && is_of_others(s)))
        return;
    if (counts_requests(f)) {
        for (size_t i = before; i < out->all.n && f->fn != formula_memory; i++)
            widen_count(f, s, n, &out->all.v[i].interval);
    } else if (f->fn == NULL && f->of_run) {
        widen_run(f, s, one_of(out, before));
    } else if (f->fn == formula_output_tps_arrived) {
        widen_arrived(s, one_of(out, before));
    } else if (f->fn == NULL && !s->one && out->all.n > before) {
        out->unknown += n;
    } else {
        for (one_of(out, before); before < out->all.n; before++)
            out->all.v[before].interval = (struct interval){0, INFINITY};
    }
}

double lossy_stat(const double *sorted, size_t n, size_t unknown, double each,
                  double (*stat_of)(const double *sorted, size_t n, enum stat stat), enum stat stat)
{
    double *v = mem_array(n + unknown + 1, sizeof *v);
    size_t k = 0, at = 0;
    while (k < n && sorted[k] <= each)
        v[at++] = sorted[k++];
    for (size_t i = 0; i < unknown; i++)
        v[at++] = each;
    while (k < n)
        v[at++] = sorted[k++];
    double x = stat_of(v, at, stat == STAT_VALUE && at > 1 ? STAT_P50 : stat);
    free(v);
    return x;
}
