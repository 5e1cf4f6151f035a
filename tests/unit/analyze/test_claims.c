/* Verdicts: each of the four where it belongs, and none that accuses an honest figure. */
#include <math.h>

#include "tests/unit/analyze/scene.h"

static const struct act plain = {.t0 = 0,
                                 .head = 0.99,
                                 .first = 1.0,
                                 .last = 4.0,
                                 .end = 4.001,
                                 .events = 301,
                                 .tokens = 301,
                                 .prompt = 50,
                                 .max_tokens = 400};
static const struct act kept_back = {.t0 = 0,
                                     .head = 0.002,
                                     .role = 0.003,
                                     .first = 5.0,
                                     .last = 5.0214,
                                     .end = 5.022,
                                     .events = 300,
                                     .tokens = 300,
                                     .prompt = 50};
static const struct act document = {.t0 = 0,
                                    .head = 4.9,
                                    .first = 5.0,
                                    .last = 5.0,
                                    .end = 5.0,
                                    .events = 1,
                                    .tokens = 300,
                                    .event_bytes = 1200,
                                    .no_stream = true};

static void verdict_is(const struct claim *c, enum verdict v)
{
    if (c->verdict != v)
        fail_msg("%s: %s, not %s: %s", c->text, verdict_name(c->verdict), verdict_name(v),
                 c->reason);
    assert_non_null(c->reason);
    if (v == VERDICT_NOT_MEASURABLE)
        assert_true(isnan(c->recomputed));
    if (v == VERDICT_CONFIRMED)
        assert_true(interval_meets(c->interval, c->claimed_interval));
    if (v == VERDICT_DIFFERS)
        assert_false(interval_meets(c->interval, c->claimed_interval));
}

struct one {
    const struct act *act;
    const char *text;
    enum verdict verdict;
    const char *as; /* recomputed_as; NULL: not looked at */
};

static const struct one ones[] = {
    {&plain, "rate@1=100", VERDICT_CONFIRMED, "output_tps_user"},
    {&plain, "gen_tps@1=75.25tok/s", VERDICT_CONFIRMED, "e2e_output_tps"},
    {&plain, "wall_tps@1=75.2tok/s", VERDICT_CONFIRMED, "e2e_output_tps"},
    {&plain, "output_tps_user@1=75.2tok/s", VERDICT_DIFFERS, "output_tps_user"},
    {&plain, "rate@1=100.9", VERDICT_CONFIRMED, "output_tps_user"}, /* within 1 % */
    {&plain, "rate@1=101.2", VERDICT_DIFFERS, "output_tps_user"},
    {&plain, "rate@1=110", VERDICT_DIFFERS, "output_tps_user"},
    {&plain, "rate@1=14000", VERDICT_IMPOSSIBLE, "output_tps_user"},
    {&plain, "tpot@1=10ms", VERDICT_CONFIRMED, "tpot"},
    {&plain, "itl@1=10ms", VERDICT_CONFIRMED, "tpot"},
    {&plain, "icl.p50@1=10ms", VERDICT_CONFIRMED, "icl (p50 of 300)"},
    {&plain, "tpot@1=70us", VERDICT_IMPOSSIBLE, "tpot"},
    {&plain, "ttft@1=1.0s", VERDICT_CONFIRMED, "ttft"},
    {&plain, "ttft=1000.5ms", VERDICT_CONFIRMED, "ttft"},
    {&plain, "ttft@1=1.05s", VERDICT_DIFFERS, "ttft"},
    {&plain, "ttft@1=90ms", VERDICT_IMPOSSIBLE, "ttft"},
    {&plain, "ttfb@1=0.99s", VERDICT_CONFIRMED, "ttfb"},
    {&plain, "latency@1=4s", VERDICT_CONFIRMED, "e2el"},
    {&plain, "e2el@1=4.2s", VERDICT_DIFFERS, "e2el"},
    {&plain, "output_tokens@1=301", VERDICT_CONFIRMED, "output_tokens"},
    {&plain, "output_tokens@1=310", VERDICT_DIFFERS, "output_tokens"},
    {&plain, "output_tokens@1=450", VERDICT_IMPOSSIBLE, "output_tokens"},
    {&plain, "input_tokens@1=50", VERDICT_CONFIRMED, "input_tokens"},
    {&plain, "requests=1", VERDICT_CONFIRMED, "requests"},
    {&plain, "failed=0", VERDICT_CONFIRMED, "failed"},
    {&plain, "failed=1", VERDICT_DIFFERS, "failed"},
    {&plain, "failed=2", VERDICT_IMPOSSIBLE, "failed"},
    {&plain, "concurrency=1", VERDICT_CONFIRMED, "concurrency_avg"},
    {&plain, "concurrency=3", VERDICT_IMPOSSIBLE, "concurrency_avg"},
    {&plain, "throughput=75.2", VERDICT_CONFIRMED, "output_tps"},
    {&plain, "peak_throughput=100", VERDICT_CONFIRMED, "peak_throughput"},
    {&plain, "peak_throughput=20", VERDICT_IMPOSSIBLE, "peak_throughput"},
    {&plain, "peak_throughput=400", VERDICT_DIFFERS, "peak_throughput"},
    {&plain, "prompt_rate@1=50", VERDICT_CONFIRMED, "(P-K)/ttft"},
    {&plain, "prompt_rate@1=60", VERDICT_NOT_MEASURABLE,
     NULL}, /* prefill may be faster than its wait shows */
    {&plain, "prompt_rate@1=30", VERDICT_DIFFERS, NULL},
    {&plain, "speedup=2.17", VERDICT_NOT_MEASURABLE, NULL},
    {&plain, "memory=20GB", VERDICT_NOT_MEASURABLE, NULL},
    {&plain, "release_skew=1ms", VERDICT_NOT_MEASURABLE, NULL},
    {&plain, "rate@9=100", VERDICT_NOT_MEASURABLE, NULL},
    /* A burst has no decode rate; it still has a whole. */
    {&kept_back, "rate@1=14000", VERDICT_DIFFERS, "e2e_output_tps"},
    {&kept_back, "rate=14000", VERDICT_DIFFERS, "e2e_output_tps"},
    {&kept_back, "output_tps_user@1=14000", VERDICT_DIFFERS, "e2e_output_tps"},
    {&kept_back, "rate@1=9000", VERDICT_DIFFERS,
     "e2e_output_tps"}, /* unexplained, and still none of it */
    {&kept_back, "rate@1=59.7", VERDICT_CONFIRMED, "e2e_output_tps"},
    {&kept_back, "rate@1=40", VERDICT_DIFFERS, "e2e_output_tps"},
    {&kept_back, "wall_tps@1=14000", VERDICT_DIFFERS, "e2e_output_tps"},
    {&kept_back, "tpot@1=71us", VERDICT_DIFFERS, "ntpot"},
    {&kept_back, "itl@1=71us", VERDICT_DIFFERS, "ntpot"}, /* nor do its gaps make it true */
    {&kept_back, "tpot@1=40ms", VERDICT_DIFFERS, "ntpot"},
    {&kept_back, "ttft@1=5s", VERDICT_CONFIRMED, "ttft"},
    {&kept_back, "ttft@1=3ms", VERDICT_DIFFERS, "ttft"},
    /* One document: how long its decoding took, nobody saw. */
    {&document, "rate@1=60", VERDICT_CONFIRMED, "e2e_output_tps"},
    {&document, "rate@1=90", VERDICT_NOT_MEASURABLE, NULL},
    {&document, "output_tps_user@1=90", VERDICT_NOT_MEASURABLE, NULL},
    {&document, "rate@1=30", VERDICT_DIFFERS, "e2e_output_tps"},
    {&document, "tpot@1=11ms", VERDICT_NOT_MEASURABLE, NULL},
    {&document, "icl.p50=11ms", VERDICT_NOT_MEASURABLE, NULL},
};

static void each_verdict(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) {
        struct audit a = {0};
        made_trace(&a);
        scene_add(&a, *ones[i].act);
        scene_figures(&a);
        const struct claim *c = scene_judge(&a, &audit_defaults, ones[i].text);
        verdict_is(c, ones[i].verdict);
        if (ones[i].as != NULL)
            assert_string_equal(c->recomputed_as, ones[i].as);
        audit_free(&a);
    }
}

static void what_is_missing_is_named(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    struct act x = plain;
    x.tokens = 0;
    x.prompt = 0;
    scene_add(&a, x);
    struct request *failed = scene_add(&a, plain);
    failed->outcome = OUTCOME_HTTP_ERROR;
    failed->status = 400;
    failed->out.n = 0;
    scene_figures(&a);
    const struct claim *c = scene_judge(&a, &audit_defaults, "rate@1=100");
    verdict_is(c, VERDICT_NOT_MEASURABLE);
    assert_non_null(strstr(c->reason, "token"));
    c = scene_judge(&a, &audit_defaults, "ttft@2=1s");
    verdict_is(c, VERDICT_NOT_MEASURABLE);
    assert_non_null(strstr(c->reason, "400"));
    c = scene_judge(&a, &audit_defaults, "input_tokens@1=50");
    verdict_is(c, VERDICT_NOT_MEASURABLE);
    c = scene_judge(&a, &audit_defaults, "rate@3=100");
    assert_string_equal(c->reason, "there is no request 3; the last is 2");
    c = scene_judge(&a, &audit_defaults, "failed=1");
    verdict_is(c, VERDICT_CONFIRMED);
    audit_free(&a);
    a = (struct audit){0};
    made_trace(&a);
    c = scene_judge(&a, &audit_defaults, "rate=100");
    verdict_is(c, VERDICT_NOT_MEASURABLE);
    assert_string_equal(c->reason, "there is no LLM request in the trace");
    c = scene_judge(&a, &audit_defaults, "throughput=100");
    verdict_is(c, VERDICT_NOT_MEASURABLE);
    audit_free(&a);
}

static void evidence_is_where_the_bytes_are(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    scene_add(&a, plain);
    struct request *r = scene_add(&a, kept_back);
    r->o1_offset = 777;
    r->om_offset = 9999;
    r->t0_offset = 55;
    scene_figures(&a);
    const struct claim *c = scene_judge(&a, &audit_defaults, "rate@2=14000tok/s");
    assert_int_equal(c->evidence.n, 3);
    r = &a.requests.v[1];
    const struct evidence *e = c->evidence.v;
    assert_true(e[0].packet == r->t0_packet && !e[0].response && e[0].offset == 55 &&
                e[0].t_ns == r->t0);
    assert_true(e[1].packet == r->out.v[0].packet && e[1].response && e[1].offset == 777);
    assert_true(e[2].packet == r->out.v[299].packet && e[2].offset == 9999 &&
                e[2].t_ns == r->out.v[299].t_ns);
    for (size_t i = 0; i < 3; i++)
        assert_true(e[i].conn == r->conn && e[i].trace == 0 && e[i].what != NULL);
    assert_non_null(strstr(c->reason, "its sign is on the wire"));
    c = scene_judge(&a, &audit_defaults, "ttft@2=3ms"); /* what came before the text matters here */
    assert_int_equal(c->evidence.n, 4);
    e = c->evidence.v;
    assert_true(e[1].packet == r->c1_packet && e[1].response && e[1].t_ns == r->c1);
    audit_free(&a);
}

static void judging_twice_is_judging_once(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    scene_add(&a, kept_back);
    scene_figures(&a);
    const struct claim *c = scene_judge(&a, &audit_defaults, "rate@1=14000");
    size_t causes = c->causes.n, evidence = c->evidence.n;
    struct interval claimed = c->claimed_interval;
    claims_judge(&a, &audit_defaults);
    assert_int_equal(c->causes.n, causes);
    assert_int_equal(c->evidence.n, evidence);
    assert_true(c->claimed_interval.lo == claimed.lo && c->claimed_interval.hi == claimed.hi);
    audit_free(&a);
}

/* Ten requests of 10, 20 … 100 tokens a second. */
static void ten_rates(struct audit *a)
{
    made_trace(a);
    for (int i = 1; i <= 10; i++) {
        double t = 200.0 * i;
        scene_add(a, (struct act){.t0 = t,
                                  .first = t + 1,
                                  .last = t + 1 + 100.0 / (10.0 * i),
                                  .events = 101,
                                  .tokens = 101});
    }
    scene_figures(a);
}

/* Two choices at a time, a token each 10 ms together: each has one in 20 ms. */
static void a_gap_of_one_choice_or_of_all(void **state)
{
    (void)state;
    static const struct {
        uint32_t choices;
        const char *claim;
        enum verdict verdict;
    } cases[] = {
        {2, "itl.mean=20.0ms", VERDICT_NOT_MEASURABLE}, {2, "itl.mean=10.0ms", VERDICT_CONFIRMED},
        {2, "itl.mean=30.0ms", VERDICT_DIFFERS},        {1, "itl.mean=20.0ms", VERDICT_DIFFERS},
        {1, "itl.mean=10.0ms", VERDICT_CONFIRMED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct audit a = {0};
        made_trace(&a);
        for (int k = 0; k < 3; k++) {
            double t0 = 3.0 * k;
            struct request *r = scene_add(&a, (struct act){.t0 = t0,
                                                           .head = t0 + 0.2,
                                                           .first = t0 + 0.2,
                                                           .last = t0 + 1.2,
                                                           .end = t0 + 1.2,
                                                           .events = 101,
                                                           .tokens = 101,
                                                           .n1 = 1});
            r->choices_seen = cases[i].choices;
        }
        scene_figures(&a);
        const struct claim *c = scene_judge(&a, &audit_defaults, cases[i].claim);
        if (c->verdict != cases[i].verdict)
            fail_msg("%u, %s: %s", cases[i].choices, cases[i].claim, verdict_name(c->verdict));
        audit_free(&a);
    }
}

/* What n_1 may be: as far as it is unknown, and no further. */
static void the_first_read_is_as_unknown_as_it_is(void **state)
{
    (void)state;
    static const struct {
        size_t events, in_first; /* events, those of the first read */
        int64_t tokens, n1;      /* -1: not stated */
        double claimed;          /* tokens over the window of a second */
        enum verdict verdict;
    } cases[] = {
        {101, 1, 101, -1, 100, VERDICT_CONFIRMED},
        {11, 1, 44, -1, 43, VERDICT_CONFIRMED}, /* the first event held one of 44 tokens … */
        {11, 1, 44, -1, 40, VERDICT_CONFIRMED}, /* … or as many as the others */
        {11, 1, 44, -1, 44, VERDICT_DIFFERS},
        {11, 1, 44, -1, 36, VERDICT_DIFFERS},
        {11, 1, 44, 4, 43, VERDICT_DIFFERS},
        {11, 1, 44, 4, 40, VERDICT_CONFIRMED},  /* stated */
        {41, 3, 41, -1, 40, VERDICT_CONFIRMED}, /* a few meet in any stream … */
        {41, 3, 41, -1, 38, VERDICT_CONFIRMED},
        {41, 3, 41, 3, 40, VERDICT_DIFFERS},
        {11, 3, 11, -1, 10, VERDICT_DIFFERS}, /* … that is longer than that … */
        {11, 3, 11, -1, 8, VERDICT_CONFIRMED},
        {41, 4, 41, -1, 40, VERDICT_DIFFERS}, /* … and these are no few */
        {41, 4, 41, -1, 37, VERDICT_CONFIRMED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct audit a = {0};
        char text[64];
        made_trace(&a);
        struct request *r = scene_add(&a, (struct act){.first = 1,
                                                       .last = 2,
                                                       .end = 2,
                                                       .events = cases[i].events,
                                                       .tokens = cases[i].tokens,
                                                       .n1 = cases[i].n1});
        for (size_t k = 1; k < cases[i].in_first; k++) {
            r->out.v[k].packet = r->out.v[0].packet;
            r->out.v[k].t_ns = r->out.v[0].t_ns;
        }
        scene_figures(&a);
        snprintf(text, sizeof text, "output_tps_user@1=%.2f", cases[i].claimed);
        verdict_is(scene_judge(&a, &audit_defaults, text), cases[i].verdict);
        snprintf(text, sizeof text, "tpot@1=%.3fms", 1000 / cases[i].claimed);
        verdict_is(scene_judge(&a, &audit_defaults, text), cases[i].verdict);
        audit_free(&a);
    }
}

static void the_statistic_that_fits_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *as;
    } stats[] = {
        {"output_tps_user=55", "output_tps_user (p50 of 10)"},
        {"output_tps_user=100", "output_tps_user (max of 10)"},
        {"output_tps_user=10", "output_tps_user (min of 10)"},
        {"output_tps_user.p90=91", "output_tps_user (p90 of 10)"},
        {"output_tps_user=95.5", "output_tps_user (p95 of 10)"},
        {"output_tokens=1010", "output_tokens (sum of 10)"},
        {"output_tokens.sum=1010", "output_tokens (sum of 10)"},
        {"output_tokens=101", "output_tokens (p50 of 10)"},
    };
    struct audit a = {0};
    ten_rates(&a);
    for (size_t i = 0; i < sizeof stats / sizeof *stats; i++) {
        const struct claim *c = scene_judge(&a, &audit_defaults, stats[i].text);
        verdict_is(c, VERDICT_CONFIRMED);
        assert_string_equal(c->recomputed_as, stats[i].as);
    }
    const struct claim *c = scene_judge(&a, &audit_defaults, "output_tps_user.max=91");
    verdict_is(c, VERDICT_DIFFERS);
    assert_string_equal(c->recomputed_as, "output_tps_user (max of 10)");
    c = scene_judge(&a, &audit_defaults, "output_tps_user=75"); /* no statistic of it */
    verdict_is(c, VERDICT_DIFFERS);
    audit_free(&a);
}

/* One workload sent alone, one in pairs, each three times. */
static void workloads(struct audit *a)
{
    made_trace(a);
    for (int i = 0; i < 3; i++) {
        double t = 100.0 * i + 10, u = t + 300;
        struct request *r = scene_add(
            a,
            (struct act){
                .t0 = t, .first = t + 1, .last = t + 5, .events = 201, .tokens = 201, .group = 0});
        r->client_port = (uint16_t)(4000 + i);
        made_entry(a, (struct ledger_entry){.workload = "run_single",
                                            .name = "p1",
                                            .repeat = i,
                                            .group = -1,
                                            .sent_ns = (int64_t)(t * 1000),
                                            .local_port = 4000 + i});
        for (int k = 0; k < 2; k++) {
            double later = 0.001 * k;
            r = scene_add(a, (struct act){.t0 = u + later,
                                          .first = u + 1 + later,
                                          .last = u + 11 + later,
                                          .events = 201,
                                          .tokens = 201});
            r->client_port = (uint16_t)(5000 + 2 * i + k);
            made_entry(a, (struct ledger_entry){.workload = "run_double",
                                                .name = "p1",
                                                .repeat = i,
                                                .group = 0,
                                                .sent_ns = (int64_t)(u * 1000),
                                                .local_port = 5000 + 2 * i + k});
        }
    }
}

static void parts_of_a_trace(void **state)
{
    (void)state;
    struct audit a = {0};
    workloads(&a);
    scene_figures(&a);
    if (a.runs.n != 6)
        fail_msg("%zu runs", a.runs.n);
    const struct claim *c =
        scene_judge(&a, &audit_defaults, "rate.p50=50"); /* 200/4, of the pairs 200/10 */
    verdict_is(c, VERDICT_CONFIRMED);
    assert_string_equal(c->recomputed_as, "output_tps_user (p50 of 3, run_single)");
    c = scene_judge(&a, &audit_defaults, "wall_tps_p50=40.2"); /* 201/5 */
    verdict_is(c, VERDICT_CONFIRMED);
    c = scene_judge(&a, &audit_defaults, "throughput=36.5"); /* 402/11.001 */
    verdict_is(c, VERDICT_CONFIRMED);
    c = scene_judge(&a, &audit_defaults, "speedup=0.909"); /* 402/11.001 / (201/5) */
    verdict_is(c, VERDICT_CONFIRMED);
    c = scene_judge(&a, &audit_defaults, "speedup=2.17");
    verdict_is(c, VERDICT_DIFFERS);
    c = scene_judge(&a, &audit_defaults, "release_skew=1ms");
    verdict_is(c, VERDICT_CONFIRMED);
    c = scene_judge(&a, &audit_defaults, "concurrency=2");
    verdict_is(c, VERDICT_CONFIRMED);
    c = scene_judge(&a, &audit_defaults, "rate.p50=60");
    verdict_is(c, VERDICT_DIFFERS);
    audit_free(&a);
}

static void memory_is_held_against_samples(void **state)
{
    (void)state;
    struct audit a = {0};
    size_t t = made_trace(&a);
    scene_add(&a, plain);
    static const int64_t gb = 1000000000;
    VEC_PUSH(&a.traces.v[t].sys, ((struct sample_point){EPOCH_NS, 25 * gb, 64 * gb, 18 * gb, 0}));
    VEC_PUSH(&a.traces.v[t].sys,
             ((struct sample_point){EPOCH_NS + 100 * MS, 30 * gb, 64 * gb, 20 * gb, 0}));
    scene_figures(&a);
    verdict_is(scene_judge(&a, &audit_defaults, "memory=20GB"), VERDICT_CONFIRMED);
    verdict_is(scene_judge(&a, &audit_defaults, "memory=28GB"), VERDICT_CONFIRMED);
    verdict_is(scene_judge(&a, &audit_defaults, "memory=15GB"), VERDICT_DIFFERS);
    verdict_is(scene_judge(&a, &audit_defaults, "memory=40GB"), VERDICT_NOT_MEASURABLE);
    verdict_is(scene_judge(&a, &audit_defaults, "memory=65GB"), VERDICT_IMPOSSIBLE);
    audit_free(&a);
}

/* What nobody can reach is given by hand. */
static void max_rate(void **state)
{
    (void)state;
    struct audit a = {0};
    struct audit_options o = audit_defaults;
    o.max_rate = 450;
    made_trace(&a);
    scene_add(&a, document);
    scene_figures(&a);
    verdict_is(scene_judge(&a, &o, "rate@1=440"), VERDICT_NOT_MEASURABLE);
    verdict_is(scene_judge(&a, &o, "rate@1=500"), VERDICT_IMPOSSIBLE);
    audit_free(&a);
}

/* Honest clients: they stamp up to 1 ms late, print few digits, and mean one of the definitions. */
static void honest_figures_are_confirmed(void **state)
{
    (void)state;
    uint64_t seed = 2026;
    for (int run = 0; run < 400; run++) {
        struct audit a = {0};
        made_trace(&a);
        double first = 0.02 + 3 * scene_random(&seed);
        size_t tokens = 20 + (size_t)(400 * scene_random(&seed));
        double window = 0.06 + 0.1 * first + (double)tokens / (10 + 300 * scene_random(&seed));
        struct act x = {.t0 = 0,
                        .head = first / 2,
                        .role = first / 2 + 0.001,
                        .first = first,
                        .last = first + window,
                        .end = first + window + 0.05 * scene_random(&seed),
                        .events = tokens,
                        .tokens = (int64_t)tokens,
                        .prompt = 1 + (int64_t)(5000 * scene_random(&seed))};
        scene_add(&a, x);
        scene_figures(&a);
        double c0 = 0.001 * scene_random(&seed), c1 = first + 0.001 * scene_random(&seed);
        double cm = first + window + 0.001 * scene_random(&seed);
        double n = (double)tokens;
        char text[8][64];
        snprintf(text[0], 64, "rate=%.1f", (n - 1) / (cm - c1));
        snprintf(text[1], 64, "rate@1=%.2ftok/s", n / (cm - c0));
        snprintf(text[2], 64, "ttft=%.1fms", 1000 * (c1 - c0));
        snprintf(text[3], 64, "latency=%.3fs", cm - c0);
        snprintf(text[4], 64, "tpot@1=%.2fms", 1000 * (cm - c1) / (n - 1));
        snprintf(text[5], 64, "output_tokens=%zu", tokens);
        snprintf(text[6], 64, "throughput=%.1f", n / (x.end + 0.0005 - c0));
        snprintf(text[7], 64, "wall_tps_p50=%.4g", n / (cm - c0));
        for (int i = 0; i < 8; i++)
            verdict_is(scene_judge(&a, &audit_defaults, text[i]), VERDICT_CONFIRMED);
        audit_free(&a);
    }
}

/* The clock was set in the request: what is said of its times is not judged, and its counts are. */
static void times_across_a_step_are_not_judged(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum verdict verdict;
    } cases[] = {
        {"rate@1=100", VERDICT_NOT_MEASURABLE},
        {"rate@1=14000", VERDICT_NOT_MEASURABLE},
        {"ttft@1=90ms", VERDICT_NOT_MEASURABLE},
        {"ttft=1.0s", VERDICT_NOT_MEASURABLE},
        {"icl.p50@1=10ms", VERDICT_NOT_MEASURABLE},
        {"throughput=75.2", VERDICT_NOT_MEASURABLE},
        {"peak_throughput=20", VERDICT_NOT_MEASURABLE},
        {"concurrency=1", VERDICT_NOT_MEASURABLE},
        {"output_tokens@1=301", VERDICT_CONFIRMED},
        {"output_tokens@1=450", VERDICT_IMPOSSIBLE},
        {"requests=1", VERDICT_CONFIRMED},
        {"failed=0", VERDICT_CONFIRMED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct audit a = {0};
        made_trace(&a);
        scene_add(&a, plain)->clock_stepped = true;
        made_figures(&a, &audit_defaults);
        const struct claim *c = scene_judge(&a, &audit_defaults, cases[i].text);
        verdict_is(c, cases[i].verdict);
        if (cases[i].verdict == VERDICT_NOT_MEASURABLE && strstr(c->reason, "clock") == NULL)
            fail_msg("%s: %s", cases[i].text, c->reason);
        audit_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_verdict),
        cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(evidence_is_where_the_bytes_are),
        cmocka_unit_test(judging_twice_is_judging_once),
        cmocka_unit_test(a_gap_of_one_choice_or_of_all),
        cmocka_unit_test(the_first_read_is_as_unknown_as_it_is),
        cmocka_unit_test(the_statistic_that_fits_is_named),
        cmocka_unit_test(parts_of_a_trace),
        cmocka_unit_test(memory_is_held_against_samples),
        cmocka_unit_test(max_rate),
        cmocka_unit_test(times_across_a_step_are_not_judged),
        cmocka_unit_test(honest_figures_are_confirmed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
