/* Requests are taken in busy periods (all whose times in flight hang together), and in a period in
 * the order in which their text began. */
#include "analyze/queueing.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/finder.h"
#include "analyze/formulas.h"
#include "analyze/metrics.h"
#include "analyze/stat.h"
#include "traces/base/clock.h"
#include "traces/base/mem.h"

enum {
    SLACK_NS = 5 * NS_PER_MS, /* that early a queued answer may begin, or that late */
    LOOKS_MOST = 8            /* at lone requests of one size */
};

#define LIKE 1.1 /* so many times as much is no longer like it */
/* Of the time alone, within which the next one follows; of the writing of the one before, because
 * machines are busy; and of whole answers, before which it does not follow. */
#define FOLLOWS 1.25
#define FOLLOWS_SLACK 0.05
#define FOLLOWS_LEAST 0.5
/* Of the time alone, what writing takes at least, to be told from reading; and of whole answers. */
#define WRITING_LEAST 0.5
#define WHOLE_LEAST 0.25
#define WAITED 0.5 /* of the writing of the one before, that was waited for */
/* Of the time to the text: it was no wait if a lone request takes that, too. */
#define ALONE_AS_LATE 0.75
#define READS_FASTER 5.0 /* prompt tokens are read in the time of one that is written, at least */
#define FAR_LONGER 4.0   /* than a prompt is another, whose time bounds the time of reading it */

struct member {
    const struct request *r;
    size_t index; /* in audit.requests */
    size_t period;
    int64_t o1, om; /* when its text began and ended */
    double size,
        words; /* of its prompt and of its text: tokens, or bytes where they are not known */
    bool size_stated, words_stated;
    bool streams; /* its text is as long in coming as it is in writing */
};

struct members {
    struct member *v;
    size_t n;
    struct member *free; /* the first of each period, which waited for none, by size */
    size_t n_free;
};

static struct member member_of(const struct request *r, size_t index, size_t period)
{
    int64_t cached = r->usage.cached > 0 ? r->usage.cached : 0;
    bool size = r->usage.prompt > 0 && r->usage.prompt > cached, words = request_tokens(r) > 0;
    return (struct member){.r = r,
                           .index = index,
                           .period = period,
                           .o1 = formula_when(r, AT_O1),
                           .om = formula_when(r, AT_OM),
                           .size =
                               size ? (double)(r->usage.prompt - cached) : (double)r->body_bytes,
                           .words = words ? (double)request_tokens(r) : (double)r->text_bytes,
                           .size_stated = size,
                           .words_stated = words,
                           .streams = r->metrics[M_OUTPUT_TPS_USER].grade != GRADE_NOT_MEASURABLE};
}

static int by_text(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    if (x->period != y->period)
        return x->period < y->period ? -1 : 1;
    if (x->o1 != y->o1)
        return x->o1 < y->o1 ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static int by_size(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    if (x->size_stated != y->size_stated)
        return x->size_stated ? 1 : -1;
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Those that failed keep the server busy, but say nothing. */
static void gather(const struct audit *a, const struct run_scope *s, struct members *m)
{
    int64_t end = -1;
    size_t period = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct request *r = &a->requests.v[s->requests[i]];
        if (i > 0 && r->run != a->requests.v[s->requests[i - 1]].run)
            end = -1;
        period += r->t0 >= end;
        end = r->t_end > end ? r->t_end : end;
        if (metrics_request_counts(r) && r->out.n > 0 && !r->clock_stepped)
            m->v[m->n++] = member_of(r, s->requests[i], period);
    }
    if (m->n > 0)
        qsort(m->v, m->n, sizeof *m->v, by_text);
    for (size_t i = 0; i < m->n; i++) {
        if (i == 0 || m->v[i].period != m->v[i - 1].period)
            m->free[m->n_free++] = m->v[i];
    }
    if (m->n_free > 0)
        qsort(m->free, m->n_free, sizeof *m->free, by_size);
}

static bool within(double x, double of)
{
    return x <= LIKE * of && of <= LIKE * x;
}

static bool same_words(const struct member *x, const struct member *y)
{
    return x->words_stated == y->words_stated && within(x->words, y->words);
}

/* May what y took, of a prompt as long or longer, bound what x takes alone? */
static bool bounds(const struct member *y, const struct member *x)
{
    return y->size_stated == x->size_stated && x->size <= LIKE * y->size;
}

/* The first of m->free that is at least so long as x, nearly. */
static size_t first_free(const struct members *m, const struct member *x)
{
    size_t lo = 0, hi = m->n_free;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct member *y = &m->free[mid];
        bool before = y->size_stated != x->size_stated ? x->size_stated : x->size > LIKE * y->size;
        if (before)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static double seconds(int64_t ns)
{
    return (double)ns / NS_PER_S;
}

static double whole_s(const struct member *x)
{
    return seconds(x->om - x->r->t0);
}

static double wait_s(const struct member *x)
{
    return seconds(x->o1 - x->r->t0);
}

/* The time that reading x's prompt takes at most, of an answer of `whole` s that came as a whole: a
 * prompt token takes less than one that is written, and less than in the longest prompt. */
static double reading_s(const struct members *m, const struct member *x, double whole)
{
    const struct member *longest = m->n_free > 0 ? &m->free[m->n_free - 1] : NULL;
    double most = whole;
    if (!x->size_stated)
        return most;
    if (x->words_stated)
        most *= x->size / (x->size + READS_FASTER * x->words);
    if (longest != NULL && longest->size_stated && longest->size >= FAR_LONGER * x->size)
        most = fmin(most, wait_s(longest) / longest->size * x->size);
    return most;
}

/* Two that overlap are served together. Else: what a server that reads prompts one after the other
 * and writes answers together takes from the moment at which it could begin with x's prompt, is
 * what a request takes alone; what one takes that ends the answer before first, is more by the
 * writing of that one. SILENT: too little was written for that. */
static enum shows after_stream(const struct member *x, const struct member *before,
                               const struct member *alone)
{
    double own = wait_s(alone);
    int64_t from = before->o1 > x->r->t0 ? before->o1 : x->r->t0;
    double writing = seconds(before->om - from), took = seconds(x->o1 - from);
    if (writing < WRITING_LEAST * own || before->om - from < SLACK_NS)
        return SHOWS_SILENT;
    return took >= own + WAITED * writing &&
                   seconds(x->o1 - before->om) <=
                       FOLLOWS * own + FOLLOWS_SLACK * writing + seconds(SLACK_NS)
               ? SHOWS_YES
               : SHOWS_NO;
}

/* The same of answers that came in one piece: of their ends, where all are alike. */
static enum shows after_whole(const struct members *m, const struct member *x,
                              const struct member *before, const struct member *alone)
{
    double own = whole_s(alone), writing = own - reading_s(m, x, own);
    if (!same_words(x, alone) || !same_words(before, alone) || !within(before->size, x->size) ||
        !within(alone->size, x->size) || writing < WHOLE_LEAST * own)
        return SHOWS_SILENT;
    int64_t read = before->om - (int64_t)(writing * NS_PER_S);
    int64_t from = read > x->r->t0 ? read : x->r->t0;
    double step = seconds(x->om - before->om);
    writing = seconds(before->om - from);
    if (writing < WHOLE_LEAST * own || before->om - from < SLACK_NS)
        return SHOWS_SILENT;
    return seconds(x->om - from) >= own + WAITED * writing && step >= FOLLOWS_LEAST * own &&
                   step <= FOLLOWS * own + FOLLOWS_SLACK * writing + seconds(SLACK_NS)
               ? SHOWS_YES
               : SHOWS_NO;
}

/* Does a lone request like x take as long as x did? *alike: so many do not. */
static bool late_alone(const struct members *m, const struct member *x, size_t *alike)
{
    *alike = 0;
    size_t looks = 0;
    for (size_t i = first_free(m, x); i < m->n_free && looks < LOOKS_MOST; i++, looks++) {
        const struct member *y = &m->free[i];
        if (!bounds(y, x) || !within(y->size, x->size))
            break;
        if (!y->r->alone || y->streams != x->streams || (!x->streams && !same_words(y, x)))
            continue;
        if (wait_s(y) >= ALONE_AS_LATE * wait_s(x))
            return true;
        (*alike)++;
    }
    return false;
}

/* What x would take alone: as the first of its period took, or one that waited for none. */
static const struct member *like_it(const struct members *m, const struct member *x,
                                    const struct member *first)
{
    if (bounds(first, x))
        return first;
    size_t i = first_free(m, x);
    return i < m->n_free && bounds(&m->free[i], x) ? &m->free[i] : NULL;
}

static void look(const struct members *m, const struct member *x, const struct member *before,
                 const struct member *first, struct queueing *out)
{
    const struct member *alone = like_it(m, x, first);
    enum shows serial = SHOWS_SILENT;
    size_t alike = 0;
    if (x->r->t0 >= before->om)
        return;
    out->waiting++;
    if (x->o1 < before->om - SLACK_NS)
        serial = SHOWS_NO;
    else if (alone != NULL)
        serial = x->streams && before->streams && alone->streams ? after_stream(x, before, alone)
                                                                 : after_whole(m, x, before, alone);
    if (serial == SHOWS_YES && late_alone(m, x, &alike))
        serial = SHOWS_NO;
    out->told += serial != SHOWS_SILENT;
    if (serial != SHOWS_YES)
        return;
    if (out->serial++ == 0) {
        out->first = x->index;
        out->first_of = before->index;
        out->alike = alike;
    }
    double later = wait_s(x) / wait_s(alone) - 1;
    out->later += (later - out->later) / (double)out->serial;
}

/* From each stream to the next that is sent while it, or one before it, is in flight. */
static double median_step(const struct audit *a, const struct run_scope *s, size_t *n)
{
    double *steps = mem_array(s->n + 1, sizeof *steps), median = NAN;
    const struct request *before = NULL;
    int64_t end = -1;
    for (size_t i = 0; i < s->n; i++) {
        const struct request *r = &a->requests.v[s->requests[i]];
        bool streams = metrics_request_counts(r) && r->out.n > 0 &&
                       r->metrics[M_OUTPUT_TPS_USER].grade != GRADE_NOT_MEASURABLE;
        if (i > 0 && r->run != a->requests.v[s->requests[i - 1]].run) {
            before = NULL;
            end = -1;
        }
        if (r->t0 < end && streams && before != NULL)
            steps[(*n)++] = r->metrics[M_TTFT].v - before->metrics[M_TTFT].v;
        end = r->t_end > end ? r->t_end : end;
        before = streams ? r : before;
    }
    if (*n > 0) {
        stat_sort(steps, *n);
        median = stat_median(steps, *n);
    }
    free(steps);
    return median;
}

void queueing_find(const struct audit *a, const struct run_scope *s, struct queueing *out)
{
    struct members m = {.v = mem_array(s->n + 1, sizeof *m.v),
                        .free = mem_array(s->n + 1, sizeof *m.free)};
    *out = (struct queueing){.step_s = NAN};
    gather(a, s, &m);
    for (size_t i = 0, end; i < m.n; i = end) {
        const struct member *before = &m.v[i]; /* the one that ended last of those so far */
        for (end = i + 1; end < m.n && m.v[end].period == m.v[i].period; end++) {
            const struct member *x = &m.v[end];
            look(&m, x, before, &m.v[i], out);
            before = x->om > before->om ? x : before;
        }
    }
    out->step_s = median_step(a, s, &out->steps);
    free(m.free);
    free(m.v);
}
