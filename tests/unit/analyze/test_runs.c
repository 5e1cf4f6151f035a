/* Runs, groups and the ledger join on requests whose belonging is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/analyze/synthetic.h"

static struct made sent(int64_t t0, int64_t until, uint16_t port, uint32_t nth)
{
    return (struct made){
        .t0 = t0, .first = until, .step = 1, .events = 1, .tokens = 10, .port = port, .nth = nth};
}

static struct ledger_entry entry(const char *name, int64_t repeat, int64_t group, int64_t at,
                                 int64_t port, int64_t nth)
{
    return (struct ledger_entry){.workload = "w",
                                 .name = name,
                                 .repeat = repeat,
                                 .group = group,
                                 .sent_ns = at,
                                 .local_port = port,
                                 .nth = nth};
}

static void ledger_is_joined_by_port_and_place(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    made_request(&a, sent(0, 10, 4000, 0));
    made_request(&a, sent(20, 30, 4000, 1));
    made_request(&a, sent(5000, 5010, 4000, 0)); /* the port came round again */
    made_entry(&a, entry("late", 1, -1, 4999, 4000, 0));
    made_entry(&a, entry("second", 0, -1, 19, 4000, 1));
    made_entry(&a, entry("first", 0, -1, 1, 4000, 0));
    made_entry(&a, entry("never connected", 0, -1, 2, 0, 0));
    runs_find(&a, &audit_defaults);
    assert_string_equal(a.requests.v[0].name, "first");
    assert_string_equal(a.requests.v[1].name, "second");
    assert_string_equal(a.requests.v[2].name, "late");
    assert_int_equal(a.runs.n, 2);
    assert_int_equal(a.runs.v[0].repeat, 0);
    assert_int_equal(a.runs.v[0].requests.n, 2);
    assert_int_equal(a.runs.v[1].requests.v[0], 2);
    assert_false(a.runs.v[0].inferred);
    assert_string_equal(a.runs.v[0].workload, "w");
    audit_free(&a);
}

static void other_ports_are_joined_by_order_if_the_numbers_agree(void **state)
{
    (void)state;
    for (int missing = 0; missing < 2; missing++) {
        struct audit a = {0};
        made_trace(&a);
        made_request(&a, sent(0, 10, 1, 0));
        made_request(&a, sent(20, 30, 2, 0));
        made_entry(&a, entry("b", 0, -1, 20, 9002, 0));
        if (!missing)
            made_entry(&a, entry("a", 0, -1, 0, 9001, 0));
        runs_find(&a, &audit_defaults);
        if (missing) {
            assert_null(a.requests.v[0].ledger);
            assert_null(a.requests.v[1].ledger);
            assert_true(a.runs.v[0].inferred);
        } else {
            assert_string_equal(a.requests.v[0].name, "a");
            assert_string_equal(a.requests.v[1].name, "b");
        }
        audit_free(&a);
    }
}

static void warm_up_is_left_out(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    made_request(&a, sent(0, 10, 1, 0));
    made_request(&a, sent(20, 30, 2, 0));
    struct ledger_entry warm = entry("w", 0, -1, 0, 1, 0);
    warm.warmup = 1;
    made_entry(&a, warm);
    made_entry(&a, entry("a", 0, -1, 20, 2, 0));
    runs_find(&a, &audit_defaults);
    assert_int_equal(a.runs.n, 1);
    assert_int_equal(a.runs.v[0].requests.n, 1);
    assert_int_equal(a.runs.v[0].requests.v[0], 1);
    assert_true(a.requests.v[0].warmup);
    assert_int_equal(a.requests.v[0].run, 0);
    audit_free(&a);
}

/* Four repeats of 100 ms, one every 60 ms or every 96 ms, a little late; warm-up of the same
 * numbers before. */
static void repeats_that_overlap_are_one_run(void **state)
{
    (void)state;
    for (int overlap = 0; overlap < 2; overlap++) {
        struct audit a = {0};
        made_trace(&a);
        for (int i = 0; i < 2; i++) {
            made_request(&a, sent(200 * i, 200 * i + 100, (uint16_t)(i + 1), 0));
            struct ledger_entry warm = entry("r", i, -1, 200 * i, i + 1, 0);
            warm.warmup = 1;
            made_entry(&a, warm);
        }
        for (int i = 0; i < 4; i++) {
            int at = 500 + i * (overlap ? 60 : 96);
            made_request(&a, sent(at, at + 100, (uint16_t)(10 + i), 0));
            made_entry(&a, entry("r", i, -1, at, 10 + i, 0));
        }
        runs_find(&a, &audit_defaults);
        assert_int_equal(a.runs.n, overlap ? 1 : 4);
        assert_int_equal(a.runs.v[0].requests.n, overlap ? 4 : 1);
        assert_int_equal(a.runs.v[0].repeats, overlap ? 4 : 1);
        assert_int_equal(a.runs.v[0].repeat, overlap ? -1 : 0);
        assert_int_equal(a.runs.v[0].t_ns, EPOCH_NS);
        for (size_t i = 0; i < 6; i++)
            assert_int_equal(a.requests.v[i].run, overlap ? 0 : i < 2 ? i : i - 2);
        audit_free(&a);
    }
}

/* Two long repeats at once, then two one after the other; another workload runs beside all. */
static void only_those_that_overlap_are_joined(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    static const struct {
        int at, until, repeat;
    } all[] = {{0, 100, 0}, {50, 200, 1}, {150, 250, 2}, {300, 400, 3}, {400, 500, 4}};
    made_request(&a, sent(-10, 600, 99, 0));
    struct ledger_entry beside = entry("b", 0, -1, -10, 99, 0);
    beside.workload = "beside";
    made_entry(&a, beside);
    for (int i = 0; i < 5; i++) {
        made_request(&a, sent(all[i].at, all[i].until, (uint16_t)(1 + i), 0));
        made_entry(&a, entry("r", all[i].repeat, -1, all[i].at, 1 + i, 0));
    }
    runs_find(&a, &audit_defaults);
    assert_int_equal(a.runs.n, 4);
    assert_string_equal(a.runs.v[0].workload, "beside");
    static const size_t runs[] = {0, 1, 1, 1, 2, 3};
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(a.requests.v[i].run, runs[i]);
    assert_int_equal(a.runs.v[1].repeats, 3);
    assert_int_equal(a.runs.v[1].end_ns, EPOCH_NS + 250 * MS);
    assert_int_equal(a.runs.v[3].repeat, 4);
    audit_free(&a);
}

static void unseen_entries_are_listed(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    made_request(&a, sent(0, 10, 1, 0));
    made_entry(&a, entry("refused", 0, -1, 0, 0, 0));
    made_entry(&a, entry("a", 0, -1, 0, 1, 0));
    made_entry(&a, entry("lost", 0, -1, 0, 2, 0));
    runs_find(&a, &audit_defaults);
    assert_int_equal(a.traces.v[0].unseen.n, 2);
    assert_string_equal(a.traces.v[0].unseen.v[0]->name, "refused");
    assert_string_equal(a.traces.v[0].unseen.v[1]->name, "lost");
    audit_free(&a);
}

static void groups_come_from_the_ledger(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    static const int64_t groups[] = {7, 9, 7, 9, 8, -1};
    for (uint16_t i = 0; i < 6; i++) {
        made_request(&a, sent(i * 1000, i * 1000 + 10, (uint16_t)(i + 1), 0));
        made_entry(&a, entry("x", 0, groups[i], i * 1000, i + 1, 0));
    }
    runs_find(&a, &audit_defaults);
    static const int64_t expected[] = {0, 1, 0, 1, -1, -1}; /* 8 has one member: no group */
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(a.requests.v[i].group, expected[i]);
    audit_free(&a);
}

static void groups_without_ledger(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    made_request(&a, sent(0, 500, 1, 0));
    made_request(&a, sent(50, 500, 2, 0));    /* 50 ms later: still with it */
    made_request(&a, sent(51, 600, 3, 0));    /* starts the next group … */
    made_request(&a, sent(101, 600, 4, 0));   /* … with this one */
    made_request(&a, sent(1000, 1010, 5, 0)); /* over before the next is sent */
    made_request(&a, sent(1020, 1030, 6, 0));
    made_request(&a, sent(2000, 2010, 7, 0));
    runs_find(&a, &audit_defaults);
    static const int64_t expected[] = {0, 0, 1, 1, -1, -1, -1};
    static const bool alone[] = {false, false, false, false, true, true, true};
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(a.requests.v[i].group, expected[i]);
        assert_int_equal(a.requests.v[i].alone, alone[i]);
    }
    audit_free(&a);
}

/* One long request covers short ones that never meet each other. */
static void company_of_a_long_request(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    made_request(&a, sent(0, 1000, 1, 0));
    made_request(&a, sent(100, 200, 2, 0));
    made_request(&a, sent(300, 400, 3, 0));
    made_request(&a, sent(1000, 1100, 4, 0)); /* sent at the instant the first ended */
    runs_find(&a, &audit_defaults);
    assert_false(a.requests.v[0].alone);
    assert_false(a.requests.v[1].alone);
    assert_false(a.requests.v[2].alone);
    assert_true(a.requests.v[3].alone);
    audit_free(&a);
}

static void silences_split_only_when_asked(void **state)
{
    (void)state;
    for (int split = 0; split < 2; split++) {
        struct audit_options o = audit_defaults;
        o.run_gap_ns = split ? 2000 * MS : 0;
        struct audit a = {0};
        made_trace(&a);
        made_request(&a, sent(0, 100, 1, 0));
        made_request(&a, sent(2100, 2200, 2, 0)); /* 2 s of silence: not more */
        made_request(&a, sent(4201, 4300, 3, 0));
        runs_find(&a, &o);
        assert_int_equal(a.runs.n, split ? 2 : 1);
        assert_int_equal(a.runs.v[0].requests.n, split ? 2 : 3);
        assert_int_equal(a.runs.v[0].t_ns, EPOCH_NS);
        assert_int_equal(a.runs.v[0].end_ns, EPOCH_NS + (split ? 2200 : 4300) * MS);
        audit_free(&a);
    }
}

static void traces_have_runs_of_their_own(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    made_request(&a, sent(0, 100, 1, 0));
    made_trace(&a);
    made_request(&a, sent(0, 100, 1, 0));
    size_t other = made_request(&a, sent(200, 300, 2, 0));
    a.requests.v[other].dialect = NULL;
    a.requests.v[other].outcome = OUTCOME_NOT_LLM;
    runs_find(&a, &audit_defaults);
    assert_int_equal(a.runs.n, 2);
    assert_int_equal(a.runs.v[0].id, 1);
    assert_int_equal(a.runs.v[1].id, 2);
    assert_int_equal(a.runs.v[1].trace, 1);
    assert_int_equal(a.runs.v[1].requests.n, 1);
    assert_true(a.requests.v[other].run == RUN_NONE);
    audit_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ledger_is_joined_by_port_and_place),
        cmocka_unit_test(other_ports_are_joined_by_order_if_the_numbers_agree),
        cmocka_unit_test(warm_up_is_left_out),
        cmocka_unit_test(repeats_that_overlap_are_one_run),
        cmocka_unit_test(only_those_that_overlap_are_joined),
        cmocka_unit_test(unseen_entries_are_listed),
        cmocka_unit_test(groups_come_from_the_ledger),
        cmocka_unit_test(groups_without_ledger),
        cmocka_unit_test(company_of_a_long_request),
        cmocka_unit_test(silences_split_only_when_asked),
        cmocka_unit_test(traces_have_runs_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
