/* The HTML report: head, order of its parts, the figures. */
#include "analyze/report_html.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/report_html_page.h"
#include "plots/svg_ship.h"
#include "traces/base/text.h"
#include "traces/base/units.h"
#include "traces/sha256.h"

enum {
    PAGE_BYTES = 512 << 20,
    TEXT_POINTS = 600,
    TIMELINES_ALL = 4, /* up to so many traces, each has its timeline */
    TIMELINES_MAX = 8,
    EVIDENCE_SHOWN = 3
};

static const char style[] =
    ":root{color-scheme:light dark;--bg:#ffffff;--ink:#1f2328;--muted:#59636e;--axis:#8c959f;"
    "--real:#0072b2;--claimt:#b04a00;--waitt:#8a5f00;--goodt:#007a59;--panel:#f6f8fa;"
    "--line:#d8dee4}\n"
    "@media screen and (prefers-color-scheme:dark){:root{--bg:#14171c;--ink:#e6edf3;"
    "--muted:#9aa4af;--axis:#6b7580;--real:#4aa8e0;--claimt:#ff8a4c;--waitt:#e8b04a;"
    "--goodt:#2fc39a;--panel:#1b1f26;--line:#313842}}\n"
    "@media print{:root{color-scheme:light}figure,tr{break-inside:avoid}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.45 \"Liberation Sans\",Arial,"
    "Helvetica,sans-serif;font-variant-numeric:tabular-nums}\n"
    "main{max-width:1160px;margin:0 auto;padding:22px 28px 60px}\n"
    ".top{display:flex;flex-wrap:wrap;justify-content:space-between;gap:6px 24px;"
    "color:var(--muted);font-size:13px;overflow-wrap:anywhere}\n"
    ".top b{color:var(--ink)}\n"
    "h1{font-size:27px;line-height:1.2;margin:10px 0 6px;letter-spacing:-.01em;"
    "overflow-wrap:anywhere}\n"
    ".lede{margin:0 0 14px;color:var(--muted);max-width:120ch;overflow-wrap:anywhere}\n"
    ".tally{display:flex;gap:10px;margin:0 0 14px;flex-wrap:wrap}\n"
    ".tally span.box{display:inline-flex;align-items:baseline;gap:8px;border:1px solid "
    "var(--line);border-radius:6px;padding:6px 14px;background:var(--panel)}\n"
    ".tally b{font-size:20px}\n"
    ".v{display:inline-flex;align-items:center;gap:6px;font-weight:700;white-space:nowrap}\n"
    ".v svg{width:13px;height:13px;flex:none}\n"
    ".v.fail{color:var(--claimt)}.v.warn{color:var(--waitt)}.v.pass{color:var(--goodt)}"
    ".v.info{color:var(--muted)}\n"
    ".tw{overflow-x:auto}\n"
    "table{border-collapse:collapse;width:100%;font-size:14px}\n"
    "th{font-size:12px;text-align:left;color:var(--muted);font-weight:400;border-bottom:1px solid "
    "var(--axis);padding:5px 10px}\n"
    "td{border-bottom:1px solid var(--line);padding:6px 10px;vertical-align:top;"
    "overflow-wrap:anywhere}\n"
    "th.n,td.n{text-align:right;white-space:nowrap;overflow-wrap:normal}\n"
    "td.c{color:var(--claimt)}td.r{color:var(--real);font-weight:700}td.x{font-weight:700}\n"
    "tr.pass td.c,tr.pass td.r,tr.pass td.x{color:var(--muted);font-weight:400}\n"
    "tr.pass td.why{color:var(--muted)}\n"
    "td.cl{min-width:120px}td.why{min-width:260px}td.ev{min-width:150px}\n"
    ".srv,.sp{display:block;font-size:12px;font-weight:400;color:var(--muted)}\n"
    ".sp{white-space:nowrap}.sim{font-size:12px;font-weight:700;color:var(--waitt)}\n"
    "a{color:var(--real)}\n"
    "nav{margin:18px 0 0;font-size:13px;color:var(--muted)}nav "
    "a{margin-right:14px;white-space:nowrap}\n"
    "figure{margin:44px 0 0;padding-top:16px;border-top:1px solid var(--line)}\n"
    "h2{font-size:14px;font-weight:400;color:var(--muted);margin:0 0 6px}\n"
    "h3{font-size:16px;margin:44px 0 8px;border-top:1px solid var(--line);padding-top:16px}\n"
    ".plot svg{display:block;width:100%;height:auto}\n"
    ".plot text{font-family:\"Liberation Sans\",Arial,Helvetica,sans-serif}\n"
    "figcaption{color:var(--muted);font-size:13.5px;max-width:120ch}figcaption p{margin:4px 0 "
    "6px}\n"
    "pre{background:var(--panel);border:1px solid var(--line);border-radius:6px;padding:10px 12px;"
    "overflow-x:auto;font:12.5px/1.5 \"Liberation Mono\",Menlo,Consolas,monospace;"
    "color:var(--ink)}\n"
    "summary{cursor:pointer}\n"
    "ul.plain{list-style:none;margin:0;padding:0}ul.plain li{padding:8px 0;border-bottom:1px solid "
    "var(--line);overflow-wrap:anywhere}ul.plain p{margin:3px 0 0;color:var(--muted);"
    "font-size:13.5px}\n"
    ".note{color:var(--muted);font-size:13.5px;margin:14px 0 0}\n"
    "dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:4px 18px;font-size:13.5px}"
    "dt{color:var(--muted)}dd{margin:0;overflow-wrap:anywhere}\n"
    "@media (max-width:700px){dl{grid-template-columns:minmax(0,1fr)}}\n";

static const char *const marks[] = {
    [MARK_FAIL] = ("<path d=\"M3 3L11 11M11 3L3 11\" stroke=\"currentColor\" stroke-width=\"2.4\" "
                   "fill=\"none\"/>"),
    [MARK_WARN] = "<path d=\"M7 1.8L13 12.2H1Z\" fill=\"currentColor\"/>",
    [MARK_PASS] = "<circle cx=\"7\" cy=\"7\" r=\"5\" fill=\"currentColor\"/>",
    [MARK_INFO] = "<circle cx=\"7\" cy=\"7\" r=\"2.4\" fill=\"currentColor\"/>",
};

void page_raw(struct page *p, const char *html)
{
    buf_puts(&p->out, html);
}

void page_printf(struct page *p, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&p->out, fmt, ap);
    va_end(ap);
}

void page_cut(struct page *p, const char *text, size_t max)
{
    text_html(&p->out, slice_of(figure_cut(&p->texts, text, max)));
}

void page_text(struct page *p, const char *text)
{
    page_cut(p, text, TEXT_POINTS);
}

void page_mark(struct page *p, enum page_mark mark, const char *word)
{
    static const char *const classes[] = {"fail", "warn", "pass", "info"};
    page_printf(p,
                "<span class=\"v %s\"><svg viewBox=\"0 0 14 14\" "
                "aria-hidden=\"true\">%s</svg>%s</span>",
                classes[mark], marks[mark], word);
}

const char *page_figure_id(const struct page *p, const char *name)
{
    for (size_t i = 0; i < p->figures.n; i++) {
        if (strcmp(p->figures.v[i].figure.name, name) == 0)
            return p->figures.v[i].figure.name;
    }
    return NULL;
}

void page_evidence(struct page *p, const struct evidence *v, size_t n)
{
    for (size_t i = 0; i < n && i < EVIDENCE_SHOWN; i++) {
        char timeline[32], at[32];
        snprintf(timeline, sizeof timeline, "timeline-%zu", v[i].trace + 1);
        const char *id = page_figure_id(p, timeline);
        page_raw(p, "<span class=\"srv\">");
        if (id != NULL)
            page_printf(p, "<a href=\"#f-%s\">trace %zu</a>", id, v[i].trace + 1);
        else
            page_printf(p, "trace %zu", v[i].trace + 1);
        uint64_t frame;
        const char *file = trace_file_of(&p->a->traces.v[v[i].trace], v[i].packet, &frame);
        page_printf(p, " frame %" PRIu64, frame);
        if (file != NULL) {
            page_raw(p, " of ");
            page_cut(p, rotation_base(file), 80);
        }
        page_printf(p, " at %s",
                    units_duration(v[i].t_ns - p->a->traces.v[v[i].trace].epoch_ns, at));
        if (v[i].what != NULL) {
            page_raw(p, ": ");
            page_cut(p, v[i].what, 80);
        }
        page_raw(p, "</span>");
    }
    if (n > EVIDENCE_SHOWN)
        page_printf(p, "<span class=\"srv\">and %zu more in analysis.json</span>",
                    n - EVIDENCE_SHOWN);
}

/* --- figures ---------------------------------------------------------------------------------- */

static int draw(struct page *p, struct figure *f, const char *dir, struct err *e)
{
    struct page_figure made = {.figure = *f};
    int r = plot_draw(&made.figure.plot, dir, &made.result, e);
    VEC_PUSH(&p->figures, made);
    return r;
}

static bool has_finding(const struct audit *a, size_t trace)
{
    for (size_t i = 0; i < a->findings.n; i++) {
        if (a->findings.v[i].trace == trace + 1 && a->findings.v[i].severity != SEVERITY_INFO)
            return true;
    }
    return false;
}

/* Of each trace; of many traces only those with a finding, else the first. */
static int draw_timelines(struct page *p, const char *dir, struct err *e)
{
    const struct audit *a = p->a;
    size_t drawn = 0;
    for (int pass = 0; pass < 2 && drawn == 0; pass++) {
        for (size_t t = 0; t < a->traces.n && drawn < TIMELINES_MAX; t++) {
            struct figure f;
            bool wanted = a->traces.n <= TIMELINES_ALL || pass == 1 || has_finding(a, t);
            if (!wanted || !figure_timeline(&f, a, t))
                continue;
            drawn++;
            int r = draw(p, &f, dir, e);
            if (r != TA_OK)
                return r;
            if (pass == 1)
                break;
        }
    }
    return TA_OK;
}

/* Of the first traces whose ledger says when requests should have left. */
static int draw_fidelity(struct page *p, const char *dir, struct err *e)
{
    int r = TA_OK;
    for (size_t t = 0, drawn = 0; t < p->a->traces.n && drawn < TIMELINES_MAX && r == TA_OK; t++) {
        struct figure f;
        if (!figure_fidelity(&f, p->a, t))
            continue;
        drawn++;
        r = draw(p, &f, dir, e);
    }
    return r;
}

static int draw_figures(struct page *p, const char *dir, struct err *e)
{
    struct figure f;
    int r = TA_OK;
    if (figure_phantom(&f, p->a))
        r = draw(p, &f, dir, e);
    if (r == TA_OK)
        r = draw_timelines(p, dir, e);
    if (r == TA_OK && figure_compare(&f, p->a))
        r = draw(p, &f, dir, e);
    return r == TA_OK ? draw_fidelity(p, dir, e) : r;
}

static void put_data_hashes(struct page *p, const struct plot *plot)
{
    for (size_t i = 0; i < plot->tables.n; i++) {
        const struct plot_table *t = &plot->tables.v[i];
        char text[SHA256_TEXT];
        struct sha256 *s = sha256_new();
        sha256_add(s, t->rows.p, t->rows.n);
        sha256_text(s, text);
        sha256_free(s);
        page_printf(p, "sha256 %s  data/%s-%s.tsv\n", text, plot->name, t->kind);
    }
}

static void put_figure(struct page *p, const struct page_figure *f)
{
    page_printf(p, "<figure id=\"f-%s\"><h2>", f->figure.name);
    page_text(p, f->figure.question);
    page_raw(p, "</h2><div class=\"plot\">");
    if (f->result.drawn)
        page_raw(p, f->result.svg);
    else {
        page_raw(p, "<p>");
        page_text(p, f->figure.plot.alt);
        page_raw(p, "</p><p class=\"note\">Not drawn: ");
        page_text(p, f->result.why_not != NULL ? f->result.why_not : "gnuplot did not answer");
        page_raw(p, "</p>");
    }
    page_raw(p, "</div><figcaption><p>");
    page_text(p, f->figure.caption);
    page_raw(p, "</p>");
    for (size_t i = 0; i < f->figure.notes.n; i++) {
        page_raw(p, "<p>");
        page_text(p, f->figure.notes.v[i]);
        page_raw(p, "</p>");
    }
    page_printf(p,
                "<details><summary>Reproduce</summary><pre>cd plots\n"
                "gnuplot %s.gp\ngnuplot -e \"FMT='pdf'\" %s.gp\n",
                f->figure.name, f->figure.name);
    put_data_hashes(p, &f->figure.plot);
    page_raw(p, "</pre></details></figcaption></figure>\n");
}

/* What has no picture is said in a line. */
static void put_left_out(struct page *p)
{
    if (page_figure_id(p, "phantom") == NULL)
        page_raw(p, p->a->claims.n > 0
                        ? "<p class=\"note\">Claimed rates that the bytes could not have produced: "
                          "checked, nothing found.</p>\n"
                        : "<p class=\"note\">Claimed rates: none were given (--claim).</p>\n");
    if (page_figure_id(p, "compare") == NULL)
        page_raw(p, "<p class=\"note\">Requests alone against requests together: no server has "
                    "both in these traces.</p>\n");
}

static void put_figures(struct page *p)
{
    for (size_t i = 0; i < p->figures.n; i++)
        put_figure(p, &p->figures.v[i]);
    put_left_out(p);
}

/* --- the page --------------------------------------------------------------------------------- */

static void put_head(struct page *p)
{
    page_raw(p, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                "style-src 'unsafe-inline'; img-src data:\">\n"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                "<meta name=\"color-scheme\" content=\"light dark\">\n<title>tokaudit report: ");
    if (p->a->traces.n == 1)
        page_cut(p, figure_trace_name(&p->a->traces.v[0]), 80);
    else
        page_printf(p, "%zu traces", p->a->traces.n);
    page_raw(p, "</title>\n<style>\n");
    page_raw(p, style);
    page_raw(p, "@media screen and (prefers-color-scheme:dark){");
    svg_dark_rules(&p->out, ".plot");
    page_raw(p, "}\n</style></head><body><main>\n");
}

static void compose(struct page *p)
{
    put_head(p);
    page_first_screen(p);
    page_findings(p);
    if (p->a->claims.n > 0)
        page_measured(p);
    put_figures(p);
    page_method(p);
    page_provenance(p);
    page_raw(p, "</main></body></html>\n");
}

static int write_page(struct page *p, const char *dir, struct err *e)
{
    char *path = mem_printf("%s/report.html", dir);
    FILE *f = fopen(path, "wb");
    bool ok = f != NULL && fwrite(p->out.p, 1, p->out.n, f) == p->out.n;
    if (f != NULL && fclose(f) != 0)
        ok = false;
    int r = ok ? TA_OK : err_sys(e, TA_ESYS, "cannot write the report %s", path);
    free(path);
    return r;
}

static void page_done(struct page *p)
{
    for (size_t i = 0; i < p->figures.n; i++) {
        free(p->figures.v[i].result.svg);
        free(p->figures.v[i].result.why_not);
        figure_done(&p->figures.v[i].figure);
    }
    VEC_FREE(&p->figures);
    arena_free(&p->texts);
    buf_done(&p->out);
}

int report_html_write(const struct audit *a, const char *dir, const struct audit_options *o,
                      struct err *e)
{
    struct page p = {.a = a, .o = o};
    buf_init(&p.out, PAGE_BYTES);
    int r = TA_OK;
    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        r = err_sys(e, TA_ESYS, "cannot make the report's folder %s", dir);
    if (r == TA_OK)
        r = draw_figures(&p, dir, e);
    if (r == TA_OK) {
        compose(&p);
        r = write_page(&p, dir, e);
    }
    page_done(&p);
    return r;
}
