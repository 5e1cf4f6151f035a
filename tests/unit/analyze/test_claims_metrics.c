/* Claims under names that no tool's figure has: the metric table's own. Each confirmed, and nearly
 * so: not. */
#include <math.h>

#include "tests/unit/analyze/scene.h"

static void expect(struct audit *a, const struct audit_options *o, const char *text,
                   enum verdict verdict)
{
    const struct claim *c = scene_judge(a, o, text);
    if (c->verdict != verdict)
        fail_msg("%s: %s, not %s: %s", text, verdict_name(c->verdict), verdict_name(verdict),
                 c->reason);
}

/* Four in a row, each sent as the one before it ended: 1 s of waiting, 3 of text, the first of it
 * thinking; they were due each 3.5 s. The last waits for 2 s. */
static struct audit four(struct ledger_entry *due)
{
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 4; i++) {
        double t = 4 * i, wait = i == 3 ? 2 : 1;
        struct request *r = scene_add(&a, (struct act){.t0 = t,
                                                       .head = t + wait,
                                                       .first = t + wait,
                                                       .last = t + wait + 3,
                                                       .end = t + wait + 3,
                                                       .events = 301,
                                                       .tokens = 301,
                                                       .prompt = 50});
        r->reasoning_bytes = 400;
        r->answer_ns = r->content_ns = scene_ns(t + wait + 1);
        due[i] =
            (struct ledger_entry){.workload = "open", .due_ns = scene_ns(3.5 * i), .group = -1};
        r->ledger = &due[i];
    }
    return a;
}

static void names_of_requests(void **state)
{
    (void)state;
    struct ledger_entry due[4];
    struct audit a = four(due);
    scene_figures(&a);
    expect(&a, &audit_defaults, "ttfo@1=2s", VERDICT_CONFIRMED);
    expect(&a, &audit_defaults, "ttfo.max=3s", VERDICT_CONFIRMED);
    expect(&a, &audit_defaults, "ttfo@1=1s", VERDICT_DIFFERS);                  /* the thinking's */
    expect(&a, &audit_defaults, "effective_latency@4=6.5s", VERDICT_CONFIRMED); /* 1.5 s late */
    expect(&a, &audit_defaults, "effective_latency@4=5.0s", VERDICT_DIFFERS);
    a.requests.v[3].ledger = NULL;
    scene_figures(&a);
    expect(&a, &audit_defaults, "effective_latency@4=6.5s", VERDICT_NOT_MEASURABLE);
    audit_free(&a);
}

static void good_ones(void **state)
{
    (void)state;
    struct ledger_entry due[4];
    struct audit a = four(due);
    struct audit_options o = audit_defaults;
    scene_figures(&a);
    expect(&a, &o, "goodput=0.176req/s", VERDICT_NOT_MEASURABLE); /* good for what? */
    expect(&a, &o, "good_fraction=75%", VERDICT_NOT_MEASURABLE);
    o.slo[M_TTFT] = 1.5;
    made_figures(&a, &o);
    expect(&a, &o, "goodput=0.1765req/s", VERDICT_CONFIRMED); /* 3 in 17 s */
    expect(&a, &o, "goodput=0.235req/s", VERDICT_DIFFERS);    /* 4 */
    expect(&a, &o, "good_fraction=75%", VERDICT_CONFIRMED);
    expect(&a, &o, "good_fraction=0.75", VERDICT_CONFIRMED);
    expect(&a, &o, "good_fraction=1.00", VERDICT_DIFFERS);
    expect(&a, &o, "good_fraction=110%", VERDICT_IMPOSSIBLE);
    o.slo[M_TTFT] = 1.0; /* a client may see it a little later: as good or not */
    made_figures(&a, &o);
    expect(&a, &o, "good_fraction=0%", VERDICT_CONFIRMED);
    expect(&a, &o, "good_fraction=75%", VERDICT_CONFIRMED);
    expect(&a, &o, "good_fraction=100%", VERDICT_DIFFERS);
    audit_free(&a);
}

/* One, then two beside it for most of the time, then one again. */
static void steady_rate(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    scene_add(&a, (struct act){
                      .head = 1, .first = 1, .last = 19, .end = 19, .events = 181, .tokens = 181});
    scene_add(
        &a,
        (struct act){
            .t0 = 4, .head = 5, .first = 5, .last = 15, .end = 15, .events = 101, .tokens = 101});
    scene_figures(&a);
    /* From 4 to 15 s two are in flight: 110 tokens of the one, 101 of the other. */
    expect(&a, &audit_defaults, "output_tps_steady=19.2", VERDICT_CONFIRMED);
    expect(&a, &audit_defaults, "output_tps_steady=14.84", VERDICT_DIFFERS); /* of all the time */
    a.requests.v[1].usage.completion = -1;
    scene_figures(&a);
    expect(&a, &audit_defaults, "output_tps_steady=19.2", VERDICT_NOT_MEASURABLE);
    audit_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_requests),
        cmocka_unit_test(good_ones),
        cmocka_unit_test(steady_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
