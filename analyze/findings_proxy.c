/* Both legs of a proxy in one trace: how much of what a client sees is the proxy's. */
#include <stdlib.h>

#include "analyze/finder.h"
#include "analyze/metrics.h"
#include "analyze/stat.h"
#include "traces/base/buf.h"
#include "traces/base/mem.h"
#include "traces/base/units.h"

/* The legs of one inner port: by how much the outer ones are later, ns. */
struct legs {
    uint16_t outer_port, inner_port;
    size_t outer, inner; /* requests of each leg */
    size_t failed;       /* of the inner leg, with another attempt behind them */
    VEC(int64_t) ttft;
    VEC(int64_t) e2el;
    VEC(int64_t) gaps;
    VEC(int64_t) window;
    VEC(int64_t) inner_window;         /* from the first text to the last */
    size_t cited[CITED_MOST], n_cited; /* indices in audit.inner */
};

static int64_t median_of(int64_t *v, size_t n)
{
    stat_sort_ns(v, n);
    return n % 2 == 1 ? v[n / 2] : v[n / 2 - 1] + (v[n / 2] - v[n / 2 - 1]) / 2;
}

static int64_t median_gap(const struct request *r)
{
    int64_t *v = mem_array(r->out.n, sizeof *v);
    for (size_t i = 1; i < r->out.n; i++)
        v[i - 1] = r->out.v[i].t_ns - r->out.v[i - 1].t_ns;
    int64_t median = median_of(v, r->out.n - 1);
    free(v);
    return median;
}

static int64_t window_of(const struct request *r)
{
    return r->out.v[r->out.n - 1].t_ns - r->out.v[0].t_ns;
}

/* Only of answers that came whole on both legs. */
static void compare(struct legs *l, const struct request *r, const struct request *u)
{
    enum { EVENTS_LEAST = 3 };
    if (!metrics_request_counts(r) || !metrics_request_counts(u) || r->out.n == 0 || u->out.n == 0)
        return;
    int64_t later = u->t0 - r->t0;
    int64_t first = r->out.v[0].t_ns - u->out.v[0].t_ns + later;
    VEC_PUSH(&l->ttft, first);
    VEC_PUSH(&l->e2el, r->out.v[r->out.n - 1].t_ns - u->out.v[u->out.n - 1].t_ns + later);
    VEC_PUSH(&l->window, window_of(r));
    VEC_PUSH(&l->inner_window, window_of(u));
    if (r->out.n >= EVENTS_LEAST && u->out.n >= EVENTS_LEAST)
        VEC_PUSH(&l->gaps, median_gap(r) - median_gap(u));
}

static bool is_of(const struct finder *f, const struct legs *l, const struct request *u)
{
    return u->trace == f->trace && u->server_port == l->inner_port &&
           f->a->requests.v[u->inner_of - 1].server_port == l->outer_port;
}

static void gather(const struct finder *f, struct legs *l)
{
    bool *seen = mem_array(f->a->requests.n + 1, sizeof *seen);
    for (size_t i = 0; i < f->a->inner.n; i++) {
        const struct request *u = &f->a->inner.v[i];
        const struct request *r = &f->a->requests.v[u->inner_of - 1];
        if (!is_of(f, l, u))
            continue;
        l->inner++;
        l->outer += !seen[u->inner_of];
        seen[u->inner_of] = true;
        l->failed += u->outcome != OUTCOME_SUCCESS && u != r->inner;
        if (u == r->inner)
            compare(l, r, u);
        if (l->n_cited < CITED_MOST)
            l->cited[l->n_cited++] = i;
    }
    free(seen);
}

static void put_longer(struct buf *text, const char *before, const char *name, int64_t *v, size_t n)
{
    if (n == 0)
        return;
    int64_t by = median_of(v, n);
    char span[32];
    buf_printf(text, "%s%s %s %s", before, name, units_duration(by < 0 ? -by : by, span),
               by < 0 ? "shorter" : "longer");
}

static void put_detail(struct legs *l, struct buf *text)
{
    buf_printf(text,
               "%zu request%s to port %u %s answered by way of port %u, where the proxy sent %zu: "
               "the same work, seen a second time",
               l->outer, l->outer == 1 ? "" : "s", l->outer_port, l->outer == 1 ? "was" : "were",
               l->inner_port, l->inner);
    if (l->failed > 0)
        buf_printf(text, " (%zu of them failed, and the proxy tried again)", l->failed);
    buf_printf(text, ". All figures are of the client's leg, port %u.", l->outer_port);
    if (l->ttft.n == 0)
        return;
    put_longer(text, " In the median the way through the proxy makes ", "ttft", l->ttft.v,
               l->ttft.n);
    put_longer(text, ", ", "e2el", l->e2el.v, l->e2el.n);
    int64_t window = median_of(l->window.v, l->window.n);
    int64_t inner = median_of(l->inner_window.v, l->inner_window.n);
    char passes[32], came[32];
    if (2 * window < inner)
        buf_printf(text, "; it holds text back: what comes to it in %s, it passes on in %s",
                   units_duration(inner, came), units_duration(window, passes));
    else
        put_longer(text, ", ", "the gap between two events", l->gaps.v, l->gaps.n);
    buf_puts(text, ".");
}

static void find_legs(struct finder *f, struct legs *l)
{
    struct buf text;
    gather(f, l);
    buf_init(&text, 4096);
    put_detail(l, &text);
    struct finding *x = finder_add(f, FINDING_PROXY_BOTH_LEGS,
                                   audit_printf(f->a, "%.*s", (int)text.n, (const char *)text.p));
    for (size_t i = 0; i < l->n_cited; i++) {
        const struct request *u = &f->a->inner.v[l->cited[i]];
        finder_cite_start(x, &f->a->requests.v[u->inner_of - 1]);
        finder_cite(x, u, u->t0_packet, false, u->t0_offset, u->t0, "what the proxy sends for it");
    }
    buf_done(&text);
    VEC_FREE(&l->ttft);
    VEC_FREE(&l->e2el);
    VEC_FREE(&l->gaps);
    VEC_FREE(&l->window);
    VEC_FREE(&l->inner_window);
}

void findings_proxy(struct finder *f)
{
    VEC(struct legs) done = {0};
    for (size_t i = 0; i < f->a->inner.n; i++) {
        const struct request *u = &f->a->inner.v[i];
        bool is_new = u->trace == f->trace;
        for (size_t k = 0; k < done.n && is_new; k++)
            is_new = !is_of(f, &done.v[k], u);
        if (!is_new)
            continue;
        VEC_PUSH(&done,
                 ((struct legs){.inner_port = u->server_port,
                                .outer_port = f->a->requests.v[u->inner_of - 1].server_port}));
        find_legs(f, &done.v[done.n - 1]);
    }
    VEC_FREE(&done);
}
