/* The grammar of --claim: what is taken, to which interval, and what an error says. */
#include <math.h>

#include "tests/unit/analyze/scene.h"

struct taken {
    const char *text, *metric, *stat;
    size_t request;
    double claimed, half; /* of its interval */
};

static const struct taken taken[] = {
    {"ttft.p50=90ms", "ttft", "p50", 0, 0.090, 0.0005},
    {"rate@3=14000tok/s", "rate", "value", 3, 14000, 0.5},
    {"rate=14000", "rate", "value", 0, 14000, 0.5},
    {"rate = 14,000 tok/s ", "rate", "value", 0, 14000, 0.5},
    {"rate=14k", "rate", "value", 0, 14000, 500},
    {"rate=14.0k", "rate", "value", 0, 14000, 50},
    {"rate=14 ktok/s", "rate", "value", 0, 14000, 500},
    {"rate=1.4e4tok/s", "rate", "value", 0, 14000, 500},
    {"gen_tps=59.6t/s", "gen_tps", "value", 0, 59.6, 0.05},
    {"wall_tps_p50=59.61", "wall_tps", "p50", 0, 59.61, 0.005},
    {"ttft_p50=1.5s", "ttft", "p50", 0, 1.5, 0.05},
    {"output_tps_user.median=60tps", "output_tps_user", "p50", 0, 60, 0.5},
    {"throughput.avg=1,234,567.5tokens/s", "throughput", "mean", 0, 1234567.5, 5},
    {"e2el@12=1.700s", "e2el", "value", 12, 1.7, 0.0005},
    {"tpot=16.67ms", "tpot", "value", 0, 0.01667, 0.000005},
    {"itl.p99=250us", "itl", "p99", 0, 250e-6, 0.5e-6},
    {"ttfb=90000ns", "ttfb", "value", 0, 90e-6, 0.5e-9},
    {"latency=2min", "latency", "value", 0, 120, 30},
    {"ttft=\xc2\xb5s", NULL, NULL, 0, 0, 0},
    {"ttft=3\xc2\xb5s", "ttft", "value", 0, 3e-6, 0.5e-6},
    {"speedup=2.17x", "speedup", "value", 0, 2.17, 0.005},
    {"speedup=217%", "speedup", "value", 0, 2.17, 0.005},
    {"speedup=0.85", "speedup", "value", 0, 0.85, 0.005},
    {"requests=40", "requests", "value", 0, 40, 0.5},
    {"completed=40", "completed", "value", 0, 40, 0.5},
    {"failed=0", "failed", "value", 0, 0, 0.5},
    {"memory=20GiB", "memory", "value", 0, 20.0 * 1073741824, 0.5 * 1073741824},
    {"output_tokens.sum=5120tokens", "output_tokens", "sum", 0, 5120, 0.5},
    {"ttfb=-0.2ms", "ttfb", "value", 0, -0.0002, 0.00005},
    /* Digits beyond the sixth are printing, not measurement. */
    {"rate=59.61234567", "rate", "value", 0, 59.61234567, 0.00005},
    {"rate=1234567", "rate", "value", 0, 1234567, 5},
    {"ttfo.p50=90ms", "ttfo", "p50", 0, 0.090, 0.0005},
    {"effective_latency.p99=2.5s", "effective_latency", "p99", 0, 2.5, 0.05},
    {"output_tps_steady=59.6", "output_tps_steady", "value", 0, 59.6, 0.05},
    {"goodput=1.25req/s", "goodput", "value", 0, 1.25, 0.005},
    {"good_fraction=75%", "good_fraction", "value", 0, 0.75, 0.005},
    {"good_fraction=0.75", "good_fraction", "value", 0, 0.75, 0.005},
    {"icl.p50@3=12ms", "icl", "p50", 3, 0.012, 0.0005},
};

static void claims_are_taken(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        const struct taken *t = &taken[i];
        struct audit a = {0};
        struct err e = {0};
        int rc = claims_add(&a, t->text, &e);
        if (t->metric == NULL) {
            assert_int_equal(rc, TA_EUSAGE);
            assert_int_equal(a.claims.n, 0);
            continue;
        }
        if (rc != TA_OK)
            fail_msg("%s: %s", t->text, e.msg);
        const struct claim *c = &a.claims.v[0];
        double tiny = 1e-9 * (1e-9 + fabs(t->claimed));
        assert_string_equal(c->text, t->text);
        assert_string_equal(c->metric, t->metric);
        assert_string_equal(c->stat, t->stat);
        assert_int_equal(c->request, t->request);
        double half = (c->claimed_interval.hi - c->claimed_interval.lo) / 2;
        if (fabs(c->claimed - t->claimed) > tiny || fabs(half - t->half) > tiny + 1e-6 * t->half)
            fail_msg("%s: %.17g with half width %.17g", t->text, c->claimed, half);
        audit_free(&a);
    }
}

static const struct {
    const char *text, *says[3];
} refused[] = {
    {"ttft", {"\"ttft\"", "no \"=\"", "NAME[.STAT][@REQUEST]=VALUE[UNIT]"}},
    {"", {"no \"=\"", "", ""}},
    {"=5", {"no figure is called \"\"", "rate", "release_skew"}},
    {"tftt=5ms", {"\"tftt\"", "ttft", "release_skew"}},
    {"ttft.p51=5ms", {"\"p51\" is no statistic", "p50 p90 p95 p99", "sum"}},
    {"ttft.=5ms", {"\"\" is no statistic", "", ""}},
    {"rate@0=5", {"\"@0\" names no request", "from 1", "rate@3"}},
    {"rate@x=5", {"\"@x\"", "", ""}},
    {"rate@=5", {"\"@\"", "", ""}},
    {"rate@-1=5", {"\"@-1\"", "", ""}},
    {"throughput@2=5", {"figure of a run", "@2", ""}},
    {"rate.p50@2=5", {"one request has one rate", ".p50", "@2"}},
    {"ttft=90", {"needs its unit", "ms", "ns"}},
    {"ttft=90tok/s", {"\"tok/s\" is no unit of ttft", "ms", ""}},
    {"rate=5ms", {"\"ms\" is no unit of rate", "tok/s", ""}},
    {"rate=fast", {"no number", "14,000", ""}},
    {"rate=", {"no number", "", ""}},
    {"rate=1,00", {"no number", "comma", ""}},
    {"rate=1,0000", {"no number", "comma", ""}},
    {"rate=,100", {"no number", "comma", ""}},
    {"rate=1e999", {"no number", "", ""}},
    {"rate=.", {"no number", "", ""}},
    {"rate=-", {"no number", "", ""}},
    {"rate=5 5", {"\"5\" is no unit", "", ""}},
    {"rate=0x10", {"\"x10\" is no unit", "", ""}},
    {"rate=nan", {"no number", "", ""}},
};

static void errors_name_the_part_and_what_is_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct audit a = {0};
        struct err e = {0};
        assert_int_equal(claims_add(&a, refused[i].text, &e), TA_EUSAGE);
        assert_int_equal(a.claims.n, 0);
        for (size_t k = 0; k < 3 && refused[i].says[k] != NULL; k++) {
            if (strstr(e.msg, refused[i].says[k]) == NULL)
                fail_msg("%s: \"%s\" does not say \"%s\"", refused[i].text, e.msg,
                         refused[i].says[k]);
        }
        audit_free(&a);
    }
}

/* Whatever the text: taken with a finite interval around the value, or refused with nothing
 * appended. */
static void any_text(void **state)
{
    (void)state;
    static const char *const pieces[] = {"rate", "ttft", ".", "p50", "@",  "3",
                                         "=",    "14",   ",", "000", "ms", "tok/s",
                                         "e",    "-",    "k", " ",   "_",  "9999999999999999999999",
                                         "\xff", "%",    "+"};
    uint64_t seed = 11;
    struct audit a = {0};
    size_t accepted = 0;
    for (int i = 0; i < 50000; i++) {
        char text[400] = "";
        size_t n = 0;
        for (int k = 0; k < 1 + (int)(12 * scene_random(&seed)); k++) {
            const char *piece =
                pieces[(size_t)(scene_random(&seed) * (sizeof pieces / sizeof *pieces))];
            n += (size_t)snprintf(text + n, sizeof text - n, "%s", piece);
        }
        size_t before = a.claims.n;
        struct err e = {0};
        if (claims_add(&a, text, &e) == TA_OK) {
            const struct claim *c = &a.claims.v[a.claims.n - 1];
            assert_int_equal(a.claims.n, before + 1);
            assert_true(isfinite(c->claimed));
            assert_true(c->claimed_interval.lo <= c->claimed &&
                        c->claimed <= c->claimed_interval.hi);
            accepted++;
        } else {
            assert_int_equal(a.claims.n, before);
            assert_true(e.msg[0] != '\0');
        }
    }
    assert_true(accepted > 10);
    audit_free(&a);
}

static void values_are_said_in_their_unit(void **state)
{
    (void)state;
    char out[64];
    assert_string_equal(claim_value_text(DIM_TOKEN_RATE, 59.61, out), "59.6 tok/s");
    assert_string_equal(claim_value_text(DIM_TOKEN_RATE, 14000, out), "14,000 tok/s");
    assert_string_equal(claim_value_text(DIM_TIME, 0.09, out), "90 ms");
    assert_string_equal(claim_value_text(DIM_RATIO, 2.17, out), "2.17x");
    assert_string_equal(claim_value_text(DIM_TOKENS, 999, out), "999 tokens");
    assert_string_equal(claim_value_text(DIM_COUNT, 40, out), "40");
    assert_string_equal(claim_value_text(DIM_TOKEN_RATE, INFINITY, out), "without limit");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claims_are_taken),
        cmocka_unit_test(errors_name_the_part_and_what_is_accepted),
        cmocka_unit_test(any_text),
        cmocka_unit_test(values_are_said_in_their_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
