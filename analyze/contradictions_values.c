/* What the values of one figure leave for another: quantiles for their mean, times for the rates
 * that are taken over them. */
#include <math.h>

#include "analyze/claims.h"
#include "analyze/contradictions_check.h"

/* --- a mean among its quantiles --------------------------------------------------------------- */

/* Of n values, at least so many are no more than the quantile at that place, however it was taken:
 * interpolated or a step. */
static double at_most(double place, double n)
{
    return place >= 1 ? n : fmax(floor((n - 1) * place - 1e-9) + 1, 0);
}

/* … and no less. */
static double at_least(double place, double n)
{
    return place <= 0 ? n : fmax(n - ceil((n - 1) * place + 1e-9), 0);
}

/* Between which the mean of n values lies that are not negative and have these points. */
static struct interval mean_of_points(const figure *p, size_t points, double n)
{
    struct interval sum = {0, 0};
    double taken = 0;
    for (size_t i = 0; i < points; i++) {
        double more = fmax(at_most(check_place(p[i]), n) - taken, 0);
        sum.hi += more * p[i]->i.hi;
        taken += more;
    }
    if (taken < n)
        sum.hi = INFINITY;
    taken = 0;
    for (size_t i = points; i-- > 0;) {
        double more = fmax(at_least(check_place(p[i]), n) - taken, 0);
        sum.lo += more * fmax(p[i]->i.lo, 0);
        taken += more;
    }
    return (struct interval){sum.lo / n * (1 - 1e-9), sum.hi / n * (1 + 1e-9)};
}

static bool is_weighted(const struct check *k, enum figure_id id)
{
    return k->s->tool == NULL || k->s->tool->formulas[id].weighted || id == F_GAP ||
           check_is_tool(k, &tool_guidellm); /* where a value is missing, it has 0 */
}

static void check_mean(const struct check *k, enum figure_id id)
{
    figure mean = check_get(k, id, FILE_MEAN), p[CHECK_POINTS_MOST];
    size_t points = check_points(k, id, p);
    double n = check_values(k, id);
    if (mean == NULL || points == 0 || n < 1 || n != floor(n) || is_weighted(k, id))
        return;
    for (size_t i = 1; i < points; i++) {
        if (interval_below(p[i]->i, p[i - 1]->i))
            return; /* out of order: that is said already */
    }
    bool outside = interval_below(p[points - 1]->i, mean->i) && check_place(p[points - 1]) == 1;
    outside |= interval_below(mean->i, p[0]->i) && check_place(p[0]) == 0;
    struct interval all = mean_of_points(p, points, n);
    if (outside || (mean->i.hi >= all.lo && mean->i.lo <= all.hi))
        return;
    bool low = mean->i.hi < all.lo;
    check_say(k, mean, VERDICT_IMPOSSIBLE,
              audit_printf(k->a,
                           "%s is %s what its quantiles leave for it: of %g values with those, the "
                           "mean is at %s %s" CHECK_DIGITS,
                           check_named(k, mean), low ? "below" : "above", n, low ? "least" : "most",
                           check_value(k, id, low ? all.lo : all.hi)));
}

/* --- a mean, its median and its deviation --------------------------------------------------------
 */

#define ROUNDED 1e-9 /* a share: what floating point leaves of values that are all the same */

/* The median is where the mean distance is least, and that is no more than the standard deviation:
 * so far is the mean from it at most, whatever the values and their weights. */
static void check_deviation(const struct check *k, enum figure_id id)
{
    figure mean = check_get(k, id, FILE_MEAN), median = check_get(k, id, FILE_QUANTILE);
    figure std = check_get(k, id, FILE_STD);
    bool estimated = id == F_GAP && check_is_tool(k, &tool_aiperf); /* quantiles of a t-digest */
    if (mean == NULL || median == NULL || std == NULL || estimated)
        return;
    double off = fmax(mean->i.lo - median->i.hi, median->i.lo - mean->i.hi);
    if (!(off > std->i.hi + ROUNDED * fabs(mean->v)))
        return;
    check_say(k, mean, VERDICT_IMPOSSIBLE,
              audit_printf(k->a,
                           "%s is farther from %s than %s, and no values are: a mean is within one "
                           "standard deviation of the median" CHECK_DIGITS,
                           check_named(k, mean), check_named(k, median), check_named(k, std)));
}

/* --- a mean and the values that are listed for it ------------------------------------------------
 */

#define LISTED_SHARE 1e-6 /* of a mean: what adding up in another order leaves */

static void check_list(const struct check *k, enum figure_id id)
{
    const struct file_list *list = &k->s->lists[id];
    figure mean = check_get(k, id, FILE_MEAN);
    if (mean == NULL)
        mean = check_get(k, id, FILE_VALUE);
    if (mean == NULL || list->n == 0)
        return;
    double n = (double)list->n, listed = list->sum / n;
    double allowed = (mean->i.hi - mean->i.lo) / 2 + list->half / n + LISTED_SHARE * fabs(listed);
    if (fabs(mean->v - listed) <= allowed)
        return;
    check_say(k, mean, VERDICT_DIFFERS,
              audit_printf(k->a, "%s, and the mean of the %g values that the file has for it is %s",
                           check_named(k, mean), n, check_value(k, id, listed)));
}

/* A mean times how many values it is of, as the file says, or the weights that it is taken with. */
static void check_sum(const struct check *k, enum figure_id id)
{
    figure mean = check_get(k, id, FILE_MEAN), sum = check_get(k, id, FILE_SUM);
    double n = (double)k->s->values[id];
    if (mean == NULL || sum == NULL || n < 1 || mean->i.lo < 0)
        return;
    struct interval made = {mean->i.lo * n * (1 - CHECK_CLOCKS),
                            mean->i.hi * n * (1 + CHECK_CLOCKS)};
    if (interval_meets(made, sum->i))
        return;
    check_say(k, mean, VERDICT_DIFFERS,
              audit_printf(k->a,
                           "%s, of %g values, and their sum is %s, which makes %s each; 0.1 %% is "
                           "allowed for",
                           check_named(k, mean), n, check_value(k, id, sum->v),
                           check_value(k, id, sum->v / n)));
}

/* --- GuideLLM's rates ----------------------------------------------------------------------------
 */

#define WINDOW_SINCE                                                                               \
    0.8 /* its rates are over its duration; before, from the first text to the last */

/* Tokens within its window are no more than all, and the window is no shorter than its duration;
 * or, of older versions, than the text of a request is on average. */
static void check_window_rate(const struct check *k)
{
    figure rate = check_get(k, F_OUTPUT_TPS, FILE_VALUE), all = check_get(k, F_OUTPUT, FILE_SUM);
    figure t = check_get(k, F_DURATION, FILE_VALUE), streams = check_get(k, F_TPOT, FILE_SUM);
    figure n = check_get(k, F_COMPLETED, FILE_VALUE);
    bool since = k->s->version >= WINDOW_SINCE;
    if (!check_is_tool(k, &tool_guidellm) || rate == NULL || all == NULL ||
        (since ? t == NULL : streams == NULL || n == NULL || n->v < 1))
        return;
    double window = since ? t->i.lo : streams->i.lo / n->v;
    if (!(rate->i.lo * window > all->i.hi * (1 + CHECK_CLOCKS)))
        return;
    check_say(
        k, rate, VERDICT_IMPOSSIBLE,
        audit_printf(k->a,
                     "%s makes %.6g tokens within %s, %s, and there were %.6g in all; 0.1 %% "
                     "is allowed for",
                     check_named(k, rate), rate->v * window, check_value(k, F_DURATION, window),
                     since ? "its duration" : "as long as the text of a request is on average",
                     all->v));
}

/* --- rates above every interval --------------------------------------------------------------- */

/* Bounds of what each request's rate can be, and why. */
struct rates {
    struct interval i;
    const char *above, *below;
};

/* Every statistic of values within bounds is within them. */
static void check_within(const struct check *k, enum figure_id id, const struct rates *r)
{
    for (size_t i = 0; i < k->s->figures.n; i++) {
        figure f = &k->s->figures.v[i];
        bool above = f->i.lo > r->i.hi * (1 + CHECK_CLOCKS);
        bool below = f->i.hi < r->i.lo * (1 - CHECK_CLOCKS);
        if (f->id != id || f->stat == FILE_STD || f->stat == FILE_SUM || f->stat == FILE_VALUE ||
            (!above && !below))
            continue;
        check_say(k, f, VERDICT_IMPOSSIBLE,
                  audit_printf(k->a, "%s is %s %s, and %s; 0.1 %% is allowed for",
                               check_named(k, f), above ? "above" : "below",
                               check_value(k, id, above ? r->i.hi : r->i.lo),
                               above ? r->above : r->below));
    }
}

/* The mean of 1/x is at least 1 over the mean of x, and no more than on the chord from the least x
 * to the greatest (Jensen). Where an x may be 0, its 1/x is left out, and nothing follows. */
static void check_mean_inverse(const struct check *k, figure least, figure most)
{
    figure rate = check_get(k, F_USER_TPS, FILE_MEAN), time = check_get(k, F_TPOT, FILE_MEAN);
    if (rate == NULL || time == NULL || !check_same_set(k, F_USER_TPS, F_TPOT) ||
        least->i.lo <= 0 || time->i.hi < least->i.lo || time->i.lo > most->i.hi)
        return;
    double a = least->i.lo, b = most->i.hi;
    double lo = 1 / time->i.hi, hi = (a + b - fmax(time->i.lo, a)) / (a * b);
    bool low = rate->i.hi < lo * (1 - CHECK_CLOCKS);
    bool high = rate->i.lo > hi * (1 + CHECK_CLOCKS) && rate->i.lo <= 1 / a * (1 + CHECK_CLOCKS);
    if (!low && !high)
        return;
    check_say(k, rate, VERDICT_IMPOSSIBLE,
              audit_printf(k->a,
                           "%s, and with %s between %s and %s the mean of its inverses is at %s "
                           "%s; 0.1 %% is allowed for",
                           check_named(k, rate), check_named(k, time), check_named(k, least),
                           check_named(k, most), low ? "least" : "most",
                           check_value(k, F_USER_TPS, low ? lo : hi)));
}

/* AIPerf's rate of a user is the inverse of its time per token, request by request. Some versions
 * of GenAI-Perf divide all tokens by the whole request: of two tokens or more that is at most twice
 * as much, and may be less than any inverse. */
static void check_user_rates(const struct check *k)
{
    figure least = check_get(k, F_TPOT, FILE_MIN), most = check_get(k, F_TPOT, FILE_MAX);
    bool inverse = check_is_tool(k, &tool_aiperf);
    if (least == NULL || most == NULL || (!inverse && !check_is_tool(k, &tool_genai_perf)))
        return;
    struct rates r = {{inverse && most->i.hi > 0 ? 1 / most->i.hi : 0,
                       least->i.lo > 0 ? (inverse ? 1 : 2) / least->i.lo : INFINITY},
                      NULL,
                      NULL};
    r.above = audit_printf(k->a, "no request's rate can be: %sone over %s is the most of all",
                           inverse ? "" : "twice ", check_named(k, least));
    r.below = audit_printf(k->a, "no request's rate can be: one over %s is the least of all",
                           check_named(k, most));
    check_within(k, F_USER_TPS, &r);
    if (inverse)
        check_mean_inverse(k, least, most);
}

/* The tokens of a request over all of its time. */
static void check_whole_rates(const struct check *k)
{
    figure tokens = check_get(k, F_OUTPUT, FILE_MAX), time = check_get(k, F_LATENCY, FILE_MIN);
    if (tokens == NULL || time == NULL || time->i.lo <= 0 ||
        (!check_is_tool(k, &tool_aiperf) && !check_is_tool(k, &tool_llmperf)))
        return;
    struct rates r = {
        {0, tokens->i.hi / time->i.lo},
        audit_printf(k->a,
                     "no request can be: none has more tokens than %s, nor takes less than %s",
                     check_named(k, tokens), check_named(k, time)),
        NULL};
    check_within(k, F_WHOLE_TPS, &r);
}

void contradictions_values(const struct check *k)
{
    for (enum figure_id id = F_TTFR; id <= F_TOTAL; id++)
        check_mean(k, id);
    for (enum figure_id id = F_TTFR; id <= F_TOTAL; id++)
        check_deviation(k, id);
    for (enum figure_id id = F_TTFR; id < FIGURES; id++)
        check_list(k, id);
    for (enum figure_id id = F_TTFR; id <= F_TOTAL; id++)
        check_sum(k, id);
    check_window_rate(k);
    check_user_rates(k);
    check_whole_rates(k);
}
