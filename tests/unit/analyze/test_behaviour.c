/* Stalls, prefill, queues, early stops, reuse: each made once as it is found and once as it nearly
 * is, with figures worked out beside it. */
#include "analyze/behaviour.h"
#include "analyze/findings.h"
#include "analyze/stalls.h"
#include "tests/unit/analyze/scene.h"

static const struct finding *found(const struct audit *a, const char *id)
{
    for (size_t i = 0; i < a->findings.n; i++) {
        if (strcmp(a->findings.v[i].id, id) == 0)
            return &a->findings.v[i];
    }
    return NULL;
}

static void judge(struct audit *a, const struct audit_options *o)
{
    made_figures(a, o);
    findings_find(a, o);
}

static const struct metric *figure(const struct audit *a, const char *name, const char *stat)
{
    size_t run = strncmp(name, "stall", 5) != 0; /* stalls are of the trace */
    const struct metric *m = metrics_find(a, name, stat, (struct metric_scope){1, run, NULL});
    if (m == NULL)
        fail_msg("no %s %s", name, stat);
    return m;
}

static void near(double value, double expected, double within)
{
    if (!(fabs(value - expected) <= within))
        fail_msg("found %.9g, expected %.9g", value, expected);
}

/* --- stalls ----------------------------------------------------------------------------------- */

static double exponential(uint64_t *state)
{
    return -log(1 - scene_random(state));
}

enum stalling { NOISE, CYCLES, RANDOM_TIMES };

/* Requests one after the other for 60 s, their gaps 20 ms with exponential noise; twelve stalls of
 * 0.5 s, every 5 s (give or take 0.1 s), or at random times. */
static void stalling_run(struct audit *a, enum stalling kind, uint64_t seed)
{
    enum { STALLS = 12 };
    double due[STALLS], t = 0.3;
    uint64_t state = seed;
    for (int i = 0; i < STALLS; i++)
        due[i] = kind == CYCLES ? 2 + 5 * i + 0.2 * (scene_random(&state) - 0.5)
                                : 60 * scene_random(&state);
    for (int i = 1; i < STALLS; i++) {
        for (int k = i; k > 0 && due[k] < due[k - 1]; k--) {
            double moved = due[k];
            due[k] = due[k - 1];
            due[k - 1] = moved;
        }
    }
    made_trace(a);
    for (int next = 0; t < 60;) {
        struct request *r = scene_add(
            a,
            (struct act){.t0 = t, .first = t + 0.1, .last = t + 0.1, .events = 200, .tokens = 200});
        t += 0.1;
        for (size_t k = 0; k < r->out.n; k++) {
            r->out.v[k].t_ns = scene_ns(t);
            t += 0.02 + 0.005 * exponential(&state);
            bool stalls = kind != NOISE && next < STALLS && t > due[next];
            t += stalls ? 0.5 : 0;
            next += stalls;
        }
        r->z = r->t_end = r->out.v[r->out.n - 1].t_ns + MS;
        t += 0.3 * scene_random(&state); /* the client waits as it likes */
    }
}

static void cyclic_stalls_are_found_and_random_ones_are_not(void **state)
{
    (void)state;
    enum { SEEDS = 15 };
    int right = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (enum stalling kind = NOISE; kind <= RANDOM_TIMES; kind++) {
            struct audit a = {0};
            stalling_run(&a, kind, 1000 * seed + kind);
            judge(&a, &audit_defaults);
            const struct finding *x = found(&a, "server.cyclic-stalls");
            if (kind != CYCLES && x != NULL)
                fail_msg("seed %d: stalls in cycles where there are %s: %s", (int)seed,
                         kind == NOISE ? "none" : "random ones", x->detail);
            if (kind == CYCLES && x != NULL) {
                right += fabs(figure(&a, "stall_period", "value")->value - 5) < 0.1;
                assert_true(x->evidence.n >= 5);
                assert_true(x->evidence.v[0].packet > 0);
            }
            audit_free(&a);
        }
    }
    if (right < SEEDS - 1)
        fail_msg("the period was found in %d of %d", right, SEEDS);
}

static void stalls_are_measured(void **state)
{
    (void)state;
    struct audit a = {0};
    stalling_run(&a, CYCLES, 7);
    judge(&a, &audit_defaults);
    double stalls = figure(&a, "stalls", "count")->value;
    assert_true(stalls >= 10 && stalls <= 12); /* one may fall between two requests */
    double share = figure(&a, "stall_share", "value")->value;
    assert_true(share > 0.08 && share < 0.13); /* some 6 s of 52 */
    audit_free(&a);
    struct audit_options o = audit_defaults; /* each threshold is an option */
    for (int i = 0; i < 4; i++) {
        o = audit_defaults;
        o.stall_factor = i == 0 ? 100 : o.stall_factor;
        o.stall_correlation = i == 1 ? 1.01 : o.stall_correlation;
        o.stall_score = i == 2 ? 100 : o.stall_score;
        o.stall_cycles = i == 3 ? 20 : o.stall_cycles;
        a = (struct audit){0};
        stalling_run(&a, CYCLES, 7);
        judge(&a, &o);
        assert_null(found(&a, "server.cyclic-stalls"));
        audit_free(&a);
    }
}

/* Each request pauses once in its middle, and one is sent every 5 s: the period is the client's. */
static void a_pause_in_each_request_is_no_cycle_of_the_server(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 14; i++) {
        struct request *r = scene_add(&a, (struct act){.t0 = 5 * i,
                                                       .first = 5 * i + 0.1,
                                                       .last = 5 * i + 4.1,
                                                       .events = 101,
                                                       .tokens = 101});
        for (size_t k = 50; k < r->out.n; k++)
            r->out.v[k].t_ns += 600 * MS;
        r->z = r->t_end = r->out.v[r->out.n - 1].t_ns;
    }
    judge(&a, &audit_defaults);
    near(figure(&a, "stalls", "count")->value, 14, 0);
    near(figure(&a, "stall_period", "value")->value, 5, 0.05);
    assert_non_null(strstr(figure(&a, "stall_period", "value")->reason, "requests are sent on it"));
    assert_null(found(&a, "server.cyclic-stalls"));
    audit_free(&a);
}

/* 2.5 s at 200 tok/s, 2.5 s at 4 tok/s, and again: short streams lie within a stall as a whole, and
 * their own median says nothing of it. */
static void streams_within_a_stall(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    for (double t = 0; t < 60;) {
        struct request *r = scene_add(
            &a,
            (struct act){.t0 = t, .first = t + 0.01, .last = t + 0.02, .events = 12, .tokens = 12});
        t += 0.01;
        for (size_t k = 0; k < r->out.n; k++) {
            r->out.v[k].t_ns = scene_ns(t);
            t += fmod(t, 5) < 2.5 ? 0.005 : 0.25;
        }
        r->z = r->t_end = r->out.v[r->out.n - 1].t_ns + MS;
        t += 0.02;
    }
    judge(&a, &audit_defaults);
    near(figure(&a, "stall_period", "value")->value, 5, 0.1);
    assert_non_null(found(&a, "server.cyclic-stalls"));
    audit_free(&a);
}

/* --- prefill ---------------------------------------------------------------------------------- */

/* Prompts of 100 to 12,800 tokens, one after the other: ttft = 1 ms tokens^power / 100^power. */
static void prefill_run(struct audit *a, double power, int n, double noise)
{
    uint64_t state = 5;
    double t = 0;
    made_trace(a);
    for (int i = 0; i < n; i++) {
        double prompt = 100 * pow(2, i % 8);
        double ttft = 0.01 * pow(prompt / 100, power) * (1 + noise * (scene_random(&state) - 0.5));
        scene_add(a, (struct act){.t0 = t,
                                  .first = t + ttft,
                                  .last = t + ttft + 1,
                                  .events = 50,
                                  .tokens = 50,
                                  .prompt = (int64_t)prompt});
        t += ttft + 2;
    }
}

static void superlinear_prefill(void **state)
{
    (void)state;
    struct audit a = {0};
    prefill_run(&a, 1.8, 8, 0);
    judge(&a, &audit_defaults);
    near(figure(&a, "prefill_exponent", "value")->value, 1.8, 1e-6);
    const struct finding *x = found(&a, "server.superlinear-prefill");
    assert_non_null(x);
    assert_string_equal(x->effects.v[0].metric, "ttft");
    near(x->effects.v[0].percent, 100 * (pow(128, 0.8) - 1), 1e-2);
    assert_int_equal(x->evidence.n, 6);
    audit_free(&a);
}

/* A quadratic part that shows with long prompts alone: 31 minutes for 52,000 tokens, 2.5 by the
 * pace of short ones. Then one as it is usual: twice as long a token at 50,000. */
static void quadratic_prefill_shows_at_the_long_end(void **state)
{
    (void)state;
    static const int64_t prompts[] = {100, 400, 1000, 3000, 8000, 16000, 32000, 52000};
    for (int usual = 0; usual < 2; usual++) {
        struct audit a = {0};
        double t = 0;
        made_trace(&a);
        for (size_t i = 0; i < 8; i++) {
            double p = (double)prompts[i];
            double ttft = usual ? p / 3000 * (1 + p / 50000) : p / 346.667 + 632.4e-9 * p * p;
            scene_add(&a, (struct act){.t0 = t,
                                       .first = t + ttft,
                                       .last = t + ttft + 1,
                                       .events = 50,
                                       .tokens = 50,
                                       .prompt = prompts[i]});
            t += ttft + 2;
        }
        judge(&a, &audit_defaults);
        assert_true(figure(&a, "prefill_exponent_long", "value")->value >
                    figure(&a, "prefill_exponent", "value")->value);
        const struct finding *x = found(&a, "server.superlinear-prefill");
        if (usual ? x != NULL : x == NULL)
            fail_msg("exponent of the longer half %.3f from %.3f",
                     figure(&a, "prefill_exponent_long", "value")->value,
                     figure(&a, "prefill_exponent_long", "value")->ci_low);
        audit_free(&a);
    }
}

static void linear_prefill_is_none(void **state)
{
    (void)state;
    struct audit a = {0};
    prefill_run(&a, 1.15, 24, 0.2);
    judge(&a, &audit_defaults);
    const struct metric *m = figure(&a, "prefill_exponent", "value");
    near(m->value, 1.15, 0.03);
    assert_true(m->ci_low < 1.15 && m->ci_high > 1.15 && m->ci_high - m->ci_low < 0.06);
    assert_null(found(&a, "server.superlinear-prefill"));
    audit_free(&a);
}

/* Is prefill superlinear, of these prompts and times to first text, alone one after the other? */
struct timed {
    double prompt, ttft;
};

static void grows(const struct timed *v, size_t n, bool named, const char *what)
{
    struct audit a = {0};
    double t = 0;
    made_trace(&a);
    for (size_t i = 0; i < n; i++) {
        scene_add(&a, (struct act){.t0 = t,
                                   .first = t + v[i].ttft,
                                   .last = t + v[i].ttft + 1,
                                   .events = 50,
                                   .tokens = 50,
                                   .prompt = (int64_t)v[i].prompt});
        t += v[i].ttft + 2;
    }
    judge(&a, &audit_defaults);
    const struct finding *x = found(&a, "server.superlinear-prefill");
    if ((x != NULL) != named)
        fail_msg("%s: %s", what, x != NULL ? x->detail : "not found");
    audit_free(&a);
}

static void no_single_prompt_makes_it(void **state)
{
    (void)state;
    struct timed cold[5] = {{3478, 0.80}}, longest[8], odd[8];
    for (size_t i = 1; i < 5; i++)
        cold[i] = (struct timed){478, 0.051};
    grows(cold, 5, false, "two lengths");
    for (size_t i = 0; i < 8; i++) {
        double p = 500 * pow(2, (double)i);
        longest[i] = odd[i] = (struct timed){p, p / 5000};
    }
    longest[7].ttft *= 20;
    grows(longest, 8, false, "the longest one was cold");
    odd[0].ttft /= 100;
    grows(odd, 8, false, "the shortest one was known");
}

/* A start of 50 ms, and from then on by the square; then as it is usual, and noisy. */
static void a_start_that_every_request_has(void **state)
{
    (void)state;
    static const double prompts[] = {46, 231, 696, 1614, 3459, 5766, 9218, 13813};
    static const double wide[] = {46, 139, 343, 932, 2075, 4605, 9228, 18413};
    static const double noise[] = {1.1, 0.8, 1.3, 0.9, 1.2, 0.7, 1.0, 1.25};
    struct timed square[8], less[8], linear[8], noisy[8];
    for (size_t i = 0; i < 8; i++) {
        double p = prompts[i], w = wide[i] / 2301;
        square[i] = (struct timed){p, 0.05 + 0.0000000227 * p * p};
        less[i] = (struct timed){wide[i], 0.05 + 0.05 * w + 0.06 * w * w};
        linear[i] = (struct timed){p, 0.05 + p / 3000};
        noisy[i] = (struct timed){p, (0.05 + p / 3000) * noise[i]};
    }
    grows(square, 8, true, "a square over a start");
    grows(less, 8, true, "a square that shows less the start alone");
    grows(linear, 8, false, "linear over a start");
    grows(noisy, 8, false, "linear with noise");
}

static void prefill_needs_unlike_prompts_alone(void **state)
{
    (void)state;
    struct audit a = {0};
    prefill_run(&a, 1.8, 2, 0);
    judge(&a, &audit_defaults);
    const struct metric *m = figure(&a, "prefill_exponent", "value");
    assert_int_equal(m->grade, GRADE_NOT_MEASURABLE);
    assert_string_equal(
        m->reason, "2 requests were alone in flight and state their prompt tokens; 5 are needed");
    audit_free(&a);

    a = (struct audit){0};
    prefill_run(&a, 1.8, 8, 0);
    for (size_t i = 0; i < 8; i++) /* all but 100 tokens and a few were cached */
        a.requests.v[i].usage.cached = a.requests.v[i].usage.prompt - 100 - (int64_t)i;
    judge(&a, &audit_defaults);
    m = figure(&a, "prefill_exponent", "value");
    assert_string_equal(m->reason,
                        "the longest prompt is 1.07 times the shortest; 4 times are needed");
    audit_free(&a);
}

/* --- queues ----------------------------------------------------------------------------------- */

/* Ten requests, 0.2 s apart; each takes 1 s of the server, one after the other or all at once. */
static void loaded_run(struct audit *a, bool serial)
{
    made_trace(a);
    for (int i = 0; i < 10; i++) {
        double t0 = 0.2 * i, first = serial ? 1.0 * i + 0.1 : t0 + 0.1 + 0.02 * i;
        scene_add(a, (struct act){.t0 = t0,
                                  .first = first,
                                  .last = first + (serial ? 0.9 : 3),
                                  .events = 40,
                                  .tokens = 40});
    }
}

static void a_serial_server_queues(void **state)
{
    (void)state;
    struct audit a = {0};
    loaded_run(&a, true);
    judge(&a, &audit_defaults);
    near(figure(&a, "serial_share", "value")->value, 1, 0);
    assert_int_equal(figure(&a, "serial_share", "value")->n, 9);
    near(figure(&a, "queue_step", "p50")->value, 0.8, 1e-9);
    const struct finding *x = found(&a, "server.serial-queue");
    assert_non_null(x);
    assert_int_equal(x->evidence.n, 5);
    audit_free(&a);
}

/* They begin later and later, but before the others end. */
static void a_busy_server_does_not(void **state)
{
    (void)state;
    struct audit a = {0};
    loaded_run(&a, false);
    judge(&a, &audit_defaults);
    near(figure(&a, "serial_share", "value")->value, 0, 0);
    near(figure(&a, "queue_step", "p50")->value, 0.02, 1e-9);
    assert_null(found(&a, "server.serial-queue"));
    audit_free(&a);
}

/* --- early stops ------------------------------------------------------------------------------ */

/* Ten answers to max_tokens 200, `full` of them with all 200, one with `odd`, the others with 150.
 */
static void answers(struct audit *a, int full, int64_t odd)
{
    made_trace(a);
    for (int i = 0; i < 10; i++) {
        int64_t n = i < full ? 200 : i == 9 ? odd : 150;
        double t0 = 10 * i;
        scene_add(a, (struct act){.t0 = t0,
                                  .first = t0 + 0.1,
                                  .last = t0 + 0.1 + (double)n / 50,
                                  .events = (size_t)n,
                                  .tokens = n,
                                  .max_tokens = 200});
    }
}

static void p93_early_stops(void **state)
{
    (void)state;
    static const struct {
        int full;
        int64_t odd;
        bool found;
    } cases[] = {
        {6, 99, true},
        {6, 100, false}, /* at half of the limit it is none */
        {4, 99, false},  /* most stop where they like: so may this one */
        {9, 20, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct audit a = {0};
        answers(&a, cases[i].full, cases[i].odd);
        judge(&a, &audit_defaults);
        const struct finding *x = found(&a, "requests.early-stop");
        if ((x != NULL) != cases[i].found)
            fail_msg("%d full, %d tokens: %s", cases[i].full, (int)cases[i].odd,
                     x != NULL ? "found" : "not found");
        if (x != NULL) {
            near(figure(&a, "early_share", "value")->value, 0.1, 1e-12);
            assert_int_equal(x->evidence.v[0].packet, a.requests.v[9].t0_packet);
        }
        near(figure(&a, "output_tokens", "min")->value, (double)cases[i].odd, 0);
        audit_free(&a);
    }
}

static void early_although_ignore_eos_was_asked(void **state)
{
    (void)state;
    for (int asked = 0; asked < 2; asked++) {
        struct audit a = {0};
        answers(&a, 0, 20); /* none reaches the limit: nine have 150 of 200 */
        for (size_t i = 0; i < a.requests.n; i++)
            a.requests.v[i].asked.ignore_eos = asked;
        judge(&a, &audit_defaults);
        if ((found(&a, "requests.early-stop") != NULL) != asked)
            fail_msg("ignore_eos %d", asked);
        audit_free(&a);
    }
}

/* --- reuse ------------------------------------------------------------------------------------ */

/* Four bodies, each sent four times; the repeats take a share of the first one's ttft. */
static void repeats(struct audit *a, double ratio, int64_t cached)
{
    static const char *const bodies[] = {"a", "b", "c", "d"};
    made_trace(a);
    for (int i = 0; i < 16; i++) {
        double t0 = 10 * i, ttft = i < 4 ? 1 : ratio;
        scene_add(a, (struct act){.t0 = t0,
                                  .first = t0 + ttft,
                                  .last = t0 + ttft + 2,
                                  .events = 40,
                                  .tokens = 40,
                                  .prompt = 1000,
                                  .cached = i < 4 ? 0 : cached})
            ->body_sha256 = bodies[i % 4];
    }
}

static void known_prompts(void **state)
{
    (void)state;
    static const struct {
        double ratio;
        int64_t cached;
        bool found;
    } cases[] = {
        {0.1, 0, true}, /* it does not say so, but is ten times as fast */
        {0.9, 0, false},
        {0.2, 900, true},    /* it says so */
        {0.95, 100, false},  /* a template that all prompts share */
        {0.95, 90000, false} /* that the count of the prompt leaves out: 9000 % of it */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct audit a = {0};
        repeats(&a, cases[i].ratio, cases[i].cached);
        judge(&a, &audit_defaults);
        near(figure(&a, "repeated_share", "value")->value, 0.75, 0);
        near(figure(&a, "repeat_ttft", "p50")->value, cases[i].ratio, 1e-9);
        if (cases[i].cached > 1000)
            assert_true(isnan(figure(&a, "cached_share", "value")->value));
        else if (cases[i].cached > 0)
            near(figure(&a, "cached_share", "value")->value, (double)cases[i].cached / 1000, 1e-12);
        if ((found(&a, "server.cache-reuse") != NULL) != cases[i].found)
            fail_msg("case %zu: %s", i, cases[i].found ? "not found" : "found");
        audit_free(&a);
    }
}

/* The repeats are faster, and the server says that it knew none of them: it was cold (P63). */
static void a_warm_server_is_no_cache(void **state)
{
    (void)state;
    struct audit a = {0};
    repeats(&a, 0.1, 0);
    for (size_t i = 0; i < a.requests.n; i++)
        a.requests.v[i].usage.cached = 0;
    judge(&a, &audit_defaults);
    assert_null(found(&a, "server.cache-reuse"));
    assert_non_null(found(&a, "load.repeated-prompts"));
    audit_free(&a);
}

/* Five repeats of a workload without salt are five runs; that the last four are known is one
 * finding. */
static void reuse_is_seen_over_repeats(void **state)
{
    (void)state;
    static const char *const bodies[] = {"a", "b", "c", "d"};
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 20; i++) {
        double t0 = 10 * i, ttft = i < 4 ? 1 : 0.1;
        struct request *r = scene_add(&a, (struct act){.t0 = t0,
                                                       .first = t0 + ttft,
                                                       .last = t0 + ttft + 2,
                                                       .events = 40,
                                                       .tokens = 40,
                                                       .prompt = 1000});
        r->body_sha256 = bodies[i % 4];
        r->client_port = (uint16_t)(1000 + i);
        made_entry(&a, (struct ledger_entry){.local_port = 1000 + i,
                                             .sent_ns = 10000 * i,
                                             .workload = "w",
                                             .name = bodies[i % 4],
                                             .group = -1,
                                             .repeat = i / 4});
    }
    judge(&a, &audit_defaults);
    assert_int_equal(a.runs.n, 5);
    const struct finding *x = found(&a, "server.cache-reuse");
    assert_non_null(x);
    assert_int_equal(x->run, 0);
    assert_int_equal(a.findings.n, 1);
    near(x->effects.v[0].percent, -90, 1e-6);
    audit_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cyclic_stalls_are_found_and_random_ones_are_not),
        cmocka_unit_test(stalls_are_measured),
        cmocka_unit_test(a_pause_in_each_request_is_no_cycle_of_the_server),
        cmocka_unit_test(streams_within_a_stall),
        cmocka_unit_test(superlinear_prefill),
        cmocka_unit_test(quadratic_prefill_shows_at_the_long_end),
        cmocka_unit_test(linear_prefill_is_none),
        cmocka_unit_test(no_single_prompt_makes_it),
        cmocka_unit_test(a_start_that_every_request_has),
        cmocka_unit_test(prefill_needs_unlike_prompts_alone),
        cmocka_unit_test(a_serial_server_queues),
        cmocka_unit_test(a_busy_server_does_not),
        cmocka_unit_test(p93_early_stops),
        cmocka_unit_test(early_although_ignore_eos_was_asked),
        cmocka_unit_test(known_prompts),
        cmocka_unit_test(reuse_is_seen_over_repeats),
        cmocka_unit_test(a_warm_server_is_no_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
