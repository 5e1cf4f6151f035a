/* Failed requests in figures: P80 and P85 to P94. The wrong figures are worked out here, from the
 * times and outcomes that the scenes were made with. */
#include <math.h>

#include "tests/unit/analyze/scene.h"

static const struct claim *expect(struct audit *a, const char *claim, const char *id, bool present)
{
    const struct claim *c = scene_judge(a, &audit_defaults, claim);
    const struct cause *found = scene_cause(c, id);
    if ((found != NULL) != present)
        fail_msg("%s: %s is %s; %s: %s", claim, id, found != NULL ? "named" : "not named",
                 verdict_name(c->verdict), c->reason);
    if (found != NULL) {
        assert_true(found->by_sign);
        assert_true(interval_meets(found->interval, c->claimed_interval));
        assert_int_equal(c->verdict, VERDICT_DIFFERS);
    }
    return c;
}

static const char *claim_text(const char *name, double value, const char *unit)
{
    static char text[96];
    snprintf(text, sizeof text, "%s=%.6g%s", name, value, unit);
    return text;
}

static struct request *answer(struct audit *a, double t0)
{
    return scene_add(a, (struct act){.t0 = t0,
                                     .head = t0 + 1,
                                     .first = t0 + 1,
                                     .last = t0 + 5,
                                     .end = t0 + 5,
                                     .events = 401,
                                     .tokens = 401});
}

/* Ends at `end`, with text up to `last` if that is not 0. */
static struct request *failure(struct audit *a, double t0, double last, double end,
                               enum outcome outcome)
{
    struct request *r = scene_add(a, (struct act){.t0 = t0,
                                                  .head = end,
                                                  .first = last > 0 ? t0 + 1 : end,
                                                  .last = last,
                                                  .end = end,
                                                  .events = last > 0 ? 101 : 0});
    r->outcome = outcome;
    r->finish = NULL;
    r->done_ns = -1;
    r->status = outcome == OUTCOME_HTTP_ERROR ? 503 : outcome == OUTCOME_NO_RESPONSE ? 0 : 200;
    if (outcome != OUTCOME_HTTP_ERROR && outcome != OUTCOME_ERROR_EVENT)
        r->z = -1;
    return r;
}

/* Six answers of 5 s, and two failures of 0.5 s between them: all in 38 s. */
static struct audit with(enum outcome outcome, double text)
{
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 3; i++)
        answer(&a, 5 * i);
    failure(&a, 15, text > 0 ? 15 + text : 0, 15.5 + text, outcome);
    failure(&a, 20, text > 0 ? 20 + text : 0, 20.5 + text, outcome);
    for (int i = 0; i < 3; i++)
        answer(&a, 23 + 5 * i);
    scene_figures(&a);
    return a;
}

/* The counts and rates of `with`, where the two are taken for answers. */
static void expect_taken(struct audit *a, const char *id, bool present)
{
    expect(a, "completed=8", id, present);
    expect(a, claim_text("request_tps", 8 / 38.0, ""), id, present);
    expect(a, "failed=0", id, present);
    expect(a, "completed=7", id, false);
    expect(a, claim_text("request_tps", 7 / 38.0, ""), id, false);
    expect(a, "failed=1", id, false);
}

static void p85_errors_in_200s(void **state)
{
    (void)state;
    struct audit a = with(OUTCOME_ERROR_EVENT, 0);
    expect_taken(&a, "P85", true);
    expect(&a, claim_text("latency.mean", (6 * 5 + 2 * 0.5) / 8, "s"), "P85", true);
    expect(&a, claim_text("latency.mean", 4.4, "s"), "P85", false);
    audit_free(&a);
    a = with(OUTCOME_HTTP_ERROR, 0); /* those said that they were */
    expect_taken(&a, "P85", false);
    audit_free(&a);
}

/* One with an error behind some text, one broken off: by status, and by text, both are answers. */
static void p85_p90_either_by_status_or_by_text(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    answer(&a, 0);
    failure(&a, 10, 11.5, 12, OUTCOME_ERROR_EVENT); /* text up to 1.5 s, the end at 2 s */
    failure(&a, 20, 21.5, 22, OUTCOME_CUT_SHORT);
    answer(&a, 30);
    scene_figures(&a);
    expect(&a, claim_text("latency.mean", (5 + 2 + 1.5 + 5) / 4, "s"), "P85", true);
    expect(&a, claim_text("latency.mean", (5 + 2 + 1.5 + 5) / 4, "s"), "P90", true);
    expect(&a, "completed=4", "P85", true);
    expect(&a, "completed=4", "P90", true);
    expect(&a, claim_text("latency.mean", (5 + 2 + 5) / 3.0, "s"), "P85", true);
    expect(&a, claim_text("latency.mean", (5 + 1.5 + 5) / 3.0, "s"), "P90", true);
    expect(&a, claim_text("latency.mean", (5 + 1.5 + 5) / 3.0, "s"), "P85", false);
    audit_free(&a);
}

static void p86_refusals_as_answers(void **state)
{
    (void)state;
    struct audit a = with(OUTCOME_HTTP_ERROR, 0);
    expect_taken(&a, "P86", true);
    expect(&a, claim_text("latency.mean", (6 * 5 + 2 * 0.5) / 8, "s"), "P86", true);
    audit_free(&a);
    a = with(OUTCOME_ERROR_EVENT, 0);
    expect_taken(&a, "P86", false);
    audit_free(&a);
}

/* Every kind at once, and all of them counted. */
static void p86_all_that_were_sent(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    answer(&a, 0);
    failure(&a, 10, 0, 10.5, OUTCOME_HTTP_ERROR);
    failure(&a, 20, 0, 20.5, OUTCOME_ERROR_EVENT);
    failure(&a, 30, 0, 31, OUTCOME_NO_RESPONSE);
    answer(&a, 35);
    scene_figures(&a);
    expect(&a, "completed=5", "P86", true);
    expect(&a, "completed=3", "P86", true); /* HTTP errors alone */
    expect(&a, "completed=3", "P85", true); /* … or errors in 200s alone: nobody can tell */
    expect(&a, "failed=0", "P86", true);
    expect(&a, "completed=4", "P86", false);
    const struct claim *c = scene_judge(&a, &audit_defaults, "completed=6");
    assert_int_equal(c->verdict, VERDICT_IMPOSSIBLE);
    audit_free(&a);
}

static void p87_lost_and_not_said(void **state)
{
    (void)state;
    struct audit a = with(OUTCOME_NO_RESPONSE, 0);
    expect(&a, "failed=0", "P87", true);
    expect(&a, "failed=1", "P87", false);
    const struct claim *c = scene_judge(&a, &audit_defaults, "failed=2");
    assert_int_equal(c->verdict, VERDICT_CONFIRMED);
    audit_free(&a);
    a = with(OUTCOME_HTTP_ERROR, 0); /* each came back, as a failure */
    expect(&a, "failed=0", "P87", false);
    audit_free(&a);
    a = (struct audit){0}; /* one that came back, two that did not */
    made_trace(&a);
    answer(&a, 0);
    failure(&a, 10, 0, 10.5, OUTCOME_HTTP_ERROR);
    failure(&a, 20, 0, 21, OUTCOME_NO_RESPONSE);
    failure(&a, 30, 33, 34, OUTCOME_CUT_SHORT);
    answer(&a, 40);
    scene_figures(&a);
    expect(&a, "failed=1", "P87", true);
    expect(&a, "requests=3", "P87", true);
    expect(&a, "requests=4", "P87", false);
    audit_free(&a);
}

/* Answers end after 15 s; those that never came are given up after 60 s. */
static struct audit with_timeouts(bool late)
{
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 3; i++)
        answer(&a, 5 * i);
    for (int i = 0; i < 3; i++)
        failure(&a, late ? 14.5 : 1, 0, late ? 74.5 : 2, OUTCOME_NO_RESPONSE);
    scene_figures(&a);
    return a;
}

static void p88_the_run_without_its_timeouts(void **state)
{
    (void)state;
    struct audit a = with_timeouts(true);
    expect(&a, claim_text("throughput", 3 * 401 / 15.0, ""), "P88", true);
    expect(&a, claim_text("request_tps", 3 / 15.0, ""), "P88", true);
    expect(&a, "duration=15.0s", "P88", true);
    expect(&a, "duration=16.0s", "P88", false);
    expect(&a, claim_text("throughput", 3 * 401 / 15.0 * 1.06, ""), "P88", false);
    audit_free(&a);
    a = with_timeouts(false); /* they end before: it is as long with them */
    const struct claim *c =
        scene_judge(&a, &audit_defaults, claim_text("throughput", 3 * 401 / 15.0, ""));
    assert_int_equal(c->verdict, VERDICT_CONFIRMED);
    assert_null(scene_cause(c, "P88"));
    audit_free(&a);
}

static void p80_time_of_answers_alone(void **state)
{
    (void)state;
    struct audit a = with_timeouts(true);
    expect(&a, claim_text("concurrency_avg", 15 / 74.5, ""), "P80", true);
    expect(&a, claim_text("concurrency_avg", 15 / 74.5 * 1.1, ""), "P80", false);
    audit_free(&a);
    a = with_timeouts(false);
    a.requests.v[3].outcome = a.requests.v[4].outcome = a.requests.v[5].outcome = OUTCOME_SUCCESS;
    expect(&a, claim_text("concurrency_avg", 15 / 15.0, ""), "P80", false);
    audit_free(&a);
}

/* Who counts what had arrived of answers that did not finish is right, too; and who does not. */
static void p80_either_is_confirmed(void **state)
{
    (void)state;
    struct audit a = with(OUTCOME_OPEN, 2.5); /* 101 events each */
    static const double tokens[] = {6 * 401, 6 * 401 + 2 * 101};
    for (int i = 0; i < 2; i++) {
        const struct claim *c =
            scene_judge(&a, &audit_defaults, claim_text("throughput", tokens[i] / 38, ""));
        if (c->verdict != VERDICT_CONFIRMED)
            fail_msg("%s: %s", c->text, c->reason);
    }
    const struct claim *c =
        scene_judge(&a, &audit_defaults, claim_text("throughput", 8 * 401 / 38.0, ""));
    assert_int_equal(c->verdict, VERDICT_DIFFERS);
    audit_free(&a);
}

/* 429, wait, 429, wait, answer: 1 s to the text, 6 s after the first attempt. */
static struct audit with_retries(const char *last_body)
{
    struct audit a = {0};
    made_trace(&a);
    answer(&a, 0)->body_sha256 = "aaaa";
    for (int i = 0; i < 2; i++) {
        struct request *r = failure(&a, 10 + 2 * i, 0, 10.1 + 2 * i, OUTCOME_HTTP_ERROR);
        r->body_sha256 = "bbbb";
        r->status = 429;
    }
    answer(&a, 15)->body_sha256 = last_body;
    scene_figures(&a);
    return a;
}

static void p89_retries_in_the_latency(void **state)
{
    (void)state;
    struct audit a = with_retries("bbbb");
    expect(&a, "ttft@4=6s", "P89", true);
    expect(&a, "latency@4=10s", "P89", true);
    expect(&a, "latency.mean=7.5s", "P89", true);
    expect(&a, "ttft@4=6.3s", "P89", false);
    expect(&a, "ttft@1=6s", "P89", false); /* that one was answered at once */
    audit_free(&a);
    a = with_retries("cccc"); /* another request */
    expect(&a, "ttft@4=6s", "P89", false);
    audit_free(&a);
}

static void p90_broken_streams_as_answers(void **state)
{
    (void)state;
    struct audit a = with(OUTCOME_CUT_SHORT, 1.5);
    expect_taken(&a, "P90", true);
    expect(&a, claim_text("latency.mean", (6 * 5 + 2 * 1.5) / 8, "s"), "P90", true);
    expect(&a, claim_text("output_tokens.mean", (6 * 401 + 2 * 101) / 8.0, ""), "P90", true);
    expect(&a, claim_text("output_tokens.mean", 345, ""), "P90", false);
    audit_free(&a);
    a = with(OUTCOME_CUT_SHORT, 0); /* without any text nobody takes them for answers */
    expect_taken(&a, "P90", false);
    audit_free(&a);
}

/* --- every kind at once ------------------------------------------------------------------------
 */

/* Four answers of 5 s, one of them without any text; one broken off behind 1.5 s of text, one with
 * an error behind as much, one with an error and no text, one refused. In 45.5 s. */
static struct audit mixed(bool empty)
{
    struct audit a = {0};
    made_trace(&a);
    answer(&a, 0);
    struct request *r = answer(&a, 6);
    if (empty) {
        VEC_FREE(&r->out);
        r->usage.completion = 0;
    }
    answer(&a, 12);
    failure(&a, 18, 19.5, 20, OUTCOME_CUT_SHORT);
    failure(&a, 24, 25.5, 26, OUTCOME_ERROR_EVENT);
    failure(&a, 30, 0, 31, OUTCOME_ERROR_EVENT);
    failure(&a, 36, 0, 36.5, OUTCOME_HTTP_ERROR);
    answer(&a, 40.5);
    scene_figures(&a);
    return a;
}

static void every_kind_at_once(void **state)
{
    (void)state;
    struct audit a = mixed(true);
    expect(&a, claim_text("latency.mean", (4 * 5 + 1.5 + 2 + 1 + 0.5) / 8, "s"), "P86", true);
    expect(&a, claim_text("latency.mean", (3 * 5 + 1.5 + 2) / 5, "s"), "P90", true);
    expect(&a, claim_text("ttft.mean", (3 + 1 + 1) / 7.0, "s"), "P74", true);
    expect(&a, claim_text("ttft.mean", (3 + 1 + 1) / 6.5, "s"), "P74", false);
    expect(&a, claim_text("output_tokens.mean", (3 * 401 + 2 * 101) / 5.0, ""), "P90", true);
    expect(&a, claim_text("output_tokens.mean", (3 * 401 + 2 * 101) / 5.0 + 10, ""), "P90", false);
    audit_free(&a);
}

/* Is an answer without text one? Either is confirmed, and says what the other is. */
static void answers_that_say_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *claim, *but;
        enum verdict verdict, otherwise;
    } counts[] = {
        {"completed=4", "but successful requests with text is 3", VERDICT_CONFIRMED,
         VERDICT_CONFIRMED},
        {"completed=3", "but successful requests is 4", VERDICT_CONFIRMED, VERDICT_DIFFERS},
        {"completed=2", NULL, VERDICT_DIFFERS, VERDICT_DIFFERS},
        {"failed=4", "but failed or empty is 5", VERDICT_CONFIRMED, VERDICT_CONFIRMED},
        {"failed=5", "but failed is 4", VERDICT_CONFIRMED, VERDICT_DIFFERS},
        {"request_tps=0.0879", NULL, VERDICT_CONFIRMED, VERDICT_CONFIRMED}, /* 4 in 45.5 s */
        {"request_tps=0.0659", "but request_tps is 0.0879", VERDICT_CONFIRMED, VERDICT_DIFFERS},
    };
    for (int empty = 0; empty < 2; empty++) {
        struct audit a = mixed(empty);
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            const struct claim *c = scene_judge(&a, &audit_defaults, counts[i].claim);
            if (c->verdict != (empty ? counts[i].verdict : counts[i].otherwise))
                fail_msg("%s, %d empty: %s: %s", counts[i].claim, empty, verdict_name(c->verdict),
                         c->reason);
            if (empty && counts[i].but != NULL && strstr(c->reason, counts[i].but) == NULL)
                fail_msg("%s: %s", counts[i].claim, c->reason);
        }
        audit_free(&a);
    }
}

/* --- damaged in the recording: neither answered nor failed -------------------------------------
 */

/* As `with`, but that the two were whole, and bytes of them are missing in the recording. */
static struct audit with_holes(int64_t max_tokens)
{
    struct audit a = with(OUTCOME_UNSEEN, 1.5);
    for (size_t i = 0; i < a.requests.n; i++) {
        a.requests.v[i].damaged = a.requests.v[i].outcome == OUTCOME_UNSEEN;
        a.requests.v[i].asked.max_tokens = max_tokens;
    }
    return a;
}

static void judged(struct audit *a, const char *claim, enum verdict v)
{
    const struct claim *c = scene_judge(a, &audit_defaults, claim);
    if (c->verdict != v)
        fail_msg("%s is %s: %s", claim, verdict_name(c->verdict), c->reason);
    for (size_t i = 0; i < c->causes.n; i++) {
        if (c->causes.v[i].by_sign)
            fail_msg("%s: %s by its sign", claim, c->causes.v[i].id);
    }
}

static void what_the_recording_lost_accuses_nobody(void **state)
{
    (void)state;
    struct audit a = with_holes(500);
    judged(&a, "failed=0", VERDICT_CONFIRMED);
    judged(&a, "failed=2", VERDICT_CONFIRMED);
    judged(&a, "failed=3", VERDICT_DIFFERS);
    judged(&a, "completed=8", VERDICT_CONFIRMED);
    judged(&a, "completed=6", VERDICT_CONFIRMED);
    judged(&a, "completed=5", VERDICT_DIFFERS);
    judged(&a, "requests=8", VERDICT_CONFIRMED);
    judged(&a, claim_text("throughput", 8 * 401 / 38.0, ""), VERDICT_NOT_MEASURABLE);
    judged(&a, claim_text("throughput", 6 * 401 / 38.0, ""), VERDICT_CONFIRMED);
    judged(&a, claim_text("throughput", 3 * 8 * 401 / 38.0, ""), VERDICT_DIFFERS);
    judged(&a, claim_text("request_tps", 8 / 38.0, ""), VERDICT_NOT_MEASURABLE);
    judged(&a, claim_text("request_tps", 9 / 38.0, ""), VERDICT_DIFFERS);
    judged(&a, "latency.mean=4.4s", VERDICT_NOT_MEASURABLE);
    judged(&a, "latency.max=7s", VERDICT_NOT_MEASURABLE);
    judged(&a, "latency.p50=5s", VERDICT_CONFIRMED);
    judged(&a, "latency.p50=3s", VERDICT_DIFFERS); /* whatever two of eight were */
    judged(&a, "latency@4=3s", VERDICT_NOT_MEASURABLE);
    judged(&a, "latency@1=3s", VERDICT_DIFFERS);
    audit_free(&a);
    a = with_holes(-1); /* nothing bounds what they were */
    judged(&a, claim_text("throughput", 3 * 8 * 401 / 38.0, ""), VERDICT_NOT_MEASURABLE);
    judged(&a, claim_text("throughput", 3 * 401 / 38.0, ""), VERDICT_DIFFERS);
    audit_free(&a);
}

/* One request more may be missing than is damaged: clients sent more than is there. */
static void requests_that_the_recording_lost(void **state)
{
    (void)state;
    struct audit a = with_holes(500);
    a.traces.v[0].totals.tcp.client_gap_bytes = 700;
    a.requests.v[0].body_bytes = 400;
    judged(&a, "requests=9", VERDICT_NOT_MEASURABLE);
    judged(&a, "completed=9", VERDICT_NOT_MEASURABLE);
    judged(&a, "failed=3", VERDICT_NOT_MEASURABLE);
    judged(&a, "requests=10", VERDICT_DIFFERS);
    a.traces.v[0].totals.tcp.client_gap_bytes = 0; /* all that is missing is of replies */
    judged(&a, "requests=9", VERDICT_DIFFERS);
    audit_free(&a);
}

/* What came when the client had gone is no text that it took for an answer. */
static void p90_not_of_text_behind_the_client(void **state)
{
    (void)state;
    struct audit a = with(OUTCOME_CUT_SHORT, 1.5);
    for (size_t i = 0; i < a.requests.n; i++) {
        struct request *r = &a.requests.v[i];
        if (r->outcome != OUTCOME_CUT_SHORT)
            continue;
        r->left = true;
        r->t_end = r->out.v[0].t_ns - 1;
    }
    expect(&a, "completed=8", "P90", false);
    expect(&a, "failed=0", "P90", false);
    expect(&a, "failed=0", "P87", true);
    audit_free(&a);
}

/* Nothing failed: nothing of all this is said, whatever the claim. */
static void nothing_is_said_of_clean_runs(void **state)
{
    (void)state;
    static const char *const ids[] = {"P74", "P80", "P84", "P85", "P86",
                                      "P87", "P88", "P89", "P90"};
    static const char *const claims[] = {"completed=9",
                                         "requests=9",
                                         "failed=0",
                                         "failed=1",
                                         "request_tps=0.3",
                                         "throughput=90",
                                         "latency.mean=4.4s",
                                         "ttft.mean=0.7s",
                                         "concurrency=0.9",
                                         "completed=8",
                                         "output_tokens.mean=300"};
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 8; i++)
        answer(&a, 5.1 * i)->body_sha256 = "aaaa";
    scene_figures(&a);
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        const struct claim *c = scene_judge(&a, &audit_defaults, claims[i]);
        for (size_t k = 0; k < sizeof ids / sizeof *ids; k++)
            assert_null(scene_cause(c, ids[k]));
    }
    audit_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p80_time_of_answers_alone),
        cmocka_unit_test(p80_either_is_confirmed),
        cmocka_unit_test(p85_errors_in_200s),
        cmocka_unit_test(p85_p90_either_by_status_or_by_text),
        cmocka_unit_test(p86_refusals_as_answers),
        cmocka_unit_test(p86_all_that_were_sent),
        cmocka_unit_test(p87_lost_and_not_said),
        cmocka_unit_test(p88_the_run_without_its_timeouts),
        cmocka_unit_test(p89_retries_in_the_latency),
        cmocka_unit_test(p90_broken_streams_as_answers),
        cmocka_unit_test(every_kind_at_once),
        cmocka_unit_test(answers_that_say_nothing),
        cmocka_unit_test(what_the_recording_lost_accuses_nobody),
        cmocka_unit_test(requests_that_the_recording_lost),
        cmocka_unit_test(p90_not_of_text_behind_the_client),
        cmocka_unit_test(nothing_is_said_of_clean_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
