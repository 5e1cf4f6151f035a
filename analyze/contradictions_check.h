/* What the rules of a summary share: private to contradictions.c (order, counts, rates, rows),
 * contradictions_tokens.c (time per token) and contradictions_values.c (what the values of one
 * figure leave for another). */
#ifndef ANALYZE_CONTRADICTIONS_CHECK_H
#define ANALYZE_CONTRADICTIONS_CHECK_H

#include "analyze/claims_file.h"

#define CHECK_CLOCKS 1e-3 /* between two times of one tool's own clock, a share */
#define CHECK_DIGITS "; each printed figure counts as exact to half a unit of its last digit"

enum { CHECK_POINTS_MOST = 64 };

struct check {
    struct audit *a;
    const struct file_summary *s;
};

typedef const struct file_figure *figure;

figure check_get(const struct check *k, enum figure_id id, enum file_stat stat); /* NULL: none */
bool check_is_tool(const struct check *k, const struct tool *t);

/* Its interval; unknown of NULL. */
struct interval check_of(figure f);

/* The product of two figures that are not negative. */
struct interval check_times(struct interval a, struct interval b);

/* Of how many values a figure of requests is: as the file says, else all completed; 0: not known.
 */
double check_values(const struct check *k, enum figure_id id);

/* May two figures of requests be of the same ones? Not where the file says of how many each is. */
bool check_same_set(const struct check *k, enum figure_id a, enum figure_id b);

/* Min, quantiles and max of a figure, in order; returns how many. A place is 0 … 1. */
size_t check_points(const struct check *k, enum figure_id id, figure out[CHECK_POINTS_MOST]);
double check_place(figure f);

const char *check_value(const struct check *k, enum figure_id id, double v);
const char *check_named(const struct check *k, figure f); /* "time to the first token, p90 (1 s)" */

/* The claim that f is gets the verdict; where there is none, or a trace, a finding says it. */
void check_say(const struct check *k, figure f, enum verdict v, const char *text);

void contradictions_tokens(const struct check *k);
void contradictions_values(const struct check *k);

#endif
