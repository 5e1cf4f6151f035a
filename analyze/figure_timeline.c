/* timeline: where each request of a trace spent its time, and what the machine did meanwhile.
 * Rows in order of t0. Places of the notes are computed here, since gnuplot drops what does not
 * fit. */
#include "analyze/figures.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics.h"
#include "traces/base/clock.h"
#include "traces/base/units.h"

enum {
    PANEL_PX = 752, /* RM - LM of timeline.gp */
    NAME_PX = 84,   /* of the LM px left of it; the rest is for the tokens */
    TICK_PX = 3,    /* ticks that stand closer are a grey */
    TICKS_MAX = 2000,
    STEPS_MAX = 2000,
    SAMPLES_MAX = 1000,
    NOTE_PX = 390
};

static const double small_px = 11; /* F_SMALL of style.gp */

struct row {
    const struct request *r;
    const char *note;
    double note_px;
    double t0, first, last, end; /* s since the first row's t0; first, last NAN: no output */
};

struct timeline {
    struct figure *f;
    const struct audit *a;
    size_t trace, n, all;
    struct row rows[FIGURE_ROWS_MAX];
    int64_t from_ns;
    double end, xmax;
    size_t failed;
    bool repeats; /* names come more than once */
};

static double since(const struct timeline *t, int64_t ns)
{
    return (double)(ns - t->from_ns) / NS_PER_S;
}

/* "TTFT 0.31 s", "HTTP 400 after 62 ms: prompt too long" */
static const char *note_of(struct timeline *t, const struct row *row)
{
    struct arena *texts = &t->f->texts;
    const struct request *r = row->r;
    char after[32];
    if (r->outcome == OUTCOME_SUCCESS) {
        const struct value *ttft = &r->metrics[M_TTFT];
        const char *warmup = r->warmup ? "  (warm-up)" : "";
        if (ttft->grade == GRADE_NOT_MEASURABLE)
            return figure_text(texts, "TTFT not measurable%s", warmup);
        return figure_text(texts, "TTFT %s%s", units_duration(llround(ttft->v * NS_PER_S), after),
                           warmup);
    }
    units_duration(llround((row->end - row->t0) * NS_PER_S), after);
    const char *what = r->outcome == OUTCOME_HTTP_ERROR ? figure_text(texts, "HTTP %d", r->status)
                                                        : outcome_name(r->outcome);
    if (r->error == NULL)
        return figure_text(texts, "%s after %s", what, after);
    return figure_fit(texts, figure_text(texts, "%s after %s: %.400s", what, after, r->error),
                      small_px, NOTE_PX);
}

static void add_row(struct timeline *t, const struct request *r)
{
    if (t->n == 0)
        t->from_ns = r->t0;
    struct row *row = &t->rows[t->n++];
    *row = (struct row){.r = r, .first = NAN, .last = NAN};
    row->t0 = since(t, r->t0);
    if (r->out.n > 0) {
        row->first = since(t, r->out.v[0].t_ns);
        row->last = since(t, r->out.v[r->out.n - 1].t_ns);
    }
    int64_t end = r->t_end > r->t0 ? r->t_end : r->t0;
    row->end = since(t, end);
    t->end = fmax(t->end, fmax(row->end, row->last)); /* what a client did not wait for */
    row->note = note_of(t, row);
    row->note_px = small_px * figure_width_em(row->note) + 16;
    t->failed += r->outcome != OUTCOME_SUCCESS && r->outcome != OUTCOME_UNSEEN;
    t->repeats |= r->repeat > 0;
}

/* Where the drawing of a row ends. */
static double right_end(const struct row *row)
{
    return row->r->outcome == OUTCOME_SUCCESS && !isnan(row->last) ? row->last : row->end;
}

static bool fits_left(const struct timeline *t, const struct row *row)
{
    return row->t0 / t->xmax * PANEL_PX >= row->note_px;
}

static bool fits_right(const struct timeline *t, const struct row *row)
{
    return (1 - right_end(row) / t->xmax) * PANEL_PX >= row->note_px;
}

/* Wide enough that each note fits beside its row, on one side or the other. */
static void choose_width(struct timeline *t)
{
    t->end = t->end > 0 ? t->end : 1e-3;
    t->xmax = t->end * 1.02;
    for (size_t i = 0; i < t->n; i++) {
        const struct row *row = &t->rows[i];
        if (!fits_left(t, row) && !fits_right(t, row))
            t->xmax = right_end(row) * PANEL_PX / (PANEL_PX - row->note_px);
    }
}

/* "p3", "p3 #2" where names come again, else "request 7" */
static const char *name_of(struct timeline *t, const struct request *r)
{
    struct arena *texts = &t->f->texts;
    char again[32] = "";
    if (r->name == NULL)
        return figure_text(texts, "request %zu", r->id);
    if (t->repeats)
        snprintf(again, sizeof again, " #%" PRId64, r->repeat + 1);
    double room = NAME_PX - small_px * figure_width_em(again);
    return figure_text(texts, "%s%s", figure_fit(texts, r->name, small_px, room), again);
}

static void put_rows(struct timeline *t)
{
    struct plot_table *p = plot_table(
        &t->f->plot, "REQ", "requests",
        "row, request, prompt tokens, t0 s, first output s, last output s, end s, kind (ok, fail), "
        "note x s, note side (left, right), note");
    for (size_t i = 0; i < t->n; i++) {
        const struct row *row = &t->rows[i];
        const struct request *r = row->r;
        bool right = fits_right(t, row) || !fits_left(t, row);
        char tokens[48] = "", digits[32];
        if (r->usage.prompt >= 0)
            snprintf(tokens, sizeof tokens, "%.30s tok",
                     units_count((uint64_t)r->usage.prompt, digits));
        plot_cell_number(p, (double)i);
        plot_cell_text(p, slice_of(name_of(t, r)));
        plot_cell_text(p, slice_of(tokens));
        plot_cell_number(p, row->t0);
        plot_cell_number(p, row->first);
        plot_cell_number(p, row->last);
        plot_cell_number(p, row->end);
        plot_cell_text(p, slice_of(r->outcome == OUTCOME_SUCCESS ? "ok" : "fail"));
        plot_cell_number(p, right ? right_end(row) : row->t0);
        plot_cell_text(p, slice_of(right ? "right" : "left"));
        plot_cell_text(p, slice_of(row->note));
        plot_row_end(p);
    }
}

/* So many events a tick that the ticks of the median stream keep their distance. Bursts, which are
 * but a line, have no say. */
static size_t choose_tick(const struct timeline *t)
{
    double spacing[FIGURE_ROWS_MAX];
    size_t n = 0, marks = 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct row *row = &t->rows[i];
        double px = (row->last - row->first) / t->xmax * PANEL_PX;
        if (row->r->out.n < 2 || px < 2 * TICK_PX)
            continue;
        marks += row->r->out.n;
        double each = px / (double)(row->r->out.n - 1);
        size_t k = n++;
        for (; k > 0 && spacing[k - 1] > each; k--)
            spacing[k] = spacing[k - 1];
        spacing[k] = each;
    }
    static const size_t nice[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};
    size_t last = sizeof nice / sizeof *nice - 1, k = 0;
    double median = n > 0 ? spacing[n / 2] : TICK_PX;
    while (k < last && (median * (double)nice[k] < TICK_PX || marks / nice[k] > TICKS_MAX))
        k++;
    return nice[k];
}

/* Ticks nearer than a third of a pixel to the one before are not written: they cannot be seen. */
static void put_ticks(struct timeline *t)
{
    size_t tick = choose_tick(t), marks = 0;
    double apart = t->xmax / PANEL_PX / 3;
    struct plot_table *p =
        plot_table(&t->f->plot, "TOK", "events", "row, t s, output events up to here");
    for (size_t i = 0; i < t->n; i++) {
        const struct request *r = t->rows[i].r;
        double before = -1;
        for (size_t k = 0; k < r->out.n; k += tick) {
            double x = since(t, r->out.v[k].t_ns);
            if (before >= 0 && x - before < apart)
                continue;
            before = x;
            plot_cell_number(p, (double)i);
            plot_cell_number(p, x);
            plot_cell_number(p, (double)(k + 1));
            plot_row_end(p);
            marks++;
        }
    }
    if (marks == 0) { /* gnuplot takes an empty file for a fault */
        for (int c = 0; c < 3; c++)
            plot_cell_number(p, NAN);
        plot_row_end(p);
    }
    plot_number(&t->f->plot, "TICK", (double)tick);
}

struct step {
    double t;
    int flight, decoding;
};

static int by_time(const void *a, const void *b)
{
    const struct step *x = a, *y = b;
    if (x->t != y->t)
        return x->t < y->t ? -1 : 1;
    return (x->flight + x->decoding) - (y->flight + y->decoding); /* departures first */
}

static void put_step(struct plot_table *p, double x, const struct step *s)
{
    plot_cell_number(p, x);
    plot_cell_number(p, s->flight);
    plot_cell_number(p, s->decoding);
    plot_row_end(p);
}

/* Changes to values that hold until the next row. Where there are too many, each slot of time says
 * the most that was in it. */
static void put_steps(struct timeline *t, struct step *s, size_t n)
{
    struct plot_table *p = plot_table(&t->f->plot, "CONC", "concurrency",
                                      "t s, requests in flight, requests decoding");
    qsort(s, n, sizeof *s, by_time);
    struct step now = {0}, most = {0};
    int peak = 1;
    size_t slots = n > STEPS_MAX ? STEPS_MAX / 2 : 0, slot = 0;
    put_step(p, 0, &now);
    for (size_t i = 0; i < n; i++) {
        size_t in = slots > 0 ? (size_t)(s[i].t / t->xmax * (double)slots) : i;
        if (slots > 0 && in != slot) {
            put_step(p, (double)slot * t->xmax / (double)slots, &most);
            most = now;
            slot = in;
        }
        now.flight += s[i].flight;
        now.decoding += s[i].decoding;
        most.flight = now.flight > most.flight ? now.flight : most.flight;
        most.decoding = now.decoding > most.decoding ? now.decoding : most.decoding;
        peak = now.flight > peak ? now.flight : peak;
        if (slots == 0)
            put_step(p, s[i].t, &now);
    }
    if (slots > 0)
        put_step(p, (double)slot * t->xmax / (double)slots, &most);
    put_step(p, t->xmax, &now);
    plot_number(&t->f->plot, "PEAK", peak);
}

static void put_concurrency(struct timeline *t)
{
    VEC(struct step) steps = {0};
    for (size_t i = 0; i < t->a->requests.n; i++) {
        const struct request *r = &t->a->requests.v[i];
        if (r->trace != t->trace || r->dialect == NULL || since(t, r->t0) > t->xmax)
            continue;
        int64_t end = r->t_end > r->t0 ? r->t_end : r->t0;
        VEC_PUSH(&steps, (struct step){since(t, r->t0), 1, 0});
        VEC_PUSH(&steps, (struct step){fmin(since(t, end), t->xmax), -1, 0});
        if (r->out.n == 0 || since(t, r->out.v[0].t_ns) > t->xmax)
            continue;
        VEC_PUSH(&steps, (struct step){since(t, r->out.v[0].t_ns), 0, 1});
        VEC_PUSH(&steps,
                 (struct step){fmin(since(t, r->out.v[r->out.n - 1].t_ns), t->xmax), 0, -1});
    }
    put_steps(t, steps.v, steps.n);
    VEC_FREE(&steps);
}

/* 1, 2, 2.5 or 5 times a power of ten, not below v. */
static double nice_top(double v)
{
    static const double nice[] = {1, 2, 2.5, 5, 10};
    double power = pow(10, floor(log10(v)));
    size_t k = 0;
    while (k < 4 && nice[k] * power < v)
        k++;
    return nice[k] * power;
}

static double gigabytes(int64_t bytes)
{
    return bytes < 0 ? NAN : (double)bytes / 1e9;
}

/* The samples between the first and the last row, thinned evenly; nothing if there are none. */
static void put_samples(struct timeline *t)
{
    const struct trace_info *info = &t->a->traces.v[t->trace];
    size_t from = 0, to = info->sys.n;
    while (from < to && since(t, info->sys.v[from].t_ns) < 0)
        from++;
    while (to > from && since(t, info->sys.v[to - 1].t_ns) > t->xmax)
        to--;
    double top = 0;
    bool rss = false;
    for (size_t i = from; i < to; i++) {
        const struct sample_point *s = &info->sys.v[i];
        top = fmax(top, fmax(gigabytes(s->mem_used), gigabytes(s->server_rss)));
        rss |= s->server_rss >= 0;
    }
    if (to - from < 2 || top <= 0)
        return;
    size_t stride = (to - from) / SAMPLES_MAX + 1;
    struct plot_table *p =
        plot_table(&t->f->plot, "SYS", "memory", "t s, system memory in use GB, server GB");
    for (size_t i = from; i < to; i += stride) {
        const struct sample_point *s = &info->sys.v[i];
        plot_cell_number(p, since(t, s->t_ns));
        plot_cell_number(p, gigabytes(s->mem_used));
        plot_cell_number(p, gigabytes(s->server_rss));
        plot_row_end(p);
    }
    plot_number(&t->f->plot, "MEM_MAX", nice_top(top));
    plot_number(&t->f->plot, "HAS_RSS", rss);
}

/* The worst finding of this trace, or NULL. */
static const struct finding *worst_finding(const struct timeline *t)
{
    const struct finding *worst = NULL;
    for (size_t i = 0; i < t->a->findings.n; i++) {
        const struct finding *f = &t->a->findings.v[i];
        if (f->trace == t->trace + 1 && f->severity != SEVERITY_INFO &&
            (worst == NULL || f->severity < worst->severity))
            worst = f;
    }
    return worst;
}

static const char *title_of(struct timeline *t)
{
    struct arena *texts = &t->f->texts;
    const struct finding *worst = worst_finding(t);
    if (worst != NULL)
        return worst->title;
    if (t->failed > 0)
        return figure_text(texts, "%zu of %zu requests did not succeed", t->failed, t->n);
    const struct metric *ttft =
        metrics_find(t->a, "ttft", "p50", (struct metric_scope){t->trace + 1, 0, NULL});
    char text[32];
    if (ttft == NULL || ttft->grade == GRADE_NOT_MEASURABLE)
        return figure_text(texts, "%zu requests, one row each", t->n);
    units_duration(llround(ttft->value * NS_PER_S), text);
    if (ttft->n == 1)
        return figure_text(texts, "The first output came after %s", text);
    return figure_text(texts, "%zu requests: the first output came after %s (median)", ttft->n,
                       text);
}

/* "run_single and run_double", or NULL */
static const char *workloads_of(struct timeline *t)
{
    const char *words = NULL, *last = NULL;
    for (size_t i = 0; i < t->a->runs.n; i++) {
        const struct run *run = &t->a->runs.v[i];
        if (run->trace != t->trace || run->workload == NULL ||
            (last != NULL && strcmp(last, run->workload) == 0))
            continue;
        const char *name = figure_cut(&t->f->texts, run->workload, 20);
        words = words == NULL ? name : figure_text(&t->f->texts, "%s, %s", words, name);
        last = run->workload;
    }
    return words == NULL ? NULL : figure_cut(&t->f->texts, words, 50);
}

static void put_heads(struct timeline *t)
{
    struct arena *texts = &t->f->texts;
    const char *workloads = workloads_of(t);
    const char *shown = t->n == t->all
                            ? figure_text(texts, "%zu request%s", t->n, t->n == 1 ? "" : "s")
                            : figure_text(texts, "the first %zu of %zu requests", t->n, t->all);
    figure_heads(t->f, title_of(t),
                 figure_text(texts, "%s%s%s: %s, from the captured bytes",
                             figure_server(texts, t->a, t->rows[0].r), workloads ? ", " : "",
                             workloads ? workloads : "", shown));
    t->f->plot.alt = figure_text(
        texts, "Timeline of %s of trace %s: %s. %zu failed. The last ended after %.3g s.", shown,
        figure_cut(texts, figure_trace_name(&t->a->traces.v[t->trace]), 60), t->f->plot.alt,
        t->failed, t->end);
    if (t->n < t->all)
        VEC_PUSH(&t->f->notes,
                 figure_text(texts, "Shown are the first %zu of %zu requests.", t->n, t->all));
}

bool figure_timeline(struct figure *f, const struct audit *a, size_t trace)
{
    struct timeline *t = mem_zalloc(sizeof *t);
    *t = (struct timeline){.f = f, .a = a, .trace = trace};
    char name[32];
    snprintf(name, sizeof name, "timeline-%zu", trace + 1);
    figure_begin(f, name, "timeline");
    for (size_t i = 0; i < a->requests.n; i++) {
        const struct request *r = &a->requests.v[i];
        if (r->trace != trace || r->dialect == NULL)
            continue;
        t->all++;
        if (t->n < FIGURE_ROWS_MAX)
            add_row(t, r);
    }
    bool any = t->n > 0;
    if (any) {
        choose_width(t);
        plot_number(&f->plot, "XMAX", t->xmax);
        plot_number(&f->plot, "FAILED", (double)t->failed);
        put_rows(t);
        put_ticks(t);
        put_concurrency(t);
        put_samples(t);
        put_heads(t);
        figure_origin(f, a, &trace, 1);
        f->question = "Where did each request spend its time?";
        f->caption =
            "A thin bar runs from the first byte of the request to the first output event (t0 to "
            "o_1), a tall one from there to the last (o_1 to o_M); a tick is an output event at "
            "the "
            "time its last byte became readable. Below: requests between t0 and their end, and "
            "those between o_1 and o_M.";
    } else
        figure_done(f);
    free(t);
    return any;
}
