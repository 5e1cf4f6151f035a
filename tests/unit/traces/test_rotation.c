/* Names of rotated files; a trace written in several of them and read back: nothing lost, nothing
 * doubled, each whole, each naming the one before it. */
#include "tests/unit/traces/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "traces/base/clock.h"
#include "traces/base/json.h"
#include "traces/base/mem.h"
#include "traces/custom.h"
#include "traces/reader.h"
#include "traces/rotation.h"
#include "traces/verify.h"
#include "traces/writer.h"

enum { PACKETS = 5000, PACKET_BYTES = 1200, PARTS_MAX = 64 };

static const struct writer_origin origin = {
    .vantage = "libpcap", .link = 101, .snaplen = 262144, .label = "run", .rotate_bytes = 1 << 20};

static const struct writer_counts no_counts = {UINT64_MAX, UINT64_MAX, UINT64_MAX};

static void names_its_files(void **state)
{
    static const struct {
        const char *path, *third, *all;
    } cases[] = {
        {"run.pcapng.gz", "run-00003.pcapng.gz", "run-*.pcapng.gz"},
        {"/a.b/run.pcapng.gz", "/a.b/run-00003.pcapng.gz", "/a.b/run-*.pcapng.gz"},
        {"/a.b/run", "/a.b/run-00003", "/a.b/run-*"},
        {"run.v2.pcapng.gz", "run.v2-00003.pcapng.gz", "run.v2-*.pcapng.gz"},
        {"run.pcapng", "run-00003.pcapng", "run-*.pcapng"},
        {"run.gz", "run-00003.gz", "run-*.gz"},
        {".hidden", ".hidden-00003", ".hidden-*"},
        {"a/.gz", "a/.gz-00003", "a/.gz-*"},
        {"a/.x.gz", "a/.x-00003.gz", "a/.x-*.gz"},
        {"..", ".-00003.", ".-*."},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *third = rotation_path(cases[i].path, 3), *all = rotation_pattern(cases[i].path);
        assert_string_equal(third, cases[i].third);
        assert_string_equal(all, cases[i].all);
        assert_int_equal(rotation_seq(cases[i].path, third), 3);
        assert_int_equal(rotation_seq(cases[i].path, cases[i].path), 0);
        free(third);
        free(all);
    }
    char *late = rotation_path("run.pcapng.gz", 123456);
    assert_string_equal(late, "run-123456.pcapng.gz");
    assert_int_equal(rotation_seq("x/run.pcapng.gz", "y/run-123456.pcapng.gz"), 123456);
    free(late);
    assert_int_equal(rotation_seq("run.pcapng.gz", "run-0003.pcapng.gz"), 0);
    assert_int_equal(rotation_seq("run.pcapng.gz", "run-00003.pcapng"), 0);
    assert_int_equal(rotation_seq("run.pcapng.gz", "other-00003.pcapng.gz"), 0);
    assert_int_equal(rotation_seq("run.pcapng.gz", "run-99999999999999999999999.pcapng.gz"), 0);
}

static struct rotation_part read_part(const char *manifest)
{
    struct rotation_part part;
    struct json *v = json_parse(manifest, strlen(manifest), NULL);
    rotation_read(v, &part);
    json_free(v);
    return part;
}

static void reads_only_what_can_be_meant(void **state)
{
#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
    (void)state;
    struct rotation_part p =
        read_part("{\"part\":{\"seq\":2,\"after\":\"a\",\"sha256\":\"" HASH "\"}}");
    assert_int_equal(p.seq, 2);
    assert_string_equal(p.after, "a");
    assert_string_equal(p.sha256, HASH);
    p = read_part("{\"part\":{\"seq\":1,\"after\":\"a\",\"sha256\":\"" HASH "\"}}");
    assert_int_equal(p.seq, 1);
    assert_string_equal(p.sha256, "");
    static const char *const none[] = {
        "{}",
        "{\"part\":2}",
        "{\"part\":{\"seq\":0}}",
        "{\"part\":{\"seq\":-1}}",
        "{\"part\":{\"seq\":2,\"after\":\"a\"}}",
        "{\"part\":{\"seq\":2,\"sha256\":\"" HASH "0\"}}",
        "{\"part\":{\"seq\":2,\"sha256\":\"X\"}}",
    };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(read_part(none[i]).seq, 0);
}

/* Packet i holds its number, and what does not compress. */
static void fill(int i, uint8_t p[PACKET_BYTES])
{
    uint64_t seed = (uint64_t)i + 1;
    for (size_t k = 0; k < PACKET_BYTES; k++)
        p[k] = (uint8_t)scratch_random(&seed);
    memcpy(p, &i, sizeof i);
}

static int64_t time_of(int i)
{
    return INT64_C(1796030400000000000) + i * INT64_C(1000000);
}

/* Returns how many files were begun. */
static uint64_t write_rotated(const struct writer_origin *o)
{
    struct writer *w;
    struct err e = {0};
    uint8_t p[PACKET_BYTES];
    assert_int_equal(writer_open(&w, scratch_file, o, &e), TA_OK);
    for (int i = 0; i < PACKETS; i++) {
        if (writer_is_full(w, time_of(i))) {
            uint64_t n = (uint64_t)i;
            struct writer_counts c = {n + 20 + n / 1000, n / 1000, UINT64_MAX};
            assert_int_equal(writer_rotate(w, time_of(i), c, &e), TA_OK);
        }
        fill(i, p);
        assert_int_equal(writer_packet(w, time_of(i), p, sizeof p, sizeof p, &e), TA_OK);
        if (i % 50 == 0)
            assert_int_equal(writer_tick(w, &e), TA_OK);
    }
    struct writer_counts c = {PACKETS + PACKETS / 1000, PACKETS / 1000, UINT64_MAX};
    assert_int_equal(writer_counts(w, time_of(PACKETS), c, &e), TA_OK);
    uint64_t parts = writer_parts(w);
    assert_int_equal(writer_packets(w), PACKETS);
    assert_int_equal(writer_close(w, &e), TA_OK);
    return parts;
}

struct seen {
    int packets;
    uint64_t received, dropped; /* the last of each file, summed */
};

static void read_file(const char *path, struct seen *s)
{
    struct reader *r;
    struct rec rec;
    struct err e = {0};
    uint8_t p[PACKET_BYTES];
    uint64_t received = 0, dropped = 0;
    bool clock = false;
    assert_int_equal(reader_open(&r, path, &e), TA_OK);
    while (reader_next(r, &rec, &e) == 1) {
        if (rec.kind == REC_COUNTS) {
            received = rec.received;
            dropped = rec.dropped;
        } else if (rec.kind == REC_CUSTOM) {
            clock |= custom_is(rec.json, "clock");
        } else {
            fill(s->packets, p);
            assert_true(clock);
            assert_int_equal(rec.n, PACKET_BYTES);
            assert_memory_equal(rec.p, p, sizeof p);
            assert_int_equal(rec.t_ns, time_of(s->packets));
            s->packets++;
        }
    }
    s->received += received;
    s->dropped += dropped;
    reader_close(r);
}

static void remove_parts(uint64_t n)
{
    for (uint64_t i = 1; i <= n; i++) {
        char *path = rotation_path(scratch_file, i);
        unlink(path);
        free(path);
    }
}

static void nothing_is_lost_or_doubled(void **state)
{
    (void)state;
    uint64_t parts = write_rotated(&origin);
    struct seen s = {0};
    struct verify_result before = {.part.seq = 0}, now;
    struct err e = {0};
    assert_in_range(parts, 3, PARTS_MAX);
    for (uint64_t i = 1; i <= parts; i++) {
        char *path = rotation_path(scratch_file, i), *next = rotation_path(scratch_file, i + 1);
        struct stat st;
        assert_int_equal(stat(path, &st), 0);
        assert_in_range(st.st_size, i < parts ? 1 << 19 : 1, 9 << 18);
        assert_int_equal(verify_file(path, &now, &e), TA_OK);
        if (now.state != VERIFY_WHOLE)
            fail_msg("part %" PRIu64 ": %s", i, now.why);
        assert_int_equal(now.part.seq, i);
        assert_string_equal(now.next, i < parts ? rotation_base(next) : "");
        assert_int_equal(verify_follows(&now, &before), i > 1);
        read_file(path, &s);
        before = now;
        free(path);
        free(next);
    }
    assert_int_equal(s.packets, PACKETS);
    assert_int_equal(s.dropped, PACKETS / 1000);
    assert_int_equal(s.received, PACKETS + PACKETS / 1000);
    remove_parts(parts);
}

/* A copy is divided by the times of its packets, and repeats the clock of its source. */
static void a_copy_rotates_by_packet_time(void **state)
{
    struct writer_origin o = {.vantage = "import", .link = 101, .copied = true};
    struct writer *w;
    struct err e = {0};
    struct verify_result v;
    uint8_t p[PACKET_BYTES] = {0};
    (void)state;
    o.rotate_ns = 2 * NS_PER_S;
    assert_int_equal(writer_open(&w, scratch_file, &o, &e), TA_OK);
    static const char pair[] =
        "{\"kind\":\"clock\",\"pairs\":[{\"real_ns\":\"1796030400000000000\","
        "\"mono_ns\":\"5\",\"width_ns\":60}]}";
    assert_int_equal(writer_custom(w, slice_of(pair), &e), TA_OK);
    for (int i = 0; i < PACKETS; i++) {
        if (writer_is_full(w, time_of(i)))
            assert_int_equal(writer_rotate(w, time_of(i), no_counts, &e), TA_OK);
        assert_int_equal(writer_packet(w, time_of(i), p, sizeof p, sizeof p, &e), TA_OK);
    }
    assert_int_equal(writer_parts(w), 3);
    assert_int_equal(writer_close(w, &e), TA_OK);
    for (uint64_t i = 1; i <= 3; i++) {
        struct reader *r;
        struct rec rec;
        char *path = rotation_path(scratch_file, i);
        assert_int_equal(verify_file(path, &v, &e), TA_OK);
        assert_int_equal(v.state, VERIFY_WHOLE);
        assert_int_equal(v.packets, i < 3 ? 2000 : 1000);
        assert_int_equal(reader_open(&r, path, &e), TA_OK);
        assert_int_equal(reader_next(r, &rec, &e), 1);
        assert_int_equal(reader_next(r, &rec, &e), 1);
        if (i == 1) /* behind the `member` block of the second member */
            assert_int_equal(reader_next(r, &rec, &e), 1);
        assert_int_equal(rec.kind, REC_CUSTOM);
        assert_int_equal(rec.json.n, sizeof pair - 1);
        assert_memory_equal(rec.json.p, pair, sizeof pair - 1);
        reader_close(r);
        free(path);
    }
    remove_parts(3);
}

/* The next file cannot be made: that comes out, and what was written stays whole. */
static void a_next_file_that_cannot_be_made(void **state)
{
    struct writer *w;
    struct err e = {0};
    struct verify_result v;
    uint8_t p[PACKET_BYTES];
    (void)state;
    char *first = rotation_path(scratch_file, 1), *second = rotation_path(scratch_file, 2);
    assert_int_equal(mkdir(second, 0700), 0);
    assert_int_equal(writer_open(&w, scratch_file, &origin, &e), TA_OK);
    int rc = TA_OK;
    for (int i = 0; i < PACKETS && rc == TA_OK; i++) {
        if (writer_is_full(w, time_of(i)))
            rc = writer_rotate(w, time_of(i), no_counts, &e);
        fill(i, p);
        if (rc == TA_OK)
            rc = writer_packet(w, time_of(i), p, sizeof p, sizeof p, &e);
    }
    int closed = writer_close(w, &e);
    assert_int_equal(closed, TA_ESYS);
    assert_non_null(strstr(e.msg, second));
    assert_int_equal(verify_file(first, &v, &e), TA_OK);
    assert_int_equal(v.state, VERIFY_WHOLE);
    assert_string_equal(v.next, rotation_base(second));
    assert_int_equal(rmdir(second), 0);
    unlink(first);
    free(first);
    free(second);
}

/* SIGKILL while files are begun as fast as can be: those before the last are whole, and chained. */
static void a_kill_leaves_the_earlier_files_whole(void **state)
{
    (void)state;
    for (int round = 0; round < 8; round++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct writer *w;
            struct err e = {0};
            uint8_t p[PACKET_BYTES];
            int rc = writer_open(&w, scratch_file, &origin, &e);
            for (int i = 0; rc == TA_OK; i++) {
                fill(i, p);
                rc = writer_packet(w, time_of(i), p, sizeof p, sizeof p, &e);
                if (rc == TA_OK && i % 64 == 63)
                    rc = writer_rotate(w, time_of(i), no_counts, &e);
            }
            _exit(1);
        }
        nanosleep(&(struct timespec){.tv_nsec = 20000000 + round * 7100000}, NULL);
        kill(child, SIGKILL);
        int status;
        waitpid(child, &status, 0);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        uint64_t parts = 0;
        char *path;
        while (path = rotation_path(scratch_file, parts + 1), access(path, F_OK) == 0) {
            free(path);
            parts++;
        }
        free(path);
        struct verify_result before = {.part.seq = 0}, now;
        struct err e = {0};
        for (uint64_t i = 1; i <= parts; i++) {
            path = rotation_path(scratch_file, i);
            assert_int_equal(verify_file(path, &now, &e), TA_OK);
            free(path);
            if (i == parts)
                break; /* the one that was being written; it may be empty yet */
            assert_int_equal(now.state, VERIFY_WHOLE);
            assert_int_equal(now.packets, 64);
            assert_int_equal(verify_follows(&now, &before), i > 1);
            before = now;
        }
        assert_true(now.state != VERIFY_BROKEN);
        remove_parts(parts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_its_files),
        cmocka_unit_test(reads_only_what_can_be_meant),
        cmocka_unit_test(nothing_is_lost_or_doubled),
        cmocka_unit_test(a_copy_rotates_by_packet_time),
        cmocka_unit_test(a_next_file_that_cannot_be_made),
        cmocka_unit_test(a_kill_leaves_the_earlier_files_whole),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
