/* Deadlines: never early, each once, the last one set counts, and the loop goes on while one is
 * near. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <unistd.h>

#include "replay/agenda.h"
#include "replay/chance.h"
#include "replay/release.h"
#include "traces/base/clock.h"

enum { DEADLINES = 60 };

struct run {
    uv_loop_t loop;
    struct release *release;
    int64_t at_ns[DEADLINES], fired_ns[DEADLINES];
    size_t n, fired, announced;
    unsigned reads;
    int pipe[2];
};

static enum release_manner manner;

static void on_due(void *ctx)
{
    struct run *r = ctx;
    r->fired_ns[r->fired++] = clock_mono_ns();
    if (r->fired < r->n)
        release_at(r->release, r->at_ns[r->fired]);
    else
        release_free(r->release);
}

static void start(struct run *r)
{
    struct err e;
    uv_loop_init(&r->loop);
    r->release = release_new(&r->loop, manner, on_due, r, &e);
    assert_non_null(r->release);
}

static void finish(struct run *r)
{
    assert_int_equal(uv_run(&r->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&r->loop), 0);
}

static void never_early_and_once(void **state)
{
    (void)state;
    struct run r = {.n = DEADLINES};
    uint64_t chance = 1;
    int64_t at = clock_mono_ns();
    start(&r);
    for (size_t i = 0; i < r.n; i++) {
        at += (int64_t)(chance_next(&chance) % (i % 2 ? 3000000 : 60000));
        r.at_ns[i] = at;
    }
    release_at(r.release, r.at_ns[0]);
    finish(&r);
    assert_int_equal(r.fired, r.n);
    for (size_t i = 0; i < r.n; i++)
        assert_true(r.fired_ns[i] >= r.at_ns[i]);
}

static void on_near(void *ctx)
{
    struct run *r = ctx;
    assert_int_equal(r->announced, r->fired);
    r->announced++;
}

static void on_due_announced(void *ctx)
{
    struct run *r = ctx;
    assert_int_equal(r->announced, r->fired + 1);
    on_due(ctx);
}

/* Once before each, be it set long before or in the last moment. */
static void each_is_announced_once(void **state)
{
    (void)state;
    struct run r = {.n = DEADLINES};
    struct err e;
    uv_loop_init(&r.loop);
    r.release = release_new(&r.loop, manner, on_due_announced, &r, &e);
    assert_non_null(r.release);
    release_announce(r.release, on_near);
    for (size_t i = 0; i < r.n; i++)
        r.at_ns[i] = clock_mono_ns() + (int64_t)i * (i % 2 ? 500000 : 100000);
    release_at(r.release, r.at_ns[0]);
    finish(&r);
    assert_int_equal(r.announced, r.n);
}

static void the_past_is_due_at_once(void **state)
{
    (void)state;
    struct run r = {.n = 1};
    start(&r);
    release_at(r.release, clock_mono_ns() - NS_PER_S);
    assert_int_equal(r.fired, 0); /* from the loop, not from inside the call */
    finish(&r);
    assert_int_equal(r.fired, 1);
}

static void the_last_one_set_counts(void **state)
{
    (void)state;
    struct run r = {.n = 1};
    start(&r);
    int64_t now = clock_mono_ns();
    release_at(r.release, now + 1000);
    release_at(r.release, now + 3600 * INT64_C(1000000000));
    release_at(r.release, r.at_ns[0] = now + 5000000);
    finish(&r);
    assert_int_equal(r.fired, 1);
    assert_true(r.fired_ns[0] >= r.at_ns[0]);
}

static void on_later(uv_timer_t *timer)
{
    struct run *r = timer->data;
    assert_int_equal(r->fired, 0);
    release_free(r->release);
    uv_close((uv_handle_t *)timer, NULL);
}

static void a_stopped_one_never_comes(void **state)
{
    (void)state;
    struct run r = {.n = 1};
    uv_timer_t timer;
    start(&r);
    uv_timer_init(&r.loop, &timer);
    timer.data = &r;
    uv_timer_start(&timer, on_later, 10, 0);
    release_at(r.release, clock_mono_ns() + 2000000);
    release_stop(r.release);
    finish(&r);
    assert_int_equal(r.fired, 0);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct run *r = poll->data;
    char byte;
    (void)status, (void)events;
    assert_int_equal(read(r->pipe[0], &byte, 1), 1);
    r->reads++;
    if (r->fired == 0)
        assert_int_equal(write(r->pipe[1], "x", 1), 1);
    else
        uv_close((uv_handle_t *)poll, NULL);
}

/* Always something to read, up to the deadline and beyond: neither starves the other. */
static void reads_go_on(void **state)
{
    (void)state;
    struct run r = {.n = 1};
    uv_poll_t poll;
    start(&r);
    assert_int_equal(pipe(r.pipe), 0);
    uv_poll_init(&r.loop, &poll, r.pipe[0]);
    poll.data = &r;
    uv_poll_start(&poll, UV_READABLE, on_readable);
    assert_int_equal(write(r.pipe[1], "x", 1), 1);
    release_at(r.release,
               r.at_ns[0] = clock_mono_ns() + 200000); /* within the waking time: turning at once */
    finish(&r);
    assert_int_equal(r.fired, 1);
    assert_true(r.fired_ns[0] >= r.at_ns[0]);
    assert_true(r.reads >= 1);
    close(r.pipe[0]);
    close(r.pipe[1]);
}

static void agenda_gives_the_earliest(void **state)
{
    (void)state;
    struct agenda a = {0};
    uint64_t chance = 7;
    size_t left = 0;
    assert_true(agenda_next(&a) == INT64_MAX);
    for (size_t i = 0; i < 2000; i++) {
        agenda_add(&a, (int64_t)(chance_next(&chance) % 500), i);
        left++;
        if (chance_next(&chance) % 3 == 0) {
            agenda_pop(&a);
            left--;
        }
    }
    int64_t last = -1;
    size_t last_what = 0;
    for (; left > 0; left--) {
        int64_t at = agenda_next(&a);
        size_t what = agenda_pop(&a);
        assert_true(at > last || (at == last && what > last_what));
        last = at;
        last_what = what;
    }
    assert_true(agenda_next(&a) == INT64_MAX);
    agenda_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_early_and_once),      cmocka_unit_test(each_is_announced_once),
        cmocka_unit_test(the_past_is_due_at_once),   cmocka_unit_test(the_last_one_set_counts),
        cmocka_unit_test(a_stopped_one_never_comes), cmocka_unit_test(reads_go_on),
        cmocka_unit_test(agenda_gives_the_earliest),
    };
    int failed = cmocka_run_group_tests_name("exactly", tests, NULL, NULL);
    manner = RELEASE_GENTLY;
    return failed + cmocka_run_group_tests_name("gently", tests, NULL, NULL);
}
