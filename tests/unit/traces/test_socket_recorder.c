/* Made-up packets against Wireshark: no error, right checksums, and each stream gives back the
 * bytes that went in. */
#include "tests/unit/traces/scratch.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <sys/un.h>

#include "traces/base/mem.h"
#include "traces/limits.h"
#include "traces/reader.h"
#include "traces/socket_recorder.h"

enum { MOST = 64 << 20, STREAMS = 4, TURNS = 12 };

static const struct writer_origin origin = {
    .vantage = "socket", .link = 101, .snaplen = LIMIT_PACKET_BYTES};

/* The socket address of a text; port 0 is good enough for none. */
static struct sockaddr_storage address(const char *text, uint16_t port)
{
    struct sockaddr_storage s = {0};
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
        memcpy(&s, &in, sizeof in);
    else if (inet_pton(AF_INET6, text, &in6.sin6_addr) == 1)
        memcpy(&s, &in6, sizeof in6);
    else
        fail();
    return s;
}

static const struct {
    const char *local, *remote;
    bool we_called;
    bool reset;
} streams[STREAMS] = {
    {"127.0.0.1", "127.0.0.1", true, false},
    {"::1", "::1", false, false},
    {"::ffff:10.0.0.1", "::ffff:10.0.0.2", true, true},
    {"127.0.0.1", "127.0.0.1", true, false}, /* the ports of the first, again */
};

/* Turn k of stream i: who speaks, and what. Lengths on both sides of one segment, and odd. */
static size_t turn(int i, int k, bool *we, uint8_t *p)
{
    static const size_t lengths[TURNS] = {1,    2,      3, 65494,  65495, 65496,
                                          1000, 200001, 7, 131000, 4,     5};
    uint64_t seed = (uint64_t)(i * TURNS + k + 1);
    *we = scratch_random(&seed) >> 40 & 1;
    for (size_t n = 0; n < lengths[k]; n++)
        p[n] = (uint8_t)(scratch_random(&seed) >> 32);
    return lengths[k];
}

static void record(void)
{
    struct writer *w;
    struct err e = {0};
    uint8_t *p = mem_alloc(1 << 20);
    assert_int_equal(writer_open(&w, scratch_file, &origin, &e), TA_OK);
    struct socket_recorder *r = socket_recorder_new(w);
    int64_t t_ns = INT64_C(1796030400000000000);
    for (int i = 0; i < STREAMS; i++) {
        uint16_t port = i == 3 ? 40000 : (uint16_t)(40000 + i);
        struct sockaddr_storage local = address(streams[i].local, port);
        struct sockaddr_storage remote = address(streams[i].remote, 8000);
        struct socket_flow *f =
            socket_flow_open(r, (struct sockaddr *)&local, (struct sockaddr *)&remote,
                             streams[i].we_called, t_ns += 1000, &e);
        assert_non_null(f);
        for (int k = 0; k < TURNS; k++) {
            bool we;
            size_t n = turn(i, k, &we, p);
            int rc = we ? socket_flow_sent(f, p, n, t_ns += 1000, &e)
                        : socket_flow_received(f, p, n, t_ns += 1000, &e);
            assert_int_equal(rc, TA_OK);
        }
        assert_int_equal(socket_flow_closed(f, true, streams[i].reset, t_ns += 1000, &e), TA_OK);
        assert_int_equal(socket_flow_closed(f, true, streams[i].reset, t_ns += 1000, &e), TA_OK);
        assert_int_equal(socket_flow_closed(f, false, false, t_ns += 1000, &e), TA_OK);
        socket_flow_free(f);
    }
    socket_recorder_free(r);
    assert_int_equal(writer_close(w, &e), TA_OK);
    free(p);
}

/* Bytes of lines of hexadecimal: those of the caller, and behind a tab those of the called. */
static void read_follow(const char *text, struct buf got[2])
{
    for (const char *line = text; *line != '\0';
         line += strcspn(line, "\n"), line += *line == '\n') {
        size_t n = strcspn(line, "\n"), tab = *line == '\t';
        if (strspn(line + tab, "0123456789abcdef") != n - tab)
            continue; /* a heading */
        for (size_t k = tab; k + 1 < n; k += 2) {
            const char two[3] = {line[k], line[k + 1], '\0'};
            uint8_t byte = (uint8_t)strtoul(two, NULL, 16);
            assert_int_equal(buf_add(&got[tab], &byte, 1), TA_OK);
        }
    }
}

static void wireshark_follows_every_byte(void **state)
{
    (void)state;
    scratch_needs_tshark();
    struct buf out, got[2], given[2];
    uint8_t *p = mem_alloc(1 << 20);
    buf_init(&out, MOST);
    for (int side = 0; side < 2; side++) {
        buf_init(&got[side], MOST);
        buf_init(&given[side], MOST);
    }
    record();
    for (int i = 0; i < STREAMS; i++) {
        for (int side = 0; side < 2; side++) {
            buf_clear(&got[side]);
            buf_clear(&given[side]);
        }
        for (int k = 0; k < TURNS; k++) {
            bool we;
            size_t n = turn(i, k, &we, p);
            assert_int_equal(buf_add(&given[we == streams[i].we_called ? 0 : 1], p, n), TA_OK);
        }
        scratch_output(&out, "tshark -r %s -q -z follow,tcp,raw,%d 2>%s/errors; rm %s/errors",
                       scratch_file, i, scratch_folder, scratch_folder);
        read_follow(buf_text(&out), got);
        for (int side = 0; side < 2; side++) {
            assert_true(given[side].n > 0);
            assert_int_equal(got[side].n, given[side].n);
            assert_memory_equal(got[side].p, given[side].p, given[side].n);
        }
    }
    for (int side = 0; side < 2; side++) {
        buf_done(&got[side]);
        buf_done(&given[side]);
    }
    buf_done(&out);
    free(p);
}

static long tshark_count(const char *filter)
{
    struct buf out;
    buf_init(&out, MOST);
    scratch_output(&out,
                   "tshark -r %s -o tcp.check_checksum:TRUE -o ip.check_checksum:TRUE -Y '%s' "
                   "2>%s/errors | wc -l; rm %s/errors",
                   scratch_file, filter, scratch_folder, scratch_folder);
    long n = strtol(buf_text(&out), NULL, 10);
    buf_done(&out);
    return n;
}

static void wireshark_finds_no_fault(void **state)
{
    (void)state;
    scratch_needs_tshark();
    record();
    long all = tshark_count("tcp");
    assert_in_range(all, STREAMS * TURNS, 1000);
    assert_int_equal(tshark_count("tcp.checksum.status == 1"), all);
    assert_int_equal(tshark_count("ip.checksum.status == 1"), tshark_count("ip"));
    static const char *const faults[] = {
        "_ws.malformed",
        "_ws.expert.severity >= 8388608", /* error */
        "tcp.analysis.lost_segment || tcp.analysis.ack_lost_segment",
        "tcp.analysis.retransmission || tcp.analysis.out_of_order || tcp.analysis.duplicate_ack",
        "tcp.analysis.window_full || tcp.analysis.zero_window",
        "tcp.analysis.reused_ports && tcp.stream != 3",
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        if (tshark_count(faults[i]) != 0)
            fail_msg("Wireshark finds: %s", faults[i]);
    }
}

/* The packets themselves, without Wireshark: sizes, times, and the ends of connections. */
static void packets_are_whole(void **state)
{
    (void)state;
    struct reader *r;
    struct rec rec;
    struct err e = {0};
    int64_t last = 0;
    int syns = 0, fins = 0, resets = 0;
    record();
    assert_int_equal(reader_open(&r, scratch_file, &e), TA_OK);
    while (reader_next(r, &rec, &e) == 1) {
        if (rec.kind != REC_PACKET)
            continue;
        assert_true(rec.n >= 40 && rec.n == rec.wire_n);
        bool v4 = rec.p[0] == 0x45;
        assert_true(v4 || rec.p[0] == 0x60);
        assert_int_equal(v4 ? rec.p[2] << 8 | rec.p[3] : 40 + (rec.p[4] << 8 | rec.p[5]), rec.n);
        uint8_t flags = rec.p[(v4 ? 20 : 40) + 13];
        syns += flags >> 1 & 1;
        fins += flags & 1;
        resets += flags >> 2 & 1;
        assert_true(rec.t_ns >= last);
        last = rec.t_ns;
    }
    assert_int_equal(syns, 2 * STREAMS);
    assert_int_equal(fins, 2 * (STREAMS - 1));
    assert_int_equal(resets, 1);
    reader_close(r);
}

static void refuses_other_families(void **state)
{
    (void)state;
    struct writer *w;
    struct err e = {0};
    assert_int_equal(writer_open(&w, scratch_file, &origin, &e), TA_OK);
    struct socket_recorder *r = socket_recorder_new(w);
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr_storage v4 = address("127.0.0.1", 1), v6 = address("::1", 2);
    assert_null(
        socket_flow_open(r, (struct sockaddr *)&local, (struct sockaddr *)&local, true, 1, &e));
    assert_non_null(strstr(e.msg, "IPv4"));
    assert_null(socket_flow_open(r, (struct sockaddr *)&v4, (struct sockaddr *)&v6, true, 1, &e));
    assert_int_equal(writer_packets(w), 0);
    socket_recorder_free(r);
    assert_int_equal(writer_close(w, &e), TA_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_are_whole),
        cmocka_unit_test(refuses_other_families),
        cmocka_unit_test(wireshark_follows_every_byte),
        cmocka_unit_test(wireshark_finds_no_fault),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
