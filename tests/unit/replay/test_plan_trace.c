/* A plan from a recording made by hand: order, groups and names of its ledger, what is left out,
 * what is not sent and why. That the bytes are the same on the wire is shown by
 * tests/cli/replay_bytes.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "replay/plan_trace.h"

enum { S = 1000000000 };

static const int64_t epoch = INT64_C(1800000000) * S;

static struct http_field fields[] = {{{"HOST", 4}, {"old:1", 5}},
                                     {{"Authorization", 13}, {"*****", 5}},
                                     {{"X-A", 3}, {"\xE9", 1}},
                                     {{"X-Service-Token", 15}, {"abc", 3}},
                                     {{"Content-Length", 14}, {"2", 1}}};

static struct recording_exchange *add(struct recording *r, size_t conn, uint32_t nth, int64_t t_ms)
{
    struct recording_exchange x = {.id = r->exchanges.n + 1,
                                   .conn = conn,
                                   .nth = nth,
                                   .frame = 10 * (r->exchanges.n + 1),
                                   .method = slice_of("POST"),
                                   .target = slice_of("/v1"),
                                   .fields = fields,
                                   .n_fields = 5,
                                   .body = slice_of("{}"),
                                   .body_sha256 = "44136fa355b3678a1146ad16f7e8649e",
                                   .request_first_ns = epoch + t_ms * 1000000,
                                   .status = 200,
                                   .end_ns = epoch + (t_ms + 100) * 1000000,
                                   .prompt_tokens = 7,
                                   .completion_tokens = -1};
    while (r->conns.n <= conn) {
        struct recording_conn c = {.client = {.port = (uint16_t)(40000 + r->conns.n)}};
        VEC_PUSH(&r->conns, c);
    }
    VEC_PUSH(&r->exchanges, x);
    return &r->exchanges.v[r->exchanges.n - 1];
}

static void note(struct recording *r, const char *name, int64_t group, int64_t port, int64_t nth,
                 int64_t t_ms)
{
    VEC_PUSH(&r->ledger, ((struct ledger_entry){.workload = "load",
                                                .name = name,
                                                .repeat = 3,
                                                .warmup = 1,
                                                .group = group,
                                                .sent_ns = epoch + t_ms * 1000000 - 2000,
                                                .local_port = port,
                                                .nth = nth}));
}

/* Requests of p that were changed so. */
static size_t changed(const struct plan *p, unsigned how)
{
    size_t n = 0;
    for (size_t i = 0; i < p->requests.n; i++)
        n += (p->requests.v[i].changes & how) != 0;
    return n;
}

static void done(struct recording *r, struct plan *p, struct replaced *replaced)
{
    VEC_FREE(&r->exchanges);
    VEC_FREE(&r->conns);
    VEC_FREE(&r->ledger);
    plan_free(p);
    replaced_done(replaced);
}

static void by_time_with_groups(void **state)
{
    (void)state;
    struct recording r = {0};
    struct plan p = {0};
    struct replaced replaced = {0};
    struct err e;
    add(&r, 0, 0, 500); /* heads were whole in another order than they began */
    add(&r, 1, 0, 400);
    add(&r, 2, 0, 401);
    add(&r, 3, 0, 450);
    add(&r, 1, 1, 900);
    add(&r, 2, 1, 20000); /* the same group's number, of a later load */
    add(&r, 3, 1, 20001);
    note(&r, "pair", 5, 40001, 0, 400);
    note(&r, "pair", 5, 40003, 0, 450);
    note(&r, "old", -1, 40001, 1, -500000); /* another connection had that port once */
    note(&r, "alone", -1, 40001, 1, 900);
    note(&r, "late", 5, 40003, 1, 20001);
    note(&r, "late", 5, 40002, 1, 20000);
    assert_int_equal(plan_trace(&p, &r, "t", &replaced, &e), TA_OK);
    static const struct {
        int64_t t_ms, recorded_ms, group, conn;
        const char *workload, *name;
    } want[] = {{0, 0, 0, 1, "load", "pair"},           {0, 50, 0, 3, "load", "pair"},
                {1, 1, -1, 2, "trace", "44136fa355b3"}, {100, 100, -1, 0, "trace", "44136fa355b3"},
                {500, 500, -1, 1, "load", "alone"},     {19600, 19600, 1, 2, "load", "late"},
                {19600, 19601, 1, 3, "load", "late"}};
    assert_int_equal(p.requests.n, 7);
    for (size_t i = 0; i < 7; i++) {
        const struct plan_request *q = &p.requests.v[i];
        assert_int_equal(q->t_ns, want[i].t_ms * 1000000);
        assert_int_equal(q->recorded->t_ns, want[i].recorded_ms * 1000000);
        assert_int_equal(q->recorded->end_ns, (want[i].recorded_ms + 100) * 1000000);
        assert_int_equal(q->recorded->prompt_tokens, 7);
        assert_int_equal(q->recorded->completion_tokens, -1);
        assert_int_equal(q->group, want[i].group);
        assert_int_equal(q->conn, want[i].conn);
        assert_int_equal(q->after, -1);
        assert_string_equal(q->workload, want[i].workload);
        assert_string_equal(q->name, want[i].name);
        assert_int_equal(q->repeat, strcmp(q->workload, "load") == 0 ? 3 : 0);
    }
    done(&r, &p, &replaced);
}

static void fields_and_credentials(void **state)
{
    (void)state;
    struct recording r = {0};
    struct plan p = {0};
    struct replaced replaced = {0};
    struct err e;
    add(&r, 0, 0, 0);
    add(&r, 0, 1, 200)->target = slice_of("https://u:p@h?key=1");
    add(&r, 0, 2, 400)->target = slice_of("/p?a=1&access_token=***&b&sig=2&c=");
    assert_int_equal(plan_trace(&p, &r, "t", &replaced, &e), TA_OK);
    const struct plan_request *q = p.requests.v;
    assert_int_equal(q->n_fields, 3);
    assert_string_equal(q->fields[0].name, "HOST");
    assert_string_equal(q->fields[0].value, "");
    assert_string_equal(q->fields[1].name, "X-A");
    assert_string_equal(q->fields[1].value, "\xE9");
    assert_string_equal(q->fields[2].name, "Content-Length");
    assert_ptr_equal(q[0].body.p, r.exchanges.v[0].body.p); /* not copied */
    assert_ptr_equal(q[1].fields, q[0].fields);
    assert_string_equal(q[1].path, "/");
    assert_string_equal(q[2].path, "/p?a=1&b&c=");
    assert_int_equal(changed(&p, PLAN_CREDENTIALS), 3);
    assert_int_equal(replaced.names.n, 2);
    assert_int_equal(changed(&p, PLAN_PARAMETERS), 2);
    assert_int_equal(changed(&p, PLAN_ABSOLUTE), 1);
    assert_string_equal(replaced.host, "old:1");
    done(&r, &p, &replaced);
}

static void what_is_not_whole_is_not_sent(void **state)
{
    (void)state;
    struct recording r = {0};
    struct plan p = {0};
    struct replaced replaced = {0};
    struct err e;
    static struct http_field odd[] = {{{"X-Nul", 5}, {"a\0b", 3}}};
    add(&r, 0, 0, 0)->request_flaw = RECORDING_GAP;
    add(&r, 1, 0, 100)->request_flaw = RECORDING_REDACTED;
    add(&r, 2, 0, 200)->request_flaw = RECORDING_CUT;
    add(&r, 3, 0, 300)->method = slice_of("CONNECT");
    add(&r, 4, 0, 400)->status = 101;
    add(&r, 5, 0, 500)->target = slice_of("/a\x01");
    struct recording_exchange *x = add(&r, 6, 0, 600);
    x->fields = odd;
    x->n_fields = 1;
    add(&r, 7, 0, 700)->method = slice_of("PO ST");
    int rc = plan_trace(&p, &r, "my.pcapng", &replaced, &e);
    assert_int_equal(rc, TA_EFORMAT);
    assert_non_null(strstr(e.msg, "my.pcapng"));
    assert_int_equal(p.requests.n, 0);
    assert_int_equal(replaced.skips.n, 8);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(replaced.skips.v[i].frame, 10 * (i + 1));
    assert_string_equal(replaced.skips.v[1].why, recording_flaw_text(RECORDING_REDACTED));
    add(&r, 8, 0, 5000);
    rc = plan_trace(&p, &r, "my.pcapng", &replaced, &e);
    assert_int_equal(rc, TA_OK);
    assert_int_equal(p.requests.n, 1);
    assert_int_equal(p.requests.v[0].t_ns, 0); /* from the first that is sent */
    done(&r, &p, &replaced);
}

/* A body with another end than its fields say would be waited for, or read as the next request. */
static void what_is_framed_otherwise_is_not_sent(void **state)
{
    (void)state;
    struct recording r = {0};
    struct plan p = {0};
    struct replaced replaced = {0};
    struct err e;
    static struct http_field both[] = {{{"Content-Length", 14}, {"2", 1}},
                                       {{"Transfer-Encoding", 17}, {"chunked", 7}}};
    add(&r, 0, 0, 0)->body = slice_of("{ }");
    struct recording_exchange *x = add(&r, 1, 0, 100);
    x->fields = both;
    x->n_fields = 2;
    x = add(&r, 2, 0, 200);
    x->fields = both + 1;
    x->n_fields = 1;
    assert_int_equal(plan_trace(&p, &r, "t", &replaced, &e), TA_OK);
    assert_int_equal(p.requests.n, 1);
    assert_int_equal(changed(&p, PLAN_CHUNKED), 1);
    assert_int_equal(replaced.skips.n, 2);
    assert_non_null(strstr(replaced.skips.v[0].why, "Content-Length is not the length"));
    done(&r, &p, &replaced);
}

/* What is said is counted over what was sent, and the value of a credential is never said. */
static void what_was_sent_is_counted(void **state)
{
    (void)state;
    static const struct message_field added[] = {
        {"X-A", "public", false}, {"X-Gate", "sesame", true}, {"x-gate", "open", false}};
    struct recording r = {0};
    struct plan p = {0};
    struct replaced replaced = {0};
    struct buf json;
    struct err e;
    add(&r, 0, 0, 0);
    add(&r, 1, 0, 100);
    add(&r, 2, 0, 200);
    assert_int_equal(plan_trace(&p, &r, "t", &replaced, &e), TA_OK);
    replaced_add(&replaced, added, 3);
    replaced_count_plan(&replaced, &p);
    buf_init(&json, 65536);
    replaced_note(&replaced, &p, "new:2", "t", false, &json);
    assert_non_null(strstr(buf_text(&json), "\"Host old:1 by new:2\",\"header field X-A by the"));
    assert_null(strstr(buf_text(&json), "request"));
    replaced_count_none(&replaced);
    replaced_count(&replaced, &p.requests.v[1]);
    buf_clear(&json);
    replaced_note(&replaced, &p, "new:2", "t", true, &json);
    const char *said = buf_text(&json);
    assert_non_null(strstr(said, "\"Host old:1 by new:2 (1 request)\""));
    assert_non_null(strstr(said, "\"header field X-A by the one of --header (1 request)\""));
    assert_non_null(
        strstr(said, "\"added: header field X-Gate, the credential from the environment"));
    assert_non_null(strstr(said, "\"left out: Authorization, X-Service-Token (1 request)"));
    assert_null(strstr(said, "sesame"));
    assert_null(strstr(said, "x-gate"));
    buf_done(&json);
    done(&r, &p, &replaced);
}

struct model_case {
    const char *before, *after; /* after NULL: as it was */
};

static const struct model_case model_cases[] = {
    {"{\"model\":\"a\",\"n\":1}", "{\"model\":\"m\\\"x\",\"n\":1}"},
    {" { \"x\" : {\"model\":\"a\"} , \"model\" :\n\"a\\u0041\" } ",
     " { \"x\" : {\"model\":\"a\"} , \"model\" :\n\"m\\\"x\" } "},
    {"{\"model\":\"a\",\"model\":\"b\"}", "{\"model\":\"m\\\"x\",\"model\":\"m\\\"x\"}"},
    {"{\"\\u006Dod\\u0065l\":\"a\"}", "{\"\\u006Dod\\u0065l\":\"m\\\"x\"}"},
    {"{\"model\":{\"model\":\"a\"}}", NULL},
    {"{\"messages\":[\"model\",\"a\"]}", NULL},
    {"[{\"model\":\"a\"}]", NULL},
    {"{\"model\":\"a\"", NULL},
    {"{\"model\":\"a\"} x", NULL},
    {"model=a", NULL},
};

static void the_model_alone_changes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof model_cases / sizeof *model_cases; i++) {
        const struct model_case *c = &model_cases[i];
        struct recording r = {0};
        struct plan p = {0};
        struct replaced replaced = {0};
        struct err e;
        char length[24];
        snprintf(length, sizeof length, "%zu", strlen(c->before));
        struct http_field framed[] = {fields[0], fields[4]};
        framed[1].value = slice_of(length);
        struct recording_exchange *x = add(&r, 0, 0, 0);
        x->body = slice_of(c->before);
        x->fields = framed;
        x->n_fields = 2;
        assert_int_equal(plan_trace(&p, &r, "t", &replaced, &e), TA_OK);
        assert_int_equal(replaced_model(&replaced, &p, "m\"x", &e), TA_OK);
        const struct plan_request *q = &p.requests.v[0];
        const char *want = c->after != NULL ? c->after : c->before;
        if (!slice_is(q->body, want))
            fail_msg("%s became %.*s", c->before, (int)q->body.n, q->body.p);
        assert_int_equal(changed(&p, PLAN_MODEL), c->after != NULL);
        assert_int_equal(changed(&p, PLAN_WITHOUT_MODEL), c->after == NULL);
        struct plan_request again = *q;
        plan_hash(&again);
        assert_string_equal(q->body_sha256, again.body_sha256);
        if (c->after != NULL)
            snprintf(length, sizeof length, "%zu", strlen(c->after));
        assert_string_equal(q->fields[1].value, length);
        done(&r, &p, &replaced);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_time_with_groups),
        cmocka_unit_test(fields_and_credentials),
        cmocka_unit_test(what_is_not_whole_is_not_sent),
        cmocka_unit_test(what_is_framed_otherwise_is_not_sent),
        cmocka_unit_test(what_was_sent_is_counted),
        cmocka_unit_test(the_model_alone_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
