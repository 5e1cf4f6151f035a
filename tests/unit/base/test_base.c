/* The small modules of traces/base: text, JSON out and in, units, buffers, arenas, options. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/base/arena.h"
#include "traces/base/cli.h"
#include "traces/base/clock.h"
#include "traces/base/jsonw.h"
#include "traces/base/text.h"
#include "traces/base/units.h"
#include "traces/base/vec.h"

static void utf8_round_trip_and_bad_bytes(void **state)
{
    (void)state;
    for (uint32_t cp = 0; cp <= 0x10FFFF; cp++) {
        if (cp >= 0xD800 && cp <= 0xDFFF)
            continue;
        char bytes[4];
        size_t n = utf8_put(bytes, cp);
        uint32_t back;
        assert_int_equal(utf8_next((const uint8_t *)bytes, n, &back), n);
        assert_int_equal(back, cp);
    }
    static const char *const bad[] = {"\x80",         "\xC0\x80",         "\xE0\x80\x80",
                                      "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF8\x88\x80\x80",
                                      "\xC3",         "\xE2\x82",         "\xFF"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint32_t cp;
        assert_int_equal(utf8_next((const uint8_t *)bad[i], strlen(bad[i]), &cp), 1);
        assert_int_equal(cp, 0xFFFD);
    }
}

static void escapes_for_terminal_and_html(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 1000);
    text_terminal(&b, slice_of("a\x1b[31m\xC2\x9B\xE2\x80\xAEz\xFF"));
    assert_string_equal(buf_text(&b), "a\xEF\xBF\xBD[31m\xEF\xBF\xBD\xEF\xBF\xBDz\xEF\xBF\xBD");
    buf_clear(&b);
    text_html(&b, slice_of("<b a=\"1\" c='&'>\x01\xC3\xA9</b>"));
    assert_string_equal(buf_text(&b),
                        "&lt;b a=&quot;1&quot; c=&#39;&amp;&#39;&gt;\xC3\xA9&lt;/b&gt;");
    buf_done(&b);
}

static void json_out_reads_back(void **state)
{
    (void)state;
    struct buf b;
    struct jsonw w;
    buf_init(&b, 10000);
    jsonw_init(&w, &b, 0);
    jsonw_object(&w, NULL);
    jsonw_text(&w, "text", "q\" \\ \n \x01 \xFF");
    jsonw_int(&w, "big", INT64_C(9007199254740993));
    jsonw_double(&w, "tenth", 0.1);
    jsonw_double(&w, "none", (double)NAN);
    jsonw_ns(&w, "at", INT64_C(1796030400459528001));
    jsonw_array(&w, "list");
    jsonw_bool(&w, NULL, true);
    jsonw_end(&w);
    jsonw_end(&w);
    assert_string_equal(
        buf_text(&b),
        "{\"text\":\"q\\\" \\\\ \\n \\u0001 \xEF\xBF\xBD\",\"big\":9007199254740993,"
        "\"tenth\":0.1,\"none\":null,\"at\":\"1796030400459528001\",\"list\":[true]}");
    struct err e;
    struct json *root = json_parse((const char *)b.p, b.n, &e);
    assert_non_null(root);
    int64_t at = 0;
    assert_true(json_ns(root, "at", &at));
    assert_true(at == INT64_C(1796030400459528001));
    assert_false(json_int(root, "big", &at)); /* a double cannot hold it: refused, not rounded */
    assert_false(json_int(root, "tenth", &at));
    assert_int_equal(json_count(json_get(root, "list")), 1);
    assert_null(json_get(root, "TEXT"));
    json_free(root);
    assert_null(json_parse("{} x", 4, &e));
    assert_non_null(strstr(e.msg, "offset 3"));
    buf_done(&b);
}

static void units_both_ways(void **state)
{
    (void)state;
    uint64_t bytes;
    int64_t ns;
    char out[32];
    assert_true(units_parse_size("64MiB", &bytes) && bytes == 64u << 20);
    assert_true(units_parse_size("1.5 GB", &bytes) && bytes == 1500000000u);
    assert_true(units_parse_size("4096", &bytes) && bytes == 4096);
    assert_false(units_parse_size("12 parsecs", &bytes));
    assert_false(units_parse_size("-1", &bytes));
    assert_true(units_parse_duration("500ms", &ns) && ns == 500000000);
    assert_true(units_parse_duration("2", &ns) && ns == 2000000000);
    assert_true(units_parse_duration("1.5m", &ns) && ns == INT64_C(90000000000));
    assert_false(units_parse_duration("", &ns));
    assert_string_equal(units_bytes(12345678, out), "12.3 MB");
    assert_string_equal(units_duration(-1500000, out), "-1.50 ms");
    assert_string_equal(units_count(1234567, out), "1,234,567");
    assert_string_equal(units_count(999, out), "999");
}

static void buffers_keep_their_maximum(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 10);
    assert_int_equal(buf_add(&b, "0123456", 7), TA_OK);
    assert_int_equal(buf_add(&b, "789a", 4), TA_ELIMIT);
    assert_int_equal(b.n, 7);
    buf_drop(&b, 3);
    assert_memory_equal(b.p, "3456", 4);
    buf_done(&b);
    struct arena a = {0};
    for (size_t n = 0; n < 3000; n += 7)
        memset(arena_alloc(&a, n), 1, n);
    assert_string_equal(arena_text(&a, slice_of("x")), "x");
    arena_free(&a);
    VEC(int) v = {0};
    for (int i = 0; i < 100; i++)
        VEC_PUSH(&v, i);
    assert_int_equal(v.v[99], 99);
    VEC_FREE(&v);
}

struct config {
    bool loud;
    int64_t count, wait_ns;
    uint64_t size;
    const char *form;
    struct cli_strings ports;
};

static const struct cli_option options[] = {
    {"loud", 'l', CLI_FLAG, NULL, offsetof(struct config, loud), "", NULL},
    {"count", 'n', CLI_INT, "N", offsetof(struct config, count), "", NULL},
    {"wait", 0, CLI_DURATION, "TIME", offsetof(struct config, wait_ns), "", NULL},
    {"size", 0, CLI_SIZE, "SIZE", offsetof(struct config, size), "", NULL},
    {"form", 0, CLI_CHOICE, "FORM", offsetof(struct config, form), "", "text|json"},
    {"port", 'p', CLI_STRINGS, "PORT", offsetof(struct config, ports), "", NULL},
    {0},
};
static const struct cli_command command = {"try", "", "", "", options, NULL, NULL};

static int parse(struct config *c, struct err *e, int argc, ...)
{
    char *argv[16] = {0};
    va_list ap;
    va_start(ap, argc);
    for (int i = 0; i < argc; i++)
        argv[i] = va_arg(ap, char *);
    va_end(ap);
    bool help;
    return cli_parse(&command, c, argc, argv, &help, e);
}

static void options_from_tables(void **state)
{
    (void)state;
    struct config c = {0};
    struct err e = {0};
    int first =
        parse(&c, &e, 10, "try", "-l", "-n", "12", "--wait=2s", "--port", "1", "-p2", "--", "rest");
    assert_int_equal(first, 9);
    assert_true(c.loud && c.count == 12 && c.wait_ns == 2000000000);
    assert_int_equal(c.ports.n, 2);
    assert_string_equal(c.ports.v[1], "2");
    cli_strings_free(&c.ports);
    static const char *const wrong[][3] = {
        {"--count", "x", "whole number"}, {"--form", "tex", "text|json"},
        {"--size", "big", "64MiB"},       {"--nope", "1", "no option --nope"},
        {"-z", "1", "no option -z"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(parse(&c, &e, 3, "try", wrong[i][0], wrong[i][1]), TA_EUSAGE);
        assert_non_null(strstr(e.msg, wrong[i][2]));
    }
    assert_int_equal(parse(&c, &e, 2, "try", "--count"), TA_EUSAGE);
    assert_string_equal(e.msg, "--count needs N after it");
}

/* However many there are, under whatever headings. */
static void many_options(void **state)
{
    (void)state;
    enum { MANY = 150 };
    static char names[MANY][8];
    static struct cli_option table[MANY + 3];
    int64_t values[MANY] = {0};
    size_t n = 0;
    for (size_t i = 0; i < MANY; i++) {
        if (i == 0 || i == MANY / 2)
            table[n++] = (struct cli_option){.name = "a heading", .kind = CLI_HEADING};
        snprintf(names[i], sizeof names[i], "o%zu", i);
        table[n++] = (struct cli_option){names[i], 0, CLI_INT, "N", i * sizeof *values, "", NULL};
    }
    const struct cli_command c = {"try", "", "", "", table, NULL, NULL};
    char name[] = "try", first[] = "--o0", value[] = "7", last[] = "--o149=9";
    char *argv[] = {name, first, value, last, NULL};
    struct err e = {0};
    bool help;
    assert_int_equal(cli_parse(&c, values, 4, argv, &help, &e), 4);
    assert_true(values[0] == 7 && values[149] == 9);
    char heading[] = "--a heading";
    char *wrong[] = {name, heading, NULL};
    assert_int_equal(cli_parse(&c, values, 2, wrong, &help, &e), TA_EUSAGE);
}

static void clocks_pair_up(void **state)
{
    (void)state;
    struct clock_pair a = clock_pair_take(), b = clock_pair_take();
    assert_true(b.mono_ns > a.mono_ns && a.width_ns >= 0);
    char text[32];
    clock_utc(INT64_C(1796037180000000001), text);
    assert_string_equal(text, "2026-11-30T11:13:00Z");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf8_round_trip_and_bad_bytes),
        cmocka_unit_test(escapes_for_terminal_and_html),
        cmocka_unit_test(json_out_reads_back),
        cmocka_unit_test(units_both_ways),
        cmocka_unit_test(buffers_keep_their_maximum),
        cmocka_unit_test(options_from_tables),
        cmocka_unit_test(many_options),
        cmocka_unit_test(clocks_pair_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
