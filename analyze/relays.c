/* Ports held against each other, two by two, and their requests paired. */
#include "analyze/relays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/base/mem.h"

enum {
    LEGS_MOST = 64,  /* ports that are looked at: a load balancer has fewer */
    LOOK_BACK = 256, /* requests open at a time, among which an outer one is looked for */
    SURE_SAME = 4,   /* times that text followed, where all bodies are the same … */
    SURE = 8,        /* … and where the proxy wrote them anew */
    STEPS = 2,       /* … a pair, at least, where it is not the end alone */
    MOVES_MOST = 8   /* inner requests that move over for one */
};

#define NEARLY_ALL 0.9 /* of a port's requests */

/* How soon outer text follows, in parts of the time until there is more of the inner one. Of two
 * servers that know nothing of each other a quarter would be within a quarter, and a tenth within a
 * tenth. */
#define SOON 0.25
#define MOST_SOON 0.8
#define AT_ONCE 0.1
#define HALF_AT_ONCE 0.5

/* Behind the end there is nothing to come: in parts of so much of all the time, or of so long. */
#define END_SHARE 0.1
#define END_MOST_NS (20.0 * NS_PER_MS)

/* Requests that arrive at one place, by t0. */
struct leg {
    size_t trace;
    const struct request *first;
    VEC(size_t) requests; /* indices */
};

struct legs {
    struct leg *v;
    size_t n, cap;
};

/* What speaks for a pair of legs. */
struct tally {
    size_t pairs, same_body, same_id; /* attempts left out */
    size_t followed, soon, at_once;   /* times that outer text came behind more of the inner one */
};

/* --- two requests ----------------------------------------------------------------------------- */

static bool same_host(const uint8_t x[16], const uint8_t y[16])
{
    return memcmp(x, y, 16) == 0;
}

static bool is_unknown(const uint8_t host[16])
{
    static const uint8_t none[16];
    return same_host(host, none);
}

static bool is_loopback(const uint8_t host[16])
{
    static const uint8_t rest[12], v6[16] = {[15] = 1};
    return (host[0] == 127 && memcmp(host + 4, rest, sizeof rest) == 0) || same_host(host, v6);
}

/* Does u begin where r ended? A host has several addresses, one of them its own alone; and an
 * address that was translated on the way leaves the client what it was. */
static bool begins_there(const struct request *r, const struct request *u)
{
    return is_unknown(u->client_host) || is_unknown(r->server_host) ||
           is_loopback(u->client_host) || is_loopback(r->server_host) ||
           same_host(u->client_host, r->server_host) ||
           (same_host(u->client_host, r->client_host) && u->client_port == r->client_port);
}

static bool same_body(const struct request *r, const struct request *u)
{
    return r->body_sha256 != NULL && model_same_text(r->body_sha256, u->body_sha256);
}

/* A proxy may write the body anew, and put instructions of its own before the messages. */
static bool same_prompt(const struct request *r, const struct request *u)
{
    struct slice x = r->asked.last_message, y = u->asked.last_message;
    return same_body(r, u) || (x.n > 0 && x.n == y.n && memcmp(x.p, y.p, x.n) == 0 &&
                               r->asked.prompt_words <= u->asked.prompt_words);
}

static bool is_whole(const struct request *r)
{
    return !r->damaged && (r->outcome == OUTCOME_SUCCESS || r->outcome == OUTCOME_NO_FINISH);
}

/* An attempt that brought nothing that could be compared. */
static bool is_attempt(const struct request *u)
{
    return !is_whole(u) && u->outcome != OUTCOME_OPEN && u->outcome != OUTCOME_UNSEEN &&
           !u->damaged;
}

static bool same_text(const struct request *r, const struct request *u)
{
    if (is_whole(r) && is_whole(u))
        return r->text_bytes == u->text_bytes && r->said_hash == u->said_hash;
    return r->damaged || u->damaged || r->text_bytes <= u->text_bytes;
}

/* At no time more of the text at the client than the proxy had got. */
static bool never_ahead(const struct request *r, const struct request *u)
{
    uint64_t has = 0, got = 0;
    size_t k = 0;
    for (size_t i = 0; i < r->out.n && !r->damaged && !u->damaged; i++) {
        has += r->out.v[i].bytes;
        while (k < u->out.n && u->out.v[k].t_ns <= r->out.v[i].t_ns)
            got += u->out.v[k++].bytes;
        if (has > got)
            return false;
    }
    return true;
}

/* May u be what the proxy asked, to answer r? */
static bool may_be(const struct request *r, const struct request *u)
{
    return r->t0 <= u->t0 && u->t0 <= r->t_end && begins_there(r, u) && same_prompt(r, u) &&
           (is_attempt(u) || (same_text(r, u) && never_ahead(r, u)));
}

/* The bytes of the text that came with event i and, in the same read, behind it; moves i there. */
static uint64_t read_text(const struct request *r, size_t *i)
{
    uint64_t bytes = r->out.v[*i].bytes;
    while (*i + 1 < r->out.n && r->out.v[*i + 1].packet == r->out.v[*i].packet)
        bytes += r->out.v[++*i].bytes;
    return bytes;
}

/* While there is more to come, what follows has something of the newest text in it. */
static void count_steps(const struct request *r, const struct request *u, struct tally *t)
{
    uint64_t has = 0, got = 0, newest = 0;
    for (size_t i = 0, k = 0; i < r->out.n; i++) {
        has += read_text(r, &i);
        int64_t now = r->out.v[i].t_ns;
        size_t seen = k;
        for (; k < u->out.n && u->out.v[k].t_ns <= now; k++) {
            newest = read_text(u, &k);
            got += newest;
        }
        if (k == seen)
            continue;
        int64_t last = u->out.v[k - 1].t_ns;
        double late = (double)(now - last);
        bool newly = has + newest > got;
        bool more = u->out.n > k;
        double room = more ? (double)(u->out.v[k].t_ns - last)
                           : fmin(END_SHARE * (double)(last - u->t0), END_MOST_NS);
        t->followed++;
        t->soon += late <= SOON * room && (newly || !more);
        t->at_once += late <= AT_ONCE * room && (newly || !more);
    }
}

/* --- two ports -------------------------------------------------------------------------------- */

static int64_t lag(const struct request *r, const struct request *u)
{
    return r->out.n > 0 && u->out.n > 0 ? r->out.v[0].t_ns - u->out.v[0].t_ns : 0;
}

/* Those of a leg that were sent before t_ns, or then. */
static size_t sent_by(const struct audit *a, const struct leg *l, int64_t t_ns)
{
    size_t lo = 0, hi = l->requests.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (a->requests.v[l->requests.v[mid]].t0 <= t_ns)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* A pair of legs, while their requests are being paired. */
struct pairing {
    const struct audit *a;
    const struct leg *outer, *inner;
    size_t
        *partner;  /* by place in outer: place in inner + 1 of the one that answered it; 0: none */
    size_t *place; /* by place in inner: place in outer + 1 */
    size_t *tried; /* by place in outer: for which inner one it was, + 1 */
};

static const struct request *outer_at(const struct pairing *p, size_t i)
{
    return &p->a->requests.v[p->outer->requests.v[i]];
}

static const struct request *inner_at(const struct pairing *p, size_t k)
{
    return &p->a->requests.v[p->inner->requests.v[k]];
}

/* The place + 1 of one that inner request k may be behind, which was not tried for `whom` and is
 * nobody's, or anybody's; of several with one prompt the one that has its first text soonest
 * behind. 0: there is none. */
static size_t find_outer(const struct pairing *p, size_t k, size_t whom, bool free_one)
{
    const struct request *u = inner_at(p, k);
    size_t end = sent_by(p->a, p->outer, u->t0), best = 0;
    for (size_t i = end; i-- > 0 && end - i <= LOOK_BACK;) {
        const struct request *r = outer_at(p, i);
        if (p->tried[i] == whom + 1 || (free_one && p->partner[i] != 0) || !may_be(r, u))
            continue;
        if (best == 0 || lag(r, u) < lag(outer_at(p, best - 1), u))
            best = i + 1;
    }
    return best;
}

static void join(struct pairing *p, size_t i, size_t k)
{
    p->partner[i] = k + 1;
    p->place[k] = i + 1;
}

/* Where one prompt is sent several times at once, what is left may not fit: then another inner one
 * moves over (an augmenting path). */
static bool find_place(struct pairing *p, size_t k, size_t whom, unsigned depth)
{
    size_t i = find_outer(p, k, whom, true);
    if (i != 0) {
        join(p, i - 1, k);
        return true;
    }
    while (depth < MOVES_MOST && (i = find_outer(p, k, whom, false)) != 0) {
        p->tried[i - 1] = whom + 1;
        if (find_place(p, p->partner[i - 1] - 1, whom, depth + 1)) {
            join(p, i - 1, k);
            return true;
        }
    }
    return false;
}

/* Where text is held back, or is one document, its end alone tells. Two servers of nearly the same
 * speed may look like that, but each gives its replies ids of its own. */
static bool is_sure(const struct tally *t)
{
    bool in_step = t->followed >= STEPS * t->pairs;
    size_t least = t->same_body == t->pairs ? SURE_SAME : SURE;
    return t->followed >= least && (in_step || t->same_id == t->pairs) &&
           (double)t->soon >= MOST_SOON * (double)t->followed &&
           (double)t->at_once >= HALF_AT_ONCE * (double)t->followed;
}

/* False: too many are without one. */
static bool pair_all(struct pairing *p)
{
    size_t all = p->inner->requests.n, missing = 0;
    for (size_t k = 0; k < all && (double)missing <= (1 - NEARLY_ALL) * (double)all; k++) {
        if (is_attempt(inner_at(p, k)))
            p->place[k] = find_outer(p, k, k, false);
        else
            find_place(p, k, k, 0);
        missing += p->place[k] == 0;
    }
    return (double)missing <= (1 - NEARLY_ALL) * (double)all;
}

static struct tally weigh(const struct pairing *p)
{
    struct tally t = {0};
    for (size_t k = 0; k < p->inner->requests.n; k++) {
        if (p->place[k] == 0)
            continue;
        const struct request *u = inner_at(p, k), *r = outer_at(p, p->place[k] - 1);
        if (is_attempt(u))
            continue;
        t.pairs++;
        t.same_body += same_body(r, u);
        t.same_id += r->reply_id == u->reply_id;
        if (!r->damaged && !u->damaged)
            count_steps(r, u, &t);
    }
    return t;
}

/* Fills outer_of (index + 1, by index) of the inner leg's requests if it is sure that they are. */
static bool pair(const struct audit *a, const struct leg *outer, const struct leg *inner,
                 size_t *outer_of)
{
    size_t n = outer->requests.n, all = inner->requests.n;
    struct pairing p = {.a = a,
                        .outer = outer,
                        .inner = inner,
                        .partner = mem_array(n, sizeof *p.partner),
                        .place = mem_array(all, sizeof *p.place),
                        .tried = mem_array(n, sizeof *p.tried)};
    bool sure = pair_all(&p);
    if (sure) {
        struct tally t = weigh(&p);
        sure = is_sure(&t);
    }
    for (size_t k = 0; k < all && sure; k++) {
        if (p.place[k] != 0)
            outer_of[inner->requests.v[k]] = outer->requests.v[p.place[k] - 1] + 1;
    }
    free(p.partner);
    free(p.place);
    free(p.tried);
    return sure;
}

/* --- all ports -------------------------------------------------------------------------------- */

static struct leg *leg_of(struct legs *legs, const struct request *r)
{
    for (size_t i = 0; i < legs->n; i++) {
        struct leg *l = &legs->v[i];
        if (l->trace == r->trace && l->first->server_port == r->server_port &&
            same_host(l->first->server_host, r->server_host))
            return l;
    }
    if (legs->n == LEGS_MOST)
        return NULL;
    VEC_PUSH(legs, ((struct leg){.trace = r->trace, .first = r}));
    return &legs->v[legs->n - 1];
}

/* False: there are too many, or no two of them. */
static bool find_legs(const struct audit *a, struct legs *legs)
{
    for (size_t i = 0; i < a->requests.n; i++) {
        const struct request *r = &a->requests.v[i];
        struct leg *l = r->dialect != NULL ? leg_of(legs, r) : NULL;
        if (l != NULL)
            VEC_PUSH(&l->requests, i);
        else if (r->dialect != NULL)
            return false;
    }
    return legs->n > 1;
}

static bool one_clock(const struct audit *a, const struct leg *x, const struct leg *y)
{
    return x->trace == y->trace ||
           model_same_text(a->traces.v[x->trace].host, a->traces.v[y->trace].host);
}

/* Of its own trace first: one leg has one outer leg. */
static void look_behind(const struct audit *a, const struct legs *legs, const struct leg *inner,
                        size_t *outer_of)
{
    for (int own = 1; own >= 0; own--) {
        for (size_t i = 0; i < legs->n; i++) {
            const struct leg *outer = &legs->v[i];
            if (outer != inner && (outer->trace == inner->trace) == own &&
                one_clock(a, outer, inner) && pair(a, outer, inner, outer_of))
                return;
        }
    }
}

/* --- what is found ---------------------------------------------------------------------------- */

/* Fills root with where the request stands that the client sent; of an outer one, and of one that
 * is linked to another trace, itself. */
static void find_roots(const struct audit *a, const size_t *outer_of, size_t *root)
{
    for (size_t i = 0; i < a->requests.n; i++) {
        size_t outer = outer_of[i] - 1; /* sent before, so that its root is known */
        bool own =
            outer_of[i] != 0 && outer < i && a->requests.v[outer].trace == a->requests.v[i].trace;
        root[i] = own ? root[outer] : i;
    }
}

/* Moves the inner ones out; place becomes where each request is then. */
static void move_out(struct audit *a, const size_t *root, size_t *place)
{
    size_t kept = 0;
    for (size_t i = 0; i < a->requests.n; i++) {
        struct request *r = &a->requests.v[i];
        if (root[i] != i) {
            place[i] = a->inner.n;
            r->id = 0;
            r->inner_of = place[root[i]] + 1;
            VEC_PUSH(&a->inner, *r);
            continue;
        }
        place[i] = kept++;
        r->id = kept;
        if (place[i] != i)
            a->requests.v[place[i]] = *r;
    }
    a->requests.n = kept;
}

/* Of several, one that brought the text. */
static void link_inner(struct request *r, const struct request *u)
{
    if (r->inner == NULL || (is_attempt(r->inner) && !is_attempt(u)))
        r->inner = u;
}

static void link_all(struct audit *a, const size_t *outer_of, const size_t *root,
                     const size_t *place, size_t n)
{
    for (size_t i = 0; i < a->inner.n; i++)
        link_inner(&a->requests.v[a->inner.v[i].inner_of - 1], &a->inner.v[i]);
    for (size_t i = 0; i < n; i++) {
        size_t outer = outer_of[i] - 1;
        if (outer_of[i] != 0 && root[i] == i && root[outer] == outer) /* in another trace */
            link_inner(&a->requests.v[place[outer]], &a->requests.v[place[i]]);
    }
}

void relays_find(struct audit *a)
{
    struct legs legs = {0};
    size_t n = a->requests.n;
    size_t *outer_of = mem_array(n + 1, sizeof *outer_of);
    size_t *root = mem_array(n + 1, sizeof *root), *place = mem_array(n + 1, sizeof *place);
    if (find_legs(a, &legs)) {
        for (size_t i = 0; i < legs.n; i++)
            look_behind(a, &legs, &legs.v[i], outer_of);
        find_roots(a, outer_of, root);
        move_out(a, root, place);
        link_all(a, outer_of, root, place, n);
    }
    for (size_t i = 0; i < legs.n; i++)
        VEC_FREE(&legs.v[i].requests);
    VEC_FREE(&legs);
    free(outer_of);
    free(root);
    free(place);
}
