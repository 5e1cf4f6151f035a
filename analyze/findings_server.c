/* Findings of a server's behaviour, each from what behaviour.h and stalls.h measure. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/behaviour.h"
#include "analyze/finder.h"
#include "analyze/formulas.h"
#include "analyze/metrics.h"
#include "traces/base/clock.h"
#include "traces/base/units.h"

#define SLACK_NS 5000000 /* that early a queued answer may begin */

static const char *duration(double seconds, char out[32])
{
    return units_duration(llround(seconds * NS_PER_S), out);
}

static bool is_superlinear(const struct finder *f, const struct prefill *p)
{
    return !isnan(p->exponent) && p->interval.lo > f->o->prefill_exponent;
}

static void find_prefill(struct finder *f, const struct run_scope *s)
{
    struct prefill p;
    behaviour_prefill(f->a, s, false, &p);
    if (!is_superlinear(f, &p))
        behaviour_prefill(f->a, s, true, &p);
    if (!is_superlinear(f, &p))
        return;
    struct finding *x = finder_add(
        f, FINDING_SERVER_SUPERLINEAR_PREFILL,
        audit_printf(f->a,
                     "It grows with the power %.2f [%.2f, %.2f] of the prompt's length, over %zu "
                     "requests of %.0f to %.0f tokens that were alone in flight: the longest "
                     "prompt took %.3g times as long a token as the quickest of them.",
                     p.exponent, p.interval.lo, p.interval.hi, p.n, p.shortest, p.longest,
                     p.worse));
    finder_affects(x, "ttft", 100 * (p.worse - 1));
    const size_t cited[] = {p.of_shortest, p.of_longest};
    for (size_t i = 0; i < 2; i++) {
        finder_cite_start(x, &f->a->requests.v[cited[i]]);
        finder_cite_text(x, &f->a->requests.v[cited[i]]);
    }
}

/* Of requests that were released together, find_queued_groups speaks. */
static void find_loose_queue(struct finder *f, const struct run_scope *s)
{
    enum { WAITING_MIN = 4 };
    struct queueing q;
    char step[32];
    behaviour_queueing(f->a, s, &q);
    if (q.loose < WAITING_MIN || q.loose * 2 < q.waiting ||
        (double)q.serial < f->o->serial_share * (double)q.waiting)
        return;
    struct finding *x = finder_add(
        f, FINDING_SERVER_SERIAL_QUEUE,
        audit_printf(f->a,
                     "Of %zu requests sent while another was in flight, %zu got their first text "
                     "only when all those before them had their last; from one to the next the "
                     "time to first text grows by %s. Concurrency buys nothing here, and the wait "
                     "is in the time to first text.",
                     q.waiting, q.serial, duration(q.step_s, step)));
    finder_affects(x, "ttft", NAN);
    finder_cite_text(x, &f->a->requests.v[q.first_earlier]);
    finder_cite_start(x, &f->a->requests.v[q.first]);
    finder_cite_text(x, &f->a->requests.v[q.first]);
}

static void find_early(struct finder *f, const struct run_scope *s)
{
    struct early_stops e;
    behaviour_early(f->a, s, f->o->early_share, &e);
    if (e.early == 0)
        return;
    struct finding *x = finder_add(
        f, FINDING_REQUESTS_EARLY_STOP,
        audit_printf(f->a,
                     "%zu of %zu answers have less than %g %% of the max_tokens that at least half "
                     "of the others reach: work is unequal, and latencies of whole answers and "
                     "rates over them can't be compared with a run where it is not.",
                     e.early, e.asked, 100 * f->o->early_share));
    finder_affects(x, "e2el", 100 * (e.e2el_ratio - 1));
    finder_affects(x, "output_tps", NAN);
    finder_cite_start(x, &f->a->requests.v[e.first]);
    finder_cite_text(x, &f->a->requests.v[e.first]);
}

static void find_reuse(struct finder *f, const struct run_scope *s)
{
    struct reuse u;
    behaviour_reuse(f->a, s, &u);
    double share = u.prompt > 0 ? (double)u.cached / (double)u.prompt : 0;
    bool faster = u.repeated > 0 && u.interval.hi < 1 - f->o->cache_share;
    if (share < f->o->cache_share && !faster)
        return;
    const char *stated =
        share >= f->o->cache_share
            ? audit_printf(f->a,
                           "The server states that %.3g %% of the prompt tokens of %zu requests "
                           "were in its cache. ",
                           100 * share, u.stated)
            : "";
    const char *seen =
        u.repeated > 0
            ? audit_printf(f->a, "%zu of %zu bodies had been sent before%s", u.repeated, u.requests,
                           u.ratios > 0 ? audit_printf(f->a,
                                                       "; the repeats took %.2f times as long to "
                                                       "the first text (n = %zu)",
                                                       u.ttft_ratio, u.ratios)
                                        : "")
            : "No body was sent twice: it knew the beginnings of the prompts";
    struct finding *x =
        finder_add(f, FINDING_SERVER_CACHE_REUSE,
                   audit_printf(f->a, "%s%s. The time to first text is not that of a new prompt.",
                                stated, seen));
    finder_affects(x, "ttft", isnan(u.ttft_ratio) ? NAN : 100 * (u.ttft_ratio - 1));
    if (u.first_cached != SIZE_MAX) {
        finder_cite_start(x, &f->a->requests.v[u.first_cached]);
        finder_cite_text(x, &f->a->requests.v[u.first_cached]);
    }
}

static int by_group(const void *a, const void *b)
{
    const struct request *x = *(const struct request *const *)a,
                         *y = *(const struct request *const *)b;
    int64_t p = formula_when(x, AT_O1), q = formula_when(y, AT_O1);
    if (x->run != y->run)
        return x->run < y->run ? -1 : 1;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (p > q) - (p < q);
}

/* Does each member's text begin only when the text of the one before has ended, though it was sent
 * earlier? Without a measurable decode rate this says nothing: what comes in one piece always does.
 */
static bool queued(const struct request *const *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!metrics_request_counts(v[i]) ||
            v[i]->metrics[M_OUTPUT_TPS_USER].grade == GRADE_NOT_MEASURABLE)
            return false;
        int64_t before = i > 0 ? formula_when(v[i - 1], AT_OM) : 0;
        if (i > 0 && (formula_when(v[i], AT_O1) < before - SLACK_NS || v[i]->t0 >= before))
            return false;
    }
    return n > 1;
}

static double wait_ns(const struct request *r)
{
    return (double)(formula_when(r, AT_O1) - r->t0);
}

static void find_queued_groups(struct finder *f)
{
    VEC(const struct request *) all = {0};
    for (size_t i = 0; i < f->scope->n; i++) {
        if (finder_nth(f, i)->group >= 0)
            VEC_PUSH(&all, finder_nth(f, i));
    }
    if (all.n > 0)
        qsort(all.v, all.n, sizeof *all.v, by_group);
    size_t groups = 0, serial = 0, cited = 0;
    double later = 0;
    for (size_t i = 0, end; i < all.n; i = end) {
        for (end = i + 1; end < all.n && all.v[end]->group == all.v[i]->group &&
                          all.v[end]->run == all.v[i]->run;)
            end++;
        groups += end - i > 1;
        if (!queued(all.v + i, end - i))
            continue;
        cited = serial++ == 0 ? i : cited;
        later += wait_ns(all.v[end - 1]) / fmax(1, wait_ns(all.v[i])) - 1;
    }
    if (serial * 2 > groups) {
        struct finding *x = finder_add(
            f, FINDING_SERVER_SERIAL_QUEUE,
            audit_printf(f->a,
                         "In %zu of %zu groups released together, each answer began only when "
                         "the one before it had ended: concurrency buys nothing here, and "
                         "the wait is in the time to first text.",
                         serial, groups));
        finder_affects(x, "ttft", 100 * later / (double)serial);
        finder_cite_text(x, all.v[cited]);
        finder_cite_text(x, all.v[cited + 1]);
    }
    VEC_FREE(&all);
}

void findings_server(struct finder *f)
{
    if (f->scope->n > 0) {
        find_prefill(f, f->scope);
        find_loose_queue(f, f->scope);
        find_early(f, f->scope);
        find_reuse(f, f->scope);
    }
    find_queued_groups(f);
}
