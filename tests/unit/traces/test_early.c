/* What a server said early: as it came, and neither too much nor too long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "traces/early.h"
#include "traces/limits.h"

static struct span piece(const void *p, size_t n, uint64_t off, int64_t t)
{
    return (struct span){p, n, {.off = off, .t_seen = t, .t_ready = t, .pkt = off + 1, .rel = off}};
}

static void comes_out_as_it_went_in(void **state)
{
    struct early e = {.first = 0};
    (void)state;
    assert_false(early_has(&e));
    for (int round = 0; round < 2; round++) {
        assert_true(early_add(&e, piece("abc", 3, 10, 5)));
        assert_true(early_add(&e, piece("de", 2, 13, 6)));
        assert_int_equal(early_bytes(&e), 5);
        assert_int_equal(early_first(&e).off, 10);
        struct span in = early_take(&e);
        assert_int_equal(in.n, 3);
        assert_memory_equal(in.p, "abc", 3);
        assert_int_equal(in.at.t_ready, 5);
        assert_int_equal(early_first(&e).pkt, 14);
        assert_int_equal(early_bytes(&e), 2);
        in = early_take(&e);
        assert_memory_equal(in.p, "de", 2);
        assert_false(early_has(&e));
        assert_int_equal(early_bytes(&e), 0);
    }
    early_clear(&e);
    assert_false(early_has(&e));
}

static void not_too_much(void **state)
{
    struct early e = {.first = 0};
    uint8_t *much = calloc(1, LIMIT_EARLY_BYTES);
    (void)state;
    assert_true(early_add(&e, piece(much, LIMIT_EARLY_BYTES - 10, 0, 0)));
    assert_false(early_add(&e, piece(much, 11, 0, 0)));
    assert_true(early_add(&e, piece(much, 10, 0, 0)));
    assert_false(early_add(&e, piece(much, 1, 0, 0)));
    assert_int_equal(early_bytes(&e), LIMIT_EARLY_BYTES);
    early_clear(&e);
    assert_true(early_add(&e, piece(much, 11, 0, 0)));
    early_clear(&e);
    free(much);
}

static void not_too_long(void **state)
{
    struct early e = {.first = 0};
    (void)state;
    assert_true(early_add(&e, piece("a", 1, 0, 1000)));
    assert_true(early_add(&e, piece("b", 1, 1, 1000 + LIMIT_EARLY_NS)));
    assert_false(early_add(&e, piece("c", 1, 2, 1001 + LIMIT_EARLY_NS)));
    early_clear(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_out_as_it_went_in),
        cmocka_unit_test(not_too_much),
        cmocka_unit_test(not_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
