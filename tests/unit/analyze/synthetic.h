/* Requests made up for tests: the times are chosen, so every figure is known. */
#ifndef TESTS_UNIT_ANALYZE_SYNTHETIC_H
#define TESTS_UNIT_ANALYZE_SYNTHETIC_H

#include <math.h>

#include "analyze/metrics.h"
#include "analyze/model.h"
#include "analyze/runs.h"
#include "traces/base/clock.h"

#define EPOCH_NS 1796030400000000000
#define MS (INT64_C(1000000))

/* What a made-up request looks like; times in ms after the epoch. */
struct made {
    int64_t t0, first, step; /* sent, first output event, from event to event */
    size_t events;
    int64_t tokens; /* stated; -1: not */
    const char *body;
    uint16_t port;
    uint32_t nth;
};

static inline size_t made_trace(struct audit *a)
{
    VEC_PUSH(&a->traces,
             ((struct trace_info){
                 .path = "made", .epoch_ns = EPOCH_NS, .totals = {.counted_dropped = UINT64_MAX}}));
    return a->traces.n - 1;
}

/* Adds to the newest trace; callers add in order of t0. Each event comes in a frame of its own. */
static inline size_t made_request(struct audit *a, struct made m)
{
    struct request r = {
        .id = a->requests.n + 1,
        .trace = a->traces.n - 1,
        .run = RUN_NONE,
        .conn = a->requests.n + 1,
        .nth = m.nth,
        .client_port = m.port,
        .method = "POST",
        .path = "/v1/chat/completions",
        .model = "m",
        .server = "s",
        .body_sha256 = m.body,
        .dialect = &dialect_openai_chat,
        .status = 200,
        .outcome = OUTCOME_SUCCESS,
        .finish = "stop",
        .stream_reply = true,
        .t0 = EPOCH_NS + m.t0 * MS,
        .t0_end = EPOCH_NS + m.t0 * MS,
        .role_ns = -1,
        .answer_ns = m.events > 0 ? EPOCH_NS + m.first * MS : -1,
        .choice_ns = -1,
        .content_ns = m.events > 0 ? EPOCH_NS + m.first * MS : -1,
        .keepalive_ns = -1,
        .stated_last = -1,
        .done_ns = -1,
        .n1 = -1,
        .group = -1,
        .repeat = -1,
        .syn_ns = -1,
        .accepted_ns = -1,
        .whole = true,
        .recounted = -1,
        .usage = {-1, m.tokens, -1, -1},
        .timings = {NAN, NAN, NAN, NAN, NAN, NAN, NAN},
    };
    for (size_t i = 0; i < m.events; i++) {
        int64_t t = EPOCH_NS + (m.first + (int64_t)i * m.step) * MS;
        VEC_PUSH(&r.out, ((struct output_event){t, (uint32_t)(1000 * r.id + i), 4}));
        r.text_bytes += 4;
    }
    int64_t end = m.first + (m.events > 0 ? (int64_t)(m.events - 1) * m.step : 0);
    r.h = r.head_end = r.c1 = EPOCH_NS + m.first * MS;
    r.z = r.t_end = EPOCH_NS + end * MS;
    r.choice_ns = m.events > 0 ? r.z : -1;
    r.choice_events = (uint32_t)m.events;
    VEC_PUSH(&a->requests, r);
    return a->requests.n - 1;
}

static inline void made_entry(struct audit *a, struct ledger_entry e)
{
    struct trace_info *t = &a->traces.v[a->traces.n - 1];
    e.first_ns = e.end_ns = e.due_ns = -1;
    e.sent_ns = EPOCH_NS + e.sent_ns * MS;
    VEC_PUSH(&t->ledger, e);
}

static inline void made_figures(struct audit *a, const struct audit_options *o)
{
    runs_find(a, o);
    metrics_request_all(a, o);
    metrics_run_all(a, o);
}

#endif
