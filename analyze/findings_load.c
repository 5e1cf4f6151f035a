/* Findings of the load: whether it was what its label says, and what it alone does to the figures.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/behaviour.h"
#include "analyze/fidelity.h"
#include "analyze/finder.h"
#include "analyze/metrics.h"
#include "analyze/metrics_flow.h"
#include "analyze/metrics_speedup.h"
#include "analyze/stat.h"
#include "traces/base/clock.h"
#include "traces/base/mem.h"
#include "traces/base/units.h"

/* --- sent late (P59, P60) --------------------------------------------------------------------- */

enum { DUE_MIN = 10 }; /* one in ten says something of the load */

static void find_late(struct finder *f)
{
    const struct fidelity *x = fidelity_of(f->a, f->trace);
    char late[32], worst[32];
    if (x == NULL || x->basis != FIDELITY_DUE)
        return;
    size_t n = 0, first = 0;
    for (size_t i = x->points.n; i-- > 0;) {
        if (x->points.v[i].error_ns <= f->o->late_ns)
            continue;
        first = x->points.v[i].request;
        n++;
    }
    if (x->points.n < DUE_MIN || (double)n <= f->o->late_share * (double)x->points.n)
        return;
    struct finding *y = finder_add(
        f, FINDING_LOAD_LATE,
        audit_printf(
            f->a,
            "%zu of %zu requests were sent more than %s after they were due, the worst %s: "
            "the load asked for was not offered, and a latency from the sending leaves "
            "that wait out.",
            n, x->points.n, units_duration(f->o->late_ns, late),
            units_duration(x->send_error.max, worst)));
    finder_affects(y, "e2el",
                   x->e2el.p50 > 0 ? 100 * ((double)x->effective.p50 / (double)x->e2el.p50 - 1)
                                   : NAN);
    finder_affects(y, "request_tps", NAN);
    finder_cite_start(y, &f->a->requests.v[first]);
}

/* --- concurrency (P57, P58) ------------------------------------------------------------------- */

/* Of those planned to be released together. */
struct company {
    size_t groups, apart; /* of several; … of which one had ended before the last was sent */
    size_t first;         /* index of a request of the first such group */
};

static int by_group(const void *a, const void *b)
{
    const struct request *x = *(const struct request *const *)a,
                         *y = *(const struct request *const *)b;
    if (x->run != y->run)
        return x->run < y->run ? -1 : 1;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static struct company company_of(const struct finder *f)
{
    struct company c = {0};
    const struct request **v = mem_array(f->scope->n + 1, sizeof *v);
    size_t n = 0;
    for (size_t i = 0; i < f->scope->n; i++) {
        const struct request *r = finder_nth(f, i);
        if (r->group >= 0 && !r->damaged && r->ledger != NULL && r->ledger->group >= 0)
            v[n++] = r;
    }
    if (n > 0)
        qsort(v, n, sizeof *v, by_group);
    for (size_t i = 0, end; i < n; i = end) {
        int64_t last_t0 = v[i]->t0, first_end = v[i]->t_end;
        for (end = i + 1; end < n && v[end]->run == v[i]->run && v[end]->group == v[i]->group;
             end++) {
            last_t0 = v[end]->t0 > last_t0 ? v[end]->t0 : last_t0;
            first_end = v[end]->t_end < first_end ? v[end]->t_end : first_end;
        }
        c.groups += end - i > 1;
        if (end - i > 1 && last_t0 >= first_end) {
            c.first = c.apart == 0 ? (size_t)(v[i] - f->a->requests.v) : c.first;
            c.apart++;
        }
    }
    free(v);
    return c;
}

#define REACHED 0.9 /* of the recording's requests in flight */

/* As many as in the recording, or as the ledger says were meant where those are fewer. */
static double meant_of_recording(const struct finder *f, const struct fidelity *x)
{
    int64_t meant = 0;
    for (size_t i = 0; i < f->scope->n; i++) {
        const struct ledger_entry *l = finder_nth(f, i)->ledger;
        if (l != NULL && l->concurrency > meant)
            meant = l->concurrency;
    }
    return meant > 0 ? fmin((double)meant, (double)x->recorded.peak) : (double)x->recorded.peak;
}

static void find_not_reached(struct finder *f)
{
    const struct fidelity *x = fidelity_of(f->a, f->trace);
    struct company c = company_of(f);
    bool fewer = x != NULL && x->has_recorded && x->recorded.peak > 1 &&
                 (double)x->now.peak < REACHED * meant_of_recording(f, x);
    const char *detail;
    if (2 * c.apart > c.groups)
        detail = audit_printf(f->a,
                              "In %zu of %zu groups that were meant to be in flight together, one "
                              "had ended before the last was sent.",
                              c.apart, c.groups);
    else if (fewer)
        detail = audit_printf(f->a,
                              "At most %zu requests were in flight at once, and %zu in the "
                              "recording that the load was made from.",
                              x->now.peak, x->recorded.peak);
    else
        return;
    struct finding *y = finder_add(f, FINDING_LOAD_CONCURRENCY, detail);
    finder_affects(y, "concurrency_avg", NAN);
    finder_affects(y, "output_tps", NAN);
    if (2 * c.apart > c.groups)
        finder_cite_start(y, &f->a->requests.v[c.first]);
}

/* So many were meant to be in flight all the time, by the ledger; 0: it names no number. */
static int64_t meant_in_flight(const struct finder *f, const struct run *run)
{
    int64_t most = 0;
    for (size_t i = 0; i < run->requests.n; i++) {
        const struct ledger_entry *l = f->a->requests.v[run->requests.v[i]].ledger;
        if (l != NULL && l->concurrency > most)
            most = l->concurrency;
    }
    return most;
}

/* Until the last is sent, how much of the time were so many in flight? */
static double time_reached(const struct flight_curve *c, double level)
{
    int64_t at = 0, reached = 0;
    size_t last = c->n;
    while (last > 1 && c->v[last - 1].in_flight <= c->v[last - 2].in_flight)
        last--; /* point last - 1 is the last send */
    for (size_t i = 0; i + 1 < last; i++) {
        int64_t time = c->v[i + 1].t_ns - c->v[i].t_ns;
        at += time;
        reached += (double)c->v[i].in_flight >= level ? time : 0;
    }
    return at > 0 ? (double)reached / (double)at : NAN;
}

enum { ROUNDS_MIN = 3 };  /* as many requests as were meant at once, so many times over */
#define REACHED_SHARE 0.5 /* of the time */

static void find_below_meant(struct finder *f, const struct run *run, const struct flight_curve *c)
{
    int64_t meant = meant_in_flight(f, run), peak = 0;
    if (meant < 2 || (int64_t)run->requests.n < ROUNDS_MIN * meant)
        return;
    double share = time_reached(c, REACHED * (double)meant);
    for (size_t i = 0; i < c->n; i++)
        peak = c->v[i].in_flight > peak ? c->v[i].in_flight : peak;
    if (isnan(share) || share >= REACHED_SHARE)
        return;
    struct finding *x = finder_add(
        f, FINDING_LOAD_CONCURRENCY,
        audit_printf(
            f->a,
            "%" PRId64 " requests were meant to be in flight all the time. Until the last "
            "was sent they were in %.0f %% of it; over the whole run %.1f were on average, "
            "at most %" PRId64 ": who sent them was too slow.",
            meant, 100 * share, run->concurrency, peak));
    finder_affects(x, "concurrency_avg", 100 * (run->concurrency / (double)meant - 1));
    finder_affects(x, "output_tps", NAN);
    finder_cite_start(x, &f->a->requests.v[run->requests.v[0]]);
}

static const int64_t usual_caps[] = {100, 1000}; /* connections, of aiohttp and httpx; of an SDK */

#define AT_CAP_SHARE 0.2                       /* of the time */
#define SEND_AFTER_NS (5 * (int64_t)NS_PER_MS) /* of an end: it was waited for */

/* Time at the highest level, as a share; *peak: that level. */
static double time_at_peak(const struct flight_curve *c, int64_t *peak)
{
    int64_t at = 0, all = 0;
    *peak = 0;
    for (size_t i = 0; i + 1 < c->n; i++) {
        int64_t time = c->v[i + 1].t_ns - c->v[i].t_ns;
        if (c->v[i].in_flight > *peak) {
            *peak = c->v[i].in_flight;
            at = 0;
        }
        at += c->v[i].in_flight == *peak ? time : 0;
        all += time;
    }
    return all > 0 ? (double)at / (double)all : 0;
}

/* Does each send that reaches the peak follow an end at once? Then somebody waited for a place. */
static double waited_share(const struct flight_curve *c, int64_t peak)
{
    size_t reached = 0, waited = 0;
    for (size_t i = 1; i < c->n; i++) {
        if (c->v[i].in_flight != peak || c->v[i - 1].in_flight != peak - 1)
            continue;
        bool after_end = i > 1 && c->v[i - 2].in_flight == peak;
        if (!after_end)
            continue;
        reached++;
        waited += c->v[i].t_ns - c->v[i - 1].t_ns <= SEND_AFTER_NS;
    }
    return reached > 0 ? (double)waited / (double)reached : 0;
}

static void find_cap(struct finder *f, const struct run *run, const struct flight_curve *c)
{
    int64_t peak;
    double share = time_at_peak(c, &peak);
    bool usual = false;
    for (size_t i = 0; i < sizeof usual_caps / sizeof *usual_caps; i++)
        usual |= peak == usual_caps[i];
    if (!usual || share < AT_CAP_SHARE || waited_share(c, peak) < 0.5)
        return;
    struct finding *x = finder_add(
        f, FINDING_LOAD_CAP,
        audit_printf(f->a,
                     "For %.3g %% of the time exactly %" PRId64
                     " requests were in flight, never more, and each new one followed an end: so "
                     "many connections are the usual limit of client libraries. If more were asked "
                     "for, the rest waited in the client, where no figure of this report sees "
                     "them.",
                     100 * share, peak));
    x->run = run->id;
    finder_affects(x, "concurrency_peak", NAN);
}

/* --- ramp-up and drain (P66) ------------------------------------------------------------------ */

#define PLATEAU 0.95
#define PLATEAU_SHARE 0.3 /* of the time, that there be a plateau */
enum { RAMP_LEVEL_MIN = 4 };

struct ramp {
    int64_t before, at, whole; /* ns before the plateau and behind it; on it; in all */
};

static struct ramp ramp_of(const struct flight_curve *c, int64_t peak)
{
    struct ramp r = {0};
    int64_t first = -1, last = -1;
    for (size_t i = 0; i + 1 < c->n; i++) {
        if ((double)c->v[i].in_flight < PLATEAU * (double)peak)
            continue;
        first = first < 0 ? c->v[i].t_ns : first;
        last = c->v[i + 1].t_ns;
        r.at += c->v[i + 1].t_ns - c->v[i].t_ns;
    }
    r.whole = c->n > 0 ? c->v[c->n - 1].t_ns - c->v[0].t_ns : 0;
    r.before = r.whole - (last - first);
    return r;
}

static void find_ramp(struct finder *f, const struct run *run, const struct flight_curve *c)
{
    int64_t peak;
    time_at_peak(c, &peak);
    struct ramp r = ramp_of(c, peak);
    if (peak < RAMP_LEVEL_MIN || (double)r.at < PLATEAU_SHARE * (double)r.whole ||
        (double)r.before <= f->o->ramp_share * (double)r.whole)
        return;
    struct metric_scope scope = {f->trace + 1, run->id, NULL};
    const struct metric *steady = metrics_find(f->a, "output_tps_steady", "value", scope);
    const struct metric *all = metrics_find(f->a, "output_tps", "value", scope);
    bool known = steady != NULL && all != NULL && steady->value > 0 && all->value > 0;
    struct finding *x = finder_add(
        f, FINDING_LOAD_RAMP,
        audit_printf(f->a,
                     "For %.3g %% of the time the load was rising to its %" PRId64
                     " requests in flight, or running out: throughput over the whole run is not "
                     "that of the load. See output_tps_steady.",
                     100 * (double)r.before / (double)r.whole, peak));
    x->run = run->id;
    finder_affects(x, "output_tps", known ? 100 * (all->value / steady->value - 1) : NAN);
}

/* --- a burst at the start (P61) --------------------------------------------------------------- */

enum { BURST_SECONDS_MIN = 10, BURST_SENDS_MIN = 30 };
#define BURST_SIGMAS 4 /* over what a random arrival would bring */

/* Sends that did not wait for an end: only of such a load is a rate asked for. */
static bool is_open_loop(const struct finder *f, const struct run *run)
{
    size_t free_sends = 0;
    double *sorted = mem_array(run->requests.n + 1, sizeof *sorted);
    for (size_t i = 0; i < run->requests.n; i++)
        sorted[i] = (double)(f->a->requests.v[run->requests.v[i]].t_end - run->t_ns);
    stat_sort(sorted, run->requests.n);
    for (size_t i = 0, k = 0; i < run->requests.n; i++) {
        double t0 = (double)(f->a->requests.v[run->requests.v[i]].t0 - run->t_ns);
        while (k < run->requests.n && sorted[k] <= t0)
            k++;
        free_sends += k == 0 || t0 - sorted[k - 1] > SEND_AFTER_NS;
    }
    free(sorted);
    return 10 * free_sends > 8 * run->requests.n;
}

static void find_start_burst(struct finder *f, const struct run *run)
{
    size_t n = run->requests.n, seconds;
    if (n < BURST_SENDS_MIN)
        return;
    int64_t last = f->a->requests.v[run->requests.v[n - 1]].t0;
    seconds = (size_t)((last - run->t_ns) / NS_PER_S);
    if (seconds < BURST_SECONDS_MIN || !is_open_loop(f, run))
        return;
    double first = 0, later;
    for (size_t i = 0; i < n; i++)
        first += f->a->requests.v[run->requests.v[i]].t0 - run->t_ns < NS_PER_S;
    later = ((double)n - first) / (double)(last - run->t_ns - NS_PER_S) * NS_PER_S;
    if (first <= f->o->burst_factor * later || first <= later + BURST_SIGMAS * sqrt(later))
        return;
    struct finding *x = finder_add(
        f, FINDING_LOAD_START_BURST,
        audit_printf(f->a,
                     "%.0f requests were sent in the first second, and %.3g a second after it: the "
                     "first of them waited for each other.",
                     first, later));
    x->run = run->id;
    finder_affects(x, "ttft", NAN);
    finder_cite_start(x, &f->a->requests.v[run->requests.v[0]]);
}

/* --- repeated prompts (P62) ------------------------------------------------------------------- */

static void find_repeats(struct finder *f)
{
    struct reuse u;
    if (finder_has(f, FINDING_SERVER_CACHE_REUSE)) /* which says so */
        return;
    behaviour_reuse(f->a, f->scope, &u);
    if (u.requests < 2 || (double)u.repeated < f->o->cache_share * (double)u.requests)
        return;
    struct finding *x = finder_add(
        f, FINDING_LOAD_REPEATED_PROMPTS,
        audit_printf(f->a,
                     "%zu of %zu requests repeat a body that was sent before: a server with a "
                     "prefix cache answers them sooner than it would answer new ones.",
                     u.repeated, u.requests));
    finder_affects(x, "ttft", NAN);
}

/* --- a mean that hides the queue (P79) -------------------------------------------------------- */

enum { DILUTED_MIN = 20 };
#define FEW 0.2          /* of the requests, that make the mean */
#define DILUTED_WAIT 0.1 /* s, above the median: less is nobody's queue */

static void find_dilution(struct finder *f)
{
    if (finder_has(f, FINDING_SERVER_CACHE_REUSE)) /* the quick ones were known */
        return;
    double *v = mem_array(f->scope->n + 1, sizeof *v), sum = 0;
    char mean[32], median[32];
    size_t n = 0, slow = 0;
    for (size_t i = 0; i < f->scope->n; i++) {
        const struct request *r = finder_nth(f, i);
        if (metrics_request_counts(r) && r->metrics[M_TTFT].grade != GRADE_NOT_MEASURABLE)
            v[n++] = r->metrics[M_TTFT].v;
    }
    stat_sort(v, n);
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    for (size_t i = 0; i < n; i++)
        slow += v[i] > sum / (double)n;
    double usual = n > 0 ? stat_median(v, n) : NAN;
    if (n >= DILUTED_MIN && sum / (double)n > f->o->dilution * usual &&
        sum / (double)n - usual > DILUTED_WAIT && (double)slow <= FEW * (double)n) {
        struct finding *x = finder_add(
            f, FINDING_LOAD_DILUTED_WAIT,
            audit_printf(f->a,
                         "%zu of %zu requests make the mean time to first text %s, where the "
                         "median is %s: more quick requests would lower it, and the queue would "
                         "stay.",
                         slow, n, units_duration(llround(sum / (double)n * NS_PER_S), mean),
                         units_duration(llround(usual * NS_PER_S), median)));
        finder_affects(x, "ttft", 100 * (sum / (double)n / usual - 1));
    }
    free(v);
}

/* --- busy before the start -------------------------------------------------------------------- */

/* What is a request's own time begins with the first that was seen; a stream that has ended by then
 * is nobody's trouble, and a lost packet may have been its request. */
static void find_busy_before(struct finder *f)
{
    const struct trace_info *t = &f->a->traces.v[f->trace];
    const struct exchange_before *b = &t->totals.before;
    char after[32];
    bool late = b->t_ns - t->totals.first_t_ns > f->o->busy_before_ns;
    if (b->streams == 0 || trace_drops(t) > 0 || f->scope->n == 0)
        return;
    if (late && (trace_drops(t) < 0 || t->totals.tcp.gaps > 0)) /* the requests may be lost */
        return;
    const struct request *first = finder_nth(f, 0);
    for (size_t i = 1; i < f->scope->n; i++)
        first = finder_nth(f, i)->t0 < first->t0 ? finder_nth(f, i) : first;
    if (b->last_t_ns - first->t0 < f->o->busy_before_ns)
        return;
    struct finding *x = finder_add(
        f, FINDING_LOAD_BUSY_BEFORE,
        audit_printf(f->a,
                     "%" PRIu64
                     " replies were streaming when the trace began, and went on (%" PRIu64
                     " bytes) until %s after the first request was sent: their requests were not "
                     "seen, and they take part in no figure.",
                     b->streams, b->bytes, units_duration(b->last_t_ns - first->t0, after)));
    finder_affects(x, "ttft", NAN);
    finder_affects(x, "output_tps", NAN);
    VEC_PUSH(&x->evidence, ((struct evidence){f->trace, b->pkt, b->conn, true, b->off, b->t_ns,
                                              "a piece of a reply without a request"}));
    finder_cite_start(x, first);
}

void findings_load(struct finder *f)
{
    find_busy_before(f);
    find_dilution(f);
    find_late(f);
    find_not_reached(f);
    find_repeats(f);
    for (size_t i = 0; i < f->a->runs.n; i++) {
        const struct run *run = &f->a->runs.v[i];
        if (run->trace != f->trace || run->requests.n == 0)
            continue;
        struct flight_curve c = {0};
        metrics_concurrency(f->a, run->requests.v, run->requests.n, &c);
        find_below_meant(f, run, &c);
        find_cap(f, run, &c);
        find_ramp(f, run, &c);
        find_start_burst(f, run);
        VEC_FREE(&c);
    }
}
