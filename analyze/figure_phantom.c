/* phantom: could the claimed rate have produced the bytes that arrived? The claimed rate, the
 * recomputed one, the output of the request that the claim is about, and the burst it came from. */
#include "analyze/figures.h"

#include <math.h>
#include <string.h>

#include "analyze/claims.h"
#include "analyze/metrics.h"
#include "analyze/report_table.h"
#include "traces/base/clock.h"
#include "traces/base/units.h"

enum { REPEATS_MAX = 8, POINTS_MAX = 1500, NAME_POINTS = 24 };

static const double burst_share = 0.2; /* of the request's time: what is worth a zoom */

static bool is_rate_of_request(const struct claim *c)
{
    const struct claim_name *n = claim_name_find(c->metric);
    return n != NULL && n->dimension == DIM_TOKEN_RATE && !n->of_run && !n->inverse &&
           (n->subject & (SUBJECT_DECODE | SUBJECT_WHOLE)) != 0;
}

static bool is_drawable(const struct request *r)
{
    return r->dialect != NULL && r->out.n > 0 &&
           r->metrics[M_E2E_OUTPUT_TPS].grade != GRADE_NOT_MEASURABLE &&
           r->metrics[M_E2E_OUTPUT_TPS].v > 0 && r->out.v[r->out.n - 1].t_ns > r->t0;
}

/* A rate that counts from the first output. */
static bool is_decode_rate(const struct claim *c)
{
    static const char name[] = "output_tps_user";
    return c->recomputed_as != NULL && strncmp(c->recomputed_as, name, sizeof name - 1) == 0;
}

/* The request on whose connection, and in whose time, the evidence lies. */
static const struct request *of_evidence(const struct audit *a, const struct claim *c)
{
    for (size_t i = 0; i < c->evidence.n; i++) {
        const struct evidence *e = &c->evidence.v[i];
        for (size_t k = 0; k < a->requests.n; k++) {
            const struct request *r = &a->requests.v[k];
            if (r->trace == e->trace && r->conn == e->conn && r->t0 <= e->t_ns &&
                e->t_ns <= r->t_end && is_drawable(r))
                return r;
        }
    }
    return NULL;
}

/* Without evidence: the request whose output, over the time it took to arrive, comes nearest. */
static const struct request *nearest(const struct audit *a, double claimed)
{
    const struct request *best = NULL;
    double best_distance = INFINITY;
    for (size_t i = 0; i < a->requests.n; i++) {
        const struct request *r = &a->requests.v[i];
        if (!is_drawable(r) || !metrics_request_counts(r))
            continue;
        int64_t window = r->out.v[r->out.n - 1].t_ns - r->out.v[0].t_ns;
        double s = (double)(window > NS_PER_MS ? window : NS_PER_MS) / NS_PER_S;
        double distance = fabs(log((double)request_tokens(r) / s / claimed));
        if (distance < best_distance) {
            best = r;
            best_distance = distance;
        }
    }
    return best;
}

static const struct request *focus_of(const struct audit *a, const struct claim *c)
{
    if (c->request > 0) {
        const struct request *r =
            c->request <= a->requests.n ? &a->requests.v[c->request - 1] : NULL;
        return r != NULL && is_drawable(r) ? r : NULL;
    }
    /* The evidence shows the recomputed figure; a cause whose sign is there is what the claim saw.
     */
    bool by_sign = c->causes.n > 0 && c->causes.v[0].by_sign;
    const struct request *r = by_sign ? nearest(a, c->claimed) : of_evidence(a, c);
    return r != NULL ? r : nearest(a, c->claimed);
}

static double distance(double claimed, double recomputed)
{
    return fabs(log(claimed / recomputed));
}

const struct claim *figure_phantom_claim(const struct audit *a, const struct request **focus)
{
    const struct claim *worst = NULL;
    double worst_distance = 0;
    for (size_t i = 0; i < a->claims.n; i++) {
        const struct claim *c = &a->claims.v[i];
        if ((c->verdict != VERDICT_DIFFERS && c->verdict != VERDICT_IMPOSSIBLE) ||
            !is_rate_of_request(c) || !isfinite(c->recomputed) || c->recomputed <= 0 ||
            c->claimed <= 0)
            continue;
        const struct request *r = focus_of(a, c);
        double d = distance(c->claimed, c->recomputed);
        if (r == NULL || d <= worst_distance)
            continue;
        worst = c;
        worst_distance = d;
        *focus = r;
    }
    return worst;
}

struct phantom {
    struct figure *f;
    const struct audit *a;
    const struct claim *c;
    const struct request *r;
    double n;      /* tokens */
    double clock;  /* s from t0: where the rates count from */
    double first;  /* s from t0 */
    double last;   /* s from t0 */
    double window; /* s from the first output to the last */
    size_t reads, repeats;
    bool steps_stated; /* the server stated the count of each event */
};

/* N in words. */
static const char *tokens(const struct phantom *p)
{
    char text[32];
    return figure_text(&p->f->texts, "%s token%s", units_count((uint64_t)p->n, text),
                       p->n == 1 ? "" : "s");
}

static double tokens_up_to(const struct request *r, size_t k, bool stated)
{
    if (stated)
        return request_stated(r, k);
    return (double)request_tokens(r) * (double)(k + 1) / (double)r->out.n;
}

static bool states_each(const struct request *r)
{
    for (size_t i = 0; i < r->out.n; i++) {
        if (request_stated(r, i) < 0 || (i > 0 && request_stated(r, i) < request_stated(r, i - 1)))
            return false;
    }
    return true;
}

static double since(const struct request *r, int64_t ns)
{
    return (double)(ns - r->t0) / NS_PER_S;
}

static void put_arrival(struct plot_table *t, const struct request *r)
{
    size_t stride = r->out.n / POINTS_MAX + 1;
    bool stated = states_each(r);
    double cells[3] = {0, 0, (double)r->id};
    for (size_t k = 0; k <= r->out.n; k++) {
        if (k > 1 && k < r->out.n && k % stride != 0)
            continue;
        if (k > 0) {
            cells[0] = since(r, r->out.v[k - 1].t_ns);
            cells[1] = tokens_up_to(r, k - 1, stated);
        }
        for (int c = 0; c < 3; c++)
            plot_cell_number(t, cells[c]);
        plot_row_end(t);
    }
}

/* The focus request first, then its repeats. */
static void put_arrivals(struct phantom *p)
{
    struct plot_table *t =
        plot_table(&p->f->plot, "DATA", "arrival", "t since t0 s, cumulative tokens, request");
    put_arrival(t, p->r);
    for (size_t i = 0; i < p->a->requests.n && p->repeats < REPEATS_MAX; i++) {
        const struct request *r = &p->a->requests.v[i];
        bool same = p->r->name != NULL ? model_same_text(r->name, p->r->name)
                                       : model_same_text(r->body_sha256, p->r->body_sha256);
        if (r == p->r || r->trace != p->r->trace || !same || !is_drawable(r))
            continue;
        plot_block_end(t);
        put_arrival(t, r);
        p->repeats++;
    }
}

/* One row a read: events that arrived together are one step. */
static void put_burst(struct phantom *p)
{
    const struct request *r = p->r;
    struct plot_table *t = plot_table(&p->f->plot, "BURST", "burst",
                                      "t since o_1 ms, cumulative tokens, events in the read");
    size_t stride = p->reads / POINTS_MAX + 1, read = 0;
    for (size_t k = 0, from = 0; k < r->out.n; k++) {
        bool last = k + 1 == r->out.n;
        if (!last && r->out.v[k + 1].packet == r->out.v[k].packet)
            continue;
        if (read++ % stride == 0 || last) {
            plot_cell_number(t, (double)(r->out.v[k].t_ns - r->out.v[0].t_ns) / NS_PER_MS);
            plot_cell_number(t, tokens_up_to(r, k, p->steps_stated));
            plot_cell_number(t, (double)(k + 1 - from));
            plot_row_end(t);
        }
        from = k + 1;
    }
}

static const char *duration(struct phantom *p, double s)
{
    char text[32];
    return figure_text(&p->f->texts, "%s", units_duration(llround(s * NS_PER_S), text));
}

static bool is_burst(const struct phantom *p)
{
    return p->window <= burst_share * p->last;
}

/* "N/(o_M-o_1)" of "N/(o_M-o_1) (p50 of 24)" */
static const char *formula_alone(struct arena *texts, const struct cause *c)
{
    const char *reading = strstr(c->formula, " (");
    size_t n = reading != NULL ? (size_t)(reading - c->formula) : strlen(c->formula);
    return figure_cut(texts, arena_text(texts, (struct slice){c->formula, n}), 18);
}

/* What the zoom says about where the claim came from: the burst, a formula, its value. */
static void put_zoom_words(struct phantom *p)
{
    struct arena *texts = &p->f->texts;
    const struct cause *c = p->c->causes.n > 0 ? &p->c->causes.v[0] : NULL;
    plot_text(&p->f->plot, "ZHEAD",
              figure_text(texts, "zoom: the last %s, linear", duration(p, p->window)));
    plot_text(&p->f->plot, "ZNOTE1",
              figure_text(texts, "%s in %s", tokens(p), duration(p, p->window)));
    plot_text(&p->f->plot, "ZNOTE2", c == NULL ? "" : formula_alone(texts, c));
    plot_text(&p->f->plot, "ZNOTE3",
              c == NULL ? "" : figure_text(texts, "= %s", figure_quantity(texts, p->c, c->value)));
}

static void put_words(struct phantom *p)
{
    struct arena *texts = &p->f->texts;
    struct plot *plot = &p->f->plot;
    char then[32];
    const char *claimed = figure_claimed(texts, p->c);
    const char *off = figure_off_by(texts, p->c->claimed, p->c->recomputed);
    plot_text(plot, "L_CLAIM", figure_text(texts, "claimed %s", claimed));
    plot_text(plot, "L_REAL",
              figure_text(texts, "recomputed %s", figure_quantity(texts, p->c, p->c->recomputed)));
    plot_text(plot, "L_OFF", off);
    plot_text(plot, "L_THEN",
              figure_text(texts, "would be %s tokens by now",
                          table_number(p->c->claimed * (p->last - p->clock), then)));
    plot_text(plot, "L_WIRE", figure_text(texts, "%s on the wire", tokens(p)));
    plot_text(plot, "L_SILENT", figure_text(texts, "nothing for %s", duration(p, p->first)));
}

static const char *title_of(struct phantom *p)
{
    struct arena *texts = &p->f->texts;
    const char *claimed = figure_claimed(texts, p->c);
    const char *took = duration(p, p->last - p->clock);
    if (p->clock > 0)
        took = figure_text(texts, "%s to decode", took);
    if (p->c->claimed < 2 * p->c->recomputed)
        return figure_text(texts, "Claimed %s, recomputed %s: %s took %s", claimed,
                           figure_quantity(texts, p->c, p->c->recomputed), tokens(p), took);
    const char *burst = "";
    if (is_burst(p) && p->window > 0)
        burst = figure_text(texts, ", then left within %s", duration(p, p->window));
    else if (is_burst(p))
        burst = ", then left at once";
    return figure_text(texts, "%s never happened: %s took %s%s", claimed, tokens(p), took, burst);
}

static void put_heads(struct phantom *p)
{
    struct arena *texts = &p->f->texts;
    const struct run *run = p->r->run < p->a->runs.n ? &p->a->runs.v[p->r->run] : NULL;
    const char *workload = run != NULL && run->workload != NULL
                               ? figure_text(texts, ", %s", figure_cut(texts, run->workload, 24))
                               : "";
    const char *name = p->r->name == NULL ? ""
                                          : figure_text(texts, " (%s)",
                                                        figure_cut(texts, p->r->name, NAME_POINTS));
    const char *repeats =
        p->repeats == 0 ? "" : figure_text(texts, "; thin: %zu repeats", p->repeats);
    figure_heads(p->f, title_of(p),
                 figure_text(texts,
                             "%s%s, request %zu%s: tokens received since the request was sent%s",
                             figure_server(texts, p->a, p->r), workload, p->r->id, name, repeats));
    p->f->plot.alt = figure_text(
        texts, "%s. The claimed rate is a dashed line, the recomputed one, %s, a solid line.",
        p->f->plot.alt, figure_quantity(texts, p->c, p->c->recomputed));
}

static void put_caption(struct phantom *p)
{
    struct figure *f = p->f;
    f->question = "Could the claimed rate have produced the bytes that arrived?";
    f->caption = figure_text(
        &f->texts,
        "Each step is a read of the socket; %s. The claimed and the recomputed rate, %s, are drawn "
        "from the same moment, %s.",
        p->steps_stated ? "its tokens are those that the server stated up to there"
                        : "the server's token count is spread evenly over the output events",
        p->c->recomputed_as != NULL ? figure_cut(&f->texts, p->c->recomputed_as, 120)
                                    : "e2e_output_tps",
        p->clock > 0 ? "the first output event (o_1)" : "the first byte of the request (t0)");
    const struct cause *cause = p->c->causes.n > 0 ? &p->c->causes.v[0] : NULL;
    if (cause != NULL)
        VEC_PUSH(&f->notes,
                 figure_text(&f->texts, "%s, %s: %s = %s.", figure_cut(&f->texts, cause->id, 12),
                             figure_cut(&f->texts, cause->title, 120),
                             figure_cut(&f->texts, cause->formula, 80),
                             figure_quantity(&f->texts, p->c, cause->value)));
    const struct value *own = &p->r->metrics[M_E2E_OUTPUT_TPS];
    if (p->clock == 0 && distance(own->v, p->c->recomputed) > 0.005)
        VEC_PUSH(&f->notes,
                 figure_text(&f->texts,
                             "The recomputed rate is that of the claim's scope; this request alone "
                             "gave %s from t0 to its last output event.",
                             figure_quantity(&f->texts, p->c, own->v)));
}

bool figure_phantom(struct figure *f, const struct audit *a)
{
    struct phantom p = {.f = f, .a = a};
    p.c = figure_phantom_claim(a, &p.r);
    if (p.c == NULL)
        return false;
    const struct request *r = p.r;
    figure_begin(f, "phantom", "phantom");
    p.n = (double)request_tokens(r);
    p.first = since(r, r->out.v[0].t_ns);
    p.last = since(r, r->out.v[r->out.n - 1].t_ns);
    p.window = p.last - p.first;
    bool decodes = r->metrics[M_OUTPUT_TPS_USER].grade != GRADE_NOT_MEASURABLE;
    p.clock = decodes && is_decode_rate(p.c) ? p.first : 0;
    p.reads = metrics_request_reads(r);
    p.steps_stated = states_each(r);
    plot_number(&f->plot, "CLAIM", p.c->claimed);
    plot_number(&f->plot, "REAL", p.c->recomputed);
    plot_number(&f->plot, "T0", p.clock);
    plot_number(&f->plot, "TFIRST", p.first);
    plot_number(&f->plot, "NTOK", p.n);
    put_arrivals(&p);
    if (is_burst(&p) && p.reads > 1 && p.window > 0) {
        put_burst(&p);
        put_zoom_words(&p);
    }
    put_words(&p);
    put_heads(&p);
    put_caption(&p);
    figure_origin(f, a, &r->trace, 1);
    return true;
}
