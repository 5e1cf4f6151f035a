/* The recorded server over real sockets: every byte, how connections go on, what is refused, and
 * that nothing leaves before its time. How late this machine is, is not held. */
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "replay/playback.h"
#include "tests/support/made_recording.h"
#include "traces/base/clock.h"
#include "traces/base/json.h"

/* --- a server on a thread -----------------------------------------------------------------------
 */

struct fixture {
    struct recording r;
    struct playback_options options;
    char *truth_text;
    size_t truth_n;
    uv_loop_t loop;
    uv_async_t stop;
    struct playback *playback;
    struct playback_counts counts;
    pthread_t thread;
};

static void on_stop(uv_async_t *stop)
{
    struct fixture *f = stop->data;
    playback_close(f->playback);
    uv_close((uv_handle_t *)stop, NULL);
}

static void *serve(void *ctx)
{
    uv_run(&((struct fixture *)ctx)->loop, UV_RUN_DEFAULT);
    return NULL;
}

/* f->r has been filled. */
static void start(struct fixture *f, double speed)
{
    struct err e;
    f->options = (struct playback_options){&f->r, ANSWERS_BODY, speed,
                                           open_memstream(&f->truth_text, &f->truth_n)};
    uv_loop_init(&f->loop);
    f->playback = playback_open(&f->loop, "127.0.0.1:0", &f->options, &e);
    if (f->playback == NULL)
        fail_msg("%s", e.msg);
    uv_async_init(&f->loop, &f->stop, on_stop);
    f->stop.data = f;
    assert_int_equal(pthread_create(&f->thread, NULL, serve, f), 0);
}

static void stop(struct fixture *f)
{
    uv_async_send(&f->stop);
    pthread_join(f->thread, NULL);
    f->counts = playback_counts(f->playback);
    playback_free(f->playback);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    fclose(f->options.truth);
    VEC_FREE(&f->r.exchanges);
}

static int dial(const struct fixture *f)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(playback_port(f->playback))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    size_t n = strlen(text);
    assert_int_equal(send(fd, text, n, MSG_NOSIGNAL), (ssize_t)n);
}

static void expect(int fd, const char *text)
{
    char in[4096];
    size_t n = strlen(text);
    assert_true(n < sizeof in);
    assert_int_equal(recv(fd, in, n, MSG_WAITALL), (ssize_t)n);
    in[n] = '\0';
    assert_string_equal(in, text);
}

/* The server closes in order. */
static void expect_end(int fd)
{
    char c;
    assert_int_equal(recv(fd, &c, 1, 0), 0);
    close(fd);
}

static void expect_reset(int fd)
{
    char c;
    assert_int_equal(recv(fd, &c, 1, 0), -1);
    close(fd);
}

/* --- the truth ----------------------------------------------------------------------------------
 */

struct left {
    int64_t request, segment, due_ns, t_ns, asked_ns;
};

/* Its segment lines, each with the time of its request; frees the text. */
static size_t truth_of(struct fixture *f, struct left *out, size_t room)
{
    int64_t asked[64] = {0};
    size_t n = 0;
    for (char *line = f->truth_text; *line != '\0'; line = strchr(line, '\n') + 1) {
        struct json *v = json_parse(line, (size_t)(strchr(line, '\n') - line), NULL);
        struct left l;
        assert_true(json_int(v, "request", &l.request) && l.request < 64);
        assert_true(json_ns(v, "t_ns", &l.t_ns));
        if (json_int(v, "segment", &l.segment)) {
            assert_true(json_ns(v, "due_ns", &l.due_ns) && n < room);
            l.asked_ns = asked[l.request];
            out[n++] = l;
        } else {
            asked[l.request] = l.t_ns;
        }
        json_free(v);
    }
    free(f->truth_text);
    return n;
}

#define GET "GET /a HTTP/1.1\r\n\r\n"
#define OK_2 "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"

static const struct recording_segment once[] = {MADE_SEGMENT(0, OK_2 "ok")};
static const struct recording_segment twice[] = {MADE_SEGMENT(1, OK_2), MADE_SEGMENT(3, "ko")};

/* Segments leave one by one and not before they are due, at any speed; a pipelining client gets its
 * answers in order. */
static void test_time(void **state)
{
    (void)state;
    static const struct recording_segment slow[] = {
        MADE_SEGMENT(-5, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        MADE_SEGMENT(20, "1\r\na\r\n"), MADE_SEGMENT(20, "1\r\nb\r\n"),
        MADE_SEGMENT(40, "0\r\n\r\n")};
    static const int64_t due_ms[] = {0, 20, 20, 40};
    for (int speed = 1; speed <= 4; speed += 3) {
        struct fixture f = {0};
        struct left left[16];
        made_add(&f.r, "GET", "/a", "", slow, 4);
        made_add(&f.r, "GET", "/a", "", once, 1);
        start(&f, speed);
        int fd = dial(&f);
        say(fd, GET GET);
        expect(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n"
                   "0\r\n\r\n" OK_2 "ok");
        close(fd);
        stop(&f);
        assert_int_equal(f.counts.replies, 2);
        assert_int_equal(f.counts.segments, 5);
        assert_int_equal(truth_of(&f, left, 16), 5);
        for (int i = 0; i < 4; i++) {
            assert_int_equal(left[i].segment, i);
            /* Both clocks were read for each line: their distance is known to some microseconds. */
            int64_t off = left[i].due_ns - left[i].asked_ns - due_ms[i] * NS_PER_MS / speed;
            assert_true(llabs(off) < NS_PER_MS);
            assert_true(left[i].t_ns >= left[i].due_ns);
        }
    }
}

static void test_as_fast_as_possible(void **state)
{
    (void)state;
    static const struct recording_segment far[] = {MADE_SEGMENT(0, OK_2),
                                                   MADE_SEGMENT(1000000000, "ok")};
    struct fixture f = {0};
    struct left left[16];
    made_add(&f.r, "GET", "/a", "", far, 2)->after = RECORDING_CLOSED;
    start(&f, 0);
    int fd = dial(&f);
    say(fd, GET);
    expect(fd, OK_2 "ok");
    say(fd, GET); /* nothing had said that it would be closed */
    expect(fd, OK_2 "ok");
    close(fd);
    stop(&f);
    assert_int_equal(truth_of(&f, left, 16), 4);
    assert_int_equal(f.counts.late, 0);
    assert_int_equal(f.counts.again, 1);
}

/* Closed or reset by the server, after an answer or in the middle of one, or kept. */
static void test_ends(void **state)
{
    (void)state;
    static const struct recording_segment part[] = {MADE_SEGMENT(0, OK_2 "o")};
    static const struct recording_segment bare[] = {MADE_SEGMENT(0, "HTTP/1.0 200 OK\r\n\r\nok")};
    static const struct {
        const struct recording_segment *segments;
        const char *bytes;
        size_t n;
        enum recording_flaw flaw;
        enum recording_after after;
        int after_ms;
        bool last, reset;
    } cases[] = {
        {once, OK_2 "ok", 1, RECORDING_WHOLE, RECORDING_CLOSED, 5, false, false},
        {once, OK_2 "ok", 1, RECORDING_WHOLE, RECORDING_CLOSED, 5, true, false},
        {once, OK_2 "ok", 1, RECORDING_WHOLE, RECORDING_CLIENT_CLOSED, 5, true, false},
        {once, OK_2 "ok", 1, RECORDING_WHOLE, RECORDING_RESET, 5, false, true},
        {bare, "HTTP/1.0 200 OK\r\n\r\nok", 1, RECORDING_WHOLE, RECORDING_CLOSED, 1, true, false},
        {part, OK_2 "o", 1, RECORDING_CUT, RECORDING_RESET, 20, false, true},
        {part, OK_2 "o", 1, RECORDING_CUT, RECORDING_CLOSED, 3, false, false},
        {part, OK_2 "o", 1, RECORDING_CUT, RECORDING_KEPT, 0, false, false},
        {part, OK_2 "o", 1, RECORDING_CUT, RECORDING_CLIENT_CLOSED, 0, false, false},
        {NULL, "", 0, RECORDING_NONE, RECORDING_CLOSED, 3, false, false},
        {NULL, "", 0, RECORDING_NONE, RECORDING_RESET, 3, false, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f = {0};
        struct recording_exchange *x =
            made_add(&f.r, "GET", "/a", "", cases[i].segments, cases[i].n);
        x->response_flaw = cases[i].flaw;
        x->after = cases[i].after;
        x->after_ns = MADE_T0 + (int64_t)cases[i].after_ms * NS_PER_MS;
        x->close_said = cases[i].last;
        start(&f, 1);
        int fd = dial(&f);
        int64_t begun = clock_mono_ns();
        say(fd, GET);
        expect(fd, cases[i].bytes);
        if (cases[i].reset)
            expect_reset(fd);
        else
            expect_end(fd);
        assert_true(clock_mono_ns() - begun >= cases[i].after_ms * NS_PER_MS ||
                    cases[i].after == RECORDING_CLIENT_CLOSED);
        stop(&f);
        assert_int_equal(f.counts.replies, 1);
        assert_int_equal(f.counts.cut, cases[i].flaw != RECORDING_WHOLE);
        free(f.truth_text);
    }
}

/* An idle connection that the server closed after a while goes on if another request comes first;
 * what was to be done then is forgotten, before its time if it is much. */
static void test_idle_close(void **state)
{
    (void)state;
    enum { REQUESTS = 2500 };
    struct fixture f = {0};
    struct recording_exchange *x = made_add(&f.r, "GET", "/a", "", once, 1);
    x->after = RECORDING_CLOSED;
    x->after_ns = MADE_T0 + INT64_C(3600) * NS_PER_S;
    made_add(&f.r, "GET", "/b", "", once, 1);
    start(&f, 1);
    int fd = dial(&f);
    for (int i = 0; i < REQUESTS; i++) {
        say(fd, GET);
        expect(fd, OK_2 "ok");
    }
    say(fd, "GET /b HTTP/1.0\r\n\r\n"); /* who wants no further request gets none */
    expect(fd, OK_2 "ok");
    expect_end(fd);
    stop(&f);
    assert_int_equal(f.counts.replies, REQUESTS + 1);
    assert_int_equal(f.counts.unanswered, 0);
    free(f.truth_text);
}

/* Reads a head and the document behind it. */
static void expect_refusal(int fd, const char *status, const char *said)
{
    char in[8192];
    size_t n = 0, length = 0;
    while (n < 4 || memcmp(in + n - 4, "\r\n\r\n", 4) != 0) {
        assert_true(n + 1 < sizeof in && recv(fd, in + n, 1, 0) == 1);
        n++;
    }
    in[n] = '\0';
    assert_memory_equal(in, status, strlen(status));
    assert_non_null(strstr(in, "Server: tokaudit-serve/" TOKAUDIT_VERSION " (recorded)\r\n"));
    length = strtoul(strstr(in, "Content-Length: ") + 16, NULL, 10);
    assert_true(length < sizeof in);
    assert_int_equal(recv(fd, in, length, MSG_WAITALL), (ssize_t)length);
    in[length] = '\0';
    struct json *v = json_parse(in, length, NULL);
    const char *message = json_string(json_get(v, "error"), "message");
    assert_non_null(message);
    if (strstr(message, said) == NULL)
        fail_msg("no '%s' in: %s", said, message);
    json_free(v);
}

static void test_refusals(void **state)
{
    (void)state;
    struct fixture f = {0};
    made_add(&f.r, "GET", "/a", "", once, 1);
    made_add(&f.r, "GET", "/hole", "", twice, 2)->response_flaw = RECORDING_GAP;
    made_add(&f.r, "GET", "/none", "", NULL, 0)->response_flaw = RECORDING_NONE;
    start(&f, 1);
    int fd = dial(&f);
    say(fd, "GET /b\" HTTP/1.1\r\n\r\n");
    expect_refusal(fd, "HTTP/1.1 404 ", "GET /b\": the path was never asked");
    say(fd, "GET /hole HTTP/1.1\r\n\r\n");
    expect_refusal(fd, "HTTP/1.1 502 ", "bytes of it were not captured");
    say(fd, "GET /none HTTP/1.1\r\n\r\n");
    expect_refusal(fd, "HTTP/1.1 502 ", "none was seen");
    say(fd, GET);
    expect(fd, OK_2 "ok");
    say(fd, "\x16\x03 nothing\r\n\r\n");
    expect_refusal(fd, "HTTP/1.1 400 ", "no HTTP/1.1 request");
    expect_end(fd);
    stop(&f);
    assert_int_equal(f.counts.requests, 5);
    assert_int_equal(f.counts.unmatched, 2);
    assert_int_equal(f.counts.unusable, 2);
    assert_int_equal(f.counts.replies, 1);
    free(f.truth_text);
}

/* Clients that go away, before their answer is due and in the middle of it, cost the others
 * nothing; what the end of the server cuts is counted. */
static void test_gone(void **state)
{
    (void)state;
    static const struct recording_segment late[] = {MADE_SEGMENT(0, OK_2),
                                                    MADE_SEGMENT(3600000, "ok")};
    static const struct recording_segment later[] = {MADE_SEGMENT(3600000, OK_2 "ok")};
    struct fixture f = {0};
    made_add(&f.r, "GET", "/late", "", late, 2);
    made_add(&f.r, "GET", "/later", "", later, 1);
    made_add(&f.r, "GET", "/a", "", once, 1);
    start(&f, 1);
    int a = dial(&f), b = dial(&f), c = dial(&f), d = dial(&f);
    say(a, "GET /late HTTP/1.1\r\n\r\n");
    expect(a, OK_2);
    say(b, "GET /later HTTP/1.1\r\n\r\n");
    close(a);
    close(b);
    say(c, GET);
    expect(c, OK_2 "ok");
    say(d, "GET /late HTTP/1.1\r\n\r\n");
    expect(d, OK_2);
    stop(&f);
    expect_end(d);
    close(c);
    assert_int_equal(f.counts.abandoned, 2);
    assert_int_equal(f.counts.unanswered, 1);
    assert_int_equal(f.counts.replies, 1);
    free(f.truth_text);
}

/* More than a socket takes, to a client that reads late: every byte comes, in order. */
static void test_slow_reader(void **state)
{
    (void)state;
    enum { SEGMENTS = 2000, BYTES = 65000 };
    struct fixture f = {0};
    struct recording_segment *many = mem_array(SEGMENTS, sizeof *many);
    char *text = mem_alloc(BYTES + 256);
    for (int i = 0; i < BYTES + 256; i++)
        text[i] = (char)i;
    for (int i = 0; i < SEGMENTS; i++)
        many[i] = (struct recording_segment){MADE_T0, {text + i % 256, BYTES}};
    made_add(&f.r, "GET", "/a", "", many, SEGMENTS);
    start(&f, 1);
    int fd = dial(&f);
    say(fd, GET);
    usleep(20000); /* its buffers fill */
    static char in[BYTES];
    for (int i = 0; i < SEGMENTS; i++) {
        assert_int_equal(recv(fd, in, BYTES, MSG_WAITALL), BYTES);
        assert_memory_equal(in, text + i % 256, BYTES);
    }
    close(fd);
    stop(&f);
    assert_int_equal(f.counts.replies, 1);
    assert_int_equal(f.counts.segments, SEGMENTS);
    free(f.truth_text);
    free(many);
    free(text);
}

/* Many at once, each its own. */
static void test_many_clients(void **state)
{
    (void)state;
    enum { CLIENTS = 100, ROUNDS = 3 };
    struct fixture f = {0};
    int fd[CLIENTS];
    made_add(&f.r, "GET", "/a", "", twice, 2);
    start(&f, 1);
    for (int i = 0; i < CLIENTS; i++)
        fd[i] = dial(&f);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < CLIENTS; i++)
            say(fd[i], GET);
        for (int i = 0; i < CLIENTS; i++)
            expect(fd[i], OK_2 "ko");
    }
    for (int i = 0; i < CLIENTS; i++)
        close(fd[i]);
    stop(&f);
    assert_int_equal(f.counts.replies, CLIENTS * ROUNDS);
    assert_int_equal(f.counts.again, CLIENTS * ROUNDS - 1);
    free(f.truth_text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time),        cmocka_unit_test(test_as_fast_as_possible),
        cmocka_unit_test(test_ends),        cmocka_unit_test(test_idle_close),
        cmocka_unit_test(test_refusals),    cmocka_unit_test(test_gone),
        cmocka_unit_test(test_slow_reader), cmocka_unit_test(test_many_clients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
