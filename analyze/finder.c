/* Findings are appended to the audit; evidence is what a person can look up. */
#include "analyze/finder.h"

struct finding *finder_add(struct finder *f, const char *id, enum severity severity,
                           const char *title, const char *detail)
{
    VEC_PUSH(&f->a->findings, ((struct finding){.id = id,
                                                .title = title,
                                                .detail = detail,
                                                .severity = severity,
                                                .trace = f->trace + 1}));
    return &f->a->findings.v[f->a->findings.n - 1];
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
