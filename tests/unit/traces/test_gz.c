/* The gzip container: every flip of every byte, every cut, and files made to be slow. */
#include "tests/unit/traces/scratch.h"

#include "traces/gz.h"

enum { MEMBERS = 6, MOST = 64 << 20 };

struct file {
    struct buf bytes, plain;
    size_t at[MEMBERS + 1];       /* where members start */
    size_t plain_at[MEMBERS + 1]; /* where their contents start */
};

static bool begins(void *ctx, const uint8_t *p, size_t n)
{
    (void)ctx;
    return n >= 12 && memcmp(p, "<block start", 12) == 0;
}

static void make(struct file *f)
{
    struct gz_maker *maker = gz_maker_new();
    uint64_t seed = 7;
    buf_init(&f->bytes, MOST);
    buf_init(&f->plain, MOST);
    for (int i = 0; i < MEMBERS; i++) {
        uint8_t text[150];
        f->at[i] = f->bytes.n;
        f->plain_at[i] = f->plain.n;
        for (size_t k = 0; k < sizeof text; k++)
            text[k] = (uint8_t)(scratch_random(&seed) % (i % 2 ? 256 : 7));
        struct slice parts[] = {slice_of("<block start>"), {(const char *)text, sizeof text}};
        assert_int_equal(gz_member(maker, &f->bytes, parts, 2), TA_OK);
        for (int k = 0; k < 2; k++)
            assert_int_equal(buf_add(&f->plain, parts[k].p, parts[k].n), TA_OK);
    }
    f->at[MEMBERS] = f->bytes.n;
    f->plain_at[MEMBERS] = f->plain.n;
    gz_maker_free(maker);
}

static void unmake(struct file *f)
{
    buf_done(&f->bytes);
    buf_done(&f->plain);
}

/* All that scratch_file gives. */
static void read_all(struct buf *out, struct reader_health *health)
{
    struct gz_source *g;
    struct gz_piece piece;
    struct err e = {0};
    buf_clear(out);
    *health = (struct reader_health){0};
    assert_int_equal(gz_open(&g, scratch_file, (struct gz_resume){NULL, begins}, health, &e),
                     TA_OK);
    int rc;
    while ((rc = gz_next(g, &piece, &e)) == 1) {
        assert_true(piece.n > 0);
        if (piece.lost)
            assert_true(begins(NULL, piece.p, piece.n));
        assert_int_equal(buf_add(out, piece.p, piece.n), TA_OK);
    }
    assert_int_equal(rc, 0);
    assert_int_equal(gz_drain(g, &e), TA_OK);
    gz_close(g);
}

static bool is_plain_without(const struct file *f, const struct buf *got, size_t from, size_t to)
{
    return got->n == f->plain.n - (to - from) && memcmp(got->p, f->plain.p, from) == 0 &&
           memcmp(got->p + from, f->plain.p + to, f->plain.n - to) == 0;
}

static void members_are_plain_gzip(void **state)
{
    (void)state;
    struct file f;
    struct buf out;
    make(&f);
    buf_init(&out, MOST);
    for (int i = 0; i < MEMBERS; i++) /* magic, deflate, no flags, no time, fastest, Unix */
        assert_memory_equal(f.bytes.p + f.at[i], "\x1f\x8b\x08\0\0\0\0\0\x04\x03", 10);
    scratch_put(f.bytes.p, f.bytes.n);
    scratch_output(&out, "gzip -dc <%s", scratch_file);
    assert_true(is_plain_without(&f, &out, 0, 0));
    buf_done(&out);
    unmake(&f);
}

static void reads_gzip_and_plain(void **state)
{
    (void)state;
    struct file f;
    struct buf out;
    struct reader_health health;
    make(&f);
    buf_init(&out, MOST);
    scratch_put(f.bytes.p, f.bytes.n);
    read_all(&out, &health);
    assert_true(is_plain_without(&f, &out, 0, 0));
    assert_string_equal(health.note, "");
    assert_int_equal(health.file_bytes, f.bytes.n);
    scratch_put(f.plain.p, f.plain.n);
    read_all(&out, &health);
    assert_true(is_plain_without(&f, &out, 0, 0));
    assert_false(health.truncated);
    scratch_put("abc", 3);
    read_all(&out, &health);
    assert_string_equal(health.sha256,
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    buf_done(&out);
    unmake(&f);
}

/* A flipped byte costs its member and no other. */
static void survives_every_flip(void **state)
{
    (void)state;
    static const uint8_t masks[] = {0x01, 0x04, 0x08, 0x80, 0xff};
    struct file f;
    struct buf out;
    struct reader_health health;
    make(&f);
    buf_init(&out, MOST);
    scratch_put(f.bytes.p, f.bytes.n);
    unsigned harmless = 0;
    for (size_t i = f.at[1], member = 1; i < f.bytes.n; i++) {
        member += i == f.at[member + 1];
        for (size_t k = 0; k < sizeof masks; k++) {
            scratch_patch(i, f.bytes.p[i] ^ masks[k]);
            read_all(&out, &health);
            if (is_plain_without(&f, &out, 0, 0)) {
                harmless++; /* a header's time, system and hint, and bits that deflate skips */
                assert_int_equal(health.damaged_members, 0);
                continue;
            }
            if (!is_plain_without(&f, &out, f.plain_at[member], f.plain_at[member + 1])) {
                /* The last member's trailer may be what the flip made it wait for. */
                assert_int_equal(member, MEMBERS - 1);
                assert_true(health.truncated);
                continue;
            }
            assert_int_equal(health.damaged_members + health.truncated, 1);
            assert_string_not_equal(health.note, "");
        }
        scratch_patch(i, f.bytes.p[i]);
    }
    assert_in_range(harmless, 1, (MEMBERS - 1) * 8 * sizeof masks);
    buf_done(&out);
    unmake(&f);
}

/* What a cut file holds is a beginning of the whole, and all members before the cut are in it. */
static void survives_every_cut(void **state)
{
    (void)state;
    struct file f;
    struct buf out;
    struct reader_health health;
    make(&f);
    buf_init(&out, MOST);
    for (size_t n = 2; n < f.bytes.n; n++) {
        size_t member = 0;
        while (f.at[member + 1] <= n)
            member++;
        scratch_put(f.bytes.p, n);
        read_all(&out, &health);
        assert_in_range(out.n, f.plain_at[member], f.plain_at[member + 1]);
        assert_memory_equal(out.p, f.plain.p, out.n);
        assert_int_equal(health.truncated, n != f.at[member]);
        assert_int_equal(health.damaged_members, 0);
    }
    buf_done(&out);
    unmake(&f);
}

static void lives_with_what_is_between(void **state)
{
    (void)state;
    struct file f;
    struct buf out, mixed;
    struct reader_health health;
    make(&f);
    buf_init(&out, MOST);
    buf_init(&mixed, MOST);
    assert_int_equal(buf_add(&mixed, f.bytes.p, f.at[2]), TA_OK);
    buf_puts(&mixed, "a log line that went astray\n");
    assert_int_equal(buf_add(&mixed, f.bytes.p + f.at[2], f.bytes.n - f.at[2]), TA_OK);
    size_t whole = mixed.n;
    for (int i = 0; i < 5000; i++)
        assert_int_equal(buf_add(&mixed, "", 1), TA_OK);
    scratch_put(mixed.p, mixed.n);
    read_all(&out, &health);
    assert_true(is_plain_without(&f, &out, 0, 0));
    assert_int_equal(health.damaged_members, 1);
    assert_non_null(strstr(health.note, "no gzip member"));
    assert_int_equal(health.file_bytes, mixed.n);
    /* Zeros alone are no damage. */
    scratch_put(mixed.p + whole, 1);
    buf_clear(&mixed);
    assert_int_equal(buf_add(&mixed, f.bytes.p, f.bytes.n), TA_OK);
    for (int i = 0; i < 5000; i++)
        assert_int_equal(buf_add(&mixed, "", 1), TA_OK);
    scratch_put(mixed.p, mixed.n);
    read_all(&out, &health);
    assert_true(is_plain_without(&f, &out, 0, 0));
    assert_int_equal(health.damaged_members, 0);
    assert_false(health.truncated);
    buf_done(&out);
    buf_done(&mixed);
    unmake(&f);
}

/* One long member is streamed: it comes whole, and what is damaged behind its start costs no later
 * member. */
static void streams_long_members(void **state)
{
    (void)state;
    enum { LONG_BYTES = 12 << 20 };
    struct gz_maker *maker = gz_maker_new();
    struct buf bytes, out;
    struct reader_health health;
    uint8_t *text = malloc(LONG_BYTES);
    uint64_t seed = 3;
    buf_init(&bytes, MOST);
    buf_init(&out, MOST);
    for (size_t i = 0; i < LONG_BYTES; i++)
        text[i] = (uint8_t)(i % 64 ? 'a' + i % 17 : scratch_random(&seed));
    memcpy(text, "<block start", 12);
    struct slice part = {(const char *)text, LONG_BYTES},
                 tail = slice_of("<block start of the tail>");
    assert_int_equal(gz_member(maker, &bytes, &part, 1), TA_OK);
    size_t second = bytes.n;
    assert_int_equal(gz_member(maker, &bytes, &tail, 1), TA_OK);
    scratch_put(bytes.p, bytes.n);
    read_all(&out, &health);
    assert_int_equal(out.n, LONG_BYTES + tail.n);
    assert_memory_equal(out.p, text, LONG_BYTES);
    assert_string_equal(health.note, "");

    scratch_patch(second - 5, bytes.p[second - 5] ^ 1); /* its checksum */
    read_all(&out, &health);
    assert_int_equal(health.damaged_members, 1);
    assert_true(out.n > tail.n && memcmp(out.p + out.n - tail.n, tail.p, tail.n) == 0);

    scratch_put(bytes.p, second / 2);
    read_all(&out, &health);
    assert_true(health.truncated);
    assert_in_range(out.n, GZ_HELD_BYTES, LONG_BYTES);
    assert_memory_equal(out.p, text, out.n);
    free(text);
    gz_maker_free(maker);
    buf_done(&bytes);
    buf_done(&out);
}

/* A stored deflate block of n bytes begins. */
static void stored(uint8_t *p, size_t n)
{
    const uint8_t head[5] = {0, (uint8_t)n, (uint8_t)(n >> 8), (uint8_t)~n, (uint8_t)(~n >> 8)};
    memcpy(p, head, sizeof head);
}

/* Headers every 32 bytes, each of which starts plausibly and swallows all that is behind it: 80,000
 * times 1.3 MB to inflate on average, if the search did not give up. */
static void gives_up_on_a_file_made_to_be_slow(void **state)
{
    (void)state;
    enum { UNIT = 32, STRIDE = 65504, HUBS = 40, SIZE = UNIT + HUBS * STRIDE };
    struct buf out;
    struct reader_health health;
    uint8_t *p = calloc(1, SIZE);
    buf_init(&out, MOST);
    for (size_t at = 0; at + UNIT <= SIZE; at += UNIT) {
        size_t hub = at % STRIDE == 0 ? at : at + STRIDE - at % STRIDE;
        if (at % STRIDE == 0 &&
            at > 0) { /* where all the stored blocks end, and the next one starts */
            stored(p + at, STRIDE - 5);
            continue;
        }
        memcpy(p + at, "\x1f\x8b\x08\0\0\0\0\0\0\x03", 10);
        stored(p + at + 10, (at == 0 ? STRIDE : hub) - at - 15);
        memcpy(p + at + 15, "<block start", 12);
    }
    scratch_put(p, SIZE);
    read_all(&out, &health);
    assert_true(health.truncated);
    assert_true(begins(NULL, out.p, out.n));
    free(p);
    buf_done(&out);
}

/* 256 MiB out of 256 KiB: it comes in pieces. */
static void streams_a_bomb(void **state)
{
    (void)state;
    enum { ZEROS = 1 << 20, TIMES = 256 };
    struct gz_maker *maker = gz_maker_new();
    struct buf bytes;
    struct reader_health health = {0};
    struct slice parts[TIMES];
    char *zeros = calloc(1, ZEROS);
    for (int i = 0; i < TIMES; i++)
        parts[i] = (struct slice){zeros, ZEROS};
    buf_init(&bytes, MOST);
    assert_int_equal(gz_member(maker, &bytes, parts, TIMES), TA_OK);
    scratch_put(bytes.p, bytes.n);
    struct gz_source *g;
    struct gz_piece piece;
    struct err e = {0};
    uint64_t total = 0;
    assert_int_equal(gz_open(&g, scratch_file, (struct gz_resume){NULL, begins}, &health, &e),
                     TA_OK);
    while (gz_next(g, &piece, &e) == 1) {
        assert_in_range(piece.n, 1, GZ_HELD_BYTES);
        total += piece.n;
    }
    assert_int_equal(total, (uint64_t)ZEROS * TIMES);
    gz_close(g);
    free(zeros);
    gz_maker_free(maker);
    buf_done(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_plain_gzip),
        cmocka_unit_test(reads_gzip_and_plain),
        cmocka_unit_test(survives_every_flip),
        cmocka_unit_test(survives_every_cut),
        cmocka_unit_test(lives_with_what_is_between),
        cmocka_unit_test(streams_long_members),
        cmocka_unit_test(streams_a_bomb),
        cmocka_unit_test(gives_up_on_a_file_made_to_be_slow),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
