/* What the makers of findings share. */
#ifndef ANALYZE_FINDER_H
#define ANALYZE_FINDER_H

#include "analyze/model.h"

enum { CITED_MOST = 8 }; /* requests that one finding cites; its text counts all */

struct finder {
    struct audit *a;
    const struct audit_options *o;
    size_t trace; /* index */
    const double *rate_bounds;
};

/* A new finding of f->trace; it is a's, until the next one is added. */
struct finding *finder_add(struct finder *f, const char *id, enum severity severity,
                           const char *title, const char *detail);

/* By how much it moves a figure; NAN: by an unknown amount. */
void finder_affects(struct finding *x, const char *metric, double percent);

/* Nothing is cited that was not seen (t_ns < 0, packet 0). */
void finder_cite(struct finding *x, const struct request *r, uint64_t packet, bool response,
                 uint64_t offset, int64_t t_ns, const char *what);
void finder_cite_start(struct finding *x, const struct request *r); /* its first byte */
void finder_cite_text(struct finding *x, const struct request *r);  /* first and last of its text */

#endif
