/* Interval arithmetic; every operation returns the smallest interval that holds all results. */
#include "analyze/interval.h"

#include <math.h>

struct interval interval_exact(double x)
{
    return (struct interval){x, x};
}

struct interval interval_around(double x, double half)
{
    return (struct interval){x - half, x + half};
}

struct interval interval_unknown(void)
{
    return (struct interval){NAN, NAN};
}

struct interval interval_add(struct interval a, struct interval b)
{
    return (struct interval){a.lo + b.lo, a.hi + b.hi};
}

struct interval interval_sub(struct interval a, struct interval b)
{
    return (struct interval){a.lo - b.hi, a.hi - b.lo};
}

struct interval interval_scale(struct interval a, double k)
{
    return (struct interval){a.lo * k, a.hi * k};
}

struct interval interval_div(struct interval n, struct interval d)
{
    if (!interval_known(n) || !interval_known(d) || d.hi <= 0)
        return interval_unknown();
    struct interval q = {n.lo / d.hi, d.lo > 0 ? n.hi / d.lo : INFINITY};
    return q;
}

bool interval_known(struct interval a)
{
    return !isnan(a.lo) && !isnan(a.hi);
}

bool interval_meets(struct interval a, struct interval b)
{
    return a.lo <= b.hi && b.lo <= a.hi;
}

bool interval_below(struct interval a, struct interval b)
{
    return a.hi < b.lo;
}

double interval_spread(struct interval a)
{
    if (a.lo == a.hi)
        return 1;
    return a.lo > 0 ? a.hi / a.lo : INFINITY;
}
