/* Jobs of a volley: each is done once, by any thread, also where threads come late or not at all;
 * and two can be under way at one time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "replay/chance.h"
#include "replay/volley.h"
#include "traces/base/clock.h"

enum { ROUNDS = 1000, JOBS = 300 };

struct job {
    uint64_t *sum; /* its own; not atomic, so that a thread sanitizer sees who is not ordered */
    uint64_t times;
};

static void do_job(void *jobs, size_t i)
{
    struct job *j = (struct job *)jobs + i;
    j->times++;
    *j->sum += j->times;
}

static void fire(struct volley *v, size_t n)
{
    uint64_t sums[JOBS] = {0};
    struct job jobs[JOBS];
    for (size_t i = 0; i < n; i++)
        jobs[i] = (struct job){.sum = &sums[i]};
    volley_fire(v, jobs, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(jobs[i].times, 1);
        assert_int_equal(sums[i], 1);
    }
}

/* Called long before, just before, twice, not at all, and for a time that is over. */
static void each_is_done_once(void **state)
{
    (void)state;
    for (size_t size = 1; size <= VOLLEY_THREADS; size += size == 2 ? 2 : 1) {
        struct volley *v = volley_new(size, do_job);
        uint64_t chance = size;
        assert_true(volley_threads(v) >= 1 && volley_threads(v) <= size);
        for (unsigned round = 0; round < ROUNDS; round++) {
            uint64_t how = chance_next(&chance) % 8;
            size_t n =
                1 + (size_t)(chance_next(&chance) % (round % 2 == 0 ? JOBS : VOLLEY_THREADS));
            if (how < 4)
                volley_call(v, n, clock_mono_ns() + NS_PER_MS);
            if (how < 2)
                volley_call(v, n, clock_mono_ns() - 1);
            if (how == 1 || how == 4)
                nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
            fire(v, n);
        }
        volley_free(v);
    }
}

/* --- at one time ------------------------------------------------------------------------------ */

struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t came;
    unsigned here;
};

struct guest {
    struct meeting *meeting;
    bool met;
};

static void meet(void *guests, size_t i)
{
    struct guest *g = (struct guest *)guests + i;
    struct meeting *m = g->meeting;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 60;
    pthread_mutex_lock(&m->lock);
    m->here++;
    pthread_cond_broadcast(&m->came);
    while (m->here < 2 && pthread_cond_timedwait(&m->came, &m->lock, &end) == 0) {
    }
    g->met = m->here == 2;
    pthread_mutex_unlock(&m->lock);
}

/* Each waits until the other has begun: one after the other, the first would meet nobody. */
static void two_are_under_way_at_once(void **state)
{
    (void)state;
    struct meeting m = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
    struct guest guests[] = {{&m, false}, {&m, false}};
    struct volley *v = volley_new(2, meet);
    assert_int_equal(volley_threads(v), 2);
    volley_call(v, 2, clock_mono_ns() + INT64_C(60) * NS_PER_S);
    volley_fire(v, guests, 2);
    assert_true(guests[0].met && guests[1].met);
    volley_free(v);
}

/* Threads that turn for a volley that never comes give up, and are there for the next. */
static void who_is_called_for_nothing_sleeps_again(void **state)
{
    (void)state;
    struct volley *v = volley_new(VOLLEY_THREADS, do_job);
    volley_call(v, VOLLEY_THREADS, clock_mono_ns() + NS_PER_MS);
    nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
    volley_call(v, VOLLEY_THREADS, clock_mono_ns() + NS_PER_S);
    fire(v, VOLLEY_THREADS);
    volley_call(v, VOLLEY_THREADS, clock_mono_ns() + 50 * NS_PER_MS);
    volley_free(v); /* while they turn */
    volley_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_done_once),
        cmocka_unit_test(two_are_under_way_at_once),
        cmocka_unit_test(who_is_called_for_nothing_sleeps_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
