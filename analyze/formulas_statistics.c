/* Means, sums, zeros and windows of many requests. */
#include "analyze/formulas_statistics.h"

#include <math.h>

#include "analyze/formulas_parts.h"
#include "analyze/metrics.h"

#define VARY 1.1         /* longest over shortest output, from which weights matter */
#define SO_FAR_MOST 4096 /* requests before one, that are looked at for a claim about it */

/* --- weights ---------------------------------------------------------------------------------- */

static const struct formula user_rate = {"", SHAPE_RATE, COUNT_N_LESS_1, AT_O1, AT_OM, false, NULL};
static const struct formula whole_rate = {"", SHAPE_RATE, COUNT_N, AT_T0, AT_OM, false, NULL};

/* An answer that was sent in one go is a mistake of its own. */
static bool any_collected(const struct scope *s)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        if (formula_counts(s, r) && formula_collected(s, r))
            return true;
    }
    return false;
}

static void stat_of_requests(const struct scope *s, const struct formula *f, enum stat stat,
                             struct estimates *out)
{
    struct estimates all = {0};
    struct estimate e;
    if (!s->one && !any_collected(s))
        formula_apply(f, s, NULL, &all);
    estimates_sort(&all);
    if (all.all.n > 1 && estimates_stat(&all, stat, &e)) {
        e.request = NULL;
        e.sign = false;
        estimates_add(out, e);
    }
    estimates_free(&all);
}

void formula_mean_of_whole_rates(const struct scope *s, struct estimates *out)
{
    stat_of_requests(s, &whole_rate, STAT_MEAN, out);
}

void formula_median_of_rates(const struct scope *s, struct estimates *out)
{
    stat_of_requests(s, &user_rate, STAT_P50, out);
}

void formula_median_of_whole_rates(const struct scope *s, struct estimates *out)
{
    stat_of_requests(s, &whole_rate, STAT_P50, out);
}

/* Counts and times of all requests that have both, added up. */
struct sums {
    double count, seconds, later; /* later: by so much may the times be longer or shorter */
    double least, most;           /* of the counts */
    size_t n;
};

static struct sums sums_of(const struct scope *s, enum count count, enum when from, enum when to)
{
    struct sums x = {.least = INFINITY};
    for (size_t i = 0; i < s->requests.n && !s->one; i++) {
        const struct request *r = scope_nth(s, i);
        double n = formula_count(r, count);
        int64_t begin = formula_when(r, from), end = formula_when(r, to);
        if (!formula_counts(s, r) || r->clock_stepped || !(n > 0) || begin < 0 || end < begin)
            continue;
        x.count += n;
        x.seconds += span_seconds(begin, end);
        x.later += span_seconds(0, s->o->vantage_ns);
        x.least = fmin(x.least, n);
        x.most = fmax(x.most, n);
        x.n++;
    }
    return x;
}

static struct interval sums_time(const struct sums *x)
{
    struct interval t = interval_around(x->seconds, x->later);
    t.lo = fmax(t.lo, 0);
    return t;
}

static void add_ratio(struct estimates *out, const struct sums *x)
{
    if (x->n > 1 && x->seconds > 0)
        estimates_add(out, (struct estimate){
                               .value = x->count / x->seconds,
                               .interval = interval_div(interval_exact(x->count), sums_time(x))});
}

static void add_per(struct estimates *out, const struct sums *x)
{
    if (x->n > 1 && x->count > 0)
        estimates_add(out,
                      (struct estimate){.value = x->seconds / x->count,
                                        .interval = interval_scale(sums_time(x), 1 / x->count)});
}

void formula_prompt_ratio(const struct scope *s, struct estimates *out)
{
    struct sums x = sums_of(s, COUNT_P, AT_T0, AT_O1);
    add_ratio(out, &x);
}

void formula_prompt_ratio_uncached(const struct scope *s, struct estimates *out)
{
    struct sums x = sums_of(s, COUNT_P_UNCACHED, AT_T0, AT_O1);
    add_ratio(out, &x);
}

/* Where all are of one length every weighting gives the same. */
static bool vary(const struct sums *x)
{
    return x->n > 1 && x->most >= VARY * x->least;
}

/* Divided by all tokens, the first of each request with them. */
void formula_tpot_of_sums(const struct scope *s, struct estimates *out)
{
    struct sums x = sums_of(s, COUNT_N, AT_O1, AT_OM);
    if (!any_collected(s))
        add_per(out, &x);
}

/* Each request's own time per token, where one between events is claimed. */
void formula_gap_of_requests(const struct scope *s, struct estimates *out)
{
    static const struct formula per_token = {"",    SHAPE_PER, COUNT_N_LESS_1, AT_O1, AT_OM,
                                             false, NULL};
    struct sums x = sums_of(s, COUNT_N_LESS_1, AT_O1, AT_OM);
    if (vary(&x))
        formula_apply(&per_token, s, NULL, out);
}

void formula_gap_of_sums(const struct scope *s, struct estimates *out)
{
    struct sums x = sums_of(s, COUNT_N_LESS_1, AT_O1, AT_OM);
    if (vary(&x))
        add_per(out, &x);
}

/* --- zeros ------------------------------------------------------------------------------------ */

static bool has_window(const struct request *r)
{
    return request_tokens(r) > 1 && r->out.n > 1;
}

/* Answers of one token, or none, that a list of times per token has no place for. */
static bool has_no_window(const struct scope *s, const struct request *r)
{
    return formula_counts(s, r) && request_tokens(r) >= 0 && request_tokens(r) <= 1;
}

/* Those that f gives, and a zero for each of the others; nothing if there are none. */
static void with_zeros(const struct scope *s, const struct formula *f, struct estimates *out)
{
    size_t kept = out->all.n, zeros = 0;
    for (size_t i = 0; i < s->requests.n && !s->one; i++)
        zeros += has_no_window(s, scope_nth(s, i));
    if (zeros == 0)
        return;
    formula_apply(f, s, NULL, out);
    size_t end = kept;
    for (size_t i = kept; i < out->all.n; i++) {
        struct estimate e = out->all.v[i];
        if (e.request != NULL && !has_window(e.request))
            continue;
        e.sign = true;
        out->all.v[end++] = e;
    }
    out->all.n = end;
    for (size_t i = 0; i < s->requests.n && end > kept; i++) {
        if (has_no_window(s, scope_nth(s, i)))
            estimates_add_zero(out, scope_nth(s, i));
    }
}

void formula_tpot_zeros(const struct scope *s, struct estimates *out)
{
    static const struct formula f = {"", SHAPE_PER, COUNT_N_LESS_1, AT_O1, AT_OM, false, NULL};
    with_zeros(s, &f, out);
}

void formula_rate_zeros(const struct scope *s, struct estimates *out)
{
    with_zeros(s, &user_rate, out);
}

void formula_gap_zeros(const struct scope *s, struct estimates *out)
{
    static const struct formula f = {"",      SHAPE_COUNT, COUNT_NONE, AT_NONE,
                                     AT_NONE, true,        formula_icl};
    with_zeros(s, &f, out);
}

/* Those without text, and not known to be still running. */
static bool has_nothing(const struct request *r, bool only_200)
{
    return r->dialect != NULL && r->out.n == 0 && r->outcome != OUTCOME_OPEN &&
           r->outcome != OUTCOME_UNREADABLE && (!only_200 || r->status / 100 == 2);
}

/* What came when the client had left, it never had. */
static bool has_text(const struct request *r)
{
    return r->dialect != NULL && r->out.n > 0 && r->out.v[0].t_ns <= r->t_end;
}

static void ttft_zeros(const struct scope *s, bool only_200, bool failures, struct estimates *out)
{
    size_t zeros = 0, values = 0;
    for (size_t i = 0; i < s->requests.n && !s->one; i++) {
        const struct request *r = scope_nth(s, i);
        zeros += has_nothing(r, only_200);
        values += formula_counts(s, r) && r->out.n > 0;
    }
    for (size_t i = 0; i < s->requests.n && zeros > 0 && values > 0; i++) {
        const struct request *r = scope_nth(s, i);
        if (has_nothing(r, only_200))
            estimates_add_zero(out, r);
        else if (formula_counts(s, r) || (failures && has_text(r)))
            estimates_add_time(out, s, r, r->t0, formula_when(r, AT_O1), true);
    }
}

void formula_ttft_zeros(const struct scope *s, struct estimates *out)
{
    ttft_zeros(s, false, false, out);
}

void formula_ttft_zeros_200(const struct scope *s, struct estimates *out)
{
    ttft_zeros(s, true, false, out);
}

void formula_ttft_zeros_text(const struct scope *s, struct estimates *out)
{
    ttft_zeros(s, false, true, out);
}

void formula_ttft_zeros_text_200(const struct scope *s, struct estimates *out)
{
    ttft_zeros(s, true, true, out);
}

/* --- windows ---------------------------------------------------------------------------------- */

/* All tokens since the start of a run over the time of each request by itself; of one claim about
 * one request, those before it are looked for. */
static double tokens_before(const struct scope *s, const struct request *r)
{
    const struct run *run = r->run < s->a->runs.n ? &s->a->runs.v[r->run] : NULL;
    double n = 0;
    if (run == NULL || run->requests.n > SO_FAR_MOST)
        return NAN;
    for (size_t i = 0; i < run->requests.n; i++) {
        const struct request *before = &s->a->requests.v[run->requests.v[i]];
        if (before->t0 >= r->t0)
            break;
        n += metrics_request_counts(before) ? formula_count(before, COUNT_N) : 0;
    }
    return n;
}

/* One step after the other, each with a time of its own. */
static bool are_steps(const struct scope *s)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        if (formula_counts(s, scope_nth(s, i)) && !scope_nth(s, i)->alone)
            return false;
    }
    return !any_collected(s);
}

static void so_far(const struct scope *s, enum when from, struct estimates *out)
{
    double sum = 0;
    bool steps = are_steps(s);
    for (size_t i = 0; i < s->requests.n && steps; i++) {
        const struct request *r = scope_nth(s, i);
        double n = formula_count(r, COUNT_N);
        if (!formula_counts(s, r) || isnan(n) || r->clock_stepped)
            continue;
        sum = (s->one ? tokens_before(s, r) : sum) + n;
        int64_t begin = formula_when(r, from), end = formula_when(r, AT_OM);
        if (begin < 0 || end <= begin || !(sum > n || !s->one))
            continue;
        estimates_add(out, (struct estimate){.value = sum / span_seconds(begin, end),
                                             .interval = interval_div(interval_exact(sum),
                                                                      span_length(s, begin, end)),
                                             .request = r});
    }
}

void formula_rate_so_far(const struct scope *s, struct estimates *out)
{
    so_far(s, AT_O1, out);
}

void formula_whole_rate_so_far(const struct scope *s, struct estimates *out)
{
    so_far(s, AT_T0, out);
}

/* All tokens of the run over the time of its last request. */
void formula_total_by_last(const struct scope *s, struct estimates *out)
{
    const struct request *last = NULL;
    double n = 0;
    for (size_t i = 0; i < s->requests.n && !s->one; i++) {
        const struct request *r = scope_nth(s, i);
        if (!formula_counts(s, r))
            continue;
        n += formula_count(r, COUNT_N);
        last = last == NULL || r->t0 > last->t0 ? r : last;
    }
    if (last != NULL && last->alone)
        estimates_add_rate(out, s, n, last->t0, formula_when(last, AT_END), false);
}

/* From the first end to the last one: the first request is counted, and its time is not. */
struct ends {
    int64_t first_ns, last_ns;
    double tokens;
    size_t n;
};

static struct ends ends_of(const struct scope *s)
{
    struct ends x = {.first_ns = -1, .last_ns = -1};
    for (size_t i = 0; i < s->requests.n && !s->one; i++) {
        const struct request *r = scope_nth(s, i);
        int64_t end = formula_when(r, AT_END);
        if (!formula_counts(s, r) || end < r->t0)
            continue;
        x.tokens += formula_count(r, COUNT_N);
        x.first_ns = x.first_ns < 0 || end < x.first_ns ? end : x.first_ns;
        x.last_ns = end > x.last_ns ? end : x.last_ns;
        x.n++;
    }
    return x;
}

void formula_request_rate_of_ends(const struct scope *s, struct estimates *out)
{
    struct ends x = ends_of(s);
    if (x.n > 1)
        estimates_add_rate(out, s, (double)x.n, x.first_ns, x.last_ns, false);
}

void formula_output_tps_of_ends(const struct scope *s, struct estimates *out)
{
    struct ends x = ends_of(s);
    if (x.n > 1)
        estimates_add_rate(out, s, x.tokens, x.first_ns, x.last_ns, false);
}

/* --- few values ------------------------------------------------------------------------------- */

/* So many values are needed before one is beyond the quantile. */
static size_t needed(enum stat stat)
{
    return stat == STAT_P99 ? 100 : stat == STAT_P95 ? 20 : stat == STAT_P90 ? 10 : 0;
}

static void most_of(const struct scope *s, enum definition_id id, struct estimates *out)
{
    struct estimates all = {0};
    struct estimate e;
    if (needed(s->stat) > 0)
        definition_apply(&definitions[id], s, &all);
    estimates_sort(&all);
    if (all.all.n > 1 && all.all.n < needed(s->stat) && estimates_stat(&all, STAT_MAX, &e)) {
        e.sign = true;
        estimates_add(out, e);
    }
    estimates_free(&all);
}

void formula_most_ttft(const struct scope *s, struct estimates *out)
{
    most_of(s, D_TTFT, out);
}

void formula_most_latency(const struct scope *s, struct estimates *out)
{
    most_of(s, D_E2EL, out);
}

void formula_most_tpot(const struct scope *s, struct estimates *out)
{
    most_of(s, D_TPOT, out);
}

void formula_most_rate(const struct scope *s, struct estimates *out)
{
    most_of(s, D_OUTPUT_TPS_USER, out);
}

void formula_most_whole_rate(const struct scope *s, struct estimates *out)
{
    most_of(s, D_E2E_OUTPUT_TPS, out);
}

void formula_most_gap(const struct scope *s, struct estimates *out)
{
    most_of(s, D_ICL, out);
}
