#include "analyze/claims_factor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/claims.h"
#include "traces/base/mem.h"

#define ALIKE                                                                                      \
    1.06 /* largest factor by smallest: means of ratios and ratios of means differ by less */
#define APART 1.15 /* a factor closer to 1 is none */
enum { FEWEST = 3 };

/* How many times as many tokens the claim counts as the bytes say; 0: it does not tell. */
static double factor_of(const struct claim *c)
{
    static const unsigned of_output = SUBJECT_DECODE | SUBJECT_PER_TOKEN | SUBJECT_WHOLE |
                                      SUBJECT_THROUGHPUT | SUBJECT_OUTPUT_TOKENS;
    const struct claim_name *n = claim_name_find(c->metric);
    bool by_events = strcmp(c->metric, "itl") == 0; /* with most tools, whatever its name */
    if (n == NULL || by_events || c->request != 0 || !(c->recomputed > 0) || !(c->claimed > 0) ||
        c->verdict == VERDICT_NOT_MEASURABLE || ((unsigned)n->subject & of_output) == 0)
        return 0;
    if (n->inverse)
        return c->recomputed / c->claimed;
    return n->dimension == DIM_TOKEN_RATE || n->dimension == DIM_TOKENS ? c->claimed / c->recomputed
                                                                        : 0;
}

/* Least and most are single requests', whose texts differ. */
static bool is_of_all(const struct claim *c)
{
    return strcmp(c->stat, "mean") == 0 || strcmp(c->stat, "sum") == 0 ||
           strcmp(c->stat, "value") == 0;
}

static bool is_named(const struct claim *c, const char *id)
{
    for (size_t i = 0; i < c->causes.n; i++) {
        if (strcmp(c->causes.v[i].id, id) == 0)
            return true;
    }
    return false;
}

/* Is one cause named for all of them? Then that is what they have in common. */
static bool share_a_cause(struct claim *const *v, size_t n)
{
    for (size_t i = 0; i < v[0]->causes.n; i++) {
        size_t named = 0;
        for (size_t k = 0; k < n; k++)
            named += is_named(v[k], v[0]->causes.v[i].id);
        if (named == n)
            return true;
    }
    return false;
}

/* Counts, or rates over different windows: within one window, a wrong time may be the reason. */
static bool are_of_two_kinds(struct claim *const *v, size_t n)
{
    unsigned kinds = 0;
    for (size_t i = 0; i < n; i++)
        kinds |= (unsigned)claim_name_find(v[i]->metric)->subject;
    bool in_text = (kinds & (SUBJECT_DECODE | SUBJECT_PER_TOKEN)) != 0;
    bool in_all = (kinds & (SUBJECT_WHOLE | SUBJECT_THROUGHPUT)) != 0;
    return in_text + in_all + ((kinds & SUBJECT_OUTPUT_TOKENS) != 0) >= 2;
}

static bool is_in(const struct claim *c, const char *file)
{
    return c->file != NULL && strcmp(c->file, file) == 0;
}

static bool find_in_file(struct audit *a, const char *file, struct claim **v)
{
    double least = INFINITY, most = 0;
    size_t n = 0;
    for (size_t i = 0; i < a->claims.n; i++) {
        struct claim *c = &a->claims.v[i];
        double x = is_in(c, file) && is_of_all(c) ? factor_of(c) : 0;
        if (x == 0)
            continue;
        least = fmin(least, x);
        most = fmax(most, x);
        v[n++] = c;
    }
    double middle = sqrt(least * most);
    if (n < FEWEST || most > ALIKE * least || (middle < APART && middle > 1 / APART) ||
        share_a_cause(v, n) || !are_of_two_kinds(v, n))
        return false;
    for (size_t i = 0; i < a->claims.n; i++) {
        struct claim *c = &a->claims.v[i];
        double x = is_in(c, file) && c->verdict != VERDICT_CONFIRMED ? factor_of(c) : 0;
        if (x > 0 && fabs(log(x / middle)) < fabs(log(middle)))
            c->token_factor = middle;
    }
    return true;
}

bool claims_factor_find(struct audit *a)
{
    struct claim **v = mem_array(a->claims.n + 1, sizeof *v);
    bool found = false;
    const char *last = NULL;
    for (size_t i = 0; i < a->claims.n; i++) {
        const char *file = a->claims.v[i].file;
        if (file == NULL || (last != NULL && strcmp(file, last) == 0))
            continue;
        found = find_in_file(a, file, v) || found;
        last = file;
    }
    free(v);
    return found;
}
