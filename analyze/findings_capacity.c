/* Findings of what a server can take: several requests at once, a cold start, a long prompt, easy
 * text. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/finder.h"
#include "analyze/metrics.h"
#include "analyze/metrics_speedup.h"
#include "analyze/stat.h"
#include "traces/base/clock.h"
#include "traces/base/mem.h"
#include "traces/base/units.h"

/* --- several at once -------------------------------------------------------------------------- */

static void find_speedup(struct finder *f)
{
    struct speedup s;
    if (!speedup_measure(f->a, f->scope, &s) || !s.alike || isnan(s.interval.lo))
        return;
    bool slower = s.interval.hi < f->o->slower_together;
    if (!slower && s.interval.lo <= f->o->faster_together)
        return;
    struct finding *x = finder_add(
        f, slower ? FINDING_SERVER_DEGRADES : FINDING_SERVER_BATCHING,
        audit_printf(f->a,
                     "Requests released together get %.3g [%.3g, %.3g] times what one alone "
                     "gets: %s.",
                     s.value, s.interval.lo, s.interval.hi, s.reason));
    finder_affects(x, "output_tps", 100 * (s.value - 1));
    size_t cited = 0;
    for (size_t i = 0; i < f->scope->n && cited < CITED_MOST; i++) {
        const struct request *r = finder_nth(f, i);
        if (r->group < 0)
            continue;
        finder_cite_start(x, r);
        finder_cite_text(x, r);
        cited++;
    }
}

/* --- cold start (P42) ------------------------------------------------------------------------- */

enum { WARM_MIN = 6 };
#define COLD_MADS 3.0
#define MAD_TO_SIGMA 1.4826
#define PROMPT_MARGIN 1.5 /* by which prompts may be longer and still be like the others */

static double wait_of(const struct request *r)
{
    const struct value *v = &r->metrics[M_TTFT];
    return metrics_request_counts(r) && r->alone && v->grade != GRADE_NOT_MEASURABLE && v->v > 0
               ? v->v
               : NAN;
}

/* On a logarithmic scale: waits spread by factors. */
static double mad(const double *sorted, size_t n, double median)
{
    double *off = mem_array(n, sizeof *off);
    for (size_t i = 0; i < n; i++)
        off[i] = fabs(sorted[i] - median);
    stat_sort(off, n);
    double m = stat_median(off, n);
    free(off);
    return m;
}

/* The other waits, and the prompts that they are of. */
struct warm {
    size_t n;
    double usual, spread, most; /* logarithms */
    double mean, prompt;        /* s; tokens, median */
};

static struct warm warm_of(const struct finder *f)
{
    struct warm w = {.prompt = NAN};
    double *waits = mem_array(f->scope->n + 1, sizeof *waits);
    double *prompts = mem_array(f->scope->n + 1, sizeof *prompts);
    size_t known = 0;
    for (size_t i = 1; i < f->scope->n; i++) {
        const struct request *r = finder_nth(f, i);
        if (isnan(wait_of(r)))
            continue;
        waits[w.n++] = log(wait_of(r));
        w.mean += wait_of(r);
        if (r->usage.prompt > 0)
            prompts[known++] = (double)r->usage.prompt;
    }
    if (w.n > 0) {
        stat_sort(waits, w.n);
        w.usual = stat_median(waits, w.n);
        w.spread = MAD_TO_SIGMA * mad(waits, w.n, w.usual);
        w.most = waits[w.n - 1];
        w.mean /= (double)w.n;
    }
    if (known > 0) {
        stat_sort(prompts, known);
        w.prompt = stat_median(prompts, known);
    }
    free(prompts);
    free(waits);
    return w;
}

static void find_cold_start(struct finder *f)
{
    char cold[32], rest[32];
    if (f->scope->n <= WARM_MIN)
        return;
    const struct request *first = finder_nth(f, 0);
    struct warm w = warm_of(f);
    double wait = wait_of(first);
    if (w.n < WARM_MIN || isnan(wait) || (double)first->usage.prompt > PROMPT_MARGIN * w.prompt ||
        log(wait) <= w.usual + COLD_MADS * w.spread || log(wait) <= w.most + log(f->o->cold_factor))
        return;
    struct finding *x = finder_add(
        f, FINDING_SERVER_COLD_START,
        audit_printf(f->a,
                     "The first request waited %s for its text, the %zu others that were alone "
                     "typically %s, for prompts like it: loading or warming up is in it. Leave it "
                     "out (--warmup 1), or warm the server up first.",
                     units_duration(llround(wait * NS_PER_S), cold), w.n,
                     units_duration(llround(exp(w.usual) * NS_PER_S), rest)));
    double all = (w.mean * (double)w.n + wait) / (double)(w.n + 1);
    finder_affects(x, "ttft", 100 * (all / w.mean - 1));
    finder_cite_start(x, first);
    finder_cite_text(x, first);
}

/* --- context limit ---------------------------------------------------------------------------- */

enum { SAYS_NOTHING_MIN = 4 }; /* refused and accepted, if no error says why */

/* Accepted and refused prompts by the bytes of their bodies. */
struct limit {
    const struct request *accepted, *refused; /* the largest; the smallest */
    size_t n_accepted, n_refused;
    int64_t tokens; /* most stated for an accepted prompt; -1 */
    double rate;    /* tokens a byte of body, of the largest accepted with a count; NAN */
    bool told;      /* an error speaks of length */
};

static bool speaks_of_length(const char *error)
{
    static const char *const words[] = {"context", "too long",  "too many tokens", "maximum length",
                                        "exceed",  "too large", "length limit",    "max_model_len"};
    char low[512];
    size_t n = 0;
    for (; error != NULL && error[n] != '\0' && n < sizeof low - 1; n++)
        low[n] = (char)tolower((unsigned char)error[n]);
    low[n] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strstr(low, words[i]) != NULL)
            return true;
    }
    return false;
}

static bool is_refused(const struct request *r)
{
    return r->outcome == OUTCOME_HTTP_ERROR &&
           (r->status == 400 || r->status == 413 || r->status == 422);
}

static struct limit limit_of(const struct finder *f)
{
    struct limit l = {.tokens = -1, .rate = NAN};
    for (size_t i = 0; i < f->scope->n; i++) {
        const struct request *r = finder_nth(f, i);
        if (r->body_bytes == 0 || r->damaged)
            continue;
        if (is_refused(r)) {
            l.n_refused++;
            l.told |= speaks_of_length(r->error);
            if (l.refused == NULL || r->body_bytes < l.refused->body_bytes)
                l.refused = r;
        } else if (metrics_request_counts(r)) {
            l.n_accepted++;
            if (l.accepted == NULL || r->body_bytes > l.accepted->body_bytes)
                l.accepted = r;
            if (r->usage.prompt > l.tokens) {
                l.tokens = r->usage.prompt;
                l.rate = (double)r->usage.prompt / (double)r->body_bytes;
            }
        }
    }
    return l;
}

/* The number in an error that can be the limit: above what was accepted, below what was refused;
 * the least of them, for the other is what was asked for. -1: none. */
static int64_t number_between(const char *error, double lo, double hi)
{
    int64_t least = -1;
    for (const char *p = error; p != NULL && *p != '\0';) {
        char *end;
        if (!isdigit((unsigned char)*p)) {
            p++;
            continue;
        }
        unsigned long long v = strtoull(p, &end, 10);
        if ((double)v >= lo && (double)v <= hi && (least < 0 || (int64_t)v < least))
            least = (int64_t)v;
        p = end;
    }
    return least;
}

#define ESTIMATE_MARGIN 1.25 /* of tokens by bytes, of another text */

static const char *limit_text(struct audit *a, const struct limit *l)
{
    char most[32], least[32];
    units_bytes(l->accepted->body_bytes, most);
    units_bytes(l->refused->body_bytes, least);
    if (l->tokens < 0)
        return audit_printf(a,
                            "between bodies of %s, accepted, and %s (no prompt tokens are "
                            "stated)",
                            most, least);
    double about = l->rate * (double)l->refused->body_bytes;
    int64_t named = number_between(l->refused->error, (double)l->tokens,
                                   fmax(ESTIMATE_MARGIN * about, (double)l->tokens + 1));
    if (named >= 0)
        return audit_printf(a,
                            "at %" PRId64 " tokens by its error; %" PRId64
                            " were accepted, as stated, and about %.0f refused, by the bytes of "
                            "the body",
                            named, l->tokens, about);
    return audit_printf(a,
                        "between %" PRId64 " tokens, accepted, as stated, and about %.0f, by the "
                        "bytes of the body",
                        l->tokens, about);
}

static void find_context_limit(struct finder *f)
{
    struct limit l = limit_of(f);
    if (l.accepted == NULL || l.refused == NULL || l.accepted->body_bytes >= l.refused->body_bytes)
        return;
    if (!l.told && (l.n_refused < SAYS_NOTHING_MIN || l.n_accepted < SAYS_NOTHING_MIN))
        return;
    struct finding *x = finder_add(
        f, FINDING_SERVER_CONTEXT_LIMIT,
        audit_printf(f->a,
                     "%zu requests were refused (HTTP %d), all longer than all %zu that "
                     "were answered: the limit is %s.",
                     l.n_refused, l.refused->status, l.n_accepted, limit_text(f->a, &l)));
    finder_affects(x, "failed", NAN);
    finder_cite_start(x, l.accepted);
    finder_cite_start(x, l.refused);
}

/* --- easy text (P69) -------------------------------------------------------------------------- */

enum { TEXTS_MIN = 8 };
#define RANK_CORRELATION 0.7

struct paired {
    double x, y, rank_x, rank_y;
};

static int by_x(const void *a, const void *b)
{
    const struct paired *p = a, *q = b;
    return (p->x > q->x) - (p->x < q->x);
}

static int by_y(const void *a, const void *b)
{
    const struct paired *p = a, *q = b;
    return (p->y > q->y) - (p->y < q->y);
}

/* Spearman's: of the ranks, the mean rank for equal values. */
static double rank_correlation(struct paired *v, size_t n)
{
    double sxy = 0, sxx = 0, syy = 0, mean = ((double)n - 1) / 2;
    qsort(v, n, sizeof *v, by_y);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && v[end].y == v[i].y;)
            end++;
        for (size_t k = i; k < end; k++)
            v[k].rank_y = ((double)i + (double)end - 1) / 2;
    }
    qsort(v, n, sizeof *v, by_x);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && v[end].x == v[i].x;)
            end++;
        for (size_t k = i; k < end; k++)
            v[k].rank_x = ((double)i + (double)end - 1) / 2;
    }
    for (size_t i = 0; i < n; i++) {
        double x = v[i].rank_x - mean, y = v[i].rank_y - mean;
        sxy += x * y;
        sxx += x * x;
        syy += y * y;
    }
    return sxx > 0 && syy > 0 ? sxy / sqrt(sxx * syy) : 0;
}

/* Tokens an event grow where speculative decoding guesses well, and the rate with them. */
static void find_easy_text(struct finder *f)
{
    struct paired *v = mem_array(f->scope->n + 1, sizeof *v);
    struct found found = {0};
    size_t n = 0;
    for (size_t i = 0; i < f->scope->n; i++) {
        const struct request *r = finder_nth(f, i);
        const struct value *rate = &r->metrics[M_OUTPUT_TPS_USER];
        if (!metrics_request_counts(r) || !r->alone || rate->grade == GRADE_NOT_MEASURABLE ||
            request_tokens(r) < 0 || r->usage.reasoning > 0)
            continue;
        found_add(&found, f->scope->requests[i]);
        v[n++] = (struct paired){.x = (double)request_tokens(r) / (double)r->out.n, .y = rate->v};
    }
    double r = n >= TEXTS_MIN ? rank_correlation(v, n) : 0; /* leaves v by x */
    if (r > RANK_CORRELATION && v[n - 1].x > f->o->packing_spread * v[0].x) {
        struct finding *x = finder_add(
            f, FINDING_SERVER_RATE_BY_TEXT,
            audit_printf(f->a,
                         "Over %zu streams that were alone the decode rate goes with the tokens an "
                         "event (rank correlation %.2f), which are %.3g to %.3g: it depends on "
                         "what is written, as with speculative decoding.",
                         n, r, v[0].x, v[n - 1].x));
        finder_affects(x, "output_tps_user", 100 * (v[n - 1].y / v[0].y - 1));
        finder_cite_found(f, x, &found, true);
    }
    free(v);
}

void findings_capacity(struct finder *f)
{
    find_speedup(f);
    find_cold_start(f);
    find_context_limit(f);
    find_easy_text(f);
}
