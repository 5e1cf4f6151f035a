/* Medians over medians, both resampled. */
#include "analyze/metrics_difference.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/metrics.h"
#include "analyze/rows.h"
#include "analyze/stat.h"

static const struct compared {
    enum request_metric metric;
    const char *name;
} compared[] = {
    {M_TTFT, "ttft_ratio"},
    {M_OUTPUT_TPS_USER, "output_tps_user_ratio"},
    {M_E2E_OUTPUT_TPS, "e2e_output_tps_ratio"},
};

/* A workload of a trace, its runs all together. */
struct side {
    size_t trace;         /* index */
    const char *workload; /* NULL: the runs name none */
};

typedef VEC(double) doubles;

static void gather(const struct audit *a, struct side x, enum request_metric m, doubles *out)
{
    for (size_t i = 0; i < a->runs.n; i++) {
        const struct run *run = &a->runs.v[i];
        if (run->trace != x.trace || !model_same_text(run->workload, x.workload))
            continue;
        for (size_t k = 0; k < run->requests.n; k++) {
            const struct request *r = &a->requests.v[run->requests.v[k]];
            if (metrics_request_counts(r) && r->metrics[m].grade != GRADE_NOT_MEASURABLE)
                VEC_PUSH(out, r->metrics[m].v);
        }
    }
    stat_sort(out->v, out->n);
}

static const char *in_words(struct audit *a, struct interval ci, size_t base, size_t n,
                            size_t n_base)
{
    const char *words = isnan(ci.lo)               ? "too few for an interval"
                        : ci.lo <= 1 && ci.hi >= 1 ? "no difference: the interval holds 1"
                        : ci.lo > 1                ? "higher"
                                                   : "lower";
    return audit_printf(a, "against trace %zu (n = %zu, here %zu): %s", base + 1, n_base, n, words);
}

/* The workload, if its trace has others too: else the scope is the whole trace. */
static const char *own_scope(const struct audit *a, struct side x)
{
    struct metric_scope own = {x.trace + 1, 0, x.workload};
    return metrics_find(a, "requests", "count", own) != NULL ? x.workload : NULL;
}

static void compare(struct audit *a, struct side x, size_t base, const struct compared *c)
{
    doubles here = {0}, there = {0};
    gather(a, x, c->metric, &here);
    gather(a, (struct side){base, x.workload}, c->metric, &there);
    if (here.n > 0 && there.n > 0 && stat_median(there.v, there.n) > 0) {
        struct interval ci = {NAN, NAN};
        if (there.v[0] > 0) /* so is the median of every resample */
            ci = stat_bootstrap_ratio(here.v, here.n, there.v, there.n);
        struct distribution d = {.name = c->name,
                                 .unit = "1",
                                 .formula = "median / the median of the first trace with that "
                                            "workload",
                                 .grade = c->metric == M_TTFT ? GRADE_WIRE : GRADE_WIRE_STATED,
                                 .reason = in_words(a, ci, base, here.n, there.n)};
        struct run_scope scope = {x.trace + 1, 0, own_scope(a, x), NULL, 0};
        double ratio = stat_median(here.v, here.n) / stat_median(there.v, there.n);
        struct metric *m = rows_put(a, &scope, &d, "p50", ratio, here.n);
        m->ci_low = ci.lo;
        m->ci_high = ci.hi;
    }
    VEC_FREE(&here);
    VEC_FREE(&there);
}

/* The first run of a workload in its trace stands for it; the first trace with such a one is the
 * base. */
static void compare_run(struct audit *a, size_t run)
{
    const struct run *r = &a->runs.v[run];
    struct side x = {r->trace, r->workload};
    size_t base = SIZE_MAX;
    for (size_t i = 0; i < run; i++) {
        const struct run *other = &a->runs.v[i];
        if (!model_same_text(other->workload, x.workload))
            continue;
        if (other->trace == x.trace)
            return;
        base = base == SIZE_MAX ? other->trace : base;
    }
    for (size_t i = 0; base != SIZE_MAX && i < sizeof compared / sizeof *compared; i++)
        compare(a, x, base, &compared[i]);
}

void metrics_differences(struct audit *a)
{
    enum { RUNS_MAX = 1000 }; /* more is no comparison of servers */
    for (size_t i = 0; a->traces.n > 1 && a->runs.n <= RUNS_MAX && i < a->runs.n; i++)
        compare_run(a, i);
}
