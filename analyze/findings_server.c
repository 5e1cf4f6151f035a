/* Findings of a server's behaviour, each from what behaviour.h and queueing.h measure. */
#include <math.h>

#include "analyze/behaviour.h"
#include "analyze/finder.h"
#include "analyze/queueing.h"
#include "traces/base/clock.h"
#include "traces/base/units.h"

static void find_prefill(struct finder *f, const struct run_scope *s)
{
    struct prefill p = {.least = NAN};
    for (enum prefill_look l = PREFILL_ALL; l <= PREFILL_LESS_START; l++) {
        behaviour_prefill(f->a, s, l, &p);
        if (p.least > f->o->prefill_exponent)
            break;
    }
    if (!(p.least > f->o->prefill_exponent))
        return;
    char start[32];
    const char *over = p.start > 0
                           ? audit_printf(f->a, ", less the %s that the quickest request took",
                                          units_duration(llround(p.start * NS_PER_S), start))
                           : "";
    struct finding *x = finder_add(
        f, FINDING_SERVER_SUPERLINEAR_PREFILL,
        audit_printf(f->a,
                     "It grows with the power %.2f [%.2f, %.2f] of the prompt's length%s, over %zu "
                     "requests of %.0f to %.0f tokens that were alone in flight: the longest "
                     "prompt took %.3g times as long a token as the quickest of them.",
                     p.exponent, p.interval.lo, p.interval.hi, over, p.n, p.shortest, p.longest,
                     p.worse));
    finder_affects(x, "ttft", 100 * (p.worse - 1));
    const size_t cited[] = {p.of_shortest, p.of_longest};
    for (size_t i = 0; i < 2; i++) {
        finder_cite_start(x, &f->a->requests.v[cited[i]]);
        finder_cite_text(x, &f->a->requests.v[cited[i]]);
    }
}

/* One wait may be chance: several are needed, or lone requests like it that show what it would have
 * taken. */
static bool is_queue(const struct finder *f, const struct queueing *q)
{
    enum { WAITS_MIN = 3 };
    return q->serial > 0 && q->serial + q->alike >= WAITS_MIN && 2 * q->serial >= q->waiting &&
           (double)q->serial >= f->o->serial_share * (double)q->told;
}

static void find_queue(struct finder *f, const struct run_scope *s)
{
    struct queueing q;
    queueing_find(f->a, s, &q);
    if (!is_queue(f, &q))
        return;
    const struct request *first = &f->a->requests.v[q.first];
    struct finding *x = finder_add(
        f, FINDING_SERVER_SERIAL_QUEUE,
        audit_printf(f->a,
                     "Of %zu requests sent while another was in flight, %zu got their text only "
                     "when the one before had its last, %.3g times as late on average as a prompt "
                     "of that length without a wait%s. Concurrency buys nothing here, and the wait "
                     "is in the time to first text.",
                     q.waiting, q.serial, 1 + q.later,
                     q.told < q.waiting
                         ? audit_printf(f->a, " (of %zu it can't be told)", q.waiting - q.told)
                         : ""));
    finder_affects(x, "ttft", 100 * q.later);
    finder_cite_text(x, &f->a->requests.v[q.first_of]);
    if (first->group < 0)
        finder_cite_start(x, first);
    finder_cite_text(x, first);
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
                     "of the others reach, or that ignore_eos asked for: work is unequal, and "
                     "latencies of whole answers and "
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
    /* Repeats of which the server says that it did not know them met a warm server (P63). */
    bool faster =
        u.repeated > 0 && u.interval.hi < 1 - f->o->cache_share && 2 * u.denied < u.ratios;
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

void findings_server(struct finder *f)
{
    if (f->scope->n > 0) {
        find_prefill(f, f->scope);
        find_queue(f, f->scope);
        find_early(f, f->scope);
        find_reuse(f, f->scope);
    }
}
