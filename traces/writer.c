/* Writes a trace as traces/FORMAT.md says: blocks are gathered by the caller's thread, and a thread
 * of the writer's own compresses, hashes and writes whole members. Where that thread falls behind
 * it stops compressing; only then does the caller wait (G8). */
#include "traces/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "traces/base/arena.h"
#include "traces/base/clock.h"
#include "traces/base/jsonw.h"
#include "traces/base/mem.h"
#include "traces/custom.h"
#include "traces/limits.h"
#include "traces/manifest.h"
#include "traces/member_file.h"
#include "traces/pcapng.h"
#include "traces/sync.h"

enum {
    CLOCK_BYTES = 1024,                                    /* of the JSON of a clock block */
    MEMBER_READY_BYTES = LIMIT_MEMBER_BYTES + (128 << 10), /* mostly room for the last block, too */
    SPARES_MOST = 8,
    TICK_NS = 100 * NS_PER_MS,
    STEP_NS = NS_PER_MS /* real against monotonic time, from one tick to the next */
};

static const int64_t clock_every_ns = INT64_C(10) * NS_PER_S;

struct writer {
    /* the caller's thread */
    struct member *pending;
    int64_t pending_since_ns; /* monotonic; of its first block */
    int64_t clock_due_ns;
    struct clock_pair clock;   /* of the last tick */
    struct buf source_clock;   /* of a copy: the last clock block that went by */
    struct member_totals file; /* the file at hand; its counts are those since its start */
    struct writer_counts base; /* as the source counted them at its start */
    uint64_t packets, bytes;   /* of all files */
    uint64_t part;             /* the file at hand, from 1 */
    uint64_t handed_bytes;     /* of it, uncompressed */
    int64_t started_ns;        /* it: monotonic; of a copy: its first packet's time, or -1 */
    bool large, old;           /* it: by size; by time, if it is not a copy */

    /* never changed */
    struct arena texts;
    struct writer_origin origin;
    bool to_stdout;
    char *output;

    struct member_file *to; /* the writer's thread, once it runs */

    /* between them, under lock */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more, room;
    struct member *first, **end;
    struct member *spares; /* their memory is used again: it is there already */
    unsigned n_spares;
    size_t queued_bytes;
    struct {
        uint64_t part, in, out; /* the file that the thread is at: bytes before, and behind gzip */
        uint64_t all_in, all_out;
    } done;
    atomic_bool sync;
    struct err fault; /* sticky; read when failed is set */
    atomic_bool failed;
};

/* --- the writer's thread ------------------------------------------------------------------------
 */

static struct slice text_of(const struct buf *b)
{
    return (struct slice){(const char *)b->p, b->n};
}

static void member_free(struct member *m)
{
    if (m == NULL)
        return;
    buf_done(&m->blocks);
    free(m);
}

/* queued: bytes of this member and of those that wait behind it. */
static int write_member(struct writer *w, struct member *m, size_t queued, struct err *e)
{
    struct member_pace pace = {.store = queued > LIMIT_WRITER_STORE_BYTES,
                               .sync = atomic_load(&w->sync),
                               .hurry = queued > m->blocks.n};
    return member_file_write(w->to, m, pace, e);
}

/* Of the file that the thread is at, for the caller's thread; it may have begun another. */
static void note_done(struct writer *w, size_t bytes)
{
    uint64_t part = member_file_part(w->to);
    bool same = w->done.part == part;
    uint64_t out = member_file_bytes(w->to);
    w->done.all_in += bytes;
    w->done.all_out += same ? out - w->done.out : 0;
    w->done.in = same ? w->done.in + bytes : 0;
    w->done.part = part;
    w->done.out = out;
}

static void *writer_thread(void *arg)
{
    struct writer *w = arg;
    for (bool final = false; !final;) {
        pthread_mutex_lock(&w->lock);
        while (w->first == NULL)
            pthread_cond_wait(&w->more, &w->lock);
        struct member *m = w->first;
        size_t queued = w->queued_bytes;
        pthread_mutex_unlock(&w->lock);

        struct err fault = {0};
        size_t bytes = m->blocks.n; /* before a closing block is added */
        final = (m->place & MEMBER_FINAL) != 0;
        bool failed = !atomic_load(&w->failed) && write_member(w, m, queued, &fault) != TA_OK;

        pthread_mutex_lock(&w->lock);
        note_done(w, bytes);
        if (failed) {
            w->fault = fault;
            atomic_store(&w->failed, true);
        }
        w->first = m->next;
        if (w->first == NULL)
            w->end = &w->first;
        w->queued_bytes -= bytes;
        bool keep = w->n_spares < SPARES_MOST;
        if (keep) {
            LL_PREPEND(w->spares, m);
            w->n_spares++;
        }
        pthread_cond_signal(&w->room);
        pthread_mutex_unlock(&w->lock);
        if (!keep)
            member_free(m);
    }
    return NULL;
}

/* --- the caller's thread ------------------------------------------------------------------------
 */

static int fault_of(struct writer *w, struct err *e)
{
    if (!atomic_load_explicit(&w->failed, memory_order_acquire))
        return TA_OK;
    return err_set(e, w->fault.code, "%s", w->fault.msg);
}

static struct member *member_new(struct writer *w)
{
    pthread_mutex_lock(&w->lock);
    struct member *m = w->spares;
    if (m != NULL) {
        LL_DELETE(w->spares, m);
        w->n_spares--;
    }
    pthread_mutex_unlock(&w->lock);
    if (m == NULL) {
        m = mem_zalloc(sizeof *m);
        buf_init(&m->blocks, MEMBER_BLOCKS_BYTES);
        m->blocks.p = mem_ready(MEMBER_READY_BYTES);
        m->blocks.cap = MEMBER_READY_BYTES;
    }
    buf_clear(&m->blocks);
    m->next = NULL;
    return m;
}

/* How large is the file at hand on the disk, when all is there that was handed on? What is not
 * compressed yet will shrink as the rest did. */
static uint64_t expected_bytes(const struct writer *w)
{
    bool there = w->done.part == w->part;
    double ratio = w->done.all_in > 0 ? (double)w->done.all_out / (double)w->done.all_in : 1;
    uint64_t in = there ? w->done.in : 0;
    uint64_t waiting = w->handed_bytes > in ? w->handed_bytes - in : 0;
    return (there ? w->done.out : 0) + (uint64_t)((double)waiting * ratio);
}

/* Under the lock. A signal must not be lost on a thread that can't act on it now: it stays pending,
 * and whoever keeps the queue from moving finds it there (member_file.c). */
static void await_room(struct writer *w)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (w->queued_bytes > LIMIT_WRITER_QUEUE_BYTES - LIMIT_MEMBER_BYTES)
        pthread_cond_wait(&w->room, &w->lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Hands the pending member to the thread; waits while the queue is full. */
static void hand_on(struct writer *w, unsigned place)
{
    struct member *m = w->pending;
    m->place = place;
    pthread_mutex_lock(&w->lock);
    if (w->queued_bytes > LIMIT_WRITER_QUEUE_BYTES - LIMIT_MEMBER_BYTES) {
        w->file.waits++;
        await_room(w);
    }
    m->totals = w->file;
    w->queued_bytes += m->blocks.n;
    w->handed_bytes += m->blocks.n;
    *w->end = m;
    w->end = &m->next;
    pthread_cond_signal(&w->more);
    w->large |= w->origin.rotate_bytes > 0 && expected_bytes(w) >= w->origin.rotate_bytes;
    pthread_mutex_unlock(&w->lock);
    w->pending = NULL;
    w->pending_since_ns = 0;
    if ((place & MEMBER_FINAL) == 0)
        w->pending = member_new(w);
}

/* After a block was added to the pending member. */
static void block_added(struct writer *w)
{
    w->file.blocks++;
    if (w->pending_since_ns == 0)
        w->pending_since_ns = clock_mono_ns();
    if (w->pending->blocks.n >= LIMIT_MEMBER_BYTES)
        hand_on(w, 0);
}

int writer_packet(struct writer *w, int64_t t_ns, const uint8_t *p, size_t n, size_t wire_n,
                  struct err *e)
{
    int rc = fault_of(w, e);
    if (rc != TA_OK)
        return rc;
    if (n > LIMIT_PACKET_BYTES || n > wire_n || t_ns < 0)
        return err_set(
            e, TA_ELIMIT,
            "a packet of %zu captured of %zu bytes at %" PRId64
            " ns cannot be recorded: at most %u bytes, not more than there were, and after 1970",
            n, wire_n, t_ns, LIMIT_PACKET_BYTES);
    if (pcapng_add_packet(&w->pending->blocks, t_ns, p, n, wire_n) != TA_OK)
        return err_set(e, TA_ELIMIT, "a packet of %zu bytes on the wire does not fit a trace",
                       wire_n);
    w->packets++;
    w->bytes += n;
    w->file.packets++;
    w->file.bytes += n;
    if (w->started_ns < 0)
        w->started_ns = t_ns;
    block_added(w);
    return TA_OK;
}

/* A copy has no clock of its own: each of its files repeats the last pair that its source stated.
 * The next source, behind the note on one, may have the clocks of another machine. */
static void keep_source_clock(struct writer *w, struct slice json)
{
    bool clock = custom_is(json, "clock") && json.n <= CLOCK_BYTES;
    if (!w->origin.copied || (!clock && !custom_is(json, "note")))
        return;
    buf_clear(&w->source_clock);
    if (clock)
        buf_put(&w->source_clock, json.p, json.n);
}

int writer_custom(struct writer *w, struct slice json, struct err *e)
{
    int rc = fault_of(w, e);
    if (rc != TA_OK)
        return rc;
    if (pcapng_add_custom(&w->pending->blocks, json) != TA_OK)
        return err_set(e, TA_ELIMIT,
                       "a custom block of %zu bytes does not fit a trace: %u is the limit; "
                       "divide it into several",
                       json.n, LIMIT_CUSTOM_JSON_BYTES);
    keep_source_clock(w, json);
    block_added(w);
    return TA_OK;
}

static uint64_t since(uint64_t count, uint64_t base)
{
    return count == UINT64_MAX || base == UINT64_MAX ? count : count > base ? count - base : 0;
}

int writer_counts(struct writer *w, int64_t t_ns, struct writer_counts c, struct err *e)
{
    int rc = fault_of(w, e);
    if (rc != TA_OK)
        return rc;
    w->file.counts = c = (struct writer_counts){since(c.received, w->base.received),
                                                since(c.dropped, w->base.dropped),
                                                since(c.if_dropped, w->base.if_dropped)};
    if (pcapng_add_statistics(&w->pending->blocks, t_ns, c.received, c.if_dropped, c.dropped) !=
        TA_OK)
        return err_set(e, TA_ELIMIT, "interface statistics do not fit the member");
    block_added(w);
    return TA_OK;
}

static void json_pair(struct jsonw *j, const struct clock_pair *pair)
{
    jsonw_object(j, NULL);
    jsonw_ns(j, "real_ns", pair->real_ns);
    jsonw_ns(j, "mono_ns", pair->mono_ns);
    jsonw_int(j, "width_ns", pair->width_ns);
    jsonw_end(j);
}

static int add_clock_pairs(struct writer *w, const struct clock_pair *pairs, size_t n,
                           struct err *e)
{
    if (w->origin.copied)
        return TA_OK;
    struct buf text;
    buf_init(&text, CLOCK_BYTES);
    struct jsonw j = member_json(&text, "clock");
    jsonw_array(&j, "pairs");
    for (size_t i = 0; i < n; i++)
        json_pair(&j, &pairs[i]);
    jsonw_end(&j);
    jsonw_end(&j);
    int rc = writer_custom(w, text_of(&text), e);
    buf_done(&text);
    w->clock = pairs[n - 1];
    w->clock_due_ns = w->clock.mono_ns + clock_every_ns;
    return rc;
}

static int add_clock_now(struct writer *w, struct err *e)
{
    struct clock_pair now = clock_pair_take();
    return add_clock_pairs(w, &now, 1, e);
}

/* A step of the clock is written with the pair of the tick before it: readers can tell to a tick
 * when it was. */
static int tick_clock(struct writer *w, struct err *e)
{
    struct clock_pair pairs[] = {w->clock, clock_pair_take()};
    int64_t drift = (pairs[1].real_ns - pairs[0].real_ns) - (pairs[1].mono_ns - pairs[0].mono_ns);
    if (llabs(drift) > STEP_NS + pairs[0].width_ns / 2 + pairs[1].width_ns / 2)
        return add_clock_pairs(w, pairs, 2, e);
    if (pairs[1].mono_ns >= w->clock_due_ns)
        return add_clock_pairs(w, &pairs[1], 1, e);
    w->clock = pairs[1];
    return TA_OK;
}

int writer_tick(struct writer *w, struct err *e)
{
    int rc = fault_of(w, e);
    if (rc == TA_OK)
        rc = tick_clock(w, e);
    /* The next call may be a whole tick away, and packets may have waited as long in the kernel
     * before they came here. */
    if (rc == TA_OK && w->pending_since_ns != 0 &&
        clock_mono_ns() - w->pending_since_ns >= LIMIT_MEMBER_NS - 2 * TICK_NS)
        hand_on(w, 0);
    if (w->origin.rotate_ns > 0 && !w->origin.copied)
        w->old |= clock_mono_ns() - w->started_ns >= w->origin.rotate_ns;
    return rc;
}

int writer_sync(struct writer *w, struct err *e)
{
    atomic_store(&w->sync, true);
    if (w->to_stdout || sync_folder_of(w->output) == 0)
        return TA_OK;
    return err_sys(e, TA_ESYS, "cannot sync the folder of %s to its disk", w->output);
}

void writer_hurry(struct writer *w)
{
    member_file_hurry(w->to);
}

uint64_t writer_packets(const struct writer *w)
{
    return w->packets;
}

uint64_t writer_bytes(const struct writer *w)
{
    return w->bytes;
}

/* --- opening and closing ------------------------------------------------------------------------
 */

/* Of a new file: what the thread puts before them is counted here. */
static int add_first_blocks(struct writer *w, struct err *e)
{
    w->file = (struct member_totals){.blocks = 3, .counts = {UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    w->handed_bytes = 0;
    w->large = w->old = false;
    w->started_ns = w->origin.copied ? -1 : clock_mono_ns();
    if (w->source_clock.n == 0)
        return add_clock_now(w, e);
    struct buf again = w->source_clock; /* writer_custom keeps what it is given */
    buf_init(&w->source_clock, LIMIT_CUSTOM_JSON_BYTES);
    int rc = writer_custom(w, text_of(&again), e);
    buf_done(&again);
    return rc;
}

/* The first member of all goes straight to the disk, so that a path that cannot be written is known
 * now. */
static int write_first_member(struct writer *w, struct err *e)
{
    int rc = add_first_blocks(w, e);
    w->pending->place = MEMBER_FIRST;
    if (rc == TA_OK)
        rc = write_member(w, w->pending, w->pending->blocks.n, e);
    buf_clear(&w->pending->blocks);
    w->pending_since_ns = 0;
    return rc;
}

/* Signals are for the threads that wait for them. */
static int start_thread(struct writer *w, struct err *e)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    errno = pthread_create(&w->thread, NULL, writer_thread, w);
    int rc = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = rc;
    return rc == 0 ? TA_OK
                   : err_sys(e, TA_ESYS, "cannot start the thread that writes %s", w->output);
}

static int writer_free(struct writer *w, struct err *e)
{
    int rc = member_file_close(w->to, e);
    member_free(w->pending);
    while (w->spares != NULL) {
        struct member *m = w->spares;
        LL_DELETE(w->spares, m);
        member_free(m);
    }
    buf_done(&w->source_clock);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->more);
    pthread_cond_destroy(&w->room);
    arena_free(&w->texts);
    free(w->output);
    free(w);
    return rc;
}

static struct writer *writer_new(const char *path, const struct writer_origin *origin)
{
    static const struct writer_counts unknown = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
    struct writer *w = mem_zalloc(sizeof *w);
    w->to_stdout = strcmp(path, "-") == 0;
    w->output = mem_strdup(path);
    w->origin = manifest_keep(&w->texts, origin);
    w->part = w->done.part = 1;
    w->end = &w->first;
    w->base = unknown;
    buf_init(&w->source_clock, LIMIT_CUSTOM_JSON_BYTES);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->more, NULL);
    pthread_cond_init(&w->room, NULL);
    w->pending = member_new(w);
    return w;
}

int writer_open(struct writer **out, const char *path, const struct writer_origin *origin,
                struct err *e)
{
    struct writer *w = writer_new(path, origin);
    int rc = member_file_open(&w->to, path, &w->origin, e);
    if (rc == TA_OK)
        rc = write_first_member(w, e);
    if (rc == TA_OK)
        rc = start_thread(w, e);
    if (rc != TA_OK) {
        writer_free(w, NULL);
        return rc;
    }
    *out = w;
    return TA_OK;
}

/* The last pairs, and the closing block, which has a member to itself: so all else has a hash
 * behind it. */
static void end_file(struct writer *w, unsigned place)
{
    (void)tick_clock(w, NULL); /* a step of the last moment, too */
    (void)add_clock_now(w, NULL);
    hand_on(w, 0);
    hand_on(w, place);
}

/* --- rotation -----------------------------------------------------------------------------------
 */

bool writer_rotates(const struct writer_origin *o)
{
    return o->rotate_bytes > 0 || o->rotate_ns > 0;
}

bool writer_is_full(const struct writer *w, int64_t t_ns)
{
    if (t_ns < 0)
        return w->old;
    bool span = w->origin.copied && w->origin.rotate_ns > 0 && w->started_ns >= 0;
    return w->large || w->old || (span && t_ns - w->started_ns >= w->origin.rotate_ns);
}

static uint64_t known(uint64_t count)
{
    return count == UINT64_MAX ? 0 : count;
}

/* What was received and is not written yet counts for the next file, where it will stand. */
static struct writer_counts of_written(const struct writer *w, struct writer_counts c)
{
    if (c.received != UINT64_MAX)
        c.received = w->packets + known(c.dropped);
    return c;
}

int writer_rotate(struct writer *w, int64_t t_ns, struct writer_counts c, struct err *e)
{
    struct writer_counts written = of_written(w, c);
    bool none = c.received == UINT64_MAX && c.dropped == UINT64_MAX && c.if_dropped == UINT64_MAX;
    int rc = none ? fault_of(w, e) : writer_counts(w, t_ns, written, e);
    if (rc != TA_OK)
        return rc;
    w->base = written;
    end_file(w, MEMBER_LAST);
    w->part++;
    rc = add_first_blocks(w, e);
    hand_on(w, MEMBER_FIRST);
    return rc;
}

uint64_t writer_parts(const struct writer *w)
{
    return w->part;
}

int writer_close(struct writer *w, struct err *e)
{
    if (w == NULL)
        return TA_OK;
    /* A fault of before or after comes out below; the thread must be ended in any case. */
    end_file(w, MEMBER_LAST | MEMBER_FINAL);
    pthread_join(w->thread, NULL);
    int rc = fault_of(w, e);
    int freed = writer_free(w, rc == TA_OK ? e : NULL);
    return rc != TA_OK ? rc : freed;
}
