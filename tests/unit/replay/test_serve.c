/* The simulated server over real sockets: what it writes, how it frames it, and that the truth it
 * tells is that of its profile. Only the order of times and the times of the truth are held, never
 * how fast this machine is. */
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "replay/server.h"
#include "traces/base/json.h"
#include "traces/base/mem.h"

/* --- a server on a thread ----------------------------------------------------------------- */

struct fixture {
    struct profile profile;
    struct generator_options options;
    char *truth_text;
    size_t truth_n;
    uv_loop_t loop;
    uv_async_t stop;
    struct server *server;
    struct server_counts counts;
    pthread_t thread;
};

static void on_stop(uv_async_t *stop)
{
    struct fixture *f = stop->data;
    server_close(f->server);
    uv_close((uv_handle_t *)stop, NULL);
}

static void *serve(void *ctx)
{
    uv_run(&((struct fixture *)ctx)->loop, UV_RUN_DEFAULT);
    return NULL;
}

static struct profile quick_profile(void)
{
    return (struct profile){.name = "quick",
                            .model = "m",
                            .dialect = &dialect_openai_chat,
                            .prefill_tps = 1e5,
                            .decode_tps = 2000,
                            .batching = BATCHING_CONTINUOUS,
                            .max_batch = 16,
                            .role_event = ROLE_WITH_FIRST};
}

static void start(struct fixture *f, struct profile p, uint64_t seed)
{
    struct err e;
    *f = (struct fixture){.profile = p};
    f->options = (struct generator_options){&f->profile, 1, seed,
                                            open_memstream(&f->truth_text, &f->truth_n)};
    assert_non_null(f->options.truth);
    uv_loop_init(&f->loop);
    f->server = server_open(&f->loop, "127.0.0.1:0", &f->options, &e);
    if (f->server == NULL)
        fail_msg("%s", e.msg);
    uv_async_init(&f->loop, &f->stop, on_stop);
    f->stop.data = f;
    assert_int_equal(pthread_create(&f->thread, NULL, serve, f), 0);
}

/* Ends it; truth_text is whole then, and the caller's. */
static void stop(struct fixture *f)
{
    uv_async_send(&f->stop);
    pthread_join(f->thread, NULL);
    f->counts = server_counts(f->server);
    server_free(f->server);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    fclose(f->options.truth);
}

struct told {
    int64_t request, index, made_ns, t_ns;
};

/* The token lines of the truth. */
static size_t tokens_told(const char *text, struct told *out, size_t room)
{
    size_t n = 0;
    for (const char *line = text; *line != '\0'; line = strchr(line, '\n') + 1) {
        struct err e;
        struct json *v = json_parse(line, (size_t)(strchr(line, '\n') - line), &e);
        assert_non_null(v);
        struct told t;
        if (json_int(v, "index", &t.index)) {
            assert_true(n < room && json_int(v, "request", &t.request));
            assert_true(json_ns(v, "made_ns", &t.made_ns) && json_ns(v, "t_ns", &t.t_ns));
            out[n++] = t;
        } else {
            assert_non_null(json_string(v, "id"));
        }
        json_free(v);
    }
    return n;
}

/* --- a blocking client ------------------------------------------------------------------------ */

static int dial(const struct fixture *f)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(server_port(f->server))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static void send_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);
        assert_true(sent > 0);
        p += sent;
        n -= (size_t)sent;
    }
}

static void send_chat(int fd, const char *body)
{
    char text[4096];
    int n =
        snprintf(text, sizeof text,
                 "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n%s",
                 strlen(body), body);
    send_all(fd, text, (size_t)n);
}

/* Everything up to the end mark, or to the end of the connection if that is NULL. One byte at a
 * time: nothing of a later response is taken. The caller's. */
static char *receive(int fd, const char *until)
{
    struct buf in;
    char c;
    buf_init(&in, 64 << 20);
    while (until == NULL || in.n < strlen(until) ||
           memcmp(in.p + in.n - strlen(until), until, strlen(until)) != 0) {
        if (recv(fd, &c, 1, 0) != 1)
            break;
        assert_int_equal(buf_add(&in, &c, 1), TA_OK);
    }
    buf_text(&in);
    return (char *)in.p;
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *at = strstr(text, what); at != NULL; at = strstr(at + 1, what))
        n++;
    return n;
}

static void assert_has(const char *text, const char *what)
{
    if (strstr(text, what) == NULL)
        fail_msg("no \"%s\" in:\n%s", what, text);
}

/* The events of a chunked stream as letters (R role, T text, F finish, U usage, D done), and their
 * texts joined. Holds that every chunk is exactly one event. */
struct story {
    char letters[512];
    struct buf text;
};

static int add_delta(void *ctx, const struct delta *d)
{
    struct story *s = ctx;
    size_t n = strlen(s->letters);
    assert_true(n + 1 < sizeof s->letters);
    s->letters[n] = d->kind == DELTA_ROLE     ? 'R'
                    : d->kind == DELTA_TEXT   ? 'T'
                    : d->kind == DELTA_FINISH ? 'F'
                    : d->kind == DELTA_USAGE  ? 'U'
                    : d->kind == DELTA_DONE   ? 'D'
                                              : '?';
    s->letters[n + 1] = '\0';
    if (d->kind == DELTA_TEXT)
        assert_int_equal(buf_add(&s->text, d->text.p, d->text.n), TA_OK);
    return TA_OK;
}

static struct story read_story(const char *response)
{
    struct story s = {.letters = ""};
    struct buf scratch;
    buf_init(&s.text, 1 << 20);
    buf_init(&scratch, 1 << 20);
    const char *p = strstr(response, "\r\n\r\n");
    assert_non_null(p);
    for (p += 4;;) {
        char *end;
        unsigned long n = strtoul(p, &end, 16);
        assert_memory_equal(end, "\r\n", 2);
        p = end + 2;
        if (n == 0)
            break;
        assert_memory_equal(p + n, "\r\n", 2);
        assert_memory_equal(p + n - 2, "\n\n", 2);
        if (*p == ':') {
            strncat(s.letters, ":", sizeof s.letters - strlen(s.letters) - 1);
        } else {
            assert_memory_equal(p, "data: ", 6);
            struct event ev = {.type = slice_of("message"), .data = {p + 6, n - 8}};
            dialect_openai_chat.event(&ev, &scratch, (struct delta_sink){&s, add_delta});
        }
        p += n + 2;
    }
    assert_string_equal(p, "\r\n"); /* no trailer, and nothing behind */
    buf_done(&scratch);
    return s;
}

enum { TWO_CLOCKS_NS = 300000 }; /* real times come from monotonic ones by a pair of readings */

#define ASK(more) "{\"messages\":[{\"role\":\"user\",\"content\":\"tell me a story\"}]" more "}"
#define END "\r\n0\r\n\r\n"

static struct story ask_stream(int fd, const char *body)
{
    send_chat(fd, body);
    char *response = receive(fd, END);
    assert_has(response, "HTTP/1.1 200 OK\r\n");
    assert_has(response, "Content-Type: text/event-stream");
    assert_has(response,
               "Server: tokaudit-serve/" TOKAUDIT_VERSION " (simulated; profile=quick)\r\n");
    struct story s = read_story(response);
    free(response);
    return s;
}

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
    p.heartbeat_ns = 5000000;
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

/* One answer with a Content-Length, or to the end of the connection where it has none. */
static char *receive_answer(int fd)
{
    char *head = receive(fd, "\r\n\r\n");
    const char *length = strstr(head, "Content-Length: ");
    size_t n = length == NULL ? SIZE_MAX : strtoul(length + 16, NULL, 10);
    struct buf all;
    char c;
    buf_init(&all, 1 << 20);
    buf_puts(&all, head);
    free(head);
    while (n-- > 0 && recv(fd, &c, 1, 0) == 1)
        assert_int_equal(buf_add(&all, &c, 1), TA_OK);
    buf_text(&all);
    return (char *)all.p;
}

static void expect_answer(int fd, const char *status, const char *said)
{
    char *answer = receive_answer(fd);
    assert_has(answer, status);
    assert_has(answer, said);
    assert_has(answer, "(simulated; profile=quick)\r\n");
    free(answer);
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
    p.heartbeat_ns = 2000000;
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
