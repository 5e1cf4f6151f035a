/* The catalogue's formulas: one row a formula, with the marks of the metric table. Each file
 * causes_GROUP.c holds the rows of a part of the catalogue; causes.c tries them all. */
#ifndef ANALYZE_CAUSES_ROW_H
#define ANALYZE_CAUSES_ROW_H

#include "analyze/claims.h"
#include "analyze/formulas.h"

struct cause_row {
    const char *id;    /* of catalogue.h */
    unsigned subjects; /* enum subject, or'ed: claims that it is tried on */
    struct formula formula;
    sign_fn *applies; /* tried on such requests only; NULL: on all */
    sign_fn *sign; /* what of it is seen on the wire; NULL: nothing is, only the number can fit */
    const char *note; /* what was seen, in words; NULL: nothing to add */
    bool per_token;   /* it gives a time per token itself: not turned round for such claims */
};

struct cause_rows {
    const struct cause_row *rows;
    size_t n;
};

extern const struct cause_rows causes_counts, causes_times, causes_streams, causes_load,
    causes_statistics, causes_failures, causes_stated;

/* All of them, in the order of the catalogue. */
extern const struct cause_rows *const cause_tables[];
extern const size_t cause_tables_n;

#define CAUSE_ROWS(name, of) const struct cause_rows name = {of, sizeof of / sizeof *of}

#define CAUSE_RATE(text, count, from, to)                                                          \
    {                                                                                              \
        text, SHAPE_RATE, count, from, to, false, NULL                                             \
    }
#define CAUSE_RUN_RATE(text, count, from, to)                                                      \
    {                                                                                              \
        text, SHAPE_RATE, count, from, to, true, NULL                                              \
    }
#define CAUSE_TIME(text, from, to)                                                                 \
    {                                                                                              \
        text, SHAPE_TIME, COUNT_NONE, from, to, false, NULL                                        \
    }
#define CAUSE_PER(text, count, from, to)                                                           \
    {                                                                                              \
        text, SHAPE_PER, count, from, to, false, NULL                                              \
    }
#define CAUSE_COUNT(text, count)                                                                   \
    {                                                                                              \
        text, SHAPE_COUNT, count, AT_NONE, AT_NONE, false, NULL                                    \
    }
#define CAUSE_SPECIAL(text, fn)                                                                    \
    {                                                                                              \
        text, SHAPE_COUNT, COUNT_NONE, AT_NONE, AT_NONE, true, fn                                  \
    }

#define SUBJECTS_DECODING (SUBJECT_DECODE | SUBJECT_PER_TOKEN)

/* --- signs that several groups use ---------------------------------------------------------------
 */

/* The marks differ by more than stamps of the same instant can. */
bool cause_apart(const struct scope *s, int64_t earlier, int64_t later);

sign_fn cause_packed;     /* an event held more than one token */
sign_fn cause_early_head; /* the head came before the first text */

#endif
