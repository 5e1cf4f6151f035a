/* How simulated servers differ on the wire: every manner that a profile can have, over real
 * sockets. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/served.h"

#define STREAM ",\"stream\":true,\"max_tokens\":4"
#define ASKED ",\"stream_options\":{\"include_usage\":true}"

static void expect_story(const struct profile *p, const char *body, const char *letters,
                         size_t words)
{
    struct fixture f;
    start(&f, *p, 0);
    int fd = dial(&f);
    struct story s = ask_stream(fd, body);
    if (strcmp(s.letters, letters) != 0)
        fail_msg("found %s, expected %s", s.letters, letters);
    assert_int_equal(count(buf_text(&s.text), " "), words - 1);
    close(fd);
    stop(&f);
    struct told t[64];
    assert_int_equal(tokens_told(f.truth_text, t, 64), words);
    buf_done(&s.text);
    free(f.truth_text);
}

static void test_usage(void **state)
{
    (void)state;
    static const struct {
        int usage;
        bool role_in_every;
        const char *unasked, *asked;
    } cases[] = {
        {USAGE_ASKED, false, "RTTTTFD", "RTTTTFUD"},
        {USAGE_ALWAYS, false, "RTTTTFUD", "RTTTTFUD"},
        {USAGE_WITH_FINISH, false, "RTTTTFUD", "RTTTTFUD"}, /* F and U are one event */
        {USAGE_WITH_FINISH_AND_ASKED, false, "RTTTTFUD", "RTTTTFUUD"},
        {USAGE_IN_EVERY, false, "RTUTUTUTUFUD", "RTUTUTUTUFUD"},
        {USAGE_NEVER, false, "RTTTTFD", "RTTTTFD"},
        {USAGE_NEVER, true, "RTTTTFD", "RTTTTFD"}, /* a role beside text is no event */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct profile p = quick_profile();
        p.usage = cases[i].usage;
        p.role_in_every = cases[i].role_in_every;
        expect_story(&p, ASK(STREAM), cases[i].unasked, 4);
        expect_story(&p, ASK(STREAM ASKED), cases[i].asked, 4);
    }
}

/* The running counts are those of the words so far. */
static void test_running_usage(void **state)
{
    (void)state;
    struct profile p = quick_profile();
    struct fixture f;
    p.usage = USAGE_IN_EVERY;
    p.tokens_per_event = 3;
    start(&f, p, 0);
    int fd = dial(&f);
    send_chat(fd, ASK(STREAM));
    char *response = receive(fd, END);
    const char *three = strstr(response, "\"completion_tokens\":3,");
    assert_non_null(three);
    assert_int_equal(count(three, "\"completion_tokens\":4,"), 2); /* with the text, and alone */
    assert_int_equal(count(response, "\"completion_tokens\""), 3);
    free(response);
    close(fd);
    stop(&f);
    free(f.truth_text);
}

/* What some servers say besides, in every event or beside the usage. */
static void test_besides(void **state)
{
    (void)state;
    struct profile p = quick_profile();
    p.usage_null = true;
    expect_story(&p, ASK(STREAM ASKED), "RTTTTFUD", 4);
    p.usage_repeats = true;
    expect_story(&p, ASK(STREAM ASKED), "RTTTTFFUD", 4);
    p.timings = p.timings_in_every = true;
    expect_story(&p, ASK(STREAM ASKED), "RTCTCTCTCFFUCD", 4);

    struct fixture f;
    p.decode_tps = 1000;
    start(&f, p, 0);
    int fd = dial(&f);
    send_chat(fd, ASK(STREAM ASKED));
    char *response = receive(fd, END);
    assert_int_equal(count(response, "\"usage\":null"), 6); /* role, four pieces, finish */
    assert_int_equal(count(response, "\"finish_reason\":\"length\""), 2);
    assert_int_equal(count(response, "\"timings\":{\"predicted_per_second\":1000}"), 4);
    free(response);
    close(fd);
    stop(&f);
    free(f.truth_text);
}

static void test_pieces(void **state)
{
    (void)state;
    struct profile p = quick_profile();
    p.role_event = ROLE_IN_EVERY; /* the finish names the speaker too, and says nothing */
    expect_story(&p, ASK(STREAM), "TTTTRFD", 4);
    p.thinking_tokens = 3;
    expect_story(&p, ASK(STREAM), "HHHTRFD", 4);
    p.tokens_per_event = 2; /* an event is of one kind */
    expect_story(&p, ASK(STREAM), "HHTRFD", 4);
    p.thinking_tokens = 9;
    expect_story(&p, ASK(STREAM), "HHRFD", 4);
    p.thinking_tokens = 1;
    p.tokens_per_event = 0;
    p.delivery = DELIVERY_ONE_PIECE;
    expect_story(&p, ASK(STREAM), "HTRFD", 4);
    p.delivery = DELIVERY_PAIRS;
    expect_story(&p, ASK(STREAM), "HTTTRFD", 4);
    p.delivery = DELIVERY_COLLECT;
    expect_story(&p, ASK(STREAM), "HTTTRFD", 4);
    p.timings = true;
    p.usage = USAGE_ALWAYS;
    expect_story(&p, ASK(STREAM), "HTTTRFUCD", 4);
}

static void test_keepalives(void **state)
{
    (void)state;
    struct profile p = quick_profile();
    p.role_event = ROLE_AT_ONCE;
    p.keepalive = ": k";
    expect_story(&p, ASK(STREAM), "RTTTTFD", 4);
    p.keepalive_start = KEEPALIVE_FIRST;
    expect_story(&p, ASK(STREAM), ":RTTTTFD", 4);
    p.keepalive_start = KEEPALIVE_SECOND;
    expect_story(&p, ASK(STREAM), "R:TTTTFD", 4);
    p.keepalive_start = KEEPALIVE_FIRST;
    p.keepalive =
        "data: {\"id\":\"chatcmpl-keepalive\",\"created\":0,\"model\":\"keepalive\","
        "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"finish_reason\":null}]}";
    expect_story(&p, ASK(STREAM), "PRTTTTFD", 4);
}

/* How much of a prompt is read can be said while it is. */
static void test_progress(void **state)
{
    (void)state;
    struct profile p = quick_profile();
    struct fixture f;
    p.prefill_tps = 0.5; /* 4 words: 8 s */
    p.role_event = ROLE_IN_EVERY;
    p.head = HEAD_ADMITTED;
    p.keepalive = ": keepalive {done}/{total}";
    p.keepalive_ns = 4000000;
    start(&f, p, 0);
    int fd = dial(&f);
    send_chat(fd, ASK(STREAM));
    char *begun = receive(fd, "/4\n\n\r\n"); /* before any token */
    assert_null(strstr(begun, "data:"));
    assert_has(begun, "\r\n: keepalive ");
    long done = strtol(strstr(begun, ": keepalive ") + 12, NULL, 10);
    assert_true(done >= 0 && done <= 4);
    free(begun);
    close(fd);
    stop(&f);
    free(f.truth_text);
}

/* A stream that has begun to be made when this returns: it came in one piece with a request that
 * has been answered. */
static void begin_stream(int fd)
{
    const char *body = ASK(STREAM);
    char text[1024];
    int n = snprintf(text, sizeof text,
                     "GET /health HTTP/1.1\r\n\r\nPOST /v1/chat/completions HTTP/1.1\r\n"
                     "Content-Length: %zu\r\n\r\n%s",
                     strlen(body), body);
    send_all(fd, text, (size_t)n);
    expect_answer(fd, "200 OK", "\"simulated\":true");
}

/* Nothing is looked at while a reply is made, and that leaves in one write. */
static void test_one_write(void **state)
{
    (void)state;
    struct profile p = quick_profile();
    struct fixture f;
    char early[65536];
    p.decode_tps = 100;
    p.delivery = DELIVERY_ONE_WRITE;
    p.blocks = true;
    start(&f, p, 0);
    int a = dial(&f), b = dial(&f), c = dial(&f);
    begin_stream(a);
    send_all(b, "GET /health HTTP/1.1\r\n\r\n", 24);
    send_chat(c, ASK(STREAM));
    /* b has its answer, so a has all of its own */
    expect_answer(b, "200 OK", "\"simulated\":true");
    ssize_t n = recv(a, early, sizeof early - 1, MSG_DONTWAIT);
    assert_true(n > 0);
    early[n] = '\0';
    assert_string_equal(early + n - strlen(END), END);
    struct story s = read_story(early);
    assert_string_equal(s.letters, "RTTTTFD");
    buf_done(&s.text);
    free(receive(c, END));
    begin_stream(a); /* one that goes away while it is held is forgotten */
    send_chat(c, ASK(STREAM));
    close(c);
    free(receive(a, END));
    close(a);
    close(b);
    stop(&f);
    assert_int_equal(f.counts.replies, 3);
    free(f.truth_text);
}

static void test_framing(void **state)
{
    (void)state;
    static const struct {
        int framing;
        const char *line;
    } cases[] = {{FRAMING_CLOSE, "HTTP/1.1 200 OK\r\n"}, {FRAMING_HTTP_1_0, "HTTP/1.0 200 OK\r\n"}};
    for (size_t i = 0; i < 2; i++) {
        struct profile p = quick_profile();
        struct fixture f;
        p.framing = cases[i].framing;
        p.fields = "X-Accel-Buffering: no\r\nX-Odd: 1\r\n";
        start(&f, p, 0);
        int fd = dial(&f);
        send_chat(fd, ASK(STREAM));
        char *answer = receive(fd, NULL); /* to the end of the connection */
        assert_memory_equal(answer, cases[i].line, strlen(cases[i].line));
        assert_has(answer, "Connection: close\r\n");
        assert_has(answer, "X-Accel-Buffering: no\r\nX-Odd: 1\r\n");
        assert_null(strstr(answer, "Cache-Control"));
        assert_null(strstr(answer, "chunked"));
        assert_null(strstr(answer, "Content-Length"));
        assert_string_equal(answer + strlen(answer) - 14, "data: [DONE]\n\n");
        free(answer);
        close(fd);
        fd = dial(&f); /* a document has its length all the same */
        send_chat(fd, ASK(",\"max_tokens\":1"));
        answer = receive_answer(fd);
        assert_has(answer, "Content-Length: ");
        assert_int_equal(count(answer, "Connection: close"), i);
        free(answer);
        close(fd);
        stop(&f);
        free(f.truth_text);
    }
}

/* A stream that was asked for and is none; a document that begins before it is there. */
static void test_documents(void **state)
{
    (void)state;
    struct profile p = quick_profile();
    struct fixture f;
    p.delivery = DELIVERY_DOCUMENT;
    p.says_stop = true;
    start(&f, p, 0);
    int fd = dial(&f);
    send_chat(fd, ASK(STREAM));
    char *answer = receive_answer(fd);
    assert_has(answer, "Content-Type: application/json\r\n");
    assert_has(answer, "\"finish_reason\":\"stop\"");
    assert_has(answer, "\"object\":\"chat.completion\"");
    free(answer);
    close(fd);
    stop(&f);
    free(f.truth_text);

    p.blank_document = true;
    p.keepalive = ": k"; /* of streams; here a blank */
    p.keepalive_ns = 3000000;
    p.decode_tps = 4;
    start(&f, p, 0);
    fd = dial(&f);
    send_chat(fd, ASK(",\"max_tokens\":2"));
    char *begun = receive(fd, "\r\n\r\n1\r\n \r\n1\r\n \r\n");
    assert_has(begun, "Transfer-Encoding: chunked\r\n");
    char *rest = receive(fd, END);
    assert_has(rest, "\r\n{\"id\":");
    assert_null(strstr(rest, ": k"));
    free(begun);
    free(rest);
    close(fd);
    stop(&f);
    free(f.truth_text);
}

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        int shape;
        const char *type, *said;
    } cases[] = {
        {ERROR_DIALECT, NULL,
         "{\"error\":{\"message\":\"5 words, 4 fit; {x\",\"type\":"
         "\"invalid_request_error\",\"param\":null,\"code\":400}}"},
        {ERROR_DIALECT, "exceed_context_size_error", "\"type\":\"exceed_context_size_error\""},
        {ERROR_NO_CODE, NULL, "\"type\":\"invalid_request_error\",\"param\":null,\"code\":null}}"},
        {ERROR_STRING, NULL, "\r\n\r\n{\"error\":\"5 words, 4 fit; {x\"}"},
        {ERROR_DETAIL, NULL, "\r\n\r\n{\"detail\":\"5 words, 4 fit; {x\"}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct profile p = quick_profile();
        struct fixture f;
        p.context_limit = 4;
        p.context_error = "{prompt} words, {limit} fit; {x";
        p.context_error_type = cases[i].type;
        p.error_shape = cases[i].shape;
        p.dialects[1] = &dialect_anthropic_messages;
        start(&f, p, 0);
        int fd = dial(&f);
        send_chat(fd, "{\"messages\":[{\"content\":\"one two three four five\"}]}");
        expect_answer(fd, "400 Bad", cases[i].said);
        char ask[512];
        const char *body =
            "{\"max_tokens\":1,\"messages\":[{\"content\":\"one two three four five\"}]}";
        snprintf(ask, sizeof ask, "POST /v1/messages HTTP/1.1\r\nContent-Length: %zu\r\n\r\n%s",
                 strlen(body), body);
        send_all(fd, ask, strlen(ask));
        expect_answer(fd, "400 Bad", "\"message\":\"5 words, 4 fit; {x\"}}");
        close(fd);
        stop(&f);
        free(f.truth_text);
    }
}

/* Each dialect has its path, its list of models, and no other. */
static void test_paths(void **state)
{
    (void)state;
    static const struct {
        const char *request, *status, *said;
    } cases[] = {
        {"GET /api/tags HTTP/1.1\r\n\r\n", "200 OK", "{\"models\":[{\"name\":\"m\""},
        {"GET /v1/models HTTP/1.1\r\n\r\n", "404",
         "here: POST /api/chat, POST /api/generate, GET "
         "/api/tags, GET /health"},
        {"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", "404",
         "{\"error\":\""},
        {"POST /api/generate HTTP/1.1\r\nContent-Length: 15\r\n\r\n{\"prompt\":\"ab\"}", "200 OK",
         "\"response\":"},
        {"POST /api/tags HTTP/1.1\r\nContent-Length: 0\r\n\r\n", "405", "Allow: GET"},
    };
    struct profile p = quick_profile();
    struct fixture f;
    p.dialects[0] = &dialect_ollama_chat;
    p.dialects[1] = &dialect_ollama_generate;
    start(&f, p, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int fd = dial(&f);
        send_all(fd, cases[i].request, strlen(cases[i].request));
        char *answer = receive(fd, cases[i].said);
        assert_has(answer, cases[i].status);
        assert_has(answer, cases[i].said);
        free(answer);
        close(fd);
    }
    stop(&f);
    free(f.truth_text);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usage),      cmocka_unit_test(test_running_usage),
        cmocka_unit_test(test_besides),    cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_keepalives), cmocka_unit_test(test_progress),
        cmocka_unit_test(test_one_write),  cmocka_unit_test(test_framing),
        cmocka_unit_test(test_documents),  cmocka_unit_test(test_errors),
        cmocka_unit_test(test_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
