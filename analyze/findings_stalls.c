/* Findings of stalls: in cycles, of all streams together, while a prompt is read, again and again
 * within streams. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/finder.h"
#include "analyze/metrics.h"
#include "analyze/metrics_speedup.h"
#include "analyze/stalls.h"
#include "analyze/stat.h"
#include "traces/base/clock.h"
#include "traces/base/mem.h"
#include "traces/base/units.h"

#define NO_STREAM                                                                                  \
    0.9 /* of the time lost in stalls, at most: of what comes in clumps hardly any is left */

static int by_cost(const void *a, const void *b)
{
    const struct stall *x = a, *y = b;
    if (x->excess_ns != y->excess_ns)
        return x->excess_ns > y->excess_ns ? -1 : 1;
    return (x->t_ns > y->t_ns) - (x->t_ns < y->t_ns);
}

/* Reorders v. */
static void cite_costliest(struct finder *f, struct finding *to, struct stall *v, size_t n)
{
    if (n > 0)
        qsort(v, n, sizeof *v, by_cost);
    for (size_t i = 0; i < n && i < CITED_MOST; i++) {
        const struct request *r = &f->a->requests.v[v[i].request];
        const struct output_event *e = &r->out.v[v[i].event];
        finder_cite(to, r, e->packet, true, EVIDENCE_NO_OFFSET, e->t_ns,
                    "first output event after a stall");
    }
}

static void say_cycle(struct finder *f, struct stalls *x)
{
    char period[32];
    struct finding *y = finder_add(
        f, FINDING_SERVER_CYCLIC_STALLS,
        audit_printf(
            f->a,
            "Every %s the output all but stops: %zu gaps of more than %g medians, %.3g %% "
            "of the time between first and last output. The excess time repeats itself a "
            "period later (r = %.2f), and the stalls fall on it (m R^2 = %.3g over %" PRId64
            " cycles): something collects, flushes or throttles in step.",
            units_duration(llround(x->period_s * NS_PER_S), period), x->all.n, f->o->stall_factor,
            100 * x->lost_share, x->correlation, x->score, x->cycles));
    finder_affects(y, "output_tps_user", -100 * x->lost_share);
    cite_costliest(f, y, x->all.v, x->all.n);
}

/* --- of all streams at once ------------------------------------------------------------------- */

enum { LOOKS_MOST = 20000000 }; /* at requests, in all moments */

#define ALL_SHARE 0.8     /* of the streams that were running */
#define PREFILL_SHARE 0.5 /* of the stall, in which another prompt was read */
#define SAME_START 0.5    /* of the stall, within which those of other streams begin at most … */
#define START_GAPS                                                                                 \
    2.0 /* … of its stream's usual gaps, and START_NS: what stops all stops all at once */
#define TOGETHER_SHARE 0.8 /* of the time lost while several were running: else it is chance */
#define SAME_PLACE 0.05 /* of an answer, in which all stalls are that belong to the answer itself  \
                         */

enum { START_NS = 20 * NS_PER_MS };

/* A moment at which streams stalled: stalls v[from .. end), by time. */
struct moment {
    size_t from, end;
    int64_t t_ns, length_ns;
};

static bool is_stalled(const struct stalls *x, const struct moment *m, size_t request)
{
    for (size_t i = m->from; i < m->end; i++) {
        if (x->all.v[i].request == request)
            return true;
    }
    return false;
}

/* Who was writing then; did all but a few of them stall? And was a prompt being read meanwhile? */
struct company {
    size_t running, stalled;
    bool reading;
};

static struct company company_at(const struct finder *f, const struct stalls *x,
                                 const struct moment *m)
{
    struct company c = {0};
    int64_t to = m->t_ns + m->length_ns;
    for (size_t i = 0; i < f->scope->n; i++) {
        const struct request *r = finder_nth(f, i);
        if (r->out.n == 0)
            continue;
        int64_t first = r->out.v[0].t_ns, last = r->out.v[r->out.n - 1].t_ns;
        int64_t from = r->t0 > m->t_ns ? r->t0 : m->t_ns, until = first < to ? first : to;
        c.reading |= (double)(until - from) > PREFILL_SHARE * (double)m->length_ns;
        if (first > m->t_ns || last < to)
            continue;
        c.running++;
        c.stalled += is_stalled(x, m, f->scope->requests[i]);
    }
    return c;
}

/* Stalls by what stops them. */
struct stopped {
    size_t moments, streams; /* streams: the most at once */
    int64_t lost_ns;
    VEC(struct stall) all;
};

static void add_moment(struct stopped *to, const struct stalls *x, const struct moment *m,
                       size_t stalled)
{
    to->moments++;
    to->streams = stalled > to->streams ? stalled : to->streams;
    for (size_t i = m->from; i < m->end; i++) {
        to->lost_ns += x->all.v[i].excess_ns;
        VEC_PUSH(&to->all, x->all.v[i]);
    }
}

/* A client that does not read stops its streams too. */
static bool is_clients(const struct finder *f, const struct stalls *x, const struct moment *m)
{
    for (size_t i = m->from; i < m->end; i++) {
        if (f->a->requests.v[x->all.v[i].request].zero_windows > 0)
            return true;
    }
    return false;
}

/* How much later those of other streams begin, at most. */
static int64_t start_tolerance(const struct finder *f, const struct stall *s)
{
    const struct output_event *e = f->a->requests.v[s->request].out.v;
    double usual = (double)(e[s->event].t_ns - e[s->event - 1].t_ns - s->excess_ns);
    return (int64_t)fmin(SAME_START * (double)s->excess_ns, START_GAPS * usual + START_NS);
}

/* Pauses of the answers (a tool, a thought), which streams that began together make together. */
static bool at_one_place(const struct stopped *s)
{
    size_t least = SIZE_MAX, most = 0;
    for (size_t i = 0; i < s->all.n; i++) {
        size_t event = s->all.v[i].event;
        least = event < least ? event : least;
        most = event > most ? event : most;
    }
    return s->all.n > 0 && (double)(most - least) <= fmax(1, SAME_PLACE * (double)most);
}

/* apart: of some of the streams that were running, while the others went on. */
static void sort_moments(const struct finder *f, const struct stalls *x, struct stopped *reading,
                         struct stopped *together, struct stopped *apart)
{
    size_t looks = 0;
    for (size_t i = 0, end; i < x->all.n && looks < LOOKS_MOST; i = end, looks += f->scope->n) {
        const struct stall *s = &x->all.v[i];
        struct moment m = {i, i + 1, s->t_ns, s->excess_ns};
        int64_t tolerance = start_tolerance(f, s);
        while (m.end < x->all.n && x->all.v[m.end].t_ns - s->t_ns < tolerance)
            m.end++;
        end = m.end;
        struct company c = company_at(f, x, &m);
        if (c.running == 0 || is_clients(f, x, &m))
            continue;
        if ((double)c.stalled < ALL_SHARE * (double)c.running)
            add_moment(apart, x, &m, c.stalled);
        else if (c.reading)
            add_moment(reading, x, &m, c.stalled);
        else if (c.stalled > 1)
            add_moment(together, x, &m, c.stalled);
    }
}

static double window_ns(const struct finder *f)
{
    double sum = 0;
    for (size_t i = 0; i < f->scope->n; i++) {
        const struct request *r = finder_nth(f, i);
        if (r->out.n > 1)
            sum += (double)(r->out.v[r->out.n - 1].t_ns - r->out.v[0].t_ns);
    }
    return sum;
}

static void say_stopped(struct finder *f, enum finding_id id, const struct stopped *s,
                        const char *text)
{
    double share = (double)s->lost_ns / fmax(1, window_ns(f));
    if (s->moments >= (size_t)f->o->stall_moments && share >= f->o->stall_share) {
        struct finding *x = finder_add(
            f, id,
            audit_printf(f->a,
                         "At %zu moments all streams that were running stopped (at most %zu "
                         "of them at once) %s: %.3g %% of the time between first and last "
                         "output.",
                         s->moments, s->streams, text, 100 * share));
        finder_affects(x, "output_tps_user", -100 * share);
        finder_affects(x, "icl", NAN);
        cite_costliest(f, x, s->all.v, s->all.n);
    }
}

static void find_stopped(struct finder *f, const struct stalls *x)
{
    struct stopped reading = {0}, together = {0}, apart = {0};
    sort_moments(f, x, &reading, &together, &apart);
    say_stopped(f, FINDING_SERVER_PREFILL_STALLS, &reading, "while another prompt was read");
    double lost = (double)together.lost_ns;
    if (lost >= TOGETHER_SHARE * (lost + (double)apart.lost_ns) && !at_one_place(&together))
        say_stopped(f, FINDING_SERVER_JOINT_STALLS, &together, "and no prompt was being read");
    VEC_FREE(&reading.all);
    VEC_FREE(&together.all);
    VEC_FREE(&apart.all);
}

/* --- within streams --------------------------------------------------------------------------- */

enum {
    LONG_NS = 250 * NS_PER_MS, /* shorter ones are jitter */
    LONG_FACTORS =
        4,    /* stall-factors of its stream's gaps: gaps at random are hardly ever so long */
    AGAIN = 3 /* in a stream … */
};

#define AGAIN_SHARE 0.5 /* … and in so many of those of three events or more */
#define AGAIN_LOST 0.05 /* of their time, at least */

struct recurring {
    size_t streams, of, looks;
    struct stalls stalls; /* all, of those streams */
    int64_t lost_ns, window_ns;
};

/* Was another prompt read in most of it? That is said elsewhere, or the price of a crowd. */
static bool is_in_company(const struct finder *f, const struct stall *s)
{
    for (size_t i = 0; i < f->scope->n; i++) {
        const struct request *r = finder_nth(f, i);
        int64_t end = s->t_ns + s->excess_ns, first = r->out.n > 0 ? r->out.v[0].t_ns : r->t_end;
        int64_t from = r->t0 > s->t_ns ? r->t0 : s->t_ns, until = first < end ? first : end;
        if ((double)(until - from) > PREFILL_SHARE * (double)s->excess_ns)
            return true;
    }
    return false;
}

/* Of the stalls v[0 .. n) of one stream, those that are long against its pace: what is left of it
 * without them. */
static void look_at_stream(const struct finder *f, const struct stall *v, size_t n,
                           struct recurring *out)
{
    const struct request *r = &f->a->requests.v[v->request];
    int64_t window = r->out.v[r->out.n - 1].t_ns - r->out.v[0].t_ns, lost = 0;
    size_t from = out->stalls.all.n;
    for (size_t i = 0; i < n; i++)
        lost += v[i].excess_ns;
    double pace = (double)(window - lost) / (double)(r->out.n - 1);
    lost = 0;
    for (size_t i = 0; i < n; i++) {
        bool is_long = v[i].excess_ns >= LONG_NS &&
                       (double)v[i].excess_ns > LONG_FACTORS * f->o->stall_factor * pace;
        if (!is_long || out->looks > LOOKS_MOST)
            continue;
        out->looks += f->scope->n;
        if (is_in_company(f, &v[i]))
            continue;
        VEC_PUSH(&out->stalls.all, v[i]);
        lost += v[i].excess_ns;
    }
    bool again = out->stalls.all.n - from >= AGAIN && r->zero_windows == 0 &&
                 r->retransmissions == 0 && (double)lost >= AGAIN_LOST * (double)window &&
                 (double)lost <= NO_STREAM * (double)window;
    if (!again) {
        out->stalls.all.n = from;
        return;
    }
    out->streams++;
    out->lost_ns += lost;
    out->window_ns += window;
}

static int by_stream(const void *a, const void *b)
{
    const struct stall *x = a, *y = b;
    if (x->request != y->request)
        return x->request < y->request ? -1 : 1;
    return (x->t_ns > y->t_ns) - (x->t_ns < y->t_ns);
}

static void say_recurring(struct finder *f, struct recurring *x)
{
    double *lengths = mem_array(x->stalls.all.n + 1, sizeof *lengths);
    double share = (double)x->lost_ns / fmax(1, (double)x->window_ns);
    for (size_t i = 0; i < x->stalls.all.n; i++)
        lengths[i] = (double)x->stalls.all.v[i].excess_ns;
    stat_sort(lengths, x->stalls.all.n);
    char typical[32];
    units_duration(llround(stat_median(lengths, x->stalls.all.n)), typical);
    struct finding *y = finder_add(
        f, FINDING_SERVER_RECURRING_STALLS,
        audit_printf(f->a,
                     "In %zu of %zu streams the output stops again and again: %zu times, for %s "
                     "typically, while no other prompt was read: %.3g %% of the time between first "
                     "and last output.",
                     x->streams, x->of, x->stalls.all.n, typical, 100 * share));
    finder_affects(y, "output_tps_user", -100 * share);
    cite_costliest(f, y, x->stalls.all.v, x->stalls.all.n);
    free(lengths);
}

/* Whatever their rhythm is, if it begins anew with each stream. */
static void find_recurring(struct finder *f, struct stalls *x)
{
    struct recurring found = {0};
    for (size_t i = 0; i < f->scope->n; i++)
        found.of += metrics_request_counts(finder_nth(f, i)) && finder_nth(f, i)->out.n > 2;
    if (x->all.n > 0)
        qsort(x->all.v, x->all.n, sizeof *x->all.v, by_stream);
    for (size_t i = 0, end; i < x->all.n; i = end) {
        for (end = i + 1; end < x->all.n && x->all.v[end].request == x->all.v[i].request;)
            end++;
        if (metrics_request_counts(&f->a->requests.v[x->all.v[i].request]))
            look_at_stream(f, x->all.v + i, end - i, &found);
    }
    if (found.streams > 0 && (double)found.streams >= AGAIN_SHARE * (double)found.of)
        say_recurring(f, &found);
    stalls_free(&found.stalls);
}

void findings_stalls(struct finder *f)
{
    struct stalls x;
    if (f->scope->n == 0)
        return;
    stalls_find(f->a, f->scope, f->o, &x);
    if (isnan(x.period_s))
        find_stopped(f, &x);
    else if (!x.by_client && x.lost_share <= NO_STREAM)
        say_cycle(f, &x);
    if (!finder_has(f, FINDING_SERVER_CYCLIC_STALLS) &&
        !finder_has(f, FINDING_SERVER_JOINT_STALLS) &&
        !finder_has(f, FINDING_SERVER_PREFILL_STALLS))
        find_recurring(f, &x);
    stalls_free(&x);
}
