/* A trace with one streamed reply in each dialect, as the dialects' own writers put it on the wire,
 * at known times. The same every time. */
#ifndef TESTS_SUPPORT_DIALECT_TRACE_H
#define TESTS_SUPPORT_DIALECT_TRACE_H

#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "traces/base/clock.h"
#include "traces/dialects/dialect.h"
#include "traces/link.h"
#include "traces/socket_recorder.h"

#define DIALECT_T0 INT64_C(1796030400000000000)

enum {
    DIALECT_PIECES = 10,    /* output events: two of thinking, eight of text */
    DIALECT_PROMPT = 40,    /* tokens stated */
    DIALECT_APART_S = 1,    /* one request a second */
    DIALECT_FIRST_MS = 150, /* from request to first output event … */
    DIALECT_STEP_MS = 20,   /* … and on to the next */
    DIALECT_LAST_MS = 5     /* from the last one to what ends the stream */
};

struct dialect_trace {
    struct writer *w;
    struct socket_recorder *rec;
    struct socket_flow *flow;
    struct buf event, chunk;
    struct err e;
    int rc;
};

static inline void dialect_received(struct dialect_trace *m, const void *p, size_t n, int64_t t_ns)
{
    if (m->rc == TA_OK)
        m->rc = socket_flow_received(m->flow, p, n, t_ns, &m->e);
}

/* What has been written so far leaves as one chunk. */
static inline void dialect_send(struct dialect_trace *m, int64_t t_ns, bool last)
{
    buf_clear(&m->chunk);
    if (m->event.n > 0) {
        buf_printf(&m->chunk, "%zx\r\n", m->event.n);
        buf_put(&m->chunk, m->event.p, m->event.n);
        buf_puts(&m->chunk, "\r\n");
    }
    if (last)
        buf_puts(&m->chunk, "0\r\n\r\n");
    if (m->chunk.n > 0)
        dialect_received(m, m->chunk.p, m->chunk.n, t_ns);
    buf_clear(&m->event);
}

static inline const char *dialect_body(const struct dialect *d)
{
    if (strcmp(d->name, "tgi") == 0)
        return "{\"inputs\":\"say ten words\",\"parameters\":{\"max_new_tokens\":10,\"details\":"
               "true}}";
    if (strcmp(d->name, "sglang-generate") == 0)
        return "{\"text\":\"say ten words\",\"sampling_params\":{\"max_new_tokens\":10},\"stream\":"
               "true}";
    if (strcmp(d->name, "lmstudio-chat") == 0 || strcmp(d->name, "openai-responses") == 0)
        return "{\"model\":\"m\",\"input\":\"say ten words\",\"max_output_tokens\":10,\"stream\":"
               "true}";
    if (strcmp(d->name, "ollama-generate") == 0)
        return "{\"model\":\"m\",\"prompt\":\"say ten words\",\"options\":{\"num_predict\":10}}";
    if (strcmp(d->name, "ollama-chat") == 0)
        return "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"say ten words\"}],"
               "\"options\":{\"num_predict\":10}}";
    if (strcmp(d->name, "llama-completion") == 0)
        return "{\"prompt\":\"say ten words\",\"n_predict\":10,\"stream\":true}";
    if (strcmp(d->name, "openai-completions") == 0)
        return "{\"model\":\"m\",\"prompt\":\"say ten words\",\"max_tokens\":10,\"stream\":true}";
    return "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"say ten words\"}],"
           "\"max_tokens\":10,\"stream\":true}";
}

static inline struct sockaddr_in dialect_address(unsigned port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

static inline void dialect_ask(struct dialect_trace *m, const struct dialect *d, unsigned i,
                               int64_t t_ns)
{
    struct sockaddr_in local = dialect_address(40001 + i), remote = dialect_address(8000);
    char text[1024];
    const char *body = dialect_body(d);
    m->flow = socket_flow_open(m->rec, (struct sockaddr *)&local, (struct sockaddr *)&remote, true,
                               t_ns, &m->e);
    if (m->flow == NULL) {
        m->rc = TA_ESYS;
        return;
    }
    int n =
        snprintf(text, sizeof text,
                 "POST %s HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nContent-Type: application/json\r\n"
                 "Content-Length: %zu\r\n\r\n%s",
                 d->path, strlen(body), body);
    m->rc = socket_flow_sent(m->flow, text, (size_t)n, t_ns, &m->e);
    n = snprintf(text, sizeof text,
                 "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n",
                 d->stream_type);
    dialect_received(m, text, (size_t)n, t_ns + NS_PER_MS);
}

static inline void dialect_exchange(struct dialect_trace *m, const struct dialect *d, unsigned i)
{
    static const char *const words[DIALECT_PIECES] = {"first",  " think", "Then",  " say", " ten",
                                                      " words", " and",   " stop", " it",  "."};
    const struct dialect_reply r = {.id = "id",
                                    .model = "m",
                                    .created_s = DIALECT_T0 / NS_PER_S,
                                    .usage = {DIALECT_PROMPT, DIALECT_PIECES, 8, 2},
                                    .timings = {DIALECT_PROMPT, 100, DIALECT_PIECES, 200, 50, NAN,
                                                NAN},
                                    .finish = "length"};
    struct dialect_writing w;
    int64_t t0 = DIALECT_T0 + (int64_t)i * DIALECT_APART_S * NS_PER_S;
    int64_t t = t0 + DIALECT_FIRST_MS * NS_PER_MS;
    dialect_ask(m, d, i, t0);
    d->put_begin(&m->event, &r, &w);
    dialect_send(m, t0 + 2 * NS_PER_MS, false);
    if (d->put_ping != NULL)
        d->put_ping(&m->event);
    dialect_send(m, t0 + 50 * NS_PER_MS, false);
    for (int k = 0; k < DIALECT_PIECES; k++, t += DIALECT_STEP_MS * NS_PER_MS) {
        struct dialect_part piece = {k < 2 ? DELTA_REASONING : DELTA_TEXT, slice_of(words[k])};
        d->put_piece(&m->event, &r, &w, piece);
        dialect_send(m, t, false);
    }
    t += (DIALECT_LAST_MS - DIALECT_STEP_MS) * NS_PER_MS;
    d->put_finish(&m->event, &r, &w);
    if (d->put_usage != NULL)
        d->put_usage(&m->event, &r, &w);
    if (d->put_done != NULL)
        d->put_done(&m->event, &r, &w);
    dialect_send(m, t, true);
    dialect_writing_done(&w);
    socket_flow_free(m->flow);
}

/* Requests stand in the order of dialect_all. */
static inline int dialect_trace_make(const char *path, struct err *e)
{
    struct writer_origin origin = {.vantage = "socket",
                                   .link = LINK_RAW,
                                   .snaplen = 262144,
                                   .host = "here",
                                   .label = "each dialect",
                                   .simulated = "made"};
    struct dialect_trace m = {0};
    int rc = writer_open(&m.w, path, &origin, e);
    if (rc != TA_OK)
        return rc;
    m.rec = socket_recorder_new(m.w);
    buf_init(&m.event, 1 << 20);
    buf_init(&m.chunk, 1 << 20);
    for (unsigned i = 0; dialect_all[i] != NULL && m.rc == TA_OK; i++)
        dialect_exchange(&m, dialect_all[i], i);
    socket_recorder_free(m.rec);
    buf_done(&m.event);
    buf_done(&m.chunk);
    rc = writer_close(m.w, e);
    if (m.rc != TA_OK)
        *e = m.e;
    return m.rc != TA_OK ? m.rc : rc;
}

#endif
