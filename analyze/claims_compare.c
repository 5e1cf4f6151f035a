/* Both are told of claims that may well be confirmed. */
#include "analyze/claims_compare.h"

#include <math.h>
#include <string.h>

#include "analyze/claims.h"
#include "analyze/finding_kinds.h"
#include "traces/base/buf.h"

enum { COMPARED_MOST = 512, TEXT_MOST = 4096 };

static void add(struct audit *a, enum finding_id id, const char *detail)
{
    const struct finding_kind *k = &finding_kinds[id];
    VEC_PUSH(&a->findings,
             ((struct finding){
                 .id = k->id, .title = k->title, .detail = detail, .severity = k->severity}));
}

/* --- few values ------------------------------------------------------------------------------- */

static bool is_named(struct buf *text, const char *stat)
{
    return strstr(buf_text(text), stat) != NULL;
}

/* A quantile of n values is one of them, or lies between two: above all but one there is only the
 * largest. */
static void find_few(const struct file_summary *s, struct audit *a)
{
    const struct file_figure *done = file_find(s, F_COMPLETED, FILE_VALUE);
    char stat[16];
    if (done == NULL || !(done->v >= 1) || s->tool->over_runs)
        return;
    struct buf which;
    buf_init(&which, TEXT_MOST);
    for (size_t i = 0; i < s->figures.n; i++) {
        const struct file_figure *f = &s->figures.v[i];
        if (f->stat != FILE_QUANTILE || f->q <= 0.5 || f->q >= 1 || (1 - f->q) * done->v >= 1 ||
            is_named(&which, file_stat_text(f, stat)))
            continue;
        buf_printf(&which, "%s%s", which.n > 0 ? ", " : "", stat);
    }
    if (which.n > 0)
        add(a, FINDING_CLAIMS_FEW_VALUES,
            audit_printf(a,
                         "%s: it is about %g requests, and prints %s of them. That is their "
                         "largest value, or lies next to it: one request makes the figure.",
                         s->file, done->v, buf_text(&which)));
    buf_done(&which);
}

/* --- two formulas ----------------------------------------------------------------------------- */

/* What gives the claim, without what it is a statistic of; n is the length. NULL: nothing does. */
static const char *made_by(const struct claim *c, size_t *n)
{
    const char *text = c->verdict == VERDICT_CONFIRMED                    ? c->recomputed_as
                       : c->verdict == VERDICT_DIFFERS && c->causes.n > 0 ? c->causes.v[0].formula
                                                                          : NULL;
    const char *end = text != NULL ? strstr(text, " (") : NULL;
    *n = text == NULL ? 0 : end != NULL ? (size_t)(end - text) : strlen(text);
    return text;
}

/* Of one thing, where a trace has one run only: of several, each may be of its own. */
static bool are_of_one(const struct audit *a, const struct claim *x, const struct claim *y)
{
    const struct claim_name *nx = claim_name_find(x->metric), *ny = claim_name_find(y->metric);
    return (x->request != 0 || a->runs.n == 1) && x->request == y->request &&
           x->trace == y->trace && nx->subject == ny->subject && nx->subject != SUBJECT_OTHER &&
           nx->inverse == ny->inverse && strcmp(x->stat, y->stat) == 0 &&
           model_same_text(x->tool, y->tool) &&
           !interval_meets(x->claimed_interval, y->claimed_interval);
}

static bool compare(struct audit *a, const struct claim *x, const struct claim *y)
{
    size_t n, m;
    const char *by_x = made_by(x, &n), *by_y = made_by(y, &m);
    if (by_x == NULL || by_y == NULL || (n == m && strncmp(by_x, by_y, n) == 0) ||
        !are_of_one(a, x, y))
        return false;
    add(a, FINDING_CLAIMS_TWO_FORMULAS,
        audit_printf(a,
                     "%s and %s are figures of one thing, and each has a formula of its own: %.*s "
                     "gives the one, %.*s the other. Only one of them can be compared with another "
                     "table's.",
                     x->text, y->text, (int)n, by_x, (int)m, by_y));
    return true;
}

/* Each claim once; more than some hundreds are rows of files, which have one formula each. */
static void find_formulas(struct audit *a)
{
    bool told[COMPARED_MOST] = {false};
    size_t n = a->claims.n;
    for (size_t i = 0; i < n && n <= COMPARED_MOST; i++) {
        for (size_t k = i + 1; k < n && !told[i]; k++) {
            if (!told[k] && compare(a, &a->claims.v[i], &a->claims.v[k]))
                told[i] = told[k] = true;
        }
    }
}

void claims_compare(const struct claim_files *fs, struct audit *a)
{
    for (size_t i = 0; i < fs->summaries.n; i++)
        find_few(&fs->summaries.v[i], a);
    find_formulas(a);
}
