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
        assert_true(early_add_gap(&e, UINT64_C(1) << 40, (struct mark){.off = 15, .pkt = 9}));
        assert_int_equal(early_size(&e), 5 + 3 * sizeof(struct early_piece));
        const uint8_t *p;
        struct early_piece first = early_first(&e, &p);
        assert_false(first.unseen);
        assert_int_equal(first.n, 3);
        assert_memory_equal(p, "abc", 3);
        assert_int_equal(first.at.t_ready, 5);
        early_drop(&e, 1);
        first = early_first(&e, &p);
        assert_int_equal(first.n, 2);
        assert_int_equal(first.at.off, 11);
        assert_memory_equal(p, "bc", 2);
        early_drop(&e, 2);
        assert_int_equal(early_first(&e, &p).at.pkt, 14);
        assert_memory_equal(p, "de", 2);
        early_drop(&e, 2);
        first = early_first(&e, &p);
        assert_true(first.unseen && p == NULL);
        assert_int_equal(first.n, UINT64_C(1) << 40);
        assert_int_equal(first.at.pkt, 9);
        early_drop(&e, first.n);
        assert_false(early_has(&e));
        assert_int_equal(early_size(&e), 0);
    }
    early_clear(&e);
    assert_false(early_has(&e));
}

static void not_too_much(void **state)
{
    struct early e = {.first = 0};
    uint8_t *much = calloc(1, LIMIT_EARLY_BYTES);
    (void)state;
    size_t each = sizeof(struct early_piece), most = LIMIT_EARLY_BYTES - 2 * each;
    assert_true(early_add(&e, piece(much, most - 10, 0, 0)));
    assert_false(early_add(&e, piece(much, 11, 0, 0)));
    assert_true(early_add(&e, piece(much, 10, 0, 0)));
    assert_false(early_add(&e, piece(much, 1, 0, 0)));
    assert_false(early_add_gap(&e, 1, (struct mark){0}));
    assert_int_equal(early_size(&e), LIMIT_EARLY_BYTES);
    early_clear(&e);
    assert_false(early_add(&e, piece(much, LIMIT_EARLY_BYTES, 0, 0)));
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
    assert_false(early_add_gap(&e, 1, piece("c", 1, 2, 1001 + LIMIT_EARLY_NS).at));
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
