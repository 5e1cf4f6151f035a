/* A listening socket over libuv. */
#include "replay/listener.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/base/log.h"

enum { BACKLOG = 512 };

void listener_init(struct listener *l, struct server_conn_env *env)
{
    *l = (struct listener){.env = env};
    uv_tcp_init(env->loop, &l->tcp);
    l->tcp.data = l;
}

void listener_close(struct listener *l)
{
    uv_close((uv_handle_t *)&l->tcp, NULL);
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct listener *l = listener->data;
    if (status < 0)
        log_warn("a connection could not be taken: %s", uv_strerror(status));
    else
        server_conn_accept(l->env, listener);
}

static bool parse_address(const char *text, struct sockaddr_storage *out)
{
    char host[64];
    const char *colon = strrchr(text, ':');
    char *end = NULL;
    long port = colon == NULL ? -1 : strtol(colon + 1, &end, 10);
    if (colon == NULL || end == colon + 1 || *end != '\0' || port < 0 || port > 65535)
        return false;
    bool six = text[0] == '[' && colon > text && colon[-1] == ']';
    size_t n = (size_t)(colon - text) - (six ? 2 : 0);
    if (n == 0 || n >= sizeof host)
        return false;
    memcpy(host, text + six, n);
    host[n] = '\0';
    if (six)
        return uv_ip6_addr(host, (int)port, (struct sockaddr_in6 *)(void *)out) == 0;
    return uv_ip4_addr(host, (int)port, (struct sockaddr_in *)(void *)out) == 0;
}

int listener_open(struct listener *l, const char *address, struct err *e)
{
    struct sockaddr_storage addr;
    char host[64];
    int n = sizeof addr;
    if (!parse_address(address, &addr))
        return err_set(e, TA_EUSAGE,
                       "cannot listen on '%.100s': expected a numeric address and a port, such as "
                       "127.0.0.1:8000 or [::1]:0",
                       address);
    int rc = uv_tcp_bind(&l->tcp, (const struct sockaddr *)&addr, 0);
    if (rc == 0)
        rc = uv_listen((uv_stream_t *)&l->tcp, BACKLOG, on_connection);
    if (rc == 0)
        rc = uv_tcp_getsockname(&l->tcp, (struct sockaddr *)&addr, &n);
    if (rc != 0)
        return err_set(
            e, TA_ESYS, "cannot listen on %s: %s; %s", address, uv_strerror(rc),
            rc == UV_EADDRNOTAVAIL ? "it is no address of this machine; 0.0.0.0 is all of them"
            : rc == UV_EACCES      ? "ports below 1024 may be root's; take a higher one"
                                   : "is another server there? Port 0 takes any that is free");
    bool six = addr.ss_family == AF_INET6;
    l->port = ntohs(six ? ((struct sockaddr_in6 *)(void *)&addr)->sin6_port
                        : ((struct sockaddr_in *)(void *)&addr)->sin_port);
    uv_ip_name((const struct sockaddr *)&addr, host, sizeof host);
    snprintf(l->url, sizeof l->url, six ? "http://[%s]:%u" : "http://%s:%u", host, l->port);
    return TA_OK;
}
