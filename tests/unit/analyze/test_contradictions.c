/* Summaries made of requests that could have been, in every tool's shape and rounded to few or many
 * digits, say nothing against themselves; with one figure changed they do, and it is that one. */
#include <math.h>

#include "analyze/claims_file.h"
#include "analyze/contradictions.h"
#include "analyze/stat.h"
#include "tests/unit/analyze/scene.h"
#include "traces/base/buf.h"

enum { N = 60, SEEDS = 40 };

struct story {
    double t0[N], ttft[N], e2e[N], tpot[N], out[N], in[N], ntpot[N], rate[N];
    double T, sum_in, sum_out, sum_window;
};

static double of(const double *v, double q)
{
    double s[N];
    memcpy(s, v, sizeof s);
    stat_sort(s, N);
    return q < 0 ? stat_mean(s, N) : stat_quantile(s, N, q);
}

/* Lengths from least to less than least + spread. */
static struct story made(uint64_t seed, double least, double spread)
{
    struct story r = {0};
    double t = 0;
    for (int i = 0; i < N; i++) {
        r.out[i] = least + floor(spread * scene_random(&seed) * scene_random(&seed));
        r.in[i] = 10 + floor(1000 * scene_random(&seed));
        r.ttft[i] = 0.02 + 0.3 * scene_random(&seed);
        r.tpot[i] = 0.004 + 0.04 * scene_random(&seed) * scene_random(&seed);
        r.e2e[i] = r.ttft[i] + r.tpot[i] * (r.out[i] - 1);
        r.ntpot[i] = r.e2e[i] / r.out[i];
        r.rate[i] = r.out[i] / r.e2e[i];
        r.sum_in += r.in[i];
        r.sum_out += r.out[i];
        r.sum_window += r.e2e[i] - r.ttft[i];
        r.t0[i] = t;
        r.T = fmax(r.T, t + r.e2e[i]);
        t += 0.1 * scene_random(&seed);
    }
    return r;
}

struct writer {
    struct buf *out;
    int digits;
    const char *changed; /* this key is written times factor */
    double factor;
};

static void put(struct writer *w, const char *key, double v)
{
    if (strcmp(key, w->changed) == 0)
        v *= w->factor;
    bool whole = v == floor(v) && v < 1e9;
    buf_printf(w->out, "%s\"%s\":%.*g", w->out->p[w->out->n - 1] == '{' ? "" : ",", key,
               whole ? 12 : w->digits, v);
}

static void put_flat(struct writer *w, const char *name, const double *v, double scale)
{
    static const struct {
        const char *stat;
        double q;
    } stats[] = {{"mean", -1}, {"median", 0.5}, {"p90", 0.9}, {"p99", 0.99}};
    for (size_t i = 0; i < 4; i++) {
        char key[64];
        snprintf(key, sizeof key, "%s_%s_ms", stats[i].stat, name);
        put(w, key, of(v, stats[i].q) * scale);
    }
}

/* Members of one object a figure; q of them named as the tool does. */
static void put_each(struct writer *w, const char *name, const double *v, double scale,
                     const char *mean, const char *median)
{
    char key[96];
    buf_printf(w->out, "%s\"%s\":{", w->out->p[w->out->n - 1] == '{' ? "" : ",", name);
    const struct {
        const char *stat;
        double q;
    } stats[] = {{mean, -1},    {"min", 0},   {"p1", 0.01},  {"p25", 0.25},
                 {median, 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"max", 1}};
    for (size_t i = 0; i < 8; i++) {
        snprintf(key, sizeof key, "%s", stats[i].stat);
        char whole[128];
        snprintf(whole, sizeof whole, "%s.%s", name, key);
        double x = of(v, stats[i].q) * scale * (strcmp(whole, w->changed) == 0 ? w->factor : 1);
        buf_printf(w->out, "%s\"%s\":%.*g", i > 0 ? "," : "", key, w->digits, x);
    }
    buf_puts(w->out, "}");
}

static void put_vllm(struct writer *w, const struct story *r, bool sglang)
{
    put(w, "duration", r->T);
    put(w, "completed", N);
    put(w, "total_input_tokens", r->sum_in);
    put(w, "total_output_tokens", r->sum_out);
    put(w, "request_throughput", N / r->T);
    put(w, "output_throughput", r->sum_out / r->T);
    put(w, sglang ? "total_throughput" : "total_token_throughput", (r->sum_in + r->sum_out) / r->T);
    put(w, "max_output_tokens_per_s", ceil(r->sum_out / r->T) * 1.3);
    put_flat(w, "ttft", r->ttft, 1e3);
    put_flat(w, "tpot", r->tpot, 1e3);
    put_flat(w, sglang ? "e2e_latency" : "e2el", r->e2e, 1e3);
    double busy = of(r->e2e, -1) * N / r->T;
    if (sglang) {
        put(w, "input_throughput", r->sum_in / r->T);
        put(w, "concurrency", busy);
        buf_puts(w->out, ",\"sharegpt_output_len\":null,\"std_itl_ms\":NaN");
    } else {
        put(w, "num_prompts", N);
        put(w, "failed", 0);
        put(w, "request_goodput", 0.5 * N / r->T);
        put(w, "mean_itl_ms", of(r->tpot, -1) * 1e3);
    }
    put(w, "max_concurrency", ceil(busy) + 1);
}

static void put_profile(struct writer *w, const struct story *r, bool aiperf)
{
    put_each(w, "time_to_first_token", r->ttft, 1e3, "avg", "p50");
    put_each(w, "request_latency", r->e2e, 1e3, "avg", "p50");
    put_each(w, "inter_token_latency", r->tpot, 1e3, "avg", "p50");
    put_each(w, "output_sequence_length", r->out, 1, "avg", "p50");
    put_each(w, "input_sequence_length", r->in, 1, "avg", "p50");
    buf_puts(w->out, ",\"output_token_throughput\":{");
    put(w, "avg", r->sum_out / r->T * (strcmp(w->changed, "throughput") == 0 ? w->factor : 1));
    buf_puts(w->out, "},\"request_throughput\":{");
    put(w, "avg", N / r->T);
    if (aiperf) {
        buf_puts(w->out, "},\"benchmark_duration\":{\"unit\":\"sec\"");
        put(w, "avg", r->T);
        buf_puts(w->out, "},\"request_count\":{");
        put(w, "avg", N);
    }
    buf_puts(w->out, "}");
}

static void put_guidellm(struct writer *w, const struct story *r)
{
    static const char *const names[] = {"time_to_first_token_ms", "request_latency",
                                        "time_per_output_token_ms", "output_token_count"};
    const double *values[] = {r->ttft, r->e2e, r->ntpot, r->out};
    const double scales[] = {1e3, 1, 1e3, 1};
    buf_puts(w->out, "\"metadata\":{\"version\":2},\"benchmarks\":[{\"scheduler_metrics\":"
                     "{\"requests_made\":{");
    put(w, "successful", N);
    put(w, "total", N);
    buf_puts(w->out, "}},\"metrics\":{");
    for (size_t i = 0; i < 4; i++) {
        buf_printf(w->out, "%s\"%s\":{", i > 0 ? "," : "", names[i]);
        struct writer v = *w;
        char prefix[64];
        snprintf(prefix, sizeof prefix, "%s.", names[i]);
        char changed[96] = "";
        if (strncmp(w->changed, prefix, strlen(prefix)) == 0)
            snprintf(changed, sizeof changed, "successful.%s", w->changed + strlen(prefix));
        v.changed = changed;
        put_each(&v, "successful", values[i], scales[i], "mean", "median");
        buf_puts(w->out, "}");
    }
    buf_puts(w->out, ",\"inter_token_latency_ms\":{\"successful\":{");
    put(w, "mean", r->sum_window / (r->sum_out - N) * 1e3);
    buf_puts(w->out, "}}}}]");
}

static void put_llmperf(struct writer *w, const struct story *r)
{
    put(w, "num_concurrent_requests", ceil(of(r->e2e, -1) * N / r->T) + 1);
    put(w, "results_num_requests_started", N);
    put(w, "results_num_completed_requests", N);
    put(w, "results_num_completed_requests_per_min", N / r->T * 60);
    put(w, "results_ttft_s_mean", of(r->ttft, -1));
    put(w, "results_ttft_s_quantiles_p25", of(r->ttft, 0.25));
    put(w, "results_ttft_s_quantiles_p99", of(r->ttft, 0.99));
    put(w, "results_ttft_s_max", of(r->ttft, 1));
    put(w, "results_end_to_end_latency_s_mean", of(r->e2e, -1));
    put(w, "results_end_to_end_latency_s_max", of(r->e2e, 1));
}

static void put_inference_perf(struct writer *w, const struct story *r)
{
    buf_puts(w->out, "\"load_summary\":{");
    put(w, "sent", N);
    buf_puts(w->out, "},\"successes\":{");
    put(w, "count", N);
    buf_puts(w->out, ",\"latency\":{");
    put_each(w, "time_to_first_token", r->ttft, 1, "mean", "median");
    put_each(w, "request_latency", r->e2e, 1, "mean", "median");
    put_each(w, "time_per_output_token", r->tpot, 1, "mean", "median");
    put_each(w, "normalized_time_per_output_token", r->ntpot, 1, "mean", "median");
    buf_puts(w->out, "},\"throughput\":{");
    put(w, "output_tokens_per_sec", r->sum_out / r->T);
    put(w, "input_tokens_per_sec", r->sum_in / r->T);
    put(w, "total_tokens_per_sec", (r->sum_in + r->sum_out) / r->T);
    put(w, "requests_per_sec", N / r->T);
    buf_puts(w->out, "}");
    put_each(w, "output_len", r->out, 1, "mean", "median");
    buf_puts(w->out, "},\"failures\":{");
    put(w, "count", 0);
    buf_puts(w->out, "}");
}

static void put_benchy(struct writer *w, const struct story *r)
{
    buf_puts(w->out, "\"latency_mode\":\"none\",\"benchmarks\":[{\"prompt_size\":9");
    static const char *const names[] = {"tg_throughput", "peak_throughput", "ttfr", "e2e_ttft"};
    const double v[] = {r->sum_out / r->T, r->sum_out / r->T * 0.9, of(r->ttft, -1) * 990,
                        of(r->ttft, -1) * 1000};
    for (size_t i = 0; i < 4; i++)
        buf_printf(w->out, ",\"%s\":{\"mean\":%.*g,\"std\":1}", names[i], w->digits,
                   v[i] * (strcmp(names[i], w->changed) == 0 ? w->factor : 1));
    buf_puts(w->out, "}]");
}

static const char *const kinds[] = {"vllm",     "sglang",  "aiperf",         "genai-perf",
                                    "guidellm", "llmperf", "inference-perf", "llama-benchy"};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void put_all(struct writer *w, const struct story *r, size_t kind)
{
    buf_puts(w->out, "{");
    if (kind < 2)
        put_vllm(w, r, kind == 1);
    else if (kind < 4)
        put_profile(w, r, kind == 2);
    else if (kind == 4)
        put_guidellm(w, r);
    else if (kind == 5)
        put_llmperf(w, r);
    else if (kind == 6)
        put_inference_perf(w, r);
    else
        put_benchy(w, r);
    buf_puts(w->out, "}");
}

/* Reads and checks it; returns the claims that are refuted, and *first of them. */
static size_t refuted(struct audit *a, const char *text, const char *kind,
                      const struct claim **first)
{
    struct claim_files fs = {.rows = 0};
    struct err e = {0};
    size_t n = 0;
    if (claims_file_take(&fs, a, "f", slice_of(text), kind, &e) != TA_OK)
        fail_msg("%s: %s", e.msg, text);
    claim_files_bind(&fs, a, &audit_defaults);
    claims_judge(a, &audit_defaults);
    contradictions_find(&fs, a);
    claim_files_fold(&fs, a);
    claim_files_free(&fs);
    *first = NULL;
    for (size_t i = 0; i < a->claims.n; i++) {
        const struct claim *c = &a->claims.v[i];
        assert_true(a->traces.n > 0 || c->verdict != VERDICT_CONFIRMED);
        if (c->verdict == VERDICT_NOT_MEASURABLE || c->verdict == VERDICT_CONFIRMED)
            continue;
        if (n++ == 0)
            *first = c;
    }
    return n + a->findings.n;
}

static void honest_summaries_are_left_alone(void **state)
{
    (void)state;
    static const int digits[] = {3, 4, 6, 17};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct story r = made(seed, 2, 300);
        for (size_t k = 0; k < KINDS * 4; k++) {
            struct audit a = {0};
            struct buf text;
            const struct claim *first;
            buf_init(&text, 1 << 16);
            struct writer w = {&text, digits[k / KINDS], "", 1};
            put_all(&w, &r, k % KINDS);
            if (refuted(&a, buf_text(&text), kinds[k % KINDS], &first) > 0)
                fail_msg("seed %d, %s, %d digits: %s", (int)seed, kinds[k % KINDS],
                         digits[k / KINDS], first != NULL ? first->reason : a.findings.v[0].detail);
            buf_done(&text);
            audit_free(&a);
        }
    }
}

/* The same against the requests that they were made of: each figure holds, or is said not to be
 * decided, and most hold. */
static void honest_summaries_hold(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct story r = made(seed, 2, 300);
        for (size_t kind = 0; kind + 1 < KINDS; kind++) {
            struct audit a = {0};
            struct buf text;
            const struct claim *first;
            size_t confirmed = 0;
            made_trace(&a);
            for (int i = 0; i < N; i++)
                scene_add(&a, (struct act){.t0 = r.t0[i],
                                           .first = r.t0[i] + r.ttft[i],
                                           .last = r.t0[i] + r.e2e[i],
                                           .end = r.t0[i] + r.e2e[i] + 0.0001,
                                           .events = (size_t)r.out[i],
                                           .tokens = (int64_t)r.out[i],
                                           .prompt = (int64_t)r.in[i]});
            scene_figures(&a);
            buf_init(&text, 1 << 16);
            struct writer w = {&text, 17, "", 1};
            put_all(&w, &r, kind);
            if (refuted(&a, buf_text(&text), kinds[kind], &first) > 0)
                fail_msg("seed %d, %s: %s: %s", (int)seed, kinds[kind],
                         first != NULL ? first->text : "",
                         first != NULL ? first->reason : a.findings.v[0].detail);
            for (size_t i = 0; i < a.claims.n; i++)
                confirmed += a.claims.v[i].verdict == VERDICT_CONFIRMED;
            if (confirmed * 10 < a.claims.n * 8)
                fail_msg("%s: only %zu of %zu", kinds[kind], confirmed, a.claims.n);
            buf_done(&text);
            audit_free(&a);
        }
    }
}

struct wrong {
    size_t kind;
    const char *key;
    double factor;
    const char *path; /* of the claim that is refuted; NULL: a finding */
    enum verdict verdict;
    const char *says;
};

static const struct wrong wrongs[] = {
    {0, "mean_tpot_ms", 0.02, "mean_tpot_ms", VERDICT_DIFFERS, "tokens - 1"},
    {0, "output_throughput", 2, "output_throughput", VERDICT_IMPOSSIBLE, "times duration"},
    {0, "request_throughput", 0.9, "request_throughput", VERDICT_DIFFERS, "completed requests"},
    {0, "p90_ttft_ms", 0.01, "p90_ttft_ms", VERDICT_IMPOSSIBLE, "quantiles"},
    {0, "completed", 2, "completed", VERDICT_IMPOSSIBLE, "than were sent"},
    {0, "failed", 1, NULL, VERDICT_CONFIRMED, NULL}, /* times 0: as before */
    {0, "max_output_tokens_per_s", 0.3, "max_output_tokens_per_s", VERDICT_DIFFERS,
     "below the mean"},
    {0, "max_concurrency", 0.4, "mean_e2el_ms", VERDICT_IMPOSSIBLE, "Little"},
    {0, "total_token_throughput", 1.02, "total_token_throughput", VERDICT_IMPOSSIBLE,
     "input and output tokens"},
    {0, "request_goodput", 3, NULL, VERDICT_IMPOSSIBLE, "good requests"},
    {1, "concurrency", 0.7, "concurrency", VERDICT_DIFFERS, "Little"},
    {1, "concurrency", 9, "concurrency", VERDICT_IMPOSSIBLE, "allowed at a time"},
    {1, "mean_ttft_ms", 100, "mean_ttft_ms", VERDICT_IMPOSSIBLE, "part in every request"},
    {2, "throughput", 1.5, "output_token_throughput.avg", VERDICT_IMPOSSIBLE, "times duration"},
    {2, "inter_token_latency.avg", 0.3, "inter_token_latency.avg", VERDICT_IMPOSSIBLE,
     "tokens - 1"},
    {2, "request_latency.p99", 0.01, "request_latency.p99", VERDICT_IMPOSSIBLE, "quantiles"},
    {3, "inter_token_latency.avg", 3, "inter_token_latency.avg", VERDICT_IMPOSSIBLE, "tokens - 1"},
    {3, "throughput", 1.5, "output_token_throughput.avg", VERDICT_IMPOSSIBLE, "makes"},
    {4, "time_to_first_token_ms.mean", 100, "metrics.time_to_first_token_ms.successful.mean",
     VERDICT_IMPOSSIBLE, "above"},
    {4, "mean", 3, "metrics.inter_token_latency_ms.successful.mean", VERDICT_IMPOSSIBLE,
     "tokens - 1"},
    {5, "results_num_completed_requests", 2, "results_num_completed_requests", VERDICT_IMPOSSIBLE,
     "than were sent"},
    {5, "num_concurrent_requests", 0.1, "results_end_to_end_latency_s_mean", VERDICT_IMPOSSIBLE,
     "Little"},
    {6, "total_tokens_per_sec", 1.1, "total_tokens_per_sec", VERDICT_DIFFERS, "is stated"},
    {6, "output_tokens_per_sec", 2, "successes.throughput.output_tokens_per_sec",
     VERDICT_IMPOSSIBLE, "makes"},
    {6, "time_per_output_token.mean", 0.4, "successes.latency.time_per_output_token.mean",
     VERDICT_IMPOSSIBLE, "a tenth"},
    {7, "peak_throughput", 0.4, "peak_throughput.mean", VERDICT_IMPOSSIBLE, "best second"},
    {7, "ttfr", 1.1, "ttfr.mean", VERDICT_IMPOSSIBLE, "part in every request"},
};

static void each_contradiction_is_found(void **state)
{
    (void)state;
    struct story r = made(7, 100, 20);
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        const struct wrong *x = &wrongs[i];
        struct audit a = {0};
        struct buf text;
        const struct claim *first;
        buf_init(&text, 1 << 16);
        struct writer w = {&text, 17, x->key, x->factor};
        put_all(&w, &r, x->kind);
        size_t n = refuted(&a, buf_text(&text), kinds[x->kind], &first);
        if ((n > 0) != (x->says != NULL))
            fail_msg("%s, %s times %g: %zu", kinds[x->kind], x->key, x->factor, n);
        bool found = x->says == NULL;
        for (size_t k = 0; k < a.claims.n && x->path != NULL; k++)
            found |= strstr(a.claims.v[k].text, x->path) != NULL &&
                     a.claims.v[k].verdict == x->verdict &&
                     strstr(a.claims.v[k].reason, x->says) != NULL && !a.claims.v[k].unopposed;
        for (size_t k = 0; k < a.findings.n && x->path == NULL && x->says != NULL; k++)
            found |= strstr(a.findings.v[k].detail, x->says) != NULL &&
                     strcmp(a.findings.v[k].id, x->verdict == VERDICT_IMPOSSIBLE
                                                    ? "claims.impossible"
                                                    : "claims.contradiction") == 0;
        if (!found)
            fail_msg("%s, %s times %g: %s", kinds[x->kind], x->key, x->factor,
                     first != NULL      ? first->reason
                     : a.findings.n > 0 ? a.findings.v[0].detail
                                        : "nothing");
        buf_done(&text);
        audit_free(&a);
    }
}

static void rows_against_themselves(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t n;
        const char *says;
    } cases[] = {
        {"[{\"ttft_s\":0.58,\"end_to_end_latency_s\":0.4,\"number_output_tokens\":3}]", 1, "row 1"},
        {"[{\"ttft_s\":0.43,\"end_to_end_latency_s\":0.4,\"number_output_tokens\":3}]", 0, NULL},
        {"[{\"ttft_s\":0.4,\"end_to_end_latency_s\":0.4,\"number_output_tokens\":1}]", 0, NULL},
        {"[{\"inter_token_latency_s\":1,\"number_total_tokens\":9,\"number_output_tokens\":3,"
         "\"number_input_tokens\":5}]",
         1, "input and output"},
        {"{\"mean_ttft_ms\":150.0,\"completed\":2,\"total_output_tokens\":7,\"ttfts\":[0.1,0.2],"
         "\"output_lens\":[3,4],\"itls\":[[0.1,0.1],[0.1]],\"errors\":[\"\",\"\"]}",
         0, NULL},
        {"{\"mean_ttft_ms\":100.0,\"completed\":2,\"total_output_tokens\":7,\"ttfts\":[0.11,0.21],"
         "\"output_lens\":[3,4],\"errors\":[\"\",\"\"]}",
         1, "own rows"},
        {"{\"mean_ttft_ms\":150.0,\"completed\":2,\"total_output_tokens\":70,\"ttfts\":[0.1,0.2],"
         "\"output_lens\":[3,4],\"errors\":[\"\",\"\"]}",
         1, "add up to 7"},
        {"[{\"metric\":\"ttft\",\"stat\":\"p50\",\"value\":\"90ms\"},{\"metric\":\"ttft\",\"stat\":"
         "\"p90\","
         "\"value\":\"80ms\"}]",
         1, "quantiles"},
        {"[{\"metric\":\"ttft\",\"stat\":\"p50\",\"value\":\"90ms\",\"scope\":\"a\"},{\"metric\":"
         "\"ttft\","
         "\"stat\":\"p90\",\"value\":\"80ms\",\"scope\":\"b\"}]",
         0, NULL},
        {"[{\"metric\":\"ttft\",\"stat\":\"p50\",\"value\":\"90ms\"},{\"metric\":\"ttft\",\"stat\":"
         "\"p90\","
         "\"value\":\"89.6ms\"}]",
         0, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct audit a = {0};
        const struct claim *first;
        size_t n = refuted(&a, cases[i].text, NULL, &first);
        const char *said = first != NULL ? first->reason : n > 0 ? a.findings.v[0].detail : "";
        if (n != cases[i].n || (n > 0 && strstr(said, cases[i].says) == NULL))
            fail_msg("case %zu: %zu: %s", i, n, said);
        audit_free(&a);
    }
}

/* --- sets that are not the same --------------------------------------------------------------- */

struct sets {
    const char *text;
    size_t n; /* refuted */
    const char *says;
};

/* Eight requests one after the other, five of them of one token (2.2: it has no time per token).
 * The first event of a reply comes at once in vLLM's, which took it for the first token. */
#define SGLANG(tpot, more)                                                                         \
    "{\"sharegpt_output_len\":null,\"completed\":8,\"total_output_tokens\":155,\"mean_ttft_ms\":"  \
    "209.31254,\"mean_tpot_ms\":" tpot ",\"std_tpot_ms\":0.050713,\"mean_e2e_latency_ms\":"        \
    "603.046179" more "}"
#define VLLM(tpot, more)                                                                           \
    "{\"backend\":\"vllm\",\"tokenizer_id\":\"m\",\"num_prompts\":8,\"completed\":8,"              \
    "\"total_output_tokens\":155,\"mean_ttft_ms\":1.542394,\"mean_tpot_ms\":" tpot                 \
    ",\"std_tpot_ms\":0.050029,\"mean_itl_ms\":29.518,\"std_itl_ms\":40.564,\"mean_e2el_ms\":"     \
    "602.972306" more "}"
/* Two requests of 11 tokens, 20 ms each; and one of one token between them. */
#define TEN "[0.02,0.02,0.02,0.02,0.02,0.02,0.02,0.02,0.02,0.02]"
#define TWO_ROWS(tpot)                                                                             \
    "{\"backend\":\"vllm\",\"tokenizer_id\":\"m\",\"completed\":2,\"total_output_tokens\":22,"     \
    "\"mean_ttft_ms\":100.0,\"mean_e2el_ms\":300.0,\"mean_tpot_ms\":" tpot                         \
    ",\"std_tpot_ms\":0.01,\"ttfts\":[0.1,0.1],\"itls\":[" TEN "," TEN "],\"output_lens\":"        \
    "[11,11],\"errors\":[\"\",\"\"]}"
#define THREE_ROWS(tpot)                                                                           \
    "{\"backend\":\"vllm\",\"tokenizer_id\":\"m\",\"completed\":3,\"total_output_tokens\":23,"     \
    "\"mean_ttft_ms\":100.0,\"mean_e2el_ms\":300.0,\"mean_tpot_ms\":" tpot                         \
    ",\"std_tpot_ms\":0.01,\"ttfts\":[0.1,0.1,0.1],\"itls\":[" TEN ",[0.2]," TEN                   \
    "],\"output_lens\":[11,1,11],\"errors\":[\"\",\"\",\"\"]}"
#define AIPERF(ttft, ttft_count, latency_count)                                                    \
    "{\"schema_version\":\"1.3\",\"was_cancelled\":false,\"time_to_first_token\":{\"unit\":"       \
    "\"ms\"," ttft ",\"count\":" ttft_count "},\"request_latency\":{\"unit\":\"ms\",\"avg\":"      \
    "415.3,\"min\":101.2,\"max\":1662.1,\"p50\":131.9,\"count\":" latency_count "},"               \
    "\"request_count\":{\"unit\":\"requests\",\"avg\":50.0}}"
#define BENCHY(first, text)                                                                        \
    "{\"latency_mode\":\"none\",\"benchmarks\":[{\"prompt_size\":9,\"ttfr\":{\"mean\":233.3,"      \
    "\"values\":[" first "]},\"e2e_ttft\":{\"mean\":110.0,\"values\":[" text "]}}]}"

static const struct sets sets[] = {
    {SGLANG("20.737591", ""), 0, NULL},
    {SGLANG("1.0", ""), 1, "one token"},
    {SGLANG("40.0", ""), 1, "tokens - 1"}, /* above it nothing hides */
    {VLLM("25.233068", ""), 0, NULL},
    {VLLM("5.0", ""), 1, "one token"},
    {TWO_ROWS("20.0"), 0, NULL},
    {TWO_ROWS("18.0"), 1, "tokens - 1"}, /* no row of one token: the bound is as it was */
    {THREE_ROWS("20.0"), 0, NULL},       /* 600 ms / 20 tokens is 30 ms */
    {THREE_ROWS("12.0"), 1, "one token"},
    {AIPERF("\"avg\":543.3,\"min\":500.2,\"max\":573.4,\"p50\":546.6", "10", "50"), 0, NULL},
    {AIPERF("\"avg\":543.3,\"min\":500.2,\"max\":573.4,\"p50\":546.6", "50", "50"), 3, "part"},
    {AIPERF("\"avg\":543.3,\"min\":500.2,\"max\":1700.4,\"p50\":546.6", "10", "50"), 1, "part"},
    {BENCHY("100,500,100", "110,110"), 0, NULL},
    {BENCHY("100,500,100", "110,110,110"), 1, "part in every request"},
};

/* --- rows of few digits ----------------------------------------------------------------------- */

static const struct sets rounded[] = {
    {"{\"mean_ttft_ms\":292.6522,\"completed\":1,\"ttfts\":[0.2927],\"errors\":[\"\"]}", 0, NULL},
    {"{\"mean_ttft_ms\":292.5,\"completed\":1,\"ttfts\":[0.2927],\"errors\":[\"\"]}", 1,
     "own rows"},
    {"{\"mean_ttft_ms\":1.5392,\"completed\":2,\"ttfts\":[0.0016,0.0015],\"errors\":[\"\",\"\"]}",
     0, NULL},
    {"{\"mean_ttft_ms\":1.5392,\"completed\":2,\"ttfts\":[0.00162,0.00151],\"errors\":[\"\",\"\"]}",
     1, "own rows"},
};

/* --- a peak ----------------------------------------------------------------------------------- */

#define PEAK(n)                                                                                    \
    "{\"backend\":\"vllm\",\"tokenizer_id\":\"m\",\"num_prompts\":60,\"completed\":58,"            \
    "\"failed\":2,\"max_concurrency\":4,\"max_concurrent_requests\":" n "}"

#define EVENTS(figures)                                                                            \
    "{\"backend\":\"vllm\",\"tokenizer_id\":\"m\",\"completed\":58,\"duration\":20.0,"             \
    "\"output_throughput\":160.0,\"max_output_tokens_per_s\":60.0" figures "}"

static const struct sets peaks[] = {
    {EVENTS(",\"mean_tpot_ms\":20.0,\"mean_itl_ms\":80.0"), 0, NULL}, /* four tokens an event */
    {EVENTS(",\"mean_tpot_ms\":20.0,\"mean_itl_ms\":20.0"), 1, "below the mean"},
    {EVENTS(""), 0, NULL}, /* who knows */
    {PEAK("60"), 0, NULL}, /* all may touch one second, whatever the cap */
    {PEAK("61"), 1, "in all"},
};

/* --- what the values of one figure leave for another ------------------------------------------ */

#define USER(rate)                                                                                 \
    "{\"schema_version\":\"1.3\",\"was_cancelled\":false,\"inter_token_latency\":{\"unit\":"       \
    "\"ms\",\"avg\":15.0,\"min\":10.0,\"max\":20.0},\"output_token_throughput_per_user\":"         \
    "{\"unit\":\"tokens/sec/user\"," rate "}}"
#define WHOLE(rate)                                                                                \
    "{\"results_num_requests_started\":60,\"results_number_output_tokens_max\":120,"               \
    "\"results_end_to_end_latency_s_min\":1.7442,\"results_request_output_throughput_token_per_s"  \
    "_mean\":" rate "}"
#define MEAN(figures) "{\"backend\":\"vllm\",\"tokenizer_id\":\"m\",\"completed\":100," figures "}"

static const struct sets values[] = {
    {USER("\"avg\":70.0,\"min\":50.0,\"max\":100.0"), 0, NULL},
    {USER("\"avg\":14441.6,\"min\":13720.4,\"max\":15508.0,\"p50\":14385.2"), 4, "one over"},
    {USER("\"avg\":70.0,\"min\":5.0,\"max\":100.0"), 1, "one over"},
    {USER("\"avg\":66.7"), 0, NULL},       /* all the same */
    {USER("\"avg\":60.0"), 1, "inverses"}, /* below 1 / 15 ms (Jensen) */
    {USER("\"avg\":75.0"), 0, NULL},       /* half of them 10 ms, half 20 ms */
    {USER("\"avg\":80.0"), 1, "inverses"},
    {WHOLE("68.7"), 0, NULL},
    {WHOLE("5155.0"), 1, "no request can be"},
    {MEAN("\"mean_ttft_ms\":50.5,\"median_ttft_ms\":100.0"), 0, NULL}, /* half of them are 0 */
    {MEAN("\"mean_ttft_ms\":40.0,\"median_ttft_ms\":100.0"), 1, "leave for it"},
    {MEAN("\"mean_tpot_ms\":40.0,\"median_tpot_ms\":100.0"), 0, NULL}, /* of how many? */
};

static void expect_all(const struct sets *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct audit a = {0};
        const struct claim *first;
        size_t found = refuted(&a, x[i].text, NULL, &first);
        const char *said = first != NULL ? first->reason : found > 0 ? a.findings.v[0].detail : "";
        if (found != x[i].n || (found > 0 && strstr(said, x[i].says) == NULL))
            fail_msg("%s: %zu: %s", x[i].text, found, said);
        audit_free(&a);
    }
}

#define EXPECT_ALL(cases) expect_all(cases, sizeof(cases) / sizeof *(cases))

static void different_sets_are_no_contradiction(void **state)
{
    (void)state;
    EXPECT_ALL(sets);
}

static void digits_of_rows_count(void **state)
{
    (void)state;
    EXPECT_ALL(rounded);
}

static void a_peak_is_of_what_was_sent(void **state)
{
    (void)state;
    EXPECT_ALL(peaks);
}

static void values_bound_each_other(void **state)
{
    (void)state;
    EXPECT_ALL(values);
}

/* Means of any values are within what their quantiles leave. */
static void means_are_among_their_quantiles(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t random = seed;
        size_t n = 1 + seed % 40;
        double v[40], power = 1 + floor(8 * scene_random(&random));
        struct audit a = {0};
        struct buf text;
        const struct claim *first;
        for (size_t i = 0; i < n; i++)
            v[i] = pow(scene_random(&random), power);
        stat_sort(v, n);
        buf_init(&text, 1 << 12);
        buf_printf(&text, "{\"results_num_completed_requests\":%zu,\"results_ttft_s_mean\":%.17g",
                   n, stat_mean(v, n));
        for (int p = 25; p < 100; p += p < 75 ? 25 : p < 90 ? 15 : 9)
            buf_printf(&text, ",\"results_ttft_s_quantiles_p%d\":%.17g", p,
                       stat_quantile(v, n, p / 100.0));
        buf_printf(&text, ",\"results_ttft_s_min\":%.17g,\"results_ttft_s_max\":%.17g}", v[0],
                   v[n - 1]);
        if (refuted(&a, buf_text(&text), "llmperf", &first) > 0)
            fail_msg("%s: %s", buf_text(&text), first != NULL ? first->reason : "");
        buf_done(&text);
        audit_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(honest_summaries_are_left_alone),
        cmocka_unit_test(honest_summaries_hold),
        cmocka_unit_test(each_contradiction_is_found),
        cmocka_unit_test(rows_against_themselves),
        cmocka_unit_test(different_sets_are_no_contradiction),
        cmocka_unit_test(digits_of_rows_count),
        cmocka_unit_test(a_peak_is_of_what_was_sent),
        cmocka_unit_test(values_bound_each_other),
        cmocka_unit_test(means_are_among_their_quantiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
