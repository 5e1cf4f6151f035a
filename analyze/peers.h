/* What another tool would have printed for this very run: its figures under its own definitions,
 * percentiles, standard deviation and names. One table a tool (peers_tools.c); sources: the tools'
 * own code, as of the versions named there. A run is one invocation of the tool; warm-up is left
 * out, as each of them does. */
#ifndef ANALYZE_PEERS_H
#define ANALYZE_PEERS_H

#include "analyze/model.h"

/* What a figure is called in all of them, whatever each means by it. */
enum peer_word {
    WORD_NONE,
    WORD_TTFT,
    WORD_E2E,
    WORD_TPOT,
    WORD_ITL,
    WORD_USER_TPS,   /* tok/s of one request */
    WORD_OUTPUT_TPS, /* … of the run */
    WORD_REQUEST_TPS,
    WORD_PEAK_TPS,
    WORDS
};

struct peer_figure {
    const char *name; /* as the tool calls it: "p99_ttft_ms" */
    const char *stat; /* mean, median, std, p99 …; value */
    const char *unit; /* of the value: ms, s, tok/s, req/s, 1 */
    const char *formula;
    enum peer_word word;
    double value; /* NAN: not measurable */
    size_t n;
    const char *note; /* why not, or what it rests on; NULL */
};

struct peer;

/* All that one tool says of one run. */
struct peer_report {
    const struct peer *peer;
    size_t run;       /* index in audit.runs */
    const char *note; /* of the whole report; NULL */
    VEC(struct peer_figure) figures;
};

struct peer_reports {
    struct peer_report *v;
    size_t n, cap;
};

/* "vllm" …; NULL behind the last. */
extern const struct peer *const peers_all[];
const struct peer *peer_named(const char *name);
const char *peer_name(const struct peer *p);
const char *peer_version(const struct peer *p); /* what of it was read */

/* Appends a report for each run that has requests (up to 1,000 runs), of p or, for NULL, of all;
 * with o->slo their goodput too. Texts are a's. peers_free. */
void peers_report(struct audit *a, const struct audit_options *o, const struct peer *p,
                  struct peer_reports *out);
void peers_free(struct peer_reports *r);

#endif
