/* Ports held against each other, two by two, and their requests paired. */
#include "analyze/relays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/stat.h"
#include "traces/base/mem.h"

enum {
    LEGS_MOST = 64,  /* ports that are looked at: a load balancer has fewer */
    LOOK_BACK = 256, /* requests open at a time, among which an outer one is looked for */
    GAPS_LEAST = 32, /* of inner text, and as many times that outer text followed */
    MOVES_MOST = 8   /* inner requests that move over for one */
};

#define NEARLY_ALL 0.9 /* of a port's requests */

/* Two servers of one speed are in step, one always a little behind the other. What one server does
 * is the cause of what the other does where outer text is late by nearly the same, however the
 * inner gaps vary. Only gaps near the median are held against it: that a step has no text, or two,
 * may be the text's doing, and so be the same of any two servers. */
#define LAG_SPREAD 0.25
#define GAP_NEAR 0.25
#define GAP_SPREAD_LEAST_NS (NS_PER_MS / 5)

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
    VEC(size_t) requests;     /* indices */
    const struct leg *behind; /* the outer leg of which it is sure, or NULL */
    bool has_inner;           /* it is such an outer leg */
};

struct legs {
    struct leg *v;
    size_t n, cap;
};

/* How outer text comes behind inner text. */
struct tally {
    size_t followed, soon, at_once; /* times that it came behind more of the inner one */
    VEC(int64_t) late;              /* by how much, then */
    VEC(int64_t) gaps;              /* of the inner one */
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
            if (k > 0)
                VEC_PUSH(&t->gaps, u->out.v[k].t_ns - u->out.v[k - 1].t_ns);
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
        VEC_PUSH(&t->late, now - last);
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
    const bool *own_id; /* by index: it has an id that no other of its port has */
    bool by_id;         /* ids are passed on: they tell whose each is */
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

static bool both_own(const struct pairing *p, size_t i, size_t k)
{
    return p->own_id[p->outer->requests.v[i]] && p->own_id[p->inner->requests.v[k]];
}

static bool one_id(const struct pairing *p, size_t i, size_t k)
{
    return both_own(p, i, k) && outer_at(p, i)->reply_id == inner_at(p, k)->reply_id;
}

static bool fits(const struct pairing *p, size_t i, size_t k)
{
    return (!p->by_id || !both_own(p, i, k) || one_id(p, i, k)) &&
           may_be(outer_at(p, i), inner_at(p, k));
}

/* One id that only one request of each port has is no chance. */
static bool finds_one_id(const struct pairing *p)
{
    for (size_t k = 0; k < p->inner->requests.n; k++) {
        size_t end = sent_by(p->a, p->outer, inner_at(p, k)->t0);
        for (size_t i = end; i-- > 0 && end - i <= LOOK_BACK;) {
            if (!is_attempt(inner_at(p, k)) && one_id(p, i, k) &&
                may_be(outer_at(p, i), inner_at(p, k)))
                return true;
        }
    }
    return false;
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
        if (p->tried[i] == whom + 1 || (free_one && p->partner[i] != 0) || !fits(p, i, k))
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

static void pair_all(struct pairing *p)
{
    size_t all = p->inner->requests.n, missing = 0;
    for (size_t k = 0; k < all; k++) {
        bool many = (double)missing > (1 - NEARLY_ALL) * (double)all; /* no proxy's: not worth it */
        if (!is_attempt(inner_at(p, k)))
            missing += !find_place(p, k, k, many ? MOVES_MOST : 0);
    }
}

static double spread(const int64_t *sorted, size_t n)
{
    return (double)(sorted[n - 1 - n / 4] - sorted[n / 4]);
}

static bool is_soon(const struct tally *t)
{
    return t->followed > 0 && (double)t->soon >= MOST_SOON * (double)t->followed;
}

/* Is it what the inner server does that makes outer text come? Sorts both lists. */
static bool is_caused(struct tally *t)
{
    if (t->late.n < GAPS_LEAST || t->gaps.n < GAPS_LEAST || !is_soon(t) ||
        (double)t->at_once < HALF_AT_ONCE * (double)t->followed)
        return false;
    stat_sort_ns(t->late.v, t->late.n);
    stat_sort_ns(t->gaps.v, t->gaps.n);
    double median = (double)t->gaps.v[t->gaps.n / 2];
    size_t from = 0, to = t->gaps.n;
    while ((double)t->gaps.v[from] < (1 - GAP_NEAR) * median)
        from++;
    while ((double)t->gaps.v[to - 1] > (1 + GAP_NEAR) * median)
        to--;
    double gaps = spread(t->gaps.v + from, to - from);
    return to - from >= GAPS_LEAST / 2 && gaps >= (double)GAP_SPREAD_LEAST_NS &&
           spread(t->late.v, t->late.n) < LAG_SPREAD * gaps;
}

static void count_pair(const struct pairing *p, size_t k, struct tally *t)
{
    const struct request *u = inner_at(p, k), *r = outer_at(p, p->place[k] - 1);
    if (!r->damaged && !u->damaged)
        count_steps(r, u, t);
}

static void tally_free(struct tally *t)
{
    VEC_FREE(&t->late);
    VEC_FREE(&t->gaps);
}

static bool pairs_are_caused(const struct pairing *p)
{
    struct tally t = {0};
    for (size_t k = 0; k < p->inner->requests.n; k++) {
        if (p->place[k] != 0 && !one_id(p, p->place[k] - 1, k))
            count_pair(p, k, &t);
    }
    bool caused = is_caused(&t);
    tally_free(&t);
    return caused;
}

static bool is_in_step(const struct pairing *p, size_t k)
{
    struct tally t = {0};
    count_pair(p, k, &t);
    bool soon = is_soon(&t);
    tally_free(&t);
    return soon;
}

/* Fills outer_of (index + 1, by index) of those of the inner leg's requests of which it is sure.
 * False: of none. */
static bool pair(const struct audit *a, const struct leg *outer, const struct leg *inner,
                 const bool *own_id, size_t *outer_of)
{
    size_t n = outer->requests.n, all = inner->requests.n;
    struct pairing p = {.a = a,
                        .outer = outer,
                        .inner = inner,
                        .own_id = own_id,
                        .partner = mem_array(n, sizeof *p.partner),
                        .place = mem_array(all, sizeof *p.place),
                        .tried = mem_array(n, sizeof *p.tried)};
    p.by_id = finds_one_id(&p);
    pair_all(&p);
    bool caused = pairs_are_caused(&p), any = false;
    for (size_t k = 0; k < all; k++) {
        size_t i = p.place[k] - 1;
        if (p.place[k] != 0 && (one_id(&p, i, k) || (caused && is_in_step(&p, k)))) {
            outer_of[inner->requests.v[k]] = outer->requests.v[i] + 1;
            any = true;
        }
    }
    free(p.partner);
    free(p.place);
    free(p.tried);
    return any;
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
static void look_behind(const struct audit *a, struct legs *legs, struct leg *inner,
                        const bool *own_id, size_t *outer_of)
{
    for (int own = 1; own >= 0; own--) {
        for (size_t i = 0; i < legs->n; i++) {
            struct leg *outer = &legs->v[i];
            if (outer == inner || (outer->trace == inner->trace) != own ||
                !one_clock(a, outer, inner) || !pair(a, outer, inner, own_id, outer_of))
                continue;
            inner->behind = outer;
            outer->has_inner = true;
            return;
        }
    }
}

/* The index + 1 of one at the outer leg that attempt u may have been for; 0: there is none. */
static size_t outer_of_attempt(const struct audit *a, const struct leg *outer,
                               const struct request *u)
{
    size_t end = sent_by(a, outer, u->t0);
    for (size_t i = end; i-- > 0 && end - i <= LOOK_BACK;) {
        if (may_be(&a->requests.v[outer->requests.v[i]], u))
            return outer->requests.v[i] + 1;
    }
    return 0;
}

/* What a proxy tried in vain, at a port that is surely behind it, or where nearly nothing else was
 * asked for. */
static void add_attempts(const struct audit *a, const struct leg *outer, const struct leg *inner,
                         size_t *outer_of)
{
    VEC(size_t) found = {0};
    size_t fit = 0;
    for (size_t k = 0; k < inner->requests.n; k++) {
        size_t u = inner->requests.v[k], r = outer_of[u];
        if (r == 0 && is_attempt(&a->requests.v[u]))
            r = outer_of_attempt(a, outer, &a->requests.v[u]);
        fit += r != 0;
        VEC_PUSH(&found, r);
    }
    bool sure = inner->behind == outer || (double)fit >= NEARLY_ALL * (double)found.n;
    for (size_t k = 0; k < found.n && sure; k++)
        outer_of[inner->requests.v[k]] = found.v[k];
    VEC_FREE(&found);
}

static void look_for_attempts(const struct audit *a, const struct legs *legs, size_t *outer_of)
{
    for (size_t i = 0; i < legs->n; i++) {
        const struct leg *inner = &legs->v[i];
        for (size_t k = 0; k < legs->n; k++) {
            const struct leg *outer = &legs->v[k];
            if (outer != inner && outer->has_inner && one_clock(a, outer, inner) &&
                (inner->behind == outer || (inner->behind == NULL && !inner->has_inner)))
                add_attempts(a, outer, inner, outer_of);
        }
    }
}

struct named {
    uint64_t id;
    size_t at;
};

static int compare_ids(const void *x, const void *y)
{
    uint64_t a = ((const struct named *)x)->id, b = ((const struct named *)y)->id;
    return (a > b) - (a < b);
}

/* A server that gives each reply the same id tells nothing with it. */
static void find_own_ids(const struct audit *a, const struct leg *l, bool *own_id)
{
    size_t n = l->requests.n;
    struct named *v = mem_array(n, sizeof *v);
    for (size_t i = 0; i < n; i++)
        v[i] = (struct named){a->requests.v[l->requests.v[i]].reply_id, l->requests.v[i]};
    qsort(v, n, sizeof *v, compare_ids);
    for (size_t i = 0; i < n; i++)
        own_id[v[i].at] = v[i].id != 0 && (i == 0 || v[i - 1].id != v[i].id) &&
                          (i + 1 == n || v[i + 1].id != v[i].id);
    free(v);
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
    bool *own_id = mem_array(n + 1, sizeof *own_id);
    if (find_legs(a, &legs)) {
        for (size_t i = 0; i < legs.n; i++)
            find_own_ids(a, &legs.v[i], own_id);
        for (size_t i = 0; i < legs.n; i++)
            look_behind(a, &legs, &legs.v[i], own_id, outer_of);
        look_for_attempts(a, &legs, outer_of);
        find_roots(a, outer_of, root);
        move_out(a, root, place);
        link_all(a, outer_of, root, place, n);
    }
    for (size_t i = 0; i < legs.n; i++)
        VEC_FREE(&legs.v[i].requests);
    VEC_FREE(&legs);
    free(own_id);
    free(outer_of);
    free(root);
    free(place);
}
