/* What other tools would print: where their definitions part, on requests whose times were chosen.
 */
#include "analyze/peers.h"
#include "tests/unit/analyze/scene.h"

static void near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-6 * (1 + fabs(expected))))
        fail_msg("found %.17g, expected %.17g", found, expected);
}

/* A reasoning model: sent at 0, the role at 0.2 s, thinking from 1 s, the answer from 3 s, text
 * till 5 s in 41 events, the end of the stream at 5.5 s; 81 tokens, 100 of the prompt. */
static struct request *thinking(struct audit *a, double t0)
{
    struct request *r = scene_add(a, (struct act){.t0 = t0,
                                                  .role = t0 + 0.2,
                                                  .first = t0 + 1,
                                                  .last = t0 + 5,
                                                  .end = t0 + 5.5,
                                                  .events = 41,
                                                  .tokens = 81,
                                                  .prompt = 100,
                                                  .max_tokens = 500});
    r->answer_ns = scene_ns(t0 + 3);
    r->events = 45; /* role, 41, finish, usage, [DONE] */
    r->choice_ns = scene_ns(t0 + 5.25);
    r->choice_events++;
    r->client_port = (uint16_t)(1000 + a->requests.n);
    r->recounted = -1;
    return r;
}

static const struct peer_figure *figure(const struct peer_reports *all, const char *tool,
                                        const char *name)
{
    for (size_t i = 0; i < all->n; i++) {
        if (strcmp(peer_name(all->v[i].peer), tool) != 0)
            continue;
        for (size_t k = 0; k < all->v[i].figures.n; k++) {
            if (strcmp(all->v[i].figures.v[k].name, name) == 0)
                return &all->v[i].figures.v[k];
        }
    }
    fail_msg("%s has no %s", tool, name);
    return NULL;
}

struct expected {
    const char *tool, *name;
    double value;
};

static void holds(const struct peer_reports *all, const struct expected *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct peer_figure *f = figure(all, v[i].tool, v[i].name);
        if (isnan(v[i].value) ? !isnan(f->value)
                              : !(fabs(f->value - v[i].value) <= 1e-6 * (1 + fabs(v[i].value))))
            fail_msg("%s %s: found %.9g, expected %.9g (%s)", v[i].tool, v[i].name, f->value,
                     v[i].value, f->note != NULL ? f->note : "");
        if (isnan(f->value))
            assert_non_null(f->note);
    }
}

static void one_request_eight_tools(void **state)
{
    (void)state;
    struct audit a = {0};
    struct peer_reports all = {0};
    made_trace(&a);
    thinking(&a, 0);
    scene_figures(&a);
    peers_report(&a, &audit_defaults, NULL, &all);
    assert_int_equal(all.n, 8);
    static const struct expected v[] = {
        {"vllm", "mean_ttft_ms", 1000},
        {"sglang", "mean_ttft_ms", 1000},
        {"aiperf", "time_to_first_token.avg", 1000},
        {"aiperf", "time_to_first_output_token.avg", 3000},
        {"guidellm", "time_to_first_token_ms.mean", 1000},
        {"llama-benchy", "ttfr.mean", 200},
        {"llama-benchy", "e2e_ttft.mean", 1000},
        {"inference-perf", "latency.time_to_first_token.mean", 3},
        {"llmperf", "results_ttft_s_mean", 3},
        {"genai-perf", "time_to_first_token.avg", 1000},
        {"vllm", "mean_e2el_ms", 5000},
        {"sglang", "mean_e2e_latency_ms", 5500},
        {"aiperf", "request_latency.avg", 5000},
        {"vllm", "mean_tpot_ms", 50},
        {"sglang", "mean_tpot_ms", 4500.0 / 80},
        {"guidellm", "time_per_output_token_ms.mean", 5000.0 / 81},
        {"guidellm", "inter_token_latency_ms.mean", 50},
        {"inference-perf", "latency.time_per_output_token.mean", 2.0 / 80},
        {"llmperf", "results_inter_token_latency_s_mean", 5.0 / 44},
        {"vllm", "mean_itl_ms", 100},
        {"sglang", "mean_itl_ms", 100},
        {"aiperf", "inter_chunk_latency.avg", 100},
        {"aiperf", "inter_token_latency.avg", 50},
        {"aiperf", "prefill_throughput_per_user.avg", 100},
        {"llama-benchy", "tg_req_throughput.mean", 20},
        {"llama-benchy", "pp_req_throughput.mean", 500},
        {"vllm", "output_throughput", 81 / 5.5},
        {"guidellm", "output_tokens_per_second.mean", 81 / 5.5},
        {"genai-perf", "request_throughput.avg", 1 / 5.0},
        {"genai-perf", "inter_token_latency.avg", NAN},
        {"inference-perf", "latency.inter_token_latency.mean", NAN},
        {"llmperf", "results_ttft_s_stddev", NAN}, /* of a sample of one */
        {"vllm", "std_ttft_ms", 0},
    };
    holds(&all, v, sizeof v / sizeof *v);
    assert_string_equal(figure(&all, "genai-perf", "inter_token_latency.avg")->note,
                        "it counts the text with a tokenizer, and no --tokenizer is given");
    peers_free(&all);
    audit_free(&a);
}

/* Without usage one prints its own wish, one counts events, one can't know; a recount serves those
 * who count text. */
static void where_n_comes_from(void **state)
{
    (void)state;
    struct audit a = {0};
    struct peer_reports all = {0};
    made_trace(&a);
    struct request *r = thinking(&a, 0);
    r->usage.completion = -1;
    scene_figures(&a);
    peers_report(&a, &audit_defaults, NULL, &all);
    static const struct expected v[] = {
        {"vllm", "total_output_tokens", NAN},           {"sglang", "total_output_tokens", 500},
        {"aiperf", "output_sequence_length.avg", NAN},  {"guidellm", "output_token_count.mean", 41},
        {"llama-benchy", "tg_req_throughput.mean", 10},
    };
    holds(&all, v, sizeof v / sizeof *v);
    assert_non_null(strstr(figure(&all, "sglang", "total_output_tokens")->note, "wish"));
    peers_free(&all);
    r->recounted = 79;
    peers_report(&a, &audit_defaults, NULL, &all);
    static const struct expected w[] = {
        {"vllm", "total_output_tokens", 79},
        {"aiperf", "output_sequence_length.avg", 79},
        {"genai-perf", "output_sequence_length.avg", 79},
        {"llmperf", "results_number_output_tokens_mean", 79},
        {"sglang", "total_output_tokens", 500},
    };
    holds(&all, w, sizeof w / sizeof *w);
    peers_free(&all);
    audit_free(&a);
}

/* A failure counts in some and vanishes in others. */
static void failures(void **state)
{
    (void)state;
    struct audit a = {0};
    struct peer_reports all = {0};
    made_trace(&a);
    thinking(&a, 0);
    struct request *r = thinking(&a, 2);
    r->outcome = OUTCOME_HTTP_ERROR;
    r->t_end = scene_ns(22);
    scene_figures(&a);
    peers_report(&a, &audit_defaults, NULL, &all);
    static const struct expected v[] = {
        {"vllm", "completed", 1},
        {"vllm", "failed", 1},
        {"vllm", "duration", 22},
        {"aiperf", "benchmark_duration", 5},
        {"aiperf", "error_request_count", 1},
        {"genai-perf", "request_throughput.avg", 2 / 5.0},
        {"aiperf", "request_throughput", 1 / 5.0},
        {"llmperf", "results_error_rate", 0.5},
        {"llmperf", "results_num_completed_requests_per_min", 60 / 22.0},
        {"inference-perf", "throughput.requests_per_sec", 1 / 22.0},
    };
    holds(&all, v, sizeof v / sizeof *v);
    peers_free(&all);
    audit_free(&a);
}

/* Two at once, the second a second late: per batch, the overlap counts. */
static void batches_and_peaks(void **state)
{
    (void)state;
    struct audit a = {0};
    struct peer_reports all = {0};
    made_trace(&a);
    thinking(&a, 0);
    thinking(&a, 0.04);
    scene_figures(&a);
    assert_int_equal(a.requests.v[1].group, 0);
    peers_report(&a, &audit_defaults, peer_named("llama-benchy"), &all);
    assert_int_equal(all.n, 1);
    static const struct expected v[] = {
        {"llama-benchy", "tg_throughput.mean", 160 / 4.04},
        {"llama-benchy", "pp_throughput.mean", 200 / 1.04},
        {"llama-benchy", "peak_throughput.mean",
         21 * 81 / 41.0}, /* 11 events of one, 10 of the other */
    };
    holds(&all, v, sizeof v / sizeof *v);
    peers_free(&all);
    peers_report(&a, &audit_defaults, NULL, &all);
    static const struct expected w[] = {
        {"vllm", "max_concurrent_requests", 2},
        {"sglang", "concurrency", 11 / 5.54},
        {"sglang", "max_output_tokens_per_s", 20},
    };
    holds(&all, w, sizeof w / sizeof *w);
    near(figure(&all, "vllm", "max_output_tokens_per_s")->value, 20);
    peers_free(&all);
    audit_free(&a);
}

/* Three short answers and a long one: a step weighted by tokens is the long one's. */
static void guidellm_steps(void **state)
{
    (void)state;
    struct audit a = {0};
    struct peer_reports all = {0};
    made_trace(&a);
    for (int i = 0; i < 4; i++)
        scene_add(&a, (struct act){.t0 = 10 * i,
                                   .first = 10 * i + 1,
                                   .last = 10 * i + (i == 3 ? 9 : 2),
                                   .events = 11,
                                   .tokens = i == 3 ? 401 : 11})
            ->recounted = -1;
    scene_figures(&a);
    peers_report(&a, &audit_defaults, peer_named("guidellm"), &all);
    static const struct expected v[] = {
        {"guidellm", "inter_token_latency_ms.median", 20}, /* 8 s / 400; the others 100 */
        {"guidellm", "inter_token_latency_ms.mean", (3 * 10 * 100 + 400 * 20) / 430.0},
        {"guidellm", "request_latency.median", 2},
        {"guidellm", "request_latency.percentiles.p90", 9},
    };
    holds(&all, v, sizeof v / sizeof *v);
    peers_free(&all);
    audit_free(&a);
}

/* A document has no first token for GuideLLM; without any value it and vLLM print 0, the others no
 * figure. Documents are 20 tokens in 1 s, the stream has 3 in 0.3 s. */
static void zero_for_none(void **state)
{
    (void)state;
    for (int streams = 0; streams < 2; streams++) {
        struct audit a = {0};
        struct peer_reports all = {0};
        made_trace(&a);
        for (int i = 0; i < 3; i++) {
            bool stream = streams == 1 && i == 2;
            scene_add(&a, (struct act){.t0 = 10 * i,
                                       .first = 10 * i + (stream ? 0.1 : 1),
                                       .last = 10 * i + (stream ? 0.3 : 1),
                                       .events = stream ? 3 : 1,
                                       .tokens = stream ? 3 : 20,
                                       .no_stream = !stream});
        }
        scene_figures(&a);
        peers_report(&a, &audit_defaults, NULL, &all);
        const struct expected v[] = {
            {"guidellm", "time_to_first_token_ms.mean", streams ? 100 : 0},
            {"guidellm", "time_to_first_token_ms.min", streams ? 100 : 0},
            {"guidellm", "request_latency.max", 1},
            {"guidellm", "inter_token_latency_ms.mean", streams ? 200 / 40.0 : 0},
            {"vllm", "mean_itl_ms", streams ? 100 : 0},
            {"aiperf", "inter_chunk_latency.avg", streams ? 100 : (double)NAN},
        };
        holds(&all, v, sizeof v / sizeof *v);
        const struct peer_figure *f = figure(&all, "guidellm", "time_to_first_token_ms.mean");
        if (!streams)
            assert_string_equal(f->note, "it prints 0 where there is no value");
        assert_int_equal(f->n, streams);
        peers_free(&all);
        audit_free(&a);
    }
}

/* Four answers of 1, 2, 9 and, of one token, 1 s, and a failure: each tool by its own rule. */
static void goodput_of_each(void **state)
{
    (void)state;
    struct audit a = {0};
    struct peer_reports all = {0};
    struct audit_options o = audit_defaults;
    made_trace(&a);
    for (int i = 0; i < 4; i++)
        scene_add(&a, (struct act){.t0 = 10 * i,
                                   .first = 10 * i + 0.5,
                                   .last = 10 * i + (i == 2 ? 9.5 : 1.5 + i % 3),
                                   .events = i == 3 ? 1 : 11,
                                   .tokens = i == 3 ? 1 : 11,
                                   .prompt = 100});
    scene_add(&a, (struct act){.t0 = 40, .first = 40.5, .last = 41, .events = 3, .tokens = 3})
        ->outcome = OUTCOME_HTTP_ERROR;
    for (size_t i = 0; i < a.requests.n; i++)
        a.requests.v[i].recounted = a.requests.v[i].usage.completion;
    scene_figures(&a);
    peers_report(&a, &o, NULL, &all);
    for (size_t i = 0; i < all.n; i++) /* nothing was asked for */
        for (size_t k = 0; k < all.v[i].figures.n; k++)
            assert_null(strstr(all.v[i].figures.v[k].name, "good"));
    peers_free(&all);

    o.slo[M_TTFT] = 0.6;
    o.slo[M_TPOT] = 0.25;
    peers_report(&a, &o, NULL, &all);
    static const struct expected v[] = {
        {"aiperf", "good_request_count", 2}, /* one token has no such latency, and fails */
        {"aiperf", "good_request_fraction", 2 / 5.0},
        {"sglang", "slo_attainment", 3 / 5.0},   /* … passes */
        {"guidellm", "slo_attainment", 2 / 4.0}, /* … can't be told */
        {"inference-perf", "goodput_metrics.goodput_percentage", 50},
    };
    holds(&all, v, sizeof v / sizeof *v);
    double t = figure(&all, "vllm", "duration")->value;
    near(figure(&all, "vllm", "request_goodput")->value, 3 / t);
    near(figure(&all, "guidellm", "request_goodput.mean")->value, 2 / t);
    near(figure(&all, "aiperf", "goodput")->value,
         2 / figure(&all, "aiperf", "benchmark_duration")->value);
    near(figure(&all, "inference-perf", "goodput_metrics.token_goodput")->value,
         111 * figure(&all, "inference-perf", "goodput_metrics.request_goodput")->value);
    peers_free(&all);

    o.slo[M_TTFB] = 1;
    peers_report(&a, &o, peer_named("vllm"), &all);
    const struct peer_figure *f = figure(&all, "vllm", "request_goodput");
    assert_true(isnan(f->value));
    assert_string_equal(f->note, "it has no limit of ttfb");
    peers_free(&all);
    audit_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_request_eight_tools), cmocka_unit_test(where_n_comes_from),
        cmocka_unit_test(goodput_of_each),         cmocka_unit_test(failures),
        cmocka_unit_test(batches_and_peaks),       cmocka_unit_test(guidellm_steps),
        cmocka_unit_test(zero_for_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
