/* Modes of driving a plan (replay/WORKLOAD.md, "Modes"). */
#include "replay/modes.h"

#include <inttypes.h>
#include <math.h>

#include "replay/arrivals.h"
#include "traces/base/clock.h"
#include "traces/limits.h"

enum { TOGETHER_NS = 50 * NS_PER_MS };

/* --- what waits for what, from the recording ---------------------------------------------------
 */

/* A request's times there; a plan that only has due times has no ends. */
static int64_t begin_of(const struct plan_request *r)
{
    return r->recorded != NULL ? r->recorded->t_ns : r->t_ns;
}

static int64_t end_of(const struct plan_request *r)
{
    return r->recorded != NULL && r->recorded->end_ns >= 0 ? r->recorded->end_ns : INT64_MAX;
}

static bool is_timetable(const struct plan *p, bool ends_too)
{
    for (size_t i = 0; i < p->requests.n; i++) {
        const struct plan_request *r = &p->requests.v[i];
        if (r->recorded == NULL && (ends_too || r->t_ns < 0 || r->after >= 0))
            return false;
    }
    return true;
}

static int by_begin(const void *a, const void *b)
{
    const struct plan_request *x = a, *y = b;
    int64_t s = begin_of(x), t = begin_of(y);
    if (s != t)
        return s < t ? -1 : 1;
    return (x->after > y->after) - (x->after < y->after); /* their places, put there before */
}

/* In the order in which they were sent; a group that the recording's ledger names stays, if wanted,
 * at the place of its first. */
static void sort(struct plan *p)
{
    for (size_t i = 0; i < p->requests.n; i++)
        p->requests.v[i].after = (int64_t)i;
    qsort(p->requests.v, p->requests.n, sizeof *p->requests.v, by_begin);
    for (size_t i = 0; i < p->requests.n; i++)
        p->requests.v[i].after = -1;
}

/* What was sent within 50 ms of the first of a group, and before any of it had ended. */
static void group_by_time(struct plan *p)
{
    struct plan_request *v = p->requests.v;
    int64_t group = 0;
    for (size_t first = 0, end; first < p->requests.n; first = end) {
        int64_t least_end = end_of(&v[first]);
        for (end = first + 1; end < p->requests.n; end++) {
            if (begin_of(&v[end]) - begin_of(&v[first]) > TOGETHER_NS ||
                begin_of(&v[end]) >= least_end)
                break;
            least_end = end_of(&v[end]) < least_end ? end_of(&v[end]) : least_end;
        }
        for (size_t i = first; i < end; i++)
            v[i].group = end - first > 1 ? group : -1;
        group += end - first > 1;
    }
}

/* A unit that has ended: a group or a request alone. */
struct past {
    int64_t end_ns;
    uint32_t unit_first;
};

static int by_end(const void *a, const void *b)
{
    const struct past *x = a, *y = b;
    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    return (x->unit_first > y->unit_first) - (x->unit_first < y->unit_first);
}

static size_t unit_end(const struct plan *p, size_t first)
{
    size_t end = first + 1;
    while (end < p->requests.n && p->requests.v[first].group >= 0 &&
           p->requests.v[end].group == p->requests.v[first].group)
        end++;
    return end;
}

static int64_t end_of_unit(const struct plan *p, size_t first, size_t end)
{
    int64_t most = 0;
    for (size_t i = first; i < end; i++)
        most = end_of(&p->requests.v[i]) > most ? end_of(&p->requests.v[i]) : most;
    return most;
}

struct history {
    VEC(struct past) by_end;
    size_t ended;         /* of them, by the time that is looked at */
    struct past *on_conn; /* the last unit of each connection; unit_first NONE: none yet */
    size_t n_conns;
};

#define NONE UINT32_MAX

static void history_of(const struct plan *p, struct history *h)
{
    for (size_t first = 0, end; first < p->requests.n; first = end) {
        end = unit_end(p, first);
        VEC_PUSH(&h->by_end, ((struct past){end_of_unit(p, first, end), (uint32_t)first}));
    }
    for (size_t i = 0; i < p->requests.n; i++) {
        const struct plan_recorded *r = p->requests.v[i].recorded;
        if (r != NULL && r->conn >= (int64_t)h->n_conns)
            h->n_conns = (size_t)r->conn + 1;
    }
    qsort(h->by_end.v, h->by_end.n, sizeof *h->by_end.v, by_end);
    h->on_conn = mem_array(h->n_conns + 1, sizeof *h->on_conn);
    for (size_t i = 0; i < h->n_conns; i++)
        h->on_conn[i].unit_first = NONE;
}

/* The unit whose end [first, end) waited for: the last on a connection of its own if there was one,
 * else the last of all; it had ended, and stands before. end_ns INT64_MAX: none. */
static struct past predecessor(const struct plan *p, struct history *h, size_t first, size_t end)
{
    int64_t begin = begin_of(&p->requests.v[first]);
    struct past best = {-1, NONE};
    for (size_t i = first; i < end; i++) {
        const struct plan_recorded *r = p->requests.v[i].recorded;
        struct past last = r != NULL ? h->on_conn[r->conn] : best;
        if (r != NULL && last.unit_first != NONE && last.end_ns <= begin &&
            last.end_ns > best.end_ns)
            best = last;
    }
    while (h->ended < h->by_end.n && h->by_end.v[h->ended].end_ns <= begin)
        h->ended++;
    for (size_t k = h->ended; best.unit_first == NONE && k-- > 0;) {
        if (h->by_end.v[k].unit_first < first)
            best = h->by_end.v[k];
    }
    return best;
}

static void wait_as_recorded(struct plan *p)
{
    struct history h = {.ended = 0};
    history_of(p, &h);
    for (size_t first = 0, end; first < p->requests.n; first = end) {
        end = unit_end(p, first);
        struct past before = predecessor(p, &h, first, end),
                    own = {end_of_unit(p, first, end), (uint32_t)first};
        int64_t begin = begin_of(&p->requests.v[first]);
        for (size_t i = first; i < end; i++) {
            struct plan_request *r = &p->requests.v[i];
            bool waits = before.unit_first != NONE;
            r->after = waits ? (int64_t)before.unit_first : -1;
            r->pause_ns = waits ? begin - before.end_ns : 0;
            r->t_ns = waits ? -1 : begin;
            r->round = 0;
            if (r->recorded != NULL)
                h.on_conn[r->recorded->conn] = own;
        }
    }
    VEC_FREE(&h.by_end);
    free(h.on_conn);
}

static void ungroup(struct plan *p)
{
    for (size_t i = 0; i < p->requests.n; i++)
        p->requests.v[i].group = -1;
}

static bool has_groups(const struct plan *p)
{
    for (size_t i = 0; i < p->requests.n; i++) {
        if (p->requests.v[i].group >= 0)
            return true;
    }
    return false;
}

static int closed(struct plan *p, const char *place, struct err *e)
{
    if (!is_timetable(p, true))
        return err_set(e, TA_EUSAGE,
                       "--mode closed: %s does not say when its requests were sent and ended in a "
                       "recording; expected a trace, or a plan made from one",
                       place);
    ungroup(p);
    sort(p);
    wait_as_recorded(p);
    return TA_OK;
}

/* Groups that a ledger named are known, not guessed. */
static int barrier(struct plan *p, const char *place, struct err *e)
{
    if (!is_timetable(p, false))
        return has_groups(p) ? TA_OK
                             : err_set(e, TA_EUSAGE,
                                       "--mode barrier: %s does not say what was sent together; "
                                       "expected a trace, or a plan with times or groups",
                                       place);
    if (!has_groups(p)) {
        sort(p);
        group_by_time(p);
    }
    wait_as_recorded(p);
    return TA_OK;
}

/* --- times of their own ----------------------------------------------------------------------- */

static void at_rate(struct plan *p, const struct modes_options *o)
{
    struct arrivals a = arrivals_begin(o->rate, o->poisson, o->seed);
    p->arrivals_are_made = o->poisson;
    p->arrivals_seed = o->seed;
    for (size_t first = 0, end; first < p->requests.n; first = end) {
        int64_t t = arrivals_next(&a);
        end = unit_end(p, first);
        for (size_t i = first; i < end; i++)
            p->requests.v[i].t_ns = t;
    }
}

static void detach(struct plan *p, int64_t t_ns)
{
    for (size_t i = 0; i < p->requests.n; i++) {
        struct plan_request *r = &p->requests.v[i];
        r->after = r->conn = -1;
        r->pause_ns = r->round = 0;
        r->t_ns = t_ns;
    }
}

/* Some hundred days are enough for anyone, and no number overflows. */
static int64_t bounded(double ns)
{
    return ns < 0x1p53 ? (int64_t)llround(ns) : INT64_C(1) << 53;
}

static void speed_up(struct plan *p, double speed)
{
    for (size_t i = 0; i < p->requests.n && speed != 1; i++) {
        struct plan_request *r = &p->requests.v[i];
        r->pause_ns = bounded((double)r->pause_ns / speed);
        if (r->t_ns > 0)
            r->t_ns = bounded((double)r->t_ns / speed);
    }
}

/* --- length ----------------------------------------------------------------------------------- */

/* What is counted in a plan: one more than the largest of each. */
struct extent {
    int64_t round, group, conn, repeat;
};

static int64_t above(int64_t so_far, int64_t v)
{
    return v >= so_far ? v + 1 : so_far;
}

static struct extent extent_of(const struct plan *p)
{
    struct extent x = {0};
    for (size_t i = 0; i < p->requests.n; i++) {
        const struct plan_request *r = &p->requests.v[i];
        x = (struct extent){above(x.round, r->round), above(x.group, r->group),
                            above(x.conn, r->conn), above(x.repeat, r->repeat)};
    }
    return x;
}

static int repeat(struct plan *p, int64_t times, const char *place, struct err *e)
{
    size_t n = p->requests.n;
    struct extent x = extent_of(p);
    if ((uint64_t)times > LIMIT_REQUESTS / n ||
        (x.conn > 0 && (uint64_t)times > LIMIT_REQUESTS / (uint64_t)x.conn))
        return err_set(e, TA_ELIMIT,
                       "--repeat %" PRId64 " of %s: more than %u requests or connections", times,
                       place, LIMIT_REQUESTS);
    for (int64_t k = 1; k < times; k++) {
        for (size_t i = 0; i < n; i++) {
            struct plan_request r = p->requests.v[i];
            r.round += k * x.round;
            r.repeat += k * x.repeat;
            r.group += r.group >= 0 ? k * x.group : 0;
            r.conn += r.conn >= 0 ? k * x.conn : 0;
            r.after += r.after >= 0 ? k * (int64_t)n : 0;
            VEC_PUSH(&p->requests, r);
        }
    }
    return TA_OK;
}

static void mark_warmup(struct plan *p, int64_t n)
{
    for (size_t i = 0; i < p->requests.n && n >= 0; i++)
        p->requests.v[i].warmup = i < (size_t)n;
}

int modes_apply(struct plan *p, const struct modes_options *o, const char *place, struct err *e)
{
    int rc = o->kind == MODES_CLOSED    ? closed(p, place, e)
             : o->kind == MODES_BARRIER ? barrier(p, place, e)
                                        : TA_OK;
    if (rc == TA_OK)
        rc = repeat(p, o->repeat, place, e);
    if (rc != TA_OK)
        return rc;
    if (o->requests > 0 && (size_t)o->requests < p->requests.n)
        p->requests.n = (size_t)o->requests;
    if (o->kind == MODES_CONCURRENCY) {
        ungroup(p);
        detach(p, -1);
        p->concurrency = o->concurrency;
    } else if (o->kind == MODES_RATE) {
        detach(p, 0);
        at_rate(p, o);
    }
    speed_up(p, o->speed);
    mark_warmup(p, o->warmup);
    if (o->duration_ns > 0)
        p->duration_ns = o->duration_ns;
    return plan_check(p, place, e);
}
