/* The pull scanner: cases of our own, every cut, and JSONTestSuite with cJSON beside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/base/jscan.h"
#include "traces/base/json.h"
#include "traces/base/mem.h"

static bool scans(struct slice text)
{
    struct jscan s = jscan_over(text);
    jscan_skip(&s);
    return jscan_next(&s) == JT_END;
}

/* Token by token; what is skipped in one go must be judged the same. */
static bool scans_by_token(struct slice text)
{
    struct jscan s = jscan_over(text);
    enum jscan_token t;
    do
        t = jscan_next(&s);
    while (t != JT_BAD && t != JT_END);
    return t == JT_END;
}

/* Of valid text: skipped by its brackets, the value ends where it ends. */
static bool leaps(struct slice text)
{
    struct jscan s = jscan_over_valid(text);
    jscan_skip(&s);
    return jscan_next(&s) == JT_END;
}

static void accepts_and_refuses(void **state)
{
    (void)state;
    static const char *const good[] = {
        "0",           "-0.5e+3",        "\"\"", "[]",
        "{}",          " [1, 2 ] ",      "true", "{\"a\":{\"b\":[null,{}]}}",
        "\"\\u00e9\"", "[[],[[]],\"]\"]"};
    static const char *const bad[] = {
        "",    "[1,]",  "{\"a\"}",     "{\"a\":1,}", "01",    "1.",        "+1",
        "tru", "[1 2]", "\"\\x\"",     "\"a",        "]",     "{1:2}",     "-",
        "1 2", "[}",    "\"\\u00g0\"", "\"\t\"",     "nulll", "{\"a\" 1}", "\"\\"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(scans(slice_of(good[i])) && scans_by_token(slice_of(good[i])) &&
                    leaps(slice_of(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(scans(slice_of(bad[i])) || scans_by_token(slice_of(bad[i])));
}

static void walks_members(void **state)
{
    (void)state;
    struct jscan s = jscan_over(
        slice_of("{\"skip\":[{\"x\":1},2],\"n\":-42,\"t\":\"a\\n\\ud83d\\ude00\\ud800z\"}"));
    struct slice key;
    int64_t n = 0;
    struct buf text;
    buf_init(&text, 1024);
    assert_int_equal(jscan_next(&s), JT_OBJECT);
    while (jscan_member(&s, &key)) {
        if (slice_is(key, "n")) {
            assert_int_equal(jscan_next(&s), JT_NUMBER);
            assert_true(jscan_int(&s, &n));
        } else if (slice_is(key, "t")) {
            assert_int_equal(jscan_next(&s), JT_STRING);
            assert_int_equal(jscan_unescape(&s, &text), TA_OK);
        } else {
            jscan_skip(&s);
        }
    }
    assert_false(jscan_bad(&s));
    assert_int_equal(n, -42);
    assert_string_equal(buf_text(&text), "a\n\xF0\x9F\x98\x80\xEF\xBF\xBDz");
    buf_done(&text);
}

static void every_cut_is_refused_without_over_reading(void **state)
{
    (void)state;
    static const char whole[] = "{\"a\":[1.5e3,\"x\\u00e9\",true,null],\"b\":{\"c\":false}}";
    for (size_t n = 0; n < sizeof whole - 1; n++) {
        char *cut = mem_dup(whole, n);
        assert_false(scans((struct slice){cut, n}));
        free(cut);
    }
}

static void deep_nesting_is_refused(void **state)
{
    (void)state;
    char *text = mem_alloc(100000);
    memset(text, '[', 100000);
    assert_false(scans((struct slice){text, 100000}));
    free(text);
}

static char *read_file(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *text = mem_alloc(1 << 20);
    *n = fread(text, 1, 1 << 20, f);
    fclose(f);
    return text;
}

static void run_shell(char *command)
{
    FILE *p = popen(command, "r");
    assert_non_null(p);
    assert_int_equal(pclose(p), 0);
    free(command);
}

/* y_ must pass, n_ must fail; i_ is free. Where cJSON differs from the suite it is the lenient one.
 */
static void agrees_with_json_test_suite(void **state)
{
    (void)state;
    const char *corpora = getenv("TOKAUDIT_CORPORA");
    char folder[] = "/tmp/tokaudit-json-XXXXXX", path[600];
    if (corpora == NULL) {
        print_message("SKIPPED: JSONTestSuite, since TOKAUDIT_CORPORA is not set\n");
        skip();
        return;
    }
    assert_non_null(mkdtemp(folder));
    run_shell(
        mem_printf("tar -xzf '%s/jsontestsuite/test_parsing.tar.gz' -C %s --strip-components=1",
                   corpora, folder));
    DIR *d = opendir(folder);
    assert_non_null(d);
    size_t checked = 0, wrong = 0;
    for (struct dirent *f = readdir(d); f != NULL; f = readdir(d)) {
        if (strstr(f->d_name, ".json") == NULL || f->d_name[1] != '_')
            continue;
        snprintf(path, sizeof path, "%s/%.255s", folder, f->d_name);
        size_t n;
        char *text = read_file(path, &n);
        bool ok = scans((struct slice){text, n});
        assert_int_equal(ok, scans_by_token((struct slice){text, n}));
        assert_true(!ok || leaps((struct slice){text, n}));
        if ((f->d_name[0] == 'y' && !ok) || (f->d_name[0] == 'n' && ok)) {
            print_message("%s: %s\n", f->d_name, ok ? "accepted" : "refused");
            wrong++;
        }
        struct json *tree = json_parse(text, n, NULL);
        if (ok && tree == NULL && f->d_name[0] == 'y')
            print_message("cJSON refuses %s\n", f->d_name);
        json_free(tree);
        free(text);
        checked++;
    }
    closedir(d);
    run_shell(mem_printf("rm -r %s", folder));
    assert_true(checked > 200);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_and_refuses),
        cmocka_unit_test(walks_members),
        cmocka_unit_test(every_cut_is_refused_without_over_reading),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(agrees_with_json_test_suite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
