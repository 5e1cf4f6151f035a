/* Packets at several interfaces: what is a twin, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "traces/limits.h"
#include "traces/twins.h"

#define T INT64_C(1796030400123456789)

static const struct segment base = {.from = {4, {10, 0, 0, 1}, 40000},
                                    .to = {4, {10, 0, 0, 2}, 8000},
                                    .seq = 1,
                                    .ack = 2,
                                    .flags = TCP_ACK,
                                    .window = 3,
                                    .n = 5,
                                    .wire_n = 5};

static void test_times_and_interfaces(void **state)
{
    (void)state;
    static const struct {
        uint32_t interface;
        int64_t later_ns;
        bool twin;
    } cases[] = {
        {2, 0, true},
        {2, LIMIT_TWIN_NS - 1, true},
        {2, 1 - LIMIT_TWIN_NS, true}, /* the clocks of two interfaces: in any order */
        {2, LIMIT_TWIN_NS, false},
        {2, -LIMIT_TWIN_NS, false},
        {1, 0, false}, /* at its own: a retransmission */
        {1, 1000, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct twins *t = twins_new();
        assert_false(twins_saw(t, 1, &base, T));
        assert_int_equal(twins_saw(t, cases[i].interface, &base, T + cases[i].later_ns),
                         cases[i].twin);
        twins_free(t);
    }
    struct twins *t = twins_new(); /* a bridge of three */
    assert_false(twins_saw(t, 1, &base, INT64_MIN));
    assert_false(twins_saw(t, 2, &base, INT64_MAX));
    assert_true(twins_saw(t, 3, &base, INT64_MAX));
    assert_true(twins_saw(t, 4, &base, INT64_MAX));
    twins_free(t);
}

static void test_what_differs(void **state)
{
    (void)state;
    struct segment others[8];
    for (size_t i = 0; i < 8; i++)
        others[i] = base;
    others[0].seq++;
    others[1].ack++;
    others[2].flags |= TCP_PSH;
    others[3].window++;
    others[4].wire_n++;
    others[5].from.port++;
    others[6].to.addr[3]++;
    others[7].from.family = 6;
    for (size_t i = 0; i < 8; i++) {
        struct twins *t = twins_new();
        assert_false(twins_saw(t, 1, &base, T));
        assert_false(twins_saw(t, 2, &others[i], T));
        twins_free(t);
    }
}

/* Two interfaces in a row, packet by packet: every second one is a twin, however many there were.
 */
static void test_many(void **state)
{
    (void)state;
    struct twins *t = twins_new();
    struct segment s = base;
    for (uint32_t i = 0; i < 100000; i++) {
        s.seq = i * 5;
        assert_false(twins_saw(t, 1, &s, T + i));
        assert_true(twins_saw(t, 2, &s, T + i));
    }
    twins_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times_and_interfaces),
        cmocka_unit_test(test_what_differs),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
