/* Writes a trace as traces/FORMAT.md says: blocks are gathered by the caller's thread, and a thread
 * of the writer's own compresses, hashes and writes whole members. Where that thread falls behind
 * it stops compressing; only then does the caller wait (G8). */
#include "traces/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "traces/base/clock.h"
#include "traces/base/jsonw.h"
#include "traces/base/mem.h"
#include "traces/custom.h"
#include "traces/gz.h"
#include "traces/limits.h"
#include "traces/pcapng.h"
#include "traces/sha256.h"
#include "traces/sync.h"

enum {
    PENDING_BYTES =
        LIMIT_MEMBER_BYTES + LIMIT_BLOCK_BYTES, /* the block that fills a member is in it */
    COMPRESSED_BYTES = 2 * PENDING_BYTES,
    TEXT_BYTES = 4096, /* of one text in the manifest */
    TICK_NS = 100 * NS_PER_MS,
    STEP_NS = NS_PER_MS /* real against monotonic time, from one tick to the next */
};

static const int64_t clock_every_ns = INT64_C(10) * NS_PER_S;

struct member {
    struct member *next;
    struct buf blocks;
    bool last;
};

struct writer {
    /* the caller's thread */
    struct member *pending;
    int64_t pending_since_ns; /* monotonic; of its first block */
    int64_t clock_due_ns;
    struct clock_pair clock; /* of the last tick */
    bool copied;             /* from another capture: no clock pairs of its own */
    uint64_t packets, bytes, blocks;
    struct writer_counts counts;

    /* the writer's thread, once it runs */
    int fd;
    char *path;
    struct gz_maker *gz;
    struct sha256 *hash;
    struct buf compressed, head, json;
    uint64_t members, stored, bytes_written;
    uint16_t link;
    uint32_t snaplen;
    int64_t synced_ns; /* monotonic */

    /* between them, under lock */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more, room;
    struct member *first, **end;
    struct member *spare; /* its memory is used again */
    size_t queued_bytes;
    uint64_t waits; /* of the caller, for room */
    atomic_bool sync;
    struct err fault; /* sticky; read when failed is set */
    atomic_bool failed;
};

/* --- the writer's thread ------------------------------------------------------------------------
 */

static int write_all(struct writer *w, const uint8_t *p, size_t n, struct err *e)
{
    while (n > 0) {
        ssize_t k = write(w->fd, p, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) { /* somebody else's stdout */
            (void)poll(&(struct pollfd){.fd = w->fd, .events = POLLOUT}, 1, -1);
            continue;
        }
        if (k <= 0) {
            if (k == 0)
                errno = ENOSPC;
            return err_sys(e, TA_ESYS,
                           "cannot write the trace to %s after %" PRIu64
                           " bytes; what is there so far can be read",
                           w->path, w->bytes_written);
        }
        p += k;
        n -= (size_t)k;
        w->bytes_written += (uint64_t)k;
    }
    return TA_OK;
}

static struct slice text_of(const struct buf *b)
{
    return (struct slice){(const char *)b->p, b->n};
}

/* Starts the JSON of a custom block. */
static struct jsonw json_start(struct buf *b, const char *kind)
{
    struct jsonw j;
    buf_clear(b);
    jsonw_init(&j, b, 0);
    jsonw_object(&j, NULL);
    jsonw_text(&j, "kind", kind);
    return j;
}

static void json_known(struct jsonw *j, const char *key, uint64_t v)
{
    if (v != UINT64_MAX)
        jsonw_u64(j, key, v);
}

static int add_member_block(struct writer *w, const char *sha256)
{
    struct jsonw j = json_start(&w->json, "member");
    jsonw_u64(&j, "seq", w->members);
    jsonw_int(&j, "link", w->link);
    jsonw_int(&j, "snaplen", w->snaplen);
    jsonw_text(&j, "sha256", sha256);
    jsonw_end(&j);
    return pcapng_add_custom(&w->head, text_of(&w->json));
}

static uint64_t waits_of(struct writer *w)
{
    pthread_mutex_lock(&w->lock);
    uint64_t waits = w->waits;
    pthread_mutex_unlock(&w->lock);
    return waits;
}

/* Totals of all that stands before this block. */
static int add_closing_block(struct writer *w, struct buf *to, const char *sha256)
{
    struct jsonw j = json_start(&w->json, "closing");
    jsonw_u64(&j, "packets", w->packets);
    jsonw_u64(&j, "blocks", w->blocks + w->members);
    jsonw_u64(&j, "bytes", w->bytes);
    json_known(&j, "received", w->counts.received);
    json_known(&j, "dropped", w->counts.dropped);
    json_known(&j, "if_dropped", w->counts.if_dropped);
    jsonw_u64(&j, "members", w->members + 1);
    jsonw_u64(&j, "stored", w->stored);
    jsonw_u64(&j, "waits", waits_of(w));
    jsonw_text(&j, "sha256", sha256);
    jsonw_end(&j);
    return pcapng_add_custom(to, text_of(&w->json));
}

static int sync_written(struct writer *w, struct err *e)
{
    int rc = sync_file(w->fd);
    w->synced_ns = clock_mono_ns();
    if (rc == 0)
        return TA_OK;
    return err_sys(e, TA_ESYS,
                   "cannot sync the trace %s to its disk after %" PRIu64
                   " bytes; what is there so far can be read",
                   w->path, w->bytes_written);
}

/* queued: bytes of this member and of those that wait behind it. */
static int write_member(struct writer *w, struct member *m, size_t queued, struct err *e)
{
    char sha256[SHA256_TEXT];
    sha256_text(w->hash, sha256);
    buf_clear(&w->head);
    buf_clear(&w->compressed);
    int rc = w->members == 0 ? TA_OK : add_member_block(w, sha256);
    bool stored = queued > LIMIT_WRITER_STORE_BYTES;
    w->stored += stored;
    if (rc == TA_OK && m->last)
        rc = add_closing_block(w, &m->blocks, sha256);
    struct slice parts[] = {text_of(&w->head), text_of(&m->blocks)};
    if (rc == TA_OK)
        rc = stored ? gz_member_stored(w->gz, &w->compressed, parts, 2)
                    : gz_member(w->gz, &w->compressed, parts, 2);
    if (rc != TA_OK)
        return err_set(e, rc, "a member of the trace %s does not fit its %d bytes", w->path,
                       COMPRESSED_BYTES);
    sha256_add(w->hash, w->compressed.p, w->compressed.n);
    w->members++;
    rc = write_all(w, w->compressed.p, w->compressed.n, e);
    /* While more waits, not after each member: a sync takes as long as many of them. */
    if (rc == TA_OK && atomic_load(&w->sync) &&
        (m->last || queued == m->blocks.n || clock_mono_ns() - w->synced_ns >= LIMIT_MEMBER_NS))
        rc = sync_written(w, e);
    return rc;
}

static void member_free(struct member *m)
{
    if (m == NULL)
        return;
    buf_done(&m->blocks);
    free(m);
}

static void *writer_thread(void *arg)
{
    struct writer *w = arg;
    for (bool last = false; !last;) {
        pthread_mutex_lock(&w->lock);
        while (w->first == NULL)
            pthread_cond_wait(&w->more, &w->lock);
        struct member *m = w->first;
        size_t queued = w->queued_bytes;
        pthread_mutex_unlock(&w->lock);

        struct err fault = {0};
        size_t bytes = m->blocks.n; /* before a closing block is added */
        last = m->last;
        bool failed = !atomic_load(&w->failed) && write_member(w, m, queued, &fault) != TA_OK;

        pthread_mutex_lock(&w->lock);
        if (failed) {
            w->fault = fault;
            atomic_store(&w->failed, true);
        }
        w->first = m->next;
        if (w->first == NULL)
            w->end = &w->first;
        w->queued_bytes -= bytes;
        struct member *old = w->spare;
        w->spare = m;
        pthread_cond_signal(&w->room);
        pthread_mutex_unlock(&w->lock);
        member_free(old);
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
    struct member *m = w->spare;
    w->spare = NULL;
    pthread_mutex_unlock(&w->lock);
    if (m == NULL) {
        m = mem_zalloc(sizeof *m);
        buf_init(&m->blocks, PENDING_BYTES);
    }
    buf_clear(&m->blocks);
    m->next = NULL;
    return m;
}

/* Hands the pending member to the thread; waits while the queue is full. */
static void hand_on(struct writer *w, bool last)
{
    struct member *m = w->pending;
    m->last = last;
    pthread_mutex_lock(&w->lock);
    w->waits += w->queued_bytes > LIMIT_WRITER_QUEUE_BYTES - LIMIT_MEMBER_BYTES;
    while (w->queued_bytes > LIMIT_WRITER_QUEUE_BYTES - LIMIT_MEMBER_BYTES)
        pthread_cond_wait(&w->room, &w->lock);
    w->queued_bytes += m->blocks.n;
    *w->end = m;
    w->end = &m->next;
    pthread_cond_signal(&w->more);
    pthread_mutex_unlock(&w->lock);
    w->pending = NULL;
    if (!last)
        w->pending = member_new(w);
}

/* After a block was added to the pending member. */
static void block_added(struct writer *w)
{
    w->blocks++;
    if (w->pending_since_ns == 0)
        w->pending_since_ns = clock_mono_ns();
    if (w->pending->blocks.n >= LIMIT_MEMBER_BYTES) {
        hand_on(w, false);
        w->pending_since_ns = 0;
    }
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
    block_added(w);
    return TA_OK;
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
    block_added(w);
    return TA_OK;
}

int writer_counts(struct writer *w, int64_t t_ns, struct writer_counts c, struct err *e)
{
    int rc = fault_of(w, e);
    if (rc != TA_OK)
        return rc;
    w->counts = c;
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
    if (w->copied)
        return TA_OK;
    struct buf text;
    buf_init(&text, TEXT_BYTES);
    struct jsonw j = json_start(&text, "clock");
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
        clock_mono_ns() - w->pending_since_ns >= LIMIT_MEMBER_NS - 2 * TICK_NS) {
        hand_on(w, false);
        w->pending_since_ns = 0;
    }
    return rc;
}

int writer_sync(struct writer *w, struct err *e)
{
    atomic_store(&w->sync, true);
    if (w->fd == STDOUT_FILENO || sync_folder_of(w->path) == 0)
        return TA_OK;
    return err_sys(e, TA_ESYS, "cannot sync the folder of %s to its disk", w->path);
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

/* A text of the manifest; an argument list can be megabytes, so a long one is cut and shows it. */
static void origin_text(struct jsonw *j, const char *key, const char *text)
{
    if (text == NULL)
        return;
    if (strlen(text) <= TEXT_BYTES) {
        jsonw_text(j, key, text);
        return;
    }
    char *cut = mem_printf("%.*s…", TEXT_BYTES, text);
    jsonw_text(j, key, cut);
    free(cut);
}

static void manifest(struct buf *out, const struct writer_origin *o)
{
    struct jsonw j = json_start(out, "manifest");
    jsonw_int(&j, "version", CUSTOM_VERSION);
    jsonw_text(&j, "tool", "tokaudit " TOKAUDIT_VERSION);
    jsonw_int(&j, "pid", (int64_t)getpid());
    jsonw_ns(&j, "t_ns", clock_real_ns());
    origin_text(&j, "vantage", o->vantage);
    jsonw_int(&j, "link", o->link);
    jsonw_int(&j, "snaplen", o->snaplen);
    origin_text(&j, "interface", o->interface);
    origin_text(&j, "filter", o->filter);
    origin_text(&j, "host", o->host);
    origin_text(&j, "command", o->command);
    origin_text(&j, "label", o->label);
    origin_text(&j, "simulated", o->simulated);
    origin_text(&j, "redacted", o->redacted);
    jsonw_end(&j);
}

/* The first member: section, interface, manifest, the first clock pair. Straight to the disk, so
 * that a path that cannot be written is known now. */
static int write_first_member(struct writer *w, const struct writer_origin *o, struct err *e)
{
    struct buf text;
    struct buf *blocks = &w->pending->blocks;
    buf_init(&text, LIMIT_CUSTOM_JSON_BYTES);
    manifest(&text, o);
    int rc = pcapng_add_section(blocks, "tokaudit " TOKAUDIT_VERSION, text_of(&text));
    if (rc == TA_OK)
        rc = pcapng_add_interface(blocks, o->link, o->snaplen, o->interface, o->filter);
    w->blocks = 2;
    if (rc == TA_OK)
        rc = writer_custom(w, text_of(&text), e);
    if (rc == TA_OK)
        rc = add_clock_now(w, e);
    if (rc == TA_OK)
        rc = write_member(w, w->pending, w->pending->blocks.n, e);
    buf_clear(blocks);
    w->pending_since_ns = 0;
    buf_done(&text);
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
    return rc == 0 ? TA_OK : err_sys(e, TA_ESYS, "cannot start the thread that writes %s", w->path);
}

static int writer_free(struct writer *w, struct err *e)
{
    int rc = TA_OK;
    if (w->fd >= 0 && w->fd != STDOUT_FILENO && close(w->fd) != 0)
        rc = err_sys(e, TA_ESYS, "cannot finish writing the trace %s", w->path);
    member_free(w->pending);
    member_free(w->spare);
    gz_maker_free(w->gz);
    sha256_free(w->hash);
    buf_done(&w->compressed);
    buf_done(&w->head);
    buf_done(&w->json);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->more);
    pthread_cond_destroy(&w->room);
    free(w->path);
    free(w);
    return rc;
}

int writer_open(struct writer **out, const char *path, const struct writer_origin *origin,
                struct err *e)
{
    bool to_stdout = strcmp(path, "-") == 0;
    int fd = to_stdout ? STDOUT_FILENO
                       : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0600);
    if (fd < 0)
        return err_sys(e, TA_ESYS, "cannot create the trace %s", path);
    struct writer *w = mem_zalloc(sizeof *w);
    w->fd = fd;
    w->link = origin->link;
    w->copied = origin->copied;
    w->snaplen = origin->snaplen;
    w->path = mem_strdup(to_stdout ? "the standard output" : path);
    w->end = &w->first;
    w->counts = (struct writer_counts){UINT64_MAX, UINT64_MAX, UINT64_MAX};
    w->gz = gz_maker_new();
    w->hash = sha256_new();
    buf_init(&w->compressed, COMPRESSED_BYTES);
    buf_init(&w->head, LIMIT_CUSTOM_JSON_BYTES);
    buf_init(&w->json, LIMIT_CUSTOM_JSON_BYTES);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->more, NULL);
    pthread_cond_init(&w->room, NULL);
    w->pending = member_new(w);
    int rc = write_first_member(w, origin, e);
    if (rc == TA_OK)
        rc = start_thread(w, e);
    if (rc != TA_OK) {
        writer_free(w, NULL);
        return rc;
    }
    *out = w;
    return TA_OK;
}

int writer_close(struct writer *w, struct err *e)
{
    if (w == NULL)
        return TA_OK;
    /* A fault of before or after comes out below; the thread must be ended in any case. */
    (void)tick_clock(w, NULL); /* a step of the last moment, too */
    (void)add_clock_now(w, NULL);
    /* The closing block has a member to itself: so all else has a hash behind it. */
    hand_on(w, false);
    hand_on(w, true);
    pthread_join(w->thread, NULL);
    int rc = fault_of(w, e);
    int freed = writer_free(w, rc == TA_OK ? e : NULL);
    return rc != TA_OK ? rc : freed;
}
