/* Findings of what servers state: counts and clocks that the bytes contradict. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/claims.h"
#include "analyze/finder.h"
#include "analyze/formulas.h"
#include "analyze/metrics.h"
#include "analyze/metrics_marks.h"
#include "analyze/metrics_speedup.h"
#include "traces/base/clock.h"
#include "traces/base/mem.h"

/* Some count the token that ends the reply, some do not. Special ones have no text: those around an
 * answer (harmony), and around thinking that is empty; what marks of more is in metrics_marks.h. */
enum { END_TOKEN = 1, SPECIAL_TOKENS = 6, SPECIAL_BELOW = 2 };

enum { TEXT_TOKENS_MIN = 32 }; /* a mean over fewer tokens says nothing */

/* A count that stands for one text: what several choices state is not told apart. */
static int64_t stated_tokens(const struct request *r)
{
    return metrics_request_counts(r) && r->asked.choices <= 1 && r->asked.candidates <= 1
               ? r->usage.completion
               : -1;
}

/* --- counts ----------------------------------------------------------------------------------- */

/* Every event with text has a part of a token at least, and hardly any server splits them. */
static enum shows below_events(const struct finder *f, const struct request *r, double *percent)
{
    int64_t n = stated_tokens(r), events = (int64_t)r->out.n;
    (void)f;
    if (n < 0)
        return SHOWS_SILENT;
    *percent = 100 * ((double)events / fmax(1, (double)n) - 1);
    return n + END_TOKEN + events / 50 < events && metrics_uncounted(r) == 0 ? SHOWS_YES : SHOWS_NO;
}

static enum shows too_much_text(const struct finder *f, const struct request *r, double *bytes)
{
    int64_t n = stated_tokens(r);
    if (n < TEXT_TOKENS_MIN)
        return SHOWS_SILENT;
    *bytes = (double)r->text_bytes / (double)n;
    return *bytes > f->o->bytes_per_token_max && metrics_uncounted(r) == 0 ? SHOWS_YES : SHOWS_NO;
}

/* Tokens stated as thinking may be hidden, and marks have no text. */
static enum shows too_little_text(const struct finder *f, const struct request *r, double *bytes)
{
    int64_t n = metrics_texted(r) - (r->usage.reasoning > 0 ? r->usage.reasoning : 0);
    if (stated_tokens(r) < 0 || n < TEXT_TOKENS_MIN || r->out.n == 0)
        return SHOWS_SILENT;
    *bytes = (double)r->text_bytes / (double)n;
    return *bytes < f->o->bytes_per_token_min ? SHOWS_YES : SHOWS_NO;
}

static enum shows recount_differs(const struct finder *f, const struct request *r, double *percent)
{
    int64_t n = stated_tokens(r);
    if (n < 0 || r->recounted < 0)
        return SHOWS_SILENT;
    if (metrics_uncounted(r) != 0)
        return SHOWS_NO;
    double off = metrics_recount_off(r), special = off > 0 ? SPECIAL_TOKENS : SPECIAL_BELOW;
    if (r->usage.reasoning > 0)
        off = fmin(fabs(off), fabs(off - (double)r->usage.reasoning));
    *percent = 100 * ((double)n / fmax(1, (double)r->recounted) - 1);
    return fabs(off) > fmax(special, f->o->count_tolerance * (double)n) ? SHOWS_YES : SHOWS_NO;
}

/* Some limit the answer alone. */
static enum shows above_limit(const struct finder *f, const struct request *r, double *percent)
{
    bool counts = metrics_request_counts(r) && r->asked.choices <= 1;
    int64_t n = counts ? r->usage.completion : -1, limit = request_token_limit(r);
    (void)f;
    if (n < 0 || limit < 1)
        return SHOWS_SILENT;
    *percent = 100 * ((double)n / (double)limit - 1);
    return n - (r->usage.reasoning > 0 ? r->usage.reasoning : 0) > limit + END_TOKEN ? SHOWS_YES
                                                                                     : SHOWS_NO;
}

static enum shows decreasing(const struct finder *f, const struct request *r, double *percent)
{
    int64_t most = -1;
    (void)f;
    (void)percent;
    if (stated_tokens(r) < 0)
        return SHOWS_SILENT;
    for (size_t i = 0; i < r->out.n; i++) {
        if (request_stated(r, i) >= 0 && request_stated(r, i) < most)
            return SHOWS_YES;
        most = request_stated(r, i) > most ? request_stated(r, i) : most;
    }
    return r->usage.completion < most ? SHOWS_YES : SHOWS_NO;
}

enum { MEDIA_TOKENS_MIN = 64 }; /* no picture is read as fewer */

/* P21: by the stated count of the prompt. */
static enum shows ignores_media(const struct finder *f, const struct request *r, double *tokens)
{
    (void)f;
    if (!metrics_request_counts(r) || r->asked.media <= 0 || r->usage.prompt < 0)
        return SHOWS_SILENT;
    *tokens = (double)r->usage.prompt;
    return r->usage.prompt < MEDIA_TOKENS_MIN * r->asked.media ? SHOWS_YES : SHOWS_NO;
}

/* P26: by how many percent a rate is too high that counts it with the text. */
static enum shows thinking_unsent(const struct finder *f, const struct request *r, double *percent)
{
    int64_t n = request_tokens(r), unsent = metrics_unsent(r);
    (void)f;
    if (!metrics_request_counts(r) || !r->stream_reply || n < 0 ||
        !(r->usage.reasoning > 0 || r->hidden))
        return SHOWS_SILENT;
    if (unsent > 0)
        *percent = 100 * ((double)n / fmax(1, (double)(n - unsent)) - 1);
    return unsent > 0 || (r->hidden && metrics_blurred(r)) ? SHOWS_YES : SHOWS_NO;
}

/* P08: by how many percent a rate by that count is too low. */
static enum shows thinking_uncounted(const struct finder *f, const struct request *r,
                                     double *percent)
{
    int64_t n = stated_tokens(r), uncounted = metrics_uncounted(r);
    (void)f;
    if (n < 0 || r->reasoning_bytes == 0)
        return SHOWS_SILENT;
    if (uncounted > 0)
        *percent = 100 * ((double)n / (double)(n + uncounted) - 1);
    return uncounted != 0 ? SHOWS_YES : SHOWS_NO;
}

static enum shows thinking_beside(const struct finder *f, const struct request *r, double *tokens)
{
    int64_t beside = metrics_beside(r);
    (void)f;
    if (stated_tokens(r) < 0 || r->total_stated <= 0 || r->reasoning_bytes > 0)
        return SHOWS_SILENT;
    *tokens = (double)beside;
    return beside > 0 ? SHOWS_YES : SHOWS_NO;
}

static enum shows not_stated(const struct finder *f, const struct request *r, double *percent)
{
    (void)f;
    (void)percent;
    if (!metrics_request_counts(r) || r->out.n == 0 || request_counts_open(r))
        return SHOWS_SILENT;
    return request_tokens(r) < 0 ? SHOWS_YES : SHOWS_NO;
}

/* --- clocks ----------------------------------------------------------------------------------- */

#define CLOCKS_NS 5000000 /* by which the clocks of two machines may round … */
#define CLOCKS_SHARE 0.02 /* … and run apart */

static double stated_ns(double ms)
{
    return ms >= 0 ? ms * NS_PER_MS : 0;
}

static enum shows longer_than_request(const struct finder *f, const struct request *r,
                                      double *percent)
{
    double ns = stated_ns(r->timings.prompt_ms) + stated_ns(r->timings.predicted_ms);
    double took = (double)(r->t_end - r->t0);
    (void)f;
    if (!metrics_request_counts(r) || r->asked.choices > 1 || ns <= 0 || took <= 0)
        return SHOWS_SILENT;
    *percent = 100 * (ns / took - 1);
    return ns > took * (1 + CLOCKS_SHARE) + CLOCKS_NS ? SHOWS_YES : SHOWS_NO;
}

#define WINDOW_FACTOR                                                                              \
    1.5 /* over the rate of the wire, from which no rounding explains a stated one */

/* As it says, or as follows from its count and its time. */
static double decode_rate_stated(const struct server_timings *t)
{
    if (t->predicted_per_second > 0)
        return t->predicted_per_second;
    return t->predicted_n >= TEXT_TOKENS_MIN && t->predicted_ms > 0
               ? 1000 * t->predicted_n / t->predicted_ms
               : NAN;
}

/* How long it says to have generated, if all of that may have been over when the first text came
 * and the wire was far slower: a front that paces what it has (a typewriter) sends it evenly. NAN:
 * it was not so. */
static double made_before_ns(const struct request *r)
{
    const struct value *ttft = &r->metrics[M_TTFT], *wire = &r->metrics[M_OUTPUT_TPS_USER];
    double stated = decode_rate_stated(&r->timings), made = stated_ns(r->timings.predicted_ms);
    if (!(stated > WINDOW_FACTOR * wire->v) || !(r->timings.prompt_ms >= 0) ||
        wire->grade == GRADE_NOT_MEASURABLE || ttft->grade == GRADE_NOT_MEASURABLE)
        return NAN;
    if (made <= 0)
        made = (double)request_tokens(r) / stated * NS_PER_S;
    return stated_ns(r->timings.prompt_ms) + made <= ttft->v * NS_PER_S ? made : NAN;
}

/* P33, P95: loading, waiting for others, all batches of the prompt but the last. What the server
 * was generating before the first text came is no wait: it is in the other of its times. */
static enum shows hides_wait(const struct finder *f, const struct request *r, double *percent)
{
    const struct value *ttft = &r->metrics[M_TTFT];
    if (!metrics_request_counts(r) || !r->stream_reply || !(r->timings.prompt_ms >= 0) ||
        ttft->grade == GRADE_NOT_MEASURABLE)
        return SHOWS_SILENT;
    double whole = ttft->v * NS_PER_S, hidden = whole - stated_ns(r->timings.prompt_ms);
    double all = r->metrics[M_E2EL].v * NS_PER_S - stated_ns(r->timings.prompt_ms);
    double made = made_before_ns(r);
    if (!isnan(made))
        hidden -= made;
    if (r->timings.predicted_ms >= 0)
        hidden = fmin(hidden, all - stated_ns(r->timings.predicted_ms));
    else if (r->hidden || r->first_kind == DELTA_TOOL)
        return SHOWS_SILENT;
    *percent = -100 * hidden / whole;
    return hidden > fmax((double)f->o->hidden_wait_ns, f->o->hidden_share * whole) ? SHOWS_YES
                                                                                   : SHOWS_NO;
}

#define GAP_SHARE 0.05 /* of the total */

static enum shows has_gap(const struct finder *f, const struct request *r, double *percent)
{
    const struct server_timings *t = &r->timings;
    if (!metrics_request_counts(r) || !(t->total_ms > 0) || !(t->prompt_ms >= 0) ||
        !(t->predicted_ms >= 0))
        return SHOWS_SILENT;
    double gap = stated_ns(t->total_ms) - stated_ns(t->load_ms) - stated_ns(t->prompt_ms) -
                 stated_ns(t->predicted_ms);
    *percent = 100 * gap / stated_ns(t->total_ms);
    return gap > (double)f->o->hidden_wait_ns && *percent > 100 * GAP_SHARE ? SHOWS_YES : SHOWS_NO;
}

/* Text that came at an even pace, each piece for itself, was not held back behind the server. */
static enum shows above_window(const struct finder *f, const struct request *r, double *percent)
{
    const struct scope s = {.a = f->a, .o = f->o, .rate_bounds = f->rate_bounds};
    const struct value *wire = &r->metrics[M_OUTPUT_TPS_USER];
    double stated = decode_rate_stated(&r->timings);
    if (!metrics_request_counts(r) || r->asked.choices > 1 || !(stated > 0) || !(wire->v > 0) ||
        wire->grade == GRADE_NOT_MEASURABLE || !isnan(made_before_ns(r)))
        return SHOWS_SILENT;
    bool slowed = r->retransmissions > 0 || r->zero_windows > 0 || !formula_smooth(&s, r);
    *percent = 100 * (stated / wire->v - 1);
    return stated > WINDOW_FACTOR * wire->v && !slowed ? SHOWS_YES : SHOWS_NO;
}

static enum shows rate_differs(const struct finder *f, const struct request *r, double *percent)
{
    const struct value *wire = &r->metrics[M_OUTPUT_TPS_USER];
    double stated = r->timings.predicted_per_second, above;
    if (!metrics_request_counts(r) || wire->grade == GRADE_NOT_MEASURABLE || !(stated > 0) ||
        !(wire->v > 0) || !isnan(made_before_ns(r)))
        return SHOWS_SILENT;
    if (above_window(f, r, &above) == SHOWS_YES)
        return SHOWS_NO;
    *percent = 100 * (stated / wire->v - 1);
    double lo = wire->v * metrics_marks_sure(r);
    double nearest = stated < lo ? lo : fmin(stated, wire->v);
    return fabs(stated / nearest - 1) > f->o->stated_rate ? SHOWS_YES : SHOWS_NO;
}

/* The server's own count over its own time; some count one token less than they name. */
static enum shows rate_contradicts(const struct finder *f, const struct request *r, double *percent)
{
    const struct server_timings *t = &r->timings;
    if (!metrics_request_counts(r) || r->asked.choices > 1 || !(t->predicted_per_second > 0) ||
        !(t->predicted_n >= TEXT_TOKENS_MIN) || !(t->predicted_ms > 0))
        return SHOWS_SILENT;
    double own = 1000 * t->predicted_n / t->predicted_ms, above;
    if (above_window(f, r, &above) == SHOWS_YES)
        return SHOWS_NO;
    *percent = 100 * (t->predicted_per_second / own - 1);
    return fabs(*percent) > 100 * (f->o->stated_rate + 1 / t->predicted_n) ? SHOWS_YES : SHOWS_NO;
}

enum { KNOWN_PROMPT = 16 };

static enum shows nothing_evaluated(const struct finder *f, const struct request *r,
                                    double *percent)
{
    (void)f;
    (void)percent;
    if (!metrics_request_counts(r) || !(r->timings.prompt_n >= 0) || r->usage.prompt < 0)
        return SHOWS_SILENT;
    return r->timings.prompt_n <= 1 && r->usage.prompt >= KNOWN_PROMPT ? SHOWS_YES : SHOWS_NO;
}

static double bandwidth_rate(const struct finder *f)
{
    return f->o->active_bytes > 0 ? (double)f->o->bandwidth / (double)f->o->active_bytes : 0;
}

static enum shows above_bandwidth(const struct finder *f, const struct request *r, double *rate)
{
    const struct value *wire = &r->metrics[M_OUTPUT_TPS_USER];
    double bound = bandwidth_rate(f);
    if (bound <= 0 || !metrics_request_counts(r) || r->asked.choices > 1 ||
        wire->grade == GRADE_NOT_MEASURABLE)
        return SHOWS_SILENT;
    *rate = wire->v;
    return wire->v > bound * (1 + f->o->tolerance) ? SHOWS_YES : SHOWS_NO;
}

/* --- what is said ----------------------------------------------------------------------------- */

static const struct stated {
    enum finding_id id;
    finder_test *test;
    const char *text;   /* behind "N of M replies" */
    const char *amount; /* behind the typical value; NULL: it has none */
    const char *metric; /* that it touches … */
    bool moves;         /* … by the typical value, in percent */
} rows[] = {
    {FINDING_USAGE_BELOW_EVENTS, below_events, "state fewer tokens than they have events with text",
     "% more events", "output_tps_user", false},
    {FINDING_USAGE_TEXT_TOO_LONG, too_much_text,
     "have more text than the tokens they state can hold", "bytes a token", "output_tps_user",
     false},
    {FINDING_USAGE_TEXT_TOO_SHORT, too_little_text, "state more tokens than their text can be",
     "bytes a token", "output_tps_user", false},
    {FINDING_USAGE_RECOUNT, recount_differs,
     "state another number of tokens than their text has by the tokenizer given", "%",
     "output_tps_user", true},
    {FINDING_USAGE_ABOVE_LIMIT, above_limit,
     "state more tokens than the max_tokens that was asked for", "% more", "output_tokens", false},
    {FINDING_USAGE_DECREASING, decreasing, "state fewer tokens than they had stated before", NULL,
     "output_tps_user", false},
    {FINDING_USAGE_MEDIA, ignores_media,
     "state fewer prompt tokens than the pictures or sounds sent would be", "tokens", "prompt_tps",
     false},
    {FINDING_USAGE_THINKING_UNSENT, thinking_unsent,
     "count tokens of thinking that they sent no text of: generated before the first text, or "
     "between",
     "% more tokens than the text has", "output_tps_user", true},
    {FINDING_USAGE_THINKING_UNCOUNTED, thinking_uncounted,
     "state a number of tokens that leaves out the thinking, the text of which they sent",
     "% in a rate by it", "e2e_output_tps", true},
    {FINDING_USAGE_THINKING_BESIDE, thinking_beside,
     "state a total above prompt and answer together: tokens were generated that neither count has "
     "and no text was sent of, thinking as a rule",
     "tokens", "ttft", false},
    {FINDING_TIMINGS_TOO_LONG, longer_than_request,
     "state that the server took longer than the whole request did", "% longer", "stated_tps",
     false},
    {FINDING_TIMINGS_HIDE_WAIT, hides_wait,
     "state a time for the prompt that is shorter than the wait for the first text: queueing, "
     "loading or a part of the prompt is left out of it",
     "%", "ttft", true},
    {FINDING_TIMINGS_GAP, has_gap,
     "state a total time that their parts (load, prompt, generation) do not add up to", "% missing",
     "prompt_tps", false},
    {FINDING_TIMINGS_ABOVE_WINDOW, above_window,
     "state a decode rate at which all of their text would have come in less time than lies "
     "between its first and its last piece, and it came at an even pace",
     "% above that of the window", "stated_tps", true},
    {FINDING_TIMINGS_RATE_DIFFERS, rate_differs, "state another decode rate than the wire shows",
     "%", "output_tps_user", true},
    {FINDING_TIMINGS_CONTRADICTION, rate_contradicts,
     "state a decode rate that does not follow from their own count and time", "%", "stated_tps",
     true},
    {FINDING_TIMINGS_NOTHING_EVALUATED, nothing_evaluated,
     "state that one prompt token or none was evaluated, of a longer prompt: a prompt rate by that "
     "count says nothing",
     NULL, "ttft", false},
};

static void find_row(struct finder *f, const struct stated *row)
{
    struct found found = finder_gather(f, row->test);
    if (found.n == 0)
        return;
    const char *typical =
        row->amount != NULL && !isnan(found.typical)
            ? audit_printf(f->a,
                           found.typical < 100 ? " (typically %.3g %s)" : " (typically %.0f %s)",
                           found.typical, row->amount)
            : "";
    struct finding *x = finder_add(
        f, row->id,
        audit_printf(f->a, "%zu of %zu replies %s%s.", found.n, found.of, row->text, typical));
    finder_affects(x, row->metric, row->moves ? found.typical : NAN);
    finder_cite_found(f, x, &found, true);
}

static void find_bandwidth(struct finder *f)
{
    struct found found = finder_gather(f, above_bandwidth);
    char rate[64], bound[64];
    if (found.n == 0)
        return;
    struct finding *x = finder_add(
        f, FINDING_SERVER_ABOVE_BANDWIDTH,
        audit_printf(f->a,
                     "%zu of %zu streams are faster (typically %s) than %s, at which the memory "
                     "given by --bandwidth can deliver the bytes given by --active-bytes once for "
                     "each token. Without speculative decoding that is impossible: either several "
                     "tokens are made at a time, or the count or the two numbers are wrong.",
                     found.n, found.of, claim_value_text(DIM_TOKEN_RATE, found.typical, rate),
                     claim_value_text(DIM_TOKEN_RATE, bandwidth_rate(f), bound)));
    finder_affects(x, "output_tps_user", 100 * (found.typical / bandwidth_rate(f) - 1));
    finder_cite_found(f, x, &found, true);
}

/* --- one prompt, several counts (P22) --------------------------------------------------------- */

static int by_body(const void *a, const void *b)
{
    const struct request *x = *(const struct request *const *)a,
                         *y = *(const struct request *const *)b;
    int order = strcmp(x->body_sha256, y->body_sha256);
    return order != 0 ? order : (x->id > y->id) - (x->id < y->id);
}

static void find_prompt_counts(struct finder *f)
{
    const struct request **v = mem_array(f->scope->n + 1, sizeof *v), *first = NULL, *other = NULL;
    size_t n = 0, bodies = 0, unlike = 0;
    for (size_t i = 0; i < f->scope->n; i++) {
        const struct request *r = finder_nth(f, i);
        if (r->body_sha256 != NULL && r->usage.prompt >= 0 && metrics_request_counts(r))
            v[n++] = r;
    }
    if (n > 0)
        qsort(v, n, sizeof *v, by_body);
    for (size_t i = 0, end; i < n; i = end) {
        bool same = true;
        for (end = i + 1; end < n && strcmp(v[end]->body_sha256, v[i]->body_sha256) == 0; end++) {
            if (v[end]->usage.prompt == v[i]->usage.prompt)
                continue;
            other = unlike == 0 && same ? v[end] : other;
            same = false;
        }
        bodies += end - i > 1;
        first = !same && unlike == 0 ? v[i] : first;
        unlike += !same;
    }
    free(v);
    if (unlike == 0)
        return;
    struct finding *x = finder_add(
        f, FINDING_USAGE_PROMPT_VARIES,
        audit_printf(f->a,
                     "For %zu of %zu bodies that were sent several times the number of prompt "
                     "tokens changes, as from %" PRId64 " to %" PRId64
                     ": it counts what was evaluated or what fitted, not what was sent.",
                     unlike, bodies, first->usage.prompt, other->usage.prompt));
    finder_affects(x, "prompt_tps",
                   100 * ((double)other->usage.prompt / fmax(1, (double)first->usage.prompt) - 1));
    finder_cite_start(x, first);
    finder_cite_start(x, other);
}

/* --- no count at all (P23) -------------------------------------------------------------------- */

static void find_missing(struct finder *f)
{
    struct found found = finder_gather(f, not_stated);
    size_t unasked = 0;
    if (found.n == 0)
        return;
    for (size_t i = 0; i < f->scope->n; i++) {
        const struct request *r = finder_nth(f, i);
        double value;
        unasked += not_stated(f, r, &value) == SHOWS_YES && !r->asked.usage_asked;
    }
    struct finding *x = finder_add(
        f, FINDING_USAGE_MISSING,
        audit_printf(f->a,
                     "%zu of %zu replies have text and state no number of tokens; %zu of them were "
                     "not asked to. Rates by tokens need a count from elsewhere, and tools take "
                     "one that is none.",
                     found.n, found.of, unasked));
    finder_affects(x, "output_tps_user", NAN);
    finder_cite_found(f, x, &found, true);
}

void findings_stated(struct finder *f)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        find_row(f, &rows[i]);
    find_missing(f);
    find_prompt_counts(f);
    find_bandwidth(f);
}
