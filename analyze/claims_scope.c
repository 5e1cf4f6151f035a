/* Which requests of a trace a result file is about: those that all fit that the file says of them,
 * their number, model, tokens, duration, how many ran at a time, and its rows.
 *
 * Where outputs are all of one length, tokens tell nothing; of a load that goes on, many requests
 * in a row last as long as the file says; of two clients at once neither sent requests in a row. So
 * a set of requests accuses a file only if it stands for itself: a trace, a run, or what a silence
 * longer than any within it sets apart, and what comes behind a warm-up. Any other is taken only if
 * the file's figures, all of them, hold for it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/claims_sets.h"
#include "traces/base/clock.h"

enum { TRIED_REQUESTS = 2000000 }; /* of all sets whose figures are held against the file's */

#define SHARE_OF_BEST                                                                              \
    0.67 /* of the figures that are decided: so many hold for the file's own set */

static double stated(const struct file_summary *s, enum figure_id id, enum file_stat stat)
{
    const struct file_figure *f = file_find(s, id, stat);
    return f != NULL ? f->v : NAN;
}

static size_t finished(const struct binder *b, const size_t *v, size_t n)
{
    size_t good = 0;
    for (size_t i = 0; i < n; i++)
        good += sets_nth(b, v, i)->outcome == OUTCOME_SUCCESS;
    return good;
}

static void keep(const struct binder *b, struct claim_basis *x, const size_t *v, size_t n)
{
    size_t *kept = arena_alloc(&b->a->texts, (n > 0 ? n : 1) * sizeof *kept);
    if (n > 0)
        memcpy(kept, v, n * sizeof *kept);
    x->requests = kept;
    x->n = n;
}

/* --- which of them ---------------------------------------------------------------------------- */

struct tally {
    size_t confirmed, against;
};

static bool tells_sets_apart(enum figure_id id)
{
    return id != F_COMPLETED && id != F_FAILED && id != F_INPUT_SUM && id != F_OUTPUT_SUM;
}

/* Holds the file's figures against a set; stops at the first that it speaks against if once. */
static struct tally try_set(const struct seeker *k, const struct set *set, bool once)
{
    struct tally t = {0, 0};
    struct claim_basis scope = {
        .step_quantiles = k->s->tool->step_quantiles, .requests = set->v, .n = set->n};
    for (size_t i = 0; i < k->s->figures.n && !(once && t.against > 0); i++) {
        const struct file_figure *f = &k->s->figures.v[i];
        struct claim_figure c;
        if (!bind_figure(k->b, k->s, f, &scope, &c))
            continue;
        enum verdict v = claims_verdict_of(k->b->a, k->b->o, &c, k->b->bounds);
        t.confirmed += v == VERDICT_CONFIRMED && tells_sets_apart(f->id);
        t.against += v == VERDICT_DIFFERS || v == VERDICT_IMPOSSIBLE;
    }
    return t;
}

static size_t may_try(const struct seeker *k)
{
    size_t n = (size_t)k->done > 0 ? TRIED_REQUESTS / (size_t)k->done : TRIED_MOST;
    return n < 1 ? 1 : n < TRIED_MOST ? n : TRIED_MOST;
}

/* The one that all figures hold for. */
static const struct set *find_agreeing(const struct seeker *k)
{
    size_t tried = 0;
    for (int how = ALONE; how <= AMONG_OTHERS; how++) {
        for (size_t i = 0; i < k->sets.n; i++) {
            const struct set *x = &k->sets.v[i];
            if ((int)x->standing != how || !x->lasts || tried++ >= may_try(k))
                continue;
            struct tally t = try_set(k, x, true);
            if (t.against == 0 && t.confirmed > 0)
                return x;
        }
    }
    return NULL;
}

static bool stands(const struct set *x, bool lasting)
{
    return (x->standing == ALONE || x->last) && (x->lasts || !lasting);
}

/* Of those that stand for themselves the one that by far the most figures hold for. */
static const struct set *find_standing(const struct seeker *k)
{
    size_t n = 0;
    const struct set *best = NULL;
    struct tally most = {0, 0};
    bool lasting = false, tie = false;
    for (size_t i = 0; i < k->sets.n; i++)
        lasting |= stands(&k->sets.v[i], true) && !isnan(k->duration);
    for (size_t i = 0; i < k->sets.n; i++)
        n += stands(&k->sets.v[i], lasting);
    if (n > may_try(k) || (!lasting && !k->tokens))
        return NULL;
    for (size_t i = 0; i < k->sets.n; i++) {
        const struct set *x = &k->sets.v[i];
        if (!stands(x, lasting))
            continue;
        if (n == 1 && !k->several)
            return x;
        struct tally t = try_set(k, x, false);
        tie = t.confirmed == most.confirmed || (tie && t.confirmed < most.confirmed);
        if (t.confirmed > most.confirmed) {
            most = t;
            best = x;
        }
    }
    double decided = (double)(most.confirmed + most.against);
    return best != NULL && !tie && (double)most.confirmed >= SHARE_OF_BEST * decided ? best : NULL;
}

static const char *words_of(const struct seeker *k, const struct set *x)
{
    struct audit *a = k->b->a;
    size_t all = k->b->all.n;
    bool lasts = !isnan(k->duration) && x->lasts;
    const char *why = k->tokens && lasts ? "whose tokens and duration are the file's"
                      : k->tokens        ? "whose tokens add up to the file's"
                      : lasts            ? "which last as long as the file says"
                                         : "of which it has as many";
    if (x->run != NULL && a->runs.n > 1)
        return audit_printf(a, "run %zu with %zu requests, %s", x->run->id, x->n, why);
    if (x->v[x->n - 1] == k->b->all.v[all - 1])
        return audit_printf(a, "the last %zu of %zu requests, %s", x->n, all, why);
    return audit_printf(a, "%zu of %zu requests, from %zu to %zu, %s", x->n, all,
                        sets_nth(k->b, x->v, 0)->id, sets_nth(k->b, x->v, x->n - 1)->id, why);
}

/* --- all ---------------------------------------------------------------------------------------
 */

/* Of requests in a window those for the file's model, if there are such: v is overwritten. */
static size_t of_model(const struct binder *b, const char *model, size_t *v, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        kept += model != NULL && sets_is_model(sets_nth(b, v, i), model);
    if (kept == 0)
        return n;
    for (size_t i = kept = 0; i < n; i++) {
        if (sets_is_model(sets_nth(b, v, i), model))
            v[kept++] = v[i];
    }
    return kept;
}

static bool by_window(const struct binder *b, const struct file_summary *s, struct claim_basis *x)
{
    double from = stated(s, F_STARTED, FILE_VALUE), to = stated(s, F_ENDED, FILE_VALUE);
    if (!(from < to))
        return false;
    size_t first = 0, end = 0;
    for (size_t i = 0; i < b->all.n; i++) {
        double t = (double)sets_nth(b, b->all.v, i)->t0 / NS_PER_S;
        first += t < from - 0.05;
        end += t <= to;
    }
    if (end <= first)
        return false;
    size_t *v = arena_alloc(&b->a->texts, (end - first) * sizeof *v);
    memcpy(v, b->all.v + first, (end - first) * sizeof *v);
    x->n = of_model(b, s->model, v, end - first);
    x->requests = v;
    x->which = audit_printf(b->a, "%zu requests between the file's start and end", x->n);
    double done = stated(s, F_COMPLETED, FILE_VALUE);
    if (!isnan(done) && done != (double)finished(b, x->requests, x->n) &&
        done != (double)sets_successes(b, x->requests, x->n))
        x->unscoped =
            audit_printf(b->a,
                         "the file is about %g successful requests; between its start and "
                         "end the trace holds %zu",
                         done, finished(b, x->requests, x->n));
    return true;
}

/* All its figures hold for requests for another model than it names: for which they were sent, who
 * wrote the file may have mistaken. */
static bool is_of_other_model(const struct seeker *k, struct claim_basis *x)
{
    struct seeker other = *k;
    other.any_model = true;
    memset(other.found, 0, sizeof other.found);
    memset(&other.sets, 0, sizeof other.sets);
    sets_find(&other);
    const struct set *found = find_agreeing(&other);
    if (found != NULL)
        x->unscoped = audit_printf(k->b->a,
                                   "the file is about %g successful requests for the model %s, "
                                   "and its figures are those of %s, which are for another",
                                   k->done, k->s->model, words_of(&other, found));
    VEC_FREE(&other.sets);
    return found != NULL;
}

static int by_index(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* The requests that its rows are, where these are all that it is about. */
static bool by_rows(const struct seeker *k, struct claim_basis *x)
{
    double cancelled = stated(k->s, F_CANCELLED, FILE_VALUE);
    size_t n = 0, *v = NULL;
    if (k->row_of == NULL || k->failed > 0 || cancelled > 0 || k->done != (double)k->s->joined)
        return false;
    v = arena_alloc(&k->b->a->texts, (k->s->joined + 1) * sizeof *v);
    for (size_t i = 0; i < k->s->rows.n && n < k->s->joined; i++) {
        if (k->row_of[i] != ROW_UNJOINED)
            v[n++] = k->row_of[i];
    }
    if (n == 0 || k->done != (double)sets_successes(k->b, v, n))
        return false;
    qsort(v, n, sizeof *v, by_index);
    x->requests = v;
    x->n = n;
    x->which = audit_printf(k->b->a, "the %zu requests that its rows are", n);
    x->unscoped = NULL;
    return true;
}

static bool by_search(struct seeker *k, struct claim_basis *x)
{
    sets_find(k);
    const struct set *found = find_agreeing(k);
    if (found == NULL && k->named && is_of_other_model(k, x))
        return true;
    if (found == NULL)
        found = find_standing(k);
    if (found != NULL) {
        keep(k->b, x, found->v, found->n);
        x->which = words_of(k, found);
    }
    return found != NULL;
}

static bool takes_all(const struct binder *b, const struct seeker *k, bool several)
{
    double sent = stated(k->s, F_REQUESTED, FILE_VALUE);
    double last = k->done + (isnan(k->failed) ? 0 : k->failed);
    return (isnan(sent) ? last : sent) == (double)b->all.n && !several;
}

/* How many requests there are; 0: the file is about none. */
static bool is_number(double x)
{
    return x >= 1 && x < 1e9 && x == floor(x);
}

void bind_scope(const struct binder *b, const struct file_summary *s, const size_t *row_of,
                bool several, struct claim_basis *x)
{
    struct seeker k = {.b = b,
                       .s = s,
                       .row_of = row_of,
                       .several = several,
                       .done = stated(s, F_COMPLETED, FILE_VALUE),
                       .failed = stated(s, F_FAILED, FILE_VALUE),
                       .duration = stated(s, F_DURATION, FILE_VALUE),
                       .cap = stated(s, F_CAP, FILE_VALUE)};
    if (!is_number(k.failed) && k.failed != 0)
        k.failed = NAN;
    size_t all = b->all.n, good = finished(b, b->all.v, all);
    k.tokens =
        !isnan(stated(s, F_INPUT_SUM, FILE_SUM)) || !isnan(stated(s, F_OUTPUT_SUM, FILE_SUM));
    bool is_all = k.done == (double)good || k.done == (double)sets_successes(b, b->all.v, all);
    if (s->batches != NULL) {
        keep(b, x, s->batches, s->rows.n);
        x->which = audit_printf(b->a,
                                "the %zu requests whose times to the first event fit the file's, "
                                "batch by batch",
                                s->rows.n);
    } else if (by_window(b, s, x)) {
        if (x->unscoped != NULL)
            by_rows(&k, x);
    } else if (isnan(k.done)) { /* any part of the trace may be meant */
        if (several)
            x->unscoped = "the file holds several results, and does not say of how many requests "
                          "each of them is";
    } else if (!several && is_all) {
        keep(b, x, b->all.v, all);
    } else if (by_rows(&k, x) || (is_number(k.done) && by_search(&k, x))) {
        ; /* found */
    } else if (takes_all(b, &k, several)) {
        keep(b, x, b->all.v, all);
        x->which = audit_printf(
            b->a, "all %zu requests of the trace, since the file has as many, answered or not",
            all);
    } else if (is_all) {
        x->unscoped = "the file holds several results, and what this one says does not tell that "
                      "it is about the trace's requests";
    } else {
        x->unscoped = audit_printf(
            b->a,
            "the file is about %g successful requests, and of the trace's %zu requests %zu "
            "succeeded: which are meant is not known",
            k.done, all, good);
    }
    VEC_FREE(&k.sets);
}
