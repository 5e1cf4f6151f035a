/* Rows of files, which are single requests: claims of each, told together. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyze/claims_bind.h"
#include "analyze/finding_kinds.h"
#include "traces/base/buf.h"
#include "traces/limits.h"

enum { ROW_CLAIMS_MOST = 20000, SHOWN_MOST = 5 };

static const char row_stat[] = "value"; /* of a row's claim: told from others by its address */

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
    const struct tool_formula *f =
        id == F_LATENCY && s->tool->gaps_end != NULL ? s->tool->gaps_end : &s->tool->formulas[id];
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

void bind_rows(const struct binder *b, struct file_summary *s, const size_t *row_of)
{
    if (s->rows.n == 0)
        return;
    if (b->a->traces.n == 0) {
        if (s->figures.n == 0)
            add_means(b, s, NULL);
        return;
    }
    size_t made = 0;
    if (row_of == NULL &&
        s->batches != NULL) { /* which of a batch's requests a row is, nobody told */
        s->join = NULL;
    } else if (row_of != NULL) {
        for (size_t i = 0; i < s->rows.n && made < ROW_CLAIMS_MOST; i++) {
            const struct file_row *r = &s->rows.v[i];
            if (r->failed || row_of[i] == ROW_UNJOINED)
                continue;
            for (size_t k = 0; k < sizeof row_figures / sizeof *row_figures; k++, made++)
                add_row_claim(b, s, i, row_figures[k].id, row_value(r, row_figures[k].id),
                              b->a->requests.v[row_of[i]].id, NULL);
        }
    } else {
        s->join = audit_printf(b->a, "the rows cannot be joined to requests: %s", s->join);
        if (s->figures.n == 0)
            add_means(b, s, s->join);
    }
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
    if (s->row_unit != NULL)
        buf_printf(&text, "; figures in \"%s\", a unit that is not known, are left out",
                   s->row_unit);
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
