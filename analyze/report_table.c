/* Tables of the text report: cells are gathered first, then columns get the width they need. */
#include "analyze/report_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics.h"
#include "traces/base/clock.h"
#include "traces/base/mem.h"
#include "traces/base/text.h"
#include "traces/base/units.h"

enum { COLUMNS = 10, CELL_COLUMNS_MAX = 24 };

struct column {
    const char *head;
    bool right;
};

struct table {
    const struct column *columns;
    size_t n_columns;
    VEC(char *) cells; /* row by row */
};

const char *table_number(double v, char out[32])
{
    double size = fabs(v);
    if (size >= 1000 && size < 1e15) {
        char digits[32];
        snprintf(out, 32, "%s%.30s", v < 0 ? "-" : "",
                 units_count((uint64_t)llround(size), digits));
    } else {
        int decimals = size >= 100 || size == 0 ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : 4;
        snprintf(out, 32, "%.*f", decimals, v);
    }
    return out;
}

/* Cuts text to CELL_COLUMNS_MAX code points; it comes from a trace. */
static void cell(struct table *t, const char *text)
{
    struct buf safe;
    buf_init(&safe, 1u << 20);
    text_terminal(&safe, slice_of(text == NULL ? "" : text));
    size_t at = 0, n = 0;
    while (at < safe.n && n < CELL_COLUMNS_MAX) {
        uint32_t cp;
        at += utf8_next(safe.p + at, safe.n - at, &cp);
        n++;
    }
    VEC_PUSH(&t->cells, mem_strndup((const char *)safe.p, at));
    buf_done(&safe);
}

static size_t width_of(const char *text)
{
    size_t n = strlen(text), at = 0, width = 0;
    while (at < n) {
        uint32_t cp;
        at += utf8_next((const uint8_t *)text + at, n - at, &cp);
        width++;
    }
    return width;
}

static void pad(struct buf *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_puts(out, " ");
}

static void put_cell(struct buf *out, const char *text, size_t width, bool right, bool last)
{
    size_t n = width_of(text);
    size_t blanks = n < width ? width - n : 0;
    if (right)
        pad(out, blanks);
    buf_puts(out, text);
    if (!right && !last)
        pad(out, blanks);
    if (!last) {
        buf_puts(out, "  ");
        return;
    }
    while (out->n > 0 && out->p[out->n - 1] == ' ')
        out->n--;
    buf_puts(out, "\n");
}

/* Columns that are empty in every row are left out. */
static void put_table(struct table *t, struct buf *out)
{
    size_t widths[COLUMNS] = {0}, last = 0;
    for (size_t i = 0; i < t->cells.n; i++) {
        size_t w = width_of(t->cells.v[i]), c = i % t->n_columns;
        widths[c] = w > widths[c] ? w : widths[c];
    }
    for (size_t c = 0; c < t->n_columns; c++) {
        size_t head = width_of(t->columns[c].head);
        if (widths[c] > 0) {
            widths[c] = head > widths[c] ? head : widths[c];
            last = c;
        }
    }
    for (size_t c = 0; c < t->n_columns; c++) {
        if (widths[c] > 0)
            put_cell(out, t->columns[c].head, widths[c], t->columns[c].right, c == last);
    }
    for (size_t i = 0; i < t->cells.n; i++) {
        size_t c = i % t->n_columns;
        if (widths[c] > 0)
            put_cell(out, t->cells.v[i], widths[c], t->columns[c].right, c == last);
        free(t->cells.v[i]);
    }
    VEC_FREE(&t->cells);
}

static void seconds_cell(struct table *t, double seconds)
{
    char text[32];
    cell(t, isnan(seconds) ? "–" : units_duration(llround(seconds * NS_PER_S), text));
}

static void figure_cell(struct table *t, const struct metric *m)
{
    char text[32];
    if (m == NULL)
        cell(t, "");
    else if (m->grade == GRADE_NOT_MEASURABLE)
        cell(t, "not measurable");
    else if (strcmp(m->unit, "s") == 0)
        seconds_cell(t, m->value);
    else
        cell(t, table_number(m->value, text));
}

/* With its interval, if it has one. */
static void interval_cell(struct table *t, const struct metric *m)
{
    if (m == NULL || m->grade == GRADE_NOT_MEASURABLE || isnan(m->ci_low)) {
        figure_cell(t, m);
        return;
    }
    char text[64], value[32], lo[32], hi[32];
    snprintf(text, sizeof text, "%.12s [%.12s, %.12s]", table_number(m->value, value),
             table_number(m->ci_low, lo), table_number(m->ci_high, hi));
    cell(t, text);
}

static void speedup_cell(struct table *t, const struct metric *m)
{
    if (m == NULL || m->grade == GRADE_NOT_MEASURABLE) {
        figure_cell(t, m);
        return;
    }
    char text[32];
    snprintf(text, sizeof text, "%.2fx", m->value);
    cell(t, !isnan(m->ci_low) && m->ci_low <= 1 && m->ci_high >= 1 ? "no difference" : text);
}

/* Any run of the scope says what the server is. */
static const struct run *run_of(const struct audit *a, struct metric_scope s)
{
    for (size_t i = 0; i < a->runs.n; i++) {
        const struct run *run = &a->runs.v[i];
        if (run->trace + 1 == s.trace && run->requests.n > 0 &&
            (s.workload == NULL || model_same_text(run->workload, s.workload)))
            return run;
    }
    return NULL;
}

static void figure_row(struct table *t, const struct audit *a, struct metric_scope s)
{
    const struct run *run = run_of(a, s);
    const struct metric *ok = metrics_find(a, "successes", "count", s);
    const struct metric *attempts = metrics_find(a, "requests", "count", s);
    char text[64] = "";
    snprintf(text, sizeof text, "%zu", s.trace);
    cell(t, text);
    cell(t, run != NULL ? run_server_name(a, run) : NULL);
    cell(t, run != NULL ? run->workload : NULL);
    if (ok->value == attempts->value)
        snprintf(text, sizeof text, "%.0f", ok->value);
    else
        snprintf(text, sizeof text, "%.0f of %.0f", ok->value, attempts->value);
    cell(t, text);
    figure_cell(t, metrics_find(a, "ttft", "p50", s));
    figure_cell(t, metrics_find(a, "output_tps_user", "p50", s));
    interval_cell(t, metrics_find(a, "wall_tps", "p50", s));
    figure_cell(t, metrics_find(a, "output_tps", "value", s));
    speedup_cell(t, metrics_find(a, "speedup", "p50", s));
}

bool report_table_by_workload(const struct audit *a, size_t trace)
{
    for (size_t i = 0; i < a->metrics.n; i++) {
        if (a->metrics.v[i].trace == trace && a->metrics.v[i].workload != NULL)
            return true;
    }
    return false;
}

void report_table_figures(const struct audit *a, struct buf *out)
{
    static const struct column columns[] = {
        {"#", false},
        {"server", false},
        {"workload", false},
        {"n", true},
        {"ttft p50", true},
        {"decode tok/s p50", true},
        {"wall tok/s p50 [95 %]", true},
        {"output tok/s", true},
        {"speedup", true},
    };
    struct table t = {columns, sizeof columns / sizeof *columns, {0}};
    buf_puts(out, "\n");
    for (size_t i = 0; i < a->metrics.n; i++) {
        const struct metric *m = &a->metrics.v[i];
        bool first_of_scope = m->run == 0 && strcmp(m->name, "requests") == 0;
        if (first_of_scope && (m->workload != NULL || !report_table_by_workload(a, m->trace)))
            figure_row(&t, a, (struct metric_scope){m->trace, 0, m->workload});
    }
    put_table(&t, out);
}

static void value_cell(struct table *t, const struct value *v, const char *unit)
{
    char text[32];
    if (v->grade == GRADE_NOT_MEASURABLE)
        cell(t, "–");
    else if (strcmp(unit, "s") == 0)
        seconds_cell(t, v->v);
    else
        cell(t, table_number(v->v, text));
}

static void request_row(struct table *t, const struct audit *a, const struct request *r)
{
    static const enum request_metric shown[] = {M_TTFT, M_E2EL, M_OUTPUT_TPS_USER,
                                                M_E2E_OUTPUT_TPS};
    bool inner = r->inner_of != 0;
    char text[64];
    snprintf(text, sizeof text, "%zu", r->id);
    cell(t, inner ? "" : text);
    snprintf(text, sizeof text, "%zu", r->trace + 1);
    cell(t, text);
    seconds_cell(t, (double)(r->t0 - a->traces.v[r->trace].epoch_ns) / NS_PER_S);
    snprintf(text, sizeof text, "  inner leg, port %u", r->server_port);
    cell(t, inner ? text : r->name != NULL ? r->name : r->path);
    snprintf(text, sizeof text, "%s%s%s", outcome_name(r->outcome), r->damaged ? ", damaged" : "",
             r->warmup ? ", warm-up" : "");
    cell(t, text);
    snprintf(text, sizeof text, "%" PRId64, request_tokens(r));
    cell(t, request_tokens(r) < 0 ? "–" : text);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        value_cell(t, &r->metrics[shown[i]], request_metrics[shown[i]].unit);
}

static int by_outer(const void *a, const void *b)
{
    const struct request *x = *(const struct request *const *)a;
    const struct request *y = *(const struct request *const *)b;
    if (x->inner_of != y->inner_of)
        return x->inner_of < y->inner_of ? -1 : 1;
    return (x > y) - (x < y);
}

/* Each inner leg below the request that it was sent for. */
static void request_rows(struct table *t, const struct audit *a)
{
    const struct request **inner = mem_array(a->inner.n + 1, sizeof *inner);
    for (size_t i = 0; i < a->inner.n; i++)
        inner[i] = &a->inner.v[i];
    qsort(inner, a->inner.n, sizeof *inner, by_outer);
    for (size_t i = 0, k = 0; i < a->requests.n; i++) {
        if (a->requests.v[i].dialect != NULL)
            request_row(t, a, &a->requests.v[i]);
        for (; k < a->inner.n && inner[k]->inner_of == i + 1; k++)
            request_row(t, a, inner[k]);
    }
    free(inner);
}

void report_table_requests(const struct audit *a, struct buf *out)
{
    static const struct column columns[] = {
        {"request", true},      {"#", true},          {"at", true},   {"name", false},
        {"outcome", false},     {"tokens", true},     {"ttft", true}, {"e2el", true},
        {"decode tok/s", true}, {"wall tok/s", true},
    };
    struct table t = {columns, sizeof columns / sizeof *columns, {0}};
    buf_puts(out, "\n");
    request_rows(&t, a);
    put_table(&t, out);
}
