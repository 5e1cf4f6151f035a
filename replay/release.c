/* Exact deadlines over libuv: timerfd through uv_poll on Linux, whose wake-ups
 * come some 100 µs late under load; elsewhere a uv_timer, which counts whole milliseconds. Both are
 * set early by more than that. */
#include "replay/release.h"

#include <stdbool.h>
#include <stdlib.h>

#include "traces/base/clock.h"
#include "traces/base/mem.h"

#ifdef __linux__
#include <sys/timerfd.h>
#include <unistd.h>
enum { EARLY_NS = 250000 };
#else
enum { EARLY_NS = 2500000 };
#endif

enum { SPIN_NS = 20000, HANDLES = 2 };

struct release {
    int64_t early_ns;
    void (*due)(void *ctx);
    void (*near)(void *ctx); /* NULL: nobody wants to know */
    void *ctx;
    int64_t at_ns; /* -1: none */
    bool announced;
    uv_idle_t turning; /* keeps the loop from sleeping */
#ifdef __linux__
    uv_poll_t wake;
    int fd;
#else
    uv_timer_t wake;
#endif
    unsigned open;
};

static void on_turn(uv_idle_t *idle)
{
    struct release *r = idle->data;
    if (!r->announced && r->near != NULL)
        r->near(r->ctx);
    r->announced = true;
    if (clock_mono_ns() < r->at_ns - SPIN_NS)
        return;
    while (clock_mono_ns() < r->at_ns) {
    }
    r->at_ns = -1;
    uv_idle_stop(idle);
    r->due(r->ctx);
}

#ifdef __linux__

static void on_wake(uv_poll_t *wake, int status, int events)
{
    (void)status;
    (void)events;
    struct release *r = wake->data;
    uint64_t times;
    ssize_t n = read(r->fd, &times, sizeof times);
    if (n == (ssize_t)sizeof times && r->at_ns >= 0)
        uv_idle_start(&r->turning, on_turn);
}

static int wake_open(struct release *r, uv_loop_t *loop, struct err *e)
{
    r->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (r->fd < 0)
        return err_sys(e, TA_ESYS, "making a timer");
    uv_poll_init(loop, &r->wake, r->fd);
    uv_poll_start(&r->wake, UV_READABLE, on_wake);
    return TA_OK;
}

/* 0 takes the timer back. */
static void wake_at(struct release *r, int64_t mono_ns)
{
    struct itimerspec when = {.it_value = {mono_ns / NS_PER_S, mono_ns % NS_PER_S}};
    timerfd_settime(r->fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void wake_close(struct release *r)
{
    uv_poll_stop(&r->wake);
    close(r->fd);
}

#else

static void on_wake(uv_timer_t *wake)
{
    struct release *r = wake->data;
    if (r->at_ns >= 0)
        uv_idle_start(&r->turning, on_turn);
}

static int wake_open(struct release *r, uv_loop_t *loop, struct err *e)
{
    (void)e;
    uv_timer_init(loop, &r->wake);
    return TA_OK;
}

static void wake_at(struct release *r, int64_t mono_ns)
{
    int64_t left = mono_ns - clock_mono_ns();
    if (mono_ns == 0) {
        uv_timer_stop(&r->wake);
        return;
    }
    uv_update_time(r->wake.loop);
    uv_timer_start(&r->wake, on_wake, left > 0 ? (uint64_t)(left / NS_PER_MS) : 0, 0);
}

static void wake_close(struct release *r)
{
    uv_timer_stop(&r->wake);
}

#endif

struct release *release_new(uv_loop_t *loop, enum release_manner manner, void (*due)(void *ctx),
                            void *ctx, struct err *e)
{
    struct release *r = mem_zalloc(sizeof *r);
    *r = (struct release){.early_ns = manner == RELEASE_EXACTLY ? EARLY_NS : 0,
                          .due = due,
                          .ctx = ctx,
                          .at_ns = -1,
                          .open = HANDLES};
    if (wake_open(r, loop, e) != TA_OK) {
        free(r);
        return NULL;
    }
    uv_idle_init(loop, &r->turning);
    r->turning.data = r;
    r->wake.data = r;
    return r;
}

void release_announce(struct release *r, void (*near)(void *ctx))
{
    r->near = near;
}

void release_at(struct release *r, int64_t mono_ns)
{
    release_stop(r);
    r->at_ns = mono_ns;
    r->announced = false;
    if (mono_ns - clock_mono_ns() <= r->early_ns)
        uv_idle_start(&r->turning, on_turn);
    else
        wake_at(r, mono_ns - r->early_ns);
}

void release_stop(struct release *r)
{
    r->at_ns = -1;
    uv_idle_stop(&r->turning);
    wake_at(r, 0);
}

static void on_closed(uv_handle_t *handle)
{
    struct release *r = handle->data;
    if (--r->open == 0)
        free(r);
}

void release_free(struct release *r)
{
    if (r == NULL)
        return;
    release_stop(r);
    wake_close(r);
    uv_close((uv_handle_t *)&r->wake, on_closed);
    uv_close((uv_handle_t *)&r->turning, on_closed);
}
