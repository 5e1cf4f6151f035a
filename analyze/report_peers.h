/* What other tools would have printed, as text and as JSON. */
#ifndef ANALYZE_REPORT_PEERS_H
#define ANALYZE_REPORT_PEERS_H

#include "analyze/peers.h"
#include "traces/base/buf.h"
#include "traces/base/jsonw.h"

/* One tool: its figures under its own names. Several: a table, each word in a column, the mean or
 * the only value. Up to 20 runs; the JSON has all. */
void report_peers_text(const struct audit *a, const struct peer_reports *r, struct buf *out);

/* The member "as". */
void report_peers_json(struct jsonw *w, const struct audit *a, const struct peer_reports *r);

#endif
