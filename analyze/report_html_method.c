/* Method and provenance of the HTML report: how each figure shown is defined, what it was made
 * from, and how to make it again. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report_html_page.h"
#include "traces/base/clock.h"
#include "traces/base/text.h"
#include "traces/base/units.h"

enum { DEFINITIONS_SHOWN = 60, CLAIMS_IN_COMMAND = 20 };

static const char *duration(struct page *p, int64_t ns)
{
    char text[32];
    return figure_text(&p->texts, "%s", units_duration(ns, text));
}

enum { REPLACED_MOST = 16 }; /* lines of what a replay sent otherwise than recorded */

static void put_item(struct page *p, const char *term, const char *text)
{
    page_printf(p, "<dt>%s</dt><dd>", term);
    page_text(p, text);
    page_raw(p, "</dd>\n");
}

/* Each metric of the analysis once, in its order. */
static void put_definitions(struct page *p)
{
    const struct audit *a = p->a;
    size_t shown = 0;
    for (size_t i = 0; i < a->metrics.n && shown < DEFINITIONS_SHOWN; i++) {
        const struct metric *m = &a->metrics.v[i];
        bool seen = m->formula == NULL;
        for (size_t k = 0; k < i && !seen; k++)
            seen = strcmp(a->metrics.v[k].name, m->name) == 0 && a->metrics.v[k].formula != NULL;
        if (seen)
            continue;
        shown++;
        page_raw(p, "<dt>");
        page_cut(p, m->name, 60);
        page_raw(p, "</dt><dd>");
        page_cut(p, m->formula, 300);
        page_raw(p, "</dd>\n");
    }
}

static void put_gates(struct page *p)
{
    const struct audit_options *o = p->o;
    page_printf(p,
                "<dt>gates</dt><dd>A decode rate is withheld unless there are at least %" PRId64
                " output events in %" PRId64 " reads, %" PRId64
                " tokens, and a decode window of at least %s and %.3g %% of the request.</dd>\n",
                o->gate_events, o->gate_reads, o->gate_tokens, duration(p, o->gate_window_ns),
                100 * o->gate_share);
    page_printf(p,
                "<dt>intervals</dt><dd>Each time may lie later than on the wire by up to %s "
                "(vantage allowance); a claim's digits stand for half a unit of the last one, "
                "widened to %.3g %%.</dd>\n",
                duration(p, o->vantage_ns), 100 * o->tolerance);
    if (o->max_rate > 0)
        page_printf(p, "<dt>fastest rate</dt><dd>%.6g tok/s (--max-rate)</dd>\n", o->max_rate);
}

void page_method(struct page *p)
{
    page_raw(p, "<h3 id=\"method\">Method</h3>\n<dl>\n");
    put_item(p, "clock",
             "Times are the stamps of the trace. An event happens when its last byte became "
             "readable; events that came in one read came together.");
    put_item(p, "symbols",
             "t0 first byte of the request, t0_end its last; h first byte of the response; c_1 "
             "first event that is no ping; o_1 … o_M events with generated text; z end of the "
             "response; N output tokens, P prompt tokens, both as the server stated; n_1 tokens "
             "that came with o_1; A attempts, S successes; T from the first t0 to the last end.");
    put_definitions(p);
    put_item(p, "grades",
             "wire: times and counts from bytes. wire+stated: times from bytes, tokens as the "
             "server stated. stated: the server's own figure. not-measurable: the bytes cannot "
             "support it, and the reason is given.");
    put_gates(p);
    put_item(p, "verdicts",
             "pass: the claim's interval meets the recomputed one under its own definition. fail: "
             "it does not, or no definition could give it. n/a: the bytes cannot decide, and what "
             "is missing is named. The report says how a number came about, not why.");
    page_raw(p, "</dl>\n");
}

/* --- provenance ------------------------------------------------------------------------------- */

/* A word for a POSIX shell, escaped for HTML. */
static void put_shell_word(struct page *p, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:=@,+%";
    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        page_text(p, word);
        return;
    }
    struct buf quoted;
    buf_init(&quoted, 8 * strlen(word) + 16);
    buf_puts(&quoted, "'");
    for (const char *c = word; *c != '\0'; c++)
        buf_printf(&quoted, *c == '\'' ? "'\\'%c" : "%c", *c);
    buf_puts(&quoted, "'");
    page_text(p, buf_text(&quoted));
    buf_done(&quoted);
}

/* The options that are not at their defaults. */
static void put_options(struct page *p)
{
    const struct audit_options *o = p->o, *d = &audit_defaults;
    const struct {
        const char *name, *unit;
        double value, standard;
    } options[] = {
        {"tolerance", "", o->tolerance, d->tolerance},
        {"vantage", "ms", (double)o->vantage_ns / NS_PER_MS, (double)d->vantage_ns / NS_PER_MS},
        {"max-rate", "", o->max_rate, d->max_rate},
        {"run-gap", "ms", (double)o->run_gap_ns / NS_PER_MS, (double)d->run_gap_ns / NS_PER_MS},
        {"group-window", "ms", (double)o->group_ns / NS_PER_MS, (double)d->group_ns / NS_PER_MS},
        {"gate-events", "", (double)o->gate_events, (double)d->gate_events},
        {"gate-reads", "", (double)o->gate_reads, (double)d->gate_reads},
        {"gate-tokens", "", (double)o->gate_tokens, (double)d->gate_tokens},
        {"gate-window", "ms", (double)o->gate_window_ns / NS_PER_MS,
         (double)d->gate_window_ns / NS_PER_MS},
        {"gate-share", "", o->gate_share, d->gate_share},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (options[i].value != options[i].standard)
            page_printf(p, " --%s %.15g%s", options[i].name, options[i].value, options[i].unit);
    }
}

static void put_command(struct page *p)
{
    const struct audit *a = p->a;
    page_raw(p, "<dt>re-run</dt><dd><pre>tokaudit analyze");
    for (size_t i = 0; i < a->traces.n; i++) {
        page_raw(p, " ");
        put_shell_word(p, a->traces.v[i].path);
    }
    for (size_t i = 0; i < a->claims.n && i < CLAIMS_IN_COMMAND; i++) {
        if (a->claims.v[i].tool != NULL)
            continue;
        page_raw(p, " \\\n    --claim ");
        put_shell_word(p, a->claims.v[i].text);
    }
    put_options(p);
    page_raw(p, " \\\n    --report DIR</pre>");
    if (a->claims.n > CLAIMS_IN_COMMAND)
        page_printf(p, "and %zu more claims", a->claims.n - CLAIMS_IN_COMMAND);
    page_raw(p, "</dd>\n");
}

static void put_packets(struct page *p, const struct trace_info *t)
{
    char text[32];
    const struct pipeline_totals *n = &t->totals;
    page_printf(p, "<dt>packets</dt><dd>%s", units_count(n->packets, text));
    int64_t drops = trace_drops(t);
    if (drops < 0)
        page_raw(p, ", lost by the recorder: unknown");
    else
        page_printf(p, ", lost by the recorder: %s", units_count((uint64_t)drops, text));
    if (n->snapped > 0)
        page_printf(p, ", %s cut short", units_count(n->snapped, text));
    if (n->tcp.gap_bytes > 0)
        page_printf(p, ", %s never seen", units_bytes(n->tcp.gap_bytes, text));
    page_raw(p, "</dd>\n<dt>file</dt><dd>");
    page_printf(p, "%s, ", units_bytes(t->health.file_bytes, text));
    if (t->health.truncated)
        page_raw(p, "truncated");
    else if (t->health.damaged_members > 0 || t->health.bad_blocks > 0)
        page_raw(p, "damaged");
    else
        page_raw(p, t->closed            ? "complete: the closing block is there"
                    : t->vantage == NULL ? "complete: read to its end"
                                         : "not closed: it ended early");
    if (t->health.note[0] != '\0') {
        page_raw(p, ": ");
        page_text(p, t->health.note);
    }
    page_raw(p, "</dd>\n");
}

/* Requests that take part in no quantile, with the reasons. */
static void put_excluded(struct page *p, size_t trace)
{
    size_t by[OUTCOME_NOT_LLM + 1] = {0}, warmup = 0, damaged = 0, stepped = 0, all = 0, n = 0;
    for (size_t i = 0; i < p->a->requests.n; i++) {
        const struct request *r = &p->a->requests.v[i];
        if (r->trace != trace)
            continue;
        all++;
        if (r->outcome != OUTCOME_SUCCESS)
            by[r->outcome]++;
        else if (r->damaged)
            damaged++;
        else if (r->clock_stepped)
            stepped++;
        else
            warmup += r->warmup;
    }
    page_printf(p, "<dt>requests</dt><dd>%zu</dd>\n<dt>excluded</dt><dd>", all);
    for (int o = OUTCOME_SUCCESS + 1; o <= OUTCOME_NOT_LLM; o++) {
        if (by[o] > 0)
            page_printf(p, "%s%zu %s", n++ > 0 ? ", " : "", by[o], outcome_name((enum outcome)o));
    }
    if (damaged > 0)
        page_printf(p, "%s%zu damaged (bytes that were not captured)", n++ > 0 ? ", " : "",
                    damaged);
    if (stepped > 0)
        page_printf(p, "%s%zu in which the clock was set", n++ > 0 ? ", " : "", stepped);
    if (warmup > 0)
        page_printf(p, "%s%zu warm-up", n++ > 0 ? ", " : "", warmup);
    page_raw(p, n > 0 ? "</dd>\n" : "none</dd>\n");
}

static void put_trace(struct page *p, size_t i)
{
    const struct trace_info *t = &p->a->traces.v[i];
    char utc[32];
    page_printf(p, "<dt>trace %zu</dt><dd>", i + 1);
    page_text(p, t->path);
    if (t->files.n > 0) {
        page_printf(p, " and %zu more of its rotation, up to ", t->files.n - 1);
        page_text(p, rotation_base(t->files.v[t->files.n - 1].path));
    }
    if (t->label != NULL) {
        page_raw(p, " <b>");
        page_cut(p, t->label, 80);
        page_raw(p, "</b>");
    }
    page_raw(p, "</dd>\n");
    if (t->simulated != NULL) {
        page_raw(p, "<dt>server</dt><dd><span class=\"sim\">simulated</span>: ");
        page_cut(p, t->simulated, 80);
        page_raw(p, "</dd>\n");
    }
    put_item(p, "sha256", t->health.sha256);
    clock_utc(t->epoch_ns, utc);
    put_item(p, "recorded", utc);
    put_item(p, "vantage", t->vantage != NULL ? t->vantage : "not stated");
    if (t->redacted != NULL)
        put_item(p, "redacted", t->redacted);
    for (size_t k = 0; k < t->replaced.n && k < REPLACED_MOST; k++) {
        page_raw(p, "<dt>replaced</dt><dd>");
        page_cut(p, t->replaced.v[k], 400);
        page_raw(p, "</dd>\n");
    }
    if (t->host != NULL)
        put_item(p, "host", t->host);
    put_packets(p, t);
    if (t->clock_step_ns != 0)
        put_item(p, "clock step",
                 figure_text(&p->texts, "%s against the monotonic clock",
                             duration(p, t->clock_step_ns)));
    else
        put_item(p, "clock step",
                 t->clock_known ? "none" : "unknown: the trace has no clock pairs");
    put_excluded(p, i);
}

void page_provenance(struct page *p)
{
    page_raw(p, "<h3 id=\"provenance\">Provenance</h3>\n<dl>\n");
    for (size_t i = 0; i < p->a->traces.n; i++)
        put_trace(p, i);
    put_item(p, "tool", "tokaudit " TOKAUDIT_VERSION);
    char *gnuplot = plot_gnuplot_version();
    put_item(p, "drawn by",
             gnuplot != NULL ? gnuplot : "none on the machine that made this report");
    free(gnuplot);
    put_command(p);
    page_raw(p, "</dl>\n");
}
