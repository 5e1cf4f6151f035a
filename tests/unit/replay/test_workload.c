/* Specs expanded: the order, who waits for whom, the bodies, and the same bytes on every machine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/workload.h"
#include "traces/limits.h"

static const struct workload_options plain = {
    .scale = 1, .max_tokens = -1, .repeats = -1, .model = "m", .path = "/v1/chat/completions"};

static struct plan expand(const char *text, const struct workload_options *o)
{
    struct plan p = {0};
    struct err e;
    struct json *spec = json_parse(text, strlen(text), &e);
    if (spec == NULL || workload_expand(&p, spec, o, "spec", &e) != TA_OK)
        fail_msg("%s", e.msg);
    json_free(spec);
    return p;
}

static struct plan expand_shipped(const char *name, const struct workload_options *o)
{
    struct plan p = {0};
    struct err e;
    char *path = mem_printf("%s/../replay/workloads/%s.json", TESTS_DIR, name);
    struct json *spec = json_read_file(path, LIMIT_SPEC_BYTES, &e);
    if (spec == NULL || workload_expand(&p, spec, o, path, &e) != TA_OK)
        fail_msg("%s", e.msg);
    json_free(spec);
    free(path);
    return p;
}

/* The text of the one message in a body; freed with *doc. */
static const char *content(const struct plan_request *r, struct json **doc)
{
    *doc = json_parse(r->body.p, r->body.n, NULL);
    assert_non_null(*doc);
    const char *text = json_string(json_first(json_get(*doc, "messages")), "content");
    assert_non_null(text);
    return text;
}

static size_t count_words(const char *text)
{
    size_t n = 0;
    for (const char *p = text; *p != '\0';) {
        p += strspn(p, " \n");
        n += *p != '\0';
        p += strcspn(p, " \n");
    }
    return n;
}

static const char *field(const struct plan_request *r, const char *name)
{
    for (size_t i = 0; i < r->n_fields; i++) {
        if (strcmp(r->fields[i].name, name) == 0)
            return r->fields[i].value;
    }
    return NULL;
}

static void run_single_as_published(void **state)
{
    (void)state;
    static const int tokens[] = {100, 1000, 2000, 4000, 8000, 16000, 32000, 53000};
    struct plan p = expand_shipped("run_single", &plain);
    assert_int_equal(p.requests.n, 40);
    for (size_t i = 0; i < 40; i++) {
        const struct plan_request *r = &p.requests.v[i];
        char name[8] = {'p', (char)('1' + i % 8), 0};
        assert_string_equal(r->name, name);
        assert_int_equal(r->repeat, i / 8);
        assert_int_equal(r->group, -1);
        assert_int_equal(r->after, (int64_t)i - 1);
        assert_int_equal(r->t_ns, i == 0 ? 0 : -1);
        struct json *doc;
        const char *text = content(r, &doc);
        size_t words = count_words(text);
        /* the closing instruction is 10 words of 11 tokens */
        assert_int_equal(words + 1, tokens[i % 8]);
        bool stream = false, usage = false;
        int64_t max = 0, temperature = 1;
        assert_true(json_bool(doc, "stream", &stream) && stream);
        assert_true(json_bool(json_get(doc, "stream_options"), "include_usage", &usage) && usage);
        assert_true(json_int(doc, "max_tokens", &max) && max == 256);
        assert_true(json_int(doc, "temperature", &temperature) && temperature == 0);
        assert_string_equal(json_string(doc, "model"), "m");
        json_free(doc);
    }
    assert_string_equal(field(&p.requests.v[10], "X-Request-ID"), "run_single-r1-p3");
    plan_free(&p);
}

static void run_double_in_pairs(void **state)
{
    (void)state;
    struct workload_options o = plain;
    o.scale = 0.01;
    o.repeats = 2;
    o.max_tokens = 7;
    struct plan p = expand_shipped("run_double", &o);
    assert_int_equal(p.requests.n, 2 * 2 * 8);
    for (size_t i = 0; i < p.requests.n; i++) {
        const struct plan_request *r = &p.requests.v[i];
        assert_int_equal(r->member, i % 2);
        assert_int_equal(r->group, i / 2);
        assert_int_equal(r->after, i < 2 ? -1 : (int64_t)(i / 2 * 2 - 2));
        assert_non_null(strstr(r->body.p, "\"max_tokens\":7,"));
    }
    assert_string_equal(field(&p.requests.v[17], "X-Request-ID"), "run_double-r1-p1-1");
    struct json *doc;
    assert_int_equal(count_words(content(&p.requests.v[6], &doc)) + 1, 40);
    json_free(doc);
    plan_free(&p);
}

/* First words as an implementation of the same generators in another language gives them. */
static void same_words_everywhere(void **state)
{
    (void)state;
    struct plan p = expand_shipped("run_single", &plain);
    struct json *doc;
    const char *text = content(&p.requests.v[0], &doc);
    static const char start[] =
        "under big she along this own had there\nalso change be sound now do ";
    assert_memory_equal(text, start, sizeof start - 1);
    json_free(doc);
    plan_free(&p);
}

static void first_lines_differ(void **state)
{
    (void)state;
    struct workload_options o = plain;
    o.scale = 0.02;
    struct plan p = expand_shipped("run_double", &o);
    for (size_t i = 0; i < p.requests.n; i++) {
        struct json *a, *b;
        const char *one = content(&p.requests.v[i], &a);
        size_t line = strcspn(one, "\n");
        for (size_t k = 0; k < i; k++) {
            const char *other = content(&p.requests.v[k], &b);
            assert_false(strncmp(one, other, line + 1) == 0);
            if (strcmp(p.requests.v[i].name, p.requests.v[k].name) == 0)
                assert_string_equal(one + line, other + strcspn(other, "\n"));
            json_free(b);
        }
        json_free(a);
    }
    plan_free(&p);
}

static void pure_function(void **state)
{
    (void)state;
    static const char spec[] = "{\"workload\":\"w\",\"seed\":%d,\"salt\":\"%s\",\"repeats\":2,"
                               "\"prompts\":[{\"name\":\"a\",\"prompt_tokens\":50}]}";
    char *texts[] = {mem_printf(spec, 1, "request"), mem_printf(spec, 1, "request"),
                     mem_printf(spec, 2, "request"), mem_printf(spec, 1, "none")};
    struct plan p[4];
    for (size_t i = 0; i < 4; i++)
        p[i] = expand(texts[i], &plain);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(p[0].requests.v[i].body_sha256, p[1].requests.v[i].body_sha256);
        assert_string_not_equal(p[0].requests.v[i].body_sha256, p[2].requests.v[i].body_sha256);
    }
    assert_string_not_equal(p[0].requests.v[0].body_sha256, p[0].requests.v[1].body_sha256);
    assert_string_equal(p[3].requests.v[0].body_sha256, p[3].requests.v[1].body_sha256);
    for (size_t i = 0; i < 4; i++) {
        plan_free(&p[i]);
        free(texts[i]);
    }
}

static const char small[] =
    "{\"workload\":\"w\",\"prompts\":[{\"name\":\"a\",\"prompt_tokens\":5},"
    "{\"name\":\"b\",\"prompt_tokens\":6},{\"name\":\"c\",\"prompt_tokens\":7}],";

static struct plan expand_small(const char *rest)
{
    char *text = mem_printf("%s%s}", small, rest);
    struct plan p = expand(text, &plain);
    free(text);
    return p;
}

static void assert_names(const struct plan *p, const char *names)
{
    assert_int_equal(p->requests.n, strlen(names));
    for (size_t i = 0; i < p->requests.n; i++)
        assert_int_equal(p->requests.v[i].name[0], names[i]);
}

static void orders(void **state)
{
    (void)state;
    struct plan p = expand_small("\"repeats\":2,\"warmup\":1");
    assert_names(&p, "abcabcabc");
    for (size_t i = 0; i < 9; i++) {
        assert_int_equal(p.requests.v[i].warmup, i < 3);
        assert_int_equal(p.requests.v[i].repeat, i < 3 ? 0 : i / 3 - 1);
    }
    assert_string_equal(field(&p.requests.v[0], "X-Request-ID"), "w-w0-a");
    plan_free(&p);
    p = expand_small("\"repeats\":2,\"order\":\"by-prompt\"");
    assert_names(&p, "aabbcc");
    plan_free(&p);
    p = expand_small("\"repeats\":40,\"order\":\"shuffled\"");
    unsigned first[3] = {0};
    for (size_t i = 0; i < 40; i++) {
        const struct plan_request *r = &p.requests.v[3 * i];
        assert_int_equal(r[0].name[0] + r[1].name[0] + r[2].name[0], 'a' + 'b' + 'c');
        first[r[0].name[0] - 'a']++;
    }
    assert_true(first[0] > 0 && first[1] > 0 && first[2] > 0);
    plan_free(&p);
}

static void concurrency_without_barrier(void **state)
{
    (void)state;
    struct plan p = expand_small("\"concurrency\":2,\"pause_ms\":30");
    assert_names(&p, "aabbcc");
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(p.requests.v[i].group, -1);
        assert_int_equal(p.requests.v[i].after, (int64_t)i - 2 < 0 ? -1 : (int64_t)i - 2);
        assert_int_equal(p.requests.v[i].pause_ns, i < 2 ? 0 : 30000000);
    }
    plan_free(&p);
}

static void rates(void **state)
{
    (void)state;
    struct plan p = expand_small("\"rate\":1000,\"repeats\":2");
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(p.requests.v[i].t_ns, i * 1000000);
        assert_int_equal(p.requests.v[i].after, -1);
    }
    plan_free(&p);
    p = expand_small("\"rate\":10,\"concurrency\":2,\"barrier\":true");
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(p.requests.v[i].t_ns, i / 2 * 100000000);
    plan_free(&p);
    p = expand_small("\"rate\":1000,\"repeats\":2000,\"arrivals\":\"poisson\"");
    double mean = (double)p.requests.v[5999].t_ns / 5999, square = 0;
    for (size_t i = 1; i < 6000; i++) {
        double gap = (double)(p.requests.v[i].t_ns - p.requests.v[i - 1].t_ns);
        assert_true(gap >= 0);
        square += (gap - mean) * (gap - mean);
    }
    assert_true(fabs(mean / 1e6 - 1) < 0.05);
    assert_true(fabs(sqrt(square / 5999) / mean - 1) < 0.05); /* exponential: as wide as its mean */
    plan_free(&p);
}

static void bodies_by_path_and_extra(void **state)
{
    (void)state;
    struct workload_options o = plain;
    o.path = "/v1/completions";
    static const char spec[] =
        "{\"workload\":\"w\",\"salt\":\"none\",\"stream\":false,\"extra\":{\"ignore_eos\":true,"
        "\"stop\":[\"x\"]},\"prompts\":[{\"name\":\"a\",\"text\":\"Say \\\"hi\\\"\"}]}";
    struct plan p = expand(spec, &o);
    assert_true(slice_is(
        p.requests.v[0].body,
        "{\"model\":\"m\",\"prompt\":\"Say \\\"hi\\\"\",\"max_tokens\":256,\"temperature\":0,"
        "\"stream\":false,\"ignore_eos\":true,\"stop\":[\"x\"]}"));
    assert_string_equal(p.requests.v[0].path, "/v1/completions");
    plan_free(&p);
}

struct bad_case {
    const char *text, *says;
};

static const struct bad_case bad_cases[] = {
    {"[]", "object"},
    {"{\"workload\":\"w\"}", "'prompts'"},
    {"{\"workload\":\"w\",\"prompts\":[]}", "'prompts'"},
    {"{\"workload\":\"a b\",\"prompts\":[]}", "'workload'"},
    {"{\"prompts\":[{\"name\":\"a\",\"prompt_tokens\":1}]}", "'workload'"},
    {"{\"workload\":\"w\",\"prompts\":[{\"prompt_tokens\":1}]}", "'name'"},
    {"{\"workload\":\"w\",\"prompts\":[{\"name\":\"a\"}]}", "prompt a"},
    {"{\"workload\":\"w\",\"prompts\":[{\"name\":\"a\",\"prompt_tokens\":0}]}", "'prompt_tokens'"},
    {"{\"workload\":\"w\",\"prompts\":[{\"name\":\"a\",\"prompt_tokens\":1,\"text\":\"\"}]}",
     "prompt a"},
    {"{\"workload\":\"w\",\"prompts\":[{\"name\":\"a\",\"prompt_tokens\":1,\"tokens\":2}]}",
     "'tokens'"},
    {"{\"workload\":\"w\",\"prompts\":[{\"name\":\"a\",\"prompt_tokens\":1},{\"name\":\"a\","
     "\"prompt_tokens\":1}]}",
     "two prompts"},
    {"{\"workload\":\"w\",\"concurency\":2,\"prompts\":[{\"name\":\"a\",\"prompt_tokens\":1}]}",
     "'concurency'"},
    {"{\"workload\":\"w\",\"concurrency\":0,\"prompts\":[{\"name\":\"a\",\"prompt_tokens\":1}]}",
     "'concurrency'"},
    {"{\"workload\":\"w\",\"repeats\":\"5\",\"prompts\":[{\"name\":\"a\",\"prompt_tokens\":1}]}",
     "'repeats'"},
    {"{\"workload\":\"w\",\"barrier\":1,\"prompts\":[{\"name\":\"a\",\"prompt_tokens\":1}]}",
     "'barrier'"},
    {"{\"workload\":\"w\",\"order\":\"random\",\"prompts\":[{\"name\":\"a\",\"prompt_tokens\":1}]}",
     "\"shuffled\""},
    {"{\"workload\":\"w\",\"salt\":true,\"prompts\":[{\"name\":\"a\",\"prompt_tokens\":1}]}",
     "'salt'"},
    {"{\"workload\":\"w\",\"rate\":1,\"pause_ms\":1,\"prompts\":[{\"name\":\"a\",\"prompt_tokens\":"
     "1}]}",
     "'pause_ms'"},
    {"{\"workload\":\"w\",\"extra\":{\"model\":\"x\"},\"prompts\":[{\"name\":\"a\",\"prompt_"
     "tokens\":1}]}",
     "'model'"},
    {"{\"workload\":\"w\",\"repeats\":100000,\"concurrency\":4096,\"prompts\":[{\"name\":\"a\","
     "\"prompt_tokens\":1}]}",
     "the most"},
    {"{\"workload\":\"w\",\"repeats\":100000,\"prompts\":[{\"name\":\"a\",\"prompt_tokens\":100000}"
     "]}",
     "the most"},
};

/* A kilobyte of text, often enough, would be terabytes: said before any of it is made. */
static void long_text_is_bounded(void **state)
{
    (void)state;
    enum { TEXT = 100000 };
    char *text = mem_alloc(TEXT + 1);
    memset(text, 'a', TEXT);
    text[TEXT] = '\0';
    char *spec = mem_printf("{\"workload\":\"w\",\"repeats\":2000,\"concurrency\":100,"
                            "\"prompts\":[{\"name\":\"p\",\"text\":\"%s\"}]}",
                            text);
    struct err e;
    struct plan p = {0};
    struct json *v = json_parse(spec, strlen(spec), &e);
    assert_int_equal(workload_expand(&p, v, &plain, "spec", &e), TA_ELIMIT);
    assert_non_null(strstr(e.msg, "2e+10 bytes in all, 1.72e+10 is the most"));
    assert_int_equal(p.requests.n, 0);
    plan_free(&p);
    json_free(v);
    free(spec);
    free(text);
}

/* Bodies beyond LIMIT_PLAN_BODY_BYTES lie in a file, and are the same there. */
static void many_bodies_are_spooled(void **state)
{
    (void)state;
    enum { TEXT = 4 << 20 };
    char *text = mem_alloc(TEXT + 1);
    memset(text, 'a', TEXT);
    text[TEXT] = '\0';
    char *spec = mem_printf("{\"workload\":\"w\",\"repeats\":17,\"salt\":\"none\",\"prompts\":"
                            "[{\"name\":\"p\",\"text\":\"%s\"}]}",
                            text);
    struct plan p = expand(spec, &plain);
    const struct plan_request *first = &p.requests.v[0], *last = &p.requests.v[16];
    assert_non_null(p.bodies);
    assert_true(p.body_bytes <= LIMIT_PLAN_BODY_BYTES);
    assert_true(spool_bytes(p.bodies) > 0);
    assert_int_equal(first->body.n, last->body.n);
    assert_memory_equal(first->body.p, last->body.p, last->body.n);
    assert_string_equal(first->body_sha256, last->body_sha256);
    plan_free(&p);
    free(spec);
    free(text);
}

static void lengths_asked_for_are_stated(void **state)
{
    (void)state;
    struct workload_options o = plain;
    o.scale = 0.5;
    struct plan p = expand("{\"workload\":\"w\",\"prompts\":[{\"name\":\"p\",\"prompt_tokens\":100,"
                           "\"max_tokens\":7},{\"name\":\"q\",\"text\":\"two words\"}]}",
                           &o);
    assert_int_equal(p.requests.v[0].expect_prompt_tokens, 50);
    assert_int_equal(p.requests.v[0].expect_completion_tokens, 7);
    assert_int_equal(p.requests.v[1].expect_prompt_tokens, 0);
    assert_int_equal(p.requests.v[1].expect_completion_tokens, 0);
    plan_free(&p);
}

static void bad_specs_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_cases / sizeof *bad_cases; i++) {
        struct plan p = {0};
        struct err e = {0};
        struct json *spec = json_parse(bad_cases[i].text, strlen(bad_cases[i].text), &e);
        int rc = workload_expand(&p, spec, &plain, "my.json", &e);
        if (rc >= 0 || strstr(e.msg, bad_cases[i].says) == NULL || strstr(e.msg, "my.json") == NULL)
            fail_msg("%s: %d, %s", bad_cases[i].text, rc, e.msg);
        json_free(spec);
        plan_free(&p);
    }
}

/* The block of JSON behind from in the document; empty at its end. */
static struct slice next_example(const char *from)
{
    static const char fence[] = "```json\n";
    const char *start = strstr(from, fence);
    if (start == NULL)
        return (struct slice){NULL, 0};
    start += sizeof fence - 1;
    const char *end = strstr(start, "```");
    assert_non_null(end);
    return (struct slice){start, (size_t)(end - start)};
}

/* What WORKLOAD.md shows works, and gives what it says. */
static void documented_examples(void **state)
{
    (void)state;
    char *path = mem_printf("%s/../replay/WORKLOAD.md", TESTS_DIR);
    char *text = mem_zalloc(1 << 20);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
    fclose(f);
    free(path);

    struct slice spec = next_example(text);
    assert_non_null(spec.p);
    char *copy = mem_strndup(spec.p, spec.n);
    struct plan p = expand(copy, &plain);
    assert_int_equal(p.requests.n, 2 * 2 * 3);
    plan_free(&p);
    free(copy);

    struct slice lines = next_example(spec.p + spec.n);
    struct err e;
    assert_true(plan_claims(lines));
    if (plan_read(&p, lines, "WORKLOAD.md", &e) != TA_OK)
        fail_msg("%s", e.msg);
    assert_int_equal(p.requests.n, 3);
    assert_int_equal(p.requests.v[1].group, 0);
    assert_int_equal(p.requests.v[2].pause_ns, 500000000);
    assert_null(next_example(lines.p + lines.n).p);
    plan_free(&p);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run_single_as_published),
        cmocka_unit_test(run_double_in_pairs),
        cmocka_unit_test(same_words_everywhere),
        cmocka_unit_test(first_lines_differ),
        cmocka_unit_test(pure_function),
        cmocka_unit_test(orders),
        cmocka_unit_test(concurrency_without_barrier),
        cmocka_unit_test(rates),
        cmocka_unit_test(bodies_by_path_and_extra),
        cmocka_unit_test(long_text_is_bounded),
        cmocka_unit_test(many_bodies_are_spooled),
        cmocka_unit_test(lengths_asked_for_are_stated),
        cmocka_unit_test(bad_specs_are_named),
        cmocka_unit_test(documented_examples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
