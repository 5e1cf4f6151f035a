/* A trace of any size for the benches: concurrent chat streams over loopback, one event a segment,
 * as a server that streams well sends them. The same arguments give the same packets.
 *
 *     make_sse_trace FILE MEGABYTES CONNECTIONS [EVENTS]
 *
 * MEGABYTES of packet data, uncompressed; EVENTS of text a reply, by default 200. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/base/clock.h"
#include "traces/base/mem.h"
#include "traces/dialects/dialect.h"
#include "traces/limits.h"
#include "traces/link.h"
#include "traces/socket_recorder.h"

enum { SERVER_PORT = 8000, FIRST_PORT = 10000, STEP_NS = 15000 };

struct stream {
    struct socket_flow *flow;
    unsigned events; /* of the running reply, those sent; 0: none runs */
};

struct maker {
    struct writer *w;
    struct socket_recorder *recorder;
    struct buf event, chunk;
    struct dialect_reply reply;
    struct dialect_writing writing;
    int64_t t_ns;
    uint64_t requests;
    unsigned events; /* of text, in each reply */
};

static void must(int rc, const struct err *e)
{
    if (rc == TA_OK)
        return;
    fprintf(stderr, "make_sse_trace: %s\n", e->msg);
    exit(4);
}

static struct sockaddr_in address(unsigned port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

static void open_stream(struct maker *m, struct stream *s, unsigned i)
{
    struct err e;
    struct sockaddr_in client = address(FIRST_PORT + i % 50000), server = address(SERVER_PORT);
    client.sin_addr.s_addr = htonl(INADDR_LOOPBACK + i / 50000);
    s->flow = socket_flow_open(m->recorder, (struct sockaddr *)&client, (struct sockaddr *)&server,
                               true, m->t_ns, &e);
    if (s->flow == NULL)
        must(TA_ESYS, &e);
}

static void ask(struct maker *m, struct stream *s)
{
    struct err e;
    char body[256], head[256];
    int n = snprintf(body, sizeof body,
                     "{\"model\":\"bench\",\"stream\":true,\"stream_options\":{\"include_usage\":"
                     "true},\"max_tokens\":%u,"
                     "\"messages\":[{\"role\":\"user\",\"content\":\"request %llu\"}]}",
                     m->events, (unsigned long long)m->requests++);
    int h = snprintf(head, sizeof head,
                     "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nContent-Type: "
                     "application/json\r\n"
                     "Content-Length: %d\r\n\r\n",
                     n);
    must(socket_flow_sent(s->flow, head, (size_t)h, m->t_ns, &e), &e);
    must(socket_flow_sent(s->flow, body, (size_t)n, m->t_ns, &e), &e);
    static const char reply[] =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    must(socket_flow_received(s->flow, reply, sizeof reply - 1, m->t_ns + STEP_NS / 2, &e), &e);
}

static void send_chunk(struct maker *m, struct stream *s, bool last)
{
    struct err e;
    buf_clear(&m->chunk);
    buf_printf(&m->chunk, "%zx\r\n", m->event.n);
    buf_put(&m->chunk, m->event.p, m->event.n);
    buf_puts(&m->chunk, last ? "\r\n0\r\n\r\n" : "\r\n");
    must(socket_flow_received(s->flow, m->chunk.p, m->chunk.n, m->t_ns, &e), &e);
    buf_clear(&m->event);
}

/* The next event of s. */
static void step(struct maker *m, struct stream *s)
{
    const struct dialect *d = &dialect_openai_chat;
    m->t_ns += STEP_NS;
    if (s->events == 0) {
        ask(m, s);
        dialect_writing_done(&m->writing);
        d->put_begin(&m->event, &m->reply, &m->writing);
    } else if (s->events <= m->events) {
        d->put_piece(
            &m->event, &m->reply, &m->writing,
            (struct dialect_part){DELTA_TEXT, slice_of(s->events % 3 ? " word" : " another")});
    } else {
        d->put_finish(&m->event, &m->reply, &m->writing);
        d->put_usage(&m->event, &m->reply, &m->writing);
        d->put_done(&m->event, &m->reply, &m->writing);
    }
    bool last = s->events > m->events;
    send_chunk(m, s, last);
    s->events = last ? 0 : s->events + 1;
}

int main(int argc, char **argv)
{
    if (argc != 4 && argc != 5) {
        fprintf(stderr, "usage: make_sse_trace FILE MEGABYTES CONNECTIONS [EVENTS]\n");
        return 2;
    }
    struct err e;
    uint64_t bytes = strtoull(argv[2], NULL, 10) * 1000000;
    unsigned n = (unsigned)strtoul(argv[3], NULL, 10);
    unsigned events = argc == 5 ? (unsigned)strtoul(argv[4], NULL, 10) : 200;
    struct writer_origin origin = {
        .vantage = "socket", .link = LINK_RAW, .snaplen = LIMIT_PACKET_BYTES, .label = "bench"};
    struct maker m = {
        .t_ns = INT64_C(1796040000) * NS_PER_S,
        .events = events,
        .reply = {.id = "chatcmpl-bench",
                  .model = "bench",
                  .fingerprint = "bench",
                  .created_s = 1796040000,
                  .usage = {.prompt = 9, .completion = events, .cached = -1, .reasoning = -1},
                  .finish = "length"}};
    must(writer_open(&m.w, argv[1], &origin, &e), &e);
    m.recorder = socket_recorder_new(m.w);
    buf_init(&m.event, 1 << 20);
    buf_init(&m.chunk, 1 << 20);
    struct stream *streams = mem_array(n, sizeof *streams);
    for (unsigned i = 0; i < n; i++)
        open_stream(&m, &streams[i], i);
    for (unsigned i = 0; writer_bytes(m.w) < bytes; i = (i + 1) % n)
        step(&m, &streams[i]);
    for (unsigned i = 0; i < n; i++)
        socket_flow_free(streams[i].flow);
    socket_recorder_free(m.recorder);
    must(writer_close(m.w, &e), &e);
    free(streams);
    dialect_writing_done(&m.writing);
    buf_done(&m.event);
    buf_done(&m.chunk);
    return 0;
}
