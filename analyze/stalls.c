/* Excess time (over the stream's median gap, or that of most streams) is gathered in bins of 0.1 s.
 * The highest peak of its autocorrelation may stand on a multiple of the period: that, its half,
 * third and quarter are tried, each refined to where the stalls' times agree best (Rayleigh's
 * test), and the shortest that is as good as the best is taken. */
#include "analyze/stalls.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/metrics.h"
#include "analyze/stat.h"
#include "analyze/steps.h"
#include "traces/base/clock.h"
#include "traces/base/mem.h"

enum {
    BIN_NS = 100 * NS_PER_MS,
    BINS_MIN = 300,
    BINS_MAX = 36000, /* an hour: the rest of a longer run is not looked at */
    LAG_MIN = 5,
    LAG_MAX = 3000, /* periods of at most 5 minutes */
    STALLS_MIN = 4,
    DIVISORS = 4,
    REFINE_STEPS = 30 /* … of 0.1 % to either side */
};

#define SPREAD 0.5       /* variance of gaps over their squared mean */
#define HALF 0.5         /* of the peak, that a divisor's own correlation must have */
#define NEAR_BEST 0.9    /* of the best score */
#define FAR_QUANTILE 0.9 /* of the gaps … */
#define CLOSE_SHARE 0.1  /* … of which less is close behind … */
#define MANY_CLOSE 0.4   /* … if so many are */
#define KEPT_BACK 0.05   /* of a request, that its text takes at least */
#define TWO_PI 6.283185307179586

static int64_t gap_ns(const struct request *r, size_t k)
{
    return r->out.v[k].t_ns - r->out.v[k - 1].t_ns;
}

/* May any of its gaps be a stall? What costs no sorting: a stall is long against the mean, or there
 * are so many that the gaps spread wide. */
static bool may_stall(const struct request *r, double factor)
{
    double sum = 0, squares = 0, longest = 0, n = (double)(r->out.n - 1);
    for (size_t k = 1; k < r->out.n; k++) {
        double gap = (double)gap_ns(r, k);
        sum += gap;
        squares += gap * gap;
        longest = fmax(longest, gap);
    }
    double mean = sum / n;
    return longest > factor * mean || squares / n - mean * mean > SPREAD * mean * mean;
}

/* What was kept back and then sent at once has no pace to stall. */
static bool is_looked_at(const struct request *r)
{
    if (r->out.n < 3 || r->clock_stepped || r->damaged)
        return false;
    int64_t first = r->out.v[0].t_ns, last = r->out.v[r->out.n - 1].t_ns;
    return (double)(last - first) >= KEPT_BACK * (double)(last - r->t0);
}

static bool any_may_stall(const struct audit *a, const struct run_scope *s, double factor)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct request *r = &a->requests.v[s->requests[i]];
        if (is_looked_at(r) && may_stall(r, factor))
            return true;
    }
    return false;
}

static int by_time(const void *a, const void *b)
{
    const struct stall *x = a, *y = b;
    return (x->t_ns > y->t_ns) - (x->t_ns < y->t_ns);
}

/* The excess of each gap goes to the bin in which it began. */
struct bins {
    double *v;
    size_t n;
    int64_t first_ns;
};

/* Where many events come right behind another (in pairs), theirs is no pace: the rest is. */
static double median_gap(const struct request *r)
{
    double *gaps = mem_array(r->out.n, sizeof *gaps);
    size_t n = r->out.n - 1, close = 0;
    for (size_t k = 1; k < r->out.n; k++)
        gaps[k - 1] = (double)gap_ns(r, k);
    stat_sort(gaps, n);
    double far = stat_quantile(gaps, n, FAR_QUANTILE);
    while (close < n && gaps[close] < CLOSE_SHARE * far)
        close++;
    if ((double)close < MANY_CLOSE * (double)n)
        close = 0;
    double median = stat_median(gaps + close, n - close);
    free(gaps);
    return median;
}

/* Parsers hold back marks between texts, and of a call's arguments whole values too (P47): such a
 * gap is no stall. *turn and *kind: where event k stands; they go on with it. */
static bool may_be_held(const struct request *r, size_t k, size_t *turn, enum delta_kind *kind)
{
    bool turns = false;
    for (; *turn < r->turns.n && r->turns.v[*turn].event <= k; ++*turn) {
        turns |= r->turns.v[*turn].event == k;
        *kind = r->turns.v[*turn].kind;
    }
    return turns || *kind == DELTA_TOOL;
}

static void add_stream(const struct request *r, size_t index, double usual, double factor,
                       struct bins *b, struct stalls *out)
{
    enum delta_kind kind = r->first_kind;
    size_t turn = 0;
    for (size_t k = 1; k < r->out.n; k++) {
        double gap = (double)gap_ns(r, k);
        if (may_be_held(r, k, &turn, &kind))
            continue;
        int64_t t = r->out.v[k - 1].t_ns;
        size_t bin = (size_t)((t - b->first_ns) / BIN_NS);
        if (gap > usual && bin < b->n)
            b->v[bin] += (gap - usual) / NS_PER_S;
        if (gap > factor * usual)
            VEC_PUSH(&out->all, ((struct stall){index, k, t, (int64_t)(gap - usual)}));
    }
}

/* From the first to the last output event. */
static void lay_out(const struct audit *a, const struct run_scope *s, struct bins *b)
{
    int64_t first = INT64_MAX, last = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct request *r = &a->requests.v[s->requests[i]];
        if (!is_looked_at(r))
            continue;
        first = r->out.v[0].t_ns < first ? r->out.v[0].t_ns : first;
        last = r->out.v[r->out.n - 1].t_ns > last ? r->out.v[r->out.n - 1].t_ns : last;
    }
    size_t n = (size_t)((last - first) / BIN_NS) + 1;
    b->first_ns = first;
    b->n = n < BINS_MAX ? n : BINS_MAX;
    b->v = mem_array(b->n, sizeof *b->v);
}

/* A stream that lies in a stall as a whole has that for its median: what is usual for most streams
 * is usual for it too. Where most gaps are zero, events came in heaps, and no gap says anything. */
static void gather(const struct audit *a, const struct run_scope *s, double factor, struct bins *b,
                   struct stalls *out)
{
    double *medians = mem_array(s->n + 1, sizeof *medians), window = 0, lost = 0;
    double *sorted = mem_array(s->n + 1, sizeof *sorted);
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct request *r = &a->requests.v[s->requests[i]];
        medians[i] = is_looked_at(r) ? median_gap(r) : 0;
        if (medians[i] > 0)
            sorted[n++] = medians[i];
    }
    stat_sort(sorted, n);
    double usual = n > 0 ? stat_median(sorted, n) : 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct request *r = &a->requests.v[s->requests[i]];
        if (medians[i] <= 0)
            continue;
        window += (double)(r->out.v[r->out.n - 1].t_ns - r->out.v[0].t_ns);
        add_stream(r, s->requests[i], fmin(medians[i], usual), factor, b, out);
    }
    for (size_t i = 0; i < out->all.n; i++)
        lost += (double)out->all.v[i].excess_ns;
    if (out->all.n > 0)
        qsort(out->all.v, out->all.n, sizeof *out->all.v, by_time);
    out->lost_share = window > 0 ? lost / window : 0;
    free(sorted);
    free(medians);
}

/* Over three bins, about the mean. */
static void smooth(struct bins *b)
{
    double *v = mem_array(b->n, sizeof *v), mean = 0;
    for (size_t i = 0; i < b->n; i++) {
        double before = i > 0 ? b->v[i - 1] : 0, after = i + 1 < b->n ? b->v[i + 1] : 0;
        v[i] = (before + b->v[i] + after) / 3;
        mean += v[i] / (double)b->n;
    }
    for (size_t i = 0; i < b->n; i++)
        v[i] -= mean;
    free(b->v);
    b->v = v;
}

static double product(const struct bins *b, size_t lag)
{
    double sum = 0;
    for (size_t i = 0; i + lag < b->n; i++)
        sum += b->v[i] * b->v[i + lag];
    return sum;
}

/* m R^2 of the stalls on a period, each weighing what it cost: a busy machine adds many that cost
 * little. m is how many there were if all weighed the same. */
static double rayleigh(const struct stalls *x, double period_s)
{
    double c = 0, s = 0, squares = 0;
    for (size_t i = 0; i < x->all.n; i++) {
        double phase = TWO_PI * (double)(x->all.v[i].t_ns - x->all.v[0].t_ns) / NS_PER_S / period_s;
        double weight = (double)x->all.v[i].excess_ns;
        c += weight * cos(phase);
        s += weight * sin(phase);
        squares += weight * weight;
    }
    return squares > 0 ? (c * c + s * s) / squares : 0;
}

static double refine(const struct stalls *x, double period_s, double *score)
{
    double best = period_s;
    *score = -1;
    for (int k = -REFINE_STEPS; k <= REFINE_STEPS; k++) {
        double p = period_s * (1 + k / 1000.0), found = rayleigh(x, p);
        if (found > *score) {
            *score = found;
            best = p;
        }
    }
    return best;
}

static double correlation_near(const double *r, size_t lags, double lag)
{
    double most = -1;
    for (int k = -2; k <= 2; k++) {
        double at = lag + k;
        if (at >= 1 && at < (double)lags)
            most = fmax(most, r[(size_t)(at + 0.5) < lags ? (size_t)(at + 0.5) : lags - 1]);
    }
    return most;
}

static void find_period(const struct bins *b, const struct audit_options *o, struct stalls *out)
{
    size_t lags = b->n / 3 + 1 < LAG_MAX ? b->n / 3 + 1 : LAG_MAX, peak = 0;
    double *r = mem_array(lags + 1, sizeof *r);
    double squares = product(b, 0);
    for (size_t l = 1; l <= lags && squares > 0; l++)
        r[l] = product(b, l) / squares;
    size_t from = LAG_MIN; /* within a stall, gaps may follow each other: that is no cycle yet */
    while (from < lags && r[from] > 0)
        from++;
    for (size_t l = from; l < lags; l++) {
        bool local = r[l] >= r[l - 1] && r[l] >= r[l + 1];
        peak = local && (peak == 0 || r[l] > r[peak]) ? l : peak;
    }
    double needed = fmax(o->stall_correlation, 3 / sqrt((double)b->n));
    double period[DIVISORS] = {0}, score[DIVISORS] = {0}, best = 0;
    for (int k = 0; k < DIVISORS && peak > 0 && r[peak] >= needed; k++) {
        double lag = (double)peak / (k + 1);
        if (lag < LAG_MIN || correlation_near(r, lags, lag) < HALF * r[peak])
            continue;
        period[k] = refine(out, lag * BIN_NS / NS_PER_S, &score[k]);
        best = fmax(best, score[k]);
    }
    for (int k = DIVISORS - 1; k >= 0; k--) {
        double cycles = period[k] > 0 ? (double)b->n * BIN_NS / NS_PER_S / period[k] : 0;
        if (period[k] <= 0 || score[k] < o->stall_score || score[k] < NEAR_BEST * best ||
            cycles < (double)o->stall_cycles)
            continue;
        out->period_s = period[k];
        out->score = score[k];
        out->cycles = (int64_t)cycles;
        out->correlation = correlation_near(r, lags, period[k] * NS_PER_S / BIN_NS);
        break;
    }
    free(r);
}

/* Requests that are sent on the same period, most of them with a pause of their own, stall in the
 * client's step. Few of many that pause follow the server's: the next is sent when one has ended.
 */
static bool sent_on(const struct audit *a, const struct run_scope *s, const struct stalls *x,
                    double score)
{
    struct stalls sent = {0};
    double *lost = mem_array(a->requests.n + 1, sizeof *lost), all = 0;
    size_t pausing = 0;
    for (size_t i = 0; i < x->all.n; i++) {
        lost[x->all.v[i].request] += (double)x->all.v[i].excess_ns;
        all += (double)x->all.v[i].excess_ns;
    }
    for (size_t i = 0; i < s->n; i++) {
        pausing += lost[s->requests[i]] > HALF * all / (double)s->n;
        VEC_PUSH(&sent.all,
                 ((struct stall){.t_ns = a->requests.v[s->requests[i]].t0, .excess_ns = 1}));
    }
    bool same = 2 * pausing > s->n && rayleigh(&sent, x->period_s) >= score;
    VEC_FREE(&sent.all);
    free(lost);
    return same;
}

void stalls_find(const struct audit *a, const struct run_scope *s, const struct audit_options *o,
                 struct stalls *out)
{
    *out = (struct stalls){.period_s = NAN, .correlation = NAN, .score = NAN};
    if (steps_between(a, s->requests, s->n) || !any_may_stall(a, s, o->stall_factor))
        return;
    struct bins b;
    lay_out(a, s, &b);
    gather(a, s, o->stall_factor, &b, out);
    if (b.n >= BINS_MIN && out->all.n >= STALLS_MIN) {
        smooth(&b);
        find_period(&b, o, out);
    }
    if (!isnan(out->period_s))
        out->by_client = sent_on(a, s, out, o->stall_score);
    free(b.v);
}

void stalls_free(struct stalls *x)
{
    VEC_FREE(&x->all);
}
