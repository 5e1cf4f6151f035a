/* Lines of the text report: paragraphs, marks, evidence. What came from a trace or a file goes
 * through text_terminal. */
#ifndef ANALYZE_REPORT_TEXT_LINE_H
#define ANALYZE_REPORT_TEXT_LINE_H

#include "analyze/model.h"
#include "analyze/report_text.h"
#include "traces/base/buf.h"

enum { REPORT_WIDTH = 100 };

struct report {
    const struct audit *a;
    struct report_text_options o;
    struct buf *out;
};

void report_safe(struct report *r, const char *text);

/* A paragraph, broken between words at REPORT_WIDTH; its first line stands at first, all others at
 * indent. */
void report_paragraph(struct report *r, size_t first, size_t indent, const char *text);

/* Mark and colour of a severity; verdicts use them too. */
struct report_look {
    const char *mark, *colour;
};

extern const struct report_look report_fail, report_warn, report_pass, report_info;

const struct report_look *report_look_of(enum severity s);
const struct report_look *report_look_of_verdict(enum verdict v);

/* The mark, then word where it is not empty. */
void report_marked(struct report *r, const struct report_look *l, const char *word);

/* The first few, and how many more there are. */
void report_evidence(struct report *r, const struct evidence *v, size_t n);

#endif
