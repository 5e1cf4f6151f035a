/* Findings of streams that are none. */
#include <math.h>

#include "analyze/claims.h"
#include "analyze/finder.h"
#include "analyze/formulas.h"
#include "analyze/metrics.h"
#include "analyze/metrics_marks.h"

#define PIECE_TOKENS 8  /* tokens an event, from which … */
#define PIECE_SHARE 0.5 /* … an event with more than this of the text is no stream */

enum stream_fault {
    STREAM_FINE,
    STREAM_COLLECTED,
    STREAM_HEADER_SILENCE,
    STREAM_ONE_PIECE,
    STREAM_FAULTS
};

/* Was the rest of the text streamed, as behind thinking that a parser held back? */
static bool streams_on(const struct request *r, size_t piece, const struct audit_options *o)
{
    int64_t reads = 0;
    for (size_t i = piece + 1; i < r->out.n; i++)
        reads += r->out.v[i].packet != r->out.v[i - 1].packet;
    return reads >= o->gate_reads &&
           r->out.v[r->out.n - 1].t_ns - r->out.v[piece].t_ns >= o->gate_window_ns;
}

/* A stream was asked for, and one piece came: no reading of it gives a decode rate. */
static bool one_piece(const struct request *r, const struct audit_options *o)
{
    int64_t n = metrics_texted(r);
    size_t largest = 0;
    if (r->asked.stream != 1 || r->out.n == 0)
        return false;
    if (!r->stream_reply)
        return true;
    n -= r->usage.reasoning > 0 ? r->usage.reasoning
                                : 0; /* may be hidden: no text is missing then */
    for (size_t i = 1; i < r->out.n; i++)
        largest = r->out.v[i].bytes > r->out.v[largest].bytes ? i : largest;
    return n > PIECE_TOKENS * (int64_t)r->out.n &&
           (double)r->out.v[largest].bytes > PIECE_SHARE * (double)r->text_bytes &&
           !streams_on(r, largest, o);
}

static enum stream_fault stream_fault(const struct scope *s, const struct request *r)
{
    if (!metrics_request_counts(r))
        return STREAM_FINE;
    if (one_piece(r, s->o))
        return STREAM_ONE_PIECE;
    if (!formula_collected(s, r))
        return STREAM_FINE;
    double whole = (double)(formula_when(r, AT_OM) - r->t0);
    return r->h >= 0 && (double)(r->h - r->t0) > COLLECT_SILENCE * whole ? STREAM_HEADER_SILENCE
                                                                         : STREAM_COLLECTED;
}

static const struct {
    enum finding_id id;
    const char *text;
} stream_faults[STREAM_FAULTS] = {
    [STREAM_COLLECTED] = {FINDING_STREAM_COLLECTED,
                          "the reply began, then there was silence for most of the request, then "
                          "all of the text came at once. Whether the server or something in front "
                          "of it kept it back, times inside the text say how fast it was sent, not "
                          "how fast it was generated"},
    [STREAM_HEADER_SILENCE] = {FINDING_STREAM_HEADER_SILENCE,
                               "no byte came for most of the request, then headers and all of the "
                               "text came at once. Times inside the text say how fast it was sent, "
                               "not how fast it was generated"},
    [STREAM_ONE_PIECE] = {FINDING_STREAM_NOT_STREAMED,
                          "most of the text came in one piece. When that came says how long nearly "
                          "the whole answer took, and there is no decode rate"},
};

static void find_stream_fault(struct finder *f, const struct scope *s, enum stream_fault kind)
{
    struct found found = {0};
    double burst = 0, whole = 0;
    for (size_t i = 0; i < s->requests.n; i++) {
        const struct request *r = &f->a->requests.v[s->requests.v[i]];
        if (stream_fault(s, r) != kind)
            continue;
        found_add(&found, s->requests.v[i]);
        int64_t from = formula_when(r, AT_O1), to = formula_when(r, AT_OM);
        double tokens = (double)(request_tokens(r) >= 0 ? request_tokens(r) : (int64_t)r->out.n);
        double rate = tokens / formula_span(s, from, to).hi;
        if (rate > burst) {
            burst = rate;
            whole = tokens / formula_span(s, r->t0, to).hi;
        }
    }
    if (found.n == 0)
        return;
    const char *detail = audit_printf(f->a, "In %zu of %zu requests %s.", found.n, s->requests.n,
                                      stream_faults[kind].text);
    if (kind != STREAM_ONE_PIECE) {
        char sent[64], made[64];
        detail =
            audit_printf(f->a, "%s That would be at least %s; over the whole request it is %s.",
                         detail, claim_value_text(DIM_TOKEN_RATE, burst, sent),
                         claim_value_text(DIM_TOKEN_RATE, whole, made));
    }
    struct finding *x = finder_add(f, stream_faults[kind].id, detail);
    finder_affects(x, "output_tps_user",
                   kind == STREAM_ONE_PIECE ? NAN : 100 * (burst / whole - 1));
    finder_affects(x, "tpot", kind == STREAM_ONE_PIECE ? NAN : 100 * (whole / burst - 1));
    finder_cite_found(f, x, &found, true);
}

static void find_streams(struct finder *f)
{
    struct scope s = {.a = f->a, .o = f->o, .rate_bounds = f->rate_bounds};
    for (size_t i = 0; i < f->a->requests.n; i++) {
        if (f->a->requests.v[i].trace == f->trace && f->a->requests.v[i].dialect != NULL)
            VEC_PUSH(&s.requests, i);
    }
    for (int kind = STREAM_COLLECTED; kind < STREAM_FAULTS; kind++)
        find_stream_fault(f, &s, (enum stream_fault)kind);
    VEC_FREE(&s.requests);
}

void findings_stream(struct finder *f)
{
    find_streams(f);
}
