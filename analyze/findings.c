/* Findings, trace by trace; their makers are listed in finder.h. */
#include "analyze/findings.h"

#include <stdlib.h>

#include "analyze/finder.h"
#include "analyze/formulas.h"
#include "analyze/metrics_speedup.h"

static void find_all(struct finder *f)
{
    findings_recording(f);
    findings_requests(f);
    findings_stream(f);
    findings_delivery(f);
    findings_stated(f);
    findings_server(f);
    findings_stalls(f);
    findings_capacity(f);
    findings_load(f);
    findings_client(f);
    findings_proxy(f);
}

void findings_find(struct audit *a, const struct audit_options *o)
{
    double *bounds = formula_rate_bounds(a, o);
    for (size_t i = 0; i < a->traces.n; i++) {
        VEC(size_t) requests = {0};
        for (size_t k = 0; k < a->runs.n; k++) {
            const struct run *run = &a->runs.v[k];
            for (size_t n = 0; run->trace == i && n < run->requests.n; n++)
                VEC_PUSH(&requests, run->requests.v[n]);
        }
        struct run_scope scope = {i + 1, 0, NULL, requests.v, requests.n};
        struct finder f = {a, o, i, bounds, &scope};
        find_all(&f);
        VEC_FREE(&requests);
    }
    free(bounds);
}
