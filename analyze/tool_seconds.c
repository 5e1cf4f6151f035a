/* Peaks that tools count in seconds from their first start on: a second is not ours, but one that
 * begins within the vantage of it. */
#include <math.h>
#include <stdlib.h>

#include "analyze/formulas_parts.h"
#include "analyze/tool.h"
#include "traces/base/mem.h"

enum { SECONDS_MOST = 1000000 };

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

typedef VEC(int64_t) times;

static void sort_times(int64_t *v, size_t n)
{
    if (n > 0)
        qsort(v, n, sizeof *v, by_time);
}

/* How many of v, ascending, lie in [from, to). */
static size_t between(const int64_t *v, size_t n, int64_t from, int64_t to)
{
    size_t lo[2] = {0, 0};
    const int64_t edge[2] = {from, to};
    for (int k = 0; k < 2; k++) {
        size_t a = 0, b = n;
        while (a < b) {
            size_t m = a + (b - a) / 2;
            if (v[m] < edge[k])
                a = m + 1;
            else
                b = m;
        }
        lo[k] = a;
    }
    return lo[1] > lo[0] ? lo[1] - lo[0] : 0;
}

/* Events with text in the fullest second. */
void tool_peak_events(const struct scope *s, struct estimates *out)
{
    times all = {0};
    int64_t first = -1, late = s->o->vantage_ns;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        if (!scope_times(s, r))
            continue;
        first = first < 0 || r->t0 < first ? r->t0 : first;
        for (size_t k = 0; k < r->out.n; k++)
            VEC_PUSH(&all, r->out.v[k].t_ns);
    }
    sort_times(all.v, all.n);
    size_t lo = 0, hi = 0, seen = 0;
    int64_t length = all.n > 0 ? all.v[all.n - 1] - first : -1;
    for (int64_t k = 0; length >= 0 && k <= length / NS_PER_S && k < SECONDS_MOST; k++) {
        int64_t from = first + k * NS_PER_S, to = from + NS_PER_S;
        size_t least = between(all.v, all.n, from + late, to - late);
        size_t most = between(all.v, all.n, from - late, to + late);
        size_t now = between(all.v, all.n, from, to);
        lo = least > lo ? least : lo;
        hi = most > hi ? most : hi;
        seen = now > seen ? now : seen;
    }
    VEC_FREE(&all);
    if (hi > 0)
        estimates_add(
            out, (struct estimate){.value = (double)seen, .interval = {(double)lo, (double)hi}});
}

/* Requests that touch one second: wherever its seconds begin, no fewer than are in flight at once,
 * and no more than touch any span of that length. */
void tool_peak_requests(const struct scope *s, struct estimates *out)
{
    times starts = {0}, ends = {0};
    int64_t late = s->o->vantage_ns;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        int64_t end = formula_when(r, AT_END);
        if (!formula_counts(s, r) || r->t0 < 0 || end < r->t0)
            continue;
        VEC_PUSH(&starts, r->t0);
        VEC_PUSH(&ends, end);
    }
    sort_times(starts.v, starts.n);
    sort_times(ends.v, ends.n);
    size_t lo = 0, hi = 0;
    for (size_t k = 0; k < ends.n; k++) {
        size_t ended = between(ends.v, ends.n, INT64_MIN, ends.v[k]);
        size_t at_once = between(starts.v, starts.n, INT64_MIN, ends.v[k]);
        size_t in_second =
            between(starts.v, starts.n, INT64_MIN, ends.v[k] + NS_PER_S + 2 * late + 1);
        lo = at_once > ended + lo ? at_once - ended : lo;
        hi = in_second > ended + hi ? in_second - ended : hi;
    }
    VEC_FREE(&starts);
    VEC_FREE(&ends);
    if (hi > 0)
        estimates_add(out,
                      (struct estimate){.value = (double)hi, .interval = {(double)lo, (double)hi}});
}
