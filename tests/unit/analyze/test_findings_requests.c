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
    a.requests.v[1].outcome = OUTCOME_SUCCESS;
    a.requests.v[1].identified = 20; /* as ids, without a tokenizer */
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
    assert_non_null(strstr(finding_needs(&a, "requests.cut-short")->detail,
                           "1 of them by a reset of the server's side, 0 by the client"));
    audit_free(&a);
    begin(&a, 4);
    a.requests.v[3].outcome = OUTCOME_CUT_SHORT;
    a.requests.v[3].end = END_RST;
    a.requests.v[3].left = true;
    finding_all(&a, &audit_defaults);
    assert_non_null(strstr(finding_needs(&a, "requests.cut-short")->detail,
                           "0 of them by a reset of the server's side, 1 by the client"));
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
static void given_up(const double age[4], bool together, bool left, bool is)
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
        r->left = left;
        r->left_packet = left ? 70 + (uint64_t)i : 0;
    }
    if (left && is) { /* the packet is cited by which it was given up */
        finding_all(&a, &audit_defaults);
        const struct finding *x = finding_needs(&a, "requests.timeouts");
        assert_int_equal(x->evidence.n, 8);
        for (size_t i = 1; i < 8; i += 2)
            assert_in_range(x->evidence.v[i].packet, 70, 73);
        audit_free(&a);
        return;
    }
    there(&a, "requests.timeouts", is);
}

static void p88_timeouts(void **state)
{
    (void)state;
    given_up((const double[]){5.001, 5.003, 5.0, 5.002}, false, false, true);
    given_up((const double[]){0.801, 0.803, 0.8, 0.802}, false, true, true); /* by a FIN */
    given_up((const double[]){0.801, 0.803, 0.8, 0.802}, false, false, false);
    given_up((const double[]){5.0, 2.1, 7.4, 3.3}, false, false, false);
    given_up((const double[]){5.0, 2.1, 7.4, 3.3}, false, true, false); /* somebody's patience */
    given_up((const double[]){5.001, 5.003, 5.0, 5.002}, true, false,
             false);                                                       /* a server that died */
    given_up((const double[]){0.101, 0.1, 0.1, 0.1}, false, false, false); /* refused at once */
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

/* A ledger for the requests of a, and n entries more that became nothing. */
static void keep_ledger(struct audit *a, int n, const char *outcome, bool sent)
{
    for (size_t i = 0; i < a->requests.n; i++) {
        a->requests.v[i].client_port = (uint16_t)(i + 1);
        made_entry(a, (struct ledger_entry){.workload = "w",
                                            .name = "r",
                                            .group = -1,
                                            .local_port = (int64_t)i + 1,
                                            .outcome = "complete"});
    }
    for (int i = 0; i < n; i++)
        made_entry(a, (struct ledger_entry){.workload = "w",
                                            .name = "r",
                                            .group = -1,
                                            .local_port = sent ? 100 + i : 0,
                                            .outcome = outcome});
}

static void requests_that_were_never_sent(void **state)
{
    (void)state;
    struct audit a;
    begin(&a, 4);
    keep_ledger(&a, 12, "no-descriptor", false);
    finding_all(&a, &audit_defaults);
    const struct finding *x = finding_needs(&a, "requests.unsent");
    assert_non_null(strstr(x->detail, "12 of the ledger's 16 requests were never sent"));
    assert_non_null(strstr(x->detail, "12 no-descriptor"));
    finding_lacks(&a, "requests.failed");
    audit_free(&a);
    begin(&a, 4);
    keep_ledger(&a, 0, NULL, false); /* all are there */
    there(&a, "requests.unsent", false);
    begin(&a, 4);
    keep_ledger(&a, 12, "complete", true); /* not seen is not unsent */
    there(&a, "requests.unsent", false);
}

/* Nothing at all could be sent. */
static void no_request_was_sent(void **state)
{
    (void)state;
    struct audit a;
    begin(&a, 0);
    keep_ledger(&a, 3, "refused", false);
    finding_all(&a, &audit_defaults);
    assert_non_null(strstr(finding_needs(&a, "requests.unsent")->detail, "3 refused"));
    audit_free(&a);
}

/* Who counts what could not be sent counts as well as who counts what is on the wire. */
static void counts_of_the_ledger_are_no_mistake(void **state)
{
    (void)state;
    static const struct {
        const char *claim;
        bool confirmed;
    } claims[] = {{"failed=14", true},   {"failed=2", true},      {"failed=8", false},
                  {"requests=20", true}, {"requests=8", true},    {"requests=13", false},
                  {"completed=6", true}, {"completed=18", false}, {"failed=12", false}};
    struct audit a;
    begin(&a, 8);
    for (size_t i = 0; i < 2; i++) {
        lose_text(&a.requests.v[i]);
        a.requests.v[i].outcome = OUTCOME_HTTP_ERROR;
        a.requests.v[i].status = 503;
    }
    keep_ledger(&a, 12, "refused", false);
    scene_figures(&a);
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        const struct claim *c = scene_judge(&a, &audit_defaults, claims[i].claim);
        if ((c->verdict == VERDICT_CONFIRMED) != claims[i].confirmed)
            fail_msg("%s is %s: %s", claims[i].claim, verdict_name(c->verdict), c->reason);
    }
    audit_free(&a);
    begin(&a, 8);
    keep_ledger(&a, 0, NULL, false); /* without any that was not sent, nothing is to be chosen */
    scene_figures(&a);
    assert_int_equal(scene_judge(&a, &audit_defaults, "failed=12")->verdict, VERDICT_IMPOSSIBLE);
    audit_free(&a);
}

/* How they failed, by the bytes and by the ledger. */
static void failures_are_named_twice(void **state)
{
    (void)state;
    struct audit a;
    begin(&a, 5);
    for (size_t i = 0; i < 4; i++) {
        lose_text(&a.requests.v[i]);
        a.requests.v[i].outcome = OUTCOME_NO_RESPONSE;
    }
    VEC_PUSH(&a.requests.v[0].anomalies, "http.version-0.9");
    keep_ledger(&a, 0, NULL, false);
    for (size_t i = 0; i < 4; i++)
        a.traces.v[0].ledger.v[i].outcome = i == 0 ? "bad-response" : "timeout";
    finding_all(&a, &audit_defaults);
    const char *detail = finding_needs(&a, "requests.failed")->detail;
    assert_non_null(strstr(detail, "4 of 5 requests failed: 4 without a response (bytes came for 1 "
                                   "of them, but no head of one); the ledger says 3 timeout, 1 "
                                   "bad-response. They"));
    audit_free(&a);
    begin(&a, 5);
    lose_text(&a.requests.v[0]);
    a.requests.v[0].outcome = OUTCOME_NO_RESPONSE; /* nothing came, and nobody kept a ledger */
    finding_all(&a, &audit_defaults);
    detail = finding_needs(&a, "requests.failed")->detail;
    assert_non_null(strstr(detail, "1 of 5 requests failed: 1 without a response. They"));
    audit_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_that_were_never_sent),
        cmocka_unit_test(no_request_was_sent),
        cmocka_unit_test(counts_of_the_ledger_are_no_mistake),
        cmocka_unit_test(failures_are_named_twice),
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
