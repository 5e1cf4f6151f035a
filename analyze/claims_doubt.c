/* A client's clock is not the wire's, and what a tool counts with may not be on it. */
#include "analyze/claims_doubt.h"

#include <math.h>
#include <string.h>

#include "analyze/tool.h"

#define STAMPED_LATE_S 0.02 /* a busy client is late by that much: no reason to accuse its tool */
#define STAMPED_SLACK 1.02  /* and what is taken over a window from such a stamp by so much */

/* How far the claim is beyond the nearest of its definitions that it is beyond, and what that is
 * called; 0: beyond none. */
static double beyond(const struct question *q, const struct reading *r, const char **what)
{
    double least = q->claimed.lo - r->estimate.interval.hi;
    struct reading other;
    least = least > 0 ? least : INFINITY;
    *what = "that";
    for (size_t i = 1; i < CLAIM_DEFINITIONS && q->definitions[i] != NULL; i++) {
        if (!question_figure(q, q->definitions[i], &other))
            continue;
        double later = q->claimed.lo - other.estimate.interval.hi;
        if (later > 0 && later < least) {
            least = later;
            *what = q->definitions[i]->name;
        }
    }
    return isinf(least) ? 0 : least;
}

/* A gap of one of several choices that come at a time is as many times a gap of all (wire quirk 39:
 * gaps are those of an index, counts those of all). Which a claim is about, nobody can tell. */
static bool is_of_a_choice(const struct question *q, const struct reading *r)
{
    const struct scope *s = &q->sets.v[0].scopes.v[0];
    uint32_t choices = 0;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *x = &s->a->requests.v[s->requests.v[i]];
        if (x->choices_seen > choices)
            choices = x->choices_seen;
    }
    struct interval all = r->estimate.interval;
    return strcmp(q->name->name, "itl") == 0 && choices > 1 &&
           interval_meets((struct interval){all.lo, all.hi * choices}, q->claimed);
}

const char *claims_doubt(const struct question *q, const struct claim *c, const struct reading *r)
{
    if (is_of_a_choice(q, r))
        return "several choices came at a time: it may be the gap of one of them, or of all";
    const struct tool_formula *f = q->basis != NULL ? q->basis->formula : NULL;
    const char *what;
    double later = beyond(q, r, &what);
    double most = r->stat == STAT_SUM ? STAMPED_LATE_S * (double)r->n : STAMPED_LATE_S;
    bool from_t0 = q->name->subject == SUBJECT_TTFT || q->name->subject == SUBJECT_LATENCY;
    bool seen = c->causes.n > 0 && c->causes.v[0].by_sign;
    char text[64];
    if ((f != NULL || !seen) && from_t0 && later > 0 && later <= most)
        return audit_printf(q->a,
                            "the claim is beyond %s by %s, which a client explains that was kept "
                            "from its clock so long (--vantage), or whose clock ran while it "
                            "connected",
                            what, claim_value_text(DIM_TIME, later, text));
    if (f == NULL || f->slack <= 1)
        return NULL;
    /* Where its count in the text all but gives the claim, a sign that this is another count than
     * the stated one speaks for the tool: its stamps came late. */
    double slack = seen ? fmin(f->slack, STAMPED_SLACK) : f->slack;
    struct reading other;
    for (size_t i = seen ? 1 : 0; i < CLAIM_DEFINITIONS && q->definitions[i] != NULL; i++) {
        if (question_figure(q, q->definitions[i], &other) &&
            q->claimed.hi * slack >= other.estimate.interval.lo &&
            q->claimed.lo <= other.estimate.interval.hi * slack)
            return f->weak;
    }
    return NULL;
}
