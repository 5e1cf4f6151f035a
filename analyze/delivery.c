/* How the text of a stream came. */
#include "analyze/delivery.h"

#include <stdlib.h>

#include "analyze/stat.h"
#include "traces/base/clock.h"
#include "traces/base/mem.h"

enum {
    CLOSE_PARTS = 10, /* of the mean gap, below which events come together … */
    CLOSE_NS = 500000 /* … and this: a faster stream that stalls has a long mean */
};

/* Delayed acknowledgements: 40 ms, and the timer's slack. */
#define STEP_LOW_NS (38 * (double)NS_PER_MS)
#define STEP_HIGH_NS (46 * (double)NS_PER_MS)

/* Of ascending values: the share of the most frequent one. */
static double mode_share(const double *v, size_t n)
{
    size_t most = 0;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && v[end] == v[i];)
            end++;
        most = end - i > most ? end - i : most;
    }
    return (double)most / (double)n;
}

static void add_read(double *counts, double *gaps, struct delivery *d, size_t events, int64_t gap)
{
    double ns = (double)gap;
    counts[d->reads] = (double)events;
    gaps[d->reads++] = ns;
    d->per_read += (double)events;
    d->several += events > 1;
    d->step_share += ns >= STEP_LOW_NS && ns <= STEP_HIGH_NS;
}

/* Below it, an event comes together with the one before it, in whatever packet. */
static int64_t close_ns(const struct request *r)
{
    int64_t mean = (r->out.v[r->out.n - 1].t_ns - r->out.v[0].t_ns) / (int64_t)(r->out.n - 1);
    return mean / CLOSE_PARTS < CLOSE_NS ? mean / CLOSE_PARTS : CLOSE_NS;
}

static bool together(const struct request *r, size_t i, int64_t close)
{
    const struct output_event *e = &r->out.v[i];
    return e->packet == e[-1].packet || e->t_ns - e[-1].t_ns < close;
}

/* Does each event come for itself? Most do: that is all there is to say. */
static bool one_by_one(const struct request *r, int64_t close)
{
    for (size_t i = 2; i + 1 < r->out.n; i++) {
        if (together(r, i, close))
            return false;
    }
    return true;
}

struct delivery delivery_of(const struct request *r)
{
    struct delivery d = {0};
    int64_t close = close_ns(r);
    if (one_by_one(r, close))
        return d;
    double *counts = mem_array(r->out.n + 1, sizeof *counts);
    double *gaps = mem_array(r->out.n + 1, sizeof *gaps);
    for (size_t i = 0, end; i < r->out.n; i = end) {
        for (end = i + 1; end < r->out.n && together(r, end, close);)
            end++;
        if (i > 0 && end < r->out.n)
            add_read(counts, gaps, &d, end - i, r->out.v[i].t_ns - r->out.v[i - 1].t_ns);
    }
    if (d.reads > 0) {
        double n = (double)d.reads;
        stat_sort(counts, d.reads);
        stat_sort(gaps, d.reads);
        d.per_read /= n;
        d.step_share /= n;
        d.several /= n;
        d.same_share = mode_share(counts, d.reads);
        d.gap_ns = stat_median(gaps, d.reads);
    }
    free(gaps);
    free(counts);
    return d;
}

bool delivery_same_number(const struct request *r, const struct delivery *d)
{
    bool cut = r->straddling >= d->reads && r->bursts.n <= d->reads + 1;
    return d->same_share >= DELIVERY_SAME && !cut;
}

/* Two samples' spreads in one (Chan, Golub and LeVeque). */
void delivery_pool(struct bursts *to, const struct bursts *b)
{
    uint32_t n = to->n + b->n;
    double off = b->mean - to->mean;
    if (n == 0)
        return;
    to->squares += b->squares + off * off * to->n * b->n / n;
    to->mean += off * b->n / n;
    to->n = n;
}
