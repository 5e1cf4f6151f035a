/* Findings: each where the bytes show it, none on clean runs. */
#include <math.h>

#include "analyze/findings.h"
#include "tests/unit/analyze/scene.h"

static const struct act plain = {.t0 = 0,
                                 .head = 0.99,
                                 .first = 1.0,
                                 .last = 4.0,
                                 .end = 4.001,
                                 .events = 301,
                                 .tokens = 301,
                                 .prompt = 50};
static const struct act kept_back = {.t0 = 0,
                                     .head = 0.002,
                                     .role = 0.003,
                                     .first = 5.0,
                                     .last = 5.02,
                                     .end = 5.022,
                                     .events = 300,
                                     .tokens = 300,
                                     .prompt = 50};

static const struct finding *find(const struct audit *a, const char *id)
{
    for (size_t i = 0; i < a->findings.n; i++) {
        if (strcmp(a->findings.v[i].id, id) == 0)
            return &a->findings.v[i];
    }
    return NULL;
}

static void all_find(struct audit *a)
{
    scene_figures(a);
    findings_find(a, &audit_defaults);
}

static const struct finding *needs(const struct audit *a, const char *id, enum severity severity)
{
    const struct finding *x = find(a, id);
    if (x == NULL)
        fail_msg("%s was not found", id);
    assert_int_equal(x->severity, severity);
    assert_true(x->title[0] != '\0' && x->detail[0] != '\0');
    return x;
}

/* A trace with a change; is the finding there? */
static void of_recording(void (*change)(struct trace_info *t), const char *id,
                         enum severity severity)
{
    struct audit a = {0};
    size_t t = made_trace(&a);
    scene_add(&a, plain);
    scene_figures(&a);
    findings_find(&a, &audit_defaults);
    assert_int_equal(a.findings.n, 0);
    change(&a.traces.v[t]);
    findings_find(&a, &audit_defaults);
    if (a.findings.n != 1)
        fail_msg("%s: %zu findings", id, a.findings.n);
    assert_int_equal(needs(&a, id, severity)->trace, t + 1);
    audit_free(&a);
}

static void truncate(struct trace_info *t)
{
    t->vantage = "socket";
    t->health.truncated = true;
    snprintf(t->health.note, sizeof t->health.note, "block cut off at byte 1234");
}

static void leave_open(struct trace_info *t)
{
    t->vantage = "libpcap";
}

static void damage(struct trace_info *t)
{
    t->health.damaged_members = 1;
}

static void drop(struct trace_info *t)
{
    t->totals.counted_received = 100;
    t->totals.counted_dropped = 3;
    t->totals.counted_if_dropped = UINT64_MAX;
}

static void tear(struct trace_info *t)
{
    t->totals.counted_dropped = UINT64_MAX; /* not counted is not dropped */
    t->totals.counted_if_dropped = UINT64_MAX;
    t->totals.tcp.gaps = 1;
    t->totals.tcp.gap_bytes = 1448;
}

static void snap(struct trace_info *t)
{
    t->totals.snapped = 2;
}

static void step(struct trace_info *t)
{
    t->clock_step_ns = 400 * MS;
}

static void encrypt(struct trace_info *t)
{
    t->totals.tls_connections = 1;
}

static void multiplex(struct trace_info *t)
{
    t->totals.http2_connections = 1;
}

static void copy_of_less(struct trace_info *t)
{
    t->source_damage = "its source lacks 12 packets";
}

static void part(struct trace_info *t)
{
    t->part.seq = 2;
}

static void unknown_link(struct trace_info *t)
{
    t->totals.packets = 9;
    t->totals.unknown_link_packets = 3;
    t->totals.unknown_links[0] = 105;
    t->totals.unknown_links_n = 1;
}

static void no_times(struct trace_info *t)
{
    t->totals.timeless = 3;
}

static void twice(struct trace_info *t)
{
    t->totals.twins = 3;
}

static void fragments(struct trace_info *t)
{
    t->totals.fragments = 4;
    t->totals.fragments_lost = 1;
}

static void recordings(void **state)
{
    (void)state;
    of_recording(copy_of_less, "trace.source-damaged", SEVERITY_WARN);
    of_recording(part, "trace.part", SEVERITY_INFO);
    of_recording(unknown_link, "trace.unread-link", SEVERITY_WARN);
    of_recording(no_times, "trace.timeless", SEVERITY_WARN);
    of_recording(twice, "trace.twins", SEVERITY_INFO);
    of_recording(fragments, "trace.fragments", SEVERITY_WARN);
    of_recording(truncate, "trace.truncated", SEVERITY_WARN);
    of_recording(leave_open, "trace.unclosed", SEVERITY_WARN);
    of_recording(damage, "trace.damaged", SEVERITY_WARN);
    of_recording(drop, "capture.drops", SEVERITY_WARN);
    of_recording(tear, "capture.gaps", SEVERITY_WARN);
    of_recording(snap, "capture.snapped", SEVERITY_WARN);
    of_recording(step, "trace.clock-step", SEVERITY_WARN);
    of_recording(encrypt, "trace.tls", SEVERITY_INFO);
    of_recording(multiplex, "trace.http2", SEVERITY_INFO);
}

static void a_step_is_weighed(void **state)
{
    (void)state;
    struct audit a = {0};
    size_t t = made_trace(&a);
    scene_add(&a, plain);
    a.traces.v[t].clock_step_ns = -400 * MS;
    all_find(&a);
    const struct finding *x = needs(&a, "trace.clock-step", SEVERITY_WARN);
    assert_int_equal(x->effects.n, 1);
    assert_true(fabs(x->effects.v[0].percent - 10) < 1e-9); /* 0.4 s of 4 s */
    audit_free(&a);
}

static void failures_are_counted_by_kind(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 8; i++) {
        struct act x = plain;
        x.t0 = 10 * i;
        x.head = x.first = x.t0 + 1;
        x.last = x.end = x.t0 + 4;
        scene_add(&a, x);
    }
    a.requests.v[2].outcome = OUTCOME_HTTP_ERROR;
    a.requests.v[2].status = 400;
    a.requests.v[3].outcome = OUTCOME_HTTP_ERROR;
    a.requests.v[3].status = 503;
    a.requests.v[5].outcome = OUTCOME_CUT_SHORT;
    a.requests.v[6].outcome = OUTCOME_UNREADABLE;
    a.requests.v[7].outcome = OUTCOME_OPEN;
    all_find(&a);
    const struct finding *x = needs(&a, "requests.failed", SEVERITY_WARN);
    assert_string_equal(
        x->detail,
        "3 of 8 requests failed: 2 with an HTTP error, 1 cut short (the first is HTTP 400). "
        "They take part in no latency and no rate.");
    assert_true(x->effects.n == 1 && x->effects.v[0].percent == 37.5);
    assert_int_equal(x->evidence.n, 3);
    assert_true(x->evidence.v[0].packet == a.requests.v[2].t0_packet);
    x = needs(&a, "requests.open", SEVERITY_INFO);
    assert_true(x->effects.n == 1); /* one such text, and three that are counted */
    assert_true(fabs(x->effects.v[0].percent + 25) < 1e-9);
    assert_int_equal(x->evidence.n, 3);
    needs(&a, "requests.unreadable", SEVERITY_INFO);
    needs(&a, "requests.cut-short", SEVERITY_WARN);
    assert_int_equal(a.findings.n, 4);
    audit_free(&a);
}

static void streams(struct act x, const char *id)
{
    static const char *const ids[] = {"stream.collect-then-replay", "stream.header-silence",
                                      "stream.not-streamed"};
    struct audit a = {0};
    made_trace(&a);
    scene_add(&a, x);
    all_find(&a);
    for (size_t i = 0; i < 3; i++) {
        bool wanted = id != NULL && strcmp(ids[i], id) == 0;
        if ((find(&a, ids[i]) != NULL) != wanted)
            fail_msg("%s is %s", ids[i], wanted ? "missing" : "wrong");
    }
    if (id != NULL) {
        const struct finding *f = needs(&a, id, SEVERITY_WARN);
        assert_true(f->evidence.n >= 2 && f->evidence.v[0].packet == a.requests.v[0].t0_packet);
        assert_true(f->effects.n == 2);
    }
    audit_free(&a);
}

static void streams_that_are_none(void **state)
{
    (void)state;
    struct act x = kept_back;
    streams(x, "stream.collect-then-replay");
    x.reads = 1;
    streams(x, "stream.collect-then-replay");
    x = kept_back;
    x.head = 4.999;
    x.role = 0;
    streams(x, "stream.header-silence");
    x = plain; /* 300 tokens in two events, one of them a space */
    x.events = 2;
    x.asked_stream = true;
    streams(x, NULL); /* halves */
    struct audit a = {0};
    made_trace(&a);
    struct request *r = scene_add(&a, x);
    r->out.v[0].bytes = 1;
    r->out.v[1].bytes = 1200;
    r->text_bytes = 1201;
    all_find(&a);
    needs(&a, "stream.not-streamed", SEVERITY_WARN);
    audit_free(&a);
    x = (struct act){.t0 = 0,
                     .first = 5,
                     .last = 5,
                     .events = 1,
                     .tokens = 300,
                     .event_bytes = 1200,
                     .no_stream = true,
                     .asked_stream = true};
    streams(x, "stream.not-streamed");
    x.asked_stream = false; /* nobody asked for one */
    streams(x, NULL);
}

static void streams_that_only_look_like_it(void **state)
{
    (void)state;
    struct act x = plain;
    streams(x, NULL);
    x.events = 30; /* ten tokens an event, evenly */
    streams(x, NULL);
    x = kept_back; /* long prefill, short answer, fast model */
    x.events = 12;
    x.tokens = 12;
    x.last = 5.04;
    streams(x, NULL);
    x = plain; /* hidden reasoning, then one piece of answer */
    x.events = 1;
    x.last = x.first;
    x.tokens = 301;
    x.reasoning = 297;
    streams(x, NULL);
    struct audit a = {0}; /* a lost packet holds the rest back: one packet releases it all */
    made_trace(&a);
    x = kept_back;
    x.reads = 1;
    scene_add(&a, x);
    a.traces.v[0].totals.tcp.retransmissions = 1;
    all_find(&a);
    assert_null(find(&a, "stream.collect-then-replay"));
    audit_free(&a);
}

static void pairs(size_t n, double gap, size_t serial_of, const char *id)
{
    struct audit a = {0};
    made_trace(&a);
    for (size_t i = 0; i < n; i++) {
        double t = 30.0 * (double)i, later = i < serial_of ? 4 + gap : 0.2;
        scene_add(
            &a, (struct act){.t0 = t, .first = t + 1, .last = t + 5, .events = 200, .tokens = 200});
        scene_add(&a, (struct act){.t0 = t + 0.01,
                                   .first = t + 1 + later,
                                   .last = t + 5 + later,
                                   .events = 200,
                                   .tokens = 200});
    }
    all_find(&a);
    const struct finding *x = find(&a, "server.serial-queue");
    if ((x != NULL) != (id != NULL))
        fail_msg("queue is %s", x != NULL ? "wrong" : "missing");
    if (x != NULL) {
        assert_int_equal(x->severity, SEVERITY_INFO);
        assert_int_equal(x->evidence.n, 4);
        assert_true(x->evidence.v[1].t_ns <=
                    x->evidence.v[2].t_ns); /* one ended, then the other began */
        assert_true(fabs(x->effects.v[0].percent - 100 * ((4.99 + gap) / 1 - 1)) < 1e-6);
    }
    audit_free(&a);
}

static void queues(void **state)
{
    (void)state;
    pairs(5, 0.1, 5, "server.serial-queue");
    pairs(5, 0.0, 5, "server.serial-queue");
    pairs(5, 0.1, 0, NULL);
    pairs(5, 0.1, 2, NULL);  /* the smaller part of the groups */
    pairs(5, -0.5, 5, NULL); /* it began while the other was still writing */
}

static void many_are_one_finding(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 40; i++) {
        struct act x = kept_back;
        x.t0 = 10 * i;
        x.head = x.t0 + 0.002;
        x.role = x.t0 + 0.003;
        x.first = x.t0 + 5;
        x.last = x.t0 + 5.02;
        x.end = x.t0 + 5.03;
        scene_add(&a, x);
    }
    all_find(&a);
    assert_int_equal(a.findings.n, 1);
    const struct finding *x = needs(&a, "stream.collect-then-replay", SEVERITY_WARN);
    assert_non_null(strstr(x->detail, "In 40 of 40 requests"));
    assert_int_equal(x->evidence.n, 24);
    /* 300 tokens in 21 ms against 300 in 5.021 s */
    assert_true(fabs(x->effects.v[0].percent - 100 * (5.021 / 0.021 - 1)) < 1e-6);
    audit_free(&a);
}

/* Clean servers of all speeds: prefill of 5 ms to 30 s, 3 to 2,500 tok/s, 1 to 4 tokens an event,
 * some in pairs. */
static void clean_runs_raise_no_alarm(void **state)
{
    (void)state;
    uint64_t seed = 42;
    for (int run = 0; run < 400; run++) {
        struct audit a = {0};
        made_trace(&a);
        a.traces.v[0].vantage = "libpcap";
        a.traces.v[0].closed = true;
        a.traces.v[0].totals.counted_if_dropped = UINT64_MAX;
        double rate = 3 * pow(800, scene_random(&seed)), t = 1;
        size_t packing = 1 + (size_t)(4 * scene_random(&seed));
        bool document = scene_random(&seed) < 0.1;
        for (int i = 0; i < 12; i++) {
            size_t tokens = 1 + (size_t)(400 * pow(scene_random(&seed), 3));
            double prefill = 0.005 * pow(6000, scene_random(&seed));
            size_t events = document ? 1 : (tokens + packing - 1) / packing;
            struct act x = {.t0 = t,
                            .first = t + prefill,
                            .events = events,
                            .tokens = (int64_t)tokens,
                            .prompt = 1 + (int64_t)(50000 * scene_random(&seed)),
                            .event_bytes = (uint32_t)(document ? 4 * tokens : 4 * packing),
                            .no_stream = document};
            x.head = scene_random(&seed) < 0.5 ? t + 0.001 : x.first;
            x.role = x.head < x.first ? x.head + 0.0005 : 0;
            x.last = x.first + (double)(events - 1) * (double)packing / rate;
            x.end = x.last + 0.002;
            scene_add(&a, x);
            t = scene_random(&seed) < 0.3 ? t + 0.01 : x.end + 0.2;
        }
        all_find(&a);
        for (size_t i = 0; i < a.findings.n; i++) {
            if (a.findings.v[i].severity != SEVERITY_INFO)
                fail_msg("run %d: %s: %s", run, a.findings.v[i].id, a.findings.v[i].detail);
        }
        audit_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recordings),
        cmocka_unit_test(a_step_is_weighed),
        cmocka_unit_test(failures_are_counted_by_kind),
        cmocka_unit_test(streams_that_are_none),
        cmocka_unit_test(streams_that_only_look_like_it),
        cmocka_unit_test(queues),
        cmocka_unit_test(many_are_one_finding),
        cmocka_unit_test(clean_runs_raise_no_alarm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
