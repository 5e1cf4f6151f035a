/* The analysis as JSON (analyze/schema/analysis.schema.json). Times are ns since the trace's first
 * packet; the epoch of that packet is text, since common readers round integers of that size. */
#include "analyze/report_json.h"

#include <math.h>

#include "analyze/fidelity.h"
#include "analyze/metrics.h"
#include "analyze/metrics_flow.h"
#include "analyze/report_fidelity.h"
#include "analyze/report_peers.h"
#include "traces/base/jsonw.h"

/* ns since the first packet of its trace; null for what did not happen. */
static void put_time(struct jsonw *w, const char *key, const struct audit *a, size_t trace,
                     int64_t t_ns)
{
    if (t_ns < 0)
        jsonw_null(w, key);
    else
        jsonw_int(w, key, t_ns - a->traces.v[trace].epoch_ns);
}

/* null for -1. */
static void put_count(struct jsonw *w, const char *key, int64_t n)
{
    if (n < 0)
        jsonw_null(w, key);
    else
        jsonw_int(w, key, n);
}

static void put_clock(struct jsonw *w, const struct trace_info *t)
{
    jsonw_object(w, "clock");
    jsonw_text(w, "kind", "realtime");
    if (t->clock_known)
        jsonw_int(w, "step_ns", t->clock_step_ns);
    else
        jsonw_null(w, "step_ns");
    jsonw_end(w);
}

static void put_files(struct jsonw *w, const struct trace_info *t)
{
    jsonw_array(w, "files");
    for (size_t i = 0; i < t->files.n; i++) {
        jsonw_object(w, NULL);
        jsonw_text(w, "path", t->files.v[i].path);
        jsonw_text(w, "sha256", t->files.v[i].sha256);
        jsonw_end(w);
    }
    jsonw_end(w);
}

/* What a replay sent otherwise than it was recorded. */
static void put_replaced(struct jsonw *w, const struct trace_info *t)
{
    jsonw_array(w, "replaced");
    for (size_t i = 0; i < t->replaced.n; i++)
        jsonw_text(w, NULL, t->replaced.v[i]);
    jsonw_end(w);
}

static void put_trace(struct jsonw *w, const struct audit *a, size_t i)
{
    const struct trace_info *t = &a->traces.v[i];
    jsonw_object(w, NULL);
    jsonw_int(w, "id", (int64_t)i + 1);
    jsonw_text(w, "path", t->path);
    jsonw_text(w, "sha256", t->health.sha256);
    if (t->files.n > 0)
        put_files(w, t);
    jsonw_ns(w, "epoch_ns", t->epoch_ns);
    jsonw_text(w, "label", t->label);
    jsonw_text(w, "host", t->host);
    jsonw_text(w, "server", t->server);
    jsonw_text(w, "simulated", t->simulated);
    put_clock(w, t);
    jsonw_text(w, "vantage", t->vantage);
    jsonw_int(w, "link", t->totals.link);
    jsonw_u64(w, "packets", t->totals.packets);
    put_count(w, "drops", trace_drops(t));
    jsonw_u64(w, "snapped", t->totals.snapped);
    jsonw_u64(w, "unseen_bytes", t->totals.tcp.gap_bytes);
    jsonw_u64(w, "samples", t->samples);
    jsonw_bool(w, "closed", t->closed);
    jsonw_bool(w, "complete", trace_complete(t));
    jsonw_text(w, "damage", t->health.note[0] != '\0' ? t->health.note : NULL);
    if (t->redacted == NULL)
        jsonw_null(w, "redacted");
    else
        jsonw_text(w, "redacted", t->redacted);
    if (t->replaced.n > 0)
        put_replaced(w, t);
    report_fidelity_json(w, fidelity_of(a, i));
    jsonw_end(w);
}

/* Requests in flight: at each change, or, where those are too many, the most in each of so many
 * equal parts of the time. */
static void put_curve(struct jsonw *w, const struct audit *a, const struct run *r)
{
    enum { POINTS_MAX = 2000, PARTS = 1000 };
    struct flight_curve c = {0};
    metrics_concurrency(a, r->requests.v, r->requests.n, &c);
    int64_t part_ns = c.n > POINTS_MAX ? (c.v[c.n - 1].t_ns - c.v[0].t_ns) / PARTS : 0;
    jsonw_array(w, "in_flight");
    for (size_t i = 0, end; i < c.n; i = end) {
        int64_t most = c.v[i].in_flight;
        for (end = i + 1; end < c.n && c.v[end].t_ns - c.v[i].t_ns < part_ns; end++)
            most = c.v[end].in_flight > most ? c.v[end].in_flight : most;
        jsonw_array(w, NULL);
        put_time(w, NULL, a, r->trace, c.v[i].t_ns);
        jsonw_int(w, NULL, most);
        jsonw_end(w);
    }
    jsonw_end(w);
    VEC_FREE(&c);
}

static void put_run(struct jsonw *w, const struct audit *a, size_t i)
{
    const struct run *r = &a->runs.v[i];
    jsonw_object(w, NULL);
    jsonw_int(w, "id", (int64_t)r->id);
    jsonw_int(w, "trace", (int64_t)r->trace + 1);
    jsonw_text(w, "label", r->label);
    jsonw_text(w, "server", r->server);
    jsonw_text(w, "model", r->model);
    jsonw_text(w, "workload", r->workload);
    put_count(w, "repeat", r->repeat);
    jsonw_bool(w, "warmup", r->requests.n == 0);
    jsonw_double(w, "concurrency", r->concurrency);
    put_curve(w, a, r);
    if (r->repeats > 1)
        jsonw_u64(w, "repeats", r->repeats);
    jsonw_text(w, "how", r->inferred ? "inferred" : "ledger");
    put_time(w, "t_ns", a, r->trace, r->t_ns);
    put_time(w, "end_ns", a, r->trace, r->end_ns);
    jsonw_array(w, "requests");
    for (size_t k = 0; k < r->requests.n; k++)
        jsonw_int(w, NULL, (int64_t)a->requests.v[r->requests.v[k]].id);
    jsonw_end(w);
    jsonw_end(w);
}

/* Tokens per output event, where every event stated its count; else null. */
static void put_per_event(struct jsonw *w, const struct request *r)
{
    bool all = r->out.n > 0;
    for (size_t i = 0; i < r->out.n && all; i++)
        all = request_stated(r, i) >= 0;
    if (!all) {
        jsonw_null(w, "per_event");
        return;
    }
    int64_t before = 0;
    jsonw_array(w, "per_event");
    for (size_t i = 0; i < r->out.n; i++) {
        jsonw_int(w, NULL, request_stated(r, i) - before);
        before = request_stated(r, i);
    }
    jsonw_end(w);
}

static void put_value(struct jsonw *w, const char *name, const char *unit, const struct value *v)
{
    jsonw_object(w, name);
    jsonw_double(w, "value", v->grade == GRADE_NOT_MEASURABLE ? NAN : v->v);
    jsonw_text(w, "unit", unit);
    jsonw_text(w, "grade", grade_name(v->grade));
    jsonw_text(w, "reason", v->reason);
    jsonw_end(w);
}

static void put_values(struct jsonw *w, const struct request *r)
{
    jsonw_object(w, "metrics");
    for (enum request_metric m = 0; r->dialect != NULL && m < REQUEST_METRICS; m++) {
        put_value(w, request_metrics[m].name, request_metrics[m].unit, &r->metrics[m]);
        if (m == M_E2E_OUTPUT_TPS)
            put_value(w, "wall_tps", request_metrics[m].unit, &r->metrics[m]);
    }
    jsonw_end(w);
}

static void put_tokens(struct jsonw *w, const struct request *r)
{
    jsonw_object(w, "tokens");
    put_count(w, "stated", request_tokens(r));
    put_count(w, "prompt", r->usage.prompt);
    put_per_event(w, r);
    jsonw_u64(w, "events", r->out.n);
    put_count(w, "recounted", r->recounted);
    if (r->recount_why != NULL)
        jsonw_text(w, "recount_reason", r->recount_why);
    jsonw_end(w);
}

static void put_request(struct jsonw *w, const struct audit *a, size_t i)
{
    const struct request *r = &a->requests.v[i];
    jsonw_object(w, NULL);
    jsonw_int(w, "id", (int64_t)r->id);
    jsonw_int(w, "trace", (int64_t)r->trace + 1);
    put_count(w, "run", r->run == RUN_NONE ? -1 : (int64_t)r->run + 1);
    jsonw_u64(w, "conn", r->conn);
    jsonw_u64(w, "nth", r->nth);
    put_time(w, "t0_ns", a, r->trace, r->t0);
    jsonw_text(w, "method", r->method);
    jsonw_text(w, "path", r->path);
    jsonw_text(w, "name", r->name);
    put_count(w, "group", r->group);
    jsonw_bool(w, "warmup", r->warmup);
    jsonw_text(w, "dialect", r->dialect != NULL ? r->dialect->name : NULL);
    jsonw_text(w, "model", r->model);
    jsonw_text(w, "server", r->server);
    jsonw_text(w, "body_sha256", r->body_sha256);
    put_count(w, "status", r->status > 0 ? r->status : -1);
    jsonw_text(w, "outcome", outcome_name(r->outcome));
    jsonw_text(w, "error", r->error);
    jsonw_bool(w, "stream", r->stream_reply);
    jsonw_text(w, "finish", r->finish);
    jsonw_bool(w, "damaged", r->damaged);
    jsonw_u64(w, "reads", metrics_request_reads(r));
    put_tokens(w, r);
    put_values(w, r);
    jsonw_array(w, "anomalies");
    for (size_t k = 0; k < r->anomalies.n; k++)
        jsonw_text(w, NULL, r->anomalies.v[k]);
    jsonw_end(w);
    jsonw_end(w);
}

static void put_inner(struct jsonw *w, const struct audit *a, const struct request *r)
{
    jsonw_object(w, NULL);
    jsonw_int(w, "of", (int64_t)a->requests.v[r->inner_of - 1].id);
    jsonw_int(w, "trace", (int64_t)r->trace + 1);
    jsonw_u64(w, "conn", r->conn);
    jsonw_u64(w, "nth", r->nth);
    jsonw_u64(w, "port", r->server_port);
    put_time(w, "t0_ns", a, r->trace, r->t0);
    jsonw_text(w, "server", r->server);
    put_count(w, "status", r->status > 0 ? r->status : -1);
    jsonw_text(w, "outcome", outcome_name(r->outcome));
    jsonw_text(w, "error", r->error);
    jsonw_u64(w, "events", r->out.n);
    jsonw_u64(w, "reads", metrics_request_reads(r));
    put_values(w, r);
    jsonw_end(w);
}

/* Left out where there are none. */
static void put_inner_all(struct jsonw *w, const struct audit *a)
{
    if (a->inner.n == 0)
        return;
    jsonw_array(w, "inner_requests");
    for (size_t i = 0; i < a->inner.n; i++)
        put_inner(w, a, &a->inner.v[i]);
    jsonw_end(w);
}

/* Missing keys mean all. */
static void put_scope(struct jsonw *w, size_t trace, const char *workload, size_t run,
                      size_t request)
{
    jsonw_object(w, "scope");
    if (trace != 0)
        jsonw_int(w, "trace", (int64_t)trace);
    if (workload != NULL)
        jsonw_text(w, "workload", workload);
    if (run != 0)
        jsonw_int(w, "run", (int64_t)run);
    if (request != 0)
        jsonw_int(w, "request", (int64_t)request);
    jsonw_end(w);
}

static void put_metric(struct jsonw *w, const struct metric *m, const char *name)
{
    jsonw_object(w, NULL);
    jsonw_text(w, "name", name);
    jsonw_text(w, "stat", m->stat);
    jsonw_double(w, "value", m->value);
    jsonw_text(w, "unit", m->unit);
    jsonw_u64(w, "n", m->n);
    jsonw_double(w, "ci_low", m->ci_low);
    jsonw_double(w, "ci_high", m->ci_high);
    jsonw_text(w, "grade", grade_name(m->grade));
    jsonw_text(w, "formula", m->formula);
    jsonw_text(w, "reason", m->reason);
    put_scope(w, m->trace, m->workload, m->run, m->request);
    jsonw_end(w);
}

static void put_evidence(struct jsonw *w, const struct audit *a, const struct evidence *v, size_t n)
{
    jsonw_array(w, "evidence");
    for (size_t i = 0; i < n; i++) {
        jsonw_object(w, NULL);
        jsonw_int(w, "trace", (int64_t)v[i].trace + 1);
        uint64_t frame;
        const char *file = trace_file_of(&a->traces.v[v[i].trace], v[i].packet, &frame);
        jsonw_u64(w, "packet", frame);
        if (file != NULL)
            jsonw_text(w, "file", file);
        jsonw_u64(w, "conn", v[i].conn);
        jsonw_text(w, "dir", v[i].response ? "response" : "request");
        if (v[i].offset == EVIDENCE_NO_OFFSET)
            jsonw_null(w, "offset");
        else
            jsonw_u64(w, "offset", v[i].offset);
        put_time(w, "t_ns", a, v[i].trace, v[i].t_ns);
        jsonw_text(w, "what", v[i].what);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void put_finding(struct jsonw *w, const struct audit *a, const struct finding *f)
{
    jsonw_object(w, NULL);
    jsonw_text(w, "id", f->id);
    jsonw_text(w, "severity", severity_name(f->severity));
    jsonw_text(w, "title", f->title);
    put_scope(w, f->trace, NULL, f->run, f->request);
    jsonw_text(w, "detail", f->detail);
    jsonw_array(w, "effects");
    for (size_t i = 0; i < f->effects.n; i++) {
        jsonw_object(w, NULL);
        jsonw_text(w, "metric", f->effects.v[i].metric);
        jsonw_double(w, "percent", f->effects.v[i].percent);
        jsonw_end(w);
    }
    jsonw_end(w);
    put_evidence(w, a, f->evidence.v, f->evidence.n);
    jsonw_end(w);
}

static void put_interval(struct jsonw *w, const char *key, struct interval i)
{
    if (isnan(i.lo) || isnan(i.hi)) {
        jsonw_null(w, key);
        return;
    }
    jsonw_array(w, key);
    jsonw_double(w, NULL, i.lo);
    jsonw_double(w, NULL, i.hi);
    jsonw_end(w);
}

static void put_causes(struct jsonw *w, const struct claim *c)
{
    jsonw_array(w, "causes");
    for (size_t i = 0; i < c->causes.n; i++) {
        const struct cause *x = &c->causes.v[i];
        jsonw_object(w, NULL);
        jsonw_text(w, "id", x->id);
        jsonw_text(w, "title", x->title);
        jsonw_text(w, "formula", x->formula);
        jsonw_double(w, "value", x->value);
        put_interval(w, "interval", x->interval);
        jsonw_text(w, "fit", x->by_sign ? "sign" : "number");
        jsonw_text(w, "note", x->note);
        if (!isnan(x->effect_percent))
            jsonw_double(w, "effect_percent", x->effect_percent);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void put_claim(struct jsonw *w, const struct audit *a, const struct claim *c)
{
    bool measurable = !isnan(c->recomputed);
    jsonw_object(w, NULL);
    jsonw_text(w, "text", c->text);
    jsonw_text(w, "tool", c->tool);
    if (c->file != NULL)
        jsonw_text(w, "file", c->file);
    jsonw_text(w, "metric", c->metric);
    jsonw_text(w, "stat", c->stat);
    put_scope(w, c->trace, NULL, 0, c->request);
    jsonw_double(w, "claimed", c->claimed);
    jsonw_text(w, "claimed_text", c->claimed_text);
    put_interval(w, "claimed_interval", c->claimed_interval);
    jsonw_text(w, "unit", c->unit);
    jsonw_double(w, "recomputed", c->recomputed);
    jsonw_text(w, "recomputed_as", c->recomputed_as);
    put_interval(w, "interval", measurable ? c->interval : (struct interval){NAN, NAN});
    jsonw_double(w, "ratio", measurable && c->recomputed > 0 ? c->claimed / c->recomputed : NAN);
    jsonw_text(w, "verdict", verdict_name(c->verdict));
    jsonw_text(w, "reason", c->reason);
    put_causes(w, c);
    put_evidence(w, a, c->evidence.v, c->evidence.n);
    jsonw_end(w);
}

static void put_metrics(struct jsonw *w, const struct audit *a)
{
    jsonw_array(w, "metrics");
    for (size_t i = 0; i < a->metrics.n; i++)
        put_metric(w, &a->metrics.v[i], a->metrics.v[i].name);
    for (size_t i = 0; i < a->metrics.n; i++) {
        if (strcmp(a->metrics.v[i].name, request_metrics[M_E2E_OUTPUT_TPS].name) == 0)
            put_metric(w, &a->metrics.v[i], "wall_tps");
    }
    jsonw_end(w);
}

void report_json_write(const struct audit *a, struct buf *out)
{
    struct jsonw w;
    jsonw_init(&w, out, 1);
    jsonw_object(&w, NULL);
    jsonw_text(&w, "schema", REPORT_JSON_SCHEMA);
    jsonw_object(&w, "tool");
    jsonw_text(&w, "name", "tokaudit");
    jsonw_text(&w, "version", TOKAUDIT_VERSION);
    jsonw_end(&w);
    jsonw_array(&w, "traces");
    for (size_t i = 0; i < a->traces.n; i++)
        put_trace(&w, a, i);
    jsonw_end(&w);
    jsonw_array(&w, "runs");
    for (size_t i = 0; i < a->runs.n; i++)
        put_run(&w, a, i);
    jsonw_end(&w);
    jsonw_array(&w, "requests");
    for (size_t i = 0; i < a->requests.n; i++)
        put_request(&w, a, i);
    jsonw_end(&w);
    put_inner_all(&w, a);
    jsonw_text(&w, "percentile_method", percentile_name(a->percentile));
    put_metrics(&w, a);
    if (a->as != NULL)
        report_peers_json(&w, a, a->as);
    jsonw_array(&w, "findings");
    for (size_t i = 0; i < a->findings.n; i++)
        put_finding(&w, a, &a->findings.v[i]);
    jsonw_end(&w);
    jsonw_array(&w, "claims");
    for (size_t i = 0; i < a->claims.n; i++)
        put_claim(&w, a, &a->claims.v[i]);
    jsonw_end(&w);
    jsonw_end(&w);
    buf_puts(out, "\n");
}
