/* A load harness as people write them: one request after the other, a stopwatch in the client, and
 *
 *     rate = completion tokens / (last content event - first content event)
 *
 * without asking whether the stream was one. Against a server that generates first and streams
 * afterwards it prints a phantom, which is what the demo has it do. It shares nothing with the
 * analyzer.
 *
 *     naive_harness PORT REQUESTS MAX_TOKENS     → one JSON line on stdout */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_REQUESTS = 1000, BUFFER = 1 << 20 };

struct stopwatch {
    double sent, first, last;
    long tokens;
};

static double now_s(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static int dial(unsigned short port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        fail("naive_harness: connect");
    return fd;
}

static void send_request(int fd, int nth, long max_tokens)
{
    char body[512], head[512];
    int n = snprintf(
        body, sizeof body,
        "{\"model\":\"any\",\"stream\":true,\"stream_options\":{\"include_usage\":true},\"max_"
        "tokens\":%ld,"
        "\"messages\":[{\"role\":\"user\",\"content\":\"Question %d: tell me a story.\"}]}",
        max_tokens, nth);
    int h = snprintf(head, sizeof head,
                     "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: "
                     "application/json\r\n"
                     "Connection: close\r\nContent-Length: %d\r\n\r\n",
                     n);
    if (write(fd, head, (size_t)h) != h || write(fd, body, (size_t)n) != n)
        fail("naive_harness: write");
}

static void on_line(struct stopwatch *w, const char *line)
{
    if (strncmp(line, "data:", 5) != 0)
        return;
    const char *content = strstr(line, "\"content\":\"");
    if (content != NULL && content[11] != '"') {
        w->last = now_s();
        if (w->first == 0)
            w->first = w->last;
    }
    const char *usage = strstr(line, "\"completion_tokens\":");
    if (usage != NULL)
        w->tokens = strtol(usage + 20, NULL, 10);
}

static struct stopwatch measure(unsigned short port, int nth, long max_tokens, char *buffer)
{
    struct stopwatch w = {0};
    int fd = dial(port);
    size_t held = 0;
    w.sent = now_s();
    send_request(fd, nth, max_tokens);
    for (;;) {
        ssize_t n = read(fd, buffer + held, BUFFER - 1 - held);
        if (n <= 0)
            break;
        held += (size_t)n;
        buffer[held] = '\0';
        char *line = buffer, *end;
        while ((end = strchr(line, '\n')) != NULL) {
            *end = '\0';
            on_line(&w, line);
            line = end + 1;
        }
        held -= (size_t)(line - buffer);
        memmove(buffer, line, held);
        if (held == BUFFER - 1)
            held = 0;
    }
    close(fd);
    return w;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_value);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

int main(int argc, char **argv)
{
    static double rates[MAX_REQUESTS], ttfts[MAX_REQUESTS];
    static char buffer[BUFFER];
    if (argc != 4) {
        fprintf(stderr, "usage: naive_harness PORT REQUESTS MAX_TOKENS\n");
        return 2;
    }
    unsigned short port = (unsigned short)strtoul(argv[1], NULL, 10);
    long requests = strtol(argv[2], NULL, 10), max_tokens = strtol(argv[3], NULL, 10);
    int n = 0;
    for (int i = 0; i < requests && i < MAX_REQUESTS; i++) {
        struct stopwatch w = measure(port, i + 1, max_tokens, buffer);
        if (w.tokens < 2 || w.last <= w.first)
            continue;
        rates[n] = (double)w.tokens / (w.last - w.first);
        ttfts[n++] = (w.first - w.sent) * 1e3;
    }
    if (n == 0) {
        fprintf(stderr, "naive_harness: no request gave a rate\n");
        return 1;
    }
    printf("{\"requests\":%d,\"gen_tps_p50\":%.0f,\"ttft_p50_ms\":%.1f}\n", n, median(rates, n),
           median(ttfts, n));
    return 0;
}
