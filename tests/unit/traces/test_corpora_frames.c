/* Captures of others, held against what tshark and capinfos count in them: packets, frame numbers
 * and TCP streams, with a reason wherever ours differ. */
#include "tests/unit/traces/scratch.h"

#include "traces/fragments.h"
#include "traces/pipeline.h"

static const char *corpora;

/* The folder of captures; without it a test says so and is skipped. */
static void need_corpora(void)
{
    corpora = getenv("TOKAUDIT_CORPORA");
    if (corpora != NULL)
        return;
    print_message("SKIPPED: TOKAUDIT_CORPORA is not set, the captures of others were not read\n");
    skip();
}

static const char *in_corpora(const char *file)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", corpora, file);
    return path;
}

/* --- packets, frames, streams ----------------------------------------------------------------- */

struct counted {
    uint64_t packets, last_frame, streams;
};

static int count_packet(void *ctx, const struct rec *r)
{
    struct counted *n = ctx;
    n->packets++;
    n->last_frame = r->frame;
    return TA_OK;
}

static int count_custom(void *ctx, const struct rec *r)
{
    ((struct counted *)ctx)->last_frame = r->frame;
    return TA_OK;
}

/* False: it is no capture. */
static bool count(const char *file, struct counted *n)
{
    struct reader *r = NULL;
    struct err e = {0};
    struct pipeline_totals t;
    *n = (struct counted){0};
    int rc = reader_open(&r, in_corpora(file), &e);
    if (rc != TA_OK) {
        assert_int_equal(rc, TA_EFORMAT);
        assert_int_not_equal(e.msg[0], '\0');
        return false;
    }
    struct pipeline_sink sink = {
        .exchange = {.ctx = n}, .custom = count_custom, .packet = count_packet};
    assert_int_equal(pipeline_run(r, sink, &t, &e), TA_OK);
    assert_int_equal(t.packets, n->packets);
    n->streams = t.tcp.connections;
    reader_close(r);
    return true;
}

/* Where we do not count as capinfos and tshark do, and why. */
static const struct {
    const char *file;
    struct counted ours;
    const char *why;
} differences[] = {
#define BEHIND "the last frames are custom blocks of others, of which nothing is handed on"
    {"pcapng-test-generator/be/advanced/test102.pcapng", {5, 7, 0}, BEHIND},
    {"pcapng-test-generator/le/advanced/test102.pcapng", {5, 7, 0}, BEHIND},
    {"pcapng-test-generator/be/basic/test017.pcapng", {0, 0, 0}, BEHIND},
    {"pcapng-test-generator/le/basic/test017.pcapng", {0, 0, 0}, BEHIND},
    {"pcapng-test-generator/be/basic/test018.pcapng", {4, 7, 0}, BEHIND},
    {"pcapng-test-generator/le/basic/test018.pcapng", {4, 7, 0}, BEHIND},
    {"pcapplusplus/pcapng-example.pcapng",
     {159, 159, 1},
     "100 packets are stamped in the year 586,512: they have no time, and are left out"},
    {"tcpdump/bigtcp-ipv6.pcap",
     {1, 1, 1},
     "BIG TCP: an IPv6 length of 0 without a jumbo option means the rest of the frame (C5)"},
    {"zeek/http/http-desync-request-response-5.pcap",
     {53, 53, 2},
     "the last FIN of a connection whose data came before the capture is no connection"},
};

static void expect(const char *file, struct counted want)
{
    struct counted found;
    for (size_t i = 0; i < sizeof differences / sizeof differences[0]; i++) {
        if (strcmp(differences[i].file, file) != 0)
            continue;
        if (memcmp(&differences[i].ours, &want, sizeof want) == 0)
            fail_msg("%s is as expected now, although: %s", file, differences[i].why);
        want = differences[i].ours;
    }
    count(file, &found);
    if (memcmp(&found, &want, sizeof want) != 0)
        fail_msg("%s: %llu packets, last frame %llu, %llu streams; expected %llu, %llu, %llu", file,
                 (unsigned long long)found.packets, (unsigned long long)found.last_frame,
                 (unsigned long long)found.streams, (unsigned long long)want.packets,
                 (unsigned long long)want.last_frame, (unsigned long long)want.streams);
}

static size_t columns(char *line, char *out[], size_t max)
{
    size_t n = 0;
    line[strcspn(line, "\r\n")] = '\0';
    for (char *p = line; n < max; n++) {
        out[n] = p;
        p = strchr(p, '\t');
        if (p == NULL)
            return n + 1;
        *p++ = '\0';
    }
    return n;
}

static void test_counts(void **state)
{
    (void)state;
    char line[2000], *cell[7] = {0};
    unsigned files = 0;
    need_corpora();
    FILE *f = fopen(in_corpora("EXPECTED-tshark.tsv"), "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    while (fgets(line, sizeof line, f) != NULL) {
        assert_int_equal(columns(line, cell, 7), 7);
        expect(cell[0], (struct counted){strtoull(cell[1], NULL, 10), strtoull(cell[2], NULL, 10),
                                         strtoull(cell[3], NULL, 10)});
        files++;
    }
    fclose(f);
    print_message("%u captures: packets, frames and streams are tshark's, but for %zu\n", files,
                  sizeof differences / sizeof differences[0]);
    assert_true(files >= 193);
}

/* --- byte orders (N3) ------------------------------------------------------------------------- */

static struct reader *open_reader(const char *file)
{
    struct reader *r = NULL;
    struct err e = {0};
    assert_int_equal(reader_open(&r, in_corpora(file), &e), TA_OK);
    return r;
}

static void expect_same_records(const char *big, const char *little)
{
    struct reader *r[2] = {open_reader(big), open_reader(little)};
    struct rec a, b;
    struct err e;
    for (;;) {
        int more = reader_next(r[0], &a, &e);
        assert_int_equal(reader_next(r[1], &b, &e), more);
        assert_true(more >= 0);
        if (more == 0)
            break;
        assert_int_equal(a.kind, b.kind);
        assert_int_equal(a.frame, b.frame);
        assert_int_equal(a.t_ns, b.t_ns);
        assert_int_equal(a.has_time, b.has_time);
        assert_int_equal(a.link, b.link);
        assert_int_equal(a.n, b.n);
        assert_int_equal(a.wire_n, b.wire_n);
        assert_true(a.received == b.received && a.dropped == b.dropped);
        assert_true(a.if_dropped == b.if_dropped);
        if (a.n > 0)
            assert_memory_equal(a.p, b.p, a.n);
    }
    const struct reader_health *x = reader_health(r[0]), *y = reader_health(r[1]);
    assert_int_equal(x->skipped_blocks, y->skipped_blocks);
    assert_int_equal(x->bad_blocks, y->bad_blocks);
    assert_int_equal(x->truncated, y->truncated);
    reader_close(r[0]);
    reader_close(r[1]);
}

static void test_byte_orders(void **state)
{
    (void)state;
    static const struct {
        const char *level;
        int first, last;
    } tests[] = {{"basic", 1, 18}, {"advanced", 100, 102}, {"difficult", 200, 202}};
    char big[128], little[128];
    need_corpora();
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        for (int k = tests[i].first; k <= tests[i].last; k++) {
            snprintf(big, sizeof big, "pcapng-test-generator/be/%s/test%03d.pcapng", tests[i].level,
                     k);
            snprintf(little, sizeof little, "pcapng-test-generator/le/%s/test%03d.pcapng",
                     tests[i].level, k);
            expect_same_records(big, little);
        }
    }
}

/* --- fragments (C15) -------------------------------------------------------------------------- */

/* The bytes that a file of hexadecimal digits stands for. */
static size_t read_hex(const char *file, uint8_t *out, size_t max)
{
    FILE *f = fopen(in_corpora(file), "r");
    size_t n = 0;
    unsigned byte;
    assert_non_null(f);
    while (n < max && fscanf(f, "%2x", &byte) == 1)
        out[n++] = (uint8_t)byte;
    fclose(f);
    return n;
}

/* What PcapPlusPlus puts together is an Ethernet frame; we hand on what is behind its IP header. */
static void test_ipv4_fragments(void **state)
{
    (void)state;
    enum { HEADERS = 14 + 20 };
    uint8_t want[4096];
    struct rec rec;
    struct err e;
    struct ip_bytes ip;
    struct segment s;
    struct ip_fragment part, whole;
    unsigned wholes = 0;
    need_corpora();
    size_t n = read_hex("pcapplusplus/frag_http_req_reassembled.txt", want, sizeof want);
    assert_int_equal(n, 1514);
    struct fragments *fragments = fragments_new();
    struct reader *r = open_reader("pcapplusplus/frag_http_req.pcap");
    while (reader_next(r, &rec, &e) == 1) {
        assert_int_equal(link_network(rec.link, rec.p, rec.n, rec.wire_n, &ip), LINK_IP);
        if (ip_decode(ip, &s, &part) != LINK_FRAGMENT ||
            !fragments_add(fragments, &part, rec.t_ns, &whole))
            continue;
        wholes++;
        assert_int_equal(whole.n, n - HEADERS);
        assert_int_equal(whole.wire_n, n - HEADERS);
        assert_memory_equal(whole.data, want + HEADERS, n - HEADERS);
    }
    assert_int_equal(wholes, 1);
    assert_int_equal(fragments_totals(fragments).lost, 0);
    reader_close(r);
    fragments_free(fragments);
}

/* Four datagrams of UDP, as long as tshark's ipv6.reassembled.length says. */
static void test_ipv6_fragments(void **state)
{
    (void)state;
    struct rec rec;
    struct err e;
    struct ip_bytes ip;
    struct segment s;
    struct ip_fragment part, whole;
    static const size_t lengths[] = {741, 1452, 1003, 786};
    unsigned wholes = 0;
    need_corpora();
    struct fragments *fragments = fragments_new();
    struct reader *r = open_reader("pcapplusplus/ip6_fragments.pcap");
    while (reader_next(r, &rec, &e) == 1) {
        assert_int_equal(link_network(rec.link, rec.p, rec.n, rec.wire_n, &ip), LINK_IP);
        assert_int_equal(ip_decode(ip, &s, &part), LINK_FRAGMENT);
        if (!fragments_add(fragments, &part, rec.t_ns, &whole))
            continue;
        assert_true(wholes < 4);
        assert_int_equal(whole.protocol, 17);
        assert_int_equal(whole.n, lengths[wholes++]);
    }
    assert_int_equal(wholes, 4);
    assert_int_equal(fragments_totals(fragments).fragments, 36);
    assert_int_equal(fragments_totals(fragments).lost, 0);
    reader_close(r);
    fragments_free(fragments);
}

/* --- link types (C17) ------------------------------------------------------------------------- */

static int count_request(void *ctx, struct exchange *x)
{
    (void)x;
    ++*(unsigned *)ctx;
    return TA_OK;
}

static void test_requests_behind_every_link(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        unsigned requests;
    } captures[] = {
        {"zeek/link/http-qinq-0.pcap", 1},           {"zeek/link/http-vlan-0.pcap", 1},
        {"zeek/link/localhost-bad-chksum.pcap", 1},  {"zeek/link/nflog-http.pcap", 1},
        {"zeek/link/ipv6-http-atomic-frag.pcap", 4}, /* HTTP/0.9, which tshark takes for none */
        {"zeek/link/tcp-http-with-padding.pcap", 1}, /* on port 27272 */
        {"pcapplusplus/frag_http_req.pcap", 1},      {"arkime/twovlan.pcap", 1},
    };
    need_corpora();
    for (size_t i = 0; i < sizeof captures / sizeof captures[0]; i++) {
        struct pipeline_totals t;
        struct err e;
        unsigned found = 0;
        struct reader *r = open_reader(captures[i].file);
        struct pipeline_sink sink = {.exchange = {.ctx = &found, .request = count_request}};
        assert_int_equal(pipeline_run(r, sink, &t, &e), TA_OK);
        reader_close(r);
        assert_int_equal(t.unknown_link_packets, 0);
        assert_int_equal(t.bad_headers, 0);
        if (found != captures[i].requests)
            fail_msg("%s: %u requests, expected %u", captures[i].file, found, captures[i].requests);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_byte_orders),
        cmocka_unit_test(test_ipv4_fragments),
        cmocka_unit_test(test_ipv6_fragments),
        cmocka_unit_test(test_requests_behind_every_link),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
