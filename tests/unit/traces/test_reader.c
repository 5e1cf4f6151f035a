/* The reader on whole, cut, flipped and foreign files. */
#include "tests/unit/traces/scratch.h"

#include <fcntl.h>

#include "traces/gz.h"
#include "traces/pcapng.h"
#include "traces/reader.h"

enum { MEMBERS = 5, PER_MEMBER = 4, PACKETS = (MEMBERS - 1) * PER_MEMBER, MOST = 64 << 20 };

/* A trace whose packet i has i + 1 bytes of value i and the time i + 1; a custom block ends each
 * member. */
struct trace {
    struct buf plain, gzip;
    size_t plain_at[MEMBERS + 1], gzip_at[MEMBERS + 1];
};

static void trace_make(struct trace *t)
{
    struct gz_maker *maker = gz_maker_new();
    buf_init(&t->plain, MOST);
    buf_init(&t->gzip, MOST);
    for (int m = 0, i = 0; m < MEMBERS; m++) {
        size_t start = t->plain_at[m] = t->plain.n;
        t->gzip_at[m] = t->gzip.n;
        if (m == 0) {
            assert_int_equal(pcapng_add_section(&t->plain, "test", slice_of("{}")), TA_OK);
            assert_int_equal(pcapng_add_interface(&t->plain, 101, 0, "lo", NULL), TA_OK);
        }
        for (int k = 0; m > 0 && k < PER_MEMBER; k++, i++) {
            uint8_t p[PACKETS];
            memset(p, i, sizeof p);
            assert_int_equal(pcapng_add_packet(&t->plain, i + 1, p, (size_t)i + 1, (size_t)i + 1),
                             TA_OK);
        }
        assert_int_equal(pcapng_add_custom(&t->plain, slice_of("{\"kind\":\"note\"}")), TA_OK);
        struct slice part = {(const char *)t->plain.p + start, t->plain.n - start};
        assert_int_equal(gz_member(maker, &t->gzip, &part, 1), TA_OK);
    }
    t->plain_at[MEMBERS] = t->plain.n;
    t->gzip_at[MEMBERS] = t->gzip.n;
    gz_maker_free(maker);
}

static void trace_free(struct trace *t)
{
    buf_done(&t->plain);
    buf_done(&t->gzip);
}

struct seen {
    int rc; /* of reader_open */
    bool packet[PACKETS];
    int packets, custom;
    struct reader_health health;
    struct err e;
};

/* Reads scratch_file: frames count up, packets come in order, and each is one of the trace's.
 * flipped: bytes of a packet may have been changed without a way to tell. */
static struct seen look(bool flipped)
{
    struct seen s = {0};
    struct reader *r;
    struct rec rec;
    int64_t last_ns = INT64_MIN;
    uint64_t frame = 0;
    s.rc = reader_open(&r, scratch_file, &s.e);
    if (s.rc != TA_OK)
        return s;
    while (reader_next(r, &rec, &s.e) == 1) {
        if (rec.kind == REC_COUNTS)
            continue;
        assert_true(rec.frame > frame);
        frame = rec.frame;
        s.custom += rec.kind == REC_CUSTOM;
        if (rec.kind != REC_PACKET)
            continue;
        s.packets++;
        uint8_t sum = 0; /* every byte is really there */
        for (size_t k = 0; k < rec.n; k++)
            sum = (uint8_t)(sum + rec.p[k]);
        if (flipped)
            continue;
        assert_true(rec.t_ns > last_ns);
        last_ns = rec.t_ns;
        assert_in_range(rec.t_ns, 1, PACKETS);
        assert_int_equal(rec.n, rec.t_ns);
        assert_int_equal(sum, (uint8_t)(rec.t_ns * (rec.t_ns - 1)));
        s.packet[rec.t_ns - 1] = true;
    }
    assert_int_equal(s.e.code, 0);
    assert_int_equal(reader_next(r, &rec, &s.e), 0); /* the end stays the end */
    s.health = *reader_health(r);
    reader_close(r);
    return s;
}

static void survives_every_cut(void **state)
{
    (void)state;
    struct trace t;
    trace_make(&t);
    for (int gzip = 0; gzip < 2; gzip++) {
        const struct buf *file = gzip ? &t.gzip : &t.plain;
        const size_t *at = gzip ? t.gzip_at : t.plain_at;
        int last_packets = 0;
        for (size_t n = 0; n <= file->n; n++) {
            scratch_put(file->p, n);
            struct seen s = look(false);
            if (s.rc != TA_OK) {
                assert_int_equal(s.rc, TA_EFORMAT);
                assert_true(n < at[1]);
                continue;
            }
            size_t member = 0;
            while (member < MEMBERS && at[member + 1] <= n)
                member++;
            int whole = member == 0 ? 0 : ((int)member - 1) * PER_MEMBER;
            assert_in_range(s.packets, whole, whole + PER_MEMBER);
            assert_true(s.packets >= last_packets);
            last_packets = s.packets;
            for (int i = 0; i < s.packets; i++)
                assert_true(s.packet[i]);
            if (n == at[member])
                assert_false(s.health.truncated);
            else if (gzip)
                assert_true(s.health.truncated);
            assert_int_equal(s.health.damaged_members + s.health.bad_blocks, 0);
            assert_int_equal(s.health.file_bytes, n);
            assert_true(s.health.truncated == (s.health.note[0] != '\0'));
        }
        assert_int_equal(last_packets, PACKETS);
    }
    trace_free(&t);
}

/* Where a plain file is cut, it is truncated exactly if the cut is no block's end. */
static void plain_cuts_are_told_from_ends(void **state)
{
    (void)state;
    struct trace t;
    trace_make(&t);
    size_t block = 0;
    for (size_t n = 0; n <= t.plain.n; n++) {
        if (n == block + pcapng_rd32(t.plain.p + block + 4, false))
            block = n;
        scratch_put(t.plain.p, n);
        struct seen s = look(false);
        if (s.rc == TA_OK)
            assert_int_equal(s.health.truncated, n != block);
    }
    assert_int_equal(block, t.plain.n);
    trace_free(&t);
}

/* A flipped byte in a gzip'd trace costs one member's packets, or nothing, or (in the first) the
 * trace. */
static void survives_every_flip(void **state)
{
    (void)state;
    static const uint8_t masks[] = {0x01, 0x08, 0x40, 0xff};
    struct trace t;
    trace_make(&t);
    scratch_put(t.gzip.p, t.gzip.n);
    int lost = 0, refused = 0;
    for (size_t n = 0, member = 0; n < t.gzip.n; n++) {
        member += n == t.gzip_at[member + 1];
        for (size_t k = 0; k < sizeof masks; k++) {
            scratch_patch(n, t.gzip.p[n] ^ masks[k]);
            struct seen s = look(false);
            if (s.rc != TA_OK) {
                assert_int_equal(s.rc, TA_EFORMAT);
                assert_int_equal(member, 0);
                refused++;
                continue;
            }
            assert_int_equal(s.health.file_bytes, t.gzip.n);
            int here = 0, all = 0;
            for (int i = 0; i < PACKETS; i++) {
                all += s.packet[i];
                here += s.packet[i] && i / PER_MEMBER + 1 == (int)member;
            }
            assert_int_equal(s.packets, all);
            int other = member == 0 ? PACKETS : PACKETS - PER_MEMBER;
            assert_int_equal(all - here, other); /* the good members: all of them */
            bool damaged = s.health.damaged_members > 0 || s.health.truncated;
            if (member > 0 && here < PER_MEMBER) {
                assert_true(damaged);
                lost++;
            }
            assert_true(damaged == (s.health.note[0] != '\0'));
        }
        scratch_patch(n, t.gzip.p[n]);
    }
    assert_in_range(lost, PACKETS, 100000);
    assert_in_range(refused, 100, 100000);
    trace_free(&t);
}

/* Without gzip's checks a flip may go unseen; nothing else may happen. */
static void plain_survives_every_flip(void **state)
{
    (void)state;
    static const uint8_t masks[] = {0x01, 0x80, 0xff};
    struct trace t;
    trace_make(&t);
    scratch_put(t.plain.p, t.plain.n);
    for (size_t n = 0; n < t.plain.n; n++) {
        for (size_t k = 0; k < sizeof masks; k++) {
            scratch_patch(n, t.plain.p[n] ^ masks[k]);
            struct seen s = look(true);
            if (s.rc == TA_OK) {
                assert_in_range(s.packets, 0, PACKETS);
                assert_int_equal(s.health.file_bytes, t.plain.n);
            } else {
                assert_int_equal(s.rc, TA_EFORMAT);
            }
        }
        scratch_patch(n, t.plain.p[n]);
    }
    trace_free(&t);
}

/* Blocks that other programs spread over members and pieces. */
static void joins_blocks_of_many_members(void **state)
{
    (void)state;
    struct trace t;
    struct buf file;
    struct gz_maker *maker = gz_maker_new();
    trace_make(&t);
    buf_init(&file, MOST);
    for (size_t part_n = 1; part_n < 80; part_n += part_n < 20 ? 1 : 13) {
        buf_clear(&file);
        for (size_t at = 0; at < t.plain.n; at += part_n) {
            size_t n = t.plain.n - at < part_n ? t.plain.n - at : part_n;
            struct slice part = {(const char *)t.plain.p + at, n};
            assert_int_equal(gz_member(maker, &file, &part, 1), TA_OK);
        }
        scratch_put(file.p, file.n);
        struct seen s = look(false);
        assert_int_equal(s.rc, TA_OK);
        assert_int_equal(s.packets, PACKETS);
        assert_int_equal(s.custom, MEMBERS);
        assert_string_equal(s.health.note, "");
    }
    gz_maker_free(maker);
    buf_done(&file);
    trace_free(&t);
}

static void stops_at_rubbish(void **state)
{
    (void)state;
    static const uint8_t zeros[64] = {0};
    struct trace t;
    trace_make(&t);
    assert_int_equal(buf_add(&t.plain, zeros, sizeof zeros), TA_OK);
    scratch_put(t.plain.p, t.plain.n);
    struct seen s = look(false);
    assert_int_equal(s.packets, PACKETS);
    assert_int_equal(s.health.bad_blocks, 1);
    assert_non_null(strstr(s.health.note, "no pcapng block at offset"));
    assert_int_equal(s.health.file_bytes, t.plain.n);
    trace_free(&t);
}

/* A broken block inside a good member costs that member's rest. */
static void resumes_behind_a_bad_block(void **state)
{
    (void)state;
    struct trace t;
    struct buf file;
    struct gz_maker *maker = gz_maker_new();
    trace_make(&t);
    buf_init(&file, MOST);
    for (int m = 0; m < MEMBERS; m++) {
        uint8_t *p = t.plain.p + t.plain_at[m];
        size_t n = t.plain_at[m + 1] - t.plain_at[m];
        if (m == 2) /* the trailing length of its second packet's block */
            p[2 * 40 - 1] ^= 0xff;
        struct slice part = {(const char *)p, n};
        assert_int_equal(gz_member(maker, &file, &part, 1), TA_OK);
    }
    scratch_put(file.p, file.n);
    struct seen s = look(false);
    assert_int_equal(s.packets, PACKETS - PER_MEMBER + 1);
    assert_int_equal(s.health.bad_blocks, 1);
    assert_true(s.packet[2 * PER_MEMBER]);
    gz_maker_free(maker);
    buf_done(&file);
    trace_free(&t);
}

static void reads_classic_pcap(void **state)
{
    (void)state;
    struct buf file, zipped;
    struct gz_maker *maker = gz_maker_new();
    buf_init(&file, MOST);
    buf_init(&zipped, MOST);
    const uint8_t head[24] = {0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, [20] = 101};
    assert_int_equal(buf_add(&file, head, sizeof head), TA_OK);
    for (int i = 0; i < PACKETS; i++) {
        uint8_t p[16 + PACKETS] = {0};
        memset(p + 16, i, PACKETS);
        pcapng_wr32(p + 4, (uint32_t)i + 1);
        pcapng_wr32(p + 8, (uint32_t)i + 1);
        pcapng_wr32(p + 12, (uint32_t)i + 1);
        assert_int_equal(buf_add(&file, p, 16 + (size_t)i + 1), TA_OK);
    }
    struct slice part = {(const char *)file.p, file.n};
    assert_int_equal(gz_member(maker, &zipped, &part, 1), TA_OK);
    for (int gzip = 0; gzip < 2; gzip++) {
        const struct buf *b = gzip ? &zipped : &file;
        for (size_t n = 0; n <= b->n; n++) {
            scratch_put(b->p, n);
            struct seen s = look(false);
            if (s.rc == TA_OK && n == b->n) {
                assert_int_equal(s.packets, PACKETS);
                assert_string_equal(s.health.note, "");
            } else if (s.rc == TA_OK && gzip) {
                assert_true(s.health.truncated);
            } else if (s.rc != TA_OK) {
                assert_int_equal(s.rc, TA_EFORMAT);
            }
        }
    }
    gz_maker_free(maker);
    buf_done(&file);
    buf_done(&zipped);
}

#define BYTES(text) (text), sizeof(text) - 1

static const struct {
    const char *bytes;
    size_t n;
    bool gzip;
    const char *says;
} refused[] = {
    {BYTES(""), false, "is empty"},
    {BYTES(""), true, "damaged from its start"},
    {BYTES("\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\1\0`\0`\0\0"), false, "a JPEG picture"},
    {BYTES("\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\1\0`\0`\0\0"), true, "inside its gzip: it is a JPEG"},
    {BYTES("x"), false, "starts with 78;"},
    {BYTES("{\"prompts\": []}\n and so on and on and on"), false, "JSON text"},
    {BYTES("\x9b\x2e\x51\xe8\x73\x0c\x95\xd4\x07\xaa\x3e\x6f\x80\x1d\x22\x49"), true,
     "starts with 9b 2e"},
    {BYTES("\x28\xb5\x2f\xfd\x04\0\1\2\3\4\5\6\7\x08"), false, "zstd -d"},
    {BYTES("\xd4\xc3\xb2\xa1\1\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), false, "unknown version"},
    {BYTES("\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a\1\0"), false,
     "ends inside its first header"},
    {BYTES("\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a\1\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x1d"
           "\0\0\0"),
     false, "lengths of its first pcapng block differ"},
    {BYTES("\x1f\x8b\x08\0\0\0\0\0\0\3 this does not inflate"), false, "damaged from its start"},
};

static void assert_refused(const char *path, const char *says)
{
    struct reader *r = NULL;
    struct err e = {0};
    assert_int_equal(reader_open(&r, path, &e), TA_EFORMAT);
    assert_null(r);
    assert_non_null(strstr(e.msg, path));
    assert_null(strchr(e.msg, '\n'));
    if (strstr(e.msg, says) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", e.msg, says);
}

static void refuses_in_words(void **state)
{
    (void)state;
    struct gz_maker *maker = gz_maker_new();
    struct buf file;
    buf_init(&file, MOST);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct slice bytes = {refused[i].bytes, refused[i].n};
        buf_clear(&file);
        if (refused[i].gzip)
            assert_int_equal(gz_member(maker, &file, &bytes, 1), TA_OK);
        else
            assert_int_equal(buf_add(&file, bytes.p, bytes.n), TA_OK);
        scratch_put(file.p == NULL ? (const uint8_t *)"" : file.p, file.n);
        assert_refused(scratch_file, refused[i].says);
    }
    assert_refused("/nowhere/at/all", "No such file");
    assert_refused(scratch_folder, "is a directory");
    gz_maker_free(maker);
    buf_done(&file);
}

/* A pipe, which cannot be sought in. */
static void reads_stdin(void **state)
{
    (void)state;
    struct trace t;
    struct reader *r;
    struct rec rec;
    struct err e = {0};
    int ends[2], packets = 0, kept = dup(STDIN_FILENO);
    trace_make(&t);
    t.gzip.p[t.gzip_at[2] + 15] ^= 0xff;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], t.gzip.p, t.gzip.n), t.gzip.n); /* it fits a pipe's buffer */
    close(ends[1]);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    close(ends[0]);
    assert_int_equal(reader_open(&r, "-", &e), TA_OK);
    while (reader_next(r, &rec, &e) == 1)
        packets += rec.kind == REC_PACKET;
    assert_int_equal(packets, PACKETS - PER_MEMBER);
    assert_int_equal(reader_health(r)->damaged_members, 1);
    reader_close(r);
    if (kept >= 0) {
        dup2(kept, STDIN_FILENO);
        close(kept);
    }
    trace_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survives_every_cut),
        cmocka_unit_test(plain_cuts_are_told_from_ends),
        cmocka_unit_test(survives_every_flip),
        cmocka_unit_test(plain_survives_every_flip),
        cmocka_unit_test(joins_blocks_of_many_members),
        cmocka_unit_test(stops_at_rubbish),
        cmocka_unit_test(resumes_behind_a_bad_block),
        cmocka_unit_test(reads_classic_pcap),
        cmocka_unit_test(refuses_in_words),
        cmocka_unit_test(reads_stdin),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
