/* Figures of files made claims: under the tool's own formula, of the requests that the file is
 * about. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/claims.h"
#include "analyze/claims_file.h"
#include "analyze/finding_kinds.h"
#include "analyze/metrics.h"
#include "traces/base/buf.h"
#include "traces/base/clock.h"
#include "traces/base/log.h"
#include "traces/limits.h"

enum {
    ROW_CLAIMS_MOST = 20000,
    SHOWN_MOST = 5,
    WEIGHTED_SLACK = 10, /* of quantiles that a tool weights */
    SURPLUS_MOST =
        1000 /* requests of the trace that a file is not about, to look for those it is */
};

/* Of a tool's duration against the bytes: it begins before the first request and ends behind the
 * last. */
#define DURATION_EARLY_S 2e-3
#define DURATION_LATE_S 0.1

struct binder {
    struct audit *a;
    const struct audit_options *o;
    VEC(size_t) all; /* requests that claims may be about, by t0 */
    size_t left;     /* figures beyond LIMIT_CLAIMS */
};

static const char row_stat[] = "value"; /* of a row's claim: told from others by its address */

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

/* --- which requests --------------------------------------------------------------------------- */

static double stated(const struct file_summary *s, enum figure_id id, enum file_stat stat)
{
    const struct file_figure *f = file_find(s, id, stat);
    return f != NULL ? f->v : NAN;
}

static const struct request *nth(const struct binder *b, const size_t *v, size_t i)
{
    return &b->a->requests.v[v[i]];
}

static size_t successes(const struct binder *b, const size_t *v, size_t n)
{
    size_t good = 0;
    for (size_t i = 0; i < n; i++)
        good += nth(b, v, i)->outcome == OUTCOME_SUCCESS;
    return good;
}

/* Do their tokens add up to what the file says? */
static bool tokens_agree(const struct binder *b, const struct file_summary *s, const size_t *v,
                         size_t n)
{
    double in = 0, out = 0;
    for (size_t i = 0; i < n; i++) {
        const struct request *r = nth(b, v, i);
        if (r->outcome != OUTCOME_SUCCESS)
            continue;
        in += r->usage.prompt >= 0 ? (double)r->usage.prompt : NAN;
        out += request_tokens(r) >= 0 ? (double)request_tokens(r) : NAN;
    }
    return in == stated(s, F_INPUT_SUM, FILE_SUM) || out == stated(s, F_OUTPUT_SUM, FILE_SUM);
}

static void keep(const struct binder *b, struct claim_basis *x, const size_t *v, size_t n)
{
    size_t *kept = arena_alloc(&b->a->texts, (n > 0 ? n : 1) * sizeof *kept);
    if (n > 0)
        memcpy(kept, v, n * sizeof *kept);
    x->requests = kept;
    x->n = n;
}

static bool by_window(const struct binder *b, const struct file_summary *s, struct claim_basis *x)
{
    double from = stated(s, F_STARTED, FILE_VALUE), to = stated(s, F_ENDED, FILE_VALUE);
    if (!(from < to))
        return false;
    size_t first = 0, end = 0;
    for (size_t i = 0; i < b->all.n; i++) {
        double t = (double)nth(b, b->all.v, i)->t0 / NS_PER_S;
        first += t < from - 0.05;
        end += t <= to;
    }
    if (end <= first)
        return false;
    keep(b, x, b->all.v + first, end - first);
    x->which = audit_printf(b->a, "%zu requests between the file's start and end", end - first);
    double done = stated(s, F_COMPLETED, FILE_VALUE);
    if (!isnan(done) && done != (double)successes(b, x->requests, x->n))
        x->unscoped =
            audit_printf(b->a,
                         "the file is about %g successful requests; between its start and "
                         "end the trace holds %zu",
                         done, successes(b, x->requests, x->n));
    return true;
}

static bool by_run(const struct binder *b, double done, struct claim_basis *x)
{
    const struct run *only = NULL;
    for (size_t i = 0; i < b->a->runs.n; i++) {
        const struct run *r = &b->a->runs.v[i];
        bool meant = b->o->claim_trace == 0 || (size_t)b->o->claim_trace == r->trace + 1;
        if (!meant || (double)successes(b, r->requests.v, r->requests.n) != done)
            continue;
        if (only != NULL)
            return false;
        only = r;
    }
    if (only == NULL)
        return false;
    keep(b, x, only->requests.v, only->requests.n);
    x->which =
        audit_printf(b->a, "run %zu, the only one with %g successful requests", only->id, done);
    return true;
}

/* From the first of them to the last, as the file's duration has it? */
static bool lasts_as_stated(const struct binder *b, const size_t *v, size_t n, double duration)
{
    int64_t end = -1;
    for (size_t i = 0; i < n; i++) {
        const struct request *r = nth(b, v, i);
        int64_t z = r->z >= 0 ? r->z : r->t_end;
        end = z > end ? z : end;
    }
    double later = duration - (double)(end - nth(b, v, 0)->t0) / NS_PER_S;
    return later >= -DURATION_EARLY_S && later <= DURATION_LATE_S;
}

/* As many requests one after the other as the file is about, if only some last as long as it says:
 * a tool may warm up first. */
static bool by_duration(const struct binder *b, const struct file_summary *s, double done,
                        struct claim_basis *x)
{
    double duration = stated(s, F_DURATION, FILE_VALUE);
    size_t n = done > 0 && done < (double)b->all.n ? (size_t)done : 0, found = SIZE_MAX;
    if (n == 0 || isnan(duration) || b->all.n - n > SURPLUS_MOST)
        return false;
    for (size_t i = 0; i + n <= b->all.n; i++) {
        if (successes(b, b->all.v + i, n) != n || !lasts_as_stated(b, b->all.v + i, n, duration))
            continue;
        if (found != SIZE_MAX)
            return false;
        found = i;
    }
    if (found == SIZE_MAX)
        return false;
    keep(b, x, b->all.v + found, n);
    x->which = audit_printf(b->a,
                            "%zu of %zu requests, the only ones in a row that last as long as "
                            "the file says",
                            n, b->all.n);
    return true;
}

static void find_scope(const struct binder *b, const struct file_summary *s, bool several,
                       struct claim_basis *x)
{
    double done = stated(s, F_COMPLETED, FILE_VALUE), failed = stated(s, F_FAILED, FILE_VALUE);
    size_t all = b->all.n, good = successes(b, b->all.v, all);
    if (s->batches != NULL) {
        keep(b, x, s->batches, s->rows.n);
        x->which = audit_printf(b->a,
                                "the %zu requests whose times to the first event fit the file's, "
                                "batch by batch",
                                s->rows.n);
        return;
    }
    if (by_window(b, s, x))
        return;
    if (isnan(done)) { /* any part of the trace may be meant */
        if (several)
            x->unscoped = "the file holds several results, and does not say of how many requests "
                          "each of them is";
        return;
    }
    if (done == (double)good) {
        keep(b, x, b->all.v, all);
        return;
    }
    if (by_run(b, done, x))
        return;
    double last = done + (isnan(failed) ? 0 : failed);
    if (last > 0 && last < (double)all) {
        size_t n = (size_t)last;
        const size_t *v = b->all.v + (all - n);
        if ((double)successes(b, v, n) == done && tokens_agree(b, s, v, n)) {
            keep(b, x, v, n);
            x->which = audit_printf(
                b->a, "the last %zu of %zu requests, whose tokens add up to the file's", n, all);
            return;
        }
    }
    if (!several && by_duration(b, s, done, x))
        return;
    double sent = stated(s, F_REQUESTED, FILE_VALUE);
    if ((isnan(sent) ? last : sent) == (double)all && !several) {
        keep(b, x, b->all.v, all);
        x->which = audit_printf(
            b->a, "all %zu requests of the trace, since the file has as many, answered or not",
            all);
        return;
    }
    x->unscoped = audit_printf(b->a,
                               "the file is about %g successful requests, and of the trace's %zu "
                               "requests %zu succeeded: which are meant is not known",
                               done, all, good);
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

/* A formula over a whole run gives a mean; of other statistics it says only what it rests on. */
static const struct tool_formula *formula_of(const struct binder *b, const struct tool *t,
                                             enum figure_id id, const char *stat)
{
    const struct tool_formula *f = &t->formulas[id];
    bool means_only = f->d.formula.of_run && id <= F_TOTAL;
    if (!means_only || strcmp(stat, "mean") == 0 || (f->weighted && strcmp(stat, "sum") == 0))
        return f;
    struct tool_formula *g = arena_alloc(&b->a->texts, sizeof *g);
    *g = (struct tool_formula){.slack = f->weighted ? WEIGHTED_SLACK : f->slack, .weak = f->weak};
    for (size_t i = 0, n = 0; i < sizeof f->also / sizeof *f->also && !f->weighted; i++) {
        if (f->also[i] != NULL && !f->also[i]->formula.of_run)
            g->also[n++] = f->also[i];
    }
    return g;
}

static void add_figure(struct binder *b, const struct file_summary *s, struct file_figure *f,
                       const struct claim_basis *scope)
{
    const char *metric = figure_claim(f->id), *stat = stat_of(f);
    bool asked = (f->id == F_INPUT || f->id == F_OUTPUT) && f->stat == FILE_VALUE;
    if (metric == NULL || stat == NULL || asked)
        return;
    if (b->a->claims.n >= LIMIT_CLAIMS) {
        b->left++;
        return;
    }
    struct claim_basis *basis = arena_alloc(&b->a->texts, sizeof *basis);
    *basis = *scope;
    basis->formula = formula_of(b, s->tool, f->id, stat);
    struct claim_figure c = {.tool = s->tool->name,
                             .file = s->file,
                             .metric = metric,
                             .stat = stat,
                             .claimed_text = f->text,
                             .claimed = f->v,
                             .interval = f->i,
                             .basis = basis};
    c.text = audit_printf(b->a, "%s: %s = %s (%s%s)", s->tool->name, f->path, f->text, s->file,
                          s->nth > 1 ? audit_printf(b->a, ", object %zu", s->nth) : "");
    claims_add_figure(b->a, &c)->unopposed = b->a->traces.n == 0;
    f->claim = b->a->claims.n;
}

/* --- rows ------------------------------------------------------------------------------------- */

static void add_row_claim(const struct binder *b, const struct file_summary *s, size_t row,
                          enum figure_id id, struct interval i, size_t request,
                          const char *unscoped)
{
    const char *metric = figure_claim(id);
    double v = (i.lo + i.hi) / 2;
    if (!(v >= 0) || !isfinite(v) || b->a->claims.n >= LIMIT_CLAIMS)
        return;
    struct claim_basis *basis = arena_alloc(&b->a->texts, sizeof *basis);
    const struct tool_formula *f = id == F_LATENCY && s->tool->gaps_end != NULL
                                       ? s->tool->gaps_end
                                       : &s->tool->formulas[id];
    bool of_run = f->d.formula.of_run;
    *basis = (struct claim_basis){.formula = of_run ? NULL : f, .unscoped = unscoped};
    char shown[64];
    claim_value_text(claim_name_find(metric)->dimension, v, shown);
    struct claim_figure c = {.tool = s->tool->name,
                             .file = s->file,
                             .metric = metric,
                             .stat = row_stat,
                             .claimed_text = audit_printf(b->a, "%.9g", v),
                             .claimed = v,
                             .interval = interval_around(v, fmax((i.hi - i.lo) / 2, v * 5e-7)),
                             .request = request,
                             .basis = basis};
    c.text = request != 0 ? audit_printf(b->a, "%s: %s@%zu = %s (%s, row %zu)", s->tool->name,
                                         metric, request, shown, s->file, row + 1)
                          : audit_printf(b->a, "%s: %s = %s (%s, mean of %zu rows)", s->tool->name,
                                         metric, shown, s->file, s->rows.n);
    claims_add_figure(b->a, &c)->unopposed = b->a->traces.n == 0;
}

static const struct {
    enum figure_id id;
} row_figures[] = {{F_TTFT}, {F_LATENCY}, {F_TPOT}, {F_OUTPUT}, {F_INPUT}};

static struct interval row_value(const struct file_row *r, enum figure_id id)
{
    switch (id) {
    case F_TTFT:
        return interval_around(r->ttft, (double)r->ttft_half);
    case F_LATENCY:
        return interval_around(r->latency, (double)r->latency_half);
    case F_TPOT:
        return interval_around(r->tpot, (double)r->tpot_half);
    case F_OUTPUT:
        return interval_exact(r->output >= 0 ? (double)r->output : NAN);
    default:
        return interval_exact(r->input >= 0 ? (double)r->input : NAN);
    }
}

/* Rows that are joined to nothing: what they say on average cannot be held against anything. */
static void add_means(const struct binder *b, const struct file_summary *s, const char *why)
{
    for (size_t k = 0; k < sizeof row_figures / sizeof *row_figures; k++) {
        struct interval sum = {0, 0};
        size_t n = 0;
        for (size_t i = 0; i < s->rows.n; i++) {
            struct interval v = row_value(&s->rows.v[i], row_figures[k].id);
            if (s->rows.v[i].failed || !isfinite(v.lo))
                continue;
            sum = interval_add(sum, v);
            n++;
        }
        if (n > 0)
            add_row_claim(b, s, 0, row_figures[k].id, interval_scale(sum, 1 / (double)n), 0, why);
    }
}

static void bind_rows(const struct binder *b, struct file_summary *s)
{
    if (s->rows.n == 0)
        return;
    if (b->a->traces.n == 0) {
        if (s->figures.n == 0)
            add_means(b, s, NULL);
        return;
    }
    size_t *request_of = mem_array(s->rows.n, sizeof *request_of), made = 0;
    bool joined = claim_join(s, b->a, b->o, request_of);
    if (!joined && s->batches != NULL) { /* which of a batch's requests a row is, nobody told */
        s->join = NULL;
    } else if (joined) {
        for (size_t i = 0; i < s->rows.n && made < ROW_CLAIMS_MOST; i++) {
            const struct file_row *r = &s->rows.v[i];
            if (r->failed || request_of[i] == ROW_UNJOINED)
                continue;
            for (size_t k = 0; k < sizeof row_figures / sizeof *row_figures; k++, made++)
                add_row_claim(b, s, i, row_figures[k].id, row_value(r, row_figures[k].id),
                              b->a->requests.v[request_of[i]].id, NULL);
        }
    } else {
        s->join = audit_printf(b->a, "the rows cannot be joined to requests: %s", s->join);
        if (s->figures.n == 0)
            add_means(b, s, s->join);
    }
    free(request_of);
}

static bool is_one_of_several(const struct claim_files *fs, size_t i)
{
    const struct file_summary *s = &fs->summaries.v[i];
    return s->nth > 1 || (i + 1 < fs->summaries.n && fs->summaries.v[i + 1].nth > 1);
}

void claim_files_bind(struct claim_files *fs, struct audit *a, const struct audit_options *o)
{
    struct binder b = {.a = a, .o = o};
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
        if (a->traces.n > 0 && s->figures.n > 0)
            find_scope(&b, s, is_one_of_several(fs, i), &scope);
        for (size_t k = 0; k < s->figures.n; k++)
            add_figure(&b, s, &s->figures.v[k], &scope);
        bind_rows(&b, s);
    }
    VEC_FREE(&b.all);
    if (b.left > 0)
        log_warn("%zu figures of the files are not held against the trace: more than %u claims",
                 b.left, LIMIT_CLAIMS);
}

/* --- folding ---------------------------------------------------------------------------------- */

struct tally {
    size_t of[VERDICT_NOT_MEASURABLE + 1], shown;
};

static size_t row_figure_of(const struct claim *c)
{
    size_t k = 0;
    while (k + 1 < sizeof row_figures / sizeof *row_figures &&
           strcmp(figure_claim(row_figures[k].id), c->metric) != 0)
        k++;
    return k;
}

static void say_rows(struct audit *a, const struct file_summary *s, const struct tally *t)
{
    struct buf text;
    buf_init(&text, 1u << 16);
    buf_printf(&text, "%s (%s): %s", s->file, s->tool->title, s->join);
    for (size_t k = 0; k < sizeof row_figures / sizeof *row_figures; k++) {
        size_t n = 0;
        for (int v = 0; v <= VERDICT_NOT_MEASURABLE; v++)
            n += t[k].of[v];
        if (n == 0)
            continue;
        buf_printf(&text, "; %s:", figure_claim(row_figures[k].id));
        for (int v = 0; v <= VERDICT_NOT_MEASURABLE; v++) {
            if (t[k].of[v] > 0)
                buf_printf(&text, " %zu %s", t[k].of[v], verdict_name((enum verdict)v));
        }
    }
    if (s->rows_left > 0)
        buf_printf(&text, "; %" PRIu64 " more rows were only counted", s->rows_left);
    if (s->joined > ROW_CLAIMS_MOST / (sizeof row_figures / sizeof *row_figures))
        buf_printf(&text, "; of the joined ones the first %zu were judged",
                   ROW_CLAIMS_MOST / (sizeof row_figures / sizeof *row_figures));
    const struct finding_kind *kind =
        &finding_kinds[s->joined > 0 ? FINDING_CLAIMS_ROWS : FINDING_CLAIMS_UNJOINED];
    struct finding x = {.id = kind->id,
                        .title = kind->title,
                        .severity = kind->severity,
                        .detail = audit_printf(a, "%s", buf_text(&text))};
    VEC_PUSH(&a->findings, x);
    buf_done(&text);
}

void claim_files_fold(const struct claim_files *fs, struct audit *a)
{
    for (size_t i = 0; i < fs->summaries.n; i++) {
        const struct file_summary *s = &fs->summaries.v[i];
        struct tally t[sizeof row_figures / sizeof *row_figures] = {0};
        size_t kept = 0;
        if (s->join == NULL)
            continue;
        for (size_t k = 0; k < a->claims.n; k++) {
            struct claim *c = &a->claims.v[k];
            bool row = c->stat == row_stat && c->request != 0 && c->file == s->file;
            struct tally *now = &t[row ? row_figure_of(c) : 0];
            bool wrong = c->verdict == VERDICT_DIFFERS || c->verdict == VERDICT_IMPOSSIBLE;
            if (row)
                now->of[c->verdict]++;
            if (!row || (wrong && now->shown++ < SHOWN_MOST)) {
                a->claims.v[kept++] = *c;
                continue;
            }
            VEC_FREE(&c->causes);
            VEC_FREE(&c->evidence);
        }
        a->claims.n = kept;
        say_rows(a, s, t);
    }
}
