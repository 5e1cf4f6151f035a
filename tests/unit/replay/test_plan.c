/* The plan: written and read back the same, and every bad line named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "replay/plan.h"

static const struct plan_field fields[] = {{"Content-Type", "application/json"},
                                           {"X-Twice", "1"},
                                           {"X-Twice", "2"},
                                           {"X-Odd", "caf\xC3\xA9 \"q\" \\"},
                                           {"X-Latin", "caf\xE9\xFF"}};

static const struct plan_recorded recorded = {.conn = 7,
                                              .t_ns = 0,
                                              .end_ns = 1500,
                                              .status = 200,
                                              .prompt_tokens = 12,
                                              .completion_tokens = -1};

static struct plan_request request(struct slice body)
{
    return (struct plan_request){.workload = "w",
                                 .name = "p1",
                                 .group = -1,
                                 .t_ns = -1,
                                 .after = -1,
                                 .conn = -1,
                                 .method = "POST",
                                 .path = "/v1/chat/completions?a=b",
                                 .fields = fields,
                                 .n_fields = 5,
                                 .body = body};
}

static void add_all_kinds(struct plan *p)
{
    static const char binary[] = "\0\x01\xFF{\n";
    struct plan_request r = request(slice_of("{\"a\": \"\xE2\x82\xAC\\u0041\\n\"}\r\n\t\x01"));
    r.t_ns = INT64_C(9007199254740991);
    plan_add(p, &r);
    r = request((struct slice){binary, sizeof binary - 1});
    r.after = 0;
    r.pause_ns = 5;
    r.group = 3;
    r.repeat = 2;
    plan_add(p, &r);
    r.member = 1;
    r.body = slice_of("");
    plan_add(p, &r);
    r = request(slice_of("\xC3"));
    r.after = 2;
    r.t_ns = 7;
    r.warmup = 1;
    r.method = "GET";
    r.n_fields = 0;
    plan_add(p, &r);
    r = request(slice_of("{}"));
    r.round = 1;
    r.t_ns = 0;
    r.conn = 3;
    r.expect_prompt_tokens = 100;
    r.expect_completion_tokens = 20;
    r.recorded = &recorded;
    plan_add(p, &r);
    p->concurrency = 2;
    p->duration_ns = 5000000000;
}

static void write_all(const struct plan *p, struct buf *out)
{
    buf_init(out, 1 << 20);
    plan_write_head(p, out);
    for (size_t i = 0; i < p->requests.n; i++)
        plan_write_line(p, i, out);
}

static void assert_same(const struct plan_request *a, const struct plan_request *b)
{
    assert_string_equal(a->workload, b->workload);
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->method, b->method);
    assert_string_equal(a->path, b->path);
    assert_string_equal(a->body_sha256, b->body_sha256);
    assert_int_equal(a->body.n, b->body.n);
    assert_memory_equal(a->body.p, b->body.p, a->body.n);
    const int64_t pairs[][2] = {{a->repeat, b->repeat},
                                {a->member, b->member},
                                {a->warmup, b->warmup},
                                {a->group, b->group},
                                {a->t_ns, b->t_ns},
                                {a->after, b->after},
                                {a->pause_ns, b->pause_ns},
                                {a->round, b->round},
                                {a->conn, b->conn},
                                {a->expect_prompt_tokens, b->expect_prompt_tokens},
                                {a->expect_completion_tokens, b->expect_completion_tokens}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        assert_int_equal(pairs[i][0], pairs[i][1]);
    assert_int_equal(a->n_fields, b->n_fields);
    for (size_t i = 0; i < a->n_fields; i++) {
        assert_string_equal(a->fields[i].name, b->fields[i].name);
        assert_string_equal(a->fields[i].value, b->fields[i].value);
    }
    assert_int_equal(a->recorded == NULL, b->recorded == NULL);
    if (a->recorded != NULL)
        assert_memory_equal(a->recorded, b->recorded, sizeof *a->recorded);
}

static void round_trip(void **state)
{
    (void)state;
    struct plan p = {0}, back = {0};
    struct buf text, again;
    struct err e;
    add_all_kinds(&p);
    write_all(&p, &text);
    assert_true(plan_claims((struct slice){(char *)text.p, text.n}));
    if (plan_read(&back, (struct slice){(char *)text.p, text.n}, "plan", &e) != TA_OK)
        fail_msg("%s", e.msg);
    assert_int_equal(back.requests.n, p.requests.n);
    assert_int_equal(back.concurrency, 2);
    assert_int_equal(back.duration_ns, 5000000000);
    for (size_t i = 0; i < p.requests.n; i++)
        assert_same(&p.requests.v[i], &back.requests.v[i]);
    write_all(&back, &again);
    assert_int_equal(again.n, text.n);
    assert_memory_equal(again.p, text.p, text.n);
    buf_done(&text);
    buf_done(&again);
    plan_free(&p);
    plan_free(&back);
}

/* FIPS 180-2, appendix B; RFC 4648, section 10. */
static void known_vectors(void **state)
{
    (void)state;
    static const char text[] = "{\"path\":\"/\",\"body\":\"abc\"}\n\n"
                               "{\"path\":\"/\",\"body_b64\":\"Zm9vYg==\",\"after\":0}\r\n"
                               "{\"path\":\"/\"}";
    struct plan p = {0};
    struct err e;
    assert_int_equal(plan_read(&p, slice_of(text), "plan", &e), TA_OK);
    assert_int_equal(p.requests.n, 3);
    assert_string_equal(p.requests.v[0].body_sha256,
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_true(slice_is(p.requests.v[1].body, "foob"));
    assert_string_equal(p.requests.v[2].body_sha256,
                        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_string_equal(p.requests.v[0].method, "POST");
    assert_int_equal(p.requests.v[0].t_ns, 0); /* nothing else says when */
    assert_int_equal(p.requests.v[1].t_ns, -1);
    plan_free(&p);
}

struct bad_case {
    const char *text, *says;
};

static const struct bad_case bad_cases[] = {
    {"", "without a request"},
    {"\n \n", "without a request"},
    {"{\"path\":\"/\"}\n{\"path\":", "line 2"},
    {"[1]", "not a JSON object"},
    {"{\"path\":\"/\",\"method\":1}", "'method'"},
    {"{\"method\":\"GET\"}", "'path'"},
    {"{\"path\":\"v1\"}", "'path'"},
    {"{\"path\":\"/a b\"}", "'path'"},
    {"{\"path\":\"/\\r\\nX: y\"}", "'path'"},
    {"{\"path\":\"/\",\"method\":\"GE T\"}", "'method'"},
    {"{\"path\":\"/\",\"t_ns\":-5}", "'t_ns'"},
    {"{\"path\":\"/\",\"t_ns\":1.5}", "'t_ns'"},
    {"{\"path\":\"/\",\"t_ns\":\"5\"}", "'t_ns'"},
    {"{\"path\":\"/\",\"pause_ns\":-1}", "'pause_ns'"},
    {"{\"path\":\"/\",\"id\":1}", "'id'"},
    {"{\"path\":\"/\",\"after\":0}", "after"},
    {"{\"path\":\"/\",\"after\":7}", "after"},
    {"{\"path\":\"/\",\"group\":1}\n{\"path\":\"/\",\"group\":1,\"after\":0}", "after"},
    {"{\"path\":\"/\",\"group\":1}\n{\"path\":\"/\",\"group\":1,\"t_ns\":9}", "group"},
    {"{\"path\":\"/\",\"group\":1}\n{\"path\":\"/\"}\n{\"path\":\"/\",\"group\":1}", "group"},
    {"{\"path\":\"/\",\"headers\":{}}", "'headers'"},
    {"{\"path\":\"/\",\"headers\":[[\"a\"]]}", "header"},
    {"{\"path\":\"/\",\"headers\":[\"ab\"]}", "header"},
    {"{\"path\":\"/\",\"headers\":[[\"a\",\"b\",\"c\"]]}", "header"},
    {"{\"path\":\"/\",\"headers\":[[\"a b\",\"c\"]]}", "header"},
    {"{\"path\":\"/\",\"headers\":[[\"a\",\"b\\r\\nc: d\"]]}", "header"},
    {"{\"path\":\"/\",\"body\":{}}", "'body'"},
    {"{\"path\":\"/\",\"body\":\"\",\"body_b64\":\"\"}", "body_b64"},
    {"{\"path\":\"/\",\"body_b64\":\"abc\"}", "body_b64"},
    {"{\"path\":\"/\",\"body_b64\":\"a*bc\"}", "body_b64"},
    {"{\"path\":\"/\",\"body\":\"abd\",\"body_sha256\":"
     "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"}",
     "SHA-256"},
    {"{\"path\":\"/\",\"headers\":[[\"a\",null,\"4/\"]]}", "header"},
    {"{\"path\":\"/\",\"headers\":[[\"a\",null,\"AAAA\"]]}", "header"}, /* a NUL */
    {"{\"path\":\"/\",\"headers\":[[\"a\",null,\"Cgpu\"]]}", "header"}, /* a line end */
    {"{\"path\":\"/\",\"headers\":[[\"a\",\"b\",\"4w==\"]]}", "header"},
    {"{\"path\":\"/\",\"conn\":-2}", "'conn'"},
    {"{\"path\":\"/\",\"conn\":10000000}", "'conn'"},
    {"{\"path\":\"/\",\"expect\":7}", "'expect'"},
    {"{\"path\":\"/\",\"expect\":{\"prompt_tokens\":-1}}", "'prompt_tokens'"},
    {"{\"path\":\"/\",\"recorded\":{\"t_ns\":1}}", "'recorded'"},
    {"{\"path\":\"/\",\"recorded\":[]}", "'recorded'"},
    {"{\"path\":\"/\",\"recorded\":{\"t_ns\":1,\"conn\":0,\"status\":\"x\"}}", "'status'"},
    {"{\"path\":\"/\",\"round\":1}\n{\"path\":\"/\",\"after\":0}", "round"},
    {"{\"path\":\"/\",\"round\":1,\"t_ns\":0}\n{\"path\":\"/\",\"after\":0,\"round\":2}",
     "another round"},
    {"{\"path\":\"/\",\"group\":1}\n{\"path\":\"/\",\"group\":1,\"round\":1}", "round"},
    {"{\"plan\":2}\n{\"path\":\"/\"}", "version 1"},
    {"{\"plan\":1,\"concurrency\":-1}\n{\"path\":\"/\"}", "'concurrency'"},
    {"{\"path\":\"/\"}\n{\"plan\":1}", "first line"},
    {"{\"plan\":1,\"concurrency\":1}\n{\"path\":\"/\",\"group\":0}\n{\"path\":\"/\",\"group\":0}",
     "more members"},
    {"{\"plan\":1}", "without a request"},
};

static void bad_lines_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_cases / sizeof *bad_cases; i++) {
        struct plan p = {0};
        struct err e = {0};
        int rc = plan_read(&p, slice_of(bad_cases[i].text), "my.plan", &e);
        if (rc != TA_EFORMAT || strstr(e.msg, bad_cases[i].says) == NULL ||
            strstr(e.msg, "my.plan") == NULL)
            fail_msg("%s: %d, %s", bad_cases[i].text, rc, e.msg);
        plan_free(&p);
    }
}

/* Every cut and many changed bytes: an error or a plan, never a crash; a cut is never taken for
 * whole. */
static void damaged_plans(void **state)
{
    (void)state;
    static const uint8_t changes[] = {0, '"', '\\', '{', '}', '9', '-', 0xFF};
    struct plan p = {0};
    struct buf text;
    add_all_kinds(&p);
    write_all(&p, &text);
    size_t head = (size_t)(strchr(buf_text(&text), '\n') - buf_text(&text)) + 1;
    for (size_t n = 0; n < text.n; n++) {
        struct plan back = {0};
        struct err e;
        char *copy = malloc(n + 1);
        memcpy(copy, text.p, n);
        int rc = plan_read(&back, (struct slice){copy, n}, "cut", &e);
        bool at_line_end = n > head && (text.p[n] == '\n' || text.p[n - 1] == '\n');
        assert_int_equal(rc == TA_OK, at_line_end);
        for (size_t k = 0; k < sizeof changes && n > 0; k++) {
            struct plan changed = {0};
            char was = copy[n / 2];
            copy[n / 2] = (char)changes[k];
            int ignored = plan_read(&changed, (struct slice){copy, n}, "changed", &e);
            assert_true(ignored <= 0);
            copy[n / 2] = was;
            plan_free(&changed);
        }
        free(copy);
        plan_free(&back);
    }
    buf_done(&text);
    plan_free(&p);
}

static void what_is_no_plan(void **state)
{
    (void)state;
    static const char *const others[] = {"", "[]", "{\"prompts\":[{\"path\":1}]}", "\x1f\x8b",
                                         "{\"a\""};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(plan_claims(slice_of(others[i])));
    assert_true(plan_claims(slice_of("{\"plan\":1}\n")));
    assert_true(plan_claims(slice_of("{\"id\":0,\"path\":\"/\"}\n{\"")));
}

/* Read from a file in pieces, with what was read before, it is the same. */
static void from_a_file(void **state)
{
    (void)state;
    enum { COPIES = 200, HEAD = 100 };
    struct plan p = {0}, back = {0};
    struct buf text;
    struct err e;
    char body[1000], head[HEAD];
    FILE *f = tmpfile();
    memset(body, 'x', sizeof body);
    for (int i = 0; i < COPIES; i++) {
        struct plan_request r = request((struct slice){body, sizeof body});
        r.t_ns = i;
        plan_add(&p, &r);
    }
    write_all(&p, &text);
    assert_true(text.n > 3 << 16);
    assert_int_equal(fwrite(text.p, 1, text.n, f), text.n);
    rewind(f);
    assert_int_equal(fread(head, 1, HEAD, f), HEAD);
    if (plan_read_file(&back, (struct slice){head, HEAD}, f, "file", &e) != TA_OK)
        fail_msg("%s", e.msg);
    assert_int_equal(back.requests.n, COPIES);
    for (size_t i = 0; i < COPIES; i++)
        assert_same(&p.requests.v[i], &back.requests.v[i]);
    assert_ptr_equal(back.requests.v[2].fields, back.requests.v[0].fields); /* said once */
    fclose(f);
    buf_done(&text);
    plan_free(&p);
    plan_free(&back);
}

/* Bodies beyond what memory may hold lie in a file, and stay where they are. */
static void many_bodies(void **state)
{
    (void)state;
    enum { BODIES = 3, BODY_BYTES = 30 << 20 };
    struct plan p = {0};
    struct slice kept[BODIES];
    struct err e;
    char *body = malloc(BODY_BYTES);
    for (int i = 0; i < BODIES; i++) {
        memset(body, 'a' + i, BODY_BYTES);
        assert_int_equal(plan_keep_body(&p, (struct slice){body, BODY_BYTES}, &kept[i], &e), TA_OK);
    }
    assert_true(p.body_bytes == 2 * BODY_BYTES && p.bodies != NULL);
    for (int i = 0; i < BODIES; i++) {
        memset(body, 'a' + i, BODY_BYTES);
        assert_int_equal(kept[i].n, BODY_BYTES);
        assert_memory_equal(kept[i].p, body, BODY_BYTES);
    }
    free(body);
    plan_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),          cmocka_unit_test(known_vectors),
        cmocka_unit_test(bad_lines_are_named), cmocka_unit_test(damaged_plans),
        cmocka_unit_test(what_is_no_plan),     cmocka_unit_test(from_a_file),
        cmocka_unit_test(many_bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
