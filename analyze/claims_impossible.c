/* Claims that cannot be. Each reading that a claim may have is tried, and the one that allows most
 * decides. */
#include "analyze/claims_impossible.h"

#include <math.h>

#include "analyze/metrics.h"
#include "analyze/steps.h"
#include "analyze/tool.h"
#include "traces/base/clock.h"

/* The claim as tokens per second, whichever way it was given. */
struct interval claims_as_rate(const struct question *q)
{
    struct interval x = q->claimed;
    if (!q->name->inverse)
        return x;
    return (struct interval){x.hi > 0 ? 1 / x.hi : INFINITY, x.lo > 0 ? 1 / x.lo : INFINITY};
}

/* Bytes per second, the most that any of the requests can be said to have sent; infinite where that
 * is not known. */
static double fastest(const struct scope *s, bool with_prompts)
{
    double most = 0;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = &s->a->requests.v[s->requests.v[i]];
        if (r->out.n == 0 || request_tokens(r) > (int64_t)r->text_bytes || r->damaged)
            return INFINITY;
        double shortest = formula_span(s, formula_when(r, AT_O1), formula_when(r, AT_OM)).lo;
        double bytes = (double)(r->text_bytes + (with_prompts ? r->body_bytes : 0));
        most = fmax(most, shortest > 0 ? bytes / shortest : INFINITY);
    }
    return most;
}

/* The earliest that any reply can be said to have begun. */
static double earliest_reply(const struct question *q)
{
    const struct scope *s = &q->sets.v[0].scopes.v[0];
    double least = INFINITY;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = &q->a->requests.v[s->requests.v[i]];
        if (r->h >= 0)
            least = fmin(least, formula_span(s, r->t0, r->h).lo);
    }
    return isinf(least) ? -INFINITY : least;
}

/* --- tokens ----------------------------------------------------------------------------------- */

enum { TEMPLATE_TOKENS = 4096 }; /* that a server may put around a prompt */

/* In the server's tokens; those of a tool's own tokenizer are others. */
static double slack_of(const struct question *q)
{
    return q->basis != NULL && q->basis->formula != NULL ? fmax(q->basis->formula->slack, 1) : 1;
}

static double limit_of(const struct question *q, const struct request *r)
{
    int64_t limit = request_token_limit(r);
    return limit > 0 ? slack_of(q) * (double)limit : INFINITY;
}

/* A token has a byte at least, of whatever it is counted: infinite where tokens may have been
 * generated that were not sent. */
static double answer_bytes(const struct question *q, const struct request *r)
{
    int64_t n = request_tokens(r), p = r->usage.prompt;
    (void)q;
    bool beside = r->total_stated > 0 && p >= 0 && r->total_stated > p + n;
    bool unsent = r->usage.reasoning > 0 && r->reasoning_bytes == 0;
    if (!metrics_request_counts(r) || r->out.n == 0 || n < 0 || n > (int64_t)r->text_bytes ||
        beside || unsent)
        return INFINITY;
    return (double)(r->text_bytes + r->body_bytes);
}

/* The same of a prompt; infinite where the server has more of it than was sent, or pictures. */
static double prompt_bytes(const struct question *q, const struct request *r)
{
    int64_t p = r->usage.prompt;
    (void)q;
    if (p < 0 || p > (int64_t)r->body_bytes || r->asked.media > 0)
        return INFINITY;
    return (double)(r->body_bytes + r->text_bytes) + TEMPLATE_TOKENS;
}

typedef double most_fn(const struct question *q, const struct request *r);

static double most_of_one(const struct question *q, most_fn *most)
{
    const struct scope *s = &q->sets.v[0].scopes.v[0];
    double x = 0;
    for (size_t i = 0; i < s->requests.n; i++)
        x = fmax(x, most(q, &s->a->requests.v[s->requests.v[i]]));
    return x;
}

/* Of all requests that there are, warm-up and attempts included. */
static double most_of_all(const struct question *q, most_fn *most)
{
    double sum = 0;
    for (size_t i = 0; i < q->a->requests.n; i++) {
        const struct request *r = &q->a->requests.v[i];
        if (r->dialect != NULL &&
            (q->o->claim_trace == 0 || (size_t)q->o->claim_trace == r->trace + 1))
            sum += most(q, r);
    }
    return sum;
}

/* Is it beyond what one request can have, or all together where a sum may be meant? */
static bool is_beyond(const struct question *q, most_fn *most)
{
    bool sum = !q->one && (q->stat == STAT_VALUE || q->stat == STAT_SUM);
    return q->claimed.lo > (sum ? most_of_all(q, most) : most_of_one(q, most));
}

static const char *impossible_tokens(const struct question *q)
{
    if (q->name->subject == SUBJECT_INPUT_TOKENS)
        return is_beyond(q, prompt_bytes) ? "it would be more tokens than the requests have bytes"
                                          : NULL;
    if (is_beyond(q, limit_of))
        return "it is above the limit that the request set";
    return is_beyond(q, answer_bytes)
               ? "it would be more tokens than the requests and their answers have bytes"
               : NULL;
}

/* --- memory ----------------------------------------------------------------------------------- */

static double host_memory(const struct question *q)
{
    double most = 0;
    for (size_t i = 0; i < q->a->traces.n; i++) {
        const struct trace_info *t = &q->a->traces.v[i];
        for (size_t k = 0; k < t->sys.n; k++)
            most = fmax(most, (double)t->sys.v[k].mem_total);
    }
    return most > 0 ? most : INFINITY;
}

static const char *impossible_rate(const struct question *q)
{
    const struct scope *s = &q->sets.v[0].scopes.v[0];
    struct interval rate = claims_as_rate(q);
    bool sum = q->stat == STAT_SUM && !q->name->inverse && !q->one;
    double n = sum ? (double)s->requests.n : 1; /* each of them adds its own */
    if (q->o->max_rate > 0 && rate.lo > n * q->o->max_rate)
        return audit_printf(q->a,
                            "it is above %g tok/s, which was given as more than anybody can reach",
                            n * q->o->max_rate);
    double bytes = fastest(s, false);
    if (rate.lo <= n * bytes)
        return NULL;
    return audit_printf(q->a,
                        "it would be more tokens than bytes: the text %s at no more than %.3g "
                        "bytes/s",
                        sum ? "of all, added up, came" : "came", n * bytes);
}

/* Whatever the window, and however the streams of a run are put together: it is no more than all of
 * them at once, each at the pace of the fastest, and the prompts counted as well. */
static const char *impossible_throughput(const struct question *q)
{
    double most = 0, n = 0;
    for (size_t k = 0; k < q->sets.v[0].scopes.n; k++) {
        most = fmax(most, fastest(&q->sets.v[0].scopes.v[k], true));
        n += (double)q->sets.v[0].scopes.v[k].requests.n;
    }
    if (q->claimed.lo <= n * most)
        return NULL;
    return audit_printf(q->a,
                        "it would be more tokens than bytes: prompt and text of no request make "
                        "more than %.3g bytes/s, and there were %g",
                        most, n);
}

/* A run that counts more than it has. */
static const char *impossible_count(const struct question *q)
{
    struct reading r;
    bool known = question_recomputed(q, D_REQUESTS_MEANT, &r) ||
                 question_recomputed(q, D_ATTEMPTS, &r) || question_recomputed(q, D_REQUESTS, &r);
    if (known && q->name->definitions[0] != D_REQUESTS && q->claimed.lo > r.estimate.interval.hi &&
        q->sets.v[0].scopes.n == 1)
        return audit_printf(q->a, "there were no more than %g requests", r.estimate.interval.hi);
    return NULL;
}

/* Little's law: so many at a time at most, each as long as the shortest at least. */
static const char *impossible_turnover(const struct question *q)
{
    const struct scope *s = &q->sets.v[0].scopes.v[0];
    struct reading peak;
    double shortest = INFINITY;
    char text[64];
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = &s->a->requests.v[s->requests.v[i]];
        shortest = fmin(shortest, formula_span(s, r->t0, formula_when(r, AT_END)).lo);
    }
    if (q->sets.v[0].scopes.n > 1 || !(shortest > 0) ||
        !question_recomputed(q, D_CONCURRENCY_PEAK, &peak) ||
        q->claimed.lo * shortest <= peak.estimate.interval.hi)
        return NULL;
    return audit_printf(q->a,
                        "no more than %g requests were in flight at once, and none took less than "
                        "%s: that is at most %.4g requests/s (Little's law)",
                        peak.estimate.interval.hi, claim_value_text(DIM_TIME, shortest, text),
                        peak.estimate.interval.hi / shortest);
}

/* A peak is counted in seconds: in a shorter run it may be below the mean. */
static bool lasts_a_second(const struct question *q)
{
    static const struct formula lasts = {"T", SHAPE_TIME, COUNT_NONE, AT_T0, AT_END, true, NULL};
    struct estimates all = {0};
    struct estimate e;
    formula_apply(&lasts, &q->sets.v[0].scopes.v[0], NULL, &all);
    estimates_sort(&all);
    bool long_enough = estimates_stat(&all, STAT_MIN, &e) && e.interval.lo >= 1;
    estimates_free(&all);
    return long_enough;
}

/* Why no definition could give the claim from these bytes, or NULL. */
const char *claims_impossible(const struct question *q)
{
    struct reading r;
    const struct scope *s = &q->sets.v[0].scopes.v[0];
    bool timed = q->name->dimension == DIM_TOKEN_RATE || q->name->dimension == DIM_TIME;
    if (timed && steps_between(s->a, s->requests.v, s->requests.n))
        return NULL;
    switch (q->name->dimension) {
    case DIM_TOKEN_RATE:
        if (q->name->definitions[0] == D_PEAK_THROUGHPUT)
            return lasts_a_second(q) && question_recomputed(q, D_OUTPUT_TPS, &r) &&
                           interval_below(q->claimed, r.estimate.interval)
                       ? "a peak cannot be below the mean"
                       : NULL;
        if (q->name->subject == SUBJECT_THROUGHPUT)
            return impossible_throughput(q);
        return q->name->of_run || q->name->subject == SUBJECT_PROMPT_RATE ? NULL
                                                                          : impossible_rate(q);
    case DIM_TIME:
        if (q->name->inverse)
            return impossible_rate(q);
        return (q->name->subject == SUBJECT_TTFT || q->name->subject == SUBJECT_LATENCY) &&
                       q->claimed.hi < earliest_reply(q)
                   ? "no byte of any reply had come by then"
                   : NULL;
    case DIM_TOKENS:
        return impossible_tokens(q);
    case DIM_COUNT:
        return impossible_count(q);
    case DIM_BYTES:
        return q->claimed.lo > host_memory(q) ? "it is more than the machine has" : NULL;
    case DIM_REQUEST_RATE:
        return impossible_turnover(q);
    case DIM_RATIO:
        return NULL;
    case DIM_SHARE:
        return q->claimed.lo > 1 ? "a share cannot be above 1" : NULL;
    }
    return NULL;
}

/* --- times before any reply ------------------------------------------------------------------- */

/* Times that end with some byte of a reply. */
static bool awaits_reply(const struct claim_name *name)
{
    return name->subject == SUBJECT_TTFT || name->subject == SUBJECT_LATENCY ||
           name->subject == SUBJECT_DURATION || name->definitions[0] == D_TTFR ||
           name->definitions[0] == D_STREAM_END;
}

/* The least time from a request to the first byte of its reply, and the least round trip that a
 * handshake shows; as stamped on the wire, s. Infinite: none was seen. */
struct soonest {
    double reply, trip;
};

static struct soonest soonest(const struct question *q)
{
    struct soonest x = {INFINITY, INFINITY};
    for (size_t k = 0; k < q->sets.v[0].scopes.n; k++) {
        const struct scope *s = &q->sets.v[0].scopes.v[k];
        for (size_t i = 0; i < s->requests.n; i++) {
            const struct request *r = &s->a->requests.v[s->requests.v[i]];
            int64_t trip = r->accepted_ns - r->syn_ns;
            if (r->clock_stepped)
                continue;
            if (r->h >= 0)
                x.reply = fmin(x.reply, (double)(r->h - r->t0) / NS_PER_S);
            if (r->syn_ns >= 0 && r->accepted_ns >= 0 && trip < q->o->slow_connect_ns)
                x.trip = fmin(x.trip, (double)trip / NS_PER_S);
        }
    }
    return x;
}

/* Does a formula come down to that on the wire itself? */
static bool causes_reach(const struct claim *c, double s)
{
    for (size_t i = 0; i < c->causes.n; i++) {
        if (c->causes.v[i].value <= s)
            return true;
    }
    return false;
}

const char *claims_before_reply(const struct question *q, const struct claim *c)
{
    const struct scope *s = &q->sets.v[0].scopes.v[0];
    if (!awaits_reply(q->name) || steps_between(s->a, s->requests.v, s->requests.n))
        return NULL;
    struct soonest x = soonest(q);
    char text[64];
    if (c->claimed <= 0)
        return x.reply > 0 && isfinite(x.reply) && !causes_reach(c, 0)
                   ? audit_printf(q->a,
                                  "no reply comes in no time: the first byte of any came %s "
                                  "after its request",
                                  claim_value_text(DIM_TIME, x.reply, text))
                   : NULL;
    if (isinf(x.reply) || isinf(x.trip) || q->claimed.hi >= fmin(x.reply, x.trip) ||
        causes_reach(c, q->claimed.hi))
        return NULL;
    return audit_printf(q->a,
                        "that is less than a round trip of the network, %s, in which no byte "
                        "of a reply can come",
                        claim_value_text(DIM_TIME, x.trip, text));
}
