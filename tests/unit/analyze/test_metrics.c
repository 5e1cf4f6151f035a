/* Figures and gates on requests whose times were chosen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/analyze/synthetic.h"

static void near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-12 * (1 + fabs(expected))))
        fail_msg("found %.17g, expected %.17g", found, expected);
}

static void is_value(const struct request *r, enum request_metric m, double v, enum grade g)
{
    if (r->metrics[m].grade != g)
        fail_msg("%s: %s (%s)", request_metrics[m].name, grade_name(r->metrics[m].grade),
                 r->metrics[m].reason != NULL ? r->metrics[m].reason : "");
    near(r->metrics[m].v, v);
}

static void is_withheld(const struct request *r, enum request_metric m, const char *reason)
{
    assert_int_equal(r->metrics[m].grade, GRADE_NOT_MEASURABLE);
    assert_string_equal(r->metrics[m].reason, reason);
}

/* 21 events, 20 ms apart, from 100 ms on; 41 tokens. */
static const struct made plain = {.t0 = 10, .first = 100, .step = 20, .events = 21, .tokens = 41};

static void figures_of_a_plain_request(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    made_request(&a, plain);
    struct request *r = &a.requests.v[0];
    r->t0_end += 2 * MS;
    r->h = EPOCH_NS + 40 * MS;
    r->c1 = EPOCH_NS + 60 * MS;
    r->z = EPOCH_NS + 530 * MS;
    r->timings.predicted_per_second = 99.5;
    metrics_request_all(&a, &audit_defaults);
    is_value(r, M_TTFB, 0.028, GRADE_WIRE);
    is_value(r, M_TTFR, 0.050, GRADE_WIRE);
    is_value(r, M_TTFT, 0.090, GRADE_WIRE);
    is_value(r, M_E2EL, 0.490, GRADE_WIRE);
    is_value(r, M_STREAM_END, 0.520, GRADE_WIRE);
    is_value(r, M_DECODE_WINDOW, 0.400, GRADE_WIRE);
    is_value(r, M_TPOT, 0.010, GRADE_WIRE_STATED);
    is_value(r, M_OUTPUT_TPS_USER, 100, GRADE_WIRE_STATED);
    is_value(r, M_E2E_OUTPUT_TPS, 41 / 0.490, GRADE_WIRE_STATED);
    is_value(r, M_STATED_TPS, 99.5, GRADE_STATED);
    assert_string_equal(r->metrics[M_TPOT].reason, "n_1 assumed to be 1");
    audit_free(&a);
}

static void first_tokens_stated_or_assumed(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    made_request(&a, plain);
    struct request *r = &a.requests.v[0];
    r->n1 = 5;
    metrics_request_all(&a, &audit_defaults);
    is_value(r, M_TPOT, 0.4 / 36, GRADE_WIRE_STATED);
    assert_null(r->metrics[M_TPOT].reason);
    r->n1 = -1; /* three events in the first read */
    r->out.v[1].packet = r->out.v[2].packet = r->out.v[0].packet;
    metrics_request_all(&a, &audit_defaults);
    is_value(r, M_TPOT, 0.4 / 38, GRADE_WIRE_STATED);
    assert_string_equal(r->metrics[M_TPOT].reason,
                        "n_1 assumed to be 3, the events of the first read");
    audit_free(&a);
}

/* 64 events in 378 ms after 2.5 s, and 464 tokens of which 400 were thinking. */
static const struct made thought = {.first = 2500, .step = 6, .events = 64, .tokens = 464};

static struct request *one(struct audit *a, struct made m, int64_t thinking)
{
    *a = (struct audit){0};
    made_trace(a);
    made_request(a, m);
    a->requests.v[0].usage.reasoning = thinking;
    return &a->requests.v[0];
}

/* P26: its tokens were there before the first text, and in no window of it. */
static void thinking_that_was_not_sent_is_left_out(void **state)
{
    (void)state;
    struct audit a;
    struct request *r = one(&a, thought, 400);
    metrics_request_all(&a, &audit_defaults);
    assert_int_equal(metrics_unsent(r), 400);
    is_value(r, M_OUTPUT_TPS_USER, 63 / 0.378, GRADE_WIRE_STATED);
    is_value(r, M_TPOT, 0.378 / 63, GRADE_WIRE_STATED);
    is_value(r, M_E2E_OUTPUT_TPS, 464 / 2.878, GRADE_WIRE_STATED); /* they took their time */
    assert_string_equal(r->metrics[M_TPOT].reason, "without 400 tokens of thinking that was not "
                                                   "sent; n_1 assumed to be 1");
    r->n1 = 401; /* counts on the way have them in n_1 */
    metrics_request_all(&a, &audit_defaults);
    is_value(r, M_OUTPUT_TPS_USER, 63 / 0.378, GRADE_WIRE_STATED);
    r->n1 = 2; /* or count what is sent alone */
    metrics_request_all(&a, &audit_defaults);
    is_value(r, M_OUTPUT_TPS_USER, 62 / 0.378, GRADE_WIRE_STATED);
    audit_free(&a);
    r = one(&a, thought, 459); /* 5 tokens are no stream of 64 events: it is in the text */
    assert_int_equal(metrics_unsent(r), 0);
    audit_free(&a);
}

/* P08: 64 tokens stated for the answer, and 40 of thinking in the total alone. */
static void thinking_that_the_count_leaves_out(void **state)
{
    (void)state;
    static const struct made answer = {.first = 2500, .step = 6, .events = 64, .tokens = 64};
    struct audit a;
    struct request *r = one(&a, answer, 40);
    r->usage.prompt = 10;
    r->total_stated = 10 + 64 + 40;
    r->reasoning_bytes = 120;
    metrics_request_all(&a, &audit_defaults);
    assert_int_equal(metrics_uncounted(r), 40);
    is_value(r, M_OUTPUT_TPS_USER, 103 / 0.378, GRADE_WIRE_STATED);
    assert_string_equal(r->metrics[M_TPOT].reason, "with 40 tokens of thinking that the count "
                                                   "leaves out; n_1 assumed to be 1");
    r->reasoning_bytes = 50; /* a summary of it */
    metrics_request_all(&a, &audit_defaults);
    is_withheld(r, M_OUTPUT_TPS_USER,
                "the 64 tokens stated leave out the thinking, of which 50 bytes were sent: how "
                "many tokens those are is not stated");
    r->total_stated = 10 + 64; /* it counts it, as others do */
    metrics_request_all(&a, &audit_defaults);
    assert_int_equal(metrics_uncounted(r), 0);
    is_value(r, M_OUTPUT_TPS_USER, 63 / 0.378, GRADE_WIRE_STATED);
    audit_free(&a);
    r = one(&a, thought, 400); /* none was sent: nothing of it is in the count, either */
    r->usage.prompt = 10;
    r->total_stated = 10 + 464 + 400;
    assert_int_equal(metrics_unsent(r), 0);
    r->total_stated = 10 + 464;
    assert_int_equal(metrics_unsent(r), 400);
    audit_free(&a);
}

static void thinking_that_was_sent_counts(void **state)
{
    (void)state;
    struct audit a;
    struct request *r = one(&a, thought, 400);
    r->reasoning_bytes = 1600;
    r->text_bytes += 1600;
    metrics_request_all(&a, &audit_defaults);
    is_value(r, M_OUTPUT_TPS_USER, 463 / 0.378, GRADE_WIRE_STATED);
    r->reasoning_bytes = 300; /* a summary of it */
    metrics_request_all(&a, &audit_defaults);
    is_withheld(r, M_OUTPUT_TPS_USER,
                "464 tokens were stated, 400 of them thinking, for 1856 bytes of text: when those "
                "were generated that have none is not known");
    audit_free(&a);
    struct made all = {.first = 100, .step = 20, .events = 464, .tokens = 464};
    r = one(&a, all, 400); /* among the answer's text, as servers without a parser send it */
    metrics_request_all(&a, &audit_defaults);
    is_value(r, M_OUTPUT_TPS_USER, 50, GRADE_WIRE_STATED);
    audit_free(&a);
    all.events = 64;
    all.tokens = 64;
    r = one(&a, all, 400); /* of servers that do not count it in the first place */
    metrics_request_all(&a, &audit_defaults);
    is_value(r, M_OUTPUT_TPS_USER, 50, GRADE_WIRE_STATED);
    audit_free(&a);
    r = one(&a, all, 2); /* so few are in the text too: each token of it has an event */
    metrics_request_all(&a, &audit_defaults);
    is_value(r, M_OUTPUT_TPS_USER, 50, GRADE_WIRE_STATED);
    audit_free(&a);
}

/* A token has a byte: the rest is of something that nobody sent, and nobody stated. */
static void more_tokens_than_bytes_have_no_decode_rate(void **state)
{
    (void)state;
    struct audit a;
    struct request *r = one(&a, thought, -1);
    metrics_request_all(&a, &audit_defaults);
    is_withheld(r, M_OUTPUT_TPS_USER,
                "464 tokens were stated, 0 of them thinking, for 256 bytes of text: when those "
                "were generated that have none is not known");
    is_value(r, M_E2E_OUTPUT_TPS, 464 / 2.878, GRADE_WIRE_STATED);
    audit_free(&a);
    r = one(&a, thought, -1); /* but for each event it is stated: 401 were there by the first */
    for (size_t k = 0; k < r->out.n; k++)
        request_state(r, k, 401 + (int32_t)k);
    r->n1 = 401;
    metrics_request_all(&a, &audit_defaults);
    is_value(r, M_OUTPUT_TPS_USER, 63 / 0.378, GRADE_WIRE_STATED);
    audit_free(&a);
    struct made some = thought;
    some.tokens = 266; /* as good as one a byte */
    r = one(&a, some, -1);
    metrics_request_all(&a, &audit_defaults);
    is_value(r, M_OUTPUT_TPS_USER, 265 / 0.378, GRADE_WIRE_STATED);
    audit_free(&a);
    some.tokens = 70; /* 3 beside the thinking */
    some.events = 3;
    r = one(&a, some, 67);
    r->text_bytes = 12;
    r->out.v[2].t_ns += 400 * MS;
    metrics_request_all(&a, &audit_defaults);
    is_withheld(r, M_OUTPUT_TPS_USER,
                "3 tokens beside those of thinking that was not sent; 8 are needed");
    audit_free(&a);
}

/* P47: the parser of thinking kept the first tokens back. */
static void a_first_piece_that_was_held_back_has_no_n1(void **state)
{
    (void)state;
    static const struct {
        uint32_t bytes; /* of the first of 24 events, the others have 4 … */
        int64_t tokens, n1;
        size_t in_first; /* more events in the first read */
        bool held;
    } cases[] = {
        {160, 63, -1, 0, true},  {160, 63, 40, 0, false}, /* stated */
        {160, 24, -1, 0, false},                          /* one long token */
        {60, 63, -1, 0, false},                           /* not that long */
        {160, 63, -1, 2, false}, /* three events of it: as many tokens as have come together */
        {640, 63, -1, 2, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct audit a;
        struct made m = {.first = 600, .step = 90, .events = 24, .tokens = cases[i].tokens};
        struct request *r = one(&a, m, -1);
        r->out.v[0].bytes = cases[i].bytes;
        r->text_bytes += cases[i].bytes - 4;
        r->n1 = cases[i].n1;
        for (size_t k = 1; k <= cases[i].in_first; k++)
            r->out.v[k].packet = r->out.v[0].packet;
        metrics_request_all(&a, &audit_defaults);
        if (metrics_first_held(r) != cases[i].held ||
            (r->metrics[M_TPOT].grade == GRADE_NOT_MEASURABLE) != cases[i].held)
            fail_msg("case %zu: %s", i,
                     r->metrics[M_TPOT].reason != NULL ? r->metrics[M_TPOT].reason : "");
        if (i == 0)
            is_withheld(r, M_OUTPUT_TPS_USER,
                        "the first of 24 output events has 63 % of the text, as if it was held "
                        "back: how many tokens were generated by then is not stated");
        audit_free(&a);
    }
}

static void negative_ttfb_is_printed(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    made_request(&a, plain);
    a.requests.v[0].t0_end = a.requests.v[0].h + 3 * MS;
    metrics_request_all(&a, &audit_defaults);
    is_value(&a.requests.v[0], M_TTFB, -0.003, GRADE_WIRE);
    audit_free(&a);
}

/* Each gate just open and just closed. */
static void gates_close_where_they_say(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        struct made m;
        size_t in_one_read; /* the last so many events */
        const char *reason; /* NULL: open */
    } cases[] = {
        {"events", {0, 100, 50, 3, 10, NULL, 0, 0}, 0, NULL},
        {"events",
         {0, 100, 50, 2, 10, NULL, 0, 0},
         0,
         "2 output events arrived in 2 reads; 3 are needed"},
        {"reads", {0, 100, 20, 30, 30, NULL, 0, 0}, 28, NULL},
        {"reads",
         {0, 100, 20, 30, 30, NULL, 0, 0},
         29,
         "30 output events arrived in 2 reads; 3 are needed"},
        {"reads",
         {0, 100, 20, 30, 30, NULL, 0, 0},
         30,
         "30 output events arrived in 1 read; 3 are needed"},
        {"tokens", {0, 100, 20, 8, 8, NULL, 0, 0}, 0, NULL},
        {"tokens", {0, 100, 20, 8, 7, NULL, 0, 0}, 0, "7 tokens; 8 are needed"},
        {"window", {0, 100, 5, 11, 11, NULL, 0, 0}, 0, NULL},
        {"window",
         {0, 100, 7, 8, 11, NULL, 0, 0},
         0,
         "all 8 output events arrived within 49 ms; 50 ms are needed"},
        {"share", {0, 1900, 10, 11, 11, NULL, 0, 0}, 0, NULL},
        {"share",
         {0, 9900, 10, 11, 11, NULL, 0, 0},
         0,
         "the output arrived in 100 ms, 1 % of the request's 10 s; 5 % are needed"},
        {"count", {0, 100, 20, 30, -1, NULL, 0, 0}, 0, "no token count was stated"},
        {"output", {0, 100, 20, 0, 10, NULL, 0, 0}, 0, "no output event"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct audit a = {0};
        made_trace(&a);
        made_request(&a, cases[i].m);
        struct request *r = &a.requests.v[0];
        for (size_t k = 0; k < cases[i].in_one_read; k++)
            r->out.v[r->out.n - 1 - k].packet = 77777;
        metrics_request_all(&a, &audit_defaults);
        for (int k = 0; k < 2; k++) {
            enum request_metric m = k == 0 ? M_TPOT : M_OUTPUT_TPS_USER;
            if (cases[i].reason != NULL)
                is_withheld(r, m, cases[i].reason);
            else if (r->metrics[m].grade != GRADE_WIRE_STATED)
                fail_msg("%s: withheld: %s", cases[i].what, r->metrics[m].reason);
        }
        audit_free(&a);
    }
}

static void thresholds_are_options(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    made_request(&a, (struct made){.first = 100, .step = 20, .events = 2, .tokens = 3});
    struct audit_options o = audit_defaults;
    o.gate_events = o.gate_reads = 2;
    o.gate_tokens = 3;
    o.gate_window_ns = 20 * MS;
    metrics_request_all(&a, &o);
    is_value(&a.requests.v[0], M_OUTPUT_TPS_USER, 100, GRADE_WIRE_STATED);
    audit_free(&a);
}

static void one_document_has_no_decode_rate(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    made_request(&a, (struct made){.first = 1000, .events = 1, .tokens = 50});
    a.requests.v[0].stream_reply = false;
    metrics_request_all(&a, &audit_defaults);
    is_withheld(&a.requests.v[0], M_OUTPUT_TPS_USER,
                "the reply is one document: all its text arrived at once");
    is_value(&a.requests.v[0], M_E2E_OUTPUT_TPS, 50, GRADE_WIRE_STATED);
    is_value(&a.requests.v[0], M_TTFT, 1, GRADE_WIRE);
    audit_free(&a);
}

static void count_never_comes_from_a_wish(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    made_request(&a, plain);
    a.requests.v[0].usage.completion = -1;
    a.requests.v[0].asked.max_tokens = 41;
    metrics_request_all(&a, &audit_defaults);
    is_withheld(&a.requests.v[0], M_E2E_OUTPUT_TPS, "no token count was stated");
    is_withheld(&a.requests.v[0], M_OUTPUT_TPS_USER, "no token count was stated");
    audit_free(&a);
}

static void failed_requests_keep_times_and_lose_rates(void **state)
{
    (void)state;
    static const struct {
        enum outcome outcome;
        const char *reason;
    } cases[] = {
        {OUTCOME_HTTP_ERROR, "the request failed: HTTP 400"},
        {OUTCOME_ERROR_EVENT, "the request failed: an error inside the reply"},
        {OUTCOME_CUT_SHORT, "the reply was cut short"},
        {OUTCOME_NO_FINISH, "the reply ended without a finish reason"},
        {OUTCOME_UNREADABLE, "the reply is compressed, and was overwritten or cannot be read here"},
        {OUTCOME_OPEN, "the trace ended before the reply did"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct audit a = {0};
        made_trace(&a);
        made_request(&a, plain);
        struct request *r = &a.requests.v[0];
        r->outcome = cases[i].outcome;
        r->status = r->outcome == OUTCOME_HTTP_ERROR ? 400 : 200;
        r->z = -1;
        made_figures(&a, &audit_defaults);
        is_value(r, M_TTFT, 0.090, GRADE_WIRE);
        is_withheld(r, M_STREAM_END, cases[i].reason);
        is_withheld(r, M_TPOT, cases[i].reason);
        is_withheld(r, M_OUTPUT_TPS_USER, cases[i].reason);
        is_withheld(r, M_E2E_OUTPUT_TPS, cases[i].reason);
        struct metric_scope s = {1, 0, NULL};
        near(metrics_find(&a, "failed", outcome_name(cases[i].outcome), s)->value, 1);
        near(metrics_find(&a, "successes", "count", s)->value, 0);
        assert_int_equal(metrics_find(&a, "ttft", "p50", s)->grade, GRADE_NOT_MEASURABLE);
        assert_string_equal(metrics_find(&a, "output_tps", "value", s)->reason,
                            "no request succeeded");
        audit_free(&a);
    }
}

static void damaged_requests_are_in_no_quantile(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    made_request(&a, (struct made){.t0 = 0, .first = 100, .step = 20, .events = 20, .tokens = 20});
    made_request(&a,
                 (struct made){.t0 = 1000, .first = 9000, .step = 20, .events = 20, .tokens = 20});
    a.requests.v[1].damaged = true;
    made_figures(&a, &audit_defaults);
    is_value(&a.requests.v[1], M_TTFT, 8, GRADE_WIRE);
    is_withheld(&a.requests.v[1], M_OUTPUT_TPS_USER, "bytes of this request were not captured");
    const struct metric *m = metrics_find(&a, "ttft", "max", (struct metric_scope){1, 0, NULL});
    near(m->value, 0.1);
    assert_int_equal(m->n, 1);
    near(metrics_find(&a, "damaged", "count", (struct metric_scope){1, 0, NULL})->value, 1);
    audit_free(&a);
}

static void percentiles_need_enough_values(void **state)
{
    (void)state;
    static const struct {
        size_t n;
        const char *has, *lacks;
    } cases[] = {{1, "p50", "p90"},
                 {9, "p50", "p90"},
                 {10, "p90", "p95"},
                 {20, "p95", "p99"},
                 {100, "p99", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct audit a = {0};
        made_trace(&a);
        for (int64_t k = 0; k < (int64_t)cases[i].n; k++)
            made_request(&a, (struct made){.t0 = 10000 * k,
                                           .first = 10000 * k + k,
                                           .step = 20,
                                           .events = 20,
                                           .tokens = 20});
        made_figures(&a, &audit_defaults);
        struct metric_scope s = {1, 0, NULL};
        assert_non_null(metrics_find(&a, "ttft", cases[i].has, s));
        assert_null(cases[i].lacks != NULL ? metrics_find(&a, "ttft", cases[i].lacks, s) : NULL);
        assert_int_equal(metrics_find(&a, "ttft", "mean", s)->n, cases[i].n);
        if (cases[i].n == 100) { /* 0 … 99 ms: type 7 */
            near(metrics_find(&a, "ttft", "p99", s)->value, 0.09801);
            near(metrics_find(&a, "ttft", "p50", s)->value, 0.0495);
            near(metrics_find(&a, "ttft", "std", s)->value,
                 0.02901149197588202); /* statistics.stdev(range(100)) */
        }
        audit_free(&a);
    }
}

static void gaps_inside_a_read_are_said(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    made_request(&a, (struct made){.first = 100, .step = 20, .events = 5, .tokens = 20});
    struct output_event *out = a.requests.v[0].out.v;
    out[2].packet = out[1].packet;
    out[2].t_ns = out[1].t_ns;
    made_figures(&a, &audit_defaults);
    struct metric_scope s = {1, 1, NULL};
    near(metrics_find(&a, "icl", "max", s)->value, 0.040);
    near(metrics_find(&a, "icl", "min", s)->value, 0);
    assert_int_equal(metrics_find(&a, "icl", "p50", s)->n, 4);
    assert_string_equal(metrics_find(&a, "icl", "p50", s)->reason,
                        "25 % of the gaps lie inside one read: coalescing, not speed");
    near(metrics_find(&a, "icl_coalesced", "value", s)->value, 0.25);
    audit_free(&a);
}

/* Two runs of 1 s each, an hour apart: the hour belongs to no T. */
static void throughput_and_concurrency(void **state)
{
    (void)state;
    struct audit_options o = audit_defaults;
    o.run_gap_ns = 60000 * MS;
    struct audit a = {0};
    made_trace(&a);
    made_request(&a, (struct made){.t0 = 0, .first = 500, .step = 50, .events = 11, .tokens = 30});
    made_request(&a,
                 (struct made){.t0 = 500, .first = 500, .step = 50, .events = 11, .tokens = 20});
    made_request(
        &a, (struct made){.t0 = 3600000, .first = 3600500, .step = 50, .events = 11, .tokens = 50});
    size_t failed =
        made_request(&a, (struct made){.t0 = 3601000, .first = 3602000, .events = 0, .tokens = -1});
    a.requests.v[failed].outcome = OUTCOME_OPEN;
    made_figures(&a, &o);
    struct metric_scope first = {1, 1, NULL}, second = {1, 2, NULL}, all = {1, 0, NULL};
    near(metrics_find(&a, "output_tps", "value", first)->value, 50);
    near(metrics_find(&a, "output_tps", "value", second)->value, 25); /* T ends with the open one */
    near(metrics_find(&a, "output_tps", "value", all)->value, 100.0 / 3);
    near(metrics_find(&a, "request_tps", "value", all)->value, 1);
    near(metrics_find(&a, "concurrency_avg", "value", first)->value, 1.5);
    near(metrics_find(&a, "concurrency_peak", "value", first)->value, 2);
    near(metrics_find(&a, "concurrency_peak", "value", second)->value,
         1); /* departures first at ties */
    near(metrics_find(&a, "requests", "count", all)->value, 4);
    near(metrics_find(&a, "failed", "open", all)->value, 1);
    audit_free(&a);
}

static void throughput_needs_every_count(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    made_request(&a, (struct made){.t0 = 0, .first = 500, .step = 50, .events = 11, .tokens = 30});
    made_request(&a,
                 (struct made){.t0 = 2000, .first = 2500, .step = 50, .events = 11, .tokens = -1});
    made_figures(&a, &audit_defaults);
    const struct metric *m =
        metrics_find(&a, "output_tps", "value", (struct metric_scope){1, 0, NULL});
    assert_int_equal(m->grade, GRADE_NOT_MEASURABLE);
    assert_string_equal(m->reason, "no token count was stated for 1 of 2 successful requests");
    audit_free(&a);
}

/* Singles of 1 s and 100 tokens; groups of two that need pair_ms for 200 tokens. */
static void made_singles_and_pairs(struct audit *a, int64_t pair_ms, const char *single_body,
                                   const char *pair_body)
{
    made_trace(a);
    for (int64_t i = 0; i < 5; i++)
        made_request(a, (struct made){.t0 = 5000 * i,
                                      .first = 5000 * i + 500,
                                      .step = 100 + i,
                                      .events = 6,
                                      .tokens = 100,
                                      .body = single_body});
    made_trace(a);
    for (int64_t i = 0; i < 5; i++) {
        for (int64_t k = 0; k < 2; k++)
            made_request(a, (struct made){.t0 = 9000 * i + 3 * k,
                                          .first = 9000 * i + 500,
                                          .step = (pair_ms - 500) / 100,
                                          .events = 101,
                                          .tokens = 100,
                                          .body = pair_body});
    }
}

static void speedup_against_the_same_bodies(void **state)
{
    (void)state;
    struct audit a = {0};
    made_singles_and_pairs(&a, 2000, "body", "body");
    made_figures(&a, &audit_defaults);
    struct metric_scope s = {2, 0, NULL};
    const struct metric *m = metrics_find(&a, "speedup", "p50", s);
    near(m->value, (200 / 2.0) / (100 / 1.01)); /* singles take 1.00 … 1.02 s */
    assert_int_equal(m->n, 5);
    near(m->ci_low, 100 / (100 / 1.0));
    near(m->ci_high, 100 / (100 / 1.02));
    assert_non_null(strstr(m->reason, "n = 5, the same request bodies"));
    assert_non_null(strstr(m->reason, "no difference: the interval holds 1"));
    near(metrics_find(&a, "release_skew", "max", s)->value, 0.003);
    near(metrics_find(&a, "release_skew", "p50", s)->value, 0.003);
    assert_int_equal(metrics_find(&a, "release_skew", "max", s)->n, 5);
    assert_null(metrics_find(&a, "speedup", "p50", (struct metric_scope){1, 0, NULL}));
    audit_free(&a);
}

static void speedup_against_everything_says_so(void **state)
{
    (void)state;
    struct audit a = {0};
    made_singles_and_pairs(&a, 1000, "one", "another");
    made_figures(&a, &audit_defaults);
    const struct metric *m = metrics_find(&a, "speedup", "p50", (struct metric_scope){2, 0, NULL});
    near(m->value, 2.02);
    assert_non_null(strstr(m->reason, "none has the same name or body"));
    assert_null(strstr(m->reason, "no difference"));
    audit_free(&a);
}

static void speedup_by_name_comes_first(void **state)
{
    (void)state;
    struct audit a = {0};
    made_singles_and_pairs(&a, 2000, "body", "body");
    struct audit_options o = audit_defaults;
    for (size_t i = 0; i < a.requests.n; i++) {
        a.requests.v[i].client_port = (uint16_t)(i + 1);
        struct ledger_entry e = {.workload = "w",
                                 .name = i == 2 || i >= 5 ? "p1" : "p2",
                                 .group = i < 5 ? -1 : (int64_t)(i - 5) / 2,
                                 .local_port = (int64_t)i + 1};
        VEC_PUSH(&a.traces.v[a.requests.v[i].trace].ledger, e);
    }
    made_figures(&a, &o);
    const struct metric *m = metrics_find(&a, "speedup", "p50", (struct metric_scope){2, 0, NULL});
    near(m->value, 100 / (100 / 1.01)); /* the third single alone has that name: 500 + 5 * 102 ms */
    assert_non_null(strstr(m->reason, "n = 1, the same names in the ledger"));
    assert_non_null(strstr(m->reason, "too few for an interval"));
    assert_true(isnan(m->ci_low));
    audit_free(&a);
}

static void speedup_needs_the_same_server(void **state)
{
    (void)state;
    struct audit a = {0};
    made_singles_and_pairs(&a, 2000, "body", "body");
    for (size_t i = 0; i < 5; i++)
        a.requests.v[i].server = "another";
    made_figures(&a, &audit_defaults);
    const struct metric *m = metrics_find(&a, "speedup", "p50", (struct metric_scope){2, 0, NULL});
    assert_int_equal(m->grade, GRADE_NOT_MEASURABLE);
    assert_string_equal(m->reason,
                        "no request was sent alone to the same server, in any of these traces");
    audit_free(&a);
}

/* The same singles in two traces, one from each vantage, are five and not ten. */
static void speedup_counts_no_request_twice(void **state)
{
    (void)state;
    struct audit a = {0};
    made_singles_and_pairs(&a, 2000, "body", "body");
    made_trace(&a);
    for (int64_t i = 0; i < 5; i++)
        made_request(&a, (struct made){.t0 = 5000 * i,
                                       .first = 5000 * i + 500,
                                       .step = 100,
                                       .events = 6,
                                       .tokens = 100,
                                       .body = "body"});
    a.traces.v[0].vantage = a.traces.v[1].vantage = "socket";
    a.traces.v[2].vantage = "libpcap";
    made_figures(&a, &audit_defaults);
    struct metric_scope s = {2, 0, NULL};
    assert_non_null(
        strstr(metrics_find(&a, "speedup", "p50", s)->reason, "n = 5, the same request bodies"));
    audit_free(&a);
}

static void speedup_takes_another_vantage_if_it_must(void **state)
{
    (void)state;
    struct audit a = {0};
    made_singles_and_pairs(&a, 2000, "body", "body");
    a.traces.v[0].vantage = "libpcap";
    a.traces.v[1].vantage = "socket";
    made_figures(&a, &audit_defaults);
    const struct metric *m = metrics_find(&a, "speedup", "p50", (struct metric_scope){2, 0, NULL});
    assert_true(m->value > 0);
    audit_free(&a);
}

static void a_failed_member_leaves_its_group_out(void **state)
{
    (void)state;
    struct audit a = {0};
    made_singles_and_pairs(&a, 2000, "body", "body");
    a.requests.v[14].outcome = OUTCOME_HTTP_ERROR;
    made_figures(&a, &audit_defaults);
    const struct metric *m = metrics_find(&a, "speedup", "p50", (struct metric_scope){2, 0, NULL});
    assert_int_equal(m->n, 4);
    assert_non_null(strstr(m->reason, "1 of the groups left out"));
    audit_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_of_a_plain_request),
        cmocka_unit_test(first_tokens_stated_or_assumed),
        cmocka_unit_test(thinking_that_was_not_sent_is_left_out),
        cmocka_unit_test(thinking_that_the_count_leaves_out),
        cmocka_unit_test(thinking_that_was_sent_counts),
        cmocka_unit_test(more_tokens_than_bytes_have_no_decode_rate),
        cmocka_unit_test(a_first_piece_that_was_held_back_has_no_n1),
        cmocka_unit_test(negative_ttfb_is_printed),
        cmocka_unit_test(gates_close_where_they_say),
        cmocka_unit_test(thresholds_are_options),
        cmocka_unit_test(one_document_has_no_decode_rate),
        cmocka_unit_test(count_never_comes_from_a_wish),
        cmocka_unit_test(failed_requests_keep_times_and_lose_rates),
        cmocka_unit_test(damaged_requests_are_in_no_quantile),
        cmocka_unit_test(percentiles_need_enough_values),
        cmocka_unit_test(gaps_inside_a_read_are_said),
        cmocka_unit_test(throughput_and_concurrency),
        cmocka_unit_test(throughput_needs_every_count),
        cmocka_unit_test(speedup_against_the_same_bodies),
        cmocka_unit_test(speedup_against_everything_says_so),
        cmocka_unit_test(speedup_by_name_comes_first),
        cmocka_unit_test(speedup_needs_the_same_server),
        cmocka_unit_test(speedup_counts_no_request_twice),
        cmocka_unit_test(speedup_takes_another_vantage_if_it_must),
        cmocka_unit_test(a_failed_member_leaves_its_group_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
