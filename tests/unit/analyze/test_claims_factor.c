/* Token figures of one file that are all off alike: counted otherwise, not each wrong by itself. */
#include "analyze/claims_factor.h"

#include "analyze/claims_file.h"
#include "tests/unit/analyze/scene.h"

/* Six requests one after the other, 101 tokens each: the first at 0.5 s, the last at 2.5 s. */
static struct audit six(void)
{
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 6; i++) {
        double t0 = 3.0 * i;
        scene_add(&a, (struct act){.t0 = t0,
                                   .head = t0 + 0.5,
                                   .first = t0 + 0.5,
                                   .last = t0 + 2.5,
                                   .end = t0 + 2.5,
                                   .events = 101,
                                   .tokens = 101});
    }
    scene_figures(&a);
    return a;
}

/* A file of our own form: tokens a request, time per token, output tokens a second, and TTFT. */
static void audit_file(struct audit *a, struct claim_files *fs, double tokens, double tpot_ms,
                       double throughput)
{
    char text[1024];
    struct err e = {0};
    snprintf(text, sizeof text,
             "{\"metric\":\"output_tokens\",\"stat\":\"mean\",\"value\":%.3f,\"unit\":\"tokens\"}\n"
             "{\"metric\":\"tpot\",\"stat\":\"mean\",\"value\":%.4f,\"unit\":\"ms\"}\n"
             "{\"metric\":\"tpot\",\"stat\":\"max\",\"value\":%.4f,\"unit\":\"ms\"}\n"
             "{\"metric\":\"throughput\",\"value\":%.3f,\"unit\":\"tok/s\"}\n"
             "{\"metric\":\"ttft\",\"stat\":\"mean\",\"value\":500.0,\"unit\":\"ms\"}\n",
             tokens, tpot_ms, tpot_ms * 1.2, throughput);
    if (claims_file_take(fs, a, "f.jsonl", slice_of(text), NULL, &e) != TA_OK)
        fail_msg("%s", e.msg);
    claim_files_bind(fs, a, &audit_defaults);
    claims_judge(a, &audit_defaults);
    assert_int_equal(a->claims.n, 5);
}

/* 606 tokens in 17.5 s. */
static const double wire_tokens = 101, wire_tpot_ms = 20, wire_throughput = 606 / 17.5;

static void all_are_off_alike(void **state)
{
    (void)state;
    struct audit a = six();
    struct claim_files fs = {.rows = 0};
    double k = 2.37;
    audit_file(&a, &fs, wire_tokens * k, wire_tpot_ms / k, wire_throughput * k);
    for (size_t i = 0; i < 4; i++) {
        const struct claim *c = &a.claims.v[i];
        assert_int_equal(c->verdict, VERDICT_DIFFERS);
        assert_int_equal(c->causes.n, 0);
        assert_true(fabs(c->token_factor / k - 1) < 0.02);
        assert_non_null(strstr(c->reason, "all token figures of its file are off alike"));
    }
    assert_int_equal(a.claims.v[4].verdict, VERDICT_CONFIRMED);
    assert_true(a.claims.v[4].token_factor == 0);
    claim_files_free(&fs);
    audit_free(&a);
}

/* The rate alone is wrong, or each by another factor, or none is. */
static void each_is_off_by_itself(void **state)
{
    (void)state;
    static const double factors[][3] = {{1, 1, 2.37}, {2.37, 1, 2.37}, {2, 3, 4}, {1, 1, 1}};
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        const double *k = factors[i];
        struct audit a = six();
        struct claim_files fs = {.rows = 0};
        audit_file(&a, &fs, wire_tokens * k[0], wire_tpot_ms / k[1], wire_throughput * k[2]);
        for (size_t c = 0; c < a.claims.n; c++)
            assert_true(a.claims.v[c].token_factor == 0);
        claim_files_free(&fs);
        audit_free(&a);
    }
}

/* Four characters a token, in each figure: a cause that all of them name is the reason. */
static void a_cause_that_all_share_is_named(void **state)
{
    (void)state;
    struct audit a = six();
    struct claim_files fs = {.rows = 0};
    audit_file(&a, &fs, 404, 2000.0 / 403, 6 * 404 / 17.5);
    static const size_t totals[] = {0, 1, 3};
    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++) {
        const struct claim *c = &a.claims.v[totals[i]];
        assert_non_null(scene_cause(c, "P06"));
        assert_true(c->token_factor == 0);
    }
    claim_files_free(&fs);
    audit_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_off_alike),
        cmocka_unit_test(each_is_off_by_itself),
        cmocka_unit_test(a_cause_that_all_share_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
