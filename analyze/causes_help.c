/* Each cause with all that is known of it: its formulas by the claims that they are tried on, and
 * the findings that are its sign. */
#include <string.h>

#include "analyze/catalogue.h"
#include "analyze/causes.h"
#include "analyze/causes_row.h"
#include "analyze/finding_kinds.h"
#include "traces/base/buf.h"
#include "traces/base/cli.h"

enum { WIDTH = 80, INDENT = 5, LINE_MAX_BYTES = 1 << 16 };

static const struct {
    enum subject subject;
    const char *word;
} subjects[] = {
    {SUBJECT_DECODE, "rate"},
    {SUBJECT_PER_TOKEN, "tpot"},
    {SUBJECT_WHOLE, "e2e rate"},
    {SUBJECT_TTFT, "ttft"},
    {SUBJECT_LATENCY, "latency"},
    {SUBJECT_GAP, "icl"},
    {SUBJECT_OUTPUT_TOKENS, "output tokens"},
    {SUBJECT_INPUT_TOKENS, "input tokens"},
    {SUBJECT_THROUGHPUT, "throughput"},
    {SUBJECT_PEAK, "peak throughput"},
    {SUBJECT_PROMPT_RATE, "prompt rate"},
    {SUBJECT_REQUESTS, "requests"},
    {SUBJECT_COMPLETED, "completed"},
    {SUBJECT_FAILED, "failed"},
    {SUBJECT_REQUEST_RATE, "request rate"},
    {SUBJECT_DURATION, "duration"},
    {SUBJECT_CONCURRENCY, "concurrency"},
    {SUBJECT_SPEEDUP, "speedup"},
};

static void print_line(FILE *to, struct buf *line)
{
    fprintf(to, "%*s", INDENT, "");
    cli_print_wrapped(to, buf_text(line), INDENT + 2, WIDTH);
    line->n = 0;
}

/* "rate, tpot: M/(o_M-o_1) (sign on the wire)" */
static void print_row(FILE *to, const struct cause_row *row, struct buf *line)
{
    const char *between = "";
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        if ((row->subjects & (unsigned)subjects[i].subject) == 0)
            continue;
        buf_printf(line, "%s%s", between, subjects[i].word);
        between = ", ";
    }
    buf_printf(line, ": %s", row->formula.text);
    print_line(to, line);
}

/* What is seen on the wire, each once. */
static void print_notes(FILE *to, const char *id, struct buf *line)
{
    const char *last = NULL;
    for (size_t i = 0; i < cause_tables_n; i++) {
        for (size_t k = 0; k < cause_tables[i]->n; k++) {
            const struct cause_row *row = &cause_tables[i]->rows[k];
            if (strcmp(row->id, id) != 0 || row->note == NULL ||
                (last != NULL && strcmp(row->note, last) == 0))
                continue;
            last = row->note;
            buf_printf(line, "%s: %s", row->sign != NULL ? "sign" : "seen", row->note);
            print_line(to, line);
        }
    }
}

static void print_findings(FILE *to, const char *id, struct buf *line)
{
    const struct finding_kind *kind = finding_kind_of_cause(id, NULL);
    if (kind == NULL)
        return;
    buf_puts(line, "found as:");
    for (; kind != NULL; kind = finding_kind_of_cause(id, kind))
        buf_printf(line, " %s", kind->id);
    print_line(to, line);
}

/* What causes.c tries without a row, where no row fits. */
static void print_last_tried(FILE *to, const char *id, struct buf *line)
{
    static const struct {
        const char *id, *text;
    } tried[] = {
        {"P27", "ttft, latency: hardly any time, where even the reply's head took longer; tried "
                "where nothing else fits"},
        {"P34",
         "times, token rates: the figure times 10^3, 10^-3, 10^6 …; tried where nothing else "
         "fits"},
    };
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        if (strcmp(tried[i].id, id) != 0)
            continue;
        buf_puts(line, tried[i].text);
        print_line(to, line);
    }
}

static void print_cause(FILE *to, const struct cause_kind *c, struct buf *line)
{
    static const char *const needs[] = {[CAUSE_NEEDS_TOKENIZER] = "needs --tokenizer",
                                        [CAUSE_NEEDS_LEDGER] = "needs the plan of a replay"};
    fprintf(to, "\n%-*s%s\n", INDENT, c->id, c->title);
    buf_printf(line, "the figure errs: %s", c->direction);
    print_line(to, line);
    if (c->need == CAUSE_UNDECIDED) {
        buf_printf(line, "not decided: a trace lacks %s", c->lacks);
        print_line(to, line);
        return;
    }
    if (needs[c->need] != NULL) {
        buf_puts(line, needs[c->need]);
        print_line(to, line);
    }
    for (size_t i = 0; i < cause_tables_n; i++) {
        for (size_t k = 0; k < cause_tables[i]->n; k++) {
            if (strcmp(cause_tables[i]->rows[k].id, c->id) == 0)
                print_row(to, &cause_tables[i]->rows[k], line);
        }
    }
    print_last_tried(to, c->id, line);
    print_notes(to, c->id, line);
    print_findings(to, c->id, line);
}

void causes_print(FILE *to)
{
    struct buf line;
    buf_init(&line, LINE_MAX_BYTES);
    cli_print_wrapped(to,
                      "Known ways to a wrong figure. A claim that the bytes do not confirm is held "
                      "against every formula below that its kind of figure may have come from. A "
                      "cause fits by sign where its formula gives the claim and what it does is "
                      "seen on the wire, by number where only the number agrees. Symbols: t0 first "
                      "byte of the request, h of the reply; c_1 its first event; o_1 … o_M its "
                      "events with text; z its end; N output tokens, P prompt tokens, K of them "
                      "cached; n_1 tokens that came with o_1; T from the first t0 to the last z.",
                      0, WIDTH);
    for (size_t i = 0; i < cause_kinds_n; i++)
        print_cause(to, &cause_kinds[i], &line);
    buf_done(&line);
}
