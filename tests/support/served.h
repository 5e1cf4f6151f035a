/* The simulated server on a thread, and a client of it that blocks. */
#ifndef TESTS_SUPPORT_SERVED_H
#define TESTS_SUPPORT_SERVED_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

static inline void on_stop(uv_async_t *stop)
{
    struct fixture *f = stop->data;
    server_close(f->server);
    uv_close((uv_handle_t *)stop, NULL);
}

static inline void *serve(void *ctx)
{
    uv_run(&((struct fixture *)ctx)->loop, UV_RUN_DEFAULT);
    return NULL;
}

static inline struct profile quick_profile(void)
{
    return (struct profile){.name = "quick",
                            .model = "m",
                            .dialects = {&dialect_openai_chat},
                            .prefill_tps = 1e5,
                            .decode_tps = 2000,
                            .batching = BATCHING_CONTINUOUS,
                            .max_batch = 16,
                            .role_event = ROLE_WITH_FIRST};
}

static inline void start(struct fixture *f, struct profile p, uint64_t seed)
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
static inline void stop(struct fixture *f)
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
static inline size_t tokens_told(const char *text, struct told *out, size_t room)
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

static inline int dial(const struct fixture *f)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(server_port(f->server))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static inline void send_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);
        assert_true(sent > 0);
        p += sent;
        n -= (size_t)sent;
    }
}

static inline void send_chat(int fd, const char *body)
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
static inline char *receive(int fd, const char *until)
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

static inline size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *at = strstr(text, what); at != NULL; at = strstr(at + 1, what))
        n++;
    return n;
}

static inline void assert_has(const char *text, const char *what)
{
    if (strstr(text, what) == NULL)
        fail_msg("no \"%s\" in:\n%s", what, text);
}

/* The events of a chunked stream as letters (R role, H thinking, T text, F finish, U usage, C
 * clock, D done, P ping, - empty, : a comment), and their texts joined. Holds that every chunk is
 * exactly one event. */
struct story {
    char letters[512];
    struct buf text;
};

static inline int add_delta(void *ctx, const struct delta *d)
{
    struct story *s = ctx;
    size_t n = strlen(s->letters);
    assert_true(n + 1 < sizeof s->letters);
    s->letters[n] = d->kind == DELTA_ROLE        ? 'R'
                    : d->kind == DELTA_REASONING ? 'H'
                    : d->kind == DELTA_TEXT      ? 'T'
                    : d->kind == DELTA_FINISH    ? 'F'
                    : d->kind == DELTA_USAGE     ? 'U'
                    : d->kind == DELTA_TIMINGS   ? 'C'
                    : d->kind == DELTA_DONE      ? 'D'
                    : d->kind == DELTA_PING      ? 'P'
                    : d->kind == DELTA_EMPTY     ? '-'
                                                 : '?';
    s->letters[n + 1] = '\0';
    if (d->kind == DELTA_TEXT || d->kind == DELTA_REASONING)
        assert_int_equal(buf_add(&s->text, d->text.p, d->text.n), TA_OK);
    return TA_OK;
}

static inline struct story read_story(const char *response)
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

static inline struct story ask_stream(int fd, const char *body)
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

/* One answer with a Content-Length, or to the end of the connection where it has none. */
static inline char *receive_answer(int fd)
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

static inline void expect_answer(int fd, const char *status, const char *said)
{
    char *answer = receive_answer(fd);
    assert_has(answer, status);
    assert_has(answer, said);
    assert_has(answer, "(simulated; profile=quick)\r\n");
    free(answer);
}

#endif
