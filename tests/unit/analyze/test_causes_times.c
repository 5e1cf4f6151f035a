/* From when to when, taken wrongly in each known way: once where the formula gives the claim, and
 * once nearly so, where it must not be named. The wrong figures are worked out here. */
#include <math.h>

#include "tests/unit/analyze/scene.h"

/* One second of waiting, three of text, a token each 10 ms. */
static const struct act plain = {.head = 1.0,
                                 .first = 1.0,
                                 .last = 4.0,
                                 .end = 4.0,
                                 .events = 301,
                                 .tokens = 301,
                                 .prompt = 50,
                                 .event_bytes = 4};

typedef void changed(struct request *r);

enum fit { NOT_NAMED, BY_NUMBER, BY_SIGN };

/* A scene of one request, and one claim about it. */
static enum verdict judge(struct act x, changed *change, const char *name, double value,
                          const char *unit, const char *id, enum fit fit)
{
    struct audit a = {0};
    made_trace(&a);
    struct request *r = scene_add(&a, x);
    if (change != NULL)
        change(r);
    scene_figures(&a);
    const struct claim *c =
        scene_expect(&a, name, value, unit, id, fit != NOT_NAMED, fit == BY_SIGN);
    enum verdict v = c->verdict;
    audit_free(&a);
    return v;
}

static void expect(struct act x, changed *change, const char *name, double value, const char *unit,
                   const char *id, enum fit fit)
{
    enum verdict v = judge(x, change, name, value, unit, id, fit);
    if (fit != NOT_NAMED)
        assert_int_equal(v, VERDICT_DIFFERS);
}

static void p24_role_event(void **state)
{
    (void)state;
    struct act x = plain;
    x.head = 0.02;
    x.role = 0.03;
    expect(x, NULL, "ttft@1", 30, "ms", "P24", BY_SIGN);
    expect(x, NULL, "icl.max@1", 970, "ms", "P24", BY_SIGN);
    expect(x, NULL, "icl.p50@1", 970, "ms", "P24", NOT_NAMED);
    expect(x, NULL, "output_tps_user@1", 301 / 3.97, "", "P24", BY_SIGN);
    expect(x, NULL, "tpot@1", 3970e3 / 300, "us", "P24", BY_SIGN);
    expect(x, NULL, "ttft@1", 50, "ms", "P24", NOT_NAMED);
    x.role = 0; /* no event came then */
    expect(x, NULL, "ttft@1", 30, "ms", "P24", NOT_NAMED);
    x.role = 0.999; /* one did, but with the text: no sign that it was taken for it */
    x.head = 0.999;
    expect(x, NULL, "ttft@1", 950, "ms", "P24", NOT_NAMED);
}

static void pings_first(struct request *r)
{
    r->keepalive_ns = scene_ns(0.5);
}

static void pings_later(struct request *r)
{
    r->keepalive_ns = scene_ns(2.5);
}

static void p25_first_byte(void **state)
{
    (void)state;
    struct act x = plain;
    x.head = 0.02;
    expect(x, NULL, "ttft@1", 20, "ms", "P25", BY_SIGN);
    expect(x, pings_first, "ttft@1", 500, "ms", "P25", BY_SIGN);
    expect(x, NULL, "ttft@1", 25, "ms", "P25", NOT_NAMED);
    expect(x, pings_later, "ttft@1", 500, "ms", "P25", NOT_NAMED);
    expect(x, pings_later, "ttft@1", 2500, "ms", "P25", NOT_NAMED);
    x.head = 1.0;
    expect(x, NULL, "ttft@1", 20, "ms", "P25", NOT_NAMED);
}

static void thinks_first(struct request *r)
{
    r->reasoning_bytes = 800;
    r->answer_ns = r->content_ns = scene_ns(3.0);
}

static void calls_first(struct request *r)
{
    r->tool_bytes = 800;
    r->answer_ns = r->content_ns = scene_ns(3.0);
}

static void p26_after_the_reasoning(void **state)
{
    (void)state;
    expect(plain, thinks_first, "ttft@1", 3000, "ms", "P26", BY_SIGN);
    expect(plain, thinks_first, "rate@1", 301, "", "P26", BY_SIGN);
    expect(plain, thinks_first, "tpot@1", 1e6 / 300, "us", "P26", BY_SIGN);
    expect(plain, thinks_first, "ttft@1", 3100, "ms", "P26", NOT_NAMED);
    expect(plain, NULL, "ttft@1", 3000, "ms", "P26", NOT_NAMED);
    expect(plain, calls_first, "ttft@1", 3000, "ms", "P26", NOT_NAMED);
}

/* 2.5 s of thinking that is counted and was not sent, then 64 tokens at 167 tok/s. */
static const struct act unsent = {.head = 0.01,
                                  .first = 2.5,
                                  .last = 2.878,
                                  .end = 2.878,
                                  .events = 64,
                                  .tokens = 464,
                                  .reasoning = 400,
                                  .prompt = 50};

static void sends_its_thinking(struct request *r)
{
    r->reasoning_bytes = 1600;
    r->text_bytes += 1600;
}

static void states_no_thinking(struct request *r)
{
    r->usage.reasoning = -1;
}

static void p26_thinking_that_was_not_sent(void **state)
{
    (void)state;
    struct act x = unsent;
    expect(x, NULL, "rate@1", 464 / 0.378, "", "P26", BY_SIGN);
    expect(x, NULL, "output_tps_user@1", 463 / 0.378, "", "P26", BY_SIGN);
    expect(x, NULL, "tpot@1", 378e3 / 463, "us", "P26", BY_SIGN);
    expect(x, states_no_thinking, "rate@1", 464 / 0.378, "", "P26", BY_SIGN); /* 256 bytes */
    expect(x, NULL, "rate@1", 900, "", "P26", NOT_NAMED);
    x.last = x.end = 12.5; /* there was no time for it before: the count is wrong */
    expect(x, states_no_thinking, "output_tps_user@1", 46.4, "", "P26", NOT_NAMED);
    x = unsent;
    assert_int_equal(judge(x, NULL, "rate@1", 63 / 0.378, "", "P26", NOT_NAMED), VERDICT_CONFIRMED);
    assert_int_equal(judge(x, NULL, "wall_tps@1", 464 / 2.878, "", "P26", NOT_NAMED),
                     VERDICT_CONFIRMED);
    assert_int_equal(judge(x, sends_its_thinking, "rate@1", 463 / 0.378, "", "P26", NOT_NAMED),
                     VERDICT_CONFIRMED);
    assert_int_equal(judge(x, NULL, "prompt_rate@1", 20, "", "P26", NOT_NAMED),
                     VERDICT_NOT_MEASURABLE); /* the thinking is in that time */
    x.last = x.end = 2.575;                   /* no decode rate at all */
    expect(x, NULL, "rate@1", 463 / 0.075, "", "P26", BY_SIGN);
    x.tokens = 64; /* nor is it counted: there are not so many bytes */
    assert_int_equal(judge(x, NULL, "rate@1", 464 / 0.075, "", "P26", NOT_NAMED),
                     VERDICT_IMPOSSIBLE);
}

/* No formula gives such figures, and none can be right. */
static void p27_a_clock_started_late(void **state)
{
    (void)state;
    assert_int_equal(judge(plain, NULL, "ttft@1", 240, "us", "P27", BY_SIGN), VERDICT_IMPOSSIBLE);
    assert_int_equal(judge(plain, NULL, "ttft@1", 0, "ms", "P27", BY_SIGN), VERDICT_IMPOSSIBLE);
    expect(plain, NULL, "ttft@1", 1, "ms", "P27", NOT_NAMED); /* a unit, more likely */
    expect(plain, NULL, "ttft@1", 1100, "ms", "P27", NOT_NAMED);
    struct act x = plain;
    x.head = 0.02;
    expect(x, NULL, "ttft@1", 300, "ms", "P27", NOT_NAMED); /* something had come */
    assert_int_equal(judge(plain, NULL, "ttft@1", 400, "ms", "P27", NOT_NAMED),
                     VERDICT_IMPOSSIBLE); /* nothing had, and so long no client parses */
}

static void reads_late(struct request *r)
{
    r->zero_windows = 2;
}

static void p28_read_late(void **state)
{
    (void)state;
    expect(plain, reads_late, "ttft@1", 1400, "ms", "P28", BY_SIGN);
    expect(plain, reads_late, "icl.p99@1", 170, "ms", "P28", BY_SIGN);
    expect(plain, reads_late, "icl.p50@1", 170, "ms", "P28", NOT_NAMED);
    expect(plain, NULL, "icl.p99@1", 170, "ms", "P28", NOT_NAMED);
    expect(plain, NULL, "ttft@1", 1400, "ms", "P28", NOT_NAMED);
    expect(plain, reads_late, "ttft@1", 700, "ms", "P28", NOT_NAMED);
    expect(plain, reads_late, "ttft@1", 5000, "ms", "P28",
           NOT_NAMED); /* nothing was left to come */
}

static void p29_whole_request(void **state)
{
    (void)state;
    struct act x = plain;
    expect(x, NULL, "output_tps_user@1", 301 / 4.0, "", "P29", BY_SIGN);
    x.end = 5.0;
    expect(x, NULL, "rate@1", 301 / 5.0, "", "P29", BY_SIGN);
    expect(x, NULL, "tpot@1", 4000 / 301.0, "ms", "P29", BY_SIGN);
    x.first = 0.3; /* the wait is no large part of it */
    x.head = 0.3;
    expect(x, NULL, "output_tps_user@1", 301 / 4.0, "", "P29", BY_NUMBER);
    expect(x, NULL, "output_tps_user@1", 301 / 4.5, "", "P29", NOT_NAMED);
}

static void p30_from_the_head(void **state)
{
    (void)state;
    struct act x = plain;
    x.head = 0.2;
    expect(x, NULL, "output_tps_user@1", 301 / 3.8, "", "P30", BY_SIGN);
    expect(x, NULL, "output_tps_user@1", 301 / 3.6, "", "P30", NOT_NAMED);
    x.head = 0.001; /* who begins with the request gets the same */
    expect(x, NULL, "output_tps_user@1", 301 / 4.0, "", "P30", BY_NUMBER);
    x.head = 1.0;
    expect(x, NULL, "output_tps_user@1", 301 / 3.8, "", "P30", NOT_NAMED);
}

static void p31_end_of_stream(void **state)
{
    (void)state;
    struct act x = plain;
    x.end = 4.6;
    expect(x, NULL, "e2el@1", 4.6, "s", "P31", BY_SIGN);
    expect(x, NULL, "output_tps_user@1", 300 / 3.6, "", "P31", BY_SIGN);
    expect(x, NULL, "e2e_output_tps@1", 301 / 4.6, "", "P31", BY_SIGN);
    expect(x, NULL, "e2el@1", 4.9, "s", "P31", NOT_NAMED);
    x.end = 4.0;
    expect(x, NULL, "e2el@1", 4.6, "s", "P31", NOT_NAMED);
    x.end = 4.01; /* no more than that does not make a difference of 45 ms */
    expect(x, NULL, "e2el@1", 4045, "ms", "P31", NOT_NAMED);
}

static void p32_the_wait_among_the_gaps(void **state)
{
    (void)state;
    struct act x = plain;
    expect(x, NULL, "icl.mean@1", 4e6 / 301, "us", "P32", BY_SIGN);
    expect(x, NULL, "tpot@1", 4e6 / 301, "us", "P32", BY_SIGN);
    expect(x, NULL, "icl.max@1", 1000, "ms", "P32", BY_SIGN);
    expect(x, NULL, "icl.mean@1", 4e6 / 301 * 1.1, "us", "P32", NOT_NAMED);
    expect(x, NULL, "icl.max@1", 1200, "ms", "P32", NOT_NAMED);
    x.head = x.first = 0.3;
    x.last = x.end = 3.3;
    expect(x, NULL, "tpot@1", 3.3e6 / 301, "us", "P32", BY_NUMBER);
}

/* Of 3 times 39 gaps of 75 ms and one wait of a second, the 99th percentile is a wait. */
static void p32_of_a_run(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 3; i++) {
        double t = 10 * i;
        scene_add(
            &a,
            (struct act){
                .t0 = t, .first = t + 1, .last = t + 1 + 39 * 0.075, .events = 40, .tokens = 40});
    }
    scene_figures(&a);
    scene_expect(&a, "itl.p99", 1000, "ms", "P32", true, true);
    scene_expect(&a, "itl.p50", 1000, "ms", "P32", false, false);
    scene_expect(&a, "itl.p99", 1300, "ms", "P32", false, false);
    audit_free(&a);
}

static void queued(struct request *r)
{
    r->timings.prompt_ms = 200;
}

static void prefilled(struct request *r)
{
    r->timings.prompt_ms = 940;
}

static void p33_the_servers_own_wait(void **state)
{
    (void)state;
    expect(plain, queued, "ttft@1", 200, "ms", "P33", BY_SIGN);
    expect(plain, queued, "ttft@1", 240, "ms", "P33", NOT_NAMED);
    expect(plain, prefilled, "ttft@1", 940, "ms", "P33", NOT_NAMED); /* nothing is hidden */
}

static void p34_units(void **state)
{
    (void)state;
    struct act x = plain;
    expect(x, NULL, "rate@1", 100e3, "", "P34", BY_NUMBER);
    expect(x, NULL, "ttft@1", 1, "ms", "P34", BY_NUMBER);
    expect(x, NULL, "rate@1", 130e3, "", "P34", NOT_NAMED);
    expect(x, NULL, "rate@1", 1000, "", "P34", NOT_NAMED); /* a factor of ten is no unit */
    x.tokens = 3000; /* 1000 tokens/s: a thousand times an event rate would be nothing */
    x.events = 3;
    expect(x, NULL, "rate@1", 1.0, "", "P34", NOT_NAMED); /* M/(o_M-o_1) gives it */
    expect(x, NULL, "rate@1", 1.0, "", "P01", BY_SIGN);
}

/* The clock was set by so much between the request and its reply. */
static void clock_set(struct audit *a, int64_t step_ns)
{
    made_trace(a);
    VEC_PUSH(&a->traces.v[0].steps, ((struct clock_step){.step_ns = step_ns}));
    struct request *r = scene_add(a, plain);
    r->clock_stepped = true;
    for (size_t i = 0; i < r->out.n; i++)
        r->out.v[i].t_ns += step_ns;
    scene_figures(a);
}

static void p35_the_walls_clock(void **state)
{
    (void)state;
    struct audit a = {0};
    clock_set(&a, -1400 * MS);
    const struct claim *c = scene_expect(&a, "ttft@1", -400, "ms", "P35", true, true);
    assert_int_equal(c->verdict, VERDICT_NOT_MEASURABLE);          /* what it was nobody knows */
    scene_expect(&a, "latency@1", 2600, "ms", "P35", true, false); /* possible without a step */
    scene_expect(&a, "ttft@1", -700, "ms", "P35", false, false);
    audit_free(&a);
    a = (struct audit){0};
    clock_set(&a, 5000 * MS);
    scene_expect(&a, "ttft@1", 6000, "ms", "P35", true, false);
    a.traces.v[0].steps.v[0].step_ns = 9000 * MS; /* too long to be in it */
    scene_expect(&a, "ttft@1", 6000, "ms", "P35", false, false);
    audit_free(&a);
    a = (struct audit){0};
    made_trace(&a); /* the clock was left alone */
    scene_add(&a, plain);
    scene_figures(&a);
    scene_expect(&a, "ttft@1", -400, "ms", "P35", false, false);
    scene_expect(&a, "ttft@1", 600, "ms", "P35", false, false);
    audit_free(&a);
}

static void connects(struct request *r)
{
    r->syn_ns = r->t0 - 300 * MS;
}

static void connects_at_once(struct request *r)
{
    r->syn_ns = r->t0 - 1 * MS;
}

static void p36_connecting(void **state)
{
    (void)state;
    expect(plain, connects, "ttft@1", 1300, "ms", "P36", BY_SIGN);
    expect(plain, connects, "latency@1", 4300, "ms", "P36", BY_SIGN);
    expect(plain, connects, "ttft@1", 1400, "ms", "P36", NOT_NAMED);
    expect(plain, connects_at_once, "ttft@1", 1300, "ms", "P36", NOT_NAMED);
    expect(plain, NULL, "ttft@1", 1300, "ms", "P36", NOT_NAMED); /* it was there before */
}

static void p37_the_whole_time(void **state)
{
    (void)state;
    struct act x = plain;
    x.end = 5.0;
    expect(x, NULL, "ttft@1", 4000, "ms", "P37", BY_SIGN);
    expect(x, NULL, "ttft@1", 5000, "ms", "P37", BY_SIGN);
    expect(x, NULL, "ttft@1", 4500, "ms", "P37", NOT_NAMED);
    x.head = x.first = 3.5; /* little time to tell it from the first text */
    expect(x, NULL, "ttft@1", 4000, "ms", "P37", BY_NUMBER);
}

/* As text comes to a gateway that holds it back until 2.0 s after it was asked, and passes on then
 * what it has. */
static void hold_back(struct request *r, const struct request *u)
{
    for (size_t i = 0; i < r->out.n; i++) {
        int64_t got = u->out.v[i].t_ns, held = r->t0 + 2 * NS_PER_S;
        r->out.v[i].t_ns = (got > held ? got : held) + MS;
        r->out.v[i].packet = u->out.v[i].packet + 5000;
    }
}

/* A gateway that holds back what it gets, both legs in one trace; or two requests of other text, or
 * of one text to one server. */
static void p38_what_the_gateway_had(void **state)
{
    (void)state;
    for (int near = 0; near < 3; near++) {
        struct audit a = {0};
        made_trace(&a);
        struct act x = plain;
        x.head = x.first = 0.5;
        x.last = x.end = 3.9;
        size_t r = a.requests.n;
        scene_add(&a, x);
        x.t0 = 0.01;
        struct request *u = scene_add(&a, x);
        hold_back(&a.requests.v[r], u);
        a.requests.v[r].z = a.requests.v[r].t_end = scene_ns(4);
        a.requests.v[r].body_sha256 = u->body_sha256 = "both";
        a.requests.v[r].reply_id = u->reply_id = 7;
        a.requests.v[r].said_hash = 1;
        u->said_hash = near == 1 ? 2 : 1;
        u->server_port = near == 2 ? 0 : 8001;
        scene_figures(&a);
        assert_int_equal(a.inner.n, near == 0);
        scene_expect(&a, "ttft@1", 500, "ms", "P38", near == 0, true);
        scene_expect(&a, "ttft@1", 700, "ms", "P38", false, false);
        audit_free(&a);
    }
}

static void p39_a_document(void **state)
{
    (void)state;
    struct act x = plain;
    x.no_stream = true;
    x.events = 1;
    x.first = x.head = 4.0;
    x.prompt = 1000;
    assert_int_equal(judge(x, NULL, "prompt_rate@1", 250, "", "P39", BY_SIGN),
                     VERDICT_NOT_MEASURABLE);
    judge(x, NULL, "prompt_rate@1", 290, "", "P39", NOT_NAMED);
    x.no_stream = false;
    x.events = 301;
    x.head = x.first = 1.0;
    expect(x, NULL, "prompt_rate@1", 250, "", "P39", NOT_NAMED);
}

static void p40_one_time_for_two_phases(void **state)
{
    (void)state;
    struct act x = plain;
    x.prompt = 1000;
    expect(x, NULL, "prompt_rate@1", 250, "", "P40", BY_SIGN);
    expect(x, NULL, "prompt_rate@1", 300, "", "P40", NOT_NAMED);
    x.head = x.first = 0.4; /* nearly all of it was decoding */
    expect(x, NULL, "prompt_rate@1", 250, "", "P40", BY_NUMBER);
    struct audit a = {0};
    made_trace(&a);
    x = plain;
    x.prompt = 1000;
    scene_add(&a, x);
    x.t0 = 6;
    x.head = x.first = 7;
    x.last = x.end = 10;
    scene_add(&a, x);
    scene_figures(&a);
    scene_expect(&a, "prompt_rate", 2000 / 10.0, "", "P40", true, true);
    scene_expect(&a, "output_tps_user", 602 / 10.0, "", "P40", true, true);
    scene_expect(&a, "output_tps_user", 602 / 11.0, "", "P40", false, false);
    audit_free(&a);
}

/* The prompt for one token, then the whole, which another request delays by half a second. */
static void p41_a_difference(void **state)
{
    (void)state;
    for (int near = 0; near < 2; near++) {
        struct audit a = {0};
        made_trace(&a);
        scene_add(&a, (struct act){.first = 1,
                                   .last = 1,
                                   .events = 1,
                                   .tokens = 1,
                                   .prompt = near ? 400 : 500,
                                   .max_tokens = 1});
        scene_add(
            &a,
            (struct act){
                .t0 = 2, .first = 3.5, .last = 6.5, .events = 301, .tokens = 301, .prompt = 500});
        scene_add(
            &a,
            (struct act){
                .t0 = 2.2, .first = 3.2, .last = 5, .events = 101, .tokens = 101, .prompt = 700});
        scene_figures(&a);
        scene_expect(&a, "output_tps_user@2", 300 / 3.5, "", "P41", near == 0, true);
        scene_expect(&a, "output_tps_user@2", 300 / 3.8, "", "P41", false, false);
        audit_free(&a);
    }
}

static void p42_a_cold_start(void **state)
{
    (void)state;
    for (int warm = 0; warm < 2; warm++) {
        struct audit a = {0};
        struct audit_options o = audit_defaults;
        made_trace(&a);
        for (int i = 0; i < 4; i++) {
            struct act x = plain;
            x.t0 = 10 * i;
            x.head = x.first = x.t0 + (i == 0 && !warm ? 5 : 1);
            x.last = x.end = x.first + 3;
            scene_add(&a, x);
        }
        o.warmup = 1;
        made_figures(&a, &o);
        scene_expect(&a, "ttft.mean", 2000, "ms", "P42", !warm, true);
        scene_expect(&a, "latency.mean", 5000, "ms", "P42", !warm, true);
        scene_expect(&a, "ttft.mean", 2300, "ms", "P42", false, false);
        audit_free(&a);
    }
}

static void loads(struct request *r)
{
    r->timings.load_ms = 2000;
    r->timings.total_ms = 6000;
}

static void is_loaded(struct request *r)
{
    loads(r);
    r->timings.load_ms = 20;
}

static void p42_loading_by_the_servers_clock(void **state)
{
    (void)state;
    expect(plain, loads, "rate@1", 301 / 6.0, "", "P42", BY_SIGN);
    expect(plain, loads, "rate@1", 301 / 6.5, "", "P42", NOT_NAMED);
    expect(plain, is_loaded, "rate@1", 301 / 6.0, "", "P42", NOT_NAMED);
}

/* What is seen in two of eight requests does not give a median of all; it may give the least. */
static void what_few_show_is_no_figure_of_all(void **state)
{
    (void)state;
    for (int few = 0; few < 2; few++) {
        struct audit a = {0};
        made_trace(&a);
        for (int i = 0; i < 8; i++) {
            struct act x = plain;
            x.t0 = 10 * i;
            x.head = x.first = x.t0 + 1;
            x.last = x.end = x.t0 + 4;
            x.role = i < (few ? 2 : 6) ? x.t0 + 0.03 : 0;
            scene_add(&a, x);
        }
        scene_figures(&a);
        scene_expect(&a, "ttft.p50", 30, "ms", "P24", !few, true);
        scene_expect(&a, "ttft.min", 30, "ms", "P24", true, true);
        audit_free(&a);
    }
}

/* A figure that is simply wrong is explained by few. */
static void what_is_wrong_otherwise_draws_no_crowd(void **state)
{
    (void)state;
    static const char *const names[] = {"ttft@1", "latency@1", "prompt_rate@1", "icl.mean@1"};
    static const char *const units[] = {"ms", "ms", "", "us"};
    static const double truth[] = {1000, 4000, 1000, 10000};
    static const double factors[] = {1.37, 0.61, 2.3, 0.43};
    struct act x = plain;
    x.prompt = 1000;
    x.head = 0.02;
    x.role = 0.03;
    x.end = 4.3;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (size_t k = 0; k < sizeof factors / sizeof *factors; k++) {
            struct audit a = {0};
            made_trace(&a);
            connects(scene_add(&a, x));
            scene_figures(&a);
            char text[64];
            snprintf(text, sizeof text, "%s=%.6g%s", names[i], truth[i] * factors[k], units[i]);
            const struct claim *c = scene_judge(&a, &audit_defaults, text);
            if (c->causes.n > 1)
                fail_msg("%s: %zu causes", text, c->causes.n);
            audit_free(&a);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p24_role_event),
        cmocka_unit_test(p25_first_byte),
        cmocka_unit_test(p26_after_the_reasoning),
        cmocka_unit_test(p26_thinking_that_was_not_sent),
        cmocka_unit_test(p27_a_clock_started_late),
        cmocka_unit_test(p28_read_late),
        cmocka_unit_test(p29_whole_request),
        cmocka_unit_test(p30_from_the_head),
        cmocka_unit_test(p31_end_of_stream),
        cmocka_unit_test(p32_the_wait_among_the_gaps),
        cmocka_unit_test(p32_of_a_run),
        cmocka_unit_test(p33_the_servers_own_wait),
        cmocka_unit_test(p34_units),
        cmocka_unit_test(p35_the_walls_clock),
        cmocka_unit_test(p36_connecting),
        cmocka_unit_test(p37_the_whole_time),
        cmocka_unit_test(p38_what_the_gateway_had),
        cmocka_unit_test(p39_a_document),
        cmocka_unit_test(p40_one_time_for_two_phases),
        cmocka_unit_test(p41_a_difference),
        cmocka_unit_test(p42_a_cold_start),
        cmocka_unit_test(p42_loading_by_the_servers_clock),
        cmocka_unit_test(what_few_show_is_no_figure_of_all),
        cmocka_unit_test(what_is_wrong_otherwise_draws_no_crowd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
