/* Threads that wait on one word: the call that was answered last, and how many jobs nobody has
 * taken yet. Counting that down is taking one. It can't succeed for a job of a volley that is over:
 * who comes too late finds none, or one of the next. */
#include "replay/volley.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "traces/base/clock.h"
#include "traces/base/mem.h"

enum { COUNT_BITS = 8, COUNT_MASK = (1 << COUNT_BITS) - 1, PATIENCE_NS = 50000 };

struct helper {
    struct volley *volley;
    size_t nth; /* 1..: the caller's thread is 0 */
    pthread_t thread;
};

struct volley {
    void (*job)(void *item);
    void *items[VOLLEY_MOST];
    size_t n;
    _Atomic uint64_t word; /* call << COUNT_BITS | jobs that are left */
    atomic_size_t done;

    pthread_mutex_t lock; /* of what follows, which the caller's thread alone changes */
    pthread_cond_t changed;
    uint64_t calls;
    size_t wanted; /* threads, with the caller's */
    int64_t until_ns;
    bool ending;

    size_t n_helpers;
    struct helper helpers[VOLLEY_MOST - 1];
};

/* Does jobs as long as there are any. */
static void take_part(struct volley *v)
{
    uint64_t word = atomic_load_explicit(&v->word, memory_order_acquire);
    while ((word & COUNT_MASK) > 0) {
        if (!atomic_compare_exchange_weak_explicit(&v->word, &word, word - 1, memory_order_acquire,
                                                   memory_order_acquire))
            continue;
        v->job(v->items[v->n - (word & COUNT_MASK)]);
        atomic_fetch_add_explicit(&v->done, 1, memory_order_release);
        word = atomic_load_explicit(&v->word, memory_order_acquire);
    }
}

static bool is_fired(struct volley *v, uint64_t call)
{
    return atomic_load_explicit(&v->word, memory_order_acquire) >> COUNT_BITS >= call;
}

static void *help(void *arg)
{
    const struct helper *h = arg;
    struct volley *v = h->volley;
    for (uint64_t seen = 0;;) {
        pthread_mutex_lock(&v->lock);
        while (v->calls == seen && !v->ending)
            pthread_cond_wait(&v->changed, &v->lock);
        bool ending = v->ending, wanted = h->nth < v->wanted;
        int64_t until_ns = v->until_ns;
        seen = v->calls;
        pthread_mutex_unlock(&v->lock);
        if (ending)
            return NULL;
        while (wanted && !is_fired(v, seen) && clock_mono_ns() < until_ns) {
        }
        if (wanted)
            take_part(v);
    }
}

/* Signals are for the thread that waits for them. */
static void start_helpers(struct volley *v, size_t n)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (v->n_helpers < n) {
        struct helper *h = &v->helpers[v->n_helpers];
        *h = (struct helper){.volley = v, .nth = v->n_helpers + 1};
        if (pthread_create(&h->thread, NULL, help, h) != 0)
            break;
        v->n_helpers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

size_t volley_size(const struct volley *v)
{
    return v->n_helpers + 1;
}

struct volley *volley_new(size_t n, void (*job)(void *item))
{
    struct volley *v = mem_zalloc(sizeof *v);
    assert(n > 0 && n <= VOLLEY_MOST);
    v->job = job;
    pthread_mutex_init(&v->lock, NULL);
    pthread_cond_init(&v->changed, NULL);
    start_helpers(v, n - 1);
    return v;
}

void volley_call(struct volley *v, size_t n, int64_t until_ns)
{
    pthread_mutex_lock(&v->lock);
    v->calls++;
    v->wanted = n;
    v->until_ns = until_ns;
    pthread_cond_broadcast(&v->changed);
    pthread_mutex_unlock(&v->lock);
}

/* Who has taken a job may be kept from doing it by something more urgent, on this very processor.
 */
static void await(struct volley *v, size_t n)
{
    int64_t patient_until_ns = clock_mono_ns() + PATIENCE_NS;
    while (atomic_load_explicit(&v->done, memory_order_acquire) < n) {
        if (clock_mono_ns() > patient_until_ns)
            sched_yield();
    }
}

void volley_fire(struct volley *v, void *const *items, size_t n)
{
    assert(n <= VOLLEY_MOST);
    memcpy(v->items, items, n * sizeof *items);
    v->n = n;
    atomic_store_explicit(&v->done, 0, memory_order_relaxed);
    atomic_store_explicit(&v->word, v->calls << COUNT_BITS | n, memory_order_release);
    take_part(v);
    await(v, n);
}

void volley_free(struct volley *v)
{
    if (v == NULL)
        return;
    pthread_mutex_lock(&v->lock);
    v->ending = true;
    pthread_cond_broadcast(&v->changed);
    pthread_mutex_unlock(&v->lock);
    for (size_t i = 0; i < v->n_helpers; i++)
        pthread_join(v->helpers[i].thread, NULL);
    pthread_mutex_destroy(&v->lock);
    pthread_cond_destroy(&v->changed);
    free(v);
}
