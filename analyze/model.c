/* The analysis as a whole: defaults, names, lifetime. */
#include "analyze/model.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "traces/base/clock.h"

const struct audit_options audit_defaults = {
    .gate_events = 3,
    .gate_reads = 3,
    .gate_tokens = 8,
    .gate_window_ns = 50 * (int64_t)NS_PER_MS,
    .gate_share = 0.05,
    .tolerance = 0.01,
    .vantage_ns = NS_PER_MS,
    .group_ns = 50 * (int64_t)NS_PER_MS,
    .stall_factor = 5,
    .stall_correlation = 0.3,
    .stall_score = 8.4,
    .stall_cycles = 5,
    .prefill_exponent = 1.3,
    .serial_share = 0.8,
    .early_share = 0.5,
    .cache_share = 0.5,
    .bytes_per_token_max = 40,
    .bytes_per_token_min = 0.5,
    .count_tolerance = 0.03,
    .hidden_wait_ns = 100 * (int64_t)NS_PER_MS,
    .hidden_share = 0.2,
    .stated_rate = 0.1,
    .slower_together = 0.95,
    .faster_together = 1.05,
    .cold_factor = 2,
    .packing_spread = 1.3,
    .stall_moments = 3,
    .stall_share = 0.02,
    .late_ns = 20 * (int64_t)NS_PER_MS,
    .late_share = 0.01,
    .busy_before_ns = 100 * (int64_t)NS_PER_MS,
    .ramp_share = 0.1,
    .burst_factor = 1.5,
    .dilution = 2,
    .connect_share = 0.05,
    .slow_connect_ns = 900 * (int64_t)NS_PER_MS,
    .unread_ns = 200 * (int64_t)NS_PER_MS,
    .unread_share = 0.05,
    .late_ack_ns = 500 * (int64_t)NS_PER_MS,
    .resent_share = 0.001,
    .clump_events = 3,
    .clump_gap_ns = 10 * (int64_t)NS_PER_MS,
    .tokens_per_event = 1.5,
    .piece_share = 0.2,
    .long_line = 64 << 10,
    .timeout_spread = 0.02,
    .repeat_share = 0.9,
};

static void free_traces(struct audit *a)
{
    for (size_t i = 0; i < a->traces.n; i++) {
        VEC_FREE(&a->traces.v[i].ledger);
        VEC_FREE(&a->traces.v[i].unseen);
        VEC_FREE(&a->traces.v[i].replaced);
        VEC_FREE(&a->traces.v[i].sys);
        VEC_FREE(&a->traces.v[i].steps);
        VEC_FREE(&a->traces.v[i].files);
    }
    VEC_FREE(&a->traces);
}

static void free_requests(struct audit *a)
{
    for (size_t i = 0; i < a->requests.n; i++)
        request_free(&a->requests.v[i]);
    for (size_t i = 0; i < a->inner.n; i++)
        request_free(&a->inner.v[i]);
    VEC_FREE(&a->requests);
    VEC_FREE(&a->inner);
}

static void free_judgements(struct audit *a)
{
    for (size_t i = 0; i < a->findings.n; i++) {
        VEC_FREE(&a->findings.v[i].effects);
        VEC_FREE(&a->findings.v[i].evidence);
    }
    VEC_FREE(&a->findings);
    for (size_t i = 0; i < a->claims.n; i++) {
        VEC_FREE(&a->claims.v[i].causes);
        VEC_FREE(&a->claims.v[i].evidence);
    }
    VEC_FREE(&a->claims);
}

void audit_free(struct audit *a)
{
    free_traces(a);
    for (size_t i = 0; i < a->runs.n; i++)
        VEC_FREE(&a->runs.v[i].requests);
    VEC_FREE(&a->runs);
    free_requests(a);
    for (size_t i = 0; i < a->fidelity.n; i++) {
        VEC_FREE(&a->fidelity.v[i].points);
        VEC_FREE(&a->fidelity.v[i].unseen);
        VEC_FREE(&a->fidelity.v[i].edges);
        VEC_FREE(&a->fidelity.v[i].edges_recorded);
    }
    VEC_FREE(&a->fidelity);
    VEC_FREE(&a->metrics);
    free_judgements(a);
    arena_free(&a->texts);
}

const char *trace_file_of(const struct trace_info *t, uint64_t packet, uint64_t *frame)
{
    size_t i = t->files.n;
    while (i > 0 && t->files.v[i - 1].frames >= packet)
        i--;
    *frame = i > 0 ? packet - t->files.v[i - 1].frames : packet;
    return i > 0 ? t->files.v[i - 1].path : NULL;
}

const char *audit_printf(struct audit *a, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    size_t len = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    return arena_text(&a->texts, (struct slice){text, len});
}

#define FNV_START UINT64_C(14695981039346656037) /* FNV-1a */

static uint64_t hash_on(uint64_t h, struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (uint8_t)s.p[i]) * UINT64_C(1099511628211);
    return h != 0 ? h : 1;
}

uint64_t model_hash(struct slice s)
{
    return hash_on(FNV_START, s);
}

uint64_t model_hash_more(uint64_t h, struct slice s)
{
    return s.n == 0 ? h : hash_on(h == 0 ? FNV_START : h, s);
}

bool model_same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

const char *outcome_name(enum outcome o)
{
    static const char *const names[] = {
        [OUTCOME_SUCCESS] = "success",         [OUTCOME_HTTP_ERROR] = "http-error",
        [OUTCOME_ERROR_EVENT] = "error-event", [OUTCOME_CUT_SHORT] = "cut-short",
        [OUTCOME_NO_FINISH] = "no-finish",     [OUTCOME_OPEN] = "open",
        [OUTCOME_NO_RESPONSE] = "no-response", [OUTCOME_NOT_LLM] = "not-llm",
        [OUTCOME_UNREADABLE] = "unreadable",   [OUTCOME_UNSEEN] = "unseen",
    };
    return names[o];
}

const char *percentile_name(enum percentile_method m)
{
    static const char *const names[] = {
        [PERCENTILE_LINEAR] = "linear",
        [PERCENTILE_NEAREST] = "nearest",
        [PERCENTILE_LOADGEN] = "loadgen",
        [PERCENTILE_WEIGHTED] = "weighted",
    };
    return names[m];
}

const char *grade_name(enum grade g)
{
    static const char *const names[] = {
        [GRADE_WIRE] = "wire",
        [GRADE_WIRE_STATED] = "wire+stated",
        [GRADE_STATED] = "stated",
        [GRADE_NOT_MEASURABLE] = "not-measurable",
    };
    return names[g];
}

const char *severity_name(enum severity s)
{
    static const char *const names[] = {
        [SEVERITY_FAIL] = "fail",
        [SEVERITY_WARN] = "warn",
        [SEVERITY_INFO] = "info",
    };
    return names[s];
}

const char *verdict_name(enum verdict v)
{
    static const char *const names[] = {
        [VERDICT_CONFIRMED] = "confirmed",
        [VERDICT_DIFFERS] = "differs",
        [VERDICT_IMPOSSIBLE] = "impossible",
        [VERDICT_NOT_MEASURABLE] = "not-measurable",
    };
    return names[v];
}

bool request_interleaves(const struct request *r)
{
    return r->choices_seen > 1;
}

int64_t request_token_limit(const struct request *r)
{
    int64_t choices = r->asked.choices > 1 ? r->asked.choices : 1;
    if (r->choices_seen > choices)
        choices = r->choices_seen;
    if (r->asked.candidates > choices) /* those that are not sent are counted too */
        choices = r->asked.candidates;
    return r->asked.max_tokens > 0 && r->asked.max_tokens < INT64_MAX / choices
               ? r->asked.max_tokens * choices
               : -1;
}

int64_t request_tokens(const struct request *r)
{
    int64_t n = r->usage.completion;
    if (n < 0 && r->identified > 0)
        n = (int64_t)r->identified;
    return n <= INT32_MAX ? n : -1; /* no reply has more; sums of such counts stay in range */
}

bool request_counts_open(const struct request *r)
{
    return request_tokens(r) < 0 && r->choices_seen > 1 && r->stated_times > 0;
}

int32_t request_stated(const struct request *r, size_t k)
{
    return k < r->out_stated.n ? r->out_stated.v[k] : -1;
}

void request_state(struct request *r, size_t k, int64_t tokens)
{
    if (tokens < 0 && k >= r->out_stated.n)
        return;
    while (r->out_stated.n <= k)
        VEC_PUSH(&r->out_stated, -1);
    r->out_stated.v[k] = tokens < INT32_MAX ? (int32_t)tokens : INT32_MAX;
}

void request_free(struct request *r)
{
    VEC_FREE(&r->out);
    VEC_FREE(&r->out_stated);
    VEC_FREE(&r->turns);
    VEC_FREE(&r->anomalies);
}

int64_t trace_drops(const struct trace_info *t)
{
    const struct pipeline_totals *p = &t->totals;
    if (t->vantage != NULL && strcmp(t->vantage, "socket") == 0)
        return 0;
    if (p->counted_dropped == UINT64_MAX)
        return -1;
    return (int64_t)(p->counted_dropped +
                     (p->counted_if_dropped == UINT64_MAX ? 0 : p->counted_if_dropped));
}

bool model_same_server(const struct audit *a, const struct request *x, const struct request *y)
{
    const char *lx = a->traces.v[x->trace].label, *ly = a->traces.v[y->trace].label;
    if (lx != NULL || ly != NULL)
        return model_same_text(lx, ly);
    return model_same_text(x->server, y->server) && model_same_text(x->model, y->model);
}

const char *run_server_name(const struct audit *a, const struct run *run)
{
    const struct trace_info *t = &a->traces.v[run->trace];
    if (t->label != NULL)
        return t->label;
    return t->simulated != NULL ? t->simulated : run->server;
}

bool trace_complete(const struct trace_info *t)
{
    bool closed = t->closed || t->vantage == NULL; /* others do not close */
    bool whole = closed && !t->health.truncated && t->health.damaged_members == 0 &&
                 t->health.bad_blocks == 0 && t->source_damage == NULL;
    return whole && trace_drops(t) <= 0 && t->totals.snapped == 0 && t->totals.tcp.gap_bytes == 0;
}
