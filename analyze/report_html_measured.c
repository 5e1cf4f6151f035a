/* The measured values of the HTML report: a row a trace, or a workload where a trace has several;
 * what could not be measured is listed with its reason. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/report_html_page.h"
#include "analyze/report_recount.h"
#include "analyze/report_table.h"
#include "traces/base/clock.h"
#include "traces/base/units.h"

enum { ROWS_SHOWN = 60, REASONS_SHOWN = 40 };

static const struct shown {
    const char *name, *stat, *words;
} columns[] = {
    {"ttft", "p50", "TTFT p50"},
    {"output_tps_user", "p50", "decode rate p50"},
    {"e2e_output_tps", "p50", "wall rate p50"},
    {"output_tps", "value", "output rate"},
    {"speedup", "p50", "speedup"},
    {"release_skew", "max", "release skew"},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static void add_scope(page_scopes *out, const struct page *p, size_t trace, const char *workload)
{
    struct metric_scope scope = {trace + 1, 0, workload};
    for (size_t i = 0; i < out->n; i++) {
        if (out->v[i].scope.trace == trace + 1 &&
            model_same_text(out->v[i].scope.workload, workload))
            return;
    }
    const struct trace_info *info = &p->a->traces.v[trace];
    const char *server = NULL, *words = workload;
    for (size_t i = 0; server == NULL && i < p->a->runs.n; i++) {
        const struct run *run = &p->a->runs.v[i];
        if (run->trace == trace && (workload == NULL || model_same_text(run->workload, workload)))
            server = run_server_name(p->a, run);
        if (run->trace == trace && words == NULL)
            words = run->workload;
    }
    VEC_PUSH(out, ((struct page_scope){scope, server, words, info}));
}

void page_scopes_find(const struct page *p, page_scopes *out)
{
    for (size_t t = 0; t < p->a->traces.n; t++) {
        bool any = false, workloads = false;
        for (size_t i = 0; i < p->a->metrics.n; i++) {
            const struct metric *m = &p->a->metrics.v[i];
            any |= m->trace == t + 1;
            workloads |= m->trace == t + 1 && m->workload != NULL;
            if (m->trace == t + 1 && m->run == 0 && m->request == 0 && m->workload != NULL)
                add_scope(out, p, t, m->workload);
        }
        if (any && !workloads)
            add_scope(out, p, t, NULL);
    }
}

static const char *value_text(struct page *p, const char *unit, double v)
{
    char text[32];
    if (!isfinite(v))
        return "–";
    if (strcmp(unit, "s") == 0)
        return figure_text(&p->texts, "%s", units_duration(llround(v * NS_PER_S), text));
    if (strcmp(unit, "1") == 0) {
        snprintf(text, sizeof text, "%.2f×", v);
        return figure_text(&p->texts, "%s", text);
    }
    return figure_text(&p->texts, "%s %.20s", table_number(v, text), unit);
}

static bool measured(const struct metric *m)
{
    return m != NULL && m->grade != GRADE_NOT_MEASURABLE && isfinite(m->value);
}

static void put_cell(struct page *p, const struct metric *m)
{
    page_raw(p, "<td class=\"n r\">");
    if (m == NULL)
        page_raw(p, "–");
    else if (!measured(m))
        page_mark(p, MARK_WARN, "n/a");
    else {
        const char *lo = value_text(p, m->unit, m->ci_low),
                   *hi = value_text(p, m->unit, m->ci_high);
        page_text(p, value_text(p, m->unit, m->value));
        if (!isnan(m->ci_low) && strcmp(lo, hi) != 0) {
            page_raw(p, "<span class=\"sp\">");
            page_text(p, figure_range(&p->texts, lo, hi, " – "));
            page_raw(p, "</span>");
        }
    }
    page_raw(p, "</td>");
}

static void put_row(struct page *p, const struct page_scope *s)
{
    const struct metric *all = metrics_find(p->a, "requests", "count", s->scope);
    const struct metric *ok = metrics_find(p->a, "successes", "count", s->scope);
    page_printf(p, "<tr><td>%zu</td><td>", s->scope.trace);
    page_cut(p, s->server != NULL ? s->server : figure_trace_name(s->trace), 60);
    if (s->trace->simulated != NULL)
        page_raw(p, " <span class=\"sim\">simulated</span>");
    page_raw(p, "<span class=\"srv\">");
    if (s->workload != NULL) {
        page_cut(p, s->workload, 60);
        page_raw(p, " · ");
    }
    page_cut(p, figure_trace_name(s->trace), 60);
    page_raw(p, "</span></td><td class=\"n\">");
    if (all != NULL && ok != NULL) {
        page_printf(p, "%.0f", all->value);
        if (ok->value < all->value)
            page_printf(p, "<span class=\"sp\">%.0f complete</span>", ok->value);
    }
    page_raw(p, "</td>");
    for (size_t c = 0; c < COLUMNS; c++)
        put_cell(p, metrics_find(p->a, columns[c].name, columns[c].stat, s->scope));
    page_raw(p, "</tr>\n");
}

static void put_reasons(struct page *p, const page_scopes *scopes)
{
    size_t n = 0;
    for (size_t i = 0; i < scopes->n; i++) {
        for (size_t c = 0; c < COLUMNS; c++) {
            const struct page_scope *s = &scopes->v[i];
            const struct metric *m = metrics_find(p->a, columns[c].name, columns[c].stat, s->scope);
            if (m == NULL || measured(m) || n++ >= REASONS_SHOWN)
                continue;
            page_printf(p, "%s<li>", n == 1 ? "<ul class=\"plain\">\n" : "");
            page_mark(p, MARK_WARN, "n/a");
            page_printf(p, " &nbsp;trace %zu", s->scope.trace);
            if (s->scope.workload != NULL) {
                page_raw(p, ", ");
                page_cut(p, s->scope.workload, 60);
            }
            page_printf(p, ", %s: ", columns[c].words);
            page_text(p, m->reason != NULL ? m->reason : "not measurable from these bytes");
            page_raw(p, "</li>\n");
        }
    }
    page_raw(p, n > 0 ? "</ul>\n" : "");
}

/* Tokens by every way of counting, of traces whose texts were counted again. */
static void put_counts(struct page *p)
{
    bool any = false;
    for (size_t i = 0; i < p->a->traces.n; i++) {
        struct recount_sums s = report_recount_sums(p->a, i);
        char text[32];
        if (s.n == 0)
            continue;
        if (!any)
            page_raw(p, "<h3>Tokens</h3>\n<div class=\"tw\"><table><thead><tr><th>trace</th>"
                        "<th class=\"n\">requests</th><th class=\"n\">stated</th><th "
                        "class=\"n\">by the last event</th><th class=\"n\">output events</th><th "
                        "class=\"n\">recounted</th><th class=\"n\">against stated</th></tr>"
                        "</thead><tbody>\n");
        any = true;
        page_printf(p, "<tr><td>%zu</td><td class=\"n\">%zu</td>", i + 1, s.n);
        page_printf(p, "<td class=\"n\">%s</td>", units_count(s.stated, text));
        page_printf(p, "<td class=\"n\">%s</td>",
                    s.stating == s.n ? units_count(s.per_event, text) : "–");
        page_printf(p, "<td class=\"n\">%s</td>", units_count(s.events, text));
        page_printf(p, "<td class=\"n r\">%s</td>", units_count(s.recounted, text));
        page_printf(p, "<td class=\"n x\">%s</td></tr>\n",
                    figure_off_by(&p->texts, (double)s.recounted, (double)s.stated));
    }
    page_raw(p, any ? "</tbody></table></div>\n" : "");
}

void page_measured(struct page *p)
{
    page_scopes scopes = {0};
    page_scopes_find(p, &scopes);
    if (scopes.n > 0) {
        if (p->a->claims.n > 0)
            page_raw(p, "<h3 id=\"measured\">Measured</h3>\n");
        page_raw(p, "<div class=\"tw\"><table><thead><tr><th>trace</th><th>server</th><th "
                    "class=\"n\">requests</th>");
        for (size_t c = 0; c < COLUMNS; c++)
            page_printf(p, "<th class=\"n\">%s</th>", columns[c].words);
        page_raw(p, "</tr></thead><tbody>\n");
        for (size_t i = 0; i < scopes.n && i < ROWS_SHOWN; i++)
            put_row(p, &scopes.v[i]);
        page_raw(p, "</tbody></table></div>\n");
        if (scopes.n > ROWS_SHOWN)
            page_printf(p, "<p class=\"note\">%zu more rows are in analysis.json.</p>\n",
                        scopes.n - ROWS_SHOWN);
        page_raw(p, "<p class=\"note\">Small: 95 % interval by bootstrap. The speedup compares "
                    "requests released together with the same requests alone.</p>\n");
        put_reasons(p, &scopes);
        put_counts(p);
    }
    VEC_FREE(&scopes);
}

/* Range of a figure over the scopes, in words; NULL if it is nowhere measured. */
static const char *range_of(struct page *p, const page_scopes *scopes, const struct shown *c)
{
    double lo = INFINITY, hi = -INFINITY;
    const char *unit = NULL;
    for (size_t i = 0; i < scopes->n; i++) {
        const struct metric *m = metrics_find(p->a, c->name, c->stat, scopes->v[i].scope);
        if (!measured(m))
            continue;
        lo = fmin(lo, m->value);
        hi = fmax(hi, m->value);
        unit = m->unit;
    }
    if (unit == NULL)
        return NULL;
    const char *least = value_text(p, unit, lo), *most = value_text(p, unit, hi);
    if (strcmp(least, most) == 0)
        return figure_text(&p->texts, "%s %s", c->words, least);
    return figure_text(&p->texts, "%s %s", c->words, figure_range(&p->texts, least, most, " to "));
}

const char *page_measured_words(struct page *p)
{
    page_scopes scopes = {0};
    page_scopes_find(p, &scopes);
    const char *wall = range_of(p, &scopes, &columns[2]), *ttft = range_of(p, &scopes, &columns[0]);
    VEC_FREE(&scopes);
    if (wall == NULL && ttft == NULL)
        return p->a->runs.n == 0 ? "Nothing to audit: no LLM request was seen"
                                 : "No rate can be measured from these bytes";
    if (wall == NULL || ttft == NULL)
        return figure_text(&p->texts, "Measured: %s", wall != NULL ? wall : ttft);
    return figure_text(&p->texts, "Measured: %s, %s", wall, ttft);
}
