/* A tool's own formula over answers that were kept back and sent in one go (P43): what it divides
 * by is no decoding, so its definition leaves them out; the tool does not. */
#include <math.h>

#include "analyze/catalogue.h"
#include "analyze/causes.h"
#include "analyze/formulas_parts.h"

static const char note[] =
    "some requests were silent, then all of their text came at once: the time between is how fast "
    "the answer was sent, not how fast it was generated, and the tool's figure has it in it";

static bool some_collected(const struct question *q)
{
    const struct scope *s = &q->sets.v[0].scopes.v[0];
    for (size_t i = 0; i < s->requests.n; i++) {
        if (formula_counts(s, scope_nth(s, i)) && formula_collected(s, scope_nth(s, i)))
            return true;
    }
    return false;
}

static void gaps_of_all(const struct scope *s, struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        for (size_t k = 1; scope_times(s, r) && k < r->out.n; k++)
            estimates_add_time(out, s, r, r->out.v[k - 1].t_ns, r->out.v[k].t_ns, false);
    }
}

static const struct definition gaps = {
    "gaps", {"o_k-o_(k-1)", SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true, gaps_of_all}, -1, ""};

static bool gives(const struct question *q, const struct definition *d, struct claim *c)
{
    struct reading r;
    if (!question_meets(q, d, &r))
        return false;
    struct cause x = {.id = "P43",
                      .title = catalogue_find("P43")->title,
                      .formula =
                          audit_printf(q->a, "%s%s", d->formula.text, reading_text(q->a, &r)),
                      .value = r.estimate.value,
                      .interval = r.estimate.interval,
                      .by_sign = true,
                      .note = note,
                      .effect_percent = NAN};
    VEC_PUSH(&c->causes, x);
    return true;
}

bool causes_find_burst(const struct question *q, struct claim *c)
{
    if (c->tool == NULL || q->one || q->name->of_run || !some_collected(q))
        return false;
    if (q->name->subject == SUBJECT_GAP)
        return gives(q, &gaps, c);
    for (size_t i = 0; i < CLAIM_DEFINITIONS && q->definitions[i] != NULL; i++) {
        struct definition d = *q->definitions[i];
        bool own = q->definitions[i] == &q->own[i] && d.gate >= 0;
        d.gate = -1;
        if (own && gives(q, &d, c))
            return true;
    }
    return false;
}
