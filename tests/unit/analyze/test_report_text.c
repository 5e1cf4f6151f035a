/* The text report: says what it must, and lets nothing of a trace through to the terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "analyze/fidelity.h"
#include "analyze/report_table.h"
#include "analyze/report_text.h"
#include "tests/unit/analyze/synthetic.h"
#include "traces/base/text.h"

static void report(const struct audit *a, struct report_text_options o, struct buf *out)
{
    buf_init(out, 1u << 20);
    report_text_write(a, o, out);
}

static void says(struct buf *out, const char *words)
{
    if (strstr(buf_text(out), words) == NULL)
        fail_msg("'%s' is not in:\n%s", words, buf_text(out));
}

static void a_withheld_rate_is_named_with_its_reason(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    made_request(&a, (struct made){.first = 2000, .step = 0, .events = 30, .tokens = 30});
    for (size_t i = 0; i < 30; i++)
        a.requests.v[0].out.v[i].packet = 7;
    made_figures(&a, &audit_defaults);
    struct buf out;
    report(&a, (struct report_text_options){0}, &out);
    says(&out, "1 request, ok");
    says(&out, "drops unknown");
    says(&out, "not measurable");
    says(&out, "1  decode tok/s: 30 output events arrived in 1 read; 3 are needed\n");
    buf_done(&out);
    audit_free(&a);
}

static void nothing_to_audit(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    made_figures(&a, &audit_defaults);
    struct buf out;
    report(&a, (struct report_text_options){.requests = true}, &out);
    says(&out, "nothing to audit");
    buf_done(&out);
    audit_free(&a);
}

static void nothing_of_a_trace_reaches_the_terminal(void **state)
{
    (void)state;
    static const char *const bad = "\033]0;owned\007\033[2J\xff\r";
    struct audit a = {0};
    made_trace(&a);
    made_request(&a, (struct made){.first = 100, .step = 20, .events = 10, .tokens = 10});
    struct trace_info *t = &a.traces.v[0];
    t->path = t->label = t->vantage = t->simulated = bad;
    VEC_PUSH(&t->replaced, bad);
    for (int sent = 0; sent < 3; sent++)
        made_entry(&a, (struct ledger_entry){.workload = bad,
                                             .name = bad,
                                             .outcome = bad,
                                             .group = -1,
                                             .local_port = sent > 0 ? 6 + sent : 0});
    struct request *r = &a.requests.v[0];
    r->server = r->model = r->path = r->name = r->error = r->finish = bad;
    VEC_PUSH(&a.findings,
             ((struct finding){.id = "x", .title = bad, .detail = bad, .severity = SEVERITY_WARN}));
    VEC_PUSH(&a.findings.v[0].evidence,
             ((struct evidence){.packet = 1, .t_ns = EPOCH_NS, .what = bad}));
    VEC_PUSH(&a.claims,
             ((struct claim){.text = bad, .metric = "rate", .stat = "value", .reason = bad}));
    VEC_PUSH(&a.claims.v[0].causes,
             ((struct cause){.id = bad, .title = bad, .formula = bad, .note = bad}));
    made_figures(&a, &audit_defaults);
    fidelity_find(&a);
    assert_int_equal(a.fidelity.n, 1);
    assert_int_equal(a.fidelity.v[0].unseen.n, 2);
    struct buf out;
    report(&a, (struct report_text_options){.requests = true}, &out);
    for (size_t at = 0; at < out.n;) {
        uint32_t cp;
        at += utf8_next(out.p + at, out.n - at, &cp);
        if (cp != '\n' && (cp < 0x20 || (cp >= 0x7f && cp < 0xa0)))
            fail_msg("control character %#x before byte %zu", (unsigned)cp, at);
    }
    buf_done(&out);
    audit_free(&a);
}

/* What was replaced, what was never sent, and which repeats are one run. */
static void a_replay_says_what_it_was(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 2; i++) {
        made_request(&a, (struct made){.t0 = 50 * i,
                                       .first = 50 * i + 100,
                                       .step = 20,
                                       .events = 10,
                                       .tokens = 10,
                                       .port = (uint16_t)(1 + i)});
        made_entry(&a, (struct ledger_entry){.workload = "w",
                                             .name = "r",
                                             .outcome = "complete",
                                             .repeat = i,
                                             .group = -1,
                                             .sent_ns = 50 * i,
                                             .local_port = 1 + i});
    }
    made_entry(
        &a, (struct ledger_entry){.workload = "w", .name = "r", .outcome = "refused", .group = -1});
    VEC_PUSH(&a.traces.v[0].replaced, "model a by b (2 requests)");
    made_figures(&a, &audit_defaults);
    fidelity_find(&a);
    struct buf out;
    report(&a, (struct report_text_options){0}, &out);
    says(&out, "2 requests, all ok, 1 more never sent");
    says(&out, "   replaced: model a by b (2 requests)\n");
    says(&out, "1  w: 2 repeats overlap in time: their figures are those of one run\n");
    says(&out, "2 of the ledger's 3 requests are on the wire");
    says(&out, "never sent  1 refused");
    buf_done(&out);
    audit_free(&a);
    made_trace(&a);
    made_entry(
        &a, (struct ledger_entry){.workload = "w", .name = "r", .outcome = "refused", .group = -1});
    made_figures(&a, &audit_defaults);
    fidelity_find(&a);
    report(&a, (struct report_text_options){0}, &out);
    says(&out, "no LLM request was seen; 1 was never sent");
    buf_done(&out);
    audit_free(&a);
}

/* What confirms a claim stands beside it, not another end of what the bytes allow. */
static void a_confirmed_claim_stands_beside_its_figure(void **state)
{
    (void)state;
    struct audit a = {0};
    struct buf out;
    made_trace(&a);
    made_request(&a, (struct made){.first = 100, .step = 20, .events = 10, .tokens = 10});
    struct claim c = {.text = "failed=0",
                      .metric = "failed",
                      .stat = "value",
                      .claimed_text = "0",
                      .unit = "1",
                      .claimed_interval = {-0.5, 0.5},
                      .recomputed = 8,
                      .interval = {0, 8},
                      .verdict = VERDICT_CONFIRMED};
    VEC_PUSH(&a.claims, c);
    c.text = "failed=8";
    c.claimed = 8;
    c.claimed_text = "8";
    c.claimed_interval = (struct interval){7.5, 8.5};
    VEC_PUSH(&a.claims, c);
    made_figures(&a, &audit_defaults);
    report(&a, (struct report_text_options){0}, &out);
    says(&out, "failed                 0          0 to 8\n");
    says(&out, "failed                 8               8\n"); /* near miss */
    buf_done(&out);
    audit_free(&a);
}

static void colour_only_where_asked(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    VEC_PUSH(&a.findings, ((struct finding){.id = "x", .title = "t", .severity = SEVERITY_WARN}));
    struct buf out;
    report(&a, (struct report_text_options){.colour = true}, &out);
    says(&out, "\033[33m▲\033[0m t");
    buf_done(&out);
    report(&a, (struct report_text_options){0}, &out);
    says(&out, "▲ t");
    assert_null(memchr(out.p, 033, out.n));
    buf_done(&out);
    audit_free(&a);
}

/* Findings stand worst first, whatever their order. */
static void the_worst_comes_first(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    static const enum severity order[] = {SEVERITY_INFO, SEVERITY_FAIL, SEVERITY_WARN};
    static const char *const titles[] = {"an info", "a failure", "a warning"};
    for (size_t i = 0; i < 3; i++)
        VEC_PUSH(&a.findings,
                 ((struct finding){.id = "x", .title = titles[i], .severity = order[i]}));
    struct buf out;
    report(&a, (struct report_text_options){0}, &out);
    const char *text = buf_text(&out);
    assert_true(strstr(text, "a failure") < strstr(text, "a warning"));
    assert_true(strstr(text, "a warning") < strstr(text, "an info"));
    buf_done(&out);
    audit_free(&a);
}

static void lines_are_no_longer_than_100_columns(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    char detail[2000];
    for (size_t i = 0; i + 1 < sizeof detail; i++)
        detail[i] = i % 7 == 6 ? ' ' : 'x';
    detail[sizeof detail - 1] = '\0';
    VEC_PUSH(&a.findings, ((struct finding){.id = "x", .title = "t", .detail = detail}));
    struct buf out;
    report(&a, (struct report_text_options){0}, &out);
    size_t column = 0, letters = 0;
    for (size_t i = 0; i < out.n; i++) {
        column = out.p[i] == '\n' ? 0 : column + 1;
        letters += out.p[i] == 'x';
        assert_true(column <= 100 + 2); /* the mark is three bytes wide */
    }
    assert_int_equal(letters, 1714);
    buf_done(&out);
    audit_free(&a);
}

static void numbers_have_three_digits(void **state)
{
    (void)state;
    static const struct {
        double v;
        const char *text;
    } cases[] = {{61.23, "61.2"}, {14000.4, "14,000"}, {356, "356"},
                 {1.234, "1.23"}, {0.0123, "0.0123"},  {0, "0"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[32];
        assert_string_equal(table_number(cases[i].v, text), cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_withheld_rate_is_named_with_its_reason),
        cmocka_unit_test(nothing_to_audit),
        cmocka_unit_test(nothing_of_a_trace_reaches_the_terminal),
        cmocka_unit_test(a_replay_says_what_it_was),
        cmocka_unit_test(a_confirmed_claim_stands_beside_its_figure),
        cmocka_unit_test(colour_only_where_asked),
        cmocka_unit_test(the_worst_comes_first),
        cmocka_unit_test(lines_are_no_longer_than_100_columns),
        cmocka_unit_test(numbers_have_three_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
