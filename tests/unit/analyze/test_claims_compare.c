/* Claims held against each other, and a file's counts against all that was sent. */
#include "analyze/claims_compare.h"
#include "tests/unit/analyze/finding_test.h"

static void take(struct audit *a, struct claim_files *fs, const char *name, const char *text)
{
    struct err e = {0};
    if (claims_file_take(fs, a, name, slice_of(text), NULL, &e) != TA_OK)
        fail_msg("%s", e.msg);
}

static void judge(struct audit *a, struct claim_files *fs)
{
    claim_files_bind(fs, a, &audit_defaults);
    claims_judge(a, &audit_defaults);
    claims_compare(fs, a);
}

/* --- few values ------------------------------------------------------------------------------- */

static const char *few_of(const char *text, char out[512])
{
    struct audit a = {0};
    struct claim_files fs = {.rows = 0};
    take(&a, &fs, "f.json", text);
    judge(&a, &fs);
    const struct finding *x = finding_look(&a, "claims.few-values");
    snprintf(out, 512, "%s", x != NULL ? x->detail : "");
    claim_files_free(&fs);
    audit_free(&a);
    return out;
}

static void p82_a_file_of_few_requests(void **state)
{
    (void)state;
    char said[512];
    few_of("{\"mean_ttft_ms\":100,\"p99_ttft_ms\":180,\"p90_ttft_ms\":170,\"p99_tpot_ms\":12,"
           "\"completed\":19}",
           said);
    assert_non_null(strstr(said, "f.json: it is about 19 requests, and prints p99 of them"));
    few_of("{\"mean_ttft_ms\":100,\"p99_ttft_ms\":180,\"p90_ttft_ms\":170,\"completed\":9}", said);
    assert_non_null(strstr(said, "p99, p90 of them"));
    few_of("{\"mean_ttft_ms\":100,\"p99_ttft_ms\":180,\"completed\":100}", said);
    assert_string_equal(said, "");
    few_of("{\"mean_ttft_ms\":100,\"p50_ttft_ms\":90,\"completed\":2}", said); /* no tail */
    assert_string_equal(said, "");
    few_of("{\"mean_ttft_ms\":100,\"p99_ttft_ms\":180}", said); /* of how many is not said */
    assert_string_equal(said, "");
}

/* --- two formulas ----------------------------------------------------------------------------- */

/* 300 tokens after the first one in 3 s, 301 in 4 s. */
static void one_request(struct audit *a)
{
    made_trace(a);
    scene_add(
        a, (struct act){
               .t0 = 0, .head = 1, .first = 1, .last = 4, .end = 4, .events = 301, .tokens = 301});
}

static void compared(struct audit *a, const char *raw, const char *table)
{
    struct claim_files fs = {.rows = 0};
    scene_figures(a);
    take(a, &fs, "raw.json", raw);
    take(a, &fs, "table.json", table);
    judge(a, &fs);
    claim_files_free(&fs);
}

static void p83_a_table_and_its_raw_data(void **state)
{
    (void)state;
    struct audit a = {0};
    one_request(&a);
    compared(&a, "[{\"metric\":\"rate\",\"value\":100,\"request\":1}]",
             "[{\"metric\":\"rate\",\"value\":75.2,\"request\":1}]");
    const struct finding *x = finding_needs(&a, "claims.two-formulas");
    assert_non_null(strstr(x->detail, "output_tps_user gives the one"));
    assert_non_null(strstr(x->detail, "e2e_output_tps the other"));
    audit_free(&a);
    a = (struct audit){0};
    one_request(&a); /* the table's is made by a formula that is a mistake */
    compared(&a, "[{\"metric\":\"ttft\",\"value\":1,\"unit\":\"s\",\"request\":1}]",
             "[{\"metric\":\"ttft\",\"value\":4,\"unit\":\"s\",\"request\":1}]");
    x = finding_needs(&a, "claims.two-formulas");
    assert_non_null(strstr(x->detail, "ttft gives the one, z-t0 the other"));
    audit_free(&a);
}

static void p83_near_misses(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        /* one formula, and roundings of it */
        {"[{\"metric\":\"rate\",\"value\":100,\"request\":1}]",
         "[{\"metric\":\"rate\",\"value\":100.4,\"request\":1}]"},
        /* a figure that nothing gives */
        {"[{\"metric\":\"rate\",\"value\":100,\"request\":1}]",
         "[{\"metric\":\"rate\",\"value\":63,\"request\":1}]"},
        /* of two kinds */
        {"[{\"metric\":\"output_tps_user\",\"value\":100,\"request\":1}]",
         "[{\"metric\":\"e2e_output_tps\",\"value\":75.2,\"request\":1}]"},
        /* of two tools: each has its own */
        {"[{\"metric\":\"latency\",\"value\":4,\"unit\":\"s\",\"tool\":\"aiperf\",\"request\":1}]",
         "[{\"metric\":\"latency\",\"value\":4.5,\"unit\":\"s\",\"tool\":\"sglang\",\"request\":1}"
         "]"},
        /* of two statistics */
        {"[{\"metric\":\"rate\",\"value\":100,\"stat\":\"mean\"}]",
         "[{\"metric\":\"rate\",\"value\":75.2,\"stat\":\"p50\"}]"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct audit a = {0};
        one_request(&a);
        a.requests.v[0].z = a.requests.v[0].t_end = scene_ns(4.5);
        compared(&a, pairs[i][0], pairs[i][1]);
        finding_lacks(&a, "claims.two-formulas");
        audit_free(&a);
    }
}

/* Of several runs one file may be of one, the other of another. */
static void p83_of_several_runs_is_none(void **state)
{
    (void)state;
    struct audit a = {0};
    struct claim_files fs = {.rows = 0};
    one_request(&a);
    made_trace(&a);
    scene_add(&a, (struct act){.t0 = 0, .first = 1, .last = 4, .events = 31, .tokens = 31});
    scene_figures(&a);
    assert_int_equal(a.runs.n, 2);
    take(&a, &fs, "raw.json", "[{\"metric\":\"rate\",\"value\":100}]");
    take(&a, &fs, "table.json", "[{\"metric\":\"rate\",\"value\":7.75}]");
    judge(&a, &fs);
    finding_lacks(&a, "claims.two-formulas");
    claim_files_free(&fs);
    audit_free(&a);
}

/* --- all that were sent ----------------------------------------------------------------------- */

/* Six answers and two refusals. */
static void refuse_two(struct audit *a)
{
    made_trace(a);
    for (int i = 0; i < 8; i++) {
        double t = 10.0 * i;
        bool refused = i == 2 || i == 5;
        struct request *r = scene_add(a, (struct act){.t0 = t,
                                                      .head = t + 1,
                                                      .first = t + 1,
                                                      .last = refused ? 0 : t + 4,
                                                      .end = refused ? t + 1 : t + 4,
                                                      .events = refused ? 0 : 301,
                                                      .tokens = refused ? 0 : 301});
        r->outcome = refused ? OUTCOME_HTTP_ERROR : r->outcome;
        r->status = refused ? 503 : 200;
    }
    scene_figures(a);
}

static const struct claim *completed(struct audit *a, const char *text)
{
    struct claim_files fs = {.rows = 0};
    take(a, &fs, "f.json", text);
    judge(a, &fs);
    claim_files_free(&fs);
    for (size_t i = 0; i < a->claims.n; i++) {
        if (strcmp(a->claims.v[i].metric, "completed") == 0)
            return &a->claims.v[i];
    }
    fail_msg("no claim of completed requests");
    return NULL;
}

static void p86_in_a_result_file(void **state)
{
    (void)state;
    struct audit a = {0};
    refuse_two(&a);
    const struct claim *c =
        completed(&a, "{\"mean_ttft_ms\":1000,\"num_prompts\":8,\"completed\":8,\"failed\":0}");
    assert_int_equal(c->verdict, VERDICT_DIFFERS);
    assert_non_null(scene_cause(c, "P86"));
    assert_true(scene_cause(c, "P86")->by_sign);
    audit_free(&a);
    a = (struct audit){0};
    refuse_two(&a);
    c = completed(&a, "{\"mean_ttft_ms\":1000,\"num_prompts\":8,\"completed\":6,\"failed\":2}");
    assert_int_equal(c->verdict, VERDICT_CONFIRMED);
    assert_null(scene_cause(c, "P86"));
    audit_free(&a);
    a = (struct audit){0};
    refuse_two(&a); /* of another run: nothing is said */
    c = completed(&a, "{\"mean_ttft_ms\":1000,\"num_prompts\":9,\"completed\":9,\"failed\":0}");
    assert_int_equal(c->verdict, VERDICT_NOT_MEASURABLE);
    audit_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p82_a_file_of_few_requests),
        cmocka_unit_test(p83_a_table_and_its_raw_data),
        cmocka_unit_test(p83_near_misses),
        cmocka_unit_test(p83_of_several_runs_is_none),
        cmocka_unit_test(p86_in_a_result_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
