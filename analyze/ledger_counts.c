#include "analyze/ledger_counts.h"

#include <stdlib.h>
#include <string.h>

enum { OUTCOMES_SHOWN = 8 }; /* replay has a dozen; a forged ledger may have any number */

/* Was anything of it ever sent? */
static bool was_sent(const struct ledger_entry *l)
{
    return l->local_port > 0;
}

static int by_outcome(const void *a, const void *b)
{
    const struct ledger_entry *x = *(const struct ledger_entry *const *)a,
                              *y = *(const struct ledger_entry *const *)b;
    if (was_sent(x) != was_sent(y))
        return was_sent(x) - was_sent(y);
    return strcmp(x->outcome, y->outcome);
}

static int by_number(const void *a, const void *b)
{
    const struct ledger_count *x = a, *y = b;
    if (x->sent != y->sent)
        return x->sent - y->sent;
    if (x->n != y->n)
        return x->n < y->n ? 1 : -1;
    return strcmp(x->outcome, y->outcome);
}

void ledger_counts_of(const struct ledger_entry **v, size_t n, struct ledger_counts *out)
{
    if (n == 0)
        return;
    qsort(v, n, sizeof *v, by_outcome);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || by_outcome(&v[i], &v[i - 1]) != 0)
            VEC_PUSH(out, ((struct ledger_count){v[i]->outcome, 0, was_sent(v[i])}));
        out->v[out->n - 1].n++;
    }
    qsort(out->v, out->n, sizeof *out->v, by_number);
}

size_t ledger_counts_sum(const struct ledger_counts *c, bool sent)
{
    size_t sum = 0;
    for (size_t i = 0; i < c->n; i++)
        sum += c->v[i].sent == sent ? c->v[i].n : 0;
    return sum;
}

void ledger_counts_text(const struct ledger_counts *c, bool sent, struct buf *out)
{
    size_t shown = 0, others = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (c->v[i].sent != sent)
            continue;
        if (shown < OUTCOMES_SHOWN)
            buf_printf(out, "%s%zu %.40s", shown > 0 ? ", " : "", c->v[i].n, c->v[i].outcome);
        else
            others += c->v[i].n;
        shown++;
    }
    if (others > 0)
        buf_printf(out, ", %zu others", others);
}
