/* What marks may be of the tokens that are counted. Sources: the chat templates of Hermes and Qwen,
 * Llama, Mistral, DeepSeek, GLM, Kimi and gpt-oss (harmony), and the parsers of vLLM, SGLang and
 * llama.cpp, which take them off. */
#include "analyze/metrics_marks.h"

#include <math.h>

#include "analyze/metrics.h"
#include "analyze/metrics_flow.h"
#include "traces/base/clock.h"

#define BLUR_SHARE 0.05 /* of the tokens, that a rate may be off by */
#define HELD_SURE 0.5   /* of the tokens that a piece has by its bytes */
#define WRITTEN_ANEW 2  /* a call's tokens over those that its arguments' spelling adds */

enum {
    THOUGHT_LEAST = 16, /* tokens of thinking that was hidden: fewer are not worth it */
    END_TOKEN = 1       /* that ends any reply, and has no text either */
};

int64_t metrics_marks(const struct request *r)
{
    int64_t calls = r->calls > 0 ? r->calls : r->tool_bytes > 0;
    return MARKS_CALL * calls + MARKS_THOUGHT * (int64_t)r->thoughts;
}

int64_t metrics_texted(const struct request *r)
{
    int64_t n = request_tokens(r), marks = metrics_marks(r);
    if (n < 0 || r->hidden)
        return -1;
    return n > marks ? n - marks : 0;
}

double metrics_recount_off(const struct request *r)
{
    int64_t n = request_tokens(r), off = n - r->recounted;
    if (n < 0 || r->recounted < 0 || (off > 0 && r->hidden))
        return 0;
    if (off > 0)
        return fmax(0, (double)(off - metrics_marks(r)));
    double call = r->text_bytes > 0 ? (double)r->recounted * (double)r->tool_bytes /
                                          (double)r->text_bytes / WRITTEN_ANEW
                                    : 0;
    return fmin(0, (double)off + call);
}

static size_t first_read(const struct request *r)
{
    size_t n = 0;
    while (n < r->out.n && r->out.v[n].packet == r->out.v[0].packet)
        n++;
    return n;
}

/* The tokens that the first read may have of text, beyond one an event. */
static int64_t first_share(const struct request *r)
{
    size_t events = first_read(r);
    double bytes = 0, n = (double)request_tokens(r), first = (double)events;
    for (size_t i = 0; i < events; i++)
        bytes += r->out.v[i].bytes;
    return r->text_bytes > 0 ? (int64_t)fmax(0, n * bytes / (double)r->text_bytes - first) : 0;
}

/* No more than the time until the finish has room for, at the pace of the rest. */
static int64_t behind(const struct request *r)
{
    int64_t n = request_tokens(r);
    int64_t o1 = r->out.v[0].t_ns, om = r->out.v[r->out.n - 1].t_ns;
    int64_t stated = request_stated(r, r->out.n - 1), most = MARKS_CALL_END;
    if (r->choice_ns >= om && om > o1) {
        double pace = (double)(n - metrics_n1(r)) / (double)(om - o1);
        double room = fmax(0, pace * (double)(r->choice_ns - om));
        most = room < (double)most ? (int64_t)room : most;
    }
    if (stated >= 0 && n - stated < most)
        most = n - stated;
    return most > 0 ? most : 0;
}

/* Of the tokens after n_1 those that may have been generated before o_1, or behind o_M. */
struct marks_outside {
    int64_t before, after;
};

static struct marks_outside marks_outside(const struct request *r)
{
    struct marks_outside x = {0, 0};
    if (r->out.n == 0 || request_tokens(r) < 0)
        return x;
    if (r->n1 < 0 && r->first_kind == DELTA_TOOL)
        x.before = MARKS_CALL_START + first_share(r);
    else if (r->n1 < 0 && r->first_kind == DELTA_REASONING)
        x.before = MARKS_THOUGHT_START;
    x.after = r->last_kind == DELTA_TOOL ? behind(r) : x.before > 0 ? END_TOKEN : 0;
    return x;
}

/* Each event behind the first has a token at least: those that are more than events may be outside.
 */
static int64_t outside(const struct request *r)
{
    struct marks_outside x = marks_outside(r);
    int64_t spare = request_tokens(r) - metrics_n1(r) - (int64_t)(r->out.n - first_read(r));
    int64_t both = x.before + x.after;
    return both < spare ? both : spare > 0 ? spare : 0;
}

double metrics_marks_sure(const struct request *r)
{
    int64_t n = request_tokens(r) - metrics_n1(r);
    return n > 0 ? fmax(0, 1 - (double)outside(r) / (double)n) : 1;
}

/* Marks before thinking alone are few: they are in the interval of a rate, and keep none from being
 * one.
 */
bool metrics_blurred(const struct request *r)
{
    if (!r->stream_reply || request_tokens(r) < 0)
        return false;
    if (r->hidden)
        return !metrics_per_event(r);
    bool calls = r->first_kind == DELTA_TOOL || r->last_kind == DELTA_TOOL;
    return calls && (double)(outside(r) - END_TOKEN) > BLUR_SHARE * (double)request_tokens(r);
}

struct interval metrics_blur(const struct request *r)
{
    double n = fmax(1, (double)metrics_decoded(r));
    double events = fmax(1, (double)(r->out.n - first_read(r)));
    if (r->hidden)
        return (struct interval){events, fmax(events, n - THOUGHT_LEAST)};
    if (metrics_first_held(r))
        return (struct interval){events, fmax(events, n - HELD_SURE * (double)first_share(r))};
    if (r->first_kind == DELTA_TOOL && r->n1 < 0)
        return (struct interval){fmin(events, n), n};
    return (struct interval){fmax(fmin(1, n), n - (double)outside(r)), n};
}
