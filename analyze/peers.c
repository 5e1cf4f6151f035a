/* Reads a tool's table over the requests of a run. */
#include "analyze/peers.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics.h"
#include "analyze/metrics_flow.h"
#include "analyze/peers_stat.h"
#include "analyze/peers_table.h"
#include "analyze/stat.h"
#include "traces/base/clock.h"
#include "traces/base/mem.h"

const struct peer *const peers_all[] = {&peer_vllm,     &peer_sglang,       &peer_aiperf,
                                        &peer_guidellm, &peer_llama_benchy, &peer_inference_perf,
                                        &peer_llmperf,  &peer_genai_perf,   NULL};

const struct peer *peer_named(const char *name)
{
    for (size_t i = 0; peers_all[i] != NULL; i++) {
        if (strcmp(peers_all[i]->name, name) == 0)
            return peers_all[i];
    }
    return NULL;
}

const char *peer_name(const struct peer *p)
{
    return p->name;
}

const char *peer_version(const struct peer *p)
{
    return p->version;
}

/* One tool over one run. */
struct reading {
    struct audit *a;
    const struct audit_options *o;
    const struct peer *p;
    const struct run *run;
    const struct request **ok; /* what the tool takes for successes */
    size_t n_ok;
    struct peer_report *out;
};

/* Values of one row, and why some can't be had. */
struct series {
    VEC(double) v;
    VEC(double) weights;
    const char *why;    /* a value is not known, so the figure is not; NULL */
    const char *absent; /* a request has no such value, and takes no part */
    const char *note;
};

static void series_free(struct series *s)
{
    VEC_FREE(&s->v);
    VEC_FREE(&s->weights);
}

/* A tool does not look for a finish; what was not captured whole can't be told. */
static bool is_ok(const struct request *r)
{
    return (r->outcome == OUTCOME_SUCCESS || r->outcome == OUTCOME_NO_FINISH) && r->out.n > 0;
}

static bool is_seen(const struct request *r)
{
    return !r->damaged && !r->clock_stepped;
}

static int64_t when(const struct request *r, enum peer_time t)
{
    size_t m = r->out.n;
    switch (t) {
    case PEER_T0:
        return r->t0;
    case PEER_C1:
        return r->c1;
    case PEER_O1:
        return m > 0 ? r->out.v[0].t_ns : -1;
    case PEER_O2:
        return m > 1 ? r->out.v[1].t_ns : -1;
    case PEER_ANSWER:
        return r->answer_ns;
    case PEER_OM:
        return m > 0 ? r->out.v[m - 1].t_ns : -1;
    case PEER_Z:
        return r->z;
    case PEER_END:
        return r->t_end;
    }
    return -1;
}

/* N as the tool gets it; NAN: it can't be known, and why. */
static double output_tokens(const struct peer *p, const struct request *r, struct series *s)
{
    double usage = r->usage.completion >= 0 ? (double)r->usage.completion : NAN;
    double text = r->recounted >= 0 ? (double)r->recounted : NAN;
    const char *no_text = r->recount_why != NULL
                              ? r->recount_why
                              : "it counts the text with a tokenizer, and no --tokenizer is given";
    switch (p->count) {
    case PEER_USAGE:
        s->why = isnan(usage) && isnan(text) ? no_text : s->why;
        return isnan(usage) ? text : usage;
    case PEER_USAGE_OR_WISH:
        if (!isnan(usage))
            return usage;
        s->note = "N is the max_tokens that was asked for, which is a wish, not a count";
        if (r->asked.max_tokens < 0)
            s->why = "no usage was stated, and no max_tokens asked for";
        return r->asked.max_tokens >= 0 ? (double)r->asked.max_tokens : NAN;
    case PEER_USAGE_OR_EVENTS:
        if (isnan(usage))
            s->note = "N is the number of events with text: no usage was stated";
        return isnan(usage) ? (double)r->out.n : usage;
    case PEER_IDS_FIRST:
        if (r->identified > 0)
            return (double)r->identified;
        if (isnan(usage) && isnan(text))
            s->note = "N is the number of events with text: no usage was stated";
        return !isnan(usage) ? usage : !isnan(text) ? text : (double)r->out.n;
    case PEER_TEXT:
        s->why = isnan(text) ? no_text : s->why;
        return text;
    case PEER_TEXT_BY_DEFAULT:
        if (isnan(text) && !isnan(usage))
            s->note = p->count_option;
        s->why = isnan(text) && isnan(usage) ? no_text : s->why;
        return isnan(text) ? usage : text;
    }
    return NAN;
}

static double input_tokens(const struct request *r, struct series *s)
{
    s->note = s->note != NULL ? s->note : "prompt tokens as the server stated them";
    if (r->usage.prompt >= 0)
        return (double)r->usage.prompt;
    s->why = "no count of prompt tokens was stated";
    return NAN;
}

static double seconds(int64_t ns)
{
    return (double)ns / NS_PER_S;
}

/* to - from; NAN: one of them did not happen. */
static double span(const struct request *r, const struct peer_row *row, struct series *s)
{
    int64_t from = when(r, row->from), to = when(r, row->to);
    if (row->streams && !r->stream_reply) {
        s->absent = "the reply is one document: it has no first token";
        return NAN;
    }
    if (from >= 0 && to >= 0)
        return seconds(to - from);
    s->absent = row->from == PEER_ANSWER || row->to == PEER_ANSWER
                    ? "all output is reasoning, which it does not count"
                    : "what it is measured between did not happen";
    return NAN;
}

static void push(struct series *s, double v, double weight)
{
    VEC_PUSH(&s->v, v);
    VEC_PUSH(&s->weights, weight);
}

/* --- of one request ------------------------------------------------------------------------- */

/* Is the row about such a quotient that this request has none, and the tool leaves it out? */
static void push_quotient(const struct reading *x, const struct peer_row *row,
                          const struct request *r, struct series *s)
{
    double time = span(r, row, s), n = output_tokens(x->p, r, s) - row->less;
    if (isnan(time) || isnan(n))
        return;
    bool per = row->shape == PEER_SPAN_PER;
    if (n > 0 && (per || time > 0))
        push(s, per ? time / n : n / time, row->weighted ? n : 1);
    else if (x->p->missing_zero && !row->weighted)
        push(s, 0, 1); /* one without weight it drops */
}

static void push_request(const struct reading *x, const struct peer_row *row,
                         const struct request *r, struct series *s)
{
    double v = NAN;
    int64_t lines = (int64_t)r->events - (r->done_ns >= 0);
    switch (row->shape) {
    case PEER_SPAN:
        v = span(r, row, s);
        break;
    case PEER_SPAN_PER:
    case PEER_PER_SPAN:
        push_quotient(x, row, r, s);
        break;
    case PEER_INPUT_PER:
        v = input_tokens(r, s) / span(r, row, s);
        break;
    case PEER_OUTPUT:
        v = output_tokens(x->p, r, s);
        break;
    case PEER_INPUT:
        v = input_tokens(r, s);
        break;
    case PEER_GAPS:
        for (size_t k = 1; k < r->out.n; k++)
            push(s, seconds(r->out.v[k].t_ns - r->out.v[k - 1].t_ns), 1);
        break;
    case PEER_LINES:
        v = lines > 0 ? span(r, row, s) / (double)lines : NAN;
        s->absent = lines > 0 ? s->absent : "the reply is no stream";
        break;
    default:
        break;
    }
    if (isfinite(v))
        push(s, v, 1);
}

/* --- batches -------------------------------------------------------------------------------- */

/* Requests released together stand together, each one sent alone for itself. */
struct member {
    size_t batch;
    const struct request *r;
};

static int by_batch(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    if (x->batch != y->batch)
        return x->batch < y->batch ? -1 : 1;
    return (x->r > y->r) - (x->r < y->r);
}

/* The earliest or latest of a batch. */
static int64_t batch_time(const struct member *m, size_t n, enum peer_time t, bool latest)
{
    int64_t found = when(m[0].r, t);
    for (size_t i = 1; i < n; i++) {
        int64_t at = when(m[i].r, t);
        found = (latest ? at > found : at < found) ? at : found;
    }
    return found;
}

/* Most tokens within a second, those of each request spread evenly over its events; of a shorter
 * burst, all of them over its length. */
static double batch_peak(const struct reading *x, const struct member *m, size_t n,
                         struct series *s)
{
    VEC(struct stat_point) events = {0}; /* when, how many tokens */
    int64_t first_o1 = batch_time(m, n, PEER_O1, false);
    for (size_t i = 0; i < n; i++) {
        double each = output_tokens(x->p, m[i].r, s) / (double)m[i].r->out.n;
        for (size_t k = 0; k < m[i].r->out.n; k++)
            VEC_PUSH(&events,
                     ((struct stat_point){seconds(m[i].r->out.v[k].t_ns - first_o1), each}));
    }
    stat_sort_points(events.v, events.n);
    double sum = 0, peak = 0, length = seconds(batch_time(m, n, PEER_OM, true) - first_o1);
    for (size_t i = 0, first = 0; i < events.n; i++) {
        sum += events.v[i].weight;
        while (length >= 1 && events.v[i].value - events.v[first].value > 1)
            sum -= events.v[first++].weight;
        peak = sum > peak ? sum : peak;
    }
    VEC_FREE(&events);
    return length >= 1 ? peak : sum / length;
}

static double batch_value(const struct reading *x, const struct peer_row *row,
                          const struct member *m, size_t n, struct series *s)
{
    if (row->shape == PEER_BATCH_PEAK)
        return batch_peak(x, m, n, s);
    bool input = row->shape == PEER_BATCH_IN;
    double tokens = 0;
    for (size_t i = 0; i < n; i++)
        tokens += input ? input_tokens(m[i].r, s) : output_tokens(x->p, m[i].r, s) - 1;
    int64_t from = batch_time(m, n, input ? PEER_T0 : PEER_O1, false);
    int64_t to = batch_time(m, n, input ? PEER_O1 : PEER_OM, true);
    return tokens / seconds(to - from);
}

static void push_batches(const struct reading *x, const struct peer_row *row, struct series *s)
{
    struct member *m = mem_array(x->n_ok + 1, sizeof *m);
    for (size_t i = 0; i < x->n_ok; i++) {
        bool alone = x->ok[i]->group < 0;
        m[i].batch = alone ? x->run->requests.n + i : (size_t)x->ok[i]->group;
        m[i].r = x->ok[i];
    }
    qsort(m, x->n_ok, sizeof *m, by_batch);
    for (size_t i = 0, end; i < x->n_ok; i = end) {
        for (end = i + 1; end < x->n_ok && m[end].batch == m[i].batch;)
            end++;
        double v = batch_value(x, row, m + i, end - i, s);
        if (isfinite(v) && v > 0)
            push(s, v, 1);
    }
    free(m);
}

/* --- of the run ------------------------------------------------------------------------------- */

static const struct request *attempt(const struct reading *x, size_t i)
{
    return &x->a->requests.v[x->run->requests.v[i]];
}

/* T; NAN: there is none. */
static double run_span(const struct reading *x, const struct peer_row *row)
{
    int64_t first = -1, last = -1;
    for (size_t i = 0; i < (row->all ? x->run->requests.n : x->n_ok); i++) {
        const struct request *r = row->all ? attempt(x, i) : x->ok[i];
        int64_t from = when(r, row->from), to = when(r, row->to);
        if (from < 0 || to < 0)
            continue;
        first = first < 0 || from < first ? from : first;
        last = to > last ? to : last;
    }
    return first >= 0 ? seconds(last - first) : NAN;
}

static double sum_output(const struct reading *x, struct series *s)
{
    double sum = 0;
    for (size_t i = 0; i < x->n_ok; i++)
        sum += output_tokens(x->p, x->ok[i], s);
    return sum;
}

static double sum_input(const struct reading *x, struct series *s)
{
    double sum = 0;
    for (size_t i = 0; i < x->n_ok; i++)
        sum += input_tokens(x->ok[i], s);
    return sum;
}

static double little(const struct reading *x, const struct peer_row *row)
{
    double sum = 0;
    for (size_t i = 0; i < x->n_ok; i++)
        sum += seconds(when(x->ok[i], PEER_Z) - x->ok[i]->t0);
    return sum / run_span(x, row);
}

enum { RUNS_MAX = 1000 };

/* --- goodput --------------------------------------------------------------------------------- */

enum good { BAD, GOOD, UNTOLD };

static const struct peer_row *row_named(const struct peer *p, const char *name)
{
    const struct peer_row *row = p->rows;
    while (strcmp(row->name, name) != 0)
        row++;
    return row;
}

static bool has_limit(const struct peer *p, enum request_metric m)
{
    const struct peer_limit *l = p->limits;
    while (l->row != NULL && l->metric != m)
        l++;
    return l->row != NULL;
}

static bool asks_goodput(const struct reading *x)
{
    bool asked = false;
    for (enum request_metric m = 0; m < REQUEST_METRICS; m++)
        asked |= x->o->slo[m] > 0;
    return asked;
}

/* Is r within all limits? */
static enum good judge(const struct reading *x, const struct request *r, struct series *s)
{
    enum good good = GOOD;
    struct peer strict = *x->p;
    struct reading y = *x;
    strict.missing_zero = false; /* a figure that is missing is no 0 here */
    y.p = &strict;
    for (const struct peer_limit *l = x->p->limits; l->row != NULL; l++) {
        struct series one = {0};
        if (x->o->slo[l->metric] <= 0)
            continue;
        push_request(&y, row_named(x->p, l->row), r, &one);
        s->why = one.why != NULL ? one.why : s->why;
        if (one.v.n > 0 && one.v.v[0] > x->o->slo[l->metric])
            good = good == UNTOLD ? UNTOLD : BAD;
        if (one.v.n == 0 && x->p->missing != PEER_PASSES)
            good = x->p->missing == PEER_UNTOLD ? UNTOLD : BAD;
        series_free(&one);
    }
    return good;
}

static double goodput(const struct reading *x, const struct peer_row *row, struct series *s)
{
    double good = 0, told = 0, tokens = 0, failed = (double)(x->run->requests.n - x->n_ok);
    for (enum request_metric m = 0; m < REQUEST_METRICS; m++) {
        if (x->o->slo[m] > 0 && !has_limit(x->p, m))
            s->why = audit_printf(x->a, "it has no limit of %s", request_metrics[m].name);
    }
    for (size_t i = 0; i < x->n_ok; i++) {
        enum good g = judge(x, x->ok[i], s);
        told += g != UNTOLD;
        good += g == GOOD;
        if (g == GOOD && row->shape == PEER_RUN_GOOD_TOKENS)
            tokens += input_tokens(x->ok[i], s) + output_tokens(x->p, x->ok[i], s);
    }
    if (s->why != NULL)
        return NAN;
    switch (row->shape) {
    case PEER_RUN_GOOD:
        return good;
    case PEER_RUN_GOODPUT:
        return good / run_span(x, row);
    case PEER_RUN_GOOD_TOKENS:
        return tokens / run_span(x, row);
    default:
        return good / (told + (row->all ? failed : 0));
    }
}

static double run_value(const struct reading *x, const struct peer_row *row, struct series *s)
{
    double attempts = (double)x->run->requests.n, ok = (double)x->n_ok, t = run_span(x, row);
    switch (row->shape) {
    case PEER_RUN_COUNT:
        return row->all ? attempts : ok;
    case PEER_RUN_FAILED:
        return attempts - ok;
    case PEER_RUN_FAILED_SHARE:
        return (attempts - ok) / attempts;
    case PEER_RUN_SPAN:
        return t;
    case PEER_RUN_SUM_OUT:
        return sum_output(x, s);
    case PEER_RUN_SUM_IN:
        return sum_input(x, s);
    case PEER_RUN_RATE:
        return (row->less ? attempts : ok) / t;
    case PEER_RUN_OUT_RATE:
        return sum_output(x, s) / t;
    case PEER_RUN_IN_RATE:
        return sum_input(x, s) / t;
    case PEER_RUN_TOTAL_RATE:
        return (sum_output(x, s) + sum_input(x, s)) / t;
    case PEER_RUN_LITTLE:
        return little(x, row);
    case PEER_RUN_BUCKET:
    case PEER_RUN_IN_FLIGHT_1S:
        return peers_fullest_second(x->ok, x->n_ok, row->shape == PEER_RUN_IN_FLIGHT_1S);
    case PEER_RUN_GOOD:
    case PEER_RUN_GOODPUT:
    case PEER_RUN_GOOD_TOKENS:
    case PEER_RUN_GOOD_SHARE:
        return goodput(x, row, s);
    default:
        return NAN;
    }
}

/* --- rows ------------------------------------------------------------------------------------- */

static void put(struct reading *x, const struct peer_row *row, const char *name, const char *stat,
                double value, size_t n, const struct series *s)
{
    const char *note = row->note != NULL ? row->note : s->note;
    if (!isfinite(value)) {
        value = NAN;
        note = s->why != NULL      ? s->why
               : s->absent != NULL ? s->absent
               : x->n_ok == 0      ? "no request succeeded"
               : row->note != NULL ? row->note
                                   : "no request has it";
    }
    VEC_PUSH(&x->out->figures, ((struct peer_figure){name, stat, row->unit, row->formula, row->word,
                                                     value * row->scale, n, note}));
}

static struct stat_point *points_of(const struct series *s)
{
    struct stat_point *v = mem_array(s->v.n + 1, sizeof *v);
    for (size_t i = 0; i < s->v.n; i++)
        v[i] = (struct stat_point){s->v.v[i], s->weights.v[i]};
    stat_sort_points(v, s->v.n);
    return v;
}

static void put_series(struct reading *x, const struct peer_row *row, struct series *s)
{
    /* a request whose count or time is not known makes the tool's figure unknown */
    size_t n = s->why == NULL ? s->v.n : 0;
    bool zero = n == 0 && s->why == NULL && x->p->zero_for_none;
    double none = zero ? 0 : NAN;
    if (zero)
        s->note = "it prints 0 where there is no value";
    struct stat_point *points = x->p->step && n > 0 ? points_of(s) : NULL;
    if (n > 0)
        stat_sort(s->v.v, n);
    for (const struct peer_stat *st = x->p->stats; st->stat != NULL; st++) {
        double v = n == 0           ? none
                   : points != NULL ? peer_statistic_points(st->stat, points, n)
                                    : peer_statistic(x->p, st->stat, s->v.v, n);
        const char *name = audit_printf(x->a, "%s%s%s", st->prefix, row->name, st->suffix);
        put(x, row, name, st->stat, v, n, s);
    }
    free(points);
}

static void put_row(struct reading *x, const struct peer_row *row)
{
    struct series s = {0};
    if (row->shape >= PEER_RUN_GOOD && !asks_goodput(x))
        return;
    if (row->shape >= PEER_RUN_COUNT) {
        double v = run_value(x, row, &s);
        put(x, row, row->name, "value", v, row->all ? x->run->requests.n : x->n_ok, &s);
    } else {
        bool batches = row->shape >= PEER_BATCH_OUT;
        if (batches)
            push_batches(x, row, &s);
        for (size_t i = 0; !batches && i < x->n_ok; i++)
            push_request(x, row, x->ok[i], &s);
        put_series(x, row, &s);
    }
    series_free(&s);
}

static void read_run(struct audit *a, const struct audit_options *o, const struct peer *p,
                     size_t run, struct peer_reports *out)
{
    VEC_PUSH(out, ((struct peer_report){.peer = p, .run = run}));
    struct reading x = {a, o, p, &a->runs.v[run], NULL, 0, &out->v[out->n - 1]};
    x.ok = mem_array(x.run->requests.n + 1, sizeof *x.ok);
    size_t unseen = 0;
    for (size_t i = 0; i < x.run->requests.n; i++) {
        const struct request *r = attempt(&x, i);
        unseen += is_ok(r) && !is_seen(r);
        if (is_ok(r) && is_seen(r))
            x.ok[x.n_ok++] = r;
    }
    if (unseen > 0)
        x.out->note = audit_printf(a,
                                   "%zu successes are left out: not all of their bytes were "
                                   "captured, or the clock was set while they ran",
                                   unseen);
    for (const struct peer_row *row = p->rows; row->name != NULL; row++)
        put_row(&x, row);
    free(x.ok);
}

void peers_report(struct audit *a, const struct audit_options *o, const struct peer *p,
                  struct peer_reports *out)
{
    for (size_t run = 0; run < a->runs.n && run < RUNS_MAX; run++) {
        for (size_t i = 0; peers_all[i] != NULL && a->runs.v[run].requests.n > 0; i++) {
            if (p == NULL || p == peers_all[i])
                read_run(a, o, peers_all[i], run, out);
        }
    }
}

void peers_free(struct peer_reports *r)
{
    for (size_t i = 0; i < r->n; i++)
        VEC_FREE(&r->v[i].figures);
    VEC_FREE(r);
}
