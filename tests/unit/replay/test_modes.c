/* Modes as pure functions of the plan: each against answers worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "replay/arrivals.h"
#include "replay/modes.h"

static const struct modes_options as_is = {.speed = 1, .repeat = 1, .warmup = -1};

enum { MS = 1000000 };

/* A request of a recording: its connection there, when it was sent and ended, in ms. */
static void recorded(struct plan *p, int64_t conn, int64_t t_ms, int64_t end_ms)
{
    struct plan_recorded *r = arena_alloc(&p->texts, sizeof *r);
    *r = (struct plan_recorded){.conn = conn, .t_ns = t_ms * MS, .end_ns = end_ms * MS};
    struct plan_request q = PLAN_REQUEST_NONE;
    q.workload = q.name = "w";
    q.method = "GET";
    q.path = "/";
    q.body = slice_of("");
    q.t_ns = r->t_ns;
    q.conn = conn;
    q.recorded = r;
    plan_add(p, &q);
}

struct want {
    int64_t group, t_ms, after, pause_ms, conn;
};

static void assert_plan(const struct plan *p, const struct want *want, size_t n)
{
    assert_int_equal(p->requests.n, n);
    for (size_t i = 0; i < n; i++) {
        const struct plan_request *r = &p->requests.v[i];
        int64_t t_ms = r->t_ns < 0 ? -1 : r->t_ns / MS;
        if (r->group != want[i].group || t_ms != want[i].t_ms || r->after != want[i].after ||
            r->pause_ns != want[i].pause_ms * MS || r->conn != want[i].conn)
            fail_msg("request %zu: group %d t %d after %d pause %d conn %d", i, (int)r->group,
                     (int)t_ms, (int)r->after, (int)(r->pause_ns / MS), (int)r->conn);
    }
}

static void apply(struct plan *p, struct modes_options o)
{
    struct err e;
    if (modes_apply(p, &o, "test", &e) != TA_OK)
        fail_msg("%s", e.msg);
}

/* Two users: one over connection 0 with 10 ms to think; the other, whose connections close after
 * each reply. */
static void two_users(struct plan *p)
{
    recorded(p, 0, 0, 100);
    recorded(p, 1, 5, 305);
    recorded(p, 0, 110, 200);
    recorded(p, 0, 210, 400);
    recorded(p, 2, 307, 500);
    recorded(p, 0, 410, 600);
    recorded(p, 3, 700, 800);
}

static void recorded_is_as_it_is(void **state)
{
    (void)state;
    static const struct want want[] = {
        {-1, 0, -1, 0, 0},   {-1, 5, -1, 0, 1},   {-1, 110, -1, 0, 0}, {-1, 210, -1, 0, 0},
        {-1, 307, -1, 0, 2}, {-1, 410, -1, 0, 0}, {-1, 700, -1, 0, 3}};
    struct plan p = {0};
    two_users(&p);
    apply(&p, as_is);
    assert_plan(&p, want, 7);
    assert_int_equal(p.concurrency, 0);
    plan_free(&p);
}

static void closed_waits_as_recorded(void **state)
{
    (void)state;
    static const struct want want[] = {
        {-1, 0, -1, 0, 0},  {-1, 5, -1, 0, 1}, {-1, -1, 0, 10, 0},
        {-1, -1, 2, 10, 0}, {-1, -1, 1, 2, 2}, /* the last to end, of any connection */
        {-1, -1, 3, 10, 0},                    /* its own before the later one */
        {-1, -1, 5, 100, 3}};
    struct plan p = {0};
    two_users(&p);
    struct modes_options o = as_is;
    o.kind = MODES_CLOSED;
    apply(&p, o);
    assert_plan(&p, want, 7);
    o.speed = 2; /* what is there already stays, twice as fast */
    apply(&p, o);
    assert_int_equal(p.requests.v[2].pause_ns, 5 * MS);
    assert_int_equal(p.requests.v[1].t_ns, 5 * MS / 2);
    plan_free(&p);
}

/* A request that never ended is nobody's predecessor. */
static void closed_with_an_endless_one(void **state)
{
    (void)state;
    struct plan p = {0};
    recorded(&p, 0, 0, 50);
    recorded(&p, 1, 10, 20);
    ((struct plan_recorded *)p.requests.v[1].recorded)->end_ns = -1;
    recorded(&p, 1, 60, 70);
    static const struct want want[] = {{-1, 0, -1, 0, 0}, {-1, 10, -1, 0, 1}, {-1, -1, 0, 10, 1}};
    struct modes_options o = as_is;
    o.kind = MODES_CLOSED;
    apply(&p, o);
    assert_plan(&p, want, 3);
    plan_free(&p);
}

static void barrier_finds_what_was_together(void **state)
{
    (void)state;
    struct plan p = {0};
    recorded(&p, 0, 0, 300);
    recorded(&p, 1, 50, 400);  /* 50 ms later: still with it */
    recorded(&p, 2, 51, 200);  /* too late */
    recorded(&p, 0, 410, 420); /* with nobody: the next was sent when it had ended */
    recorded(&p, 0, 430, 500);
    recorded(&p, 1, 431, 510);
    recorded(&p, 2, 479, 520);
    static const struct want want[] = {{0, 0, -1, 0, 0},   {0, 0, -1, 0, 1},  {-1, 51, -1, 0, 2},
                                       {-1, -1, 0, 10, 0}, {1, -1, 3, 10, 0}, {1, -1, 3, 10, 1},
                                       {1, -1, 3, 10, 2}};
    struct modes_options o = as_is;
    o.kind = MODES_BARRIER;
    apply(&p, o);
    assert_plan(&p, want, 7);
    plan_free(&p);
}

/* The ledger's groups are taken, however far apart; a group is over with its last. */
static void barrier_keeps_known_groups(void **state)
{
    (void)state;
    struct plan p = {0};
    recorded(&p, 0, 0, 300);
    recorded(&p, 1, 80, 900);
    recorded(&p, 0, 310, 600);
    recorded(&p, 1, 1000, 1100);
    for (size_t i = 0; i < 2; i++) {
        p.requests.v[i].group = 4;
        p.requests.v[i].t_ns = 0;
    }
    static const struct want want[] = {
        {4, 0, -1, 0, 0}, {4, 0, -1, 0, 1}, {-1, 310, -1, 0, 0}, {-1, -1, 0, 100, 1}};
    struct modes_options o = as_is;
    o.kind = MODES_BARRIER;
    apply(&p, o);
    assert_plan(&p, want, 4);
    plan_free(&p);
}

static void rate_is_constant(void **state)
{
    (void)state;
    struct plan p = {0};
    two_users(&p);
    p.requests.v[2].group = p.requests.v[3].group = 0;
    struct modes_options o = as_is;
    o.kind = MODES_RATE;
    o.rate = 8;
    o.repeat = 2;
    apply(&p, o);
    static const int64_t t_ms[] = {0,   125, 250,  250,  375,  500,  625,
                                   750, 875, 1000, 1000, 1125, 1250, 1375};
    for (size_t i = 0; i < 14; i++) {
        assert_int_equal(p.requests.v[i].t_ns, t_ms[i] * MS);
        assert_int_equal(p.requests.v[i].conn, -1);
        assert_int_equal(p.requests.v[i].round, 0);
        assert_int_equal(p.requests.v[i].repeat, i / 7);
    }
    plan_free(&p);
}

/* Gaps of a Poisson process are exponential: mean 1/r, and a share of 1/e is longer than that. The
 * same seed gives the same times. */
static void rate_is_poisson(void **state)
{
    (void)state;
    enum { N = 20000, RATE = 50 };
    struct arrivals a = arrivals_begin(RATE, true, 7), b = a, c = arrivals_begin(RATE, true, 8);
    int64_t last = 0, longer = 0, others = 0;
    for (int i = 0; i <= N; i++) {
        int64_t t = arrivals_next(&a);
        assert_int_equal(t, arrivals_next(&b));
        others += t != arrivals_next(&c);
        assert_true(t >= last);
        longer += t - last > 1000000000 / RATE;
        last = t;
    }
    assert_true(fabs((double)last / 1e9 / N * RATE - 1) < 0.03);
    assert_true(fabs((double)longer / N - exp(-1)) < 0.02);
    assert_int_equal(others, N);
}

static void concurrency_leaves_no_times(void **state)
{
    (void)state;
    struct plan p = {0};
    two_users(&p);
    p.requests.v[2].group = p.requests.v[3].group = 0;
    struct modes_options o = as_is;
    o.kind = MODES_CONCURRENCY;
    o.concurrency = 3;
    apply(&p, o);
    assert_int_equal(p.concurrency, 3);
    for (size_t i = 0; i < 7; i++) {
        const struct plan_request *r = &p.requests.v[i];
        assert_true(r->t_ns == -1 && r->after == -1 && r->group == -1 && r->conn == -1);
    }
    plan_free(&p);
}

static void repeat_comes_after_the_end(void **state)
{
    (void)state;
    struct plan p = {0};
    recorded(&p, 0, 0, 50);
    recorded(&p, 1, 3, 60);
    recorded(&p, 0, 70, 90);
    p.requests.v[0].group = p.requests.v[1].group = 2;
    p.requests.v[1].t_ns = 0;
    p.requests.v[2].after = 0;
    struct modes_options o = as_is;
    o.repeat = 3;
    o.requests = 8;
    o.warmup = 4;
    o.duration_ns = 9;
    apply(&p, o);
    static const struct want want[] = {{2, 0, -1, 0, 0}, {2, 0, -1, 0, 1}, {-1, 70, 0, 0, 0},
                                       {5, 0, -1, 0, 2}, {5, 0, -1, 0, 3}, {-1, 70, 3, 0, 2},
                                       {8, 0, -1, 0, 4}, {8, 0, -1, 0, 5}};
    assert_plan(&p, want, 8);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(p.requests.v[i].round, i / 3);
        assert_int_equal(p.requests.v[i].repeat, i / 3);
        assert_int_equal(p.requests.v[i].warmup, i < 4);
    }
    assert_int_equal(p.duration_ns, 9);
    plan_free(&p);
}

static void assert_refused(struct plan *p, struct modes_options o, int code, const char *says)
{
    struct err e = {0};
    int rc = modes_apply(p, &o, "my.plan", &e);
    if (rc != code || strstr(e.msg, says) == NULL || strstr(e.msg, "my.plan") == NULL)
        fail_msg("%d: %s", rc, e.msg);
}

static void what_a_plan_does_not_hold(void **state)
{
    (void)state;
    static const char text[] = "{\"path\":\"/\"}\n{\"path\":\"/\",\"after\":0}\n";
    struct plan p = {0};
    struct err e;
    assert_int_equal(plan_read(&p, slice_of(text), "p", &e), TA_OK);
    struct modes_options o = as_is;
    o.kind = MODES_CLOSED;
    assert_refused(&p, o, TA_EUSAGE, "closed");
    o.kind = MODES_BARRIER;
    assert_refused(&p, o, TA_EUSAGE, "barrier");
    o.kind = MODES_RECORDED;
    o.repeat = 5000001;
    assert_refused(&p, o, TA_ELIMIT, "10000000");
    plan_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_is_as_it_is),
        cmocka_unit_test(closed_waits_as_recorded),
        cmocka_unit_test(closed_with_an_endless_one),
        cmocka_unit_test(barrier_finds_what_was_together),
        cmocka_unit_test(barrier_keeps_known_groups),
        cmocka_unit_test(rate_is_constant),
        cmocka_unit_test(rate_is_poisson),
        cmocka_unit_test(concurrency_leaves_no_times),
        cmocka_unit_test(repeat_comes_after_the_end),
        cmocka_unit_test(what_a_plan_does_not_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
