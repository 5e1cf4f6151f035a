/* What the parts of the HTML report share. */
#ifndef ANALYZE_REPORT_HTML_PAGE_H
#define ANALYZE_REPORT_HTML_PAGE_H

#include "analyze/figures.h"
#include "analyze/metrics.h"
#include "analyze/model.h"

struct page_figure {
    struct figure figure;
    struct plot_result result;
};

struct page {
    const struct audit *a;
    const struct audit_options *o;
    struct buf out;
    struct arena texts;
    VEC(struct page_figure) figures;
};

enum page_mark { MARK_FAIL, MARK_WARN, MARK_PASS, MARK_INFO };

void page_raw(struct page *p, const char *html);                        /* ours */
void page_printf(struct page *p, const char *fmt, ...) TA_PRINTF(2, 3); /* ours, and numbers */
void page_text(struct page *p, const char *text); /* anyone's: escaped, cut at 600 code points */
void page_cut(struct page *p, const char *text, size_t max);
void page_mark(struct page *p, enum page_mark mark, const char *word);

/* id of the page's figure of that name ("timeline-1"), or NULL if it is not in the page. */
const char *page_figure_id(const struct page *p, const char *name);

/* "trace 2", linked to its timeline where the page has it; "" where there is only one trace and no
 * link. */
void page_evidence(struct page *p, const struct evidence *v, size_t n);

/* Scopes with figures of their own: each trace, each workload of a trace that has several. */
struct page_scope {
    struct metric_scope scope;
    const char *server;   /* NULL: none known */
    const char *workload; /* of its runs, for people; NULL: none */
    const struct trace_info *trace;
};
typedef VEC(struct page_scope) page_scopes;
void page_scopes_find(const struct page *p, page_scopes *out);

/* Parts of the page, in its order. */
void page_first_screen(struct page *p); /* report_html_verdicts.c */
void page_findings(struct page *p);
void page_measured(struct page *p);              /* report_html_measured.c */
const char *page_measured_words(struct page *p); /* for the heading: "wall rate 41.4 tok/s, …" */
void page_method(struct page *p);                /* report_html_method.c */
void page_provenance(struct page *p);

#endif
