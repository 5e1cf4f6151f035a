/* speedup = the median over groups released together of (sum of N / (last output event - first
 * t0)), divided by the median e2e_output_tps of the same requests sent alone to the same
 * server: 1.0 is a plain queue. */
#include "analyze/metrics_speedup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics.h"
#include "analyze/stat.h"
#include "traces/base/clock.h"
#include "traces/base/mem.h"

static void add_member(struct release_group *g, const struct request *r)
{
    if (g->members == 0) {
        g->run = r->run + 1;
        g->group = r->group;
        g->first_t0 = g->last_t0 = r->t0;
        g->last_output = -1;
        g->clock_epoch = r->clock_epoch;
        g->counts = true;
    }
    g->members++;
    g->first_t0 = r->t0 < g->first_t0 ? r->t0 : g->first_t0;
    g->last_t0 = r->t0 > g->last_t0 ? r->t0 : g->last_t0;
    int64_t last = r->out.n > 0 ? r->out.v[r->out.n - 1].t_ns : -1;
    g->last_output = last > g->last_output ? last : g->last_output;
    g->clock_stepped |= r->clock_stepped || r->clock_epoch != g->clock_epoch;
    g->counts &=
        !g->clock_stepped && metrics_request_counts(r) && last >= 0 && request_tokens(r) >= 0;
    g->tokens += request_tokens(r) >= 0 ? request_tokens(r) : 0;
}

/* Groups of a run are numbered from 0, and the scope stands run by run. */
size_t release_groups(const struct audit *a, const struct run_scope *s, struct release_group **out)
{
    VEC(struct release_group) groups = {0};
    size_t base = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct request *r = &a->requests.v[s->requests[i]];
        if (i > 0 && r->run != a->requests.v[s->requests[i - 1]].run)
            base = groups.n;
        if (r->group < 0)
            continue;
        while (groups.n <= base + (size_t)r->group)
            VEC_PUSH(&groups, ((struct release_group){0}));
        add_member(&groups.v[base + (size_t)r->group], r);
    }
    *out = groups.v;
    return groups.n;
}

typedef VEC(double) rates;

static void group_rates(const struct audit *a, const struct run_scope *s, rates *out,
                        size_t *left_out)
{
    struct release_group *groups;
    size_t n = release_groups(a, s, &groups);
    for (size_t i = 0; i < n; i++) {
        const struct release_group *g = &groups[i];
        if (g->counts && g->last_output > g->first_t0)
            VEC_PUSH(out, (double)g->tokens * NS_PER_S / (double)(g->last_output - g->first_t0));
        else
            ++*left_out;
    }
    free(groups);
}

/* Whose requests a group is held against. */
struct peers {
    const struct request *like; /* a member of the groups */
    bool any_vantage;
};

static bool is_single(const struct audit *a, const struct request *r, const struct peers *p)
{
    return r->alone && r->group < 0 && metrics_request_counts(r) &&
           model_same_server(a, r, p->like) &&
           r->metrics[M_E2E_OUTPUT_TPS].grade != GRADE_NOT_MEASURABLE &&
           (p->any_vantage ||
            model_same_text(a->traces.v[r->trace].vantage, a->traces.v[p->like->trace].vantage));
}

/* One run recorded from two vantages gives two traces of the same requests: those of the groups'
 * own vantage are taken, where there are any. */
static struct peers peers_of(const struct audit *a, const struct request *like)
{
    struct peers p = {like, false};
    for (size_t i = 0; i < a->requests.n; i++) {
        if (is_single(a, &a->requests.v[i], &p))
            return p;
    }
    p.any_vantage = true;
    return p;
}

/* What makes a request "the same" in a group and alone, best first. */
static const char *by_name(const struct request *r)
{
    return r->name;
}

static const char *by_body(const struct request *r)
{
    return r->body_sha256;
}

static const struct basis {
    const char *(*key)(const struct request *);
    const char *words;
} bases[] = {
    {by_name, "the same names in the ledger"},
    {by_body, "the same request bodies"},
    {NULL, "all requests sent alone: none has the same name or body"},
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

typedef VEC(const char *) texts;

static bool holds(const texts *sorted, const char *key)
{
    return key != NULL && sorted->n > 0 &&
           bsearch(&key, sorted->v, sorted->n, sizeof *sorted->v, by_text) != NULL;
}

static texts keys_of_singles(const struct audit *a, const struct peers *p, const struct basis *b)
{
    texts keys = {0};
    for (size_t i = 0; i < a->requests.n; i++) {
        const struct request *r = &a->requests.v[i];
        if (is_single(a, r, p) && b->key(r) != NULL)
            VEC_PUSH(&keys, b->key(r));
    }
    if (keys.n > 0)
        qsort(keys.v, keys.n, sizeof *keys.v, by_text);
    return keys;
}

static texts keys_of_groups(const struct audit *a, const struct run_scope *s, const struct basis *b)
{
    texts keys = {0};
    for (size_t i = 0; i < s->n; i++) {
        const struct request *r = &a->requests.v[s->requests[i]];
        if (r->group >= 0 && b->key(r) != NULL)
            VEC_PUSH(&keys, b->key(r));
    }
    if (keys.n > 0)
        qsort(keys.v, keys.n, sizeof *keys.v, by_text);
    return keys;
}

/* Was every member of every group also sent alone? */
static bool covers(const struct audit *a, const struct run_scope *s, const struct peers *p,
                   const struct basis *b)
{
    texts keys = keys_of_singles(a, p, b);
    bool all = true;
    for (size_t i = 0; i < s->n && all; i++) {
        const struct request *r = &a->requests.v[s->requests[i]];
        all = r->group < 0 || holds(&keys, b->key(r));
    }
    VEC_FREE(&keys);
    return all;
}

static void single_rates(const struct audit *a, const struct run_scope *s, const struct peers *p,
                         const struct basis *b, rates *out)
{
    texts wanted = {0};
    if (b->key != NULL)
        wanted = keys_of_groups(a, s, b);
    for (size_t i = 0; i < a->requests.n; i++) {
        const struct request *r = &a->requests.v[i];
        if (is_single(a, r, p) && (b->key == NULL || holds(&wanted, b->key(r))))
            VEC_PUSH(out, r->metrics[M_E2E_OUTPUT_TPS].v);
    }
    VEC_FREE(&wanted);
}

static const char *in_words(struct audit *a, const struct speedup *x, size_t left_out,
                            const char *basis, double together, double alone)
{
    const char *difference = isnan(x->interval.lo) ? "; too few for an interval"
                             : x->interval.lo <= 1 && x->interval.hi >= 1
                                 ? "; no difference: the interval holds 1"
                                 : "";
    const char *failed =
        left_out == 0 ? "" : audit_printf(a, "; %zu of the groups left out", left_out);
    return audit_printf(a, "%.4g tok/s together (n = %zu), %.4g alone (n = %zu, %s)%s%s", together,
                        x->groups, alone, x->singles, basis, failed, difference);
}

bool speedup_measure(struct audit *a, const struct run_scope *s, struct speedup *out)
{
    *out = (struct speedup){.value = NAN, .interval = {NAN, NAN}};
    const struct request *like = NULL;
    for (size_t i = 0; i < s->n && like == NULL; i++)
        like = a->requests.v[s->requests[i]].group >= 0 ? &a->requests.v[s->requests[i]] : NULL;
    if (like == NULL)
        return false;
    rates groups = {0}, singles = {0};
    size_t left_out = 0;
    group_rates(a, s, &groups, &left_out);
    struct peers p = peers_of(a, like);
    const struct basis *b = bases;
    while (b->key != NULL && !covers(a, s, &p, b))
        b++;
    single_rates(a, s, &p, b, &singles);
    out->alike = b->key != NULL;
    out->groups = groups.n;
    out->singles = singles.n;
    stat_sort(groups.v, groups.n);
    stat_sort(singles.v, singles.n);
    if (groups.n == 0)
        out->reason = "in every group a request failed or stated no token count";
    else if (singles.n == 0)
        out->reason = "no request was sent alone to the same server, in any of these traces";
    else {
        double together = stat_median(groups.v, groups.n),
               alone = stat_median(singles.v, singles.n);
        out->value = together / alone;
        out->interval = stat_bootstrap_ratio(groups.v, groups.n, singles.v, singles.n);
        out->reason = in_words(a, out, left_out, b->words, together, alone);
    }
    VEC_FREE(&groups);
    VEC_FREE(&singles);
    return true;
}
