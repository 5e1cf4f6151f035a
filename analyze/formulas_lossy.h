/* What the recording lost, in figures. A request that it damaged takes no part in them, and a claim
 * that is off from them may be right all the same: a lossy scope (struct scope) gives each figure
 * the interval of all that the missing bytes may have held. Nothing that such an interval meets is
 * refuted, and nothing that it alone meets is confirmed. */
#ifndef ANALYZE_FORMULAS_LOSSY_H
#define ANALYZE_FORMULAS_LOSSY_H

#include "analyze/formulas.h"

/* May r have been answered, and is left out since bytes of it are missing? */
bool lossy_request(const struct scope *s, const struct request *r);

/* Of s, so many such requests, and such as were lost whole, at most. */
size_t lossy_requests(const struct scope *s);
size_t lossy_hidden(const struct scope *s);

/* Widens what f gave from out->all.v[before] on, of a lossy scope, by what was lost. */
void lossy_widen(const struct formula *f, const struct scope *s, size_t before,
                 struct estimates *out);

/* One statistic of n ascending values, as `unknown` more of them, all at `each`, make it. */
double lossy_stat(const double *sorted, size_t n, size_t unknown, double each,
                  double (*stat_of)(const double *sorted, size_t n, enum stat stat),
                  enum stat stat);

#endif
