/* Everything that analyze does with a trace, in its order, but for what needs a disk. */
#ifndef TESTS_FUZZ_AUDIT_H
#define TESTS_FUZZ_AUDIT_H

#include <stdio.h>

#include "analyze/claims.h"
#include "analyze/findings.h"
#include "analyze/load.h"
#include "analyze/metrics.h"
#include "analyze/peers.h"
#include "analyze/report_html_page.h"
#include "analyze/report_json.h"
#include "analyze/report_text.h"
#include "analyze/runs.h"
#include "tests/fuzz/stdin.h"
#include "traces/base/jscan.h"

static inline bool audit_load(struct audit *a, const void *p, size_t n)
{
    struct err e;
    char name[] = "-", *paths[] = {name};
    size_t used;
    stdin_give(p, n);
    return load_trace(a, paths, 1, &used, &e) == TA_OK;
}

static inline void audit_judge(struct audit *a, const struct audit_options *o)
{
    runs_find(a, o);
    metrics_request_all(a, o);
    metrics_run_all(a, o);
    claims_judge(a, o);
    findings_find(a, o);
}

/* No byte of a trace may steer a terminal. */
static inline void audit_check_text(struct audit *a)
{
    struct buf out;
    struct peer_reports as = {0};
    peers_report(a, &audit_defaults, NULL, &as);
    a->as = &as;
    buf_init(&out, 64u << 20);
    report_text_write(a, (struct report_text_options){.requests = true}, &out);
    for (size_t i = 0; i < out.n; i++) {
        if ((out.p[i] < ' ' && out.p[i] != '\n') || out.p[i] == 0x7F) {
            fprintf(stderr, "a control character in the text: %02x\n", out.p[i]);
            abort();
        }
    }
    buf_done(&out);
    a->as = NULL;
    peers_free(&as);
}

static inline void audit_check_json(const struct audit *a)
{
    struct buf out;
    buf_init(&out, 64u << 20);
    report_json_write(a, &out);
    struct jscan s = jscan_over((struct slice){(const char *)out.p, out.n});
    jscan_skip(&s);
    if (jscan_next(&s) != JT_END) {
        fprintf(stderr, "the analysis is no JSON at offset %zu\n", jscan_offset(&s));
        abort();
    }
    buf_done(&out);
}

/* The tables of the pictures; to draw them takes gnuplot. */
static inline void audit_check_figures(const struct audit *a)
{
    struct figure f;
    for (size_t t = 0; t < a->traces.n; t++) {
        if (figure_timeline(&f, a, t))
            figure_done(&f);
    }
    if (figure_phantom(&f, a))
        figure_done(&f);
    if (figure_compare(&f, a))
        figure_done(&f);
}

/* The texts of the page, but for its provenance, which asks gnuplot its version. Nothing of a trace
 * becomes markup. */
static inline void audit_check_page(const struct audit *a, const struct audit_options *o)
{
    struct page p = {.a = a, .o = o};
    buf_init(&p.out, 64u << 20);
    page_first_screen(&p);
    page_findings(&p);
    page_measured(&p);
    page_method(&p);
    const char *text = buf_text(&p.out);
    if (strlen(text) != p.out.n || strstr(text, "<script") != NULL ||
        strstr(text, "<img") != NULL) {
        fprintf(stderr, "text of a trace as markup in the page\n");
        abort();
    }
    arena_free(&p.texts);
    buf_done(&p.out);
}

#endif
