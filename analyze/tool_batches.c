/* llama-benchy's figures of a batch: requests that were in flight together; a run of its is a
 * batch, and it gives the mean of its runs. */
#include <math.h>
#include <stdlib.h>

#include "analyze/formulas_parts.h"
#include "analyze/tool.h"
#include "traces/base/mem.h"

/* One batch of a scope: requests from … to, by t0. */
struct batch {
    size_t from, to;
};

static bool next_batch(const struct scope *s, struct batch *b)
{
    int64_t end = -1;
    b->from = b->to;
    for (; b->to < s->requests.n; b->to++) {
        const struct request *r = scope_nth(s, b->to);
        if (b->to > b->from && r->t0 > end)
            break;
        int64_t z = formula_when(r, AT_END);
        end = z > end ? z : end;
    }
    return b->to > b->from;
}

/* Adds up what each batch gives, and appends the mean. */
struct mean {
    double sum;
    struct interval i;
    size_t n;
    bool unknown; /* of a batch */
};

static void mean_add(struct mean *m, double v, struct interval i)
{
    m->unknown |= !interval_known(i);
    m->sum += v;
    m->i = interval_add(m->i, i);
    m->n++;
}

static void mean_push(const struct mean *m, struct estimates *out)
{
    if (m->n > 0 && !m->unknown)
        estimates_add(out, (struct estimate){.value = m->sum / (double)m->n,
                                             .interval = interval_scale(m->i, 1 / (double)m->n)});
}

/* (sum of N - requests) / (last text - first text). */
void tool_benchy_batch_tps(const struct scope *s, struct estimates *out)
{
    struct mean mean = {0};
    for (struct batch b = {0, 0}; next_batch(s, &b);) {
        double n = 0;
        int64_t first = -1, last = -1;
        for (size_t i = b.from; i < b.to; i++) {
            const struct request *r = scope_nth(s, i);
            int64_t o1 = formula_when(r, AT_O1), om = formula_when(r, AT_OM);
            if (!scope_times(s, r))
                continue;
            n += formula_count(r, COUNT_N_LESS_1);
            first = first < 0 || o1 < first ? o1 : first;
            last = om > last ? om : last;
        }
        if (first >= 0 && last > first)
            mean_add(&mean, n / span_seconds(first, last),
                     interval_div(interval_exact(n), span_length(s, first, last)));
    }
    mean_push(&mean, out);
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Most of v, ascending, within a time. */
static double most_within(const int64_t *v, size_t n, int64_t length)
{
    size_t most = 0;
    for (size_t i = 0, first = 0; i < n; i++) {
        while (v[i] - v[first] >= length)
            first++;
        most = i - first + 1 > most ? i - first + 1 : most;
    }
    return (double)most;
}

/* Most events within a second; all of a shorter batch over its length. */
void tool_benchy_batch_peak(const struct scope *s, struct estimates *out)
{
    struct mean mean = {0};
    int64_t late = s->o->vantage_ns;
    for (struct batch b = {0, 0}; next_batch(s, &b);) {
        VEC(int64_t) v = {0};
        for (size_t i = b.from; i < b.to; i++) {
            const struct request *r = scope_nth(s, i);
            for (size_t k = 0; scope_times(s, r) && k < r->out.n; k++)
                VEC_PUSH(&v, r->out.v[k].t_ns);
        }
        if (v.n > 1) {
            qsort(v.v, v.n, sizeof *v.v, by_time);
            double n = (double)v.n, length = span_seconds(v.v[0], v.v[v.n - 1]);
            if (length < 1)
                mean_add(&mean, n / length,
                         interval_div(interval_exact(n), span_length(s, v.v[0], v.v[v.n - 1])));
            else
                mean_add(&mean, most_within(v.v, v.n, NS_PER_S),
                         (struct interval){most_within(v.v, v.n, NS_PER_S - late),
                                           most_within(v.v, v.n, NS_PER_S + late + 1)});
        }
        VEC_FREE(&v);
    }
    mean_push(&mean, out);
}
