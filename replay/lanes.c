/* Connections and who uses them. */
#include "replay/lanes.h"

#include <stdlib.h>

#include "traces/base/mem.h"

struct lanes lanes_of(const struct plan *p)
{
    struct lanes l = {.plan = p};
    for (size_t i = 0; i < p->requests.n; i++) {
        if (p->requests.v[i].conn >= (int64_t)l.n)
            l.n = (size_t)p->requests.v[i].conn + 1;
    }
    l.v = mem_array(l.n + 1, sizeof *l.v);
    for (size_t i = 0; i < p->requests.n; i++) {
        if (p->requests.v[i].conn >= 0 && l.v[p->requests.v[i].conn].left++ == 0)
            l.planned++;
    }
    return l;
}

struct slot *lanes_slot(const struct conn *c)
{
    void *user = conn_user(c);
    const struct holder *h = user;
    return h == NULL || !h->is_slot ? NULL : user;
}

static struct lane *lane_of(const struct lanes *l, const struct slot *s)
{
    int64_t conn = l->plan->requests.v[s->request].conn;
    return conn >= 0 ? &l->v[conn] : NULL;
}

static bool is_usable(const struct lanes *l, const struct conn *c)
{
    return !l->closes && conn_is_alive(c);
}

void lanes_put_away(struct lanes *l, struct conn *c)
{
    conn_set_user(c, NULL);
    VEC_PUSH(&l->idle, c);
}

/* --- waiting for a lane's connection ---------------------------------------------------------- */

static void wait_for(struct lane *lane, struct slot *s)
{
    struct slot **at = &lane->waiting;
    while (*at != NULL)
        at = &(*at)->next_waiting;
    *at = s;
}

static void wait_no_more(struct lane *lane, struct slot *s)
{
    struct slot **at = &lane->waiting;
    while (*at != NULL && *at != s)
        at = &(*at)->next_waiting;
    if (*at != NULL)
        *at = s->next_waiting;
    s->next_waiting = NULL;
}

/* --- choosing --------------------------------------------------------------------------------- */

/* The oldest that is alive: so the same member has the same connection in every group, and the
 * fewest are in use. */
static struct conn *take_idle(struct lanes *l)
{
    while (l->idle.n > 0) {
        size_t oldest = 0;
        for (size_t i = 1; i < l->idle.n; i++) {
            if (conn_serial(l->idle.v[i]) < conn_serial(l->idle.v[oldest]))
                oldest = i;
        }
        struct conn *c = l->idle.v[oldest];
        l->idle.v[oldest] = l->idle.v[--l->idle.n];
        if (is_usable(l, c))
            return c;
        conn_close(c);
    }
    return NULL;
}

/* The lane gets another connection than the one it had. */
static void count_loss(struct lanes *l, struct lane *lane)
{
    l->reopened += lane->loss == LOSS_BY_SERVER;
    l->renewed += lane->loss == LOSS_BY_US;
    lane->loss = LOSS_BY_SERVER;
}

void lanes_lose(struct lanes *l, struct slot *s, enum lane_loss loss)
{
    struct lane *lane = lane_of(l, s);
    if (lane != NULL && lane->user == s)
        lane->loss = loss;
}

struct conn *lanes_choose(struct lanes *l, struct slot *s)
{
    struct lane *lane = lane_of(l, s);
    if (lane == NULL)
        return take_idle(l);
    lane->left--;
    if (lane->user != NULL) {
        wait_for(lane, s);
        return take_idle(l);
    }
    struct conn *c = lane->conn;
    lane->user = s;
    lane->conn = NULL;
    if (c != NULL && !is_usable(l, c)) {
        conn_close(c);
        c = NULL;
    }
    if (lane->opened && c == NULL)
        count_loss(l, lane);
    lane->opened = true;
    return c;
}

void lanes_sent(struct lanes *l, struct slot *s)
{
    struct lane *lane = lane_of(l, s);
    if (lane == NULL || lane->user == s)
        return;
    wait_no_more(lane, s);
    if (lane->conn != NULL) /* came back too late */
        lanes_put_away(l, lane->conn);
    l->moved += lane->user != NULL || lane->conn != NULL;
    if (lane->user == NULL && lane->conn == NULL)
        count_loss(l, lane);
    lane->conn = NULL;
    lane->user = s;
}

struct slot *lanes_give_back(struct lanes *l, struct slot *s, struct conn *c)
{
    struct lane *lane = lane_of(l, s);
    if (lane == NULL || lane->user != s) {
        lanes_put_away(l, c);
        return NULL;
    }
    struct slot *next = lane->waiting;
    lane->user = NULL;
    if (next != NULL && is_usable(l, c)) {
        wait_no_more(lane, next);
        lane->user = next;
        return next;
    }
    if (lane->left == 0) { /* nothing more on it: the recorded client was through with it, too */
        conn_close(c);
        return NULL;
    }
    lane->conn = c;
    conn_set_user(c, &lane->holder);
    return NULL;
}

/* --- the end ---------------------------------------------------------------------------------- */

void lanes_left(struct lanes *l, struct slot *s)
{
    struct lane *lane = lane_of(l, s);
    if (lane == NULL)
        return;
    wait_no_more(lane, s);
    if (lane->user == s)
        lane->user = NULL;
}

void lanes_lost(struct lanes *l, struct conn *c)
{
    if (conn_user(c) != NULL) {
        ((struct lane *)conn_user(c))->conn = NULL;
        return;
    }
    for (size_t i = 0; i < l->idle.n; i++) {
        if (l->idle.v[i] == c)
            l->idle.v[i] = l->idle.v[--l->idle.n];
    }
}

void lanes_close(struct lanes *l)
{
    while (l->idle.n > 0)
        conn_close(l->idle.v[--l->idle.n]);
    for (size_t i = 0; i < l->n; i++) {
        if (l->v[i].conn != NULL)
            conn_close(l->v[i].conn);
        l->v[i].conn = NULL;
    }
}

void lanes_free(struct lanes *l)
{
    VEC_FREE(&l->idle);
    free(l->v);
}
