/* How faithfully a load generator sent what it meant to send, and like what recording: from its
 * ledger and from the packets, never from the generator's own clock alone. */
#ifndef ANALYZE_FIDELITY_H
#define ANALYZE_FIDELITY_H

#include "analyze/model.h"

/* Fills a->fidelity: one for each trace with a ledger, in order of the traces. After metrics. */
void fidelity_find(struct audit *a);

/* Of that trace (index), or NULL: it has no ledger. */
const struct fidelity *fidelity_of(const struct audit *a, size_t trace);

/* "sent at their due times" … what send errors count from; NULL for FIDELITY_UNTIMED. */
const char *fidelity_basis_name(enum fidelity_basis b);

#endif
