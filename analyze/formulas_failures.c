/* Figures with failures in them, or without. */
#include "analyze/formulas_failures.h"

#include <math.h>

#include "analyze/formulas_parts.h"
#include "analyze/retries.h"

#define MISSED_SHARE 0.01 /* of all time in flight, from which leaving it out is worth a word */

typedef bool kind_fn(const struct request *r);

static bool is_any(const struct request *r)
{
    (void)r;
    return true;
}

/* What came when the client had left, it never had. */
static bool has_text(const struct request *r)
{
    return r->out.n > 0 && r->out.v[0].t_ns <= r->t_end;
}

static bool has_status_200(const struct request *r)
{
    return r->status / 100 == 2;
}

static bool is_error_event(const struct request *r)
{
    return r->outcome == OUTCOME_ERROR_EVENT;
}

static bool is_http_error(const struct request *r)
{
    return r->outcome == OUTCOME_HTTP_ERROR;
}

static bool is_refused(const struct request *r)
{
    return is_http_error(r) || r->outcome == OUTCOME_NO_RESPONSE;
}

static bool is_lost(const struct request *r)
{
    return r->outcome == OUTCOME_NO_RESPONSE || r->outcome == OUTCOME_CUT_SHORT;
}

static bool is_broken(const struct request *r)
{
    return r->outcome == OUTCOME_CUT_SHORT && has_text(r);
}

static bool is_empty(const struct request *r)
{
    return r->outcome == OUTCOME_NO_FINISH && has_status_200(r) && !has_text(r);
}

static bool is_retried(const struct request *r)
{
    return r->retried;
}

/* What the bytes do not tell to have failed. */
static bool is_open(const struct request *r)
{
    return r->outcome == OUTCOME_OPEN || r->outcome == OUTCOME_NO_FINISH ||
           r->outcome == OUTCOME_UNREADABLE || r->outcome == OUTCOME_UNSEEN;
}

static bool is_answer(const struct request *r)
{
    return r->outcome == OUTCOME_SUCCESS;
}

/* How a scope's requests ended. */
struct endings {
    size_t all, answers, taken, open; /* open: not taken, and may be answers */
    size_t retried, retried_taken;    /* attempts that another one followed; … of those taken */
    int64_t first_ns, last_ns;        /* from the first request to the last end of all */
    int64_t answered_ns;              /* the last end of an answer */
    bool sign;
};

static struct endings endings_of(const struct scope *s, kind_fn *taken, kind_fn *sign)
{
    struct endings e = {.first_ns = -1, .last_ns = -1, .answered_ns = -1};
    for (size_t i = 0; i < s->requests.n && !s->one; i++) {
        const struct request *r = scope_nth(s, i);
        int64_t end = formula_when(r, AT_END);
        if (r->dialect == NULL)
            continue;
        bool answer = is_answer(r), as_one = !answer && taken(r);
        e.all++;
        e.answers += answer;
        e.taken += as_one;
        e.open += !answer && !as_one && is_open(r);
        e.retried += r->retried;
        e.retried_taken += r->retried && as_one;
        e.sign |= !answer && sign(r);
        e.first_ns = e.first_ns < 0 || r->t0 < e.first_ns ? r->t0 : e.first_ns;
        e.last_ns = end > e.last_ns ? end : e.last_ns;
        e.answered_ns = answer && end > e.answered_ns ? end : e.answered_ns;
    }
    return e;
}

static void add_count(struct estimates *out, double lo, double n)
{
    estimates_add(out, (struct estimate){.value = n, .interval = {fmax(lo, 0), n}, .sign = true});
}

/* What is taken for answers may have been counted by attempts, or once a request; where each was
 * tried again, once a request is what was answered in the end. */
static struct interval taken_range(const struct endings *e, kind_fn *sign)
{
    double n = (double)(e->answers + e->taken);
    bool attempts = sign == is_retried || e->retried_taken == e->taken;
    return (struct interval){attempts ? n : n - (double)e->retried_taken, n};
}

static void put_requests(const struct scope *s, kind_fn *taken, kind_fn *sign,
                         struct estimates *out)
{
    struct endings e = endings_of(s, taken, sign);
    struct interval n = taken_range(&e, sign);
    if (e.sign)
        add_count(out, n.lo, n.hi);
}

static void put_request_rate(const struct scope *s, kind_fn *taken, kind_fn *sign,
                             struct estimates *out)
{
    struct endings e = endings_of(s, taken, sign);
    struct interval n = taken_range(&e, sign);
    if (e.sign && e.last_ns > e.first_ns)
        estimates_add(out, (struct estimate){
                               .value = n.hi / span_seconds(e.first_ns, e.last_ns),
                               .interval = interval_div(n, span_length(s, e.first_ns, e.last_ns)),
                               .sign = true});
}

static void put_failed(const struct scope *s, kind_fn *taken, kind_fn *sign, struct estimates *out)
{
    struct endings e = endings_of(s, taken, sign);
    double n = (double)(e.all - e.answers - e.taken);
    if (e.sign)
        add_count(out, n - (double)e.open - (double)(e.retried - e.retried_taken), n);
}

/* Who takes a failure for an answer stops its clock where it ends, as that of an answer without
 * text; behind a broken stream it may have stopped at the last text. */
static void put_latency(const struct scope *s, kind_fn *taken, kind_fn *sign, struct estimates *out)
{
    if (!endings_of(s, taken, sign).sign)
        return;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        bool text = formula_counts(s, r) && r->out.n > 0;
        bool as_one = taken(r) && (formula_counts(s, r) || !is_answer(r));
        if (r->dialect == NULL || (!text && !as_one))
            continue;
        enum when end = text || is_broken(r) ? AT_OM : AT_END;
        estimates_add_time(out, s, r, r->t0, formula_when(r, end), true);
    }
}

#define FAILURES_DEFINE(figure, name, taken, sign)                                                 \
    void formula_##figure##_##name(const struct scope *s, struct estimates *out)                   \
    {                                                                                              \
        put_##figure(s, taken, sign, out);                                                         \
    }
FAILURES(FAILURES_DEFINE)

void formula_requests_reported(const struct scope *s, struct estimates *out)
{
    struct endings e = endings_of(s, is_lost, is_lost);
    double n = (double)(e.all - e.taken);
    if (e.sign)
        add_count(out, n, n);
}

/* Of a broken stream there is no stated count, as a rule: its events are counted. */
static void put_output_tokens(const struct scope *s, kind_fn *taken, struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        int64_t n = request_tokens(r);
        bool broken = r->dialect != NULL && !is_answer(r) && taken(r);
        if (broken && n < 0)
            n = (int64_t)r->out.n;
        bool answer = formula_counts(s, r) && (r->out.n > 0 || taken != has_text);
        if ((answer || broken) && n >= 0)
            estimates_add(out, (struct estimate){.value = (double)n,
                                                 .interval = interval_exact((double)n),
                                                 .request = r,
                                                 .sign = true});
    }
}

void formula_output_tokens_broken(const struct scope *s, struct estimates *out)
{
    if (endings_of(s, is_broken, is_broken).sign)
        put_output_tokens(s, is_broken, out);
}

void formula_output_tokens_with_text(const struct scope *s, struct estimates *out)
{
    if (endings_of(s, is_broken, is_broken).sign)
        put_output_tokens(s, has_text, out);
}

/* Tokens of an answer that did not finish: as stated up to there, else between one an event and
 * what the others' events hold. */
static struct interval arrived(const struct request *r, double per_event)
{
    size_t m = r->out.n;
    if (request_tokens(r) >= 0)
        return interval_exact((double)request_tokens(r));
    if (m > 0 && request_stated(r, m - 1) >= 0)
        return interval_exact(request_stated(r, m - 1));
    return (struct interval){(double)m, (double)m * fmax(per_event, 1)};
}

void formula_output_tps_arrived(const struct scope *s, struct estimates *out)
{
    struct endings e = endings_of(s, has_text, has_text);
    double finished = 0, events = 0;
    for (size_t i = 0; i < s->requests.n && e.sign; i++) {
        const struct request *r = scope_nth(s, i);
        if (!formula_counts(s, r))
            continue;
        finished += formula_count(r, COUNT_N);
        events += (double)r->out.n;
    }
    struct interval n = interval_exact(finished);
    for (size_t i = 0; i < s->requests.n && e.taken > 0; i++) {
        const struct request *r = scope_nth(s, i);
        if (r->dialect != NULL && !is_answer(r) && has_text(r))
            n = interval_add(n, arrived(r, events > 0 ? finished / events : 1));
    }
    if (e.taken > 0 && n.hi > 0 && e.last_ns > e.first_ns)
        estimates_add(out, (struct estimate){
                               .value = n.lo / span_seconds(e.first_ns, e.last_ns),
                               .interval = interval_div(n, span_length(s, e.first_ns, e.last_ns)),
                               .sign = true});
}

/* --- answers that say nothing ----------------------------------------------------------------- */

static bool is_failure(const struct request *r)
{
    return !is_answer(r);
}

/* Who looks for text has no answer where there is none, whatever else came. False: each has text.
 */
static bool said(const struct scope *s, struct endings *e, size_t *answers)
{
    *e = endings_of(s, is_failure, is_any);
    *answers = 0;
    e->open = 0;
    for (size_t i = 0; i < s->requests.n && !s->one; i++) {
        const struct request *r = scope_nth(s, i);
        *answers += is_answer(r) && has_text(r);
        e->open += r->dialect != NULL && is_open(r);
    }
    return *answers < e->answers;
}

void formula_successes_with_text(const struct scope *s, struct estimates *out)
{
    struct endings e;
    size_t n;
    if (said(s, &e, &n))
        estimates_add(out, (struct estimate){.value = (double)n,
                                             .interval = {(double)n, (double)(n + e.open)}});
}

void formula_failed_or_empty(const struct scope *s, struct estimates *out)
{
    struct endings e;
    size_t n;
    if (!said(s, &e, &n))
        return;
    double failed = (double)(e.all - n - e.retried);
    estimates_add(
        out, (struct estimate){.value = failed, .interval = {failed - (double)e.open, failed}});
}

void formula_request_tps_with_text(const struct scope *s, struct estimates *out)
{
    struct endings e;
    size_t n;
    if (said(s, &e, &n))
        estimates_add_rate(out, s, (double)n, e.first_ns, e.last_ns, false);
}

/* --- what did not come back is not in the run's time ------------------------------------------ */

static bool is_dropped(const struct request *r)
{
    return is_lost(r) || r->outcome == OUTCOME_OPEN;
}

static bool ends_early(const struct endings *e)
{
    return e->sign && e->answered_ns >= 0 && e->answered_ns < e->last_ns;
}

void formula_output_tps_answered(const struct scope *s, struct estimates *out)
{
    struct endings e = endings_of(s, is_dropped, is_dropped);
    double n = 0;
    for (size_t i = 0; i < s->requests.n && ends_early(&e); i++) {
        const struct request *r = scope_nth(s, i);
        n += formula_counts(s, r) ? formula_count(r, COUNT_N) : 0;
    }
    estimates_add_rate(out, s, n, e.first_ns, e.answered_ns, true);
}

void formula_request_rate_answered(const struct scope *s, struct estimates *out)
{
    struct endings e = endings_of(s, is_dropped, is_dropped);
    if (ends_early(&e))
        estimates_add_rate(out, s, (double)e.answers, e.first_ns, e.answered_ns, true);
}

void formula_duration_answered(const struct scope *s, struct estimates *out)
{
    struct endings e = endings_of(s, is_dropped, is_dropped);
    if (ends_early(&e))
        estimates_add(out, (struct estimate){.value = span_seconds(e.first_ns, e.answered_ns),
                                             .interval = formula_span(s, e.first_ns, e.answered_ns),
                                             .sign = true});
}

void formula_concurrency_answered(const struct scope *s, struct estimates *out)
{
    struct endings e = endings_of(s, is_any, is_any);
    struct interval sum = {0, 0};
    double all = 0, answered = 0;
    for (size_t i = 0; i < s->requests.n && e.sign; i++) {
        const struct request *r = scope_nth(s, i);
        int64_t end = formula_when(r, AT_END);
        if (r->dialect == NULL || end < r->t0)
            continue;
        all += span_seconds(r->t0, end);
        if (!is_answer(r))
            continue;
        answered += span_seconds(r->t0, end);
        sum = interval_add(sum, span_length(s, r->t0, end));
    }
    if (answered <= 0 || answered > (1 - MISSED_SHARE) * all)
        return;
    estimates_add(
        out, (struct estimate){.value = answered / span_seconds(e.first_ns, e.last_ns),
                               .interval = interval_div(sum, span_length(s, e.first_ns, e.last_ns)),
                               .sign = true});
}

/* --- attempts --------------------------------------------------------------------------------- */

/* From the first attempt to a mark of the last. */
static void attempts(const struct scope *s, enum when to, struct estimates *out)
{
    bool sign = false;
    size_t kept = out->all.n;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        if (!formula_counts(s, r) || r->retried)
            continue;
        sign |= r->retry_of != 0;
        estimates_add_time(out, s, r, retries_first(s->a, r)->t0, formula_when(r, to), true);
    }
    if (!sign)
        out->all.n = kept;
}

void formula_ttft_of_chain(const struct scope *s, struct estimates *out)
{
    attempts(s, AT_O1, out);
}

void formula_latency_of_chain(const struct scope *s, struct estimates *out)
{
    attempts(s, AT_OM, out);
}
