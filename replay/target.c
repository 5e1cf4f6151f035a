/* The target's URL (RFC 3986, only what HTTP to a host needs), its address, and one question
 * before the run. */
#include "replay/target.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "replay/conn.h"
#include "replay/interrupt.h"
#include "traces/base/buf.h"
#include "traces/base/clock.h"
#include "traces/base/json.h"
#include "traces/base/mem.h"
#include "traces/base/text.h"
#include "traces/http.h"
#include "traces/limits.h"
#include "traces/link.h"

enum { STEP_NS = 100 * NS_PER_MS };

/* --- URL -------------------------------------------------------------------------------------- */

static int bad_url(const char *url, struct err *e, const char *what)
{
    /* A password is not told again. */
    size_t scheme = strstr(url, "//") != NULL ? (size_t)(strstr(url, "//") - url) + 2 : 0;
    size_t end = scheme + strcspn(url + scheme, "/?#"), host = scheme;
    for (size_t i = scheme; i < end; i++)
        host = url[i] == '@' ? i + 1 : host;
    return err_set(
        e, TA_EUSAGE, "--target %.*s%s%.200s: %s; expected http://HOST:PORT or https://HOST:PORT",
        scheme < 16 ? (int)scheme : 16, url, host > scheme ? "...@" : "", url + host, what);
}

static int parse_port(const char *text, uint16_t *port)
{
    char *end = NULL;
    unsigned long v = strtoul(text, &end, 10);
    if (end == text || *end != '\0' || text[0] == '-' || text[0] == '+' || v == 0 || v > 65535)
        return TA_EUSAGE;
    *port = (uint16_t)v;
    return TA_OK;
}

/* Host and port of an authority without user information. */
static int parse_authority(struct target *t, const char *url, char *text, struct err *e)
{
    char *host = text, *rest;
    if (text[0] == '[') {
        host++;
        rest = strchr(host, ']');
        if (rest == NULL)
            return bad_url(url, e, "an IPv6 address without its closing bracket");
        *rest++ = '\0';
    } else {
        rest = host + strcspn(host, ":");
    }
    bool has_port = *rest == ':';
    if (*rest != '\0' && !has_port)
        return bad_url(url, e, "the host is not understood");
    *rest = '\0';
    t->port = t->secure ? 443 : 80;
    if (has_port && parse_port(rest + 1, &t->port) != TA_OK)
        return bad_url(url, e, "the port is not a number from 1 to 65535");
    if (host[0] == '\0' || strpbrk(host, " \t\r\n%") != NULL)
        return bad_url(url, e, "the host is missing or not understood");
    snprintf(t->host, sizeof t->host, "%s", host);
    return TA_OK;
}

int target_parse(struct target *t, const char *url, struct err *e)
{
    char text[256];
    *t = (struct target){.secure = strncasecmp(url, "https://", 8) == 0};
    if (!t->secure && strncasecmp(url, "http://", 7) != 0)
        return bad_url(url, e, "the scheme is neither http nor https");
    const char *rest = strstr(url, "//") + 2;
    size_t n = strcspn(rest, "/?#");
    if (strcmp(rest + n, "") != 0 && strcmp(rest + n, "/") != 0)
        return bad_url(url, e,
                       "holds a path, which is of the requests: those of a trace or a plan "
                       "have their own, for those of a spec give --path");
    if (n >= sizeof text)
        return bad_url(url, e, "the host is longer than 255 bytes");
    memcpy(text, rest, n);
    text[n] = '\0';
    if (strchr(text, '@') != NULL)
        return bad_url(url, e, "holds a user name; give --key-env instead");
    snprintf(t->url, sizeof t->url, "%s://%s", t->secure ? "https" : "http", text);
    snprintf(t->authority, sizeof t->authority, "%s", text);
    return parse_authority(t, url, text, e);
}

int target_secure(struct target *t, const struct tls_options *o, struct err *e)
{
    if (t->secure)
        return tls_context_new(&t->tls, t->host, o, e);
    if (o->ca_file != NULL || o->insecure)
        return err_set(e, TA_EUSAGE, "--ca and --insecure are for https://; the target is %s",
                       t->url);
    return TA_OK;
}

void target_done(struct target *t)
{
    tls_context_free(t->tls);
    t->tls = NULL;
}

/* --- a blocking connection -------------------------------------------------------------------- */

/* Waits for events on fd; false at the deadline, or if a signal came. */
static bool wait_for(int fd, short events, int64_t deadline)
{
    while (!interrupt_came()) {
        int64_t left = deadline - clock_mono_ns();
        struct pollfd p = {.fd = fd, .events = events};
        int64_t step = left < STEP_NS ? left : STEP_NS; /* a signal may come just before poll */
        int n = poll(&p, 1, step > 0 ? (int)(step / NS_PER_MS) + 1 : 0);
        if (n != 0 && !(n < 0 && errno == EINTR))
            return n > 0;
        if (left <= 0)
            return false;
    }
    return false;
}

/* A connected non-blocking socket, or -1 and errno. */
static int dial(const struct sockaddr *addr, socklen_t n, int64_t deadline)
{
    int fd = socket(addr->sa_family, SOCK_STREAM, 0);
    if (fd < 0)
        return -1;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    int fault = connect(fd, addr, n) == 0 ? 0 : errno;
    if (fault == EINPROGRESS || fault == EINTR) {
        socklen_t size = sizeof fault;
        if (!wait_for(fd, POLLOUT, deadline))
            fault = ETIMEDOUT;
        else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &fault, &size) != 0)
            fault = errno;
    }
    if (fault == 0)
        return fd;
    close(fd);
    errno = fault;
    return -1;
}

/* TLS on a connected socket; NULL and *e if there is none to be had. */
static struct tls *secure(const struct target *t, int fd, int64_t deadline, struct err *e)
{
    struct tls *tls = tls_new(t->tls, fd);
    enum tls_step step = tls != NULL ? tls_handshake(tls) : TLS_FAILED;
    bool in_time = true;
    while ((step == TLS_WANT_READ || step == TLS_WANT_WRITE) && in_time) {
        in_time = wait_for(fd, step == TLS_WANT_READ ? POLLIN : POLLOUT, deadline);
        step = tls_handshake(tls);
    }
    if (step == TLS_READY)
        return tls;
    err_set(e, TA_ESYS, "%s: %s", t->url,
            tls == NULL ? "OpenSSL has no memory left"
            : !in_time  ? "no TLS handshake in time. Does it speak TLS there?"
                        : tls_fault(tls));
    tls_free(tls);
    return NULL;
}

static void add_attempt(struct buf *tried, const struct addrinfo *a)
{
    int fault = errno;
    char host[NI_MAXHOST] = "?";
    getnameinfo(a->ai_addr, a->ai_addrlen, host, sizeof host, NULL, 0, NI_NUMERICHOST);
    if (tried->n + sizeof host + 128 < tried->max)
        buf_printf(tried, "%s%s: %s", tried->n ? ", " : "", host, strerror(fault));
}

/* The first address of the list that takes a connection becomes t's; -1 and *e. */
static int connect_to_any(struct target *t, const struct addrinfo *list, int64_t timeout_ns,
                          struct err *e)
{
    struct buf tried;
    buf_init(&tried, 8192);
    int fd = -1;
    for (const struct addrinfo *a = list; a != NULL && fd < 0; a = a->ai_next) {
        int64_t start = clock_mono_ns();
        fd = dial(a->ai_addr, a->ai_addrlen, start + timeout_ns);
        if (fd < 0) {
            t->fault = conn_fault(errno);
            add_attempt(&tried, a);
            continue;
        }
        t->fault = NULL;
        t->connect_ns = clock_mono_ns() - start;
        memcpy(&t->addr, a->ai_addr, a->ai_addrlen);
        t->addr_bytes = a->ai_addrlen;
    }
    if (fd < 0)
        err_set(e, TA_ESYS, "%s can't be reached (%.300s). Is the server running there?", t->url,
                buf_text(&tried));
    buf_done(&tried);
    return fd;
}

static int reach_tls(struct target *t, int fd, int64_t timeout_ns, struct err *e)
{
    int64_t start = clock_mono_ns();
    struct tls *tls = secure(t, fd, start + timeout_ns, e);
    t->connect_ns += clock_mono_ns() - start;
    tls_free(tls);
    if (tls == NULL)
        t->fault = "tls-failed";
    return tls != NULL ? TA_OK : TA_ESYS;
}

static int interrupted(struct target *t, struct err *e)
{
    t->fault = "interrupted";
    return err_set(e, TA_ESYS, "interrupted while %s was waited for", t->url);
}

static int reach(struct target *t, int64_t timeout_ns, struct err *e)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *list = NULL;
    char port[8];
    snprintf(port, sizeof port, "%u", (unsigned)t->port);
    int rc = getaddrinfo(t->host, port, &hints, &list);
    if (rc != 0 &&
        text_same(slice_of(t->host), "localhost"))          /* bare containers have no hosts file */
        rc = getaddrinfo("127.0.0.1", port, &hints, &list); /* RFC 6761, 6.3 */
    if (rc != 0) {
        t->fault = "unresolved";
        return err_set(e, TA_ESYS, "looking up %s: %s", t->host, gai_strerror(rc));
    }
    int fd = connect_to_any(t, list, timeout_ns, e);
    freeaddrinfo(list);
    if (fd < 0)
        return TA_ESYS;
    int r = t->tls != NULL ? reach_tls(t, fd, timeout_ns, e) : TA_OK;
    close(fd);
    return r;
}

int target_reach(struct target *t, int64_t timeout_ns, struct err *e)
{
    int rc = reach(t, timeout_ns, e);
    return interrupt_came() ? interrupted(t, e) : rc;
}

/* --- GET /v1/models --------------------------------------------------------------------------- */

struct answer {
    struct buf body;
    int status;
    bool complete, hopeless; /* it is no HTTP, or has a head without end */
    char *simulated;
};

static int on_body(void *ctx, struct span in)
{
    struct answer *a = ctx;
    return buf_add(&a->body, in.p, in.n);
}

static int on_gap(void *ctx, uint64_t n, struct mark at)
{
    (void)ctx, (void)n, (void)at;
    return TA_OK;
}

static int on_end(void *ctx, enum end_kind why, struct mark at)
{
    (void)ctx, (void)why, (void)at;
    return TA_OK;
}

/* The profile in "tokaudit-serve/0.1.0 (simulated; profile=ideal)"; NULL for any other server. */
static char *profile_in(struct slice server)
{
    static const char ours[] = "tokaudit-serve/", key[] = "profile=";
    if (server.n < sizeof ours - 1 || memcmp(server.p, ours, sizeof ours - 1) != 0)
        return NULL;
    for (size_t i = sizeof ours - 1; i + sizeof key - 1 < server.n; i++) {
        if (memcmp(server.p + i, key, sizeof key - 1) != 0)
            continue;
        size_t from = i + sizeof key - 1, to = from;
        while (to < server.n && server.p[to] != ')' && server.p[to] != ';')
            to++;
        return mem_strndup(server.p + from, to - from);
    }
    return NULL;
}

static int on_head(void *ctx, const struct http_head *h, struct byte_sink *body)
{
    struct answer *a = ctx;
    a->status = h->status;
    if (h->status < 200)
        return TA_OK;
    if (a->simulated == NULL)
        a->simulated = profile_in(http_field(h, "Server"));
    *body = (struct byte_sink){a, on_body, on_gap, on_end};
    return TA_OK;
}

static int on_done(void *ctx, enum end_kind why, bool complete, struct mark last)
{
    struct answer *a = ctx;
    (void)why, (void)last;
    a->complete = complete && a->status >= 200;
    return a->complete ? TA_STOP : TA_OK;
}

static void on_anomaly(void *ctx, const struct anomaly *a)
{
    struct answer *answer = ctx;
    if (strcmp(a->id, "http.bad-start-line") == 0 || strcmp(a->id, "http.head-too-big") == 0)
        answer->hopeless = true;
}

static bool send_all(int fd, struct tls *tls, const char *p, size_t n, int64_t deadline)
{
    while (n > 0) {
        ssize_t sent = tls != NULL ? tls_send(tls, p, n) : send(fd, p, n, 0);
        if (sent > 0) {
            p += sent;
            n -= (size_t)sent;
        } else if (errno != EINTR && (errno != EAGAIN || !wait_for(fd, POLLOUT, deadline))) {
            return false;
        }
    }
    return true;
}

/* Reads one response into a; stops when it is whole or can't be any more. */
static void read_answer(int fd, struct tls *tls, struct answer *a, int64_t deadline)
{
    struct http *h = http_new(HTTP_RESPONSES, (struct http_sink){a, on_head, on_done},
                              (struct anomaly_sink){a, on_anomaly});
    struct byte_sink in = http_input(h);
    struct mark at = {0};
    uint8_t piece[TLS_RECORD_BYTES];
    int r = TA_OK;
    while (r == TA_OK && !a->hopeless && clock_mono_ns() < deadline) {
        ssize_t n =
            tls != NULL ? tls_recv(tls, piece, sizeof piece) : recv(fd, piece, sizeof piece, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            if (!wait_for(fd, POLLIN, deadline))
                break;
            continue;
        }
        at.t_seen = at.t_ready = clock_real_ns();
        if (n <= 0) {
            in.end(in.ctx, n == 0 ? END_FIN : END_RST, at);
            break;
        }
        r = in.data(in.ctx, (struct span){piece, (size_t)n, at});
        at.off += (uint64_t)n;
    }
    http_free(h);
}

static char *first_id(struct buf *body)
{
    struct json *v = json_parse((const char *)body->p, body->n, NULL);
    const char *id = json_string(json_first(json_get(v, "data")), "id");
    char *copy = mem_strdup(id);
    json_free(v);
    return copy;
}

/* Asks on a connected socket. */
static int ask(const struct target *t, int fd, struct answer *a, int64_t deadline, struct err *e)
{
    struct tls *tls = t->tls != NULL ? secure(t, fd, deadline, e) : NULL;
    if (t->tls != NULL && tls == NULL)
        return TA_ESYS;
    char *head =
        mem_printf("GET /v1/models HTTP/1.1\r\nHost: %s\r\nUser-Agent: tokaudit/" TOKAUDIT_VERSION
                   "\r\nAccept: application/json\r\nConnection: close\r\n\r\n",
                   t->authority);
    if (send_all(fd, tls, head, strlen(head), deadline))
        read_answer(fd, tls, a, deadline);
    tls_free(tls);
    free(head);
    return a->complete ? TA_OK
                       : err_set(e, TA_ESYS,
                                 "GET %s/v1/models had no whole HTTP answer; name the model with "
                                 "--model",
                                 t->url);
}

int target_ask(struct target *t, int64_t timeout_ns, struct target_says *out, struct err *e)
{
    *out = (struct target_says){0};
    int64_t deadline = clock_mono_ns() + timeout_ns;
    int fd = dial((const struct sockaddr *)&t->addr, t->addr_bytes, deadline);
    if (fd < 0 && interrupt_came())
        return interrupted(t, e);
    if (fd < 0) {
        t->fault = conn_fault(errno);
        return err_sys(e, TA_ESYS, "connecting to %s", t->url);
    }
    struct answer a = {0};
    buf_init(&a.body, LIMIT_SPEC_BYTES);
    int r = ask(t, fd, &a, deadline, e);
    close(fd);
    if (r == TA_OK) {
        out->model = a.status == 200 ? first_id(&a.body) : NULL;
        out->simulated = a.simulated;
    } else {
        free(a.simulated);
        if (interrupt_came())
            r = interrupted(t, e);
        else
            t->fault = "no-model";
    }
    buf_done(&a.body);
    return r;
}
