/* What a server under load gives in all: throughput, requests in flight, goodput. T of a run ends
 * with the last end of any attempt; silences between runs belong to no T, and time that runs share
 * belongs to it once. */
#include "analyze/metrics_flow.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/metrics.h"
#include "analyze/rows.h"
#include "analyze/stat.h"
#include "analyze/steps.h"
#include "traces/base/clock.h"
#include "traces/base/mem.h"

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

/* Tokens of successes: how many, and of how many requests they are not stated. */
struct token_sum {
    int64_t tokens;
    size_t unstated;
};

static void add_tokens(struct token_sum *sum, int64_t tokens)
{
    sum->unstated += tokens < 0 || tokens > INT32_MAX;
    sum->tokens += tokens < 0 || tokens > INT32_MAX ? 0 : tokens;
}

/* Sums over the runs of the scope; its requests stand run by run. */
struct totals {
    double t_ns;      /* T */
    double flight_ns; /* request time */
    struct token_sum output, input;
    size_t successes;
    const char *stepped, *no_time; /* why there is no T, no quotient with it; NULL: there is */
};

struct stretch {
    int64_t from, to;
};

static int by_from(const void *a, const void *b)
{
    const struct stretch *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* T: the time of its runs; of runs at the same time once. */
static double time_of(const struct audit *a, const struct run_scope *s)
{
    VEC(struct stretch) runs = {0};
    for (size_t i = 0; i < s->n; i++) {
        const struct request *r = &a->requests.v[s->requests[i]];
        if (i == 0 || r->run != a->requests.v[s->requests[i - 1]].run)
            VEC_PUSH(&runs, ((struct stretch){r->t0, r->t0}));
        struct stretch *run = &runs.v[runs.n - 1];
        run->from = r->t0 < run->from ? r->t0 : run->from;
        run->to = r->t_end > run->to ? r->t_end : run->to;
    }
    if (runs.n > 0)
        qsort(runs.v, runs.n, sizeof *runs.v, by_from);
    double t_ns = 0;
    int64_t until = INT64_MIN;
    for (size_t i = 0; i < runs.n; i++) {
        int64_t from = runs.v[i].from > until ? runs.v[i].from : until;
        t_ns += runs.v[i].to > from ? (double)(runs.v[i].to - from) : 0;
        until = runs.v[i].to > until ? runs.v[i].to : until;
    }
    VEC_FREE(&runs);
    return t_ns;
}

static struct totals total(const struct audit *a, const struct run_scope *s)
{
    struct totals t = {.t_ns = time_of(a, s)};
    for (size_t i = 0; i < s->n; i++) {
        const struct request *r = &a->requests.v[s->requests[i]];
        t.flight_ns += (double)(r->t_end - r->t0);
        if (r->outcome != OUTCOME_SUCCESS)
            continue;
        t.successes++;
        add_tokens(&t.output, request_tokens(r));
        add_tokens(&t.input, r->usage.prompt);
    }
    t.stepped = steps_between(a, s->requests, s->n) ? steps_reason : NULL;
    t.no_time = t.stepped != NULL ? t.stepped
                : t.t_ns > 0      ? NULL
                                  : "all of it happened in one instant";
    return t;
}

/* Why a rate of tokens over T can't be had; NULL: it can. */
static const char *no_rate(struct audit *a, const struct totals *t, size_t unstated,
                           const char *what)
{
    if (t->successes == 0)
        return "no request succeeded";
    if (unstated > 0)
        return audit_printf(a, "no %s count was stated for %zu of %zu successful requests", what,
                            unstated, t->successes);
    return t->no_time;
}

static void put_rate(struct audit *a, const struct run_scope *s, const struct totals *t,
                     struct distribution d, int64_t tokens)
{
    double rate = d.reason == NULL ? (double)tokens / (t->t_ns / NS_PER_S) : NAN;
    d.unit = "tok/s";
    d.grade = GRADE_WIRE_STATED;
    rows_put(a, s, &d, "value", rate, t->successes);
}

static void put_throughput(struct audit *a, const struct run_scope *s, const struct totals *t)
{
    const char *no_output = no_rate(a, t, t->output.unstated, "token");
    const char *no_input = no_rate(a, t, t->input.unstated, "prompt token");
    put_rate(a, s, t,
             (struct distribution){
                 .name = "output_tps",
                 .formula = "sum of N over successes / T, T = last end of an attempt - first t0",
                 .reason = no_output},
             t->output.tokens);
    put_rate(a, s, t,
             (struct distribution){.name = "input_tps",
                                   .formula = "sum of prompt tokens over successes / T",
                                   .reason = no_input},
             t->input.tokens);
    put_rate(a, s, t,
             (struct distribution){.name = "total_tps",
                                   .formula = "sum of prompt tokens and N over successes / T",
                                   .reason = no_output != NULL ? no_output : no_input},
             t->input.tokens + t->output.tokens);
    double seconds = t->t_ns / NS_PER_S;
    struct distribution d = {.name = "request_tps",
                             .unit = "req/s",
                             .grade = GRADE_WIRE,
                             .formula = "S / T",
                             .reason = t->no_time};
    rows_put(a, s, &d, "value", t->no_time == NULL ? (double)t->successes / seconds : NAN, s->n);
    d = (struct distribution){.name = "duration",
                              .unit = "s",
                              .grade = GRADE_WIRE,
                              .formula = "T, summed over runs; of runs at the same time once",
                              .reason = t->stepped};
    rows_put(a, s, &d, "value", t->stepped == NULL ? seconds : NAN, s->n);
}

static void put_concurrency(struct audit *a, const struct run_scope *s, const struct totals *t)
{
    double in_flight = t->no_time == NULL ? t->flight_ns / t->t_ns : NAN;
    if (s->run != 0)
        a->runs.v[s->run - 1].concurrency = in_flight;
    struct distribution d = {.name = "concurrency_avg",
                             .unit = "1",
                             .grade = GRADE_WIRE,
                             .formula = "time integral of requests in flight / T",
                             .reason = t->no_time};
    rows_put(a, s, &d, "value", in_flight, s->n);
    d.name = "concurrency_peak";
    d.formula = "most requests in flight, departures before arrivals";
    d.reason = t->stepped;
    rows_put(a, s, &d, "value", d.reason == NULL ? (double)peak_of(a, s) : NAN, s->n);
}

/* --- the steady part -------------------------------------------------------------------------- */

void metrics_concurrency(const struct audit *a, const size_t *requests, size_t n,
                         struct flight_curve *out)
{
    struct change *c = mem_array(2 * n + 1, sizeof *c);
    for (size_t i = 0; i < n; i++) {
        const struct request *r = &a->requests.v[requests[i]];
        c[2 * i] = (struct change){r->t0, 1};
        c[2 * i + 1] = (struct change){r->t_end, -1};
    }
    qsort(c, 2 * n, sizeof *c, by_time);
    int64_t level = 0;
    for (size_t i = 0; i < 2 * n; i++) {
        level += c[i].by;
        if (i + 1 < 2 * n && c[i + 1].t_ns == c[i].t_ns)
            continue;
        if (out->n == 0 || out->v[out->n - 1].in_flight != level)
            VEC_PUSH(out, ((struct flight_point){c[i].t_ns, level}));
    }
    free(c);
}

/* Requests in flight just before t; 0 outside of the curve. */
static int64_t level_at(const struct flight_curve *c, int64_t t_ns)
{
    size_t lo = 0, hi = c->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (c->v[mid].t_ns < t_ns)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo > 0 ? c->v[lo - 1].in_flight : 0;
}

bool metrics_per_event(const struct request *r)
{
    int64_t before = 0;
    for (size_t i = 0; i < r->out.n; i++) {
        if (request_stated(r, i) <= before)
            return false;
        before = request_stated(r, i);
    }
    return r->out.n > 0 && before == request_tokens(r);
}

/* Tokens of r whose event fell where at least so many requests were in flight. */
static double tokens_within(const struct request *r, const struct flight_curve *c, double level)
{
    bool known = metrics_per_event(r);
    double sum = 0;
    for (size_t i = 0; i < r->out.n; i++) {
        double n = known ? request_stated(r, i) - (i > 0 ? request_stated(r, i - 1) : 0)
                         : (double)request_tokens(r) / (double)r->out.n;
        sum += (double)level_at(c, r->out.v[i].t_ns) >= level ? n : 0;
    }
    return sum;
}

/* A run: its requests are requests[first .. end). */
struct part {
    size_t first, end;
    struct flight_curve curve;
};

static size_t parts_of(const struct audit *a, const size_t *requests, size_t n, struct part *parts)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || a->requests.v[requests[i]].run != a->requests.v[requests[i - 1]].run)
            parts[found++] = (struct part){.first = i};
        parts[found - 1].end = i + 1;
    }
    for (size_t k = 0; k < found; k++)
        metrics_concurrency(a, requests + parts[k].first, parts[k].end - parts[k].first,
                            &parts[k].curve);
    return found;
}

/* The level that half of the time is spent at or below. */
static double median_level(const struct part *parts, size_t n)
{
    VEC(struct stat_point) all = {0};
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i + 1 < parts[k].curve.n; i++) {
            const struct flight_point *p = &parts[k].curve.v[i];
            double level = (double)p[0].in_flight, time = (double)(p[1].t_ns - p[0].t_ns);
            VEC_PUSH(&all, ((struct stat_point){level, time}));
        }
    }
    stat_sort_points(all.v, all.n);
    double median = all.n > 0 ? stat_percentile_points(PERCENTILE_WEIGHTED, all.v, all.n, 0.5) : 0;
    VEC_FREE(&all);
    return median;
}

/* Where a level is held, and what was generated there. */
static void steady_add(const struct audit *a, const size_t *requests, const struct part *part,
                       struct steady *x)
{
    bool held = false;
    for (size_t i = 0; i + 1 < part->curve.n; i++) {
        const struct flight_point *p = &part->curve.v[i];
        bool holds = (double)p[0].in_flight >= x->level;
        x->edges += holds != held;
        held = holds;
        if (holds)
            x->seconds += (double)(p[1].t_ns - p[0].t_ns) / NS_PER_S;
    }
    x->edges += held;
    for (size_t i = part->first; i < part->end; i++) {
        const struct request *r = &a->requests.v[requests[i]];
        if (r->outcome != OUTCOME_SUCCESS)
            continue;
        x->tokens += tokens_within(r, &part->curve, x->level);
        x->assumed |= !metrics_per_event(r);
    }
}

#define STEADY_SHARE 0.9 /* of the median of the requests in flight */

bool metrics_steady(const struct audit *a, const size_t *requests, size_t n, struct steady *out)
{
    struct part *parts = mem_array(n + 1, sizeof *parts);
    size_t found = parts_of(a, requests, n, parts);
    *out = (struct steady){.level = STEADY_SHARE * median_level(parts, found)};
    for (size_t k = 0; k < found; k++) {
        if (out->level > 0)
            steady_add(a, requests, &parts[k], out);
        VEC_FREE(&parts[k].curve);
    }
    free(parts);
    return out->level > 0;
}

static void put_steady(struct audit *a, const struct run_scope *s, const struct totals *t)
{
    struct distribution d = {
        .name = "output_tps_steady",
        .unit = "tok/s",
        .grade = GRADE_WIRE_STATED,
        .formula = "tokens of events while at least 0.9 of the time-weighted median of requests "
                   "in flight are / that time",
        .reason = no_rate(a, t, t->output.unstated, "token")};
    if (d.reason != NULL) {
        rows_put(a, s, &d, "value", NAN, t->successes);
        return;
    }
    struct steady x;
    bool any = metrics_steady(a, s->requests, s->n, &x);
    d.reason =
        !any ? "no request was in flight for half of the time"
             : audit_printf(a, "%.3g s with at least %.3g requests in flight%s", x.seconds, x.level,
                            x.assumed ? "; tokens assumed to be spread evenly over the "
                                        "events that do not state them"
                                      : "");
    rows_put(a, s, &d, "value", any ? x.tokens / x.seconds : NAN, t->successes);
}

/* --- goodput ---------------------------------------------------------------------------------- */

enum goodness { GOOD, MISSED, UNDECIDED };

/* Of times that are so much later than they were seen to be. */
static enum goodness goodness(const struct request *r, const struct audit_options *o,
                              int64_t later_ns)
{
    enum goodness g = metrics_request_counts(r)       ? GOOD
                      : r->outcome == OUTCOME_SUCCESS ? UNDECIDED /* not all of it was seen */
                                                      : MISSED;
    for (enum request_metric m = 0; m < REQUEST_METRICS && g != MISSED; m++) {
        if (o->slo[m] <= 0 || r->outcome != OUTCOME_SUCCESS)
            continue;
        bool per_token = m == M_TPOT || m == M_NTPOT;
        double tokens = per_token ? fmax(1, (double)request_tokens(r) - 1) : 1;
        if (r->metrics[m].grade == GRADE_NOT_MEASURABLE)
            g = UNDECIDED;
        else if (r->metrics[m].v + (double)later_ns / NS_PER_S / tokens > o->slo[m])
            g = MISSED;
    }
    return g;
}

bool metrics_good(const struct audit *a, const size_t *requests, size_t n,
                  const struct audit_options *o, struct good_requests *out)
{
    bool asked = false;
    *out = (struct good_requests){0};
    for (enum request_metric m = 0; m < REQUEST_METRICS; m++)
        asked |= o->slo[m] > 0;
    for (size_t i = 0; i < n && asked; i++) {
        const struct request *r = &a->requests.v[requests[i]];
        enum goodness g = goodness(r, o, 0);
        out->good += g == GOOD;
        out->undecided += g == UNDECIDED;
        out->least += goodness(r, o, o->vantage_ns) == GOOD;
        out->most += goodness(r, o, -o->vantage_ns) != MISSED;
    }
    return asked;
}

static void put_goodput(struct audit *a, const struct run_scope *s, const struct totals *t,
                        const struct audit_options *o)
{
    struct good_requests n;
    if (!metrics_good(a, s->requests, s->n, o, &n))
        return;
    const char *rests_on =
        n.undecided > 0
            ? audit_printf(a, "%zu of %zu requests can't be decided, and count as not good",
                           n.undecided, s->n)
            : NULL;
    struct distribution d = {.name = "good_fraction",
                             .unit = "1",
                             .grade = GRADE_WIRE,
                             .formula =
                                 "requests within all limits of --slo / A, failures included",
                             .reason = rests_on};
    if (n.undecided == s->n)
        d.reason = "no request can be held against the limits of --slo";
    bool any = n.undecided < s->n;
    rows_put(a, s, &d, "value", any ? (double)n.good / (double)s->n : NAN, s->n);
    d.name = "goodput";
    d.unit = "req/s";
    d.formula = "requests within all limits of --slo / T";
    d.reason = t->no_time != NULL ? t->no_time : d.reason;
    rows_put(a, s, &d, "value",
             any && t->no_time == NULL ? (double)n.good / (t->t_ns / NS_PER_S) : NAN, s->n);
}

void metrics_flow(struct audit *a, const struct run_scope *s, const struct audit_options *o)
{
    struct totals t = total(a, s);
    put_throughput(a, s, &t);
    put_concurrency(a, s, &t);
    put_steady(a, s, &t);
    put_goodput(a, s, &t, o);
}
