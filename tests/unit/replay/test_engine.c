/* The simulated model against its own rules, in virtual time: exact, whoever looks when. */
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

/* Two that run together: each step is 2 % longer, and both go on at nearly their own rate. */
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
    assert_int_equal(last_a.due_ns, START + 10 * MS + 100 * 10200000);
    /* when a has left, b makes its last step alone */
    assert_int_equal(last_b.due_ns, START + 10 * MS + 100 * 10200000);
    assert_true(last_a.last && last_b.last);
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
    assert_int_equal(en.n_batch, 0);
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
        cmocka_unit_test(test_time_scale),  cmocka_unit_test(test_jitter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
