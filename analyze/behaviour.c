/* Prefill, reuse and early stops of the requests of a scope, and the rows of its queue. */
#include "analyze/behaviour.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics.h"
#include "analyze/queueing.h"
#include "analyze/rows.h"
#include "analyze/stalls.h"
#include "analyze/stat.h"
#include "analyze/steps.h"
#include "traces/base/mem.h"

static const struct request *nth(const struct audit *a, const struct run_scope *s, size_t i)
{
    return &a->requests.v[s->requests[i]];
}

static double ttft(const struct request *r)
{
    return r->metrics[M_TTFT].grade != GRADE_NOT_MEASURABLE ? r->metrics[M_TTFT].v : NAN;
}

/* --- prefill ---------------------------------------------------------------------------------- */

#define PREFILL_RANGE 4.0 /* longest prompt over shortest, from which an exponent is measured */
#define PREFILL_RANGE_LONGER 3.0 /* … of the longer half: fewer lengths, further from the start */
#define PREFILL_APART 1.1        /* so many times as long is another length */
#define PREFILL_ABOVE_START 2.0  /* ttft over the start that it is taken less of */
enum { PREFILL_MIN = 5, PREFILL_HALF_MIN = 4, PREFILL_LENGTHS_MIN = 4 };

struct prompt {
    double tokens, ttft;
    size_t index; /* in audit.requests */
};

static int by_tokens(const void *a, const void *b)
{
    const struct prompt *x = a, *y = b;
    if (x->tokens != y->tokens)
        return x->tokens < y->tokens ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static size_t gather_prompts(const struct audit *a, const struct run_scope *s, struct prompt *v)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct request *r = nth(a, s, i);
        int64_t p = r->usage.prompt - (r->usage.cached > 0 ? r->usage.cached : 0);
        if (metrics_request_counts(r) && r->alone && r->usage.prompt > 0 && p > 0 && ttft(r) > 0)
            v[n++] = (struct prompt){(double)p, ttft(r), s->requests[i]};
    }
    if (n > 0)
        qsort(v, n, sizeof *v, by_tokens);
    return n;
}

/* Where the prompts that are about as long as v[i] end. */
static size_t length_end(const struct prompt *v, size_t n, size_t i)
{
    size_t end = i;
    while (end < n && v[end].tokens < PREFILL_APART * v[i].tokens)
        end++;
    return end;
}

static size_t lengths_of(const struct prompt *v, size_t n)
{
    size_t lengths = 0;
    for (size_t i = 0; i < n; i = length_end(v, n, i))
        lengths++;
    return lengths;
}

/* The exponent that is left when the prompts of any one length are left out: no cold or lucky one
 * carries it. */
static double least_without_one(const double *x, const double *y, const struct prompt *v, size_t n)
{
    double *kept_x = mem_array(n + 1, sizeof *kept_x), *kept_y = mem_array(n + 1, sizeof *kept_y);
    double least = INFINITY;
    for (size_t i = 0, end; i < n; i = end) {
        end = length_end(v, n, i);
        memcpy(kept_x, x, i * sizeof *x);
        memcpy(kept_y, y, i * sizeof *y);
        memcpy(kept_x + i, x + end, (n - end) * sizeof *x);
        memcpy(kept_y + i, y + end, (n - end) * sizeof *y);
        double slope = stat_slope(kept_x, kept_y, n - (end - i));
        least = isnan(slope) ? -INFINITY : fmin(least, slope);
    }
    free(kept_x);
    free(kept_y);
    return least;
}

/* Of what ttft has over start. */
static void fit_prompts(const struct prompt *v, double start, struct prefill *out)
{
    double *x = mem_array(out->n, sizeof *x), *y = mem_array(out->n, sizeof *y);
    double least = INFINITY;
    const struct prompt *last = &v[out->n - 1];
    for (size_t i = 0; i < out->n; i++) {
        x[i] = log(v[i].tokens);
        y[i] = log(v[i].ttft - start);
        least = fmin(least, v[i].ttft / v[i].tokens);
    }
    struct stat_line line = stat_fit(x, y, out->n);
    out->exponent = line.slope;
    out->interval = line.interval;
    out->least = fmin(line.interval.lo, least_without_one(x, y, v, out->n));
    out->worse = last->ttft / last->tokens / least;
    free(x);
    free(y);
}

/* The least ttft of the shorter half v[0 .. half): what a request costs whatever its prompt, and
 * more. NAN where a longer one's is not clearly above it. */
static double start_of(const struct prompt *v, size_t half, size_t n)
{
    double start = INFINITY;
    for (size_t i = 0; i < half; i++)
        start = fmin(start, v[i].ttft);
    for (size_t i = half; i < n; i++) {
        if (v[i].ttft < PREFILL_ABOVE_START * start)
            return NAN;
    }
    return start;
}

static const char *prefill_lacks(struct audit *a, const struct prompt *v, const struct prefill *p,
                                 size_t needed, double range)
{
    size_t lengths = lengths_of(v, p->n);
    if (p->n < needed)
        return audit_printf(a,
                            "%zu requests were alone in flight and state their prompt tokens; %zu "
                            "are needed",
                            p->n, needed);
    if (p->longest < range * p->shortest)
        return audit_printf(a, "the longest prompt is %.3g times the shortest; %g times are needed",
                            p->longest / p->shortest, range);
    if (lengths < PREFILL_LENGTHS_MIN)
        return audit_printf(a, "the prompts are of %zu lengths; %d are needed", lengths,
                            PREFILL_LENGTHS_MIN);
    return NULL;
}

void behaviour_prefill(struct audit *a, const struct run_scope *s, enum prefill_look look,
                       struct prefill *out)
{
    *out = (struct prefill){.exponent = NAN, .least = NAN, .interval = {NAN, NAN}};
    struct prompt *all = mem_array(s->n + 1, sizeof *all);
    size_t n = gather_prompts(a, s, all), from = look == PREFILL_ALL ? 0 : n / 2;
    const struct prompt *v = all + from;
    out->n = n - from;
    if (out->n > 0) {
        out->shortest = v[0].tokens;
        out->longest = all[n - 1].tokens;
        out->of_shortest = v[0].index;
        out->of_longest = all[n - 1].index;
    }
    out->reason = look == PREFILL_ALL
                      ? prefill_lacks(a, v, out, PREFILL_MIN, PREFILL_RANGE)
                      : prefill_lacks(a, v, out, PREFILL_HALF_MIN, PREFILL_RANGE_LONGER);
    double start = look == PREFILL_LESS_START ? start_of(all, from, n) : 0;
    if (out->reason == NULL && !isnan(start)) {
        fit_prompts(v, start, out);
        out->start = start;
        out->reason = audit_printf(a, "prompts of %.0f to %.0f tokens that were not cached",
                                   out->shortest, out->longest);
    }
    free(all);
}

/* --- reuse ------------------------------------------------------------------------------------ */

struct body {
    const char *hash;
    const struct request *r;
};

static int by_body(const void *a, const void *b)
{
    const struct body *x = a, *y = b;
    int order = strcmp(x->hash, y->hash);
    return order != 0 ? order : (x->r > y->r) - (x->r < y->r);
}

/* A repeat that waited for others says nothing of the cache. */
static void add_ratio(double *ratios, struct reuse *out, const struct request *first,
                      const struct request *r)
{
    if (first->alone && r->alone && metrics_request_counts(first) && metrics_request_counts(r) &&
        ttft(first) > 0 && !isnan(ttft(r))) {
        ratios[out->ratios++] = ttft(r) / ttft(first);
        out->denied += r->usage.cached == 0;
    }
}

void behaviour_reuse(const struct audit *a, const struct run_scope *s, struct reuse *out)
{
    struct body *v = mem_array(s->n + 1, sizeof *v);
    double *ratios = mem_array(s->n + 1, sizeof *ratios);
    *out = (struct reuse){.ttft_ratio = NAN, .interval = {NAN, NAN}, .first_cached = SIZE_MAX};
    for (size_t i = 0; i < s->n; i++) {
        const struct request *r = nth(a, s, i);
        if (r->body_sha256 != NULL)
            v[out->requests++] = (struct body){r->body_sha256, r};
        /* More cached than prompted: the prompt was counted without it, and there is no share. */
        if (r->usage.prompt < 0 || r->usage.cached < 0 || r->usage.cached > r->usage.prompt)
            continue;
        out->stated++;
        out->prompt += r->usage.prompt;
        out->cached += r->usage.cached;
        if (r->usage.cached > 0 && out->first_cached == SIZE_MAX)
            out->first_cached = s->requests[i];
    }
    qsort(v, out->requests, sizeof *v, by_body);
    for (size_t i = 1, first = 0; i < out->requests; i++) {
        if (strcmp(v[i].hash, v[i - 1].hash) != 0) {
            first = i;
            continue;
        }
        out->repeated++;
        add_ratio(ratios, out, v[first].r, v[i].r);
    }
    if (out->ratios > 0) {
        stat_sort(ratios, out->ratios);
        out->ttft_ratio = stat_median(ratios, out->ratios);
        out->interval = stat_bootstrap_median(ratios, out->ratios);
    }
    free(ratios);
    free(v);
}

/* --- early stops ------------------------------------------------------------------------------ */

struct answer {
    int64_t limit, tokens;
    size_t index; /* in audit.requests */
    double e2el;
};

static int by_limit(const void *a, const void *b)
{
    const struct answer *x = a, *y = b;
    if (x->limit != y->limit)
        return x->limit < y->limit ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static bool reached(const struct answer *x)
{
    return x->tokens >= x->limit - 1; /* some do not count the end token */
}

static double median_of(double *v, size_t n)
{
    stat_sort(v, n);
    return n > 0 ? stat_median(v, n) : NAN;
}

void behaviour_early(const struct audit *a, const struct run_scope *s, double share,
                     struct early_stops *out)
{
    struct answer *v = mem_array(s->n + 1, sizeof *v);
    double *all = mem_array(s->n + 1, sizeof *all), *full = mem_array(s->n + 1, sizeof *full);
    size_t n = 0, n_full = 0;
    *out = (struct early_stops){.e2el_ratio = NAN};
    for (size_t i = 0; i < s->n; i++) {
        const struct request *r = nth(a, s, i);
        if (metrics_request_counts(r) && r->asked.max_tokens > 1 && request_tokens(r) >= 0 &&
            r->metrics[M_E2EL].grade != GRADE_NOT_MEASURABLE)
            v[n++] = (struct answer){r->asked.max_tokens, request_tokens(r), s->requests[i],
                                     r->metrics[M_E2EL].v};
    }
    qsort(v, n, sizeof *v, by_limit);
    for (size_t i = 0, end; i < n; i = end) {
        size_t at_limit = 0;
        for (end = i; end < n && v[end].limit == v[i].limit; end++)
            at_limit += reached(&v[end]);
        for (size_t k = i; k < end; k++) {
            if (2 * at_limit < end - i && !a->requests.v[v[k].index].asked.ignore_eos)
                continue;
            bool early = (double)v[k].tokens < share * (double)v[k].limit;
            all[out->asked++] = v[k].e2el;
            if (reached(&v[k]))
                full[n_full++] = v[k].e2el;
            out->first = early && out->early == 0 ? v[k].index : out->first;
            out->early += early;
        }
    }
    if (n_full > 0)
        out->e2el_ratio = median_of(all, out->asked) / median_of(full, n_full);
    free(full);
    free(all);
    free(v);
}

/* --- rows ------------------------------------------------------------------------------------- */

static void put_share(struct audit *a, const struct run_scope *s, struct distribution d, double of,
                      double all, size_t n)
{
    d.unit = "1";
    rows_put(a, s, &d, "value", all > 0 ? of / all : NAN, n);
}

static void put_prefill(struct audit *a, const struct run_scope *s)
{
    for (int half = 0; half < 2; half++) {
        struct prefill p;
        behaviour_prefill(a, s, half ? PREFILL_LONGER : PREFILL_ALL, &p);
        struct distribution d = {
            .name = half ? "prefill_exponent_long" : "prefill_exponent",
            .unit = "1",
            .formula = half ? "the same over the longer half of the prompts"
                            : "b of ttft = c (prompt tokens not cached)^b, alone in flight",
            .grade = GRADE_WIRE_STATED,
            .reason = p.reason};
        struct metric *m = rows_put(a, s, &d, "value", p.exponent, p.n);
        m->ci_low = p.interval.lo;
        m->ci_high = p.interval.hi;
    }
}

static void put_queueing(struct audit *a, const struct run_scope *s)
{
    struct queueing q;
    queueing_find(a, s, &q);
    put_share(a, s,
              (struct distribution){
                  .name = "serial_share",
                  .formula = "requests that waited for the end of the one before, by more than "
                             "their own prompt explains / requests sent while another was in "
                             "flight of which that can be told",
                  .grade = GRADE_WIRE,
                  .reason = q.waiting == 0 ? "no request was sent while another was in flight"
                            : q.told == 0  ? "of no request that was sent while another was in "
                                             "flight can it be told what it waited for"
                                           : NULL},
              (double)q.serial, (double)q.told, q.told);
    struct distribution d = {.name = "queue_step",
                             .unit = "s",
                             .formula =
                                 "ttft - that of the request sent before it, still in flight",
                             .grade = GRADE_WIRE};
    if (q.steps > 0)
        rows_put(a, s, &d, "p50", q.step_s, q.steps);
}

static void put_reuse(struct audit *a, const struct run_scope *s)
{
    struct reuse u;
    behaviour_reuse(a, s, &u);
    put_share(a, s,
              (struct distribution){.name = "repeated_share",
                                    .formula = "requests with a body that was sent before / all",
                                    .grade = GRADE_WIRE,
                                    .reason = u.requests == 0 ? "no body was seen whole" : NULL},
              (double)u.repeated, (double)u.requests, u.requests);
    put_share(a, s,
              (struct distribution){.name = "cached_share",
                                    .formula = "sum of cached prompt tokens / sum of prompt tokens",
                                    .grade = GRADE_STATED,
                                    .reason = u.prompt == 0 ? "no cached tokens are stated" : NULL},
              (double)u.cached, (double)u.prompt, u.stated);
    if (u.ratios == 0)
        return;
    struct distribution d = {.name = "repeat_ttft",
                             .unit = "1",
                             .formula = "ttft / that of the first request with the same body, both "
                                        "alone in flight",
                             .grade = GRADE_WIRE};
    struct metric *m = rows_put(a, s, &d, "p50", u.ttft_ratio, u.ratios);
    m->ci_low = u.interval.lo;
    m->ci_high = u.interval.hi;
}

static void put_lengths(struct audit *a, const struct run_scope *s, const struct audit_options *o)
{
    double *v = mem_array(s->n + 1, sizeof *v);
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct request *r = nth(a, s, i);
        if (metrics_request_counts(r) && request_tokens(r) >= 0)
            v[n++] = (double)request_tokens(r);
    }
    struct distribution d = {.name = "output_tokens",
                             .unit = "1",
                             .formula = "N",
                             .grade = GRADE_STATED,
                             .method = o->percentile,
                             .reason = n == 0 ? "no success states a token count" : NULL};
    rows_distribution(a, s, &d, v, n);
    free(v);
    struct early_stops e;
    behaviour_early(a, s, o->early_share, &e);
    put_share(
        a, s,
        (struct distribution){
            .name = "early_share",
            .formula = "answers below --early-stop of max_tokens / all whose limit half of them "
                       "reach, or that ignore_eos was asked for",
            .grade = GRADE_STATED,
            .reason = e.asked == 0
                          ? "no max_tokens was asked for that half of the answers reach, and none "
                            "with ignore_eos"
                          : NULL},
        (double)e.early, (double)e.asked, e.asked);
}

static void put_stalls(struct audit *a, const struct run_scope *s, const struct audit_options *o)
{
    struct stalls x;
    stalls_find(a, s, o, &x);
    struct distribution d = {.name = "stalls",
                             .unit = "1",
                             .formula = "gaps of more than --stall-factor medians of their stream",
                             .grade = GRADE_WIRE};
    d.reason = steps_between(a, s->requests, s->n) ? steps_reason : NULL;
    rows_put(a, s, &d, "count", d.reason == NULL ? (double)x.all.n : NAN, s->n);
    d.name = "stall_share";
    d.formula = "time lost in them / time between first and last output events";
    rows_put(a, s, &d, "value", d.reason == NULL ? x.lost_share : NAN, x.all.n);
    d = (struct distribution){
        .name = "stall_period",
        .unit = "s",
        .formula = "peak of the autocorrelation of excess time, by Rayleigh's test",
        .grade = GRADE_WIRE,
        .reason =
            isnan(x.period_s)
                ? "no cycle in them"
                : audit_printf(a, "r = %.2f, m R^2 = %.3g, %" PRId64 " cycles%s", x.correlation,
                               x.score, x.cycles, x.by_client ? "; requests are sent on it" : "")};
    rows_put(a, s, &d, "value", x.period_s, x.all.n);
    stalls_free(&x);
}

void behaviour_rows(struct audit *a, const struct run_scope *s, const struct audit_options *o)
{
    put_prefill(a, s);
    put_queueing(a, s);
    put_reuse(a, s);
    put_lengths(a, s, o);
    if (s->run == 0 && s->workload == NULL) /* a cycle goes on over runs */
        put_stalls(a, s, o);
}
