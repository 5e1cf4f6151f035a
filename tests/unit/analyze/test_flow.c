/* Throughput, goodput, the steady part, percentile methods: on requests whose times were chosen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "analyze/metrics_flow.h"
#include "analyze/slo.h"
#include "analyze/stat.h"
#include "tests/unit/analyze/synthetic.h"

static void near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-9 * (1 + fabs(expected))))
        fail_msg("found %.17g, expected %.17g", found, expected);
}

static const struct metric *figure(const struct audit *a, const char *name, const char *stat)
{
    const struct metric *m = metrics_find(a, name, stat, (struct metric_scope){1, 0, NULL});
    if (m == NULL)
        fail_msg("no %s %s", name, stat);
    return m;
}

static struct request *add(struct audit *a, int64_t t0, int64_t first, int64_t step, size_t events,
                           int64_t tokens)
{
    size_t i = made_request(a, (struct made){.t0 = t0,
                                             .first = first,
                                             .step = step,
                                             .events = events,
                                             .tokens = tokens,
                                             .port = (uint16_t)(1000 + a->requests.n)});
    return &a->requests.v[i];
}

static void times_of_reasoning_and_second_event(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    struct request *r = add(&a, 0, 100, 20, 11, 22);
    r->answer_ns = EPOCH_NS + 180 * MS;
    metrics_request_all(&a, &audit_defaults);
    near(r->metrics[M_TTFT].v, 0.1);
    near(r->metrics[M_TTFO].v, 0.18);
    near(r->metrics[M_TTST].v, 0.02);
    near(r->metrics[M_NTPOT].v, 0.3 / 22);
    r->answer_ns = -1;
    metrics_request_all(&a, &audit_defaults);
    assert_int_equal(r->metrics[M_TTFO].grade, GRADE_NOT_MEASURABLE);
    assert_string_equal(r->metrics[M_TTFO].reason, "all output is reasoning");
    audit_free(&a);
}

/* Two requests of 1 s, 0.5 s apart: T is 1.5 s. */
static void throughput_of_two(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    add(&a, 0, 100, 100, 10, 30)->usage.prompt = 60;
    add(&a, 500, 600, 100, 10, 60)->usage.prompt = 90;
    made_figures(&a, &audit_defaults);
    near(figure(&a, "output_tps", "value")->value, 90 / 1.5);
    near(figure(&a, "input_tps", "value")->value, 150 / 1.5);
    near(figure(&a, "total_tps", "value")->value, 240 / 1.5);
    audit_free(&a);

    a = (struct audit){0};
    made_trace(&a);
    add(&a, 0, 100, 100, 10, 30)->usage.prompt = 60;
    add(&a, 500, 600, 100, 10, 60);
    made_figures(&a, &audit_defaults);
    near(figure(&a, "output_tps", "value")->value, 90 / 1.5);
    const struct metric *m = figure(&a, "total_tps", "value");
    assert_int_equal(m->grade, GRADE_NOT_MEASURABLE);
    assert_string_equal(m->reason,
                        "no prompt token count was stated for 1 of 2 successful requests");
    audit_free(&a);
}

/* In flight: 1 for 0.4 s, 2 for 1.6 s, 1 for 0.4 s; the median is 2, and two in flight are the
 * steady part. */
static void steady_part_is_where_the_median_is_held(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    add(&a, 0, 100, 100, 20, 40);   /* events at 0.1 … 2.0 s, 2 tokens each */
    add(&a, 400, 500, 100, 20, 20); /* 0.5 … 2.4 s, 1 token each */
    made_figures(&a, &audit_defaults);
    const struct metric *m = figure(&a, "output_tps_steady", "value");
    near(m->value, (16 * 2 + 16 * 1) / 1.6); /* 0.5 … 2.0 s */
    assert_non_null(strstr(m->reason, "spread evenly"));
    struct flight_curve c = {0};
    metrics_concurrency(&a, a.runs.v[0].requests.v, a.runs.v[0].requests.n, &c);
    static const int64_t expected[][2] = {{0, 1}, {400, 2}, {2000, 1}, {2400, 0}};
    assert_int_equal(c.n, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(c.v[i].t_ns, EPOCH_NS + expected[i][0] * MS);
        assert_int_equal(c.v[i].in_flight, expected[i][1]);
    }
    VEC_FREE(&c);
    audit_free(&a);
}

/* What events state is taken instead of an even share. */
static void steady_part_takes_stated_tokens(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    add(&a, 0, 100, 100, 20, 40);
    add(&a, 400, 500, 100, 20, 20);
    for (size_t k = 0; k < 20; k++) { /* 21 in the first, then 1 each: 16 of them within */
        request_state(&a.requests.v[0], k, (int32_t)(21 + k));
        request_state(&a.requests.v[1], k, (int32_t)(1 + k));
    }
    made_figures(&a, &audit_defaults);
    const struct metric *m = figure(&a, "output_tps_steady", "value");
    near(m->value, (16 + 16) / 1.6);
    assert_null(strstr(m->reason, "spread evenly"));
    audit_free(&a);
}

static void itl_only_where_each_event_states_its_tokens(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    struct request *r = add(&a, 0, 100, 30, 4, 7);
    static const int32_t stated[] = {1, 2, 4, 7}; /* gaps of 30, 15 twice, 10 three times */
    for (size_t k = 0; k < 4; k++)
        request_state(r, k, stated[k]);
    made_figures(&a, &audit_defaults);
    const struct metric *m = figure(&a, "itl", "p50");
    near(m->value, 0.0125); /* between 10 and 15 of 10 10 10 15 15 30 */
    assert_int_equal(m->n, 6);
    near(figure(&a, "itl", "mean")->value, 0.015);
    near(figure(&a, "itl", "max")->value, 0.030);
    near(figure(&a, "itl", "std")->value, sqrt((3 * 25e-6 + 225e-6) / 5));
    audit_free(&a);

    a = (struct audit){0};
    made_trace(&a);
    add(&a, 0, 100, 30, 4, 7);
    made_figures(&a, &audit_defaults);
    m = figure(&a, "itl", "p50");
    assert_int_equal(m->grade, GRADE_NOT_MEASURABLE);
    assert_string_equal(m->reason,
                        "events do not state how many tokens they bring (1 of 1 requests)");
    audit_free(&a);
}

/* One good, one too slow, one failed, one whose tpot nobody can know. */
static void goodput_has_failures_in_its_denominator(void **state)
{
    (void)state;
    struct audit a = {0};
    struct audit_options o = audit_defaults;
    struct err e;
    assert_int_equal(slo_parse("ttft=150ms,tpot=0.05s", &o, &e), TA_OK);
    near(o.slo[M_TTFT], 0.15);
    near(o.slo[M_TPOT], 0.05);
    made_trace(&a);
    add(&a, 0, 150, 40, 21, 21);     /* ttft 150 ms: at the limit is good */
    add(&a, 1000, 1151, 40, 21, 21); /* 151 ms */
    add(&a, 2000, 2100, 40, 21, 21)->outcome = OUTCOME_CUT_SHORT;
    add(&a, 3000, 3100, 0, 2, 2);
    a.requests.v[3].z = a.requests.v[3].t_end = EPOCH_NS + 4000 * MS;
    made_figures(&a, &o);
    const struct metric *m = figure(&a, "good_fraction", "value");
    near(m->value, 0.25);
    assert_int_equal(m->n, 4);
    assert_string_equal(m->reason, "1 of 4 requests can't be decided, and count as not good");
    near(figure(&a, "goodput", "value")->value, 0.25);
    audit_free(&a);
}

static void limits_are_read_or_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "ttft",
                                      "ttft=",
                                      "ttft=0ms",
                                      "ttft=500",
                                      "ttft=0.5",
                                      "rate=5ms",
                                      "=5ms",
                                      "ttft=5ms,",
                                      "e2el=-1s",
                                      "ttft=5parsecs",
                                      "output_tps_user=5ms",
                                      "ttft=5ms,,tpot=3ms"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct audit_options o = audit_defaults;
        struct err e;
        if (slo_parse(bad[i], &o, &e) != TA_EUSAGE)
            fail_msg("'%s' was taken", bad[i]);
    }
}

/* 1 … 20: numpy's linear, the nearest rank, LoadGen's index. */
static void percentile_methods(void **state)
{
    (void)state;
    double v[20];
    struct stat_point p[20], few[] = {{1, 1}, {2, 8}, {3, 1}};
    for (int i = 0; i < 20; i++) {
        v[i] = i + 1;
        p[i] = (struct stat_point){i + 1, 1};
    }
    static const struct {
        enum percentile_method method;
        double at_50, at_95, at_99;
    } cases[] = {
        {PERCENTILE_LINEAR, 10.5, 19.05, 19.81},
        {PERCENTILE_NEAREST, 10, 19, 20},
        {PERCENTILE_LOADGEN, 11, 20, 20},
        {PERCENTILE_WEIGHTED, 10, 19, 20},
    };
    for (size_t i = 0; i < 4; i++) {
        near(stat_percentile(cases[i].method, v, 20, 0.5), cases[i].at_50);
        near(stat_percentile(cases[i].method, v, 20, 0.95), cases[i].at_95);
        near(stat_percentile(cases[i].method, v, 20, 0.99), cases[i].at_99);
        near(stat_percentile_points(cases[i].method, p, 20, 0.5), cases[i].at_50);
        near(stat_percentile_points(cases[i].method, p, 20, 0.95), cases[i].at_95);
        near(stat_percentile_points(cases[i].method, p, 20, 0.99), cases[i].at_99);
    }
    near(stat_percentile_points(PERCENTILE_LINEAR, few, 3, 0.95), 2.55); /* 1, 2 eight times, 3 */
    near(stat_percentile_points(PERCENTILE_WEIGHTED, few, 3, 0.9), 2);
    near(stat_percentile_points(PERCENTILE_WEIGHTED, few, 3, 0.91), 3);
}

/* A long answer weighs more than nine short ones: tpot 10 ms over 8 tokens, 40 ms over 1000. */
static void weighted_percentiles_weigh_tokens(void **state)
{
    (void)state;
    struct audit_options o = audit_defaults;
    for (int weighted = 0; weighted < 2; weighted++) {
        struct audit a = {0};
        o.percentile = weighted ? PERCENTILE_WEIGHTED : PERCENTILE_NEAREST;
        made_trace(&a);
        for (int i = 0; i < 9; i++)
            add(&a, 1000 * i, 1000 * i + 100, 10, 9, 9);
        add(&a, 20000, 20100, 40, 1001, 1001);
        made_figures(&a, &o);
        near(figure(&a, "tpot", "p50")->value, weighted ? 0.04 : 0.01);
        near(figure(&a, "ntpot", "p50")->value, weighted ? 40.1 / 1001 : 0.18 / 9);
        near(figure(&a, "ttft", "p50")->value, 0.1);
        audit_free(&a);
    }
}

static void gaps_say_whose_they_are_not(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 3; i++)
        add(&a, 1000 * i, 1000 * i + 100, 10, 5, 5)->choices_seen = i == 1 ? 2 : 1;
    made_figures(&a, &audit_defaults);
    assert_int_equal(figure(&a, "icl", "p50")->n, 8);
    assert_string_equal(figure(&a, "icl", "p50")->reason,
                        "requests left out, in which events of several choices came between each "
                        "other: 1");
    audit_free(&a);
}

static void warm_up_is_left_out(void **state)
{
    (void)state;
    struct audit_options o = audit_defaults;
    o.warmup = 2;
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 5; i++)
        add(&a, 1000 * i, 1000 * i + (i < 2 ? 900 : 100), 10, 5, 9);
    made_figures(&a, &o);
    near(figure(&a, "requests", "count")->value, 3);
    near(figure(&a, "ttft", "max")->value, 0.1);
    audit_free(&a);
}

/* Two servers, the same five prompts: 20 % slower beyond doubt; then as fast, by a hair. */
static void traces_are_held_against_each_other(void **state)
{
    (void)state;
    for (int same = 0; same < 2; same++) {
        struct audit a = {0};
        for (int trace = 0; trace < 2; trace++) {
            made_trace(&a);
            for (int i = 0; i < 5; i++) {
                int64_t first = trace == 0 ? 100 + i : same ? 98 + 2 * i : 120 + i;
                add(&a, 5000 * i, 5000 * i + first, 10, 101, 101);
            }
        }
        made_figures(&a, &audit_defaults);
        struct metric_scope second = {2, 0, NULL};
        const struct metric *m = metrics_find(&a, "ttft_ratio", "p50", second);
        assert_non_null(m);
        assert_null(metrics_find(&a, "ttft_ratio", "p50", (struct metric_scope){1, 0, NULL}));
        near(m->value, (same ? 102.0 : 122.0) / 102);
        assert_string_equal(m->reason,
                            same ? "against trace 1 (n = 5, here 5): no difference: the interval "
                                   "holds 1"
                                 : "against trace 1 (n = 5, here 5): higher");
        assert_true(same ? m->ci_low <= 1 && m->ci_high >= 1 : m->ci_low > 1.15);
        m = metrics_find(&a, "output_tps_user_ratio", "p50", second);
        near(m->value, 1);
        audit_free(&a);
    }
}

/* A trace of one workload has no rows of that name: its difference is the trace's. */
static void a_workload_is_compared_with_its_like(void **state)
{
    (void)state;
    static const char *const names[3][2] = {
        {"short", "long"}, {"long", "long"}, {"other", "other"}};
    struct audit a = {0};
    for (int trace = 0; trace < 3; trace++) {
        made_trace(&a);
        for (int i = 0; i < 6; i++) {
            bool is_long = strcmp(names[trace][i >= 3], "long") == 0;
            int64_t first = (is_long ? 500 : 100) + 100 * trace;
            struct request *r = add(&a, 5000 * i, 5000 * i + first, 10, 101, 101);
            made_entry(&a, (struct ledger_entry){.local_port = r->client_port,
                                                 .sent_ns = 5000 * i,
                                                 .workload = names[trace][i >= 3],
                                                 .name = "",
                                                 .group = -1,
                                                 .repeat = 0});
        }
    }
    made_figures(&a, &audit_defaults);
    const struct metric *m =
        metrics_find(&a, "ttft_ratio", "p50", (struct metric_scope){2, 0, NULL});
    assert_non_null(m);
    near(m->value, 600.0 / 500);
    assert_int_equal(m->n, 6);
    assert_null(metrics_find(&a, "ttft_ratio", "p50", (struct metric_scope){3, 0, NULL}));
    audit_free(&a);
}

/* Workloads at the same time: each has its own T, and the trace the time that there was. */
static void time_is_counted_once(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    static const char *const workloads[] = {"a", "b", "a"};
    static const int at[] = {0, 500, 3000};
    for (int i = 0; i < 3; i++) {
        made_request(&a, (struct made){.t0 = at[i],
                                       .first = at[i] + 100,
                                       .step = 100,
                                       .events = 10,
                                       .tokens = 30,
                                       .port = (uint16_t)(1 + i)});
        made_entry(&a, (struct ledger_entry){.workload = workloads[i],
                                             .name = "r",
                                             .repeat = i / 2,
                                             .group = -1,
                                             .sent_ns = at[i],
                                             .local_port = 1 + i});
    }
    made_figures(&a, &audit_defaults);
    assert_int_equal(a.runs.n, 3);
    struct metric_scope all = {1, 0, NULL};
    near(metrics_find(&a, "duration", "value", all)->value, 2.5); /* 0 to 1.5 s, and 1 s */
    near(metrics_find(&a, "output_tps", "value", all)->value, 90 / 2.5);
    near(metrics_find(&a, "concurrency_avg", "value", all)->value, 3 / 2.5);
    near(metrics_find(&a, "duration", "value", (struct metric_scope){1, 0, "a"})->value, 2);
    audit_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_of_reasoning_and_second_event),
        cmocka_unit_test(throughput_of_two),
        cmocka_unit_test(steady_part_is_where_the_median_is_held),
        cmocka_unit_test(steady_part_takes_stated_tokens),
        cmocka_unit_test(itl_only_where_each_event_states_its_tokens),
        cmocka_unit_test(goodput_has_failures_in_its_denominator),
        cmocka_unit_test(limits_are_read_or_refused),
        cmocka_unit_test(percentile_methods),
        cmocka_unit_test(weighted_percentiles_weigh_tokens),
        cmocka_unit_test(gaps_say_whose_they_are_not),
        cmocka_unit_test(warm_up_is_left_out),
        cmocka_unit_test(traces_are_held_against_each_other),
        cmocka_unit_test(a_workload_is_compared_with_its_like),
        cmocka_unit_test(time_is_counted_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
