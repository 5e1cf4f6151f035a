/* A run over libuv: the schedule, and around it what comes at regular times or from outside. */
#include "replay/driver.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <uv.h>

#include "replay/descriptors.h"
#include "replay/schedule.h"
#include "replay/units.h"
#include "traces/base/clock.h"
#include "traces/base/log.h"
#include "traces/base/units.h"

enum { TICK_MS = 100, SHOW_TICKS = 5 };

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNALS = sizeof signals / sizeof *signals };

struct driver {
    const struct plan *plan;
    const struct driver_options *o;
    struct driver_report *report;
    struct schedule *schedule;
    uv_loop_t loop;
    uv_timer_t tick;
    uv_signal_t signals[SIGNALS];
    uint64_t ticks, text_events_shown;
    int64_t shown_ns;
};

static void show_progress(struct driver *d)
{
    struct schedule_progress p = schedule_progress(d->schedule);
    const struct sendlog *l = &d->report->log;
    int64_t now = clock_mono_ns();
    char left[32] = "?";
    if (p.left_ns >= 0)
        units_duration((p.left_ns / NS_PER_S + 1) * NS_PER_S, left);
    double rate =
        (double)(p.text_events - d->text_events_shown) * 1e9 / (double)(now - d->shown_ns);
    log_live("%" PRIu64 " of %zu requests done, %zu in flight, %" PRIu64
             " failed, %.0f text events/s, about %s left",
             l->requests, d->plan->requests.n, p.in_flight, l->requests - l->answered, rate, left);
    d->text_events_shown = p.text_events;
    d->shown_ns = now;
}

static void on_tick(uv_timer_t *timer)
{
    struct driver *d = timer->data;
    struct err *fault = schedule_fault(d->schedule);
    if (fault->code == TA_OK && writer_tick(d->o->writer, fault) == TA_OK)
        sendlog_flush(&d->report->log, false, fault);
    if (++d->ticks % SHOW_TICKS == 0 && d->o->shows_progress)
        show_progress(d);
    schedule_check(d->schedule);
}

static void on_signal(uv_signal_t *signal, int number)
{
    struct driver *d = signal->data;
    (void)number;
    d->report->ended_by_signal = true;
    writer_hurry(d->o->writer);
    schedule_stop(d->schedule);
}

static void mask_signals(int how)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < SIGNALS; i++)
        sigaddset(&set, signals[i]);
    pthread_sigmask(how, &set, NULL);
}

int driver_prepare(const struct plan *p, struct err *e)
{
    struct units units = units_of(p);
    size_t needed = units_at_once(&units);
    units_free(&units);
    int rc = descriptors_raise(needed, e);
    if (rc == TA_OK)
        mask_signals(SIG_BLOCK);
    return rc;
}

static void on_over(void *ctx)
{
    struct driver *d = ctx;
    /* The trace is still to be closed: who presses Ctrl-C twice, or just as the last answer comes,
     * wants it whole, too. */
    mask_signals(SIG_BLOCK);
    uv_close((uv_handle_t *)&d->tick, NULL);
    for (size_t i = 0; i < SIGNALS; i++)
        uv_close((uv_handle_t *)&d->signals[i], NULL);
}

/* A signal that our parent has us ignore (nohup, a shell's background job) stays ignored. */
static void catch_signals(struct driver *d)
{
    for (size_t i = 0; i < SIGNALS; i++) {
        struct sigaction old;
        uv_signal_init(&d->loop, &d->signals[i]);
        d->signals[i].data = d;
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            uv_signal_start(&d->signals[i], on_signal, signals[i]);
    }
    mask_signals(SIG_UNBLOCK);
}

static void report_counts(struct driver_report *r, struct schedule_counts c)
{
    r->connections = c.opened;
    r->planned = c.planned;
    r->moved = c.moved;
    r->reopened = c.reopened;
    r->renewed = c.renewed;
    r->out_of_time = c.out_of_time;
}

static int run(struct driver *d, struct socket_recorder *recorder, struct err *e)
{
    d->schedule = schedule_new(&d->loop, d->plan, d->o, recorder, &d->report->log, on_over, d, e);
    if (d->schedule == NULL)
        return TA_ESYS;
    catch_signals(d);
    uv_timer_init(&d->loop, &d->tick);
    d->tick.data = d;
    uv_timer_start(&d->tick, on_tick, TICK_MS, TICK_MS);
    d->shown_ns = clock_mono_ns();
    schedule_start(d->schedule);
    uv_run(&d->loop, UV_RUN_DEFAULT);
    log_live_end();
    d->report->took_ns = schedule_progress(d->schedule).elapsed_ns;
    report_counts(d->report, schedule_counts(d->schedule));
    struct err *fault = schedule_fault(d->schedule);
    if (fault->code == TA_OK)
        sendlog_flush(&d->report->log, true, fault);
    int r = fault->code;
    if (r != TA_OK)
        *e = *fault;
    schedule_free(d->schedule);
    return r;
}

int driver_run(const struct plan *p, const struct driver_options *o, struct driver_report *out,
               struct err *e)
{
    struct driver *d = mem_zalloc(sizeof *d);
    *d = (struct driver){.plan = p, .o = o, .report = out};
    *out = (struct driver_report){.unsent = p->requests.n};
    sendlog_init(&out->log, o->writer, o->ledger_fd);
    uv_loop_init(&d->loop);
    struct socket_recorder *recorder = socket_recorder_new(o->writer);
    int r = run(d, recorder, e);
    socket_recorder_free(recorder);
    uv_loop_close(&d->loop);
    out->unsent = p->requests.n - out->log.requests;
    free(d);
    return r;
}
