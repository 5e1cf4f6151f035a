/* The verdict on traces that are whole, cut at every byte, flipped at every bit, spliced and
 * forged. The traces are made here, by hand, after traces/FORMAT.md; one by the writer, too. */
#include "tests/unit/traces/scratch.h"

#include <inttypes.h>

#include "traces/base/mem.h"
#include "traces/gz.h"
#include "traces/pcapng.h"
#include "traces/reader.h"
#include "traces/sha256.h"
#include "traces/verify.h"
#include "traces/writer.h"

enum { MEMBERS = 5, PER_MEMBER = 5, PACKETS = (MEMBERS - 2) * PER_MEMBER, MOST = 1 << 20 };

/* What is not as it should be. */
struct forgery {
    int packets, bytes, blocks, members; /* added to the closing block's counts */
    bool hash, open, doubled_manifest, foreign, headless, wrong_seq, behind;
};

struct trace {
    struct buf file;
    size_t at[MEMBERS + 1];
};

static void add_custom(struct buf *blocks, const char *fmt, ...) TA_PRINTF(2, 3);
static void add_custom(struct buf *blocks, const char *fmt, ...)
{
    struct buf json;
    va_list ap;
    buf_init(&json, 1024);
    va_start(ap, fmt);
    buf_vprintf(&json, fmt, ap);
    va_end(ap);
    assert_int_equal(pcapng_add_custom(blocks, slice_of(buf_text(&json))), TA_OK);
    buf_done(&json);
}

static void hash_of(const struct buf *b, char out[SHA256_TEXT])
{
    struct sha256 *s = sha256_new();
    sha256_add(s, b->p, b->n);
    sha256_text(s, out);
    sha256_free(s);
}

static void add_first(struct buf *blocks, const struct forgery *f)
{
    assert_int_equal(pcapng_add_section(blocks, "tokaudit 0.1.0", slice_of("{}")), TA_OK);
    assert_int_equal(pcapng_add_interface(blocks, 101, 0, "lo", NULL), TA_OK);
    for (int i = f->foreign ? 1 : 0; i < (f->doubled_manifest ? 2 : 1); i++)
        add_custom(blocks, "{\"kind\":\"manifest\",\"version\":1}");
}

static void add_later(struct buf *blocks, int m, const char *hash, const struct forgery *f)
{
    if (!f->headless || m != 2)
        add_custom(blocks,
                   "{\"kind\":\"member\",\"seq\":%d,\"link\":101,\"snaplen\":9,\"sha256\":\"%s\"}",
                   f->wrong_seq && m == 3 ? 1 : m, hash);
    for (int k = 0; m < MEMBERS - 1 && k < PER_MEMBER; k++) {
        int i = (m - 1) * PER_MEMBER + k;
        uint8_t p[PACKETS];
        memset(p, i, sizeof p);
        assert_int_equal(pcapng_add_packet(blocks, i + 1, p, (size_t)i + 1, (size_t)i + 1), TA_OK);
    }
    if (m < MEMBERS - 1)
        return;
    if (f->open) {
        add_custom(blocks, "{\"kind\":\"note\"}");
        return;
    }
    int all = 3 + PACKETS + MEMBERS - 1 - f->headless + f->doubled_manifest;
    add_custom(blocks,
               "{\"kind\":\"closing\",\"packets\":%d,\"blocks\":%d,\"bytes\":%d,\"members\":%d,"
               "\"sha256\":\"%s\"}",
               PACKETS + f->packets, all + f->blocks, PACKETS * (PACKETS + 1) / 2 + f->bytes,
               MEMBERS + f->members, f->hash ? "00" : hash);
    if (f->behind)
        add_custom(blocks, "{\"kind\":\"note\"}");
}

static void trace_make(struct trace *t, const struct forgery *f)
{
    struct gz_maker *maker = gz_maker_new();
    struct buf blocks;
    char hash[SHA256_TEXT];
    buf_init(&blocks, MOST);
    buf_init(&t->file, MOST);
    for (int m = 0; m < MEMBERS; m++) {
        t->at[m] = t->file.n;
        hash_of(&t->file, hash);
        buf_clear(&blocks);
        if (m == 0)
            add_first(&blocks, f);
        else
            add_later(&blocks, m, hash, f);
        struct slice part = {(const char *)blocks.p, blocks.n};
        assert_int_equal(m == 3 ? gz_member_stored(maker, &t->file, &part, 1)
                                : gz_member(maker, &t->file, &part, 1),
                         TA_OK);
    }
    t->at[MEMBERS] = t->file.n;
    gz_maker_free(maker);
    buf_done(&blocks);
}

static struct verify_result verdict(void)
{
    struct verify_result r;
    struct err e = {0};
    assert_int_equal(verify_file(scratch_file, &r, &e), TA_OK);
    assert_true((r.state == VERIFY_WHOLE) == (r.why[0] == '\0'));
    return r;
}

static void assert_verdict(enum verify_state state, uint64_t member, uint64_t offset,
                           const char *why)
{
    struct verify_result r = verdict();
    if (r.state != state || r.member != member || r.offset != offset || strstr(r.why, why) == NULL)
        fail_msg("expected %s, member %" PRIu64 " at %" PRIu64 ", '%s'; found %s, member %" PRIu64
                 " at %" PRIu64 ", '%s'",
                 verify_state_name(state), member, offset, why, verify_state_name(r.state),
                 r.member, r.offset, r.why);
}

static void knows_a_whole_trace(void **state)
{
    (void)state;
    struct trace t;
    char hash[SHA256_TEXT];
    trace_make(&t, &(struct forgery){0});
    scratch_put(t.file.p, t.file.n);
    struct verify_result r = verdict();
    assert_int_equal(r.state, VERIFY_WHOLE);
    assert_int_equal(r.members, MEMBERS);
    assert_int_equal(r.packets, PACKETS);
    assert_int_equal(r.packet_bytes, PACKETS * (PACKETS + 1) / 2);
    assert_int_equal(r.file_bytes, t.file.n);
    hash_of(&t.file, hash);
    assert_string_equal(r.sha256, hash);
    buf_done(&t.file);
}

static void knows_what_the_writer_writes(void **state)
{
    (void)state;
    struct writer *w;
    struct err e = {0};
    uint8_t p[4096];
    uint64_t seed = 3;
    const struct writer_origin origin = {.vantage = "socket", .link = 101, .snaplen = 262144};
    assert_int_equal(writer_open(&w, scratch_file, &origin, &e), TA_OK);
    for (int i = 0; i < 1000; i++) {
        for (size_t k = 0; k < sizeof p; k++)
            p[k] = (uint8_t)scratch_random(&seed);
        assert_int_equal(writer_packet(w, i, p, sizeof p, sizeof p, &e), TA_OK);
    }
    assert_int_equal(writer_close(w, &e), TA_OK);
    struct verify_result r = verdict();
    assert_int_equal(r.state, VERIFY_WHOLE);
    assert_int_equal(r.packets, 1000);
    assert_in_range(r.members, 4, 100);
}

/* What is left of a cut trace is intact, and said to be unclosed; too little of it says nothing. */
static void knows_every_cut(void **state)
{
    (void)state;
    struct trace t;
    uint64_t packets = 0;
    bool known = false;
    trace_make(&t, &(struct forgery){0});
    for (size_t n = 0; n < t.file.n; n++) {
        size_t member = 0;
        while (t.at[member + 1] <= n)
            member++;
        scratch_put(t.file.p, n);
        struct verify_result r = verdict();
        if (r.state == VERIFY_FOREIGN) {
            assert_true(n < t.at[1] && !known);
            continue;
        }
        known = true;
        assert_int_equal(r.state, VERIFY_UNCLOSED);
        assert_int_equal(r.member, member);
        assert_int_equal(r.offset, t.at[member]);
        assert_int_equal(r.members, member);
        assert_true(r.packets >= packets);
        packets = r.packets;
    }
    assert_int_equal(packets, PACKETS);
    buf_done(&t.file);
}

/* Reads scratch_file; the packets that are there, one bit each. */
static uint32_t packets_read(void)
{
    struct reader *r;
    struct rec rec;
    struct err e = {0};
    uint32_t seen = 0;
    if (reader_open(&r, scratch_file, &e) != TA_OK)
        fail_msg("%s", e.msg);
    while (reader_next(r, &rec, &e) == 1) {
        if (rec.kind != REC_PACKET)
            continue;
        assert_in_range(rec.t_ns, 1, PACKETS);
        assert_int_equal(rec.n, rec.t_ns);
        assert_int_equal(rec.link, 101);
        for (size_t k = 0; k < rec.n; k++)
            assert_int_equal(rec.p[k], rec.t_ns - 1);
        seen |= 1u << (rec.t_ns - 1);
    }
    assert_int_equal(e.code, 0);
    reader_close(r);
    return seen;
}

/* Every bit of every member but the last: the verdict names the member and where it is; the reader
 * loses that member's packets or none. The first member holds none, and is not needed. */
static void finds_every_flipped_bit(void **state)
{
    (void)state;
    const uint32_t all = (1u << PACKETS) - 1;
    struct trace t;
    int lost = 0;
    trace_make(&t, &(struct forgery){0});
    scratch_put(t.file.p, t.file.n);
    for (size_t m = 0; m + 1 < MEMBERS; m++) {
        uint32_t own =
            m == 0 || m == MEMBERS - 1 ? 0 : ((1u << PER_MEMBER) - 1) << ((m - 1) * PER_MEMBER);
        for (size_t bit = t.at[m] * 8; bit < t.at[m + 1] * 8; bit++) {
            scratch_patch(bit / 8, t.file.p[bit / 8] ^ (uint8_t)(1u << bit % 8));
            assert_verdict(VERIFY_BROKEN, m, t.at[m], "");
            uint32_t seen = packets_read();
            if (seen != all)
                assert_int_equal(seen, all & ~own);
            lost += seen != all;
            scratch_patch(bit / 8, t.file.p[bit / 8]);
        }
    }
    assert_in_range(lost, 1000, 100000);
    assert_int_equal(verdict().state, VERIFY_WHOLE);
    buf_done(&t.file);
}

/* In the last one, which no hash covers, a flip may look like an early end, but like a whole trace
 * only if not a byte of what it holds is another. */
static void finds_flips_in_the_last_member(void **state)
{
    (void)state;
    struct trace t;
    struct buf whole, found;
    trace_make(&t, &(struct forgery){0});
    buf_init(&whole, MOST);
    buf_init(&found, MOST);
    scratch_put(t.file.p, t.file.n);
    scratch_output(&whole, "gzip -dc <%s", scratch_file);
    for (size_t bit = t.at[MEMBERS - 1] * 8; bit < t.file.n * 8; bit++) {
        scratch_patch(bit / 8, t.file.p[bit / 8] ^ (uint8_t)(1u << bit % 8));
        struct verify_result r = verdict();
        if (r.state == VERIFY_WHOLE) {
            scratch_output(&found, "gzip -dc <%s", scratch_file);
            assert_int_equal(found.n, whole.n);
            assert_memory_equal(found.p, whole.p, whole.n);
        } else {
            assert_int_equal(r.offset, t.at[MEMBERS - 1]);
        }
        scratch_patch(bit / 8, t.file.p[bit / 8]);
    }
    buf_done(&whole);
    buf_done(&found);
    buf_done(&t.file);
}

/* scratch_file: the members of t in this order; -1 ends it. */
static void splice(const struct trace *t, const int *order)
{
    struct buf file;
    buf_init(&file, MOST);
    for (; *order >= 0; order++)
        assert_int_equal(
            buf_add(&file, t->file.p + t->at[*order], t->at[*order + 1] - t->at[*order]), TA_OK);
    scratch_put(file.p, file.n);
    buf_done(&file);
}

static void finds_members_out_of_place(void **state)
{
    (void)state;
    struct trace t;
    trace_make(&t, &(struct forgery){0});
    splice(&t, (const int[]){0, 1, 3, 4, -1});
    assert_verdict(VERIFY_BROKEN, 2, t.at[2], "member 2 is missing: member 3 stands");
    splice(&t, (const int[]){0, 1, 2, 2, 3, 4, -1});
    assert_verdict(VERIFY_BROKEN, 3, t.at[3], "member 2 stands in the place of member 3");
    splice(&t, (const int[]){0, 1, 3, 2, 4, -1});
    assert_verdict(VERIFY_BROKEN, 2, t.at[2], "member 2 is missing: member 3 stands");
    splice(&t, (const int[]){0, 1, 2, 4, -1});
    assert_verdict(VERIFY_BROKEN, 3, t.at[3], "member 3 is missing");
    splice(&t, (const int[]){0, 4, -1});
    assert_verdict(VERIFY_BROKEN, 1, t.at[1], "member 1 is missing: member 4 stands");
    splice(&t, (const int[]){1, 2, 3, 4, -1});
    assert_verdict(VERIFY_BROKEN, 0, 0, "member 0 is missing: member 1 stands");
    assert_int_equal(packets_read(), (1u << PACKETS) - 1);
    splice(&t, (const int[]){0, 0, 1, 2, 3, 4, -1});
    assert_verdict(VERIFY_BROKEN, 1, t.at[1], "a second section header");
    splice(&t, (const int[]){0, 1, 2, 3, 4, 4, -1});
    assert_verdict(VERIFY_BROKEN, 5, t.file.n, "a member follows the closing block");
    splice(&t, (const int[]){0, 1, 2, 3, 4, 0, 1, 2, 3, 4, -1});
    assert_verdict(VERIFY_BROKEN, 5, t.file.n, "a member follows the closing block");
    splice(&t, (const int[]){0, 1, 2, 3, -1});
    assert_verdict(VERIFY_UNCLOSED, 4, t.at[4], "without a closing block");
    buf_done(&t.file);
}

/* A member of another trace in the place of its own: every check of its own is right. */
static void finds_a_member_of_another_trace(void **state)
{
    (void)state;
    struct trace t, other;
    trace_make(&t, &(struct forgery){0});
    trace_make(&other, &(struct forgery){.doubled_manifest = true});
    struct buf file;
    buf_init(&file, MOST);
    assert_int_equal(buf_add(&file, t.file.p, t.at[2]), TA_OK);
    assert_int_equal(buf_add(&file, other.file.p + other.at[2], other.at[3] - other.at[2]), TA_OK);
    assert_int_equal(buf_add(&file, t.file.p + t.at[3], t.file.n - t.at[3]), TA_OK);
    scratch_put(file.p, file.n);
    assert_verdict(VERIFY_BROKEN, 1, t.at[1], "or member 2, at offset");
    buf_done(&file);
    buf_done(&t.file);
    buf_done(&other.file);
}

static void finds_forgeries(void **state)
{
    (void)state;
    static const struct {
        struct forgery f;
        enum verify_state state;
        int member;
        const char *why;
    } cases[] = {
        {{.packets = 1}, VERIFY_BROKEN, 4, "counts 16 packets, the file holds 15"},
        {{.bytes = -1}, VERIFY_BROKEN, 4, "counts 119 bytes, the file holds 120"},
        {{.blocks = 2}, VERIFY_BROKEN, 4, "counts 24 blocks, the file holds 22"},
        {{.members = -1}, VERIFY_BROKEN, 4, "counts 4 members, the file holds 5"},
        {{.hash = true}, VERIFY_BROKEN, 4, "the closing block holds another hash"},
        {{.open = true}, VERIFY_UNCLOSED, 5, "without a closing block"},
        {{.doubled_manifest = true}, VERIFY_BROKEN, 0, "a second manifest"},
        {{.foreign = true}, VERIFY_FOREIGN, 0, "no manifest"},
        {{.headless = true}, VERIFY_BROKEN, 2, "does not begin with a `member` block"},
        {{.wrong_seq = true}, VERIFY_BROKEN, 3, "member 1 stands in the place of member 3"},
        {{.behind = true}, VERIFY_BROKEN, 4, "blocks follow the closing block"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct trace t;
        trace_make(&t, &cases[i].f);
        scratch_put(t.file.p, t.file.n);
        assert_verdict(cases[i].state, (uint64_t)cases[i].member, t.at[cases[i].member],
                       cases[i].why);
        buf_done(&t.file);
    }
}

static void judges_what_follows_the_end(void **state)
{
    (void)state;
    static const struct {
        bool open;
        const char *bytes;
        size_t n;
        enum verify_state state;
        const char *why;
    } cases[] = {
        {false, "\0\0\0", 3, VERIFY_BROKEN, "zeros follow the closing block"},
        {false, "more", 4, VERIFY_BROKEN, "no gzip member"},
        {false, "\x1f\x8b\x08", 3, VERIFY_BROKEN, "a member follows"},
        {true, "\0\0\0", 3, VERIFY_UNCLOSED, "nothing but zeros"},
        {true, "more", 4, VERIFY_BROKEN, "no gzip member"},
        {true, "\x1f\x8b\x08", 3, VERIFY_UNCLOSED, "ends inside this member"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct trace t;
        trace_make(&t, &(struct forgery){.open = cases[i].open});
        assert_int_equal(buf_add(&t.file, cases[i].bytes, cases[i].n), TA_OK);
        scratch_put(t.file.p, t.file.n);
        struct verify_result r = verdict();
        if (r.state != cases[i].state || strstr(r.why, cases[i].why) == NULL)
            fail_msg("case %zu: %s: %s", i, verify_state_name(r.state), r.why);
        buf_done(&t.file);
    }
}

static void tells_what_is_no_trace(void **state)
{
    (void)state;
    struct verify_result r;
    struct err e = {0};
    struct gz_maker *maker = gz_maker_new();
    struct buf file;
    buf_init(&file, MOST);
    scratch_put("", 0);
    assert_verdict(VERIFY_FOREIGN, 0, 0, "");
    scratch_put("\x0a\x0d\x0d\x0a tokaudit ", 14);
    assert_verdict(VERIFY_FOREIGN, 0, 0, "not gzip'd");
    struct slice text = slice_of("a text that mentions tokaudit twice: tokaudit ");
    assert_int_equal(gz_member(maker, &file, &text, 1), TA_OK);
    scratch_put(file.p, file.n);
    assert_verdict(VERIFY_FOREIGN, 0, 0, "no recording");
    assert_int_equal(verify_file("/nowhere/at/all", &r, &e), TA_EFORMAT);
    assert_int_equal(verify_file(scratch_folder, &r, &e), TA_EFORMAT);
    gz_maker_free(maker);
    buf_done(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_a_whole_trace),
        cmocka_unit_test(knows_what_the_writer_writes),
        cmocka_unit_test(knows_every_cut),
        cmocka_unit_test(finds_every_flipped_bit),
        cmocka_unit_test(finds_flips_in_the_last_member),
        cmocka_unit_test(finds_members_out_of_place),
        cmocka_unit_test(finds_a_member_of_another_trace),
        cmocka_unit_test(finds_forgeries),
        cmocka_unit_test(judges_what_follows_the_end),
        cmocka_unit_test(tells_what_is_no_trace),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
