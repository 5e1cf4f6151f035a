/* 200 honest runs, made from seeds in all ten dialects: no finding at warn or fail, and what an
 * honest client would publish of each, computed here from the generator's own times and counts, is
 * confirmed, or, where the server states no usage, not measurable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "analyze/findings.h"
#include "analyze/load.h"
#include "tests/unit/analyze/clean_run.h"

enum { RUNS = 200, CLAIMS_MAX = 32 };

/* --- what an honest client publishes ---------------------------------------------------------- */

struct claims {
    char text[CLAIMS_MAX][96];
    bool of_tokens[CLAIMS_MAX];
    size_t n;
};

static void publish(struct claims *k, bool of_tokens, const char *name, size_t request, double v,
                    const char *unit)
{
    char at[24] = "";
    assert_true(k->n < CLAIMS_MAX);
    if (request > 0)
        snprintf(at, sizeof at, "@%zu", request);
    k->of_tokens[k->n] = of_tokens;
    snprintf(k->text[k->n++], sizeof *k->text, "%s%s=%.5g%s", name, at, v, unit);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, by_value);
    return n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static double mean(const double *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    return sum / (double)n;
}

/* A client stamps just before it sends, and after it has read and parsed. */
struct stamps {
    double ttft[REQUESTS_MAX], e2el[REQUESTS_MAX], tpot[REQUESTS_MAX], rate[REQUESTS_MAX];
    double whole[REQUESTS_MAX], tokens[REQUESTS_MAX];
    double first, last, busy, output, input;
};

static void stamp(struct clean_run *r, struct stamps *s)
{
    *s = (struct stamps){.first = INFINITY};
    for (size_t i = 0; i < r->n; i++) {
        const struct honest *h = &r->all[i];
        double start = h->t0 - between(&r->c, 0, 0.2e-3);
        double first = h->o[0] + between(&r->c, 0, 0.7e-3);
        double last = h->o[h->tokens - 1] + between(&r->c, 0, 0.7e-3);
        double end = h->z + between(&r->c, 0, 0.7e-3), n = (double)h->tokens;
        s->ttft[i] = first - start;
        s->e2el[i] = last - start;
        s->tpot[i] = (last - first) / (n - 1);
        s->rate[i] = 1 / s->tpot[i];
        s->whole[i] = n / s->e2el[i];
        s->tokens[i] = n;
        s->first = fmin(s->first, start);
        s->last = fmax(s->last, end);
        s->busy += end - start;
        s->output += n;
        s->input += (double)h->prompt;
    }
}

static void publish_all(struct clean_run *r, struct claims *k)
{
    struct stamps s;
    stamp(r, &s);
    double whole = s.last - s.first;
    for (int i = 0; i < 2; i++) {
        size_t which = choose(&r->c, r->n);
        publish(k, false, "ttft", which + 1, 1e3 * s.ttft[which], "ms");
        publish(k, false, "latency", which + 1, s.e2el[which], "s");
        publish(k, true, "rate", which + 1, s.rate[which], "tok/s");
        publish(k, true, "wall_tps", which + 1, s.whole[which], "tok/s");
        publish(k, true, "tpot", which + 1, 1e3 * s.tpot[which], "ms");
        publish(k, true, "output_tokens", which + 1, s.tokens[which], "tokens");
    }
    publish(k, false, "ttft.mean", 0, mean(s.ttft, r->n), "s");
    publish(k, false, "ttft.p50", 0, 1e3 * median(s.ttft, r->n), "ms");
    publish(k, false, "e2el.mean", 0, 1e3 * mean(s.e2el, r->n), "ms");
    publish(k, false, "latency.p50", 0, median(s.e2el, r->n), "s");
    publish(k, false, "latency.max", 0, s.e2el[r->n - 1], "s"); /* in order by now */
    publish(k, true, "tpot.mean", 0, 1e3 * mean(s.tpot, r->n), "ms");
    publish(k, true, "rate.p50", 0, median(s.rate, r->n), "tok/s");
    publish(k, true, "wall_tps.p50", 0, median(s.whole, r->n), "tok/s");
    publish(k, true, "throughput", 0, s.output / whole, "tok/s");
    publish(k, true, "output_tokens.sum", 0, s.output, "tokens");
    publish(k, true, "input_tokens.sum", 0, s.input, "tokens");
    publish(k, false, "request_tps", 0, (double)r->n / whole, "req/s");
    publish(k, false, "requests", 0, (double)r->n, "");
    publish(k, false, "completed", 0, (double)r->n, "");
    publish(k, false, "failed", 0, 0, "");
    publish(k, false, "duration", 0, whole, "s");
    publish(k, false, "concurrency_avg", 0, s.busy / whole, "");
}

/* --- and what is said of it ------------------------------------------------------------------- */

static void describe(const struct character *c, char out[200])
{
    snprintf(
        out, 200,
        "seed %llu: %s, %zu lanes, %zu requests, framing %d, keep-alive %d, head %d, usage %d, "
        "base %.3f s, step %.4f s +- %.2f",
        (unsigned long long)c->seed, c->d->name, c->lanes, c->requests, (int)c->framing,
        c->keep_alive, c->early_head, (int)c->usage, c->base_s, c->step_s, c->jitter);
}

/* So that one look shows all that is wrong. */
static unsigned judge(const struct clean_run *r, struct audit *a, const struct claims *k)
{
    char what[200];
    unsigned wrong = 0;
    describe(&r->c, what);
    assert_int_equal(a->requests.n, r->n);
    for (size_t i = 0; i < a->requests.n; i++) {
        const struct request *q = &a->requests.v[i];
        if (q->dialect != r->c.d || q->outcome != OUTCOME_SUCCESS || q->out.n != r->all[i].tokens ||
            q->anomalies.n > 0)
            fail_msg("%s: request %zu: %s, %zu events of %zu", what, i + 1,
                     outcome_name(q->outcome), q->out.n, r->all[i].tokens);
    }
    for (size_t i = 0; i < a->findings.n; i++) {
        const struct finding *f = &a->findings.v[i];
        if (f->severity != SEVERITY_INFO) {
            print_error("%s: %s: %s\n", what, f->id, f->detail);
            wrong++;
        }
    }
    assert_int_equal(a->claims.n, k->n);
    for (size_t i = 0; i < a->claims.n; i++) {
        const struct claim *c = &a->claims.v[i];
        enum verdict wanted = k->of_tokens[i] && r->c.usage == USAGE_NONE ? VERDICT_NOT_MEASURABLE
                                                                          : VERDICT_CONFIRMED;
        if (c->verdict != wanted || (wanted == VERDICT_NOT_MEASURABLE && c->reason == NULL)) {
            print_error("%s: %s: %s (%g [%g, %g]): %s\n", what, c->text, verdict_name(c->verdict),
                        c->recomputed, c->interval.lo, c->interval.hi,
                        c->reason != NULL ? c->reason : "");
            wrong++;
        }
    }
    return wrong;
}

static unsigned audit_run(struct clean_run *r, const char *path)
{
    struct audit a = {0};
    struct claims k = {.n = 0};
    struct err e;
    char *paths[] = {(char *)(uintptr_t)path};
    size_t used;
    honest_times(r);
    for (size_t i = 0; i < r->n; i++) {
        ask(r, &r->all[i]);
        answer(r, &r->all[i]);
    }
    write_trace(r, path);
    publish_all(r, &k);
    if (load_trace(&a, paths, 1, &used, &e) != TA_OK)
        fail_msg("%s", e.msg);
    for (size_t i = 0; i < k.n; i++) {
        if (claims_add(&a, k.text[i], &e) != TA_OK)
            fail_msg("%s: %s", k.text[i], e.msg);
    }
    scene_figures(&a);
    claims_judge(&a, &audit_defaults);
    findings_find(&a, &audit_defaults);
    unsigned wrong = judge(r, &a, &k);
    audit_free(&a);
    return wrong;
}

static void honest_runs_raise_no_alarm(void **state)
{
    (void)state;
    static struct clean_run r;
    unsigned wrong = 0;
    char path[80];
    snprintf(path, sizeof path, "/tmp/tokaudit-test_clean_runs-%ld.pcapng.gz", (long)getpid());
    buf_init(&r.bytes, 64 << 20);
    buf_init(&r.event, 1 << 20);
    for (uint64_t seed = 0; seed < RUNS; seed++) {
        r.c = character_of(seed);
        r.n_parcels = 0;
        buf_clear(&r.bytes);
        wrong += audit_run(&r, path);
    }
    unlink(path);
    buf_done(&r.bytes);
    buf_done(&r.event);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(honest_runs_raise_no_alarm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
