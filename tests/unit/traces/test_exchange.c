/* Requests and responses paired: conversations, and the log of what is made of them.
 *
 * Pitfalls, and what covers them (the rest: test_http):
 *   H1   test_head_and_connect
 *   H2   test_interim
 *   H3   test_early_response, test_early_response_alone
 *   H4   test_keep_alive_and_pipelining
 *   H9   test_transfer_coding
 *   H10  test_coded_document, test_codings_not_read, test_request_coding; test_inflate
 *   H11  test_coded_stream; test_inflate
 *   H12, H13  test_stream_cut_short, test_gap_in_a_body
 *   H15  test_head_and_connect, test_upgrade
 *   H16  test_without_a_head
 *   H18  test_lost_response, test_late_request, test_hidden_request,
 *        test_three_answers
 *   H20  test_large_request_body, test_bodies_held
 *   S14  test_sniffed */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include <cmocka.h>

#include "traces/base/mem.h"
#include "traces/exchange.h"
#include "traces/limits.h"

/* --- the log -------------------------------------------------------------------------------- */

struct log {
    struct buf out;
    unsigned alive;   /* exchanges between request and done */
    uint64_t decoded; /* bytes that body was called with */
    bool times;       /* events with the packet that released them */
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
    l->decoded = 0;
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
               x->stream == STREAM_SSE      ? " stream"
               : x->stream == STREAM_NDJSON ? " lines"
                                            : "",
               x->request_complete ? "" : " early", x->interim);
    return TA_OK;
}

static int on_event(void *ctx, struct exchange *x, const struct event *ev)
{
    struct log *l = ctx;
    buf_printf(&l->out, "%llu event %d ", (unsigned long long)x->id, (int)ev->kind);
    assert_true(x->stream != STREAM_NONE && x->is_event_stream == (x->stream == STREAM_SSE));
    assert_int_equal(x->body_last.rel, ev->last.rel);
    if (l->times)
        buf_printf(&l->out, "#%llu ", (unsigned long long)ev->last.rel);
    put_slice(&l->out, ev->data);
    buf_puts(&l->out, "\n");
    return TA_OK;
}

static int on_body(void *ctx, struct exchange *x, struct span in)
{
    struct log *l = ctx;
    l->decoded += in.n;
    assert_true(in.at.rel <= x->body_last.rel);
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

/* Bytes may hold a NUL: then n says how many. */
static int say(struct byte_sink to, const struct line *line, uint64_t *off, uint64_t pkt)
{
    uint64_t seen = line->what == 'x' ? line->n : pkt;
    struct mark at = {*off, (int64_t)seen, (int64_t)pkt, seen, pkt};
    if (line->what == 'c' || line->what == 's') {
        *off += line->n;
        return to.gap(to.ctx, line->n, at);
    }
    size_t n = line->what != 'x' && line->n > 0 ? line->n : strlen(line->text);
    uint8_t *copy = mem_dup(line->text, n);
    int rc = to.data(to.ctx, (struct span){copy, n, at});
    free(copy);
    *off += n;
    return rc;
}

/* Plays the lines, ends the client's side and then the server's as why, and compares the log. */
static void play_log(const struct line *lines, enum end_kind why, bool times, const char *want)
{
    struct log l = {.times = times};
    buf_init(&l.out, 1 << 20);
    struct exchange_sink sink = callbacks;
    sink.ctx = &l;
    struct exchange_shared shared = {0};
    uint64_t off[2] = {0, 0}, pkt = 0;
    struct exchange_conn *c = exchange_conn_new(NULL, sink, &shared);
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

static void play(const struct line *lines, enum end_kind why, const char *want)
{
    play_log(lines, why, false, want);
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
    PLAY(END_FIN, "1.0 GET /\n1 < 200 interim 0\n1 body da\n1 body te\n1 done fin body 4 t 5\n",
         {'C', GET("/"), 0}, {'S', "HTTP/1.1 200 OK\r\nContent-Type: text/plain;x\r\n\r\nda", 0},
         {'S', "te", 0});
    PLAY(END_FIN, "1.0 GET /\n1 < 200 interim 0\n1 body da\n1 done fin body 2 t 4\n",
         {'C', GET("/"), 0}, {'S', "HTTP/1.1 200 OK\r\n\r\nda", 0});
    PLAY(END_FIN, "1.0 GET /\n1 < 200 interim 0\n1 body data: a\n\n\n1 done fin body 9 t 2\n",
         {'C', GET("/"), 0}, {'S', OK("9") "data: a\n\n", 0});
}

/* Adds text to out, compressed for windows of zlib's number; '|' in it is a sync flush. */
static void deflate_text(struct buf *out, int window, const char *text)
{
    z_stream z = {0};
    uint8_t room[4096];
    size_t n;
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
    do {
        n = strcspn(text, "|");
        z.next_in = (uint8_t *)(uintptr_t)text;
        z.avail_in = (unsigned)n;
        z.next_out = room;
        z.avail_out = sizeof room;
        deflate(&z, text[n] == '\0' ? Z_FINISH : Z_SYNC_FLUSH);
        buf_put(out, room, sizeof room - z.avail_out);
        text += n + 1;
    } while (text[-1] != '\0');
    deflateEnd(&z);
}

/* A GET and the answer to it: the head, then the body, a packet for each piece of at most step
 * bytes. Times are packets: the request's is 1, the head's 2. */
static void play_body(const char *head, const struct buf *body, size_t step, const char *want)
{
    struct line lines[200] = {{'C', GET("/"), 0}, {'S', head, 0}};
    size_t n = 2;
    for (size_t i = 0; i < body->n; i += step) {
        assert_true(n < 199);
        lines[n++] =
            (struct line){'S', (const char *)body->p + i, body->n - i < step ? body->n - i : step};
    }
    play(lines, END_FIN, want);
}

/* Each event comes with the packet that ends its flush, not before, not later (H11). */
static void test_coded_stream(void **state)
{
    (void)state;
    struct buf parts[3], all;
    const char *const text[] = {"data: a\n\n|", "data: b\n\n|: ping\n\n|", "data: [DONE]\n\n"};
    struct line lines[8] = {{'C', GET("/"), 0}, {'S', STREAM "Content-Encoding: gzip\r\n\r\n", 0}};
    buf_init(&all, 1 << 16);
    deflate_text(&all, 31, "data: a\n\n|data: b\n\n|: ping\n\n|data: [DONE]\n\n");
    size_t from = 0;
    for (int i = 0; i < 3; i++) { /* where the flushes are: where a shorter text ends */
        char shorter[100] = "";
        for (int k = 0; k <= i; k++)
            strcat(shorter, text[k]);
        buf_init(&parts[i], 1 << 16);
        deflate_text(&parts[i], 31, shorter);
        size_t end = i == 2 ? all.n : parts[i].n - 10; /* its end and trailer: 2 + 8 bytes */
        assert_memory_equal(parts[i].p, all.p, end);
        lines[2 + i] = (struct line){'S', (const char *)all.p + from, end - from};
        from = end;
    }
    char want[300];
    snprintf(want, sizeof want,
             "1.0 GET /\n1 < 200 stream interim 0\n1 event 0 #3 a\n1 event 0 #4 b\n"
             "1 event 1 #4 ping\n1 event 0 #5 [DONE]\n1 done fin body %zu t 7\n",
             all.n);
    play_log(lines, END_FIN, true, want);
    for (int i = 0; i < 3; i++)
        buf_done(&parts[i]);
    buf_done(&all);
}

static void test_coded_document(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int window;
        const char *note;
    } kinds[] = {{"gzip", 31, ""},
                 {"X-GZip", 31, ""},
                 {"deflate", 15, ""},
                 {"deflate", -15, "! 1 coding.raw-deflate\n"},
                 {"deflate", 31, "! 1 coding.mislabelled\n"}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct buf body;
        char head[200], want[200];
        buf_init(&body, 1 << 16);
        deflate_text(&body, kinds[i].window, "{}");
        snprintf(head, sizeof head,
                 "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Encoding: %s\r\n"
                 "Content-Length: %zu\r\n\r\n",
                 kinds[i].name, body.n);
        snprintf(want, sizeof want,
                 "1.0 GET /\n1 < 200 interim 0\n%s1 body {}\n1 done fin body %zu t 3\n",
                 kinds[i].note, body.n);
        play_body(head, &body, SIZE_MAX / 2, want);
        buf_done(&body);
    }
}

/* Sizes on the wire and decoded are kept apart; a type that is not told is sniffed behind the
 * coding; codings stand one on another. */
static int check_sizes(void *ctx, struct exchange *x)
{
    const size_t *wire = ctx;
    assert_int_equal(x->response_body_bytes, *wire);
    assert_int_equal(x->decoded_body_bytes, 9);
    assert_true(slice_is(x->content_coding, "gzip, gzip"));
    assert_true(x->coded && !x->opaque && x->sniffed && x->stream == STREAM_SSE);
    return TA_OK;
}

static void test_coding_on_coding(void **state)
{
    (void)state;
    struct buf inner, outer;
    struct exchange_shared shared = {0};
    buf_init(&inner, 1 << 16);
    buf_init(&outer, 1 << 16);
    deflate_text(&inner, 31, "data: a\n\n");
    z_stream z = {.next_in = inner.p, .avail_in = (unsigned)inner.n};
    uint8_t room[4096];
    z.next_out = room;
    z.avail_out = sizeof room;
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    buf_put(&outer, room, sizeof room - z.avail_out);
    deflateEnd(&z);
    struct exchange_conn *c = exchange_conn_new(
        NULL, (struct exchange_sink){.ctx = &outer.n, .done = check_sizes}, &shared);
    struct byte_sink client = exchange_from_client(c), server = exchange_from_server(c);
    static const char get[] = GET("/"), head[] =
                                            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip\r\n"
                                            "\r\n";
    client.data(client.ctx, (struct span){(const uint8_t *)get, sizeof get - 1, {0}});
    server.data(server.ctx, (struct span){(const uint8_t *)head, sizeof head - 1, {0}});
    server.data(server.ctx, (struct span){outer.p, outer.n, {0}});
    server.end(server.ctx, END_FIN, (struct mark){0});
    exchange_conn_free(c);
    buf_done(&inner);
    buf_done(&outer);
}

static void test_transfer_coding(void **state)
{
    (void)state;
    struct buf body, chunked;
    buf_init(&body, 1 << 16);
    buf_init(&chunked, 1 << 16);
    deflate_text(&body, 31, "data: a\n\n");
    buf_printf(&chunked, "%zx\r\n", body.n);
    buf_put(&chunked, body.p, body.n);
    buf_puts(&chunked, "\r\n0\r\n\r\n");
    char want[200];
    snprintf(want, sizeof want,
             "1.0 GET /\n1 < 200 stream interim 0\n1 event 0 a\n1 done fin body %zu t 3\n", body.n);
    play_body(STREAM "Transfer-Encoding: gzip, chunked\r\n\r\n", &chunked, SIZE_MAX / 2, want);
    buf_done(&body);
    buf_done(&chunked);
}

static void test_codings_not_read(void **state)
{
    (void)state;
    PLAY(END_FIN,
         "1.0 GET /\n! 1 http.content-encoding\n1 < 200 stream interim 0\n1 done fin body 9 t 4\n",
         {'C', GET("/"), 0}, {'S', STREAM "Content-Encoding: br\r\n\r\ndata: a\n\n", 0});
    PLAY(END_FIN,
         "1.0 GET /\n! 1 http.content-encoding\n1 < 200 interim 0\n1 done fin body 2 t 2\n",
         {'C', GET("/"), 0},
         {'S',
          "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Encoding: zstd\r\n"
          "Content-Length: 2\r\n\r\nab",
          0});
    PLAY(END_FIN, "1.0 GET /\n1 < 200 stream interim 0\n1 event 0 a\n1 done fin body 9 t 4\n",
         {'C', GET("/"), 0}, {'S', STREAM "Content-Encoding: identity\r\n\r\ndata: a\n\n", 0});
    PLAY(END_FIN,
         "1.0 GET /\n! 1 coding.unknown\n1 < 200 stream interim 0\n1 event 0 a\n"
         "1 done fin body 9 t 4\n",
         {'C', GET("/"), 0}, {'S', STREAM "Content-Encoding: none\r\n\r\ndata: a\n\n", 0});
    PLAY(END_FIN,
         "1.0 GET /\n1 < 200 stream interim 0\n! 1 coding.mislabelled\n1 event 0 a\n"
         "1 done fin body 9 t 4\n",
         {'C', GET("/"), 0}, {'S', STREAM "Content-Encoding: gzip\r\n\r\ndata: a\n\n", 0});
}

static void test_request_coding(void **state)
{
    (void)state;
    PLAY(END_FIN,
         "1.0 POST /\n! 1 http.request-encoding\n1 < 200 interim 0\n1 done fin body 0 t 2\n",
         {'C',
          "POST / HTTP/1.1\r\nContent-Encoding: zstd\r\nContent-Length: 4\r\n\r\n\x28\xb5\x2f\xfd",
          0},
         {'S', OK("0"), 0});
}

#define LINES(type) "HTTP/1.1 200 OK\r\nContent-Type: " type "\r\n\r\n"

static void test_ndjson(void **state)
{
    (void)state;
    PLAY(END_FIN,
         "1.0 GET /\n1 < 200 lines interim 0\n1 event 0 {\"a\":1}\n1 event 0 {}\n"
         "1 done fin body 10 t 6\n",
         {'C', GET("/"), 0}, {'S', LINES("application/x-ndjson") "{\"a\"", 0}, {'S', ":1}\n{", 0},
         {'S', "}", 0});
    PLAY(END_RST,
         "1.0 GET /\n1 < 200 lines interim 0\n! 1 ndjson.truncated-line\n1 event 2 {\n"
         "1 done no-response rst body 1 t 4\n",
         {'C', GET("/"), 0}, {'S', LINES("Application/JSONL; charset=utf-8") "{", 0});
    PLAY(END_FIN,
         "1.0 GET /\n1 < 200 lines interim 0\n! 1 ndjson.gap\n1 event 0 {}\n"
         "1 done damaged fin body 6 t 6\n",
         {'C', GET("/"), 0}, {'S', LINES("application/jsonlines") "{", 0}, {'s', NULL, 4},
         {'S', "}\n{}\n", 0});
    PLAY(END_FIN,
         "1.0 GET /\n1 < 200 interim 0\n1 event 0 {}\n1 event 0 {}\n1 done fin body 6 t 4\n",
         {'C', GET("/"), 0}, {'S', LINES("application/json") "{}\n{}\n", 0});
    PLAY(END_FIN, "1.0 GET /\n1 < 200 stream interim 0\n1 body {}\n\n1 done fin body 3 t 4\n",
         {'C', GET("/"), 0}, {'S', LINES("text/event-stream") "{}\n", 0});
}

/* HTTP/0.9, and a server that answers HTTP/1.1 like that (curl_http_09). */
static void test_without_a_head(void **state)
{
    (void)state;
    PLAY(END_FIN,
         "! 0 http.version-0.9\n1.0 GET /a\n! 1 http.version-0.9\n1 < 200 interim 0\n"
         "1 body <\n1 body html>\n1 done fin body 6 t 5\n",
         {'C', "GET /a\r\n", 0}, {'S', "<", 0}, {'S', "html>", 0});
    PLAY(END_RST,
         "1.0 GET /\n! 1 http.version-0.9\n1 < 200 interim 0\n1 body H\n1 body T\n1 body X\n"
         "1 done no-response rst body 3 t 5\n",
         {'C', GET("/"), 0}, {'S', "H", 0}, {'S', "TX", 0});
    /* the server speaks of something else: the first response of a connection only */
    PLAY(END_FIN,
         "1.0 GET /\n1 < 200 interim 0\n1 done fin body 0 t 2\n2.1 GET /\n! 2 http.bad-start-line\n"
         "2 done no-response fin body 0 t 6\n",
         {'C', GET("/"), 0}, {'S', OK("0"), 0}, {'C', GET("/"), 0}, {'S', "<html>\n", 0});
    /* another request while it is not known yet what the first bytes are */
    PLAY(END_FIN,
         "1.0 GET /1\n2.1 GET /2\n1 < 204 interim 0\n1 done fin body 0 t 4\n2 < 200 interim 0\n"
         "2 body a\n2 done fin body 1 t 5\n",
         {'C', GET("/1"), 0}, {'S', "HT", 0}, {'C', GET("/2"), 0}, {'S', "TP/1.1 204 N\r\n\r\n", 0},
         {'S', OK("1") "a", 0});
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

/* It has been answered for good, and its rest never comes. */
static void test_early_response_alone(void **state)
{
    (void)state;
    PLAY(END_TRACE,
         "1.0 POST /\n1 < 401 early interim 1\n1 body no\n1 done no-request fin body 2 t 3\n",
         {'C', "POST / HTTP/1.1\r\nContent-Length: 300\r\nExpect: 100-continue\r\n\r\n", 0},
         {'S', "HTTP/1.1 100 Continue\r\n\r\n", 0},
         {'S', "HTTP/1.1 401 No\r\nContent-Type: a/b\r\nContent-Length: 2\r\n\r\nno", 0},
         {'C', "a part of it", 0});
}

static void test_upgrade(void **state)
{
    (void)state;
    PLAY(END_FIN, "1.0 GET /ws\n1 < 101 interim 0\n1 done fin body 10 t 6\n",
         {'C', "GET /ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", 0},
         {'S',
          "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\x81\x03"
          "abc",
          0},
         {'C', "GET /no HTTP/1.1\r\n\r\n", 0},
         {'S',
          "\x81\x03"
          "def",
          0});
}

/* http-desync-request-response-5: two of them answer nobody, and the next request has its own. */
static void test_three_answers(void **state)
{
    (void)state;
    PLAY(END_FIN,
         "1.0 GET /1\n1 < 200 interim 0\n1 body a\n1 done fin body 1 t 2\n"
         "! 0 http.orphan-response\n! 0 http.orphan-response\n2.1 GET /2\n2 < 200 interim 0\n"
         "2 body d\n2 done fin body 1 t 4\n",
         {'C', GET("/1"), 0}, {'S', OK("1") "a" OK("1") "b" OK("1") "c", 0}, {'C', GET("/2"), 0},
         {'S', OK("1") "d", 0});
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

/* /2 waited behind a hole while its answer came, which waited for it in turn; what came before /2
 * is not its own. Whether the hole held another request nobody knows. */
static void test_late_request(void **state)
{
    (void)state;
    PLAY(END_FIN,
         "! 0 http.gap\n! 0 http.orphan-response\n1.0 GET /2\n1 < 200 interim 0\n1 body y\n"
         "1 done damaged fin body 1 t 3\n2.1 GET /3\n2 < 200 interim 0\n2 done fin body 0 t 8\n",
         {'S', OK("1") "x", 0}, {'C', "", 0}, {'S', OK("1") "y", 0}, {'C', "", 0}, {'c', NULL, 30},
         {'x', GET("/2"), 2}, {'C', GET("/3"), 0}, {'S', OK("0"), 0});
    /* Recorded in the other order: all of it is there, and nothing is damaged. */
    PLAY(END_FIN, "1.0 GET /\n1 < 200 interim 0\n1 body y\n1 done fin body 1 t 1\n",
         {'S', OK("1") "y", 0}, {'x', GET("/"), 0});
    /* The head in two pieces, the second late. */
    PLAY(END_FIN, "1.0 GET /\n1 < 200 interim 0\n1 body y\n1 done fin body 1 t 2\n",
         {'C', "GET / HTTP/1.1\r\nHost:", 0}, {'S', OK("1") "y", 0}, {'C', " a\r\n\r\n", 0});
}

#define REFUSED(code)                                                                              \
    "HTTP/1.1 " code " No\r\nContent-Type: a/b\r\nContent-Length: 2\r\nConnection: close\r\n\r\n"  \
    "no"

/* Refused before its head was whole. */
static void test_refused_half(void **state)
{
    (void)state;
    PLAY(END_FIN,
         "1.0 POST /v1\n! 1 http.early-response\n1 < 431 early interim 0\n1 body no\n"
         "! 1 http.truncated-head\n1 done no-request fin body 2 t 2\n",
         {'C', "POST /v1 HTTP/1.1\r\nHost: a\r\nX-Big: aaaa", 0}, {'S', REFUSED("431"), 0});
    /* On a connection that was used before; in pieces; as a timeout, with no field come. */
    PLAY(END_FIN,
         "1.0 GET /1\n1 < 200 interim 0\n1 done fin body 0 t 2\n2.1 GET /2\n"
         "! 2 http.early-response\n2 < 408 early interim 0\n2 body n\n2 body o\n"
         "! 2 http.truncated-head\n2 done no-request fin body 2 t 5\n",
         {'C', GET("/1"), 0}, {'S', OK("0"), 0}, {'C', "GET /2 HTTP/1.1\r\n", 0},
         {'S', "HTTP/1.1 408 No\r\nContent-Type: a/b\r\nContent-Length: 2\r\n\r\nn", 0},
         {'S', "o", 0});
    /* Without the start line nothing is known of a request; nor if nothing of one came. */
    PLAY(END_FIN, "! 0 http.orphan-response\n! 0 http.truncated-head\n", {'C', "POST /v1 HT", 0},
         {'S', REFUSED("408"), 0});
    PLAY(END_FIN, "! 0 http.orphan-response\n", {'S', REFUSED("408"), 0});
    /* An answer to HEAD is framed otherwise. */
    PLAY(END_FIN, "! 0 http.orphan-response\n! 0 http.truncated-head\n",
         {'C', "HEAD / HTTP/1.1\r\n", 0}, {'S', REFUSED("408"), 0});
}

/* A head that is too big for its server is too big for us, too. */
static void test_too_big_and_refused(void **state)
{
    static const char start[] = "POST /v1 HTTP/1.1\r\nX-Big: ";
    (void)state;
    size_t n = (64 << 10) + 100;
    char *big = malloc(n + 1);
    memset(big, 'a', n);
    memcpy(big, start, sizeof start - 1);
    big[n] = '\0';
    PLAY(END_FIN,
         "! 0 http.head-too-big\n1.0 POST /v1\n! 1 http.early-response\n1 < 431 early interim 0\n"
         "1 body no\n1 done no-request damaged fin body 2 t 2\n",
         {'C', big, 0}, {'S', REFUSED("431"), 0});
    free(big);
}

/* The hole may have held a request: of what was asked with it, nobody can say whose answer is
 * whose. What is asked after an answer is sure again. */
static void test_hidden_request(void **state)
{
    (void)state;
    PLAY(END_FIN,
         "1.0 GET /1\n! 0 http.gap\n2.1 GET /3\n1 < 200 interim 0\n1 done fin body 0 t 4\n2 < 200 "
         "interim 0\n2 done damaged fin body 0 t 5\n! 0 http.orphan-response\n3.2 GET /4\n3 < 200 "
         "interim 0\n3 done fin body 0 t 8\n",
         {'C', GET("/1"), 0}, {'c', NULL, 30}, {'C', GET("/3"), 0}, {'S', OK("0"), 0},
         {'S', OK("0"), 0}, {'S', OK("0"), 0}, {'C', GET("/4"), 0}, {'S', OK("0"), 0});
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

/* --- splits --------------------------------------------------------------------------------- */

/* One answer to one GET, in pieces that end at cut and at the end, or of one byte; all of it is
 * packet 2. What is said of documents are their bytes, however they come. */
static void answer(const struct buf *in, size_t cut, bool single, struct log *l)
{
    struct exchange_shared shared = {0};
    struct exchange_sink sink = callbacks;
    sink.ctx = l;
    l->quiet = true;
    buf_init(&l->out, 1 << 20);
    struct exchange_conn *c = exchange_conn_new(NULL, sink, &shared);
    struct byte_sink client = exchange_from_client(c), server = exchange_from_server(c);
    static const char get[] = GET("/");
    client.data(client.ctx, (struct span){(const uint8_t *)get, sizeof get - 1, {0, 1, 1, 1, 1}});
    for (size_t i = 0; i < in->n;) {
        size_t end = single ? i + 1 : i < cut ? cut : in->n;
        uint8_t *copy = mem_dup(in->p + i, end - i);
        server.data(server.ctx, (struct span){copy, end - i, {i, 2, 2, 2, 2}});
        free(copy);
        i = end;
    }
    server.end(server.ctx, END_FIN, (struct mark){in->n, 3, 3, 3, 3});
    exchange_conn_free(c);
    buf_printf(&l->out, "decoded %llu\n", (unsigned long long)l->decoded);
}

/* In want, # stands for the bytes of the body on the wire. */
static void same_for_every_split(const char *head, const char *text, int window, const char *want)
{
    struct buf in, all;
    buf_init(&in, 1 << 16);
    buf_init(&all, 1 << 16);
    buf_puts(&in, head);
    if (window != 0)
        deflate_text(&in, window, text);
    else
        buf_puts(&in, text);
    size_t n = strcspn(want, "#");
    buf_printf(&all, "%.*s%zu%s", (int)n, want, in.n - strlen(head), want + n + 1);
    for (size_t cut = 0; cut <= in.n; cut++) {
        struct log l = {0};
        answer(&in, cut, cut == 0, &l);
        assert_string_equal(buf_text(&l.out), buf_text(&all));
        buf_done(&l.out);
    }
    buf_done(&in);
    buf_done(&all);
}

static void test_every_split(void **state)
{
    (void)state;
    static const char untold[] = "HTTP/1.1 200 OK\r\n\r\n", coded[] =
                                                                "HTTP/1.1 200 OK\r\n"
                                                                "Content-Encoding: gzip\r\n\r\n";
    same_for_every_split(untold, "data: a\n\n", 0,
                         "1.0 GET /\n1 < 200 interim 0\n1 event 0 a\n1 done fin body # t 3\n"
                         "decoded 0\n");
    same_for_every_split(untold, "dat", 0,
                         "1.0 GET /\n1 < 200 interim 0\n1 done fin body # t 3\ndecoded 3\n");
    same_for_every_split(coded, ": hi\n\n|data: a\n\n", 31,
                         "1.0 GET /\n1 < 200 interim 0\n1 event 1 hi\n1 event 0 a\n"
                         "1 done fin body # t 3\ndecoded 0\n");
    same_for_every_split(coded, "{\"a\":|1}", 31,
                         "1.0 GET /\n1 < 200 interim 0\n1 done fin body # t 3\ndecoded 7\n");
    same_for_every_split(coded, "data: plain\n\n", 0,
                         "1.0 GET /\n1 < 200 interim 0\n! 1 coding.mislabelled\n1 event 0 plain\n"
                         "1 done fin body # t 3\ndecoded 0\n");
    same_for_every_split(LINES("application/x-ndjson"), "{}\n[1]", 0,
                         "1.0 GET /\n1 < 200 lines interim 0\n1 event 0 {}\n1 event 0 [1]\n"
                         "1 done fin body # t 3\ndecoded 0\n");
    same_for_every_split(
        "", "<html>", 0,
        "1.0 GET /\n! 1 http.version-0.9\n1 < 200 interim 0\n1 done fin body # t 3\n"
        "decoded 6\n");
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
    struct exchange_shared id = {0};
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
    struct exchange_shared id = {0};
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
    struct exchange_shared id = {0};
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

/* Of two requests at once that fill what may be held, the second keeps what is left, and both
 * hashes are whole; when they are done, there is room again. */
struct held {
    struct exchange_shared shared;
    uint64_t kept[3];
    char sha256[3][65];
    unsigned done, not_kept;
};

static int held_done(void *ctx, struct exchange *x)
{
    struct held *h = ctx;
    h->kept[x->id - 1] = x->request_body.n;
    strcpy(h->sha256[x->id - 1], x->request_body_sha256);
    h->done++;
    return TA_OK;
}

static void held_anomaly(void *ctx, struct exchange *x, const struct anomaly *a)
{
    (void)x;
    ((struct held *)ctx)->not_kept += strcmp(a->id, "http.request-body-not-kept") == 0;
}

static void test_bodies_held(void **state)
{
    (void)state;
    struct held h = {0};
    struct exchange_conn *c[3];
    enum { N = 1 << 20 };
    char *piece = mem_zalloc(N);
    h.shared.held = LIMIT_REQUEST_BODIES_BYTES - 3 * N; /* others */
    for (int i = 0; i < 3; i++) {
        c[i] = exchange_conn_new(
            NULL, (struct exchange_sink){.ctx = &h, .done = held_done, .anomaly = held_anomaly},
            &h.shared);
        send(c[i], "POST / HTTP/1.1\r\nContent-Length: 2097152\r\n\r\n", 44);
        send(c[i], piece, N);
        send(c[i], piece, N);
        if (i == 1)
            exchange_conn_free(c[0]);
    }
    exchange_conn_free(c[1]);
    exchange_conn_free(c[2]);
    assert_int_equal(h.done, 3);
    assert_int_equal(h.kept[0], 2 * N);
    assert_int_equal(h.kept[1], N);
    assert_int_equal(h.kept[2], 2 * N);
    assert_int_equal(h.not_kept, 1);
    assert_int_equal(strlen(h.sha256[0]), 64);
    assert_string_equal(h.sha256[0], h.sha256[1]);
    assert_int_equal(h.shared.held, LIMIT_REQUEST_BODIES_BYTES - 3 * N);
    free(piece);
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
    struct exchange_shared id = {0};
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
    struct exchange_shared id = {0};
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

/* --- before the trace ----------------------------------------------------------------------- */

/* What the server of a connection says; before it, the client, if it does. */
static struct exchange_before under_way(bool midstream, const char *asks, const char *says)
{
    struct exchange_shared shared = {0};
    struct tcp_conn conn = {.id = 7, .midstream = midstream};
    struct exchange_conn *c = exchange_conn_new(&conn, (struct exchange_sink){0}, &shared);
    struct byte_sink server = exchange_from_server(c);
    if (asks[0] != '\0')
        send(c, asks, strlen(asks));
    for (int i = 0; i < 3; i++)
        assert_int_equal(server.data(server.ctx, (struct span){(const uint8_t *)says,
                                                               strlen(says),
                                                               {10, 100 + i, 100 + i, 3, 3}}),
                         TA_OK);
    send(c, GET("/"), sizeof GET("/") - 1); /* what it says from now on has been asked for */
    assert_int_equal(
        server.data(server.ctx,
                    (struct span){(const uint8_t *)says, strlen(says), {90, 200, 200, 9, 9}}),
        TA_OK);
    exchange_conn_free(c);
    return shared.before;
}

static void test_under_way_before(void **state)
{
    (void)state;
    struct exchange_before b = under_way(true, "", "b\"}\n\ndata: {}\n\n");
    assert_int_equal(b.streams, 1);
    assert_int_equal(b.bytes, 3 * 15);
    assert_int_equal(b.conn, 7);
    assert_int_equal(b.pkt, 3);
    assert_int_equal(b.off, 10);
    assert_int_equal(b.t_ns, 100);
    assert_int_equal(b.last_t_ns, 102);
    assert_int_equal(under_way(false, "", "data: {}\n\n").streams, 0);
    assert_int_equal(under_way(true, GET("/"), "data: {}\n\n").streams, 0);
    assert_int_equal(under_way(true, "", "no data: {}\n\n").streams, 0); /* a document */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one),
        cmocka_unit_test(test_keep_alive_and_pipelining),
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_stream_cut_short),
        cmocka_unit_test(test_sniffed),
        cmocka_unit_test(test_coded_stream),
        cmocka_unit_test(test_coded_document),
        cmocka_unit_test(test_coding_on_coding),
        cmocka_unit_test(test_transfer_coding),
        cmocka_unit_test(test_codings_not_read),
        cmocka_unit_test(test_request_coding),
        cmocka_unit_test(test_ndjson),
        cmocka_unit_test(test_without_a_head),
        cmocka_unit_test(test_interim),
        cmocka_unit_test(test_early_response),
        cmocka_unit_test(test_early_response_alone),
        cmocka_unit_test(test_upgrade),
        cmocka_unit_test(test_three_answers),
        cmocka_unit_test(test_head_and_connect),
        cmocka_unit_test(test_no_response),
        cmocka_unit_test(test_response_of_an_unseen_request),
        cmocka_unit_test(test_late_request),
        cmocka_unit_test(test_refused_half),
        cmocka_unit_test(test_too_big_and_refused),
        cmocka_unit_test(test_hidden_request),
        cmocka_unit_test(test_gap_in_a_body),
        cmocka_unit_test(test_lost_response),
        cmocka_unit_test(test_gap_in_a_stream),
        cmocka_unit_test(test_rubbish),
        cmocka_unit_test(test_every_split),
        cmocka_unit_test(test_request_body),
        cmocka_unit_test(test_request_body_with_a_gap),
        cmocka_unit_test(test_large_request_body),
        cmocka_unit_test(test_bodies_held),
        cmocka_unit_test(test_pending_are_bounded),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_under_way_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
