/* Other tools' figures. Their names and formulas are ours to print; what comes from a trace
 * (labels, workloads) is made safe. */
#include "analyze/report_peers.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/report_table.h"
#include "traces/base/text.h"

enum { RUNS_SHOWN = 20, NOTES_MAX = 26 };

/* Remarks below a table, each once. */
struct notes {
    const char *v[NOTES_MAX];
    size_t n;
};

/* Its number from 1; 0: there is none. */
static size_t note_number(struct notes *notes, const char *text)
{
    if (text == NULL)
        return 0;
    for (size_t i = 0; i < notes->n; i++) {
        if (strcmp(notes->v[i], text) == 0)
            return i + 1;
    }
    if (notes->n == NOTES_MAX)
        return 0;
    notes->v[notes->n++] = text;
    return notes->n;
}

/* Of a note's number; a blank for none. */
static char mark_of(size_t note)
{
    return note > 0 ? (char)('a' + note - 1) : ' ';
}

static void put_notes(struct buf *out, const struct notes *notes)
{
    for (size_t i = 0; i < notes->n; i++)
        buf_printf(out, "  %c  %s\n", mark_of(i + 1), notes->v[i]);
}

static void put_run(const struct audit *a, size_t run, struct buf *out)
{
    const struct run *r = &a->runs.v[run];
    const char *server = run_server_name(a, r);
    buf_printf(out, "trace %zu, run %zu", r->trace + 1, r->id);
    if (server != NULL) {
        buf_puts(out, ", ");
        text_terminal(out, slice_of(server));
    }
    if (r->workload != NULL) {
        buf_puts(out, ", ");
        text_terminal(out, slice_of(r->workload));
    }
    if (r->repeat >= 0)
        buf_printf(out, ", repeat %" PRId64, r->repeat);
    buf_printf(out, ", %zu request%s", r->requests.n, r->requests.n == 1 ? "" : "s");
}

static bool is_count(const struct peer_figure *f)
{
    return strcmp(f->unit, "1") == 0;
}

static void put_one(const struct audit *a, const struct peer_report *r, struct buf *out)
{
    struct notes notes = {0};
    size_t width = 0;
    for (size_t i = 0; i < r->figures.n; i++) {
        size_t n = strlen(r->figures.v[i].name);
        width = n > width ? n : width;
    }
    buf_printf(out, "\nAs %s would have printed it (", peer_name(r->peer));
    put_run(a, r->run, out);
    buf_printf(out, ")\n  by %s\n", peer_version(r->peer));
    for (size_t i = 0; i < r->figures.n; i++) {
        const struct peer_figure *f = &r->figures.v[i];
        size_t note = note_number(&notes, f->note);
        char value[32] = "not measurable";
        if (!isnan(f->value))
            table_number(f->value, value);
        bool same = i > 0 && strcmp(f->formula, r->figures.v[i - 1].formula) == 0;
        buf_printf(out, "  %-*s  %14s %c %-5s %s", (int)width, f->name, value, mark_of(note),
                   is_count(f) ? "" : f->unit, same ? "" : f->formula);
        while (out->n > 0 && out->p[out->n - 1] == ' ')
            out->n--;
        buf_puts(out, "\n");
    }
    note_number(&notes, r->note);
    put_notes(out, &notes);
}

enum { COLUMN = 8 };

static const struct {
    const char *head;
    const char *unit; /* to show it in */
} words[WORDS] = {
    [WORD_TTFT] = {"ttft ms", "ms"},         [WORD_E2E] = {"e2e ms", "ms"},
    [WORD_TPOT] = {"tpot ms", "ms"},         [WORD_ITL] = {"itl ms", "ms"},
    [WORD_USER_TPS] = {"user t/s", "tok/s"}, [WORD_OUTPUT_TPS] = {"out t/s", "tok/s"},
    [WORD_REQUEST_TPS] = {"req/s", "req/s"}, [WORD_PEAK_TPS] = {"peak t/s", "tok/s"},
};

static const struct peer_figure *figure_of(const struct peer_report *r, enum peer_word w)
{
    for (size_t i = 0; i < r->figures.n; i++) {
        const struct peer_figure *f = &r->figures.v[i];
        if (f->word == w && (strcmp(f->stat, "mean") == 0 || strcmp(f->stat, "value") == 0))
            return f;
    }
    return NULL;
}

static double in_unit(const struct peer_figure *f, enum peer_word w)
{
    if (strcmp(words[w].unit, "ms") == 0 && strcmp(f->unit, "s") == 0)
        return 1e3 * f->value;
    if (w == WORD_REQUEST_TPS && is_count(f)) /* a minute */
        return f->value / 60;
    return f->value;
}

static void put_row(const struct peer_report *r, struct notes *notes, struct buf *out)
{
    buf_printf(out, "  %-14s", peer_name(r->peer));
    for (enum peer_word w = WORD_TTFT; w < WORDS; w++) {
        const struct peer_figure *f = figure_of(r, w);
        char value[32];
        const char *cell = f == NULL         ? ""
                           : isnan(f->value) ? "?"
                                             : table_number(in_unit(f, w), value);
        buf_printf(out, " %*s %c", COLUMN, cell,
                   mark_of(f != NULL ? note_number(notes, f->note) : 0));
    }
    while (out->n > 0 && out->p[out->n - 1] == ' ')
        out->n--;
    buf_puts(out, "\n");
}

/* The reports of one run, side by side. */
static void put_all(const struct audit *a, const struct peer_report *r, size_t n, struct buf *out)
{
    struct notes notes = {0};
    buf_puts(out, "\nAs other tools would have printed it: means (");
    put_run(a, r->run, out);
    buf_printf(out, ")\n  %-14s", "");
    for (enum peer_word w = WORD_TTFT; w < WORDS; w++)
        buf_printf(out, " %*s  ", COLUMN, words[w].head);
    while (out->p[out->n - 1] == ' ')
        out->n--;
    buf_puts(out, "\n");
    for (size_t i = 0; i < n; i++)
        put_row(&r[i], &notes, out);
    note_number(&notes, r->note);
    put_notes(out, &notes);
    buf_puts(out, "  blank: the tool has no figure of that name; ?: not measurable. What each "
                  "means by a word: --as TOOL\n");
}

void report_peers_text(const struct audit *a, const struct peer_reports *r, struct buf *out)
{
    size_t shown = 0;
    for (size_t i = 0, end; i < r->n; i = end) {
        for (end = i + 1; end < r->n && r->v[end].run == r->v[i].run;)
            end++;
        if (shown++ == RUNS_SHOWN)
            buf_puts(out, "\n  and more runs: --format json has all of them\n");
        if (shown > RUNS_SHOWN)
            continue;
        if (end - i == 1)
            put_one(a, &r->v[i], out);
        else
            put_all(a, &r->v[i], end - i, out);
    }
}

static void put_figure_json(struct jsonw *w, const struct peer_figure *f)
{
    jsonw_object(w, NULL);
    jsonw_text(w, "name", f->name);
    jsonw_text(w, "stat", f->stat);
    jsonw_double(w, "value", f->value);
    jsonw_text(w, "unit", f->unit);
    jsonw_u64(w, "n", f->n);
    jsonw_text(w, "formula", f->formula);
    jsonw_text(w, "note", f->note);
    jsonw_end(w);
}

void report_peers_json(struct jsonw *w, const struct audit *a, const struct peer_reports *r)
{
    jsonw_array(w, "as");
    for (size_t i = 0; i < r->n; i++) {
        jsonw_object(w, NULL);
        jsonw_text(w, "tool", peer_name(r->v[i].peer));
        jsonw_text(w, "by", peer_version(r->v[i].peer));
        jsonw_object(w, "scope");
        jsonw_int(w, "trace", (int64_t)a->runs.v[r->v[i].run].trace + 1);
        jsonw_int(w, "run", (int64_t)a->runs.v[r->v[i].run].id);
        jsonw_end(w);
        jsonw_text(w, "note", r->v[i].note);
        jsonw_array(w, "figures");
        for (size_t k = 0; k < r->v[i].figures.n; k++)
            put_figure_json(w, &r->v[i].figures.v[k]);
        jsonw_end(w);
        jsonw_end(w);
    }
    jsonw_end(w);
}
