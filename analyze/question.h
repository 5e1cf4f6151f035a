/* A claim as a question to an audit: the requests that it may be about, widest first, and the
 * statistics in which its figure may have been published. */
#ifndef ANALYZE_QUESTION_H
#define ANALYZE_QUESTION_H

#include "analyze/claims.h"
#include "analyze/formulas.h"

/* Scopes whose figures are taken together: one of many requests, or one scope a run. */
struct scope_set {
    const char *label; /* "run_single", "run 3"; NULL: all there is */
    VEC(struct scope) scopes;
};

/* A claim with all that it may be about, widest first. */
struct question {
    struct audit *a;
    const struct audit_options *o;
    const struct claim_name *name;
    const struct claim_basis *basis;         /* NULL: none */
    struct definition own[CLAIM_DEFINITIONS];                /* of the basis's formula, if it has one */
    const struct definition *definitions[CLAIM_DEFINITIONS]; /* to try, in this order; NULL: no more */
    struct interval claimed;                 /* widened to the tolerance */
    enum stat stat;                          /* STAT_VALUE: not stated */
    bool one;                                /* a single request */
    VEC(struct scope_set) sets;
};

/* One answer of a formula. */
struct reading {
    struct estimate estimate;
    enum stat stat;
    const char *label; /* of the set */
    size_t n;          /* figures that it is a statistic of … */
    size_t by_body;    /* … of which so many were stated with another reply to the same body */
};

/* Fills q->sets; bounds as of formula_rate_bounds. False, with c->reason, if there is nothing to
 * ask about. */
bool question_scopes(struct question *q, struct claim *c, const double *bounds);
void question_done(struct question *q);

/* Is stat to be tried on a set? All are for the widest, where none was stated; median and mean for
 * parts of it. */
bool question_tries(const struct question *q, size_t set, enum stat stat);

/* The figure of a definition that stands for a set: the statistic that the claim names, else the
 * median. */
bool question_typical(const struct question *q, size_t set, const struct definition *d,
                      struct reading *r);

/* The same for the widest set that has it; d may be NULL. */
bool question_figure(const struct question *q, const struct definition *d, struct reading *r);

/* The same of definitions[definition], or NO_DEFINITION. */
bool question_recomputed(const struct question *q, int definition, struct reading *r);

/* From now on figures are those of lossy scopes (formulas_lossy.h), or again those of what is there.
 */
void question_lossy(struct question *q, bool lossy);

/* The same of doubtful scopes (formulas_doubt.h): stamps that may be late, tokens that may be
 * miscounted by a factor; false and 1: no more. */
void question_doubt(struct question *q, bool late, double miscount);

/* The same of rates that tokens without text blur (metrics_marks.h). */
void question_blurred(struct question *q, bool blurred);

/* The same of the longest that a tool's duration may be (scope.overrun). */
void question_overrun(struct question *q, bool overrun);

/* The statistic of a set's estimates, sorted, that meets the claim; of several, the nearest. */
bool question_fits(const struct question *q, size_t set, const struct estimates *all,
                   struct reading *out);

/* A figure of a definition that meets the claim. */
bool question_meets(const struct question *q, const struct definition *d, struct reading *r);

/* " (p50 of 8)", " (p50 of 8, run_single)", ""; lives as long as a. */
const char *reading_text(struct audit *a, const struct reading *r);

#endif
