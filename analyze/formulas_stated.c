/* The server's own figures in formulas. */
#include "analyze/formulas_stated.h"

#include <math.h>

#include "analyze/formulas_parts.h"
#include "analyze/metrics.h"

#define LOST_SHARE 0.05     /* of the server's total, that none of its parts accounts for */
#define LOADING_SHARE 0.05  /* of ttft, from which a load time matters */
#define FLOOR_PROMPT 16     /* tokens of a prompt, from which one evaluated is no count of it */
#define FLOOR_CACHED 0.9    /* of the prompt */
#define STEPS_MOST 32       /* tokens a step */
#define STEPS_NEAR 0.05     /* how near to a whole number of tokens a step … */
#define STEPS_NEAR_ONE 0.15 /* … and for a single request */
#define RUN_MOST 4096       /* requests of a run, that are looked at for a claim about one */

/* --- signs ------------------------------------------------------------------------------------ */

static double or_zero(double x)
{
    return isnan(x) ? 0 : x;
}

/* With others in flight, what is missing may be the time in a queue. */
bool stated_time_lost(const struct scope *s, const struct request *r)
{
    const struct server_timings *t = &r->timings;
    (void)s;
    double parts = or_zero(t->load_ms) + or_zero(t->prompt_ms) + or_zero(t->predicted_ms);
    return r->alone && t->total_ms > 0 && t->prompt_ms > 0 &&
           t->total_ms - parts > LOST_SHARE * t->total_ms;
}

bool stated_floor(const struct scope *s, const struct request *r)
{
    const struct usage *u = &r->usage;
    (void)s;
    return r->timings.prompt_n >= 0 && r->timings.prompt_n <= 1 && u->prompt >= FLOOR_PROMPT &&
           (u->cached < 0 || (double)u->cached >= FLOOR_CACHED * (double)u->prompt);
}

static bool answered_before(const struct audit *a, const struct request *r)
{
    for (size_t i = (size_t)(r - a->requests.v); i-- > 0;) {
        const struct request *before = &a->requests.v[i];
        if (before->trace != r->trace)
            return false;
        if (before->outcome == OUTCOME_SUCCESS && before->t_end <= r->t0 &&
            model_same_text(before->model, r->model))
            return true;
    }
    return false;
}

bool stated_loading_again(const struct scope *s, const struct request *r)
{
    double ttft_ms = span_seconds(r->t0, formula_when(r, AT_O1)) * 1e3;
    return r->out.n > 0 && r->timings.load_ms >= LOADING_SHARE * ttft_ms &&
           answered_before(s->a, r);
}

bool stated_twice(const struct scope *s, const struct request *r)
{
    (void)s;
    return r->usage.prompt > 0 && r->timings.prompt_n >= 0;
}

bool over_the_limit(const struct scope *s, const struct request *r)
{
    (void)s;
    int64_t limit = request_token_limit(r);
    return limit > 0 && request_tokens(r) > limit;
}

/* --- one figure a request --------------------------------------------------------------------- */

typedef double value_fn(const struct request *r); /* NAN: it has none */

static void each(const struct scope *s, value_fn *value, struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        double v = formula_counts(s, r) ? value(r) : NAN;
        if (isfinite(v) && v >= 0)
            estimates_add(
                out, (struct estimate){.value = v, .interval = interval_exact(v), .request = r});
    }
}

static double per_second(double n, double ms)
{
    return n > 0 && ms > 0 ? n / (ms / 1e3) : NAN;
}

static double prompt_over_its_time(const struct request *r)
{
    return per_second(formula_count(r, COUNT_P), r->timings.prompt_ms);
}

void formula_prompt_rate_stated(const struct scope *s, struct estimates *out)
{
    each(s, prompt_over_its_time, out);
}

static double evaluated_over_its_time(const struct request *r)
{
    return per_second(r->timings.prompt_n, r->timings.prompt_ms);
}

void formula_prompt_rate_evaluated(const struct scope *s, struct estimates *out)
{
    each(s, evaluated_over_its_time, out);
}

static double evaluated(const struct request *r)
{
    return r->timings.prompt_n;
}

void formula_tokens_evaluated(const struct scope *s, struct estimates *out)
{
    each(s, evaluated, out);
}

static double merged(const struct request *r)
{
    double cached = r->usage.cached > 0 ? (double)r->usage.cached : 0;
    return formula_count(r, COUNT_P) + r->timings.prompt_n + cached;
}

void formula_input_merged(const struct scope *s, struct estimates *out)
{
    each(s, merged, out);
}

static double over_the_rest(const struct request *r)
{
    return per_second(formula_count(r, COUNT_P), r->timings.total_ms - r->timings.predicted_ms);
}

void formula_prompt_rate_rest(const struct scope *s, struct estimates *out)
{
    each(s, over_the_rest, out);
}

static double over_the_rest_loaded(const struct request *r)
{
    return per_second(formula_count(r, COUNT_P),
                      r->timings.total_ms - r->timings.predicted_ms - r->timings.load_ms);
}

void formula_prompt_rate_rest_loaded(const struct scope *s, struct estimates *out)
{
    each(s, over_the_rest_loaded, out);
}

/* What the server states to have loaded for is taken off. */
static void unloaded(const struct scope *s, enum when to, struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        int64_t end = formula_when(r, to);
        if (!formula_counts(s, r) || !(r->timings.load_ms > 0) || r->clock_stepped || end < r->t0)
            continue;
        double d = span_seconds(r->t0, end) - r->timings.load_ms / 1e3;
        double later = span_seconds(0, s->o->vantage_ns);
        if (d >= 0)
            estimates_add(
                out,
                (struct estimate){.value = d, .interval = interval_around(d, later), .request = r});
    }
}

void formula_ttft_unloaded(const struct scope *s, struct estimates *out)
{
    unloaded(s, AT_O1, out);
}

void formula_latency_unloaded(const struct scope *s, struct estimates *out)
{
    unloaded(s, AT_OM, out);
}

/* --- of several requests ---------------------------------------------------------------------- */

/* The prompts of a conversation, added up turn by turn: each is asked after the one before was
 * answered, and is longer than that. */
struct turns {
    double sum;
    int64_t last_prompt, last_end;
    size_t n;
};

static bool take_turn(struct turns *t, const struct request *r)
{
    if (!metrics_request_counts(r) || r->usage.prompt <= 0)
        return true; /* no turn, and none the less one goes on */
    if (t->n > 0 && (r->usage.prompt <= t->last_prompt || r->t0 < t->last_end))
        return false;
    t->sum += (double)r->usage.prompt;
    t->last_prompt = r->usage.prompt;
    t->last_end = r->t_end;
    t->n++;
    return true;
}

static void add_turn(const struct turns *t, const struct request *r, struct estimates *out)
{
    if (t->n > 1 && metrics_request_counts(r) && r->usage.prompt > 0)
        estimates_add(out, (struct estimate){.value = t->sum,
                                             .interval = interval_exact(t->sum),
                                             .request = r,
                                             .sign = r->usage.cached > 0});
}

void formula_input_of_turns(const struct scope *s, struct estimates *out)
{
    const struct request *only = s->one && s->requests.n > 0 ? scope_nth(s, 0) : NULL;
    const struct run *run =
        only != NULL && only->run < s->a->runs.n ? &s->a->runs.v[only->run] : NULL;
    size_t n = run != NULL ? run->requests.n : only != NULL ? 0 : s->requests.n;
    struct turns t = {0};
    for (size_t i = 0; i < n && n <= RUN_MOST; i++) {
        const struct request *r =
            run != NULL ? &s->a->requests.v[run->requests.v[i]] : scope_nth(s, i);
        if (!take_turn(&t, r))
            return;
        if (only == NULL || only == r)
            add_turn(&t, r, out);
        if (only == r)
            return;
    }
}

/* Scheduler steps, as far as they show: what a step made came together. */
struct steps_seen {
    double tokens, reads;
    int64_t first_ns, last_ns;
};

static struct steps_seen steps_of(const struct scope *s)
{
    struct steps_seen x = {.first_ns = -1, .last_ns = -1};
    for (size_t i = 0; i < s->requests.n && !s->one; i++) {
        const struct request *r = scope_nth(s, i);
        int64_t end = formula_when(r, AT_END);
        if (r->dialect == NULL)
            continue;
        x.first_ns = x.first_ns < 0 || r->t0 < x.first_ns ? r->t0 : x.first_ns;
        x.last_ns = end > x.last_ns ? end : x.last_ns;
        if (!formula_counts(s, r))
            continue;
        x.tokens += formula_count(r, COUNT_N);
        x.reads += (double)metrics_request_reads(r);
    }
    return x;
}

static bool is_near(double x, double whole, double share)
{
    return fabs(x - whole) <= share * whole;
}

static bool most_step_alike(const struct scope *s, double k)
{
    size_t alike = 0, n = 0;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        if (!formula_counts(s, r) || r->out.n == 0)
            continue;
        double each = formula_count(r, COUNT_N) / (double)metrics_request_reads(r);
        alike += is_near(each, k, STEPS_NEAR_ONE) && !formula_collected(s, r);
        n++;
    }
    return alike * 2 > n;
}

void formula_steps_rate(const struct scope *s, struct estimates *out)
{
    struct steps_seen x = steps_of(s);
    double k = x.reads > 0 ? round(x.tokens / x.reads) : NAN;
    if (k >= 2 && k <= STEPS_MOST && is_near(x.tokens / x.reads, k, STEPS_NEAR) &&
        most_step_alike(s, k))
        estimates_add_rate(out, s, x.reads, x.first_ns, x.last_ns, true);
}
