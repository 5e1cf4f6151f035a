/* Claims judged: each under its own definition, then by what may have gone wrong.
 *
 * A verdict accuses only of what the bytes show: where they decide nothing it is "not measurable",
 * and where a rate is withheld, what can be said of the whole request bounds it. */
#include "analyze/claims.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/causes.h"
#include "analyze/claims_doubt.h"
#include "analyze/claims_factor.h"
#include "analyze/claims_impossible.h"
#include "analyze/claims_placeholder.h"
#include "analyze/formulas_lossy.h"
#include "analyze/metrics_marks.h"
#include "analyze/tool.h"
#include "traces/base/units.h"

static void cite(struct claim *c, const struct request *r, uint64_t packet, bool response,
                 uint64_t offset, int64_t t_ns, const char *what)
{
    if (t_ns >= 0)
        VEC_PUSH(&c->evidence,
                 ((struct evidence){r->trace, packet, r->conn, response, offset, t_ns, what}));
}

/* The bytes that a figure of r rests on, and those that another may have been taken from. */
static void cite_request(struct claim *c, const struct request *r)
{
    size_t m = r->out.n;
    cite(c, r, r->t0_packet, false, r->t0_offset, r->t0, "first byte of the request");
    bool first_text = claim_name_find(c->metric)->subject == SUBJECT_TTFT;
    if (r->c1 >= 0 && (m == 0 || (first_text && r->c1 < r->out.v[0].t_ns)))
        cite(c, r, r->c1_packet, true, r->c1_offset, r->c1, "first event");
    if (m > 0)
        cite(c, r, r->out.v[0].packet, true, r->o1_offset, r->out.v[0].t_ns, "first output event");
    if (m > 1)
        cite(c, r, r->out.v[m - 1].packet, true, r->om_offset, r->out.v[m - 1].t_ns,
             "last output event");
}

/* Of a run: its first request, and the last output event of all. */
static void cite_run(struct claim *c, const struct scope *s)
{
    const struct request *first = NULL, *last = NULL;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = &s->a->requests.v[s->requests.v[i]];
        if (first == NULL || r->t0 < first->t0)
            first = r;
        if (r->out.n > 0 && (last == NULL || formula_when(r, AT_OM) > formula_when(last, AT_OM)))
            last = r;
    }
    if (first != NULL)
        cite(c, first, first->t0_packet, false, first->t0_offset, first->t0,
             "first byte of the first request");
    if (last != NULL)
        cite(c, last, last->out.v[last->out.n - 1].packet, true, last->om_offset,
             formula_when(last, AT_OM), "last output event");
}

static void cite_reading(const struct question *q, struct claim *c, const struct reading *r)
{
    const struct scope *s = &q->sets.v[0].scopes.v[0];
    if (r != NULL && r->estimate.request != NULL)
        cite_request(c, r->estimate.request);
    else if (s->one)
        cite_request(c, &q->a->requests.v[s->requests.v[0]]);
    else
        cite_run(c, s);
}

static const char *take_reading(const struct question *q, struct claim *c,
                                const struct definition *d, const struct reading *r)
{
    char value[64], lo[64], hi[64];
    enum dimension dim = q->name->dimension;
    c->recomputed = r->estimate.value;
    c->interval = r->estimate.interval;
    c->recomputed_as = audit_printf(q->a, "%s%s", d->name, reading_text(q->a, r));
    claim_value_text(dim, c->recomputed, value);
    claim_value_text(dim, c->interval.lo, lo);
    claim_value_text(dim, c->interval.hi, hi);
    if (strcmp(lo, value) == 0 && strcmp(hi, value) == 0)
        return audit_printf(q->a, "%s from the bytes is %s", c->recomputed_as, value);
    return audit_printf(q->a, "%s from the bytes is %s, between %s and %s", c->recomputed_as, value,
                        lo, hi);
}

/* "2.17", "24.1", "2,110". */
static const char *factor_text(double factor, char out[32])
{
    if (factor >= 1000 && factor < 1e15)
        return units_count((uint64_t)llround(factor), out);
    snprintf(out, 32, "%.3g", factor);
    return out;
}

/* "235 times that", "12.0 % less". */
static const char *compared(struct audit *a, double claimed, double recomputed)
{
    double ratio = claimed / recomputed;
    char times[32];
    if (!isfinite(ratio) || ratio <= 0)
        return "something else";
    if (ratio >= 2)
        return audit_printf(a, "%s times that", factor_text(ratio, times));
    if (ratio <= 0.5)
        return audit_printf(a, "1/%s of that", factor_text(1 / ratio, times));
    return audit_printf(a, "%.3g %% %s", 100 * fabs(ratio - 1), ratio > 1 ? "more" : "less");
}

/* Another figure that the claim agrees with, and the right one does not: a mistaken name, not a
 * mistaken measurement. */
static const char *other_name(const struct question *q, const struct claim *c)
{
    static const int others[] = {D_OUTPUT_TPS_USER, D_E2E_OUTPUT_TPS, D_TTFR, D_TTFT, D_E2EL,
                                 D_STREAM_END,      D_TPOT,           D_NTPOT};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const struct definition *d = &definitions[others[i]];
        const struct claim_name *n = claim_name_find(d->name);
        struct reading r;
        if (n != NULL && n->dimension == q->name->dimension && !q->name->of_run &&
            question_typical(q, 0, d, &r) && interval_meets(r.estimate.interval, q->claimed) &&
            !interval_meets(r.estimate.interval, interval_exact(c->recomputed)))
            return d->name;
    }
    return NULL;
}

static const char *why(const struct question *q, const struct claim *c)
{
    char times[32];
    if (c->token_factor > 0)
        return audit_printf(q->a,
                            "all token figures of its file are off alike, as if %s times as many "
                            "tokens had come as the server states: they were counted otherwise, by "
                            "another tokenizer perhaps (--tokenizer FILE recounts them)",
                            factor_text(c->token_factor, times));
    if (c->causes.n > 0) {
        const struct cause *x = &c->causes.v[0];
        return audit_printf(q->a, "%s gives it: %s (%s)%s", x->formula, x->title, x->id,
                            x->by_sign ? ", and its sign is on the wire"
                                       : "; only the number speaks for that");
    }
    const char *other = other_name(q, c);
    if (other != NULL)
        return audit_printf(q->a, "it agrees with another figure, %s", other);
    return "no known formula reproduces it from these bytes";
}

/* Does some request of the question show the sign of collect-then-replay? */
static bool collected(const struct question *q)
{
    const struct scope *s = &q->sets.v[0].scopes.v[0];
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = &q->a->requests.v[s->requests.v[i]];
        if (formula_counts(s, r) && formula_collected(s, r))
            return true;
    }
    return false;
}

/* Not measurable, with the causes that give it. */
static void leave_open(struct claim *c, const char *reason)
{
    c->verdict = VERDICT_NOT_MEASURABLE;
    c->reason = reason;
    c->recomputed = NAN;
    c->interval = interval_unknown();
    c->recomputed_as = NULL;
}

static void set_verdict(struct claim *c, enum verdict v, const char *reason)
{
    c->verdict = v;
    c->reason = reason;
    if (v == VERDICT_NOT_MEASURABLE) {
        leave_open(c, reason);
        VEC_FREE(&c->causes);
    }
}

/* The claim's own definition is measured, and it is not that. */
static void judge_measured(const struct question *q, struct claim *c, const struct definition *d,
                           const struct reading *r)
{
    struct audit *a = q->a;
    const char *figure = take_reading(q, c, d, r);
    const char *ratio = compared(a, c->claimed, c->recomputed);
    const char *never = causes_give(c) || c->token_factor > 0 ? NULL : claims_impossible(q);
    if (never == NULL)
        never = claims_before_reply(q, c);
    if (never != NULL) {
        set_verdict(c, VERDICT_IMPOSSIBLE,
                    audit_printf(a, "%s; the claim is %s, and %s", figure, ratio, never));
        return;
    }
    /* Queueing hides in the wait for the first text, and a sampler may miss a peak: a faster
     * prefill, a higher peak may be true. */
    bool above = q->claimed.lo > r->estimate.interval.hi;
    bool by_sign = c->causes.n > 0 && c->causes.v[0].by_sign;
    if (above && !by_sign &&
        (q->name->subject == SUBJECT_PROMPT_RATE || q->name->dimension == DIM_BYTES)) {
        const char *bound =
            audit_printf(a, "%s; that is a lower bound, and the bytes do not show more", figure);
        leave_open(c, causes_give(c) ? audit_printf(a, "%s; %s", bound, why(q, c)) : bound);
        return;
    }
    set_verdict(c, VERDICT_DIFFERS,
                audit_printf(a, "%s; the claim is %s; %s", figure, ratio, why(q, c)));
}

/* Has some request marks without text, and its text too little time for anything to be told of?
 * What gives a claim of it may be the truth as well. */
static bool is_brief(const struct question *q)
{
    const struct scope *s = &q->sets.v[0].scopes.v[0];
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = &q->a->requests.v[s->requests.v[i]];
        if (r->out.n > 0 && formula_counts(s, r) && metrics_blurred(r) &&
            r->out.v[r->out.n - 1].t_ns - r->out.v[0].t_ns < q->o->gate_window_ns)
            return true;
    }
    return false;
}

/* The decode rate is withheld; the whole request's rate, which it cannot be below, is known. */
static void judge_bounded(const struct question *q, struct claim *c, const struct reading *r)
{
    struct audit *a = q->a;
    const struct scope *s = &q->sets.v[0].scopes.v[0];
    const char *missing = definition_missing(q->definitions[0], s);
    const char *figure = take_reading(q, c, &definitions[q->name->bound], r);
    bool slower = q->name->inverse ? interval_below(c->interval, q->claimed)
                                   : interval_below(q->claimed, c->interval);
    double fastest = 0;
    for (size_t i = 0; i < q->a->traces.n; i++)
        fastest = fmax(fastest, s->rate_bounds[i]);
    bool phantom =
        c->causes.n > 0 && c->causes.v[0].by_sign && !c->causes.v[0].all_but_right && !is_brief(q);
    bool burst = collected(q);
    const char *never = c->causes.n == 0 ? claims_impossible(q) : NULL;
    const char *said =
        audit_printf(a, "a decode rate is not measurable here (%s); %s; the claim is %s", missing,
                     figure, compared(a, c->claimed, c->recomputed));
    if (never != NULL && !slower)
        set_verdict(c, VERDICT_IMPOSSIBLE, audit_printf(a, "%s, and %s", said, never));
    else if (slower || phantom || burst || claims_as_rate(q).lo > fastest)
        set_verdict(
            c, VERDICT_DIFFERS,
            audit_printf(a, "%s; %s%s", said, why(q, c),
                         burst && !phantom ? "; all text came at once after a silence" : ""));
    else
        set_verdict(c, VERDICT_NOT_MEASURABLE,
                    audit_printf(a, "%s; the bytes cannot decide whether it is true", said));
}

/* Nothing to compare with. What gives the claim is said all the same: it may be what its tool had
 * to go by. */
static void judge_unknown(const struct question *q, struct claim *c)
{
    const char *missing = definition_missing(q->definitions[0], &q->sets.v[0].scopes.v[0]);
    const char *never = claims_impossible(q);
    if (never == NULL)
        never = claims_before_reply(q, c);
    if (never != NULL)
        set_verdict(c, VERDICT_IMPOSSIBLE,
                    audit_printf(q->a, "not measurable (%s), but %s", missing, never));
    else if (c->causes.n > 0)
        c->reason = audit_printf(q->a, "%s; %s", missing, why(q, c));
    else
        set_verdict(c, VERDICT_NOT_MEASURABLE, missing);
}

#define BURST_MATTERS 0.05 /* of a figure: below that, what was kept back moves it hardly */

/* A tool's own formula over all of its requests, without the gates that leave out those whose text
 * was kept back: where those move its figure hardly, the claim is what the tool says it is. */
static const struct definition *meets_ungated(struct question *q, struct reading *r,
                                              struct reading *gated)
{
    for (size_t i = 0; i < CLAIM_DEFINITIONS && q->definitions[i] != NULL; i++) {
        struct definition *d = &q->own[i];
        if (q->definitions[i] != d || d->gate != M_TPOT || !question_figure(q, d, gated))
            continue;
        d->gate = -1;
        if (question_meets(q, d, r) &&
            fabs(r->estimate.value / gated->estimate.value - 1) <= BURST_MATTERS)
            return d;
        d->gate = M_TPOT;
    }
    return NULL;
}

static const char *with_burst(const struct question *q, const char *figure,
                              const struct reading *gated)
{
    char value[64];
    claim_value_text(q->name->dimension, gated->estimate.value, value);
    return audit_printf(q->a, "%s; without the requests whose text was kept back (P43) it is %s",
                        figure, value);
}

/* A tool's own formulas are tried instead of what the name stands for. A decode rate keeps its
 * gates where the text was kept back: who divides by that burst has no rate, whatever the formula.
 */
static void choose_definitions(struct question *q)
{
    const struct tool_formula *f = q->basis != NULL ? q->basis->formula : NULL;
    for (size_t i = 0; i < CLAIM_DEFINITIONS; i++)
        q->definitions[i] =
            q->name->definitions[i] != NO_DEFINITION ? &definitions[q->name->definitions[i]] : NULL;
    if (f == NULL || (f->d.name == NULL && f->also[0] == NULL))
        return;
    const struct definition *first = f->d.name != NULL ? &f->d : q->definitions[0];
    const struct definition *all[CLAIM_DEFINITIONS] = {first, f->also[0], f->also[1], f->also[2]};
    bool kept_back =
        (q->name->subject == SUBJECT_DECODE || q->name->subject == SUBJECT_PER_TOKEN) &&
        collected(q);
    size_t n = 0;
    for (size_t i = 0; i < CLAIM_DEFINITIONS; i++) {
        q->definitions[i] = NULL;
        if (all[i] == NULL)
            continue;
        q->own[n] = *all[i];
        if (kept_back)
            q->own[n].gate = M_TPOT;
        q->definitions[n] = &q->own[n];
        n++;
    }
}

static const struct definition *meets_any(const struct question *q, struct reading *r)
{
    for (size_t i = 0; i < CLAIM_DEFINITIONS && q->definitions[i] != NULL; i++) {
        if (question_meets(q, q->definitions[i], r))
            return q->definitions[i];
    }
    return NULL;
}

/* With what the recording lost it may be true. */
static bool judge_lossy(struct question *q, struct claim *c)
{
    struct reading r;
    size_t n = 0, hidden = 0, all = 0;
    for (size_t i = 0; i < q->sets.v[0].scopes.n; i++) {
        const struct scope *s = &q->sets.v[0].scopes.v[i];
        n += lossy_requests(s);
        hidden += lossy_hidden(s);
        all += s->requests.n;
    }
    if (n == 0)
        return false;
    question_lossy(q, true);
    const struct definition *met = meets_any(q, &r);
    question_lossy(q, false);
    if (met == NULL)
        return false;
    const char *whole =
        hidden > 0 ? audit_printf(q->a, ", and %zu more may be missing whole", hidden) : "";
    set_verdict(c, VERDICT_NOT_MEASURABLE,
                audit_printf(q->a,
                             "bytes are missing in the recording: %zu of %zu requests %s "
                             "damaged%s; with what they may have been, %s may be that",
                             n - hidden, all, n - hidden == 1 ? "is" : "are", whole, met->name));
    return true;
}

/* Tokens without text may be anywhere: with what they leave of the rate it may be true. */
static bool judge_blurred(struct question *q, struct claim *c)
{
    struct reading r;
    question_blurred(q, true);
    const struct definition *met = meets_any(q, &r);
    char lo[64], hi[64];
    question_blurred(q, false);
    if (met == NULL)
        return false;
    claim_value_text(q->name->dimension, r.estimate.interval.lo, lo);
    claim_value_text(q->name->dimension, r.estimate.interval.hi, hi);
    set_verdict(c, VERDICT_NOT_MEASURABLE,
                audit_printf(q->a,
                             "a decode rate is not measurable here (%s); %s%s may be anything from "
                             "%s to %s, and the claim is within that",
                             definition_missing(q->definitions[0], &q->sets.v[0].scopes.v[0]),
                             met->name, reading_text(q->a, &r), lo, hi));
    return true;
}

/* A count without a definition may be one of several things: what the others of them are. */
static const char *with_readings(const struct question *q, const struct claim *c,
                                 const struct definition *met, const char *figure)
{
    bool any = false;
    for (size_t i = 0; i < CLAIM_DEFINITIONS && q->definitions[i] != NULL; i++) {
        struct reading r;
        char value[64];
        enum dimension dim = q->name->dimension;
        if ((dim != DIM_COUNT && dim != DIM_REQUEST_RATE) ||
            q->name->subject == SUBJECT_CONCURRENCY || q->definitions[i] == met ||
            !question_figure(q, q->definitions[i], &r) || r.estimate.value == c->recomputed)
            continue;
        figure =
            audit_printf(q->a, "%s%s %s is %s", figure, any ? "," : "; but",
                         q->definitions[i]->name, claim_value_text(dim, r.estimate.value, value));
        any = true;
    }
    return figure;
}

/* Of several times that a claim may be of, the one that it is nearest to; as its first definition
 * has it, where that is not known or it is no time. */
static const struct definition *nearest(const struct question *q, const struct claim *c,
                                        struct reading *r)
{
    const struct definition *d = q->definitions[0];
    struct reading other;
    for (size_t i = 1; i < CLAIM_DEFINITIONS && q->definitions[i] != NULL; i++) {
        if (q->name->dimension == DIM_TIME && question_figure(q, q->definitions[i], &other) &&
            fabs(log(other.estimate.value / c->claimed)) <
                fabs(log(r->estimate.value / c->claimed))) {
            d = q->definitions[i];
            *r = other;
        }
    }
    return d;
}

static void judge_scoped(struct question *q, struct claim *c)
{
    struct reading r, gated;
    const struct definition *met = meets_any(q, &r);
    bool ungated = met == NULL && (met = meets_ungated(q, &r, &gated)) != NULL;
    bool bound = false, known = met != NULL;
    bool burst = !known && c->token_factor == 0 && causes_find_burst(q, c);
    if (!known && (judge_lossy(q, c) || (!burst && judge_blurred(q, c)))) {
        cite_reading(q, c, NULL);
    } else if (known) {
        const char *figure = take_reading(q, c, met, &r);
        if (ungated)
            figure = with_burst(q, figure, &gated);
        set_verdict(c, VERDICT_CONFIRMED, with_readings(q, c, met, figure));
        if (c->token_factor == 0)
            causes_find_beside(q, c);
    } else {
        if (c->token_factor == 0 && !burst)
            causes_find(q, c);
        known = question_figure(q, q->definitions[0], &r);
        bound = !known && question_recomputed(q, q->name->bound, &r);
        bool sure = burst && q->name->subject != SUBJECT_GAP;
        const char *doubt = known && !sure ? claims_doubt(q, c, &r) : NULL;
        const struct definition *d = known ? nearest(q, c, &r) : NULL;
        if (doubt != NULL)
            set_verdict(c, VERDICT_NOT_MEASURABLE,
                        audit_printf(q->a, "%s; %s", take_reading(q, c, d, &r), doubt));
        else if (known)
            judge_measured(q, c, d, &r);
        else if (bound)
            judge_bounded(q, c, &r);
        else
            judge_unknown(q, c);
    }
    if (known || bound || q->one)
        cite_reading(q, c, known || bound ? &r : NULL);
    if (q->basis != NULL && q->basis->which != NULL)
        c->reason = audit_printf(q->a, "%s; of %s", c->reason, q->basis->which);
}

static void judge(struct audit *a, const struct audit_options *o, struct claim *c,
                  const double *bounds)
{
    struct question q = {.a = a,
                         .o = o,
                         .name = claim_name_find(c->metric),
                         .basis = c->basis,
                         .one = c->request != 0};
    for (int i = 0; i < STATS; i++) {
        if (strcmp(stat_names[i], c->stat) == 0)
            q.stat = (enum stat)i;
    }
    struct interval near = interval_around(c->claimed, o->tolerance * fabs(c->claimed));
    c->claimed_interval = (struct interval){fmin(c->claimed_interval.lo, near.lo),
                                            fmax(c->claimed_interval.hi, near.hi)};
    q.claimed = c->claimed_interval;
    c->recomputed = NAN;
    c->interval = interval_unknown();
    c->causes.n = c->evidence.n = 0;
    c->verdict = VERDICT_NOT_MEASURABLE;
    if (c->basis != NULL && c->basis->unscoped != NULL)
        c->reason = c->basis->unscoped;
    else if (a->traces.n == 0)
        c->reason = "there is no trace to hold it against";
    else if (question_scopes(&q, c, bounds)) {
        choose_definitions(&q);
        c->reason = claims_placeholder(&q, c);
        if (c->reason == NULL)
            judge_scoped(&q, c);
    }
    question_done(&q);
}

enum verdict claims_verdict_of(struct audit *a, const struct audit_options *o,
                               const struct claim_figure *f, const double *bounds)
{
    struct claim *c = claims_add_figure(a, f);
    c->token_factor = 1; /* nobody asks for causes */
    judge(a, o, c, bounds);
    enum verdict verdict = c->verdict;
    VEC_FREE(&c->causes);
    VEC_FREE(&c->evidence);
    a->claims.n--;
    return verdict;
}

void claims_judge(struct audit *a, const struct audit_options *o)
{
    double *bounds = formula_rate_bounds(a, o);
    for (size_t i = 0; i < a->claims.n; i++) {
        a->claims.v[i].trace = a->claims.v[i].request == 0 ? (size_t)o->claim_trace : 0;
        a->claims.v[i].token_factor = 0;
        judge(a, o, &a->claims.v[i], bounds);
    }
    bool alike = claims_factor_find(a);
    for (size_t i = 0; alike && i < a->claims.n; i++) {
        if (a->claims.v[i].token_factor > 0)
            judge(a, o, &a->claims.v[i], bounds);
    }
    free(bounds);
}
