/* Sets of requests of a trace that fit what a result file says of its own. Private to
 * claims_scope.c, which takes one of them. */
#ifndef ANALYZE_CLAIMS_SETS_H
#define ANALYZE_CLAIMS_SETS_H

#include "analyze/claims_bind.h"

enum { TRIED_MOST = 32 }; /* sets whose figures are held against the file's */

enum standing { ALONE, APART, AMONG_OTHERS }; /* APART: others end before it and begin behind it */

struct set {
    const size_t *v;
    size_t n;
    enum standing standing;
    bool last;             /* nothing comes behind it */
    bool lasts;            /* as long as the file says, or it does not say */
    const struct run *run; /* that it is; NULL */
};

struct seeker {
    const struct binder *b;
    const struct file_summary *s;
    const size_t *row_of;
    double done, failed, duration, cap;
    bool tokens;    /* the file says how many */
    bool several;   /* results in the file: of other runs, which may not be in the trace */
    bool any_model; /* whatever model it names */
    bool named;     /* there are requests for the model that it names, and others */
    size_t found[AMONG_OTHERS + 1]; /* that do not stand for themselves: more are not kept */
    VEC(struct set) sets;
};

static inline const struct request *sets_nth(const struct binder *b, const size_t *v, size_t i)
{
    return &b->a->requests.v[v[i]];
}

/* Of n requests the successes, as a tool counts, which looks for no finish. */
size_t sets_successes(const struct binder *b, const size_t *v, size_t n);

bool sets_is_model(const struct request *r, const char *model);

/* Fills k->sets. */
void sets_find(struct seeker *k);

#endif
