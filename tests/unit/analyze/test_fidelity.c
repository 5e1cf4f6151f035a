/* Fidelity of loads whose ledger and packets were chosen: every figure is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "analyze/fidelity.h"
#include "tests/unit/analyze/synthetic.h"

#define US (INT64_C(1000))

/* A request of some events that was sent at t0, and its entry. */
static struct ledger_entry *sent(struct audit *a, int64_t t0_ms, uint16_t port, uint32_t nth)
{
    made_request(a, (struct made){t0_ms, t0_ms + 100, 20, 10, 10, "cafe", port, nth});
    made_entry(a, (struct ledger_entry){.workload = "w",
                                        .name = "r",
                                        .group = -1,
                                        .sent_ns = t0_ms,
                                        .local_port = port,
                                        .nth = nth,
                                        .status = 200,
                                        .outcome = "complete",
                                        .body_sha256 = "cafe",
                                        .conn_planned = -1});
    struct trace_info *t = &a->traces.v[a->traces.n - 1];
    return &t->ledger.v[t->ledger.n - 1];
}

static const struct fidelity *found(struct audit *a)
{
    made_figures(a, &audit_defaults);
    fidelity_find(a);
    assert_int_equal(a->fidelity.n, 1);
    return &a->fidelity.v[0];
}

/* Request i of 100 is due at 10 i ms and leaves i us later: 1 us in 10 ms of drift. */
static void send_errors_against_due_times(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 100; i++) {
        struct ledger_entry *l = sent(&a, 10 * i, (uint16_t)(1000 + i), 0);
        l->due_ns = EPOCH_NS + 10 * i * MS;
        a.requests.v[i].t0 = l->sent_ns = l->due_ns + i * US;
    }
    const struct fidelity *f = found(&a);
    assert_int_equal(f->entries, 100);
    assert_int_equal(f->found, 100);
    assert_int_equal(f->basis, FIDELITY_DUE);
    assert_int_equal(f->send_error.n, 100);
    assert_int_equal(f->send_error.p50, 49 * US);
    assert_int_equal(f->send_error.p99, 98 * US);
    assert_int_equal(f->send_error.max, 99 * US);
    assert_true(fabs(f->drift - 1e-4) < 1e-12);
    assert_int_equal(f->bodies_same, 100);
    /* each from 10 i to 10 i + 280 ms: 28 at once; e2el 280 ms less what it left late */
    assert_int_equal(f->now.peak, 28);
    assert_int_equal(f->effective.p50, 280 * MS);
    assert_int_equal(f->effective.max, 280 * MS);
    assert_int_equal(f->e2el.max, 280 * MS);
    assert_int_equal(f->e2el.p50, 280 * MS - 50 * US);
    assert_true(a.requests.v[99].metrics[M_EFFECTIVE_LATENCY].v == 0.280);
    audit_free(&a);
}

/* Without due times they are held against the recording, first requests aligned. */
static void against_the_recording(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    const int64_t starts[] = {0, 310, 640}, recorded[] = {7000, 7300, 7600};
    for (int i = 0; i < 3; i++) {
        struct ledger_entry *l = sent(&a, starts[i], 1000, (uint32_t)i);
        l->conn_planned = 4;
        l->has_recorded = true;
        l->recorded = (struct ledger_recorded){
            .conn = 4,
            .t_ns = recorded[i] * MS,
            .end_ns = (recorded[i] + 300) * MS,
            .status = i == 2 ? 503 : 200,
            .input_units = 50,
            .output_units = i == 1 ? 11 : 10,
        };
        a.requests.v[i].conn = i == 2 ? 9 : 1;
        a.requests.v[i].usage.prompt = 50;
    }
    a.requests.v[0].body_sha256 = "beef";
    const struct fidelity *f = found(&a);
    assert_int_equal(f->basis, FIDELITY_RECORDED);
    assert_int_equal(f->points.v[0].error_ns, 0);
    assert_int_equal(f->points.v[1].error_ns, 10 * MS);
    assert_int_equal(f->points.v[2].error_ns, 40 * MS);
    assert_true(isnan(f->drift));
    assert_int_equal(f->bodies_same, 2);
    assert_int_equal(f->bodies_differ, 1);
    assert_int_equal(f->statuses_same, 2);
    assert_int_equal(f->statuses_differ, 1);
    assert_int_equal(f->connections, 2);
    assert_int_equal(f->connections_recorded, 1);
    assert_int_equal(f->follow_ups, 2);
    assert_int_equal(f->kept, 1);
    assert_int_equal(f->counted, 3);
    assert_int_equal(f->counts_differ, 1);
    assert_int_equal(f->output, 30);
    assert_int_equal(f->output_recorded, 31);
    /* 280 ms each, from 0 to 920 ms; in the recording 300 ms each without a pause */
    assert_true(fabs(f->now.average - 840 / 920.0) < 1e-9);
    assert_true(fabs(f->recorded.average - 1) < 1e-9);
    assert_int_equal(f->recorded.peak, 1);
    assert_int_equal(f->effective.n, 0);
    assert_int_equal(a.requests.v[0].metrics[M_EFFECTIVE_LATENCY].grade, GRADE_NOT_MEASURABLE);
    audit_free(&a);
}

static void groups_have_a_skew(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 6; i++)
        sent(&a, 1000 * (i / 2), (uint16_t)(1000 + i), 0)->group = i < 4 ? i / 2 : -1;
    a.requests.v[1].t0 += 30 * US;
    a.requests.v[3].t0 += 50 * US;
    const struct fidelity *f = found(&a);
    assert_int_equal(f->release_skew.n, 2);
    assert_int_equal(f->release_skew.p50, 30 * US);
    assert_int_equal(f->release_skew.max, 50 * US);
    assert_int_equal(f->basis, FIDELITY_UNTIMED);
    assert_int_equal(f->points.n, 0);
    audit_free(&a);
}

/* Request i of a recording, 400 ms long every 250 ms, sent now every 25 ms: 280 ms each. */
static struct ledger_entry *recorded(struct audit *a, int i, int64_t repeat, int64_t at_ms)
{
    struct ledger_entry *l = sent(a, at_ms, (uint16_t)(1000 + a->requests.n), 0);
    l->repeat = repeat;
    l->due_ns = EPOCH_NS + at_ms * MS;
    l->conn_planned = i % 3;
    l->has_recorded = true;
    l->recorded = (struct ledger_recorded){i % 3, 250 * i * MS, (250 * i + 400) * MS, 200, -1, -1};
    return l;
}

/* The recording was of a workload with repeats: they are all of it, and none is a time round. */
static void repeats_of_the_recording(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 8; i++) {
        recorded(&a, i, i / 2, 25 * i);
        a.requests.v[i].conn = (uint64_t)(i % 3);
    }
    const struct fidelity *f = found(&a);
    /* from 0 to 7 * 25 + 280 ms; then from 0 to 7 * 250 + 400 ms */
    assert_int_equal(f->now.peak, 8);
    assert_true(fabs(f->now.average - 8 * 280 / 455.0) < 1e-9);
    assert_int_equal(f->recorded.peak, 2);
    assert_true(fabs(f->recorded.average - 8 * 400 / 2150.0) < 1e-9);
    assert_int_equal(f->follow_ups, 5); /* of which some are of another repeat */
    assert_int_equal(f->kept, 5);
    assert_int_equal(f->connections, 3);
    assert_int_equal(f->connections_recorded, 3);
    audit_free(&a);
}

/* Where requests wait for each other, they are held against all of it as well. */
static void repeats_are_held_against_one_recording(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 4; i++)
        recorded(&a, i, i, 300 * i)->due_ns = -1;
    const struct fidelity *f = found(&a);
    assert_int_equal(f->basis, FIDELITY_RECORDED);
    for (int i = 0; i < 4; i++)
        assert_int_equal(f->points.v[i].error_ns, 50 * i * MS);
    audit_free(&a);
}

/* The same recording, of two repeats of two requests, driven twice: repeats 0 and 1, then 2 and 3.
 * The second round begins when the first is over, or while it runs. */
static void times_round(void **state)
{
    (void)state;
    for (int overlap = 0; overlap < 2; overlap++) {
        struct audit a = {0};
        made_trace(&a);
        for (int round = 0; round < 2; round++) {
            for (int i = 0; i < 4; i++) {
                int at = round * (overlap ? 100 : 1000) + 25 * i;
                recorded(&a, i, 2 * round + i / 2, at)->conn_planned += 3 * round;
                a.requests.v[a.requests.n - 1].conn = (uint64_t)(3 * round + i % 3);
            }
        }
        const struct fidelity *f = found(&a);
        assert_int_equal(f->now.peak, overlap ? 8 : 4);
        double expected = overlap ? 8 * 280 / 455.0 : 4 * 280 / 355.0;
        assert_true(fabs(f->now.average - expected) < 1e-9);
        assert_int_equal(f->recorded.peak, 2);
        assert_true(fabs(f->recorded.average - 4 * 400 / 1150.0) < 1e-9);
        assert_int_equal(f->connections, overlap ? 6 : 3);
        assert_int_equal(f->connections_recorded, 3);
        assert_int_equal(f->follow_ups, 2);
        audit_free(&a);
    }
}

/* Each round's first request is the one that its others are held against. */
static void rounds_are_aligned_by_themselves(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++)
            recorded(&a, i, round, 5000 * round + 260 * i)->due_ns = -1;
    }
    const struct fidelity *f = found(&a);
    assert_int_equal(f->points.n, 6);
    for (int i = 0; i < 6; i++)
        assert_int_equal(f->points.v[i].error_ns, 10 * (i % 3) * MS);
    audit_free(&a);
}

/* What was never sent is named by its outcome, and was under way in the recording all the same. */
static void never_sent(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    static const char *const outcomes[] = {"refused", "no-descriptor", "no-descriptor", "complete"};
    recorded(&a, 0, 0, 0);
    for (int i = 1; i < 5; i++) {
        struct ledger_entry l = *recorded(&a, i, 0, 25 * i);
        VEC_FREE(&a.requests.v[1].out);
        a.requests.n = 1;
        l.outcome = outcomes[i - 1];
        l.local_port = i < 4 ? 0 : 7; /* the last was sent, and the trace has not seen it */
        a.traces.v[0].ledger.v[i] = l;
    }
    const struct fidelity *f = found(&a);
    assert_int_equal(f->entries, 5);
    assert_int_equal(f->found, 1);
    assert_int_equal(f->unseen.n, 3);
    assert_string_equal(f->unseen.v[0].outcome, "no-descriptor");
    assert_true(f->unseen.v[0].n == 2 && !f->unseen.v[0].sent);
    assert_string_equal(f->unseen.v[1].outcome, "refused");
    assert_true(f->unseen.v[1].n == 1 && !f->unseen.v[1].sent);
    assert_string_equal(f->unseen.v[2].outcome, "complete");
    assert_true(f->unseen.v[2].n == 1 && f->unseen.v[2].sent);
    assert_int_equal(f->now.peak, 1);
    assert_int_equal(f->recorded.peak, 2);
    audit_free(&a);
}

/* What is not on the wire, or ran while the clock was set, is counted in nothing. */
static void unseen_and_untrustworthy_are_left_out(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 3; i++)
        sent(&a, 10 * i, (uint16_t)(1000 + i), 0)->due_ns = EPOCH_NS + 10 * i * MS;
    a.traces.v[0].ledger.v[1].local_port = 7;
    a.requests.v[2].clock_stepped = true;
    const struct fidelity *f = found(&a);
    assert_int_equal(f->entries, 3);
    assert_int_equal(f->found, 2);
    assert_int_equal(f->send_error.n, 1);
    audit_free(&a);
}

static void no_ledger_no_fidelity(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    made_request(&a, (struct made){0, 100, 20, 10, 10, NULL, 1000, 0});
    made_figures(&a, &audit_defaults);
    fidelity_find(&a);
    assert_int_equal(a.fidelity.n, 0);
    assert_null(fidelity_of(&a, 0));
    audit_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(send_errors_against_due_times),
        cmocka_unit_test(against_the_recording),
        cmocka_unit_test(groups_have_a_skew),
        cmocka_unit_test(repeats_of_the_recording),
        cmocka_unit_test(repeats_are_held_against_one_recording),
        cmocka_unit_test(times_round),
        cmocka_unit_test(rounds_are_aligned_by_themselves),
        cmocka_unit_test(never_sent),
        cmocka_unit_test(unseen_and_untrustworthy_are_left_out),
        cmocka_unit_test(no_ledger_no_fidelity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
