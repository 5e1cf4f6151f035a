/* Findings are appended to the audit; evidence is what a person can look up. */
#include "analyze/finder.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/metrics_speedup.h"
#include "analyze/stat.h"
#include "traces/base/mem.h"

struct finding *finder_add(struct finder *f, enum finding_id id, const char *detail)
{
    const struct finding_kind *k = &finding_kinds[id];
    VEC_PUSH(&f->a->findings, ((struct finding){.id = k->id,
                                                .title = k->title,
                                                .detail = detail,
                                                .severity = k->severity,
                                                .trace = f->trace + 1}));
    return &f->a->findings.v[f->a->findings.n - 1];
}

bool finder_has(const struct finder *f, enum finding_id id)
{
    for (size_t i = f->a->findings.n; i-- > 0;) {
        const struct finding *x = &f->a->findings.v[i];
        if (x->id == finding_kinds[id].id && x->trace == f->trace + 1)
            return true;
    }
    return false;
}

void finder_affects(struct finding *x, const char *metric, double percent)
{
    VEC_PUSH(&x->effects, ((struct effect){metric, percent}));
}

void finder_cite(struct finding *x, const struct request *r, uint64_t packet, bool response,
                 uint64_t offset, int64_t t_ns, const char *what)
{
    if (t_ns >= 0 && packet > 0)
        VEC_PUSH(&x->evidence,
                 ((struct evidence){r->trace, packet, r->conn, response, offset, t_ns, what}));
}

void finder_cite_start(struct finding *x, const struct request *r)
{
    finder_cite(x, r, r->t0_packet, false, r->t0_offset, r->t0, "first byte of the request");
}

void finder_cite_left(struct finding *x, const struct request *r)
{
    finder_cite_start(x, r);
    if (r->left)
        finder_cite(x, r, r->left_packet, false, EVIDENCE_NO_OFFSET, r->t_end,
                    "the client ends the connection");
}

void finder_cite_text(struct finding *x, const struct request *r)
{
    size_t m = r->out.n;
    if (m > 0)
        finder_cite(x, r, r->out.v[0].packet, true, r->o1_offset, r->out.v[0].t_ns,
                    "first output event");
    if (m > 1)
        finder_cite(x, r, r->out.v[m - 1].packet, true, r->om_offset, r->out.v[m - 1].t_ns,
                    "last output event");
}

void found_add(struct found *x, size_t request)
{
    if (x->n < CITED_MOST)
        x->first[x->n] = request;
    x->n++;
}

struct found finder_gather(const struct finder *f, finder_test *test)
{
    struct found found = {.typical = NAN};
    double *values = mem_array(f->scope->n + 1, sizeof *values);
    size_t n = 0;
    for (size_t i = 0; i < f->scope->n; i++) {
        double value = NAN;
        enum shows shows = test(f, finder_nth(f, i), &value);
        found.of += shows != SHOWS_SILENT;
        if (shows != SHOWS_YES)
            continue;
        found_add(&found, f->scope->requests[i]);
        if (!isnan(value))
            values[n++] = value;
    }
    if (n > 0) {
        stat_sort(values, n);
        found.typical = stat_median(values, n);
    }
    free(values);
    return found;
}

void finder_cite_found(const struct finder *f, struct finding *x, const struct found *found,
                       bool text)
{
    for (size_t i = 0; i < found->n && i < CITED_MOST; i++) {
        const struct request *r = &f->a->requests.v[found->first[i]];
        finder_cite_start(x, r);
        if (text)
            finder_cite_text(x, r);
    }
}

const struct request *finder_nth(const struct finder *f, size_t i)
{
    return &f->a->requests.v[f->scope->requests[i]];
}
