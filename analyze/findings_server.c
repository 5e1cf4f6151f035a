/* Findings of a server's behaviour, each from what behaviour.h and stalls.h measure. */
#include "analyze/findings_server.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/behaviour.h"
#include "analyze/metrics.h"
#include "analyze/stalls.h"
#include "traces/base/clock.h"
#include "traces/base/units.h"

static const char *duration(double seconds, char out[32])
{
    return units_duration(llround(seconds * NS_PER_S), out);
}

static int by_cost(const void *a, const void *b)
{
    const struct stall *x = a, *y = b;
    if (x->excess_ns != y->excess_ns)
        return x->excess_ns > y->excess_ns ? -1 : 1;
    return (x->t_ns > y->t_ns) - (x->t_ns < y->t_ns);
}

/* Reorders x. */
static void cite_costliest(struct finder *f, struct finding *to, struct stalls *x)
{
    qsort(x->all.v, x->all.n, sizeof *x->all.v, by_cost);
    for (size_t i = 0; i < x->all.n && i < CITED_MOST; i++) {
        const struct request *r = &f->a->requests.v[x->all.v[i].request];
        const struct output_event *e = &r->out.v[x->all.v[i].event];
        finder_cite(to, r, e->packet, true, EVIDENCE_NO_OFFSET, e->t_ns,
                    "first output event after a stall");
    }
}

static void find_stalls(struct finder *f, const struct run_scope *s)
{
    struct stalls x;
    char period[32];
    stalls_find(f->a, s, f->o, &x);
    if (!isnan(x.period_s) && !x.by_client) {
        struct finding *y = finder_add(
            f, "server.cyclic-stalls", SEVERITY_WARN, "The output stalls in cycles",
            audit_printf(f->a,
                         "Every %s the output all but stops: %zu gaps of more than %g medians, "
                         "%.3g %% of the time between first and last output. The excess time "
                         "repeats itself a period later (r = %.2f), and the stalls fall on it "
                         "(m R^2 = %.3g over %" PRId64
                         " cycles): something collects, flushes or throttles in step.",
                         duration(x.period_s, period), x.all.n, f->o->stall_factor,
                         100 * x.lost_share, x.correlation, x.score, x.cycles));
        finder_affects(y, "output_tps_user", -100 * x.lost_share);
        cite_costliest(f, y, &x);
    }
    stalls_free(&x);
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
        f, "server.superlinear-prefill", SEVERITY_WARN,
        "The time to first text grows faster than the prompt",
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

/* Of requests that were released together, findings.c speaks. */
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
        f, "server.serial-queue", SEVERITY_INFO,
        "Requests in flight together were served one after the other",
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
        f, "requests.early-stop", SEVERITY_INFO, "Answers stopped early",
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
        finder_add(f, "server.cache-reuse", SEVERITY_INFO, "Prompts were known already",
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
    VEC(size_t) requests = {0};
    for (size_t i = 0; i < f->a->runs.n; i++) {
        const struct run *run = &f->a->runs.v[i];
        for (size_t k = 0; run->trace == f->trace && k < run->requests.n; k++)
            VEC_PUSH(&requests, run->requests.v[k]);
    }
    struct run_scope s = {f->trace + 1, 0, NULL, requests.v, requests.n};
    if (s.n > 0) {
        find_stalls(f, &s);
        find_prefill(f, &s);
        find_loose_queue(f, &s);
        find_early(f, &s);
        find_reuse(f, &s);
    }
    VEC_FREE(&requests);
}
