/* The figures of many requests: of each trace, of each workload where a trace has several, of each
 * run. Percentiles: type 7, over successes; a percentile is given only where n carries it. T of a
 * run ends with the last end of any attempt; silences between runs belong to no T. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics.h"
#include "analyze/metrics_speedup.h"
#include "analyze/stat.h"
#include "analyze/steps.h"
#include "traces/base/clock.h"
#include "traces/base/mem.h"

/* More than that is no benchmark: what is over them all is still measured. */
enum { WORKLOADS_MAX = 100, RUNS_MAX = 1000 };

/* A new row of that scope; the caller fills in the rest. */
static struct metric *row(struct audit *a, const struct run_scope *s, const char *name,
                          const char *stat, const char *unit)
{
    VEC_PUSH(&a->metrics, ((struct metric){.name = name,
                                           .stat = stat,
                                           .unit = unit,
                                           .value = NAN,
                                           .ci_low = NAN,
                                           .ci_high = NAN,
                                           .grade = GRADE_NOT_MEASURABLE,
                                           .trace = s->trace,
                                           .run = s->run,
                                           .workload = s->workload}));
    return &a->metrics.v[a->metrics.n - 1];
}

/* What the rows of one distribution share. */
struct distribution {
    const char *name, *unit, *formula, *reason;
    enum grade grade;
    bool interval; /* of the median */
};

static void put(struct audit *a, const struct run_scope *s, const struct distribution *d,
                const char *stat, double value, size_t n)
{
    struct metric *m = row(a, s, d->name, stat, d->unit);
    m->value = value;
    m->n = n;
    m->grade = isnan(value) ? GRADE_NOT_MEASURABLE : d->grade;
    m->formula = d->formula;
    m->reason = d->reason;
}

static void put_distribution(struct audit *a, const struct run_scope *s,
                             const struct distribution *d, double *v, size_t n)
{
    static const struct {
        const char *stat;
        double p;
        size_t min_n; /* 1 / (1 - p); a median of one value is that value */
    } percentiles[] = {{"p50", 0.5, 1}, {"p90", 0.9, 10}, {"p95", 0.95, 20}, {"p99", 0.99, 100}};
    if (n == 0) {
        put(a, s, d, "p50", NAN, 0);
        return;
    }
    stat_sort(v, n);
    for (size_t i = 0; i < sizeof percentiles / sizeof *percentiles; i++) {
        if (n < percentiles[i].min_n)
            continue;
        put(a, s, d, percentiles[i].stat, stat_quantile(v, n, percentiles[i].p), n);
        if (i == 0 && d->interval) {
            struct interval ci = stat_bootstrap_median(v, n);
            a->metrics.v[a->metrics.n - 1].ci_low = ci.lo;
            a->metrics.v[a->metrics.n - 1].ci_high = ci.hi;
        }
    }
    put(a, s, d, "mean", stat_mean(v, n), n);
    if (n > 1)
        put(a, s, d, "std", stat_std(v, n), n);
    put(a, s, d, "min", v[0], n);
    put(a, s, d, "max", v[n - 1], n);
}

/* One metric of all requests that count. */
static void put_request_metric(struct audit *a, const struct run_scope *s, enum request_metric m)
{
    struct distribution d = {.name = request_metrics[m].name,
                             .unit = request_metrics[m].unit,
                             .formula = request_metrics[m].formula,
                             .interval = true};
    double *v = mem_array(s->n + 1, sizeof *v);
    size_t n = 0, counted = 0, succeeded = 0, stepped = 0;
    const char *withheld = NULL;
    for (size_t i = 0; i < s->n; i++) {
        const struct request *r = &a->requests.v[s->requests[i]];
        succeeded += r->outcome == OUTCOME_SUCCESS;
        stepped += r->clock_stepped;
        if (!metrics_request_counts(r))
            continue;
        counted++;
        if (r->metrics[m].grade == GRADE_NOT_MEASURABLE) {
            withheld = withheld != NULL ? withheld : r->metrics[m].reason;
            continue;
        }
        d.grade = r->metrics[m].grade;
        d.reason = d.reason != NULL ? d.reason : r->metrics[m].reason;
        v[n++] = r->metrics[m].v;
    }
    if (counted == 0)
        d.reason = succeeded == 0 ? "no request succeeded"
                   : stepped > 0  ? "every success is damaged, or the clock was set while it ran"
                                  : "of every success, bytes were not captured";
    else if (n == 0 && counted == 1)
        d.reason = withheld;
    else if (n < counted)
        d.reason =
            audit_printf(a, "%zu of %zu withheld; the first: %s", counted - n, counted, withheld);
    put_distribution(a, s, &d, v, n);
    free(v);
}

/* Gaps between output events. Inside one read a gap is zero: coalescing, not speed. */
static void put_icl(struct audit *a, const struct run_scope *s)
{
    size_t room = 0, n = 0, inside = 0;
    for (size_t i = 0; i < s->n; i++)
        room += a->requests.v[s->requests[i]].out.n;
    double *gaps = mem_array(room + 1, sizeof *gaps);
    for (size_t i = 0; i < s->n; i++) {
        const struct request *r = &a->requests.v[s->requests[i]];
        for (size_t k = 1; metrics_request_counts(r) && k < r->out.n; k++) {
            gaps[n++] = (double)(r->out.v[k].t_ns - r->out.v[k - 1].t_ns) / NS_PER_S;
            inside += r->out.v[k].packet == r->out.v[k - 1].packet;
        }
    }
    struct distribution d = {
        .name = "icl", .unit = "s", .formula = "all o_k - o_(k-1)", .grade = GRADE_WIRE};
    if (n == 0)
        d.reason = "no request has two output events";
    else if (inside > 0)
        d.reason = audit_printf(a, "%.3g %% of the gaps lie inside one read: coalescing, not speed",
                                100.0 * (double)inside / (double)n);
    put_distribution(a, s, &d, gaps, n);
    free(gaps);
    struct distribution share = {.name = "icl_coalesced",
                                 .unit = "1",
                                 .grade = GRADE_WIRE,
                                 .formula = "share of gaps inside one read"};
    if (n > 0)
        put(a, s, &share, "value", (double)inside / (double)n, n);
}

static void put_counts(struct audit *a, const struct run_scope *s)
{
    size_t by_outcome[OUTCOME_NOT_LLM + 1] = {0}, damaged = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct request *r = &a->requests.v[s->requests[i]];
        by_outcome[r->outcome]++;
        damaged += r->damaged;
    }
    size_t ok = by_outcome[OUTCOME_SUCCESS];
    struct distribution d = {
        .name = "requests", .unit = "1", .formula = "A: all attempts", .grade = GRADE_WIRE};
    put(a, s, &d, "count", (double)s->n, s->n);
    d.name = "successes";
    d.formula = "S: 2xx, framing complete, no error event, a finish seen";
    put(a, s, &d, "count", (double)ok, s->n);
    d.name = "failed";
    d.formula = "A - S";
    put(a, s, &d, "count", (double)(s->n - ok), s->n);
    for (enum outcome o = OUTCOME_SUCCESS + 1; o < OUTCOME_NOT_LLM; o++) {
        if (by_outcome[o] > 0)
            put(a, s, &d, outcome_name(o), (double)by_outcome[o], s->n);
    }
    d.name = "damaged";
    d.formula = "requests with bytes that were not captured";
    put(a, s, &d, "count", (double)damaged, s->n);
}

struct change {
    int64_t t_ns;
    int by; /* departures first at ties */
};

static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    if (x->t_ns != y->t_ns)
        return x->t_ns < y->t_ns ? -1 : 1;
    return (x->by > y->by) - (x->by < y->by);
}

static int peak_of(const struct audit *a, const struct run_scope *s)
{
    struct change *c = mem_array(2 * s->n + 1, sizeof *c);
    for (size_t i = 0; i < s->n; i++) {
        const struct request *r = &a->requests.v[s->requests[i]];
        c[2 * i] = (struct change){r->t0, 1};
        c[2 * i + 1] = (struct change){r->t_end, -1};
    }
    qsort(c, 2 * s->n, sizeof *c, by_time);
    int now = 0, peak = 0;
    for (size_t i = 0; i < 2 * s->n; i++) {
        now += c[i].by;
        peak = now > peak ? now : peak;
    }
    free(c);
    return peak;
}

/* Sums over the runs of the scope; its requests stand run by run. */
struct totals {
    double t_ns;      /* T */
    double flight_ns; /* request time */
    int64_t tokens;
    size_t successes, unstated;
};

static struct totals total(const struct audit *a, const struct run_scope *s)
{
    struct totals t = {0};
    int64_t begin = 0, end = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct request *r = &a->requests.v[s->requests[i]];
        bool new_run = i == 0 || r->run != a->requests.v[s->requests[i - 1]].run;
        if (new_run) {
            t.t_ns += (double)(end - begin);
            begin = end = r->t0;
        }
        begin = r->t0 < begin ? r->t0 : begin;
        end = r->t_end > end ? r->t_end : end;
        t.flight_ns += (double)(r->t_end - r->t0);
        if (r->outcome != OUTCOME_SUCCESS)
            continue;
        t.successes++;
        t.unstated += request_tokens(r) < 0;
        t.tokens += request_tokens(r) < 0 ? 0 : request_tokens(r);
    }
    t.t_ns += (double)(end - begin);
    return t;
}

static void put_throughput(struct audit *a, const struct run_scope *s)
{
    struct totals t = total(a, s);
    const char *stepped = steps_between(a, s->requests, s->n) ? steps_reason : NULL;
    const char *no_time = stepped != NULL ? stepped
                          : t.t_ns > 0    ? NULL
                                          : "all of it happened in one instant";
    double seconds = stepped == NULL ? t.t_ns / NS_PER_S : NAN;
    double in_flight = no_time == NULL ? t.flight_ns / t.t_ns : NAN;
    if (s->run != 0)
        a->runs.v[s->run - 1].concurrency = in_flight;
    struct distribution d = {
        .name = "output_tps",
        .unit = "tok/s",
        .grade = GRADE_WIRE_STATED,
        .formula = "sum of N over successes / T, T = last end of an attempt - first t0",
        .reason = no_time};
    double rate = no_time == NULL ? (double)t.tokens / seconds : NAN;
    if (t.successes == 0) {
        rate = NAN;
        d.reason = "no request succeeded";
    } else if (t.unstated > 0) {
        rate = NAN;
        d.reason = audit_printf(a, "no token count was stated for %zu of %zu successful requests",
                                t.unstated, t.successes);
    }
    put(a, s, &d, "value", rate, t.successes);
    d = (struct distribution){.name = "request_tps",
                              .unit = "req/s",
                              .grade = GRADE_WIRE,
                              .formula = "S / T",
                              .reason = no_time};
    put(a, s, &d, "value", no_time == NULL ? (double)t.successes / seconds : NAN, s->n);
    d = (struct distribution){.name = "duration",
                              .unit = "s",
                              .grade = GRADE_WIRE,
                              .formula = "T, summed over runs",
                              .reason = stepped};
    put(a, s, &d, "value", seconds, s->n);
    d = (struct distribution){.name = "concurrency_avg",
                              .unit = "1",
                              .grade = GRADE_WIRE,
                              .formula = "time integral of requests in flight / T",
                              .reason = no_time};
    put(a, s, &d, "value", in_flight, s->n);
    d.name = "concurrency_peak";
    d.formula = "most requests in flight, departures before arrivals";
    d.reason = stepped;
    put(a, s, &d, "value", d.reason == NULL ? (double)peak_of(a, s) : NAN, s->n);
}

static void put_skew(struct audit *a, const struct run_scope *s)
{
    struct release_group *groups;
    size_t n = release_groups(a, s, &groups);
    double *skews = mem_array(n + 1, sizeof *skews);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (!groups[i].clock_stepped)
            skews[kept++] = (double)(groups[i].last_t0 - groups[i].first_t0) / NS_PER_S;
    }
    n = kept;
    struct distribution d = {.name = "release_skew",
                             .unit = "s",
                             .grade = GRADE_WIRE,
                             .formula = "latest t0 - earliest t0 of a group released together"};
    if (n > 0) {
        stat_sort(skews, n);
        put(a, s, &d, "p50", stat_median(skews, n), n);
        put(a, s, &d, "max", skews[n - 1], n);
    }
    free(skews);
    free(groups);
}

static void put_speedup(struct audit *a, const struct run_scope *s)
{
    struct speedup x;
    if (!speedup_measure(a, s, &x))
        return;
    struct metric *m = row(a, s, "speedup", "p50", "1");
    m->formula =
        "median over groups of (sum of N / (last o_M - first t0)) / median e2e_output_tps of "
        "the same requests sent alone";
    m->value = x.value;
    m->n = x.groups;
    m->ci_low = x.interval.lo;
    m->ci_high = x.interval.hi;
    m->grade = isnan(x.value) ? GRADE_NOT_MEASURABLE : GRADE_WIRE_STATED;
    m->reason = x.reason;
}

static void measure_scope(struct audit *a, const struct run_scope *s)
{
    if (s->n == 0)
        return;
    put_counts(a, s);
    for (enum request_metric m = 0; m < REQUEST_METRICS; m++)
        put_request_metric(a, s, m);
    put_icl(a, s);
    put_throughput(a, s);
    put_skew(a, s);
    put_speedup(a, s);
}

/* The scope of all runs of a trace, or of those of one workload. */
static void measure_runs(struct audit *a, size_t trace, const char *workload)
{
    VEC(size_t) requests = {0};
    for (size_t i = 0; i < a->runs.n; i++) {
        const struct run *run = &a->runs.v[i];
        if (run->trace != trace || (workload != NULL && !model_same_text(workload, run->workload)))
            continue;
        for (size_t k = 0; k < run->requests.n; k++)
            VEC_PUSH(&requests, run->requests.v[k]);
    }
    measure_scope(a, &(struct run_scope){trace + 1, 0, workload, requests.v, requests.n});
    VEC_FREE(&requests);
}

/* Each workload of a trace that has several. */
static void measure_workloads(struct audit *a, size_t trace)
{
    VEC(const char *) names = {0};
    for (size_t i = 0; i < a->runs.n; i++) {
        const struct run *run = &a->runs.v[i];
        if (run->trace != trace || run->requests.n == 0)
            continue;
        size_t k = 0;
        while (k < names.n && k <= WORKLOADS_MAX && !model_same_text(names.v[k], run->workload))
            k++;
        if (k == names.n)
            VEC_PUSH(&names, run->workload);
    }
    for (size_t i = 0; names.n > 1 && names.n <= WORKLOADS_MAX && i < names.n; i++) {
        if (names.v[i] != NULL)
            measure_runs(a, trace, names.v[i]);
    }
    VEC_FREE(&names);
}

void metrics_run_all(struct audit *a)
{
    for (size_t t = 0; t < a->traces.n; t++) {
        measure_runs(a, t, NULL);
        measure_workloads(a, t);
    }
    for (size_t i = 0; i < a->runs.n && i < RUNS_MAX; i++) {
        const struct run *run = &a->runs.v[i];
        struct run_scope s = {run->trace + 1, i + 1, NULL, run->requests.v, run->requests.n};
        measure_scope(a, &s);
    }
}

const struct metric *metrics_find(const struct audit *a, const char *name, const char *stat,
                                  struct metric_scope scope)
{
    if (strcmp(name, "wall_tps") == 0)
        name = "e2e_output_tps";
    for (size_t i = 0; i < a->metrics.n; i++) {
        const struct metric *m = &a->metrics.v[i];
        if (m->trace == scope.trace && m->run == scope.run && m->request == 0 &&
            model_same_text(m->workload, scope.workload) && strcmp(m->name, name) == 0 &&
            strcmp(m->stat, stat) == 0)
            return m;
    }
    return NULL;
}
