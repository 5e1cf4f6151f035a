/* The simulated server over real sockets: what it writes, how it frames it, and that the truth it
 * tells is that of its profile. Only the order of times and the times of the truth are held, never
 * how fast this machine is. */
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/served.h"

/* --- tests ---------------------------------------------------------------------------------------
 */

static void test_stream(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, quick_profile(), 0);
    int fd = dial(&f);
    struct story a = ask_stream(fd, ASK(",\"stream\":true,\"max_tokens\":5"));
    assert_string_equal(a.letters, "RTTTTTFD");
    struct story b = ask_stream(
        fd, ASK(",\"stream\":true,\"max_tokens\":5,\"stream_options\":{\"include_usage\":true}"));
    assert_string_equal(b.letters, "RTTTTTFUD");
    struct story again = ask_stream(fd, ASK(",\"stream\":true,\"max_tokens\":5"));
    assert_string_equal(buf_text(&a.text), buf_text(&again.text));
    assert_string_not_equal(buf_text(&a.text), buf_text(&b.text));
    assert_int_equal(count(buf_text(&a.text), " "), 4); /* a word a token */
    close(fd);
    stop(&f);
    assert_int_equal(f.counts.replies, 3);
    assert_int_equal(f.counts.abandoned + f.counts.unanswered, 0);

    struct fixture other;
    start(&other, quick_profile(), 1);
    fd = dial(&other);
    struct story c = ask_stream(fd, ASK(",\"stream\":true,\"max_tokens\":5"));
    assert_string_not_equal(buf_text(&a.text), buf_text(&c.text));
    close(fd);
    stop(&other);
    free(f.truth_text);
    free(other.truth_text);
    buf_done(&a.text);
    buf_done(&b.text);
    buf_done(&again.text);
    buf_done(&c.text);
}

/* Steps of exactly 1/decode_tps in the truth, and nothing left before it was made. */
static void test_truth_of_a_stream(void **state)
{
    (void)state;
    struct fixture f;
    struct told t[100];
    start(&f, quick_profile(), 0);
    int fd = dial(&f);
    struct story s = ask_stream(fd, ASK(",\"stream\":true,\"max_tokens\":100"));
    buf_done(&s.text);
    close(fd);
    stop(&f);
    assert_int_equal(tokens_told(f.truth_text, t, 100), 100);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(t[i].index, i);
        assert_true(t[i].t_ns >= t[i].made_ns - TWO_CLOCKS_NS);
        assert_true(llabs(t[i].made_ns - t[0].made_ns - i * 500000) < TWO_CLOCKS_NS);
    }
    free(f.truth_text);
}

static void test_collect(void **state)
{
    (void)state;
    struct profile p = quick_profile();
    struct fixture f;
    struct told t[80];
    p.batching = BATCHING_SERIAL;
    p.max_batch = 1;
    p.delivery = DELIVERY_COLLECT;
    p.event_cost_ns = 71000;
    p.role_event = ROLE_AT_ONCE;
    p.usage = USAGE_ALWAYS;
    p.keepalive = ": heartbeat";
    p.keepalive_ns = 5000000;
    start(&f, p, 0);
    int a = dial(&f), b = dial(&f);
    send_chat(a, ASK(",\"stream\":true,\"max_tokens\":40"));
    char *head = receive(a, "\"role\""); /* comes before anything is made */
    send_chat(b, ASK(",\"stream\":true,\"max_tokens\":40,\"seed\":2"));
    char *rest = receive(a, END), *other = receive(b, END);
    char *whole = malloc(strlen(head) + strlen(rest) + 1);
    memcpy(whole, head, strlen(head));
    memcpy(whole + strlen(head), rest, strlen(rest) + 1);
    struct story s = read_story(whole);
    /* silence, with heartbeats at most, and then all of it */
    assert_int_equal(s.letters[0], 'R');
    const char *burst = s.letters + 1 + strspn(s.letters + 1, ":");
    assert_int_equal(strspn(burst, "T"), 40);
    assert_string_equal(burst + 40, "FUD");
    close(a);
    close(b);
    stop(&f);
    assert_int_equal(tokens_told(f.truth_text, t, 80), 80);
    int64_t last_made[2] = {0}, first_made[2] = {INT64_MAX, INT64_MAX},
            first_sent[2] = {INT64_MAX, INT64_MAX};
    for (int i = 0; i < 80; i++) {
        int r = (int)t[i].request - 1;
        last_made[r] = t[i].made_ns > last_made[r] ? t[i].made_ns : last_made[r];
        first_made[r] = t[i].made_ns < first_made[r] ? t[i].made_ns : first_made[r];
        first_sent[r] = t[i].t_ns < first_sent[r] ? t[i].t_ns : first_sent[r];
    }
    for (int r = 0; r < 2; r++)
        assert_true(first_sent[r] >= last_made[r]);
    assert_true(first_made[1] >= last_made[0]); /* behind the lock */
    free(head);
    free(rest);
    free(other);
    free(whole);
    free(f.truth_text);
    buf_done(&s.text);
}

static void test_document(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, quick_profile(), 0);
    int fd = dial(&f);
    send_chat(fd, ASK(",\"max_tokens\":4"));
    char *response = receive(fd, "\"total_tokens\":8}}");
    const char *content = strstr(response, "\"content\":\"");
    assert_has(response, "Content-Type: application/json\r\n");
    assert_non_null(content);
    char *text = mem_strndup(content + 11, strcspn(content + 11, "\""));
    assert_int_equal(count(text, " "), 3);
    free(text);
    free(response);
    close(fd);
    stop(&f);
    free(f.truth_text);
}

static void test_routes(void **state)
{
    (void)state;
    static const struct {
        const char *request, *status, *said;
    } cases[] = {
        {"GET /v1/models?x=1 HTTP/1.1\r\n\r\n", "200 OK", "\"id\":\"m\""},
        {"GET /health HTTP/1.0\r\n\r\n", "200 OK", "\"simulated\":true"},
        {"GET /v2 HTTP/1.1\r\n\r\n", "404 Not Found", "\"type\":\"not_found_error\""},
        {"GET /v1/chat/completions HTTP/1.1\r\n\r\n", "405 Method", "Allow: POST\r\n"},
        {"DELETE /health HTTP/1.1\r\n\r\n", "405 Method", "Allow: GET\r\n"},
        {"POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: "
         "chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n",
         "400 Bad", "no JSON object"},
        {"what is this\r\n\r\n", "400 Bad", "no HTTP/1.1 request"},
        {"POST /x HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "400 Bad", "no HTTP/1.1 request"},
        {"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "400 Bad",
         "no HTTP/1.1 request"},
    };
    struct fixture f;
    start(&f, quick_profile(), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int fd = dial(&f);
        send_all(fd, cases[i].request, strlen(cases[i].request));
        expect_answer(fd, cases[i].status, cases[i].said);
        close(fd);
    }
    stop(&f);
    assert_int_equal(f.counts.requests, sizeof cases / sizeof *cases);
    free(f.truth_text);
}

/* Refusals leave the connection open for the next request. */
static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *body, *said;
    } cases[] = {
        {"{]}", "no JSON object"},
        {"{}", "messages: expected"},
        {ASK(",\"n\":2"), "n: this server"},
        {ASK(",\"max_tokens\":0"), "max_tokens: expected 1 to"},
        {ASK(",\"max_tokens\":1000001"), "max_tokens: expected 1 to"},
        {"{\"messages\":[{\"content\":\"1 2 3 4 5 6\"},{\"content\":\"7 8 9 10 11\"}]}",
         "Prompt too long: 11 tokens exceeds max context window of 10 tokens"},
    };
    struct profile p = quick_profile();
    p.context_limit = 10;
    struct fixture f;
    start(&f, p, 0);
    int fd = dial(&f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        send_chat(fd, cases[i].body);
        expect_answer(fd, "400 Bad", cases[i].said);
    }
    struct story s = ask_stream(fd, ASK(",\"stream\":true,\"max_tokens\":1"));
    assert_string_equal(s.letters, "RTFD");
    buf_done(&s.text);
    close(fd);
    stop(&f);
    free(f.truth_text);
}

static void test_http_1_0(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, quick_profile(), 0);
    const char *body = ASK(",\"stream\":true,\"max_tokens\":2");
    char request[512];
    int n = snprintf(request, sizeof request,
                     "POST /v1/chat/completions HTTP/1.0\r\nContent-Length: %zu\r\n\r\n%s",
                     strlen(body), body);
    int fd = dial(&f);
    send_all(fd, request, (size_t)n);
    char *answer = receive_answer(fd);
    assert_has(answer, "Connection: close\r\n");
    assert_null(strstr(answer, "chunked"));
    assert_has(answer, "\r\n\r\ndata: {");
    assert_string_equal(answer + strlen(answer) - 14, "data: [DONE]\n\n");
    assert_int_equal(count(answer, "data: "), 5);
    free(answer);
    close(fd);
    stop(&f);
    free(f.truth_text);
}

static void test_expect_continue(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, quick_profile(), 0);
    const char *body = ASK(",\"max_tokens\":1");
    char head[256];
    int n = snprintf(
        head, sizeof head,
        "POST /v1/chat/completions HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: %zu\r\n\r\n",
        strlen(body));
    int fd = dial(&f);
    send_all(fd, head, (size_t)n);
    char *interim = receive(fd, "\r\n\r\n");
    assert_string_equal(interim, "HTTP/1.1 100 Continue\r\n\r\n");
    send_all(fd, body, strlen(body));
    expect_answer(fd, "200 OK", "\"completion_tokens\":1");
    free(interim);
    close(fd);
    stop(&f);
    free(f.truth_text);
}

/* A request cut in two at every place is the same request. */
static void test_every_split(void **state)
{
    (void)state;
    struct profile p = quick_profile();
    struct fixture f;
    p.decode_tps = 1e6;
    start(&f, p, 0);
    const char *body = ASK(",\"max_tokens\":3");
    char request[512], *first = NULL;
    int n = snprintf(request, sizeof request,
                     "POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %zu\r\n\r\n%s",
                     strlen(body), body);
    int fd = dial(&f), on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    for (int cut = 0; cut <= n; cut++) {
        send_all(fd, request, (size_t)cut);
        sched_yield();
        send_all(fd, request + cut, (size_t)(n - cut));
        char *answer = receive_answer(fd);
        char *message = mem_strdup(strstr(answer, "\"message\""));
        if (first == NULL)
            first = mem_strdup(message);
        assert_string_equal(message, first);
        free(message);
        free(answer);
    }
    free(first);
    close(fd);
    stop(&f);
    assert_int_equal(f.counts.replies, n + 1);
    free(f.truth_text);
}

/* Many requests in one write are answered one after the other. */
static void test_pipelined(void **state)
{
    (void)state;
    enum { MANY = 500 };
    struct fixture f;
    struct buf all;
    start(&f, quick_profile(), 0);
    buf_init(&all, 1 << 20);
    for (int i = 0; i < MANY; i++)
        buf_printf(&all, "GET /v1/models?%d HTTP/1.1\r\n\r\n", i);
    int fd = dial(&f);
    send_all(fd, (char *)all.p, all.n);
    const char *body = ASK(",\"stream\":true,\"max_tokens\":2");
    send_chat(fd, body);
    send_chat(fd, ASK(",\"max_tokens\":2"));
    for (int i = 0; i < MANY; i++)
        expect_answer(fd, "200 OK", "\"object\":\"list\"");
    char *response = receive(fd, END);
    struct story s = read_story(response);
    assert_string_equal(s.letters, "RTTFD");
    expect_answer(fd, "200 OK", "\"completion_tokens\":2");
    free(response);
    buf_done(&s.text);
    buf_done(&all);
    close(fd);
    stop(&f);
    assert_int_equal(f.counts.requests, MANY + 2);
    free(f.truth_text);
}

/* A client that goes away frees the model for the next. */
static void test_abandoned(void **state)
{
    (void)state;
    struct profile p = quick_profile();
    struct fixture f;
    p.batching = BATCHING_SERIAL;
    p.max_batch = 1;
    p.decode_tps = 100;
    start(&f, p, 0);
    int a = dial(&f), b = dial(&f);
    send_chat(a, ASK(",\"stream\":true,\"max_tokens\":1000000"));
    char *begun = receive(a, "\"content\":\"");
    send_chat(b, ASK(",\"stream\":true,\"max_tokens\":2"));
    close(a);
    char *whole = receive(b, END); /* not after 10,000 s */
    assert_has(whole, "[DONE]");
    free(begun);
    free(whole);
    close(b);
    stop(&f);
    assert_int_equal(f.counts.abandoned, 1);
    assert_int_equal(f.counts.replies, 1);
    free(f.truth_text);
}

/* A long silence has heartbeats; what the end of the server cuts is counted. */
static void test_cut_by_the_end(void **state)
{
    (void)state;
    struct profile p = quick_profile();
    struct fixture f;
    p.role_event = ROLE_AT_ONCE;
    p.prefill_tps = 0.1;
    p.keepalive = ": heartbeat";
    p.keepalive_ns = 2000000;
    start(&f, p, 0);
    int fd = dial(&f);
    send_chat(fd, ASK(",\"stream\":true"));
    char *begun = receive(fd, "d\r\n: heartbeat\n\n\r\nd\r\n: heartbeat\n\n\r\n");
    assert_has(begun, "\"role\"");
    stop(&f);
    char *rest = receive(fd, NULL);
    assert_null(strstr(rest, END));
    assert_int_equal(f.counts.unanswered, 1);
    free(begun);
    free(rest);
    close(fd);
    free(f.truth_text);
}

static void test_addresses(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",    "127.0.0.1", "localhost:80", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:8x",
        ":80", "[::1",      "[::1]80",      "1.2.3.4.5:1"};
    struct profile p = quick_profile();
    struct generator_options o = {&p, 1, 0, NULL};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct err e;
        uv_loop_t loop;
        uv_loop_init(&loop);
        assert_null(server_open(&loop, wrong[i], &o, &e));
        assert_int_equal(e.code, TA_EUSAGE);
        assert_int_equal(uv_loop_close(&loop), 0);
    }
    struct fixture f;
    char taken[64];
    start(&f, p, 0);
    snprintf(taken, sizeof taken, "127.0.0.1:%u", server_port(f.server));
    struct err e;
    uv_loop_t loop;
    uv_loop_init(&loop);
    assert_null(server_open(&loop, taken, &o, &e));
    assert_int_equal(e.code, TA_ESYS);
    assert_non_null(strstr(e.msg, taken));
    uv_loop_close(&loop);
    stop(&f);
    free(f.truth_text);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stream),      cmocka_unit_test(test_truth_of_a_stream),
        cmocka_unit_test(test_collect),     cmocka_unit_test(test_document),
        cmocka_unit_test(test_routes),      cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_http_1_0),    cmocka_unit_test(test_expect_continue),
        cmocka_unit_test(test_every_split), cmocka_unit_test(test_pipelined),
        cmocka_unit_test(test_abandoned),   cmocka_unit_test(test_cut_by_the_end),
        cmocka_unit_test(test_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
