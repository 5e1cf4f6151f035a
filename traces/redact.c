/* The redactor: packets in, packets out in their order, with secrets (and texts) overwritten. A
 * packet is copied only if something in it must change, or if it has to wait. Checksums follow by
 * their difference (RFC 1624), so that a wrong one stays wrong. */
#include "traces/redact.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/rand.h>

#include "traces/base/buf.h"
#include "traces/base/clock.h"
#include "traces/base/jsonw.h"
#include "traces/base/mem.h"
#include "traces/ip.h"
#include "traces/limits.h"
#include "traces/redact_stream.h"

#define uthash_malloc(size) mem_alloc(size)
#include <uthash.h>
#include <utlist.h>

enum { ENDPOINT_BYTES = 19, SALT_BYTES = 32, TCP_CHECKSUM_AT = 16 };
enum { NOTES_BYTES = 32 << 10 }; /* of a block of kind "bodies", before it is handed on */

struct key {
    uint8_t bytes[2 * ENDPOINT_BYTES]; /* the smaller endpoint first: one key for both directions */
};

struct connection {
    struct key key;
    struct endpoint ends[2];
    struct redact_stream side[2]; /* sent by ends[0], ends[1] */
    struct redact_exchange exchange;
    struct connection *prev, *next; /* longest idle first */
    UT_hash_handle hh;
};

/* A packet (or custom block) that waits; its bytes follow. */
struct redact_held {
    struct redact_held *next, *next_waiting;
    int64_t t_ns;
    uint16_t link;
    bool custom;
    struct redact_stream *waits_for; /* NULL: may go */
    uint32_t seq;
    size_t n, wire_n;
    uint8_t p[];
};

/* The packet under work. */
struct edit {
    const uint8_t *in;
    size_t n;
    uint8_t *out;     /* NULL: unchanged so far */
    size_t data;      /* where its payload begins … */
    size_t base;      /* … and what is added to what the parts say */
    int64_t checksum; /* by how much the sum has changed */
};

struct redactor {
    enum redact_mode mode;
    struct redact_sink out;
    struct redact_totals totals;
    struct connection *table, *idle, *latest;
    size_t connections;
    struct redact_held *first, *last;
    size_t held_bytes;
    struct edit edit;
    uint64_t changed; /* bytes */
    struct buf scratch, notes;
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

/* --- overwriting ------------------------------------------------------------------------------ */

static uint8_t filled(uint8_t c, enum redact_fill how)
{
    if (c == '\r' || c == '\n')
        return c;
    switch (how) {
    case FILL_SECRET:
    case FILL_UNJUDGED:
        return '*';
    case FILL_DIGITS:
        return c >= '0' && c <= '9' ? '1' : c;
    case FILL_TEXT:
    case FILL_BODY:
        break;
    }
    return 'x';
}

static void count_bytes(struct redact_totals *t, size_t n, enum redact_fill how)
{
    if (how == FILL_SECRET)
        t->secret_bytes += n;
    else if (how == FILL_UNJUDGED)
        t->unjudged_bytes += n;
    else if (how == FILL_BODY)
        t->whole_bytes += n;
    else
        t->string_bytes += n;
}

/* A filler's; from and to count from edit.base in the payload. */
static void fill(void *ctx, size_t from, size_t to, enum redact_fill how)
{
    struct redactor *r = ctx;
    struct edit *e = &r->edit;
    if (e->out == NULL) {
        buf_clear(&r->scratch);
        e->out = buf_reserve(&r->scratch, e->n);
        memcpy(e->out, e->in, e->n);
    }
    uint8_t *p = e->out + e->data + e->base;
    for (size_t i = from; i < to; i++) {
        uint8_t c = filled(p[i], how);
        int difference = c - p[i];
        e->checksum += (e->base + i) & 1 ? difference : difference * 256;
        r->changed += difference != 0;
        p[i] = c;
    }
    count_bytes(&r->totals, to - from, how);
}

/* The TCP header before the payload: its ports and numbers are those of the segment. NULL: not
 * found. */
static uint8_t *tcp_header(uint8_t *p, size_t data, const struct segment *s)
{
    for (size_t n = 20; n <= 60 && n <= data; n += 4) {
        uint8_t *h = p + data - n;
        uint32_t seq =
            (uint32_t)h[4] << 24 | (uint32_t)h[5] << 16 | (uint32_t)h[6] << 8 | (uint32_t)h[7];
        if ((size_t)(h[12] >> 4) * 4 == n && (h[0] << 8 | h[1]) == s->from.port &&
            (h[2] << 8 | h[3]) == s->to.port && seq == s->seq)
            return h;
    }
    return NULL;
}

static void mend_checksum(const struct edit *e, const struct segment *s)
{
    uint8_t *h = e->checksum != 0 ? tcp_header(e->out, e->data, s) : NULL;
    if (h == NULL)
        return;
    int64_t sum = (0xffff - (h[TCP_CHECKSUM_AT] << 8 | h[TCP_CHECKSUM_AT + 1])) + e->checksum;
    sum %= 0xffff;
    if (sum <= 0)
        sum += 0xffff;
    uint16_t v = (uint16_t)(0xffff - sum);
    h[TCP_CHECKSUM_AT] = (uint8_t)(v >> 8);
    h[TCP_CHECKSUM_AT + 1] = (uint8_t)v;
}

/* --- connections ------------------------------------------------------------------------------ */

static void put_endpoint(uint8_t *out, const struct endpoint *e)
{
    out[0] = e->family;
    memcpy(out + 1, e->addr, 16);
    out[17] = (uint8_t)(e->port >> 8);
    out[18] = (uint8_t)e->port;
}

/* Returns which of the two the sender is. */
static unsigned key_of(const struct segment *s, struct key *key)
{
    uint8_t *a = key->bytes, *b = key->bytes + ENDPOINT_BYTES;
    put_endpoint(a, &s->from);
    put_endpoint(b, &s->to);
    if (memcmp(a, b, ENDPOINT_BYTES) <= 0)
        return 0;
    put_endpoint(a, &s->to);
    put_endpoint(b, &s->from);
    return 1;
}

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
                                         const struct key *key, unsigned side)
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

static struct connection *connection_of(struct redactor *r, const struct segment *s, unsigned *side,
                                        struct err *e)
{
    struct key key;
    *side = key_of(s, &key);
    struct connection *c = r->latest;
    if (c != NULL && memcmp(&c->key, &key, sizeof key) == 0)
        return c;
    HASH_FIND(hh, r->table, &key, sizeof key, c);
    if (c != NULL) {
        DL_DELETE(r->idle, c);
        DL_APPEND(r->idle, c);
    } else {
        if (r->connections >= LIMIT_REDACT_CONNECTIONS) {
            expire(r, 0, true, e); /* what waits points into streams */
            forget(r, r->idle);
        }
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

static void begin_edit(struct redactor *r, const uint8_t *p, size_t n, size_t data)
{
    r->edit = (struct edit){.in = p, .n = n, .data = data};
}

static void judge_segment(struct redactor *r, struct connection *c, unsigned side,
                          const struct segment *s, int64_t t_ns)
{
    struct redact_stream *stream = &c->side[side];
    struct redact_judge j = {
        &c->exchange, &r->env, t_ns, {r, fill, &r->totals, &r->changed}, &r->edit.base};
    uint32_t seq = s->seq + (s->flags & TCP_SYN ? 1u : 0u);
    r->noting = c;
    r->noting_side = side;
    redact_stream_judge(stream, seq, s->data, s->n, s->wire_n, &j);
    if (redact_lines_opaque(&stream->lines)) {
        redact_lines_close(&c->side[!side].lines);
        c->exchange.tunnel = true;
    }
    mend_checksum(&r->edit, s);
}

/* What is no TCP segment: of a fragment of one, and of what cannot be read, nothing is known. */
static void judge_other(struct redactor *r, enum link_verdict verdict, const uint8_t *p, size_t n,
                        const struct ip_fragment *part)
{
    enum { UDP = 17, HEADERS = 54 };
    size_t from = n;
    if (verdict == LINK_UNKNOWN)
        from = 0;
    else if (verdict == LINK_BAD)
        from = n < HEADERS ? n : HEADERS;
    else if (verdict == LINK_FRAGMENT && (part->protocol != UDP || part->from.family == 6))
        from = (size_t)(part->data - p) + (part->offset == 0 ? 20 : 0);
    if (from >= n)
        return;
    begin_edit(r, p, n, from);
    fill(r, 0, n - from, FILL_UNJUDGED);
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

static struct redact_held *hold(struct redactor *r, const void *p, size_t n)
{
    struct redact_held *h = mem_alloc(sizeof *h + n);
    *h = (struct redact_held){.n = n};
    if (n > 0)
        memcpy(h->p, p, n);
    if (r->last != NULL)
        r->last->next = h;
    else
        r->first = h;
    r->last = h;
    r->held_bytes += sizeof *h + n;
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

/* Judges a held packet in its place. */
static void judge_held(struct redactor *r, struct redact_held *h, struct connection *c,
                       unsigned side, const struct segment *s)
{
    begin_edit(r, h->p, h->n, (size_t)(s->data - h->p));
    judge_segment(r, c, side, s, h->t_ns);
    keep_edit(r, h);
}

/* Judges those of a stream that wait no longer: a hole was filled, or the first of them is given up
 * on. */
static void release(struct redactor *r, struct connection *c, unsigned side, bool force)
{
    struct redact_stream *stream = &c->side[side];
    while (stream->waiting != NULL) {
        struct redact_held *h = stream->waiting;
        struct segment s;
        struct ip_fragment part;
        (void)decode(h->link, h->p, h->n, h->wire_n, &s, &part);
        if (!force && redact_stream_ahead(stream, s.seq, s.n))
            return;
        stream->waiting = h->next_waiting;
        h->waits_for = NULL;
        judge_held(r, h, c, side, &s);
        force = false;
    }
}

/* Gives up on the hole before a held packet. */
static void give_up(struct redactor *r, const struct redact_held *h)
{
    struct segment s;
    struct ip_fragment part;
    struct key key;
    struct connection *c;
    (void)decode(h->link, h->p, h->n, h->wire_n, &s, &part);
    unsigned side = key_of(&s, &key);
    HASH_FIND(hh, r->table, &key, sizeof key, c);
    release(r, c, side, true);
}

static void hand_on_first(struct redactor *r, struct err *e)
{
    struct redact_held *h = r->first;
    r->first = h->next;
    if (r->first == NULL)
        r->last = NULL;
    r->held_bytes -= sizeof *h + h->n;
    r->edit.out = NULL;
    if (!h->custom)
        (void)hand_on(r, h->t_ns, h->p, h->n, h->wire_n, e);
    else if (r->rc == TA_OK)
        r->rc = r->out.custom(r->out.ctx, (struct slice){(const char *)h->p, h->n}, e);
    free(h);
}

/* Hands on what may go, and gives up on what has waited long enough. */
static void expire(struct redactor *r, int64_t now_ns, bool all, struct err *e)
{
    while (r->first != NULL) {
        struct redact_held *h = r->first;
        int64_t waited = now_ns - h->t_ns; /* a clock that is set back ends it too */
        bool over = all || waited > LIMIT_REDACT_HOLD_NS || waited < -LIMIT_REDACT_HOLD_NS ||
                    r->held_bytes > LIMIT_REDACT_HOLD_BYTES;
        if (h->waits_for != NULL && !over)
            return;
        while (h->waits_for != NULL)
            give_up(r, h);
        hand_on_first(r, e);
    }
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
    if (c != NULL && redact_stream_ahead(&c->side[side], s.seq, s.n)) {
        wait_for(&c->side[side], h, s.seq);
    } else if (c != NULL) {
        s.data = h->p + (s.data - p);
        judge_held(r, h, c, side, &s);
        release(r, c, side, false);
    } else {
        begin_edit(r, h->p, n, 0);
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
    buf_init(&r->scratch, LIMIT_BLOCK_BYTES);
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
    r->edit = (struct edit){0};
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
        begin_edit(r, p, n, (size_t)(s.data - p));
        judge_segment(r, c, side, &s, t_ns);
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
        free(h);
    }
    while (r->idle != NULL)
        forget(r, r->idle);
    buf_done(&r->scratch);
    buf_done(&r->notes);
    free(r);
}
