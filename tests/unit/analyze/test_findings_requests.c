/* Replies that are no answers, p84_p89_attempts, p88_timeouts: each present, and a near miss. */
#include <math.h>

#include "tests/unit/analyze/finding_test.h"

/* The i-th of requests 10 s apart, 100 tokens in 100 events from 1 s to 4 s. */
static struct request *add(struct audit *a, int i)
{
    double t = 10.0 * i;
    return scene_add(a, (struct act){.t0 = t,
                                     .head = t + 0.99,
                                     .first = t + 1,
                                     .last = t + 4,
                                     .end = t + 4.001,
                                     .events = 100,
                                     .tokens = 100,
                                     .prompt = 50});
}

static void begin(struct audit *a, int n)
{
    *a = (struct audit){0};
    made_trace(a);
    for (int i = 0; i < n; i++)
        add(a, i);
}

static void lose_text(struct request *r)
{
    VEC_FREE(&r->out);
    r->out.n = 0;
    r->text_bytes = 0;
    r->usage = (struct usage){50, -1, -1, -1};
}

/* Something is there; requests.failed may be beside it. */
static void there(struct audit *a, const char *id, bool is)
{
    finding_all(a, &audit_defaults);
    if (is)
        assert_true(finding_needs(a, id)->evidence.n > 0);
    else
        finding_lacks(a, id);
    audit_free(a);
}

static void p85_errors_behind_200(void **state)
{
    (void)state;
    struct audit a;
    begin(&a, 4);
    a.requests.v[2].outcome = OUTCOME_ERROR_EVENT;
    a.requests.v[2].error = "out of memory";
    finding_all(&a, &audit_defaults);
    const struct finding *x = finding_needs(&a, "requests.error-in-success");
    assert_non_null(strstr(x->detail, "1 of 4 replies have an error"));
    assert_non_null(strstr(x->detail, "out of memory"));
    assert_true(x->evidence.n == 1 && x->evidence.v[0].packet == a.requests.v[2].t0_packet);
    finding_needs(&a, "requests.failed");
    audit_free(&a);
    begin(&a, 4);
    a.requests.v[2].outcome = OUTCOME_HTTP_ERROR; /* that everybody sees */
    a.requests.v[2].status = 500;
    there(&a, "requests.error-in-success", false);
}

static void p74_streams_without_text(void **state)
{
    (void)state;
    struct audit a;
    begin(&a, 4);
    lose_text(&a.requests.v[1]);
    a.requests.v[1].outcome = OUTCOME_NO_FINISH;
    there(&a, "requests.empty", true);
    begin(&a, 4);
    lose_text(&a.requests.v[1]);
    a.requests.v[1].outcome = OUTCOME_ERROR_EVENT; /* is said as such */
    there(&a, "requests.empty", false);
    begin(&a, 4);
    lose_text(&a.requests.v[1]);
    a.requests.v[1].damaged = true; /* not seen is not empty */
    there(&a, "requests.empty", false);
}

static void p90_replies_that_break_off(void **state)
{
    (void)state;
    struct audit a;
    begin(&a, 4);
    a.requests.v[3].outcome = OUTCOME_CUT_SHORT;
    a.requests.v[3].end = END_RST;
    finding_all(&a, &audit_defaults);
    assert_non_null(
        strstr(finding_needs(&a, "requests.cut-short")->detail, "1 of them by a reset"));
    audit_free(&a);
    begin(&a, 4);
    a.requests.v[3].outcome = OUTCOME_OPEN; /* the trace ended */
    there(&a, "requests.cut-short", false);
}

/* Attempts of one body: 429, then the answer. */
static void retried(bool first_fails, const char *other_body, bool is)
{
    struct audit a;
    begin(&a, 3);
    a.requests.v[0].body_sha256 = "a";
    a.requests.v[1].body_sha256 = other_body;
    a.requests.v[2].body_sha256 = "c";
    if (first_fails) {
        lose_text(&a.requests.v[0]);
        a.requests.v[0].outcome = OUTCOME_HTTP_ERROR;
        a.requests.v[0].status = 429;
    }
    there(&a, "requests.retried", is);
}

static void p84_p89_attempts(void **state)
{
    (void)state;
    retried(true, "a", true);
    retried(true, "b", false);  /* another prompt */
    retried(false, "a", false); /* the same prompt once more */
}

/* Six requests, of which four are given up at those ages. */
static void given_up(const double age[4], bool together, bool is)
{
    struct audit a;
    begin(&a, 6);
    for (int i = 0; i < 4; i++) {
        struct request *r = &a.requests.v[i];
        lose_text(r);
        r->outcome = OUTCOME_NO_RESPONSE;
        r->status = 0;
        r->z = -1;
        r->end = END_FIN;
        if (together)
            r->t0 = r->t0_end = scene_ns(30 - age[i]);
        r->t_end = r->t0 + (int64_t)llround(age[i] * 1e9);
    }
    there(&a, "requests.timeouts", is);
}

static void p88_timeouts(void **state)
{
    (void)state;
    given_up((const double[]){5.001, 5.003, 5.0, 5.002}, false, true);
    given_up((const double[]){5.0, 2.1, 7.4, 3.3}, false, false);
    given_up((const double[]){5.001, 5.003, 5.0, 5.002}, true, false); /* a server that died */
    given_up((const double[]){0.101, 0.1, 0.1, 0.1}, false, false);    /* refused at once */
}

static void p94_budgets(void **state)
{
    (void)state;
    struct audit a;
    begin(&a, 4);
    for (int i = 0; i < 3; i++)
        a.requests.v[i].asked.max_tokens = 1;
    there(&a, "requests.budget-one", true);
    begin(&a, 4);
    a.requests.v[0].asked.max_tokens = 1; /* somebody asks whether it is alive */
    there(&a, "requests.budget-one", false);
}

static void p92_text_that_repeats_itself(void **state)
{
    (void)state;
    struct audit a;
    begin(&a, 2);
    a.requests.v[1].repeated = 95;
    there(&a, "text.degenerate", true);
    begin(&a, 2);
    a.requests.v[1].repeated = 60; /* a list of numbers: each second piece is a comma */
    there(&a, "text.degenerate", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p85_errors_behind_200),
        cmocka_unit_test(p74_streams_without_text),
        cmocka_unit_test(p90_replies_that_break_off),
        cmocka_unit_test(p84_p89_attempts),
        cmocka_unit_test(p88_timeouts),
        cmocka_unit_test(p94_budgets),
        cmocka_unit_test(p92_text_that_repeats_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
