/* The analysis as text: what was looked at, verdicts and findings, figures, and what cannot be
 * said. Everything that came from a trace goes through text_terminal. */
#include "analyze/report_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/claims.h"
#include "analyze/metrics.h"
#include "analyze/report_fidelity.h"
#include "analyze/report_peers.h"
#include "analyze/report_recount.h"
#include "analyze/report_table.h"
#include "traces/base/clock.h"
#include "traces/base/text.h"
#include "traces/base/units.h"

struct report {
    const struct audit *a;
    struct report_text_options o;
    struct buf *out;
};

static void safe(struct report *r, const char *text)
{
    text_terminal(r->out, slice_of(text));
}

/* A paragraph, broken between words at 100 columns; all lines but the first stand at indent. */
static void paragraph(struct report *r, size_t first, size_t indent, const char *text)
{
    enum { WIDTH = 100 };
    struct buf clean;
    buf_init(&clean, 1u << 20);
    text_terminal(&clean, slice_of(text));
    size_t column = 0, margin = first;
    for (size_t at = 0; at < clean.n;) {
        size_t end = at, width = 0;
        while (end < clean.n && clean.p[end] != ' ')
            width += (clean.p[end++] & 0xC0) != 0x80; /* code points */
        if (column > 0 && column + 1 + width > WIDTH) {
            buf_puts(r->out, "\n");
            column = 0;
            margin = indent;
        }
        buf_printf(r->out, "%*s%.*s", column == 0 ? (int)margin : 1, "", (int)(end - at),
                   (const char *)clean.p + at);
        column += (column == 0 ? margin : 1) + width;
        at = end + (end < clean.n);
    }
    buf_puts(r->out, "\n");
    buf_done(&clean);
}

/* Marks and colours of a severity; verdicts use them too. */
static const struct look {
    const char *mark, *colour;
} look_fail = {"✕", "\033[31m"}, look_warn = {"▲", "\033[33m"}, look_pass = {"●", "\033[32m"},
  look_info = {"·", "\033[36m"};

static void marked(struct report *r, const struct look *l, const char *word)
{
    buf_printf(r->out, "%s%s%s%s%s", r->o.colour ? l->colour : "", l->mark,
               word[0] != '\0' ? " " : "", word, r->o.colour ? "\033[0m" : "");
}

static const struct look *look_of_severity(enum severity s)
{
    return s == SEVERITY_FAIL ? &look_fail : s == SEVERITY_WARN ? &look_warn : &look_info;
}

static const struct look *look_of_verdict(enum verdict v)
{
    return v == VERDICT_CONFIRMED        ? &look_pass
           : v == VERDICT_NOT_MEASURABLE ? &look_warn
                                         : &look_fail;
}

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

static void put_trace(struct report *r, size_t i)
{
    const struct trace_info *t = &r->a->traces.v[i];
    buf_printf(r->out, "%zu  ", i + 1);
    safe(r, t->path);
    if (t->files.n > 0) {
        buf_puts(r->out, t->files.n > 2 ? " ... " : " ");
        safe(r, t->files.v[t->files.n - 1].path);
    }
    buf_puts(r->out, "\n   ");
    if (t->simulated != NULL) {
        buf_puts(r->out, "simulated server ");
        safe(r, t->simulated);
        buf_puts(r->out, ", ");
    }
    buf_printf(r->out, "vantage ");
    safe(r, t->vantage != NULL ? t->vantage : "not stated");
    buf_puts(r->out, ", ");
    put_outcomes(r, i);
    put_capture(r, t);
    buf_puts(r->out, "\n");
    if (t->redacted != NULL && strcmp(t->redacted, "bodies") == 0)
        buf_puts(r->out,
                 "   redacted: all text was overwritten before it was written; times, lengths and "
                 "counts stand,\n   a recount of the text, `serve` and a replay of these "
                 "requests can't be had from it\n");
    report_recount_text(r->a, i, r->out);
}

/* --- verdicts --- */

static void put_evidence(struct report *r, const struct evidence *v, size_t n)
{
    enum { SHOWN = 3 };
    for (size_t i = 0; i < n && i < SHOWN; i++) {
        char at[32];
        units_duration(v[i].t_ns - r->a->traces.v[v[i].trace].epoch_ns, at);
        uint64_t frame;
        const char *file = trace_file_of(&r->a->traces.v[v[i].trace], v[i].packet, &frame);
        buf_printf(r->out, "    trace %zu frame %" PRIu64, v[i].trace + 1, frame);
        if (file != NULL) {
            buf_puts(r->out, " of ");
            safe(r, rotation_base(file));
        }
        buf_printf(r->out, " at %s, connection %" PRIu64, at, v[i].conn);
        if (v[i].offset != EVIDENCE_NO_OFFSET)
            buf_printf(r->out, ", %s byte %" PRIu64, v[i].response ? "response" : "request",
                       v[i].offset);
        if (v[i].what != NULL) {
            buf_puts(r->out, ": ");
            safe(r, v[i].what);
        }
        buf_puts(r->out, "\n");
    }
    if (n > SHOWN)
        buf_printf(r->out, "    and %zu more\n", n - SHOWN);
}

static enum dimension dimension_of(const struct claim *c)
{
    const struct claim_name *name = claim_name_find(c->metric);
    return name != NULL ? name->dimension : DIM_RATIO;
}

static void put_cause(struct report *r, const struct cause *c, enum dimension dim)
{
    char value[64];
    struct buf line;
    buf_init(&line, 1u << 20);
    buf_printf(&line, "%s %s: %s = %s (%s)%s%s", c->id, c->title, c->formula,
               claim_value_text(dim, c->value, value),
               c->by_sign ? "its sign is on the wire" : "only the number fits",
               c->note != NULL ? "; " : "", c->note != NULL ? c->note : "");
    paragraph(r, 4, 4, buf_text(&line));
    buf_done(&line);
}

static void put_claim(struct report *r, const struct claim *c)
{
    enum { CAUSES_SHOWN = 3 };
    marked(r, look_of_verdict(c->verdict), verdict_name(c->verdict));
    buf_puts(r->out, "  ");
    safe(r, c->text);
    buf_puts(r->out, "\n");
    if (c->reason != NULL)
        paragraph(r, 4, 4, c->reason);
    for (size_t i = 0; i < c->causes.n && i < CAUSES_SHOWN; i++)
        put_cause(r, &c->causes.v[i], dimension_of(c));
    put_evidence(r, c->evidence.v, c->evidence.n);
}

static void put_finding(struct report *r, const struct finding *f)
{
    marked(r, look_of_severity(f->severity), "");
    buf_puts(r->out, " ");
    safe(r, f->title);
    if (f->request != 0)
        buf_printf(r->out, " (request %zu)", f->request);
    else if (f->trace != 0)
        buf_printf(r->out, " (trace %zu)", f->trace);
    buf_puts(r->out, "\n");
    if (f->detail != NULL)
        paragraph(r, 4, 4, f->detail);
    put_evidence(r, f->evidence.v, f->evidence.n);
}

/* Of result files without a trace. */
static void put_unopposed(struct report *r, size_t n)
{
    marked(r, &look_warn, verdict_name(VERDICT_NOT_MEASURABLE));
    char count[32];
    buf_printf(r->out, "  %s figure%s: nothing in the file speaks against %s, and no trace was given\n",
               units_count(n, count), n == 1 ? "" : "s", n == 1 ? "it" : "them");
}

static void put_verdicts(struct report *r)
{
    if (r->a->claims.n > 0)
        buf_puts(r->out, "\nClaims\n");
    size_t unopposed = 0;
    for (size_t i = 0; i < r->a->claims.n; i++) {
        unopposed += r->a->claims.v[i].unopposed;
        if (!r->a->claims.v[i].unopposed)
            put_claim(r, &r->a->claims.v[i]);
    }
    if (unopposed > 0)
        put_unopposed(r, unopposed);
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
    paragraph(r, 0, 3, buf_text(&line));
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
    const struct metric *share = metrics_find(
        r->a, "good_fraction", "value", (struct metric_scope){m->trace, m->run, m->workload});
    if (share != NULL)
        buf_printf(&line, ": %.3g %% of %zu requests are good", 100 * share->value, m->n);
    if (m->reason != NULL)
        buf_printf(&line, "; %s", m->reason);
    paragraph(r, 0, 3, buf_text(&line));
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
            paragraph(r, 0, 3, buf_text(&line));
        buf_done(&line);
    }
}

/* What a ratio is against, how well groups were released. */
static void put_grounds(struct report *r)
{
    put_assumptions(r);
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
    paragraph(r, 0, 3, buf_text(&line));
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

void report_text_write(const struct audit *a, struct report_text_options o, struct buf *out)
{
    struct report r = {a, o, out};
    for (size_t i = 0; i < a->traces.n; i++)
        put_trace(&r, i);
    if (a->runs.n == 0 && a->traces.n > 0)
        buf_puts(out, "\nnothing to audit: no LLM request was seen\n");
    put_verdicts(&r);
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
