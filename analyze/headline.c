/* The figure that is furthest above the bytes speaks for all. */
#include "analyze/headline.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/figures.h"
#include "traces/base/mem.h"

int headline_rank(enum verdict v)
{
    return v == VERDICT_CONFIRMED ? 2 : v == VERDICT_NOT_MEASURABLE ? 1 : 0;
}

struct tally headline_tally(const struct audit *a)
{
    struct tally t = {0};
    for (size_t i = 0; i < a->claims.n; i++) {
        int rank = headline_rank(a->claims.v[i].verdict);
        t.fail += rank == 0;
        t.unmeasured += rank == 1;
        t.pass += rank == 2;
    }
    for (size_t i = 0; i < a->findings.n; i++) {
        t.fails_found += a->findings.v[i].severity == SEVERITY_FAIL;
        t.warns_found += a->findings.v[i].severity == SEVERITY_WARN;
    }
    return t;
}

static double distance(const struct claim *c)
{
    double d = fabs(log(c->claimed / c->recomputed));
    return isfinite(d) ? d : 0;
}

static int by_weight(const void *a, const void *b)
{
    const struct claim *x = *(const struct claim *const *)a, *y = *(const struct claim *const *)b;
    int p = headline_rank(x->verdict), q = headline_rank(y->verdict);
    double d = distance(x), e = distance(y);
    if (p != q)
        return p - q;
    if (d != e)
        return d < e ? 1 : -1;
    return (x > y) - (x < y); /* as given */
}

const struct claim **headline_order(const struct audit *a)
{
    const struct claim **v = mem_array(a->claims.n + 1, sizeof *v);
    for (size_t i = 0; i < a->claims.n; i++)
        v[i] = &a->claims.v[i];
    qsort(v, a->claims.n, sizeof *v, by_weight);
    return v;
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static const char *of_claims(const struct audit *a, struct arena *texts, const struct tally *t)
{
    size_t n = a->claims.n;
    const struct request *focus;
    const struct claim *phantom = figure_phantom_claim(a, &focus);
    const char *count = n == 1 ? "the claim fails the audit"
                               : figure_text(texts, "%zu of %zu claims fail%s the audit", t->fail,
                                             n, t->fail == 1 ? "s" : "");
    if (t->fail > 0 && phantom != NULL && phantom->token_factor == 0 &&
        phantom->claimed >= 2 * phantom->recomputed)
        return figure_text(texts, "%s never happened: %s", figure_claimed(texts, phantom), count);
    if (t->fail > 0)
        return n == 1 ? "The claim fails the audit" : count;
    if (t->unmeasured > 0)
        return figure_text(texts, "%zu of %zu claim%s cannot be measured from these bytes",
                           t->unmeasured, n, plural(n));
    return n == 1 ? "The claim is confirmed by the bytes"
                  : figure_text(texts, "All %zu claims are confirmed by the bytes", n);
}

static const struct finding *worst_finding(const struct audit *a)
{
    const struct finding *worst = NULL;
    for (size_t i = 0; i < a->findings.n; i++) {
        const struct finding *f = &a->findings.v[i];
        if (f->severity != SEVERITY_INFO && (worst == NULL || f->severity < worst->severity))
            worst = f;
    }
    return worst;
}

const char *headline(const struct audit *a, struct arena *texts)
{
    struct tally t = headline_tally(a);
    const struct finding *worst = worst_finding(a);
    size_t n = t.fails_found + t.warns_found;
    if (a->claims.n > 0) {
        const char *said = of_claims(a, texts, &t);
        /* What makes the whole a failure is said first. */
        return t.fail == 0 && t.fails_found > 0
                   ? figure_text(texts, "%.300s. %s", worst->title, said)
                   : said;
    }
    if (worst != NULL && n > 1)
        return figure_text(texts, "%.300s, and %zu more finding%s", worst->title, n - 1,
                           plural(n - 1));
    return worst != NULL ? worst->title : NULL;
}
