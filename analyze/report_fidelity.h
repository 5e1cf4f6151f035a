/* The fidelity of driven loads in the reports. */
#ifndef ANALYZE_REPORT_FIDELITY_H
#define ANALYZE_REPORT_FIDELITY_H

#include "analyze/model.h"
#include "traces/base/buf.h"
#include "traces/base/jsonw.h"

/* A section of the text report; nothing where no trace has a ledger. */
void report_fidelity_text(const struct audit *a, struct buf *out);

/* "fidelity": an object, or null if f is NULL. */
void report_fidelity_json(struct jsonw *w, const struct fidelity *f);

#endif
