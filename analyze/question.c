/* What a claim may be about, and what a definition gives for it. */
#include "analyze/question.h"

#include <math.h>
#include <string.h>

static bool same(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Which requests belong to a part of the audit: those of a workload, of a run, of a name in the
 * workload. */
struct part {
    const char *workload, *name; /* NULL: any */
    size_t run;                  /* RUN_NONE: any */
};

static bool in_part(const struct audit *a, const struct request *r, struct part p)
{
    if (r->dialect == NULL || r->warmup || (p.run != RUN_NONE && r->run != p.run))
        return false;
    if (p.name != NULL && !same(r->name, p.name))
        return false;
    return p.workload == NULL ||
           (r->run < a->runs.n && same(a->runs.v[r->run].workload, p.workload));
}

static bool is_asked_about(const struct question *q, size_t trace)
{
    return q->o->claim_trace == 0 || (size_t)q->o->claim_trace == trace + 1;
}

static bool is_of_tool(const struct question *q)
{
    return q->basis != NULL && q->basis->formula != NULL;
}

static void add_scope(struct scope_set *set, const struct question *q, struct part p, bool whole,
                      const double *bounds)
{
    struct scope s = {.a = q->a,
                      .o = q->o,
                      .rate_bounds = bounds,
                      .whole = whole,
                      .as_tool = is_of_tool(q),
                      .stat = q->stat};
    for (size_t i = 0; i < q->a->requests.n; i++) {
        if (is_asked_about(q, q->a->requests.v[i].trace) && in_part(q->a, &q->a->requests.v[i], p))
            VEC_PUSH(&s.requests, i);
    }
    VEC_PUSH(&set->scopes, s);
}

static void add_set(struct question *q, const char *label, struct part p, bool whole,
                    const double *bounds)
{
    struct scope_set set = {.label = label};
    add_scope(&set, q, p, whole, bounds);
    VEC_PUSH(&q->sets, set);
}

/* One scope for each run of a workload; NULL: of all runs. */
static void add_runs(struct question *q, const char *label, const char *workload,
                     const double *bounds)
{
    struct scope_set set = {.label = label};
    for (size_t i = 0; i < q->a->runs.n; i++) {
        const struct run *run = &q->a->runs.v[i];
        if (is_asked_about(q, run->trace) && (workload == NULL || same(run->workload, workload)))
            add_scope(&set, q, (struct part){NULL, NULL, i}, false, bounds);
    }
    VEC_PUSH(&q->sets, set);
}

static bool workload_is_new(const struct audit *a, size_t run)
{
    for (size_t i = 0; i < run; i++) {
        if (same(a->runs.v[i].workload, a->runs.v[run].workload))
            return false;
    }
    return a->runs.v[run].workload != NULL;
}

static bool name_is_new(const struct audit *a, size_t request)
{
    for (size_t i = 0; i < request; i++) {
        if (same(a->requests.v[i].name, a->requests.v[request].name))
            return false;
    }
    return a->requests.v[request].name != NULL;
}

#define PARTS_MOST 256 /* of one kind; more say nothing about which one a claim means */

static void add_parts(struct question *q, const double *bounds)
{
    struct audit *a = q->a;
    bool many = a->runs.n > 1 && a->runs.n <= PARTS_MOST;
    for (size_t i = 0; many && i < a->runs.n; i++) {
        const char *workload = a->runs.v[i].workload;
        if (!workload_is_new(a, i))
            continue;
        if (q->name->of_run)
            add_runs(q, workload, workload, bounds);
        else
            add_set(q, workload, (struct part){workload, NULL, RUN_NONE}, false, bounds);
    }
    for (size_t i = 0; many && i < a->runs.n; i++)
        add_set(q, audit_printf(a, "run %zu", a->runs.v[i].id), (struct part){NULL, NULL, i}, false,
                bounds);
    for (size_t i = 0; many && i < a->requests.n && !q->name->of_run && q->sets.n < 3 * PARTS_MOST;
         i++) {
        if (name_is_new(a, i))
            add_set(q, a->requests.v[i].name, (struct part){NULL, a->requests.v[i].name, RUN_NONE},
                    false, bounds);
    }
}

static const struct request *find_request(const struct audit *a, size_t id)
{
    for (size_t i = 0; i < a->requests.n; i++) {
        if (a->requests.v[i].id == id)
            return &a->requests.v[i];
    }
    return NULL;
}

/* Figures that no run has for itself. */
static bool of_traces(const struct claim_name *name)
{
    return name->definitions[0] == D_SPEEDUP || name->definitions[0] == D_MEMORY;
}

bool question_scopes(struct question *q, struct claim *c, const double *bounds)
{
    struct audit *a = q->a;
    const struct part all = {NULL, NULL, RUN_NONE};
    if (c->request != 0) {
        const struct request *r = find_request(a, c->request);
        if (r == NULL || r->dialect == NULL) {
            c->reason = r == NULL ? audit_printf(a, "there is no request %zu; the last is %zu",
                                                 c->request, a->requests.n)
                                  : audit_printf(a, "request %zu is no LLM request", c->request);
            return false;
        }
        struct scope s = {.a = a, .o = q->o, .rate_bounds = bounds, .one = true, .stat = q->stat};
        VEC_PUSH(&s.requests, (size_t)(r - a->requests.v));
        struct scope_set set = {.label = NULL};
        VEC_PUSH(&set.scopes, s);
        VEC_PUSH(&q->sets, set);
        return true;
    }
    if (q->basis != NULL && q->basis->requests != NULL) {
        struct scope s = {.a = a,
                          .o = q->o,
                          .rate_bounds = bounds,
                          .as_tool = is_of_tool(q),
                          .stat = q->stat};
        for (size_t i = 0; i < q->basis->n; i++)
            VEC_PUSH(&s.requests, q->basis->requests[i]);
        struct scope_set set = {.label = NULL};
        VEC_PUSH(&set.scopes, s);
        VEC_PUSH(&q->sets, set);
        return true;
    }
    bool run_by_run = q->name->of_run && a->runs.n > 1 && !of_traces(q->name);
    if (run_by_run)
        add_runs(q, NULL, NULL, bounds);
    else
        add_set(q, NULL, all, true, bounds);
    add_parts(q, bounds);
    if (run_by_run)
        add_set(q, "all runs as one", all, true, bounds);
    for (size_t i = 0; i < q->sets.v[0].scopes.n; i++) {
        if (q->sets.v[0].scopes.v[i].requests.n > 0)
            return true;
    }
    c->reason = "there is no LLM request in the trace";
    return false;
}

void question_done(struct question *q)
{
    for (size_t i = 0; i < q->sets.n; i++) {
        for (size_t k = 0; k < q->sets.v[i].scopes.n; k++)
            VEC_FREE(&q->sets.v[i].scopes.v[k].requests);
        VEC_FREE(&q->sets.v[i].scopes);
    }
    VEC_FREE(&q->sets);
}

void question_lossy(struct question *q, bool lossy)
{
    for (size_t i = 0; i < q->sets.n; i++) {
        for (size_t k = 0; k < q->sets.v[i].scopes.n; k++)
            q->sets.v[i].scopes.v[k].lossy = lossy;
    }
}

void question_overrun(struct question *q, bool overrun)
{
    for (size_t i = 0; i < q->sets.n; i++) {
        for (size_t k = 0; k < q->sets.v[i].scopes.n; k++)
            q->sets.v[i].scopes.v[k].overrun = overrun;
    }
}

void question_blurred(struct question *q, bool blurred)
{
    for (size_t i = 0; i < q->sets.n; i++) {
        for (size_t k = 0; k < q->sets.v[i].scopes.n; k++)
            q->sets.v[i].scopes.v[k].blurred = blurred;
    }
}

void question_doubt(struct question *q, bool late, double miscount)
{
    for (size_t i = 0; i < q->sets.n; i++) {
        for (size_t k = 0; k < q->sets.v[i].scopes.n; k++) {
            q->sets.v[i].scopes.v[k].late = late;
            q->sets.v[i].scopes.v[k].miscount = miscount;
        }
    }
}

static void gather(const struct question *q, size_t set, const struct definition *d,
                   struct estimates *out)
{
    for (size_t i = 0; i < q->sets.v[set].scopes.n; i++)
        definition_apply(d, &q->sets.v[set].scopes.v[i], out);
    estimates_sort(out);
}

/* Who takes order statistics and does not interpolate gets one of the two neighbours. */
static void widen_to_ranks(const struct question *q, const struct estimates *all, enum stat stat,
                           struct estimate *e)
{
    static const double quantile[STATS] = {
        [STAT_P50] = 0.5, [STAT_P90] = 0.9, [STAT_P95] = 0.95, [STAT_P99] = 0.99};
    size_t n = all->all.n;
    if (q->basis == NULL || !q->basis->step_quantiles || n < 2 || quantile[stat] <= 0)
        return;
    double rank = quantile[stat] * (double)n; /* of the step, from 1; type 7 lies near it */
    size_t lo = rank >= 2 ? (size_t)rank - 2 : 0, hi = (size_t)ceil(rank);
    e->interval.lo = fmin(e->interval.lo, all->lo[lo]);
    e->interval.hi = fmax(e->interval.hi, all->hi[hi < n ? hi : n - 1]);
}

bool question_typical(const struct question *q, size_t set, const struct definition *d,
                      struct reading *r)
{
    struct estimates all = {0};
    gather(q, set, d, &all);
    bool single = all.all.n == 1 && estimates_number(&all, q->stat) == 1;
    enum stat stat = single ? STAT_VALUE : q->stat == STAT_VALUE ? STAT_P50 : q->stat;
    *r = (struct reading){
        .stat = stat, .label = q->sets.v[set].label, .n = estimates_number(&all, stat)};
    bool found = estimates_stat(&all, stat, &r->estimate);
    if (found)
        widen_to_ranks(q, &all, stat, &r->estimate);
    r->by_body = estimates_number(&all, stat) - all.all.n;
    estimates_free(&all);
    return found;
}

bool question_figure(const struct question *q, const struct definition *d, struct reading *r)
{
    for (size_t set = 0; d != NULL && set < q->sets.n; set++) {
        if (question_typical(q, set, d, r))
            return true;
    }
    return false;
}

bool question_recomputed(const struct question *q, int definition, struct reading *r)
{
    return question_figure(q, definition != NO_DEFINITION ? &definitions[definition] : NULL, r);
}

/* Where none was stated: medians and means are published, the others only if they alone fit. */
static bool is_usual(enum stat stat)
{
    return stat == STAT_P50 || stat == STAT_MEAN || stat == STAT_VALUE;
}

bool question_fits(const struct question *q, size_t set, const struct estimates *all,
                   struct reading *out)
{
    double claimed = (q->claimed.lo + q->claimed.hi) / 2, nearest = INFINITY;
    bool found = false;
    struct reading r = {.label = q->sets.v[set].label};
    bool single = all->all.n == 1 && estimates_number(all, q->stat) == 1;
    for (int stat = 0; stat < STATS; stat++) {
        r.stat = (enum stat)stat;
        r.n = estimates_number(all, r.stat);
        r.by_body = r.n - all->all.n;
        bool tried = question_tries(q, set, r.stat) || (single && r.stat == STAT_VALUE);
        if (!tried || !estimates_stat(all, r.stat, &r.estimate))
            continue;
        widen_to_ranks(q, all, r.stat, &r.estimate);
        if (!interval_meets(r.estimate.interval, q->claimed))
            continue;
        double off = fabs(r.estimate.value - claimed);
        bool nearer = nearest - off > 1e-9 * fabs(claimed);
        bool usual = is_usual(r.stat), had_usual = found && is_usual(out->stat);
        if (!found || (usual && !had_usual) || (usual == had_usual && nearer)) {
            nearest = off;
            *out = r;
            found = true;
        }
    }
    return found;
}

bool question_meets(const struct question *q, const struct definition *d, struct reading *r)
{
    bool met = false;
    for (size_t set = 0; set < q->sets.n && !met; set++) {
        struct estimates all = {0};
        gather(q, set, d, &all);
        met = question_fits(q, set, &all, r);
        estimates_free(&all);
    }
    return met;
}

bool question_tries(const struct question *q, size_t set, enum stat stat)
{
    if (q->one && q->stat == STAT_VALUE)
        return stat == STAT_VALUE || q->name->definitions[0] == D_ICL ||
               q->name->definitions[1] == D_ICL;
    if (q->stat != STAT_VALUE)
        return stat == q->stat;
    if (set > 0)
        return stat == STAT_P50 || stat == STAT_MEAN;
    return stat != STAT_VALUE && (stat != STAT_SUM || q->name->dimension == DIM_TOKENS);
}

const char *reading_text(struct audit *a, const struct reading *r)
{
    const char *label = r->label != NULL ? r->label : "";
    if (r->n <= 1 || r->stat == STAT_VALUE)
        return r->label != NULL ? audit_printf(a, " (%s)", label) : "";
    const char *by_body =
        r->by_body > 0
            ? audit_printf(a, ", %zu of them as stated for the same body", r->by_body)
            : "";
    return audit_printf(a, " (%s of %zu%s%s%s)", stat_names[r->stat], r->n, by_body,
                        *label != '\0' ? ", " : "", label);
}
