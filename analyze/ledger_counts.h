/* Entries of a ledger, counted by what became of them: "2 refused, 1 timeout". */
#ifndef ANALYZE_LEDGER_COUNTS_H
#define ANALYZE_LEDGER_COUNTS_H

#include "analyze/model.h"
#include "traces/base/buf.h"

/* v[0..n) are sorted on return. Those that were never sent stand before those that were, each most
 * first. The caller frees out, whose texts are the ledger's. */
void ledger_counts_of(const struct ledger_entry **v, size_t n, struct ledger_counts *out);

/* How many were sent, or were not, by the ledger. */
size_t ledger_counts_sum(const struct ledger_counts *c, bool sent);

/* "137 no-descriptor, 3 refused" of those; outcomes are as the ledger names them, and may be any
 * text. */
void ledger_counts_text(const struct ledger_counts *c, bool sent, struct buf *out);

#endif
