/* The first piece of each member of a group is sent by as many threads as there are processors;
 * what is left of long bodies by the loop, a piece of each in turn. */
#include "replay/flight.h"

#include <stdlib.h>

#include "replay/conn.h"
#include "traces/base/clock.h"
#include "traces/base/log.h"
#include "traces/base/mem.h"

enum {
    /* Of each member of a group in turn: no first byte waits for another's long body. */
    FIRST_PIECE_BYTES = 1024,
    PIECE_BYTES = 16384,
    /* So long after it was due the threads still wait for a loop that is late itself. */
    LATE_NS = NS_PER_MS
};

static void shoot(struct slot *s, size_t most)
{
    if (s->conn == NULL)
        return;
    s->shot_ns = clock_real_ns();
    s->more = conn_send(s->conn, most);
}

static void shoot_first_piece(void *flight, size_t i)
{
    struct flight *f = flight;
    shoot(&f->slots[i], FIRST_PIECE_BYTES);
}

struct volley *flight_volley(const struct units *u, bool tls)
{
    size_t most = uv_available_parallelism(), n = 1;
    for (size_t i = 0; i < u->n; i++)
        n = u->v[i].n > n ? u->v[i].n : n;
    if (most > VOLLEY_THREADS)
        most = VOLLEY_THREADS;
    if (n > most)
        n = most;
    if (n < 2 || tls)
        return NULL;
    struct volley *v = volley_new(n, shoot_first_piece);
    if (volley_threads(v) < n)
        log_info("groups are released by %zu threads, not by %zu: the system has no more",
                 volley_threads(v), n);
    return v;
}

static bool is_volley(const struct flight *f, const struct volley *v)
{
    return v != NULL && f->unit->n > 1;
}

void flight_is_near(const struct flight *f, struct volley *v, int64_t due_ns)
{
    if (is_volley(f, v) && f->unready == 0)
        volley_call(v, f->unit->n, due_ns + LATE_NS);
}

static int by_time(const void *a, const void *b)
{
    const struct slot *x = *(struct slot *const *)a, *y = *(struct slot *const *)b;
    return (x->shot_ns > y->shot_ns) - (x->shot_ns < y->shot_ns);
}

/* What threads sent does not stand in the order of the members. */
static void record_in_order(struct flight *f)
{
    struct slot **shots = mem_alloc(f->unit->n * sizeof *shots);
    size_t n = 0;
    for (size_t i = 0; i < f->unit->n; i++) {
        if (f->slots[i].conn != NULL)
            shots[n++] = &f->slots[i];
    }
    qsort(shots, n, sizeof *shots, by_time);
    for (size_t i = 0; i < n; i++)
        conn_record_sent(shots[i]->conn);
    free(shots);
}

static bool any_more(const struct flight *f)
{
    for (size_t i = 0; i < f->unit->n; i++) {
        if (f->slots[i].more)
            return true;
    }
    return false;
}

/* Between the writes nothing else is done. */
static void send_in_turn(struct flight *f, size_t most)
{
    for (size_t i = 0; i < f->unit->n; i++)
        shoot(&f->slots[i], most);
    for (size_t i = 0; i < f->unit->n; i++) {
        if (f->slots[i].conn != NULL)
            conn_record_sent(f->slots[i].conn);
    }
}

void flight_send(struct flight *f, struct volley *v)
{
    if (is_volley(f, v)) {
        volley_fire(v, f, f->unit->n);
        record_in_order(f);
    } else {
        send_in_turn(f, f->unit->n > 1 ? FIRST_PIECE_BYTES : SIZE_MAX);
    }
    while (any_more(f))
        send_in_turn(f, PIECE_BYTES);
}
