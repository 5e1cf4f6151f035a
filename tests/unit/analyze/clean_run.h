/* Honest runs made from seeds: a server of one of the ten dialects, a load, and every time and
 * count of both, written as a trace by the dialects' own writers. */
#ifndef TESTS_UNIT_ANALYZE_CLEAN_RUN_H
#define TESTS_UNIT_ANALYZE_CLEAN_RUN_H

#include <math.h>
#include <stdlib.h>

#include "tests/support/dialect_trace.h"
#include "tests/unit/analyze/scene.h"

enum {
    LANES_MAX = 8,
    REQUESTS_MAX = 16,
    TOKENS_MAX = 72,
    PARCELS_MAX = REQUESTS_MAX * (2 * TOKENS_MAX + 16)
};

enum framing { CHUNKED, UNTIL_CLOSE, HTTP_1_0, FRAMINGS };
enum usage_form { USAGE_OF_ITS_OWN, USAGE_WITH_FINISH, USAGE_IN_EVERY, USAGE_NONE, USAGE_FORMS };

/* What kind of honest server and load a seed stands for. */
struct character {
    uint64_t seed, chance;
    const struct dialect *d;
    size_t lanes, requests;
    bool keep_alive, early_head, pings, role_in_every, stops;
    enum framing framing;
    enum usage_form usage;
    size_t thinking;          /* tokens of it, the first ones of each answer */
    double base_s, prefill_s; /* to the first token: in all, and for each token of the prompt */
    double step_s, jitter;    /* from token to token; either way, as a share of that */
    double think_s;           /* from an answer to the lane's next request */
    double stagger_s;         /* from lane to lane, at the start */
    double glued, split;      /* shares of events that share a packet, or need two */
};

/* A request as it truly was. Seconds after the epoch. */
struct honest {
    size_t lane, conn;
    double t0, head, o[TOKENS_MAX], z;
    size_t tokens;
    int64_t prompt, limit;
};

enum parcel_kind { PARCEL_OPEN, PARCEL_SENT, PARCEL_RECEIVED, PARCEL_ENDS };

/* What happens on a socket at a time. */
struct parcel {
    int64_t t_ns;
    size_t nth; /* for parcels of one time */
    enum parcel_kind kind;
    size_t conn, off, n;
};

struct clean_run {
    struct character c;
    struct honest all[REQUESTS_MAX]; /* in order of t0 */
    size_t n, conns;
    struct parcel parcels[PARCELS_MAX];
    size_t n_parcels;
    struct buf bytes, event;
};

static inline double between(struct character *c, double lo, double hi)
{
    return lo + (hi - lo) * scene_random(&c->chance);
}

static inline size_t choose(struct character *c, size_t n)
{
    return (size_t)(scene_random(&c->chance) * (double)n);
}

static inline bool coin(struct character *c, double share)
{
    return scene_random(&c->chance) < share;
}

static inline bool is_openai_text(const struct dialect *d)
{
    return d == &dialect_openai_chat || d == &dialect_openai_completions;
}

static inline struct character character_of(uint64_t seed)
{
    static const size_t lanes[] = {1, 1, 2, 4, LANES_MAX};
    struct character c = {.seed = seed, .chance = (seed + 1) * UINT64_C(0x9E3779B97F4A7C15)};
    for (int i = 0; i < 4; i++)
        scene_random(&c.chance);
    c.d = dialect_all[seed % 10];
    c.lanes = lanes[choose(&c, 5)];
    c.requests = c.lanes * (1 + choose(&c, REQUESTS_MAX / c.lanes));
    c.requests = c.requests < 3 ? 3 : c.requests;
    c.framing = (enum framing)choose(&c, FRAMINGS + 2) % FRAMINGS;
    c.keep_alive = c.framing == CHUNKED && coin(&c, 0.6);
    c.early_head = coin(&c, 0.5);
    c.pings = coin(&c, 0.3);
    c.role_in_every = coin(&c, 0.2);
    c.stops = coin(&c, 0.3);
    c.usage = is_openai_text(c.d) ? (enum usage_form)choose(&c, USAGE_FORMS) : USAGE_OF_ITS_OWN;
    c.thinking = coin(&c, 0.3) ? 1 + choose(&c, 8) : 0;
    c.base_s = between(&c, 0.01, 0.25);
    c.prefill_s = between(&c, 20e-6, 300e-6);
    c.step_s = between(&c, 0.006, 0.05);
    c.jitter = between(&c, 0, 0.45);
    c.think_s = coin(&c, 0.5) ? between(&c, 0.001, 0.3) : 0.001;
    c.stagger_s = coin(&c, 0.5) ? between(&c, 0, 20e-6) : between(&c, 0.01, 0.2);
    c.glued = coin(&c, 0.5) ? between(&c, 0, 0.15) : 0;
    c.split = coin(&c, 0.5) ? between(&c, 0, 0.3) : 0;
    return c;
}

/* --- when everything happens ------------------------------------------------------------------ */

static inline double honest_answer(struct character *c, struct honest *h)
{
    size_t longest = c->lanes > 4 ? TOKENS_MAX / 2 : TOKENS_MAX;
    double t = h->t0 + c->base_s * between(c, 0.9, 1.1) +
               c->prefill_s * between(c, 0.9, 1.1) * (double)h->prompt;
    h->tokens = 16 + choose(c, longest - 16);
    h->limit = (int64_t)h->tokens + (c->stops ? (int64_t)choose(c, h->tokens / 2) + 1 : 0);
    h->head = c->early_head ? h->t0 + between(c, 0.0005, 0.003) : t - 150e-6;
    for (size_t k = 0; k < h->tokens; k++) {
        h->o[k] = t;
        t += c->step_s * between(c, 1 - c->jitter, 1 + c->jitter);
    }
    for (size_t k = 2; k + 2 < h->tokens; k++) {
        if (coin(c, c->glued))
            h->o[k] = h->o[k + 1]; /* what it waits for is its own server's next write */
    }
    h->z = h->o[h->tokens - 1] + between(c, 0.0006, 0.004);
    return h->z;
}

static inline int by_t0(const void *a, const void *b)
{
    const struct honest *x = a, *y = b;
    return (x->t0 > y->t0) - (x->t0 < y->t0);
}

static inline void honest_times(struct clean_run *r)
{
    struct character *c = &r->c;
    double free_at[LANES_MAX];
    for (size_t i = 0; i < c->lanes; i++)
        free_at[i] = 0.5 + (double)i * c->stagger_s;
    r->n = c->requests;
    for (size_t i = 0; i < r->n; i++) {
        struct honest *h = &r->all[i];
        *h = (struct honest){.lane = i % c->lanes, .prompt = 20 + (int64_t)choose(c, 1200)};
        h->conn = c->keep_alive ? h->lane : i;
        h->t0 = free_at[h->lane];
        free_at[h->lane] = honest_answer(c, h) + c->think_s * between(c, 0.5, 1.5) + 0.001;
    }
    r->conns = c->keep_alive ? c->lanes : r->n;
    qsort(r->all, r->n, sizeof *r->all, by_t0);
}

/* --- its bytes -------------------------------------------------------------------------------- */

static inline void parcel(struct clean_run *r, double t_s, enum parcel_kind kind, size_t conn,
                          struct slice bytes)
{
    assert_true(r->n_parcels < PARCELS_MAX);
    r->parcels[r->n_parcels] = (struct parcel){
        DIALECT_T0 + llround(t_s * NS_PER_S), r->n_parcels, kind, conn, r->bytes.n, bytes.n};
    r->n_parcels++;
    buf_put(&r->bytes, bytes.p, bytes.n);
}

/* What has been written so far leaves: in one piece, or in two of which the second is the later. */
static inline void leave(struct clean_run *r, const struct honest *h, double t_s, bool last)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    bool chunk = r->c.framing == CHUNKED && r->event.n > 0;
    if (chunk)
        buf_printf(&out, "%zx\r\n", r->event.n);
    buf_put(&out, r->event.p, r->event.n);
    if (chunk)
        buf_puts(&out, "\r\n");
    if (last && r->c.framing == CHUNKED)
        buf_puts(&out, "0\r\n\r\n");
    buf_clear(&r->event);
    struct slice all = {(const char *)out.p, out.n};
    if (all.n > 2 && coin(&r->c, r->c.split)) {
        size_t at = 1 + choose(&r->c, all.n - 1);
        parcel(r, t_s - between(&r->c, 20e-6, 100e-6), PARCEL_RECEIVED, h->conn,
               (struct slice){all.p, at});
        all = (struct slice){all.p + at, all.n - at};
    }
    if (all.n > 0)
        parcel(r, t_s, PARCEL_RECEIVED, h->conn, all);
    buf_done(&out);
}

static inline const char *word(struct character *c)
{
    static const char *const words[] = {
        " time",       " year",   " people",  " way",     " day",     " man",      " thing",
        " woman",      " life",   " child",   " world",   " school",  " state",    " family",
        " student",    " group",  " country", " problem", " hand",    " part",     " place",
        " case",       " week",   " company", " system",  " program", " question", " work",
        " government", " number", " night",   " point"};
    return words[choose(c, sizeof words / sizeof *words)];
}

/* Its prompt, its limit and what is left stand between these; the object is open behind them. */
static const struct {
    const struct dialect *d;
    const char *before_prompt, *before_limit, *rest;
} bodies[] = {
    {&dialect_tgi, "{\"inputs\":\"",
     "\",\"parameters\":{\"max_new_tokens\":", ",\"details\":true}"},
    {&dialect_sglang_generate, "{\"text\":\"",
     "\",\"sampling_params\":{\"max_new_tokens\":", "},\"stream\":true"},
    {&dialect_lmstudio_chat, "{\"model\":\"m\",\"input\":\"",
     "\",\"max_output_tokens\":", ",\"stream\":true"},
    {&dialect_openai_responses, "{\"model\":\"m\",\"input\":\"",
     "\",\"max_output_tokens\":", ",\"stream\":true"},
    {&dialect_ollama_generate, "{\"model\":\"m\",\"prompt\":\"",
     "\",\"options\":{\"num_predict\":", "}"},
    {&dialect_ollama_chat, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"",
     "\"}],\"options\":{\"num_predict\":", "}"},
    {&dialect_llama_completion, "{\"prompt\":\"", "\",\"n_predict\":", ",\"stream\":true"},
    {&dialect_openai_completions, "{\"model\":\"m\",\"prompt\":\"",
     "\",\"max_tokens\":", ",\"stream\":true"},
    {&dialect_openai_chat, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"",
     "\"}],\"max_tokens\":", ",\"stream\":true"},
    {&dialect_anthropic_messages,
     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"",
     "\"}],\"max_tokens\":", ",\"stream\":true"},
};

static inline void ask(struct clean_run *r, const struct honest *h)
{
    struct character *c = &r->c;
    struct buf head, body;
    size_t i = 0;
    while (bodies[i].d != c->d)
        i++;
    buf_init(&head, 1024);
    buf_init(&body, 1 << 20);
    buf_puts(&body, bodies[i].before_prompt);
    for (int64_t k = 0; k < h->prompt; k++)
        buf_puts(&body, word(c));
    buf_printf(&body, "%s%lld%s%s}", bodies[i].before_limit, (long long)h->limit, bodies[i].rest,
               is_openai_text(c->d) && (c->usage == USAGE_OF_ITS_OWN || c->usage == USAGE_IN_EVERY)
                   ? ",\"stream_options\":{\"include_usage\":true}"
                   : "");
    buf_printf(&head,
               "POST %s HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nContent-Type: application/json\r\n"
               "Content-Length: %zu\r\n\r\n",
               c->d->path, body.n);
    parcel(r, h->t0, PARCEL_SENT, h->conn, (struct slice){(const char *)head.p, head.n});
    parcel(r, h->t0, PARCEL_SENT, h->conn, (struct slice){(const char *)body.p, body.n});
    buf_done(&head);
    buf_done(&body);
}

static inline struct dialect_reply reply_of(const struct character *c, const struct honest *h)
{
    double window = h->o[h->tokens - 1] - h->o[0];
    struct dialect_reply y = {.id = "id",
                              .model = "m",
                              .created_s = DIALECT_T0 / NS_PER_S,
                              .usage = {h->prompt, (int64_t)h->tokens, 0, (int64_t)c->thinking},
                              .timings = {.prompt_n = (double)h->prompt,
                                          .prompt_ms = 1e3 * (h->o[0] - h->t0 - 0.0005),
                                          .predicted_n = (double)h->tokens,
                                          .predicted_ms = 1e3 * window,
                                          .predicted_per_second = (double)h->tokens / window},
                              .finish = c->stops ? "stop" : "length",
                              .usage_with_finish = c->usage == USAGE_WITH_FINISH,
                              .usage_in_every = c->usage == USAGE_IN_EVERY,
                              .role_in_every = c->role_in_every};
    if (c->usage == USAGE_NONE)
        y.usage.prompt = -1;
    return y;
}

static inline void begin(struct clean_run *r, const struct honest *h, const struct dialect_reply *y,
                         struct dialect_writing *w)
{
    struct character *c = &r->c;
    struct buf head;
    buf_init(&head, 1024);
    buf_printf(&head, "HTTP/1.%c 200 OK\r\nContent-Type: %s\r\n%s\r\n",
               c->framing == HTTP_1_0 ? '0' : '1', c->d->stream_type,
               c->framing == CHUNKED    ? "Transfer-Encoding: chunked\r\n"
               : c->framing == HTTP_1_0 ? ""
                                        : "Connection: close\r\n");
    parcel(r, h->head, PARCEL_RECEIVED, h->conn, (struct slice){(const char *)head.p, head.n});
    buf_done(&head);
    c->d->put_begin(&r->event, y, w);
    if (c->early_head)
        leave(r, h, h->head + 300e-6, false);
    if (c->early_head && c->pings && c->d->put_ping != NULL && h->o[0] - h->t0 > 0.06) {
        c->d->put_ping(&r->event);
        leave(r, h, h->t0 + 0.05, false);
    }
}

static inline void answer(struct clean_run *r, const struct honest *h)
{
    struct character *c = &r->c;
    struct dialect_reply y = reply_of(c, h);
    struct dialect_writing w;
    begin(r, h, &y, &w);
    for (size_t k = 0; k < h->tokens; k++) {
        struct dialect_part piece = {k < c->thinking ? DELTA_REASONING : DELTA_TEXT,
                                     slice_of(word(c))};
        y.usage.completion = (int64_t)k + 1;
        c->d->put_piece(&r->event, &y, &w, piece);
        if (k + 1 == h->tokens || h->o[k + 1] > h->o[k])
            leave(r, h, h->o[k], false);
    }
    c->d->put_finish(&r->event, &y, &w);
    if (coin(c, 0.5))
        leave(r, h, (h->o[h->tokens - 1] + h->z) / 2, false);
    if (c->d->put_usage != NULL && (c->usage == USAGE_OF_ITS_OWN || c->usage == USAGE_IN_EVERY))
        c->d->put_usage(&r->event, &y, &w);
    if (c->d->put_done != NULL)
        c->d->put_done(&r->event, &y, &w);
    leave(r, h, c->framing == CHUNKED ? h->z : h->z - 50e-6, true);
    if (!c->keep_alive)
        parcel(r, h->z, PARCEL_ENDS, h->conn, slice_of(""));
    dialect_writing_done(&w);
}

static inline int by_time(const void *a, const void *b)
{
    const struct parcel *x = a, *y = b;
    if (x->t_ns != y->t_ns)
        return x->t_ns < y->t_ns ? -1 : 1;
    return (x->nth > y->nth) - (x->nth < y->nth);
}

static inline int deliver(struct clean_run *r, struct dialect_trace *m, struct socket_flow **flows)
{
    int rc = TA_OK;
    for (size_t i = 0; i < r->n_parcels && rc == TA_OK; i++) {
        const struct parcel *p = &r->parcels[i];
        struct sockaddr_in local = dialect_address(40001 + (unsigned)p->conn),
                           remote = dialect_address(8000);
        const uint8_t *bytes = r->bytes.p + p->off;
        if (flows[p->conn] == NULL)
            flows[p->conn] =
                socket_flow_open(m->rec, (struct sockaddr *)&local, (struct sockaddr *)&remote,
                                 true, p->t_ns - 200000, &m->e);
        assert_non_null(flows[p->conn]);
        if (p->kind == PARCEL_SENT)
            rc = socket_flow_sent(flows[p->conn], bytes, p->n, p->t_ns, &m->e);
        else if (p->kind == PARCEL_RECEIVED)
            rc = socket_flow_received(flows[p->conn], bytes, p->n, p->t_ns, &m->e);
        else
            rc = socket_flow_closed(flows[p->conn], true, false, p->t_ns, &m->e);
        if (rc == TA_OK && p->kind == PARCEL_ENDS)
            rc = socket_flow_closed(flows[p->conn], false, false, p->t_ns + 100000, &m->e);
    }
    return rc;
}

static inline void write_trace(struct clean_run *r, const char *path)
{
    struct writer_origin origin = {
        .vantage = "socket", .link = LINK_RAW, .snaplen = 262144, .host = "here"};
    struct dialect_trace m = {0};
    struct socket_flow *flows[REQUESTS_MAX] = {0};
    if (writer_open(&m.w, path, &origin, &m.e) != TA_OK)
        fail_msg("%s", m.e.msg);
    m.rec = socket_recorder_new(m.w);
    qsort(r->parcels, r->n_parcels, sizeof *r->parcels, by_time);
    if (deliver(r, &m, flows) != TA_OK)
        fail_msg("%s", m.e.msg);
    for (size_t i = 0; i < r->conns; i++)
        socket_flow_free(flows[i]);
    socket_recorder_free(m.rec);
    if (writer_close(m.w, &m.e) != TA_OK)
        fail_msg("%s", m.e.msg);
}

#endif
