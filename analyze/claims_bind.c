/* Figures of files made claims: under the tool's own formula, of the requests that the file is
 * about. */
#include "analyze/claims_bind.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics.h"
#include "traces/base/log.h"
#include "traces/limits.h"

enum { WEIGHTED_SLACK = 10 }; /* of quantiles that a tool weights */

const struct claim_basis *claim_basis_of(struct audit *a, const struct tool *tool,
                                         const char *metric)
{
    enum figure_id id = figure_of_claim(metric);
    if (tool == NULL || tool->formulas == NULL || id == F_NONE)
        return NULL;
    /* Names that mean something else with some tools: 2.1 of the reference. */
    bool itl = strcmp(metric, "itl") == 0;
    if (itl && (tool == &tool_aiperf || tool == &tool_genai_perf || tool == &tool_guidellm))
        id = F_TPOT;
    else if ((itl && tool == &tool_llmperf) || (id == F_TPOT && tool == &tool_guidellm))
        id = F_NTPOT;
    const struct tool_formula *f = &tool->formulas[id];
    if (f->d.name == NULL && f->slack <= 1)
        return NULL;
    struct claim_basis *b = arena_alloc(&a->texts, sizeof *b);
    *b = (struct claim_basis){.formula = f, .step_quantiles = tool->step_quantiles};
    return b;
}

/* A mean over runs is of no run; and of none of them does the file tell the figures. */
static const char *of_no_run(const struct binder *b, const struct file_summary *s)
{
    const struct file_figure *n = file_find(s, F_RUNS, FILE_VALUE);
    const char *runs = n == NULL ? "several runs" : audit_printf(b->a, "%g runs", n->v);
    return audit_printf(b->a,
                        "it is the mean over %s of what each of them had for it, and no trace of a "
                        "run tells what it should be: hold each run's own file "
                        "(profile_export_aiperf.json) against that run's trace",
                        runs);
}

/* --- figures ---------------------------------------------------------------------------------- */

static const char *stat_of(const struct file_figure *f)
{
    static const enum stat stats[] = {[FILE_VALUE] = STAT_VALUE,
                                      [FILE_MEAN] = STAT_MEAN,
                                      [FILE_MIN] = STAT_MIN,
                                      [FILE_MAX] = STAT_MAX,
                                      [FILE_SUM] = STAT_SUM};
    if (f->stat == FILE_STD)
        return NULL;
    if (f->stat != FILE_QUANTILE)
        return stat_names[stats[f->stat]];
    return f->q == 0.5    ? stat_names[STAT_P50]
           : f->q == 0.9  ? stat_names[STAT_P90]
           : f->q == 0.95 ? stat_names[STAT_P95]
           : f->q == 0.99 ? stat_names[STAT_P99]
                          : NULL;
}

/* A formula over a whole run gives a mean; of other statistics it says only what it rests on. What
 * weights by tokens takes each of them by itself. */
static const struct tool_formula *formula_of(const struct binder *b, const struct tool *t,
                                             enum figure_id id, const char *stat)
{
    const struct tool_formula *f = &t->formulas[id];
    bool means_only = f->d.formula.of_run && id <= F_TOTAL;
    bool plain = strcmp(stat, "mean") == 0 || (f->weighted && strcmp(stat, "sum") == 0);
    if (!means_only || plain)
        return f;
    struct tool_formula *g = arena_alloc(&b->a->texts, sizeof *g);
    *g = *f;
    if (f->weighted) {
        g->d.name = audit_printf(b->a, "%s (weighted %s)", f->d.name, stat);
        return g;
    }
    *g = (struct tool_formula){.slack = f->slack, .weak = f->weak};
    for (size_t i = 0, n = 0; i < sizeof f->also / sizeof *f->also; i++) {
        if (f->also[i] != NULL && !f->also[i]->formula.of_run)
            g->also[n++] = f->also[i];
    }
    return g;
}

/* Requests that the tool cancelled failed on the wire, those of them that it had sent. */
static void allow_cancelled(const struct binder *b, const struct file_summary *s,
                            const struct file_figure *f, struct claim_figure *c)
{
    const struct file_figure *n = file_find(s, F_CANCELLED, FILE_VALUE);
    if (f->id != F_FAILED || n == NULL || !(n->v > 0))
        return;
    c->interval.hi = c->claimed + n->v;
    c->text = audit_printf(b->a, "%s, and %g cancelled", c->text, n->v);
}

bool bind_figure(const struct binder *b, const struct file_summary *s, const struct file_figure *f,
                 const struct claim_basis *scope, struct claim_figure *out)
{
    const char *metric = figure_claim(f->id), *stat = stat_of(f);
    bool asked = (f->id == F_INPUT || f->id == F_OUTPUT) && f->stat == FILE_VALUE;
    if (metric == NULL || stat == NULL || asked)
        return false;
    struct claim_basis *basis = arena_alloc(&b->a->texts, sizeof *basis);
    *basis = *scope;
    basis->formula = formula_of(b, s->tool, f->id, stat);
    *out = (struct claim_figure){.tool = s->tool->name,
                                 .file = s->file,
                                 .metric = metric,
                                 .stat = stat,
                                 .claimed_text = f->text,
                                 .claimed = f->v,
                                 .interval = f->i,
                                 .basis = basis};
    out->text = audit_printf(b->a, "%s: %s = %s (%s%s)", s->tool->name, f->path, f->text, s->file,
                             s->nth > 1 ? audit_printf(b->a, ", object %zu", s->nth) : "");
    allow_cancelled(b, s, f, out);
    return true;
}

static void add_figure(struct binder *b, const struct file_summary *s, struct file_figure *f,
                       const struct claim_basis *scope)
{
    struct claim_figure c;
    if (!bind_figure(b, s, f, scope, &c))
        return;
    if (b->a->claims.n >= LIMIT_CLAIMS) {
        b->left++;
        return;
    }
    claims_add_figure(b->a, &c)->unopposed = b->a->traces.n == 0 && !s->tool->over_runs;
    f->claim = b->a->claims.n;
}

/* A unit that is not known may be any. */
static void add_unread(struct binder *b, const struct file_summary *s)
{
    for (size_t i = 0; i < s->unread.n; i++) {
        struct file_figure *f = &s->unread.v[i];
        struct claim_basis scope = {
            .unscoped = audit_printf(b->a, "its unit, \"%s\", is not known", f->unit)};
        add_figure(b, s, f, &scope);
    }
}

static bool is_one_of_several(const struct claim_files *fs, size_t i)
{
    const struct file_summary *s = &fs->summaries.v[i];
    return s->nth > 1 || (i + 1 < fs->summaries.n && fs->summaries.v[i + 1].nth > 1);
}

void claim_files_bind(struct claim_files *fs, struct audit *a, const struct audit_options *o)
{
    double *bounds = a->traces.n > 0 ? formula_rate_bounds(a, o) : NULL;
    struct binder b = {.a = a, .o = o, .bounds = bounds};
    for (size_t i = 0; i < a->requests.n; i++) {
        const struct request *r = &a->requests.v[i];
        bool meant = o->claim_trace == 0 || (size_t)o->claim_trace == r->trace + 1;
        if (r->dialect != NULL && !r->warmup && meant)
            VEC_PUSH(&b.all, i);
    }
    claim_batches_find(fs, a, o);
    for (size_t i = 0; i < fs->summaries.n; i++) {
        struct file_summary *s = &fs->summaries.v[i];
        struct claim_basis scope = {.step_quantiles = s->tool->step_quantiles};
        size_t *row_of =
            a->traces.n > 0 && s->rows.n > 0 ? mem_array(s->rows.n, sizeof *row_of) : NULL;
        bool joined = row_of != NULL && claim_join(s, a, o, row_of);
        if (s->tool->over_runs)
            scope.unscoped = of_no_run(&b, s);
        else if (a->traces.n > 0 && s->figures.n > 0)
            bind_scope(&b, s, joined ? row_of : NULL, is_one_of_several(fs, i), &scope);
        for (size_t k = 0; k < s->figures.n; k++)
            add_figure(&b, s, &s->figures.v[k], &scope);
        add_unread(&b, s);
        bind_rows(&b, s, joined ? row_of : NULL);
        free(row_of);
    }
    VEC_FREE(&b.all);
    free(bounds);
    if (b.left > 0)
        log_warn("%zu figures of the files are not held against the trace: more than %u claims",
                 b.left, LIMIT_CLAIMS);
}
