/* Figures as their tools take them: weighted by tokens, of streams or of answers alone, 0 for none.
 * Each as it is, and a near one that is not. */
#include <math.h>

#include "analyze/claims_file.h"
#include "tests/unit/analyze/scene.h"

/* --- what is judged --------------------------------------------------------------------------- */

struct judged {
    struct audit a;
    struct claim_files fs;
};

static void judge(struct judged *j, const char *text)
{
    struct err e = {0};
    if (claims_file_take(&j->fs, &j->a, "f", slice_of(text), NULL, &e) != TA_OK)
        fail_msg("%s", e.msg);
    claim_files_bind(&j->fs, &j->a, &audit_defaults);
    claims_judge(&j->a, &audit_defaults);
}

static void done(struct judged *j)
{
    claim_files_free(&j->fs);
    audit_free(&j->a);
}

typedef void scene_fn(struct audit *a);

struct figure_case {
    scene_fn *scene;
    const char *tool, *body; /* of the file, as the tool's form has it */
    const char *metric, *stat;
    enum verdict verdict;
    const char *says; /* in the reason; NULL: anything */
};

static const char *form_of(const char *tool)
{
    if (strcmp(tool, "guidellm") == 0)
        return "{\"metadata\":{\"version\":2,\"guidellm_version\":\"0.8.1\"},\"benchmarks\":[{%s}]"
               "}";
    if (strcmp(tool, "vllm") == 0)
        return "{\"tokenizer_id\":\"m\",%s}";
    if (strcmp(tool, "aiperf") == 0)
        return "{\"aiperf_version\":\"0.13.0\",\"schema_version\":\"1.3\",%s}";
    return "{%s}";
}

static void holds(const struct figure_case *x)
{
    struct judged j = {.fs = {.rows = 0}};
    char text[2048];
    const char *form = form_of(x->tool), *gap = strstr(form, "%s");
    snprintf(text, sizeof text, "%.*s%s%s", (int)(gap - form), form, x->body, gap + 2);
    made_trace(&j.a);
    x->scene(&j.a);
    scene_figures(&j.a);
    judge(&j, text);
    const struct claim *c = NULL;
    for (size_t i = 0; i < j.a.claims.n; i++) {
        if (strcmp(j.a.claims.v[i].metric, x->metric) == 0 &&
            strcmp(j.a.claims.v[i].stat, x->stat) == 0)
            c = &j.a.claims.v[i];
    }
    if (c == NULL)
        fail_msg("%s: no claim %s.%s", x->body, x->metric, x->stat);
    if (c->verdict != x->verdict || (x->says != NULL && strstr(c->reason, x->says) == NULL))
        fail_msg("%s (%s): %s, not %s: %s", x->body, x->stat, verdict_name(c->verdict),
                 verdict_name(x->verdict), c->reason);
    done(&j);
}

#define HOLD(cases)                                                                                \
    for (size_t i = 0; i < sizeof(cases) / sizeof *(cases); i++)                                   \
    holds(&(cases)[i])

#define ITL(text) "\"metrics\":{\"inter_token_latency_ms\":{\"successful\":{" text "}}}"
#define TPOT(text) "\"metrics\":{\"time_per_output_token_ms\":{\"successful\":{" text "}}}"
#define TTFT(text) "\"metrics\":{\"time_to_first_token_ms\":{\"successful\":{" text "}}}"

/* --- weighted by tokens ----------------------------------------------------------------------- */

/* Three of 11 tokens, 100 ms each, and one of 401, 20 ms each; 500 ms before the first. */
static void mixed_lengths(struct audit *a)
{
    for (size_t i = 0; i < 4; i++) {
        double t = 20.0 * (double)i, gap = i < 3 ? 0.1 : 0.02;
        size_t n = i < 3 ? 11 : 401;
        scene_add(a, (struct act){.t0 = t,
                                  .first = t + 0.5,
                                  .last = t + 0.5 + gap * (double)(n - 1),
                                  .end = t + 0.6 + gap * (double)(n - 1),
                                  .events = n,
                                  .tokens = (int64_t)n,
                                  .prompt = 10});
    }
}

static void short_replies(struct audit *a)
{
    for (size_t i = 0; i < 3; i++) {
        double t = 5.0 * (double)i;
        scene_add(a, (struct act){.t0 = t,
                                  .first = t + 0.01,
                                  .last = t + 0.21,
                                  .end = t + 0.22,
                                  .events = 5,
                                  .tokens = 5,
                                  .prompt = 10});
    }
}

static void by_tokens(void **state)
{
    (void)state;
    static const struct figure_case cases[] = {
        {mixed_lengths, "guidellm", ITL("\"median\":20.0"), "tpot", "p50", VERDICT_CONFIRMED, NULL},
        {mixed_lengths, "guidellm", ITL("\"median\":100.0"), "tpot", "p50", VERDICT_DIFFERS,
         "weighted p50"},
        {mixed_lengths, "guidellm", ITL("\"percentiles\":{\"p90\":20.0}"), "tpot", "p90",
         VERDICT_CONFIRMED, NULL},
        {mixed_lengths, "guidellm", ITL("\"percentiles\":{\"p90\":100.0}"), "tpot", "p90",
         VERDICT_DIFFERS, NULL}, /* as without weights */
        {mixed_lengths, "guidellm", ITL("\"percentiles\":{\"p95\":100.0}"), "tpot", "p95",
         VERDICT_CONFIRMED, NULL},
        {mixed_lengths, "guidellm", ITL("\"max\":100.0"), "tpot", "max", VERDICT_CONFIRMED, NULL},
        {mixed_lengths, "guidellm", ITL("\"min\":20.0"), "tpot", "min", VERDICT_CONFIRMED, NULL},
        {mixed_lengths, "guidellm", ITL("\"min\":25.0"), "tpot", "min", VERDICT_DIFFERS, NULL},
        {mixed_lengths, "guidellm", ITL("\"mean\":25.581"), "tpot", "mean", VERDICT_CONFIRMED,
         NULL},
        {mixed_lengths, "guidellm", ITL("\"total_sum\":11000.0"), "tpot", "sum", VERDICT_CONFIRMED,
         NULL},
        /* (0.5 + 8) / 401 and 1.5 / 11 */
        {mixed_lengths, "guidellm", TPOT("\"median\":21.197"), "ntpot", "p50", VERDICT_CONFIRMED,
         NULL},
        {mixed_lengths, "guidellm", TPOT("\"percentiles\":{\"p99\":136.36}"), "ntpot", "p99",
         VERDICT_CONFIRMED, NULL},
        {mixed_lengths, "guidellm", TPOT("\"percentiles\":{\"p90\":60.0}"), "ntpot", "p90",
         VERDICT_DIFFERS, NULL},
        /* Few tokens are no reason to hold it against the whole latency. */
        {short_replies, "guidellm", ITL("\"median\":50.0"), "tpot", "p50", VERDICT_CONFIRMED, NULL},
        {short_replies, "guidellm", ITL("\"max\":50.0"), "tpot", "max", VERDICT_CONFIRMED, NULL},
        {short_replies, "guidellm", ITL("\"median\":42.0"), "tpot", "p50", VERDICT_DIFFERS, NULL},
        /* A client that is 10 ms late (P28) has these, one that lies has those. */
        {short_replies, "guidellm", TPOT("\"median\":42.0"), "ntpot", "p50", VERDICT_CONFIRMED,
         NULL},
        {short_replies, "guidellm", TPOT("\"median\":44.0"), "ntpot", "p50", VERDICT_NOT_MEASURABLE,
         NULL},
        {short_replies, "guidellm", ITL("\"median\":48.0"), "tpot", "p50", VERDICT_NOT_MEASURABLE,
         NULL},
        {short_replies, "guidellm", TPOT("\"median\":38.0"), "ntpot", "p50", VERDICT_DIFFERS, NULL},
        {short_replies, "guidellm", TPOT("\"median\":60.0"), "ntpot", "p50", VERDICT_DIFFERS, NULL},
    };
    HOLD(cases);
}

static void without_usage(struct audit *a)
{
    mixed_lengths(a);
    for (size_t i = 0; i < a->requests.n; i++)
        a->requests.v[i].usage.completion = -1;
}

/* GuideLLM takes events for tokens then: what fits is confirmed, what does not is not known. */
static void by_events(void **state)
{
    (void)state;
    static const struct figure_case cases[] = {
        {without_usage, "guidellm", ITL("\"total_sum\":11000.0"), "tpot", "sum", VERDICT_CONFIRMED,
         NULL},
        {without_usage, "guidellm", TPOT("\"total_sum\":13000.0"), "ntpot", "sum",
         VERDICT_CONFIRMED, NULL},
        {without_usage, "guidellm", ITL("\"total_sum\":12000.0"), "tpot", "sum", VERDICT_DIFFERS,
         "11.0 s"},
        {without_usage, "guidellm", ITL("\"mean\":25.581"), "tpot", "mean", VERDICT_CONFIRMED,
         "events where no N is stated"},
        {without_usage, "guidellm", ITL("\"mean\":22.0"), "tpot", "mean", VERDICT_NOT_MEASURABLE,
         "no token count"},
    };
    HOLD(cases);
}

/* --- cancelled -------------------------------------------------------------------------------- */

/* Three at a time for 4 s; one of them is cut when the time is over. */
static void one_cancelled(struct audit *a)
{
    for (size_t i = 0; i < 3; i++)
        scene_add(a, (struct act){.t0 = 0.001 * (double)i,
                                  .first = 1,
                                  .last = 3.9,
                                  .end = 4,
                                  .events = 30,
                                  .tokens = i < 2 ? 30 : 0,
                                  .prompt = 10});
    a->requests.v[2].outcome = OUTCOME_CUT_SHORT;
}

#define MADE(ok, errored, incomplete)                                                              \
    "\"scheduler_metrics\":{\"requests_made\":{\"successful\":" #ok ",\"errored\":" #errored       \
    ",\"incomplete\":" #incomplete ",\"total\":3}}"
#define IN_FLIGHT(mean)                                                                            \
    "\"metrics\":{\"request_concurrency\":{\"successful\":{\"mean\":" #mean "}}}"

static void cancelled(void **state)
{
    (void)state;
    static const struct figure_case cases[] = {
        {one_cancelled, "guidellm", MADE(2, 0, 1), "failed", "value", VERDICT_CONFIRMED, NULL},
        {one_cancelled, "guidellm", MADE(2, 1, 0), "failed", "value", VERDICT_CONFIRMED, NULL},
        {one_cancelled, "guidellm", MADE(2, 0, 0), "failed", "value", VERDICT_DIFFERS, NULL},
        {one_cancelled, "guidellm", MADE(2, 2, 1), "failed", "value", VERDICT_DIFFERS, NULL},
        {one_cancelled, "guidellm", IN_FLIGHT(2.0), "concurrency_avg", "value", VERDICT_CONFIRMED,
         "of successes"},
        {one_cancelled, "guidellm", IN_FLIGHT(0.9), "concurrency_avg", "value", VERDICT_DIFFERS,
         NULL},
    };
    HOLD(cases);
}

/* --- 0 for none ------------------------------------------------------------------------------- */

static void all_failed(struct audit *a)
{
    for (size_t i = 0; i < 3; i++) {
        size_t k = (size_t)(scene_add(a, (struct act){.t0 = (double)i, .end = (double)i + 0.1}) -
                            a->requests.v);
        a->requests.v[k].outcome = OUTCOME_HTTP_ERROR;
        a->requests.v[k].h = a->requests.v[k].z;
    }
}

static void add_short(struct audit *a, size_t events, bool document)
{
    for (size_t i = 0; i < 3; i++) {
        double t = (double)i;
        scene_add(a, (struct act){.t0 = t,
                                  .role = document ? 0 : t + 0.05,
                                  .first = t + 0.1,
                                  .last = t + 0.1 + 0.1 * (double)(events - 1),
                                  .end = t + 0.12 + 0.1 * (double)(events - 1),
                                  .events = events,
                                  .tokens = document ? 20 : (int64_t)events,
                                  .prompt = 10,
                                  .no_stream = document});
    }
}

static void one_token(struct audit *a)
{
    add_short(a, 1, false);
}

static void two_tokens(struct audit *a)
{
    add_short(a, 2, false);
}

static void documents(struct audit *a)
{
    add_short(a, 1, true);
}

static void document_and_streams(struct audit *a)
{
    add_short(a, 2, false);
    a->requests.v[0].stream_reply = false;
}

static void zeros(void **state)
{
    (void)state;
    static const struct figure_case cases[] = {
        {all_failed, "vllm", "\"mean_ttft_ms\":0", "ttft", "mean", VERDICT_NOT_MEASURABLE,
         "no request succeeded"},
        {all_failed, "vllm", "\"p99_e2el_ms\":0", "latency", "p99", VERDICT_NOT_MEASURABLE,
         "no request succeeded"},
        {all_failed, "guidellm", TTFT("\"mean\":0.0"), "ttft", "mean", VERDICT_NOT_MEASURABLE,
         "no request succeeded"},
        {all_failed, "vllm", "\"total_output_tokens\":0", "output_tokens", "sum",
         VERDICT_NOT_MEASURABLE, "no request succeeded"},
        {one_token, "vllm", "\"total_output_tokens\":0", "output_tokens", "sum", VERDICT_DIFFERS,
         NULL},
        {all_failed, "aiperf", "\"time_to_first_token\":{\"unit\":\"ms\",\"avg\":0}", "ttft",
         "mean", VERDICT_IMPOSSIBLE, NULL}, /* it leaves the figure out instead */
        {one_token, "vllm", "\"mean_ttft_ms\":0", "ttft", "mean", VERDICT_IMPOSSIBLE, NULL},
        {one_token, "vllm", "\"mean_itl_ms\":0", "icl", "mean", VERDICT_NOT_MEASURABLE,
         "no reply has a second event"},
        {two_tokens, "vllm", "\"mean_itl_ms\":0", "icl", "mean", VERDICT_NOT_MEASURABLE,
         "vLLM's gaps are"}, /* there are some: no more is known of them */
        {one_token, "vllm", "\"mean_tpot_ms\":0", "tpot", "mean", VERDICT_NOT_MEASURABLE,
         "no reply has a second token"},
        {two_tokens, "vllm", "\"mean_tpot_ms\":0", "tpot", "mean", VERDICT_IMPOSSIBLE, NULL},
        {one_token, "guidellm", ITL("\"median\":0.0"), "tpot", "p50", VERDICT_NOT_MEASURABLE,
         "no reply has a second token"},
        {two_tokens, "guidellm", ITL("\"median\":0.0"), "tpot", "p50", VERDICT_IMPOSSIBLE, NULL},
        {documents, "guidellm", TTFT("\"mean\":0.0"), "ttft", "mean", VERDICT_NOT_MEASURABLE,
         "no reply is a stream"},
        {documents, "guidellm", ITL("\"mean\":0.0"), "tpot", "mean", VERDICT_NOT_MEASURABLE,
         "no reply is a stream"},
        {document_and_streams, "guidellm", TTFT("\"max\":0.0"), "ttft", "max", VERDICT_IMPOSSIBLE,
         NULL},
        {document_and_streams, "guidellm", TTFT("\"mean\":66.67"), "ttft", "mean",
         VERDICT_CONFIRMED, "0 of documents"},
        {document_and_streams, "guidellm", TTFT("\"mean\":100.0"), "ttft", "mean",
         VERDICT_CONFIRMED, "o_1-t0"},
    };
    HOLD(cases);
}

/* --- a sum is no rate of one -------------------------------------------------------------------
 */

/* 20 at 100 events, and 400 bytes, a second. */
static void without_count(struct audit *a)
{
    for (size_t i = 0; i < 20; i++) {
        double t = 2.0 * (double)i;
        scene_add(a, (struct act){.t0 = t,
                                  .first = t + 0.1,
                                  .last = t + 1.1,
                                  .end = t + 1.2,
                                  .events = 101,
                                  .prompt = 10});
    }
}

#define USER(stat, v)                                                                              \
    "\"output_token_throughput_per_user\":{\"unit\":\"tokens/sec/user\",\"" stat "\":" #v "}"

static void sums_of_rates(void **state)
{
    (void)state;
    static const struct figure_case cases[] = {
        {without_count, "aiperf", USER("sum", 2000.0), "output_tps_user", "sum",
         VERDICT_NOT_MEASURABLE, NULL},
        {without_count, "aiperf", USER("sum", 20000.0), "output_tps_user", "sum",
         VERDICT_IMPOSSIBLE, "more tokens than bytes"},
        {without_count, "aiperf", USER("avg", 2000.0), "output_tps_user", "mean",
         VERDICT_IMPOSSIBLE, "more tokens than bytes"},
    };
    HOLD(cases);
}

/* --- thinking --------------------------------------------------------------------------------- */

/* Thinking from 1 s, the answer from 3 s to 5 s; 41 tokens. */
static void thinking(struct audit *a)
{
    struct request *r = scene_add(a, (struct act){.role = 0.2,
                                                  .first = 1,
                                                  .last = 5,
                                                  .end = 5.5,
                                                  .events = 41,
                                                  .tokens = 41,
                                                  .prompt = 10});
    r->answer_ns = r->content_ns = scene_ns(3);
    r->reasoning_bytes = 80;
}

#define LATENCY(name, v)                                                                           \
    "\"load_summary\":{\"count\":1},\"successes\":{\"count\":1,\"latency\":{\"" name               \
    "\":{\"mean\":" #v "}}}"

static void answers(void **state)
{
    (void)state;
    static const struct figure_case cases[] = {
        {thinking, "inference-perf", LATENCY("time_to_first_token", 3.0), "ttft", "mean",
         VERDICT_CONFIRMED, "answer-t0"},
        {thinking, "inference-perf", LATENCY("time_to_first_token", 1.0), "ttft", "mean",
         VERDICT_CONFIRMED, "o_1-t0"}, /* later versions */
        {thinking, "inference-perf", LATENCY("time_to_first_token", 2.0), "ttft", "mean",
         VERDICT_DIFFERS, NULL},
        {thinking, "inference-perf", LATENCY("time_per_output_token", 0.05), "tpot", "mean",
         VERDICT_CONFIRMED, "(o_M-answer)/(N-1)"},
        {thinking, "inference-perf", LATENCY("time_per_output_token", 0.3), "tpot", "mean",
         VERDICT_DIFFERS, NULL},
        {thinking, "llmperf", "\"results_num_requests_started\":1,\"results_ttft_s_mean\":3.0",
         "ttft", "mean", VERDICT_CONFIRMED, "answer-t0"},
        {thinking, "llmperf", "\"results_num_requests_started\":1,\"results_ttft_s_mean\":1.0",
         "ttft", "mean", VERDICT_DIFFERS, NULL},
        {thinking, "vllm", "\"mean_ttft_ms\":3000.0", "ttft", "mean", VERDICT_DIFFERS, "P26"},
    };
    HOLD(cases);
}

/* --- events without text ---------------------------------------------------------------------- */

/* The role comes in the packet of the first text, the finish 400 ms behind the last. */
static struct request *late_finish(struct audit *a)
{
    struct request *r = scene_add(a, (struct act){.role = 1,
                                                  .first = 1,
                                                  .last = 2,
                                                  .end = 2.5,
                                                  .events = 101,
                                                  .tokens = 101,
                                                  .prompt = 10});
    r->choice_ns = scene_ns(2.4);
    r->choice_events++;
    return r;
}

static void role_with_text(struct audit *a)
{
    late_finish(a);
}

static void one_event_more(struct audit *a)
{
    late_finish(a)->choice_events++;
}

static void gaps_to_the_finish(void **state)
{
    (void)state;
    static const struct figure_case cases[] = {
        {role_with_text, "vllm", "\"completed\":1,\"max_itl_ms\":400.0", "icl", "max",
         VERDICT_CONFIRMED, "choice events"},
        {role_with_text, "vllm", "\"completed\":1,\"min_itl_ms\":0.0", "icl", "min",
         VERDICT_CONFIRMED, "choice events"}, /* from the role to the text */
        {role_with_text, "vllm", "\"completed\":1,\"median_itl_ms\":400.0", "icl", "p50",
         VERDICT_DIFFERS, NULL},
        {one_event_more, "vllm", "\"completed\":1,\"max_itl_ms\":400.0", "icl", "max",
         VERDICT_DIFFERS, NULL}, /* where it was, nobody knows */
    };
    HOLD(cases);
}

/* --- bursts ----------------------------------------------------------------------------------- */

/* Of 15, five are kept back and sent in 20 ms; the others take 20.0 … 20.9 ms a token. */
static void some_bursts(struct audit *a)
{
    for (size_t i = 0; i < 15; i++) {
        double t = 20.0 * (double)i, gap = 0.02 + 0.0001 * (double)i;
        bool burst = i >= 10;
        scene_add(a, (struct act){.t0 = t,
                                  .first = t + (burst ? 5 : 0.1),
                                  .last = t + (burst ? 5.02 : 0.1 + 300 * gap),
                                  .end = t + (burst ? 5.03 : 0.2 + 300 * gap),
                                  .events = 301,
                                  .tokens = 301,
                                  .prompt = 10});
    }
}

/* Two of 21 events 83 ms apart, and thirty of three events 33 us apart: within one read. */
static void two_humps(struct audit *a)
{
    for (size_t i = 0; i < 32; i++) {
        double t = 5.0 * (double)i, last = t + 0.1 + (i < 2 ? 20 * 0.083 : 2 * 33e-6);
        size_t n = i < 2 ? 21 : 3;
        scene_add(a, (struct act){.t0 = t,
                                  .first = t + 0.1,
                                  .last = last,
                                  .end = last + 0.01,
                                  .events = n,
                                  .tokens = (int64_t)n,
                                  .prompt = 10});
    }
}

#define CHUNKS(text) "\"inter_chunk_latency\":{\"unit\":\"ms\"," text "}"
#define USERS(text) "\"output_token_throughput_per_user\":{\"unit\":\"tokens/sec/user\"," text "}"

static void short_replies_have_gaps(void **state)
{
    (void)state;
    static const struct figure_case cases[] = {
        {two_humps, "aiperf", CHUNKS("\"p50\":0.033"), "icl", "p50", VERDICT_CONFIRMED, NULL},
        {two_humps, "aiperf", CHUNKS("\"p50\":2000.0"), "icl", "p50", VERDICT_DIFFERS, NULL},
        {two_humps, "sglang", "\"sharegpt_output_len\":null,\"median_itl_ms\":0.033", "icl", "p50",
         VERDICT_CONFIRMED, NULL},
        {two_humps, "sglang", "\"sharegpt_output_len\":null,\"median_itl_ms\":2000.0", "icl", "p50",
         VERDICT_DIFFERS, NULL},
        /* a client may have no moment between events of one read, and leave them out */
        {two_humps, "aiperf", USERS("\"avg\":12.05"), "output_tps_user", "mean", VERDICT_CONFIRMED,
         NULL},
        {two_humps, "aiperf", USERS("\"avg\":4.0"), "output_tps_user", "mean", VERDICT_DIFFERS,
         NULL},
    };
    HOLD(cases);
}

static void bursts(void **state)
{
    (void)state;
    static const struct figure_case cases[] = {
        /* of all 15, with their N-1: the third of the ten */
        {some_bursts, "vllm", "\"median_tpot_ms\":20.2", "tpot", "p50", VERDICT_CONFIRMED,
         "kept back (P43) it is 20.4"},
        {some_bursts, "vllm", "\"mean_tpot_ms\":13.655", "tpot", "mean", VERDICT_DIFFERS, "(P43)"},
        {some_bursts, "vllm", "\"median_tpot_ms\":20.45", "tpot", "p50", VERDICT_CONFIRMED, NULL},
        {some_bursts, "vllm", "\"median_tpot_ms\":17.0", "tpot", "p50", VERDICT_DIFFERS,
         "no known formula"},
        {some_bursts, "guidellm", ITL("\"mean\":13.655"), "tpot", "mean", VERDICT_DIFFERS, "(P43)"},
        {some_bursts, "guidellm", ITL("\"mean\":20.45"), "tpot", "mean", VERDICT_CONFIRMED, NULL},
    };
    HOLD(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_tokens),
        cmocka_unit_test(by_events),
        cmocka_unit_test(cancelled),
        cmocka_unit_test(zeros),
        cmocka_unit_test(sums_of_rates),
        cmocka_unit_test(answers),
        cmocka_unit_test(short_replies_have_gaps),
        cmocka_unit_test(bursts),
        cmocka_unit_test(gaps_to_the_finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
