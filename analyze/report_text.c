/* The analysis as text: the verdict, the claims, how sound the measurement is (traces and
 * findings), figures, and what cannot be said. */
#include "analyze/report_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/fidelity.h"
#include "analyze/figures.h"
#include "analyze/headline.h"
#include "analyze/ledger_counts.h"
#include "analyze/metrics.h"
#include "analyze/report_fidelity.h"
#include "analyze/report_peers.h"
#include "analyze/report_recount.h"
#include "analyze/report_table.h"
#include "analyze/report_text_claims.h"
#include "analyze/report_text_line.h"
#include "traces/base/clock.h"
#include "traces/base/text.h"
#include "traces/base/units.h"

/* --- what was looked at --- */

static void count_requests(const struct audit *a, size_t trace,
                           size_t by_outcome[OUTCOME_NOT_LLM + 1])
{
    for (size_t i = 0; i < a->requests.n; i++) {
        if (a->requests.v[i].trace == trace)
            by_outcome[a->requests.v[i].outcome]++;
    }
}

static void put_outcomes(struct report *r, size_t trace)
{
    size_t by[OUTCOME_NOT_LLM + 1] = {0}, all = 0;
    count_requests(r->a, trace, by);
    for (enum outcome o = 0; o < OUTCOME_NOT_LLM; o++)
        all += by[o];
    buf_printf(r->out, "%zu request%s", all, all == 1 ? "" : "s");
    if (all > 0 && by[OUTCOME_SUCCESS] == all)
        buf_puts(r->out, all == 1 ? ", ok" : ", all ok");
    else if (all > 0) {
        buf_printf(r->out, ", %zu ok", by[OUTCOME_SUCCESS]);
        for (enum outcome o = OUTCOME_SUCCESS + 1; o < OUTCOME_NOT_LLM; o++) {
            if (by[o] > 0)
                buf_printf(r->out, ", %zu %s", by[o], outcome_name(o));
        }
    }
    const struct fidelity *f = fidelity_of(r->a, trace);
    size_t unsent = f != NULL ? ledger_counts_sum(&f->unseen, false) : 0;
    if (unsent > 0)
        buf_printf(r->out, ", %zu more never sent", unsent);
}

static void put_capture(struct report *r, const struct trace_info *t)
{
    char text[32];
    const struct pipeline_totals *p = &t->totals;
    buf_printf(r->out, ", %s packet%s", units_count(p->packets, text), p->packets == 1 ? "" : "s");
    int64_t drops = trace_drops(t);
    if (drops < 0)
        buf_puts(r->out, ", drops unknown");
    else if (drops > 0)
        buf_printf(r->out, ", %s dropped", units_count((uint64_t)drops, text));
    else
        buf_puts(r->out, ", no drops");
    if (t->health.truncated)
        buf_puts(r->out, ", truncated");
    else if (t->health.damaged_members > 0 || t->health.bad_blocks > 0)
        buf_puts(r->out, ", damaged");
    else
        buf_puts(r->out, t->closed ? ", whole" : ", not closed");
}

/* What a replay sent otherwise than it was recorded. */
static void put_replaced(struct report *r, const struct trace_info *t)
{
    enum { LINES_MOST = 16 };
    struct buf line;
    buf_init(&line, 1u << 20);
    for (size_t i = 0; i < t->replaced.n && i < LINES_MOST; i++) {
        buf_clear(&line);
        buf_printf(&line, "replaced: %.4000s", t->replaced.v[i]);
        report_paragraph(r, 3, 6, buf_text(&line));
    }
    if (t->replaced.n > LINES_MOST)
        buf_printf(r->out, "   and %zu more\n", t->replaced.n - LINES_MOST);
    buf_done(&line);
}

static void put_trace(struct report *r, size_t i)
{
    const struct trace_info *t = &r->a->traces.v[i];
    buf_printf(r->out, "%zu  ", i + 1);
    report_safe(r, t->path);
    if (t->files.n > 0) {
        buf_puts(r->out, t->files.n > 2 ? " ... " : " ");
        report_safe(r, t->files.v[t->files.n - 1].path);
    }
    buf_puts(r->out, "\n   ");
    if (t->simulated != NULL) {
        buf_puts(r->out, "simulated server ");
        report_safe(r, t->simulated);
        buf_puts(r->out, ", ");
    }
    buf_printf(r->out, "vantage ");
    report_safe(r, t->vantage != NULL ? t->vantage : "not stated");
    buf_puts(r->out, ", ");
    put_outcomes(r, i);
    put_capture(r, t);
    buf_puts(r->out, "\n");
    if (t->redacted != NULL && strcmp(t->redacted, "bodies") == 0)
        buf_puts(r->out,
                 "   redacted: all text was overwritten before it was written; times, lengths and "
                 "counts stand,\n   a recount of the text, `serve` and a replay of these "
                 "requests can't be had from it\n");
    put_replaced(r, t);
    report_recount_text(r->a, i, r->out);
}

/* --- findings --- */

static void put_finding(struct report *r, const struct finding *f)
{
    report_marked(r, report_look_of(f->severity), "");
    buf_puts(r->out, " ");
    report_safe(r, f->title);
    if (f->request != 0)
        buf_printf(r->out, " (request %zu)", f->request);
    else if (f->trace != 0)
        buf_printf(r->out, " (trace %zu)", f->trace);
    buf_puts(r->out, "\n");
    if (f->detail != NULL)
        report_paragraph(r, 4, 4, f->detail);
    report_evidence(r, f->evidence.v, f->evidence.n);
}

static void put_findings(struct report *r)
{
    if (r->a->findings.n > 0)
        buf_puts(r->out, "\nFindings\n");
    for (enum severity s = SEVERITY_FAIL; s <= SEVERITY_INFO; s++) {
        for (size_t i = 0; i < r->a->findings.n; i++) {
            if (r->a->findings.v[i].severity == s)
                put_finding(r, &r->a->findings.v[i]);
        }
    }
}

/* --- what the figures rest on --- */

/* "3  run_double speedup 1.96x: …": a line about a figure of a trace or workload. */
static void put_ground(struct report *r, const struct metric *m, const char *what)
{
    struct buf line;
    buf_init(&line, 1u << 20);
    buf_printf(&line, "%zu  %s%s%s: %s", m->trace, m->workload != NULL ? m->workload : "",
               m->workload != NULL ? " " : "", what, m->reason);
    report_paragraph(r, 0, 3, buf_text(&line));
    buf_done(&line);
}

static void put_skew(struct report *r, const struct metric *m)
{
    char text[32];
    buf_printf(r->out, "%zu  groups released together within %s (max of %zu)\n", m->trace,
               units_duration(llround(m->value * NS_PER_S), text), m->n);
}

/* Only with --slo. */
static void put_goodput(struct report *r, const struct metric *m)
{
    char number[32];
    struct buf line;
    buf_init(&line, 1u << 20);
    buf_printf(&line, "%zu  %s%sgoodput %s req/s", m->trace, m->workload != NULL ? m->workload : "",
               m->workload != NULL ? " " : "", table_number(m->value, number));
    const struct metric *share = metrics_find(r->a, "good_fraction", "value",
                                              (struct metric_scope){m->trace, m->run, m->workload});
    if (share != NULL)
        buf_printf(&line, ": %.3g %% of %zu requests are good", 100 * share->value, m->n);
    if (m->reason != NULL)
        buf_printf(&line, "; %s", m->reason);
    report_paragraph(r, 0, 3, buf_text(&line));
    buf_done(&line);
}

/* "2  run_single ttft 2.10x [1.90, 2.31] against trace 1 (…): higher" */
static void put_difference(struct report *r, const struct metric *m)
{
    static const char *const names[][2] = {{"ttft_ratio", "ttft"},
                                           {"output_tps_user_ratio", "decode tok/s"},
                                           {"e2e_output_tps_ratio", "wall tok/s"}};
    char what[96];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(m->name, names[i][0]) != 0)
            continue;
        int n = snprintf(what, sizeof what, "%s %.2fx", names[i][1], m->value);
        if (!isnan(m->ci_low))
            snprintf(what + n, sizeof what - (size_t)n, " [%.2f, %.2f]", m->ci_low, m->ci_high);
        put_ground(r, m, what);
    }
}

static bool is_shown(const struct report *r, const struct metric *m)
{
    return m->run == 0 && m->grade != GRADE_NOT_MEASURABLE &&
           (m->workload != NULL || !report_table_by_workload(r->a, m->trace));
}

static bool is_assumption(const struct report *r, const struct metric *m)
{
    return strcmp(m->name, "output_tps_user") == 0 && strcmp(m->stat, "p50") == 0 &&
           m->reason != NULL && is_shown(r, m);
}

/* What decode rates assume, each assumption once, with the traces that it is made for. */
static void put_assumptions(struct report *r)
{
    const struct metric *v = r->a->metrics.v;
    for (size_t i = 0; i < r->a->metrics.n; i++) {
        if (!is_assumption(r, &v[i]))
            continue;
        struct buf line;
        bool first = true;
        size_t last = 0;
        buf_init(&line, 1u << 20);
        for (size_t k = 0; k < r->a->metrics.n; k++) {
            if (!is_assumption(r, &v[k]) || strcmp(v[k].reason, v[i].reason) != 0)
                continue;
            first &= k >= i;
            if (v[k].trace != last)
                buf_printf(&line, "%s%zu", line.n > 0 ? ", " : "", v[k].trace);
            last = v[k].trace;
        }
        buf_printf(&line, "  decode tok/s: %s", v[i].reason);
        if (first)
            report_paragraph(r, 0, 3, buf_text(&line));
        buf_done(&line);
    }
}

enum { JOINED_MOST = 1000 }; /* runs that are looked at for it; more are no benchmark */

static bool is_joined(const struct run *x, const struct run *like)
{
    return x->repeats > 1 && x->trace == like->trace &&
           model_same_text(x->workload, like->workload);
}

/* Runs that hold several repeats: a line for each workload. */
static void put_joined(struct report *r, size_t first)
{
    const struct run *v = r->a->runs.v;
    struct buf line;
    size_t repeats = 0, runs = 0;
    for (size_t i = 0; i < first; i++) {
        if (v[first].repeats < 2 || is_joined(&v[i], &v[first]))
            return;
    }
    for (size_t i = first; i < r->a->runs.n && v[first].repeats > 1; i++) {
        repeats += is_joined(&v[i], &v[first]) ? v[i].repeats : 0;
        runs += is_joined(&v[i], &v[first]);
    }
    if (runs == 0)
        return;
    buf_init(&line, 1u << 20);
    buf_printf(&line, "%zu  %s%s%zu repeats overlap in time: their figures are those of ",
               v[first].trace + 1, v[first].workload != NULL ? v[first].workload : "",
               v[first].workload != NULL ? ": " : "", repeats);
    if (runs == 1)
        buf_puts(&line, "one run");
    else
        buf_printf(&line, "%zu runs", runs);
    report_paragraph(r, 0, 3, buf_text(&line));
    buf_done(&line);
}

/* What a ratio is against, how well groups were released. */
static void put_grounds(struct report *r)
{
    put_assumptions(r);
    for (size_t i = 0; i < r->a->runs.n && i < JOINED_MOST; i++)
        put_joined(r, i);
    for (size_t i = 0; i < r->a->metrics.n; i++) {
        const struct metric *m = &r->a->metrics.v[i];
        char what[64];
        put_difference(r, m); /* of a workload, even if its trace has no other */
        if (!is_shown(r, m))
            continue;
        if (strcmp(m->name, "release_skew") == 0 && strcmp(m->stat, "max") == 0)
            put_skew(r, m);
        if (strcmp(m->name, "goodput") == 0)
            put_goodput(r, m);
        if (m->reason == NULL || strcmp(m->stat, "p50") != 0)
            continue;
        if (isnan(m->ci_low))
            snprintf(what, sizeof what, "speedup %.2fx", m->value);
        else
            snprintf(what, sizeof what, "speedup %.2fx [%.2f, %.2f]", m->value, m->ci_low,
                     m->ci_high);
        if (strcmp(m->name, "speedup") == 0)
            put_ground(r, m, what);
    }
}

/* --- what cannot be said --- */

static void put_limit(struct report *r, size_t trace, bool *any, const char *text, const char *why)
{
    if (!*any)
        buf_puts(r->out, "\nNot known\n");
    *any = true;
    struct buf line;
    buf_init(&line, 1u << 20);
    buf_printf(&line, "%zu  %s%s%s", trace + 1, text, why != NULL ? ": " : "",
               why != NULL ? why : "");
    report_paragraph(r, 0, 3, buf_text(&line));
    buf_done(&line);
}

/* Figures that are withheld for one reason share a line. */
static void put_withheld(struct report *r, size_t trace, bool *any)
{
    static const struct {
        const char *name, *stat, *words;
    } shown[] = {
        {"ttft", "p50", "ttft"},
        {"output_tps_user", "p50", "decode tok/s"},
        {"e2e_output_tps", "p50", "wall tok/s"},
        {"output_tps", "value", "output tok/s"},
        {"speedup", "p50", "speedup"},
    };
    enum { SHOWN = sizeof shown / sizeof *shown };
    const char *reasons[SHOWN] = {NULL};
    for (size_t i = 0; i < SHOWN; i++) {
        const struct metric *m = metrics_find(r->a, shown[i].name, shown[i].stat,
                                              (struct metric_scope){trace + 1, 0, NULL});
        if (m != NULL && m->grade == GRADE_NOT_MEASURABLE)
            reasons[i] = m->reason;
    }
    for (size_t i = 0; i < SHOWN; i++) {
        if (reasons[i] == NULL)
            continue;
        char words[128] = "";
        for (size_t k = i, n = 0; k < SHOWN && n < sizeof words; k++) {
            if (reasons[k] == NULL || (k > i && strcmp(reasons[k], reasons[i]) != 0))
                continue;
            n += (size_t)snprintf(words + n, sizeof words - n, "%s%s", k > i ? ", " : "",
                                  shown[k].words);
            if (k > i)
                reasons[k] = NULL;
        }
        put_limit(r, trace, any, words, reasons[i]);
    }
}

static void put_unseen(struct report *r, size_t trace, bool *any)
{
    const struct trace_info *t = &r->a->traces.v[trace];
    char text[32], line[160];
    if (t->totals.tls_connections > 0) {
        snprintf(line, sizeof line, "%s encrypted (TLS) connections",
                 units_count(t->totals.tls_connections, text));
        put_limit(r, trace, any, line, "their contents cannot be read here");
    }
    if (t->unread_blocks > 0) {
        snprintf(line, sizeof line, "%s blocks of samples or ledger entries",
                 units_count(t->unread_blocks, text));
        put_limit(r, trace, any, line, "not what traces/FORMAT.md says");
    }
    if (t->totals.http2_connections > 0) {
        snprintf(line, sizeof line, "%s HTTP/2 connections",
                 units_count(t->totals.http2_connections, text));
        put_limit(r, trace, any, line, "not read");
    }
}

static void put_limits(struct report *r)
{
    bool any = false;
    for (size_t i = 0; i < r->a->traces.n; i++) {
        put_withheld(r, i, &any);
        put_unseen(r, i, &any);
    }
}

static const char *nothing(const struct report *r, struct arena *texts)
{
    size_t unsent = 0;
    for (size_t i = 0; i < r->a->fidelity.n; i++)
        unsent += ledger_counts_sum(&r->a->fidelity.v[i].unseen, false);
    if (unsent == 0)
        return "nothing to audit: no LLM request was seen";
    return figure_text(texts, "nothing to audit: no LLM request was seen; %zu %s never sent",
                       unsent, unsent == 1 ? "was" : "were");
}

/* The answer, before all else. */
static void put_headline(struct report *r)
{
    struct arena texts = {0};
    struct tally t = headline_tally(r->a);
    const char *said =
        r->a->runs.n == 0 && r->a->traces.n > 0 ? nothing(r, &texts) : headline(r->a, &texts);
    bool clean = r->a->claims.n > 0 ? t.unmeasured == 0 : said == NULL;
    const struct report_look *look = t.fail + t.fails_found > 0 ? &report_fail
                                     : clean                    ? &report_pass
                                                                : &report_warn;
    report_marked(r, look, "");
    report_paragraph(r, 1, 2,
                     said != NULL ? said : "Nothing found that speaks against the figures");
    buf_puts(r->out, "\n");
    arena_free(&texts);
}

void report_text_write(const struct audit *a, struct report_text_options o, struct buf *out)
{
    struct report r = {a, o, out};
    put_headline(&r);
    if (a->claims.n > 0)
        report_text_claims(&r);
    for (size_t i = 0; i < a->traces.n; i++)
        put_trace(&r, i);
    put_findings(&r);
    if (a->runs.n > 0)
        report_table_figures(a, out);
    put_grounds(&r);
    report_fidelity_text(a, out);
    if (a->as != NULL)
        report_peers_text(a, a->as, out);
    if (o.requests)
        report_table_requests(a, out);
    put_limits(&r);
}
