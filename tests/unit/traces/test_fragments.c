/* IP reassembly: every order and overlap gives the bytes that came first; bounds hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/packet.h"
#include "traces/fragments.h"
#include "traces/limits.h"

enum { TOTAL = 61 };

static uint8_t content[TOTAL];

static struct ip_fragment piece(size_t from, size_t to)
{
    return (struct ip_fragment){.from = {.family = 4, .addr = {10, 0, 0, 1}},
                                .to = {.family = 4, .addr = {10, 0, 0, 2}},
                                .id = 7,
                                .protocol = 6,
                                .offset = (uint32_t)from,
                                .more = to < TOTAL,
                                .data = content + from,
                                .n = to - from,
                                .wire_n = to - from};
}

/* The fragment with its bytes in a block of their own, of exactly their size. */
static bool add(struct fragments *f, struct ip_fragment part, int64_t t_ns,
                struct ip_fragment *whole)
{
    uint8_t *copy = malloc(part.n > 0 ? part.n : 1);
    assert_non_null(copy);
    memcpy(copy, part.data, part.n);
    part.data = copy;
    bool done = fragments_add(f, &part, t_ns, whole);
    free(copy);
    return done;
}

static void expect_whole(const struct ip_fragment *whole)
{
    assert_int_equal(whole->n, TOTAL);
    assert_int_equal(whole->wire_n, TOTAL);
    assert_int_equal(whole->protocol, 6);
    assert_int_equal(whole->from.addr[3], 1);
    assert_memory_equal(whole->data, content, TOTAL);
}

static int fill_content(void **state)
{
    (void)state;
    for (size_t i = 0; i < TOTAL; i++)
        content[i] = (uint8_t)(i * 37 + 1);
    return 0;
}

static void test_every_order(void **state)
{
    (void)state;
    static const size_t cuts[] = {0, 8, 24, 40, TOTAL};
    for (unsigned code = 0; code < 4 * 4 * 4 * 4; code++) {
        unsigned order[4] = {code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6 & 3}, seen = 0;
        struct fragments *f = fragments_new();
        struct ip_fragment whole;
        for (int i = 0; i < 4; i++) { /* also with some twice, and so some never */
            seen |= 1u << order[i];
            bool done = add(f, piece(cuts[order[i]], cuts[order[i] + 1]), i, &whole);
            assert_int_equal(done, seen == 15);
            if (done)
                expect_whole(&whole);
        }
        assert_int_equal(fragments_totals(f).fragments, 4);
        assert_int_equal(fragments_totals(f).lost, seen == 15 ? 0 : 4);
        fragments_free(f);
    }
}

/* Every pair of pieces, the second of other bytes: where both lie, the first counts. */
static void test_first_wins(void **state)
{
    (void)state;
    uint8_t other[TOTAL];
    for (size_t i = 0; i < TOTAL; i++)
        other[i] = (uint8_t)~content[i];
    for (size_t a = 0; a <= 48; a += 8) {
        for (size_t b = a + 8; b <= 56; b += 8) {
            struct fragments *f = fragments_new();
            struct ip_fragment whole, rest = piece(0, 56), end = piece(56, TOTAL);
            rest.data = other;
            assert_false(add(f, piece(a, b), 0, &whole));
            assert_false(add(f, rest, 1, &whole));
            assert_true(add(f, end, 2, &whole));
            assert_int_equal(whole.n, TOTAL);
            for (size_t i = 0; i < TOTAL; i++)
                assert_int_equal(whole.data[i],
                                 (i >= a && i < b) || i >= 56 ? content[i] : other[i]);
            fragments_free(f);
        }
    }
}

static void test_several_at_once(void **state)
{
    (void)state;
    struct fragments *f = fragments_new();
    struct ip_fragment whole;
    struct ip_fragment others[5];
    for (int i = 0; i < 5; i++)
        others[i] = piece(0, 24);
    others[1].id = 8;
    others[2].from.addr[0] = 11;
    others[3].to.addr[0] = 11;
    others[4].protocol = 51;
    for (int i = 0; i < 5; i++)
        assert_false(add(f, others[i], 0, &whole));
    assert_true(add(f, piece(24, TOTAL), 0, &whole));
    expect_whole(&whole);
    assert_int_equal(fragments_totals(f).lost, 4);
    fragments_free(f);
}

/* The protocol that later pieces of IPv6 state means nothing (RFC 8200, 4.5). */
static void test_ipv6_protocol(void **state)
{
    (void)state;
    struct fragments *f = fragments_new();
    struct ip_fragment whole, first = piece(0, 24), last = piece(24, TOTAL);
    first.from.family = first.to.family = last.from.family = last.to.family = 6;
    last.protocol = 99;
    assert_false(add(f, last, 0, &whole));
    assert_true(add(f, first, 0, &whole));
    expect_whole(&whole);
    fragments_free(f);
}

static void test_snapped(void **state)
{
    (void)state;
    struct fragments *f = fragments_new();
    struct ip_fragment whole, first = piece(0, 24);
    first.n = 20;
    assert_false(add(f, first, 0, &whole));
    assert_true(add(f, piece(24, TOTAL), 0, &whole));
    assert_int_equal(whole.n, 20);
    assert_int_equal(whole.wire_n, TOTAL);
    assert_memory_equal(whole.data, content, 20);
    fragments_free(f);
}

static void test_what_is_no_piece(void **state)
{
    (void)state;
    struct fragments *f = fragments_new();
    struct ip_fragment whole, odd = piece(0, 20), far = piece(0, 24), none = piece(0, 0);
    far.offset = 65528;
    odd.more = true;
    none.more = true;
    assert_false(add(f, odd, 0, &whole));  /* not a multiple of 8 */
    assert_false(add(f, far, 0, &whole));  /* ends behind the largest packet */
    assert_false(add(f, none, 0, &whole)); /* empty */
    assert_int_equal(fragments_totals(f).lost, 3);
    assert_false(add(f, piece(0, 24), 0, &whole));
    assert_true(add(f, piece(24, TOTAL), 0, &whole));
    expect_whole(&whole);
    fragments_free(f);
}

static void test_given_up_in_time(void **state)
{
    (void)state;
    struct fragments *f = fragments_new();
    struct ip_fragment whole;
    assert_false(add(f, piece(0, 24), 5, &whole));
    assert_false(add(f, piece(24, TOTAL), LIMIT_FRAGMENT_NS + 6, &whole));
    assert_int_equal(fragments_totals(f).lost, 2);
    assert_true(add(f, piece(0, 24), 2 * LIMIT_FRAGMENT_NS + 6, &whole)); /* just in time */
    expect_whole(&whole);
    assert_false(add(f, piece(0, 24), INT64_MIN, &whole)); /* a clock may say anything */
    assert_false(add(f, piece(8, 24), INT64_MAX, &whole));
    fragments_free(f);
}

/* Fragments of datagrams that are never completed: the oldest go. */
static void test_bounds(void **state)
{
    (void)state;
    struct fragments *f = fragments_new();
    struct ip_fragment whole;
    static uint8_t large[65528];
    for (uint32_t id = 0; id < 3 * LIMIT_FRAGMENT_DATAGRAMS; id++) {
        struct ip_fragment part = piece(0, 24);
        part.id = id;
        assert_false(add(f, part, 0, &whole));
    }
    struct ip_fragment last = piece(24, TOTAL);
    last.id = 0; /* long gone */
    assert_false(add(f, last, 0, &whole));
    last.id = 3 * LIMIT_FRAGMENT_DATAGRAMS - 1;
    assert_true(add(f, last, 0, &whole));
    for (uint32_t id = 0; id < 4 * LIMIT_FRAGMENT_HELD_BYTES / sizeof large; id++) {
        struct ip_fragment part = piece(0, 24);
        part.id = 100000 + id;
        part.data = large;
        part.n = part.wire_n = sizeof large;
        part.more = true;
        part.offset = 0;
        assert_false(add(f, part, 0, &whole));
    }
    last.id = 100000;
    assert_false(add(f, last, 0, &whole));
    fragments_free(f);
}

/* A segment in two IPv4 packets, and in one whose AH stands before TCP. */
static void test_decode(void **state)
{
    (void)state;
    static const struct segment want = {.from = {4, {10, 0, 0, 1}, 40000},
                                        .to = {4, {10, 0, 0, 2}, 8000},
                                        .seq = 99,
                                        .flags = TCP_ACK,
                                        .data = (const uint8_t *)"hello, world",
                                        .n = 12,
                                        .wire_n = 12};
    struct packet_bytes whole, parts[2];
    struct segment s;
    struct fragments *f = fragments_new();
    packet_raw(&whole, &want);
    for (int i = 0; i < 2; i++) {
        size_t from = i == 0 ? 0 : 24, n = i == 0 ? 24 : 8;
        parts[i].n = 0;
        packet_ipv4(&parts[i], &want, n);
        packet_add(&parts[i], whole.p + 20 + from, n);
        parts[i].p[6] = i == 0 ? 0x20 : 0;
        parts[i].p[7] = (uint8_t)(from / 8);
    }
    assert_int_equal(fragments_decode(f, LINK_RAW, parts[1].p, parts[1].n, parts[1].n, 0, &s),
                     LINK_FRAGMENT);
    assert_int_equal(fragments_decode(f, LINK_RAW, parts[0].p, parts[0].n, parts[0].n, 0, &s),
                     LINK_TCP);
    assert_int_equal(s.from.port, 40000);
    assert_int_equal(s.to.port, 8000);
    assert_int_equal(s.from.addr[0], 10);
    assert_int_equal(s.seq, 99);
    assert_int_equal(s.n, 12);
    assert_memory_equal(s.data, "hello, world", 12);
    assert_int_equal(fragments_decode(f, LINK_RAW, whole.p, whole.n, whole.n, 0, &s), LINK_TCP);
    assert_int_equal(fragments_totals(f).lost, 0);
    fragments_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_order),      cmocka_unit_test(test_first_wins),
        cmocka_unit_test(test_several_at_once),  cmocka_unit_test(test_ipv6_protocol),
        cmocka_unit_test(test_snapped),          cmocka_unit_test(test_what_is_no_piece),
        cmocka_unit_test(test_given_up_in_time), cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_decode),
    };
    return cmocka_run_group_tests(tests, fill_content, NULL);
}
