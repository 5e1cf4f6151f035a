/* The figures of a report: what the analysis says, as tables and variables for the templates of
 * plots/, with a title that states the finding. gnuplot draws, nothing is computed there: a number
 * in a picture is the number in the report, to the digit. */
#ifndef ANALYZE_FIGURES_H
#define ANALYZE_FIGURES_H

#include "analyze/model.h"
#include "plots/plot.h"

struct figure {
    struct arena texts; /* of this figure */
    struct plot plot;
    const char *name;        /* of its files and its place in the page: "timeline-1" */
    const char *question;    /* it answers */
    const char *caption;     /* how it is computed */
    VEC(const char *) notes; /* lines under the caption */
};

enum { FIGURE_TITLE_MAX = 82 }; /* code points */

/* Each returns false, with nothing to free, if the analysis has nothing to show in it. plot_draw
 * takes figure.plot; figure_done frees. */

/* Of one trace: requests as rows, the first FIGURE_ROWS_MAX of them. */
enum { FIGURE_ROWS_MAX = 40 };
bool figure_timeline(struct figure *f, const struct audit *a, size_t trace);

/* Of a claimed rate that differs: the rate, the bytes, the burst it came from. */
bool figure_phantom(struct figure *f, const struct audit *a);

/* Rates of requests alone and together, a row a server. */
bool figure_compare(struct figure *f, const struct audit *a);

/* Of one trace with a ledger: when its requests left against when they should have. */
bool figure_fidelity(struct figure *f, const struct audit *a, size_t trace);

void figure_done(struct figure *f);

/* The claim that figure_phantom shows and the request it is about, or NULL. */
const struct claim *figure_phantom_claim(const struct audit *a, const struct request **focus);

/* For the figures themselves and for the page. */
void figure_begin(struct figure *f, const char *name, const char *template);
void figure_heads(struct figure *f, const char *title, const char *subtitle);

/* Sets FOOT, where a picture comes from: "tokaudit 0.1.0   trace x   sha256 …   recorded …". */
void figure_origin(struct figure *f, const struct audit *a, const size_t *traces, size_t n);

/* Who answered: "amber". */
const char *figure_server_name(const struct audit *a, const struct request *r);

/* "amber", "amber (simulated)": as a picture names it. */
const char *figure_server(struct arena *texts, const struct audit *a, const struct request *r);

/* text for people, at most max code points: cut with "…", without control characters. */
const char *figure_cut(struct arena *texts, const char *text, size_t max);

/* Width of text in units of its font size, near enough to keep texts apart (Liberation Sans). */
double figure_width_em(const char *text);

/* As figure_cut, by what fits into max_px at a font size of font_px. */
const char *figure_fit(struct arena *texts, const char *text, double font_px, double max_px);

/* A trace's name: its file's, without folders. */
const char *figure_trace_name(const struct trace_info *t);

/* As claimed, in the claim's own digits and unit: "14,000 tok/s", "90 ms". */
const char *figure_claimed(struct arena *texts, const struct claim *c);

/* In the base unit of what is claimed: "12.4 s", "41.4 tok/s"; "–" where v is not a number. */
const char *figure_quantity(struct arena *texts, const struct claim *c, double v);

/* How far off: "×338", "÷137", "+32 %", "−16 %"; "–" if there is nothing to compare. */
const char *figure_off_by(struct arena *texts, double claimed, double recomputed);

/* "41.1 – 41.2 tok/s" of "41.1 tok/s" and "41.2 tok/s": the unit once, if it is the same. */
const char *figure_range(struct arena *texts, const char *lo, const char *hi, const char *between);

/* Text in texts, formatted. */
const char *figure_text(struct arena *texts, const char *fmt, ...) TA_PRINTF(2, 3);

#endif
