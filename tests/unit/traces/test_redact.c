/* Redaction of streams in any split, order and repetition; what is structure stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/packet.h"
#include "traces/base/buf.h"
#include "traces/redact.h"

enum { CLIENT = 40000, SERVER = 8000, FIRST = -16 }; /* the numbers wrap soon */
enum { MS = 1000000 };

/* What comes out: each direction put together again, and how many packets. */
struct out {
    char stream[2][4096]; /* of the client, of the server */
    size_t n[2];
    unsigned packets, customs;
    size_t bytes_in, bytes_out;
    char custom[2048];
    char far[8]; /* of a segment that is none of the streams */
    bool sum_is_right;
};

struct fixture {
    struct redactor *r;
    struct out out;
    int64_t t;
};

static uint16_t sum_of(const uint8_t *p, size_t n, const struct segment *s)
{
    uint32_t sum = 6 + (uint32_t)n;
    for (int i = 0; i < 4; i += 2) {
        sum += (uint32_t)(s->from.addr[i] << 8 | s->from.addr[i + 1]);
        sum += (uint32_t)(s->to.addr[i] << 8 | s->to.addr[i + 1]);
    }
    for (size_t i = 0; i < n; i++)
        sum += i & 1 ? p[i] : (uint32_t)p[i] << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

static int on_packet(void *ctx, int64_t t_ns, const uint8_t *p, size_t n, size_t wire_n,
                     struct err *e)
{
    struct fixture *f = ctx;
    struct segment s;
    (void)t_ns, (void)e;
    f->out.packets++;
    f->out.bytes_out += n;
    assert_true(n <= wire_n);
    if (link_decode(LINK_RAW, p, n, wire_n, &s) != LINK_TCP || s.n == 0)
        return TA_OK;
    int side = s.from.port == SERVER;
    size_t at = s.seq - (uint32_t)FIRST - 1;
    if (at >= 1 << 20) {
        memcpy(f->out.far, s.data, s.n < sizeof f->out.far ? s.n : sizeof f->out.far);
        return TA_OK;
    }
    assert_true(at + s.n <= sizeof f->out.stream[0]);
    memcpy(f->out.stream[side] + at, s.data, s.n);
    if (at + s.n > f->out.n[side])
        f->out.n[side] = at + s.n;
    f->out.sum_is_right &= sum_of(p + 20, n - 20, &s) == 0;
    return TA_OK;
}

static int on_custom(void *ctx, struct slice json, struct err *e)
{
    struct fixture *f = ctx;
    (void)e;
    f->out.customs++;
    assert_true(json.n < sizeof f->out.custom);
    memcpy(f->out.custom, json.p, json.n);
    f->out.custom[json.n] = '\0';
    return TA_OK;
}

static void begin(struct fixture *f, enum redact_mode mode)
{
    *f = (struct fixture){.out.sum_is_right = true};
    f->r = redactor_new(mode, (struct redact_sink){f, on_packet, on_custom});
}

/* Sends bytes of one side, which stand at `at` in its stream; cut: so many at the end are not
 * captured. */
static void send_cut(struct fixture *f, int side, size_t at, const char *p, size_t n, uint8_t flags,
                     size_t cut)
{
    struct packet_bytes b;
    struct segment s = {.from = {4, {127, 0, 0, 1}, side ? SERVER : CLIENT},
                        .to = {4, {127, 0, 0, 1}, side ? CLIENT : SERVER},
                        .seq = (uint32_t)FIRST + (flags & TCP_SYN ? 0u : 1u) + (uint32_t)at,
                        .flags = flags,
                        .data = (const uint8_t *)p,
                        .n = n};
    packet_raw(&b, &s);
    uint16_t sum = sum_of(b.p + 20, b.n - 20, &s);
    b.p[36] = (uint8_t)(sum >> 8);
    b.p[37] = (uint8_t)sum;
    uint8_t *exact = malloc(b.n - cut);
    memcpy(exact, b.p, b.n - cut);
    f->out.bytes_in += b.n - cut;
    assert_int_equal(redactor_packet(f->r, LINK_RAW, f->t, exact, b.n - cut, b.n, NULL), TA_OK);
    free(exact);
    f->t += MS / 10;
}

static void send_bytes(struct fixture *f, int side, const char *text, size_t from, size_t to)
{
    send_cut(f, side, from, text + from, to - from, TCP_ACK, 0);
}

static void send_text(struct fixture *f, int side, const char *text)
{
    send_cut(f, side, f->out.n[side], text, strlen(text), TCP_ACK, 0);
}

static void open_connection(struct fixture *f)
{
    send_cut(f, 0, 0, NULL, 0, TCP_SYN, 0);
    send_cut(f, 1, 0, NULL, 0, TCP_SYN | TCP_ACK, 0);
}

static void end(struct fixture *f)
{
    assert_int_equal(redactor_end(f->r, NULL), TA_OK);
    assert_int_equal(f->out.bytes_in, f->out.bytes_out);
    assert_true(f->out.sum_is_right);
    redactor_free(f->r);
}

static void assert_stream(const struct fixture *f, int side, const char *expected)
{
    size_t n = strlen(expected);
    if (f->out.n[side] != n || memcmp(f->out.stream[side], expected, n) != 0)
        fail_msg("expected:\n%s\nfound:\n%.*s", expected, (int)f->out.n[side], f->out.stream[side]);
}

static bool holds(const struct fixture *f, const char *word)
{
    size_t k = strlen(word);
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i + k <= f->out.n[side]; i++)
            if (memcmp(f->out.stream[side] + i, word, k) == 0)
                return true;
    return false;
}

static const char request[] = "POST /v1/x?api_key=abcdef&n=1 HTTP/1.1\r\nHost: a\r\n"
                              "aUTHORIZATION: Bearer abcdef\r\nContent-Length: 24\r\n"
                              "Cookie: abc=def\r\n\r\n{\"model\":\"m\",\"t\":\"abc\"}\n"
                              "GET / HTTP/1.1\r\nX-Api-Key : abcdef\r\n\r\n";
static const char request_secrets[] = "POST /v1/x?api_key=******&n=1 HTTP/1.1\r\nHost: a\r\n"
                                      "aUTHORIZATION: Bearer ******\r\nContent-Length: 24\r\n"
                                      "Cookie: *******\r\n\r\n{\"model\":\"m\",\"t\":\"abc\"}\n"
                                      "GET / HTTP/1.1\r\nX-Api-Key : ******\r\n\r\n";
static const char request_bodies[] = "POST /v1/x?api_key=******&n=* HTTP/1.1\r\nHost: a\r\n"
                                     "aUTHORIZATION: Bearer ******\r\nContent-Length: 24\r\n"
                                     "Cookie: *******\r\n\r\n{\"model\":\"m\",\"t\":\"xxx\"}\n"
                                     "GET / HTTP/1.1\r\nX-Api-Key : ******\r\n\r\n";

static const char answer[] =
    "HTTP/1.1 200 OK\r\nSet-Cookie: s=1\r\nTransfer-Encoding: chunked\r\n"
    "Content-Type: text/event-stream\r\n\r\n"
    "35;n=v\r\n: hi\ndata: {\"id\":\"c-1\",\"c\":[{\"t\":\"H\\u00e4\\\"\"},-1.5]}\n\r\n"
    "16\r\n\nevent: a\r\ndata:[DONE]\r\n2\r\n\r\n\r\n0\r\nX: y\r\n\r\n"
    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab\ncHTTP/1.1 204 No\r\n\r\n";
static const char answer_secrets[] =
    "HTTP/1.1 200 OK\r\nSet-Cookie: ***\r\nTransfer-Encoding: chunked\r\n"
    "Content-Type: text/event-stream\r\n\r\n"
    "35;n=v\r\n: hi\ndata: {\"id\":\"c-1\",\"c\":[{\"t\":\"H\\u00e4\\\"\"},-1.5]}\n\r\n"
    "16\r\n\nevent: a\r\ndata:[DONE]\r\n2\r\n\r\n\r\n0\r\nX: y\r\n\r\n"
    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab\ncHTTP/1.1 204 No\r\n\r\n";
static const char answer_bodies[] =
    "HTTP/1.1 200 OK\r\nSet-Cookie: ***\r\nTransfer-Encoding: chunked\r\n"
    "Content-Type: text/event-stream\r\n\r\n"
    "35;xxx\r\n: xx\ndata: {\"id\":\"c-1\",\"c\":[{\"t\":\"xxxxxxxxx\"},-1.1]}\n\r\n"
    "16\r\n\nevent: a\r\ndata:[DONE]\r\n2\r\n\r\n\r\n0\r\nX: y\r\n\r\n"
    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nxx\nxHTTP/1.1 204 No\r\n\r\n";

static const struct {
    int side;
    const char *text, *expected[3];
} streams[] = {{0, request, {request, request_secrets, request_bodies}},
               {1, answer, {answer, answer_secrets, answer_bodies}}};

enum { STREAMS = sizeof streams / sizeof streams[0] };

static void bytewise(void **state)
{
    (void)state;
    for (int k = 0; k < STREAMS; k++)
        for (int mode = REDACT_NOTHING; mode <= REDACT_BODIES; mode++) {
            struct fixture f;
            begin(&f, (enum redact_mode)mode);
            open_connection(&f);
            for (size_t i = 0; i < strlen(streams[k].text); i++)
                send_bytes(&f, streams[k].side, streams[k].text, i, i + 1);
            end(&f);
            assert_stream(&f, streams[k].side, streams[k].expected[mode]);
        }
}

/* Pieces a b c in the order that `order` says (digits). */
static void send_pieces(struct fixture *f, int k, size_t a, size_t b, const char *order)
{
    size_t n = strlen(streams[k].text), cuts[] = {0, a, b, n};
    for (; *order != '\0'; order++) {
        int i = *order - '0';
        if (cuts[i] < cuts[i + 1])
            send_bytes(f, streams[k].side, streams[k].text, cuts[i], cuts[i + 1]);
    }
}

/* All that come out of order wait for each other, so that it makes no difference. */
static void every_split(void **state)
{
    static const char *const orders[] = {"012", "021", "102", "120", "201", "210", "0012", "01212"};
    (void)state;
    for (int k = 0; k < STREAMS; k++)
        for (int mode = REDACT_SECRETS; mode <= REDACT_BODIES; mode++)
            for (size_t a = 1; a < strlen(streams[k].text); a++)
                for (size_t b = a; b < strlen(streams[k].text); b++) {
                    struct fixture f;
                    begin(&f, (enum redact_mode)mode);
                    open_connection(&f);
                    send_pieces(&f, k, a, b, orders[(a + b) % 8]);
                    end(&f);
                    assert_stream(&f, streams[k].side, streams[k].expected[mode]);
                }
}

/* The same bytes again, in other pieces: nothing comes to light. */
static void repeated(void **state)
{
    (void)state;
    for (int k = 0; k < STREAMS; k++)
        for (int mode = REDACT_SECRETS; mode <= REDACT_BODIES; mode++) {
            struct fixture f;
            begin(&f, (enum redact_mode)mode);
            open_connection(&f);
            size_t n = strlen(streams[k].text);
            for (size_t i = 0; i < n; i += 10) {
                send_bytes(&f, streams[k].side, streams[k].text, i, i + 10 < n ? i + 10 : n);
                size_t back = i > 23 ? i - 23 : 0, to = i + 14 < n ? i + 14 : n;
                send_bytes(&f, streams[k].side, streams[k].text, back, to);
            }
            end(&f);
            assert_stream(&f, streams[k].side, streams[k].expected[mode]);
        }
}

/* Credentials of a URL: what cannot be told yet is overwritten too. */
static void url_credentials(void **state)
{
    static const char text[] = "GET http://me:pass@host/?token=pass HTTP/1.1\r\nReferer: "
                               "https://pass@a/b?q=1\r\nLocation:http://c/?sig=pass#x\r\n\r\n";
    struct fixture f;
    (void)state;
    for (size_t a = 0; a < sizeof text - 1; a++)
        for (size_t b = a; b < sizeof text; b++) {
            begin(&f, REDACT_SECRETS);
            open_connection(&f);
            send_bytes(&f, 0, text, 0, a);
            send_bytes(&f, 0, text, a, b);
            send_bytes(&f, 0, text, b, sizeof text - 1);
            end(&f);
            if (holds(&f, "pass"))
                fail_msg("cut at %zu and %zu: %.*s", a, b, (int)f.out.n[0], f.out.stream[0]);
            assert_int_equal(f.out.n[0], sizeof text - 1);
            if (a == 0 && b == 0)
                assert_stream(&f, 0,
                              "GET http://*******@host/?token=**** HTTP/1.1\r\nReferer: "
                              "https://****@a/b?q=1\r\nLocation:http://c/?sig=******\r\n\r\n");
        }
}

static void names_of_secrets(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"Authorization: Basic QQ==", "Authorization: Basic ****"},
        {"Authorization: sk-123", "Authorization: ******"},
        {"Authorization: Bearertoken", "Authorization: Bearer*****"},
        {"Proxy-Authorization:\tDigest a=\"b\"", "Proxy-Authorization:\tDigest *****"},
        {"Set-Cookie: a=b; Path=/", "Set-Cookie: ***********"},
        {"x-goog-api-key: a", "x-goog-api-key: *"},
        {"api-key: a", "api-key: *"},
        {"X-Auth-Token: a", "X-Auth-Token: *"},
        {"Cookie: a\r\n b", "Cookie: *\r\n *"},
        {"Authorization:\r\n  Bearer a", "Authorization:\r\n *********"},
        {"X-RateLimit-Remaining-Tokens: 5", "X-RateLimit-Remaining-Tokens: 5"},
        {"Idempotency-Key: a", "Idempotency-Key: a"},
        {"Monkey: a", "Monkey: a"},
        {"Cookie-Policy: a", "Cookie-Policy: a"},
        {"Cookie:", "Cookie:"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char in[256], out[256];
        struct fixture f;
        snprintf(in, sizeof in, "GET / HTTP/1.1\r\n%s\r\nA: b\r\n\r\n", cases[i].in);
        snprintf(out, sizeof out, "GET / HTTP/1.1\r\n%s\r\nA: b\r\n\r\n", cases[i].out);
        begin(&f, REDACT_SECRETS);
        open_connection(&f);
        send_text(&f, 0, in);
        end(&f);
        assert_stream(&f, 0, out);
    }
}

static void put_message(char *out, size_t most, const char *type, const char *body)
{
    snprintf(out, most, "POST / HTTP/1.1\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n%s",
             type, strlen(body), body);
}

static void json_in_bodies(void **state)
{
    static const struct {
        const char *type, *in, *out;
    } cases[] = {
        {"application/json", "{\"model\":\"a b\",\"role\":\"user\",\"content\":\"\"}",
         "{\"model\":\"axx\",\"role\":\"user\",\"content\":\"\"}"},
        {"application/json", "[\"a\\\\\",true,null,12,-3.5e7]", "[\"xxx\",true,null,11,-1.1e1]"},
        {"application/json", "{\"n\":12,\"id\":[\"id\"],\"id\":\"a\\\"b\"}",
         "{\"n\":12,\"id\":[\"xx\"],\"id\":\"axxx\"}"},
        {"application/json", "{\"top_logprobs\":[{\" Hi\":-0.5}],\"k\":1}",
         "{\"top_logprobs\":[{\"xxx\":-0.5}],\"k\":1}"},
        /* Keys are what they say, not how they are spelled: neither does text of a log probability
         * stay, nor goes what is kept. */
        {"application/json", "{\"top\\u005flogprobs\":[{\" Hi\":-0.5}],\"k\":1}",
         "{\"top\\u005flogprobs\":[{\"xxx\":-0.5}],\"k\":1}"},
        {"application/json", "{\"\\u006Dodel\":\"ab\",\"mod\\u0065\":\"ab\"}",
         "{\"\\u006Dodel\":\"ab\",\"mod\\u0065\":\"xx\"}"},
        {"application/json", "{\"a\\\"\\\\\":\"b\",\"\\ud83d\\ude00id\":\"b\"}",
         "{\"a\\\"\\\\\":\"x\",\"\\ud83d\\ude00id\":\"x\"}"},
        {"application/json", "{\"a\\u00\":\"b\"}", "{\"a\\u00xxxxxx"},
        {"application/json", "{\"a\":\"b\"", "{\"a\":\"x\""},
        {"application/json", "{\"a\":nope, \"b\":\"c\"}", "{\"a\":nxxxxxxxxxxxxx"},
        {"application/json", "hello", "xxxxx"},
        {"application/x-ndjson", "{\"a\":\"b\"}\n{\"a\":\"c\",\"done\":true}\n",
         "{\"a\":\"x\"}\n{\"a\":\"x\",\"done\":true}\n"},
        {"text/event-stream", "event: delta\ndata: {\"t\":\"a\ndata: b\"}\nid: 1 2\nfoo: bar\n\n",
         "event: delta\ndata: {\"t\":\"x\ndata: x\"}\nid: 1xx\nxxxxxxxx\n\n"},
        {"text/event-stream", "data: words\r\ndata: [DONE]\r\n\r\ndata: [DONE]\r\n\r\n",
         "data: xxxxx\r\ndata: xxxxxx\r\n\r\ndata: [DONE]\r\n\r\n"},
        {"text/event-stream", "{\"model\":\"m\",\"a\":\"b\"}\n", "{\"model\":\"m\",\"a\":\"x\"}\n"},
        {"text/event-stream", "\n\nwords\n\n: words\n\ndata: {\"a\":\"b\"}\n\n",
         "\n\nxxxxx\n\n: xxxxx\n\ndata: {\"a\":\"x\"}\n\n"},
        {"text/html", "data: {\"a\":\"b\"}\n\n", "data: {\"a\":\"x\"}\n\n"},
        {"text/html", "<p>data: words</p>", "xxxxxxxxxxxxxxxxxx"},
        {"text/plain", "data: {\"a\":\"b\"}\n\n", "data: {\"a\":\"x\"}\n\n"},
        {"text/plain", "plain\nwords", "xxxxx\nxxxxx"},
        {"multipart/form-data; boundary=b", "{\"a\":1}", "xxxxxxx"},
        {"application/json\r\nContent-Encoding: gzip", "{\"a\":1}", "xxxxxxx"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t step = 1; step < 1000; step += 499) {
            char in[512], out[512];
            struct fixture f;
            put_message(in, sizeof in, cases[i].type, cases[i].in);
            put_message(out, sizeof out, cases[i].type, cases[i].out);
            begin(&f, REDACT_BODIES);
            open_connection(&f);
            for (size_t at = 0; at < strlen(in); at += step)
                send_bytes(&f, 0, in, at, at + step < strlen(in) ? at + step : strlen(in));
            end(&f);
            assert_stream(&f, 0, out);
        }
}

/* Equal bodies have equal hashes in a trace, and in no other. */
static void bodies_block(void **state)
{
    static const char post[] = "POST / HTTP/1.1\r\nContent-Length: 20\r\n\r\n"
                               "{\"a\":\"\\ud83d\\ude00\"}\n";
    char hash[3][65];
    (void)state;
    for (int trace = 0; trace < 2; trace++) {
        struct fixture f;
        begin(&f, REDACT_BODIES);
        open_connection(&f);
        send_text(&f, 0, post);
        send_text(&f, 0, post);
        assert_int_equal(f.out.customs, 0);
        end(&f);
        assert_int_equal(f.out.customs, 1);
        const char *a = strstr(f.out.custom, "\"sha256\":\""), *b = strstr(a + 1, "\"sha256\":\"");
        assert_non_null(strstr(f.out.custom, "{\"kind\":\"bodies\",\"requests\":[{\"client\":"
                                             "\"127.0.0.1:40000\",\"server\":\"127.0.0.1:8000\","
                                             "\"nth\":0,\"t_ns\":\"200000\","));
        assert_non_null(strstr(f.out.custom, "\"bytes\":20,\"strings\":1,\"characters\":1},{"));
        assert_non_null(strstr(f.out.custom, "\"nth\":1,"));
        assert_memory_equal(a, b, 74);
        memcpy(hash[trace], a, 65);
    }
    assert_memory_not_equal(hash[0], hash[1], 65);
}

/* The answer to HEAD has no body, whatever its length says. */
static void head_request(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f, REDACT_BODIES);
    open_connection(&f);
    send_text(&f, 0, "HEAD / HTTP/1.1\r\n\r\n");
    send_text(&f, 1, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n");
    send_text(&f, 1, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
    end(&f);
    assert_stream(&f, 1,
                  "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"
                  "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nxxx");
}

/* Joined in the middle of a value: its rest goes, and what follows is read. */
static void midstream(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f, REDACT_SECRETS);
    send_text(&f, 0, "cret\r\nX: y\r\nCookie: abc\r\n\r\n");
    send_text(&f, 0, "GET /?key=abc HTTP/1.1\r\n\r\n");
    end(&f);
    assert_stream(&f, 0, "****\r\nX: y\r\nCookie: ***\r\n\r\nGET /?key=*** HTTP/1.1\r\n\r\n");

    begin(&f, REDACT_BODIES);
    send_text(&f, 1, "text\r\nmore\"}");
    send_text(&f, 1, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n\"abc\"");
    end(&f);
    assert_stream(&f, 1, "****\r\nxxxxxxHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n\"xxx\"");
}

/* A hole that is not filled in time: what may belong to a value goes, and so does the hole when it
 * comes. */
static void hole(void **state)
{
    static const char text[] = "GET / HTTP/1.1\r\nCookie: secret\r\nA: b\r\nCookie: secret\r\n\r\n";
    struct fixture f;
    (void)state;
    begin(&f, REDACT_SECRETS);
    open_connection(&f);
    send_bytes(&f, 0, text, 0, 20);
    send_bytes(&f, 0, text, 27, 40); /* "cret" and on */
    assert_int_equal(f.out.packets, 3);
    f.t += 200 * MS;
    assert_int_equal(redactor_tick(f.r, f.t, NULL), TA_OK);
    assert_int_equal(f.out.packets, 4);
    send_bytes(&f, 0, text, 40, sizeof text - 1);
    send_bytes(&f, 0, text, 16, 30);
    assert_true(redactor_totals(f.r).unjudged_bytes > 0);
    assert_int_equal(redactor_totals(f.r).held, 1);
    end(&f);
    assert_stream(&f, 0, "GET / HTTP/1.1\r\nCook**********\r\nA: b\r\nCookie: ******\r\n\r\n");
}

/* The end of a packet was not captured. */
static void snapped(void **state)
{
    static const char text[] = "GET / HTTP/1.1\r\nA: bcdef\r\nCookie: secret\r\n\r\n";
    struct fixture f;
    (void)state;
    begin(&f, REDACT_SECRETS);
    open_connection(&f);
    f.out.sum_is_right = true;
    send_cut(&f, 0, 0, text, 28, TCP_ACK, 8); /* "A: b" is the last */
    f.out.sum_is_right = true;                /* of a part it cannot be told */
    send_bytes(&f, 0, text, 28, sizeof text - 1);
    send_bytes(&f, 0, text, 18, 30);
    end(&f);
    assert_false(holds(&f, "secret"));
    assert_false(holds(&f, "cdef")); /* that it was no secret nobody could tell */
}

/* HTTP/2 in the clear: its heads are packed, so nothing stays. */
static void http2(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f, REDACT_SECRETS);
    open_connection(&f);
    send_text(&f, 0, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nabc");
    send_text(&f, 1, "abc\ndef");
    end(&f);
    assert_stream(&f, 0, "PRI **********\r\n\r\n**\r\n\r\n***");
    assert_stream(&f, 1, "***\n***");
}

/* One segment far from the stream is no reason to lose it. */
static void stray(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f, REDACT_BODIES);
    open_connection(&f);
    send_text(&f, 0, "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n\"a");
    send_cut(&f, 0, 0x40000000, "abc", 3, TCP_ACK, 0);
    send_text(&f, 0, "bc\"");
    assert_int_equal(f.out.packets, 5); /* nothing waits for what was in between */
    end(&f);
    assert_stream(&f, 0, "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n\"xxx\"");
    assert_string_equal(f.out.far, "***");
}

/* A new connection on the same ports, which begins elsewhere. */
static void ports_again(void **state)
{
    static const char text[] = "GET / HTTP/1.1\r\nCookie: abc\r\n\r\n";
    struct fixture f;
    (void)state;
    begin(&f, REDACT_SECRETS);
    open_connection(&f);
    send_bytes(&f, 0, text, 0, 26);
    send_cut(&f, 0, 999, NULL, 0, TCP_SYN, 0);
    send_cut(&f, 0, 1000 - 1, text, sizeof text - 1, TCP_ACK, 0);
    end(&f);
    assert_memory_equal(f.out.stream[0] + 999, "GET / HTTP/1.1\r\nCookie: ***\r\n\r\n",
                        sizeof text - 1);
}

/* A piece of an IP packet cannot be judged without the others (test_redact_fragments.c). */
static int on_fragment(void *ctx, int64_t t_ns, const uint8_t *p, size_t n, size_t wire_n,
                       struct err *e)
{
    (void)t_ns, (void)wire_n, (void)e;
    memcpy(ctx, p, n);
    return TA_OK;
}

static void fragment(void **state)
{
    uint8_t out[2048];
    struct packet_bytes b;
    struct segment s = {.from = {4, {127, 0, 0, 1}, CLIENT},
                        .to = {4, {127, 0, 0, 1}, SERVER},
                        .data = (const uint8_t *)"GET / HTTP",
                        .n = 10};
    (void)state;
    packet_raw(&b, &s);
    b.p[6] = 0x20; /* more fragments */
    struct redactor *r =
        redactor_new(REDACT_SECRETS, (struct redact_sink){out, on_fragment, on_custom});
    assert_int_equal(redactor_packet(r, LINK_RAW, 0, b.p, b.n, b.n, NULL), TA_OK);
    assert_int_equal(redactor_totals(r).unjudged_bytes, 0);
    assert_int_equal(redactor_end(r, NULL), TA_OK);
    assert_int_equal(redactor_totals(r).unjudged_bytes, 10);
    assert_memory_equal(out, b.p, 40);
    assert_memory_equal(out + 40, "**********", 10);
    redactor_free(r);
}

/* Custom blocks keep their place among packets that wait. */
static void order_of_blocks(void **state)
{
    struct fixture f;
    (void)state;
    begin(&f, REDACT_SECRETS);
    open_connection(&f);
    send_bytes(&f, 0, request, 10, 20);
    assert_int_equal(redactor_custom(f.r, slice_of("{\"kind\":\"note\"}"), NULL), TA_OK);
    assert_int_equal(f.out.customs, 0);
    send_bytes(&f, 0, request, 0, 10);
    assert_int_equal(f.out.customs, 1);
    assert_string_equal(f.out.custom, "{\"kind\":\"note\"}");
    assert_int_equal(f.out.packets, 4);
    end(&f);
}

static int refuse(void *ctx, int64_t t_ns, const uint8_t *p, size_t n, size_t wire_n, struct err *e)
{
    (void)ctx, (void)t_ns, (void)p, (void)n, (void)wire_n;
    return err_set(e, TA_ESYS, "full");
}

static void sink_errors_are_sticky(void **state)
{
    struct err e = {0};
    struct packet_bytes b;
    struct segment s = {.from = {4, {1}, 1}, .to = {4, {2}, 2}, .flags = TCP_SYN};
    (void)state;
    packet_raw(&b, &s);
    struct redactor *r =
        redactor_new(REDACT_SECRETS, (struct redact_sink){NULL, refuse, on_custom});
    assert_int_equal(redactor_packet(r, LINK_RAW, 0, b.p, b.n, b.n, &e), TA_ESYS);
    assert_string_equal(e.msg, "full");
    assert_int_equal(redactor_custom(r, slice_of("{}"), &e), TA_ESYS);
    assert_int_equal(redactor_end(r, &e), TA_ESYS);
    redactor_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytewise),
        cmocka_unit_test(every_split),
        cmocka_unit_test(repeated),
        cmocka_unit_test(url_credentials),
        cmocka_unit_test(names_of_secrets),
        cmocka_unit_test(json_in_bodies),
        cmocka_unit_test(bodies_block),
        cmocka_unit_test(head_request),
        cmocka_unit_test(midstream),
        cmocka_unit_test(hole),
        cmocka_unit_test(snapped),
        cmocka_unit_test(http2),
        cmocka_unit_test(stray),
        cmocka_unit_test(ports_again),
        cmocka_unit_test(fragment),
        cmocka_unit_test(order_of_blocks),
        cmocka_unit_test(sink_errors_are_sticky),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
