/* Link layer and IP: one segment in every wrapping, and what is wrong with others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/support/packet.h"

static const struct segment v4 = {.from = {4, {127, 0, 0, 1}, 40000},
                                  .to = {4, {10, 1, 2, 3}, 8000},
                                  .seq = 0xfedcba98,
                                  .ack = 0x01020304,
                                  .flags = TCP_ACK | TCP_PSH,
                                  .window = 512,
                                  .window_scale = -1,
                                  .data = (const uint8_t *)"hello",
                                  .n = 5,
                                  .wire_n = 5};

static const struct segment v6 = {
    .from = {6, {0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 443},
    .to = {6, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 9},
    .seq = 1,
    .flags = TCP_FIN,
    .window_scale = -1,
    .data = (const uint8_t *)"hi",
    .n = 2,
    .wire_n = 2};

static void packet_ipv6(struct packet_bytes *b, const struct segment *s, uint8_t next, size_t n)
{
    packet_add(b, (uint8_t[]){0x60, 0, 0, 0}, 4);
    packet_be16(b, (uint16_t)n);
    packet_add(b, (uint8_t[]){next, 64}, 2);
    packet_add(b, s->from.addr, 16);
    packet_add(b, s->to.addr, 16);
}

static enum link_verdict decode(uint16_t link, const struct packet_bytes *b, size_t n,
                                size_t wire_n, struct segment *out)
{
    uint8_t *copy = malloc(n > 0 ? n : 1); /* of exactly that size: a byte too many is caught */
    assert_non_null(copy);
    memcpy(copy, b->p, n);
    enum link_verdict v = link_decode(link, copy, n, wire_n, out);
    if (v == LINK_TCP) { /* the payload lies in the packet */
        assert_true(out->data >= copy && out->data + out->n <= copy + n);
        out->data = b->p + (out->data - copy);
    }
    free(copy);
    return v;
}

static void expect_same(const struct segment *found, const struct segment *want)
{
    assert_int_equal(found->from.family, want->from.family);
    assert_memory_equal(found->from.addr, want->from.addr, 16);
    assert_int_equal(found->from.port, want->from.port);
    assert_int_equal(found->to.family, want->to.family);
    assert_memory_equal(found->to.addr, want->to.addr, 16);
    assert_int_equal(found->to.port, want->to.port);
    assert_int_equal(found->seq, want->seq);
    assert_int_equal(found->ack, want->ack);
    assert_int_equal(found->flags, want->flags);
    assert_int_equal(found->window, want->window);
    assert_int_equal(found->window_scale, want->window_scale);
    assert_int_equal(found->n, want->n);
    assert_int_equal(found->wire_n, want->wire_n);
    assert_memory_equal(found->data, want->data, want->n);
}

/* What stands before the IP header. */
static const struct wrapping {
    const char *name;
    uint16_t link;
    bool ipv6;
    size_t n;
    uint8_t head[48];
} wrappings[] = {
    {"ethernet", LINK_ETHERNET, false, 14, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 8, 0}},
    {"ethernet, ipv6", LINK_ETHERNET, true, 14, {[12] = 0x86, 0xdd}},
    {"vlan", LINK_ETHERNET, false, 18, {[12] = 0x81, 0, 0, 7, 8, 0}},
    {"qinq", LINK_ETHERNET, true, 22, {[12] = 0x88, 0xa8, 0, 7, 0x81, 0, 0, 8, 0x86, 0xdd}},
    {"old qinq", LINK_ETHERNET, false, 22, {[12] = 0x91, 0, 0, 7, 0x81, 0, 0, 8, 8, 0}},
    {"pppoe", LINK_ETHERNET, false, 22, {[12] = 0x88, 0x64, 0x11, 0, 0, 1, 0, 99, 0, 0x21}},
    {"vlan, pppoe, ipv6",
     LINK_ETHERNET,
     true,
     26,
     {[12] = 0x81, 0, 0, 7, 0x88, 0x64, 0x11, 0, 0, 1, 0, 99, 0, 0x57}},
    {"null, little endian", LINK_NULL, false, 4, {2, 0, 0, 0}},
    {"null, big endian", LINK_NULL, false, 4, {0, 0, 0, 2}},
    {"null, macOS ipv6", LINK_NULL, true, 4, {30, 0, 0, 0}},
    {"null, FreeBSD ipv6", LINK_NULL, true, 4, {0, 0, 0, 28}},
    {"loop, OpenBSD ipv6", LINK_LOOP, true, 4, {0, 0, 0, 24}},
    {"loop", LINK_LOOP, false, 4, {0, 0, 0, 2}},
    {"raw", LINK_RAW, false, 0, {0}},
    {"raw, ipv6", LINK_RAW, true, 0, {0}},
    {"raw as BSD writes it", 12, false, 0, {0}},
    {"raw as OpenBSD writes it", 14, true, 0, {0}},
    {"ipv4", LINK_IPV4, false, 0, {0}},
    {"ipv6", LINK_IPV6, true, 0, {0}},
    {"sll", LINK_SLL, false, 16, {[14] = 8, 0}},
    {"sll, ipv6", LINK_SLL, true, 16, {[14] = 0x86, 0xdd}},
    {"sll2", LINK_SLL2, false, 20, {8, 0}},
    {"sll2, ipv6", LINK_SLL2, true, 20, {0x86, 0xdd}},
    {"nflog", LINK_NFLOG, false, 16, {2, 0, 0, 3, 5, 0, 10, 0, 9, 0, 0, 0, 49, 0, 9, 0}},
    {"nflog, big endian, ipv6",
     LINK_NFLOG,
     true,
     16,
     {10, 0, 0, 3, 0, 8, 0, 1, 0x86, 0xdd, 0, 0, 0, 66, 0x80, 9}},
    {"pktap", LINK_PKTAP, true, 48, {48, 0, 0, 0, 1, 0, 0, 0, 12}},
    {"pktap, ipv4", LINK_PKTAP, false, 48, {48, 0, 0, 0, 1, 0, 0, 0, 228}},
};

static void wrap(const struct wrapping *w, struct packet_bytes *b)
{
    b->n = 0;
    packet_add(b, w->head, w->n);
    if (w->ipv6)
        packet_ipv6(b, &v6, 6, 20 + v6.n);
    else
        packet_ipv4(b, &v4, 20 + v4.n);
    packet_tcp(b, w->ipv6 ? &v6 : &v4, NULL, 0);
}

/* Each wrapping: whole, padded, and cut at every byte. */
static void test_wrappings(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrappings / sizeof wrappings[0]; i++) {
        const struct wrapping *w = &wrappings[i];
        struct packet_bytes b;
        struct segment found, want = w->ipv6 ? v6 : v4;
        print_message("%s\n", w->name);
        wrap(w, &b);
        size_t n = b.n, payload = want.n;
        assert_int_equal(decode(w->link, &b, n, n, &found), LINK_TCP);
        expect_same(&found, &want);
        packet_add(&b, "padding", 7); /* as Ethernet pads short frames */
        assert_int_equal(decode(w->link, &b, b.n, b.n, &found), LINK_TCP);
        expect_same(&found, &want);
        for (size_t cut = 0; cut < n; cut++) {
            enum link_verdict v = decode(w->link, &b, cut, n, &found);
            if (cut < n - payload) {
                assert_int_equal(v, LINK_BAD);
                continue;
            }
            assert_int_equal(v, LINK_TCP);
            want.n = cut - (n - payload);
            expect_same(&found, &want);
        }
    }
}

static void test_options(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[12];
        int scale;
    } cases[] = {
        {{2, 4, 5, 0xb4, 1, 3, 3, 7, 4, 2, 0, 0}, 7},
        {{1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 99, 0}, 14},
        {{0, 3, 3, 7}, -1},
        {{3, 2, 3, 7}, -1},
        {{8, 0, 3, 3, 7}, -1},
        {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3}, -1},
        {{5, 200, 3, 3, 7}, -1},
        {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3}, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct packet_bytes b = {.n = 0};
        struct segment found, syn = v4;
        syn.flags = TCP_SYN;
        packet_ipv4(&b, &syn, 32 + syn.n);
        packet_tcp(&b, &syn, cases[i].bytes, 12);
        syn.window_scale = (int8_t)cases[i].scale;
        assert_int_equal(decode(LINK_RAW, &b, b.n, b.n, &found), LINK_TCP);
        expect_same(&found, &syn);
        b.p[33] = TCP_ACK; /* only a SYN says it */
        assert_int_equal(decode(LINK_RAW, &b, b.n, b.n, &found), LINK_TCP);
        assert_int_equal(found.window_scale, -1);
    }
}

static void test_options_cut_by_the_snap_length(void **state)
{
    (void)state;
    struct packet_bytes b = {.n = 0};
    struct segment found;
    packet_ipv4(&b, &v4, 32 + v4.n);
    packet_tcp(&b, &v4, (uint8_t[12]){1, 1}, 12);
    assert_int_equal(decode(LINK_RAW, &b, 44, b.n, &found), LINK_TCP);
    assert_int_equal(found.n, 0);
    assert_int_equal(found.wire_n, 5);
}

/* BIG TCP and offloaded segments: the IP length is 0 and the frame's end counts. */
static void test_length_zero(void **state)
{
    (void)state;
    struct packet_bytes b;
    struct segment found;
    packet_raw(&b, &v4);
    b.p[2] = b.p[3] = 0;
    assert_int_equal(decode(LINK_RAW, &b, b.n, b.n, &found), LINK_TCP);
    expect_same(&found, &v4);
    assert_int_equal(decode(LINK_RAW, &b, b.n, b.n + 100000, &found), LINK_TCP);
    assert_int_equal(found.n, 5);
    assert_int_equal(found.wire_n, 100005);
    b.n = 0;
    packet_ipv6(&b, &v6, 0, 0); /* jumbo payload option */
    packet_add(&b, (uint8_t[]){6, 0, 0xc2, 4, 0, 0, 0, 30}, 8);
    packet_tcp(&b, &v6, NULL, 0);
    assert_int_equal(decode(LINK_IPV6, &b, b.n, b.n, &found), LINK_TCP);
    expect_same(&found, &v6);
    packet_add(&b, "padding", 7); /* the jumbo length counts */
    assert_int_equal(decode(LINK_IPV6, &b, b.n, b.n, &found), LINK_TCP);
    expect_same(&found, &v6);
}

static void test_extension_headers(void **state)
{
    (void)state;
    struct packet_bytes b = {.n = 0};
    struct segment found;
    packet_ipv6(&b, &v6, 0, 8 + 16 + 8 + 16 + 20 + v6.n);
    packet_add(&b, (uint8_t[8]){60}, 8);             /* hop by hop, next: destination options */
    packet_add(&b, (uint8_t[16]){44, 1}, 16);        /* next: fragment */
    packet_add(&b, (uint8_t[8]){51, 0, 0, 0, 9}, 8); /* atomic, next: AH */
    packet_add(&b, (uint8_t[16]){6, 2}, 16);         /* next: TCP */
    packet_tcp(&b, &v6, NULL, 0);
    assert_int_equal(decode(LINK_RAW, &b, b.n, b.n, &found), LINK_TCP);
    expect_same(&found, &v6);
    for (size_t cut = 0; cut < b.n - v6.n; cut++)
        assert_int_equal(decode(LINK_RAW, &b, cut, b.n, &found), LINK_BAD);
    b.p[40 + 8 + 16 + 3] = 1; /* more fragments */
    assert_int_equal(decode(LINK_RAW, &b, b.n, b.n, &found), LINK_FRAGMENT);
    b.n = 0; /* AH under IPv4 */
    packet_ipv4(&b, &v4, 16 + 20 + v4.n);
    b.p[9] = 51;
    packet_add(&b, (uint8_t[16]){6, 2}, 16);
    packet_tcp(&b, &v4, NULL, 0);
    assert_int_equal(decode(LINK_RAW, &b, b.n, b.n, &found), LINK_TCP);
    expect_same(&found, &v4);
}

static void test_fragments(void **state)
{
    (void)state;
    static const struct {
        uint8_t high, low;
        enum link_verdict verdict;
    } cases[] = {{0, 0, LINK_TCP},
                 {0x40, 0, LINK_TCP},
                 {0x20, 0, LINK_FRAGMENT},
                 {0, 1, LINK_FRAGMENT},
                 {0x1f, 0xff, LINK_FRAGMENT}};
    struct packet_bytes b;
    struct segment found;
    packet_raw(&b, &v4);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        b.p[6] = cases[i].high;
        b.p[7] = cases[i].low;
        assert_int_equal(decode(LINK_RAW, &b, b.n, b.n, &found), cases[i].verdict);
    }
}

static void set(struct packet_bytes *b, size_t at, uint8_t v)
{
    packet_raw(b, &v4);
    b->p[at] = v;
}

static void test_what_is_not_tcp(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint8_t value;
        enum link_verdict verdict;
    } cases[] = {
        {9, 17, LINK_OTHER},   /* UDP */
        {0, 0x55, LINK_OTHER}, /* IP version 5 */
        {0, 0x44, LINK_BAD},   /* IP header of 16 bytes */
        {0, 0x4f, LINK_BAD},   /* IP header longer than the packet */
        {3, 19, LINK_BAD},     /* IP length below its header */
        {3, 39, LINK_BAD},     /* cuts the TCP header */
        {32, 0x40, LINK_BAD},  /* TCP header of 16 bytes */
        {32, 0xf0, LINK_BAD},  /* TCP header longer than the packet */
    };
    struct packet_bytes b;
    struct segment found;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        set(&b, cases[i].at, cases[i].value);
        assert_int_equal(decode(LINK_RAW, &b, b.n, b.n, &found), cases[i].verdict);
    }
    b = (struct packet_bytes){.p = {[12] = 8, 6}, .n = 60}; /* ARP */
    assert_int_equal(decode(LINK_ETHERNET, &b, b.n, b.n, &found), LINK_OTHER);
    b = (struct packet_bytes){.p = {7}, .n = 60};
    assert_int_equal(decode(LINK_NULL, &b, b.n, b.n, &found), LINK_OTHER);
    assert_int_equal(decode(105, &b, b.n, b.n, &found), LINK_UNKNOWN);
}

/* PKTAP around what is not read, around itself, and a number of the user's that is no PKTAP. */
static void test_pktap(void **state)
{
    (void)state;
    struct packet_bytes b = {.p = {48, [4] = 1, [8] = 12}, .n = 48};
    struct segment found;
    packet_ipv4(&b, &v4, 20 + v4.n);
    packet_tcp(&b, &v4, NULL, 0);
    assert_int_equal(decode(LINK_PKTAP_USER2, &b, b.n, b.n, &found), LINK_TCP);
    expect_same(&found, &v4);
    b.p[4] = 0; /* no packet behind it */
    assert_int_equal(decode(LINK_PKTAP, &b, b.n, b.n, &found), LINK_OTHER);
    b.p[4] = 1;
    b.p[8] = 105;
    assert_int_equal(decode(LINK_PKTAP, &b, b.n, b.n, &found), LINK_UNKNOWN);
    b.p[8] = 2;
    b.p[9] = 1; /* 258: itself */
    assert_int_equal(decode(LINK_PKTAP, &b, b.n, b.n, &found), LINK_UNKNOWN);
    b.p[0] = 200;
    b.p[8] = 12;
    b.p[9] = 0;
    assert_int_equal(decode(LINK_PKTAP, &b, b.n, b.n, &found), LINK_BAD);
    assert_int_equal(decode(LINK_PKTAP_USER2, &b, b.n, b.n, &found), LINK_UNKNOWN);
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(link_name(LINK_ETHERNET), "Ethernet");
    assert_string_equal(link_name(105), "IEEE 802.11"); /* known, not read */
    assert_null(link_name(65000));
}

static void test_text(void **state)
{
    (void)state;
    char out[64];
    assert_string_equal(endpoint_text(&v4.to, out), "10.1.2.3:8000");
    assert_string_equal(endpoint_text(&v6.to, out), "[::1]:9");
    struct endpoint longest = {6, {0}, 65535};
    memset(longest.addr, 0xff, 16);
    assert_string_equal(endpoint_text(&longest, out),
                        "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrappings),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_options_cut_by_the_snap_length),
        cmocka_unit_test(test_length_zero),
        cmocka_unit_test(test_extension_headers),
        cmocka_unit_test(test_fragments),
        cmocka_unit_test(test_what_is_not_tcp),
        cmocka_unit_test(test_pktap),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
