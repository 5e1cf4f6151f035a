/* The other side of the replay bench, and its bare peers.
 *
 *     http_bare serve                    answers every POST at once, on one thread; prints its port
 *     http_bare release N ROUNDS PORT    N prepared sockets; in each round a loop of N write calls
 *     http_bare rate RATE SECONDS PORT   one socket; a sleep to each due time, and a write call
 *
 * The server takes requests whose body has no empty line in it. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 256, SOCKETS_MOST = 4096, READ_BYTES = 64 << 10, PAUSE_NS = 50000000 };

static const char request[] = "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                              "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
static const char response[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                               "Content-Length: 2\r\n\r\n{}";
static const char head_end[] = "\r\n\r\n";

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "http_bare: %s: %s\n", what, strerror(errno));
    exit(4);
}

static void set_nodelay(int fd)
{
    int on = 1;
    must(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "TCP_NODELAY");
}

/* --- serve ---------------------------------------------------------------------------------- */

static uint8_t matched[SOCKETS_MOST]; /* of head_end, by descriptor */

static int open_listener(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    must(fd >= 0 && bind(fd, (struct sockaddr *)&at, n) == 0 && listen(fd, 1024) == 0, "listen");
    must(getsockname(fd, (struct sockaddr *)&at, &n) == 0, "getsockname");
    printf("%u\n", ntohs(at.sin_port));
    fflush(stdout);
    return fd;
}

static void watch(int poll, int fd)
{
    struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};
    must(epoll_ctl(poll, EPOLL_CTL_ADD, fd, &e) == 0, "epoll_ctl");
}

static void welcome(int poll, int listening)
{
    int fd = accept(listening, NULL, NULL);
    must(fd >= 0 && fd < SOCKETS_MOST, "accept");
    set_nodelay(fd);
    matched[fd] = 0;
    watch(poll, fd);
}

static void answer(int fd)
{
    static char in[READ_BYTES];
    ssize_t n = read(fd, in, sizeof in);
    if (n <= 0) {
        close(fd);
        return;
    }
    for (ssize_t i = 0; i < n; i++) {
        matched[fd] = in[i] == head_end[matched[fd]] ? matched[fd] + 1 : in[i] == '\r';
        if (matched[fd] < sizeof head_end - 1)
            continue;
        matched[fd] = 0;
        must(write(fd, response, sizeof response - 1) == sizeof response - 1, "write");
    }
}

static void serve(void)
{
    int listening = open_listener(), poll = epoll_create1(0);
    must(poll >= 0, "epoll_create1");
    watch(poll, listening);
    for (;;) {
        struct epoll_event ready[EVENTS];
        int n = epoll_wait(poll, ready, EVENTS, -1);
        for (int i = 0; i < n; i++) {
            if (ready[i].data.fd == listening)
                welcome(poll, listening);
            else
                answer(ready[i].data.fd);
        }
    }
}

/* --- release -------------------------------------------------------------------------------- */

static int connect_to(unsigned port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    must(fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0, "connect");
    set_nodelay(fd);
    return fd;
}

static void release(unsigned n, unsigned rounds, unsigned port)
{
    static int fds[SOCKETS_MOST];
    char in[sizeof response];
    for (unsigned i = 0; i < n; i++)
        fds[i] = connect_to(port);
    for (unsigned round = 0; round < rounds; round++) {
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
        for (unsigned i = 0; i < n; i++)
            must(write(fds[i], request, sizeof request - 1) == sizeof request - 1, "write");
        for (unsigned i = 0; i < n; i++)
            must(recv(fds[i], in, sizeof response - 1, MSG_WAITALL) == sizeof response - 1, "recv");
    }
}

/* --- rate ----------------------------------------------------------------------------------- */

static void send_at_rate(unsigned rate, unsigned seconds, unsigned port)
{
    enum { NS_PER_S = 1000000000 };
    char in[READ_BYTES];
    int fd = connect_to(port);
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (uint64_t i = 0; i < (uint64_t)rate * seconds; i++) {
        uint64_t off_ns = (uint64_t)start.tv_nsec + i * NS_PER_S / rate;
        struct timespec due = {start.tv_sec + 1 + (time_t)(off_ns / NS_PER_S),
                               (long)(off_ns % NS_PER_S)};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
            continue;
        must(write(fd, request, sizeof request - 1) == sizeof request - 1, "write");
        (void)recv(fd, in, sizeof in, MSG_DONTWAIT); /* what is there by now */
    }
}

int main(int argc, char **argv)
{
    struct rlimit files = {SOCKETS_MOST, SOCKETS_MOST};
    (void)setrlimit(RLIMIT_NOFILE, &files);
    if (argc == 2 && strcmp(argv[1], "serve") == 0)
        serve();
    unsigned n[3] = {0};
    for (int i = 2; i < argc && i < 5; i++)
        n[i - 2] = (unsigned)strtoul(argv[i], NULL, 10);
    if (argc == 5 && strcmp(argv[1], "release") == 0 && n[0] < SOCKETS_MOST - 16) {
        release(n[0], n[1], n[2]);
    } else if (argc == 5 && strcmp(argv[1], "rate") == 0 && n[0] > 0) {
        send_at_rate(n[0], n[1], n[2]);
    } else {
        fprintf(stderr,
                "usage: http_bare serve | release N ROUNDS PORT | rate RATE SECONDS PORT\n");
        return 2;
    }
    return 0;
}
