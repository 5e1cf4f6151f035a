/* Recorded responses, played to who asks. All times of a reply hang on one origin, the last byte of
 * its request: being late once delays nothing behind it. */
#include "replay/playback.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "replay/agenda.h"
#include "replay/listener.h"
#include "replay/release.h"
#include "replay/server_conn.h"
#include "traces/base/buf.h"
#include "traces/base/clock.h"
#include "traces/base/jsonw.h"
#include "traces/base/log.h"
#include "traces/base/mem.h"
#include "traces/base/text.h"
#include "traces/base/vec.h"

enum {
    TEXT_BYTES = 256 << 10,
    AT_ONCE = 64, /* segments that are due together before the other clients have their turn */
    SWEEP = 1024, /* dropped replies that are worth it */
    LATE_NS = NS_PER_MS
};

enum play_state {
    PLAY_SENDING,
    PLAY_ENDING, /* all is written: the connection is ended when its time comes, nothing else */
    PLAY_IDLING  /* the same, if no other request comes before */
};

/* One reply. It is in the agenda, or it waits for its client to read. */
struct play {
    struct playback *pb;
    struct server_conn *c; /* NULL: gone; it is freed when its time comes */
    const struct recording_exchange *x;
    enum play_state state;
    bool blocked;
    uint64_t number;
    int64_t origin_ns; /* monotonic: the request's last byte */
    size_t next, place;
};

struct playback {
    struct server_conn_env env;
    struct listener listener;
    struct playback_options options;
    struct answers *answers;
    struct release *release;
    struct agenda agenda; /* places of plays */
    VEC(struct play *) plays;
    VEC(size_t) free_places;
    size_t dropped; /* still in the agenda */
    char name[160];
    bool closing;
    struct playback_counts counts;
};

/* --- what is played ------------------------------------------------------------------------- */

static bool ended_by_server(const struct recording_exchange *x)
{
    return x->after == RECORDING_CLOSED || x->after == RECORDING_RESET;
}

bool playback_can_serve(const struct recording_exchange *x)
{
    switch (x->response_flaw) {
    case RECORDING_GAP:
    case RECORDING_TUNNEL:
        return false;
    case RECORDING_NONE: /* a server that ends the connection instead of answering is an answer */
        return ended_by_server(x);
    case RECORDING_WHOLE:
    case RECORDING_CUT:
    case RECORDING_TOO_LONG:
    case RECORDING_REDACTED:
        break;
    }
    return true;
}

static bool is_whole(const struct recording_exchange *x)
{
    return x->response_flaw == RECORDING_WHOLE || x->response_flaw == RECORDING_REDACTED;
}

/* Is it the connection's last response, as the client can know? */
static bool is_last(const struct recording_exchange *x)
{
    return !is_whole(x) || x->close_said;
}

/* When what was recorded at t_ns is due, on the monotonic clock. */
static int64_t due_ns(const struct play *p, int64_t t_ns)
{
    double speed = p->pb->options.speed;
    int64_t after = t_ns - p->x->request_last_ns;
    if (speed <= 0 || after < 0)
        return p->origin_ns;
    return p->origin_ns + (speed == 1 ? after : (int64_t)((double)after / speed));
}

static int64_t end_due_ns(const struct play *p)
{
    const struct recording_exchange *x = p->x;
    if (ended_by_server(x))
        return due_ns(p, x->after_ns);
    return x->n_segments > 0 ? due_ns(p, x->segments[x->n_segments - 1].t_ns) : p->origin_ns;
}

/* --- truth ---------------------------------------------------------------------------------- */

static void tell_request(const struct play *p)
{
    struct clock_pair now = clock_pair_take();
    if (p->pb->options.truth == NULL)
        return;
    fprintf(p->pb->options.truth,
            "{\"request\":%" PRIu64 ",\"recorded\":%" PRIu64 ",\"port\":%u,\"segments\":%zu"
            ",\"t_ns\":\"%" PRId64 "\"}\n",
            p->number, p->x->id, server_conn_peer_port(p->c), p->x->n_segments,
            now.real_ns - (now.mono_ns - p->origin_ns));
}

/* Of a segment that has just left. */
static void tell_segment(struct play *p, int64_t due, int64_t left)
{
    struct playback_counts *n = &p->pb->counts;
    int64_t late = left - due;
    n->segments++;
    if (p->pb->options.speed > 0) {
        n->late += late > LATE_NS;
        n->latest_ns = late > n->latest_ns ? late : n->latest_ns;
    }
    if (p->pb->options.truth == NULL)
        return;
    struct clock_pair now = clock_pair_take();
    fprintf(p->pb->options.truth,
            "{\"request\":%" PRIu64 ",\"segment\":%zu,\"bytes\":%zu,\"due_ns\":\"%" PRId64
            "\",\"t_ns\":\"%" PRId64 "\"}\n",
            p->number, p->next, p->x->segments[p->next].bytes.n, now.real_ns - (now.mono_ns - due),
            now.real_ns - (now.mono_ns - left));
}

/* --- a reply's life ------------------------------------------------------------------------- */

static void schedule(struct playback *pb)
{
    int64_t at = agenda_next(&pb->agenda);
    if (pb->release == NULL)
        return;
    if (at == INT64_MAX)
        release_stop(pb->release);
    else
        release_at(pb->release, at);
}

static void play_free(struct play *p)
{
    struct playback *pb = p->pb;
    pb->plays.v[p->place] = NULL;
    VEC_PUSH(&pb->free_places, p->place);
    free(p);
}

/* What was dropped may be due in hours: it goes when it is half of the agenda. */
static void sweep(struct playback *pb)
{
    struct agenda old = pb->agenda;
    pb->agenda = (struct agenda){0};
    pb->dropped = 0;
    for (size_t i = 0; i < old.heap.n; i++) {
        struct play *p = pb->plays.v[old.heap.v[i].what];
        if (p->c == NULL)
            play_free(p);
        else
            agenda_add(&pb->agenda, old.heap.v[i].at_ns, p->place);
    }
    agenda_free(&old);
}

/* The client's part is over; who is in the agenda goes when it is taken out. */
static void play_drop(struct play *p)
{
    struct playback *pb = p->pb;
    server_conn_set_user(p->c, NULL);
    p->c = NULL;
    if (p->blocked)
        play_free(p);
    else if (++pb->dropped >= SWEEP && pb->dropped > pb->agenda.heap.n / 2)
        sweep(pb);
}

static void play_at(struct play *p, int64_t at_ns)
{
    agenda_add(&p->pb->agenda, at_ns, p->place);
}

static void play_hang_up(struct play *p)
{
    struct server_conn *c = p->c;
    bool reset = p->x->after == RECORDING_RESET;
    server_conn_set_user(c, NULL);
    play_free(p);
    server_conn_hang_up(c, reset);
}

/* All of it is written: how the connection goes on. */
static void play_over(struct play *p)
{
    struct playback *pb = p->pb;
    struct server_conn *c = p->c;
    pb->counts.replies++;
    pb->counts.cut += !is_whole(p->x);
    if (pb->options.truth != NULL)
        fflush(pb->options.truth);
    if (is_last(p->x)) {
        p->state = PLAY_ENDING;
        play_at(p, end_due_ns(p));
        return;
    }
    /* Without time an idle connection can't be closed in time. */
    if (ended_by_server(p->x) && pb->options.speed > 0) {
        p->state = PLAY_IDLING;
        play_at(p, end_due_ns(p));
    } else {
        server_conn_set_user(c, NULL);
        play_free(p);
    }
    server_conn_raw_end(c); /* the next request may come from in here */
}

/* Writes what is due by now. */
static void play_segments(struct play *p)
{
    const struct recording_exchange *x = p->x;
    for (int n = 0; p->next < x->n_segments; n++) {
        int64_t due = due_ns(p, x->segments[p->next].t_ns), now = clock_mono_ns();
        if (due > now || n == AT_ONCE) {
            play_at(p, due > now ? due : now);
            return;
        }
        bool taken = server_conn_raw(p->c, x->segments[p->next].bytes);
        tell_segment(p, due, now);
        p->next++;
        if (!taken) {
            p->blocked = true;
            return;
        }
    }
    play_over(p);
}

static void on_due(void *ctx)
{
    struct playback *pb = ctx;
    int64_t now =
        clock_mono_ns(); /* what is due later waits for a turn of the loop, and its reads */
    while (agenda_next(&pb->agenda) <= now) {
        struct play *p = pb->plays.v[agenda_pop(&pb->agenda)];
        if (p->c == NULL) {
            pb->dropped--;
            play_free(p);
        } else if (p->state == PLAY_SENDING) {
            play_segments(p);
        } else {
            play_hang_up(p);
        }
    }
    schedule(pb);
}

static void on_drained(void *ctx, struct server_conn *c)
{
    struct playback *pb = ctx;
    struct play *p = server_conn_user(c);
    if (p == NULL || !p->blocked)
        return;
    p->blocked = false;
    play_segments(p);
    schedule(pb);
}

static void play_start(struct playback *pb, struct server_conn *c,
                       const struct recording_exchange *x, int64_t origin_ns)
{
    struct play *p = mem_zalloc(sizeof *p);
    *p = (struct play){.pb = pb, .c = c, .x = x, .number = pb->counts.requests};
    p->origin_ns = origin_ns;
    if (pb->free_places.n > 0) {
        p->place = pb->free_places.v[--pb->free_places.n];
        pb->plays.v[p->place] = p;
    } else {
        p->place = pb->plays.n;
        VEC_PUSH(&pb->plays, p);
    }
    server_conn_set_user(c, p);
    tell_request(p);
    play_at(p, x->n_segments > 0 ? due_ns(p, x->segments[0].t_ns) : end_due_ns(p));
    schedule(pb);
}

/* --- requests ------------------------------------------------------------------------------- */

/* In words, as JSON: nothing else here is to be mistaken for the recorded server. */
static void refuse(struct playback *pb, struct server_conn *c, int status, const char *type,
                   struct slice why)
{
    struct jsonw w;
    struct buf body, shown;
    buf_init(&body, 8 * TEXT_BYTES);
    buf_init(&shown, 8 * TEXT_BYTES);
    jsonw_init(&w, &body, 0);
    jsonw_object(&w, NULL);
    jsonw_object(&w, "error");
    jsonw_slice(&w, "message", why);
    jsonw_text(&w, "type", type);
    jsonw_int(&w, "code", status);
    jsonw_end(&w);
    jsonw_text(&w, "server", pb->name);
    jsonw_end(&w);
    buf_puts(&body, "\n");
    text_terminal(&shown, why);
    log_info("%d on port %u: %s", status, server_conn_peer_port(c), buf_text(&shown));
    server_conn_answer(c, status, "application/json", "",
                       (struct slice){(const char *)body.p, body.n});
    buf_done(&shown);
    buf_done(&body);
}

static void refuse_flawed(struct playback *pb, struct server_conn *c,
                          const struct recording_exchange *x)
{
    char why[256];
    snprintf(why, sizeof why,
             "the recorded response to this request (exchange %" PRIu64 ", frame %" PRIu64
             ") can't be served: %s",
             x->id, x->frame, recording_flaw_text(x->response_flaw));
    pb->counts.unusable++;
    refuse(pb, c, 502, "recording_damaged", slice_of(why));
}

static void on_request(void *ctx, struct server_conn *c, const struct server_request *r)
{
    struct playback *pb = ctx;
    struct play *idling = server_conn_user(c);
    struct buf why;
    if (idling != NULL)
        play_drop(idling);
    pb->counts.requests++;
    if (r->body_too_large) {
        pb->counts.unmatched++;
        refuse(pb, c, 413, "body_too_large",
               slice_of("the body is larger than what is kept of a recorded one"));
        return;
    }
    buf_init(&why, TEXT_BYTES);
    struct answers_found found = answers_find(pb->answers, r->method, r->target, r->body, &why);
    if (found.x == NULL) {
        pb->counts.unmatched++;
        refuse(pb, c, 404, "not_recorded", (struct slice){(const char *)why.p, why.n});
    } else {
        pb->counts.again += found.again;
        log_info("request %" PRIu64 " on port %u: exchange %" PRIu64 ", found by %s%s",
                 pb->counts.requests, server_conn_peer_port(c), found.x->id,
                 answers_match_word(found.by),
                 found.again ? "; all such have been given, and begin again" : "");
        if (playback_can_serve(found.x))
            play_start(pb, c, found.x, r->last_ns);
        else
            refuse_flawed(pb, c, found.x);
    }
    buf_done(&why);
}

static void on_malformed(void *ctx, struct server_conn *c)
{
    struct playback *pb = ctx;
    pb->counts.requests++;
    pb->counts.unmatched++;
    refuse(pb, c, 400, "bad_request", slice_of("what came is no HTTP/1.1 request"));
}

static void on_gone(void *ctx, struct server_conn *c)
{
    struct playback *pb = ctx;
    struct play *p = server_conn_user(c);
    if (p == NULL)
        return;
    if (p->state == PLAY_SENDING && pb->closing)
        pb->counts.unanswered++;
    else if (p->state == PLAY_SENDING)
        pb->counts.abandoned++;
    play_drop(p);
}

/* --- the server ----------------------------------------------------------------------------- */

struct playback *playback_open(uv_loop_t *loop, const char *address,
                               const struct playback_options *options, struct err *e)
{
    struct playback *pb = mem_zalloc(sizeof *pb);
    pb->options = *options;
    snprintf(pb->name, sizeof pb->name, "tokaudit-serve/" TOKAUDIT_VERSION " (recorded)");
    pb->env.loop = loop;
    pb->env.sink = (struct server_conn_sink){pb, on_request, on_malformed, on_gone, on_drained};
    pb->env.server = pb->name;
    listener_init(&pb->listener, &pb->env);
    pb->answers = answers_new(options->recording, options->match);
    pb->release = release_new(loop, RELEASE_GENTLY, on_due, pb, e);
    if (pb->release != NULL && listener_open(&pb->listener, address, e) == TA_OK)
        return pb;
    playback_close(pb);
    uv_run(loop, UV_RUN_DEFAULT);
    playback_free(pb);
    return NULL;
}

uint16_t playback_port(const struct playback *p)
{
    return p->listener.port;
}

const char *playback_url(const struct playback *p)
{
    return p->listener.url;
}

struct playback_counts playback_counts(const struct playback *p)
{
    return p->counts;
}

void playback_close(struct playback *p)
{
    if (p->closing)
        return;
    p->closing = true;
    listener_close(&p->listener);
    server_conn_close_all(&p->env);
    release_free(p->release);
    p->release = NULL;
}

void playback_free(struct playback *p)
{
    if (p == NULL)
        return;
    for (size_t i = 0; i < p->plays.n; i++)
        free(p->plays.v[i]);
    VEC_FREE(&p->plays);
    VEC_FREE(&p->free_places);
    agenda_free(&p->agenda);
    answers_free(p->answers);
    free(p);
}
