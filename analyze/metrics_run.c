/* The figures of many requests: of each trace, of each workload where a trace has several, of each
 * run. Percentiles: type 7, over successes; a percentile is given only where n carries it. T of a
 * run ends with the last end of any attempt; silences between runs belong to no T. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/behaviour.h"
#include "analyze/metrics.h"
#include "analyze/metrics_difference.h"
#include "analyze/metrics_flow.h"
#include "analyze/metrics_speedup.h"
#include "analyze/rows.h"
#include "analyze/stat.h"
#include "traces/base/clock.h"
#include "traces/base/mem.h"

/* More than that is no benchmark: what is over them all is still measured. */
enum { WORKLOADS_MAX = 100, RUNS_MAX = 1000 };

static void put_values(struct audit *a, const struct run_scope *s, const struct distribution *d,
                       const struct stat_point *points, size_t n)
{
    double *v = mem_array(n + 1, sizeof *v);
    for (size_t i = 0; i < n; i++)
        v[i] = points[i].value;
    rows_distribution(a, s, d, v, n);
    free(v);
}

/* What a value weighs when percentiles are weighted: figures per token by their tokens. */
static double weight_of(const struct request *r, enum request_metric m)
{
    if (m == M_NTPOT)
        return (double)request_tokens(r);
    return m == M_TPOT || m == M_OUTPUT_TPS_USER ? (double)metrics_decoded(r) : 1;
}

/* Why a metric of some or all of `counted` requests is withheld; NULL: it is not. */
static const char *why_withheld(struct audit *a, size_t counted, size_t n, const char *first)
{
    if (n == 0 && counted == 1)
        return first;
    return audit_printf(a, "%zu of %zu withheld; the first: %s", counted - n, counted, first);
}

/* One metric of all requests that count. */
static void put_request_metric(struct audit *a, const struct run_scope *s, enum request_metric m,
                               const struct audit_options *o)
{
    struct distribution d = {.name = request_metrics[m].name,
                             .unit = request_metrics[m].unit,
                             .formula = request_metrics[m].formula,
                             .method = o->percentile,
                             .interval = true};
    struct stat_point *v = mem_array(s->n + 1, sizeof *v);
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
        v[n++] = (struct stat_point){r->metrics[m].v, weight_of(r, m)};
    }
    if (counted == 0)
        d.reason = succeeded == 0 ? "no request succeeded"
                   : stepped > 0  ? "every success is damaged, or the clock was set while it ran"
                                  : "of every success, bytes were not captured";
    else if (n < counted)
        d.reason = why_withheld(a, counted, n, withheld);
    if (o->percentile == PERCENTILE_WEIGHTED)
        rows_weighted(a, s, &d, v, n, false);
    else
        put_values(a, s, &d, v, n);
    free(v);
}

/* What is to be known of n gaps, if anything. */
static const char *gaps_note(struct audit *a, size_t inside, size_t n, size_t interleaved)
{
    const char *out = interleaved == 0 ? NULL
                                       : audit_printf(a,
                                                      "requests left out, in which events of "
                                                      "several choices came between each other: "
                                                      "%zu",
                                                      interleaved);
    if (inside == 0)
        return out;
    return audit_printf(a, "%.3g %% of the gaps lie inside one read: coalescing, not speed%s%s",
                        100.0 * (double)inside / (double)n, out != NULL ? "; " : "",
                        out != NULL ? out : "");
}

/* Gaps between output events. Inside one read a gap is zero: coalescing, not speed. */
static void put_icl(struct audit *a, const struct run_scope *s, const struct audit_options *o)
{
    size_t room = 0, inside = 0, interleaved = 0;
    for (size_t i = 0; i < s->n; i++)
        room += a->requests.v[s->requests[i]].out.n;
    struct gaps gaps;
    gaps_begin(&gaps, room);
    for (size_t i = 0; i < s->n; i++) {
        const struct request *r = &a->requests.v[s->requests[i]];
        if (!metrics_request_counts(r))
            continue;
        interleaved += request_interleaves(r);
        for (size_t k = 1; !request_interleaves(r) && k < r->out.n; k++) {
            gaps_add(&gaps, r->out.v[k].t_ns - r->out.v[k - 1].t_ns);
            inside += r->out.v[k].packet == r->out.v[k - 1].packet;
        }
    }
    size_t n = gaps_count(&gaps);
    struct distribution d = {.name = "icl",
                             .unit = "s",
                             .formula = "all o_k - o_(k-1)",
                             .grade = GRADE_WIRE,
                             .method = o->percentile};
    if (n == 0 && interleaved > 0)
        d.reason = "events of several choices came between each other, in every request";
    else if (n == 0)
        d.reason = "no request has two output events";
    else
        d.reason = gaps_note(a, inside, n, interleaved);
    rows_gaps(a, s, &d, &gaps);
    gaps_free(&gaps);
    struct distribution share = {.name = "icl_coalesced",
                                 .unit = "1",
                                 .grade = GRADE_WIRE,
                                 .formula = "share of gaps inside one read"};
    if (n > 0)
        rows_put(a, s, &share, "value", (double)inside / (double)n, n);
}

/* ITL in the word's own sense: only where each event states its tokens. */
static void put_itl(struct audit *a, const struct run_scope *s, const struct audit_options *o)
{
    VEC(struct stat_point) gaps = {0};
    size_t counted = 0, unknown = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct request *r = &a->requests.v[s->requests[i]];
        if (!metrics_request_counts(r) || r->out.n < 2 || request_interleaves(r))
            continue;
        counted++;
        unknown += !metrics_per_event(r);
        for (size_t k = 1; unknown == 0 && k < r->out.n; k++) {
            double tokens = request_stated(r, k) - request_stated(r, k - 1);
            double gap = (double)(r->out.v[k].t_ns - r->out.v[k - 1].t_ns) / NS_PER_S;
            VEC_PUSH(&gaps, ((struct stat_point){gap / tokens, tokens}));
        }
    }
    struct distribution d = {.name = "itl",
                             .unit = "s",
                             .formula = "all (o_k - o_(k-1)) / n_k, n_k times each",
                             .grade = GRADE_WIRE_STATED,
                             .method = o->percentile};
    if (counted == 0)
        d.reason = "no request has two output events";
    else if (unknown > 0)
        d.reason =
            audit_printf(a, "events do not state how many tokens they bring (%zu of %zu requests)",
                         unknown, counted);
    rows_weighted(a, s, &d, gaps.v, unknown > 0 ? 0 : gaps.n, true);
    VEC_FREE(&gaps);
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
    rows_put(a, s, &d, "count", (double)s->n, s->n);
    d.name = "successes";
    d.formula = "S: 2xx, framing complete, no error event, a finish seen";
    rows_put(a, s, &d, "count", (double)ok, s->n);
    size_t unseen = by_outcome[OUTCOME_UNSEEN];
    d.name = "failed";
    d.formula = unseen > 0 ? "A - S, without those that bytes are missing of" : "A - S";
    rows_put(a, s, &d, "count", (double)(s->n - ok - unseen), s->n);
    for (enum outcome o = OUTCOME_SUCCESS + 1; o < OUTCOME_NOT_LLM; o++) {
        if (by_outcome[o] > 0)
            rows_put(a, s, &d, outcome_name(o), (double)by_outcome[o], s->n);
    }
    d.name = "damaged";
    d.formula = "requests with bytes that were not captured";
    rows_put(a, s, &d, "count", (double)damaged, s->n);
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
        rows_put(a, s, &d, "p50", stat_median(skews, n), n);
        rows_put(a, s, &d, "max", skews[n - 1], n);
    }
    free(skews);
    free(groups);
}

static void put_speedup(struct audit *a, const struct run_scope *s)
{
    struct speedup x;
    if (!speedup_measure(a, s, &x))
        return;
    struct distribution d = {
        .name = "speedup",
        .unit = "1",
        .formula =
            "median over groups of (sum of N / (last o_M - first t0)) / median e2e_output_tps of "
            "the same requests sent alone",
        .grade = GRADE_WIRE_STATED,
        .reason = x.reason};
    struct metric *m = rows_put(a, s, &d, "p50", x.value, x.groups);
    m->ci_low = x.interval.lo;
    m->ci_high = x.interval.hi;
}

static void measure_scope(struct audit *a, const struct run_scope *s, const struct audit_options *o)
{
    if (s->n == 0)
        return;
    put_counts(a, s);
    for (enum request_metric m = 0; m < REQUEST_METRICS; m++)
        put_request_metric(a, s, m, o);
    put_icl(a, s, o);
    put_itl(a, s, o);
    metrics_flow(a, s, o);
    behaviour_rows(a, s, o);
    put_skew(a, s);
    put_speedup(a, s);
}

/* The scope of all runs of a trace, or of those of one workload. */
static void measure_runs(struct audit *a, size_t trace, const char *workload,
                         const struct audit_options *o)
{
    VEC(size_t) requests = {0};
    for (size_t i = 0; i < a->runs.n; i++) {
        const struct run *run = &a->runs.v[i];
        if (run->trace != trace || (workload != NULL && !model_same_text(workload, run->workload)))
            continue;
        for (size_t k = 0; k < run->requests.n; k++)
            VEC_PUSH(&requests, run->requests.v[k]);
    }
    measure_scope(a, &(struct run_scope){trace + 1, 0, workload, requests.v, requests.n}, o);
    VEC_FREE(&requests);
}

/* Each workload of a trace that has several. */
static void measure_workloads(struct audit *a, size_t trace, const struct audit_options *o)
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
            measure_runs(a, trace, names.v[i], o);
    }
    VEC_FREE(&names);
}

void metrics_run_all(struct audit *a, const struct audit_options *o)
{
    a->percentile = o->percentile;
    for (size_t t = 0; t < a->traces.n; t++) {
        measure_runs(a, t, NULL, o);
        measure_workloads(a, t, o);
    }
    for (size_t i = 0; i < a->runs.n && i < RUNS_MAX; i++) {
        const struct run *run = &a->runs.v[i];
        struct run_scope s = {run->trace + 1, i + 1, NULL, run->requests.v, run->requests.n};
        measure_scope(a, &s, o);
    }
    metrics_differences(a);
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
