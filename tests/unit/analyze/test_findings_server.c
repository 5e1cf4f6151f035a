/* What a server can take, and how it stops: each present, and a near miss. */
#include <math.h>

#include "tests/unit/analyze/finding_test.h"

static void there(struct audit *a, const char *id, bool is)
{
    finding_all(a, &audit_defaults);
    if (is)
        assert_true(finding_needs(a, id)->evidence.n > 0);
    else
        finding_lacks(a, id);
    audit_free(a);
    *a = (struct audit){0};
}

/* --- several at once -------------------------------------------------------------------------- */

static void send(struct audit *a, double t0, double first, double last, const char *body)
{
    scene_add(
        a,
        (struct act){
            .t0 = t0, .first = first, .last = last, .events = 100, .tokens = 100, .prompt = 50})
        ->body_sha256 = body;
}

/* Six bodies alone, 2 s each; then in pairs that take so long. */
static void pairs(double pair_s, bool same_bodies, const char *id)
{
    static const char *const bodies[] = {"a", "b", "c", "d", "e", "f"};
    static const char *const others[] = {"u", "v", "w", "x", "y", "z"};
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 6; i++)
        send(&a, 10 * i, 10 * i + 0.5, 10 * i + 2.0 + 0.01 * i, bodies[i]);
    for (int i = 0; i < 6; i += 2) {
        double t = 100 + 10 * i;
        for (int k = i; k < i + 2; k++)
            send(&a, t + 0.001 * (k - i), t + 0.5, t + pair_s + 0.01 * k,
                 same_bodies ? bodies[k] : others[k]);
    }
    finding_all(&a, &audit_defaults);
    static const char *const both[] = {"server.degrades", "server.batching"};
    for (int i = 0; i < 2; i++) {
        if (id != NULL && strcmp(id, both[i]) == 0) {
            const struct finding *x = finding_needs(&a, id);
            assert_true(fabs(x->effects.v[0].percent / 100 + 1 - 4 / pair_s) < 0.05);
            assert_true(x->evidence.n >= 6);
        } else {
            finding_lacks(&a, both[i]);
        }
    }
    audit_free(&a);
}

static void two_at_once(void **state)
{
    (void)state;
    pairs(2.1, true, "server.batching");
    pairs(5.0, true, "server.degrades");
    pairs(4.02, true, NULL); /* as one after the other */
    pairs(5.0, false, NULL); /* of other prompts: unlike work */
}

/* --- cold start ------------------------------------------------------------------------------- */

static void waits(double first_s, int64_t first_prompt, double other_s, bool cold)
{
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 8; i++) {
        double t = 30.0 * i, wait = i == 0 ? first_s : i == 4 ? other_s : 0.5 + 0.01 * i;
        scene_add(&a, (struct act){.t0 = t,
                                   .first = t + wait,
                                   .last = t + wait + 2,
                                   .events = 100,
                                   .tokens = 100,
                                   .prompt = i == 0 ? first_prompt : 500});
    }
    there(&a, "server.cold-start", cold);
}

static void p42_a_server_that_is_cold(void **state)
{
    (void)state;
    waits(6, 500, 0.5, true);
    waits(6, 5000, 0.5, false); /* a longer prompt */
    waits(6, 500, 4, false);    /* it happens later, too */
    waits(0.6, 500, 0.5, false);
}

/* --- context limit ---------------------------------------------------------------------------- */

static void ask(struct audit *a, int i, int64_t tokens, uint64_t bytes, const char *refusal)
{
    struct request *r = scene_add(a, (struct act){.t0 = 10.0 * i,
                                                  .first = 10 * i + 1,
                                                  .last = 10 * i + 2,
                                                  .events = 50,
                                                  .tokens = 50,
                                                  .prompt = tokens});
    r->body_bytes = bytes;
    if (refusal == NULL)
        return;
    VEC_FREE(&r->out);
    r->usage = (struct usage){-1, -1, -1, -1};
    r->outcome = OUTCOME_HTTP_ERROR;
    r->status = 400;
    r->error = refusal;
}

static void a_limit_is_inferred(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    ask(&a, 0, 1000, 5000, NULL);
    ask(&a, 1, 4000, 20000, NULL);
    ask(&a, 2, 0, 22000, "your 4400 tokens exceed the maximum context of 4096");
    ask(&a, 3, 0, 60000, "maximum context length is 4096 tokens, you requested 12000");
    finding_all(&a, &audit_defaults);
    const struct finding *x = finding_needs(&a, "server.context-limit");
    assert_non_null(strstr(x->detail, "2 requests were refused (HTTP 400), all longer than all 2"));
    assert_non_null(strstr(x->detail, "at 4096 tokens by its error"));
    assert_true(x->evidence.v[0].packet == a.requests.v[1].t0_packet);
    assert_true(x->evidence.v[1].packet == a.requests.v[2].t0_packet);
    audit_free(&a);

    a = (struct audit){0};
    made_trace(&a);
    ask(&a, 0, 4000, 20000, NULL);
    ask(&a, 1, 0, 22000, "prompt is too long");
    finding_all(&a, &audit_defaults);
    assert_non_null(
        strstr(finding_needs(&a, "server.context-limit")->detail,
               "between 4000 tokens, accepted, as stated, and about 4400, by the bytes"));
    audit_free(&a);
}

static void errors_that_are_no_limit(void **state)
{
    (void)state;
    struct audit a = {0};
    made_trace(&a);
    ask(&a, 0, 1000, 5000, NULL);
    ask(&a, 1, 0, 9000, "temperature must be below 2");
    there(&a, "server.context-limit", false);
    made_trace(&a);
    ask(&a, 0, 0, 5000, "prompt is too long"); /* and a longer one was not */
    ask(&a, 1, 4000, 20000, NULL);
    there(&a, "server.context-limit", false);
}

/* --- easy text -------------------------------------------------------------------------------- */

static void texts(bool follows, double spread, bool found)
{
    struct audit a = {0};
    made_trace(&a);
    for (int i = 0; i < 10; i++) {
        double t = 10.0 * i, packing = 1 + spread * i / 9;
        double rate = 50 * (follows ? packing : 1 + 0.3 * ((i * 7) % 10) / 10);
        scene_add(&a, (struct act){.t0 = t,
                                   .first = t + 0.5,
                                   .last = t + 0.5 + 100 * packing / rate,
                                   .events = 100,
                                   .tokens = (int64_t)(100 * packing),
                                   .prompt = 50,
                                   .event_bytes = 9});
    }
    there(&a, "server.rate-by-text", found);
}

static void p69_rates_that_go_with_the_text(void **state)
{
    (void)state;
    texts(true, 2, true);
    texts(true, 0.1, false); /* hardly any difference */
    texts(false, 2, false);
}

/* --- stalls ----------------------------------------------------------------------------------- */

/* Streams of 20 s at 50 events/s that stop for 1 s at 3 s, 9 s and 14 s … each at its own times, if
 * apart. A prompt that is read meanwhile may be what stops them. */
static void stopping(size_t streams, size_t stopped, bool apart, bool reading, const char *id)
{
    static const double at[] = {3, 9, 14};
    struct audit a = {0};
    made_trace(&a);
    for (size_t k = 0; k < streams; k++) {
        struct request *r = scene_add(&a, (struct act){.t0 = 0.2 * (double)k,
                                                       .first = 1,
                                                       .last = 20,
                                                       .events = 951,
                                                       .tokens = 951,
                                                       .prompt = 50});
        for (size_t i = 0; i < r->out.n; i++) {
            double t = 1 + 0.02 * (double)i, late = 0;
            for (size_t j = 0; j < 3; j++)
                late += k < stopped && t > at[j] + (apart ? 1.7 * (double)k : 0);
            r->out.v[i].t_ns = scene_ns(t + late);
        }
        r->t_end = r->z = r->done_ns = r->choice_ns = r->out.v[r->out.n - 1].t_ns;
    }
    for (size_t j = 0; reading && j < 3; j++)
        scene_add(&a, (struct act){.t0 = at[j] + (double)j + 0.01,
                                   .first = at[j] + (double)j + 1.0,
                                   .last = at[j] + (double)j + 1.5,
                                   .events = 20,
                                   .tokens = 20,
                                   .prompt = 5000});
    finding_all(&a, &audit_defaults);
    static const char *const both[] = {"server.joint-stalls", "server.prefill-stalls"};
    for (int i = 0; i < 2; i++) {
        if (id != NULL && strcmp(id, both[i]) == 0)
            assert_true(finding_needs(&a, id)->evidence.n >= 3);
        else
            finding_lacks(&a, both[i]);
    }
    audit_free(&a);
}

static void p70_streams_that_stop_together(void **state)
{
    (void)state;
    stopping(4, 4, false, false, "server.joint-stalls");
    stopping(4, 4, false, true, "server.prefill-stalls");
    stopping(4, 4, true, false, NULL);  /* each for itself */
    stopping(4, 2, false, false, NULL); /* and two go on */
    stopping(1, 1, false, false, NULL);
}

/* Groups of three streams of 60 events that pause twice for 1.5 s each, as answers that call tools
 * do: each at places of its own, or all at the same one. */
static void pauses_of_answers(bool same_place)
{
    struct audit a = {0};
    uint32_t random = 7;
    made_trace(&a);
    for (size_t k = 0; k < 36; k++) {
        size_t group = k / 3;
        double t0 = 8 * (double)group + 0.7 * (double)(group * group % 5), late = 0;
        struct request *r = scene_add(&a, (struct act){.t0 = t0 + 0.001 * (double)(k % 3),
                                                       .first = t0 + 0.1,
                                                       .last = t0 + 1.3,
                                                       .events = 60,
                                                       .tokens = 60,
                                                       .prompt = 50});
        size_t at[2] = {30, 30};
        for (size_t j = 0; j < 2 && !same_place; j++) {
            random = random * 1664525u + 1013904223u;
            at[j] = 5 + (random >> 16) % 50;
        }
        for (size_t i = 0; i < r->out.n; i++) {
            late += 1.5 * ((i == at[0]) + (i == at[1]));
            r->out.v[i].t_ns += (int64_t)(late * 1e9);
        }
        r->t_end = r->z = r->done_ns = r->choice_ns = r->out.v[r->out.n - 1].t_ns;
    }
    finding_all(&a, &audit_defaults);
    finding_lacks(&a, "server.joint-stalls");
    finding_lacks(&a, "server.recurring-stalls");
    audit_free(&a);
}

static void pauses_of_answers_are_none_of_the_server(void **state)
{
    (void)state;
    pauses_of_answers(false);
    pauses_of_answers(true);
}

/* Four answers that were kept back, each sent in 20 ms with a hitch, while another's prompt is
 * read.
 */
static void a_burst_has_no_pace_to_stall(void **state)
{
    (void)state;
    for (int kept_back = 0; kept_back < 2; kept_back++) {
        struct audit a = {0};
        made_trace(&a);
        for (int k = 0; k < 4; k++) {
            double t0 = 5.0 * k, step = kept_back ? 0.0001 : 0.02, t = t0 + 1;
            struct request *r = scene_add(
                &a, (struct act){.t0 = t0, .first = t, .last = t, .events = 200, .tokens = 200});
            for (size_t i = 0; i < 200; i++) {
                r->out.v[i].t_ns = scene_ns(t);
                t += step * (i == 100 ? 40 : 1);
            }
            r->t_end = r->z = r->done_ns = r->choice_ns = r->out.v[199].t_ns;
            double at = t0 + 1 + 100 * step;
            scene_add(&a, (struct act){.t0 = at,
                                       .first = at + 40 * step,
                                       .last = at + 80 * step,
                                       .events = 20,
                                       .tokens = 20,
                                       .prompt = 5000});
        }
        there(&a, "server.prefill-stalls", !kept_back);
    }
}

/* Streams of 300 events, one after the other, that pause at the same events each. */
struct pausing {
    size_t streams, of; /* of those, so many pause */
    size_t pauses;
    double pause_s, pace_s;
    bool reading; /* another's prompt is read in each of them */
    bool unread;  /* the client's window is closed */
};

static void pause_within(struct pausing x, bool found)
{
    uint64_t chance = 3; /* on no beat */
    struct audit a = {0};
    made_trace(&a);
    for (size_t k = 0; k < x.streams; k++) {
        double t0 = 40 * (double)k, t = t0 + 0.1;
        struct request *r = scene_add(
            &a,
            (struct act){
                .t0 = t0, .first = t, .last = t + 3, .events = 300, .tokens = 300, .prompt = 50});
        double from[8] = {0};
        size_t at = 10 + (size_t)(40 * scene_random(&chance));
        for (size_t i = 0, n = 0; i < 300; i++) {
            r->out.v[i].t_ns = scene_ns(t);
            bool pauses = k < x.of && n < x.pauses && i == at;
            if (pauses) {
                from[n++] = t;
                at += 5 + (size_t)(110 * scene_random(&chance));
            }
            t += x.pace_s + (pauses ? x.pause_s : 0);
        }
        r->t_end = r->z = r->done_ns = r->choice_ns = r->out.v[299].t_ns;
        r->zero_windows = x.unread;
        for (size_t n = 0; x.reading && n < x.pauses; n++)
            scene_add(&a, (struct act){.t0 = from[n] + 0.01,
                                       .first = from[n] + x.pause_s,
                                       .last = from[n] + x.pause_s + 0.2,
                                       .events = 20,
                                       .tokens = 20,
                                       .prompt = 5000});
    }
    finding_all(&a, &audit_defaults);
    finding_lacks(&a, "server.cyclic-stalls");
    if (found)
        assert_true(finding_needs(&a, "server.recurring-stalls")->evidence.n >= 3);
    else
        finding_lacks(&a, "server.recurring-stalls");
    audit_free(&a);
}

/* The rhythm begins anew with each stream: that is no cycle of a clock. */
static void streams_that_stop_again_and_again(void **state)
{
    (void)state;
    pause_within((struct pausing){3, 3, 5, 0.5, 0.02, false, false}, true);
    pause_within((struct pausing){1, 1, 5, 0.5, 0.02, false, false}, true);
    pause_within((struct pausing){3, 3, 1, 0.5, 0.02, false, false}, false); /* once: on thinking */
    pause_within((struct pausing){5, 2, 5, 0.5, 0.02, false, false}, false); /* in few */
    pause_within((struct pausing){3, 3, 5, 0.1, 0.01, false, false}, false); /* jitter */
    pause_within((struct pausing){3, 3, 5, 1, 0.08, false, false}, false);   /* a slow pace */
    pause_within((struct pausing){3, 3, 5, 0.5, 0.02, true, false}, false);
    pause_within((struct pausing){3, 3, 5, 0.5, 0.02, false, true}, false);
    pause_within((struct pausing){3, 3, 7, 1, 0.0001, false, false}, false); /* clumps */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_at_once),
        cmocka_unit_test(p42_a_server_that_is_cold),
        cmocka_unit_test(a_limit_is_inferred),
        cmocka_unit_test(errors_that_are_no_limit),
        cmocka_unit_test(p69_rates_that_go_with_the_text),
        cmocka_unit_test(p70_streams_that_stop_together),
        cmocka_unit_test(pauses_of_answers_are_none_of_the_server),
        cmocka_unit_test(a_burst_has_no_pace_to_stall),
        cmocka_unit_test(streams_that_stop_again_and_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
