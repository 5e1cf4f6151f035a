/* Every set that has as many requests as the file says, whose tokens add up to its own, and so on:
 * in all of a trace, in its runs, and of those in a row, of each model by itself. */
#include "analyze/claims_sets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/base/clock.h"
#include "traces/base/mem.h"

enum {
    SURPLUS_MOST = 1000,   /* requests that a file is not about, to look for those it is */
    STEPS_MOST = 50000000, /* of the search */
    MODELS_MOST = 16
};

/* Of a tool's duration against the bytes: it begins before the first request and ends behind the
 * last. */
#define EARLY_S 2e-3
#define LATE_S 0.1
#define LATE_SHARE 0.02

struct list {
    const size_t *v;
    size_t n;
};

static double stated(const struct file_summary *s, enum figure_id id, enum file_stat stat)
{
    const struct file_figure *f = file_find(s, id, stat);
    return f != NULL ? f->v : NAN;
}

/* As a tool counts, which looks for no finish. */
static bool is_good(const struct request *r)
{
    return r->outcome == OUTCOME_SUCCESS || (r->outcome == OUTCOME_NO_FINISH && r->out.n > 0);
}

size_t sets_successes(const struct binder *b, const size_t *v, size_t n)
{
    size_t good = 0;
    for (size_t i = 0; i < n; i++)
        good += is_good(sets_nth(b, v, i));
    return good;
}

static int64_t end_of(const struct request *r)
{
    return r->z >= 0 ? r->z : r->t_end;
}

/* --- what a set says of itself ---------------------------------------------------------------- */

/* Do their tokens add up to what the file says? */
static bool tokens_agree(const struct seeker *k, const size_t *v, size_t n)
{
    double in = 0, out = 0;
    for (size_t i = 0; i < n; i++) {
        const struct request *r = sets_nth(k->b, v, i);
        if (!is_good(r))
            continue;
        in += r->usage.prompt >= 0 ? (double)r->usage.prompt : NAN;
        out += request_tokens(r) >= 0 ? (double)request_tokens(r) : NAN;
    }
    return in == stated(k->s, F_INPUT_SUM, FILE_SUM) || out == stated(k->s, F_OUTPUT_SUM, FILE_SUM);
}

/* From the first of them to the last text, or to the last end, as the file's duration has it? */
static bool lasts_as_stated(const struct seeker *k, const size_t *v, size_t n)
{
    int64_t text = -1, end = -1, first = sets_nth(k->b, v, 0)->t0;
    for (size_t i = 0; i < n; i++) {
        const struct request *r = sets_nth(k->b, v, i);
        int64_t om = is_good(r) ? formula_when(r, AT_OM) : -1;
        text = om > text ? om : text;
        end = end_of(r) > end ? end_of(r) : end;
    }
    double least = (double)((text >= 0 ? text : end) - first) / NS_PER_S;
    double most = (double)(end - first) / NS_PER_S;
    return k->duration >= least - EARLY_S && k->duration <= most + fmax(LATE_S, LATE_SHARE * most);
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Never more at a time than the file allows? */
static bool within_cap(const struct seeker *k, const size_t *v, size_t n)
{
    if (isnan(k->cap) || k->cap < 1 || k->cap >= (double)n)
        return true;
    int64_t *ends = mem_array(n, sizeof *ends);
    size_t ended = 0, most = 0;
    for (size_t i = 0; i < n; i++)
        ends[i] = end_of(sets_nth(k->b, v, i));
    qsort(ends, n, sizeof *ends, by_time);
    for (size_t i = 0; i < n; i++) {
        while (ended < n && ends[ended] <= sets_nth(k->b, v, i)->t0)
            ended++;
        most = i + 1 > ended + most ? i + 1 - ended : most;
    }
    free(ends);
    return (double)most <= k->cap;
}

static int by_index(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* All requests that rows are joined to; lists are in rising order. */
static bool has_rows(const struct seeker *k, const size_t *v, size_t n)
{
    for (size_t i = 0; k->row_of != NULL && i < k->s->rows.n; i++) {
        if (k->row_of[i] != ROW_UNJOINED &&
            bsearch(&k->row_of[i], v, n, sizeof *v, by_index) == NULL)
            return false;
    }
    return true;
}

static void add_set(struct seeker *k, struct set x)
{
    for (size_t i = 0; i < k->sets.n; i++) {
        const struct set *y = &k->sets.v[i];
        if (y->n == x.n && y->v[0] == x.v[0] && y->v[y->n - 1] == x.v[x.n - 1])
            return;
    }
    if (k->tokens && !tokens_agree(k, x.v, x.n))
        return;
    x.lasts = isnan(k->duration) || lasts_as_stated(k, x.v, x.n);
    bool told = k->tokens || !isnan(k->duration);
    bool wanted =
        x.standing == ALONE || x.last || (x.lasts && told && k->found[x.standing]++ < TRIED_MOST);
    if (wanted && within_cap(k, x.v, x.n) && has_rows(k, x.v, x.n))
        VEC_PUSH(&k->sets, x);
}

/* --- where they are looked for ---------------------------------------------------------------- */

/* Of GenAI-Perf, which counts requests without a response too, either may be meant. */
static bool as_many(const struct seeker *k, const size_t *v, size_t n)
{
    bool all = k->s->tool == &tool_genai_perf && k->done == (double)n;
    return n > 0 && (all || k->done == (double)sets_successes(k->b, v, n));
}

/* A list with what is looked up of its parts. */
struct row {
    struct list l;
    size_t *good;  /* of the requests before each */
    int64_t *idle; /* silence before each, after all before it have ended; < 0: one was running */
};

static struct row row_of_list(const struct seeker *k, struct list l)
{
    struct row w = {l, mem_array(l.n + 1, sizeof *w.good), mem_array(l.n + 1, sizeof *w.idle)};
    int64_t end = INT64_MIN;
    w.good[0] = 0;
    for (size_t i = 0; i < l.n; i++) {
        const struct request *r = sets_nth(k->b, l.v, i);
        w.good[i + 1] = w.good[i] + is_good(r);
        w.idle[i] = i == 0 ? INT64_MAX : r->t0 - end;
        end = end_of(r) > end ? end_of(r) : end;
    }
    w.idle[l.n] = INT64_MAX;
    return w;
}

/* Behind the last of the requests from `from` on that are as many as the file says; 0: there are
 * not. */
static size_t end_of_as_many(const struct seeker *k, const struct row *w, size_t from)
{
    size_t wanted = (size_t)k->done, lo = from + 1, hi = w->l.n;
    bool genai = k->s->tool == &tool_genai_perf;
    if (!isnan(k->failed) || genai) {
        size_t n = wanted + (isnan(k->failed) || genai ? 0 : (size_t)k->failed);
        bool fits = n > 0 && n <= w->l.n - from;
        return fits && (genai || w->good[from + n] - w->good[from] == wanted) ? from + n : 0;
    }
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (w->good[mid] - w->good[from] < wanted)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo <= w->l.n && w->good[lo] - w->good[from] == wanted ? lo : 0;
}

static enum standing standing_of(const struct row *w, size_t from, size_t end)
{
    int64_t around = w->idle[from] < w->idle[end] ? w->idle[from] : w->idle[end];
    if (around < 0)
        return AMONG_OTHERS;
    for (size_t i = from + 1; i < end; i++) {
        if (w->idle[i] >= around)
            return APART;
    }
    return ALONE;
}

/* Sets that stand for themselves are few, and looked for in all; others only where they are not
 * many. */
static void look_in_a_row(struct seeker *k, struct list l)
{
    size_t n = (size_t)k->done;
    if (n == 0 || n > l.n)
        return;
    struct row w = row_of_list(k, l);
    bool few = l.n - n <= SURPLUS_MOST && n * (l.n - n + 1) <= STEPS_MOST;
    for (size_t i = 0; i + n <= l.n; i++) {
        size_t end = end_of_as_many(k, &w, i);
        if (end == 0)
            continue;
        enum standing how = standing_of(&w, i, end);
        bool last = end == l.n && how != AMONG_OTHERS;
        if (few || last || how == ALONE)
            add_set(k, (struct set){.v = l.v + i, .n = end - i, .standing = how, .last = last});
    }
    free(w.good);
    free(w.idle);
}

bool sets_is_model(const struct request *r, const char *model)
{
    return r->model != NULL && strcmp(r->model, model) == 0;
}

static struct list part_of(const struct seeker *k, size_t trace, const char *model)
{
    size_t *v = arena_alloc(&k->b->a->texts, (k->b->all.n + 1) * sizeof *v), n = 0;
    for (size_t i = 0; i < k->b->all.n; i++) {
        const struct request *r = sets_nth(k->b, k->b->all.v, i);
        if (r->trace == trace && (model == NULL || sets_is_model(r, model)))
            v[n++] = k->b->all.v[i];
    }
    return (struct list){v, n};
}

static void look_in(struct seeker *k, size_t trace, const char *model)
{
    struct list l = part_of(k, trace, model);
    if (as_many(k, l.v, l.n))
        add_set(k, (struct set){.v = l.v, .n = l.n, .standing = ALONE, .last = true});
    look_in_a_row(k, l);
}

static void look_in_runs(struct seeker *k)
{
    const struct audit *a = k->b->a;
    int64_t trace = k->b->o->claim_trace;
    for (size_t i = 0; i < a->runs.n; i++) {
        const struct run *r = &a->runs.v[i];
        bool meant = trace == 0 || (size_t)trace == r->trace + 1;
        if (meant && as_many(k, r->requests.v, r->requests.n))
            add_set(k, (struct set){r->requests.v, r->requests.n, ALONE, false, false, r});
    }
}

/* In each trace by itself; of its requests, those of the file's model, where there are such, and
 * else of each model by itself too. */
void sets_find(struct seeker *k)
{
    const struct audit *a = k->b->a;
    const char *models[MODELS_MOST];
    size_t n = 0;
    bool named = false;
    for (size_t i = 0; i < k->b->all.n; i++) {
        const char *model = sets_nth(k->b, k->b->all.v, i)->model;
        bool seen = model == NULL;
        named |= !k->any_model && model != NULL && k->s->model != NULL &&
                 strcmp(model, k->s->model) == 0;
        for (size_t m = 0; m < n && !seen; m++)
            seen = strcmp(models[m], model) == 0;
        if (!seen && n < MODELS_MOST)
            models[n++] = model;
    }
    k->named = named && n > 1;
    if (as_many(k, k->b->all.v, k->b->all.n))
        add_set(k, (struct set){k->b->all.v, k->b->all.n, ALONE, true, false, NULL});
    if (!k->named)
        look_in_runs(k);
    for (size_t t = 0; t < a->traces.n; t++) {
        look_in(k, t, k->named ? k->s->model : NULL);
        for (size_t m = 0; m < n && n > 1 && !k->named; m++)
            look_in(k, t, models[m]);
    }
}
