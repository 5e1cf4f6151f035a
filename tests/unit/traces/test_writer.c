/* Traces written and read back; their hashes and counts computed anew from the file; Wireshark's
 * view of them. */
#include "tests/unit/traces/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

#include "traces/base/clock.h"
#include "traces/base/json.h"
#include "traces/base/mem.h"
#include "traces/gz.h"
#include "traces/limits.h"
#include "traces/reader.h"
#include "traces/sha256.h"
#include "traces/verify.h"
#include "traces/writer.h"

enum { PACKETS = 4000, NOTES_EVERY = 97, MOST = 64 << 20 };

static const struct writer_origin origin = {.vantage = "libpcap",
                                            .link = 101,
                                            .snaplen = 262144,
                                            .interface = "lo",
                                            .filter = "tcp port 8000",
                                            .host = "h",
                                            .command = "bench \"x\"",
                                            .label = "run"};

static int64_t packet_time(int i)
{
    return INT64_C(1796030400000000000) + i * INT64_C(1000003);
}

/* Packet i: its bytes, and how many; sometimes none, and one of the largest. */
static size_t packet_bytes(int i, uint8_t *p)
{
    uint64_t seed = (uint64_t)i + 1;
    size_t n = i == 77 ? LIMIT_PACKET_BYTES : (size_t)(scratch_random(&seed) % 1500);
    for (size_t k = 0; k < n; k++)
        p[k] = (uint8_t)(k % 8 ? k : scratch_random(&seed));
    return n;
}

static void write_trace(void)
{
    struct writer *w;
    struct err e = {0};
    uint8_t *p = mem_alloc(LIMIT_PACKET_BYTES);
    assert_int_equal(writer_open(&w, scratch_file, &origin, &e), TA_OK);
    for (int i = 0; i < PACKETS; i++) {
        size_t n = packet_bytes(i, p);
        assert_int_equal(writer_packet(w, packet_time(i), p, n, n + (size_t)(i % 3), &e), TA_OK);
        if (i % NOTES_EVERY == 0) {
            char *json = mem_printf("{\"kind\":\"note\",\"t_ns\":\"%" PRId64 "\",\"text\":\"%d\"}",
                                    packet_time(i), i);
            assert_int_equal(writer_custom(w, slice_of(json), &e), TA_OK);
            free(json);
        }
        if (i % 50 == 0)
            assert_int_equal(writer_tick(w, &e), TA_OK);
    }
    struct writer_counts counts = {PACKETS + 3, 3, UINT64_MAX};
    assert_int_equal(writer_counts(w, packet_time(PACKETS), counts, &e), TA_OK);
    assert_int_equal(writer_packets(w), PACKETS);
    assert_int_equal(writer_close(w, &e), TA_OK);
    free(p);
}

static bool is_kind(const struct rec *r, const char *kind)
{
    char *start = mem_printf("{\"kind\":\"%s\"", kind);
    bool is = r->json.n >= strlen(start) && memcmp(r->json.p, start, strlen(start)) == 0;
    free(start);
    return is;
}

static void reads_back(void **state)
{
    (void)state;
    struct reader *r;
    struct rec rec;
    struct err e = {0};
    uint8_t *p = mem_alloc(LIMIT_PACKET_BYTES);
    uint64_t frame = 0;
    int packets = 0, notes = 0, counts = 0, clocks = 0;
    write_trace();
    struct stat st;
    assert_int_equal(stat(scratch_file, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(reader_open(&r, scratch_file, &e), TA_OK);
    int rc;
    while ((rc = reader_next(r, &rec, &e)) == 1) {
        if (rec.kind == REC_COUNTS) {
            counts++;
            assert_true(rec.received == PACKETS + 3 && rec.dropped == 3 &&
                        rec.if_dropped == UINT64_MAX);
            continue;
        }
        assert_int_equal(rec.frame, ++frame);
        if (rec.kind == REC_CUSTOM) {
            notes += is_kind(&rec, "note");
            clocks += is_kind(&rec, "clock");
            continue;
        }
        size_t n = packet_bytes(packets, p);
        assert_int_equal(rec.n, n);
        assert_memory_equal(rec.p, p, n);
        assert_int_equal(rec.wire_n, n + (size_t)(packets % 3));
        assert_int_equal(rec.t_ns, packet_time(packets));
        assert_int_equal(rec.link, 101);
        packets++;
    }
    assert_int_equal(rc, 0);
    assert_int_equal(packets, PACKETS);
    assert_int_equal(notes, (PACKETS + NOTES_EVERY - 1) / NOTES_EVERY);
    assert_int_equal(counts, 1);
    assert_in_range(clocks, 2, 1000);
    const struct reader_health *h = reader_health(r);
    assert_true(!h->truncated && h->damaged_members == 0 && h->bad_blocks == 0);
    assert_string_equal(h->note, "");
    reader_close(r);
    free(p);
}

/* The next member of the file whose hash of all before it is `text`. */
static size_t member_of_hash(const struct buf *file, size_t at, const char *text)
{
    char found[SHA256_TEXT] = "";
    while (strcmp(found, text) != 0) {
        at++;
        while (at + 10 <= file->n &&
               memcmp(file->p + at, "\x1f\x8b\x08\0\0\0\0\0\x04\x03", 10) != 0)
            at++;
        assert_true(at + 10 <= file->n);
        struct sha256 *s = sha256_new();
        sha256_add(s, file->p, at);
        sha256_text(s, found);
        sha256_free(s);
    }
    return at;
}

struct totals {
    int64_t members, packets, bytes, blocks;
};

static void assert_closing(const struct json *v, const struct totals *t, size_t last_member)
{
    int64_t n = 0;
    assert_true(json_int(v, "packets", &n) && n == t->packets);
    assert_true(json_int(v, "bytes", &n) && n == t->bytes);
    assert_true(json_int(v, "blocks", &n) && n == t->blocks);
    assert_true(json_int(v, "members", &n) && n == t->members);
    assert_true(json_int(v, "received", &n) && n == PACKETS + 3);
    assert_true(json_int(v, "dropped", &n) && n == 3);
    assert_null(json_get(v, "if_dropped"));
    /* The same hash by another program. */
    struct buf sum;
    buf_init(&sum, MOST);
    scratch_output(
        &sum,
        "if command -v sha256sum >/dev/null; then sum=sha256sum; else sum='shasum -a 256'; fi; "
        "head -c %zu %s | $sum",
        last_member, scratch_file);
    assert_true(sum.n > 64);
    assert_memory_equal(sum.p, json_string(v, "sha256"), 64);
    buf_done(&sum);
}

/* Every hash in the file against the bytes before its member, every count against the file. */
static void chain_holds(void **state)
{
    (void)state;
    struct buf file;
    struct reader *r;
    struct rec rec;
    struct err e = {0};
    struct totals t = {.members = 1, .blocks = 2}; /* the headers are not among the records */
    bool closed = false;
    size_t at = 0;
    write_trace();
    buf_init(&file, MOST);
    scratch_get(&file);
    assert_int_equal(reader_open(&r, scratch_file, &e), TA_OK);
    while (reader_next(r, &rec, &e) == 1) {
        assert_false(closed);
        if (rec.kind == REC_PACKET) {
            t.packets++;
            t.bytes += (int64_t)rec.n;
        } else if (rec.kind == REC_CUSTOM && is_kind(&rec, "member")) {
            struct json *v = json_parse(rec.json.p, rec.json.n, &e);
            int64_t seq;
            assert_true(json_int(v, "seq", &seq));
            assert_int_equal(seq, t.members++);
            at = member_of_hash(&file, at, json_string(v, "sha256"));
            json_free(v);
        } else if (rec.kind == REC_CUSTOM && is_kind(&rec, "closing")) {
            struct json *v = json_parse(rec.json.p, rec.json.n, &e);
            assert_closing(v, &t, at);
            json_free(v);
            closed = true;
        }
        t.blocks++;
    }
    assert_true(closed);
    assert_in_range(t.members, 3, 100);
    reader_close(r);
    buf_done(&file);
}

static void says_what_it_is(void **state)
{
    (void)state;
    struct writer *w;
    struct reader *r;
    struct rec rec;
    struct err e = {0};
    char *command = mem_zalloc(100001);
    memset(command, 'x', 100000);
    struct writer_origin long_one = origin;
    long_one.command = command;
    long_one.host = NULL;
    int64_t before = clock_real_ns(), t_ns = 0;
    assert_int_equal(writer_open(&w, scratch_file, &long_one, &e), TA_OK);
    /* On the disk at once, before anything else is. */
    assert_int_equal(reader_open(&r, scratch_file, &e), TA_OK);
    assert_int_equal(reader_next(r, &rec, &e), 1);
    struct json *v = json_parse(rec.json.p, rec.json.n, &e);
    assert_string_equal(json_string(v, "kind"), "manifest");
    assert_string_equal(json_string(v, "vantage"), "libpcap");
    assert_string_equal(json_string(v, "filter"), "tcp port 8000");
    assert_null(json_get(v, "host"));
    assert_int_equal(strlen(json_string(v, "command")), 4096 + strlen("…"));
    assert_true(json_ns(v, "t_ns", &t_ns) && t_ns >= before);
    json_free(v);
    assert_int_equal(reader_next(r, &rec, &e), 1);
    v = json_parse(rec.json.p, rec.json.n, &e);
    int64_t real = 0, mono = 0;
    const struct json *pair = json_first(json_get(v, "pairs"));
    assert_true(json_ns(pair, "real_ns", &real) && json_ns(pair, "mono_ns", &mono));
    assert_true(real >= before && mono > 0);
    json_free(v);
    assert_int_equal(reader_next(r, &rec, &e), 0);
    reader_close(r);
    assert_int_equal(writer_close(w, &e), TA_OK);
    free(command);
}

/* A member does not wait for the next one to be on the disk. */
static void ticks_bring_it_to_the_disk(void **state)
{
    (void)state;
    struct writer *w;
    struct err e = {0};
    struct stat st;
    assert_int_equal(writer_open(&w, scratch_file, &origin, &e), TA_OK);
    assert_int_equal(stat(scratch_file, &st), 0);
    off_t first = st.st_size;
    assert_int_equal(writer_packet(w, 1, (const uint8_t *)"abc", 3, 3, &e), TA_OK);
    while (st.st_size == first) {
        assert_int_equal(writer_tick(w, &e), TA_OK);
        nanosleep(&(struct timespec){0, 20000000}, NULL);
        assert_int_equal(stat(scratch_file, &st), 0);
    }
    struct reader *r;
    struct rec rec;
    bool found = false;
    assert_int_equal(reader_open(&r, scratch_file, &e), TA_OK);
    while (reader_next(r, &rec, &e) == 1)
        found = found || (rec.kind == REC_PACKET && rec.n == 3);
    assert_true(found);
    reader_close(r);
    assert_int_equal(writer_close(w, &e), TA_OK);
}

static void refuses_what_does_not_fit(void **state)
{
    (void)state;
    struct writer *w;
    struct err e = {0};
    assert_int_equal(writer_open(&w, "/nowhere/at/all", &origin, &e), TA_ESYS);
    assert_non_null(strstr(e.msg, "/nowhere/at/all"));
    assert_int_equal(writer_open(&w, scratch_file, &origin, &e), TA_OK);
    char *big = mem_zalloc(LIMIT_CUSTOM_JSON_BYTES + 1);
    assert_int_equal(writer_custom(w, (struct slice){big, LIMIT_CUSTOM_JSON_BYTES + 1}, &e),
                     TA_ELIMIT);
    assert_int_equal(
        writer_packet(w, 1, (uint8_t *)big, LIMIT_PACKET_BYTES + 1, LIMIT_PACKET_BYTES + 1, &e),
        TA_ELIMIT);
    assert_int_equal(writer_packet(w, 1, (uint8_t *)big, 10, 10, &e), TA_OK); /* it goes on */
    free(big);
    assert_int_equal(writer_close(w, &e), TA_OK);
}

static struct verify_result verified(const char *path)
{
    struct verify_result v;
    struct err e = {0};
    assert_int_equal(verify_file(path, &v, &e), TA_OK);
    if (v.state != VERIFY_WHOLE)
        fail_msg("%s: %s", verify_state_name(v.state), v.why);
    return v;
}

/* A member of the closing block of scratch_file. */
static int64_t closing_count(const char *name)
{
    struct reader *r;
    struct rec rec;
    struct err e = {0};
    int64_t n = -1;
    assert_int_equal(reader_open(&r, scratch_file, &e), TA_OK);
    while (reader_next(r, &rec, &e) == 1) {
        if (rec.kind != REC_CUSTOM || !is_kind(&rec, "closing"))
            continue;
        struct json *v = json_parse(rec.json.p, rec.json.n, &e);
        assert_true(json_int(v, name, &n));
        json_free(v);
    }
    reader_close(r);
    return n;
}

/* --- a stdout that takes little, and late -------------------------------------------------------
 */

struct drain {
    pthread_t thread;
    int from, kept; /* kept: the stdout of before */
    atomic_bool open;
    atomic_int pushed; /* packets */
};

/* So many fill the queue: the caller is stuck. */
enum { FULL = LIMIT_WRITER_QUEUE_BYTES / LIMIT_PACKET_BYTES - 5 };

/* Until it is told so, or the caller has long been stuck. */
static void drain_wait(struct drain *d)
{
    int last = 0;
    for (int still = 0; !atomic_load(&d->open) && still < 100;) {
        int now = atomic_load(&d->pushed);
        still = now >= FULL && now == last ? still + 1 : 0;
        last = now;
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
}

/* Into scratch_file, in odd sizes. */
static void *drain_run(void *arg)
{
    struct drain *d = arg;
    uint8_t p[70000];
    ssize_t n;
    FILE *f = fopen(scratch_file, "wb");
    drain_wait(d);
    for (size_t k = 0; (n = read(d->from, p, k % 2 ? 1009 : sizeof p)) > 0; k++)
        if (fwrite(p, 1, (size_t)n, f) != (size_t)n)
            break;
    fclose(f);
    close(d->from);
    return NULL;
}

/* stdout becomes a socket of the smallest buffer that does not block: each write is a short one. */
static void drain_start(struct drain *d)
{
    int ends[2], least = 1;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &least, sizeof least), 0);
    assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    fflush(stdout);
    d->kept = dup(STDOUT_FILENO);
    d->from = ends[0];
    atomic_init(&d->open, false);
    atomic_init(&d->pushed, 0);
    assert_true(d->kept >= 0);
    assert_int_equal(dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
    close(ends[1]);
    assert_int_equal(pthread_create(&d->thread, NULL, drain_run, d), 0);
}

static void drain_end(struct drain *d)
{
    assert_int_equal(dup2(d->kept, STDOUT_FILENO), STDOUT_FILENO);
    close(d->kept);
    assert_int_equal(pthread_join(d->thread, NULL), 0);
}

static void survives_short_writes(void **state)
{
    (void)state;
    struct drain d;
    struct writer *w;
    struct err e = {0};
    uint8_t noise[60000];
    uint64_t seed = 11;
    drain_start(&d);
    atomic_store(&d.open, true);
    int rc = writer_open(&w, "-", &origin, &e);
    for (int i = 0; rc == TA_OK && i < 40; i++) {
        for (size_t k = 0; k < sizeof noise; k++)
            noise[k] = (uint8_t)(scratch_random(&seed) >> 32);
        rc = writer_packet(w, packet_time(i), noise, sizeof noise, sizeof noise, &e);
    }
    if (rc == TA_OK)
        rc = writer_close(w, &e);
    drain_end(&d);
    if (rc != TA_OK)
        fail_msg("%s", e.msg);
    assert_int_equal(verified(scratch_file).packets, 40);
}

/* G8: while the writer's thread cannot go on, first members are no longer compressed, and only then
 * the caller waits. Both are counted. */
static void stores_before_it_waits(void **state)
{
    (void)state;
    struct drain d;
    struct writer *w;
    struct err e = {0};
    uint8_t *p = mem_zalloc(LIMIT_PACKET_BYTES);
    for (int stuck = 0; stuck < 2; stuck++) {
        int n = stuck ? FULL + 64 : FULL - 8, rc = TA_OK;
        drain_start(&d);
        rc = writer_open(&w, "-", &origin, &e);
        for (int i = 0; rc == TA_OK && i < n; i++) {
            rc = writer_packet(w, packet_time(i), p, LIMIT_PACKET_BYTES, LIMIT_PACKET_BYTES, &e);
            atomic_fetch_add(&d.pushed, 1);
        }
        atomic_store(&d.open, true);
        if (rc == TA_OK)
            rc = writer_close(w, &e);
        drain_end(&d);
        assert_int_equal(rc, TA_OK);
        assert_int_equal(verified(scratch_file).packets, n);
        assert_in_range(closing_count("stored"), 20, 60);
        assert_in_range(closing_count("waits"), stuck ? 1 : 0, stuck ? 64 : 0);
    }
    free(p);
}

#if defined(__linux__)
/* --- clocks and syncs of our own: these stand in for the system's -------------------------------
 */

static atomic_llong real_shift_ns;
static atomic_int syncs, sync_errno;

int clock_gettime(clockid_t id, struct timespec *ts)
{
    int rc = (int)syscall(SYS_clock_gettime, id, ts);
    if (rc == 0 && id == CLOCK_REALTIME) {
        long long ns = (long long)ts->tv_sec * NS_PER_S + ts->tv_nsec + atomic_load(&real_shift_ns);
        ts->tv_sec = (time_t)(ns / NS_PER_S);
        ts->tv_nsec = (long)(ns % NS_PER_S);
    }
    return rc;
}

int fdatasync(int fd)
{
    (void)fd;
    atomic_fetch_add(&syncs, 1);
    errno = atomic_load(&sync_errno);
    return errno == 0 ? 0 : -1;
}

struct clocks {
    struct clock_pair pairs[64];
    size_t n, steps; /* blocks of two pairs */
    size_t step_at;  /* the first pair of the last of those */
};

static void read_clocks(struct clocks *c)
{
    struct reader *r;
    struct rec rec;
    struct err e = {0};
    *c = (struct clocks){0};
    assert_int_equal(reader_open(&r, scratch_file, &e), TA_OK);
    while (reader_next(r, &rec, &e) == 1) {
        if (rec.kind != REC_CUSTOM || !is_kind(&rec, "clock"))
            continue;
        struct json *v = json_parse(rec.json.p, rec.json.n, &e);
        const struct json *pairs = json_get(v, "pairs");
        if (json_count(pairs) == 2) {
            c->steps++;
            c->step_at = c->n;
        }
        for (const struct json *p = json_first(pairs); p != NULL; p = json_next(p)) {
            struct clock_pair *pair = &c->pairs[c->n++];
            assert_true(c->n < 64);
            assert_true(json_ns(p, "real_ns", &pair->real_ns) &&
                        json_ns(p, "mono_ns", &pair->mono_ns) &&
                        json_ns(p, "width_ns", &pair->width_ns));
        }
        json_free(v);
    }
    reader_close(r);
}

/* The clock is set while a trace is written: the next tick writes the pair of the tick before and
 * its own, so the step is between two ticks. */
static void places_a_step_of_the_clock(void **state)
{
    (void)state;
    static const int64_t steps[] = {INT64_C(3600) * NS_PER_S, -5 * NS_PER_MS};
    struct writer *w;
    struct err e = {0};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct clocks c;
        atomic_store(&real_shift_ns, 0);
        assert_int_equal(writer_open(&w, scratch_file, &origin, &e), TA_OK);
        for (int k = 0; k < 3; k++)
            assert_int_equal(writer_tick(w, &e), TA_OK);
        int64_t before = clock_mono_ns();
        assert_int_equal(writer_tick(w, &e), TA_OK);
        atomic_store(&real_shift_ns, steps[i]);
        assert_int_equal(writer_tick(w, &e), TA_OK);
        int64_t after = clock_mono_ns();
        assert_int_equal(writer_close(w, &e), TA_OK);
        read_clocks(&c);
        assert_int_equal(c.steps, 1);
        assert_int_equal(c.n, 4); /* at the start, the two, at the end */
        const struct clock_pair *p = &c.pairs[c.step_at];
        assert_true(p[0].mono_ns >= before && p[1].mono_ns <= after);
        int64_t found = (p[1].real_ns - p[0].real_ns) - (p[1].mono_ns - p[0].mono_ns);
        assert_in_range(found - steps[i] + NS_PER_MS, 0, 2 * NS_PER_MS);
    }
    /* One between the last tick and the end. */
    struct clocks c;
    assert_int_equal(writer_open(&w, scratch_file, &origin, &e), TA_OK);
    atomic_store(&real_shift_ns, 0);
    assert_int_equal(writer_close(w, &e), TA_OK);
    read_clocks(&c);
    assert_int_equal(c.steps, 1);
}

static void syncs_when_asked(void **state)
{
    (void)state;
    struct writer *w;
    struct err e = {0};
    const uint8_t p[64] = {0};
    atomic_store(&syncs, 0);
    assert_int_equal(writer_open(&w, scratch_file, &origin, &e), TA_OK);
    assert_int_equal(writer_packet(w, 1, p, sizeof p, sizeof p, &e), TA_OK);
    assert_int_equal(writer_close(w, &e), TA_OK);
    assert_int_equal(atomic_load(&syncs), 0);

    assert_int_equal(writer_open(&w, scratch_file, &origin, &e), TA_OK);
    assert_int_equal(writer_sync(w, &e), TA_OK);
    assert_int_equal(writer_packet(w, 1, p, sizeof p, sizeof p, &e), TA_OK);
    assert_int_equal(writer_close(w, &e), TA_OK);
    assert_in_range(atomic_load(&syncs), 1, 3);
    assert_int_equal(verified(scratch_file).packets, 1);

    /* A disk that fails is an error; a file that cannot be synced, as a pipe, is none. */
    static const int faults[][2] = {{EIO, TA_ESYS}, {EINVAL, TA_OK}};
    for (size_t i = 0; i < 2; i++) {
        atomic_store(&sync_errno, faults[i][0]);
        assert_int_equal(writer_open(&w, scratch_file, &origin, &e), TA_OK);
        assert_int_equal(writer_sync(w, &e), TA_OK);
        assert_int_equal(writer_close(w, &e), faults[i][1]);
        if (faults[i][1] != TA_OK)
            assert_non_null(strstr(e.msg, strerror(EIO)));
    }
    atomic_store(&sync_errno, 0);
}
#endif

/* A disk that fills: the error comes out, stays, and what was written before can be read. */
static void survives_a_full_disk(void **state)
{
    (void)state;
    struct writer *w;
    struct err e = {0};
    struct stat st;
    if (stat("/dev/full", &st) == 0) {
        assert_int_equal(writer_open(&w, "/dev/full", &origin, &e), TA_ESYS);
        assert_non_null(strstr(e.msg, strerror(ENOSPC)));
    }
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 1 << 20;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(writer_open(&w, scratch_file, &origin, &e), TA_OK);
    uint8_t noise[4096];
    uint64_t seed = 5;
    int rc = TA_OK;
    for (int i = 0; rc == TA_OK; i++) {
        for (size_t k = 0; k < sizeof noise; k++)
            noise[k] = (uint8_t)(scratch_random(&seed) >> 32);
        rc = writer_packet(w, packet_time(i), noise, sizeof noise, sizeof noise, &e);
    }
    assert_int_equal(rc, TA_ESYS);
    assert_non_null(strstr(e.msg, strerror(EFBIG)));
    assert_int_equal(writer_custom(w, slice_of("{}"), &e), TA_ESYS);
    assert_int_equal(writer_tick(w, &e), TA_ESYS);
    e = (struct err){0};
    assert_int_equal(writer_close(w, &e), TA_ESYS);
    assert_non_null(strstr(e.msg, strerror(EFBIG)));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);

    struct reader *r;
    struct rec rec;
    int packets = 0;
    assert_int_equal(reader_open(&r, scratch_file, &e), TA_OK);
    while (reader_next(r, &rec, &e) == 1) {
        if (rec.kind == REC_PACKET)
            assert_int_equal(rec.t_ns, packet_time(packets++));
    }
    assert_in_range(packets, 100, 256);
    assert_true(reader_health(r)->truncated);
    reader_close(r);
}

/* One line a frame: number, time, captured length, length. Custom blocks have neither time nor
 * length of their own. */
static void wireshark_agrees(void **state)
{
    (void)state;
    scratch_needs_tshark();
    struct buf out;
    struct reader *r;
    struct rec rec;
    struct err e = {0};
    write_trace();
    buf_init(&out, MOST);
    scratch_output(
        &out,
        "tshark -r %s -T fields -e frame.number -e frame.time_epoch -e frame.cap_len "
        "-e frame.len 2>%s/errors && ! grep -v 'Running as user' %s/errors && rm %s/errors",
        scratch_file, scratch_folder, scratch_folder, scratch_folder);
    const char *line = buf_text(&out);
    assert_int_equal(reader_open(&r, scratch_file, &e), TA_OK);
    uint64_t frames = 0;
    while (reader_next(r, &rec, &e) == 1) {
        if (rec.kind == REC_COUNTS)
            continue;
        frames++;
        char expected[128];
        snprintf(expected, sizeof expected, "%" PRIu64 "\t", rec.frame);
        if (rec.kind == REC_PACKET)
            snprintf(expected, sizeof expected,
                     "%" PRIu64 "\t%" PRId64 ".%09" PRId64 "\t%zu\t%zu\n", rec.frame,
                     rec.t_ns / 1000000000, rec.t_ns % 1000000000, rec.n, rec.wire_n);
        assert_int_equal(strncmp(line, expected, strlen(expected)), 0);
        line = strchr(line, '\n');
        assert_non_null(line);
        line++;
    }
    assert_string_equal(line, "");
    assert_true(frames > PACKETS);
    reader_close(r);
    buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_back),
        cmocka_unit_test(chain_holds),
        cmocka_unit_test(says_what_it_is),
        cmocka_unit_test(ticks_bring_it_to_the_disk),
        cmocka_unit_test(refuses_what_does_not_fit),
        cmocka_unit_test(survives_a_full_disk),
        cmocka_unit_test(survives_short_writes),
        cmocka_unit_test(stores_before_it_waits),
#if defined(__linux__)
        cmocka_unit_test(places_a_step_of_the_clock),
        cmocka_unit_test(syncs_when_asked),
#endif
        cmocka_unit_test(wireshark_agrees),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
