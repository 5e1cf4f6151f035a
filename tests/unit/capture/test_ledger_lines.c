/* Ledger lines: every split of the same bytes gives the same block; what is no JSON object is
 * counted, not kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "capture/ledger_lines.h"
#include "traces/base/json.h"
#include "traces/base/mem.h"
#include "traces/limits.h"

static const char input[] = "{\"name\":\"p0\"}\n"
                            "\n"
                            "[1]\n"
                            "{\"name\":\"p1\", \"x\":[{},null]}\r\n"
                            "{\"name\":\"p2\"} {}\n"
                            "{\"a\":1\n"
                            "{\"name\":\"p3\"}";
static const char expected[] = "{\"kind\":\"ledger\",\"entries\":[{\"name\":\"p0\"},"
                               "{\"name\":\"p1\", \"x\":[{},null]},{\"name\":\"p3\"}]}";

static void every_split(void **state)
{
    (void)state;
    size_t n = sizeof input - 1;
    for (size_t a = 0; a <= n; a++) {
        for (size_t b = a; b <= n; b++) {
            struct ledger_lines l;
            struct slice json;
            ledger_lines_init(&l);
            assert_int_equal(ledger_lines_feed(&l, input, a), a);
            assert_int_equal(ledger_lines_feed(&l, input + a, b - a), b - a);
            assert_int_equal(ledger_lines_feed(&l, input + b, n - b), n - b);
            ledger_lines_end(&l);
            assert_true(ledger_lines_take(&l, &json));
            assert_int_equal(json.n, sizeof expected - 1);
            assert_memory_equal(json.p, expected, json.n);
            assert_int_equal(l.entries, 3);
            assert_int_equal(l.dropped, 3);
            assert_false(ledger_lines_take(&l, &json));
            ledger_lines_done(&l);
        }
    }
}

static void long_lines_are_dropped_whole(void **state)
{
    (void)state;
    struct ledger_lines l;
    struct slice json;
    ledger_lines_init(&l);
    size_t n = LEDGER_LINE_BYTES + 1;
    char *line = mem_alloc(n);
    memset(line, 'x', n);
    memcpy(line, "{\"a\":\"", 6);
    for (int i = 0; i < 100; i++) /* without an end in sight, memory stays bounded */
        assert_int_equal(ledger_lines_feed(&l, line, n), n);
    assert_true(l.line.cap <= LEDGER_LINE_BYTES);
    assert_int_equal(ledger_lines_feed(&l, "\"}\n{}\n", 6), 6);
    assert_int_equal(l.dropped, 1);
    assert_true(ledger_lines_take(&l, &json));
    assert_int_equal(json.n, strlen("{\"kind\":\"ledger\",\"entries\":[{}]}"));
    free(line);
    ledger_lines_done(&l);
}

/* Many entries: blocks that each parse, fit their limit, and hold together every entry once. */
static void full_blocks(void **state)
{
    (void)state;
    enum { ENTRIES = 30000 };
    struct ledger_lines l;
    struct buf text;
    size_t blocks = 0, seen = 0;
    buf_init(&text, 4 << 20);
    for (int i = 0; i < ENTRIES; i++)
        buf_printf(&text, "{\"nth\":%d,\"pad\":\"%032d\"}\n", i, i);
    ledger_lines_init(&l);
    for (size_t used = 0; used < text.n || l.block.n > 0;) {
        struct slice json;
        struct err e;
        used += ledger_lines_feed(&l, (const char *)text.p + used, text.n - used);
        if (!ledger_lines_take(&l, &json))
            break;
        assert_true(json.n <= LIMIT_CUSTOM_JSON_BYTES);
        struct json *root = json_parse(json.p, json.n, &e);
        assert_non_null(root);
        for (const struct json *v = json_first(json_get(root, "entries")); v != NULL;
             v = json_next(v)) {
            int64_t nth = -1;
            assert_true(json_int(v, "nth", &nth));
            assert_int_equal(nth, seen);
            seen++;
        }
        json_free(root);
        blocks++;
    }
    assert_int_equal(seen, ENTRIES);
    assert_true(blocks > 1);
    buf_done(&text);
    ledger_lines_done(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_split),
        cmocka_unit_test(long_lines_are_dropped_whole),
        cmocka_unit_test(full_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
