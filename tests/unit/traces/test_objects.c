/* Bodies of real captures, decoded, against what tshark exports of them: EXPECTED-objects.tsv in
 * the folder TOKAUDIT_CORPORA (size and the first half of the SHA-256). tshark is a witness, not
 * the law: where we differ, the table says how often and why, and nothing else may differ. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "traces/base/mem.h"
#include "traces/base/vec.h"
#include "traces/pipeline.h"
#include "traces/sha256.h"

/* --- where we differ ------------------------------------------------------------------------ */

struct difference {
    const char *file;
    unsigned theirs, ours; /* objects that only they, only we have */
    const char *why;
};

static const struct difference differences[] = {
    {"arkime/http-tcp-seq-issue.pcap", 0, 1,
     "a response that goes on at the end of the capture: we count what came of it"},
    {"arkime/tcp-reassembly-synthetic.pcap", 0, 7,
     "requests and answers on connections that share their ports: tshark gives up the later ones"},
    {"pcapplusplus/unidirectional_tcp_stream_with_missing_packet.pcap", 0, 1,
     "bytes around a hole: we count them, and the body is damaged"},
    {"suricata-verify/http-async-srv.pcap", 2, 0,
     "only the server's side was captured: answers without a request are orphans here"},
    {"suricata-verify/http-brotli-ce.pcap", 2, 0, "br is opaque (H10)"},
    {"suricata-verify/http-connect_http-connect-simple.pcap", 1, 0,
     "a byte in the tunnel behind a CONNECT is no body (H1, H15)"},
    {"suricata-verify/http-encoding-gzip-uncompressed.pcap", 0, 1,
     "the request says gzip and is plain JSON: tshark drops it, we take request bodies as sent"},
    {"suricata-verify/http-evader-146.pcap", 1, 1,
     "three codings, one in the other: tshark undoes one, we all three (the 68 bytes are EICAR)"},
    {"suricata-verify/http-event-chunk.pcap", 1, 1,
     "the second chunk's size has a blank behind it: it is a chunk all the same (H8)"},
    {"suricata-verify/http-gap-beyond-body.pcap", 1, 1,
     "tshark glues a body over the hole; behind it we find the third answer"},
    {"suricata-verify/http-gap-double.pcap", 1, 0, "messages behind Connection: close (H14)"},
    {"suricata-verify/http-gap-simple.pcap", 1, 0, "messages behind Connection: close (H14)"},
    {"suricata-verify/http-gap-whole-body.pcap", 1, 0, "messages behind Connection: close (H14)"},
    {"suricata-verify/http-multiple-cl.pcap", 2, 1,
     "two lengths that differ: the body's end is anyone's guess (RFC 9112, 6.3); we look for the "
     "next request, and find the smuggled one"},
    {"suricata-verify/tcp-stream-after-swap.pcap", 1, 0,
     "an answer to a request before the capture: an orphan"},
    {"suricata-verify/tcp-urgp-01-oob.pcap", 1, 0,
     "tshark begins the request behind the urgent byte; the request line is whole"},
    {"zeek/http/http-11-request-then-cruft.pcap", 4, 0,
     "four pieces of nonsense where a request should be, and the answer to them (H13)"},
    {"zeek/http/http-desync-request-response-5.pcap", 2, 0,
     "three answers to one request: two are orphans (H18)"},
    {"zeek/http/http_09.pcap", 6, 0,
     "\"POST /zeek.html\", \"GET \", \"T /zeek.html\", \"T \" are no requests, not even of "
     "HTTP/0.9 "
     "(H16)"},
    {"zeek/http/methods.pcap", 54, 0,
     "answers to lines that are no requests: a blank missing, no target, \"HTTP/1.\""},
    {"zeek/http/no-uri.pcap", 1, 0, "a request line without a target is none"},
    {"zeek/http/smuggle-http-request.pcap", 1, 1,
     "a gzip'd request: tshark inflates it, we take request bodies as sent"},
    {"zeek/http261/variant-09-te_obs_fold.pcap", 1, 0,
     "the folded value is \"chunked\" (RFC 9112, 5.2): the body is empty, and a second request "
     "follows; Zeek's baseline agrees"},
    {"zeek/link/ipv6-http-atomic-frag.pcap", 1, 0,
     "a body seen before its request in a capture out of order: whose it is cannot be told"},
    {"zeek/tcp/reassembly.pcap", 1, 0, "a body glued over a hole that never fills"},
};

static const struct difference *difference_of(const char *file)
{
    for (size_t i = 0; i < sizeof differences / sizeof differences[0]; i++)
        if (strcmp(differences[i].file, file) == 0)
            return &differences[i];
    return NULL;
}

/* --- our objects ---------------------------------------------------------------------------- */

struct object {
    char sha256[65];
    uint64_t size;
    bool taken;
};

struct objects {
    VEC(struct object) list;
};

struct reply {
    struct sha256 *sha;
    uint64_t size;
};

static int on_request(void *ctx, struct exchange *x)
{
    struct reply *r = mem_zalloc(sizeof *r);
    (void)ctx;
    r->sha = sha256_new();
    x->user = r;
    return TA_OK;
}

static int on_body(void *ctx, struct exchange *x, struct span in)
{
    struct reply *r = x->user;
    (void)ctx;
    sha256_add(r->sha, in.p, in.n);
    r->size += in.n;
    return TA_OK;
}

static int on_done(void *ctx, struct exchange *x)
{
    struct objects *o = ctx;
    struct reply *r = x->user;
    struct object reply = {.size = r->size}, request = {.size = x->request_body_bytes};
    if (!x->opaque && x->framing != HTTP_TUNNEL)
        assert_int_equal(x->decoded_body_bytes, r->size);
    sha256_text(r->sha, reply.sha256);
    memcpy(request.sha256, x->request_body_sha256, sizeof request.sha256);
    VEC_PUSH(&o->list, reply);
    VEC_PUSH(&o->list, request);
    sha256_free(r->sha);
    free(r);
    return TA_OK;
}

static void read_capture(const char *folder, const char *file, struct objects *o)
{
    char path[600];
    struct err e = {0};
    struct reader *reader = NULL;
    struct pipeline_totals totals;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    if (reader_open(&reader, path, &e) < 0)
        fail_msg("%s", e.msg);
    struct pipeline_sink sink = {
        .exchange = {.ctx = o, .request = on_request, .body = on_body, .done = on_done}};
    if (pipeline_run(reader, sink, &totals, &e) < 0)
        fail_msg("%s: %s", path, e.msg);
    reader_close(reader);
}

/* --- theirs --------------------------------------------------------------------------------- */

/* Whether we have an object of that size and hash that no line has claimed yet. */
static bool claim(struct objects *o, uint64_t size, const char *sha256)
{
    for (size_t i = 0; i < o->list.n; i++) {
        struct object *have = &o->list.v[i];
        if (have->taken || have->size != size || strncmp(have->sha256, sha256, strlen(sha256)) != 0)
            continue;
        have->taken = true;
        return true;
    }
    return false;
}

/* Whether the file differs as the table says. */
static bool settle(const char *file, struct objects *o, unsigned theirs)
{
    unsigned ours = 0;
    for (size_t i = 0; i < o->list.n; i++)
        ours += !o->list.v[i].taken && o->list.v[i].size > 0;
    const struct difference *d = difference_of(file);
    unsigned may_theirs = d != NULL ? d->theirs : 0, may_ours = d != NULL ? d->ours : 0;
    bool good = theirs == may_theirs && ours == may_ours;
    if (!good)
        print_error("%s: only tshark has %u objects, only we have %u; known: %u and %u\n", file,
                    theirs, ours, may_theirs, may_ours);
    VEC_FREE(&o->list);
    *o = (struct objects){0};
    return good;
}

/* Cuts a line at its tabs. */
static void cut(char *line, char *field[4])
{
    for (int i = 0; i < 4; i++) {
        size_t n = strcspn(line, "\t\n");
        field[i] = line;
        line += line[n] != '\0' ? n + 1 : n;
        field[i][n] = '\0';
    }
}

static void test_objects(void **state)
{
    (void)state;
    const char *folder = getenv("TOKAUDIT_CORPORA");
    if (folder == NULL) {
        print_message("SKIPPED: TOKAUDIT_CORPORA is not set, no body of a capture was compared\n");
        skip();
    }
    char path[600], line[1000], file[1000] = "";
    snprintf(path, sizeof path, "%s/EXPECTED-objects.tsv", folder);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    struct objects o = {0};
    unsigned lines = 0, theirs = 0, bad = 0;
    assert_non_null(fgets(line, sizeof line, in)); /* its heading */
    while (fgets(line, sizeof line, in) != NULL) {
        char *field[4];
        cut(line, field);
        if (strcmp(file, field[0]) != 0) {
            bad += file[0] != '\0' && !settle(file, &o, theirs);
            theirs = 0;
            snprintf(file, sizeof file, "%s", field[0]);
            read_capture(folder, file, &o);
        }
        theirs += !claim(&o, strtoull(field[2], NULL, 10), field[3]);
        lines++;
    }
    bad += !settle(file, &o, theirs);
    fclose(in);
    assert_true(lines >= 200);
    assert_int_equal(bad, 0);
}

/* --- Zeek's own logs ------------------------------------------------------------------------ */

/* A capture and the http.log that Zeek's own tests expect of it. */
static const struct baseline {
    const char *file, *log;
} baselines[] = {
    {"http/100-continue.pcap", "100-continue"},
    {"http/websocket.pcap", "101-switching-protocols"},
    {"http261/variant-01-chunk_2pow64_overflow.pcap", "261.chunk-2pow64-overflow"},
    {"http261/variant-07-expect_100_cl0.pcap", "261.cl-0-expect-100"},
    {"http261/variant-08-leading_zeros.pcap", "261.cl-leading-zeros"},
    {"http261/variant-03-cl_negative.pcap", "261.cl-negative"},
    {"http261/variant-02-cl_uint64max.pcap", "261.cl-uint64max"},
    {"http261/variant-09-te_obs_fold.pcap", "261.obsolete-line-fold"},
    {"http261/variant-04-te_cl_desync.pcap", "261.te-cl-desync"},
    {"http/content-length-overflow.pcap", "content-length-overflow"},
    {"http/curl_http_09.pcap", "curl-http-09"},
    {"http/fake-content-length.pcap", "fake-content-length"},
};

/* A line a request: method, target, bytes of its body and its answer's ("-": the log has none). */
struct lines {
    VEC(char *) list;
    bool sizes;
};

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The lines, sorted, as one text. */
static char *joined(struct lines *l)
{
    struct buf all;
    buf_init(&all, 1 << 20);
    if (l->list.n > 0)
        qsort(l->list.v, l->list.n, sizeof *l->list.v, compare_lines);
    for (size_t i = 0; i < l->list.n; i++) {
        buf_printf(&all, "%s\n", l->list.v[i]);
        free(l->list.v[i]);
    }
    VEC_FREE(&l->list);
    char *text = mem_strdup(buf_text(&all));
    buf_done(&all);
    return text;
}

static const char *const columns[] = {"method", "uri", "request_body_len", "response_body_len"};

/* Reads the columns out of a log; the line that names them begins with "#fields" or is the first.
 */
static char *read_log(const char *path, bool *sizes)
{
    char line[2000], *names = NULL;
    struct lines l = {0};
    int at[4] = {-1, -1, -1, -1};
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    while (fgets(line, sizeof line, in) != NULL) {
        bool heading = strncmp(line, "#fields\t", 8) == 0 || (line[0] != '#' && names == NULL);
        if (line[0] == '#' && !heading)
            continue;
        char *p = line + (line[0] == '#' ? 8 : 0), value[4][500] = {"-", "-", "-", "-"};
        for (int i = 0; *p != '\0'; i++) {
            size_t n = strcspn(p, "\t\n");
            for (int k = 0; k < 4; k++) {
                if (heading && strncmp(p, columns[k], n) == 0 && strlen(columns[k]) == n)
                    at[k] = i;
                if (at[k] == i)
                    snprintf(value[k], sizeof value[k], "%.*s", (int)n, p);
            }
            p += p[n] != '\0' ? n + 1 : n;
        }
        if (!heading)
            VEC_PUSH(&l.list, mem_printf("%s %s %s %s", value[0], value[1], value[2], value[3]));
        names = line;
    }
    fclose(in);
    *sizes = at[2] >= 0;
    return joined(&l);
}

static int line_done(void *ctx, struct exchange *x)
{
    struct lines *l = ctx;
    /* Zeek gives no size of an answer without a head */
    uint64_t reply = x->simple || x->framing == HTTP_TUNNEL ? 0 : x->response_body_bytes;
    char sizes[60];
    snprintf(sizes, sizeof sizes, "%llu %llu", (unsigned long long)x->request_body_bytes,
             (unsigned long long)reply);
    VEC_PUSH(&l->list, mem_printf("%.*s %.*s %s", (int)x->method.n, x->method.p, (int)x->target.n,
                                  x->target.p, l->sizes ? sizes : "- -"));
    return TA_OK;
}

static char *our_lines(const char *folder, const char *file, bool sizes)
{
    char path[600];
    struct err e = {0};
    struct reader *reader = NULL;
    struct pipeline_totals totals;
    struct lines l = {.sizes = sizes};
    snprintf(path, sizeof path, "%s/zeek/%s", folder, file);
    if (reader_open(&reader, path, &e) < 0)
        fail_msg("%s", e.msg);
    if (pipeline_run(reader, (struct pipeline_sink){.exchange = {.ctx = &l, .done = line_done}},
                     &totals, &e) < 0)
        fail_msg("%s: %s", path, e.msg);
    reader_close(reader);
    return joined(&l);
}

static void test_zeek(void **state)
{
    (void)state;
    const char *folder = getenv("TOKAUDIT_CORPORA");
    if (folder == NULL) {
        print_message("SKIPPED: TOKAUDIT_CORPORA is not set, no log of Zeek's was compared\n");
        skip();
    }
    unsigned bad = 0;
    for (size_t i = 0; i < sizeof baselines / sizeof baselines[0]; i++) {
        const struct baseline *b = &baselines[i];
        char path[600];
        snprintf(path, sizeof path, "%s/zeek/baseline/http.%s.http.log", folder, b->log);
        bool sizes;
        char *want = read_log(path, &sizes), *have = our_lines(folder, b->file, sizes);
        if (strcmp(want, have) != 0) {
            print_error("%s\n--- Zeek\n%s--- we\n%s", b->file, want, have);
            bad++;
        }
        free(want);
        free(have);
    }
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_objects), cmocka_unit_test(test_zeek)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
