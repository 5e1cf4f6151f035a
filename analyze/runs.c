/* Runs, release groups and the ledger join (traces/ledger.h: by local port and place on the
 * connection). */
#include "analyze/runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/relays.h"
#include "analyze/retries.h"
#include "traces/base/mem.h"

/* The requests of one trace: a->requests.v[first .. first + n), in order of t0. */
struct part {
    struct audit *a;
    const struct audit_options *o;
    size_t trace;
    struct request *v;
    size_t first, n;
    size_t first_run;
};

struct wire_place {
    int64_t port, nth, t0;
    struct request *r;
};

static int by_place(const void *a, const void *b)
{
    const struct wire_place *x = a, *y = b;
    if (x->port != y->port)
        return x->port < y->port ? -1 : 1;
    return (x->nth > y->nth) - (x->nth < y->nth);
}

static uint64_t apart(int64_t a, int64_t b)
{
    return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

/* The request at the entry's place that was sent nearest to it: ports come round again in long
 * traces. */
static struct request *nearest(const struct wire_place *places, size_t n,
                               const struct ledger_entry *entry)
{
    size_t lo = 0, hi = n;
    struct wire_place key = {entry->local_port, entry->nth, 0, NULL};
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (by_place(&places[mid], &key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    struct request *best = NULL;
    uint64_t best_distance = UINT64_MAX;
    for (; lo < n && by_place(&places[lo], &key) == 0; lo++) {
        uint64_t distance = apart(places[lo].t0, entry->sent_ns);
        if (places[lo].r->ledger == NULL && distance < best_distance) {
            best = places[lo].r;
            best_distance = distance;
        }
    }
    return best;
}

/* The ledger leaves texts empty that it does not know. */
static const char *known(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

static void attach(struct request *r, const struct ledger_entry *entry)
{
    r->ledger = entry;
    r->name = known(entry->name);
    r->repeat = entry->repeat;
    r->warmup = entry->warmup != 0;
}

static size_t join_by_place(struct part *p)
{
    const struct trace_info *t = &p->a->traces.v[p->trace];
    struct wire_place *places = mem_array(p->n + 1, sizeof *places);
    for (size_t i = 0; i < p->n; i++) {
        struct request *r = &p->v[i];
        places[i] = (struct wire_place){r->client_port, r->nth, r->t0, r};
    }
    qsort(places, p->n, sizeof *places, by_place);
    size_t joined = 0;
    for (size_t i = 0; i < t->ledger.n; i++) {
        const struct ledger_entry *entry = &t->ledger.v[i];
        struct request *r = entry->local_port > 0 ? nearest(places, p->n, entry) : NULL;
        if (r == NULL)
            continue;
        attach(r, entry);
        joined++;
    }
    free(places);
    return joined;
}

static int by_sent(const void *a, const void *b)
{
    const struct ledger_entry *x = *(const struct ledger_entry *const *)a;
    const struct ledger_entry *y = *(const struct ledger_entry *const *)b;
    return (x->sent_ns > y->sent_ns) - (x->sent_ns < y->sent_ns);
}

/* Where no port is the same (an address translated on the way), order decides, if the numbers are
 * equal. */
static void join_by_order(struct part *p)
{
    const struct trace_info *t = &p->a->traces.v[p->trace];
    const struct ledger_entry **sent = mem_array(t->ledger.n + 1, sizeof *sent);
    size_t n_sent = 0, n_wire = 0;
    for (size_t i = 0; i < t->ledger.n; i++) {
        if (t->ledger.v[i].local_port > 0)
            sent[n_sent++] = &t->ledger.v[i];
    }
    for (size_t i = 0; i < p->n; i++)
        n_wire += p->v[i].dialect != NULL;
    qsort(sent, n_sent, sizeof *sent, by_sent);
    if (n_sent == n_wire) {
        for (size_t i = 0, at = 0; i < p->n; i++) {
            if (p->v[i].dialect != NULL)
                attach(&p->v[i], sent[at++]);
        }
    }
    free(sent);
}

static size_t run_new(struct part *p, const struct request *r, const char *workload, int64_t repeat)
{
    struct audit *a = p->a;
    size_t id = a->runs.n + 1;
    VEC_PUSH(&a->runs, ((struct run){
                           .id = id,
                           .trace = p->trace,
                           .label = a->traces.v[p->trace].label,
                           .workload = workload,
                           .server = r->server,
                           .model = r->model,
                           .inferred = r->ledger == NULL,
                           .repeat = repeat,
                           .concurrency = NAN,
                           .t_ns = r->t0,
                           .end_ns = r->t_end,
                       }));
    return a->runs.n - 1;
}

/* Requests of one workload and repeat stand together, in order of t0. */
static int by_repeat(const void *a, const void *b)
{
    const struct request *x = *(const struct request *const *)a,
                         *y = *(const struct request *const *)b;
    int order = strcmp(x->ledger->workload, y->ledger->workload);
    if (order != 0)
        return order;
    if (x->repeat != y->repeat)
        return x->repeat < y->repeat ? -1 : 1;
    return (x > y) - (x < y);
}

/* A repeat of a workload: its requests, and the time that those took that count. */
struct repeat {
    struct request **v;
    size_t n;
    int64_t t_ns, end_ns;  /* end before start: all is warm-up */
    struct repeat *joined; /* the first of those it overlaps with, or itself */
    size_t repeats;        /* of a first one: that joined it, itself included */
    size_t run;
};

static bool same_repeat(const struct request *x, const struct request *y)
{
    return x->repeat == y->repeat && strcmp(x->ledger->workload, y->ledger->workload) == 0;
}

static void measure_repeat(struct repeat *s)
{
    s->t_ns = INT64_MAX;
    s->end_ns = INT64_MIN;
    for (size_t i = 0; i < s->n; i++) {
        const struct request *r = s->v[i];
        if (r->warmup)
            continue;
        s->t_ns = r->t0 < s->t_ns ? r->t0 : s->t_ns;
        s->end_ns = r->t_end > s->end_ns ? r->t_end : s->end_ns;
    }
}

static size_t make_repeats(struct request **members, size_t n, struct repeat *repeats)
{
    size_t made = 0;
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && same_repeat(members[k], members[i]);)
            k++;
        repeats[made] = (struct repeat){.v = &members[i], .n = k - i};
        measure_repeat(&repeats[made++]);
    }
    return made;
}

static int by_time(const void *a, const void *b)
{
    const struct repeat *x = a, *y = b;
    int order = strcmp(x->v[0]->ledger->workload, y->v[0]->ledger->workload);
    if (order != 0)
        return order;
    if (x->t_ns != y->t_ns)
        return x->t_ns < y->t_ns ? -1 : 1;
    return (x->v[0] > y->v[0]) - (x->v[0] < y->v[0]);
}

/* Do they share more of their time than what a late start or a slow answer makes of repeats that
 * were meant to follow each other? x began first. */
static bool overlap(const struct repeat *x, const struct repeat *y)
{
    static const double slack = 0.05; /* of the shorter one: its figures are off by no more */
    int64_t end_ns = x->end_ns < y->end_ns ? x->end_ns : y->end_ns;
    int64_t a = x->end_ns - x->t_ns, b = y->end_ns - y->t_ns;
    return (double)(end_ns - y->t_ns) > slack * (double)(a < b ? a : b);
}

/* Repeats that overlap in time are one run: each by itself, its requests would have the server to
 * themselves in no figure, and all together more time than there was. */
static void join_repeats(struct repeat *repeats, size_t n)
{
    struct repeat *open = NULL;
    for (size_t i = 0; i < n; i++) {
        struct repeat *s = &repeats[i];
        s->joined = s;
        s->repeats = 1;
        if (s->end_ns < s->t_ns)
            continue;
        if (open == NULL || !overlap(open, s) ||
            strcmp(s->v[0]->ledger->workload, open->v[0]->ledger->workload) != 0) {
            open = s;
            continue;
        }
        s->joined = open;
        open->repeats++;
        open->end_ns = s->end_ns > open->end_ns ? s->end_ns : open->end_ns;
        if (s->v[0] < open->v[0]) { /* its warm-up was before */
            struct request **v = s->v;
            size_t members = s->n;
            s->v = open->v;
            s->n = open->n;
            open->v = v;
            open->n = members;
        }
    }
}

/* Runs stand in order of their first request. */
static int by_first(const void *a, const void *b)
{
    const struct request *x = (*(const struct repeat *const *)a)->v[0];
    const struct request *y = (*(const struct repeat *const *)b)->v[0];
    return (x > y) - (x < y);
}

/* A run of each workload and repeat in the ledger. */
static void make_ledger_runs(struct part *p)
{
    struct request **members = mem_array(p->n + 1, sizeof *members);
    size_t n = 0, runs = 0;
    for (size_t i = 0; i < p->n; i++) {
        if (p->v[i].dialect != NULL && p->v[i].ledger != NULL)
            members[n++] = &p->v[i];
    }
    qsort(members, n, sizeof *members, by_repeat);
    struct repeat *repeats = mem_array(n + 1, sizeof *repeats);
    struct repeat **firsts = mem_array(n + 1, sizeof *firsts);
    size_t made = make_repeats(members, n, repeats);
    qsort(repeats, made, sizeof *repeats, by_time);
    join_repeats(repeats, made);
    for (size_t i = 0; i < made; i++) {
        if (repeats[i].joined == &repeats[i])
            firsts[runs++] = &repeats[i];
    }
    qsort(firsts, runs, sizeof *firsts, by_first);
    for (size_t i = 0; i < runs; i++) {
        const struct request *r = firsts[i]->v[0];
        firsts[i]->run =
            run_new(p, r, known(r->ledger->workload), firsts[i]->repeats > 1 ? -1 : r->repeat);
        p->a->runs.v[firsts[i]->run].repeats = firsts[i]->repeats;
    }
    for (size_t i = 0; i < made; i++) {
        for (size_t k = 0; k < repeats[i].n; k++)
            repeats[i].v[k]->run = repeats[i].joined->run;
    }
    free(firsts);
    free(repeats);
    free(members);
}

/* Requests without a ledger entry: one run, or one after each silence. */
static void make_inferred_runs(struct part *p)
{
    size_t run = RUN_NONE;
    int64_t end_ns = 0, members = 0;
    for (size_t i = 0; i < p->n; i++) {
        struct request *r = &p->v[i];
        if (r->dialect == NULL || r->ledger != NULL)
            continue;
        if (run == RUN_NONE || (p->o->run_gap_ns > 0 && r->t0 - end_ns > p->o->run_gap_ns)) {
            run = run_new(p, r, NULL, -1);
            members = 0;
        }
        r->run = run;
        r->warmup = members++ < p->o->warmup;
        end_ns = r->t_end > end_ns ? r->t_end : end_ns;
    }
}

static void fill_runs(struct part *p)
{
    for (size_t i = 0; i < p->n; i++) {
        struct request *r = &p->v[i];
        if (r->run == RUN_NONE)
            continue;
        struct run *run = &p->a->runs.v[r->run];
        if (run->model == NULL)
            run->model = r->model;
        if (r->t_end > run->end_ns)
            run->end_ns = r->t_end;
        if (!r->warmup)
            VEC_PUSH(&run->requests, p->first + i);
    }
}

/* The place in the run of the request with that index; runs list their requests in rising order. */
static size_t place_in(const struct run *run, size_t index)
{
    size_t lo = 0, hi = run->requests.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (run->requests.v[mid] < index)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static int by_group(const void *a, const void *b)
{
    const struct request *x = *(const struct request *const *)a,
                         *y = *(const struct request *const *)b;
    if (x->ledger->group != y->ledger->group)
        return x->ledger->group < y->ledger->group ? -1 : 1;
    return (x > y) - (x < y);
}

/* The ledger's groups, numbered in order of their first member; a group of one is none. For a
 * moment, group holds the place of that first member in the run. */
static void group_by_ledger(struct audit *a, const struct run *run)
{
    size_t n = 0;
    struct request **members = mem_array(run->requests.n + 1, sizeof *members);
    for (size_t i = 0; i < run->requests.n; i++) {
        struct request *r = &a->requests.v[run->requests.v[i]];
        if (r->ledger->group >= 0)
            members[n++] = r;
    }
    qsort(members, n, sizeof *members, by_group);
    for (size_t i = 0; i < n;) {
        size_t k = i + 1;
        while (k < n && members[k]->ledger->group == members[i]->ledger->group)
            k++;
        for (size_t m = i; m < k && k - i > 1; m++)
            members[m]->group = members[i] - a->requests.v;
        i = k;
    }
    free(members);
    int64_t *number = mem_array(run->requests.n + 1, sizeof *number);
    int64_t next = 0;
    for (size_t i = 0; i < run->requests.n; i++) {
        struct request *r = &a->requests.v[run->requests.v[i]];
        if (r->group < 0)
            continue;
        size_t first = place_in(run, (size_t)r->group);
        if (first == i)
            number[i] = next++;
        r->group = number[first];
    }
    free(number);
}

/* Requests sent within group_ns of the first, while it was still running: quick ones that follow
 * each other were not released together. */
static void group_by_time(struct audit *a, const struct run *run, int64_t within_ns)
{
    int64_t next = 0;
    for (size_t i = 0; i < run->requests.n;) {
        struct request *first = &a->requests.v[run->requests.v[i]];
        size_t k = i + 1;
        for (; k < run->requests.n; k++) {
            struct request *other = &a->requests.v[run->requests.v[k]];
            if (other->t0 - first->t0 > within_ns || other->t0 >= first->t_end)
                break;
            first->group = other->group = next;
        }
        next += first->group >= 0;
        i = k;
    }
}

/* Company: someone else was in flight. The one that ends last among those before is enough to look
 * at, since all others in flight with it have been seen together already. */
static void find_company(struct part *p)
{
    struct request *last = NULL;
    for (size_t i = 0; i < p->n; i++) {
        struct request *r = &p->v[i];
        if (r->dialect == NULL)
            continue;
        r->alone = true;
        if (last != NULL && r->t0 < last->t_end)
            r->alone = last->alone = false;
        if (last == NULL || r->t_end > last->t_end)
            last = r;
    }
}

/* What the ledger has and the wire has not. */
static void list_unseen(struct part *p)
{
    struct trace_info *t = &p->a->traces.v[p->trace];
    if (t->ledger.n == 0)
        return;
    bool *seen = mem_zalloc(t->ledger.n);
    for (size_t i = 0; i < p->n; i++) {
        if (p->v[i].ledger != NULL)
            seen[p->v[i].ledger - t->ledger.v] = true;
    }
    for (size_t i = 0; i < t->ledger.n; i++) {
        if (!seen[i])
            VEC_PUSH(&t->unseen, &t->ledger.v[i]);
    }
    free(seen);
}

static void find_in_trace(struct part *p)
{
    p->first_run = p->a->runs.n;
    if (p->a->traces.v[p->trace].ledger.n > 0 && join_by_place(p) == 0)
        join_by_order(p);
    list_unseen(p);
    make_ledger_runs(p);
    make_inferred_runs(p);
    fill_runs(p);
    find_company(p);
    for (size_t i = p->first_run; i < p->a->runs.n; i++) {
        if (p->a->runs.v[i].inferred)
            group_by_time(p->a, &p->a->runs.v[i], p->o->group_ns);
        else
            group_by_ledger(p->a, &p->a->runs.v[i]);
    }
}

void runs_find(struct audit *a, const struct audit_options *o)
{
    size_t first = 0;
    relays_find(a);
    for (size_t t = 0; t < a->traces.n; t++) {
        size_t end = first;
        while (end < a->requests.n && a->requests.v[end].trace == t)
            end++;
        struct request *requests = end > first ? a->requests.v + first : NULL;
        struct part p = {a, o, t, requests, first, end - first, 0};
        find_in_trace(&p);
        first = end;
    }
    retries_find(a);
}
