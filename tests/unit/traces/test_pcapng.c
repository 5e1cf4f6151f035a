/* Blocks of both byte orders, times of every resolution (expected values by exact rational
 * arithmetic), and classic pcap headers. */
#include "tests/unit/traces/scratch.h"

#include "traces/limits.h"
#include "traces/pcap_file.h"
#include "traces/pcapng.h"

static const struct {
    uint8_t tsresol;
    int64_t offset_s;
    uint64_t ticks;
    bool fits;
    int64_t t_ns;
} times[] = {
    {6, 0, 1796030400459528, true, 1796030400459528000},
    {9, 0, 1796030400459528001, true, 1796030400459528001},
    {3, 0, 1796030400459, true, 1796030400459000000},
    {0, 0, 1796030400, true, 1796030400000000000},
    {12, 0, 17960304004595280, true, 17960304004595},
    {19, 0, 18446744073709551615u, true, 1844674407},
    {20, 0, 1, false, 0},
    {127, 0, 1, false, 0},
    {9, 0, 18446744073709551615u, false, 0},
    {6, 0, 18446744073709551615u, false, 0},
    {0x80, 0, 1796030400, true, 1796030400000000000},
    {0x8a, 0, 1839135130070, true, 1796030400458984375},
    {0x94, 0, 1883274373671999, true, 1796030400917052268},
    {0xa0, 0, 7713891830406971392, true, 1796030399949981689},
    {0xbf, 0, 18446744073709551615u, true, 1999999999},
    {0xbf, 0, 9223372036854775808u, true, 1000000000},
    {0xc0, 0, 1, false, 0},
    {6, -1796030400, 1796030400459528, true, 459528000},
    {6, 1796030400, 459528, true, 1796030400459528000},
    {6, -1, 0, true, -1000000000},
    {6, INT64_MAX, 1, false, 0},
    {6, INT64_MIN, 1, false, 0},
    {9, 9223372035, 1000000000, false, 0},
};

static void times_are_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        struct pcapng_interface in = {.tsresol = times[i].tsresol, .tsoffset_s = times[i].offset_s};
        int64_t t_ns = 0;
        bool fits = pcapng_time(&in, times[i].ticks, &t_ns);
        if (fits != times[i].fits || (fits && t_ns != times[i].t_ns))
            fail_msg("case %zu: fits %d, %lld ns", i, fits, (long long)t_ns);
    }
}

/* A block of either order, from its 32-bit words; text goes in as it is. */
static size_t block(uint8_t *out, bool big, const uint32_t *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < 4; k++)
            out[4 * i + (size_t)k] = (uint8_t)(words[i] >> (big ? 24 - 8 * k : 8 * k));
    }
    return 4 * n;
}

#define READ(s, big, out, ...)                                                                     \
    read_words(s, big, out, (const uint32_t[]){__VA_ARGS__},                                       \
               sizeof((const uint32_t[]){__VA_ARGS__}) / 4)

static enum pcapng_what read_words(struct pcapng *s, bool big, struct pcapng_block *out,
                                   const uint32_t *words, size_t n)
{
    static uint8_t bytes[256];
    uint32_t framed = 0;
    size_t len = block(bytes, big, words, n);
    assert_int_equal(pcapng_frame(s, bytes, &framed), PCAPNG_FRAME_OK);
    assert_int_equal(framed, len);
    if (pcapng_rd32(bytes, false) == PCAPNG_SECTION || s->n > 0)
        assert_true(pcapng_begins(s, bytes, len));
    return pcapng_read(s, bytes, len, out);
}

static void reads_both_orders(void **state)
{
    (void)state;
    struct pcapng s = {0};
    struct pcapng_block b;
    for (int big = 0; big < 2; big++) {
        uint32_t one = big ? 0x00010000 : 1; /* two 16-bit fields: 1, 0 */
        uint32_t ethernet = one;
        uint32_t raw = big ? 101u << 16 : 101;
        assert_int_equal(
            READ(&s, big, &b, 0x0A0D0D0A, 28, 0x1A2B3C4D, one, 0xffffffff, 0xffffffff, 28),
            PCAPNG_IS_NOTHING);
        assert_int_equal(s.big, big);
        assert_int_equal(s.n, 0);
        /* if_tsresol 9 (code and length 16-bit), then the end. */
        uint32_t tsresol = big ? 9u << 16 | 1 : 1u << 16 | 9, nine = big ? 9u << 24 : 9;
        assert_int_equal(READ(&s, big, &b, 1, 32, raw, 0, tsresol, nine, 0, 32), PCAPNG_IS_NOTHING);
        assert_int_equal(READ(&s, big, &b, 1, 20, ethernet, 2, 20), PCAPNG_IS_NOTHING);
        assert_int_equal(s.n, 2);
        assert_int_equal(READ(&s, big, &b, 6, 36, 0, 0x18ECB93C, 0x5D3C5A41, 3, 9, 0x11223344, 36),
                         PCAPNG_IS_PACKET);
        assert_int_equal(b.link, 101);
        assert_int_equal(b.n, 3);
        assert_int_equal(b.wire_n, 9);
        assert_true(b.has_time);
        assert_int_equal(b.t_ns, 0x18ECB93C5D3C5A41);
        assert_memory_equal(b.p, big ? "\x11\x22\x33" : "\x44\x33\x22", 3);
        /* The obsolete block: interface 1, 5 drops; its clock ticks in microseconds. */
        assert_int_equal(READ(&s, big, &b, 2, 32, big ? 0x00010005 : 0x00050001, 0, 7, 0, 0, 32),
                         PCAPNG_IS_PACKET);
        assert_int_equal(b.link, 1);
        assert_int_equal(b.t_ns, 7000);
        /* No time in a simple one. */
        assert_int_equal(READ(&s, big, &b, 3, 20, 4, 0x11223344, 20), PCAPNG_IS_PACKET);
        assert_false(b.has_time);
        assert_int_equal(b.n, 4);
        assert_int_equal(b.link, 101);
        /* Statistics: received 5 (code 4), dropped by the system 6 (code 7), no end of options. */
        uint32_t recv = big ? 4u << 16 | 8 : 8u << 16 | 4, drop = big ? 7u << 16 | 8 : 8u << 16 | 7;
        uint32_t hi = big ? 0 : 5, lo = big ? 5 : 0, hi6 = big ? 0 : 6, lo6 = big ? 6 : 0;
        assert_int_equal(READ(&s, big, &b, 5, 48, 0, 0, 1, recv, hi, lo, drop, hi6, lo6, 48),
                         PCAPNG_IS_COUNTS);
        uint64_t sections = (uint64_t)big + 1; /* what an interface stated last, of all of them */
        assert_true(b.received == 7 * sections - 2 && b.os_dropped == 6 * sections);
        assert_true(b.accepted == UINT64_MAX && b.if_dropped == UINT64_MAX);
        uint32_t hi1 = big ? 0 : 1, lo1 = big ? 1 : 0, hi2 = big ? 0 : 2, lo2 = big ? 2 : 0;
        assert_int_equal(READ(&s, big, &b, 5, 36, 1, 0, 2, recv, hi1, lo1, 36), PCAPNG_IS_COUNTS);
        assert_true(b.received == 7 * sections - 1);
        assert_int_equal(READ(&s, big, &b, 5, 36, 1, 0, 3, recv, hi2, lo2, 36), PCAPNG_IS_COUNTS);
        assert_true(b.received == 7 * sections && b.os_dropped == 6 * sections);
    }
    pcapng_done(&s);
}

static void refuses_contradictions(void **state)
{
    (void)state;
    struct pcapng s = {0};
    struct pcapng_block b;
    uint8_t bytes[64];
    uint32_t n;
    const uint32_t packet[] = {6, 32, 0, 0, 0, 0, 0, 32};
    block(bytes, false, packet, 8);
    assert_int_equal(pcapng_frame(&s, bytes, &n), PCAPNG_FRAME_BAD); /* before any section */
    READ(&s, false, &b, 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, 0, 28);
    assert_int_equal(READ(&s, false, &b, 6, 32, 0, 0, 0, 0, 0, 32),
                     PCAPNG_IS_BAD); /* no interface */
    assert_int_equal(READ(&s, false, &b, 3, 16, 0, 16), PCAPNG_IS_BAD);
    READ(&s, false, &b, 1, 20, 1, 2, 20); /* snap length 2 */
    assert_int_equal(READ(&s, false, &b, 6, 32, 0, 0, 0, 1, 1, 32),
                     PCAPNG_IS_BAD); /* longer than it is */
    assert_int_equal(READ(&s, false, &b, 6, 32, 1, 0, 0, 0, 0, 32),
                     PCAPNG_IS_BAD); /* interface 1 of 1 */
    assert_int_equal(READ(&s, false, &b, 6, 28, 0, 0, 0, 0, 28),
                     PCAPNG_IS_BAD); /* no room for its fields */
    assert_int_equal(READ(&s, false, &b, 1, 16, 1, 16), PCAPNG_IS_BAD);
    assert_int_equal(READ(&s, false, &b, 5, 20, 0, 0, 20), PCAPNG_IS_BAD);
    assert_int_equal(READ(&s, false, &b, 0xBAD, 12, 12), PCAPNG_IS_BAD);
    assert_int_equal(READ(&s, false, &b, 3, 20, 400, 0, 20), PCAPNG_IS_PACKET); /* snapped to 2 */
    assert_int_equal(b.n, 2);
    assert_int_equal(b.wire_n, 400);
    assert_int_equal(READ(&s, false, &b, 0xBAD, 16, 32473, 16),
                     PCAPNG_IS_FRAME); /* no magic of ours */
    assert_int_equal(READ(&s, false, &b, 9, 12, 12), PCAPNG_IS_FRAME);
    static const uint32_t lengths[] = {0, 4, 8, 13, 14, 15, 0xffffffff, 0xfffffffc};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        block(bytes, false, (const uint32_t[]){6, lengths[i], 0}, 3);
        assert_int_not_equal(pcapng_frame(&s, bytes, &n), PCAPNG_FRAME_OK);
    }
    block(bytes, false, (const uint32_t[]){6, LIMIT_BLOCK_BYTES + 4, 0}, 3);
    assert_int_equal(pcapng_frame(&s, bytes, &n), PCAPNG_FRAME_TOO_LARGE);
    block(bytes, false, (const uint32_t[]){0x0A0D0D0A, 28, 0x12345678}, 3);
    assert_int_equal(pcapng_frame(&s, bytes, &n), PCAPNG_FRAME_BAD);
    for (unsigned i = 1; i < LIMIT_INTERFACES; i++)
        assert_int_equal(READ(&s, false, &b, 1, 20, 1, 0, 20), PCAPNG_IS_NOTHING);
    assert_int_equal(READ(&s, false, &b, 1, 20, 1, 0, 20), PCAPNG_IS_BAD);
    /* Version 2.0 is walked over, and the next section is read again. */
    assert_int_equal(READ(&s, false, &b, 0x0A0D0D0A, 28, 0x1A2B3C4D, 2, 0, 0, 28),
                     PCAPNG_IS_UNKNOWN);
    assert_int_equal(READ(&s, false, &b, 6, 32, 0, 0, 0, 0, 0, 32), PCAPNG_IS_UNKNOWN);
    assert_int_equal(READ(&s, false, &b, 0x0A0D0D0A, 28, 0x1A2B3C4D, 0x20001, 0, 0, 28),
                     PCAPNG_IS_NOTHING); /* 1.2 is 1.0 */
    pcapng_done(&s);
}

/* What is written does not overrun, whatever the room: it is added whole or not at all. */
static void writes_whole_blocks_or_nothing(void **state)
{
    (void)state;
    struct buf b;
    for (size_t room = 0; room < 200; room++) {
        for (int kind = 0; kind < 5; kind++) {
            buf_init(&b, room);
            int rc = kind == 0   ? pcapng_add_section(&b, "app", slice_of("comment"))
                     : kind == 1 ? pcapng_add_interface(&b, 101, 262144, "lo", "tcp port 80")
                     : kind == 2 ? pcapng_add_packet(&b, 1, (const uint8_t *)"abcde", 5, 5)
                     : kind == 3 ? pcapng_add_statistics(&b, 1, 1, 2, 3)
                                 : pcapng_add_custom(&b, slice_of("{}"));
            if (rc == TA_OK) {
                assert_int_equal(pcapng_rd32(b.p + 4, false), b.n);
                assert_int_equal(pcapng_rd32(b.p + b.n - 4, false), b.n);
            } else {
                assert_int_equal(rc, TA_ELIMIT);
                assert_int_equal(b.n, 0);
            }
            buf_done(&b);
        }
    }
    buf_init(&b, 1 << 20);
    assert_int_equal(pcapng_add_packet(&b, 1, NULL, 0, (size_t)UINT32_MAX + 1), TA_ELIMIT);
    buf_done(&b);
}

static void reads_classic_headers(void **state)
{
    (void)state;
    static const uint32_t magics[] = {0xa1b2c3d4, 0xa1b23c4d, 0xa1b2cd34};
    for (int big = 0; big < 2; big++) {
        for (size_t i = 0; i < 3; i++) {
            uint8_t p[24];
            struct pcap_file f;
            struct pcap_record r;
            uint32_t version = big ? 0x00020004 : 0x00040002;
            block(p, big, (const uint32_t[]){magics[i], version, 0, 0, 65535, 0xf0000000 | 101}, 6);
            assert_true(pcap_file_head(&f, p));
            assert_int_equal(f.link, 101);
            assert_int_equal(f.record_head_bytes, i == 2 ? 24 : 16);
            block(p, big, (const uint32_t[]){1796030400, 459528, 60, 40}, 4);
            assert_true(pcap_file_record(&f, p, &r));
            assert_int_equal(r.t_ns, i == 1 ? 1796030400000459528 : 1796030400459528000);
            assert_int_equal(r.n, 60);
            assert_int_equal(r.wire_n, 60); /* never less than what is there */
            block(p, big, (const uint32_t[]){0, 0, LIMIT_BLOCK_BYTES + 1, 0}, 4);
            assert_false(pcap_file_record(&f, p, &r));
            block(p, big, (const uint32_t[]){magics[i], 0x00010001, 0, 0, 65535, 1}, 6);
            assert_false(pcap_file_head(&f, p));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_exact),        cmocka_unit_test(reads_both_orders),
        cmocka_unit_test(refuses_contradictions), cmocka_unit_test(writes_whole_blocks_or_nothing),
        cmocka_unit_test(reads_classic_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
