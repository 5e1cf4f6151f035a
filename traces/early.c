/* Bytes that wait, with their marks. */
#include "traces/early.h"

#include "traces/limits.h"

bool early_has(const struct early *e)
{
    return e->first < e->spans.n;
}

size_t early_bytes(const struct early *e)
{
    return e->bytes.n - e->used;
}

struct mark early_first(const struct early *e)
{
    return e->spans.v[e->first].at;
}

bool early_add(struct early *e, struct span in)
{
    if (!early_has(e) && e->spans.n > 0)
        early_clear(e);
    if (e->bytes.max == 0)
        buf_init(&e->bytes, LIMIT_EARLY_BYTES);
    if (e->spans.n > 0 && in.at.t_ready - early_first(e).t_ready > LIMIT_EARLY_NS)
        return false;
    if (buf_add(&e->bytes, in.p, in.n) != TA_OK)
        return false;
    VEC_PUSH(&e->spans, ((struct early_span){in.at, in.n}));
    return true;
}

struct span early_take(struct early *e)
{
    struct early_span s = e->spans.v[e->first++];
    struct span in = {e->bytes.p + e->used, s.n, s.at};
    e->used += s.n;
    return in;
}

void early_clear(struct early *e)
{
    buf_done(&e->bytes);
    VEC_FREE(&e->spans);
    *e = (struct early){.first = 0};
}
