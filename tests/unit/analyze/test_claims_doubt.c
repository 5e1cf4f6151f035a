/* Honest clients whose stamps are late, and tools that count tokens themselves: no claim of theirs
 * is refuted. What is beyond that, or has a sign on the wire, is refuted all the same. */
#include <math.h>

#include "analyze/claims_file.h"
#include "tests/unit/analyze/scene.h"

/* 59 gaps of 13.56 ms behind a wait of 100. */
static const struct act stream = {.t0 = 0,
                                  .head = 0.099,
                                  .first = 0.1,
                                  .last = 0.9,
                                  .end = 0.9001,
                                  .events = 60,
                                  .tokens = 60,
                                  .prompt = 30};

typedef void change_fn(struct audit *a);

/* So many requests of x, one after the other. */
static void add_all(struct audit *a, struct act x, size_t n)
{
    made_trace(a);
    for (size_t i = 0; i < n; i++) {
        struct act at = x;
        double later = 5.0 * (double)i;
        at.t0 += later;
        at.head += later;
        at.first += later;
        at.last += later;
        at.end += later;
        at.role += x.role > 0 ? later : 0;
        scene_add(a, at);
    }
}

static void verdict_is(const struct claim *c, enum verdict v)
{
    if (c->verdict != v)
        fail_msg("%s: %s, not %s: %s", c->text, verdict_name(c->verdict), verdict_name(v),
                 c->reason);
}

struct late {
    const char *text;
    enum verdict verdict;
    const char *cause; /* the first; NULL: none, or not looked at */
};

static void judge_all(struct act x, size_t n, change_fn *change, const struct late *all,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct audit a = {0};
        add_all(&a, x, n);
        if (change != NULL)
            change(&a);
        scene_figures(&a);
        const struct claim *c = scene_judge(&a, &audit_defaults, all[i].text);
        verdict_is(c, all[i].verdict);
        if (all[i].cause != NULL &&
            (c->causes.n == 0 || strcmp(c->causes.v[0].id, all[i].cause) != 0))
            fail_msg("%s: %s, not %s: %s", all[i].text,
                     c->causes.n > 0 ? c->causes.v[0].id : "no cause", all[i].cause, c->reason);
        audit_free(&a);
    }
}

#define JUDGE(x, n, change, all) judge_all(x, n, change, all, sizeof(all) / sizeof *(all))

/* A clock that started 15 ms early, or stamped the text so late, is in all that is made of it. */
static void what_a_late_stamp_is_in(void **state)
{
    (void)state;
    static const struct late all[] = {
        {"ttft.mean=115ms", VERDICT_NOT_MEASURABLE, NULL},
        {"ttft.mean=130ms", VERDICT_DIFFERS, NULL},
        {"ttft.mean=85ms", VERDICT_IMPOSSIBLE, NULL}, /* nobody stamps before it comes */
        {"latency.mean=915ms", VERDICT_NOT_MEASURABLE, NULL},
        /* 60/(0.9 + 0.015), and so is (N-1)/(o_M-t0): that is P18 by its number alone. */
        {"wall_tps.mean=65.57tok/s", VERDICT_NOT_MEASURABLE, NULL},
        {"wall_tps.mean=63.2tok/s", VERDICT_DIFFERS, NULL},
        {"wall_tps.mean=68.2tok/s", VERDICT_DIFFERS, NULL},
        {"ntpot.mean=15.25ms", VERDICT_NOT_MEASURABLE, NULL},
        {"ntpot.mean=15.9ms", VERDICT_DIFFERS, NULL},
        {"prompt_rate.mean=260.9tok/s", VERDICT_NOT_MEASURABLE, NULL},
        {"prompt_rate.mean=200tok/s", VERDICT_DIFFERS, NULL},
        /* Between reads it is one stamp against another: 59/(0.8 - 0.011). */
        {"rate.mean=74.78tok/s", VERDICT_NOT_MEASURABLE, NULL},
        {"tpot.mean=13.37ms", VERDICT_NOT_MEASURABLE, NULL},
        {"rate.mean=77.6tok/s", VERDICT_DIFFERS, NULL},
        {"tpot.mean=13.0ms", VERDICT_DIFFERS, NULL},
        /* … and what a formula gives to the digit is that formula. */
        {"rate.mean=75.00tok/s", VERDICT_DIFFERS, "P18"},
        {"tpot.mean=13.333ms", VERDICT_DIFFERS, NULL},
        /* Of eight requests one may be late by what all are allowed. */
        {"ttft.p90=170ms", VERDICT_NOT_MEASURABLE, NULL},
        {"ttft.p50=170ms", VERDICT_DIFFERS, NULL},
        {"ttft.p90=230ms", VERDICT_DIFFERS, NULL},
    };
    JUDGE(stream, 8, NULL, all);
    static const struct late one[] = {
        {"throughput=65.6tok/s", VERDICT_NOT_MEASURABLE, NULL},
        {"throughput=62tok/s", VERDICT_DIFFERS, NULL},
    };
    JUDGE(stream, 1, NULL, one);
}

/* A gap is longer by what its second stamp is late, and the next shorter: that is in the tail, and
 * in no median. */
static void late_gaps(void **state)
{
    (void)state;
    static const struct late all[] = {
        {"itl.p99=20ms", VERDICT_NOT_MEASURABLE, NULL},
        {"icl.p90=17ms", VERDICT_NOT_MEASURABLE, NULL},
        {"itl.p99=45ms", VERDICT_DIFFERS, NULL},
        {"itl.p99=7ms", VERDICT_DIFFERS, NULL},
        {"itl.p50=20ms", VERDICT_DIFFERS, NULL},
        {"icl.p50=20ms", VERDICT_DIFFERS, NULL},
    };
    JUDGE(stream, 8, NULL, all);
}

static void tail(struct audit *a)
{
    for (size_t i = 0; i < a->requests.n; i++)
        a->requests.v[i].z = a->requests.v[i].t_end = a->requests.v[i].t0 + 920000000;
}

/* Within the allowance, and there for all to see. */
static void signs_are_no_lateness(void **state)
{
    (void)state;
    static const struct late to_the_end[] = {
        {"wall_tps.mean=65.22tok/s", VERDICT_DIFFERS, "P31"}, /* 60/0.92 */
    };
    JUDGE(stream, 8, tail, to_the_end);
    struct act x = stream;
    x.role = 0.085;
    static const struct late from_the_role[] = {
        {"ttft.mean=85ms", VERDICT_DIFFERS, "P24"},
    };
    JUDGE(x, 8, NULL, from_the_role);
}

/* Each request opens a connection: four at a time, or one by one. */
static void open_together(struct audit *a)
{
    for (size_t i = 0; i < a->requests.n; i++) {
        struct request *r = &a->requests.v[i];
        int64_t shift = scene_ns(5.0 * (double)(i / 4) + 0.001 * (double)(i % 4)) - r->t0;
        r->t0 += shift, r->t0_end += shift, r->h += shift, r->head_end += shift;
        r->c1 += shift, r->z += shift, r->t_end += shift, r->done_ns += shift;
        for (size_t k = 0; k < r->out.n; k++)
            r->out.v[k].t_ns += shift;
        r->syn_ns = r->t0 - 200000;
    }
}

static void open_one_by_one(struct audit *a)
{
    for (size_t i = 0; i < a->requests.n; i++)
        a->requests.v[i].syn_ns = a->requests.v[i].t0 - 200000;
}

static void reuse_four(struct audit *a)
{
    open_together(a);
    for (size_t i = 0; i < a->requests.n; i++)
        a->requests.v[i].syn_ns = -1;
}

/* A client that opens several connections opens one after the other, and all clocks run. */
static void connections_are_opened_in_turn(void **state)
{
    (void)state;
    static const struct late together[] = {{"ttft.p50=150ms", VERDICT_NOT_MEASURABLE, NULL},
                                           {"ttft.p50=230ms", VERDICT_DIFFERS, NULL}};
    static const struct late apart[] = {{"ttft.p50=150ms", VERDICT_DIFFERS, NULL},
                                        {"ttft.p50=115ms", VERDICT_NOT_MEASURABLE, NULL}};
    JUDGE(stream, 8, open_together, together);
    JUDGE(stream, 8, open_one_by_one, apart);
    JUDGE(stream, 8, reuse_four, apart);
}

/* Each stamp is in two gaps and cancels out of their sum: a mean is known as well as its window. */
static void the_mean_of_gaps_is_their_window(void **state)
{
    (void)state;
    struct act x = stream;
    x.first = 0.1, x.last = 0.1 + 59 * 0.003, x.end = x.last + 0.0001;
    static const struct late all[] = {
        {"itl.mean=3.00ms", VERDICT_CONFIRMED, NULL}, {"icl.mean=3.00ms", VERDICT_CONFIRMED, NULL},
        {"icl.mean=3.9ms", VERDICT_DIFFERS, NULL},    {"itl.mean=3.9ms", VERDICT_DIFFERS, NULL},
        {"itl.mean=2.1ms", VERDICT_DIFFERS, NULL},    {"icl.p50=3.9ms", VERDICT_CONFIRMED, NULL},
    };
    JUDGE(x, 8, NULL, all);
}

/* The decode rate is withheld, and gaps with 3 waits among 60 have a gap at p90 as any list has:
 * that it is no longer proves no mistake. */
static void a_quantile_below_the_waits(void **state)
{
    (void)state;
    struct act x = stream;
    x.head = 2.49, x.first = 2.5, x.last = 2.595, x.end = 2.5951;
    x.events = 20, x.tokens = 20;
    static const struct late all[] = {
        {"tpot.mean=4.99ms", VERDICT_NOT_MEASURABLE, NULL},
        {"tpot.p90=5.00ms", VERDICT_NOT_MEASURABLE, NULL},
        {"itl.p90=5.0ms", VERDICT_NOT_MEASURABLE, NULL},
        {"tpot.max=5.01ms", VERDICT_NOT_MEASURABLE, NULL},
        {"itl.p99=2.5s", VERDICT_DIFFERS, "P32"},
        {"itl.max=2.5s", VERDICT_DIFFERS, "P32"},
    };
    JUDGE(x, 3, NULL, all);
}

/* A role that comes at once is where the request begins: that mistake is another one. */
static void the_role_that_comes_at_once(void **state)
{
    (void)state;
    struct act x = stream;
    x.role = 0.0002;
    static const struct late at_once[] = {
        {"output_tps_user.p50=65.2tok/s", VERDICT_DIFFERS, "P29"}, /* 60/0.92: from t0 to the end */
        {"itl.mean=15.0ms", VERDICT_DIFFERS, "P32"},
        {"itl.max=100.2ms", VERDICT_DIFFERS, "P32"},
    };
    JUDGE(x, 8, tail, at_once);
    x = stream;
    x.role = 0.02;
    static const struct late later[] = {
        {"output_tps_user.p50=68.18tok/s", VERDICT_DIFFERS, "P24"}, /* 60/(0.9 - 0.02) */
        {"itl.max=80ms", VERDICT_DIFFERS, "P24"},
    };
    JUDGE(x, 8, NULL, later);
}

/* A tail behind six of ten streams. */
static void tail_of_some(struct audit *a)
{
    for (size_t i = 0; i < a->requests.n; i++)
        a->requests.v[i].z = a->requests.v[i].t_end = a->requests.v[i].done_ns =
            a->requests.v[i].t0 + (i < 6 ? 904100000 : 900100000);
}

static void what_fits_all_to_the_digit_is_first(void **state)
{
    (void)state;
    static const struct late all[] = {
        {"output_tps_user.mean=75.00tok/s", VERDICT_DIFFERS, "P18"},
    };
    JUDGE(stream, 10, tail_of_some, all);
    static const struct late ends[] = {
        {"output_tps_user.mean=71.95tok/s", VERDICT_DIFFERS, "P31"}, /* 59/0.82 */
    };
    JUDGE(stream, 10, tail, ends);
}

/* A wait in the text: its gap is what the claim is of. */
static void the_nearest_definition_is_said(void **state)
{
    (void)state;
    struct audit a = {0};
    add_all(&a, stream, 8);
    scene_figures(&a);
    for (size_t i = 0; i < a.requests.n; i++)
        a.requests.v[i].out.v[30].t_ns += 10000000;
    const struct claim *c = scene_judge(&a, &audit_defaults, "itl.p99=60ms");
    verdict_is(c, VERDICT_DIFFERS);
    assert_non_null(strstr(c->recomputed_as, "icl (p99"));
    audit_free(&a);
}

/* --- counts ----------------------------------------------------------------------------------- */

static enum verdict judge_tool(struct act x, const char *tool, const char *metric,
                               const char *value)
{
    struct audit a = {0};
    struct claim_files fs = {.rows = 0};
    struct err e = {0};
    char text[256];
    add_all(&a, x, 1);
    scene_figures(&a);
    snprintf(text, sizeof text, "{\"metric\":\"%s\",\"value\":\"%s\",\"tool\":\"%s\"}", metric,
             value, tool);
    if (claims_file_take(&fs, &a, "f", slice_of(text), NULL, &e) != TA_OK)
        fail_msg("%s", e.msg);
    claim_files_bind(&fs, &a, &audit_defaults);
    claims_judge(&a, &audit_defaults);
    enum verdict v = a.claims.v[0].verdict;
    claim_files_free(&fs);
    audit_free(&a);
    return v;
}

/* What its own tokenizer makes of the text is no mistake that happens to give the same. */
static void a_tools_own_tokens(void **state)
{
    (void)state;
    struct act x = stream;
    x.head = 0.06; /* P30: N/(o_M-h) is 71.4 */
    assert_int_equal(judge_tool(x, "aiperf", "output_tps_user", "71.4tok/s"),
                     VERDICT_NOT_MEASURABLE);
    assert_int_equal(judge_tool(x, "vllm", "output_tps_user", "71.4tok/s"), VERDICT_DIFFERS);
    assert_int_equal(judge_tool(x, "aiperf", "output_tps_user", "20tok/s"), VERDICT_DIFFERS);
    x = stream; /* an answer of 3 tokens, the end mark among them: 2 have one gap */
    x.last = 0.14, x.end = 0.1401, x.events = 3, x.tokens = 3;
    assert_int_equal(judge_tool(x, "inference-perf", "tpot", "0.04s"), VERDICT_NOT_MEASURABLE);
    assert_int_equal(judge_tool(x, "inference-perf", "tpot", "0.4s"), VERDICT_DIFFERS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_late_stamp_is_in),
        cmocka_unit_test(late_gaps),
        cmocka_unit_test(signs_are_no_lateness),
        cmocka_unit_test(connections_are_opened_in_turn),
        cmocka_unit_test(the_mean_of_gaps_is_their_window),
        cmocka_unit_test(a_quantile_below_the_waits),
        cmocka_unit_test(the_role_that_comes_at_once),
        cmocka_unit_test(what_fits_all_to_the_digit_is_first),
        cmocka_unit_test(the_nearest_definition_is_said),
        cmocka_unit_test(a_tools_own_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
