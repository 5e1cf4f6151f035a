/* A group of as many members as there are processors, or fewer, is sent by threads; a larger one,
 * and what is left of long bodies, by the loop, a piece of each in turn. */
#include "replay/flight.h"

#include <stdlib.h>

#include "replay/conn.h"
#include "traces/base/clock.h"
#include "traces/base/log.h"

enum {
    /* Of each member of a group in turn: no first byte waits for another's long body. */
    FIRST_PIECE_BYTES = 1024,
    PIECE_BYTES = 16384,
    /* So long after it was due the threads still wait for a loop that is late itself. */
    LATE_NS = NS_PER_MS
};

struct shot {
    struct conn *conn;
    int64_t t_ns;
    bool more; /* to send, and the socket takes it */
};

static void shoot(void *item)
{
    struct shot *s = item;
    s->t_ns = clock_real_ns();
    s->more = conn_send(s->conn, FIRST_PIECE_BYTES);
}

struct volley *flight_volley(const struct units *u, bool tls)
{
    size_t most = uv_available_parallelism(), n = 1;
    if (most > VOLLEY_MOST)
        most = VOLLEY_MOST;
    for (size_t i = 0; i < u->n; i++) {
        if (u->v[i].n <= most && u->v[i].n > n)
            n = u->v[i].n;
    }
    if (n < 2 || tls)
        return NULL;
    struct volley *v = volley_new(n, shoot);
    if (volley_size(v) < n)
        log_info("groups of %zu are released by %zu threads: the system has no more", n,
                 volley_size(v));
    return v;
}

static bool is_volley(const struct flight *f, const struct volley *v)
{
    return v != NULL && f->unit->n > 1 && f->unit->n <= volley_size(v);
}

void flight_is_near(const struct flight *f, struct volley *v, int64_t due_ns)
{
    if (is_volley(f, v) && f->unready == 0)
        volley_call(v, f->unit->n, due_ns + LATE_NS);
}

/* Between the writes nothing else is done. */
static bool send_in_turn(struct flight *f, size_t most)
{
    bool more = false;
    for (size_t i = 0; i < f->unit->n; i++) {
        if (f->slots[i].conn != NULL)
            more = conn_send(f->slots[i].conn, most) || more;
    }
    for (size_t i = 0; i < f->unit->n; i++) {
        if (f->slots[i].conn != NULL)
            conn_record_sent(f->slots[i].conn);
    }
    return more;
}

static int by_time(const void *a, const void *b)
{
    const struct shot *x = a, *y = b;
    return (x->t_ns > y->t_ns) - (x->t_ns < y->t_ns);
}

static bool send_at_once(struct flight *f, struct volley *v)
{
    struct shot shots[VOLLEY_MOST];
    void *items[VOLLEY_MOST];
    size_t n = 0;
    bool more = false;
    for (size_t i = 0; i < f->unit->n; i++) {
        if (f->slots[i].conn == NULL)
            continue;
        shots[n] = (struct shot){.conn = f->slots[i].conn};
        items[n] = &shots[n];
        n++;
    }
    volley_fire(v, items, n);
    qsort(shots, n, sizeof *shots, by_time); /* as they stand in the trace */
    for (size_t i = 0; i < n; i++) {
        more = shots[i].more || more;
        conn_record_sent(shots[i].conn);
    }
    return more;
}

void flight_send(struct flight *f, struct volley *v)
{
    bool more = is_volley(f, v) ? send_at_once(f, v)
                                : send_in_turn(f, f->unit->n > 1 ? FIRST_PIECE_BYTES : SIZE_MAX);
    while (more)
        more = send_in_turn(f, PIECE_BYTES);
}
