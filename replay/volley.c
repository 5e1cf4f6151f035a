/* Threads that wait on one word: the call that was answered last, and how many jobs nobody has
 * taken yet. Counting that down is taking one. It can't succeed for a job of a volley that is over:
 * who comes too late finds none, or one of the next. */
#define _GNU_SOURCE /* a thread's processor */
#include "replay/volley.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "traces/base/clock.h"
#include "traces/base/mem.h"

enum { COUNT_BITS = 32, PATIENCE_NS = 50000 };

struct helper {
    struct volley *volley;
    size_t nth; /* 1..: the caller's thread is 0 */
    pthread_t thread;
};

struct volley {
    void (*job)(void *ctx, size_t i);
    void *ctx;
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
    struct helper helpers[VOLLEY_THREADS - 1];
};

static size_t left(uint64_t word)
{
    return (size_t)(word & UINT32_MAX);
}

/* Does jobs as long as there are any. */
static void take_part(struct volley *v)
{
    uint64_t word = atomic_load_explicit(&v->word, memory_order_acquire);
    while (left(word) > 0) {
        if (!atomic_compare_exchange_weak_explicit(&v->word, &word, word - 1, memory_order_acquire,
                                                   memory_order_acquire))
            continue;
        v->job(v->ctx, v->n - left(word));
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

/* A processor that sleeps looks taken on many virtual machines (the kernel can't tell a halted one
 * from one that the host took away), so that a thread woken up is put where the caller's turns, and
 * one of the two waits for some 0.3 to 1 ms. Each helper is told a processor of its own, not the
 * caller's. */
static void spread_helpers(struct volley *v, size_t n)
{
#ifdef __linux__
    cpu_set_t allowed, one;
    int here = sched_getcpu();
    if (here < 0 || sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    CPU_CLR((size_t)here, &allowed);
    for (size_t i = 0, k = 1; i < v->n_helpers && i + 1 < n && k < CPU_SETSIZE; k++) {
        size_t there = ((size_t)here + k) % CPU_SETSIZE;
        if (!CPU_ISSET(there, &allowed))
            continue;
        CPU_ZERO(&one);
        CPU_SET(there, &one);
        pthread_setaffinity_np(v->helpers[i++].thread, sizeof one, &one);
    }
#else
    (void)v;
    (void)n;
#endif
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

size_t volley_threads(const struct volley *v)
{
    return v->n_helpers + 1;
}

struct volley *volley_new(size_t n, void (*job)(void *ctx, size_t i))
{
    struct volley *v = mem_zalloc(sizeof *v);
    assert(n > 0 && n <= VOLLEY_THREADS);
    v->job = job;
    pthread_mutex_init(&v->lock, NULL);
    pthread_cond_init(&v->changed, NULL);
    start_helpers(v, n - 1);
    return v;
}

void volley_call(struct volley *v, size_t n, int64_t until_ns)
{
    spread_helpers(v, n);
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

void volley_fire(struct volley *v, void *ctx, size_t n)
{
    assert(n <= UINT32_MAX);
    v->ctx = ctx;
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
