/* Requests and responses paired: conversations, and the log of what is made of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "traces/base/mem.h"
#include "traces/exchange.h"
#include "traces/limits.h"

/* --- the log -------------------------------------------------------------------------------- */

struct log {
    struct buf out;
    unsigned alive; /* exchanges between request and done */
    bool quiet;
};

static void put_slice(struct buf *out, struct slice s)
{
    buf_printf(out, "%.*s", (int)s.n, s.n > 0 ? s.p : "");
}

static int on_request(void *ctx, struct exchange *x)
{
    struct log *l = ctx;
    l->alive++;
    x->user = l;
    buf_printf(&l->out, "%llu.%u ", (unsigned long long)x->id, x->nth);
    put_slice(&l->out, x->method);
    buf_puts(&l->out, " ");
    put_slice(&l->out, x->target);
    buf_puts(&l->out, "\n");
    return TA_OK;
}

static int on_response(void *ctx, struct exchange *x)
{
    struct log *l = ctx;
    assert_ptr_equal(x->user, l);
    buf_printf(&l->out, "%llu < %d%s%s interim %u\n", (unsigned long long)x->id, x->status,
               x->is_event_stream ? " stream" : "", x->request_complete ? "" : " early",
               x->interim);
    return TA_OK;
}

static int on_event(void *ctx, struct exchange *x, const struct event *ev)
{
    struct log *l = ctx;
    buf_printf(&l->out, "%llu event %d ", (unsigned long long)x->id, (int)ev->kind);
    put_slice(&l->out, ev->data);
    buf_puts(&l->out, "\n");
    return TA_OK;
}

static int on_body(void *ctx, struct exchange *x, struct span in)
{
    struct log *l = ctx;
    if (l->quiet)
        return TA_OK;
    buf_printf(&l->out, "%llu body ", (unsigned long long)x->id);
    put_slice(&l->out, (struct slice){(const char *)in.p, in.n});
    buf_puts(&l->out, "\n");
    return TA_OK;
}

static int on_done(void *ctx, struct exchange *x)
{
    static const char *const whys[] = {"fin", "rst", "trace", "gap"};
    struct log *l = ctx;
    l->alive--;
    buf_printf(&l->out, "%llu done %s%s%s%s body %llu t %lld\n", (unsigned long long)x->id,
               x->request_complete ? "" : "no-request ", x->response_complete ? "" : "no-response ",
               x->damaged ? "damaged " : "", whys[x->end],
               (unsigned long long)x->response_body_bytes, (long long)x->t_end);
    return TA_OK;
}

static void on_anomaly(void *ctx, struct exchange *x, const struct anomaly *a)
{
    struct log *l = ctx;
    buf_printf(&l->out, "! %llu %s\n", x != NULL ? (unsigned long long)x->id : 0, a->id);
}

static const struct exchange_sink callbacks = {NULL,    on_request, on_response, on_event,
                                               on_body, on_done,    on_anomaly};

/* --- conversations -------------------------------------------------------------------------- */

/* Line n is packet n at t = n: "C" or "S" and its bytes, or one of the marks below. */
struct line {
    char what; /* C, S: data; c, s: a gap of n bytes; x: seen late, as packet n of the client */
    const char *text;
    uint64_t n;
};

static int end_side(struct byte_sink to, enum end_kind why, uint64_t off, uint64_t pkt)
{
    return to.end(to.ctx, why, (struct mark){off, (int64_t)pkt, (int64_t)pkt, pkt, pkt});
}

static int say(struct byte_sink to, const struct line *line, uint64_t *off, uint64_t pkt)
{
    uint64_t seen = line->what == 'x' ? line->n : pkt;
    struct mark at = {*off, (int64_t)seen, (int64_t)pkt, seen, pkt};
    if (line->what == 'c' || line->what == 's') {
        *off += line->n;
        return to.gap(to.ctx, line->n, at);
    }
    size_t n = strlen(line->text);
    uint8_t *copy = mem_dup(line->text, n);
    int rc = to.data(to.ctx, (struct span){copy, n, at});
    free(copy);
    *off += n;
    return rc;
}

/* Plays the lines, ends the client's side and then the server's as why, and compares the log. */
static void play(const struct line *lines, enum end_kind why, const char *want)
{
    struct log l = {0};
    buf_init(&l.out, 1 << 20);
    struct exchange_sink sink = callbacks;
    sink.ctx = &l;
    uint64_t last_id = 0, off[2] = {0, 0}, pkt = 0;
    struct exchange_conn *c = exchange_conn_new(NULL, sink, &last_id);
    struct byte_sink client = exchange_from_client(c), server = exchange_from_server(c);
    for (; lines->what != '\0'; lines++) {
        bool from_client = strchr("Ccx", lines->what) != NULL;
        assert_int_equal(say(from_client ? client : server, lines, &off[from_client], ++pkt),
                         TA_OK);
    }
    assert_int_equal(end_side(client, why, off[1], ++pkt), TA_OK);
    assert_int_equal(end_side(server, why, off[0], ++pkt), TA_OK);
    exchange_conn_free(c);
    bool same = strcmp(buf_text(&l.out), want) == 0;
    if (!same)
        print_error("--- found\n%s--- expected\n%s", buf_text(&l.out), want);
    buf_done(&l.out);
    assert_true(same);
    assert_int_equal(l.alive, 0);
}

#define PLAY(why, want, ...) play((const struct line[]){__VA_ARGS__, {0, NULL, 0}}, why, want)
#define GET(target) "GET " target " HTTP/1.1\r\n\r\n"
#define OK(n) "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: " n "\r\n\r\n"
#define STREAM "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"

static void test_one(void **state)
{
    (void)state;
    PLAY(END_FIN, "1.0 GET /\n1 < 200 interim 0\n1 body hi\n1 done fin body 2 t 2\n",
         {'C', GET("/"), 0}, {'S', OK("2") "hi", 0});
}

static void test_keep_alive_and_pipelining(void **state)
{
    (void)state;
    PLAY(END_FIN,
         "1.0 GET /1\n1 < 200 interim 0\n1 done fin body 0 t 2\n2.1 GET /2\n3.2 GET /3\n"
         "2 < 200 interim 0\n2 body a\n2 done fin body 1 t 4\n3 < 200 interim 0\n3 body b\n"
         "3 done fin body 1 t 4\n",
         {'C', GET("/1"), 0}, {'S', OK("0"), 0}, {'C', GET("/2") GET("/3"), 0},
         {'S', OK("1") "a" OK("1") "b", 0});
}

static void test_stream(void **state)
{
    (void)state;
    PLAY(
        END_FIN,
        "1.0 GET /\n1 < 200 stream interim 0\n1 event 1 ping\n1 event 0 a\n1 event 0 b\n"
        "1 done fin body 24 t 4\n",
        {'C', GET("/"), 0},
        {'S',
         "HTTP/1.1 200 OK\r\ncontent-TYPE: Text/Event-Stream ; charset=utf-8\r\nTransfer-Encoding: "
         "chunked\r\n\r\n7\r\n: ping\n\r\n5\r\ndata:",
         0},
        {'S', "\r\n6\r\n a\n\nda\r\n6\r\nta:b\n\n\r\n", 0}, {'S', "0\r\n\r\n", 0});
}

static void test_stream_cut_short(void **state)
{
    (void)state;
    PLAY(END_RST,
         "1.0 GET /\n1 < 200 stream interim 0\n1 event 0 a\n! 1 sse.truncated-event\n1 event 2 b\n"
         "1 done no-response rst body 16 t 4\n",
         {'C', GET("/"), 0}, {'S', STREAM "\r\ndata: a\n\ndata: b", 0});
}

static void test_sniffed(void **state)
{
    (void)state;
    PLAY(END_FIN, "1.0 GET /\n1 < 200 interim 0\n1 event 0 a\n1 done fin body 9 t 6\n",
         {'C', GET("/"), 0}, {'S', "HTTP/1.1 200 OK\r\n\r\nda", 0}, {'S', "ta: a", 0},
         {'S', "\n\n", 0});
    PLAY(END_FIN,
         "1.0 GET /\n1 < 200 interim 0\n1 body d\n1 body a\n1 body t\n1 body e\n1 done fin body 4 "
         "t 5\n",
         {'C', GET("/"), 0}, {'S', "HTTP/1.1 200 OK\r\nContent-Type: text/plain;x\r\n\r\nda", 0},
         {'S', "te", 0});
    PLAY(END_FIN, "1.0 GET /\n1 < 200 interim 0\n1 body d\n1 body a\n1 done fin body 2 t 4\n",
         {'C', GET("/"), 0}, {'S', "HTTP/1.1 200 OK\r\n\r\nda", 0});
    PLAY(END_FIN, "1.0 GET /\n1 < 200 interim 0\n1 body data: a\n\n\n1 done fin body 9 t 2\n",
         {'C', GET("/"), 0}, {'S', OK("9") "data: a\n\n", 0});
}

static void test_encoded(void **state)
{
    (void)state;
    PLAY(END_FIN,
         "1.0 GET /\n! 1 http.content-encoding\n1 < 200 stream interim 0\n1 done fin body 9 t 4\n",
         {'C', GET("/"), 0}, {'S', STREAM "Content-Encoding: gzip\r\n\r\ndata: a\n\n", 0});
    PLAY(END_FIN, "1.0 GET /\n1 < 200 stream interim 0\n1 event 0 a\n1 done fin body 9 t 4\n",
         {'C', GET("/"), 0}, {'S', STREAM "Content-Encoding: identity\r\n\r\ndata: a\n\n", 0});
}

static void test_interim(void **state)
{
    (void)state;
    PLAY(END_FIN, "1.0 POST /\n1 < 200 interim 2\n1 done fin body 0 t 3\n",
         {'C', "POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\n", 0}, {'C', "x", 0},
         {'S', "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 P\r\n\r\n" OK("0"), 0});
}

static void test_early_response(void **state)
{
    (void)state;
    PLAY(END_FIN,
         "1.0 POST /\n1 < 413 early interim 0\n1 done fin body 0 t 2\n2.1 GET /2\n2 < 200 interim "
         "0\n"
         "2 done fin body 0 t 4\n",
         {'C', "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nx", 0},
         {'S', "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n", 0}, {'C', "yz" GET("/2"), 0},
         {'S', OK("0"), 0});
    PLAY(END_RST, "1.0 POST /\n1 < 413 early interim 0\n1 done no-request fin body 0 t 2\n",
         {'C', "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nx", 0},
         {'S', "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n", 0});
}

static void test_head_and_connect(void **state)
{
    (void)state;
    PLAY(END_FIN,
         "1.0 HEAD /\n1 < 200 interim 0\n1 done fin body 0 t 2\n2.1 GET /\n2 < 200 interim 0\n2 "
         "body x\n"
         "2 done fin body 1 t 4\n",
         {'C', "HEAD / HTTP/1.1\r\n\r\n", 0}, {'S', OK("5"), 0}, {'C', GET("/"), 0},
         {'S', OK("1") "x", 0});
    PLAY(END_FIN,
         "1.0 HEAD /\n2.1 GET /\n3.2 HEAD /\n1 < 200 interim 0\n1 done fin body 0 t 2\n"
         "2 < 200 interim 0\n2 body x\n2 done fin body 1 t 2\n3 < 200 interim 0\n"
         "3 done fin body 0 t 2\n",
         {'C', "HEAD / HTTP/1.1\r\n\r\n" GET("/") "HEAD / HTTP/1.1\r\n\r\n", 0},
         {'S', OK("5") OK("1") "x" OK("7"), 0});
    PLAY(END_FIN, "1.0 CONNECT a:1\n1 < 200 interim 0\n1 done fin body 5 t 6\n",
         {'C', "CONNECT a:1 HTTP/1.1\r\n\r\n", 0}, {'S', "HTTP/1.1 200 OK\r\n\r\n", 0},
         {'C', GET("/inside"), 0}, {'S', "bytes", 0});
}

static void test_no_response(void **state)
{
    (void)state;
    PLAY(END_FIN,
         "1.0 GET /1\n2.1 GET /2\n1 done no-response fin body 0 t 3\n2 done no-response fin body 0 "
         "t 3\n",
         {'C', GET("/1") GET("/2"), 0});
    PLAY(END_TRACE, "1.0 GET /1\n1 done no-response trace body 0 t 3\n", {'C', GET("/1"), 0});
    PLAY(END_TRACE, "1.0 POST /1\n1 done no-request no-response trace body 0 t 3\n",
         {'C', "POST /1 HTTP/1.1\r\nContent-Length: 5\r\n\r\nx", 0});
}

static void test_response_of_an_unseen_request(void **state)
{
    (void)state;
    PLAY(END_FIN, "! 0 http.orphan-response\n1.0 GET /\n1 < 200 interim 0\n1 done fin body 0 t 3\n",
         {'S', OK("1") "x", 0}, {'C', GET("/"), 0}, {'S', OK("0"), 0});
}

/* /2 waited behind a hole while its answer came: that is lost to it, and /3 gets its own. */
static void test_late_request(void **state)
{
    (void)state;
    PLAY(END_FIN,
         "! 0 http.orphan-response\n! 0 http.orphan-response\n! 0 http.gap\n"
         "1.0 GET /2\n1 done no-response damaged gap body 0 t 3\n2.1 GET /3\n2 < 200 interim 0\n"
         "2 done fin body 0 t 8\n",
         {'S', OK("1") "x", 0}, {'C', "", 0}, {'S', OK("1") "y", 0}, {'C', "", 0}, {'c', NULL, 30},
         {'x', GET("/2"), 2}, {'C', GET("/3"), 0}, {'S', OK("0"), 0});
}

static void test_gap_in_a_body(void **state)
{
    (void)state;
    PLAY(END_FIN,
         "1.0 GET /\n1 < 200 interim 0\n1 body a\n1 body b\n1 done damaged fin body 2 t 4\n2.1 GET "
         "/\n"
         "2 < 200 interim 0\n2 done fin body 0 t 6\n",
         {'C', GET("/"), 0}, {'S', OK("5") "a", 0}, {'s', NULL, 3}, {'S', "b", 0},
         {'C', GET("/"), 0}, {'S', OK("0"), 0});
}

static void test_lost_response(void **state)
{
    (void)state;
    PLAY(END_FIN,
         "1.0 GET /1\n2.1 GET /2\n! 1 http.gap\n1 done no-response damaged gap body 0 t 4\n"
         "2 < 200 interim 0\n2 done damaged fin body 0 t 4\n3.2 GET /3\n3 < 200 interim 0\n"
         "3 done fin body 0 t 6\n",
         {'C', GET("/1"), 0}, {'C', GET("/2"), 0}, {'s', NULL, 100}, {'S', OK("0"), 0},
         {'C', GET("/3"), 0}, {'S', OK("0"), 0});
}

static void test_gap_in_a_stream(void **state)
{
    (void)state;
    PLAY(END_FIN,
         "1.0 GET /\n1 < 200 stream interim 0\n1 event 0 a\n! 1 sse.gap\n1 event 0 c\n"
         "1 done damaged fin body 24 t 6\n",
         {'C', GET("/"), 0}, {'S', STREAM "\r\ndata: a\n\ndat", 0}, {'s', NULL, 9},
         {'S', "b\n\ndata: c\n\n", 0});
}

static void test_rubbish(void **state)
{
    (void)state;
    PLAY(END_FIN, "! 0 http.bad-start-line\n! 0 http.bad-start-line\n", {'C', "\x01\x02\nabc", 0},
         {'S', "\xff\n\n", 0});
}

/* --- request bodies ------------------------------------------------------------------------- */

struct body_check {
    const char *sha256;
    uint64_t bytes;
    size_t kept;
    unsigned calls;
};

static int check_body(void *ctx, struct exchange *x)
{
    struct body_check *b = ctx;
    assert_string_equal(x->request_body_sha256, b->sha256);
    assert_int_equal(x->request_body_bytes, b->bytes);
    assert_int_equal(x->request_body.n, b->kept);
    b->calls++;
    return TA_OK;
}

static void send(struct exchange_conn *c, const char *p, size_t n)
{
    struct byte_sink client = exchange_from_client(c);
    assert_int_equal(client.data(client.ctx, (struct span){(const uint8_t *)p, n, {0}}), TA_OK);
}

static void test_request_body(void **state)
{
    (void)state;
    struct body_check b = {"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", 3, 3,
                           0};
    uint64_t id = 0;
    struct exchange_conn *c =
        exchange_conn_new(NULL, (struct exchange_sink){.ctx = &b, .done = check_body}, &id);
    send(c, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nb", 57);
    send(c, "c\r\n0\r\n\r\n", 8);
    exchange_conn_free(c);
    assert_int_equal(b.calls, 1);
}

static void test_request_body_with_a_gap(void **state)
{
    (void)state;
    struct body_check b = {"", 3, 1, 0};
    uint64_t id = 0;
    struct exchange_conn *c =
        exchange_conn_new(NULL, (struct exchange_sink){.ctx = &b, .done = check_body}, &id);
    struct byte_sink client = exchange_from_client(c);
    send(c, "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\na", 39);
    client.gap(client.ctx, 6, (struct mark){.off = 39});
    send(c, "bc", 2);
    exchange_conn_free(c);
    assert_int_equal(b.calls, 1);
}

/* A million times "a" is an example of FIPS 180. */
static void test_large_request_body(void **state)
{
    (void)state;
    struct body_check b = {"cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
                           1000000, 1000000, 0};
    uint64_t id = 0;
    struct exchange_conn *c =
        exchange_conn_new(NULL, (struct exchange_sink){.ctx = &b, .done = check_body}, &id);
    char *a = mem_alloc(10000);
    memset(a, 'a', 10000);
    send(c, "POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n", 44);
    for (int i = 0; i < 100; i++)
        send(c, a, 10000);
    exchange_conn_free(c);
    assert_int_equal(b.calls, 1);
    free(a);
}

/* --- bounds and contract -------------------------------------------------------------------- */

static int count_call(void *ctx, struct exchange *x)
{
    (void)x;
    ++*(unsigned *)ctx;
    return TA_OK;
}

static void test_pending_are_bounded(void **state)
{
    (void)state;
    unsigned requests = 0;
    uint64_t id = 0;
    struct exchange_conn *c = exchange_conn_new(
        NULL, (struct exchange_sink){.ctx = &requests, .request = count_call}, &id);
    for (unsigned i = 0; i < LIMIT_HTTP_PENDING + 100; i++)
        send(c, GET("/"), 18);
    assert_int_equal(requests, LIMIT_HTTP_PENDING);
    exchange_conn_free(c);
}

struct stopper {
    unsigned started, done;
};

static int stop_request(void *ctx, struct exchange *x)
{
    struct stopper *s = ctx;
    (void)x;
    return ++s->started == 2 ? TA_STOP : TA_OK;
}

static int stop_done(void *ctx, struct exchange *x)
{
    struct stopper *s = ctx;
    (void)x;
    s->done++;
    return TA_OK;
}

static void test_stop(void **state)
{
    (void)state;
    struct stopper s = {0};
    uint64_t id = 0;
    struct exchange_conn *c = exchange_conn_new(
        NULL, (struct exchange_sink){.ctx = &s, .request = stop_request, .done = stop_done}, &id);
    struct byte_sink client = exchange_from_client(c);
    struct span three = {(const uint8_t *)GET("/") GET("/") GET("/"), 54, {0}};
    assert_int_equal(client.data(client.ctx, three), TA_STOP);
    assert_int_equal(client.data(client.ctx, three), TA_STOP);
    exchange_conn_free(c);
    assert_int_equal(s.started, 2);
    assert_int_equal(s.done, 2); /* each that began is given back */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one),
        cmocka_unit_test(test_keep_alive_and_pipelining),
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_stream_cut_short),
        cmocka_unit_test(test_sniffed),
        cmocka_unit_test(test_encoded),
        cmocka_unit_test(test_interim),
        cmocka_unit_test(test_early_response),
        cmocka_unit_test(test_head_and_connect),
        cmocka_unit_test(test_no_response),
        cmocka_unit_test(test_response_of_an_unseen_request),
        cmocka_unit_test(test_late_request),
        cmocka_unit_test(test_gap_in_a_body),
        cmocka_unit_test(test_lost_response),
        cmocka_unit_test(test_gap_in_a_stream),
        cmocka_unit_test(test_rubbish),
        cmocka_unit_test(test_request_body),
        cmocka_unit_test(test_request_body_with_a_gap),
        cmocka_unit_test(test_large_request_body),
        cmocka_unit_test(test_pending_are_bounded),
        cmocka_unit_test(test_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
