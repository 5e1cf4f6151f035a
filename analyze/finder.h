/* What the makers of findings share, and who they are. */
#ifndef ANALYZE_FINDER_H
#define ANALYZE_FINDER_H

#include "analyze/finding_kinds.h"
#include "analyze/model.h"

enum { CITED_MOST = 8 }; /* requests that one finding cites; its text counts all */

struct run_scope;

struct finder {
    struct audit *a;
    const struct audit_options *o;
    size_t trace; /* index */
    const double *rate_bounds;
    const struct run_scope *scope; /* the requests of all runs of the trace; n may be 0 */
};

/* A new finding of f->trace; it is a's, until the next one is added. */
struct finding *finder_add(struct finder *f, enum finding_id id, const char *detail);

/* Has it been found in f->trace? */
bool finder_has(const struct finder *f, enum finding_id id);

/* By how much it moves a figure; NAN: by an unknown amount. */
void finder_affects(struct finding *x, const char *metric, double percent);

/* Nothing is cited that was not seen (t_ns < 0, packet 0). */
void finder_cite(struct finding *x, const struct request *r, uint64_t packet, bool response,
                 uint64_t offset, int64_t t_ns, const char *what);
void finder_cite_start(struct finding *x, const struct request *r); /* its first byte */
void finder_cite_text(struct finding *x, const struct request *r);  /* first and last of its text */
void finder_cite_left(
    struct finding *x,
    const struct request *r); /* its first byte, and how the client ended it, if it did */

/* The requests that a finding is about: all are counted, the first CITED_MOST kept. */
struct found {
    size_t n, first[CITED_MOST]; /* indices in audit.requests */
    size_t of;                   /* so many say whether they show it */
    double typical;              /* median of what was measured; NAN */
};
void found_add(struct found *x, size_t request);

/* Is it in r? SILENT: r says nothing about it. YES: *value, NAN before, is by how much, if known.
 */
enum shows { SHOWS_NO, SHOWS_YES, SHOWS_SILENT };
typedef enum shows finder_test(const struct finder *f, const struct request *r, double *value);
struct found finder_gather(const struct finder *f, finder_test *test);

/* Cites the start and, if text, the text of those kept. */
void finder_cite_found(const struct finder *f, struct finding *x, const struct found *found,
                       bool text);

/* The i-th request of the trace's runs. */
const struct request *finder_nth(const struct finder *f, size_t i);

/* The makers, by subject; each appends what it finds in f->trace. */
void findings_recording(struct finder *f);
void findings_requests(struct finder *f);
void findings_stream(struct finder *f);
void findings_delivery(struct finder *f);
void findings_stated(struct finder *f);
void findings_server(struct finder *f);
void findings_stalls(struct finder *f);
void findings_capacity(struct finder *f);
void findings_load(struct finder *f);
void findings_client(struct finder *f);
void findings_proxy(struct finder *f);

#endif
