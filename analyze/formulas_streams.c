/* What clients make of streams that are not what they seem, or that they read in their own way. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/formulas_parts.h"
#include "analyze/metrics.h"
#include "traces/base/mem.h"

/* --- how events came ------------------------------------------------------------------------- */

enum { SMOOTH_EVENTS = 8 };
#define SMOOTH_READS 0.8   /* reads per event of a stream that nobody held together … */
#define SMOOTH_GAP 0.6     /* … and of the mean gap, below which … */
#define SMOOTH_SHARE 0.1   /* … not more than that share of the gaps are */
#define BUNCHED_GAP 0.1    /* of the mean gap, below which one is no pause between two tokens */
#define BUNCHED_SHARE 0.4  /* of the gaps, that are so short where events come in twos */
#define BUNCHED_SPREAD 0.3 /* of the other gaps, over their mean */

/* Gaps shorter than some share of the mean, and the others. */
struct gaps {
    size_t n, n_short;
    double mean, spread; /* of the others; relative to the mean */
};

static struct gaps gaps_of(const struct request *r, double of_mean)
{
    struct gaps g = {.n = r->out.n > 0 ? r->out.n - 1 : 0};
    double short_s = 0, sum = 0, squares = 0;
    if (g.n > 0)
        short_s = of_mean * span_seconds(r->out.v[0].t_ns, r->out.v[g.n].t_ns) / (double)g.n;
    for (size_t k = 0; k < g.n; k++) {
        double gap = span_seconds(r->out.v[k].t_ns, r->out.v[k + 1].t_ns);
        bool is_short = gap < short_s;
        g.n_short += is_short;
        sum += is_short ? 0 : gap;
        squares += is_short ? 0 : gap * gap;
    }
    double others = (double)(g.n - g.n_short);
    g.mean = sum / others;
    g.spread = sqrt(fmax(squares / others - g.mean * g.mean, 0)) / g.mean;
    return g;
}

bool formula_smooth(const struct scope *s, const struct request *r)
{
    if (!scope_times(s, r) || !r->stream_reply || r->out.n < SMOOTH_EVENTS || r->z < 0 ||
        (double)metrics_request_reads(r) < SMOOTH_READS * (double)r->out.n ||
        formula_collected(s, r))
        return false;
    struct gaps g = gaps_of(r, SMOOTH_GAP);
    return (double)g.n_short <= SMOOTH_SHARE * (double)g.n;
}

bool formula_bunched(const struct scope *s, const struct request *r)
{
    (void)s;
    if (r->out.n < SMOOTH_EVENTS || r->asked.choices > 1)
        return false;
    struct gaps g = gaps_of(r, BUNCHED_GAP);
    return (double)g.n_short >= BUNCHED_SHARE * (double)g.n && g.spread < BUNCHED_SPREAD;
}

/* --- gaps ------------------------------------------------------------------------------------- */

#define PACKED 1.1 /* tokens an event, or events a read, from which gaps are no times per token */
#define TELLING 2  /* hi/lo of a gap that is no matter of stamps alone */

static bool is_held(const struct scope *s, const struct request *r)
{
    double m = (double)r->out.n;
    return formula_count(r, COUNT_N) >= PACKED * m ||
           m >= PACKED * (double)metrics_request_reads(r) || formula_bunched(s, r);
}

/* The median of r's gaps; false if it is so short that stamps decide it, but for what is next to 0.
 */
static bool median_gap(const struct scope *s, const struct request *r, struct estimate *out)
{
    struct estimates gaps = {0};
    for (size_t k = 1; k < r->out.n; k++) {
        int64_t from = r->out.v[k - 1].t_ns, to = r->out.v[k].t_ns;
        estimates_add(&gaps, (struct estimate){.value = span_seconds(from, to),
                                               .interval = span_length(s, from, to),
                                               .request = r});
    }
    estimates_sort(&gaps);
    bool any = estimates_stat(&gaps, STAT_P50, out);
    estimates_free(&gaps);
    return any && (out->value < (double)s->o->vantage_ns / NS_PER_S ||
                   interval_spread(out->interval) <= TELLING);
}

void formula_gaps(const struct scope *s, struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        struct estimate median;
        if (scope_times(s, r) && is_held(s, r) && median_gap(s, r, &median))
            estimates_add(out, median);
    }
}

/* A gap of no time has no rate. */
void formula_gap_rates(const struct scope *s, struct estimates *out)
{
    struct estimates gaps = {0};
    formula_gaps(s, &gaps);
    estimates_invert(&gaps);
    for (size_t i = 0; i < gaps.all.n; i++) {
        if (isfinite(gaps.all.v[i].interval.hi))
            estimates_add(out, gaps.all.v[i]);
    }
    estimates_free(&gaps);
}

/* --- an answer that was there before it was read ---------------------------------------------- */

#define QUICK_S 1e-6  /* what a quick client takes for an event that it has … */
#define SLOW_S 250e-6 /* … and a slow one */

/* Who stops the time while it works through what has all come measures itself as well; and itself
 * alone, if it was kept from the processor until all had come. */
static void replayed(const struct scope *s, enum count count, struct estimates *out)
{
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        double n = formula_count(r, count);
        if (!scope_times(s, r) || isnan(n))
            continue;
        int64_t from = formula_when(r, AT_O1), to = formula_when(r, AT_OM);
        struct interval span = span_length(s, from, to);
        span.lo = fmin(span.lo, QUICK_S * (double)r->out.n);
        span.hi += SLOW_S * (double)r->out.n;
        estimates_add(out, (struct estimate){to > from ? n / span_seconds(from, to) : INFINITY,
                                             interval_div(interval_exact(n), span), r, false});
    }
}

void formula_replayed_tokens(const struct scope *s, struct estimates *out)
{
    replayed(s, COUNT_N, out);
}

void formula_replayed_events(const struct scope *s, struct estimates *out)
{
    replayed(s, COUNT_EVENTS, out);
}

/* --- lines and patterns ----------------------------------------------------------------------- */

/* Successes that a client loses which does not read lines longer than that. */
static void long_lines(const struct scope *s, uint32_t limit, bool failed, struct estimates *out)
{
    enum { DATA_FIELD = 6 }; /* "data: " */
    double successes = 0, tried = 0, lost = 0;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        bool success = r->outcome == OUTCOME_SUCCESS;
        tried += r->dialect != NULL;
        successes += success;
        lost += success && r->stream_reply && r->longest_event + DATA_FIELD > limit;
    }
    double n = failed ? tried - successes + lost : successes - lost;
    if (lost > 0)
        estimates_add(out, (struct estimate){n, interval_exact(n), NULL, true});
}

#define WITH_LINES_OF(size)                                                                        \
    void formula_failed_lines_##size(const struct scope *s, struct estimates *out)                 \
    {                                                                                              \
        long_lines(s, size, true, out);                                                            \
    }                                                                                              \
    void formula_successes_lines_##size(const struct scope *s, struct estimates *out)              \
    {                                                                                              \
        long_lines(s, size, false, out);                                                           \
    }

WITH_LINES_OF(65536)
WITH_LINES_OF(131072)
WITH_LINES_OF(524288)

#define CUT_SHARE 0.03 /* of the text, that the difference is seen by */

static bool is_cut(const struct scope *s)
{
    double text = 0, cut = 0;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        text += formula_counts(s, r) ? (double)r->text_bytes : 0;
        cut += formula_counts(s, r) ? (double)r->cut_bytes : 0;
    }
    return cut > 0 && cut >= CUT_SHARE * text;
}

/* Text up to the first quote of each piece; the backslash before it may count. That there are
 * quotes is no sign that it was cut at them. */
static void cut_text(const struct scope *s, double per, bool rate, struct estimates *out)
{
    bool any = is_cut(s);
    for (size_t i = 0; any && i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        double left = (double)(r->text_bytes - r->cut_bytes);
        struct interval n = {left / per, (left + r->cut_events) / per};
        if (!scope_times(s, r))
            continue;
        int64_t from = formula_when(r, AT_O1), to = formula_when(r, AT_OM);
        if (!rate)
            estimates_add(out, (struct estimate){n.lo, n, r, false});
        else if (to > from)
            estimates_add(out,
                          (struct estimate){n.lo / span_seconds(from, to),
                                            interval_div(n, span_length(s, from, to)), r, false});
    }
}

void formula_cut_characters(const struct scope *s, struct estimates *out)
{
    cut_text(s, 1, false, out);
}

void formula_cut_quarters(const struct scope *s, struct estimates *out)
{
    cut_text(s, 4, false, out);
}

void formula_cut_quarter_rate(const struct scope *s, struct estimates *out)
{
    cut_text(s, 4, true, out);
}

/* --- documents among streams ------------------------------------------------------------------ */

static bool is_stream(const struct request *r)
{
    return r->stream_reply && r->out.n > 1;
}

static bool is_document(const struct request *r)
{
    return !r->stream_reply && r->out.n == 1;
}

static bool mixed(const struct scope *s)
{
    bool streams = false, documents = false;
    for (size_t i = 0; i < s->requests.n; i++) {
        streams |= scope_times(s, scope_nth(s, i)) && is_stream(scope_nth(s, i));
        documents |= scope_times(s, scope_nth(s, i)) && is_document(scope_nth(s, i));
    }
    return streams && documents;
}

/* A document has no time per token; here it counts as 0. */
void formula_tpot_mixed(const struct scope *s, struct estimates *out)
{
    bool sign = mixed(s);
    for (size_t i = 0; sign && i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        double n = formula_count(r, COUNT_N_LESS_1);
        if (!scope_times(s, r) || isnan(n))
            continue;
        if (is_document(r)) {
            estimates_add(out, (struct estimate){0, interval_exact(0), r, true});
            continue;
        }
        int64_t from = formula_when(r, AT_O1), to = formula_when(r, AT_OM);
        struct interval span = span_length(s, from, to);
        estimates_add(out, (struct estimate){span_seconds(from, to) / n,
                                             interval_scale(span, 1 / n), r, true});
    }
}

/* The wait for the first text of a stream, and for the head or the text of a document. */
static void ttft_of_both(const struct scope *s, enum when of_document, struct estimates *out)
{
    bool sign = mixed(s);
    for (size_t i = 0; sign && i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        int64_t first = formula_when(r, is_document(r) ? of_document : AT_O1);
        if (scope_times(s, r) && first >= 0)
            estimates_add(out, (struct estimate){span_seconds(r->t0, first),
                                                 formula_span(s, r->t0, first), r, true});
    }
}

void formula_ttft_mixed(const struct scope *s, struct estimates *out)
{
    ttft_of_both(s, AT_H, out);
}

void formula_ttft_documents(const struct scope *s, struct estimates *out)
{
    ttft_of_both(s, AT_O1, out);
}

/* What makes two requests the same but for how they were answered. */
struct twin {
    const struct request *r;
    double rate;
};

static int by_twin(const void *a, const void *b)
{
    const struct request *x = ((const struct twin *)a)->r, *y = ((const struct twin *)b)->r;
    const char *m = x->model != NULL ? x->model : "", *n = y->model != NULL ? y->model : "";
    if (x->usage.prompt != y->usage.prompt)
        return x->usage.prompt < y->usage.prompt ? -1 : 1;
    if (x->asked.max_tokens != y->asked.max_tokens)
        return x->asked.max_tokens < y->asked.max_tokens ? -1 : 1;
    return strcmp(m, n);
}

static double whole_rate(const struct request *r)
{
    int64_t last = formula_when(r, AT_OM);
    return last > r->t0 ? formula_count(r, COUNT_N) / span_seconds(r->t0, last) : NAN;
}

/* All streams that were alone, the same ones together. */
static struct twin *streams_alone(const struct audit *a, size_t *n)
{
    VEC(struct twin) all = {0};
    for (size_t i = 0; i < a->requests.n; i++) {
        const struct request *r = &a->requests.v[i];
        if (r->alone && metrics_request_counts(r) && is_stream(r) && r->usage.prompt > 0 &&
            !isnan(whole_rate(r)))
            VEC_PUSH(&all, ((struct twin){r, whole_rate(r)}));
    }
    if (all.n > 0)
        qsort(all.v, all.n, sizeof *all.v, by_twin);
    *n = all.n;
    return all.v;
}

#define SLOW_STREAM 1.5 /* a document is faster by this than each stream of its kind */
#define SAME_LENGTH 0.2 /* … of that share longer or shorter at most */

static bool streams_slower(const struct twin *all, size_t n, const struct request *r)
{
    struct twin key = {r, whole_rate(r)};
    const struct twin *at = n > 0 ? bsearch(&key, all, n, sizeof *all, by_twin) : NULL;
    size_t first = at != NULL ? (size_t)(at - all) : n, twins = 0;
    while (first > 0 && at != NULL && by_twin(&all[first - 1], &key) == 0)
        first--;
    for (size_t i = first; i < n && by_twin(&all[i], &key) == 0; i++) {
        double off = fabs((double)(request_tokens(all[i].r) - request_tokens(r)));
        if (off > SAME_LENGTH * (double)request_tokens(r))
            continue;
        if (key.rate < SLOW_STREAM * all[i].rate)
            return false;
        twins++;
    }
    return twins > 0;
}

/* The rate of what was not streamed, where the same is slower as a stream. */
void formula_unstreamed_rate(const struct scope *s, struct estimates *out)
{
    bool any = false;
    for (size_t i = 0; i < s->requests.n && !any; i++)
        any = scope_times(s, scope_nth(s, i)) && is_document(scope_nth(s, i));
    if (!any)
        return;
    size_t n;
    struct twin *streams = streams_alone(s->a, &n);
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        if (!scope_times(s, r) || !is_document(r) || !r->alone || isnan(whole_rate(r)) ||
            !streams_slower(streams, n, r))
            continue;
        struct interval span = span_length(s, r->t0, formula_when(r, AT_OM));
        estimates_add(
            out, (struct estimate){whole_rate(r),
                                   interval_div(interval_exact(formula_count(r, COUNT_N)), span),
                                   NULL, true});
    }
    free(streams);
}

/* --- peak ------------------------------------------------------------------------------------- */

enum {
    SECONDS_MAX = 1000000, /* a longer run is not looked at */
    PHASES = 22            /* a run's clock starts up to so many ms before its first request */
};

/* Most events in any second, seconds counted from start. */
static double most_in_a_second(const struct scope *s, int64_t start, uint32_t *bins, size_t n)
{
    memset(bins, 0, n * sizeof *bins);
    uint32_t most = 0;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        for (size_t k = 0; scope_times(s, r) && k < r->out.n; k++) {
            int64_t bin = (r->out.v[k].t_ns - start) / NS_PER_S;
            if (bin >= 0 && bin < (int64_t)n && ++bins[bin] > most)
                most = bins[bin];
        }
    }
    return most;
}

void formula_peak_events(const struct scope *s, struct estimates *out)
{
    double tokens = 0, events = 0;
    int64_t first = -1, last = -1;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = scope_nth(s, i);
        if (!scope_times(s, r))
            continue;
        tokens += formula_count(r, COUNT_N);
        events += (double)r->out.n;
        first = first < 0 || r->t0 < first ? r->t0 : first;
        last = formula_when(r, AT_OM) > last ? formula_when(r, AT_OM) : last;
    }
    if (!(tokens >= PACKED * events) || events == 0 || (last - first) / NS_PER_S > SECONDS_MAX)
        return;
    size_t n = (size_t)((last - first) / NS_PER_S) + 3;
    uint32_t *bins = mem_array(n, sizeof *bins);
    double at = most_in_a_second(s, first, bins, n);
    struct interval most = interval_exact(at);
    for (int phase = 1; phase < PHASES; phase++) {
        double other = most_in_a_second(s, first - phase * NS_PER_MS, bins, n);
        most = (struct interval){fmin(most.lo, other), fmax(most.hi, other)};
    }
    free(bins);
    estimates_add(out, (struct estimate){at, most, NULL, true});
}
