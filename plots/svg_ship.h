/* What must happen to a gnuplot SVG before it ships. */
#ifndef PLOTS_SVG_SHIP_H
#define PLOTS_SVG_SHIP_H

#include <stdbool.h>

#include "traces/base/buf.h"
#include "traces/base/span.h"

/* Appends to out the SVG in raw with: colours as #rrggbb, fonts as CSS families and weights, ids
 * made unique by the prefix id, no tooltips, role and title for screen readers (alt), thicker point
 * strokes, no empty groups. With inline_form no prolog and no style (the page has it), else a style
 * that follows the viewer's dark mode. */
void svg_ship(struct buf *out, struct slice raw, const char *id, const char *alt, bool inline_form);

/* The rules that re-colour every plot for dark mode: `SELECTOR [fill="#0072b2"]{fill:#4aa8e0}…`. */
void svg_dark_rules(struct buf *out, const char *selector);

#endif
