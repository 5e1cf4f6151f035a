/* Which requests a file is about, where several sets of them could be it: every figure of a file is
 * exact for its own requests, and none of it may be held against others'. */
#include <inttypes.h>

#include "analyze/claims_file.h"
#include "analyze/contradictions.h"
#include "tests/unit/analyze/scene.h"
#include "traces/base/buf.h"

enum { EACH = 6, RUNS = 3, TOKENS = 41 };

/* All outputs of one length, as with ignore_eos: their sums tell nothing. */
static struct request *add(struct audit *a, double t, double ttft, double gap, const char *model)
{
    double last = t + ttft + gap * (TOKENS - 1);
    struct request *r = scene_add(a, (struct act){.t0 = t,
                                                  .first = t + ttft,
                                                  .last = last,
                                                  .end = last + 0.001,
                                                  .events = TOKENS,
                                                  .tokens = TOKENS,
                                                  .prompt = 50});
    r->model = model;
    return r;
}

static double gap_of(size_t run)
{
    return 0.010 + 0.005 * (double)run;
}

static double ttft_of(size_t run)
{
    return 0.1 + 0.01 * (double)run;
}

/* One after the other, each run slower than the one before it, some seconds between them. */
static double run_begins(size_t run)
{
    return 20.0 * (double)run;
}

#define PAUSE_S 0.01

static double one_lasts(size_t run)
{
    return ttft_of(run) + gap_of(run) * (TOKENS - 1) + 0.001;
}

static double lasts(size_t run)
{
    return (one_lasts(run) + PAUSE_S) * EACH - PAUSE_S;
}

static void add_sweep(struct audit *a, size_t traces)
{
    made_trace(a);
    for (size_t run = 0; run < RUNS; run++) {
        if (run > 0 && traces > 1)
            made_trace(a);
        for (size_t i = 0; i < EACH; i++) {
            double t = run_begins(run) + (one_lasts(run) + PAUSE_S) * (double)i;
            add(a, t, ttft_of(run), gap_of(run), "m")->trace = traces > 1 ? run : 0;
        }
    }
    scene_figures(a);
}

static void put_file(struct buf *out, const char *model, size_t n, double duration, double ttft,
                     double gap)
{
    double latency = ttft + gap * (TOKENS - 1);
    buf_printf(out,
               "{\"model_id\":\"%s\",\"tokenizer_id\":\"m\",\"duration\":%.6f,\"completed\":%zu,"
               "\"failed\":0,\"total_input_tokens\":%zu,\"total_output_tokens\":%zu,"
               "\"request_throughput\":%.6f,\"output_throughput\":%.6f,\"mean_ttft_ms\":%.3f,"
               "\"mean_tpot_ms\":%.3f,\"mean_e2el_ms\":%.3f,\"median_ttft_ms\":%.3f,"
               "\"p99_ttft_ms\":%.3f,\"median_e2el_ms\":%.3f,\"p99_e2el_ms\":%.3f}\n",
               model, duration, n, 50 * n, TOKENS * n, (double)n / duration,
               (double)(TOKENS * n) / duration, ttft * 1e3, gap * 1e3, latency * 1e3, ttft * 1e3,
               ttft * 1e3, latency * 1e3, latency * 1e3);
}

static void judge(struct audit *a, struct claim_files *fs, const char *text)
{
    struct err e = {0};
    if (claims_file_take(fs, a, "f", slice_of(text), NULL, &e) != TA_OK)
        fail_msg("%s", e.msg);
    claim_files_bind(fs, a, &audit_defaults);
    claims_judge(a, &audit_defaults);
}

static size_t count(const struct audit *a, enum verdict v)
{
    size_t n = 0;
    for (size_t i = 0; i < a->claims.n; i++)
        n += a->claims.v[i].verdict == v;
    return n;
}

static void all_are(const struct audit *a, enum verdict v)
{
    assert_true(a->claims.n > 0);
    for (size_t i = 0; i < a->claims.n; i++) {
        if (a->claims.v[i].verdict != v)
            fail_msg("%s: %s: %s", a->claims.v[i].text, verdict_name(a->claims.v[i].verdict),
                     a->claims.v[i].reason);
    }
}

static void each_run_of_a_sweep_is_found(void **state)
{
    (void)state;
    for (size_t run = 0; run <= RUNS; run++) { /* RUNS: all files, one behind the other */
        for (size_t traces = 1; traces <= RUNS; traces += RUNS - 1) {
            struct audit a = {0};
            struct claim_files fs = {.rows = 0};
            struct buf text;
            buf_init(&text, 1 << 16);
            add_sweep(&a, traces);
            for (size_t k = 0; k < RUNS; k++) {
                if (k == run || run == RUNS)
                    put_file(&text, "m", EACH, lasts(k), ttft_of(k), gap_of(k));
            }
            judge(&a, &fs, buf_text(&text));
            all_are(&a, VERDICT_CONFIRMED);
            buf_done(&text);
            claim_files_free(&fs);
            audit_free(&a);
        }
    }
}

/* One figure of a file is no reason to take it for another run's, nor to excuse it. */
static void a_lie_about_a_run_is_found_out(void **state)
{
    (void)state;
    for (int lie = 0; lie < 2; lie++) {
        struct audit a = {0};
        struct claim_files fs = {.rows = 0};
        struct buf text;
        buf_init(&text, 1 << 16);
        add_sweep(&a, 1);
        /* its duration, and the rates with it; the time per token of another run */
        put_file(&text, "m", EACH, lasts(0) * (lie == 0 ? 0.6 : 1), ttft_of(0), gap_of(0));
        char *tpot = strstr((char *)text.p, "\"mean_tpot_ms\":10.000");
        assert_non_null(tpot);
        if (lie == 1)
            memcpy(tpot, "\"mean_tpot_ms\":15.000", 21);
        judge(&a, &fs, buf_text(&text));
        assert_int_equal(count(&a, VERDICT_DIFFERS) + count(&a, VERDICT_IMPOSSIBLE),
                         lie == 0 ? 3 : 1);
        assert_int_equal(count(&a, VERDICT_NOT_MEASURABLE), 0);
        buf_done(&text);
        claim_files_free(&fs);
        audit_free(&a);
    }
}

/* A file with the results of all runs, and a trace of one: the others' are not of these requests.
 */
static void results_of_runs_that_are_not_there(void **state)
{
    (void)state;
    struct audit a = {0};
    struct claim_files fs = {.rows = 0};
    struct buf text;
    buf_init(&text, 1 << 16);
    made_trace(&a);
    for (size_t i = 0; i < EACH; i++)
        add(&a, (one_lasts(1) + PAUSE_S) * (double)i, ttft_of(1), gap_of(1), "m");
    scene_figures(&a);
    for (size_t k = 0; k < RUNS; k++)
        put_file(&text, "m", EACH, lasts(k), ttft_of(k), gap_of(k));
    judge(&a, &fs, buf_text(&text));
    assert_int_equal(count(&a, VERDICT_CONFIRMED), a.claims.n / RUNS);
    assert_int_equal(count(&a, VERDICT_NOT_MEASURABLE), a.claims.n - a.claims.n / RUNS);
    buf_done(&text);
    claim_files_free(&fs);
    audit_free(&a);
}

/* Two clients at once, every other request of each: which are whose, only a model tells. */
static void of_two_clients_at_once_a_model_tells(void **state)
{
    (void)state;
    static const struct {
        const char *other, *named; /* models */
        enum verdict verdict;
    } cases[] = {
        {"m2", "m", VERDICT_CONFIRMED},
        {"m2", "m2", VERDICT_NOT_MEASURABLE}, /* it names the other's, and is about these */
        {"m", "m", VERDICT_NOT_MEASURABLE},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct audit a = {0};
        struct claim_files fs = {.rows = 0};
        struct buf text;
        buf_init(&text, 1 << 16);
        made_trace(&a);
        for (size_t i = 0; i < EACH; i++) {
            add(&a, 1.0 * (double)i, 0.1, 0.01, "m");
            add(&a, 1.0 * (double)i + 0.3, 0.2, 0.02, cases[k].other);
        }
        scene_figures(&a);
        put_file(&text, cases[k].named, EACH, EACH - 1 + 0.501, 0.1, 0.01);
        judge(&a, &fs, buf_text(&text));
        all_are(&a, cases[k].verdict);
        buf_done(&text);
        claim_files_free(&fs);
        audit_free(&a);
    }
}

/* … or its rows, if they say which requests they are. */
static void of_two_clients_at_once_rows_tell(void **state)
{
    (void)state;
    for (int named = 0; named < 2; named++) {
        struct audit a = {0};
        struct claim_files fs = {.rows = 0};
        struct buf text;
        buf_init(&text, 1 << 16);
        made_trace(&a);
        buf_printf(
            &text,
            "{\"metadata\":{\"version\":2,\"guidellm_version\":\"0.8.1\"},\"benchmarks\":[{"
            "\"start_time\":%.3f,\"end_time\":%.3f,\"scheduler_metrics\":{\"requests_made\":{"
            "\"successful\":%d,\"errored\":0}},\"metrics\":{\"request_latency\":{"
            "\"successful\":{\"mean\":0.501}}},\"requests\":{\"successful\":[",
            (double)EPOCH_NS / 1e9, (double)EPOCH_NS / 1e9 + EACH, EACH);
        for (size_t i = 0; i < EACH; i++) {
            char id[16];
            snprintf(id, sizeof id, "q%zu", i);
            add(&a, 1.0 * (double)i, 0.1, 0.01, "m")->reply_id = model_hash(slice_of(id));
            add(&a, 1.0 * (double)i + 0.3, 0.2, 0.02, "m");
            buf_printf(&text, "%s{\"response_id\":\"%s%s\",\"request_latency\":0.501}",
                       i > 0 ? "," : "", named ? "" : "no ", id);
        }
        buf_puts(&text, "]}}]}");
        scene_figures(&a);
        judge(&a, &fs, buf_text(&text));
        claim_files_fold(&fs, &a);
        all_are(&a, named ? VERDICT_CONFIRMED : VERDICT_NOT_MEASURABLE);
        buf_done(&text);
        claim_files_free(&fs);
        audit_free(&a);
    }
}

/* AIPerf's says no sums; of 12 requests without a pause many in a row last about as long. */
static void what_only_lasts_as_long_accuses_nobody(void **state)
{
    (void)state;
    for (int own = 0; own < 2; own++) {
        struct audit a = {0};
        struct claim_files fs = {.rows = 0};
        char text[512];
        made_trace(&a);
        for (size_t i = 0; i < 2 * EACH; i++) /* two at a time */
            add(&a, 0.3 * (double)i, 0.1, i < EACH ? 0.0100 : 0.0125, "m");
        scene_figures(&a);
        snprintf(
            text, sizeof text,
            "{\"aiperf_version\":\"0.13\",\"benchmark_duration\":{\"unit\":\"sec\",\"avg\":%f},"
            "\"request_count\":{\"unit\":\"requests\",\"avg\":%d},"
            "\"request_latency\":{\"unit\":\"ms\",\"avg\":%f}}",
            0.3 * (EACH - 1) + 0.5, EACH, own ? 500.0 : 450.0);
        judge(&a, &fs, text);
        all_are(&a, own ? VERDICT_CONFIRMED : VERDICT_NOT_MEASURABLE);
        claim_files_free(&fs);
        audit_free(&a);
    }
}

/* The tool's clock is 3 s off: so all rows say, and no others than these requests would fit. */
static void rows_of_a_clock_that_is_off(void **state)
{
    (void)state;
    static const struct {
        double off;
        bool even;
        size_t joined;
        const char *says;
    } cases[] = {
        {0, false, 2 * EACH, "by start time"},
        {3, false, 2 * EACH, "clock is 3 s off"},
        {3, true, 0, "lie 3 s from"},          /* … as well others of them, sent at even times */
        {3000, false, 0, "from the requests"}, /* another run's */
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct audit a = {0};
        struct claim_files fs = {.rows = 0};
        struct buf text;
        buf_init(&text, 1 << 16);
        made_trace(&a);
        for (size_t i = 0; i < 2 * EACH; i++) {
            double t = cases[k].even ? 2.0 * (double)i : 0.3 * (double)(i * i) + (double)i;
            struct request *r = add(&a, t, 0.1, 0.01, "m");
            buf_printf(&text,
                       "{\"metadata\":{\"x_request_id\":\"q%zu\",\"request_start_ns\":%" PRId64
                       "},\"metrics\":{\"time_to_first_token\":{\"value\":100,\"unit\":\"ms\"}}}\n",
                       i, r->t0 + (int64_t)(cases[k].off * 1e9));
        }
        scene_figures(&a);
        judge(&a, &fs, buf_text(&text));
        assert_int_equal(fs.summaries.v[0].joined, cases[k].joined);
        if (strstr(fs.summaries.v[0].join, cases[k].says) == NULL)
            fail_msg("%s", fs.summaries.v[0].join);
        assert_int_equal(count(&a, VERDICT_DIFFERS), 0);
        buf_done(&text);
        claim_files_free(&fs);
        audit_free(&a);
    }
}

/* What is no figure is told with its place; what is none is not. */
static void numbers_that_no_measurement_gives(void **state)
{
    (void)state;
    static const struct {
        const char *ttfts, *mean, *says; /* NULL: nothing */
    } cases[] = {
        {"[0.1,-0.2]", "150", "row 2, ttfts[] is -0.2"},
        {"[0.1,Infinity]", "150", "row 2, ttfts[] is Infinity"},
        {"[0.1,0.2]", "1e308", "mean_ttft_ms is 1e308"},
        {"[0.1,0.2]", "-Infinity", "mean_ttft_ms is -Infinity"},
        {"[0.1,NaN]", "NaN", NULL},
        {"[0.1,null]", "150", NULL},
        {"[0.1,0.2]", "150", NULL},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct audit a = {0};
        struct claim_files fs = {.rows = 0};
        char text[256];
        snprintf(text, sizeof text,
                 "{\"tokenizer_id\":\"m\",\"mean_ttft_ms\":%s,\"ttfts\":%s,\"output_lens\":[5,5]}",
                 cases[k].mean, cases[k].ttfts);
        judge(&a, &fs, text);
        contradictions_find(&fs, &a);
        size_t told = 0;
        for (size_t i = 0; i < a.findings.n; i++)
            told +=
                strcmp(a.findings.v[i].id, "claims.impossible") == 0 &&
                (cases[k].says == NULL || strstr(a.findings.v[i].detail, cases[k].says) != NULL);
        assert_int_equal(told, cases[k].says != NULL);
        claim_files_free(&fs);
        audit_free(&a);
    }
}

/* A unit that is not known may be any; one that is known need not be the usual one. */
static void a_unit_that_is_not_known(void **state)
{
    (void)state;
    static const struct {
        const char *unit, *value;
        enum verdict verdict;
    } cases[] = {
        {"ms", "100", VERDICT_CONFIRMED},
        {"hours", "2.7777778e-5", VERDICT_CONFIRMED},
        {"furlong", "0.1", VERDICT_NOT_MEASURABLE},
        {"s", "100", VERDICT_DIFFERS},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct audit a = {0};
        struct claim_files fs = {.rows = 0};
        char text[256];
        made_trace(&a);
        add(&a, 0, 0.1, 0.01, "m");
        scene_figures(&a);
        snprintf(
            text, sizeof text,
            "{\"aiperf_version\":\"0.13\",\"time_to_first_token\":{\"unit\":\"%s\",\"avg\":%s}}",
            cases[k].unit, cases[k].value);
        judge(&a, &fs, text);
        assert_int_equal(a.claims.n, 1);
        if (a.claims.v[0].verdict != cases[k].verdict)
            fail_msg("%s: %s", cases[k].unit, a.claims.v[0].reason);
        claim_files_free(&fs);
        audit_free(&a);
    }
}

/* A real file of GenAI-Perf has a request_count, and AIPerf's other things. */
static void whose_file_it_is(void **state)
{
    (void)state;
    static const char *const files[][2] = {
        {"{\"request_count\":{\"unit\":\"count\",\"avg\":1},\"request_latency\":{\"avg\":500}}",
         "genai-perf"},
        {"{\"request_count\":{\"unit\":\"requests\",\"avg\":1},\"request_latency\":{\"avg\":500},"
         "\"benchmark_duration\":{\"avg\":1}}",
         "aiperf"},
    };
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        struct audit a = {0};
        struct claim_files fs = {.rows = 0};
        judge(&a, &fs, files[k][0]);
        assert_string_equal(fs.summaries.v[0].tool->name, files[k][1]);
        claim_files_free(&fs);
        audit_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_run_of_a_sweep_is_found),
        cmocka_unit_test(a_lie_about_a_run_is_found_out),
        cmocka_unit_test(results_of_runs_that_are_not_there),
        cmocka_unit_test(of_two_clients_at_once_a_model_tells),
        cmocka_unit_test(of_two_clients_at_once_rows_tell),
        cmocka_unit_test(what_only_lasts_as_long_accuses_nobody),
        cmocka_unit_test(rows_of_a_clock_that_is_off),
        cmocka_unit_test(numbers_that_no_measurement_gives),
        cmocka_unit_test(a_unit_that_is_not_known),
        cmocka_unit_test(whose_file_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
