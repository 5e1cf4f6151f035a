/* compare: which server delivers more, and does a parallel request help or hurt? A row a server:
 * rates of requests alone and of groups released together. The speedup is the metric's, never
 * recomputed here. */
#include "analyze/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics.h"
#include "analyze/metrics_speedup.h"
#include "analyze/report_table.h"
#include "analyze/stat.h"
#include "traces/base/clock.h"

enum { DOTS_MAX = 200, SERVERS_MAX = 24, NAME_PX = 152, NOTE_PX = 190 };

static const double bold_px = 12.7, small_px = 11; /* F_BOLD, F_SMALL of style.gp */

typedef VEC(double) rates;

struct server {
    const struct request *like; /* one of its requests: who it is */
    rates single, together;     /* wall tok/s; ascending once they are all there */
    const struct metric *speedup;
    size_t trace; /* of its groups */
    size_t members;
};

struct compare {
    struct figure *f;
    const struct audit *a;
    struct server v[SERVERS_MAX];
    size_t n;
};

static struct server *server_of(struct compare *c, const struct request *r)
{
    for (size_t i = 0; i < c->n; i++) {
        if (model_same_server(c->a, c->v[i].like, r))
            return &c->v[i];
    }
    if (c->n == SERVERS_MAX)
        return NULL;
    c->v[c->n] = (struct server){.like = r};
    return &c->v[c->n++];
}

static void add_singles(struct compare *c)
{
    for (size_t i = 0; i < c->a->requests.n; i++) {
        const struct request *r = &c->a->requests.v[i];
        if (!r->alone || r->group >= 0 || !metrics_request_counts(r) ||
            r->metrics[M_E2E_OUTPUT_TPS].grade == GRADE_NOT_MEASURABLE)
            continue;
        struct server *s = server_of(c, r);
        if (s != NULL)
            VEC_PUSH(&s->single, r->metrics[M_E2E_OUTPUT_TPS].v);
    }
}

/* The groups of a run that one server answered. */
static void add_groups_of(struct compare *c, struct server *s, size_t run)
{
    const struct run *of = &c->a->runs.v[run];
    VEC(size_t) own = {0};
    for (size_t i = 0; i < of->requests.n; i++) {
        const struct request *r = &c->a->requests.v[of->requests.v[i]];
        if (r->group >= 0 && model_same_server(c->a, r, s->like))
            VEC_PUSH(&own, of->requests.v[i]);
    }
    struct run_scope scope = {of->trace + 1, run + 1, NULL, own.v, own.n};
    struct release_group *g = NULL;
    size_t n = own.n > 0 ? release_groups(c->a, &scope, &g) : 0;
    for (size_t i = 0; i < n; i++) {
        if (!g[i].counts || g[i].last_output <= g[i].first_t0)
            continue;
        s->trace = of->trace;
        s->members = g[i].members > s->members ? g[i].members : s->members;
        VEC_PUSH(&s->together,
                 (double)g[i].tokens * NS_PER_S / (double)(g[i].last_output - g[i].first_t0));
    }
    free(g);
    VEC_FREE(&own);
}

/* A server without requests sent alone has no row. */
static void add_groups(struct compare *c)
{
    for (size_t i = 0; i < c->n; i++) {
        for (size_t k = 0; k < c->a->runs.n; k++)
            add_groups_of(c, &c->v[i], k);
    }
}

/* Of the trace of its groups; of a run of it where another server shares the trace. */
static const struct metric *speedup_of(const struct compare *c, const struct server *s)
{
    const struct metric *of_run = NULL;
    bool shared = false;
    for (size_t i = 0; i < c->a->requests.n; i++) {
        const struct request *r = &c->a->requests.v[i];
        if (r->trace != s->trace || r->group < 0)
            continue;
        if (!model_same_server(c->a, r, s->like))
            shared = true;
        else if (of_run == NULL)
            of_run = metrics_find(c->a, "speedup", "p50",
                                  (struct metric_scope){s->trace + 1, r->run + 1, NULL});
    }
    if (shared)
        return of_run;
    return metrics_find(c->a, "speedup", "p50", (struct metric_scope){s->trace + 1, 0, NULL});
}

/* Only servers with both, fastest group first. */
static int by_together(const void *a, const void *b)
{
    const struct server *x = a, *y = b;
    double mx = stat_median(x->together.v, x->together.n),
           my = stat_median(y->together.v, y->together.n);
    return (mx < my) - (mx > my);
}

static void done_servers(struct compare *c, size_t from)
{
    for (size_t i = from; i < c->n; i++) {
        VEC_FREE(&c->v[i].single);
        VEC_FREE(&c->v[i].together);
    }
    c->n = from;
}

static void keep_complete(struct compare *c)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->n; i++) {
        struct server s = c->v[i];
        if (s.single.n == 0 || s.together.n == 0) {
            VEC_FREE(&s.single);
            VEC_FREE(&s.together);
            continue;
        }
        stat_sort(s.single.v, s.single.n);
        stat_sort(s.together.v, s.together.n);
        s.speedup = speedup_of(c, &s);
        c->v[kept++] = s;
    }
    c->n = kept;
    if (kept > 0)
        qsort(c->v, kept, sizeof *c->v, by_together);
}

enum effect_kind { EFFECT_GAINS, EFFECT_NONE, EFFECT_HURTS, EFFECT_UNKNOWN };

/* An interval that holds 1 is no difference; without one, 5 % are. */
static enum effect_kind effect_of(const struct server *s)
{
    const struct metric *m = s->speedup;
    if (m == NULL || m->grade == GRADE_NOT_MEASURABLE || !isfinite(m->value))
        return EFFECT_UNKNOWN;
    if (isnan(m->ci_low))
        return m->value > 1.05 ? EFFECT_GAINS : m->value < 0.95 ? EFFECT_HURTS : EFFECT_NONE;
    return m->ci_low > 1 ? EFFECT_GAINS : m->ci_high < 1 ? EFFECT_HURTS : EFFECT_NONE;
}

/* A failing finding about the server's trace says more than its speedup. */
static const char *failing(const struct compare *c, const struct server *s)
{
    for (size_t i = 0; i < c->a->findings.n; i++) {
        const struct finding *f = &c->a->findings.v[i];
        if (f->severity == SEVERITY_FAIL && f->trace == s->trace + 1)
            return f->title;
    }
    return NULL;
}

static void put_row(struct compare *c, struct plot_table *t, size_t row)
{
    static const char *const kinds[] = {"ok", "warn", "fail", "none"};
    static const char *const notes[] = {"gains", "no difference", "slower when parallel",
                                        "not measurable"};
    const struct server *s = &c->v[row];
    double alone = stat_median(s->single.v, s->single.n);
    double together = stat_median(s->together.v, s->together.n);
    char alone_text[32], together_text[32];
    enum effect_kind effect = effect_of(s);
    const char *fail = failing(c, s);
    char speedup[32] = "–";
    if (effect != EFFECT_UNKNOWN)
        snprintf(speedup, sizeof speedup, "%.2f×", s->speedup->value);
    const struct trace_info *info = &c->a->traces.v[s->like->trace];
    const char *name = figure_server_name(c->a, s->like);
    plot_cell_number(t, (double)row);
    plot_cell_text(t, slice_of(figure_fit(&c->f->texts, name, bold_px, NAME_PX)));
    plot_cell_number(t, alone);
    plot_cell_number(t, together);
    plot_cell_text(t, slice_of(speedup));
    plot_cell_text(t, slice_of(fail != NULL ? "fail" : kinds[effect]));
    plot_cell_text(t, slice_of(figure_fit(&c->f->texts, fail != NULL ? fail : notes[effect],
                                          small_px, NOTE_PX)));
    plot_cell_number(t, s->single.v[0]);
    plot_cell_number(t, s->single.v[s->single.n - 1]);
    plot_cell_number(t, s->together.v[0]);
    plot_cell_number(t, s->together.v[s->together.n - 1]);
    plot_cell_text(t, slice_of(info->simulated != NULL ? "simulated" : ""));
    plot_cell_text(t, slice_of(table_number(alone, alone_text)));
    plot_cell_text(t, slice_of(table_number(together, together_text)));
    plot_row_end(t);
}

static void put_dots(struct plot_table *t, size_t row, int scenario, const rates *r)
{
    size_t stride = r->n / DOTS_MAX + 1;
    for (size_t i = 0; i < r->n; i++) {
        if (i % stride != 0 && i + 1 != r->n)
            continue;
        plot_cell_number(t, (double)row);
        plot_cell_number(t, scenario);
        plot_cell_number(t, r->v[i]);
        plot_row_end(t);
    }
}

static void put_tables(struct compare *c)
{
    struct plot_table *t = plot_table(
        &c->f->plot, "SUM", "summary",
        "row, server, single p50 tok/s, together p50 tok/s, speedup, verdict, note, "
        "lowest and highest single, lowest and highest together, simulated, both p50 in words");
    for (size_t i = 0; i < c->n; i++)
        put_row(c, t, i);
    t = plot_table(&c->f->plot, "REP", "repeats",
                   "row, scenario (0 alone, 1 together), wall tok/s");
    for (size_t i = 0; i < c->n; i++) {
        put_dots(t, i, 0, &c->v[i].single);
        put_dots(t, i, 1, &c->v[i].together);
    }
}

static size_t largest_group(const struct compare *c)
{
    size_t most = 0;
    for (size_t i = 0; i < c->n; i++)
        most = c->v[i].members > most ? c->v[i].members : most;
    return most;
}

static const struct server *the_known(const struct compare *c)
{
    size_t i = 0;
    while (i + 1 < c->n && effect_of(&c->v[i]) == EFFECT_UNKNOWN)
        i++;
    return &c->v[i];
}

static const char *title_of(const struct compare *c)
{
    struct arena *texts = &c->f->texts;
    const char *what = largest_group(c) == 2 ? "a second request" : "parallel requests";
    double best = -INFINITY, worst = INFINITY;
    size_t gain = 0, known = 0;
    for (size_t i = 0; i < c->n; i++) {
        enum effect_kind effect = effect_of(&c->v[i]);
        if (effect == EFFECT_UNKNOWN)
            continue;
        known++;
        gain += effect == EFFECT_GAINS;
        best = fmax(best, c->v[i].speedup->value);
        worst = fmin(worst, c->v[i].speedup->value);
    }
    if (known == 0)
        return figure_text(texts, "Rates of %zu server%s, requests alone and together", c->n,
                           c->n == 1 ? "" : "s");
    if (known > 1) {
        const char *who = gain == 0       ? figure_text(texts, "None of %zu servers gains", known)
                          : gain == known ? figure_text(texts, "All %zu servers gain", known)
                                          : figure_text(texts, "%zu of %zu servers gain%s", gain,
                                                        known, gain == 1 ? "s" : "");
        return figure_text(texts, "%s from %s: %.2f× at best, %.2f× at worst", who, what, best,
                           worst);
    }
    const char *name = figure_server(texts, c->a, the_known(c)->like);
    if (effect_of(the_known(c)) == EFFECT_NONE)
        return figure_text(texts, "%s: with %s no difference can be told (%.2f×)", name, what,
                           best);
    return figure_text(texts, "%s: %s gives %.2f× the rate of one alone", name, what, best);
}

static void put_heads(struct compare *c)
{
    struct arena *texts = &c->f->texts;
    size_t single = 0, groups = 0;
    for (size_t i = 0; i < c->n; i++) {
        single += c->v[i].single.n;
        groups += c->v[i].together.n;
    }
    figure_heads(c->f, title_of(c),
                 figure_text(texts,
                             "wall tok/s = output tokens / (last output event − first t0); %zu "
                             "requests alone, %zu groups (dots), median (bar)",
                             single, groups));
    struct buf alt;
    buf_init(&alt, 1 << 16);
    buf_printf(&alt, "%s.", c->f->plot.alt);
    for (size_t i = 0; i < c->n; i++) {
        const struct server *s = &c->v[i];
        char alone[32], together[32];
        buf_printf(&alt, " %s: %s tok/s alone, %s together.", figure_server(texts, c->a, s->like),
                   table_number(stat_median(s->single.v, s->single.n), alone),
                   table_number(stat_median(s->together.v, s->together.n), together));
    }
    c->f->plot.alt = arena_text(texts, (struct slice){(const char *)alt.p, alt.n});
    buf_done(&alt);
    plot_text(&c->f->plot, "L_TOGETHER", largest_group(c) == 2 ? "double" : "together");
}

static void put_notes(struct compare *c)
{
    size_t traces[SERVERS_MAX], n = 0;
    for (size_t i = 0; i < c->n; i++) {
        const struct server *s = &c->v[i];
        traces[n++] = s->trace;
        if (s->speedup != NULL && s->speedup->reason != NULL)
            VEC_PUSH(&c->f->notes,
                     figure_text(&c->f->texts, "%s: %s", figure_server(&c->f->texts, c->a, s->like),
                                 figure_cut(&c->f->texts, s->speedup->reason, 300)));
    }
    figure_origin(c->f, c->a, traces, n);
}

bool figure_compare(struct figure *f, const struct audit *a)
{
    struct compare *c = mem_zalloc(sizeof *c);
    *c = (struct compare){.f = f, .a = a};
    add_singles(c);
    add_groups(c);
    keep_complete(c);
    bool any = c->n > 0;
    if (any) {
        figure_begin(f, "compare", "compare");
        put_tables(c);
        put_heads(c);
        put_notes(c);
        f->question = "Which server delivers more, and does a parallel request help or hurt?";
        f->caption = "Alone: N / (o_M - t0) of a request that nobody else was in flight with. "
                     "Together: the sum of N of a group released together / (its last output event "
                     "- its first t0). Speedup: the median of the groups / the median of the same "
                     "requests alone; 1.00× is a plain queue.";
    }
    done_servers(c, 0);
    free(c);
    return any;
}
