/* Import: what goes from a capture into a trace, what is left out, and what is said of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/import.h"
#include "tests/support/packet.h"
#include "traces/base/buf.h"
#include "traces/base/json.h"
#include "traces/limits.h"
#include "traces/link.h"
#include "traces/pcapng.h"
#include "traces/reader.h"
#include "traces/writer.h"

#define T INT64_C(1796030400123456789)

static char folder[64], one[96], two[96], out[96];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/tokaudit-test-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(one, sizeof one, "%s/one", folder);
    snprintf(two, sizeof two, "%s/two", folder);
    snprintf(out, sizeof out, "%s/out", folder);
    return 0;
}

static int empty_folder(void **state)
{
    (void)state;
    unlink(one);
    unlink(two);
    unlink(out);
    return 0;
}

static int remove_folder(void **state)
{
    empty_folder(state);
    return rmdir(folder);
}

/* --- captures --------------------------------------------------------------------------------- */

static void put(const char *path, const struct buf *b)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(b->p, 1, b->n, f), b->n);
    assert_int_equal(fclose(f), 0);
}

static void put32(struct buf *b, uint32_t v, bool big)
{
    uint8_t p[4];
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (big ? 24 - 8 * i : 8 * i));
    assert_int_equal(buf_add(b, p, 4), TA_OK);
}

static void put_block(struct buf *b, uint32_t type, const uint32_t *head, size_t n_head,
                      const void *data, size_t n)
{
    uint32_t bytes = (uint32_t)(12 + 4 * n_head + (n + 3) / 4 * 4);
    put32(b, type, false);
    put32(b, bytes, false);
    for (size_t i = 0; i < n_head; i++)
        put32(b, head[i], false);
    assert_int_equal(buf_add(b, data, n), TA_OK);
    assert_int_equal(buf_add(b, "\0\0\0", (4 - n % 4) % 4), TA_OK);
    put32(b, bytes, false);
}

static void put_section(struct buf *b)
{
    buf_init(b, 1 << 24);
    put_block(b, PCAPNG_SECTION, (uint32_t[]){0x1A2B3C4D, 1, UINT32_MAX, UINT32_MAX}, 4, "", 0);
}

/* Its clock ticks in nanoseconds. */
static void put_interface(struct buf *b, uint16_t link)
{
    put_block(b, PCAPNG_INTERFACE, (uint32_t[]){link, 0, 1u << 16 | 9, 9, 0}, 5, "", 0);
}

static void put_packet(struct buf *b, uint32_t interface, int64_t t_ns, const void *p, size_t n)
{
    uint64_t t = (uint64_t)t_ns;
    put_block(b, PCAPNG_PACKET,
              (uint32_t[]){interface, (uint32_t)(t >> 32), (uint32_t)t, (uint32_t)n, (uint32_t)n},
              5, p, n);
}

/* isb_osdrop. */
static void put_drops(struct buf *b, uint32_t interface, uint32_t dropped)
{
    put_block(b, PCAPNG_STATISTICS, (uint32_t[]){interface, 0, 1, 8u << 16 | 7, dropped, 0, 0}, 7,
              "", 0);
}

static struct segment segment_of(uint16_t from, uint16_t to)
{
    return (struct segment){.from = {4, {10, 0, 0, 1}, from},
                            .to = {4, {10, 0, 0, 2}, to},
                            .flags = TCP_ACK,
                            .data = (const uint8_t *)"hello",
                            .n = 5,
                            .wire_n = 5};
}

/* A segment behind n bytes of link header. */
static struct packet_bytes frame_of(const void *head, size_t n, uint16_t from, uint16_t to)
{
    struct packet_bytes b = {.n = 0}, ip;
    struct segment s = segment_of(from, to);
    packet_raw(&ip, &s);
    packet_add(&b, head, n);
    packet_add(&b, ip.p, ip.n);
    return b;
}

static const uint8_t ethernet[14] = {[12] = 8}, arp[60] = {[12] = 8, 6};
static const uint8_t tagged[18] = {[12] = 0x81, 0, 0, 5, 8, 0};
static const uint8_t cooked[16] = {[14] = 8};

/* --- the copy --------------------------------------------------------------------------------- */

static struct import_result run(const char *const *files, size_t n, const uint16_t *ports,
                                size_t n_ports)
{
    struct import_plan plan = {.files = files,
                               .n_files = n,
                               .ports = ports,
                               .n_ports = n_ports,
                               .output = out,
                               .redact = REDACT_NOTHING};
    struct import_result result;
    struct err e = {.msg = ""};
    if (import_run(&plan, &result, &e) != TA_OK)
        fail_msg("%s", e.msg);
    return result;
}

static struct reader *open_file(const char *path)
{
    struct reader *r = NULL;
    struct err e = {.msg = ""};
    if (reader_open(&r, path, &e) != TA_OK)
        fail_msg("%s", e.msg);
    return r;
}

static bool next_of(struct reader *r, enum rec_kind kind, struct rec *rec)
{
    struct err e;
    int more;
    while ((more = reader_next(r, rec, &e)) == 1 && rec->kind != kind)
        ;
    assert_true(more >= 0);
    return more == 1;
}

static bool next_packet(struct reader *r, struct rec *rec)
{
    return next_of(r, REC_PACKET, rec);
}

/* The first custom block of a kind; NULL if there is none. */
static struct json *custom_of(const char *path, const char *kind)
{
    struct reader *r = open_file(path);
    struct rec rec;
    struct json *found = NULL;
    while (found == NULL && next_of(r, REC_CUSTOM, &rec)) {
        struct json *v = json_parse(rec.json.p, rec.json.n, NULL);
        assert_non_null(v);
        if (strcmp(json_string(v, "kind"), kind) == 0)
            found = v;
        else
            json_free(v);
    }
    reader_close(r);
    return found;
}

static void expect_text(const struct json *v, const char *name, const char *want)
{
    const char *text = json_string(v, name);
    if (want == NULL)
        assert_null(text);
    else
        assert_string_equal(text, want);
}

static void expect_note(const char *want)
{
    struct json *v = custom_of(out, "note");
    assert_non_null(v);
    if (strstr(json_string(v, "text"), want) == NULL)
        fail_msg("expected '%s' in '%s'", want, json_string(v, "text"));
    json_free(v);
}

/* --- tests ------------------------------------------------------------------------------------ */

static const char *const customs[] = {
    "{\"kind\":\"clock\",\"pairs\":[{\"real_ns\":\"1000\",\"mono_ns\":\"7\",\"width_ns\":1}]}",
    "{\"kind\":\"samples\",\"samples\":[{\"k\":\"s\",\"t\":\"5\"}]}",
    "{\"kind\":\"something-new\",\"x\":[1,2]}",
};

static void make_own_trace(const char *path, const char *vantage)
{
    struct writer *w = NULL;
    struct err e;
    struct packet_bytes b = frame_of("", 0, 1, 2);
    struct writer_origin origin = {.vantage = vantage,
                                   .link = LINK_RAW,
                                   .snaplen = LIMIT_PACKET_BYTES,
                                   .interface = "lo0",
                                   .filter = "tcp port 2",
                                   .host = "elsewhere",
                                   .command = "sh load.sh",
                                   .label = "first",
                                   .simulated = "ideal",
                                   .redacted = "bodies",
                                   .copied = true}; /* no clock pairs but ours */
    assert_int_equal(writer_open(&w, path, &origin, &e), TA_OK);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(writer_packet(w, T + (int64_t)i, b.p, b.n, b.n + i, &e), TA_OK);
        assert_int_equal(writer_custom(w, slice_of(customs[i]), &e), TA_OK);
    }
    struct writer_counts counts = {.received = 20, .dropped = 3, .if_dropped = UINT64_MAX};
    assert_int_equal(writer_counts(w, T + 9, counts, &e), TA_OK);
    assert_int_equal(writer_close(w, &e), TA_OK);
}

/* Blocks of ours come over as they are, in their place; the manifest says whose they were. */
static void test_own_trace(void **state)
{
    (void)state;
    make_own_trace(one, "libpcap");
    struct import_result result = run((const char *[]){one}, 1, NULL, 0);
    assert_int_equal(result.packets, 3);
    assert_int_equal(result.dropped, 3);
    assert_int_equal(result.left_out + result.damaged, 0);
    struct json *v = custom_of(out, "manifest");
    expect_text(v, "vantage", "libpcap");
    expect_text(v, "interface", "lo0");
    expect_text(v, "filter", "tcp port 2");
    expect_text(v, "host", "elsewhere");
    expect_text(v, "command", "sh load.sh");
    expect_text(v, "label", "first");
    expect_text(v, "simulated", "ideal");
    expect_text(v, "redacted", "bodies");
    json_free(v);
    struct reader *r = open_file(out);
    struct rec rec;
    struct err e;
    assert_int_equal(reader_next(r, &rec, &e), 1); /* manifest */
    for (size_t i = 0; i < 3; i++) {
        while (reader_next(r, &rec, &e) == 1 && rec.kind == REC_CUSTOM)
            assert_non_null(strstr(rec.json.p, "\"member\""));
        assert_int_equal(rec.kind, REC_PACKET);
        assert_int_equal(rec.t_ns, T + (int64_t)i);
        assert_int_equal(rec.link, LINK_RAW);
        assert_int_equal(rec.wire_n, rec.n + i);
        assert_int_equal(reader_next(r, &rec, &e), 1);
        assert_int_equal(rec.kind, REC_CUSTOM);
        assert_true(slice_is(rec.json, customs[i]));
    }
    assert_true(next_of(r, REC_COUNTS, &rec));
    assert_true(rec.received == 20 && rec.dropped == 3 && rec.if_dropped == UINT64_MAX);
    reader_close(r);
    v = custom_of(out, "note");
    const struct json *source = json_get(v, "source");
    int64_t packets;
    expect_text(source, "name", "one");
    assert_int_equal(strlen(json_string(source, "sha256")), 64);
    assert_true(json_int(source, "packets", &packets) && packets == 3);
    json_free(v);
}

/* Traces of two vantages are of neither; a label of the caller's counts. */
static void test_two_traces(void **state)
{
    (void)state;
    make_own_trace(one, "libpcap");
    make_own_trace(two, "socket");
    struct import_result result;
    struct err e;
    struct import_plan plan = {.files = (const char *[]){one, two},
                               .n_files = 2,
                               .output = out,
                               .label = "mine",
                               .redact = REDACT_SECRETS};
    assert_int_equal(import_run(&plan, &result, &e), TA_OK);
    assert_int_equal(result.packets, 6);
    assert_int_equal(result.dropped, 6);
    struct json *v = custom_of(out, "manifest");
    expect_text(v, "vantage", "import");
    expect_text(v, "label", "mine");
    expect_text(v, "redacted", "bodies"); /* the source's, which is more */
    json_free(v);
}

/* Classic pcap, both orders, micro- and nanoseconds: nothing but packets, to the nanosecond. */
static void test_pcap(void **state)
{
    (void)state;
    struct packet_bytes frame = frame_of(ethernet, sizeof ethernet, 1, 2);
    for (unsigned variant = 0; variant < 4; variant++) {
        bool big = variant & 1, nano = variant & 2;
        struct buf b;
        struct rec rec;
        buf_init(&b, 4096);
        uint32_t head[] = {nano ? 0xa1b23c4d : 0xa1b2c3d4,
                           big ? 2u << 16 | 4 : 4u << 16 | 2,
                           0,
                           0,
                           65535,
                           LINK_ETHERNET};
        for (size_t i = 0; i < 6; i++)
            put32(&b, head[i], big);
        put32(&b, 1796030400, big);
        put32(&b, 123456, big);
        put32(&b, (uint32_t)frame.n, big);
        put32(&b, (uint32_t)frame.n + 100, big);
        assert_int_equal(buf_add(&b, frame.p, frame.n), TA_OK);
        put(one, &b);
        buf_done(&b);
        struct import_result result = run((const char *[]){one}, 1, NULL, 0);
        assert_int_equal(result.packets, 1);
        assert_true(result.dropped == UINT64_MAX);
        struct reader *r = open_file(out);
        assert_true(next_packet(r, &rec));
        assert_int_equal(rec.t_ns, INT64_C(1796030400000000000) + (nano ? 123456 : 123456000));
        assert_int_equal(rec.link, LINK_ETHERNET);
        assert_int_equal(rec.n, frame.n);
        assert_int_equal(rec.wire_n, frame.n + 100);
        assert_memory_equal(rec.p, frame.p, frame.n);
        assert_false(next_packet(r, &rec));
        reader_close(r);
        struct json *v = custom_of(out, "manifest");
        expect_text(v, "vantage", "import");
        expect_text(v, "host", NULL);
        json_free(v);
        assert_null(custom_of(out, "clock")); /* this machine's clocks say nothing of it */
    }
}

/* Two interfaces of two link types: raw IP, tags and all gone; what is no IP is left out. */
static void test_mixed_links(void **state)
{
    (void)state;
    struct buf b;
    struct rec rec;
    put_section(&b);
    put_interface(&b, LINK_ETHERNET);
    put_interface(&b, LINK_SLL);
    struct packet_bytes frames[] = {frame_of(ethernet, 14, 1, 2), frame_of(cooked, 16, 3, 4),
                                    frame_of(tagged, 18, 5, 6)};
    put_packet(&b, 0, T, frames[0].p, frames[0].n);
    put_packet(&b, 0, T + 1, arp, sizeof arp);
    put_packet(&b, 1, T + 2, frames[1].p, frames[1].n);
    put_packet(&b, 0, T + 3, frames[2].p, frames[2].n);
    put_drops(&b, 0, 3);
    put_drops(&b, 1, 4);
    put(one, &b);
    buf_done(&b);
    struct import_result result = run((const char *[]){one}, 1, NULL, 0);
    assert_int_equal(result.packets, 3);
    assert_int_equal(result.left_out, 1);
    assert_int_equal(result.dropped, 7);
    struct reader *r = open_file(out);
    for (uint16_t i = 0; i < 3; i++) {
        struct packet_bytes want = frame_of("", 0, (uint16_t)(2 * i + 1), (uint16_t)(2 * i + 2));
        assert_true(next_packet(r, &rec));
        assert_int_equal(rec.link, LINK_RAW);
        assert_int_equal(rec.n, want.n);
        assert_int_equal(rec.wire_n, want.n);
        assert_memory_equal(rec.p, want.p, want.n);
    }
    reader_close(r);
    expect_note("1 that are no IP left out; packets of several link types became raw IP: "
                "Ethernet (1), Linux cooked (113)");
}

/* One packet at two interfaces is one packet; the same a while later is a retransmission (C13). */
static void test_twins(void **state)
{
    (void)state;
    struct buf b;
    struct packet_bytes frame = frame_of(ethernet, 14, 1, 2);
    put_section(&b);
    put_interface(&b, LINK_ETHERNET);
    put_interface(&b, LINK_ETHERNET);
    put_packet(&b, 0, T, frame.p, frame.n);
    put_packet(&b, 1, T - 1000, frame.p, frame.n);
    put_packet(&b, 0, T + LIMIT_TWIN_NS, frame.p, frame.n);
    put(one, &b);
    buf_done(&b);
    struct import_result result = run((const char *[]){one}, 1, NULL, 0);
    assert_int_equal(result.packets, 2);
    expect_note("1 seen at another interface already left out");
}

/* The ports are looked for behind tags, and fragments, of which only the first has some, are kept
 * (C14, C15). */
static void test_ports(void **state)
{
    (void)state;
    struct buf b;
    struct rec rec;
    struct packet_bytes frames[] = {
        frame_of(ethernet, 14, 1000, 8000), frame_of(ethernet, 14, 1000, 9000),
        frame_of(tagged, 18, 8000, 1001), frame_of(ethernet, 14, 1000, 9000),
        frame_of(ethernet, 14, 1000, 8000)};
    frames[3].p[14 + 6] = 0x20; /* more fragments */
    frames[4].p[14 + 9] = 17;   /* UDP */
    put_section(&b);
    put_interface(&b, LINK_ETHERNET);
    for (size_t i = 0; i < 5; i++)
        put_packet(&b, 0, T + (int64_t)i, frames[i].p, frames[i].n);
    put_packet(&b, 0, T + 5, arp, sizeof arp);
    put(one, &b);
    buf_done(&b);
    struct import_result result = run((const char *[]){one}, 1, (const uint16_t[]){8001, 8000}, 2);
    assert_int_equal(result.packets, 3);
    assert_int_equal(result.left_out, 3);
    struct reader *r = open_file(out);
    static const int kept[] = {0, 2, 3};
    for (size_t i = 0; i < 3; i++) {
        assert_true(next_packet(r, &rec));
        assert_int_equal(rec.t_ns, T + kept[i]);
        assert_int_equal(rec.n, frames[kept[i]].n);
    }
    reader_close(r);
    expect_note("3 of other ports left out");
}

/* A simple packet block has no time, 1969 is none for a trace, and packets have a largest size. */
static void test_what_does_not_fit(void **state)
{
    (void)state;
    struct buf b;
    struct rec rec;
    static uint8_t large[LIMIT_PACKET_BYTES + 1000];
    struct packet_bytes frame = frame_of(ethernet, 14, 1, 2);
    put_section(&b);
    put_block(&b, PCAPNG_INTERFACE,
              (uint32_t[]){LINK_ETHERNET, 0, 1u << 16 | 9, 9, 8u << 16 | 14, UINT32_MAX, UINT32_MAX,
                           0}, /* if_tsoffset -1 */
              8, "", 0);
    put_block(&b, PCAPNG_SIMPLE_PACKET, (uint32_t[]){(uint32_t)frame.n}, 1, frame.p, frame.n);
    put_packet(&b, 0, 0, frame.p, frame.n);
    memcpy(large, frame.p, frame.n);
    put_packet(&b, 0, T, large, sizeof large);
    put(one, &b);
    buf_done(&b);
    struct import_result result = run((const char *[]){one}, 1, NULL, 0);
    assert_int_equal(result.packets, 1);
    assert_int_equal(result.left_out, 2);
    struct reader *r = open_file(out);
    assert_true(next_packet(r, &rec));
    assert_int_equal(rec.t_ns, T - 1000000000);
    assert_int_equal(rec.n, LIMIT_PACKET_BYTES);
    assert_int_equal(rec.wire_n, sizeof large);
    reader_close(r);
    expect_note("2 without a usable time stamp left out; 1 longer than a trace may have them cut");
}

/* Cut at every byte: what was whole is in the copy, and the note says that there was more. */
static void test_truncated(void **state)
{
    (void)state;
    struct buf b;
    struct packet_bytes frame = frame_of(ethernet, 14, 1, 2);
    put_section(&b);
    put_interface(&b, LINK_ETHERNET);
    size_t packets_at = b.n;
    for (int i = 0; i < 2; i++)
        put_packet(&b, 0, T + i, frame.p, frame.n);
    size_t whole = b.n, packet_bytes = (whole - packets_at) / 2;
    for (size_t n = packets_at; n <= whole; n++) {
        b.n = n;
        put(one, &b);
        struct import_result result = run((const char *[]){one}, 1, NULL, 0);
        assert_int_equal(result.packets, (n - packets_at) / packet_bytes);
        assert_int_equal(result.damaged, (n - packets_at) % packet_bytes != 0);
        if (result.damaged > 0)
            expect_note("the file is cut short, and what it holds was used");
    }
    buf_done(&b);
}

static int expect_refusal(const char *const *files, size_t n, const char *output, struct err *e)
{
    struct import_plan plan = {
        .files = files, .n_files = n, .output = output, .redact = REDACT_NOTHING};
    struct import_result result;
    *e = (struct err){.msg = ""};
    int rc = import_run(&plan, &result, e);
    assert_int_not_equal(rc, TA_OK);
    return rc;
}

static void test_refusals(void **state)
{
    (void)state;
    struct err e;
    struct buf b;
    buf_init(&b, 4096);
    buf_puts(&b, "no capture at all");
    put(one, &b);
    buf_done(&b);
    assert_int_equal(expect_refusal((const char *[]){one, two, folder}, 3, out, &e), TA_EFORMAT);
    assert_int_equal(access(out, F_OK), -1); /* nothing was made */
    make_own_trace(two, "libpcap");
    assert_int_equal(expect_refusal((const char *[]){one, two}, 2, two, &e), TA_EUSAGE);
    assert_non_null(strstr(e.msg, two));
    struct reader *r = open_file(two); /* nothing was lost */
    struct rec rec;
    for (int i = 0; i < 3; i++)
        assert_true(next_packet(r, &rec));
    reader_close(r);
    struct import_result result = run((const char *[]){one, two}, 2, NULL, 0);
    assert_int_equal(result.files, 1);
    assert_int_equal(result.packets, 3);
}

static void test_no_packets(void **state)
{
    (void)state;
    struct buf b;
    put_section(&b);
    put(one, &b);
    buf_done(&b);
    struct import_result result = run((const char *[]){one}, 1, NULL, 0);
    assert_int_equal(result.files, 1);
    assert_int_equal(result.packets, 0);
    expect_note("imported from one: 0 packets");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_own_trace, empty_folder),
        cmocka_unit_test_teardown(test_two_traces, empty_folder),
        cmocka_unit_test_teardown(test_pcap, empty_folder),
        cmocka_unit_test_teardown(test_mixed_links, empty_folder),
        cmocka_unit_test_teardown(test_twins, empty_folder),
        cmocka_unit_test_teardown(test_ports, empty_folder),
        cmocka_unit_test_teardown(test_what_does_not_fit, empty_folder),
        cmocka_unit_test_teardown(test_truncated, empty_folder),
        cmocka_unit_test_teardown(test_refusals, empty_folder),
        cmocka_unit_test_teardown(test_no_packets, empty_folder),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
