/* What the figures of one file leave for each other, without a trace: a mean beside its median and
 * its deviation, beside the values that are listed for it, a rate beside all tokens. Each with one
 * that cannot be, and honest ones beside it. */
#include <math.h>

#include "analyze/claims_file.h"
#include "analyze/contradictions.h"
#include "tests/unit/analyze/scene.h"

struct file_case {
    const char *text;
    size_t wrong; /* claims that differ or are impossible */
    const char *says;
};

static void holds(const struct file_case *x)
{
    struct audit a = {0};
    struct claim_files fs = {.rows = 0};
    struct err e = {0};
    size_t wrong = 0;
    if (claims_file_take(&fs, &a, "f", slice_of(x->text), NULL, &e) != TA_OK)
        fail_msg("%s: %s", x->text, e.msg);
    claim_files_bind(&fs, &a, &audit_defaults);
    claims_judge(&a, &audit_defaults);
    contradictions_find(&fs, &a);
    for (size_t i = 0; i < a.claims.n; i++) {
        const struct claim *c = &a.claims.v[i];
        bool bad = c->verdict == VERDICT_DIFFERS || c->verdict == VERDICT_IMPOSSIBLE;
        wrong += bad;
        if (bad && (x->says == NULL || strstr(c->reason, x->says) == NULL))
            fail_msg("%s: %s: %s", x->text, verdict_name(c->verdict), c->reason);
    }
    if (wrong != x->wrong || a.findings.n > 0)
        fail_msg("%s: %zu claims contradict, not %zu; %zu findings", x->text, wrong, x->wrong,
                 a.findings.n);
    claim_files_free(&fs);
    audit_free(&a);
}

#define HOLD(cases)                                                                                \
    for (size_t i = 0; i < sizeof(cases) / sizeof *(cases); i++)                                   \
    holds(&(cases)[i])

#define VLLM_ITL(mean, median, std)                                                                \
    "{\"tokenizer_id\":\"m\",\"mean_itl_ms\":" #mean ",\"median_itl_ms\":" #median                 \
    ",\"std_itl_ms\":" #std "}"
#define GUIDE(members)                                                                             \
    "{\"metadata\":{\"version\":2,\"guidellm_version\":\"0.8.1\"},\"benchmarks\":[{" members "}]}"
#define OLD_GUIDE(members)                                                                         \
    "{\"metadata\":{\"version\":2,\"guidellm_version\":\"0.5.0\"},\"benchmarks\":[{" members "}]}"
#define ITL(mean, median, std)                                                                     \
    "\"metrics\":{\"inter_token_latency_ms\":{\"successful\":{\"mean\":" #mean                     \
    ",\"median\":" #median ",\"std_dev\":" #std "}}}"

static void a_mean_is_within_one_deviation_of_the_median(void **state)
{
    (void)state;
    static const struct file_case cases[] = {
        {VLLM_ITL(0.02, 20.16, 2.9), 1, "standard deviation"},
        {VLLM_ITL(20.03, 20.16, 2.9), 0, NULL},
        /* a value in two is 0, the other 2: the mean is one deviation from the median */
        {VLLM_ITL(1, 0, 1), 0, NULL},
        {VLLM_ITL(1.3, 0, 1.2), 0, NULL},                 /* within the digits */
        {VLLM_ITL(0, 0, 0), 0, NULL},                     /* no value at all */
        {VLLM_ITL(20.000000000000004, 20, 0.0), 0, NULL}, /* all the same, added up */
        {"{\"tokenizer_id\":\"m\",\"mean_itl_ms\":1,\"median_itl_ms\":9}", 0, NULL},
        /* weights make no difference */
        {GUIDE(ITL(25.58, 20.0, 20.4)), 0, NULL},
        {GUIDE(ITL(25.58, 20.0, 2.04)), 1, "standard deviation"},
        /* of these quantiles AIPerf has an estimate */
        {"{\"aiperf_version\":\"1\",\"schema_version\":\"1.3\",\"inter_chunk_latency\":{\"unit\":"
         "\"ms\",\"avg\":20.5,\"p50\":20.0,\"std\":0.01}}",
         0, NULL},
        {"{\"aiperf_version\":\"1\",\"schema_version\":\"1.3\",\"inter_token_latency\":{\"unit\":"
         "\"ms\",\"avg\":20.5,\"p50\":20.0,\"std\":0.01}}",
         1, "standard deviation"},
    };
    HOLD(cases);
}

#define BENCHY(mean, values)                                                                       \
    "{\"latency_mode\":\"none\",\"benchmarks\":[{\"concurrency\":1,\"prompt_size\":9,"             \
    "\"tg_throughput\":{\"mean\":" #mean ",\"std\":0.4,\"values\":[" values "]}}]}"

static void a_mean_is_that_of_its_values(void **state)
{
    (void)state;
    static const struct file_case cases[] = {
        {BENCHY(50.4, "50.5,49.9,50.8"), 0, NULL},
        {BENCHY(50.46469730068629, "50.540596169063406,49.94648919719139,50.90700653580408"), 0,
         NULL},
        {BENCHY(60.5, "50.5,49.9,50.8"), 1, "the mean of the 3 values"},
        {BENCHY(50.4, ""), 0, NULL},
        /* as in llama-benchy's printed digits: each is off by half a unit */
        {BENCHY(50.44, "50.5,49.9,50.8"), 0, NULL},
        {BENCHY(50.6, "50.5,49.9,50.8"), 1, "the mean of the 3 values"},
    };
    HOLD(cases);
}

#define AIPERF(stats)                                                                              \
    "{\"aiperf_version\":\"1\",\"schema_version\":\"1.3\",\"time_to_first_token\":{\"unit\":"      \
    "\"ms\"," stats "}}"

static void a_mean_is_its_sum_by_its_number(void **state)
{
    (void)state;
    static const struct file_case cases[] = {
        {AIPERF("\"avg\":20.0,\"count\":10,\"sum\":200.0"), 0, NULL},
        {AIPERF("\"avg\":24.0,\"count\":10,\"sum\":200.0"), 1, "which makes 20 ms each"},
        {AIPERF("\"avg\":20.04,\"count\":10,\"sum\":200.5"), 0, NULL}, /* by its digits */
        {AIPERF("\"avg\":24.0,\"sum\":200.0"), 0, NULL},
        {AIPERF("\"avg\":24.0,\"count\":10"), 0, NULL},
        /* by weights: 430 tokens */
        {GUIDE("\"metrics\":{\"inter_token_latency_ms\":{\"successful\":{\"mean\":25.581,\"count\":"
               "430,\"total_sum\":11000.0}}}"),
         0, NULL},
        {GUIDE("\"metrics\":{\"inter_token_latency_ms\":{\"successful\":{\"mean\":0.0,\"count\":0,"
               "\"total_sum\":0.0}}}"),
         0, NULL},
    };
    HOLD(cases);
}

/* 32 requests of 1,640 tokens in 10.25 s: 160 tok/s. */
#define LLMPERF(rate)                                                                              \
    "{\"results_num_requests_started\":32,\"results_num_completed_requests\":32,"                  \
    "\"results_num_completed_requests_per_min\":187.317,"                                          \
    "\"results_number_output_tokens_mean\":51.25,"                                                 \
    "\"results_mean_output_throughput_token_per_s\":" #rate "}"
#define RATE(mean)                                                                                 \
    "\"duration\":10.25,\"scheduler_metrics\":{\"requests_made\":{\"successful\":32}},"            \
    "\"metrics\":{\"output_token_count\":{\"successful\":{\"total_sum\":1640}},"                   \
    "\"inter_token_latency_ms\":{\"successful\":{\"total_sum\":32000.0}},"                         \
    "\"output_tokens_per_second\":{\"successful\":{\"mean\":" #mean "}}}"

static void rates_are_of_all_tokens(void **state)
{
    (void)state;
    static const struct file_case cases[] = {
        {LLMPERF(160.0), 0, NULL},
        {LLMPERF(4800.0), 1, "makes 160"},
        {LLMPERF(152.0), 1, "makes 160"},
        {GUIDE(RATE(160.0)), 0, NULL},
        {GUIDE(RATE(150.0)), 0, NULL}, /* tokens beside its window */
        {GUIDE(RATE(170.0)), 1, "its duration"},
        {OLD_GUIDE(RATE(170.0)), 0, NULL}, /* from the first text to the last */
        {OLD_GUIDE(RATE(1600.0)), 0, NULL},
        {OLD_GUIDE(RATE(4800.0)), 1, "text of a request"},
    };
    HOLD(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mean_is_within_one_deviation_of_the_median),
        cmocka_unit_test(a_mean_is_that_of_its_values),
        cmocka_unit_test(a_mean_is_its_sum_by_its_number),
        cmocka_unit_test(rates_are_of_all_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
