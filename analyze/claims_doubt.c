/* A client's clock is not the wire's, and what a tool counts with may not be on it. */
#include "analyze/claims_doubt.h"

#include <math.h>
#include <string.h>

#include "analyze/causes.h"
#include "analyze/formulas_doubt.h"
#include "analyze/tool.h"

#define STAMPED_SLACK 1.02 /* what is taken over a window from a late stamp is off by so much */

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

/* Is the claim a figure that such stamps and counts give, of a definition from the first on? */
static bool may_be(struct question *q, size_t first, struct interval claimed, bool late,
                   double miscount)
{
    struct interval held = q->claimed;
    struct reading r;
    bool met = false;
    q->claimed = claimed;
    question_doubt(q, late, miscount);
    for (size_t i = first; i < CLAIM_DEFINITIONS && q->definitions[i] != NULL && !met; i++)
        met = question_figure(q, q->definitions[i], &r) &&
              interval_meets(r.estimate.interval, q->claimed);
    question_doubt(q, false, 1);
    q->claimed = held;
    return met;
}

static bool is_of_reads(const struct question *q)
{
    return (q->name->subject & (SUBJECT_DECODE | SUBJECT_PER_TOKEN)) != 0;
}

/* Between two reads lateness mostly cancels out: a formula that gives the claim to the digit is
 * more likely. From when the request was sent it all adds up, and what is off by a token is off by
 * as much as any busy client is (P18 and P28). */
static bool told_by_number(const struct question *q, const struct claim *c)
{
    return is_of_reads(q) && c->causes.n > 0 && c->causes.v[0].exact;
}

/* Tails of gaps and all that is made of stamps (P28). Where a window is short next to what stamps
 * are late, the tolerance does not come to it. */
static const char *doubt_stamps(struct question *q, const struct claim *c, const struct reading *r)
{
    bool from_t0 = q->name->subject == SUBJECT_TTFT || q->name->subject == SUBJECT_LATENCY;
    struct interval printed = interval_around(c->claimed, c->printed);
    const char *what;
    char text[64];
    double later = beyond(q, r, &what);
    double most = r->stat == STAT_SUM ? DOUBT_LATE_S * (double)r->n : DOUBT_LATE_S;
    bool may = may_be(q, 0, is_of_reads(q) ? printed : q->claimed, true, 1);
    if (from_t0 && later > 0 && (later <= most || may))
        return audit_printf(q->a,
                            "the claim is beyond %s by %s, which a client explains that was kept "
                            "from its clock so long (--vantage), or whose clock ran while it "
                            "connected",
                            what, claim_value_text(DIM_TIME, later, text));
    return may ? "a busy client, which stamps late (P28, --vantage) or whose clock ran while it "
                 "connected, has the claim from the same bytes"
               : NULL;
}

/* Which of the catalogue's formulas a known tool's figure is, is known; but not what its tokens
 * are. Where its count in the text all but gives the claim, a sign that this is another count than
 * the stated one speaks for the tool: its stamps came late. */
static const char *doubt_tokens(struct question *q, const struct claim *c)
{
    const struct tool_formula *f = q->basis->formula;
    bool other = c->causes.n > 0 && c->causes.v[0].by_sign && cause_of_counts(c->causes.v[0].id);
    double slack = other ? fmin(f->slack, STAMPED_SLACK) : f->slack;
    return may_be(q, other ? 1 : 0, q->claimed, true, slack) ? f->weak : NULL;
}

/* A rate over a tool's duration, or that itself, which it is if the tool went on for longer than
 * such tools were seen to. */
static const char *doubt_overrun(struct question *q)
{
    struct reading r;
    question_overrun(q, true);
    bool may_be = question_figure(q, q->definitions[0], &r) &&
                  interval_meets(r.estimate.interval, q->claimed);
    question_overrun(q, false);
    return may_be ? "it would be that if the tool's clock had run on behind the last reply, by more "
                    "than its kind is known for but less than a second"
                  : NULL;
}

const char *claims_doubt(struct question *q, const struct claim *c, const struct reading *r)
{
    if (is_of_a_choice(q, r))
        return "several choices came at a time: it may be the gap of one of them, or of all";
    bool known = q->basis != NULL && q->basis->formula != NULL;
    bool seen = c->causes.n > 0 && c->causes.v[0].by_sign;
    const char *doubt = known || (!seen && !told_by_number(q, c)) ? doubt_stamps(q, c, r) : NULL;
    if (doubt == NULL && known && q->basis->formula->slack > 1)
        doubt = doubt_tokens(q, c);
    if (doubt == NULL && known)
        doubt = doubt_overrun(q);
    return doubt;
}
