/* Rows of a result file joined to captured requests (peers-and-formats.md 3): the strongest way
 * that both sides allow, and none that would have to guess. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/claims_file.h"
#include "analyze/stat.h"
#include "traces/base/clock.h"
#include "traces/base/units.h"

#define SPREAD_S 0.05   /* of start times about one offset: more is no join */
#define CLOSE_S 1e-3    /* starts nearer than the spread and this may be swapped */
#define EPOCH_OFF_S 1.0 /* of a clock that should be the same */
#define EPOCH_SKEW_S                                                                               \
    60.0 /* … and that is off, as all rows say: beyond, they are of another run                  \
          */
#define LENGTHS_AGREE 0.95 /* of rows, by order */

enum { SKIPS_MOST = 1000, STEPS_MOST = 20000000, SKEWED_LEAST = 5 };

struct item {
    double start; /* s */
    double output;
    size_t index;
};

struct join {
    struct file_summary *s;
    struct audit *a;
    size_t *request_of;
    VEC(struct item) rows, requests;
};

static int by_start(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static int by_output(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    return (x->output > y->output) - (x->output < y->output);
}

static void pair(struct join *j, size_t row, size_t request)
{
    j->request_of[row] = request;
    j->s->joined++;
}

/* --- ids -------------------------------------------------------------------------------------- */

enum id_kind { SENT_ID, REPLY_ID, BODY_ID };

struct id_item {
    uint64_t id;
    size_t index;
    enum id_kind kind;
};

static int by_id(const void *a, const void *b)
{
    const struct id_item *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

struct ids {
    VEC(struct id_item) all;
};

static void add_id(struct ids *ids, uint64_t id, size_t index, enum id_kind kind)
{
    if (id != 0)
        VEC_PUSH(&ids->all, ((struct id_item){id, index, kind}));
}

/* One that several have names none of them. */
static void drop_repeated(struct ids *ids)
{
    size_t kept = 0;
    if (ids->all.n > 0)
        qsort(ids->all.v, ids->all.n, sizeof *ids->all.v, by_id);
    for (size_t i = 0, end; i < ids->all.n; i = end) {
        for (end = i + 1; end < ids->all.n && ids->all.v[end].id == ids->all.v[i].id; end++)
            ;
        if (end == i + 1)
            ids->all.v[kept++] = ids->all.v[i];
    }
    ids->all.n = kept;
}

static bool join_by_id(struct join *j)
{
    static const char *const names[] = {"X-Request-ID", "the id in the reply",
                                        "the request's body"};
    struct ids sent = {0}, told = {0};
    enum id_kind kind = SENT_ID;
    for (size_t i = 0; i < j->requests.n; i++) {
        size_t index = j->requests.v[i].index;
        const struct request *r = &j->a->requests.v[index];
        add_id(&sent, r->sent_id, index, SENT_ID);
        add_id(&sent, r->reply_id, index, REPLY_ID);
        if (r->body_sha256 != NULL)
            add_id(&sent, model_hash(slice_of(r->body_sha256)), index, BODY_ID);
    }
    for (size_t i = 0; i < j->s->rows.n; i++)
        add_id(&told, j->s->rows.v[i].id, i, SENT_ID);
    drop_repeated(&sent);
    drop_repeated(&told);
    for (size_t i = 0; i < told.all.n && sent.all.n > 0; i++) {
        const struct id_item *found =
            bsearch(&told.all.v[i], sent.all.v, sent.all.n, sizeof *sent.all.v, by_id);
        if (found == NULL)
            continue;
        kind = found->kind;
        pair(j, told.all.v[i].index, found->index);
    }
    VEC_FREE(&sent.all);
    VEC_FREE(&told.all);
    if (j->s->joined > 0)
        j->s->join = audit_printf(j->a, "%zu of %zu rows by %s (exact)", j->s->joined, j->s->rows.n,
                                  names[kind]);
    return j->s->joined > 0;
}

/* --- times ------------------------------------------------------------------------------------ */

/* The median of the differences, and how far one of them is from it: of n rows from `row` on and as
 * many requests from `skip` on. */
static double offset_of(const struct join *j, size_t row, size_t skip, size_t n, double *spread)
{
    double *d = mem_array(n, sizeof *d), median;
    for (size_t i = 0; i < n; i++)
        d[i] = j->requests.v[skip + i].start - j->rows.v[row + i].start;
    stat_sort(d, n);
    median = d[n / 2];
    *spread = fmax(d[n - 1] - median, median - d[0]);
    free(d);
    return median;
}

/* Rows that may have been swapped are told apart by their tokens, or not at all. */
static size_t pair_close(struct join *j, size_t skip, size_t from, size_t n)
{
    struct item *rows = j->rows.v + from, *requests = j->requests.v + skip + from;
    if (n == 1) {
        pair(j, rows->index, requests->index);
        return 0;
    }
    qsort(rows, n, sizeof *rows, by_output);
    qsort(requests, n, sizeof *requests, by_output);
    size_t left = 0;
    for (size_t i = 0; i < n; i++) {
        bool unique = (i == 0 || rows[i - 1].output < rows[i].output) &&
                      (i + 1 == n || rows[i].output < rows[i + 1].output);
        if (unique && rows[i].output >= 0 && rows[i].output == requests[i].output)
            pair(j, rows[i].index, requests[i].index);
        else
            left++;
    }
    return left;
}

/* The requests that rows may be, one after the other. */
struct fit {
    size_t skip;
    double offset, spread; /* INFINITY: none were looked at */
    bool only;             /* no others are as good */
};

/* Of rows whose clock is the trace's, only requests of their time. */
static struct fit best_fit(const struct join *j, bool of_their_time)
{
    size_t n = j->rows.n, most = j->requests.n;
    size_t step = most - n <= SKIPS_MOST && n * (most - n + 1) <= STEPS_MOST ? 1 : most - n;
    struct fit best = {.spread = INFINITY, .only = true};
    double second = INFINITY;
    for (size_t skip = 0; skip + n <= most; skip += step > 0 ? step : 1) {
        struct fit f = {.skip = skip, .only = true};
        f.offset = offset_of(j, 0, skip, n, &f.spread);
        if (of_their_time && fabs(f.offset) > EPOCH_OFF_S)
            continue;
        second = fmin(second, fmax(f.spread, best.spread));
        best = f.spread < best.spread ? f : best;
    }
    best.only = second > SPREAD_S || second > 4 * best.spread + CLOSE_S;
    return best;
}

/* Do the rows fit no other requests, some of them left out at one end and taken at the other? Sent
 * at even times they do. */
static bool is_even(const struct join *j, const struct fit *f)
{
    for (size_t by = 1; by <= 2 && by + 2 <= j->rows.n; by++) {
        double later, earlier;
        offset_of(j, by, f->skip, j->rows.n - by, &later);
        offset_of(j, 0, f->skip + by, j->rows.n - by, &earlier);
        if (fmin(later, earlier) <= SPREAD_S)
            return true;
    }
    return false;
}

/* Why rows of a clock that is so far from the trace's are not joined; NULL: they are. */
static const char *why_not(const struct join *j, const struct fit *f)
{
    char off[32], spread[32];
    units_duration(llround(fmin(f->spread, 9e9) * NS_PER_S), spread);
    units_duration(llround(fmin(fabs(f->offset), 9e9) * NS_PER_S), off);
    if (f->spread > SPREAD_S)
        return audit_printf(
            j->a, "start times do not fit: with one offset for all, one is off by %s", spread);
    if (!f->only)
        return "start times fit several requests in a row as well as others";
    if (!j->s->tool->clock_is_epoch || fabs(f->offset) <= EPOCH_OFF_S)
        return NULL;
    if (fabs(f->offset) > EPOCH_SKEW_S || j->rows.n < SKEWED_LEAST || is_even(j, f))
        return audit_printf(j->a,
                            "start times do not fit: they are of a clock that is the trace's, and "
                            "lie %s from the requests that they would be",
                            off);
    return NULL;
}

static bool join_by_time(struct join *j)
{
    size_t n = j->rows.n, most = j->requests.n;
    if (n == 0 || n > most || isnan(j->rows.v[0].start))
        return false;
    struct fit f = {.spread = INFINITY};
    if (j->s->tool->clock_is_epoch)
        f = best_fit(j, true);
    if (f.spread > SPREAD_S)
        f = best_fit(j, false);
    const char *why = why_not(j, &f);
    if (why != NULL) {
        j->s->join = why;
        return false;
    }
    double spread = f.spread;
    size_t skip = f.skip;
    char text[32], off[32];
    units_duration(llround(spread * NS_PER_S), text);
    units_duration(llround(fabs(f.offset) * NS_PER_S), off);
    bool skewed = j->s->tool->clock_is_epoch && fabs(f.offset) > EPOCH_OFF_S;
    size_t left = 0;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n; end++) {
            if (j->rows.v[end].start - j->rows.v[end - 1].start > 2 * spread + CLOSE_S)
                break;
        }
        left += pair_close(j, skip, i, end - i);
    }
    j->s->join = audit_printf(
        j->a, "%zu of %zu rows by start time, one offset for all, none off by more than %s%s%s",
        j->s->joined, j->s->rows.n, text,
        skewed ? audit_printf(j->a, "; the tool's clock is %s off", off) : "",
        left > 0 ? "; the others began too near to each other to be told apart" : "");
    return j->s->joined > 0;
}

/* --- order and lengths ------------------------------------------------------------------------ */

static size_t distinct(const struct join *j)
{
    double *d = mem_array(j->rows.n, sizeof *d);
    size_t n = 0;
    for (size_t i = 0; i < j->rows.n; i++)
        d[i] = j->rows.v[i].output;
    stat_sort(d, j->rows.n);
    for (size_t i = 0; i < j->rows.n; i++)
        n += i == 0 || d[i] != d[i - 1];
    free(d);
    return n;
}

static bool join_by_order(struct join *j)
{
    size_t n = j->rows.n, same = 0;
    if (n != j->requests.n) {
        j->s->join = audit_printf(j->a,
                                  "there are %zu rows and %zu requests, and neither ids nor "
                                  "times that both have",
                                  n, j->requests.n);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        same += j->rows.v[i].output >= 0 && j->rows.v[i].output == j->requests.v[i].output;
    bool told_apart = n == 1 || (n > 0 && distinct(j) > 2);
    if (n == 0 || !told_apart || (double)same < LENGTHS_AGREE * (double)n) {
        j->s->join = audit_printf(j->a,
                                  "neither ids nor times that both have, and by order the output "
                                  "tokens of %zu of %zu rows agree%s",
                                  same, n, told_apart ? "" : ", which are nearly all the same");
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (j->rows.v[i].output == j->requests.v[i].output)
            pair(j, j->rows.v[i].index, j->requests.v[i].index);
    }
    j->s->join = audit_printf(j->a,
                              "%zu of %zu rows by their order, with the same output tokens "
                              "(weak)",
                              j->s->joined, n);
    return true;
}

/* Which is which of a batch's requests is known of a batch of one. */
static void join_by_batch(struct join *j)
{
    const struct file_figure *cap = file_find(j->s, F_CAP, FILE_VALUE);
    for (size_t i = 0; i < j->s->rows.n && cap != NULL && cap->v < 2; i++)
        pair(j, i, j->s->batches[i]);
    if (j->s->joined > 0)
        j->s->join = audit_printf(j->a,
                                  "%zu of %zu rows by their times to the first event, one after "
                                  "the other (weak)",
                                  j->s->joined, j->s->rows.n);
}

/* --- all -------------------------------------------------------------------------------------- */

static void gather(struct join *j, const struct audit_options *o)
{
    for (size_t i = 0; i < j->s->rows.n; i++) {
        const struct file_row *r = &j->s->rows.v[i];
        VEC_PUSH(&j->rows, ((struct item){r->start, (double)r->output, i}));
    }
    for (size_t i = 0; i < j->a->requests.n; i++) {
        const struct request *r = &j->a->requests.v[i];
        bool meant = o->claim_trace == 0 || (size_t)o->claim_trace == r->trace + 1;
        if (r->dialect != NULL && !r->warmup && meant)
            VEC_PUSH(&j->requests,
                     ((struct item){(double)r->t0 / NS_PER_S, (double)request_tokens(r), i}));
    }
    bool timed = j->rows.n > 0;
    for (size_t i = 0; i < j->rows.n; i++)
        timed &= isfinite(j->rows.v[i].start);
    if (timed)
        qsort(j->rows.v, j->rows.n, sizeof *j->rows.v, by_start);
    else if (j->rows.n > 0)
        j->rows.v[0].start = NAN;
    if (j->requests.n > 0)
        qsort(j->requests.v, j->requests.n, sizeof *j->requests.v, by_start);
}

bool claim_join(struct file_summary *s, struct audit *a, const struct audit_options *o,
                size_t *request_of)
{
    struct join j = {.s = s, .a = a, .request_of = request_of};
    s->join = NULL;
    s->joined = 0;
    for (size_t i = 0; i < s->rows.n; i++)
        request_of[i] = ROW_UNJOINED;
    gather(&j, o);
    if (s->batches != NULL)
        join_by_batch(&j);
    bool done = s->joined > 0;
    done = done || (j.requests.n > 0 && j.rows.n > 0 && (join_by_id(&j) || join_by_time(&j)));
    if (!done && s->join == NULL)
        done = join_by_order(&j);
    VEC_FREE(&j.rows);
    VEC_FREE(&j.requests);
    return done;
}
