/* HTTP/1.x: inputs and the log of what the parser says of them, the same for every split.
 *
 * Pitfalls, and what covers them:
 *   H1   length, chunked, until close, HEAD, 1xx, 204, 304, CONNECT: "length", "until close",
 *        "answers HEAD, once", "no body in 204 and 304", "chunked beats length" …
 *   H2   "interim"; pairing: test_exchange
 *   H3   test_exchange: early responses
 *   H4   "pipelined, empty lines before"; pairing: test_exchange
 *   H5   "pipelined, empty lines before", "bare line feeds", "a bare CR ends no line"
 *   H6   "folded", "odd fields", "a field name that is none", test_line_too_long
 *   H7   "two lengths", "length over 64 bits", "length over 63 bits", "signed length", "bad length"
 *   H8   "chunked with extension and trailer", "text behind a chunk size", "chunk size of …"
 *   H9   "chunked beats length", "chunked in 1.0", "version is per message"
 *   H10, H11   test_inflate, test_exchange
 *   H12  "until close", "until close, torn down"
 *   H13  "cut in the body", "more than its length", "a field that is called nearly so"
 *   H14  "after close", "1.0 kept alive", "1.0 reused without asking"
 *   H15  "upgrade", "answers CONNECT", "refuses CONNECT"
 *   H16  "HTTP/0.9", "a body without a head", "no body without a head …"
 *   H17  "methods are open-ended", test_long_target
 *   H18  the gap cases; pairing: test_exchange
 *   H19  "begins in a body": a first line decides, whatever the port; traces/pipeline
 *   H20  test_exchange: test_bodies_held
 *   H21  nothing is decoded on its way: replay's and capture's business */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/feed.h"
#include "traces/http.h"
#include "traces/limits.h"

/* --- the log -------------------------------------------------------------------------------- */

struct log {
    const struct feed *f;
    struct buf *out;
    uint64_t body_next; /* where the open body line goes on; 0: none is open */
};

static void close_body(struct log *l)
{
    if (l->body_next > 0)
        buf_puts(l->out, "\"\n");
    l->body_next = 0;
}

static int log_body(void *ctx, struct span in)
{
    struct log *l = ctx;
    feed_check(l->f, in.at);
    if (l->body_next == 0 || l->body_next != in.at.off) {
        close_body(l);
        buf_printf(l->out, "body @%llu \"", (unsigned long long)in.at.off);
    }
    assert_int_equal(buf_add(l->out, in.p, in.n), TA_OK);
    l->body_next = in.at.off + in.n;
    return TA_OK;
}

static int log_body_gap(void *ctx, uint64_t n, struct mark at)
{
    struct log *l = ctx;
    close_body(l);
    buf_printf(l->out, "gap @%llu %llu\n", (unsigned long long)at.off, (unsigned long long)n);
    return TA_OK;
}

static const char *const whys[] = {"fin", "rst", "trace", "gap"};

static int log_body_end(void *ctx, enum end_kind why, struct mark at)
{
    struct log *l = ctx;
    close_body(l);
    feed_check(l->f, at);
    buf_printf(l->out, "end %s\n", whys[why]);
    return TA_OK;
}

static int log_head(void *ctx, const struct http_head *h, struct byte_sink *body)
{
    static const char *const framings[] = {"none", "length", "chunked", "close", "tunnel"};
    struct log *l = ctx;
    feed_check(l->f, h->first);
    feed_check(l->f, h->last);
    buf_printf(l->out, "head @%llu-%llu ", (unsigned long long)h->first.off,
               (unsigned long long)h->last.off);
    if (h->status == 0)
        buf_printf(l->out, "%.*s %.*s", (int)h->method.n, h->method.p, (int)h->target.n,
                   h->target.p);
    else
        buf_printf(l->out, "%d %.*s", h->status, (int)h->reason.n, h->reason.n ? h->reason.p : "");
    buf_printf(l->out, " %d.%d %s", h->simple ? 0 : 1, h->minor, framings[h->framing]);
    if (h->framing == HTTP_LENGTH)
        buf_printf(l->out, " %llu", (unsigned long long)h->length);
    buf_puts(l->out, h->keep_alive ? "\n" : " last\n");
    for (size_t i = 0; i < h->n_fields; i++)
        buf_printf(l->out, "  %.*s=%.*s\n", (int)h->fields[i].name.n, h->fields[i].name.p,
                   (int)h->fields[i].value.n, h->fields[i].value.p);
    *body = (struct byte_sink){l, log_body, log_body_gap, log_body_end};
    return TA_OK;
}

static int log_done(void *ctx, enum end_kind why, bool complete, struct mark last)
{
    struct log *l = ctx;
    feed_check(l->f, last);
    buf_printf(l->out, "done %s @%llu\n", complete ? "complete" : whys[why],
               (unsigned long long)last.off);
    return TA_OK;
}

static void log_anomaly(void *ctx, const struct anomaly *a)
{
    struct log *l = ctx;
    close_body(l);
    buf_printf(l->out, "! %s @%llu\n", a->id, (unsigned long long)a->at.off);
}

struct wanted {
    enum http_side side;
    enum http_expect expect;
};

static void run(void *ctx, const struct feed *f, struct buf *out)
{
    const struct wanted *w = ctx;
    struct log l = {.f = f, .out = out};
    struct http *h = http_new(w->side, (struct http_sink){&l, log_head, log_done},
                              (struct anomaly_sink){&l, log_anomaly});
    http_expect(h, w->expect);
    assert_int_equal(feed_go(f, http_input(h)), TA_OK);
    close_body(&l);
    http_free(h);
}

/* --- the cases ------------------------------------------------------------------------------ */

struct http_case {
    const char *name;
    const char *input;
    const char *log;
    size_t gap_at;
    uint64_t gap_n;
    enum end_kind why;
    enum http_expect expect;
};

static const struct http_case requests[] = {
    {.name = "plain GET",
     "GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n",
     "head @0-31 GET /a?b=c 1.1 none\n  Host=x\nend fin\ndone complete @31\n"},
    {.name = "length",
     "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
     "head @0-37 POST / 1.1 length 5\n  Content-Length=5\nbody @38 \"hello\"\nend fin\n"
     "done complete @42\n"},
    {.name = "length 0",
     "POST / HTTP/1.1\r\ncontent-length:0\r\n\r\n",
     "head @0-36 POST / 1.1 length 0\n  content-length=0\nend fin\ndone complete @36\n"},
    {.name = "pipelined, empty lines before",
     "\r\n\r\nGET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n\r\nPOST /3 "
     "HTTP/1.1\r\nContent-Length: "
     "1\r\n\r\nxGET /4 HTTP/1.0\r\n\r\n",
     "head @4-22 GET /1 1.1 none\nend fin\ndone complete @22\n"
     "head @23-41 GET /2 1.1 none\nend fin\ndone complete @41\n"
     "head @44-82 POST /3 1.1 length 1\n  Content-Length=1\nbody @83 \"x\"\nend fin\n"
     "done complete @83\n"
     "head @84-102 GET /4 1.0 none last\nend fin\ndone complete @102\n"},
    {.name = "chunked with extension and trailer",
     "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;a=\"b\"\r\nabc\r\nA  "
     "\r\n0123456789\r\n0\r\nX: y\r\n\r\nGET / HTTP/1.1\r\n\r\n",
     "head @0-46 POST / 1.1 chunked\n  Transfer-Encoding=chunked\nbody @56 \"abc\"\n"
     "! http.odd-chunk-line @64\nbody @66 \"0123456789\"\nend fin\ndone complete @88\n"
     "head @89-106 GET / 1.1 none\nend fin\ndone complete @106\n"},
    {.name = "bare line feeds",
     "POST / HTTP/1.1\nTransfer-Encoding: chunked\n\n2\nab\n0\n\n",
     "! http.bare-lf @0\nhead @0-43 POST / 1.1 chunked\n  Transfer-Encoding=chunked\n"
     "! http.bare-lf @45\nbody @46 \"ab\"\nend fin\ndone complete @51\n"},
    {.name = "a bare CR ends no line",
     "GET / HTTP/1.1\r\nA: b\rc\r\n\r\n",
     "! http.control-byte @0\nhead @0-25 GET / 1.1 none\n  A=b\rc\nend fin\ndone complete @25\n"},
    {.name = "folded",
     "GET / HTTP/1.1\r\nA: b\r\n\t c \r\n d\r\nB:\r\n e\r\n\r\n",
     "! http.obs-fold @0\n! http.obs-fold @0\n! http.obs-fold @0\nhead @0-41 GET / 1.1 none\n  A=b "
     "c d\n"
     "  B=e\nend fin\ndone complete @41\n"},
    {.name = "odd fields",
     "GET / HTTP/1.1\r\nA : b\r\nnonsense\r\n: c\r\nEmpty:\r\n\r\n",
     "! http.space-before-colon @0\n! http.bad-field @0\n! http.bad-field @0\n"
     "head @0-47 GET / 1.1 none\n  A=b\n  Empty=\nend fin\ndone complete @47\n"},
    {.name = "one length, said twice",
     "POST / HTTP/1.1\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nab",
     "! http.duplicate-content-length @0\n! http.duplicate-content-length @0\n"
     "head @0-59 POST / 1.1 length 2\n  Content-Length=2, 2\n  Content-Length=2\nbody @60 "
     "\"ab\"\nend "
     "fin\ndone complete @61\n"},
    {.name = "two lengths",
     "POST / HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabGET / HTTP/1.1\r\n\r\n",
     "! http.bad-content-length @0\nhead @0-56 POST / 1.1 none\n  Content-Length=2\n  "
     "Content-Length=3\nend gap\ndone gap @56\nhead @59-76 GET / 1.1 none\nend fin\n"
     "done complete @76\n"},
    {.name = "length over 64 bits",
     "POST / HTTP/1.1\r\nContent-Length: 18446744073709551616\r\n\r\n",
     "! http.bad-content-length @0\nhead @0-56 POST / 1.1 none\n  "
     "Content-Length=18446744073709551616\nend gap\ndone gap @56\n"},
    {.name = "signed length",
     "POST / HTTP/1.1\r\nContent-Length: +2\r\n\r\n",
     "! http.bad-content-length @0\nhead @0-38 POST / 1.1 none\n  Content-Length=+2\nend gap\n"
     "done gap @38\n"},
    {.name = "chunked beats length",
     "POST / HTTP/1.1\r\nContent-Length: 9\r\nTransfer-Encoding: gzip, "
     "Chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
     "! http.te-and-cl @0\nhead @0-71 POST / 1.1 chunked\n  Content-Length=9\n  "
     "Transfer-Encoding=gzip, Chunked\nbody @75 \"a\"\nend fin\ndone complete @82\n"},
    {.name = "coding that is not chunked",
     "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
     "! http.te-not-chunked @0\nhead @0-43 POST / 1.1 none\n  Transfer-Encoding=gzip\nend gap\n"
     "done gap @43\n"},
    {.name = "chunk size of no digits",
     "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nGET / HTTP/1.1\r\n\r\n",
     "head @0-46 POST / 1.1 chunked\n  Transfer-Encoding=chunked\n! http.bad-chunk-size @47\nend "
     "gap\n"
     "done gap @47\nhead @52-69 GET / 1.1 none\nend fin\ndone complete @69\n"},
    {.name = "chunk size of 17 digits",
     "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\n",
     "head @0-46 POST / 1.1 chunked\n  Transfer-Encoding=chunked\n! http.bad-chunk-size @63\nend "
     "gap\n"
     "done gap @63\n"},
    {.name = "chunk longer than it says",
     "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
     "head @0-46 POST / 1.1 chunked\n  Transfer-Encoding=chunked\nbody @50 \"a\"\n"
     "! http.bad-chunk-end @51\nend gap\ndone gap @51\n"},
    {.name = "cut in the head", "GET / HTTP/1.1\r\nHos", "! http.truncated-head @0\n"},
    {.name = "cut in the body",
     "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhel",
     "head @0-37 POST / 1.1 length 5\n  Content-Length=5\nbody @38 \"hel\"\nend trace\ndone trace "
     "@40\n",
     .why = END_TRACE},
    {.name = "zero chunk without its last line",
     "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n",
     "head @0-46 POST / 1.1 chunked\n  Transfer-Encoding=chunked\nbody @50 \"a\"\n"
     "! http.no-final-line @55\nend fin\ndone complete @55\n"},
    {.name = "after close",
     "GET / HTTP/1.1\r\nConnection: x, Close\r\n\r\n\r\nGET / HTTP/1.1\r\n\r\n",
     "head @0-39 GET / 1.1 none last\n  Connection=x, Close\nend fin\ndone complete @39\n"
     "! http.bytes-after-close @42\n"},
    {.name = "1.0 kept alive",
     "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\nGET / HTTP/1.0\r\n\r\n",
     "head @0-41 GET / 1.0 none\n  Connection=Keep-Alive\nend fin\ndone complete @41\n"
     "head @42-59 GET / 1.0 none last\nend fin\ndone complete @59\n"},
    {.name = "1.0 reused without asking",
     "GET /1 HTTP/1.0\r\n\r\nGET /2 HTTP/1.0\r\n\r\n",
     "head @0-18 GET /1 1.0 none last\nend fin\ndone complete @18\n! http.kept-alive-unasked @19\n"
     "head @19-37 GET /2 1.0 none last\nend fin\ndone complete @37\n"},
    {.name = "begins in a body",
     "tail of json\"}]}POST /v1/x HTTP/1.1\r\nContent-Length: 1\r\n\r\ny",
     "! http.bad-start-line @0\nhead @16-57 POST /v1/x 1.1 length 1\n  Content-Length=1\nbody @58 "
     "\"y\"\nend fin\ndone complete @58\n"},
    {.name = "noise before a request",
     "\x01\x02\nno\nPATCH /a HTTP/1.1\r\nA: b\r\n\r\n",
     "! http.bad-start-line @0\nhead @6-32 PATCH /a 1.1 none\n  A=b\nend fin\ndone complete @32\n"},
    {.name = "a request quoted in JSON is none",
     "noise\n\"GET /a HTTP/1.1\\r\\n\"\nGET /b HTTP/1.1\r\n\r\n",
     "! http.bad-start-line @0\nhead @28-46 GET /b 1.1 none\nend fin\ndone complete @46\n"},
    {.name = "length over 63 bits: no message is that long",
     "POST / HTTP/1.1\r\nContent-Length: 9223372036854775808\r\n\r\nGET /b HTTP/1.1\r\n\r\n",
     "! http.bad-content-length @0\nhead @0-55 POST / 1.1 none\n  "
     "Content-Length=9223372036854775808\nend gap\ndone gap @55\nhead @56-74 GET /b 1.1 none\n"
     "end fin\ndone complete @74\n"},
    {.name = "a field name that is none",
     "GET / HTTP/1.1\r\nA(b: c\r\n\r\n",
     "! http.bad-field-name @0\nhead @0-25 GET / 1.1 none\n  A(b=c\nend fin\ndone complete @25\n"},
    {.name = "a field that is called nearly so",
     "POST / HTTP/1.1\r\nContent-Len: 1\r\nContent-Length: 2\r\n\r\nab",
     "head @0-53 POST / 1.1 length 2\n  Content-Len=1\n  Content-Length=2\nbody @54 \"ab\"\n"
     "end fin\ndone complete @55\n"},
    {.name = "text behind a chunk size",
     "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1 x\r\na\r\n1 ;x\r\nb\r\n1 "
     "\r\nc\r\n0\r\n\r\n",
     "head @0-46 POST / 1.1 chunked\n  Transfer-Encoding=chunked\n! http.odd-chunk-line @49\n"
     "body @52 \"a\"\nbody @61 \"b\"\nbody @68 \"c\"\nend fin\ndone complete @75\n"},
    {.name = "methods are open-ended",
     "CCM_POST /pot HTTP/1.1\r\n\r\n",
     "head @0-25 CCM_POST /pot 1.1 none\nend fin\ndone complete @25\n"},
    {.name = "HTTP/0.9",
     "GET /a?b\r\n",
     "! http.version-0.9 @0\nhead @0-9 GET /a?b 0.9 none last\nend fin\ndone complete @9\n"},
    {.name = "HTTP/0.9, bare LF",
     "GET /a \n",
     "! http.bare-lf @0\n! http.version-0.9 @0\nhead @0-7 GET /a 0.9 none last\nend fin\n"
     "done complete @7\n"},
    {.name = "HTTP/0.9, then a head found in noise",
     "GET /a\r\nno}POST /b HTTP/1.1\r\nA: b\r\n\r\n",
     "! http.version-0.9 @0\nhead @0-7 GET /a 0.9 none last\nend fin\ndone complete @7\n"
     "! http.bad-start-line @8\n! http.kept-alive-unasked @11\nhead @11-36 POST /b 1.1 none\n  "
     "A=b\n"
     "end fin\ndone complete @36\n"},
    {.name = "HTTP/0.9 knows no other method", "POST /a\r\n", "! http.bad-start-line @0\n"},
    {.name = "HTTP/0.9 needs a path", "GET \r\n", "! http.bad-start-line @0\n"},
    {.name = "gap in a body of known length",
     "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nabcd",
     "head @0-37 POST / 1.1 length 9\n  Content-Length=9\nbody @38 \"ab\"\ngap @40 5\nbody @45 "
     "\"cd\"\nend fin\ndone complete @46\n",
     .gap_at = 40,
     .gap_n = 5},
    {.name = "gap over just the rest of a body",
     "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nabGET /2 HTTP/1.1\r\n\r\n",
     "head @0-37 POST / 1.1 length 9\n  Content-Length=9\nbody @38 \"ab\"\ngap @40 7\n"
     "end gap\ndone gap @40\nhead @47-65 GET /2 1.1 none\nend fin\ndone complete @65\n",
     .gap_at = 40,
     .gap_n = 7},
    {.name = "gap over just the rest of the last body",
     "POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 9\r\n\r\nabGET /2",
     "head @0-56 POST / 1.1 length 9 last\n  Connection=close\n  Content-Length=9\n"
     "body @57 \"ab\"\ngap @59 7\nend gap\ndone gap @59\n! http.bytes-after-close @66\n",
     .gap_at = 59,
     .gap_n = 7},
    {.name = "gap over the end of a body",
     "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nab\r\nA: b\r\n\r\nGET /2 HTTP/1.1\r\n\r\n",
     "head @0-37 POST / 1.1 length 9\n  Content-Length=9\nbody @38 \"ab\"\ngap @40 7\n! http.gap "
     "@40\n"
     "end gap\ndone gap @40\nhead @70-88 GET /2 1.1 none\nend fin\ndone complete @88\n",
     .gap_at = 40,
     .gap_n = 20},
    {.name = "gap in a head",
     "GET / HTTP/1.1\r\nHost: b\r\n\r\nGET /2 HTTP/1.1\r\n\r\n",
     "! http.gap @20\nhead @127-145 GET /2 1.1 none\nend fin\ndone complete @145\n",
     .gap_at = 20,
     .gap_n = 100},
    {.name = "gap in chunk data",
     "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nabcd\r\n0\r\n\r\n",
     "head @0-46 POST / 1.1 chunked\n  Transfer-Encoding=chunked\nbody @50 \"ab\"\ngap @52 4\nbody "
     "@56 "
     "\"cd\"\nend fin\ndone complete @64\n",
     .gap_at = 52,
     .gap_n = 4},
    {.name = "gap over all chunk data left",
     "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nab\r\n0\r\n\r\n",
     "head @0-46 POST / 1.1 chunked\n  Transfer-Encoding=chunked\nbody @50 \"ab\"\ngap @52 4\nend "
     "fin\n"
     "done complete @62\n",
     .gap_at = 52,
     .gap_n = 4},
    {.name = "gap over a chunk line",
     "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nab\r\n0\r\n\r\nGET / "
     "HTTP/1.1\r\n\r\n",
     "head @0-46 POST / 1.1 chunked\n  Transfer-Encoding=chunked\nbody @50 \"ab\"\ngap @52 4\n"
     "! http.gap @52\nend gap\ndone gap @52\nhead @64-81 GET / 1.1 none\nend fin\ndone complete "
     "@81\n",
     .gap_at = 52,
     .gap_n = 5},
};

static const struct http_case responses[] = {
    {.name = "until close",
     "HTTP/1.1 200 OK\r\nA: b\r\n\r\nhello",
     "head @0-24 200 OK 1.1 close last\n  A=b\nbody @25 \"hello\"\nend fin\ndone complete @30\n"},
    {.name = "until close, torn down",
     "HTTP/1.1 200 OK\r\nA: b\r\n\r\nhello",
     "head @0-24 200 OK 1.1 close last\n  A=b\nbody @25 \"hello\"\nend rst\ndone rst @29\n",
     .why = END_RST},
    {.name = "no reason",
     "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\nHTTP/1.1 404 \r\nContent-Length: 0\r\n\r\n",
     "head @0-34 200  1.1 length 0\n  Content-Length=0\nend fin\ndone complete @34\n"
     "head @35-70 404  1.1 length 0\n  Content-Length=0\nend fin\ndone complete @70\n"},
    {.name = "interim",
     "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 "
     "OK\r\nContent-Length: 1\r\n\r\na",
     "head @0-24 100 Continue 1.1 none\nend fin\ndone complete @24\n"
     "head @25-61 103 Early Hints 1.1 none\n  Link=x\nend fin\ndone complete @61\n"
     "head @62-99 200 OK 1.1 length 1\n  Content-Length=1\nbody @100 \"a\"\nend fin\n"
     "done complete @100\n"},
    {.name = "no body in 204 and 304",
     "HTTP/1.1 204 N\r\nContent-Length: 5\r\n\r\nHTTP/1.1 304 N\r\nTransfer-Encoding: "
     "chunked\r\n\r\n",
     "head @0-36 204 N 1.1 none\n  Content-Length=5\nend fin\ndone complete @36\n"
     "head @37-82 304 N 1.1 none\n  Transfer-Encoding=chunked\nend fin\ndone complete @82\n"},
    {.name = "answers HEAD, once",
     "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 200 O\r\nContent-Length: 5\r\n\r\nHTTP/1.1 200 "
     "O\r\nContent-Length: "
     "1\r\n\r\nx",
     "head @0-17 100 C 1.1 none\nend fin\ndone complete @17\n"
     "head @18-54 200 O 1.1 none\n  Content-Length=5\nend fin\ndone complete @54\n"
     "head @55-91 200 O 1.1 length 1\n  Content-Length=1\nbody @92 \"x\"\nend fin\n"
     "done complete @92\n",
     .expect = HTTP_EXPECT_HEAD},
    {.name = "answers CONNECT",
     "HTTP/1.1 200 O\r\nContent-Length: 1\r\n\r\nHTTP/1.1 is not parsed",
     "head @0-36 200 O 1.1 tunnel\n  Content-Length=1\nbody @37 \"HTTP/1.1 is not parsed\"\nend "
     "fin\n"
     "done complete @59\n",
     .expect = HTTP_EXPECT_CONNECT},
    {.name = "refuses CONNECT",
     "HTTP/1.1 407 O\r\nContent-Length: 1\r\n\r\nx",
     "head @0-36 407 O 1.1 length 1\n  Content-Length=1\nbody @37 \"x\"\nend fin\ndone complete "
     "@37\n",
     .expect = HTTP_EXPECT_CONNECT},
    {.name = "upgrade",
     "HTTP/1.1 101 Switching\r\n\r\nbytes",
     "head @0-25 101 Switching 1.1 tunnel\nbody @26 \"bytes\"\nend fin\ndone complete @31\n"},
    {.name = "a body without a head",
     "<html>\r\nx",
     "! http.version-0.9 @0\nhead @0-0 200  0.9 close last\nbody @0 \"<html>\r\nx\"\nend fin\n"
     "done complete @9\n",
     .expect = HTTP_EXPECT_FIRST},
    {.name = "a body that begins nearly like a head",
     "HTTPS is",
     "! http.version-0.9 @0\nhead @0-0 200  0.9 close last\nbody @0 \"HTTPS is\"\nend rst\n"
     "done rst @7\n",
     .expect = HTTP_EXPECT_FIRST,
     .why = END_RST},
    {.name = "no body without a head: it has one",
     "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 204 N\r\n\r\nabc\n",
     "head @0-17 100 C 1.1 none\nend fin\ndone complete @17\nhead @18-35 204 N 1.1 none\nend fin\n"
     "done complete @35\n! http.bad-start-line @36\n",
     .expect = HTTP_EXPECT_FIRST},
    {.name = "no body without a head: too little to tell",
     "HTT",
     "! http.truncated-head @0\n",
     .expect = HTTP_EXPECT_FIRST},
    {.name = "no body without a head: bytes before it are missing",
     "HTP/1.1 200 OK\r\n\r\nHTTP/1.1 204 N\r\n\r\n",
     "! http.gap @1\nhead @24-41 204 N 1.1 none\nend fin\ndone complete @41\n",
     .expect = HTTP_EXPECT_FIRST,
     .gap_at = 1,
     .gap_n = 6},
    {.name = "version is per message",
     "HTTP/1.1 200 O\r\nContent-Length: 1\r\n\r\naHTTP/1.0 200 O\r\nContent-Length: "
     "1\r\n\r\nb",
     "head @0-36 200 O 1.1 length 1\n  Content-Length=1\nbody @37 \"a\"\nend fin\ndone complete "
     "@37\nhead @38-74 200 O 1.0 length 1 last\n  Content-Length=1\nbody @75 \"b\"\nend fin\n"
     "done complete @75\n"},
    {.name = "coding that is not chunked",
     "HTTP/1.1 200 O\r\nTransfer-Encoding: chunked, gzip\r\n\r\nab",
     "! http.te-not-chunked @0\nhead @0-51 200 O 1.1 close last\n  Transfer-Encoding=chunked, "
     "gzip\nbody @52 \"ab\"\nend fin\ndone complete @54\n"},
    {.name = "bad length",
     "HTTP/1.1 200 O\r\nContent-Length: 5x\r\n\r\nab",
     "! http.bad-content-length @0\nhead @0-37 200 O 1.1 close last\n  Content-Length=5x\nbody @38 "
     "\"ab\"\nend fin\ndone complete @40\n"},
    {.name = "chunked in 1.0",
     "HTTP/1.0 200 O\r\nConnection: keep-alive\r\nTransfer-Encoding: "
     "chunked\r\n\r\n1\r\na\r\n0\r\n\r\nx",
     "! http.te-in-1.0 @0\nhead @0-69 200 O 1.0 chunked last\n  Connection=keep-alive\n  "
     "Transfer-Encoding=chunked\nbody @73 \"a\"\nend fin\ndone complete @80\n"
     "! http.bytes-after-close @81\n"},
    {.name = "more than its length",
     "HTTP/1.1 200 O\r\nContent-Length: 1\r\n\r\nabcHTTP/1.1 201 P\r\nContent-Length: 0\r\n\r\n",
     "head @0-36 200 O 1.1 length 1\n  Content-Length=1\nbody @37 \"a\"\nend fin\ndone complete "
     "@37\n"
     "! http.bad-start-line @38\nhead @40-76 201 P 1.1 length 0\n  Content-Length=0\nend fin\n"
     "done complete @76\n"},
    {.name = "a status line quoted in a body is none",
     "data: {\"c\":\"HTTP/1.1 200 OK\\r\\n\"}\n\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
     "! http.bad-start-line @0\nhead @35-72 200 OK 1.1 length 0\n  Content-Length=0\nend fin\n"
     "done complete @72\n"},
    {.name = "gap until close",
     "HTTP/1.1 200 OK\r\n\r\nhello",
     "head @0-18 200 OK 1.1 close last\nbody @19 \"h\"\ngap @20 7\nbody @27 \"ello\"\nend fin\n"
     "done complete @31\n",
     .gap_at = 20,
     .gap_n = 7},
    {.name = "chunked, cut by a reset",
     "HTTP/1.1 200 O\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
     "head @0-45 200 O 1.1 chunked\n  Transfer-Encoding=chunked\nbody @49 \"ab\"\nend rst\ndone "
     "rst @50\n",
     .why = END_RST},
};

static void check(enum http_side side, const struct http_case *c)
{
    struct feed f = feed_of(c->input, strlen(c->input));
    f.gap_at = c->gap_at;
    f.gap_n = c->gap_n;
    f.why = c->why;
    struct wanted w = {side, c->expect};
    print_message("%s\n", c->name);
    feed_every_split(f, run, &w, c->log);
}

static void test_requests(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++)
        check(HTTP_REQUESTS, &requests[i]);
}

static void test_responses(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof responses / sizeof responses[0]; i++)
        check(HTTP_RESPONSES, &responses[i]);
}

/* --- limits --------------------------------------------------------------------------------- */

/* An input of n bytes: head, then fill up to the tail. */
static char *padded(const char *head, char fill, size_t n, const char *tail, size_t *total)
{
    size_t a = strlen(head), b = strlen(tail);
    char *p = malloc(a + n + b);
    assert_non_null(p);
    memcpy(p, head, a);
    memset(p + a, fill, n);
    memcpy(p + a + n, tail, b);
    *total = a + n + b;
    return p;
}

/* Few splits of a long input: whole, in three at odd places, and byte by byte. */
static void check_long(enum http_side side, const char *p, size_t n, const char *want)
{
    struct wanted w = {side, HTTP_EXPECT_BODY};
    struct feed f = feed_of(p, n);
    feed_try(&f, run, &w, want);
    f.cut[0] = n / 3;
    f.cut[1] = n - 7;
    feed_try(&f, run, &w, want);
    f.single = true;
    feed_try(&f, run, &w, want);
}

static void test_line_too_long(void **state)
{
    (void)state;
    size_t n;
    char *p = padded("GET /a HTTP/1.1\r\nA: ", 'x', LIMIT_HTTP_LINE_BYTES + 5000,
                     "\r\n\r\nGET /b HTTP/1.1\r\n\r\n", &n);
    char want[200];
    snprintf(want, sizeof want,
             "! http.head-too-big @0\nhead @%zu-%zu GET /b 1.1 none\nend fin\ndone complete @%zu\n",
             n - 19, n - 1, n - 1);
    check_long(HTTP_REQUESTS, p, n, want);
    free(p);
}

static void test_resync_in_a_long_line(void **state)
{
    (void)state;
    size_t n;
    char *p = padded("", '{', 200000, "}POST /b HTTP/1.1\r\n\r\n", &n);
    char want[200];
    snprintf(
        want, sizeof want,
        "! http.head-too-big @0\nhead @200001-%zu POST /b 1.1 none\nend fin\ndone complete @%zu\n",
        n - 1, n - 1);
    check_long(HTTP_REQUESTS, p, n, want);
    free(p);
}

static void test_long_target(void **state)
{
    (void)state;
    size_t n;
    char *p = padded("GET /", 'x', 40000, " HTTP/1.1\r\n\r\n", &n), *want = malloc(n + 200);
    assert_non_null(want);
    snprintf(want, n + 200, "head @0-%zu GET %.*s 1.1 none\nend fin\ndone complete @%zu\n", n - 1,
             40001, p + 4, n - 1);
    check_long(HTTP_REQUESTS, p, n, want);
    free(want);
    free(p);
}

static void test_too_many_fields(void **state)
{
    (void)state;
    struct buf in, want;
    buf_init(&in, 1 << 20);
    buf_init(&want, 1 << 20);
    buf_puts(&in, "POST / HTTP/1.1\r\n");
    for (unsigned i = 0; i < LIMIT_HTTP_FIELDS; i++)
        buf_puts(&in, "A: b\r\n");
    buf_puts(&in, "Content-Length: 1\r\n\r\nx");
    buf_printf(&want, "! http.too-many-fields @0\nhead @0-%zu POST / 1.1 length 1\n", in.n - 2);
    for (unsigned i = 0; i < LIMIT_HTTP_FIELDS; i++)
        buf_puts(&want, "  A=b\n");
    buf_printf(&want, "body @%zu \"x\"\nend fin\ndone complete @%zu\n", in.n - 1, in.n - 1);
    check_long(HTTP_REQUESTS, (const char *)in.p, in.n, buf_text(&want));
    buf_done(&in);
    buf_done(&want);
}

/* --- contract ------------------------------------------------------------------------------- */

static int stop_at_done(void *ctx, enum end_kind why, bool complete, struct mark last)
{
    (void)why, (void)complete, (void)last;
    return ++*(int *)ctx == 1 ? TA_STOP : TA_OK;
}

static void test_stop_is_sticky(void **state)
{
    (void)state;
    int calls = 0;
    struct http *h = http_new(HTTP_REQUESTS, (struct http_sink){&calls, NULL, stop_at_done},
                              (struct anomaly_sink){NULL, NULL});
    struct byte_sink in = http_input(h);
    static const char two[] = "GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n";
    struct span span = {(const uint8_t *)two, sizeof two - 1, {0}};
    assert_int_equal(in.data(in.ctx, span), TA_STOP);
    assert_int_equal(in.data(in.ctx, span), TA_STOP);
    assert_int_equal(in.gap(in.ctx, 1, span.at), TA_STOP);
    assert_int_equal(in.end(in.ctx, END_FIN, span.at), TA_STOP);
    assert_int_equal(calls, 1);
    http_free(h);
}

static void test_freed_anywhere(void **state)
{
    (void)state;
    static const char input[] = "POST / HTTP/1.1\r\nA: b\r\n c\r\nTransfer-Encoding: "
                                "chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    for (size_t n = 0; n < sizeof input; n++) {
        struct buf log;
        buf_init(&log, 1 << 16);
        struct feed f = feed_of(input, n);
        f.no_end = f.single = true;
        struct wanted w = {HTTP_REQUESTS, HTTP_EXPECT_BODY};
        run(&w, &f, &log);
        buf_done(&log);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),        cmocka_unit_test(test_responses),
        cmocka_unit_test(test_line_too_long),   cmocka_unit_test(test_resync_in_a_long_line),
        cmocka_unit_test(test_too_many_fields), cmocka_unit_test(test_long_target),
        cmocka_unit_test(test_stop_is_sticky),  cmocka_unit_test(test_freed_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
