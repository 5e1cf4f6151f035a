/* Claims about replies whose count leaves the thinking out: 101 tokens of answer behind 200 of
 * thinking, all of it sent. Who counts one of both, or both, is told apart. */
#include <math.h>

#include "tests/unit/analyze/scene.h"

static const struct act plain = {.t0 = 0,
                                 .head = 0.5,
                                 .first = 1.0,
                                 .last = 4.0,
                                 .end = 4.001,
                                 .events = 301,
                                 .tokens = 101,
                                 .prompt = 50};

enum known { BY_TOTAL, BY_EVENTS, COUNTED };

static void claim(enum known known, const char *text, enum verdict v, const char *cause)
{
    struct audit a = {0};
    made_trace(&a);
    struct request *r = scene_add(&a, plain);
    r->reasoning_bytes = 800;
    r->content_events = 101;
    r->content_ns = r->answer_ns = scene_ns(3.0);
    if (known == BY_TOTAL) {
        r->usage.reasoning = 200;
        r->total_stated = 50 + 101 + 200;
    } else if (known == COUNTED) {
        r->usage.completion = 301;
        r->total_stated = 50 + 301;
    }
    scene_figures(&a);
    const struct claim *c = scene_judge(&a, &audit_defaults, text);
    if (c->verdict != v)
        fail_msg("%s: %s: %s", text, verdict_name(c->verdict), c->reason);
    if (cause != NULL &&
        (c->causes.n == 0 || strcmp(c->causes.v[0].id, cause) != 0 || !c->causes.v[0].by_sign))
        fail_msg("%s: not %s by its sign: %s", text, cause, c->reason);
    audit_free(&a);
}

static void rates(void **state)
{
    (void)state;
    claim(BY_TOTAL, "rate@1=100", VERDICT_CONFIRMED, NULL);
    claim(BY_TOTAL, "rate@1=33.6", VERDICT_DIFFERS, "P08"); /* 101 / 3 */
    claim(BY_TOTAL, "tpot@1=29.7ms", VERDICT_DIFFERS, "P08");
    claim(BY_TOTAL, "rate@1=45.7", VERDICT_DIFFERS, NULL);
    claim(COUNTED, "rate@1=100", VERDICT_CONFIRMED, NULL);
    claim(BY_EVENTS, "rate@1=100", VERDICT_NOT_MEASURABLE, NULL); /* of the answer it is */
}

static void counts(void **state)
{
    (void)state;
    claim(BY_TOTAL, "output_tokens@1=101", VERDICT_CONFIRMED, NULL);
    claim(BY_TOTAL, "output_tokens@1=301", VERDICT_CONFIRMED, NULL);
    claim(BY_TOTAL, "output_tokens@1=501", VERDICT_DIFFERS, NULL);
    claim(COUNTED, "output_tokens@1=301", VERDICT_CONFIRMED, NULL);
    claim(COUNTED, "output_tokens@1=101", VERDICT_DIFFERS, "P08");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates),
        cmocka_unit_test(counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
