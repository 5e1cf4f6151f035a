/* Routes of the simulated server. Errors have the shape of the profile's dialect. */
#include "replay/server.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "replay/listener.h"
#include "traces/base/buf.h"
#include "traces/base/jsonw.h"
#include "traces/base/log.h"
#include "traces/base/mem.h"

enum { BODY_BYTES = 64 << 10 };

/* A request that came while the server looked at nothing. */
struct held {
    struct server_conn *c;
    struct server_request r;
    struct held *next;
};

struct server {
    struct server_conn_env env;
    struct listener listener;
    struct generator *generator;
    const struct profile *profile;
    char name[160];
    struct held *held;
    bool closing;
    struct server_counts counts;
};

/* --- answers ------------------------------------------------------------------------------ */

static void answer_json(struct server_conn *c, const struct buf *body)
{
    server_conn_answer(c, 200, "application/json", "",
                       (struct slice){(const char *)body->p, body->n});
}

/* An error as the profile's server words it, where that differs from the dialect's. */
static void put_error(const struct profile *p, struct buf *out, const struct dialect *d, int status,
                      const char *message, const char *type)
{
    struct jsonw w;
    if (p->error_shape == ERROR_DIALECT || !profile_is_openai(d)) {
        d->put_error(out, status, message, type);
        return;
    }
    jsonw_init(&w, out, 0);
    jsonw_object(&w, NULL);
    if (p->error_shape == ERROR_STRING) {
        jsonw_text(&w, "error", message);
    } else if (p->error_shape == ERROR_DETAIL) {
        jsonw_text(&w, "detail", message);
    } else {
        jsonw_object(&w, "error");
        jsonw_text(&w, "message", message);
        jsonw_text(&w, "type", type);
        jsonw_null(&w, "param");
        jsonw_null(&w, "code");
        jsonw_end(&w);
    }
    jsonw_end(&w);
}

/* d NULL: the request is none of a dialect. fields: further header lines. */
struct refusal {
    const struct dialect *d;
    int status;
    const char *fields, *message, *type;
};

static void answer_error(struct server *s, struct server_conn *c, struct refusal e)
{
    struct buf body;
    buf_init(&body, BODY_BYTES);
    if (e.type == NULL)
        e.type = e.status == 404 ? "not_found_error" : "invalid_request_error";
    put_error(s->profile, &body, e.d != NULL ? e.d : s->profile->dialects[0], e.status, e.message,
              e.type);
    log_info("%d on port %u: %s", e.status, server_conn_peer_port(c), e.message);
    server_conn_answer(c, e.status, "application/json", e.fields != NULL ? e.fields : "",
                       (struct slice){(const char *)body.p, body.n});
    buf_done(&body);
}

static void get_health(struct server *s, struct server_conn *c)
{
    struct jsonw w;
    struct buf body;
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

static void get_models(struct server *s, struct server_conn *c, const struct dialect *d)
{
    struct buf body;
    buf_init(&body, BODY_BYTES);
    d->put_models(&body, &s->profile->model, 1, 0);
    answer_json(c, &body);
    buf_done(&body);
}

/* {prompt} and {limit} in the profile's words. */
static void put_context_error(const struct profile *p, int64_t prompt, struct buf *out)
{
    const char *words = p->context_error != NULL ? p->context_error
                                                 : "Prompt too long: {prompt} tokens exceeds max "
                                                   "context window of {limit} tokens";
    for (const char *at = words; *at != '\0';) {
        if (strncmp(at, "{prompt}", 8) == 0) {
            buf_printf(out, "%" PRId64, prompt);
            at += 8;
        } else if (strncmp(at, "{limit}", 7) == 0) {
            buf_printf(out, "%" PRId64, p->context_limit);
            at += 7;
        } else {
            buf_put(out, at++, 1);
        }
    }
}

/* Why a request can't be served, in *why; false if it can. */
static bool refuses(const struct server *s, const struct dialect_request *q, struct buf *why,
                    struct refusal *e)
{
    const struct profile *p = s->profile;
    if (q->prompt_words == 0) {
        buf_puts(why, e->d == &dialect_openai_chat ? "messages: expected at least one word of text"
                                                   : "expected a prompt of at least one word");
    } else if (q->choices != 1) {
        buf_puts(why, "n: this server makes one choice a request");
    } else if (q->max_tokens == 0 || q->max_tokens > GENERATOR_MAX_TOKENS) {
        buf_printf(why, "max_tokens: expected 1 to %d, found %" PRId64, GENERATOR_MAX_TOKENS,
                   q->max_tokens);
    } else if (p->context_limit > 0 && q->prompt_words > p->context_limit) {
        put_context_error(p, q->prompt_words, why);
        e->type = p->context_error_type;
    } else {
        return false;
    }
    return true;
}

static void post_generation(struct server *s, struct server_conn *c, const struct dialect *d,
                            const struct server_request *r)
{
    struct arena a = {0};
    struct dialect_request q;
    struct buf why;
    struct refusal e = {.d = d, .status = 400};
    buf_init(&why, BODY_BYTES);
    bool refused = true;
    if (d->request(r->body, &a, &q))
        refused = refuses(s, &q, &why, &e);
    else
        buf_puts(&why, "the body is no JSON object");
    if (refused) {
        e.message = buf_text(&why);
        answer_error(s, c, e);
    } else {
        generator_start(
            s->generator, c,
            &(struct generator_request){d, &q, r->body, dialect_streams(d, r->target, &q)});
    }
    buf_done(&why);
    arena_free(&a);
}

/* --- routes ------------------------------------------------------------------------------- */

static struct slice path_of(struct slice target)
{
    const char *query = memchr(target.p, '?', target.n);
    if (query != NULL)
        target.n = (size_t)(query - target.p);
    return target;
}

static void answer_unknown(struct server *s, struct server_conn *c)
{
    struct buf known;
    buf_init(&known, BODY_BYTES);
    buf_puts(&known, "no such path here:");
    for (const struct dialect *const *d = s->profile->dialects; *d != NULL; d++)
        buf_printf(&known, " POST %s,", (*d)->path);
    for (const struct dialect *const *d = s->profile->dialects; *d != NULL; d++) {
        const struct dialect *const *before = s->profile->dialects;
        while (strcmp((*before)->models_path, (*d)->models_path) != 0)
            before++;
        if (before == d)
            buf_printf(&known, " GET %s,", (*d)->models_path);
    }
    buf_puts(&known, " GET /health");
    answer_error(s, c, (struct refusal){.status = 404, .message = buf_text(&known)});
    buf_done(&known);
}

static void answer_method(struct server *s, struct server_conn *c, const char *allow)
{
    answer_error(s, c,
                 (struct refusal){
                     .status = 405, .fields = allow, .message = "this path takes another method"});
}

static void route(struct server *s, struct server_conn *c, const struct server_request *r)
{
    struct slice path = path_of(r->target);
    bool get = slice_is(r->method, "GET");
    for (const struct dialect *const *d = s->profile->dialects; *d != NULL; d++) {
        if (slice_is(path, (*d)->path)) {
            if (slice_is(r->method, "POST"))
                post_generation(s, c, *d, r);
            else
                answer_method(s, c, "Allow: POST\r\n");
            return;
        }
        if (slice_is(path, (*d)->models_path)) {
            if (get)
                get_models(s, c, *d);
            else
                answer_method(s, c, "Allow: GET\r\n");
            return;
        }
    }
    if (!slice_is(path, "/health"))
        answer_unknown(s, c);
    else if (get)
        get_health(s, c);
    else
        answer_method(s, c, "Allow: GET\r\n");
}

static void hold(struct server *s, struct server_conn *c, const struct server_request *r)
{
    struct held *h = mem_zalloc(sizeof *h), **at = &s->held;
    *h = (struct held){c, *r, NULL};
    while (*at != NULL)
        at = &(*at)->next;
    *at = h;
}

static void forget_held(struct server *s, const struct server_conn *c)
{
    for (struct held **at = &s->held; *at != NULL; at = &(*at)->next) {
        if ((*at)->c == c) { /* one at most: requests of a connection come one at a time */
            struct held *h = *at;
            *at = h->next;
            free(h);
            return;
        }
    }
}

/* The server looks up again. */
static void on_idle(void *ctx)
{
    struct server *s = ctx;
    while (s->held != NULL && !generator_blocks(s->generator)) {
        struct held h = *s->held;
        free(s->held);
        s->held = h.next;
        route(s, h.c, &h.r);
    }
}

static void on_request(void *ctx, struct server_conn *c, const struct server_request *r)
{
    struct server *s = ctx;
    s->counts.requests++;
    if (r->body_too_large)
        answer_error(s, c,
                     (struct refusal){.status = 413,
                                      .message = "the body is larger than this server takes"});
    else if (generator_blocks(s->generator))
        hold(s, c, r);
    else
        route(s, c, r);
}

static void on_malformed(void *ctx, struct server_conn *c)
{
    struct server *s = ctx;
    s->counts.requests++;
    answer_error(s, c,
                 (struct refusal){.status = 400, .message = "what came is no HTTP/1.1 request"});
}

static void on_gone(void *ctx, struct server_conn *c)
{
    struct server *s = ctx;
    void *user = server_conn_user(c);
    forget_held(s, c);
    if (user == NULL)
        return;
    if (s->closing)
        s->counts.unanswered++;
    else
        s->counts.abandoned++;
    generator_drop(s->generator, user);
}

/* --- the server --------------------------------------------------------------------------- */

struct server *server_open(uv_loop_t *loop, const char *address,
                           const struct generator_options *options, struct err *e)
{
    struct server *s = mem_zalloc(sizeof *s);
    s->profile = options->profile;
    snprintf(s->name, sizeof s->name, "tokaudit-serve/" TOKAUDIT_VERSION " (simulated; profile=%s)",
             s->profile->name);
    s->env.loop = loop;
    s->env.sink = (struct server_conn_sink){s, on_request, on_malformed, on_gone, NULL};
    s->env.server = s->name;
    s->env.http_1_0 = s->profile->framing == FRAMING_HTTP_1_0;
    listener_init(&s->listener, &s->env);
    s->generator = generator_new(loop, options, e);
    if (s->generator != NULL)
        generator_on_idle(s->generator, on_idle, s);
    if (s->generator != NULL && listener_open(&s->listener, address, e) == TA_OK)
        return s;
    server_close(s);
    uv_run(loop, UV_RUN_DEFAULT);
    server_free(s);
    return NULL;
}

uint16_t server_port(const struct server *s)
{
    return s->listener.port;
}

const char *server_url(const struct server *s)
{
    return s->listener.url;
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
    listener_close(&s->listener);
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
