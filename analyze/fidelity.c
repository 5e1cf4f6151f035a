/* Fidelity of a driven load: the ledger (traces/ledger.h) says what was meant and recorded, the
 * packets say what happened. */
#include "analyze/fidelity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics.h"

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

/* Pairs of a ledger entry and the request it became. */
typedef VEC(const struct request *) requests;

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* v is sorted on return. Nearest rank: a time that really was. */
static struct spread spread_of(int64_t *v, size_t n)
{
    struct spread s = {.n = n};
    if (n == 0)
        return s;
    qsort(v, n, sizeof *v, by_number);
    s.p50 = v[(n - 1) / 2];
    s.p99 = v[(size_t)ceil(0.99 * (double)n) - 1];
    s.max = v[n - 1];
    return s;
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
    f->has_recorded = true;
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
    qsort(v, n, sizeof *v, by_number);
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
    if (l->repeat != m->repeat)
        return l->repeat < m->repeat ? -1 : 1;
    if (l->conn_planned != m->conn_planned)
        return l->conn_planned < m->conn_planned ? -1 : 1;
    return (x->t0 > y->t0) - (x->t0 < y->t0);
}

static void compare_connections(struct fidelity *f, const requests *found)
{
    int64_t *now = mem_array(found->n + 1, sizeof *now),
            *then = mem_array(found->n + 1, sizeof *now);
    size_t n = 0, n_then = 0;
    const struct request **v = mem_array(found->n + 1, sizeof *v);
    for (size_t i = 0; i < found->n; i++) {
        v[i] = found->v[i];
        now[n++] = (int64_t)v[i]->conn;
        if (v[i]->ledger->has_recorded && v[i]->ledger->recorded.conn >= 0)
            then[n_then++] = v[i]->ledger->recorded.conn;
    }
    f->connections = distinct(now, n);
    f->connections_recorded = distinct(then, n_then);
    qsort(v, found->n, sizeof *v, by_planned_conn);
    for (size_t i = 1; i < found->n; i++) {
        const struct ledger_entry *l = v[i]->ledger, *before = v[i - 1]->ledger;
        if (l->conn_planned < 0 || l->conn_planned != before->conn_planned ||
            l->repeat != before->repeat)
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
static const struct request *first_of_repeat(const requests *found, int64_t repeat)
{
    const struct request *first = NULL;
    for (size_t i = 0; i < found->n; i++) {
        const struct request *r = found->v[i];
        if (r->ledger->repeat == repeat && r->ledger->has_recorded &&
            (first == NULL || r->ledger->recorded.t_ns < first->ledger->recorded.t_ns))
            first = r;
    }
    return first;
}

/* Errors where requests wait for each other: against the recording, repeat by repeat. */
static void hold_against_recording(struct fidelity *f, const struct audit *a, const requests *found)
{
    const struct request *first = NULL;
    for (size_t i = 0; i < found->n; i++) {
        const struct request *r = found->v[i];
        if (!r->ledger->has_recorded || r->clock_stepped)
            continue;
        if (first == NULL || first->ledger->repeat != r->ledger->repeat)
            first = first_of_repeat(found, r->ledger->repeat);
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

static void compare_times(struct fidelity *f, const struct audit *a, const requests *found)
{
    f->basis = basis_of(found);
    if (f->basis == FIDELITY_DUE)
        hold_against_due(f, a, found);
    else if (f->basis == FIDELITY_RECORDED)
        hold_against_recording(f, a, found);
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
    if (x->ledger->repeat != y->ledger->repeat)
        return x->ledger->repeat < y->ledger->repeat ? -1 : 1;
    int order = strcmp(x->ledger->workload, y->ledger->workload);
    if (order != 0)
        return order;
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

static void compare_concurrency(struct fidelity *f, const requests *found)
{
    int64_t repeat = INT64_MAX;
    for (size_t i = 0; i < found->n; i++) {
        int64_t own = found->v[i]->ledger->repeat;
        repeat = own < repeat ? own : repeat;
    }
    for (size_t i = 0; i < found->n; i++) {
        const struct request *r = found->v[i];
        const struct ledger_recorded *old = &r->ledger->recorded;
        if (f->has_recorded && (r->ledger->repeat != repeat || !r->ledger->has_recorded))
            continue; /* a recording happened once */
        VEC_PUSH(&f->edges, ((struct flight_edge){r->t0, 1}));
        VEC_PUSH(&f->edges, ((struct flight_edge){r->t_end > r->t0 ? r->t_end : r->t0, -1}));
        if (!r->ledger->has_recorded || old->end_ns < old->t_ns)
            continue;
        VEC_PUSH(&f->edges_recorded, ((struct flight_edge){old->t_ns, 1}));
        VEC_PUSH(&f->edges_recorded, ((struct flight_edge){old->end_ns, -1}));
    }
    f->now = sweep(f->edges.v, f->edges.n);
    f->recorded = sweep(f->edges_recorded.v, f->edges_recorded.n);
}

/* --- all -------------------------------------------------------------------------------------- */

void fidelity_find(struct audit *a)
{
    for (size_t t = 0; t < a->traces.n; t++) {
        requests found = {0};
        for (size_t i = 0; i < a->requests.n; i++) {
            if (a->requests.v[i].trace == t && a->requests.v[i].ledger != NULL)
                VEC_PUSH(&found, &a->requests.v[i]);
        }
        if (a->traces.v[t].ledger.n == 0)
            continue;
        struct fidelity f = {.trace = t, .entries = a->traces.v[t].ledger.n, .found = found.n};
        for (size_t i = 0; i < found.n; i++)
            compare_contents(&f, found.v[i]);
        compare_connections(&f, &found);
        compare_times(&f, a, &found);
        compare_latencies(&f, &found);
        measure_skew(&f, &found);
        compare_concurrency(&f, &found);
        VEC_PUSH(&a->fidelity, f);
        VEC_FREE(&found);
    }
}
