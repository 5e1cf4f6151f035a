/* The catalogue: known ways to a wrong figure, by the ids that claims and findings carry. What can
 * be decided from a trace has formulas (causes_row.h), or a finding that is its sign
 * (finding_kinds.h); of the rest the catalogue says what is missing. */
#ifndef ANALYZE_CATALOGUE_H
#define ANALYZE_CATALOGUE_H

#include <stddef.h>

enum cause_need {
    CAUSE_OF_WIRE,         /* packets and their times decide */
    CAUSE_NEEDS_TOKENIZER, /* --tokenizer */
    CAUSE_NEEDS_LEDGER,    /* the plan of a replay */
    CAUSE_UNDECIDED        /* nothing that a trace holds decides it */
};

struct cause_kind {
    const char *id;        /* "P43" */
    const char *title;     /* what was done wrong */
    const char *direction; /* which way the figure errs */
    enum cause_need need;
    const char *lacks; /* CAUSE_UNDECIDED: what would decide it; else NULL */
};

extern const struct cause_kind cause_kinds[];
extern const size_t cause_kinds_n;

/* NULL: no such id. */
const struct cause_kind *catalogue_find(const char *id);

#endif
