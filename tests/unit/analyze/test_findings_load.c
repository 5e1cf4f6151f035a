/* The load, the client and the way between: each fault present, and a near miss. */
#include <math.h>

#include "tests/unit/analyze/finding_test.h"

static void there(struct audit *a, const char *id, bool is)
{
    finding_all(a, &audit_defaults);
    if (is)
        assert_true(finding_needs(a, id)->effects.n > 0);
    else
        finding_lacks(a, id);
    audit_free(a);
    *a = (struct audit){0};
}

static struct request *send(struct audit *a, double t0, double wait, double length)
{
    return scene_add(a, (struct act){.t0 = t0,
                                     .first = t0 + wait,
                                     .last = t0 + length,
                                     .end = t0 + length,
                                     .events = 20,
                                     .tokens = 20,
                                     .prompt = 50});
}

/* --- schedule --------------------------------------------------------------------------------- */

/* A hundred requests that were due each 0.1 s; so many were sent so late. */
static void late(enum fidelity_basis basis, int n, int64_t late_ns, bool found)
{
    struct audit a = {0};
    made_trace(&a);
    struct fidelity x = {.trace = 0,
                         .basis = basis,
                         .e2el = {.p50 = 1 * NS_PER_S},
                         .effective = {.p50 = 1 * NS_PER_S + late_ns}};
    for (int i = 0; i < 100; i++) {
        send(&a, 0.1 * i, 0.5, 1);
        int64_t error = i < n ? late_ns : 20000;
        x.send_error.max = error > x.send_error.max ? error : x.send_error.max;
        VEC_PUSH(&x.points, ((struct fidelity_point){(size_t)i, 0, error}));
    }
    VEC_PUSH(&a.fidelity, x);
    finding_all(&a, &audit_defaults);
    if (found) {
        const struct finding *y = finding_needs(&a, "load.late");
        assert_true(fabs(y->effects.v[0].percent - (double)late_ns / 1e7) < 1e-9);
        assert_true(y->evidence.n == 1);
    } else {
        finding_lacks(&a, "load.late");
    }
    audit_free(&a);
}

static void p59_p60_sent_late(void **state)
{
    (void)state;
    late(FIDELITY_DUE, 50, 300 * MS, true);
    late(FIDELITY_DUE, 1, 300 * MS, false); /* one of a hundred may be */
    late(FIDELITY_DUE, 50, 5 * MS, false);
    late(FIDELITY_RECORDED, 50, 300 * MS, false); /* it waits for answers that take longer now */
}

/* --- concurrency ------------------------------------------------------------------------------ */

static const struct ledger_entry planned = {.group = 0};

/* Groups of four that were planned together; each takes 1 s, and they are sent so far apart. */
static void company(double apart_s, bool by_ledger, bool found)
{
    struct audit a = {0};
    made_trace(&a);
    for (int g = 0; g < 3; g++) {
        for (int k = 0; k < 4; k++)
            send(&a, 20 * g + apart_s * k, 0.5, 1);
    }
    made_figures(&a, &audit_defaults);
    for (size_t i = 0; i < a.requests.n; i++) {
        a.requests.v[i].group = (int64_t)i / 4;
        a.requests.v[i].ledger = by_ledger ? &planned : NULL;
    }
    findings_find(&a, &audit_defaults);
    if (found)
        finding_needs(&a, "load.concurrency");
    else
        finding_lacks(&a, "load.concurrency");
    audit_free(&a);
}

static void as_recorded(size_t now, size_t recorded, int64_t meant, bool found)
{
    struct audit a = {0};
    const struct ledger_entry l = {.workload = "w", .name = "r", .group = -1, .concurrency = meant};
    made_trace(&a);
    send(&a, 0, 0.5, 1)->ledger = meant > 0 ? &l : NULL;
    VEC_PUSH(&a.fidelity,
             ((struct fidelity){
                 .has_recorded = true, .now = {.peak = now}, .recorded = {.peak = recorded}}));
    there(&a, "load.concurrency", found);
}

static void in_flight_together(void **state)
{
    (void)state;
    company(1.2, true, true);
    company(0.2, true, false);
    company(1.2, false, false); /* nobody meant them to be */
    as_recorded(4, 8, 0, true);
    as_recorded(8, 8, 0, false);
    as_recorded(1, 1, 0, false);
    as_recorded(2, 6, 2, false); /* no more were asked for this time */
    as_recorded(2, 6, 4, true);
    as_recorded(6, 6, 12, false); /* there are no more to send */
}

/* Eight were meant; so many clients, each with the next request after a pause. */
static void meant(int64_t in_flight, int clients, double pause_s, bool found)
{
    struct audit a = {0};
    const struct ledger_entry l = {
        .workload = "w", .name = "r", .group = -1, .concurrency = in_flight};
    made_trace(&a);
    for (int r = 0; r < 10; r++) {
        for (int k = 0; k < clients; k++)
            send(&a, r * (2 + pause_s) + 0.005 * k, 0.5, 2 - 0.001)->ledger = &l;
    }
    finding_all(&a, &audit_defaults);
    if (found)
        assert_true(finding_needs(&a, "load.concurrency")->effects.v[0].percent < -20);
    else
        finding_lacks(&a, "load.concurrency");
    audit_free(&a);
}

static void p57_as_many_as_were_meant(void **state)
{
    (void)state;
    meant(8, 8, 0, false);
    meant(8, 6, 0, true);
    meant(8, 8, 3, true); /* all pause together, most of the time */
    meant(8, 8, 0.5, false);
    meant(0, 6, 0, false); /* no number was meant */
}

/* Replies that nobody asked for in the trace, until so long after the first request. */
static void before(double from_s, double until_s, uint64_t dropped, bool found)
{
    struct audit a = {0};
    made_trace(&a);
    send(&a, 1, 0.5, 1);
    struct pipeline_totals *t = &a.traces.v[0].totals;
    t->before = (struct exchange_before){3, 9000, 1, 1, 0, scene_ns(from_s), scene_ns(1 + until_s)};
    t->first_t_ns = scene_ns(0);
    t->counted_received = 100;
    t->counted_dropped = dropped;
    t->counted_if_dropped = 0;
    finding_all(&a, &audit_defaults);
    if (found)
        assert_true(finding_needs(&a, "load.busy-before")->evidence.n == 2);
    else
        finding_lacks(&a, "load.busy-before");
    audit_free(&a);
}

static void p79_busy_before(void **state)
{
    (void)state;
    before(0, 2, 0, true);
    before(0.5, 2, 0, true); /* it had a pause */
    before(0, 2, UINT64_MAX, true);
    before(0.5, 2, UINT64_MAX, false); /* or nobody knows what was lost */
    before(0, -0.5, 0, false);         /* it was over by then */
    before(0, 0.05, 0, false);         /* … or nearly */
    before(0, 2, 7, false);            /* their requests may have been lost */
    struct audit a = {0};
    made_trace(&a);
    send(&a, 1, 0.5, 1);
    there(&a, "load.busy-before", false);
}

/* So many clients, each with the next request at once, or after a pause. */
static void closed_loop(int clients, int rounds, double pause_s, const char *id, bool found)
{
    struct audit a = {0};
    made_trace(&a);
    for (int r = 0; r < rounds; r++) {
        for (int k = 0; k < clients; k++)
            send(&a, r * (2 + pause_s) + 0.005 * k, 0.5, 2 - 0.001);
    }
    there(&a, id, found);
}

static void p58_at_a_cap(void **state)
{
    (void)state;
    closed_loop(100, 6, 0, "load.cap", true);
    closed_loop(90, 6, 0, "load.cap", false);  /* nobody's limit */
    closed_loop(100, 6, 1, "load.cap", false); /* each thinks for a second: not a queue */
}

/* Eight clients; the last request of one takes so much longer. */
static void ramp(double drain_s, bool found)
{
    struct audit a = {0};
    made_trace(&a);
    for (int r = 0; r < 10; r++) {
        for (int k = 0; k < 8; k++)
            send(&a, 2.0 * r + 0.001 * k, 0.5, r == 9 && k == 7 ? 2 + drain_s : 1.9999);
    }
    there(&a, "load.ramp", found);
}

static void p66_ramps(void **state)
{
    (void)state;
    ramp(10, true);
    ramp(0.1, false);
}

/* Twenty seconds of n requests a second, and a first second of its own; each takes 0.3 s. */
static void open_loop(int first, int n, bool found)
{
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < first; i++)
        send(&a, (double)i / first, 0.0531, 0.31237);
    for (int i = 0; i < 20 * n; i++)
        send(&a, 1 + (double)i / n, 0.0531, 0.31237);
    there(&a, "load.start-burst", found);
}

static void p61_a_burst_at_the_start(void **state)
{
    (void)state;
    open_loop(40, 7, true);
    open_loop(9, 7, false);
    struct audit a = {0};
    made_trace(&a); /* a closed loop begins with all clients at once */
    for (int i = 0; i < 480; i++)
        send(&a, 4 * (i / 40) + 0.001 * (i % 40) + 0.0005, 0.5, 3.9999);
    there(&a, "load.start-burst", false);
}

static void bodies(size_t unlike, bool found)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    struct audit a = {0};
    made_trace(&a);
    for (size_t i = 0; i < 8; i++)
        send(&a, 10.0 * (double)i, 0.5, 1)->body_sha256 = names[i % unlike];
    there(&a, "load.repeated-prompts", found);
}

static void p62_repeated_prompts(void **state)
{
    (void)state;
    bodies(2, true);
    bodies(8, false);
    bodies(6, false);
}

/* Thirty requests that wait 0.2 s and more, and some that wait 10 s. */
static void tail(int slow, double more_s, bool found)
{
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 30; i++)
        send(&a, 20.0 * i, i < slow ? 10 : 0.2 + more_s * i, 15);
    there(&a, "load.diluted-wait", found);
}

static void p79_few_make_the_mean(void **state)
{
    (void)state;
    tail(3, 0, true);
    tail(0, 0.1, false);
    tail(14, 0, false); /* half of them: the median is about to follow */
}

/* --- the client ------------------------------------------------------------------------------- */

static void connections(double setup_s, bool found)
{
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 5; i++) {
        struct request *r = send(&a, 10 * i + 1, 0.5, 1);
        r->syn_ns = r->t0 - 2 * MS - (int64_t)(setup_s * 1e9);
        r->accepted_ns = r->t0 - 2 * MS;
    }
    there(&a, "client.connections", found);
}

static void p36_setting_up(void **state)
{
    (void)state;
    connections(0.2, true);
    connections(0.001, false);
    struct audit a = {0};
    made_trace(&a);
    send(&a, 0, 0.5, 1); /* on a connection that was there */
    there(&a, "client.connections", false);
}

static void opening(double setup_s, bool found)
{
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 5; i++) {
        struct request *r = send(&a, 10 * i + 5, 0.5, 1);
        r->syn_ns = r->t0 - (int64_t)((i == 2 ? setup_s : 0.001) * 1e9);
        r->accepted_ns = r->t0;
        r->syn_packet = 40 + (uint64_t)i;
    }
    finding_all(&a, &audit_defaults);
    if (found)
        assert_int_equal(finding_needs(&a, "network.slow-connect")->evidence.v[0].packet, 42);
    else
        finding_lacks(&a, "network.slow-connect");
    audit_free(&a);
}

static void connections_that_open_slowly(void **state)
{
    (void)state;
    opening(1.003, true);
    opening(0.3, false);
}

static void p59_windows(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    send(&a, 0, 0.5, 1);
    struct request *r = send(&a, 10, 0.5, 1);
    r->zero_windows = 2;
    r->closed = (struct tcp_place){77, r->t0 + 300 * MS};
    a.traces.v[0].totals.tcp.zero_windows = 2;
    finding_all(&a, &audit_defaults);
    const struct finding *x = finding_needs(&a, "client.zero-window");
    assert_true(x->evidence.n == 1 && x->evidence.v[0].packet == 77);
    assert_non_null(strstr(x->evidence.v[0].what, "of 2"));
    audit_free(&a);
    a = (struct audit){0};
    made_trace(&a);
    a.traces.v[0].totals.tcp.zero_windows = 3; /* the server's, of uploads */
    send(&a, 0, 3, 4);                         /* it waits, and its window is open */
    there(&a, "client.zero-window", false);
}

/* Of the second of three requests, each of 4 s. */
static void waiting(int64_t unread_ns, int64_t late_ack_ns, uint64_t drops, uint64_t gaps,
                    bool stepped, const char *id)
{
    static const char *const all[] = {"client.slow-reader", "client.late-ack"};
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 3; i++)
        send(&a, 10 * i, 0.5, 4);
    struct request *r = &a.requests.v[1];
    if (unread_ns > 0)
        r->unread = (struct tcp_wait){1, r->t0 + 1000 * MS, unread_ns, 20000, 77};
    if (late_ack_ns > 0)
        r->late_ack = (struct tcp_wait){1, r->t0 + 1000 * MS, late_ack_ns, 0, 78};
    r->clock_stepped = stepped;
    a.traces.v[0].totals.counted_dropped = drops;
    a.traces.v[0].totals.counted_if_dropped = UINT64_MAX;
    a.traces.v[0].totals.tcp.gaps = gaps;
    finding_all(&a, &audit_defaults);
    for (size_t i = 0; i < 2; i++) {
        if (id == NULL || strcmp(id, all[i]) != 0) {
            finding_lacks(&a, all[i]);
            continue;
        }
        const struct finding *x = finding_needs(&a, id);
        assert_true(x->evidence.n == 1 && x->evidence.v[0].packet == 77 + i);
        assert_true(x->evidence.v[0].t_ns == r->t0 + 1000 * MS + unread_ns + late_ack_ns);
        assert_true(x->effects.n == 2);
    }
    audit_free(&a);
}

static void p59_a_client_that_is_slow(void **state)
{
    (void)state;
    waiting(900 * MS, 0, 0, 0, false, "client.slow-reader");
    waiting(900 * MS, 0, UINT64_MAX, 0, false, "client.slow-reader");
    waiting(150 * MS, 0, 0, 0, false, NULL);
    waiting(900 * MS, 0, 0, 0, true, NULL); /* a clock that was set */
    waiting(0, 800 * MS, 0, 0, false, "client.late-ack");
    waiting(0, 800 * MS, 0, 0, true, NULL);
    waiting(0, 800 * MS, UINT64_MAX, 0, false, NULL); /* earlier ones may not be in the trace */
    waiting(0, 800 * MS, 7, 0, false, NULL);
    waiting(0, 800 * MS, 0, 1, false, NULL);
    waiting(0, 0, 0, 0, false, NULL);
}

/* --- the network ------------------------------------------------------------------------------ */

static void resent(uint64_t n, uint64_t segments, bool found)
{
    struct audit a = {0};
    made_trace(&a);
    send(&a, 0, 0.5, 1)->retransmissions = (uint32_t)n;
    a.traces.v[0].totals.tcp.retransmissions = n;
    a.traces.v[0].totals.tcp.segments = segments;
    there(&a, "network.retransmissions", found);
}

static void retransmissions(void **state)
{
    (void)state;
    resent(20, 1000, true);
    resent(20, 100000, false);
    resent(1, 100, false);
    struct audit a = {0};
    made_trace(&a);
    struct request *r = send(&a, 0, 0.5, 1);
    r->retransmissions = 20;
    r->resent = (struct tcp_place){96, r->t0 + 200 * MS};
    r->needless = 10;
    a.traces.v[0].totals.tcp.segments = 1000;
    finding_all(&a, &audit_defaults);
    const struct finding *x = finding_needs(&a, "network.retransmissions");
    assert_true(x->evidence.n == 1 && x->evidence.v[0].packet == 96);
    assert_memory_equal(x->detail, "10 of 1000", 10);
    audit_free(&a);
    a = (struct audit){0};
    made_trace(&a);
    r = send(&a, 0, 0.5, 1);
    r->retransmissions = 20;
    r->needless = 18; /* the receiver had them: two are nobody's trouble */
    a.traces.v[0].totals.tcp.segments = 1000;
    there(&a, "network.retransmissions", false);
    made_trace(&a);
    r = send(&a, 0, 0.5, 1);
    r->retransmissions = 20;
    r->zero_windows = 3; /* it had no room for them */
    a.traces.v[0].totals.tcp.segments = 1000;
    there(&a, "network.retransmissions", false);
}

static void resets(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    struct request *r = send(&a, 0, 0.5, 1);
    r->outcome = OUTCOME_CUT_SHORT;
    r->end = END_RST;
    r->whole = false;
    r->reset = (struct tcp_place){202, r->t_end};
    finding_all(&a, &audit_defaults);
    const struct finding *x = finding_needs(&a, "network.resets");
    assert_true(x->evidence.n == 1 && x->evidence.v[0].packet == 202);
    audit_free(&a);
    a = (struct audit){0};
    made_trace(&a);
    send(&a, 0, 0.5, 1)->end = END_RST; /* behind a whole reply: in a hurry */
    there(&a, "network.resets", false);
}

/* Our own timeout is nobody's reset. */
static void client_leaves(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    struct request *r = send(&a, 0, 0.5, 1);
    r->outcome = OUTCOME_CUT_SHORT;
    r->end = END_RST;
    r->whole = false;
    r->left = true;
    r->client_port = 7;
    made_entry(
        &a, (struct ledger_entry){
                .workload = "w", .name = "r", .group = -1, .local_port = 7, .outcome = "timeout"});
    finding_all(&a, &audit_defaults);
    assert_non_null(strstr(finding_needs(&a, "client.left")->detail, "its ledger says 1 timeout"));
    finding_lacks(&a, "network.resets");
    audit_free(&a);
    made_trace(&a);
    r = send(&a, 0, 0.5, 1);
    r->outcome = OUTCOME_CUT_SHORT;
    r->end = END_RST;
    r->whole = false;
    there(&a, "client.left", false);
}

static int covered(void **state)
{
    (void)state;
    return finding_covered("load.") + finding_covered("client.") + finding_covered("network.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p59_p60_sent_late),
        cmocka_unit_test(in_flight_together),
        cmocka_unit_test(p57_as_many_as_were_meant),
        cmocka_unit_test(p79_busy_before),
        cmocka_unit_test(p59_a_client_that_is_slow),
        cmocka_unit_test(p58_at_a_cap),
        cmocka_unit_test(p66_ramps),
        cmocka_unit_test(p61_a_burst_at_the_start),
        cmocka_unit_test(p62_repeated_prompts),
        cmocka_unit_test(p79_few_make_the_mean),
        cmocka_unit_test(p36_setting_up),
        cmocka_unit_test(connections_that_open_slowly),
        cmocka_unit_test(p59_windows),
        cmocka_unit_test(retransmissions),
        cmocka_unit_test(resets),
        cmocka_unit_test(client_leaves),
    };
    return cmocka_run_group_tests(tests, NULL, covered);
}
