/* Interval arithmetic, as far as figures need it: what a formula can give when each time in it is
 * known to lie between two bounds. NAN bounds mean "nothing known"; an infinite upper bound is a
 * legal answer. */
#ifndef ANALYZE_INTERVAL_H
#define ANALYZE_INTERVAL_H

#include <stdbool.h>

#include "analyze/model.h"

struct interval interval_exact(double x);
struct interval interval_around(double x, double half); /* [x - half, x + half] */
struct interval interval_unknown(void);

struct interval interval_add(struct interval a, struct interval b);
struct interval interval_sub(struct interval a, struct interval b);
struct interval interval_scale(struct interval a, double k); /* k >= 0 */

/* n / d for n >= 0, where d is a length: what of it lies below zero cannot be, so a d that may be 0
 * gives an infinite upper bound. Unknown if d is nowhere positive. */
struct interval interval_div(struct interval n, struct interval d);

bool interval_known(struct interval a);
bool interval_meets(struct interval a,
                    struct interval b); /* they share a point; false if one is unknown */
bool interval_below(struct interval a, struct interval b); /* all of a lies below all of b */

/* hi / lo; infinite if it has no positive lower bound. The measure of what a fit is worth. */
double interval_spread(struct interval a);

#endif
