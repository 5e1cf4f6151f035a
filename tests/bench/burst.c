/* A burst over loopback for the capture bench: one process answers a request with chat events as
 * fast as TCP takes them, another reads them.
 *
 *     burst bulk|events MEBIBYTES      bulk: 64 KiB a write; events: one event a segment
 *
 * Prints `PORT BYTES SECONDS`: where the server listened and what it sent, head included. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WRITE_BYTES = 64 << 10, EVENT_MOST = 512, READ_BYTES = 256 << 10 };

static const char request[] = "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                              "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
static const char head[] =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "burst: %s: %s\n", what, strerror(errno));
    exit(4);
}

static void send_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t k = write(fd, p, n);
        must(k > 0, "write");
        p += k;
        n -= (size_t)k;
    }
}

static int listen_anywhere(struct sockaddr_in *at)
{
    socklen_t n = sizeof *at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    must(fd >= 0 && bind(fd, (struct sockaddr *)at, n) == 0 && listen(fd, 1) == 0, "listen");
    must(getsockname(fd, (struct sockaddr *)at, &n) == 0, "getsockname");
    return fd;
}

static void read_to_end(const struct sockaddr_in *at)
{
    static char into[READ_BYTES];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    must(fd >= 0 && connect(fd, (const struct sockaddr *)at, sizeof *at) == 0, "connect");
    send_all(fd, request, sizeof request - 1);
    ssize_t n;
    while ((n = read(fd, into, sizeof into)) > 0)
        continue;
    must(n == 0, "read");
    close(fd);
}

/* Text as compressible as that of a model: words of a small vocabulary in no order. */
static size_t make_event(char out[EVENT_MOST], uint64_t i)
{
    static const char *const words[] = {" the", " of",    " token", " quiet", " river", " and",
                                        " is",  " seven", " light", " to",    " a",     " window"};
    static uint64_t state = 88172645463325252U;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const char *word = words[state % (sizeof words / sizeof *words)];
    return (size_t)snprintf(
        out, EVENT_MOST,
        "data: {\"id\":\"chatcmpl-burst\",\"object\":\"chat.completion.chunk\",\"created\":1796040"
        "000,\"model\":\"burst\",\"system_fingerprint\":\"fp_%04x\",\"choices\":[{\"index\":0,"
        "\"delta\":{\"content\":\"%s\"},\"logprobs\":null,\"finish_reason\":null}],\"n\":%llu}\n\n",
        (unsigned)(state >> 48), word, (unsigned long long)i);
}

static uint64_t send_bulk(int fd, uint64_t bytes)
{
    static char block[WRITE_BYTES + EVENT_MOST];
    uint64_t sent = 0;
    size_t held = 0;
    for (uint64_t i = 0; sent < bytes; i++) {
        held += make_event(block + held, i);
        if (held < WRITE_BYTES)
            continue;
        send_all(fd, block, WRITE_BYTES);
        sent += WRITE_BYTES;
        held -= WRITE_BYTES;
        memmove(block, block + WRITE_BYTES, held);
    }
    return sent;
}

/* What waits unsent would be joined with what is written next, Nagle or not. */
static void await_empty_queue(int fd)
{
    for (int waiting = 1; waiting > 0;)
        must(ioctl(fd, SIOCOUTQNSD, &waiting) == 0, "SIOCOUTQNSD");
}

static uint64_t send_events(int fd, uint64_t bytes)
{
    char event[EVENT_MOST];
    uint64_t sent = 0;
    for (uint64_t i = 0; sent < bytes; i++) {
        size_t n = make_event(event, i);
        await_empty_queue(fd);
        send_all(fd, event, n);
        sent += n;
    }
    return sent;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    if (argc != 3 || (strcmp(argv[1], "bulk") != 0 && strcmp(argv[1], "events") != 0)) {
        fprintf(stderr, "usage: burst bulk|events MEBIBYTES\n");
        return 2;
    }
    struct sockaddr_in at;
    uint64_t bytes = strtoull(argv[2], NULL, 10) << 20;
    int listening = listen_anywhere(&at), on = 1, status = 0;
    pid_t reader = fork();
    must(reader >= 0, "fork");
    if (reader == 0) {
        read_to_end(&at);
        _exit(0);
    }
    int fd = accept(listening, NULL, NULL);
    char got[sizeof request];
    must(fd >= 0 && recv(fd, got, sizeof request - 1, MSG_WAITALL) == sizeof request - 1, "accept");
    must(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "TCP_NODELAY");
    double started = now_s();
    send_all(fd, head, sizeof head - 1);
    uint64_t sent = strcmp(argv[1], "bulk") == 0 ? send_bulk(fd, bytes) : send_events(fd, bytes);
    must(shutdown(fd, SHUT_WR) == 0 && waitpid(reader, &status, 0) == reader && status == 0,
         "the reader");
    printf("%u %llu %.3f\n", ntohs(at.sin_port), (unsigned long long)(sent + sizeof head - 1),
           now_s() - started);
    return 0;
}
