/* Simulated replies: engine.h says when, the profile says how they leave. Source:
 * replay/PROFILES.md. */
#include "replay/generator.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "replay/engine.h"
#include "replay/release.h"
#include "traces/base/buf.h"
#include "traces/base/clock.h"
#include "traces/base/mem.h"
#include "traces/base/vec.h"
#include "traces/limits.h"

/* What a token can be: one word each, so that a count of words is the count of tokens. */
static const char *const words[] = {
    "the",     "river",  "of",      "light",  "a",      "quiet",   "engine", "turns",
    "slow",    "wheel",  "under",   "bright", "copper", "roof",    "and",    "every",
    "signal",  "finds",  "its",     "way",    "home",   "across",  "field",  "where",
    "stone",   "meets",  "water",   "small",  "clock",  "keeps",   "time",   "with",
    "patient", "hands",  "while",   "north",  "wind",   "moves",   "paper",  "maps",
    "from",    "table",  "to",      "open",   "window", "then",    "counts", "each",
    "lamp",    "along",  "harbour", "street", "before", "morning", "comes",  "again",
    "over",    "silver", "bridge",  "into",   "green",  "valley",  "near",   "station",
};
enum { WORDS = sizeof words / sizeof *words, EVENT_BYTES = 4096, LATE_NS = 10 * NS_PER_MS };

/* One reply. */
struct generation {
    struct generator *g;
    struct generation *prev, *next;
    struct server_conn *c;
    struct engine_job job;
    struct dialect_reply reply;
    char id[64];
    uint64_t number; /* 1.. of the server */
    uint64_t seed;   /* of its words: the server's seed and the body of the request */
    bool stream, with_usage, head_sent;

    VEC(int64_t) made_ns; /* real: when the model had each token */
    int64_t written;      /* events after the head: the texts, then what ends the stream */
    struct buf event;     /* the one that is written next */
    int64_t silent_ns;    /* monotonic: the last output */
    int64_t release_ns;   /* monotonic: when the next event of a collected reply leaves; -1: still
                             collecting */
};

struct generator {
    struct generator_options options;
    struct engine engine;
    struct release *release;
    struct generation *first;
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
    g->release = release_new(loop, on_due, g, e);
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

/* --- one reply's life --------------------------------------------------------------------- */

static void generation_free(struct generation *x)
{
    if (x->prev != NULL)
        x->prev->next = x->next;
    else
        x->g->first = x->next;
    if (x->next != NULL)
        x->next->prev = x->prev;
    VEC_FREE(&x->made_ns);
    buf_done(&x->event);
    free(x);
}

void generator_drop(struct generator *g, void *user)
{
    struct generation *x = user;
    if (x == NULL)
        return;
    engine_cancel(&g->engine, &x->job, clock_mono_ns());
    generation_free(x);
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

static struct slice word_of(const struct generation *x, int64_t index, char room[32])
{
    int n = snprintf(room, 32, "%s%s", index > 0 ? " " : "",
                     words[engine_mix(x->seed, (uint64_t)index) % WORDS]);
    return (struct slice){room, (size_t)n};
}

/* --- truth -------------------------------------------------------------------------------- */

static void tell_request(const struct generation *x)
{
    if (x->g->options.truth == NULL)
        return;
    fprintf(x->g->options.truth,
            "{\"request\":%" PRIu64
            ",\"id\":\"%s\",\"port\":%u,\"stream\":%s,\"prompt_tokens\":%" PRId64
            ",\"output_tokens\":%" PRId64 ",\"t_ns\":\"%" PRId64 "\"}\n",
            x->number, x->id, server_conn_peer_port(x->c), x->stream ? "true" : "false",
            x->job.prompt_tokens, x->job.output_tokens, clock_real_ns());
}

static void tell_token(const struct generation *x, int64_t index)
{
    if (x->g->options.truth == NULL)
        return;
    fprintf(x->g->options.truth,
            "{\"request\":%" PRIu64 ",\"index\":%" PRId64 ",\"made_ns\":\"%" PRId64
            "\",\"t_ns\":\"%" PRId64 "\"}\n",
            x->number, index, x->made_ns.v[index], clock_real_ns());
}

/* --- events ------------------------------------------------------------------------------- */

static void write_event(struct generation *x, int64_t now_ns)
{
    server_conn_piece(x->c, (struct slice){(const char *)x->event.p, x->event.n});
    x->silent_ns = now_ns;
}

static void send_head(struct generation *x, int64_t now_ns)
{
    if (x->head_sent)
        return;
    x->head_sent = true;
    server_conn_begin(x->c, "text/event-stream; charset=utf-8");
    buf_clear(&x->event);
    x->g->options.profile->dialect->put_role(&x->event, &x->reply);
    write_event(x, now_ns);
}

/* Composes the next event before its time comes. False: there is none. */
static bool prepare(struct generation *x)
{
    const struct dialect *d = x->g->options.profile->dialect;
    int64_t after = x->written - x->job.output_tokens;
    char room[32];
    buf_clear(&x->event);
    if (after < 0)
        d->put_text(&x->event, &x->reply, word_of(x, x->written, room));
    else if (after == 0)
        d->put_finish(&x->event, &x->reply);
    else if (after == 1 && x->with_usage)
        d->put_usage(&x->event, &x->reply);
    else if (after == 1 + x->with_usage)
        d->put_done(&x->event);
    else
        return false;
    return true;
}

/* Writes the prepared event and prepares the one after. False: that was the last. */
static bool write_next(struct generation *x, int64_t now_ns)
{
    if (x->written < x->job.output_tokens)
        tell_token(x, x->written);
    write_event(x, now_ns);
    x->written++;
    return prepare(x);
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
}

/* A reply that is one document. */
static void answer_whole(struct generation *x)
{
    const struct generator_options *o = &x->g->options;
    struct server_conn *c = x->c;
    struct buf text, body;
    char room[32];
    buf_init(&text, LIMIT_DOCUMENT_BYTES);
    buf_init(&body, LIMIT_DOCUMENT_BYTES);
    for (int64_t i = 0; i < x->job.output_tokens; i++) {
        struct slice word = word_of(x, i, room);
        tell_token(x, i);
        if (buf_add(&text, word.p, word.n) != TA_OK)
            break;
    }
    o->profile->dialect->put_document(&body, &x->reply,
                                      (struct slice){(const char *)text.p, text.n});
    if (o->truth != NULL)
        fflush(o->truth);
    server_conn_set_user(c, NULL);
    x->g->finished++;
    generation_free(x);
    server_conn_answer(c, 200, "application/json", "",
                       (struct slice){(const char *)body.p, body.n});
    buf_done(&text);
    buf_done(&body);
}

/* The model has a token. */
static void on_token(struct generator *g, const struct engine_token *t, int64_t now_ns)
{
    struct generation *x = t->job->user;
    struct clock_pair now = clock_pair_take();
    VEC_PUSH(&x->made_ns, now.real_ns - (now.mono_ns - t->due_ns));
    if (!x->stream) {
        if (t->last)
            answer_whole(x);
        return;
    }
    if (g->options.profile->delivery == DELIVERY_COLLECT) {
        if (t->last) {
            send_head(x, now_ns);
            prepare(x);
            x->release_ns = now_ns;
        }
        return;
    }
    if (!x->head_sent) {
        send_head(x, now_ns);
        prepare(x);
    }
    write_next(x, now_ns);
    if (t->last) {
        while (write_next(x, now_ns))
            ;
        finish(x);
    }
}

/* The next event of a collected reply leaves; each costs the server the same time. */
static void release_one(struct generation *x, int64_t now_ns)
{
    if (!write_next(x, now_ns)) {
        finish(x);
        return;
    }
    x->release_ns += x->g->options.profile->event_cost_ns;
    if (x->release_ns < now_ns - LATE_NS) /* the machine was away: no catching up in one burst */
        x->release_ns = now_ns;
}

static int64_t heartbeat_due(const struct generation *x)
{
    int64_t every = x->g->options.profile->heartbeat_ns;
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

static void on_due(void *ctx)
{
    struct generator *g = ctx;
    struct engine_token t;
    int64_t now = clock_mono_ns();
    while (engine_step(&g->engine, now, &t))
        on_token(g, &t, now);
    for (struct generation *x = g->first, *next; x != NULL; x = next) {
        next = x->next;
        if (x->release_ns >= 0 && x->release_ns <= now) {
            release_one(x, now);
        } else if (heartbeat_due(x) >= 0 && heartbeat_due(x) <= now) {
            server_conn_piece(x->c, slice_of(": heartbeat\n\n"));
            x->silent_ns = now;
        }
    }
    schedule(g);
}

void generator_start(struct generator *g, struct server_conn *c, const struct dialect_request *q,
                     struct slice body)
{
    const struct profile *p = g->options.profile;
    int64_t now = clock_mono_ns();
    struct generation *x = mem_zalloc(sizeof *x);
    *x = (struct generation){
        .g = g, .next = g->first, .c = c, .number = ++g->started, .release_ns = -1};
    if (g->first != NULL)
        g->first->prev = x;
    g->first = x;
    server_conn_set_user(c, x);
    buf_init(&x->event, EVENT_BYTES);
    x->seed = engine_mix(g->options.seed, hash_of(body));
    snprintf(x->id, sizeof x->id, "chatcmpl-%016" PRIx64 "-%" PRIu64, x->seed, x->number);
    x->stream = q->stream == 1;
    x->with_usage = p->usage == USAGE_ALWAYS || q->usage_asked;
    x->job = (struct engine_job){.prompt_tokens = q->prompt_words,
                                 .output_tokens =
                                     q->max_tokens > 0 ? q->max_tokens : GENERATOR_DEFAULT_TOKENS,
                                 .seed = x->seed,
                                 .user = x};
    x->reply =
        (struct dialect_reply){.id = x->id,
                               .model = p->model,
                               .fingerprint = "tokaudit-serve-" TOKAUDIT_VERSION "-simulated",
                               .created_s = clock_real_ns() / NS_PER_S,
                               .usage = {q->prompt_words, x->job.output_tokens, -1, -1},
                               .finish = "length"};
    tell_request(x);
    engine_submit(&g->engine, &x->job, now);
    if (x->stream && p->role_event == ROLE_AT_ONCE) {
        send_head(x, now);
        prepare(x);
    }
    schedule(g);
}
