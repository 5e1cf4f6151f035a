/* The plan falls into units, each a group or a single request. A unit waits for its predecessor or
 * its time, gets its connections ready, is released at one instant, and ends with its last member.
 */
#include "replay/schedule.h"

#include <stdlib.h>

#include "replay/agenda.h"
#include "replay/conn.h"
#include "replay/descriptors.h"
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
        1000000000, /* an idle connection lost sooner after a reply: not an idle timeout */
    CONNECT_TRIES = 3,

    /* Of each member of a group in turn: no first byte waits for another's long body. */
    FIRST_PIECE_BYTES = 1024,
    PIECE_BYTES = 16384
};

static const int64_t most_connect_ns = INT64_C(30) * NS_PER_S;

#define NONE SIZE_MAX

enum unit_state { UNIT_WAITING, UNIT_PREPARING, UNIT_SENT, UNIT_ENDED };

struct unit {
    size_t first, n;
    enum unit_state state;
    size_t unready; /* members without a connection yet */
    size_t open;    /* members that have not ended */
    bool timed; /* due at a time of its own, due_ns; else as soon as its predecessor has ended */
    bool due_met;
    int64_t due_ns;      /* monotonic */
    int64_t due_real_ns; /* of a timed one, once sent */
    size_t sent;         /* members whose first byte was written */
    int64_t sent_first, sent_last;
    size_t first_dependent, next_dependent;
};

enum slot_state { SLOT_CONNECTING, SLOT_READY, SLOT_SENT };

/* What a request has while it is under way. */
struct slot {
    struct conn *conn;
    enum slot_state state;
    size_t unit, flying_at;
    int64_t since_ns;
    unsigned tries;
};

struct schedule {
    const struct plan *plan;
    const struct driver_options *o;
    struct sendlog *log;
    void (*over)(void *ctx);
    void *ctx;
    uv_timer_t coarse;
    struct release *release;
    int64_t release_set_ns; /* what release is set to; INT64_MAX: nothing */
    struct conn_env env;
    struct unit *units;
    size_t n_units, units_left;
    struct slot *slots;
    struct agenda to_prepare, to_release;
    VEC(struct conn *) idle;
    VEC(size_t) flying; /* requests from preparation to end */
    int64_t start_ns, last_due_ns;
    uint64_t weight, weight_done; /* of bodies: half of the guess of the time left */
    int64_t last_reply_ns;        /* monotonic */
    bool closes; /* this server closes after each reply: no connection is used again */
    bool pumping, finished;
    struct err fault;
};

static void pump(struct schedule *s);

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* --- units ------------------------------------------------------------------------------------ */

static void divide(struct schedule *d)
{
    const struct plan *p = d->plan;
    d->units = mem_array(p->requests.n, sizeof *d->units);
    d->slots = mem_array(p->requests.n, sizeof *d->slots);
    for (size_t i = 0; i < p->requests.n; i++) {
        int64_t group = p->requests.v[i].group;
        if (group < 0 || i == 0 || group != p->requests.v[i - 1].group)
            d->units[d->n_units++] =
                (struct unit){.first = i, .first_dependent = NONE, .next_dependent = NONE};
        d->units[d->n_units - 1].n++;
        d->slots[i].unit = d->n_units - 1;
        d->weight += p->requests.v[i].body.n + 1;
        d->last_due_ns = later(d->last_due_ns, p->requests.v[i].t_ns);
    }
    d->units_left = d->n_units;
}

static const struct plan_request *head_of(const struct schedule *d, const struct unit *u)
{
    return &d->plan->requests.v[u->first];
}

static int64_t lead_of(const struct schedule *d, const struct unit *u)
{
    int64_t lead =
        LEAD_NS + d->o->target->connect_ns * LEAD_CONNECTS + (int64_t)u->n * LEAD_MEMBER_NS;
    return lead < MOST_LEAD_NS ? lead : MOST_LEAD_NS;
}

/* Its predecessor, if any, ended at now. */
static void set_due(struct schedule *d, size_t u, int64_t now)
{
    struct unit *unit = &d->units[u];
    const struct plan_request *r = head_of(d, unit);
    int64_t free_ns = r->after >= 0 ? now + r->pause_ns : 0,
            own_ns = r->t_ns >= 0 ? d->start_ns + r->t_ns : 0;
    unit->timed = own_ns > free_ns || r->pause_ns > 0;
    unit->due_ns = later(free_ns, own_ns);
    bool at_once = !unit->timed || unit->due_ns == d->start_ns;
    agenda_add(&d->to_prepare, at_once ? 0 : unit->due_ns - lead_of(d, unit), u);
}

static void start_units(struct schedule *d)
{
    for (size_t u = d->n_units; u-- > 0;) {
        int64_t after = head_of(d, &d->units[u])->after;
        if (after < 0) {
            set_due(d, u, d->start_ns);
            continue;
        }
        struct unit *before = &d->units[d->slots[after].unit];
        d->units[u].next_dependent = before->first_dependent;
        before->first_dependent = u;
    }
}

static void unit_ended(struct schedule *d, struct unit *u)
{
    u->state = UNIT_ENDED;
    d->units_left--;
    if (u->sent > 1)
        sendlog_group(d->log, u->sent_last - u->sent_first);
    int64_t now = clock_mono_ns();
    for (size_t next = u->first_dependent; next != NONE; next = d->units[next].next_dependent)
        set_due(d, next, now);
}

static void take_off_flying(struct schedule *d, size_t i)
{
    size_t at = d->slots[i].flying_at, last = d->flying.v[--d->flying.n];
    d->flying.v[at] = last;
    d->slots[last].flying_at = at;
    d->slots[i].conn = NULL;
}

static void member_ended(struct schedule *d, size_t i, const struct ledger_entry *entry)
{
    struct unit *u = &d->units[d->slots[i].unit];
    struct err e;
    if (d->fault.code == TA_OK && sendlog_add(d->log, entry, &e) != TA_OK)
        d->fault = e;
    d->weight_done += d->plan->requests.v[i].body.n + 1;
    take_off_flying(d, i);
    if (--u->open == 0)
        unit_ended(d, u);
}

/* When it was due in real time, by the clocks as they stand now. */
static int64_t real_due(const struct unit *u)
{
    struct clock_pair now = clock_pair_take();
    return now.real_ns - (now.mono_ns - u->due_ns);
}

static struct ledger_entry entry_of(const struct schedule *d, size_t i)
{
    const struct plan_request *r = &d->plan->requests.v[i];
    const struct unit *u = &d->units[d->slots[i].unit];
    return (struct ledger_entry){.workload = r->workload,
                                 .name = r->name,
                                 .repeat = r->repeat,
                                 .warmup = r->warmup,
                                 .group = r->group,
                                 .due_ns = !u->timed               ? -1
                                           : u->state == UNIT_SENT ? u->due_real_ns
                                                                   : real_due(u),
                                 .sent_ns = -1,
                                 .first_ns = -1,
                                 .end_ns = clock_real_ns()};
}

/* --- release ---------------------------------------------------------------------------------- */

/* A piece of each in turn; between the writes nothing else is done. */
static void send_members(struct schedule *d, const struct unit *u)
{
    size_t most = u->n > 1 ? FIRST_PIECE_BYTES : SIZE_MAX;
    for (bool more = true; more; most = PIECE_BYTES) {
        more = false;
        for (size_t i = u->first; i < u->first + u->n; i++) {
            if (d->slots[i].conn != NULL)
                more = conn_send(d->slots[i].conn, most) || more;
        }
        for (size_t i = u->first; i < u->first + u->n; i++) {
            if (d->slots[i].conn != NULL)
                conn_record_sent(d->slots[i].conn);
        }
    }
}

static void release_unit(struct schedule *d, struct unit *u)
{
    send_members(d, u);
    int64_t now = clock_mono_ns();
    u->due_real_ns = real_due(u);
    u->state = UNIT_SENT;
    for (size_t i = u->first; i < u->first + u->n; i++) {
        d->slots[i].state = SLOT_SENT;
        d->slots[i].since_ns = now;
    }
}

static void check_ready(struct schedule *d, size_t index)
{
    struct unit *u = &d->units[index];
    if (u->state != UNIT_PREPARING || u->unready > 0 || u->open == 0)
        return;
    if (u->due_met)
        release_unit(d, u);
    else if (!u->timed)
        agenda_add(&d->to_release, clock_mono_ns() + SETTLE_NS, index);
}

static void on_due(void *ctx)
{
    struct schedule *d = ctx;
    int64_t now = clock_mono_ns();
    d->release_set_ns = INT64_MAX;
    while (agenda_next(&d->to_release) <= now) {
        size_t u = agenda_pop(&d->to_release);
        d->units[u].due_met = true;
        check_ready(d, u);
    }
    pump(d);
}

/* --- preparation ------------------------------------------------------------------------------ */

static void member_failed(struct schedule *d, size_t i, const char *fault)
{
    struct unit *u = &d->units[d->slots[i].unit];
    struct ledger_entry entry = entry_of(d, i);
    entry.outcome = fault;
    u->unready--;
    member_ended(d, i, &entry);
    check_ready(d, d->slots[i].unit);
}

static void connect_member(struct schedule *d, size_t i)
{
    struct slot *s = &d->slots[i];
    const char *fault;
    s->state = SLOT_CONNECTING;
    s->since_ns = clock_mono_ns();
    s->tries++;
    s->conn = conn_open(&d->env, s, &fault);
    if (s->conn == NULL)
        member_failed(d, i, fault);
}

static void member_ready(struct schedule *d, size_t i, struct conn *c)
{
    struct slot *s = &d->slots[i];
    s->conn = c;
    s->state = SLOT_READY;
    conn_set_user(c, s);
    conn_load(c, &d->plan->requests.v[i]);
    d->units[s->unit].unready--;
}

/* The oldest that is alive: so the same member has the same connection in every group, and the
 * fewest are in use. */
static struct conn *take_idle(struct schedule *d)
{
    while (d->idle.n > 0) {
        size_t oldest = 0;
        for (size_t i = 1; i < d->idle.n; i++) {
            if (conn_serial(d->idle.v[i]) < conn_serial(d->idle.v[oldest]))
                oldest = i;
        }
        struct conn *c = d->idle.v[oldest];
        d->idle.v[oldest] = d->idle.v[--d->idle.n];
        if (!d->closes && conn_is_alive(c))
            return c;
        conn_close(c);
    }
    return NULL;
}

static void prepare(struct schedule *d, size_t index)
{
    struct unit *u = &d->units[index];
    u->state = UNIT_PREPARING;
    u->unready = u->open = u->n;
    for (size_t i = u->first; i < u->first + u->n; i++) {
        d->slots[i].flying_at = d->flying.n;
        VEC_PUSH(&d->flying, i);
    }
    for (size_t i = u->first; i < u->first + u->n; i++) {
        struct conn *c = take_idle(d);
        if (c != NULL)
            member_ready(d, i, c);
        else
            connect_member(d, i);
    }
    if (u->timed && u->open > 0)
        agenda_add(&d->to_release, u->due_ns, index);
    check_ready(d, index);
}

/* --- connections ------------------------------------------------------------------------------ */

static void on_ready(void *ctx, struct conn *c)
{
    struct schedule *d = ctx;
    struct slot *s = conn_user(c);
    member_ready(d, (size_t)(s - d->slots), c);
    check_ready(d, s->unit);
    pump(d);
}

static void on_failed(void *ctx, struct conn *c, const char *fault)
{
    struct schedule *d = ctx;
    struct slot *s = conn_user(c);
    member_failed(d, (size_t)(s - d->slots), fault);
    pump(d);
}

/* A server may close what it finds idle, also just before the release. One that closes every
 * connection at once is not asked for ever. */
static void on_lost(void *ctx, struct conn *c)
{
    struct schedule *d = ctx;
    struct slot *s = conn_user(c);
    if (d->last_reply_ns > 0 && clock_mono_ns() - d->last_reply_ns < CLOSES_AT_ONCE_NS)
        d->closes = true;
    for (size_t i = 0; i < d->idle.n; i++) {
        if (d->idle.v[i] == c)
            d->idle.v[i] = d->idle.v[--d->idle.n];
    }
    if (s == NULL)
        return;
    size_t i = (size_t)(s - d->slots);
    d->units[s->unit].unready++;
    if (s->tries < CONNECT_TRIES)
        connect_member(d, i);
    else
        member_failed(d, i, "closed-early");
    pump(d);
}

static void on_done(void *ctx, struct conn *c, const struct conn_reply *r)
{
    struct schedule *d = ctx;
    struct slot *s = conn_user(c);
    struct unit *u = &d->units[s->unit];
    size_t i = (size_t)(s - d->slots);
    struct ledger_entry entry = entry_of(d, i);
    entry.sent_ns = r->sent_ns;
    entry.first_ns = r->first_ns;
    entry.end_ns = r->end_ns;
    entry.local_port = conn_local_port(c);
    entry.nth = (int64_t)conn_requests(c) - 1;
    entry.status = r->status;
    entry.outcome = r->outcome;
    if (r->first_ns >= 0)
        d->last_reply_ns = clock_mono_ns();
    else if (conn_requests(c) > 1)
        d->closes = true; /* it closed a kept connection, and this request crossed it */
    if (u->sent++ == 0 || r->sent_ns < u->sent_first)
        u->sent_first = r->sent_ns;
    u->sent_last = later(u->sent_last, r->sent_ns);
    if (conn_is_idle(c)) {
        conn_set_user(c, NULL);
        VEC_PUSH(&d->idle, c);
    }
    member_ended(d, i, &entry);
    pump(d);
}

/* --- the run ---------------------------------------------------------------------------------- */

static void finish(struct schedule *d)
{
    if (d->finished)
        return;
    d->finished = true;
    while (d->idle.n > 0)
        conn_close(d->idle.v[--d->idle.n]);
    release_free(d->release);
    uv_close((uv_handle_t *)&d->coarse, NULL);
    d->over(d->ctx);
}

void schedule_stop(struct schedule *d)
{
    if (d->finished)
        return;
    d->pumping = true; /* for good: nothing new starts */
    while (d->flying.n > 0) {
        size_t i = d->flying.v[d->flying.n - 1];
        struct slot *s = &d->slots[i];
        if (s->state == SLOT_SENT) {
            conn_abort(s->conn, "interrupted");
        } else {
            conn_close(s->conn);
            take_off_flying(d, i);
        }
    }
    finish(d);
}

static void on_coarse(uv_timer_t *timer)
{
    pump(timer->data);
}

static void set_timers(struct schedule *d)
{
    int64_t next = agenda_next(&d->to_prepare);
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

/* Starts what may start. Called after everything that happens; inner calls leave it to the outer
 * one, so that a thousand refused connections in a row do not nest. */
static void pump(struct schedule *d)
{
    if (d->pumping || d->finished)
        return;
    d->pumping = true;
    while (d->fault.code == TA_OK && agenda_next(&d->to_prepare) <= clock_mono_ns())
        prepare(d, agenda_pop(&d->to_prepare));
    d->pumping = false;
    if (d->fault.code != TA_OK)
        schedule_stop(d);
    else if (d->units_left == 0)
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
        size_t i = d->flying.v[k];
        struct slot *s = &d->slots[i];
        if (s->state == SLOT_SENT && now - s->since_ns > d->o->timeout_ns) {
            conn_abort(s->conn, "timeout");
        } else if (s->state == SLOT_CONNECTING && now - s->since_ns > connect_ns) {
            conn_close(s->conn);
            member_failed(d, i, "timeout");
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
    int64_t most = 0;
    for (size_t u = 0; u < d->n_units; u++)
        most = later(most, lead_of(d, &d->units[u]));
    d->start_ns = clock_mono_ns() + START_NS + most;
    start_units(d);
    pump(d);
}

struct err *schedule_fault(struct schedule *d)
{
    return &d->fault;
}

struct schedule_progress schedule_progress(const struct schedule *d)
{
    struct schedule_progress p = {d->flying.n, d->env.events,
                                  later(clock_mono_ns() - d->start_ns, 0), -1};
    double share = ((double)d->weight_done / (double)d->weight +
                    (double)d->log->requests / (double)d->plan->requests.n) /
                   2;
    if (share > 0)
        p.left_ns = (int64_t)((double)p.elapsed_ns * (1 - share) / share);
    if (d->last_due_ns > p.elapsed_ns)
        p.left_ns = later(p.left_ns, d->last_due_ns - p.elapsed_ns);
    return p;
}

static size_t widest(const struct schedule *d)
{
    size_t most = 0;
    for (size_t u = 0; u < d->n_units; u++)
        most = d->units[u].n > most ? d->units[u].n : most;
    return most;
}

struct schedule *schedule_new(uv_loop_t *loop, const struct plan *p, const struct driver_options *o,
                              struct socket_recorder *recorder, struct sendlog *log,
                              void (*over)(void *ctx), void *ctx, struct err *e)
{
    struct schedule *d = mem_zalloc(sizeof *d);
    *d = (struct schedule){
        .plan = p, .o = o, .log = log, .over = over, .ctx = ctx, .release_set_ns = INT64_MAX};
    divide(d);
    if (descriptors_raise(widest(d), e) == TA_OK)
        d->release = release_new(loop, on_due, d, e);
    if (d->release == NULL) {
        schedule_free(d);
        return NULL;
    }
    uv_timer_init(loop, &d->coarse);
    d->coarse.data = d;
    d->env = (struct conn_env){.loop = loop,
                               .remote = (const struct sockaddr *)&o->target->addr,
                               .remote_bytes = o->target->addr_bytes,
                               .authority = o->target->authority,
                               .fields = o->fields,
                               .n_fields = o->n_fields,
                               .recorder = recorder,
                               .sink = {d, on_ready, on_failed, on_done, on_lost},
                               .scratch = mem_alloc(CONN_SCRATCH_BYTES)};
    return d;
}

void schedule_free(struct schedule *d)
{
    if (d == NULL)
        return;
    agenda_free(&d->to_prepare);
    agenda_free(&d->to_release);
    VEC_FREE(&d->idle);
    VEC_FREE(&d->flying);
    free(d->env.scratch);
    free(d->units);
    free(d->slots);
    free(d);
}
