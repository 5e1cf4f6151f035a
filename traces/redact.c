/* The redactor: packets in, packets out in their order, with secrets (and texts) overwritten. A
 * packet is copied only if something in it must change, or if it has to wait. */
#include "traces/redact.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/rand.h>

#include "traces/base/buf.h"
#include "traces/base/clock.h"
#include "traces/base/jsonw.h"
#include "traces/base/mem.h"
#include "traces/fragments.h"
#include "traces/ip.h"
#include "traces/limits.h"
#include "traces/redact_edit.h"
#include "traces/redact_pieces.h"
#include "traces/redact_stream.h"
#include "traces/tcp_key.h"

#define HASH_FUNCTION(key, n, hash) ((hash) = tcp_key_hash(key))
#define uthash_malloc(size) mem_alloc(size)
#include <uthash.h>
#include <utlist.h>

enum { SALT_BYTES = 32 };
enum { NOTES_BYTES = 32 << 10 }; /* of a block of kind "bodies", before it is handed on */

struct connection {
    struct tcp_key key;
    struct endpoint ends[2];
    struct redact_stream side[2]; /* sent by ends[0], ends[1] */
    struct redact_exchange exchange;
    struct connection *prev, *next; /* longest idle first */
    UT_hash_handle hh;
};

struct redactor {
    enum redact_mode mode;
    struct redact_sink out;
    struct redact_totals totals;
    struct connection *table, *idle, *latest;
    size_t connections;
    struct redact_held *first, *last;
    size_t held_bytes;
    struct fragments *fragments; /* datagrams of which pieces wait */
    struct redact_pieces pieces;
    struct redact_edit edit;
    struct buf notes;
    struct jsonw note;
    struct connection *noting; /* whose request is being noted */
    unsigned noting_side;
    int64_t noted_ns;
    struct redact_http_env env;
    uint8_t salt[SALT_BYTES];
    int rc;
};

const char *redact_mode_name(enum redact_mode mode)
{
    static const char *const names[] = {"none", "secrets", "bodies"};
    return names[mode];
}

/* --- connections ------------------------------------------------------------------------------ */

static void forget(struct redactor *r, struct connection *c)
{
    DL_DELETE(r->idle, c);
    HASH_DEL(r->table, c);
    r->connections--;
    if (r->latest == c)
        r->latest = NULL;
    for (int i = 0; i < 2; i++)
        redact_stream_done(&c->side[i]);
    free(c);
}

static struct connection *connection_new(struct redactor *r, const struct segment *s,
                                         const struct tcp_key *key, unsigned side)
{
    struct connection *c = mem_zalloc(sizeof *c);
    c->key = *key;
    c->ends[side] = s->from;
    c->ends[!side] = s->to;
    c->side[0].bodies = c->side[1].bodies = r->mode == REDACT_BODIES;
    HASH_ADD(hh, r->table, key, sizeof c->key, c);
    DL_APPEND(r->idle, c);
    r->connections++;
    return c;
}

static void expire(struct redactor *r, int64_t now_ns, bool all, struct err *e);

/* For a new connection. */
static void make_room(struct redactor *r, struct err *e)
{
    if (r->connections < LIMIT_REDACT_CONNECTIONS)
        return;
    expire(r, 0, true, e); /* what waits points into streams */
    forget(r, r->idle);
}

static struct connection *connection_of(struct redactor *r, const struct segment *s, unsigned *side,
                                        struct err *e)
{
    struct tcp_key key;
    *side = tcp_key_of(s, &key);
    struct connection *c = r->latest;
    if (c != NULL && memcmp(&c->key, &key, sizeof key) == 0)
        return c;
    HASH_FIND(hh, r->table, &key, sizeof key, c);
    if (c != NULL) {
        DL_DELETE(r->idle, c);
        DL_APPEND(r->idle, c);
    } else {
        make_room(r, e);
        c = connection_new(r, s, &key, *side);
    }
    r->latest = c;
    return c;
}

static void take_syn(struct connection *c, unsigned side, const struct segment *s)
{
    struct redact_stream *peer = &c->side[!side];
    uint32_t first = s->seq + 1;
    bool another = c->side[side].started && c->side[side].first != first;
    redact_stream_syn(&c->side[side], first);
    if (s->flags & TCP_ACK || !another)
        return;
    c->exchange = (struct redact_exchange){0};
    if (peer->off > 0) /* of the connection before */
        redact_stream_done(peer);
}

/* --- judging ---------------------------------------------------------------------------------- */

static void judge_segment(struct redactor *r, struct connection *c, unsigned side,
                          const struct segment *s, int64_t t_ns)
{
    struct redact_stream *stream = &c->side[side];
    struct redact_judge j = {&c->exchange,
                             &r->env,
                             t_ns,
                             {&r->edit, redact_edit_fill, &r->totals, &r->edit.changed},
                             &r->edit.base};
    uint32_t seq = s->seq + (s->flags & TCP_SYN ? 1u : 0u);
    r->noting = c;
    r->noting_side = side;
    redact_stream_judge(stream, seq, s->data, s->n, s->wire_n, &j);
    if (redact_lines_opaque(&stream->lines)) {
        redact_lines_close(&c->side[!side].lines);
        c->exchange.tunnel = true;
    }
    redact_edit_mend(&r->edit, s);
}

/* What is no TCP segment: of a fragment without the others, and of what cannot be read, nothing is
 * known. */
static void judge_other(struct redactor *r, enum link_verdict verdict, const uint8_t *p, size_t n,
                        const struct ip_fragment *part)
{
    enum { HEADERS = 54, TCP_HEADER = 20 };
    size_t from = n;
    if (verdict == LINK_UNKNOWN)
        from = 0;
    else if (verdict == LINK_BAD)
        from = n < HEADERS ? n : HEADERS;
    else if (verdict == LINK_FRAGMENT)
        from =
            (size_t)(part->data - p) + (part->offset < TCP_HEADER ? TCP_HEADER - part->offset : 0);
    if (from >= n)
        return;
    redact_edit_begin(&r->edit, p, n, from);
    redact_edit_fill(&r->edit, 0, n - from, FILL_UNJUDGED);
}

static enum link_verdict decode(uint16_t link, const uint8_t *p, size_t n, size_t wire_n,
                                struct segment *s, struct ip_fragment *part)
{
    struct ip_bytes ip;
    enum link_verdict v = link_network(link, p, n, wire_n, &ip);
    *s = (struct segment){.window_scale = -1};
    return v == LINK_IP ? ip_decode(ip, s, part) : v;
}

static int hand_on(struct redactor *r, int64_t t_ns, const uint8_t *p, size_t n, size_t wire_n,
                   struct err *e)
{
    r->totals.packets += p == r->edit.out && p != NULL;
    if (r->rc == TA_OK)
        r->rc = r->out.packet(r->out.ctx, t_ns, p, n, wire_n, e);
    return r->rc;
}

/* --- waiting ---------------------------------------------------------------------------------- */

static struct redact_held *held_new(struct redactor *r, const void *p, size_t n)
{
    struct redact_held *h = mem_alloc(sizeof *h + n);
    *h = (struct redact_held){.n = n};
    if (n > 0)
        memcpy(h->p, p, n);
    r->held_bytes += sizeof *h + n;
    return h;
}

static void held_free(struct redactor *r, struct redact_held *h)
{
    r->held_bytes -= sizeof *h + h->n;
    free(h);
}

static struct redact_held *hold(struct redactor *r, const void *p, size_t n)
{
    struct redact_held *h = held_new(r, p, n);
    if (r->last != NULL)
        r->last->next = h;
    else
        r->first = h;
    r->last = h;
    return h;
}

/* In the order of their numbers; mostly at the end. */
static void wait_for(struct redact_stream *stream, struct redact_held *h, uint32_t seq)
{
    struct redact_held **at = &stream->waiting;
    h->waits_for = stream;
    h->seq = seq;
    if (*at != NULL && (int32_t)(seq - stream->waiting_last->seq) >= 0)
        at = &stream->waiting_last->next_waiting;
    while (*at != NULL && (int32_t)(seq - (*at)->seq) >= 0)
        at = &(*at)->next_waiting;
    h->next_waiting = *at;
    *at = h;
    if (h->next_waiting == NULL)
        stream->waiting_last = h;
}

static void keep_edit(struct redactor *r, struct redact_held *h)
{
    if (r->edit.out == NULL)
        return;
    memcpy(h->p, r->edit.out, h->n);
    r->totals.packets++;
}

/* The segment in what waits: a packet, or a datagram that was put together. */
static void segment_of(const struct redact_held *h, struct segment *s)
{
    struct ip_fragment part;
    if (h->assembled)
        (void)ip_decode_whole(&h->part, s);
    else
        (void)decode(h->link, h->p, h->n, h->wire_n, s, &part);
}

/* Judges what was held, in its place. */
static void judge_held(struct redactor *r, struct redact_held *h, struct connection *c,
                       unsigned side, const struct segment *s)
{
    redact_edit_begin(&r->edit, h->p, h->n, (size_t)(s->data - h->p));
    judge_segment(r, c, side, s, h->t_ns);
    if (!h->assembled) {
        keep_edit(r, h);
        return;
    }
    r->totals.packets += redact_pieces_write(h->pieces, &h->part, &r->edit);
    held_free(r, h);
}

/* Judges those of a stream that wait no longer: a hole was filled, or the first of them is given up
 * on. */
static void release(struct redactor *r, struct connection *c, unsigned side, bool force)
{
    struct redact_stream *stream = &c->side[side];
    while (stream->waiting != NULL) {
        struct redact_held *h = stream->waiting;
        struct segment s;
        segment_of(h, &s);
        if (!force && redact_stream_ahead(stream, s.seq, s.n))
            return;
        stream->waiting = h->next_waiting;
        h->waits_for = NULL;
        judge_held(r, h, c, side, &s);
        force = false;
    }
}

/* Gives up on the hole before what is held. */
static void give_up(struct redactor *r, const struct redact_held *h)
{
    struct segment s;
    struct tcp_key key;
    struct connection *c;
    segment_of(h, &s);
    unsigned side = tcp_key_of(&s, &key);
    HASH_FIND(hh, r->table, &key, sizeof key, c);
    release(r, c, side, true);
}

/* A piece whose datagram did not become whole in time. */
static void give_up_piece(struct redactor *r, struct redact_held *h)
{
    redact_pieces_drop(&r->pieces, h);
    r->edit.out = NULL;
    judge_other(r, LINK_FRAGMENT, h->p, h->n, &h->part);
    keep_edit(r, h);
}

static void hand_on_first(struct redactor *r, struct err *e)
{
    struct redact_held *h = r->first;
    r->first = h->next;
    if (r->first == NULL)
        r->last = NULL;
    r->edit.out = NULL;
    if (!h->custom)
        (void)hand_on(r, h->t_ns, h->p, h->n, h->wire_n, e);
    else if (r->rc == TA_OK)
        r->rc = r->out.custom(r->out.ctx, (struct slice){(const char *)h->p, h->n}, e);
    held_free(r, h);
}

/* Hands on what may go, and gives up on what has waited long enough. */
static void expire(struct redactor *r, int64_t now_ns, bool all, struct err *e)
{
    while (r->first != NULL) {
        struct redact_held *h = r->first;
        int64_t waited = now_ns - h->t_ns; /* a clock that is set back ends it too */
        bool over = all || waited > LIMIT_REDACT_HOLD_NS || waited < -LIMIT_REDACT_HOLD_NS ||
                    r->held_bytes > LIMIT_REDACT_HOLD_BYTES;
        if ((h->waits_for != NULL || h->piece || h->assembly != NULL) && !over)
            return;
        while (h->waits_for != NULL)
            give_up(r, h);
        while (h->assembly != NULL)
            give_up(r, h->assembly);
        if (h->piece)
            give_up_piece(r, h);
        hand_on_first(r, e);
    }
}

/* --- datagrams in pieces -----------------------------------------------------------------------
 */

static struct redact_held *assemble(struct redactor *r, struct redact_held *pieces,
                                    const struct ip_fragment *whole, int64_t t_ns)
{
    struct redact_held *h = held_new(r, whole->data, whole->n);
    h->t_ns = t_ns;
    h->part = *whole;
    h->part.data = h->p;
    redact_pieces_wait(pieces, h);
    return h;
}

/* They did not become a datagram: each is what it was. */
static void give_up_pieces(struct redactor *r, struct redact_held *pieces)
{
    struct redact_held *h;
    DL_FOREACH2(pieces, h, next_piece)
    {
        r->edit.out = NULL;
        judge_other(r, LINK_FRAGMENT, h->p, h->n, &h->part);
        keep_edit(r, h);
    }
}

static void judge_datagram(struct redactor *r, struct redact_held *pieces,
                           const struct ip_fragment *whole, int64_t t_ns, struct err *e)
{
    struct segment s;
    unsigned side = 0;
    enum link_verdict v = ip_decode_whole(whole, &s);
    struct connection *c = v == LINK_TCP ? connection_of(r, &s, &side, e) : NULL;
    if (c != NULL && s.flags & TCP_SYN)
        take_syn(c, side, &s);
    if (c != NULL && redact_stream_ahead(&c->side[side], s.seq, s.n)) {
        wait_for(&c->side[side], assemble(r, pieces, whole, t_ns), s.seq);
        return;
    }
    redact_edit_begin(&r->edit, whole->data, whole->n,
                      c != NULL ? (size_t)(s.data - whole->data) : 0);
    if (c != NULL)
        judge_segment(r, c, side, &s, t_ns);
    else if (v != LINK_OTHER)
        redact_edit_fill(&r->edit, 0, whole->n, FILL_UNJUDGED);
    r->totals.packets += redact_pieces_write(pieces, whole, &r->edit);
    if (c != NULL)
        release(r, c, side, false);
}

/* A datagram that is whole: what is in it is judged like any other packet, and written back into
 * its pieces; or they wait with it. */
static void take_datagram(struct redactor *r, const struct ip_fragment *whole, int64_t t_ns,
                          struct err *e)
{
    make_room(r, e);
    struct redact_held *pieces = redact_pieces_take(&r->pieces, whole);
    if (pieces == NULL)
        return;
    if (redact_pieces_agree(pieces, whole))
        judge_datagram(r, pieces, whole, t_ns, e);
    else
        give_up_pieces(r, pieces);
}

static void take_piece(struct redactor *r, struct redact_held *h, const struct ip_fragment *part,
                       const uint8_t *p, struct err *e)
{
    struct ip_fragment whole;
    h->part = *part;
    h->part.data = h->p + (part->data - p);
    redact_pieces_add(&r->pieces, h);
    if (fragments_add(r->fragments, &h->part, h->t_ns, &whole))
        take_datagram(r, &whole, h->t_ns, e);
}

/* A packet while others wait, or that must wait itself. */
static void queue(struct redactor *r, uint16_t link, int64_t t_ns, const uint8_t *p, size_t n,
                  size_t wire_n, struct err *e)
{
    struct segment s;
    struct ip_fragment part;
    unsigned side = 0;
    enum link_verdict v = decode(link, p, n, wire_n, &s, &part);
    struct connection *c = v == LINK_TCP ? connection_of(r, &s, &side, e) : NULL;
    struct redact_held *h = hold(r, p, n); /* not before: a new connection may empty the queue */
    h->link = link;
    h->t_ns = t_ns;
    h->wire_n = wire_n;
    r->totals.held++;
    if (c != NULL && s.flags & TCP_SYN)
        take_syn(c, side, &s);
    if (v == LINK_FRAGMENT) {
        take_piece(r, h, &part, p, e);
    } else if (c != NULL && redact_stream_ahead(&c->side[side], s.seq, s.n)) {
        wait_for(&c->side[side], h, s.seq);
    } else if (c != NULL) {
        s.data = h->p + (s.data - p);
        judge_held(r, h, c, side, &s);
        release(r, c, side, false);
    } else {
        redact_edit_begin(&r->edit, h->p, n, 0);
        judge_other(r, v, p, n, &part);
        keep_edit(r, h);
    }
    expire(r, t_ns, false, e);
}

/* --- notes ------------------------------------------------------------------------------------ */

static int hand_on_notes(struct redactor *r, struct err *e)
{
    if (r->notes.n == 0 || r->rc != TA_OK)
        return r->rc;
    jsonw_end(&r->note);
    jsonw_end(&r->note);
    r->rc = r->out.custom(r->out.ctx, (struct slice){(const char *)r->notes.p, r->notes.n}, e);
    buf_clear(&r->notes);
    return r->rc;
}

/* A request's body has gone by, and is another now. One that stayed speaks for itself: so a second
 * redaction adds nothing to what the first one noted. */
static void note_request(void *ctx, const struct redact_request *q)
{
    struct redactor *r = ctx;
    char text[64];
    if (r->notes.n == 0) {
        jsonw_init(&r->note, &r->notes, 0);
        jsonw_object(&r->note, NULL);
        jsonw_text(&r->note, "kind", "bodies");
        jsonw_array(&r->note, "requests");
    }
    jsonw_object(&r->note, NULL);
    jsonw_text(&r->note, "client", endpoint_text(&r->noting->ends[r->noting_side], text));
    jsonw_text(&r->note, "server", endpoint_text(&r->noting->ends[!r->noting_side], text));
    jsonw_u64(&r->note, "nth", q->nth);
    jsonw_ns(&r->note, "t_ns", q->t_ns);
    jsonw_text(&r->note, "sha256", q->sha256);
    jsonw_u64(&r->note, "bytes", q->bytes);
    jsonw_u64(&r->note, "strings", q->strings);
    jsonw_u64(&r->note, "characters", q->characters);
    jsonw_end(&r->note);
}

/* --- the calls -------------------------------------------------------------------------------- */

struct redactor *redactor_new(enum redact_mode mode, struct redact_sink out)
{
    struct redactor *r = mem_zalloc(sizeof *r);
    r->mode = mode;
    r->out = out;
    r->fragments = fragments_new();
    redact_edit_init(&r->edit, &r->totals);
    buf_init(&r->notes, LIMIT_CUSTOM_JSON_BYTES);
    if (mode == REDACT_BODIES && RAND_bytes(r->salt, SALT_BYTES) != 1)
        abort(); /* no randomness: a guessable salt would give short texts away */
    r->env = (struct redact_http_env){r->salt, SALT_BYTES, r, note_request};
    return r;
}

int redactor_packet(struct redactor *r, uint16_t link, int64_t t_ns, const uint8_t *p, size_t n,
                    size_t wire_n, struct err *e)
{
    struct segment s;
    struct ip_fragment part;
    unsigned side;
    redact_edit_begin(&r->edit, NULL, 0, 0);
    if (r->mode == REDACT_NOTHING || r->rc != TA_OK)
        return hand_on(r, t_ns, p, n, wire_n, e);
    if (r->first != NULL) {
        queue(r, link, t_ns, p, n, wire_n, e);
        return r->rc;
    }
    enum link_verdict v = decode(link, p, n, wire_n, &s, &part);
    if (v == LINK_TCP && (s.wire_n > 0 || s.flags & TCP_SYN)) {
        struct connection *c = connection_of(r, &s, &side, e);
        if (s.flags & TCP_SYN)
            take_syn(c, side, &s);
        if (redact_stream_ahead(&c->side[side], s.seq, s.n)) {
            queue(r, link, t_ns, p, n, wire_n, e);
            return r->rc;
        }
        redact_edit_begin(&r->edit, p, n, (size_t)(s.data - p));
        judge_segment(r, c, side, &s, t_ns);
    } else if (v == LINK_FRAGMENT) {
        queue(r, link, t_ns, p, n, wire_n, e);
        return r->rc;
    } else if (v != LINK_TCP) {
        judge_other(r, v, p, n, &part);
    }
    int rc = hand_on(r, t_ns, r->edit.out != NULL ? r->edit.out : p, n, wire_n, e);
    return rc == TA_OK && r->notes.n >= NOTES_BYTES ? hand_on_notes(r, e) : rc;
}

int redactor_custom(struct redactor *r, struct slice json, struct err *e)
{
    if (r->rc == TA_OK && r->first == NULL)
        r->rc = r->out.custom(r->out.ctx, json, e);
    else if (r->rc == TA_OK)
        hold(r, json.p, json.n)->custom = true;
    return r->rc;
}

int redactor_tick(struct redactor *r, int64_t now_ns, struct err *e)
{
    expire(r, now_ns, false, e);
    if (now_ns - r->noted_ns < NS_PER_S && now_ns >= r->noted_ns)
        return r->rc;
    r->noted_ns = now_ns;
    return hand_on_notes(r, e);
}

int redactor_end(struct redactor *r, struct err *e)
{
    expire(r, 0, true, e);
    return hand_on_notes(r, e);
}

struct redact_totals redactor_totals(const struct redactor *r)
{
    return r->totals;
}

void redactor_free(struct redactor *r)
{
    if (r == NULL)
        return;
    while (r->first != NULL) {
        struct redact_held *h = r->first;
        r->first = h->next;
        free(redact_pieces_leave(h));
        free(h);
    }
    while (r->idle != NULL)
        forget(r, r->idle);
    fragments_free(r->fragments);
    redact_edit_done(&r->edit);
    buf_done(&r->notes);
    free(r);
}
