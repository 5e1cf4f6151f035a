/* One loop: the capture device, deadlines, signals and the load, over libuv. */
#include "capture/recorder.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "capture/ledger_lines.h"
#include "capture/live.h"
#include "capture/load.h"
#include "capture/sample_batch.h"
#include "traces/base/clock.h"
#include "traces/base/jsonw.h"
#include "traces/base/log.h"

enum {
    TICK_MS = SOURCE_BLOCK_MS,
    LAST_BLOCKS_MS = 2 * SOURCE_BLOCK_MS + 20, /* until the kernel has handed over what it holds */
    SHOW_TICKS = 500 / TICK_MS,
    SECOND_TICKS = 1000 / TICK_MS,
    QUIET_TICKS = 5000 / TICK_MS,
    SIGNALS_TO_GIVE_UP = 3
};

static const int watched_signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNALS = sizeof watched_signals / sizeof *watched_signals };

struct recorder {
    const struct recorder_plan *plan;
    struct recorder_result *result;
    struct err *e;
    int failed; /* the first fault; what follows only ends things */
    bool load_running, ending;
    unsigned ticks, told;
    uv_loop_t loop;
    uv_poll_t packets;
    uv_timer_t tick, sample, duration, end;
    uv_signal_t signals[SIGNALS];
    struct load *load;
    struct ledger_lines ledger;
    struct sample_batch samples;
    struct live live;
    struct redactor *redactor; /* between the device and the writer */
};

static void on_end(uv_timer_t *timer)
{
    uv_stop(timer->loop);
}

/* Packets of the last moment still wait in the kernel: one more round of blocks. */
static void on_tail_over(uv_timer_t *timer)
{
    struct recorder *r = timer->data;
    r->ending = true;
    uv_timer_start(&r->end, on_end, LAST_BLOCKS_MS, 0);
}

static void end_after(struct recorder *r, int64_t wait_ns)
{
    if (!r->ending)
        uv_timer_start(&r->end, on_tail_over, (uint64_t)(wait_ns / NS_PER_MS), 0);
}

/* Notes the outcome of a step; after a fault nothing is recorded, and only COMMAND is awaited. */
static void check(struct recorder *r, int outcome)
{
    if (outcome >= 0 || r->failed != 0)
        return;
    r->failed = outcome;
    uv_poll_stop(&r->packets);
    uv_timer_stop(&r->tick);
    uv_timer_stop(&r->sample);
    if (!r->load_running) {
        uv_stop(&r->loop);
        return;
    }
    log_warn("the recording ended: %s. Telling COMMAND to end", r->e->msg);
    load_signal(r->load, SIGTERM);
}

static int write_phase(struct recorder *r, const char *name, int64_t t_ns)
{
    struct buf json;
    struct jsonw w;
    buf_init(&json, 1024);
    jsonw_init(&w, &json, 0);
    jsonw_object(&w, NULL);
    jsonw_text(&w, "kind", "phase");
    jsonw_ns(&w, "t_ns", t_ns);
    jsonw_text(&w, "name", name);
    jsonw_end(&w);
    int outcome = redactor_custom(r->redactor, (struct slice){(const char *)json.p, json.n}, r->e);
    buf_done(&json);
    return outcome;
}

static int write_ledger(struct recorder *r)
{
    struct slice json;
    return ledger_lines_take(&r->ledger, &json) ? redactor_custom(r->redactor, json, r->e) : TA_OK;
}

static int write_counts(struct recorder *r)
{
    r->result->counts = source_counts(r->plan->source);
    return writer_counts(r->plan->writer, clock_real_ns(), r->result->counts, r->e);
}

static int on_packet(void *ctx, int64_t t_ns, const uint8_t *p, size_t n, size_t wire_n)
{
    struct recorder *r = ctx;
    live_packet(&r->live, p, n, wire_n);
    return redactor_packet(r->redactor, source_link(r->plan->source), t_ns, p, n, wire_n, r->e);
}

/* On to the next file, if the one at hand is full: each has the counts of its own, and tells again
 * what the machine is. */
static int rotate_before(struct recorder *r, int64_t t_ns, struct err *e)
{
    struct writer *w = r->plan->writer;
    if (!writer_is_full(w, t_ns))
        return TA_OK;
    r->result->counts = source_counts(r->plan->source);
    int outcome = sample_batch_divide(&r->samples, e);
    return outcome == TA_OK ? writer_rotate(w, clock_real_ns(), r->result->counts, e) : outcome;
}

/* What comes out of the redactor. */
static int write_packet(void *ctx, int64_t t_ns, const uint8_t *p, size_t n, size_t wire_n,
                        struct err *e)
{
    struct recorder *r = ctx;
    int outcome = rotate_before(r, t_ns, e);
    return outcome == TA_OK ? writer_packet(r->plan->writer, t_ns, p, n, wire_n, e) : outcome;
}

static int write_custom(void *ctx, struct slice json, struct err *e)
{
    return writer_custom(((struct recorder *)ctx)->plan->writer, json, e);
}

static void drain(struct recorder *r)
{
    check(r, source_drain(r->plan->source, on_packet, r, r->e));
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct recorder *r = poll->data;
    (void)events;
    drain(r);
    if (status < 0 &&
        r->failed == 0) /* the device had an error that libpcap passed over: libuv let go of it */
        uv_poll_start(poll, UV_READABLE, on_readable);
}

static void once_a_second(struct recorder *r)
{
    check(r, write_counts(r));
    check(r, write_ledger(r));
    if (r->samples.sampler != NULL)
        sampler_find(r->samples.sampler);
}

static void on_tick(uv_timer_t *timer)
{
    struct recorder *r = timer->data;
    r->ticks++;
    drain(r);
    if (r->failed == 0)
        check(r, redactor_tick(r->redactor, clock_real_ns(), r->e));
    if (r->failed == 0)
        check(r, writer_tick(r->plan->writer, r->e));
    if (r->failed == 0)
        check(r, rotate_before(r, -1, r->e));
    if (r->failed == 0 && r->ticks % SECOND_TICKS == 0)
        once_a_second(r);
    if (r->ticks == QUIET_TICKS && writer_packets(r->plan->writer) == 0)
        live_explain_silence(&r->live, source_interface(r->plan->source));
    if (r->ticks % SHOW_TICKS == 0)
        live_show(&r->live, r->plan->writer, r->result->counts);
}

static void on_sample(uv_timer_t *timer)
{
    struct recorder *r = timer->data;
    uint64_t wait_ms = 0;
    check(r, sample_batch_step(&r->samples, &wait_ms, r->e));
    if (r->failed == 0)
        uv_timer_start(timer, on_sample, wait_ms, 0);
}

static void on_load_ended(void *ctx, int status)
{
    struct recorder *r = ctx;
    r->load_running = false;
    r->result->load_status = status;
    if (r->failed != 0) {
        uv_stop(&r->loop);
        return;
    }
    check(r, write_phase(r, "load-end", clock_real_ns()));
    end_after(r, r->plan->tail_ns);
}

static void on_load_wrote(void *ctx, const char *p, size_t n)
{
    struct recorder *r = ctx;
    for (size_t used = 0; used < n && r->failed == 0;) {
        used += ledger_lines_feed(&r->ledger, p + used, n - used);
        if (used < n)
            check(r, write_ledger(r));
    }
}

/* Ctrl-C reaches all of the terminal's foreground group: COMMAND has it already. */
static bool terminal_told_load(int signum)
{
    int tty = signum == SIGINT ? open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY) : -1;
    if (tty < 0)
        return false;
    bool foreground = tcgetpgrp(tty) == getpgrp();
    close(tty);
    return foreground;
}

static void end_now(struct recorder *r)
{
    writer_hurry(r->plan->writer);
    end_after(r, 0);
}

static void on_signal(uv_signal_t *watcher, int signum)
{
    struct recorder *r = watcher->data;
    r->told++;
    if (r->load_running && r->told == 1 && r->failed == 0)
        check(r, write_phase(r, "interrupted", clock_real_ns()));
    if (!r->load_running) {
        end_now(r);
        return;
    }
    if (r->told < SIGNALS_TO_GIVE_UP) {
        if (!terminal_told_load(signum))
            load_signal(r->load, signum);
        return;
    }
    log_warn("COMMAND (process %d) does not end; leaving it", load_pid(r->load));
    r->result->load_status = 128 + signum;
    if (r->failed != 0)
        uv_stop(&r->loop);
    else
        end_now(r);
}

static void on_duration(uv_timer_t *timer)
{
    struct recorder *r = timer->data;
    if (r->load_running)
        load_signal(r->load, SIGTERM);
    else
        end_after(r, 0);
}

static int start_load(struct recorder *r)
{
    const struct load_hooks hooks = {.ctx = r, .ended = on_load_ended, .wrote = on_load_wrote};
    if (r->plan->command == NULL)
        return TA_OK;
    int64_t t_ns = clock_real_ns();
    int outcome = load_start(&r->load, &r->loop, r->plan->command, r->plan->caller, &hooks,
                             &r->result->load_status, r->e);
    if (outcome != TA_OK)
        return outcome;
    r->load_running = true;
    check(r, write_phase(r, "load-start", t_ns));
    return TA_OK;
}

static void mask_signals(int how)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < SIGNALS; i++)
        sigaddset(&set, watched_signals[i]);
    pthread_sigmask(how, &set, NULL);
}

void recorder_hold_signals(void)
{
    mask_signals(SIG_BLOCK);
}

static void watch_signals(struct recorder *r)
{
    for (size_t i = 0; i < SIGNALS; i++) {
        struct sigaction now;
        uv_signal_init(&r->loop, &r->signals[i]);
        r->signals[i].data = r;
        /* nohup(1) asks that a hang-up be ignored. */
        bool ignored = sigaction(watched_signals[i], NULL, &now) == 0 && now.sa_handler == SIG_IGN;
        if (!ignored || watched_signals[i] != SIGHUP)
            uv_signal_start(&r->signals[i], on_signal, watched_signals[i]);
    }
    mask_signals(SIG_UNBLOCK);
}

static int start(struct recorder *r)
{
    uv_timer_t *timers[] = {&r->tick, &r->sample, &r->duration, &r->end};
    for (size_t i = 0; i < sizeof timers / sizeof *timers; i++) {
        uv_timer_init(&r->loop, timers[i]);
        timers[i]->data = r;
    }
    watch_signals(r);
    int failed = uv_poll_init(&r->loop, &r->packets, source_fd(r->plan->source));
    r->packets.data = r;
    if (failed == 0)
        failed = uv_poll_start(&r->packets, UV_READABLE, on_readable);
    if (failed != 0)
        return err_set(r->e, TA_ESYS, "cannot wait for packets of %s: %s",
                       source_interface(r->plan->source), uv_strerror(failed));
    uv_timer_start(&r->tick, on_tick, TICK_MS, TICK_MS);
    if (r->samples.sampler != NULL)
        uv_timer_start(&r->sample, on_sample, 0, 0);
    if (r->plan->duration_ns > 0)
        uv_timer_start(&r->duration, on_duration, (uint64_t)(r->plan->duration_ns / NS_PER_MS), 0);
    return start_load(r);
}

/* The last packets, counts and blocks. */
static void finish(struct recorder *r)
{
    ledger_lines_end(&r->ledger);
    r->result->ledger_entries = r->ledger.entries;
    r->result->ledger_dropped = r->ledger.dropped;
    drain(r);
    if (r->failed == 0)
        check(r, write_counts(r));
    if (r->failed == 0)
        check(r, write_ledger(r));
    if (r->failed == 0)
        check(r, redactor_end(r->redactor, r->e));
    r->result->redacted = redactor_totals(r->redactor);
    if (r->failed == 0)
        check(r, sample_batch_end(&r->samples, r->e));
    if (r->failed == 0 && writer_packets(r->plan->writer) == 0)
        live_explain_silence(&r->live, source_interface(r->plan->source));
}

static void close_handle(uv_handle_t *handle, void *ctx)
{
    (void)ctx;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

int recorder_run(const struct recorder_plan *plan, struct recorder_result *out, struct err *e)
{
    struct recorder r = {.plan = plan, .result = out, .e = e};
    *out = (struct recorder_result){.load_status = LOAD_CAPTURE_FAILED};
    int failed = uv_loop_init(&r.loop);
    if (failed != 0)
        return err_set(e, TA_ESYS, "cannot make an event loop: %s", uv_strerror(failed));
    r.redactor = redactor_new(plan->redact, (struct redact_sink){&r, write_packet, write_custom});
    ledger_lines_init(&r.ledger);
    sample_batch_init(&r.samples, plan->sampler, plan->writer, plan->sample_hz);
    live_init(&r.live, source_link(plan->source));
    int started = start(&r);
    if (started == TA_OK) {
        uv_run(&r.loop, UV_RUN_DEFAULT);
        finish(&r);
    }
    log_live_end();
    recorder_hold_signals(); /* libuv lets go of them, and the trace is still to be closed */
    uv_walk(&r.loop, close_handle, NULL);
    while (uv_loop_close(&r.loop) == UV_EBUSY)
        uv_run(&r.loop, UV_RUN_DEFAULT);
    load_free(r.load);
    redactor_free(r.redactor);
    ledger_lines_done(&r.ledger);
    sample_batch_done(&r.samples);
    return started != TA_OK ? started : r.failed;
}
