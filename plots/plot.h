/* A table in, a figure out: writes the data, a gnuplot script that stands alone, and, where there
 * is a gnuplot, an SVG and a PNG. A machine without gnuplot loses only the pictures.
 *
 * In dir: data/NAME-TABLE.tsv, plots/NAME.gp, plots/NAME.svg, plots/NAME.png. `gnuplot NAME.gp` in
 * dir/plots draws it again. Text of any origin is safe in variables and cells: it never becomes
 * gnuplot code. */
#ifndef PLOTS_PLOT_H
#define PLOTS_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "traces/base/buf.h"
#include "traces/base/err.h"
#include "traces/base/span.h"
#include "traces/base/vec.h"

struct plot_variable {
    const char *name; /* of the template: "CLAIM" */
    const char *text; /* NULL: number is its value */
    double number;
};

struct plot_table {
    const char *variable; /* of the template: "REQ" */
    const char *kind;     /* "timeline.requests": first line of the file */
    struct buf rows;      /* cells written with plot_cell_… and plot_row_end */
};

struct plot {
    const char *name;     /* of its files: "phantom" */
    const char *template; /* "phantom": plots/phantom.gp */
    const char *alt;      /* what the picture says, for who can't see it */
    VEC(struct plot_variable) variables;
    VEC(struct plot_table) tables;
};

void plot_init(struct plot *p, const char *name, const char *template, const char *alt);
void plot_number(struct plot *p, const char *variable, double value);
void plot_text(struct plot *p, const char *variable,
               const char *value); /* borrowed until plot_draw returned */

/* A new table; valid until the next call of plot_table. columns: its header line, with units. */
struct plot_table *plot_table(struct plot *p, const char *variable, const char *kind,
                              const char *columns);
void plot_cell_number(struct plot_table *t, double value); /* not finite: nan */
void plot_cell_text(struct plot_table *t, struct slice text);
void plot_row_end(struct plot_table *t);
void plot_block_end(struct plot_table *t); /* the next row begins a new gnuplot index */

struct plot_result {
    bool drawn;
    char *svg;     /* inline form, for an HTML page; NULL if not drawn; free() */
    char *why_not; /* in words, if not drawn; free() */
};

/* Writes everything into dir (made if missing). A failing gnuplot is no error (see plot_result), a
 * disk that can't be written is. */
int plot_draw(struct plot *p, const char *dir, struct plot_result *out, struct err *e);
void plot_done(struct plot *p);

/* "gnuplot 5.4 patchlevel 4", or NULL where there is none; free(). */
char *plot_gnuplot_version(void);

#endif
