/* A whole trace through all stages: one made here, of which every number is known; and captures of
 * others (folder TOKAUDIT_CORPORA), whose streams and messages Wireshark has counted. */
#include "tests/unit/traces/scratch.h"

#include "tests/support/packet.h"
#include "traces/fragments.h"
#include "traces/pipeline.h"
#include "traces/sha256.h"
#include "traces/writer.h"

/* --- a trace made here ---------------------------------------------------------------------- */

struct maker {
    struct writer *w;
    struct err e;
    int64_t t;
};

static void put(struct maker *m, const struct packet_bytes *b, size_t snapped)
{
    m->t += 1000000;
    assert_int_equal(writer_packet(m->w, m->t, b->p, b->n - snapped, b->n, &m->e), TA_OK);
}

/* A connection that is written packet by packet. */
struct made {
    uint16_t port;
    uint32_t seq[2];
};

enum { CLIENT, SERVER };

static void say(struct maker *m, struct made *c, int who, uint8_t flags, const char *text,
                size_t snapped)
{
    struct endpoint ends[2] = {{4, {127, 0, 0, 1}, c->port}, {4, {127, 0, 0, 1}, 8000}};
    struct packet_bytes b;
    size_t n = strlen(text);
    packet_raw(&b, &(struct segment){.from = ends[who],
                                     .to = ends[!who],
                                     .seq = c->seq[who],
                                     .ack = c->seq[!who],
                                     .flags = flags,
                                     .window = 500,
                                     .data = (const uint8_t *)text,
                                     .n = n});
    put(m, &b, snapped);
    c->seq[who] += (uint32_t)n + (flags & (TCP_SYN | TCP_FIN) ? 1 : 0);
}

static struct made connect_to(struct maker *m, uint16_t port)
{
    struct made c = {port, {100, 200}};
    say(m, &c, CLIENT, TCP_SYN, "", 0);
    say(m, &c, SERVER, TCP_SYN | TCP_ACK, "", 0);
    say(m, &c, CLIENT, TCP_ACK, "", 0);
    return c;
}

static void make_trace(struct maker *m)
{
    struct writer_origin origin = {.vantage = "socket", .link = LINK_RAW, .snaplen = 262144};
    *m = (struct maker){.t = 1700000000000000000};
    assert_int_equal(writer_open(&m->w, scratch_file, &origin, &m->e), TA_OK);
    struct made a = connect_to(m, 40001);
    say(m, &a, CLIENT, TCP_ACK, "POST /v1 HTTP/1.1\r\nContent-Length: 2\r\n\r\n{", 0);
    say(m, &a, CLIENT, TCP_ACK, "}", 0);
    say(m, &a, SERVER, TCP_ACK, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", 0);
    say(m, &a, SERVER, TCP_ACK, "data: one\n\ndata: t", 0);
    struct made tls = connect_to(m, 40002);
    say(m, &tls, CLIENT, TCP_ACK, "\x16", 0);
    say(m, &tls, CLIENT, TCP_ACK, "\x03\x01GET / HTTP/1.1\r\n\r\n", 0);
    say(m, &tls, SERVER, TCP_ACK, "\x16\x03\x03", 0);
    say(m, &a, SERVER, TCP_ACK, "wo\n\n", 0);
    struct made h2 = connect_to(m, 40003);
    say(m, &h2, CLIENT, TCP_ACK, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0);
    say(m, &a, SERVER, TCP_ACK | TCP_FIN, "", 0);
    struct made snapped = connect_to(m, 40004);
    say(m, &snapped, CLIENT, TCP_ACK, "GET /s HTTP/1.1\r\nContent-Length: 9\r\n\r\n123456789", 4);
    struct packet_bytes udp = {.n = 0};
    packet_raw(&udp, &(struct segment){.from = {4, {1}, 1}, .to = {4, {2}, 2}});
    udp.p[9] = 17;
    put(m, &udp, 0);
    udp.p[9] = 6;
    udp.p[7] = 1; /* a fragment */
    put(m, &udp, 0);
    udp.p[0] = 0x41; /* a header of 4 bytes */
    put(m, &udp, 0);
    assert_int_equal(writer_counts(m->w, m->t, (struct writer_counts){100, 7, UINT64_MAX}, &m->e),
                     TA_OK);
    assert_int_equal(writer_close(m->w, &m->e), TA_OK);
}

struct seen {
    struct buf log;
    unsigned packets, custom;
    uint64_t frames;
};

static int seen_packet(void *ctx, const struct rec *r)
{
    struct seen *s = ctx;
    assert_true(r->frame > s->frames);
    s->frames = r->frame;
    s->packets++;
    return TA_OK;
}

static int seen_custom(void *ctx, const struct rec *r)
{
    struct seen *s = ctx;
    assert_true(r->json.n > 0);
    s->custom++;
    return TA_OK;
}

static int seen_event(void *ctx, struct exchange *x, const struct event *ev)
{
    struct seen *s = ctx;
    buf_printf(&s->log, "%llu %.*s after %lld ms, packet +%llu\n", (unsigned long long)x->id,
               (int)ev->data.n, ev->data.p,
               (long long)(ev->last.t_ready - x->request_first.t_seen) / 1000000,
               (unsigned long long)(ev->last.pkt - x->request_first.pkt));
    return TA_OK;
}

static int seen_done(void *ctx, struct exchange *x)
{
    struct seen *s = ctx;
    buf_printf(&s->log, "%llu %.*s port %u %s %s %s ended after %lld ms\n",
               (unsigned long long)x->id, (int)x->target.n, x->target.p,
               (unsigned)x->conn->client.port, x->request_complete ? "asked" : "cut",
               x->response_complete ? "answered" : "open", x->damaged ? "damaged" : "whole",
               (long long)(x->t_end - x->request_first.t_seen) / 1000000);
    return TA_OK;
}

static int run(struct seen *s, struct pipeline_totals *t)
{
    struct reader *r = NULL;
    struct err e = {0};
    struct pipeline_sink sink = {.exchange = {.ctx = s, .event = seen_event, .done = seen_done},
                                 .custom = seen_custom,
                                 .packet = seen_packet};
    *s = (struct seen){0};
    buf_init(&s->log, 1 << 16);
    assert_int_equal(reader_open(&r, scratch_file, &e), TA_OK);
    int rc = pipeline_run(r, sink, t, &e);
    reader_close(r);
    return rc;
}

static void test_made_trace(void **state)
{
    (void)state;
    struct maker m;
    struct seen s;
    struct pipeline_totals t;
    make_trace(&m);
    assert_int_equal(run(&s, &t), TA_OK);
    assert_string_equal(buf_text(&s.log),
                        "1 one after 3 ms, packet +3\n"
                        "1 two after 10 ms, packet +10\n"
                        "1 /v1 port 40001 asked answered whole ended after 15 ms\n"
                        "2 /s port 40004 cut open damaged ended after 0 ms\n");
    assert_int_equal(t.packets, 26);
    assert_int_equal(s.packets, 26);
    assert_true(s.custom >= 4); /* manifest, clock, member, closing */
    assert_int_equal(t.first_t_ns, 1700000000001000000);
    assert_int_equal(t.last_t_ns, m.t);
    assert_true(t.first_frame > 0 && t.first_frame < s.frames);
    assert_int_equal(t.link, LINK_RAW);
    assert_int_equal(t.tls_connections, 1);
    assert_int_equal(t.http2_connections, 1);
    assert_int_equal(t.not_tcp, 1);
    assert_int_equal(t.fragments, 1);
    assert_int_equal(t.bad_headers, 1);
    assert_int_equal(t.snapped, 1);
    assert_int_equal(t.timeless + t.unknown_link_packets, 0);
    assert_int_equal(t.counted_received, 100);
    assert_int_equal(t.counted_dropped, 7);
    assert_true(t.counted_if_dropped == UINT64_MAX);
    assert_int_equal(t.tcp.connections, 4);
    assert_int_equal(t.tcp.segments, 23);
    assert_int_equal(t.tcp.gap_bytes, 4);
    buf_done(&s.log);
}

static int stop_at_event(void *ctx, struct exchange *x, const struct event *ev)
{
    (void)ctx, (void)x, (void)ev;
    return TA_STOP;
}

static void test_stop(void **state)
{
    (void)state;
    struct maker m;
    struct seen s = {0};
    struct pipeline_totals t;
    struct reader *r = NULL;
    struct err e = {0};
    struct pipeline_sink sink = {.exchange = {.ctx = &s, .event = stop_at_event},
                                 .packet = seen_packet};
    make_trace(&m);
    assert_int_equal(reader_open(&r, scratch_file, &e), TA_OK);
    assert_int_equal(pipeline_run(r, sink, &t, &e), TA_STOP);
    reader_close(r);
    assert_int_equal(s.packets, 7);
}

/* --- captures of others --------------------------------------------------------------------- */

static const char *corpora;

/* Where Wireshark's streams are not ours, and why. */
static const struct {
    const char *file, *why;
} other_streams[] = {
    {"pcapplusplus/unidirectional_tcp_stream_with_missing_packet.pcap", "tshark stops at the hole"},
    {"suricata-verify/bug-6244-tcp-rst-with-data.pcap", "the text of a reset is no data"},
    {"zeek/tcp/reassembly.pcap", "of copies that differ the first counts"},
};

static const char *other_stream(const char *file)
{
    for (size_t i = 0; i < sizeof other_streams / sizeof other_streams[0]; i++)
        if (strcmp(other_streams[i].file, file) == 0)
            return other_streams[i].why;
    return NULL;
}

struct direction {
    uint64_t n;
    struct sha256 *sha;
};

struct stream {
    struct direction side[2];
};

/* One line a stream in the manner of the expectations: bytes and hash of both directions, the
 * smaller text first, because Wireshark orders them by who sent the first packet. */
struct streams {
    struct buf lines;
};

static int stream_data(void *ctx, struct span in)
{
    struct direction *d = ctx;
    d->n += in.n;
    sha256_add(d->sha, in.p, in.n);
    return TA_OK;
}

static int stream_gap(void *ctx, uint64_t n, struct mark at)
{
    (void)ctx, (void)n, (void)at;
    return TA_OK;
}

static int stream_end(void *ctx, enum end_kind why, struct mark at)
{
    (void)ctx, (void)why, (void)at;
    return TA_OK;
}

static int stream_open(void *ctx, const struct tcp_conn *c, void **user, struct byte_sink *client,
                       struct byte_sink *server)
{
    (void)ctx, (void)c;
    struct stream *s = calloc(1, sizeof *s);
    assert_non_null(s);
    for (int i = 0; i < 2; i++)
        s->side[i].sha = sha256_new();
    *client = (struct byte_sink){&s->side[0], stream_data, stream_gap, stream_end};
    *server = (struct byte_sink){&s->side[1], stream_data, stream_gap, stream_end};
    *user = s;
    return TA_OK;
}

static void put_pair(struct buf *out, char a[64], char b[64])
{
    if (strcmp(a, "0 e3b0c44298fc1c14") == 0 && strcmp(a, b) == 0)
        return;
    bool swap = strcmp(a, b) > 0;
    buf_printf(out, "%s %s;", swap ? b : a, swap ? a : b);
}

static void stream_close(void *ctx, const struct tcp_conn *c, void *user)
{
    (void)c;
    struct streams *all = ctx;
    struct stream *s = user;
    char text[2][64];
    for (int i = 0; i < 2; i++) {
        char hash[SHA256_TEXT];
        sha256_text(s->side[i].sha, hash);
        snprintf(text[i], sizeof text[i], "%llu %.16s", (unsigned long long)s->side[i].n, hash);
        sha256_free(s->side[i].sha);
    }
    put_pair(&all->lines, text[0], text[1]);
    free(s);
}

static void follow(const char *file, struct streams *out)
{
    char path[600];
    struct reader *r = NULL;
    struct err e = {0};
    struct rec rec;
    struct segment s;
    struct fragments *fragments = fragments_new();
    snprintf(path, sizeof path, "%s/%s", corpora, file);
    assert_int_equal(reader_open(&r, path, &e), TA_OK);
    struct tcp *tcp =
        tcp_new((struct tcp_sink){out, stream_open, stream_close}, (struct anomaly_sink){0});
    while (reader_next(r, &rec, &e) == 1)
        if (rec.kind == REC_PACKET && fragments_decode(fragments, rec.link, rec.p, rec.n,
                                                       rec.wire_n, rec.t_ns, &s) == LINK_TCP)
            assert_int_equal(tcp_segment(tcp, &s, rec.t_ns, rec.frame), TA_OK);
    assert_int_equal(tcp_finish(tcp), TA_OK);
    tcp_free(tcp);
    fragments_free(fragments);
    reader_close(r);
}

/* Are these the same lines, in whatever order? */
static bool same_lines(const char *a, const char *b)
{
    if (strlen(a) != strlen(b))
        return false;
    for (const char *p = a; *p != '\0';) {
        const char *end = strchr(p, ';') + 1;
        char line[200];
        snprintf(line, sizeof line, "%.*s", (int)(end - p), p);
        unsigned in_a = 0, in_b = 0;
        for (const char *q = a; (q = strstr(q, line)) != NULL; q++)
            in_a++;
        for (const char *q = b; (q = strstr(q, line)) != NULL; q++)
            in_b++;
        if (in_a != in_b)
            return false;
        p = end;
    }
    return true;
}

static void judge(const char *file, const char *want, unsigned *same)
{
    struct streams found;
    buf_init(&found.lines, 1 << 20);
    follow(file, &found);
    const char *why = other_stream(file);
    bool equal = same_lines(buf_text(&found.lines), want);
    if (why == NULL && !equal)
        fail_msg("%s\nfound    %s\nexpected %s", file, buf_text(&found.lines), want);
    if (why != NULL && equal)
        fail_msg("%s is as expected now, although: %s", file, why);
    *same += equal;
    buf_done(&found.lines);
}

/* Splits a line of tab-separated values in place. */
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

static FILE *open_corpus(const char *name)
{
    char path[600];
    corpora = getenv("TOKAUDIT_CORPORA");
    if (corpora == NULL) {
        print_message(
            "SKIPPED: TOKAUDIT_CORPORA is not set, the captures of others were not read\n");
        skip();
    }
    snprintf(path, sizeof path, "%s/%s", corpora, name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    return f;
}

static void test_streams_of_others(void **state)
{
    (void)state;
    FILE *f = open_corpus("EXPECTED-follow.tsv");
    char line[2000], file[2000] = "", a[2100], b[2100], *cell[9] = {0};
    struct buf want;
    unsigned same = 0;
    buf_init(&want, 1 << 20);
    assert_non_null(fgets(line, sizeof line, f)); /* titles */
    while (fgets(line, sizeof line, f) != NULL) {
        assert_int_equal(columns(line, cell, 9), 9);
        if (strcmp(file, cell[0]) != 0 && file[0] != '\0')
            judge(file, buf_text(&want), &same);
        if (strcmp(file, cell[0]) != 0)
            buf_clear(&want);
        snprintf(file, sizeof file, "%s", cell[0]);
        snprintf(a, sizeof a, "%s %s", cell[4],
                 strcmp(cell[4], "0") == 0 ? "e3b0c44298fc1c14" : cell[5]);
        snprintf(b, sizeof b, "%s %s", cell[6],
                 strcmp(cell[6], "0") == 0 ? "e3b0c44298fc1c14" : cell[7]);
        put_pair(&want, a, b);
    }
    judge(file, buf_text(&want), &same);
    fclose(f);
    buf_done(&want);
    print_message("%u captures: every stream has the bytes that tshark has\n", same);
    assert_true(same >= 119);
}

struct counted {
    unsigned requests, responses, done;
};

static int count_request(void *ctx, struct exchange *x)
{
    (void)x;
    ((struct counted *)ctx)->requests++;
    return TA_OK;
}

static int count_response(void *ctx, struct exchange *x)
{
    ((struct counted *)ctx)->responses += 1 + x->interim;
    return TA_OK;
}

static int count_done(void *ctx, struct exchange *x)
{
    (void)x;
    ((struct counted *)ctx)->done++;
    return TA_OK;
}

/* Wireshark counts more: what is no HTTP/1.x message (HTTP/0.9, SSDP over UDP, bytes in a tunnel),
 * responses whose request is not there, and messages after "Connection: close". */
static void test_messages_of_others(void **state)
{
    (void)state;
    FILE *f = open_corpus("EXPECTED-tshark.tsv");
    char line[2000], path[4000], *cell[7] = {0};
    unsigned files = 0, same = 0;
    assert_non_null(fgets(line, sizeof line, f));
    while (fgets(line, sizeof line, f) != NULL) {
        struct counted n = {0};
        struct pipeline_totals t;
        struct reader *r = NULL;
        struct err e = {0};
        assert_int_equal(columns(line, cell, 7), 7);
        snprintf(path, sizeof path, "%s/%s", corpora, cell[0]);
        if (reader_open(&r, path, &e) != TA_OK)
            continue;
        struct pipeline_sink sink = {
            .exchange = {&n, count_request, count_response, NULL, NULL, count_done, NULL}};
        assert_int_equal(pipeline_run(r, sink, &t, &e), TA_OK);
        reader_close(r);
        assert_int_equal(n.done, n.requests);
        files++;
        same +=
            n.requests == strtoul(cell[4], NULL, 10) && n.responses == strtoul(cell[5], NULL, 10);
    }
    fclose(f);
    print_message("%u of %u captures: as many requests and responses as tshark\n", same, files);
    assert_true(files >= 190);
    assert_true(same >= 158);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_made_trace),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_streams_of_others),
        cmocka_unit_test(test_messages_of_others),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
