/* Results that say nothing of their requests but how many of them ran at a time, and how long each
 * waited for its first event (llama-benchy): found in the trace as the batches that fit. What warms
 * up comes before what it warms up, so that of several places the latest is meant. */
#include <math.h>
#include <stdlib.h>

#include "analyze/claims_file.h"
#include "analyze/stat.h"
#include "traces/base/clock.h"

#define EARLY_S 1e-3 /* a client cannot have an event before it was on the wire, but for clocks */
#define LATE_S 0.1   /* and has it at most so much later */

struct batch {
    size_t from, n; /* of finder.requests */
};

struct finder {
    const struct audit *a;
    VEC(size_t) requests; /* by t0 */
    VEC(struct batch) batches;
};

static const struct request *nth(const struct finder *f, size_t i)
{
    return &f->a->requests.v[f->requests.v[i]];
}

static void gather(struct finder *f, const struct audit_options *o)
{
    int64_t end = -1;
    for (size_t i = 0; i < f->a->requests.n; i++) {
        const struct request *r = &f->a->requests.v[i];
        bool meant = o->claim_trace == 0 || (size_t)o->claim_trace == r->trace + 1;
        if (r->dialect == NULL || r->warmup || !meant)
            continue;
        int64_t z = r->z >= 0 ? r->z : r->t_end;
        if (f->batches.n == 0 || r->t0 > end)
            VEC_PUSH(&f->batches, ((struct batch){f->requests.n, 0}));
        f->batches.v[f->batches.n - 1].n++;
        end = z > end ? z : end;
        VEC_PUSH(&f->requests, i);
    }
}

/* Do the rows' waits fit the batch's? Which is which of a batch's is not told: the shorter wait is
 * taken for the shorter one. */
static bool batch_fits(const struct finder *f, const struct batch *b, const struct file_row *rows)
{
    double *wire = mem_array(2 * b->n, sizeof *wire), *told = wire + b->n;
    bool fits = true;
    for (size_t i = 0; i < b->n; i++) {
        const struct request *r = nth(f, b->from + i);
        fits &= r->outcome == OUTCOME_SUCCESS && r->out.n > 0;
        wire[i] = fits ? (double)(r->out.v[0].t_ns - r->t0) / NS_PER_S : NAN;
        told[i] = rows[i].ttft;
    }
    stat_sort(wire, b->n);
    stat_sort(told, b->n);
    for (size_t i = 0; fits && i < b->n; i++)
        fits = told[i] >= wire[i] - EARLY_S && told[i] <= wire[i] + LATE_S;
    free(wire);
    return fits;
}

/* The batch behind the last of those that fit all rows, at most end; 0: there are none. */
static size_t find(const struct finder *f, const struct file_summary *s, size_t at_a_time,
                   size_t end)
{
    size_t n = s->rows.n / at_a_time;
    for (; end >= n; end--) {
        bool fits = true;
        for (size_t i = 0; fits && i < n; i++) {
            const struct batch *b = &f->batches.v[end - n + i];
            fits = b->n == at_a_time && batch_fits(f, b, &s->rows.v[i * at_a_time]);
        }
        if (fits)
            return end;
    }
    return 0;
}

static void keep(const struct finder *f, struct file_summary *s, size_t end, size_t at_a_time,
                 struct audit *a)
{
    size_t n = s->rows.n, first = f->batches.v[end - n / at_a_time].from;
    size_t *requests = arena_alloc(&a->texts, n * sizeof *requests);
    for (size_t i = 0; i < n; i++)
        requests[i] = f->requests.v[first + i];
    s->batches = requests;
}

void claim_batches_find(struct claim_files *fs, struct audit *a, const struct audit_options *o)
{
    struct finder f = {.a = a};
    size_t end = 0;
    const char *file = NULL;
    for (size_t i = fs->summaries.n; i-- > 0;) {
        struct file_summary *s = &fs->summaries.v[i];
        const struct file_figure *cap = file_find(s, F_CAP, FILE_VALUE);
        bool whole = cap != NULL && cap->v >= 1 && s->rows.n > 0 && s->rows_left == 0 &&
                     s->rows.n % (size_t)cap->v == 0;
        if (s->tool != &tool_llama_benchy || !whole)
            continue;
        if (f.requests.n == 0)
            gather(&f, o);
        if (s->file != file)
            end = f.batches.n;
        file = s->file;
        size_t at_a_time = (size_t)cap->v, found = find(&f, s, at_a_time, end);
        if (found == 0)
            continue;
        keep(&f, s, found, at_a_time, a);
        end = found - s->rows.n / at_a_time;
    }
    VEC_FREE(&f.requests);
    VEC_FREE(&f.batches);
}
