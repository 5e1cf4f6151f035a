/* A ring of pieces between the thread that inflates and the one that reads. What depends on how far
 * the reader has come is asked only when it has come to the end of what it was given: then it
 * stands where it would without a thread. */
#include "traces/gz_ahead.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "traces/base/mem.h"

enum { SLOTS = 4 }; /* one is read, one is filled, the others are ready */

struct slot {
    struct gz_piece piece;
    struct buf bytes;            /* what the piece lies in */
    struct reader_health health; /* the source's when it gave the piece */
    struct err e;
    int rc;
};

struct gz_ahead {
    struct gz_source *source; /* the thread's while it runs, and what it finds is so as well: */
    struct reader_health found;
    struct gz_resume resume;
    struct reader_health *health; /* the caller's */
    uint64_t told_damaged;        /* members found damaged that are in it */
    size_t after;                 /* bytes still to be given out before the thread starts */
    bool over;                    /* the source has said so before there was a thread */
    bool running;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Under the lock. */
    size_t put, taken; /* pieces; the caller reads the one before `taken` */
    bool waiting;      /* the caller is, for the next piece */
    bool stop;
    struct slot slots[SLOTS];
};

/* What the source had found by then goes into the caller's health, which has notes of its own. */
static void tell(struct gz_ahead *a, const struct reader_health *found)
{
    struct reader_health *h = a->health;
    h->file_bytes = found->file_bytes;
    h->truncated |= found->truncated;
    h->damaged_members += found->damaged_members - a->told_damaged;
    a->told_damaged = found->damaged_members;
    if (h->note[0] == '\0')
        memcpy(h->note, found->note, sizeof h->note);
}

/* --- the thread ----------------------------------------------------------------------------- */

static bool begins(void *ctx, const uint8_t *p, size_t n)
{
    struct gz_ahead *a = ctx;
    if (!a->running)
        return a->resume.begins(a->resume.ctx, p, n);
    pthread_mutex_lock(&a->lock);
    while (!a->stop && !(a->waiting && a->put == a->taken))
        pthread_cond_wait(&a->changed, &a->lock);
    bool yes = !a->stop && a->resume.begins(a->resume.ctx, p, n);
    pthread_mutex_unlock(&a->lock);
    return yes;
}

/* The next slot to fill; NULL: nobody wants it any more. */
static struct slot *free_slot(struct gz_ahead *a)
{
    pthread_mutex_lock(&a->lock);
    while (!a->stop && a->put - a->taken == SLOTS - 2)
        pthread_cond_wait(&a->changed, &a->lock);
    struct slot *s = a->stop ? NULL : &a->slots[a->put % SLOTS];
    pthread_mutex_unlock(&a->lock);
    return s;
}

static void *run(void *ctx)
{
    struct gz_ahead *a = ctx;
    struct slot *s;
    do {
        s = free_slot(a);
        if (s == NULL)
            break;
        s->rc = gz_next(a->source, &s->piece, &s->e);
        if (s->rc == 1)
            gz_take(a->source, &s->bytes);
        s->health = a->found;
        pthread_mutex_lock(&a->lock);
        a->put++;
        pthread_cond_signal(&a->changed);
        pthread_mutex_unlock(&a->lock);
    } while (s->rc == 1);
    return NULL;
}

/* Signals are for the other threads. Without a thread it goes on as before. */
static void start(struct gz_ahead *a)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    a->running = true;
    if (pthread_create(&a->thread, NULL, run, a) != 0) {
        a->running = false;
        a->after = SIZE_MAX;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void stop(struct gz_ahead *a)
{
    if (!a->running)
        return;
    pthread_mutex_lock(&a->lock);
    a->stop = true;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
    pthread_join(a->thread, NULL);
    a->running = false;
    a->over = true;
}

/* --- the caller ----------------------------------------------------------------------------- */

static int take(struct gz_ahead *a, struct gz_piece *out, struct err *e)
{
    pthread_mutex_lock(&a->lock);
    a->waiting = true;
    pthread_cond_signal(&a->changed);
    while (a->put == a->taken)
        pthread_cond_wait(&a->changed, &a->lock);
    a->waiting = false;
    const struct slot *s = &a->slots[a->taken % SLOTS];
    a->taken += s->rc == 1; /* an end stays to be found again */
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
    tell(a, &s->health);
    *out = s->piece;
    if (s->rc < 0)
        *e = s->e;
    return s->rc;
}

int gz_ahead_next(struct gz_ahead *a, struct gz_piece *out, struct err *e)
{
    if (a->running)
        return take(a, out, e);
    if (a->over)
        return 0;
    if (a->after == 0) {
        start(a);
        return gz_ahead_next(a, out, e);
    }
    int rc = gz_next(a->source, out, e);
    tell(a, &a->found);
    a->over = rc == 0;
    if (rc == 1 && a->after != SIZE_MAX)
        a->after -= out->n < a->after ? out->n : a->after;
    return rc;
}

int gz_ahead_drain(struct gz_ahead *a, struct err *e)
{
    stop(a);
    int rc = gz_drain(a->source, e);
    a->health->file_bytes = a->found.file_bytes;
    memcpy(a->health->sha256, a->found.sha256, sizeof a->health->sha256);
    return rc;
}

bool gz_ahead_is_gzip(const struct gz_ahead *a)
{
    return gz_is_gzip(a->source);
}

int gz_ahead_open(struct gz_ahead **out, const char *path, size_t after, struct gz_resume resume,
                  struct reader_health *health, struct err *e)
{
    struct gz_ahead *a = mem_zalloc(sizeof *a);
    a->resume = resume;
    a->health = health;
    int rc = gz_open(&a->source, path, (struct gz_resume){a, begins}, &a->found, e);
    if (rc != TA_OK) {
        free(a);
        return rc;
    }
    a->after = gz_is_gzip(a->source) && gz_is_file(a->source) ? after : SIZE_MAX;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    for (size_t i = 0; i < SLOTS; i++)
        buf_init(&a->slots[i].bytes, GZ_HELD_BYTES);
    *out = a;
    return TA_OK;
}

void gz_ahead_close(struct gz_ahead *a)
{
    if (a == NULL)
        return;
    stop(a);
    gz_close(a->source);
    for (size_t i = 0; i < SLOTS; i++)
        buf_done(&a->slots[i].bytes);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a);
}
