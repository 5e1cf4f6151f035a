/* Prints what we make of the TCP and the HTTP in a capture, for comparison with others: see
 * node_http.js and tshark_traffic.py. One JSON object a line, of an exchange when it is over, of a
 * connection when it is closed. Hashes are SHA-256; "fields" is over "name:value\n" of each, names
 * in small letters; "events" over "kind type bytes\ndata\n" of each. A place is
 * [offset, t_seen, t_ready, frame, frame that released it]. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "traces/base/jsonw.h"
#include "traces/base/mem.h"
#include "traces/fragments.h"
#include "traces/pipeline.h"
#include "traces/sha256.h"
#include "traces/tcp.h"

static struct buf line;

static void begin_line(struct jsonw *w)
{
    buf_clear(&line);
    jsonw_init(w, &line, 0);
    jsonw_object(w, NULL);
}

static void end_line(struct jsonw *w)
{
    jsonw_end(w);
    puts(buf_text(&line));
}

static void put_hash(struct jsonw *w, const char *key, struct sha256 *sha)
{
    char text[65];
    sha256_text(sha, text);
    sha256_free(sha);
    jsonw_text(w, key, text);
}

static void put_endpoint(struct jsonw *w, const char *key, const struct endpoint *e)
{
    char text[64];
    jsonw_text(w, key, endpoint_text(e, text));
}

/* --- exchanges ------------------------------------------------------------------------------ */

struct contents {
    struct sha256 *body, *events;
    uint64_t n_events;
};

static int on_request(void *ctx, struct exchange *x)
{
    struct contents *c = mem_zalloc(sizeof *c);
    (void)ctx;
    c->body = sha256_new();
    c->events = sha256_new();
    x->user = c;
    return TA_OK;
}

static int on_body(void *ctx, struct exchange *x, struct span in)
{
    struct contents *c = x->user;
    (void)ctx;
    sha256_add(c->body, in.p, in.n);
    return TA_OK;
}

static int on_event(void *ctx, struct exchange *x, const struct event *ev)
{
    static const char *const kinds[] = {
        [EVENT_DATA] = "data", [EVENT_COMMENT] = "comment", [EVENT_TRUNCATED] = "truncated"};
    struct contents *c = x->user;
    struct buf head;
    (void)ctx;
    buf_init(&head, 1 << 16);
    buf_printf(&head, "%s %.*s %zu\n", kinds[ev->kind], (int)ev->type.n, ev->type.p, ev->data.n);
    sha256_add(c->events, head.p, head.n);
    sha256_add(c->events, ev->data.p, ev->data.n);
    sha256_add(c->events, "\n", 1);
    c->n_events++;
    buf_done(&head);
    return TA_OK;
}

static void put_fields(struct jsonw *w, const struct http_field *fields, size_t n)
{
    struct sha256 *sha = sha256_new();
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < fields[i].name.n; k++) {
            char c = (char)tolower((unsigned char)fields[i].name.p[k]);
            sha256_add(sha, &c, 1);
        }
        sha256_add(sha, ":", 1);
        sha256_add(sha, fields[i].value.p, fields[i].value.n);
        sha256_add(sha, "\n", 1);
    }
    put_hash(w, "fields", sha);
}

static void put_mark(struct jsonw *w, const char *key, struct mark m)
{
    jsonw_array(w, key);
    jsonw_u64(w, NULL, m.off);
    jsonw_int(w, NULL, m.t_seen);
    jsonw_int(w, NULL, m.t_ready);
    jsonw_u64(w, NULL, m.pkt);
    jsonw_u64(w, NULL, m.rel);
    jsonw_end(w);
}

static void put_response(struct jsonw *w, const struct exchange *x, struct contents *c)
{
    static const char *const streams[] = {
        [STREAM_NONE] = "none", [STREAM_SSE] = "sse", [STREAM_NDJSON] = "ndjson"};
    jsonw_object(w, "response");
    jsonw_int(w, "status", x->status);
    jsonw_int(w, "interim", x->interim);
    put_fields(w, x->response_fields, x->n_response_fields);
    jsonw_bool(w, "complete", x->response_complete);
    jsonw_u64(w, "bytes", x->response_body_bytes);
    jsonw_u64(w, "decoded", x->decoded_body_bytes);
    jsonw_text(w, "stream", streams[x->stream]);
    put_hash(w, "body", c->body);
    jsonw_u64(w, "n_events", c->n_events);
    put_hash(w, "events", c->events);
    put_mark(w, "first", x->response_first);
    put_mark(w, "last", x->response_last);
    jsonw_end(w);
}

static int on_done(void *ctx, struct exchange *x)
{
    struct jsonw w;
    (void)ctx;
    begin_line(&w);
    put_endpoint(&w, "client", &x->conn->client);
    put_endpoint(&w, "server", &x->conn->server);
    jsonw_u64(&w, "conn", x->conn->id);
    jsonw_int(&w, "nth", x->nth);
    jsonw_bool(&w, "damaged", x->damaged);
    jsonw_object(&w, "request");
    jsonw_slice(&w, "method", x->method);
    jsonw_slice(&w, "target", x->target);
    put_fields(&w, x->request_fields, x->n_request_fields);
    jsonw_bool(&w, "complete", x->request_complete);
    jsonw_u64(&w, "bytes", x->request_body_bytes);
    jsonw_text(&w, "body", x->request_body_sha256);
    put_mark(&w, "first", x->request_first);
    put_mark(&w, "last", x->request_last);
    jsonw_end(&w);
    put_response(&w, x, x->user);
    end_line(&w);
    free(x->user);
    return TA_OK;
}

/* --- connections ---------------------------------------------------------------------------- */

/* What came over a connection in one direction. */
struct way {
    struct sha256 *sha;
    uint64_t bytes;
    struct buf gaps; /* JSON: [offset,bytes],… */
    const char *end;
};

struct ways {
    struct way way[2];
};

static int way_data(void *ctx, struct span in)
{
    struct way *way = ctx;
    sha256_add(way->sha, in.p, in.n);
    way->bytes += in.n;
    return TA_OK;
}

static int way_gap(void *ctx, uint64_t n, struct mark at)
{
    struct way *way = ctx;
    buf_printf(&way->gaps, "%s[%llu,%llu]", way->gaps.n > 0 ? "," : "", (unsigned long long)at.off,
               (unsigned long long)n);
    return TA_OK;
}

static int way_end(void *ctx, enum end_kind why, struct mark at)
{
    static const char *const names[] = {
        [END_FIN] = "fin", [END_RST] = "rst", [END_TRACE] = "trace", [END_GAP] = "gap"};
    (void)at;
    ((struct way *)ctx)->end = names[why];
    return TA_OK;
}

static int on_open(void *ctx, const struct tcp_conn *conn, void **user,
                   struct byte_sink *from_client, struct byte_sink *from_server)
{
    struct ways *both = mem_zalloc(sizeof *both);
    (void)ctx, (void)conn;
    for (int i = 0; i < 2; i++) {
        both->way[i].sha = sha256_new();
        buf_init(&both->way[i].gaps, 1 << 20);
    }
    *from_client = (struct byte_sink){&both->way[0], way_data, way_gap, way_end};
    *from_server = (struct byte_sink){&both->way[1], way_data, way_gap, way_end};
    *user = both;
    return TA_OK;
}

static void on_close(void *ctx, const struct tcp_conn *conn, void *user)
{
    static const char *const keys[] = {"from_client", "from_server"};
    struct ways *both = user;
    (void)ctx;
    struct jsonw w;
    begin_line(&w);
    put_endpoint(&w, "client", &conn->client);
    put_endpoint(&w, "server", &conn->server);
    jsonw_u64(&w, "conn", conn->id);
    jsonw_u64(&w, "first_frame", conn->first_pkt);
    jsonw_bool(&w, "midstream", conn->midstream);
    jsonw_u64(&w, "retransmissions", conn->retransmissions);
    jsonw_u64(&w, "zero_windows", conn->zero_windows[0] + conn->zero_windows[1]);
    for (int i = 0; i < 2; i++) {
        struct way *way = &both->way[i];
        jsonw_object(&w, keys[i]);
        jsonw_u64(&w, "bytes", way->bytes);
        put_hash(&w, "sha256", way->sha);
        jsonw_text(&w, "gaps", buf_text(&way->gaps));
        jsonw_text(&w, "end", way->end);
        jsonw_end(&w);
        buf_done(&way->gaps);
    }
    end_line(&w);
    free(both);
}

/* The bytes of each connection, for which the stages below HTTP run alone. */
static int dump_connections(struct reader *r, struct err *e)
{
    struct fragments *fragments = fragments_new();
    struct tcp *tcp = tcp_new((struct tcp_sink){NULL, on_open, on_close}, (struct anomaly_sink){0});
    struct rec rec;
    struct segment s;
    int rc = TA_OK, more = 0;
    while (rc == TA_OK && (more = reader_next(r, &rec, e)) == 1) {
        if (rec.kind == REC_PACKET && rec.has_time &&
            fragments_decode(fragments, rec.link, rec.p, rec.n, rec.wire_n, rec.t_ns, &s) ==
                LINK_TCP)
            rc = tcp_segment(tcp, &s, rec.t_ns, rec.frame);
    }
    if (rc == TA_OK && more == 0)
        rc = tcp_finish(tcp);
    fragments_free(fragments);
    tcp_free(tcp);
    return more < 0 ? more : rc;
}

int main(int argc, char **argv)
{
    struct err e = {0};
    struct reader *reader = NULL;
    struct pipeline_totals totals;
    if (argc != 2) {
        fputs("usage: http_dump CAPTURE\n", stderr);
        return 2;
    }
    buf_init(&line, 1 << 20);
    int rc = reader_open(&reader, argv[1], &e);
    if (rc == TA_OK)
        rc = pipeline_run(reader,
                          (struct pipeline_sink){.exchange = {.request = on_request,
                                                              .body = on_body,
                                                              .event = on_event,
                                                              .done = on_done}},
                          &totals, &e);
    reader_close(reader);
    reader = NULL;
    if (rc == TA_OK)
        rc = reader_open(&reader, argv[1], &e);
    if (rc == TA_OK)
        rc = dump_connections(reader, &e);
    reader_close(reader);
    buf_done(&line);
    if (rc < 0)
        fprintf(stderr, "http_dump: %s\n", e.msg);
    return rc < 0;
}
