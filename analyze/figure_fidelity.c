/* fidelity: did a driven load leave when it should have, and with the concurrency of its recording?
 * The errors are those of analyze/fidelity.h. */
#include "analyze/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/fidelity.h"
#include "analyze/stat.h"
#include "traces/base/clock.h"
#include "traces/base/units.h"

enum { POINTS_MIN = 10, POINTS_MAX = 4000, SHARES_MAX = 1000, EDGES_MAX = 4000 };

static const double limit_ms = 1; /* shaded: no figure of a served token suffers from less */

static double ms(int64_t ns)
{
    return (double)ns / NS_PER_MS;
}

/* --- A and B ---------------------------------------------------------------------------------- */

static void put_errors(struct figure *f, const struct fidelity *d, double lo)
{
    int64_t *v = mem_array(d->points.n, sizeof *v);
    for (size_t i = 0; i < d->points.n; i++)
        v[i] = d->points.v[i].error_ns < 0 ? -d->points.v[i].error_ns : d->points.v[i].error_ns;
    stat_sort_ns(v, d->points.n);
    struct plot_table *t =
        plot_table(&f->plot, "ECDF", "errors", "absolute error ms, share of requests up to it");
    size_t stride = d->points.n / SHARES_MAX + 1;
    plot_cell_number(t, lo);
    plot_cell_number(t, 0);
    plot_row_end(t);
    for (size_t i = 0; i < d->points.n; i += stride) {
        size_t at = i + stride < d->points.n ? i : d->points.n - 1; /* the last is always there */
        plot_cell_number(t, fmax(ms(v[at]), lo));
        plot_cell_number(t, (double)(at + 1) / (double)d->points.n);
        plot_row_end(t);
    }
    free(v);
}

/* Thinned evenly, but for the extremes. */
static void put_points(struct figure *f, const struct audit *a, const struct fidelity *d)
{
    struct plot_table *t = plot_table(&f->plot, "PTS", "requests",
                                      "request, s when it should have left, ms later than that");
    size_t stride = d->points.n / POINTS_MAX + 1, lowest = 0, highest = 0;
    int64_t end = 0;
    for (size_t i = 0; i < d->points.n; i++) {
        const struct fidelity_point *p = d->points.v;
        lowest = p[i].error_ns < p[lowest].error_ns ? i : lowest;
        highest = p[i].error_ns > p[highest].error_ns ? i : highest;
        end = p[i].at_ns > end ? p[i].at_ns : end;
    }
    for (size_t i = 0; i < d->points.n; i++) {
        const struct fidelity_point *p = &d->points.v[i];
        if (i % stride != 0 && i != lowest && i != highest)
            continue;
        plot_cell_number(t, (double)a->requests.v[p->request].id);
        plot_cell_number(t, (double)p->at_ns / NS_PER_S);
        plot_cell_number(t, ms(p->error_ns));
        plot_row_end(t);
    }
    double low = fmin(0, ms(d->points.v[lowest].error_ns)),
           high = fmax(0, ms(d->points.v[highest].error_ns)),
           room = fmax(0.12 * (high - low), 0.01);
    plot_number(&f->plot, "YLO", low - room);
    plot_number(&f->plot, "YHI", high + room);
    plot_number(&f->plot, "XMAX", end > 0 ? (double)end / NS_PER_S * 1.02 : 1);
}

/* --- C ---------------------------------------------------------------------------------------- */

static void put_step(struct plot_table *t, int64_t since_ns, int n)
{
    plot_cell_number(t, (double)since_ns / NS_PER_S);
    plot_cell_number(t, n);
    plot_row_end(t);
}

/* The most in flight. Where there are too many changes, each slot of time says the most in it. */
static int put_curve(struct plot_table *t, const struct flight_edge *v, size_t n)
{
    int64_t first = n > 0 ? v[0].t_ns : 0, last = n > 0 ? v[n - 1].t_ns : 0;
    int64_t slot = n > EDGES_MAX ? (last - first) / (EDGES_MAX / 2) + 1 : 1;
    int now = 0, most = 0, peak = 0;
    put_step(t, 0, 0);
    for (size_t i = 0; i < n; i++) {
        now += v[i].change;
        most = now > most ? now : most;
        peak = now > peak ? now : peak;
        if (i + 1 < n && (v[i + 1].t_ns - first) / slot == (v[i].t_ns - first) / slot)
            continue;
        put_step(t, v[i].t_ns - first, slot > 1 ? most : now);
        most = now;
    }
    put_step(t, last - first, now);
    return peak;
}

static void put_flight(struct figure *f, const struct fidelity *d)
{
    struct plot_table *t = plot_table(&f->plot, "FLIGHT", "in-flight", "t s, requests in flight");
    int peak = put_curve(t, d->edges.v, d->edges.n);
    plot_block_end(t);
    int recorded =
        d->edges_recorded.n > 0 ? put_curve(t, d->edges_recorded.v, d->edges_recorded.n) : 0;
    peak = recorded > peak ? recorded : peak;
    plot_number(&f->plot, "PEAK", peak > 0 ? peak : 1);
    plot_number(&f->plot, "HAS_RECORDED", d->edges_recorded.n > 0);
}

/* --- words ------------------------------------------------------------------------------------ */

static const char *title_of_all(struct figure *f, const struct fidelity *d, const char *within)
{
    bool p99 = d->send_error.n >= SPREAD_P99_MIN;
    const char *who = p99 ? "99 % of the requests" : "all requests";
    if (d->basis != FIDELITY_DUE)
        return figure_text(&f->texts, "Waiting for each other, %s left within %s of the recording",
                           who, within);
    return figure_text(&f->texts, "%s left within %s of their time", p99 ? who : "All requests",
                       within);
}

/* What did not leave comes first: the errors are those of the rest. */
static const char *title_of_some(struct figure *f, const struct fidelity *d, const char *within)
{
    return figure_text(&f->texts, "%zu of %zu requests left, %swithin %s of %s", d->found,
                       d->entries, d->send_error.n >= SPREAD_P99_MIN ? "99 % of them " : "", within,
                       d->basis == FIDELITY_DUE ? "their time" : "the recording");
}

static void put_heads(struct figure *f, const struct audit *a, const struct fidelity *d)
{
    char within[32];
    bool due = d->basis == FIDELITY_DUE, p99 = d->send_error.n >= SPREAD_P99_MIN;
    units_duration(p99 ? d->send_error.p99 : d->send_error.max, within);
    const char *title =
        d->found < d->entries ? title_of_some(f, d, within) : title_of_all(f, d, within);
    const struct request *first = &a->requests.v[d->points.v[0].request];
    figure_heads(f, title,
                 figure_text(&f->texts, "%s: %zu requests, first byte on the wire %s",
                             figure_server(&f->texts, a, first), d->points.n,
                             due ? "against the time it was due"
                                 : "against the recording, first requests aligned"));
    f->plot.alt =
        figure_text(&f->texts, "Send errors of trace %s: %s.",
                    figure_cut(&f->texts, figure_trace_name(&a->traces.v[d->trace]), 60), title);
    if (d->points.n > POINTS_MAX)
        VEC_PUSH(&f->notes, figure_text(&f->texts, "Panel B shows one of %zu requests.",
                                        d->points.n / POINTS_MAX + 1));
}

bool figure_fidelity(struct figure *f, const struct audit *a, size_t trace)
{
    const struct fidelity *d = fidelity_of(a, trace);
    if (d == NULL || d->points.n < POINTS_MIN)
        return false;
    char name[32], text[32];
    snprintf(name, sizeof name, "fidelity-%zu", trace + 1);
    figure_begin(f, name, "fidelity");
    double most = fmax(ms(d->send_error.max), 0.01),
           least = fmax(fmin(ms(d->send_error.p50) / 10, most / 10), 0.001);
    double lo = pow(10, floor(log10(least))),
           hi = pow(10, ceil(log10(most) + 0.7)); /* room for p99 in words */
    plot_number(&f->plot, "LO", lo);
    plot_number(&f->plot, "HI", hi);
    plot_number(&f->plot, "P50", fmax(ms(d->send_error.p50), lo));
    bool p99 = d->send_error.n >= SPREAD_P99_MIN;
    int64_t high = p99 ? d->send_error.p99 : d->send_error.max;
    plot_number(&f->plot, "P99", fmax(ms(high), lo));
    plot_text(&f->plot, "P50_TEXT",
              figure_text(&f->texts, "p50 %s", units_duration(d->send_error.p50, text)));
    plot_text(&f->plot, "P99_TEXT",
              figure_text(&f->texts, "%s %s", p99 ? "p99" : "max", units_duration(high, text)));
    plot_number(&f->plot, "LIMIT", d->basis == FIDELITY_DUE ? limit_ms : 0);
    plot_text(&f->plot, "WHEN", d->basis == FIDELITY_DUE ? "due time (s)" : "recorded time (s)");
    put_errors(f, d, lo);
    put_points(f, a, d);
    put_flight(f, d);
    put_heads(f, a, d);
    figure_origin(f, a, &trace, 1);
    f->question = "Was the load sent as it was meant?";
    f->caption =
        "The send error is the time of a request's first byte on the wire (t0) minus the "
        "time that the ledger or the recording gives it. In flight is a request from t0 to "
        "its end; in the recording, from there as well.";
    return true;
}
