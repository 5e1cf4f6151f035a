/* A trace inflated by a thread beside its reading, against the same without one: every cut, every
 * flipped bit, a member too long to be held back, and one that is closed early. */
#include "tests/unit/traces/scratch.h"

#include "traces/gz.h"
#include "traces/pcapng.h"
#include "traces/reader.h"

enum { MEMBERS = 6, LITTLE_MEMBERS = 3, PER_MEMBER = 2, MOST = 64 << 20 };

static void put_be(struct buf *b, uint64_t v, int bytes)
{
    while (bytes-- > 0) {
        uint8_t byte = (uint8_t)(v >> 8 * bytes);
        assert_int_equal(buf_add(b, &byte, 1), TA_OK);
    }
}

/* A section in the other byte order: whether a later member begins with a block depends on whether
 * this one has been read. */
static void put_big_section(struct buf *b)
{
    put_be(b, 0x0A0D0D0A, 4), put_be(b, 28, 4), put_be(b, 0x1A2B3C4D, 4), put_be(b, 0x00010000, 4);
    put_be(b, UINT64_MAX, 8), put_be(b, 28, 4);
    put_be(b, 1, 4), put_be(b, 20, 4), put_be(b, 101 << 16, 4), put_be(b, 0, 4), put_be(b, 20, 4);
}

static void put_packet(struct buf *b, bool big, uint8_t v)
{
    uint8_t p[8] = {v, v, v, v, v, v, v, v};
    if (!big) {
        assert_int_equal(pcapng_add_packet(b, v, p, sizeof p, sizeof p), TA_OK);
        return;
    }
    put_be(b, 6, 4), put_be(b, 40, 4), put_be(b, 0, 4), put_be(b, v, 8);
    put_be(b, 8, 4), put_be(b, 8, 4);
    assert_int_equal(buf_add(b, p, sizeof p), TA_OK);
    put_be(b, 40, 4);
}

static void make(struct buf *file)
{
    struct gz_maker *maker = gz_maker_new();
    struct buf plain;
    uint8_t v = 0;
    buf_init(file, MOST);
    buf_init(&plain, MOST);
    for (int m = 0; m < MEMBERS; m++) {
        bool big = m >= LITTLE_MEMBERS;
        buf_clear(&plain);
        if (m == 0) {
            assert_int_equal(pcapng_add_section(&plain, "test", slice_of("{}")), TA_OK);
            assert_int_equal(pcapng_add_interface(&plain, 101, 0, "lo", NULL), TA_OK);
        } else if (m == LITTLE_MEMBERS) {
            put_big_section(&plain);
        }
        for (int i = 0; i < PER_MEMBER; i++)
            put_packet(&plain, big, ++v);
        struct slice part = {(const char *)plain.p, plain.n};
        assert_int_equal(gz_member(maker, file, &part, 1), TA_OK);
    }
    buf_done(&plain);
    gz_maker_free(maker);
}

/* All that a reader said, record by record. */
struct told {
    uint64_t digest;
    size_t records;
    int opened, ended;
    struct err e;
    struct reader_health health;
};

static void digest(struct told *t, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    for (size_t i = 0; i < n; i++)
        t->digest = (t->digest ^ p[i]) * UINT64_C(0x100000001b3);
}

static void digest_record(struct told *t, const struct rec *r, const struct reader_health *h)
{
    uint64_t numbers[] = {
        r->kind, r->frame,  (uint64_t)r->t_ns, r->has_time, r->link,    r->interface, r->interfaces,
        r->n,    r->wire_n, r->json.n,         r->received, r->dropped, r->if_dropped};
    digest(t, numbers, sizeof numbers);
    digest(t, r->p, r->n);
    digest(t, r->json.p, r->json.n);
    uint64_t so_far[] = {h->truncated, h->damaged_members, h->skipped_blocks, h->bad_blocks,
                         h->file_bytes};
    digest(t, so_far, sizeof so_far);
    digest(t, h->note, strlen(h->note));
}

static struct told listen(size_t after)
{
    struct told t = {0};
    struct reader *r;
    struct rec rec;
    t.opened = reader_open_ahead(&r, scratch_file, after, &t.e);
    if (t.opened != TA_OK)
        return t;
    while ((t.ended = reader_next(r, &rec, &t.e)) == 1) {
        digest_record(&t, &rec, reader_health(r));
        t.records++;
    }
    assert_int_equal(reader_next(r, &rec, &t.e), t.ended);
    t.health = *reader_health(r);
    reader_close(r);
    return t;
}

static void same(const struct told *a, const struct told *b)
{
    assert_int_equal(a->opened, b->opened);
    assert_int_equal(a->ended, b->ended);
    assert_int_equal(a->records, b->records);
    assert_string_equal(a->e.msg, b->e.msg);
    assert_int_equal(a->health.truncated, b->health.truncated);
    assert_int_equal(a->health.damaged_members, b->health.damaged_members);
    assert_int_equal(a->health.skipped_blocks, b->health.skipped_blocks);
    assert_int_equal(a->health.bad_blocks, b->health.bad_blocks);
    assert_int_equal(a->health.file_bytes, b->health.file_bytes);
    assert_string_equal(a->health.sha256, b->health.sha256);
    assert_string_equal(a->health.note, b->health.note);
    assert_true(a->digest == b->digest);
}

/* With a thread from the first byte on, or from the second member on. */
static void same_ahead(void)
{
    static unsigned turn;
    struct told alone = listen(SIZE_MAX), ahead = listen(turn++ % 2 * 100);
    same(&alone, &ahead);
}

static void every_cut(void **state)
{
    (void)state;
    struct buf file;
    make(&file);
    for (size_t n = 0; n <= file.n; n++) {
        scratch_put(file.p, n);
        same_ahead();
    }
    assert_int_equal(listen(0).records, MEMBERS * PER_MEMBER);
    buf_done(&file);
}

static void every_flipped_bit(void **state)
{
    (void)state;
    struct buf file;
    make(&file);
    for (size_t i = 0; i < file.n; i++) {
        for (int bit = 0; bit < 8; bit++) {
            file.p[i] ^= (uint8_t)(1 << bit);
            scratch_put(file.p, file.n);
            same_ahead();
            file.p[i] ^= (uint8_t)(1 << bit);
        }
    }
    buf_done(&file);
}

/* Two damaged members, and bytes between members that are none. */
static void damage_in_two_places(void **state)
{
    (void)state;
    struct buf file;
    make(&file);
    for (size_t i = 20; i < file.n; i += 7) {
        for (size_t k = i + 13; k < file.n; k += 29) {
            file.p[i] ^= 0x55;
            file.p[k] ^= 0x55;
            scratch_put(file.p, file.n);
            same_ahead();
            file.p[i] ^= 0x55;
            file.p[k] ^= 0x55;
        }
    }
    buf_done(&file);
}

/* Some 9 MB of packets in one member, as gzip makes it, and more members behind. */
static void make_long(struct buf *file)
{
    struct gz_maker *maker = gz_maker_new();
    struct buf plain;
    uint64_t seed = 11;
    buf_init(file, MOST);
    buf_init(&plain, MOST);
    assert_int_equal(pcapng_add_section(&plain, "test", slice_of("{}")), TA_OK);
    assert_int_equal(pcapng_add_interface(&plain, 101, 0, "lo", NULL), TA_OK);
    for (int part = 0; part < 3; part++) {
        for (int i = 0; i < (part == 0 ? 9000 : 100); i++) {
            uint8_t p[1000];
            for (size_t k = 0; k < sizeof p; k++)
                p[k] = k % 16 == 0 ? (uint8_t)scratch_random(&seed) : (uint8_t)i;
            assert_int_equal(pcapng_add_packet(&plain, i, p, sizeof p, sizeof p), TA_OK);
        }
        struct slice all = {(const char *)plain.p, plain.n};
        assert_int_equal(gz_member(maker, file, &all, 1), TA_OK);
        buf_clear(&plain);
    }
    buf_done(&plain);
    gz_maker_free(maker);
}

static void a_long_member(void **state)
{
    (void)state;
    struct buf file;
    make_long(&file);
    scratch_put(file.p, file.n);
    same_ahead();
    assert_int_equal(listen(0).records, 9200);
    for (size_t i = 1; i <= 7; i++) {
        size_t at = file.n * i / 8;
        file.p[at] ^= 0x10;
        scratch_put(file.p, file.n);
        same_ahead();
        file.p[at] ^= 0x10;
        scratch_put(file.p, at);
        same_ahead();
    }
    buf_done(&file);
}

/* The thread may be waiting for room, or for the reader to come to the end of what it has. */
static void closed_early(void **state)
{
    (void)state;
    struct buf file;
    make_long(&file);
    for (size_t damage = 0; damage < 2; damage++) {
        file.p[file.n / 2] ^= (uint8_t)damage;
        scratch_put(file.p, file.n);
        for (size_t records = 0; records < 6000; records += 1500) {
            struct reader *r;
            struct rec rec;
            struct err e;
            assert_int_equal(reader_open_ahead(&r, scratch_file, 0, &e), TA_OK);
            for (size_t i = 0; i < records; i++)
                assert_int_equal(reader_next(r, &rec, &e), 1);
            reader_close(r);
        }
    }
    buf_done(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cut),
        cmocka_unit_test(every_flipped_bit),
        cmocka_unit_test(damage_in_two_places),
        cmocka_unit_test(a_long_member),
        cmocka_unit_test(closed_early),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
