/* Attempts found by their bodies' hashes. */
#include "analyze/retries.h"

#include <stdlib.h>
#include <string.h>

#include "traces/base/mem.h"

static bool is_worth_another(const struct request *r)
{
    if (r->outcome == OUTCOME_HTTP_ERROR)
        return r->status == 429 || r->status == 408 || r->status / 100 == 5;
    return r->outcome == OUTCOME_NO_RESPONSE || r->outcome == OUTCOME_CUT_SHORT;
}

/* By run, body, time. */
static int by_body(const void *a, const void *b)
{
    const struct request *x = *(struct request *const *)a, *y = *(struct request *const *)b;
    if (x->run != y->run)
        return x->run < y->run ? -1 : 1;
    int order = strcmp(x->body_sha256, y->body_sha256);
    if (order != 0)
        return order;
    return x->t0 != y->t0 ? (x->t0 > y->t0) - (x->t0 < y->t0) : (x > y) - (x < y);
}

static bool follows(const struct request *r, const struct request *next)
{
    int64_t wait = next->t0 - r->t_end;
    return is_worth_another(r) && wait >= 0 && wait <= RETRY_WITHIN_NS && r->ledger == NULL &&
           next->ledger == NULL;
}

/* Requests of one run and body, by t0. A run of one body only that never succeeds may be a load of
 * equal requests to a server that is down. */
static void chain(struct audit *a, struct request **v, size_t n, bool only_body)
{
    for (size_t i = 1; i < n; i++) {
        if (!follows(v[i - 1], v[i]))
            return;
    }
    if (only_body && v[n - 1]->outcome != OUTCOME_SUCCESS)
        return;
    for (size_t i = 1; i < n; i++) {
        v[i]->retry_of = (size_t)(v[i - 1] - a->requests.v) + 1;
        v[i - 1]->retried = true;
    }
}

void retries_find(struct audit *a)
{
    struct request **v = mem_array(a->requests.n + 1, sizeof *v);
    size_t n = 0;
    for (size_t i = 0; i < a->requests.n; i++) {
        struct request *r = &a->requests.v[i];
        if (r->dialect != NULL && r->body_sha256 != NULL && r->run != RUN_NONE)
            v[n++] = r;
    }
    qsort(v, n, sizeof *v, by_body);
    for (size_t i = 0; i < n;) {
        size_t end = i;
        while (end < n && v[end]->run == v[i]->run)
            end++;
        for (size_t k = i, next; k < end; k = next) {
            next = k + 1;
            while (next < end && strcmp(v[next]->body_sha256, v[k]->body_sha256) == 0)
                next++;
            chain(a, v + k, next - k, next - k == end - i);
        }
        i = end;
    }
    free(v);
}

const struct request *retries_first(const struct audit *a, const struct request *r)
{
    while (r->retry_of != 0)
        r = &a->requests.v[r->retry_of - 1];
    return r;
}
