/* Time per token against latency, time to the first token and tokens. Those are of all requests,
 * and the time per token of those with two tokens or more alone: what the others can hide is
 * allowed for. */
#include <math.h>

#include "analyze/claims.h"
#include "analyze/contradictions_check.h"

/* Of requests of one token, where neither rows nor statistics tell of them: they are taken for no
 * more than this share of the time behind the first tokens, and not at all where replies are as
 * short as that. */
#define ONE_TOKEN_SHARE 0.9
#define SHORT_TOKENS 16
#define GAPS_OF_ONE                                                                                \
    3 /* choice events of a reply of one token: role, text, finish, and one more                   \
       */

#define LENGTHS_VARY 2.0 /* their standard deviation over their mean, where it is not told */
#define TAIL_SHARE 0.1   /* of inference-perf's latency, behind the last token … */
#define TAIL_S 0.5       /* … at least */

/* The share of requests that may have one token or none, by how many values the figures have, or by
 * the quantiles of the tokens; 1: it may be any. */
static double share_of_one(const struct check *k)
{
    figure p[CHECK_POINTS_MOST];
    double all = check_values(k, F_OUTPUT), some = (double)k->s->values[F_TPOT];
    if (some > 0 && k->s->values[F_OUTPUT] > 0)
        return fmax(0, 1 - some / all);
    size_t n = check_points(k, F_OUTPUT, p);
    for (size_t i = 0; i < n; i++) {
        if (p[i]->i.lo > 1)
            return check_place(p[i]) == 0 ? 0 : all > 0 ? fmin(1, check_place(p[i]) + 1 / all) : 1;
    }
    return 1;
}

/* An upper bound of the standard deviation about the mean m: as stated, else from min, max and the
 * quantiles between them; infinite where they are not all there. */
static double most_std(const struct check *k, enum figure_id id, double m)
{
    figure std = check_get(k, id, FILE_STD), p[CHECK_POINTS_MOST];
    bool all = id == F_TPOT && share_of_one(k) == 0;
    double count = check_values(k, all ? F_OUTPUT : id);
    if (std != NULL)
        return std->i.hi;
    size_t n = check_points(k, id, p);
    if (n < 2 || check_place(p[0]) > 0 || check_place(p[n - 1]) < 1)
        return INFINITY;
    double least = p[0]->i.lo, most = p[n - 1]->i.hi;
    double var = fmax(most - m, 0) * fmax(m - least, 0); /* Bhatia and Davis */
    double bins = 0;
    if (count < 1)
        return sqrt(var);
    for (size_t i = 1; i < n; i++) {
        double d = fmax(fabs(p[i - 1]->i.lo - m), fabs(p[i]->i.hi - m));
        bins += (check_place(p[i]) - check_place(p[i - 1]) + 2 / count) * d * d;
    }
    return sqrt(fmin(var, bins));
}

struct per_token {
    struct interval window; /* latency less time to the first token, on average */
    struct interval later;  /* tokens but the first, on average */
    struct interval implied;
    double allowed;      /* how far a mean of ratios may be from the ratio of means */
    const char *assumed; /* what of that bound is not from the file; NULL: nothing */
    const char *sum;
};

static bool imply(const struct check *k, figure tpot, struct per_token *x)
{
    figure latency = check_get(k, F_LATENCY, FILE_MEAN), ttft = check_get(k, F_TTFT, FILE_MEAN);
    figure n = check_get(k, F_OUTPUT, FILE_MEAN), all = check_get(k, F_OUTPUT_SUM, FILE_SUM);
    figure done = check_get(k, F_COMPLETED, FILE_VALUE);
    struct interval tokens = check_of(n);
    if (n == NULL && all != NULL && done != NULL && done->v > 0)
        tokens = interval_div(all->i, done->i);
    if (latency == NULL || ttft == NULL || !interval_known(tokens) || tokens.lo <= 1 ||
        !check_same_set(k, F_LATENCY, F_TTFT) || !check_same_set(k, F_LATENCY, F_OUTPUT))
        return false;
    x->window = interval_sub(latency->i, ttft->i);
    x->later = interval_sub(tokens, interval_exact(1));
    if (x->window.lo <= 0 || tpot->v <= 0)
        return false;
    x->implied = interval_div(x->window, x->later);
    double mean = (x->later.lo + x->later.hi) / 2;
    double std_t = most_std(k, tpot->id, tpot->v), std_n = most_std(k, F_OUTPUT, mean + 1);
    x->assumed = isinf(std_n)   ? ", even if lengths varied so much that their standard deviation "
                                  "were twice their mean"
                 : isinf(std_t) ? ", even if the standard deviation of speeds were their mean"
                                : NULL;
    x->allowed = (isinf(std_t) ? tpot->v : std_t) * (isinf(std_n) ? LENGTHS_VARY : std_n / mean);
    char v[64];
    claim_value_text(DIM_TIME, (x->implied.lo + x->implied.hi) / 2, v);
    x->sum = audit_printf(k->a, "(%s - %s) / (%.6g tokens - 1) is %s", check_named(k, latency),
                          check_named(k, ttft), mean + 1, v);
    return true;
}

static const char *allowance(const struct check *k, const struct per_token *x, const char *more)
{
    char v[64];
    return audit_printf(k->a, "different lengths and speeds explain a difference of at most %s%s%s",
                        claim_value_text(DIM_TIME, x->allowed, v),
                        x->assumed != NULL ? x->assumed : "", more);
}

/* --- requests of one token -------------------------------------------------------------------- */

/* What requests without a time per token may hold of the window, on average over all. */
struct hidden {
    double s;
    bool assumed;
    bool too_short; /* nothing can be said */
};

/* From the rows: all of it is known but, where their gaps are no latency, what lies behind the last
 * of them. False where rows do not tell. */
static bool hidden_in_rows(const struct check *k, const struct per_token *x, struct hidden *h)
{
    const struct file_summary *s = k->s;
    figure done = check_get(k, F_COMPLETED, FILE_VALUE);
    double n = 0, one = 0, in_one = 0, in_all = 0;
    if (s->tool->row_object != NULL || s->rows.n == 0 || s->rows_left > 0 || done == NULL)
        return false;
    for (size_t i = 0; i < s->rows.n; i++) {
        const struct file_row *r = &s->rows.v[i];
        if (r->failed)
            continue;
        if (r->output < 0)
            return false;
        double window = r->latency - r->ttft + (double)r->latency_half + (double)r->ttft_half;
        if (r->output <= 1 && isnan(window))
            return false;
        window = isnan(window) ? 0 : fmax(window, 0);
        n++;
        one += r->output <= 1;
        in_one += r->output <= 1 ? window : 0;
        in_all += window;
    }
    if (n != done->v)
        return false;
    *h = (struct hidden){.s = 0};
    if (one == 0)
        return true;
    if (s->tool->gaps_end != NULL)
        in_one += fmax(x->window.hi * n - in_all, 0);
    h->s = in_one / n;
    return true;
}

/* vLLM's gaps are all of the window, and of a reply of one token there are few of them: no more in
 * all than that many of the largest can be with their mean and standard deviation. */
static bool hidden_in_gaps(const struct check *k, const struct per_token *x, struct hidden *h)
{
    figure mean = check_get(k, F_GAP, FILE_MEAN), std = check_get(k, F_GAP, FILE_STD);
    if (!check_is_tool(k, &tool_vllm) || mean == NULL || std == NULL || mean->i.lo <= 0)
        return false;
    double gaps = x->window.hi / mean->i.lo; /* a request */
    h->s = GAPS_OF_ONE * mean->i.hi + std->i.hi * sqrt(GAPS_OF_ONE * gaps);
    return true;
}

static struct hidden hidden_of(const struct check *k, const struct per_token *x)
{
    struct hidden h = {.s = 0};
    figure most = check_get(k, F_LATENCY, FILE_MAX);
    if (hidden_in_rows(k, x, &h))
        return h;
    double share = share_of_one(k);
    if (share < 1 && most != NULL) {
        h.s = share * most->i.hi;
        return h;
    }
    h.assumed = share > 0;
    if (share > 0 && !hidden_in_gaps(k, x, &h)) {
        h.s = ONE_TOKEN_SHARE * x->window.hi;
        h.too_short = x->later.lo < SHORT_TOKENS - 1;
    }
    return h;
}

static const char *hidden_text(const struct check *k, const struct hidden *h)
{
    char v[64];
    if (h->s <= 0)
        return "";
    return audit_printf(k->a,
                        ", and requests of one token, which have no such time, are taken for at "
                        "most %s a request%s",
                        claim_value_text(DIM_TIME, h->s, v),
                        h->assumed ? ", which the file does not tell" : "");
}

static void check_tpot(const struct check *k)
{
    figure tpot = check_get(k, F_TPOT, FILE_MEAN);
    struct per_token x;
    bool low_only = check_is_tool(k, &tool_aiperf), high_only = check_is_tool(k, &tool_guidellm);
    bool tail = check_is_tool(k, &tool_inference_perf);
    bool both = check_is_tool(k, &tool_vllm) || check_is_tool(k, &tool_sglang) ||
                check_is_tool(k, &tool_genai_perf);
    if (tpot == NULL || !(low_only || high_only || tail || both) || !imply(k, tpot, &x))
        return;
    if (high_only) /* it weights by tokens itself: nothing is left to explain */
        x.allowed = 0, x.assumed = NULL;
    struct hidden one = hidden_of(k, &x);
    double hidden = one.s + (tail ? fmax(TAIL_SHARE * x.window.hi, TAIL_S) : 0);
    double lo = (x.window.lo - hidden) / x.later.hi - x.allowed, hi = x.implied.hi + x.allowed;
    bool low = !high_only && !one.too_short && tpot->i.hi < lo, high = !low_only && tpot->i.lo > hi;
    if (!low && !high)
        return;
    const char *more = audit_printf(
        k->a, "%s%s", low ? hidden_text(k, &one) : "",
        tail ? ", and a tenth of each request, or half a second, may lie behind its last token"
             : "");
    check_say(k, tpot,
              x.assumed != NULL || (low && one.assumed) ? VERDICT_DIFFERS : VERDICT_IMPOSSIBLE,
              audit_printf(k->a, "%s, and %s: %s" CHECK_DIGITS, check_named(k, tpot), x.sum,
                           allowance(k, &x, more)));
}

/* GuideLLM's time per output token is the latency over all tokens. */
static void check_ntpot(const struct check *k)
{
    figure ntpot = check_get(k, F_NTPOT, FILE_MEAN), latency = check_get(k, F_LATENCY, FILE_MEAN);
    figure n = check_get(k, F_OUTPUT, FILE_MEAN);
    if (ntpot == NULL || latency == NULL || n == NULL || n->i.lo <= 0 ||
        !check_same_set(k, F_LATENCY, F_OUTPUT) || !check_same_set(k, F_NTPOT, F_OUTPUT) ||
        !(check_is_tool(k, &tool_guidellm) || check_is_tool(k, &tool_inference_perf)))
        return;
    struct interval implied = interval_div(latency->i, n->i);
    double std_t = most_std(k, F_NTPOT, ntpot->v), std_n = most_std(k, F_OUTPUT, n->v);
    if (isinf(std_t) || isinf(std_n) || ntpot->i.lo <= implied.hi + std_t * std_n / n->v)
        return;
    check_say(k, ntpot, VERDICT_IMPOSSIBLE,
              audit_printf(k->a,
                           "%s times %s makes more than %s; different lengths and speeds explain "
                           "at most %s a token" CHECK_DIGITS,
                           check_named(k, ntpot), check_named(k, n), check_named(k, latency),
                           check_value(k, F_NTPOT, std_t * std_n / n->v)));
}

void contradictions_tokens(const struct check *k)
{
    check_tpot(k);
    check_ntpot(k);
}
