/* Fidelity of a driven load: the ledger (traces/ledger.h) says what was meant and recorded, the
 * packets say what happened. */
#include "analyze/fidelity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/ledger_counts.h"
#include "analyze/metrics.h"
#include "analyze/stat.h"

const struct fidelity *fidelity_of(const struct audit *a, size_t trace)
{
    for (size_t i = 0; i < a->fidelity.n; i++) {
        if (a->fidelity.v[i].trace == trace)
            return &a->fidelity.v[i];
    }
    return NULL;
}

const char *fidelity_basis_name(enum fidelity_basis b)
{
    static const char *const names[] = {NULL, "due", "recorded"};
    return names[b];
}

/* The requests that have an entry in a trace's ledger, by t0, and for each entry the time round. */
typedef VEC(const struct request *) requests;

struct load {
    const struct trace_info *trace;
    requests found;
    int64_t *round;  /* of each entry: from 0 */
    bool one_by_one; /* each round began when the one before was over */
};

static int64_t round_of(const struct load *l, const struct request *r)
{
    return l->round[r->ledger - l->trace->ledger.v];
}

/* v is sorted on return. Nearest rank: a time that really was. */
static struct spread spread_of(int64_t *v, size_t n)
{
    struct spread s = {.n = n};
    if (n == 0)
        return s;
    stat_sort_ns(v, n);
    s.p50 = v[(n - 1) / 2];
    s.p99 = v[(size_t)ceil(0.99 * (double)n) - 1];
    s.max = v[n - 1];
    return s;
}

/* --- rounds ----------------------------------------------------------------------------------- */

static int by_recorded(const void *a, const void *b)
{
    const struct ledger_entry *x = *(const struct ledger_entry *const *)a,
                              *y = *(const struct ledger_entry *const *)b;
    if (x->recorded.conn != y->recorded.conn)
        return x->recorded.conn < y->recorded.conn ? -1 : 1;
    if (x->recorded.t_ns != y->recorded.t_ns)
        return x->recorded.t_ns < y->recorded.t_ns ? -1 : 1;
    return (x->repeat > y->repeat) - (x->repeat < y->repeat);
}

/* A recording is driven once or several times. Both the recording's own repeats and the times round
 * are numbered by `repeat`; which recorded request an entry is for, its connection and time there
 * say, and of entries for the same one the first is of the first round. */
static void find_rounds(struct load *l)
{
    const struct trace_info *t = l->trace;
    const struct ledger_entry **v = mem_array(t->ledger.n + 1, sizeof *v);
    size_t n = 0;
    l->round = mem_array(t->ledger.n + 1, sizeof *l->round);
    for (size_t i = 0; i < t->ledger.n; i++) {
        l->round[i] = 0;
        if (t->ledger.v[i].has_recorded)
            v[n++] = &t->ledger.v[i];
    }
    qsort(v, n, sizeof *v, by_recorded);
    for (size_t i = 1; i < n; i++) {
        bool same = v[i]->recorded.conn == v[i - 1]->recorded.conn &&
                    v[i]->recorded.t_ns == v[i - 1]->recorded.t_ns;
        if (same)
            l->round[v[i] - t->ledger.v] =
                l->round[v[i - 1] - t->ledger.v] + (v[i]->repeat != v[i - 1]->repeat);
    }
    free(v);
    int64_t end_ns = INT64_MIN;
    l->one_by_one = true;
    for (size_t i = 0; i < l->found.n; i++) {
        const struct request *r = l->found.v[i];
        if (round_of(l, r) == 0 && r->t_end > end_ns)
            end_ns = r->t_end;
    }
    for (size_t i = 0; i < l->found.n; i++)
        l->one_by_one &= round_of(l, l->found.v[i]) == 0 || l->found.v[i]->t0 >= end_ns;
}

/* A recording happened once: held against it is the first round, or, where rounds went on into
 * each other, all of the load. */
static bool is_compared(const struct load *l, const struct request *r)
{
    return !l->one_by_one || round_of(l, r) == 0;
}

/* --- bodies, statuses, counts, connections ---------------------------------------------------- */

static void compare_contents(struct fidelity *f, const struct request *r)
{
    const struct ledger_entry *l = r->ledger;
    if (l->body_sha256 != NULL && r->body_sha256 != NULL) {
        bool same = strcmp(l->body_sha256, r->body_sha256) == 0;
        f->bodies_same += same;
        f->bodies_differ += !same;
    }
    if (!l->has_recorded)
        return;
    if (l->recorded.status > 0) {
        f->statuses_same += l->recorded.status == r->status;
        f->statuses_differ += l->recorded.status != r->status;
    }
    if (l->recorded.input_units < 0 || l->recorded.output_units < 0 || r->usage.prompt < 0 ||
        r->usage.completion < 0)
        return;
    f->counted++;
    f->counts_differ += l->recorded.input_units != r->usage.prompt ||
                        l->recorded.output_units != r->usage.completion;
    f->input += r->usage.prompt;
    f->output += r->usage.completion;
    f->input_recorded += l->recorded.input_units;
    f->output_recorded += l->recorded.output_units;
}

static size_t distinct(int64_t *v, size_t n)
{
    stat_sort_ns(v, n);
    size_t k = n > 0;
    for (size_t i = 1; i < n; i++)
        k += v[i] != v[i - 1];
    return k;
}

static int by_planned_conn(const void *a, const void *b)
{
    const struct request *x = *(const struct request *const *)a,
                         *y = *(const struct request *const *)b;
    const struct ledger_entry *l = x->ledger, *m = y->ledger;
    if (l->conn_planned != m->conn_planned)
        return l->conn_planned < m->conn_planned ? -1 : 1;
    return (x->t0 > y->t0) - (x->t0 < y->t0);
}

static void compare_connections(struct fidelity *f, const struct load *l)
{
    const requests *found = &l->found;
    const struct trace_info *t = l->trace;
    int64_t *now = mem_array(found->n + 1, sizeof *now),
            *then = mem_array(t->ledger.n + 1, sizeof *then);
    size_t n = 0, n_then = 0;
    const struct request **v = mem_array(found->n + 1, sizeof *v);
    for (size_t i = 0; i < found->n; i++) {
        v[i] = found->v[i];
        if (is_compared(l, v[i]))
            now[n++] = (int64_t)v[i]->conn;
    }
    for (size_t i = 0; i < t->ledger.n; i++) {
        if (t->ledger.v[i].has_recorded && t->ledger.v[i].recorded.conn >= 0)
            then[n_then++] = t->ledger.v[i].recorded.conn;
    }
    f->connections = distinct(now, n);
    f->connections_recorded = distinct(then, n_then);
    qsort(v, found->n, sizeof *v, by_planned_conn);
    for (size_t i = 1; i < found->n; i++) {
        int64_t planned = v[i]->ledger->conn_planned;
        if (planned < 0 || planned != v[i - 1]->ledger->conn_planned)
            continue;
        f->follow_ups++;
        f->kept += v[i]->conn == v[i - 1]->conn;
    }
    free(v);
    free(now);
    free(then);
}

/* --- times ------------------------------------------------------------------------------------ */

static enum fidelity_basis basis_of(const requests *found)
{
    enum fidelity_basis b = FIDELITY_UNTIMED;
    for (size_t i = 0; i < found->n; i++) {
        const struct ledger_entry *l = found->v[i]->ledger;
        if (l->due_ns >= 0)
            return FIDELITY_DUE;
        if (l->has_recorded)
            b = FIDELITY_RECORDED;
    }
    return b;
}

/* Its first request, whose time in the recording that of the others counts from. */
static const struct request *first_of_round(const struct load *l, int64_t round)
{
    const struct request *first = NULL;
    for (size_t i = 0; i < l->found.n; i++) {
        const struct request *r = l->found.v[i];
        if (round_of(l, r) == round && r->ledger->has_recorded &&
            (first == NULL || r->ledger->recorded.t_ns < first->ledger->recorded.t_ns))
            first = r;
    }
    return first;
}

/* Errors where requests wait for each other: against the recording, round by round. */
static void hold_against_recording(struct fidelity *f, const struct audit *a, const struct load *l)
{
    const struct request *first = NULL;
    for (size_t i = 0; i < l->found.n; i++) {
        const struct request *r = l->found.v[i];
        if (!r->ledger->has_recorded || r->clock_stepped)
            continue;
        if (first == NULL || round_of(l, first) != round_of(l, r))
            first = first_of_round(l, round_of(l, r));
        int64_t at = r->ledger->recorded.t_ns - first->ledger->recorded.t_ns;
        VEC_PUSH(&f->points, ((struct fidelity_point){(size_t)(r - a->requests.v), at,
                                                      r->t0 - first->t0 - at}));
    }
}

static void hold_against_due(struct fidelity *f, const struct audit *a, const requests *found)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < found->n; i++) {
        int64_t due = found->v[i]->ledger->due_ns;
        first = due >= 0 && due < first ? due : first;
    }
    for (size_t i = 0; i < found->n; i++) {
        const struct request *r = found->v[i];
        int64_t due = r->ledger->due_ns;
        if (due >= 0 && !r->clock_stepped)
            VEC_PUSH(&f->points, ((struct fidelity_point){(size_t)(r - a->requests.v), due - first,
                                                          r->t0 - due}));
    }
}

/* The slope of the least squares line through the points. */
static double drift_of(const struct fidelity *f)
{
    enum { LEAST = 10 };
    double x = 0, y = 0, xx = 0, xy = 0, n = (double)f->points.n;
    if (f->points.n < LEAST)
        return NAN;
    for (size_t i = 0; i < f->points.n; i++) {
        x += (double)f->points.v[i].at_ns / n;
        y += (double)f->points.v[i].error_ns / n;
    }
    for (size_t i = 0; i < f->points.n; i++) {
        double dx = (double)f->points.v[i].at_ns - x;
        xx += dx * dx;
        xy += dx * ((double)f->points.v[i].error_ns - y);
    }
    return xx > 0 ? xy / xx : NAN;
}

static void compare_times(struct fidelity *f, const struct audit *a, const struct load *l)
{
    f->basis = basis_of(&l->found);
    if (f->basis == FIDELITY_DUE)
        hold_against_due(f, a, &l->found);
    else if (f->basis == FIDELITY_RECORDED)
        hold_against_recording(f, a, l);
    int64_t *v = mem_array(f->points.n + 1, sizeof *v);
    for (size_t i = 0; i < f->points.n; i++)
        v[i] = f->points.v[i].error_ns < 0 ? -f->points.v[i].error_ns : f->points.v[i].error_ns;
    f->send_error = spread_of(v, f->points.n);
    f->drift = drift_of(f);
    free(v);
}

/* Who waits for an answer does not send the next request while it waits: the time that requests
 * spent after they were due and before they were sent is part of what a user would have waited. */
static void compare_latencies(struct fidelity *f, const requests *found)
{
    int64_t *from_t0 = mem_array(found->n + 1, sizeof *from_t0),
            *from_due = mem_array(found->n + 1, sizeof *from_due);
    size_t n = 0;
    for (size_t i = 0; i < found->n; i++) {
        const struct request *r = found->v[i];
        if (r->ledger->due_ns < 0 || !metrics_request_counts(r) || r->out.n == 0)
            continue;
        int64_t last = r->out.v[r->out.n - 1].t_ns;
        from_t0[n] = last - r->t0;
        from_due[n++] = last - r->ledger->due_ns;
    }
    f->e2el = spread_of(from_t0, n);
    f->effective = spread_of(from_due, n);
    free(from_t0);
    free(from_due);
}

/* --- groups and concurrency ------------------------------------------------------------------- */

static int by_group(const void *a, const void *b)
{
    const struct request *x = *(const struct request *const *)a,
                         *y = *(const struct request *const *)b;
    if (x->run != y->run) /* in which repeats that were under way together are one */
        return x->run < y->run ? -1 : 1;
    return (x->ledger->group > y->ledger->group) - (x->ledger->group < y->ledger->group);
}

static void measure_skew(struct fidelity *f, const requests *found)
{
    const struct request **v = mem_array(found->n + 1, sizeof *v);
    int64_t *skew = mem_array(found->n + 1, sizeof *skew);
    size_t n = 0, groups = 0;
    for (size_t i = 0; i < found->n; i++) {
        if (found->v[i]->ledger->group >= 0 && !found->v[i]->clock_stepped)
            v[n++] = found->v[i];
    }
    qsort(v, n, sizeof *v, by_group);
    for (size_t i = 0, k; i < n; i = k) {
        int64_t first = v[i]->t0, last = v[i]->t0;
        for (k = i + 1; k < n && by_group(&v[i], &v[k]) == 0; k++) {
            first = v[k]->t0 < first ? v[k]->t0 : first;
            last = v[k]->t0 > last ? v[k]->t0 : last;
        }
        if (k - i > 1)
            skew[groups++] = last - first;
    }
    f->release_skew = spread_of(skew, groups);
    free(v);
    free(skew);
}

static int by_edge(const void *a, const void *b)
{
    const struct flight_edge *x = a, *y = b;
    if (x->t_ns != y->t_ns)
        return x->t_ns < y->t_ns ? -1 : 1;
    return x->change - y->change; /* departures first */
}

static struct in_flight sweep(struct flight_edge *v, size_t n)
{
    struct in_flight s = {.average = NAN};
    double sum = 0;
    size_t now = 0;
    if (n == 0)
        return s;
    qsort(v, n, sizeof *v, by_edge);
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            sum += (double)now * (double)(v[i].t_ns - v[i - 1].t_ns);
        now = v[i].change > 0 ? now + 1 : now - 1;
        s.peak = now > s.peak ? now : s.peak;
    }
    if (n > 0 && v[n - 1].t_ns > v[0].t_ns)
        s.average = sum / (double)(v[n - 1].t_ns - v[0].t_ns);
    return s;
}

static void compare_concurrency(struct fidelity *f, const struct load *l)
{
    const struct trace_info *t = l->trace;
    for (size_t i = 0; i < l->found.n; i++) {
        const struct request *r = l->found.v[i];
        if (!is_compared(l, r))
            continue;
        VEC_PUSH(&f->edges, ((struct flight_edge){r->t0, 1}));
        VEC_PUSH(&f->edges, ((struct flight_edge){r->t_end > r->t0 ? r->t_end : r->t0, -1}));
    }
    /* What was recorded was under way then, whether it could be sent now or not. */
    for (size_t i = 0; i < t->ledger.n; i++) {
        const struct ledger_recorded *old = &t->ledger.v[i].recorded;
        if (!t->ledger.v[i].has_recorded || l->round[i] > 0 || old->end_ns < old->t_ns)
            continue;
        VEC_PUSH(&f->edges_recorded, ((struct flight_edge){old->t_ns, 1}));
        VEC_PUSH(&f->edges_recorded, ((struct flight_edge){old->end_ns, -1}));
    }
    f->now = sweep(f->edges.v, f->edges.n);
    f->recorded = sweep(f->edges_recorded.v, f->edges_recorded.n);
}

static void count_unseen(struct fidelity *f, const struct trace_info *t)
{
    const struct ledger_entry **v = mem_array(t->unseen.n + 1, sizeof *v);
    for (size_t i = 0; i < t->unseen.n; i++)
        v[i] = t->unseen.v[i];
    ledger_counts_of(v, t->unseen.n, &f->unseen);
    free(v);
}

/* --- all -------------------------------------------------------------------------------------- */

static void compare(struct audit *a, struct load *l)
{
    struct fidelity f = {.trace = (size_t)(l->trace - a->traces.v),
                         .entries = l->trace->ledger.n,
                         .found = l->found.n};
    find_rounds(l);
    for (size_t i = 0; i < l->found.n; i++)
        compare_contents(&f, l->found.v[i]);
    for (size_t i = 0; i < l->trace->ledger.n; i++)
        f.has_recorded |= l->trace->ledger.v[i].has_recorded;
    compare_connections(&f, l);
    compare_times(&f, a, l);
    compare_latencies(&f, &l->found);
    measure_skew(&f, &l->found);
    compare_concurrency(&f, l);
    count_unseen(&f, l->trace);
    VEC_PUSH(&a->fidelity, f);
    free(l->round);
}

void fidelity_find(struct audit *a)
{
    for (size_t t = 0; t < a->traces.n; t++) {
        struct load l = {.trace = &a->traces.v[t]};
        if (l.trace->ledger.n == 0)
            continue;
        for (size_t i = 0; i < a->requests.n; i++) {
            if (a->requests.v[i].trace == t && a->requests.v[i].ledger != NULL)
                VEC_PUSH(&l.found, &a->requests.v[i]);
        }
        compare(a, &l);
        VEC_FREE(&l.found);
    }
}
