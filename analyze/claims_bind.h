/* What the makers of claims out of files share: claims_bind.c (figures), claims_scope.c (which
 * requests a file is about) and claims_rows.c (single requests). */
#ifndef ANALYZE_CLAIMS_BIND_H
#define ANALYZE_CLAIMS_BIND_H

#include "analyze/claims.h"
#include "analyze/claims_file.h"

struct binder {
    struct audit *a;
    const struct audit_options *o;
    const double *bounds; /* formula_rate_bounds; NULL: there is no trace */
    VEC(size_t) all;      /* requests that claims may be about, by t0 in each trace */
    size_t left;          /* figures beyond LIMIT_CLAIMS */
};

/* The claim that a figure is of the requests of scope; false: none. */
bool bind_figure(const struct binder *b, const struct file_summary *s, const struct file_figure *f,
                 const struct claim_basis *scope, struct claim_figure *out);

/* Fills which requests s is about, or why that is not known. row_of: which request each of its rows
 * is (claim_join), NULL: not known. several: its file has more results than this. */
void bind_scope(const struct binder *b, const struct file_summary *s, const size_t *row_of,
                bool several, struct claim_basis *x);

/* Claims of the rows; row_of as of claim_join, NULL: they are joined to nothing, as s->join says.
 */
void bind_rows(const struct binder *b, struct file_summary *s, const size_t *row_of);

#endif
