/* First screen of the HTML report: the finding, the tally, a row a claim; then the findings. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/fidelity.h"
#include "analyze/headline.h"
#include "analyze/ledger_counts.h"
#include "analyze/report_html_page.h"
#include "analyze/report_table.h"
#include "traces/base/clock.h"
#include "traces/base/text.h"
#include "traces/base/units.h"

enum { CLAIMS_SHOWN = 500, FINDINGS_SHOWN = 300, CAUSES_SHOWN = 2, EFFECTS_SHOWN = 6 };

struct seen {
    size_t requests, complete, unsent;
    uint64_t lost; /* packets */
    bool lost_unknown;
};

static struct seen count(const struct audit *a)
{
    struct seen t = {0};
    for (size_t i = 0; i < a->requests.n; i++) {
        t.requests += a->requests.v[i].dialect != NULL;
        t.complete += a->requests.v[i].outcome == OUTCOME_SUCCESS;
    }
    for (size_t i = 0; i < a->traces.n; i++) {
        int64_t drops = trace_drops(&a->traces.v[i]);
        t.lost_unknown |= drops < 0;
        t.lost += drops > 0 ? (uint64_t)drops : 0;
        const struct fidelity *f = fidelity_of(a, i);
        t.unsent += f != NULL ? ledger_counts_sum(&f->unseen, false) : 0;
    }
    return t;
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

/* --- heading ---------------------------------------------------------------------------------- */

static const char *state_of(const struct trace_info *t)
{
    if (t->health.truncated)
        return "truncated";
    if (t->health.damaged_members > 0 || t->health.bad_blocks > 0)
        return "damaged";
    return trace_complete(t) ? "whole" : "incomplete";
}

static void put_top(struct page *p)
{
    const struct audit *a = p->a;
    bool simulated = false;
    page_raw(p, "<div class=\"top\"><span><b>tokaudit</b> " TOKAUDIT_VERSION " report &nbsp; ");
    if (a->traces.n == 1) {
        const struct trace_info *t = &a->traces.v[0];
        page_raw(p, "trace <b>");
        page_cut(p, figure_trace_name(t), 60);
        page_printf(p, "</b> &nbsp; sha256 %.12s… <b>%s</b>", t->health.sha256, state_of(t));
    } else
        page_printf(p, "<b>%zu</b> traces", a->traces.n);
    page_raw(p, "</span><span>");
    if (a->traces.n > 0) {
        char utc[32];
        clock_utc(a->traces.v[0].epoch_ns, utc);
        page_printf(p, "recorded %.10s %.5s UTC", utc, utc + 11);
    }
    for (size_t i = 0; i < a->traces.n; i++)
        simulated |= a->traces.v[i].simulated != NULL;
    page_printf(p, "%s</span></div>\n",
                simulated ? " &nbsp;·&nbsp; <span class=\"sim\">SIMULATED SERVER</span>" : "");
}

/* Who answered, each once, in order of appearance. */
static void put_servers(struct page *p)
{
    enum { SHOWN = 8 };
    VEC(const char *) names = {0};
    for (size_t i = 0; i < p->a->requests.n; i++) {
        const struct request *r = &p->a->requests.v[i];
        if (r->dialect == NULL ||
            (i > 0 && names.n > 0 && r->trace == r[-1].trace && r->server == r[-1].server))
            continue;
        const char *name = figure_server(&p->texts, p->a, r);
        size_t k = 0;
        while (k < names.n && strcmp(names.v[k], name) != 0)
            k++;
        if (k == names.n)
            VEC_PUSH(&names, name);
    }
    for (size_t i = 0; i < names.n && i < SHOWN; i++) {
        page_raw(p, i > 0 ? ", " : "");
        page_text(p, names.v[i]);
    }
    if (names.n > SHOWN)
        page_printf(p, " and %zu more servers", names.n - SHOWN);
    page_raw(p, names.n > 0 ? ": " : "");
    VEC_FREE(&names);
}

static void put_lede(struct page *p, const struct seen *t)
{
    page_raw(p, "<p class=\"lede\">");
    if (t->requests == 0)
        page_raw(p, "No LLM request was seen: nothing to audit.");
    else {
        put_servers(p);
        page_printf(p,
                    "%zu request%s in %zu run%s. Every number below is recomputed from the "
                    "captured bytes and their arrival times.",
                    t->requests, plural(t->requests), p->a->runs.n, plural(p->a->runs.n));
    }
    page_raw(p, "</p>\n");
}

static void put_box(struct page *p, size_t n, enum page_mark mark, const char *word)
{
    page_printf(p, "<span class=\"box\"><b>%zu</b>", n);
    page_mark(p, mark, word);
    page_raw(p, "</span>");
}

static void put_tally(struct page *p, const struct seen *t)
{
    struct tally said = headline_tally(p->a);
    page_raw(p, "<div class=\"tally\">");
    if (p->a->claims.n > 0) {
        put_box(p, said.fail, MARK_FAIL, "fail");
        put_box(p, said.unmeasured, MARK_WARN, "n/a");
        put_box(p, said.pass, MARK_PASS, "pass");
    } else {
        put_box(p, said.fails_found, MARK_FAIL, "fail");
        put_box(p, said.warns_found, MARK_WARN, "warn");
    }
    page_printf(p, "<span class=\"box\"><b>%zu</b> request%s, %zu complete</span>", t->requests,
                plural(t->requests), t->complete);
    if (t->unsent > 0)
        page_printf(p, "<span class=\"box\"><b>%zu</b> more never sent</span>", t->unsent);
    char text[32];
    if (t->lost_unknown && t->lost == 0)
        page_raw(p, "<span class=\"box\"><b>unknown</b> packets lost by the recorder</span>");
    else
        page_printf(p, "<span class=\"box\"><b>%s</b> packet%s lost by the recorder%s</span>",
                    units_count(t->lost, text), plural((size_t)t->lost),
                    t->lost_unknown ? ", at least" : "");
    page_raw(p, "</div>\n");
}

/* --- verdict table ---------------------------------------------------------------------------- */

static void put_interval(struct page *p, const struct claim *c)
{
    struct interval i = c->interval;
    if (isnan(c->recomputed) || isnan(i.lo) || isnan(i.hi))
        return;
    const char *lo = figure_quantity(&p->texts, c, i.lo), *hi = figure_quantity(&p->texts, c, i.hi);
    page_raw(p, "<span class=\"sp\">");
    if (i.lo == i.hi)
        page_raw(p, "exact");
    else if (isinf(i.hi)) {
        page_raw(p, "at least ");
        page_text(p, lo);
    } else if (strcmp(lo, hi) == 0) {
        page_raw(p, "± ");
        page_text(p, figure_quantity(&p->texts, c, (i.hi - i.lo) / 2));
    } else
        page_text(p, figure_range(&p->texts, lo, hi, " – "));
    page_raw(p, "</span>");
}

static void put_cause(struct page *p, const struct claim *c, const struct cause *cause, bool titled)
{
    page_raw(p, "<span class=\"srv\"><b>");
    page_cut(p, cause->id, 12);
    page_raw(p, "</b> ");
    if (titled) {
        page_cut(p, cause->title, 160);
        page_raw(p, ": ");
    }
    page_cut(p, cause->formula, 80);
    page_raw(p, " = ");
    page_text(p, figure_quantity(&p->texts, c, cause->value));
    if (!isnan(cause->effect_percent))
        page_printf(p, ", gives it too: %+.*f&nbsp;%%", fabs(cause->effect_percent) < 10,
                    cause->effect_percent);
    else
        page_raw(p, cause->by_sign ? ", its sign is on the wire" : ", only the number fits");
    if (cause->note != NULL) {
        page_raw(p, "; ");
        page_cut(p, cause->note, 300);
    }
    page_raw(p, "</span>");
}

static void put_why(struct page *p, const struct claim *c)
{
    bool fails = headline_rank(c->verdict) == 0;
    page_raw(p, "<td class=\"why\">");
    if (fails && c->causes.n > 0)
        page_cut(p, c->causes.v[0].title, 160);
    else if (c->reason != NULL)
        page_text(p, c->reason);
    else
        page_raw(p, fails ? "unexplained: no known mistake gives this number"
                          : "within the tolerance");
    if (fails && c->causes.n > 0 && c->reason != NULL) {
        page_raw(p, "<span class=\"srv\">");
        page_text(p, c->reason);
        page_raw(p, "</span>");
    }
    for (size_t i = 0; i < c->causes.n && i < CAUSES_SHOWN; i++)
        put_cause(p, c, &c->causes.v[i], i > 0 || !fails);
    if (c->causes.n > CAUSES_SHOWN)
        page_printf(p, "<span class=\"srv\">%zu more formulas fit the number</span>",
                    c->causes.n - CAUSES_SHOWN);
    page_raw(p, "</td>");
}

static void put_row(struct page *p, const struct claim *c, bool has_figure)
{
    static const struct {
        enum page_mark mark;
        const char *class, *word;
    } looks[] = {
        {MARK_FAIL, "fail", "fail"}, {MARK_WARN, "warn", "n/a"}, {MARK_PASS, "pass", "pass"}};
    int rank = headline_rank(c->verdict);
    page_printf(p, "<tr class=\"%s\"><td>", looks[rank].class);
    page_mark(p, looks[rank].mark, looks[rank].word);
    page_raw(p, "</td><td class=\"cl\">");
    page_cut(p, c->metric, 60);
    if (strcmp(c->stat, "value") != 0) {
        page_raw(p, " ");
        page_cut(p, c->stat, 20);
    }
    page_raw(p, "<span class=\"srv\">");
    if (c->request > 0)
        page_printf(p, "request %zu", c->request);
    else
        page_raw(p, "all requests");
    if (c->tool != NULL) {
        page_raw(p, ", ");
        page_cut(p, c->tool, 60);
    }
    page_raw(p, "</span></td><td class=\"n c\">");
    page_text(p, figure_claimed(&p->texts, c));
    page_raw(p, "</td><td class=\"n r\">");
    page_text(p, figure_quantity(&p->texts, c, c->recomputed));
    put_interval(p, c);
    page_raw(p, "</td><td class=\"n x\">");
    page_text(p, figure_off_by(&p->texts, c->claimed, c->recomputed));
    page_raw(p, "</td>");
    put_why(p, c);
    page_raw(p, "<td class=\"ev\">");
    if (has_figure)
        page_raw(p, "<a href=\"#f-phantom\">figure</a>");
    page_evidence(p, c->evidence.v, c->evidence.n);
    page_raw(p, "</td></tr>\n");
}

static void put_verdicts(struct page *p)
{
    const struct claim **v = headline_order(p->a);
    const struct request *focus;
    const struct claim *phantom = figure_phantom_claim(p->a, &focus);
    page_raw(p, "<div class=\"tw\"><table><thead><tr><th>verdict</th><th>claim</th>"
                "<th class=\"n\">claimed</th><th class=\"n\">recomputed</th><th class=\"n\">off "
                "by</th><th>why</th><th>evidence</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < p->a->claims.n && i < CLAIMS_SHOWN; i++)
        put_row(p, v[i], v[i] == phantom);
    page_raw(p, "</tbody></table></div>\n");
    if (p->a->claims.n > CLAIMS_SHOWN)
        page_printf(p, "<p class=\"note\">%zu more claims are in analysis.json.</p>\n",
                    p->a->claims.n - CLAIMS_SHOWN);
    free(v);
}

static void put_links(struct page *p)
{
    page_raw(p, "<nav>");
    if (p->a->findings.n > 0)
        page_printf(p, "<a href=\"#findings\">Findings (%zu)</a> ", p->a->findings.n);
    if (p->figures.n > 0)
        page_raw(p, "Figures: ");
    for (size_t i = 0; i < p->figures.n; i++)
        page_printf(p, "<a href=\"#f-%s\">%s</a>", p->figures.v[i].figure.name,
                    p->figures.v[i].figure.name);
    page_raw(p, " <a href=\"#method\">Method</a><a href=\"#provenance\">Provenance</a></nav>\n");
}

void page_first_screen(struct page *p)
{
    struct seen t = count(p->a);
    const char *head = headline(p->a, &p->texts);
    put_top(p);
    page_raw(p, "<h1>");
    page_cut(p, head != NULL ? head : page_measured_words(p), 160);
    page_raw(p, "</h1>\n");
    put_lede(p, &t);
    put_tally(p, &t);
    if (p->a->claims.n > 0)
        put_verdicts(p);
    else
        page_measured(p);
    put_links(p);
}

/* --- findings --------------------------------------------------------------------------------- */

static void put_effects(struct page *p, const struct finding *f)
{
    for (size_t i = 0; i < f->effects.n && i < EFFECTS_SHOWN; i++) {
        double percent = f->effects.v[i].percent;
        char text[32];
        page_raw(p, i == 0 ? "<p>effect on " : ", ");
        page_cut(p, f->effects.v[i].metric, 60);
        if (isfinite(percent))
            page_printf(p, " %s%s&nbsp;%%", percent < 0 ? "−" : "+",
                        table_number(fabs(percent), text));
    }
    if (f->effects.n > 0)
        page_raw(p, "</p>");
}

static void put_finding(struct page *p, const struct finding *f)
{
    static const enum page_mark severity_marks[] = {MARK_FAIL, MARK_WARN, MARK_INFO};
    page_raw(p, "<li>");
    page_mark(p, severity_marks[f->severity], severity_name(f->severity));
    page_raw(p, " &nbsp;");
    page_cut(p, f->title, 200);
    page_raw(p, " <span class=\"srv\">");
    page_cut(p, f->id, 60);
    if (f->trace > 0)
        page_printf(p, " · trace %zu", f->trace);
    if (f->run > 0)
        page_printf(p, " · run %zu", f->run);
    if (f->request > 0)
        page_printf(p, " · request %zu", f->request);
    page_raw(p, "</span>");
    if (f->detail != NULL) {
        page_raw(p, "<p>");
        page_text(p, f->detail);
        page_raw(p, "</p>");
    }
    put_effects(p, f);
    page_evidence(p, f->evidence.v, f->evidence.n);
    page_raw(p, "</li>\n");
}

void page_findings(struct page *p)
{
    const struct audit *a = p->a;
    page_raw(p, "<h3 id=\"findings\">Findings</h3>\n");
    if (a->findings.n == 0) {
        page_raw(p, "<p class=\"note\">Checked for the known ways to a wrong figure, nothing "
                    "found.</p>\n");
        return;
    }
    page_raw(p, "<ul class=\"plain\">\n");
    size_t shown = 0;
    for (int s = SEVERITY_FAIL; s <= SEVERITY_INFO; s++) {
        for (size_t i = 0; i < a->findings.n && shown < FINDINGS_SHOWN; i++) {
            if (a->findings.v[i].severity != (enum severity)s)
                continue;
            put_finding(p, &a->findings.v[i]);
            shown++;
        }
    }
    page_raw(p, "</ul>\n");
    if (shown < a->findings.n)
        page_printf(p, "<p class=\"note\">%zu more findings are in analysis.json.</p>\n",
                    a->findings.n - shown);
}
