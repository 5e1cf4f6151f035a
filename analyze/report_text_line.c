/* Columns count code points: a mark or an accent is one, whatever its bytes. */
#include "analyze/report_text_line.h"

#include <inttypes.h>
#include <stdio.h>

#include "traces/base/text.h"
#include "traces/base/units.h"

const struct report_look report_fail = {"✕", "\033[31m"}, report_warn = {"▲", "\033[33m"},
                         report_pass = {"●", "\033[32m"}, report_info = {"·", "\033[36m"};

void report_safe(struct report *r, const char *text)
{
    text_terminal(r->out, slice_of(text));
}

void report_paragraph(struct report *r, size_t first, size_t indent, const char *text)
{
    struct buf clean;
    buf_init(&clean, 1u << 20);
    text_terminal(&clean, slice_of(text));
    size_t column = 0, margin = first;
    for (size_t at = 0; at < clean.n;) {
        size_t end = at, width = 0;
        while (end < clean.n && clean.p[end] != ' ')
            width += (clean.p[end++] & 0xC0) != 0x80;
        if (column > 0 && column + 1 + width > REPORT_WIDTH) {
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

const struct report_look *report_look_of(enum severity s)
{
    return s == SEVERITY_FAIL ? &report_fail : s == SEVERITY_WARN ? &report_warn : &report_info;
}

const struct report_look *report_look_of_verdict(enum verdict v)
{
    return v == VERDICT_CONFIRMED        ? &report_pass
           : v == VERDICT_NOT_MEASURABLE ? &report_warn
                                         : &report_fail;
}

void report_marked(struct report *r, const struct report_look *l, const char *word)
{
    buf_printf(r->out, "%s%s%s%s%s", r->o.colour ? l->colour : "", l->mark,
               word[0] != '\0' ? " " : "", word, r->o.colour ? "\033[0m" : "");
}

void report_evidence(struct report *r, const struct evidence *v, size_t n)
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
            report_safe(r, rotation_base(file));
        }
        buf_printf(r->out, " at %s, connection %" PRIu64, at, v[i].conn);
        if (v[i].offset != EVIDENCE_NO_OFFSET)
            buf_printf(r->out, ", %s byte %" PRIu64, v[i].response ? "response" : "request",
                       v[i].offset);
        if (v[i].what != NULL) {
            buf_puts(r->out, ": ");
            report_safe(r, v[i].what);
        }
        buf_puts(r->out, "\n");
    }
    if (n > SHOWN)
        buf_printf(r->out, "    and %zu more\n", n - SHOWN);
}
