/* Custom blocks and the ledger: what is written is read, and nothing else is taken for it. */
#include "tests/unit/traces/scratch.h"

#include "traces/base/arena.h"
#include "traces/base/json.h"
#include "traces/base/jsonw.h"
#include "traces/custom.h"
#include "traces/ledger.h"
#include "traces/limits.h"

static void custom_round_trip(void **state)
{
    (void)state;
    struct buf b;
    struct slice json;
    buf_init(&b, 1024);
    assert_int_equal(custom_encode(&b, slice_of("{\"kind\":\"note\"}")), TA_OK);
    /* The layout of FORMAT.md, byte for byte. */
    const char expected[] = "TOKAUDIT\x01\0\0\0\x0f\0\0\0{\"kind\":\"note\"}";
    assert_int_equal(b.n, sizeof expected - 1);
    assert_memory_equal(b.p, expected, b.n);
    for (size_t n = 0; n < b.n; n++)
        assert_false(custom_decode(b.p, n, &json));
    assert_true(custom_decode(b.p, b.n, &json));
    assert_true(slice_is(json, "{\"kind\":\"note\"}"));
    for (size_t i = 0; i < 12; i++) { /* magic and version */
        b.p[i] ^= 0x20;
        assert_false(custom_decode(b.p, b.n, &json));
        b.p[i] ^= 0x20;
    }
    b.p[15] = 0xff; /* a length of 4 GB */
    assert_false(custom_decode(b.p, b.n, &json));
    buf_done(&b);
}

static void custom_has_a_limit(void **state)
{
    (void)state;
    struct buf b;
    char *big = calloc(1, LIMIT_CUSTOM_JSON_BYTES + 1);
    buf_init(&b, 4 * LIMIT_CUSTOM_JSON_BYTES);
    assert_int_equal(custom_encode(&b, (struct slice){big, LIMIT_CUSTOM_JSON_BYTES + 1}),
                     TA_ELIMIT);
    assert_int_equal(b.n, 0);
    assert_int_equal(custom_encode(&b, (struct slice){big, LIMIT_CUSTOM_JSON_BYTES}), TA_OK);
    buf_done(&b);
    buf_init(&b, 20);
    assert_int_equal(custom_encode(&b, slice_of("{\"kind\":\"note\"}")), TA_ELIMIT);
    assert_int_equal(b.n, 0);
    buf_done(&b);
    free(big);
}

static const struct ledger_entry full = {"run_single",
                                         "p3 \"\xc3\xa9\"",
                                         4,
                                         1,
                                         2,
                                         1796030400459528001,
                                         1796030400459528002,
                                         1796030400459528003,
                                         1796030400459528004,
                                         54321,
                                         7,
                                         200,
                                         "complete",
                                         "e3b0c442",
                                         3,
                                         true,
                                         {4, 0, 17, 200, 11, 12},
                                         8};

static void ledger_text(struct buf *b, const struct ledger_entry *entry)
{
    struct jsonw w;
    buf_clear(b);
    jsonw_init(&w, b, 0);
    ledger_write(&w, entry);
}

static void assert_same_entry(const struct ledger_entry *a, const struct ledger_entry *b)
{
    assert_string_equal(a->workload, b->workload);
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->outcome, b->outcome);
    const int64_t of_a[] = {a->repeat,   a->warmup, a->group,      a->due_ns, a->sent_ns,
                            a->first_ns, a->end_ns, a->local_port, a->nth,    a->status};
    const int64_t of_b[] = {b->repeat,   b->warmup, b->group,      b->due_ns, b->sent_ns,
                            b->first_ns, b->end_ns, b->local_port, b->nth,    b->status};
    assert_memory_equal(of_a, of_b, sizeof of_a);
    assert_int_equal(a->conn_planned, b->conn_planned);
    assert_int_equal(a->concurrency, b->concurrency);
    assert_int_equal(a->body_sha256 == NULL, b->body_sha256 == NULL);
    if (a->body_sha256 != NULL)
        assert_string_equal(a->body_sha256, b->body_sha256);
    assert_int_equal(a->has_recorded, b->has_recorded);
    if (a->has_recorded)
        assert_memory_equal(&a->recorded, &b->recorded, sizeof a->recorded);
}

static void ledger_round_trip(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 4096);
    /* Each field that may be absent, absent and present. */
    for (unsigned mask = 0; mask < 4096; mask++) {
        struct arena a = {0};
        struct ledger_entry in = full, out;
        int64_t *const optional[] = {&in.warmup,          &in.group,
                                     &in.due_ns,          &in.sent_ns,
                                     &in.first_ns,        &in.end_ns,
                                     &in.status,          &in.conn_planned,
                                     &in.recorded.end_ns, &in.recorded.output_units};
        const int64_t absent[] = {0, -1, -1, -1, -1, -1, 0, -1, -1, -1};
        for (unsigned i = 0; i < 10; i++) {
            if (mask & 1u << i)
                *optional[i] = absent[i];
        }
        if (mask & 1u << 10)
            in.has_recorded = false;
        if (mask & 1u << 11)
            in.body_sha256 = NULL;
        in.concurrency = mask & 1 ? 8 : 0;
        ledger_text(&b, &in);
        struct json *v = json_parse((const char *)b.p, b.n, NULL);
        assert_true(ledger_read(v, &a, &out));
        json_free(v);
        assert_same_entry(&in, &out);
        arena_free(&a);
    }
    buf_done(&b);
}

static void ledger_reads_only_whole_entries(void **state)
{
    (void)state;
    static const char *const broken[] = {
        "[]",
        "{}",
        "{\"workload\":\"w\",\"name\":\"n\",\"repeat\":0,\"local_port\":1,\"nth\":0}",
        "{\"workload\":1,\"name\":\"n\",\"outcome\":\"c\",\"repeat\":0,\"local_port\":1,\"nth\":0}",
        "{\"workload\":\"w\",\"name\":\"n\",\"outcome\":\"c\",\"local_port\":1,\"nth\":0}",
        "{\"workload\":\"w\",\"name\":\"n\",\"outcome\":\"c\",\"repeat\":0,\"nth\":0}",
        "{\"workload\":\"w\",\"name\":\"n\",\"outcome\":\"c\",\"repeat\":0,\"local_port\":1}",
        "{\"workload\":\"w\",\"name\":\"n\",\"outcome\":\"c\",\"repeat\":0,\"local_port\":1,"
        "\"nth\":0,"
        "\"end_ns\":\"soon\"}",
        "{\"workload\":\"w\",\"name\":\"n\",\"outcome\":\"c\",\"repeat\":0,\"local_port\":1,"
        "\"nth\":0,"
        "\"status\":\"ok\"}",
        "{\"workload\":\"w\",\"name\":\"n\",\"outcome\":\"c\",\"repeat\":0,\"local_port\":1,"
        "\"nth\":0,"
        "\"body_sha256\":7}",
        "{\"workload\":\"w\",\"name\":\"n\",\"outcome\":\"c\",\"repeat\":0,\"local_port\":1,"
        "\"nth\":0,"
        "\"recorded\":[]}",
        "{\"workload\":\"w\",\"name\":\"n\",\"outcome\":\"c\",\"repeat\":0,\"local_port\":1,"
        "\"nth\":0,"
        "\"recorded\":{\"t_ns\":\"1\"}}",
    };
    struct arena a = {0};
    struct ledger_entry out;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        struct json *v = json_parse(broken[i], strlen(broken[i]), NULL);
        assert_non_null(v);
        assert_false(ledger_read(v, &a, &out));
        json_free(v);
    }
    arena_free(&a);
    assert_false(ledger_read(NULL, &a, &out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(custom_round_trip),
        cmocka_unit_test(custom_has_a_limit),
        cmocka_unit_test(ledger_round_trip),
        cmocka_unit_test(ledger_reads_only_whole_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
