/* A trace as a list of exchanges: packets are written here one by one, each a millisecond after the
 * one before, and what became of them is told in words. */
#include "tests/unit/traces/scratch.h"

#include "replay/recording.h"
#include "tests/support/packet.h"
#include "traces/base/clock.h"
#include "traces/writer.h"

enum { CLIENT, SERVER };

#define T0 INT64_C(1700000000000000000)

struct maker {
    struct writer *w;
    struct err e;
    int64_t t;   /* of the latest packet */
    bool hidden; /* packets are sent, and not captured */
};

struct made {
    struct maker *m;
    uint16_t port;
    uint32_t seq[2];
};

static struct maker begin(const char *redacted)
{
    struct writer_origin origin = {.vantage = "libpcap",
                                   .link = LINK_RAW,
                                   .snaplen = 262144,
                                   .host = "lab",
                                   .label = "run 1",
                                   .simulated = "ideal",
                                   .redacted = redacted};
    struct maker m = {.t = T0 - NS_PER_MS};
    assert_int_equal(writer_open(&m.w, scratch_file, &origin, &m.e), TA_OK);
    return m;
}

static void put(struct made *c, int who, uint32_t seq, uint8_t flags, struct slice text)
{
    struct maker *m = c->m;
    struct endpoint ends[2] = {{4, {127, 0, 0, 1}, c->port}, {4, {127, 0, 0, 1}, 8000}};
    struct packet_bytes b;
    m->t += NS_PER_MS;
    if (m->hidden)
        return;
    packet_raw(&b, &(struct segment){.from = ends[who],
                                     .to = ends[!who],
                                     .seq = seq,
                                     .ack = c->seq[!who],
                                     .flags = flags,
                                     .window = 500,
                                     .data = (const uint8_t *)text.p,
                                     .n = text.n});
    assert_int_equal(writer_packet(m->w, m->t, b.p, b.n, b.n, &m->e), TA_OK);
}

static void flagged(struct made *c, int who, uint8_t flags)
{
    put(c, who, c->seq[who], flags, slice_of(""));
    c->seq[who] += flags & (TCP_SYN | TCP_FIN) ? 1 : 0;
}

static void say(struct made *c, int who, const char *text)
{
    put(c, who, c->seq[who], TCP_ACK, slice_of(text));
    c->seq[who] += (uint32_t)strlen(text);
}

static struct made dial(struct maker *m, uint16_t port)
{
    struct made c = {m, port, {100, 200}};
    flagged(&c, CLIENT, TCP_SYN);
    flagged(&c, SERVER, TCP_SYN | TCP_ACK);
    flagged(&c, CLIENT, TCP_ACK);
    return c;
}

/* --- in words -----------------------------------------------------------------------------------
 */

static const char *after_word(enum recording_after after)
{
    static const char *const words[] = {"kept", "closed", "reset", "client closed", "client reset"};
    return words[after];
}

static long long ms(int64_t t_ns)
{
    return (long long)(t_ns - T0) / NS_PER_MS;
}

/* "1 c0.0 POST /a {} whole@4-5 | 200 whole 7:… 8:… end@8 kept@8", times in milliseconds. */
static void tell(struct buf *out, const struct recording_exchange *x)
{
    buf_printf(out, "%llu c%zu.%u %.*s %.*s [%.*s] %s @%lld-%lld |", (unsigned long long)x->id,
               x->conn, x->nth, (int)x->method.n, x->method.p, (int)x->target.n, x->target.p,
               (int)x->body.n, x->body.p, recording_flaw_text(x->request_flaw),
               ms(x->request_first_ns), ms(x->request_last_ns));
    uint64_t bytes = 0;
    int64_t latest = 0;
    for (size_t i = 0; i < x->n_segments; i++) {
        const struct recording_segment *s = &x->segments[i];
        buf_printf(out, " %lld:%.*s", ms(s->t_ns), (int)s->bytes.n, s->bytes.p);
        bytes += s->bytes.n;
        assert_true(s->t_ns >= latest && s->bytes.n > 0);
        latest = s->t_ns;
    }
    assert_int_equal(bytes, x->response_bytes);
    buf_printf(out, " | %d %s%s @%lld, %s @%lld\n", x->status,
               recording_flaw_text(x->response_flaw), x->close_said ? " last" : "", ms(x->end_ns),
               after_word(x->after), ms(x->after_ns));
}

/* Carriage returns and line feeds show as one '/'. */
static void expect(struct maker *m, const char *story)
{
    struct recording r;
    struct buf out;
    assert_int_equal(writer_close(m->w, &m->e), TA_OK);
    buf_init(&out, 1 << 20);
    assert_int_equal(recording_read(&r, scratch_file, &m->e), TA_OK);
    for (size_t i = 0; i < r.exchanges.n; i++)
        tell(&out, &r.exchanges.v[i]);
    size_t n = 0;
    for (size_t i = 0; i < out.n; i++) {
        if (out.p[i] != '\r')
            out.p[n++] = out.p[i] == '\n' && i > 0 && out.p[i - 1] == '\r' ? '/' : out.p[i];
    }
    out.n = n;
    assert_string_equal(buf_text(&out), story);
    buf_done(&out);
    recording_free(&r);
}

#define POST "POST /a HTTP/1.1\r\nContent-Length: 2\r\n\r\n"
#define GET "GET /b HTTP/1.1\r\n\r\n"
#define OK_2 "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
#define OK_CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

/* Two on one connection, the second sent before the first was answered and answered in the same
 * packet; then the server closes. */
static void test_kept_and_closed(void **state)
{
    (void)state;
    struct maker m = begin(NULL);
    struct made c = dial(&m, 40001);
    say(&c, CLIENT, POST "{");
    say(&c, CLIENT, "}" GET);
    say(&c, SERVER, OK_CHUNKED);
    say(&c, SERVER, "3\r\none\r\n");
    say(&c, SERVER, "0\r\n\r\n" OK_2 "o");
    say(&c, SERVER, "k");
    flagged(&c, SERVER, TCP_FIN | TCP_ACK);
    flagged(&c, CLIENT, TCP_FIN | TCP_ACK);
    expect(&m,
           "1 c0.0 POST /a [{}] whole @3-4 | 5:HTTP/1.1 200 OK/Transfer-Encoding: chunked// "
           "6:3/one/ 7:0// | 200 whole @7, kept @7\n"
           "2 c0.1 GET /b [] whole @4-4 | 7:HTTP/1.1 200 OK/Content-Length: 2//o 8:k | 200 whole "
           "@8, closed @9\n");
}

/* What ends a connection is whoever's FIN or RST came first. */
static void test_ends(void **state)
{
    (void)state;
    struct maker m = begin(NULL);
    struct made c = dial(&m, 40001);
    say(&c, CLIENT, GET);
    say(&c, SERVER, OK_CHUNKED "1\r\n1\r\n");
    flagged(&c, SERVER, TCP_RST | TCP_ACK);
    c = dial(&m, 40002);
    say(&c, CLIENT, GET);
    say(&c, SERVER, OK_CHUNKED "1\r\n1\r\n");
    flagged(&c, CLIENT, TCP_FIN | TCP_ACK);
    say(&c, SERVER, "1\r\n2\r\n");
    flagged(&c, SERVER, TCP_RST | TCP_ACK);
    c = dial(&m, 40003);
    say(&c, CLIENT, GET);
    flagged(&c, SERVER, TCP_FIN | TCP_ACK);
    flagged(&c, CLIENT, TCP_RST | TCP_ACK);
    c = dial(&m, 40004);
    say(&c, CLIENT, GET);
    say(&c, SERVER, "HTTP/1.0 200 OK\r\n\r\nuntil");
    say(&c, SERVER, " close");
    flagged(&c, SERVER, TCP_FIN | TCP_ACK);
    c = dial(&m, 40005);
    say(&c, CLIENT, GET);
    say(&c, SERVER, OK_2 "o");
    expect(&m,
           "1 c0.0 GET /b [] whole @3-3 | 4:HTTP/1.1 200 OK/Transfer-Encoding: chunked//1/1/ | 200 "
           "its end was not seen @5, reset @5\n"
           "2 c1.0 GET /b [] whole @9-9 | 10:HTTP/1.1 200 OK/Transfer-Encoding: chunked//1/1/ "
           "12:1/2/ | 200 its end was not seen @13, client closed @11\n"
           "3 c2.0 GET /b [] whole @17-17 | | 0 none was seen @18, closed @18\n"
           "4 c3.0 GET /b [] whole @23-23 | 24:HTTP/1.0 200 OK//until 25: close | 200 whole last "
           "@26, closed @26\n"
           "5 c4.0 GET /b [] whole @30-30 | 31:HTTP/1.1 200 OK/Content-Length: 2//o | 200 its end "
           "was not seen @31, kept @31\n");
}

/* Bytes without a head are kept, and have no status. */
static void test_no_head(void **state)
{
    (void)state;
    struct maker m = begin(NULL);
    struct made c = dial(&m, 40001);
    say(&c, CLIENT, GET);
    say(&c, SERVER, "220 smtp.example.org ESMTP\r\n");
    flagged(&c, SERVER, TCP_FIN | TCP_ACK);
    expect(&m, "1 c0.0 GET /b [] whole @3-3 | 4:220 smtp.example.org ESMTP/ | 0 whole last @5, "
               "closed @5\n");
}

/* Bytes that were not captured: of a request, of a response; what is behind them is whole again. */
static void test_gaps(void **state)
{
    (void)state;
    struct maker m = begin(NULL);
    struct recording r;
    struct made c = dial(&m, 40001);
    say(&c, CLIENT, POST);
    m.hidden = true;
    say(&c, CLIENT, "{");
    m.hidden = false;
    say(&c, CLIENT, "}");
    flagged(&c, SERVER, TCP_ACK);
    m.t += INT64_C(3) * NS_PER_S; /* the hole is given up */
    say(&c, SERVER, OK_2 "ok");
    c = dial(&m, 40002);
    say(&c, CLIENT, GET);
    say(&c, SERVER, OK_2);
    m.hidden = true;
    say(&c, SERVER, "o");
    m.hidden = false;
    say(&c, SERVER, "k");
    flagged(&c, CLIENT, TCP_ACK);
    m.t += INT64_C(3) * NS_PER_S;
    say(&c, CLIENT, GET);
    say(&c, SERVER, OK_2 "ok");
    flagged(&c, CLIENT, TCP_FIN | TCP_ACK);
    flagged(&c, SERVER, TCP_FIN | TCP_ACK);
    assert_int_equal(writer_close(m.w, &m.e), TA_OK);
    assert_int_equal(recording_read(&r, scratch_file, &m.e), TA_OK);
    assert_int_equal(r.exchanges.n, 3);
    const struct recording_exchange *x = r.exchanges.v;
    assert_int_equal(x[0].request_flaw, RECORDING_GAP);
    assert_string_equal(x[0].body_sha256, "");
    assert_int_equal(x[0].response_flaw, RECORDING_WHOLE);
    assert_int_equal(x[1].request_flaw, RECORDING_WHOLE);
    assert_int_equal(x[1].response_flaw, RECORDING_GAP);
    assert_int_equal(x[2].request_flaw, RECORDING_WHOLE);
    assert_int_equal(x[2].response_flaw, RECORDING_WHOLE);
    assert_int_equal(x[2].after, RECORDING_CLIENT_CLOSED);
    recording_free(&r);
}

/* A hole that is filled: once, in the order of the stream, and not before it was there. */
static void test_sent_again(void **state)
{
    (void)state;
    struct maker m = begin(NULL);
    struct made c = dial(&m, 40001);
    say(&c, CLIENT, GET);
    uint32_t before = c.seq[SERVER];
    m.hidden = true;
    say(&c, SERVER, OK_2);
    m.hidden = false;
    say(&c, SERVER, "ok");
    put(&c, SERVER, before, TCP_ACK, slice_of(OK_2));
    put(&c, SERVER, before, TCP_ACK, slice_of(OK_2));
    expect(&m, "1 c0.0 GET /b [] whole @3-3 | 6:HTTP/1.1 200 OK/Content-Length: 2// 6:ok | 200 "
               "whole @6, kept @6\n");
}

/* 100 Continue went before the request was there, and is no part of its answer; 103 is. */
static void test_interim(void **state)
{
    (void)state;
    struct maker m = begin(NULL);
    struct made c = dial(&m, 40001);
    say(&c, CLIENT, "POST /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    say(&c, SERVER, "HTTP/1.1 100 Continue\r\n\r\n");
    say(&c, CLIENT, "{}");
    say(&c, SERVER, "HTTP/1.1 103 Early Hints\r\n\r\n");
    say(&c, SERVER, OK_2 "ok");
    expect(&m, "1 c0.0 POST /a [{}] whole @3-5 | 6:HTTP/1.1 103 Early Hints// 7:HTTP/1.1 200 "
               "OK/Content-Length: 2//ok | 200 whole @7, kept @7\n");
}

/* An answer before the request is whole; and what is no HTTP any more. */
static void test_early_and_tunnel(void **state)
{
    (void)state;
    struct maker m = begin(NULL);
    struct made c = dial(&m, 40001);
    say(&c, CLIENT, POST "{");
    say(&c, SERVER, OK_2 "no");
    say(&c, CLIENT, "}");
    c = dial(&m, 40002);
    say(&c, CLIENT, "CONNECT x:1 HTTP/1.1\r\n\r\n");
    say(&c, SERVER, "HTTP/1.1 200 OK\r\n\r\nraw");
    say(&c, SERVER, "more");
    expect(&m,
           "1 c0.0 POST /a [{}] whole @3-5 | 4:HTTP/1.1 200 OK/Content-Length: 2//no | 200 whole "
           "@4, kept @4\n"
           "2 c1.0 CONNECT x:1 [] whole @9-9 | 10:HTTP/1.1 200 OK// | 200 it turned the connection "
           "into a tunnel @11, kept @11\n");
}

/* A response that was seen before its request: that one waited behind a hole. */
static void test_before_its_request(void **state)
{
    (void)state;
    struct maker m = begin(NULL);
    struct made c = dial(&m, 40001);
    say(&c, CLIENT, "GET /b HT");
    uint32_t before = c.seq[CLIENT];
    m.hidden = true;
    say(&c, CLIENT, "TP/1.1\r\n");
    m.hidden = false;
    say(&c, CLIENT, "\r\n");
    say(&c, SERVER, OK_2 "ok");
    put(&c, CLIENT, before, TCP_ACK, slice_of("TP/1.1\r\n"));
    flagged(&c, SERVER, TCP_FIN | TCP_ACK);
    expect(&m, "1 c0.0 GET /b [] whole @3-7 | 6:HTTP/1.1 200 OK/Content-Length: 2//ok | 200 whole "
               "@6, closed @8\n");
}

static void test_manifest_and_usage(void **state)
{
    (void)state;
    static const char ask[] = "{\"model\":\"m\",\"messages\":[]}";
    static const char reply[] =
        "{\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":9}}";
    struct recording r;
    struct maker m = begin("bodies");
    struct made tls = dial(&m, 40002);
    say(&tls, CLIENT, "\x16\x03\x01");
    struct made c = dial(&m, 40001);
    char text[512];
    snprintf(text, sizeof text,
             "POST /v1/chat/completions HTTP/1.1\r\nX-One: 1\r\nContent-Length: %zu\r\n\r\n%s",
             strlen(ask), ask);
    say(&c, CLIENT, text);
    snprintf(text, sizeof text,
             "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
             strlen(reply), reply);
    say(&c, SERVER, text);
    assert_int_equal(writer_close(m.w, &m.e), TA_OK);
    assert_int_equal(recording_read(&r, scratch_file, &m.e), TA_OK);
    assert_string_equal(r.host, "lab");
    assert_string_equal(r.label, "run 1");
    assert_string_equal(r.simulated, "ideal");
    assert_string_equal(r.vantage, "libpcap");
    assert_string_equal(r.redacted, "bodies");
    assert_int_equal(r.opaque_conns, 1);
    assert_int_equal(r.first_ns, T0);
    assert_false(r.truncated);
    assert_int_equal(r.conns.n, 1);
    assert_int_equal(ms(r.conns.v[0].t_open_ns), 4);
    assert_int_equal(r.conns.v[0].client.port, 40001);
    const struct recording_exchange *x = &r.exchanges.v[0];
    assert_int_equal(x->n_fields, 2);
    assert_true(slice_is(x->fields[0].name, "X-One") && slice_is(x->fields[0].value, "1"));
    assert_true(slice_is(x->model, "m"));
    assert_int_equal(x->prompt_tokens, 7);
    assert_int_equal(x->completion_tokens, 9);
    assert_int_equal(x->request_flaw, RECORDING_REDACTED);
    assert_int_equal(x->response_flaw, RECORDING_REDACTED);
    recording_free(&r);
}

static void test_nothing_to_read(void **state)
{
    (void)state;
    struct recording r;
    struct err e;
    scratch_put("no trace", 8);
    assert_int_equal(recording_read(&r, scratch_file, &e), TA_EFORMAT);
    recording_free(&r);
    assert_int_equal(recording_read(&r, "/nonexistent/trace", &e), TA_EFORMAT);
    recording_free(&r);
    struct maker m = begin(NULL);
    expect(&m, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept_and_closed),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_no_head),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_sent_again),
        cmocka_unit_test(test_interim),
        cmocka_unit_test(test_early_and_tunnel),
        cmocka_unit_test(test_before_its_request),
        cmocka_unit_test(test_manifest_and_usage),
        cmocka_unit_test(test_nothing_to_read),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
