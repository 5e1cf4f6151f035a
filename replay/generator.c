/* Simulated replies: engine.h says when, the profile says how they leave. Source:
 * replay/PROFILES.md. */
#include "replay/generator.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "replay/generation.h"
#include "replay/release.h"
#include "traces/base/clock.h"
#include "traces/base/mem.h"
#include "traces/limits.h"

enum { LATE_NS = 10 * NS_PER_MS };

struct generator {
    struct generator_options options;
    struct engine engine;
    struct release *release;
    struct generation *first;
    void (*idle)(void *ctx);
    void *idle_ctx;
    uint64_t started, finished;
};

static void schedule(struct generator *g);
static void on_due(void *ctx);

struct generator *generator_new(uv_loop_t *loop, const struct generator_options *options,
                                struct err *e)
{
    struct generator *g = mem_zalloc(sizeof *g);
    g->options = *options;
    engine_init(&g->engine, options->profile, options->time_scale);
    g->release = release_new(loop, RELEASE_GENTLY, on_due, g, e);
    if (g->release != NULL)
        return g;
    free(g);
    return NULL;
}

void generator_stop(struct generator *g)
{
    release_free(g->release);
    g->release = NULL;
}

void generator_free(struct generator *g)
{
    free(g);
}

uint64_t generator_finished(const struct generator *g)
{
    return g->finished;
}

void generator_on_idle(struct generator *g, void (*idle)(void *ctx), void *ctx)
{
    g->idle = idle;
    g->idle_ctx = ctx;
}

bool generator_blocks(const struct generator *g)
{
    return g->options.profile->blocks && g->first != NULL;
}

/* --- one reply's life --------------------------------------------------------------------- */

static void generation_free(struct generation *x)
{
    if (x->prev != NULL)
        x->prev->next = x->next;
    else
        x->g->first = x->next;
    if (x->next != NULL)
        x->next->prev = x->prev;
    generation_done(x);
    free(x);
}

static void tell_idle(struct generator *g)
{
    if (g->first == NULL && g->idle != NULL)
        g->idle(g->idle_ctx);
}

void generator_drop(struct generator *g, void *user)
{
    struct generation *x = user;
    if (x == NULL)
        return;
    engine_cancel(&g->engine, &x->job, clock_mono_ns());
    generation_free(x);
    tell_idle(g);
    schedule(g);
}

/* FNV-1a, 64 bits. */
static uint64_t hash_of(struct slice s)
{
    uint64_t h = 0xCBF29CE484222325u;
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * 0x100000001B3u;
    return h;
}

/* --- truth -------------------------------------------------------------------------------- */

static void tell_request(const struct generation *x)
{
    if (x->g->options.truth == NULL)
        return;
    fprintf(x->g->options.truth,
            "{\"request\":%" PRIu64
            ",\"id\":\"%s\",\"port\":%u,\"dialect\":\"%s\",\"stream\":%s,\"prompt_tokens\":%" PRId64
            ",\"output_tokens\":%" PRId64 ",\"t_ns\":\"%" PRId64 "\"}\n",
            x->number, x->id, server_conn_peer_port(x->c), x->dialect->name,
            x->stream ? "true" : "false", x->job.prompt_tokens, x->job.output_tokens,
            clock_real_ns());
}

/* n tokens leave in one event. */
static void tell_tokens(const struct generation *x, int64_t n)
{
    if (x->g->options.truth == NULL)
        return;
    int64_t now = clock_real_ns();
    for (int64_t i = x->told; i < x->told + n; i++)
        fprintf(x->g->options.truth,
                "{\"request\":%" PRIu64 ",\"index\":%" PRId64 ",\"made_ns\":\"%" PRId64
                "\",\"t_ns\":\"%" PRId64 "\"}\n",
                x->number, i, x->made_ns.v[i], now);
}

/* --- events ------------------------------------------------------------------------------- */

static void write_event(struct generation *x, int64_t now_ns)
{
    if (x->event.n > 0) /* some dialects say nothing in some places */
        server_conn_piece(x->c, (struct slice){(const char *)x->event.p, x->event.n});
    x->silent_ns = now_ns;
}

static void write_keepalive(struct generation *x, int64_t now_ns)
{
    struct buf out;
    buf_init(&out, 64 << 10);
    generation_keepalive(x, engine_prompt_done(&x->g->engine, &x->job, now_ns), &out);
    if (out.n > 0)
        server_conn_piece(x->c, (struct slice){(const char *)out.p, out.n});
    buf_done(&out);
    x->silent_ns = now_ns;
}

static const char *type_of(const struct generation *x)
{
    const char *own = x->profile->event_stream;
    if (!x->stream)
        return "application/json";
    bool sse = strncmp(x->dialect->stream_type, "text/event-stream", 17) == 0;
    return own != NULL && sse ? own : x->dialect->stream_type;
}

static void send_head(struct generation *x, int64_t now_ns)
{
    const struct profile *p = x->profile;
    if (x->head_sent)
        return;
    x->head_sent = true;
    server_conn_begin(x->c,
                      &(struct server_conn_head){
                          type_of(x), p->fields != NULL ? p->fields : "Cache-Control: no-cache\r\n",
                          p->framing != FRAMING_CHUNKED && x->stream});
    x->silent_ns = now_ns;
    if (x->stream && p->keepalive_start == KEEPALIVE_FIRST)
        write_keepalive(x, now_ns);
}

/* What a stream begins with. */
static void send_role(struct generation *x, int64_t now_ns)
{
    if (x->role_sent)
        return;
    x->role_sent = true;
    send_head(x, now_ns);
    generation_begin(x);
    write_event(x, now_ns);
    if (x->profile->keepalive_start == KEEPALIVE_SECOND && !generation_beats(x))
        write_keepalive(x, now_ns);
}

/* Writes the next event. False: that was the last. */
static bool write_next(struct generation *x, int64_t now_ns)
{
    generation_next(x);
    tell_tokens(x, x->event_tokens);
    write_event(x, now_ns);
    x->told += x->event_tokens;
    x->after += x->event_tokens == 0;
    return generation_more(x);
}

static void finish(struct generation *x)
{
    struct server_conn *c = x->c;
    struct generator *g = x->g;
    if (g->options.truth != NULL)
        fflush(g->options.truth);
    server_conn_set_user(c, NULL);
    g->finished++;
    generation_free(x);
    server_conn_end(c);
    tell_idle(g);
}

/* A reply that is one document. */
static void answer_whole(struct generation *x)
{
    struct generator *g = x->g;
    struct server_conn *c = x->c;
    struct buf body;
    buf_init(&body, LIMIT_DOCUMENT_BYTES);
    generation_document(x, &body);
    struct slice text = {(const char *)body.p, body.n};
    tell_tokens(x, x->job.output_tokens);
    if (x->head_sent) {
        server_conn_piece(c, text);
        finish(x);
        buf_done(&body);
        return;
    }
    if (g->options.truth != NULL)
        fflush(g->options.truth);
    server_conn_set_user(c, NULL);
    g->finished++;
    generation_free(x);
    server_conn_answer(c, 200, "application/json", "", text);
    buf_done(&body);
    tell_idle(g);
}

/* May the next event leave? */
static bool is_ready(const struct generation *x, bool last)
{
    int64_t made = (int64_t)x->made_ns.n, tokens = generation_tokens(x);
    if (tokens == 0 || x->told + tokens > made)
        return false;
    return x->profile->delivery != DELIVERY_PAIRS || last || made % 2 == 1;
}

/* The model has a token of a stream whose events leave as they come. */
static void stream_token(struct generation *x, bool last, int64_t now_ns)
{
    send_role(x, now_ns);
    while (is_ready(x, last))
        write_next(x, now_ns);
    if (last) {
        while (write_next(x, now_ns))
            ;
        finish(x);
    }
}

/* All of a stream is there. */
static void stream_all(struct generation *x, int64_t now_ns)
{
    if (x->profile->delivery == DELIVERY_ONE_WRITE)
        server_conn_hold(x->c);
    send_role(x, now_ns);
    if (x->profile->delivery == DELIVERY_COLLECT) {
        x->release_ns = now_ns;
        return;
    }
    while (write_next(x, now_ns))
        ;
    finish(x);
}

static void on_token(struct generator *g, const struct engine_token *t, int64_t now_ns)
{
    struct generation *x = t->job->user;
    struct clock_pair now = clock_pair_take();
    int delivery = g->options.profile->delivery;
    VEC_PUSH(&x->made_ns, now.real_ns - (now.mono_ns - t->due_ns));
    if (t->last)
        generation_clock(x);
    if (x->stream && (delivery == DELIVERY_STREAM || delivery == DELIVERY_PAIRS))
        stream_token(x, t->last, now_ns);
    else if (t->last && x->stream)
        stream_all(x, now_ns);
    else if (t->last)
        answer_whole(x);
}

/* The next event of a collected reply leaves; each costs the server the same time. */
static void release_one(struct generation *x, int64_t now_ns)
{
    if (!write_next(x, now_ns)) {
        finish(x);
        return;
    }
    x->release_ns += x->profile->event_cost_ns;
    if (x->release_ns < now_ns - LATE_NS) /* the machine was away: no catching up in one burst */
        x->release_ns = now_ns;
}

static int64_t heartbeat_due(const struct generation *x)
{
    int64_t every = x->profile->keepalive_ns;
    return every == 0 || !x->head_sent || x->release_ns >= 0 ? -1 : x->silent_ns + every;
}

/* --- time --------------------------------------------------------------------------------- */

static int64_t sooner(int64_t a, int64_t b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

static void schedule(struct generator *g)
{
    if (g->release == NULL)
        return;
    int64_t at = engine_due(&g->engine);
    for (const struct generation *x = g->first; x != NULL; x = x->next)
        at = sooner(sooner(at, x->release_ns), heartbeat_due(x));
    if (at >= 0)
        release_at(g->release, at);
    else
        release_stop(g->release);
}

/* Heads that were waiting for a place in a batch. */
static void send_heads(struct generator *g, int64_t now_ns)
{
    if (g->options.profile->head != HEAD_ADMITTED)
        return;
    for (struct generation *x = g->first; x != NULL; x = x->next) {
        if (x->stream && x->job.running && x->profile->delivery != DELIVERY_ONE_WRITE)
            send_head(x, now_ns);
    }
}

static void on_due(void *ctx)
{
    struct generator *g = ctx;
    struct engine_token t;
    int64_t now = clock_mono_ns();
    while (engine_step(&g->engine, now, &t))
        on_token(g, &t, now);
    send_heads(g, now);
    for (struct generation *x = g->first, *next; x != NULL; x = next) {
        next = x->next;
        if (x->release_ns >= 0 && x->release_ns <= now)
            release_one(x, now);
        else if (heartbeat_due(x) >= 0 && heartbeat_due(x) <= now)
            write_keepalive(x, now);
    }
    schedule(g);
}

/* What leaves before anything is made. */
static void send_early(struct generation *x, int64_t now_ns)
{
    const struct profile *p = x->profile;
    if (!x->stream && p->blank_document) {
        send_head(x, now_ns);
        write_keepalive(x, now_ns);
    } else if (x->stream && p->delivery != DELIVERY_ONE_WRITE) {
        if (p->role_event == ROLE_AT_ONCE)
            send_role(x, now_ns);
        else if (p->head == HEAD_AT_ONCE)
            send_head(x, now_ns);
        else
            send_heads(x->g, now_ns);
    }
}

void generator_start(struct generator *g, struct server_conn *c, const struct generator_request *r)
{
    const struct profile *p = g->options.profile;
    const struct dialect_request *q = r->asked;
    int64_t now = clock_mono_ns();
    struct generation *x = mem_zalloc(sizeof *x);
    *x = (struct generation){.g = g,
                             .next = g->first,
                             .c = c,
                             .profile = p,
                             .dialect = r->dialect,
                             .number = ++g->started,
                             .stream = r->stream && p->delivery != DELIVERY_DOCUMENT,
                             .release_ns = -1};
    if (g->first != NULL)
        g->first->prev = x;
    g->first = x;
    server_conn_set_user(c, x);
    x->seed = engine_mix(g->options.seed, hash_of(r->body));
    x->job = (struct engine_job){.prompt_tokens = q->prompt_words,
                                 .output_tokens =
                                     q->max_tokens > 0 ? q->max_tokens : GENERATOR_DEFAULT_TOKENS,
                                 .seed = x->seed,
                                 .user = x};
    generation_init(x, q, clock_real_ns() / NS_PER_S);
    tell_request(x);
    engine_submit(&g->engine, &x->job, now);
    send_early(x, now);
    schedule(g);
}
