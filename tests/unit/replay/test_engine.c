/* The simulated model against its own rules, in virtual time: exact, whoever looks when. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "replay/engine.h"

enum { MS = 1000000, START = 1000 * MS };

static struct profile profile_of(double prefill, double decode, int64_t batch, double slowdown)
{
    return (struct profile){
        .prefill_tps = prefill, .decode_tps = decode, .max_batch = batch, .slowdown = slowdown};
}

static struct engine_token next(struct engine *en)
{
    struct engine_token t = {0};
    assert_false(engine_step(en, engine_due(en) - 1, &t));
    assert_true(engine_step(en, engine_due(en), &t));
    return t;
}

static void test_one_request(void **state)
{
    (void)state;
    struct profile p = profile_of(1000, 100, 4, 0.5);
    struct engine en;
    struct engine_job job = {.prompt_tokens = 20, .output_tokens = 5};
    engine_init(&en, &p, 1);
    assert_int_equal(engine_due(&en), -1);
    engine_submit(&en, &job, START);
    for (int i = 0; i < 5; i++) {
        struct engine_token t = next(&en);
        assert_ptr_equal(t.job, &job);
        assert_int_equal(t.index, i);
        assert_int_equal(t.due_ns, START + 20 * MS + i * 10 * MS);
        assert_int_equal(t.last, i == 4);
    }
    assert_int_equal(engine_due(&en), -1);
}

/* 60 tok/s is no whole number of ns a step: after a million tokens it is still exact. */
static void test_no_drift(void **state)
{
    (void)state;
    struct profile p = profile_of(1000, 60, 1, 0);
    struct engine en;
    struct engine_job job = {.prompt_tokens = 1, .output_tokens = 1000001};
    struct engine_token t = {0};
    engine_init(&en, &p, 1);
    engine_submit(&en, &job, 0);
    while (engine_step(&en, INT64_MAX, &t))
        assert_int_equal(t.last, t.index == 1000000);
    int64_t expected = 1 * MS + (int64_t)(1000000.0 * 1e9 / 60);
    assert_true(llabs(t.due_ns - expected) < 1000);
}

/* Looked at late or early, in one go or token by token: the same due times. */
static void test_late_looks(void **state)
{
    (void)state;
    struct profile p = profile_of(100, 200, 2, 0.1);
    int64_t due[2][60];
    for (int late = 0; late < 2; late++) {
        struct engine en;
        struct engine_job jobs[3] = {{.prompt_tokens = 3, .output_tokens = 30},
                                     {.prompt_tokens = 9, .output_tokens = 10},
                                     {.prompt_tokens = 1, .output_tokens = 20}};
        struct engine_token t;
        int n = 0;
        engine_init(&en, &p, 1);
        for (int i = 0; i < 3; i++)
            engine_submit(&en, &jobs[i], START);
        for (int64_t now = START; engine_due(&en) >= 0; now += late ? 977 * MS : MS / 4) {
            while (engine_step(&en, now, &t))
                due[late][n++] = t.due_ns;
        }
        assert_int_equal(n, 60);
    }
    assert_memory_equal(due[0], due[1], sizeof due[0]);
}

static void test_serial(void **state)
{
    (void)state;
    struct profile p = profile_of(1000, 100, 1, 0.02);
    struct engine en;
    struct engine_job a = {.prompt_tokens = 10, .output_tokens = 3}, b = a;
    engine_init(&en, &p, 1);
    engine_submit(&en, &a, START);
    engine_submit(&en, &b, START + 1 * MS);
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(next(&en).job, &a);
    /* b starts when a ends, at START + 30 ms */
    for (int i = 0; i < 3; i++) {
        struct engine_token t = next(&en);
        assert_ptr_equal(t.job, &b);
        assert_int_equal(t.due_ns, START + 30 * MS + 10 * MS + i * 10 * MS);
    }
}

/* Two that run together: all that they do takes 2 % longer, and both go on at nearly their own
 * rate. */
static void test_continuous(void **state)
{
    (void)state;
    struct profile p = profile_of(1000, 100, 8, 0.02);
    struct engine en;
    struct engine_job a = {.prompt_tokens = 10, .output_tokens = 101}, b = a;
    struct engine_token t, last_a = {0}, last_b = {0};
    engine_init(&en, &p, 1);
    engine_submit(&en, &a, START);
    engine_submit(&en, &b, START);
    while (engine_step(&en, INT64_MAX, &t))
        *(t.job == &a ? &last_a : &last_b) = t;
    assert_int_equal(last_a.due_ns, START + 10200000 + 100 * 10200000);
    /* when a has left, b makes its last step alone */
    assert_int_equal(last_b.due_ns, START + 10200000 + 100 * 10200000);
    assert_true(last_a.last && last_b.last);
}

/* What n requests released together get, over what one gets alone: as `speedup` is defined. */
static double speedup_of(const struct profile *p, size_t n)
{
    double rates[2];
    for (size_t together = 0; together < 2; together++) {
        struct engine en;
        struct engine_job jobs[8];
        struct engine_token t = {0};
        size_t count = together ? n : 1;
        engine_init(&en, p, 1);
        for (size_t i = 0; i < count; i++) {
            jobs[i] = (struct engine_job){.prompt_tokens = 500, .output_tokens = 256};
            engine_submit(&en, &jobs[i], START);
        }
        while (engine_step(&en, INT64_MAX, &t)) {
        }
        rates[together] = (double)count * 256 * 1e9 / (double)(t.due_ns - START);
    }
    return rates[1] / rates[0];
}

static void expect_speedup(const struct profile *p, size_t n, double expected)
{
    double found = speedup_of(p, n);
    if (!(found > expected - 0.0005 && found < expected + 0.0005))
        fail_msg("slowdown %g, %lld workers, %zu together: %.4f, expected %.4f", p->slowdown,
                 (long long)p->workers, n, found, expected);
}

static void test_speedup(void **state)
{
    (void)state;
    struct profile p = profile_of(2000, 60, 256, 0);
    expect_speedup(&p, 2, 2);
    p.slowdown = -0.07834;
    expect_speedup(&p, 2, 2.17);
    expect_speedup(&p, 4, 4 / 0.92166); /* the gain is had once */
    p.slowdown = 1.352941;
    expect_speedup(&p, 2, 0.85);
    p.workers = 2;
    expect_speedup(&p, 2, 2); /* they do not meet */
    expect_speedup(&p, 4, 4 / 2.352941);
    p.max_batch = 1;
    expect_speedup(&p, 4, 2); /* two queues */
    p.workers = 1;
    expect_speedup(&p, 2, 1);
    expect_speedup(&p, 3, 1);
}

/* Who comes later slows down what is left, no more. */
static void test_joins_and_leaves(void **state)
{
    (void)state;
    struct profile p = profile_of(1000, 100, 8, 1);
    struct engine en;
    struct engine_job a = {.prompt_tokens = 1, .output_tokens = 11};
    struct engine_job b = {.prompt_tokens = 10, .output_tokens = 2};
    engine_init(&en, &p, 1);
    engine_submit(&en, &a, START);
    assert_int_equal(next(&en).due_ns, START + 1 * MS);
    engine_submit(&en, &b, START + 6 * MS); /* in the middle of a step: its second half doubles */
    assert_int_equal(next(&en).due_ns, START + 16 * MS);
    struct engine_token t = next(&en);
    assert_ptr_equal(t.job, &b); /* 10 ms of prompt took 20 */
    assert_int_equal(t.due_ns, START + 26 * MS);
    assert_int_equal(next(&en).due_ns, START + 36 * MS);
    t = next(&en);
    assert_ptr_equal(t.job, &b);
    assert_true(t.last && t.due_ns == START + 46 * MS);
    assert_int_equal(next(&en).due_ns,
                     START + 51 * MS); /* half of a's step was done: alone again */
    assert_int_equal(next(&en).due_ns, START + 61 * MS);
}

static void test_stalls(void **state)
{
    (void)state;
    struct profile p = profile_of(1e9, 100, 1, 0);
    struct engine en;
    struct engine_job a = {.prompt_tokens = 1, .output_tokens = 400};
    int64_t due[400];
    p.stall_every_ns = 1000 * (int64_t)MS;
    p.stall_for_ns = 2000 * (int64_t)MS;
    p.stall_tps = 5;
    engine_init(&en, &p, 1);
    engine_submit(&en, &a, START);
    for (int i = 0; i < 400; i++)
        due[i] = next(&en).due_ns - START;
    for (int i = 1; i < 100; i++) /* 1 ns of prompt */
        assert_true(llabs(due[i] - 10 * (int64_t)MS * i) <= 2);
    /* 100 tokens in the first second, then 10 in two, and the cycle begins again */
    for (int i = 101; i <= 109; i++)
        assert_true(llabs(due[i] - due[i - 1] - 200 * MS) <= 50);
    assert_true(llabs(due[210] - due[100] - 3000 * (int64_t)MS) <= 50);
    assert_true(llabs(due[220] - due[110] - 3000 * (int64_t)MS) <= 50);
    assert_true(llabs(due[150] - due[149] - 10 * MS) <= 2);

    /* the cycle is shortened, the paces are not */
    engine_init(&en, &p, 0.1);
    a.made = 0;
    engine_submit(&en, &a, START);
    for (int i = 0; i < 30; i++)
        due[i] = next(&en).due_ns - START;
    assert_true(llabs(due[9] - due[8] - 10 * MS) <= 2);
    assert_true(llabs(due[21] - due[10] - 300 * MS) <= 200 * MS);
    assert_true(llabs(due[22] - due[11] - 300 * (int64_t)MS) <= 50);
}

/* 52,000 tokens in 31 minutes, where the pace of short prompts has 2.5. */
static void test_quadratic_prefill(void **state)
{
    (void)state;
    struct profile p = profile_of(346.667, 60, 1, 0);
    static const struct {
        int64_t tokens;
        double scale, expected_s;
    } cases[] = {
        {52000, 1, 1860},
        {100, 1, 0.2948},
        {52000, 0.001, 1.86},
        {104000, 1, 7140},
    };
    p.prefill_quadratic_ns = 632.4;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct engine en;
        struct engine_job a = {.prompt_tokens = cases[i].tokens, .output_tokens = 1};
        engine_init(&en, &p, cases[i].scale);
        engine_submit(&en, &a, START);
        double found_s = (double)(engine_due(&en) - START) / 1e9;
        assert_true(found_s > 0.999 * cases[i].expected_s && found_s < 1.001 * cases[i].expected_s);
        for (int tenth = 0; tenth <= 10; tenth++) { /* time over n and n * n is what it takes */
            int64_t at = START + (engine_due(&en) - START) / 10 * tenth;
            double n = (double)engine_prompt_done(&en, &a, at);
            double s = (n / p.prefill_tps + n * n * 632.4e-9) * cases[i].scale;
            assert_true(fabs(s - (double)(at - START) / 1e9) < 0.01 + 0.02 * found_s);
        }
        assert_int_equal(engine_prompt_done(&en, &a, engine_due(&en)), cases[i].tokens);
    }
    p.prefill_quadratic_ns = 0;
    struct engine en;
    struct engine_job a = {.prompt_tokens = 52000, .output_tokens = 1};
    engine_init(&en, &p, 1);
    engine_submit(&en, &a, START);
    assert_true(llabs(engine_due(&en) - START - 150 * (int64_t)1000 * MS) < 100 * MS);
}

/* Requests go to the worker with the fewest, whatever else is there. */
static void test_workers(void **state)
{
    (void)state;
    struct profile p = profile_of(1000, 100, 1, 0);
    struct engine en;
    struct engine_job jobs[5];
    p.workers = 2;
    engine_init(&en, &p, 1);
    for (int i = 0; i < 5; i++) {
        jobs[i] = (struct engine_job){.prompt_tokens = 10, .output_tokens = 1 + i};
        engine_submit(&en, &jobs[i], START);
    }
    static const int64_t expected[] = {0, 1, 0, 1, 0};
    for (int i = 0; i < 5; i++)
        assert_int_equal(jobs[i].worker, expected[i]);
    engine_cancel(&en, &jobs[2], START);
    engine_cancel(&en, &jobs[4], START);
    engine_submit(&en, &jobs[4], START);
    assert_int_equal(jobs[4].worker, 0);
    for (int left = 1 + 2 + 4 + 5; left > 0; left--)
        (void)next(&en);
    assert_int_equal(engine_due(&en), -1);
}

static void test_cancel(void **state)
{
    (void)state;
    struct profile p = profile_of(1000, 100, 1, 0);
    struct engine en;
    struct engine_job a = {.prompt_tokens = 10, .output_tokens = 3}, b = a, c = a;
    engine_init(&en, &p, 1);
    engine_submit(&en, &a, START);
    engine_submit(&en, &b, START);
    engine_submit(&en, &c, START);
    assert_ptr_equal(next(&en).job, &a);
    engine_cancel(&en, &b, START + 11 * MS); /* waiting */
    engine_cancel(&en, &a, START + 12 * MS); /* running: c gets its place at once */
    struct engine_token t = next(&en);
    assert_ptr_equal(t.job, &c);
    assert_int_equal(t.due_ns, START + 22 * MS);
    engine_cancel(&en, &c, START + 23 * MS);
    assert_int_equal(engine_due(&en), -1);
    engine_cancel(&en, &c, START + 24 * MS); /* no longer known: nothing */
    assert_int_equal(en.workers[0].n_batch, 0);
}

static void test_time_scale(void **state)
{
    (void)state;
    struct profile p = profile_of(1000, 100, 1, 0);
    struct engine en;
    struct engine_job a = {.prompt_tokens = 1000, .output_tokens = 2};
    engine_init(&en, &p, 0.25);
    engine_submit(&en, &a, START);
    assert_int_equal(next(&en).due_ns, START + 250 * MS);
    assert_int_equal(next(&en).due_ns, START + 260 * MS);
}

static void test_jitter(void **state)
{
    (void)state;
    struct profile p = profile_of(1000, 100, 1, 0);
    p.jitter = 0.4;
    int64_t due[2][1000];
    for (int run = 0; run < 2; run++) {
        struct engine en;
        struct engine_job a = {.prompt_tokens = 10, .output_tokens = 1000, .seed = 7};
        engine_init(&en, &p, 1);
        engine_submit(&en, &a, START);
        for (int i = 0; i < 1000; i++)
            due[run][i] = next(&en).due_ns;
    }
    assert_memory_equal(due[0], due[1], sizeof due[0]);
    int64_t sum = 0, widest = 0;
    for (int i = 0; i < 1000; i++) {
        int64_t off = due[0][i] - (START + 10 * MS + (int64_t)i * 10 * MS);
        assert_true(off >= (i == 0 ? 0 : -4 * MS) && off <= 4 * MS);
        assert_true(i == 0 || due[0][i] > due[0][i - 1]);
        sum += off;
        widest = llabs(off) > widest ? llabs(off) : widest;
    }
    assert_true(llabs(sum / 1000) < MS / 2); /* it goes both ways, and does not add up */
    assert_true(widest > 3 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_request), cmocka_unit_test(test_no_drift),
        cmocka_unit_test(test_late_looks),  cmocka_unit_test(test_serial),
        cmocka_unit_test(test_continuous),  cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_speedup),     cmocka_unit_test(test_joins_and_leaves),
        cmocka_unit_test(test_stalls),      cmocka_unit_test(test_quadratic_prefill),
        cmocka_unit_test(test_workers),     cmocka_unit_test(test_time_scale),
        cmocka_unit_test(test_jitter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
