/* Tokenizers against what the reference library gave (tests/unit/analyze/tokenizers, made by
 * tests/oracle/tokenizer_kinds.py), ranks by hand, patterns, and files that are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/tokenizer.h"
#include "analyze/tokenizer_pattern.h"
#include "traces/base/buf.h"
#include "traces/base/mem.h"
#include "traces/base/vec.h"
#include "traces/limits.h"

/* --- golden ------------------------------------------------------------------------------- */

static FILE *open_golden(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/unit/analyze/tokenizers/%s", TESTS_DIR, name);
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        fail_msg("cannot open %s", path);
    return f;
}

static size_t unhex(char *line)
{
    size_t n = strcspn(line, "\n") / 2;
    for (size_t i = 0; i < n; i++) {
        char two[3] = {line[2 * i], line[2 * i + 1], '\0'};
        line[i] = (char)strtoul(two, NULL, 16);
    }
    return n;
}

static void ids_are(const struct token_ids *ids, char *line, const char *kind, size_t number)
{
    size_t n = 0;
    for (char *p = line; *p >= '0' && *p <= '9'; n++) {
        unsigned long id = strtoul(p, &p, 10);
        p += *p == ' ';
        if (n >= ids->n || ids->v[n] != id)
            fail_msg("%s, string %zu: id %zu is not %lu", kind, number, n, id);
    }
    if (n != ids->n)
        fail_msg("%s, string %zu: %zu ids, expected %zu", kind, number, ids->n, n);
}

static void replay(const char *kind)
{
    enum { LINE = 1 << 16 };
    char name[64], path[512], *line = mem_alloc(LINE), *expected = mem_alloc(LINE);
    struct tokenizer *t;
    struct err e;
    snprintf(path, sizeof path, "%s/unit/analyze/tokenizers/%s.json", TESTS_DIR, kind);
    if (tokenizer_open(&t, path, NULL, &e) != TA_OK)
        fail_msg("%s", e.msg);
    snprintf(name, sizeof name, "%s.ids", kind);
    FILE *strings = open_golden("strings.hex"), *answers = open_golden(name);
    size_t number = 0;
    for (; fgets(line, LINE, strings) != NULL; number++) {
        struct token_ids ids = {NULL, 0, 0};
        const char *why = "";
        assert_non_null(fgets(expected, LINE, answers));
        struct slice text = {line, unhex(line)};
        int64_t n = tokenizer_encode(t, text, &ids, &why);
        assert_int_equal(n, ids.n);
        ids_are(&ids, expected, kind, number);
        for (int twice = 0; twice < 2; twice++) /* the second time from memory */
            assert_int_equal(tokenizer_count(t, text, &why), ids.n);
        VEC_FREE(&ids);
    }
    assert_true(number > 200);
    fclose(strings);
    fclose(answers);
    tokenizer_close(t);
    free(line);
    free(expected);
}

static void ids_are_those_of_the_reference(void **state)
{
    (void)state;
    replay("byte_level");
    replay("split_level");
    replay("fallback");
    replay("metaspace");
    replay("words");
}

/* --- by hand ------------------------------------------------------------------------------ */

static struct tokenizer *made(const char *file, const char *name, const char *pattern)
{
    struct tokenizer *t;
    struct err e;
    if (tokenizer_read(&t, slice_of(file), name, pattern, &e) != TA_OK)
        fail_msg("%s", e.msg);
    return t;
}

static int64_t count(struct tokenizer *t, const char *text)
{
    const char *why = "";
    return tokenizer_count(t, slice_of(text), &why);
}

/* a b c space ab bc abc: abc is one by its own rank, though bc comes before ab. */
static const char ranks[] = "YQ== 0\nYg== 1\nYw== 2\nIA== 3\nYmM= 4\nYWI= 5\nYWJj 6\nIGE= 7\n";

static void ranks_join_what_is_a_token_together(void **state)
{
    (void)state;
    struct tokenizer *t = made(ranks, "cl100k_base.tiktoken", NULL);
    assert_int_equal(count(t, ""), 0);
    assert_int_equal(count(t, "abc"), 1);
    assert_int_equal(count(t, "abcab"), 2);
    assert_int_equal(count(t, "aab"), 2);
    assert_int_equal(count(t, "a abc"), 3); /* "a", " a", "bc" */
    assert_int_equal(count(t, "x"), -1);    /* no token for that byte */
    tokenizer_close(t);
    t = made(ranks, "some.tiktoken", "[ab]"); /* what the pattern leaves out is not counted */
    assert_int_equal(count(t, "abcab"), 4);
    tokenizer_close(t);
}

#define VOCAB "\"vocab\":{\"<0xEF>\":0,\"<0xBF>\":1,\"<0xBD>\":2,\"a\":3,\"b\":4,\"ab\":5,\"aa\":6}"
#define FALLBACK "{\"model\":{\"type\":\"BPE\",\"byte_fallback\":true," VOCAB ",\"merges\":"

static void both_forms_of_merges_are_read(void **state)
{
    (void)state;
    static const char *const files[] = {FALLBACK "[\"a b\",\"a a\"]}}",
                                        FALLBACK "[[\"a\",\"b\"],[\"a\",\"a\"]]}}",
                                        FALLBACK "[\"#version: 0.2\",\"a b\",\"a a\"]}}"};
    for (size_t i = 0; i < 3; i++) {
        struct tokenizer *t = made(files[i], "it", NULL);
        assert_int_equal(count(t, "aab"), 2); /* a ab: the first merge comes first */
        assert_int_equal(count(t, "aaaa"), 2);
        tokenizer_close(t);
    }
}

/* One U+FFFD, three tokens here, for each maximal part of a character (Unicode 15, table 3-8). */
static void what_is_not_utf8_counts_as_replacement(void **state)
{
    (void)state;
    struct tokenizer *t = made(FALLBACK "[]}}", "it", NULL);
    static const struct {
        const char *text;
        size_t n, parts;
    } cases[] = {
        {"\xff", 1, 1},
        {"\xf0\x9f\x98", 3, 1},     /* the start of an emoji */
        {"\xf0\x9f\x98z", 4, 1},    /* z is no token, there is no unknown one: nothing */
        {"\xed\xa0\x80", 3, 3},     /* a surrogate */
        {"\xc0\xaf", 2, 2},         /* too long a form */
        {"\xe2\x82\xe2\x82", 4, 2}, /* two starts */
        {"\xf4\x90\x80\x80", 4, 4}, /* beyond U+10FFFF */
        {"\x80\xbf", 2, 2},         /* no start */
        {"\xef\xbf\xbd", 3, 1},     /* itself */
        {"\xf0\x80\x80\x41\xe1\x80", 6, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *why = "";
        struct slice text = {cases[i].text, cases[i].n};
        assert_int_equal(tokenizer_count(t, text, &why), 3 * cases[i].parts);
    }
    tokenizer_close(t);
}

/* A long word: a hundred thousand of one letter, pairs of pairs. */
static void a_long_word_is_counted(void **state)
{
    (void)state;
    struct tokenizer *t = made(FALLBACK "[\"a a\",\"a b\"]}}", "it", NULL);
    char *text = mem_alloc(LIMIT_RECOUNT_BYTES + 1);
    const char *why = "";
    memset(text, 'a', LIMIT_RECOUNT_BYTES + 1);
    assert_int_equal(tokenizer_count(t, (struct slice){text, 100000}, &why), 50000);
    assert_int_equal(tokenizer_count(t, (struct slice){text, 100001}, &why), 50001);
    text[100001] = 'b';
    assert_int_equal(tokenizer_count(t, (struct slice){text, 100002}, &why), 50001);
    assert_int_equal(tokenizer_count(t, (struct slice){text, LIMIT_RECOUNT_BYTES + 1}, &why), -1);
    assert_non_null(strstr(why, "too long"));
    free(text);
    tokenizer_close(t);
}

/* --- files -------------------------------------------------------------------------------- */

#define MODEL "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]}"

/* Refused with its name is TA_STOP; what is no tokenizer is TA_EFORMAT. */
static void other_files_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        int rc;
        const char *says;
    } cases[] = {
        {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[]}}", TA_STOP, "model Unigram"},
        {"{\"model\":{\"type\":\"WordPiece\"}}", TA_STOP, "model WordPiece"},
        {"{\"model\":{\"type\":\"BPE\",\"dropout\":0.1,\"vocab\":{},\"merges\":[]}}", TA_STOP,
         "dropout"},
        {"{" MODEL ",\"normalizer\":{\"type\":\"Precompiled\"}}", TA_STOP,
         "normalizer Precompiled"},
        {"{" MODEL ",\"normalizer\":{}}", TA_STOP, "normalizer without a type"},
        {"{" MODEL ",\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}}", TA_STOP,
         "BertPreTokenizer"},
        {"{" MODEL
         ",\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"New\"}]}}",
         TA_STOP, "pre-tokenizer New"},
        {"{" MODEL
         ",\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Isolated\",\"invert\":false,"
         "\"pattern\":{\"Regex\":\"\\\\h+\"}}}",
         TA_STOP, "'\\h' at byte 0"},
        {"{" MODEL ",\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Odd\",\"invert\":false,"
         "\"pattern\":{\"String\":\"a\"}}}",
         TA_STOP, "behaviour"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a b\"]}}", TA_EFORMAT,
         "merge 1"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a\"]}}", TA_EFORMAT,
         "merge"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":-1},\"merges\":[]}}", TA_EFORMAT, "id"},
        {"{\"version\":\"1.0\"}", TA_EFORMAT, "no model"},
        {"{\"model\":", TA_EFORMAT, "not valid JSON"},
        {"{} {}", TA_EFORMAT, "not valid JSON"},
        {"[1,2]", TA_EFORMAT, "line 1"},
        {"", TA_EFORMAT, "empty"},
        {"YQ== 0\nYQ= x\n", TA_EFORMAT, "line 2"},
        {"YQ== 0\n", TA_STOP, "--tokenizer-pattern"},
        {"{\"a\":\"\xff\"}", TA_EFORMAT, "UTF-8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tokenizer *t;
        struct err e = {0, ""};
        int rc = tokenizer_read(&t, slice_of(cases[i].file), "it", NULL, &e);
        if (rc != cases[i].rc || strstr(e.msg, cases[i].says) == NULL || t != NULL)
            fail_msg("case %zu: %d, \"%s\"", i, rc, e.msg);
    }
}

static void a_file_that_is_not_there_is_named(void **state)
{
    (void)state;
    struct tokenizer *t;
    struct err e;
    assert_int_equal(tokenizer_open(&t, "/nowhere/tokenizer.json", NULL, &e), TA_EFORMAT);
    assert_non_null(strstr(e.msg, "/nowhere/tokenizer.json: No such file"));
}

/* --- patterns ----------------------------------------------------------------------------- */

static void patterns_are_said_in_pcre2s_words(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum pattern_syntax syntax;
        const char *expected; /* NULL: refused */
    } cases[] = {
        {"a+|b", PATTERN_RUBY, "a+|b"},
        {"\\p{N}{1,3}+", PATTERN_RUBY, "(?:\\p{N}{1,3})+"},
        {"\\p{N}{1,3}+", PATTERN_RUST, "\\p{N}{1,3}+"},
        {"(a|b){2}+c", PATTERN_RUBY, "(?:(a|b){2})+c"},
        {"\\p{Han}\\p{^L}\\P{Lu}", PATTERN_RUBY, "\\p{sc:Han}\\P{L}\\P{Lu}"},
        {"\\u00e9\\x{1F600}\\x41", PATTERN_RUBY, "\\x{00e9}\\x{1F600}\\x{41}"},
        {"(?i:'s)(?=a)(?<!b)", PATTERN_RUBY, "(?i:'s)(?=a)(?<!b)"},
        {"[^\\r\\n\\p{L}]", PATTERN_RUBY, "[^\\r\\n\\p{L}]"},
        {"\\v", PATTERN_RUBY, "\\x0b"},
        {"\\h", PATTERN_RUBY, NULL}, /* a hexadecimal digit there, a blank here */
        {"\\b", PATTERN_RUBY, NULL},
        {"\\x80", PATTERN_RUBY, NULL}, /* a byte there */
        {"[a&&b]", PATTERN_RUBY, NULL},
        {"[a[b]]", PATTERN_RUST, NULL},
        {"[[:alpha:]]", PATTERN_RUBY, NULL},
        {"(*UTF)a", PATTERN_RUBY, NULL},
        {"a(?i)b", PATTERN_RUBY, NULL}, /* up to the end of the group there, of the branch here */
        {"(?m:a.)", PATTERN_RUBY, NULL},
        {"(a)\\1", PATTERN_RUBY, NULL},
        {"a{2}?", PATTERN_RUBY, NULL},
        {"[a", PATTERN_RUBY, NULL},
        {"a\\", PATTERN_RUBY, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out;
        struct err e;
        buf_init(&out, 1 << 16);
        int rc = pattern_translate(slice_of(cases[i].text), cases[i].syntax, false, &out, &e);
        if ((rc == TA_OK) != (cases[i].expected != NULL))
            fail_msg("%s: %d", cases[i].text, rc);
        if (rc == TA_OK)
            assert_string_equal(buf_text(&out), cases[i].expected);
        buf_done(&out);
    }
}

/* U+180E is no white space since Unicode 6.3; PCRE2 thinks it is. */
static void white_space_is_that_of_unicode(void **state)
{
    (void)state;
    static const char *const patterns[] = {"\\s", "[\\s]", "[^\\S]"};
    for (size_t i = 0; i < 3; i++) {
        struct pattern *p;
        struct err e;
        size_t start, end;
        assert_int_equal(pattern_new(&p, slice_of(patterns[i]), PATTERN_RUBY, &e), TA_OK);
        struct pattern_walk w = {.text = slice_of("\xe1\xa0\x8e\xc2\x85")};
        assert_int_equal(pattern_next(p, &w, &start, &end), 1);
        assert_int_equal(start, 3); /* U+0085 */
        assert_int_equal(pattern_next(p, &w, &start, &end), 0);
        pattern_free(p);
    }
}

/* A pattern that tries every way to split a word gives up, and so does the count. */
static void a_pattern_without_end_is_given_up(void **state)
{
    (void)state;
    struct tokenizer *t = made(ranks, "it.tiktoken", "(?:a|aa|aaa)+(?=x)(?<=ax)");
    const char *why = "";
    char text[4096];
    memset(text, 'a', sizeof text);
    text[sizeof text - 2] = 'x';
    text[sizeof text - 1] = '\0';
    assert_int_equal(tokenizer_count(t, slice_of(text), &why), -1);
    assert_non_null(strstr(why, "steps"));
    tokenizer_close(t);
}

/* Characters that PCRE2 10.42 has not, and the reference has (Unicode 15 and 16). */
static void young_characters_are_known(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text;
        size_t start, end;
    } cases[] = {
        {"[\\p{S}]+", "a\xf0\x9f\xa9\xb7z", 1, 5},                    /* U+1FA77, a pink heart */
        {"\\p{L}+", " \xf0\xb1\x8d\x90\xe4\xb8\xad ", 1, 8},          /* U+31350, a letter */
        {"[^\\p{L}\\s]+", " \xf0\xb1\x8d\x90\xf0\x9f\xa9\xb7", 5, 9}, /* what is none */
        {"\\P{So}+", "\xf0\x9f\xa9\xb7\xf0\xb1\x8d\x90", 4, 8},
        {"\\p{^So}+", "\xf0\x9f\xa9\xb7\xf0\xb1\x8d\x90", 4, 8},
        {"\\w+", "\xf0\x9f\xa9\xb7\xf0\xb1\x8d\x90", 4, 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pattern *p;
        struct err e;
        size_t start, end;
        assert_int_equal(pattern_new(&p, slice_of(cases[i].pattern), PATTERN_RUBY, &e), TA_OK);
        struct pattern_walk w = {.text = slice_of(cases[i].text)};
        assert_int_equal(pattern_next(p, &w, &start, &end), 1);
        assert_int_equal(start, cases[i].start);
        assert_int_equal(end, cases[i].end);
        pattern_free(p);
    }
}

/* --- marks -------------------------------------------------------------------------------- */

static void marks_without_end_are_given_up(void **state)
{
    (void)state;
    struct tokenizer *t = made("{" MODEL ",\"normalizer\":{\"type\":\"NFC\"}}", "it", NULL);
    struct buf text;
    const char *why = "";
    buf_init(&text, 1 << 20);
    for (int i = 0; i < 40000; i++)
        buf_puts(&text, i % 2 == 0 ? "\xcc\x81" : "\xcc\xa7");
    assert_int_equal(tokenizer_count(t, (struct slice){(char *)text.p, text.n}, &why), -1);
    assert_non_null(strstr(why, "combining marks"));
    assert_int_equal(tokenizer_count(t, (struct slice){(char *)text.p, 1000}, &why), 0);
    buf_done(&text);
    tokenizer_close(t);
}

/* --- around a text ------------------------------------------------------------------------ */

static int64_t around(const char *post)
{
    char file[1024];
    struct tokenizer *t;
    struct err e;
    snprintf(file, sizeof file,
             "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]}%s%s}",
             *post != '\0' ? ",\"post_processor\":" : "", post);
    if (tokenizer_read(&t, slice_of(file), "it", NULL, &e) != TA_OK)
        fail_msg("%s", e.msg);
    int64_t n = tokenizer_around(t);
    tokenizer_close(t);
    return n;
}

static void tokens_around_a_text(void **state)
{
    (void)state;
    static const char bos[] =
        "{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<s>\","
        "\"type_id\":0}},{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],\"pair\":[{\"SpecialToken\":{"
        "\"id\":\"<s>\"}},{\"SpecialToken\":{\"id\":\"<s>\"}}]}";
    char several[512];
    snprintf(several, sizeof several,
             "{\"type\":\"Sequence\",\"processors\":[{\"type\":\"ByteLevel\"},%s]}", bos);
    assert_int_equal(around(""), 0);
    assert_int_equal(around("null"), 0);
    assert_int_equal(around("{\"type\":\"ByteLevel\",\"trim_offsets\":false}"), 0);
    assert_int_equal(around(bos), 1);
    assert_int_equal(around(several), 1);
    assert_int_equal(around("{\"type\":\"RobertaProcessing\",\"sep\":[\"x\",1]}"), 2);
    assert_int_equal(around("{\"type\":\"TemplateProcessing\",\"single\":7}"), 0); /* unread */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_those_of_the_reference),
        cmocka_unit_test(ranks_join_what_is_a_token_together),
        cmocka_unit_test(both_forms_of_merges_are_read),
        cmocka_unit_test(what_is_not_utf8_counts_as_replacement),
        cmocka_unit_test(a_long_word_is_counted),
        cmocka_unit_test(other_files_are_refused_by_name),
        cmocka_unit_test(a_file_that_is_not_there_is_named),
        cmocka_unit_test(patterns_are_said_in_pcre2s_words),
        cmocka_unit_test(white_space_is_that_of_unicode),
        cmocka_unit_test(a_pattern_without_end_is_given_up),
        cmocka_unit_test(young_characters_are_known),
        cmocka_unit_test(marks_without_end_are_given_up),
        cmocka_unit_test(tokens_around_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
