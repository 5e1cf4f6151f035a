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

/* Where a string that starts at p[0] ends, byte by byte as RFC 8259, 7 says; 0: nowhere. */
static size_t string_by_byte(const char *p, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if ((unsigned char)p[i] < 0x20)
            return 0;
        if (p[i] == '"')
            return i + 1;
        if (p[i] != '\\')
            continue;
        if (++i == n)
            return 0;
        if (p[i] == 'u') {
            for (size_t k = 1; k <= 4; k++)
                if (i + k >= n || strchr("0123456789abcdefABCDEF", p[i + k]) == NULL ||
                    p[i + k] == '\0')
                    return 0;
            i += 4;
        } else if (p[i] == '\0' || strchr("\"\\/bfnrt", p[i]) == NULL) {
            return 0;
        }
    }
    return 0;
}

/* Eight bytes are looked at in one go: every byte at every place of strings of every length around
 * that, behind others of every kind, and no byte behind the text is read (under ASan). */
static void strings_end_where_they_end(void **state)
{
    (void)state;
    static const char fills[] = "a\x7f\x80\xff!#[]";
    for (size_t n = 1; n <= 27; n++) {
        char *text = mem_alloc(n);
        for (size_t at = 0; at < n; at++) {
            for (int c = 0; c < 256; c++) {
                memset(text, fills[(at + n) % (sizeof fills - 1)], n);
                text[0] = '"';
                text[n - 1] = '"';
                text[at] = (char)c;
                struct jscan s = jscan_over((struct slice){text, n});
                size_t end = text[0] == '"' ? string_by_byte(text, n) : 0;
                bool found = jscan_next(&s) == JT_STRING;
                if (text[0] != '"')
                    continue;
                assert_int_equal(found, end != 0);
                if (found)
                    assert_int_equal(s.text.n, end - 2);
                if (found)
                    assert_int_equal(s.escaped, memchr(text, '\\', end) != NULL);
            }
        }
        free(text);
    }
}

static bool same_scanner(const struct jscan *a, const struct jscan *b)
{
    return a->p == b->p && a->last == b->last && a->depth == b->depth && a->state == b->state &&
           a->value == b->value && a->in_object == b->in_object &&
           (a->last != JT_STRING || a->escaped == b->escaped) &&
           ((a->last != JT_STRING && a->last != JT_NUMBER) ||
            (a->text.p == b->text.p && a->text.n == b->text.n));
}

/* The members of an object in pairs and token by token, into every container or past it. */
static void pair_as_tokens(struct jscan pairs, unsigned into)
{
    struct jscan tokens = pairs;
    struct slice key, same_key;
    for (unsigned i = 0;; i++) {
        bool more = jscan_pair(&pairs, &key);
        bool also = jscan_member(&tokens, &same_key) && jscan_next(&tokens) != JT_BAD;
        assert_int_equal(more, also);
        assert_int_equal(jscan_bad(&pairs), jscan_bad(&tokens));
        if (!more)
            break;
        assert_true(key.n == same_key.n && memcmp(key.p, same_key.p, key.n) == 0);
        assert_true(same_scanner(&pairs, &tokens));
        if (pairs.last == JT_OBJECT && i % 2 == into)
            pair_as_tokens(pairs, into);
        const char *from = pairs.value;
        struct slice whole = jscan_whole(&pairs);
        jscan_finish(&tokens);
        assert_true(whole.p == from && whole.p + whole.n == pairs.p);
        assert_true(pairs.p == tokens.p && pairs.state == tokens.state);
    }
    assert_true(jscan_bad(&pairs) || pairs.p == tokens.p);
}

static void pairs_are_a_member_and_a_token(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"id\":\"chatcmpl\",\"n\":-12.5e3,\"c\":[{\"index\":0,\"d\":{\"x\":\" "
        "a\\n\"}}],\"z\":null}",
        " { \"a\" : true , \"b\\u0041\" :{ } ,\"\":[ ],\"o\":{\"p\":{\"q\":false}}} ",
    };
    static const char others[] = "\"\\{}[]:, 0x\x1f";
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t whole = strlen(texts[i]);
        for (size_t n = 1; n <= whole; n++) {
            for (size_t k = 0; k < sizeof others; k++) {
                char *text = mem_dup(texts[i], n);
                if (k < sizeof others - 1) /* else only cut */
                    text[n - 1] = others[k];
                struct jscan s = jscan_over((struct slice){text, n});
                if (jscan_next(&s) == JT_OBJECT) {
                    pair_as_tokens(s, 0);
                    pair_as_tokens(s, 1);
                }
                free(text);
                text = mem_dup(texts[i], whole); /* and the same byte with the rest behind it */
                if (k < sizeof others - 1)
                    text[n - 1] = others[k];
                s = jscan_over((struct slice){text, whole});
                if (jscan_next(&s) == JT_OBJECT) {
                    pair_as_tokens(s, 0);
                    pair_as_tokens(s, 1);
                }
                free(text);
            }
        }
    }
}

/* One key has many spellings; the first member with the name is told by its number. */
static void keys_come_without_escapes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name;
        bool found;
    } cases[] = {
        {"{\"content\":7}", "content", true},
        {"{\"\\u0063ontent\":7}", "content", true},
        {"{\"con\\u0074ent\":7}", "content", true},
        {"{\"c\\u006F\\u006e\\u0074\\u0065\\u006e\\u0074\":7}", "content", true},
        {"{\"x\":{\"\\u0063ontent\":1},\"\\u0063ontent\":7}", "content", true},
        {"{\"a\\/b\":7}", "a/b", true},
        {"{\"\\u00e9\\ud83d\\ude00\":7}", "\xC3\xA9\xF0\x9F\x98\x80", true},
        {"{\"a\\tb\":7}", "a\tb", true},
        {"{\"\\u0043ontent\":7}", "content", false},   /* C */
        {"{\"\\\\u0063ontent\":7}", "content", false}, /* a backslash that is one */
        {"{\"\\u0063onten\":7}", "content", false},
        {"{\"\\u0063ontent \":7}", "content", false},
        {"{\"\\u0000content\":7}", "content", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct jscan members = jscan_over(slice_of(cases[i].text)), pairs = members;
        struct slice key;
        int64_t by_member = 0, by_pair = 0;
        assert_int_equal(jscan_next(&members), JT_OBJECT);
        while (jscan_member(&members, &key)) {
            bool found = slice_is(key, cases[i].name);
            jscan_next(&members);
            if (found)
                assert_true(jscan_int(&members, &by_member));
            jscan_finish(&members);
        }
        assert_int_equal(jscan_next(&pairs), JT_OBJECT);
        while (jscan_pair(&pairs, &key)) {
            if (slice_is(key, cases[i].name))
                assert_true(jscan_int(&pairs, &by_pair));
            jscan_finish(&pairs);
        }
        assert_false(jscan_bad(&members) || jscan_bad(&pairs));
        assert_int_equal(by_member, cases[i].found ? 7 : 0);
        assert_int_equal(by_pair, by_member);
    }
}

/* Longer than there is room for: it keeps its escapes, and nothing is written behind the room. */
static void long_keys_keep_their_escapes(void **state)
{
    (void)state;
    for (size_t n = JSCAN_KEY_BYTES - 2; n <= JSCAN_KEY_BYTES + 1; n++) {
        struct buf text;
        struct slice key;
        buf_init(&text, 1024);
        buf_puts(&text, "{\"\\u0061");
        for (size_t i = 1; i < n; i++)
            buf_puts(&text, "a");
        buf_puts(&text, "\":1}");
        struct jscan s = jscan_over((struct slice){(const char *)text.p, text.n});
        assert_int_equal(jscan_next(&s), JT_OBJECT);
        assert_true(jscan_member(&s, &key));
        assert_int_equal(key.n, n <= JSCAN_KEY_BYTES ? n : n + 5);
        assert_int_equal(key.p[0], n <= JSCAN_KEY_BYTES ? 'a' : '\\');
        assert_int_equal(s.text.n, n + 5); /* as it stands */
        buf_done(&text);
    }
}

static void strings_are_compared_without_escapes(void **state)
{
    (void)state;
    assert_true(jscan_raw_is(slice_of("stop"), "stop"));
    assert_true(jscan_raw_is(slice_of("s\\u0074op"), "stop"));
    assert_true(jscan_raw_is(slice_of("a\\/b"), "a/b"));
    assert_true(jscan_raw_is(slice_of(""), ""));
    assert_false(jscan_raw_is(slice_of("s\\u0074ops"), "stop"));
    assert_false(jscan_raw_is(slice_of("stops"), "stop"));
    assert_false(jscan_raw_is(slice_of("sto"), "stop"));
    assert_false(jscan_raw_is(slice_of("s\\\\u0074op"), "stop"));
}

static void whole_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool fits;
        int64_t value;
    } cases[] = {{"0", true, 0},
                 {"-0", true, 0},
                 {"9223372036854775807", true, INT64_MAX},
                 {"9223372036854775808", false, 0},
                 {"-9223372036854775808", true, INT64_MIN},
                 {"-9223372036854775809", false, 0},
                 {"92233720368547758070", false, 0},
                 {"18446744073709551616", false, 0},
                 {"123456789012345678901234567890", false, 0},
                 {"1.0", false, 0},
                 {"1e2", false, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct jscan s = jscan_over(slice_of(cases[i].text));
        int64_t v = 7;
        assert_int_equal(jscan_next(&s), JT_NUMBER);
        assert_int_equal(jscan_int(&s, &v), cases[i].fits);
        assert_true(v == (cases[i].fits ? cases[i].value : 7));
    }
}

/* What nobody reads may be as deep as it likes: one odd member does not make an event unreadable.
 */
static void deep_nesting_is_passed_over(void **state)
{
    (void)state;
    enum { DEEP = 4000 };
    static const struct {
        const char *open, *inside, *close;
        bool good;
    } cases[] = {
        {"[", "", "]", true},
        {"{\"a\":", "1", "}", true},
        {"[\"]\",", "\"\\\"[\"", "]", true},
        {"[\"", "\"", "]", false}, /* a string that does not end */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf text;
        struct slice key;
        buf_init(&text, 1 << 20);
        buf_puts(&text, "{\"deep\":");
        for (int k = 0; k < DEEP; k++)
            buf_puts(&text, cases[i].open);
        buf_puts(&text, cases[i].inside);
        for (int k = 0; k < DEEP; k++)
            buf_puts(&text, cases[i].close);
        size_t whole = text.n;
        buf_puts(&text, ",\"n\":7}");
        struct jscan s = jscan_over((struct slice){(const char *)text.p, text.n});
        assert_int_equal(jscan_next(&s), JT_OBJECT);
        assert_true(jscan_member(&s, &key));
        jscan_skip(&s);
        assert_int_equal(!jscan_bad(&s), cases[i].good);
        assert_int_equal(jscan_member(&s, &key), cases[i].good);
        assert_int_equal(jscan_next(&s) == JT_NUMBER, cases[i].good);
        /* cut anywhere, it is no JSON */
        s = jscan_over((struct slice){(const char *)text.p, whole - 1});
        assert_int_equal(jscan_next(&s), JT_OBJECT);
        assert_true(jscan_member(&s, &key));
        jscan_skip(&s);
        jscan_next(&s);
        assert_true(jscan_bad(&s));
        buf_done(&text);
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
        cmocka_unit_test(strings_end_where_they_end),
        cmocka_unit_test(pairs_are_a_member_and_a_token),
        cmocka_unit_test(keys_come_without_escapes),
        cmocka_unit_test(long_keys_keep_their_escapes),
        cmocka_unit_test(strings_are_compared_without_escapes),
        cmocka_unit_test(whole_numbers),
        cmocka_unit_test(deep_nesting_is_passed_over),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(agrees_with_json_test_suite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
