/* Truth tests: a trace is written whose event times are known; the analysis must find them to the
 * nanosecond. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <zlib.h>

#include <cmocka.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

#include "analyze/blocks.h"
#include "analyze/load.h"
#include "analyze/metrics.h"
#include "analyze/report_json.h"
#include "analyze/runs.h"
#include "traces/base/clock.h"
#include "traces/base/json.h"
#include "traces/base/jsonw.h"
#include "traces/link.h"
#include "traces/socket_recorder.h"

#define T0 INT64_C(1796030400123456789)

struct bench {
    char path[64];
    struct writer *w;
    struct socket_recorder *rec;
    struct socket_flow *flow;
    struct err e;
};

static struct sockaddr_in address(uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

static void bench_flow(struct bench *b, uint16_t port, int64_t t_ns)
{
    struct sockaddr_in local = address(port), remote = address(8000);
    b->flow = socket_flow_open(b->rec, (struct sockaddr *)&local, (struct sockaddr *)&remote, true,
                               t_ns, &b->e);
    assert_non_null(b->flow);
}

static void bench_open(struct bench *b, const char *label)
{
    *b = (struct bench){0};
    snprintf(b->path, sizeof b->path, "/tmp/tokaudit-test_load-%ld.pcapng.gz", (long)getpid());
    struct writer_origin origin = {.vantage = "socket",
                                   .link = LINK_RAW,
                                   .snaplen = 262144,
                                   .host = "here",
                                   .label = label,
                                   .simulated = "made"};
    assert_int_equal(writer_open(&b->w, b->path, &origin, &b->e), TA_OK);
    b->rec = socket_recorder_new(b->w);
}

static void sent(struct bench *b, int64_t t_ns, const char *text)
{
    assert_int_equal(socket_flow_sent(b->flow, text, strlen(text), t_ns, &b->e), TA_OK);
}

static void received(struct bench *b, int64_t t_ns, const char *text)
{
    assert_int_equal(socket_flow_received(b->flow, text, strlen(text), t_ns, &b->e), TA_OK);
}

static void received_bytes(struct bench *b, int64_t t_ns, const void *p, size_t n)
{
    assert_int_equal(socket_flow_received(b->flow, p, n, t_ns, &b->e), TA_OK);
}

static void bench_end_flow(struct bench *b, int64_t t_ns)
{
    assert_int_equal(socket_flow_closed(b->flow, true, false, t_ns, &b->e), TA_OK);
    assert_int_equal(socket_flow_closed(b->flow, false, false, t_ns + 1, &b->e), TA_OK);
    socket_flow_free(b->flow);
    b->flow = NULL;
}

static void bench_write(struct bench *b)
{
    if (b->flow != NULL)
        socket_flow_free(b->flow);
    socket_recorder_free(b->rec);
    assert_int_equal(writer_close(b->w, &b->e), TA_OK);
}

static int load_one(struct audit *a, const char *path, struct err *e)
{
    char *paths[] = {(char *)(uintptr_t)path};
    size_t used;
    return load_trace(a, paths, 1, &used, e);
}

static void bench_load(struct bench *b, struct audit *a)
{
    bench_write(b);
    struct err e = {0};
    if (load_one(a, b->path, &e) != TA_OK)
        fail_msg("%s", e.msg);
    unlink(b->path);
}

static const char *const request_body = "{\"model\":\"m-1\",\"stream\":true,\"max_tokens\":999,"
                                        "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";

static void send_request(struct bench *b, int64_t t_ns)
{
    char text[1024];
    snprintf(text, sizeof text,
             "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
             "Content-Length: %zu\r\n\r\n",
             strlen(request_body));
    sent(b, t_ns, text);
    sent(b, t_ns + 700, request_body);
}

static const char *const stream_head =
    "HTTP/1.1 200 OK\r\nServer: made/1\r\nContent-Type: text/event-stream\r\n"
    "Transfer-Encoding: chunked\r\n\r\n";

/* A chunk around an event's data; out has room for 1024. */
static const char *chunk(char *out, const char *data)
{
    snprintf(out, 1024, "%zx\r\ndata: %s\n\n\r\n", strlen(data) + 8, data);
    return out;
}

static const char *text_event(char *out, const char *text)
{
    snprintf(out, 512,
             "{\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"model\":\"m-1\",\"choices\":[{"
             "\"index\":0,"
             "\"delta\":{\"content\":\"%s\"},\"finish_reason\":null}]}",
             text);
    return out;
}

#define ROLE                                                                                       \
    "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_"     \
    "reason\":null}]}"
#define FINISH "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}"
#define USAGE                                                                                      \
    "{\"choices\":[],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":40,\"total_tokens\":"   \
    "52}}"

enum { EVENTS = 40 };

/* When event i is complete: uneven to the nanosecond. */
static int64_t event_time(size_t i)
{
    return T0 + 90000001 + (int64_t)i * 16666667 + (int64_t)(i * i % 7) * 1001;
}

static void a_stream_is_found_to_the_nanosecond(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, "run");
    bench_flow(&b, 40001, T0 - 5000);
    send_request(&b, T0);
    received(&b, T0 + 50000003, stream_head);
    char data[512], text[1024];
    received(&b, T0 + 60000007, chunk(text, ROLE));
    for (size_t i = 0; i < EVENTS; i++) {
        /* In two reads: the event is complete with the second. */
        chunk(text, text_event(data, "abc"));
        char head[16] = {0};
        memcpy(head, text, 15);
        received(&b, event_time(i) - 1000, head);
        received(&b, event_time(i), text + 15);
    }
    received(&b, event_time(EVENTS), chunk(text, FINISH));
    received(&b, event_time(EVENTS) + 10, chunk(text, USAGE));
    received(&b, event_time(EVENTS) + 20, chunk(text, "[DONE]"));
    received(&b, event_time(EVENTS) + 33, "0\r\n\r\n");
    bench_end_flow(&b, event_time(EVENTS) + 5000);
    struct audit a = {0};
    bench_load(&b, &a);

    assert_int_equal(a.requests.n, 1);
    const struct request *r = &a.requests.v[0];
    assert_int_equal(r->outcome, OUTCOME_SUCCESS);
    assert_int_equal(r->t0, T0);
    assert_int_equal(r->t0_end, T0 + 700);
    assert_int_equal(r->h, T0 + 50000003);
    assert_int_equal(r->c1, T0 + 60000007);
    assert_int_equal(r->role_ns, T0 + 60000007);
    assert_int_equal(r->out.n, EVENTS);
    for (size_t i = 0; i < EVENTS; i++) {
        assert_int_equal(r->out.v[i].t_ns, event_time(i));
        assert_int_equal(r->out.v[i].bytes, 3);
        assert_int_equal(request_stated(r, i), -1);
    }
    assert_int_equal(r->done_ns, event_time(EVENTS) + 20);
    assert_int_equal(r->z, event_time(EVENTS) + 33);
    assert_int_equal(r->usage.completion, 40);
    assert_int_equal(r->usage.prompt, 12);
    assert_int_equal(r->n1, -1);
    assert_int_equal(r->client_port, 40001);
    assert_string_equal(r->finish, "stop");
    assert_string_equal(r->model, "m-1");
    assert_string_equal(r->server, "made/1");
    assert_string_equal(r->path, "/v1/chat/completions");
    assert_int_equal(r->asked.max_tokens, 999);
    assert_int_equal(metrics_request_reads(r), EVENTS);
    size_t before = strlen("data: " ROLE "\n\n"), one = strlen(text_event(data, "abc")) + 8;
    assert_int_equal(r->straddling, EVENTS);
    assert_int_equal(r->o1_body, before + one);
    assert_int_equal(r->om_body, before + EVENTS * one);
    assert_int_equal(r->body_end,
                     r->om_body + strlen("data: " FINISH "\n\ndata: " USAGE "\n\ndata: [DONE]\n\n"));
    assert_int_equal(r->cut_events, 0);
    const struct trace_info *t = &a.traces.v[0];
    assert_string_equal(t->label, "run");
    assert_string_equal(t->vantage, "socket");
    assert_string_equal(t->simulated, "made");
    assert_true(t->closed && trace_complete(t) && t->clock_known);
    assert_int_equal(t->epoch_ns, T0 - 5000);
    audit_free(&a);
}

/* What follows a quote in a piece of text is what a careless pattern loses of it. */
static void text_behind_quotes_is_counted(void **state)
{
    (void)state;
    static const char *const pieces[] = {"no", "say \\\"hi\\\" now", "end\\\""};
    struct bench b;
    bench_open(&b, "run");
    bench_flow(&b, 40001, T0 - 5000);
    send_request(&b, T0);
    received(&b, T0 + 1000, stream_head);
    char data[512], text[1024];
    for (size_t i = 0; i < 3; i++)
        received(&b, T0 + 2000 + (int64_t)i, chunk(text, text_event(data, pieces[i])));
    received(&b, T0 + 3000, chunk(text, FINISH));
    received(&b, T0 + 3001, "0\r\n\r\n");
    bench_end_flow(&b, T0 + 5000);
    struct audit a = {0};
    bench_load(&b, &a);
    const struct request *r = &a.requests.v[0];
    assert_int_equal(r->text_bytes, strlen("no" "say \"hi\" now" "end\""));
    assert_int_equal(r->cut_events, 2);
    assert_int_equal(r->cut_bytes, strlen("\"hi\" now" "\""));
    assert_int_equal(r->straddling, 0);
    audit_free(&a);
}

/* Each event compressed and flushed on its own (H11): its time is that of the packet that ended its
 * flush, although the one before had its beginning. */
static void a_compressed_stream_keeps_its_times(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, "run");
    bench_flow(&b, 40001, T0 - 5000);
    send_request(&b, T0);
    received(
        &b, T0 + 50000003,
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n\r\n");
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    for (size_t i = 0; i <= EVENTS; i++) {
        char data[512], text[1024];
        uint8_t out[2048];
        int n = snprintf(text, sizeof text, "data: %s\n\n",
                         i == EVENTS ? FINISH : text_event(data, "abc"));
        z.next_in = (uint8_t *)text;
        z.avail_in = (unsigned)n;
        z.next_out = out;
        z.avail_out = sizeof out;
        deflate(&z, i == EVENTS ? Z_FINISH : Z_SYNC_FLUSH);
        size_t made = sizeof out - z.avail_out;
        received_bytes(&b, event_time(i) - 1000, out, 3);
        received_bytes(&b, event_time(i), out + 3, made - 3);
    }
    deflateEnd(&z);
    bench_end_flow(&b, event_time(EVENTS) + 5000);
    struct audit a = {0};
    bench_load(&b, &a);
    assert_int_equal(a.requests.n, 1);
    const struct request *r = &a.requests.v[0];
    assert_int_equal(r->outcome, OUTCOME_SUCCESS);
    assert_true(r->stream_reply);
    assert_int_equal(r->anomalies.n, 0);
    assert_int_equal(r->out.n, EVENTS);
    for (size_t i = 0; i < EVENTS; i++) {
        assert_int_equal(r->out.v[i].t_ns, event_time(i));
        assert_int_equal(r->out.v[i].bytes, 3);
    }
    assert_int_equal(metrics_request_reads(r), EVENTS);
    assert_true(r->o1_offset < r->om_offset && r->om_offset < 20000); /* of the wire */
    audit_free(&a);
}

static void a_compressed_document_is_read(void **state)
{
    (void)state;
    static const char text[] =
        "{\"model\":\"m-1\",\"choices\":[{\"index\":0,\"message\":{\"content\":\"hello\"},"
        "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":7}}";
    struct bench b;
    uint8_t out[2048];
    char head[200];
    bench_open(&b, "run");
    bench_flow(&b, 40001, T0 - 5000);
    send_request(&b, T0);
    uLongf made = sizeof out;
    assert_int_equal(compress(out, &made, (const uint8_t *)text, sizeof text - 1), Z_OK);
    snprintf(head, sizeof head,
             "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: deflate\r\n"
             "Content-Length: %lu\r\n\r\n",
             made);
    received(&b, T0 + 100, head);
    received_bytes(&b, T0 + 200, out, made / 2);
    received_bytes(&b, T0 + 300, out + made / 2, made - made / 2);
    bench_end_flow(&b, T0 + 5000);
    struct audit a = {0};
    bench_load(&b, &a);
    assert_int_equal(a.requests.n, 1);
    const struct request *r = &a.requests.v[0];
    assert_int_equal(r->outcome, OUTCOME_SUCCESS);
    assert_int_equal(r->out.n, 1);
    assert_int_equal(r->out.v[0].t_ns, T0 + 300);
    assert_int_equal(r->usage.completion, 7);
    audit_free(&a);
}

static void a_burst_is_one_read(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, NULL);
    bench_flow(&b, 40001, T0);
    send_request(&b, T0);
    received(&b, T0 + 1000, stream_head);
    char data[512], text[1024], all[16384] = {0};
    for (size_t i = 0; i < 30; i++) {
        chunk(text, text_event(data, "abc"));
        memcpy(all + strlen(all), text, strlen(text) + 1);
    }
    received(&b, T0 + 2000000000, all);
    received(&b, T0 + 2000001000, chunk(text, FINISH));
    received(&b, T0 + 2000002000, chunk(text, USAGE));
    received(&b, T0 + 2000003000, "0\r\n\r\n");
    struct audit a = {0};
    bench_load(&b, &a);
    runs_find(&a, &audit_defaults);
    metrics_request_all(&a, &audit_defaults);
    const struct request *r = &a.requests.v[0];
    assert_int_equal(r->outcome, OUTCOME_SUCCESS);
    assert_int_equal(r->out.n, 30);
    assert_int_equal(metrics_request_reads(r), 1);
    assert_string_equal(r->metrics[M_OUTPUT_TPS_USER].reason,
                        "30 output events arrived in 1 read; 3 are needed");
    assert_int_equal(r->metrics[M_TTFT].grade, GRADE_WIRE);
    assert_true(r->metrics[M_TTFT].v == 2.0);
    assert_true(r->metrics[M_E2E_OUTPUT_TPS].v == 20.0);
    audit_free(&a);
}

/* A text event that states how many tokens there are by now; out has room for 512. */
static const char *counted_event(char *out, int tokens)
{
    snprintf(out, 512,
             "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ab\"}}],\"usage\":"
             "{\"prompt_tokens\":1,\"completion_tokens\":%d,\"total_tokens\":9}}",
             tokens);
    return out;
}

static void tokens_of_the_first_read_are_n1(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, NULL);
    bench_flow(&b, 40001, T0);
    send_request(&b, T0);
    received(&b, T0 + 1000, stream_head);
    char text[1024], two[2048], more[1024];
    char data[512];
    chunk(text, counted_event(data, 2));
    chunk(more, counted_event(data, 5));
    snprintf(two, sizeof two, "%s%s", text, more);
    received(&b, T0 + 2000, two);
    received(&b, T0 + 3000, chunk(text, counted_event(data, 6)));
    received(&b, T0 + 4000, chunk(text, FINISH));
    received(&b, T0 + 5000, "0\r\n\r\n");
    struct audit a = {0};
    bench_load(&b, &a);
    const struct request *r = &a.requests.v[0];
    assert_int_equal(r->n1, 5);
    assert_int_equal(request_stated(r, 0), 2);
    assert_int_equal(request_stated(r, 2), 6);
    assert_int_equal(r->usage_events, 3);
    audit_free(&a);
}

/* Requests one after the other gather their events in the same room: what one stated is not the
 * next one's. More events than a room is kept for are the second's. */
static void what_is_stated_stays_with_its_request(void **state)
{
    (void)state;
    static const struct {
        size_t events, counts_from; /* of each event, from that one on */
    } replies[] = {{3, 0}, {1100, 1100}, {4, 4}, {5, 2}, {1100, 0}, {2, 2}};
    enum { REPLIES = sizeof replies / sizeof *replies };
    struct bench b;
    bench_open(&b, NULL);
    bench_flow(&b, 40001, T0);
    int64_t t = T0;
    for (size_t i = 0; i < REPLIES; i++) {
        char text[1024], data[512];
        send_request(&b, t += 1000);
        received(&b, t += 1000, stream_head);
        for (size_t k = 0; k < replies[i].events; k++)
            received(
                &b, t += 1000,
                chunk(text, k < replies[i].counts_from
                                ? "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ab\"}}]}"
                                : counted_event(data, (int)k + 10)));
        received(&b, t += 1000, chunk(text, FINISH));
        received(&b, t += 1000, "0\r\n\r\n");
    }
    struct audit a = {0};
    bench_load(&b, &a);
    assert_int_equal(a.requests.n, REPLIES);
    for (size_t i = 0; i < REPLIES; i++) {
        const struct request *r = &a.requests.v[i];
        assert_int_equal(r->out.n, replies[i].events);
        for (size_t k = 0; k < r->out.n; k++)
            assert_int_equal(request_stated(r, k), k < replies[i].counts_from ? -1 : (int)k + 10);
    }
    audit_free(&a);
}

static void one_document_is_one_event(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, NULL);
    bench_flow(&b, 40001, T0);
    send_request(&b, T0);
    const char *document = "{\"object\":\"chat.completion\",\"choices\":[{\"index\":0,\"message\":{"
                           "\"role\":\"assistant\",\"content\":\"hello\"},"
                           "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,"
                           "\"completion_tokens\":2,\"total_tokens\":5}}";
    char head[256];
    snprintf(head, sizeof head,
             "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
             strlen(document));
    received(&b, T0 + 1000, head);
    char part[64] = {0};
    memcpy(part, document, 50);
    received(&b, T0 + 2000, part);
    received(&b, T0 + 777777, document + 50);
    struct audit a = {0};
    bench_load(&b, &a);
    const struct request *r = &a.requests.v[0];
    assert_int_equal(r->outcome, OUTCOME_SUCCESS);
    assert_false(r->stream_reply);
    assert_int_equal(r->out.n, 1);
    assert_int_equal(r->out.v[0].t_ns, T0 + 777777);
    assert_int_equal(r->out.v[0].bytes, 5);
    assert_int_equal(r->c1, T0 + 777777);
    assert_int_equal(r->usage.completion, 2);
    assert_string_equal(r->server, "127.0.0.1:8000"); /* no Server field */
    audit_free(&a);
}

/* Everything that is no success, and why. */
static void outcomes(void **state)
{
    (void)state;
    char text[1024], data[512], bad[2048], cut[2048], no_finish[2048], error[2048];
    text_event(data, "abc");
    chunk(text, data);
    snprintf(cut, sizeof cut, "%s%s", stream_head, text);
    snprintf(no_finish, sizeof no_finish, "%s%s0\r\n\r\n", stream_head, text);
    chunk(text, "{\"error\":{\"message\":\"out of memory\",\"code\":500}}");
    snprintf(error, sizeof error, "%s%s0\r\n\r\n", stream_head, text);
    const char *body =
        "{\"error\":{\"message\":\"too long\",\"type\":\"invalid_request_error\",\"code\":400}}";
    snprintf(bad, sizeof bad,
             "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: "
             "%zu\r\n\r\n%s",
             strlen(body), body);
    const struct {
        const char *reply;
        bool closed;
        enum outcome outcome;
        const char *error;
    } cases[] = {
        {bad, true, OUTCOME_HTTP_ERROR, "too long"},
        {error, true, OUTCOME_ERROR_EVENT, "out of memory"},
        {cut, true, OUTCOME_CUT_SHORT, NULL},
        {cut, false, OUTCOME_OPEN, NULL},
        {no_finish, true, OUTCOME_NO_FINISH, NULL},
        {NULL, true, OUTCOME_NO_RESPONSE, NULL},
        {NULL, false, OUTCOME_OPEN, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench b;
        bench_open(&b, NULL);
        bench_flow(&b, 40001, T0);
        send_request(&b, T0);
        if (cases[i].reply != NULL)
            received(&b, T0 + 5000, cases[i].reply);
        if (cases[i].closed)
            bench_end_flow(&b, T0 + 9000);
        struct audit a = {0};
        bench_load(&b, &a);
        assert_int_equal(a.requests.n, 1);
        const struct request *r = &a.requests.v[0];
        if (r->outcome != cases[i].outcome)
            fail_msg("case %zu: %s, expected %s", i, outcome_name(r->outcome),
                     outcome_name(cases[i].outcome));
        if (cases[i].error != NULL)
            assert_string_equal(r->error, cases[i].error);
        assert_true(r->t_end >= T0 + (cases[i].reply != NULL ? 5000 : 700));
        audit_free(&a);
    }
}

/* OpenAI's own client hangs up at [DONE], before the zero chunk: nothing was cut short by that, as
 * it is when the server ends first, or before the end mark. */
static void a_client_may_hang_up_at_the_end_mark(void **state)
{
    (void)state;
    static const struct {
        bool finish, done, by_server, reset;
        enum outcome outcome;
    } cases[] = {
        {true, true, false, false, OUTCOME_SUCCESS},
        {true, true, false, true, OUTCOME_SUCCESS},
        {true, true, true, false, OUTCOME_CUT_SHORT},
        {true, true, true, true, OUTCOME_CUT_SHORT},
        {true, false, false, false, OUTCOME_CUT_SHORT},
        {false, true, false, false, OUTCOME_CUT_SHORT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench b;
        struct audit a = {0};
        char text[1024], data[512];
        bench_open(&b, NULL);
        bench_flow(&b, 40001, T0);
        send_request(&b, T0);
        received(&b, T0 + 1000, stream_head);
        text_event(data, "abc");
        chunk(text, data);
        received(&b, T0 + 2000, text);
        chunk(text, "{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}");
        if (cases[i].finish)
            received(&b, T0 + 3000, text);
        chunk(text, "[DONE]");
        if (cases[i].done)
            received(&b, T0 + 4000, text);
        assert_int_equal(
            socket_flow_closed(b.flow, cases[i].by_server, cases[i].reset, T0 + 5000, &b.e), TA_OK);
        if (!cases[i].reset)
            assert_int_equal(
                socket_flow_closed(b.flow, !cases[i].by_server, false, T0 + 6000, &b.e), TA_OK);
        bench_load(&b, &a);
        const struct request *r = &a.requests.v[0];
        if (r->outcome != cases[i].outcome)
            fail_msg("case %zu: %s", i, outcome_name(r->outcome));
        assert_int_equal(r->whole, r->outcome == OUTCOME_SUCCESS);
        assert_int_equal(r->z, -1);
        audit_free(&a);
    }
}

static void what_is_no_llm_request_has_no_dialect(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, NULL);
    bench_flow(&b, 40001, T0);
    sent(&b, T0, "GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n");
    received(&b, T0 + 1000, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
    struct audit a = {0};
    bench_load(&b, &a);
    runs_find(&a, &audit_defaults);
    assert_int_equal(a.requests.n, 1);
    assert_int_equal(a.requests.v[0].outcome, OUTCOME_NOT_LLM);
    assert_int_equal(a.runs.n, 0);
    audit_free(&a);
}

static void custom(struct bench *b, const char *json)
{
    assert_int_equal(writer_custom(b->w, slice_of(json), &b->e), TA_OK);
}

static void samples_and_ledger_are_read(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, NULL);
    custom(&b,
           "{\"kind\":\"samples\",\"samples\":["
           "{\"k\":\"s\",\"t\":\"1796030400500000001\",\"sys\":{\"total_b\":1000,\"avail_b\":400},"
           "\"p\":[{\"pid\":1,\"rss_b\":30,\"cpu_ns\":5},{\"pid\":2,\"rss_b\":12,\"cpu_ns\":2}]},"
           "{\"k\":\"proc\",\"ev\":\"exit\",\"t\":\"1\",\"pid\":2},"
           "{\"k\":\"s\",\"t\":\"1796030400600000001\",\"sys\":{},\"p\":null}]}");
    custom(&b, "{\"kind\":\"ledger\",\"entries\":[{\"name\":\"no more than that\"}]}");
    bench_flow(&b, 40001, T0);
    send_request(&b, T0);
    received(&b, T0 + 5000, "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
    struct buf text;
    struct jsonw w;
    buf_init(&text, 4096);
    jsonw_init(&w, &text, 0);
    jsonw_object(&w, NULL);
    jsonw_text(&w, "kind", "ledger");
    jsonw_array(&w, "entries");
    struct ledger_entry entry = {.workload = "run_double",
                                 .name = "p3",
                                 .repeat = 4,
                                 .group = 2,
                                 .due_ns = T0 - 9,
                                 .sent_ns = T0 - 3,
                                 .first_ns = T0 + 6000,
                                 .end_ns = T0 + 6100,
                                 .local_port = 40001,
                                 .status = 503,
                                 .outcome = "complete"};
    ledger_write(&w, &entry);
    jsonw_end(&w);
    jsonw_end(&w);
    custom(&b, buf_text(&text));
    buf_done(&text);
    struct audit a = {0};
    bench_load(&b, &a);
    runs_find(&a, &audit_defaults);

    const struct trace_info *t = &a.traces.v[0];
    assert_int_equal(t->samples, 2);
    assert_int_equal(t->unread_blocks, 1);
    assert_int_equal(t->sys.v[0].t_ns, INT64_C(1796030400500000001));
    assert_int_equal(t->sys.v[0].mem_used, 600);
    assert_int_equal(t->sys.v[0].mem_total, 1000);
    assert_int_equal(t->sys.v[0].server_rss, 42);
    assert_int_equal(t->sys.v[0].server_cpu_ns, 7);
    assert_int_equal(t->sys.v[1].mem_used, -1);
    assert_int_equal(t->sys.v[1].server_rss, -1);
    assert_string_equal(a.requests.v[0].name, "p3");
    assert_int_equal(a.requests.v[0].ledger->due_ns, T0 - 9);
    assert_string_equal(a.runs.v[0].workload, "run_double");
    assert_int_equal(a.runs.v[0].repeat, 4);
    audit_free(&a);
}

/* An hour with a slow drift is none; half a second at once is one. */
static void a_step_of_the_clock_is_found(void **state)
{
    (void)state;
    static const struct {
        int64_t jump_ns, found_ns;
    } cases[] = {{0, 0}, {-500000000, -500000000 + 360 * 1000}};
    for (size_t i = 0; i < 2; i++) {
        struct trace_info t = {0};
        struct arena texts = {0};
        struct blocks b = {0};
        for (int64_t k = 0; k < 360; k++) { /* every 10 s; 36 ppm */
            char json[256];
            int64_t mono = k * 10000000000,
                    real = T0 + mono + k * 360000 + (k >= 100 ? cases[i].jump_ns : 0);
            snprintf(json, sizeof json,
                     "{\"kind\":\"clock\",\"pairs\":[{\"real_ns\":\"%" PRId64
                     "\",\"mono_ns\":\"%" PRId64 "\",\"width_ns\":60}]}",
                     real, mono);
            b.frame = (uint64_t)k;
            blocks_read(&b, slice_of(json), &t, &texts);
        }
        assert_true(t.clock_known);
        assert_int_equal(t.clock_step_ns, cases[i].found_ns);
        assert_int_equal(t.steps.n, cases[i].found_ns != 0);
        if (t.steps.n > 0) { /* ten seconds apart, the pairs place it between two blocks */
            assert_int_equal(t.steps.v[0].frame, 100);
            assert_int_equal(t.steps.v[0].before.mono_ns, INT64_C(990000000000));
            assert_int_equal(t.steps.v[0].after.mono_ns, INT64_C(1000000000000));
        }
        VEC_FREE(&t.steps);
        arena_free(&texts);
    }
}

#if defined(__linux__)
/* --- a recording under a clock that is set ------------------------------------------------------
 */

static _Atomic int64_t fake_real_ns, fake_mono_ns; /* 0: the system's own */

int clock_gettime(clockid_t id, struct timespec *ts)
{
    int64_t ns = id == CLOCK_REALTIME ? fake_real_ns : id == CLOCK_MONOTONIC ? fake_mono_ns : 0;
    if (ns == 0)
        return (int)syscall(SYS_clock_gettime, id, ts);
    *ts = (struct timespec){(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
    return 0;
}

static void pass(struct bench *b, int64_t ms)
{
    for (; ms > 0; ms -= 50) {
        fake_real_ns += 50 * NS_PER_MS;
        fake_mono_ns += 50 * NS_PER_MS;
        assert_int_equal(writer_tick(b->w, &b->e), TA_OK);
    }
}

/* Half a second, and as much silence. */
static void answer(struct bench *b)
{
    char data[512], text[1024];
    received(b, clock_real_ns(), stream_head);
    for (int i = 0; i < 10; i++) {
        received(b, clock_real_ns(), chunk(text, text_event(data, "abc")));
        pass(b, 50);
    }
    received(b, clock_real_ns(), chunk(text, FINISH));
    received(b, clock_real_ns(), chunk(text, USAGE));
    received(b, clock_real_ns(), "0\r\n\r\n");
    pass(b, 500);
}

static const struct request *request_of_port(const struct audit *a, uint16_t port, uint32_t nth)
{
    for (size_t i = 0; i < a->requests.n; i++) {
        if (a->requests.v[i].client_port == port && a->requests.v[i].nth == nth)
            return &a->requests.v[i];
    }
    fail_msg("there is no request %u of port %u", nth, port);
    return NULL;
}

static void assert_around_a_step(const struct audit *a, const struct request *after)
{
    const struct request *before = request_of_port(a, 40001, 0),
                         *across = request_of_port(a, 40001, 1);
    assert_false(before->clock_stepped || after->clock_stepped);
    assert_int_equal(before->clock_epoch, 0);
    assert_int_equal(after->clock_epoch, 1);
    const struct request *good[] = {before, after};
    for (int i = 0; i < 2; i++) {
        assert_true(metrics_request_counts(good[i]));
        assert_int_equal(good[i]->metrics[M_TTFT].grade, GRADE_WIRE);
        assert_float_equal(good[i]->metrics[M_TTFT].v, 0.2, 1e-6);
        assert_float_equal(good[i]->metrics[M_E2EL].v, 0.65, 1e-6);
    }
    assert_true(across->clock_stepped);
    assert_int_equal(across->outcome, OUTCOME_SUCCESS);
    assert_false(metrics_request_counts(across));
    for (enum request_metric m = 0; m < M_STATED_TPS; m++) {
        assert_int_equal(across->metrics[m].grade, GRADE_NOT_MEASURABLE);
        assert_string_equal(across->metrics[m].reason, "the clock was set while the request ran");
    }
    const struct metric *ttft = metrics_find(a, "ttft", "p50", (struct metric_scope){.trace = 1});
    assert_int_equal(ttft->n, 2);
    static const char *const spanning[] = {"output_tps", "request_tps", "duration",
                                           "concurrency_avg", "concurrency_peak"};
    for (size_t i = 0; i < sizeof spanning / sizeof *spanning; i++) {
        const struct metric *m =
            metrics_find(a, spanning[i], "value", (struct metric_scope){.trace = 1});
        assert_int_equal(m->grade, GRADE_NOT_MEASURABLE);
        assert_string_equal(m->reason, "the clock was set while these requests ran");
    }
}

/* Three requests, the last on the connection of the others or on its own; the clock is set in the
 * second. Set back, a connection's times stand still until it is as late again. */
static void no_figure_spans_a_step(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        bool own;
        bool held; /* the last has no times */
    } cases[] = {{3600000, false, false}, {-2000, true, false}, {-2000, false, true},
                 {5, false, false},       {-5, false, false},   {-3600000, true, false},
                 {500, true, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench b;
        fake_real_ns = T0;
        fake_mono_ns = INT64_C(1000) * NS_PER_S;
        bench_open(&b, NULL);
        bench_flow(&b, 40001, T0);
        for (int k = 0; k < 3; k++) {
            if (k == 2 && cases[i].own) {
                socket_flow_free(b.flow);
                bench_flow(&b, 40002, clock_real_ns());
            }
            send_request(&b, clock_real_ns());
            pass(&b, 100);
            fake_real_ns += k == 1 ? cases[i].ms * NS_PER_MS : 0;
            pass(&b, 100);
            answer(&b);
        }
        struct audit a = {0};
        bench_load(&b, &a);
        fake_real_ns = fake_mono_ns = 0;
        assert_int_equal(a.requests.n, 3);
        assert_int_equal(a.traces.v[0].steps.n, 1);
        assert_int_equal(a.traces.v[0].clock_step_ns, cases[i].ms * NS_PER_MS);
        runs_find(&a, &audit_defaults);
        metrics_request_all(&a, &audit_defaults);
        metrics_run_all(&a, &audit_defaults);
        const struct request *last =
            cases[i].own ? request_of_port(&a, 40002, 0) : request_of_port(&a, 40001, 2);
        if (cases[i].held)
            assert_true(last->clock_stepped);
        else
            assert_around_a_step(&a, last);
        audit_free(&a);
    }
}
#endif

/* Two connections whose requests interleave are listed by t0. */
static void requests_stand_in_order_of_t0(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, NULL);
    bench_flow(&b, 40001, T0);
    struct socket_flow *first = b.flow;
    bench_flow(&b, 40002, T0 + 1);
    struct socket_flow *second = b.flow;
    send_request(&b, T0 + 1000);
    b.flow = first;
    send_request(&b, T0 + 2000);
    received(&b, T0 + 3000, "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
    b.flow = second;
    received(&b, T0 + 4000, "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
    socket_flow_free(first);
    struct audit a = {0};
    bench_load(&b, &a);
    assert_int_equal(a.requests.n, 2);
    assert_int_equal(a.requests.v[0].client_port, 40002);
    assert_int_equal(a.requests.v[0].id, 1);
    assert_int_equal(a.requests.v[1].t0, T0 + 2000);
    assert_int_equal(a.requests.v[1].id, 2);
    audit_free(&a);
}

static void unusable_files_leave_nothing_behind(void **state)
{
    (void)state;
    struct audit a = {0};
    struct err e = {0};
    assert_int_equal(load_one(&a, "/nonexistent/x.pcapng.gz", &e), TA_EFORMAT);
    assert_non_null(strstr(e.msg, "/nonexistent/x.pcapng.gz"));
    assert_int_equal(load_one(&a, "/tmp", &e), TA_EFORMAT);
    assert_int_equal(a.traces.n, 0);
    audit_free(&a);
}

/* Same trace, same bytes; and a reader that knows only JSON finds the times again. */
static void json_is_the_same_every_time(void **state)
{
    (void)state;
    struct bench b;
    bench_open(&b, NULL);
    bench_flow(&b, 40001, T0);
    send_request(&b, T0 + 11);
    received(&b, T0 + 5000, "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
    bench_write(&b);
    struct buf text[2];
    for (int i = 0; i < 2; i++) {
        struct audit a = {0};
        assert_int_equal(load_one(&a, b.path, &b.e), TA_OK);
        runs_find(&a, &audit_defaults);
        metrics_request_all(&a, &audit_defaults);
        metrics_run_all(&a, &audit_defaults);
        buf_init(&text[i], 1u << 24);
        report_json_write(&a, &text[i]);
        audit_free(&a);
    }
    unlink(b.path);
    assert_int_equal(text[0].n, text[1].n);
    assert_memory_equal(text[0].p, text[1].p, text[0].n);
    struct json *v = json_parse((const char *)text[0].p, text[0].n, &b.e);
    assert_non_null(v);
    const struct json *trace = json_first(json_get(v, "traces")),
                      *request = json_first(json_get(v, "requests"));
    int64_t t0 = 0, epoch = 0;
    assert_true(json_int(request, "t0_ns", &t0) && json_ns(trace, "epoch_ns", &epoch));
    assert_int_equal(t0, 11);
    assert_int_equal(epoch, T0);
    assert_string_equal(json_string(request, "outcome"), "http-error");
    json_free(v);
    buf_done(&text[0]);
    buf_done(&text[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_is_found_to_the_nanosecond),
        cmocka_unit_test(text_behind_quotes_is_counted),
        cmocka_unit_test(a_compressed_stream_keeps_its_times),
        cmocka_unit_test(a_compressed_document_is_read),
        cmocka_unit_test(a_burst_is_one_read),
        cmocka_unit_test(tokens_of_the_first_read_are_n1),
        cmocka_unit_test(what_is_stated_stays_with_its_request),
        cmocka_unit_test(one_document_is_one_event),
        cmocka_unit_test(outcomes),
        cmocka_unit_test(a_client_may_hang_up_at_the_end_mark),
        cmocka_unit_test(what_is_no_llm_request_has_no_dialect),
        cmocka_unit_test(samples_and_ledger_are_read),
        cmocka_unit_test(a_step_of_the_clock_is_found),
#if defined(__linux__)
        cmocka_unit_test(no_figure_spans_a_step),
#endif
        cmocka_unit_test(requests_stand_in_order_of_t0),
        cmocka_unit_test(unusable_files_leave_nothing_behind),
        cmocka_unit_test(json_is_the_same_every_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
