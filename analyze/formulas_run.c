/* Formulas over a whole scope that are no quotient of a count and a time. */
#include <math.h>
#include <stdlib.h>

#include "analyze/formulas.h"
#include "analyze/metrics.h"
#include "traces/base/clock.h"

static const struct request *nth(const struct scope *s, size_t i)
{
    return &s->a->requests.v[s->requests.v[i]];
}

static void push(struct estimates *out, double value, struct interval interval)
{
    VEC_PUSH(&out->all, ((struct estimate){.value = value, .interval = interval}));
}

static double seconds(int64_t ns)
{
    return (double)ns / NS_PER_S;
}

/* Does r stream well enough for a gap between two of its events to mean something? */
static bool steady(const struct scope *s, const struct request *r)
{
    if (!formula_counts(s, r) || r->clock_stepped || (int64_t)r->out.n < s->o->gate_events)
        return false;
    int64_t window = r->out.v[r->out.n - 1].t_ns - r->out.v[0].t_ns;
    int64_t whole = r->out.v[r->out.n - 1].t_ns - r->t0;
    return window >= s->o->gate_window_ns && (double)window >= s->o->gate_share * (double)whole &&
           (int64_t)metrics_request_reads(r) >= s->o->gate_reads;
}

static void push_gaps(const struct scope *s, const struct request *r, struct estimates *out)
{
    out->streams++;
    for (size_t k = 1; k < r->out.n; k++) {
        int64_t from = r->out.v[k - 1].t_ns, to = r->out.v[k].t_ns;
        VEC_PUSH(&out->all,
                 ((struct estimate){seconds(to - from), formula_span(s, from, to), r, false}));
    }
}

void formula_icl(const struct scope *s, struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        if (steady(s, nth(s, i)) && !request_interleaves(nth(s, i)))
            push_gaps(s, nth(s, i), out);
    }
}

/* Tools ask for no number of events or reads: each gap of each reply is one, however short it is.
 */
void formula_icl_all(const struct scope *s, struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = nth(s, i);
        if (formula_counts(s, r) && !r->clock_stepped && r->out.n > 1)
            push_gaps(s, r, out);
    }
}

/* Some tokens at some time; requests that come and go are +1 and -1. */
struct step {
    int64_t t_ns;
    double n;
};

struct steps {
    VEC(struct step) all;
};

/* Departures before arrivals at ties. */
static int by_time(const void *a, const void *b)
{
    const struct step *x = a, *y = b;
    if (x->t_ns != y->t_ns)
        return x->t_ns < y->t_ns ? -1 : 1;
    return (x->n > y->n) - (x->n < y->n);
}

static void steps_sort(struct steps *steps)
{
    if (steps->all.n > 0)
        qsort(steps->all.v, steps->all.n, sizeof *steps->all.v, by_time);
}

/* Most of all steps within any window of that length. */
static double steps_peak(const struct steps *steps, int64_t window_ns)
{
    double sum = 0, peak = 0;
    for (size_t i = 0, first = 0; i < steps->all.n; i++) {
        sum += steps->all.v[i].n;
        while (steps->all.v[i].t_ns - steps->all.v[first].t_ns >= window_ns)
            sum -= steps->all.v[first++].n;
        peak = fmax(peak, sum);
    }
    return peak;
}

/* Tokens fall evenly on a request's events: what each of them held is seldom stated. A tool that
 * counts in fixed seconds finds at least half of the best sliding second, since two of its seconds
 * cover that one. */
void formula_peak_throughput(const struct scope *s, struct estimates *out)
{
    struct steps steps = {0};
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = nth(s, i);
        double n = formula_count(r, COUNT_N);
        for (size_t k = 0; k < r->out.n && !isnan(n); k++)
            VEC_PUSH(&steps.all, ((struct step){r->out.v[k].t_ns, n / (double)r->out.n}));
    }
    steps_sort(&steps);
    double peak = steps_peak(&steps, NS_PER_S);
    double most = steps_peak(&steps, NS_PER_S + s->o->vantage_ns);
    VEC_FREE(&steps.all);
    if (peak > 0)
        push(out, peak, (struct interval){peak / 2, most});
}

/* Most requests in flight at once, if each begins and ends that much later than it was seen to. */
static double peak_in_flight(const struct scope *s, int64_t begin_later_ns, int64_t end_later_ns)
{
    struct steps steps = {0};
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = nth(s, i);
        int64_t end = formula_when(r, AT_END);
        if (r->dialect == NULL || end < r->t0 + begin_later_ns)
            continue;
        VEC_PUSH(&steps.all, ((struct step){r->t0 + begin_later_ns, 1}));
        VEC_PUSH(&steps.all, ((struct step){end + end_later_ns, -1}));
    }
    steps_sort(&steps);
    double now = 0, peak = 0;
    for (size_t i = 0; i < steps.all.n; i++) {
        now += steps.all.v[i].n;
        peak = fmax(peak, now);
    }
    VEC_FREE(&steps.all);
    return peak;
}

void formula_concurrency_peak(const struct scope *s, struct estimates *out)
{
    double peak = peak_in_flight(s, 0, 0);
    if (peak > 0)
        push(out, peak,
             (struct interval){peak_in_flight(s, s->o->vantage_ns, 0),
                               peak_in_flight(s, 0, s->o->vantage_ns)});
}

/* Total time of all, and the time from the first to the last, between two marks. */
struct busy {
    int64_t sum_ns, first_ns, last_ns;
    size_t n;
};

static struct busy busy_between(const struct scope *s, enum when from, enum when to)
{
    struct busy b = {0};
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = nth(s, i);
        int64_t begin = formula_when(r, from), end = formula_when(r, to);
        if (r->dialect == NULL || begin < 0 || end < begin)
            continue;
        b.sum_ns += end - begin;
        b.first_ns = b.n == 0 || begin < b.first_ns ? begin : b.first_ns;
        b.last_ns = b.n == 0 || end > b.last_ns ? end : b.last_ns;
        b.n++;
    }
    return b;
}

static double busy_mean(struct busy b)
{
    return b.last_ns > b.first_ns ? (double)b.sum_ns / (double)(b.last_ns - b.first_ns) : NAN;
}

void formula_concurrency_avg(const struct scope *s, struct estimates *out)
{
    struct busy b = busy_between(s, AT_T0, AT_END);
    double mean = busy_mean(b);
    if (isnan(mean))
        return;
    double later = seconds(s->o->vantage_ns) * (double)b.n;
    struct interval sum = interval_around(seconds(b.sum_ns), later);
    sum.lo = fmax(sum.lo, 0);
    push(out, mean, interval_div(sum, formula_span(s, b.first_ns, b.last_ns)));
}

/* Groups are numbered per run. */
struct member {
    size_t run;
    int64_t group, t0;
};

static int by_group(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    if (x->run != y->run)
        return x->run < y->run ? -1 : 1;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x->t0 > y->t0) - (x->t0 < y->t0);
}

void formula_release_skew(const struct scope *s, struct estimates *out)
{
    VEC(struct member) members = {0};
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = nth(s, i);
        if (r->group >= 0)
            VEC_PUSH(&members, ((struct member){r->run, r->group, r->t0}));
    }
    if (members.n > 0)
        qsort(members.v, members.n, sizeof *members.v, by_group);
    for (size_t i = 0, end; i < members.n; i = end) {
        const struct member *first = &members.v[i];
        for (end = i + 1; end < members.n; end++) {
            if (members.v[end].run != first->run || members.v[end].group != first->group)
                break;
        }
        int64_t last = members.v[end - 1].t0;
        if (end - i > 1)
            push(out, seconds(last - first->t0), formula_span(s, first->t0, last));
    }
    VEC_FREE(&members);
}

static bool has_value(const struct estimates *e, double v)
{
    for (size_t i = 0; i < e->all.n; i++) {
        if (e->all.v[i].value == v)
            return true;
    }
    return false;
}

/* trace is a number, from 1. */
static bool is_other_trace(const struct scope *s, size_t trace)
{
    return s->o->claim_trace != 0 && trace != (size_t)s->o->claim_trace;
}

/* Speedups come from the run's figures, each once. The allowance is charged against the shortest
 * request of a group; and since others take means or ratios of their own where we take medians, all
 * that the bootstrap holds is met. */
void formula_speedup(const struct scope *s, struct estimates *out)
{
    int64_t shortest = 0;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = nth(s, i);
        int64_t om = formula_when(r, AT_OM);
        if (r->group >= 0 && om > r->t0 && (shortest == 0 || om - r->t0 < shortest))
            shortest = om - r->t0;
    }
    double slack = shortest > 0 ? 2 * (double)s->o->vantage_ns / (double)shortest : 0;
    for (size_t i = 0; i < s->a->metrics.n && s->whole; i++) {
        const struct metric *m = &s->a->metrics.v[i];
        if (strcmp(m->name, "speedup") != 0 || m->grade == GRADE_NOT_MEASURABLE ||
            is_other_trace(s, m->trace) || has_value(out, m->value))
            continue;
        struct interval x = interval_around(m->value, m->value * slack);
        push(out, m->value, (struct interval){fmin(x.lo, m->ci_low), fmax(x.hi, m->ci_high)});
    }
}

static size_t outcomes(const struct scope *s, bool (*wanted)(enum outcome o))
{
    size_t n = 0;
    for (size_t i = 0; i < s->requests.n; i++)
        n += nth(s, i)->dialect != NULL && wanted(nth(s, i)->outcome);
    return n;
}

static bool is_any(enum outcome o)
{
    (void)o;
    return true;
}

static bool is_success(enum outcome o)
{
    return o == OUTCOME_SUCCESS;
}

/* Neither a success nor, by the bytes, a failure: still running at the end, no finish stated, not
 * readable, or not wholly recorded. */
static bool is_open(enum outcome o)
{
    return o == OUTCOME_OPEN || o == OUTCOME_NO_FINISH || o == OUTCOME_UNREADABLE ||
           o == OUTCOME_UNSEEN;
}

static bool is_unseen(enum outcome o)
{
    return o == OUTCOME_UNSEEN;
}

/* Attempts that another one followed. */
static size_t retried(const struct scope *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->requests.n; i++)
        n += nth(s, i)->retried;
    return n;
}

/* One request, however often it was tried. */
void formula_requests(const struct scope *s, struct estimates *out)
{
    double once = (double)(outcomes(s, is_any) - retried(s));
    push(out, once, interval_exact(once));
}

/* Who counts attempts is not wrong about those. */
void formula_attempts(const struct scope *s, struct estimates *out)
{
    double n = (double)outcomes(s, is_any);
    if (retried(s) > 0)
        push(out, n, interval_exact(n));
}

void formula_successes(const struct scope *s, struct estimates *out)
{
    double n = (double)outcomes(s, is_success);
    push(out, n, (struct interval){n, n + (double)outcomes(s, is_open)});
}

/* So many were no success, some of which may have been one. */
static void push_failed(const struct scope *s, size_t n, struct estimates *out)
{
    double all = (double)n, known = all - (double)outcomes(s, is_unseen);
    push(out, known, (struct interval){all - (double)outcomes(s, is_open), all});
}

void formula_failed(const struct scope *s, struct estimates *out)
{
    push_failed(s, outcomes(s, is_any) - outcomes(s, is_success) - retried(s), out);
}

void formula_failed_attempts(const struct scope *s, struct estimates *out)
{
    if (retried(s) > 0)
        push_failed(s, outcomes(s, is_any) - outcomes(s, is_success), out);
}

/* By the ledger. Which run one belongs to is not known, only that it is none of those sent. */
static double never_sent(const struct scope *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->a->traces.n && s->whole; i++) {
        const struct trace_info *t = &s->a->traces.v[i];
        for (size_t k = 0; k < t->unseen.n && !is_other_trace(s, i + 1); k++)
            n += t->unseen.v[k]->local_port == 0 && t->unseen.v[k]->warmup == 0;
    }
    return (double)n;
}

static void add_never_sent(const struct scope *s, formula_fn *of_wire, struct estimates *out)
{
    double n = never_sent(s);
    if (n == 0)
        return;
    of_wire(s, out);
    struct estimate *e = &out->all.v[out->all.n - 1];
    e->value += n;
    e->interval.lo += n;
    e->interval.hi += n;
}

/* Who could not send a request has one that failed all the same. */
void formula_requests_meant(const struct scope *s, struct estimates *out)
{
    add_never_sent(s, formula_requests, out);
}

void formula_failed_meant(const struct scope *s, struct estimates *out)
{
    add_never_sent(s, formula_failed, out);
}

/* Tools mean the server's resident memory, the host's, or something between. */
void formula_memory(const struct scope *s, struct estimates *out)
{
    for (size_t i = 0; i < s->a->traces.n && s->whole; i++) {
        const struct trace_info *t = &s->a->traces.v[i];
        int64_t rss = -1, host = -1;
        if (is_other_trace(s, i + 1))
            continue;
        for (size_t k = 0; k < t->sys.n; k++) {
            rss = t->sys.v[k].server_rss > rss ? t->sys.v[k].server_rss : rss;
            host = t->sys.v[k].mem_used > host ? t->sys.v[k].mem_used : host;
        }
        if (rss >= 0)
            push(out, (double)rss,
                 (struct interval){(double)rss, (double)(host > rss ? host : rss)});
    }
}

/* Per-request decode rates, under no gate: the tools that make these mistakes have none. An answer
 * that was sent in one go is a mistake of its own. */
static void user_rates(const struct scope *s, struct estimates *out)
{
    static const struct formula users = {"", SHAPE_RATE, COUNT_N_LESS_1, AT_O1, AT_OM, false, NULL};
    formula_apply(&users, s, formula_collected, out);
    size_t kept = 0;
    for (size_t i = 0; i < out->all.n; i++) {
        if (!out->all.v[i].sign)
            out->all.v[kept++] = out->all.v[i];
    }
    out->all.n = kept;
}

static void push_stat_of_rates(const struct scope *s, enum stat stat, double times, bool sign,
                               struct estimates *out)
{
    struct estimates rates = {0};
    struct estimate e;
    user_rates(s, &rates);
    estimates_sort(&rates);
    if (estimates_stat(&rates, stat, &e)) {
        e.value *= times;
        e.interval = interval_scale(e.interval, times);
        e.request = NULL;
        e.sign = sign;
        VEC_PUSH(&out->all, e);
    }
    estimates_free(&rates);
}

/* Its sign: fewer requests decode at once than are in flight. */
void formula_users_times_rate(const struct scope *s, struct estimates *out)
{
    double c = peak_in_flight(s, 0, 0);
    double decoding = busy_mean(busy_between(s, AT_O1, AT_OM));
    if (c > 1)
        push_stat_of_rates(s, STAT_MEAN, c, decoding < 0.9 * c, out);
}

void formula_mean_of_rates(const struct scope *s, struct estimates *out)
{
    push_stat_of_rates(s, STAT_MEAN, 1, false, out);
}

void formula_sum_of_rates(const struct scope *s, struct estimates *out)
{
    push_stat_of_rates(s, STAT_SUM, 1, false, out);
}

void formula_ratio_of_sums(const struct scope *s, struct estimates *out)
{
    double tokens = 0, window = 0, later = 0;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = nth(s, i);
        double n = formula_count(r, COUNT_N_LESS_N1);
        if (!formula_counts(s, r) || isnan(n) || r->out.n == 0 || formula_collected(s, r))
            continue;
        tokens += n;
        window += seconds(formula_when(r, AT_OM) - formula_when(r, AT_O1));
        later += seconds(s->o->vantage_ns);
    }
    if (tokens > 0 && window > 0)
        push(out, tokens / window,
             interval_div(interval_exact(tokens), interval_around(window, later)));
}
