/* The plan falls into units, each a group or a single request. A unit waits for its predecessor or
 * its time, gets its connections ready, is released at one instant, and ends with its last member.
 */
#include "replay/schedule.h"

#include <stdlib.h>

#include "replay/agenda.h"
#include "replay/conn.h"
#include "replay/flight.h"
#include "replay/lanes.h"
#include "replay/release.h"
#include "traces/base/clock.h"

enum {
    /* How long before they are due connections are got ready: this, four times what connecting took
     * and something for each member of the group, but not more than MOST_LEAD_NS. */
    LEAD_NS = 5000000,
    LEAD_CONNECTS = 4,
    LEAD_MEMBER_NS = 250000,
    MOST_LEAD_NS = 2000000000,

    START_NS = 50000000, /* from the call to t_ns 0, on top of the lead */
    /* An untimed unit waits so long between ready and release: a fresh connection is accepted, and
     * a server that closes after its reply is found out (llama.cpp's does, 0.1 ms after the last
     * byte of a stream). */
    SETTLE_NS = 1000000,
    CLOSES_AT_ONCE_NS =
        1000000000, /* a connection lost sooner after its reply: not an idle timeout */
    CONNECT_TRIES = 3
};

static const int64_t most_connect_ns = INT64_C(30) * NS_PER_S;

struct schedule {
    const struct plan *plan;
    const struct driver_options *o;
    struct sendlog *log;
    void (*over)(void *ctx);
    void *ctx;
    uv_timer_t coarse;
    struct release *release;
    struct volley *volley;  /* NULL: the loop sends all */
    int64_t release_set_ns; /* what release is set to; INT64_MAX: nothing */
    struct conn_env env;
    struct units units;
    size_t next_round; /* the unit that it begins with */
    struct lanes lanes;
    struct agenda to_prepare, to_release;
    VEC(struct slot *) flying;      /* requests from preparation to end */
    int64_t run_start_ns, start_ns; /* start: of the round */
    int64_t stop_ns;                /* nothing is started from then on; INT64_MAX: never */
    int64_t last_due_ns;            /* of the round, from its start */
    uint64_t weight, weight_done;   /* of bodies: half of the guess of the time left */
    bool pumping, stopped, finished;
    bool out_of_time; /* something was not started for that */
    struct err fault;
};

static void pump(struct schedule *s);

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static const struct plan_request *request_of(const struct schedule *d, const struct slot *s)
{
    return &d->plan->requests.v[s->request];
}

/* --- units ------------------------------------------------------------------------------------ */

static int64_t lead_of(const struct schedule *d, const struct unit *u)
{
    int64_t lead =
        LEAD_NS + d->o->target->connect_ns * LEAD_CONNECTS + (int64_t)u->n * LEAD_MEMBER_NS;
    return lead < MOST_LEAD_NS ? lead : MOST_LEAD_NS;
}

/* Its predecessor, if any, ended at now. */
static void set_due(struct schedule *d, struct unit *u, int64_t now)
{
    const struct plan_request *r = units_head(&d->units, u);
    int64_t free_ns = r->after >= 0 ? now + r->pause_ns : 0,
            own_ns = r->t_ns >= 0 ? d->start_ns + r->t_ns : 0;
    u->timed = own_ns > free_ns || r->pause_ns > 0;
    u->due_ns = later(free_ns, own_ns);
    if (u->due_ns >= d->stop_ns || d->stopped) {
        d->out_of_time = true;
        return;
    }
    bool at_once = !u->timed || u->due_ns == d->start_ns;
    agenda_add(&d->to_prepare, at_once ? 0 : u->due_ns - lead_of(d, u), (size_t)(u - d->units.v));
}

static void start_round(struct schedule *d)
{
    size_t first = d->next_round, end = units_begin_round(&d->units, first);
    int64_t most = 0;
    d->last_due_ns = 0;
    for (size_t u = first; u < end; u++) {
        most = later(most, lead_of(d, &d->units.v[u]));
        d->last_due_ns = later(d->last_due_ns, units_head(&d->units, &d->units.v[u])->t_ns);
    }
    d->next_round = end;
    d->start_ns = clock_mono_ns() + (first == 0 ? START_NS : 0) + most;
    if (first == 0) {
        d->run_start_ns = d->start_ns;
        if (d->plan->duration_ns > 0)
            d->stop_ns = d->start_ns + d->plan->duration_ns;
    }
    for (size_t u = first; u < end; u++) {
        if (units_head(&d->units, &d->units.v[u])->after < 0)
            set_due(d, &d->units.v[u], d->start_ns);
    }
}

static void unit_ended(struct schedule *d, struct flight *f)
{
    if (f->n_sent > 1)
        sendlog_group(d->log, f->sent_last - f->sent_first);
    int64_t now = clock_mono_ns();
    for (uint32_t next = f->unit->first_dependent; next != UNITS_NONE;
         next = d->units.v[next].next_dependent)
        set_due(d, &d->units.v[next], now);
}

/* --- the end of a request --------------------------------------------------------------------- */

/* s is gone, and with the last member its flight. */
static void slot_gone(struct schedule *d, struct slot *s)
{
    struct flight *f = s->flight;
    struct slot *last = d->flying.v[--d->flying.n];
    d->flying.v[s->flying_at] = last;
    last->flying_at = s->flying_at;
    lanes_left(&d->lanes, s);
    if (--f->open > 0)
        return;
    f->unit->flight = NULL;
    free(f);
}

static void member_ended(struct schedule *d, struct slot *s, const struct ledger_entry *entry)
{
    struct err e;
    if (d->fault.code == TA_OK && sendlog_add(d->log, entry, &e) != TA_OK)
        d->fault = e;
    d->weight_done += request_of(d, s)->body.n + 1;
    if (s->flight->open == 1)
        unit_ended(d, s->flight);
    slot_gone(d, s);
}

/* When it was due in real time, by the clocks as they stand now. */
static int64_t real_due(const struct unit *u)
{
    struct clock_pair now = clock_pair_take();
    return now.real_ns - (now.mono_ns - u->due_ns);
}

static struct ledger_entry entry_of(const struct schedule *d, const struct slot *s)
{
    const struct plan_request *r = request_of(d, s);
    const struct flight *f = s->flight;
    struct ledger_entry entry = sendlog_entry(r);
    if (f->unit->timed)
        entry.due_ns = f->sent ? f->due_real_ns : real_due(f->unit);
    else if (r->after < 0)
        entry.concurrency = d->plan->concurrency;
    return entry;
}

/* --- release ---------------------------------------------------------------------------------- */

static void release_unit(struct schedule *d, struct flight *f)
{
    flight_send(f, d->volley);
    int64_t now = clock_mono_ns();
    f->due_real_ns = real_due(f->unit);
    f->sent = true;
    for (size_t i = 0; i < f->unit->n; i++) {
        struct slot *s = &f->slots[i];
        if (s->conn == NULL)
            continue;
        s->state = SLOT_SENT;
        s->since_ns = now;
        lanes_sent(&d->lanes, s);
    }
}

static void check_ready(struct schedule *d, struct unit *u)
{
    struct flight *f = u->flight;
    if (f == NULL || f->sent || f->unready > 0)
        return;
    if (f->due_met)
        release_unit(d, f);
    else if (!u->timed)
        agenda_add(&d->to_release, clock_mono_ns() + SETTLE_NS, (size_t)(u - d->units.v));
}

static void on_near(void *ctx)
{
    struct schedule *d = ctx;
    if (d->to_release.heap.n == 0)
        return;
    const struct unit *u = &d->units.v[d->to_release.heap.v[0].what];
    if (u->flight != NULL)
        flight_is_near(u->flight, d->volley, agenda_next(&d->to_release));
}

static void on_due(void *ctx)
{
    struct schedule *d = ctx;
    int64_t now = clock_mono_ns();
    d->release_set_ns = INT64_MAX;
    while (agenda_next(&d->to_release) <= now) {
        struct unit *u = &d->units.v[agenda_pop(&d->to_release)];
        if (u->flight != NULL)
            u->flight->due_met = true;
        check_ready(d, u);
    }
    pump(d);
}

/* --- preparation ------------------------------------------------------------------------------ */

static void member_failed(struct schedule *d, struct slot *s, const char *fault)
{
    struct unit *u = s->flight->unit;
    struct ledger_entry entry = entry_of(d, s);
    entry.outcome = fault;
    s->flight->unready--;
    s->conn = NULL;
    lanes_lose(&d->lanes, s, LOSS_NONE);
    member_ended(d, s, &entry);
    check_ready(d, u);
}

static void connect_member(struct schedule *d, struct slot *s)
{
    const char *fault;
    s->state = SLOT_CONNECTING;
    s->since_ns = clock_mono_ns();
    s->tries++;
    s->conn = conn_open(&d->env, &s->holder, &fault);
    if (s->conn == NULL)
        member_failed(d, s, fault);
}

static void member_ready(struct schedule *d, struct slot *s, struct conn *c)
{
    s->conn = c;
    s->state = SLOT_READY;
    conn_set_user(c, &s->holder);
    conn_load(c, request_of(d, s));
    s->flight->unready--;
}

static void prepare(struct schedule *d, struct unit *u)
{
    struct flight *f = mem_zalloc(sizeof *f + u->n * sizeof *f->slots);
    *f = (struct flight){.unit = u, .unready = u->n, .open = u->n};
    u->flight = f;
    for (size_t i = 0; i < u->n; i++) {
        f->slots[i] = (struct slot){
            .holder = {true}, .flight = f, .request = u->first + i, .flying_at = d->flying.n};
        VEC_PUSH(&d->flying, &f->slots[i]);
    }
    size_t index = (size_t)(u - d->units.v);
    if (u->timed)
        agenda_add(&d->to_release, u->due_ns, index);
    for (size_t i = 0; i < u->n && u->flight == f; i++) {
        struct conn *c = lanes_choose(&d->lanes, &f->slots[i]);
        if (c != NULL)
            member_ready(d, &f->slots[i], c);
        else
            connect_member(d, &f->slots[i]);
    }
    check_ready(d, u);
}

/* --- connections ------------------------------------------------------------------------------ */

/* The connection of its lane came back in time: what it had got ready is not needed. */
static void hand_over(struct schedule *d, struct slot *s, struct conn *c)
{
    if (s->state == SLOT_READY) {
        lanes_put_away(&d->lanes, s->conn);
        s->flight->unready++;
    } else {
        conn_close(s->conn);
    }
    member_ready(d, s, c);
    check_ready(d, s->flight->unit);
}

static void on_ready(void *ctx, struct conn *c)
{
    struct schedule *d = ctx;
    struct slot *s = lanes_slot(c);
    member_ready(d, s, c);
    check_ready(d, s->flight->unit);
    pump(d);
}

static void on_failed(void *ctx, struct conn *c, const char *fault)
{
    struct schedule *d = ctx;
    member_failed(d, lanes_slot(c), fault);
    pump(d);
}

/* A server may close what it finds idle, also just before the release. One that closes every
 * connection at once is not asked for ever. */
static void on_lost(void *ctx, struct conn *c)
{
    struct schedule *d = ctx;
    struct slot *s = lanes_slot(c);
    if (conn_ended_within(c, CLOSES_AT_ONCE_NS))
        d->lanes.closes = true;
    if (s == NULL) {
        lanes_lost(&d->lanes, c);
        return;
    }
    s->flight->unready++;
    if (s->tries < CONNECT_TRIES)
        connect_member(d, s);
    else
        member_failed(d, s, "closed-early");
    pump(d);
}

static void on_done(void *ctx, struct conn *c, const struct conn_reply *r)
{
    struct schedule *d = ctx;
    struct slot *s = lanes_slot(c);
    struct flight *f = s->flight;
    struct ledger_entry entry = entry_of(d, s);
    entry.sent_ns = r->sent_ns;
    entry.first_ns = r->first_ns;
    entry.end_ns = r->end_ns;
    if (r->sent_ns >= 0) { /* it is to be found on the wire */
        if (d->o->replaced != NULL)
            replaced_count(d->o->replaced, request_of(d, s));
        entry.local_port = conn_local_port(c);
        entry.nth = (int64_t)conn_requests(c) - 1;
    }
    entry.status = r->status;
    entry.outcome = r->outcome;
    if (r->first_ns < 0 && conn_ended_within(c, CLOSES_AT_ONCE_NS))
        d->lanes.closes = true; /* and this request crossed that */
    if (r->sent_ns >= 0 && (f->n_sent++ == 0 || r->sent_ns < f->sent_first))
        f->sent_first = r->sent_ns;
    f->sent_last = later(f->sent_last, r->sent_ns);
    if (!conn_is_idle(c) && !conn_ended_by_server(c))
        lanes_lose(&d->lanes, s, LOSS_BY_US);
    struct slot *next = conn_is_idle(c) ? lanes_give_back(&d->lanes, s, c) : NULL;
    if (next != NULL)
        hand_over(d, next, c);
    member_ended(d, s, &entry);
    pump(d);
}

/* --- the run ---------------------------------------------------------------------------------- */

static void finish(struct schedule *d)
{
    if (d->finished)
        return;
    d->finished = true;
    lanes_close(&d->lanes);
    release_free(d->release);
    uv_close((uv_handle_t *)&d->coarse, NULL);
    d->over(d->ctx);
}

void schedule_stop(struct schedule *d)
{
    if (d->finished)
        return;
    d->pumping = true; /* for good: nothing new starts */
    d->stopped = true;
    while (d->flying.n > 0) {
        struct slot *s = d->flying.v[d->flying.n - 1];
        if (s->state == SLOT_SENT) {
            conn_abort(s->conn, "interrupted");
        } else {
            conn_close(s->conn);
            slot_gone(d, s);
        }
    }
    finish(d);
}

/* The time is over: what was not sent by now never is. */
static void start_no_more(struct schedule *d)
{
    d->stopped = d->out_of_time = true;
    d->to_prepare.heap.n = d->to_release.heap.n = 0;
    for (size_t k = d->flying.n; k-- > 0;) {
        struct slot *s = d->flying.v[k]; /* slot_gone moves the last one here: it was looked at */
        if (s->state != SLOT_SENT) {
            conn_close(s->conn);
            slot_gone(d, s);
        }
    }
}

static void on_coarse(uv_timer_t *timer)
{
    pump(timer->data);
}

/* May the next unit start by the number in flight? */
static bool is_room(const struct schedule *d)
{
    if (d->plan->concurrency == 0 || d->to_prepare.heap.n == 0)
        return true;
    size_t n = d->units.v[d->to_prepare.heap.v[0].what].n;
    return d->flying.n + n <= (size_t)d->plan->concurrency;
}

static void set_timers(struct schedule *d)
{
    int64_t next = is_room(d) ? agenda_next(&d->to_prepare) : INT64_MAX;
    if (!d->stopped && d->stop_ns < next)
        next = d->stop_ns;
    if (next != INT64_MAX) {
        int64_t left = later(0, next - clock_mono_ns());
        uv_update_time(d->env.loop);
        uv_timer_start(&d->coarse, on_coarse, (uint64_t)(left / NS_PER_MS) + 1, 0);
    }
    int64_t exact = agenda_next(&d->to_release);
    if (exact != d->release_set_ns && exact != INT64_MAX)
        release_at(d->release, exact);
    d->release_set_ns = exact;
}

static bool is_over(const struct schedule *d)
{
    return d->flying.n == 0 && d->to_prepare.heap.n == 0;
}

/* Starts what may start. Called after everything that happens; inner calls leave it to the outer
 * one, so that a thousand refused connections in a row do not nest. */
static void pump(struct schedule *d)
{
    if (d->pumping || d->finished)
        return;
    d->pumping = true;
    do {
        if (!d->stopped && clock_mono_ns() >= d->stop_ns)
            start_no_more(d);
        while (d->fault.code == TA_OK && agenda_next(&d->to_prepare) <= clock_mono_ns() &&
               is_room(d))
            prepare(d, &d->units.v[agenda_pop(&d->to_prepare)]);
        if (is_over(d) && !d->out_of_time && d->next_round < d->units.n)
            start_round(d);
    } while (d->fault.code == TA_OK && agenda_next(&d->to_prepare) == 0 && is_room(d));
    d->pumping = false;
    if (d->fault.code != TA_OK)
        schedule_stop(d);
    else if (is_over(d) && (d->out_of_time || d->next_round == d->units.n))
        finish(d);
    else
        set_timers(d);
}

static void check_timeouts(struct schedule *d, int64_t now)
{
    int64_t connect_ns = most_connect_ns < d->o->timeout_ns ? most_connect_ns : d->o->timeout_ns;
    for (size_t k = d->flying.n; k-- > 0;) {
        if (k >= d->flying.n)
            continue;
        struct slot *s = d->flying.v[k];
        if (s->state == SLOT_SENT && now - s->since_ns > d->o->timeout_ns) {
            conn_abort(s->conn, "timeout");
        } else if (s->state == SLOT_CONNECTING && now - s->since_ns > connect_ns) {
            conn_close(s->conn);
            member_failed(d, s, "timeout");
        }
    }
}

void schedule_check(struct schedule *d)
{
    check_timeouts(d, clock_mono_ns());
    if (d->fault.code == TA_OK)
        d->fault = d->env.trace;
    pump(d);
}

void schedule_start(struct schedule *d)
{
    start_round(d);
    pump(d);
}

struct err *schedule_fault(struct schedule *d)
{
    return &d->fault;
}

struct schedule_counts schedule_counts(const struct schedule *d)
{
    return (struct schedule_counts){.opened = d->env.opened,
                                    .planned = d->lanes.planned,
                                    .moved = d->lanes.moved,
                                    .reopened = d->lanes.reopened,
                                    .renewed = d->lanes.renewed,
                                    .out_of_time = d->out_of_time};
}

struct schedule_progress schedule_progress(const struct schedule *d)
{
    int64_t now = clock_mono_ns();
    struct schedule_progress p = {d->flying.n, d->env.text_events, later(now - d->run_start_ns, 0),
                                  -1};
    double share = ((double)d->weight_done / (double)d->weight +
                    (double)d->log->requests / (double)d->plan->requests.n) /
                   2;
    if (share > 0)
        p.left_ns = (int64_t)((double)p.elapsed_ns * (1 - share) / share);
    int64_t last_due = d->start_ns + d->last_due_ns;
    if (last_due > now)
        p.left_ns = later(p.left_ns, last_due - now);
    if (d->stop_ns != INT64_MAX && (p.left_ns < 0 || p.left_ns > d->stop_ns - now))
        p.left_ns = later(d->stop_ns - now, 0);
    return p;
}

struct schedule *schedule_new(uv_loop_t *loop, const struct plan *p, const struct driver_options *o,
                              struct socket_recorder *recorder, struct sendlog *log,
                              void (*over)(void *ctx), void *ctx, struct err *e)
{
    struct schedule *d = mem_zalloc(sizeof *d);
    *d = (struct schedule){.plan = p,
                           .o = o,
                           .log = log,
                           .over = over,
                           .ctx = ctx,
                           .release_set_ns = INT64_MAX,
                           .stop_ns = INT64_MAX};
    d->units = units_of(p);
    d->lanes = lanes_of(p);
    for (size_t i = 0; i < p->requests.n; i++)
        d->weight += p->requests.v[i].body.n + 1;
    d->release = release_new(loop, RELEASE_EXACTLY, on_due, d, e);
    if (d->release == NULL) {
        schedule_free(d);
        return NULL;
    }
    release_announce(d->release, on_near);
    d->volley = flight_volley(&d->units, o->target->tls != NULL);
    uv_timer_init(loop, &d->coarse);
    d->coarse.data = d;
    d->env = (struct conn_env){.loop = loop,
                               .remote = (const struct sockaddr *)&o->target->addr,
                               .remote_bytes = o->target->addr_bytes,
                               .tls = o->target->tls,
                               .authority = o->target->authority,
                               .fields = o->fields,
                               .n_fields = o->n_fields,
                               .recorder = recorder,
                               .counts_text = o->shows_progress,
                               .sink = {d, on_ready, on_failed, on_done, on_lost},
                               .scratch = mem_alloc(CONN_SCRATCH_BYTES)};
    return d;
}

void schedule_free(struct schedule *d)
{
    if (d == NULL)
        return;
    volley_free(d->volley);
    agenda_free(&d->to_prepare);
    agenda_free(&d->to_release);
    VEC_FREE(&d->flying);
    free(d->env.scratch);
    units_free(&d->units);
    lanes_free(&d->lanes);
    free(d);
}
