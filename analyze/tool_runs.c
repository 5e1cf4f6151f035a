/* What tools say of a whole run: its duration T, rates over it, and how many ran at a time. AIPerf
 * and GenAI-Perf take T from the first start of a success to the last text, the others from the
 * first start to the end of all. */
#include <math.h>

#include "analyze/formulas_parts.h"
#include "analyze/tool.h"

/* A tool's clock stops a while behind the last reply: those recorded here by up to 32 ms (AIPerf
 * 0.13, on a busy machine), SGLang's with a call to its server. Of a short run that may be a part
 * that counts, so that what lies beyond is not confirmed, but may be so for a second. */
#define LATE_S 0.1
#define LATE_SHARE 0.02
#define OVERRUN_S 1.0

enum runs { OF_ALL, OF_SUCCESSES };

struct duration {
    double s; /* 0: there is none */
    struct interval i;
};

static struct duration duration_of(const struct scope *s, enum runs which)
{
    int64_t from = -1, text = -1, to = -1;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        int64_t om = formula_when(r, AT_OM), end = formula_when(r, AT_END);
        if (r->dialect == NULL || (which == OF_SUCCESSES && (!formula_counts(s, r) || om < 0)))
            continue;
        from = from < 0 || r->t0 < from ? r->t0 : from;
        text = om > text ? om : text;
        to = end > to ? end : to;
    }
    if (from < 0 || to <= from)
        return (struct duration){0, interval_unknown()};
    double whole = span_seconds(from, to), vantage = (double)s->o->vantage_ns / NS_PER_S;
    double least = text > from ? span_seconds(from, text) : whole;
    double late = s->overrun ? OVERRUN_S : fmin(OVERRUN_S, fmax(LATE_S, LATE_SHARE * whole));
    return (struct duration){which == OF_ALL ? whole : least,
                             {fmax(least - vantage, 0), whole + late}};
}

static void push_rate(const struct scope *s, double n, enum runs which, struct estimates *out)
{
    struct duration d = duration_of(s, which);
    if (d.s > 0 && !isnan(n))
        estimates_add(out, (struct estimate){.value = n / d.s,
                                             .interval = interval_div(interval_exact(n), d.i)});
}

static void run_rate(const struct scope *s, enum count count, enum runs which,
                     struct estimates *out)
{
    double n = 0;
    for (size_t i = 0; i < s->requests.n; i++) {
        if (formula_counts(s, scope_nth(s, i)))
            n += formula_count(scope_nth(s, i), count);
    }
    push_rate(s, n, which, out);
}

void tool_output_tps(const struct scope *s, struct estimates *out)
{
    run_rate(s, COUNT_N, OF_ALL, out);
}

void tool_text_tps(const struct scope *s, struct estimates *out)
{
    run_rate(s, COUNT_TEXT, OF_ALL, out);
}

void tool_input_tps(const struct scope *s, struct estimates *out)
{
    run_rate(s, COUNT_P, OF_ALL, out);
}

void tool_total_tps(const struct scope *s, struct estimates *out)
{
    run_rate(s, COUNT_P_AND_N, OF_ALL, out);
}

void tool_request_tps(const struct scope *s, struct estimates *out)
{
    run_rate(s, COUNT_NONE, OF_ALL, out);
}

void tool_answers_output_tps(const struct scope *s, struct estimates *out)
{
    run_rate(s, COUNT_N, OF_SUCCESSES, out);
}

void tool_answers_text_tps(const struct scope *s, struct estimates *out)
{
    run_rate(s, COUNT_TEXT, OF_SUCCESSES, out);
}

void tool_answers_total_tps(const struct scope *s, struct estimates *out)
{
    run_rate(s, COUNT_P_AND_N, OF_SUCCESSES, out);
}

void tool_answers_request_tps(const struct scope *s, struct estimates *out)
{
    run_rate(s, COUNT_NONE, OF_SUCCESSES, out);
}

static double attempts(const struct scope *s)
{
    double n = 0;
    for (size_t i = 0; i < s->requests.n; i++)
        n += scope_nth(s, i)->dialect != NULL;
    return n;
}

/* Requests without a response too. */
void tool_attempts(const struct scope *s, struct estimates *out)
{
    estimates_add(out,
                  (struct estimate){.value = attempts(s), .interval = interval_exact(attempts(s))});
}

void tool_attempts_tps(const struct scope *s, struct estimates *out)
{
    push_rate(s, attempts(s), OF_SUCCESSES, out);
}

static void push_duration(const struct scope *s, enum runs which, struct estimates *out)
{
    struct duration d = duration_of(s, which);
    if (d.s > 0)
        estimates_add(out, (struct estimate){.value = d.s, .interval = d.i});
}

void tool_duration(const struct scope *s, struct estimates *out)
{
    push_duration(s, OF_ALL, out);
}

void tool_answers_duration(const struct scope *s, struct estimates *out)
{
    push_duration(s, OF_SUCCESSES, out);
}

/* Sum of the requests' times over the duration. */
void tool_concurrency(const struct scope *s, struct estimates *out)
{
    struct interval sum = {0, 0};
    double value = 0;
    struct duration d = duration_of(s, OF_ALL);
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        if (!formula_counts(s, r))
            continue;
        value += span_seconds(r->t0, formula_when(r, AT_END));
        sum = interval_add(sum, formula_span(s, r->t0, formula_when(r, AT_END)));
    }
    sum.lo = fmax(sum.lo, 0);
    if (d.s > 0)
        estimates_add(out,
                      (struct estimate){.value = value / d.s, .interval = interval_div(sum, d.i)});
}
