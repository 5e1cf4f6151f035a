/* Fuzzes result files of other tools: the first byte chooses the format (or none: told by content)
 * and whether there is a trace. What is taken gives claims with finite figures and verdicts with
 * reasons; without a trace none is confirmed; and what the reader of JSON says does not depend on
 * how the text is cut. */
#include <math.h>

#include "analyze/claims_compare.h"
#include "analyze/claims_file.h"
#include "analyze/claims_json.h"
#include "analyze/contradictions.h"
#include "tests/fuzz/audit.h"
#include "tests/unit/analyze/synthetic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_BYTES = 1 << 15 };

static const char *const formats[] = {NULL,
                                      "own",
                                      "vllm",
                                      "sglang",
                                      "aiperf",
                                      "aiperf-requests",
                                      "genai-perf",
                                      "genai-perf-requests",
                                      "guidellm",
                                      "llama-benchy",
                                      "llmperf",
                                      "llmperf-requests",
                                      "inference-perf",
                                      "inference-perf-requests",
                                      "aiperf-runs",
                                      NULL};

static int on_value(void *ctx, const struct claims_json_value *v, struct err *e)
{
    uint64_t *hash = ctx;
    (void)e;
    if (strlen(v->path) > CLAIMS_JSON_PATH_BYTES + 3 || v->text.n > CLAIMS_JSON_TEXT_BYTES ||
        v->depth > CLAIMS_JSON_DEPTH)
        abort();
    *hash = *hash * 31 + model_hash(slice_of(v->path)) + model_hash(v->text) * 7 + v->kind +
            v->inner * 3 + v->outer * 5;
    return TA_OK;
}

static int walk(struct slice text, size_t step, uint64_t *hash)
{
    struct err e = {0};
    struct claims_json *j = claims_json_new("f", on_value, hash);
    int rc = TA_OK;
    for (size_t at = 0; at < text.n && rc == TA_OK; at += step)
        rc = claims_json_feed(j, text.p + at, text.n - at < step ? text.n - at : step, &e);
    if (rc == TA_OK)
        rc = claims_json_finish(j, &e);
    if (rc != TA_OK && e.msg[0] == '\0')
        abort();
    claims_json_free(j);
    return rc;
}

static void check_cuts(struct slice text)
{
    uint64_t whole = 0, single = 0;
    if (walk(text, text.n + 1, &whole) != walk(text, 1, &single) || whole != single)
        abort();
}

static void check_claims(const struct audit *a)
{
    for (size_t i = 0; i < a->claims.n; i++) {
        const struct claim *c = &a->claims.v[i];
        if (claim_name_find(c->metric) == NULL || !isfinite(c->claimed) || c->reason == NULL ||
            c->reason[0] == '\0' || (a->traces.n == 0 && c->verdict == VERDICT_CONFIRMED))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > MOST_BYTES)
        return 0;
    struct slice text = {(const char *)data + 1, size - 1};
    struct audit a = {0};
    struct claim_files fs = {.rows = 0};
    struct err e = {0};
    check_cuts(text);
    if ((data[0] & 1) != 0) {
        made_trace(&a);
        for (int i = 0; i < 3; i++)
            made_request(&a,
                         (struct made){1000 * i, 1000 * i + 50, 10 + i, 20, 20 + i, NULL, 0, 0});
        made_figures(&a, &audit_defaults);
    }
    int rc = claims_file_take(&fs, &a, "f", text, formats[data[0] >> 1 & 15], &e);
    if (rc != TA_OK && e.msg[0] == '\0')
        abort();
    if (rc == TA_OK) {
        claim_files_bind(&fs, &a, &audit_defaults);
        claims_judge(&a, &audit_defaults);
        contradictions_find(&fs, &a);
        claims_compare(&fs, &a);
        claim_files_fold(&fs, &a);
        check_claims(&a);
        audit_check_text(&a);
        audit_check_json(&a);
    }
    claim_files_free(&fs);
    audit_free(&a);
    return 0;
}
