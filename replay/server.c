/* Routes of the simulated server. Errors have the shape of the profile's dialect. */
#include "replay/server.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "traces/base/buf.h"
#include "traces/base/jsonw.h"
#include "traces/base/log.h"
#include "traces/base/mem.h"

enum { BACKLOG = 512, BODY_BYTES = 64 << 10 };

struct server {
    struct server_conn_env env;
    uv_tcp_t listener;
    struct generator *generator;
    const struct profile *profile;
    char name[160], url[80];
    uint16_t port;
    bool closing;
    struct server_counts counts;
};

/* --- answers ------------------------------------------------------------------------------ */

static void answer_json(struct server_conn *c, const struct buf *body)
{
    server_conn_answer(c, 200, "application/json", "",
                       (struct slice){(const char *)body->p, body->n});
}

static void answer_error(struct server *s, struct server_conn *c, int status, const char *fields,
                         const char *message)
{
    const char *type = status == 404 ? "not_found_error" : "invalid_request_error";
    struct buf body;
    buf_init(&body, BODY_BYTES);
    s->profile->dialect->put_error(&body, status, message, type);
    log_info("%d on port %u: %s", status, server_conn_peer_port(c), message);
    server_conn_answer(c, status, "application/json", fields,
                       (struct slice){(const char *)body.p, body.n});
    buf_done(&body);
}

static void get_health(struct server *s, struct server_conn *c, const struct server_request *r)
{
    struct jsonw w;
    struct buf body;
    (void)r;
    buf_init(&body, BODY_BYTES);
    jsonw_init(&w, &body, 0);
    jsonw_object(&w, NULL);
    jsonw_text(&w, "status", "ok");
    jsonw_bool(&w, "simulated", true);
    jsonw_text(&w, "profile", s->profile->name);
    jsonw_end(&w);
    answer_json(c, &body);
    buf_done(&body);
}

static void get_models(struct server *s, struct server_conn *c, const struct server_request *r)
{
    struct jsonw w;
    struct buf body;
    (void)r;
    buf_init(&body, BODY_BYTES);
    jsonw_init(&w, &body, 0);
    jsonw_object(&w, NULL);
    jsonw_text(&w, "object", "list");
    jsonw_array(&w, "data");
    jsonw_object(&w, NULL);
    jsonw_text(&w, "id", s->profile->model);
    jsonw_text(&w, "object", "model");
    jsonw_int(&w, "created", 0);
    jsonw_text(&w, "owned_by", "tokaudit-serve (simulated)");
    jsonw_end(&w);
    jsonw_end(&w);
    jsonw_end(&w);
    answer_json(c, &body);
    buf_done(&body);
}

/* Why a chat request can't be served; NULL if it can. */
static const char *refusal(const struct server *s, const struct dialect_request *q, char room[160])
{
    int64_t limit = s->profile->context_limit;
    if (q->prompt_words == 0)
        return "messages: expected at least one word of text";
    if (q->choices != 1)
        return "n: this server makes one choice a request";
    if (q->max_tokens == 0 || q->max_tokens > GENERATOR_MAX_TOKENS) {
        snprintf(room, 160, "max_tokens: expected 1 to %d, found %" PRId64, GENERATOR_MAX_TOKENS,
                 q->max_tokens);
        return room;
    }
    if (limit > 0 && q->prompt_words > limit) {
        snprintf(room, 160,
                 "Prompt too long: %" PRId64 " tokens exceeds max context window of %" PRId64
                 " tokens",
                 q->prompt_words, limit);
        return room;
    }
    return NULL;
}

static void post_chat(struct server *s, struct server_conn *c, const struct server_request *r)
{
    struct arena a = {0};
    struct dialect_request q;
    char room[160];
    const char *fault = "the body is no JSON object";
    if (s->profile->dialect->request(r->body, &a, &q))
        fault = refusal(s, &q, room);
    if (fault != NULL)
        answer_error(s, c, 400, "", fault);
    else
        generator_start(s->generator, c, &q, r->body);
    arena_free(&a);
}

/* --- routes ------------------------------------------------------------------------------- */

static const struct route {
    const char *method, *path, *allow;
    void (*answer)(struct server *s, struct server_conn *c, const struct server_request *r);
} routes[] = {
    {"POST", "/v1/chat/completions", "Allow: POST\r\n", post_chat},
    {"GET", "/v1/models", "Allow: GET\r\n", get_models},
    {"GET", "/health", "Allow: GET\r\n", get_health},
};

static struct slice path_of(struct slice target)
{
    const char *query = memchr(target.p, '?', target.n);
    if (query != NULL)
        target.n = (size_t)(query - target.p);
    return target;
}

static void on_request(void *ctx, struct server_conn *c, const struct server_request *r)
{
    struct server *s = ctx;
    s->counts.requests++;
    if (r->body_too_large) {
        answer_error(s, c, 413, "", "the body is larger than this server takes");
        return;
    }
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        if (!slice_is(path_of(r->target), routes[i].path))
            continue;
        if (slice_is(r->method, routes[i].method))
            routes[i].answer(s, c, r);
        else
            answer_error(s, c, 405, routes[i].allow, "this path takes another method");
        return;
    }
    answer_error(s, c, 404, "",
                 "no such path here: POST /v1/chat/completions, GET /v1/models, GET /health");
}

static void on_malformed(void *ctx, struct server_conn *c)
{
    struct server *s = ctx;
    s->counts.requests++;
    answer_error(s, c, 400, "", "what came is no HTTP/1.1 request");
}

static void on_gone(void *ctx, struct server_conn *c)
{
    struct server *s = ctx;
    void *user = server_conn_user(c);
    if (user == NULL)
        return;
    if (s->closing)
        s->counts.unanswered++;
    else
        s->counts.abandoned++;
    generator_drop(s->generator, user);
}

/* --- listening ---------------------------------------------------------------------------- */

static void on_connection(uv_stream_t *listener, int status)
{
    struct server *s = listener->data;
    if (status < 0)
        log_warn("a connection could not be taken: %s", uv_strerror(status));
    else
        server_conn_accept(&s->env, listener);
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

static int listen_on(struct server *s, const char *address, struct err *e)
{
    struct sockaddr_storage addr;
    char host[64];
    int n = sizeof addr;
    if (!parse_address(address, &addr))
        return err_set(e, TA_EUSAGE,
                       "cannot listen on '%.100s': expected a numeric address and a port, such as "
                       "127.0.0.1:8000 or [::1]:0",
                       address);
    int rc = uv_tcp_bind(&s->listener, (const struct sockaddr *)&addr, 0);
    if (rc == 0)
        rc = uv_listen((uv_stream_t *)&s->listener, BACKLOG, on_connection);
    if (rc == 0)
        rc = uv_tcp_getsockname(&s->listener, (struct sockaddr *)&addr, &n);
    if (rc != 0)
        return err_set(
            e, TA_ESYS,
            "cannot listen on %s: %s; is another server there? Port 0 takes any that is free",
            address, uv_strerror(rc));
    bool six = addr.ss_family == AF_INET6;
    s->port = ntohs(six ? ((struct sockaddr_in6 *)(void *)&addr)->sin6_port
                        : ((struct sockaddr_in *)(void *)&addr)->sin_port);
    uv_ip_name((const struct sockaddr *)&addr, host, sizeof host);
    snprintf(s->url, sizeof s->url, six ? "http://[%s]:%u" : "http://%s:%u", host, s->port);
    return TA_OK;
}

struct server *server_open(uv_loop_t *loop, const char *address,
                           const struct generator_options *options, struct err *e)
{
    struct server *s = mem_zalloc(sizeof *s);
    s->profile = options->profile;
    snprintf(s->name, sizeof s->name, "tokaudit-serve/" TOKAUDIT_VERSION " (simulated; profile=%s)",
             s->profile->name);
    s->env.loop = loop;
    s->env.sink = (struct server_conn_sink){s, on_request, on_malformed, on_gone};
    s->env.server = s->name;
    uv_tcp_init(loop, &s->listener);
    s->listener.data = s;
    s->generator = generator_new(loop, options, e);
    if (s->generator != NULL && listen_on(s, address, e) == TA_OK)
        return s;
    server_close(s);
    uv_run(loop, UV_RUN_DEFAULT);
    server_free(s);
    return NULL;
}

uint16_t server_port(const struct server *s)
{
    return s->port;
}

const char *server_url(const struct server *s)
{
    return s->url;
}

struct server_counts server_counts(const struct server *s)
{
    struct server_counts counts = s->counts;
    counts.replies = s->generator == NULL ? 0 : generator_finished(s->generator);
    return counts;
}

void server_close(struct server *s)
{
    if (s->closing)
        return;
    s->closing = true;
    uv_close((uv_handle_t *)&s->listener, NULL);
    server_conn_close_all(&s->env);
    if (s->generator != NULL)
        generator_stop(s->generator);
}

void server_free(struct server *s)
{
    if (s == NULL)
        return;
    generator_free(s->generator);
    free(s);
}
